"""Logistic and Poisson losses, and tests whether Σ w_i ℓ(y_i, a_iᵀb) has a minimum over b.

w_i are weights, a_i the features of observation i, and ℓ(y_i, η_i) is its loss at the linear predictor
η_i = a_iᵀb.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit, logit

from sparselin.problem.errors import EPS
from sparselin.results import FloatArray
from sparselin.validation import check_vector

# The optimum of the linear program, whose variables lie in [−1, 1], counts as zero below this. The solver's
# tolerance is 1e-7: if this were smaller, the solver's error could count as a separating direction; if it
# were larger, a direction that separates by little would be overlooked.
_LP = 1e-6


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


def encode_labels(y: Any, *, lone: bool = False) -> tuple[FloatArray, Any]:
    """Return 1 where y has the second label in sorted order and 0 where it has the first; and both labels.

    lone : whether y may hold one label alone, if this is 0, 1 or −1. The other label is then 1, 0 or 1.
    """
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
    along, zero = A @ b, 64 * A.shape[1] * EPS * (np.abs(A) @ np.abs(b))
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
    maximum is zero, x = 0 is returned.
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
