"""sparselin: the theory of greedy sparse regression, exactly.

Orthogonal Matching Pursuit, Sequential LASSO with its exact λ*, linear Sequential Attention, the dual
polytope they share, and checks that they select the same features.
"""

import importlib
from typing import TYPE_CHECKING, Any

from sparselin.batch_omp import batch_omp
from sparselin.hadamard import hadamard_descent
from sparselin.lasso_path import lasso_path
from sparselin.ols import ols
from sparselin.omp import omp
from sparselin.problem import Problem
from sparselin.results import (
    BatchSelection,
    BestSubset,
    Bound,
    DescentResult,
    DualProjection,
    FirstEntry,
    GuaranteeBounds,
    HierarchicalProx,
    Interval,
    LassoPath,
    NuChoice,
    PenaltyValue,
    SelectionPath,
    SparseEigenvalues,
    Status,
    SubmodularityRatio,
    SubsetResult,
)
from sparselin.sequential_attention import sequential_attention
from sparselin.sequential_lasso import first_entry, lambda_star, sequential_lasso
from sparselin.softmax_penalty import q, softmax_penalty

if TYPE_CHECKING:
    from sparselin import ensembles as ensembles
    from sparselin.certification import Certificate as Certificate
    from sparselin.certification import Verification as Verification
    from sparselin.certification import certify as certify
    from sparselin.dual_polytope import project_dual as project_dual
    from sparselin.guarantees.best_subset import best_subset as best_subset
    from sparselin.guarantees.bounds import guarantee_bounds as guarantee_bounds
    from sparselin.guarantees.sparse_eigenvalues import sparse_eigenvalues as sparse_eigenvalues
    from sparselin.guarantees.submodularity import submodularity_ratio as submodularity_ratio
    from sparselin.guarantees.submodularity import submodularity_ratio_of as submodularity_ratio_of
    from sparselin.hierarchical_prox import group_hier_prox as group_hier_prox
    from sparselin.hierarchical_prox import hier_prox as hier_prox
    from sparselin.spectral.choice import choose_nu as choose_nu
    from sparselin.spectral.search import forward_regression as forward_regression
    from sparselin.spectral.search import greedy_local_search as greedy_local_search
    from sparselin.spectral.search import local_search as local_search

__version__ = "0.1.0"

__all__ = [
    "BatchSelection",
    "BestSubset",
    "Bound",
    "Certificate",
    "DescentResult",
    "DualProjection",
    "FirstEntry",
    "GuaranteeBounds",
    "HierarchicalProx",
    "Interval",
    "LassoPath",
    "NuChoice",
    "PenaltyValue",
    "Problem",
    "SelectionPath",
    "SparseEigenvalues",
    "Status",
    "SubmodularityRatio",
    "SubsetResult",
    "Verification",
    "batch_omp",
    "best_subset",
    "certify",
    "choose_nu",
    "ensembles",
    "first_entry",
    "forward_regression",
    "greedy_local_search",
    "group_hier_prox",
    "guarantee_bounds",
    "hadamard_descent",
    "hier_prox",
    "lambda_star",
    "lasso_path",
    "local_search",
    "ols",
    "omp",
    "project_dual",
    "q",
    "sequential_attention",
    "sequential_lasso",
    "softmax_penalty",
    "sparse_eigenvalues",
    "submodularity_ratio",
    "submodularity_ratio_of",
]

# loaded at first use, so that the import stays short; `plots` needs matplotlib, `testing` hypothesis
_MODULES = ("ensembles", "plots", "spectral", "testing")
# so are these; never a function with the name of its module, which would be taken for it once imported
_LATER = {
    "Certificate": "certification",
    "Verification": "certification",
    "best_subset": "guarantees.best_subset",
    "certify": "certification",
    "choose_nu": "spectral.choice",
    "forward_regression": "spectral.search",
    "greedy_local_search": "spectral.search",
    "group_hier_prox": "hierarchical_prox",
    "guarantee_bounds": "guarantees.bounds",
    "hier_prox": "hierarchical_prox",
    "local_search": "spectral.search",
    "project_dual": "dual_polytope",
    "sparse_eigenvalues": "guarantees.sparse_eigenvalues",
    "submodularity_ratio": "guarantees.submodularity",
    "submodularity_ratio_of": "guarantees.submodularity",
}


def __dir__() -> list[str]:
    return sorted({*__all__, *_MODULES, "__version__"})


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f"sparselin.{name}")
    if name in _LATER:
        value = getattr(importlib.import_module(f"sparselin.{_LATER[name]}"), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'sparselin' has no attribute {name!r}")
