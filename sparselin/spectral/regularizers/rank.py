"""Generalized rank, Σ λ_i^α.

While S grows: with C_S = VΛVᵀ the bordered matrix of x has, up to a rotation and zeros, the spectrum of

    diag(0, λ) + uuᵀ,  u = (ρ, w),  w_i = (VᵀC_Sx)_i/√λ_i,  ρ² = C_xx − ‖w‖²,

KKᵀ of K = [[√Λ, w], [0, ρ]], a square root of the bordered KᵀK. Its eigenvalues are the zeros of a secular
equation. O(t³) per feature added, t = |S|, and O(t²) for each gain.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Sequence

import numpy as np
import scipy.linalg
from numpy.typing import ArrayLike

from sparselin._kernels.secular import power_sums
from sparselin.parallel.threads import spread, workers
from sparselin.results import FloatArray, IndexArray
from sparselin.spectral._gram import Gram
from sparselin.spectral.regularizers.base import Growth, gains_of, spectrum, trace_error
from sparselin.validation import check_level


@dataclasses.dataclass(frozen=True)
class GeneralizedRank:
    """f_gr(S) = Σ_{i≤|S|} λ_i(C_S)^α, 0 ≤ α ≤ 1, with 0⁰ = 0: the rank for α = 0   (section 5.2).

    For every positive semidefinite C it is non-negative; increasing, since the eigenvalues of C_{S+x}
    interlace those of C_S from above and t^α increases; and submodular, since the derivative of t^α is
    operator antitone on t > 0 for 0 < α < 1 (f_gr is continuous at singular C_S), the trace (α = 1) is
    modular, and the rank is the limit of f_gr as α → 0.

    t^α has unbounded slope at 0: an eigenvalue zero, computed as 1e-16, would contribute 1e-8 for α = ½,
    and 1 for α = 0. Therefore eigenvalues up to 8·eps·|S|·max_i C_ii, which bounds the change of a zero
    eigenvalue when the entries of C are rounded, count as zero. Those slightly above count, with an error of
    the order of the cut-off to the power α.

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
        values, cutoff = spectrum(C, S)
        if self.alpha == 1:
            return float(values.sum())
        return float(self._h(values[values > cutoff]).sum())

    def _h(self, values: FloatArray) -> FloatArray:
        return np.asarray(values**self.alpha)

    def gains(self, C: ArrayLike, S: Iterable[int]) -> FloatArray:
        """(d,) f(S + x) − f(S), 0 for x in S; O(d|S|²)."""
        return gains_of(self, C, S)

    def _value_error(self, C: FloatArray, S: Sequence[int], unit: float) -> float:
        values, cutoff = spectrum(C, S)
        return trace_error(self._h, values[values > cutoff], unit * float(np.diag(C)[S].sum()))

    def _growth(self, gram: Gram) -> Growth:
        return PowerGrowth(gram, self.alpha)


class PowerGrowth:
    """Σ λ_i(C_S)^α; eigenvalues up to the cut-off 8·eps·t·max C_ii count as zero.

    An error E of C_S changes each eigenvalue by at most η = ‖E‖ ≤ e·tr C_S, and Σ λ_i^α most if it changes
    the least eigenvalue λ above the cut-off c: by λ^α − max(λ − η, c)^α.
    """

    def __init__(self, gram: Gram, alpha: float) -> None:
        self.gram, self.alpha = gram, alpha
        self.index: list[int] = []
        self._columns = np.empty((8, gram.d))  # C_S·
        self._decomposed = -1  # |S| for which it was
        self._trace = 0.0

    @property
    def unit(self) -> float:
        return float(self.gram.diagonal.max(initial=0) ** self.alpha)

    @property
    def value(self) -> float:
        self._decompose()
        return self._value

    def _decompose(self) -> None:
        """The eigendecomposition of C_S, once for each S."""
        t = len(self.index)
        if t == self._decomposed:
            return
        self._decomposed, self._trace = t, float(self.gram.diagonal[self.index].sum())
        if self.alpha == 1:
            self._value = self._trace
            return
        values, vectors = scipy.linalg.eigh(self._columns[:t, self.index], check_finite=False, driver="evd")
        positive = values > self.gram.cutoff(t)
        self.poles, self._vectors = values[positive], vectors[:, positive] / np.sqrt(values[positive])
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
        """The gains, bounds on their errors, and bounds on f(x | S') for all S' ⊇ S."""
        self._decompose()
        own = self.gram.diagonal[J]
        if self.alpha == 1:
            error = self.gram.error * own
            return own, error, own + error
        sums, least, cut = self._bordered(J).T
        cutoff = self.gram.cutoff(len(self.index) + 1)
        gains, error = sums - self._value, self._error(sums, least, self._trace + own, cutoff)
        uncertain, most = self._uncertain()
        return gains, error, gains + error + (cut + uncertain) * most

    def slack(self) -> float:
        """A bound on how much a gain, with its error, can exceed the bounds from earlier sets.

        That is twice its error, and the contribution of the eigenvalues close to the cut-off, x adding one.
        """
        self._decompose()
        largest, cutoff = float(self.gram.diagonal.max(initial=0)), self.gram.cutoff(len(self.index) + 1)
        if self.alpha == 1:
            return 2 * self.gram.error * largest
        eta = self.gram.error * (self._trace + largest)
        total = self._value + (len(self.index) + 1) * eta**self.alpha + largest**self.alpha
        error = (cutoff + eta) ** self.alpha - cutoff**self.alpha + self.gram.error * total
        uncertain, most = self._uncertain()
        return float(2 * error + (1 + uncertain) * most)

    def _uncertain(self) -> tuple[int, float]:
        """How many eigenvalues of C_S rounding may move across the cut-off; the most that one contributes."""
        largest = float(self.gram.diagonal.max(initial=0))
        bound = self.gram.cutoff(len(self.index) + 1) + self.gram.error * (self._trace + largest)
        count = len(self.index) - int((self.poles > 2 * bound).sum())
        return count, (3 * bound) ** self.alpha

    def _bordered(self, J: IndexArray) -> FloatArray:
        """`power_sums` of C_{S+x} for the x in J.

        C is scaled by a power of four to max C_ii of order 1, so that no square in the secular equation
        underflows; components below 1e-60 change no eigenvalue above the cut-off, and are set to zero.
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
        self._decompose()
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
