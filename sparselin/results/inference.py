"""The results of inference after selection."""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from sparselin.results.base import Fit, FittedPath, FloatArray, IndexArray, Status, result
from sparselin.results.display import Column, Table, digits_of, list_names, number, plural
from sparselin.validation import check_real

_LONG = 2.0  # an interval counts as long from this multiple of its length without selection


@result
class Inference(FittedPath):
    """p-values of the steps of a path, and p-values and intervals of the coefficients of its last model.

    Row t is about the feature support[t]. A value that does not exist is NaN, for example the p-value of the
    step of a forced feature, or the coefficient of a feature that is not in the last model.

    Attributes
    ----------
    support : (k,) the forced features, then the feature of each step of the path.
    leaves : (k,) True where the feature leaves the model at this step, which happens only in the LASSO.
    step_p_value : (k,) the p-value of the step at which the feature enters.
    spacing_p_value : (k,) the p-value of the spacing test, for the steps of a `LassoPath` before the first
        at which a feature leaves.
    estimate, standard_error : (k,) the least squares coefficient in the last model, in the units of X, and
        its standard error without selection.
    p_value : (k,) the p-value of the hypothesis (X_S⁺μ)_j = 0 about the coefficient in the last model S.
    interval : (k, 2) the confidence interval of (X_S⁺μ)_j.
    truncation : (k, 2) the range of the estimate under the same selection, if the part of y that is
        orthogonal to η stays the same. If the number of steps was chosen by a criterion, there can be gaps.
    bounds, step_bounds, spacing_bounds : (k, 2) lower and upper bounds of the exact p-values.
    log_bounds, log_step_bounds, log_spacing_bounds : (k, 2) those of their natural logarithms. They order
        p-values that are too small for a float, too.
    log_p_value, log_step_p_value : (k,) ln of the p-values of the coefficients and of the steps.
    interval_bounds : (k, 2, 2) lower and upper bounds of both ends of the exact interval.
    sigma : σ, or its estimate; NaN for sigma="unknown".
    degrees : the degrees of freedom of the estimate, n − d for sigma="full", where d counts independent
        columns and the intercept; ∞ if σ was given; NaN for sigma="unknown", because each tested model has
        its own number.
    approximate : whether an estimate was taken as σ. If not, p-values are exact under the assumptions.
    level : the confidence level of the intervals.
    method : "exact", "split" or "randomized".
    model : the assumptions about y, in words.
    status : COMPLETED, or the way in which the path ended.
    fit : a `Fit`, the properties of the fit of the path.

    `to_frame()` has the columns index, name, step_p_value, log_step_p_value, spacing_p_value, estimate,
    p_value, log_p_value, low, high.
    """

    support: IndexArray
    leaves: NDArray[np.bool_]
    estimate: FloatArray
    standard_error: FloatArray
    truncation: FloatArray
    bounds: FloatArray
    step_bounds: FloatArray
    spacing_bounds: FloatArray
    log_bounds: FloatArray
    log_step_bounds: FloatArray
    log_spacing_bounds: FloatArray
    interval_bounds: FloatArray
    sigma: float
    degrees: float
    approximate: bool
    level: float
    method: str
    model: str
    status: Status
    fit: Fit

    @property
    def p_value(self) -> FloatArray:
        """(k,) the p-value of each coefficient."""
        return np.asarray(self.bounds.mean(axis=1))

    @property
    def step_p_value(self) -> FloatArray:
        """(k,) the p-value of each step."""
        return np.asarray(self.step_bounds.mean(axis=1))

    @property
    def log_p_value(self) -> FloatArray:
        """(k,) the natural logarithm of the p-value of each coefficient."""
        return np.asarray(self.log_bounds.mean(axis=1))

    @property
    def log_step_p_value(self) -> FloatArray:
        """(k,) the natural logarithm of the p-value of each step."""
        return np.asarray(self.log_step_bounds.mean(axis=1))

    @property
    def spacing_p_value(self) -> FloatArray:
        """(k,) the p-value of each step by the spacing test."""
        return np.asarray(self.spacing_bounds.mean(axis=1))

    @property
    def interval(self) -> FloatArray:
        """(k, 2) the confidence interval of each coefficient."""
        return np.asarray(self.interval_bounds.mean(axis=2))

    def __len__(self) -> int:
        return len(self.support)

    def forward_stop(self, q: float) -> int:
        """Return the number of entering features that ForwardStop keeps for the false discovery rate q.

        It is the largest t with −(1/t)Σ_{i≤t} ln(1 − p_i) ≤ q, where p_1, p_2, … are the p-values of the
        steps at which features enter, or 0 (G'Sell, Wager, Chouldechova and Tibshirani, *Sequential selection
        procedures and false discovery rate control*, 2016). The bound q needs p-values of the null steps that
        are independent of each other and of the others. These are not; docs/guide/inference.md has the
        measured rate.

        Raises ValueError unless the method is "exact" and 0 < q < 1.
        """
        if self.method != "exact":
            raise ValueError(f"forward_stop needs p-values of steps; method={self.method!r} has none")
        q = check_real(q, "q", lambda value: 0 < value < 1, "between 0 and 1")
        p = self.step_p_value[~np.isnan(self.step_p_value)]
        with np.errstate(divide="ignore"):
            means = -np.cumsum(np.log1p(-p)) / np.arange(1, len(p) + 1)
        kept = np.flatnonzero(means <= q)
        return int(kept[-1]) + 1 if len(kept) else 0

    def explain(self, feature: int | str) -> str:
        """Return sentences about the step and the coefficient of a feature, given by index or name.

        Raises ValueError if the feature is not in `support`.
        """
        rows = [t for t, j in enumerate(self.support) if feature in (int(j), self.name_of(int(j)))]
        if not rows:
            raise ValueError(f"feature must be in support; got {feature!r}")
        lines = [self._about_step(t) for t in rows] + [self._about_coefficient(rows[-1])]
        return " ".join(line for line in lines if line)

    def _about_step(self, t: int) -> str:
        name = self.name_of(int(self.support[t]))
        p = self._digits("step_")[t]
        if self.leaves[t]:
            return f"{name} left the model at step {t + 1}; such a step has no p-value."
        return "" if p == "–" else f"{name} entered at step {t + 1}; the p-value of this step is {p}."

    def _about_coefficient(self, t: int) -> str:
        name = self.name_of(int(self.support[t]))
        p = self._digits()[t]
        if p == "–":
            return f"{name} is not in the last model, so it has no coefficient."
        text = f"The p-value of the hypothesis that the coefficient of {name} is zero is {p}."
        if not math.isnan(self.estimate[t]):
            text = f"Its coefficient in the selected model is estimated by {number(self.estimate[t])}. {text}"
        low, high = (digits_of(self.interval_bounds[t : t + 1, i], "≥≤"[i])[0] for i in range(2))
        if low == "–":
            return text
        text += f" The {100 * self.level:g} % interval is {low} to {high}."
        distance = np.abs(self.truncation[t] - self.estimate[t]).min() / self.standard_error[t]
        if np.isfinite(distance):
            text += (
                f" The same selection allows estimates from {number(self.truncation[t, 0])} to "
                f"{number(self.truncation[t, 1])}; the nearer end is {number(distance)} standard errors away."
            )
        return text

    @property
    def _without_estimate(self) -> NDArray[np.bool_]:
        """(k,) True where the interval does not hold the estimate."""
        low, high = self.interval_bounds[:, 0, 0], self.interval_bounds[:, 1, 1]
        return np.asarray((self.estimate < low) | (self.estimate > high))

    @property
    def _long(self) -> IndexArray:
        """The rows whose interval is much longer than without selection."""
        usual = 2 * NormalDist().inv_cdf((1 + self.level) / 2) * self.standard_error
        return np.flatnonzero(np.diff(self.interval, axis=1)[:, 0] > _LONG * usual)

    def _headline(self) -> str:
        count = np.count_nonzero(~np.isnan(self.bounds[:, 0]))
        intervals = "no" if np.isnan(self.interval_bounds).all() else f"{100 * self.level:g} %"
        coefficients = plural(int(count), "coefficient")
        method = "approximate" if self.approximate and self.method == "exact" else self.method
        return f"{method}, {coefficients}, {intervals} intervals, {self.status.name}"

    def _digits(self, which: str = "") -> list[str]:
        """Return p-values as text: `which` is "" for coefficients, or "step_" or "spacing_"."""
        return digits_of(getattr(self, f"{which}bounds"), logs=getattr(self, f"log_{which}bounds"))

    def _table(self) -> Table:
        shown = [None if np.isnan(v).all() else v for v in (self.step_bounds, self.spacing_bounds)]
        digits = self._digits("step_")
        steps = ["leaves" if out else p for out, p in zip(self.leaves, digits, strict=True)]
        below, above = digits_of(self.interval_bounds[:, 0], "≥"), digits_of(self.interval_bounds[:, 1])
        outside = self._without_estimate
        ends = below, [text + " *" * out for text, out in zip(above, outside.tolist(), strict=True)]
        columns = (
            *self._features(self.support),
            Column("step_p_value", None, self.step_p_value),
            Column("log_step_p_value", None, self.log_step_p_value),
            Column(None, None if shown[0] is None else "p of step", steps),
            Column("spacing_p_value", None, self.spacing_p_value),
            Column(None, None if shown[1] is None else "p of spacing", self._digits("spacing_")),
            Column("estimate", "coefficient", self.estimate),
            Column("p_value", None, self.p_value),
            Column("log_p_value", None, self.log_p_value),
            Column(None, "p", self._digits()),
            *(Column(key, None, self.interval[:, i]) for i, key in enumerate(("low", "high"))),
            *(Column(None, key, texts) for key, texts in zip(("from", "to"), ends, strict=True)),
        )
        about = "coefficients are those of the projection of μ on the selected model"
        if self.method == "split" and np.isnan(self.estimate).all():  # several splits
            about = "p tests that the coefficient is zero in every model with the feature that a half selects"
        notes = [self.model, about]
        if len(self._long):
            names = list_names(self._names_of(self.support[self._long]))
            notes.append(f"long intervals ({names}): the estimate is close to where the selection changes")
        if outside.any():
            names = list_names(self._names_of(self.support[outside]))
            notes.append(
                f"* the interval does not hold the estimate ({names}): given the selection, such an estimate "
                "is likelier for a coefficient in the interval. method='split' gives usual intervals"
            )
        return Table(columns, (*notes, self.status.line))


@result
class SplitInference(FittedPath):
    """Tests and intervals for a model that other rows selected: groups of features, or another loss.

    A *unit* is a feature, or a group of features that entered together. `inference(method="split")` makes
    this result for a `GroupPath` or a `GeneralizedPath`; `sparselin.post_selection.classical` has the laws.

    Attributes
    ----------
    support : (s,) the features of the model, in the order of selection.
    units : (s,) the name of the unit of each feature.
    estimate, standard_error, p_value : (s,) the coefficient of each feature on the rows that test, in the
        units of X, its standard error, and the p-value of the test that it is zero: a t-test for the squared
        loss, else Wald's z-test. NaN for a feature that depends on the features before it on these rows.
    interval : (s, 2) the confidence interval of the coefficient.
    unit_statistic, unit_degrees, unit_p_value : (u,) for each unit the statistic of the test that all its
        coefficients are zero, the number of these coefficients, and the p-value: an F-test for the squared
        loss, else Wald's χ²-test.
    degrees : the degrees of freedom of t and F; infinity for another loss.
    dispersion : for the Poisson loss Pearson's χ² on the rows that test, divided by its degrees of freedom,
        but at least 1, and else 1. Variances are multiplied by it (quasi-Poisson).
    level : the confidence level of the intervals.
    rows : the number of rows that selected, and the number of rows that test.
    reason : why there are no tests, for example because the features separate the classes on the rows that
        test; or "".
    status : COMPLETED, or the way in which the path on the rows that select ended.
    fit : a `Fit`, the properties of the fit of the path.

    `to_frame()` has a row for each feature: index, name, unit, estimate, standard_error, p_value, low, high,
    unit_p_value.
    """

    support: IndexArray
    units: tuple[str, ...]
    estimate: FloatArray
    standard_error: FloatArray
    p_value: FloatArray
    interval: FloatArray
    unit_statistic: FloatArray
    unit_degrees: FloatArray
    unit_p_value: FloatArray
    degrees: float
    dispersion: float
    level: float
    rows: tuple[int, int]
    reason: str
    status: Status
    fit: Fit

    def __len__(self) -> int:
        return len(self.support)

    @property
    def unit_names(self) -> tuple[str, ...]:
        """The names of the units, in the order of selection."""
        return tuple(dict.fromkeys(self.units))

    @property
    def test(self) -> str:
        """The names of the tests of a feature and of a unit."""
        return "t and F" if self.loss == "squared" else "Wald's z and χ²"

    def _headline(self) -> str:
        what = f"{plural(len(self.unit_names), 'unit')}, {plural(len(self), 'coefficient')}"
        return f"{what}, {100 * self.level:g} % intervals, {self.status.name}"

    def _table(self) -> Table:
        place = [self.unit_names.index(unit) for unit in self.units]
        grouped = len(self.unit_names) < len(self)
        of_unit = self.unit_p_value[place]
        ends = [[number(x) for x in self.interval[:, i].tolist()] for i in range(2)]
        columns = (
            *self._features(self.support),
            Column("unit", "group" if grouped else None, self.units),
            Column("estimate", "coefficient", self.estimate),
            Column("standard_error", "std. error", self.standard_error),
            Column("p_value", "p", self.p_value),
            *(Column(key, None, self.interval[:, i]) for i, key in enumerate(("low", "high"))),
            *(Column(None, key, texts) for key, texts in zip(("from", "to"), ends, strict=True)),
            Column("unit_p_value", "p of group" if grouped else None, of_unit),
        )
        notes = [f"selected on {self.rows[0]} rows, tested on the other {self.rows[1]} ({self.test} tests)"]
        if self.dispersion > 1:
            times = number(self.dispersion)
            notes.append(f"overdispersion: variances are {times} times those of Poisson counts")
        if self.reason:
            notes.append(f"no tests: {self.reason}")
        return Table(columns, (*notes, self.status.line))


@result
class Knockoffs(FittedPath):
    """The features that knockoffs select, with the statistics W_j (see `knockoffs`).

    Attributes
    ----------
    selected : (m,) the features with W_j ≥ `threshold`, increasing.
    W : (d,) positive if X_j enters the LASSO path before its knockoff, negative if it enters later; the
        modulus is the λ at which the first of them enters.
    threshold : T, or infinity if no feature is selected.
    q : the bound on the false discovery rate.
    status : the way in which the path ended.
    fit : a `Fit`.

    `to_frame()` has a row for each feature, the largest W_j first: index, name, W, selected.
    """

    selected: IndexArray
    W: FloatArray
    threshold: float
    q: float
    status: Status
    fit: Fit

    def _headline(self) -> str:
        selected = f"{len(self.selected)} of {len(self.W)} features"
        return f"{selected}, false discovery rate ≤ {self.q:g}, {self.status.name}"

    def _table(self) -> Table:
        order = np.argsort(-self.W, kind="stable")
        columns = (
            Column("index", "index", order),
            Column("name", "name", self._names_of(order)),
            Column("W", "W", self.W[order]),
            Column("selected", "selected", self.threshold <= self.W[order]),
        )
        note = f"selected: W ≥ {number(self.threshold)}"
        if not len(self.selected):
            note = f"the bound {self.q:g} needs at least {math.ceil(1 / self.q)} features with a large W"
        return Table(columns, (note, self.status.line))
