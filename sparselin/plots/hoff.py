"""Pictures of gradient descent on β = w∘θ: its objective, and Hoff's lemma with two columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sparselin.attention.descent import hadamard_descent
from sparselin.lasso.path import lasso_path
from sparselin.plots.style import (
    BLUE,
    GREY,
    ORANGE,
    Axes,
    check_result,
    font_size,
    line_width,
    look,
    marker_size,
    name,
    note,
    picture,
    pyplot,
)
from sparselin.problem import Problem, as_problem, takes_problem
from sparselin.results import DescentResult, FloatArray
from sparselin.validation import check_real

_ITERATES = 200  # at most this many iterates of a descent are drawn
_GRID = 161


@takes_problem
def hoff_descent(
    X: Any, y: ArrayLike | None, lam: float, *, starts: Sequence[int] = (0, 1, 2)
) -> tuple[Axes, ...]:
    """Draw `hadamard_descent` on a LASSO with two columns, in the plane of β and in the planes (w_j, θ_j).

    The left panel shows the contours of f(β) = ½‖y − Xβ‖² + λ‖β‖₁ and the iterates β = w∘θ. The other two
    panels show (w_1, θ_1) and (w_2, θ_2). The descent minimises
    F(w, θ) = ½‖y − X(w∘θ)‖² + (λ/2)(‖w‖² + ‖θ‖²). By Hoff's lemma, the least F with w∘θ = β is f(β), and it
    is attained where |w| = |θ|. So the minima of F, drawn as stars, are the points where the diagonals
    (dashed) cross the hyperbolas w_jθ_j = β̂_j (black), where β̂ is the solution of the LASSO. All other
    stationary points of F are saddles with some w_j = θ_j = 0; a descent can be slow near a saddle.

    Parameters
    ----------
    X, y : design (n, 2) and response (n,), or one `Problem` in place of both, without an intercept.
    lam : λ > 0.
    starts : the seeds of the starts, at least one. Each start has its own colour and marker.

    Returns
    -------
    The three Axes of a new figure.

    Raises
    ------
    TypeError, ValueError : bad data (see `Problem`); X does not have two columns; λ ≤ 0; no starts.

    >>> left, *_ = hoff_descent([[1.0, 0.6], [0.0, 0.8]], [2.0, 1.5], 0.5)
    >>> left.lines[-1].get_label(), left.lines[-1].get_xydata().round(4).tolist()
    ('LASSO', [[0.5625, 1.5625]])
    """
    problem = as_problem(X, y)
    lam = check_real(lam, "lam", lambda level: level > 0, "positive: at 0 w∘θ has no penalty")
    if problem.d != 2 or problem.n_features != 2:
        raise ValueError(
            f"X must have two columns, one for each axis, and no intercept; got {problem.n_features} "
            f"columns{' and an intercept' if problem.d > problem.n_features else ''}"
        )
    if np.ndim(starts) != 1 or not len(starts):
        raise ValueError(f"starts must be a list with at least one seed; got {starts!r}")
    runs = [_iterates(problem, lam, seed) for seed in starts]
    solution = lasso_path(problem, lam_min=lam).at(lam)
    figure, drawn = pyplot().subplots(1, 3, figsize=(12.4, 4.9), layout="constrained")
    _plane(drawn[0], problem, lam, solution, runs)
    for j in (0, 1):
        _factors(drawn[1 + j], j, name(problem.names, j), float(solution[j]), runs)
    handles, labels = drawn[0].get_legend_handles_labels()
    place: dict[str, Any] = {"loc": "outside lower center", "ncols": len(labels)}
    figure.legend(handles, labels, frameon=False, fontsize=font_size(), **place)
    return tuple(drawn)


def _iterates(problem: Problem, lam: float, seed: int) -> list[DescentResult]:
    """Return the results of the descent when it is stopped after 1, 2, … iterations, at most 200 of them."""
    last = max(len(hadamard_descent(problem, lam, rng=seed).objective) - 1, 1)
    counts = np.unique(np.geomspace(1, last, _ITERATES).round().astype(int))
    counts = np.arange(1, last + 1) if last <= _ITERATES else counts
    return [hadamard_descent(problem, lam, rng=seed, max_iter=int(count)) for count in counts]


def _plane(
    ax: Axes, problem: Problem, lam: float, best: FloatArray, runs: Sequence[list[DescentResult]]
) -> None:
    """Draw the contours of the LASSO's objective f, the descents and the solution."""
    names = [name(problem.names, j) for j in (0, 1)]
    title = rf"½$\|y - X\beta\|^2 + \lambda\|\beta\|_1$, $\lambda$ = {lam:.3g}"
    picture(ax, rf"$\beta_1$ ({names[0]})", rf"$\beta_2$ ({names[1]})", title)
    paths = [np.array([iterate.coef for iterate in run]) for run in runs]
    points = np.vstack([*paths, best, np.zeros(2)])
    low, high = points.min(axis=0), points.max(axis=0)
    middle = (low + high) / 2
    half = 0.62 * float((high - low).max()) or 1.0
    first, second = np.linspace(middle - half, middle + half, _GRID).T
    beta = np.stack(np.meshgrid(first, second), axis=-1)
    gram = problem.gram_columns([0, 1])
    cross = problem.Xty
    value = 0.5 * (((beta @ gram) * beta).sum(axis=-1) + problem.y_norm**2) - beta @ cross
    value += lam * np.abs(beta).sum(axis=-1)
    above = value - value.min()
    levels = above.max() * np.linspace(0, 1, 13) ** 2
    ax.contourf(first, second, above, levels, cmap="Greys", alpha=0.35).set_rasterized(True)
    ax.contour(first, second, above, levels[1:], colors=GREY, linewidths=0.6)
    ax.axhline(0, color=GREY, linewidth=line_width(0.8))
    ax.axvline(0, color=GREY, linewidth=line_width(0.8))
    for i, path in enumerate(paths):
        ax.plot(
            *path.T,
            label=f"descent {i + 1}",
            **(look(i) | {"markersize": marker_size(4), "linewidth": line_width(1.3)}),
        )
    ax.plot(*best, "*", color="black", markersize=marker_size(15), linestyle="none", label="LASSO")
    ax.set(xlim=(first[0], first[-1]), ylim=(second[0], second[-1]), aspect="equal")


def _factors(ax: Axes, j: int, label: str, target: float, runs: Sequence[list[DescentResult]]) -> None:
    """Draw the descents in the plane of w_j and θ_j, with diagonals and hyperbolas w_jθ_j = const.

    target : β̂_j, the coefficient j of the LASSO's solution. The hyperbola w_jθ_j = β̂_j is black.
    """
    picture(ax, f"$w_{j + 1}$", rf"$\theta_{j + 1}$", rf"$w\theta = \beta_{j + 1}$ ({label})")
    paths = [np.array([(iterate.w[j], iterate.theta[j]) for iterate in run]) for run in runs]
    half = 1.12 * max(float(np.abs(path).max()) for path in paths) or 1.0
    w = np.linspace(-half, half, _GRID)
    product = np.multiply.outer(w, w)
    levels = half**2 * np.array([-0.8, -0.5, -0.25, -0.1, -0.02, 0.02, 0.1, 0.25, 0.5, 0.8])
    ax.contour(w, w, product, levels, colors=GREY, linewidths=0.5, linestyles="solid", alpha=0.6)
    if target:
        ax.contour(w, w, product, [target], colors="black", linewidths=1.6, linestyles="solid")
    for slope in (-1, 1):
        ax.plot(w, slope * w, color=GREY, linewidth=line_width(1), linestyle="--", label="_diagonal")
    for i, path in enumerate(paths):
        ax.plot(
            *path.T,
            label=f"descent {i + 1}",
            **(look(i) | {"markersize": marker_size(4), "linewidth": line_width(1.3)}),
        )
    size = abs(target) ** 0.5
    ends = [(size, np.sign(target) * size), (-size, -np.sign(target) * size)] if target else [(0.0, 0.0)]
    ax.plot(
        *np.transpose(ends), "*", color="black", markersize=marker_size(15), linestyle="none", label="LASSO"
    )
    ax.set(xlim=(-half, half), ylim=(-half, half), aspect="equal")


def descent(result: DescentResult, *, ax: Axes | None = None) -> Axes:
    """Draw the objective minus its last value against the iteration, on a logarithmic scale.

    If the result has a duality gap, a line marks it: the gap bounds the distance of the last value from the
    least objective.

    Parameters
    ----------
    result : a `DescentResult`.
    ax : where to draw; a new figure if None.

    >>> result = hadamard_descent([[1.0, 0.0], [0.0, 1.0]], [3.0, 1.0], 2.0, tol=1e-8)
    >>> ax = descent(result)
    >>> ax.get_yscale(), ax.get_title().split(", ")[1], len(ax.lines)
    ('log', 'objective 4.5', 2)
    """
    check_result(result, "result", DescentResult)
    last = float(result.objective[-1])
    iterations = len(result.objective) - 1
    status = result.status.name.lower().replace("_", " ")
    label = "objective − its last value"
    title = f"{status} after {iterations} iterations, objective {last:.4g}"
    ax = picture(ax, "iteration", label, title)
    above = result.objective.astype(float) - last
    drawn = above > 0
    if not drawn.any():
        return note(ax, f"The objective is {last:.4g} from the start.")
    ax.semilogy(np.flatnonzero(drawn), above[drawn], color=BLUE, linewidth=line_width(1.5), label=label)
    if result.duality_gap > 0:
        words = f"duality gap at the end, {result.duality_gap:.2g}"
        ax.axhline(result.duality_gap, color=ORANGE, linestyle="--", linewidth=line_width(1.2), label=words)
    ax.set_xlim(0, iterations)
    ax.grid(linewidth=line_width(0.4), alpha=0.5)
    ax.legend(frameon=False, fontsize=font_size(), loc="best")
    return ax
