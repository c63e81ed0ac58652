"""Nonnegative least squares on the selected features, the fit of nonnegative OMP.

Let S be the selected features, and F the forced ones among them, whose coefficients may have any sign. β
minimises ‖y − X_Sβ‖ under the constraints β_j ≥ 0 for j ∈ S∖F. Let P = {j ∈ S∖F : β_j > 0}, r = y − X_Sβ and
c = Xᵀr. β is a minimiser if and only if

    c_F = 0,   c_P = 0,   c_j ≤ 0 for j ∈ S∖(F ∪ P).

So β is the least squares solution on F ∪ P, and r = P_{F ∪ P}^⊥y. The QR factorisation holds the columns of
F ∪ P, so correlations with r are computed as in `LeastSquares`. P is found by the method of Lawson and Hanson
(*Solving Least Squares Problems*, 1974), starting from the P of the previous S (docs/proofs/nonnegative.md).

*Rounding.* For j ∈ P let z_j be X_j projected off the other columns of F ∪ P. Then β_j = ⟨z_j, y⟩/‖z_j‖². The
error of β_j is the error of ⟨z_j, y⟩ (`errors.measured_error`) divided by ‖z_j‖². All ‖z_j‖ follow from the
matrix M = (X_JᵀX_J)⁻¹ with J = F ∪ P: ‖z_j‖² = 1/M_jj. The coefficients of X_j on the other columns are
−M_jl/M_jj, and without column j the squared residual would be ‖r‖² + β_j²‖z_j‖². A β_j that does not exceed
its error counts as zero, and so does a correlation c_j that does not exceed its error. Therefore every column
that enters P has a coefficient above its error.
"""

import functools
import math
from typing import Any

import numpy as np

from sparselin.greedy._double import Double
from sparselin.greedy._outcomes import AddedPicks, Dependent, Outcome, Undecided
from sparselin.greedy._walk import Pick, PickRecord
from sparselin.linalg.thin_qr import ThinQR
from sparselin.linalg.ties import Measurement, measure
from sparselin.problem import Problem
from sparselin.results import FloatArray, IndexArray


class NonnegativeLeastSquares:
    """Least squares on the selected features S, with β ≥ 0 except on the forced ones.

    For float32 data, the correlations c = Xᵀr with the residual r are in float32; everything else is in
    float64.

    Attributes
    ----------
    free : F, the forced features.
    qr : the factorisation of the columns F ∪ P, where P are the other features with β_j > 0.
    """

    positive = True

    def __init__(self, problem: Problem, capacity: int = 8) -> None:
        self.problem = problem
        data = self.double.problem if problem.dtype == np.float32 else problem
        self.qr = ThinQR(data, capacity=min(capacity, problem.n))
        self.residual = problem.y
        self.free: set[int] = set()
        self._solutions: list[tuple[int, list[int], FloatArray]] = []  # |S|, F ∪ P, β on it

    @functools.cached_property
    def double(self) -> Double:
        return Double(self.problem)

    @property
    def projections(self) -> list[float]:
        return list((self.qr.Qt @ self.qr.problem.y).tolist())

    def release(self, J: IndexArray) -> None:
        """Let the coefficients of the columns J have any sign."""
        self.free.update(J.tolist())

    def append(self, pick: Pick, trail: PickRecord) -> Outcome:
        """Add a pick to the factorisation, and solve for the new β ≥ 0.

        F are the forced features, and P the others with β_j > 0. The pick is not added if it is in the span
        of F ∪ P, or if rounding leaves β undecided. The coefficient of the pick is positive in the new β;
        otherwise the norm of the residual would not decrease.
        """
        beta = np.append(self._solutions[-1][2] if self._solutions else np.zeros(0), 0.0)
        r = self.qr.residual(self.qr.problem.y)
        if not self.qr.append(pick.feature):
            return Dependent(pick.feature)
        if pick.tied == (pick.feature,):  # as in `LeastSquares.lam_star`
            pick = pick._replace(lam_star=abs(float(self.qr.R[-1, -1] * (self.qr.Qt[-1] @ r))))
        solution = self._solve(pick.feature, beta, trail.support)
        if solution is None:
            return Undecided()
        r = self.qr.residual(self.qr.problem.y)
        self._solutions.append((len(trail.picks) + 1, list(self.qr.index), solution))
        residual = r.astype(self.problem.dtype, copy=False)
        return AddedPicks([pick], [math.nan], [math.sqrt(float(r @ r))], residual)

    def record(self, added: AddedPicks, position: int) -> None:
        """Update the residual after `append` has added a pick."""
        self.residual = added.residual

    def project(self) -> float:
        """Project y off the columns of the factorisation once more, and return ‖r‖ for the new residual r."""
        r = self.qr.residual(self.problem.y)
        self.residual = r.astype(self.problem.dtype, copy=False)
        return math.sqrt(float(r @ r))

    def truncate(self, m: int) -> None:
        """Keep the fits on the first 0, …, m selected features."""
        self._solutions = [solution for solution in self._solutions if solution[0] <= m]

    def score(self, c: FloatArray) -> FloatArray:
        """Return max(c, 0) for correlations c = Xᵀr with the residual r."""
        return np.maximum(c, 0)

    def measure(self, J: IndexArray) -> Measurement:
        """Compute correlations and lengths of the columns J, projected off the columns F ∪ P.

        F are the forced features, and P the others with β_j > 0. The computation is in float64, and the error
        bounds are sharp.
        """
        return measure(self.qr, J, self.problem)

    def lam_star(self, picks: list[Pick]) -> FloatArray:
        """Return λ* of each pick, the largest max(⟨X_j, r⟩, 0) before the pick; r is the residual then."""
        return np.array([pick.lam_star for pick in picks])

    def coef_path(self, trail: PickRecord) -> FloatArray:
        """Return the coefficients (t, t) along the path: row j is the fit on the first j + 1 features."""
        t = len(trail.picks)
        path = np.zeros((t, t), self.problem.dtype)
        place = {j: i for i, j in enumerate(trail.support)}
        for m, index, beta in self._solutions:  # for a dependent forced column the previous β is kept
            path[m - 1 :] = 0
            path[m - 1 :, [place[j] for j in index]] = beta
        return path

    def _solve(self, entered: int, beta: FloatArray, support: list[int]) -> FloatArray | None:
        """Compute β ≥ 0 for the picks and the pick `entered`; return None if rounding leaves β undecided.

        Let F be the forced features, and P the others with β_j > 0. The result is β on F ∪ P, which are the
        columns of the factorisation when the method returns. The argument `beta` is a feasible β on the
        columns of the factorisation when the method is called, and `support` are the earlier picks.

        The method is that of Lawson and Hanson. It moves from the feasible β to the least squares solution on
        the columns of the factorisation, and removes columns whose coefficient becomes zero on the way. Let c
        = Xᵀr be the correlations with the residual r. If a pick outside P has c_j > 0, the one with the
        largest c_j enters P, and the move is repeated. Each entry decreases ‖r‖, and ‖r‖ is a function of P,
        so no P occurs twice.
        """
        seen: set[frozenset[int]] = set()
        while True:
            beta = self._descend(beta)
            index = frozenset(self.qr.index)
            if entered not in index or index in seen:
                return None
            seen.add(index)
            outside = np.array([j for j in support if j not in index | self.free], np.intp)
            c, error, coarse = self.measure(outside).correlations()
            excess = np.where(c > coarse * error, c, 0)
            if not excess.any():
                return beta
            if not self.qr.append(int(outside[np.argmax(excess)])):
                return None
            beta = np.append(beta, 0.0)

    def _descend(self, beta: FloatArray) -> FloatArray:
        """Move from a feasible β to the least squares solution on F ∪ P, and return its coefficients.

        F are the forced features, and P the others with β_j > 0. Whenever a β_j with j ∈ P becomes zero on
        the way, column j leaves P, and the move continues to the least squares solution on the remaining
        columns.
        """
        while True:
            goal, error = self._least_squares()
            signed = np.array([j not in self.free for j in self.qr.index])
            falling = signed & (goal <= error)
            if not falling.any():
                return goal
            step = np.where(falling, 1.0, np.inf)
            negative = falling & (goal < 0)
            step[negative] = beta[negative] / (beta - goal)[negative]
            first = int(np.argmin(step))
            beta = np.delete(beta + step[first] * (goal - beta), first)
            self.qr.delete(first)

    def _least_squares(self) -> tuple[FloatArray, FloatArray]:
        """Return the least squares coefficients on the factorised columns, and bounds on their errors."""
        qr = self.qr
        problem = qr.problem
        z = qr.Qt @ problem.y
        r = qr.residual(problem.y)
        beta = qr.solve(z)
        inverse = np.linalg.inv(qr.R)
        M = inverse @ inverse.T
        square = np.diag(M)
        size = np.sqrt(((problem.column_norms[qr.index] * M / square[:, None]) ** 2).sum(axis=1))
        length = 1 / np.sqrt(square)
        y_size = float(qr.sizes(problem.y_norm, z))
        r_norm: Any = np.hypot(math.sqrt(float(r @ r)), beta * length)
        return beta, problem.errors.measured_error(size, length, y_size, r_norm, length) * square
