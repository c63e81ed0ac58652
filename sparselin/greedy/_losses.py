"""Logistic and Poisson losses, and when Σ w_i ℓ(y_i, a_iᵀb) has a minimum over b."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit, logit

from sparselin.problem.errors import EPS
from sparselin.results import FloatArray
from sparselin.validation import check_vector

# An optimum of the linear program, whose variables lie in [−1, 1], counts as zero below this. The solver's
# tolerance is 1e-7: smaller, that counts as a separating direction; larger, one that separates little is
# overlooked.
_LP = 1e-6


class Loss(NamedTuple):
    """ℓ(y, η), convex in η, with |ℓ'''| ≤ ℓ''; ℓ' = μ(η) − y.

    link : η with μ(η) = m.
    residual, variance, deviance : y − μ(η), ℓ''(η), 2(ℓ(y, η) − inf ℓ(y, ·)).
    lost : what the residual is rounded by, but for |y − μ|: μ where it is a difference of y and μ, else 0.
    signs : +1 (−1) where ℓ falls for ever as η → ∞ (−∞), 0 where it has a minimum.
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
    """2y(e^t − 1 − t), t = η − log y; 2e^η where y = 0."""
    t = eta - np.log(np.where(y > 0, y, 1))
    return np.asarray(2 * np.where(y > 0, y * np.maximum(np.expm1(t) - t, 0), np.exp(eta)))


# y ∈ {0, 1}: log(1 + e^η) − yη, which is log(1 + e^−η) or log(1 + e^η)
LOGISTIC = Loss(
    "logistic",
    lambda m: float(logit(m)),
    _logistic_residual,
    lambda eta: np.asarray(expit(eta) * expit(-eta)),
    lambda eta, y: np.asarray(2 * np.logaddexp(0, -(2 * y - 1) * eta)),
    np.zeros_like,
    lambda y: 2 * y - 1,
)
# y ≥ 0: e^η − yη
POISSON = Loss(
    "poisson",
    lambda m: float(np.log(m)),
    lambda eta, y: y - np.exp(eta),
    np.exp,
    _poisson_deviance,
    np.exp,
    lambda y: -1.0 * (y == 0),
)
LOSSES = {loss.name: loss for loss in (LOGISTIC, POISSON)}


def check_loss(loss: Any) -> Loss:
    if not isinstance(loss, str) or loss not in LOSSES:
        raise ValueError(f"loss must be one of {sorted(LOSSES)}; got {loss!r}")
    return LOSSES[loss]


def refuse_words(loss: Loss, y: Any) -> None:
    """TypeError for labels that are texts."""
    first = next(iter(np.asarray(y).ravel()[:1]), None)
    if loss is LOGISTIC and isinstance(first, str):
        raise TypeError(_no_labels(repr(str(first))))


def _no_labels(told: str) -> str:
    return (
        f"y must hold labels 0 and 1, or −1 and 1, or truth values, for loss='logistic'; got {told}. "
        "y == label makes truth values of two classes."
    )


def check_responses(loss: Loss, y: Any, n: int) -> FloatArray:
    """y (n,) in float64: 0 and 1 for labels in {0, 1} or {−1, 1}, or truth values; y ≥ 0 for Poisson."""
    vector = check_vector(y, "y", n, np.dtype(np.float64))
    if loss is POISSON:
        if vector.min() < 0:
            raise ValueError(f"y must hold counts, or rates, ≥ 0 for loss='poisson'; got {vector.min():g}")
        return vector
    values = np.unique(vector)
    if not (np.isin(values, (0, 1)).all() or np.isin(values, (-1, 1)).all()):
        told = ", ".join(f"{value:g}" for value in values[:5]) + (", …" if len(values) > 5 else "")
        raise ValueError(_no_labels(told))
    return np.asarray(vector > 0, np.float64)


def check_varied(loss: Loss, y: FloatArray, weight: FloatArray) -> float:
    """The link of the weighted mean of y, the intercept of the model without features."""
    mean = float(weight @ y / weight.sum())
    if loss is LOGISTIC and not 0 < mean < 1:
        raise ValueError(
            f"y must hold both labels in rows of positive weight; got {int(mean)} alone, for which no "
            "intercept is the best. Leave the data out, or use intercept=False."
        )
    if loss is POISSON and not 0 < mean < np.inf:
        what = "zeros alone" if mean == 0 else "a mean beyond the float range"
        raise ValueError(
            f"y must have a positive and finite mean over rows of positive weight; got {what}, for which no "
            "intercept is the best. Leave the data out, or use intercept=False."
        )
    return loss.link(mean)


def separates(signs: FloatArray, A: FloatArray, b: FloatArray) -> bool:
    """Whether Σ w_iℓ(y_i, a_iᵀ(x + tb)) falls for ever as t → ∞: s_i·a_iᵀb ≥ 0 where s_i ≠ 0, positive for
    some i, and a_iᵀb = 0 where s_i = 0.

    That is to rounding: of data whose rows a_i are off by 64·p·eps in each entry, zero being what
    64·p·eps·Σ_l|a_il b_l| bounds (Oettli and Prager).
    """
    along, zero = A @ b, 64 * A.shape[1] * EPS * (np.abs(A) @ np.abs(b))
    gained = np.where(signs == 0, -np.abs(along), signs * along)
    return bool(np.all(gained >= -zero) and np.any(gained > zero))


def separation(signs: FloatArray, A: FloatArray) -> FloatArray | None:
    """A b that `separates`, or None where linear programs find none.

    Without one there is a minimum (for logistic regression Albert and Anderson, 1984). The programs are for
    the columns of A at one scale, and then, as these may be nearly dependent, for Q of A = QR.
    """
    scale = np.abs(A).max(axis=0)
    b = _along(signs, A / scale) / scale
    if not separates(signs, A, b):
        Q, R = np.linalg.qr(A)
        b = np.linalg.solve(R, _along(signs, Q))
    return b if separates(signs, A, b) else None


def _along(signs: FloatArray, B: FloatArray) -> FloatArray:
    """x in max Σ s_i·b_iᵀx over |x_l| ≤ 1, s_i·b_iᵀx ≥ 0, and b_iᵀx = 0 where s_i = 0; zero if that is zero.

    The rows are brought to a largest entry of one.
    """
    from scipy.optimize import linprog

    rows, fixed = np.abs(B).max(axis=1), signs == 0
    B = B / np.where(rows > 0, rows, 1)[:, None]
    signed = signs[~fixed, None] * B[~fixed]
    found = linprog(
        -signed.sum(axis=0), -signed, np.zeros(len(signed)), B[fixed], np.zeros(fixed.sum()),
        bounds=(-1, 1), method="highs",
    )  # fmt: skip
    if found.x is None or -found.fun <= _LP:
        return np.zeros(B.shape[1])
    return np.asarray(found.x)
