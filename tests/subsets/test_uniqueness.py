"""Whether the best subset is unique, against the comparison of all sets in rational numbers."""

import itertools
import math
from collections import Counter
from fractions import Fraction

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
    for _ in range(25):
        X, y, k = draw(rng, kind)
        roots = rng.choice(ROOTS, len(y))
        for given, known in (
            ({"box": np.inf}, {}),
            ({"ridge": 4.0}, {"ridge_root": 2.0}),
            ({"positive": True}, {"positive": True}),
            ({"intercept": True}, {"intercept": True}),
            ({"sample_weight": roots**2}, {"roots": roots}),
            ({"sample_weight": roots**2, "intercept": True, "ridge": 4.0},
             {"roots": roots, "intercept": True, "ridge_root": 2.0}),
        ):
            name = judge(sl.best_subset(X, y, k, **given), X, y, **known)
            said[name] += 1
            said[name, str(given.keys())] += 1
    print(said)
    assert said["True"] > 5
