"""The path of greedy selection for logistic and Poisson regression."""

from __future__ import annotations

from typing import Any

import numpy as np

from sparselin.results.base import Fit, FloatArray, IndexArray, Status, combined, ended, result
from sparselin.results.display import Column, Table, list_names, number
from sparselin.results.paths import Steps


@result
class GeneralizedPath(Steps):
    """Features in the order in which `generalized_omp` selected them; its length is their number.

    With t features selected of d, S_j the first j of them, β̂_j the minimiser of L on S_j (and the intercept),
    η = intercept + Xβ̂_j, μ its means and c = Xᵀ(w∘(y − μ)) = −∇L:

    Attributes
    ----------
    support : (t,) indices in the order of selection, `forced` ones first.
    coef_path : (t, t) row j holds the coefficients on the first j + 1 features, zeros beyond.
    intercept_path : (t + 1,) the intercept beside the first 0, …, t features; zero without one.
    lam_star : (t,) λ*(S_j) = max|c_i| over the unselected, at each pick; NaN for forced features.
    margin : (t,) (λ* − |c| of the runner-up)/λ*, 0 in a tie, 1 when all others are zero; NaN for forced ones.
    ties : t tuples of indices, T at each pick, the pick among them; empty for forced features.
    deviance : (t + 1,) 2(L(β̂_j) − inf L over all η), for the first 0, …, t features.
    optimality : (t + 1,) float64: bounds on 2(L(β) − min L) for the coefficients on the first 0, …, t
        features in float64, before they are rounded to the dtype of X; rounding errors of ∇L are included.
    unfitted : the feature whose refit ended the path with NO_MINIMUM or BEYOND_PRECISION, (i,); else ().
    recession : with NO_MINIMUM (t + 2,) float64: a direction of the intercept, the features of `support` and
        the unfitted one, along which L falls for ever, to rounding; else empty.
    loss : "logistic" or "poisson".
    status : how the path ended.
    fit : a `Fit`, whose fields are properties of the path too: n_features, names, with_intercept,
        standardized (then `lam_star` is of standardized columns; `recession` is in the units of X).

    `to_frame()` has a row for each step: step, index and name of the feature, forced, coefficient (final),
    lam_star, margin, ties (the names of the others in T, with commas), deviance and d2 (after the step).

    >>> import sparselin as sl
    >>> X = [[0.0, 3.0], [1.0, 1.0], [2.0, 2.0], [3.0, 1.0]]
    >>> path = sl.generalized_omp(X, [1, 2, 3, 10], 2, loss="poisson")
    >>> path
    <GeneralizedPath: poisson, 2 of 2 features, D² 0.973, COMPLETED>
    >>> path.predict(X).round(2)
    array([0.67, 2.16, 3.66, 9.51])
    """

    support: IndexArray
    coef_path: FloatArray
    intercept_path: FloatArray
    lam_star: FloatArray
    margin: FloatArray
    ties: tuple[tuple[int, ...], ...]
    deviance: FloatArray
    optimality: FloatArray
    unfitted: tuple[int, ...]
    recession: FloatArray
    loss: str
    status: Status
    fit: Fit

    @property
    def d2_path(self) -> FloatArray:
        """(t + 1,) the share of the deviance without features that the first 0, …, t features explain."""
        first = self.deviance[0]
        return np.clip(1 - self.deviance / first, 0, 1) if first > 0 else np.zeros_like(self.deviance)

    @property
    def d2(self) -> float:
        """The share that all of `support` explain; with an intercept scikit-learn's D²."""
        return float(self.d2_path[-1])

    def linear_predictor(self, X: Any, t: int | None = None) -> FloatArray:
        """η = intercept + X_S coef (m,) for X (m, d), S the first t selected features, by default all.

        For logistic regression the log odds of the label 1. X may be what X may be in a fit: a frame has the
        columns of the fit by name and in order. Raises ValueError for another shape or other columns, a t out
        of range, NaN or infinity in columns of S.
        """
        t = len(self) if t is None else t
        coef = self.coef_at(t)
        return combined(X, self.support[:t], coef, self.intercept_path[t], self.n_features, self.names)

    def predict(self, X: Any, t: int | None = None) -> FloatArray:
        """The means μ (m,) at `linear_predictor`: the probabilities of the label 1, or e^η."""
        from scipy.special import expit

        eta = self.linear_predictor(X, t)
        with np.errstate(over="ignore"):
            return np.asarray(expit(eta) if self.loss == "logistic" else np.exp(eta))

    def _headline(self) -> str:
        size = f"{len(self)} of {self.n_features} features"
        return f"{self.loss}, {size}, D² {self.d2:.3f}, {self.status.name}"

    def _table(self) -> Table:
        columns = (
            *self._picks(),
            Column("deviance", "deviance", self.deviance[1:]),
            Column("d2", "D²", self.d2_path[1:], 4),
        )
        return Table(columns, (*self._notes(), ended(self.status)))

    def _notes(self) -> list[str]:
        zero = number(float(self.deviance[0]))
        notes = [f"D² = 1 − deviance/{zero}, the deviance at η = 0: there is no intercept"]
        if self.with_intercept:
            notes = [
                f"intercept {number(self.intercept)}",
                f"D² = 1 − deviance/{zero}, the deviance of the intercept alone",
            ]
        notes += self.fit.units()
        if self.unfitted:
            feature = self.name_of(self.unfitted[0])
            S = np.append(self.support, self.unfitted)
            separating = self._names_of(S[np.flatnonzero(self.recession[1:])])
            by = (
                f"a combination of {list_names(separating, 6)}" if len(separating) > 1 else f"{feature} alone"
            )
            separated = f"with {feature} the data are separated, by {by} (`recession`)"
            notes.append(separated if self.status is Status.NO_MINIMUM else f"next was {feature}")
        return notes
