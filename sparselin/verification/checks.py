"""Checks (a) to (e) of one step of the equivalence, independent of the methods.

Each check tests the result of a method at a given S, the features selected before. It uses plain NumPy on X,
y and S, duality gaps that are computed here, and LASSO solvers that share no code with the methods. A check
has three outcomes: it *agrees*, it *violates*, or it is *undecided* because no certificate (a proof by
numbers) was found. Undecided never counts as agreement.
"""

import dataclasses
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from sparselin.attention.descent import hadamard_descent
from sparselin.greedy.omp import omp
from sparselin.lasso.entry import first_entry
from sparselin.lasso.gap import proved_zero
from sparselin.lasso.projection import project_dual
from sparselin.lasso.sequential import sequential_lasso
from sparselin.linalg.elimination import orthonormal_basis
from sparselin.problem.errors import EPS
from sparselin.results import DescentResult, FloatArray
from sparselin.verification.independent import Solver, columns_independent, interior_point, solve_lasso
from sparselin.verification.projected_design import (
    AGREES,
    SEVERITY,
    Agreement,
    CheckResult,
    ProjectedDesign,
    undecided,
    violates,
)


@dataclasses.dataclass(frozen=True)
class Methods:
    """The methods under test; tests replace them by defective ones."""

    omp: Callable[..., Any] = omp
    sequential_lasso: Callable[..., Any] = sequential_lasso
    first_entry: Callable[..., Any] = first_entry
    hadamard_descent: Callable[..., Any] = hadamard_descent
    project_dual: Callable[..., Any] = project_dual
    solve: Solver = solve_lasso


def check_pick(step: ProjectedDesign, methods: Methods) -> CheckResult:
    """Check (a): the pick of OMP after S is in T = argmax_i |⟨X_i, P_S^⊥y⟩|.

    P_S^⊥y is the residual of least squares on S.
    """
    path = methods.omp(step.X, step.y, len(step.S) + 1, forced=step.S)
    if len(path.support) != len(step.S) + 1:
        return violates(f"OMP stopped ({path.status.name}) although λ* = {step.lam_star:.3g}")
    pick = int(path.support[-1])
    if pick not in step.tied:
        return violates(f"OMP picked {pick}, |c| = {abs(step.c[pick]):.17g} < λ* = {step.lam_star:.17g}")
    return AGREES


def check_entry(step: ProjectedDesign) -> CheckResult:
    """Check T, signs, v, λ₂ and λ₀ of `first_entry` against their definitions, in NumPy.

    T are the tied features. Let P_S^⊥ project off the columns S, z_i = signs_i·P_S^⊥X_i for i ∈ T, Z the
    matrix of the z_i, and u = Zv. Then v ≥ 0 must be positive exactly on A(S) ⊆ T, and ⟨z_i, u⟩ ≥ 1 with
    equality where v_i > 0. At λ* − ε, v gives a solution with β_i = ε·signs_i·v_i for i ∈ T. This β must
    satisfy the KKT conditions at ε = 99.9 % of ε₂ = λ* − λ₂, and violate the conditions at 102 % of ε₂.
    """
    entry = step.entry
    T = np.array(entry.tied, np.intp)
    v = np.asarray(entry.direction, np.float64)
    surely, perhaps = set(step.tied_within(0.25).tolist()), set(step.tied.tolist())
    if not surely <= set(entry.tied) <= perhaps or not np.array_equal(entry.signs, np.sign(step.c[T])):
        return violates(f"T = {entry.tied} with signs {entry.signs}, but |c| is largest on {sorted(perhaps)}")
    if not entry.active or T[v > 0].tolist() != list(entry.active) or v.min() < 0:
        return violates(f"v = {v} on T = {entry.tied} is not positive exactly on A(S) = {entry.active}")
    Z = step.Z[:, T] * entry.signs
    u = Z @ v
    rate = Z.T @ u
    slack = 1e3 * step.rounding * step.norms[T] * max(1.0, float(np.linalg.norm(u)))
    if np.any(rate < 1 - slack) or np.any(np.abs(rate - 1)[v > 0] > slack[v > 0]):
        return violates(f"v does not solve min ½vᵀHv − 1ᵀv over v ≥ 0: Hv = {rate}")
    proof = _proof_lower(step)
    slack = 1e-9 * entry.lam_star + 4 * step.error[T[0]]
    if abs(entry.proof_lower - proof) > slack or proof < entry.window_lower - slack:
        words = f"λ₀ = {entry.proof_lower:.17g}, but the proof gives {proof:.17g}"
        return violates(f"{words}; λ₂ = {entry.window_lower:.17g}")
    if set(entry.tied) != perhaps:
        return undecided(f"rounding cannot tell whether {sorted(perhaps - set(entry.tied))} are tied")
    return _check_window(step, u)


def _check_window(step: ProjectedDesign, u: FloatArray) -> CheckResult:
    """Check that |⟨X_j, r − εu⟩| ≤ λ* − ε holds for all j up to ε = λ* − λ₂, and fails just beyond.

    (λ₂, λ*) is the window of `first_entry`, r the residual, and u the rate of change of the fit, as in
    `check_entry`.
    """
    width = step.entry.lam_star - step.entry.window_lower
    outside, error = _excess(step, u, 0.999 * width)
    if np.any(outside > error):
        return violates("the solution changes inside the window")
    if step.entry.window_lower == 0:
        return AGREES
    for share in (1.001, 1.02):
        outside, error = _excess(step, u, min(share * width, step.entry.lam_star))
        if np.any(outside > error):
            return AGREES
    outside[list(step.entry.active)] = -np.inf  # active features are at the bound by construction
    if np.all(outside < -error):
        return violates("the solution goes on below the window")
    return undecided("rounding leaves the event that ends the window undecided")


def _excess(step: ProjectedDesign, u: FloatArray, eps: float) -> tuple[FloatArray, FloatArray]:
    """Return the excess |⟨X_j, r − εu⟩| − (λ* − ε) of each column j at ε = eps, and its rounding error.

    λ* is the largest correlation, r the residual, and u the rate of change of the fit.
    """
    excess = np.abs(step.Z.T @ (step.r - eps * u)) - (step.entry.lam_star - eps)
    # multiply ‖X_j‖‖u‖ first: it has no unit, whereas ε‖X_j‖ may overflow
    return excess, step.error + 2 * step.rounding * eps * (step.norms * float(np.linalg.norm(u)))


def _proof_lower(step: ProjectedDesign) -> float:
    """Compute λ₀ = (1 − ε₀)λ*, which `first_entry` defines, from the λ*, r and T that are computed here."""
    lam_star = step.lam_star
    speed = lam_star + step.norms * float(np.linalg.norm(step.r))
    epsilon = (lam_star - np.abs(step.c)) / speed
    epsilon[step.tied] = 2 * lam_star / speed[step.tied]
    epsilon[step.S] = 1
    return lam_star * (1 - min(1.0, float(epsilon.min())))


def check_lam_star(step: ProjectedDesign, methods: Methods, rng: np.random.Generator) -> CheckResult:
    """Check (b), λ*(S), by solving the LASSO: β = 0 off S is optimal at λ*(1 + δ), but not at λ*(1 − δ)."""
    lam_star = step.entry.lam_star
    delta = step.delta
    if abs(lam_star - step.lam_star) > step.error[np.argmax(np.abs(step.c))]:
        return violates(f"λ* = {lam_star:.17g} but ‖XᵀP_S^⊥y‖∞ = {step.lam_star:.17g}")
    target = 0.05 * (delta * lam_star / float(step.lengths.max())) ** 2
    return bracket(step, delta, lambda lam: methods.solve(*step.compressed, lam, step.start(rng), target))


def bracket(step: ProjectedDesign, delta: float, solve: Callable[[float], FloatArray | None]) -> CheckResult:
    """Prove that β = 0 off S is optimal at λ*(1 + δ), and find a better β at λ*(1 − δ).

    solve : returns a solution b of the LASSO with S projected out, for a given λ, or None if it fails.

    λ* is the largest correlation, and δ = delta. At λ*(1 + δ) the gap-safe test must prove β_j = 0 for every
    column. At λ*(1 − δ) the objective at b must be smaller than at zero, by more than the rounding error
    Σe_j|b_j|, where e_j bounds the error of the correlation of column j.
    """
    if delta > 0.5:
        return undecided(f"rounding allows to bracket λ* only to a relative {delta:.1e}")
    for side, lam in ((+1, step.entry.lam_star * (1 + delta)), (-1, step.entry.lam_star * (1 - delta))):
        b = solve(lam)
        if b is None:
            return undecided(f"the solver failed at λ*(1 {side * delta:+.1e})")
        better = step.gain(b, lam) > 2 * float(step.error @ np.abs(b))
        zero = proved_zero(step.lengths, step.gap(b, lam), lam).all()
        if better and zero:
            return violates(
                f"at λ*(1 {side * delta:+.1e}) zero is proved optimal and beaten, so a certificate is wrong"
            )
        if (side > 0 and better) or (side < 0 and zero):
            return violates(f"at λ*(1 {side * delta:+.1e}) β is {'nonzero' if better else 'zero'} off S")
        if not (zero if side > 0 else better):
            return undecided(f"no certificate at λ*(1 {side * delta:+.1e})")
    return AGREES


def check_active_set(step: ProjectedDesign, methods: Methods, rng: np.random.Generator) -> CheckResult:
    """Check (c), A(S), by solving the LASSO on all d columns at λ in the middle of the window.

    A(S) are the features that enter the LASSO first.
    """
    b = step.start(rng)
    finding = AGREES
    scale = ((step.entry.lam_star - step.lam) / float(step.lengths.max())) ** 2
    for accuracy in (1e-6, 1e-12):
        b = methods.solve(*step.compressed, step.lam, b, accuracy * scale)
        finding = support_finding(step, b)
        if finding.verdict is not Agreement.UNDECIDED:
            return finding
    return finding


def support_finding(step: ProjectedDesign, b: FloatArray) -> CheckResult:
    """Compare A(S) with the support of the LASSO's solution b*, of which b is an approximation.

    The gap-safe test proves that b* is zero in some columns; let J be the other columns. Let Z be the columns
    projected off S, and gap the duality gap of b. If Z_J has independent columns, b* is unique, and
    ½‖Z_J(b − b*)‖² ≤ gap gives ‖b − b*‖ ≤ √(2·gap)/σ_min(Z_J), where σ_min is the least singular value. A
    coordinate of b larger than this radius is proved nonzero, and the other coordinates in J count as zero.
    The radius must be at most 1e-3 of the largest coordinate. If Z_J has dependent columns, solutions are not
    unique. Then A(S) contains every index that is nonzero in some solution, so the support of b must be a
    subset of A(S).
    """
    zero = proved_zero(step.lengths, step.gap(b, step.lam), step.lam)
    A = list(step.entry.active)
    J = np.flatnonzero(~zero)
    if zero[A].any():
        return violates(f"{[j for j in A if zero[j]]} of A(S) are proved zero in the window")
    b = np.where(zero, 0, b)
    largest = float(np.abs(b).max())
    independent, sigma = columns_independent(step.Z[:, J])
    radius = math.sqrt(2 * step.gap(b, step.lam).gap) / sigma if independent else 1e-6 * largest
    nonzero = np.flatnonzero(np.abs(b) > radius)
    beyond = sorted(set(nonzero.tolist()) - set(A))
    if beyond and independent:
        return violates(f"{beyond} are nonzero in the window but not in A(S) = {step.entry.active}")
    if beyond:
        return undecided(f"the solution is not unique, and {beyond} may be zero in all of them")
    missing, unknown = ([], []) if independent else missing_from_active(step)
    if missing:
        return violates(f"{missing} are positive in some solution but not in A(S) = {step.entry.active}")
    if unknown:
        return undecided(f"a linear program left open whether {unknown} are positive in some solution")
    if not radius <= 1e-3 * largest or (independent and not set(A) <= set(nonzero.tolist())):
        return undecided(f"coefficients are known only to {radius:.1e}; the largest is {largest:.1e}")
    unproved = sorted(set(J.tolist()) - set(step.tied.tolist()))
    return undecided(f"columns {unproved} outside T are not proved zero") if unproved else AGREES


def missing_from_active(step: ProjectedDesign) -> tuple[list[int], list[int]]:
    """Return the features i ∈ T∖A(S) that are positive in some solution, and those for which this is unknown.

    There should be none of either. T are the tied features. For each i a linear program computes
    max v_i‖z_i‖/‖u‖ over v ≥ 0 with Zv = u, as in `check_entry`. These numbers do not depend on the lengths
    of the columns.
    """
    from scipy.optimize import linprog

    T = np.array(step.entry.tied, np.intp)
    v = np.asarray(step.entry.direction, np.float64)
    Z = step.Z[:, T] * step.entry.signs
    u = Z @ v
    tight = np.flatnonzero((v == 0) & (np.abs(Z.T @ u - 1) < 1e-9))
    basis = orthonormal_basis(Z)
    lengths = np.linalg.norm(Z, axis=0)
    Z = basis.T @ (Z / lengths)
    goal = basis.T @ u / np.linalg.norm(u)
    # x_j = v_j‖z_j‖/‖u‖ has Σx_j/‖z_j‖ ≤ Σv_jz_jᵀu/‖u‖ = ‖u‖, because z_jᵀu ≥ 1
    weights = lengths * np.linalg.norm(u)
    signs = [
        _sign_of_largest(linprog(-row, A_eq=Z, b_eq=goal), Z, goal, row, weights)
        for row in np.eye(len(T))[tight]
    ]
    missing = [int(T[i]) for i, sign in zip(tight, signs, strict=True) if sign == 1]
    return missing, [int(T[i]) for i, sign in zip(tight, signs, strict=True) if sign is None]


def _sign_of_largest(
    lp: Any, Z: FloatArray, goal: FloatArray, row: FloatArray, weights: FloatArray
) -> int | None:
    """Return 1 if max rowᵀx over x ≥ 0 with Zx = goal is above 1e-5, 0 if it is not, None if that is unknown.

    The answer of the solver is only a proposal. An x is accepted if it satisfies the constraints to 1e-7, the
    tolerance of the solver. For every y and every such x, rowᵀx ≤ −goalᵀy + Σ max(0, Zᵀy + row)_jx_j, and
    Σ x_j/weights_j ≤ 1. So the y of the dual program proves an upper bound, whatever made it.
    """
    if lp.status != 0:
        return None
    x = np.maximum(lp.x, 0)
    y = lp.eqlin.marginals
    if row @ x > 1e-5 and np.linalg.norm(Z @ x - goal) <= 1e-7:
        return 1
    return 0 if -goal @ y + max(0.0, float((weights * (Z.T @ y + row)).max())) <= 1e-5 else None


def check_attention(
    step: ProjectedDesign, methods: Methods, rng: np.random.Generator, max_iter: int
) -> CheckResult:
    """Check (d): linear Sequential Attention puts its largest weight on a feature that enters first.

    The penalty λ is in the middle of the window of `first_entry`.
    """
    result = descend(step, methods, rng, max_iter, step.lam)
    if not has_converged(step, result, step.lam):
        return undecided(f"the descent has no certificate after {len(result.objective) - 1} iterations")
    pick = largest_weight(step, result)
    if pick in step.entry.active:
        return AGREES
    w, theta = np.array(result.w), np.array(result.theta)
    w[step.S] = theta[step.S] = 0
    if proved_zero(step.lengths, step.gap(w * theta, step.lam), step.lam)[pick]:
        return violates(f"the largest weight is on {pick}, not in A(S) = {step.entry.active}")
    return undecided(f"the largest weight is on {pick}, which the certificate cannot tell from A(S)")


def descend(
    step: ProjectedDesign, methods: Methods, rng: np.random.Generator, max_iter: int, lam: float
) -> DescentResult:
    """Run linear Sequential Attention at λ = lam: gradient descent on (w, θ) from a random start."""
    result: DescentResult = methods.hadamard_descent(
        step.X, step.y, lam, forced=step.S, rng=rng, max_iter=max_iter
    )
    return result


def largest_weight(step: ProjectedDesign, result: DescentResult) -> int:
    """Return the feature with the largest weight |w_i| among the features that are not selected."""
    w = np.abs(result.w)
    w[step.S] = -1
    return int(np.argmax(w))


def has_converged(step: ProjectedDesign, result: DescentResult, lam: float) -> bool:
    """Return whether a descent at λ = lam converged, judged from its w and θ alone.

    The condition is gap + (λ/2)Σ(|w_j| − |θ_j|)² ≤ 0.01·(½‖P_S^⊥y‖² − objective), where gap is the duality
    gap of the LASSO at w∘θ, and P_S^⊥y the residual of least squares on S. The second term is the penalty on
    (w, θ) minus λ‖w∘θ‖₁, so the left side bounds the difference between the objective and its infimum.
    """
    w, theta = np.array(result.w), np.array(result.theta)
    w[step.S] = theta[step.S] = 0
    b = w * theta
    excess = 0.5 * lam * float(np.sum((np.abs(w) - np.abs(theta)) ** 2))
    return step.gap(b, lam).gap + excess <= 0.01 * (step.gain(b, lam) - excess)


def check_projection(step: ProjectedDesign, methods: Methods) -> tuple[CheckResult, float]:
    """Check (e): P_S^⊥y − u = P_S^⊥X_Aβ_A, A = A(S), for the projection u onto the dual polytope.

    P_S^⊥ projects off the columns S, and β is the solution of the LASSO. Returns the result, and the duality
    gap divided by ‖y‖².
    """
    lam, S = step.lam, step.S
    A = np.array(step.entry.active, np.intp)
    projection = methods.project_dual(step.X, step.y, lam, forced=S)
    u = projection.u
    coef = np.array(projection.coef)
    y_norm = float(np.linalg.norm(step.y))
    kappa = float(np.linalg.cond(_normalize(step.X[:, [*S, *A]]))) if len(A) + len(S) <= len(u) else 1.0
    # if A(S) is dependent, κ is infinite, but the projection depends only on the span
    tol = max(1e-12, 100 * EPS * min(kappa, 1e10)) * y_norm
    slack = tol * float(step.lengths.max())  # of correlations
    coef[S] = 0
    outside = sorted(set(np.flatnonzero(coef).tolist()) - set(A.tolist()))
    gap = step.gap(coef, lam).gap
    faults = {
        f"its support leaves A(S) by {outside}": bool(outside),
        "a coefficient has the wrong sign": bool(np.any(coef * step.c < 0)),
        "u is not orthogonal to X_S": float(np.abs(_normalize(step.X[:, S]).T @ u).max(initial=0)) > tol,
        "u is outside the polytope": float(np.abs(step.Z.T @ u).max()) > lam + slack,
        "P_S^⊥y − u is not P_S^⊥X_Aβ_A": float(np.linalg.norm(step.r - u - step.Z @ coef)) > tol,
        "the duality gap is too large": gap > slack * max(float(np.abs(coef).sum()), slack / lam),
    }
    for fault, found in faults.items():
        if found:
            return violates(f"projection: {fault}"), gap / y_norm**2
    return AGREES, gap / y_norm**2


def _normalize(columns: FloatArray) -> FloatArray:
    """Return the columns divided by their norms; zero columns stay zero."""
    norms = np.sqrt(np.sum(columns**2, axis=0))
    return np.asarray(columns / np.where(norms > 0, norms, 1))


def audit(step: ProjectedDesign, methods: Methods) -> CheckResult:
    """Repeat checks (b), (c) and (e) by an interior point method.

    Check (b), the check of λ*, uses δ = 1e-3.
    """
    finding = bracket(step, max(1e-3, step.delta), lambda lam: interior_point(*step.compressed, lam))
    if finding.verdict is Agreement.VIOLATES:
        return finding
    b = interior_point(*step.compressed, step.lam)
    if b is None:
        return undecided("the interior point method gave up in the window")
    others = (finding, _audit_window(step, b), _audit_projection(step, methods, step.r - step.Z @ b))
    return max(others, key=lambda found: SEVERITY[found.verdict])


def _audit_window(step: ProjectedDesign, b: FloatArray) -> CheckResult:
    """Check that b, a solution of the LASSO in the middle of the window, proves β_j = 0 for no j ∈ A(S)."""
    zero = proved_zero(step.lengths, step.gap(b, step.lam), step.lam)
    if zero[list(step.entry.active)].any():
        return violates("the interior point method proves a member of A(S) zero in the window")
    return AGREES


def _audit_projection(step: ProjectedDesign, methods: Methods, other: FloatArray) -> CheckResult:
    """Check that no feasible point is nearer to the residual r than the projection u.

    `other` is the projection that the interior point method found. It is scaled until it is feasible. If u is
    the projection, then ½‖r − other‖² − ½‖r − u‖² ≥ ½‖other − u‖².
    """
    u = methods.project_dual(step.X, step.y, step.lam, forced=step.S).u
    other = other * min(1.0, step.lam / float(np.abs(step.Z.T @ other).max()))
    # ½‖r − o‖² − ½‖r − u‖² = ⟨u − o, r − u⟩ + ½‖u − o‖²
    excess = float((u - other) @ (step.r - u))
    slack = float((step.error / step.norms.max()).max()) * float(np.linalg.norm(step.r))
    if excess < -slack:
        return violates("a feasible point is closer to P_S^⊥y than the projection is")
    if float(np.linalg.norm(other - u)) > 1e-3 * float(np.linalg.norm(step.r)):
        return undecided("the interior point method ended far from the projection")
    return AGREES


def lowest_ratio(step: ProjectedDesign, methods: Methods, rng: np.random.Generator, max_iter: int) -> float:
    """Search for the least λ/λ* at which linear Sequential Attention still picks from A(S), and return it.

    λ/λ* decreases by factors of 0.8, but not below 0.01, until the largest weight is outside A(S) or the
    descent does not converge. Then the last interval is halved four times.
    """

    def picks(ratio: float) -> bool:
        lam = ratio * step.entry.lam_star
        result = descend(step, methods, rng, max_iter, lam)
        return has_converged(step, result, lam) and largest_weight(step, result) in step.entry.active

    high = step.lam / step.entry.lam_star
    low = 0.8 * high
    while low > 0.01 and picks(low):
        high = low
        low = 0.8 * low
    if low <= 0.01:
        return high
    for _ in range(4):
        middle = (high + low) / 2
        high, low = (middle, low) if picks(middle) else (high, middle)
    return high
