"""The path of OMP on groups of columns, for one of the losses, or for several outputs at once."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from sparselin.results.base import Fit, FloatArray, IndexArray, Status, WithSquares, combine, result
from sparselin.results.display import Column, Table, list_names
from sparselin.results.generalized import means, note_on_end


@result
class GroupPath(WithSquares):
    """The groups of features in the order in which OMP selected them, for q outputs.

    The length is the number of groups. S_j denotes the columns of the first j of the t selected groups, and
    R_j = P_{S_j}^⊥Y is the residual of least squares of Y (n, q) on S_j. X_g are the columns of group g, and
    ‖·‖_F is the Frobenius norm. For the logistic and the Poisson loss, q = 1, R_j = w∘(y − μ) with the means
    μ of the model on S_j and weights w, and the deviance takes the place of ‖R_j‖_F² (see `GeneralizedPath`).

    Attributes
    ----------
    order : (t,) the selected groups, numbers in 0..max(groups), the forced groups first.
    groups : (d,) the group of each feature; −1 for features that cannot be selected.
    support : (s,) the columns of the selected groups in this order, increasing within a group.
    sizes : (t + 1,) the number of columns in the first 0, …, t groups: S_j = support[:sizes[j]].
    ranks : (t + 1,) the dimensions of the spans of S_0, …, S_t, without the intercept.
    coef_path : t arrays (sizes[j], q), j = 1, …, t: the coefficients on S_j that minimise the loss; zero for
        a column in the span of the columns before it.
    intercept_path : (t + 1, q) the intercepts of the models on the first 0, …, t groups; zeros if there is no
        intercept.
    lam_star : (t,) λ* = max_g ‖X_gᵀR_j‖_F/w_g over the groups not selected, at each pick; NaN for forced
        groups. w_g is the weight of group g: 1, unless `OMPSelector(group_weights=…)` gave weights.
    margin : (t,) (λ* − ‖X_gᵀR_j‖_F/w_g of the runner-up g)/λ*: 0 in a tie, NaN for forced groups.
    ties : t tuples of groups: the groups whose ‖X_gᵀR_j‖_F/w_g is largest to rounding; empty for forced
        groups.
    residual_norm : (t + 1,) ‖R_0‖_F, …, ‖R_t‖_F. With an intercept R_0 is Y minus the means of its columns.
        For other losses it is the square root of the deviance.
    unfitted : the tuple (g,) of the group whose refit ended the path with NO_MINIMUM or BEYOND_PRECISION;
        else ().
    recession : if the status is NO_MINIMUM, a direction along which the loss decreases without end, to
        rounding: the intercept, the features of `support`, and those of the unfitted group. Else it is empty.
    status : the way in which the path ended.
    fit : a `Fit`, whose fields the path has as properties: n_features, names, with_intercept, standardized
        (for standardized columns, `lam_star` refers to these columns), loss, classes.

    `to_frame()` has a row for each step: step, group, columns (their names, with commas), lam_star, margin,
    ties, r2 (after the step; for other losses d2).

    >>> from sparselin.estimators import OMPSelector
    >>> X, y = [[2.0, 0.0, 1.0], [0.0, 1.0, 1.0], [0.0, 0.0, 1.0], [0.0, 0.0, 0.0]], [4.0, 2.0, 1.0, 1.0]
    >>> path = OMPSelector(2, groups=["a", "a", "b"], fit_intercept=False).fit(X, y).path_
    >>> path
    <GroupPath: 2 groups, 3 of 3 features, R² 0.955, COMPLETED>
    >>> print(path)
    GroupPath: 2 groups, 3 of 3 features, R² 0.955, COMPLETED
    step  group  columns     λ*  margin  ties      R²
       1      0  x0, x1   8.246  0.1511        0.9091
       2      1  x2       1.000   1.000        0.9545
    R² = 1 − ‖r‖²/‖y‖², uncentred: there is no intercept
    COMPLETED: completed as requested
    >>> path.predict([[1.0, 0.0, 0.0]], 1)
    array([[2.]])
    """

    order: IndexArray
    groups: IndexArray
    support: IndexArray
    sizes: IndexArray
    ranks: IndexArray
    coef_path: tuple[FloatArray, ...]
    intercept_path: FloatArray
    lam_star: FloatArray
    margin: FloatArray
    ties: tuple[tuple[int, ...], ...]
    residual_norm: FloatArray
    unfitted: tuple[int, ...]
    recession: FloatArray
    status: Status
    fit: Fit

    def __len__(self) -> int:
        return len(self.order)

    def features_at(self, t: int) -> IndexArray:
        """Return the columns of the first t groups, 0 ≤ t ≤ len(order)."""
        if not 0 <= t <= len(self):
            raise ValueError(f"t must lie in 0..{len(self)}, the number of steps; got {t}")
        return self.support[: self.sizes[t]]

    def coef_at(self, t: int) -> FloatArray:
        """Return the coefficients (s, q) of the q outputs on the s columns `features_at(t)`."""
        q, dtype = self.intercept_path.shape[1], self.intercept_path.dtype
        return self.coef_path[t - 1] if len(self.features_at(t)) else np.zeros((0, q), dtype)

    def predict(self, X: Any, t: int | None = None) -> FloatArray:
        """Predict the means of the q outputs, (m, q), for X (m, d) by the model on the first t groups.

        For the logistic loss the mean is the probability of `classes[1]`. `linear_predictor` describes X, t.
        """
        return means(self.linear_predictor(X, t), self.loss)

    def linear_predictor(self, X: Any, t: int | None = None) -> FloatArray:
        """Return η = intercept + X_S·coef (m, q) for X (m, d), where S are the columns of the first t groups.

        By default t is the number of all selected groups. X may have any form that a fit takes. Raises
        ValueError if X has another shape or other columns, if t is out of range, or if a column of these
        groups holds NaN or infinity.
        """
        t = len(self) if t is None else t
        coef, intercept = self.coef_at(t), self.intercept_path[t]
        return combine(X, self.features_at(t), coef, intercept, self.n_features, self.names)

    def _headline(self) -> str:
        loss, share = ("", "R²") if self.loss == "squared" else (f"{self.loss}, ", "D²")
        columns = f"{len(self)} groups, {len(self.support)} of {self.n_features} features"
        return f"{loss}{columns}, {share} {self.r2:.3f}, {self.status.name}"

    def _table(self) -> Table:
        members = [self._names_of(self.support[a:b]) for a, b in itertools.pairwise(self.sizes)]
        others = [[str(i) for i in T if i != g] for g, T in zip(self.order, self.ties, strict=True)]
        key, head, notes = "r2", "R²", self.fit.notes()
        if self.loss != "squared":
            whole = self.residual_norm[0] ** 2
            key, head, notes = "d2", "D²", self.fit.notes(self.intercept_path[-1, 0], whole)
        for g in self.unfitted:
            J = np.flatnonzero(self.groups == g)
            notes.append(note_on_end(self, f"group {g} ({list_names(self._names_of(J))})", J))
        columns = (
            Column("step", "step", np.arange(1, len(self) + 1)),
            Column("group", "group", self.order),
            Column(None, "columns", [list_names(names) for names in members]),
            Column("columns", None, [", ".join(names) for names in members]),
            Column("lam_star", "λ*", self.lam_star),
            Column("margin", "margin", self.margin),
            Column(None, "ties", [list_names(groups, what="groups") for groups in others]),
            Column("ties", None, [", ".join(groups) for groups in others]),
            Column(key, head, self.r2_path[1:], 4),
        )
        return Table(columns, (*notes, self.status.line))
