"""Linear methods for classes, on one-hot columns: OMP, OLS, and diverse selection."""

import numpy as np
import torch

from proofs_checks.experiments.networks.baselines._data import PreparedData, baseline
from proofs_checks.experiments.networks.baselines.ranking import FeatureRanking
from sparselin.greedy.omp import group_omp
from sparselin.spectral import SmoothedDifferentialEntropy
from sparselin.spectral.regularizers.base import Gram, SetFunction, grow
from sparselin.validation import check_level


@baseline("linear OMP")
def linear_omp(data: PreparedData) -> FeatureRanking:
    """Add the feature argmax_{j ∉ S} ‖X_jᵀR‖₂, R = P_S^⊥Y, k times; Y has one-hot columns or numbers.

    R are the residuals of least squares on S. This is M-OMP (Cotter, Rao, Engan and Kreutz-Delgado, 2005)
    with an intercept, as in `OMPSelector`. `scores` and `lam` are λ*/n at the step that selects a feature,
    where λ* = ‖X_jᵀR‖₂. The parameters are those of `baselines`; `rng` has no effect.

    >>> X = [[3.0, 1.0, 0.0], [0.0, 1.0, 1.0], [0.0, 0.0, 1.0], [3.0, 0.0, 0.0]]
    >>> linear_omp(X, ["a", "b", "b", "a"], 1)
    <FeatureRanking: linear OMP, 1 of 3 features, COMPLETED>
    """
    scores = np.zeros(len(data.kept))
    path = group_omp(data.X.astype(float), data.outputs, data.k, intercept=True, sample_weight=data.weight)
    scores[path.order] = path.lam_star / len(data.X)
    return data.ranking("linear OMP", path.order, scores, np.where(scores > 0, scores, np.nan))


@baseline("linear OLS")
def linear_ols(data: PreparedData) -> FeatureRanking:
    """Add the feature that increases R²(S) = 1 − ‖P_S^⊥Ỹ‖_F²/‖Ỹ‖_F² most, k times; Ỹ is Y, centred.

    P_S^⊥Ỹ are the residuals of least squares on S. This is OLS (`sparselin.ols`) for several outputs; classes
    are replaced by their one-hot columns. `scores` are the increases of R²; for unselected features, the
    increases at the last step. `rng` has no effect.

    >>> X = [[3.0, 1.0, 0.0], [0.0, 1.0, 1.0], [0.0, 0.0, 1.0], [3.0, 0.0, 0.0]]
    >>> linear_ols(X, ["a", "b", "b", "a"], 2).scores.round(3)
    array([1., 0., 0.])
    """
    return _forward(data, "linear OLS", 0.0, None)


@baseline("diverse selection")
def diverse(
    data: PreparedData, *, nu: float = 0.01, regularizer: SetFunction | None = None
) -> FeatureRanking:
    """Add the feature that increases R²(S) + ν·f(S) most, k times; f is a spectral regularizer.

    This is forward regression of *Selecting Diverse Features via Spectral Regularization* (2012), with the R²
    of several outputs (see `linear_ols`) and with f of the correlation matrix of X. With ν = 0 the method is
    `linear_ols`.

    Parameters
    ----------
    nu : ν ≥ 0.
    regularizer : f; by default `SmoothedDifferentialEntropy(1.0)`, Σ log(1 + λ_i).

    >>> X = np.random.default_rng(0).standard_normal((50, 3))
    >>> X[:, 1] = 2 * X[:, 0] + X[:, 1]
    >>> y = X @ [-2.0, 1.5, 0.5]
    >>> linear_ols(X, y, 2).support.tolist(), diverse(X, y, 2, nu=1.0).support.tolist()
    ([1, 0], [1, 2])
    """
    level = check_level(nu, "nu")
    return _forward(data, "diverse selection", level, regularizer or SmoothedDifferentialEntropy(1.0))


def _forward(data: PreparedData, method: str, nu: float, f: SetFunction | None) -> FeatureRanking:
    """Maximise R²(S) + ν·f(S) greedily, with Gram-Schmidt orthogonalisation of all columns.

    Let Z = P_S^⊥X be the columns projected off S, and Ỹ the centred outputs. Feature j increases R² by
    ‖Z_jᵀỸ‖²/(‖Z_j‖²‖Ỹ‖_F²). The columns of X have length 1, and their rounding errors grow by eps·√n in each
    step. So after t steps, columns with ‖Z_j‖ ≤ 8·eps·√n·(t + 1) lie in the span of S up to rounding, and
    their increase is set to zero.
    """
    X, Y = data.center()
    X /= np.linalg.norm(X, axis=0)
    size = np.square(Y).sum() or 1.0
    growth = None if f is None or nu == 0 else grow(Gram.of_matrix(X.T @ X), f)
    S: list[int] = []
    scores, Z = np.zeros(X.shape[1]), X.copy()
    while len(S) < data.k:
        norms = np.linalg.norm(Z, axis=0)
        outside = norms > 8 * torch.finfo(torch.float64).eps * np.sqrt(len(X)) * (len(S) + 1)
        gains = np.square(Z.T @ Y).sum(axis=1) / np.where(outside, norms**2 * size, np.inf)
        if growth is not None:
            for j in S[-1:]:
                growth.add(j)
            others = np.setdiff1d(np.arange(len(gains)), S)
            gains[others] += nu * growth.gains(others)[0]
        scores = np.where(np.isin(np.arange(len(gains)), S), scores, gains)
        gains[S] = -np.inf
        j = int(np.argmax(gains))
        S.append(j)
        if outside[j]:
            unit = Z[:, j] / norms[j]
            Z -= np.outer(unit, unit @ Z)
            Z[:, j] = 0
    return data.ranking(method, S, scores)
