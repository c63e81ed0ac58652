"""The result of selecting for many signals at once."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparselin.results.base import FloatArray, IndexArray, Result, ended, result
from sparselin.results.display import Column, Table


@result
class BatchSelection(Result):
    """The features that OMP selected for each of N signals, a row each, at most k of d features.

    Attributes
    ----------
    support : (N, k) indices in the order of selection, then −1.
    coef : (N, k) least squares coefficients of the signal on its support, then zeros.
    n_selected : (N,) how many features each row holds.
    residual_norm : (N,) ‖r‖ at the end.
    status : (N,) array of `Status`, how each signal ended; `batch.status == Status.TOLERANCE` is a mask.
    n_redone : the number of signals solved from residuals, the recurrence being too inexact to decide.
    n_features : d.

    Its length is N; `to_frame()` has a row for each signal: signal, n_selected, residual_norm, status.
    """

    support: IndexArray
    coef: FloatArray
    n_selected: IndexArray
    residual_norm: FloatArray
    status: NDArray[np.object_]
    n_redone: int
    n_features: int

    def to_sparse(self) -> Any:
        """The coefficients as a SciPy CSR array (N, d): Y ≈ D @ to_sparse().T."""
        from scipy.sparse import csr_array

        used = self.support >= 0
        starts = np.concatenate([[0], np.cumsum(self.n_selected)])
        shape = (len(self.support), self.n_features)
        matrix = csr_array((self.coef[used], self.support[used], starts), shape=shape)
        matrix.sort_indices()
        return matrix

    def __len__(self) -> int:
        return len(self.support)

    def _headline(self) -> str:
        endings = ", ".join(f"{n} {status.name}" for status, n in Counter(self.status.tolist()).items())
        mean = float(np.mean(self.n_selected)) if len(self) else 0.0
        return f"{len(self)} signals, {mean:.3g} of {self.n_features} features on average, {endings}"

    def _table(self) -> Table:
        columns = (
            Column("signal", "signal", np.arange(len(self))),
            Column("n_selected", "features", self.n_selected),
            Column("residual_norm", "‖r‖", self.residual_norm),
            Column("status", "status", [status.name for status in self.status]),
        )
        return Table(columns, tuple(ended(status) for status in dict.fromkeys(self.status.tolist())))
