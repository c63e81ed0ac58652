"""The results that are a point: a dual projection, a minimiser, or the result of a proximal step."""

from __future__ import annotations

from typing import Any

import numpy as np

from sparselin.results.base import FloatArray, IndexArray, Named, Names, Result, Status, combine, result
from sparselin.results.display import Column, Table, number

_WIDE = 8  # the most entries of a minimizer that a table shows


@result
class DualProjection(Named):
    """The projection u of a vector v onto the dual polytope {u : ‖Xᵀu‖∞ ≤ λ, X_Sᵀu = 0}.

    S are the columns without penalty in the LASSO whose dual this is.

    Attributes
    ----------
    u : (n,) the projection.
    coef : (d,) the coefficients with v − u = X @ coef. They solve the LASSO with the response v.
    active : the indices outside S with nonzero coefficients.
    duality_gap : ½‖v − X coef‖² + λ‖coef_{S̄}‖₁ − ½‖v‖² + ½‖v − ū‖². Here S̄ are the features outside S, and
        ū is a point that certainly lies in the polytope: u, projected off X_S and then scaled. The gap bounds
        the distance from ū to the exact projection p of v: ‖ū − p‖² ≤ 2·duality_gap.
    status : COMPLETED, or BEYOND_PRECISION if the homotopy could not be followed to λ.
    names : the d names of the features, or None.

    `to_frame()` has a row for each nonzero coefficient: index, name, coefficient, active.
    """

    u: FloatArray
    coef: FloatArray
    active: tuple[int, ...]
    duality_gap: float
    status: Status
    names: Names

    @property
    def active_names(self) -> tuple[str, ...]:
        """The names of the features of `active`."""
        return self._names_of(self.active)

    def _headline(self) -> str:
        nonzero = f"{np.count_nonzero(self.coef)} of {len(self.coef)} coefficients nonzero"
        return f"{nonzero}, duality gap {self.duality_gap:.2g}, {self.status.name}"

    def _table(self) -> Table:
        J = np.flatnonzero(self.coef)
        columns = (*self._features(J, self.coef[J]), Column("active", "active", np.isin(J, self.active)))
        return Table(columns, (f"‖u‖ = {number(float(np.linalg.norm(self.u)))}", self.status.line))


@result
class DescentResult(Named):
    """The final point of gradient descent on (w, θ), where β_i = s_i(w)·θ_i outside the unpenalised S.

    Attributes
    ----------
    w : (d,) the parameters of the attention weights; NaN on S, which has no attention weights.
    theta : (d,) the model coefficients θ; on S they are β itself.
    weights : (d,) the attention weights s(w); one on S.
    coef : (d,) β = weights∘theta, in the units of X.
    intercept : the intercept; 0.0 if the model has no intercept.
    objective : (iterations + 1,) ½‖y − Xβ‖² + (λ/2)(‖w‖² + ‖θ_{S̄}‖²) at every iterate. The result is the
        last iterate, or, with BEYOND_PRECISION, the first iterate with the least objective.
    duality_gap : the gap of the equivalent LASSO at β; NaN for a parametrization without an equivalent LASSO.
    status : COMPLETED if the stopping rule was met; BEYOND_PRECISION if no step decreases the objective by
        more than its rounding error; else MAX_ITER.
    names : the d names of the features, or None.
    standardized : whether w, theta and λ refer to standardized columns.

    `to_frame()` has a row for each feature, in the order of |β|: index, name, coefficient, weight, w, theta.
    """

    w: FloatArray
    theta: FloatArray
    weights: FloatArray
    coef: FloatArray
    intercept: float
    objective: FloatArray
    duality_gap: float
    status: Status
    names: Names
    standardized: bool

    def predict(self, X: Any) -> FloatArray:
        """Predict the response (m,) for X (m, d): intercept + X·coef.

        X may have any form that a fit takes. The columns of a frame with names are read by their names.
        Raises ValueError if X has another shape or lacks such a column, or holds NaN or infinity.
        """
        d = len(self.coef)
        return combine(X, np.arange(d), self.coef, self.intercept, d, self.names)

    def _headline(self) -> str:
        stalled = self.status is Status.BEYOND_PRECISION
        objective = float(self.objective.min() if stalled else self.objective[-1])
        steps = f"{len(self.objective) - 1} iterations, objective {number(objective)}"
        gap = f", duality gap {self.duality_gap:.2g}" if self.duality_gap == self.duality_gap else ""
        return f"{len(self.coef)} features, {steps}{gap}, {self.status.name}"

    def _table(self) -> Table:
        J = np.argsort(-np.abs(self.coef), kind="stable")
        columns = (
            *self._features(J, self.coef[J]),
            Column("weight", "weight", self.weights[J]),
            Column("w", "w", self.w[J]),
            Column("theta", "θ", self.theta[J]),
        )
        intercept = (f"intercept {number(self.intercept)}",) if self.intercept else ()
        return Table(columns, (*intercept, self.status.line))


@result
class PenaltyValue(Result):
    """The infimum over w in the penalty of an attention parametrization, and the w that attains it.

    Attributes
    ----------
    value : (...) the infimum, one value for each leading index.
    minimizer : (..., m) the w with Σw = 0 that attains it.

    `to_frame()` has a row for each infimum: index (in the order of `value.ravel()`), value, w0, …, w(m−1).
    """

    value: FloatArray
    minimizer: FloatArray

    def _headline(self) -> str:
        m = self.minimizer.shape[-1]
        if self.value.size == 1:
            return f"{number(self.value.item())}, attained at one w of length {m}"
        return f"{self.value.size} values, each attained at a w of length {m}"

    def _table(self) -> Table:
        m = self.minimizer.shape[-1]
        w = self.minimizer.reshape(-1, m)
        columns = (
            Column("index", "index", np.arange(self.value.size)),
            Column("value", "value", self.value.ravel()),
            *(Column(f"w{i}", f"w{i}" if m <= _WIDE else None, w[:, i]) for i in range(m)),
        )
        return Table(columns, () if m <= _WIDE else (f"`minimizer` has {m} columns",))


@result
class HierarchicalProx(Result):
    """The weights after a proximal step of LassoNet, one row for each feature.

    M is the hierarchy coefficient, and p the number of outputs.

    Attributes
    ----------
    theta : (d,), or (d, p) for groups: the linear weights b*.
    W : (d, K) the first-layer weights, |W_jk| ≤ M‖theta_j‖.
    active : the features with theta_j ≠ 0, increasing; all other features also have W_j = 0.
    n_clipped : (d,) the number of entries in each row of W whose modulus was reduced.

    `to_frame()` has a row for each feature: index, theta_norm = ‖theta_j‖ (without groups: theta itself,
    under the name theta), W_max = max_k |W_jk|, active, n_clipped. The table has no names, because the
    operators take only arrays.
    """

    theta: FloatArray
    W: FloatArray
    active: IndexArray
    n_clipped: IndexArray

    def _headline(self) -> str:
        active = f"{len(self.active)} of {len(self.theta)} features active"
        return f"{active}, {self.n_clipped.sum()} entries clipped"

    def _table(self) -> Table:
        groups = self.theta.ndim > 1
        theta = np.linalg.norm(self.theta, axis=1) if groups else self.theta
        d = len(theta)
        columns = (
            Column("index", "index", np.arange(d)),
            Column("theta_norm" if groups else "theta", "‖θ‖" if groups else "θ", theta),
            Column("W_max", "max |W|", np.abs(self.W).max(axis=1, initial=0)),
            Column("active", "active", np.isin(np.arange(d), self.active)),
            Column("n_clipped", "clipped", self.n_clipped),
        )
        return Table(columns)
