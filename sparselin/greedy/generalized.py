"""Gradient OMP for logistic and Poisson regression, and how it is related to Sequential LASSO."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from sparselin.greedy._losses import Loss, check_loss, check_responses, initial_intercept, refuse_strings
from sparselin.greedy._refit import LossData, NoFit, Refit, refit
from sparselin.greedy._walk import Pick, PickRecord, walk
from sparselin.linalg.ties import Scores, argmax, ending
from sparselin.problem import Problem, as_problem
from sparselin.problem.argument_names import suggest_names
from sparselin.problem.errors import UNIT, stopping_level
from sparselin.results import FloatArray, GeneralizedPath, IndexArray, Status
from sparselin.validation import Columns, check_same_rows, check_tolerance, check_weights

_BLOCK_SIZE = 10**6  # entries of X that are measured at a time
# A column counts as orthogonal to the residual if the error bound on their cosine is at most this. If it were
# larger, a path could end with NO_CORRELATION although a column explains more than 10⁻⁶ of the squared
# residual; if it were smaller, more paths would end with BEYOND_PRECISION.
_SMALL = 1e-3


@suggest_names
def generalized_omp(
    X: Any,
    y: ArrayLike,
    k: int,
    *,
    loss: str,
    tol: float | None = None,
    forced: Columns = (),
    intercept: bool = True,
    standardize: bool = False,
    sample_weight: ArrayLike | None = None,
    callback: Callable[[GeneralizedPath], object] | None = None,
) -> GeneralizedPath:
    """Select k features by gradient OMP for logistic or Poisson regression.

    The model is η = b + Xβ with an intercept b, and its loss is L(β) = Σ_i w_i ℓ(y_i, η_i). The loss ℓ of one
    observation and the mean μ of y that the model predicts are

        logistic  ℓ = log(1 + e^η) − yη, μ = 1/(1 + e^−η);    Poisson  ℓ = e^η − yη, μ = e^η.

    Let S be the features selected so far, and minimise L over b and the coefficients on S. Each step selects
    the feature whose partial derivative of L at this minimiser is largest in modulus:

        i* = argmax_{i ∉ S} |c_i|,    c = −∇L = Xᵀ(w∘(y − μ)),    S ← S ∪ {i*}.

    Here ∘ multiplies entry by entry. The tied set T holds the columns whose |c_i| agrees with the largest one
    to rounding. The pick is the lowest index in T whose c_i is not zero to rounding.

    Compare with Sequential LASSO, which minimises L(β) + λ‖β_{S̄}‖₁, where S̄ are the features outside S. As
    λ decreases, the first features enter just below λ* = max|c_i|, and they all belong to T. Sequential LASSO
    selects one of them. So if T is a single feature, both methods select it; in a tie, Sequential LASSO may
    select only from a part of T (docs/proofs/generalized_linear_models.md; first proved for strictly convex
    losses by Axiotis and Yasuda, arXiv 2307.07405).

    Refits. L is minimised by Newton's method in float64, starting from the previous model. Primes are
    derivatives in η, and V is the diagonal matrix of w_i·ℓ''(y_i, η_i). Each Newton step uses a QR
    factorisation of √V·X_S and provably decreases L. The refit ends when ∇L is zero to rounding. The model
    may then still be slightly above the minimum. The deviance is twice the loss up to a constant, and
    `optimality` in the result bounds the excess of the deviance over its minimum (proof in
    `sparselin.greedy._refit`). `optimality` is 2D² with D = ‖(X_SᵀVX_S)^−½∇L‖, plus a bound on rounding
    errors. An error of the refit affects c_i only by its square, because c_i = z_iᵀ(w∘(y − μ)), where z_i is
    X_i minus its projection onto the span of X_S in the inner product uᵀVv (`_GeneralizedState._measure`).

    Separation. L has no minimum if S separates the data: along some direction, terms of L decrease without
    end and none increases (Albert and Anderson, 1984). The path then ends with NO_MINIMUM and the last model
    that has a minimum. In the result, `unfitted` is the feature with which S would separate the data, and
    `recession` the direction.

    Parameters
    ----------
    X : design (n, d): an array, a sparse matrix or a frame. A Problem is not accepted, because L needs the
        rows as they are.
    y : (n,) labels 0 and 1, −1 and 1, or truth values; for Poisson regression counts, or other numbers ≥ 0.
        To model counts y with exposures e, pass the rates y/e and sample_weight=e.
    k : number of features to select, 1 ≤ k ≤ d, including the `forced` ones.
    loss : "logistic" or "poisson".
    tol : stop once the deviance is at most tol times the deviance without features.
    forced : features that enter first, in this order, by index or name. A feature that depends linearly on
        the features before it gets the coefficient zero.
    intercept : fit an unpenalised intercept. The default is True, unlike in other methods, because here y
        cannot be centred instead.
    standardize : compare columns divided by their standard deviations (see `Problem`).
    sample_weight : (n,) weights w ≥ 0 of the terms of L; an integer weight stands for repeated rows.
    callback : called after each pick with the path so far; the selection stops if it returns True.

    Returns
    -------
    GeneralizedPath. If it has fewer than k features, its status is TOLERANCE, NO_MINIMUM, EXACT_FIT,
    NO_CORRELATION, RANK_EXHAUSTED, BEYOND_PRECISION or STOPPED.

    Raises
    ------
    TypeError, ValueError : invalid data (see `Problem`), an unknown loss, other labels, negative y for
        Poisson regression; with an intercept, labels of one class only, or y = 0 in all rows of positive
        weight; k outside 1..d, repeated or unknown `forced` features or more than k of them, or tol outside
        0..1.

    >>> import numpy as np
    >>> X = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 1.0], [3.0, 0.0], [4.0, 1.0], [5.0, 1.0]])
    >>> path = generalized_omp(X, [0, 0, 1, 0, 1, 1], 1, loss="logistic")
    >>> path.support.tolist(), path.lam_star.tolist(), path.coef.round(3).tolist()
    ([0], [3.5], [1.214])
    >>> path = generalized_omp(X, [0, 0, 0, 1, 1, 1], 1, loss="logistic")
    >>> path.status.name, path.unfitted, len(path)
    ('NO_MINIMUM', (0,), 0)
    """
    if isinstance(X, Problem):
        raise TypeError("generalized_omp needs the rows as they are; pass X and y instead of a Problem")
    law = check_loss(loss)
    refuse_strings(law, y)
    fit = _GeneralizedState(as_problem(X, y, intercept=intercept), law, X, y, standardize, sample_weight)
    k, first = fit.problem.budget(k, forced)
    level = None if tol is None else check_tolerance(tol, "the deviance without features", absolute=False)
    for j in first.tolist():
        if (status := fit.add(Pick(j))) is not None:
            return fit.path(status)
    size, unit = math.sqrt(fit.trail.norms[0]), fit.problem.unit  # the deviance takes the place of ‖r‖²
    root = stopping_level(-1.0 if level is None else math.sqrt(level) * size, size, unit, unit)
    return walk(fit, k, float(root * abs(root)), callback)


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


class _GeneralizedState:
    """The features selected so far, and the minimiser of the loss L on these features.

    The data are in float64 and restricted to the rows of positive weight. Weights are divided by a power of
    two, `unit`, so that the largest weight lies in [1, 2). The model is η = Ab. The columns of A are the
    column of ones, if there is an intercept, and the features `basis`, scaled if `standardized`. `basis`
    consists of the selected features that do not depend linearly on earlier ones.
    """

    def __init__(
        self, problem: Problem, loss: Loss, X: Any, y: Any, standardize: bool, sample_weight: Any
    ) -> None:
        n, d, double = problem.n, problem.n_features, np.dtype(np.float64)
        check_same_rows(X, sample_weight, "sample_weight")
        weight = np.ones(n) if sample_weight is None else check_weights(sample_weight, n, double)
        self.unit = math.ldexp(0.5, math.frexp(float(weight.max()))[1])
        weight = weight / self.unit
        responses, self.rows = check_responses(loss, y, n), np.flatnonzero(weight)
        self.problem, self.with_intercept = problem, problem.d > d
        self.data = LossData(loss, responses[self.rows], weight[self.rows])
        self.scale, self.standardized = np.ones(d), bool(standardize)
        if self.standardized:
            given = None if sample_weight is None else weight
            weighted = Problem(X, y, sample_weight=given, intercept=self.with_intercept, standardize=True)
            self.scale = np.asarray(weighted.double_design.scale)
        self.A = self._columns(np.arange(d, problem.d))
        self.basis, self.coefs, self.optimality = list[int](), list[FloatArray](), list[float]()
        self.unfitted: tuple[int, ...] = ()
        self.recession = np.zeros(0)
        start = [initial_intercept(loss, self.data.y, self.data.weight)] if self.with_intercept else []
        found = refit(self.data, self.A, np.array(start))
        if isinstance(found, NoFit):
            raise ValueError(
                "y has a single value, except in rows whose sample_weight is almost zero, so rounding leaves "
                "the intercept undecided. Leave these rows out, or use intercept=False."
            )
        self.trail = PickRecord(self._deviance(found))
        self._record(found)

    @property
    def support(self) -> list[int]:
        return self.trail.support

    def _columns(self, J: IndexArray) -> FloatArray:
        """Return the columns J in float64, scaled, restricted to the rows of positive weight."""
        X, m = self.problem.columns(J)[self.rows].astype(np.float64), self.problem.n_features
        return np.asarray(X * np.append(self.scale, 1.0)[np.minimum(J, m)])

    def _record(self, fit: Refit) -> None:
        self.fit = fit
        coef = np.zeros(1 + len(self.support))
        if self.with_intercept:
            coef[0] = fit.coef[0]
        places = np.array([self.support.index(j) for j in self.basis], np.intp)
        coef[1 + places] = fit.coef[self.A.shape[1] - len(places) :] * self.scale[self.basis]
        self.coefs.append(coef)
        self.optimality.append(self.unit * 2 * fit.decrement**2)

    def _deviance(self, fit: Refit) -> float:
        loss, y, weight = self.data
        return self.unit * float(weight @ loss.deviance(fit.eta, y))

    def add(self, pick: Pick) -> Status | None:
        """Add a feature and refit. If the refit fails, return the status that ends the path."""
        j, found = pick.feature, self.fit
        column = np.array([j])
        if self._measure(column).outside[0]:
            A = np.column_stack([self.A, self._columns(column)])
            new = refit(self.data, A, np.append(found.coef, 0.0))
            if isinstance(new, NoFit):
                self._record_failure(j, new)
                return new.status
            self.A, found = A, new
            self.basis.append(j)
        self.trail.add([pick], [self._deviance(found)])
        self._record(found)
        return None

    def _record_failure(self, j: int, failed: NoFit) -> None:
        self.unfitted = (j,)
        if len(failed.direction):
            ones = self.A.shape[1] - len(self.basis)
            self.recession = np.zeros(2 + len(self.support))
            self.recession[:ones] = failed.direction[:ones]
            places = [1 + self.support.index(i) for i in self.basis] + [-1]
            self.recession[places] = failed.direction[ones:] * self.scale[[*self.basis, j]]

    def step(self, limit: int) -> Status | None:
        """Add the feature i of largest |c_i|; if all c_i are zero, return a status that says why.

        c = −∇L is the negative gradient of the loss L.
        """
        c, error = self._correlations()
        best, c = argmax(c, error, self.support, self._scores)
        if best is None:
            return self._ending()
        if len(best.tied) == 1:
            best = best._replace(top=abs(float(self._scores(np.array([best.pick])).score[0])))
        return self.add(Pick.largest(best, c, self.unit * best.top))

    def _correlations(self) -> tuple[FloatArray, FloatArray]:
        """Return c = −∇L (d,) for the loss L, set to zero on the selected features, and bounds on its errors.

        Let w be the weights, η the linear predictors and μ the means. Then c = Xᵀ(w∘(y − μ)) is one product
        with X. The errors of this product and of the computed w∘(y − μ) are bounded as in `_refit`. The refit
        is not exact: its η and μ differ from the optimal η* and μ*. Let a* = η* − η, ρ = max|a*_i|, V =
        diag(w∘ℓ''), and D the decrement of `Refit`. Because |μ* − μ| ≤ ℓ''|a*|(e^ρ − 1)/ρ, the inexact refit
        adds ‖√V·X_i‖‖√Va*‖(e^ρ − 1)/ρ to the error of c_i. If ρ ≤ −log ½, this is at most 2‖√V·X_i‖D.
        """
        problem, fit = self.problem, self.fit
        u, largest = np.zeros(problem.n), float(np.abs(fit.u).max())
        u[self.rows] = fit.u / (largest or 1.0)
        d, norms = problem.n_features, self.scale * problem.column_norms[: problem.n_features]
        c = np.asarray(problem.correlate(u.astype(problem.dtype))[:d], np.float64) * self.scale * largest
        c[self.support] = 0
        sums = 8 * problem.eps * math.sqrt(problem.n) * np.linalg.norm(fit.u)
        sums += UNIT * np.linalg.norm(self.data.weight * fit.lost)
        inexact = math.sqrt(fit.variance.max()) * (UNIT * fit.eta_size + 2 * fit.decrement)
        return c, norms * (sums + inexact)

    def _scores(self, J: IndexArray) -> Scores:
        """Return c_i = −∂L/∂β_i for the columns i ∈ J, with sharp error bounds, where L is the loss.

        c_i is zero for columns in the span of the selected ones.
        """
        c, error, outside, _ = self._measure_in_parts(J)
        return Scores(np.where(outside, c, 0), np.where(outside, error, 0), self.problem.unit / UNIT)

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
        fit, root = self.fit, np.sqrt(self.data.weight)[:, None]
        half = np.sqrt(fit.variance)[:, None]
        Z, a = self._columns(J), np.zeros((len(fit.coef), len(J)))
        norm = np.linalg.norm(root * Z, axis=0)
        for _ in range(2):
            more = np.linalg.solve(fit.R, fit.Q.T @ (half * Z))
            Z, a = Z - self.A @ more, a + more
        parts = np.linalg.norm(root * self.A, axis=0)[:, None] * a
        size = np.hypot(norm, np.linalg.norm(parts, axis=0))
        length, V_length = np.linalg.norm(root * Z, axis=0), np.linalg.norm(half * Z, axis=0)
        r, lost = (np.linalg.norm(v) for v in (fit.u / root[:, 0], fit.lost * root[:, 0]))
        rounding = (size + math.sqrt(len(Z)) * length) * r + length * lost + V_length * fit.eta_size
        rounding += 2 * float((half / root).max()) * size * fit.decrement
        error = UNIT * rounding + 1.3 * fit.M * fit.decrement**2 * V_length
        return MeasuredGradient(Z.T @ fit.u, error, length > self.problem.unit * size, length * r)

    def _ending(self) -> Status:
        """Return the status for the end of a path, if no feature has a nonzero derivative c_i of the loss.

        The status is BEYOND_PRECISION if, for some column i, the error of c_i is not small compared with the
        upper bound ‖z_i‖‖y − μ‖ of |c_i|. Here z_i is X_i projected off the selected columns, and μ are the
        means that the model predicts.
        """
        fit, root = self.fit, np.sqrt(self.data.weight)
        steepest = float((np.sqrt(fit.variance) / root).max())
        rounding = float(np.linalg.norm(root * fit.lost)) + steepest * fit.eta_size
        norm, bound = float(np.linalg.norm(fit.u / root)), self.problem.unit * rounding
        rest = np.setdiff1d(np.arange(self.problem.n_features), self.support)
        _, error, outside, most = self._measure_in_parts(rest)
        if norm > bound and (self.problem.unit / UNIT * error > _SMALL * most)[outside].any():
            return Status.BEYOND_PRECISION
        return ending(norm, bound, lambda: outside)

    def path(self, status: Status) -> GeneralizedPath:
        t, dtype = len(self.support), self.problem.dtype
        coef_path = np.zeros((t, t), dtype)
        for j in range(t):
            coef_path[j, : j + 1] = self.coefs[j + 1][1:]
        return GeneralizedPath(
            support=np.array(self.support, np.intp),
            coef_path=coef_path,
            intercept_path=np.array([coef[0] for coef in self.coefs], dtype),
            **self.trail.fields(dtype),
            deviance=np.array(self.trail.norms, dtype),
            optimality=np.array(self.optimality),
            unfitted=self.unfitted,
            recession=self.recession.copy(),
            loss=self.data.loss.name,
            status=status,
            fit=dataclasses.replace(
                self.problem.design.fit(self.problem.names), standardized=self.standardized
            ),
        )
