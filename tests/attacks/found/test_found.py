"""Designs on which attacks found wrong answers; the words in each file, or test, are what was wrong."""

import types

import numpy as np
import pytest

from sparselin.lasso import _candidates

from ..attacks import stands
from ..run import FOUND, Case, read


@pytest.mark.parametrize("path", sorted(FOUND.glob("*.json")), ids=lambda path: path.stem)
def test_found(path):
    stands(read(path))


@pytest.mark.parametrize("method", ["first_entry", "lasso_path", "ols", "omp", "sequential_lasso"])
def test_a_column_almost_in_the_span(method):
    """Column 2 is almost in the span of the forced columns, and T = {2, 3} lacked it.

    With the columns [0, 1] forced: T = (3,) lacks [2], |c| = [1. 0.5], λ* = 1.0 (q = [1. 1.] of OLS); and on
    the path of the LASSO the KKT conditions at λ = 0.0 (of 0.5) fail by 1 at column 2 (rounding: 47.7).
    """
    X = np.array([[1, 1, 1e8, 0], [0, 2.0**-23, 0, 0], [0, 0, 1, 0], [0, 0, 0, 0.5]])
    stands(Case(method, X, np.ones(4), (0, 1), 0, "C"))


def test_memory_that_was_not_written(monkeypatch):
    """LinAlgError: Singular matrix, where memory that was not written held a one.

    The LASSO path that judges the descent inverted a Cholesky factor, of whose square only the lower triangle
    is written.
    """
    X, y = np.array([[0.0, 1, 1], [1, 1, 0], [0, 0, 1]]), np.array([0.0, -1, -1])
    memory_of_ones = types.SimpleNamespace(**{**vars(np), "empty": np.ones})
    monkeypatch.setattr(_candidates, "np", memory_of_ones)
    stands(Case("hadamard_descent", X, y, (0, 1), 1557985586, "C"))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("n", "d", "rank", "noise"), [(20, 120, 10, 3e-4), (14, 60, 7, 1e-4)])
def test_low_rank(n, d, rank, noise, seed):
    """Low rank plus small noise: `lasso_path` went round endlessly, or its knots were no solutions."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, rank)) @ rng.standard_normal((rank, d)) + noise * rng.standard_normal((n, d))
    stands(Case("lasso_path", X, rng.standard_normal(n)))
