"""The choice of the number of features: information criteria, and cross-validation by a path of each fold."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy.special import gammaln
from sklearn.utils.parallel import Parallel, delayed

from sparselin.estimators._common import Split
from sparselin.estimators._paths import LinearFit, Task
from sparselin.greedy._losses import LOSSES
from sparselin.results import FloatArray, IndexArray
from sparselin.selection.cross_validation import CrossValidation, Fold, summarize

CRITERIA = ("aic", "bic", "ebic")
CROSS_VALIDATED = ("cv", "cv_1se")


def default_gamma(n: float, p: int) -> float:
    """γ = max(0, 1 − ln n/(4·ln p)) for p features to choose from; 0 for p = 1.

    For p = O(n^κ) EBIC is consistent if γ > 1 − 1/(2κ) (Chen and Chen, *Extended Bayesian information
    criteria for model selection with large model spaces*, 2008): γ > 1 − ln n/(2·ln p) for p = n^κ. This γ is
    in the middle between that bound and 1. Close to the bound features of noise get in for every n of
    practice.

    >>> round(default_gamma(100, 1000), 4), default_gamma(1000, 2)
    (0.8333, 0.0)
    """
    return max(0.0, 1 - math.log(n) / (4 * math.log(p))) if p > 1 and n > 1 else 0.0


def criterion(
    name: str, models: Sequence[LinearFit], task: Task, gamma: float, variance: float | None
) -> FloatArray:
    """AIC, BIC or EBIC_γ of each of the models, of f, f + 1, … units, f of them forced; less is better.

    For y_ij = μ_j + x_iᵀB_j + ε_ij, ε_ij independent N(0, σ²), i ≤ n, j ≤ q, −2·log-likelihood at its maximum
    is, up to a constant, n·q·ln(RSS/(n·q)), RSS = ‖Y − XB‖_F², or RSS/σ² where the variance σ² is known. With
    ν the rank of the selected columns, u of p units (features or groups), both without the forced ones,

        AIC = … + 2·νq,     BIC = … + νq·ln n,     EBIC_γ = BIC + 2γ·ln C(p, u)

    (Luo and Chen, *Sequential lasso cum EBIC for feature selection with ultra-high dimensional feature
    space*, 2014). The intercepts and σ² are parameters of every model and are left out. With weights, which
    repeat rows, n is their sum. For losses that are not squared the deviance takes the place of RSS/σ²: it is
    −2·log-likelihood up to a constant.

    Where σ² is unknown, RSS = 0 gives −∞: y is fitted exactly. That says nothing where no degree of freedom
    is left: where with the intercept there are as many parameters for each output as n, or as different rows
    of X. Such models get +∞.
    """
    n, q, forced = task.total, task.outputs, len(task.forced)
    rss = np.array([model.residual for model in models]) ** 2
    rank = np.array([model.rank for model in models])
    if variance is None and task.loss == "squared":
        with np.errstate(divide="ignore"):
            fit = n * q * np.log(rss / (n * q))
        most = min(n, _different_rows(task)) if np.any(rss == 0) else n
        fit[rank + task.intercept >= most] = np.inf
        if np.isinf(fit).all() and fit[0] > 0:
            raise ValueError(
                f"no degree of freedom is left for {name!r}: {len(rank) + forced - 1} features at most, and "
                f"rows for {n:g} (the sum of sample_weight, if given: there weights count rows). Pass an "
                "integer as n_features_to_select, or noise_variance"
            )
    else:
        fit = rss if variance is None else rss / variance
    scores = fit + (2.0 if name == "aic" else math.log(n)) * rank * q
    if name == "ebic":
        p, u = task.units - forced, np.arange(len(models))
        scores += 2 * gamma * (gammaln(p + 1) - gammaln(u + 1) - gammaln(p - u + 1))
    return np.asarray(scores)


def chosen(name: str, scores: FloatArray) -> int:
    """The position of the least score; for EBIC of the first minimum, where Luo and Chen (2014) stop.

    Far along a path on n rows ln RSS falls faster and faster, for columns of noise too, and with p much
    larger than n all criteria fall again: the least EBIC can be that of dozens of features of noise.
    """
    rises = np.flatnonzero(scores[1:] > scores[:-1])
    return int(rises[0]) if name == "ebic" and len(rises) else int(np.argmin(scores))


def _different_rows(task: Task) -> int:
    """How many different rows X has, those of weight zero aside; −0.0 is 0.0, stored or not."""
    X = task.X if task.weight is None else task.X[np.flatnonzero(task.weight)]
    if isinstance(X, np.ndarray):
        return len({(row + 0.0).tobytes() for row in X})
    X = X.tocsr(copy=True)
    X.sum_duplicates()
    X.eliminate_zeros()
    cuts = zip(X.indptr, X.indptr[1:], strict=False)
    return len({(X.indices[a:b].tobytes(), X.data[a:b].tobytes()) for a, b in cuts})


def cross_validated(
    task: Task,
    models_of: Callable[[Task, int], list[LinearFit]],
    splits: Sequence[Split],
    k: int,
    n_jobs: int | None,
) -> CrossValidation:
    """The mean errors on the rows left out, of f, …, k units: one path for each split.

    An error that overflows has no standard error.
    """
    for number, (train, test) in enumerate(splits):
        _check_fold(task, train, test, k, f"fold {number + 1} of {len(splits)}")
    folds = Parallel(n_jobs=n_jobs)(delayed(_fold)(task, models_of, *split, k) for split in splits)
    with np.errstate(over="ignore", invalid="ignore"):
        return summarize(folds, len(task.forced))


def _fold(
    task: Task,
    models_of: Callable[[Task, int], list[LinearFit]],
    train: IndexArray,
    test: IndexArray,
    k: int,
) -> Fold:
    """A path of the rows `train`, whose last model stands for larger k, and its errors on the others."""
    inner, outer = task.rows(train), task.rows(test)
    w = np.ones(len(test)) if outer.weight is None else np.asarray(outer.weight, np.float64)

    def error(prediction: Any) -> float:
        return float(np.average(_errors(outer, prediction), weights=w))

    sizes = k - len(task.forced) + 1
    models = models_of(inner, max(k, 1))[:sizes]
    found = [error(model.predict(outer.X)) for model in models]
    found += [found[-1]] * (sizes - len(found))
    return Fold(float(w.sum()), np.array(found), error(_of_mean(inner)))


def _errors(task: Task, prediction: Any) -> FloatArray:
    """(n,) mean squared errors of the outputs, or the deviances, 2(ℓ(y_i, η_i) − inf ℓ(y_i, ·)), at η."""
    if task.loss == "squared":
        squares = np.square(task.y - prediction, dtype=np.float64)
        return np.asarray(squares.reshape(len(task.y), -1).mean(axis=1))
    eta, y = np.asarray(prediction, np.float64), np.asarray(task.y, np.float64)
    with np.errstate(over="ignore"):  # e^η, where η is that of a Poisson model far from its own rows
        return LOSSES[task.loss].deviance(eta, y)


def _of_mean(task: Task) -> Any:
    """The prediction of the model without features: the mean of y, or its link; zero without an intercept."""
    if not task.intercept:
        return 0.0
    mean = np.average(task.y, axis=0, weights=task.weight)
    return mean if task.loss == "squared" else LOSSES[task.loss].link(float(mean))


def is_one_hot(y: FloatArray) -> bool:
    """Whether the rows of y (n, q) are unit vectors."""
    return y.ndim == 2 and bool(np.all((y == 0) | (y == 1)) and np.all(y.sum(axis=1) == 1))


def check_classes(y: FloatArray, classes: Any) -> None:
    """ValueError for a class that is seen once, of a one-hot y or of the two of y."""
    each = y if classes is None else np.column_stack([1 - y, y])
    once = np.flatnonzero(each.sum(axis=0) == 1)
    if is_one_hot(each) and len(once):
        seen = f"column {int(once[0])}" if classes is None else repr(classes.tolist()[once[0]])
        raise ValueError(
            f"y has a class that is seen once, {seen}: the fold that leaves its row out never "
            "sees the class. Merge or drop such classes, or pass n_features_to_select='ebic' or an integer."
        )


def _check_fold(task: Task, train: IndexArray, test: IndexArray, k: int, where: str) -> None:
    most = len(train) - task.intercept
    if k > most:
        raise ValueError(
            f"max_features={k} is more than {where} can tell apart: it fits {len(train)} rows, of a rank of "
            f"{most} at most{' beside the intercept' if task.intercept else ''}. Decrease max_features, or "
            "pass a cv that leaves fewer rows out."
        )
    weight = task.weight
    if weight is not None and not (weight[train].any() and weight[test].any()):
        raise ValueError(
            f"{where} has rows of sample_weight zero only, on one of its sides: shuffle the rows"
        )
    y = task.y[train] if weight is None else task.y[train][weight[train] > 0]
    if np.all(y == y[0]):
        raise ValueError(
            f"y is constant on the {len(train)} rows that {where} fits: nothing can be selected there. If "
            "the rows are sorted by y, shuffle them: cv=KFold(5, shuffle=True, random_state=0)."
        )
