"""Explanations on a path of greedy selection for logistic or Poisson regression."""

import dataclasses
import math
from typing import Any

import numpy as np

from sparselin.explanations import words
from sparselin.explanations.selection import Rivals, explain_pick, place_on
from sparselin.explanations.standing import Course, standing
from sparselin.greedy._losses import LOSSES, check_responses
from sparselin.greedy.generalized import generalized_omp
from sparselin.problem import Problem
from sparselin.problem.errors import coarseness
from sparselin.problem.paths import other_data
from sparselin.results import Explanation, FloatArray, GeneralizedPath, SelectionPath, Status


def explain_on_generalized_path(
    problem: Problem, path: GeneralizedPath, j: int, X: Any, y: Any, weight: Any
) -> Explanation:
    """Explain when and why feature j entered a path of logistic or Poisson regression, or why it did not.

    problem : the problem of X and y with these weights.
    y : numbers (`responses`).

    Raises ValueError if the path was computed from other data.
    """
    picks = _as_selection(path)
    step, given, _ = place_on(picks, j)
    c, error = _scores(problem, path, X, y, weight)
    m = len(given)
    level, rivals = _level_and_rivals(path, j, step, np.abs(c[m]), error[m])
    at = standing(problem, given, j)
    r2 = float(path.d2_path[m])
    gain, why = 0.0, ""
    if step:
        gain = float(path.d2_path[step]) - r2
    elif at.left > 0 and abs(c[m, j]) > error[m, j]:
        gain, why = _gain(path, j, X, y, weight)
    at = at._replace(r2=r2, gain=gain, partial_r2=gain / (1 - r2) if r2 < 1 else 0.0, measure="D²")
    course = Course(np.abs(c[: m + 1, j]), error[: m + 1, j], level)
    return explain_pick(picks, j, course, rivals, at, why or words.describe_gain(at))


def _level_and_rivals(
    path: GeneralizedPath, j: int, step: int, c: FloatArray, error: FloatArray
) -> tuple[FloatArray, Rivals]:
    """Return the largest |c_i| at each step until feature j was picked, and the `Rivals` of its pick.

    The scores are c = Xᵀ(w∘(y − μ)), where μ are the fitted means.

    step : the step of j, counted from 1. It is 0 if j was not selected. In this case the last entry of the
        first result is the largest |c_i| after the last step, and the `Rivals` is empty.
    c, error : (d,) the moduli |c_i| before the step of j, or after the last step, and bounds on their errors.
    """
    m = step - 1 if step else len(path)
    rest = np.setdiff1d(np.arange(path.n_features), path.support[: m + bool(step)])
    level = np.append(path.lam_star[:m].astype(np.float64), math.nan)
    if not step:
        level[m] = np.where(c > error, c, 0)[rest].max(initial=0)
    if not step or math.isnan(path.lam_star[m]):
        return level, Rivals()
    level[m] = path.lam_star[m]
    runner_up = int(rest[np.argmax(c[rest])]) if path.margin[m] < 1 and len(rest) else -1
    return level, Rivals("|c|", runner_up, tuple(i for i in path.ties[m] if i != j))


def _as_selection(path: GeneralizedPath) -> SelectionPath:
    """Return a `SelectionPath` with the same picks, whose sentences are also those of this path."""
    names = {field.name for field in dataclasses.fields(SelectionPath)} & set(vars(path))
    shared = {name: getattr(path, name) for name in names}
    own: dict[str, Any] = {"active_sets": ((),) * len(path), "weights": ()}
    return SelectionPath(**shared, **own, residual_norm=np.sqrt(path.deviance))


def _scores(
    problem: Problem, path: GeneralizedPath, X: Any, y: Any, weight: Any
) -> tuple[FloatArray, FloatArray]:
    """Return the scores c = Xᵀ(w∘(y − μ)), (t + 1, d), after 0, …, t features, and bounds e on their errors.

    w are the weights, and μ the means fitted on the selected features S. Raises ValueError if the deviance or
    the coefficients show that the path was computed from other data.

    The error of the predictor η = b + X_Sβ is at most δ = u·(|b| + |X_S||β|), where u = 8·eps(√n + 1) with
    the eps of the dtype of the coefficients. Let V = diag(w∘ℓ'') with the second derivatives ℓ'' of the loss.
    The error of the refit, in the norm of √V, is at most D, where D² is half of `optimality`. Since
    |μ(η + δ) − μ(η)| ≤ ℓ''·(e^|δ| − 1), for |δ| ≤ ½

        e_i = ‖√w∘X_i‖(u·(‖√w∘(y − μ)‖ + ‖√w∘lost‖) + max √ℓ''·(1.3·‖√V∘δ‖ + 2D)),

    where the rounding error of y − μ is eps·(|y − μ| + lost).

    The error of the deviance is at most 2Σ w|y − μ|δ + 1.3·‖√Vδ‖², plus its own rounding, which is at most
    u·(deviance + Σ w(1 + |η|)(y + μ)). On S, c is zero up to e.
    """
    problem = problem.in_double()
    loss = LOSSES[path.loss]
    d, S = path.n_features, path.support
    labels = check_responses(loss, y, problem.n)
    root = np.ones(problem.n) if weight is None else np.sqrt(np.asarray(weight, np.float64))
    columns = Problem(X, labels).columns(S).astype(np.float64)
    unit = problem.rounding() * coarseness(path.coef_path, problem.eps)
    c, errors = np.zeros((len(S) + 1, d)), np.zeros((len(S) + 1, d))
    for s in range(len(S) + 1):
        beta = path.coef_at(s).astype(np.float64)
        b = float(path.intercept_path[s])
        eta = columns[:, :s] @ beta + b
        delta = unit * (np.abs(columns[:, :s]) @ np.abs(beta) + abs(b))
        r = root * loss.residual(eta, labels)
        lost = root * loss.lost(eta)
        half = np.sqrt(loss.variance(eta))
        off = float(np.linalg.norm(root * half * delta))
        rest = math.sqrt(path.optimality[s] / 2)
        c[s] = problem.correlate(r)[:d]
        spread = np.linalg.norm(r) + np.linalg.norm(lost)
        errors[s] = problem.column_norms[:d] * (unit * spread + half.max() * (1.3 * off + 2 * rest))
        deviance = float(root**2 @ loss.deviance(eta, labels))
        mean = labels - loss.residual(eta, labels)
        slack = 2 * float((root * np.abs(r)) @ delta) + 1.3 * off**2
        slack += unit * (deviance + float(root**2 @ ((1 + np.abs(eta)) * (labels + mean))))
        used = S[:s][beta != 0]
        theirs = float(path.deviance[s])
        if not abs(deviance - theirs) <= 2 * slack or (np.abs(c[s, used]) > errors[s, used]).any():
            raise other_data(
                f"after {s} features its deviance is {theirs:.6g}, that of the data is {deviance:.6g}"
            )
    return c, errors


def _gain(path: GeneralizedPath, j: int, X: Any, y: Any, weight: Any) -> tuple[float, str]:
    """Return D²(S ∪ j) − D²(S) and "", or NaN and the reason why there is no model on S ∪ j.

    S are the features of the path, and D² is the share of the deviance that a set of features explains.
    """
    S = [*path.support.tolist(), j]
    options = {"intercept": path.with_intercept, "standardize": path.standardized, "sample_weight": weight}
    more = generalized_omp(X, y, len(S), loss=path.loss, forced=S, **options)
    if len(more) > len(path):
        return max(0.0, more.d2 - path.d2), ""
    if more.status is Status.NO_MINIMUM:
        return math.nan, "adding it would separate the data, and the likelihood would have no maximum"
    return math.nan, "rounding leaves open whether a model with it exists"
