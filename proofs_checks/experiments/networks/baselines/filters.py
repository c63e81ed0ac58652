"""Methods without a network: random features, correlation, random forest, mRMR."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from proofs_checks.experiments.networks.baselines._data import PreparedData, baseline
from proofs_checks.experiments.networks.baselines.ranking import FeatureRanking
from sparselin.validation import check_count
from sparselin.validation.extras import needs


@baseline("random")
def random_features(data: PreparedData, *, rng: Any = 0) -> FeatureRanking:
    """Select k features at random: the baseline that any method has to beat.

    All sets of k features that are not constant are equally likely.

    >>> random_features([[0.0, 1.0, 5.0], [1.0, 0.0, 5.0]], [0.0, 1.0], 2).status.name
    'COMPLETED'
    """
    return data.best("random", np.random.default_rng(rng).random(len(data.kept)))


@baseline("largest correlation")
def largest_correlation(data: PreparedData) -> FeatureRanking:
    """Select the k features with the largest multiple correlation R_j with y.

        R_j = ‖Qᵀx̃_j‖/‖x̃_j‖,    Q an orthonormal basis of the columns of Ỹ,

    where x̃_j and Ỹ are the column j of X and y, centred, with row i multiplied by √ω_i (ω the weights of
    rows). Classes are replaced by their one-hot columns. For one y, R_j is |correlation|. For classes R_j² is
    Fisher's correlation ratio, the share of the variance of x_j between the classes, which increases with the
    F statistic of a one-way analysis of variance. Each feature is scored without regard to the others. `rng`
    has no effect.

    >>> X = np.array([[0.0, 1.0], [1.0, 1.0], [2.0, 0.0], [3.0, 2.0]])
    >>> largest_correlation(X, [0.0, 1.0, 2.0, 3.0], 1).scores.round(3)
    array([1.   , 0.316])
    """
    Z, Y = data.center()
    U, sizes, _ = np.linalg.svd(Y, full_matrices=False)
    Q = U[:, sizes > sizes.max(initial=0) * len(Y) * torch.finfo(torch.float64).eps]
    scores = np.linalg.norm(Q.T @ Z, axis=0) / np.linalg.norm(Z, axis=0)
    return data.best("largest correlation", np.minimum(scores, 1.0))


@baseline("random forest")
def random_forest(
    data: PreparedData, *, trees: int = 100, n_jobs: int | None = None, rng: Any = 0
) -> FeatureRanking:
    """Select the k most important features of a random forest (Breiman, *Random forests*, 2001).

    The importance is scikit-learn's `feature_importances_`: the mean decrease in impurity (Gini, or variance)
    over all splits.

    Parameters
    ----------
    X, y, k, task, sample_weight, rng : see `baselines`.
    trees, n_jobs : the number of trees, and the number of jobs of the forest.

    >>> X = np.random.default_rng(0).standard_normal((50, 3))
    >>> random_forest(X, X[:, 1] > 0, 1).support.tolist()
    [1]
    """
    from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

    check_count(trees, "trees", 1)
    kind = RandomForestClassifier if data.classification else RandomForestRegressor
    seed = int(np.random.default_rng(rng).integers(2**32))
    forest = kind(n_estimators=trees, random_state=seed, n_jobs=n_jobs)
    target = data.y if data.classification or data.q > 1 else data.y[:, 0]
    forest.fit(data.X, target, sample_weight=data.weight)
    return data.best("random forest", forest.feature_importances_)


@baseline("mRMR")
def mrmr(data: PreparedData, *, variant: str = "FCQ", rng: Any = 0) -> FeatureRanking:
    """Select features of maximum relevance and minimum redundancy (mRMR), with feature-engine's `MRMR`.

    The function needs feature-engine (pip install feature-engine). Features are added one by one; each has
    the largest quotient ("Q") or difference ("D") of relevance and redundancy. For FCQ and FCD the relevance
    is the F statistic of x_j and y, and the redundancy is the mean |correlation| with the features added
    before. For MIQ and MID both are mutual information, which takes hours for a thousand features. For RFCQ
    the relevance comes from a random forest. Sources: Ding and Peng, *Minimum redundancy feature selection
    from microarray gene expression data* (2005); Zhao, Anand and Wang, *Maximum relevance and minimum
    redundancy feature selection methods for a marketing machine learning platform* (2019).

    `MRMR` returns a set, not an order, so `support` and `scores` are ordered by relevance. For k = 1 the most
    relevant feature is selected. Raises ValueError if y has several columns or if there are weights.
    """
    if data.weight is not None:
        raise ValueError("sample_weight must be None for mrmr: feature-engine's MRMR has no weights")
    with needs("feature_engine", "mrmr needs feature-engine: pip install feature-engine"):
        from feature_engine.selection import MRMR
    import pandas as pd  # feature-engine needs it too

    m = len(data.kept)
    if not data.classification and data.q > 1:
        raise ValueError(f"y must be a vector for mrmr; got {data.q} columns")
    if m < 2:
        return data.best("mRMR", np.ones(m))
    seed = int(np.random.default_rng(rng).integers(2**31))
    frame = pd.DataFrame(data.X, columns=[f"x{j}" for j in range(m)])
    method: Any = variant
    size, regression = max(data.k, 2), not data.classification
    selector = MRMR(method=method, max_features=size, regression=regression, random_state=seed)
    found = selector.fit(frame, pd.Series(data.y.reshape(-1)))
    taken = np.array([name not in found.features_to_drop_ for name in frame.columns])
    order = np.lexsort((-found.relevance_, ~taken))
    return data.ranking("mRMR", order[: data.k], found.relevance_)
