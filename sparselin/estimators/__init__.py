"""Estimators of scikit-learn."""

from sparselin.estimators.selectors import (
    BestSubsetSelector,
    DiverseSelector,
    OLSSelector,
    OMPSelector,
    SequentialAttentionSelector,
    SequentialLassoSelector,
)

__all__ = [
    "BestSubsetSelector",
    "DiverseSelector",
    "OLSSelector",
    "OMPSelector",
    "SequentialAttentionSelector",
    "SequentialLassoSelector",
]
