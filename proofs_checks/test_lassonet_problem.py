"""Problem (1) of the LassoNet paper: is the choice of features hard? And is the group Lasso a case of
LassoNet?

Source: *LassoNet: A Neural Network with Feature Sparsity* (JMLR 22(127), 2021), sections 1.2 and 2. In print

    min_{f ∈ F, S} Ê[ℓ(f(x_S), y)],   S ⊆ {1, …, d},                                                  (1)

is NP-hard "even for simple choices of f, such as linear regression (Amaldi et al., 1998)". LassoNet "extends
and generalizes" the group Lasso penalty on the input weights of a network (Feng and Simon, 2017).

*Problem (1).* A linear function of x_S is also a linear function of x. Therefore S = {1, …, d} is optimal,
and (1) is least squares. With the bound |S| ≤ k the problem is hard. To see this, let C_1, …, C_d be sets of
three among 3m elements, X_ij = 1 if i ∈ C_j and 0 otherwise, y = (1, …, 1) and k = m. Then

    min_{|S| ≤ m} ‖y − X_Sβ‖² = 0   if and only if   m of the sets cover every element exactly once.

The problem on the right, exact cover by 3-sets, is NP-complete (Garey and Johnson 1979). The reduction is
Natarajan's (SIAM J. Comput. 24, 1995). Given an exact cover, β = 1 on its m sets is a solution. Conversely,
let Xβ = y with m nonzero β_j. Each of the 3m rows then has a 1 in one of the m columns, so these m sets of
three are disjoint.

*Group Lasso.* Hier-Prox, the proximal step of LassoNet, solves problem (3), min ½(θ_j − b)² + ½‖W_j − z‖² +
λ|b| over ‖z‖∞ ≤ M|b|. At θ_j = 0, with w = M|b|, this is min ½‖W_j − z‖² + (λ/M)w + w²/(2M²) over ‖z‖∞ ≤ w.
Let λ = κM. The solution z clips the entries of W_j at a level w_M, and the proximal operator of κ‖·‖∞ clips
them at a level w_∞. If w_M is not 0, the two levels satisfy

    Σ_k (|W_jk| − w_M)₊ = κ + w_M/M²,   Σ_k (|W_jk| − w_∞)₊ = κ,   so   0 ≤ w_∞ − w_M ≤ w_M/M²,

because the sum decreases at least as fast as w increases. Hier-Prox clips entries and never scales them.
Therefore no M and λ give the proximal step of κ‖·‖₂.
"""

from fractions import Fraction
from itertools import combinations

import numpy as np
from hypothesis import strategies as st

import sparselin as sl
from proofs_checks.exact_prox import SMALL, computed_is, feature, least, minimiser, sign
from proofs_checks.rational import columns, off, rational, spans
from sparselin.ledger import CORRECTED, FALSE, claim, mutants


def incidence(sets, n):
    """Return the incidence matrix of some sets on n elements: entry (i, j) is 1 if set j contains element i,
    and 0 otherwise.
    """
    return np.array([[float(i in C) for C in sets] for i in range(n)])


def has_exact_cover(sets, elements):
    """Return whether some of the sets are disjoint and have the elements as their union."""
    left = frozenset(elements)
    fitting = (left.intersection(C) for C in sets if left and min(left) in C and left.issuperset(C))
    return not left or any(has_exact_cover(sets, left - C) for C in fitting)


def is_fitted(sets, n):
    """Return whether n/3 columns of the incidence matrix of some sets fit the vector of ones exactly.

    Return None if `sl.best_subset` disagrees. A squared residual is 0 or at least 1/27, because its
    denominator is a determinant of at most 3^(n/3) ≤ 27.
    """
    X, y, k = incidence(sets, n), np.ones(n), min(n // 3, len(sets))
    A, b = rational(X), rational(y)
    exactly = any(spans(columns(A, S), b) for S in combinations(range(len(sets)), k))
    return exactly if exactly == (sl.best_subset(X, y, k).residual < 1 / 54) else None


@st.composite
def families(draw):
    """Draw different sets of three among six or nine elements, and the number of elements.

    In half of the draws, sets that form an exact cover are added.
    """
    m = draw(st.integers(2, 3))
    triples = st.sampled_from(list(combinations(range(3 * m), 3)))
    sets = draw(st.sets(triples, min_size=1, max_size=6))
    order = draw(st.permutations(range(3 * m)))
    planted = {tuple(sorted(order[3 * i : 3 * i + 3])) for i in range(m)} if draw(st.booleans()) else set()
    return sorted(sets | planted), 3 * m


def squares(X, y, S):
    """Return the least ‖y − X_Sβ‖² over β, exactly."""
    r = off(rational(X), S, rational(y))
    return (r.transpose() * r)[0, 0]


@claim("LN-eq-1", "section 2, equation (1)", "proof, exact, brute force", CORRECTED, cases=300, ci_cases=20)
@mutants("sl.best_subset", "has_exact_cover", "squares")
def test_the_choice_of_features_is_hard_if_their_number_is_bounded(check):
    """The choice of S makes problem (1), min over f ∈ F and S ⊆ {1, …, d} of Ê[ℓ(f(x_S), y)], NP-hard, even
    for linear regression.

    Hypotheses: The loss is the squared loss, and f is linear. The check of the reduction takes families of
    sets of three elements: all families of at most three sets on six elements, up to the names of the
    elements, and random families on six or nine elements.

    Instead: Problem (1) as printed has no bound on |S|, so S = {1, …, d} is optimal, and the problem is least
    squares. With |S| ≤ k it is NP-hard, because exact cover by 3-sets reduces to it.

    Consequences: Without a bound on |S|, S = {1, …, d} is optimal for every class F of functions that may
    ignore a feature. The paper by Amaldi and Kann (1998) that is cited is about another problem: to minimise
    the number of nonzero entries of a solution.

    Unchecked: The NP-completeness of exact cover (Garey and Johnson, 1979) is not checked.

    Tolerance: A squared residual of sl.best_subset below 1/54 counts as zero. Every nonzero squared residual
    is at least 1/27.
    """
    X, y = np.eye(2), np.ones(2)
    values = [squares(X, y, S) for k in (1, 2) for S in combinations(range(2), k)]
    check.refutes(
        values == [1, 1, 0],
        "X = I, y = (1, 1): 0 at S = {1, 2}, and 1 at either S of one: (1) is solved by least squares",
    )

    def all_features_are_best(drawn):
        X, y = (np.array(part, float) for part in drawn)
        subsets = [S for k in range(X.shape[1] + 1) for S in combinations(range(X.shape[1]), k)]
        return squares(X, y, subsets[-1]) == min(squares(X, y, S) for S in subsets)

    row = st.lists(SMALL, min_size=3, max_size=3)
    check.forall(st.tuples(st.lists(row, min_size=3, max_size=3), row), all_features_are_best)
    (first, *others) = combinations(range(6), 3)
    small = [(first, *more) for k in range(3) for more in combinations(others, k)]
    check.over(small[: check.cases], lambda sets: is_fitted(sets, 6) == has_exact_cover(sets, range(6)))
    check.forall(families(), lambda drawn: is_fitted(*drawn) == has_exact_cover(drawn[0], range(drawn[1])))


def clipped(u, kappa):
    """Return the level at which the proximal operator of κ‖·‖∞ clips the entries of u."""

    def value(w):
        beyond = max(w - max(map(abs, u)), 0)  # never the least, and strictly convex with it
        return (sum(max(abs(x) - w, Fraction(0)) ** 2 for x in u) + beyond**2) / 2 + kappa * w

    return least(value, [abs(x) for x in u])


@claim("LN-sec-1.2-group", "section 1.2", "proof, exact, float", FALSE)
@mutants("minimiser", "clipped")
def test_which_group_lasso_is_a_limit(check):
    """The group Lasso on the input weights is a case of LassoNet: for every κ there are θ_j, λ and M with
    which Hier-Prox moves every W_j as the proximal step of κ‖W_j‖₂ does.

    Reading of: “Feng and Simon (2017) proposed an input-sparse neural network, where the input weights are
    penalized using the group Lasso penalty … our proposed method extends and generalizes this approach”

    Hypotheses: κ > 0, and W_j has K ≥ 2 entries. The check is about the step for one feature; the other
    layers stay as they are. “Generalizes” is read as “has as a case”.

    Instead: Hier-Prox clips the entries of W_j and never scales them, so it does not move (3, 4) to (12/5,
    16/5), as the group Lasso does for κ = 1. With θ_j = 0, λ = κM and M → ∞, Hier-Prox tends to the proximal
    step of κ‖·‖∞, which belongs to a group Lasso with another norm. Hier-Prox clips at a level w_M and the
    proximal step of κ‖·‖∞ at a level w_∞, with 0 ≤ w_∞ − w_M ≤ w_M/M².

    Tolerance: The result of sl.hier_prox may be off by 16 eps·(|θ| + λ + (1 + M)‖W‖₁).
    """
    target, multipliers = [Fraction(12, 5), Fraction(16, 5)], (Fraction(1, 2), 1, 2, 9)
    grid = [feature(v, [3, 4], lam, M) for v in range(6) for lam in range(12) for M in multipliers]
    only_clips = all(z == [min(M * b, 3), min(M * b, 4)] for M, (b, z) in ((p.M, minimiser(p)) for p in grid))
    check.refutes(
        only_clips and target != [min(target[0], 3), min(target[0], 4)],
        "W_j = (3, 4), κ = 1: the group Lasso gives (12/5, 16/5), Hier-Prox (min(w, 3), min(w, 4))",
    )

    def tends_to_the_largest_norm(drawn):
        u, kappa, M = drawn
        problem = feature(0, u, kappa * M, M)
        b, z = minimiser(problem)
        w = M * b
        clips = z == [sign(x) * min(w, abs(x)) for x in u] and computed_is(problem, b, z)
        return clips and 0 <= clipped(problem.u, kappa) - w <= w / M**2

    levels = st.fractions(Fraction(1, 4), 8, max_denominator=4)
    powers = st.integers(0, 12).map(lambda k: 2**k)
    check.forall(
        st.tuples(st.lists(SMALL, min_size=1, max_size=5), levels, powers), tends_to_the_largest_norm
    )
