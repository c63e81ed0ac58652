"""R², adjusted R², Mallows' Cp and BIC of the models along a path of least squares."""

import math
from typing import Any, NamedTuple

import numpy as np

from sparselin.results import FloatArray, SelectionPath
from sparselin.studies.select.findings import standard_columns

# The most features for which the model with all features is fitted, for Cp.
MOST = 500


class Size(NamedTuple):
    """The fit of the model on the first k features; None where a number is not defined."""

    k: int
    r2: float
    adjusted_r2: float | None
    cp: float | None
    bic: float | None


def table_of_sizes(path: Any, X: FloatArray, y: FloatArray, weight: FloatArray | None) -> list[Size]:
    """Return the table of the sizes 0, …, t of a path; [] unless it is a path of least squares.

    Let n be the number of rows, all of positive weight w_i (1 if there are no weights), d the number of
    features, b = 1 with an intercept and 0 without, p = k + b, and RSS = Σ w_i(y_i − ŷ_i)². Then

        adjusted R² = 1 − (1 − R²)(n − b)/(n − p),
        Cp = RSS/σ̂² − n + 2p,     σ̂² = RSS of all features/(n − d − b),
        BIC = n·ln(RSS/n) − Σ ln w_i + k·ln n.

    BIC is that of the selectors. No number depends on the unit of the weights. Adjusted R² needs n > p; Cp
    (Mallows, *Some comments on Cp*, 1973) needs n > d + b, and at most MOST features, because all of them are
    fitted. If features are dependent, their rank replaces d. All three ignore that the features were chosen
    because they fit these rows.
    """
    if not isinstance(path, SelectionPath) or path.positive:
        return []
    n, d = X.shape
    w = np.ones(n) if weight is None else np.asarray(weight, np.float64)
    b = int(path.with_intercept)
    variance = None
    z = np.sqrt(w) * (y - np.average(y, weights=w) if b else y)
    total = float(z @ z)
    if d <= MOST and d + b < n:
        Z = standard_columns(X, weight, bool(b))
        coef, _, rank, _ = np.linalg.lstsq(Z, z)
        variance = float(np.square(z - Z @ coef).sum()) / (n - int(rank) - b)
    found = []
    norms = path.residual_norm.tolist()
    for k, (r2, norm) in enumerate(zip(path.r2_path.tolist(), norms, strict=True)):
        p = k + b
        rss = (norm / norms[0]) ** 2 * total if norms[0] else 0.0
        found.append(
            Size(
                k,
                r2,
                1 - (1 - r2) * (n - b) / (n - p) if n > p else None,
                rss / variance - n + 2 * p if variance else None,
                n * math.log(rss / n) - float(np.log(w).sum()) + k * math.log(n) if rss > 0 else None,
            )
        )
    return found
