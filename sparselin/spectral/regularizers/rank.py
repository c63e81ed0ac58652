"""The generalized rank Σ λ_i^α, where λ_i are the eigenvalues of C_S, C = XᵀX.

While S grows, gains come from C_S = VΛVᵀ, Λ = diag(λ). Up to a rotation and zeros, C_{S+x}, for S with x
added, has the spectrum of

    diag(0, λ) + uuᵀ,  u = (ρ, w),  w_i = (VᵀC_Sx)_i/√λ_i,  ρ² = C_xx − ‖w‖².

The reason: this matrix is KKᵀ for K = [[√Λ, w], [0, ρ]], and C_{S+x} is KᵀK up to a rotation. The eigenvalues
of both are the zeros of a secular equation. The cost is O(t³) for each feature added, t = |S|, and O(t²) for
each gain.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Sequence
from typing import ClassVar

import numpy as np
import scipy.linalg
from numpy.typing import ArrayLike

from sparselin._kernels.secular import power_sums
from sparselin.parallel.threads import spread, workers
from sparselin.results import FloatArray, IndexArray
from sparselin.spectral.regularizers.base import Gram, Growth, Regularizer, spectrum, trace_error
from sparselin.validation import check_level


@dataclasses.dataclass(frozen=True)
class GeneralizedRank(Regularizer):
    """The generalized rank f_gr of *Selecting Diverse Features* (section 5.2); for α = 0 it is the rank.

        f_gr(S) = Σ_{i≤|S|} λ_i(C_S)^α,   0 ≤ α ≤ 1, with 0⁰ = 0

    Here λ_i(C_S) are the eigenvalues of the Gram matrix C_S = X_SᵀX_S. For every positive semidefinite C f_gr
    is non-negative. It increases with S, because the eigenvalues of C_{S+x} interlace those of C_S from above
    and t^α increases. It is submodular for 0 < α < 1, because the derivative of t^α is operator antitone on
    t > 0 and f_gr is continuous at singular C_S. The trace (α = 1) is modular, and the rank is the limit of
    f_gr as α → 0.

    Rounding. t^α has an unbounded slope at 0: a zero eigenvalue that is computed as 1e-16 would contribute
    1e-8 for α = ½, and 1 for α = 0. Therefore eigenvalues up to 8·eps·|S|·max_i C_ii count as zero; rounding
    the entries of C changes a zero eigenvalue by at most this. Eigenvalues slightly above this cut-off
    contribute to f_gr with an error of the order of the cut-off to the power α.

    Parameters
    ----------
    alpha : 0 ≤ α ≤ 1.

    Raises
    ------
    TypeError, ValueError : alpha is not a real number in [0, 1].

    >>> import numpy as np
    >>> GeneralizedRank(0.0).value(np.ones((3, 3)), [0, 1, 2])
    1.0
    >>> GeneralizedRank(0.5).gains(np.diag([1.0, 4.0, 9.0]), [0])
    array([0., 2., 3.])
    """

    monotone: ClassVar[bool] = True  #: f_gr increases for every positive semidefinite C
    submodular: ClassVar[bool] = True  #: for every positive semidefinite C
    nonnegative: ClassVar[bool] = True  #: f_gr ≥ 0 for every positive semidefinite C
    alpha: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "alpha", check_level(self.alpha, "alpha"))
        if self.alpha > 1:
            raise ValueError(f"alpha must lie in [0, 1], where f_gr is submodular; got {self.alpha}")

    def value(self, C: ArrayLike, S: Iterable[int]) -> float:
        """Compute f(S) from the eigenvalues of C_S, for C (d, d) symmetric positive semidefinite."""
        values, cutoff = spectrum(C, S)
        if self.alpha == 1:
            return float(values.sum())
        return float(self._h(values[values > cutoff]).sum())

    def _h(self, values: FloatArray) -> FloatArray:
        return np.asarray(values**self.alpha)

    def _value_error(self, C: FloatArray, S: Sequence[int], unit: float) -> float:
        values, cutoff = spectrum(C, S)
        return trace_error(self._h, values[values > cutoff], unit * float(np.diag(C)[S].sum()))

    def _growth(self, gram: Gram) -> Growth:
        return PowerGrowth(gram, self.alpha)


class PowerGrowth:
    """The state of Σ λ_i(C_S)^α for a growing set S of t features.

    Eigenvalues up to the cut-off c = 8·eps·t·max C_ii count as zero. An error E of C_S changes each
    eigenvalue by at most η = ‖E‖ ≤ e·tr C_S, where e is `Gram.error`. Among the terms λ_i^α, the term of the
    least eigenvalue λ above c changes most, by at most λ^α − max(λ − η, c)^α.
    """

    def __init__(self, gram: Gram, alpha: float) -> None:
        self.gram, self.alpha = gram, alpha
        self.index: list[int] = []
        self._columns = np.empty((8, gram.d))  # C_S·
        self._decomposed_size = -1  # |S| at the last eigendecomposition
        self._trace = 0.0

    @property
    def unit(self) -> float:
        return float(self.gram.diagonal.max(initial=0) ** self.alpha)

    @property
    def value(self) -> float:
        self._decompose()
        return self._value

    def _decompose(self) -> None:
        """Compute the eigendecomposition of the Gram matrix C_S, once for each set S."""
        t = len(self.index)
        if t == self._decomposed_size:
            return
        self._decomposed_size = t
        self._trace = float(self.gram.diagonal[self.index].sum())
        if self.alpha == 1:
            self._value = self._trace
            return
        values, vectors = scipy.linalg.eigh(self._columns[:t, self.index], check_finite=False, driver="evd")
        positive = values > self.gram.cutoff(t)
        self.poles = values[positive]
        self._vectors = vectors[:, positive] / np.sqrt(values[positive])
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
        """Return f(x | S) for x in J, bounds on its error, and upper bounds on f(x | S') for all S' ⊇ S.

        f(x | S) is the gain f(S + x) − f(S).
        """
        self._decompose()
        own = self.gram.diagonal[J]
        if self.alpha == 1:
            error = self.gram.error * own
            return own, error, own + error
        sums, least, cut = self._bordered_sums(J).T
        cutoff = self.gram.cutoff(len(self.index) + 1)
        gains = sums - self._value
        error = self._error(sums, least, self._trace + own, cutoff)
        uncertain, most = self._uncertain()
        return gains, error, gains + error + (cut + uncertain) * most

    def slack(self) -> float:
        """Return by how much a gain plus its error can exceed its upper bound from an earlier set.

        The number is twice the error, plus the contribution of the eigenvalues that are close to the cut-off.
        When x is added, one more eigenvalue counts.
        """
        self._decompose()
        largest = float(self.gram.diagonal.max(initial=0))
        cutoff = self.gram.cutoff(len(self.index) + 1)
        if self.alpha == 1:
            return 2 * self.gram.error * largest
        eta = self.gram.error * (self._trace + largest)
        total = self._value + (len(self.index) + 1) * eta**self.alpha + largest**self.alpha
        error = (cutoff + eta) ** self.alpha - cutoff**self.alpha + self.gram.error * total
        uncertain, most = self._uncertain()
        return float(2 * error + (1 + uncertain) * most)

    def _uncertain(self) -> tuple[int, float]:
        """Count the eigenvalues that rounding may move across the cut-off; bound the term λ^α of each."""
        largest = float(self.gram.diagonal.max(initial=0))
        bound = self.gram.cutoff(len(self.index) + 1) + self.gram.error * (self._trace + largest)
        count = len(self.index) - int((self.poles > 2 * bound).sum())
        return count, (3 * bound) ** self.alpha

    def _bordered_sums(self, J: IndexArray) -> FloatArray:
        """Compute Σ λ_i(C_{S+x})^α for each x in J, by the kernel `power_sums`, which adds two columns.

        S + x is S with x added, and u the vector of the module's docstring. C is scaled by a power of four so
        that max C_ii is of order 1 and no square in the secular equation underflows. Components of u below
        1e-60 change no eigenvalue above the cut-off, and are set to zero.

        Rounding. KᵀK has the entries √λ_i·w_i and ‖w‖² + ρ². They differ from VᵀC_Sx and C_xx by rounding
        errors of C_xx, unless ρ² is computed as a negative number. For small λ_i, |ρ²| can be much larger
        than eps·C_xx, because the error of w_i² is about eps·C_xx·w_i/√λ_i. Then |ρ²| is subtracted from the
        w_i² of the least λ_i, in this order, and ρ = 0. So ‖w‖² + ρ² = C_xx. If ρ² < 0, the matrix with the
        blocks Λ, VᵀC_Sx and C_xx has one negative eigenvalue −ν, where ν is at most the rounding error of
        C_{S+x}, and the subtraction changes each of its other eigenvalues by at most 3ν.
        """
        largest = float(self.gram.diagonal.max(initial=0))
        cutoff = self.gram.cutoff(len(self.index) + 1)
        unit = 4.0 ** (math.frexp(largest)[1] // 2)
        squares = np.empty((len(J), len(self.poles) + 1))
        w2 = (self._columns[: len(self.index), J].T @ self._vectors) ** 2
        rest = self.gram.diagonal[J] - w2.sum(axis=1)
        squares[:, 0] = np.maximum(rest, 0)
        squares[:, 1:] = np.clip(np.cumsum(w2, axis=1) + np.minimum(rest, 0)[:, None], 0, w2)
        squares /= unit
        squares[squares < 1e-60] = 0
        poles = np.concatenate([[0.0], self.poles / unit])
        out = np.empty((len(J), 3))
        with workers(50.0 * squares.size * squares.shape[1]) as n:
            spread(lambda a, b: power_sums(poles, squares, self.alpha, cutoff / unit, out, a, b), len(J), n)
        out *= [unit**self.alpha, unit, 1]
        return out

    def losses(self) -> tuple[FloatArray, FloatArray]:
        self._decompose()
        t = len(self.index)
        if self.alpha == 1:
            own = self.gram.diagonal[self.index]
            return own, self.gram.error * own
        C = self._columns[:t, self.index]
        keep = ~np.eye(t, dtype=bool)
        cutoff = self.gram.cutoff(t)
        blocks = np.array([C[np.ix_(row, row)] for row in keep]).reshape(t, t - 1, t - 1)
        values = np.linalg.eigvalsh(blocks) if t > 1 else np.zeros((t, 0))
        counts = values > cutoff
        sums = np.where(counts, np.maximum(values, 0) ** self.alpha, 0).sum(axis=1)
        least = np.where(counts, values, np.inf).min(axis=1, initial=np.inf)
        least = np.minimum(np.where(least < np.inf, least, cutoff), self.poles.min(initial=np.inf))
        return self._value - sums, self._error(sums, least, self._trace, cutoff)

    def _error(self, sums: FloatArray, low: FloatArray, trace: FloatArray | float, cut: float) -> FloatArray:
        lower = np.minimum(np.maximum(low - self.gram.error * trace, cut), low)
        return np.asarray(low**self.alpha - lower**self.alpha + self.gram.error * sums)
