"""A call for each public class of results, on one design with awkward names."""

import numpy as np
import pytest

import sparselin as sl
from sparselin.spectral import GeneralizedRank, SpectralVariance, greedy_maximize

pandas = pytest.importorskip("pandas")
ROOTS, VARIANCE = GeneralizedRank(0.5), SpectralVariance(5)
NAMES = ("a<b>", "a name of a column that is much longer than any cell", "高さ", "two\nlines", "r2", "x & y")
EPS = float(np.finfo(float).eps)


def design(seed=3):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(30, 6)) + rng.normal(size=6)
    X[:, 5] = X[:, 0] + 0.1 * rng.normal(size=30)
    return X, X @ np.array([2.0, 0.0, -1.0, 0.5, 0.0, 0.0]) + 0.3 * rng.normal(size=30) + 4


X, Y = design()
FRAME = pandas.DataFrame(X, columns=NAMES)
CALLS = {
    "omp": lambda X: sl.omp(X, Y, 3, intercept=True),
    "omp, forced": lambda X: sl.omp(X, Y, 3, forced=[2], standardize=True),
    "omp, y = 0": lambda X: sl.omp(X, 0 * Y, 3),
    "batch_omp, stopped": lambda X: sl.batch_omp(X, np.outer(Y, [1, 2]), 2, callback=lambda *a: True),
    "explain": lambda X: sl.explain(X, Y, sl.omp(X, Y, 3), 2),
    "generalized_omp": lambda X: sl.generalized_omp(X, np.abs(Y).round(), 3, loss="poisson", intercept=True),
    "generalized_omp, separated": lambda X: sl.generalized_omp(
        X, Y > 4, 6, loss="logistic", forced=[2], standardize=True, intercept=False
    ),
    "sequential_lasso": lambda X: sl.sequential_lasso(X, Y, 3),
    "sequential_attention": lambda X: sl.sequential_attention(X, Y, 2, forced=[1]),
    "lasso_path": lambda X: sl.lasso_path(X, Y, intercept=True, standardize=True),
    "lasso_path, y = 0": lambda X: sl.lasso_path(X, 0 * Y),
    "gradient_flow": lambda X: sl.gradient_flow(X, Y, intercept=True, standardize=True, forced=[1]),
    "gradient_flow, y = 0": lambda X: sl.gradient_flow(X, 0 * Y, restart=True),
    "gradient_flow, average": lambda X: sl.gradient_flow(X, Y).average(0.02),
    "first_entry": lambda X: sl.first_entry(X, Y),
    "first_entry, y = 0": lambda X: sl.first_entry(X, 0 * Y),
    "batch_omp": lambda X: sl.batch_omp(X, np.outer(Y, np.arange(40)), 2),
    "stability_selection": lambda X: sl.stability_selection(X, Y, 3, pairs=4, forced=[1]),
    "inference": lambda X: sl.inference(X, Y, sl.lasso_path(X, Y, max_steps=3, intercept=True)),
    "inference, split": lambda X: sl.inference(
        X, np.abs(Y).round(), sl.generalized_omp(X, np.abs(Y).round(), 2, loss="poisson"), method="split"
    ),
    "knockoffs": lambda X: sl.knockoffs(X, Y, q=0.4, intercept=True),
    "leave_one_out": lambda X: sl.leave_one_out(X, Y, sl.ols(X, Y, 3, forced=[1])),
    "condition": lambda X: sl.condition(X, Y, sl.omp(X, Y, 3, intercept=True)),
    "condition, forced": lambda X: sl.condition(X, Y, sl.ols(X, Y, 3, forced=[1]), in_y=True),
    "condition, y = 0": lambda X: sl.condition(X, 0 * Y, sl.omp(X, 0 * Y, 3)),
    "condition, LASSO": lambda X: sl.condition(X, Y, sl.lasso_path(X, Y), lam=20.0),
    "swaps": lambda X: sl.swaps(X, Y, 3, start=[0, 1, 2]),
    "project_dual": lambda X: sl.project_dual(X, Y, 30.0),
    "hadamard_descent": lambda X: sl.hadamard_descent(X, Y, 5.0, forced=[1], intercept=True),
    "forward_regression": lambda X: sl.forward_regression(X, Y, 3),
    "forward_regression, regularized": lambda X: sl.forward_regression(X, Y, 3, regularizer=VARIANCE, nu=0.2),
    "best_subset": lambda X: sl.best_subset(X, Y, 3, intercept=True),
    "best_subset, cut off": lambda X: sl.best_subset(X, Y, 3, node_limit=1),
    "best_subset, ridge": lambda X: sl.best_subset(X, Y, 2, ridge=1.0, groups=[0, 0, 1, 1, 2, 2]),
    "best_subset, ridge, cut off": lambda X: sl.best_subset(X, Y, 3, ridge=1.0, node_limit=0),
    "best_subset, sizes": lambda X: sl.best_subset(X, Y, [1, 2, 3], box=9.0),
    "subsets_within": lambda X: sl.subsets_within(X, Y, 2, eps=0.5),
    "choose_nu": lambda X: sl.choose_nu(X, Y, 4, ROOTS),
    "maximize": lambda X: greedy_maximize(np.asarray(X).T @ X, 3, ROOTS),
    "softmax_penalty": lambda X: sl.softmax_penalty([1.0, 2.0, 3.0]),
    "softmax_penalty, many": lambda X: sl.softmax_penalty(np.ones((2, 3, 11))),
    "hier_prox": lambda X: sl.hier_prox([1.0, 0.1], np.ones((2, 3)), lam=0.2, M=1.0),
    "group_hier_prox": lambda X: sl.group_hier_prox(np.ones((2, 2)), np.ones((2, 3)), lam=0.2, M=1.0),
    "submodularity_ratio": lambda X: sl.submodularity_ratio(X, Y, [0, 1], 2),
    "sparse_eigenvalues": lambda X: sl.sparse_eigenvalues(X, 2),
    "verify": lambda X: sl.verify(X, Y, 2),
    "guarantee_bounds": lambda X: sl.guarantee_bounds(X, Y, 2),
    "a bound": lambda X: sl.results.Bound(
        "name",
        "FR",
        "φ",
        "paper",
        (("a < b", True), ("b", False), ("c", None)),
        0.1,
        0.2,
        sl.results.Interval(0, 1, ""),
    ),
    "an interval": lambda X: sl.results.Interval(0.25, 0.5, "by hand"),
}
