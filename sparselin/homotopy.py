"""The LASSO homotopy: from knot to knot, right under ties.

At a knot λ with solution β, tied set E = {j ∉ S : |c_j| = λ} and signs s_j = sign c_j, the path leaves
along β̇ = dβ/dε, λ − ε, where with u = Xβ̇ and g_j = s_j⟨X_j, u⟩ the KKT conditions read

    ⟨X_j, u⟩ = 0 on S,   g_j = 1 where β_j ≠ 0,
    g_j ≥ 1,  s_jβ̇_j ≥ 0,  s_jβ̇_j(g_j − 1) = 0   on the rest of E:

the optimality conditions of min ½‖Xβ̇‖² − Σ_E s_jβ̇_j over them, a nonnegative least squares problem with
some free variables, solved by Lawson and Hanson's active sets. A single entry or a single exit needs one
step of it; ties, duplicates and simultaneous events need no other code. Between knots, with the QR
factorisation X_{S∪P} = QR of the nonzero columns, z = Qᵀy and w = R⁻ᵀs (s = 0 on S),

    β(λ) = R⁻¹(z − λw),   y − Xβ(λ) = P_{S∪P}^⊥ y + λQw,

so that every knot is computed afresh and nothing drifts.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from sparselin.problem import Problem
from sparselin.results import FloatArray, IndexArray
from sparselin.thin_qr import ThinQR
from sparselin.ties import tied_at_maximum


class Knot(NamedTuple):
    """λ, β(λ) and the indices outside S that are nonzero just below."""

    lam: float
    coef: FloatArray
    active: tuple[int, ...]


class Point(NamedTuple):
    """Where a path is taken up: λ, the columns P nonzero below it, their signs, β on S (as given) and P."""

    lam: float
    P: list[int]
    signs: FloatArray
    coef: FloatArray


class Homotopy:
    """A point on the path: λ, the factorisation of X_{S∪P}, and what is tied there.

    Attributes
    ----------
    lam : λ now; c (d,): the correlations Xᵀ(y − Xβ), zero on S.
    tied, signs : the indices outside S ∪ P with |c_j| = λ, and sign c_j for them.
    """

    def __init__(self, problem: Problem, S: IndexArray) -> None:
        self.problem = problem
        self.qr = ThinQR(problem, S)
        self.n_free = self.qr.size  # columns of the QR that belong to S
        self.sign = np.zeros(problem.d, problem.dtype)  # s_j on P
        self.unpenalized = S
        self.residual = self.qr.residual(problem.y)
        self.c = self._correlate(self.residual)
        self.lam, tied = tied_at_maximum(self.c, problem.correlation_error(self.qr.kappa))
        self._tie(tied)
        self._refresh()

    @property
    def error(self) -> FloatArray:
        """What correlations must differ from λ by to be told apart: e_c, but a thousandth of λ at most.

        e_c bounds the distance from the path of X. The path followed is, to rounding, that of a matrix
        nearby, whose events go on below e_c where columns are nearly dependent.
        """
        return np.minimum(self.problem.correlation_error(self.qr.kappa), 1e-3 * self.lam)

    def knots(self, lam_min: float) -> Iterator[Knot]:
        """The knots from here down to lam_min; they end early only where rounding hides the next one.

        A knot may come again, with what rounding hid the first time: then the last one counts.
        """
        yield Knot(self.lam, self.coef(), self.enter())
        yield from self._below(lam_min)

    def resume(self, point: Point, lam_min: float) -> Iterator[Knot]:
        """The knots below a point of the path at which P is settled."""
        signs = dict(zip(point.P, point.signs, strict=True))
        for j in [j for j in self.qr.index[self.n_free :] if j not in signs]:
            self._drop(j)
        for j in point.P:
            if j in self.qr.index or self.qr.append(j):
                self.sign[j] = signs[j]
        self.lam = point.lam
        self._refresh()
        self.c = self._correlate(
            self.qr.residual(self.problem.y) + self.problem.dtype.type(self.lam) * self.u
        )
        self._tie(self._at_the_face(self.c))
        yield from self._below(lam_min)

    def here(self) -> Point:
        """Where the path is, once P is settled."""
        P = self.qr.index[self.n_free :]
        coef = self.coef()
        return Point(self.lam, P, self.sign[P], coef[self.qr.index])

    def _below(self, lam_min: float) -> Iterator[Knot]:
        """The knots below this one."""
        stalled, done = 0, self.lam <= lam_min
        while not done and stalled <= 2 * self.problem.d:
            above = self.lam
            done = self.advance(lam_min)
            if not done:
                self._settle()
            coef = self.coef()
            if not self.optimal(coef):
                self.lam = above
                return
            stalled = 0 if self.lam < above else stalled + 1
            yield Knot(self.lam, coef, self.active() if done else self.enter())

    def optimal(self, coef: FloatArray) -> bool:
        """Whether β satisfies the KKT conditions at λ to a hundred times the rounding of c itself.

        Computed from β, c_i errs by eps·‖X_i‖(‖y‖ + Σ‖X_j‖|β_j|); the hundred leaves room for what the
        factorisation adds, while a hidden event is wrong by far more.
        """
        problem = self.problem
        c = problem.correlate(problem.y - problem.predict(coef))
        size = problem.y_norm + float(problem.column_norms @ np.abs(coef))
        allowed = 100 * problem.rounding() * problem.column_norms * size
        penalty = np.full(problem.d, self.lam)
        penalty[self.unpenalized] = 0
        off = np.where(coef != 0, np.abs(c - penalty * np.sign(coef)), np.abs(c) - penalty)
        return bool(np.all(off <= allowed))

    def active(self) -> tuple[int, ...]:
        """P, increasing."""
        return tuple(sorted(self.qr.index[self.n_free :]))

    def coef(self) -> FloatArray:
        """β(λ) (d,). A coefficient that rounding has carried past zero is zero."""
        coef = np.zeros(self.problem.d, self.problem.dtype)
        coef[self.qr.index] = self.level - self.problem.dtype.type(self.lam) * self.slope
        P = self.qr.index[self.n_free :]
        coef[P] = np.where(self.sign[P] * coef[P] > 0, coef[P], 0)
        return coef

    def _correlate(self, r: FloatArray) -> FloatArray:
        c = self.problem.correlate(r)
        c[self.unpenalized] = 0
        return c

    def _tie(self, tied: IndexArray) -> None:
        self.tied = tied
        self.signs = np.sign(self.c[tied])

    def _refresh(self) -> None:
        """For the QR now: `level` R⁻¹z, `slope` R⁻¹w and u = Qw, so that β(λ) = level − λ·slope."""
        s = self.sign[self.qr.index]
        w = self.qr.solve_transposed(s)
        self.level = self.qr.solve(self.qr.Qt @ self.problem.y)
        self.slope = self.qr.solve(w)
        self.u = self.qr.Qt.T @ w

    def rates(self) -> FloatArray:
        """g_j = s_j⟨X_j, u⟩ for the tied j; KKT wants g ≥ 1."""
        return self.signs * self.problem.correlate(self.u)[self.tied]

    def rate_error(self) -> FloatArray:
        """A bound on the rounding error of `rates()`, ‖X_j‖‖u‖ times a relative one, as for e_c.

        g is compared with one: an error above a thousandth would decide for it, so it is cut there.
        """
        unit = self.problem.rounding(self.qr.kappa) * float(np.sqrt(self.u @ self.u))
        return np.asarray(np.minimum(unit * self.problem.column_norms[self.tied], 1e-3))

    def slope_error(self, j: int) -> float:
        """A bound on the rounding error of slope_j = ⟨row j of R⁻¹, w⟩, ‖w‖ = ‖u‖."""
        return (
            min(self.problem.rounding(self.qr.kappa), 1e-3) * self._row_norm(j) * math.sqrt(self.u @ self.u)
        )

    def coef_error(self, j: int) -> float:
        """The same for β_j = ⟨row j of R⁻¹, z − λw⟩."""
        size = self.problem.y_norm + self.lam * math.sqrt(self.u @ self.u)
        return self.problem.rounding() * self._row_norm(j) * size

    def _row_norm(self, j: int) -> float:
        """‖row j of R⁻¹‖ for a column j of the QR."""
        unit = np.zeros(self.qr.size, self.problem.dtype)
        unit[self.qr.index.index(j)] = 1
        row = self.qr.solve_transposed(unit)
        return math.sqrt(row @ row)

    def enter(self) -> tuple[int, ...]:
        """Choose the direction that leaves this knot; returns P, the nonzero ones just below it.

        Lawson and Hanson: while some tied j has g_j < 1, let the worst enter; then step from the
        last feasible direction towards the new minimiser, dropping what would turn negative.
        """
        barred = np.zeros(len(self.tied), bool)  # dependent on P, or of no use
        entered: list[int] = []
        for _ in range(10 * len(self.tied)):
            lacking = np.where(barred, 0, 1 - self.rates() - self.rate_error())
            worst = int(np.argmax(lacking))
            if lacking[worst] <= 0:
                break
            if self._exchange(int(self.tied[worst]), self.signs[worst], entered):
                barred[:] = False
            else:
                barred[worst] = True
        keep = ~np.isin(self.tied, self.qr.index)
        self.tied, self.signs = self.tied[keep], self.signs[keep]
        return self.active()

    def _exchange(self, j: int, sign: Any, entered: list[int]) -> bool:
        """Let j enter, and leave what then blocks; says whether that served.

        The objective at its minimiser over P is −½‖u‖², so that ‖u‖ must grow; where rounding says
        that it does not, P is put back.
        """
        old, size = list(entered), float(self.u @ self.u)
        before = dict(zip(self.qr.index, self.slope, strict=True))
        if not self.qr.append(j):
            return False
        self.sign[j] = sign
        entered.append(j)
        self._refresh()
        self._keep_nonnegative(entered, before)
        if float(self.u @ self.u) > size:
            return True
        for i in set(entered) - set(old):
            self._drop(i)
        for i in old:
            if i not in entered and self.qr.append(i):
                self.sign[i] = self.signs[self.tied == i][0]
        entered[:] = [i for i in old if i in self.qr.index]
        self._refresh()
        return False

    def _keep_nonnegative(self, entered: list[int], before: dict[int, Any]) -> None:
        """Drop from P, one at a time, the entered whose v_j = s_jβ̇_j would not be positive.

        On the way from `before` to the new minimiser `after`, v_j vanishes at the share
        before/(before − after) where after < 0; a v_j that is zero to rounding vanishes at the end.
        """
        while True:
            after = dict(zip(self.qr.index, self.slope, strict=True))
            v = {j: (self.sign[j] * before.get(j, 0), self.sign[j] * after[j]) for j in entered}
            share = {
                j: old / (old - new) if new < 0 else 1.0
                for j, (old, new) in v.items()
                if new <= self.slope_error(j)
            }
            if not share:
                return
            first = min(share, key=lambda j: (share[j], j))
            before = {
                j: before.get(j, 0) + share[first] * (after[j] - before.get(j, 0)) for j in self.qr.index
            }
            self._drop(first)
            entered.remove(first)
            self._refresh()

    def _drop(self, j: int) -> None:
        self.qr.delete(self.qr.index.index(j))
        self.sign[j] = 0

    def advance(self, lam_min: float) -> bool:
        """Follow the segment to its next event, or to lam_min; says whether it was the latter.

        With a = XᵀP_{S∪P}^⊥y and b = Xᵀu, c_j(λ) = a_j + λb_j meets ±λ at |a_j|/(1 − sign(a_j)b_j); what
        is tied now has g_j ≥ 1 and only the opposite face before it. β_j = level − λ·slope is zero at
        level/slope.
        """
        residual = self.qr.residual(self.problem.y)
        a, b = self._correlate(np.stack([residual, self.u], axis=1)).T
        floor = self.problem.correlation_error()
        entry = np.where(np.abs(a) > floor, self._entries(a, b), 0)  # a_j ≈ 0: c_j vanishes with λ
        floor = floor[floor > 0]
        P = self.qr.index[self.n_free :]
        level, slope = self.level[self.n_free :], self.slope[self.n_free :]
        exit_ = np.zeros(len(P))
        falling = self.sign[P] * slope < 0
        exit_[falling] = np.maximum(level[falling] / slope[falling], 0)
        knot = min(self.lam, max(entry.max(initial=0), exit_.max(initial=0)))
        if knot <= max(lam_min, floor.min()):
            self.lam = lam_min
            return True
        self.lam = float(knot)
        self.c = a + self.problem.dtype.type(knot) * b
        self._entry, self._exit = entry, exit_
        return False

    def _entries(self, a: FloatArray, b: FloatArray) -> FloatArray:
        """λ at which each column would enter; zero for those that cannot."""
        sign = np.sign(a)
        room = 1 - sign * b
        sign[self.tied[sign[self.tied] == self.signs]] = 0
        entry = np.zeros(len(a))
        possible = (sign != 0) & (room > 0)
        possible[self.qr.index] = False
        entry[possible] = np.minimum(np.abs(a[possible]) / room[possible], self.lam)
        return entry

    def _settle(self) -> None:
        """At the new knot: take out of P what has reached zero, find what is tied."""
        P = self.qr.index[self.n_free :]
        size = self.sign[P] * (self.level - self.lam * self.slope)[self.n_free :]
        near = self._exit >= 0.999 * self.lam
        zero = [self.coef_error(j) >= size[i] if near[i] else False for i, j in enumerate(P)]
        for j in [j for j, exit_, gone in zip(P, self._exit, zero, strict=True) if exit_ >= self.lam or gone]:
            self._drop(j)
        tied = self._at_the_face(np.where(self._entry >= self.lam, np.inf, self.c))
        self._refresh()
        self._tie(tied)

    def _at_the_face(self, c: FloatArray) -> IndexArray:
        """The columns outside S ∪ P whose |c_j| is λ to rounding."""
        tied = (np.abs(c) >= self.lam - self.error) & (self.problem.column_norms > 0)
        tied[self.qr.index] = tied[self.unpenalized] = False
        return np.flatnonzero(tied)
