"""The promises for g = R² + ν·f, f a spectral regularizer: FR where f increases, greedy local search
elsewhere.

Source: *Selecting Diverse Features via Spectral Regularization* (2012), Theorems 3, 9 and 15; what is wrong
in print, and the proofs, are in proofs_checks/. Theorem 9 with κ/(2 + κ·α), α = 4 + 4ε/|S₁|, holds with
deletions in local search and γ = min(γ_{S₁,2k}, γ_{S₂,2k}) of R², S₂ on the features outside S₁: κ = 1 −
e^{−γ/2}, or the larger γ/2.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np

from sparselin.guarantees.along_path import Data, explained, scaled
from sparselin.guarantees.promises import Hypotheses, Run, bound, equal_lengths, saturate
from sparselin.guarantees.submodularity import submodularity_ratio
from sparselin.problem import Problem
from sparselin.results import Bound, FloatArray, IndexArray, Interval, SubsetResult
from sparselin.spectral import SpectralVariance
from sparselin.spectral.search import forward_regression, greedy_local_search

_PAPER = "Selecting Diverse Features (2012)"
# Sets whose g is computed one by one.
_FEW_SETS = 5000


def of_regularized(
    problem: Problem, k: int, f: Any, nu: float, eps: float, pair_limit: int, best: Interval
) -> list[Bound]:
    """FR's promise and that of greedy local search for g; `best` is R² of the best subset."""
    data, C = scaled(problem), _gram(problem)
    ahead = forward_regression(problem, k, regularizer=f, nu=nu)
    local = _local(problem, k, f, nu, eps)
    top = _maximum(data, C, k, f, nu, best, [ahead, *([local] if local else [])])
    first = _gamma(problem, ahead.support, k, pair_limit)
    increasing: Hypotheses = (
        ("f increases", getattr(f, "monotone", None)),
        ("f submodular", getattr(f, "submodular", None)),
        ("f(∅) ≥ 0", float(f.value(C, ())) >= 0),
    )
    run = _run("FR on R² + νf", data, nu, ahead, first, top)
    source = f"{_PAPER}, Theorem 15"
    promise = bound("submodularity ratio", run, "1 − exp(−γ_{S,k}(R²))", source, increasing, saturate(first))
    size = max(1, len(ahead.support))
    holds: Hypotheses = (
        ("f submodular", getattr(f, "submodular", None)),
        ("f ≥ 0 on 3k features", _nonnegative(f, problem, k) if local else False),
        ("ε < |S₁|/4", 4 * eps < size),
        ("deletions in local search", True),
    )
    both = _gamma_of_both(problem, ahead.support, k, f, nu, pair_limit)
    return [promise, *_of_local_search(_run("GLS", data, nu, local, both, top), holds, 4 + 4 * eps / size)]


def _local(problem: Problem, k: int, f: Any, nu: float, eps: float) -> SubsetResult | None:
    """Greedy local search; None where f is negative at its start, and it refuses."""
    try:
        return greedy_local_search(problem, k, regularizer=f, nu=nu, eps=eps)
    except ValueError:
        return None


def _gamma_of_both(
    problem: Problem, S1: IndexArray, k: int, f: Any, nu: float, pair_limit: int
) -> FloatArray:
    """min(γ_{S₁,2k}, γ_{S₂,2k}), S₂ being what FR selects outside S₁."""
    gamma = _gamma(problem, S1, 2 * k, pair_limit)
    rest = np.setdiff1d(np.arange(problem.d), S1)
    rest = rest[problem.column_norms[rest] > 0]
    if not len(rest):
        return gamma
    outside = _part(problem, rest)
    S2 = forward_regression(outside, min(k, len(rest)), regularizer=f, nu=nu).support
    return np.minimum(gamma, _gamma(outside, S2, 2 * k, pair_limit))


def _of_local_search(run: Run, holds: Hypotheses, alpha: float) -> list[Bound]:
    """Theorem 9."""
    printed, larger = saturate(run.gamma / 2), run.gamma / 2
    return [
        bound(
            "local search",
            run,
            "κ/(2 + κ·α), κ = 1 − exp(−γ/2)",
            f"{_PAPER}, Theorem 9, corrected",
            holds,
            printed / (2 + printed * alpha),
        ),
        bound(
            "local search, sharper",
            run,
            "κ/(2 + κ·α), κ = γ/2",
            "proofs_checks/test_spectral_theorem_9.py",
            holds,
            larger / (2 + larger * alpha),
        ),
    ]


def _run(
    name: str, data: Data, nu: float, found: SubsetResult | None, gamma: FloatArray, top: Interval
) -> Run:
    """g(S)/max g, at least 0; 1 where the maximum is not positive, and nothing is promised."""
    if found is None:
        refused = Interval(0.0, 1.0, "f is negative, and local search refused")
        return Run(name, np.zeros(0, np.intp), [], gamma, refused)
    r2, error = explained(data, found.support)
    value = r2 + nu * found.diversity
    error += data.problem.rounding() * abs(nu * found.diversity)
    if top.upper <= top.rounding + error:
        return Run(name, found.support, [], gamma, Interval(1.0, 1.0, "max g is not positive"))
    lower = max(0.0, value - error) / top.upper
    upper = 1.0 if top.lower <= 0 else min(1.0, max(0.0, value + error) / top.lower)
    rounding = 4 * (top.rounding + error) / top.upper
    achieved = Interval(min(lower, upper), upper, top.method, rounding=rounding)
    return Run(name, found.support, [], gamma, achieved)


def _gamma(problem: Problem, S: IndexArray, k: int, pair_limit: int) -> FloatArray:
    found = submodularity_ratio(problem, None, S, k, pair_limit=pair_limit)
    return np.array([found.lower, found.upper])


def _maximum(
    data: Data,
    C: FloatArray,
    k: int,
    f: Any,
    nu: float,
    best: Interval,
    found: list[SubsetResult],
) -> Interval:
    """max g over |S| ≤ k: over all sets where they are few, else a bound of R² and one of a submodular f."""
    columns = np.flatnonzero(data.place >= 0)
    unit = data.problem.rounding()
    if sum(math.comb(len(columns), size) for size in range(k + 1)) <= _FEW_SETS:
        lower, upper, rounding = -math.inf, -math.inf, 0.0
        for size in range(k + 1):
            for L in itertools.combinations(columns.tolist(), size):
                r2, error = explained(data, np.array(L, np.intp))
                diversity = nu * float(f.value(C, L))
                off = unit * abs(diversity)
                lower, upper = (
                    max(lower, r2 - error + diversity - off),
                    max(upper, min(1.0, r2 + error) + diversity + off),
                )
                rounding = max(rounding, off)
        return Interval(lower, upper, "all sets", rounding=rounding)
    seen = max(result.value - unit * (1 + abs(result.value)) for result in found)
    empty = float(f.value(C, ()))
    gains = np.sort(np.maximum(0.0, np.asarray(f.gains(C, ()))[columns]))[::-1]
    upper = best.upper + nu * (empty + float(gains[:k].sum()))
    rounding = best.rounding + data.problem.rounding() * abs(upper)
    method = "R² of the best subset and the k largest f of one feature"
    return Interval(seen, max(seen, upper), method, rounding=rounding)


def _nonnegative(f: Any, problem: Problem, k: int) -> bool | None:
    """f ≥ 0 on sets of 3k features, as far as its flag and its constant say."""
    flag = getattr(f, "nonnegative", None)
    if flag is True and getattr(f, "k", None) is not None and f.k < k:
        return None
    if flag is True and isinstance(f, SpectralVariance):
        norms = problem.column_norms[problem.column_norms > 0]
        unit = equal_lengths(problem)[1] and abs(float(norms[0]) - 1) <= problem.rounding()
        return True if unit else None
    return flag


def _gram(problem: Problem) -> FloatArray:
    X = problem.columns(np.arange(problem.d)).astype(np.float64)
    return np.asarray(X.T @ X)


def _part(problem: Problem, J: IndexArray) -> Problem:
    part = Problem(problem.columns(J), problem.y)
    part.kind, part.eps = problem.kind, problem.eps
    return part
