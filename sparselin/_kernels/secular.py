"""The eigenvalues of diag(D) + uuᵀ by its secular equation, for many u at once.

With poles 0 ≤ D_0 < … < D_{p−1} and all u_j² > 0 the eigenvalues μ_i are the zeros of

    φ(μ) = 1 + Σ_j u_j²/(D_j − μ),    D_i < μ_i < D_{i+1},    μ_{p−1} < D_{p−1} + ‖u‖².

φ increases between its poles. Each zero is computed as τ = μ − D_o, where D_o is the closer pole. So small
eigenvalues have the relative accuracy of D and u. The iteration is the fixed weight method (Li, *Solving
secular equations stably and efficiently*, 1994): φ is replaced by a model with the two adjacent poles and a
constant. One of these poles keeps its weight u_j², and the weight of the other pole and the constant are
chosen such that the model agrees with φ and φ′ at the current τ.
"""

import math

import numpy as np

from sparselin._kernels import inner, kernel
from sparselin._kernels.primitives import dot

_EPS = 2.0**-52


@inner()
def _secular(shifted, weight, p, tau, work):
    """Return φ(μ) = 1 + Σ_j u_j²/(D_j − μ) and φ′ at τ = μ − D_o, where `weight` holds u_j².

    shifted : the poles D_j relative to the origin D_o. work : (2, p), overwritten.
    """
    inverse, terms = work[0, :p], work[1, :p]
    for j in range(p):
        inverse[j] = 1.0 / (shifted[j] - tau)
        terms[j] = weight[j] * inverse[j]
    return 1.0 + dot(weight[:p], inverse), dot(terms, inverse)


@inner()
def _model_root(left, right, value, slope, weight, at_left):
    """Return the step η from τ to the zero of a model of φ with two poles.

    left < 0 < right are the poles relative to τ; value and slope are φ and φ′ at τ.
    """
    gap = right - left
    if at_left:
        c = value - right * slope + gap * weight / (left * left)
    else:
        c = value - left * slope - gap * weight / (right * right)
    a = (left + right) * value - left * right * slope
    b = left * right * value
    root = math.sqrt(abs(a * a - 4 * b * c))
    if a <= 0:
        return (a - root) / (2 * c) if c != 0 else math.nan
    return 2 * b / (a + root)


@inner()
def _zero(D, weight, p, i, total, work):
    """Return the eigenvalue μ_i of diag(D) + uuᵀ, where u_j² = weight_j; `work` (3, p) is workspace."""
    last = i == p - 1
    shifted = work[2]
    gap = total if last else D[i + 1] - D[i]
    half = 0.5 * gap
    for j in range(p):
        shifted[j] = D[j] - D[i]
    value, slope = _secular(shifted, weight, p, half, work)
    at_left = last or value >= 0
    origin, tau = (i, half) if at_left else (i + 1, -half)
    if value >= 0:
        low = 0.0
        high = half
    else:
        low, high = (half, gap * (1 + 4 * _EPS)) if last else (-half, 0.0)
    if not at_left:
        for j in range(p):
            shifted[j] = D[j] - D[origin]
    for _ in range(100):
        if value == 0:
            break
        if last:  # the model c + b/(−τ) that matches φ and φ′
            eta = tau * (slope * tau / (value + slope * tau) - 1)
        else:
            left = shifted[i] - tau
            right = shifted[i + 1] - tau
            eta = _model_root(left, right, value, slope, weight[origin], at_left)
        new = tau + eta
        tolerance = 1e-8  # each step more than squares the error
        if not low < new < high:
            new = 0.5 * (low + high)
            tolerance = 2 * _EPS
        done = abs(new - tau) <= tolerance * abs(new)
        tau = new
        if done:
            break
        value, slope = _secular(shifted, weight, p, tau, work)
        if value < 0:
            low = tau
        else:
            high = tau
    return D[origin] + tau


@kernel()
def spectrum(D, squares, mu):
    """Write the eigenvalues of diag(D) + uuᵀ into mu (p,), for increasing D ≥ 0 and u_j² = squares[j].

    First, poles are deflated: D_j is an eigenvalue if u_j = 0, or if D_j = D_{j+1} to rounding. In the second
    case a rotation of these two coordinates makes u_j = 0.
    """
    t = D.size
    pole = np.empty(t)
    weight = np.empty(t)
    work = np.empty((3, t))
    p, found = 0, 0
    total = 0.0
    for j in range(t):
        if squares[j] == 0:
            mu[found] = D[j]
            found += 1
        elif p > 0 and D[j] - pole[p - 1] <= 4 * _EPS * D[j]:
            mu[found] = D[j]
            found += 1
            weight[p - 1] += squares[j]
            total += squares[j]
        else:
            pole[p], weight[p] = D[j], squares[j]
            total += squares[j]
            p += 1
    for i in range(p):
        mu[found + i] = _zero(pole, weight, p, i, total, work)


@kernel()
def power_sums(D, squares, alpha, cutoff, out, start, stop):
    """Compute sums of powers of the eigenvalues μ_i of diag(D) + uuᵀ, u_j² = squares[m, j], m = start..stop.

    The three entries of row m of `out` are: the sum Σ_i μ_i^α over the μ_i > cutoff; the least of these μ_i,
    or the cutoff if there are none; and the number of the μ_i ≤ cutoff.
    """
    mu = np.empty(D.size)
    for m in range(start, stop):
        spectrum(D, squares[m], mu)
        total = 0.0
        least = math.inf
        cut = 0
        for i in range(mu.size):
            if mu[i] > cutoff:
                total += math.sqrt(mu[i]) if alpha == 0.5 else mu[i] ** alpha
                least = min(least, mu[i])
            else:
                cut += 1
        out[m, 0] = total
        out[m, 1] = least if cut < mu.size else cutoff
        out[m, 2] = cut
