"""The LASSO homotopy: it goes from knot to knot of the path, and is correct under ties.

Let S be the features without penalty, β the solution at a knot λ, and c = Xᵀ(y − Xβ). The tied set is
E = {j ∉ S : |c_j| = λ}, with the signs s_j = sign c_j. Below the knot, at λ − ε, the path leaves in the
direction β̇ = dβ/dε. With u = Xβ̇ and g_j = s_j⟨X_j, u⟩, the KKT conditions are

    ⟨X_j, u⟩ = 0 on S,   g_j = 1 where β_j ≠ 0,
    g_j ≥ 1,  s_jβ̇_j ≥ 0,  s_jβ̇_j(g_j − 1) = 0   on the rest of E.

These are the optimality conditions of min ½‖Xβ̇‖² − Σ_E s_jβ̇_j subject to s_jβ̇_j ≥ 0 for the j with β_j =
0. This is a nonnegative least squares problem with some free variables, and the active set method of Lawson
and Hanson solves it. A single entry or exit takes one step of that method; ties, duplicates and simultaneous
events need no other code. Such a homotopy, without the condition that features enter or leave one at a time,
is due to Bringmann, Cremers, Krahmer and Möller (*The homotopy method revisited*, 2016, arXiv 1605.00071).
They prove that it ends after finitely many steps, and describe all directions at each point.

Between knots, β and c are linear in λ. They are computed from X and y (`_segment`). The slope −dβ/dλ on a
segment is β̇, which is nonzero only on S and on P, the nonzero features outside S. A knot is accepted only if
the errors of c are below λ/1000 for all columns that may be tied there; otherwise the path ends before the
knot. (For a Gram problem c is known only to κ²·eps, where κ is the condition number of the columns. So its
error bounds are capped at λ/1000; see `Segment`.)

If β ≥ 0 is required outside S, the penalty |β_j| is replaced by β_j, and by ∞ for β_j < 0. Then the condition
|c_j| ≤ λ becomes c_j ≤ λ: every sign s_j is +1, and c_j is compared with λ in place of |c_j| (`size`).
Everything else is the same (docs/proofs/nonnegative.md).
"""

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
    """A knot of the LASSO path: λ, the solution β(λ) (d,), and the penalised features active just below λ."""

    lam: float
    coef: FloatArray
    active: tuple[int, ...]


class Point(NamedTuple):
    """A point of the LASSO path.

    P, signs : the penalised columns whose coefficient is nonzero just below the point, and its sign.
    coef : β on S, the columns without penalty, and on P.
    """

    lam: float
    P: list[int]
    signs: FloatArray
    coef: FloatArray


class Homotopy(Segment):
    """The state of the homotopy at a point of the LASSO path: the segment below it, and the tied columns.

    S are the features without penalty. At first the point is λ*(S), the least λ at which all coefficients
    outside S are zero. The argument `qr` is a factorisation of X_S in float64, if one is known; it is copied.

    Attributes
    ----------
    lam, c : λ, and the correlations c = Xᵀ(y − Xβ) (d,), set to zero on S.
    tied, signs : the columns j with |c_j| = λ that are neither in S nor active, and the signs of c_j.
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
        """Yield the knots from the current point down to lam_min.

        The sequence ends earlier only if rounding leaves the next knot undecided.
        """
        coef = self.coef()
        self.enter()
        yield Knot(self.lam, coef, self.active())
        if self.sound:
            yield from self._below(lam_min)

    def resume(self, point: Point, lam_min: float) -> Iterator[Knot] | None:
        """Go to a point between two knots, and return the knots below it.

        Returns None if the KKT conditions fail at the point.
        """
        signs = dict(zip(point.P, point.signs.tolist(), strict=True))
        for j in [j for j in self.active() if j not in signs]:
            self._drop(j)
        for j in point.P:
            if j not in self.qr.index and not self.qr.append(j):
                return None
            self.sign[j] = signs[j]
        self.lam = point.lam
        self.sound = True
        self._set_base()
        self._set_direction()
        self.c = self._correlate(self.residual)
        self._tie(self._boundary_columns(self.error(self.lam), np.zeros(self.problem.d)))
        return self._below(lam_min) if self.sound and self.is_optimal(self.lam) else None

    def here(self) -> Point:
        """Return the current point with the active set just below it; call `enter` first."""
        P = [j for j in self.qr.index if j not in self.free]
        return Point(self.lam, P, self.sign[P], self.coef()[self.free + P])

    def _below(self, lam_min: float) -> Iterator[Knot]:
        """Yield the knots below the current one, down to lam_min.

        The method terminates: at each knot λ decreases or the path ends, and there are finitely many floats.
        (It would also terminate in exact arithmetic. There each active set with given signs is optimal on one
        interval of λ, so none occurs twice.)
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
        """Return the active penalised features, in increasing order."""
        return tuple(sorted(set(self.qr.index) - set(self.free)))

    def coef(self) -> FloatArray:
        """Return the solution β (d,) at the current λ.

        A coefficient that rounding gave the wrong sign is set to zero.
        """
        coef = np.zeros(self.problem.d)
        coef[self.qr.index] = self._beta(self.lam)
        P = list(self.active())
        coef[P] = np.where(self.sign[P] * coef[P] > 0, coef[P], 0)
        return coef

    def _largest_correlations(self) -> tuple[IndexArray, FloatArray]:
        """Return the columns T that may have the largest |c_j|, and bounds on the errors of their c_j.

        S are the features without penalty, and c = Xᵀ(y − Xβ). Only columns outside the span of S are
        compared. If e_j bounds the error of c_j, then T = {j : |c_j| + e_j ≥ max_i (|c_i| − e_i)}. If β ≥ 0
        is required, c_j takes the place of |c_j| (`size`).
        """
        error = self.error(0.0)
        none = np.zeros(0, np.intp)
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
        """Add to the tied columns at λ* those whose tie was broken by the rounding of weights and scales.

        The products of the data with √weight and scales are rounded, and this rounding may break a tie. The
        error of a correlation c_i grows with the size s(X_i) that `ThinQR.sizes` returns. The search for such
        columns has two steps. The first uses the cheap bound s(X_i) ≤ √(1 + κ²)‖X_i‖, where κ is the
        condition number of the columns of the factorisation. It overestimates the errors, so it excludes no
        tied column. The second step computes the errors of the remaining columns.
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
        """Set the tied columns, and compute the signs of their correlations."""
        self.tied = tied
        self.signs = np.sign(self.c[tied])

    def rates(self) -> tuple[FloatArray, FloatArray]:
        """Return the rates at which |c_j| of the tied columns j decreases below the knot, and error bounds.

        Here c = Xᵀ(y − Xβ). The rate is g_j = s_j⟨X_j, u⟩, where s_j = sign c_j, and u = Xβ̇ for the
        direction β̇ of the path. λ decreases at rate 1, so the KKT conditions are g_j ≥ 1.
        """
        g, error = self._accurate_c(self.direction, self.tied)
        return self.signs * g, error

    def tight_columns(self) -> IndexArray:
        """Return the tied columns that stay tied below the knot.

        These are the columns for which the rate that `rates` returns is 1 to rounding. The rounding of
        weighted or standardized data is included.
        """
        g, error = self.rates()
        if self.problem.is_multiplied:
            error += self._products_error(self.direction, self.tied)
        return self.tied[g <= 1 + error]

    def enter(self) -> None:
        """Find the direction of the path below this knot, and the active set P just below it.

        Let β̇ be the direction, u = Xβ̇, and s_j the sign of c_j = ⟨X_j, y − Xβ⟩. The method is that of
        Lawson and Hanson for the problem in the docstring of the module. While some tied j has g_j = s_j⟨X_j,
        u⟩ < 1, the j with the least g_j enters P. Then the direction moves from the last feasible one towards
        the minimiser over P. A column whose s_jβ̇_j becomes negative on the way is removed from P. Every
        accepted exchange increases ‖u‖², and ‖u‖² is a function of P, so no P occurs twice. Between two
        accepted exchanges each tied column is tried at most once.
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
        """Let column j enter the active set P, and remove columns i whose s_iβ̇_i becomes negative.

        β̇ is the direction of the path, u = Xβ̇, and s_i the sign of the correlation of column i. The result
        is whether ‖u‖ increased. In exact arithmetic it does, because the objective at its minimiser over P
        is −½‖u‖². If rounding prevents this, P is restored.

        sign : s_j.
        entered : the tied columns that have entered P; updated in place.
        """
        old = list(entered)
        size = float(self.direction.r @ self.direction.r)
        before = self.slope()
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

    def _keep_nonnegative(self, entered: list[int], start: dict[int, float]) -> None:
        """Remove from the active set P the entered columns j for which s_jβ̇_j is not positive.

        β̇ is the direction of the path, and s_j the sign of the correlation of column j. Let v_j = s_jβ̇_j
        have the value `old` in the last feasible direction `start`, and `new` at the minimiser over P. Move
        from the direction `start` to this minimiser, with step lengths from 0 to 1. If new < 0, v_j vanishes
        at the step length old/(old − new); a v_j that is zero to rounding at the minimiser vanishes at 1.
        Columns are removed one at a time: the column whose v_j vanishes first is removed, and the minimiser
        is computed again. Each iteration except the last removes a column from `entered`.
        """
        while True:
            after = self.slope()
            slope = self.direction
            slack = dict(zip(self.qr.index, slope.x_error + 4 * EPS * np.abs(slope.x), strict=True))
            v = {j: (self.sign[j] * start.get(j, 0), self.sign[j] * after[j]) for j in entered}
            step = {j: old / (old - new) if new < 0 else 1 for j, (old, new) in v.items() if new <= slack[j]}
            if not step:
                return
            first = min(step, key=lambda j: (step[j], j))
            start = {j: start.get(j, 0) + step[first] * (after[j] - start.get(j, 0)) for j in self.qr.index}
            self._drop(first)
            entered.remove(first)
            self._set_direction()

    def _drop(self, j: int) -> None:
        self.qr.remove(j)
        self.sign[j] = 0

    def advance(self, lam_min: float) -> FloatArray:
        """Follow the segment to its next event, or to lam_min, and return β there.

        Let c = Xᵀ(y − Xβ), and let P be the active set. At an event the columns whose coefficient is zero to
        rounding leave P, and the columns with |c_j| = λ to rounding become tied. The tolerances are the
        errors of c and β, and the error `lam_error` of λ itself.

        How does an error of λ affect the test |c_j| = λ? On the segment c_j = a_j + λb_j; let s_j = sign c_j.
        The error changes λ − s_jc_j by |1 − s_jb_j|·lam_error, not by (1 + |b_j|)·lam_error. This matters for
        a column j that is nearly equal to an active column, because 1 − s_jb_j is tiny for it. The λ at which
        column j is tied is inaccurate, but c_j moves with λ, so λ − s_jc_j is accurate.
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
        self.c[zero] = knot * signs
        error[zero] = 4 * EPS * knot
        if len(zero):
            self._release(lines, error, lam_error)
        self._tie(self._boundary_columns(error, lines.b_data_error))
        return self.coef()

    def _release(self, lines: Lines, error: FloatArray, lam_error: float) -> None:
        """Recompute the correlations of the columns that left the span of S ∪ P when a column left P.

        S are the features without penalty, P is the active set, and c = a + λb are the correlations on the
        segment. While a column was in the span, its a was set to 0. This was exact for some data within
        rounding of the given data, but not for the given data, so its |λb| may exceed λ.
        """
        J = np.flatnonzero(lines.b_data_error)
        J = J[~in_span(self.qr, J)[0]]
        (a, a_error), (b, b_error) = self._accurate_c(self.base, J), self._accurate_c(self.direction, J)
        self.c[J] = a + self.lam * b
        lines.b_data_error[J] = 0
        error[J] = a_error + self.lam * b_error + np.abs(1 - np.sign(self.c[J]) * b) * lam_error

    def _exits(self, beta0_error: FloatArray) -> FloatArray:
        """Return, for each active column j, the λ at which its coefficient β_j becomes zero.

        On the segment β_j = (β₀)_j − λ·slope_j. The result is 0 if |β_j| does not decrease to zero as λ
        decreases.
        """
        P, beta0, error = self._active_coef(0.0)
        slope = self.direction.x[len(self.free) :]
        falling = (self.sign[P] * slope < 0) & (self.sign[P] * beta0 < -error - beta0_error)
        return np.where(falling, beta0 / np.where(falling, slope, 1), 0)

    def _refined_entries(self, lines: Lines, exit_: float, lam_min: float) -> FloatArray:
        """Return the λ (d,) at which each column would enter, exact enough to decide the next event.

        The next event is at the largest of these λ, of `exit_`, at which an active column would leave, and of
        lam_min. On the segment the correlation of column j is c_j = a_j + λb_j. For every column that may be
        tied at this event, a_j and b_j are computed in twice the precision, before `_entries` computes its λ.
        A column may be tied there if |c_j| = λ to rounding. It may also be tied there if a_j = 0 to rounding
        of the data, and the errors of a_j and b_j do not exclude |c_j| = λ.
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
        """Remove the columns `zero`, whose coefficients are zero at this λ, from the active set.

        Their signs are returned.

        β on the other active columns is computed again. The computed λ has a rounding error. So the path is
        marked as not sound unless c_j = λs_j still holds for each removed column j, where c_j is its
        correlation and s_j its sign.
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
        """Return β at lam_min, after removing columns whose coefficient has the wrong sign.

        A wrong sign is possible if y is fitted to rounding: a coefficient that is zero for the exact data may
        then be slightly negative or positive. On the last segment β = β₀ − λ·slope. If one column j is
        removed, the norm of the new residual is |(β₀)_j| divided by the norm of row j of R⁻¹, where QR is the
        factorisation of the active columns. By `_beta0_error` this norm is at most the rounding of y. If
        several columns are removed, the fit is checked. Each iteration removes columns from the active set,
        so the method terminates.
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
        """Return the λ (d,) at which each column would enter, if no other column entered before.

        The correlation of column j is c_j = a_j + λb_j on the segment. It meets ±λ at λ = |a_j|/(1 −
        sign(a_j)b_j). The result is zero for columns that cannot enter, and for columns whose a_j is zero to
        rounding. A column that is tied at the current λ decreases at least as fast as λ (see `rates`). So it
        can only reach the opposite bound, c_j = −λs_j, where s_j is its present sign. If β ≥ 0 is required,
        only columns with a_j > 0 can enter: c_j − λ is linear in λ, negative at the current λ, and equal to
        a_j at λ = 0.
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
        """Return the penalised columns with |c_j| = λ to rounding that are not active.

        c = Xᵀ(y − Xβ) are the correlations.

        error : bounds on the errors of c.
        b_data_error : see `Lines`.

        The path is marked as not sound if an error is too large, or if |c_j| exceeds λ(1 + b_data_error) by
        more than its error.
        """
        size = self.size(self.c)
        tied = (size >= self.lam - error) & (self.problem.column_norms > 0)
        tied[self.qr.index] = tied[self.unpenalized] = False
        J = np.flatnonzero(tied)
        self.sound &= self._is_small(error[J], self.lam)
        self.sound &= bool(np.all(size[J] <= self.lam * (1 + b_data_error[J]) + error[J]))
        return J
