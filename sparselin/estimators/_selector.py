"""The base of all selectors: validation, the number of features, the choice of k along a path, callbacks."""

from __future__ import annotations

import abc
import copy
import dataclasses
import math
import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from scipy.special import gammaln
from sklearn import get_config
from sklearn.base import BaseEstimator
from sklearn.utils import ClassifierTags
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted, validate_data

from sparselin.estimators._common import (
    FeatureSelector,
    FitTask,
    RoutesToSplitter,
    Split,
    TakesSparse,
    names_of,
    with_callbacks,
)
from sparselin.estimators._paths import (
    LinearFit,
    ModelPath,
    Result,
    Task,
    Watch,
    as_outputs,
    check_loss,
    encoded,
    numbered,
    widened,
)
from sparselin.results import FloatArray, IndexArray, Status
from sparselin.selection.cross_validation import MOST, CrossValidation, Fold, summarize
from sparselin.validation import (
    Columns,
    check_count,
    check_indices,
    check_level,
    check_same_rows,
    check_weights,
)

CRITERIA = ("aic", "bic", "ebic")
CROSS_VALIDATED = ("cv", "cv_1se")


class SizeRequest(NamedTuple):
    """The number of units: a path of at most `most`, until ‖r‖ ≤ tol·‖r_0‖, and of these k, or by a rule.

    The rule is one of CRITERIA and CROSS_VALIDATED, or None.
    """

    most: int
    tol: float | None
    rule: str | None
    k: int


class _FixedParameters:
    """The values of the parameters that some selectors have, for those that do not have them."""

    groups: Any = None
    standardize: bool = False
    loss: str = "squared"


@dataclasses.dataclass(eq=False, repr=False)
class PathSelector(  # type: ignore[misc]
    _FixedParameters, RoutesToSplitter, TakesSparse, FeatureSelector, BaseEstimator, metaclass=abc.ABCMeta
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
        """Return the path of at most k units, which ends early at `tol` or by `watch`."""

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
            return self._fitted(result, models[-1], int(self.sizes_[len(models) - 1]), kept)

        with whole.steps("step", steps, so_far) as watch:
            found = self._path(task, request.most, request.tol, watch)
        self.sizes_ = self.sizes_[: len(found.models)]
        position = self._choose(task, request, folds, found.models)
        self._models = [model._replace(features=kept[model.features]) for model in found.models]
        k = int(self.sizes_[position])
        self.__dict__.update(self._fitted(found.result, found.models[position], k, kept))
        self._warn(task, request, found, position)
        whole.end({})
        return self

    def at(self, k: int) -> Self:
        """Return the fitted selector of k features (or groups), k in `sizes_`, without fitting again.

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
        """Return the task, and the columns of X that it has."""
        check_same_rows(X, y, "y")
        check_same_rows(X, sample_weight, "sample_weight")
        check_loss(self, y)
        X, y = validate_data(
            self, X, y, accept_sparse="csc", dtype=[np.float64, np.float32], multi_output=True,
            y_numeric=self.loss != "logistic", ensure_min_samples=2,
        )  # fmt: skip
        several = self._several and self.loss == "squared"
        y, self.classes_ = encoded(as_outputs(y, type(self).__name__, several), self.loss, X.dtype)
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
            self.groups_, groups = numbered(self.groups, d, kept)
            first = np.array(list(dict.fromkeys(groups[first].tolist())), np.intp)
        weight = None if sample_weight is None else check_weights(sample_weight, n, X.dtype)
        inner = None if names is None else tuple(names[j] for j in kept)
        intercept, standardize = bool(self.fit_intercept), bool(self.standardize)
        task = Task(X, y, weight, inner, intercept, standardize, forced=first, groups=groups, loss=self.loss)
        return task, kept

    def _request(self, task: Task, params: dict[str, Any]) -> tuple[SizeRequest, list[Split]]:
        """Return the number of units that the parameters want, and the folds of `cv` if they are needed."""
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
        """Return the folds, stratified if y has classes and `cv` is a number."""
        _check_classes(task.y, self.classes_)
        one_hot = _is_one_hot(task.y)
        labels = task.y.argmax(axis=1) if one_hot else task.y
        stratified = one_hot or self.classes_ is not None
        folds = self._splits(dataclasses.replace(task, y=labels), params, stratified=stratified)
        if len(folds) < 2:
            raise ValueError(f"cv must give at least two splits; got {len(folds)}. KFold(5) gives five.")
        return folds

    def _choose(self, task: Task, request: SizeRequest, folds: list[Split], models: list[LinearFit]) -> int:
        """Return the position of the chosen model; set `scores_` and what else was compared."""
        self.cross_validation_ = self.gamma_ = None
        f = len(task.forced)
        if request.rule is None:
            squares = np.square([model.residual for model in models])
            self.scores_: FloatArray = squares / (task.total * task.outputs)
            return min(request.k - f, len(models) - 1)
        if request.rule in CROSS_VALIDATED:
            bare = type(self)(**self.get_params(deep=False))
            found = _cross_validated(bare, task, folds, f + len(models) - 1)
            self.cross_validation_, self.scores_ = found, found.error
            return (found.best if request.rule == "cv" else found.chosen) - f
        variance = None if self.noise_variance is None else check_level(self.noise_variance, "noise_variance")
        if variance == 0:
            raise ValueError("noise_variance must be positive")
        gamma = _default_gamma(task.total, task.units - f) if self.gamma is None else self.gamma
        gamma = check_level(gamma, "gamma")
        self.gamma_ = gamma if request.rule == "ebic" else None
        self.scores_ = _criterion(request.rule, models, task, gamma, variance)
        return _chosen_position(request.rule, self.scores_)

    def _fitted(self, result: Result, model: LinearFit, k: int, kept: IndexArray) -> dict[str, Any]:
        """Return the attributes of a fit that ends with this model of k units."""
        path = widened(result, kept, self.n_features_in_, names_of(self))
        return {"path_": path, **self._chosen(model._replace(features=kept[model.features]), k)}

    def _chosen(self, model: LinearFit, k: int) -> dict[str, Any]:
        coef = np.zeros((self.n_features_in_, *model.coef.shape[1:]), model.coef.dtype)
        coef[model.features] = model.coef
        chosen = {"k_": k, "n_features_": len(model.features), "selected_": model.features}
        return {**chosen, "coef_": coef.T, "intercept_": model.intercept}

    def _warn(self, task: Task, request: SizeRequest, found: ModelPath, position: int) -> None:
        k, of = int(self.sizes_[position]), type(self).__name__
        units = "features" if task.groups is None else "groups"
        messages = []
        if request.rule is None:
            # up to tol, or exactly so many
            short = request.tol is not None if self.n_features_to_select == "auto" else k < request.k
            within = request.tol is not None and found.status is Status.EXACT_FIT
            if short and not within and found.status not in (Status.STOPPED, Status.TOLERANCE):
                aim = f"{request.k} as asked for" if request.tol is None else f"tol={request.tol}"
                last = "there are no more" if self.max_features is None else "max_features is reached"
                why = last if found.status is Status.COMPLETED else found.status.message
                messages.append(f"{of} ended with k={k}, short of {aim}: {why}")
        elif self.scores_[position] == -np.inf:
            messages.append(
                f"k={k} fits y exactly: {request.rule} is −∞ there, so that it is chosen. Check that y is "
                f"not computed from these {units}"
            )
        elif k == request.most < task.units and self.max_features is None and k > len(task.forced):
            messages.append(
                f"the least score is that of the longest path tried, {k} of {task.units} {units}: more may "
                "be better. Pass a larger max_features"
            )
        if request.rule is not None and getattr(found.result, "unfitted", None):
            messages.append(f"the path ended with k={self.sizes_[-1]}: {found.status.message}")
        for message in messages:
            warnings.warn(message, stacklevel=4)


def _default_gamma(n: float, p: int) -> float:
    """Return γ = max(0, 1 − ln n/(4·ln p)) for p features to choose from; 0 for p = 1.

    For p = O(n^κ) EBIC is consistent if γ > 1 − 1/(2κ) (Chen and Chen, *Extended Bayesian information
    criteria for model selection with large model spaces*, 2008): γ > 1 − ln n/(2·ln p) for p = n^κ. This γ is
    in the middle between that bound and 1. Close to the bound features of noise get in for every n of
    practice.

    >>> round(_default_gamma(100, 1000), 4), _default_gamma(1000, 2)
    (0.8333, 0.0)
    """
    return max(0.0, 1 - math.log(n) / (4 * math.log(p))) if p > 1 and n > 1 else 0.0


def _criterion(
    name: str, models: Sequence[LinearFit], task: Task, gamma: float, variance: float | None
) -> FloatArray:
    """Return AIC, BIC or EBIC_γ of the models of f, f + 1, … units, f of them forced; less is better.

    For y_ij = μ_j + x_iᵀB_j + ε_ij, ε_ij independent N(0, σ²), i ≤ n, j ≤ q, −2·log-likelihood at its maximum
    is, up to a constant, n·q·ln(RSS/(n·q)), RSS = ‖Y − XB‖_F², or RSS/σ² where the variance σ² is known. With
    ν the rank of the selected columns, u of p units (features or groups), both without the forced ones,

        AIC = … + 2·νq,     BIC = … + νq·ln n,     EBIC_γ = BIC + 2γ·ln C(p, u)

    (Luo and Chen, *Sequential lasso cum EBIC for feature selection with ultra-high dimensional feature
    space*, 2014). The intercepts and σ² are parameters of every model and are left out. With weights, which
    repeat rows, n is their sum. For losses that are not squared the deviance takes the place of RSS/σ²: it is
    −2·log-likelihood up to a constant.

    Where σ² is unknown, RSS = 0 gives −∞: y is fitted exactly. That says nothing where no degree of freedom
    is left: where with the intercept there are as many parameters for each output as n, or as different rows
    of X. Such models get +∞.
    """
    n, q, forced = task.total, task.outputs, len(task.forced)
    rss = np.array([model.residual for model in models]) ** 2
    rank = np.array([model.rank for model in models])
    if variance is None and task.loss == "squared":
        with np.errstate(divide="ignore"):
            fit = n * q * np.log(rss / (n * q))
        most = min(n, _different_rows(task)) if np.any(rss == 0) else n
        fit[rank + task.intercept >= most] = np.inf
        if np.isinf(fit).all() and fit[0] > 0:
            raise ValueError(
                f"no degree of freedom is left for {name!r}: {len(rank) + forced - 1} features at most, and "
                f"rows for {n:g} (the sum of sample_weight, if given: there weights count rows). Pass an "
                "integer as n_features_to_select, or noise_variance"
            )
    else:
        fit = rss if variance is None else rss / variance
    scores = fit + (2.0 if name == "aic" else math.log(n)) * rank * q
    if name == "ebic":
        p, u = task.units - forced, np.arange(len(models))
        scores += 2 * gamma * (gammaln(p + 1) - gammaln(u + 1) - gammaln(p - u + 1))
    return np.asarray(scores)


def _chosen_position(name: str, scores: FloatArray) -> int:
    """Return the position of the least score; for EBIC of the first minimum, where Luo and Chen (2014) stop.

    Far along a path on n rows ln RSS falls faster and faster, for columns of noise too, and with p much
    larger than n all criteria fall again: the least EBIC can be that of dozens of features of noise.
    """
    rises = np.flatnonzero(scores[1:] > scores[:-1])
    return int(rises[0]) if name == "ebic" and len(rises) else int(np.argmin(scores))


def _different_rows(task: Task) -> int:
    """Return the number of different rows of X without those of weight zero; −0.0 is 0.0, stored or not."""
    X = task.X if task.weight is None else task.X[np.flatnonzero(task.weight)]
    if isinstance(X, np.ndarray):
        return len({(row + 0.0).tobytes() for row in X})
    X = X.tocsr(copy=True)
    X.sum_duplicates()
    X.eliminate_zeros()
    cuts = zip(X.indptr, X.indptr[1:], strict=False)
    return len({(X.indices[a:b].tobytes(), X.data[a:b].tobytes()) for a, b in cuts})


def _cross_validated(selector: PathSelector, task: Task, splits: list[Split], k: int) -> CrossValidation:
    """Return the mean errors on the rows left out, of f, …, k units: one path for each split.

    An error that overflows has no standard error.
    """
    for number, split in enumerate(splits):
        _check_fold(task, *split, k, f"fold {number + 1} of {len(splits)}")
    folds = Parallel(n_jobs=selector.n_jobs)(delayed(_fold)(selector, task, split, k) for split in splits)
    with np.errstate(over="ignore", invalid="ignore"):
        return summarize(folds, len(task.forced))


def _fold(selector: PathSelector, task: Task, split: Split, k: int) -> Fold:
    """Return the errors on the test rows of a path of the others, whose last model stands for larger k."""
    inner, outer = (task.rows(rows) for rows in split)
    w = np.ones(len(outer.y)) if outer.weight is None else np.asarray(outer.weight, np.float64)

    def error(prediction: Any) -> float:
        return float(np.average(outer.errors(prediction), weights=w))

    sizes = k - len(task.forced) + 1
    models = selector._path(inner, max(k, 1), None, None).models[:sizes]
    found = [error(model.predict(outer.X)) for model in models]
    found += [found[-1]] * (sizes - len(found))
    return Fold(float(w.sum()), np.array(found), error(inner.mean_prediction()))


def _is_one_hot(y: FloatArray) -> bool:
    """Return whether the rows of y (n, q) are unit vectors."""
    return y.ndim == 2 and bool(np.all((y == 0) | (y == 1)) and np.all(y.sum(axis=1) == 1))


def _check_classes(y: FloatArray, classes: Any) -> None:
    """Raise ValueError for a class that is seen once, of a one-hot y or of the two of y."""
    each = y if classes is None else np.column_stack([1 - y, y])
    once = np.flatnonzero(each.sum(axis=0) == 1)
    if _is_one_hot(each) and len(once):
        seen = f"column {int(once[0])}" if classes is None else repr(classes.tolist()[once[0]])
        raise ValueError(
            f"y has a class that is seen once, {seen}: the fold that leaves its row out never "
            "sees the class. Merge or drop such classes, or pass n_features_to_select='ebic' or an integer."
        )


def _check_fold(task: Task, train: IndexArray, test: IndexArray, k: int, where: str) -> None:
    """Raise ValueError for a fold without k independent columns, weights or different y."""
    most = len(train) - task.intercept
    if k > most:
        raise ValueError(
            f"max_features={k} is more than {where} can tell apart: it fits {len(train)} rows, of a rank of "
            f"{most} at most{' beside the intercept' if task.intercept else ''}. Decrease max_features, or "
            "pass a cv that leaves fewer rows out."
        )
    weight = task.weight
    if weight is not None and not (weight[train].any() and weight[test].any()):
        raise ValueError(
            f"{where} has rows of sample_weight zero only, on one of its sides: shuffle the rows"
        )
    y = task.y[train] if weight is None else task.y[train][weight[train] > 0]
    if np.all(y == y[0]):
        raise ValueError(
            f"y is constant on the {len(train)} rows that {where} fits: nothing can be selected there. If "
            "the rows are sorted by y, shuffle them: cv=KFold(5, shuffle=True, random_state=0)."
        )
