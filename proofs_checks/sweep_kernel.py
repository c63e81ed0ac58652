"""A check of Theorem 3.3 on many small designs: the picks of OMP satisfy the KKT conditions of the LASSO.

The picks are those of the compiled OMP of the library; the check shares with it only inner products and the
projection of a column. At a step, S is the selection of OMP, γ = X_S⁺y are its coefficients,
c = Xᵀ(y − X_Sγ), and i is the next pick; γ⁺ and c⁺ are γ and c for S ∪ i. The LASSO does not penalise S, and
λ*(S) is the λ at which features enter. If λ* = |c_i| exceeds all other |c_j|, then for λ = λ* − ε down to
the first event

    β(λ) = γ + (ε/λ*)(γ⁺ − γ),   Xᵀ(y − Xβ(λ)) = c − (ε/λ*)(c − c⁺).

These correlations are zero on S, and sign(c_i)·λ for i. The event is at the least ε > 0 at which the
correlation of another column is ±λ.

The KKT conditions of ½‖y − Xβ‖² + λ‖β_{S̄}‖₁ are *checked* on all columns, from y − Xβ itself, at λ* (where
β_i = 0) and in the middle of the window. β and the bounds ±λ are linear between these two points, so the
conditions hold there too. Outside S ∪ i they hold strictly, so the solutions are unique. So the first feature
enters at λ*(S) = |c_i|, and i is the only feature that enters there, A(S) = {i}. Only S, its QR factorisation
and γ are passed on from step to step.
"""

import math

import numpy as np

from sparselin._kernels import inner, kernel
from sparselin._kernels.descent import combine
from sparselin._kernels.linear_algebra import extend_inverse, project
from sparselin._kernels.many import levels_for, select
from sparselin._kernels.primitives import dot, is_among, subtract
from sparselin._kernels.screen import Levels

VERIFIED, UNDECIDED, VIOLATED = range(3)
_ROUNDING = 8 * 2.0**-52
# A safety factor: rounding errors can exceed their usual size, but not by this factor.
_SURE = 100.0


@kernel()
def sweep(X, Y, k, verdict):
    """Check the designs X (m, n, d), whose columns have unit length, with Y (m, n).

    verdict : (m,) filled with the verdict of each design at k steps. It is UNDECIDED if the compiled OMP of
        the library is not certain of k picks.
    """
    levels = Levels(
        correlation=_ROUNDING * math.sqrt(X.shape[1]),
        unit=_ROUNDING,
        of_squares=False,
        y_norm=0.0,
        dependent=_ROUNDING,
        floor=0.0,
    )
    ones, none, picks = np.ones(X.shape[2]), np.empty(0, np.intp), np.empty(k, np.intp)
    for b in range(len(X)):
        r = Y[b].copy()
        count = select(X[b], ones, ones, r, none, levels_for(levels, r), None, picks)
        verdict[b] = check(X[b], Y[b], picks, 1.0) if count == k else UNDECIDED


@kernel()
def check(A, y, picks, factor):
    """Check the picks of OMP on a design X = A at all steps, and return the worst verdict.

    factor : for tests, a factor on the length ε₂ of the window below λ*.
    """
    (n, d), k = A.shape, picks.size
    Q, raw, V, column = np.empty((k, n)), np.empty((k, n)), np.empty((k, k)), np.empty(k)
    gamma, beta, x, c, after, g = np.zeros(k), np.empty(k), np.empty(n), np.empty(d), np.empty(d), np.empty(d)
    root, condition, worst = math.sqrt(n), 0.0, VERIFIED
    relative = _ROUNDING * (root + 1)
    error = relative * correlations(A, y, raw, gamma, 0, x, c)
    for t in range(k):
        i = picks[t]
        lam = abs(c[i])
        g[:] = c
        worst = max(worst, judge(g, picks, t + 1, 0.0, lam, error))
        for l in range(n):
            Q[t, l] = raw[t, l] = A[l, i]
        rho = project(Q, t, Q[t], column)
        if rho <= relative or lam == 0:
            return max(worst, UNDECIDED)
        Q[t] /= rho
        condition += extend_inverse(V, column, t, 1 / rho)
        relative = _ROUNDING * (root + math.sqrt(condition))
        for s in range(t + 1):
            beta[s] = gamma[s]
            gamma[s] += c[i] / rho * V[t, s]
        error = relative * correlations(A, y, raw, gamma, t + 1, x, after)
        event = first_event(c, after, lam, picks, t + 1) * factor
        for s in range(t + 1):
            beta[s] += event / (2 * lam) * (gamma[s] - beta[s])
        inside = relative * correlations(A, y, raw, beta, t + 1, x, g)
        worst = max(worst, judge(g, picks, t + 1, beta[t], lam - event / 2, inside))
        c[:] = after
    return worst


@kernel()
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
    combine(A, x, g)
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
