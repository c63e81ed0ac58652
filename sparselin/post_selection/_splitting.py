"""Inference on data that did not select: sample splitting, and randomization of y.

**Two independent parts.** Splitting selects on one half of the rows and infers on the other half.
Randomization selects on y + γω and infers on y − ω/γ, where ω ~ N(0, σ²I) is drawn independently of y. Both
vectors are Gaussian with mean μ, and their covariance is σ²I − γ·γ⁻¹σ²I = 0, so they are independent; the
second one has the variance (1 + γ⁻²)σ² (Rasines and Young, *Splitting strategies for post-selection
inference*, 2023). In both cases the selected model S is fixed when the second part is used. So the laws of
least squares hold without truncation, whatever the selector is.

**Several splits.** For each split b let p_b be the p-value of feature j on the second half, or 1 if the first
half does not select j, and let p = min(1, 2·median of the p_b). Then P(p ≤ α) ≤ α for a feature j that was
named before y was seen, if its coefficient is zero in every model with j that a first half may select.
Proof: p ≤ α implies that at least half of the p_b are at most α/2, and each p_b is so with a probability of
at most α/2. By Markov's inequality P(p ≤ α) ≤ (α/2)/(1/2). ∎ The coefficient is that of the projection of μ
on the model, on the rows of the second half; it is β_j if μ = Xβ and the models contain the support of β.
Over all features the expected number of false rejections at α is at most kα, if a split selects k features:
a split has at most k p-values below 1. So k·p bounds the family-wise error rate (Meinshausen, Meier and
Bühlmann, *p-values for high-dimensional regression*, 2009).
"""

import dataclasses
import math
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from sparselin.greedy.ols import ols
from sparselin.greedy.omp import omp
from sparselin.lasso.path import lasso_path
from sparselin.post_selection._conditional import infer
from sparselin.post_selection._events import Basis
from sparselin.post_selection._noise import Noise, noise_of
from sparselin.post_selection._traces import Trace, check_lam, choose, trace_of
from sparselin.problem import Problem
from sparselin.results import FloatArray, IndexArray, Inference, LassoPath, SelectionPath
from sparselin.validation import Rng, check_count, check_generator, check_real

Path: TypeAlias = SelectionPath | LassoPath
Steps: TypeAlias = int | str | None  # the number of steps of a path, by default all; or "bic" or "ebic"
Lam: TypeAlias = Callable[[IndexArray], float]  # λ for a selection on these rows


def lam_on_rows(lam: Any, X: Any, y: Any, problem: Problem, rows: IndexArray, sample_weight: Any) -> Lam:
    """Return λ as a function of the rows that select.

    A number is the λ of all rows. The sum of squares grows with the rows, or with their weights, so a part of
    them has this share of λ. A function is called with X and y of these rows, and their weights if any.
    """
    if callable(lam):
        if isinstance(X, Problem):
            raise TypeError("lam is a function of X and y, which a Problem does not keep. Pass X and y")
        plain = Problem(X, y)
        weight = None if sample_weight is None else np.asarray(sample_weight, np.float64)

        def choose_lam(part: IndexArray) -> float:
            more = () if weight is None else (weight[part],)
            found = lam(plain.X[part], plain.y[part], *more)
            return check_real(found, "lam(X, y)", lambda value: value >= 0, "nonnegative")

        return choose_lam
    share = np.zeros(problem.n)
    share[rows] = 1.0 if problem.design.ones is None else problem.design.ones[rows] ** 2
    if sample_weight is not None:
        share = np.asarray(sample_weight, np.float64)
    whole = float(check_lam(lam))
    return lambda part: whole * float(share[part].sum() / share.sum())


def _count(path: Path) -> int:
    return len(path) - isinstance(path, LassoPath)


def model_of(problem: Problem, path: Path, k: Steps, lam: float | None) -> list[int]:
    """Return the features of a path of these data after k steps, at λ, or chosen by a criterion."""
    if lam is not None and isinstance(path, LassoPath):  # λ = 0 is possible: nothing is conditional on it
        forced = path.forced.tolist()
        return [*forced, *np.setdiff1d(np.flatnonzero(path.at(lam)), forced).tolist()]
    trace = trace_of(path, _count(path) if isinstance(k, str) else k, lam)
    if isinstance(k, str):
        trace = choose(trace, Basis(problem, np.unique(trace.features)), k, len(problem.weighted_rows()))
    return list(trace.model)


def select(problem: Problem, path: Path, k: Steps, lam: float | None) -> list[int]:
    """Return the features that the method of a path selects on other data, with its forced features.

    The method is OMP, OLS or the LASSO. λ is that of these data, as given. Raises ValueError if the path of
    these data has fewer steps.
    """
    steps = _count(path) if k is None or isinstance(k, str) else k
    again: Path
    if isinstance(path, LassoPath):
        most = max(steps, 1) if lam is None else None
        again = lasso_path(problem, forced=path.forced, max_steps=most, lam_min=lam or 0.0)
    else:
        forced = path.support[np.isnan(path.lam_star)]
        again = (ols if path.fit.by_length else omp)(problem, max(steps, 1), forced=forced)
    if lam is None and (most := _count(again)) < steps:
        raise ValueError(
            f"k must be at most {most} on the data that select ({again.status.name}); got {steps}"
        )
    return model_of(problem, again, k if isinstance(k, str) else steps, lam)


def _infer(problem: Problem, A: list[int], n: int, noise: Noise, level: float, path: Path) -> Inference:
    """Infer the coefficients of a model A that does not depend on y, on n rows with a positive weight."""
    free = n - (problem.d - problem.n_features) - len(A)
    needed = int(noise.unknown)
    if free < needed:
        what = f"{n - free} coefficients{' and σ' * needed}"
        raise ValueError(f"k must be smaller: {n} rows for the inference do not determine {what}")
    trace = Trace(events=[], features=A, n_forced=len(A), model=tuple(A))
    return infer(Basis(problem, np.array(A, np.intp)), trace, n, noise, level, path)


def split(
    problem: Problem,
    path: Path,
    rows: IndexArray,
    k: Steps,
    lam: Lam | None,
    sigma: Any,
    level: float,
    splits: int,
    rng: Rng,
) -> Inference:
    """Select on a random half of the rows, and infer on the other half.

    The result of one split has the features that the first half selects, with their intervals. The result of
    several splits has the features that all rows select, with p-values that combine the splits (see the
    docstring of this module).

    problem, path : the data in float64, and the path of these data.
    rows : the rows with a positive weight.
    lam : λ for a selection on some of the rows, a function of them.
    sigma : as for `inference`. An estimate is that of the half that infers, so the tests stay exact.
    """
    generator = check_generator(rng).spawn(1)[0]
    splits = check_count(splits, "splits", 1)
    half = len(rows) // 2
    if half == 0:
        raise ValueError(f"X must have two rows with a positive weight, or more; got {len(rows)}")
    support = model_of(problem, path, k, None) if lam is None else []
    every = np.full((splits, problem.n_features, 2, 2), [[1.0], [0.0]])  # bounds of p, and of ln p
    for p_values in every:
        order = generator.permutation(rows)
        first, second = np.sort(order[:half]), np.sort(order[half:])
        A = select(problem.of_rows(first), path, k, None if lam is None else lam(first))
        other = problem.of_rows(second)
        noise = noise_of(other, len(second), sigma)
        found = _infer(other, A, len(second), noise, level, path)
        p_values[A] = np.stack([found.bounds, found.log_bounds], axis=1)
    words = f"{found.model}; selected on {half} rows, coefficients of the other {len(rows) - half} rows"
    found = dataclasses.replace(found, method="split", model=words)
    if splits == 1:
        return found
    if lam is not None:
        support = model_of(problem, path, k, lam(rows))
    nothing = np.full((len(support), 2, 2), np.nan)
    return dataclasses.replace(
        found,
        support=np.array(support, np.intp),
        leaves=np.zeros(len(support), bool),
        estimate=nothing[:, 0, 0],
        standard_error=nothing[:, 0, 0],
        truncation=nothing[:, 0],
        bounds=np.minimum(1, 2 * np.median(every[:, support, 0], axis=0)),
        log_bounds=np.minimum(0, math.log(2) + _log_median(every[:, support, 1])),
        step_bounds=nothing[:, 0],
        log_step_bounds=nothing[:, 0],
        spacing_bounds=nothing[:, 0],
        log_spacing_bounds=nothing[:, 0],
        interval_bounds=nothing,
        model=f"{words}; 2 × the median p of {splits} splits",
    )


def _log_median(logs: FloatArray) -> FloatArray:
    """Return ln of the median of p-values over the first axis, given their logarithms."""
    ordered = np.sort(logs, axis=0)
    lower, upper = ordered[(len(logs) - 1) // 2], ordered[len(logs) // 2]
    return np.asarray(np.logaddexp(lower, upper) - math.log(2))


def randomize(
    problem: Problem,
    path: Path,
    rows: IndexArray,
    k: Steps,
    lam: float | None,
    noise: Noise,
    level: float,
    gamma: float,
    rng: Rng,
) -> Inference:
    """Select on y + γω and infer on y − ω/γ, where ω ~ N(0, σ²I) is drawn by `rng`.

    A smaller γ selects features that are closer to those of y, and makes the intervals longer, by the factor
    √(1 + γ⁻²). With weights, ω belongs to the weighted rows. The other parameters are those of `split`.
    """
    gamma = check_real(gamma, "gamma", lambda value: value > 0, "positive")
    omega = np.zeros(problem.n)
    # a child stream, because data that were simulated with the same seed would depend on the noise
    omega[rows] = noise.sigma * check_generator(rng).spawn(1)[0].standard_normal(len(rows))
    A = select(problem.with_response(problem.y + gamma * omega), path, k, lam)
    other = problem.with_response(problem.y - omega / gamma)
    wider = noise._replace(sigma=math.hypot(1, 1 / gamma) * noise.sigma)
    found = _infer(other, A, len(rows), wider, level, path)
    words = f"{noise.words}; selected on y + γω, coefficients of y − ω/γ, γ = {gamma:g}, ω ~ N(0, σ²I)"
    return dataclasses.replace(found, method="randomized", sigma=noise.sigma, model=words)
