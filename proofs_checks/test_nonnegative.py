"""Nonnegative OMP, Sequential LASSO and the LASSO path for β ≥ 0: the picks, and the uniqueness of β.

S is the selected set, and F ⊆ S has the forced features, whose coefficients may have any sign. All other
coefficients are nonnegative. With λ ≥ 0, the problem over β_{F̄} ≥ 0 is

    min ½‖y − Xβ‖² + λ Σ_{j ∉ S} β_j.                                                                      (+)

At λ = ∞ this is nonnegative least squares on S. Let r be its residual, c = Xᵀr, λ* = max(0, max_{j ∉ S} c_j)
and T = {j ∉ S : c_j = λ*}. Nonnegative OMP (Bruckstein, Elad and Zibulevsky, *On the uniqueness of
nonnegative sparse solutions to underdetermined systems of equations*, 2008) takes a feature of T. The LASSO
path for β ≥ 0 has S = F. Derivations: docs/proofs/nonnegative.md.

*The oracle.* Let Z have the columns P_F^⊥X_j, j ∉ F, and let H = ZᵀZ and b_j = ⟨Z_j, y⟩ − λ·[j ∉ S]. Then (+)
is min ½uᵀHu − bᵀu over u ≥ 0. If u has the support B and H_BB is nonsingular, then u_B = H_BB⁻¹b_B. All
supports B are tried. A minimiser has u ≥ 0 and Hu ≥ b.
"""

from itertools import combinations, pairwise

import numpy as np
from flint import fmpq, fmpq_mat
from hypothesis import assume
from hypothesis import strategies as st

import sparselin as sl
from proofs_checks.rational import columns, exactly, inner, least_squares, off, rational, real, reals
from sparselin.ledger import HOLDS, claim, mutants
from sparselin.testing import designs_with_margin, integer_designs, tied_designs

SOURCE = "Theorem 3.3, for β ≥ 0"
UNIQUENESS = "Bruckstein, Elad and Zibulevsky (2008)"
SHARED = integer_designs(5, 7) | tied_designs(5, 7) | designs_with_margin(0.01, 5, 7)


@st.composite
def selections(draw):
    """Draw (X, y, F, S): small integers, F ⊆ S, |F| ≤ 1, and at most three features in S."""
    X, y = draw(integer_designs(5, 6) | tied_designs(5, 6))
    S = draw(st.lists(st.integers(0, X.shape[1] - 1), max_size=3, unique=True))
    return X, y, tuple(S[: draw(st.integers(0, 1))]), tuple(S)


def minimisers(X, y, F, S, lam):
    """Return the minimisers β of the module's problem (+) that are vertices off F; all have the same
    residual.
    """
    A, d = rational(X), X.shape[1]
    signed = [j for j in range(d) if j not in F]
    Z = off(A, F, columns(A, signed))
    H = Z.transpose() * Z
    b = (Z.transpose() * rational(y)).entries()
    b = [b_j - (0 if j in S else lam) for j, b_j in zip(signed, b, strict=True)]
    found = []
    for B in (B for size in range(min(d, len(X)) + 1) for B in combinations(range(len(signed)), size)):
        u = vertex(H, b, B)
        if u is not None:
            beta = fmpq_mat(d, 1)
            for j, u_j in zip(signed, u.entries(), strict=True):
                beta[j, 0] = u_j
            for j, free in zip(
                F, least_squares(columns(A, F), rational(y) - A * beta).entries(), strict=True
            ):
                beta[j, 0] = free
            found.append(beta)
    return found


def vertex(H, b, B):
    """Return the minimiser u of ½uᵀHu − bᵀu over u ≥ 0 with support in B, or None.

    None means that there is no such minimiser, or that H_BB is singular.
    """
    H_BB, u = fmpq_mat(len(B), len(B), [H[i, j] for i in B for j in B]), fmpq_mat(len(b), 1)
    if B and H_BB.det() == 0:
        return None
    values = H_BB.solve(fmpq_mat(len(B), 1, [b[i] for i in B])).entries() if B else []
    for i, value in zip(B, values, strict=True):
        u[i, 0] = value
    slack = zip((H * u).entries(), b, strict=True)
    return u if min(values, default=0) >= 0 and all(Hu >= b_i for Hu, b_i in slack) else None


def window(X, r, c, lam_star, others):
    """Return a rational ε ≤ ε₀, where ε₀ is the minimum of (λ* − c_j)/(λ* + ‖X_j‖‖r‖) over j ∉ S ∪ T.

    It is ε = min (λ* − c_j)/(λ* + (‖X_j‖² + ‖r‖²)/2), and ε ≤ ε₀ follows from 2‖X_j‖‖r‖ ≤ ‖X_j‖² + ‖r‖².
    """
    A = rational(X)
    squares = {j: inner(columns(A, [j]), columns(A, [j])) for j in others}
    return min(
        ((lam_star - c[j]) / (lam_star + (square + inner(r, r)) / 2) for j, square in squares.items()),
        default=fmpq(1),
    )


def on_selected(X, y, F, S):
    """Return (r, c) of nonnegative least squares on S, in which the forced features F come first."""
    beta = minimisers(X[:, list(S)], y, range(len(F)), range(len(S)), 0)[0]
    r = rational(y) - columns(rational(X), S) * beta
    return r, (rational(X).transpose() * r).entries()


@claim("ours-nonnegative-omp", SOURCE, "proof, exact", HOLDS, cases=2000)
@mutants("on_selected", "window")
def test_what_enters_has_the_largest_correlation(check):
    """Let λ* > 0 and ε₀ = min_{j ∉ S ∪ T} (λ* − c_j)/(λ* + ‖X_j‖‖r‖), or 1 if this is less. For (1 − ε₀)λ* <
    λ < λ*, every minimiser of ½‖y − Xβ‖² + λ Σ_{j ∉ S} β_j over β_{F̄} ≥ 0 is zero off S ∪ T and not zero off
    S. So nonnegative Sequential LASSO selects from T.

    Hypotheses: X and y are arbitrary. Let r be the residual of nonnegative OMP: least squares on S, with
    coefficients ≥ 0 on S∖F and any sign on F. Let c = Xᵀr, λ* = max(0, max_{j ∉ S} c_j) and T = {j ∉ S : c_j
    = λ*}. The check uses one λ of the window.

    Consequences: If T = {i}, nonnegative OMP selects i too.
    """

    def enters(case):
        X, y, F, S = case
        outside = [j for j in range(X.shape[1]) if j not in S]
        r, c = on_selected(*case)
        lam_star = max((c[j] for j in outside), default=fmpq(0))
        assume(lam_star > 0)
        others = [j for j in outside if c[j] < lam_star]
        lam = lam_star * (1 - window(X, r, c, lam_star, others) * fmpq(9, 10))
        beta = minimisers(X, y, F, S, lam)[0]
        p = (rational(X).transpose() * (rational(y) - rational(X) * beta)).entries()
        entered = any(beta[j, 0] > 0 for j in outside)
        return lam < lam_star and entered and all(p[j] < lam for j in others)

    check.forall(selections(), enters)


def proves(X, y, forced, path, certificate):
    """Return whether the certificate is valid.

    The certificate must cover the whole path, hold exactly, and fail for another y, and its sets T must be
    exact.
    """
    whole = len(certificate.steps) == len(path.support) - forced
    other = certificate.verify(X, y + np.eye(len(y))[0], exact=True)
    if not (whole and certificate.verify(X, y, exact=True) and not other):
        return False
    for step, lam in zip(certificate.steps, path.lam_star[forced:], strict=True):
        _, c = on_selected(X, y, range(forced), step.selected)
        largest = max(c_j for j, c_j in enumerate(c) if j not in step.selected)
        T = tuple(j for j, c_j in enumerate(c) if c_j == largest and j not in step.selected)
        if not (largest > 0 and step.tied == T and step.pick in T and abs(lam - real(largest)) <= 1e-9 * lam):
            return False
    return True


@claim("ours-nonnegative-omp-certified", SOURCE, "exact", HOLDS, cases=2000)
@mutants("sl.certify", "sl.omp", "on_selected")
def test_certificates_of_nonnegative_omp(check):
    """Each pick of `sl.omp(X, y, k, positive=True)` is in the set T of features j ∉ S with the largest c_j >
    0. `sl.certify` proves this as the claim "nonnegative_omp".

    Hypotheses: The designs have float64 entries, which are integers with ties, or dyadic fractions. Either no
    feature is forced, or the first feature is forced if its column is not zero. c = Xᵀr, where r is the
    residual of nonnegative least squares on S.

    Tolerance: λ* may differ by 1e-9, relatively. T is exact.
    """

    def proved(case):
        (X, y), forced = case
        forced = forced if X[:, 0].any() else 0
        path = sl.omp(X, y, min(4, X.shape[1]), positive=True, forced=range(forced))
        certificate = sl.certify(X, y, path, claim="nonnegative_omp")
        assume(len(path.support) > forced)
        return proves(X, y, forced, path, certificate)

    check.forall(st.tuples(SHARED, st.integers(0, 1)), proved)


def exactly_at(X, y, F, lam):
    """Return y − Xβ at λ as floats, and the least Σβ off F of all minimisers, both computed exactly."""
    found = minimisers(X, y, F, F, exactly(lam))
    penalised = [j for j in range(X.shape[1]) if j not in F]
    least = min(sum((beta[j, 0] for j in penalised), fmpq(0)) for beta in found)
    return reals(rational(y) - rational(X) * found[0]), real(least)


@claim("ours-nonnegative-path", SOURCE, "proof, float", HOLDS, cases=1000, ci_cases=30)
@mutants("sl.lasso_path", "exactly_at")
def test_the_path_for_nonnegative_coefficients(check):
    """At every λ, the minimisers of ½‖y − Xβ‖² + λ Σ_{j ∉ F} β_j over β_{F̄} ≥ 0 have the residual of
    `sl.lasso_path(X, y, unpenalized=F, positive=True)`. This residual is linear between the knots. The first
    knot is max(0, max_j ⟨X_j, P_F^⊥y⟩). At λ = 0 the path ends in a nonnegative least squares solution, and
    no other such solution has a smaller Σ_{j ∉ F} β_j.

    Hypotheses: |F| ≤ 1. The check uses the knots and the midpoints between them.

    Tolerance: Residuals may differ by 1e-9‖y‖, and the sum Σβ by 1e-9(1 + Σβ). Rounding errors are far
    smaller for such small integers.
    """

    def follows(case):
        X, y, F, _ = case
        path, tol = sl.lasso_path(X, y, unpenalized=F, positive=True), 1e-9 * np.linalg.norm(y)
        knots = path.knots.tolist()
        for lam in knots + [(a + b) / 2 for a, b in pairwise(knots)]:
            beta = path.at(lam)
            if np.delete(beta, F).min(initial=0) < 0:
                return False
            if np.linalg.norm(y - X @ beta - exactly_at(X, y, F, lam)[0]) > tol:
                return False
        _, c = on_selected(X, y, F, F)
        first, total = max([0.0, *map(real, c)]), np.delete(path.coef[-1], F).sum()
        return abs(knots[0] - first) <= tol * 9 and abs(total - exactly_at(X, y, F, 0.0)[1]) <= 1e-9 * (
            1 + total
        )

    check.forall(selections(), follows)


def one_sided_coherence(A, h):
    """Return ρ(D) = max_{i ≠ j} |⟨D_i, D_j⟩|/‖D_i‖², D_i = A_i/⟨A_i, h⟩, or None unless all ⟨A_i, h⟩ > 0."""
    w = (A.transpose() * h).entries()
    if min(w) <= 0:
        return None
    G, d = A.transpose() * A, len(w)
    return max(
        (abs(G[i, j]) * w[i] / (w[j] * G[i, i]) for i in range(d) for j in range(d) if i != j),
        default=fmpq(0),
    )


def is_unique(A, support):
    """Return whether an x ≥ 0 with this support is the only nonnegative solution z of Az = Ax.

    A is n × (n + 1) and has rank n. The other solutions are x + tδ with Aδ = 0. None of them is nonnegative
    if δ has entries of both signs off the support.
    """
    last = A.ncols() - 1
    kernel = [*(-least_squares(columns(A, range(last)), columns(A, [last]))).entries(), fmpq(1)]
    if columns(A, range(last)).rank() < last:
        return None
    rest = [kernel[j] for j in range(last + 1) if j not in support]
    return min(rest, default=0) < 0 < max(rest, default=0)


def incoherent(rng):
    """Return (A, h): A has n + 1 columns, n of them near those of 8I and one of ±1, and h is 1 + noise."""
    n = int(rng.choice([2, 3, 4, 5, 14, 16, 17]))
    signs = np.where(np.arange(n) < rng.integers(n // 2, n), 1.0, -1.0)
    A = np.column_stack([8 * np.eye(n) + rng.integers(-1, 2, (n, n)) * (rng.random() < 0.3), signs])
    return A[:, rng.permutation(n + 1)], 1 + rng.integers(0, 2, n) * (rng.random() < 0.5)


def sparse_solutions(rng, count):
    """Yield `count` pairs (A, x) that meet the hypotheses."""
    while count:
        A, h = incoherent(rng)
        rho = one_sided_coherence(rational(A), rational(h))
        k = int(rng.integers(1, 3))
        if rho is not None and (2 * k - 1) * rho < 1 and is_unique(rational(A), ()) is not None:
            x = np.zeros(A.shape[1])
            x[rng.choice(A.shape[1], k, replace=False)] = rng.integers(1, 9, k)
            count -= 1
            yield A, x


@claim("ours-nonnegative-uniqueness", UNIQUENESS, "proof, exact", HOLDS, cases=1000)
@mutants("sl.lasso_path", "sl.omp", "is_unique", "one_sided_coherence")
def test_sparse_nonnegative_solutions_are_unique(check):
    """Let w = Aᵀh > 0 for some h, D = A·diag(w)⁻¹ and ρ(D) = max_{i ≠ j} |⟨D_i, D_j⟩|/‖D_i‖². If x ≥ 0 has
    fewer than ½(1 + 1/ρ(D)) nonzero entries, it is the only z ≥ 0 with Az = Ax.

    Hypotheses: A is an n × (n + 1) matrix of rank n, and x has at most two nonzero entries.

    Consequences: `sl.lasso_path(A, Ax, positive=True)` ends in x. So does `sl.omp(..., positive=True)` if it
    fits Ax. The statement is false with the mutual coherence max |⟨A_i, A_j⟩|/(‖A_i‖‖A_j‖) in place of ρ(D):
    the column (1, 1) is the sum of (1, 0) and (0, 1), and 1 < ½(1 + √2).

    Unchecked: The printed wording is not checked, because the text of the paper was not available.

    Tolerance: The ends of the two paths may differ from x by 1e-9‖x‖.
    """
    seen = [0, 0]

    def recovered(case):
        A, x = case
        seen[np.count_nonzero(x) - 1] += 1
        y = A @ x
        ends = [sl.lasso_path(A, y, positive=True).coef[-1]]
        path = sl.omp(A, y, A.shape[1], positive=True)
        ends += [path.dense_coef()] if path.status is sl.Status.EXACT_FIT else []
        close = [np.linalg.norm(end - x) <= 1e-9 * np.linalg.norm(x) for end in ends]
        return is_unique(rational(A), np.flatnonzero(x)) and all(close)

    check.over(sparse_solutions(check.rng, check.cases), recovered)
    check.over([rational([[1.0, 1, 0], [1, 0, 1]])], lambda A: is_unique(A, [0]) is False)
    check.measured(f"one nonzero entry {seen[0]}, two {seen[1]}")
