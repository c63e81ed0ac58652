"""LassoNet's proximal operators for each feature: ‖b*‖ in closed form, and then b* and the clipped W.

b* is the new vector of weights of feature j in the skip connection Θ_j, and λ and M are LassoNet's penalty
and hierarchy coefficient. With n = ‖Θ_j‖, u_1 ≥ … ≥ u_K the sorted |W_jk|, S_m = u_1 + … + u_m and
t_m = (n − λ + M·S_m)/(1 + mM²), the length is ‖b*‖ = max(0, max_m t_m) (see
`sparselin.lasso.hierarchical_prox`). t_{m+1} is the mean of t_m and u_{m+1}/M with the weights 1 + mM² and
M². So t_m increases as long as u_{m+1} > M·t_m, and does not increase afterwards.
"""

import math

import numpy as np

from sparselin._kernels import inner, kernel

# With M ≤ 2⁶⁴ and data below 2⁸⁹⁶, M²·S_m and mM² do not overflow. Larger data are scaled by 2⁻¹²⁸;
# for larger M, 1 + mM² is mM² to rounding, and M·t_m = ((n − λ)/M + S_m)/m.
_LARGE_M = 2.0**64
_LARGE = 2.0**896
_SMALLER = 2.0**-128
# A relative margin, far above the rounding of any sum: entries this close to a bound are sorted too.
_MARGIN = 1e-9
_SPLIT = 2.0**27 + 1


@kernel()
def shrink(Theta, W, lam, M, slack, n_clipped, start, stop):
    """Apply Group-Hier-Prox to the rows start..stop of Theta (d, p) and W (d, K), in place.

    n_clipped : (d,) filled with the number of entries of W_j that were clipped.
    slack : a relative margin by which W_j is kept below M‖Theta_j‖.

    Afterwards ‖W_j‖∞ ≤ M‖Theta_j‖ holds exactly. For p = 1, slack = 0 suffices. For p > 1, slack must cover
    the rounding error of the norm.
    """
    u = np.empty(W.shape[1])
    for j in range(start, stop):
        theta, w = Theta[j], W[j]
        largest = max(lam, _largest(theta), _largest(w) if M > 0 else 0.0)
        unit = _SMALLER if largest > _LARGE else 1.0
        e = math.frexp(_largest(theta))[1]
        root = _root(theta, e)
        rest = math.ldexp(root * unit, e) - lam * unit
        t = _length(rest, w, unit, M, u)
        if not t > 0:
            theta[:] = 0
        elif root == 0:
            theta[0] = t
        else:
            for i in range(theta.size):
                theta[i] = t * (math.ldexp(np.float64(theta[i]), -e) / root)
        n_clipped[j] = _clip(w, _bound(theta, M, slack))


@inner()
def _largest(v):
    """Return the largest |v_i|."""
    largest = 0.0
    for x in v:
        largest = max(largest, abs(x))
    return largest


@inner()
def _root(v, e):
    """Return the norm 2⁻ᵉ‖v‖ of a vector scaled by a power of two, where 2ᵉ is about ‖v‖∞.

    No square over- or underflows. If v has one entry, the result is exact.
    """
    total = 0.0
    for x in v:
        scaled = math.ldexp(np.float64(x), -e)  # for float32 it would stay in float32
        total += scaled * scaled
    return math.sqrt(total)


@inner()
def _length(rest, w, unit, M, u):
    """Return the length max_m t_m of the new weights of one feature, by the formula of this module.

    rest : unit·(n − λ), n the length of the old weights of the skip connection. `unit` is a power of two by
        which all data are multiplied against overflow.
    w : the row of W.
    u : workspace of the size of w.
    """
    if M == 0:
        return rest / unit
    m, total = 0, 0.0
    for x in w:
        u[m] = abs(x) * unit
        total += u[m]
        m += 1
    # For any set of entries in place of the m largest, t_m ≤ t. So no entry below M·t_m is clipped.
    for _ in range(3):
        if m == 0:
            break
        bound = _at(rest, total, m, M)[1] - _MARGIN * _at(abs(rest), total, m, M)[1]
        kept, total = 0, 0.0
        for k in range(m):
            x = u[k]
            if x > bound:
                u[kept] = x
                total += x
                kept += 1
        m = kept
    u[:m].sort()
    # Sum the sorted entries with the error of each addition, so that the order of w does not matter.
    t = rest
    level = M * rest
    total = lost = 0.0
    for k in range(m):
        x = u[m - 1 - k]
        if x <= level:
            break
        new = total + x
        lost += x - (new - total) if total >= x else total - (new - x)
        total = new
        t, level = _at(rest, total + lost, k + 1, M)
    return level / unit / M if total > 0 and M > _LARGE_M else t / unit


@inner()
def _at(rest, total, m, M):
    """Return t_m = (rest + M·total)/(1 + mM²) and M·t_m, for m ≥ 1, without overflow if M is large."""
    if M <= _LARGE_M:
        t = (rest + M * total) / (1 + m * (M * M))
        return t, M * t
    level = (rest / M + total) / m
    return level / M, level


@inner()
def _bound(theta, M, slack):
    """Return the bound at which weights are clipped: the largest float ≤ M‖theta‖, times 1 − slack."""
    e = math.frexp(_largest(theta))[1]
    root = _root(theta, e)
    x, i = math.frexp(M)
    y, j = math.frexp(root)
    p = x * y
    if _product_error(x, y, p) < 0:
        p = np.nextafter(p, 0.0)
    if slack > 0:
        p *= 1 - slack
    e += i + j
    bound = math.ldexp(p, e)
    if math.ldexp(bound, -e) > p:
        bound = np.nextafter(bound, 0.0)
    return bound


@inner()
def _product_error(x, y, p):
    """Return the exact rounding error xy − p of the product p = fl(xy), for x, y in [½, 1) (Dekker)."""
    a, b = _SPLIT * x, _SPLIT * y
    a, b = a - (a - x), b - (b - y)
    return ((a * b - p) + a * (y - b) + (x - a) * b) + (x - a) * (y - b)


@inner()
def _clip(w, bound):
    """Clip w to sign(w)·min(|w|, bound), rounded towards zero. Return the number of clipped entries."""
    cell = np.zeros(2, w.dtype)
    cell[0] = bound
    if cell[0] > bound:
        cell[0] = np.nextafter(cell[0], cell[1])
    level = cell[0]
    lowered = 0
    for k in range(w.size):
        if abs(w[k]) > level:
            w[k] = level if w[k] > 0 or level == 0 else -level
            lowered += 1
    return lowered
