"""Inference after selection: p-values and confidence intervals along a path."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from sparselin.guarantees._selection_events import Basis, Rows
from sparselin.guarantees._traces import Trace, choose, trace_of
from sparselin.guarantees._truncated_laws import (
    Circle,
    Ends,
    Normal,
    Set,
    beyond,
    limits,
    scaled,
    tails,
    without,
)
from sparselin.linalg.thin_qr import ThinQR
from sparselin.problem import Problem, as_problem, takes_problem
from sparselin.results import FloatArray, Inference, LassoPath, SelectionPath, Status
from sparselin.validation import check_real


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
    sample_weight: ArrayLike | None = None,
) -> Inference:
    """Test the steps of a path, and the coefficients of its last model, as if y had not selected them.

    Let y ~ N(μ, σ²I) with a fixed X. A path selects features that fit this y well, so the usual p-values are
    too small: with μ = 0, n = 100 and 50 features, the usual p-value of the first feature of OMP is below .05
    in nine of ten draws. Exact inference conditions on the selection. The set of all y for which a path makes
    the same picks with the same signs is given by linear inequalities (`_selection_events` derives them).
    Given this set, and the part of y orthogonal to η, the statistic ηᵀy is a Gaussian that is truncated to an
    interval [V⁻, V⁺] (Lee, Sun, Sun and Taylor, *Exact post-selection inference, with application to the
    lasso*, 2016; Tibshirani, Taylor, Lockhart and Tibshirani, *Exact post-selection inference for sequential
    regression procedures*, 2016). Then the mean ηᵀμ can be tested, and intervals for it have the given level.

    **What is tested.** S are the features of the model, with the intercept if there is one.

    - A coefficient: η is row j of X_S⁺ and ηᵀμ = (X_S⁺μ)_j, the coefficient of feature j if μ is projected on
      the *selected* model. It is not the coefficient of j in a true model, unless S contains that model. The
      law is conditional on the picks and signs of all k steps.
    - A step at which feature i enters: η is P_A^⊥X_i for the model A before the step, so ηᵀμ = 0 if i does
      not improve the model A. The law is conditional on the picks and signs up to this step.

    The events of a step fix the sign of ηᵀy, so p-values of steps are one-sided, and so is that of the last
    feature. The other p-values are two-sided: twice the smaller tail. Intervals have equal tails.

    **Long intervals.** The ends of an interval are finite, but if the estimate lies near an end of [V⁻, V⁺],
    the interval is long, and it can lie beside the estimate (Kivaranovic and Leeb, *On the length of
    post-model-selection confidence intervals conditional on polyhedral constraints*, 2021).

    **Digits.** X, y and σ are taken exactly as floats. The rounding errors of V⁻, V⁺ and ηᵀy are bounded, and
    tails are computed in balls (`_truncated_laws`), so `bounds` and `interval_bounds` hold the exact values,
    and tables show only digits that these bounds prove.

    Parameters
    ----------
    X, y : the data from which the path was computed: design (n, d) and response (n,) in float64, or one
        `Problem`. Rows are needed, so neither a Gram problem, nor a compressed problem, nor a LinearOperator
        is accepted.
    path : a `SelectionPath` of `omp`, `ols` or `sequential_lasso`, or a `LassoPath`. Forced features count as
        chosen without y. The path must not end by `tol` or by a callback, and must have no ties.
    k : the number of steps, fixed in advance; by default all steps of a path that ended after a given number
        of steps. For a `SelectionPath` k counts the forced features, for a `LassoPath` it counts knots. Or
        "bic" or "ebic": the number of steps that the criterion chooses among all steps of the path. Then the
        law is conditional on all picks and on the choice, and the set of ηᵀy is a union of intervals (Loftus
        and Taylor, *Selective inference in regression models with groups of variables*, 2015).
    lam : for a `LassoPath`: infer at this λ, which was fixed in advance, given the active features and their
        signs there. There are no p-values of steps.
    sigma : σ > 0; "full": estimate it by the residual of least squares on all features, which needs n > d
        (the default); "response": the standard deviation of y, which is too large if μ is not constant;
        "unknown": condition on the length of the residual too. This is the selective t-test of Fithian, Sun
        and Taylor (*Optimal inference after model selection*, 2014). It needs μ in the span of the tested
        model, and gives no intervals. An estimated σ is taken as known.
    level : the confidence level, between 0 and 1.
    sample_weight : the weights with which the path was computed: row i has the noise variance σ²/weight_i.
        Rows of weight 0 do not count. (A `Problem` with weights but without an intercept does not keep them;
        then all its rows count as rows in σ, in BIC and in t-tests.)

    Returns
    -------
    Inference.

    Raises
    ------
    TypeError, ValueError : bad data (see `Problem`); a path of another class, of `positive=True`, with a tie,
        with dependent features, that was not computed from these data, or that ended by `tol` or a callback;
        a comparison that rounding leaves undecided; no sigma although n ≤ d; sigma ≤ 0; a λ that is not a
        number.
    ModuleNotFoundError : python-flint is not installed.

    >>> import numpy as np, sparselin as sl
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((100, 50))
    >>> y = X[:, 0] - X[:, 1] / 2 + rng.standard_normal(100)
    >>> path = sl.omp(X, y, 3)
    >>> print(sl.inference(X, y, path, sigma=1.0))
    """
    problem = _problem(X, y, path, sample_weight)
    n = _rows(problem, sample_weight)
    level = _check_level(level)
    if k is not None and lam is not None:
        raise ValueError("k and lam exclude each other. Pass one of them")
    if isinstance(k, str) and k not in ("bic", "ebic"):
        raise ValueError(f'k must be a number, "bic" or "ebic"; got {k!r}')
    trace = trace_of(path, None if isinstance(k, str) else k, lam)
    basis = Basis(problem, np.array(list(dict.fromkeys([*trace.features, *trace.model])), np.intp))
    sigma, words = noise(problem, n, sigma)
    if isinstance(k, str):
        if math.isnan(sigma):
            raise ValueError('sigma="unknown" needs a number k, because RSS changes along the circle of y')
        trace = choose(trace, basis, k, n)
    statistics = _statistics(basis, trace)
    tests = _on_circles if math.isnan(sigma) else _on_lines
    laws, sets = tests(basis, trace, statistics, n, sigma)
    return _result(basis, trace, list(zip(statistics, laws, sets, strict=True)), sigma, level, words, path)


def _problem(X: Any, y: Any, path: Any, sample_weight: Any) -> Problem:
    """Return the problem of the data with the options of the path. Refuse what inference cannot use."""
    if not isinstance(path, SelectionPath | LassoPath):
        raise TypeError(f"path must be a SelectionPath or a LassoPath; got {type(path).__name__}")
    options = [not isinstance(X, Problem) and flag for flag in (path.with_intercept, path.standardized)]
    problem = as_problem(X, y, sample_weight, *options)
    if problem.kind == "gram" or problem.is_rounded:
        raise TypeError("rows of X are needed; a Gram or compressed problem has none. Pass X and y")
    if problem.dtype != np.float64:
        raise TypeError("X must be float64, because the digits of p-values need it. Pass X.astype(float)")
    if path.positive:
        raise ValueError("path must not come from positive=True: its steps are not linear in y")
    if isinstance(path, SelectionPath) and any(map(len, path.weights)):
        raise ValueError("path must come from omp, ols or sequential_lasso, not from sequential_attention")
    if path.status in (Status.TOLERANCE, Status.STOPPED, Status.BEYOND_PRECISION):
        raise ValueError(
            f"path ended with {path.status.name}, so y decided its length by a rule that inference does not "
            "know. Compute a path of k steps (max_steps for the LASSO) without tol and callback"
        )
    return problem


def _rows(problem: Problem, sample_weight: Any) -> int:
    """Return the number of rows with a positive weight."""
    if sample_weight is not None:
        return int(np.count_nonzero(sample_weight))
    return problem.n if problem.design.ones is None else int(np.count_nonzero(problem.design.ones))


def _check_level(level: Any) -> float:
    value = check_real(level, "level")
    if not 0 < value < 1:
        raise ValueError(f"level must be between 0 and 1; got {value}")
    return value


def noise(problem: Problem, n: int, sigma: Any) -> tuple[float, str]:
    """Check sigma, or estimate σ. Return σ, or NaN if it is unknown, and the assumptions in words."""
    named = sigma if isinstance(sigma, str) else None
    if named == "unknown":
        return math.nan, "y ~ N(μ, σ²I), σ unknown, μ in the span of the tested model: selective t-tests"
    if sigma is None and n <= problem.d:
        raise ValueError(
            f"sigma is needed: {n} rows do not determine σ with {problem.d} columns. Pass a number; "
            '"response" for the standard deviation of y; or "unknown" for t-tests in the selected model'
        )
    source = "(given)"
    if named in ("full", "response") or sigma is None:
        columns = problem.with_ones(np.arange(0 if named == "response" else problem.n_features))
        qr = ThinQR(problem, columns.tolist())
        if n <= qr.size:
            raise ValueError(f'sigma="full" needs more rows than columns; got {n} rows and rank {qr.size}')
        value = float(np.linalg.norm(qr.residual(problem.y))) / math.sqrt(n - qr.size)
        source = "(the deviation of y)" if named == "response" else "(least squares on all features)"
    else:
        value = check_real(sigma, "sigma")
    if value <= 0:
        raise ValueError(f"sigma must be positive; got {value}")
    return value, f"y ~ N(μ, σ²I), σ = {value:.4g} {source}, any μ"


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
    found, total = [], len(trace.events)
    for t, event in enumerate(trace.steps):
        if event.enters:
            w = basis.model(event.before).off(basis.column(event.pick))
            length, model = float(np.linalg.norm(w)), (*event.before, event.pick)
            until = total if trace.choice.models else t + 1
            found.append(
                Statistic(w / length, 1 / length, trace.n_forced + t, True, until, model, event.sign)
            )
    last = trace.steps[-1] if trace.steps else None
    inverse = basis.model(trace.model).inverse(basis.ones)
    for j, v in zip(trace.model, inverse.T, strict=True):
        length, row = float(np.linalg.norm(v)), len(trace.features) - 1 - trace.features[::-1].index(j)
        sign = last.sign if last is not None and last.enters and last.pick == j else 0.0
        found.append(Statistic(v / length, length, row, False, total, trace.model, sign))
    return found


def _walk(
    basis: Basis, trace: Trace, statistics: list[Statistic], W: FloatArray, along: FloatArray
) -> Iterator[tuple[int, Rows]]:
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
    basis: Basis, trace: Trace, statistics: list[Statistic], n: int, sigma: float
) -> tuple[list[Normal], list[tuple[Set, Set]]]:
    """Return the laws of the η̂ᵀy/σ, and outer and inner sets of offsets with the same events and choice."""
    W = basis.stack([statistic.w for statistic in statistics])
    reach = np.full((4, len(statistics)), np.inf)
    for first, rows in _walk(basis, trace, statistics, W, np.zeros(len(statistics))):
        part = np.ascontiguousarray(reach[:, first:])
        rows.shorten(part)
        reach[:, first:] = part
    sets = []
    for w, (up, inner_up, down, inner_down) in zip(W.T, reach.T.tolist(), strict=True):
        outer = without([trace.choice.excluded(basis, w, 1), beyond(-down, up)])
        inner = without([trace.choice.excluded(basis, w, -1), beyond(-inner_down, inner_up)])
        sets.append((scaled(outer, 1 / sigma, 1), scaled(inner, 1 / sigma, -1)))
    return [Normal(x / sigma, basis.error / sigma, sigma) for x in (basis.z @ W).tolist()], sets


def _on_circles(
    basis: Basis, trace: Trace, statistics: list[Statistic], n: int, sigma: float
) -> tuple[list[Circle], list[tuple[Set, Set]]]:
    """Return the laws of the angles of y, and outer and inner sets of offsets with the same events.

    The t-test of η̂ᵀμ = 0 in a model S conditions on the projection of y on the other columns of S, and on
    the length of what is left. So y lies on the circle that η̂ and the residual of S span.
    """
    h, laws, W, along = (
        len(statistics),
        [],
        [statistic.w for statistic in statistics],
        [0.0] * len(statistics),
    )
    for statistic in statistics:
        off = basis.model(statistic.model).off(basis.z)
        height = math.hypot(float(np.linalg.norm(off)), basis.r_norm)
        m = n - len(statistic.model) - basis.ones - 1
        if m < 0 or height <= basis.error:
            raise ValueError('sigma="unknown" needs a residual, but a model fits y exactly. Pass sigma')
        W.append(off / height)
        along.append(1 / height)
        laws.append(Circle(float(statistic.w @ basis.z), height, basis.error, m))
    fails: list[tuple[list[Ends], list[Ends]]] = [([], []) for _ in statistics]
    for first, rows in _walk(basis, trace, statistics, basis.stack(W), np.array(along)):
        for i in range(first, h):
            certain, possible = rows.arcs(
                laws[i].x, laws[i].height, basis.error, i - first, h - 2 * first + i
            )
            fails[i][0].append(certain)
            fails[i][1].append(possible)
    return laws, [(without(certain), without(possible)) for certain, possible in fails]


def _result(
    basis: Basis,
    trace: Trace,
    tests: list[tuple[Statistic, Normal | Circle, tuple[Set, Set]]],
    sigma: float,
    level: float,
    words: str,
    path: SelectionPath | LassoPath,
) -> Inference:
    """Compute p-values and intervals, and arrange them in rows."""
    k, scale = len(trace.features), basis.problem.design.scale
    estimate, error = (np.full(k, np.nan) for _ in range(2))
    truncation, bounds, step_bounds = (np.full((k, 2), np.nan) for _ in range(3))
    interval = np.full((k, 2, 2), np.nan)
    for statistic, law, (outer, inner) in tests:
        row, (above, below) = statistic.row, tails(law, outer, inner)
        both = [2 * min(pair) for pair in zip(above, below, strict=True)]
        p = above if statistic.sign > 0 else below if statistic.sign < 0 else both
        (step_bounds if statistic.of_step else bounds)[row] = np.clip(p, 0, 1)
        if not statistic.of_step:
            unit = statistic.scale * (1.0 if scale is None else float(scale[trace.features[row]]))
            estimate[row], error[row] = unit * (statistic.w @ basis.z), unit * law.deviation
            if isinstance(law, Normal):
                ends = error[row] * np.array(limits(law, outer, inner, level))
                interval[row] = ends + 4 * basis.eps * np.abs(ends) * [-1, 1]
                truncation[row] = estimate[row] + error[row] * np.array([outer[0][0], outer[-1][1]])
    leaves = [False] * (k - len(trace.steps)) + [not event.enters for event in trace.steps]
    return Inference(
        support=np.array(trace.features, np.intp), leaves=np.array(leaves, bool), estimate=estimate,
        standard_error=error, truncation=truncation, bounds=bounds, step_bounds=step_bounds,
        spacing_bounds=np.full((k, 2), np.nan), interval_bounds=interval, sigma=sigma, level=level,
        method="exact", model=words, status=path.status, fit=path.fit,
    )  # fmt: skip
