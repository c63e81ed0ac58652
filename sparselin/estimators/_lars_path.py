"""The paths of the LASSO estimators in the terms of scikit-learn: α = λ/n in place of λ."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from sparselin.estimators._common import FitTask, mean_squares, problem_of, set_model
from sparselin.lasso.path import lasso_path
from sparselin.problem import Problem
from sparselin.results import FloatArray, IndexArray, LassoPath, Status

# λ's within so many eps of each other are one: λ = α·n and α = λ/n are rounded
_SAME = 8


class AlphaPath(NamedTuple):
    """A path in the terms of scikit-learn: α (m,), β (m, p) of `features` and intercepts (m,) at each knot.

    `order` has the features that are nonzero on the last segment, in the order in which they entered.
    """

    alphas: FloatArray
    features: IndexArray
    coef: FloatArray
    intercept: FloatArray
    order: list[int]
    status: Status

    def dense(self, d: int, here: slice | int = slice(None)) -> FloatArray:
        """β (m, d), or (d,) at one knot."""
        coef = self.coef[here]
        dense = np.zeros((*coef.shape[:-1], d), coef.dtype)
        dense[..., self.features] = coef
        return dense


def size_of(X: Any, weight: FloatArray | None) -> float:
    """n: the number of rows, or the sum of their weights."""
    return float(X.shape[0] if weight is None else weight.sum(dtype=np.float64))


def alpha_path(estimator: Any, problem: Problem, alpha: float, size: float, task: FitTask) -> AlphaPath:
    """The path down to α, of at most max_iter segments; it ends at α itself if it is reached."""
    most = estimator.max_iter
    with task.steps("segment", most, lambda path: _attributes(estimator, path, size)) as callback:
        path = lasso_path(
            problem,
            max_steps=max(most, 1),
            lam_min=alpha * size,
            positive=estimator.positive,
            callback=callback,
        )
    m, status, knots = len(path), path.status, path.knots.astype(np.float64)
    if most == 0 and m > 1:
        m, status = 1, Status.MAX_STEPS
    same = alpha * size * (1 + _SAME * float(np.finfo(path.knots.dtype).eps))
    if status is not Status.STOPPED and m > 1 and knots[m - 2] <= same:
        m, status = m - 1, Status.COMPLETED
    alphas = (knots[:m] / size).astype(path.knots.dtype)
    if status is Status.COMPLETED:
        alphas[-1] = alpha
    return AlphaPath(
        alphas, path.features, path.coef_path[:m], path.intercept[:m], _order(path.active[: m - 1]), status
    )


def _order(active: tuple[tuple[int, ...], ...]) -> list[int]:
    """The last of the active sets, in the order in which its features entered."""
    order: list[int] = []
    for now in active:
        order = [j for j in order if j in now] + [j for j in now if j not in order]
    return order


def _attributes(estimator: Any, path: LassoPath, size: float) -> dict[str, Any]:
    """Those of the estimator, of one target, had the path ended here."""
    coef = np.zeros(path.n_features, path.coef_path.dtype)
    coef[path.features] = path.coef_path[-1]
    intercept = path.intercept[-1] if estimator.fit_intercept else 0.0
    return {"coef_": coef, "intercept_": intercept, "n_iter_": len(path) - 1, "alphas_": path.knots / size}


def fit_targets(
    estimator: Any,
    X: Any,
    y: FloatArray,
    weight: FloatArray | None,
    alpha: float,
    task: FitTask,
    with_path: bool,
) -> list[AlphaPath]:
    """The path of each target, from which the attributes are set."""
    targets = y[:, None] if y.ndim == 1 else y
    N, d, size = targets.shape[1], X.shape[1], size_of(X, weight)
    paths = []
    for i in range(N):
        part = task if N == 1 else task.part("target", estimator.max_iter)
        paths.append(
            alpha_path(estimator, problem_of(estimator, X, targets[:, i], weight), alpha, size, part)
        )
        if N > 1:
            part.end()
    coef = np.stack([path.dense(d, -1) for path in paths])
    set_model(estimator, coef, np.array([path.intercept[-1] for path in paths]), y)
    found: dict[str, list[Any]] = {
        "alphas_": [path.alphas if with_path else path.alphas[-1] for path in paths],
        "n_iter_": [len(path.alphas) - 1 for path in paths],
    }
    if with_path:
        found["active_"] = [path.order for path in paths]
        found["coef_path_"] = [path.dense(d).T for path in paths]
    for name in ("active_", "coef_path_"):  # of an earlier fit
        vars(estimator).pop(name, None)
    for name, values in found.items():
        setattr(estimator, name, values[0] if N == 1 else values)
    return paths


def residuals_of(X: Any, y: FloatArray, path: AlphaPath) -> FloatArray:
    """y − β₀ − Xβ (n, m) at each knot."""
    return np.asarray(y[:, None] - path.intercept - X[:, path.features] @ path.coef.T)


def squares_of(X: Any, y: FloatArray, weight: FloatArray | None, path: AlphaPath) -> FloatArray:
    """‖y − β₀ − Xβ‖² (m,), weighted, at each knot."""
    return mean_squares(residuals_of(X, y, path), weight) * size_of(X, weight)


def between(alphas: FloatArray, values: FloatArray, at: FloatArray) -> FloatArray:
    """What is `values` (n, m) at decreasing α (m,), linearly between them, constant beyond them: (n, q)."""
    place = np.interp(at, alphas[::-1], np.arange(len(alphas))[::-1])
    i = np.minimum(place.astype(np.intp), max(0, len(alphas) - 2))
    weight = place - i
    return np.asarray(values[:, i] * (1 - weight) + values[:, np.minimum(i + 1, len(alphas) - 1)] * weight)
