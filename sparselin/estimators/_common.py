"""The parts that the estimators share: validation, rows and targets, folds, scikit-learn's callbacks."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import math
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Self, TypeVar, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.base import _fit_context
from sklearn.feature_selection import SelectorMixin
from sklearn.model_selection import check_cv
from sklearn.utils import _safe_indexing
from sklearn.utils import metadata_routing as routing
from sklearn.utils.validation import (
    _check_method_params,
    _check_sample_weight,
    check_is_fitted,
    validate_data,
)

from sparselin.estimators._folds import MaskArray as MaskArray
from sparselin.estimators._folds import Split as Split
from sparselin.estimators._folds import refers_to_all_rows, translate_folds
from sparselin.problem import Problem
from sparselin.results import FloatArray, IndexArray, Names, SelectionPath, Status
from sparselin.results.base import check_order
from sparselin.validation import (
    check_count,
    check_design,
    check_flag,
    check_mask,
    frame_labels,
    frame_names,
    some_names,
    to_array,
)

try:
    from sklearn.callback import CallbackSupportMixin as CallbackSupportMixin
    from sklearn.callback import with_callbacks as _with_callbacks
except ImportError:  # before scikit-learn 1.9

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """A substitute for scikit-learn's mixin of this name, for versions without callbacks."""

    def _with_callbacks(method: Any) -> Any:
        """Return the method unchanged, in place of scikit-learn's decorator in versions without callbacks."""
        return method


_Method = TypeVar("_Method", bound=Callable[..., Any])


def with_callbacks(method: _Method) -> _Method:
    """Return scikit-learn's form of a method that calls callbacks; a type checker sees the same type."""
    return cast(_Method, _with_callbacks(method))


# the statuses that are no failure although the path is shorter than requested
_WELL = (Status.EXACT_FIT, Status.STOPPED, Status.TOLERANCE)


def check_parameters(method: _Method) -> _Method:
    """Return a method `fit` that first checks the parameters, as scikit-learn does."""
    return cast(_Method, _fit_context(prefer_skip_nested_validation=True)(method))


class TakesSparse(CallbackSupportMixin):  # type: ignore[misc]
    """A mixin for a linear model that takes sparse X and callbacks."""

    coef_: FloatArray
    intercept_: FloatArray | float
    n_features_in_: int
    feature_names_in_: NDArray[np.object_]

    if TYPE_CHECKING:  # whose bases have no types, so that the type of an instance would be unknown

        def __new__(cls, *args: Any, **kwargs: Any) -> Self:
            """Return an instance."""
            return cast(Self, super().__new__(cls))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def predict(self, X: Any) -> Any:
        """Predict y for X (n, d); ValueError for masked entries, or columns in another order."""
        check_columns(self, X)
        return super().predict(X)  # type: ignore[misc]

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return R² of the prediction for X (n, d) and y; `sample_weight` (n,) weighs the rows."""
        check_mask(y=y, sample_weight=sample_weight)
        return float(super().score(X, y, sample_weight))  # type: ignore[misc]


class RoutesToSplitter:
    """A mixin for an estimator with the parameter `cv`."""

    cv: Any

    def get_metadata_routing(self) -> routing.MetadataRouter:
        """Route `sample_weight` to the estimator, and other metadata to the splitter that requests them."""
        mapping = routing.MethodMapping().add(caller="fit", callee="split")
        router = routing.MetadataRouter(owner=self).add_self_request(self)
        return router.add(splitter=check_cv(self.cv), method_mapping=mapping)

    def _splits(self, data: Observations, params: dict[str, Any], *, stratified: bool = False) -> list[Split]:
        """Return the folds of `cv` as pairs (training rows, test rows) of the rows of `data`.

        A splitter splits these rows, of which none has weight zero. Pairs of index arrays, and a
        `PredefinedSplit`, refer to the rows that the caller passed. They are translated, and a fold whose
        test rows all had weight zero is left out.

        params : metadata for the splitter, for all rows that the caller passed.
        """
        cv = check_cv(self.cv, data.y, classifier=stratified)
        metadata = params
        if routing._routing_enabled():
            routed = routing.process_routing(self, "fit", sample_weight=data.weight, **params)
            metadata = routed.splitter.split
        if data.used is None:
            return list(cv.split(data.X, data.y, **metadata))
        if not refers_to_all_rows(cv):
            metadata = _check_method_params(data.used, metadata, np.flatnonzero(data.used))
            return list(cv.split(data.X, data.y, **metadata))
        return translate_folds(list(cv.split()), data.used)


class FeatureSelector(SelectorMixin):  # type: ignore[misc]
    """A selector that needs y and stores the selected features in `selected_`."""

    selected_: IndexArray
    n_features_: int
    n_features_in_: int

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags

    def transform(self, X: Any) -> Any:
        """Return the selected columns of X (n, d); ValueError for masked entries, or for another order."""
        check_columns(self, X)
        return super().transform(X)

    def _get_support_mask(self) -> Any:
        check_is_fitted(self)
        mask = np.zeros(self.n_features_in_, bool)
        mask[self.selected_] = True
        return mask


def validate(
    estimator: Any, X: Any, y: Any, sample_weight: Any, **checks: Any
) -> tuple[Any, Any, FloatArray | None]:
    """Return X, y and the weights after scikit-learn has checked them."""
    check_mask(sample_weight=sample_weight)
    X, y = validate_columns(estimator, X, y, **checks)
    if sample_weight is not None:
        sample_weight = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
    return X, y, sample_weight


def validate_columns(estimator: Any, X: Any, *y: Any, **checks: Any) -> Any:
    """Return the results of scikit-learn's `validate_data`; an error names a column that holds no numbers."""
    check_mask(y=y)
    check_columns(estimator, X, fit=checks.get("reset", True))
    try:
        return validate_data(estimator, X, *y, **checks)
    except (TypeError, ValueError):
        if hasattr(X, "columns"):
            check_design(X)
        raise


def check_columns(estimator: Any, X: Any, fit: bool = False) -> None:
    """Check what scikit-learn does not: masks, categories, labels that repeat or that are no strings.

    fit : whether X are the data of a fit, whose names are stored; otherwise they are compared with these.

    Raises ValueError if X has other labels than in the fit, or the same in another order. Of labels that are
    strings scikit-learn says so.
    """
    check_mask(X=X)
    labels = frame_labels(X)
    if len(set(labels)) < len(labels):
        twice = next(label for label in labels if labels.count(label) > 1)
        raise ValueError(
            f"X must have a different label for each column; got {twice!r} {labels.count(twice)} times. "
            "Rename the columns, or pass X.to_numpy()"
        )
    if any(str(dtype) == "category" for dtype in getattr(X, "dtypes", ()) if labels):
        to_array(X, "X")
    if fit:
        estimator._names = frame_names(X)
    if fit or any(isinstance(label, str) for label in labels):
        return
    then = getattr(estimator, "_names", None)
    now = frame_names(X)
    check_order(X, then)
    if then is not None and now is not None and now != then:
        raise ValueError(
            f"X must have the columns of the fit, {some_names(then)}, in this order; got {some_names(now)}. "
            "Pass X.to_numpy() to take them by position"
        )


def without_weightless(X: Any, y: Any, weight: FloatArray | None) -> tuple[Any, Any, Any, MaskArray | None]:
    """Leave out the rows of weight zero; return X, y, the weights, and the mask of the rows that are left.

    The mask is None if no weight is zero.
    """
    if weight is None or weight.all():
        return X, y, weight, None
    used = weight > 0
    rows = np.flatnonzero(used)
    return _safe_indexing(X, rows), _safe_indexing(y, rows), weight[rows], used


def weights_of_all(sample_weight: Any) -> FloatArray | None:
    """Return the weights of all rows that the caller passed, zeros included, as an array, or None."""
    return None if sample_weight is None else np.asarray(sample_weight, np.float64)


def _is_plain(data: Any, ndim: int) -> bool:
    """Return whether `data` is an array of floats of this dimension that is not empty; a vector is finite."""
    if type(data) is not np.ndarray or data.ndim != ndim or data.dtype not in (np.float64, np.float32):
        return False
    return data.size > 0 and (ndim > 1 or math.isfinite(float(np.vdot(data, data))))


def number_to_select(given: Any, most: int, of: str = "n_features") -> int:
    """Return the number that an `n_features_to_select` requests, which is an integer or a share of `most`.

    of : the name of `most`, for the message.
    """
    if given is None or isinstance(given, str):
        raise TypeError(f"n_features_to_select must be an integer or a share in (0, 1]; got {given!r}")
    if isinstance(given, float | np.floating):
        if not 0 < given <= 1:
            words = f"n_features_to_select as a share must be in (0, 1]; got {given}. Pass k as an int"
            raise ValueError(words)
        return max(1, int(float(given) * most))
    k = check_count(given, "n_features_to_select", 1)
    if k > most:
        raise ValueError(f"n_features_to_select={k} is more than there are to select from: {of}={most}")
    return k


def names_of(estimator: Any) -> Names:
    """Return the names of the features, or None if X had no names."""
    names = getattr(estimator, "feature_names_in_", None)
    return None if names is None else tuple(names)


@dataclasses.dataclass(frozen=True)
class Observations:
    """Validated rows: X (n, d), y (n,) or (n, q), weights (n,) > 0 or None, and the names of the columns.

    Rows of weight zero are left out, so that they are as if removed in fits, folds, criteria and ranks.

    used : (N,) whether each of the N rows that the caller passed is among the n rows; None if all are.
    """

    X: Any
    y: FloatArray
    weight: FloatArray | None
    names: Names
    intercept: bool
    standardize: bool = False
    used: MaskArray | None = None

    @classmethod
    def of_fit(
        cls, estimator: Any, X: Any, y: Any, sample_weight: Any, *, by_rows: bool = False, **checks: Any
    ) -> Self:
        """Validate the data of an estimator that has the parameter `fit_intercept`.

        X becomes an array or a CSC array of floats. Set `by_rows` if rows of X are taken later. In this case
        a sparse X becomes CSR, and X is checked for NaN and infinity here. Otherwise `Problem` checks X
        later, when it measures the columns. The checks of scikit-learn take longer than a small fit. They are
        skipped for arrays of floats, if y is finite and there are no weights.
        """
        data = X
        weight = sample_weight
        simple = not by_rows and checks.keys() <= {"multi_output"}
        if weight is None and simple and _is_plain(X, 2) and _is_plain(y, 1) and len(X) == len(y):
            estimator.n_features_in_ = X.shape[1]
            vars(estimator).pop("feature_names_in_", None)
            vars(estimator).pop("_names", None)
        else:
            X, y, weight = validate(
                estimator,
                X,
                y,
                sample_weight,
                accept_sparse="csr" if by_rows else "csc",
                dtype=[np.float64, np.float32],
                ensure_all_finite=by_rows,
                y_numeric=True,
                **checks,
            )
        X, y, weight, used = without_weightless(X, y, weight)
        names = names_of(estimator) or frame_names(data)
        names = None if names is None or len(set(names)) < len(names) else names
        intercept = check_flag(estimator.fit_intercept, "fit_intercept")
        return cls(X, y, weight, names, intercept, used=used)

    @property
    def total(self) -> float:
        """The sum of the weights Σ w_i, or the number of rows without weights; it is no number of rows."""
        return float(len(self.y) if self.weight is None else self.weight.sum(dtype=np.float64))

    @property
    def mean_log_weight(self) -> float:
        """The mean of ln w_i, or 0 without weights.

        If y_i ~ N(μ_i, σ²/w_i), then −2·log-likelihood is Σ ln(2πσ²/w_i) + Σ w_i(y_i − μ_i)²/σ². With the
        term −Σ ln w_i it does not depend on the unit of the weights: for weights c·w, cσ² takes the place of
        σ².
        """
        return 0.0 if self.weight is None else float(np.mean(np.log(self.weight, dtype=np.float64)))

    @property
    def outputs(self) -> int:
        """The number of columns of y."""
        return 1 if self.y.ndim == 1 else self.y.shape[1]

    def rows(self, rows: IndexArray) -> Self:
        """Return the data restricted to some rows."""
        weight = None if self.weight is None else self.weight[rows]
        return dataclasses.replace(self, X=self.X[rows], y=self.y[rows], weight=weight)

    def problem(self) -> Problem:
        """Return the least squares problem with one target."""
        return Problem(
            self.X,
            self.y,
            sample_weight=self.weight,
            intercept=self.intercept,
            standardize=self.standardize,
            names=self.names,
        )

    def targets(self, task: FitTask, most: int) -> Iterator[tuple[Self, FitTask]]:
        """Yield, for each column of y, the data with this column as y, and the task of fitting it.

        If there is only one column, it has the given task. Otherwise each column has a subtask, of at most
        `most` parts, which ends before the next one begins.
        """
        for column in np.atleast_2d(self.y.T):
            subtask = task if self.outputs == 1 else task.subtask("target", most)
            yield dataclasses.replace(self, y=column), subtask
            if self.outputs > 1:
                subtask.end()


def set_model(estimator: Any, data: Observations, coef: FloatArray, intercept: FloatArray) -> None:
    """Set `coef_` and `intercept_` in scikit-learn's shapes, from arrays (N, d) and (N,) for N targets."""
    estimator.coef_ = coef[0] if len(coef) == 1 else coef
    intercept = intercept[0] if data.y.ndim == 1 else intercept
    estimator.intercept_ = intercept if estimator.fit_intercept else 0.0


def model_attributes(estimator: Any, path: SelectionPath) -> dict[str, Any]:
    """Return the attributes that the estimator would have if the path of one target ended at this point."""
    intercept = path.intercept_path[-1] if estimator.fit_intercept else 0.0
    return {"coef_": path.dense_coef(), "intercept_": intercept, "n_iter_": len(path)}


def paths_of_targets(
    estimator: Any, data: Observations, k: int, task: FitTask, method: Callable[..., SelectionPath]
) -> list[SelectionPath]:
    """Run a method with at most k features on each target, and report each feature to the callbacks.

    method : a function of a `Problem`, k and the keyword `callback`.
    """
    attributes = functools.partial(model_attributes, estimator) if data.outputs == 1 else None
    paths = []
    for target, subtask in data.targets(task, k):
        with subtask.steps("pick", k, attributes) as callback:
            paths.append(method(target.problem(), k, callback=callback))
    return paths


def warn_if_short(
    data: Observations, counts: list[int], statuses: Sequence[Status], k: int, tol: float | None = None
) -> None:
    """Warn if the path of a target ended before it had k features or, if `tol` is given, before ‖r‖² ≤ tol.

    counts, statuses : the number of features and the status of each path.
    """
    wanted = [i for i, t in enumerate(counts) if t < k or tol is not None]
    short = [i for i in wanted if statuses[i] not in _WELL]
    if short:
        i = short[0]
        where = "" if data.y.ndim == 1 else f" for {len(short)} of {len(counts)} targets, the first {i}"
        why = "no features are left" if statuses[i] is Status.COMPLETED else statuses[i].message
        goal = f"of {k} requested" if tol is None else f"and ‖r‖² above tol={tol:g}"
        message = f"the path ended with {counts[i]} features {goal}{where}: {why}"
        warnings.warn(message, RuntimeWarning, stacklevel=5)


def mean_squares(residuals: FloatArray, weight: FloatArray | None) -> FloatArray:
    """Return the (weighted) mean squares (m,) of residuals (n, m)."""
    return np.asarray(np.average(np.square(residuals, dtype=np.float64), axis=0, weights=weight))


class FitTask:
    """A fit, or a part of a fit, that is reported to scikit-learn's callbacks (SLEP023).

    If there are no callbacks, `context` is None and the methods do nothing.
    """

    def __init__(self, context: Any, data: dict[str, Any], attributes: Any = None) -> None:
        self.context, self.data = context, data
        if context is not None:
            context.call_on_fit_task_begin(**data, reconstruction_attributes=attributes)

    @classmethod
    def of_fit(
        cls, estimator: Any, X: Any, y: Any, weight: FloatArray | None, most: int, *, in_order: bool = True
    ) -> FitTask:
        """Begin the task of a whole fit.

        most : the largest number of its parts.
        in_order : whether its parts begin one after the other. If not, each part needs a number.
        """
        if not hasattr(estimator, "_init_callback_context"):
            return cls(None, {})
        context = estimator._init_callback_context(max_subtasks=most, sequential_subtasks=in_order)
        metadata = None if weight is None else {"sample_weight": weight}
        return cls(context, {"estimator": estimator, "X": X, "y": y, "metadata": metadata})

    def subtask(self, name: str, most: int = 0, number: int | None = None, attributes: Any = None) -> FitTask:
        """Begin a part of the task, and return it.

        most : the largest number of parts of the new task.
        number : the number of the new task, if the parts do not begin in order.
        attributes : a function that returns the attributes of the estimator at this point.
        """
        if self.context is None:
            return self
        context = self.context.subcontext(task_name=name, task_id=number, max_subtasks=most)
        return FitTask(context, self.data, attributes)

    def end(self, attributes: Any = None) -> bool:
        """End the task, and return whether a callback requests that the path end here."""
        if self.context is None:
            return False
        return bool(self.context.call_on_fit_task_end(**self.data, reconstruction_attributes=attributes))

    @contextlib.contextmanager
    def steps(
        self, name: str, most: int, attributes: Callable[..., dict[str, Any]] | None
    ) -> Iterator[Callable[..., bool] | None]:
        """Report the steps of a method to scikit-learn's callbacks, as subtasks, inside a `with` block.

        The block gets a `callback` that the method must call with its path after each step, or None if there
        is nothing to report. Each step is reported to begin as soon as the step before it has ended. If the
        path ends after a step, the next step has already begun; it is reported as a task without attributes,
        as in scikit-learn.
        """
        if self.context is None or not hasattr(self.data["estimator"], "_skl_callbacks"):
            yield None
            return
        count = 0
        step = self.subtask(name) if most else None

        def callback(*result: Any) -> bool:
            nonlocal count, step
            count += 1
            now = None if attributes is None else functools.partial(attributes, *result)
            stop = step.end(now) if step is not None else True
            step = None if stop or count == most else self.subtask(name, attributes=now)
            return stop

        yield callback
        if step is not None:
            step.end()
