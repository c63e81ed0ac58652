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
from typing import TypeAlias

import numpy as np

from sparselin.greedy.ols import ols
from sparselin.greedy.omp import omp
from sparselin.guarantees._conditional import infer
from sparselin.guarantees._selection_events import Basis
from sparselin.guarantees._traces import Trace, choose, trace_of
from sparselin.lasso.path import lasso_path
from sparselin.problem import Problem
from sparselin.results import Inference, LassoPath, SelectionPath
from sparselin.validation import Rng, check_count, check_real

Path: TypeAlias = SelectionPath | LassoPath
Steps: TypeAlias = int | str | None  # the number of steps of a path, by default all; or "bic" or "ebic"


def _count(path: Path) -> int:
    return len(path) - isinstance(path, LassoPath)


def model_of(problem: Problem, path: Path, k: Steps, lam: float | None) -> list[int]:
    """Return the features of a path of these data after k steps, at λ, or chosen by a criterion."""
    trace = trace_of(path, _count(path) if isinstance(k, str) else k, lam)
    if isinstance(k, str):
        trace = choose(trace, Basis(problem, np.unique(trace.features)), k, len(problem.weighted_rows()))
    return list(trace.model)


def select(problem: Problem, path: Path, k: Steps, lam: float | None) -> list[int]:
    """Return the features that the method of a path selects on other data, with its forced features.

    The method is OMP, OLS or the LASSO. λ is used as given, also on a half of the rows. Raises ValueError if
    the path of these data has fewer steps.
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
        raise ValueError(f"k must be at most {most} on data that select ({again.status.name}); got {steps}")
    return model_of(problem, again, k if isinstance(k, str) else steps, lam)


def _infer(
    problem: Problem, A: list[int], n: int, sigma: float, level: float, path: Path, words: str
) -> Inference:
    """Infer the coefficients of a model A that does not depend on y, on n rows with a positive weight."""
    free, needed = n - (problem.d - problem.n_features) - len(A), int(math.isnan(sigma))
    if free < needed:
        what = f"{n - free} coefficients{' and σ' * needed}"
        raise ValueError(f"k must be smaller: {n} rows for the inference do not determine {what}")
    trace = Trace([], A, len(A), tuple(A))
    return infer(Basis(problem, np.array(A, np.intp)), trace, n, sigma, level, words, path)


def split(
    problem: Problem, path: Path, k: Steps, lam: float | None, sigma: float, words: str, level: float,
    splits: int, rng: Rng,
) -> Inference:  # fmt: skip
    """Select on a random half of the rows, and infer on the other half.

    The result of one split has the features that the first half selects, with their intervals. The result of
    several splits has the features that all rows select, with p-values that combine the splits (see the
    docstring of this module).

    problem, path : the data in float64, and the path of these data.
    sigma : σ, or NaN if it is unknown.
    words : the assumptions about the noise.
    """
    rows, generator = problem.weighted_rows(), np.random.default_rng(rng).spawn(1)[0]
    splits, half = check_count(splits, "splits", 1), len(rows) // 2
    if half == 0:
        raise ValueError(f"X must have two rows with a positive weight, or more; got {len(rows)}")
    words += f"; selected on {half} rows, coefficients of the other {len(rows) - half} rows"
    support = model_of(problem, path, k, lam)
    every = np.ones((splits, problem.n_features, 2))
    for p_values in every:
        order = generator.permutation(rows)
        A = select(problem.of_rows(np.sort(order[:half])), path, k, lam)
        other = problem.of_rows(np.sort(order[half:]))
        found = _infer(other, A, len(rows) - half, sigma, level, path, words)
        p_values[A] = found.bounds
    found = dataclasses.replace(found, method="split")
    if splits == 1:
        return found
    nothing, bounds = np.full((len(support), 2, 2), np.nan), np.minimum(1, 2 * np.median(every, axis=0))
    return dataclasses.replace(
        found, support=np.array(support, np.intp), leaves=np.zeros(len(support), bool),
        estimate=nothing[:, 0, 0], standard_error=nothing[:, 0, 0], truncation=nothing[:, 0],
        bounds=bounds[support], step_bounds=nothing[:, 0], spacing_bounds=nothing[:, 0],
        interval_bounds=nothing, model=f"{words}; 2 × the median p of {splits} splits",
    )  # fmt: skip


def randomize(
    problem: Problem, path: Path, k: Steps, lam: float | None, sigma: float, words: str, level: float,
    gamma: float, rng: Rng,
) -> Inference:  # fmt: skip
    """Select on y + γω and infer on y − ω/γ, where ω ~ N(0, σ²I) is drawn by `rng`.

    A smaller γ selects features that are closer to those of y, and makes the intervals longer, by the factor
    √(1 + γ⁻²). With weights, ω belongs to the weighted rows. The other parameters are those of `split`.
    """
    gamma = check_real(gamma, "gamma", lambda value: value > 0, "positive")
    if math.isnan(sigma):
        raise ValueError("sigma must be a number, 'full' or 'response': noise of this size is added to y")
    rows, noise = problem.weighted_rows(), np.zeros(problem.n)
    # a child stream, because data that were simulated with the same seed would depend on the noise
    noise[rows] = sigma * np.random.default_rng(rng).spawn(1)[0].standard_normal(len(rows))
    A = select(problem.with_response(problem.y + gamma * noise), path, k, lam)
    other, spread = problem.with_response(problem.y - noise / gamma), math.hypot(1, 1 / gamma) * sigma
    words += f"; selected on y + γω, coefficients of y − ω/γ, γ = {gamma:g}, ω ~ N(0, σ²I)"
    found = _infer(other, A, len(rows), spread, level, path, words)
    return dataclasses.replace(found, method="randomized", sigma=sigma)
