"""Gradient OMP for logistic and Poisson regression, on features or on groups of features."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from sparselin.greedy import _losses as losses
from sparselin.greedy._groups import weights_of_groups
from sparselin.greedy._losses import LossData, NoFit, Refit, refit
from sparselin.greedy._walk import Pick, PickRecord, argmax, walk
from sparselin.linalg.ties import Scores, ending, relative_margin
from sparselin.parallel.threads import workers
from sparselin.problem import Problem, as_problem
from sparselin.problem.argument_names import suggest_names
from sparselin.problem.errors import EPS, UNIT, stopping_level
from sparselin.problem.labels import check_same_rows
from sparselin.results import FloatArray, GeneralizedPath, GroupPath, IndexArray, Status
from sparselin.validation import Columns, check_flag, check_tolerance, check_weights

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
    intercept: bool = False,
    standardize: bool = False,
    sample_weight: ArrayLike | None = None,
    callback: Callable[[GeneralizedPath], object] | None = None,
) -> GeneralizedPath:
    """Select k features by gradient OMP for logistic or Poisson regression.

    The model is η = b + Xβ, where b is an intercept or zero, and its loss is L(β) = Σ_i w_i ℓ(y_i, η_i). The
    loss ℓ of one observation and the mean μ of y that the model predicts are

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
    `sparselin.greedy._losses`). `optimality` is 2D² with D = ‖(X_SᵀVX_S)^−½∇L‖, plus a bound on rounding
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
    y : (n,) for logistic regression two labels of any kind: numbers, strings, truth values. The second one in
        sorted order is the label 1 of the formulas, as in scikit-learn. For Poisson regression counts, or
        other numbers ≥ 0. To model counts y with exposures e, pass the rates y/e and sample_weight=e.
    k : number of features to select, 1 ≤ k ≤ d, including the `forced` ones.
    loss : "logistic" or "poisson".
    tol : stop once the deviance is at most tol times the deviance without features.
    forced : features that enter first, in this order, by index or name. A feature that depends linearly on
        the features before it gets the coefficient zero.
    intercept : whether to fit an unpenalised intercept. For a table of data pass True. The default is False,
        as in all functions, because the theorems are about X as it is given.
    standardize : compare columns divided by their standard deviations (see `Problem`).
    sample_weight : (n,) weights w ≥ 0 of the terms of L; multiplying all by a factor changes no coefficient.
    callback : called after each pick with the path so far; the selection stops if it returns True.

    Returns
    -------
    GeneralizedPath. If it has fewer than k features, its status is TOLERANCE, NO_MINIMUM, EXACT_FIT,
    NO_CORRELATION, RANK_EXHAUSTED, BEYOND_PRECISION or STOPPED.

    Raises
    ------
    TypeError, ValueError : invalid data (see `Problem`), an unknown loss, missing labels, more than two
        labels, negative y for Poisson regression; with an intercept, labels of one class only, or y = 0 in
        all rows of positive weight; k outside 1..d, repeated or unknown `forced` features or more than k of
        them, or tol outside 0..1.

    >>> import numpy as np
    >>> X = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 1.0], [3.0, 0.0], [4.0, 1.0], [5.0, 1.0]])
    >>> ill = ["no", "no", "yes", "no", "yes", "yes"]
    >>> path = generalized_omp(X, ill, 1, loss="logistic", intercept=True)
    >>> path.support.tolist(), path.lam_star.tolist(), path.coef.round(3).tolist(), path.classes
    ([0], [3.5], [1.214], ('no', 'yes'))
    >>> path = generalized_omp(X, [0, 0, 0, 1, 1, 1], 1, loss="logistic", intercept=True)
    >>> path.status.name, path.unfitted, len(path)
    ('NO_MINIMUM', (0,), 0)
    """
    with workers(math.inf):  # limits BLAS to one thread, because the products are short
        state = _GeneralizedState(X, y, loss, intercept, standardize, sample_weight)
        path: GeneralizedPath = state.select(*state.problem.budget(k, forced), tol, callback)
    return path


def generalized_group_omp(
    X: Any,
    y: FloatArray,
    k: int,
    *,
    groups: IndexArray,
    loss: str,
    forced: IndexArray | tuple[int, ...] = (),
    tol: float | None = None,
    callback: Callable[[GroupPath], object] | None = None,
    **data: Any,
) -> GroupPath:
    """Select k groups of features by gradient OMP for logistic or Poisson regression.

    Let S be the columns of the groups selected so far, and minimise the loss L of `generalized_omp` over the
    intercept and the coefficients on S. Each step adds the group g whose partial derivatives of L at this
    minimiser have the largest norm:

        g* = argmax_{g ∉ S} ‖c_g‖₂,    c = −∇L = Xᵀ(w∘(y − μ)),    S ← S ∪ g*.

    For groups of orthonormal columns this is the method of Lozano, Świrszcz and Abe (*Group Orthogonal
    Matching Pursuit for Logistic Regression*, 2011). Other groups are not orthonormalised first, so a larger
    group, or one of longer columns, has an advantage; `weights` can take the advantage of size from it.

    All columns of g* are added in their order. A column in the span of the columns before it gets the
    coefficient zero, for example the last indicator of a category if there is an intercept.

    Rounding. Let e_i bound the error of c_i (`_GeneralizedState._correlations` and `_measure`). The error of
    ‖c_g‖ is at most (Σ_{i∈g} e_i²)^½, by the triangle inequality, plus the error of the norm itself. The norm
    takes |g| − 1 calls of `hypot`, each with a relative error of at most 2·eps. Groups whose norms agree to
    this bound are tied, and the lowest one is picked.

    Parameters
    ----------
    groups : (d,) the number of the group of each column, 0, …, G − 1.
    forced : groups that enter first, in this order.
    data : intercept (by default False), standardize, sample_weight, and weights: None, "sqrt" or "noise" (see
        `weights_of_groups`), by which the norms are divided.

    The other parameters are those of `generalized_omp`. In the result `unfitted` is a group.

    >>> X = np.array([[1.0, 0.0, 0.3], [1.0, 0.0, 0.1], [0.0, 1.0, 0.2], [0.0, 1.0, 0.4], [0.0, 0.0, 0.5]])
    >>> y, groups = np.array([5.0, 7.0, 1.0, 1.0, 2.0]), np.array([0, 0, 1])
    >>> path = generalized_group_omp(X, y, 1, groups=groups, loss="poisson", intercept=True)
    >>> path.order.tolist(), path.predict(X)[:, 0].round(3).tolist()
    ([0], [6.0, 6.0, 1.0, 1.0, 2.0])
    """
    with workers(math.inf):
        state = _GeneralizedState(X, y, loss, groups=groups, **data)
        path: GroupPath = state.select(k, np.asarray(forced, np.intp), tol, callback)
    return path


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

    A unit is a group of features; without `groups` each feature is a unit. The data are in float64 and
    restricted to the rows of positive weight. Weights are divided by a power of two, `unit`, so that the
    largest weight lies in [1, 2).

    support : the features of the selected units.
    A, places : the model is η = Ab. The columns of A are the column of ones, if there is an intercept, and
        the features support[places], scaled if `standardized`. These are the features that do not depend
        linearly on earlier ones.
    span : the factors of √W·A = QR, where W = diag(w) with the weights w.
    coefs, ranks, optimality : for the first 0, 1, … units the coefficients on the intercept and `support`,
        the number of columns of A without the ones, and the bound of `GeneralizedPath`.
    """

    def __init__(
        self,
        X: Any,
        y: Any,
        loss: str,
        intercept: bool = False,
        standardize: bool = False,
        sample_weight: Any = None,
        groups: IndexArray | None = None,
        weights: str | None = None,
    ) -> None:
        if isinstance(X, Problem):
            raise TypeError("generalized_omp needs the rows as they are; pass X and y instead of a Problem")
        law, labels = losses.check_loss(loss), None
        if law is losses.LOGISTIC and y is not None:
            check_same_rows(X, y, "y")
            y, labels = losses.encode_labels(y, lone=True)
        problem = as_problem(X, y, intercept=intercept)
        n, d, double = problem.n, problem.n_features, np.dtype(np.float64)
        check_same_rows(X, sample_weight, "sample_weight")
        weight = np.ones(n) if sample_weight is None else check_weights(sample_weight, n, double)
        self.unit = math.ldexp(0.5, math.frexp(float(weight.max()))[1])
        weight = weight / self.unit
        responses, self.rows = losses.check_responses(law, y, n), np.flatnonzero(weight)
        self.problem, self.with_intercept = problem, problem.d > d
        self.data = LossData(law, responses[self.rows], weight[self.rows])
        self.classes = () if labels is None else tuple(labels.tolist())
        self.grouped, self.groups = groups is not None, np.arange(d) if groups is None else groups
        self.weights = weights_of_groups(weights, np.bincount(self.groups))
        self.scale, self.standardized = np.ones(d), check_flag(standardize, "standardize")
        if self.standardized:
            given = None if sample_weight is None else weight
            weighted = Problem(X, y, sample_weight=given, intercept=self.with_intercept, standardize=True)
            self.scale = np.asarray(weighted.double_design.scale)
        self.A = self._columns(np.arange(d, problem.d))
        self.span = tuple(np.linalg.qr(np.sqrt(self.data.weight)[:, None] * self.A))
        self.support, self.places = list[int](), list[int]()
        self.coefs, self.ranks, self.optimality = list[FloatArray](), list[int](), list[float]()
        self.unfitted: tuple[int, ...] = ()
        self.recession: FloatArray = np.zeros(0)
        start = [losses.initial_intercept(law, self.data.y, self.data.weight)] if self.with_intercept else []
        found = refit(self.data, self.A, np.array(start))
        if isinstance(found, NoFit):
            raise ValueError(
                "y has a single value, except in rows whose sample_weight is almost zero, so rounding leaves "
                "the intercept undecided. Leave these rows out, or use intercept=False."
            )
        self.trail, self.fit = PickRecord(self._deviance(found)), found
        self._record()

    def select(self, k: int, forced: IndexArray, tol: float | None, callback: Any) -> Any:
        """Return the path of k units, the forced ones first."""
        level = None if tol is None else check_tolerance(tol, "the deviance without features", absolute=False)
        for g in forced.tolist():
            if (status := self.add(Pick(feature=g))) is not None:
                return self.path(status)
        size, unit = math.sqrt(self.trail.norms[0]), self.problem.unit  # the deviance takes the place of ‖r‖²
        root = stopping_level(-1.0 if level is None else math.sqrt(level) * size, size, unit, unit)
        return walk(self, k, float(root * abs(root)), callback)

    def _columns(self, J: IndexArray) -> FloatArray:
        """Return the columns J in float64, scaled, restricted to the rows of positive weight."""
        X, m = self.problem.columns(J)[self.rows].astype(np.float64), self.problem.n_features
        return np.asarray(X * np.append(self.scale, 1.0)[np.minimum(J, m)])

    def _record(self) -> None:
        self.coefs.append(self._in_units_of_data(self.fit.coef))
        self.ranks.append(len(self.places))
        self.optimality.append(self.unit * 2 * self.fit.decrement**2)

    def _in_units_of_data(self, b: FloatArray) -> FloatArray:
        """Return the coefficients of the intercept and of `support`, given those of the columns of A."""
        coef, places = np.zeros(1 + len(self.support)), np.array(self.places, np.intp)
        ones = len(b) - len(places)
        coef[:ones] = b[:ones]
        coef[1 + places] = b[ones:] * self.scale[np.array(self.support, np.intp)[places]]
        return coef

    def _deviance(self, fit: Refit) -> float:
        loss, y, weight = self.data
        return self.unit * float(weight @ loss.deviance(fit.eta, y))

    def add(self, pick: Pick) -> Status | None:
        """Add a unit and refit. If the refit fails, return the status that ends the path."""
        before = self.support, self.places, self.A, self.fit, self.span
        for j in np.flatnonzero(self.groups == pick.feature).tolist():
            self._extend(j)
        if len(self.places) > len(before[1]):
            found = refit(self.data, self.A, self.fit.coef)
            if isinstance(found, NoFit):
                self.unfitted = (pick.feature,)
                if len(found.direction):
                    self.recession = self._in_units_of_data(found.direction)
                self.support, self.places, self.A, self.fit, self.span = before
                return found.status
            self.fit = found
        elif pick.tied:  # c ≠ 0: the unit is outside the span, but by less than the size of rounding errors
            self.unfitted, self.support = (pick.feature,), before[0]
            return Status.BEYOND_PRECISION
        self.trail.add([pick], [self._deviance(self.fit)])
        self._record()
        return None

    def _extend(self, j: int) -> None:
        """Add column j to `support`, and to A, with the coefficient zero, if it is outside the span of A.

        z_j is column j projected off A in the inner product of the weights. Column j counts as outside if
        ‖z_j‖ > 8·eps·s(X_j), with the size s(X_j) of `_measure`. There the inner product also has the factors
        ℓ'', which can be so different that rounding hides a dependence.
        """
        x, root, (Q, R) = self._columns(np.array([j])), np.sqrt(self.data.weight)[:, None], self.span
        z, r = root * x, np.zeros((len(R), 1))
        for _ in range(2):
            more = Q.T @ z
            z, r = z - Q @ more, r + more
        parts = np.linalg.norm(R, axis=0)[:, None] * np.linalg.solve(R, r)
        length, size = np.linalg.norm(z), np.hypot(np.linalg.norm(root * x), np.linalg.norm(parts))
        if length > self.problem.unit * size:
            R = np.block([[R, r], [np.zeros((1, len(r))), length]])
            self.span = np.column_stack([Q, z / length]), R
            self.A, self.places = np.column_stack([self.A, x]), [*self.places, len(self.support)]
            self.fit = self.fit._replace(coef=np.append(self.fit.coef, 0.0))
        self.support = [*self.support, j]

    def step(self, limit: int) -> Status | None:
        """Add the unit g of largest ‖c_g‖; if all c_g are zero, return a status that says why.

        c = −∇L is the negative gradient of the loss L. For a single feature the norm is |c_i|.
        """
        pick, score = argmax(*self._weighted_norms(*self._correlations()), self.trail.support, self._scores)
        if pick is None:
            return self._ending()
        if len(pick.tied) == 1:
            top = float(self._scores(np.array([pick.feature])).score[0])
            pick = pick._replace(lam_star=top, margin=relative_margin(score, pick.feature, top))
        return self.add(pick._replace(lam_star=self.unit * pick.lam_star))

    def _norms(self, c: FloatArray, error: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the norm ‖c_g‖ of each unit, and a bound on its error, for c (d,) with error bounds (d,).

        `hypot` is exact if one argument is zero, so for single features these are |c_i| and its error bound.
        """
        score, bound = np.zeros((2, int(self.groups.max()) + 1))
        np.hypot.at(score, self.groups, c)
        np.hypot.at(bound, self.groups, error)
        return score, bound + 2 * EPS * (np.bincount(self.groups) - 1) * score

    def _weighted_norms(self, c: FloatArray, error: FloatArray) -> tuple[FloatArray, FloatArray]:
        score, bound = self._norms(c, error)
        return score / self.weights, bound / self.weights

    def _correlations(self) -> tuple[FloatArray, FloatArray]:
        """Return c = −∇L (d,) for the loss L, set to zero on the selected features, and bounds on its errors.

        Let w be the weights, η the linear predictors and μ the means. Then c = Xᵀ(w∘(y − μ)) is one product
        with X. The errors of this product and of the computed w∘(y − μ) are bounded as in `_losses`. The
        refit is not exact: its η and μ differ from the optimal η* and μ*. Let a* = η* − η, ρ = max|a*_i|, V =
        diag(w∘ℓ''), and D the decrement of `Refit`. Because |μ* − μ| ≤ ℓ''|a*|(e^ρ − 1)/ρ, the inexact refit
        adds ‖√V·X_i‖‖√Va*‖(e^ρ − 1)/ρ to the error of c_i. If ρ ≤ −log ½, this is at most 2‖√V·X_i‖D.
        """
        problem, fit = self.problem, self.fit
        u, largest = np.zeros(problem.n), float(np.abs(fit.u).max())
        u[self.rows] = fit.u / (largest or 1.0)
        d, norms = problem.n_features, self.scale * problem.column_norms[: problem.n_features]
        c = np.asarray(problem.correlate(u.astype(problem.dtype))[:d], np.float64) * self.scale * largest
        c[self.support] = 0
        sums = 8 * problem.eps * math.sqrt(problem.n) * float(np.linalg.norm(fit.u))
        sums += UNIT * float(np.linalg.norm(self.data.weight * fit.lost))
        inexact = math.sqrt(fit.variance.max()) * (UNIT * fit.eta_size + 2 * fit.decrement)
        return c, norms * (sums + inexact)

    def _scores(self, J: IndexArray) -> Scores:
        """Return the weighted norm of c_g for the units g ∈ J, with sharp error bounds.

        Here c = −∇L for the loss L, but c_i is zero for columns i in the span of the selected ones.
        """
        columns = np.flatnonzero(np.isin(self.groups, J))
        c, error, outside, _ = self._measure_in_parts(columns)
        measured = np.zeros((2, len(self.groups)))
        measured[:, columns] = np.where(outside, c, 0), np.where(outside, error, 0)
        score, bound = self._weighted_norms(*measured)
        return Scores(score[J], bound[J], self.problem.unit / UNIT)

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
        """Return the status for the end of a path, if no unit has a nonzero norm ‖c_g‖, where c = −∇L.

        The status is BEYOND_PRECISION if, for some column i of a unit g, the error of ‖c_g‖ ≥ |c_i| is not
        small compared with the upper bound ‖z_i‖‖y − μ‖ of |c_i|. Here z_i is X_i projected off the selected
        columns, and μ are the means that the model predicts.
        """
        fit, root = self.fit, np.sqrt(self.data.weight)
        steepest = float((np.sqrt(fit.variance) / root).max())
        rounding = float(np.linalg.norm(root * fit.lost)) + steepest * fit.eta_size
        norm, bound = float(np.linalg.norm(fit.u / root)), self.problem.unit * rounding
        rest = np.setdiff1d(np.arange(self.problem.n_features), self.support)
        _, error, outside, most = self._measure_in_parts(rest)
        errors = np.zeros(len(self.groups))
        errors[rest] = np.where(outside, error, 0)
        error = self._norms(0 * errors, errors)[1][self.groups[rest]]
        if norm > bound and (self.problem.unit / UNIT * error > _SMALL * most)[outside].any():
            return Status.BEYOND_PRECISION
        return ending(norm, bound, lambda: outside)

    def path(self, status: Status) -> GeneralizedPath | GroupPath:
        t, dtype, array = len(self.support), self.problem.dtype, np.array
        intercepts, norms = array([coef[0] for coef in self.coefs], dtype), array(self.trail.norms)
        fit = self.problem.design.fit(self.problem.names)
        loss, labels = self.data.loss.name, self.classes
        fit = dataclasses.replace(fit, loss=loss, standardized=self.standardized, classes=labels)
        steps, support = self.trail.fields(dtype), array(self.support, np.intp)
        end = (self.unfitted, self.recession.copy(), status, fit)
        if self.grouped:
            sizes = array([len(coef) - 1 for coef in self.coefs], np.intp)
            order, ranks = array(self.trail.support, np.intp), array(self.ranks, np.intp)
            path = tuple(coef[1:, None].astype(dtype) for coef in self.coefs[1:])
            fits = (path, intercepts[:, None], *steps, np.sqrt(norms).astype(dtype))
            return GroupPath(order, self.groups.copy(), support, sizes, ranks, *fits, *end)
        coefs = np.zeros((t, t), dtype)
        for j in range(t):
            coefs[j, : j + 1] = self.coefs[j + 1][1:]
        ends = (*steps, norms.astype(dtype), array(self.optimality), *end)
        return GeneralizedPath(support, coefs, intercepts, *ends)
