"""The limit of gradient flow on w∘θ (inverse scale space), from event to event, correct under ties.

S are the features without penalty, whose coefficients are at least squares all the time. Let r = y − Xβ, and
q(τ) = ∫₀^τ r, so that s = Xᵀq. The flow is ds/dτ = Xᵀr with |s_j| ≤ 1 off S, and β_j ≠ 0 only where
s_j = sign β_j.

*Events.* Between events β and r are constant, and s is linear in τ. At an event some |s_j| reach 1. The face
F holds the features with |s_j| = 1; then β minimises ½‖y − Xβ‖² over the β with s_jβ_j ≥ 0 on F and β_j = 0
off F ∪ S. The minimiser satisfies, with c = Xᵀr,

    c_j = 0 on S,   s_jc_j ≤ 0 and β_jc_j = 0 on F.

This is nonnegative least squares with some free variables, and the active set method of Lawson and Hanson
solves it on the factorisation of `Segment`. Features with s_jc_j < 0 leave F, and s_j moves inwards; features
with c_j = 0 stay in F, even if β_j = 0.

*Errors.* s is compared with the exact s in two ways: at the same τ, and at the same event. Let t bound the
error of τ at an event, and t' the error of the step Δ to it. c and c⁺ are the correlations before and after
the event. On the step, the error of r changes s_j by at most Δ·‖X_j‖e, where e bounds the error of r. So

    at one τ:          the error of s_j grows by Δ·‖X_j‖e + t·|c⁺_j − c_j|,
    at the same event: the error of s_j grows by Δ·‖X_j‖e + t'·|c_j|,

and the second error is at most the first one plus t·max(|c_j|, |c⁺_j|). A feature that arrives has no error
from then on, because it stays at ±1. t and t' follow from the intervals of arrival times that the errors of s
and c leave. These errors may be multiplied from event to event: if c_j of the feature that arrives is small,
t is large. All bounds are first order in eps. q is summed in twice the precision.

Features are at an event if their intervals of arrival times meet that of the first one. Such features are
tied, and the bounds hold if the tie is exact; c_j counts as zero as in `Segment`.
"""

from typing import Any, NamedTuple

import numpy as np

from sparselin._kernels import flow as kernels
from sparselin._kernels import refinement
from sparselin.lasso._dependent import Moves, dependence_moves, keeps_fit, largest_entropy, largest_support
from sparselin.lasso._segment import Segment
from sparselin.linalg.gathered import ROUGH, GramRows
from sparselin.linalg.thin_qr import Balance, length_of
from sparselin.linalg.ties import in_span
from sparselin.parallel.threads import divide
from sparselin.problem import Problem
from sparselin.problem.errors import EPS, TINY
from sparselin.results import FloatArray, IndexArray

# With at most _FEW columns each c is a product with r. With more, the rows of XᵀX of _AHEAD columns are
# computed at a time. Tuned on Gaussian designs (1000, 5000).
_FEW = 256
_AHEAD = 32


class Arrival(NamedTuple):
    """The next event: the step Δ to it, the features T that arrive, and bounds on the errors of τ and Δ."""

    step: float
    T: IndexArray
    time_errors: tuple[float, float]


class Saddle(NamedTuple):
    """The flow after an event: τ, s (d,), bounds on the errors of s (d,), and β (d,).

    support : the penalised features with β_j ≠ 0.
    unique : whether β is the only solution on the face.
    residual : ‖y − Xβ‖.
    """

    tau: float
    s: FloatArray
    s_error: FloatArray
    coef: FloatArray
    support: tuple[int, ...]
    unique: bool
    residual: float


class Flow(Segment):
    """The state of the flow between two events.

    The factorisation holds S and the columns P of a vertex of the solutions on the face. `sign` (d,) is s_j
    on the face F where c_j = 0, and zero elsewhere; `base` has β on S ∪ P and the residual r.

    Attributes
    ----------
    tau, s : τ, and s (d,) at the last event.
    s_error : (d,) bounds on the errors of s at the last event.
    c, c_error : the correlations c = Xᵀr (d,) now, zero on S and on F, and bounds on their errors.
    """

    def __init__(self, problem: Problem, S: IndexArray, tau: float = 0.0) -> None:
        super().__init__(problem, S, False, None)
        d, n = problem.d, problem.n
        self.tau = tau
        self.s = np.zeros(d)
        self._q = np.zeros(n)
        self._q_low = np.zeros(n)
        self._sum_error = np.zeros(d)
        self._fixed = problem.column_norms == 0
        self._fixed[S] = True
        # the error of the c that count as zero on F outside P, and rows of XᵀX
        self._rest_error = 0.0
        self._rows = GramRows(self.problem)
        self.c: FloatArray = np.zeros(d)
        self.s_error = np.zeros(d)
        self._flow_errors = self.s_error, self.s_error  # at one τ, and at the event
        self._correlate_all()

    def saddle(self) -> Saddle:
        """Return the state after the last event."""
        coef, unique = self._coef()
        support = tuple(np.flatnonzero(self.sign * coef).tolist())
        r_norm = length_of(self.base.r)
        return Saddle(
            tau=self.tau,
            s=self.s.copy(),
            s_error=self.s_error,
            coef=coef,
            support=support,
            unique=unique,
            residual=r_norm,
        )

    def advance(self, arrival: Arrival) -> None:
        """Go to the next event, the result of `arrival`, and compute β there."""
        step, T, times = arrival
        above, c = self.base, self.c
        at_rest = self.sign.copy()
        self.tau += step
        refinement.add_multiple(self._q, self._q_low, step, above.r, above.r_low)
        kernels.move(step, c, self.c_error, 2 * EPS, self.s, self._sum_error)
        drift = step * (above.r_error + self._rounding_of_products(above))
        self.s[T] = self.sign[T] = np.sign(c[T])
        self._sum_error[T] = 0
        self._settle()
        self._correlate_all()
        one_time, event = (error.copy() for error in self._flow_errors)
        norms = self.problem.column_norms
        kernels.errors_after(drift, at_rest, norms, times, c, self.c, one_time, event)
        one_time[T] = event[T] = self._sum_error[self.sign != 0] = 0
        self._flow_errors = (one_time, event)
        self.s_error = self._sum_error + event

    def _active(self) -> list[int]:
        """Return P, the columns of the factorisation that are not in S."""
        return self.qr.index[len(self.free) :]

    def _resting(self) -> IndexArray:
        """Return F∖P, the features on the face that are not in the factorisation."""
        on_face = self.sign != 0
        on_face[self.qr.index] = False
        return np.flatnonzero(on_face)

    def _correlate_all(self) -> None:
        """Compute c = Xᵀr and its error bounds; c is zero on S and F, and everywhere if y is fitted."""
        if not self._correlate_by_rows():
            self.c = self._correlate(self.base.r)
            self.c_error = self._errors(self.base, self.problem.column_norms)
        kernels.stop(self._fixed, self.sign, self.is_fitted(), self.c, self.c_error)
        if self.problem.is_multiplied:  # what the rounding of the products explains is zero
            limit = self._rounding_of_products(self.base) * self.problem.column_norms
            J = np.flatnonzero((self.c != 0) & (np.abs(self.c) <= limit))
            J = J[np.abs(self.c[J]) <= self._products_error(self.base, J)]
            self.c[J] = self.c_error[J] = 0

    def _rounding_of_products(self, balance: Balance) -> float:
        """Return a cheap bound on what rounded weights and scales do to ⟨X_i, r⟩/‖X_i‖ (`_products_error`).

        It is zero if the data are as given. κ bounds the condition number of the factorised columns.
        """
        if not self.problem.is_multiplied:
            return 0.0
        r, y = self._sizes(balance)
        return self.problem.unit * (float(np.hypot(1.0, self.qr.kappa)) * r + y)

    def _correlate_by_rows(self) -> bool:
        """Compute c = Xᵀy − XᵀX_J·β_J from rows of XᵀX, if this is faster and accurate enough.

        Row j of XᵀX belongs to column j. Computing several rows at once reads X only once, just as computing
        one row does. So the rows of XᵀX that are needed now are computed together with the rows that belong
        to columns that may enter soon.
        """
        problem = self.problem
        J = np.array(self.qr.index, np.intp)
        size = problem.y_norm + float(self.qr.norms @ np.abs(self.base.x))
        error = problem.rounding() * size * problem.column_norms
        rough = error.max() > ROUGH * np.abs(self.c).max()
        if not problem.has_columns or problem.d <= _FEW or rough:
            return False
        missing = J[self._rows.place[J] < 0]
        if len(missing):
            moving = (self._rows.place < 0) & (self.c != 0)
            moving[missing] = False
            free = np.flatnonzero(moving)
            waits = (1 - np.sign(self.c[free]) * self.s[free]) / np.abs(self.c[free])
            new = np.concatenate([missing, free[np.argsort(waits)[:_AHEAD]]])
            self._rows.add(new, problem.block(new).T)
        B, G = self._rows.combination(self.base.x[None], J)
        product = np.empty(problem.d)
        divide(lambda a, b: np.matmul(B[0], G[:, a:b], out=product[a:b]), problem.d, 2.0 * G.size)
        self.c = problem.Xty - product
        self.c_error = error
        return True

    def arrival(self) -> Arrival | None:
        """Return the next event.

        Feature j arrives when s_j + Δc_j = sign c_j. The errors of s_j and c_j give an interval for Δ, and T
        are the features whose interval meets that of the first one. The errors of s are compared at one τ, or
        from the last event on. Both sets T contain the first feature to arrive; the smaller one is returned.
        Returns None if no feature moves, so that the flow is at rest, or if rounding leaves it undecided.
        """
        s = self.s.copy()
        error = self._sum_error.copy()
        fresh = self.c_error > 0
        T = None
        for flow in self._flow_errors:
            found = self._first(s, error, fresh, flow)
            T = found if T is None or len(found) < len(T) else T
            if len(T) < 2:
                break
        if T is None or len(T) == 0:
            return None
        size = np.abs(self.c[T])
        least = np.minimum(*self._flow_errors)[T]
        c, c_error = self.c[T], self.c_error[T]
        bounds = [kernels.arrivals(s[T], error[T] + flow[T], c, c_error) for flow in self._flow_errors]
        gap = bounds[0][0]
        step = float((np.maximum(gap, 0) / size).min())
        one, two = (max(step - float(low.min()), float(high.min()) - step) for _, low, high in bounds)
        rounding = np.abs(gap - step * size) + step * self.c_error[T] + 4 * EPS
        decided = error[T] + least + rounding + step * self._rest_error
        self.sound &= self._is_small(decided, 1.0)
        return Arrival(step, T, (one, two)) if self.sound else None

    def _first(self, s: FloatArray, error: FloatArray, fresh: Any, flow: FloatArray) -> IndexArray:
        """Return the features that may arrive first. They are measured in twice the precision, if `fresh`.

        s, error, flow : s, and bounds on its errors by rounding and by earlier events. `s`, `error` and
            `fresh` are updated.
        """
        while True:
            T: IndexArray = kernels.earliest(s, error, flow, self.c, self.c_error)
            J = T[fresh[T]]
            if len(J) == 0:
                return T
            fresh[J] = False
            s[J], error[J], self.c[J], self.c_error[J] = self._measure(J)

    def _measure(self, J: IndexArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Return X_Jᵀq and c_J in twice the precision, each with bounds on rounding.

        If c_j is zero to rounding, of the products with weights and scales too, or if column j is in the span
        of S ∪ P to rounding, c_j and its error are zero.
        """
        norms = self.problem.column_norms[J]
        vectors = ((self._q, self._q_low), (self.base.r, self.base.r_low))
        s, c = self._accurate_products(J, *vectors)
        s_error = norms * self.problem.rounding() * EPS * length_of(self._q) + 2 * EPS * np.abs(s)
        summed = self._sum_error[J] < s_error  # since s_j was ±1, if X_j is much longer than other columns
        s[summed], s_error[summed] = self.s[J[summed]], self._sum_error[J[summed]]
        c_error = self._accurate_error(self.base, J, c)
        products = self._products_error(self.base, J) if self.problem.is_multiplied else 0.0
        zero = np.abs(c) <= c_error + products
        maybe = ~zero & (np.abs(c) <= self._span_error()[J])
        zero[maybe] = in_span(self.qr, J[maybe])[0]
        c[zero] = c_error[zero] = 0
        return s, s_error, c, c_error

    def _settle(self) -> None:
        """Find β on the face, and remove the features with s_jc_j < 0 from the face.

        The method is that of Lawson and Hanson. Each entry decreases ‖r‖, and ‖r‖ is a function of P, so no P
        occurs twice.
        """
        seen = {frozenset(self._active())}
        rejected = set[int]()
        self._rest_error = 0.0
        while len(F := self._resting()):
            known = len(seen) == 1 and bool(self.c_error[F].all())  # `arrival` measured c, for the same base
            c, error = (self.c[F], self.c_error[F]) if known else self._accurate_c(self.base, F)
            if self.problem.is_multiplied:
                error = error + self._products_error(self.base, F)
            c = c * (not self.is_fitted())
            excess = (self.sign[F] * c - error) / self.problem.column_norms[F]
            if rejected:
                excess[np.isin(F, list(rejected))] = 0
            if not (excess > 0).any():
                leaving = self.sign[F] * c < -error
                leaving[leaving] = ~in_span(self.qr, F[leaving])[0]
                self._rest_error = float(error[~leaving].max(initial=0)) * (not self.is_fitted())
                self.sign[F[leaving]] = 0
                return
            j = int(F[np.argmax(excess)])
            feasible = self.base.x
            if self.qr.append(j):
                self._descend(np.append(feasible, 0.0))
            if j not in self.qr.index:
                rejected.add(j)
                continue
            if frozenset(self._active()) in seen:
                self.sound = False
                return
            seen.add(frozenset(self._active()))
            rejected.clear()

    def _descend(self, beta: FloatArray) -> None:
        """Move from a feasible β on S ∪ P to least squares; columns whose s_jβ_j becomes zero leave P."""
        while True:
            self._set_base()
            P = np.array(self._active(), np.intp)
            inside = slice(len(self.free), None)
            goal = self.base.x[inside]
            error = 4 * EPS * np.abs(goal) + self.base.x_error[inside] + self._data_error()
            new = self.sign[P] * goal
            old = np.maximum(self.sign[P] * beta[inside], 0)
            falling = new <= error
            if not falling.any():
                return
            step = np.where(falling, old / np.maximum(old - np.minimum(new, 0), TINY), np.inf)
            first = int(np.argmin(step))
            beta = np.delete(beta + step[first] * (self.base.x - beta), first + len(self.free))
            self.qr.remove(int(P[first]))

    def _data_error(self) -> FloatArray:
        """Return bounds on how much rounding of the data changes β on P; see also `_beta0_error`.

        Weights and scales are multiplied into the data, and compressed data are rounded too. Let X_J = QR.
        Changes of y by δ and of X_j by δ_j change β = X_J⁺y, to first order, by

            X_J⁺(δ − Σ_j δ_jβ_j) + (X_JᵀX_J)⁻¹(δ_jᵀr)_j,

        where the rows of X_J⁺ have the lengths of the rows of R⁻¹, |δ_jᵀr| ≤ u‖X_j‖‖r‖, and the length of
        δ − Σ_j δ_jβ_j is about u·s(y) (`_sizes`). Data that are as given need no such bound, unless y is
        fitted.
        """
        problem = self.problem
        free = len(self.free)
        if not problem.is_multiplied:
            return self._beta0_error()
        inverse = np.linalg.inv(self.qr.R)
        r, f = self._sizes(self.base)
        turned = (inverse @ inverse.T) * self.qr.norms
        lengths = f * np.linalg.norm(inverse, axis=1) + r * np.linalg.norm(turned, axis=1)
        return np.asarray(problem.unit * lengths[free:])

    def _coef(self) -> tuple[FloatArray, bool]:
        """Return β (d,) and whether it is unique.

        If columns of the face are dependent, β is the limit of the flow from equal α: of all solutions the
        one of largest −Σ|β_j| log|β_j|, whose support is the largest.
        """
        coef = np.zeros(self.problem.d)
        coef[self.qr.index] = self.base.x
        resting = self._resting().tolist()
        dependent = [j for j in resting if not self.qr.append(j)]
        moves = None
        if dependent:
            moves = dependence_moves(self.qr, dependent, np.where(self.sign != 0, self.sign, 1))
        for j in set(resting) - set(dependent):
            self.qr.remove(j)
        return (coef, True) if moves is None else self._spread(coef, moves)

    def _spread(self, coef: FloatArray, moves: Moves) -> tuple[FloatArray, bool]:
        """Return the solution of largest entropy, and whether β is unique, given the solution `coef` on P."""
        J, N, error, size = moves
        inside = np.isin(J, self.free, invert=True)
        where = np.array(J)[inside]
        v = np.maximum(self.sign[where] * coef[where], 0)
        support = largest_support(v, N[inside], error[inside])
        if support is not None and not support.directions.size:
            return coef, True
        v = None if support is None else largest_entropy(support, N[inside])
        if v is None:
            self.sound = False
            return coef, False
        q = v[-len(size) :]
        coef[where] = self.sign[where] * v
        coef[self.free] += N[~inside] @ q
        used = np.flatnonzero(coef).tolist()
        self.sound &= keeps_fit(self.qr, self.base, used, coef[used], float(size @ q))
        return coef, False
