"""Inference after selection: p-values and confidence intervals along a path."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammaln

from sparselin.guarantees._selection_events import Basis, Event, Rows
from sparselin.guarantees._truncated_laws import (
    Circle,
    Law,
    Normal,
    Set,
    limits,
    negative,
    tails,
    without,
)
from sparselin.linalg.thin_qr import ThinQR
from sparselin.problem import Problem, as_problem, takes_problem
from sparselin.results import FloatArray, Inference, LassoPath, SelectionPath, Status
from sparselin.validation import check_count, check_level, check_real


class Choice(NamedTuple):
    """The choice of the number of steps by a criterion: comparisons g·‖P_a^⊥y‖² ≥ ‖P_b^⊥y‖² of models a, b.

    models : the features of each model.
    comparisons : (a, b, g), with the positions a and b in `models`.
    """

    models: list[tuple[int, ...]]
    comparisons: list[tuple[int, int, float]]

    def excluded(self, basis: Basis, w: FloatArray, side: int) -> tuple[FloatArray, FloatArray]:
        """Return intervals of offsets of ŵᵀy at which a comparison fails certainly (side 1) or possibly (−1)."""
        norm, parts = basis.problem.y_norm, []
        off = [basis.model(A).off(np.column_stack([basis.z, norm * w])) for A in self.models]
        squares = [P.T @ P + np.diag([basis.r_norm**2, 0.0]) for P in off]
        for a, b, g in self.comparisons:
            (C, B), (_, A) = g * squares[a] - squares[b]
            error = 12 * (1 + g) * basis.eps * norm**2
            if C <= error:
                raise ValueError(f"path leaves the criterion undecided between {a} and {b} steps, to rounding")
            parts.append((A + side * error, 2 * B, C + side * error))
        low, high = negative(*np.array(parts).reshape(-1, 3).T)
        return low * norm, high * norm


class Trace(NamedTuple):
    """The steps of a path that inference is about.

    events : the steps that the inference conditions on, or the state at a fixed λ.
    features : the features of the rows of the result: the forced ones, then one for each step.
    n_forced : the number of forced features.
    model : the features of the last model.
    by_length : whether the steps are those of OLS.
    lam : the fixed λ, or None.
    choice : how the number of steps was chosen.
    """

    events: list[Event]
    features: list[int]
    n_forced: int
    model: tuple[int, ...]
    by_length: bool = False
    lam: float | None = None
    choice: Choice = Choice([], [])

    @property
    def n_steps(self) -> int:
        """The number of steps with a row in the result."""
        return len(self.features) - self.n_forced if self.lam is None else 0

    def after(self, t: int) -> tuple[int, ...]:
        """Return the features of the model after t steps."""
        return self.events[t].before if t < len(self.events) else self.model


class Statistic(NamedTuple):
    """A unit vector η̂ in the coordinates of a `Basis`, and the events that its p-value conditions on.

    w : (m,) η̂.
    scale : ‖η‖, so that ηᵀy = ‖η‖·η̂ᵀy is the estimate in units of the columns.
    until : the number of events.
    model : the features of the model in which it is tested.
    sign : the sign that the events give to ηᵀy, or 0.
    """

    w: FloatArray
    scale: float
    until: int
    model: tuple[int, ...]
    sign: float


def _trace(path: SelectionPath | LassoPath, k: int | None, lam: float | None) -> Trace:
    """Return the first k steps of a path, or the state of a LASSO path at λ."""
    if isinstance(path, SelectionPath):
        support, f = path.support.tolist(), int(np.isnan(path.lam_star).sum())
        k = check_count(len(path) if k is None else k, "k", f, len(path), "the length of the path")
        signs = np.sign(np.diag(path.coef_path)).tolist()
        events = [Event(tuple(support[:t]), (), support[t], signs[t]) for t in range(f, k)]
        return Trace(events, support[:k], f, tuple(support[:k]), path.fit.by_length)
    forced = path.forced.tolist()
    if lam is None:
        return _trace_of_lasso(path, forced, k)
    inside = path.at(check_level(lam, "lam"))
    A = [j for j in np.flatnonzero(inside).tolist() if j not in forced]
    signs = (0.0,) * len(forced) + tuple(np.sign(inside[A]).tolist())
    features = [*forced, *A]
    return Trace([Event(tuple(features), signs, -1, 0.0)], features, len(forced), tuple(features), lam=lam)


def _trace_of_lasso(path: LassoPath, forced: list[int], k: int | None) -> Trace:
    """Return the first k steps of a LASSO path: each adds or removes one feature."""
    f = len(forced)
    k = check_count(len(path) - 1 if k is None else k, "k", 0, len(path) - 1, "the number of steps of the path")
    signs = np.sign(path.coef_path[1:] + path.coef_path[:-1])  # on each segment
    place = {j: i for i, j in enumerate(path.features.tolist())}
    events, A = [], list(forced)
    for t in range(k):
        change = set(A[f:]) ^ set(path.active[t])
        if len(change) != 1:
            names = ", ".join(path.name_of(j) for j in sorted(change))
            raise ValueError(f"path has a tie at knot {t + 1}, where {names} enter or leave together")
        (i,) = change
        before = (0.0,) * f + tuple(float(signs[t - 1, place[j]]) for j in A[f:])
        enters = i not in A
        events.append(Event(tuple(A), before, i, float(signs[t - (not enters), place[i]]), enters))
        A = [*A, i] if enters else [j for j in A if j != i]
    return Trace(events, [*forced, *(event.pick for event in events)], f, tuple(A))


def _choose(trace: Trace, basis: Basis, criterion: str, n: int) -> Trace:
    """Choose the number of steps by BIC or EBIC, and return the trace of these steps.

    With RSS_t = ‖P_t^⊥y‖² after t steps and a model of ν_t features, BIC = n·ln RSS_t + ν_t·ln n, and EBIC
    adds 2γ·ln C(p, t) for the p features that are not forced, γ = max(0, 1 − ln n/(4 ln p)). BIC takes the
    least value, EBIC the first from which it rises, as the selectors of `sparselin.estimators` do.
    """
    f, K = trace.n_forced, len(trace.events)
    models = [trace.after(t) for t in range(K + 1)]
    rss = np.array([np.sum(basis.model(A).off(basis.z) ** 2) for A in models]) + basis.r_norm**2
    penalty = math.log(n) * np.array([len(A) for A in models], float)
    p, t = basis.problem.n_features - f, np.arange(K + 1)
    if criterion == "ebic":
        gamma = max(0.0, 1 - math.log(n) / (4 * math.log(p))) if p > 1 else 0.0
        penalty += 2 * gamma * (gammaln(p + 1) - gammaln(t + 1) - gammaln(p - t + 1))
    with np.errstate(divide="ignore"):
        scores = n * np.log(rss) + penalty
    rises = np.flatnonzero(np.diff(scores) > 0)
    if criterion == "bic":
        best = int(np.argmin(scores))
        pairs = [(a, best) for a in range(K + 1) if a != best]
    else:
        best = int(rises[0]) if len(rises) else K
        pairs = [(t, t + 1) for t in range(best)] + [(best + 1, best)] * (best < K)
    ratio = [(a, b, math.exp((penalty[a] - penalty[b]) / n)) for a, b in pairs]
    return trace._replace(features=trace.features[: f + best], model=models[best], choice=Choice(models, ratio))


@takes_problem
def inference(
    X: Any,
    y: ArrayLike | None,
    path: SelectionPath | LassoPath,
    *,
    k: int | Literal["bic", "ebic"] | None = None,
    lam: float | None = None,
    sigma: float | Literal["full", "response", "unknown"] | None = None,
    level: float = 0.95,
    method: Literal["exact", "split", "randomized"] = "exact",
    sample_weight: ArrayLike | None = None,
) -> Inference:
    """TODO"""
    problem = _problem(X, y, path, sample_weight)
    n, level = _rows(problem, sample_weight), _check_level(level)
    criterion = k if isinstance(k, str) else None
    trace = _trace(path, None if isinstance(k, str) else k, lam)
    _check_end(path, k, lam)
    basis = _basis(problem, path, trace)
    noise = _noise(problem, n, sigma)
    if criterion is not None:
        trace = _choose(trace, basis, criterion, n)
    statistics = _statistics(basis, trace)
    if noise.sigma is None:
        laws, sets = _on_circles(basis, trace, statistics, n)
    else:
        laws, sets = _on_lines(basis, trace, statistics, noise.sigma)
    return _result(basis, trace, statistics, laws, sets, noise, level, path)


def _check_level(level: Any) -> float:
    value = check_real(level, "level")
    if not 0 < value < 1:
        raise ValueError(f"level must be between 0 and 1; got {value}")
    return value


def _check_end(path: SelectionPath | LassoPath, k: Any, lam: Any) -> None:
    """Refuse a path whose number of steps the data decided, unless k or λ is given."""
    if k is None and lam is None and path.status not in (
        Status.COMPLETED if isinstance(path, SelectionPath) else Status.MAX_STEPS,
    ):
        raise ValueError(
            f"k is needed: the path has the status {path.status.name}, so the data decided its number of steps. "
            "Pass the number of steps that was fixed in advance, or lam"
        )


def _problem(X: Any, y: Any, path: Any, sample_weight: Any) -> Problem:
    """Return the problem of the data with the options of the path; refuse what inference cannot handle."""
    if not isinstance(path, (SelectionPath, LassoPath)):
        raise TypeError(
            f"path must be a SelectionPath (of omp or ols) or a LassoPath; got {type(path).__name__}"
        )
    options = [not isinstance(X, Problem) and flag for flag in (path.with_intercept, path.standardized)]
    problem = as_problem(X, y, sample_weight, *options)
    if problem.kind not in ("dense", "sparse") or problem.is_rounded:
        raise TypeError("inference needs the rows of X; a Gram or compressed problem has none. Pass X and y")
    if problem.dtype != np.float64:
        raise TypeError(
            "X must be float64: for float32 data rounding decides the digits of p-values. Pass X.astype(float)"
        )
    if path.positive:
        raise ValueError("path must not come from positive=True: its steps are not linear in y")
    if isinstance(path, SelectionPath) and any(map(len, path.weights)):
        raise ValueError("path must come from omp, ols or sequential_lasso, not from sequential_attention")
    if path.status in (Status.TOLERANCE, Status.STOPPED, Status.BEYOND_PRECISION):
        raise ValueError(
            f"path has the status {path.status.name}: the data decided where it ends, and no inequality says "
            "how. Compute a path with k (or max_steps) alone"
        )
    return problem


def _rows(problem: Problem, sample_weight: Any) -> int:
    """Return the number of rows with a positive weight."""
    if sample_weight is not None:
        return int(np.count_nonzero(sample_weight))
    ones = problem.design.ones
    return problem.n if ones is None else int(np.count_nonzero(ones))


def _basis(problem: Problem, path: Any, trace: Trace) -> Basis:
    """Return the basis of all features of a trace, after a check that the path belongs to the problem."""
    features = list(dict.fromkeys([*trace.features, *trace.model]))
    basis = Basis(problem, np.array(features, np.intp))
    if basis.qr.size < len(features) + problem.d - problem.n_features:
        raise ValueError("path must have independent features: otherwise a coefficient is not determined by μ")
    return basis


class Noise(NamedTuple):
    """The noise: σ (None if it is unknown), and a sentence about it."""

    sigma: float | None
    words: str


def _noise(problem: Problem, n: int, sigma: Any) -> Noise:
    """Check `sigma`, estimate σ if it is requested, and say in words what is assumed."""
    gaussian = "y ~ N(μ, σ²I)"
    if sigma == "unknown":
        return Noise(None, f"{gaussian}, μ in the span of the tested model, σ unknown: selective t-tests")
    if sigma is None and n <= problem.d:
        raise ValueError(
            f"sigma is needed, because {n} rows do not determine it with {problem.d} columns. Pass a number; "
            "'response', the standard deviation of y, which is too large; or 'unknown', for t-tests that "
            "assume the selected model"
        )
    if sigma in (None, "full", "response"):
        columns = range(problem.d) if sigma != "response" else problem.with_ones(np.zeros(0, np.intp))
        qr = ThinQR(problem, [int(j) for j in columns])
        if n <= qr.size:
            raise ValueError(f"sigma='full' needs more rows than columns; got {n} rows and rank {qr.size}")
        estimate = float(np.linalg.norm(qr.residual(problem.y))) / math.sqrt(n - qr.size)
        which = "the standard deviation of y" if sigma == "response" else "the residual on all features"
        return Noise(estimate, f"{gaussian}, μ arbitrary, σ = {estimate:.4g} estimated by {which}, taken as known")
    known = check_real(sigma, "sigma")
    if known <= 0:
        raise ValueError(f"sigma must be positive; got {known}")
    return Noise(known, f"{gaussian}, μ arbitrary, σ = {known:.4g} given")


def _statistics(basis: Basis, trace: Trace) -> list[Statistic]:
    """Return the statistics of the steps at which a feature enters, then those of the last model."""
    found = []
    for t, event in enumerate(trace.events[: trace.n_steps]):
        if event.enters:
            w = basis.model(event.before).off(basis.qr.R[:, basis.place[event.pick]])
            length = float(np.linalg.norm(w))
            until = len(trace.events) if trace.choice.models else t + 1
            found.append(Statistic(w / length, 1 / length, until, (*event.before, event.pick), event.sign))
    last = trace.events[trace.n_steps - 1] if trace.n_steps else Event((), (), -1, 0.0)
    ones = basis.problem.d - basis.problem.n_features
    rows = basis.model(trace.model).rows()[:, ones:]
    lengths = np.linalg.norm(rows, axis=0)
    for j, row, length in zip(trace.model, (rows / lengths).T, lengths, strict=True):
        sign = last.sign if last.enters and last.pick == j else 0.0
        found.append(Statistic(row, float(length), len(trace.events), tuple(trace.model), sign))
    return found


def _walk(
    basis: Basis, trace: Trace, statistics: list[Statistic], W: FloatArray, along: FloatArray
) -> Iterator[tuple[int, Rows]]:
    """Yield the rows of each event with the index of the first statistic that is conditioned on it.

    W, along : (m, c·h) and (c·h,) c directions for each of the h statistics.
    """
    until = np.array([statistic.until for statistic in statistics])
    for t, event in enumerate(trace.events):
        first = int(np.argmax(until > t))
        kept = np.flatnonzero(np.tile(until > t, W.shape[1] // len(until)))
        for rows in basis.at(event, trace.by_length, W[:, kept], along[kept]).rows(event, trace.lam):
            _check(basis, rows, t)
            yield first, rows


def _on_lines(
    basis: Basis, trace: Trace, statistics: list[Statistic], sigma: float
) -> tuple[list[Law], list[tuple[Set, Set]]]:
    """Return the laws of the η̂ᵀy/σ, and outer and inner sets of offsets at which the events are the same."""
    h = len(statistics)
    W = np.array([statistic.w for statistic in statistics]).T
    reach = np.full((4, h), np.inf)
    for first, rows in _walk(basis, trace, statistics, W, np.zeros(h)):
        part = np.ascontiguousarray(reach[:, first:])
        rows.shorten(part)
        reach[:, first:] = part
    error = 3 * basis.eps * basis.problem.y_norm
    laws = [Normal(float(x) / sigma, 1.01 * error / sigma) for x in basis.z @ W]
    sets = []
    for i, (up, up_inner, down, down_inner) in enumerate(reach.T.tolist()):
        parts = []
        for low, high, side in ((-down, up, 1), (-down_inner, up_inner, -1)):
            ends = trace.choice.excluded(basis, W[:, i], side)
            low, high = np.append(ends[0], [-np.inf, high]), np.append(ends[1], [low, np.inf])
            factor = (1 + side * 2.0**-50) / sigma
            parts.append([(l * factor, u * factor) for l, u in without(low, high)])
        sets.append((parts[0], parts[1]))
    return laws, sets


def _on_circles(
    basis: Basis, trace: Trace, statistics: list[Statistic], n: int
) -> tuple[list[Law], list[tuple[Set, Set]]]:
    """Return the laws of the angles of y, and outer and inner sets of offsets with the same events."""
    W, along, laws = [], [], []
    error = 3 * basis.eps * basis.problem.y_norm
    for statistic in statistics:
        off = basis.model(statistic.model).off(basis.z)
        height = math.hypot(np.linalg.norm(off), basis.r_norm)
        W.append(off / height)
        along.append(1 / height)
        m = n - len(statistic.model) - (basis.problem.d - basis.problem.n_features) - 1
        if m < 0:
            raise ValueError
        laws.append(Circle(float(statistic.w @ basis.z), height, error, m))
    h = len(statistics)
    directions = np.array([statistic.w for statistic in statistics] + W).T
    ends = [([], []) for _ in statistics]
    for first, rows in _walk(basis, trace, statistics, directions, np.array([0.0] * h + along)):
        for i in range(first, h):
            law, count = laws[i], h - first
            for side, new in zip(ends[i], rows.arcs(law.x, law.height, error, i - first, i - first + count), strict=True):
                side.append(new)
    return laws, [tuple(without(*map(np.concatenate, zip(*side))) for side in pair) for pair in ends]


def _check(basis: Basis, rows: Rows, t: int) -> None:
    """Raise ValueError if an inequality of step t fails, or if rounding leaves it undecided."""
    j = np.unravel_index(np.argmin(rows.slack - rows.slack_error), rows.slack.shape)
    if rows.slack[j] + rows.slack_error[j] < 0:
        raise ValueError(f"path was not computed from X, y: step {t + 1} differs")
    if not rows.slack[j] > rows.slack_error[j]:
        raise ValueError(f"path has a tie at step {t + 1}, or a comparison that rounding leaves undecided")


def _result(
    basis: Basis, trace: Trace, statistics: list[Statistic], laws: list[Law], sets: list[tuple[Set, Set]],
    noise: Noise, level: float, path: SelectionPath | LassoPath,
) -> Inference:  # fmt: skip
    """Compute the p-values and intervals, and arrange them in rows."""
    k, problem = len(trace.features), basis.problem
    estimate, truncation = np.full(k, np.nan), np.full((k, 2), np.nan)
    bounds, step_bounds, interval = np.full((k, 2), np.nan), np.full((k, 2), np.nan), np.full((k, 2, 2), np.nan)
    entering = [trace.n_forced + t for t, e in enumerate(trace.events[: trace.n_steps]) if e.enters]
    rows = [*entering, *(k - 1 - trace.features[::-1].index(j) for j in trace.model)]
    for i, (row, statistic, law, (outer, inner)) in enumerate(zip(rows, statistics, laws, sets, strict=True)):
        larger, smaller = tails(law, outer, inner)
        p = larger if statistic.sign > 0 else smaller
        if statistic.sign == 0:
            p = 2 * min(larger[0], smaller[0]), 2 * min(larger[1], smaller[1])
        (step_bounds if i < len(entering) else bounds)[row] = np.clip(p, 0, 1)
        if i >= len(entering):
            j = trace.features[row]
            unit = statistic.scale * (1.0 if problem.design.scale is None else float(problem.design.scale[j]))
            estimate[row] = unit * (statistic.w @ basis.z)
            if isinstance(law, Normal):
                unit *= noise.sigma
                ends = unit * np.array(limits(law, outer, inner, level))
                interval[row] = ends + 4 * basis.eps * np.abs(ends) * [-1, 1]
                truncation[row] = estimate[row] + unit * np.array([outer[0][0], outer[-1][1]])
    leaves = np.array([False] * trace.n_forced + [not e.enters for e in trace.events[: trace.n_steps]], bool)
    return Inference(
        support=np.array(trace.features, np.intp), leaves=leaves[:k] if len(leaves) else np.zeros(k, bool), estimate=estimate, truncation=truncation,
        bounds=bounds, step_bounds=step_bounds, spacing_bounds=np.full((k, 2), np.nan), interval_bounds=interval,
        sigma=math.nan if noise.sigma is None else noise.sigma, level=level, method="exact",
        model=noise.words, status=path.status, fit=path.fit,
    )  # fmt: skip
