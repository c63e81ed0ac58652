"""The guarantees of forward regression (FR) and greedy local search (GLS) for g = R² + ν·f.

Source: *Selecting Diverse Features via Spectral Regularization* (2012), Theorems 9 and 14 to 16. The proofs,
and errors in the printed proofs, are in proofs_checks/ and docs/proofs/. f is a spectral regularizer and
γ_{S,k} the submodularity ratio of R². S₁ is the set that FR selects, and S₂ the set that FR selects outside
S₁. The factors are:

- 1 − e^{−γ}, γ = γ_{S₁,k}, for FR, and for GLS because S₁ is one of its candidates. This holds if f increases
  (Theorem 15), and for the smoothed differential entropy f_de and the spectral variance f_sv, if their
  additive constant is chosen for at least k features (Theorems 14 and 16, sharpened);
- κ/(2 + κ·α), α = 4 + 4ε/|S₁|, for GLS with deletions in local search (Theorem 9, corrected). Here ε is the
  argument `eps`, κ is 1 − e^{−γ/2} or the larger γ/2, and γ = min(γ_{S₁,2k}, γ_{S₂,2k}).

With forced features F the guarantees are those for the function g_F(S) = g(F ∪ S) and k − |F| features, with
the γ of S ↦ R²(F ∪ S). If g, R² or f is non-negative, increasing or submodular, then S ↦ g(F ∪ S), R²(F ∪ S)
or f(F ∪ S) has the same property. In the hypotheses f(∅) ≥ 0 becomes f(F) ≥ 0, and |S₁| becomes |S₁∖F|. f
must be non-negative on |F| + 3(k − |F|) ≤ 3k features. f_de and f_sv may decrease; the part of their constant
that remains has the same bound as without F, because F counts in the k features.
"""

import contextlib
import itertools
import math
from typing import Any, NamedTuple

import numpy as np

from sparselin.guarantees._along_path import r2_of_set
from sparselin.guarantees.promises import GreedyRun, Hypotheses, saturate
from sparselin.guarantees.submodularity import AGREE, submodularity_ratio
from sparselin.problem import Problem
from sparselin.results import Bound, FloatArray, IndexArray, Interval, SubsetResult
from sparselin.spectral import SmoothedDifferentialEntropy, SpectralVariance
from sparselin.spectral.search import forward_regression, greedy_local_search
from sparselin.subsets.unit_data import UnitData

_PAPER = "Selecting Diverse Features (2012)"
# The largest number of sets over which max g is computed by enumeration.
_FEW_SETS = 5000


class Given(NamedTuple):
    """The problem without its intercept, its projection `reduced` off the forced features, and `forced`."""

    problem: Problem
    reduced: Problem
    forced: list[int]


class _Objective(NamedTuple):
    """The objective g(S) = R²(S) + ν·f(S), where the regularizer f is evaluated on C = XᵀX."""

    data: UnitData
    C: FloatArray
    f: Any
    nu: float
    forced: list[int]

    def value(self, S: list[int]) -> tuple[float, float]:
        """Return g(S), and a bound on its rounding error."""
        r2, error = r2_of_set(self.data, np.array(S, np.intp))
        diversity = float(self.f.value(self.C, S))
        off = self.error(self.C, S) + self.data.problem.rounding() * abs(diversity)
        return r2 + self.nu * diversity, error + self.nu * off

    def error_of_part(self, S: list[int]) -> float:
        """Return a bound on the error of the regularizer f(S) by rounding of C = XᵀX, from C_S alone."""
        return self.error(self.C[np.ix_(S, S)], list(range(len(S))))

    def error(self, C: FloatArray, S: list[int]) -> float:
        """Return a bound on the error of f(S) from rounding of C = XᵀX; zero if f has no `_value_error`."""
        bound = getattr(self.f, "_value_error", None)
        return 0.0 if bound is None else float(bound(C, S, self.data.problem.rounding()))


def of_regularized(
    given: Given, k: int, f: Any, nu: float, eps: float, pair_limit: int, best: Interval
) -> list[Bound]:
    """Run FR and greedy local search for g = R² + ν·f, and return the guarantees of both.

    FR is forward regression, and f a spectral regularizer.

    best : R² of the best subset, as a share of the part of y that the forced features leave unexplained.
    """
    problem, first = given.problem, given.forced
    g = _Objective(UnitData.by_longest(problem), _gram(problem), f, nu, first)
    more = k - len(first)
    ahead = forward_regression(problem, k, regularizer=f, nu=nu, forced=first)
    local: SubsetResult | None = None
    with contextlib.suppress(ValueError):  # local search refuses an f that is negative where it begins
        local = greedy_local_search(problem, k, regularizer=f, nu=nu, eps=eps, forced=first)
    left = (given.reduced.y_norm / problem.y_norm) ** 2 if first and problem.y_norm > 0 else 1.0
    top = _maximum(g, more, 1 - left * (1 - best.upper), best.rounding, [ahead, *([local] if local else [])])
    gamma = _gamma(given.reduced, ahead.support, more, pair_limit)
    theorem, alone = _theorem_for_fr(g, problem, k)
    candidate: Hypotheses = (*alone, ("f ≥ 0 where local search begins", local is not None))
    size = max(1, len(ahead.support) - len(first))
    holds: Hypotheses = (
        ("f submodular", getattr(f, "submodular", None)),
        ("f ≥ 0 on 3k features", _nonnegative(f, problem, k) if local else False),
        ("ε < |S₁|/4", 4 * eps < size),
        ("deletions in local search", True),
    )
    both = _gamma_of_both(given, ahead.support, more, f, nu, pair_limit)
    by_fr, by_gls = _run("FR on R² + νf", g, ahead, gamma, top), _run("GLS", g, local, both, top)
    name = "submodularity ratio"
    factor = saturate(gamma)
    return [
        by_fr.bound(name, "1 − exp(−γ_{S,k}(R²))", theorem, alone, factor),
        *_of_local_search(by_gls, holds, 4 + 4 * eps / size),
        by_gls.bound(name, "1 − exp(−γ_{S₁,k}(R²))", theorem, candidate, factor),
    ]


def _theorem_for_fr(g: _Objective, problem: Problem, k: int) -> tuple[str, Hypotheses]:
    """Return the theorem that guarantees FR the factor 1 − e^{−γ}, γ = γ_{S₁,k}(R²) ≤ 1, and its hypotheses.

    γ_{S₁,k} is the submodularity ratio at the set S₁ that FR (forward regression) selects. For an increasing
    submodular f with f(∅) ≥ 0 the theorem needs no constant. The other two cases are:

    - The smoothed differential entropy f_de with δ < 1 is (3K − |S|)·log₂(1/δ) plus an increasing function
      that is 0 at ∅, where K is the k for which its constant is chosen. For K ≥ k at least 2/3 of the
      constant remains.
    - The spectral variance f_sv decreases from 9K², on k unit columns by at most k(k − 1). It follows that
      R²(S₁) ≥ (1 − e^{−γ})·R²(C*) − ν·k(k − 1), where C* is the best set. For K ≥ k at least 7/9 of the
      constant remains.

    Both fractions, 2/3 and 7/9, are more than 1 − 1/e.
    """
    f = g.f
    enough = ("a constant for k features", (getattr(f, "k", None) or 0) >= k)
    if type(f) is SmoothedDifferentialEntropy and f.delta < 1:
        return f"{_PAPER}, Theorem 14, sharpened", (enough,)
    if type(f) is SpectralVariance:
        return f"{_PAPER}, Theorem 16, sharpened", (enough, ("unit columns", _unit(problem)))
    return f"{_PAPER}, Theorem 15", (
        ("f increases", getattr(f, "monotone", None)),
        ("f submodular", getattr(f, "submodular", None)),
        ("f(F) ≥ 0" if g.forced else "f(∅) ≥ 0", float(f.value(g.C, g.forced)) >= 0),
    )


def _gamma_of_both(given: Given, S1: IndexArray, more: int, f: Any, nu: float, pair_limit: int) -> FloatArray:
    """Return bounds (2,) on min(γ_{S₁,2k}, γ_{S₂,2k}), where γ is the submodularity ratio of R².

    S₁ is the set that FR (forward regression) selects, and S₂ the set that FR selects outside S₁.

    more : the number k in these bounds, the number of features without the forced ones.
    """
    problem, first = given.problem, given.forced
    gamma = _gamma(given.reduced, S1, 2 * more, pair_limit)
    rest = np.setdiff1d(np.flatnonzero(problem.column_norms > 0), [*S1, *first])
    if not len(rest):
        return gamma
    outside = np.append(first, rest).astype(np.intp)
    m = len(first)
    part = problem.of_columns(outside)
    size = m + min(more, len(rest))
    ahead = forward_regression(part, size, regularizer=f, nu=nu, forced=range(m))
    return np.minimum(gamma, _gamma(given.reduced.of_columns(outside), ahead.support, 2 * more, pair_limit))


def _of_local_search(run: GreedyRun, holds: Hypotheses, alpha: float) -> list[Bound]:
    """Return the two guarantees of Theorem 9 for greedy local search: κ = 1 − e^{−γ/2}, and κ = γ/2.

    holds : the hypotheses, and whether each one holds.
    alpha : the α of the factor κ/(2 + κ·α).
    """
    proof = "proofs_checks/test_spectral_theorem_9.py"
    rows = (
        ("local search", "1 − exp(−γ/2)", f"{_PAPER}, Theorem 9, corrected", saturate(run.gamma / 2)),
        ("local search, sharper", "γ/2", proof, run.gamma / 2),
    )
    return [
        run.bound(name, f"κ/(2 + κ·α), κ = {words}", source, holds, kappa / (2 + kappa * alpha))
        for name, words, source, kappa in rows
    ]


def _run(name: str, g: _Objective, found: SubsetResult | None, gamma: FloatArray, top: Interval) -> GreedyRun:
    """Make the `GreedyRun` of a result: its achieved ratio is g(S)/max g, at least 0.

    g = R² + ν·f is the objective, and S the set of the result. The ratio is 1 if max g is not positive, and
    unknown (in [0, 1]) if there is no result.

    top : bounds on max g.
    """
    if found is None:
        unknown = Interval(0.0, 1.0, "no local search, because f is negative at its start")
        return GreedyRun(name, np.zeros(0, np.intp), [], gamma, unknown)
    value, error = g.value(found.support.tolist())
    if top.upper <= 0:
        return GreedyRun(name, found.support, [], gamma, Interval(1.0, 1.0, "max g is not positive"))
    lower = max(0.0, value - error) / top.upper
    upper = 1.0 if top.lower <= 0 else min(1.0, max(0.0, value + error) / top.lower)
    lower = min(lower, upper)
    achieved = Interval(lower, upper, top.method, rounding=min(upper - lower, AGREE * upper))
    return GreedyRun(name, found.support, [], gamma, achieved)


def _gamma(problem: Problem, S: IndexArray, k: int, pair_limit: int) -> FloatArray:
    """Return certified bounds (2,) on the submodularity ratio γ_{S,k} of R²."""
    found = submodularity_ratio(problem, None, S, k, pair_limit=pair_limit)
    return np.array([found.lower, found.upper])


def _maximum(g: _Objective, more: int, r2_most: float, rounding: float, runs: list[SubsetResult]) -> Interval:
    """Return bounds on max g over the sets of the forced features and at most `more` other features.

    g = R² + ν·f with a regularizer f. If there are few sets, all are enumerated. Otherwise the lower bound is
    the largest g of the results `runs`. The upper bound is then the sum of `r2_most`, a bound on R², and ν
    times a bound on a submodular f.
    """
    first = g.forced
    columns = np.setdiff1d(np.flatnonzero(g.data.place >= 0), first).tolist()
    if sum(math.comb(len(columns), size) for size in range(more + 1)) <= _FEW_SETS:
        sets = (L for size in range(more + 1) for L in itertools.combinations(columns, size))
        values, errors = np.array([g.value([*first, *L]) for L in sets]).T
        ends = float((values - errors).max()), float((values + errors).max())
        return Interval(*ends, "all sets", rounding=float(errors[np.argmax(values)]))
    seen = max(value - error for value, error in (g.value(result.support.tolist()) for result in runs))
    gains = np.asarray(g.f.gains(g.C, first))[columns] + [g.error_of_part([*first, j]) for j in columns]
    largest = np.sort(np.maximum(gains, 0))[-more:].sum()
    upper = r2_most + g.nu * (float(g.f.value(g.C, first)) + float(largest))
    rounding += g.data.problem.rounding() * abs(upper)
    method = "R² of the best subset and the k largest f of one feature"
    return Interval(seen, max(seen, upper + rounding), method, rounding=rounding)


def _nonnegative(f: Any, problem: Problem, k: int) -> bool | None:
    """Return whether f ≥ 0 on sets of 3k features; None if `f.nonnegative` and `f.k` do not decide it."""
    flag = getattr(f, "nonnegative", None)
    if flag is True and getattr(f, "k", None) is not None and f.k < k:
        return None
    if flag is True and isinstance(f, SpectralVariance):
        return True if _unit(problem) else None
    return flag


def _unit(problem: Problem) -> bool:
    """Return whether all nonzero columns have length 1, up to rounding."""
    norms = problem.column_norms[problem.column_norms > 0].astype(np.float64)
    return bool((abs(norms - 1) <= problem.rounding()).all())


def _gram(problem: Problem) -> FloatArray:
    X = problem.columns(np.arange(problem.d)).astype(np.float64)
    return np.asarray(X.T @ X)
