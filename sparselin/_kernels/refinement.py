"""The residuals of the augmented system of least squares in twice the working precision.

Each product and sum is split into its rounded value and its error (Knuth, and a fused multiply-add for
products), and the errors are summed separately (Ogita, Rump and Oishi, 2005). The result is as accurate as a
computation with the machine epsilon eps² whose result is rounded to float64. The splitting requires that
every operation is rounded as written. So the compiler may neither reorder sums nor contract products here.
"""

import numpy as np

from sparselin._kernels import inner, kernel
from sparselin._kernels.primitives import multiply_add


@inner(inline="always")
def _product(a, b):
    """Return the rounded product of a and b, and its rounding error, which is a float."""
    p = a * b
    return p, multiply_add(a, b, -p)


@inner(inline="always")
def _sum(a, b):
    """Return the rounded sum of a and b, and its rounding error, which is a float."""
    s = a + b
    t = s - a
    return s, (a - (s - t)) + (b - t)


@kernel()
def remainders(A, f, g, r, r_low, x, x_low):
    """Return the residuals f − (r + r_low) − Aᵀ(x + x_low) and g − A(r + r_low), for A (t, n).

    The residuals are computed in twice the precision and then rounded.
    """
    t, n = A.shape
    above, lost = np.empty(n), np.empty(n)
    for i in range(n):
        above[i], lost[i] = _sum(f[i], -r[i])
        lost[i] -= r_low[i]
    below = np.empty(t)
    for j in range(t):
        row = A[j]
        x1 = -x[j]
        x2 = x_low[j]
        for i in range(n):
            p, e = _product(row[i], x1)
            above[i], e2 = _sum(above[i], p)
            lost[i] += e + e2 - row[i] * x2
        total = g[j]
        rest = 0.0
        for i in range(n):
            p, e = _product(row[i], -r[i])
            total, e2 = _sum(total, p)
            rest += e + e2 - row[i] * r_low[i]
        below[j] = total + rest
    return above + lost, below


@kernel()
def correlations(A, r, r_low):
    """Return A(r + r_low) for A (t, n), computed in twice the precision and then rounded."""
    t, n = A.shape
    out = np.empty(t)
    for j in range(t):
        row = A[j]
        total = 0.0
        rest = 0.0
        for i in range(n):
            p, e = _product(row[i], r[i])
            total, e2 = _sum(total, p)
            rest += e + e2 + row[i] * r_low[i]
        out[j] = total + rest
    return out


@kernel()
def add(high, low, x):
    """Add x in place to the number that is stored as a sum high + low of two floats."""
    for j in range(high.size):
        s, e = _sum(high[j], x[j])
        high[j], low[j] = _sum(s, low[j] + e)


@kernel()
def add_multiple(high, low, factor, x, x_low):
    """Add factor·(x + x_low) in place to the number that is stored as a sum high + low of two floats."""
    for j in range(high.size):
        p, e = _product(factor, x[j])
        s, e2 = _sum(high[j], p)
        high[j], low[j] = _sum(s, low[j] + (e + e2 + factor * x_low[j]))


@kernel()
def along(high, low, lam, slope_high, slope_low):
    """Return x − λ·slope, where x and slope are each stored as a sum high + low of two floats."""
    out = np.empty(high.size)
    for j in range(high.size):
        p, e = _product(-lam, slope_high[j])
        s, e2 = _sum(high[j], p)
        out[j] = s + (e + e2 + low[j] - lam * slope_low[j])
    return out


@inner()
def _twofold_dot(a, b):
    """Return ⟨a, b⟩ as a sum of two floats, computed in twice the precision."""
    total = 0.0
    rest = 0.0
    for i in range(a.size):
        p, e = _product(a[i], b[i])
        total, e2 = _sum(total, p)
        rest += e + e2
    return _sum(total, rest)


@kernel()
def first_segment(x, z, y):
    """Return ⟨x, y⟩, ‖x‖², and the λ at which column z enters the LASSO after column x, accurate to rounding.

    Column x enters at λ* = |⟨x, y⟩|. Below λ* the residual is r₀ + λu with u = s·x/‖x‖², s = sign ⟨x, y⟩. So
    column z enters at λ = |a|/(1 − sign(a)b) with a = ⟨z, r₀⟩ and b = ⟨z, u⟩. Both are multiplied by ‖x‖²:

        ‖x‖²a = ⟨z, y⟩‖x‖² − ⟨x, y⟩⟨z, x⟩,   ‖x‖²b = s⟨z, x⟩.
    """
    c, c_low = _twofold_dot(x, y)
    h, h_low = _twofold_dot(x, x)
    d, d_low = _twofold_dot(z, y)
    g, g_low = _twofold_dot(z, x)
    p, e = _product(d, h)
    q, e2 = _product(-c, g)
    a, e3 = _sum(p, q)
    a += e3 + (e + e2 + (d * h_low + d_low * h - c * g_low - c_low * g))
    s = 1.0 if (c > 0) == (a > 0) else -1.0  # s·sign(a)
    speed, e = _sum(h, -s * g)
    return c, h, abs(a) / (speed + (e + (h_low - s * g_low)))
