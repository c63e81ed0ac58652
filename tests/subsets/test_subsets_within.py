"""All subsets within a factor of the best, against enumeration in rational numbers."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from fractional import dot, fractions, gram, residual, solve

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


def conditioned(rng):
    """Condition numbers of 1 to 1e12, lengths of 2^-40 to 2^40, large means, near or exact copies."""
    n, d = int(rng.integers(5, 12)), int(rng.integers(3, 7))
    U, V = (np.linalg.qr(rng.standard_normal((m, m)))[0] for m in (n, d))
    rank = min(n, d)
    X = U[:, :rank] * np.geomspace(1, 10.0 ** -rng.uniform(0, 12), rank) @ V[:rank]
    kind = rng.integers(5)
    if kind == 1:
        X = rng.standard_normal((n, d)) + 10.0 ** rng.uniform(1, 6)
    if kind == 2:
        X = rng.standard_normal((n, d))
        X[:, -1] = X[:, 0] + 10.0 ** -rng.uniform(1, 12) * rng.standard_normal(n)
    if kind == 3:
        X = rng.integers(-2, 3, (n, d)).astype(float)
        X[:, -1] = -2 * X[:, 0]
    if kind == 4:
        X[:, rng.integers(d)] = 0
    y = X @ rng.standard_normal(d) * rng.integers(0, 2) + np.linalg.norm(X) * rng.standard_normal(n)
    y *= rng.random() < 0.9
    return X * 2.0 ** rng.integers(-40, 41, d if rng.random() < 0.5 else 1), y * 2.0 ** rng.integers(-40, 41)


def test_the_list_is_complete_for_nearly_dependent_columns():
    """The list is exact at any condition number, and at any lengths of the columns and of y."""
    for seed in range(120):
        rng = np.random.default_rng([11, seed])
        X, y = conditioned(rng)
        k, eps = int(rng.integers(1, X.shape[1] + 1)), float(rng.choice([0.0, 1e-12, 0.25, 3.0]))
        best, size = {}, Fraction(0)
        columns, target = fractions(X.T), fractions(y)
        size = dot(target, target)
        for S in itertools.combinations(range(X.shape[1]), k):
            r = residual([columns[j] for j in S], target)
            best[S] = dot(r, r)
        limit = min(best.values()) * (1 + Fraction(eps))
        found = sl.subsets_within(X, y, k, eps=eps)
        assert listed(found) == {S for S, value in best.items() if value <= limit}, seed
        assert found.complete, seed
        for S, value in zip(found.supports, found.values, strict=True):
            assert abs(Fraction(value) - best[tuple(S.tolist())]) <= size / 10**9, seed
        problem = sl.subsets_within(sl.Problem(X, y), None, k, eps=eps)  # without rational arithmetic
        assert listed(problem) >= listed(found), seed
        assert problem.complete == (problem.status is sl.Status.COMPLETED), seed


def test_rounding_that_leaves_a_value_open_is_said():
    """A column differs from twice another one by 2⁻⁵⁰, and y is along the difference."""
    X = np.array([[1.0, 2.0], [1.0, 2.0 + 2.0**-50], [1.0, 2.0]])
    found = sl.subsets_within(X, [0.0, 1.0, -1.0], 2, eps=0.0)
    assert found.complete
    assert found.values == pytest.approx([0.5])
    open_ = sl.subsets_within(sl.Problem(X, [0.0, 1.0, -1.0]), None, 2, eps=0.0)
    assert listed(open_) == {(0, 1)}
    assert (open_.complete, open_.status) == (False, sl.Status.BEYOND_PRECISION)


def test_columns_of_zeros_belong_to_sets():
    X = [[0.0, 0, 1, 2], [0, 0, 2, -1], [0, 0, 1, 1]]
    assert len(listed(sl.subsets_within(X, [1.0, 2, 4], 2, eps=100.0))) == 6


@pytest.mark.parametrize(
    "options", [{}, {"ridge": 1.0}, {"box": 1.0}, {"positive": True}, {"intercept": True}]
)
def test_of_a_constant_response_all_sets_are_listed(options):
    y = np.full(6, 3.0) if "intercept" in options else np.zeros(6)
    found = sl.subsets_within(np.random.default_rng(0).standard_normal((6, 4)), y, 2, eps=0.5, **options)
    assert len(listed(found)) == 6
    assert found.complete
    assert not found.values.any()


def test_several_sizes_have_a_list_each():
    X, y, _ = draw(3)
    found = sl.subsets_within(X, y, range(1, 4), eps=0.5)
    assert [len(one.supports[0]) for one in found.by_size] == [1, 2, 3]
    for k, one in enumerate(found.by_size, 1):
        alone = sl.subsets_within(X, y, k, eps=0.5)
        assert listed(one) == listed(alone)
        assert (one.limit, one.values.tolist()) == (alone.limit, alone.values.tolist())
        assert alone.by_size == ()
    assert listed(found) == listed(found.by_size[-1])


@pytest.mark.parametrize("seed", [424, 258, 360])
def test_bounded_fits_are_minimal(seed):
    """A bounded fit that ended early left out sets, in spite of a condition of 10 to 70."""
    rng = np.random.default_rng((19, seed))
    d = int(rng.integers(6, 9))
    k, n = int(rng.integers(4, d)), d + int(rng.integers(0, 4))
    near = 0.9 ** np.abs(np.subtract.outer(np.arange(d), np.arange(d)))
    X, y = rng.standard_normal((n, d)) @ np.linalg.cholesky(near).T, 2 * rng.standard_normal(n)
    box = float(rng.choice([0.5, 1.0, 2.0]))
    found = sl.subsets_within(X, y, k, eps=5.0, box=box)
    assert len(found) == math.comb(d, k)
    for S, value in zip(found.supports, found.values, strict=True):
        ends = itertools.product((None, -box, box), repeat=k)
        assert value == pytest.approx(min(stationary(X[:, S], y, end, box) for end in ends), rel=1e-9)


def stationary(A, y, ends, box):
    """The value at the least squares with some coefficients at bounds; inf outside the box."""
    w = np.array([end or 0.0 for end in ends])
    free = np.array([end is None for end in ends])
    w[free] = np.linalg.lstsq(A[:, free], y - A @ w, rcond=None)[0] if free.any() else 0
    return np.inf if np.abs(w).max() > box else float(np.sum((y - A @ w) ** 2))
