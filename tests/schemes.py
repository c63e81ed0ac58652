"""The schemes by which picks are found, forced one at a time, and designs for them."""

import numpy as np
import pytest
from oracles import textbook_ols, textbook_omp

import sparselin as sl
from sparselin.greedy import _pursuit as pursuit
from sparselin.greedy._blocks import Blocks

KINDS = ["gaussian", "walks", "lengths", "heavy tails", "signs", "one-hot"]
TEXTBOOK = {sl.omp: textbook_omp, sl.ols: textbook_ols, sl.sequential_lasso: textbook_omp}
METHODS = pytest.mark.parametrize("method", TEXTBOOK)
ORDERS = pytest.mark.parametrize("order", ["C", "F"])
STOP_NEVER = {"callback": lambda path: False}


def refuse(*arguments):
    raise AssertionError("not this scheme")


def only(monkeypatch, scheme):
    """One scheme alone, however small the design and however wrong the guesses."""
    monkeypatch.setattr(pursuit, "picks_singly", lambda *arguments, **options: scheme == "screen")
    monkeypatch.setattr(Blocks, "efficient", scheme == "blocks")
    if "screen" in scheme:
        monkeypatch.setattr(Blocks, "extend", refuse)


def design(kind, seed, n=61, d=250):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(n, d)), rng.normal(size=n)
    if kind == "walks":
        X = X.cumsum(axis=seed % 2)
    elif kind == "lengths":
        X *= np.exp(9 * rng.normal(size=d))
    elif kind == "heavy tails":
        X = rng.standard_cauchy(size=(n, d))
    elif kind == "signs":
        X = rng.integers(-1, 2, (n, d)).astype(float)
    elif kind == "one-hot":
        X[:, : d // 2] = 0
        X[rng.integers(0, n, d // 2), np.arange(d // 2)] = 3
    return X, y


def assert_same(path, other):
    assert path.support.tolist() == other.support.tolist()
    assert path.ties == other.ties
    for name in ("lam_star", "margin", "residual_norm"):
        np.testing.assert_allclose(getattr(path, name), getattr(other, name), rtol=1e-9, atol=1e-9)
