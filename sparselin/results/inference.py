"""The results of inference after selection."""

from __future__ import annotations

import numpy as np

from sparselin.results.base import Fit, FloatArray, IndexArray, Named, Names, Status, result
from sparselin.results.display import Column, Table, number


@result
class Inference(Named):
    """p-values of the steps of a path, and p-values and intervals of the coefficients of its last model.

    Row t is about feature j = support[t]. A value that does not exist is NaN: the p-value of the step of a
    forced feature, or the coefficient of a feature that is not in the last model.

    Attributes
    ----------
    support : (k,) the forced features, then the features of the steps of the path in their order.
    leaves : (k,) True where the feature leaves the model at this step, which only the LASSO does.
    step_p_value : (k,) the p-value of the step at which the feature enters.
    spacing_p_value : (k,) the p-value of the spacing test, for the steps of a `LassoPath` before the first at
        which a feature leaves.
    estimate : (k,) the least squares coefficient in the last model, in units of X.
    p_value : (k,) the p-value of the hypothesis that the coefficient (X_S⁺μ)_j in the last model S is zero.
    interval : (k, 2) the confidence interval of (X_S⁺μ)_j at `level`.
    truncation : (k, 2) the values between which the estimate can lie if the selection and the part of y that
        is orthogonal to the statistic stay the same.
    bounds, step_bounds, spacing_bounds : (k, 2) lower and upper bounds that hold the exact p-values.
    interval_bounds : (k, 2, 2) the same for both ends of the interval.
    sigma : σ, or NaN if it is unknown.
    level : the confidence level of the intervals.
    method : "exact", "split" or "randomized".
    model : the assumptions about y, in words.
    status : the way in which the path ended.
    fit : a `Fit`.

    `to_frame()` has a row for each row of the table: index, name, step_p_value, spacing_p_value, estimate,
    p_value, low, high.
    """

    support: IndexArray
    leaves: np.ndarray
    estimate: FloatArray
    truncation: FloatArray
    bounds: FloatArray
    step_bounds: FloatArray
    spacing_bounds: FloatArray
    interval_bounds: FloatArray
    sigma: float
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
    def spacing_p_value(self) -> FloatArray:
        """(k,) the p-value of each step by the spacing test."""
        return np.asarray(self.spacing_bounds.mean(axis=1))

    @property
    def interval(self) -> FloatArray:
        """(k, 2) the confidence interval of each coefficient."""
        return np.asarray(self.interval_bounds.mean(axis=2))

    @property
    def names(self) -> Names:
        """The d names of the features, or None."""
        return self.fit.names

    def __len__(self) -> int:
        return len(self.support)

    def forward_stop(self, q: float) -> int:
        """Return the number of steps that ForwardStop keeps at the target q of the false discovery rate.

        It is the largest t with −(1/t)Σ_{i≤t} ln(1 − p_i) ≤ q, where p_i are the p-values of the steps, or 0
        (G'Sell, Wager, Chouldechova and Tibshirani, *Sequential selection procedures and false discovery rate
        control*, 2016). The bound q on the false discovery rate needs independent p-values of the null
        steps. These p-values are not independent; docs/guide/inference.md has the measured rate.
        """
        p = self.step_p_value[~np.isnan(self.step_p_value)]
        with np.errstate(divide="ignore"):
            means = -np.cumsum(np.log1p(-p)) / np.arange(1, len(p) + 1)
        kept = np.flatnonzero(means <= q)
        return int(kept[-1]) + 1 if len(kept) else 0

    def _headline(self) -> str:
        return f"{self.method} inference for {np.sum(~np.isnan(self.estimate))} features at level {self.level:g}"

    def _table(self) -> Table:
        spacing = None if np.isnan(self.spacing_p_value).all() else "spacing p"
        low, high = (proved(self.interval_bounds[:, i]) for i in range(2))
        columns = (
            Column("index", "index", self.support),
            Column("name", "name", self._names_of(self.support)),
            Column(None, "step p", ["leaves" if out else p for out, p in zip(self.leaves, proved(self.step_bounds), strict=True)]),
            Column("step_p_value", None, self.step_p_value),
            Column(None, spacing, proved(self.spacing_bounds)),
            Column("spacing_p_value", None, self.spacing_p_value),
            Column("estimate", "estimate", self.estimate),
            Column(None, "p", proved(self.bounds)),
            Column("p_value", None, self.p_value),
            Column(None, "low", low),
            Column("low", None, self.interval[:, 0]),
            Column(None, "high", high),
            Column("high", None, self.interval[:, 1]),
        )
        return Table(columns, (self.model, self.status.line))


def proved(bounds: FloatArray) -> list[str]:
    """Return numbers with up to four digits, those that lower and upper bounds (k, 2) have in common."""
    return [_digits(float(low), float(high)) for low, high in bounds]


def _digits(low: float, high: float) -> str:
    if low != low:
        return "–"
    if number(low) == number(high):
        return number(low)
    for digits in (3, 2, 1):
        texts = {f"{x:.{digits - 1}e}" for x in (low, high)}
        if len(texts) == 1:
            return number(float(texts.pop()))
    return f"≤ {number(high)}"
