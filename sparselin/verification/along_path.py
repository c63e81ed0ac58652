"""The checks of Theorem 3.3 for one design: step by step along the path of Sequential LASSO, and `verify`."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sparselin.lasso.entry import first_entry
from sparselin.linalg.elimination import orthonormal_basis
from sparselin.problem import as_problem, takes_problem
from sparselin.problem.errors import TINY
from sparselin.results import FloatArray, SelectionPath, TheoremCheck
from sparselin.validation import Rng, check_count, check_generator
from sparselin.validation.progress import ProgressLog
from sparselin.verification import checks
from sparselin.verification.checks import Methods
from sparselin.verification.projected_design import (
    AGREES,
    SEVERITY,
    Agreement,
    CheckResult,
    ProjectedDesign,
    violates,
)


@dataclasses.dataclass(frozen=True)
class StepRecord:
    """The result of all checks at one step of Sequential LASSO.

    Attributes
    ----------
    step : the number t = 1, 2, … of the step.
    verdict : the worst verdict of the checks.
    reasons : the name and the reason of each check that does not agree.
    lam_star, lam_error : λ* of `first_entry`, and its relative distance from ‖XᵀP_S^⊥y‖∞, where P_S^⊥y is the
        residual of least squares on S, the features selected before.
    delta : δ. The checks prove that λ* lies between λ*(1 − δ) and λ*(1 + δ).
    gap : the duality gap of the projection, divided by ‖y‖².
    tied, active : |T| and |A(S)|, the numbers of features that tie and that enter the LASSO first.
    window, proof : λ₂/λ* and λ₀/λ*. The window (λ₂, λ*) is the largest interval below λ* on which the same
        features stay active. The proof of the theorem gives a window (λ₀, λ*) that is not longer.
    reach : the least λ/λ* at which Sequential Attention still picks from A(S); NaN if it was not measured.
    audited : whether the interior point method repeated the step.
    """

    step: int
    verdict: Agreement
    reasons: dict[str, str]
    lam_star: float
    lam_error: float
    delta: float
    gap: float
    tied: int
    active: int
    window: float
    proof: float
    reach: float
    audited: bool


def verify_design(
    X: FloatArray,
    y: FloatArray,
    k: int,
    *,
    methods: Methods | None = None,
    seed: Rng = 0,
    audit: bool = False,
    reach: bool = False,
    max_iter: Callable[[int, int], int] = lambda n, m: 100_000,
) -> tuple[SelectionPath, CheckResult, list[StepRecord]]:
    """Check Theorem 3.3 along the path of Sequential LASSO on one design.

    Parameters
    ----------
    methods : the methods to check, by default those of this package.
    seed : seed of the random starts of the solvers.
    audit : whether an interior point method repeats the checks.
    reach : whether to measure `StepRecord.reach`.
    max_iter : the most steps of a descent, as a function (n, m) for m unselected features in n dimensions.

    Returns
    -------
    The path, the comparison of the supports, and the record of each step.
    """
    methods = methods or Methods()
    rng = check_generator(seed)
    space = orthonormal_basis(X)
    path = methods.sequential_lasso(X, y, min(k, X.shape[1]))
    records = []
    progress = ProgressLog("verify", "steps", len(path.support))
    for t in range(1, len(path.support) + 1):
        progress.report(t - 1)
        S = np.array(path.support[: t - 1], np.intp)
        step = ProjectedDesign(X, y, S, methods.first_entry(X, y, forced=S), space)
        free = X.shape[1] - len(S)
        cap = max_iter(min(len(y), free), free)
        records.append(_record(step, int(path.support[t - 1]), methods, rng, cap, audit, reach))
    records.extend(_check_end(X, y, min(k, X.shape[1]), path))
    omp_path = methods.omp(X, y, min(k, X.shape[1]))
    return path, compare_supports(omp_path, path, [record.tied for record in records]), records


def _record(
    step: ProjectedDesign,
    pick: int,
    methods: Methods,
    rng: np.random.Generator,
    max_iter: int,
    audit: bool,
    reach: bool,
) -> StepRecord:
    """Run all checks of one step, at which Sequential LASSO picked `pick`.

    max_iter : the largest number of steps of a descent.
    audit, reach : see `verify_design`.
    """
    entry = step.entry
    if entry.lam_star <= 0:
        findings = {"lam_star": violates(f"first_entry ends ({entry.status.name}) but the path continues")}
        return _summary(step, findings, math.nan, math.nan, False)
    projection, gap = checks.check_projection(step, methods)
    findings = {
        "pick": checks.check_pick(step, methods),
        "entry": checks.check_entry(step),
        "lam_star": checks.check_lam_star(step, methods, rng),
        "active_set": checks.check_active_set(step, methods, rng),
        "attention": checks.check_attention(step, methods, rng, max_iter),
        "projection": projection,
        "audit": checks.audit(step, methods) if audit else AGREES,
    }
    if pick not in entry.active:
        findings["active_set"] = violates(f"Sequential LASSO picked {pick}, not in A(S) = {entry.active}")
    ratio = checks.lowest_ratio(step, methods, rng, max_iter) if reach else math.nan
    return _summary(step, findings, gap, ratio, audit)


def _summary(
    step: ProjectedDesign, findings: dict[str, CheckResult], gap: float, reach: float, audited: bool
) -> StepRecord:
    """Make the record of one step from the results of its checks, `findings`, by name of the check."""
    entry = step.entry
    lam_star = max(entry.lam_star, TINY)
    verdict = max((found.verdict for found in findings.values()), key=SEVERITY.__getitem__)
    reasons = {name: found.reason for name, found in findings.items() if found != AGREES}
    return StepRecord(
        step=len(step.S) + 1,
        verdict=verdict,
        reasons=reasons,
        lam_star=entry.lam_star,
        lam_error=abs(entry.lam_star - step.lam_star) / lam_star,
        delta=step.delta if entry.lam_star > 0 else math.nan,
        gap=gap,
        tied=len(entry.tied),
        active=len(entry.active),
        window=entry.window_lower / lam_star,
        proof=entry.proof_lower / lam_star,
        reach=reach,
        audited=audited,
    )


def _check_end(X: FloatArray, y: FloatArray, k: int, path: SelectionPath) -> list[StepRecord]:
    """Check that no column is correlated with the residual if a path ended before k features.

    Returns a record only if some column is correlated with the residual.
    """
    if len(path.support) >= k:
        return []
    S = np.array(path.support, np.intp)
    step = ProjectedDesign(X, y, S, first_entry(X, y, forced=S))
    if np.all(np.abs(step.c) <= step.error):
        return []
    found = violates(f"the path ended ({path.status.name}) although ‖XᵀP_S^⊥y‖∞ = {step.lam_star:.3g}")
    return [_summary(step, {"end": found}, math.nan, math.nan, False)]


def compare_supports(greedy: SelectionPath, path: SelectionPath, tied: list[int]) -> CheckResult:
    """Check that OMP and Sequential LASSO select the same features up to the first tie.

    tied : the number of tied features at each step of Sequential LASSO.
    """
    for t in range(max(len(greedy.support), len(path.support))):
        if t < len(tied) and tied[t] > 1:
            break
        if t >= min(len(greedy.support), len(path.support)):
            return violates(f"OMP took {len(greedy.support)} features, Sequential LASSO {len(path.support)}")
        if greedy.support[t] != path.support[t]:
            return violates(f"step {t + 1}: OMP {greedy.support[t]}, Sequential LASSO {path.support[t]}")
    return AGREES


@takes_problem
def verify(X: Any, y: ArrayLike | None, k: int, *, audit: bool = False, rng: Rng = 0) -> TheoremCheck:
    """Verify on one design that OMP, Sequential LASSO and linear Sequential Attention make the same picks.

    This is the statement of Theorems 1.1, 1.2 and 3.3 of *Sequential Attention for Feature Selection*. At
    each of k steps, let S be the features that Sequential LASSO selected before, r = P_S^⊥y the residual of
    least squares on S, and c = (P_S^⊥X)ᵀr. Six checks use only plain NumPy and LASSO solvers that share no
    code with the methods:

    - pick: the pick of OMP is in the tied set T = argmax_i |c_i|, and the pick of Sequential LASSO is in A(S)
      ⊆ T, the set of the features that enter the LASSO first;
    - entry: T, the signs, the direction and the window (λ₂, λ*) of `first_entry` agree with their
      definitions;
    - lam_star: β = 0 off S is proved optimal at λ*(1 + δ), and proved not optimal at λ*(1 − δ);
    - active_set: the support of the LASSO off S in the middle of (λ₂, λ*) is A(S);
    - attention: gradient descent on (w, θ) from a random start puts its largest weight on a member of A(S);
    - projection: P_S^⊥y − u = P_S^⊥X_Aβ_A with A = A(S), for the projection u of `project_dual` and the
      solution β.

    In the end, the supports of OMP and of Sequential LASSO must be equal up to the first tie.
    docs/verification.md explains how each check is certified.

    Parameters
    ----------
    X, y : design (n, d) and response (n,), or one `Problem`. All computations are dense and in float64. The
        checks support neither an intercept nor standardization, so centre and scale the columns before.
    k : number of steps, 1 ≤ k ≤ d.
    audit : repeat the checks of λ*, A(S) and the projection at every step by an interior point method
        (Clarabel, from the extra `verify`).
    rng : seed or Generator for the random starts of the solvers.

    Returns
    -------
    TheoremCheck, with a verdict and its reasons, λ*, |T|, |A(S)|, λ₂/λ* and λ₀/λ* for each step.

    Raises
    ------
    TypeError, ValueError : invalid X, y (see `Problem`) or k; a Gram problem, or a problem with an intercept
        or standardized columns.
    ModuleNotFoundError : `audit` is set, but clarabel is not installed.

    >>> import sparselin as sl
    >>> X, y = sl.ensembles.gaussian(20, 30, rng=0)
    >>> check = verify(X, y, 3)
    >>> check
    <TheoremCheck: 3 steps, 3 agree>
    >>> check.agrees, check.window.round(3)
    (True, array([0.393, 0.289, 0.932]))
    """
    problem = as_problem(X, y)
    if not problem.is_plain:
        raise ValueError(
            "the theorem is about the columns as they are: pass X and y centred and scaled, instead of "
            "intercept=True or standardize=True"
        )
    data = problem.exact_columns()
    if data is None:
        raise ValueError("a Gram or compressed problem holds no samples, which the checks need: pass X and y")
    k = check_count(k, "k", 1, problem.d)
    response = problem.double_y
    path, supports, steps = verify_design(data, response, k, seed=rng, audit=bool(audit))
    named = dataclasses.replace(path, fit=problem.design.fit())
    return summary(named, supports, steps, bool(audit))


def summary(
    path: SelectionPath, supports: CheckResult, steps: Sequence[StepRecord], audit: bool
) -> TheoremCheck:
    """Combine the path, the comparison of supports and the records of `verify_design` in one result."""
    words = tuple(str(step.verdict) for step in steps)
    reasons = tuple(tuple(step.reasons.items()) for step in steps)
    head = (path, words, reasons, str(supports.verdict), supports.reason)
    lam_star = np.array([step.lam_star for step in steps])
    n_tied = np.array([step.tied for step in steps], np.intp)
    n_active = np.array([step.active for step in steps], np.intp)
    window, proof = np.array([step.window for step in steps]), np.array([step.proof for step in steps])
    return TheoremCheck(*head, lam_star, n_tied, n_active, window, proof, audit)
