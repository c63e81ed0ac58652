"""f(S + x) − f(S) for all x at once, while S grows by one feature after the other.

With C = XᵀX and t = |S|, each gain is read off a state that an added feature updates:

- log det: the rows of L⁻¹(δI + C)_{S·} with LLᵀ = δI + C_S, so that the pivot of x, its Schur complement
  δ + C_xx − ‖(L⁻¹C_{Sx})‖², is what it multiplies the determinant by. O(dt) a feature.
- Spectral variance: Σ(λ_i − 1)² = ‖C_S − I‖_F², so that only Σ_{j∈S} C_xj² is carried. O(d) a feature.
- Generalized rank: with C_S = VΛVᵀ the bordered matrix of x has, up to a rotation and zeros, the spectrum of

      diag(0, λ) + uuᵀ,  u = (ρ, w),  w_i = (VᵀC_Sx)_i/√λ_i,  ρ² = C_xx − ‖w‖²,

  KKᵀ of K = [[√Λ, w], [0, ρ]], a square root of the bordered KᵀK. Its eigenvalues are the zeros of a
  secular equation. O(t³) a feature and O(t²) for each x that is asked for.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Protocol

import numpy as np
import scipy.linalg

from sparselin._kernels.secular import power_sums
from sparselin.results import FloatArray, IndexArray
from sparselin.spectral.gram import Gram
from sparselin.threads import spread, workers


class SetFunction(Protocol):
    """f on sets of columns of a design with C = XᵀX: all that the searches need."""

    @property
    def submodular(self) -> bool: ...

    def value(self, C: FloatArray, S: Sequence[int]) -> float: ...

    def gains(self, C: FloatArray, S: Sequence[int]) -> FloatArray: ...


class Growth(Protocol):
    """The state of f at S.

    Attributes
    ----------
    index : S in the order of its growth.
    value : f(S).
    """

    index: list[int]

    @property
    def value(self) -> float: ...

    def add(self, j: int) -> None:
        """S + j."""

    def gains(self, J: IndexArray) -> tuple[FloatArray, FloatArray]:
        """f(S + x) − f(S) for the x in J, none of them in S, and bounds of their rounding errors."""

    def losses(self) -> tuple[FloatArray, float]:
        """f(S) − f(S − x) for each x of `index`, and a bound of their errors."""


class LogDetGrowth:
    """log₂ det(δI + C_S)."""

    def __init__(self, gram: Gram, delta: float, empty: float) -> None:
        self.gram, self.delta = gram, delta
        self.index: list[int] = []
        self.value = empty
        self.pivots = gram.diagonal + delta
        self._rows = np.empty((8, gram.d))  # L⁻¹C_S·
        self._diagonal: list[float] = []  # of L

    def add(self, j: int) -> None:
        t, pivot = len(self.index), float(self.pivots[j])
        if t == len(self._rows):
            self._rows = np.concatenate([self._rows, np.empty_like(self._rows)])
        done, row = self._rows[:t], self._rows[t]
        np.matmul(done[:, j], done, out=row)
        np.subtract(self.gram.column(j), row, out=row)
        row /= math.sqrt(pivot)
        self.pivots -= row * row
        np.maximum(self.pivots, self.delta, out=self.pivots)  # C_xx − ‖L⁻¹C_Sx‖² ≥ 0 for every δ > 0
        self._diagonal.append(math.sqrt(pivot))
        self.index.append(j)
        self.value += math.log2(pivot)

    def gains(self, J: IndexArray) -> tuple[FloatArray, FloatArray]:
        pivots = self.pivots[J]
        error = self.gram.error * (1 + len(self.index)) * (self.gram.diagonal[J] + self.delta)
        return np.log2(pivots), error / pivots / math.log(2)

    def losses(self) -> tuple[FloatArray, float]:
        """det M_{S−x} = det M_S·(M_S⁻¹)_xx."""
        t = len(self.index)
        L = np.tril(self._rows[:t, self.index].T)
        L[np.diag_indices(t)] = self._diagonal
        inverse = scipy.linalg.solve_triangular(L, np.eye(t), lower=True)
        worth = (inverse**2).sum(axis=0)
        size = self.gram.diagonal.max(initial=0) + self.delta
        return -np.log2(worth), self.gram.error * (1 + t) * size * float(worth.max(initial=0)) / math.log(2)


class VarianceGrowth:
    """−‖C_S − I‖_F²."""

    def __init__(self, gram: Gram, empty: float) -> None:
        self.gram = gram
        self.index: list[int] = []
        self.value = empty
        self.squares = np.zeros(gram.d)  # Σ_{j∈S} C_xj²

    def add(self, j: int) -> None:
        self.value -= (self.gram.diagonal[j] - 1) ** 2 + 2 * self.squares[j]
        self.squares += self.gram.column(j) ** 2
        self.index.append(j)

    def gains(self, J: IndexArray) -> tuple[FloatArray, FloatArray]:
        own, squares, t = self.gram.diagonal[J], self.squares[J], len(self.index)
        largest = self.gram.diagonal[self.index].max(initial=0)
        # an entry C_xj errs by e·√(C_xx·C_jj), and Σ|C_xj| ≤ √t·‖C_Sx‖
        error = self.gram.error * (2 * np.abs(own - 1) * own + 4 * np.sqrt(t * squares * own * largest))
        return -((own - 1) ** 2) - 2 * squares, error + 4 * 2.0**-52 * (squares + (own - 1) ** 2)

    def losses(self) -> tuple[FloatArray, float]:
        S = np.array(self.index, np.intp)
        own = self.gram.diagonal[S]
        losses = -((own - 1) ** 2) - 2 * (self.squares[S] - own**2)
        size = float(self.squares[S].max(initial=0) + own.max(initial=0) ** 2 + 1)
        return losses, 8 * self.gram.error * (1 + len(S)) * size


class PowerGrowth:
    """Σ λ_i(C_S)^α; eigenvalues up to the cut-off 8·eps·t·max C_ii count as zero."""

    def __init__(self, gram: Gram, alpha: float) -> None:
        self.gram, self.alpha = gram, alpha
        self.index: list[int] = []
        self._columns = np.empty((8, gram.d))  # C_S·
        self._settled = -1
        self._largest = float(gram.diagonal.max(initial=0))

    @property
    def value(self) -> float:
        self._settle()
        return self._value

    def _settle(self) -> None:
        """The eigendecomposition of C_S, once for each S."""
        t = len(self.index)
        if t == self._settled:
            return
        self._settled = t
        if self.alpha == 1:
            self._value = float(self.gram.diagonal[self.index].sum())
            self._error = self.gram.error * self._largest
            return
        values, vectors = scipy.linalg.eigh(self._columns[:t, self.index], check_finite=False, driver="evd")
        kept = values > self.gram.cutoff(t)
        self.poles, self._vectors = values[kept], vectors[:, kept] / np.sqrt(values[kept])
        self._value = float((self.poles**self.alpha).sum())
        # eigenvalues known to e·t·max C_ii, and x^α of slope αx^(α−1)
        smallest = float(self.poles.min(initial=self._largest or 1.0))
        slope = self.alpha * smallest ** (self.alpha - 1)
        self._error = (slope * self._largest + smallest**self.alpha) * self.gram.error * (t + 1)

    def add(self, j: int) -> None:
        t = len(self.index)
        if t == len(self._columns):
            self._columns = np.concatenate([self._columns, np.empty_like(self._columns)])
        self._columns[t] = self.gram.column(j)
        self.index.append(j)

    def gains(self, J: IndexArray) -> tuple[FloatArray, FloatArray]:
        self._settle()
        own, t = self.gram.diagonal[J], len(self.index)
        error = np.full(len(J), self._error)
        if self.alpha == 1:
            return own.copy(), error
        squares = np.empty((len(J), len(self.poles) + 1))
        squares[:, 1:] = (self._columns[:t, J].T @ self._vectors) ** 2
        squares[:, 0] = np.maximum(own - squares[:, 1:].sum(axis=1), 0)
        poles, sums = np.concatenate([[0.0], self.poles]), np.empty(len(J))
        cutoff = self.gram.cutoff(t + 1)
        with workers(50.0 * squares.size * squares.shape[1]) as count:
            spread(lambda a, b: power_sums(poles, squares, self.alpha, cutoff, sums, a, b), len(J), count)
        return sums - self._value, error

    def losses(self) -> tuple[FloatArray, float]:
        self._settle()
        t = len(self.index)
        if self.alpha == 1:
            return self.gram.diagonal[self.index], self._error
        C, keep = self._columns[:t, self.index], ~np.eye(t, dtype=bool)
        blocks = np.array([C[np.ix_(row, row)] for row in keep]).reshape(t, t - 1, t - 1)
        values = np.linalg.eigvalsh(blocks) if t > 1 else np.zeros((t, 0))
        powers = np.where(values > self.gram.cutoff(t), np.maximum(values, 0) ** self.alpha, 0)
        return self.value - powers.sum(axis=1), self._error


class PlainGrowth:
    """Any set function, by its own `value` and `gains` on all of C."""

    def __init__(self, gram: Gram, f: SetFunction) -> None:
        self.gram, self.f = gram, f
        self.index: list[int] = []
        self.C = gram.block(range(gram.d))
        self.value = float(f.value(self.C, []))

    def add(self, j: int) -> None:
        self.index.append(j)
        self.value = float(self.f.value(self.C, self.index))

    def gains(self, J: IndexArray) -> tuple[FloatArray, FloatArray]:
        gains = np.asarray(self.f.gains(self.C, self.index), np.float64)
        return gains[J], np.full(len(J), self._error())

    def losses(self) -> tuple[FloatArray, float]:
        less = [self.f.value(self.C, [i for i in self.index if i != j]) for j in self.index]
        return self.value - np.array(less), self._error()

    def _error(self) -> float:
        return self.gram.error * (1 + len(self.index)) * max(1.0, abs(self.value))


def grow(gram: Gram, f: SetFunction, S: Sequence[int] = ()) -> Growth:
    """f at S, ready to grow."""
    start = getattr(f, "_growth", None)
    growth: Growth = PlainGrowth(gram, f) if start is None else start(gram)
    for j in S:
        growth.add(int(j))
    return growth
