"""The estimators of networks: scikit-learn's conventions, classes, weights, prediction."""

import pytest

torch = pytest.importorskip("torch")

from sklearn.utils.estimator_checks import check_estimator  # noqa: E402

from sparselin.estimators import (  # noqa: E402
    LassoNetClassifier,
    LassoNetRegressor,
    SequentialAttentionClassifier,
    SequentialAttentionRegressor,
)

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
