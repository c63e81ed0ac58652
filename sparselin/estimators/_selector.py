"""The base of all selectors: validation, the choice of k along a path, warnings, callbacks."""

from __future__ import annotations

import abc
import copy
import dataclasses
import warnings
from functools import partial
from typing import Any, Literal, NamedTuple, Self

import numpy as np
from scipy.special import expit
from sklearn import get_config
from sklearn.base import BaseEstimator
from sklearn.metrics import accuracy_score, d2_tweedie_score, r2_score
from sklearn.utils import ClassifierTags, RegressorTags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted

from sparselin import validation
from sparselin.estimators import _common, _paths
from sparselin.estimators._common import FeatureSelector, FitTask, RoutesToSplitter, Split, TakesSparse
from sparselin.estimators._criteria import chosen_position, criterion, default_gamma
from sparselin.estimators._folds import MOST, Fold, summarize
from sparselin.estimators._paths import LinearFit, ModelPath, Result, Task, Watch
from sparselin.greedy._losses import encode_labels
from sparselin.problem.labels import check_same_rows, number_groups
from sparselin.results import CrossValidation, FloatArray, IndexArray, Status
from sparselin.results.base import dense
from sparselin.results.paths import means
from sparselin.validation.progress import ProgressLog

CRITERIA = ("aic", "bic", "ebic")
LEAVE_ONE_OUT = "loo"
CROSS_VALIDATED = ("cv", "cv_1se")


class SizeRequest(NamedTuple):
    """The number of units (features or groups) that the parameters of a selector request.

    most : the length at which the path ends.
    tol : the path also ends once ‖r‖ ≤ tol·‖r_0‖, where r is the residual, and r_0 the residual without
        features; None if there is no such bound.
    rule : the rule that chooses the number along the path, from CRITERIA or CROSS_VALIDATED, or
        LEAVE_ONE_OUT; or None.
    k : the number of units if there is no rule.
    """

    most: int
    tol: float | None
    rule: str | None
    k: int


class _FixedParameters:
    """The values of parameters in selectors without these parameters."""

    groups: Any = None
    group_weights: str | None = None
    standardize: bool = False
    loss: str = "squared"


class _Attributes:
    """The attributes that a fit sets, for type checkers. As no dataclass, it makes no parameters of them."""

    path_: Any
    sizes_: IndexArray
    scores_: FloatArray
    k_: int
    classes_: Any  # an array, or None
    gamma_: float | None
    cross_validation_: CrossValidation | None
    groups_: Any


Rule = Literal["auto", "ebic", "bic", "aic", "loo", "cv", "cv_1se"]
Loss = Literal["squared", "logistic", "poisson"]


@dataclasses.dataclass(eq=False, repr=False)
class PathSelector(  # type: ignore[misc]
    _Attributes,
    _FixedParameters,
    RoutesToSplitter,
    TakesSparse,
    FeatureSelector,
    BaseEstimator,
    metaclass=abc.ABCMeta,
):
    """A selector that computes a path once and chooses the number of features along it."""

    n_features_to_select: int | float | Rule = "auto"
    _: dataclasses.KW_ONLY
    tol: float | None = None
    forced: validation.Columns = ()
    exclude: validation.Columns = ()
    fit_intercept: bool = True
    max_features: int | None = None
    cv: Any = 5
    gamma: float | None = None
    noise_variance: float | None = None
    n_jobs: int | None = None

    # how many features besides the forced ones a criterion or cross-validation compares by default
    _most = MOST
    # whether y may have several columns
    _several = False

    @abc.abstractmethod
    def _path(self, task: Task, k: int, tol: float | None, watch: Watch | None) -> ModelPath:
        """Return the path of at most k units (features or groups).

        It ends early at the tolerance `tol`, or if `watch` returns True.
        """

    @_common.with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None, **params: Any) -> Self:
        """Compute the path, and choose the number of features along it.

        Parameters
        ----------
        X : (n, d) array, frame, or sparse array or matrix.
        y : (n,) numbers, or labels for the logistic loss. `OMPSelector` with the squared loss also takes
            (n, q) numbers or one-hot classes.
        sample_weight : (n,) weights ≥ 0 of the terms of the loss: inverse variances up to a factor. Only
            their ratios matter, and rows of weight 0 are as if removed. To count rows several times, repeat
            them by `np.repeat(X, counts, axis=0)`; weights do not do that.
        params : arguments of the `split` method of `cv`, such as groups.

        Raises
        ------
        ValueError : the data or parameters are invalid. In cross-validation also: y is constant on the
            training rows of a fold, a class occurs only once, or `max_features` exceeds the rank that a fold
            can have.
        TypeError : a parameter has the wrong type.

        Warns
        -----
        UserWarning : the path ended with fewer features than requested; the path ended before the longest
            model that was to be compared, because with one more feature the loss has no minimum; y is fitted
            exactly, so that a criterion is −∞; or the largest number of features was chosen, so that a still
            larger one might be better.
        """
        task, kept = self._check_data(X, y, sample_weight)
        request, folds = self._request(task, params)
        steps = request.most - len(task.forced)
        whole = FitTask.of_fit(self, X, y, _common.weights_of_all(sample_weight), steps)
        self.sizes_ = np.arange(len(task.forced), request.most + 1)

        def attributes(result: Result, models: list[LinearFit]) -> dict[str, Any]:
            return self._attributes(result, models[-1], int(self.sizes_[len(models) - 1]), kept)

        with whole.steps("step", steps, attributes) as watch:
            found = self._path(task, request.most, request.tol, watch)
        self.sizes_ = self.sizes_[: len(found.models)]
        position = self._choose(task, request, folds, found.models)
        self._models = [model._replace(features=kept[model.features]) for model in found.models]
        k = int(self.sizes_[position])
        self.__dict__.update(self._attributes(found.result, found.models[position], k, kept))
        self._warn(task, request, found, position)
        whole.end({})
        return self

    def at(self, k: int) -> Self:
        """Return the fitted selector with k features (or groups), without fitting again.

        The result is a copy with n_features_to_select=k and tol=None. It shares the path and the `scores_`
        with this selector. Raises ValueError if k is not in `sizes_`.
        """
        check_is_fitted(self)
        low, high = int(self.sizes_[0]), int(self.sizes_[-1])
        k = validation.check_count(k, "k", low, high)
        other = copy.copy(self)
        other.n_features_to_select = k
        other.tol = None
        other.__dict__.update(other._model_attributes(self._models[k - low], k))
        return other

    @property
    def result_(self) -> Any:
        """The result with the chosen k: `path_`, or its element if `path_` has a result for each k, or None.

        It is None if `path_` has a result for each k, and k_ is the number of the forced features.
        """
        check_is_fitted(self)
        path = self.path_
        position = self.k_ - int(self.sizes_[0])
        return (None, *path)[position] if isinstance(path, tuple) else path

    def predict(self, X: Any) -> Any:
        """Predict y for X (n, d) by the model with the coefficients `coef_` and `intercept_`.

        Returns numbers (n,) or (n, q); for the logistic loss the labels (n,), for the Poisson loss the means.
        """
        eta = self._linear_predictor(X)
        if self.loss == "logistic":
            return self.classes_[(eta > 0).astype(np.intp)]
        if self.loss == "poisson":  # within the floats, so that there is a deviance
            return np.exp(np.clip(eta.astype(np.float64), -700, 700))
        return means(eta, self.loss)

    @available_if(lambda self: self.loss == "logistic")  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> FloatArray:
        """Return the probabilities (n, 2) of the two labels in `classes_`, for the logistic loss only."""
        eta = self._linear_predictor(X)
        return np.column_stack([expit(-eta), expit(eta)])

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return R² of the prediction; for the logistic loss the accuracy, for the Poisson loss D².

        D² is the share of the deviance that is explained. `sample_weight` (n,) weighs the rows.
        """
        validation.check_mask(y=y, sample_weight=sample_weight)
        scores = {
            "squared": r2_score,
            "logistic": accuracy_score,
            "poisson": partial(d2_tweedie_score, power=1),
        }
        return float(scores[self.loss](y, self.predict(X), sample_weight=sample_weight))

    def _linear_predictor(self, X: Any) -> FloatArray:
        """Return the linear predictor of the model, (n,) or (n, q), for X (n, d)."""
        check_is_fitted(self)
        X = self._check_rows(X)
        S = self.selected_
        return np.asarray(X[:, S] @ self.coef_.T[S] + self.intercept_)

    def _check_rows(self, X: Any) -> Any:
        """Return rows X that have the columns of the fit, after scikit-learn has checked them."""
        checks = {"accept_sparse": "csc", "dtype": [np.float64, np.float32], "reset": False}
        return _common.validate_columns(self, X, **checks)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = self._several
        tags.target_tags.positive_only = self.loss == "poisson"
        if self.loss == "logistic":
            tags.estimator_type = "classifier"
            tags.classifier_tags = ClassifierTags(multi_class=False)
        else:
            tags.estimator_type = "regressor"
            tags.regressor_tags = RegressorTags()
        return tags

    def _check_data(self, X: Any, y: Any, sample_weight: Any) -> tuple[Task, IndexArray]:
        """Return the validated task, and the indices of the columns of X that may be selected."""
        check_same_rows(X, y, "y")
        check_same_rows(X, sample_weight, "sample_weight")
        _paths.check_loss(self, y)
        data = X
        X, y = _common.validate_columns(
            self,
            X,
            y,
            accept_sparse="csc",
            dtype=[np.float64, np.float32],
            multi_output=True,
            y_numeric=self.loss != "logistic",
            ensure_min_samples=2,
        )
        y = _paths.as_outputs(y, type(self).__name__, self._several)
        double = np.dtype(np.float64)
        weight = None if sample_weight is None else validation.check_weights(sample_weight, len(y), double)
        X, y, weight, used = _common.without_weightless(X, y, weight)
        if len(y) < 2:
            raise ValueError(f"X must have at least 2 rows of positive sample_weight; got {len(y)}")
        self.classes_ = None
        if self.loss == "logistic":
            labels, self.classes_ = encode_labels(y)
            y = labels.astype(X.dtype)
        d = X.shape[1]
        self._names = names = _common.names_of(self) or validation.frame_names(data)
        columns = validation.frame_labels(data)
        first = validation.check_indices(self.forced, d, "forced", names, columns)
        out = validation.check_indices(self.exclude, d, "exclude", names, columns)
        if both := np.intersect1d(first, out).tolist():
            raise ValueError(f"forced and exclude must not share a column; both have {both}")
        kept = np.setdiff1d(np.arange(d), out)
        if len(kept) == 0:
            raise ValueError(f"exclude must leave a column to select; it has all {d} columns")
        X = X[:, kept] if len(out) else X
        first = np.searchsorted(kept, first)
        groups, self.groups_ = None, None
        if self.groups is not None:
            self.groups_, groups = number_groups(self.groups, columns, d, kept)
            first = np.array(list(dict.fromkeys(groups[first].tolist())), np.intp)
        inner = None if names is None else tuple(names[j] for j in kept)
        intercept = validation.check_flag(self.fit_intercept, "fit_intercept")
        standardize = validation.check_flag(self.standardize, "standardize")
        task = Task(
            X=X,
            y=y,
            weight=weight,
            names=inner,
            intercept=intercept,
            standardize=standardize,
            used=used,
            forced=first,
            groups=groups,
            group_weights=_paths.check_group_weights(self.group_weights, groups),
            loss=self.loss,
        )
        return task, kept

    def _request(self, task: Task, params: dict[str, Any]) -> tuple[SizeRequest, list[Split]]:
        """Return the number of units that the parameters request, and the folds if they are needed."""
        given: Any = self.n_features_to_select
        f = len(task.forced)
        p = task.units
        tol = None if self.tol is None else validation.check_level(self.tol, "tol")
        rule = None
        folds = []
        k = p
        if isinstance(given, str):
            rules = ("auto", *CRITERIA, LEAVE_ONE_OUT, *CROSS_VALIDATED)
            if given not in rules:
                known = ", ".join(map(repr, rules))
                raise ValueError(
                    f"n_features_to_select must be an integer, a share or one of {known}; got {given!r}"
                )
            if given != "auto" and tol is not None:
                raise ValueError(
                    f"n_features_to_select={given!r} and tol are two rules for one number; drop one of them"
                )
            rule = "ebic" if given == "auto" else given
            rule = rule if tol is None else None
        else:
            k = _common.number_to_select(given, p, "n_features" if task.groups is None else "n_groups")
            k = max(k, f) if isinstance(given, float | np.floating) else k
        if rule == LEAVE_ONE_OUT and (task.loss != "squared" or getattr(self, "positive", False)):
            raise ValueError("'loo' needs loss='squared' and positive=False: it is for least squares only")
        if params and rule not in CROSS_VALIDATED and not get_config()["enable_metadata_routing"]:
            raise ValueError(f"fit takes {', '.join(params)} only if n_features_to_select='cv' or 'cv_1se'")
        if k < f:
            raise ValueError(f"forced features count in n_features_to_select: got {f} of them and {k}")
        most = k
        if rule is not None:
            folds = self._folds(task, params) if rule in CROSS_VALIDATED else []
            rows = min((len(train) for train, _ in folds), default=len(task.y))
            most = min(p, max(1, f, min(f + self._most, rows // 2 - 1)))
        if self.max_features is not None:
            least = 1 if isinstance(given, str) else k
            most = validation.check_count(self.max_features, "max_features", max(least, f), p)
        return SizeRequest(most, tol, rule, k), folds

    def _folds(self, task: Task, params: dict[str, Any]) -> list[Split]:
        """Return the folds. They are stratified if y has classes and `cv` is a number."""
        _paths.check_classes(task.y, self.classes_)
        one_hot = _paths.is_one_hot(task.y)
        labels: Any = task.y.argmax(axis=1) if one_hot else task.y
        stratified = one_hot or self.classes_ is not None
        folds = self._splits(dataclasses.replace(task, y=labels), params, stratified=stratified)
        if len(folds) < 2:
            raise ValueError(f"cv must give at least two splits; got {len(folds)}. KFold(5) gives five.")
        return folds

    def _choose(self, task: Task, request: SizeRequest, folds: list[Split], models: list[LinearFit]) -> int:
        """Return the position of the chosen model. Set `scores_`, `cross_validation_` and `gamma_`."""
        self.cross_validation_ = self.gamma_ = None
        f = len(task.forced)
        if request.rule is None:
            squares = np.square([model.residual for model in models])
            self.scores_ = squares / (task.total * task.outputs)
            return min(request.k - f, len(models) - 1)
        if request.rule in CROSS_VALIDATED:
            bare = type(self)(**self.get_params(deep=False))
            found = _cross_validate(bare, task, folds, f + len(models) - 1)
            self.cross_validation_ = found
            self.scores_ = found.error
            return (found.best if request.rule == "cv" else found.chosen) - f
        if request.rule == LEAVE_ONE_OUT:
            self.scores_ = _paths.corrected_errors(task, models)
            return int(np.argmin(self.scores_))
        variance = self.noise_variance
        if variance is not None:
            variance = validation.check_real(variance, "noise_variance", lambda v: v > 0, "positive")
        gamma = default_gamma(len(task.y), task.units - f) if self.gamma is None else self.gamma
        gamma = validation.check_level(gamma, "gamma")
        self.gamma_ = gamma if request.rule == "ebic" else None
        self.scores_ = criterion(request.rule, models, task, gamma, variance)
        return chosen_position(request.rule, self.scores_)

    def _attributes(self, result: Result, model: LinearFit, k: int, kept: IndexArray) -> dict[str, Any]:
        """Return the fitted attributes if the model with k units is chosen."""
        path = _paths.widen(
            result,
            kept,
            self.n_features_in_,
            self._names,
            self.classes_,
            (self.groups_, getattr(self, "group_weights", None)),
        )
        return {"path_": path, **self._model_attributes(model._replace(features=kept[model.features]), k)}

    def _model_attributes(self, model: LinearFit, k: int) -> dict[str, Any]:
        """Return the fitted attributes that depend on the chosen model only."""
        coef = dense(model.coef.T, model.features, self.n_features_in_)
        chosen = {"k_": k, "n_features_": len(model.features), "selected_": model.features}
        return {**chosen, "coef_": coef, "intercept_": model.intercept}

    def _warn(self, task: Task, request: SizeRequest, found: ModelPath, position: int) -> None:
        """Warn if the path is too short, y is fitted exactly, or the longest path was chosen."""
        k = int(self.sizes_[position])
        of = type(self).__name__
        units = "features" if task.groups is None else "groups"
        messages = []
        if request.rule is None:
            # the path has to reach tol, or exactly k units
            short = request.tol is not None if self.n_features_to_select == "auto" else k < request.k
            within = request.tol is not None and found.status is Status.EXACT_FIT
            if short and not within and found.status not in (Status.STOPPED, Status.TOLERANCE):
                aim = f"k={request.k}" if request.tol is None else f"tol={request.tol}"
                last = f"no {units} are left" if self.max_features is None else "max_features is reached"
                why = last if found.status is Status.COMPLETED else self._reason(found)
                messages.append(f"{of} ended with k={k}, before it reached {aim}: {why}")
        elif self.scores_[position] == -np.inf:
            messages.append(
                f"k={k} fits y exactly, so {request.rule} is −∞ there and chooses it. Check that y is not "
                f"computed from these {units}"
            )
        elif k == request.most < task.units and self.max_features is None and k > len(task.forced):
            messages.append(
                f"the longest path tried, with {k} of {task.units} {units}, has the least score: more may be "
                "better. Pass a larger max_features"
            )
        if request.rule is not None and getattr(found.result, "unfitted", None):
            messages.append(f"the path ended with k={self.sizes_[-1]}: {self._reason(found)}")
        for message in messages:
            warnings.warn(message, stacklevel=4)

    def _reason(self, found: ModelPath) -> str:
        """Return why the path ended early."""
        return _paths.reason(found.status, self.path_, list(self.exclude), self._names)


def _cross_validate(selector: PathSelector, task: Task, splits: list[Split], k: int) -> CrossValidation:
    """Return the mean errors on the test rows of models with f, …, k units, from one path for each fold.

    A unit is a feature or a group of features, and f of the units are forced.
    """
    for number, split in enumerate(splits):
        _paths.check_fold(task, *split, f"fold {number + 1} of {len(splits)}")
    _paths.check_rank_in_folds(task, splits, k, selector.max_features)
    jobs = (delayed(fold_errors)(selector, task.rows(train), task.rows(test), k) for train, test in splits)
    folds: list[Fold] = []
    progress = ProgressLog(f"{type(selector).__name__}.fit", "folds", len(splits))
    for fold in Parallel(n_jobs=selector.n_jobs, return_as="generator")(jobs):
        folds.append(fold)
        progress.report(len(folds))
    return summarize(folds, len(task.forced))


def fold_errors(selector: PathSelector, inner: Task, outer: Task, k: int) -> Fold:
    """Return the errors on the test rows `outer` of the models of a path fitted to the training rows `inner`.

    If the path ends early, its last model is also used for the larger numbers of features.
    """
    w = np.ones(len(outer.y)) if outer.weight is None else np.asarray(outer.weight, np.float64)

    def error(prediction: Any) -> float:
        return float(np.average(outer.errors(prediction), weights=w))

    sizes = k - len(inner.forced) + 1
    models = selector._path(inner, min(max(k, 1), inner.units), None, None).models[:sizes]
    found = [error(model.predict(outer.X)) for model in models]
    found += [found[-1]] * (sizes - len(found))
    return Fold(float(w.sum()), np.array(found), error(inner.mean_prediction()))
