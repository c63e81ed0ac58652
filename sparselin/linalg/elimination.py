"""The problem that is left when some columns are in every set: all columns and y projected off them."""

from __future__ import annotations

import math

import numpy as np

from sparselin.linalg.thin_qr import ThinQR
from sparselin.problem import Problem
from sparselin.problem.errors import rank_level
from sparselin.results import FloatArray, IndexArray


def eliminate(problem: Problem, forced: IndexArray) -> Problem:
    """P_F^⊥X and P_F^⊥y in float64, F the column of ones of an intercept and the forced features.

    Without forced features, `centre(problem)`.

    With F in every set, ‖P_{F∪S}^⊥y‖ = ‖P_S^⊥(P_F^⊥y)‖ where the right P_S is of projected columns, and
    likewise for every column. Columns keep their indices; those in the span of F, to rounding
    (‖P_F^⊥x‖ ≤ length_unit·s(x), see `ThinQR.sizes`), F among them, are zero, and so is such a y.

    The others err by u·s(x), u = 8·eps, and by eps when they are stored: as data they are known to
    eps·(1 + s(x)/‖P_F^⊥x‖) of their length. The eps of the new problem is the largest of these, for a Gram
    problem with the square of the quotient.

    X and y stay in ℝⁿ if there are fewer columns than n − rank X_F; else they are in coordinates of the
    complement of F, which has that dimension (1 is the least here). MemoryError if X is sparse, and too large
    when dense.
    """
    if not len(forced):
        return centre(problem)
    double, J = problem.in_double(), np.arange(problem.n_features)
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
    worst = float((size[outside] / length[outside]).max(initial=1.0)) ** double.errors.power
    return double.of_projections(np.asfortranarray(Z[:, :-1]), Z[:, -1].copy(), removed, 1 + worst)


def centre(problem: Problem) -> Problem:
    """Return the problem without its intercept: its columns, scaled, and y, both projected off the ones.

    For methods that work on a dense copy of X in any case. With a column of the ones t in every S,
    P_S^⊥x = P_{S∖t}^⊥(x − t·(tᵀx)/(tᵀt)). A column, or y, that is constant to rounding is zero: at most
    length_unit·s(x) is left of it, s(x)² = ‖x‖² + ‖t·mean‖² ≤ 2‖x‖² (see `ThinQR.sizes`). MemoryError if
    X is sparse, and too large when dense.

    x − mean is rounded to eps of itself, whatever mean is; x·√weight and t·mean to eps of themselves,
    so that with weights eps grows by √2‖x‖/‖z‖, z what is left.
    """
    if problem.is_plain:
        return problem
    double = problem.in_double()
    X, t, scale = double.design
    removed, growth, y = np.arange(problem.n_features, problem.d), 1.0, double.y
    if t is None:
        X, removed = double.columns(np.arange(double.d)), problem.removed
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
        X, growth = X if scale is None else X * scale, 1 + math.sqrt(2) * worst
    exact = double.of_projections(X, y, removed, growth)
    if problem is double:
        return exact
    return problem.of_projections(X.astype(problem.dtype), y.astype(problem.dtype), removed, growth, exact)


def restore(problem: Problem, support: IndexArray, coef: FloatArray) -> tuple[FloatArray, float]:
    """Coefficients on the support in the units of the data, and the intercept that was eliminated."""
    if problem.origin is None:
        return coef, 0.0
    origin = problem.origin
    _, ones, scale = origin.design
    coef = coef if scale is None else coef * scale[support]
    if ones is None:
        return coef, 0.0
    r = origin.y - np.asarray(origin.X[:, support] @ coef)
    removed = origin.columns(problem.removed)  # the ones first
    return coef, float(np.linalg.lstsq(removed, r, rcond=None)[0][0])


def orthonormal_basis(X_S: FloatArray) -> FloatArray:
    """(n, rank) orthonormal basis of colspan(X_S), of any rank, from the SVD of X_S with unit columns."""
    norms = np.sqrt(np.sum(X_S**2, axis=0))
    X_S = X_S[:, norms > 0] / norms[norms > 0]
    if X_S.size == 0:
        return np.zeros((len(X_S), 0), X_S.dtype)
    U, sigma, _ = np.linalg.svd(X_S, full_matrices=False)
    rank = int(np.sum(sigma > rank_level(X_S.shape, X_S.dtype) * sigma[0]))
    return np.asarray(U[:, :rank])


def project_off(basis: FloatArray, v: FloatArray) -> FloatArray:
    """P_S^⊥v for an orthonormal basis of colspan(X_S); v (n,) or (n, m)."""
    for _ in range(2):
        v = v - basis @ (basis.T @ v)
    return v
