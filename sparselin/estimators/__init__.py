"""Estimators of scikit-learn."""

from sparselin.estimators.selectors import (
    OLSSelector,
    OMPSelector,
    SequentialAttentionSelector,
    SequentialLassoSelector,
)
from sparselin.estimators.subset_selectors import BestSubsetSelector, DiverseSelector

__all__ = [
    "BestSubsetSelector",
    "DiverseSelector",
    "OLSSelector",
    "OMPSelector",
    "SequentialAttentionSelector",
    "SequentialLassoSelector",
]
