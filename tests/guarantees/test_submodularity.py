import itertools
from fractions import Fraction

import numpy as np
import pytest
from exact_r2 import FAMILIES, ExactR2, nearly_dependent, rational
from hypothesis import given
from hypothesis import strategies as st
from ratios import KINDS, draw, gamma_by_definition, pairs, r2_by_svd
from refusals import refuses

import sparselin as sl
from sparselin._kernels import linear_algebra
from sparselin._kernels import submodularity as kernels
from sparselin.guarantees import submodularity
from sparselin.subsets.dependence import exactness
from sparselin.testing import integer_designs


@pytest.fixture
def always_bounded(monkeypatch):
    """The way of large designs, for small ones."""
    monkeypatch.setattr(submodularity, "_FEW_PAIRS", 0)


@pytest.mark.parametrize("bounded", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_it_is_what_the_definition_says(kind, bounded, rng, request):
    """All pairs, and those that pruning leaves."""
    if bounded:
        request.getfixturevalue("always_bounded")
    for _ in range(60):
        X, y, U, k = draw(rng, kind)
        found = sl.submodularity_ratio(X, y, U, k)
        f = r2_by_svd(X, y)
        gamma = gamma_by_definition(f, X.shape[1], U, k, 1e-11)[0]
        assert found.exact
        assert found.lower - 1e-9 <= gamma <= found.upper + 1e-9
        assert found.upper - found.lower < 1e-9
        attains(f, found, U, k)


def exact_gamma(X, y, U, k):
    """γ_{U,k} in rationals, by all pairs with a joint gain that counts."""
    return gamma_by_definition(ExactR2(X, y), X.shape[1], U, k, rational(1e-24))[0]


def attains(f, found, U, k):
    """base and added are a legal pair, and its ratio is `upper`."""
    L, A = tuple(found.base.tolist()), tuple(found.added.tolist())
    assert set(L) <= set(U)
    assert not set(L) & set(A)
    assert len(A) <= k
    if A:
        ratio = sum(f((*L, x)) - f(L) for x in A) / (f(L + A) - f(L))
        assert ratio == pytest.approx(found.upper, rel=1e-6, abs=1e-9)
    else:
        assert found.upper == 1


@given(integer_designs(max_n=6, max_d=5), st.integers(1, 4), st.data())
def test_the_bounds_hold_in_rationals(design, k, data):
    X, y = design
    d = X.shape[1]
    U = data.draw(st.lists(st.integers(0, d - 1), unique=True))
    gamma = exact_gamma(X, y, U, k)
    found = sl.submodularity_ratio(X, y, U, k)
    assert rational(found.lower) <= gamma <= rational(found.upper)
    assert found.upper - found.lower < 1e-10


def test_pruning_prunes(rng, always_bounded, monkeypatch):
    X = rng.normal(size=(60, 16))
    y = X[:, 0] - X[:, 1] + X[:, 2] + rng.normal(size=60)
    found = sl.submodularity_ratio(X, y, [0, 1, 2], 5)
    monkeypatch.undo()
    plain = sl.submodularity_ratio(X, y, [0, 1, 2], 5)
    assert (found.lower, found.upper) == pytest.approx((plain.lower, plain.upper), rel=1e-10)
    assert int(found.method.split()[2]) < 0.5 * int(plain.method.split()[2])


@pytest.mark.parametrize("left", [1, 2, 3, 4])
def test_pruning_sums_as_many_terms_as_may_follow(left, rng):
    """Against all B of at most `left` columns, at slacks just below and above the largest sum."""
    for _ in range(60):
        m = int(rng.integers(1, 7))
        V, r, gains = rng.normal(size=(m, 3)), rng.normal(size=3), rng.uniform(0, 2, size=8)
        at, ratio = rng.permutation(8)[:m], float(rng.uniform(0.5, 3))
        excess = [ratio * (v @ r) ** 2 / (v @ v) - gains[i] for v, i in zip(V, at, strict=True)]
        rows = np.vstack([V, r])
        most = max(sum(B) for b in range(min(left, m) + 1) for B in itertools.combinations(excess, b))
        assert kernels._is_hopeless(rows, 3, gains, at, left, ratio, most + 1e-9)
        assert not kernels._is_hopeless(rows, 3, gains, at, left, ratio, most - 1e-9)


def test_pruning_asks_about_all_that_may_follow(monkeypatch, rng):
    """After A of s elements, the last pair that was looked at or a single, about k − s more."""
    k, n, size, seen = 5, 9, 1, []
    X = np.zeros((7, n + k))
    X[:, :n] = rng.normal(size=(7, n))
    X /= np.linalg.norm(X, axis=1)[:, None]

    def compare(pair, rows, facts, n, best, members):
        nonlocal size
        size = round(pair[kernels.SINGLES])  # as every single gain is 1

    def hopeless(V, n, gains, at, left, ratio, slack):
        seen.append((size, left))
        return False

    for module in (kernels, linear_algebra):  # in Python, where most kernels have no entry from Python
        for name, f in list(vars(module).items()):
            monkeypatch.setattr(module, name, getattr(f, "py_func", f))
    monkeypatch.setattr(kernels, "_compare", compare)
    monkeypatch.setattr(kernels, "_is_hopeless", hopeless)
    exact = exactness(sl.Problem(X[:, :n].T, np.ones(n)), np.arange(7))
    none = np.zeros(0, int)
    data = kernels.UnitColumns(X, none, k, n, exact)
    facts = np.array([np.ones(7), np.zeros(7), np.ones(7), np.zeros(7)])
    best = kernels.Best(np.array([1.0, 1e9, 0.0]), none, np.full(k, -1))
    candidates = np.vstack([X, X[:1]]), np.arange(7), facts
    vars(kernels)["_all_additions"](data, candidates, none, 1e-9, 0.0, 1e9, best)
    asked_of_pairs_and_more = {(count, left) for count, left in seen if left < k - 1}
    assert asked_of_pairs_and_more == {(2, 3), (3, 2)}
    assert max(left for _, left in seen) == k - 1


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("node_limit", [1, 10_000])
def test_bounds_beyond_the_limit(kind, node_limit, rng):
    """1 ≥ upper ≥ γ ≥ lower ≥ 0, and lower ≥ λ_min(C, |U| + k) of unit columns if that is searched."""
    for _ in range(25):
        X, y, U, k = draw(rng, kind)
        found = sl.submodularity_ratio(X, y, U, k, pair_limit=1, node_limit=node_limit)
        f = r2_by_svd(X, y)
        gamma = gamma_by_definition(f, X.shape[1], U, k, 1e-11)[0]
        assert 0 <= found.lower <= gamma + 1e-9
        assert gamma - 1e-9 <= found.upper <= 1
        attains(f, found, U, k)
        if node_limit > 1 and X.any(axis=0).all():
            unit = X / np.linalg.norm(X, axis=0)
            assert found.lower >= sl.sparse_eigenvalues(unit, len(U) + k).lower - 1e-9


def least_residual_eigenvalue(X, U, k):
    """min λ_min(H_A) over L ⊆ U, |A| ≤ k, by projections."""
    least = 1.0
    for L, A in pairs(X.shape[1], U, k):
        Z = X[:, A] - X[:, L] @ np.linalg.lstsq(X[:, L], X[:, A])[0] if L else X[:, A]
        Z = Z / np.linalg.norm(Z, axis=0)
        least = min(least, np.linalg.eigvalsh(Z.T @ Z)[0])
    return least


def test_the_chain_of_spectral_bounds(rng):
    """γ ≥ min λ(H_A) ≥ min λ(C_{U ∪ A}) ≥ λ_min(C, |U| + k), for independent columns."""
    strict = np.zeros(3, int)
    for _ in range(60):
        d = int(rng.integers(3, 7))
        X = rng.normal(size=(d + 3, d)) + rng.normal(size=(d + 3, 1))
        X /= np.linalg.norm(X, axis=0)
        U, k = rng.permutation(d)[: rng.integers(1, 3)].tolist(), int(rng.integers(2, 4))
        data = submodularity._unit_columns(sl.Problem(X, X[:, 0]), np.arange(d), np.array(U), k)
        residual = submodularity._residual_bound(data, 10**6)
        sets = [sorted({*U, *A}) for _, A in pairs(d, [], k)]
        joint = min(np.linalg.eigvalsh(X[:, S].T @ X[:, S])[0] for S in sets)
        each = (r2_by_svd(X, rng.normal(size=d + 3)) for _ in range(3))
        gamma = min(gamma_by_definition(f, d, U, k, 1e-11)[0] for f in each)
        chain = [sl.sparse_eigenvalues(X, len(U) + k).lower, joint, residual, gamma]
        assert residual == pytest.approx(least_residual_eigenvalue(X, U, k), rel=1e-8)
        assert np.all(np.diff(chain) >= -1e-10)
        strict += np.diff(chain) > 1e-3
    assert strict.min() > 5


def test_what_bounds_nothing(rng):
    X = rng.normal(size=(6, 4))
    assert sl.submodularity_ratio(X, np.zeros(6), [0], 3).lower == 1
    assert sl.submodularity_ratio(np.zeros((6, 4)), rng.normal(size=6), [0], 3).lower == 1
    assert sl.submodularity_ratio(X, X[:, 0], [], 1).lower == 1
    assert sl.submodularity_ratio(np.linalg.qr(X)[0], X[:, 0], [0, 1], 4).lower == pytest.approx(1)
    copies = np.outer(X[:, 0], [1.0, 2.0, -1.0])
    assert sl.submodularity_ratio(copies, X[:, 1], [0], 3).lower == 1
    flat = sl.submodularity_ratio(X, X[:, 0] + X[:, 1], [0, 1, 2, 3], 2)
    exact = gamma_by_definition(r2_by_svd(X, X[:, 0] + X[:, 1]), 4, [0, 1, 2, 3], 2, 1e-11)[0]
    assert flat.lower == pytest.approx(exact)


@pytest.mark.parametrize("family", FAMILIES)
def test_nearly_dependent_columns_in_rationals(family):
    """lower ≤ γ ≤ upper, and what is known exactly stays so up to a condition of 1e6."""
    for seed in range(60):
        rng = np.random.default_rng([seed, FAMILIES.index(family)])
        X, y = nearly_dependent(family, rng)
        d, k = X.shape[1], int(rng.integers(2, 5))
        U = rng.permutation(d)[: rng.integers(0, 5)].tolist()
        found = sl.submodularity_ratio(X, y, U, k)
        gamma = exact_gamma(X, y, U, k)
        assert rational(found.lower) <= gamma <= rational(found.upper), seed
        assert found.exact == (found.upper - found.lower <= 1e-6 * found.upper)
        assert found.exact or family not in ("integers", "multiples")
        if X.any(axis=0).all() and len(X) >= d and np.linalg.cond(X / np.linalg.norm(X, axis=0)) < 1e6:
            assert found.exact


def test_pairs_of_nearly_equal_columns_count():
    """Four pairs of columns an angle of 1e-4 apart: the condition, multiplied up, took them for dependent."""
    for seed in range(30):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((8, 1)) + 1e-4 * rng.standard_normal((8, 7))
        y = rng.standard_normal(8)
        found = sl.submodularity_ratio(X, y, [3, 4, 5, 6], 4)
        gamma = exact_gamma(X, y, [3, 4, 5, 6], 4)
        assert rational(found.lower) <= gamma
        assert found.exact
        assert int(found.method.split()[2]) == submodularity._count(7, 4, 4)


def test_what_rounding_leaves_open_lowers_the_bound(rng):
    """3x is not three times x, once rounded, and what it differs by may explain anything."""
    X = rng.standard_normal((6, 3))
    X[:, 2] = 3 * X[:, 0]
    found = sl.submodularity_ratio(X, rng.standard_normal(6), [0], 2)
    assert found.lower == 0
    assert not found.exact
    X[:, 2] = -4 * X[:, 0]
    assert sl.submodularity_ratio(X, rng.standard_normal(6), [0], 2).exact


def test_limits_beyond_64_bits(rng):
    X, y = rng.standard_normal((6, 4)), rng.standard_normal(6)
    few = sl.submodularity_ratio(X, y, [0], 2)
    assert sl.submodularity_ratio(X, y, [0], 2, pair_limit=2**63 - 1, node_limit=2**63 - 1).lower == few.lower
    refuses("rng must be a seed", sl.submodularity_ratio, X, y, [0], 2, rng="a", error=TypeError)


# Any set function


def test_of_r2_it_is_the_same(rng):
    for kind in KINDS:
        for _ in range(8):
            X, y, U, k = draw(rng, kind, 6)
            f = r2_by_svd(X, y)
            found = sl.submodularity_ratio_of(f, range(X.shape[1]), U, k)
            assert found.lower == found.upper
            assert found.lower == pytest.approx(sl.submodularity_ratio(X, y, U, k).lower, abs=1e-8)
            attains(f, found, U, k)


def test_any_table_of_integers(rng):
    for _ in range(150):
        d, k = int(rng.integers(1, 6)), int(rng.integers(1, 5))
        values = rng.integers(-4, 5, size=1 << d)
        names = "abcdef"[:d]
        U = rng.permutation(d)[: rng.integers(0, d + 1)].tolist()
        seen = []

        def f(S, values=values, seen=seen):
            seen.append(S)
            return int(values[sum(1 << "abcdef".index(x) for x in S)])

        found = sl.submodularity_ratio_of(f, names, [names[i] for i in U], k)
        exact = [Fraction(int(value)) for value in values]
        gamma = gamma_by_definition(lambda S, v=exact: v[sum(1 << i for i in S)], d, U, k)[0]
        assert found.lower == found.upper == pytest.approx(float(gamma))
        assert len(seen) == len(set(seen))
        assert all(tuple(sorted(S)) == S for S in seen)


def test_submodular_supermodular_and_decreasing():
    def of(f, k=3, **options):
        return sl.submodularity_ratio_of(f, range(6), [0, 1], k, **options)

    assert of(lambda S: len(S) ** 0.5).lower == 1
    assert of(lambda S: float(len(S) ** 2)).lower == pytest.approx(1 / 3)
    assert of(lambda S: -float(len(S))).lower == 1
    dip = of(lambda S: {0: 0.0, 1: -1.0, 2: 3.0}.get(len(S), 0.0), k=2)
    assert dip.lower == dip.upper == pytest.approx(-2 / 3)
    assert dip.base.tolist() == []
    assert dip.added.tolist() == [0, 1]


def test_beyond_the_limit_of_evaluations():
    def f(S):
        return float(len(S)) ** 2

    for monotone, lower in ((True, 0.0), (False, -np.inf)):
        found = sl.submodularity_ratio_of(f, range(40), range(9), 4, monotone=monotone, evaluation_limit=500)
        assert found.lower == lower
        assert 0.25 <= found.upper < 0.5
        again = sl.submodularity_ratio_of(f, range(40), range(9), 4, monotone=monotone, evaluation_limit=500)
        assert found.upper == again.upper
    few = []
    sl.submodularity_ratio_of(lambda S: few.append(S) or 0.0, range(30), [1], 3, evaluation_limit=50)
    assert len(few) <= 50


def test_small_brackets_count_as_zero():
    def f(S):
        return 1.0 + (1e-12 if len(S) == 2 else 0.0)

    assert sl.submodularity_ratio_of(f, range(3), [], 2).lower == 1
    assert sl.submodularity_ratio_of(f, range(3), [], 2, tol=0).lower == 0


def test_bad_set_functions():
    def f(S):
        return float(len(S))

    refuses("f must be a function", sl.submodularity_ratio_of, 3, range(3), [], 2, error=TypeError)
    refuses("ground_set must hold distinct", sl.submodularity_ratio_of, f, [1, 1], [], 2)
    refuses("7 is not in it", sl.submodularity_ratio_of, f, range(3), [7], 2)
    refuses("repeated", sl.submodularity_ratio_of, f, range(3), [1, 1], 2)
    with pytest.raises(ValueError, match=r"f must be finite; f\(\(0, 2\)\) is nan"):
        sl.submodularity_ratio_of(lambda S: np.nan if S == (0, 2) else 0.0, range(3), [], 2)
    with pytest.raises(TypeError, match=r"f must return a number; f\(\(\)\) is None"):
        sl.submodularity_ratio_of(lambda S: None, range(3), [], 2)
    refuses("rng must be a seed", sl.submodularity_ratio_of, f, range(3), [], 2, rng="a", error=TypeError)
    refuses("monotone must be", sl.submodularity_ratio_of, f, range(3), [], 2, monotone=1, error=TypeError)
