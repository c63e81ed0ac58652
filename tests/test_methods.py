"""The table of `methods.py`: every method keeps every invariance, or lacks it for the reason given.

Rounding: where exact arithmetic would give the same, both runs are exact for data with columns off by
η = 8·eps·√n of their length each. Least squares on S with κ = κ(X_S) then moves β by at most
ηκ(2‖β‖ + (κ + 1)‖r‖/σ_max) ≤ 4ηκ²‖y‖/σ_max (Wedin), what is of degree (a, b) by 4ηκ²‖X_j‖ᵃ‖y‖ᵇ, and sums of
four by 16ηκ². Of a Gram matrix, which knows lengths in their squares, κ is squared once more.
"""

import dataclasses
import functools
import inspect
import itertools
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse
from methods import INVARIANCES, METHODS, PROPERTIES, RESULTS, Kind, Levels, kinds

import sparselin as sl

N, EPS = 16, float(np.finfo(float).eps)


# The data


class Data(NamedTuple):
    """Integers X (n, d), y (n,), signals Y (n, 5), and levels."""

    X: np.ndarray
    y: np.ndarray
    Y: np.ndarray
    at: Levels


def data(X, y, S, rng):
    Y = np.column_stack([y, X @ rng.integers(-2, 3, (X.shape[1], 4)) + rng.integers(-9, 10, (N, 4))])
    return Data(X, y, Y, Levels(0.5 * np.abs(X.T @ y).max(), 1e-4, S))


def designs():
    rng = np.random.default_rng(5)
    for name, d, S in (("tall", 9, (5, 0)), ("wide", 24, ())):
        X = rng.integers(-99, 100, (N, d)).astype(float)
        yield name, data(X, X[:, [1, 4, 6]] @ np.array([5, -4, 3]) + rng.integers(-99, 100, N), S, rng)
    H = scipy.linalg.hadamard(N)[rng.permutation(N)].astype(float)
    X = 7 * np.column_stack([H[:, 1:9], -H[:, 1:3], H[:, 2:4]])
    yield "ties", data(X, 7 * H[:, [1, 2, 3, 4, 5, 6, 9]] @ np.array([5, 5, -5, 3, 3, 1, 1]), (), rng)


DESIGNS = dict(designs())


# What is done to them


class Change(NamedTuple):
    """A call (X, y, levels, options), and how its result follows from that of another."""

    now: tuple
    eps: float = 0.0  # 0: in every bit
    power: int = 2  # of κ
    order: Any = None  # column i of now is order[i] of was
    of_X: Any = 1.0  # a number, or one for each column
    of_y: float = 1.0
    Q: Any = None
    dtype: Any = np.float64
    was: tuple | None = None  # None: the design as it is


def rotation(X, y, at):
    rng = np.random.default_rng(1)
    Q = scipy.linalg.hadamard(N)[rng.permutation(N)] * rng.choice([-1, 1], N) / np.sqrt(N)
    yield Change((Q @ X, Q @ y, at), EPS, Q=Q)


def permutation(X, y, at):
    order = np.random.default_rng(2).permutation(X.shape[1])
    now = at._replace(S=tuple(np.argsort(order)[list(at.S)]))
    yield Change((X[:, order], y, now), EPS, order=order)


def scale(X, y, at):
    binary = [(2.0**40, 1), (2.0**-40, 1), (1, 2.0**300), (1, 2.0**-300), (2.0**-20, 2.0**6)]
    for a, b in [*binary, (3 * 2.0**40, 1), (1, 5 * 2.0**-40)]:  # of integers exact as well
        now = a * X, b * y, Levels(at.lam * a * b, at.nu / a, at.S)
        yield Change(now, 0 if (a, b) in binary else EPS, of_X=a, of_y=b)


def lengths(X, y, at):
    powers = 2.0 ** np.random.default_rng(4).integers(-20, 21, X.shape[1])
    yield Change((X * powers, y, at), of_X=powers)


def layout(X, y, at):
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    one = y.ndim == 1
    twice = np.repeat(X, 2, axis=1)[:, ::2], np.repeat(y, 2, axis=0)[::2]
    turned = X[::-1, ::-1].copy()[::-1, ::-1], y[::-1].copy()[::-1]
    by_pandas = pandas.DataFrame(X), (pandas.Series if one else pandas.DataFrame)(y)
    by_polars = polars.DataFrame(X), (polars.Series if one else polars.DataFrame)(y)
    for now in (twice, turned, (X.tolist(), y.tolist()), by_pandas, by_polars):
        yield Change((*now, at))
    for form in (np.asfortranarray, scipy.sparse.csr_matrix, scipy.sparse.csc_array, scipy.sparse.coo_array):
        yield Change((form(X), y, at), EPS)


def dtype(X, y, at):
    yield Change((X.astype(int), y.astype(np.int32), at))
    yield Change((X > 0, y, at), was=((X > 0) * 1.0, y, at))
    single = X.astype(np.float32), y.astype(np.float32), at
    yield Change(single, float(np.finfo(np.float32).eps), dtype=np.float32)


def weights(X, y, at):
    weight = np.random.default_rng(3).integers(0, 4, N)
    was = np.repeat(X, weight, axis=0), np.repeat(y, weight, axis=0), at
    yield Change((X, y, at, {"sample_weight": weight}), EPS, was=was)
    yield Change((sl.Problem(X, y, sample_weight=weight), None, at), EPS, was=was)


def intercept(X, y, at):
    offset, option = np.random.default_rng(6).integers(-50, 51, X.shape[1]), {"intercept": True}
    yield Change((X + offset, y + 33, at, option), EPS, was=(X, y, at, option))
    yield Change((sl.Problem(X + offset, y + 33, **option), None, at), EPS, was=(X, y, at, option))


def read_only(X, y, at):
    locked = X.copy(), y.copy()
    for array in locked:
        array.flags.writeable = False
    yield Change((*locked, at))


def problem(X, y, at):
    yield Change((sl.Problem(X, y), None, at))


def gram(X, y, at):
    yield Change((sl.Problem.from_gram(X.T @ X, X.T @ y, y @ y), None, at), EPS, power=4)


def runs(X, y, at):
    yield Change((X, y, at))


# What follows


def facts(value, kind, name=""):
    """All that a result holds, field by field: name, kind, value."""
    if (fields := RESULTS.get(type(value))) and kind.what != "witness":
        assert list(fields) == [field.name for field in dataclasses.fields(value)]
        for field, own in (
            fields | PROPERTIES.get(type(value), {})
        ).items():  # the ends of an interval have the degree of what it holds
            if kind.what == "work":
                own = kind
            elif kind.what == "number" and own in (Kind("number"), Kind("work")):
                own = kind._replace(what=own.what)
            yield from facts(getattr(value, field), own, f"{name}.{field}")
    elif kind.what == "witness":
        yield name, kind, None
    elif isinstance(value, tuple) and not all(isinstance(v, (int, np.integer)) for v in value):
        for i, part in enumerate(value):
            yield from facts(part, Kind("equal") if isinstance(part, str) else kind, f"{name}[{i}]")
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
    X, y, Y, at = DESIGNS[design]
    return X, Y if METHODS[name].many else y, at


def assert_kept(name, invariance, design):
    call, usual_data = METHODS[name].call, data_for(name, design)
    for change in globals()[invariance.lower().replace("-", "_")](*usual_data):
        first = call(*change.was[:3], **dict(*change.was[3:])) if change.was else usual(name, design)
        second = call(*change.now[:3], **dict(*change.now[3:]))
        X, y = (change.was or usual_data)[:2]
        root = kinds(f"it {METHODS[name].kind or 'equal'}")["it"]
        for (field, kind, was), (other, _, now) in zip(facts(first, root), facts(second, root), strict=True):
            assert field == other
            assert_follows(field, kind, was, now, first, second, change, X, y)


# The table


def test_every_public_method_that_takes_a_design_is_in_the_table():
    takes_X = {
        name for name in sl.__all__
        if inspect.isfunction(getattr(sl, name))
        and next(iter(inspect.signature(getattr(sl, name)).parameters)) in ("X", "D")
    }  # fmt: skip
    takes_X -= {"explore"}  # a picture, of two or three rows
    assert {name.split(",")[0] for name in METHODS} == takes_X
    assert {lack.split(",")[0] for method in METHODS.values() for lack in method.lacks} <= set(INVARIANCES)


@pytest.mark.parametrize("invariance", INVARIANCES)
@pytest.mark.parametrize("name", METHODS)
def test_invariance(name, invariance):
    """An invariance listed in `lacks` must fail."""
    for design in DESIGNS:
        if {invariance, f"{invariance}, {design}"} & set(METHODS[name].lacks):
            with pytest.raises((AssertionError, TypeError, ValueError)):
                assert_kept(name, invariance, design)
        elif (invariance, design) != ("permutation", "ties"):  # they go to the lowest index
            assert_kept(name, invariance, design)


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
    if not method.lacks.get("intercept") and name != "certify":
        options += [{"intercept": True}]
    for design in ("tall", "wide"):
        X, y, _, at = DESIGNS[design]
        X, y, S = SHAPES[shape](X, y.astype(float), at.S)
        for option in options:
            expected = None
            for a, b in EDGES:
                levels = Levels(at.lam * a * b, at.nu / a, S)
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
