"""Group Sequential LASSO for least squares: the penalties at which only tied groups enter, and which of them
enter.

Notation for groups g of columns X_g, and a set S of selected groups:

    F_λ(β) = ½‖y − Xβ‖² + λ Σ_{g ∉ S} ‖β_g‖₂,   r = P_S^⊥y, c_g = X_gᵀr, λ* = max_{g ∉ S} ‖c_g‖,
    T = {g ∉ S : ‖c_g‖ = λ*},   z_g = P_S^⊥X_g c_g/‖c_g‖,   Z = [z_g]_{g ∈ T},   H = ZᵀZ.

P_S^⊥ projects off the columns of the selected groups. test_glm_selection.py checks that every group that is
selected lies in T (ledger id ours-group-omp). Axiotis and Yasuda (arXiv 2307.07405, 2023) proved this first,
for strictly convex losses. The proofs of the results in this file are in
docs/proofs/generalized_linear_models.md.

*One tied group*, T = {g}. Let M = P_S^⊥X_g and G = MᵀM, and let p = y − Xβ be the residual of a solution. The
solutions with support S ∪ g are given by a parameter η > 0:

    β_g = η(I + ηG)⁻¹c_g,   X_gᵀp = (I + ηG)⁻¹c_g,   λ = ‖X_gᵀp‖,   p = r − Mβ_g.

The reason is that X_gᵀp = β_g/η, and therefore X_gᵀp = λβ_g/‖β_g‖. For a rational η, all these quantities
except λ are rational, and λ² is rational too. So the conditions ‖X_hᵀp‖² ≤ λ² of the other groups h are
decided exactly.

*Several tied groups.* Suppose that v is the only solution of min_{v ≥ 0} ½vᵀHv − 1ᵀv. For λ → λ*, the
direction of β_g tends to the direction of c_g, and ‖β_g‖/(λ* − λ) tends to v_g. If every group has one
column, this ratio equals v_g in the whole interval (λ₂, λ*) on which the same groups are nonzero. For larger
groups, v gives ‖β_g‖ only to first order in λ* − λ. If v_g = 0 and (Hv)_g = 1, higher orders decide whether
group g enters.
"""

from itertools import product
from math import gcd

import numpy as np
from flint import fmpq, fmpq_mat, fmpq_poly

from proofs_checks.glm import SQUARED, dual_point, model, objective, reach, solve
from proofs_checks.rational import columns, nonnegative, off, rational, real
from sparselin.ledger import HOLDS, claim, mutants

NUMBER = "Theorem 3.3, Lemma 3.4 (ICLR), Lemma 3.5 (NeurIPS submission), for groups"


def transposed_product(A, b):
    """Return Aᵀb as a list."""
    return (A.transpose() * b).entries()


def squared(entries):
    """Return the sum of the squares of the entries."""
    return sum((a * a for a in entries), fmpq(0))


def members(groups, g):
    """Return the indices of the columns in group g."""
    return np.flatnonzero(groups == g).tolist()


def draw(rng):
    """Draw a small integer design with three or four groups of one to three columns, a response, and at most
    one selected group.
    """
    sizes = rng.integers(1, 4, rng.integers(3, 5))
    groups = np.repeat(np.arange(len(sizes)), sizes)
    X = rng.integers(-2, 3, (rng.integers(2, 7), len(groups))) + 0.0
    y = rng.integers(-3, 4, len(X)) + 0.0
    return X, y, groups, tuple(rng.permutation(len(sizes))[: rng.integers(0, 2)].tolist())


def group_step(X, y, groups, S):
    """Return the residual r of y on the selected groups S, the vectors X_gᵀr of the other groups, and the
    tied groups.

    The tied groups have the largest length of X_gᵀr. If this is 0, no group counts as tied.
    """
    A = rational(X)
    r = off(A, [j for g in S for j in members(groups, g)], rational(y))
    c = {g: transposed_product(columns(A, members(groups, g)), r) for g in set(groups.tolist()) - set(S)}
    largest = max((squared(c_g) for c_g in c.values()), default=fmpq(0))
    return r, c, [g for g in sorted(c) if squared(c[g]) == largest] if largest else []


def on_one_group(X, groups, S, at, g, eta):
    """Return (X_gᵀp, p), exactly, for the residual p of a solution that is nonzero only on S and on the group
    g.

    The number η > 0 determines the solution and its penalty; small η belong to penalties near λ*.
    """
    r, c, _ = at
    A = rational(X)
    M = off(A, [j for h in S for j in members(groups, h)], columns(A, members(groups, g)))
    m = M.ncols()
    identity = fmpq_mat(m, m, [fmpq(i == j) for i, j in product(range(m), repeat=2)])
    w = (identity + eta * (M.transpose() * M)).solve(fmpq_mat(m, 1, c[g]))
    return w.entries(), r - M * (eta * w)


def group_window(X, groups, at):
    """Return the relative length t₀ of the interval below λ* in which only tied groups are proved to enter.

    With c_h = X_hᵀr and the residual r, it is the minimum of (λ* − ‖c_h‖)/(λ* + ½(‖X_h‖₂‖r‖ − ‖c_h‖)) over
    the groups h that are neither selected nor tied.
    """
    r, c, T = at
    length = {g: real(squared(c_g)) ** 0.5 for g, c_g in c.items()}
    lam, r_norm = length[T[0]], real(squared(r.entries())) ** 0.5
    sizes = {h: np.linalg.norm(X[:, groups == h], 2) for h in c if h not in T}
    return min(
        ((lam - length[h]) / (lam + (size * r_norm - length[h]) / 2) for h, size in sizes.items()), default=1
    )


def close_to_the_end(X, groups, S, at):
    """Return (X_gᵀp, p) for the residual p of a solution at a penalty between (1 − t₀)λ* and λ*.

    g is the only tied group, on which the solution is nonzero, and t₀ the proved relative length of the
    interval. The penalty is ‖X_gᵀp‖.
    """
    _, c, T = at
    bound = (1 - 0.999 * group_window(X, groups, at)) * real(squared(c[T[0]])) ** 0.5
    halves = (on_one_group(X, groups, S, at, T[0], fmpq(1, 2**k)) for k in range(60))
    return next((w, p) for w, p in halves if real(squared(w)) ** 0.5 > bound)


def zero_off_the_one(case):
    """Return whether a solution on the selected groups and the only tied group satisfies all KKT conditions.

    The penalty is in the interval in which no other group is proved to enter. The conditions of the other
    groups must hold strictly.
    """
    X, _, groups, S = case
    at = group_step(*case)
    _, c, T = at
    w, p = close_to_the_end(X, groups, S, at)
    A = rational(X)
    selected = columns(A, [j for g in S for j in members(groups, g)])
    others = [columns(A, members(groups, h)) for h in c if h not in T]
    return (
        not any(transposed_product(selected, p))
        and transposed_product(columns(A, members(groups, T[0])), p) == w
        and squared(w) < squared(c[T[0]])
        and all(squared(transposed_product(X_h, p)) < squared(w) for X_h in others)
    )


@claim("ours-group-window", NUMBER, "proof, exact", HOLDS, cases=2000, ci_cases=100)
@mutants("group_window", "on_one_group")
def test_the_window_of_groups(check):
    """Just below λ*, for (1 − t₀)λ* < λ < λ*, every solution of min ½‖y − Xβ‖² + λ Σ_{g ∉ S} ‖β_g‖₂ is zero
    off S ∪ T. Here S is the set of selected groups and t₀ = min_{h ∉ S ∪ T} (λ* − ‖c_h‖)/(λ* + ½(‖X_h‖₂‖r‖ −
    ‖c_h‖)), with r = P_S^⊥y and c_h = X_hᵀr. If T = {g}, then A(S) = {g}.

    Hypotheses: λ* = max_{g ∉ S} ‖c_g‖ > 0, T is the set of groups that attain λ*, and A(S) the set of groups
    that are nonzero in some solution just below λ*. The check takes designs in which T is one group, with one
    to three other groups, and a λ with (1 − t₀)λ* < λ < λ*. P_S^⊥ is the projection onto the orthogonal
    complement of the columns of the groups in S.

    Consequences: For groups of one column, this window is at least as long as the window of the proof of
    Lemma 3.4, and at most twice as long. In that proof, (λ* − |c_h|)/(λ* + ‖X_h‖‖r‖) takes the place of the
    quotient in t₀.
    """
    drawn = (draw(check.rng) for _ in range(40 * check.cases))
    single = (case for case in drawn if len(group_step(*case)[2]) == 1)
    cases = [next(single) for _ in range(check.cases)]
    check.over(cases, zero_off_the_one)
    lengths = [group_window(X, groups, group_step(X, y, groups, S)) for X, y, groups, S in cases]
    check.measured(f"median t₀ {np.median(lengths):.2g}")


def first_order(X, y, groups, S):
    """Return the tied groups T, the matrix H, and solutions v of min_{v ≥ 0} ½vᵀHv − 1ᵀv, in rational
    arithmetic.

    All vertices of the set of solutions are returned. H is λ*² times the Gram matrix of the vectors z_g =
    P_S^⊥X_gc_g/‖c_g‖, where c_g = X_gᵀr with the residual r, and λ* = ‖c_g‖ for g ∈ T.
    """
    _, c, T = group_step(X, y, groups, S)
    A = rational(X)
    selected = [j for g in S for j in members(groups, g)]
    Z = [columns(A, members(groups, g)) * fmpq_mat(len(c[g]), 1, c[g]) for g in T]
    Z = off(A, selected, fmpq_mat(A.nrows(), len(T), [z[i, 0] for i in range(A.nrows()) for z in Z]))
    H = Z.transpose() * Z
    return T, H, nonnegative(H)


def is_decided(H, vertices):
    """Return whether the first order decides clearly which tied groups enter.

    `vertices` has solutions v of min_{v ≥ 0} ½vᵀHv − 1ᵀv. Each v_g must be 0 or more than a twentieth of the
    largest entry. Each (Hv)_g must be 1 or more than 21/20.
    """
    largest = max(a for v in vertices for a in v.entries())
    entries = [a for v in vertices for a in v.entries()]
    return all(a == 0 or a > largest / 20 for a in entries) and all(
        h == 1 or h > fmpq(21, 20) for h in (H * vertices[0]).entries()
    )


def zero_in_all(at, lam):
    """Return the groups that are zero in every solution at the penalty λ, as the duality gap proves."""
    u, gap = dual_point(at, lam, solve(at, lam))
    return np.flatnonzero(at.norms(at.X.T @ u) + reach(at, u, gap) < lam).tolist()


def may_vanish(at, lam, g):
    """Return False only if it is proved that the group g is nonzero in every solution at the penalty λ.

    The proof compares the objective with a lower bound for the problem without the group.
    """
    kept = at.groups != g
    less = at._replace(X=at.X[:, kept], groups=at.groups[kept])
    beta = solve(less, lam)
    least = objective(less, lam, beta) - dual_point(less, lam, beta)[1]
    return least <= objective(at, lam, solve(at, lam))


@claim("ours-group-ties", NUMBER, "proof, float", HOLDS, cases=150, ci_cases=25)
@mutants("first_order", "solve")
def test_which_tied_groups_enter(check):
    """The set A(S) of the tied groups that enter just below λ* satisfies {g : v_g > 0 in every solution v} ⊆
    A(S) ⊆ {g ∈ T : (Hv)_g = 1}. Here v runs through the solutions of min_{v ≥ 0} ½vᵀHv − 1ᵀv, which all have
    the same Hv.

    Hypotheses: The set T of groups with the largest ‖c_g‖ = λ*, c_g = X_gᵀP_S^⊥y, has two or three groups,
    which are tied exactly. H is the Gram matrix of the vectors P_S^⊥X_gc_g/‖c_g‖, g ∈ T. The LASSO solutions
    are computed at the penalties λ*(1 − 10⁻³) and λ*(1 − 10⁻⁴), and must show which groups enter. Therefore
    the check takes only designs in which each v_g, relative to the largest, and each (Hv)_g − 1 are 0 or
    above 0.05. P_S^⊥ is the projection onto the orthogonal complement of the columns of the groups in S.

    Unchecked: It is not proved that these two penalties are close enough to λ* to show the limit.

    Tolerance: v and H are exact. The supports are certified by duality gaps.
    """
    seen = dict.fromkeys(("all of T enters", "some of T stays out", "H is singular", "S ≠ ∅", "|T| > 2"), 0)

    def as_first_order_says(case):
        X, y, groups, S = case
        T, H, vertices = first_order(*case)
        enter = [g for k, g in enumerate(T) if all(v[k, 0] > 0 for v in vertices)]
        stay = [g for g, h in zip(T, (H * vertices[0]).entries(), strict=True) if h > 1]
        kinds = (len(enter) == len(T), bool(stay), H.det() == 0, bool(S), len(T) > 2)
        seen.update({name: seen[name] + kind for name, kind in zip(seen, kinds, strict=True)})
        at = model(SQUARED, X, y, S, groups)
        lams = [(1 - t) * real(squared(group_step(*case)[1][T[0]])) ** 0.5 for t in (1e-3, 1e-4)]
        return all(
            set(stay) <= set(zero_in_all(at, lam)) and not any(may_vanish(at, lam, g) for g in enter)
            for lam in lams
        )

    drawn = (draw(check.rng) for _ in range(2000 * check.cases))
    tied = (case for case in drawn if len(group_step(*case)[2]) > 1 and is_decided(*first_order(*case)[1:]))
    check.over((next(tied) for _ in range(check.cases)), as_first_order_says)
    check.measured(", ".join(f"{name} {count}" for name, count in seen.items()))


def same_first_order(p, q, m):
    """Return two designs of three columns that agree to first order, and a response.

    Group 0 has the first two columns, (1, 0, 0) and (0, m, 0), and group 1 the last one. The designs have the
    same λ*, the same tied groups and the same matrix H. The vector X_0ᵀy is (p, q).
    """
    c, G, h = (fmpq(p), fmpq(q)), (fmpq(1), fmpq(m * m)), fmpq(round((p * p + q * q) ** 0.5))
    Gc = [G_i * c_i for G_i, c_i in zip(G, c, strict=True)]
    curvature = (squared(Gc) - (c[0] * Gc[0] + c[1] * Gc[1]) ** 2 / h**2) / (2 * h)
    kappa = 2 * curvature / (p * q * (m * m - 1))
    designs = []
    for sign in (1, -1):
        b = (Gc[0] / h - sign * kappa * q, Gc[1] / h + sign * kappa * p)
        last = h - b[0] * p - b[1] * q / G[1]
        designs.append(fmpq_mat(3, 3, [1, 0, b[0], 0, m, b[1] / m, 0, 0, last]))
    return designs, fmpq_mat(3, 1, [fmpq(p), fmpq(q, m), 1])


def excess(X, y):
    """Return the coefficients of a polynomial in η with the sign of λ² − (X_1ᵀp)², for the solutions on group
    0 alone.

    p is the residual and λ the penalty of the solution with the parameter η > 0. Group 1 stays zero where the
    sign is positive.
    """
    c = transposed_product(columns(X, [0, 1]), y)
    ones = [fmpq_poly([1, 1]), fmpq_poly([1, X[1, 1] ** 2])]
    both = ones[0] * ones[1]
    w = [c[0] * ones[1], c[1] * ones[0]]  # X_0ᵀp·both
    b = transposed_product(columns(X, [0, 1]), columns(X, [2]))
    eta = fmpq_poly([0, 1])
    joint = transposed_product(columns(X, [2]), y)[0] * both - eta * (b[0] * w[0] + b[1] * w[1])
    return (w[0] ** 2 + w[1] ** 2 - joint**2).coeffs()


def sign_at_zero(coefficients):
    """Return the sign that a polynomial in η, given by its coefficients, has for all small η > 0."""
    return next((1 if a > 0 else -1 for a in coefficients if a != 0), 0)


@claim("ours-group-second-order", NUMBER, "proof, exact", HOLDS, cases=150, ci_cases=40)
@mutants("same_first_order", "excess", "sign_at_zero")
def test_the_second_order_decides(check):
    """For groups of features, the first order in λ* − λ does not determine the set A(S) of groups that enter
    just below λ*. There are two designs with the same λ*, T, H and v, with v_1 = 0 and (Hv)_1 = 1, for which
    A differs: A(∅) = {0} for one design and {0, 1} for the other.

    Hypotheses: Group 0 has the columns (1, 0, 0) and (0, m, 0), and group 1 has one column. c_0 = X_0ᵀy = (p,
    q), where p, q and h form a Pythagorean triple, and m ≥ 2. T = {0, 1} are the groups with the largest
    ‖c_g‖ = λ*, c_g = X_gᵀy. H is the nonsingular Gram matrix of the vectors X_gc_g/‖c_g‖, and v solves min_{v
    ≥ 0} ½vᵀHv − 1ᵀv.

    Consequences: For groups, A(S) is in general not the support of v, a nonnegative least squares solution.
    If every group has one column, A(S) is such a support.
    """
    triples = [
        (a * a - b * b, 2 * a * b) for a in range(2, 9) for b in range(1, a) if gcd(a, b) == 1 and (a - b) % 2
    ]

    def decides(case):
        p, q, m = case
        designs, y = same_first_order(p, q, m)
        grams = []
        for X in designs:
            c = transposed_product(X, y)
            z = columns(X, [0, 1]) * fmpq_mat(2, 1, c[:2])
            pair = fmpq_mat(3, 2, [a for i in range(3) for a in (z[i, 0], X[i, 2] * c[2])])
            grams.append(pair.transpose() * pair)
            if squared(c[:2]) != c[2] ** 2:
                return False
        H = grams[0]
        degenerate = H[0, 0] == H[0, 1] and H.det() != 0  # v = (1/H_00, 0), (Hv)_1 = 1
        signs = [sign_at_zero(excess(X, y)) for X in designs]
        return grams[1] == H and degenerate and signs == [-1, 1]

    cases = [(p, q, m) for p, q in triples for m in range(2, 12)]
    check.over([cases[k] for k in check.rng.permutation(len(cases))[: check.cases]], decides)
