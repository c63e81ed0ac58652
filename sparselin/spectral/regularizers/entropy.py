"""Smoothed differential entropy, Σ log₂(δ + λ_i).

While S grows, gains come from the rows of L⁻¹(δI + C)_{S·} with LLᵀ = δI + C_S: adding x multiplies the
determinant by its pivot, the Schur complement δ + C_xx − ‖L⁻¹C_{Sx}‖². O(dt) per feature, t = |S|.

The errors of C, of eps·C_ii, can exceed δ. Where they might change a pivot it is computed from X, as the
squared distance of (X_x, √δe_x) from the span of the columns S of (X, √δI): O(nt) for each x, and O(nt²) for
each S.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike

from sparselin._kernels.linear_algebra import extend
from sparselin.problem.errors import EPS
from sparselin.problem.memory import blocks
from sparselin.results import FloatArray, IndexArray
from sparselin.spectral._gram import Gram
from sparselin.spectral.regularizers.base import Growth, check_constant, gains_of, spectrum, value_error
from sparselin.validation import check_level

# Pivots are measured if the bound on their relative errors, that on errors of gains, is larger: as for gains
# in R² in `objective`. Smaller costs time; larger leaves features tied whose gains differ.
_MAX_RATIO = 1e-9


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

    No pivot is less than δ. Measured from the columns of B = (X_{S+x}, √δI), of errors F with ‖F_i‖ ≤ u√M_ii,
    it is p̂ = min ‖(B + F)v‖² over v with v_x = 1. At the minimiser v of p = ‖Bv‖² ≥ δ‖v‖²,
    ‖Fv‖ ≤ u·Σ√M_ii|v_i| ≤ ρ√p for ρ = u·√(Σ M_ii/δ), and at that of p̂ ≥ (√δ‖v‖ − ‖Fv‖)², ‖Fv‖ ≤ √p̂·ρ/(1 − ρ):
    √p̂/√p lies in [1 − ρ, 1 + ρ], and p is known to a relative 3ρ for ρ ≤ 1/6. eps/√δ replaces eps/δ.
    """

    unit = 1.0  # a bit

    def __init__(self, gram: Gram, delta: float, empty: float) -> None:
        self.gram, self.delta = gram, delta
        self.index: list[int] = []
        self.value = empty
        self.pivots = gram.diagonal + delta
        self._size = 0.0  # Σ M_ii over S
        self._rows = np.empty((8, gram.d))  # L⁻¹C_S·
        self._inverse = np.zeros((8, 8))  # L⁻¹
        self._inverse_diagonal = np.zeros(8)  # the diagonal of M_S⁻¹
        self._factors: tuple[FloatArray, FloatArray] | None = None  # QR of (X_S, √δI)

    def add(self, j: int) -> None:
        self.pivots[j] = self._known(np.array([j]))[0][0]
        t, pivot = len(self.index), float(self.pivots[j])
        self._factors = None
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
        return self._logarithms(*self._known(J))

    def losses(self) -> tuple[FloatArray, FloatArray]:
        """det M_{S−x} = det M_S·(M_S⁻¹)_xx, and M_S⁻¹ = R⁻¹R⁻ᵀ where it is measured."""
        t, size = len(self.index), self._size
        own = self.gram.diagonal[self.index] + self.delta
        pivots = np.maximum(1 / self._inverse_diagonal[:t], self.delta)
        ratio = self._ratio(pivots, own, size)
        if self.gram.problem is not None and (ratio > _MAX_RATIO).any():
            inverse = np.linalg.inv(self._factorised()[1])
            pivots = np.maximum(1 / np.square(inverse).sum(axis=1), self.delta)
            ratio = np.minimum(ratio, (1 + t) * self._measured_ratio(size))
        return self._logarithms(pivots, ratio)

    def _known(self, J: IndexArray) -> tuple[FloatArray, FloatArray]:
        """Return the pivots of J, measured where the bound on their errors is not small, and that bound."""
        pivots, own = self.pivots[J], self.gram.diagonal[J] + self.delta
        ratio = self._ratio(pivots, own, self._size + own)
        inexact = np.flatnonzero(ratio > _MAX_RATIO)
        if len(inexact) and self.gram.problem is not None:
            bound = self._measured_ratio(self._size + own[inexact])
            better = bound < ratio[inexact]
            inexact, bound = inexact[better], bound[better]
            pivots[inexact], ratio[inexact] = self._measured(J[inexact]), bound
        return pivots, ratio

    def _ratio(self, pivots: FloatArray, own: FloatArray, size: FloatArray | float) -> FloatArray:
        """Return bounds on the relative errors of pivots that come from C."""
        t = len(self.index)
        kappa = float((self.gram.diagonal[self.index] + self.delta) @ self._inverse_diagonal[:t])
        with np.errstate(over="ignore"):
            ratio = np.minimum(size / self.delta, (t + 1) * (1 + kappa) * own / pivots) * self.gram.error
        return np.asarray(ratio)

    def _measured_ratio(self, size: FloatArray | float) -> FloatArray:
        """Return 3ρ, or infinity for ρ > 1/6."""
        assert self.gram.problem is not None
        with np.errstate(over="ignore"):
            rho = self.gram.problem.length_unit * np.sqrt(size / self.delta)
        return np.asarray(np.where(rho > 1 / 6, np.inf, 3 * rho))

    def _measured(self, J: IndexArray) -> FloatArray:
        """Return the pivots of J from the distances of their columns from the span of the others."""
        problem, (Q, _) = self.gram.problem, self._factorised()
        assert problem is not None
        n, squares = len(Q) - len(self.index), np.empty(len(J))
        for here in blocks(len(J), len(Q)):
            Z = problem.columns(J[here]).astype(np.float64)
            Z = np.concatenate([Z, np.zeros((len(Q) - n, Z.shape[1]))])
            for _ in range(2):
                Z -= Q @ (Q.T @ Z)
            squares[here] = np.einsum("ij,ij->j", Z, Z)
        return squares + self.delta

    def _factorised(self) -> tuple[FloatArray, FloatArray]:
        """Return the QR factorisation of (X_S, √δI), computed once for each S."""
        if self._factors is None:
            assert self.gram.problem is not None
            X = self.gram.problem.columns(np.array(self.index, np.intp)).astype(np.float64)
            Q, R = np.linalg.qr(np.concatenate([X, math.sqrt(self.delta) * np.eye(len(self.index))]))
            self._factors = Q, R
        return self._factors

    def _logarithms(self, pivots: FloatArray, ratio: FloatArray) -> tuple[FloatArray, FloatArray]:
        """log₂ p, and a bound on its error, p being known to a relative error `ratio`.

        −log₂(1 − ratio) ≤ 2·ratio for ratio ≤ ½; else the larger of log₂(1 + ratio) and log₂ p − log₂ δ.
        """
        logs = np.log2(pivots)
        error = 2 * ratio + 2 * EPS * np.abs(logs)
        large = ratio > 0.5
        if large.any():
            down = logs[large] - math.log2(self.delta)
            error[large] = np.maximum(np.log2(1 + ratio[large]), down)
        return logs, error
