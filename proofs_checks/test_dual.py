"""Equations (8)-(13) and Appendix A.1: the dual of Sequential LASSO is a projection; each of its terms is
checked.

Source: *Sequential Attention for Feature Selection*, Section 3.2 and Appendix A.1 (both versions; in the text
of the submission the overbars of S̄ are lost, so that (12) and (13) have ‖β‖₁ in place of ‖β_S̄‖₁).

    (8)   min over z = Xβ of ½‖z − y‖² + λ‖β_S̄‖₁
    (12)  max_u min_{z,β} ½‖z − y‖² + λ‖β_S̄‖₁ + uᵀ(z − Xβ)
    (13)  λ‖β_S̄‖₁ − uᵀXβ
    (11)  min ½‖y − u‖² over ‖Xᵀu‖∞ ≤ λ, X_Sᵀu = 0
    (9)   Xβ = z = y − u
    (10)  Xβ − X_Sβ_S* = P_S^⊥y − u

Here S is the set of selected features, S̄ its complement, β_S* = X_S⁺y, and P_S^⊥ the projection onto the
orthogonal complement of colspan(X_S). The terms of (12) that contain z are ½‖z − (y − u)‖² + ½‖y‖² − ½‖y −
u‖², and their minimiser is z = y − u. The terms that contain β, (13), are unbounded below if (Xᵀu)_S ≠ 0 or
‖Xᵀu‖∞ > λ. Otherwise their minimiser is β = 0. These two facts give (11), in which P_S^⊥y may replace y, by
Pythagoras' theorem. The value of (12) is ½‖y‖² − ½‖y − u‖². The maximiser u is the minimiser of (11), as the
paper says, but the values of (11) and (12) differ. Strong duality holds, because (8) is feasible and its
constraint z = Xβ is affine.
"""

import numpy as np
from flint import fmpq, fmpq_mat
from hypothesis import strategies as st

import sparselin as sl
from proofs_checks.rational import (
    HALF,
    close,
    columns,
    inner,
    least_squares,
    off,
    rational,
    real,
    reals,
    segment,
    vector,
)
from proofs_checks.steps import open_steps, selections, spread
from sparselin.ledger import HOLDS, claim, mutants

SECTION = "Section 3.2 and Appendix A.1"
TOLERANCE = "The exact solution and the package's may differ by 1e-12‖y‖."


def lagrangian_in_beta(X, u, beta, S, lam):
    """Return λ‖β_S̄‖₁ − uᵀXβ, the terms of the Lagrangian that contain β.

    S̄ is the complement of the selected set S.
    """
    norm = sum((abs(b) for i, b in enumerate(beta.entries()) if i not in S), fmpq(0))
    return lam * norm - inner(u, X * beta)


def unit(i, d, sign=1):
    """Return the vector sign·e_i, with e_i the i-th unit vector."""
    return vector([sign * fmpq(j == i) for j in range(d)])


def unbounded_direction(X, u, S, lam):
    """Return a vector β = ±e_i along which λ‖β_S̄‖₁ − uᵀXβ tends to −∞, or None if there is no such vector.

    Such an i is in S with ⟨X_i, u⟩ ≠ 0, or outside S with |⟨X_i, u⟩| > λ.
    """
    for i, c in enumerate((X.transpose() * u).entries()):
        violated = c != 0 if i in S else abs(c) > lam
        if violated:
            return unit(i, X.ncols(), 1 if c > 0 else -1)
    return None


def feasible(X, u, S, lam):
    """Return whether u is feasible in the dual problem: X_Sᵀu = 0 and ‖Xᵀu‖∞ ≤ λ."""
    c = (X.transpose() * u).entries()
    return all(c[i] == 0 for i in S) and all(abs(entry) <= lam for entry in c)


@st.composite
def with_points(draw, count=2):
    """Draw a design X, a response y, a selected set S, a penalty λ > 0, and `count` vectors in ℝⁿ.

    X and y are integer, and the vectors have half-integer entries. The first vector may be projected off the
    selected columns.
    """
    X, y, S = draw(selections(max_n=4, max_d=5, dependent=True))
    lam = fmpq(draw(st.integers(1, 6)), 2)
    entries = st.lists(st.integers(-3, 3), min_size=len(y), max_size=len(y))
    points = [vector([fmpq(a, 2) for a in draw(entries)]) for _ in range(count)]
    if draw(st.booleans()):
        points[0] = off(rational(X), S, points[0])
    return X, y, S, lam, points


def completed_square(y, z, u):
    """Return the value of ½‖z − (y − u)‖² + ½‖y‖² − ½‖y − u‖²."""
    w = y - u
    return HALF * (inner(z - w, z - w) + inner(y, y) - inner(w, w))


@claim("SA-equation-12", "equation (12) and the display after it, " + SECTION, "exact", HOLDS)
@mutants("completed_square")
def test_the_terms_in_z(check):
    """The terms of (12), max_u min_{z,β} ½‖z − y‖² + λ‖β_S̄‖₁ + uᵀ(z − Xβ), that contain z are

        ½‖z − y‖² + uᵀz = ½‖z‖² − (y − u)ᵀz + ½‖y‖² = ½‖z − (y − u)‖² + ½‖y‖² − ½‖y − u‖²,

    and they are minimised at z = y − u.

    Hypotheses: y, z and u are any vectors, and S̄ is the complement of the selected set S.
    """

    def identities(drawn):
        _, y, _, _, (z, u) = drawn
        y = rational(y)
        first = HALF * inner(z - y, z - y) + inner(u, z)
        second = HALF * inner(z, z) - inner(y - u, z) + HALF * inner(y, y)
        return first == second == completed_square(y, z, u) >= completed_square(y, y - u, u)

    check.forall(with_points(), identities)


@claim(
    "SA-equation-13",
    "equation (13) and the sentences after it, " + SECTION + " (ICLR)",
    "exact, proof",
    HOLDS,
)
@mutants("unbounded_direction", "lagrangian_in_beta")
def test_the_terms_in_beta(check):
    """The expression λ‖β_S̄‖₁ − uᵀXβ can be made arbitrarily negative by a choice of β if (Xᵀu)_S ≠ 0 or
    ‖Xᵀu‖∞ > λ. Otherwise it is minimised at β = 0.

    Hypotheses: S is any set of selected features, S̄ its complement, u any vector, and λ > 0.

    Consequences: The expression, (13) in the paper, is a sum over i of positively homogeneous functions of
    β_i. If it is nonnegative at every ±e_i, it is nonnegative everywhere. One negative value makes it
    unbounded below. The text of the submission has lost the overbars and has ‖β‖₁ in place of ‖β_S̄‖₁. With
    ‖β‖₁, the condition (Xᵀu)_S ≠ 0 would not make the expression unbounded.
    """

    def decided_by_feasibility(drawn):
        X, _, S, lam, (u, w) = drawn
        A = rational(X)
        falls = unbounded_direction(A, u, S, lam)
        if falls is not None:
            once, tenfold = (lagrangian_in_beta(A, u, falls * fmpq(k), S, lam) for k in (1, 10))
            return not feasible(A, u, S, lam) and once < 0 and tenfold == 10 * once
        units = [unit(i, A.ncols(), s) for i in range(A.ncols()) for s in (1, -1)]
        # an arbitrary β besides ±e_i
        some_beta = vector([fmpq((j + int(w[0, 0] * 2)) % 5 - 2) for j in range(A.ncols())])
        values = [lagrangian_in_beta(A, u, beta, S, lam) for beta in (*units, some_beta)]
        return feasible(A, u, S, lam) and min(values) >= 0

    check.forall(with_points(), decided_by_feasibility)


@claim("SA-equation-11", "equations (8), (11), " + SECTION, "exact", HOLDS, tolerance=TOLERANCE)
@mutants("sl.project_dual")
def test_strong_duality(check):
    """Strong duality holds for problem (8), min over z = Xβ of ½‖z − y‖² + λ‖β_S̄‖₁. The Lagrangian dual of
    (8) is equivalent to

        min ½‖y − u‖²   subject to   ‖Xᵀu‖∞ ≤ λ   and   X_jᵀu = 0 for j ∈ S.

    Hypotheses: The columns of S are linearly independent, and λ* = ‖XᵀP_S^⊥y‖∞ > 0. The check uses λ = λ*,
    and the middle of the window (λ₂, λ*), on which the same features outside S are nonzero. P_S^⊥ is the
    projection onto the orthogonal complement of the columns in S. S̄ is the complement of S, the set of
    selected features.

    Consequences: The value of the dual is ½‖y‖² − ½‖y − u‖², and equals the value of (8).

    Unchecked: Other values of λ are not checked in exact arithmetic. λ*/7 is checked in floating point under
    the ledger id SA-equation-9.
    """

    def no_gap(X, y, S):
        found, A, b = segment(X, y, S), rational(X), rational(y)
        for lam, beta, u in (found.solution(fmpq(0)), found.in_window()):
            penalty = sum((abs(v) for i, v in enumerate(beta.entries()) if i not in S), fmpq(0))
            primal = HALF * inner(b - A * beta, b - A * beta) + lam * penalty
            dual = HALF * (inner(b, b) - inner(b - u, b - u))
            ours = sl.project_dual(X, y, real(lam), forced=S).u
            if primal != dual or not feasible(A, u, S, lam) or not close(ours, reals(u), y):
                return False
        return True

    check.forall(open_steps(), spread(no_gap))


def distance_bound(A, b, lam, u):
    """Return an upper bound on the distance of y from the polytope {u : ‖Xᵀu‖∞ ≤ λ}.

    It is the distance of y from the point u, scaled such that it lies in the polytope.
    """
    largest = max((abs(c) for c in (A.transpose() * u).entries()), default=fmpq(0))
    u = u * min(fmpq(1), lam / largest) if largest else u
    return float(np.linalg.norm(reals(b - u)))


@claim("SA-appendix-A.1-pythagoras", "Appendix A.1, last display", "exact, float", HOLDS, tolerance=TOLERANCE)
@mutants("sl.project_dual")
def test_the_projected_response_serves_as_well(check):
    """For every u in the orthogonal complement of colspan(X_S),

        ½‖y − u‖² = ½‖y − P_S^⊥y‖² + ½‖P_S^⊥y − u‖²,

    so that in problem (11), the dual of Sequential LASSO, P_S^⊥y may be projected in place of y.

    Hypotheses: S is any set, and its columns may be dependent. Problem (11) is min ½‖y − u‖² over ‖Xᵀu‖∞ ≤ λ,
    X_Sᵀu = 0.
    """

    def same(drawn):
        X, y, S, lam, (w, _) = drawn
        A, b = rational(X), rational(y)
        u, r = off(A, S, w), off(A, S, b)
        pythagoras = inner(b - u, b - u) == inner(b - r, b - r) + inner(r - u, r - u)
        ours = [sl.project_dual(X, target, real(lam), forced=S).u for target in (y, reals(r))]
        no_farther = np.linalg.norm(y - ours[0]) <= distance_bound(A, b, lam, u) * (1 + 1e-12)
        return pythagoras and close(*ours, y) and no_farther

    check.forall(with_points(), same)


@claim(
    "SA-equation-9", "equations (9) and (10), Section 3.2", "formal, exact, float", HOLDS, tolerance=TOLERANCE
)
@mutants("sl.project_dual", "sl.lasso_path")
def test_fit_and_dual_point(check):
    """The variables β, z of Sequential LASSO, min over z = Xβ of ½‖z − y‖² + λ‖β_S̄‖₁, and its dual variable
    u are related by

        Xβ = z = y − u   and, with β_S* = X_S⁺y,   Xβ − X_Sβ_S* = P_S^⊥y − u.

    Hypotheses: The columns of S are linearly independent, and λ* = ‖XᵀP_S^⊥y‖∞ > 0. The check is exact in the
    middle of the window (λ₂, λ*), on which the same features outside S are nonzero, and in floating point at
    λ*/7. P_S^⊥ is the projection onto the orthogonal complement of the columns in S. S̄ is the complement of
    S, the set of selected features.

    In Coq: dual_projection, residual_exists_unique
    """

    def related(X, y, S):
        found, A, b = segment(X, y, S), rational(X), rational(y)
        eps = found.step.lam_star - found.in_window().lam
        beta, u = found.coefficients(eps), found.step.residual - found.Z * found.v * eps
        on_S = columns(A, S) * least_squares(columns(A, S), b) if S else fmpq_mat(A.nrows(), 1)
        exact = A * beta == b - u and A * beta - on_S == found.step.residual - u
        lam = real(found.step.lam_star) / 7
        fit = X @ sl.lasso_path(X, y, forced=S, lam_min=lam).at(lam)
        return exact and close(fit, y - sl.project_dual(X, y, lam, forced=S).u, y)

    check.forall(open_steps(), spread(related))
