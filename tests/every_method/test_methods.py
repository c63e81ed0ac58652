"""The table of `methods.py`: every method keeps every invariance, or lacks it for the reason given.

Rounding: where exact arithmetic would give the same, both runs are exact for data with columns off by
η = 8·eps·√n of their length each. Least squares on S with κ = κ(X_S) then moves β by at most
ηκ(2‖β‖ + (κ + 1)‖r‖/σ_max) ≤ 4ηκ²‖y‖/σ_max (Wedin), what is of degree (a, b) by 4ηκ²‖X_j‖ᵃ‖y‖ᵇ, and sums of
four by 16ηκ². Of a Gram matrix, which knows lengths in their squares, κ is squared once more.
"""

import contextlib
import dataclasses
import functools
import inspect
import itertools
from fractions import Fraction

import numpy as np
import pytest
from bits import bits
from invariances import DESIGNS, INVARIANCES, N
from kinds import EQUAL, NUMBER, PROPERTIES, RESULTS, WORK
from methods import METHODS, Levels
from refusals import refuses

import sparselin as sl
from sparselin import _kernels
from sparselin.problem.support import SUPPORT
from sparselin.results import Fit

# What follows


def parts_of(name):
    """The name of a field, and for the record of a fit the names of its own, properties of the result."""
    return [field.name for field in dataclasses.fields(Fit)] if name == "fit" else [name]


def facts(value, kind, name=""):
    """All that a result holds, field by field: name, kind, value."""
    if (fields := RESULTS.get(type(value))) and kind.what != "witness":
        assert list(fields) == [name for field in dataclasses.fields(value) for name in parts_of(field.name)]
        for field, kind_of_field in (fields | PROPERTIES.get(type(value), {})).items():
            if kind.what == "work":
                kind_of_field = kind
            elif kind.what == "number" and kind_of_field in (NUMBER, WORK):  # as of an interval that holds it
                kind_of_field = kind._replace(what=kind_of_field.what)
            yield from facts(getattr(value, field), kind_of_field, f"{name}.{field}")
    elif kind.what == "witness":
        yield name, kind, None
    elif isinstance(value, tuple) and not all(isinstance(v, (int, np.integer)) for v in value):
        for i, part in enumerate(value):
            yield from facts(part, EQUAL if isinstance(part, str) else kind, f"{name}[{i}]")
    else:
        yield name, kind, value


@functools.cache
def condition(data, shape):
    """The largest κ of four columns that are independent."""
    X = np.frombuffer(data).reshape(shape)
    X = X[:, np.linalg.norm(X, axis=0) > 0]
    kappas = np.linalg.cond(X.T[list(itertools.combinations(range(X.shape[1]), 4))])
    return kappas[kappas < 1e8].max()


def in_terms_of_the_first(kind, now, second, change):
    """`now` with the change undone."""
    what, a, b = kind
    if what in ("indices", "set"):
        place = np.append(np.arange(99) if change.order is None else change.order, -1)
        now = place[np.asarray(now, int)]
        return np.sort(now) if what == "set" else now
    if what in ("column", "fit") and change.order is not None:
        now = now[..., np.argsort(change.order)]
    if what == "sample" and change.Q is not None:
        now = change.Q.T @ now
    if isinstance(now, Fraction):
        return now / Fraction(np.max(change.of_X) ** a * change.of_y**b)
    if not (a or b):
        return np.asarray(now)
    of_X = change.of_X if a else 1.0
    if np.ndim(of_X):  # of the columns that were selected
        of_X = of_X[second.support] if np.ndim(now) and hasattr(second, "support") else 1.0
        if np.ndim(of_X) and np.shape(now)[-1:] == (2,):  # bounds, a row for each column
            of_X = of_X.reshape(-1, *[1] * (now.ndim - 1))
    return np.asarray(now, float) / (of_X**a * change.of_y**b)


def bound(was, of_X, of_y, change, X, y):
    norms = np.linalg.norm(X, axis=0)
    size = norms.max() if of_X > 0 else norms[norms > 0].min()
    size = np.maximum(size**of_X * np.linalg.norm(y, axis=0).max() ** of_y, np.nan_to_num(np.abs(was)))
    return 16 * 8 * change.eps * np.sqrt(N) * condition(X.tobytes(), X.shape) ** change.power * size


def assert_follows(name, kind, was, now, first, second, change, X, y):
    """`now` equals `was` after the change is undone, to the bound on rounding."""
    what = kind.what
    moved = change.order is not None or np.any(change.of_X != 1) or change.of_y != 1
    exact = not change.eps or what in ("indices", "set", "equal") or isinstance(was, Fraction)
    if what == "witness" or (what == "state" and moved) or (what in ("work", "state") and not exact):
        return
    if isinstance(now, np.ndarray) and now.dtype.kind == "f":
        assert now.dtype == (np.float64 if what == "double" else change.dtype), name
    now = in_terms_of_the_first(kind, now, second, change)
    was = np.sort(was) if what == "set" else np.asarray(was)
    if exact:
        assert np.array_equal(was, now, equal_nan=was.dtype.kind == "f"), name
    elif what == "fit":  # ½‖X(β − β*)‖² is at most the gap
        gaps = np.sqrt(2 * first.duality_gap) + np.sqrt(2 * second.duality_gap) / change.of_y
        assert np.linalg.norm(X @ (now - was)) <= gaps, name
    else:
        assert was.shape == now.shape, name
        with np.errstate(invalid="ignore"):
            near = np.abs(now - was) <= bound(was, kind.of_X, kind.of_y, change, X, y)
        assert np.all(near | (now == was) | (np.isnan(now) & np.isnan(was))), name


@functools.cache
def usual(name, design):
    return METHODS[name].call(*data_for(name, design))


def data_for(name, design):
    X, y, Y, levels = DESIGNS[design]
    return X, Y if METHODS[name].many else y, levels


def assert_kept(name, invariance, design):
    call, usual_data = METHODS[name].call, data_for(name, design)
    for change in INVARIANCES[invariance](*usual_data):
        first = call(*change.was[:3], **dict(*change.was[3:])) if change.was else usual(name, design)
        second = call(*change.now[:3], **dict(*change.now[3:]))
        X, y = (change.was or usual_data)[:2]
        facts_of_both = (facts(result, METHODS[name].returns) for result in (first, second))
        for (field, kind, was), (same_field, _, now) in zip(*facts_of_both, strict=True):
            assert field == same_field
            assert_follows(field, kind, was, now, first, second, change, X, y)


# The table


@pytest.mark.parametrize("flag", [{"intercept": "no"}, {"standardize": 1}])
@pytest.mark.parametrize("name", METHODS)
def test_flags_are_true_or_false(name, flag):
    words = "must be True or False; got|unexpected keyword|has no argument"
    refuses(words, METHODS[name].call, *data_for(name, "tall"), error=TypeError, **flag)


def test_every_public_method_that_takes_a_design_is_in_the_table():
    takes_X = {
        name for name in sl.__all__
        if inspect.isfunction(getattr(sl, name))
        and next(iter(inspect.signature(getattr(sl, name)).parameters)) in ("X", "D")
    }  # fmt: skip
    takes_X -= {"explore", "knockoffs"}  # a picture of two or three rows; it needs 2d rows and a seed
    assert {method.name for method in METHODS.values()} == takes_X
    for method in METHODS.values():
        for lack in method.lacks:
            assert lack in INVARIANCES or (lack[0] in INVARIANCES and lack[1] in DESIGNS), method.id


@pytest.mark.parametrize("invariance", INVARIANCES)
@pytest.mark.parametrize("name", METHODS)
def test_invariance(name, invariance):
    """An invariance listed in `lacks` must fail."""
    for design in DESIGNS:
        if METHODS[name].must_fail(invariance, design):
            with pytest.raises((AssertionError, TypeError, ValueError)):
                assert_kept(name, invariance, design)
        elif design != "ties" or invariance not in ("permutation", "noise"):  # they decide exact ties
            assert_kept(name, invariance, design)


# They take 10 to 30 seconds interpreted. The searches of `guarantee_bounds` have rows of their own.
LONG = {"guarantee_bounds", "subsets_within", "stability_selection", "stability_selection, by ols"}


def in_both_forms(method, *arguments, **options):
    """Return the results of the compiled and the interpreted form; none of them if they are refused."""
    results = []
    for form in ("always", "never"):
        with _kernels.use(form), contextlib.suppress(TypeError, ValueError):
            results.append(method.call(*arguments, **options))
    return results


@pytest.mark.parametrize("dtype", [np.float64, pytest.param(np.float32, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=pytest.mark.slow) if n in LONG else n for n in METHODS]
)
def test_interpreted_kernels_give_the_bits_of_compiled_ones(name, dtype):
    method = METHODS[name]
    for design in DESIGNS:
        if dtype == np.float32 and method.must_fail("dtype", design):
            continue
        X, y, levels = data_for(name, design)
        results = in_both_forms(method, X.astype(dtype), y.astype(dtype), levels)
        assert len(results) == 2 or (results == [] and design == "ties")
        if results:
            assert bits(results[0]) == bits(results[1]), design


OTHER_DATA = [
    (name, invariance)
    for name, invariance in itertools.product(METHODS, ["lengths", "layout", "weights", "intercept", "Gram"])
    if name not in LONG and not (METHODS[name].many and invariance in ("intercept", "Gram"))  # Problems
]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "invariance"), OTHER_DATA)
def test_both_forms_give_the_same_bits_of_other_data(name, invariance):
    """Sparse, weighted, shifted and scaled data, and Gram matrices; where a method lacks one, both refuse."""
    method = METHODS[name]
    for design in DESIGNS:
        for change in INVARIANCES[invariance](*data_for(name, design)):
            results = in_both_forms(method, *change.now[:3], **dict(*change.now[3:]))
            lacking = method.must_fail(invariance, design) or design == "ties"
            assert len(results) == 2 or (results == [] and lacking)
            if results:
                assert bits(results[0]) == bits(results[1]), design


# Valid data at the edges

EDGES = [(2.0**a, 2.0**b) for a, b in ((0, 0), (480, 0), (-440, 0), (0, -440), (480, 480), (-440, -440))]
SHAPES = {
    "plain": lambda X, y, S: (X, y, S),
    "zero columns": lambda X, y, S: (np.where(np.isin(np.arange(X.shape[1]), (2, 7)), 0, X), y, S),
    "zero columns forced": lambda X, y, S: (
        np.where(np.isin(np.arange(X.shape[1]), (2, 7)), 0, X), y, (2, *S)
    ),
    "nothing to explain": lambda X, y, S: (X, 0 * y, S),
}  # fmt: skip


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", METHODS)
def test_no_method_warns_or_chooses_otherwise_near_the_range_of_floats(name, shape):
    method, options = METHODS[name], [{}]
    if "intercept" in SUPPORT[method.name].options and "intercept" not in method.lacks:
        options += [{"intercept": True}]
    for design in ("tall", "wide"):
        X, y, _, usual_levels = DESIGNS[design]
        X, y, S = SHAPES[shape](X, y.astype(float), usual_levels.S)
        for option in options:
            expected = None
            for a, b in EDGES:
                levels = Levels(usual_levels.lam * a * b, usual_levels.nu / a, S)
                signals = np.column_stack([b * y] * 3) if method.many else b * y
                try:
                    result = method.call(a * X, signals, levels, **option)
                except ValueError:  # which says why: a forced zero column has no certificate, say
                    assert (a, b) != (1, 1) or shape != "plain"
                    continue
                if expected is None or "entropy" in name:
                    expected = result
                if hasattr(result, "support"):
                    assert np.array_equal(result.support, expected.support), (design, option, a, b)
                    assert np.array_equal(result.status, expected.status), (design, option, a, b)
