"""The state of a greedy method: the selected features, their factorisation, the residual, and the picks."""

from __future__ import annotations

import functools
import math

import numpy as np

from sparselin.greedy._double import Double
from sparselin.greedy._lengths import Lengths as Lengths  # `greedy.swaps` imports it from here
from sparselin.greedy._outcomes import AddedPicks, Dependent, Outcome, Undecided
from sparselin.greedy._walk import Pick, PickRecord
from sparselin.linalg.thin_qr import ThinQR
from sparselin.linalg.ties import Measurement, Scores, measure, measured_ending
from sparselin.problem import Problem
from sparselin.results import FloatArray, IndexArray, SelectionPath, Status


class Selection:
    """The state of a greedy method: the selected features S, the factorisation X_S = QR, and the residual.

    Attributes
    ----------
    residual : r = P_S^⊥y.
    trail : the record of the picks, in the order of selection, and of the norms ‖r‖.
    excluded : the columns that may not be picked: S and the columns found to depend linearly on S.
    projections : Qᵀy, that is, ⟨q, y⟩ for each column q of Q.
    undecided : whether rounding left the coefficients undecided when a feature was added. Then the path ends.
        This is possible only for `Nonnegative`.
    """

    undecided = False
    by_length = False  # whether a pick has the largest |⟨X_j, r⟩|/‖P_S^⊥X_j‖
    positive = False  # whether the coefficients of picks are nonnegative

    def __init__(self, problem: Problem, capacity: int = 8) -> None:
        self.problem = problem
        self.qr = ThinQR(problem, capacity=min(capacity, problem.n))
        self.residual = problem.y
        self.excluded: list[int] = []
        self.projections: list[float] = []
        self._c: FloatArray | None = None
        self._basis: list[int] = []  # position in the support of each column of the QR
        self.trail = PickRecord(problem.y_norm)

    @functools.cached_property
    def double(self) -> Double:
        return Double(self.problem)

    @property
    def total_norm(self) -> float:
        """The norm to which `tol` is relative: ‖y‖, or with an intercept ‖y − ȳ‖, where ȳ = mean y."""
        return self.trail.norms[self._ones]

    @property
    def _ones(self) -> int:
        """The number of columns of ones among the selected columns: 1 with an intercept, else 0."""
        return int(self.problem.d - self.problem.n_features)

    def append(self, pick: Pick) -> Outcome:
        """Add the column of a pick to the factorisation, unless it is in the span of the selected columns."""
        if not self.qr.append(pick.feature):
            return Dependent(pick.feature)
        projection = float(self.qr.Qt[-1] @ self.residual)
        r = self.residual - projection * self.qr.Qt[-1]
        return AddedPicks([pick], [projection], [math.sqrt(float(r @ r))], r)

    def add(self, pick: Pick) -> bool:
        """Add the column of `pick` to the selected columns S; return whether it was outside the span of S.

        A column in the span of S is added too; it gets the coefficient zero.
        """
        outcome = self.append(pick)
        if isinstance(outcome, AddedPicks):
            self.record(outcome)
            return True
        self.undecided |= isinstance(outcome, Undecided)
        self.exclude(pick.feature)
        self.trail.add([pick], [self.trail.norms[-1]])
        return False

    def force(self, J: IndexArray) -> None:
        """Add the columns J to the selected columns S, then project y off S twice.

        Afterwards the residual r satisfies ‖Qᵀr‖ ≈ eps‖y‖, where X_S = QR.
        """
        if len(J):
            for j in J.tolist():
                self.add(Pick(feature=j))
            self.residual = self.qr.residual(self.problem.y)
            self.trail.norms[-1] = math.sqrt(float(self.residual @ self.residual))

    def record(self, added: AddedPicks) -> None:
        """Update the selection, the residual r, ‖r‖ and Xᵀr after picks were added to the factorisation."""
        picks, projections, norms, self.residual, self._c = added
        self._basis.extend(range(len(self.trail.picks), len(self.trail.picks) + len(picks)))
        self.trail.add(picks, norms)
        self.excluded.extend(pick.feature for pick in picks)
        self.projections.extend(projections)

    def exclude(self, j: int) -> None:
        """Exclude column j from later picks, because it was found to depend on the selected columns.

        A rule can pick such a column if the problem is given only by its Gram matrix.
        """
        self.excluded.append(j)
        if self._c is not None:
            self._c[j] = 0

    def forget(self, m: int) -> None:
        """Keep only the first m selected features. Afterwards only `path` may be called."""
        t = int(np.searchsorted(self._basis, m))
        self.qr.truncate(t)
        self.trail.truncate(m)
        del self.projections[t:], self._basis[t:]

    def correlations(self) -> FloatArray:
        """Return the correlations c = Xᵀr (d,) with the residual r, set to zero on the excluded columns.

        The caller must not modify this array.
        """
        if self._c is None:
            self._c = self.problem.correlate(self.residual) if self.qr.size else self.problem.Xty.copy()
            self._c[self.excluded] = 0
        return self._c

    def double_qr(self) -> ThinQR:
        """Return the factorisation of the selected columns in float64."""
        return self.double.factorise(self.qr.index) if self.problem.dtype == np.float32 else self.qr

    def measure(self, J: IndexArray) -> Measurement:
        """Compute correlations and lengths of the columns J, projected off the selected columns.

        The computation is in float64, and the error bounds are sharp.
        """
        if self.problem.dtype == np.float32:
            return self.double.measure(J, self.qr.index)
        return measure(self.qr, J)

    def scores(self, J: IndexArray) -> Scores:
        """Return the correlations of the columns J with the residual, in float64, with sharp error bounds."""
        return self.measure(J).correlations()

    def ending(self) -> Status:
        """Return the status that says why no column has a nonzero correlation with the residual."""
        return measured_ending(self.qr, np.setdiff1d(np.arange(self.problem.d), self.qr.index))

    def _lam_star(self) -> FloatArray:
        """Return λ* of each pick, the largest |⟨X_j, r⟩| before the pick, where r is the residual then.

        If no other column is tied with the pick i, λ* is computed as |⟨X_i, r⟩| = ρ|⟨q, r⟩|. Here X_S are the
        columns selected before, q is the unit vector along P_S^⊥X_i, and ρ = ‖P_S^⊥X_i‖. This formula is more
        accurate, because rounding leaves a small part of r in the span of X_S, and this part does not affect
        ⟨q, r⟩.
        """
        picks = self.trail.picks
        lam_star = np.array([pick.lam_star for pick in picks])
        lengths = self.qr.R.diagonal().tolist()
        for i, rho, projection in zip(self._basis, lengths, self.projections, strict=True):
            if picks[i].tied == (picks[i].feature,):
                lam_star[i] = abs(rho * projection)
        return lam_star

    def _coef_path(self) -> FloatArray:
        """Return the coefficients (t, t) along the path: row j is the fit on the first j + 1 features."""
        projections = np.array(self.projections, self.problem.dtype)
        return self.qr.coefficients(projections, np.array(self._basis, np.intp), len(self.trail.picks))

    def path(self, status: Status) -> SelectionPath:
        """Return the selection so far as a `SelectionPath`.

        The coefficient of the column of ones becomes the intercept.
        """
        problem, dtype, ones = self.problem, self.problem.dtype, self._ones
        coef = self._coef_path()
        support = np.array(self.trail.support[ones:], np.intp)
        intercept = coef[:, 0] if ones else np.zeros(len(self.trail.picks) + 1, dtype)
        inner, scale = coef[ones:, ones:], problem.design.scale
        path = inner if scale is None else inner * scale[support]
        lam_star, (_, margin, ties) = self._lam_star()[ones:].astype(dtype), self.trail.fields(dtype, ones)
        active_sets = tuple(pick.active for pick in self.trail.picks[ones:])
        weights = tuple(p.weights[: problem.n_features] for p in self.trail.picks if p.weights is not None)
        norms = np.array(self.trail.norms[ones:], dtype)
        fit = problem.design.fit(problem.names, self.positive, self.by_length)
        steps = (support, path, intercept.copy(), lam_star, margin, ties)
        return SelectionPath(*steps, active_sets, weights, norms, status, fit)
