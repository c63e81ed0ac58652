"""The public Hypothesis strategies: their promises hold exactly, and they shrink to small examples."""

import importlib
import itertools
import sys
from fractions import Fraction

import numpy as np
import pytest
from fractional import dot, fractions
from hypothesis import find, given, settings
from refusals import refuses

from sparselin.testing import designs_with_margin, ill_conditioned_designs, integer_designs, tied_designs

few = settings(deadline=None, max_examples=50)


def exact_correlations(X, y):
    """|Xᵀy| in rational arithmetic."""
    return [abs(dot(column, fractions(y))) for column in fractions(X.T)]


def ties(design):
    c = exact_correlations(*design)
    return c.count(max(c)) if max(c) else 0


def independent(design):
    return np.linalg.matrix_rank(design[0]) == design[0].shape[1]


def check(design, max_n, max_d):
    X, y = design
    assert X.dtype == y.dtype == np.float64
    assert X.flags.c_contiguous
    assert 1 <= len(y) == len(X) <= max_n
    assert 1 <= X.shape[1] <= max_d
    assert [float(c) for c in exact_correlations(X, y)] == np.abs(X.T @ y).tolist()


@few
@given(integer_designs(max_n=4, max_d=5, low=-3, high=1))
def test_integer_designs_are_integers_in_range(design):
    check(design, 4, 5)
    entries = np.append(*design)
    assert (entries == np.round(entries)).all()
    assert -3 <= entries.min() <= entries.max() <= 1


@few
@given(tied_designs())
def test_tied_designs_tie_exactly_at_a_positive_maximum(design):
    check(design, 8, 12)
    assert ties(design) >= 2


@few
@given(designs_with_margin(0.3))
def test_the_runner_up_is_a_margin_away(design):
    check(design, 8, 12)
    *_, runner_up, lam_star = sorted([Fraction(0), *exact_correlations(*design)])
    assert lam_star > 0
    assert runner_up <= (1 - Fraction(0.3)) * lam_star


@few
@given(ill_conditioned_designs())
def test_some_pair_of_columns_is_ill_conditioned(design):
    check(design, 8, 12)
    X = design[0]
    units = X[:, X.any(axis=0)] / np.linalg.norm(X[:, X.any(axis=0)], axis=0)
    conditions = [np.linalg.cond(units[:, pair]) for pair in itertools.combinations(range(units.shape[1]), 2)]
    assert any(1e6 <= condition <= 1e8 for condition in conditions)


LEAST = [
    (integer_designs(), lambda design: ties(design) > 1, (1, 2)),
    (integer_designs(4, 5), lambda design: ties(design) > 1 and independent(design), (2, 2)),
    (integer_designs(4, 5), lambda design: np.linalg.matrix_rank(design[0]) == 3, (3, 3)),
    (tied_designs(5, 6), independent, (2, 2)),
    (designs_with_margin(0.5), lambda design: design[0].shape[1] > 1, (1, 2)),
    (ill_conditioned_designs(), lambda design: True, (2, 2)),
]


@pytest.mark.parametrize(("strategy", "condition", "shape"), LEAST)
def test_examples_shrink_to_the_least_size(strategy, condition, shape):
    X, y = find(strategy, condition, settings=settings(deadline=None, derandomize=True, max_examples=400))
    assert X.shape == shape
    assert max(np.abs(X).max(), np.abs(y).max()) <= 2


BAD_ARGUMENTS = [
    (lambda: integer_designs(max_n=0), "max_n must be at least 1; got 0"),
    (lambda: integer_designs(low=3), "high must be in 3..1048576; got 2"),
    (lambda: tied_designs(max_d=1), "max_d must be at least 2; got 1"),
    (lambda: designs_with_margin(1.0), r"margin must be in \(0, 1\); got 1.0"),
    (lambda: ill_conditioned_designs(max_n=1), "max_n must be at least 2; got 1"),
]


@pytest.mark.parametrize(("call", "message"), BAD_ARGUMENTS)
def test_bad_arguments_are_refused_at_once(call, message):
    refuses(message, call)


@pytest.mark.parametrize("margin", ["a", None, True])
def test_a_margin_that_is_no_number_is_refused(margin):
    refuses("margin must be a real number; got", designs_with_margin, margin, error=TypeError)


def test_a_missing_hypothesis_is_told_in_one_sentence(monkeypatch):
    monkeypatch.delitem(sys.modules, "sparselin.testing")
    monkeypatch.setitem(sys.modules, "hypothesis", None)
    with pytest.raises(ModuleNotFoundError, match=r"needs hypothesis.*pip install 'sparselin\[verify\]'"):
        importlib.import_module("sparselin.testing")
