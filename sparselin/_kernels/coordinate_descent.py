"""Cyclic coordinate descent for the LASSO, the independent solver for the verification.

The solver shares no code with the homotopy, OMP or the gradient descent. Its results are checked by
certificates that are computed elsewhere.
"""

from sparselin._kernels import inner, kernel
from sparselin._kernels.primitives import dot, subtract


@kernel()
def coordinate_descent(Zt, r, b, lam, target, max_epochs):
    """Minimise ½‖r − Zb‖² + λ‖b‖₁ over b, starting from the given b, until the duality gap is ≤ target.

    Zt (m, n) holds the columns of Z as rows. r is overwritten by the residual r − Zb, and b by the solution.
    Returns the duality gap that was attained. Let P(b) be the objective and D(u) = ½‖y‖² − ½‖y − u‖² the dual
    objective, where y is the r of the call. With the residual r and a = min(1, λ/‖Zᵀr‖∞), the gap is

        P(b) − D(a·r) = ½(1 − a)²‖r‖² + Σ_j (λ|b_j| − a·b_j⟨Z_j, r⟩).
    """
    m = len(Zt)
    square = b * 0
    for j in range(m):
        square[j] = dot(Zt[j], Zt[j])
        subtract(b[j], Zt[j], r)
    gap = target + 1
    for epoch in range(max_epochs):
        for j in range(m):
            if square[j] == 0:
                b[j] = 0
                continue
            c = square[j] * b[j] + dot(Zt[j], r)
            new = c * 0
            if c > lam:
                new = (c - lam) / square[j]
            elif c < -lam:
                new = (c + lam) / square[j]
            change = b[j] - new
            if change != 0:
                b[j] = new
                subtract(-change, Zt[j], r)
        if epoch % 5 == 4:
            gap = duality_gap(Zt, r, b, lam)
            if gap <= target:
                break
    return gap


@inner()
def duality_gap(Zt, r, b, lam):
    """Return the duality gap that `coordinate_descent` defines, at b with the residual r."""
    steepest = 0.0
    norm1 = 0.0
    inner = 0.0
    for j in range(len(Zt)):
        c = dot(Zt[j], r)
        steepest = max(steepest, abs(c))
        norm1 += abs(b[j])
        inner += b[j] * c
    a = min(1.0, lam / steepest) if steepest > 0 else 1.0
    return 0.5 * (1 - a) * (1 - a) * dot(r, r) + lam * norm1 - a * inner
