"""Leave-one-out along a path of least squares, in closed form, and its correction."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sparselin.linalg.thin_qr import ThinQR
from sparselin.problem import Problem, as_problem, takes_problem
from sparselin.problem.arguments import rows_with_weight
from sparselin.problem.errors import coarseness
from sparselin.problem.paths import other_data
from sparselin.results import FloatArray, LeaveOneOut, SelectionPath


@takes_problem
@np.errstate(divide="ignore", over="ignore")
def leave_one_out(
    X: Any, y: ArrayLike | None, path: SelectionPath, *, sample_weight: ArrayLike | None = None
) -> LeaveOneOut:
    """Return the leave-one-out errors of least squares on the first 0, …, t features of a path.

    **The support stays fixed.** Only the coefficients are fitted again without each row; the selection is not
    repeated. So the errors are too small, like the residual after a selection, and more so the more features
    there were to choose from. If X (50, 100) and y are pure noise of variance 1 and OMP picks five features,
    then over 200 draws the mean error is .67 and the mean corrected error .82, but the mean error on new rows
    is 1.55. Cross-validation of the whole procedure repeats the selection (docs/guide/choosing_k.md shows
    both). Leave-one-out is right for features that were chosen without y.

    **The formula.** Let β minimise Σ w_i(y_i − a_iᵀβ)² for weights w_i > 0. The rows a_iᵀ of A hold the first
    features of the path, and a one for the intercept. Let W = diag(w), G = AᵀWA, e_i = y_i − a_iᵀβ, and let
    h_i = w_i·a_iᵀG⁻¹a_i be the leverage of row i. Without row i, G becomes G − w_i·a_ia_iᵀ, and AᵀWy becomes
    AᵀWy − w_i·y_ia_i. If h_i < 1, the formula of Sherman and Morrison gives the coefficients without row i,
    and then the error on row i:

        β₍ᵢ₎ = β − w_i·e_i/(1 − h_i)·G⁻¹a_i,     y_i − a_iᵀβ₍ᵢ₎ = e_i + e_i·h_i/(1 − h_i) = e_i/(1 − h_i).

    So error = Σ w_i(e_i/(1 − h_i))²/Σ w_i. A row is left out with its whole weight; a row of weight 2 is not
    the same as two equal rows. A row of weight 0 does not count. If √W·A = QR, then h_i is the squared length
    of row i of Q, and one QR factorisation serves all sizes, because each step appends a column to Q. Scaling
    the columns of A changes neither e_i nor h_i, so `standardize` makes no difference.

    h_i = 1 if and only if A has a smaller rank without row i, for example if a column is zero in all other
    rows. Then the fit without row i is not unique, and the error of this size is ∞. This is decided up to
    rounding: 1 − h_i = ‖z_i‖² for z_i = (I − QQᵀ)u_i with the unit vector u_i, and z_i counts as zero by the
    rule for dependent columns (`ThinQR`). If 1 − h_i < 0.001, the difference has lost digits, and ‖z_i‖² is
    computed instead. The residual keeps its digits, because it is projected twice.

    **The correction.** Let n be the number of rows with w_i > 0, and p the number of columns of A. Let C be
    AᵀWA/Σ w_i for standardized features (without an intercept: divided by their root mean squares). Then

        corrected = error·n/(n − p)·(1 + tr(C⁻¹)/n).

    With an intercept, tr(C⁻¹) is 1 plus the sum of the variance inflation factors. Chapelle, Vapnik and
    Bengio (*Model selection for small sample regression*, 2002) derived this factor for the error on the rows
    of the fit, for features that are chosen without y. Blatman and Sudret (*Adaptive sparse polynomial chaos
    expansion based on least angle regression*, 2011) multiply the leave-one-out error by it, which is more
    cautious if there are few rows.

    Parameters
    ----------
    X, y : the data from which the path was computed: design (n, d) and response (n,), or one `Problem` in
        place of both. Rows are needed, so neither a Gram problem, nor a compressed problem, nor a
        LinearOperator is accepted. The intercept is taken from the path, or from the `Problem`. A `Problem`
        with weights but without an intercept does not keep Σ w_i, so the number n of rows with a positive
        weight replaces it; pass X, y and `sample_weight` instead.
    path : a `SelectionPath`, for example of `omp`, `ols` or `sequential_lasso`.
    sample_weight : the weights with which the path was computed. Their unit does not matter.

    Returns
    -------
    LeaveOneOut, in float64 for every dtype of X.

    Raises
    ------
    TypeError, ValueError : bad data (see `Problem`); a path of another class, or of `omp(...,
        positive=True)`, for which the formula does not hold; or a path that was not computed from these data
        (some residual norm differs by more than rounding).

    >>> import numpy as np, sparselin as sl
    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.standard_normal((50, 100)), rng.standard_normal(50)
    >>> found = sl.leave_one_out(X, y, sl.omp(X, y, 5))
    >>> found
    <LeaveOneOut: least error with 5 features, least corrected error with 5>
    >>> found.error.round(2), found.corrected.round(2)
    (array([1.02, 0.91, 0.86, 0.77, 0.71, 0.65]), array([1.02, 0.94, 0.93, 0.87, 0.84, 0.8 ]))
    """
    if not isinstance(path, SelectionPath):
        raise TypeError(f"path must be a SelectionPath, as omp and ols return; got {type(path).__name__}")
    if path.positive:
        raise ValueError("path must not come from positive=True: the closed form is for least squares only")
    centred = not isinstance(X, Problem) and path.with_intercept
    problem = as_problem(X, y, sample_weight=sample_weight, intercept=centred)
    A = problem.exact_columns(problem.with_ones(problem.by_position().indices(path.support, "path")))
    if A is None:
        raise TypeError("rows of X are needed; a Gram or compressed problem has none. Pass X and y")
    y = problem.double_y
    m = A.shape[1] - len(path)
    d = len(path) + 1
    if m:
        weight = A[:, 0] ** 2
    elif sample_weight is not None:
        weight = np.asarray(sample_weight, np.float64)
    else:
        weight = np.zeros(len(y))
        weight[rows_with_weight(problem, X, None)] = 1.0
    # a problem has at least one column
    qr = ThinQR(Problem(A if A.shape[1] else y[:, None], y), unit=problem.length_unit)
    error = np.zeros(d)
    p = np.zeros(d, np.intp)
    coarse = coarseness(path.coef_path, problem.eps)
    for t in range(d):
        if t + m:
            qr.append(t + m - 1)
        r = qr.residual(y)
        slack = coarse * problem.rounding(3 * qr.kappa) * problem.y_norm
        if not abs(np.linalg.norm(r) - float(path.residual_norm[t])) <= slack:
            raise other_data(f"‖r‖ of its model of size {t} differs")
        error[t] = np.square(_errors_without(qr, r)).sum() / weight.sum()
        p[t] = qr.size
    n = np.count_nonzero(weight)
    R = qr.R[m:, m:]  # the factor of the centred features
    scaled = np.linalg.norm(R, axis=0)[:, None] * np.linalg.solve(R, np.eye(len(R)))
    trace = m + np.append(0.0, np.cumsum(np.square(scaled).sum(axis=0)))[p - m]
    corrected = error * (n / (n - p)) * (1 + trace / n)
    f = int(np.count_nonzero(np.isnan(path.lam_star)))
    best, best_corrected = (f + int(np.argmin(values[f:])) for values in (error, corrected))
    r2 = 1 - error / error[0] if 0 < error[0] < np.inf else np.zeros(d)
    return LeaveOneOut(np.arange(d), error, corrected, r2, best, best_corrected)


def _errors_without(qr: ThinQR, r: FloatArray) -> FloatArray:
    """Return √w_i·(y_i − a_iᵀβ₍ᵢ₎), the weighted errors on the rows left out (n,), given the residual r.

    They are ∞ for the rows that determine their own fit.
    """
    left = 1 - np.einsum("ij,ij->j", qr.Qt, qr.Qt)
    high = np.flatnonzero(left < 1e-3)
    if len(high):
        Z = qr.residual(np.equal.outer(np.arange(len(r)), high).astype(np.float64))
        lengths = np.linalg.norm(Z, axis=0)
        least = qr.problem.length_unit * qr.sizes(1.0, qr.Qt[:, high])
        left[high] = np.where(lengths <= least, 0, lengths**2)
    return np.asarray(np.divide(r, left, out=np.full(len(r), np.inf), where=left > 0))
