"""The folds of a cross-validation, and the summary of their errors."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from sparselin.results import CrossValidation, FloatArray

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
