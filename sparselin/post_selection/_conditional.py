"""The conditional laws of the statistics of a path, and the p-values and intervals that follow from them."""

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from sparselin.post_selection import _laws as truncated
from sparselin.post_selection._events import SIGNS, Basis, Comparison, Event, Inequalities
from sparselin.post_selection._laws import Circle, Ends, Law, Set, Student, Tail, tails, without
from sparselin.post_selection._noise import Noise
from sparselin.post_selection._traces import Trace
from sparselin.results import FloatArray, Inference, LassoPath, SelectionPath, Status


def infer(
    basis: Basis, trace: Trace, n: int, noise: Noise, level: float, path: SelectionPath | LassoPath
) -> Inference:
    """Compute p-values and intervals for the steps of a trace and the coefficients of its last model.

    n : the number of rows with a positive weight.
    """
    statistics = _statistics(basis, trace)
    k = len(trace.features)
    tests: Sequence[tuple[Law, Set, Set]] = (
        _on_circles(basis, trace, statistics, n)
        if noise.unknown
        else _on_lines(basis, trace, statistics, noise)
    )
    tested, steps, spacing = (np.full((2, k, 2), np.nan) for _ in range(3))  # bounds of p, and of ln p
    for statistic, (law, outer, inner) in zip(statistics, tests, strict=True):
        p = _p_values(tails(law, outer, inner), statistic.sign)
        (steps if statistic.of_step else tested)[:, statistic.row] = p
    found = _coefficients(basis, trace, statistics, tests, level)
    leaves = [False] * (k - len(trace.steps)) + [not event.enters for event in trace.steps]
    if isinstance(path, LassoPath) and not noise.unknown and not trace.choice.models:
        spacing[:, k - len(trace.steps) :] = spacing_p_values(basis, trace.steps, noise)
    slack = (4 * basis.eps + 2 * noise.error) * np.abs(found.interval)
    return Inference(
        support=np.array(trace.features, np.intp),
        leaves=np.array(leaves, bool),
        estimate=found.estimate,
        standard_error=found.error,
        truncation=found.truncation,
        bounds=tested[0],
        step_bounds=steps[0],
        spacing_bounds=spacing[0],
        log_bounds=tested[1],
        log_step_bounds=steps[1],
        log_spacing_bounds=spacing[1],
        interval_bounds=found.interval + slack * [-1, 1],
        sigma=noise.sigma,
        degrees=noise.degrees,
        approximate=noise.approximate,
        level=level,
        method="exact",
        model=noise.words,
        fit=path.fit,
        status=Status.COMPLETED if path.status is Status.MAX_STEPS else path.status,
    )


def _p_values(both: tuple[Tail, Tail], sign: float) -> FloatArray:
    """Return bounds (2, 2) on p and ln p: one-sided for a known sign, else twice the smaller tail."""
    above, below = (np.array(tail) for tail in both)
    if sign:
        p = above if sign > 0 else below
    else:
        p = np.minimum(above, below)
        p = np.array([2 * p[0], p[1] + math.log(2) + 2.0**-50 * np.array([-1, 1])])
    return np.array([np.clip(p[0], 0, 1), np.minimum(p[1], 0)])


class Statistic(NamedTuple):
    """A unit vector η̂, and the conditions under which η̂ᵀy is tested.

    w : (m,) the coordinates of η̂ in the `Basis`.
    scale : ‖η‖, where ηᵀy is the coefficient of a column of the problem.
    row : the row of the result.
    of_step : whether it tests a step.
    until : the number of events that its law is conditional on.
    model : the features of the model in which it is tested.
    sign : the sign of η̂ᵀy that the events imply, or 0.
    """

    w: FloatArray
    scale: float
    row: int
    of_step: bool
    until: int
    model: tuple[int, ...]
    sign: float


def _statistics(basis: Basis, trace: Trace) -> list[Statistic]:
    """Return the statistics of the steps at which a feature enters, then those of the last model."""
    found = []
    total = len(trace.events)
    for t, event in enumerate(trace.steps):
        if event.enters:
            w = basis.model(event.before).off(basis.column(event.pick))
            size = float(np.linalg.norm(w))
            model = (*event.before, event.pick)
            until = total if trace.choice.models else t + 1
            found.append(
                Statistic(
                    w=w / size,
                    scale=1 / size,
                    row=trace.n_forced + t,
                    of_step=True,
                    until=until,
                    model=model,
                    sign=event.sign,
                )
            )
    last = trace.steps[-1] if trace.steps else None
    inverse = basis.model(trace.model).inverse(basis.ones)
    for j, v in zip(trace.model, inverse.T, strict=True):
        size = float(np.linalg.norm(v))
        row = len(trace.features) - 1 - trace.features[::-1].index(j)
        sign = last.sign if last is not None and last.enters and last.pick == j else 0.0
        found.append(
            Statistic(
                w=v / size, scale=size, row=row, of_step=False, until=total, model=trace.model, sign=sign
            )
        )
    return found


class _Coefficients(NamedTuple):
    """The estimates of the coefficients of the last model, in the rows of their features, in the units of X.

    Other rows are NaN, and so is what does not exist for a law.

    estimate, error : (k,) the estimates, and their standard errors.
    truncation : (k, 2) the range of the estimate under the same selection.
    interval : (k, 2, 2) bounds on both ends of the confidence interval.
    """

    estimate: FloatArray
    error: FloatArray
    truncation: FloatArray
    interval: FloatArray


def _coefficients(
    basis: Basis,
    trace: Trace,
    statistics: list[Statistic],
    tests: Sequence[tuple[Law, Set, Set]],
    level: float,
) -> _Coefficients:
    """Compute the estimates of the coefficients of the last model, and their intervals."""
    k = len(trace.features)
    scale = basis.problem.design.scale
    estimate, error = (np.full(k, np.nan) for _ in range(2))
    truncation = np.full((k, 2), np.nan)
    interval = np.full((k, 2, 2), np.nan)
    for statistic, (law, outer, inner) in zip(statistics, tests, strict=True):
        if statistic.of_step:
            continue
        row = statistic.row
        unit = statistic.scale * (1.0 if scale is None else float(scale[trace.features[row]]))
        estimate[row] = unit * (statistic.w @ basis.z)
        error[row] = unit * law.deviation
        if not (isinstance(law, Circle) and trace.events):
            if not (isinstance(law, Student) and trace.choice.models):  # there the set depends on θ
                interval[row] = error[row] * truncated.limits(law, outer, inner, level)
            truncation[row] = estimate[row] + error[row] * np.array([outer[0][0], outer[-1][1]])
    return _Coefficients(estimate=estimate, error=error, truncation=truncation, interval=interval)


def _walk(
    basis: Basis, trace: Trace, statistics: list[Statistic], W: FloatArray, along: FloatArray
) -> Iterator[tuple[int, Inequalities]]:
    """Yield the inequalities of each event, and the position of the first statistic that depends on it.

    W, along : (m, c·h) and (c·h,) for each of the h statistics c directions QW + r·along; the inequalities
        have the directions of the statistics from this position on.
    """
    until = np.array([statistic.until for statistic in statistics])
    for t, event in enumerate(trace.events if statistics else []):
        needed = np.tile(until > t, W.shape[1] // len(until))
        state = basis.at(event, trace.by_length, W[:, needed], along[needed])
        state.check(event, t, trace.by_length)
        for rows in state.rows(event):
            rows.check(t)
            yield int(np.argmax(until > t)), rows


def _on_lines(
    basis: Basis, trace: Trace, statistics: list[Statistic], noise: Noise
) -> list[tuple[Law, Set, Set]]:
    """Return the laws of the η̂ᵀy/σ, and outer and inner sets of offsets with the same events and choice."""
    W = basis.stack([statistic.w for statistic in statistics])
    reach = np.full((4, len(statistics)), np.inf)
    for first, rows in _walk(basis, trace, statistics, W, np.zeros(len(statistics))):
        part = np.ascontiguousarray(reach[:, first:])
        rows.shorten(part)
        reach[:, first:] = part
    found: list[tuple[Law, Set, Set]] = []
    for w, (up, inner_up, down, inner_down) in zip(W.T, reach.T.tolist(), strict=True):
        excluded = (trace.choice.exclude(basis, w, side, noise.by_residual) for side in (1, -1))
        outer = without([next(excluded), truncated.beyond(-down, up)])
        inner = without([next(excluded), truncated.beyond(-inner_down, inner_up)])
        law = noise.law(float(w @ basis.z), basis.error)
        found.append((law, noise.scale(outer, 1), noise.scale(inner, -1)))
    return found


def _on_circles(basis: Basis, trace: Trace, tests: list[Statistic], n: int) -> list[tuple[Circle, Set, Set]]:
    """Return the laws of the angles of y, and outer and inner sets of offsets with the same events.

    The t-test of η̂ᵀμ = 0 in a model S conditions on the projection of y on the other columns of S, and on
    the length of what is left. So y lies on the circle that η̂ and the residual of S span.
    """
    h = len(tests)
    laws = []
    W = [statistic.w for statistic in tests]
    along = [0.0] * h
    for statistic in tests:
        off = basis.model(statistic.model).off(basis.z)
        height = math.hypot(float(np.linalg.norm(off)), basis.r_norm)
        m = n - len(statistic.model) - basis.ones - 1
        if m < 0 or height <= basis.error:
            raise ValueError('sigma="unknown" needs a residual, but a model fits y exactly. Pass sigma')
        W.append(off / height)
        along.append(1 / height)
        laws.append(Circle(float(statistic.w @ basis.z), height, basis.error, m))
    fails: list[tuple[list[Ends], list[Ends]]] = [([], []) for _ in tests]
    for first, rows in _walk(basis, trace, tests, basis.stack(W), np.array(along)):
        for i in range(first, h):
            sure, possible = rows.arcs(laws[i].x, laws[i].height, basis.error, i - first, h - 2 * first + i)
            fails[i][0].append(sure)
            fails[i][1].append(possible)
    return [(law, without(one), without(two)) for law, (one, two) in zip(laws, fails, strict=True)]


def spacing_p_values(basis: Basis, events: Sequence[Event], noise: Noise) -> FloatArray:
    """Return bounds (2, t, 2) on p and ln p of the spacing test for the t steps of a LASSO path.

    Let λ_t be the knots, with λ_0 = ∞. Let A be the model after step t, s its signs, u_t = (X_A⁺)ᵀs, and
    ω = ‖u_t − u_{t−1}‖. The p-value of step t is

        (Φ(λ_{t−1}ω/σ) − Φ(λ_tω/σ))/(Φ(λ_{t−1}ω/σ) − Φ(λ_{t+1}ω/σ))

    (Tibshirani, Taylor, Lockhart and Tibshirani, *Exact post-selection inference for sequential regression
    procedures*, 2016). Here λ_{t+1} is the next knot of least angle regression: with c and q after step t it
    is the largest ±c_j/(1 ∓ q_j) over the j outside A with 1 ∓ q_j > 0, or 0. Rows are NaN from the first
    step at which a feature leaves. (R's selectiveInference calls this the modified form of the test; the
    first form has a number M⁺ ≤ λ_{t+1} in the place of λ_{t+1}.) If σ is estimated, `Student` replaces Φ.

    Compared with the exact test. With q and P^⊥ of the model before the step, u_t − u_{t−1} is
    (s_i − q_i)P^⊥X_i/‖P^⊥X_i‖² for the feature i that enters. So λ_tω is the statistic η̂ᵀy of the exact test,
    and both p-values are those of a truncated normal law. If y moves along η̂, the knots before t stay. With
    c and q after step t, the condition |c_j + λ_tq_j| ≤ λ_t reads (1 ∓ q_j)λ_t ≥ ±c_j: it bounds λ_t from
    below by λ_{t+1} where 1 ∓ q_j > 0, and from above where 1 ∓ q_j < 0. The bounds from above, the signs of
    coefficients, and the steps before may shorten the interval [λ_{t+1}, λ_{t−1}]. If nothing does, as for
    orthogonal columns, the tests are the same. If the upper end is shortened, the spacing test has the
    larger p-value. If the lower end is, for which t ≥ 2 is needed, it has the smaller one, and its level may
    exceed the nominal one: for μ = 0 and the three columns in `tests/post_selection/test_other_inference.py`,
    27 % of its p-values at step 2 are below .2. The exact test has its level in all cases.
    """
    found = np.full((2, len(events), 2), np.nan)
    before = (math.inf, math.inf)
    W, along = np.zeros((basis.qr.size, 0)), np.zeros(0)
    for t, event in enumerate(events):
        if not event.enters:
            break
        state = basis.at(event, False, W, along)
        lam, lam_error, _, _ = state.leader(event)
        D, D_error = (a[int(event.sign < 0), event.pick] for a in (state.D, state.D_error))
        after = Event(
            before=(*event.before, event.pick), signs=(*event.signs, event.sign), pick=-1, sign=0.0, level=0.0
        )
        low, high = _next_knot(basis.at(after, False, W, along), lam + lam_error)
        w = basis.model(event.before).off(basis.column(event.pick))
        length = float(np.linalg.norm(w))
        error = 3 * basis.eps * basis.problem.column_norms[event.pick]
        least, most = (D - D_error) / (length + error), (D + D_error) / (length - error)
        up = (before[1] - lam + lam_error) * most, max(0.0, before[0] - lam - lam_error) * least
        down = (lam + lam_error - low) * most, max(0.0, lam - lam_error - high) * least
        outer, inner = (noise.scale([(-down[i], up[i])], 1 - 2 * i) for i in range(2))
        law = noise.law(event.sign * float(w @ basis.z) / length, basis.error)
        found[:, t] = _p_values(tails(law, outer, inner), 1.0)
        before = lam - lam_error, lam + lam_error
    return found


def _next_knot(state: Comparison, last: float) -> tuple[float, float]:
    """Return bounds on the next knot of least angle regression, which is at most `last`."""
    c = SIGNS * state.c.at_y
    error = state.c.y_error
    D, D_error = state.D, state.D_error
    sure, possible = ~state.left_out & (D - D_error > 0), ~state.left_out & (D + D_error > 0)
    low = np.max((c - error)[sure] / (D + D_error)[sure], initial=0.0)
    with np.errstate(divide="ignore"):
        high = np.max((c + error)[possible] / np.maximum(D - D_error, 0)[possible], initial=0.0)
    return float(low), min(float(high), last)
