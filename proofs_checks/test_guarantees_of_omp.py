"""Guarantees of greedy selection and of OMP, which Sequential LASSO and Sequential Attention share.

Source: *Sequential Attention for Feature Selection*, Sections 1 and 2 (both versions). In print, greedy
forward selection "was shown to have guarantees of the form of (3)" by Das and Kempe (2011), and OMP has such
guarantees too:

    (2)  ℓ(f(X; θ), y) = ‖Xθ − y‖²,      (3)  ‖Xθ̃ − y‖² ≤ κ min_θ ‖Xθ − y‖²   for some κ = κ(X) > 0.

No algorithm that selects k < rank(X) features has such a guarantee, because the minimum over θ ∈ ℝ^d can be
zero although any k features leave a residual. If the minimum is over θ with at most k nonzero entries
instead, the guarantee still fails for both algorithms. Das and Kempe's results are about the explained part,
R²(S) = 1 − ‖P_S^⊥y‖²/‖y‖². The columns have length 1. Let C = XᵀX, let λ_min(C, m) be the least eigenvalue of
all principal m × m submatrices of C, and γ the submodularity ratio of R². For the set OMP_k of the k features
that OMP selects,

    R²(OMP_k) ≥ (1 − e^{−γ·λ_min(C,2k)}) max_{|L| ≤ k} R²(L),   λ_min(C, 2k) ≤ γ ≤ 1.

The inequality also holds with λ_min(C, 2k − 1) in place of γ·λ_min(C, 2k), and with γ·λ_min(C, k) in its
place (Theorem 1 of docs/guarantees.md). Theorem 2 of the same page has constants for each step, and is for
columns of any lengths. Let 1 − e^{−θ} be the factor of such an inequality. The proofs show that each step
gains a share θ/k of the missing R², however ties are broken. Therefore each step of Sequential LASSO gains
this share too (Theorem 3.3).

The checks use integer columns. Then γ and R² are rational, and the eigenvalues are computed in ball
arithmetic with 128 bits.
"""

import functools
import itertools

import numpy as np
from flint import arb, fmpq, fmpq_mat
from hypothesis import assume

import sparselin as sl
from proofs_checks import spectral
from proofs_checks.maximization import optimum, settle, submodularity_ratio
from proofs_checks.rational import inner, is_solution, off, rational, step, vector
from proofs_checks.spectral import precisely, r_squared
from proofs_checks.steps import open_steps, show, spread
from sparselin.ledger import CORRECTED, FALSE, HOLDS, claim, mutants
from sparselin.testing import integer_designs

SOURCE = "Section 2"
BALLS = "exact, interval, brute force, proof"
# y = X_1 + X_2; column 0 has the largest correlation and the largest gain, with unit columns too
X = np.array([[1.0, 1.0, 0.0], [1.0, 0.0, 1.0], [1.0, 0.0, 0.0]])
Y = np.array([1.0, 1.0, 0.0])


def left(A, b, S):
    """Return ‖P_S^⊥b‖², the squared residual of least squares of b on the columns in S, exactly."""
    r = off(A, S, b)
    return inner(r, r)


def unit(X):
    """Return the nonzero columns, divided by their norms."""
    norms = np.linalg.norm(X, axis=0)
    return X[:, norms > 0] / norms[norms > 0]


def r2(X, y, S):
    """Return R²(S) = 1 − ‖P_S^⊥y‖²/‖y‖², the share of ‖y‖² that the columns in S explain."""
    S = list(S)
    residual = y - X[:, S] @ np.linalg.lstsq(X[:, S], y, rcond=None)[0]
    return 1 - (residual @ residual) / (y @ y)


def sparse_eigenvalue(X, size):
    """Return the least eigenvalue of all principal submatrices of XᵀX of the given size."""
    C = X.T @ X
    size = min(size, X.shape[1])
    return min(np.linalg.eigvalsh(C[np.ix_(L, L)])[0] for L in itertools.combinations(range(len(C)), size))


@claim("SA-equation-2", "equation (2) and the sentence after equation (3), " + SOURCE, "proof, exact", HOLDS)
@mutants("left")
def test_when_the_optimal_loss_is_nonzero(check):
    """For n > d the optimal loss min_θ ‖Xθ − y‖² of (2) is nonzero for almost every y ∈ ℝⁿ.

    Reading of: “the number of examples n often greatly exceeds the number of features d, resulting in an
    optimal loss that is nonzero”

    Hypotheses: X is any matrix. The check covers all n and d, with the hypothesis rank(X) < n in place of n >
    d.

    Consequences: The optimal loss is zero if and only if y ∈ colspan(X). The guarantee (3), a bound by a
    multiple of the optimal loss, fails also for data with a nonzero optimal loss (ledger id SA-equation-3).
    """

    def nonzero_off_the_span(X, y):
        A, b, every = rational(X), rational(y), range(X.shape[1])
        almost_every = rational(y + check.rng.standard_normal(len(y)))
        return (
            (left(A, b, every) != 0) == (rational(np.column_stack([X, y])).rank() > A.rank())
            and (left(A, almost_every, every) != 0) == (A.rank() < len(y))
            and left(A, A * vector([fmpq(1)] * len(every)), every) == 0
        )

    check.forall(integer_designs(6, 4), spread(nonzero_off_the_span))


@claim("SA-section-1-models", "Section 1 (ICLR, NeurIPS submission); poster", "proof, exact", HOLDS)
@mutants("sl.ols", "left")
def test_how_many_models_forward_selection_trains(check):
    """Greedy forward selection requires training O(kd) models: O(d) in each of k rounds.

    Hypotheses: k of d features are selected, k ≤ d, and each round trains one model for each unselected
    feature.

    Consequences: The number of models is kd − k(k − 1)/2, which is at least kd/2, so O(kd) cannot be
    improved. Sequential Attention as printed trains k models.
    """

    def counted(X, y):
        A, b, k = rational(X), rational(y), min(3, X.shape[1])
        picks, S, models = sl.ols(X, y, k).support.tolist() if (X.T @ y).any() else [], [], 0
        for t in range(k):
            losses = {i: left(A, b, [*S, i]) for i in range(X.shape[1]) if i not in S}
            models += len(losses)
            # sl.ols stops where no feature lowers the loss
            S.append(picks[t] if t < len(picks) else min(losses, key=losses.get))
            if losses[S[-1]] != min(losses.values()):
                return False
        return models == k * X.shape[1] - k * (k - 1) // 2 >= k * X.shape[1] / 2

    check.forall(integer_designs(4, 6), spread(counted))


def best_r2(X, y, k):
    """Return the largest R² of a set of k columns, by trying all sets of k columns."""
    return max(r2(X, y, L) for L in itertools.combinations(range(X.shape[1]), k))


def overdetermined(k):
    """Return OMP's loss divided by the least loss of two features, on a design whose last row is zero.

    y is 2⁻ᵏ in this row, so that the least loss is small but not zero.
    """
    taller, y = np.vstack([X, np.zeros(3)]), np.append(Y, 0.5**k)
    A, b = rational(taller), rational(y)
    return left(A, b, sorted(sl.omp(taller, y, 2).support)) / left(A, b, (1, 2))


@claim("SA-equation-3", "equation (3), " + SOURCE, "exact, brute force, float", FALSE, cases=2000)
@mutants("sl.omp", "sl.ols", "sl.sparse_eigenvalues")
def test_the_form_of_the_guarantee(check):
    """Greedy forward selection and OMP have guarantees of the form

        ‖Xθ̃ − y‖² ≤ κ min_θ ‖Xθ − y‖²   for some κ = κ(X) > 0.

    Hypotheses: θ̃ has k nonzero entries, those of the selected features. The refutation is exact: it applies
    forward selection and OMP to one design. The corrected statement is checked for unit columns, d ≤ 7 and k
    ≤ 3.

    Instead: There is no such κ, not even if the minimum is over θ with at most k nonzero entries. There is a
    guarantee for R²(S) = 1 − ‖P_S^⊥y‖²/‖y‖²: for the set S of k features that either algorithm selects, R²(S)
    ≥ (1 − e^{−λ_min(C,2k)})·max R². Here C = XᵀX, λ_min(C, 2k) is the least eigenvalue of all principal 2k ×
    2k submatrices of C, and the maximum is over the sets of k features.

    Consequences: By Theorem 3.3, the guarantee for R² also holds for Sequential LASSO.

    Tolerance: R² and λ_min have a tolerance of 1e-12. The rounding error of an eigenvalue is about d·eps·‖C‖.
    """
    A, b = rational(X), rational(Y)
    taken = [path.support.tolist() for path in (sl.omp(X, Y, 2), sl.ols(X, Y, 2), sl.omp(unit(X), Y, 2))]
    check.refutes(
        all(S[0] == 0 and left(A, b, S) > 0 for S in taken) and left(A, b, (1, 2)) == 0,
        f"{show(X, Y)}, k = 2: the least value over 2-sparse θ is 0 (θ = (0, 1, 1)), but both take "
        f"column 0 first and leave ‖r‖² = {left(A, b, taken[0])}",
    )
    ratios = [overdetermined(k) for k in (2, 5, 10)]
    check.refutes(
        [int(ratio) for ratio in ratios] == [9, 513, 524289],
        "the same with a fourth row of zeros and y_4 = 2⁻ᵏ: n > d, the least loss is positive, and "
        "OMP's is 9, 513 and 524289 times that for k = 2, 5, 10",
    )

    def promised(design):
        X, y = unit(design[0]), design[1]
        assume(X.shape[1] and y.any())
        k = min(3, X.shape[1])
        least, ours = sparse_eigenvalue(X, 2 * k), sl.sparse_eigenvalues(X, 2 * k)
        enclosed, best = ours.lower - 1e-12 <= least <= ours.lambda_min.upper + 1e-12, best_r2(X, y, k)
        bound = (1 - np.exp(-max(least, 0.0))) * best - 1e-12
        got, ahead = (r2(X, y, m(X, y, k).support) if (X.T @ y).any() else 0.0 for m in (sl.omp, sl.ols))
        return enclosed and ours.lambda_min.exact and ahead >= bound and bound <= got <= best + 1e-12

    check.forall(integer_designs(6, 7), promised)


def least_of(M, columns, m):
    """Return the least eigenvalue of all principal submatrices of M on m of the given columns, as a ball."""
    each = (value for L in itertools.combinations(columns, m) for value in spectral.eigenvalues(M, list(L)))
    return functools.reduce(arb.min, each)


def least_eigenvalue(C, size):
    """Return the least eigenvalue of all principal submatrices of the given size of a correlation matrix C,
    as a ball.
    """
    return arb(1) if size == 1 else arb(1).min(least_of(C, range(C.nrows()), min(size, C.nrows())))


COMPARED = "compared with Das and Kempe (2011), Theorem 3.7; docs/guarantees.md, Theorem 1"


@claim("ours-omp-guarantee", COMPARED, BALLS, HOLDS, cases=1500, ci_cases=25)
@mutants("sl.omp", "sl.guarantee_bounds", "submodularity_ratio", "least_eigenvalue", "r_squared")
def test_the_sharper_promises_of_omp(check):
    """The set OMP_k of the k features that OMP selects satisfies the following inequalities for θ =
    γ_{S,k}·λ_min(C, k), and for θ = λ_min(C, 2k − 1):

        R²(OMP_k) ≥ (1 − (1 − θ/k)^k)·max R² ≥ (1 − e^{−θ})·max R².

    Hypotheses: The columns have length 1, ties may be broken in any way, and S = OMP_k. The maximum is over
    the sets of k features. λ_min(C, m) is the least eigenvalue of all principal m × m submatrices of C = XᵀX,
    and γ_{S,k} is the submodularity ratio of R².

    Consequences: Das and Kempe have θ = γ_{S,k}·λ_min(C, 2k), which is smaller. The guarantee also holds for
    Sequential LASSO, because OMP could select each feature that Sequential LASSO selects (ledger id
    SA-theorem-3.3).

    Tolerance: The guarantee itself has no tolerance. If sl.guarantee_bounds computes its γ exactly, its
    factors may differ by 1e-9 from those that the check computes in ball arithmetic.
    """
    with precisely():
        tightest, larger, total, open_ = 100.0, 0, 0, 0
        for _ in range(check.cases):
            d = int(check.rng.integers(2, 6))
            design, k = spectral.draw_design(check.rng, d), int(check.rng.integers(1, min(3, d) + 1))
            if not (design.X.T @ design.y).any():
                continue
            total += 1
            X, y, C = design.unit_columns, design.y.astype(float), design.correlations
            R = spectral.table(lambda S, design=design: r_squared(design.X, design.y, S), d)
            S = sl.omp(X, y, k).support.tolist()
            reached, gamma = (
                R[spectral.mask_of(S)] / optimum(R, k),
                submodularity_ratio(R, spectral.mask_of(S), k),
            )
            thetas = gamma * least_eigenvalue(C, k), least_eigenvalue(C, 2 * k - 1)
            for theta in thetas:
                factor = 1 - (1 - theta / k) ** k
                settle(check, arb(reached), factor, f"{design}, {k}")
                check.over([(factor, 1 - (-theta).exp())], lambda pair: not pair[0] < pair[1])
                if factor > 0 and k > 1:
                    tightest = min(tightest, float((reached / factor).mid()))
            larger += bool(thetas[0] > gamma * least_eigenvalue(C, 2 * k))
            found = sl.guarantee_bounds(X, y, k, algorithms=("omp",))
            open_ += not dict(found.constants)["γ of OMP"].exact
            check.over([(found, S, thetas)], lambda case: as_computed(*case))
        check.measured(
            f"for k > 1, R²(OMP_k) is at least {tightest:.3f} times either promise; γ·λ_min(C, k) exceeds "
            f"γ·λ_min(C, 2k) in {larger} of {total} designs; rounding leaves the package's γ open in {open_}"
        )


def as_computed(found, S, thetas):
    """Return whether guarantee_bounds has the factors 1 − e^{−θ} of the check, and finds no violation.

    With only an interval for the submodularity ratio, a factor may be smaller.
    """
    named = {bound.name: bound for bound in found.of("OMP")}
    ours = [named[name] for name in ("submodularity ratio, sharper", "sparse eigenvalue, sharper")]
    factors = [float((1 - (-theta).exp()).mid()) for theta in thetas]
    below = all(bound.lower <= factor + 1e-9 for bound, factor in zip(ours, factors, strict=True))
    known = [dict(found.constants)["γ of OMP"].exact, True]
    equal = all(
        factor <= (bound.lower + 1e-9 if bound.applies else 1e-6)
        for bound, factor, sure in zip(ours, factors, known, strict=True)
        if sure
    )
    return not found.violated and found.supports[0][1].tolist() == S and below and equal


def longest(X):
    """Return max ‖X_j‖² over all columns, which a guarantee uses after a path has ended early."""
    return max(int(square) for square in (X * X).sum(axis=0))


def shares_along(X, R, S, pick, k, end=None):
    """Return m_i and the two θ_i, for OMP and for forward regression, of Theorem 2 of docs/guarantees.md.

    They are for the step that adds `pick` to the set S. If the path ended early, `pick` is None, and `end`
    (by default `longest(X)`) takes the place of the squared length of the projected pick. If nothing is left
    to gain, m_i = 0.
    """
    n, d = X.shape
    A = rational(X)
    Z = off(A, S, A)
    G = Z.transpose() * Z
    others = [x for x in range(d) if G[x, x] > 0]
    m = min(k, len(others), n - len(S))
    if m <= 0:
        return 0, arb(1), arb(1)
    gamma = submodularity_ratio(R, spectral.mask_of(S), k)
    # D⁻¹G has the spectrum of H = D^{−½}GD^{−½}
    scaled = fmpq_mat(d, d, [G[i, j] / (G[i, i] or 1) for i in range(d) for j in range(d)])
    least = [least_of(M, others, m) for M in (G, scaled)]
    length = G[pick, pick] if pick is not None else end or longest(X)
    shortest = min(G[x, x] for x in others)
    return m, arb(gamma * shortest).max(least[0]) / arb(fmpq(length)), arb(gamma).max(least[1])


def promised_along(X, R, path, k, place):
    """Return the guaranteed factor 1 − Π (1 − θ_i/m_i) of a path of k selections, and its largest θ_i.

    θ_i and m_i are those of `shares_along`, for OMP (`place` 1) or forward regression (`place` 2).
    """
    left, largest = arb(1), arb(0)
    for i in range(k):
        S = path[:i]
        found = shares_along(X, R, S, path[i] if i < len(path) else None, k)
        m, theta = found[0], found[place]
        left *= 1 - theta / m if m else arb(0)
        largest = largest.max(theta)
    return 1 - left, largest


def kept_along(check, X, y, early):
    """Return whether OMP and forward regression reach the R² that is guaranteed along their paths."""
    k, d = min(3, X.shape[1]), X.shape[1]
    integers = X.astype(int), y.astype(int)
    R = spectral.table(lambda S: r_squared(*integers, S), d)
    found = sl.guarantee_bounds(X, y, k)
    for algorithm, method, place in (("OMP", sl.omp, 1), ("FR", sl.ols, 2)):
        path = method(X, y, k).support.tolist() if (X.T @ y).any() else []
        early.append(len(path) < k)
        factor, largest = promised_along(integers[0], R, path, k, place)
        bound = next(b for b in found.of(algorithm) if b.name == "along the path")
        if largest > 1 + arb(2) ** -90 or not bound.lower <= float(factor.mid()) + 1e-9:
            return False
        where = f"{algorithm}, {show(X, y)}"
        settle(check, R[spectral.mask_of(path)] + arb(2) ** -90, factor * optimum(R, k), where)
    return True


@claim("ours-path-guarantee", "docs/guarantees.md, Theorem 2", BALLS, HOLDS, cases=600, ci_cases=25)
@mutants("sl.omp", "sl.ols", "sl.guarantee_bounds", "longest", "submodularity_ratio", "r_squared")
def test_the_promise_along_the_path(check):
    """For OMP and forward regression (FR), and columns of any lengths,

        R²(S_k) ≥ (1 − Π_{i<k} (1 − θ_i/m_i))·max R²,

    where S_k is the set of the k selected features, and every θ_i ≤ 1. For OMP, θ_i has as a divisor the
    squared length of the feature selected in step i, projected off the features before it. After an early end
    of the path, this is the squared length of the longest column.

    Hypotheses: The columns have any lengths, and y ≠ 0. Theorem 2 of docs/guarantees.md defines θ_i and m_i
    for the set that was selected before step i.

    Consequences: With the length 1 in place of that of the longest column, the inequality could fail if a
    column is longer than 1. For example, X = 10·I₂, y = e₁ and k = 2 would give θ = 100 at the set {0}.

    Tolerance: The guarantee itself has no tolerance. The factors of sl.guarantee_bounds may differ by 1e-9
    from those that the check computes in ball arithmetic.
    """
    ten, early = (10.0 * np.eye(2), np.array([1.0, 0.0])), []
    with precisely():
        R = spectral.table(lambda S: r_squared(*(part.astype(int) for part in ten), S), 2)
        at_end = [shares_along(ten[0].astype(int), R, [0], None, 2, end) for end in (None, 1)]
        check.over([at_end], lambda at: (at[0][0], at[0][1], at[1][1]) == (1, 1, 100))
        check.over([ten], lambda design: kept_along(check, *design, early))
        along = [b for b in sl.guarantee_bounds(*ten, 2).bounds if b.name == "along the path"]
        check.over(along, lambda bound: 1 - 1e-9 <= bound.lower <= 1)
        designs = integer_designs(4, 5, -3, 3).filter(lambda design: design[0].any() and design[1].any())
        check.forall(designs, lambda design: kept_along(check, *design, early))
    check.measured(f"{sum(early)} of the paths ended early")


def gains_its_share(check, X, y, path, k):
    """Return whether each step gains the share λ_min(C, 2k)/k of the missing R², as the guarantee says.

    The missing R² is the largest R² of k features minus the R² before the step.
    """
    best, share = best_r2(X, y, k), max(sparse_eigenvalue(X, 2 * k), 0.0) / k
    got = [r2(X, y, path.support[:t]) for t in range(len(path.support) + 1)]
    if any(now - was < share * (best - was) - 1e-12 for was, now in itertools.pairwise(got)):
        return False
    if path.status is sl.Status.MAX_ITER:
        check.undecided()
        return True
    return got[-1] >= (1 - np.exp(-share * k)) * best - 1e-12


@claim(
    "SA-same-guarantees",
    "Section 3.2, before Geometry",
    "proof, exact, brute force, float",
    CORRECTED,
    ci_cases=20,
)
@mutants("sl.sequential_lasso", "sl.sequential_attention")
def test_the_promise_passes_on(check):
    """Regularized linear Sequential Attention and Sequential LASSO have the same approximation guarantees as
    OMP.

    Hypotheses: The columns have length 1, d ≤ 7 and k ≤ 3. Only guarantees that hold however OMP breaks its
    ties are considered.

    Instead: Sequential LASSO has the guarantees. Sequential Attention has them if in each step the λ of its
    objective (5) lies in (2λ₂, 2λ*), where (λ₂, λ*) is the interval of penalties on which the nonzero
    features of the LASSO do not change. For smaller λ, the feature with the largest weight can be orthogonal
    to y.

    Consequences: Theorem 1.1 needs the same condition on λ (SA-theorem-1.1).

    Unchecked: The descent that minimises the objective of Sequential Attention may end away from the minimum,
    as far as its certificate allows. The check does not determine how far.

    Tolerance: R² has a tolerance of 1e-12.
    """
    # columns of length 3; (5) at λ = 1/50 is twice (4) at 1/100, and |w_i|² = |β_i|
    X, y = np.array([[3.0, 2.0, 2.0], [0.0, 2.0, 2.0], [0.0, 1.0, -1.0]]), np.array([0.0, 1.0, 0.0])
    beta = vector([fmpq(-593, 1800), fmpq(119, 480), fmpq(119, 480)])
    check.refutes(
        is_solution(X, y, (), beta, fmpq(1, 100)) and X[:, 0] @ y == 0,
        f"{show(X, y)}, λ = 1/50 in (5) (columns of length 3): β = (−593/1800, 119/480, 119/480), the "
        "largest weight is on column 0, which is orthogonal to y; λ_min(C, 2) = 2/9",
    )

    def promised(design):
        X, y = unit(design[0]), design[1]
        assume(X.shape[1] and (np.abs(X.T @ y) > 1e-9).any())
        k = min(3, X.shape[1])
        paths = sl.sequential_lasso(X, y, k), sl.sequential_attention(X, y, k)
        return all(gains_its_share(check, X, y, path, k) for path in paths)

    check.forall(integer_designs(5, 6), promised)


@claim("SA-section-2-open-problem", "Section 2, before Algorithm 3", "exact", CORRECTED, cases=100)
@mutants("left")
def test_no_selection_has_it(check):
    """It is open whether the LASSO has guarantees of the form of equation (3), ‖Xθ̃ − y‖² ≤ κ(X)·min_θ ‖Xθ −
    y‖².

    Hypotheses: The LASSO selects k < d features, and the minimum is over all θ ∈ R^d, as printed.

    Instead: No selection of k features has a guarantee of this form, and so neither has the LASSO. For X = I
    and y = (1, …, 1), every k features leave the loss d − k, while all features leave 0. The question whether
    the LASSO has a guarantee for R² is open.

    Consequences: Forward selection and OMP have no guarantee of this form either (ledger id SA-equation-3).
    """

    def leaves(sizes):
        d, k = sizes
        A, b = rational(np.eye(d)), rational(np.ones(d))
        each = {left(A, b, S) for S in itertools.combinations(range(d), k)}
        return each == {d - k} and left(A, b, tuple(range(d))) == 0

    check.refutes(leaves((2, 1)), "X = I₂, y = (1, 1), k = 1: either feature leaves 1, both leave 0")
    check.over([(d, k) for d in range(2, 7) for k in range(1, d)], leaves)


@claim("SA-footnote-3", "footnote 3, " + SOURCE, "exact", CORRECTED)
@mutants("sl.omp", "sl.sequential_lasso")
def test_scaling(check):
    """One may assume without loss of generality, by scaling, that X has unit columns and y is a unit
    vector.

    Hypotheses: “Without loss of generality” is read as: scaling changes neither the minimum of ‖Xθ − y‖² over
    θ with at most k nonzero entries nor the selections of OMP and Sequential LASSO.

    Instead: For y ≠ 0 this is without loss of generality; for X it is not. Scaling the columns does not
    change this minimum, but it changes the selections of OMP and Sequential LASSO. Guarantees in terms of XᵀX
    hold for unit columns. Theorem 3.3 needs neither assumption.

    Consequences: Theorem 3.3 holds for columns of any norm. To use the guarantees of OMP, scale the columns
    to length 1 first.
    """
    X, y = np.array([[3.0, 0.0], [0.0, 1.0]]), np.array([1.0, 2.0])
    raw, unit_picks = sl.omp(X, y, 1).support[0], sl.omp(unit(X), y, 1).support[0]
    check.refutes((raw, unit_picks) == (0, 1), f"{show(X, y)}: X_0 is picked, and X_1 with unit columns")

    def scaled(X, y, S):
        b, lengths, k = rational(y), 1 + np.arange(X.shape[1]), X.shape[1]
        at, of_ty = step(X, y, S), step(X, 0.75 * y, S)
        assume((X.T @ y).any())
        for method in (sl.omp, sl.sequential_lasso):
            picks = list(method(X, y, k).support)
            if picks != list(method(X, 0.75 * y, k).support) or picks[0] not in step(X, y).tied:
                return False
        return (
            (of_ty.tied, of_ty.lam_star) == (at.tied, at.lam_star * fmpq(3, 4))
            and left(rational(X), b, S) == left(rational(X * lengths), b, S)
            and sl.omp(X, y, len(S) + 1, forced=S).support[-1] in at.tied
        )

    check.forall(open_steps(), spread(scaled))
