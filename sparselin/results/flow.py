"""The result of the flow without weight decay: its events, the flow at any time, and its time average."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sparselin.results import base
from sparselin.results.base import Fit, FittedPath, FloatArray, IndexArray, Named, Names, Status, result
from sparselin.results.display import Column, Table, list_names, number, plural


@result
class FlowAverage(Named):
    """The time average β̄ = (1/τ)∫₀^τ β of the flow, compared with the LASSO at λ = 1/τ.

    By construction s(τ) = τ·Xᵀ(y − Xβ̄) and |s_i| ≤ 1. So the KKT conditions of the LASSO at λ = 1/τ hold for
    β̄ if and only if s_i(τ) = sign β̄_i for each penalised i with β̄_i ≠ 0.

    Attributes
    ----------
    tau, lam : τ and λ = 1/τ, which is infinite at τ = 0.
    coef : (d,) β̄.
    intercept : the average of the intercept; 0.0 if there is none.
    is_lasso : whether β̄ is a LASSO solution at λ: there are no `violations`.
    violations : the features i with β̄_i ≠ 0 whose s_i(τ) is not sign β̄_i, increasing. Differences up to
        `s_error` of the path count as rounding.
    excess : a bound on how much the objective ½‖y − Xβ‖² + λ‖β‖₁ of β̄ exceeds the minimum. It is the duality
        gap of β̄ and the dual point y − Xβ̄, which is feasible: λ·Σ|β̄_i|(1 − s_i·sign β̄_i) over the
        violations. So it is 0 if `is_lasso`.
    names : the d names of the features, or None.

    `to_frame()` has a row for each nonzero coefficient: index, name, coefficient, violates.
    """

    tau: float
    lam: float
    coef: FloatArray
    intercept: float
    is_lasso: bool
    violations: tuple[int, ...]
    excess: float
    names: Names

    def _headline(self) -> str:
        wrong = f"{plural(len(self.violations), 'violation')} of the KKT conditions of the LASSO"
        what = "a LASSO solution" if self.is_lasso else wrong
        return f"τ {number(self.tau)}, λ {number(self.lam)}, {what}"

    def _table(self) -> Table:
        J = np.flatnonzero(self.coef)
        columns = (
            *self._features(J, self.coef[J]),
            Column("violates", "violates KKT", np.isin(J, self.violations)),
        )
        excess = f"the objective exceeds the minimum by at most {number(self.excess)}"
        return Table(columns, () if self.is_lasso else (excess,))


@result
class FlowPath(FittedPath):
    """The limit α → 0 of gradient flow on w∘θ, event by event; the length m is the number of events.

    β jumps at the events and is constant between them; s is continuous and linear between them. With
    `restarted`, s is set to zero at each event.

    Attributes
    ----------
    tau : (m,) increasing, the times of the events in float64, in the units of 1/λ.
    s : (m, d) s at each event, zero on the forced features. With `restarted`, s just before it is set to
        zero.
    s_error : (m,) bounds on the errors of s at the events, on `features`, if features that are tied to these
        bounds are tied. They include the rounding of results, and grow with the number of events.
    features : (p,) the features with a nonzero coefficient at some time, increasing.
    coef_path : (m + 1, p) the coefficients of `features` before the first event, and after each event.
    intercept_path : (m + 1,) the intercepts; zero if there is none.
    residual_norm, r2 : (m + 1,) ‖y − Xβ‖ of the β before they are rounded, and 1 − ‖y − Xβ‖²/‖y‖², which is 0
        for y = 0. With an intercept, ‖y − ȳ‖ takes the place of ‖y‖, where ȳ is the mean of y.
    supports : m tuples of indices outside S, the forced features: the features with β_i ≠ 0 after each event,
        increasing. With `restarted`, the picks so far in their order.
    unique : m booleans, whether β after the event is the only limit. Otherwise columns are dependent, and β
        is the limit from equal α, in which −Σ|β_i| log|β_i| is largest.
    penalty : (p,) the factors of |β_i| in the penalty that belongs to the flow: 0 on the forced features and
        1 elsewhere, or 1/scale_i for standardized columns.
    restarted : whether the flow was restarted after each pick.
    forced : S, in the order given.
    status : COMPLETED if there is no further event, up to rounding: after the last one β stays as it is, and
        it is a least squares solution. With `restarted` the status says why there is no further pick, as for
        `omp`. MAX_STEPS after `max_events` events. BEYOND_PRECISION if rounding leaves the next event
        undecided.
    fit : a `Fit`, whose fields the path has as properties: n_features, names, with_intercept, standardized.

    `to_frame()` has a row for each event: tau, lam = 1/τ, enters and leaves (names with commas), r_square
    (‖r‖² after the event), r2, n_active.

    >>> import sparselin as sl
    >>> path = sl.gradient_flow([[1.0, 0.0], [0.0, 1.0]], [4.0, 1.0])
    >>> print(path)
    FlowPath: 2 events, τ up to 1.000, 2 of 2 features, R² 1.000, COMPLETED
    event       τ    1/τ  enters  leaves  active   ‖r‖²      R²
        1  0.2500  4.000  x0                   1  1.000  0.9412
        2   1.000  1.000  x1                   2      0  1.0000
    R² = 1 − ‖r‖²/‖y‖², uncentred: there is no intercept
    COMPLETED: completed as requested
    >>> path.at([0.2, 0.25, 7.0]).tolist(), path.average(0.5).coef.tolist()
    ([[0.0, 0.0], [4.0, 0.0], [4.0, 1.0]], [2.0, 0.0])
    """

    tau: FloatArray
    s: FloatArray
    s_error: FloatArray
    features: IndexArray
    coef_path: FloatArray
    intercept_path: FloatArray
    residual_norm: FloatArray
    r2: FloatArray
    supports: tuple[tuple[int, ...], ...]
    unique: tuple[bool, ...]
    penalty: FloatArray
    restarted: bool
    forced: IndexArray
    status: Status
    fit: Fit

    def __len__(self) -> int:
        return len(self.tau)

    @property
    def end(self) -> float:
        """The largest τ of the path: infinity, or the τ of the last event if the path was cut off."""
        if self.status in (Status.MAX_STEPS, Status.STOPPED, Status.BEYOND_PRECISION):
            return float(self.tau[-1]) if len(self) else 0.0
        return np.inf

    @property
    def coef(self) -> FloatArray:
        """(m, d) the coefficients after each event. Each access to this property makes a new dense array."""
        return base.dense(self.coef_path[1:], self.features, self.n_features)

    def at(self, tau: ArrayLike) -> FloatArray:
        """Return the coefficients (d,) at time τ, or (q, d) at q times; at an event, those after the event.

        The result does not include the intercept. Raises TypeError if τ is not a number, and ValueError if it
        is negative, not finite, or beyond the end of a path that was cut off.
        """
        return base.dense(self.coef_path[self._interval(self._times(tau))], self.features, self.n_features)

    def intercept_at(self, tau: ArrayLike) -> Any:
        """Return the intercept that belongs to `at(tau)`: a number, or (q,) numbers.

        Raises the errors of `at`.
        """
        inner = self.intercept_path[self._interval(self._times(tau))]
        return inner if inner.ndim else float(inner)

    def predict(self, X: Any, tau: ArrayLike) -> FloatArray:
        """Predict the response, intercept + Xβ(τ), for X (n, d): (n,) at one τ, (n, q) at q values of τ.

        X may have any form that a fit takes. Of a frame with names, the columns of `features` are read by
        their names. Raises ValueError if X has another shape or lacks such a column, or if a column of
        `features` holds NaN or infinity. Also raises the errors of `at`.
        """
        i = self._interval(self._times(tau))
        coef, intercept = self.coef_path[i], self.intercept_path[i]
        return base.combine(X, self.features, coef.T, intercept, self.n_features, self.names)

    def s_at(self, tau: ArrayLike) -> FloatArray:
        """Return s (d,) at time τ, or (q, d) at q times, by linear interpolation, which is exact.

        With `restarted`, the result at an event is zero.

        Raises the errors of `at`.
        """
        times = self._times(tau)
        i = self._interval(times)
        edges = np.array([0.0, *self.tau, np.inf])
        starts = np.concatenate([np.zeros((1, self.n_features)), np.where(self.restarted, 0, self.s)])
        ends = np.concatenate([self.s, starts[-1:]])
        weight = ((times - edges[i]) / (edges[i + 1] - edges[i]))[..., None]
        return np.asarray((1 - weight) * starts[i] + weight * ends[i])

    def average(self, tau: float) -> FlowAverage:
        """Return the time average (1/τ)∫₀^τ β, and whether it is a LASSO solution at λ = 1/τ.

        At τ = 0 it is β(0), which is zero without forced features. Raises the errors of `at`; also ValueError
        for a restarted flow, whose average is not compared with a LASSO.
        """
        if self.restarted:
            raise ValueError("average is for a flow without restarts. Compute it with restart=False")
        times = self._times(tau)
        if times.ndim:
            raise TypeError(f"tau must be one real number; got {tau!r}")
        t = float(times)
        i = int(self._interval(times))
        # the shares of the intervals between events in the time up to t
        shares = np.diff([0.0, *self.tau[:i], t]) / t if t else np.ones(1)
        inner = shares @ self.coef_path[: i + 1]
        sizes = shares @ np.abs(self.coef_path[: i + 1])
        error = float(self.s_error[min(i, len(self) - 1)]) if len(self) else 0.0
        lack = 1 - self.s_at(t)[self.features] * np.sign(inner)
        violates = (np.abs(inner) > error * sizes) & (lack > error) & (self.penalty > 0) & (t > 0)
        wrong = tuple(self.features[violates].tolist())
        excess = float((self.penalty * np.abs(inner))[violates] @ lack[violates]) / (t or 1.0)
        coef = base.dense(inner.astype(self.coef_path.dtype), self.features, self.n_features)
        intercept = float(shares @ self.intercept_path[: i + 1])
        return FlowAverage(t, 1 / t if t else np.inf, coef, intercept, not wrong, wrong, excess, self.names)

    def _interval(self, times: FloatArray) -> IndexArray:
        """Return the number of events up to each time, an event at that time included."""
        return np.asarray(np.searchsorted(self.tau, times, side="right"))

    def _times(self, tau: ArrayLike) -> FloatArray:
        """Check that τ, a number or (q,) numbers, lies on the path, and convert it to float64."""
        end = "" if np.isinf(self.end) else f" and at most {self.end:g}, the end of this path"
        return base.check_places(tau, "tau", 0, self.end, f", at least 0{end}")

    def _headline(self) -> str:
        used = f"{len(self.features)} of {self.n_features} features"
        span = f", τ up to {number(float(self.tau[-1]))}" if len(self) else ""
        return f"{plural(len(self), 'event')}{span}, {used}, R² {float(self.r2[-1]):z.3f}, {self.status.name}"

    def _table(self) -> Table:
        sets = [set[int](), *map(set, self.supports)]
        enters = [self._names_of(sorted(b - a)) for a, b in itertools.pairwise(sets)]
        leaves = [self._names_of(sorted(a - b)) for a, b in itertools.pairwise(sets)]
        columns = (
            Column(None, "event", np.arange(1, len(self) + 1)),
            Column("tau", "τ", self.tau),
            Column("lam", "1/τ", 1 / self.tau),
            Column("enters", "enters", [", ".join(names) for names in enters]),
            Column("leaves", "leaves", [", ".join(names) for names in leaves]),
            Column("n_active", "active", np.array([len(J) for J in self.supports], np.intp)),
            Column("r_square", "‖r‖²", self.residual_norm[1:] ** 2),
            Column("r2", "R²", self.r2[1:], 4),
        )
        notes = self.fit.notes()
        if several := self.unique.count(False):
            notes.append(f"after {several} of the events β is not unique: the limit from equal α is shown")
        if len(self.forced):
            notes.append(f"forced, at least squares: {list_names(self._names_of(self.forced), 12)}")
        return Table(columns, (*notes, self.status.line))
