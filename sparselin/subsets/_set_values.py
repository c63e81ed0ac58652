"""The least objective on a set of features by orthogonal factors, with an interval that contains it.

For features J let q*(J) be the minimum of q(β) = ½‖y − X_Jβ‖² + ½Σ_j ridge_jβ_j² over low_j ≤ β_j ≤ high_j.
All numbers are in the units of `_relaxation`, in which columns and y have lengths of at most 1. With the
matrix A = [X_J; diag(√ridge)], and y extended by zeros, q(β) = ½‖y − Aβ‖². Let κ be the condition number of
A. Normal equations give q*(J) with an error of the order κ²·eps·‖y‖², orthogonal factors with one of κ·eps.
So the interval has a width of this order.

**From above.** q*(J) ≤ q(w) for every w within the box. Let a = ‖y‖ + Σ‖A_j‖|w_j|, and let s be the number of
features. The data are known to u/4 of their lengths, where u = 8·eps of the problem, and a sum of s + 1
products has an error of at most (s + 1)·eps/2 times the sum of their sizes. So the computed residual has an
error of at most e = u·a·(1 + s/16), and ½‖y − Aw‖² is at most ½(ρ² + ε) with the computed length ρ and

    ε = e(2ρ + e) + u√nρ²,                                                                                 (1)

where the last term is for the sum of squares. This is the bound of `_kernels.best_subset.square_error`.

**From below, without a box**, q*(J) = ½‖P_A^⊥y‖². `remainder` computes this by projection, twice, with the
bound (1), in which a is replaced by the size s(y) ≤ ‖y‖ + Σ‖A_j‖|b_j|, for the least squares coefficients b.
It also decides whether columns are in the span of others, by rounding errors or exactly (`dependence`). So
this interval needs no solution. If a column may be in the span of others or not, nothing is known but 0.

**From below, with a box.** Let w be any point in the box, and C features with w_j at a bound. Drop the bounds
of the other features F, and for j in C all but the bound at w_j. This enlarges the set of β, so the minimum
of q over it is at most q*(J). Let r be the residual of y − A_Cw_C on the columns A_F. By the conditions of
Karush, Kuhn and Tucker, this minimum is ½‖r‖² if A_jᵀr ≤ 0 for all j in C at their lower bounds and A_jᵀr ≥ 0
for those at their upper bounds. Features j for which rounding leaves the sign of A_jᵀr open leave C for F,
until none is left; C = ∅ always satisfies the conditions. Then ½‖r‖² is computed as above, for y − A_Cw_C in
place of y, whose error is at most u·(‖y‖ + Σ_C ‖A_j‖|w_j|)(1 + s/16). So the bound holds whatever solver
found w, and both bounds together show how far w may be from the minimum. Let ε be the bound (1) for ‖r‖².
Since ε ≥ e(2‖r‖ + e), the error of r is at most e ≤ √(‖r‖² + ε) − ‖r‖. That of A_jᵀr, where ‖A_j‖ ≤ 1, is at
most

    e + e + u(2 + √n)‖r‖,                                                                                  (2)

of which the second e is for the residual that `lstsq` finds, and the last term for A_j and the sum.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from sparselin._kernels.best_subset import SubsetData, remainder
from sparselin._kernels.dependence import DependenceTest
from sparselin.results import FloatArray, IndexArray
from sparselin.subsets.dependence import error_unit, exactness
from sparselin.subsets.unit_data import BinaryUnits, triangle


class SetFit(NamedTuple):
    """The minimiser of the objective over coefficients on the features J.

    It holds the value of the objective, the coefficients, and the features whose coefficients are at a bound.
    """

    value: float
    J: IndexArray
    coef: FloatArray
    at_low: IndexArray
    at_high: IndexArray


class SetValue(NamedTuple):
    """An interval [low, high] that contains the least objective on a set, and the computed value in it."""

    low: float
    value: float
    high: float


class SetValues:
    """The fits on sets of features of a problem, by orthogonal factors.

    units : the problem in units of powers of two.
    ridge, low, high : (d,) the ridge and the box in these units.
    """

    def __init__(self, units: BinaryUnits, ridge: FloatArray, low: FloatArray, high: FloatArray) -> None:
        self.units = units
        self.problem = units.problem
        self.ridge = ridge
        self.low = low
        self.high = high
        self.unit = error_unit(self.problem)

    def _data(self, J: IndexArray) -> tuple[FloatArray, FloatArray]:
        """Return A = [X_J; diag(√ridge_J)], and y extended by zeros; without a ridge X_J and y."""
        A, y = self.units.in_few_rows(J)
        if not self.ridge[J].any():
            return A, y
        return np.vstack([A, np.diag(np.sqrt(self.ridge[J]))]), np.append(y, np.zeros(len(J)))

    def solve(self, J: IndexArray, boxed: bool = True) -> SetFit:
        """Minimise the objective over coefficients on the features J, within the box."""
        A, y = self._data(J)
        R = triangle(np.column_stack([A, y]))
        A, y = R[:, :-1], R[:, -1]
        w = _least_squares(A, y)
        low = self.low[J]
        high = self.high[J]
        if boxed and ((w < low).any() or (w > high).any()):
            w = solve_in_box(A, y, low, high)
        r = y - A @ w
        return set_fit(float(r @ r) / 2, J, w, low, high)

    def value(self, J: IndexArray) -> SetValue:
        """Return the least objective on the features J, and an interval that contains it."""
        if self.units.half == 0:
            return SetValue(0.0, 0.0, 0.0)
        A, y = self._data(J)
        boxed = bool(np.isfinite([self.low[J], self.high[J]]).any())
        ridged = bool(self.ridge[J].any())
        found = None if boxed else self._remainder(J, A, y, 1.0, ridged)
        if found is not None:
            square, error = found
            return self._interval(square - error, square, square + error)
        fit = self.solve(J)
        r = y - A @ fit.coef
        square = float(r @ r)
        high = square + self._square_error(square, _size(A, y, fit.coef))
        low = self._relax(fit, A, y, ridged)
        if low is None and ridged:  # the objective without the ridge is at most q
            low = self._relax(fit, *self.units.in_few_rows(J), ridged=False)
        return self._interval(low or 0.0, square, high)

    def _interval(self, low: float, square: float, high: float) -> SetValue:
        """Return half of these numbers, brought between 0 and ½‖y‖², because β = 0 is in every box."""
        most = self.units.half * (1 + self.unit.u * (1 + self.unit.root))
        return SetValue(*(min(max(x / 2, 0.0), most) for x in (low, square, high)))

    def _relax(self, fit: SetFit, A: FloatArray, y: FloatArray, ridged: bool) -> float | None:
        """Return twice the lower bound *From below, with a box*, for w = `fit.coef`, or None.

        None means that rounding leaves open whether the columns are dependent.
        """
        J, w = fit.J, fit.coef
        u, root = self.unit.u, self.unit.root
        at_low, at_high = np.isin(J, fit.at_low), np.isin(J, fit.at_high)
        fixed = self.low[J] == self.high[J]
        held = at_low | at_high
        while True:
            rest = y - A[:, held] @ w[held]
            F = np.flatnonzero(~held)
            found = self._remainder(J[F], A[:, F], rest, _size(A[:, held], y, w[held]), ridged)
            if found is None:
                return None
            square, error = found
            length = math.sqrt(square)
            slope = A.T @ (rest - A[:, F] @ _least_squares(A[:, F], rest))
            wrong = 2 * (math.sqrt(square + error) - length) + u * (2 + root) * length
            right = fixed | (at_low & (slope < -wrong)) | (at_high & (slope > wrong))
            if right[held].all():
                return square - error
            held &= right

    def _remainder(
        self, F: IndexArray, A: FloatArray, rest: FloatArray, size: float, ridged: bool
    ) -> tuple[float, float] | None:
        """Return the squared length of `rest`, projected off the columns A, and a bound on its error.

        F : the features of the columns A.
        size : the error of `rest`, in units of u.
        ridged : whether the columns have rows for the ridge, so that nothing is known of them exactly.

        The result is None if rounding leaves open whether the columns are dependent.
        """
        if len(F) == 0:
            square = float(rest @ rest)
            return square, self._square_error(square, size)
        order = np.arange(len(F))
        y: Any = np.ascontiguousarray(rest)
        rows: Any = np.ascontiguousarray((A / np.linalg.norm(A, axis=0)).T)
        test = DependenceTest(self.unit, order, np.full(len(F), np.inf), 0.0)
        own = np.append(np.ones(len(F)), size)
        data = SubsetData(X=rows, y=y, exact=test, own=own, fixed=0, volume=0.0, seen=np.zeros(2))
        square, error = remainder(data, order)
        if data.seen[0] and not ridged:
            data = data._replace(exact=exactness(self.problem, F), seen=np.zeros(2))
            square, error = remainder(data, order)
        return None if data.seen[0] else (float(square), float(error))

    def _square_error(self, square: float, size: float) -> float:
        """Return the bound (1) on the error of a squared length."""
        u, root, of_squares = self.unit
        if of_squares:
            return u * size**2
        return u * size * (2 * math.sqrt(square) + u * size) + u * root * square


def set_fit(value: float, J: IndexArray, w: FloatArray, low: FloatArray, high: FloatArray) -> SetFit:
    """Return a fit; a feature whose bounds are equal counts as at its lower bound."""
    return SetFit(value, J, w, J[w <= low], J[(w >= high) & (w > low)])


def _size(A: FloatArray, y: FloatArray, w: FloatArray) -> float:
    """Return (‖y‖ + Σ‖A_j‖|w_j|)(1 + s/16), the error of the computed y − Aw in units of u."""
    return float(np.linalg.norm(y) + np.linalg.norm(A, axis=0) @ np.abs(w)) * (1 + len(w) / 16)


def _least_squares(A: FloatArray, b: FloatArray) -> FloatArray:
    return np.linalg.lstsq(A, b, rcond=None)[0] if A.shape[1] else np.empty(0)


def solve_in_box(A: FloatArray, b: FloatArray, low: FloatArray, high: FloatArray) -> FloatArray:
    """Minimise ‖b − Aw‖² over low ≤ w ≤ high by active sets (Stark and Parker, *BVLS*, 1995).

    Features are free or at a bound. Least squares over the free ones is approached from the last w until a
    bound is met, which the feature then keeps. When no free feature is outside its bounds, the feature whose
    slope leads farthest from its bound into the box becomes free. A feature that brings no decrease, because
    of rounding, is not tried again before another one has brought one. So the values fall and no set of free
    features comes twice: the method ends. It does not judge its answer, which `SetValues.value` does.
    """
    w = _least_squares(A, b)
    free = (low < w) & (w < high)
    w = np.clip(w, low, high)
    best = w
    value = math.inf
    refused = low == high
    last = -1
    while True:
        w = _fit_free(A, b, low, high, w, free)
        r = b - A @ w
        slope = A.T @ r
        if (square := float(r @ r)) < value:
            best = w
            value = square
            refused = low == high
        else:
            w = best
            refused[last] = True
            free = (low < w) & (w < high)
            slope = A.T @ (b - A @ w)
        inward = np.where(w <= low, slope, -slope)
        inward[free | refused] = 0
        last = int(np.argmax(inward))
        if inward[last] <= 0:
            return best
        free[last] = True


def _fit_free(
    A: FloatArray, b: FloatArray, low: FloatArray, high: FloatArray, w: FloatArray, free: Any
) -> FloatArray:
    """Move from w towards least squares over the free features.

    A feature that meets a bound stays there, and is no longer `free`.
    """
    while free.any():
        z = w.copy()
        z[free] = _least_squares(A[:, free], b - A[:, ~free] @ w[~free])
        below, above = free & (z < low), free & (z > high)
        if not (below | above).any():
            return z
        ends = np.where(below, low, high)
        step = z - w
        share = np.full(len(w), math.inf)
        outside = below | above
        share[outside] = (ends[outside] - w[outside]) / step[outside]
        first = int(np.argmin(share))
        w = np.clip(w + np.clip(share[first], 0, 1) * step, low, high)
        w[first] = ends[first]
        free[first] = False
    return w
