"""Calls that a type checker must accept (`make types`); nothing here runs."""

import numpy as np

import sparselin as sl

X, y = np.eye(2), np.ones(2)
problem = sl.Problem(X, y)
path: sl.SelectionPath = sl.omp(problem, 2)
sl.omp(problem, k=2)
sl.omp(problem, None, 2)
sl.omp(X, y, 2, tol=0.1, forced=[1])
sl.omp(X=X, y=y, k=2)
sl.ols(problem, 2)
batch: sl.BatchSelection = sl.batch_omp(X, np.eye(2), 2)
knots: sl.LassoPath = sl.lasso_path(problem)
level: float = sl.lambda_star(X, y, forced=[1])
sl.first_entry(problem, forced=[1])
sl.hadamard_descent(problem, 1.0)
sl.sequential_attention(X, y, 2, parametrization="softmax")
u = sl.project_dual(X, y, 1.0).u
swapped: sl.SwappedSubset = sl.swaps(problem, 2, rule="ompr", start=path.support)
gap: float = swapped.gap(sl.best_subset(problem, 2))
stable: sl.StabilitySelection = sl.stability_selection(X, y, 2, method="lasso")
often: float = stable.bound(2, 0.9, unimodal=True)
odds: sl.GeneralizedPath = sl.generalized_omp(X, y > 0, 2, loss="logistic", forced=[1])
