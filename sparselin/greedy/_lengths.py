"""The lengths ‖P_S^⊥X_j‖ of all columns projected off the selected ones."""

from __future__ import annotations

import numpy as np

from sparselin._kernels import blocks as kernels
from sparselin.linalg.thin_qr import ThinQR
from sparselin.linalg.ties import measure
from sparselin.problem import Problem
from sparselin.results import FloatArray


class Lengths:
    """The squared lengths ρ_j² = ‖P_S^⊥X_j‖² of all columns; orthogonal least squares divides by ρ_j.

    Each column q of the factorisation reduces ρ_j² by ⟨q, X_j⟩². Whenever cancellation has cost four digits,
    ρ_j² is recomputed by projection.

    Attributes
    ----------
    squares, measured : (d,) ρ_j², and its value at the last projection; both zero for columns in the span.
    scale : (d,) 1/ρ_j, zero for columns in the span.
    size : the number of columns of the factorisation that are accounted for.
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
        """Return the arrays that a kernel updates."""
        return kernels.ProjectedLengths(self.squares, self.measured, self.scale, self.norms, self.ratio)

    def update(self, qr: ThinQR) -> None:
        """Bring the lengths up to date with all columns of the factorisation."""
        if self.size < qr.size:
            self.squares -= (self.problem.correlate(qr.Qt[self.size :].T) ** 2).sum(axis=1)
            self.size = qr.size
        self.measure(qr)

    def measure(self, qr: ThinQR) -> None:
        """Recompute the inaccurate ρ_j by projection, and exclude columns found to be in the span."""
        self.measured[qr.index] = 0
        stale = np.flatnonzero((self.squares <= 1e-4 * self.measured) & (self.measured > 0))
        if len(stale):
            fresh = measure(qr, stale)
            self.squares[stale] = self.measured[stale] = np.where(fresh.outside, fresh.length, 0) ** 2
        free = self.measured > 0
        self.scale[:] = 0
        self.scale[free] = 1 / np.sqrt(self.squares[free])

    def exclude(self, j: int) -> None:
        """Treat column j as in the span from now on."""
        self.squares[j] = self.measured[j] = self.scale[j] = 0

    def weights(self, score: FloatArray) -> FloatArray:
        """Return w_j such that w_j·e_c/‖X_j‖ bounds the error of score j; see the kernel `rescale`."""
        weights: FloatArray = self.scale * (
            self.norms * (1 + self.ratio * np.abs(score) * np.sqrt(self.measured) * self.scale)
        )
        return weights
