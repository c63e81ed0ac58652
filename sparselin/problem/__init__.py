"""The problem that every method solves: a design, a response, and bounds on their rounding errors."""

from sparselin.problem.arguments import DataOptions, as_problem, takes_problem
from sparselin.problem.problem import Problem

__all__ = ["DataOptions", "Problem", "as_problem", "takes_problem"]
