"""Cross-validation of a whole pipeline that ends in a selector: each step is fitted again for each fold."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing, indexable
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import _num_samples

from sparselin.estimators._common import Split, without_weightless
from sparselin.estimators._folds import Fold, summarize
from sparselin.estimators._paths import Task, check_fold
from sparselin.estimators._selector import PathSelector, fold_errors
from sparselin.problem.labels import check_same_rows
from sparselin.results import CrossValidation
from sparselin.validation import check_mask, check_weights
from sparselin.validation.progress import ProgressLog


def cross_validate(
    model: Any,
    X: Any,
    y: Any,
    *,
    cv: Any = 10,
    groups: Any = None,
    sample_weight: Any = None,
    n_jobs: int | None = None,
    progress: Callable[[Fold], Any] | None = None,
) -> CrossValidation:
    """Cross-validate a selector, or a pipeline that ends in a selector, for each number k of features.

    For each fold all steps, such as imputation, encoding, scaling and selection, are fitted on the other
    folds only. The errors are those of the models along the path on the rows of the fold. If the path ends
    early, its last model also counts for larger k.

    Parameters
    ----------
    model : a path selector such as `OMPSelector`, or a `Pipeline` of scikit-learn whose last step is one. The
        model remains as it is. The largest k is the `max_features` of the selector, or else its number
        `n_features_to_select`. If this is the name of a rule, the largest k is 30 in addition to the forced
        features, but less than half the number of training rows. The tolerance `tol` is ignored.
    X, y : (n, d) table and (n,) or (n, q) responses, in any form that the first step takes.
    cv : the number of folds, or a splitter or list of splits, as in scikit-learn. A number means stratified
        folds for classes, otherwise folds of consecutive rows; KFold(10, shuffle=True) shuffles them.
    groups : (n,) labels for a splitter such as `GroupKFold`, which keeps the rows of a label in one fold.
    sample_weight : (n,) weights ≥ 0 of the rows, in the fit of the selector and in the errors: inverse
        variances up to a factor. Only their ratios matter, and rows of weight 0 are as if removed, also from
        the fits of the other steps. A fold of a list of splits whose test rows all have weight 0 is left out.
    n_jobs : the number of processes for the folds.
    progress : a function that is called with the `Fold` after each fold.

    Returns
    -------
    The `CrossValidation`: the mean squared error, or the mean deviance for other losses, for each k. With
    groups of features, k counts groups.

    Raises
    ------
    TypeError : the model is no path selector, and no pipeline that ends in one.
    ValueError : the data or parameters are invalid, or y is constant on the training rows of a fold.

    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from sparselin.estimators import OMPSelector
    >>> X, y = load_diabetes(as_frame=True, return_X_y=True)
    >>> found = cross_validate(make_pipeline(StandardScaler(), OMPSelector(8)), X, y)
    >>> found.best, found.chosen, found.r2[found.at(4)].round(3).item()
    (6, 3, 0.472)
    """
    head, last = (model[:-1], model[-1]) if isinstance(model, Pipeline) else (Pipeline([]), model)
    if not isinstance(last, PathSelector):
        raise TypeError(f"model must be a path selector, or a Pipeline that ends in one; got {last!r}")
    check_mask(groups=groups)
    X, y = indexable(X, y)
    check_same_rows(X, y, "y")
    check_same_rows(X, sample_weight, "sample_weight")
    if sample_weight is not None:
        sample_weight = check_weights(sample_weight, _num_samples(X), np.dtype(np.float64))
    X, y, sample_weight, used = without_weightless(X, y, sample_weight)
    selector = clone(last).set_params(tol=None, cv=cv)
    task, _ = selector._check_data(_fit_steps(clone(head), X, y), y, sample_weight)
    metadata = {} if groups is None else {"groups": groups}
    splits = selector._folds(dataclasses.replace(task, X=X, used=used), metadata)
    rule = "cv" if isinstance(last.n_features_to_select, str) else last.n_features_to_select
    k = selector.set_params(n_features_to_select=rule, cv=splits)._request(task, {})[0].most
    for number, split in enumerate(splits):
        check_fold(task, split[0], split[1], f"fold {number + 1} of {len(splits)}")
    # neither is needed in the folds
    selector.cv = None
    task = dataclasses.replace(task, X=None)
    jobs = (delayed(_fold)(head, selector, X, y, task, split, k) for split in splits)
    folds: list[Fold] = []
    log = ProgressLog("cross_validate", "folds", len(splits))
    for fold in Parallel(n_jobs=n_jobs, return_as="generator")(jobs):
        folds.append(fold)
        log.report(len(folds))
        if progress is not None:
            progress(fold)
    return summarize(folds, len(task.forced))


def _fit_steps(head: Pipeline, X: Any, y: Any) -> Any:
    """Fit the steps of a pipeline, which may have none, and return the transformed table."""
    return head.fit_transform(X, y) if head.steps else X


def _fold(head: Pipeline, selector: PathSelector, X: Any, y: Any, task: Task, split: Split, k: int) -> Fold:
    """Fit all steps to the training rows, and return the errors of the models on the test rows.

    task : the validated y and weights of all rows.
    """
    head = clone(head)
    selector = clone(selector)
    weight = task.weight
    (A, B), (b, _) = ([_safe_indexing(data, rows) for rows in split] for data in (X, y))
    w, v = (None if weight is None else weight[rows] for rows in split)
    inner, kept = selector._check_data(_fit_steps(head, A, b), b, w)
    Z = selector._check_rows(head.transform(B) if head.steps else B)[:, kept]
    return fold_errors(selector, inner, dataclasses.replace(inner, X=Z, y=task.y[split[1]], weight=v), k)
