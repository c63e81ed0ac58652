"""The methods of selection behind one interface.

Each method gives the features in an order, and a least squares model on the first t of them for each t.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import sparselin as sl
from sparselin.results import BestSubset, FloatArray, LassoPath, SelectionPath, Status


class SelectionData(NamedTuple):
    """A table of data with the options of the selection.

    Attributes
    ----------
    X (n, d), y (n,), weight (n,) : design, response, and positive weights of the rows, or None.
    names : the names of the columns of X.
    intercept, standardize : as for `omp`.
    forced : the names of the features that come first.
    """

    X: FloatArray
    y: FloatArray
    names: tuple[str, ...]
    weight: FloatArray | None = None
    intercept: bool = True
    standardize: bool = True
    forced: tuple[str, ...] = ()

    def problem(self, rows: Any = slice(None), without: int | None = None) -> sl.Problem:
        """Return the problem of these rows (by default all), without the column `without` if it is given."""
        X, names = self.X[rows], self.names
        if without is not None:
            X, names = np.delete(X, without, axis=1), names[:without] + names[without + 1 :]
        weight = None if self.weight is None else self.weight[rows]
        options = {"intercept": self.intercept, "standardize": self.standardize, "names": names}
        return sl.Problem(X, self.y[rows], sample_weight=weight, **options)  # type: ignore[arg-type]


@dataclasses.dataclass(frozen=True, eq=False)
class Selected:
    """The features that a method selected.

    Attributes
    ----------
    result : the result of the method itself.
    path : the features in the order in which they entered, with a least squares model on the first t of them
        for each t. If `result` is a `SelectionPath`, `path` is the same object.
    status : the reason why the method ended.
    lam : (t,) the λ at which each feature entered; NaN for forced features, and for the features of a best
        subset.
    shrunken : (t,) the coefficients of the LASSO itself, which the penalty shrinks, at the λ at which one
        more feature would enter; None for other methods.
    """

    result: SelectionPath | LassoPath | BestSubset
    path: SelectionPath
    status: Status
    lam: FloatArray
    shrunken: FloatArray | None = None


class Model(NamedTuple):
    """Least squares on the first t features of a path."""

    path: SelectionPath
    t: int

    def predict(self, X: FloatArray) -> FloatArray:
        """Predict the response for the rows of X."""
        return self.path.predict(X, self.t)


def select(data: SelectionData, method: str, k: int, seed: int = 0) -> Selected:
    """Select at most k features by a method of METHODS."""
    return select_from(data.problem(), data.forced, method, k, seed)


def select_from(problem: sl.Problem, forced: tuple[str, ...], method: str, k: int, seed: int = 0) -> Selected:
    """Select at most k features of a problem by a method of METHODS."""
    if method == "lasso":
        return _select_by_lasso(problem, k, forced)
    if method == "best-subset":
        best = sl.best_subset(problem, k, forced=forced)
        return Selected(best, refit(problem, best.support), best.status, np.full(len(best.support), np.nan))
    path = PURSUITS[method](problem, k, forced, seed)
    return Selected(path, path, path.status, path.lam_star)


def models(data: SelectionData, method: str, k: int, seed: int = 0, rows: Any = slice(None)) -> list[Model]:
    """Select features by a method; for t = f, …, k return the least squares model on its first t features.

    f is the number of forced features. If the method ends before k features, its last model is repeated. For
    the LASSO, model t uses the features of the last solution on the path before the path first has more than
    t features.

    rows : the rows from which the models are fitted, by default all.
    """
    problem, f = data.problem(rows), len(data.forced)
    if method == "lasso":
        first = problem.indices(data.forced, "forced").tolist()
        lasso = path_beyond(problem, k - f, data.forced)
        orders = [(*first, *last_within(lasso, most)[0]) for most in range(k - f + 1)]
        paths = {order: refit(problem, order) for order in dict.fromkeys(orders)}
        return [Model(paths[order], len(order)) for order in orders]
    path = PURSUITS[method](problem, max(k, 1), data.forced, seed)
    return [Model(path, min(t, len(path))) for t in range(f, k + 1)]


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
METHODS = {
    "omp": "orthogonal matching pursuit",
    "nonnegative-omp": "orthogonal matching pursuit with coefficients ≥ 0",
    "ols": "orthogonal least squares (forward selection)",
    "lasso": "the LASSO, its features refitted by least squares",
    "best-subset": "the best subset, by branch and bound",
    "sequential-lasso": "Sequential LASSO",
    "sequential-attention": "linear Sequential Attention",
}


def _select_by_lasso(problem: sl.Problem, k: int, forced: tuple[str, ...]) -> Selected:
    """Select the features of the last solution on the LASSO path before the path first has more than k."""
    k, first = problem.budget(k, forced)
    path = path_beyond(problem, k - len(first), forced)
    S, lam, i = last_within(path, k - len(first))
    order = [*first.tolist(), *S]
    dense = np.zeros(problem.n_features, path.coef_path.dtype)
    dense[path.features] = path.coef_path[i]
    entry = np.array([np.nan] * len(first) + lam)
    return Selected(path, refit(problem, order), path.status, entry, dense[order])


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
