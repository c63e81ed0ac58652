"""The state of a greedy method that selects single columns: its picks, and the fit on their columns."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from sparselin.greedy._double import Double
from sparselin.greedy._outcomes import AddedPicks, Outcome, Undecided
from sparselin.greedy._walk import Pick, PickRecord
from sparselin.linalg.thin_qr import ThinQR
from sparselin.linalg.ties import Measurement, Scores, measured_ending
from sparselin.problem import Problem
from sparselin.results import FloatArray, IndexArray, SelectionPath, Status


class ColumnFit(Protocol):
    """A fit of y on the selected columns: `LeastSquares` or `NonnegativeLeastSquares`.

    problem : the data.
    qr : the factorisation of the columns on which the fit is least squares.
    residual : r, the residual of the fit.
    projections : Qᵀy for the factorisation.
    double : the data in float64, for decisions about float32 data.
    positive : whether the coefficients of picks are nonnegative.
    """

    problem: Problem
    qr: ThinQR
    residual: FloatArray
    positive: bool

    @property
    def projections(self) -> list[float]: ...

    @property
    def double(self) -> Double: ...

    def release(self, J: IndexArray) -> None:
        """Let the coefficients of the columns J have any sign."""

    def append(self, pick: Pick, trail: PickRecord) -> Outcome:
        """Add the column of a pick, which follows the picks of `trail`, if the fit on it is decided."""

    def record(self, added: AddedPicks, position: int) -> None:
        """Update the residual after picks were added, which follow the first `position` features."""

    def project(self) -> float:
        """Compute the residual r from y once more, and return ‖r‖."""

    def truncate(self, m: int) -> None:
        """Keep the fits on the first 0, …, m features, for `lam_star` and `coef_path` only."""

    def score(self, c: FloatArray) -> FloatArray:
        """Return the numbers whose modulus decides a pick, given correlations c with the residual."""

    def measure(self, J: IndexArray) -> Measurement:
        """Compute correlations and lengths of the columns J in float64, with sharp error bounds."""

    def lam_star(self, picks: list[Pick]) -> FloatArray:
        """Return λ* of each pick."""

    def coef_path(self, trail: PickRecord) -> FloatArray:
        """Return the coefficients (t, t) along the path: row j is the fit on the first j + 1 features."""


class Selection:
    """The state of a greedy method that selects single columns: its picks, and the fit on their columns S.

    Attributes
    ----------
    fit : the fit on S.
    problem, qr : those of the fit.
    trail : the record of the picks, in the order of selection, and of the norms ‖r‖ of the residual.
    excluded : the columns that may not be picked: S and the columns found to depend linearly on S.
    undecided : whether rounding left the coefficients undecided when a forced feature was added. Then no pick
        is possible.
    by_length : whether a pick has the largest |⟨X_j, r⟩|/‖P_S^⊥X_j‖, for the result.
    """

    def __init__(self, fit: ColumnFit, *, by_length: bool = False) -> None:
        self.fit = fit
        self.problem, self.qr = fit.problem, fit.qr
        self.by_length = by_length
        self.undecided = False
        self.excluded: list[int] = []
        self._c: FloatArray | None = None
        self.trail = PickRecord(fit.problem.y_norm)

    @property
    def total_norm(self) -> float:
        """The norm to which `tol` is relative: ‖y‖, or with an intercept ‖y − ȳ‖, where ȳ = mean y."""
        return self.trail.norms[self._ones]

    @property
    def _ones(self) -> int:
        """The number of columns of ones among the selected columns: 1 with an intercept, else 0."""
        return int(self.problem.d - self.problem.n_features)

    def append(self, pick: Pick) -> Outcome:
        """Add the column of a pick to the fit, if it is outside the span of S and the fit is decided."""
        return self.fit.append(pick, self.trail)

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

        Their coefficients may have any sign. Afterwards the residual r satisfies ‖Qᵀr‖ ≈ eps‖y‖, where
        X_S = QR.
        """
        if len(J):
            self.fit.release(J)
            for j in J.tolist():
                self.add(Pick(feature=j))
            self.trail.norms[-1] = self.fit.project()

    def record(self, added: AddedPicks) -> None:
        """Update the trail, the fit and Xᵀr after picks were added to the factorisation."""
        self.fit.record(added, len(self.trail.picks))
        self._c = added.c
        self.trail.add(added.picks, added.norms)
        self.excluded.extend(pick.feature for pick in added.picks)

    def exclude(self, j: int) -> None:
        """Exclude column j from later picks, because it was found to depend on the selected columns.

        A rule can pick such a column if the problem is given only by its Gram matrix.
        """
        self.excluded.append(j)
        if self._c is not None:
            self._c[j] = 0

    def forget(self, m: int) -> None:
        """Keep only the first m selected features. Afterwards only `path` may be called."""
        self.fit.truncate(m)
        self.trail.truncate(m)

    def correlations(self) -> FloatArray:
        """Return the correlations c = Xᵀr (d,) with the residual r, set to zero on the excluded columns.

        If coefficients must be nonnegative, max(c, 0) is returned. The caller must not modify this array.
        """
        if self._c is None:
            c = self.problem.correlate(self.fit.residual) if self.qr.size else self.problem.Xty.copy()
            c[self.excluded] = 0
            self._c = self.fit.score(c)
        return self._c

    def double_qr(self) -> ThinQR:
        """Return the factorisation of the selected columns in float64."""
        return self.fit.double.factorise(self.qr.index) if self.problem.dtype == np.float32 else self.qr

    def measure(self, J: IndexArray) -> Measurement:
        """Compute correlations and lengths of the columns J, projected off the selected columns.

        The computation is in float64, and the error bounds are sharp.
        """
        return self.fit.measure(J)

    def scores(self, J: IndexArray) -> Scores:
        """Return the entries J of `correlations` in float64, with sharp error bounds."""
        scores = self.measure(J).correlations()
        return scores._replace(score=self.fit.score(scores.score))

    def ending(self) -> Status:
        """Return the status that says why no column has a nonzero correlation with the residual."""
        return measured_ending(self.qr, np.setdiff1d(np.arange(self.problem.d), self.qr.index))

    def path(self, status: Status) -> SelectionPath:
        """Return the selection so far as a `SelectionPath`.

        The coefficient of the column of ones becomes the intercept.
        """
        problem = self.problem
        dtype = problem.dtype
        ones = self._ones
        picks = self.trail.picks
        coef = self.fit.coef_path(self.trail)
        support = np.array(self.trail.support[ones:], np.intp)
        inner = coef[ones:, ones:]
        scale = problem.design.scale
        _, margin, ties = self.trail.fields(dtype, ones)
        intercept = coef[:, 0].copy() if ones else np.zeros(len(picks) + 1, dtype)
        return SelectionPath(
            support=support,
            coef_path=inner if scale is None else inner * scale[support],
            intercept_path=intercept,
            lam_star=self.fit.lam_star(picks)[ones:].astype(dtype),
            margin=margin,
            ties=ties,
            active_sets=tuple(pick.active for pick in picks[ones:]),
            weights=tuple(pick.weights[: problem.n_features] for pick in picks if pick.weights is not None),
            residual_norm=np.array(self.trail.norms[ones:], dtype),
            status=status,
            fit=problem.design.fit(self.fit.positive, self.by_length),
        )
