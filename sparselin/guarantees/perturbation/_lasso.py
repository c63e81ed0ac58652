"""The gaps of the LASSO at a fixed λ: those of its nonzero coefficients, and those of the other correlations.

Let A be the active set with independent columns, s the signs (0 for features without penalty), H =
(X_AᵀX_A)⁻¹, β = H(X_Aᵀy − λs) and r = y − X_Aβ. While s_iβ_i > 0 on A and |⟨X_j, r⟩| < λ off A, β is the
only solution. With p = Δy − ΔX_Aβ, and Ã, H̃, P̃, Π̃ of the changed columns, the coefficients for the same
A and s become

    β̃ = β + H̃(ΔX_Aᵀr + X̃_Aᵀp),     and     r̃ = r + P̃p − X̃_AH̃ΔX_Aᵀr.

**Coefficients.** With g = X_AHe_i, H̃e_i differs from He_i by −H̃(ΔX_Aᵀg + X̃_AᵀΔX_AHe_i). So the gap s_iβ_i
falls by at most Kε plus the bound of `_gaps` with ‖z‖ = ‖g‖ and u = Σ_t ‖X_t‖|H_ti|, where

    K = ‖g‖‖y‖ + Σ_t ‖X_t‖‖H_tir − β_tg‖.

**Correlations.** With w = X_A⁺X_j, z = P_A^⊥X_j and a = ΔX_j − ΔX_Aw, the correlation of j becomes

    c_j + ⟨a, r⟩ + ⟨z, p⟩ + ⟨P̃a, P̃p⟩ − ⟨Π̃z, p⟩ − ⟨z + a, X̃_AH̃ΔX_Aᵀr⟩,

so the gap λ − σc_j has the same bound, with u = ‖X_j‖ + Σ_t ‖X_t‖|w_t|, and

    K = ‖r‖‖X_j‖ + ‖z‖‖y‖ + Σ_t ‖X_t‖‖β_tz + w_tr‖.

Standardized columns can only turn: of each vector in these sums, only the part orthogonal to X_t counts.
"""

from __future__ import annotations

import dataclasses
import math

import numpy as np

from sparselin.guarantees.perturbation._gaps import Gaps, Spread, of_standardized
from sparselin.guarantees.perturbation._greedy import _least_singular_value
from sparselin.linalg.thin_qr import ThinQR
from sparselin.problem import Problem
from sparselin.problem.memory import blocks
from sparselin.results import FloatArray, IndexArray


@dataclasses.dataclass(frozen=True, eq=False)
class Solution:
    """The solution of the LASSO at λ with an active set A, recomputed in float64.

    A : the active features, those without penalty first; without an intercept.
    signs : their signs; 0 without penalty.
    lam : λ.
    coef : (|A|,) β on A, in the units of the columns of the problem.
    """

    A: IndexArray
    signs: FloatArray
    lam: float
    coef: FloatArray


def lasso_gaps(
    problem: Problem, A: IndexArray, signs: FloatArray, lam: float, *, positive: bool, unit: float
) -> tuple[Gaps, Gaps, Solution] | None:
    """Return the gaps of the coefficients, and of the correlations, at λ; None if the columns A are
    dependent.

    problem : the data, in float64.
    A, signs : see `Solution`.
    positive : whether β ≥ 0 is required; then only c_j = λ brings a feature in, not c_j = −λ.
    unit : the unit of rounding errors.
    """
    d = problem.n_features
    order = problem.with_ones(A)
    offset = len(order) - len(A)
    qr = ThinQR(problem, order.tolist(), capacity=max(1, len(order)))
    if qr.size < len(order):
        return None
    standardized = problem.design.scale is not None
    k = len(A)
    s = np.concatenate([np.zeros(offset), signs])
    inverse = np.linalg.inv(qr.R)
    r0 = qr.residual(problem.y)
    r = r0 + lam * (qr.Qt.T @ (inverse.T @ s))
    coef = inverse @ (qr.Qt @ problem.y - lam * (inverse.T @ s))
    H = inverse @ inverse.T
    inner = order[offset:]
    products = problem.correlate(np.array([*qr.Qt, r]).T).T[:, :d]
    Z = products[: qr.size]
    norms = problem.column_norms[:d].astype(np.float64)
    around = ThinQR(problem, order[:offset].tolist())
    rest = np.sqrt(squares_off(problem, around, Z[:offset], norms, np.arange(d)))
    lengths = np.where(rest > problem.unit * norms, rest, 0)
    ones = qr.Qt[:offset]
    y = problem.y - ones.T @ (ones @ problem.y)
    y_norm = float(np.linalg.norm(y))
    r_norm = float(np.linalg.norm(r))
    sigma = _least_singular_value(problem, qr.R[offset:, offset:], inner, lengths)
    beta = coef[offset:]
    scaled = problem.column_norms[order]
    y_size = math.hypot(float(problem.y_norm), float(np.linalg.norm(scaled * coef)))
    root = max(math.sqrt(problem.n), problem.n / 16)
    at = lengths[inner]
    v = y_norm + float(at @ np.abs(beta))

    def spread(u: FloatArray, z: FloatArray, parallel: FloatArray) -> Spread:
        return Spread(
            u=u,
            z=z,
            h=None,
            v=v,
            r=r_norm,
            parallel=parallel * standardized,
            k=k,
            sigma=sigma,
            standardized=standardized,
        )

    # coefficients with a penalty
    own = np.flatnonzero(signs)
    G = H[offset:, offset:][:, own]  # (k, m): H_ti
    g = np.sqrt(np.maximum(np.diag(H)[offset:][own], 0))  # ‖X_AHe_i‖² = H_ii
    # ⟨r, g⟩ = e_iᵀH X_Aᵀr = λ(Hs)_i, because X_Aᵀr = λs
    rg = lam * (H[offset:, offset:] @ signs)[own]
    rates: FloatArray = (G * r_norm) ** 2 + np.outer(beta, g) ** 2 - 2 * G * beta[:, None] * rg
    # ⟨H_ti r − β_t g, X_t⟩ = H_tiλs_t − β_t[t = i]
    along = G * (lam * signs)[:, None]
    along[own, np.arange(len(own))] -= beta[own]
    vectors: FloatArray = at[:, None] * np.sqrt(np.maximum(rates, 0))
    parallel = np.abs(along).sum(axis=0)
    if standardized:
        vectors = of_standardized(vectors, along)
    size = scaled @ np.abs(H[:, offset:][:, own])  # how far errors of X and y of size 1 change β_i
    error = unit * (size * (r_norm + root * r_norm) + g * (y_size + root * float(problem.y_norm)))
    leaving = Gaps(
        gap=signs[own] * beta[own],
        slope=g * y_norm + vectors.sum(axis=0),
        in_y=g * y_norm,
        error=error,
        rival=inner[own],
        sign=signs[own],
        spread=spread(at @ np.abs(G), g, parallel),
        y_number=0.0,
    )

    # correlations off A
    J = np.flatnonzero(~np.isin(np.arange(d), order) & (lengths > 0))
    both = np.array([1.0] if positive else [1.0, -1.0])
    w = (inverse @ Z[:, J])[offset:]
    z2 = squares_off(problem, qr, Z, norms, J)
    z = np.sqrt(z2)
    c = products[-1][J]
    rz = c - lam * (signs @ w)  # ⟨r, z⟩, since ⟨r, X_Aw⟩ = λ⟨s, w⟩
    rates = (beta[:, None] * z) ** 2 + (w * r_norm) ** 2 + 2 * beta[:, None] * w * rz
    vectors = np.asarray(at[:, None] * np.sqrt(np.maximum(rates, 0)))
    along = lam * signs[:, None] * w
    first: FloatArray = lengths[J] * r_norm
    if standardized:
        vectors = of_standardized(vectors, along)
        first = of_standardized(first, c)
    size = np.sqrt(norms[J] ** 2 + scaled**2 @ (inverse @ Z[:, J]) ** 2)
    error = unit * (size * r_norm * (1 + root) + z * y_size)
    slope = first + z * y_norm + vectors.sum(axis=0)
    m = len(both)
    entering = Gaps(
        gap=np.concatenate([lam - sign * c for sign in both]),
        slope=np.tile(slope, m),
        in_y=np.tile(z * y_norm, m),
        error=np.tile(error, m),
        rival=np.tile(J, m),
        sign=np.repeat(both, len(J)),
        spread=spread(
            np.tile(lengths[J] + at @ np.abs(w), m),
            np.tile(z, m),
            np.tile(np.abs(c) + np.abs(along).sum(axis=0), m),
        ),
        y_number=0.0,
    )
    return leaving, entering, Solution(A=inner, signs=signs, lam=lam, coef=beta)


def squares_off(problem: Problem, qr: ThinQR, Z: FloatArray, norms: FloatArray, J: IndexArray) -> FloatArray:
    """Return ‖P_A^⊥X_j‖² for the columns J, from vectors where it cancels."""
    squares = norms[J] ** 2 - (Z[:, J] ** 2).sum(axis=0)
    stale = np.flatnonzero(squares <= 1e-4 * norms[J] ** 2)
    for here in blocks(len(stale), problem.n):
        R = qr.residual(problem.columns(J[stale[here]]))
        squares[stale[here]] = np.einsum("ij,ij->j", R, R)
    return np.asarray(np.maximum(squares, 0))
