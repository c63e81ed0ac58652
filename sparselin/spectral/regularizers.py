"""The diversity-promoting set functions of *Selecting Diverse Features via Spectral Regularization* (2012).

For a set S of columns with C_S = X_SᵀX_S and eigenvalues λ_i they are traces Σ h(λ_i), submodular where h′ is
operator antitone on the spectrum (Friedland and Gaubert; Theorem 12 there). What is claimed of each, and of
which C, is proved in its docstring. A gain f(S + x) − f(S) is written f(x | S); `x` is a column not in S.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike

from sparselin.results import FloatArray, IndexArray
from sparselin.spectral.gram import Gram
from sparselin.spectral.growth import (
    Growth,
    LogDetGrowth,
    PowerGrowth,
    VarianceGrowth,
    grow,
)
from sparselin.validation import check_count, check_indices, check_level


@dataclasses.dataclass(frozen=True)
class SmoothedDifferentialEntropy:
    """f_de(S) = Σ_{i≤|S|} log₂(δ + λ_i(C_S)) − 3k·log₂ δ = log₂ det(δI + C_S) − 3k·log₂ δ   (section 5.1).

    Without k, the constant is left out. For a positive semidefinite C the gain is the logarithm of a Schur
    complement,

        f(x | S) = log₂(δ + C_xx − C_xS(δI + C_S)⁻¹C_Sx),

    which falls as S grows, since the complement is the least of vᵀ(δI + C)v over v with v_x = 1 that vanish
    off S + x: f is submodular. The complement is at least δ, and equals δ in the limit of many copies of x
    in S. So f increases for every C iff δ ≥ 1; for unit columns and |S| ≤ m this needs only
    δ(δ + m + 1)/(δ + m) ≥ 1. It is non-negative for every C without the constant iff δ ≥ 1. With it,
    f(S) ≥ (3k − |S|)·log₂(1/δ) gives f ≥ 0 for |S| ≤ 3k if δ ≤ 1, but f(∅) = −3k·log₂ δ < 0 if δ > 1: the
    paper's constant makes f negative there, where none is needed.

    Parameters
    ----------
    delta : δ > 0.
    k : the k of the constant, at least 1, or None for none.

    Raises
    ------
    TypeError, ValueError : delta is no positive real number, or k no positive integer.

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
        _check_constant(self)

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
        values, _ = _spectrum(C, S)
        return self.constant + float(self._h(values).sum())

    def _h(self, values: FloatArray) -> FloatArray:
        return np.asarray(np.log2(self.delta + values))

    def gains(self, C: ArrayLike, S: Iterable[int]) -> FloatArray:
        """(d,) f(S + x) − f(S), 0 for x in S; O(d|S|²)."""
        return _gains(self, C, S)

    def _growth(self, gram: Gram) -> Growth:
        return LogDetGrowth(gram, self.delta, self.constant)


@dataclasses.dataclass(frozen=True)
class GeneralizedRank:
    """f_gr(S) = Σ_{i≤|S|} λ_i(C_S)^α, 0 ≤ α ≤ 1, with 0⁰ = 0: the rank for α = 0   (section 5.2).

    For every positive semidefinite C it is non-negative; increasing, since the eigenvalues of C_{S+x}
    interlace those of C_S from above and t^α increases; and submodular, since the derivative of t^α is
    operator antitone on t > 0 for 0 < α < 1 (f_gr is continuous at singular C_S), the trace (α = 1) is
    modular, and the rank is the limit of f_gr as α → 0.

    t^α has unbounded slope at 0: an eigenvalue that should be zero and is 1e-16 would count 1e-8 for α = ½,
    and 1 for α = 0. Eigenvalues up to 8·eps·|S|·max_i C_ii, to which rounding the entries of C may move
    a zero, therefore count as zero. Those slightly above count, with an error of the order of the cut-off to
    the power α.

    Parameters
    ----------
    alpha : 0 ≤ α ≤ 1.

    Raises
    ------
    TypeError, ValueError : alpha is no real number in [0, 1].

    >>> import numpy as np
    >>> GeneralizedRank(0.0).value(np.ones((3, 3)), [0, 1, 2])
    1.0
    >>> GeneralizedRank(0.5).gains(np.diag([1.0, 4.0, 9.0]), [0])
    array([0., 2., 3.])
    """

    alpha: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "alpha", check_level(self.alpha, "alpha"))
        if self.alpha > 1:
            raise ValueError(f"alpha must lie in [0, 1], where f_gr is submodular; got {self.alpha}")

    @property
    def monotone(self) -> bool:
        """True: f_gr increases for every positive semidefinite C."""
        return True

    @property
    def submodular(self) -> bool:
        """True: for every positive semidefinite C."""
        return True

    @property
    def nonnegative(self) -> bool:
        """True."""
        return True

    def value(self, C: ArrayLike, S: Iterable[int]) -> float:
        """f(S) from the eigenvalues of C_S, C (d, d) symmetric positive semidefinite."""
        values, cutoff = _spectrum(C, S)
        if self.alpha == 1:
            return float(values.sum())
        return float(self._h(values[values > cutoff]).sum())

    def _h(self, values: FloatArray) -> FloatArray:
        return np.asarray(values**self.alpha)

    def gains(self, C: ArrayLike, S: Iterable[int]) -> FloatArray:
        """(d,) f(S + x) − f(S), 0 for x in S; O(d|S|²)."""
        return _gains(self, C, S)

    def _growth(self, gram: Gram) -> Growth:
        return PowerGrowth(gram, self.alpha)


@dataclasses.dataclass(frozen=True)
class SpectralVariance:
    """f_sv(S) = 9k² − Σ_{i≤|S|} (λ_i(C_S) − 1)² = 9k² − ‖C_S − I‖_F²   (section 5.3).

    Without k, the constant is left out. For every symmetric C

        f(x | S) = −(C_xx − 1)² − 2·Σ_{j∈S} C_xj² ≤ 0,

    which falls as S grows: f is submodular and **decreases**. It increases on no design, and is constant
    where the columns are orthonormal. For unit columns ‖C_S − I‖_F² ≤ |S|(|S| − 1), and so f ≥ 0 for |S| ≤ 3k
    with the constant; longer columns can make it negative. Without the constant it is non-negative only
    where it is zero.

    Parameters
    ----------
    k : the k of the constant, at least 1, or None for none.

    Raises
    ------
    TypeError, ValueError : k is no positive integer.

    >>> import numpy as np
    >>> f, C = SpectralVariance(k=1), np.array([[1.0, 0.5], [0.5, 1.0]])
    >>> f.value(C, [0, 1]), f.gains(C, [0])
    (8.5, array([ 0. , -0.5]))
    """

    k: int | None = None

    def __post_init__(self) -> None:
        _check_constant(self)

    @property
    def constant(self) -> float:
        """f(∅)."""
        return 0.0 if self.k is None else 9.0 * self.k**2

    @property
    def monotone(self) -> bool:
        """False: f decreases."""
        return False

    @property
    def submodular(self) -> bool:
        """True: for every symmetric C."""
        return True

    @property
    def nonnegative(self) -> bool:
        """Whether f ≥ 0 for unit columns on sets of at most 3k of them."""
        return self.k is not None

    def value(self, C: ArrayLike, S: Iterable[int]) -> float:
        """f(S) by its Frobenius form, C (d, d) symmetric positive semidefinite."""
        gram = Gram.of_matrix(C)
        block = gram.block(check_indices(S, gram.d, "S").tolist())
        return self.constant - float(((block - np.eye(len(block))) ** 2).sum())

    def _h(self, values: FloatArray) -> FloatArray:
        return -((values - 1) ** 2)

    def gains(self, C: ArrayLike, S: Iterable[int]) -> FloatArray:
        """(d,) f(S + x) − f(S), 0 for x in S; O(d|S|)."""
        return _gains(self, C, S)

    def _growth(self, gram: Gram) -> Growth:
        return VarianceGrowth(gram, self.constant)


def _check_constant(f: SmoothedDifferentialEntropy | SpectralVariance) -> None:
    if f.k is not None:
        object.__setattr__(f, "k", check_count(f.k, "k", 1))


def _spectrum(C: ArrayLike, S: Iterable[int]) -> tuple[FloatArray, float]:
    """The eigenvalues of C_S, those negative by rounding as zero, and the bound of what counts as zero."""
    gram = Gram.of_matrix(C)
    index = check_indices(S, gram.d, "S").tolist()
    values = np.linalg.eigvalsh(gram.block(index)) if index else np.zeros(0)
    cutoff = gram.cutoff(len(index))
    if values.min(initial=0) < -cutoff:
        raise ValueError(
            f"C must be positive semidefinite, as XᵀX is; C_S has the eigenvalue {values.min():g}"
        )
    return np.maximum(values, 0), cutoff


def value_error(
    f: SmoothedDifferentialEntropy | GeneralizedRank | SpectralVariance,
    C: FloatArray,
    S: Iterable[int],
    unit: float,
) -> float:
    """How far f(S) may be off where C_ij is known to unit·√(C_ii·C_jj).

    Then ‖ΔC_S‖_F ≤ e = unit·Σ_S C_ii, and by Weyl each eigenvalue is known to e. h is concave, so that
    |h(t) − h(λ)| is largest at an end of [λ − e, λ + e]; eigenvalues that count as zero are zero.
    """
    index = list(S)
    values, cutoff = _spectrum(C, index)
    if isinstance(f, GeneralizedRank):
        values = values[values > cutoff]
    e, here = unit * float(np.diag(C)[index].sum()), f._h(values)
    apart = [np.abs(f._h(end) - here) for end in (np.maximum(values - e, 0), values + e)]
    return float(np.maximum(*apart).sum())


def _gains(
    f: SmoothedDifferentialEntropy | GeneralizedRank | SpectralVariance, C: ArrayLike, S: Iterable[int]
) -> FloatArray:
    gram = Gram.of_matrix(C)
    taken: IndexArray = check_indices(S, gram.d, "S")
    others = np.setdiff1d(np.arange(gram.d), taken)
    gains = np.zeros(gram.d)
    gains[others] = grow(gram, f, taken.tolist()).gains(others)[0]
    return gains
