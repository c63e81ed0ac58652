"""The base of all selectors: validation, the number of features, the choice of k along a path, callbacks."""

from __future__ import annotations

import abc
import copy
import dataclasses
import warnings
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn import get_config
from sklearn.base import BaseEstimator
from sklearn.utils import ClassifierTags
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from sparselin.estimators._choice_of_k import (
    CRITERIA,
    CROSS_VALIDATED,
    check_classes,
    chosen,
    criterion,
    cross_validated,
    default_gamma,
    is_one_hot,
)
from sparselin.estimators._common import (
    FeatureSelector,
    FitTask,
    RoutesToSplitter,
    Split,
    TakesSparse,
    names_of,
    splits,
    with_callbacks,
)
from sparselin.estimators._paths import LinearFit, ModelPath, Result, Task, Watch, widened
from sparselin.greedy._losses import LOSSES
from sparselin.results import FloatArray, IndexArray, Status
from sparselin.selection.cross_validation import MOST
from sparselin.validation import (
    Columns,
    check_count,
    check_indices,
    check_level,
    check_same_rows,
    check_weights,
)


class SizeRequest(NamedTuple):
    """How many units: a path of at most `most`, until ‖r‖ ≤ tol·‖r_0‖, and of these k, or by a rule.

    The rule is one of CRITERIA and CROSS_VALIDATED, or None.
    """

    most: int
    tol: float | None
    rule: str | None
    k: int


class _CommonTask:
    """The values of parameters that only some selectors have."""

    groups: Any = None
    standardize: bool = False
    loss: str = "squared"


@dataclasses.dataclass(eq=False, repr=False)
class PathSelector(  # type: ignore[misc]
    _CommonTask, RoutesToSplitter, TakesSparse, FeatureSelector, BaseEstimator, metaclass=abc.ABCMeta
):
    """A selector that computes a path once, and chooses k along it."""

    n_features_to_select: int | float | str = "auto"
    _: dataclasses.KW_ONLY
    tol: float | None = None
    forced: Columns = ()
    exclude: Columns = ()
    fit_intercept: bool = True
    max_features: int | None = None
    cv: Any = 5
    gamma: float | None = None
    noise_variance: float | None = None
    n_jobs: int | None = None

    # the longest path by default, where a criterion or cross-validation chooses
    _most = MOST
    # whether y may have several columns, and columns may be grouped
    _several = False

    @abc.abstractmethod
    def _path(self, task: Task, k: int, tol: float | None, watch: Watch | None) -> ModelPath:
        """The path of at most k units, which ends early where tol or watch says so."""

    @with_callbacks  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any, sample_weight: Any = None, **params: Any) -> Self:
        """Compute the path and choose k.

        Parameters
        ----------
        X : (n, d) array, frame, or sparse array or matrix.
        y : (n,) numbers, or labels for the logistic loss; for `OMPSelector` with the squared one also
            (n, q), numbers or one-hot classes.
        sample_weight : (n,) weights of the rows' terms of the loss; a whole number repeats the row.
        params : for the `split` of `cv` where that is used, such as groups; they need
            `sklearn.set_config(enable_metadata_routing=True)`.

        Raises
        ------
        ValueError : bad data or parameters; for "cv" also y constant on the rows that a fold fits, a class
            that is seen once, a `max_features` beyond the rank that a fold can have.
        TypeError : a parameter of the wrong type.

        Warns
        -----
        UserWarning : fewer features than asked for, since the path ended, or to compare, since with one more
            the loss has no minimum; y fitted exactly, where a criterion is −∞; the longest path chosen, so
            that a longer one might be better.
        """
        if params and not get_config()["enable_metadata_routing"]:
            raise ValueError(
                f"fit takes {', '.join(params)} with sklearn.set_config(enable_metadata_routing=True) only"
            )
        task, kept = self._checked(X, y, sample_weight)
        request, folds = self._request(task, params)
        steps = request.most - len(task.forced)
        whole = FitTask.of_fit(self, X, y, task.weight, steps)
        self.sizes_ = np.arange(len(task.forced), request.most + 1)

        def so_far(result: Result, models: list[LinearFit]) -> dict[str, Any]:
            return self._fitted(result, models, len(models) - 1, kept)

        with whole.steps("step", steps, so_far) as watch:
            found = self._path(task, request.most, request.tol, watch)
        self.sizes_ = self.sizes_[: len(found.models)]
        position = self._choose(task, request, folds, found.models)
        self._models = [model._replace(features=kept[model.features]) for model in found.models]
        self.__dict__.update(self._fitted(found.result, found.models, position, kept))
        self._warn(task, request, found, position)
        whole.end({})
        return self

    def at(self, k: int) -> Self:
        """The fitted selector of k features (or groups), k in `sizes_`, without fitting again.

        A copy with n_features_to_select=k and tol=None, which shares the path with this one; its `scores_`
        are those that were compared here. ValueError for a k that is not in `sizes_`.
        """
        check_is_fitted(self)
        low, high = int(self.sizes_[0]), int(self.sizes_[-1])
        k = check_count(k, "k", low, high)
        other = copy.copy(self)
        other.n_features_to_select, other.tol = k, None
        other.__dict__.update(other._chosen(self._models[k - low], k))
        return other

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = self._several and self.loss == "squared"
        tags.target_tags.positive_only = self.loss == "poisson"
        tags.classifier_tags = ClassifierTags(multi_class=False) if self.loss == "logistic" else None
        return tags

    def _checked(self, X: Any, y: Any, sample_weight: Any) -> tuple[Task, IndexArray]:
        """The task, and which columns of X it has."""
        check_same_rows(X, y, "y")
        check_same_rows(X, sample_weight, "sample_weight")
        _check_loss(self)
        if self.loss != "logistic":
            _check_no_words(y)
        X, y = validate_data(
            self, X, y, accept_sparse="csc", dtype=[np.float64, np.float32], multi_output=True,
            y_numeric=self.loss != "logistic", ensure_min_samples=2,
        )  # fmt: skip
        y = _as_outputs(y, type(self).__name__, self._several and self.loss == "squared")
        y, self.classes_ = _encoded(y, self.loss, X.dtype)
        n, d = X.shape
        names = names_of(self)
        first = check_indices(self.forced, d, "forced", names)
        out = check_indices(self.exclude, d, "exclude", names)
        if both := np.intersect1d(first, out).tolist():
            raise ValueError(f"forced and exclude must not share a column; both have {both}")
        kept = np.setdiff1d(np.arange(d), out)
        if len(kept) == 0:
            raise ValueError(f"exclude must leave a column to select; it has all {d}")
        X = X[:, kept] if len(out) else X
        first, groups, self.groups_ = np.searchsorted(kept, first), None, None
        if self.groups is not None:
            self.groups_, groups = _numbered(self.groups, d, kept)
            first = np.array(list(dict.fromkeys(groups[first].tolist())), np.intp)
        weight = None if sample_weight is None else check_weights(sample_weight, n, X.dtype)
        inner = None if names is None else tuple(names[j] for j in kept)
        intercept, standardize = bool(self.fit_intercept), bool(self.standardize)
        task = Task(X, y, weight, inner, intercept, standardize, forced=first, groups=groups, loss=self.loss)
        return task, kept

    def _request(self, task: Task, params: dict[str, Any]) -> tuple[SizeRequest, list[Split]]:
        """How many, from the parameters, and the folds of `cv` where they are needed."""
        given: Any = self.n_features_to_select
        f, p = len(task.forced), task.units
        tol = None if self.tol is None else check_level(self.tol, "tol")
        rule, folds, k = None, [], p
        if isinstance(given, str):
            if given not in ("auto", *CRITERIA, *CROSS_VALIDATED):
                known = ", ".join(map(repr, ("auto", *CRITERIA, *CROSS_VALIDATED)))
                raise ValueError(
                    f"n_features_to_select must be an integer, a share or one of {known}; got {given!r}"
                )
            if given != "auto" and tol is not None:
                raise ValueError(
                    f"n_features_to_select={given!r} and tol are two rules for one number: drop one of them"
                )
            rule = None if tol is not None else "ebic" if given == "auto" else given
        elif isinstance(given, float | np.floating):
            if not 0 < given <= 1:
                raise ValueError(f"n_features_to_select as a share must be in (0, 1]; got {given}")
            k = max(1, f, int(given * p))
        else:
            k = check_count(given, "n_features_to_select", 1)
            if k > p:
                of = "n_features" if task.groups is None else "n_groups"
                raise ValueError(f"n_features_to_select={k} is more than there are to select from: {of}={p}")
        if k < f:
            raise ValueError(f"forced features count: got {f} of them and n_features_to_select={k}")
        most = k
        if rule is not None:
            folds = self._folds(task, params) if rule in CROSS_VALIDATED else []
            rows = min((len(train) for train, _ in folds), default=int(task.total))
            most = min(p, max(1, f, min(f + self._most, rows // 2 - 1)))
        if self.max_features is not None:
            least = 1 if isinstance(given, str) else k
            most = check_count(self.max_features, "max_features", max(least, f), p)
        return SizeRequest(most, tol, rule, k), folds

    def _folds(self, task: Task, params: dict[str, Any]) -> list[Split]:
        """The folds: stratified where y is of classes and `cv` is a number."""
        check_classes(task.y, self.classes_)
        one_hot = is_one_hot(task.y)
        labels = task.y.argmax(axis=1) if one_hot else task.y
        stratified = one_hot or self.classes_ is not None
        folds = splits(self, dataclasses.replace(task, y=labels), params, stratified=stratified)
        if len(folds) < 2:
            raise ValueError(f"cv must give at least two splits; got {len(folds)}. KFold(5) gives five.")
        return folds

    def _choose(self, task: Task, request: SizeRequest, folds: list[Split], models: list[LinearFit]) -> int:
        """The position of the model chosen; sets what was compared."""
        self.cross_validation_ = self.gamma_ = None
        f = len(task.forced)
        if request.rule is None:
            squares = np.square([model.residual for model in models])
            self.scores_: FloatArray = squares / (task.total * task.outputs)
            return min(request.k - f, len(models) - 1)
        if request.rule in CROSS_VALIDATED:
            bare = type(self)(**self.get_params(deep=False))
            found = cross_validated(task, bare._models_of, folds, f + len(models) - 1, self.n_jobs)
            self.cross_validation_, self.scores_ = found, found.error
            return (found.best if request.rule == "cv" else found.chosen) - f
        variance = None if self.noise_variance is None else check_level(self.noise_variance, "noise_variance")
        if variance == 0:
            raise ValueError("noise_variance must be positive")
        gamma = default_gamma(task.total, task.units - f) if self.gamma is None else self.gamma
        gamma = check_level(gamma, "gamma")
        self.gamma_ = gamma if request.rule == "ebic" else None
        self.scores_ = criterion(request.rule, models, task, gamma, variance)
        return chosen(request.rule, self.scores_)

    def _models_of(self, task: Task, k: int) -> list[LinearFit]:
        return self._path(task, k, None, None).models

    def _fitted(
        self, result: Result, models: list[LinearFit], position: int, kept: IndexArray
    ) -> dict[str, Any]:
        """The attributes of a fit that ends with this model."""
        path = widened(result, kept, self.n_features_in_, names_of(self))
        model = models[position]
        model = model._replace(features=kept[model.features])
        return {"path_": path, **self._chosen(model, int(self.sizes_[position]))}

    def _chosen(self, model: LinearFit, k: int) -> dict[str, Any]:
        coef = np.zeros((self.n_features_in_, *model.coef.shape[1:]), model.coef.dtype)
        coef[model.features] = model.coef
        return {
            "k_": k,
            "n_features_": len(model.features),
            "selected_": model.features,
            "coef_": coef.T,
            "intercept_": model.intercept,
        }

    def _warn(self, task: Task, request: SizeRequest, found: ModelPath, position: int) -> None:
        k, of = int(self.sizes_[position]), type(self).__name__
        units = "features" if task.groups is None else "groups"
        told = []
        if request.rule is None:
            # up to tol, or exactly so many
            short = request.tol is not None if self.n_features_to_select == "auto" else k < request.k
            within = request.tol is not None and found.status is Status.EXACT_FIT
            if short and not within and found.status not in (Status.STOPPED, Status.TOLERANCE):
                aim = f"{request.k} as asked for" if request.tol is None else f"tol={request.tol}"
                last = "there are no more" if self.max_features is None else "max_features is reached"
                why = last if found.status is Status.COMPLETED else found.status.message
                told.append(f"{of} ended with k={k}, short of {aim}: {why}")
        elif self.scores_[position] == -np.inf:
            told.append(
                f"k={k} fits y exactly: {request.rule} is −∞ there, so that it is chosen. Check that y is "
                f"not computed from these {units}"
            )
        elif k == request.most < task.units and self.max_features is None and k > len(task.forced):
            told.append(
                f"the least score is that of the longest path tried, {k} of {task.units} {units}: more may "
                "be better. Pass a larger max_features"
            )
        if request.rule is not None and getattr(found.result, "unfitted", None):
            told.append(f"the path ended with k={self.sizes_[-1]}: {found.status.message}")
        for words in told:
            warnings.warn(words, stacklevel=4)


def _check_loss(selector: Any) -> None:
    """Raise ValueError for an unknown `loss`, and for parameters of the squared loss with another loss."""
    loss, known = selector.loss, ["squared", *LOSSES]
    if not isinstance(loss, str) or loss not in known:
        raise ValueError(f"loss must be one of {known}; got {loss!r}")
    for name in ("groups", "noise_variance"):
        if loss != "squared" and getattr(selector, name) is not None:
            raise ValueError(f"{name} must be None for loss={loss!r}: it is of loss='squared' alone")


def _encoded(y: Any, loss: str, dtype: np.dtype[Any]) -> tuple[Any, Any]:
    """Return for logistic regression y == the second of two classes, and both in order; else y and None."""
    if loss != "logistic":
        return y, None
    classes = np.unique(y)
    if len(classes) != 2:
        raise ValueError(
            f"y must have two classes for loss='logistic'; got {len(classes)}. For more of them pass one-hot "
            "columns to OMPSelector with loss='squared', or y == label, one against the others"
        )
    return (y == classes[1]).astype(dtype), classes


def _check_no_words(y: Any) -> None:
    """Raise ValueError for class labels that are words."""
    values = np.asarray(y) if y is not None and not hasattr(y, "tocsc") else np.zeros(0)
    words = values.dtype.kind in "US" or (
        values.dtype.kind == "O" and any(isinstance(value, str) for value in values.ravel())
    )
    if words:
        raise ValueError(
            "y must hold numbers; got words. For two classes pass loss='logistic' to OMPSelector or "
            "SequentialLassoSelector; for more pass one-hot columns to OMPSelector: "
            "LabelBinarizer().fit_transform(y) of sklearn.preprocessing makes them"
        )


def _as_outputs(y: Any, name: str, several: bool) -> FloatArray:
    """Return y as a vector, or as (n, q) for a selector that takes several outputs."""
    y = y.toarray() if hasattr(y, "toarray") else y
    if y.ndim == 2 and y.shape[1] > 1:
        if not several:
            raise ValueError(
                f"y must be a vector for {name}; got shape {y.shape}. OMPSelector takes several outputs, and "
                "one-hot classes, with loss='squared'"
            )
        return np.asarray(y)
    return np.asarray(column_or_1d(y, warn=not several))


def _numbered(groups: Any, d: int, kept: IndexArray) -> tuple[Any, IndexArray]:
    """Return the labels of the groups that have columns in `kept`, and the group number of each of these."""
    labels = np.asarray(groups)
    if labels.shape != (d,):
        raise ValueError(f"groups must have a label for each of the {d} features; got shape {labels.shape}")
    unique, number = np.unique(labels[kept], return_inverse=True)
    return unique, number
