"""scikit-learn's names of arguments: if a call uses one, the error message gives our name of the argument."""

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any, ParamSpec, TypeVar

_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")
_Function = TypeVar("_Function", bound=Callable[..., Any])

# our name → scikit-learn's names of the same thing
_THEIRS = {
    "k": "n_nonzero_coefs n_features_to_select n_iter max_features",
    "lam": "alpha",
    "lam_min": "alpha_min alpha alphas eps",
    "max_steps": "max_iter n_iter n_alphas",
    "intercept": "fit_intercept",
    "standardize": "normalize",
    "sample_weight": "weights",
    "rng": "random_state",
    "D": "dictionary",
}


def suggest_names(function: Callable[_Arguments, _Result]) -> Callable[_Arguments, _Result]:
    """Wrap `function` so that a call with scikit-learn's name of an argument raises a helpful TypeError.

    The message gives our name of the argument.
    """
    ours = inspect.signature(function).parameters

    @functools.wraps(function)
    def wrapper(*args: _Arguments.args, **kwargs: _Arguments.kwargs) -> _Result:
        if unknown := kwargs.keys() - ours:
            raise TypeError(_message(function, sorted(unknown), ours))
        return function(*args, **kwargs)

    return wrapper


def _message(function: Callable[..., object], unknown: list[str], names: Iterable[str]) -> str:
    known = {theirs: ours for ours in names for theirs in _THEIRS.get(ours, "").split()}
    theirs = next((name for name in unknown if name in known), unknown[0])
    ours = known.get(theirs)
    if ours is None:  # Python's own words
        return f"{function.__qualname__}() got an unexpected keyword argument {theirs!r}"
    called = function.__qualname__.removesuffix(".__init__")
    scale = f", and {ours} is n times {theirs}" if theirs.startswith("alpha") else ""
    scale += ". For one α, take .at(n·α) of the path" if (theirs, ours) == ("alpha", "lam_min") else ""
    return f"{called} has no argument {theirs}; it is called {ours} here{scale}"


def take_options(function: _Function, inner: Callable[..., Any]) -> _Function:
    """Give a function that passes **options on the name, the docstring and the options of the inner one."""
    outer = inspect.signature(function)
    functools.update_wrapper(function, inner, ("__module__", "__name__", "__qualname__", "__doc__"))
    own = [p for p in outer.parameters.values() if p.kind is not p.VAR_KEYWORD]
    theirs = [p for p in inspect.signature(inner).parameters.values() if p.kind is p.KEYWORD_ONLY]
    options = [p for p in theirs if p.name not in outer.parameters]
    whole = sorted([*options, *own], key=lambda p: p.kind)  # positional ones first; the sort is stable
    function.__signature__ = outer.replace(parameters=whole)  # type: ignore[attr-defined]
    return function
