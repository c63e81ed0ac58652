import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st
from oracles import residual, textbook_ols

import sparselin as sl
from sparselin.testing import integer_designs

SEEDS = st.integers(0, 2**32 - 1)
LAYOUTS = {"C": np.ascontiguousarray, "F": np.asfortranarray, "sparse": scipy.sparse.csc_array}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("kind", ["gaussian", "walks down", "walks across", "lengths"])
def test_supports_are_the_textbook_ones(rng, layout, kind):
    for _ in range(8):
        X, y = rng.normal(size=(30, 80)), rng.normal(size=30)
        X = {
            "gaussian": X,
            "walks down": X.cumsum(axis=0),
            "walks across": X.cumsum(axis=1),
            "lengths": X * np.exp(5 * rng.normal(size=80)),
        }[kind]
        path = sl.ols(LAYOUTS[layout](X), y, 8)
        assert path.support.tolist() == textbook_ols(X, y, 8)
        r = residual(X, y, path.support)
        assert path.residual_norm[-1] == pytest.approx(np.linalg.norm(r), rel=1e-10)


@given(integer_designs(max_n=6, max_d=8))
def test_every_pick_lowers_the_residual_most(design):
    X, y = design
    path = sl.ols(X, y, X.shape[1])
    rank = np.linalg.matrix_rank
    for t, pick in enumerate(path.support):
        S = path.support[:t].tolist()
        before = np.linalg.norm(residual(X, y, S))
        falls = np.zeros(X.shape[1])
        for j in set(range(X.shape[1])) - set(S):
            if rank(X[:, [*S, j]]) > t:
                falls[j] = before**2 - np.linalg.norm(residual(X, y, [*S, j])) ** 2
        best = np.flatnonzero(falls >= falls.max() - 1e-10 * np.linalg.norm(y) ** 2)
        assert path.ties[t] == tuple(best.tolist())
        assert pick == best[0]
        assert path.lam_star[t] == pytest.approx(abs(X[:, pick] @ residual(X, y, S)), rel=1e-10)
    r = residual(X, y, path.support)
    assert np.abs(X.T @ r).max() <= 1e-10 * np.linalg.norm(X) * np.linalg.norm(y)


@given(SEEDS)
def test_the_margin_is_about_the_falls(seed):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(15, 20)), rng.normal(size=15)
    path = sl.ols(X, y, 4)
    for t in range(4):
        S = path.support[:t].tolist()
        P = X - X[:, S] @ np.linalg.lstsq(X[:, S], X, rcond=None)[0] if S else X
        lengths = np.linalg.norm(P, axis=0)
        lengths[S] = np.inf
        score = np.sort(np.abs(X.T @ residual(X, y, S)) / lengths)
        assert path.margin[t] == pytest.approx(1 - score[-2] / score[-1], abs=1e-11)


@pytest.mark.parametrize("gap", [1e-3, 1e-5])
def test_lengths_are_measured_anew_after_cancellation(rng, gap):
    """Pairs of near-copies: once one is taken the other has length `gap`, its square lost to rounding."""
    for _ in range(10):
        base = rng.normal(size=(40, 15))
        X = np.hstack([base, base + gap * rng.normal(size=base.shape)])
        y = rng.normal(size=40)
        path = sl.ols(X, y, 8)
        assert path.support.tolist() == textbook_ols(X, y, 8)


def test_a_length_of_a_hundred_millionth(rng):
    """x₂ = x₁ + 1e-8·δ, and only δ brings the fall of 2: ρ² = 1e-16 is lost in the recurrence."""
    for _ in range(10):
        Q = np.linalg.qr(rng.normal(size=(40, 30)))[0]
        others = Q[:, 2:] + 0.2 * Q[:, :1] + 0.3 * Q[:, 1:2]
        X = np.column_stack([Q[:, 0], Q[:, 0] + 1e-8 * Q[:, 1], others / np.linalg.norm(others, axis=0)])
        y = 3 * Q[:, 0] + 2 * Q[:, 1] + 0.5 * Q[:, 2]
        path = sl.ols(X, y, 2)
        i, j = path.support.tolist()
        assert {i, j} == {0, 1}
        P = X - np.outer(X[:, i], X[:, i] @ X) / (X[:, i] @ X[:, i])
        P -= np.outer(X[:, i], X[:, i] @ P) / (X[:, i] @ X[:, i])
        scores = np.abs(P.T @ y)[np.arange(30) != i] / np.linalg.norm(P, axis=0)[np.arange(30) != i]
        first, second = np.sort(scores)[[-1, -2]]
        assert path.margin[1] == pytest.approx(1 - second / first, abs=1e-6)
