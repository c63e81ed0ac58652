"""The spectral variance −Σ (λ_i − 1)², where λ_i are the eigenvalues of C_S, C = XᵀX.

While S grows, only Σ_{j∈S} C_xj² is updated for each x, because Σ(λ_i − 1)² = ‖C_S − I‖_F². This costs O(d)
per feature added.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from sparselin.problem.errors import EPS
from sparselin.results import FloatArray, IndexArray
from sparselin.spectral.regularizers.base import Gram, Growth, Regularizer, check_constant
from sparselin.validation import check_indices


@dataclasses.dataclass(frozen=True)
class SpectralVariance(Regularizer):
    """The spectral variance f_sv of *Selecting Diverse Features* (section 5.3).

        f_sv(S) = 9k² − Σ_{i≤|S|} (λ_i(C_S) − 1)² = 9k² − ‖C_S − I‖_F²

    Here λ_i(C_S) are the eigenvalues of the Gram matrix C_S = X_SᵀX_S. Without k the constant is omitted. For
    every symmetric C the gain f(x | S) = f(S + x) − f(S) is

        f(x | S) = −(C_xx − 1)² − 2·Σ_{j∈S} C_xj² ≤ 0.

    The gain decreases as S grows, so f is submodular. f itself is **decreasing** on every design, and
    constant if and only if the columns are orthonormal. For unit columns ‖C_S − I‖_F² ≤ |S|(|S| − 1), so with
    the constant f ≥ 0 for |S| ≤ 3k. With longer columns f can be negative in spite of the constant. Without
    the constant f ≤ 0.

    Parameters
    ----------
    k : the k of the constant, at least 1, or None to omit the constant.

    Raises
    ------
    TypeError, ValueError : k is not a positive integer.

    >>> import numpy as np
    >>> f, C = SpectralVariance(k=1), np.array([[1.0, 0.5], [0.5, 1.0]])
    >>> f.value(C, [0, 1]), f.gains(C, [0])
    (8.5, array([ 0. , -0.5]))
    """

    monotone: ClassVar[bool] = False  #: f decreases
    submodular: ClassVar[bool] = True  #: for every symmetric C
    k: int | None = None

    def __post_init__(self) -> None:
        check_constant(self)

    @property
    def constant(self) -> float:
        """The value f(∅), which is the constant."""
        return 0.0 if self.k is None else 9.0 * self.k**2

    @property
    def nonnegative(self) -> bool:
        """True if f ≥ 0 on sets of at most 3k unit columns, which needs the constant."""
        return self.k is not None

    def value(self, C: ArrayLike, S: Iterable[int]) -> float:
        """Compute f(S) from the Frobenius norm of C_S − I, for C (d, d) symmetric positive semidefinite."""
        gram = Gram.of_matrix(C)
        block = gram.block(check_indices(S, gram.d, "S").tolist())
        return self.constant - float(((block - np.eye(len(block))) ** 2).sum())

    def _h(self, values: FloatArray) -> FloatArray:
        return -((values - 1) ** 2)

    def _growth(self, gram: Gram) -> Growth:
        return VarianceGrowth(gram, self.constant)


class VarianceGrowth:
    """The state of −‖C_S − I‖_F² for a growing set S. No terms cancel, so the errors of gains are small."""

    unit = np.inf

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
        own = self.gram.diagonal[J]
        squares = self.squares[J]
        largest = self.gram.diagonal[self.index].max(initial=0)
        # If the error of C_xj is at most δ, the error of C_xj² is at most δ·(2|C_xj| + δ). Here
        # δ ≤ e·√(C_xx·C_jj), and Σ|C_xj| ≤ √t·‖C_Sx‖ for the t features j of S.
        delta = self.gram.error * own
        spread = self.gram.error * np.sqrt(len(self.index) * own * largest)
        error = delta * (2 * np.abs(own - 1) + delta) + spread * (4 * np.sqrt(squares) + 2 * spread)
        return -((own - 1) ** 2) - 2 * squares, error + 4 * EPS * (squares + (own - 1) ** 2)

    def losses(self) -> tuple[FloatArray, FloatArray]:
        S = np.array(self.index, np.intp)
        own = self.gram.diagonal[S]
        losses = -((own - 1) ** 2) - 2 * (self.squares[S] - own**2)
        size = float(self.squares[S].max(initial=0) + own.max(initial=0) ** 2 + 1)
        return losses, np.full(len(S), 8 * self.gram.error * (1 + len(S)) * size)
