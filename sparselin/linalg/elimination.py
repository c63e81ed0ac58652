"""The elimination of forced columns: all other columns and y are projected off them."""

import math

import numpy as np

from sparselin.linalg.thin_qr import ThinQR
from sparselin.problem import Problem
from sparselin.problem.errors import rank_level
from sparselin.results import FloatArray, IndexArray


def eliminate(problem: Problem, forced: IndexArray) -> Problem:
    """Return the problem of P_F^⊥X and P_F^⊥y in float64, where P_F^⊥ projects off the forced columns F.

    F are the `forced` features and, with an intercept, the column of ones. Without forced features the result
    is `centre(problem)`.

    The new problem has the same residuals: ‖P_{F∪S}^⊥y‖ = ‖P_S^⊥(P_F^⊥y)‖, where P_S^⊥ on the right projects
    off the projected columns of S. The same holds for every column in place of y. Columns keep their indices.
    Columns of F become zero. A column x in the span of F to rounding becomes zero too; the rule is
    ‖P_F^⊥x‖ ≤ length_unit·s(x), where s(x) is the size of x (`ThinQR.sizes`). The same rule applies to y.

    For every other column x, the error of P_F^⊥x is u·s(x) with u = 8·eps, plus eps‖P_F^⊥x‖ when it is
    stored. The new problem treats these errors as relative errors of its data. So its eps is the largest
    value of eps·(1 + s(x)/‖P_F^⊥x‖); for a Gram problem the quotient is squared.

    X and y stay in ℝⁿ if there are fewer columns than n − rank X_F. Otherwise they are given in coordinates
    of the orthogonal complement of the span of F, whose dimension is n − rank X_F (at least 1 here). Raises
    MemoryError if X is sparse and a dense copy would be too large.
    """
    if not len(forced):
        return centre(problem)
    double = problem.in_double()
    J = np.arange(problem.n_features)
    removed = problem.with_ones(forced)
    V = np.column_stack([double.columns(J), double.y])
    qr = ThinQR(double, removed)
    norms = np.append(double.column_norms[J], double.y_norm)
    size = qr.sizes(norms, qr.Qt @ V)
    Z = qr.residual(V)
    length = np.sqrt(np.einsum("ij,ij->j", Z, Z))
    outside = length > double.length_unit * size
    outside[removed[removed < problem.n_features]] = False
    Z[:, ~outside] = 0
    if problem.n - qr.size < Z.shape[1]:
        complete = np.linalg.qr(qr.Qt.T, mode="complete")[0]
        Z = complete[:, min(qr.size, problem.n - 1) :].T @ Z
    worst = double.errors.growth(float((size[outside] / length[outside]).max(initial=1.0)))
    return double.of_projections(np.asfortranarray(Z[:, :-1]), Z[:, -1].copy(), removed, 1 + worst)


def centre(problem: Problem) -> Problem:
    """Return the problem without its intercept: its scaled columns and y are projected off the ones.

    The function is for methods that need a dense copy of X in any case. Let t be the column of ones, which
    belongs to every set S of selected columns. Let x be another column or y, and z = x − t·(tᵀx)/(tᵀt). Then
    P_S^⊥x = P_{S∖t}^⊥z, where the columns of S∖t are projected off t too. If x is constant to rounding, z is
    set to zero. The rule is ‖z‖ ≤ length_unit·s(x), where s(x)² = ‖x‖² + ‖t·mean‖² ≤ 2‖x‖² (see
    `ThinQR.sizes`). Raises MemoryError if X is sparse and a dense copy would be too large.

    Without weights, z = x − mean has a relative rounding error of eps, whatever the mean. With weights,
    x·√weight and t·mean each have a relative rounding error of eps, so the eps of the new problem grows by
    √2‖x‖/‖z‖.
    """
    if problem.is_plain:
        return problem
    double = problem.in_double()
    t, scale = double.design.ones, double.design.scale
    removed = np.arange(problem.n_features, problem.d)
    growth = 1.0
    y = double.y
    if t is None:
        X = double.columns(np.arange(double.d))
        removed = problem.removed
    else:
        data = double.to_plain()
        X = data.columns(np.arange(data.d))
        for _ in range(2):
            X, y = (v - np.multiply.outer(t, t @ v) / (t @ t) for v in (X, y))
        norms = np.append(data.column_norms, data.y_norm)
        left = np.append(np.linalg.norm(X, axis=0), np.linalg.norm(y))
        outside = left > math.sqrt(2) * problem.length_unit * norms
        X[:, ~outside[:-1]] = 0
        y = y if outside[-1] else np.zeros(problem.n)
        worst = float((norms[outside] / left[outside]).max(initial=0)) if (t != 1).any() else 0.0
        X = X if scale is None else X * scale
        growth = 1 + math.sqrt(2) * worst
    exact = double.of_projections(X, y, removed, growth)
    if problem is double:
        return exact
    return problem.of_projections(X.astype(problem.dtype), y.astype(problem.dtype), removed, growth, exact)


def restore(problem: Problem, support: IndexArray, coef: FloatArray) -> tuple[FloatArray, float]:
    """Convert the coefficients on the support to the units of the data; return them and the intercept.

    The intercept belongs to the original problem; `problem` no longer contains its column of ones.
    """
    if problem.origin is None:
        return coef, 0.0
    origin = problem.origin
    ones, scale = origin.design.ones, origin.design.scale
    coef = coef if scale is None else coef * scale[support]
    if ones is None:
        return coef, 0.0
    r = origin.y - np.asarray(origin.X[:, support] @ coef)
    removed = origin.columns(problem.removed)  # the ones first
    return coef, float(np.linalg.lstsq(removed, r, rcond=None)[0][0])


def orthonormal_basis(X_S: FloatArray) -> FloatArray:
    """Return an orthonormal basis (n, rank) of the column space of X_S, whose columns may be dependent.

    The basis comes from the SVD of the columns, scaled to length 1.
    """
    norms = np.sqrt(np.sum(X_S**2, axis=0))
    X_S = X_S[:, norms > 0] / norms[norms > 0]
    if X_S.size == 0:
        return np.zeros((len(X_S), 0), X_S.dtype)
    U, sigma, _ = np.linalg.svd(X_S, full_matrices=False)
    rank = int(np.sum(sigma > rank_level(X_S.shape, X_S.dtype) * sigma[0]))
    return np.asarray(U[:, :rank])


def project_off(basis: FloatArray, v: FloatArray) -> FloatArray:
    """Project v (n,) or (n, m) off a subspace, given by an orthonormal basis."""
    for _ in range(2):
        v = v - basis @ (basis.T @ v)
    return v
