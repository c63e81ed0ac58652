"""Explanations on a path of the LASSO, and on a path of the gradient flow."""

import math
from collections.abc import Sequence

import numpy as np

from sparselin.explanations import words
from sparselin.explanations.standing import Course, Entry, Standing, explanation, standing
from sparselin.problem import Problem
from sparselin.problem.errors import coarseness
from sparselin.problem.memory import blocks
from sparselin.problem.paths import other_data
from sparselin.results import Explanation, FloatArray, FlowPath, IndexArray, LassoPath
from sparselin.results.display import join_words

CoefficientPath = LassoPath | FlowPath
Intervals = tuple[tuple[float, float], ...]


def explain_on_path(problem: Problem, path: CoefficientPath, j: int) -> Explanation:
    """Explain when and why feature j entered a path of the LASSO or of the flow, or why it did not.

    Raises ValueError if the path was not computed from this problem.
    """
    if isinstance(path, FlowPath):
        kind, symbol = "flow", "τ"
        supports = path.supports
        edges = [*path.tau.tolist(), path.end]
        points = np.array([0.0, *path.tau])
    else:
        kind, symbol = "LASSO", "λ"
        supports = path.active[: len(path) - 1]
        edges = path.knots.tolist()
        points = path.knots
    c, error = _correlations(problem, path, symbol, points, j)
    intervals, step = _intervals([j in support for support in supports], edges)
    beta = _coefficients(path, j)
    forced = path.forced.tolist()
    nonzero = path.features[path.coef_path[step - 1] != 0]
    given = nonzero[nonzero != j]
    at = standing(problem, given, j)
    if isinstance(path, FlowPath):
        course = Course(path.s[:, j], path.s_error, np.ones(len(path)))
    else:
        positive = path.knots > 0
        course = Course(c[positive], error[positive], path.knots[positive].astype(np.float64))
    if step:
        text = _describe_entry(path, j, step, intervals, edges[-1], float(beta[-1]))
    elif j in forced:
        text = _describe_forced_feature(path, j, beta, standing(problem, path.forced[: forced.index(j)], j))
    else:
        text = _describe_zero(path, j, course, at, given)
    if not path.positive:
        course = course._replace(correlation=np.abs(course.correlation))
    entry = Entry(step=step, forced=j in forced, intervals=intervals)
    return explanation(path, j, kind, given, at, entry, course, text)


def _coefficients(path: CoefficientPath, j: int) -> FloatArray:
    """Return the coefficient of feature j at each knot or event."""
    place = np.flatnonzero(path.features == j)
    return path.coef_path[:, place[0]] if len(place) else np.zeros(len(path.coef_path))


def _correlations(
    problem: Problem, path: CoefficientPath, symbol: str, values: FloatArray, j: int
) -> tuple[FloatArray, FloatArray]:
    """Return the correlation ⟨X_j, y − Xβ⟩ of feature j at each point of a path, and bounds on its errors.

    symbol, values : the name of the parameter of the path, and its value at each point.

    Raises ValueError if R² at a point differs from the R² in the path by more than rounding. Let B = ‖y‖ +
    Σ‖X_i‖|β_i|, e = 8·eps·(√n + 1) and r = y − Xβ. The rounding of β, of r and of the sum changes ⟨X_j, r⟩ by
    at most e·‖X_j‖B, and ‖r‖² by about 2e·B². The R² in the path was computed from the KKT conditions. The
    rounding of this computation changes R² by about as much as the change of ‖r‖² does.
    """
    J = path.features
    scale, ones = problem.design.scale, problem.design.ones
    coarse = coarseness(path.coef_path, problem.eps)
    intercept = path.intercept_path if isinstance(path, FlowPath) else path.intercept
    coef = path.coef_path.astype(np.float64) / (1.0 if scale is None else scale[J].astype(np.float64))
    columns = problem.columns(J).astype(np.float64)
    x = problem.columns([j])[:, 0].astype(np.float64)
    y = problem.y.astype(np.float64)
    sizes = np.abs(coef) @ problem.column_norms[J]
    total = y
    if ones is not None:
        ones = ones.astype(np.float64)
        sizes = sizes + np.abs(intercept) * math.sqrt(ones @ ones)
        total = y - ones * (ones @ y) / (ones @ ones)
    c, squares = np.zeros(len(coef)), np.zeros(len(coef))
    for here in blocks(len(coef), problem.n):
        r = y - coef[here] @ columns.T
        if ones is not None:
            r -= np.multiply.outer(intercept[here].astype(np.float64), ones)
        c[here] = r @ x
        squares[here] = np.einsum("ij,ij->i", r, r)
    sizes = sizes + problem.y_norm
    unit = coarse * problem.rounding()
    square = float(total @ total)
    off = np.abs(square * (1 - path.r2.astype(np.float64)) - squares) * (square > 0)
    wrong = np.flatnonzero(~(off <= 4 * unit * sizes**2))
    if len(wrong):
        i = int(wrong[0])
        theirs = float(path.r2[i])
        ours = 1 - float(squares[i]) / square
        both = f"its R² is {theirs:.6g}, that of the data is {ours:.6g}"
        raise other_data(f"at {symbol} = {float(values[i]):.6g} {both}")
    return c, unit * float(problem.column_norms[j]) * sizes


def _intervals(inside: Sequence[bool], edges: Sequence[float] | FloatArray) -> tuple[Intervals, int]:
    """Return the maximal intervals on which a feature is active, and the number of its first edge of entry.

    inside : (m,) whether the feature is active on each of m segments.
    edges : (m + 1,) the ends of the segments.

    An interval is a pair (entry, exit). Edges are numbered from 1. The number is 0 if the feature is never
    active.
    """
    change = np.flatnonzero(np.diff(np.array([False, *inside, False]).astype(int)))
    pairs = [(float(edges[a]), float(edges[b])) for a, b in change.reshape(-1, 2)]
    return tuple(pairs), int(change[0]) + 1 if len(change) else 0


def _describe_entry(
    path: CoefficientPath, j: int, step: int, intervals: Intervals, end: float, last: float
) -> str:
    """Write that feature j entered, when it left and came back, and its coefficient at the end of the path.

    step : the number of the knot or event at which j entered first.
    intervals, end : the pairs (entry, exit) of j, and the end of the path.
    last : the coefficient of j at the end of the path.
    """
    flow = isinstance(path, FlowPath)
    symbol, edge, why = ("τ", "event", ", where its |s| reached 1") if flow else ("λ", "knot", "")
    (first, until), *again = intervals
    text = f"{path.name_of(j)} entered at {symbol} = {first:.4g} ({edge} {step} of {len(path)}{why})"
    text += f" and left at {symbol} = {until:.4g}" if until != end else ""
    if again:
        spans = [f"{a:.4g} to {b:.4g}" if math.isfinite(b) else f"{a:.4g} on" for a, b in again]
        text += f"; it is nonzero again from {symbol} = {join_words(spans)}"
    stays = intervals[-1][1] == end
    value = f"its coefficient is {last:.4g}"
    if flow:
        text += f" and left at τ = {end:.4g}" if stays and last == 0 else ""
        return f"{text}; at the end of the path {value}."
    return f"{text}; at the end of the path (λ = {end:.4g}) {value}." if stays else f"{text}."


def _describe_forced_feature(path: CoefficientPath, j: int, beta: FloatArray, at: Standing) -> str:
    """Write the sentence for a forced feature j: its coefficient at both ends of the path, or why it is zero.

    beta : the coefficient of j at each knot or event.
    at : the `Standing` of j relative to the features forced before it. If X_j is zero or in the span of these
        features, its coefficient is zero, and the sentence gives this reason.
    """
    begin = f"{path.name_of(j)} was forced, so it has no penalty"
    if no_effect := words.describe_no_effect(path, at, "the features forced before it"):
        return f"{begin}; {no_effect}."
    start = "" if isinstance(path, FlowPath) else f" (λ = {path.knots[0]:.4g})"
    coefficient = f"its coefficient is {beta[0]:.4g} at the start of the path{start}"
    return f"{begin}; {coefficient} and {beta[-1]:.4g} at its end."


def _describe_zero(path: CoefficientPath, j: int, course: Course, at: Standing, given: IndexArray) -> str:
    """Write the sentence for a feature j whose coefficient is zero at every λ or τ.

    course : ⟨X_j, r⟩ at each positive knot, or s_j at each event of a flow, with its sign.
    given : the features that are nonzero at the end of the path.
    at : the `Standing` of j relative to the features `given`.
    """
    begin = f"{path.name_of(j)} stays at zero"
    if at.vanishes:
        return f"{begin}: its column is {words.zero(path)} up to rounding."
    if not len(course.level):
        rest = ", so the flow is at rest" if isinstance(path, FlowPath) else " (λ* = 0)"
        return f"{begin} because no feature is {words.correlation(path)}{rest}."
    if isinstance(path, FlowPath):
        begin += f" up to τ = {path.end:.4g}" if math.isfinite(path.end) else ""
        height = _describe_height_of_s(path, course)
    else:
        begin += f" down to λ = {float(path.knots[-1]):.4g}"
        height = _describe_height(path, *course)
    explained = words.describe_share(path, given, at, path.with_intercept, "the features nonzero at the end")
    gain = words.describe_gain(at, "adding it to them in least squares") if len(given) else ""
    return words.sentence(begin, [height, explained, gain])


def _describe_height_of_s(path: FlowPath, course: Course) -> str:
    """Write the part of a sentence that says how close |s_j| came to 1.

    Between events s_j is linear in τ, so |s_j| is largest at an event.
    """
    s = np.abs(course.correlation)
    top = int(np.argmax(s))
    if s[top] < 1 - course.error[top]:
        return f"its |s| is always below 1 (at most {s[top]:.4g}, at τ = {path.tau[top]:.4g})"
    return f"its |s| reaches 1, up to rounding, at τ = {path.tau[top]:.4g}, but its coefficient stays zero"


def _describe_height(path: LassoPath, c: FloatArray, error: FloatArray, level: FloatArray) -> str:
    """Write the part of a sentence that says how close the correlation of a feature came to λ.

    Let c = ⟨X_j, r⟩ with the residual r. The part compares |c| with λ, or c itself on a path over β ≥ 0.

    c, error, level : c, bounds on its error, and λ, at each positive knot.

    Between knots c is linear in λ, so c/λ is linear in 1/λ, and both c/λ and |c|/λ are largest at a knot. If
    the path goes to λ = 0, then c = 0 (or c ≤ 0) at the end of the path. So on the last segment c/λ and |c|/λ
    are largest at the first knot of the segment.
    """
    height = c if path.positive else np.abs(c)
    text = f"its {words.size(path)}"
    if not (np.abs(c) > error).any():
        return "up to rounding it is orthogonal to the residual at every λ"
    if not (height > error).any():
        return "its c is never positive, and the path has β ≥ 0"
    closest, first = int(np.argmax(height / level)), int(np.argmax(height >= level - error))
    if height[first] < level[first] - error[first]:
        ratio = words.relative(height[closest] / level[closest], "λ")
        return f"{text} is always below λ (at most {ratio}, at λ = {level[closest]:.4g})"
    if first == len(path.knots) - 1:
        return f"{text} reaches λ, up to rounding, only at the end of the path"
    first_reach = f"{text} first reaches λ, up to rounding, at λ = {level[first]:.4g}"
    return f"{first_reach}, but there are solutions without it"
