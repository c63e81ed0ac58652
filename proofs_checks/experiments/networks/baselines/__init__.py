"""The baselines for Sequential Attention and LassoNet: each method is a function of X, y and k.

`feature_mask`, `group_lasso`, `sequential_lasso`, `omp` and `concrete_autoencoder` train networks;
`random_features`, `largest_correlation`, `random_forest` and `mrmr` do not. All return a `FeatureRanking` and
have these arguments:

    X : (n, d) array or frame. Integers are converted to float64. Networks have the dtype of X.
    y : class labels (n,), or numbers (n,) or (n, q).
    k : the number of features, 1 ≤ k ≤ d.
    task : "classification" or "regression"; None: regression if y has a floating dtype.
    sample_weight : (n,) weights ≥ 0 of the rows.
    rng : a seed or a NumPy Generator. The same seed gives the same features.

Constant columns are selected only after all others. Networks get columns of mean 0 and, with `standardize`,
variance 1. For regression y is scaled to mean 0 and total variance q. The loss L is the mean over the rows of
the cross-entropy, or of ½‖f(x) − y‖² for the outputs f(x) of the network. All methods raise ValueError if the
data are invalid, if k > d, or if there is only one class. Methods that train networks raise `NonFiniteLoss`
if the loss becomes NaN or infinite.
"""

from proofs_checks.experiments.networks.baselines.filters import largest_correlation as largest_correlation
from proofs_checks.experiments.networks.baselines.filters import mrmr as mrmr
from proofs_checks.experiments.networks.baselines.filters import random_features as random_features
from proofs_checks.experiments.networks.baselines.filters import random_forest as random_forest
from proofs_checks.experiments.networks.baselines.first_layer import group_lasso as group_lasso
from proofs_checks.experiments.networks.baselines.first_layer import omp as omp
from proofs_checks.experiments.networks.baselines.first_layer import sequential_lasso as sequential_lasso
from proofs_checks.experiments.networks.baselines.selecting_layer import (
    concrete_autoencoder as concrete_autoencoder,
)
from proofs_checks.experiments.networks.baselines.selecting_layer import feature_mask as feature_mask
