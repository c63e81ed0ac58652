"""No result depends on memory that was not written: np.empty may hold anything."""

import dataclasses

import numpy as np
import pytest

import sparselin as sl

METHODS = {
    "omp": lambda X, y, S: sl.omp(X, y, 6, forced=S),
    "ols": lambda X, y, S: sl.ols(X, y, 6, forced=S),
    "sequential_lasso": lambda X, y, S: sl.sequential_lasso(X, y, 6, forced=S),
    "sequential_attention": lambda X, y, S: sl.sequential_attention(X, y, 6, forced=S),
    "first_entry": lambda X, y, S: sl.first_entry(X, y, unpenalized=S),
    "lasso_path": lambda X, y, S: sl.lasso_path(X, y, unpenalized=S),
    "project_dual": lambda X, y, S: sl.project_dual(X, y, 0.1, unpenalized=S),
    "hadamard_descent": lambda X, y, S: sl.hadamard_descent(X, y, 0.5, unpenalized=S),
    "batch_omp": lambda X, y, S: sl.batch_omp(X, np.stack([y, y[::-1]], axis=1), 4),
    "best_subset": lambda X, y, S: sl.best_subset(X, y, 3),
    "submodularity_ratio": lambda X, y, S: sl.submodularity_ratio(X, y, [0, 1], 2),
    "sparse_eigenvalues": lambda X, y, S: sl.sparse_eigenvalues(X, 3),
    "guarantee_bounds": lambda X, y, S: sl.guarantee_bounds(X, y, 3),
}

# of these S may be large
FORCED = ("lasso_path", "project_dual", "first_entry")


def designs():
    rng = np.random.default_rng(0)
    for n, d in ((12, 20), (40, 9), (60, 200)):
        X, y = rng.normal(size=(n, d)), rng.normal(size=n)
        yield X, y, ()
        yield np.asfortranarray(X.astype(np.float32)), y.astype(np.float32), (3,)
        # dependent only together: κ(X_S) is 2e7, and what decides is the condition of all of them
        t = min(n, d) - 4
        S = np.linalg.qr(rng.normal(size=(n, n)))[0][:, :t] @ (np.eye(t) - np.triu(np.ones((t, t)), 1))
        yield np.column_stack([S / np.linalg.norm(S, axis=0), X[:, :4]]), y, tuple(range(t))


def numbers(value):
    if dataclasses.is_dataclass(value):
        return [numbers(getattr(value, field.name)) for field in dataclasses.fields(value)]
    if isinstance(value, (tuple, list)):
        return [numbers(v) for v in value]
    return value.tobytes() if isinstance(value, np.ndarray) else repr(value)


@pytest.mark.parametrize("method", METHODS)
def test_results_are_the_same_whatever_it_holds(monkeypatch, method):
    right, right_like = np.empty, np.empty_like
    small = method in ("best_subset", "submodularity_ratio", "sparse_eigenvalues", "guarantee_bounds")
    for X, y, S in designs():
        if (small and X.shape[1] > 20) or (len(S) > 6 and method not in FORCED):
            continue
        usual = numbers(METHODS[method](X, y, S))  # and kernels are compiled, for which np.empty is a name
        for filling in (0, 1e30, np.nan):

            def filled(array, filling=filling):
                if array.dtype.kind in "fi":
                    array.fill(filling if array.dtype.kind == "f" else 7)
                return array

            with monkeypatch.context() as patch:
                patch.setattr(np, "empty", lambda *a, **k: filled(right(*a, **k)))
                patch.setattr(np, "empty_like", lambda *a, **k: filled(right_like(*a, **k)))
                assert numbers(METHODS[method](X, y, S)) == usual
