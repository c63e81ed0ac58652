"""Gradient descent on F(w, θ) = ½‖y − X(s(w)∘θ)‖² + ½λ_w‖w‖² + ½λ_θ‖θ‖², X (n, m).

A point is x = (w, θ) (2m,). We write s = s(w) for the mask, β = s∘θ, r = y − Xβ and g = Xᵀr. A normalised
mask does not depend on the scale of w: then λ_w = 0, and ‖w‖ is constant. The ℓ₁ masks are even in w, and the
descent keeps w ≥ 0.

Division by zero gives inf or NaN, which fails every comparison below.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sparselin._kernels import inner, kernel
from sparselin._kernels.primitives import copy, dot, subtract

LINEAR, L1, L2, L1_NORMALIZED, L2_NORMALIZED, SOFTMAX = range(6)

# The ways in which a descent can end.
CERTIFIED, AT_FLOOR, AT_LIMIT, STALLED = range(4)

_MEMORY = 10  # the number of last values with which the line search compares
_SHORT = 5  # the number of short steps from which the step length is chosen
_TRIALS = 40  # the most steps that the line search tries


class DescentObjective(NamedTuple):
    """The data of the objective F(w, θ) = ½‖y − X(s(w)∘θ)‖² + ½λ_w‖w‖² + ½λ_θ‖θ‖², s(w) the mask."""

    form: int  # s
    X: NDArray[np.float64]  # (n, m), by rows
    Xt: NDArray[np.float64]  # Xᵀ, by rows
    y: NDArray[np.float64]
    lam: NDArray[np.float64]  # (λ_w, λ_θ)


@inner()
def combine(rows, weights, out):
    """Compute out = Σ_i weights_i·rows_i, four rows per pass."""
    m, n = rows.shape
    out[:] = 0
    for i in range(0, m - 3, 4):
        a, b, c, d = weights[i], weights[i + 1], weights[i + 2], weights[i + 3]
        for j in range(n):
            out[j] += a * rows[i, j] + b * rows[i + 1, j] + c * rows[i + 2, j] + d * rows[i + 3, j]
    for i in range(m - m % 4, m):
        for j in range(n):
            out[j] += weights[i] * rows[i, j]


@kernel()
def mask(form, w, s):
    """Compute the mask s = s(w) of the given form."""
    top = w[0]
    total = 0.0
    for j in range(len(s)):
        top = max(top, w[j])
    for j in range(len(s)):
        s[j] = w[j]
        if form == SOFTMAX:
            s[j] = math.exp(w[j] - top)
        elif form in (L2, L2_NORMALIZED):
            s[j] = w[j] * w[j]
    if form >= L1_NORMALIZED:
        for j in range(len(s)):
            total += s[j]
        for j in range(len(s)):
            s[j] /= total


@inner()
def mask_pullback(form, w, s, h):
    """Replace h by (∂s/∂w)ᵀh, for the mask s = s(w).

    For a normalised mask s_i = f(w_i)/Σf(w_j) the result is f'(w)∘(h − ⟨s, h⟩)/Σf.
    """
    mean, total = 0.0, 1.0
    if form >= L1_NORMALIZED:
        mean = dot(s, h)
    if form == L1_NORMALIZED:
        total = 0.0
        for j in range(len(w)):
            total += w[j]
    elif form == L2_NORMALIZED:
        total = dot(w, w)
    for j in range(len(s)):
        h[j] = (h[j] - mean) / total
        if form in (L2, L2_NORMALIZED):
            h[j] *= 2 * w[j]
        elif form == SOFTMAX:
            h[j] *= s[j]


@kernel()
def evaluate(form, Xt, y, lam, x, s, beta, r):
    """Return F − ½‖y‖² at x = (w, θ), where F is the objective; also compute s, β and r.

    The mask s = s(w) of the attention weights, β = s∘θ and r = y − Xβ are written into the arguments `s`,
    `beta` and `r`.

    F − ½‖y‖² = ½‖Xβ‖² − ⟨y, Xβ⟩ + ½λ_w‖w‖² + ½λ_θ‖θ‖². The first two terms vanish with β, so no digits are
    lost by cancellation when β is small.
    """
    m = len(s)
    mask(form, x[:m], s)
    for j in range(m):
        beta[j] = s[j] * x[m + j]
    combine(Xt, beta, r)
    value = 0.5 * lam[0] * dot(x[:m], x[:m]) + 0.5 * lam[1] * dot(x[m:], x[m:])
    value += 0.5 * dot(r, r) - dot(r, y)
    for i in range(len(y)):
        r[i] = y[i] - r[i]
    return value


@kernel()
def differentiate(form, X, lam, x, s, r, g, slope):
    """Compute the gradient of the objective F at x = (w, θ); fill g = Xᵀr, given s = s(w), r = y − X(s∘θ).

    slope : filled with ∇F = (λ_ww − (∂s/∂w)ᵀ(g∘θ), λ_θθ − s∘g).
    """
    m = len(s)
    combine(X, r, g)
    for j in range(m):
        slope[j] = -g[j] * x[m + j]
        slope[m + j] = lam[1] * x[m + j] - s[j] * g[j]
    mask_pullback(form, x[:m], s, slope[:m])
    for j in range(m):
        slope[j] += lam[0] * x[j]
        if form == L1_NORMALIZED and x[j] == 0:
            # on the boundary of w ≥ 0 only a feasible descent direction counts
            slope[j] = min(slope[j], x[j])


@kernel()
def lasso_error(lam, x, beta, r, g):
    """Return a bound on F − min F: a duality gap of the LASSO at β plus (λ/2)Σ(|w_j| − |θ_j|)².

    Here F = ½‖y − Xβ‖² + (λ/2)(‖w‖² + ‖θ‖²), β = w∘θ, x = (w, θ), r = y − Xβ and g = Xᵀr. The sum
    (λ/2)Σ(|w_j| − |θ_j|)² is F minus the minimum of F over all (w, θ) with the same β. For every a with
    |a|·‖g‖∞ ≤ λ, u = ar is a feasible point of the dual. As y = r + Xβ, the duality gap of β and u is

        ½‖r‖² + λ‖β‖₁ − ½‖y‖² + ½‖y − u‖² = ½(1 − a)²‖r‖² + Σ_j (λ|β_j| − aβ_jg_j).

    No term of this sum is negative.
    """
    m = len(g)
    top = abs(g[0])
    for j in range(m):
        top = max(top, abs(g[j]))
    a = 1.0 if top <= lam else lam / top
    terms = np.empty(m)
    for j in range(m):
        excess = abs(x[j]) - abs(x[m + j])
        terms[j] = lam * abs(beta[j]) - a * beta[j] * g[j] + 0.5 * lam * excess * excess
    return 0.5 * (1 - a) * (1 - a) * dot(r, r) + dot(terms, np.ones(m))


@inner()
def move(form, x, slope, alpha, out):
    """Take a gradient step on the objective F from x: out = x − α∇F, moved back to the domain of the mask.

    Returns the squared length of the step. For a normalised form, this length is measured before w is scaled
    back to its norm.
    """
    m = len(x) // 2
    step = np.empty(len(x))
    for j in range(2 * m):
        out[j] = x[j] - alpha * slope[j]
    for j in range(m):
        if form == L1:
            out[j] = abs(out[j])
        elif form == L1_NORMALIZED and out[j] < 0:
            out[j] = 0
    for j in range(2 * m):
        step[j] = out[j] - x[j]
    if form in (L1_NORMALIZED, L2_NORMALIZED):
        ratio = math.sqrt(dot(x[:m], x[:m]) / dot(out[:m], out[:m]))
        for j in range(m):
            out[j] *= ratio
    return dot(step, step)


@inner()
def step_length(x, slope, old_x, old_slope, alpha, short):
    """Return the next step length by the adaptive ABBmin rule.

    x, slope, old_x, old_slope : the point and the gradient ∇F there, after and before the last step; the last
        two are overwritten by −Δ and −Γ.
    alpha : the last step length.
    short : short[0] is a threshold, and the other entries are the last few short lengths; updated in place.

    Let Δ be the last step, and Γ the change of ∇F on this step. If ΔᵀΓ ≤ 0, the step length is ten times the
    last one. Otherwise Barzilai and Borwein have two lengths, the long one ΔᵀΔ/ΔᵀΓ and the short one ΔᵀΓ/ΓᵀΓ.
    If short/long is not below the threshold, the long length is taken. If short/long is below, ∇F has large
    components in directions of large curvature. Then the least of the last few short lengths is taken,
    because such a step removes these components first. Each short step decreases the threshold, and each long
    step increases the threshold, so that both kinds of steps occur.
    """
    subtract(1.0, x, old_x)
    subtract(1.0, slope, old_slope)
    square = dot(old_x, old_x)
    curvature = dot(old_x, old_slope)
    change = dot(old_slope, old_slope)
    least = curvature / change if curvature > 0 else np.inf
    for k in range(1, _SHORT):
        short[k] = short[k + 1]
    short[_SHORT] = least
    if curvature <= 0:
        return 10 * alpha
    if curvature * curvature >= short[0] * square * change:
        short[0] *= 1.1
        return square / curvature
    short[0] *= 0.9
    for k in range(1, _SHORT):
        least = min(least, short[k])
    return least


@kernel()
def descend(objective, start, tol, floor, max_iter):
    """Run gradient descent on the objective F(w, θ) from `start`; s(w) is the mask.

    Returns four results: x = (w, θ); the mask s(w); the values of F − ½‖y‖² at all iterates; and a code that
    says why the descent ended.

    x is the last iterate, or the iterate of least F if the descent stalled. The descent stalls if F decreases
    by less than its rounding error, so that no step length α is accepted. The line search is that of Grippo,
    Lampariello and Lucidi: F must be below the largest of the last few values of F, not below the last value.
    A rejected α is replaced by the minimiser of a parabola through F(0) and F(α), whose slope at 0 is −‖∇F‖².
    """
    form, X, Xt, y, lam = objective
    m, n = Xt.shape
    s, beta = np.empty(m), np.empty(m)
    g, r = np.empty(m), np.empty(n)
    x, old_x = start.copy(), start.copy()
    slope, old_slope = np.empty(2 * m), np.empty(2 * m)
    value = np.empty(max_iter + 1)
    short = np.full(_SHORT + 1, np.inf)
    short[0] = 0.5
    best = start.copy()
    least = np.inf
    value[0] = evaluate(form, Xt, y, lam, x, s, beta, r)
    differentiate(form, X, lam, x, s, r, g, slope)
    fall = dot(slope, slope)
    alpha = 0.1 * math.sqrt(dot(x, x) / fall) if fall > 0 else 0.0
    end = AT_LIMIT
    for t in range(max_iter + 1):
        if value[t] < least:
            least = value[t]
            copy(x, best)
        error = lasso_error(lam[1], x, beta, r, g) if form <= L1 else math.sqrt(fall * dot(x, x))
        if error <= -tol * value[t]:
            end = CERTIFIED
        elif value[t] >= 0 and error <= floor:
            end = AT_FLOOR
        if end != AT_LIMIT or t == max_iter:
            break
        if not 0 < fall < np.inf:
            end = STALLED
            break
        ceiling = value[t]
        for k in range(max(0, t + 1 - _MEMORY), t):
            ceiling = max(ceiling, value[k])
        x, old_x, slope, old_slope = old_x, x, old_slope, slope
        for _ in range(_TRIALS):
            length = move(form, old_x, old_slope, alpha, x)
            value[t + 1] = evaluate(form, Xt, y, lam, x, s, beta, r)
            if value[t + 1] <= ceiling - 1e-4 * length / alpha:
                break
            bend = value[t + 1] - value[t] + alpha * fall
            alpha *= min(0.5, max(0.1, 0.5 * alpha * fall / bend)) if bend > 0 else 0.1
        else:
            end = STALLED
            break
        differentiate(form, X, lam, x, s, r, g, slope)
        fall = dot(slope, slope)
        alpha = step_length(x, slope, old_x, old_slope, alpha, short)
    if end == STALLED:
        x = best
        mask(form, x[:m], s)
    return x, s, value[: t + 1].copy(), end
