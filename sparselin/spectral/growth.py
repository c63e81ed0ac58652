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

from sparselin._kernels.log_det import extend
from sparselin._kernels.secular import power_sums
from sparselin.parallel.threads import spread, workers
from sparselin.results import FloatArray, IndexArray
from sparselin.spectral.gram import Gram


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

    def losses(self) -> tuple[FloatArray, FloatArray]:
        """f(S) − f(S − x) for each x of `index`, and bounds of their errors."""


class LogDetGrowth:
    """log₂ det M_S, M = δI + C.

    A pivot is p = vᵀMv with v = (−M_S⁻¹C_Sx, 1), and errors of M, |E_ij| ≤ e·√(M_ii·M_jj), move it by at most

    - e·Σ_{S+x} M_ii·‖v‖², where ‖v‖² ≤ p/δ;
    - e·(t + 1)·Σ_i M_ii·v_i², where Σ_{i∈S} M_ii·v_i² ≤ κ·C_xx for κ = Σ_{i∈S} M_ii·(M_S⁻¹)_ii, the trace of
      the inverse of M_S scaled to a unit diagonal, since v_SᵀM_Sv_S ≤ C_xx.

    No pivot is less than δ.
    """

    def __init__(self, gram: Gram, delta: float, empty: float) -> None:
        self.gram, self.delta = gram, delta
        self.index: list[int] = []
        self.value = empty
        self.pivots = gram.diagonal + delta
        self._size = 0.0  # Σ M_ii over S
        self._rows = np.empty((8, gram.d))  # L⁻¹C_S·
        self._inverse = np.zeros((8, 8))  # L⁻¹
        self._worth = np.zeros(8)  # the diagonal of M_S⁻¹

    def add(self, j: int) -> None:
        t, pivot = len(self.index), float(self.pivots[j])
        if t == len(self._rows):
            self._rows = np.concatenate([self._rows, np.empty_like(self._rows)])
            self._inverse = np.pad(self._inverse, (0, t))
            self._worth = np.pad(self._worth, (0, t))
        mine, root = self._rows[:t, j].copy(), math.sqrt(pivot)
        extend(self._rows, t, self.gram.column(j), j, self.delta, self.pivots)
        largest = 1 / math.sqrt(self.delta)  # of what L⁻¹ can hold
        np.clip(mine @ self._inverse[:t, :t] / -root, -largest, largest, out=self._inverse[t, :t])
        self._inverse[t, t] = 1 / root
        self._worth[t] = 0
        self._worth[: t + 1] += self._inverse[t, : t + 1] ** 2
        self._size += self.gram.diagonal[j] + self.delta
        self.index.append(j)
        self.value += math.log2(pivot)

    def gains(self, J: IndexArray) -> tuple[FloatArray, FloatArray]:
        own = self.gram.diagonal[J] + self.delta
        return self._logarithms(self.pivots[J], own, self._size + own)

    def losses(self) -> tuple[FloatArray, FloatArray]:
        """det M_{S−x} = det M_S·(M_S⁻¹)_xx."""
        own = self.gram.diagonal[self.index] + self.delta
        return self._logarithms(np.maximum(1 / self._worth[: len(own)], self.delta), own, self._size)

    def _logarithms(
        self, pivots: FloatArray, own: FloatArray, size: FloatArray | float
    ) -> tuple[FloatArray, FloatArray]:
        """log₂ p, and by how much it can err.

        −log₂(1 − ratio) ≤ 2·ratio where p errs by up to a half; else log₂(1 + ratio) up, or down to log₂ δ.
        """
        t = len(self.index)
        kappa = float((self.gram.diagonal[self.index] + self.delta) @ self._worth[:t])
        logs = np.log2(pivots)
        with np.errstate(over="ignore"):
            ratio = np.minimum(size / self.delta, (t + 1) * (1 + kappa) * own / pivots) * self.gram.error
            error = 2 * ratio + 2.0**-51 * np.abs(logs)
        large = ratio > 0.5
        if large.any():
            down = logs[large] - math.log2(self.delta)
            error[large] = np.maximum(np.log2(1 + ratio[large]), down)
        return logs, error


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

    def losses(self) -> tuple[FloatArray, FloatArray]:
        S = np.array(self.index, np.intp)
        own = self.gram.diagonal[S]
        losses = -((own - 1) ** 2) - 2 * (self.squares[S] - own**2)
        size = float(self.squares[S].max(initial=0) + own.max(initial=0) ** 2 + 1)
        return losses, np.full(len(S), 8 * self.gram.error * (1 + len(S)) * size)


class PowerGrowth:
    """Σ λ_i(C_S)^α; eigenvalues up to the cut-off 8·eps·t·max C_ii count as zero.

    An error E of C_S moves the eigenvalues by η = ‖E‖ ≤ e·tr C_S in all, and Σ λ_i^α most where it moves the
    least that counts, λ: by λ^α − (λ − η)^α, or down to the cut-off, given that λ counts.
    """

    def __init__(self, gram: Gram, alpha: float) -> None:
        self.gram, self.alpha = gram, alpha
        self.index: list[int] = []
        self._columns = np.empty((8, gram.d))  # C_S·
        self._settled = -1
        self._trace = 0.0

    @property
    def value(self) -> float:
        self._settle()
        return self._value

    def _settle(self) -> None:
        """The eigendecomposition of C_S, once for each S."""
        t = len(self.index)
        if t == self._settled:
            return
        self._settled, self._trace = t, float(self.gram.diagonal[self.index].sum())
        if self.alpha == 1:
            self._value = self._trace
            return
        values, vectors = scipy.linalg.eigh(self._columns[:t, self.index], check_finite=False, driver="evd")
        kept = values > self.gram.cutoff(t)
        self.poles, self._vectors = values[kept], vectors[:, kept] / np.sqrt(values[kept])
        self._value = float((self.poles**self.alpha).sum())

    def add(self, j: int) -> None:
        t = len(self.index)
        if t == len(self._columns):
            self._columns = np.concatenate([self._columns, np.empty_like(self._columns)])
        self._columns[t] = self.gram.column(j)
        self.index.append(j)

    def gains(self, J: IndexArray) -> tuple[FloatArray, FloatArray]:
        return self.bounded_gains(J)[:2]

    def bounded_gains(self, J: IndexArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """The gains, bounds of their errors, and bounds of f(x | S') for all S' ⊇ S."""
        self._settle()
        own = self.gram.diagonal[J]
        if self.alpha == 1:
            error = self.gram.error * own
            return own, error, own + error
        sums, least, cut = self._bordered(J).T
        cutoff = self.gram.cutoff(len(self.index) + 1)
        gains, error = sums - self._value, self._error(sums, least, self._trace + own, cutoff)
        uncertain, worth = self._uncertain()
        return gains, error, gains + error + (cut + uncertain) * worth

    def doubt(self) -> float:
        """What a gain, with its error, can exceed the bounds of earlier sets by: at most twice its error, and
        what the eigenvalues near the cut-off count, of which x can bring one.
        """
        self._settle()
        largest, cutoff = float(self.gram.diagonal.max(initial=0)), self.gram.cutoff(len(self.index) + 1)
        if self.alpha == 1:
            return 2 * self.gram.error * largest
        eta = self.gram.error * (self._trace + largest)
        total = self._value + (len(self.index) + 1) * eta**self.alpha + largest**self.alpha
        error = (cutoff + eta) ** self.alpha - cutoff**self.alpha + self.gram.error * total
        uncertain, worth = self._uncertain()
        return float(2 * error + (1 + uncertain) * worth)

    def _uncertain(self) -> tuple[int, float]:
        """How many eigenvalues of C_S may or may not count, and the most that one of them can count."""
        largest = float(self.gram.diagonal.max(initial=0))
        near = self.gram.cutoff(len(self.index) + 1) + self.gram.error * (self._trace + largest)
        count = len(self.index) - int((self.poles > 2 * near).sum())
        return count, (3 * near) ** self.alpha

    def _bordered(self, J: IndexArray) -> FloatArray:
        """What `power_sums` says of C_{S+x} for the x in J.

        In units of a power of four near max C_ii, where squares of the secular equation cannot underflow;
        components that small move no eigenvalue that counts.
        """
        largest, cutoff = float(self.gram.diagonal.max(initial=0)), self.gram.cutoff(len(self.index) + 1)
        unit = 4.0 ** (math.frexp(largest)[1] // 2)
        squares = np.empty((len(J), len(self.poles) + 1))
        squares[:, 1:] = (self._columns[: len(self.index), J].T @ self._vectors) ** 2
        squares[:, 0] = np.maximum(self.gram.diagonal[J] - squares[:, 1:].sum(axis=1), 0)
        squares /= unit
        squares[squares < 1e-60] = 0
        poles, out = np.concatenate([[0.0], self.poles / unit]), np.empty((len(J), 3))
        with workers(50.0 * squares.size * squares.shape[1]) as count:
            spread(
                lambda a, b: power_sums(poles, squares, self.alpha, cutoff / unit, out, a, b), len(J), count
            )
        out *= [unit**self.alpha, unit, 1]
        return out

    def losses(self) -> tuple[FloatArray, FloatArray]:
        self._settle()
        t = len(self.index)
        if self.alpha == 1:
            own = self.gram.diagonal[self.index]
            return own, self.gram.error * own
        C, keep, cutoff = self._columns[:t, self.index], ~np.eye(t, dtype=bool), self.gram.cutoff(t)
        blocks = np.array([C[np.ix_(row, row)] for row in keep]).reshape(t, t - 1, t - 1)
        values = np.linalg.eigvalsh(blocks) if t > 1 else np.zeros((t, 0))
        counts = values > cutoff
        sums = np.where(counts, np.maximum(values, 0) ** self.alpha, 0).sum(axis=1)
        least = np.where(counts, values, np.inf).min(axis=1, initial=np.inf)
        least = np.minimum(np.where(least < np.inf, least, cutoff), self.poles.min(initial=np.inf))
        return self._value - sums, self._error(sums, least, self._trace, cutoff)

    def _error(
        self, sums: FloatArray, least: FloatArray, trace: FloatArray | float, cutoff: float
    ) -> FloatArray:
        lower = np.minimum(np.maximum(least - self.gram.error * trace, cutoff), least)
        error: FloatArray = least**self.alpha - lower**self.alpha + self.gram.error * sums
        return error


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

    def losses(self) -> tuple[FloatArray, FloatArray]:
        less = [self.f.value(self.C, [i for i in self.index if i != j]) for j in self.index]
        return self.value - np.array(less), np.full(len(less), self._error())

    def _error(self) -> float:
        return self.gram.error * (1 + len(self.index)) * max(1.0, abs(self.value))


def grow(gram: Gram, f: SetFunction, S: Sequence[int] = ()) -> Growth:
    """f at S, ready to grow."""
    start = getattr(f, "_growth", None)
    growth: Growth = PlainGrowth(gram, f) if start is None else start(gram)
    for j in S:
        growth.add(int(j))
    return growth
