"""The results of the methods: one frozen dataclass each, whose fields are always all present."""

from sparselin.results.base import Fit, FittedPath, FloatArray, IndexArray, Names, Status
from sparselin.results.batch import BatchSelection
from sparselin.results.explanation import Explanation
from sparselin.results.flow import FlowAverage, FlowPath
from sparselin.results.generalized import GeneralizedPath
from sparselin.results.groups import GroupPath
from sparselin.results.guarantees import (
    Bound,
    GuaranteeBounds,
    Interval,
    SparseEigenvalues,
    SubmodularityRatio,
)
from sparselin.results.lasso import FirstEntry, LassoPath
from sparselin.results.networks import AttentionPath, FeatureRanking, LassoNetPath, MatrixCompletion
from sparselin.results.paths import SelectionPath
from sparselin.results.points import DescentResult, DualProjection, HierarchicalProx, PenaltyValue
from sparselin.results.stability import StabilitySelection
from sparselin.results.subsets import (
    BestSubset,
    GreedyMaximum,
    NuChoice,
    SubsetResult,
    SubsetsWithin,
    SwappedSubset,
)
from sparselin.results.verification import TheoremCheck

__all__ = [
    "AttentionPath",
    "BatchSelection",
    "BestSubset",
    "Bound",
    "DescentResult",
    "DualProjection",
    "Explanation",
    "FeatureRanking",
    "FirstEntry",
    "Fit",
    "FittedPath",
    "FloatArray",
    "FlowAverage",
    "FlowPath",
    "GeneralizedPath",
    "GreedyMaximum",
    "GroupPath",
    "GuaranteeBounds",
    "HierarchicalProx",
    "IndexArray",
    "Interval",
    "LassoNetPath",
    "LassoPath",
    "MatrixCompletion",
    "Names",
    "NuChoice",
    "PenaltyValue",
    "SelectionPath",
    "SparseEigenvalues",
    "StabilitySelection",
    "Status",
    "SubmodularityRatio",
    "SubsetResult",
    "SubsetsWithin",
    "SwappedSubset",
    "TheoremCheck",
]
