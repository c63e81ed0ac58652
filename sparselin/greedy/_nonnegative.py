"""The state of nonnegative OMP: S, and least squares on S with β ≥ 0.

Let F be the forced features, whose coefficients may have any sign. β minimises ‖y − X_Sβ‖ over β_j ≥ 0,
j ∈ S∖F. Let P = {j ∈ S∖F : β_j > 0}, r = y − X_Sβ and c = Xᵀr. β is a minimiser if and only if

    c_F = 0,   c_P = 0,   c_j ≤ 0 for j ∈ S∖(F ∪ P).

So β is the least squares solution on F ∪ P, and r = P_{F ∪ P}^⊥y. The factorisation holds the columns of
F ∪ P, so correlations with r are computed as in `Selection`. P is found by the method of Lawson and Hanson
(*Solving Least Squares Problems*, 1974), starting from the P of the previous S (docs/proofs/nonnegative.md).

*Rounding.* For j ∈ P let z_j be X_j projected off the other columns of F ∪ P, and c_j = ⟨z_j, y⟩. Then
β_j = c_j/‖z_j‖², and its error is the error of c_j (`errors.measured_error`) divided by ‖z_j‖². All z_j
follow from M = (XᵀX)⁻¹ on F ∪ P: ‖z_j‖² = 1/M_jj, the coefficients of X_j on the other columns are
−M_jl/M_jj, and the squared residual without j is ‖r‖² + β_j²‖z_j‖². A β_j that does not exceed its error
counts as zero, and so does the c_j of a column outside P. Therefore every column that enters P has a
coefficient above its error.
"""

from __future__ import annotations

import math

import numpy as np

from sparselin.greedy._selection import AddedPicks, Selection
from sparselin.greedy._walk import Pick
from sparselin.linalg.thin_qr import ThinQR
from sparselin.linalg.ties import Measurement, Scores, measure
from sparselin.problem import Problem
from sparselin.results import FloatArray, IndexArray


class Nonnegative(Selection):
    """The state of nonnegative OMP: the selection S with β ≥ 0, except on the forced features.

    For float32 data, the correlations c = Xᵀr are in float32; everything else is in float64.

    Attributes
    ----------
    free : F, the forced features.
    qr : the factorisation of the columns F ∪ P, where P consists of the other features with β_j > 0.
    """

    positive = True

    def __init__(self, problem: Problem, capacity: int = 8) -> None:
        super().__init__(problem, capacity)
        if problem.dtype == np.float32:
            self.qr = ThinQR(self.double.problem, capacity=min(capacity, problem.n))
        self.free: set[int] = set()
        self._solutions: list[tuple[int, list[int], FloatArray]] = []  # |S|, F ∪ P, β on it

    def force(self, J: IndexArray) -> None:
        """Add the columns J to the selection; their coefficients may have any sign."""
        self.free.update(J.tolist())
        super().force(J)
        self.residual = self.residual.astype(self.problem.dtype, copy=False)

    def append(self, pick: Pick) -> AddedPicks:
        """Add a pick to the factorisation, and solve for the new β ≥ 0.

        The result has no picks if the pick is in the span of F ∪ P, or if rounding leaves β undecided (F are
        the forced features, and P the others with β_j > 0). The coefficient of the pick is positive in the
        new β; otherwise ‖r‖ would be the same as before.
        """
        beta = np.append(self._solutions[-1][2] if self._solutions else np.zeros(0), 0.0)
        r = self.qr.residual(self.qr.problem.y)
        if not self.qr.append(pick.feature):
            return AddedPicks([], [], [])
        if pick.tied == (pick.feature,):  # as in `Selection._lam_star`
            pick = pick._replace(lam_star=abs(float(self.qr.R[-1, -1] * (self.qr.Qt[-1] @ r))))
        solution = self._solve(pick.feature, beta)
        if solution is None:
            self.undecided = True
            return AddedPicks([], [], [])
        r = self.qr.residual(self.qr.problem.y)
        self.residual = r.astype(self.problem.dtype, copy=False)
        self._solutions.append((len(self.picks) + 1, list(self.qr.index), solution))
        return AddedPicks([pick], [math.nan], [math.sqrt(float(r @ r))])

    def record(self, added: AddedPicks) -> None:
        """Update the selection S and the norm of the residual after `append` has added a pick."""
        self.trail.add(added.picks, added.norms)
        self.excluded.extend(pick.feature for pick in added.picks)
        self._c = None

    def correlations(self) -> FloatArray:
        """Return max(c, 0) (d,), set to zero on the selection, where c = Xᵀr, r the residual.

        The caller must not modify this array.
        """
        if self._c is None:
            self._c = np.maximum(super().correlations(), 0)
        return self._c

    def measure(self, J: IndexArray) -> Measurement:
        return measure(self.qr, J, self.problem)

    def scores(self, J: IndexArray) -> Scores:
        """Return max(c_j, 0) for the columns J, with sharp error bounds of c_j = ⟨X_j, r⟩, r the residual."""
        scores = super().scores(J)
        return scores._replace(score=np.maximum(scores.score, 0))

    def _solve(self, entered: int, beta: FloatArray) -> FloatArray | None:
        """Compute β ≥ 0 for the picks and the pick `entered`; return None if rounding leaves β undecided.

        Let F be the forced features, and P the others with β_j > 0. The result is β on F ∪ P, the columns of
        the factorisation at the end. `beta` is a feasible β on the columns of the factorisation at the start.

        The method is that of Lawson and Hanson. It moves from the feasible β to the least squares solution on
        the columns of the factorisation, and removes columns whose coefficient becomes zero on the way. Then
        the pick outside P with the largest c_j > 0, c = Xᵀr, enters, and both steps are repeated. Each entry
        decreases ‖r‖, and ‖r‖ is a function of P, so no P occurs twice.
        """
        seen: set[frozenset[int]] = set()
        while True:
            beta = self._descend(beta)
            index = frozenset(self.qr.index)
            if entered not in index or index in seen:
                return None
            seen.add(index)
            outside = np.array([p.feature for p in self.picks if p.feature not in index | self.free], np.intp)
            c, error, coarse = self.measure(outside).correlations()
            excess = np.where(c > coarse * error, c, 0)
            if not excess.any():
                return beta
            if not self.qr.append(int(outside[np.argmax(excess)])):
                return None
            beta = np.append(beta, 0.0)

    def _descend(self, beta: FloatArray) -> FloatArray:
        """Move from a feasible β to least squares on F ∪ P, and return the coefficients.

        F are the forced features, and P the others with β_j > 0. Whenever a β_j, j ∈ P, becomes zero on the
        way, column j leaves P, and the move continues to the least squares solution on the other columns.
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
        qr, problem = self.qr, self.qr.problem
        z, r = qr.Qt @ problem.y, qr.residual(problem.y)
        beta, inverse = qr.solve(z), np.linalg.inv(qr.R)
        M = inverse @ inverse.T
        square = np.diag(M)
        size = np.sqrt(((problem.column_norms[qr.index] * M / square[:, None]) ** 2).sum(axis=1))
        length = 1 / np.sqrt(square)
        y_size = float(qr.sizes(problem.y_norm, z))
        r_norm = np.hypot(math.sqrt(float(r @ r)), beta * length)
        return beta, problem.errors.measured_error(size, length, y_size, r_norm, length) * square

    def _lam_star(self) -> FloatArray:
        return np.array([pick.lam_star for pick in self.picks])

    def _coef_path(self) -> FloatArray:
        t = len(self.picks)
        path, place = np.zeros((t, t), self.problem.dtype), {j: i for i, j in enumerate(self.support)}
        for m, index, beta in self._solutions:  # for a dependent forced column the previous β is kept
            path[m - 1 :] = 0
            path[m - 1 :, [place[j] for j in index]] = beta
        return path
