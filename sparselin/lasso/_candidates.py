"""The candidates of the fast LASSO homotopy: a few columns of X, and a point on their LASSO path."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from sparselin._kernels import homotopy as kernels
from sparselin.lasso._homotopy import Point
from sparselin.linalg.gathered import Gathered
from sparselin.problem import Problem
from sparselin.problem.errors import product_error
from sparselin.results import FloatArray, IndexArray

_CAPACITY = 64  # number of columns that can enter before the arrays are enlarged


def empty_trail(limit: int, M: int) -> kernels.Trail:
    """Return the arrays for a record of at most `limit` points of a path on M columns."""
    return kernels.Trail(np.empty((limit, M)), np.empty(limit), np.empty(limit), np.empty(limit, np.intp))


class Candidates(Gathered):
    """A few columns of X, the candidates, and the point reached on the LASSO path of these columns.

    Attributes
    ----------
    reached : the point, as arrays for the kernels.
    size : the function of the correlations c = Xᵀ(y − Xβ) that is compared with λ. It returns |c|, or c
        itself if the penalised coefficients must be nonnegative.
    """

    reached: kernels.Place

    def __init__(self, problem: Problem, S: IndexArray, whole: bool, positive: bool = False) -> None:
        super().__init__(problem)
        self.S, self.whole = S, whole
        self.size: Callable[[FloatArray], FloatArray] = np.positive if positive else np.abs
        self.below = 0.0 if positive else -1.0
        self.unit = product_error(problem.n)
        self.longest = float(problem.column_norms.max())
        if whole or len(S):
            self.add(np.arange(problem.d) if whole else S)

    @property
    def p(self) -> int:
        """The number of active columns at the point: those without penalty, and others with β_j ≠ 0."""
        return int(self.reached.state[0])

    def add_largest(self, value: FloatArray, many: int) -> bool:
        """Add the columns with the largest entries of `value` (d,) to the candidates, `many` at most.

        Negative entries do not count. Returns whether a new candidate was added.
        """
        top = np.argpartition(value, -many)[-many:] if 0 < many < len(value) else np.arange(len(value))
        new = np.sort(top[(self.place[top] < 0) & (value[top] >= 0)])
        if len(new):
            self.add(new)
        return len(new) > 0

    def first_correlations(self) -> FloatArray:
        """Return the correlations Xᵀ(y − X_Sβ_S) (d,) at the start of the path.

        X_Sβ_S is the least squares fit on S, the features without penalty.
        """
        problem = self.problem
        t = len(self.S)
        if not t:
            return problem.Xty
        fit = self.reached.beta[:t] @ self.columns[self.place[self.S]]
        return problem.correlate((problem.y - fit).astype(problem.dtype, copy=False))

    def residuals(self, coef: FloatArray) -> FloatArray:
        """Return the residuals y − X_Cβ (m, n) for m vectors β, the rows of `coef`, on the candidates C."""
        used = np.flatnonzero(coef.any(axis=0))
        return np.asarray(self.problem.double_y - coef[:, used] @ self.columns[used])

    def refine(self, lam: float) -> tuple[FloatArray, FloatArray]:
        """Correct β at the point reached, λ = lam; return β on S ∪ P, and the residual r = y − Xβ.

        S are the features without penalty, and P = {j ∉ S : β_j ≠ 0}. The vector s holds the signs of β on P,
        and is zero on S. The correction solves the normal equations with the right side X_{S∪P}ᵀr − λs, by
        the Cholesky factor of X_{S∪P}ᵀX_{S∪P}. Afterwards β is as accurate as from a QR factorisation (the
        corrected seminormal equations, Björck, 1987). At a knot, the correction may change the sign of a
        coefficient. Such a coefficient is set to zero, and the other coefficients are corrected without it.
        """
        p, reached = self.p, self.reached
        beta = reached.beta[:p].copy()
        sign = reached.sign[:p]
        order = reached.order[:p]
        columns = self.columns[order]
        y = self.problem.double_y
        r = y - beta @ columns
        extra = np.empty(p)
        kernels.solve(reached.L, p, columns @ r - lam * sign, extra)
        zero = sign * (beta + extra) < 0
        while zero.any():
            beta[zero], extra[:] = 0, 0
            r = y - beta @ columns
            rest = order[~zero]
            L, part = np.empty((len(rest), len(rest))), np.empty(len(rest))
            if not kernels.factor(self.gram, rest, len(rest), L):
                break
            kernels.solve(L, len(rest), (columns @ r - lam * sign)[~zero], part)
            extra[~zero] = part
            through = sign * (beta + extra) < 0
            if not through.any():
                break
            zero |= through
        return beta + extra, r - extra @ columns

    def misses_knot(self, lam: float, coef: FloatArray, r: FloatArray) -> bool:
        """Return whether a column j enters or leaves the active set P above λ = lam, after the last point.

        P are the penalised columns with nonzero coefficients. `coef` and the residual r are results of
        `refine` at λ. Column j has left if β_j = 0 and |⟨X_j, r⟩| < λ by more than rounding; it has entered
        if it is outside P and |⟨X_j, r⟩| > λ by more than rounding. Then a knot is missing between the
        previous point and λ, and interpolation would not follow the path.
        """
        order = self.reached.order[: self.p]
        t = len(self.S)
        size = self.problem.y_norm + float(self.norms[order] @ np.abs(coef))
        c = self.size(self.columns @ r)
        error = 4 * self.unit * size * self.norms
        left = order[t:][coef[t:] == 0]
        outside = np.ones(len(c), bool)
        outside[order] = False
        return bool((c[left] < lam - error[left]).any() or (outside & (c > lam + error)).any())

    def start(self) -> bool:
        """Go to the start of the path, above the first knot; return False if X_S is not well conditioned.

        S are the features without penalty. X_Sᵀr is zero only to rounding, so the residual r has a component
        in the span of X_S. The length of this component is the rounding error times the condition number of
        X_S, and it changes the correlations ⟨X_j, r⟩. So X_S must be well conditioned.
        """
        t = len(self.S)
        order = self.place[self.S]
        self._set(math.inf, order, np.zeros(t), np.zeros(t))
        return t == 0 or kernels.start(self._table(), self.reached) <= t * kernels.SPREAD**2

    def resume(self, point: Point) -> bool:
        """Go to a point of the path; return False if its active columns are nearly dependent."""
        order = np.concatenate([self.place[self.S], self.place[np.array(point.P, np.intp)]])
        signs = np.concatenate([np.zeros(len(self.S)), point.signs])
        self._set(point.lam, order, signs, point.coef)
        return len(order) == 0 or bool(kernels.factor(self.gram, order, len(order), self.reached.L))

    def _table(self) -> kernels.Columns:
        return kernels.Columns(
            H=self.gram,
            c0=self.c0,
            norms=self.norms,
            y_norm=self.problem.y_norm,
            unit=self.unit,
            longest=self.longest,
            rank=self.problem.n,
            below=self.below,
        )

    def _set(self, lam: float, order: IndexArray, signs: FloatArray, coef: FloatArray) -> None:
        p = len(order)
        capacity = min(len(order) + _CAPACITY, self.problem.d)
        if math.isinf(lam):  # |c_j| ≤ ‖X_j‖‖y‖
            lam = 2 * self.longest * self.problem.y_norm
        self.reached = place = kernels.Place(
            state=np.array([p, -1]),
            lam=np.array([lam]),
            order=np.zeros(capacity, np.intp),
            sign=np.zeros(capacity),
            beta=np.zeros(capacity),
            L=np.empty((capacity, capacity)),
            n_free=len(self.S),
        )
        place.order[:p] = order
        place.sign[:p] = signs
        place.beta[:p] = coef

    def follow(self, lam_min: float, limit: int) -> tuple[kernels.Trail, int]:
        """Follow the path of the candidates from the point reached, for at most `limit` points.

        Returns the points that the run passed, and the reason why it ended, a code of the kernel `homotopy`.
        The run also stops at λ = lam_min.
        """
        run = empty_trail(limit, len(self.index))
        columns = self._table()
        until = kernels.Until(lam_min, limit)
        ending, passed = kernels.follow(columns, self.reached, until, run)
        while ending == kernels.FULL:
            self._grow()
            rest = kernels.Trail._make(array[passed:] for array in run)
            ending, count = kernels.follow(columns, self.reached, until._replace(limit=limit - passed), rest)
            passed += count
        if passed < limit:
            run = kernels.Trail._make(array[:passed] for array in run)
        return run, int(ending)

    def _grow(self) -> None:
        more = len(self.reached.order)
        names = ("order", "sign", "beta", "L")
        longer: dict[str, Any] = {name: np.pad(getattr(self.reached, name), (0, more)) for name in names}
        self.reached = self.reached._replace(**longer)

    def at(self, lam: float, coef: FloatArray, P: IndexArray) -> Point:
        """Return the point of the path at λ = lam, where β = coef.

        P holds the penalised columns whose coefficient is nonzero just below the point. The signs of β on P
        are those of the correlations c = Xᵀ(y − Xβ).
        """
        places = self.place[P]
        c = self.c0[places] - self.gram[places, : len(coef)] @ coef
        return Point(float(lam), P.tolist(), np.sign(c), coef[np.concatenate([self.place[self.S], places])])

    def here(self) -> Point:
        """Return the point of the path that was reached."""
        p = self.p
        t = len(self.S)
        reached = self.reached
        P = self.index[reached.order[t:p]].tolist()
        return Point(float(reached.lam[0]), P, reached.sign[t:p].copy(), reached.beta[:p].copy())
