"""Logistic and Poisson losses, and tests whether Σ w_i ℓ(y_i, a_iᵀb) has a minimum over b; its minimisation.

w_i are weights, a_i the features of observation i, and ℓ(y_i, η_i) is its loss at the linear predictor
η_i = a_iᵀb.

`refit` minimises L(b) = Σ w_i ℓ(y_i, a_iᵀb), with a bound on L(b) − min L.

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

import math
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit, logit

from sparselin.greedy._outcomes import NoFit
from sparselin.problem.errors import EPS, UNIT
from sparselin.results import FloatArray, Status
from sparselin.validation import check_mask, check_vector

# The optimum of the linear program, whose variables lie in [−1, 1], counts as zero below this. The solver's
# tolerance is 1e-7: if this were smaller, the solver's error could count as a separating direction; if it
# were larger, a direction that separates by little would be overlooked.
_LP = 1e-6
# The most Newton steps. On separated data a step moves η by about one, and ℓ'' underflows at |η| = 745, so
# further steps are useless.
_STEPS = 1000
# The steps after which a linear program looks for a separating direction. A last program, after all steps,
# would find the same direction; these only save steps on separated data. A program costs more than a step.
_LP_STEPS = (12, 60)


class Loss(NamedTuple):
    """A loss ℓ(y, η) that is convex in η, with ℓ' = μ(η) − y and |ℓ'''| ≤ ℓ''.

    Primes are derivatives with respect to η, and μ(η) is the mean of y that the model predicts.

    link : the function that maps a mean m to the η with μ(η) = m.
    residual : y − μ(η).
    variance : ℓ''(η).
    deviance : 2(ℓ(y, η) − inf ℓ(y, ·)).
    lost : a function of η that measures the rounding error of the residual, which is eps·(|y − μ| + lost).
        `lost` is μ if the residual is computed as the difference of y and μ, else 0.
    signs : a function of y: +1 where ℓ(y, η) decreases without end as η → ∞, −1 where it decreases without
        end as η → −∞, and 0 where it has a minimum.
    """

    name: str
    link: Callable[[float], float]
    residual: Callable[[FloatArray, FloatArray], FloatArray]
    variance: Callable[[FloatArray], FloatArray]
    deviance: Callable[[FloatArray, FloatArray], FloatArray]
    lost: Callable[[FloatArray], FloatArray]
    signs: Callable[[FloatArray], FloatArray]


def _logistic_residual(eta: FloatArray, y: FloatArray) -> FloatArray:
    sign = 2 * y - 1
    return np.asarray(sign * expit(-sign * eta))


def _poisson_deviance(eta: FloatArray, y: FloatArray) -> FloatArray:
    """Return the deviance of the Poisson loss: 2y(e^t − 1 − t) with t = η − log y, or 2e^η where y = 0."""
    t = eta - np.log(np.where(y > 0, y, 1))
    return np.asarray(2 * np.where(y > 0, y * np.maximum(np.expm1(t) - t, 0), np.exp(eta)))


# y ∈ {0, 1}: log(1 + e^η) − yη, which is log(1 + e^−η) or log(1 + e^η)
LOGISTIC = Loss(
    name="logistic",
    link=lambda m: float(logit(m)),
    residual=_logistic_residual,
    variance=lambda eta: np.asarray(expit(eta) * expit(-eta)),
    deviance=lambda eta, y: np.asarray(2 * np.logaddexp(0, -(2 * y - 1) * eta)),
    lost=np.zeros_like,
    signs=lambda y: 2 * y - 1,
)
# y ≥ 0: e^η − yη
POISSON = Loss(
    name="poisson",
    link=lambda m: float(np.log(m)),
    residual=lambda eta, y: y - np.exp(eta),
    variance=np.exp,
    deviance=_poisson_deviance,
    lost=np.exp,
    signs=lambda y: -1.0 * (y == 0),
)
LOSSES = {loss.name: loss for loss in (LOGISTIC, POISSON)}


def check_loss(loss: Any) -> Loss:
    if not isinstance(loss, str) or loss not in LOSSES:
        raise ValueError(f"loss must be one of {sorted(LOSSES)}; got {loss!r}")
    return LOSSES[loss]


def encode_labels(y: Any, *, lone: bool = False) -> tuple[FloatArray, Any]:
    """Return 1 where y has the second label in sorted order and 0 where it has the first; and both labels.

    lone : whether y may hold one label alone, if this is 0, 1 or −1. The other label is then 1, 0 or 1.
    """
    if isinstance(y, (list, tuple)):
        check_mask(y=y)
    labels = y if np.ma.is_masked(y) else np.asarray(y)
    if labels.ndim != 1:
        raise ValueError(f"y must be a vector of labels; got shape {labels.shape}. Pass a single column")
    missing = [i for i, label in enumerate(labels.tolist()) if _is_missing(label)]
    if missing:
        found = f"{len(missing)} labels are missing (None, NaN or masked), the first in row {missing[0]}"
        raise ValueError(f"y must have a label in each row; {found}. Drop these rows")
    if len({isinstance(label, str) for label in labels.tolist()}) > 1:
        raise TypeError("y must hold labels of one kind; got strings and others")
    classes = np.unique(labels)
    if lone and len(classes) == 1 and classes[0] in (-1, 0, 1):
        classes = np.array([min(classes[0], 0), 1])
    if len(classes) != 2:
        few = ", ".join(map(repr, classes[:5].tolist())) + ", …" * (len(classes) > 5)
        raise ValueError(
            f"y must have two classes for loss='logistic', not continuous values; got {len(classes)}: {few}. "
            "Only binary classification is supported. For more classes pass one-hot columns to OMPSelector "
            "with loss='squared', or y == label for one class against the rest"
        )
    return (labels == classes[1]).astype(np.float64), classes


def _is_missing(label: Any) -> bool:
    """Return whether a label is None (as for masked entries), NaN, NaT, or pandas' NA."""
    return label is None or type(label).__name__ == "NAType" or label != label


def check_responses(loss: Loss, y: Any, n: int) -> FloatArray:
    """Check the responses y, and return them (n,) in float64. For Poisson regression, y must be ≥ 0."""
    vector = check_vector(y, "y", n, np.dtype(np.float64))
    if loss is POISSON and vector.min() < 0:
        raise ValueError(f"y must hold counts or rates ≥ 0 for loss='poisson'; got {vector.min():g}")
    return vector


def initial_intercept(loss: Loss, y: FloatArray, weight: FloatArray) -> float:
    """Return the intercept of the model without features, the link of the weighted mean of y.

    Raises ValueError if this intercept is infinite, because then no intercept minimises the loss.
    """
    mean = float(weight @ y / weight.sum())
    if loss is LOGISTIC and not 0 < mean < 1:
        raise ValueError(
            f"y must hold both classes in rows of positive weight; got only {int(mean)}, for which the best "
            "intercept is infinite. Add rows with the other label, or use intercept=False."
        )
    if loss is POISSON and not 0 < mean < np.inf:
        found = "only zeros" if mean == 0 else "a mean beyond the float range"
        raise ValueError(
            f"y must have a positive and finite mean over rows of positive weight; got {found}, for which "
            "the best intercept is infinite. Add rows with other y, or use intercept=False."
        )
    return loss.link(mean)


def separates(signs: FloatArray, A: FloatArray, b: FloatArray) -> bool:
    """Return whether the loss Σ w_iℓ(y_i, a_iᵀ(x + tb)) decreases without end as t → ∞.

    a_i are the rows of A, and s_i the `signs` of y_i: the direction, +1 or −1, in which ℓ(y_i, ·) decreases
    without end, or 0 if ℓ(y_i, ·) has a minimum. The loss decreases without end if three conditions hold:
    s_i·a_iᵀb ≥ 0 for all i with s_i ≠ 0, s_i·a_iᵀb > 0 for some i, and a_iᵀb = 0 for all i with s_i = 0. The
    conditions are checked to rounding: a_iᵀb counts as zero if |a_iᵀb| is at most 64·p·eps·Σ_l|a_il b_l|,
    where p is the length of b. In this case a_iᵀb is exactly zero for some data that differ from a_i by at
    most 64·p·eps in each entry (Oettli and Prager).
    """
    along = A @ b
    zero = 64 * A.shape[1] * EPS * (np.abs(A) @ np.abs(b))
    gained = np.where(signs == 0, -np.abs(along), signs * along)
    return bool(np.all(gained >= -zero) and np.any(gained > zero))


def separation(signs: FloatArray, A: FloatArray) -> FloatArray | None:
    """Find a direction b along which the loss decreases without end; return None if none is found.

    If no such b exists, the loss has a minimum (for logistic regression: Albert and Anderson, 1984). The
    search solves two linear programs. The first one uses the columns of A, each divided by its largest entry.
    These columns may be nearly dependent; therefore the second one uses Q, where A = QR.
    """
    scale = np.abs(A).max(axis=0)
    b = _along(signs, A / scale) / scale
    if not separates(signs, A, b):
        Q, R = np.linalg.qr(A)
        b = np.linalg.solve(R, _along(signs, Q))
    return b if separates(signs, A, b) else None


def _along(signs: FloatArray, B: FloatArray) -> FloatArray:
    """Return the x that maximises Σ s_i·b_iᵀx over |x_l| ≤ 1, s_i·b_iᵀx ≥ 0, and b_iᵀx = 0 where s_i = 0.

    b_i are the rows of B, each scaled to a largest entry of one. s_i are the `signs` of the loss: the
    direction, +1 or −1, in which ℓ(y_i, ·) decreases without end, or 0 if ℓ(y_i, ·) has a minimum. If the
    maximum is zero, or the solver has found none, x = 0 is returned. `separates` checks each other answer.
    """
    from scipy.optimize import linprog

    rows = np.abs(B).max(axis=1)
    fixed = signs == 0
    B = B / np.where(rows > 0, rows, 1)[:, None]
    signed = signs[~fixed, None] * B[~fixed]
    found = linprog(
        -signed.sum(axis=0),
        -signed,
        np.zeros(len(signed)),
        B[fixed],
        np.zeros(fixed.sum()),
        bounds=(-1, 1),
        method="highs",
    )
    return np.zeros(B.shape[1]) if found.status != 0 or -found.fun <= _LP else np.asarray(found.x)


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


def refit(data: LossData, A: FloatArray, coef: FloatArray) -> Refit | NoFit:
    """Minimise L(b) = Σ w_i ℓ(y_i, a_iᵀb) by Newton's method, starting at b = coef (p,).

    The rows of A (n, p) are the a_i; its columns must be independent.
    """
    signs = data.loss.signs(data.y)
    before = math.inf
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
            coef = coef + t * newton
            before = decrement
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
    lost = loss.lost(eta)
    u = weight * loss.residual(eta, y)
    variance = weight * loss.variance(eta)
    Q = A[:, :0]
    R = np.asarray(np.linalg.qr(np.sqrt(variance)[:, None] * A, mode="r"))
    eta_size = float(np.linalg.norm(R, axis=0) @ np.abs(b))
    refit = partial(Refit, coef=b, eta=eta, lost=lost, u=u, variance=variance, Q=Q, R=R)
    if not len(b):
        return refit(decrement=0.0, M=0.0, eta_size=0.0), b, 0.0
    if not (np.isfinite(R).all() and np.diag(R).all()):
        return refit(decrement=math.inf, M=math.inf, eta_size=eta_size), b, math.inf
    inverse = np.linalg.inv(R)
    half = inverse.T @ (A.T @ u)
    error = np.abs(inverse).T @ (np.abs(A).T @ (math.sqrt(len(y)) * np.abs(u) + weight * lost))
    decrement = float(np.linalg.norm(half))
    whole = decrement + UNIT * (float(np.linalg.norm(error)) + eta_size)
    M = float(np.sqrt(np.square(A @ inverse).sum(axis=1).max()))
    return refit(decrement=whole, M=M, eta_size=eta_size), inverse @ half, decrement


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
