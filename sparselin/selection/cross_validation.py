"""The errors of K-fold cross-validation along a path, which choose the number of features."""

import dataclasses
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from sparselin.results import FloatArray, IndexArray

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


@dataclasses.dataclass(frozen=True, eq=False)
class CrossValidation:
    """The mean squared errors on held-out rows, for each number of features t.

    Let E_l be the error in fold l, w_l its weight (the sum of the weights of its rows, of which only the
    ratios matter), and K the number of folds. The error E and its standard error are those of glmnet
    (Friedman, Hastie and Tibshirani, 2010):

        E = Σ w_l E_l/Σ w_l,     standard error = √(Σ w_l (E_l − E)²/Σ w_l/(K − 1)).

    Attributes
    ----------
    sizes (m,), error (m,), standard_error (m,) : t, E and the standard error of E.
    r2 : (m,) 1 − E/E₀, where E₀ is the error of a constant prediction: the mean of y in the other folds, or
        zero without an intercept.
    best : the t with the least E, the smallest if there are several.
    chosen : the least t whose E is at most the least E plus the standard error of the least E (the
        one-standard-error rule of Breiman, Friedman, Olshen and Stone, 1984).
    folds : K.
    """

    sizes: IndexArray
    error: FloatArray
    standard_error: FloatArray
    r2: FloatArray
    best: int
    chosen: int
    folds: int

    def at(self, t: int) -> int:
        """Return the position of the number of features t in the arrays `sizes`, `error` and `r2`."""
        return int(np.flatnonzero(self.sizes == t)[0])


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
    return CrossValidation(sizes, error, standard_error, r2, f + best, f + chosen, len(folds))
