"""A call with scikit-learn's name of an argument names ours, and nothing else of a function changes."""

import inspect
import pickle

import numpy as np
import pytest
from refusals import refuses

import sparselin as sl
from sparselin.problem.argument_names import _THEIRS

FUNCTIONS = [
    function
    for function in (getattr(sl, name) for name in sl.__all__)
    if inspect.isfunction(function)
    and next(iter(inspect.signature(function).parameters)) in ("X", "D", "source")
]
CALLS = [
    (function, theirs, ours)
    for function in [*FUNCTIONS, sl.Problem]
    for ours, names in _THEIRS.items()
    for theirs in names.split()
    if ours in inspect.signature(function).parameters
]


def test_calls_are_tried_of_every_name():
    assert {ours for _, _, ours in CALLS} == set(_THEIRS)
    assert len(FUNCTIONS) > 20


@pytest.mark.parametrize(
    ("function", "theirs", "ours"), CALLS, ids=lambda part: getattr(part, "__name__", part)
)
def test_the_error_names_our_argument(function, theirs, ours):
    data = () if function is sl.explore else (np.eye(3), np.ones(3))
    words = rf"^{function.__name__} has no argument {theirs}; it is called \w+ here"
    with pytest.raises(TypeError, match=words) as e:
        function(*data[: 1 if function is sl.compress else 2], **{theirs: 1})
    names = str(e.value).split()
    assert names[names.index("called") + 1] in inspect.signature(function).parameters
    assert (f"{ours} is n times {theirs}" in str(e.value)) == theirs.startswith("alpha")


def test_the_message_in_full():
    with pytest.raises(TypeError) as e:
        sl.omp(np.eye(3), np.ones(3), n_nonzero_coefs=2)
    assert str(e.value) == "omp has no argument n_nonzero_coefs; it is called k here"
    assert e.value.__context__ is None


OTHER_ERRORS = [
    (lambda: sl.omp(np.eye(3), np.ones(3), 2, alpha=1), "unexpected keyword argument 'alpha'"),
    (lambda: sl.omp(np.eye(3), np.ones(3), 2, colour=1), "unexpected keyword argument 'colour'"),
    (lambda: sl.omp(np.eye(3), np.ones(3)), "missing 1 required positional argument: 'k'"),
    (lambda: sl.omp(np.eye(3), np.ones(3), 2.5), "^k must be"),
    (lambda: sl.batch_omp(np.eye(3), np.ones((3, 2)), 2, fit_intercept=True), "unexpected keyword"),
]


@pytest.mark.parametrize(("call", "message"), OTHER_ERRORS)
def test_other_errors_stay(call, message):
    refuses(message, call, error=TypeError)


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_functions_stay_what_they_were(function):
    assert pickle.loads(pickle.dumps(function)) is function
    assert inspect.getdoc(function)
    assert not {"kwargs", "data"} & set(inspect.signature(function).parameters)
