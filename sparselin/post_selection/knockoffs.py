"""Fixed-X knockoffs: a set of features whose false discovery rate is at most q."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import stdtr

from sparselin.lasso.path import lasso_path
from sparselin.linalg.thin_qr import ThinQR
from sparselin.problem import Problem, as_problem, takes_problem
from sparselin.problem.arguments import rows_with_weight
from sparselin.results import FloatArray, Knockoffs
from sparselin.validation import Rng, check_generator, check_real

_ABSENT = 1e-4  # below this p-value of the mean, an intercept counts as forgotten
# The largest multiple of λ_min(Σ) that s may be. With s = 2λ_min, the largest for which X̃ exists, [X X̃] has
# rank 2d − 1. Then X_j and X̃_j can tie at the end of the path for an open set of y, and the rule for ties
# decides the sign of W_j, in place of a fair coin. Below 2 the columns are independent: the least eigenvalue
# of [X X̃]ᵀ[X X̃] is min(s, 2λ_min(Σ) − s).
_SHARE = 2 - 1 / 16
_MEAN = "The false discovery rate is not bounded then: pass intercept=True"


@takes_problem
def knockoffs(
    X: Any,
    y: ArrayLike | None,
    *,
    q: float = 0.1,
    intercept: bool | None = None,
    sample_weight: ArrayLike | None = None,
    rng: Rng = 0,
) -> Knockoffs:
    """Select features so that the expected share of false ones among them is at most q.

    The model is y = c + Xβ + ε with ε ~ N(0, τ²I), where c and τ are unknown and X has independent columns.
    A selected feature is false if β_j = 0. Columns of X are centred and scaled to length 1. (Without an
    intercept c is 0, and columns are not centred.)
    Each feature X_j gets a knockoff X̃_j: a column that competes with X_j, but has no part in the model. With
    Σ = XᵀX and s = min(1, (31/16)·λ_min(Σ)) the knockoffs satisfy

        X̃ᵀX̃ = Σ,    X̃ᵀX = Σ − sI.

    and the columns of [X X̃] are independent, so the LASSO path of [X X̃] is unique. (For s = 2λ_min(Σ), the
    choice of the source, a pair can tie at the end of the path.)
    So if β_j = 0, the exchange of X_j and X̃_j changes neither the Gram matrix of [X X̃] nor the law of
    [X X̃]ᵀy. Hence each of the two is the first one on a path of [X X̃] with the same probability,
    independently for all such j. Let Z_j and Z̃_j be the λ at which X_j and X̃_j enter the LASSO path of [X X̃],
    or 0, W_j = max(Z_j, Z̃_j)·sign(Z_j − Z̃_j), and

        T = min{t > 0 : (1 + #{j : W_j ≤ −t})/#{j : W_j ≥ t} ≤ q},

    where t runs through the |W_j|. Selected are the features with W_j ≥ T. The expectation of
    #false/max(1, #selected) is at most q (knockoff+ of Barber and Candès, *Controlling the false discovery
    rate via knockoffs*, 2015, Theorem 2). At least 1/q features are selected, or none.

    Construction. Let X = U·diag(σ)·Vᵀ be the singular value decomposition, and Ũ a random orthonormal basis
    of a space orthogonal to X and to the ones. Then X̃ = (U·diag(σ − s/σ) + Ũ·diag(√(2s − s²/σ²)))·Vᵀ. This
    needs n ≥ 2d + 1 rows, or 2d without an intercept. If columns of X are nearly dependent, s is small, X̃_j
    is close to X_j, and few features differ from their knockoffs enough to be selected.

    Parameters
    ----------
    X, y : design (n, d) and response (n,), or one `Problem` in place of both. Columns may be left out
        beforehand, but only without looking at y. After a screening by y the bound does not hold: of the
        first 20 picks of OMP on pure noise (120 rows, 300 columns), knockoffs with q = .2 select some in
        about seven of ten designs.
    q : the bound on the false discovery rate, 0 < q < 1.
    intercept : whether the model has the constant c; by default it has, or as the `Problem` has.
    sample_weight : weights of the rows: row i has the noise variance τ²/weight_i. Only their quotients
        matter. Rows of weight 0 are as if removed.
    rng : the seed of Ũ.

    Returns
    -------
    Knockoffs, with the selected features and all W_j.

    Raises
    ------
    TypeError : X and y are needed, not a Gram or compressed problem.
    ValueError : n < 2d rows with a positive weight (one more with an intercept); dependent columns; q outside
        0..1.

    Warns
    -----
    UserWarning : there is no intercept, and y has a mean that the columns do not explain (p < 10⁻⁴). Then
        the model is wrong, and the bound does not hold.

    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> X = rng.standard_normal((100, 20))
    >>> y = X[:, :12] @ np.ones(12) + rng.standard_normal(100)
    >>> knockoffs(X, y + 5).selected.tolist()
    [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]
    """
    q = check_real(q, "q", lambda value: 0 < value < 1, "between 0 and 1")
    ours = intercept is None and not isinstance(X, Problem)
    given = as_problem(X, y, sample_weight=sample_weight, intercept=ours or bool(intercept))
    problem = given.in_double()
    if problem.exact_columns(np.zeros(1, np.intp)) is None:
        raise TypeError("rows of X are needed; a Gram or compressed problem has none. Pass X and y")
    rows = rows_with_weight(given, X, sample_weight)
    d = problem.n_features
    ones = problem.d - d
    if len(rows) < 2 * d + ones:
        least = f"{2 * d + ones} rows with a positive weight, twice the number of columns{' plus one' * ones}"
        raise ValueError(
            f"X must have at least {least}; got {len(rows)}. Leave columns out, but choose them without "
            "looking at y: after a screening by y the false discovery rate is not bounded"
        )
    warn_of_a_mean(given, X, sample_weight, list(range(d)), len(rows), _MEAN)
    problem = problem.of_rows(rows)
    path = lasso_path(*augment(problem, rng))
    Z = np.zeros(2 * d)
    for knot, active in zip(path.knots[::-1], path.active[::-1], strict=True):
        Z[list(active)] = knot  # the first knot at which a feature is active is written last
    W = np.maximum(Z[:d], Z[d:]) * np.sign(Z[:d] - Z[d:])
    levels = np.unique(np.abs(W[W != 0])).tolist()
    counts = [(t, np.count_nonzero(t <= -W), np.count_nonzero(t <= W)) for t in levels]
    least_W = next((t for t, below, above in counts if 1 + below <= q * above), math.inf)
    return Knockoffs(np.flatnonzero(least_W <= W), W, least_W, q, path.status, given.design.fit())


def augment(problem: Problem, rng: Rng) -> tuple[FloatArray, FloatArray]:
    """Return [X X̃] (n, 2d), with columns of length 1, and y; all are centred if there is an intercept."""
    ones = problem.d - problem.n_features
    qr = ThinQR(problem, problem.with_ones(np.arange(problem.n_features)))
    if missing := set(range(problem.d)) - set(qr.index):
        name = f"x{min(missing)}" if problem.names is None else problem.names[min(missing)]
        raise ValueError(f"X must have independent columns; {name} depends on the others. Leave it out")
    Q = qr.Qt[ones:].T
    mean = qr.Qt[:ones].T
    R = qr.R[ones:, ones:]
    R = R / np.linalg.norm(R, axis=0)
    U, values, Vt = np.linalg.svd(R)
    s = min(1.0, _SHARE * float(values[-1]) ** 2)
    # a child stream, because X may have been simulated with the same seed
    drawn = check_generator(rng).spawn(1)[0].standard_normal((problem.n, len(R)))
    other = np.linalg.qr(np.column_stack([qr.Qt.T, drawn]))[0][:, qr.size :]
    copies = Q @ (U * (values - s / values)) + other * np.sqrt(np.maximum(0, 2 * s - (s / values) ** 2))
    return np.column_stack([Q @ R, copies @ Vt]), problem.y - mean @ (mean.T @ problem.y)


def warn_of_a_mean(
    problem: Problem, X: Any, sample_weight: Any, columns: list[int], n: int, consequence: str
) -> None:
    """Warn if there is no intercept, and these columns do not explain the mean of y.

    An F-test of the column of ones decides. A `Problem` that was multiplied by weights does not keep them, so
    its column of ones is not known, and it gets no warning.

    problem : the problem of X, y and sample_weight.
    n : the number of rows with a positive weight.
    consequence : what does not hold, and what to do.
    """
    if problem.design.ones is not None or (isinstance(X, Problem) and X.is_multiplied):
        return
    ones = np.ones(problem.n) if sample_weight is None else np.sqrt(np.asarray(sample_weight, np.float64))
    qr = ThinQR(problem, columns)
    free = n - qr.size - 1
    left, along = qr.residual(problem.double_y), qr.residual(ones)
    length = float(np.linalg.norm(along))
    if free < 1 or length <= problem.length_unit * qr.kappa * float(np.linalg.norm(ones)):
        return
    part = float(along @ left) / length
    rest = math.sqrt(max(0.0, float(left @ left) - part**2) / free)
    if rest > 0 and 2 * stdtr(free, -abs(part) / rest) < _ABSENT:
        words = f"y has a mean that the columns do not explain, so μ is not in their span. {consequence}"
        warnings.warn(words, UserWarning, stacklevel=5)
