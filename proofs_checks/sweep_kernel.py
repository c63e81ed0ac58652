"""A check of Theorem 3.3 on many small designs: OMP, and at each step the KKT conditions of the LASSO.

At a step, S is the selection of OMP, γ = X_S⁺y are its coefficients, c = Xᵀ(y − X_Sγ), and i is the next
pick; γ⁺ and c⁺ are γ and c for S ∪ i. The LASSO does not penalise S, and λ*(S) is the λ at which features
enter. If λ* = |c_i| exceeds all other |c_j|, then for λ = λ* − ε down to the first event

    β(λ) = γ + (ε/λ*)(γ⁺ − γ),   Xᵀ(y − Xβ(λ)) = c − (ε/λ*)(c − c⁺).

These correlations are zero on S, and sign(c_i)·λ for i. The event is at the least ε > 0 at which the
correlation of another column is ±λ.

The KKT conditions of ½‖y − Xβ‖² + λ‖β_{S̄}‖₁ are *checked* on all columns, from y − Xβ itself, at λ* (where
β_i = 0) and in the middle of the window. β and the bounds ±λ are linear between these two points, so the
conditions hold there too. Outside S ∪ i they hold strictly, so the solutions are unique. So the first feature
enters at λ*(S) = |c_i|, and i is the only feature that enters there, A(S) = {i}. Only S, its QR factorisation
and γ are passed on from step to step.
"""

from __future__ import annotations

import math

import numpy as np

from sparselin._kernels import VECTORIZED, inner, kernel
from sparselin._kernels.linear_algebra import dot, extend_inverse, is_among, project, subtract

VERIFIED, UNDECIDED, VIOLATED = range(3)
_ROUNDING = 8 * 2.0**-52
# A safety factor: rounding errors can exceed their usual size, but not by this factor.
_SURE = 100.0


@kernel()
def sweep(X, Y, k, defect, verdict):
    """Check the designs X (m, n, d), whose columns are scaled to unit length in place, with Y (m, n).

    verdict : (m,) filled with the verdict of each design.
    defect : for tests, (the step at which OMP picks the runner-up, or −1; a factor on the length ε₂ of the
        window below λ*).
    """
    m, n, d = X.shape
    space = (
        np.empty((k, n)),
        np.empty((k, n)),
        np.empty((k, k)),
        np.empty(k),
        np.empty(k),
        np.empty(k),
        np.empty(k, np.intp),
        np.empty(n),
        np.empty(d),
        np.empty(d),
        np.empty(d),
    )
    for b in range(m):
        normalize(X[b], space[-1])
        verdict[b] = sweep_design(X[b], Y[b], k, defect, space)


@inner()
def sweep_design(A, y, k, defect, space):
    """Check all k steps of a design X = A, and return the worst verdict.

    space : workspace. defect : see `sweep`.
    """
    Q, raw, V, column, gamma, beta, chosen, x, c, after, g = space
    root, length = math.sqrt(y.size), math.sqrt(dot(y, y))
    condition, worst = 0.0, VERIFIED
    relative = _ROUNDING * (root + 1)
    error = relative * correlations(A, y, raw, gamma, 0, x, c)
    for t in range(k):
        g[:] = c
        for s in range(t):
            c[chosen[s]] = 0
        i, second = two_largest(c)
        if t == defect[0]:
            c[i], i = 0, second
            second = two_largest(c)[1]
        lam = abs(c[i])
        if lam - (abs(c[second]) if second >= 0 else 0.0) <= 2 * relative * length:
            return max(worst, UNDECIDED)
        for l in range(y.size):
            raw[t, l] = A[l, i]
        Q[t] = raw[t]
        rho = project(Q, t, Q[t], column)
        if rho <= relative:
            return max(worst, UNDECIDED)
        Q[t] /= rho
        condition += extend_inverse(V, column, t, 1 / rho)
        relative = _ROUNDING * (root + math.sqrt(condition))
        chosen[t] = i
        worst = max(worst, judge(g, chosen, t + 1, 0.0, lam, error))
        gamma[t] = 0
        for s in range(t + 1):
            beta[s] = gamma[s]
            gamma[s] += c[i] / rho * V[t, s]
        error = relative * correlations(A, y, raw, gamma, t + 1, x, after)
        event = first_event(c, after, lam, chosen, t + 1) * defect[1]
        for s in range(t + 1):
            beta[s] += event / (2 * lam) * (gamma[s] - beta[s])
        inside = relative * correlations(A, y, raw, beta, t + 1, x, g)
        worst = max(worst, judge(g, chosen, t + 1, beta[t], lam - event / 2, inside))
        c[:] = after
    return worst


@kernel(**VECTORIZED)
def correlations(A, y, raw, beta, size, x, g):
    """Compute g = Xᵀ(y − Xβ) for X = A and β on `size` columns, the rows of `raw`; return ‖y‖ + Σ|β_l|.

    The error of g is the returned number times 8·eps·(√n + κ), κ the condition number of these columns X_S. A
    sum of n terms has the error √n·eps. The term κ comes from β, which is computed by R⁻¹, X_S = QR: the
    computed β is exact for columns that differ from X_S by eps.
    """
    total = math.sqrt(dot(y, y))
    for l in range(y.size):
        x[l] = y[l]
    for s in range(size):
        subtract(beta[s], raw[s], x)
        total += abs(beta[s])
    products(A, x, g)
    return total


@kernel()
def judge(g, chosen, size, b, lam, error):
    """Return the verdict on the KKT conditions at λ for the correlations g.

    The last of the first `size` entries of `chosen` is the pick i, with β_i = b, and the others are S. The
    conditions are: g = 0 on S; g_i = λ·sign b, or ±λ if b = 0; |g_j| < λ on all others. They are checked to
    ±error. g is overwritten on the chosen columns.
    """
    i = chosen[size - 1]
    off = abs(abs(g[i]) - lam) if b == 0 else abs(g[i] - math.copysign(lam, b))
    for s in range(size - 1):
        off = max(off, abs(g[chosen[s]]))
    for s in range(size):
        g[chosen[s]] = 0
    above = 0.0
    for j in range(g.size):
        above = max(above, abs(g[j]))
    if off <= error and above < lam - error:
        return VERIFIED
    return VIOLATED if off > _SURE * error or above > lam + _SURE * error else UNDECIDED


@inner()
def first_event(c, after, lam, chosen, size):
    """Return the length ε₂ of the window: the least ε > 0 with |c_j − ε·b_j| = λ* − ε for some j not chosen.

    Here c and c⁺ = after are the correlations with the residual before and after the pick, λ* = lam and
    b = (c − c⁺)/λ*. The result is at most λ*.
    """
    event = lam
    for j in range(c.size):
        b = (c[j] - after[j]) / lam
        up, down = lam - c[j], lam + c[j]
        if up < event * (1 - b) and not is_among(j, chosen, size):
            event = up / (1 - b)
        if down < event * (1 + b) and not is_among(j, chosen, size):
            event = down / (1 + b)
    return event


@inner()
def two_largest(c):
    """Return the indices of the largest and of the next largest |c| (−1 if no other |c_j| is nonzero)."""
    first, second, a, b = 0, -1, -1.0, 0.0
    for j in range(c.size):
        size = abs(c[j])
        if size > b:
            if size > a:
                first, second, a, b = j, first if a > 0 else -1, size, max(a, 0.0)
            else:
                second, b = j, size
    return first, second


@inner(**VECTORIZED)
def products(A, v, out):
    """Compute out = Aᵀv, eight rows of A per pass."""
    n, d = A.shape
    for j in range(d):
        out[j] = 0
    for i in range(0, n - 7, 8):
        a0, a1, a2, a3 = A[i], A[i + 1], A[i + 2], A[i + 3]
        a4, a5, a6, a7 = A[i + 4], A[i + 5], A[i + 6], A[i + 7]
        v0, v1, v2, v3 = v[i], v[i + 1], v[i + 2], v[i + 3]
        v4, v5, v6, v7 = v[i + 4], v[i + 5], v[i + 6], v[i + 7]
        for j in range(d):
            left = (v0 * a0[j] + v1 * a1[j]) + (v2 * a2[j] + v3 * a3[j])
            out[j] += left + ((v4 * a4[j] + v5 * a5[j]) + (v6 * a6[j] + v7 * a7[j]))
    for i in range(n - n % 8, n):
        row, share = A[i], v[i]
        for j in range(d):
            out[j] += share * row[j]


@kernel(**VECTORIZED)
def normalize(A, squares):
    """Scale the columns of A to unit length, in place; `squares` is workspace."""
    n, d = A.shape
    for j in range(d):
        squares[j] = 0
    for i in range(n):
        row = A[i]
        for j in range(d):
            squares[j] += row[j] * row[j]
    for j in range(d):
        squares[j] = 1 / math.sqrt(squares[j])
    for i in range(n):
        row = A[i]
        for j in range(d):
            row[j] *= squares[j]
