"""Gradient OMP for logistic and Poisson regression, on features or on groups of features."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from sparselin.greedy._generalized_fit import (
    GeneralizedFit,
    Regression,
    generalized_group_path,
    generalized_path,
)
from sparselin.greedy._units import Units, UnitState, exact_for_one, weights_of_groups
from sparselin.greedy._walk import walk
from sparselin.parallel.threads import workers
from sparselin.problem.argument_names import suggest_names
from sparselin.problem.errors import EPS, stopping_level
from sparselin.results import FloatArray, GeneralizedPath, GroupPath, IndexArray
from sparselin.validation import Columns, check_tolerance

P = TypeVar("P", covariant=True)


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
    X_i minus its projection onto the span of X_S in the inner product uᵀVv (`GeneralizedFit._measure`).

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
        fit = GeneralizedFit(Regression.of(X, y, loss, intercept, standardize, sample_weight))
        units = gradient_units(np.arange(fit.problem.n_features))
        state = UnitState(units, fit, generalized_path)
        return _select(state, *fit.problem.budget(k, forced), tol, callback)


def generalized_group_omp(
    X: Any,
    y: FloatArray,
    k: int,
    *,
    groups: IndexArray,
    loss: str,
    weights: str | None = None,
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

    Rounding. Let e_i bound the error of c_i (`GeneralizedFit.correlations` and `_measure`). The error of
    ‖c_g‖ is at most (Σ_{i∈g} e_i²)^½, by the triangle inequality, plus the error of the norm itself. The norm
    takes |g| − 1 calls of `hypot`, each with a relative error of at most 2·eps. Groups whose norms agree to
    this bound are tied, and the lowest one is picked.

    Parameters
    ----------
    groups : (d,) the number of the group of each column, 0, …, G − 1.
    weights : None, "sqrt" or "noise"; see `weights_of_groups`, by which the norms are divided.
    forced : groups that enter first, in this order.
    data : intercept (by default False), standardize and sample_weight.

    The other parameters are those of `generalized_omp`. In the result `unfitted` is a group.

    >>> X = np.array([[1.0, 0.0, 0.3], [1.0, 0.0, 0.1], [0.0, 1.0, 0.2], [0.0, 1.0, 0.4], [0.0, 0.0, 0.5]])
    >>> y, groups = np.array([5.0, 7.0, 1.0, 1.0, 2.0]), np.array([0, 0, 1])
    >>> path = generalized_group_omp(X, y, 1, groups=groups, loss="poisson", intercept=True)
    >>> path.order.tolist(), path.predict(X)[:, 0].round(3).tolist()
    ([0], [6.0, 6.0, 1.0, 1.0, 2.0])
    """
    with workers(math.inf):
        fit = GeneralizedFit(Regression.of(X, y, loss, **data))
        state = UnitState(gradient_units(groups, weights), fit, generalized_group_path)
        return _select(state, k, np.asarray(forced, np.intp), tol, callback)


def gradient_units(groups: IndexArray, weights: str | None = None) -> Units:
    """Return the units that are compared by ‖c_g‖; for single features this is |c_i|, exactly.

    groups : (d,) the number of the group of each column.
    weights : see `weights_of_groups`.
    """
    counts = np.bincount(groups)
    return Units(
        groups=groups,
        weights=weights_of_groups(weights, counts),
        norm=exact_for_one,
        rounding=2 * EPS * (counts - 1),
    )


def _select(
    state: UnitState[GeneralizedFit, P],
    k: int,
    forced: IndexArray,
    tol: float | None,
    callback: Callable[[P], object] | None,
) -> P:
    """Return the path of k units, the forced ones first."""
    level = None if tol is None else check_tolerance(tol, "the deviance without features", absolute=False)
    status = state.force(forced.tolist())
    if status is not None:
        return state.path(status)
    # the deviance takes the place of ‖r‖²
    size = math.sqrt(state.trail.norms[0])
    unit = state.fit.problem.unit
    root = stopping_level(-1.0 if level is None else math.sqrt(level) * size, size, unit, unit)
    return walk(state, k, float(root * abs(root)), callback)
