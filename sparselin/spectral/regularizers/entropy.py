"""The smoothed differential entropy Σ log₂(δ + λ_i), where λ_i are the eigenvalues of C_S, C = XᵀX.

While S grows, gains come from the rows of L⁻¹(δI + C)_{S·} with LLᵀ = δI + C_S. Adding x multiplies the
determinant by the pivot of x, the Schur complement δ + C_xx − ‖L⁻¹C_{Sx}‖². This costs O(dt) per feature
added, t = |S|.

The errors of C, about eps·C_ii, can exceed δ. If they might change a pivot too much, the pivot is computed
from X, as the squared distance of (X_x, √δe_x) from the span of the columns S of (X, √δI). This costs O(nt)
for each x, and O(nt²) for each S.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from sparselin._kernels.linear_algebra import extend
from sparselin.problem.errors import EPS
from sparselin.problem.memory import blocks
from sparselin.results import FloatArray, IndexArray
from sparselin.spectral.regularizers.base import Gram, Growth, Regularizer, check_constant, spectrum
from sparselin.validation import check_level

# A pivot is computed from X if the bound on its relative error, which also bounds the error of a gain, is
# larger than this (as _MAX_ERROR of `objective`). A smaller value costs time; a larger one leaves features
# tied whose gains differ.
_MAX_RATIO = 1e-9


@dataclasses.dataclass(frozen=True)
class SmoothedDifferentialEntropy(Regularizer):
    """The smoothed differential entropy f_de of *Selecting Diverse Features* (section 5.1).

        f_de(S) = Σ_{i≤|S|} log₂(δ + λ_i(C_S)) − 3k·log₂ δ = log₂ det(δI + C_S) − 3k·log₂ δ

    Here λ_i(C_S) are the eigenvalues of the Gram matrix C_S = X_SᵀX_S. Without k the constant is omitted. For
    a positive semidefinite C the gain f(x | S) = f(S + x) − f(S) is the logarithm of a Schur complement,

        f(x | S) = log₂(δ + C_xx − C_xS(δI + C_S)⁻¹C_Sx).

    The complement is the minimum of vᵀ(δI + C)v over the vectors v with v_x = 1 that are zero outside S + x.
    So the complement decreases as S grows, and f is submodular. When is f increasing? The complement is at
    least δ, and tends to δ for many copies of x in S. So f increases for every C if and only if δ ≥ 1; for
    unit columns and |S| ≤ m it increases if δ(δ + m + 1)/(δ + m) ≥ 1. When is f non-negative? Without the
    constant, for every C if and only if δ ≥ 1. With the constant, f(S) ≥ (3k − |S|)·log₂(1/δ), so f ≥ 0 for
    |S| ≤ 3k if δ ≤ 1. But f(∅) = −3k·log₂ δ < 0 if δ > 1: then the paper's constant makes f negative, and no
    constant is needed.

    Parameters
    ----------
    delta : δ > 0.
    k : the k of the constant, at least 1, or None to omit the constant.

    Raises
    ------
    TypeError, ValueError : delta is not a positive real number, or k not a positive integer.

    >>> import numpy as np
    >>> f = SmoothedDifferentialEntropy(1.0)
    >>> f.value(np.eye(3), [0, 2]), f.gains(np.ones((2, 2)), [0]).round(3)
    (2.0, array([0.   , 0.585]))
    """

    submodular: ClassVar[bool] = True  #: for every positive semidefinite C
    delta: float
    k: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "delta", check_level(self.delta, "delta"))
        if self.delta == 0:
            raise ValueError("delta must be positive; log det C_S itself is −∞ for dependent columns")
        check_constant(self)

    @property
    def constant(self) -> float:
        """The value f(∅), which is the constant."""
        return 0.0 if self.k is None or self.delta == 1 else -3 * self.k * math.log2(self.delta)

    @property
    def monotone(self) -> bool:
        """True if f increases, f(x | S) ≥ 0, for every positive semidefinite C."""
        return self.delta >= 1

    @property
    def nonnegative(self) -> bool:
        """True if f ≥ 0 for every positive semidefinite C; with a k, on sets of at most 3k columns."""
        return self.delta >= 1 if self.k is None else self.delta <= 1

    def value(self, C: ArrayLike, S: Iterable[int]) -> float:
        """Compute f(S) from the eigenvalues of C_S, for C (d, d) symmetric positive semidefinite."""
        values, _ = spectrum(C, S)
        return self.constant + float(self._h(values).sum())

    def _h(self, values: FloatArray) -> FloatArray:
        return np.asarray(np.log2(self.delta + values))

    def _growth(self, gram: Gram) -> Growth:
        return LogDetGrowth(gram, self.delta, self.constant)


class LogDetGrowth:
    """The state of log₂ det M_S for a growing set S, where M = δI + C. A pivot p is det M_{S+x}/det M_S.

    Pivots from C. A pivot is p = vᵀMv with v = (−M_S⁻¹C_Sx, 1). Errors E of M with |E_ij| ≤ e·√(M_ii·M_jj)
    change p by at most the smaller of

    - e·Σ_{S+x} M_ii·‖v‖², where ‖v‖² ≤ p/δ;
    - e·(t + 1)·Σ_i M_ii·v_i², t = |S|, where Σ_{i∈S} M_ii·v_i² ≤ κ·C_xx because v_SᵀM_Sv_S ≤ C_xx. Here
      κ = Σ_{i∈S} M_ii·(M_S⁻¹)_ii is the trace of the inverse of M_S scaled to a unit diagonal.

    No pivot is less than δ.

    Pivots from X. A pivot can also be measured from the columns of B = (X_{S+x}, √δI). Let F be the errors of
    these columns, ‖F_i‖ ≤ u√M_ii, and ρ = u·√(Σ M_ii/δ). The measured pivot is p̂ = min ‖(B + F)v‖² over v
    with v_x = 1. At the minimiser v of p = ‖Bv‖² ≥ δ‖v‖², ‖Fv‖ ≤ u·Σ√M_ii|v_i| ≤ ρ√p. At the minimiser v of
    p̂ ≥ (√δ‖v‖ − ‖Fv‖)², ‖Fv‖ ≤ √p̂·ρ/(1 − ρ). So √p̂/√p lies in [1 − ρ, 1 + ρ], and p has a relative error
    of at most 3ρ for ρ ≤ 1/6. Measuring replaces an error of order eps/δ by one of order eps/√δ.
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
        self.pivots[j] = self._best_pivots(np.array([j]))[0][0]
        t = len(self.index)
        pivot = float(self.pivots[j])
        self._factors = None
        if t == len(self._rows):
            self._rows = np.concatenate([self._rows, np.empty_like(self._rows)])
            self._inverse = np.pad(self._inverse, (0, t))
            self._inverse_diagonal = np.pad(self._inverse_diagonal, (0, t))
        mine = self._rows[:t, j].copy()
        root = math.sqrt(pivot)
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
        return self._logarithms(*self._best_pivots(J))

    def losses(self) -> tuple[FloatArray, FloatArray]:
        """Return f(S) − f(S − x) for each x of S, and error bounds; S − x is S without x.

        Up to a constant, f(S) = log₂ det M_S, where M = δI + C and C is the Gram matrix. So the differences
        follow from det M_{S−x} = det M_S·(M_S⁻¹)_xx. If the bounds are large, M_S⁻¹ = R⁻¹R⁻ᵀ is computed from
        the QR factors of (X_S, √δI).
        """
        t = len(self.index)
        size = self._size
        own = self.gram.diagonal[self.index] + self.delta
        pivots = np.maximum(1 / self._inverse_diagonal[:t], self.delta)
        ratio = self._ratio(pivots, own, size)
        if self.gram.problem is not None and (ratio > _MAX_RATIO).any():
            inverse = np.linalg.inv(self._factors_of_S()[1])
            pivots = np.maximum(1 / np.square(inverse).sum(axis=1), self.delta)
            ratio = np.minimum(ratio, (1 + t) * self._measured_ratio(size))
        return self._logarithms(pivots, ratio)

    def _best_pivots(self, J: IndexArray) -> tuple[FloatArray, FloatArray]:
        """Return the pivot of each feature of J, and bounds on the relative errors of the pivots.

        A pivot whose error may be large is measured, that is, computed from X.
        """
        pivots = self.pivots[J]
        own = self.gram.diagonal[J] + self.delta
        ratio = self._ratio(pivots, own, self._size + own)
        inexact = np.flatnonzero(ratio > _MAX_RATIO)
        if len(inexact) and self.gram.problem is not None:
            bound = self._measured_ratio(self._size + own[inexact])
            better = bound < ratio[inexact]
            inexact, bound = inexact[better], bound[better]
            pivots[inexact] = self._measure(J[inexact])
            ratio[inexact] = bound
        return pivots, ratio

    def _ratio(self, pivots: FloatArray, own: FloatArray, size: FloatArray | float) -> FloatArray:
        """Return bounds on the relative errors of pivots that are computed from the Gram matrix C.

        A pivot is det M_{S+x}/det M_S, where M = δI + C, and S + x is S with x added.

        own : M_xx for each pivot.
        size : the sum of M_ii over S + x.
        """
        t = len(self.index)
        kappa = float((self.gram.diagonal[self.index] + self.delta) @ self._inverse_diagonal[:t])
        with np.errstate(over="ignore"):
            ratio = np.minimum(size / self.delta, (t + 1) * (1 + kappa) * own / pivots) * self.gram.error
        return np.asarray(ratio)

    def _measured_ratio(self, size: FloatArray | float) -> FloatArray:
        """Return 3ρ, a bound on the relative error of a pivot that is computed from X; infinity for ρ > 1/6.

        size : the sum of M_ii over S + x, S with x added. The docstring of this class defines M and ρ.
        """
        assert self.gram.problem is not None
        with np.errstate(over="ignore"):
            rho = self.gram.problem.length_unit * np.sqrt(size / self.delta)
        return np.asarray(np.where(rho > 1 / 6, np.inf, 3 * rho))

    def _measure(self, J: IndexArray) -> FloatArray:
        """Compute the pivots of J from X, as squared distances of columns of (X, √δI) from the span of S."""
        problem = self.gram.problem
        Q, _ = self._factors_of_S()
        assert problem is not None
        n = len(Q) - len(self.index)
        squares = np.empty(len(J))
        for here in blocks(len(J), len(Q)):
            Z = problem.columns(J[here]).astype(np.float64)
            Z = np.concatenate([Z, np.zeros((len(Q) - n, Z.shape[1]))])
            for _ in range(2):
                Z -= Q @ (Q.T @ Z)
            squares[here] = np.einsum("ij,ij->j", Z, Z)
        return squares + self.delta

    def _factors_of_S(self) -> tuple[FloatArray, FloatArray]:
        """Return the QR factors of (X_S, √δI), computed once for each set S."""
        if self._factors is None:
            assert self.gram.problem is not None
            X = self.gram.problem.columns(np.array(self.index, np.intp)).astype(np.float64)
            Q, R = np.linalg.qr(np.concatenate([X, math.sqrt(self.delta) * np.eye(len(self.index))]))
            self._factors = Q, R
        return self._factors

    def _logarithms(self, pivots: FloatArray, ratio: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return log₂ p for pivots p, and bounds on its errors; `ratio` bounds the relative errors of p.

        The bound is −log₂(1 − ratio) ≤ 2·ratio for ratio ≤ ½. For a larger ratio, the bound is the larger of
        log₂(1 + ratio) and log₂ p − log₂ δ, because no pivot is less than δ, the constant of this class.
        """
        logs = np.log2(pivots)
        error = 2 * ratio + 2 * EPS * np.abs(logs)
        large = ratio > 0.5
        if large.any():
            down = logs[large] - math.log2(self.delta)
            error[large] = np.maximum(np.log2(1 + ratio[large]), down)
        return logs, error
