"""Information criteria, which choose the number of features: AIC, BIC and EBIC."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.special import gammaln

from sparselin.estimators._paths import LinearFit, Task
from sparselin.results import FloatArray


def default_gamma(n: int, p: int) -> float:
    """Return the default γ of EBIC for n rows and p features to choose from.

    It is γ = max(0, 1 − ln n/(4·ln p)), or 0 for p = 1.

    If p = O(n^κ) for some κ > 0, EBIC is consistent for γ > 1 − 1/(2κ) (Chen and Chen, *Extended Bayesian
    information criteria for model selection with large model spaces*, 2008). For p = n^κ this means
    γ > 1 − ln n/(2·ln p). The default is halfway between this bound and 1, because close to the bound EBIC
    selects noise features at all practical n.

    >>> round(default_gamma(100, 1000), 4), default_gamma(1000, 2)
    (0.8333, 0.0)
    """
    return max(0.0, 1 - math.log(n) / (4 * math.log(p))) if p > 1 and n > 1 else 0.0


def criterion(
    name: str, models: Sequence[LinearFit], task: Task, gamma: float, variance: float | None
) -> FloatArray:
    """Return AIC, BIC or EBIC_γ of the models with f, f + 1, … units; less is better.

    A unit is a feature or a group of features, and f of the units are forced. Let y_ij = μ_j + x_iᵀB_j + ε_ij
    for i ≤ n and j ≤ q, where the ε_ij are independent N(0, σ²/w_i) with the weights w_i > 0 (all 1 if there
    are none), and let RSS = Σ w_i(y_ij − x_iᵀB_j)². Up to the constant nq(1 + ln 2π), the minimum of
    −2·log-likelihood over B and σ² is n·q·ln(RSS/(n·q)) − q·Σ ln w_i. If weights w are replaced by c·w, RSS
    becomes c·RSS, and both terms change by nq·ln c. So the criterion does not depend on the unit of the
    weights. If σ² is known, the variance of a row of weight 1, the fit contributes RSS/σ² in place of both
    terms. Let ν be the rank of the selected columns, centred if there is an intercept. Let u of p units be
    selected, where u and p do not count the forced units. Then

        AIC = … + 2·νq,     BIC = … + νq·ln n,     EBIC_γ = BIC + 2γ·ln C(p, u)

    (Luo and Chen, *Sequential lasso cum EBIC for feature selection with ultra-high dimensional feature
    space*, 2014). The intercepts and σ² are parameters of every model and are left out. n is the number of
    rows of positive weight. For losses other than the squared one the deviance takes the place of RSS/σ²,
    because it is −2·log-likelihood up to a constant. Its weights are divided by their mean, so that they add
    up to n: the likelihood of a row with weight w_i is raised to the power n·w_i/Σw.

    If σ² is unknown and y is fitted exactly, RSS = 0 and the criterion is −∞. Such a fit says nothing about a
    model without degrees of freedom. This is a model in which each output has at least n parameters,
    including the intercept, or at least as many parameters as there are distinct rows of X. Therefore the
    criterion of such a model is +∞.
    """
    n = len(task.y)
    q = task.outputs
    forced = len(task.forced)
    norms = np.array([model.residual for model in models])
    rank = np.array([model.rank for model in models])
    if variance is None and task.loss == "squared":
        with np.errstate(divide="ignore"):
            fit = n * q * (2 * np.log(norms / math.sqrt(n * q)) - task.mean_log_weight)
        most = min(n, _different_rows(task.X)) if np.any(norms == 0) else n
        fit[rank + task.intercept >= most] = np.inf
        if np.isinf(fit).all() and fit[0] > 0:
            rows = f"{n} rows" if task.used is None else f"{n} rows of positive weight"
            raise ValueError(
                f"{name!r} has no degree of freedom left: all models fit y exactly, with at most "
                f"{len(rank) + forced - 1} features and {rows}. Pass an integer as n_features_to_select, or "
                "noise_variance"
            )
    else:
        fit = norms**2 * (n / task.total if variance is None else 1 / variance)
    scores = fit + (2.0 if name == "aic" else math.log(n)) * rank * q
    if name == "ebic":
        p = task.units - forced
        u = np.arange(len(models))
        scores += 2 * gamma * (gammaln(p + 1) - gammaln(u + 1) - gammaln(p - u + 1))
    return np.asarray(scores)


def chosen_position(name: str, scores: FloatArray) -> int:
    """Return the position of the least score; for EBIC the first local minimum, as in Luo and Chen (2014).

    Far along a path on n rows, ln RSS decreases faster and faster, even if columns of noise are added. So if
    there are many more features than rows, all criteria decrease again, and a model with dozens of noise
    features can have the least EBIC.
    """
    rises = np.flatnonzero(scores[1:] > scores[:-1])
    return int(rises[0]) if name == "ebic" and len(rises) else int(np.argmin(scores))


def _different_rows(X: Any) -> int:
    """Return the number of distinct rows of X; −0.0 counts as 0.0."""
    if isinstance(X, np.ndarray):
        return len({(row + 0.0).tobytes() for row in X})
    X = X.tocsr(copy=True)
    X.sum_duplicates()
    X.eliminate_zeros()
    cuts = zip(X.indptr, X.indptr[1:], strict=False)
    return len({(X.indices[a:b].tobytes(), X.data[a:b].tobytes()) for a, b in cuts})
