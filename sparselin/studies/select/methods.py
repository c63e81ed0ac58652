"""Selection from a problem by a method that is given by its name."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

import sparselin as sl
from sparselin.greedy.omp import refit
from sparselin.lasso.path import last_within, path_beyond
from sparselin.results import FloatArray, SelectionPath, Status


class Selected(NamedTuple):
    """The features that a method selected.

    Attributes
    ----------
    path : the features in the order in which they entered, with a least squares model on the first t of them
        for each t.
    lam : (t,) the λ at which each feature entered; NaN for forced features, and for the features of a best
        subset.
    status : the reason why the method ended.
    """

    path: SelectionPath
    lam: FloatArray
    status: Status


def select_from(problem: sl.Problem, forced: tuple[str, ...], method: str, k: int, seed: int = 0) -> Selected:
    """Select at most k features of a problem by a method of PURSUITS, by "lasso" or by "best-subset".

    The LASSO has the features of the last solution on its path before the path first has more than k.
    """
    if method == "best-subset":
        best = sl.best_subset(problem, k, forced=forced)
        return Selected(refit(problem, best.support), np.full(len(best.support), np.nan), best.status)
    if method == "lasso":
        k, first = problem.budget(k, forced)
        lasso = path_beyond(problem, k - len(first), forced)
        S, lam, _ = last_within(lasso, k - len(first))
        entry = np.array([np.nan] * len(first) + lam)
        return Selected(refit(problem, [*first.tolist(), *S]), entry, lasso.status)
    path = PURSUITS[method](problem, k, forced, seed)
    return Selected(path, path.lam_star, path.status)


Pursuit = Callable[[sl.Problem, int, tuple[str, ...], int], SelectionPath]
PURSUITS: dict[str, Pursuit] = {
    "omp": lambda problem, k, forced, seed: sl.omp(problem, k, forced=forced),
    "nonnegative-omp": lambda problem, k, forced, seed: sl.omp(problem, k, forced=forced, positive=True),
    "ols": lambda problem, k, forced, seed: sl.ols(problem, k, forced=forced),
    "sequential-lasso": lambda problem, k, forced, seed: sl.sequential_lasso(problem, k, forced=forced),
    "sequential-attention": lambda problem, k, forced, seed: sl.sequential_attention(
        problem, k, forced=forced, rng=seed
    ),
}
