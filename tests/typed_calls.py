"""Calls that a type checker must accept (`make types`); nothing here runs."""

from typing import assert_type

import numpy as np

import sparselin as sl
from sparselin.results import FloatArray, IndexArray

X, y = np.eye(2), np.ones(2)
problem = sl.Problem(X, y)
path: sl.results.SelectionPath = sl.omp(problem, 2)
sl.omp(problem, k=2)
sl.omp(problem, None, 2)
sl.omp(X, y, 2, tol=0.1, forced=[1])
sl.omp(X=X, y=y, k=2)
sl.ols(problem, 2)
batch: sl.results.BatchSelection = sl.batch_omp(X, np.eye(2), 2)
knots: sl.results.LassoPath = sl.lasso_path(problem)
average: sl.results.FlowAverage = sl.gradient_flow(problem, restart=False).average(1.0)
level: float = sl.lambda_star(X, y, forced=[1])
sl.first_entry(problem, forced=[1])
sl.hadamard_descent(problem, 1.0)
sl.sequential_attention(X, y, 2, parametrization="softmax")
u = sl.project_dual(X, y, 1.0).u
swapped: sl.results.SwappedSubset = sl.swaps(problem, 2, rule="ompr", start=path.support)
gap: float = swapped.gap(sl.best_subset(problem, 2))
best: sl.results.BestSubset = sl.best_subset(
    X, y, range(1, 3), ridge=1.0, box=2.0, groups=["a", "b"], positive=True
)
best = sl.best_subset(X, y, 2, hierarchy={"a:b": ["a", "b"], 0: 1})
best = sl.resume_subset(sl.best_subset(problem, 2, box="proved", gap=0.01), time_limit=1.0)
assert best.certificate is not None
proof: sl.results.SubsetCertificate = sl.results.SubsetCertificate.from_json(best.certificate.to_json())
proved: sl.results.SubsetVerification = proof.verify(X, y, sample_weight=y)
nearly: sl.results.SubsetsWithin = sl.subsets_within(X, y, 2, eps=0.1, ridge=1.0)
stable: sl.results.StabilitySelection = sl.stability_selection(X, y, 2, method="lasso")
often: float = stable.bound(2, 0.9, unimodal=True)
odds: sl.results.GeneralizedPath = sl.generalized_omp(
    X, y > 0, 2, loss="logistic", intercept=True, forced=[1]
)
design: sl.ensembles.Design = sl.ensembles.gaussian(4, 5, y="signal", k=2, snr=float("inf"))
A, b = design
drawn: sl.ensembles.Design = sl.ensembles.ar1(4, 5, 0, rho=0.5, y=lambda X, rng: X[:, 0])
check: sl.results.TheoremCheck = sl.verify(problem, 2)
sl.verify(A, b, 2, audit=True, rng=1)
ratios = sl.window_ratios(problem, 2, forced=[1]) < 1
mu: float = sl.coherence(X) + sl.babel(X, 2)[1] + sl.exact_recovery_coefficient(problem, ["a"])

# Estimators: `fit` returns the class of the estimator, and what it sets has types.
selector = sl.estimators.OMPSelector(n_features_to_select=1).fit(X, y)
assert_type(selector, sl.estimators.OMPSelector)
sl.estimators.OMPSelector("cv_1se", loss="poisson", groups=[0, 1], group_weights="noise")
sl.estimators.OMPSelector(1, loss="hinge")  # type: ignore[arg-type]
sl.estimators.OMPSelector(n_features_to_select="best")  # type: ignore[arg-type]
assert_type(selector.at(1), sl.estimators.OMPSelector)
assert_type(selector.selected_, IndexArray)
assert_type(selector.coef_, FloatArray)
assert_type(selector.intercept_, FloatArray | float)
assert_type(selector.scores_, FloatArray)
assert_type(sl.estimators.DiverseSelector(2).fit(X, y), sl.estimators.DiverseSelector)
assert_type(sl.estimators.BestSubsetSelector(2).fit(X, y), sl.estimators.BestSubsetSelector)
assert_type(sl.estimators.LassoSelector(2).fit(X, y).coef_, FloatArray)
pursuit = sl.estimators.OrthogonalMatchingPursuit(n_nonzero_coefs=1).fit(X, y)
assert_type(pursuit, sl.estimators.OrthogonalMatchingPursuit)
assert_type(pursuit.coef_, FloatArray)
assert_type(sl.estimators.OrthogonalMatchingPursuitCV().fit(X, y).n_nonzero_coefs_, int)
assert_type(sl.estimators.LassoLars().fit(X, y), sl.estimators.LassoLars)
assert_type(sl.estimators.LassoLarsCV().fit(X, y).alpha_, float)
assert_type(sl.estimators.LassoLarsIC().fit(X, y).criterion_, FloatArray)
assert_type(sl.estimators.OLSRegressor(1).fit(X, y), sl.estimators.OLSRegressor)
assert_type(sl.estimators.SequentialLassoRegressor(1).fit(X, y).coef_, FloatArray)
assert_type(sl.estimators.BestSubsetRegressor(1).fit(X, y), sl.estimators.BestSubsetRegressor)
assert_type(sl.estimators.BestSubsetRegressor(1).fit(X, y).coef_, FloatArray)
assert_type(sl.estimators.OLSOptimizer(1).fit(X, y), sl.estimators.OLSOptimizer)
assert_type(sl.estimators.LassoNetRegressor().fit(X, y), sl.estimators.LassoNetRegressor)
assert_type(sl.estimators.LassoNetClassifierCV().fit(X, y).selected_, IndexArray)
network = sl.estimators.SequentialAttentionClassifier(n_features_to_select=1).fit(X, y)
assert_type(network, sl.estimators.SequentialAttentionClassifier)
