"""A check of `gradient_flow` on one design: a stiff solver at finite α, the LASSO and OMP.

The solver integrates gradient flow on w∘θ from θ = 0, w_i = α. With L = log(1/α), t = τL and s_i(τ) = ∫₀^τ
c_i, where c = Xᵀ(y − Xβ), it is

    ds/dτ = Xᵀ(y − Xh(s)),   h(s) = (α²/2)·sinh(2Ls) = ¼(exp(2L(s − 1)) − exp(−2L(s + 1))),

where h acts on each s_i. The state is s, and the code uses only NumPy and SciPy. Let s_α be the solution, and
s the limit.

*How far s_α is from s.* Let q = ∫₀^τ (y − Xβ), so that s = Xᵀq. Then q_α is the gradient flow of the convex
function −yᵀq + Σ (α²/4L)·cosh(2Ls_i), and q is that of −yᵀq on the set where |s_i| ≤ 1. For e = q_α − q,

    d/dτ ½‖e‖² = −Σ (s_α,i − s_i)(h(s_α,i) − β_i).

A term of this sum is positive only if h(s_α,i) is between 0 and β_i, or if s_α,i is between 0 and s_i. Let
b = |β_i| and x = 2L(|s_α,i| − 1), so that |h(s_α,i)| ≤ ¼eˣ. If b > 0, the term is at most φ(b)/2L, with

    φ(b) = max(1/(4e), max_{x ≥ 0} x(b − ¼eˣ)),   and the inner maximum is ¼eˣx² at (1 + x)eˣ = 4b ≥ 1.

Here 1/(4e) = max_{x ≤ 0} |x|·¼eˣ is for |s_α,i| ≤ 1. If β_i = 0, then only |s_α,i| < |s_i| counts, and the
term is at most exp(2L(|s_i| − 1))/(4e)/2L. Parts of relative size α⁴ are left out. Hence

    ‖s_α − s‖∞ ≤ max‖X_j‖·(1/L ∫₀^τ Σ φ_i)^½,   where φ_i = exp(2L(|s_i| − 1))/(4e) if β_i = 0.      (1)

The right side is computed from the path. On each piece, of length Δ, the first kind of φ_i is constant. The
integral of the second kind, whose exponent is convex in τ, is at most Δ·(its sum at both ends)·min(½,
1/(2L|Δ|s_i||)), where Δ|s_i| is the change of |s_i|. If the path is right, (1) holds. So an s_α outside of
(1) refutes the path.

*The rule.* (1) falls like L^-½, and is .1 to 10 at α = 1e-300. Only L enters the solver, not α. So its last
run takes the L at which (1) is TOLERANCE. This L is at most 1e9, and less if β is large, because rounding s
changes β by 2L·eps·β. The limit *agrees* if ‖s_α − s‖∞ is at most TOLERANCE in the last run, and at most (1)
in the others. Otherwise the solver runs again at a tenth of its tolerance. The limit *violates* the claim if
the new distance is larger than (1) and TOLERANCE, and else it is *undecided*.
"""

import dataclasses
import itertools
import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.integrate import odeint
from scipy.special import lambertw

from sparselin.greedy.omp import omp
from sparselin.lasso.entry import first_entry
from sparselin.lasso.flow import gradient_flow
from sparselin.lasso.path import lasso_path
from sparselin.problem.errors import EPS
from sparselin.results import FloatArray, FlowPath, Status
from sparselin.verification.projected_design import (
    AGREES,
    SEVERITY,
    Agreement,
    CheckResult,
    ProjectedDesign,
    undecided,
    violates,
)

LOGS = tuple(k * math.log(10) for k in (30, 100, 300))  # L at α = 1e-30, 1e-100 and 1e-300
TOLERANCE = 1e-3
HORIZON = 1000.0
TIMES = 200
_LARGEST, _RESOLUTION = 1e9, 4e12  # bounds on L, and on L·max|β|


@dataclasses.dataclass(frozen=True)
class FlowCheck:
    """The result of the checks of the flow of one design.

    Attributes
    ----------
    verdict : the worst verdict of the checks "limit", "average" and "restart".
    reasons : the name and the reason of each check that does not agree.
    events, leaves : the numbers of events, and of events at which a feature leaves the support.
    runs : (L, ‖s_α − s‖∞, the bound (1)) for each run of the solver, with L = log(1/α) increasing.
    averages, lasso : the number of times at which the average was compared with the LASSO, and of those at
        which it is a LASSO solution.
    """

    verdict: Agreement
    reasons: dict[str, str]
    events: int
    leaves: int
    runs: tuple[tuple[float, float, float], ...] = ()
    averages: int = 0
    lasso: int = 0


def verify_flow(
    X: FloatArray, y: FloatArray, *, flow: Callable[..., FlowPath] = gradient_flow, sample: bool = True
) -> FlowCheck:
    """Check the flow of one design (n, d): its limit, its averages, and its restarts.

    - limit: s at 200 times, compared with a stiff solver at finite α (see the docstring of the module). The
      times are in geometric progression from ½/λ* to twice the last event or 1000/λ*, whichever is less, and
      to the last event if the path was cut off.
    - average: the objectives of the LASSO at 1/τ, at the average and at the solution of `lasso_path`, for 8
      of these times. They are equal if the average `is_lasso`, the average has the larger one if not, and
      `excess` bounds the difference.
    - restart: each pick of the restarted flow is that of `omp`. In ties, and after different picks, it is the
      least member of A(S), the features that enter the LASSO first with S unpenalised. The path ends when
      A(S) is empty. A different pick is undecided if its correlation is zero to rounding.

    X and y are first multiplied by powers of two, so that max‖X_j‖ and λ* are between ½ and 1. This changes
    the flow at α to that at another α, and not the limit.

    Parameters
    ----------
    flow : the function to check.
    sample : whether the solver also runs at α = 1e-30 and 1e-100.

    >>> import sparselin as sl
    >>> check = verify_flow(*sl.ensembles.gaussian(20, 12, rng=0))
    >>> check.verdict.value, check.events, [f"{error:.1g}" for _, error, _ in check.runs]
    ('agrees', 12, ['0.02', '0.007', '0.002', '2e-09'])
    """
    X = X / 2.0 ** np.frexp(np.linalg.norm(X, axis=0).max())[1]
    y = y / 2.0 ** np.frexp(np.abs(X.T @ y).max())[1]
    path = flow(X, y)
    lam = float(np.abs(X.T @ y).max())
    leaves = sum(not set(old) <= set(new) for old, new in itertools.pairwise(path.supports))
    complete = path.status is Status.COMPLETED
    if lam <= 8 * EPS * math.sqrt(len(y)) * np.linalg.norm(y) or not (len(path) or complete):
        unclear = undecided(f"{len(path)} events, {path.status.name}; or λ* is zero to rounding")
        found = [("limit", unclear)] if len(path) or not complete else []
        return _combine(found, events=len(path), leaves=leaves)
    end = min(HORIZON / lam, (1 + complete) * float(path.tau.max(initial=0.5 / lam)))
    times = np.geomspace(min(0.5 / lam, 0.5 * end), end, TIMES)
    size = max(1.0, float(np.abs(path.coef_path[: 1 + np.searchsorted(path.tau, end)]).max(initial=0)))
    goal = LOGS[-1] * (error_bound(path, end, LOGS[-1]) / TOLERANCE) ** 2
    decisive = max(LOGS[-1], min(goal, _LARGEST, _RESOLUTION / size))
    tried = [_compare(X, y, path, times, L, decisive) for L in (*LOGS[0 if sample else -1 :], decisive)]
    average, flags = _check_average(X, y, path, times[TIMES // 8 - 1 :: TIMES // 8])
    found = [("restart", _check_restart(X, y, flow)), ("average", average), *(("limit", r) for r, _ in tried)]
    runs = tuple(run for _, run in tried)
    return _combine(found, events=len(path), leaves=leaves, runs=runs, averages=len(flags), lasso=sum(flags))


def _combine(found: list[tuple[str, CheckResult]], **numbers: Any) -> FlowCheck:
    """Return the worst verdict of the checks and their reasons, with the other fields."""
    worst = max((r.verdict for _, r in found), key=SEVERITY.__getitem__, default=AGREES.verdict)
    reasons = {name: r.reason for name, r in reversed(found) if r.reason}
    return FlowCheck(verdict=worst, reasons=reasons, **numbers)


def integrate(X: FloatArray, y: FloatArray, log_alpha: float, times: FloatArray, tol: float) -> FloatArray:
    """Return s_α at the times (q,) as an array (q, d), by LSODA; NaN if it fails.

    log_alpha : L = log(1/α).
    tol : the relative and absolute tolerance of the solver for s.
    """
    G = X.T @ X
    b = X.T @ y
    L = log_alpha

    def part(s: FloatArray, sign: int) -> FloatArray:
        """Return |h(s)| for the sign −1, and its derivative over 2L for the sign 1."""
        growth = np.exp(np.minimum(2 * L * (np.abs(s) - 1), 60))
        return np.asarray(growth * (1 + sign * np.exp(-4 * L * np.abs(s))) / 4)

    with warnings.catch_warnings(action="ignore"):
        s, info = odeint(
            lambda s, _: b - G @ (np.sign(s) * part(s, -1)),
            np.zeros(len(b)),
            np.append(0, times),
            Dfun=lambda s, _: -G * (2 * L * part(s, 1)),
            rtol=tol,
            atol=tol,
            mxstep=100_000,
            full_output=True,
        )
    return np.asarray(s[1:] if info["message"] == "Integration successful." else np.full_like(s[1:], np.nan))


def error_bound(path: FlowPath, end: float, log_alpha: float) -> float:
    """Return the bound (1) on ‖s_α − s‖∞ up to the time `end`, for max‖X_j‖ = 1 and L = log_alpha."""
    edges = np.array([0.0, *path.tau[path.tau < end], end])
    coef = np.abs(path.at(edges[:-1]))
    s = np.minimum(np.abs(path.s_at(edges)), 1)
    x = np.maximum(lambertw(4 * math.e * coef).real - 1, 0)  # (1 + x)eˣ = 4b
    level = np.exp(2 * log_alpha * (s - 1))
    zero = (level[1:] + level[:-1]) / np.maximum(2 * log_alpha * np.abs(np.diff(s, axis=0)), 2) / (4 * math.e)
    phi = np.where(coef > 0, np.maximum(np.exp(x) * x**2 / 4, 1 / (4 * math.e)), zero)
    return math.sqrt(float(np.diff(edges) @ phi.sum(axis=1)) / log_alpha)


def _compare(
    X: FloatArray, y: FloatArray, path: FlowPath, times: FloatArray, log_alpha: float, decisive: float
) -> tuple[CheckResult, tuple[float, float, float]]:
    """Run the solver at L = log_alpha; return the verdict and L, ‖s_α − s‖∞, the bound (1).

    decisive : the L of the last run.
    """
    bound = error_bound(path, float(times[-1]), log_alpha)
    distance = math.nan
    least = TOLERANCE if log_alpha == decisive else bound
    for tol in min(1e-7, 1e-3 / log_alpha) * np.array([1, 0.1]):
        before = distance
        distance = float(np.abs(integrate(X, y, log_alpha, times, tol) - path.s_at(times)).max())
        if distance <= least and math.isnan(before):  # also if the solver failed at the larger tolerance
            return AGREES, (log_alpha, distance, bound)
    reason = f"L = {log_alpha:.3g}: ‖s_α − s‖ is {before:.2g}, then {distance:.2g}; the bound is {bound:.2g}"
    stands = distance > max(least, bound) + path.s_error.max(initial=0)
    return (violates if stands else undecided)(reason), (log_alpha, distance, bound)


def _check_average(
    X: FloatArray, y: FloatArray, path: FlowPath, times: FloatArray
) -> tuple[CheckResult, list[bool]]:
    """Compare the averages with the LASSO; return the verdict, and `is_lasso` at each time.

    D is the objective at the average, minus that of the solution of `lasso_path`. `error` bounds its rounding
    error, from the sizes of the terms. `FlowPath.average` counts differences up to `s_error` as rounding: if
    a is the largest ‖β‖₁ so far, they change β̄_i by s_error·|β_i| and s_i by s_error, and the duality gap by
    at most 3λ·s_error·a, which is `slack`.
    """
    lasso = lasso_path(X, y)
    found = AGREES
    flags = list[bool]()
    for tau in times[times * lasso.knots[-1] <= 1]:
        average = path.average(tau)
        coefs = np.array([average.coef, lasso.at(1 / tau)])
        r = y - coefs @ X.T
        sums = np.abs(coefs).sum(axis=1) / tau
        D = 0.5 * float((r[0] - r[1]) @ (r[0] + r[1])) + sums[0] - sums[1]
        terms = np.linalg.norm(r, axis=1) * np.linalg.norm(np.abs(y) + np.abs(coefs) @ np.abs(X.T), axis=1)
        error = EPS * sum(X.shape) * float((terms + sums).sum())
        largest = np.abs(path.at(np.append(0, path.tau[path.tau <= tau]))).sum(axis=1).max()
        slack = 3 * path.s_error.max(initial=0) * largest / tau
        flags.append(average.is_lasso)
        reason = f"τ = {tau:.6g}: the objectives differ by {D:.3g} ± {error:.1g}; excess {average.excess:.3g}"
        if not -error <= D <= average.excess * (not average.is_lasso) + error + slack:
            return violates(reason), flags
        if not average.is_lasso and error >= D:
            found = undecided(reason)
    return found, flags


def _check_restart(X: FloatArray, y: FloatArray, flow: Callable[..., FlowPath]) -> CheckResult:
    """Compare the picks of the restarted flow with those of OMP, and in ties with A(S)."""
    path = flow(X, y, restart=True)
    greedy = omp(X, y, X.shape[1])
    picks = path.supports[-1] if len(path) else ()
    others = tuple(greedy.support.tolist())
    for t, pick in enumerate(picks):
        entry = first_entry(X, y, forced=picks[:t])
        alike = picks[:t] == others[:t] and t < len(others) and len(greedy.ties[t]) == 1
        right = others[t] if alike else min(map(int, entry.active), default=None)
        if pick != right:
            step = ProjectedDesign(X, y, np.array(picks[:t], np.intp), entry)
            verdict = violates if abs(step.c[pick]) > step.error[pick] else undecided
            return verdict(f"step {t + 1}: the pick is {pick}, not {right}")
    if path.status is Status.BEYOND_PRECISION:
        return undecided(f"the restarted flow is {path.status.name} after {len(picks)} picks")
    more = first_entry(X, y, forced=picks).active
    return AGREES if len(more) == 0 else violates(f"the picks end, but {more} can enter")
