"""Labels and counts, and whether a loss has a minimum."""

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.special import expit

EPS = float(np.finfo(float).eps)
NAMED = pytest.mark.parametrize("loss", ["logistic", "poisson"])


def draw(loss, rng, n=80, d=12, size=0.7):
    """X (n, d) and labels, or counts, that depend on the first three columns."""
    X = rng.standard_normal((n, d))
    eta = size * X[:, :3].sum(1) + 0.2
    return X, (rng.random(n) < expit(eta)) if loss == "logistic" else rng.poisson(np.exp(eta))


def with_ones(X):
    return np.column_stack([np.ones(len(X)), X])


def has_minimum(signs, A):
    """Stiemke: some ρ, ≥ 1 where s_i ≠ 0, has Σ_i ρ_i s_i a_i = 0 (s_i = 1 for 0)."""
    rows = np.where(signs == 0, 1, signs)[:, None] * A
    bounds = [(None if s == 0 else 1, None) for s in signs]
    return linprog(np.zeros(len(A)), A_eq=rows.T, b_eq=np.zeros(A.shape[1]), bounds=bounds).status == 0
