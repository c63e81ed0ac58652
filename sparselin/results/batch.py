"""The result of selecting for many signals at once."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparselin.results.base import FloatArray, IndexArray, Named, Names, result
from sparselin.results.display import Cells, Column, Table, list_names, plural
from sparselin.validation import check_mask


@result
class BatchSelection(Named):
    """The features that OMP selected for each of N signals: one row for each signal, at most k of d features.

    Attributes
    ----------
    support : (N, k) indices in the order of selection: the `forced` features first; unused places hold −1.
    coef : (N, k) least squares coefficients of each signal on its support; unused places hold zero.
    n_selected : (N,) the number of features in each row.
    residual_norms : (N, k + 1) ‖r_0‖ = ‖y‖, ‖r_1‖, …, the norm of the residual after each feature. Unused
        places hold NaN, and so does the whole row of a signal that is STOPPED. Let κ be the condition number
        of the selected columns scaled to unit length, and eps the machine epsilon. The norms come from a
        recurrence whose error is about eps·√n·κ²·‖y‖; the recurrence is used only if κ² ≤ 10⁴. For a signal
        that was solved again from its residual the error is about eps·κ·‖y‖.
    residual_norm : (N,) ‖r‖ at the end.
    status : (N,) array of `Status`: the way in which each signal ended. For example,
        `batch.status == Status.TOLERANCE` is a mask of the signals that reached their tolerance.
    n_features : d.
    names : the d names of the features, or None.
    n_redone : the number of signals that were solved again from their residuals, because the recurrence was
        too inexact to decide.

    The length of the result is N. `to_frame()` has a row for each signal: signal, n_selected, residual_norm,
    status.
    """

    support: IndexArray
    coef: FloatArray
    n_selected: IndexArray
    residual_norms: FloatArray
    status: NDArray[np.object_]
    n_features: int
    names: Names
    n_redone: int

    @property
    def residual_norm(self) -> FloatArray:
        """(N,) the norm of the residual at the end, for each of N signals."""
        return self.residual_norms[np.arange(len(self.n_selected)), self.n_selected]

    def to_sparse(self) -> Any:
        """Return the coefficients as a SciPy CSR array (N, d): Y ≈ D @ to_sparse().T, D the dictionary."""
        from scipy.sparse import csr_array

        used = self.support >= 0
        starts = np.concatenate([[0], np.cumsum(self.n_selected)])
        shape = (len(self.support), self.n_features)
        matrix = csr_array((self.coef[used], self.support[used], starts), shape=shape)
        matrix.sort_indices()
        return matrix

    @property
    def coefficients(self) -> Any:
        """The coefficients as a SciPy CSC array (d, N), one column per signal: Y ≈ D @ coefficients."""
        return self.to_sparse().T

    def reconstruct(self, D: Any) -> FloatArray:
        """Compute the approximations of all signals, D @ coefficients (n, N), as a dense array.

        D is an array, a SciPy sparse matrix or a frame with n_features columns: the dictionary, or other rows
        of the dictionary. Raises TypeError if D does not hold numbers, and ValueError if it has another
        shape.
        """
        from scipy.sparse import issparse

        check_mask(D=D)
        D = D if issparse(D) else np.asarray(D)
        if D.ndim != 2 or D.shape[1] != self.n_features:
            raise ValueError(
                f"D must have shape (n, {self.n_features}), as the dictionary has; got {D.shape}"
            )
        if D.dtype.kind not in "biufc":
            raise TypeError(f"D must hold numbers; got dtype {D.dtype}")
        signals = D @ self.coefficients
        return np.asarray(signals.toarray() if issparse(signals) else signals)

    def __len__(self) -> int:
        return len(self.support)

    def _headline(self) -> str:
        ends = ", ".join(f"{n} {status.name}" for status, n in Counter(self.status.tolist()).items())
        mean = float(np.mean(self.n_selected)) if len(self) else 0.0
        return f"{plural(len(self), 'signal')}, {mean:.3g} of {self.n_features} features on average, {ends}"

    def _list_support(self, i: int) -> str:
        """Return the names of the features that signal i selected, as text."""
        return list_names(self._names_of(self.support[i, : self.n_selected[i]]))

    def _table(self) -> Table:
        columns = (
            Column("signal", "signal", np.arange(len(self))),
            Column("n_selected", "features", self.n_selected),
            Column(None, "selected", Cells(self._list_support, len(self))),
            Column("residual_norm", "‖r‖", self.residual_norm),
            Column("status", "status", [status.name for status in self.status]),
        )
        return Table(columns, tuple(status.line for status in dict.fromkeys(self.status.tolist())))
