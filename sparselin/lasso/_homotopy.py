"""The LASSO homotopy, from knot to knot, correct under ties.

Let β be the solution at a knot λ, E = {j ∉ S : |c_j| = λ} the tied set and s_j = sign c_j. Below the knot, at
λ − ε, the path leaves in the direction β̇ = dβ/dε. With u = Xβ̇ and g_j = s_j⟨X_j, u⟩, the KKT conditions are

    ⟨X_j, u⟩ = 0 on S,   g_j = 1 where β_j ≠ 0,
    g_j ≥ 1,  s_jβ̇_j ≥ 0,  s_jβ̇_j(g_j − 1) = 0   on the rest of E.

These are the optimality conditions of min ½‖Xβ̇‖² − Σ_E s_jβ̇_j subject to the signs: a nonnegative least
squares problem with some free variables. The active set method of Lawson and Hanson solves it. A single entry
or exit takes one step of that method; ties, duplicates and simultaneous events need no other code.

Between knots, β and c are linear in λ, with slope = β̇ on S ∪ P, and are computed from X and y (`_segment`).
A knot is accepted only if the errors of c are below λ/1000 for all columns that may be tied there; otherwise
the path ends before it. (For a Gram problem c is known only to κ²·eps, so its error bounds are capped at
λ/1000; see `_segment.error_limits`.)

If β ≥ 0 is required off S, the penalty |β_j| is replaced by β_j, and by ∞ for β_j < 0. Then the condition
|c_j| ≤ λ becomes c_j ≤ λ: every sign is +1, and c_j is compared with λ in place of |c_j| (`size`). Everything
else is the same (docs/proofs/nonnegative.md).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from sparselin.lasso._segment import Lines, Segment
from sparselin.linalg.thin_qr import ThinQR
from sparselin.linalg.ties import in_span
from sparselin.problem import Problem
from sparselin.problem.errors import EPS
from sparselin.results import FloatArray, IndexArray


class Knot(NamedTuple):
    """A knot: λ, β(λ) and the indices outside S that are nonzero just below it."""

    lam: float
    coef: FloatArray
    active: tuple[int, ...]


class Point(NamedTuple):
    """A point of the path: λ, the columns P that are nonzero just below it, their signs, and β on S and P."""

    lam: float
    P: list[int]
    signs: FloatArray
    coef: FloatArray


class Homotopy(Segment):
    """The state at a point of the path: the segment below it, and the tied columns.

    If a factorisation `qr` of X_S in float64 is given, it is copied.

    Attributes
    ----------
    lam, c : λ, and the correlations Xᵀ(y − Xβ) (d,), zero on S.
    tied, signs : the indices outside S ∪ P with |c_j| = λ, and their sign c_j.
    """

    def __init__(
        self, problem: Problem, S: IndexArray, positive: bool = False, qr: ThinQR | None = None
    ) -> None:
        super().__init__(problem, S, positive, qr)
        self.c = self._correlate(self.base.r)
        self.lam = float(self.size(self.c).max(initial=0))
        tied, error = self._largest_correlations()
        self.lam = float(self.size(self.c[tied]).max(initial=0))
        self.sound &= self._is_small(error, self.lam)
        self._tie(tied)

    def knots(self, lam_min: float) -> Iterator[Knot]:
        """Yield the knots from here down to lam_min; fewer only if rounding leaves the next one undecided."""
        coef = self.coef()
        self.enter()
        yield Knot(self.lam, coef, self.active())
        if self.sound:
            yield from self._below(lam_min)

    def resume(self, point: Point, lam_min: float) -> Iterator[Knot] | None:
        """Return the knots below a point inside a segment; None if the KKT conditions fail at the point."""
        signs = dict(zip(point.P, point.signs.tolist(), strict=True))
        for j in [j for j in self.active() if j not in signs]:
            self._drop(j)
        for j in point.P:
            if j not in self.qr.index and not self.qr.append(j):
                return None
            self.sign[j] = signs[j]
        self.lam, self.sound = point.lam, True
        self._set_base()
        self._set_direction()
        self.c = self._correlate(self.residual)
        self._tie(self._boundary_columns(self.error(self.lam), np.zeros(self.problem.d)))
        if not (self.sound and self.is_optimal(self.lam)):
            return None
        return self._below(lam_min)

    def here(self) -> Point:
        """Return the current point; P is the active set below it (after `enter`)."""
        P = [j for j in self.qr.index if j not in self.free]
        return Point(self.lam, P, self.sign[P], self.coef()[self.free + P])

    def _below(self, lam_min: float) -> Iterator[Knot]:
        """Yield the knots below this one.

        The method terminates, because λ decreases at each knot or the path ends, and there are finitely many
        floats. (In exact arithmetic no face occurs twice, because the λ at which it is optimal form an
        interval.)
        """
        while self.lam > lam_min:
            above = self.lam
            coef = self.advance(lam_min)
            if self.sound and self.lam > lam_min:
                self.enter()
            if not self.sound:
                self.lam = above
                return
            yield Knot(self.lam, coef, self.active())

    def active(self) -> tuple[int, ...]:
        """Return P, increasing."""
        return tuple(sorted(set(self.qr.index) - set(self.free)))

    def coef(self) -> FloatArray:
        """Return β(λ) (d,); a coefficient that has the wrong sign by rounding is set to zero."""
        coef = np.zeros(self.problem.d)
        coef[self.qr.index] = self._beta(self.lam)
        P = list(self.active())
        coef[P] = np.where(self.sign[P] * coef[P] > 0, coef[P], 0)
        return coef

    def _largest_correlations(self) -> tuple[IndexArray, FloatArray]:
        """Return T = {j : |c_j| + e_j ≥ max(|c| − e)} outside S and its span, and e_T; |c| is `size`."""
        error, none = self.error(0.0), np.zeros(0, np.intp)
        possible = self.problem.column_norms > 0
        possible[self.unpenalized] = False

        def candidates() -> IndexArray:
            size = self.size(self.c)
            return np.flatnonzero((size + error >= (size - error).max()) & possible)

        T = candidates()
        while len(self.free) and len(T) and (inside := T[in_span(self.qr, T)[0]]).size:
            self.c[inside] = error[inside] = 0
            possible[inside] = False
            T = candidates()
        if self.is_fitted() or not np.any(self.size(self.c[T]) > error[T]):
            return none, error[none]
        self.c[T], error[T] = self._accurate_c(self.base, T)
        T = candidates()
        return T, error[T]

    def tie_products(self) -> None:
        """Add to T at λ* the columns that may be tied in the data without weights and scales.

        The products with √weight and scales are rounded, and that may break a tie. Columns are first screened
        by s(X_i) ≤ √(1 + κ²)‖X_i‖, which excludes no tied column.
        """
        if not self.problem.is_multiplied:
            return
        size = self.size(self.c)
        size[self.unpenalized] = -np.inf
        r, y = self._sizes(self.base)
        error = self.problem.column_norms * (math.hypot(1.0, self.qr.kappa) * r + y) * self.problem.unit
        J = np.flatnonzero(size + error >= (size - error).max())
        sharp = self._products_error(self.base, J)
        T = J[(size[J] + sharp >= (size[J] - sharp).max()) & (size[J] > 0)]
        self.c[T] = self._accurate_c(self.base, T)[0]
        self._tie(T)

    def _tie(self, tied: IndexArray) -> None:
        """Set the tied columns and their signs."""
        self.tied = tied
        self.signs = np.sign(self.c[tied])

    def rates(self) -> tuple[FloatArray, FloatArray]:
        """Return g_j = s_j⟨X_j, u⟩ for the tied j, and error bounds; the KKT conditions require g ≥ 1."""
        g, error = self._accurate_c(self.direction, self.tied)
        return self.signs * g, error

    def tight_columns(self) -> IndexArray:
        """Return the tied j with g_j = 1 to rounding, including that of weighted or standardized data."""
        g, error = self.rates()
        if self.problem.is_multiplied:
            error += self._products_error(self.direction, self.tied)
        return self.tied[g <= 1 + error]

    def enter(self) -> None:
        """Find the direction of the path below this knot, and with it P, the active set just below.

        The method is that of Lawson and Hanson. While some tied j has g_j < 1, let the j of least g_j enter.
        Then step from the last feasible direction towards the new minimiser, dropping each v_j that becomes
        negative. Every accepted exchange increases ‖u‖², and P determines ‖u‖², so no P occurs twice. Between
        two accepted exchanges each tied column is tried at most once.
        """
        rejected = np.zeros(len(self.tied), bool)  # columns that depend on P or do not increase ‖u‖²
        entered: list[int] = []
        while len(self.tied):
            rates, error = self.rates()
            violation = np.where(rejected | (self.sign[self.tied] != 0), 0, 1 - rates - error)
            worst = int(np.argmax(violation))
            if violation[worst] <= 0:
                self.sound &= self._is_small(error, 1.0)
                break
            if self._exchange(int(self.tied[worst]), float(self.signs[worst]), entered):
                rejected[:] = False
            else:
                rejected[worst] = True
        outside = self.sign[self.tied] == 0
        self.tied, self.signs = self.tied[outside], self.signs[outside]
        self._set_base()

    def _exchange(self, j: int, sign: float, entered: list[int]) -> bool:
        """Let j enter P and drop the columns whose v would become negative; return whether ‖u‖ increased.

        The objective at its minimiser over P is −½‖u‖², so ‖u‖ must increase. If by rounding it does not, P
        is restored.
        """
        old, size, before = list(entered), float(self.direction.r @ self.direction.r), self.slope()
        if not self.qr.append(j):
            return False
        self.sign[j] = sign
        entered.append(j)
        self._set_direction()
        self._keep_nonnegative(entered, before)
        if float(self.direction.r @ self.direction.r) > size:
            return True
        for i in set(entered) - set(old):
            self._drop(i)
        for i in old:
            if i not in entered and self.qr.append(i):
                self.sign[i] = self.signs[self.tied == i][0]
        entered[:] = [i for i in old if i in self.qr.index]
        self._set_direction()
        return False

    def _keep_nonnegative(self, entered: list[int], before: dict[int, float]) -> None:
        """Drop from P, one at a time, the entered columns whose v_j = s_jβ̇_j would not be positive.

        On the segment from `before` to the new minimiser `after`, v_j vanishes at the step length
        before/(before − after) if after < 0. A v_j that is zero to rounding vanishes at 1. Each iteration
        except the last removes a column from `entered`.
        """
        while True:
            after, slope = self.slope(), self.direction
            error = dict(zip(self.qr.index, slope.x_error + 4 * EPS * np.abs(slope.x), strict=True))
            v = {j: (self.sign[j] * before.get(j, 0), self.sign[j] * after[j]) for j in entered}
            step = {
                j: old / (old - new) if new < 0 else 1.0 for j, (old, new) in v.items() if new <= error[j]
            }
            if not step:
                return
            first = min(step, key=lambda j: (step[j], j))
            before = {
                j: before.get(j, 0) + step[first] * (after[j] - before.get(j, 0)) for j in self.qr.index
            }
            self._drop(first)
            entered.remove(first)
            self._set_direction()

    def _drop(self, j: int) -> None:
        self.qr.remove(j)
        self.sign[j] = 0

    def advance(self, lam_min: float) -> FloatArray:
        """Follow the segment to its next event, or to lam_min, and return β there.

        At an event the coefficients that are zero to rounding leave P, and the columns with |c_j| = λ to
        rounding are tied. The tolerances are the errors of c and β and the error of λ itself, `lam_error`.
        The latter changes λ − s_jc_j, s_j = sign c_j, by |1 − s_jb_j|·lam_error, not by
        (1 + |b_j|)·lam_error. For nearly equal columns 1 − s_jb_j is tiny and λ is inaccurate, but c_j moves
        with λ, so λ − s_jc_j is accurate.
        """
        lines, beta0_error = self._lines(), self._beta0_error()
        exits = self._exits(beta0_error)
        exit_ = float(exits.max(initial=0))
        entries = self._refined_entries(lines, exit_, lam_min)
        knot = max(float(entries.max()), exit_)
        self.sound &= knot <= lam_min or knot < self.lam
        self.lam = max(knot, lam_min)
        self.c, error = lines.at(self.lam), lines.error(self.lam)
        if knot <= lam_min:
            outside = self.size(self.c)
            outside[self.qr.index] = 0
            self.sound &= bool(np.all(outside <= self.lam * (1 + lines.b_data_error) + error))
            return self._end()
        P, beta, beta_error = self._active_coef(knot)
        slope = self.direction.x[len(self.free) :]
        lam_error = 4 * EPS * knot
        if entries.max() == knot:
            j = int(np.argmax(entries))
            lam_error += float(error[j] / (1 - np.sign(lines.a[j]) * lines.b[j]))
        else:
            i = int(np.argmax(exits))
            lam_error += float(beta_error[i] / abs(slope[i]))
        passed = (self.sign[P] * beta < 0) & (np.abs(beta) <= beta0_error)
        vanishing = (self.sign[P] * slope < 0) & (np.abs(beta) <= beta_error + np.abs(slope) * lam_error)
        zero = P[vanishing | passed]
        signs = self._remove(zero)
        self.sound &= self._signs_hold()
        error += np.abs(1 - np.sign(self.c) * lines.b) * lam_error
        self.c[zero], error[zero] = knot * signs, 4 * EPS * knot
        if len(zero):
            self._release(lines, error, lam_error)
        self._tie(self._boundary_columns(error, lines.b_data_error))
        return self.coef()

    def _release(self, lines: Lines, error: FloatArray, lam_error: float) -> None:
        """Recompute c of the columns that were in the span of S ∪ P, with a = 0, until a column left P.

        Their c = λb was exact for some data within rounding of the given ones, not for the residual, so λb
        may exceed λ.
        """
        J = np.flatnonzero(lines.b_data_error)
        J = J[~in_span(self.qr, J)[0]]
        (a, a_error), (b, b_error) = self._accurate_c(self.base, J), self._accurate_c(self.direction, J)
        self.c[J], lines.b_data_error[J] = a + self.lam * b, 0
        error[J] = a_error + self.lam * b_error + np.abs(1 - np.sign(self.c[J]) * b) * lam_error

    def _exits(self, beta0_error: FloatArray) -> FloatArray:
        """Return the λ at which each β_j = β₀ − λ·slope of P is zero; 0 if |β_j| does not decrease."""
        P, beta0, error = self._active_coef(0.0)
        slope = self.direction.x[len(self.free) :]
        falling = (self.sign[P] * slope < 0) & (self.sign[P] * beta0 < -error - beta0_error)
        return np.where(falling, beta0 / np.where(falling, slope, 1), 0)

    def _refined_entries(self, lines: Lines, exit_: float, lam_min: float) -> FloatArray:
        """Return `_entries`, with a and b in twice the precision for all columns that may be tied there.

        The next event is at λ = max(entries, exit_, lam_min). A column may be tied there if |c_j| = λ to
        rounding, or if a_j = 0 to rounding of the data and |c_j| = λ cannot be excluded.
        """
        unrefined = self.problem.column_norms > 0
        unrefined[self.unpenalized] = unrefined[self.qr.index] = False
        a_error = lines.a_error + self._span_error()
        slack = 1 - self.size(lines.b)
        slack[self.tied] = 1 + self.signs * lines.b[self.tied]
        while True:  # `unrefined` shrinks each time
            entries = self._entries(lines)
            lam = max(float(entries.max()), exit_, lam_min)
            candidate = self.size(lines.at(lam)) >= lam - lines.error(lam)
            undecided = (np.abs(lines.a) <= a_error) & (2 * a_error > lam * slack)
            J = np.flatnonzero(unrefined & (candidate | undecided))
            if len(J) == 0:
                return entries
            self._refine(lines, J, J[np.abs(lines.a[J]) <= a_error[J]])
            unrefined[J] = False

    def _remove(self, zero: IndexArray) -> FloatArray:
        """Remove the columns `zero` from P, and return their signs.

        β on the rest of P is computed again at this λ, which has a rounding error. There c_j must still be
        λs_j for the removed j.
        """
        signs = self.sign[zero]
        for j in zero.tolist():
            self._drop(j)
        if len(zero):
            self._set_base()
            self._set_direction()
            a, b = self._accurate_c(self.base, zero)[0], self._accurate_c(self.direction, zero)[0]
            self.sound &= self._is_small(np.abs(a + self.lam * b - self.lam * signs), self.lam)
        return signs

    def _end(self) -> FloatArray:
        """Return β at lam_min, after removing columns of the wrong sign.

        If y is fitted, rounding of the data can give a zero (β₀)_j the wrong sign. Removing one such column
        leaves the residual |(β₀)_j|/‖row j of R⁻¹‖, which by `_beta0_error` is at most the rounding of y.
        After several columns are removed, the fit is checked. Each iteration shrinks P.
        """
        while self.is_fitted():
            P, beta0, error = self._active_coef(0.0)
            beta = self._active_coef(self.lam)[1]
            zero = np.abs(beta0) <= error + self._beta0_error()
            wrong = P[zero & (self.sign[P] * beta < 0)].tolist()
            if not wrong:
                break
            for j in wrong:
                self._drop(j)
            self._set_base()
            self._set_direction()
            self.sound &= self.is_fitted()
        self.sound &= self._signs_hold()
        return self.coef()

    def _entries(self, lines: Lines) -> FloatArray:
        """Return the λ at which each column would enter.

        There c_j = a_j + λb_j meets ±λ, at |a_j|/(1 − sign(a_j)b_j). It is zero for columns that cannot
        enter, and for those whose a_j is zero to rounding. A column that is tied now has g_j ≥ 1 and can only
        reach the opposite bound, c_j = −λs_j. If β ≥ 0 is required, only columns with a_j > 0 can enter: c_j
        − λ is linear in λ, negative now, and equal to a_j at λ = 0.
        """
        sign = np.where(self.size(lines.a) > lines.a_error, np.sign(lines.a), 0)
        speed = 1 - sign * lines.b  # of λ − |c_j|, per unit of λ
        sign[self.tied[sign[self.tied] == self.signs]] = 0
        possible = (sign != 0) & (speed > 0)
        possible[self.qr.index] = False
        entries = np.zeros(len(sign))
        entries[possible] = np.minimum(np.abs(lines.a[possible]) / speed[possible], self.lam)
        return entries

    def _boundary_columns(self, error: FloatArray, b_data_error: FloatArray) -> IndexArray:
        """Return the columns outside S ∪ P with |c_j| = λ to rounding.

        The path is not sound if an error is too large, or if |c_j| > λ(1 + b_data_error) beyond its error.
        """
        size = self.size(self.c)
        tied = (size >= self.lam - error) & (self.problem.column_norms > 0)
        tied[self.qr.index] = tied[self.unpenalized] = False
        J = np.flatnonzero(tied)
        self.sound &= self._is_small(error[J], self.lam)
        self.sound &= bool(np.all(size[J] <= self.lam * (1 + b_data_error[J]) + error[J]))
        return J
