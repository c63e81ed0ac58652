"""Solve the augmented system of least squares on some columns of X to twice the precision."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from sparselin._kernels import refinement as kernels
from sparselin.linalg.thin_qr import ThinQR
from sparselin.problem.errors import EPS
from sparselin.results import FloatArray

# The factor by which a round reduces the error differs between rounds, because rounding errors differ. In
# rational arithmetic, with κ of 1e10 to 1e12, the error was up to 2.2 times the error that the factor of the
# first round implies (720 systems as in test_thin_qr).
_SAFETY = 4.0
# The most rounds of iterative refinement. Each multiplies the error by about κ·eps. Six rounds reach eps if
# κ·eps is below 2·10⁻³; if not, the bounds of `Balance` cover the remaining error.
_ROUNDS = 6


class Balance(NamedTuple):
    """The solution (r, x) of the augmented system r + X_Jx = f, X_Jᵀr = g, in twice the precision.

    Each vector of the solution is stored as the sum of two float64 vectors, a leading part and a small
    correction.

    r, r_low : the leading part and the correction of r, both (n,).
    x, x_low : the leading part and the correction of x, both (t,), where t is the number of columns in J.
    r_error : a bound on the norm of the error of r + r_low.
    x_error : (t,) bounds on the errors of x + x_low.
    sound : whether the refinement converged.
    """

    r: FloatArray
    r_low: FloatArray
    x: FloatArray
    x_low: FloatArray
    r_error: float
    x_error: FloatArray
    sound: bool


def refine(qr: ThinQR, f: FloatArray | None, g: FloatArray | None) -> Balance:
    """Solve the augmented system r + X_Jx = f, X_Jᵀr = g for r and x, by iterative refinement.

    f or g = None stands for zero. `qr` is the factorisation X_J = QR, and must store the columns X_J.

    In each round, the residuals f − r − X_Jx and g − X_Jᵀr are computed in twice the precision, and Q and R
    give the corrections (Björck, 1967). Let D = diag(‖X_j‖), and let κ be the number `ThinQR.kappa`. Each
    round multiplies the error, in the norm ‖r‖ + ‖Dx‖/κ, by a factor of about κ·eps. This factor is measured
    in the first round; for safety, _SAFETY times the measured factor is used.
    """
    f = np.zeros(qr.problem.n) if f is None else f
    g = np.zeros(qr.size) if g is None else g
    r, r_low, x, x_low = (np.zeros(m) for m in (len(f), len(f), len(g), len(g)))
    lack, short, kappa, rate, left, before = f, g, qr.kappa, 0.0, 0.0, 0.0
    for k in range(_ROUNDS):
        if k:
            lack, short = kernels.remainders(qr.columns, f, g, r, r_low, x, x_low)
        z, w = qr.Qt @ lack, qr.solve_transpose(short)
        change = lack - z @ qr.Qt
        change += (w - qr.Qt @ change) @ qr.Qt
        step = qr.solve(z - w)
        kernels.add(r, r_low, change)
        kernels.add(x, x_low, step)
        moved = length_of(change) + length_of(qr.norms * step) / kappa
        if k == 1:
            rate = max(EPS, moved / before)
        size = length_of(r), length_of(qr.norms * x)
        left, before = max(_SAFETY * rate * moved, 16 * EPS**2 * sum(size)), moved
        if moved == 0 or rate > 0.1:
            break
        if k and left <= EPS * max(size[0], 16 * EPS * size[1]) and kappa * left <= EPS * max(size):
            break
    return Balance(r, r_low, x, x_low, left, kappa * left / qr.norms, rate <= 0.1)


def length_of(v: FloatArray) -> float:
    """Return the Euclidean norm of a vector v."""
    return math.sqrt(v @ v)
