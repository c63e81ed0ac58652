"""The folds of a cross-validation, and the summary of their errors."""

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import PredefinedSplit
from sklearn.model_selection._split import _CVIterableWrapper

from sparselin.results import CrossValidation, FloatArray, IndexArray

Split = tuple[IndexArray, IndexArray]
MaskArray: TypeAlias = NDArray[np.bool_]

# the largest number of features that is tried by default
MOST = 30


class Fold(NamedTuple):
    """One fold of a cross-validation: its weight, and mean squared errors on its rows.

    errors : the error of each model, one for each number of features, that was fitted on the other folds.
    error_of_mean : the error if the prediction is the mean of y in the other folds.
    """

    weight: float
    errors: FloatArray
    error_of_mean: float


@np.errstate(over="ignore", invalid="ignore")
def summarize(folds: Sequence[Fold], f: int) -> CrossValidation:
    """Combine the errors of at least two folds into the error for each number of features t ≥ f.

    f : the number of forced features.

    An error that overflows has no standard error.
    """
    weight = np.array([fold.weight for fold in folds])
    errors = np.array([fold.errors for fold in folds])
    error = np.average(errors, axis=0, weights=weight)
    spread = np.average((errors - error) ** 2, axis=0, weights=weight)
    standard_error = np.sqrt(spread / (len(folds) - 1))
    error_of_mean = float(np.average([fold.error_of_mean for fold in folds], weights=weight))
    best = int(np.argmin(error))
    chosen = int(np.argmax(error <= error[best] + standard_error[best]))
    r2 = 1 - error / error_of_mean if error_of_mean > 0 else np.zeros(len(error))
    sizes = np.arange(f, f + len(error))
    return CrossValidation(
        sizes=sizes,
        error=error,
        standard_error=standard_error,
        r2=r2,
        best=f + best,
        chosen=f + chosen,
        folds=len(folds),
    )


def refers_to_all_rows(cv: Any) -> bool:
    """Return whether the folds of a splitter are rows that the caller numbered, whatever their weights."""
    return isinstance(cv, PredefinedSplit | _CVIterableWrapper)


def translate_folds(folds: Sequence[Any], used: MaskArray) -> list[Split]:
    """Return folds of all rows as folds of the rows that are used; a fold without test rows is left out."""
    number = np.cumsum(used) - 1  # of each row that was passed, among those that are used
    translated = [[number[rows][used[rows]] for rows in fold] for fold in folds]
    for i, (train, test) in enumerate(translated):
        if len(test) and not len(train):
            where = f"all training rows of fold {i + 1} of {len(folds)}"
            raise ValueError(f"{where} have sample_weight zero. Leave this fold out of cv")
    left = [(train, test) for train, test in translated if len(test)]
    if not left:
        raise ValueError("sample_weight must be positive for a test row of some fold; it is zero for all")
    return left
