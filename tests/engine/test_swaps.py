"""Swaps against loops over all of them, and against the algorithm of Jain, Tewari and Dhillon as printed."""

import itertools

import numpy as np
import pytest
from exact_r2 import ExactR2
from oracles import residual, textbook_ols
from refusals import refuses

import sparselin as sl


def unit(n=30, d=12, seed=0):
    return sl.ensembles.ar1(n, d, rng=seed, rho=0.8)


def square(X, y, S):
    r = residual(X, y, S)
    return r @ r


def by_enumeration(X, y, S, forced=()):
    """The best swap, again and again; the pairs, and ‖r‖² of each set."""
    S, pairs, squares = list(S), [], [square(X, y, S)]
    while True:
        swaps = {
            (i, j): [j if x == i else x for x in S]
            for i in S if i not in forced for j in range(X.shape[1]) if j not in S
        }  # fmt: skip
        pair = min(swaps, key=lambda pair: square(X, y, swaps[pair]))
        if square(X, y, swaps[pair]) >= squares[-1] - 1e-12 * (y @ y):
            return pairs, squares, S
        S = swaps[pair]
        pairs.append(pair)
        squares.append(square(X, y, S))


def printed_ompr(X, y, S, eta, steps=100):
    """OMPR(η): z = β + ηc, the largest |z_j| outside S comes in, and the smallest of them all goes out."""
    S, pairs = list(S), []
    for _ in range(steps):
        beta = np.zeros(X.shape[1])
        beta[S] = np.linalg.lstsq(X[:, S], y, rcond=None)[0]
        z = np.abs(beta + eta * X.T @ (y - X @ beta))
        j = max((j for j in range(len(z)) if j not in S), key=lambda j: z[j])
        i = min([*S, j], key=lambda i: z[i])
        if i == j:
            return pairs, S
        S = [j if x == i else x for x in S]
        pairs.append((i, j))
    return pairs, S


def pairs_of(found):
    return list(zip(found.removed.tolist(), found.inserted.tolist(), strict=True))


@pytest.mark.parametrize("forced", [(), (3, 8)])
def test_the_best_swap_of_all_is_made(forced):
    moves = 0
    for seed in range(25):
        X, y = unit(seed=seed)
        start = textbook_ols(X, y, 4, forced) if seed % 5 == 0 else [3, 8, 0, 1]
        pairs, squares, S = by_enumeration(X, y, start, forced)
        found = sl.swaps(X, y, 4, forced=forced, start=[] if seed % 5 == 0 else start)
        assert pairs_of(found) == pairs
        assert found.support.tolist() == S
        assert found.moves == len(pairs)
        np.testing.assert_allclose(found.residuals, squares, rtol=1e-11)
        assert found.r2 == pytest.approx(1 - squares[-1] / (y @ y), rel=1e-11)
        coef = np.linalg.lstsq(X[:, S], y, rcond=None)[0]
        np.testing.assert_allclose(found.coef, coef, rtol=1e-8, atol=1e-10 * np.abs(coef).max())
        assert found.gains.sum() == pytest.approx(found.r2, rel=1e-12)
        moves += len(pairs)
    assert moves > 10


def test_intercept_weights_and_scales():
    moves = 0
    for seed in range(15):
        X, y = unit(seed=seed)
        X, y = 7 * X + 1e4, y + 1e5
        weight = np.random.default_rng(seed).uniform(0.2, 3, 30)
        Z, z = (v - np.average(v, axis=0, weights=weight) for v in (X, y))
        Z, z = np.sqrt(weight)[:, None] * Z, np.sqrt(weight) * z
        Z = Z / np.linalg.norm(Z, axis=0)
        found = sl.swaps(X, y, 3, intercept=True, standardize=True, sample_weight=weight)
        pairs, squares, _ = by_enumeration(Z, z, textbook_ols(Z, z, 3))
        assert pairs_of(found) == pairs
        np.testing.assert_allclose(found.residuals, squares, rtol=1e-8)
        assert found.predict(X) @ weight == pytest.approx(y @ weight, rel=1e-12)
        moves += len(pairs)
    assert moves > 5


@pytest.mark.parametrize("ensemble", ["small_integers", "duplicated", "planted_ties", "partial_hadamard"])
def test_at_the_end_no_swap_lowers_the_residual(ensemble):
    """In rational arithmetic, where columns are dependent and many swaps are equal."""
    for seed in range(8):
        X, y = getattr(sl.ensembles, ensemble)(8, 12, rng=seed)
        found, r2 = sl.swaps(X, y, 3), ExactR2(X, y)
        S = found.support.tolist()
        for i, j in itertools.product(S, range(12)):
            assert (r2({*S, j} - {i} if j not in S else S) - r2(S)) * 10**11 <= 1


@pytest.mark.parametrize("seed", range(20))
def test_the_printed_ompr_is_a_beginning(seed):
    X, y = sl.ensembles.gaussian(25, 12, rng=seed)
    start = np.random.default_rng(seed).permutation(12)[:4].tolist()
    gram = np.abs(X.T @ X - np.eye(12))
    found = sl.swaps(X, y, 4, rule="ompr", start=start)
    for eta in (1 / (1 + gram.max()), 0.3):
        pairs, S = printed_ompr(X, y, start, eta)
        assert pairs_of(found)[: len(pairs)] == pairs
        assert found.residuals[-1] <= square(X, y, S) * (1 + 1e-12)
    assert (np.diff(found.residuals) < 0).all()
    if found.moves > 0:
        assert pairs_of(sl.swaps(X * np.arange(1, 13), y, 4, rule="ompr", start=start)) == pairs_of(found)


def test_that_ompr_swaps_at_all_and_ends_where_the_exact_rule_goes_on():
    designs = [sl.ensembles.gaussian(25, 12, rng=seed) for seed in range(20)]
    found = [sl.swaps(X, y, 4, rule="ompr", start=[0, 1, 2, 3]) for X, y in designs]
    assert sum(one.moves for one in found) > 20
    further = [sl.swaps(X, y, 4, start=one.support).moves for (X, y), one in zip(designs, found, strict=True)]
    assert sum(further) > 3


def test_the_gap_to_the_best_subset():
    optimal = 0
    for seed in range(10):
        X, y = sl.ensembles.ar1(60, 20, rng=seed, rho=0.9)
        found, best = sl.swaps(X, y, 4), sl.best_subset(X, y, 4)
        gap = found.gap(best)
        room = 2e-10 * (y @ y) / best.residual  # by so much lower_bound is below residual
        assert gap == pytest.approx(1 - best.residual / found.residuals[-1], rel=0, abs=room)
        assert found.gap(sl.best_subset(X, y, 4, node_limit=1)) >= gap - room
        assert found.r2 <= best.r2 + 1e-12
        optimal += gap < room
    assert 0 < optimal < 10
    for wrong in (sl.best_subset(X, y, 3), sl.best_subset(X, y, 5), sl.best_subset(X[:, :19], y, 4)):
        refuses("best must be the best 4 of 20 features; got", found.gap, wrong)
    assert sl.swaps(X, 0 * y, 2).gap(sl.best_subset(X, 0 * y, 2)) == 0.0
    for words, given in (
        ("ridge 1", {"ridge": 1.0}),
        ("box", {"box": 0.5}),
        ("groups", {"groups": np.arange(20) // 2}),
        ("ridge 0.5, β ≥ 0", {"ridge": 0.5, "positive": True}),
    ):
        restricted = sl.best_subset(X, y, 4, **given)
        assert ", ".join(restricted.restrictions) == words
        assert f"with {words}\n" in str(restricted)
        refuses(f"best must have no restrictions; got {words}", found.gap, restricted)
    for given in ({"box": "proved"}, {"box": np.inf}, {"groups": range(20)}):
        assert sl.best_subset(X, y, 4, **given).restrictions == ()


def test_the_start():
    X, y = unit()
    found = sl.swaps(X, y, 3, start=[5, 6, 7])
    assert found.residuals[0] == pytest.approx(square(X, y, [5, 6, 7]), rel=1e-12)
    assert [name for name, _ in found.candidates] == ["start", "end"]
    assert found.candidates[0][1] == pytest.approx(1 - found.residuals[0] / (y @ y), rel=1e-12)
    X[:, 7] = X[:, 5] + X[:, 6]
    completed = sl.swaps(X, y, 3, start=[5, 6, 7])
    assert completed.residuals[0] == pytest.approx(square(X, y, textbook_ols(X, y, 3, [5, 6])), rel=1e-12)
    assert sl.swaps(X, y, 3, start=[5, 6], forced=[5]).residuals[0] == completed.residuals[0]
    forced = sl.swaps(X, y, 4, forced=[5, 6, 7])
    assert forced.support[:3].tolist() == [5, 6, 7]
    assert forced.residuals[-1] == pytest.approx(min(square(X, y, [5, 6, j]) for j in range(12)), rel=1e-12)


def test_how_it_ends():
    X, y = unit()
    assert sl.swaps(X, X[:, :2].sum(axis=1), 4).status is sl.Status.EXACT_FIT
    assert sl.swaps(X[:3], y[:3], 5).status is not sl.Status.COMPLETED
    nothing = sl.swaps(X, 0 * y, 4)
    assert (nothing.status, len(nothing), nothing.r2) == (sl.Status.EXACT_FIT, 0, 0.0)
    whole = sl.swaps(X, y, 12)
    assert (whole.moves, whole.status) == (0, sl.Status.COMPLETED)
    seen = []
    start = [0, 1, 2, 3]
    stopped = sl.swaps(X, y, 4, start=start, callback=lambda found: seen.append(found) or len(seen) == 1)
    whole = sl.swaps(X, y, 4, start=start)
    assert whole.moves > 1
    assert stopped == seen[-1]
    assert stopped.status is sl.Status.STOPPED
    assert pairs_of(stopped) == pairs_of(whole)[:1]


@pytest.mark.parametrize("rule", ["exact", "ompr"])
def test_nearly_dependent_columns(rule):
    """Residuals fall, as measured by least squares of the columns at unit length, and there is an end."""
    for seed in range(10):
        X, y = sl.ensembles.ill_conditioned(20, 15, rng=seed, kappa=1e10)
        found = sl.swaps(X, y, 5, rule=rule, start=range(5))
        assert (np.diff(found.residuals) < 0).all()
        Q = np.linalg.qr(X[:, found.support])[0]
        r = y - Q @ (Q.T @ y)
        assert found.residuals[-1] == pytest.approx(r @ r, rel=1e-4)


def test_what_it_refuses():
    X, y = unit()
    for wrong, words in (
        ({"rule": "best"}, "rule must be one of exact, ompr; got 'best'$"),
        ({"rule": "OMPR"}, "rule must be one of exact, ompr; got 'OMPR', and case matters"),
        ({"start": [0, 1, 2], "forced": [3]}, "start and forced features count in k: got 4 and k=3"),
    ):
        refuses(words, sl.swaps, X, y, 3, **wrong)


def test_the_table_names_the_swaps():
    pandas = pytest.importorskip("pandas")
    X, y = unit()
    found = sl.swaps(pandas.DataFrame(X).add_prefix("c"), y, 3, start=["c5", "c6", "c7"])
    assert f"swaps: c{found.removed[0]} → c{found.inserted[0]}, " in str(found)
