"""All subsets within a factor of the best, against enumeration in rational numbers."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from fractional import dot, fractions, gram, solve

import sparselin as sl


def values(X, y, k, ridge=0.0):
    """S ↦ min ‖y − Xβ‖² + ridge‖β‖² over β on S, for all S of k columns, as rational numbers."""
    d = X.shape[1]
    G, found = gram(fractions([*X.T, y])), {}
    for j in range(d):
        G[j][j] += Fraction(ridge)
    for S in itertools.combinations(range(d), k):
        b = [G[i][d] for i in S]
        found[S] = G[d][d] - dot(b, solve([[G[i][j] for j in S] for i in S], b))
    return found


def listed(result):
    return {tuple(S.tolist()) for S in result.supports}


def draw(seed, whole=False):
    rng = np.random.default_rng([7, seed])
    d = int(rng.integers(5, 9))
    X = rng.integers(-3, 4, (12, d)).astype(float) if whole else rng.standard_normal((14, d))
    X += rng.integers(0, 2, (len(X), 1))
    return X, X[:, 0] - X[:, 1] + 2 * rng.integers(-2, 3, len(X)), int(rng.integers(1, 4))


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("ridge", [0.0, 0.5])
def test_the_list_is_complete(whole, ridge):
    for seed in range(25):
        X, y, k = draw(seed, whole)
        best = values(X, y, k, ridge)
        for eps in (0.0, 0.0625, 0.5, 4.0):  # exact as floats
            found = sl.subsets_within(X, y, k, eps=eps, ridge=ridge)
            limit = min(best.values()) * (1 + Fraction(eps))
            assert listed(found) == {S for S, value in best.items() if value <= limit}, (seed, eps)
            assert found.complete
            assert (np.diff(found.values) >= 0).all()
            assert found.values == pytest.approx([float(best[tuple(S)]) for S in found.supports], rel=1e-9)


def test_a_tie_with_the_limit_is_decided_exactly():
    """Compare sets whose value is exactly (1 + eps) times the best, or just above."""
    twice = sl.subsets_within(np.eye(3), np.array([2.0, 1.0, 0.0]), 1, eps=3.0)  # 1, 4, 5: 4 = (1 + 3)·1
    assert listed(twice) == {(0,), (1,)}
    below = sl.subsets_within(np.eye(3), np.array([2.0, 1.0, 0.0]), 1, eps=np.nextafter(3.0, 0))
    assert listed(below) == {(0,)}


def test_a_stopped_search_has_a_bound_for_the_other_sets():
    X, y, _ = draw(3)
    best = values(X, y, 3)
    whole, stopped = sl.subsets_within(X, y, 3, eps=2.0), 0
    for most in range(1, len(whole)):
        found = sl.subsets_within(X, y, 3, eps=2.0, max_sets=most)
        if found.complete:  # the last node listed several sets
            assert listed(found) == listed(whole)
            continue
        assert found.status is sl.Status.STOPPED
        assert len(whole) > len(found) > most
        assert Fraction(found.lower_bound) <= min(best[S] for S in best if S not in listed(found))
        stopped += 1
    assert stopped > 10


def test_groups_forced_features_and_signs():
    X, y, _ = draw(5)
    X = X[:, :5]
    pairs = sl.subsets_within(X, y, 2, eps=3.0, groups=["a", "b", "a", "c", "b"])
    assert {(0, 1, 2, 4), (0, 2, 3), (1, 3, 4)} >= listed(pairs)
    assert set(sl.subsets_within(X, y, 2, eps=1.0, forced=[3]).in_all.tolist()) >= {3}
    for S, value in zip(
        (f := sl.subsets_within(X, y, 2, eps=9.0, positive=True)).supports, f.values, strict=True
    ):
        from scipy.optimize import nnls

        assert value == pytest.approx(nnls(X[:, S], y)[1] ** 2, rel=1e-9)


def test_its_shares_and_its_picture():
    X, y, _ = draw(5)
    found = sl.subsets_within(X, y, 2, eps=0.5)
    counts = sum(np.isin(np.arange(X.shape[1]), S) for S in found.supports)
    assert found.share.tolist() == (counts / len(found)).tolist()
    kinds = np.concatenate([found.in_all, found.in_some, found.in_none])
    assert sorted(kinds.tolist()) == list(range(X.shape[1]))
    assert sl.plots.show(found).images[0].get_array().sum() == 2 * len(found)
    assert len(found.to_frame()) == len(found)
