"""The LASSO homotopy: from knot to knot, right under ties.

At a knot λ with solution β, tied set E = {j ∉ S : |c_j| = λ} and signs s_j = sign c_j, the path leaves
along β̇ = dβ/dε, λ − ε, where with u = Xβ̇ and g_j = s_j⟨X_j, u⟩ the KKT conditions read

    ⟨X_j, u⟩ = 0 on S,   g_j = 1 where β_j ≠ 0,
    g_j ≥ 1,  s_jβ̇_j ≥ 0,  s_jβ̇_j(g_j − 1) = 0   on the rest of E:

the optimality conditions of min ½‖Xβ̇‖² − Σ_E s_jβ̇_j over them, a nonnegative least squares problem with
some free variables, solved by Lawson and Hanson's active sets. A single entry or a single exit needs one
step of it; ties, duplicates and simultaneous events need no other code. Between knots, with

    r₀ + X_{S∪P}·level = y,  X_{S∪P}ᵀr₀ = 0    and    u = X_{S∪P}·slope,  X_{S∪P}ᵀu = s  (s = 0 on S),

    β(λ) = level − λ·slope,   y − Xβ(λ) = r₀ + λu,

so that every knot is computed afresh and nothing drifts. `Face` refines both systems, so that
a_i = ⟨X_i, r₀⟩ and b_i = ⟨X_i, u⟩ are known to

    8·eps·(√n + 1)·‖X_i‖‖r₀‖  and  8·eps·(√n + 1)·‖X_i‖‖u‖,

whatever the condition of X_{S∪P}: relative to what is left of y, and not to the terms of Xβ. Where that
leaves open whether c_i = a_i + λb_i is ±λ, both are computed in twice the precision. A knot counts only if
the errors of c are below a thousandth of λ for all columns that may be tied there; else the path ends before
it. (A Gram problem knows c to κ²·eps only, and goes on with errors cut to a thousandth: `Problem.leeway`.)

What the data's own rounding decides is no event: a column in the span of S ∪ P to rounding has a_i = 0, and
so has each when ‖r₀‖ ≤ 8·eps·√(‖y‖² + Σ‖X_j‖²level_j²), that is, when y is fitted to rounding. Then a level
that the data's rounding may change to zero is zero, as at the end of a path that fits y by fewer columns.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from sparselin._kernels import refinement
from sparselin.linalg.face import CHUNK, Balance, Face
from sparselin.problem import Problem
from sparselin.results import FloatArray, IndexArray

_EPS = float(np.finfo(np.float64).eps)


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


class Lines(NamedTuple):
    """c(λ) = a + λb on a segment, a = Xᵀr₀ and b = Xᵀu (d,), with bounds on their errors.

    `loose` is how far the data's rounding moves b of columns in the span of S ∪ P.
    """

    a: FloatArray
    b: FloatArray
    a_error: FloatArray
    b_error: FloatArray
    loose: FloatArray

    def at(self, lam: float) -> FloatArray:
        """c(λ)."""
        return self.a + lam * self.b

    def error(self, lam: float) -> FloatArray:
        """Bounds on its errors."""
        return self.a_error + lam * self.b_error


class Homotopy:
    """A point on the path: λ, the factorisation of X_{S∪P}, and what is tied there. All in float64.

    Attributes
    ----------
    lam : λ now; c (d,): the correlations Xᵀ(y − Xβ), zero on S.
    tied, signs : the indices outside S ∪ P with |c_j| = λ, and sign c_j for them.
    sound : whether all that was decided was clear beyond rounding.
    """

    def __init__(self, problem: Problem, S: IndexArray) -> None:
        self.problem = problem.in_double()
        self.leeway = self.problem.leeway
        self.face = Face(self.problem, problem.length_unit)
        self.unpenalized = S
        for j in S.tolist():
            self.face.append(j)
        self.free = list(self.face.index)
        self.sign = np.zeros(problem.d)  # s_j on P
        self.sound = True
        self._point()
        self._direct()
        self.c = self._correlate(self.base.r)
        self.lam = float(np.abs(self.c).max())
        tied, error = self._largest()
        self.lam = float(np.abs(self.c[tied]).max(initial=0))
        self.sound &= self._clear(error, self.lam)
        self._tie(tied)

    @property
    def residual(self) -> FloatArray:
        """y − Xβ(λ)."""
        return np.asarray(self.base.r + self.lam * self.way.r)

    def error(self, lam: float) -> FloatArray:
        """Bounds (d,) on the errors of c(λ) as `_correlate` gives it."""
        norms = self.problem.column_norms
        return np.asarray(self._errors(self.base, norms) + lam * self._errors(self.way, norms))

    def _errors(self, balance: Balance, norms: FloatArray, share: float = 1.0) -> FloatArray:
        """Bounds on the errors of ⟨X_i, r⟩, r from a balance and ‖X_i‖ given; `share` is that of the sum.

        What cuts them is never below 8·eps·(√n + 1)·‖X_i‖·size, so that noise does not count.
        """
        size = float(self.face.norms @ np.abs(balance.x))
        size += self.problem.y_norm if balance is self.base else 0
        unit = self.problem.refined_error(share * _norm(balance.r), size, self.face.kappa) + balance.r_error
        least = self.problem.rounding() * size
        return np.asarray(np.minimum(unit * norms, np.maximum(self._cut(balance), least * norms)))

    def _cut(self, balance: Balance) -> float:
        """The share `cap` of λ for a; not of the λ above, but of that to which a can lead; and of 1 for b."""
        if math.isinf(self.leeway.cap) or balance is not self.base:
            return self.leeway.cap
        a = np.abs(self._correlate(balance.r))
        a[self.face.index] = 0
        return self.leeway.cap * min(self.lam, float(a.max()))

    def _sharp(self, balance: Balance, J: IndexArray) -> tuple[FloatArray, FloatArray]:
        """⟨X_i, r⟩ of the columns J in twice the precision, r from a balance, and bounds on the errors."""
        norms, c = self.problem.column_norms[J], np.empty(len(J))
        for start in range(0, len(J), CHUNK):
            X = np.ascontiguousarray(self.problem.columns(J[start : start + CHUNK]).T)
            c[start : start + CHUNK] = refinement.correlations(X, balance.r, balance.r_low)
        return c, self._errors(balance, norms, _EPS) + 2 * _EPS * np.abs(c)

    def fitted(self) -> bool:
        """Whether y is in the span of S ∪ P to rounding."""
        size = math.hypot(self.problem.y_norm, _norm(self.face.norms * self.base.x))
        return self.face.size == self.problem.n or _norm(self.base.r) <= self.face.span_unit * size

    def knots(self, lam_min: float) -> Iterator[Knot]:
        """The knots from here down to lam_min; they end early only where rounding hides the next one."""
        coef = self.coef()
        self.enter()
        yield Knot(self.lam, coef, self.active())
        if self.sound:
            yield from self._below(lam_min)

    def resume(self, point: Point, lam_min: float) -> Iterator[Knot] | None:
        """The knots below a point inside a segment of the path; None if it is found not to be one."""
        signs = dict(zip(point.P, point.signs.tolist(), strict=True))
        for j in [j for j in self.active() if j not in signs]:
            self._drop(j)
        for j in point.P:
            if j not in self.face.index and not self.face.append(j):
                return None
            self.sign[j] = signs[j]
        self.lam, self.sound = point.lam, True
        self._point()
        self._direct()
        self.c = self._correlate(self.residual)
        self._tie(self._at_the_face(self.error(self.lam), np.zeros(self.problem.d)))
        if not (self.sound and self.optimal(self.lam)):
            return None
        return self._below(lam_min)

    def here(self) -> Point:
        """Where the path is, once P is settled."""
        P = [j for j in self.face.index if j not in self.free]
        return Point(self.lam, P, self.sign[P], self.coef()[self.free + P])

    def _below(self, lam_min: float) -> Iterator[Knot]:
        """The knots below this one.

        λ falls at each, or the path ends: floats that fall are finitely many, and as in exact arithmetic no
        face comes twice, since the λ at which it is optimal are an interval.
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

    def optimal(self, lam: float) -> bool:
        """Whether β(λ) on this face satisfies the KKT conditions to rounding."""
        c = self._correlate(self.base.r + lam * self.way.r)
        c[self.face.index] = 0
        return bool(np.all(np.abs(c) <= lam + self.error(lam))) and self._signs_hold(lam)

    def _signs_hold(self, lam: float | None = None) -> bool:
        """Whether the coefficients have their signs, but for what is rounding beside all of them."""
        P, beta, _ = self._penalized(self.lam if lam is None else lam)
        size = self.problem.column_norms[P] * beta
        share = self.problem.sign_error(self.face.kappa)
        least = -share * (self.problem.y_norm + float(np.abs(size).sum()))
        return bool(np.all(self.sign[P] * size >= least))

    def active(self) -> tuple[int, ...]:
        """P, increasing."""
        return tuple(sorted(set(self.face.index) - set(self.free)))

    def coef(self) -> FloatArray:
        """β(λ) (d,). A coefficient that rounding has carried past zero is zero."""
        coef = np.zeros(self.problem.d)
        coef[self.face.index] = self._beta(self.lam)
        P = list(self.active())
        coef[P] = np.where(self.sign[P] * coef[P] > 0, coef[P], 0)
        return coef

    def _beta(self, lam: float) -> FloatArray:
        """β(λ) on S ∪ P, as if in twice the precision and rounded."""
        base, way = self.base, self.way
        return np.asarray(refinement.along(base.x, base.x_low, lam, way.x, way.x_low))

    def _penalized(self, lam: float) -> tuple[IndexArray, FloatArray, FloatArray]:
        """P in the order of the factorisation, β(λ) on it and bounds on its errors."""
        base, way, inside = self.base, self.way, slice(len(self.free), None)
        error = 4 * _EPS * (np.abs(base.x) + lam * np.abs(way.x)) + base.x_error + lam * way.x_error
        return np.array(self.face.index[inside], np.intp), self._beta(lam)[inside], error[inside]

    def _span_blur(self) -> FloatArray:
        """How far the data's rounding moves a on columns in the span of S ∪ P: span_unit·s‖r₀‖ at most (d,).

        s(X_i) ≤ √(1 + κ²)‖X_i‖.
        """
        size = self.face.span_unit * math.hypot(1.0, self.face.kappa) * _norm(self.base.r)
        return np.asarray(size * self.problem.column_norms)

    def _level_blur(self) -> FloatArray:
        """How far the data's rounding moves `level` on P where y is fitted, and β(0) = level; else zero.

        Changing y by δ and X_j by δ_j moves level by X_J⁺(δ − Σδ_jlevel_j); the rows of X_J⁺ = R⁻¹Qᵀ are as
        long as those of R⁻¹. A coefficient that the data send to zero at λ = 0 has a level within it.
        """
        if not self.fitted():
            return np.zeros(self.face.size - len(self.free))
        inverse = np.linalg.inv(self.face.R)[len(self.free) :]
        size = math.hypot(self.problem.y_norm, _norm(self.face.norms * self.base.x))
        return np.asarray(self.face.span_unit * size * np.sqrt(np.einsum("ij,ij->i", inverse, inverse)))

    def _correlate(self, r: FloatArray) -> FloatArray:
        c = self.problem.correlate(r)
        c[self.unpenalized] = 0
        return c

    def _largest(self) -> tuple[IndexArray, FloatArray]:
        """T: what may be the largest |c_j| outside S and its span, |c_j| + e_j ≥ max(|c| − e); and e_T."""
        error, none = self.error(0.0), np.zeros(0, np.intp)
        for sharp in (False, True):
            size = np.abs(self.c)
            near = (size + error >= (size - error).max()) & (self.problem.column_norms > 0)
            near[self.unpenalized] = False
            T = np.flatnonzero(near)
            if not sharp:
                if len(self.free) and len(T):
                    inside = T[self.face.in_span(T)[0]]
                    self.c[inside] = error[inside] = 0
                    T = np.setdiff1d(T, inside)
                if self.fitted() or not np.any(size[T] > error[T]):
                    return none, error[none]
                self.c[T], error[T] = self._sharp(self.base, T)
        return T, error[T]

    def _tie(self, tied: IndexArray) -> None:
        self.tied = tied
        self.signs = np.sign(self.c[tied])

    def _clear(self, error: FloatArray, level: float) -> bool:
        return bool(np.all(error <= self.leeway.clear * level))

    def _point(self) -> None:
        """r₀ and `level` for the factorisation now."""
        self.base = self.face.balance(self.problem.y, None)
        self.sound &= self.base.sound

    def _direct(self) -> None:
        """u and `slope`."""
        way = self.face.balance(None, self.sign[self.face.index])
        self.way = way._replace(x=-way.x, x_low=-way.x_low)
        self.sound &= way.sound

    def slope(self) -> dict[int, float]:
        """slope_j for the columns of the factorisation."""
        return dict(zip(self.face.index, self.way.x.tolist(), strict=True))

    def rates(self) -> tuple[FloatArray, FloatArray]:
        """g_j = s_j⟨X_j, u⟩ for the tied j, and bounds on the errors; KKT wants g ≥ 1."""
        g, error = self._sharp(self.way, self.tied)
        return self.signs * g, error

    def enter(self) -> None:
        """Choose the direction that leaves this knot, and with it P, the nonzero ones just below.

        Lawson and Hanson: while some tied j has g_j < 1, let the worst enter; then step from the
        last feasible direction towards the new minimiser, dropping what would turn negative. Each exchange
        that stands increases ‖u‖², which P determines, so that no P comes twice; between two of them each
        tied column is tried once at most.
        """
        barred = np.zeros(len(self.tied), bool)  # dependent on P, or of no use
        entered: list[int] = []
        while len(self.tied):
            rates, error = self.rates()
            lacking = np.where(barred | (self.sign[self.tied] != 0), 0, 1 - rates - error)
            worst = int(np.argmax(lacking))
            if lacking[worst] <= 0:
                self.sound &= self._clear(error, 1.0)
                break
            if self._exchange(int(self.tied[worst]), float(self.signs[worst]), entered):
                barred[:] = False
            else:
                barred[worst] = True
        keep = self.sign[self.tied] == 0
        self.tied, self.signs = self.tied[keep], self.signs[keep]
        self._point()

    def _exchange(self, j: int, sign: float, entered: list[int]) -> bool:
        """Let j enter, and leave what then blocks; says whether that served.

        The objective at its minimiser over P is −½‖u‖², so that ‖u‖ must grow; where rounding says
        that it does not, P is put back.
        """
        old, size, before = list(entered), float(self.way.r @ self.way.r), self.slope()
        if not self.face.append(j):
            return False
        self.sign[j] = sign
        entered.append(j)
        self._direct()
        self._keep_nonnegative(entered, before)
        if float(self.way.r @ self.way.r) > size:
            return True
        for i in set(entered) - set(old):
            self._drop(i)
        for i in old:
            if i not in entered and self.face.append(i):
                self.sign[i] = self.signs[self.tied == i][0]
        entered[:] = [i for i in old if i in self.face.index]
        self._direct()
        return False

    def _keep_nonnegative(self, entered: list[int], before: dict[int, float]) -> None:
        """Drop from P, one at a time, the entered whose v_j = s_jβ̇_j would not be positive.

        On the way from `before` to the new minimiser `after`, v_j vanishes at the share
        before/(before − after) where after < 0; a v_j that is zero to rounding vanishes at the end. Each turn
        but the last takes one out of `entered`.
        """
        while True:
            after = self.slope()
            error = dict(zip(self.face.index, self.way.x_error + 4 * _EPS * np.abs(self.way.x), strict=True))
            v = {j: (self.sign[j] * before.get(j, 0), self.sign[j] * after[j]) for j in entered}
            share = {
                j: old / (old - new) if new < 0 else 1.0 for j, (old, new) in v.items() if new <= error[j]
            }
            if not share:
                return
            first = min(share, key=lambda j: (share[j], j))
            before = {
                j: before.get(j, 0) + share[first] * (after[j] - before.get(j, 0)) for j in self.face.index
            }
            self._drop(first)
            entered.remove(first)
            self._direct()

    def _drop(self, j: int) -> None:
        self.face.remove(j)
        self.sign[j] = 0

    def advance(self, lam_min: float) -> FloatArray:
        """Follow the segment to its next event, or to lam_min; returns β there.

        At an event the coefficients that are zero to rounding leave P, and the columns at ±λ to rounding are
        tied: to the errors of c and β comes what λ itself may be off by, `blur`. That moves λ − s_jc_j, with
        s_j = sign c_j, by |1 − s_jb_j| times as much, and not by 1 + |b_j|: among nearly equal columns, where
        1 − s_jb_j is tiny and λ vague, c_j goes with λ, and how far it is from the face is clear.
        """
        lines, level_blur = self._lines(), self._level_blur()
        exits = self._exits(level_blur)
        exit_ = float(exits.max(initial=0))
        entries = self._sharp_entries(lines, exit_, lam_min)
        knot = max(float(entries.max()), exit_)
        self.sound &= knot <= lam_min or knot < self.lam
        self.lam = max(knot, lam_min)
        self.c, error = lines.at(self.lam), lines.error(self.lam)
        if knot <= lam_min:
            outside = np.abs(self.c)
            outside[self.face.index] = 0
            self.sound &= bool(np.all(outside <= self.lam * (1 + lines.loose) + error))
            return self._end()
        P, beta, small = self._penalized(knot)
        slope = self.way.x[len(self.free) :]
        blur = 4 * _EPS * knot
        if entries.max() == knot:
            j = int(np.argmax(entries))
            blur += float(error[j] / (1 - np.sign(lines.a[j]) * lines.b[j]))
        else:
            i = int(np.argmax(exits))
            blur += float(small[i] / abs(slope[i]))
        passed = (self.sign[P] * beta < 0) & (np.abs(beta) <= level_blur)
        vanishing = (self.sign[P] * slope < 0) & (np.abs(beta) <= small + np.abs(slope) * blur)
        zero = P[vanishing | passed]
        signs = self._leave(zero)
        self.sound &= self._signs_hold()
        error += np.abs(1 - np.sign(self.c) * lines.b) * blur
        self.c[zero], error[zero] = knot * signs, 4 * _EPS * knot
        self._tie(self._at_the_face(error, lines.loose))
        return self.coef()

    def _exits(self, level_blur: FloatArray) -> FloatArray:
        """λ at which each β_j = level − λ·slope of P is zero, level/slope; zero if |β_j| does not fall."""
        P, level, level_error = self._penalized(0.0)
        slope = self.way.x[len(self.free) :]
        falling = (self.sign[P] * slope < 0) & (self.sign[P] * level < -level_error - level_blur)
        return np.where(falling, level / np.where(falling, slope, 1), 0)

    def _sharp_entries(self, lines: Lines, exit_: float, lam_min: float) -> FloatArray:
        """`_entries`, once all that may be tied at the next event is known in twice the precision.

        The event is at the largest of them and exit_, or at lam_min. What may be tied are the columns with
        |c_j| = λ there to rounding, and those that only an a which is the data's rounding keeps from it.
        """
        vague = self.problem.column_norms > 0
        vague[self.unpenalized] = vague[self.face.index] = False
        blurred = lines.a_error + self._span_blur()
        room = 1 - np.abs(lines.b)
        room[self.tied] = 1 + self.signs * lines.b[self.tied]
        while True:  # fewer are vague each time
            entries = self._entries(lines)
            lam = max(float(entries.max()), exit_, lam_min)
            near = np.abs(lines.at(lam)) >= lam - lines.error(lam)
            hidden = (np.abs(lines.a) <= blurred) & (2 * blurred > lam * room)
            J = np.flatnonzero(vague & (near | hidden))
            if len(J) == 0:
                return entries
            self._sharpen(lines, J, J[np.abs(lines.a[J]) <= blurred[J]])
            vague[J] = False

    def _sharpen(self, lines: Lines, J: IndexArray, inside: IndexArray) -> None:
        """a and b of the columns J in twice the precision, a = 0 for the `inside` in the span of S ∪ P.

        What the data's rounding leaves of those, span_unit·s, may move their b by ‖u‖ times that: `loose`.
        """
        dependent, sizes = self.face.in_span(inside)
        inside = inside[dependent]
        lines.a[inside] = lines.a_error[inside] = 0
        sharp = J[lines.a_error[J] > 0]
        lines.a[sharp], lines.a_error[sharp] = self._sharp(self.base, sharp)
        lines.b[J], lines.b_error[J] = self._sharp(self.way, J)
        lines.loose[inside] = self.face.span_unit * sizes[dependent] * _norm(self.way.r)

    def _leave(self, zero: IndexArray) -> FloatArray:
        """Take the columns `zero` out of P; returns the signs that they had.

        Not only β_j is set to zero: the others are to be right for the λ that rounding has left. There c_j
        has to be λ·s_j still.
        """
        signs = self.sign[zero]
        for j in zero.tolist():
            self._drop(j)
        if len(zero):
            self._point()
            self._direct()
            a, b = self._sharp(self.base, zero)[0], self._sharp(self.way, zero)[0]
            self.sound &= self._clear(np.abs(a + self.lam * b - self.lam * signs), self.lam)
        return signs

    def _end(self) -> FloatArray:
        """β at lam_min. Where y is fitted, the data's rounding can give a level that is zero the wrong sign.

        Without that column alone what is left of y is |level_j|/‖row j of R⁻¹‖, which `_level_blur` holds
        below the rounding of y; for several it is seen whether the fit stays one. Each turn takes a column
        out of P.
        """
        while self.fitted():
            P, level, error = self._penalized(0.0)
            beta = self._penalized(self.lam)[1]
            zero = np.abs(level) <= error + self._level_blur()
            wrong = P[zero & (self.sign[P] * beta < 0)].tolist()
            if not wrong:
                break
            for j in wrong:
                self._drop(j)
            self._point()
            self._direct()
            self.sound &= self.fitted()
        self.sound &= self._signs_hold()
        return self.coef()

    def _lines(self) -> Lines:
        lines = self._correlate(np.stack([self.base.r, self.way.r], axis=1))
        a: FloatArray = lines[:, 0]
        b: FloatArray = lines[:, 1]
        a_error = self._errors(self.base, self.problem.column_norms)
        b_error = self._errors(self.way, self.problem.column_norms)
        if self.fitted() and math.isinf(self.leeway.cap):  # else a_error itself says what is noise
            a, a_error = 0 * a, 0 * a_error
        return Lines(a, b, a_error, b_error, np.zeros(len(a)))

    def _entries(self, lines: Lines) -> FloatArray:
        """λ at which each column would enter: c_j = a_j + λb_j meets ±λ at |a_j|/(1 − sign(a_j)b_j).

        What is tied now has g_j ≥ 1 and only the opposite face before it. Zero for the columns that cannot
        enter, or for which a is rounding.
        """
        sign = np.where(np.abs(lines.a) > lines.a_error, np.sign(lines.a), 0)
        room = 1 - sign * lines.b
        sign[self.tied[sign[self.tied] == self.signs]] = 0
        possible = (sign != 0) & (room > 0)
        possible[self.face.index] = False
        entries = np.zeros(len(sign))
        entries[possible] = np.minimum(np.abs(lines.a[possible]) / room[possible], self.lam)
        return entries

    def _at_the_face(self, error: FloatArray, loose: FloatArray) -> IndexArray:
        """The columns outside S ∪ P whose |c_j| is λ to rounding; more than λ(1 + loose) is not sound."""
        size = np.abs(self.c)
        tied = (size >= self.lam - error) & (self.problem.column_norms > 0)
        tied[self.face.index] = tied[self.unpenalized] = False
        J = np.flatnonzero(tied)
        self.sound &= self._clear(error[J], self.lam)
        self.sound &= bool(np.all(size[J] <= self.lam * (1 + loose[J]) + error[J]))
        return J


def _norm(v: FloatArray) -> float:
    return math.sqrt(v @ v)
