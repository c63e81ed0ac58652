"""Methods return the features and coefficients of the model that made the data, to the standard errors.

Errors of the coefficients, divided by their standard errors, are close to standard normal. So none of them is
above five, and their mean square is about 1 for each number of rows: the errors fall like 1/√n.
"""

import numpy as np
import pytest

import sparselin as sl

S, BETA = [1, 4, 7], np.array([1.5, -1.2, 1.0])
MEANS = {
    "gaussian": lambda eta: eta,
    "logistic": lambda eta: 1 / (1 + np.exp(-eta)),
    "poisson": np.exp,
}
DRAWS = {
    "gaussian": lambda mean, rng: rng.normal(mean),
    "logistic": lambda mean, rng: rng.binomial(1, mean),
    "poisson": lambda mean, rng: rng.poisson(mean),
}
VARIANCES = {
    "gaussian": np.ones_like,
    "logistic": lambda mean: mean * (1 - mean),
    "poisson": lambda mean: mean,
}
METHODS = {
    "omp": sl.omp,
    "ols": sl.ols,
    "swaps": sl.swaps,
    "sequential_lasso": sl.sequential_lasso,
    "sequential_attention": sl.sequential_attention,
    "best_subset": sl.best_subset,
    "logistic": lambda X, y, k: sl.generalized_omp(X, y, k, loss="logistic"),
    "poisson": lambda X, y, k: sl.generalized_omp(X, y, k, loss="poisson"),
}


def error_in_standard_errors(name, n, seed):
    """Return (β̂ − β)/se for the true features, which must be those selected."""
    loss = name if name in MEANS else "gaussian"
    rng = np.random.default_rng((seed, n))
    X = 0.6 * rng.normal(size=(n, 10)) + 0.3 * rng.normal(size=(n, 1))
    mean = MEANS[loss](X[:, S] @ BETA)
    found = METHODS[name](X, DRAWS[loss](mean, rng), 3)
    assert sorted(found.support) == S, seed
    information = X[:, S].T @ (VARIANCES[loss](mean)[:, None] * X[:, S])
    coef = found.coef[np.argsort(found.support)]
    return (coef - BETA) / np.sqrt(np.diag(np.linalg.inv(information)))


@pytest.mark.parametrize("n", [500, 4000])
@pytest.mark.parametrize("name", METHODS)
def test_the_true_model_is_found_to_its_standard_errors(name, n):
    errors = np.array([error_in_standard_errors(name, n, seed) for seed in range(12)])
    assert np.abs(errors).max() < 5
    assert 0.4 < np.mean(errors**2) < 2


@pytest.mark.parametrize("name", ["omp", "ols", "sequential_lasso", "sequential_attention", "best_subset"])
def test_a_perfect_fit_ends_the_selection(name, rng):
    """Noiseless y are fitted by the true features alone, with the true coefficients."""
    X = rng.normal(size=(60, 10))
    noisy = METHODS[name](X, X[:, S] @ BETA + rng.normal(size=60), 6)
    assert len(noisy.support) == 6
    found = METHODS[name](X, X[:, S] @ BETA, 6)
    truth = np.zeros(10)
    truth[S] = BETA
    assert np.allclose(found.dense_coef(), truth, atol=1e-9)
    assert name == "best_subset" or (len(found) == 3 and found.status is sl.Status.EXACT_FIT)
