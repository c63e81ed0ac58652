"""What Sequential Attention and LassoNet are compared with, each method a function of X, y and k.

By networks: `feature_mask`, `group_lasso`, `sequential_lasso`, `omp`, `concrete_autoencoder`; without:
`random_features`, `largest_correlation`, `random_forest`, `mrmr`. All return a `FeatureRanking`, and have

    X (n, d) : an array or a frame; integers count as float64, and networks have the dtype of X.
    y : labels of classes (n,), or numbers (n,) or (n, q).
    k : how many features, 1 ≤ k ≤ d.
    task : "classification" or "regression"; None: regression if the dtype of y is a floating one.
    sample_weight : (n,) weights ≥ 0 of the rows.
    rng : a seed or a NumPy Generator. The same seed gives the same picks.

Constant columns are left out, and fill `support` last. Networks see columns of mean 0 and, with
`standardize`, variance 1; numbers y are given mean 0 and total variance q. The loss L is the mean of the
cross-entropy, or of ½‖f(x) − y‖², over the rows. ValueError: bad data, k > d, one class only;
`NonFiniteLoss`: what it says.
"""

from sparselin.neural.baselines.filters import largest_correlation, mrmr, random_features, random_forest
from sparselin.neural.baselines.first_layer import group_lasso, omp, sequential_lasso
from sparselin.neural.baselines.selecting_layer import concrete_autoencoder, feature_mask

__all__ = [
    "concrete_autoencoder",
    "feature_mask",
    "group_lasso",
    "largest_correlation",
    "mrmr",
    "omp",
    "random_features",
    "random_forest",
    "sequential_lasso",
]
