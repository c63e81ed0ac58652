"""`Face`: the augmented system of least squares on some columns of X, solved to the precision of the data."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from sparselin._kernels import linear_algebra as kernels
from sparselin._kernels import refinement
from sparselin.problem import Problem
from sparselin.results import FloatArray, IndexArray

_EPS = float(np.finfo(np.float64).eps)
CHUNK = 1024  # columns that are made dense at a time
_ROUNDS = 6  # of iterative refinement, at most: each multiplies the error by about κ·eps


class Balance(NamedTuple):
    """The solution of the augmented system r + X_Jx = f, X_Jᵀr = g, in twice the precision.

    It is r + r_low (n,), x + x_low (t,). r_error bounds the norm of the error of r + r_low, x_error (t,) the
    errors of x + x_low; sound says whether the refinement converged.
    """

    r: FloatArray
    r_low: FloatArray
    x: FloatArray
    x_low: FloatArray
    r_error: float
    x_error: FloatArray
    sound: bool


class Face:
    """X_J = QR in float64 for a list J of independent columns, updated a column at a time.

    The *size* of a vector x relative to J is s(x) = √(‖x‖² + Σ_j ‖X_j‖²b_j²), b = X_J⁺x: rounding of the data
    changes P_J^⊥x by eps·s(x), whatever the condition number of X_J. So x counts as in the span of J when
    ‖P_J^⊥x‖ ≤ `span_unit`·s(x).

    Attributes
    ----------
    index : J. columns, norms : X_Jᵀ (t, n) and ‖X_j‖.
    """

    def __init__(self, problem: Problem, span_unit: float) -> None:
        self.problem, self.span_unit = problem, span_unit
        self.index: list[int] = []
        self._squares: list[float] = []
        self._allocate(8)

    @property
    def size(self) -> int:
        return len(self.index)

    @property
    def columns(self) -> FloatArray:
        return self._columns[: self.size]

    @property
    def Qt(self) -> FloatArray:
        return self._Qt[: self.size]

    @property
    def R(self) -> FloatArray:
        return self._R[: self.size, : self.size]

    @property
    def norms(self) -> FloatArray:
        return self._norms[: self.size]

    @property
    def kappa(self) -> float:
        """At least ‖D R⁻¹‖_F, D = diag ‖X_j‖, which bounds ‖Db‖/‖x‖; at least 1.

        ‖D R⁻¹‖_F² = Σ(s_j/ρ_j)², ρ_j = ‖P^⊥X_j‖ off the columns appended before j. It is also
        Σ(‖X_j‖/‖P^⊥X_j‖)² off all others, which falls when a column is removed: a bound remains one.
        """
        return max(1.0, math.sqrt(sum(self._squares)))

    def append(self, j: int) -> bool:
        """Add column j unless it is in the span of J to rounding; returns whether it was added."""
        t, x, norm = self.size, self.problem.columns([j])[:, 0], float(self.problem.column_norms[j])
        if t == len(self._Qt):
            self._allocate(2 * t)
        z, h = self._off(x)
        rho, b = _norm(z), self.norms * kernels.solve(self.R, h)
        size = math.sqrt(norm**2 + b @ b)
        if rho <= self.span_unit * size or t == self.problem.n:
            return False
        self._columns[t], self._norms[t], self._Qt[t] = x, norm, z / rho
        self._R[:t, t], self._R[t, t] = h, rho
        self._squares.append((size / rho) ** 2)
        self.index.append(j)
        return True

    def remove(self, j: int) -> None:
        """Remove column j."""
        position, t = self.index.index(j), self.size
        kernels.delete(self._Qt, self._R, t, position)
        for array in (self._columns, self._norms):
            array[position : t - 1] = array[position + 1 : t].copy()
        del self.index[position]
        self._R[t - 1] = self._R[:, t - 1] = 0
        last = self._squares.pop()
        if position < t - 1:
            self._squares[-1] += last

    def beside(self, J: IndexArray) -> tuple[FloatArray, FloatArray]:
        """s(X_i) and ‖P_J^⊥X_i‖ for the given columns."""
        X = self.problem.columns(J)
        Z, H = self._off(X)
        B = np.linalg.solve(self.R, H) if self.size else H
        norms = self.problem.column_norms[J]
        sizes = np.sqrt(norms**2 + np.sum((self.norms[:, None] * B) ** 2, axis=0))
        return sizes, np.sqrt(np.einsum("ij,ij->j", Z, Z))

    def in_span(self, J: IndexArray) -> tuple[np.ndarray, FloatArray]:
        """(|J|,) bool: which columns lie in the span of J to rounding; and s of each."""
        inside, sizes = np.zeros(len(J), bool), np.zeros(len(J))
        for start in range(0, len(J), CHUNK):
            here = slice(start, start + CHUNK)
            sizes[here], lengths = self.beside(J[here])
            inside[here] = lengths <= self.span_unit * sizes[here]
        return inside, sizes

    def balance(self, f: FloatArray | None, g: FloatArray | None) -> Balance:
        """Solve the augmented system r + X_Jx = f, X_Jᵀr = g, with zero for None.

        By Q and R, with iterative refinement: the residuals f − r − X_Jx and g − X_Jᵀr are computed in twice
        the precision, and the system is solved for the corrections (Björck, 1967). In the norm ‖r‖ + ‖Dx‖/κ
        each round multiplies the error by about κ·eps; the first round shows by how much.
        """
        f = np.zeros(self.problem.n) if f is None else f
        g = np.zeros(self.size) if g is None else g
        r, r_low, x, x_low = (np.zeros(m) for m in (len(f), len(f), len(g), len(g)))
        lack, short, kappa, rate, left, before = f, g, self.kappa, 0.0, 0.0, 0.0
        for k in range(_ROUNDS):
            if k:
                lack, short = refinement.remainders(self.columns, f, g, r, r_low, x, x_low)
            z, w = self.Qt @ lack, kernels.solve_transposed(self.R, short)
            change = lack - z @ self.Qt
            change += (w - self.Qt @ change) @ self.Qt
            step = kernels.solve(self.R, z - w)
            refinement.add(r, r_low, change)
            refinement.add(x, x_low, step)
            moved = _norm(change) + _norm(self.norms * step) / kappa
            if k == 1:
                rate = max(_EPS, moved / before)
            size = _norm(r), _norm(self.norms * x)
            left, before = max(rate * moved, 16 * _EPS**2 * sum(size)), moved
            if moved == 0 or rate > 0.1:
                break
            if k and left <= _EPS * max(size[0], 16 * _EPS * size[1]) and kappa * left <= _EPS * max(size):
                break
        return Balance(r, r_low, x, x_low, left, kappa * left / self.norms, rate <= 0.1)

    def _off(self, X: FloatArray) -> tuple[FloatArray, FloatArray]:
        """P_J^⊥X and QᵀX, projected twice, or thrice if P_J^⊥X is of the order of rounding."""
        H = np.zeros((self.size, *X.shape[1:]))
        for k in range(3 if self.size else 0):
            G = self.Qt @ X
            X = X - self.Qt.T @ G
            H += G
            if k and np.all(np.einsum("i...,i...", G, G) <= np.einsum("i...,i...", X, X)):
                break
        return X, H

    def _allocate(self, capacity: int) -> None:
        t, n = self.size, self.problem.n
        columns, Qt, R, norms = (
            np.zeros(s) for s in ((capacity, n), (capacity, n), (capacity, capacity), capacity)
        )
        if t:
            columns[:t], Qt[:t], R[:t, :t], norms[:t] = self.columns, self.Qt, self.R, self.norms
        self._columns: FloatArray = columns
        self._Qt: FloatArray = Qt
        self._R: FloatArray = R
        self._norms: FloatArray = norms


def _norm(v: FloatArray) -> float:
    return math.sqrt(v @ v)
