"""Certificates of LASSO paths: valid ones hold, and no forgery that says something false."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import sparselin as sl
from sparselin.certificates._lasso_balls import follow_in_balls
from sparselin.certificates.form import digest
from sparselin.certificates.lasso import LassoCertificate, LassoKnot
from tests.forged_lasso import Oracle, attack, candidates, random_task
from tests.refusals import refuses


def test_no_forgery_is_accepted():
    counts = attack(800, 1)
    assert {name for name, said in counts if said == "refused"} > {"blind", "mutation", "a knot left out"}
    assert counts["an end on the same line", "accepted and true"] > 3


def test_the_oracle_knows_the_truth():
    rng = np.random.default_rng(5)
    held = 0
    for _ in range(60):
        X, y, S, positive = random_task(rng)
        oracle = Oracle(X, y, S, positive)
        for kind, base in candidates(X, y, S, positive):
            assert bool(base.verify(X, y)) == oracle.is_true(base), (X, y, base.knots)
            held += not kind
    assert held > 15


OPTIONS = ({}, {"positive": True}, {"intercept": True}, {"forced": [1]}, {"lam_min": 0.5}, {"max_steps": 2})


@pytest.mark.parametrize(
    "options", [*OPTIONS, {"lam_min": 1e3}, {"sample_weight": np.arange(1.0, 8.0)}], ids=str
)
def test_paths_are_certified(options):
    for seed in range(5):
        rng = np.random.default_rng(seed)
        X, y = rng.standard_normal((7, int(rng.integers(2, 12)))), rng.standard_normal(7)
        X, y = (np.round(2 * X), np.round(2 * y)) if seed == 2 else (X, y)
        X, y = (X.astype(np.float32), y.astype(np.float32)) if seed == 3 else (X, y)
        weights = {name: options[name] for name in ("sample_weight", "intercept") if name in options}
        problem = sl.Problem(X, y, **weights)
        rest = {name: value for name, value in options.items() if name not in weights}
        path = sl.lasso_path(problem, **rest)
        given = sl.certify(problem, path)
        assert given.verify(problem)
        assert LassoCertificate.from_json(given.to_json()) == given
        assert tuple(knot.active for knot in given.knots) == path.active
        assert "other data" in given.verify(X, y + 1).failures[0] if not weights else True
        if "lam_min" in options and len(path) > 1:
            assert given.knots[-1].lam == Fraction(0.5)


def example(d=10):
    rng = np.random.default_rng(3)
    X, y = rng.standard_normal((8, d)), rng.standard_normal(8)
    return X, y, sl.lasso_path(X, y)


def test_a_wrong_path_is_refuted():
    X, y, path = example()
    knots, coef = path.knots.copy(), path.coef_path.copy()
    knots[2] *= 1 + 1e-4
    coef[3, 0] += 1e-3
    active = list(path.active)
    active[2], active[3] = active[3], active[2]
    for changes, words in (
        ({"knots": knots}, r"knots\[2\]: λ is"),
        ({"coef_path": coef}, r"knots\[3\]: the coefficient of feature"),
        ({"active": tuple(active)}, r"knots\[2\]"),
        ({"coef_path": -path.coef_path}, r"knots\[0\]"),
    ):
        refuses(words, sl.certify, X, y, replace(path, **changes))
    refuses("about picks", sl.certify, X, y, path, normalized=True)


def test_dependent_columns_are_refused():
    X, y, _ = example(4)
    X = np.c_[X, X[:, 0]]
    refuses("dependent|may not be unique|not unique", sl.certify, X, y, sl.lasso_path(X, y))
    path = sl.lasso_path(X[:, :4], y, forced=[0, 1])
    X[:, 1] = 2 * X[:, 0]
    refuses("dependent|not unique", sl.certify, X[:, :4], y, path)


def test_each_condition_is_needed():
    """Each failure of the check is seen on a certificate that breaks one condition."""
    X, y, path = example()
    given = sl.certify(X, y, path)
    rows, seen = given.knots, set()
    forced = sl.certify(X, y, sl.lasso_path(X, y, forced=[1]))
    blind = np.where(np.arange(10) == path.active[-1][0], 0.0, X)
    small = sl.certify(blind, y, sl.lasso_path(blind, y))
    moved = replace(forced.knots[0], coef=(forced.knots[0].coef[0] + 1,))
    none = LassoKnot((), (), Fraction(1000), ())
    entry = replace(rows[0], signs=(-rows[0].signs[0],))
    last = replace(rows[-1], lam=rows[-1].lam - 1)
    same = replace(rows[1], lam=rows[0].lam)
    extra = (*rows[:-1], replace(rows[-1], lam=rows[-1].lam), rows[-1])
    middle = (rows[0].lam + rows[1].lam) / 2
    (_,), half = rows[0].active, {j: v / 2 for j, v in zip(rows[0].active, rows[1].coef, strict=True)}
    twice = LassoKnot(rows[0].active, rows[0].signs, middle, tuple(half.values()))
    for broken, words in (
        (replace(given, knots=(*rows[:-1], last)), "λ does not decrease, or is negative"),
        (replace(given, knots=(rows[0], same, *rows[2:])), "λ does not decrease"),
        (replace(forced, knots=(moved, *forced.knots[1:])), "not zero on the forced"),
        (replace(small, sha256=given.sha256), "exceed λ"),
        (replace(given, knots=(none,)), "not the largest correlation"),
        (replace(given, knots=(none, *rows)), "no feature enters|last knot|not the largest"),
        (replace(given, knots=(entry, *rows[1:])), "not ±λ"),
        (replace(given, knots=(rows[0], twice, *rows[1:])), "no feature enters or leaves"),
        (replace(given, knots=extra), "no feature enters or leaves"),
        (replace(given, shape=(8, 11)), "shape"),
        (replace(given, positive=1), "positive"),
        (replace(given, knots=()), "LassoKnot"),
    ):
        (failure,) = broken.verify(X, y).failures
        refused = any(part in failure for part in words.split("|"))
        assert refused, (failure, words)
        seen.add(failure)
    assert len(seen) > 9


def bare(given, **last):
    """Return the certificate in balls with the active sets of one in rationals."""
    rows = [LassoKnot(knot.active, knot.signs) for knot in given.knots]
    return replace(given, knots=(*rows[:-1], replace(rows[-1], lam=given.knots[-1].lam, **last)))


@pytest.mark.parametrize("options", [{}, {"positive": True}, {"forced": [1]}, {"lam_min": 0.25}], ids=str)
def test_balls_agree_with_rationals(options):
    for seed in range(6):
        rng = np.random.default_rng(seed)
        n, d = int(rng.integers(3, 9)), int(rng.integers(2, 12))
        X, y = rng.standard_normal((n, d)) * 4.0 ** rng.integers(-9, 9, d), rng.standard_normal(n) * 1000
        exact = sl.certify(X, y, sl.lasso_path(X, y, **options))
        given = bare(exact)
        if len(exact.knots) == 1:
            continue
        assert given.verify(X, y)
        assert LassoCertificate.from_json(given.to_json()) == given
        for knot, (lam, coef) in zip(exact.knots, follow_in_balls(given, X, y)[1], strict=True):
            assert lam == pytest.approx(float(knot.lam), rel=1e-9, abs=1e-300)
            values = [v for v in map(float, knot.coef) if v]
            assert sorted(v for v in coef.values() if v) == pytest.approx(sorted(values), rel=1e-6)
        for k in range(len(exact.knots) - 1):
            rows = list(given.knots)
            signs = tuple(-s for s in rows[k].signs)
            assert not replace(
                given, knots=(*rows[:k], replace(rows[k], signs=signs), *rows[k + 1 :])
            ).verify(X, y)
            assert not replace(given, knots=(*rows[:k], *rows[k + 1 :])).verify(X, y)
        blind = X.copy()
        blind[:, exact.knots[-1].active[0]] = 0
        other = bare(sl.certify(blind, y, sl.lasso_path(blind, y, **options)))
        assert not replace(other, sha256=given.sha256).verify(X, y)


def test_a_long_path_is_certified_in_balls():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((60, 150)), rng.standard_normal(60)
    for options in ({}, {"max_steps": 70}, {"intercept": True, "lam_min": 0.01}):
        path = sl.lasso_path(X, y, **options)
        given = sl.certify(X, y, path)
        assert (given.knots[0].lam, given.verify(X, y).steps) == (None, len(path) - 1)
        end = given.knots[-1]
        lower = replace(end, lam=end.lam - Fraction(1, 8))
        assert not replace(given, knots=(*given.knots[:-1], lower)).verify(X, y)
    knots = path.knots.copy()
    knots[40] *= 1 + 1e-4
    refuses(r"knots\[40\]: λ is", sl.certify, X, y, replace(path, knots=knots))
    y = X[:, 0] + X[:, 1]
    X[:, 1] = X[:, 0]
    rows = (LassoKnot((0,), (1,)), LassoKnot((0,), (1,), Fraction(1)))
    tied = replace(given, shape=(60, 150), forced=(), knots=rows, sha256=digest(X, y, False))
    assert "undecided" in tied.verify(X, y).failures[0]
