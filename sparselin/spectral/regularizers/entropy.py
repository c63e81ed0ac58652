"""Smoothed differential entropy, Σ log₂(δ + λ_i).

While S grows, gains come from the rows of L⁻¹(δI + C)_{S·} with LLᵀ = δI + C_S: adding x multiplies the
determinant by its pivot, the Schur complement δ + C_xx − ‖L⁻¹C_{Sx}‖². O(dt) per feature, t = |S|.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike

from sparselin._kernels.log_det import extend
from sparselin.results import FloatArray, IndexArray
from sparselin.spectral._gram import Gram
from sparselin.spectral.regularizers.base import Growth, check_constant, gains_of, spectrum, value_error
from sparselin.validation import check_level


@dataclasses.dataclass(frozen=True)
class SmoothedDifferentialEntropy:
    """f_de(S) = Σ_{i≤|S|} log₂(δ + λ_i(C_S)) − 3k·log₂ δ = log₂ det(δI + C_S) − 3k·log₂ δ   (section 5.1).

    Without k the constant is omitted. For a positive semidefinite C the gain is the logarithm of a Schur
    complement,

        f(x | S) = log₂(δ + C_xx − C_xS(δI + C_S)⁻¹C_Sx),

    which decreases as S grows, since the complement is the minimum of vᵀ(δI + C)v over v with v_x = 1 that
    vanish off S + x: f is submodular. The complement is at least δ, and tends to δ for many copies of x
    in S. So f increases for every C iff δ ≥ 1; for unit columns and |S| ≤ m this needs only
    δ(δ + m + 1)/(δ + m) ≥ 1. Without the constant it is non-negative for every C iff δ ≥ 1. With it,
    f(S) ≥ (3k − |S|)·log₂(1/δ) gives f ≥ 0 for |S| ≤ 3k if δ ≤ 1, but f(∅) = −3k·log₂ δ < 0 if δ > 1: there
    the paper's constant makes f negative, and none is needed.

    Parameters
    ----------
    delta : δ > 0.
    k : the k of the constant, at least 1, or None for none.

    Raises
    ------
    TypeError, ValueError : delta is not a positive real number, or k not a positive integer.

    >>> import numpy as np
    >>> f = SmoothedDifferentialEntropy(1.0)
    >>> f.value(np.eye(3), [0, 2]), f.gains(np.ones((2, 2)), [0]).round(3)
    (2.0, array([0.   , 0.585]))
    """

    delta: float
    k: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "delta", check_level(self.delta, "delta"))
        if self.delta == 0:
            raise ValueError("delta must be positive; log det C_S itself is −∞ for dependent columns")
        check_constant(self)

    @property
    def constant(self) -> float:
        """f(∅)."""
        return 0.0 if self.k is None or self.delta == 1 else -3 * self.k * math.log2(self.delta)

    @property
    def monotone(self) -> bool:
        """Whether f increases, f(x | S) ≥ 0, for every positive semidefinite C."""
        return self.delta >= 1

    @property
    def submodular(self) -> bool:
        """True: for every positive semidefinite C."""
        return True

    @property
    def nonnegative(self) -> bool:
        """Whether f ≥ 0 for every positive semidefinite C; on sets of at most 3k columns if there is a k."""
        return self.delta >= 1 if self.k is None else self.delta <= 1

    def value(self, C: ArrayLike, S: Iterable[int]) -> float:
        """f(S) from the eigenvalues of C_S, C (d, d) symmetric positive semidefinite."""
        values, _ = spectrum(C, S)
        return self.constant + float(self._h(values).sum())

    def _h(self, values: FloatArray) -> FloatArray:
        return np.asarray(np.log2(self.delta + values))

    def gains(self, C: ArrayLike, S: Iterable[int]) -> FloatArray:
        """(d,) f(S + x) − f(S), 0 for x in S; O(d|S|²)."""
        return gains_of(self, C, S)

    _value_error = value_error

    def _growth(self, gram: Gram) -> Growth:
        return LogDetGrowth(gram, self.delta, self.constant)


class LogDetGrowth:
    """log₂ det M_S, M = δI + C.

    A pivot is p = vᵀMv with v = (−M_S⁻¹C_Sx, 1), and errors of M, |E_ij| ≤ e·√(M_ii·M_jj), change it by at
    most

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
        self._inverse_diagonal = np.zeros(8)  # the diagonal of M_S⁻¹

    def add(self, j: int) -> None:
        t, pivot = len(self.index), float(self.pivots[j])
        if t == len(self._rows):
            self._rows = np.concatenate([self._rows, np.empty_like(self._rows)])
            self._inverse = np.pad(self._inverse, (0, t))
            self._inverse_diagonal = np.pad(self._inverse_diagonal, (0, t))
        mine, root = self._rows[:t, j].copy(), math.sqrt(pivot)
        extend(self._rows, t, self.gram.column(j), j, self.delta, self.pivots)
        largest = 1 / math.sqrt(self.delta)  # bounds the entries of L⁻¹
        np.clip(mine @ self._inverse[:t, :t] / -root, -largest, largest, out=self._inverse[t, :t])
        self._inverse[t, t] = 1 / root
        self._inverse_diagonal[t] = 0
        self._inverse_diagonal[: t + 1] += self._inverse[t, : t + 1] ** 2
        self._size += self.gram.diagonal[j] + self.delta
        self.index.append(j)
        self.value += math.log2(pivot)

    def gains(self, J: IndexArray) -> tuple[FloatArray, FloatArray]:
        own = self.gram.diagonal[J] + self.delta
        return self._logarithms(self.pivots[J], own, self._size + own)

    def losses(self) -> tuple[FloatArray, FloatArray]:
        """det M_{S−x} = det M_S·(M_S⁻¹)_xx."""
        own = self.gram.diagonal[self.index] + self.delta
        pivots = np.maximum(1 / self._inverse_diagonal[: len(own)], self.delta)
        return self._logarithms(pivots, own, self._size)

    def _logarithms(
        self, pivots: FloatArray, own: FloatArray, size: FloatArray | float
    ) -> tuple[FloatArray, FloatArray]:
        """log₂ p, and a bound on its error, p being known to a relative error `ratio`.

        −log₂(1 − ratio) ≤ 2·ratio for ratio ≤ ½; else the larger of log₂(1 + ratio) and log₂ p − log₂ δ.
        """
        t = len(self.index)
        kappa = float((self.gram.diagonal[self.index] + self.delta) @ self._inverse_diagonal[:t])
        logs = np.log2(pivots)
        with np.errstate(over="ignore"):
            ratio = np.minimum(size / self.delta, (t + 1) * (1 + kappa) * own / pivots) * self.gram.error
            error = 2 * ratio + 2.0**-51 * np.abs(logs)
        large = ratio > 0.5
        if large.any():
            down = logs[large] - math.log2(self.delta)
            error[large] = np.maximum(np.log2(1 + ratio[large]), down)
        return logs, error
