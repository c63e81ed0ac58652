"""Nonnegative OMP, Sequential LASSO and the LASSO path for β ≥ 0: the features that they select, and the
uniqueness of β.

S is the selected set, and F ⊆ S has the forced features, whose coefficients may have any sign. All other
coefficients are nonnegative. With λ ≥ 0, the problem over β_{F̄} ≥ 0 is

    min ½‖y − Xβ‖² + λ Σ_{j ∉ S} β_j.                                                                      (+)

For λ = ∞ the solutions are zero outside S, so (+) is nonnegative least squares on S. Let r be its residual, c
= Xᵀr, λ* = max(0, max_{j ∉ S} c_j) and T = {j ∉ S : c_j = λ*}. Nonnegative OMP (Bruckstein, Elad and
Zibulevsky, *On the uniqueness of nonnegative sparse solutions to underdetermined systems of equations*, 2008)
takes a feature of T. The LASSO path for β ≥ 0 consists of the solutions of (+) for S = F. Derivations:
docs/proofs/nonnegative.md.

*Exact solutions for comparison.* Let Z have the columns P_F^⊥X_j, j ∉ F, where P_F^⊥ projects off the forced
columns. Let H = ZᵀZ and b_j = ⟨Z_j, y⟩ − λ·[j ∉ S]. Then (+) is min ½uᵀHu − bᵀu over u ≥ 0, with u = β_{F̄}.
If u has the support B and H_BB is nonsingular, then u_B = H_BB⁻¹b_B. The checks try all supports B, and u is
a minimiser if u ≥ 0 and Hu ≥ b.
"""

from itertools import pairwise

import numpy as np
from flint import fmpq
from hypothesis import assume
from hypothesis import strategies as st

import sparselin as sl
from proofs_checks.rational import columns, exactly, inner, least_squares, rational, real, reals, signed_fits
from sparselin.ledger import HOLDS, claim, mutants
from sparselin.testing import designs_with_margin, integer_designs, tied_designs

SOURCE = "Theorem 3.3, for β ≥ 0"
UNIQUENESS = "Bruckstein, Elad and Zibulevsky (2008)"
SHARED = integer_designs(5, 7) | tied_designs(5, 7) | designs_with_margin(0.01, 5, 7)


@st.composite
def selections(draw):
    """Draw an integer design X, y, a set S of at most three selected features, and the forced features F ⊆ S,
    at most one.
    """
    X, y = draw(integer_designs(5, 6) | tied_designs(5, 6))
    S = draw(st.lists(st.integers(0, X.shape[1] - 1), max_size=3, unique=True))
    return X, y, tuple(S[: draw(st.integers(0, 1))]), tuple(S)


def minimisers(X, y, F, S, lam):
    """Return solutions β of the nonnegative problem min ½‖y − Xβ‖² + λ Σ_{j ∉ S} β_j, exactly.

    The coefficients of the forced features F may have any sign, the others are ≥ 0. Every vertex of the set
    of solutions is among the solutions. All of them have the same residual.
    """
    signs = {j: 1 for j in range(X.shape[1]) if j not in F}
    return signed_fits(X, y, F, signs, [fmpq(0) if j in S else fmpq(lam) for j in signs])


def window(X, r, c, lam_star, others):
    """Return a rational number ε > 0 such that only tied features enter at penalties between (1 − ε)λ* and
    λ*.

    The proved bound is the minimum of (λ* − c_j)/(λ* + ‖X_j‖‖r‖) over the other unselected features j. The
    rational ε is a little smaller, because it has ½(‖X_j‖² + ‖r‖²) in place of ‖X_j‖‖r‖.
    """
    A = rational(X)
    squares = {j: inner(columns(A, [j]), columns(A, [j])) for j in others}
    return min(
        ((lam_star - c[j]) / (lam_star + (square + inner(r, r)) / 2) for j, square in squares.items()),
        default=fmpq(1),
    )


def on_selected(X, y, F, S):
    """Return the residual r of nonnegative least squares on the selected features S, and Xᵀr.

    The forced features F, which come first in S, may have coefficients of any sign.
    """
    beta = minimisers(X[:, list(S)], y, range(len(F)), range(len(S)), 0)[0]
    r = rational(y) - columns(rational(X), S) * beta
    return r, (rational(X).transpose() * r).entries()


@claim("ours-nonnegative-omp", SOURCE, "proof, exact", HOLDS, cases=2000)
@mutants("on_selected", "window")
def test_what_enters_has_the_largest_correlation(check):
    """Nonnegative Sequential LASSO selects from T, the features with the largest correlation λ* with the
    residual r of nonnegative OMP. In detail, let λ* > 0, and let ε₀ be the least of 1 and (λ* − c_j)/(λ* +
    ‖X_j‖‖r‖) over j ∉ S ∪ T. For (1 − ε₀)λ* < λ < λ*, every minimiser of ½‖y − Xβ‖² + λ Σ_{j ∉ S} β_j over
    β_{F̄} ≥ 0 is zero off S ∪ T and not zero off S.

    Hypotheses: X and y are arbitrary. S is the set of selected features, F ⊆ S the set of forced ones, and F̄
    its complement. r is the residual of least squares on S, with coefficients ≥ 0 on S∖F and of any sign on
    F. Let c = Xᵀr, λ* = max(0, max_{j ∉ S} c_j) and T = {j ∉ S : c_j = λ*}. The check uses one λ in this
    interval.

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
    """Return whether a certificate proves the path of nonnegative OMP.

    The certificate must have a step for each selected feature that is not forced, be valid in exact
    arithmetic, and be invalid for another y. Its sets of tied features must be exact.
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
    """Each feature that `sl.omp(X, y, k, positive=True)` selects is in the set T of features j ∉ S with the
    largest c_j > 0. The certificate of `sl.certify` for the claim "nonnegative_omp" proves this.

    Hypotheses: The designs have float64 entries, which are integers with ties, or dyadic fractions. Either no
    feature is forced, or the first feature is forced if its column is not zero. S is the set of features
    selected before, and c = Xᵀr, where r is the residual of nonnegative least squares on S.

    Tolerance: The largest correlation λ* = max c_j of the path may have a relative error of 1e-9. T is exact.
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
    """Return the residual y − Xβ of the nonnegative LASSO at the penalty λ, and the least penalised sum of a
    solution.

    The sum is that of the coefficients outside the forced features F. Both are computed exactly and then
    rounded.
    """
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

    Hypotheses: F is the set of forced features, whose coefficients may have any sign, F̄ its complement, and
    |F| ≤ 1. P_F^⊥ projects off the columns in F. The check uses the knots of the path and the midpoints
    between them.

    Tolerance: Residuals may differ by 1e-9‖y‖, and the sum Σβ by 1e-9(1 + Σβ). Rounding errors are far
    smaller, because X and y have small integer entries.
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
    """Return the one-sided coherence max_{i ≠ j} |⟨D_i, D_j⟩|/‖D_i‖² of the scaled columns D_i = A_i/⟨A_i,
    h⟩.

    Return None if some ⟨A_i, h⟩ is not positive.
    """
    w = (A.transpose() * h).entries()
    if min(w) <= 0:
        return None
    G, d = A.transpose() * A, len(w)
    return max(
        (abs(G[i, j]) * w[i] / (w[j] * G[i, i]) for i in range(d) for j in range(d) if i != j),
        default=fmpq(0),
    )


def is_unique(A, support):
    """Return whether a vector x ≥ 0 with the given support is the only z ≥ 0 with Az = Ax.

    A is n × (n + 1). Return None if its first n columns are dependent. Otherwise the other solutions are x +
    tδ with Aδ = 0, and none of them is nonnegative if δ has entries of both signs outside the support.
    """
    last = A.ncols() - 1
    kernel = [*(-least_squares(columns(A, range(last)), columns(A, [last]))).entries(), fmpq(1)]
    if columns(A, range(last)).rank() < last:
        return None
    rest = [kernel[j] for j in range(last + 1) if j not in support]
    return min(rest, default=0) < 0 < max(rest, default=0)


def incoherent(rng):
    """Return a random integer matrix A with n + 1 columns of small coherence, and a positive vector h."""
    n = int(rng.choice([2, 3, 4, 5, 14, 16, 17]))
    signs = np.where(np.arange(n) < rng.integers(n // 2, n), 1.0, -1.0)
    A = np.column_stack([8 * np.eye(n) + rng.integers(-1, 2, (n, n)) * (rng.random() < 0.3), signs])
    return A[:, rng.permutation(n + 1)], 1 + rng.integers(0, 2, n) * (rng.random() < 0.5)


def sparse_solutions(rng, count):
    """Yield `count` pairs of a matrix A and a nonnegative vector x that is sparse enough to be unique by the
    theorem.
    """
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
    """A nonnegative x with fewer than ½(1 + 1/ρ(D)) nonzero entries is the only z ≥ 0 with Az = Ax. Here w =
    Aᵀh > 0 for some vector h, D = A·diag(w)⁻¹ and ρ(D) = max_{i ≠ j} |⟨D_i, D_j⟩|/‖D_i‖².

    Hypotheses: A is an n × (n + 1) matrix of rank n, and x has at most two nonzero entries.

    Consequences: `sl.lasso_path(A, Ax, positive=True)` ends in x. So does `sl.omp(..., positive=True)` if it
    fits Ax. The statement is false with the mutual coherence max |⟨A_i, A_j⟩|/(‖A_i‖‖A_j‖) in place of ρ(D).
    For example, the columns (1, 0), (0, 1) and (1, 1) have the mutual coherence 1/√2, and 1 < ½(1 + √2). But
    the column (1, 1) is also the sum of the two others.

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
