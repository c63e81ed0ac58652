"""`Nonnegative`: the state of nonnegative OMP: S, and least squares on it with β ≥ 0.

With F the forced features, which are free of sign, β minimises ‖y − X_Sβ‖ over β_j ≥ 0, j ∈ S∖F. Let P =
{j ∈ S∖F : β_j > 0}. With r = y − X_Sβ, c = Xᵀr, the conditions for that are

    c_F = 0,   c_P = 0,   c_j ≤ 0 for j ∈ S∖(F ∪ P):

β is least squares on F ∪ P, which is what is factorised, and r = P_{F ∪ P}^⊥y. So whatever measures
correlations with such an r does so here. P is found by the method of Lawson and Hanson (*Solving Least
Squares Problems*, 1974), from that of the S before: docs/proofs/nonnegative.md.

*Rounding.* β_j, j ∈ P, is c_j/‖z_j‖² with z_j = P^⊥X_j and c_j = ⟨z_j, y⟩ off the other columns of F ∪ P: its
error is that of c_j (`errors.measured_error`) over ‖z_j‖². With M = (XᵀX)⁻¹ on F ∪ P, ‖z_j‖² = 1/M_jj, the
coefficients of X_j on the others are −M_jl/M_jj, and ‖r‖² + β_j²‖z_j‖² is the squared residual without j. A
β_j not above that error is zero, and so is a c_j of a column outside P: what enters P has a coefficient above
its error then.
"""

from __future__ import annotations

import math

import numpy as np

from sparselin.greedy._selection import Followed, Selection
from sparselin.greedy._walk import Pick
from sparselin.linalg.thin_qr import ThinQR
from sparselin.linalg.ties import Measured, Scores, measure
from sparselin.problem import Problem
from sparselin.results import FloatArray, IndexArray


class Nonnegative(Selection):
    """S with coefficients β ≥ 0, except those of forced features. All but c is in float64.

    Attributes
    ----------
    qr : the factorisation of F ∪ P.
    free : F.
    """

    positive = True

    def __init__(self, problem: Problem, capacity: int = 8) -> None:
        super().__init__(problem, capacity)
        if problem.dtype == np.float32:
            self.qr = ThinQR(self.double.problem, capacity=min(capacity, problem.n))
        self.free: set[int] = set()
        self._solutions: list[tuple[int, list[int], FloatArray]] = []  # |S|, F ∪ P, β on it

    def force(self, J: IndexArray) -> None:
        """Add the columns J to S, free of sign."""
        self.free.update(J.tolist())
        super().force(J)
        self.residual = self.residual.astype(self.problem.dtype, copy=False)

    def append(self, pick: Pick) -> Followed:
        """Add a pick to S, and solve for β; no picks come back if it is in the span of F ∪ P, or β undecided.

        β_pick > 0 at the end, or ‖r‖ would be that of the S before.
        """
        beta = np.append(self._solutions[-1][2] if self._solutions else np.zeros(0), 0.0)
        r = self.qr.residual(self.qr.problem.y)
        if not self.qr.append(pick.feature):
            return Followed([], [], [])
        if pick.tied == (pick.feature,):  # as in `Selection._lam_star`
            pick = pick._replace(lam_star=abs(float(self.qr.R[-1, -1] * (self.qr.Qt[-1] @ r))))
        found = self._settle(pick.feature, beta)
        if found is None:
            self.undecided = True
            return Followed([], [], [])
        r = self.qr.residual(self.qr.problem.y)
        self.residual = r.astype(self.problem.dtype, copy=False)
        self._solutions.append((len(self.picks) + 1, list(self.qr.index), found))
        return Followed([pick], [math.nan], [math.sqrt(float(r @ r))])

    def record(self, followed: Followed) -> None:
        """Record a pick that `append` has added."""
        self.trail.add(followed.picks, followed.norms)
        self.excluded.extend(pick.feature for pick in followed.picks)
        self._c = None

    def correlations(self) -> FloatArray:
        """max(c, 0) (d,), zero on S. Not to be modified."""
        if self._c is None:
            self._c = np.maximum(super().correlations(), 0)
        return self._c

    def measure(self, J: IndexArray) -> Measured:
        return measure(self.qr, J, self.problem)

    def scores(self, J: IndexArray) -> Scores:
        """max(c, 0) of the columns J, measured; it errs by no more than c."""
        scores = super().scores(J)
        return scores._replace(score=np.maximum(scores.score, 0))

    def _settle(self, entered: int, beta: FloatArray) -> FloatArray | None:
        """β on F ∪ P for the picks so far and `entered`, from a feasible β; None if rounding leaves it open.

        Lawson and Hanson: from a feasible β on the columns of the factorisation, go to least squares on
        them, dropping those that become zero on the way; then let the column outside of largest c_j > 0
        enter. ‖r‖ decreases with each entry, and P determines it: no P comes twice.
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
        """Go from β to least squares on F ∪ P, dropping one at a time the j ∈ P that become zero first."""
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
        """Least squares coefficients on F ∪ P, and bounds on their errors."""
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
        for m, index, beta in self._solutions:  # where a forced column is dependent, the β before it
            path[m - 1 :] = 0
            path[m - 1 :, [place[j] for j in index]] = beta
        return path
