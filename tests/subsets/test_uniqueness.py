"""The uniqueness of best subsets, against the comparison of all sets in rational numbers."""

import itertools
from collections import Counter

import numpy as np
import pytest
from fractional import dot, fractions, gram, residual, solve

import sparselin as sl

ROOTS = (0.5, 1.0, 2.0, 3.0)  # square roots of weights


def values(X, y, t, forced=(), roots=None, intercept=False, ridge_root=0.0, positive=False):
    """The value of every set of t columns that contains the forced ones, exactly."""
    n, d = X.shape
    roots = np.ones(n) if roots is None else roots
    columns = [[*(roots * x), *(ridge_root * np.eye(d)[j])] for j, x in enumerate(X.T)]
    columns = fractions(np.array(columns).reshape(d, n + d))
    target = fractions(np.append(roots * y, np.zeros(d)))
    if intercept:
        ones = [fractions(np.append(roots, np.zeros(d)))]
        *columns, target = (residual(ones, v) for v in [*columns, target])
    rest = [j for j in range(d) if j not in forced]
    sets = (tuple(sorted((*forced, *more))) for more in itertools.combinations(rest, t - len(forced)))
    return {S: value_of([columns[j] for j in S], target, positive) for S in sets}


def value_of(columns, target, positive):
    """The least ‖target − Σ β_j column_j‖², over β ≥ 0 if `positive`."""
    if not positive:
        r = residual(columns, target)
        return dot(r, r)
    least = dot(target, target)
    for size in range(1, len(columns) + 1):
        for A in itertools.combinations(columns, size):
            b = [dot(x, target) for x in A]
            w = solve(gram(A), b)
            if w is not None and min(w) >= 0:
                least = min(least, dot(target, target) - dot(w, b))
    return least


def judge(found, X, y, **options):
    """Compare a result with all sets of its size; return what was said."""
    S = tuple(sorted(found.support.tolist()))
    best = values(X, y, len(S), **options)
    assert (found.uniqueness == "") == (found.unique is not None)
    assert (found.second is None) == (found.unique is not False)
    if found.unique is None:
        return "stopped" if not found.optimal else "open"
    assert found.optimal
    assert best[S] == min(best.values())
    tied = {T for T, value in best.items() if value == best[S]} - {S}
    assert found.unique == (not tied), (S, tied)
    assert found.unique or tuple(found.second.tolist()) in tied
    return str(found.unique)


def draw(rng, kind):
    """X, y and k: real numbers; integers with ties; copies, multiples, sums and zeros; wide; an exact fit."""
    n, d = int(rng.integers(4, 9)), int(rng.integers(3, 8))
    whole = kind not in ("real", "copies", "wide real")
    X = rng.integers(-2, 3, (n, d)).astype(float) if whole else rng.standard_normal((n, d))
    y = rng.integers(-2, 3, n).astype(float) if whole or rng.random() < 0.3 else rng.standard_normal(n)
    some = rng.integers(0, d, max(1, d // 2))
    if kind in ("copies", "multiples"):
        factors = [1.0, -1.0, 4.0] if kind == "copies" else [3.0, -5.0, 1.0]
        X[:, rng.permutation(d)[: len(some)]] = X[:, some] * rng.choice(factors, len(some))
    elif kind == "sums":
        X[:, -1] = X[:, 0] + X[:, rng.integers(0, d)]
    elif kind == "zeros":
        X[:, some] = 0
    elif kind.startswith("wide"):
        X, y = X[:3], y[:3]
    elif kind == "exact fit":
        y = X[:, :2] @ rng.integers(-1, 3, 2)
    return X, y, int(rng.integers(1, d + 1))


KINDS = ("real", "integers", "copies", "multiples", "sums", "zeros", "wide", "wide real", "exact fit")


@pytest.mark.parametrize("kind", KINDS)
def test_it_is_what_the_comparison_of_all_sets_says(kind):
    rng = np.random.default_rng([1, KINDS.index(kind)])
    said = Counter()
    for _ in range(60):
        X, y, k = draw(rng, kind)
        forced = rng.permutation(X.shape[1])[: rng.integers(0, k + 1)].tolist() if rng.random() < 0.3 else ()
        said[judge(sl.best_subset(X, y, k, forced=forced), X, y, forced=forced)] += 1
    assert said["open"] <= 1
    assert said["stopped"] <= 1
    assert said["True"] >= 10


@pytest.mark.parametrize("kind", ["integers", "copies", "sums"])
def test_with_a_box_a_ridge_signs_weights_and_an_intercept(kind):
    rng = np.random.default_rng([2, KINDS.index(kind)])
    said = Counter()
    for _ in range(12):
        X, y, k = draw(rng, kind)
        roots = rng.choice(ROOTS, len(y))
        weights = {"sample_weight": roots**2}
        for given, known in (
            ({"box": np.inf}, {}),
            ({"ridge": 4.0}, {"ridge_root": 2.0}),
            ({"positive": True}, {"positive": True}),
            ({"intercept": True}, {"intercept": True}),
            (weights, {"roots": roots}),
            (
                {**weights, "intercept": True, "ridge": 4.0},
                {"roots": roots, "intercept": True, "ridge_root": 2.0},
            ),
        ):
            said[judge(sl.best_subset(X, y, k, **given), X, y, **known)] += 1
    assert said["open"] <= 1
    assert said["stopped"] <= 3
    assert said["True"] > 20


def test_groups_and_a_hierarchy():
    """Two copies of a group, and of a feature that needs another one."""
    rng = np.random.default_rng(3)
    X = rng.integers(-3, 4, (12, 6)).astype(float)
    X[:, 4:] = X[:, :2]
    y = X[:, 0] - 2 * X[:, 1] + 0.25 * X[:, 2] + rng.standard_normal(12)
    groups = sl.best_subset(X, y, 1, groups=["a", "a", "b", "b", "c", "c"])
    assert groups.unique is False
    assert sorted([sorted(groups.support.tolist()), groups.second.tolist()]) == [[0, 1], [4, 5]]
    assert sl.best_subset(X[:, :4], y, 1, groups=["a", "a", "b", "b"]).unique
    needs = sl.best_subset(X[:, [0, 1, 5]], y, 2, hierarchy={1: 0, 2: 0})
    assert needs.unique is False
    assert sorted([sorted(needs.support.tolist()), needs.second.tolist()]) == [[0, 1], [0, 2]]
    assert sl.best_subset(X[:, [0, 1, 5]], y, 2, hierarchy={1: 0, 2: 1}).unique


def signal(n, d, k):
    return sl.ensembles.ar1(n, d, rng=0, rho=0.5, y="signal", k=k, snr=5.0)


@pytest.mark.parametrize(("n", "d", "k"), [(60, 20, 4), (400, 200, 6), (50, 120, 3), (40, 90, 4)])
def test_multiples_neither_spoil_the_bound_nor_hide_a_second_set(n, d, k):
    """In each of the three searches, with copies of columns in the best set and of all other columns."""
    X, y = signal(n, d, k)
    best = sl.best_subset(X, y, k)
    inside = sorted(best.support.tolist())
    outside = np.setdiff1d(np.arange(d), inside)[:5]
    assert (best.unique, best.optimal) == (True, True)
    other = sl.best_subset(np.hstack([X, 4 * X[:, outside]]), y, k)
    assert (sorted(other.support.tolist()), other.unique, other.optimal) == (inside, True, True)
    assert other.lower_bound == pytest.approx(best.lower_bound)
    copied = sl.best_subset(np.column_stack([X, -X[:, inside[0]]]), y, k)
    assert (copied.unique, copied.optimal) == (False, True)
    assert set(copied.second.tolist()) ^ set(copied.support.tolist()) == {inside[0], d}


def test_the_sets_that_have_no_others_are_unique():
    X = np.array([[1.0, 0, 1], [0, 1, 1], [0, 0, 1]])
    assert sl.best_subset(X, np.zeros(3), 2).unique
    assert sl.best_subset(X, [1.0, 2, 3], 3).unique
    assert sl.best_subset(X, [1.0, 2, 3], 2, forced=[0, 1]).unique
    assert sl.best_subset(X, [1.0, 1, 1], 3).unique  # an exact fit by one column
    twice = sl.best_subset(np.hstack([X, np.zeros((3, 1))])[:, [0, 0, 3]], [1.0, 2, 3], 2)
    assert (twice.unique, twice.support.tolist(), twice.second.tolist()) == (False, [0], [1])


def test_what_is_not_known_is_said():
    X, y = signal(30, 12, 3)
    stopped = sl.best_subset(X, y, 3, node_limit=0)
    assert stopped.unique is None
    assert "not proved" in stopped.uniqueness
    assert sl.resume_subset(stopped).unique
    gram = sl.best_subset(sl.Problem.from_gram(np.eye(3), [2.0, 1, 1], 9.0), None, 2)
    assert gram.unique is None
    assert "pass X and y" in gram.uniqueness
    assert f"not known whether it is unique: {gram.uniqueness}" in str(gram)
    assert sl.best_subset(sl.Problem.from_gram(np.eye(3), [2.0, 1.5, 1], 9.0), None, 2).unique
    many = sl.best_subset(np.random.default_rng(0).standard_normal((3, 700)), [1.0, 2.0, 3.0], 3)
    assert many.optimal
    assert many.unique is None


def test_it_is_shown():
    X, y = signal(30, 12, 3)
    best = sl.best_subset(X, y, 3)
    assert "unique: all other sets of this size are worse" in str(best)
    i = min(best.support.tolist())
    copied = sl.best_subset(np.column_stack([X, X[:, i]]), y, 3)
    assert "not unique: the set " in str(copied)
    assert "x12 has the same value" in str(copied)
