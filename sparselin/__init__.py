"""sparselin: the theory of greedy sparse regression, exactly.

Orthogonal Matching Pursuit, Sequential LASSO with its exact λ*, linear Sequential Attention, the dual
polytope they share, and checks that they select the same features.
"""

import importlib
from typing import Any

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
    LassoPath,
    PenaltyValue,
    SelectionPath,
    Status,
)
from sparselin.sequential_attention import sequential_attention
from sparselin.sequential_lasso import first_entry, lambda_star, sequential_lasso
from sparselin.softmax_penalty import q, softmax_penalty

__version__ = "0.1.0"

__all__ = [
    "BatchSelection",
    "DescentResult",
    "DualProjection",
    "FirstEntry",
    "LassoPath",
    "PenaltyValue",
    "Problem",
    "SelectionPath",
    "Status",
    "batch_omp",
    "ensembles",
    "first_entry",
    "hadamard_descent",
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

_LAZY = ("plots", "testing")  # need matplotlib, hypothesis


def __dir__() -> list[str]:
    return [*__all__, *_LAZY, "__version__"]


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return importlib.import_module(f"sparselin.{name}")
    raise AttributeError(f"module 'sparselin' has no attribute {name!r}")
