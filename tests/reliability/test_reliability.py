"""The command for reliability: does the rounding mode act, and is a method that ignores rounding noticed?"""

import dataclasses
import types
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
import scipy.linalg.blas

import sparselin as sl
from sparselin import _kernels

from . import answers, count, rounding, rows, variants
from .answers import AGREE, CONTRADICT, STATUS, TIED, Answer, Step, compare
from .table import table

pytestmark = pytest.mark.skipif(not rounding.AVAILABLE, reason="modes are set for Linux on x86-64")
ROWS = {row.id: row for row in rows.ROWS}


@_kernels.kernel()
def total(x):
    """Add numbers from the left."""
    found = 0.0
    for i in range(len(x)):
        found += x[i]
    return found


def _sums(mode, function):
    with rounding.one_thread(), rounding.rounding(mode):
        return function()


@pytest.mark.parametrize("form", [count.COMPILED, count.INTERPRETED, "numpy", "scipy"])
def test_the_mode_acts(form):
    """Each sum of many thirds is below the next mode's, between the directed ones."""
    x, one = np.full(40_000, 1 / 3), np.ones(40_000)

    def add():
        if form == "numpy":
            return float(x @ one)
        if form == "scipy":
            return float(scipy.linalg.blas.ddot(x, one))
        with _kernels.use(form):
            return float(total(x))

    down, up, zero = (_sums(mode, add) for mode in ("downward", "upward", "toward zero"))
    assert zero == down < 40_000 * Fraction(1 / 3) < up
    assert down <= add() <= up


def test_the_mode_ends_with_the_call():
    with pytest.raises(ZeroDivisionError), rounding.rounding("upward"):
        raise ZeroDivisionError
    assert 1.0 + 2.0**-60 == 1.0


def _argmax(X, y, k, forced=(), sample_weight=None, **_):
    """Select by OMP as a textbook has it: the largest correlation, however small the difference."""
    root = np.ones(len(y)) if sample_weight is None else np.sqrt(sample_weight)
    X, y, chosen, r = root[:, None] * X, root * y, list(forced), root * y
    while len(chosen) < k:
        if chosen:
            r = y - X[:, chosen] @ np.linalg.lstsq(X[:, chosen], y)[0]
        size = np.abs(X.T @ r)
        size[chosen] = -1
        chosen.append(int(np.argmax(size)))
    return types.SimpleNamespace(support=chosen, ties=((),) * k, status=sl.Status.COMPLETED)


def test_a_method_that_ignores_rounding_is_noticed():
    counts = Counter()
    words = []
    for seed in (4, 5, 6):
        for row in (ROWS["omp"], dataclasses.replace(ROWS["omp"], broken=_argmax)):
            more, lines = count.group(row, "ties", seed)
            counts += Counter({(row.broken, *key[1:]): number for key, number in more.items()})
            words += lines
    for kind in count.CLASSES:
        assert counts[None, kind, CONTRADICT] == 0
        assert counts[_argmax, kind, CONTRADICT] > 0
        assert counts[_argmax, kind, "designs"] > 0
    assert words


@pytest.mark.parametrize("name", variants.NAMES)
@pytest.mark.parametrize("weights", [False, True])
def test_a_variant_is_the_same_problem(name, weights):
    """All inner products are those of the design, in fractions."""
    rng = np.random.default_rng(3)
    X, y = rng.standard_normal((6, 4)), rng.standard_normal(6)
    at = variants.transform(name, X, y, rng, lengths=False, weights=weights)
    weight = np.ones(len(at.y)) if at.weight is None else at.weight
    unit = Fraction(2) ** (at.of_X + at.of_y)

    def product(a, b, w):
        return sum(Fraction(p) * Fraction(q) * Fraction(v) for p, q, v in zip(a, b, w, strict=True))

    for i in range(4):
        exact = product(X[:, at.columns[i]], y, np.ones(6))
        assert product(at.X[:, i], at.y, weight) == unit * exact
    assert at.back(at.forth([2, 0])) == [2, 0]


def _answer(*steps, status="COMPLETED"):
    return Answer(status, tuple(Step(frozenset(best), frozenset(pick)) for best, pick in steps))


def test_contradictions_differ_from_ties_and_statuses():
    one, tied = _answer(({1}, {1}), ({2}, {2})), _answer(({1}, {1}), ({2, 3}, {3}))
    other, short = _answer(({1}, {1}), ({3}, {3})), _answer(({1}, {1}), status="BEYOND_PRECISION")
    assert compare(one, one) == AGREE
    assert compare(one, tied) == TIED
    assert compare(other, tied) == AGREE
    assert compare(one, other) == CONTRADICT
    assert compare(one, short) == compare(short, other) == STATUS
    assert compare(one, _answer(({4}, {4}), status="BEYOND_PRECISION")) == CONTRADICT
    assert compare(one, other, lambda columns: columns == {1, 2, 3}) == TIED
    low, high = (Answer("COMPLETED", (), ((a, a + 2),)) for a in (0, 3))
    assert compare(low, high) == CONTRADICT
    assert compare(low, Answer("COMPLETED", (), ((1, 3),))) == AGREE


def test_a_path_claims_nothing_after_a_tie():
    at = variants.Variant(np.eye(4), np.ones(4), np.arange(4))
    path = answers.changes([(1,), (1, 2, 3), (2, 3)], at)
    assert [step.open for step in path.steps] == [False, False, True]


def test_rows_are_those_of_the_table_of_methods():
    counts = Counter()
    for row in rows.ROWS:
        assert row.method.id == row.id
        counts[row.id, "designs"] += 1
    lines = table({"counts": [[*key, number] for key, number in counts.items()]}).splitlines()
    assert len(lines) == 2 + len(rows.ROWS) + 3
