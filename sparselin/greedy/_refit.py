"""Minimise L(b) = Σ w_i ℓ(y_i, a_iᵀb) for the losses of `_losses`, with a bound on L(b) − min L.

Notation: a_i are the rows of A, μ_i the means that the model predicts, V = diag(w_i ℓ''(a_iᵀb)), √V·A = QR
and g = −∇L(b) = Aᵀu with u_i = w_i(y_i − μ_i). Newton's step is δ = R⁻¹R⁻ᵀg, and its decrement is D = ‖R⁻ᵀg‖
= ‖√V·Aδ‖. Let M = max_i ‖R⁻ᵀa_i‖. Then |a_iᵀδ| ≤ MD.

*Bound.* If |a_iᵀδ| < 1 for all i, then L has a minimum, and L(b) − min L ≤ D². Proof. Let
θ_i = μ_i + ℓ''_i·a_iᵀδ. Then Aᵀ(w∘(y − θ)) = g − AᵀVAδ = 0. Each θ_i lies in the range of means: 0 < θ_i < 1
for the logistic loss, and θ_i > 0 for the Poisson loss. By Stiemke's theorem of the alternative, there is no
direction along which L decreases without end. Because Σ w_i(y_i − θ_i)a_i = 0, the sum Σ
w_i(ℓ(y_i, η_i) − ℓ(θ_i, η_i)) is linear in η and constant for η = Ab. Hence

    L(b) − L(b') ≤ Σ w_i(ℓ(θ_i, η_i) − min ℓ(θ_i, ·)) = Σ w_i KL(θ_i ‖ μ_i) ≤ Σ w_i(θ_i − μ_i)²/ℓ''_i = D²

for every b', where KL is the divergence of Bernoulli or Poisson laws. The last inequality holds because KL is
at most χ².

*Step.* Let φ(t) = L(b + tδ) and ρ = max|a_iᵀδ|. Then φ'(0) = −D², φ''(0) = D² and |φ'''| ≤ ρφ'' (Bach,
*Self-concordant analysis for logistic regression*, 2010). Hence φ(1) ≤ φ(0) − D² + D²(e^ρ − ρ − 1)/ρ². If
ρ ≤ ½, this is a decrease of at least 0.4·D², and the step length is t = 1. Otherwise t is halved until
φ'(t/2) + φ'(t) ≤ −D²/4. Then φ(t) ≤ φ(0) − tD²/8, because φ' increases. The condition holds once ρt is small
enough: if e^{ρt} ≤ 1 + 7ρ/8, then φ'(t) ≤ −D² + D²(e^{ρt} − 1)/ρ ≤ −D²/8.

*Distance.* Let b* be a minimiser, a* = A(b* − b), and let q = MD < 1. In this paragraph ρ = max|a*_i|, which
is at most M‖√Va*‖. Convexity and |ℓ'''| ≤ ℓ'' give ‖√Va*‖(1 − e^−ρ)/ρ ≤ D. So ρ ≤ −log(1 − q) and ‖√Va*‖ ≤
D·ρ/(1 − e^−ρ). If q ≤ ½, then ρ ≤ 1.4q and ‖√Va*‖ ≤ 1.4D.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from sparselin.greedy._losses import Loss, separates, separation
from sparselin.problem.errors import UNIT
from sparselin.results import FloatArray, Status

# The most Newton steps. On separated data a step moves η by about one, and ℓ'' underflows at |η| = 745, so
# further steps are useless.
_STEPS = 1000
# The steps after which a linear program looks for a separating direction. A last program, after all steps,
# would find the same direction; these only save steps on separated data. A program costs more than a step.
_LP_STEPS = (12, 60)


class LossData(NamedTuple):
    """The data of L(b) = Σ w_i ℓ(y_i, a_iᵀb) in float64: the loss ℓ, y (n,) and the weights w > 0 (n,)."""

    loss: Loss
    y: FloatArray
    weight: FloatArray


class Refit(NamedTuple):
    """A minimiser b of L(b) = Σ w_i ℓ(y_i, a_iᵀb), to rounding. The matrix A has the rows a_i.

    coef, eta : b (p,) and η = Ab (n,).
    lost : `Loss.lost` at η, which measures the rounding error of y − μ, where μ are the means at η.
    u : (n,) w∘(y − μ).
    variance : (n,) the diagonal of V = diag(w_i ℓ''(η_i)).
    Q, R : the factors of √V·A = QR.
    decrement : D = ‖R⁻ᵀAᵀu‖ plus a bound on its rounding error, so that L(b) − min L ≤ D².
    M : max_i ‖R⁻ᵀa_i‖.
    eta_size : s = Σ_l ‖√V·A_l‖|b_l|, with the columns A_l of A. UNIT·s bounds ‖√V(η̂ − η)‖, where η̂ is the
        computed η.
    """

    coef: FloatArray
    eta: FloatArray
    lost: FloatArray
    u: FloatArray
    variance: FloatArray
    Q: FloatArray
    R: FloatArray
    decrement: float
    M: float
    eta_size: float


class NoFit(NamedTuple):
    """The reason why a refit failed.

    status : NO_MINIMUM if the loss decreases without end along `direction` (p,), else BEYOND_PRECISION.
    """

    status: Status
    direction: FloatArray


def refit(data: LossData, A: FloatArray, coef: FloatArray) -> Refit | NoFit:
    """Minimise L(b) = Σ w_i ℓ(y_i, a_iᵀb) by Newton's method, starting at b = coef (p,).

    The rows of A (n, p) are the a_i; its columns must be independent.
    """
    signs, before = data.loss.signs(data.y), math.inf
    with np.errstate(all="ignore"):
        for count in range(_STEPS):
            here, newton, decrement = evaluate(data, A, coef)
            if not math.isfinite(here.decrement):
                break
            error = here.decrement - decrement
            if decrement <= error and not decrement < before / 4:  # quadratic convergence has ended
                if here.M * here.decrement > 0.5:
                    break
                Q, R = np.linalg.qr(np.sqrt(here.variance)[:, None] * A)
                return here._replace(Q=Q, R=R)
            if np.all(signs * here.eta > 0) and separates(signs, A, coef):
                return NoFit(Status.NO_MINIMUM, coef)
            if count in _LP_STEPS and (b := separation(signs, A)) is not None:
                return NoFit(Status.NO_MINIMUM, b)
            t = _step_length(data, here, A @ newton, decrement**2)
            if t == 0:
                break
            coef, before = coef + t * newton, decrement
    b = separation(signs, A)
    return NoFit(Status.BEYOND_PRECISION, coef[:0]) if b is None else NoFit(Status.NO_MINIMUM, b)


def evaluate(data: LossData, A: FloatArray, b: FloatArray) -> tuple[Refit, FloatArray, float]:
    """Evaluate the loss L and Newton's step δ at the coefficients b.

    Returns a `Refit` without Q, the step δ, and ‖R⁻ᵀg‖. Here g = −∇L(b) = Aᵀu and √V·A = QR, with the u and V
    of `Refit`. The rounding errors of u and of the sum change g_l by at most e_l = UNIT·Σ_i |a_il|(√n|u_i| +
    w_i·lost_i), and therefore R⁻ᵀg by at most |R⁻ᵀ|e. The computed η̂ differs from η = Ab; this adds
    R⁻ᵀAᵀV(η̂ − η) = Qᵀ√V(η̂ − η) to the error of R⁻ᵀg.
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
    M = float(np.sqrt(np.square(A @ inverse).sum(axis=1).max()))
    return Refit(b, eta, lost, u, variance, Q, R, whole, M, eta_size), inverse @ half, decrement


def _step_length(data: LossData, here: Refit, along: FloatArray, square: float) -> float:
    """Return a step length t at which the loss L(b + tδ) decreases, where δ is Newton's step from b.

    Returns zero if rounding leaves no such t.

    here : the `Refit` at b.
    along : Aδ.
    square : D², the squared decrement of Newton's method.
    """
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
