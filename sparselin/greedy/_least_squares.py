"""Least squares on the selected columns, one of the fits of a `Selection`."""

from __future__ import annotations

import functools
import math

import numpy as np

from sparselin.greedy._double import Double
from sparselin.greedy._outcomes import AddedPicks, Dependent, Outcome
from sparselin.greedy._walk import Pick, PickRecord
from sparselin.linalg.thin_qr import ThinQR
from sparselin.linalg.ties import Measurement, measure
from sparselin.problem import Problem
from sparselin.results import FloatArray, IndexArray


class LeastSquares:
    """Least squares on the selected columns S: the factorisation X_S = QR, and the residual r = P_S^⊥y.

    Attributes
    ----------
    projections : Qᵀy, that is, ⟨q, y⟩ for each column q of Q.
    """

    positive = False

    def __init__(self, problem: Problem, capacity: int = 8) -> None:
        self.problem = problem
        self.qr = ThinQR(problem, capacity=min(capacity, problem.n))
        self.residual = problem.y
        self.projections: list[float] = []
        self._basis: list[int] = []  # position in the support of each column of the QR

    @functools.cached_property
    def double(self) -> Double:
        return Double(self.problem)

    def release(self, J: IndexArray) -> None:
        """Let the coefficients of the columns J have any sign, as all of this fit have."""

    def append(self, pick: Pick, trail: PickRecord) -> Outcome:
        """Add the column of a pick to the factorisation, unless it is in the span of the selected columns."""
        if not self.qr.append(pick.feature):
            return Dependent(pick.feature)
        projection = float(self.qr.Qt[-1] @ self.residual)
        r = self.residual - projection * self.qr.Qt[-1]
        return AddedPicks([pick], [projection], [math.sqrt(float(r @ r))], r)

    def record(self, added: AddedPicks, position: int) -> None:
        """Update the residual after picks were added to the factorisation.

        position : the number of features that were selected before them.
        """
        self.residual = added.residual
        self._basis.extend(range(position, position + len(added.picks)))
        self.projections.extend(added.projections)

    def project(self) -> float:
        """Project y off the columns of the factorisation once more, and return ‖r‖ for the new residual r."""
        self.residual = self.qr.residual(self.problem.y)
        return math.sqrt(float(self.residual @ self.residual))

    def truncate(self, m: int) -> None:
        """Keep the fits on the first 0, …, m selected features."""
        t = int(np.searchsorted(self._basis, m))
        self.qr.truncate(t)
        del self.projections[t:], self._basis[t:]

    def score(self, c: FloatArray) -> FloatArray:
        """Return c itself: the largest modulus of the correlations decides a pick."""
        return c

    def measure(self, J: IndexArray) -> Measurement:
        """Compute correlations and lengths of the columns J, projected off the selected columns.

        The computation is in float64, and the error bounds are sharp.
        """
        if self.problem.dtype == np.float32:
            return self.double.measure(J, self.qr.index)
        return measure(self.qr, J)

    def lam_star(self, picks: list[Pick]) -> FloatArray:
        """Return λ* of each pick, the largest |⟨X_j, r⟩| before the pick, where r is the residual then.

        If no other column is tied with the pick i, λ* is computed as |⟨X_i, r⟩| = ρ|⟨q, r⟩|. Here X_S are the
        columns selected before, q is the unit vector along P_S^⊥X_i, and ρ = ‖P_S^⊥X_i‖. This formula is more
        accurate, because rounding leaves a small part of r in the span of X_S, and this part does not affect
        ⟨q, r⟩.
        """
        lam_star = np.array([pick.lam_star for pick in picks])
        lengths = self.qr.R.diagonal().tolist()
        for i, rho, projection in zip(self._basis, lengths, self.projections, strict=True):
            if picks[i].tied == (picks[i].feature,):
                lam_star[i] = abs(rho * projection)
        return lam_star

    def coef_path(self, trail: PickRecord) -> FloatArray:
        """Return the coefficients (t, t) along the path: row j is the fit on the first j + 1 features."""
        projections = np.array(self.projections, self.problem.dtype)
        return self.qr.coefficients(projections, np.array(self._basis, np.intp), len(trail.picks))
