"""The lengths ‖P_S^⊥X_j‖ of all columns, projected off the selected columns S."""

from __future__ import annotations

import numpy as np

from sparselin._kernels import blocks as kernels
from sparselin.linalg.thin_qr import ThinQR
from sparselin.linalg.ties import measure
from sparselin.problem import Problem
from sparselin.results import FloatArray


class Lengths:
    """The squared lengths ρ_j² = ‖P_S^⊥X_j‖² of all columns, projected off the selected columns S.

    Orthogonal least squares divides by ρ_j. Each column q of the factorisation X_S = QR reduces ρ_j² by
    ⟨q, X_j⟩². Once cancellation has cost four digits of ρ_j², it is recomputed by projecting X_j off S.

    Attributes
    ----------
    squares : (d,) ρ_j², zero for columns in the span of S.
    measured : (d,) the value of ρ_j² at the last projection, zero for columns in the span of S.
    scale : (d,) 1/ρ_j, zero for columns in the span of S.
    size : the number of columns q whose ⟨q, X_j⟩² have already been subtracted.
    """

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.norms = problem.column_norms
        self.squares = self.norms**2
        self.measured = self.squares.copy()
        self.scale = np.zeros_like(self.squares)
        self.size = 0
        self.ratio = self.problem.dtype.type(1 / problem.y_norm if problem.y_norm else 0)

    def arrays(self) -> kernels.ProjectedLengths:
        """Return the lengths as the arrays that the kernels read and update."""
        return kernels.ProjectedLengths(self.squares, self.measured, self.scale, self.norms, self.ratio)

    def update(self, qr: ThinQR) -> None:
        """Reduce the lengths by the columns that were added to the factorisation since the last update."""
        if self.size < qr.size:
            self.squares -= (self.problem.correlate(qr.Qt[self.size :].T) ** 2).sum(axis=1)
            self.size = qr.size
        self.measure(qr)

    def measure(self, qr: ThinQR) -> None:
        """Recompute each inaccurate length ‖P_S^⊥X_j‖ by projecting X_j off the selected columns S.

        A column in the span of S gets the length zero.
        """
        self.measured[qr.index] = 0
        stale = np.flatnonzero((self.squares <= 1e-4 * self.measured) & (self.measured > 0))
        if len(stale):
            fresh = measure(qr, stale)
            self.squares[stale] = self.measured[stale] = np.where(fresh.outside, fresh.length, 0) ** 2
        free = self.measured > 0
        self.scale[:] = 0
        self.scale[free] = 1 / np.sqrt(self.squares[free])

    def exclude(self, j: int) -> None:
        """Set the length of column j to zero, so that it counts as in the span of the selected columns."""
        self.squares[j] = self.measured[j] = self.scale[j] = 0

    def weights(self, score: FloatArray) -> FloatArray:
        """Return factors w (d,) for the error of the scores |c_j|/ρ_j.

        Here c = Xᵀr are the correlations with the residual r, and ρ_j = ‖P_S^⊥X_j‖. If e bounds the error of
        c_j/‖X_j‖ for every j, then w_j·e bounds the error of score j (see the kernel `rescale`).
        """
        share = self.ratio * np.abs(score) * np.sqrt(self.measured) * self.scale
        return np.asarray(self.scale * (self.norms * (1 + share)))
