"""Exact linear algebra for the checks: integer and dyadic designs as rational matrices (python-flint).

These functions use nothing of `sparselin`, because an oracle must not share code with the function that it
checks.
"""

from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from flint import fmpq, fmpq_mat

HALF = fmpq(1, 2)


def rational(A) -> fmpq_mat:
    """Return a float matrix (n, m), or a vector (n,) as one column, as an exact rational matrix."""
    A = np.asarray(A, dtype=np.float64)
    A = A.reshape(len(A), -1) if A.ndim == 1 else A
    return fmpq_mat(A.shape[0], A.shape[1], [fmpq(*float(a).as_integer_ratio()) for a in A.ravel()])


def columns(A: fmpq_mat, J: Sequence[int]) -> fmpq_mat:
    """Return A[:, J], the columns J of A."""
    n = A.nrows()
    return fmpq_mat(n, len(J), [A[i, j] for i in range(n) for j in J])


def signed(A: fmpq_mat, J: Sequence[int], signs: Sequence[int]) -> fmpq_mat:
    """Return the matrix with the columns s_jA_j for j ∈ J."""
    pairs = list(zip(J, signs, strict=True))
    return fmpq_mat(A.nrows(), len(pairs), [s * A[i, j] for i in range(A.nrows()) for j, s in pairs])


def independent(A: fmpq_mat, J: Sequence[int]) -> list[int]:
    """Return the pivot columns of J: each j ∈ J whose column is not in the span of the columns before it."""
    reduced, rank = columns(A, J).rref()
    pivots = [next(j for j in range(len(J)) if reduced[i, j] != 0) for i in range(rank)]
    return [J[j] for j in pivots]


def least_squares(A: fmpq_mat, B: fmpq_mat) -> fmpq_mat:
    """Return a minimiser C of ‖AC − B‖ that is zero on every column of A in the span of earlier columns."""
    basis = independent(A, range(A.ncols()))
    C = fmpq_mat(A.ncols(), B.ncols())
    if basis:
        Q = columns(A, basis)
        found = (Q.transpose() * Q).solve(Q.transpose() * B)
        for row, j in enumerate(basis):
            for m in range(B.ncols()):
                C[j, m] = found[row, m]
    return C


def off(A: fmpq_mat, S: Sequence[int], B: fmpq_mat) -> fmpq_mat:
    """Return P_S^⊥B: the columns of B, projected orthogonally to the span of A_S."""
    A_S = columns(A, S)
    return B - A_S * least_squares(A_S, B)


def spans(A: fmpq_mat, b: fmpq_mat) -> bool:
    """Return whether b lies in the column span of A."""
    return A * least_squares(A, b) == b


class Step(NamedTuple):
    """One step of OMP at S: r = P_S^⊥y, c = Xᵀr, λ* = ‖c‖∞ and T = {i : |c_i| = λ*}, all exact."""

    residual: fmpq_mat
    correlation: list[fmpq]
    lam_star: fmpq
    tied: tuple[int, ...]


def step(X, y, S: Sequence[int] = ()) -> Step:
    """Return the `Step` of OMP at S, with r, c, λ* and T; if λ* = 0, T is empty."""
    A = rational(X)
    r = off(A, S, rational(y))
    c = (A.transpose() * r).entries()
    largest = max((abs(entry) for entry in c), default=fmpq(0))
    tied = tuple(i for i, entry in enumerate(c) if abs(entry) == largest) if largest else ()
    return Step(r, c, largest, tied)


def fraction(q: fmpq) -> Fraction:
    """Return the number as a `fractions.Fraction`."""
    return Fraction(int(q.p), int(q.q))


class Segment(NamedTuple):
    """The LASSO just below λ*: β_T = s∘(εv) and the residual r − εZv at λ = λ* − ε, with Z = [s_iP_S^⊥X_i]_{i
    ∈ T}.

    Here r = P_S^⊥y, c = Xᵀr, λ* = max|c_i|, T = {i : |c_i| = λ*}, and s has the signs of c on T. `active` is
    A(S), the features outside S that are nonzero in some solution. The entries of v, indexed by T, are
    positive exactly on A(S).
    """

    step: Step
    signs: list[int]
    Z: fmpq_mat
    v: fmpq_mat
    active: tuple[int, ...]


def segment(X, y, S: Sequence[int] = ()) -> Segment:
    """Return A(S) and a solution with the largest support, by listing all vertices; λ* > 0, and |T| is small.

    With H = ZᵀZ and u* = Zv for any solution v, the solutions of min_{v ≥ 0} ½vᵀHv − 1ᵀv form the polytope {v
    ≥ 0 : Zv = u*}, and 1ᵀv = ‖u*‖² holds on it. At a vertex with support B, the columns Z_B are independent
    and v_B = H_BB⁻¹1. A(S) is the union of the supports of the vertices.
    """
    at = step(X, y, S)
    signs = [1 if at.correlation[i] > 0 else -1 for i in at.tied]
    Z = off(rational(X), S, signed(rational(X), at.tied, signs))
    H = Z.transpose() * Z
    vertices = nonnegative(H)
    v = sum(vertices[1:], vertices[0]) / fmpq(len(vertices))
    active = tuple(i for i, entry in zip(at.tied, v.entries(), strict=True) if entry > 0)
    return Segment(at, signs, Z, v, active)


def coefficients(X, y, S: Sequence[int], found: Segment, eps: fmpq) -> fmpq_mat:
    """Return the β of a `Segment` at λ* − ε as a column (d, 1): β_T = s∘(εv) and β_S = X_S⁺(y − X_Tβ_T)."""
    A = rational(X)
    beta = fmpq_mat(A.ncols(), 1)
    for i, s, entry in zip(found.step.tied, found.signs, found.v.entries(), strict=True):
        beta[i, 0] = s * eps * entry
    if len(S):
        moved = least_squares(columns(A, list(S)), rational(y) - A * beta)
        for i, entry in zip(S, moved.entries(), strict=True):
            beta[i, 0] = entry
    return beta


def roots(X, S: Sequence[int], found: Segment) -> dict[int, fmpq]:
    """Return ρ_j for each j ∉ A(S) ∪ S: the ε at which the bound |⟨X_j, p⟩| ≤ λ* − ε becomes an equality.

    Here p is the residual of the LASSO at λ* − ε; docs/proofs/window_length.md has the derivation.
    """
    h, (_, c, lam, T) = (rational(X).transpose() * found.Z * found.v).entries(), found.step
    left_out = {j: 2 * lam / (1 + abs(h[j])) for j in T if j not in found.active}
    outside = {j: least_root(c[j], h[j], lam) for j in range(len(c)) if j not in T and j not in S}
    return outside | left_out


def least_root(c: fmpq, h: fmpq, lam: fmpq) -> fmpq:
    """Return the least ε > 0 with |c − εh| = λ* − ε, where |c| < λ*; this ε is at most λ*."""
    return min((lam - s * c) / (1 - s * h) for s in (-1, 1) if s * h < 1)


class Solution(NamedTuple):
    """A LASSO solution β at λ, and the dual point p = y − Xβ, which is the same for all solutions."""

    lam: fmpq
    beta: fmpq_mat
    point: fmpq_mat


def solution(X, y, S: Sequence[int], found: Segment, eps: fmpq) -> Solution:
    """Return the `Solution` at λ = λ* − ε; raise AssertionError if its KKT conditions fail on a column."""
    lam, beta = found.step.lam_star - eps, coefficients(X, y, S, found, eps)
    if not is_solution(X, y, S, beta, lam):
        raise AssertionError(f"β is no solution at λ = {lam}")
    return Solution(lam, beta, rational(y) - rational(X) * beta)


def is_solution(X, y, S: Sequence[int], beta: fmpq_mat, lam: fmpq) -> bool:
    """Return whether β satisfies the KKT conditions of min ½‖y − Xβ‖² + λ‖β_S̄‖₁ on all columns."""
    A = rational(X)
    c = (A.transpose() * (rational(y) - A * beta)).entries()
    for i, (c_i, b) in enumerate(zip(c, beta.entries(), strict=True)):
        if i in S:
            if c_i != 0:
                return False
        elif abs(c_i) > lam or (b != 0 and c_i != (lam if b > 0 else -lam)):
            return False
    return True


def nonnegative(H: fmpq_mat) -> list[fmpq_mat]:
    """Return the vertices of the solution set of min_{v ≥ 0} ½vᵀHv − 1ᵀv, which is one point if H is
    nonsingular."""
    return [v for B in _subsets(H.nrows()) if (v := _vertex(H, B)) is not None]


def _subsets(m: int) -> list[list[int]]:
    return [[i for i in range(m) if bits >> i & 1] for bits in range(1, 2**m)]


def _vertex(H: fmpq_mat, B: list[int]) -> fmpq_mat | None:
    """Return the solution of min_{v ≥ 0} ½vᵀHv − 1ᵀv with support in B, if H_BB is nonsingular and such a
    solution exists.
    """
    m = H.nrows()
    H_BB = fmpq_mat(len(B), len(B), [H[i, j] for i in B for j in B])
    if H_BB.det() == 0:
        return None
    v = fmpq_mat(m, 1)
    for i, entry in zip(B, H_BB.solve(fmpq_mat(len(B), 1, [1] * len(B))).entries(), strict=True):
        v[i, 0] = entry
    feasible = all(entry >= 0 for entry in v.entries()) and all(entry >= 1 for entry in (H * v).entries())
    return v if feasible else None


def real(q: fmpq) -> float:
    """Return the float nearest to a rational number."""
    return int(q.p) / int(q.q)


def reals(v: fmpq_mat) -> np.ndarray:
    """Return a rational column as an array of floats (n,)."""
    return np.array([real(entry) for entry in v.entries()])


def exactly(x: float) -> fmpq:
    """Return a float as a rational number."""
    return fmpq(*float(x).as_integer_ratio())


def vector(entries: Sequence[fmpq]) -> fmpq_mat:
    """Return a sequence of rational numbers as a column."""
    return fmpq_mat(len(entries), 1, list(entries))


def inner(a: fmpq_mat, b: fmpq_mat) -> fmpq:
    """Return ⟨a, b⟩."""
    return (a.transpose() * b)[0, 0]


def close(a, b, y) -> bool:
    """Return whether ‖a − b‖ ≤ 1e-12‖y‖, in floats."""
    return bool(np.linalg.norm(a - b) <= 1e-12 * np.linalg.norm(y))


def exact(A):
    """Return a float array as an array of fractions."""
    return np.vectorize(Fraction, otypes=[object])(A)


def entries(beta):
    """Return the entries of a rational column as an array of fractions."""
    return np.array([fraction(b) for b in beta.entries()])


def rational_of(q):
    """Return a fraction as an `fmpq`, the number type of rational matrices."""
    return fmpq(q.numerator, q.denominator)
