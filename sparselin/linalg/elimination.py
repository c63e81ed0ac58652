"""The problem that is left when some columns are in every set: all columns and y projected off them."""

from __future__ import annotations

import numpy as np

from sparselin.linalg.thin_qr import ThinQR
from sparselin.problem import Problem
from sparselin.results import FloatArray, IndexArray


def eliminate(problem: Problem, forced: IndexArray) -> Problem:
    """P_F^⊥X and P_F^⊥y in float64, F the column of ones of an intercept and the forced features.

    Without forced features, `Problem.eliminated()`.

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
        return problem.eliminated()
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
    worst = float((size[outside] / length[outside]).max(initial=1.0)) ** double.power
    return double.projected(np.asfortranarray(Z[:, :-1]), Z[:, -1].copy(), removed, 1 + worst)


def orthonormal_basis(X_S: FloatArray) -> FloatArray:
    """(n, rank) orthonormal basis of colspan(X_S), of any rank, from the SVD of X_S with unit columns."""
    norms = np.sqrt(np.sum(X_S**2, axis=0))
    X_S = X_S[:, norms > 0] / norms[norms > 0]
    if X_S.size == 0:
        return np.zeros((len(X_S), 0), X_S.dtype)
    U, sigma, _ = np.linalg.svd(X_S, full_matrices=False)
    rank = int(np.sum(sigma > max(X_S.shape) * np.finfo(X_S.dtype).eps * sigma[0]))
    return np.asarray(U[:, :rank])


def project_off(basis: FloatArray, v: FloatArray) -> FloatArray:
    """P_S^⊥v for an orthonormal basis of colspan(X_S); v (n,) or (n, m)."""
    for _ in range(2):
        v = v - basis @ (basis.T @ v)
    return v
