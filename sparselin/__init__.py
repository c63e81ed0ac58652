"""sparselin: the theory of greedy sparse regression, exactly.

Orthogonal Matching Pursuit, Sequential LASSO with its exact λ*, linear Sequential Attention, the dual
polytope they share, and checks that they select the same features.
"""

from sparselin import ensembles
from sparselin.dual_polytope import project_dual
from sparselin.lasso_path import lasso_path
from sparselin.omp import omp
from sparselin.problem import Problem
from sparselin.results import (
    DescentResult,
    DualProjection,
    FirstEntry,
    LassoPath,
    PenaltyValue,
    SelectionPath,
    Status,
)
from sparselin.sequential_lasso import first_entry, lambda_star, sequential_lasso

__version__ = "0.1.0"
