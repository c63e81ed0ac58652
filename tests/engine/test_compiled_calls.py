"""The compiled calls for small problems answer most designs, and find what the careful way finds."""

import copy
import dataclasses
import functools
import gc
import itertools
import pickle
import weakref
from fractions import Fraction
from operator import mul
from unittest import mock

import numpy as np
import pytest
from attacks.careful import without_compiled_calls

import sparselin as sl
from sparselin.greedy import _runs, _single
from sparselin.greedy._runs import Run
from sparselin.lasso import _small


def designs():
    for seed in range(30):
        rng = np.random.default_rng([20261128, seed])
        X, y = rng.standard_normal((20, 12)), rng.standard_normal(20)
        yield seed, X * 2.0 ** rng.integers(-40, 41), y * 2.0 ** rng.integers(-40, 41)


def test_compiled_picks_are_those_of_the_rule():
    for function in (sl.omp, sl.ols):
        made = []

        def counting(*arguments, made=made, begin=Run.begin):
            made.append(begin(*arguments))
            return made[-1]

        for seed, X, y in designs():
            with mock.patch.object(Run, "begin", counting):
                quick = function(X, y, 6)
            with without_compiled_calls():
                careful = function(X, y, 6)
            assert quick.support.tolist() == careful.support.tolist(), seed
            assert quick.ties == careful.ties, seed
            np.testing.assert_allclose(quick.lam_star, careful.lam_star, rtol=1e-12, err_msg=str(seed))
            np.testing.assert_allclose(quick.margin, careful.margin, rtol=1e-9, err_msg=str(seed))
        count = sum(len(run.picks) for run in made)
        assert count == 30 * 6, f"{function.__name__}: {count} picks of 180 were compiled"


def tied_designs():
    """Designs with no tie, or with a copy of the feature that enters first or later, or of low rank."""
    for seed in range(40):
        rng = np.random.default_rng([20261129, seed])
        X, y = rng.standard_normal((20, 12)), rng.standard_normal(20)
        if seed % 4 in (1, 2):
            X[:, 11] = X[:, sl.omp(X, y, 5).support[0 if seed % 4 == 1 else 3]]
        elif seed % 4 == 3:
            X = rng.integers(-2, 3, (20, 5)) @ rng.integers(-1, 2, (5, 12)).astype(float)
        yield seed, np.asarray(X, order="CF"[seed // 4 % 2]), y


@pytest.mark.parametrize("method", [sl.omp, sl.ols, functools.partial(sl.sequential_lasso, method="omp")])
@pytest.mark.parametrize(
    "options",
    [{}, {"standardize": True}, {"intercept": True}, {"intercept": True, "standardize": True}],
    ids=str,
)
def test_a_path_from_one_call_has_the_bits_of_the_path_of_a_selection(method, options):
    """This holds also where the call leaves a pick undecided, and the selection goes on from its picks."""
    lengths = set()

    def counting(*arguments, begin=Run.begin):
        run = begin(*arguments)
        lengths.add(len(run.picks))
        return run

    for seed, X, y in tied_designs():
        problem = sl.Problem(X, y, **options)
        with mock.patch.object(Run, "begin", counting):
            quick = method(problem, 8)
        with mock.patch.object(Run, "begin", return_value=None):
            assert quick == method(problem, 8), seed
    assert ({8} if method in (sl.omp, sl.ols) else {0, 3, 8}) <= lengths


def undecided(problem, method, k, no_ties=_runs.no_ties):
    """Leave all ties to the rule."""
    return no_ties(problem, method, 0)


@pytest.mark.parametrize("method", [sl.omp, sl.ols])
@pytest.mark.parametrize("options", [{}, {"intercept": True, "standardize": True}], ids=str)
def test_a_kernel_decides_ties_as_the_rule_does(method, options):
    """This holds also where a callback, a forced feature or an exact fit needs the state of a selection."""
    count = 0
    for seed, X, y in tied_designs():
        for more in ({}, {"callback": lambda path: False}, {"forced": [seed % 12]}):
            for response in (y, X[:, :2].sum(axis=1)):
                problem = sl.Problem(X, response, **options)
                quick = method(problem, 8, **more)
                with (
                    mock.patch.object(_runs, "no_ties", undecided),
                    mock.patch.object(_single, "no_ties", undecided),
                ):
                    careful = method(problem, 8, **more)
                assert quick.support.tolist() == careful.support.tolist(), seed
                assert (quick.ties, quick.status) == (careful.ties, careful.status), seed
                close = {"rtol": 1e-12, "atol": 1e-14 * np.nanmax(quick.lam_star), "err_msg": str(seed)}
                np.testing.assert_allclose(quick.lam_star, careful.lam_star, **close)
                np.testing.assert_allclose(quick.margin, careful.margin, atol=1e-12, err_msg=str(seed))
                count += any(len(T) > 1 for T in quick.ties)
    assert count >= 50


@pytest.mark.parametrize(
    ("method", "name"),
    [
        (lambda X, y: sl.omp(X, y, 6), "coef_path"),
        (sl.lasso_path, "coef_path"),
        (lambda X, y: sl.lasso_path(X, y, forced=[3, 1], intercept=True, standardize=True), "intercept"),
        (lambda X, y: sl.project_dual(X, y, 0.3 * sl.lambda_star(X, y), forced=[2]), "coef"),
    ],
    ids=["omp", "lasso_path", "lasso_path with an intercept", "project_dual"],
)
def test_fields_that_are_computed_when_they_are_read_are_read_only_and_go_with_copies(method, name):
    for _, X, y in itertools.islice(designs(), 3):
        found = method(X, y)
        assert "_later" in vars(found)
        for other in (copy.copy(found), pickle.loads(pickle.dumps(found)), dataclasses.replace(found)):
            assert other == found
            assert {*vars(other)} == {field.name for field in dataclasses.fields(found)}
        assert not getattr(found, name).flags.writeable
        assert getattr(found, name) is getattr(found, name)
        with pytest.raises(AttributeError, match="coef_paths"):
            found.coef_paths  # noqa: B018


OPTIONS = [{}, {"intercept": True}, {"intercept": True, "standardize": True}]
LATER = {
    "omp": lambda X, y, **data: sl.omp(X, y, 4, **data),
    "ols": lambda X, y, **data: sl.ols(X, y, 4, **data),
    "sequential_lasso": lambda X, y, **data: sl.sequential_lasso(X, y, 4, method="omp", **data),
    "lasso_path": sl.lasso_path,
    "first_entry": sl.first_entry,
    "project_dual": lambda X, y: sl.project_dual(X, y, 1.0),
}


@pytest.mark.parametrize("name", LATER)
@pytest.mark.parametrize(
    "options", [{}, {"intercept": True}, {"intercept": True, "standardize": True}], ids=str
)
@pytest.mark.parametrize("order", ["C", "F"])
def test_a_result_does_not_depend_on_its_data_afterwards(name, options, order):
    """A program may fill the same arrays again, or keep thousands of results."""
    if options and name == "project_dual":
        pytest.skip("it has no options of data")
    rng = np.random.default_rng(0)
    X = np.asarray(rng.standard_normal((20, 12)), order=order)
    y = rng.standard_normal(20)
    expected, read = LATER[name](X.copy(order), y.copy(), **options), LATER[name](X, y, **options)
    for field in dataclasses.fields(expected):
        getattr(expected, field.name)
    X[:] = rng.standard_normal(X.shape)
    y[:] = 1.0
    assert read == expected
    kept = [weakref.ref(X), weakref.ref(y)]
    later = LATER[name](X, y + X[:, 0], **options)
    del X, y
    gc.collect()
    assert [reference() for reference in kept] == [None, None]
    assert later == later


def test_compiled_knots_are_those_of_the_homotopy():
    answers = []

    def counting(*arguments, follow=_small.small_path):
        answers.append(follow(*arguments))
        return answers[-1]

    for seed, X, y in designs():
        with mock.patch.object(_small, "small_path", counting):
            quick = sl.lasso_path(X, y)
        with without_compiled_calls():
            careful = sl.lasso_path(X, y)
        assert quick.active == careful.active, seed
        np.testing.assert_allclose(quick.knots, careful.knots, rtol=1e-10, atol=1e-12 * quick.knots[0])
    assert sum(answer is not None for answer in answers) == 30


def test_compiled_entries_are_those_of_the_homotopy():
    """Columns correlate, so that with d = 200 the column of the second knot is often not among the first."""
    answers = []

    def counting(problem, find=_small.first_segment):
        answers.append(find(problem))
        return answers[-1]

    rng = np.random.default_rng(20261129)
    wide = [
        (0, np.cumsum(rng.standard_normal((30, 200)), axis=1), rng.standard_normal(30)) for _ in range(20)
    ]
    for seed, X, y in [*designs(), *wide]:
        with mock.patch.object(_small, "first_segment", counting):
            quick = sl.first_entry(X, y)
        with without_compiled_calls():
            careful = sl.first_entry(X, y)
        assert (quick.tied, quick.active, quick.status) == (careful.tied, careful.active, careful.status), (
            seed
        )
        assert quick.lam_star == careful.lam_star, seed
        for name in ("signs", "direction", "window_lower", "proof_lower", "residual_norm"):
            found, expected = getattr(quick, name), getattr(careful, name)
            np.testing.assert_allclose(found, expected, rtol=1e-13, err_msg=f"{name}, {seed}")
    assert sum(answer is not None for answer in answers) >= 40


def test_the_window_is_known_to_rounding():
    """The columns have a large mean, so that sums over them cancel; λ₂ is computed in rational numbers."""
    rng = np.random.default_rng(0)
    for _ in range(20):
        X, y = rng.standard_normal((12, 2)) + 30, rng.standard_normal(12) + 7
        segment = _small.first_segment(sl.Problem(X, y))
        x, z = (X[:, segment.j], X[:, 1 - segment.j])
        a, b, g, h = (
            sum(map(mul, map(Fraction, v.tolist()), map(Fraction, w.tolist())))
            for v, w in ((x, y), (z, y), (x, z), (x, x))
        )
        rest = b - a * g / h
        lower = abs(rest) / (1 - g / h if (a > 0) == (rest > 0) else 1 + g / h)
        assert segment.lower == pytest.approx(float(lower), rel=4e-16)
        assert segment.product == pytest.approx(float(a), rel=2e-16)
