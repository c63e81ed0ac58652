"""The path of a greedy method: features in the order of selection."""

from __future__ import annotations

from typing import Any

import numpy as np

from sparselin.results import base
from sparselin.results.base import Fit, FittedPath, FloatArray, IndexArray, Status, result
from sparselin.results.display import Column, Table, list_names


@result
class Steps(base.Supported, FittedPath):
    """The base class of paths that select one feature at a time, with a model after each selection."""

    support: IndexArray
    coef_path: FloatArray
    intercept_path: FloatArray
    lam_star: FloatArray
    margin: FloatArray
    ties: tuple[tuple[int, ...], ...]

    @property
    def intercept(self) -> float:
        """The intercept of the final model; 0.0 if the model has no intercept."""
        return self.intercept_at(len(self))

    @property
    def coef(self) -> FloatArray:
        """(t,) the coefficients of the final model, on all features of `support`."""
        return self.coef_at(len(self.support))

    def coef_at(self, t: int) -> FloatArray:
        """Return the coefficients (t,) on the first t features; ValueError unless 0 ≤ t ≤ len(support)."""
        self._check_step(t)
        return self.coef_path[t - 1, :t] if t else np.zeros(0, self.coef_path.dtype)

    def intercept_at(self, t: int) -> float:
        """Return the intercept that belongs to `coef_at(t)`; 0.0 if the model has no intercept.

        >>> import sparselin as sl
        >>> path = sl.omp([[1.0], [2.0], [3.0]], [3.0, 5.0, 7.0], 1, intercept=True)
        >>> round(path.intercept_at(0), 12), round(path.intercept_at(1), 12)
        (5.0, 1.0)
        """
        self._check_step(t)
        return float(self.intercept_path[t])

    def _check_step(self, t: int) -> None:
        if not 0 <= t <= len(self.support):
            raise ValueError(f"t must lie in 0..{len(self.support)}, the number of steps; got {t}")

    def dense_coef(self) -> FloatArray:
        """Return the final coefficients as a vector (d,), zero off the support."""
        return base.dense(self.coef, self.support, self.n_features)

    def _picks(self) -> tuple[Column, ...]:
        """Return the columns of a table with a row for each pick: its name, coefficient, margin and ties."""
        picks = zip(self.support, self.ties, strict=True)
        others = [self._names_of(i for i in T if i != j) for j, T in picks]
        forced = np.isnan(self.lam_star)
        return (
            Column("step", "step", np.arange(1, len(self) + 1)),
            *self._features(self.support),
            Column("forced", "forced" if forced.any() else None, forced),
            Column("coefficient", "coefficient", self.coef),
            Column("lam_star", "λ*", self.lam_star),
            Column("margin", "margin", self.margin),
            Column(None, "ties", [list_names(names) for names in others]),
            Column("ties", None, [", ".join(names) for names in others]),
        )


@result
class SelectionPath(Steps, base.WithSquares):
    """The features in the order in which a greedy method selected them; the length is their number.

    Of d features t were selected. S_j denotes the first j selected features, r_j = P_{S_j}^⊥ y is the
    residual of least squares on S_j, and c = Xᵀr_j are its correlations.

    Attributes
    ----------
    support : (t,) indices in the order of selection, the `forced` features first.
    coef : (t,) least squares coefficients of y on the final support.
    coef_path : (t, t) row j holds the coefficients on the first j + 1 features, then zeros.
    intercept_path : (t + 1,) the intercept of the models on the first 0, …, t features; zero if there is no
        intercept.
    lam_star : (t,) λ*(S_j) = ‖Xᵀr_j‖∞ over the features not selected, at each pick; NaN for forced features.
    margin : (t,) (λ* − |c| of the runner-up)/λ*: 0 in a tie, 1 if no other column is correlated with r, NaN
        for forced features.
    ties : t tuples of indices: at each pick the set T of features with the largest |c| up to rounding, which
        contains the pick; empty for forced features.
    active_sets : t tuples of indices: at each pick of Sequential LASSO the set A(S) of features that enter
        the LASSO path first. They are empty for other methods, which do not compute A(S).
    weights : t arrays (d,): the attention weights s(w) at each pick of Sequential Attention, equal to one for
        the features already selected. The arrays are empty for other methods and for forced features.
    residual_norm : (t + 1,) ‖r_0‖, …, ‖r_t‖. With an intercept, which is in every S_j, r_0 = y − ȳ.
    status : the way in which the path ended.
    fit : a `Fit`, whose fields the path has as properties: n_features, names, with_intercept, standardized
        and positive. If the columns are standardized, `lam_star` and `weights` refer to the standardized
        columns. If `positive` is true (from `omp(..., positive=True)`), r_j is the residual of nonnegative
        least squares, and max(c, 0) replaces |c|.

    `to_frame()` has a row for each step: step, index, name, forced, coefficient (the final one), lam_star,
    margin, ties (the names of the other features in T, with commas), r2 (after the step). Complex
    coefficients have two columns, coefficient_real and coefficient_imag.

    >>> import sparselin as sl
    >>> X, y = [[2.0, 0.0, 1.0], [0.0, 1.0, 1.0], [0.0, 0.0, 1.0]], [4.0, 2.0, 1.0]
    >>> path = sl.omp(sl.Problem(X, y, names=["age", "bmi", "sex"]), 2)
    >>> path
    <SelectionPath: 2 of 3 features, R² 0.976, COMPLETED>
    >>> print(path)
    SelectionPath: 2 of 3 features, R² 0.976, COMPLETED
    step  name  coefficient     λ*  margin  ties      R²
       1  age         1.250  8.000  0.1250        0.7619
       2  sex         1.500  3.000  0.3333        0.9762
    R² = 1 − ‖r‖²/‖y‖², uncentred: there is no intercept
    COMPLETED: completed as requested
    >>> path.support_names, path.predict([[1.0, 7.0, 2.0]])
    (('age', 'sex'), array([4.25]))
    """

    active_sets: tuple[tuple[int, ...], ...]
    weights: tuple[FloatArray, ...]
    residual_norm: FloatArray
    status: Status
    fit: Fit

    def predict(self, X: Any, t: int | None = None) -> FloatArray:
        """Predict the response (m,) for X (m, d) by the model on the first t selected features.

        The prediction is intercept + X_S·coef, where S are the first t selected features, by default all. X
        may have any form that a fit takes. Of a frame with names, the columns of S are read by their names.
        Raises ValueError if X has another shape or lacks such a column, if t is out of range, or if a column
        of S holds NaN or infinity.
        """
        t = len(self) if t is None else t
        coef = self.coef_at(t)
        return base.combine(X, self.support[:t], coef, self.intercept_path[t], self.n_features, self.names)

    def _headline(self) -> str:
        return f"{len(self)} of {self.n_features} features, R² {self.r2:.3f}, {self.status.name}"

    def _table(self) -> Table:
        columns = (*self._picks(), Column("r2", "R²", self.r2_path[1:], 4))
        notes = self.fit.notes(self.intercept)
        return Table(columns, (*notes, self.status.line))
