"""The minimum of ‖w‖² + Σ_i x_i/softmax_i(w)² by a damped Newton method of O(m) operations per step.

With s = softmax(w), p_i = x_i/s_i² and P = Σp, half the gradient and half the Hessian of the sum are

    w + Ps − p    and    I + P(diag s − ssᵀ) + 2Σ_i p_i (s − e_i)(s − e_i)ᵀ.

Adding a constant to all w_i does not change the second term of the objective, and Σw = 0 at the minimum. So
the unknowns are u_j = w_j − w_r, j ≠ r, where x_r is the largest x_i. Entry r is never needed; there s may be
1 to rounding, and Ps − p would cancel. In the unknowns u, half the Hessian is H = D + UKUᵀ with the diagonal
D = 1 + Ps + 2p and

    U = [√P s, p/√P, 1],    K = [[1, −2, 0], [−2, 0, 0], [0, 0, −1/m]].

For a vector b, c = UᵀH⁻¹b solves (I + GK)c = UᵀD⁻¹b, G = UᵀD⁻¹U, and H⁻¹b = D⁻¹(b − UKc). This computation is
stable. At the minimum w is ordered as x, so s_r is the largest entry of s, and s_r ≥ 1/m. Then
diag s − ssᵀ ⪰ s_r diag s (without entry r), and H is at least a constant times D/m.
"""

import math
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from sparselin._kernels import inner, kernel

_STEPS = 200

_Array: TypeAlias = NDArray[np.float64]
_Triple: TypeAlias = tuple[float, float, float]


@kernel()
def minimize_rows(x: _Array, value: _Array, w: _Array) -> int:
    """Minimise ‖w‖² + Σ_i x_i/softmax_i(w)² over w for each row of x (N, m) ≥ 0.

    The minima are written into `value` (N,), the minimisers into `w` (N, m). Returns the first row for which
    Newton's method did not converge, or −1.
    """
    m = x.shape[1]
    u = np.empty(m)
    s = np.empty(m)
    p = np.empty(m)
    d = np.empty(m)
    for row in range(len(x)):
        r = np.argmax(x[row])
        _start(x[row], r, u)
        last = np.inf
        for _ in range(_STEPS):
            P = _weigh(x[row], u, s, p)
            rho = _newton(r, u, s, p, P, d)
            # No exponent w_j + w_k − 2w_i of f grows faster than ρ along d: φ''(t) ≤ φ''(0)e^{ρt}, hence
            # φ(t) ≤ φ(0) + φ''(0)((e^{ρt} − 1 − ρt)/ρ² − t), least at log(1 + ρ)/ρ.
            t = math.log1p(rho) / rho if rho > 0 else 1.0
            for j in range(m):
                u[j] += t * d[j]
            # After a step of size ρ the error is O(ρ²), after the next one O(ρ⁴).
            if last <= 1e-6:
                break
            last = rho
        else:
            return row
        P = _weigh(x[row], u, s, p)
        mean = _sum(u) / m
        for j in range(m):
            w[row, j] = u[j] - mean
            s[j] = w[row, j] * w[row, j]
        value[row] = P + _sum(s)
    return -1


@inner()
def _start(x: _Array, r: int, u: _Array) -> None:
    """Fill u with a start for Newton's method: u_i = ⅓log(x_i/x_r), but at least the value u_0 for x_i = 0.

    Without ‖w‖² in the objective, ⅓log(x_i/x_r) would be the minimiser. For x_i = 0 the minimum satisfies
    w_i + Ps_i = 0, where s = softmax(w) and P = Σ x_i/s_i². With n = Σ(x_i/x_r)^⅓ and mean u ≈ (1 − n/m)u_0
    this equation reads u_0 = −W(m n x_r). Lambert's W(z) is l(1 − log(1 + l)/(2 + l)), l = log(1 + z), up to
    a few per cent.
    """
    n = 0.0
    for i in range(len(x)):
        u[i] = (math.log(x[i]) - math.log(x[r])) / 3 if x[i] > 0 else -np.inf
        n += math.exp(u[i])
    l = math.log1p(len(x) * n * x[r])
    floor = -l * (1 - math.log1p(l) / (2 + l))
    for i in range(len(x)):
        u[i] = max(floor, u[i])
    u[r] = 0


@inner()
def _weigh(x: _Array, u: _Array, s: _Array, p: _Array) -> float:
    """Fill s with softmax(u) and p with x_i/s_i², and return P = Σ_i p_i.

    1/s_i is computed as Σ_j e^{u_j}/e^{u_i}. As no logarithm of s is taken, each p_i is exact to a few eps.
    """
    for i in range(len(x)):
        s[i] = math.exp(u[i])
    total = _sum(s)
    for i in range(len(x)):
        inverse = total / s[i]
        s[i] /= total
        p[i] = x[i] * inverse * inverse
    P: float = _sum(p)
    return P


@inner()
def _newton(r: int, u: _Array, s: _Array, p: _Array, P: float, d: _Array) -> float:
    """Fill d with Newton's direction in u, where d_r = 0, and return its size ρ = 2(max d − min d).

    s, p and P are computed by `_weigh` at u.
    """
    m = len(u)
    mean = _sum(u) / m
    slip = scale = 0.0
    for j in range(m):
        D = 1 + P * s[j] + 2 * p[j]
        slope = u[j] - mean + P * s[j] - p[j]
        d[j] = -slope / D
        slip += slope
        scale += D
    # The slopes sum to zero. Their errors, of size eps·D, do not, and H is soft along 1 (D/m):
    # the correction in proportion to D keeps m out of the error of w.
    root = math.sqrt(P) if P > 0 else 1.0
    g11 = g12 = g13 = g22 = g23 = g33 = b1 = b2 = b3 = 0.0
    for j in range(m):
        if j != r:
            D = 1 + P * s[j] + 2 * p[j]
            d[j] += slip / scale
            u1 = root * s[j]
            u2 = p[j] / root
            g11 = g11 + u1 * u1 / D
            g12 = g12 + u1 * u2 / D
            g13 = g13 + u1 / D
            g22 = g22 + u2 * u2 / D
            g23 = g23 + u2 / D
            g33 = g33 + 1 / D
            b1 = b1 + u1 * d[j]
            b2 = b2 + u2 * d[j]
            b3 = b3 + d[j]
    c1, c2, c3 = _solve(
        (1 + g11 - 2 * g12, g12 - 2 * g22, g13 - 2 * g23),
        (-2 * g11, 1 - 2 * g12, -2 * g13),
        (-g13 / m, -g23 / m, 1 - g33 / m),
        (b1, b2, b3),
    )
    d[r] = low = high = 0.0
    for j in range(m):
        if j != r:
            D = 1 + P * s[j] + 2 * p[j]
            d[j] -= (root * s[j] * (c1 - 2 * c2) - 2 * p[j] / root * c1 - c3 / m) / D
            low, high = min(low, d[j]), max(high, d[j])
    return 2 * (high - low)


@inner()
def _solve(a: _Triple, b: _Triple, c: _Triple, right: _Triple) -> _Triple:
    """Solve the 3×3 system with columns a, b and c by Cramer's rule."""
    det = _det(a, b, c)
    return _det(right, b, c) / det, _det(a, right, c) / det, _det(a, b, right) / det


@inner()
def _det(a: _Triple, b: _Triple, c: _Triple) -> float:
    return (
        a[0] * (b[1] * c[2] - b[2] * c[1])
        + a[1] * (b[2] * c[0] - b[0] * c[2])
        + a[2] * (b[0] * c[1] - b[1] * c[0])
    )


@inner()
def _sum(terms: _Array) -> float:
    """Return the sum of the terms by Kahan's method, whose error does not grow with their number."""
    total = lost = 0.0
    for term in terms:
        term -= lost
        new = total + term
        lost = (new - total) - term
        total = new
    return total
