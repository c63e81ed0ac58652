"""The estimators of networks: scikit-learn's conventions, classes, weights, prediction."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from sklearn.utils.estimator_checks import check_estimator  # noqa: E402

from sparselin.estimators import (  # noqa: E402
    LassoNetClassifier,
    LassoNetRegressor,
    SequentialAttentionClassifier,
    SequentialAttentionRegressor,
)
from sparselin.neural import mlp  # noqa: E402

# On full batches in float64, so that repeating rows, or their order, changes rounding only.
SMALL = {"hidden_layer_sizes": (8,), "batch_size": None, "dtype": "float64", "random_state": 0}
ATTENTION = {**SMALL, "epochs": 60, "learning_rate": 0.03}
LASSONET = {
    **SMALL, "epochs": (60, 6), "patience": None, "learning_rate": (0.03, 1e-3), "growth": 2.0,
    "validation_fraction": 0.0,
}  # fmt: skip
CHECKED = [
    (SequentialAttentionClassifier(1.0, **ATTENTION), {}),
    (SequentialAttentionRegressor(**ATTENTION), {}),
    (LassoNetClassifier(1.0, **LASSONET), {}),
    (LassoNetRegressor(0.5, **LASSONET), {}),
]


@pytest.mark.parametrize(("estimator", "fails"), CHECKED, ids=lambda value: type(value).__name__)
def test_check_estimator(estimator, fails):
    check_estimator(estimator, expected_failed_checks=fails)


@pytest.mark.parametrize("made", [SequentialAttentionClassifier, LassoNetClassifier])
def test_network_is_a_function_of_the_numbers_of_features_and_outputs(made):
    X, y = np.random.default_rng(0).standard_normal((12, 4)), np.arange(12) % 2
    with pytest.raises(TypeError, match=r"lambda d, q.*got Sequential"):
        made(2, network=mlp(4, [3], 2)).fit(X, y)
    with pytest.raises(ValueError, match=r"network\(4, 2\) must give 2 outputs.*made \(2, 1\)"):
        made(2, network=lambda d, q: mlp(d, [3], 1)).fit(X, y)
    with pytest.raises(ValueError, match=r"network\(4, 2\) must read 4 features"):
        made(2, network=lambda d, q: mlp(5, [3], q)).fit(X, y)


def test_a_number_of_features_that_is_none_is_named():
    X, y = np.eye(6, 4), np.arange(6) % 2
    with pytest.raises(TypeError, match=r"an integer or a share .*; got 'auto'"):
        SequentialAttentionClassifier("auto").fit(X, y)
    with pytest.raises(ValueError, match="a number is an int"):
        SequentialAttentionClassifier(2.0).fit(X, y)


def test_a_path_that_falls_from_all_features_to_none_is_told():
    X, y = np.random.default_rng(0).standard_normal((20, 4)), np.arange(20.0)
    model = LassoNetRegressor(2, refit=False, **{**LASSONET, "lams": [1e6]})
    with pytest.warns(UserWarning, match=r"from 4 features to none at once.*where 2 were asked for"):
        assert model.fit(X, y).n_features_ == 0
