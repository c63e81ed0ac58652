"""A feature on the path of the LASSO."""

from __future__ import annotations

import math

import numpy as np

from sparselin.explanations import words
from sparselin.explanations.standing import Course, Entry, Standing, explanation, standing
from sparselin.problem import Problem
from sparselin.problem.errors import coarseness
from sparselin.problem.memory import blocks
from sparselin.results import Explanation, FloatArray, IndexArray, LassoPath
from sparselin.results.display import listed

Intervals = tuple[tuple[float, float], ...]


def on_lasso(problem: Problem, path: LassoPath, j: int) -> Explanation:
    """The explanation of feature j; ValueError if the problem is not that of the path."""
    c, error = _correlations(problem, path, j)
    intervals, knot = _intervals(path, j)
    place = np.flatnonzero(path.features == j)
    beta = path.coef_path[:, place[0]] if len(place) else np.zeros(len(path.knots))
    forced = path.forced.tolist()
    nonzero = path.features[path.coef_path[max(knot - 1, 0) if knot else -1] != 0]
    given = nonzero[nonzero != j]
    at = standing(problem, given, j)
    positive = path.knots > 0
    level, c, error = path.knots[positive].astype(np.float64), c[positive], error[positive]
    course = Course(c if path.positive else np.abs(c), error, level)
    if intervals:
        text = _entered(path, j, knot, intervals, float(beta[-1]))
    elif j in forced:
        before = path.forced[: forced.index(j)]
        text = _forced(path, j, beta, standing(problem, before, j))
    else:
        text = _stays_at_zero(path, j, course._replace(correlation=c), at, given)
    entry = Entry(step=knot, forced=j in forced, intervals=intervals)
    return explanation(path, j, "LASSO", given, at, entry, course, problem.dtype, text)


def _correlations(problem: Problem, path: LassoPath, j: int) -> tuple[FloatArray, FloatArray]:
    """⟨X_j, y − Xβ⟩ at the knots and bounds on its errors; ValueError if R² there is not that of the path.

    With B = ‖y‖ + Σ‖X_i‖|β_i| and e = 8·eps·(√n + 1), rounding β, r and the sum changes ⟨X_j, r⟩ by at most
    e·‖X_j‖B, and ‖r‖² by about 2e·B²; so does it the KKT conditions by which the path has computed R².
    """
    J, scale, ones = path.features, problem.design.scale, problem.design.ones
    coarse = coarseness(path.coef_path, problem.eps)
    coef = (
        path.coef_path.astype(np.float64) if scale is None else path.coef_path / scale[J].astype(np.float64)
    )
    columns, x = problem.columns(J).astype(np.float64), problem.columns([j])[:, 0].astype(np.float64)
    y = problem.y.astype(np.float64)
    sizes, total = np.abs(coef) @ problem.column_norms[J], y
    if ones is not None:
        ones = ones.astype(np.float64)
        sizes = sizes + np.abs(path.intercept) * math.sqrt(ones @ ones)
        total = y - ones * (ones @ y) / (ones @ ones)
    c, squares = np.zeros(len(coef)), np.zeros(len(coef))
    for here in blocks(len(coef), problem.n):
        r = y - coef[here] @ columns.T
        if ones is not None:
            r -= np.multiply.outer(path.intercept[here].astype(np.float64), ones)
        c[here], squares[here] = r @ x, np.einsum("ij,ij->i", r, r)
    sizes = sizes + problem.y_norm
    unit, square = coarse * problem.rounding(), float(total @ total)
    off = np.abs(square * (1 - path.r2.astype(np.float64)) - squares) * (square > 0)
    wrong = np.flatnonzero(~(off <= 4 * unit * sizes**2))
    if len(wrong):
        i = int(wrong[0])
        theirs, ours = float(path.r2[i]), 1 - float(squares[i]) / square
        raise words.other_data_error(
            f"at λ = {float(path.knots[i]):.6g} its R² is {theirs:.6g}, that of the data {ours:.6g}"
        )
    return c, unit * float(problem.column_norms[j]) * sizes


def _intervals(path: LassoPath, j: int) -> tuple[Intervals, int]:
    """The maximal intervals (entered, left) on which j is active, and the number of the first knot, or 0."""
    inside = [j in active for active in path.active[: len(path.knots) - 1]]
    change = np.flatnonzero(np.diff(np.array([False, *inside, False]).astype(int)))
    pairs = [(float(path.knots[a]), float(path.knots[b])) for a, b in change.reshape(-1, 2)]
    return tuple(pairs), int(change[0]) + 1 if len(change) else 0


def _entered(path: LassoPath, j: int, knot: int, intervals: Intervals, last: float) -> str:
    end = float(path.knots[-1])
    (first, until), *again = intervals
    text = f"{path.name_of(j)} entered at λ = {first:.4g}, knot {knot} of {len(path.knots)}"
    text += f", and left at λ = {until:.4g}" if until > end else ""
    if again:
        spans = [f"{a:.4g} to {b:.4g}" for a, b in again]
        text += f"; it is nonzero again from λ = {listed(spans)}"
    if intervals[-1][1] == end:
        text += f"; its coefficient at the end of the path, λ = {end:.4g}, is {last:.4g}"
    return text + "."


def _forced(path: LassoPath, j: int, beta: FloatArray, at: Standing) -> str:
    """`at`: how j stands to the features that were forced before it."""
    begin = f"{path.name_of(j)} was forced: it has no penalty"
    if no_effect := words.without_effect(path, at, "those forced before it"):
        return f"{begin}; {no_effect}."
    return (
        f"{begin}, and its coefficient is {beta[0]:.4g} at λ = {path.knots[0]:.4g}, where the path begins, "
        f"and {beta[-1]:.4g} at its end."
    )


def _stays_at_zero(path: LassoPath, j: int, course: Course, at: Standing, given: IndexArray) -> str:
    begin = f"{path.name_of(j)} stays at zero"
    if at.vanishes:
        return f"{begin}: it is {words.zero(path)} to rounding."
    if not len(course.level):
        return f"{begin}, as all do: no feature is {words.correlated(path)}, λ* = 0."
    those = "the features nonzero at the end"
    parts = [_below(path, *course), words.determined(path, given, at, path.with_intercept, those)]
    if len(given):
        parts.append(words.addition(at, "adding it to them in least squares"))
    return words.sentence(f"{begin} down to λ = {float(path.knots[-1]):.4g}", parts)


def _below(path: LassoPath, c: FloatArray, error: FloatArray, level: FloatArray) -> str:
    """How close |c|, or c on a path over β ≥ 0, came to λ.

    c is linear in λ between knots, so that c/λ is so in 1/λ, and c/λ and |c|/λ are largest at knots; on the
    last segment of a path to 0, where c = 0 (c ≤ 0) at its end, at its first knot.
    """
    height, text = c if path.positive else np.abs(c), f"its {words.size(path)} is"
    if not (np.abs(c) > error).any():
        return "it is orthogonal to the residual to rounding all along"
    if not (height > error).any():
        return "its c is nowhere positive, and β ≥ 0"
    closest, first = int(np.argmax(height / level)), int(np.argmax(height >= level - error))
    if height[first] < level[first] - error[first]:
        ratio = words.relative(height[closest] / level[closest], "it")
        return f"{text} below λ all along, at most {ratio}, at λ = {level[closest]:.4g}"
    if first == len(path.knots) - 1:
        return f"{text} λ to rounding at the end of the path, where it can enter"
    return f"{text} λ to rounding, at λ = {level[first]:.4g} first, but there are solutions without it"
