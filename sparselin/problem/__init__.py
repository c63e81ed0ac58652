"""The problem that every method solves: a design, a response, and bounds on their rounding errors."""

from sparselin.problem.arguments import as_problem, takes_problem
from sparselin.problem.problem import Problem

__all__ = ["Problem", "as_problem", "takes_problem"]
