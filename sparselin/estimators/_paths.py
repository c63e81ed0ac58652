"""The selection problem of a selector, and the path of each method with a fitted model for each size."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from sklearn.utils.validation import column_or_1d

import sparselin as sl
from sparselin.estimators._common import Observations, Split
from sparselin.greedy._bases import in_bases
from sparselin.greedy._groups import group_omp
from sparselin.greedy._losses import LOSSES
from sparselin.greedy.generalized import generalized_group_omp
from sparselin.greedy.omp import ranks_of, refit
from sparselin.problem import Problem
from sparselin.problem.errors import eps_of, product_error, stopping_level
from sparselin.results import GeneralizedPath, GroupPath, LassoPath, SelectionPath, Status, SubsetResult
from sparselin.results.base import FittedPath, dense
from sparselin.validation import FloatArray, IndexArray, Names, check_mask

Result: TypeAlias = SelectionPath | GroupPath | GeneralizedPath | tuple[Any, ...]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Task(Observations):
    """The validated data of a selection: X (n, p) has the columns that may be selected; y is (n,) or (n, q).

    A unit is a column or, if there are groups, a group of columns.

    forced : the units that are selected first.
    groups : (p,) the number of the group of each column, from 0 on, or None.
    group_weights : the weights of the groups, as for `group_omp`.
    loss : "squared", "logistic" (y then holds 0 and 1) or "poisson".
    """

    forced: IndexArray
    groups: IndexArray | None
    group_weights: str | None
    loss: str

    @property
    def units(self) -> int:
        """The number of units: of columns, or of groups."""
        return int(self.X.shape[1] if self.groups is None else self.groups.max() + 1)

    def columns(self, units: IndexArray) -> IndexArray:
        """Return the columns of units."""
        return units if self.groups is None else np.flatnonzero(np.isin(self.groups, units))

    def count(self, S: IndexArray) -> int:
        """Return the number of units to which the columns S belong."""
        return len(S) if self.groups is None else len(np.unique(self.groups[S]))

    def complete(self, S: IndexArray) -> IndexArray:
        """Return the columns S, followed by the other columns of the units to which they belong.

        A unit is a column or a group of columns.
        """
        if self.groups is None:
            return S
        return np.concatenate([S, np.setdiff1d(self.columns(self.groups[S]), S)])

    def options(self, tol: float | None) -> dict[str, Any]:
        """Return the keyword arguments of the task for a method that takes X and y as arrays."""
        given = {"intercept": self.intercept, "standardize": self.standardize, "sample_weight": self.weight}
        groups = {} if self.groups is None else {"groups": self.groups, "weights": self.group_weights}
        return {"forced": self.forced, "tol": tol, **given, **groups}

    def errors(self, prediction: Any) -> FloatArray:
        """Return the error (n,) of each row of the prediction.

        The error is the mean squared error over the outputs, or for other losses ℓ the deviance
        2(ℓ(y_i, η_i) − inf ℓ(y_i, ·)) of the linear predictor η.
        """
        if self.loss == "squared":
            squares = np.square(self.y - prediction, dtype=np.float64)
            return np.asarray(squares.reshape(len(self.y), -1).mean(axis=1))
        eta, y = np.asarray(prediction, np.float64), np.asarray(self.y, np.float64)
        with np.errstate(over="ignore"):  # e^η may be large far from the training rows
            return LOSSES[self.loss].deviance(eta, y)

    def mean_prediction(self) -> Any:
        """Return the linear predictor without features: 0 without an intercept, else that of the mean of y.

        For the squared loss this is the mean itself; for other losses it is the link function of the mean.
        """
        if not self.intercept:
            return 0.0
        mean = np.average(self.y, axis=0, weights=self.weight)
        return mean if self.loss == "squared" else LOSSES[self.loss].link(float(mean))


class LinearFit(NamedTuple):
    """A model fitted on some features.

    features : the selected features.
    coef : (p,) or (p, q) coefficients of these features.
    residual : the norm of the residual, exactly zero if it is zero up to rounding. For losses other than the
        squared one it is the square root of the deviance.
    rank : the rank of the selected columns, centred if there is an intercept.
    """

    features: IndexArray
    coef: FloatArray
    intercept: Any
    residual: float
    rank: int

    def predict(self, X: Any) -> FloatArray:
        """Return the linear predictor for the rows of X."""
        return np.asarray(X[:, self.features] @ self.coef + self.intercept)


class ModelPath(NamedTuple):
    """The result of a method, its models with f, f + 1, … units, and its status.

    A unit is a feature or a group of features, and f of the units are forced.
    """

    result: Any
    models: list[LinearFit]
    status: Status


# a function that is called after each step with the result so far and its models; True ends the path
Watch = Callable[[Any, list[LinearFit]], bool]


def _follow(method: Any, models: Callable[[Any], list[LinearFit]], watch: Watch | None) -> ModelPath:
    """Run a method, and return its path and models.

    models : a function that returns the models of a path.
    watch : a function that is called after each step.
    """
    path = method(callback=None if watch is None else lambda path: watch(path, models(path)))
    return ModelPath(path, models(path), path.status)


def along(
    method: Any, problem: Problem, forced: IndexArray, k: int, watch: Watch | None, /, **options: Any
) -> ModelPath:
    """Run a method that adds one feature after the other, up to k features; return its path and models."""
    method = partial(method, problem, k, forced=forced, **options)
    return _follow(method, lambda path: _models_of(path, problem, len(forced)), watch)


def until(
    tol: float | None, method: Any, task: Task, k: int, watch: Watch | None, /, **options: Any
) -> ModelPath:
    """Run a method that has no parameter `tol`, and end its path once ‖r‖ ≤ tol·‖r_0‖.

    r is the residual, and r_0 the residual without features. With tol=None no tolerance ends the path.
    """
    problem = task.problem()
    forced = task.forced
    if tol is None:
        return along(method, problem, forced, k, watch, **options)

    def reaches_tol(path: SelectionPath) -> bool:
        return bool(path.residual_norm[-1] <= _level(problem, path, tol))

    def stop(path: SelectionPath, models: list[LinearFit]) -> bool:
        return bool(watch and watch(path, models)) or reaches_tol(path)

    start = refit(problem, forced)
    found = ModelPath(start, _models_of(start, problem, len(start)), start.status)
    if not reaches_tol(start):
        found = along(method, problem, forced, k, stop, **options)
    if not reaches_tol(found.result):
        return found
    status = Status.TOLERANCE
    return found._replace(result=dataclasses.replace(found.result, status=status), status=status)


def _level(problem: Problem, path: SelectionPath, tol: float | None) -> float:
    """Return the residual norm at which `tol` ends a path, or −1 if `tol` is None."""
    limit = -1.0 if tol is None else tol * float(path.residual_norm[0])
    return float(stopping_level(limit, problem.y_norm, problem.unit, problem.length_unit))


def _fits(path: Any, first: int, norms: list[float], ranks: Sequence[int]) -> list[LinearFit]:
    """Return the models on the first t units of a path, for t = first, first + 1, …, to its end.

    A unit is a feature or a group of features.

    norms, ranks : the norm of the residual, and the rank of the selected columns, for t = 0, 1, …
    """
    features_at = getattr(path, "features_at", lambda t: path.support[:t])
    return [
        LinearFit(features_at(t), path.coef_at(t), path.intercept_path[t], norms[t], ranks[t])
        for t in range(first, len(path) + 1)
    ]


def _models_of(path: SelectionPath, problem: Problem, first: int) -> list[LinearFit]:
    """Return the models on the first t features of a path, for t = first, first + 1, …, to its end.

    A residual r with ‖r‖ ≤ 8·eps·(√n + 1)·‖y‖ counts as zero.
    """
    zero = problem.rounding() * problem.y_norm
    norms = [0.0 if norm <= zero else float(norm) for norm in path.residual_norm]
    # if the columns are dependent, a coefficient is exactly zero; an independent column can have zero too
    counts = range(len(path) + 1) if path.coef.all() else ranks_of(problem, path.support)
    return _fits(path, first, norms, counts)


def along_groups(task: Task, k: int, tol: float | None, watch: Watch | None) -> ModelPath:
    """Return the path of group OMP for all columns of y together."""
    Y = task.y.reshape(len(task.y), -1)
    method = partial(in_bases, partial(group_omp, Y=Y, k=k, names=task.names), task.X, **task.options(tol))
    return _follow(method, partial(_models_of_groups, task), watch)


def _models_of_groups(task: Task, path: GroupPath) -> list[LinearFit]:
    """Return the models on the first t groups of a path, for t = f, f + 1, …, where f groups are forced.

    If y is a vector, the coefficients are vectors too. For the squared loss, a residual that is zero up to
    rounding counts as zero.
    """
    zero = product_error(len(task.y), eps_of(path.intercept_path.dtype)) * (task.loss == "squared")
    weight = np.ones(len(task.y)) if task.weight is None else task.weight
    size = np.sqrt(np.sum(weight * np.square(task.y, dtype=np.float64).T))
    norms = [0.0 if norm <= zero * size else norm for norm in path.residual_norm.tolist()]
    fits = _fits(path, len(task.forced), norms, path.ranks.tolist())
    if task.y.ndim == 1:
        fits = [fit._replace(coef=fit.coef[:, 0], intercept=fit.intercept[0]) for fit in fits]
    return fits


def along_loss(task: Task, k: int, tol: float | None, watch: Watch | None) -> ModelPath:
    """Return the path of gradient OMP. The path ends before a model would have infinite coefficients."""
    f = len(task.forced)
    options = {"loss": task.loss, **task.options(tol)}
    method: Any = partial(sl.generalized_omp, task.X, task.y, k, **options)
    if task.groups is None:
        models = partial(_models_of_loss, f, ranks_of(task.problem(), task.forced)[-1])
    else:
        method = partial(in_bases, partial(generalized_group_omp, y=task.y, k=k), task.X, **options)
        models = partial(_models_of_groups, task)
    found = _follow(method, models, watch)
    if len(found.result) < f:
        units = "features" if task.groups is None else "groups"
        why = "the data are separated" if found.status is Status.NO_MINIMUM else found.status.message
        raise ValueError(
            f"the {f} forced {units} have no model on {len(task.y)} rows: {why}. Pass fewer "
            f"forced {units}; in cross-validation you can also pass a cv that leaves fewer rows out"
        )
    return found


def reason(status: Status, path: Any, exclude: Sequence[Any], names: Names) -> str:
    """Return why a path ended early, in words that fit the parameters of a selector.

    path : the result on all columns of X.
    exclude, names : the excluded columns, and the names of the columns or None.
    """
    if status is not Status.NO_MINIMUM:
        return status.message
    (last,) = path.unfitted
    grouped = isinstance(path, GroupPath)
    columns = np.flatnonzero(path.groups == last).tolist() if grouped else [last]
    given = [*exclude, *(columns if names is None else [str(names[j]) for j in columns])]
    return (
        f"with the next {'group' if grouped else 'feature'} the data are separated, so the likelihood has no "
        f"maximum. Pass exclude={given} to go on without it"
    )


def _models_of_loss(f: int, rank: int, path: GeneralizedPath) -> list[LinearFit]:
    """Return the models on the first t features of a path, for t = f, f + 1, …, where f are forced.

    rank : the rank of the forced columns.
    """
    norms = np.sqrt(path.deviance.astype(np.float64)).tolist()
    # each selected feature is outside the span of the features before it
    return _fits(path, f, norms, range(rank - f, rank - f + len(path) + 1))


def corrected_errors(task: Task, models: list[LinearFit]) -> FloatArray:
    """Return the corrected leave-one-out errors (m,) of least squares on the features of each model.

    They are means over the columns of y. If the features of a model are the first features of the next model,
    one QR factorisation serves both (`sparselin.leave_one_out`).
    """
    errors = np.zeros(len(models))
    for y in np.atleast_2d(task.y.T):
        problem = dataclasses.replace(task, y=y, standardize=False).problem()
        last: IndexArray | None = None
        for i, model in reversed(list(enumerate(models))):
            S = model.features
            if last is None or not np.array_equal(S, last[: len(S)]):
                last = S
                path = refit(problem, S)
                found = sl.leave_one_out(task.X, y, path, sample_weight=task.weight).corrected
            errors[i] += found[len(S)] / task.outputs
    return errors


class Sets:
    """A list of subsets with f + 1, f + 2, … units, and of their models, to which subsets can be added.

    A unit is a feature or a group of features, and f of the units are forced.
    """

    def __init__(self, task: Task, tol: float | None, watch: Watch | None) -> None:
        self.task = task
        self.problem = task.problem()
        self.watch = watch
        self.status = Status.COMPLETED
        start = refit(self.problem, task.columns(task.forced))
        self.first = len(task.forced)
        self.floor = _level(self.problem, start, tol)
        self.results: list[Any] = []
        self.models = _models_of(start, self.problem, len(start))

    def within_tol(self) -> bool:
        """Return whether the last subset reaches `tol`, and set the status if it does."""
        if self.models[-1].residual <= self.floor:
            self.status = Status.TOLERANCE
        return self.status is Status.TOLERANCE

    def add(self, result: SubsetResult | SelectionPath) -> bool:
        """Add the next subset, or least squares on it, and return whether to stop."""
        self.results.append(result)
        if not isinstance(result, SelectionPath):
            result = refit(self.problem, self.task.complete(result.support))
        self.models += _models_of(result, self.problem, len(result))
        if self.watch is not None and self.watch(tuple(self.results), self.models):
            self.status = Status.STOPPED
        return self.within_tol() or self.status is Status.STOPPED

    def each(self, of_size: Callable[[int], SubsetResult | SelectionPath], k: int) -> None:
        """Add subsets with f + 1, …, k units until one of them ends the path.

        of_size : a function that returns the subset with t units; f units are forced.
        """
        for t in range(self.first + 1, k + 1):
            if self.within_tol():
                return
            result = of_size(t)
            if self.status is not Status.COMPLETED or self.add(result):
                return

    def end(self, status: Status) -> None:
        """Record the status of a search that ended by itself."""
        if self.status is Status.COMPLETED:
            self.status = status

    def path(self) -> ModelPath:
        """Return the subsets with their models."""
        return ModelPath(tuple(self.results), self.models, self.status)


def widen(
    result: Any,
    kept: IndexArray,
    d: int,
    names: Names,
    classes: Any = None,
    groups: tuple[Any, str | None] = (None, None),
) -> Any:
    """Translate a result on the columns `kept` of X into a result on all d columns.

    classes : the labels that 0 and 1 stand for, if y had labels.
    groups : the labels of the groups or None, and the rule for their weights.
    """
    if isinstance(result, tuple):
        return tuple(widen(subset, kept, d, names) for subset in result)
    columns = ("features", "forced") if isinstance(result, LassoPath) else ("support",)
    new: dict[str, Any] = {name: kept[getattr(result, name)] for name in columns}
    if isinstance(result, FittedPath):
        labels = () if classes is None else tuple(classes.tolist())
        new["fit"] = dataclasses.replace(result.fit, n_features=d, names=names, classes=labels)
    else:
        new |= {"n_features": d, "names": names}
    if isinstance(result, GroupPath):
        new["groups"] = np.full(d, -1)
        new["groups"][kept] = result.groups
        labels, new["group_weights"] = groups
        new["group_names"] = None if labels is None else tuple(map(str, labels.tolist()))
    elif isinstance(result, LassoPath):
        new["active"] = tuple(tuple(kept[list(some)].tolist()) for some in result.active)
    elif isinstance(result, GeneralizedPath):
        new["ties"] = tuple(tuple(kept[list(tied)].tolist()) for tied in result.ties)
        new["unfitted"] = tuple(kept[list(result.unfitted)].tolist())
    elif isinstance(result, SelectionPath):
        for name in ("ties", "active_sets"):
            new[name] = tuple(tuple(kept[list(some)].tolist()) for some in getattr(result, name))
        new["weights"] = tuple(dense(weights, kept, d) for weights in result.weights)
    return dataclasses.replace(result, **new)


def check_loss(selector: Any, y: Any) -> None:
    """Raise ValueError if `loss` is unknown, or if parameters or labels need another loss."""
    loss = selector.loss
    known = ["squared", *LOSSES]
    if not isinstance(loss, str) or loss not in known:
        raise ValueError(f"loss must be one of {known}; got {loss!r}")
    if loss != "squared" and selector.noise_variance is not None:
        raise ValueError(f"noise_variance must be None for loss={loss!r}: only loss='squared' takes it")
    if loss != "logistic":
        _check_no_words(y)


def _check_no_words(y: Any) -> None:
    """Raise ValueError if y holds words as class labels."""
    check_mask(y=y)
    values = np.asarray(y) if y is not None and not hasattr(y, "tocsc") else np.zeros(0)
    words = values.dtype.kind in "US" or (
        values.dtype.kind == "O" and any(isinstance(value, str) for value in values.ravel())
    )
    if words:
        raise ValueError(
            "y must hold numbers; got words. For two classes pass loss='logistic' to OMPSelector or "
            "SequentialLassoSelector; for more classes pass one-hot columns to OMPSelector: "
            "LabelBinarizer().fit_transform(y) of sklearn.preprocessing makes them"
        )


def as_outputs(y: Any, name: str, several: bool) -> FloatArray:
    """Return y as a vector, or as (n, q) if it has several columns and the selector takes them."""
    y = y.toarray() if hasattr(y, "toarray") else y
    if y.ndim == 2 and y.shape[1] > 1:
        if not several:
            raise ValueError(
                f"y must be a vector for {name}; got shape {y.shape}. OMPSelector with loss='squared' takes "
                "several outputs and one-hot classes, unless positive=True"
            )
        return np.asarray(y)
    return np.asarray(column_or_1d(y, warn=not several))


def check_group_weights(kind: Any, groups: Any) -> Any:
    """Return the weights of groups after a check of their name."""
    if kind not in (None, "sqrt", "noise"):
        raise ValueError(f"group_weights must be None, 'sqrt' or 'noise'; got {kind!r}")
    if kind is not None and groups is None:
        raise ValueError(f"group_weights={kind!r} needs groups; without them each column is a group of one")
    return kind


def is_one_hot(y: FloatArray) -> bool:
    """Return whether the rows of y (n, q) are unit vectors."""
    return y.ndim == 2 and bool(np.all((y == 0) | (y == 1)) and np.all(y.sum(axis=1) == 1))


def check_classes(y: FloatArray, classes: Any) -> None:
    """Raise ValueError if a class occurs only once, in a one-hot y or in a y with two classes."""
    each = y if classes is None else np.column_stack([1 - y, y])
    once = np.flatnonzero(each.sum(axis=0) == 1)
    if is_one_hot(each) and len(once):
        seen = f"column {int(once[0])}" if classes is None else repr(classes.tolist()[once[0]])
        raise ValueError(
            f"y has a class that occurs only once, {seen}: the fold that leaves its row out cannot learn "
            "the class. Merge or drop such classes, or pass n_features_to_select='ebic' or an integer."
        )


def check_fold(task: Task, train: IndexArray, test: IndexArray, where: str) -> None:
    """Raise ValueError if a fold cannot be used: it has no training or test rows, or its y is constant.

    where : the name of the fold, for the message.
    """
    if not (np.size(train) and np.size(test)):
        raise ValueError(f"cv must give training and test rows in each fold; {where} lacks one of them")
    y = task.y[train]
    if np.all(y == y[0]):
        raise ValueError(
            f"y is constant on the {len(y)} training rows of {where}, so nothing can be selected. If the "
            "rows are sorted by y, shuffle them: cv=KFold(5, shuffle=True, random_state=0)."
        )


def check_rank_in_folds(task: Task, splits: Sequence[Split], k: int, given: int | None) -> None:
    """Raise ValueError if the columns have a rank below k on the training rows of some fold.

    given : the `max_features` of the user, at least k, or None.
    """
    rows, number = min((len(train), i + 1) for i, (train, _) in enumerate(splits))
    most = rows - int(task.intercept)
    forced = len(task.forced)
    if k <= most:
        return
    fold = f"fold {number} of {len(splits)} has only {rows} training rows"
    rank = f"so the rank is at most {most}{' besides the intercept' if task.intercept else ''}"
    if given is None or most < max(1, forced):
        units = "features" if task.groups is None else "groups"
        todo = f"Pass fewer than {forced} forced {units}, or a cv" if forced else "Pass a cv"
        raise ValueError(
            f"{fold}, {rank}, and {k} features are to be compared. {todo} that leaves fewer rows out"
        )
    raise ValueError(
        f"max_features={given} is too large: {fold}, {rank}. Pass max_features={most} or less, or a cv that "
        "leaves fewer rows out"
    )
