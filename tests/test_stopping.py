"""All methods stop alike: at a zero residual, and at exactly the level that another reached."""

import numpy as np
import pytest
import scipy.sparse

import sparselin as sl
from sparselin import Status, batch_omp
from sparselin.greedy._groups import group_omp


def stopping_methods(X, y, k):
    """The status and the number of picks of every method with `residual` or `tol`, by its name."""
    rows = np.sqrt(np.arange(1.0, len(y) + 1))

    def batch(D, count):
        def by(**rule):
            found = batch_omp(D, np.column_stack([y] * count), k, **rule)
            assert len(set(found.status)) == 1
            return found.status[0], int(found.n_selected[0])

        return by

    def groups(residual=None, tol=None):
        levels = [level for level in (residual, tol and tol * np.linalg.norm(y)) if level is not None]
        level = max(levels) / np.linalg.norm(y) if levels else None
        path = group_omp(X, y[:, None], k, tol=level)
        return path.status, len(path.order)

    def ended(method, *data, **options):
        def by(**rule):
            path = method(*data, k, **options, **rule)
            return path.status, len(path.support)

        return by

    return {
        "omp": ended(sl.omp, X, y),
        "ols": ended(sl.ols, X, y),
        "positive": ended(sl.omp, X, y, positive=True),
        "sparse": ended(sl.omp, scipy.sparse.csc_array(X), y),
        "single": ended(sl.omp, X.astype(np.float32), y.astype(np.float32)),
        "complex": ended(sl.omp, 1j * X, y),
        "complex_ols": ended(sl.ols, 1j * X, y),
        "weights": ended(sl.omp, X / rows[:, None], y / rows, sample_weight=rows**2),
        "gram": ended(sl.omp, sl.Problem.from_gram(X.T @ X, X.T @ y, y @ y), None),
        "groups": groups,
        "batch_omp": batch(X, 12),
        "one_by_one": batch(X, 1),
        "complex_batch": batch(1j * X, 1),
    }


@pytest.mark.parametrize("rule", [{"residual": 0.0}, {"tol": 0.0}, {"tol": 1e-17}, {"residual": 0, "tol": 0}])
def test_every_method_calls_a_zero_residual_an_exact_fit(rule):
    """EXACT_FIT does not depend on whether all digits of ‖r‖ vanish, as they often do over integers."""
    fits = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        X = rng.integers(-2, 3, (6, 4)).astype(float)
        if np.linalg.matrix_rank(X) < 4:
            continue
        y = X[:, :2] @ rng.integers(1, 4, 2)
        # more columns than the fit needs
        X = np.column_stack([X, rng.integers(-2, 3, (6, 2))])
        for name, method in stopping_methods(X, y, 6).items():
            status, _ = method(**rule)
            assert status is method()[0], (seed, name)
            assert status is not Status.TOLERANCE, (seed, name)
        fits += sl.omp(X, y, 6, **rule).status is Status.EXACT_FIT
    assert fits > 10


@pytest.mark.parametrize("unit", [1.0, 1e-3, 2.0**60])
def test_every_method_stops_at_exactly_the_level_that_another_reached(unit):
    """All methods pick the same orthogonal columns and stop at residual norms with rounding errors."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        X = np.linalg.qr(rng.standard_normal((9, 9)))[0][:, :6] * rng.uniform(0.5, 2)
        y = unit * (X @ np.array([0.9, 0.75, 0.6, 0.45, 0.3, 0.15]) + 0.1 * rng.standard_normal(9))
        reached = sl.omp(X, y, 6).residual_norm
        for t in range(1, 6):
            methods = stopping_methods(X, y, 6)
            del methods["gram"]  # which knows ‖r‖² to eps‖y‖²
            for name, method in methods.items():
                for rule in ({"residual": reached[t]}, {"tol": reached[t] / np.linalg.norm(y)}):
                    assert method(**rule) == (Status.TOLERANCE, t), (seed, t, name)
