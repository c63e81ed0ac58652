"""A feature on the path of greedy selection for logistic or Poisson regression."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from sparselin.explanations.selection import PASS, Choice, entered, fell_at, forced_in, not_selected
from sparselin.explanations.standing import standing
from sparselin.explanations.words import addition
from sparselin.greedy._losses import LOSSES, check_responses
from sparselin.greedy.generalized import generalized_omp
from sparselin.problem import Problem
from sparselin.results import Explanation, FloatArray, GeneralizedPath, SelectionPath, Status


def on_generalized(
    problem: Problem, path: GeneralizedPath, j: int, X: Any, y: Any, weight: Any
) -> Explanation:
    """The explanation of feature j; ValueError if X, y and weight, as in the problem, are not the path's."""
    picks = _as_selection(path)
    place = np.flatnonzero(path.support == j)
    step = int(place[0]) + 1 if len(place) else 0
    given = path.support[: step - 1] if step else path.support
    c, error = _scores(problem, path, X, y, weight)
    forced = bool(step and math.isnan(path.lam_star[step - 1]))
    m = len(given)
    size = np.where(np.abs(c[m]) > error[m], np.abs(c[m]), 0)
    level, runner_up, tied = _compared(path, j, step, np.abs(c[m]), size)
    correlation, error = np.abs(c[: m + 1, j]), error[: m + 1, j]
    fall = fell_at(correlation, error)
    at = standing(problem, given, j)
    r2, gain, why = float(path.d2_path[m]), 0.0, ""
    if step:
        gain = float(path.d2_path[step]) - r2
    elif at.left > 0 and size[j] > 0:
        gain, why = _gain(path, j, X, y, weight)
    at = at._replace(r2=r2, gain=gain, partial_r2=gain / (1 - r2) if r2 < 1 else 0.0, measure="D²")
    if forced:
        sentence = forced_in(picks, step, at)
    elif step:
        sentence = entered(picks, step, Choice("|c|", runner_up, tied), at)
    else:
        sentence = not_selected(picks, j, correlation, error, level, fall, at, why or addition(at))
    dtype = path.coef_path.dtype
    return Explanation(
        feature=j,
        kind="selection",
        names=path.names,
        step=step,
        forced=forced,
        given=given.copy(),
        correlation=correlation.astype(dtype),
        level=level.astype(dtype),
        error=error.astype(dtype),
        runner_up=runner_up,
        margin=float(path.margin[m]) if step else math.nan,
        tied=tied,
        fall=fall,
        **at.fields(),
        intervals=(),
        sentence=sentence,
    )


def _compared(
    path: GeneralizedPath, j: int, step: int, c: FloatArray, size: FloatArray
) -> tuple[FloatArray, int, tuple[int, ...]]:
    """The largest |c| at each step up to that of j, or after the last; there the runner-up, who ties with j.

    c and size (d,) are those there, size zero where c is to rounding.
    """
    m = step - 1 if step else len(path)
    rest = np.setdiff1d(np.arange(path.n_features), path.support[: m + bool(step)])
    level = np.append(path.lam_star[:m].astype(np.float64), math.nan)
    runner_up, tied = -1, tuple[int, ...]()
    if not step:
        level[m] = size[rest].max(initial=0)
    elif not math.isnan(path.lam_star[m]):
        level[m] = path.lam_star[m]
        tied = tuple(i for i in path.ties[m] if i != j)
        if path.margin[m] < 1 and len(rest):
            runner_up = int(rest[np.argmax(c[rest])])
    return level, runner_up, tied


def _as_selection(path: GeneralizedPath) -> SelectionPath:
    """The same picks, for the sentences: a path whose R² is D²."""
    t = len(path)
    return SelectionPath(
        support=path.support,
        coef_path=path.coef_path,
        intercept_path=path.intercept_path,
        lam_star=path.lam_star,
        margin=path.margin,
        ties=path.ties,
        active_sets=((),) * t,
        weights=(),
        residual_norm=np.sqrt(path.deviance),
        status=path.status,
        n_features=path.n_features,
        names=path.names,
        with_intercept=path.with_intercept,
        standardized=path.standardized,
        positive=False,
    )


def _scores(
    problem: Problem, path: GeneralizedPath, X: Any, y: Any, weight: Any
) -> tuple[FloatArray, FloatArray]:
    """c (t + 1, d) after 0, …, t features, and bounds e on its errors; ValueError if y or S is another.

    η is off by δ = u·(|b| + |X_S||β|), u = 8·eps(√n + 1) of the dtype of the coefficients, and the refit by
    D in the norm of √V, V = diag(w∘ℓ''), D² half of `optimality`. By |μ(η + δ) − μ(η)| ≤ ℓ''·(e^|δ| − 1),
    where |δ| ≤ ½,

        e_i = ‖√w∘X_i‖(u·(‖√w∘(y − μ)‖ + ‖√w∘lost‖) + max √ℓ''·(1.3·‖√V∘δ‖ + 2D));

    the deviance is off by 2Σ w|y − μ|δ + 1.3·‖√Vδ‖², and its own rounding, at most
    u·(deviance + Σ w(1 + |η|)(y + μ)). On S c is zero to e.
    """
    problem, loss = problem.in_double(), LOSSES[path.loss]
    n, d, S = problem.n, path.n_features, path.support
    labels = check_responses(loss, y, n)
    root = np.ones(n) if weight is None else np.sqrt(np.asarray(weight, np.float64))
    columns = Problem(X, labels).columns(S).astype(np.float64)
    unit = problem.rounding() * max(1.0, float(np.finfo(path.coef_path.dtype).eps) / problem.eps)
    norms = problem.column_norms[:d]
    c, errors = np.zeros((len(S) + 1, d)), np.zeros((len(S) + 1, d))
    for s in range(len(S) + 1):
        beta, b = path.coef_at(s).astype(np.float64), float(path.intercept_path[s])
        eta = columns[:, :s] @ beta + b
        delta = unit * (np.abs(columns[:, :s]) @ np.abs(beta) + abs(b))
        r, lost, half = root * loss.residual(eta, labels), root * loss.lost(eta), np.sqrt(loss.variance(eta))
        off, rest = float(np.linalg.norm(root * half * delta)), math.sqrt(path.optimality[s] / 2)
        c[s] = problem.correlate(r)[:d]
        spread = np.linalg.norm(r) + np.linalg.norm(lost)
        errors[s] = norms * (unit * spread + float(half.max()) * (1.3 * off + 2 * rest))
        deviance = float(root**2 @ loss.deviance(eta, labels))
        mean = labels - loss.residual(eta, labels)
        slack = 2 * float((root * np.abs(r)) @ delta) + 1.3 * off**2
        slack += unit * (deviance + float(root**2 @ ((1 + np.abs(eta)) * (labels + mean))))
        used = S[:s][beta != 0]
        told = float(path.deviance[s])
        if not abs(deviance - told) <= 2 * slack or (np.abs(c[s, used]) > errors[s, used]).any():
            raise ValueError(
                f"path must be one of X and y: after {s} features its deviance is {told:.6g}, that of the "
                f"data {deviance:.6g}. {PASS}."
            )
    return c, errors


def _gain(path: GeneralizedPath, j: int, X: Any, y: Any, weight: Any) -> tuple[float, str]:
    """D²(S ∪ j) − D²(S), and ""; or NaN and why there is no model on S ∪ j."""
    more = generalized_omp(
        X, y, len(path) + 1, loss=path.loss, forced=[*path.support.tolist(), j],
        intercept=path.with_intercept, standardize=path.standardized, sample_weight=weight,
    )  # fmt: skip
    if len(more) > len(path):
        return max(0.0, more.d2 - path.d2), ""
    if more.status is Status.NO_MINIMUM:
        return math.nan, "with it the data are separated, and the likelihood has no maximum"
    return math.nan, "rounding leaves undecided whether there is a model with it"
