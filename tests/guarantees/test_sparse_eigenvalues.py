import itertools

import numpy as np
import pytest
from attacks.oracles import Design, definiteness
from hypothesis import given
from hypothesis import strategies as st
from refusals import refuses

import sparselin as sl
from sparselin._kernels.sparse_eigenvalues import search
from sparselin.guarantees.sparse_eigenvalues import bound_below, default_nodes
from sparselin.testing import integer_designs


def draw(rng, kind, n, d):
    if kind == "integers":
        return rng.integers(-2, 3, size=(n, d)).astype(float)
    if kind == "equicorrelated":
        return np.sqrt(0.4) + np.sqrt(0.6) * np.eye(n, d)
    X = rng.normal(size=(n, d))
    if kind == "duplicates" and d > 1:
        X[:, rng.integers(d)] = -2 * X[:, rng.integers(d)]
    if kind == "scales":
        X *= 10.0 ** rng.integers(-3, 4, size=d)
    if kind == "zeros":
        X[:, rng.random(d) < 0.3] = 0
    return X


KINDS = ("gaussian", "integers", "equicorrelated", "duplicates", "scales", "zeros")


def spectra(C, k, fixed=()):
    """All eigenvalues of the C_S, S ⊇ fixed of min(k, d) elements, one row a set."""
    rest = [i for i in range(len(C)) if i not in fixed]
    size = min(k, len(C)) - len(fixed)
    S = np.array([[*fixed, *R] for R in itertools.combinations(rest, size)], int)
    return np.linalg.eigvalsh(C[S[:, :, None], S[:, None, :]])


def check(X, k, **limits):
    """Both intervals hold the brute-force values; returns the result."""
    found = sl.sparse_eigenvalues(X, k, **limits)
    values = spectra(X.T @ X, k)
    low, high = max(values.min(), 0.0), values.max()
    error = 1e-13 * high
    assert found.lambda_min.lower <= low + error
    assert found.lambda_min.upper >= low - error
    assert found.lambda_max.lower <= high + error
    assert found.lambda_max.upper >= high - error
    assert found.condition_number.lower <= found.condition_number.upper
    for S, attained, end in (
        (found.lambda_min_support, found.lambda_min.upper, -1),
        (found.lambda_max_support, found.lambda_max.lower, 0),
    ):
        assert len(S) <= k
        assert np.all(np.diff(S) > 0)
        own = np.linalg.svd(X[:, S], compute_uv=False)[end] ** 2 if len(S) <= len(X) or end == 0 else 0.0
        assert abs(own - attained) <= 1e-12 * high
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_it_is_what_enumeration_finds(kind, rng):
    for _ in range(200):
        n, d = rng.integers(1, 13, size=2)
        found = check(draw(rng, kind, n, d), int(rng.integers(1, d + 2)))
        assert found.lambda_min.exact
        assert found.lambda_max.exact
        assert found.lambda_min.upper - found.lambda_min.lower <= 2e-11 * found.lambda_max.upper
        assert found.lambda_max.upper - found.lambda_max.lower <= 2e-11 * found.lambda_max.upper


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("node_limit", [1, 2, 5])
def test_intervals_hold_it_whatever_the_node_limit(kind, node_limit, rng):
    for _ in range(25):
        n, d = rng.integers(4, 15, size=2)
        found = check(draw(rng, kind, n, d), int(rng.integers(2, 7)), node_limit=node_limit)
        assert ("node limit" in found.lambda_min.method) or found.lambda_min.exact
        assert ("node limit" in found.lambda_max.method) or found.lambda_max.exact


@given(integer_designs(max_n=6, max_d=6), st.integers(1, 6))
def test_the_bounds_hold_in_rationals(design, k):
    X = design[0]
    found = sl.sparse_eigenvalues(X, k)
    exact = Design(X, design[1])
    for S in itertools.combinations(range(X.shape[1]), min(k, X.shape[1])):
        assert definiteness(exact, S, 1, found.lower) >= 0
        assert definiteness(exact, S, -1, -found.upper) >= 0
    assert definiteness(exact, found.lambda_min_support.tolist(), 1, found.lambda_min.upper) <= 0
    assert definiteness(exact, found.lambda_max_support.tolist(), -1, -found.lambda_max.lower) <= 0


@pytest.mark.parametrize("kind", KINDS)
def test_with_fixed_columns(kind, rng):
    for _ in range(60):
        n, d = rng.integers(3, 12, size=2)
        X = draw(rng, kind, n, d)
        C = X.T @ X
        fixed = int(rng.integers(1, d + 1))
        k = int(rng.integers(fixed, d + 1))
        exact = spectra(C, k, range(fixed)).min()
        slack = 1e-13 * C.diagonal().sum()
        for nodes in (1, 10**6):
            found = bound_below(C, k, slack, nodes, fixed)
            assert found.lower <= exact + slack
            assert found.value >= exact - slack
            if nodes > 1:
                assert found.value <= exact + 3 * slack


@pytest.mark.parametrize("kind", KINDS)
def test_the_search_needs_no_good_start(kind, rng):
    """From any value at or above the least, it reaches that: what the heuristics find is not relied on."""
    for _ in range(80):
        n, d = rng.integers(3, 11, size=2)
        X = draw(rng, kind, n, d)
        C = float(rng.choice([-1.0, 1.0])) * (X.T @ X)
        k = int(rng.integers(2, d + 1))
        fixed = int(rng.choice([0, 0, rng.integers(0, k)]))
        values = np.sort(spectra(C, k, range(fixed))[:, 0])
        error = 1e-13 * np.abs(C.diagonal()).sum()
        if not error:
            continue
        for start in (
            C.diagonal().max() + 1.0,
            values[-1],
            values[min(1, len(values) - 1)],
            values[0] + error,
        ):
            support = np.full(k, -1)
            value, done, _ = search(C, k, fixed, float(start), error, 10**6, support)
            assert done
            assert values[0] - error <= value <= values[0] + 2 * error
            S = support[support >= 0]
            if len(S):
                assert np.linalg.eigvalsh(C[np.ix_(S, S)])[0] == pytest.approx(value, abs=error)
                assert len({*S.tolist(), *range(fixed)}) <= k


@pytest.mark.parametrize(("n", "d", "k"), [(60, 120, 3), (60, 40, 5), (12, 30, 4)])
def test_a_planted_set_is_found_and_proved(n, d, k, rng):
    X = rng.normal(size=(n, d))
    X /= np.linalg.norm(X, axis=0)
    S = np.sort(rng.choice(d, k, replace=False))
    X[:, S[-1]] = X[:, S[:-1]].sum(axis=1) + 1e-3 * X[:, S[-1]]
    X[:, S[-1]] /= np.linalg.norm(X[:, S[-1]])
    found = sl.sparse_eigenvalues(X, k)
    assert found.lambda_min.exact
    assert found.lambda_min_support.tolist() == S.tolist()


def test_dependent_columns_give_zero(rng):
    X = rng.normal(size=(5, 8))
    X[:, 3] = 3 * X[:, 6]
    for k, zero in ((1, False), (2, True), (6, True), (8, True)):
        found = sl.sparse_eigenvalues(X, k)
        assert (found.lower == 0) == zero
        assert (found.lambda_min.upper < 1e-25) == zero
        assert found.lambda_min.exact
        assert np.isinf(found.condition_number.upper) == zero
    X[:, 2] = 0
    assert sl.sparse_eigenvalues(X, 1).lambda_min.upper == 0
    nothing = sl.sparse_eigenvalues(np.zeros((3, 4)), 2)
    assert (nothing.lower, nothing.upper) == (0.0, 0.0)


def test_a_small_eigenvalue_has_many_digits():
    X = np.array([[1.0, 1.0], [0.0, 2.0**-24]])
    found = sl.sparse_eigenvalues(X, 2)  # λ_min = det/λ_max, det = 2⁻⁴⁸
    assert found.lambda_min.upper == pytest.approx(2.0**-49, rel=1e-6)
    assert found.lambda_min.exact


@pytest.mark.parametrize("extreme", [1e-80, 1e100])
def test_fourth_powers_beyond_floats_are_named(extreme):
    refuses("Scale X by a power of two", sl.sparse_eigenvalues, extreme * np.eye(3), 2)


def test_the_default_limit_falls_with_the_size():
    assert default_nodes(10, 5) == 50_000
    assert default_nodes(1000, 5) == 10
    assert default_nodes(1000, 3) == 10_000


def test_more_columns_than_there_are(rng):
    X = rng.standard_normal((6, 4))
    all_of_them, more = sl.sparse_eigenvalues(X, 4), sl.sparse_eigenvalues(X, 10**9, node_limit=2**63 - 1)
    assert more.k == 4
    assert more.lambda_min.lower == all_of_them.lambda_min.lower
    assert more.lambda_max.upper == all_of_them.lambda_max.upper
    np.testing.assert_array_equal(more.babel, all_of_them.babel)
