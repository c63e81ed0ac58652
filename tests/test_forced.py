"""`forced` features in the searches, and in the guarantees: the problem given them, by enumeration."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_spectral_regularizers import designs, members
from test_spectral_search import (
    NUS,
    REGULARIZERS,
    Table,
    mask_of,
    naive_forward,
    naive_local,
    r_squared,
    tables,
    trap,
)

import sparselin as sl
from sparselin.spectral import GeneralizedRank, SpectralVariance
from sparselin.spectral.choice import lasso_fits


def contracted(table, F, free):
    """The values of S ↦ table(F ∪ S) on subsets of the free elements."""
    return [table[mask_of([*F, *(free[i] for i in members(A))])] for A in range(1 << len(free))]


@st.composite
def given_some(draw):
    """X, y, F and the other columns, at least one."""
    X = draw(designs(max_d=6))
    X = X if X.shape[1] > 1 else np.column_stack([X, X[::-1]])
    order = draw(st.permutations(range(X.shape[1])))
    m = draw(st.integers(1, X.shape[1] - 1))
    y = np.random.default_rng(draw(st.integers(0, 2**32))).integers(-3, 4, len(X)).astype(float)
    return X, y, order[:m], sorted(order[m:])


@pytest.mark.parametrize("f", REGULARIZERS, ids=str)
@pytest.mark.parametrize("exchange", [False, True])
@settings(max_examples=25)
@given(data=given_some(), nu=NUS, eps=st.sampled_from([0.0, 0.1, 2.0]), variant=st.booleans())
def test_local_search_is_that_of_the_contracted_function(f, exchange, data, nu, eps, variant):
    X, y, F, free = data
    values, g = (contracted(table, F, free) for table in tables(X, y, f, nu))
    full = len(values) - 1
    expected = naive_local(values, g, eps, full, variant, exchange)
    options = {"variant": "complete" if variant else "printed", "exchange": exchange, "eps": eps}
    found = sl.local_search(X, y, regularizer=f, nu=nu, forced=F, **options)
    assert found.support[: len(F)].tolist() == F
    assert [value for _, value in found.candidates] == pytest.approx([g[A] for A in expected], abs=1e-6)
    assert found.value == pytest.approx(max(g[A] for A in expected), rel=1e-7, abs=1e-6)
    if variant and min(values) >= 0:
        S, n, slack = expected[0], len(free), 1e-7 * max(values)
        assert (2 + eps / n) * values[S] + values[full & ~S] >= max(values) - slack
        assert found.value >= max(g) / (4 + eps / n) - slack


@pytest.mark.parametrize("f", REGULARIZERS, ids=str)
@settings(max_examples=40)
@given(data=given_some(), nu=NUS, more=st.integers(0, 2))
def test_greedy_local_search_is_that_of_the_contracted_function(f, data, nu, more):
    X, y, F, free = data
    k = min(more, len(free))
    values, g = (contracted(table, F, free) for table in tables(X, y, f, nu))
    full = len(values) - 1
    S1 = mask_of(naive_forward(g, k, full))
    S2 = mask_of(naive_forward(g, k, full & ~S1))
    inner = max(g[A] for A in naive_local(values, g, 0.1, S1, True)) if k else g[0]
    found = sl.greedy_local_search(X, y, len(F) + k, regularizer=f, nu=nu, forced=F)
    assert [value for _, value in found.candidates] == pytest.approx([g[S1], inner, g[S2]], abs=1e-6)
    assert found.support[: len(F)].tolist() == F
    better = sl.greedy_local_search(X, y, len(F) + k, regularizer=f, nu=nu, forced=F, exchange=True)
    assert better.support[: len(F)].tolist() == F
    S = mask_of([free.index(j) for j in better.support[len(F) :]])
    limit = 0.1 / X.shape[1] ** 2 * abs(g[S]) + 1e-6
    assert all(g[S ^ 1 << i ^ 1 << j] <= g[S] + limit for i in members(S) for j in members(full & ~S))


def test_deletions_leave_the_forced_features():
    """The element that spoils the others is forced, and then all others are worth one each."""
    d, q = 6, 50
    found = sl.local_search(np.eye(d), np.ones(d), regularizer=trap(d, q), forced=[0])
    assert found.support.tolist() == [0, 1, 2, 3, 4, 5]
    # f_F = q at S = ∅ and less elsewhere: the search deletes the feature with which it starts
    falling = Table(tuple(float(50 - m.bit_count()) if m & 1 else 0.0 for m in range(1 << d)))
    found = sl.local_search(np.eye(d), np.zeros(d), regularizer=falling, forced=[0])
    assert (found.support.tolist(), found.moves) == ([0], 1)


def test_within_and_forced():
    X, y = np.eye(5), np.ones(5)
    found = sl.local_search(X, y, regularizer=GeneralizedRank(0.5), within=[2, 4, 3], forced=[3, 0])
    assert found.support.tolist() == [3, 0, 2, 4]
    alone = sl.local_search(X, y, regularizer=SpectralVariance(k=2), within=[], forced=[3])
    assert (alone.support.tolist(), alone.moves) == ([3], 0)


@pytest.mark.parametrize("method", ["forward", "greedy_local_search"])
@pytest.mark.parametrize("refitted", [False, True])
def test_choose_nu_with_forced_features(method, refitted, rng):
    X = rng.standard_normal((40, 10)) + rng.standard_normal((40, 1))
    X /= np.linalg.norm(X, axis=0)
    y, F, k, f = X[:, :4] @ [1, -2, 3, 1] + 0.1 * rng.standard_normal(40), [7, 2], 5, GeneralizedRank(0.5)
    options = {"method": method, "refitted": refitted, "forced": F}
    choice = sl.choose_nu(X, y, k, f, **options)
    # the LASSO without a penalty on F is that of what is left of the columns and y
    Q = np.linalg.qr(X[:, F])[0]
    free = np.setdiff1d(np.arange(10), F)
    rest, left = X[:, free] - Q @ (Q.T @ X[:, free]), y - Q @ (Q.T @ y)
    fit = lasso_fits(sl.Problem(rest, left), [k - 2])[0]
    lost = (left @ left) / (y @ y)
    assert choice.r2_lasso == pytest.approx(1 - lost * (1 - fit.r2))
    assert choice.r2_refitted == pytest.approx(r_squared(X, y, F + free[fit.features].tolist()))
    search = sl.forward_regression if method == "forward" else sl.greedy_local_search
    target = choice.r2_refitted if refitted else choice.r2_lasso
    for nu, r2 in zip(choice.tried[::5], choice.r2_tried[::5], strict=True):
        assert search(X, y, k, regularizer=f, nu=nu, forced=F).r2 == pytest.approx(r2)
        assert nu <= choice.nu or r2 < target
    assert choice.selection.support[:2].tolist() == F
    assert choice.selection.r2 >= target
    nothing = sl.choose_nu(X, y, 2, f, **options)
    assert nothing.selection.support.tolist() == F
    assert nothing.r2_lasso == nothing.r2_refitted == pytest.approx(r_squared(X, y, F))
