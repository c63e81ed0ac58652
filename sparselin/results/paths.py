"""The paths of greedy methods: features, or groups of them, in the order of selection."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from sparselin.results import base
from sparselin.results.base import Fit, FittedPath, FloatArray, IndexArray, Names, Status, combine, result
from sparselin.results.display import Column, Table, list_names, number, plural


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
        base.check_step(t, len(self))
        return self.coef_path[t - 1, :t] if t else np.zeros(0, self.coef_path.dtype)

    def intercept_at(self, t: int) -> float:
        """Return the intercept that belongs to `coef_at(t)`; 0.0 if the model has no intercept.

        >>> import sparselin as sl
        >>> path = sl.omp([[1.0], [2.0], [3.0]], [3.0, 5.0, 7.0], 1, intercept=True)
        >>> round(path.intercept_at(0), 12), round(path.intercept_at(1), 12)
        (5.0, 1.0)
        """
        base.check_step(t, len(self))
        return float(self.intercept_path[t])

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
        return _predict(self, X, t)

    def _headline(self) -> str:
        return f"{len(self)} of {self.n_features} features, R² {self.r2:z.3f}, {self.status.name}"

    def _table(self) -> Table:
        columns = (*self._picks(), Column("r2", "R²", self.r2_path[1:], 4))
        return Table(columns, (*self.fit.notes(self.intercept), self.status.line))


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
        return _predict(self, X, t)

    def predict(self, X: Any, t: int | None = None) -> FloatArray:
        """Predict the means μ (m,) of y: the probabilities of `classes[1]` (logistic), or e^η (Poisson).

        `linear_predictor` returns η; its docstring describes X and t.
        """
        return means(self.linear_predictor(X, t), self.loss)

    def _headline(self) -> str:
        size = f"{len(self)} of {self.n_features} features"
        return f"{self.loss}, {size}, D² {self.d2:z.3f}, {self.status.name}"

    def _table(self) -> Table:
        columns = (
            *self._picks(),
            Column("deviance", "deviance", self.deviance[1:]),
            Column("d2", "D²", self.d2_path[1:], 4),
        )
        notes = self.fit.notes(self.intercept, float(self.deviance[0]))
        notes += [note_on_end(self, self.name_of(j), np.array([j])) for j in self.unfitted]
        return Table(columns, (*notes, self.status.line))


def _predict(path: Any, X: Any, t: int | None) -> FloatArray:
    """Return intercept + X_S·coef of the model after t steps of a path, by default after all."""
    t = len(path) if t is None else t
    coef = path.coef_at(t)
    return combine(X, path.support[: len(coef)], coef, path.intercept_path[t], path.n_features, path.names)


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


@result
class GroupPath(base.WithSquares):
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
        groups. w_g is the weight of group g: 1, unless `OMPSelector(group_weights=…)` gave weights; with
        "noise" X_g is an orthonormal basis of the group.
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
    group_names : the names of the groups 0, …, max(groups), which are the labels that a selector got as
        `groups`; or None.
    group_weights : "sqrt", "noise" or None, the rule for the w_g.

    `to_frame()` has a row for each step: step, group (its name, or else its number), columns (their names,
    with commas), coefficients (the final ones of these columns, with commas; for one output only), lam_star,
    margin, ties, r2 (after the step; for other losses d2).

    >>> from sparselin.estimators import OMPSelector
    >>> X, y = [[2.0, 0.0, 1.0], [0.0, 1.0, 1.0], [0.0, 0.0, 1.0], [0.0, 0.0, 0.0]], [4.0, 2.0, 1.0, 1.0]
    >>> path = OMPSelector(2, groups=["a", "a", "b"], fit_intercept=False).fit(X, y).path_
    >>> path
    <GroupPath: 2 groups, 3 of 3 features, R² 0.955, COMPLETED>
    >>> print(path)
    GroupPath: 2 groups, 3 of 3 features, R² 0.955, COMPLETED
    step  group  columns  coefficients     λ*  margin  ties      R²
       1  a      x0, x1   1.500, 1.000  8.246  0.1511        0.9091
       2  b      x2       1.000         1.000   1.000        0.9545
    R² = 1 − ‖r‖²/‖y‖², uncentred: there is no intercept
    COMPLETED: completed as requested
    >>> path.order_names, path.support_names, path.coef[:, 0]
    (('a', 'b'), ('x0', 'x1', 'x2'), array([1.5, 1. , 1. ]))
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
    group_names: Names = None
    group_weights: str | None = None

    def __len__(self) -> int:
        return len(self.order)

    @property
    def coef(self) -> FloatArray:
        """(s, q) the coefficients of the final model, on the columns of `support`."""
        return self.coef_at(len(self))

    @property
    def intercept(self) -> FloatArray:
        """(q,) the intercepts of the final model; zeros if it has none."""
        return np.asarray(self.intercept_path[-1])

    @property
    def support_names(self) -> tuple[str, ...]:
        """The names of the columns in `support`."""
        return self._names_of(self.support)

    @property
    def order_names(self) -> tuple[str, ...]:
        """The names of the groups in `order`."""
        return tuple(map(self.group_name_of, self.order.tolist()))

    def group_name_of(self, g: int) -> str:
        """Return the name of group g, or its number as a text if the groups have no names."""
        return str(g) if self.group_names is None else self.group_names[g]

    def features_at(self, t: int) -> IndexArray:
        """Return the columns of the first t groups, 0 ≤ t ≤ len(order)."""
        base.check_step(t, len(self))
        return self.support[: self.sizes[t]]

    def coef_at(self, t: int) -> FloatArray:
        """Return the coefficients (s, q) of the q outputs on the s columns `features_at(t)`."""
        q = self.intercept_path.shape[1]
        dtype = self.intercept_path.dtype
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
        return _predict(self, X, t)

    def _coefficients(self) -> tuple[Column, ...]:
        """Return the columns of the table with the final coefficients of each group, for one output."""
        if self.intercept_path.shape[1] > 1:
            return ()
        values = [self.coef[a:b, 0] for a, b in itertools.pairwise(self.sizes)]
        short = [list_names([number(x) for x in coef.tolist()], what="coefficients") for coef in values]
        whole = [", ".join(map(str, coef.tolist())) for coef in values]
        return Column(None, "coefficients", short), Column("coefficients", None, whole)

    def _headline(self) -> str:
        loss, share = ("", "R²") if self.loss == "squared" else (f"{self.loss}, ", "D²")
        columns = f"{plural(len(self), 'group')}, {len(self.support)} of {self.n_features} features"
        return f"{loss}{columns}, {share} {self.r2:z.3f}, {self.status.name}"

    def _table(self) -> Table:
        members = [self._names_of(self.support[a:b]) for a, b in itertools.pairwise(self.sizes)]
        others = [
            [self.group_name_of(i) for i in T if i != g] for g, T in zip(self.order, self.ties, strict=True)
        ]
        groups = self.order if self.group_names is None else list(self.order_names)
        key = "r2"
        head = "R²"
        notes = self.fit.notes()
        if self.loss != "squared":
            whole = self.residual_norm[0] ** 2
            key = "d2"
            head = "D²"
            notes = self.fit.notes(self.intercept_path[-1, 0], whole)
        for g in self.unfitted:
            J = np.flatnonzero(self.groups == g)
            notes.append(
                note_on_end(self, f"group {self.group_name_of(g)} ({list_names(self._names_of(J))})", J)
            )
        columns = (
            Column("step", "step", np.arange(1, len(self) + 1)),
            Column("group", "group", groups),
            Column(None, "columns", [list_names(names) for names in members]),
            Column("columns", None, [", ".join(names) for names in members]),
            *self._coefficients(),
            Column("lam_star", "λ*", self.lam_star),
            Column("margin", "margin", self.margin),
            Column(None, "ties", [list_names(names, what="groups") for names in others]),
            Column("ties", None, [", ".join(names) for names in others]),
            Column(key, head, self.r2_path[1:], 4),
        )
        return Table(columns, (*notes, self.status.line))
