"""Every cell of `sparselin.problem.support`: a call that is supported is right, another is refused."""

import inspect
import itertools

import forms
import numpy as np
import pytest
import scipy.sparse
from methods import LAM, METHODS, NU
from scipy.sparse.linalg import aslinearoperator

import sparselin as sl
from sparselin.problem.support import DATA, OPTIONS, SUPPORT, takers

KEYWORDS = {"weights": "sample_weight"}
WEIGHTS = np.array([2, 1, 3, 1] * 4)
VALUES = {
    "intercept": True, "standardize": True, "weights": WEIGHTS, "forced": (5,), "positive": True, "tol": 0.3,
}  # fmt: skip
# Intervals widen by the rounding of a Gram matrix, or of a factor.
EPS = {("guarantee_bounds", "Gram"): 1e-3, ("guarantee_bounds", "compressed"): 1e-3}
# An option that a function lacks is no keyword of it, whatever the data.
CELLS = [(name, data, option) for name in SUPPORT for data in DATA for option in ("", *SUPPORT[name].options)]

PAIRS = [
    (name, one, other)
    for name, support in SUPPORT.items()
    for one, other in itertools.combinations(support.options, 2)
    if "float32" in support.data and not {("float32", one), ("float32", other)} & set(support.refused)
]


def design():
    """Integers X (16, 8) and y, with a clear first pick, and none of the columns centred."""
    rng = np.random.default_rng(11)
    X = rng.integers(-6, 7, (16, 8)).astype(float)
    return X, X[:, [1, 4, 6]] @ np.array([9.0, 5.0, 3.0]) + rng.integers(-2, 3, 16)


def turn(X):
    """Return the columns times 1, i, −1, −i, …: moduli of correlations, and residuals, stay the same."""
    return X * np.resize([1, 1j, -1, -1j], X.shape[1])


def given(data, X, y, at_problem):
    """X and y in the form `data`; options of a compressed problem enter when it is made."""
    if data == "Gram":
        return sl.Problem.from_gram(X.T @ X, X.T @ y, y @ y), None
    if data == "compressed":
        chunk = (X, y, at_problem.pop("sample_weight")) if "sample_weight" in at_problem else (X, y)
        return sl.compress([chunk], **at_problem), None
    form = {
        "sparse": scipy.sparse.csc_array,
        "float32": np.float32,
        "operator": aslinearoperator,
        "complex": turn,
    }.get(data, np.asarray)
    return form(X), y


def call(name, data, option, X, y, **options):
    """The result of a cell of the table, or with other options."""
    if option:
        options[KEYWORDS.get(option, option)] = VALUES[option]
    reduced = data == "compressed" and option in OPTIONS[:3]
    X, y = given(data, X, y, dict(options) if reduced else {})
    options = {} if reduced else options
    if name == "hadamard_descent":
        options.setdefault("tol", 1e-6)
    if name == "batch_omp":
        return sl.batch_omp(X, y if y is None else np.column_stack([y, 2 * y]), 4, **options)
    if name == "explain":
        path = sl.omp(X, y, 4, **options)
        return sl.explain(X, y, path, int(path.support[-1]), **options)
    if METHODS[name].function:
        return METHODS[name].function(X, y, *METHODS[name].arguments, **options)
    method = METHODS[name]
    if name == "submodularity_ratio":
        return sl.submodularity_ratio(X, y, (), 2, **options)
    arguments = [0.5 if value is LAM else value for value in method.arguments]
    named = {key: 1e-3 if value is NU else value for key, value in method.options.items()}
    if name == "exact_recovery_coefficient":
        return sl.exact_recovery_coefficient(X, (1, 4))
    return getattr(sl, name)(*((X, y) if method.takes_y else (X,)), *arguments, **named, **options)


FIELDS = (
    "support", "lam_star", "residual_norm", "knots", "tied", "active", "u", "value", "lower", "upper", "best",
    "lambda_min", "lambda_max", "gain", "nu", "paths", "deviance", "residual_norms",
    "values", "corrected", "numbers", "distances_y",
)  # fmt: skip


def facts(found):
    """The decisions and numbers of a result that do not depend on the form of the data."""
    if isinstance(found, (float, np.ndarray)):
        return {"": np.asarray(found)}
    if isinstance(found, sl.results.Certificate):
        return {"picks": np.array([step.pick for step in found.steps])}
    values = {name: getattr(found, name) for name in FIELDS if hasattr(found, name)}
    if isinstance(found, sl.results.TheoremCheck):
        values = {"support": found.path.support, "lam_star": found.lam_star}
    if isinstance(found, sl.results.DescentResult):
        values = {"objective": found.objective[-1:]}
    return {name: value for name, value in values.items() if not isinstance(value, str)}


def ends(value):
    """The ends of an interval, or the value itself."""
    return (value.lower, value.upper) if isinstance(value, sl.results.Interval) else value


def same(found, expected, eps):
    """Assert that two results agree to eps of the largest entry of each field."""
    ours, theirs = facts(found), facts(expected)
    assert ours.keys() == theirs.keys()
    assert ours
    if isinstance(found, sl.results.DescentResult):  # both are within their gaps of the least objective
        eps += (found.duality_gap + expected.duality_gap) / theirs["objective"][0]
    for name, value in theirs.items():
        if name in ("active", "tied") and value and isinstance(value[0], tuple):
            assert getattr(found, name) == value, name
            continue
        now, was = (np.asarray(ends(part), float) for part in (ours[name], value))
        np.testing.assert_allclose(now, was, rtol=eps, atol=eps * max(1.0, np.nanmax(np.abs(was), initial=0)))


def reference(name, option, X, y):
    """The dense float64 result without the option: repeated rows, centred or scaled data."""
    if name in ("stability_selection", "generalized_omp", "explain", "leave_one_out"):
        return None  # rows are drawn; a loss for each row; explanations of another path; equal rows
    if option == "weights":
        return call(name, "dense", "", np.repeat(X, WEIGHTS, axis=0), np.repeat(y, WEIGHTS))
    if option == "intercept":
        return call(name, "dense", "", X - X.mean(axis=0), y - y.mean())
    if option == "standardize":
        return call(name, "dense", "", X / np.sqrt((X**2).mean(axis=0)), y)
    return None


@pytest.mark.parametrize(("name", "data", "option"), CELLS)
def test_a_cell_is_right_or_refused(name, data, option):
    X, y = design()
    support = SUPPORT[name]
    if data not in support.data or (data, option) in support.refused:
        with pytest.raises((TypeError, ValueError)) as caught:
            call(name, data, option, X, y)
        if data in ("operator", "complex") and data not in support.data:
            assert takers(data) in str(caught.value)
        return
    found = call(name, data, option, X, y)
    expected = call(name, "dense", option, X, y)
    eps = EPS.get((name, data), 2e-3 if data == "float32" else 1e-5)
    same(found, expected, eps)
    if (other := reference(name, option, X, y)) is not None:
        same(found, other, eps)


@pytest.mark.parametrize(("name", "one", "other"), PAIRS)
def test_pairs_of_options_are_right_in_float32(name, one, other):
    """λ* of float32 data was wrong with `positive` and weights, and right with either."""
    X, y = design()
    more = {KEYWORDS.get(other, other): VALUES[other]}
    same(call(name, "float32", one, X, y, **more), call(name, "dense", one, X, y, **more), 2e-3)


@pytest.mark.parametrize("name", SUPPORT)
def test_the_options_are_those_of_the_signature(name):
    parameters = inspect.signature(getattr(sl, name)).parameters
    found = tuple(option for option in OPTIONS if KEYWORDS.get(option, option) in parameters)
    assert found == SUPPORT[name].options


def test_every_method_has_a_row():
    assert list(SUPPORT) == forms.names()


# The table of docs/data.md, which `python -m tests.forms` writes


@pytest.mark.parametrize("name", forms.names())
def test_the_table_tells_what_happens(name):
    """Rewrite the table by `python -m tests.forms` if this fails."""
    lines = forms.find_table(forms.PAGE.read_text(encoding="utf-8")).splitlines()
    rows = [line[2:-2].split(" | ") for line in lines]
    assert [tuple(row[1:]) for row in rows if f"`{name}`" in row[0].split(", ")] == [forms.cells(name)]


def test_the_table_has_no_other_function():
    assert forms.find_table(forms.PAGE.read_text(encoding="utf-8")) == forms.table()


@pytest.mark.parametrize("name", forms.names())
def test_a_large_sparse_design_stays_sparse_or_is_refused_before_it_is_copied(name):
    """The design would need 7 GiB as an array."""
    error, peak = forms.on_large(name)
    assert peak < 2**26
    assert isinstance(error, MemoryError) == forms.SUPPORT[name].copies
    if error is not None:
        assert isinstance(error, MemoryError)
        assert "GiB as a dense array of shape" in str(error)
