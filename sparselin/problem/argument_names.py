"""scikit-learn's names of arguments and parameters: if a call uses one, the error gives the name here."""

import functools
import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any, ParamSpec, TypeVar

_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")
_Function = TypeVar("_Function", bound=Callable[..., Any])
_Class = TypeVar("_Class")

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

# a parameter of an estimator → the names of the same thing in other estimators and in our functions
_OTHER_PARAMETERS = {
    "n_features_to_select": "n_nonzero_coefs n_features k n_iter",
    "n_nonzero_coefs": "n_features_to_select n_features k n_iter",
    "max_features": "max_nonzero_coefs max_iter",
    "max_nonzero_coefs": "max_features max_iter",
    "max_iter_per_feature": "max_iter",
    "max_iter": "max_steps max_features",
    "alpha": "lam",
    "lam": "alpha",
    "fit_intercept": "intercept",
    "standardize": "normalize",
    "random_state": "rng seed",
    "positive": "nonnegative",
    "forced": "unpenalized",
}


def suggest_names(function: Callable[_Arguments, _Result]) -> Callable[_Arguments, _Result]:
    """Wrap `function` so that a call with scikit-learn's name of an argument raises a helpful TypeError.

    The message gives our name of the argument.
    """
    ours = inspect.signature(function).parameters

    @functools.wraps(function)
    def wrapper(*args: _Arguments.args, **kwargs: _Arguments.kwargs) -> _Result:
        if kwargs:
            check_names(function, kwargs, ours)
        return function(*args, **kwargs)

    return wrapper


def check_names(
    function: Callable[..., object], given: Mapping[str, object], ours: Mapping[str, object]
) -> None:
    """Raise TypeError if one of the given names is no argument of `function`; `ours` are its arguments.

    The message gives our name of the argument if the given one is scikit-learn's.
    """
    if unknown := given.keys() - ours:
        raise TypeError(_message(function, sorted(unknown), ours))


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


def suggest_parameters(cls: type[_Class]) -> type[_Class]:
    """Let the constructor of an estimator raise a helpful TypeError for parameters that the class lacks.

    The message names the class, and the parameter of the class with the same meaning if there is one. The
    signature of the constructor stays.
    """
    construct: Callable[..., None] = cls.__init__
    own = [p for name, p in inspect.signature(construct).parameters.items() if name != "self"]
    names = [p.name for p in own]
    positional = [p.name for p in own if p.kind is p.POSITIONAL_OR_KEYWORD]

    @functools.wraps(construct)
    def __init__(self: object, *args: object, **kwargs: object) -> None:
        name = type(self).__name__
        if unknown := [given for given in kwargs if given not in names]:
            raise TypeError(_message_on_parameter(name, unknown, names))
        if len(args) > len(positional):
            alone = f"takes only {', '.join(positional)} without a name" if positional else "takes only names"
            raise TypeError(f"{name} {alone}; got {len(args)} values. Pass the others as name=value")
        construct(self, *args, **kwargs)

    __init__.__qualname__ = f"{cls.__qualname__}.__init__"
    cls.__init__ = __init__  # type: ignore[method-assign]
    return cls


def _message_on_parameter(cls: str, unknown: list[str], names: list[str]) -> str:
    known = {other: name for name in names for other in _OTHER_PARAMETERS.get(name, "").split()}
    other = next((given for given in unknown if given in known), unknown[0])
    start = f"{cls} has no parameter {other}"
    if other in known:
        scale = {"lam": ", and alpha is lam/n", "alpha": ", and lam is n times alpha"}.get(other, "")
        return f"{start}; it is called {known[other]} here{scale}"
    if other in ("normalize", "standardize"):
        return f"{start}. To scale the columns, put scikit-learn's StandardScaler() before it in a Pipeline"
    return f"{start}. Its parameters are {', '.join(names)}"
