"""Exact linear algebra for the checks: designs of integers or binary fractions as rational matrices.

The matrices are those of python-flint. These functions use nothing of `sparselin`, because an oracle must not
share code with the function that it checks. S is a set of selected features, X_S has their columns, and P_S^⊥
is the projection onto the orthogonal complement of the span of X_S.
"""

import functools
import itertools
from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from flint import fmpq, fmpq_mat

HALF = fmpq(1, 2)


def rational(A) -> fmpq_mat:
    """Return a matrix of floats (n, m) as an exact rational matrix, and a vector (n,) as one rational
    column.
    """
    A = np.asarray(A, dtype=np.float64)
    A = A.reshape(len(A), -1) if A.ndim == 1 else A
    return fmpq_mat(A.shape[0], A.shape[1], [fmpq(*float(a).as_integer_ratio()) for a in A.ravel()])


def columns(A: fmpq_mat, J: Sequence[int]) -> fmpq_mat:
    """Return the matrix that consists of the columns J of A."""
    n = A.nrows()
    return fmpq_mat(n, len(J), [A[i, j] for i in range(n) for j in J])


def in_rows(C: fmpq_mat, J: Sequence[int], d: int) -> fmpq_mat:
    """Return the matrix of d rows whose rows J are the rows of C; its other rows are zero."""
    place = {j: row for row, j in enumerate(J)}
    q = C.ncols()
    return fmpq_mat(d, q, [C[place[j], m] if j in place else fmpq(0) for j in range(d) for m in range(q)])


def signed(A: fmpq_mat, J: Sequence[int], signs: Sequence[int]) -> fmpq_mat:
    """Return the columns J of A, each multiplied by its sign."""
    pairs = list(zip(J, signs, strict=True))
    return fmpq_mat(A.nrows(), len(pairs), [s * A[i, j] for i in range(A.nrows()) for j, s in pairs])


def independent(A: fmpq_mat, J: Sequence[int]) -> list[int]:
    """Return each j of J for which column j of A is not in the span of the columns before it in J."""
    reduced, rank = columns(A, J).rref()
    pivots = [next(j for j in range(len(J)) if reduced[i, j] != 0) for i in range(rank)]
    return [J[j] for j in pivots]


def least_squares(A: fmpq_mat, B: fmpq_mat) -> fmpq_mat:
    """Return a minimiser C of ‖AC − B‖.

    If the columns of A are dependent, C is zero in the row of every column of A that is in the span of
    earlier columns.
    """
    basis = independent(A, range(A.ncols()))
    Q = columns(A, basis)
    return in_rows((Q.transpose() * Q).solve(Q.transpose() * B), basis, A.ncols())


def off(A: fmpq_mat, S: Sequence[int], B: fmpq_mat) -> fmpq_mat:
    """Return the columns of B, projected orthogonally to the columns S of A."""
    A_S = columns(A, S)
    return B - A_S * least_squares(A_S, B)


def spans(A: fmpq_mat, b: fmpq_mat) -> bool:
    """Return whether b lies in the column span of A."""
    return A * least_squares(A, b) == b


class Step(NamedTuple):
    """One step of orthogonal matching pursuit (OMP) after the features S are selected, in exact numbers.

    The fields are the residual r of y from least squares on S, the correlations c = Xᵀr, their largest size
    λ* = max |c_i|, and the tied features, for which |c_i| = λ*.
    """

    residual: fmpq_mat
    correlation: list[fmpq]
    lam_star: fmpq
    tied: tuple[int, ...]


def step(X, y, S: Sequence[int] = ()) -> Step:
    """Return the exact residual, correlations and tied features of OMP after the features S are selected.

    If all correlations are zero, there are no tied features.
    """
    A = rational(X)
    r = off(A, S, rational(y))
    c = (A.transpose() * r).entries()
    largest = max((abs(entry) for entry in c), default=fmpq(0))
    tied = tuple(i for i, entry in enumerate(c) if abs(entry) == largest) if largest else ()
    return Step(r, c, largest, tied)


def fraction(q: fmpq) -> Fraction:
    """Return a rational number of python-flint as a `fractions.Fraction`."""
    return Fraction(int(q.p), int(q.q))


class Solution(NamedTuple):
    """An exact LASSO solution β at a penalty level λ, and its residual `point` = y − Xβ.

    The residual is the dual point, which is the same for all solutions.
    """

    lam: fmpq
    beta: fmpq_mat
    point: fmpq_mat


class Segment(NamedTuple):
    """The exact LASSO solution just below λ*, the penalty level at which the first feature enters.

    S are the selected features, which are not penalised, r is the residual of least squares on S, and c =
    Xᵀr. Then λ* = max |c_i|. T are the tied features, for which |c_i| = λ*. `signs` has the signs of c on T,
    and `Z` the columns s_iP_S^⊥X_i for i ∈ T. At λ* − ε, the solution has β_i = s_iεv_i for i ∈ T, and its
    residual is r − εZv. `active` is A(S), the features outside S that are nonzero in some solution. The
    entries of `v` are positive exactly on A(S). X, y and S are as given.
    """

    step: Step
    signs: list[int]
    Z: fmpq_mat
    v: fmpq_mat
    active: tuple[int, ...]
    X: np.ndarray
    y: np.ndarray
    S: Sequence[int]

    def coefficients(self, eps: fmpq) -> fmpq_mat:
        """Return the exact coefficients β (d, 1) of the LASSO at λ* − ε.

        The selected features S have the coefficients of least squares on the rest of y.
        """
        A = rational(self.X)
        v = vector([s * eps * entry for s, entry in zip(self.signs, self.v.entries(), strict=True)])
        beta = in_rows(v, self.step.tied, A.ncols())
        rest = rational(self.y) - A * beta
        return beta + in_rows(least_squares(columns(A, self.S), rest), self.S, A.ncols())

    def roots(self) -> dict[int, fmpq]:
        """Return, for each feature j that is zero just below λ*, the ε at which it may become nonzero.

        Let p be the residual of the LASSO at λ* − ε. At the returned ε, the bound |⟨X_j, p⟩| ≤ λ* − ε becomes
        an equality. The features S are left out. docs/proofs/window_length.md has the derivation.
        """
        h, (_, c, lam, T) = (rational(self.X).transpose() * self.Z * self.v).entries(), self.step
        left_out = {j: 2 * lam / (1 + abs(h[j])) for j in T if j not in self.active}
        outside = {j: least_root(c[j], h[j], lam) for j in range(len(c)) if j not in T and j not in self.S}
        return outside | left_out

    def solution(self, eps: fmpq) -> Solution:
        """Return the exact LASSO solution at λ* − ε.

        Raises AssertionError if the KKT conditions fail on a column.
        """
        lam, beta = self.step.lam_star - eps, self.coefficients(eps)
        if not is_solution(self.X, self.y, self.S, beta, lam):
            raise AssertionError(f"β is no solution at λ = {lam}")
        return Solution(lam, beta, rational(self.y) - rational(self.X) * beta)

    def in_window(self, share: fmpq = HALF) -> Solution:
        """Return an exact LASSO solution in the window below λ*, by default in the middle of the window.

        The window (λ₂, λ*) is the largest interval in which the same features outside S are nonzero. The
        penalty level is λ = λ* − share·(λ* − λ₂). Raises AssertionError if β is not a solution.
        """
        return self.solution(share * min([self.step.lam_star, *self.roots().values()]))


def segment(X, y, S: Sequence[int] = ()) -> Segment:
    """Return the exact LASSO solution with the largest support, for penalty levels just below λ*.

    S are the selected features, and λ* > 0 is the level at which the first feature enters. Few features may
    be tied at λ*, because the function lists all vertices of a polytope. Let Z have the signed columns of the
    tied features, projected orthogonally to X_S, let H = ZᵀZ, and let u* = Zv for any solution v of min_{v ≥
    0} ½vᵀHv − 1ᵀv. The solutions form the polytope {v ≥ 0 : Zv = u*}, and 1ᵀv = ‖u*‖² holds on it. At a
    vertex with support B, the columns Z_B are independent and v_B = H_BB⁻¹1. The features that are nonzero in
    some solution are the union of the supports of the vertices.
    """
    at = step(X, y, S)
    signs = [1 if at.correlation[i] > 0 else -1 for i in at.tied]
    Z = off(rational(X), S, signed(rational(X), at.tied, signs))
    H = Z.transpose() * Z
    vertices = nonnegative(H)
    v = sum(vertices[1:], vertices[0]) / fmpq(len(vertices))
    active = tuple(i for i, entry in zip(at.tied, v.entries(), strict=True) if entry > 0)
    return Segment(step=at, signs=signs, Z=Z, v=v, active=active, X=X, y=y, S=S)


def least_root(c: fmpq, h: fmpq, lam: fmpq) -> fmpq:
    """Return the least ε > 0 that solves |c − εh| = λ* − ε, where |c| < λ*; this ε is at most λ*."""
    return min((lam - s * c) / (1 - s * h) for s in (-1, 1) if s * h < 1)


def is_solution(X, y, S: Sequence[int], beta: fmpq_mat, lam: fmpq) -> bool:
    """Return whether β satisfies the KKT conditions of the LASSO without a penalty on the features S.

    The LASSO minimises ½‖y − Xβ‖² + λ Σ_{i ∉ S} |β_i|. The conditions are checked exactly on all columns.
    """
    A = rational(X)
    c = (A.transpose() * (rational(y) - A * beta)).entries()
    for i, (c_i, b) in enumerate(zip(c, beta.entries(), strict=True)):
        if i in S:
            if c_i != 0:
                return False
        elif abs(c_i) > lam or (b != 0 and c_i != (lam if b > 0 else -lam)):
            return False
    return True


def nonnegative(H: fmpq_mat, b: fmpq_mat | None = None) -> list[fmpq_mat]:
    """Return the vertices of the set of minimisers of ½vᵀHv − bᵀv over v ≥ 0; b = 1 if it is not given.

    If H is nonsingular, this set is one point.
    """
    b = fmpq_mat(H.nrows(), 1, [1] * H.nrows()) if b is None else b
    return [v for B in _subsets(H.nrows()) if (v := _vertex(H, b, B)) is not None]


def _subsets(m: int) -> list[list[int]]:
    return [[i for i in range(m) if bits >> i & 1] for bits in range(2**m)]


def _vertex(H: fmpq_mat, b: fmpq_mat, B: list[int]) -> fmpq_mat | None:
    """Return the minimiser of ½vᵀHv − bᵀv over v ≥ 0 with support in B, or None.

    None means that the submatrix H_BB is singular, or that no minimiser has its support in B.
    """
    H_BB = fmpq_mat(len(B), len(B), [H[i, j] for i in B for j in B])
    if H_BB.det() == 0:
        return None
    v = in_rows(H_BB.solve(vector([b[i, 0] for i in B])), B, H.nrows())
    slack = zip((H * v).entries(), b.entries(), strict=True)
    return v if min(v.entries(), default=0) >= 0 and all(entry >= b_i for entry, b_i in slack) else None


def signed_fits(X, y, S: Sequence[int], signs: dict[int, int], prices: Sequence[fmpq] = ()) -> list[fmpq_mat]:
    """Return the minimisers β of ½‖y − Xβ‖² + Σ_j p_j|β_j| over s_jβ_j ≥ 0: the vertices of their set.

    The coefficients of S may have any sign. Off S, only the j with a sign s_j in `signs` may be nonzero. The
    prices p_j are in the order of `signs`, and zero if they are not given.
    """
    A, b, found = rational(X), rational(y), list[fmpq_mat]()
    Z = off(A, S, signed(A, list(signs), list(signs.values())))
    target = Z.transpose() * b - vector(prices or [fmpq(0)] * len(signs))
    for v in nonnegative(Z.transpose() * Z, target):
        moved = vector([sign * entry for sign, entry in zip(signs.values(), v.entries(), strict=True)])
        beta = in_rows(moved, list(signs), A.ncols())
        beta += in_rows(least_squares(columns(A, S), b - A * beta), S, A.ncols())
        found += [beta] * (beta not in found)
    return found


def real(q: fmpq) -> float:
    """Return the float nearest to a rational number."""
    return int(q.p) / int(q.q)


def reals(v: fmpq_mat) -> np.ndarray:
    """Return a column of rational numbers as an array of floats (n,)."""
    return np.array([real(entry) for entry in v.entries()])


def exactly(x: float) -> fmpq:
    """Return a float as the rational number that it is."""
    return fmpq(*float(x).as_integer_ratio())


def vector(entries: Sequence[fmpq]) -> fmpq_mat:
    """Return a column matrix with the given rational entries."""
    return fmpq_mat(len(entries), 1, list(entries))


def inner(a: fmpq_mat, b: fmpq_mat) -> fmpq:
    """Return the inner product ⟨a, b⟩ of two rational columns."""
    return (a.transpose() * b)[0, 0]


def close(a, b, y) -> bool:
    """Return whether ‖a − b‖ ≤ 1e-12‖y‖, computed in floats."""
    return bool(np.linalg.norm(a - b) <= 1e-12 * np.linalg.norm(y))


def exact(A):
    """Return a float array as an array of fractions."""
    return np.vectorize(Fraction, otypes=[object])(A)


def entries(beta):
    """Return the entries of a column of rational numbers as an array of fractions."""
    return np.array([fraction(b) for b in beta.entries()])


def rational_of(q):
    """Return a `Fraction` as an `fmpq`, the number type of python-flint's rational matrices."""
    return fmpq(q.numerator, q.denominator)


@functools.cache
def minors(columns, y):
    """Return (S, det G_S, ‖y‖² det G_S − det G_{S+y}) for each set S of columns; G is the Gram matrix of X
    and y.
    """
    found = []
    for size in range(len(columns) + 1):
        for S in itertools.combinations(range(len(columns)), size):
            vectors = [columns[i] for i in S] + [y]
            G = [[sum(a * b for a, b in zip(u, v, strict=True)) for v in vectors] for u in vectors]
            inside = fmpq_mat(size, size, [G[i][j] for i in range(size) for j in range(size)]).det()
            whole = fmpq_mat(size + 1, size + 1, [entry for row in G for entry in row]).det()
            found.append((S, int(inside.p), int((G[-1][-1] * inside - whole).p)))
    return found


def mask_value(z, X, y, lam):
    """Return ‖y‖² − λyᵀ(λI + X diag(z)Xᵀ)⁻¹y as a fraction."""
    A, b, (n, d) = rational(X), rational(y), X.shape
    Z = fmpq_mat(d, d, [rational_of(z[i] * (i == j)) for i in range(d) for j in range(d)])
    ridge = fmpq_mat(n, n, [rational_of(lam * (i == j)) for i in range(n) for j in range(n)])
    return fraction(inner(b, b) - inner(b, ridge * (ridge + A * Z * A.transpose()).solve(b)))
