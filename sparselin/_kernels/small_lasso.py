"""The LASSO of small problems: the parts of a run before and after `homotopy.follow`, and the duality gap.

The path is followed on M columns C of X, of which the first t, the set S, have no penalty.
"""

from __future__ import annotations

import numpy as np

from sparselin._kernels import VECTORIZED, inner, kernel
from sparselin._kernels.homotopy import solve
from sparselin._kernels.linear_algebra import copy, dot, is_among, subtract


@inner(**VECTORIZED)
def correlate_all(data, by_rows, r, c):
    """Compute c = Xᵀr (d,) for r (n,)."""
    if by_rows:
        c[:] = 0
        for i in range(0, r.size - 3, 4):
            a1, a2, a3, a4 = data[i], data[i + 1], data[i + 2], data[i + 3]
            r1, r2, r3, r4 = r[i], r[i + 1], r[i + 2], r[i + 3]
            for j in range(c.size):
                c[j] += (r1 * a1[j] + r2 * a2[j]) + (r3 * a3[j] + r4 * a4[j])
        for i in range(r.size - r.size % 4, r.size):
            subtract(-r[i], data[i], c)
    else:
        for j in range(c.size):
            c[j] = dot(data[j], r)


@inner(**VECTORIZED)
def finish(columns, place, rows, y, r):
    """Correct β at the end of a run, and compute the residual r = y − Xβ (see `Candidates.refine`).

    Returns whether the penalised coefficients keep their signs.
    """
    p, lam, order, beta, sign = place.state[0], place.lam[0], place.order, place.beta, place.sign
    short, extra = np.empty(p), np.empty(p)
    copy(y, r)
    for k in range(p):
        subtract(beta[k], rows[order[k]], r)
    for k in range(p):
        short[k] = dot(rows[order[k]], r) - lam * sign[k]
    solve(place.L, p, short, extra)
    kept = True
    for k in range(p):
        subtract(extra[k], rows[order[k]], r)
        kept &= (sign[k] == 0) | ((beta[k] != 0) & (sign[k] * (beta[k] + extra[k]) > 0))
        beta[k] += extra[k]
    return kept


@kernel(**VECTORIZED)
def conclude(data, by_rows, y, norms, rounding, columns, place, rows, index, coef, r, c, excess):
    """Compute β (d,), r = y − Xβ (n,) and c = Xᵀr (d,) at the end of a run, and check |c_j| ≤ λ.

    rounding : the error of c_j, relative to ‖X_j‖(‖y‖ + Σ‖X_l‖|β_l|).
    index : the columns of the run.
    excess : (d,) filled with the amounts by which |c_j| exceeds λ, if by more than rounding; else zero.

    Returns whether β is certain to be the end of the path on the columns of the run.
    """
    kept, size, lam = finish(columns, place, rows, y, r), columns.y_norm, place.lam[0]
    correlate_all(data, by_rows, r, c)
    for k in range(place.state[0]):
        coef[index[place.order[k]]] = place.beta[k]
        size += columns.norms[place.order[k]] * abs(place.beta[k])
    for j in range(c.size):
        above = max(c[j], columns.below * c[j]) - lam
        excess[j] = above if above > rounding * size * norms[j] else 0.0
    for k in range(place.state[0]):
        excess[index[place.order[k]]] = 0
    for m in range(index.size):
        kept &= excess[index[m]] == 0
    return kept


@kernel(**VECTORIZED)
def summary(coef, columns, lams, c, S, total):
    """Return the p columns with a nonzero coefficient at one of m knots, β on them (m, p), and R² (m,) there.

    coef : (m, M) β on the M `columns` at each knot; lams (m,) are the λ.
    c, total : Xᵀz (d,) and ‖z‖², where z is y, or y minus its mean.
    S : the columns without penalty.

    R² is (⟨β, c⟩ + λ‖β_{S̄}‖₁)/‖z‖², with the columns S̄ outside S; it is 0 if z is zero.
    """
    m, M = coef.shape
    place, r2, p = np.full(c.size, -1), np.zeros(m), 0  # of each column in β; at first of each in `columns`
    for l in range(M):
        for i in range(m):
            if coef[i, l] != 0:
                place[columns[l]] = l
                p += 1
                break
    features, beta, p = np.empty(p, np.intp), np.empty((m, p)), 0
    for j in range(c.size):
        if place[j] >= 0:
            penalty = 0.0 if is_among(j, S, S.size) else 1.0
            features[p] = j
            for i in range(m):
                x = coef[i, place[j]]
                beta[i, p] = x
                r2[i] += x * c[j] + penalty * lams[i] * abs(x)
            p += 1
    for i in range(m):
        r2[i] = min(max(r2[i] / total, 0.0), 1.0) if total > 0 else 0.0
    return features, beta, r2
