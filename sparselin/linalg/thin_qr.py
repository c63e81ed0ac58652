"""`ThinQR`: the factorisation of the selected columns that every method here rests on."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from sparselin._kernels import linear_algebra as kernels
from sparselin.problem import Problem
from sparselin.results import FloatArray, IndexArray


class ThinQR:
    """X_J = QR for a list J of independent columns of a problem, updated a column at a time.

    Q may go on, beyond J, in directions that were made for columns not taken yet: [Q Z] is orthonormal, and
    the spare columns are [Q Z] times an upper triangle. In whatever order they are wanted, an orthogonal
    change of Z alone makes them the next columns of the factorisation.

    Attributes
    ----------
    index : J, the columns in the order of the factorisation.
    spare : the columns of Z, in its order.
    """

    def __init__(self, problem: Problem, columns: Iterable[int] = (), capacity: int = 8) -> None:
        self.problem = problem
        self.index: list[int] = []
        self.spare: list[int] = []
        self._allocate(capacity)
        for j in columns:
            self.append(int(j))

    @property
    def size(self) -> int:
        return len(self.index)

    @property
    def Qt(self) -> FloatArray:
        """Qᵀ (t, n)."""
        return self._Qt[: self.size]

    def rows(self, start: int, stop: int) -> FloatArray:
        """Rows start..stop of the array that Qᵀ is the first part of."""
        self.make_room(stop)
        return self._Qt[start:stop]

    @property
    def R(self) -> FloatArray:
        """R (t, t)."""
        return self._R[: self.size, : self.size]

    @property
    def kappa(self) -> float:
        """‖D R⁻¹‖_F, D = diag(‖X_j‖): a bound on 1/σ_min of X_J with unit columns; at least 1."""
        return max(1.0, math.sqrt(self._inverse[: self.size].sum()))

    def append(self, j: int) -> bool:
        """Add column j unless it is in the span of J to rounding; says whether it was added."""
        self.spare.clear()
        t = self.size
        self.make_room(t + 1)
        norm = float(self.problem.column_norms[j])
        self._Qt[t] = self.problem.columns([j])[:, 0]
        self._norms[t] = norm
        kernels.orthogonalize(self._Qt, self._R, self._norms, t)
        if kernels.dependent(self._R, self._norms, t, self.problem.length_unit):
            return False
        self._inverse[t] = kernels.inverse_column_norm(self._R, self._norms, t)
        self.index.append(j)
        return True

    def reserve(self, columns: IndexArray, X: FloatArray, shares: FloatArray) -> int:
        """Make the columns, given as the rows of X (p, n), spare ones; says how many, up to a dependent one.

        `shares` is [Q Z]ᵀXᵀ, which the caller knows. Block Gram-Schmidt: all columns are projected off [Q Z]
        by matrix products, a second time if one of them loses half its length, then off the columns of
        their own block: the same orthogonality as one at a time, at a fraction of the passes over Q.
        """
        s, p = self.size + len(self.spare), len(columns)
        self.make_room(s + p)
        Q, V, R = self._Qt[:s], self._Qt[s : s + p], self._R[:s, s : s + p]
        norms = self.problem.column_norms[columns]
        V[:], R[:] = X, shares
        if s:
            V -= shares.T @ Q
            if np.any(np.einsum("ij,ij->i", V, V) < 0.25 * norms**2):
                again = Q @ V.T
                V -= again.T @ Q
                R += again
        self._norms[s : s + p] = norms
        unit = self.problem.length_unit
        added = int(kernels.orthogonalize_block(self._Qt, self._R, self._norms, s, p, unit))
        self.spare.extend(columns[:added].tolist())
        return added

    def arrange(self, columns: list[int]) -> FloatArray | None:
        """Put these spare columns first, by Z ← ZU; returns U (m, m), or None if they are first already.

        With C the coordinates of the columns in Z, in their new order, U is the orthogonal factor of C.
        """
        if self.spare[: len(columns)] == columns:
            return None
        t, stop = self.size, self.size + len(self.spare)
        wanted = set(columns)
        spare = columns + [j for j in self.spare if j not in wanted]
        place = {j: i for i, j in enumerate(self.spare)}
        order = np.array([t + place[j] for j in spare])
        U, C = np.linalg.qr(self._R[t:stop, order])
        sign = np.where(np.diag(C) < 0, -1, 1).astype(C.dtype)
        U *= sign
        self._R[:t, t:stop] = self._R[:t, order]
        self._R[t:stop, t:stop] = sign[:, None] * C
        self._Qt[t:stop] = U.T @ self._Qt[t:stop]
        self._norms[t:stop] = self._norms[order]
        self.spare = spare
        return np.asarray(U)

    def take(self, p: int) -> int:
        """Add the first p spare columns, up to the first dependent one, which is forgotten with all after it.

        Says how many were added.
        """
        wanted, self.spare = self.spare[:p], self.spare[p:]
        for added, j in enumerate(wanted):
            t = self.size
            if kernels.dependent(self._R, self._norms, t, self.problem.length_unit):
                self.spare = []
                return added
            self._inverse[t] = kernels.inverse_column_norm(self._R, self._norms, t)
            self.index.append(j)
        return len(wanted)

    def truncate(self, t: int) -> None:
        """Keep the first t columns; the others become spare."""
        self.spare = self.index[t:] + self.spare
        del self.index[t:]

    def arrays(self) -> kernels.Factor:
        """For a kernel that appends columns, before `extend` tells which."""
        return kernels.Factor(self._Qt, self._R, self._norms, self._inverse)

    def extend(self, columns: list[int]) -> None:
        """The columns that a kernel has appended."""
        self.spare.clear()
        self.index.extend(columns)

    def reductions(self, t: int, r: FloatArray) -> tuple[FloatArray, FloatArray]:
        """⟨q, r⟩ for each column q of Q from the t-th on, and ‖r‖ after it has been projected off q."""
        shares = self.Qt[t:] @ r
        last = r - shares @ self.Qt[t:]
        squares = np.append(shares[1:] ** 2, last @ last)[::-1]  # Pythagoras upwards, without loss
        return shares, np.sqrt(np.cumsum(squares))[::-1]

    def kappas(self, t: int) -> FloatArray:
        """κ of the first t, t + 1, … columns, all that there are."""
        return np.maximum(1.0, np.sqrt(np.cumsum(self._inverse[: self.size])[t - 1 :]))

    def coefficients(self, z: FloatArray, position: IndexArray, size: int) -> FloatArray:
        """(size, size): row j has R⁻¹z for the columns whose `position` is at most j, at these positions.

        The positions increase. LU factorisation leaves a triangle as it is: this is back substitution.
        """
        path = np.zeros((size, size), self.problem.dtype)
        until = np.where(position[:, None] <= np.arange(size), z[:, None], 0)
        path[:, position] = np.linalg.solve(self.R, until).T
        return path

    def delete(self, position: int) -> None:
        """Remove the column at a position of `index`."""
        self.spare.clear()
        t = self.size
        kernels.delete(self._Qt, self._R, t, position)
        self._norms[position : t - 1] = self._norms[position + 1 : t].copy()
        del self.index[position]
        for l in range(position, t - 1):
            self._inverse[l] = kernels.inverse_column_norm(self._R, self._norms, l)

    def solve(self, b: FloatArray) -> FloatArray:
        """R⁻¹b."""
        return np.asarray(kernels.solve(self.R, b))

    def solve_transposed(self, b: FloatArray) -> FloatArray:
        """R⁻ᵀb."""
        return np.asarray(kernels.solve_transposed(self.R, b))

    def residual(self, v: FloatArray) -> FloatArray:
        """P_J^⊥v for v (n,) or (n, m), projected twice: Qᵀ of it is then of the order of eps‖v‖."""
        for _ in range(2):
            v = v - self.Qt.T @ (self.Qt @ v)
        return v

    def sizes(self, norms: FloatArray | float, shares: FloatArray) -> FloatArray:
        """s(x) = √(‖x‖² + Σ_j ‖X_j‖²b_j²), b = X_J⁺x = R⁻¹Qᵀx, from ‖x‖ and the shares Qᵀx (t,) or (t, m).

        The computed QR is that of columns off by F_j, ‖F_j‖ about eps‖X_j‖; so is what was rounded to give X.
        With z = P_J^⊥x, the projection off QR is z + Fb to first order, and u·s(x), u = 8·eps, bounds its
        error: ‖Fb‖ for independent rounding, and eps‖x‖. By s(x) ≤ √(1 + κ²)‖x‖ it is no larger than the
        bound by the condition of X_J, and it is smaller by κ for what has no part in a near-dependence.
        """
        scaled = self._norms[: self.size] * np.linalg.solve(self.R.astype(np.float64), shares).T
        return np.asarray(np.hypot(norms, np.sqrt((scaled**2).sum(axis=-1))))

    def make_room(self, least: int) -> None:
        """Room for so many columns, and for half as many again as there was room for."""
        if least <= len(self._Qt):
            return
        old = self._Qt, self._R, self._norms, self._inverse
        self._allocate(max(least, 3 * len(self._Qt) // 2))
        for array, before in zip((self._Qt, self._R, self._norms, self._inverse), old, strict=True):
            array[tuple(map(slice, before.shape))] = before

    def _allocate(self, capacity: int) -> None:
        self._Qt = np.zeros((capacity, self.problem.n), self.problem.dtype)
        self._R = np.zeros((capacity, capacity), self.problem.dtype)
        self._norms = np.zeros(capacity)
        self._inverse = np.zeros(capacity)
