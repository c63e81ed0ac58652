"""sparselin: the theory of greedy sparse regression, exactly.

Orthogonal Matching Pursuit, Sequential LASSO with its exact λ*, linear Sequential Attention, the dual
polytope they share, and checks that they select the same features.
"""

import importlib
from typing import TYPE_CHECKING, Any

from sparselin import ensembles
from sparselin.batch_omp import batch_omp
from sparselin.dual_polytope import project_dual
from sparselin.hadamard import hadamard_descent
from sparselin.lasso_path import lasso_path
from sparselin.ols import ols
from sparselin.omp import omp
from sparselin.problem import Problem
from sparselin.results import (
    BatchSelection,
    DescentResult,
    DualProjection,
    FirstEntry,
    HierarchicalProx,
    LassoPath,
    PenaltyValue,
    SelectionPath,
    Status,
)
from sparselin.sequential_attention import sequential_attention
from sparselin.sequential_lasso import first_entry, lambda_star, sequential_lasso
from sparselin.softmax_penalty import q, softmax_penalty

if TYPE_CHECKING:
    from sparselin.certification import Certificate as Certificate
    from sparselin.certification import Verification as Verification
    from sparselin.certification import certify as certify
    from sparselin.hierarchical_prox import group_hier_prox as group_hier_prox
    from sparselin.hierarchical_prox import hier_prox as hier_prox

__version__ = "0.1.0"

__all__ = [
    "BatchSelection",
    "Certificate",
    "DescentResult",
    "DualProjection",
    "FirstEntry",
    "HierarchicalProx",
    "LassoPath",
    "PenaltyValue",
    "Problem",
    "SelectionPath",
    "Status",
    "Verification",
    "batch_omp",
    "certify",
    "ensembles",
    "first_entry",
    "group_hier_prox",
    "hadamard_descent",
    "hier_prox",
    "lambda_star",
    "lasso_path",
    "ols",
    "omp",
    "project_dual",
    "q",
    "sequential_attention",
    "sequential_lasso",
    "softmax_penalty",
]

_MODULES = ("plots", "testing")  # need matplotlib, hypothesis
# loaded at first use, so that the import stays short
_LATER = {
    "Certificate": "certification",
    "Verification": "certification",
    "certify": "certification",
    "group_hier_prox": "hierarchical_prox",
    "hier_prox": "hierarchical_prox",
}


def __dir__() -> list[str]:
    return [*__all__, *_MODULES, "__version__"]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f"sparselin.{name}")
    if name in _LATER:
        value = getattr(importlib.import_module(f"sparselin.{_LATER[name]}"), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'sparselin' has no attribute {name!r}")
