"""The fit of a generalized linear model on the selected features, for gradient OMP."""

from __future__ import annotations

import dataclasses
import math
from typing import Any, NamedTuple

import numpy as np

from sparselin.greedy import _losses as losses
from sparselin.greedy._losses import LossData, Refit, refit
from sparselin.greedy._outcomes import NoFit
from sparselin.greedy._units import Units, UnitState
from sparselin.greedy._walk import Pick
from sparselin.linalg.ties import Scores, ending, relative_margin
from sparselin.problem import Problem, as_problem
from sparselin.problem.errors import UNIT
from sparselin.problem.labels import check_same_rows
from sparselin.results import Fit, FloatArray, GeneralizedPath, GroupPath, IndexArray, Status
from sparselin.validation import check_flag, check_weights

_BLOCK_SIZE = 10**6  # entries of X that are measured at a time
# A column counts as orthogonal to the residual if the error bound on their cosine is at most this. If it were
# larger, a path could end with NO_CORRELATION although a column explains more than 10⁻⁶ of the squared
# residual; if it were smaller, more paths would end with BEYOND_PRECISION.
_SMALL = 1e-3


class Regression(NamedTuple):
    """The data of a logistic or Poisson regression in float64, on the rows of positive weight.

    problem : X and y as given, without weights and scales.
    terms : the loss, y and the weights of these rows. Weights are divided by a power of two, `unit`, so that
        the largest one lies in [1, 2).
    rows : the indices of these rows.
    scale : (d,) the factors of the columns, which are ones unless `standardized`.
    classes : the two labels of a logistic regression, else ().
    """

    problem: Problem
    terms: LossData
    rows: IndexArray
    unit: float
    scale: FloatArray
    standardized: bool
    classes: tuple[Any, ...]

    @classmethod
    def of(
        cls,
        X: Any,
        y: Any,
        loss: str,
        intercept: bool = False,
        standardize: bool = False,
        sample_weight: Any = None,
    ) -> Regression:
        """Check the data of a regression, and return them."""
        if isinstance(X, Problem):
            raise TypeError("generalized_omp needs the rows as they are; pass X and y instead of a Problem")
        law = losses.check_loss(loss)
        labels = None
        if law is losses.LOGISTIC and y is not None:
            check_same_rows(X, y, "y")
            y, labels = losses.encode_labels(y, lone=True)
        problem = as_problem(X, y, intercept=intercept)
        n, d = problem.n, problem.n_features
        double = np.dtype(np.float64)
        check_same_rows(X, sample_weight, "sample_weight")
        weight = np.ones(n) if sample_weight is None else check_weights(sample_weight, n, double)
        unit = math.ldexp(0.5, math.frexp(float(weight.max()))[1])
        weight = weight / unit
        responses = losses.check_responses(law, y, n)
        rows = np.flatnonzero(weight)
        scale = np.ones(d)
        standardized = check_flag(standardize, "standardize")
        if standardized:
            given = None if sample_weight is None else weight
            weighted = Problem(X, y, sample_weight=given, intercept=problem.d > d, standardize=True)
            scale = np.asarray(weighted.double_design.scale)
        return cls(
            problem=problem,
            terms=LossData(law, responses[rows], weight[rows]),
            rows=rows,
            unit=unit,
            scale=scale,
            standardized=standardized,
            classes=() if labels is None else tuple(labels.tolist()),
        )

    def columns(self, J: IndexArray) -> FloatArray:
        """Return the columns J in float64, scaled, restricted to the rows of positive weight."""
        X = self.problem.columns(J)[self.rows].astype(np.float64)
        m = self.problem.n_features
        return np.asarray(X * np.append(self.scale, 1.0)[np.minimum(J, m)])

    def deviance(self, model: Refit) -> float:
        """Return the deviance of a model, for the weights as given."""
        loss, y, weight = self.terms
        return self.unit * float(weight @ loss.deviance(model.eta, y))

    def fit(self) -> Fit:
        """Return the properties of a fit for a result."""
        found = self.problem.design.fit()
        loss = self.terms.loss.name
        labels = self.classes
        return dataclasses.replace(found, loss=loss, standardized=self.standardized, classes=labels)


class MeasuredGradient(NamedTuple):
    """The partial derivatives of the loss L for some columns, at the model on the selected features S.

    c, error : c_i = −∂L/∂β_i and a bound e_i on its error.
    outside : whether each column lies outside the span of S.
    most : ‖z_i‖‖y − μ‖, an upper bound on |c_i|. Here z_i is X_i projected off X_S, and μ are the means that
        the model predicts.
    """

    c: FloatArray
    error: FloatArray
    outside: np.ndarray[Any, np.dtype[np.bool_]]
    most: FloatArray


class GeneralizedFit:
    """The minimiser of the loss L of a generalized linear model on the features of the selected units.

    support : these features, in the order of selection.
    model : the minimiser, η = Ab.
    A, places : the columns of A are the column of ones, if there is an intercept, and the features
        support[places], scaled if standardized. These are the features that do not depend linearly on
        earlier ones.
    span : the factors of √W·A = QR, where W = diag(w) with the weights w.
    coefs, ranks, optimality : for the first 0, 1, … units the coefficients on the intercept and `support`,
        the number of columns of A without the ones, and the bound of `GeneralizedPath`.
    """

    def __init__(self, regression: Regression) -> None:
        self.regression = regression
        self.problem, self.terms = regression.problem, regression.terms
        d = self.problem.n_features
        self.A = regression.columns(np.arange(d, self.problem.d))
        self.span = tuple(np.linalg.qr(np.sqrt(self.terms.weight)[:, None] * self.A))
        self.support, self.places = list[int](), list[int]()
        self.coefs = list[FloatArray]()
        self.ranks = list[int]()
        self.optimality = list[float]()
        loss, y, weight = self.terms
        start = [losses.initial_intercept(loss, y, weight)] if self.problem.d > d else []
        found = refit(self.terms, self.A, np.array(start))
        if isinstance(found, NoFit):
            raise ValueError(
                "y has a single value, except in rows whose sample_weight is almost zero, so rounding leaves "
                "the intercept undecided. Leave these rows out, or use intercept=False."
            )
        self.model = found
        self._record()

    @property
    def norm(self) -> float:
        """The deviance of the model."""
        return self.regression.deviance(self.model)

    def _record(self) -> None:
        self.coefs.append(self._in_units_of_data(self.model.coef))
        self.ranks.append(len(self.places))
        self.optimality.append(self.regression.unit * 2 * self.model.decrement**2)

    def _in_units_of_data(self, b: FloatArray) -> FloatArray:
        """Return the coefficients of the intercept and of `support`, given those of the columns of A."""
        coef = np.zeros(1 + len(self.support))
        places = np.array(self.places, np.intp)
        ones = len(b) - len(places)
        coef[:ones] = b[:ones]
        coef[1 + places] = b[ones:] * self.regression.scale[np.array(self.support, np.intp)[places]]
        return coef

    def add(self, pick: Pick, columns: list[int]) -> float | NoFit:
        """Add the columns of a pick and refit; return the deviance, or the reason why the fit failed."""
        before = self.support, self.places, self.A, self.model, self.span
        for j in columns:
            self._extend(j)
        if len(self.places) > len(before[1]):
            found = refit(self.terms, self.A, self.model.coef)
            if isinstance(found, NoFit):
                if len(found.direction):
                    found = found._replace(direction=self._in_units_of_data(found.direction))
                self.support, self.places, self.A, self.model, self.span = before
                return found
            self.model = found
        elif pick.tied:  # c ≠ 0: the unit is outside the span, but by less than the size of rounding errors
            self.support = before[0]
            return NoFit(Status.BEYOND_PRECISION, np.zeros(0))
        self._record()
        return self.norm

    def _extend(self, j: int) -> None:
        """Add column j to `support`, and to A, with the coefficient zero, if it is outside the span of A.

        z_j is column j projected off A in the inner product of the weights. Column j counts as outside if
        ‖z_j‖ > 8·eps·s(X_j), with the size s(X_j) of `_measure`. There the inner product also has the factors
        ℓ'', which can be so different that rounding hides a dependence.
        """
        x = self.regression.columns(np.array([j]))
        root = np.sqrt(self.terms.weight)[:, None]
        Q, R = self.span
        z = root * x
        r = np.zeros((len(R), 1))
        for _ in range(2):
            more = Q.T @ z
            z = z - Q @ more
            r = r + more
        parts = np.linalg.norm(R, axis=0)[:, None] * np.linalg.solve(R, r)
        length = np.linalg.norm(z)
        size = np.hypot(np.linalg.norm(root * x), np.linalg.norm(parts))
        if length > self.problem.unit * size:
            R = np.block([[R, r], [np.zeros((1, len(r))), length]])
            self.span = np.column_stack([Q, z / length]), R
            self.A = np.column_stack([self.A, x])
            self.places = [*self.places, len(self.support)]
            self.model = self.model._replace(coef=np.append(self.model.coef, 0.0))
        self.support = [*self.support, j]

    def correlations(self) -> tuple[FloatArray, FloatArray]:
        """Return c = −∇L (d,) for the loss L, set to zero on the selected features, and bounds on its errors.

        Let w be the weights, η the linear predictors and μ the means. Then c = Xᵀ(w∘(y − μ)) is one product
        with X. The errors of this product and of the computed w∘(y − μ) are bounded as in `_losses`. The
        refit is not exact: its η and μ differ from the optimal η* and μ*. Let a* = η* − η, ρ = max|a*_i|, V =
        diag(w∘ℓ''), and D the decrement of `Refit`. Because |μ* − μ| ≤ ℓ''|a*|(e^ρ − 1)/ρ, the inexact refit
        adds ‖√V·X_i‖‖√Va*‖(e^ρ − 1)/ρ to the error of c_i. If ρ ≤ −log ½, this is at most 2‖√V·X_i‖D.
        """
        problem, model = self.problem, self.model
        u = np.zeros(problem.n)
        largest = float(np.abs(model.u).max())
        u[self.regression.rows] = model.u / (largest or 1.0)
        d = problem.n_features
        scale = self.regression.scale
        norms = scale * problem.column_norms[:d]
        c = np.asarray(problem.correlate(u.astype(problem.dtype))[:d], np.float64) * scale * largest
        c[self.support] = 0
        sums = 8 * problem.eps * math.sqrt(problem.n) * float(np.linalg.norm(model.u))
        sums += UNIT * float(np.linalg.norm(self.terms.weight * model.lost))
        inexact = math.sqrt(model.variance.max()) * (UNIT * model.eta_size + 2 * model.decrement)
        return c, norms * (sums + inexact)

    def measure(self, columns: IndexArray) -> Scores:
        """Return c_i = −∂L/∂β_i for some columns, with sharp error bounds.

        It is zero for columns in the span of the selected ones.
        """
        c, error, outside, _ = self._measure_in_parts(columns)
        coarse = self.problem.unit / UNIT
        return Scores(np.where(outside, c, 0), np.where(outside, error, 0), coarse)

    def describe(self, pick: Pick, score: FloatArray, units: Units) -> Pick:
        """Return the pick with λ* for the weights as given; without ties it is computed more sharply."""
        if len(pick.tied) == 1:
            top = float(units.measured_scores(np.array([pick.feature]), self.measure).score[0])
            pick = pick._replace(lam_star=top, margin=relative_margin(score, pick.feature, top))
        return pick._replace(lam_star=self.regression.unit * pick.lam_star)

    def _measure_in_parts(self, J: IndexArray) -> MeasuredGradient:
        step = max(1, _BLOCK_SIZE // self.problem.n)
        parts = [self._measure(J[at : at + step]) for at in range(0, max(len(J), 1), step)]
        return MeasuredGradient(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))

    def _measure(self, J: IndexArray) -> MeasuredGradient:
        """Return c_i = z_iᵀu for the columns J, with sharp error bounds, where u = w∘(y − μ).

        w are the weights, μ the means, and ℓ'' the second derivatives of the loss.

        A is the matrix of the current model, whose columns A_l are the selected features and perhaps a column
        of ones. z_i = X_i − Aa is X_i projected off these columns in the inner product of V = diag(w∘ℓ''), so
        that AᵀVz_i = 0. The size of X_i is s(X_i) = (‖X_i‖² + Σ_l ‖A_l‖²a_l²)^½. X_i counts as outside the
        span of A if ‖z_i‖ > 8·eps·s(X_i).

        Let η = Ab be the linear predictor, and η̂ and û the computed η and u. Let u* and μ* be the values at
        the optimal η*, a* = η* − η and ρ = max|a*_i|. The vector a* is in the range of A. With the numbers M
        and D of `Refit`, |μ* − μ − ℓ''a*| ≤ ℓ''a*²(e^ρ − 1 − ρ)/ρ² ≤ 0.64·ℓ''a*², and therefore

            |z_iᵀ(û − u*)| ≤ ‖√Vz_i‖(‖√V(η̂ − η)‖ + 0.64·ρ‖√Va*‖) + |z_iᵀVa*|,   ρ ≤ 1.4MD, ‖√Va*‖ ≤ 1.4D.

        Here z_iᵀVa* is zero up to a rounding error of 2·UNIT·‖√V·s(X_i)‖D. The rounding errors of z_i, û and
        the sum add UNIT·((s(X_i) + √n‖z_i‖)‖y − μ‖ + ‖z_i‖‖lost‖) to the bound, where norms are weighted by
        w, and `lost` is defined in `Loss`.
        """
        model = self.model
        root = np.sqrt(self.terms.weight)[:, None]
        half = np.sqrt(model.variance)[:, None]
        Z = self.regression.columns(J)
        a = np.zeros((len(model.coef), len(J)))
        norm = np.linalg.norm(root * Z, axis=0)
        for _ in range(2):
            more = np.linalg.solve(model.R, model.Q.T @ (half * Z))
            Z = Z - self.A @ more
            a = a + more
        parts = np.linalg.norm(root * self.A, axis=0)[:, None] * a
        size = np.hypot(norm, np.linalg.norm(parts, axis=0))
        length, V_length = np.linalg.norm(root * Z, axis=0), np.linalg.norm(half * Z, axis=0)
        r, lost = (np.linalg.norm(v) for v in (model.u / root[:, 0], model.lost * root[:, 0]))
        rounding = (size + math.sqrt(len(Z)) * length) * r + length * lost + V_length * model.eta_size
        rounding += 2 * float((half / root).max()) * size * model.decrement
        error = UNIT * rounding + 1.3 * model.M * model.decrement**2 * V_length
        return MeasuredGradient(Z.T @ model.u, error, length > self.problem.unit * size, length * r)

    def ending(self, units: Units, rest: IndexArray) -> Status:
        """Return the status for the end of a path, if no unit has a nonzero norm ‖c_g‖, where c = −∇L.

        The status is BEYOND_PRECISION if, for some column i of a unit g, the error of ‖c_g‖ ≥ |c_i| is not
        small compared with the upper bound ‖z_i‖‖y − μ‖ of |c_i|. Here z_i is X_i projected off the selected
        columns, and μ are the means that the model predicts.
        """
        model = self.model
        root = np.sqrt(self.terms.weight)
        steepest = float((np.sqrt(model.variance) / root).max())
        rounding = float(np.linalg.norm(root * model.lost)) + steepest * model.eta_size
        norm = float(np.linalg.norm(model.u / root))
        bound = self.problem.unit * rounding
        _, error, outside, most = self._measure_in_parts(rest)
        errors = np.zeros(len(units.groups))
        errors[rest] = np.where(outside, error, 0)
        error = units.norms(0 * errors, errors)[1][units.groups[rest]]
        if norm > bound and (self.problem.unit / UNIT * error > _SMALL * most)[outside].any():
            return Status.BEYOND_PRECISION
        return ending(norm, bound, lambda: outside)


def generalized_path(state: UnitState[GeneralizedFit, GeneralizedPath], status: Status) -> GeneralizedPath:
    """Return the features that were selected so far, with the coefficients in the units of X."""
    fit, trail = state.fit, state.trail
    t = len(fit.support)
    dtype = fit.problem.dtype
    coef_path = np.zeros((t, t), dtype)
    for j in range(t):
        coef_path[j, : j + 1] = fit.coefs[j + 1][1:]
    lam_star, margin, ties = trail.fields(dtype)
    return GeneralizedPath(
        support=np.array(fit.support, np.intp),
        coef_path=coef_path,
        intercept_path=np.array([coef[0] for coef in fit.coefs], dtype),
        lam_star=lam_star,
        margin=margin,
        ties=ties,
        deviance=np.array(trail.norms).astype(dtype),
        optimality=np.array(fit.optimality),
        unfitted=state.unfitted,
        recession=state.recession.copy(),
        status=status,
        fit=fit.regression.fit(),
    )


def generalized_group_path(state: UnitState[GeneralizedFit, GroupPath], status: Status) -> GroupPath:
    """Return the groups that were selected so far, with the coefficients in the units of X."""
    fit, trail = state.fit, state.trail
    dtype = state.fit.problem.dtype
    lam_star, margin, ties = trail.fields(dtype)
    return GroupPath(
        order=np.array(trail.support, np.intp),
        groups=state.units.groups.copy(),
        support=np.array(fit.support, np.intp),
        sizes=np.array([len(coef) - 1 for coef in fit.coefs], np.intp),
        ranks=np.array(fit.ranks, np.intp),
        coef_path=tuple(coef[1:, None].astype(dtype) for coef in fit.coefs[1:]),
        intercept_path=np.array([coef[0] for coef in fit.coefs], dtype)[:, None],
        lam_star=lam_star,
        margin=margin,
        ties=ties,
        residual_norm=np.sqrt(np.array(trail.norms)).astype(dtype),
        unfitted=state.unfitted,
        recession=state.recession.copy(),
        status=status,
        fit=fit.regression.fit(),
    )
