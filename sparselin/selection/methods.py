"""Selection from a problem by a method that is given by its name, and least squares on given features."""

import dataclasses
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import sparselin as sl
from sparselin.results import FloatArray, LassoPath, SelectionPath, Status


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


def refit(problem: sl.Problem, order: Any) -> SelectionPath:
    """Fit least squares on the first 1, 2, … features of a given order, and return the models as a path."""
    if len(order) == 0:
        return sl.omp(problem, 1, tol=1.0)  # ends before its first pick
    return sl.omp(problem, len(order), forced=order)


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


def path_beyond(problem: sl.Problem, most: int, forced: Any) -> LassoPath:
    """Compute the LASSO's path until it has more than `most` features that are not forced, or to its end."""
    path = sl.lasso_path(problem, forced=forced, callback=lambda path: len(path.active[-1]) > most)
    return dataclasses.replace(path, status=Status.COMPLETED) if path.status is Status.STOPPED else path


def last_within(path: LassoPath, most: int) -> tuple[list[int], list[float], int]:
    """Find the last solution before the path first has more than `most` features that are not forced.

    Returns the features of this solution in the order in which they entered, the λ at which each entered, and
    the index of the knot of the solution. For a feature that entered several times, the last time counts.
    """
    last = len(path.knots) - 1
    i = next((i for i, A in enumerate(path.active[:-1]) if len(A) > most), last)
    entered = {}
    for j in path.active[i - 1] if i else ():
        at = i - 1
        while at and j in path.active[at - 1]:
            at -= 1
        entered[j] = float(path.knots[at])
    order = sorted(entered, key=lambda j: (-entered[j], j))
    return order, [entered[j] for j in order], i
