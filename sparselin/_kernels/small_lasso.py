"""The LASSO of small problems: the parts of a run before and after `homotopy.follow`, and the duality gap.

The path is followed on M columns C of X, of which the first t, the set S, have no penalty.
"""

from __future__ import annotations

import math

import numpy as np

from sparselin._kernels import VECTORIZED, inner, kernel
from sparselin._kernels.homotopy import Columns, Place, solve, start
from sparselin._kernels.linear_algebra import copy, dot, is_among, subtract

# The halvings of an interval that contains the level above which columns are chosen.
_HALVINGS = 12


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
def gather(data, by_rows, index, c0, norms, sizes):
    """Return X_Cᵀ (M, n) and the `Columns` of the M columns C in `index`."""
    M, n = index.size, data.shape[0 if by_rows else 1]
    rows, gram = np.empty((M, n)), np.empty((M, M))
    for m in range(M):
        row, j = rows[m], index[m]
        if by_rows:
            for i in range(n):
                row[i] = data[i, j]
        else:
            copy(data[j], row)
    for m in range(M):
        row = rows[m]
        for l in range(0, m - 2, 4):
            a1, a2, a3, a4 = rows[l], rows[l + 1], rows[l + 2], rows[l + 3]
            g1 = g2 = g3 = g4 = 0.0
            for i in range(n):
                g1 += a1[i] * row[i]
                g2 += a2[i] * row[i]
                g3 += a3[i] * row[i]
                g4 += a4[i] * row[i]
            gram[m, l], gram[m, l + 1], gram[m, l + 2], gram[m, l + 3] = g1, g2, g3, g4
        for l in range(m + 1 - (m + 1) % 4, m + 1):
            gram[m, l] = dot(rows[l], row)
        for l in range(m):
            gram[l, m] = gram[m, l]
    y_norm, unit, longest, rank, below = sizes
    return rows, Columns(gram, c0[index], norms[index], y_norm, unit, longest, rank, below)


@inner(**VECTORIZED)
def widen(size, index, M, most):
    """Append to the M columns in `index` at most `most` others, those of the largest positive `size` (d,).

    Returns the new M. `size` of the M columns is set to zero.
    """
    low, high = 0.0, 0.0
    for m in range(M):
        size[index[m]] = 0
    for j in range(size.size):
        high = max(high, size[j])
    for _ in range(_HALVINGS):
        level, count = (low + high) / 2, 0
        for j in range(size.size):
            count += size[j] > level
        low, high = (level, high) if count > most else (low, level)
    for j in range(size.size):
        if size[j] > high:
            index[M] = j
            M += 1
    return M


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


@inner(**VECTORIZED)
def first_place(M, t):
    """Return a `Place` with space for M columns, in which the first t are those without penalty."""
    return Place(
        np.array([t, -1]), np.zeros(1), np.arange(M), np.zeros(M), np.zeros(M), np.empty((M, M)), t
    )  # fmt: skip


@kernel(**VECTORIZED)
def prepare(data, by_rows, y, c0, norms, S, sizes, size, most, index, M):
    """Choose columns of a small problem, and return the arrays that the path on them starts with.

    data, by_rows : X (n, d) in C order, or Xᵀ (d, n) in C order.
    c0, norms, S : Xᵀy and ‖X_j‖ (d,), and the t columns without penalty.
    sizes : the last five fields of `Columns`.
    index, M, size, most : the M columns chosen before; `most` others with the largest `size` (d,) are added.
        If M is zero, S is chosen and those with the largest |c| at the start of the path.

    Returns the new M, κ² of `start`, X_Cᵀ for the chosen columns C, and for their `Columns` and `Place` the
    arrays H, c0, norms, beta and L.
    """
    t = S.size
    if M == 0:
        copy(S, index)
        M = t
        rows, columns = gather(data, by_rows, S, c0, norms, sizes)
        place = first_place(t, t)
        if start(columns, place) < math.inf:
            r = np.empty(y.size)
            finish(columns, place, rows, y, r)
            correlate_all(data, by_rows, r, size)
        for j in range(size.size):
            size[j] = abs(size[j])
    M = widen(size, index, M, most)
    rows, columns = gather(data, by_rows, index[:M], c0, norms, sizes)
    place = first_place(M, t)
    kappa = start(columns, place)
    return M, kappa, rows, columns.H, columns.c0, columns.norms, place.beta, place.L


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


@kernel(**VECTORIZED)
def gap(residual, u, c, S, coef, lam, norms, eps, error):
    """Return the duality gap of `lasso.gap.gap_at`, and fill `error` (d,) with the errors of c = Xᵀu.

    c is set to zero on S, and u and c are scaled in place so that |c_j| ≤ λ.
    """
    steepest, size, slack = 0.0, np.abs(coef), 0.0
    for m in range(S.size):
        c[S[m]] = size[S[m]] = 0
    for j in range(c.size):
        steepest = max(steepest, abs(c[j]))
    if steepest > lam:
        for i in range(u.size):
            u[i] *= lam / steepest
        for j in range(c.size):
            c[j] *= lam / steepest
    apart, unit, rounded = 0.0, 4 * math.sqrt(u.size) * eps * math.sqrt(dot(u, u)), 0.0
    for i in range(u.size):
        apart += (residual[i] - u[i]) ** 2
    for j in range(c.size):
        error[j] = unit * norms[j]
        slack += lam * size[j] - coef[j] * c[j]
        rounded += abs(coef[j]) * unit * norms[j]
    return 0.5 * apart + max(slack, 0.0) + rounded
