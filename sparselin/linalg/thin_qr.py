"""`ThinQR`: the QR factorisation of the selected columns, used by all methods, and its refinement."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from sparselin._kernels import linear_algebra as kernels
from sparselin._kernels import refinement
from sparselin.problem import Problem
from sparselin.problem.errors import EPS
from sparselin.results import FloatArray, IndexArray

# The factor by which a round reduces the error differs between rounds, because rounding errors differ. In
# rational arithmetic, with κ of 1e10 to 1e12, the error was up to 2.2 times the error that the factor of the
# first round implies (720 systems as in test_thin_qr).
_SAFETY = 4.0
# The most rounds of iterative refinement. Each multiplies the error by about κ·eps. Six rounds reach eps if
# κ·eps is below 2·10⁻³; if not, the bounds of `Balance` cover the remaining error.
_ROUNDS = 6


class ThinQR:
    """The factorisation X_J = QR for a list J of independent columns; a column or a block can be added.

    A column x is *dependent*, and is not added, if ‖P_J^⊥x‖ ≤ unit·s(x), where P_J^⊥ projects off the columns
    J and s(x) is the size of x (see `sizes`). The column of R that belongs to x is enough to test this. Let b
    = X_J⁺x be the coefficients of x on X_J, ρ = ‖P_J^⊥x‖ and D = diag(‖X_j‖). With R and D for the columns of
    J and x together, the last column of D R⁻¹ is (−‖X_j‖b_j, ‖x‖)/ρ, and its length is s(x)/ρ.

    Attributes
    ----------
    index : J, the columns in the order of the factorisation.
    unit : the number `unit` in the rule for dependent columns, by default `problem.length_unit`.
    """

    def __init__(
        self,
        problem: Problem,
        columns: Iterable[int] = (),
        capacity: int = 8,
        *,
        unit: float | None = None,
        keep_columns: bool = False,
    ) -> None:
        self.problem, self.keep_columns = problem, keep_columns
        self.unit = problem.length_unit if unit is None else unit
        self.index: list[int] = []
        self._allocate(capacity)
        for j in columns:
            self.append(int(j))

    @property
    def size(self) -> int:
        """The number t of columns in the factorisation."""
        return len(self.index)

    @property
    def norms(self) -> FloatArray:
        """The lengths ‖X_j‖ (t,) of the t columns in the factorisation."""
        return self._norms[: self.size]

    @property
    def columns(self) -> FloatArray:
        """The t factorised columns as rows, X_Jᵀ (t, n); this array exists only if the columns are stored."""
        return self._columns[: self.size]

    @property
    def Qt(self) -> FloatArray:
        """The matrix Qᵀ (t, n) of the factorisation X_J = QR of t columns."""
        return self._Qt[: self.size]

    def rows(self, start: int, stop: int) -> FloatArray:
        """Return rows start..stop of the array that stores Qᵀ in its first rows.

        The caller may write into the rows that do not belong to Qᵀ.
        """
        self.reserve(stop)
        return self._Qt[start:stop]

    @property
    def R(self) -> FloatArray:
        """The matrix R (t, t) of the factorisation X_J = QR of t columns."""
        return self._R[: self.size, : self.size]

    @property
    def kappa(self) -> float:
        """The number κ = ‖D R⁻¹‖_F ≥ 1 for the factorisation X_J = QR and D = diag(‖X_j‖).

        κ is an upper bound on 1/σ_min, where σ_min is the least singular value of X_J with its columns scaled
        to length 1.
        """
        return max(1.0, math.sqrt(self._inverse[: self.size].sum()))

    def append(self, j: int) -> bool:
        """Add column j unless it is in the span of the other columns; return whether it was added."""
        t = self.size
        self.reserve(t + 1)
        self._Qt[t] = self.problem.column(j)
        self._norms[t] = self.problem.column_norms[j]
        if self.keep_columns:
            self._columns[t] = self._Qt[t]
        kernels.orthogonalize(self._Qt, self._R, self._norms, t)
        return self._accept([j]) == 1

    def extend(self, columns: list[int], X: FloatArray) -> int:
        """Add columns until one is in the span of the columns before it. Return the number of columns added.

        columns : the indices of the columns.
        X : (p, n) the columns, as rows.

        The method is block Gram-Schmidt. All new columns are projected off Q by matrix products. This is
        repeated if one of them has lost half its length. Then each new column is projected off the other new
        columns. Q is as orthogonal as if the columns were added one at a time, but Q is read much less often.
        """
        t = self.size
        p = len(columns)
        self.reserve(t + p)
        Q, V = self._Qt[:t], self._Qt[t : t + p]
        R = self._R[:t, t : t + p]
        norms = self._norms[t : t + p] = self.problem.column_norms[columns]
        V[:] = X
        R[:] = 0
        if self.keep_columns:
            self._columns[t : t + p] = X
        for again in range(2 if t else 0):
            if again and np.all(np.einsum("ij,ij->i", V, V) >= 0.25 * norms**2):
                break
            projections = Q @ V.T
            V -= projections.T @ Q
            R += projections
        kernels.orthogonalize_block(self._Qt, self._R, self._norms, t, p, self.unit)
        return self._accept(columns)

    def _accept(self, columns: list[int]) -> int:
        """Append orthogonalised columns until one is dependent; return how many were added."""
        n = self.problem.n
        unit = self.unit
        for added, j in enumerate(columns):
            t = self.size
            square = kernels.inverse_column_norm(self._R, self._norms, t) if t < n else math.inf
            if not square * unit * unit < 1:  # as in `orthogonalize_block`
                return added
            self._inverse[t] = square
            self.index.append(j)
        return len(columns)

    def truncate(self, t: int) -> None:
        """Keep the first t columns of the factorisation, and remove the others."""
        del self.index[t:]

    def reductions(self, t: int, r: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return ⟨q, r⟩ for the columns q of Q from column t on, and norms of projections of r.

        X_J = QR is the factorisation. Entry i of the norms is the norm of r after projection off the columns
        t, …, t + i of Q.
        """
        projections = self.Qt[t:] @ r
        last = r - projections @ self.Qt[t:]
        squares = np.append(projections[1:] ** 2, last @ last)[::-1]  # summed upwards: no cancellation
        return projections, np.sqrt(np.cumsum(squares))[::-1]

    def kappas(self, t: int) -> FloatArray:
        """Return the number `kappa` for the first t columns, for the first t + 1 columns, …, and for all."""
        return np.maximum(1.0, np.sqrt(np.cumsum(self._inverse[: self.size])[t - 1 :]))

    def coefficients(self, z: FloatArray, position: IndexArray, size: int) -> FloatArray:
        """Return least squares coefficients along a path: row j is the fit on the columns up to position j.

        z : (t,) Qᵀy, for the factorisation X_J = QR of t columns.
        position : (t,) the position of each column in the path; the positions increase.
        size : the number of rows and of columns of the result.

        Row j holds R⁻¹z for the columns whose position is at most j, and the coefficient of each column
        stands at its position.
        """
        path = np.zeros((size, size), self.problem.dtype)
        kernels.solve_prefixes(self._R, z, position, path)
        return path

    def remove(self, j: int) -> None:
        """Remove column j of the design from the factorisation."""
        self.delete(self.index.index(j))

    def delete(self, position: int) -> None:
        """Remove the column at this position of `index` from the factorisation."""
        t = self.size
        kernels.delete(self._Qt, self._R, t, position)
        for array in (self._norms, self._columns)[: 1 + self.keep_columns]:
            array[position : t - 1] = array[position + 1 : t].copy()
        del self.index[position]
        for l in range(position, t - 1):
            self._inverse[l] = kernels.inverse_column_norm(self._R, self._norms, l)

    def solve(self, b: FloatArray) -> FloatArray:
        """Return R⁻¹b, for the factorisation X_J = QR."""
        return np.asarray(kernels.solve(self._R, b))

    def solve_transpose(self, b: FloatArray) -> FloatArray:
        """Return R⁻ᵀb, for the factorisation X_J = QR."""
        return np.asarray(kernels.solve_transpose(self._R, b))

    def residual(self, v: FloatArray) -> FloatArray:
        """Project v (n,) or (n, m) off the columns of the factorisation X_J = QR.

        v is projected twice, so that the product of Qᵀ with the result is about eps‖v‖.
        """
        for _ in range(2):
            v = v - self.Qt.T @ (self.Qt @ v)
        return v

    def sizes(self, norms: FloatArray | float, projections: FloatArray) -> FloatArray:
        """Return the sizes s(x) = √(‖x‖² + Σ_j ‖X_j‖²b_j²) of columns x.

        Here b = X_J⁺x = R⁻¹Qᵀx are the coefficients of x on the columns of the factorisation X_J = QR.

        norms : ‖x‖, a number for one x, or (m,) for m columns.
        projections : Qᵀx (t,) or (t, m).

        The error of a projected column is proportional to its size. The computed QR is the exact
        factorisation of columns X_j + F_j, where ‖F_j‖ is about eps‖X_j‖; X itself was rounded by as much.
        Let z = P_J^⊥x be x projected off X_J. To first order, x projected off the computed QR is z + Fb. So
        the error of this projection is at most u·s(x) with u = 8·eps, which covers ‖Fb‖ for independent
        rounding errors and eps‖x‖. Let κ be the condition number of X_J. Because s(x) ≤ √(1 + κ²)‖x‖, u·s(x)
        is never larger than the usual bound by κ. It is smaller by the factor κ if no near-dependence of X_J
        involves x.
        """
        scaled = self._norms[: self.size] * np.linalg.solve(self.R.astype(np.float64), projections).T
        return np.asarray(np.hypot(norms, np.sqrt((scaled**2).sum(axis=-1))))

    def copy(self, problem: Problem, unit: float) -> ThinQR:
        """Return a copy of this factorisation that stores its columns and uses another `unit`.

        problem : the same data, in float64.
        """
        t = self.size
        qr = ThinQR(problem, capacity=t + 8, unit=unit, keep_columns=True)
        qr._fill((self.Qt, self.R, self.norms, self._inverse[:t], problem.columns(self.index).T))
        qr.index = list(self.index)
        return qr

    def reserve(self, least: int) -> None:
        """Ensure that the arrays hold at least `least` columns; if they grow, it is by at least a half."""
        if least <= len(self._Qt):
            return
        old = self._arrays
        self._allocate(max(least, 3 * len(self._Qt) // 2))
        self._fill(old)

    @property
    def arrays(self) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """The arrays of Qᵀ, R, ‖X_j‖ and the squares whose sum is κ², to which kernels may append."""
        return self._Qt, self._R, self._norms, self._inverse

    @property
    def _arrays(self) -> tuple[FloatArray, ...]:
        return *self.arrays, self._columns

    def _fill(self, old: tuple[FloatArray, ...]) -> None:
        """Copy the arrays `old`, of smaller capacity, into the arrays of this factorisation."""
        for array, before in zip(self._arrays, old, strict=True):
            array[tuple(map(slice, before.shape))] = before

    def _allocate(self, capacity: int) -> None:
        self._Qt = np.zeros((capacity, self.problem.n), self.problem.dtype)
        self._R = np.zeros((capacity, capacity), self.problem.dtype)
        self._norms = np.zeros(capacity)
        self._inverse = np.zeros(capacity)
        self._columns = np.zeros((capacity if self.keep_columns else 0, self.problem.n), self.problem.dtype)


class Balance(NamedTuple):
    """The solution (r, x) of the augmented system r + X_Jx = f, X_Jᵀr = g, in twice the precision.

    Each vector of the solution is stored as the sum of two float64 vectors, a leading part and a small
    correction.

    r, r_low : the leading part and the correction of r, both (n,).
    x, x_low : the leading part and the correction of x, both (t,), where t is the number of columns in J.
    r_error : a bound on the norm of the error of r + r_low.
    x_error : (t,) bounds on the errors of x + x_low.
    sound : whether the refinement converged.
    """

    r: FloatArray
    r_low: FloatArray
    x: FloatArray
    x_low: FloatArray
    r_error: float
    x_error: FloatArray
    sound: bool


def refine(qr: ThinQR, f: FloatArray | None, g: FloatArray | None) -> Balance:
    """Solve the augmented system r + X_Jx = f, X_Jᵀr = g for r and x, by iterative refinement.

    f or g = None stands for zero. `qr` is the factorisation X_J = QR, and must store the columns X_J.

    In each round, the residuals f − r − X_Jx and g − X_Jᵀr are computed in twice the precision, and Q and R
    give the corrections (Björck, 1967). Let D = diag(‖X_j‖), and let κ be the number `ThinQR.kappa`. Each
    round multiplies the error, in the norm ‖r‖ + ‖Dx‖/κ, by a factor of about κ·eps. This factor is measured
    in the first round; for safety, _SAFETY times the measured factor is used.
    """
    f = np.zeros(qr.problem.n) if f is None else f
    g = np.zeros(qr.size) if g is None else g
    r, r_low, x, x_low = (np.zeros(m) for m in (len(f), len(f), len(g), len(g)))
    lack = f
    short = g
    kappa = qr.kappa
    rate = 0.0
    left = 0.0
    before = 0.0
    for k in range(_ROUNDS):
        if k:
            lack, short = refinement.remainders(qr.columns, f, g, r, r_low, x, x_low)
        z = qr.Qt @ lack
        w = qr.solve_transpose(short)
        change = lack - z @ qr.Qt
        change += (w - qr.Qt @ change) @ qr.Qt
        step = qr.solve(z - w)
        refinement.add(r, r_low, change)
        refinement.add(x, x_low, step)
        moved = length_of(change) + length_of(qr.norms * step) / kappa
        if k == 1:
            rate = max(EPS, moved / before)
        size = length_of(r), length_of(qr.norms * x)
        left = max(_SAFETY * rate * moved, 16 * EPS**2 * sum(size))
        before = moved
        if moved == 0 or rate > 0.1:
            break
        if k and left <= EPS * max(size[0], 16 * EPS * size[1]) and kappa * left <= EPS * max(size):
            break
    return Balance(
        r=r, r_low=r_low, x=x, x_low=x_low, r_error=left, x_error=kappa * left / qr.norms, sound=rate <= 0.1
    )


def length_of(v: FloatArray) -> float:
    """Return the Euclidean norm of a vector v."""
    return math.sqrt(v @ v)
