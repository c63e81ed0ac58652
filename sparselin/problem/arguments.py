"""The first arguments of a public function: X and y, or one `Problem` in place of both."""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable
from typing import Any, Concatenate, ParamSpec, Protocol, TypedDict, TypeVar, Unpack, overload

import numpy as np
from numpy.typing import ArrayLike

from sparselin.parallel.threads import limit_blas
from sparselin.problem.argument_names import check_names
from sparselin.problem.operators import is_operator
from sparselin.problem.problem import Problem
from sparselin.problem.support import no_operator
from sparselin.results import IndexArray

_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")
_Result_co = TypeVar("_Result_co", covariant=True)


class DataOptions(TypedDict, total=False):
    """The options of `Problem` that functions of X and y have too; a function takes them as `**data`."""

    intercept: bool
    standardize: bool
    sample_weight: ArrayLike | None


class _TakesProblem(Protocol[_Arguments, _Result_co]):
    """The type of a function that can be called as f(X, y, ...) or as f(problem, ...)."""

    @overload
    def __call__(self, X: Problem, *args: _Arguments.args, **kwargs: _Arguments.kwargs) -> _Result_co: ...
    @overload
    def __call__(self, X: Any, y: Any, *args: _Arguments.args, **kwargs: _Arguments.kwargs) -> _Result_co: ...


def takes_problem(
    function: Callable[Concatenate[Any, Any, _Arguments], _Result],
) -> _TakesProblem[_Arguments, _Result]:
    """Allow f(problem, ...) as well as f(X, y, ...). With a problem, y is left out or None.

    If the function has `**data`, its signature shows the options of `DataOptions` instead, before `callback`.
    """
    signature = inspect.signature(function)
    own = [p for p in signature.parameters.values() if p.kind is not p.VAR_KEYWORD]
    if len(own) < len(signature.parameters):
        at = len(own) - (own[-1].name == "callback")
        whole = signature.replace(parameters=[*own[:at], *_data_options(), *own[at:]])
        function.__signature__ = whole  # type: ignore[attr-defined]
    ours = inspect.signature(function).parameters

    @functools.wraps(function)
    def wrapper(X: Any, *args: Any, **kwargs: Any) -> _Result:
        if kwargs:
            check_names(function, kwargs, ours)
        # The argument after a Problem is k or λ, a number. A vector in its place is y, which `as_problem`
        # refuses.
        if isinstance(X, Problem) and (not args or (args[0] is not None and np.ndim(args[0]) == 0)):
            args = (kwargs.pop("y", None), *args)
        with limit_blas(X.n * X.d if isinstance(X, Problem) else math.prod(getattr(X, "shape", ()))):
            return function(X, *args, **kwargs)

    return wrapper


@functools.cache
def _data_options() -> list[inspect.Parameter]:
    given = inspect.signature(Problem).parameters
    return [given[name] for name in DataOptions.__annotations__]


def rows_with_weight(problem: Problem, X: Any, sample_weight: Any) -> IndexArray:
    """Return the rows of `as_problem(X, y, sample_weight=…)` that have a positive weight.

    Only the weights can tell, because a row of weight 1 may be zero in X and in y. A `Problem` does not keep
    them; see `Problem.weighted_rows`.
    """
    if isinstance(X, Problem):
        return problem.weighted_rows()
    if sample_weight is None:
        return np.arange(problem.n)
    return np.flatnonzero(np.asarray(sample_weight) > 0)


def as_problem(X: Any, y: Any, *, operator: bool = False, **data: Unpack[DataOptions]) -> Problem:
    """Return X if it is a problem, or else the problem of (X, y).

    Raises TypeError if X is a LinearOperator and `operator` is false.
    """
    if not operator and (is_operator(X) or (isinstance(X, Problem) and X.kind == "operator")):
        raise no_operator()
    if not isinstance(X, Problem):
        if y is None:
            raise TypeError("y is missing. Pass X and y, or one Problem in place of both")
        return Problem(X, y, **data)
    if y is not None:
        raise TypeError("got a Problem and a y, but the Problem holds its own y. Leave y out")
    for name in ("sample_weight", "intercept", "standardize"):
        if data.get(name) is not None and data.get(name) is not False:
            raise ValueError(f"{name} must be passed with the data, as in Problem(X, y, {name}=...)")
    return X
