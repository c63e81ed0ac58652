"""Runs of `homotopy.follow` from the start of a path to its end, and the summary of a path."""

import numpy as np

from sparselin._kernels import inner, kernel
from sparselin._kernels.homotopy import DECLINED, DONE, SPREAD, Place, follow, solve, start
from sparselin._kernels.primitives import copy, dot, is_among, subtract


@kernel()
def run(columns, rows, y, free, until, trail, beta, r):
    """Follow the path of M columns from its start, and correct the solution if the run reaches the end.

    columns, until, trail : see `follow`.
    rows : the M columns as rows.
    free : the columns S without penalty.
    beta, r : (M,) and (n,), replaced by the solution at the end and its residual, if the run reaches it.

    Returns a code that says why the run ended, which is DECLINED also if X_S is not well conditioned; the
    number of points; and the rounding scale that `finish` returns, or zero.
    """
    M = columns.c0.size
    t = free.size
    place = Place(
        state=np.array([t, -1]),
        lam=np.array([2 * columns.longest * columns.y_norm]),  # |c_j| ≤ ‖X_j‖‖y‖
        order=np.arange(M),
        sign=np.zeros(M),
        beta=np.zeros(M),
        L=np.empty((M, M)),
        n_free=t,
    )
    copy(free, place.order)
    if t > 0 and start(columns, place) > t * SPREAD * SPREAD:
        return DECLINED, 0, 0.0
    ending, m = follow(columns, place, until, trail)
    if ending != DONE:
        return ending, m, 0.0
    size = finish(columns, place, rows, y, beta, r)
    if len(trail.coef) > 0:
        copy(beta, trail.coef[m - 1])
    return ending, m, size


@inner()
def finish(columns, place, rows, y, beta, r):
    """Compute the solution `beta` (M,) at the end of a run, and its residual r = y − Xβ (n,).

    rows : the M columns as rows.

    β of the run is corrected as by `Candidates.refine`. Returns the rounding scale ‖y‖ + Σ‖X_l‖|β_l|, or zero
    if afterwards a penalised coefficient has the wrong sign or another column violates |⟨X_j, r⟩| ≤ λ.
    """
    p = place.state[0]
    lam = place.lam[0]
    order, sign = place.order, place.sign
    size = columns.y_norm
    short, extra = np.empty(p), np.empty(p)
    beta[:] = 0
    copy(y, r)
    for k in range(p):
        subtract(place.beta[k], rows[order[k]], r)
    for k in range(p):
        short[k] = dot(rows[order[k]], r) - lam * sign[k]
    solve(place.L, p, short, extra)
    kept = True
    for k in range(p):
        subtract(extra[k], rows[order[k]], r)
        value = place.beta[k] + extra[k]
        kept &= (sign[k] == 0) | ((place.beta[k] != 0) & (sign[k] * value > 0))
        beta[order[k]] = value
    for k in range(p):
        size += columns.norms[order[k]] * abs(beta[order[k]])
    for j in range(beta.size):
        if not is_among(j, order, p):
            c = dot(rows[j], r)
            kept &= max(c, columns.below * c) <= lam + 4 * columns.unit * size * columns.norms[j]
    return size if kept else 0.0


@kernel()
def correlate(X, by_rows, r, c):
    """Compute c = Xᵀr (d,) for a small X (n, d); if not `by_rows`, X is given as its transpose."""
    if by_rows:
        c[:] = 0
        for i in range(r.size):
            subtract(-r[i], X[i], c)
    else:
        for j in range(c.size):
            c[j] = dot(X[j], r)


@kernel()
def violations(c, lam, unit, norms, index, t, beta, excess):
    """Compute by how much the columns violate |c_j| ≤ λ at a solution: |c_j| − λ, or zero.

    index, beta : (M,) the columns on which the solution was computed, and their coefficients. The first t
        columns have no penalty.
    excess : (d,), filled with |c_j| − λ if this exceeds the error unit·‖X_j‖, and else with zeros. It is zero
        where β_j ≠ 0 and without penalty.

    Returns the number of violations, and their number on the columns `index`.
    """
    count, known = 0, 0
    for j in range(c.size):
        over = abs(c[j]) - lam
        excess[j] = over if over > unit * norms[j] else 0.0
    for l in range(index.size):
        if (l < t) | (beta[l] != 0):
            excess[index[l]] = 0.0
        known += excess[index[l]] > 0
    for j in range(c.size):
        count += excess[j] > 0
    return count, known


@kernel()
def summary(coef, columns, lams, c, S, total):
    """Return the p columns with a nonzero coefficient at one of m knots, β on them (m, p), and R² (m,) there.

    coef : (m, M) β on the M `columns` at each knot; lams (m,) are the λ.
    c, total : Xᵀz (d,) and ‖z‖², where z is y, or y minus its mean.
    S : the columns without penalty.

    R² is (⟨β, c⟩ + λ‖β_{S̄}‖₁)/‖z‖², with the columns S̄ outside S; it is 0 if z is zero.
    """
    m, M = coef.shape
    # of each column in β; at first of each in `columns`
    place = np.full(c.size, -1)
    r2 = np.zeros(m)
    p = 0
    for l in range(M):
        for i in range(m):
            if coef[i, l] != 0:
                place[columns[l]] = l
                p += 1
                break
    features = np.empty(p, np.intp)
    beta = np.empty((m, p))
    p = 0
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
