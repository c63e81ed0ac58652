"""The path of greedy selection for logistic and Poisson regression."""

from __future__ import annotations

from typing import Any

import numpy as np

from sparselin.results.base import Fit, FloatArray, IndexArray, Status, combine, result
from sparselin.results.display import Column, Table, list_names
from sparselin.results.paths import Steps


@result
class GeneralizedPath(Steps):
    """The features in the order in which `generalized_omp` selected them; the length is their number.

    Of d features t were selected. S_j denotes the first j selected features. β̂_j minimises the negative
    log-likelihood L over the coefficients on S_j and the intercept. η = intercept + Xβ̂_j is the linear
    predictor, and μ are the means of y that the model predicts at η. With weights w, c = Xᵀ(w∘(y − μ)) = −∇L,
    where ∘ multiplies entry by entry.

    Attributes
    ----------
    support : (t,) indices in the order of selection, the `forced` features first.
    coef_path : (t, t) row j holds the coefficients on the first j + 1 features, then zeros.
    intercept_path : (t + 1,) the intercept of the models on the first 0, …, t features; zero if there is no
        intercept.
    lam_star : (t,) λ*(S_j) = max|c_i| over the features not selected, at each pick; NaN for forced features.
    margin : (t,) (λ* − |c| of the runner-up)/λ*: 0 in a tie, 1 if all other |c_i| are zero, NaN for forced
        features.
    ties : t tuples of indices: at each pick the set T of features with the largest |c| up to rounding, which
        contains the pick; empty for forced features.
    deviance : (t + 1,) 2(L(β̂_j) − inf L over all η), for the first 0, …, t features.
    optimality : (t + 1,) float64: bounds on 2(L(β) − min L) for the coefficients on the first 0, …, t
        features. The bounds include the rounding errors of ∇L. They hold for the coefficients in float64,
        before these are rounded to the dtype of X.
    unfitted : the tuple (i,) of the feature whose refit ended the path with NO_MINIMUM or BEYOND_PRECISION;
        else ().
    recession : if the status is NO_MINIMUM, (t + 2,) float64: a direction along which L decreases without
        end, to rounding. Its coordinates are the intercept, the features of `support`, and the unfitted
        feature. For another status the array is empty.
    status : the way in which the path ended.
    fit : a `Fit`, whose fields the path has as properties: n_features, names, with_intercept, standardized,
        loss, classes. If the columns are standardized, `lam_star` refers to the standardized columns;
        `recession` is in the units of X. `classes` are the two labels of logistic regression in sorted order;
        the second one is the label 1 of the formulas. For Poisson regression `classes` is ().

    `to_frame()` has a row for each step: step, index, name, forced, coefficient (the final one), lam_star,
    margin, ties (the names of the other features in T, with commas), deviance and d2 (after the step).

    >>> import sparselin as sl
    >>> X = [[0.0, 3.0], [1.0, 1.0], [2.0, 2.0], [3.0, 1.0]]
    >>> path = sl.generalized_omp(X, [1, 2, 3, 10], 2, loss="poisson", intercept=True)
    >>> path
    <GeneralizedPath: poisson, 2 of 2 features, D² 0.973, COMPLETED>
    >>> path.predict(X).round(2)
    array([0.67, 2.16, 3.66, 9.51])
    """

    deviance: FloatArray
    optimality: FloatArray
    unfitted: tuple[int, ...]
    recession: FloatArray
    status: Status
    fit: Fit

    @property
    def d2_path(self) -> FloatArray:
        """(t + 1,) D² of the models on the first 0, …, t features: the explained share of the deviance.

        100 % is the deviance of the model without features.
        """
        first = self.deviance[0]
        return np.clip(1 - self.deviance / first, 0, 1) if first > 0 else np.zeros_like(self.deviance)

    @property
    def d2(self) -> float:
        """D² with all features of `support`; with an intercept it is scikit-learn's D²."""
        return float(self.d2_path[-1])

    def linear_predictor(self, X: Any, t: int | None = None) -> FloatArray:
        """Return η = intercept + X_S·coef (m,) for X (m, d), where S are the first t selected features.

        By default S are all selected features. In logistic regression η is the log odds of `classes[1]`. X
        may have any form that a fit takes. Of a frame with names, the columns of S are read by their names.
        Raises ValueError if X has another shape or lacks such a column, if t is out of range, or if a column
        of S holds NaN or infinity.
        """
        t = len(self) if t is None else t
        coef = self.coef_at(t)
        return combine(X, self.support[:t], coef, self.intercept_path[t], self.n_features, self.names)

    def predict(self, X: Any, t: int | None = None) -> FloatArray:
        """Predict the means μ (m,) of y: the probabilities of `classes[1]` (logistic), or e^η (Poisson).

        `linear_predictor` returns η; its docstring describes X and t.
        """
        return means(self.linear_predictor(X, t), self.loss)

    def _headline(self) -> str:
        size = f"{len(self)} of {self.n_features} features"
        return f"{self.loss}, {size}, D² {self.d2:.3f}, {self.status.name}"

    def _table(self) -> Table:
        columns = (
            *self._picks(),
            Column("deviance", "deviance", self.deviance[1:]),
            Column("d2", "D²", self.d2_path[1:], 4),
        )
        notes = self.fit.notes(self.intercept, float(self.deviance[0]))
        notes += [note_on_end(self, self.name_of(j), np.array([j])) for j in self.unfitted]
        return Table(columns, (*notes, self.status.line))


def means(eta: FloatArray, loss: str) -> FloatArray:
    """Return the means of y at the linear predictor η; for the squared loss this is η itself."""
    from scipy.special import expit

    with np.errstate(over="ignore"):
        return np.asarray({"squared": np.asarray, "logistic": expit, "poisson": np.exp}[loss](eta))


def note_on_end(path: Any, unit: str, columns: IndexArray) -> str:
    """Return the note below a table about the feature or group whose refit ended the path.

    unit, columns : the name of this feature or group, and its columns.
    """
    if path.status is not Status.NO_MINIMUM:
        return f"next was {unit}"
    S = np.append(path.support, columns)
    names = path._names_of(S[np.flatnonzero(path.recession[1:])])
    by = f"a combination of {list_names(names, 6)}" if len(names) > 1 else f"{list_names(names)} alone"
    return f"with {unit} the data are separated, by {by} (`recession`)"
