"""The minimum of L(b) = Σ w_i ℓ(y_i, a_iᵀb) for the losses of `_losses`, with a bound on what is left.

V = diag(w_i ℓ''(a_iᵀb)), √V·A = QR, g = −∇L(b) = Aᵀu, u_i = w_i(y_i − μ_i); δ = R⁻¹R⁻ᵀg is Newton's step,
D = ‖R⁻ᵀg‖ = ‖√V·Aδ‖ its decrement, M = max_i ‖R⁻ᵀa_i‖, so that |a_iᵀδ| ≤ MD.

*Bound.* Let |a_iᵀδ| < 1 for all i. Then L has a minimum, and L(b) − min L ≤ D². For θ_i = μ_i + ℓ''_i·a_iᵀδ
has Aᵀ(w∘(y − θ)) = g − AᵀVAδ = 0, and lies where μ may lie: 0 < θ_i < 1, or θ_i > 0. That is Stiemke's
alternative to a direction that separates. As Σ w_i(y_i − θ_i)a_i = 0, Σ w_i(ℓ(y_i, η_i) − ℓ(θ_i, η_i)) is
linear in η and constant for η = Ab, so that

    L(b) − L(b') ≤ Σ w_i(ℓ(θ_i, η_i) − min ℓ(θ_i, ·)) = Σ w_i KL(θ_i ‖ μ_i) ≤ Σ w_i(θ_i − μ_i)²/ℓ''_i = D²

for every b', KL being the divergence of Bernoulli or Poisson laws, at most χ².

*Step.* φ(t) = L(b + tδ) has φ'(0) = −D², φ''(0) = D² and |φ'''| ≤ ρφ'', ρ = max|a_iᵀδ| (Bach,
*Self-concordant analysis for logistic regression*, 2010), hence φ(1) ≤ φ(0) − D² + D²(e^ρ − ρ − 1)/ρ², for
ρ ≤ ½ a decrease of at least 0.4·D². Else t is halved until φ'(t/2) + φ'(t) ≤ −D²/4: as φ' increases, φ(t) ≤
φ(0) − tD²/8. That holds for small ρt: φ'(t) ≤ −D² + D²(e^{ρt} − 1)/ρ ≤ −D²/8 where e^{ρt} ≤ 1 + 7ρ/8.

*Distance.* With q = MD < 1 and a* = A(b* − b), b* a minimiser, convexity and |ℓ'''| ≤ ℓ'' give
‖√Va*‖(1 − e^−ρ)/ρ ≤ D, ρ = max|a*_i| ≤ M‖√Va*‖, so ρ ≤ −log(1 − q) and ‖√Va*‖ ≤ D·ρ/(1 − e^−ρ): for q ≤ ½
ρ ≤ 1.4q and ‖√Va*‖ ≤ 1.4D.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from sparselin.greedy._losses import Loss, separates, separation
from sparselin.problem.errors import UNIT
from sparselin.results import FloatArray, Status

# η ends at 745, where ℓ'' underflows, and a step moves it by about one: more steps are in vain.
_STEPS = 1000
# The steps after which a linear program looks for a separating direction. It costs more than a step, and
# decides nothing that the last one, after all steps, would not: these save steps on separated data.
_ASKED = (12, 60)


class LossData(NamedTuple):
    """ℓ, y and w > 0 in float64."""

    loss: Loss
    y: FloatArray
    weight: FloatArray


class Refit(NamedTuple):
    """A minimum, to rounding.

    coef, eta, lost : b (p,), Ab (n,), and what y − μ is rounded by beside its own size.
    u, variance : w∘(y − μ) and the diagonal of V.
    Q, R : √V·A = QR.
    decrement : D, with the rounding error of g: L(b) − min L ≤ D².
    reach : M.
    eta_size : Σ_l ‖√V·A_l‖|b_l|, which times UNIT bounds ‖√V(η̂ − η)‖, η̂ the computed η.
    """

    coef: FloatArray
    eta: FloatArray
    lost: FloatArray
    u: FloatArray
    variance: FloatArray
    Q: FloatArray
    R: FloatArray
    decrement: float
    reach: float
    eta_size: float


class NoFit(NamedTuple):
    """Why there is no refit: NO_MINIMUM with a direction b that separates (p,), or BEYOND_PRECISION."""

    status: Status
    direction: FloatArray


def refit(data: LossData, A: FloatArray, coef: FloatArray) -> Refit | NoFit:
    """The minimum of L for A (n, p), of independent columns, from b = coef (p,)."""
    signs, before = data.loss.signs(data.y), math.inf
    with np.errstate(all="ignore"):
        for count in range(_STEPS):
            here, newton, decrement = _measured(data, A, coef)
            if not math.isfinite(here.decrement):
                break
            error = here.decrement - decrement
            if decrement <= error and not decrement < before / 4:  # quadratic convergence has ended
                if here.reach * here.decrement > 0.5:
                    break
                Q, R = np.linalg.qr(np.sqrt(here.variance)[:, None] * A)
                return here._replace(Q=Q, R=R)
            if np.all(signs * here.eta > 0) and separates(signs, A, coef):
                return NoFit(Status.NO_MINIMUM, coef)
            if count in _ASKED and (b := separation(signs, A)) is not None:
                return NoFit(Status.NO_MINIMUM, b)
            t = _length(data, here, A @ newton, decrement**2)
            if t == 0:
                break
            coef, before = coef + t * newton, decrement
    b = separation(signs, A)
    return NoFit(Status.BEYOND_PRECISION, coef[:0]) if b is None else NoFit(Status.NO_MINIMUM, b)


def _measured(data: LossData, A: FloatArray, b: FloatArray) -> tuple[Refit, FloatArray, float]:
    """What `Refit` says at b, but for Q; δ, and ‖R⁻ᵀg‖ as computed.

    g_l errs by the rounding of u and of its sum, UNIT·Σ_i |a_il|(√n|u_i| + w_i·lost_i), R⁻ᵀg by |R⁻ᵀ| times
    that, and by the rounding of η, R⁻ᵀAᵀV(η̂ − η) = Qᵀ√V(η̂ − η).
    """
    loss, y, weight = data
    eta = A @ b
    lost, u, variance = loss.lost(eta), weight * loss.residual(eta, y), weight * loss.variance(eta)
    Q, R = A[:, :0], np.asarray(np.linalg.qr(np.sqrt(variance)[:, None] * A, mode="r"))
    eta_size = float(np.linalg.norm(R, axis=0) @ np.abs(b))
    if not len(b):
        return Refit(b, eta, lost, u, variance, Q, R, 0.0, 0.0, 0.0), b, 0.0
    if not (np.isfinite(R).all() and np.diag(R).all()):
        return Refit(b, eta, lost, u, variance, Q, R, math.inf, math.inf, eta_size), b, math.inf
    inverse = np.linalg.inv(R)
    half = inverse.T @ (A.T @ u)
    error = np.abs(inverse).T @ (np.abs(A).T @ (math.sqrt(len(y)) * np.abs(u) + weight * lost))
    decrement = float(np.linalg.norm(half))
    whole = decrement + UNIT * (float(np.linalg.norm(error)) + eta_size)
    reach = float(np.sqrt(np.square(A @ inverse).sum(axis=1).max()))
    return Refit(b, eta, lost, u, variance, Q, R, whole, reach, eta_size), inverse @ half, decrement


def _length(data: LossData, here: Refit, along: FloatArray, square: float) -> float:
    """The t of the step, along = Aδ and square = D²; zero where rounding leaves none."""
    loss, y, weight = data
    rho = float(np.abs(along).max())
    if rho <= 0.5:
        return 1.0

    def slope(t: float) -> float:
        return -float((weight * along) @ loss.residual(here.eta + t * along, y))

    t = 1.0
    while not slope(t / 2) + slope(t) <= -square / 4:
        t /= 2
        if not t > 1e-3 * math.log1p(rho) / rho:
            return 0.0
    return t
