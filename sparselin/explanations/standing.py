"""The relation of a feature j to a set S of features.

It consists of the share of X_j that X_S explains, and the gain in R² if j is added to S.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from sparselin.linalg.thin_qr import ThinQR
from sparselin.linalg.ties import measure
from sparselin.problem import Problem
from sparselin.results import Explanation, FloatArray, IndexArray
from sparselin.results.base import Named


class Standing(NamedTuple):
    """The relation of a feature j to a set S of selected features.

    Attributes
    ----------
    left, regression, shares, r2, gain, partial_r2 : as in an `Explanation`, whose fields have the same names.
    vanishes : whether X_j is zero up to rounding (with an intercept: constant).
    measure : the name of the quantity r2 in the sentence, R² or D².
    """

    left: float
    regression: FloatArray
    shares: FloatArray
    r2: float
    gain: float
    partial_r2: float
    vanishes: bool
    measure: str = "R²"


class Course(NamedTuple):
    """The correlation of a feature along a path: arrays with the names of the fields of an `Explanation`."""

    correlation: FloatArray
    error: FloatArray
    level: FloatArray


class Entry(NamedTuple):
    """The entry of a feature into a path: fields with the names of the fields of an `Explanation`.

    The default values mean that the feature did not enter.
    """

    step: int = 0
    forced: bool = False
    runner_up: int = -1
    margin: float = math.nan
    tied: tuple[int, ...] = ()
    fall: int = 0
    intervals: tuple[tuple[float, float], ...] = ()


def explanation(
    path: Named, j: int, kind: str, given: IndexArray, at: Standing, entry: Entry, course: Course, text: str
) -> Explanation:
    """Assemble the explanation of feature j from its parts; its arrays have the dtype of the problem."""
    arrays = {name: values.astype(at.shares.dtype) for name, values in course._asdict().items()}
    fields: dict[str, Any] = entry._asdict() | at._asdict() | arrays
    del fields["vanishes"], fields["measure"]
    return Explanation(feature=j, kind=kind, names=path.names, given=given, sentence=text, **fields)


def standing(problem: Problem, S: IndexArray, j: int) -> Standing:
    """Compute the relation of feature j to a set S that does not contain j."""
    J = np.array([j])
    none = np.zeros(len(S), problem.dtype)
    start = measure(ThinQR(problem, problem.with_ones(S[:0])), J)
    qr = ThinQR(problem, problem.with_ones(S), capacity=len(S) + 1)
    now = measure(qr, J)
    total, rest = start.residual_norm, now.residual_norm
    fitted = rest <= now.residual_error
    vanishes = not start.outside[0]
    r2 = 0.0 if total <= start.residual_error else 1 - (rest / total) ** 2 * (not fitted)
    b, shares = (none, none) if vanishes else _regression(problem, qr, S, j)
    if vanishes or not now.outside[0]:
        return Standing(
            left=0.0, regression=b, shares=shares, r2=r2, gain=0.0, partial_r2=0.0, vanishes=vanishes
        )
    left = min(1.0, float(now.length[0] / start.length[0]) ** 2)
    c = float(now.c[0]) / float(now.length[0])
    if fitted or abs(now.c[0]) <= now.coarse * now.error[0]:
        return Standing(
            left=left, regression=b, shares=shares, r2=r2, gain=0.0, partial_r2=0.0, vanishes=False
        )
    return Standing(
        left=left,
        regression=b,
        shares=shares,
        r2=r2,
        gain=(c / total) ** 2,
        partial_r2=min(1.0, (c / rest) ** 2),
        vanishes=False,
    )


def _regression(problem: Problem, qr: ThinQR, S: IndexArray, j: int) -> tuple[FloatArray, FloatArray]:
    """Return `regression` and `shares` of an `Explanation`: the least squares fit of X_j by X_S.

    qr : the QR factors of X_S. Columns of S that qr excludes as dependent have 0 in both arrays. With an
        intercept the first column of Q is q = ones/‖ones‖, and X_j is replaced by the centred column
        X_j − q⟨q, X_j⟩.
    """
    x = problem.columns([j])[:, 0]
    place = {int(i): at for at, i in enumerate(S)}
    ones = problem.d - problem.n_features
    coef = qr.solve(qr.Qt @ x)
    for _ in range(2 * ones):
        x = x - qr.Qt[0] * (qr.Qt[0] @ x)
    products = problem.columns(qr.index[ones:]).T @ x / (x @ x)
    b, shares = np.zeros(len(S), problem.dtype), np.zeros(len(S), problem.dtype)
    for i, value, product in zip(qr.index[ones:], coef[ones:], products, strict=True):
        b[place[i]] = value
        shares[place[i]] = value * product
    scale = problem.design.scale
    return (b if scale is None else b * scale[S] / scale[j]), shares
