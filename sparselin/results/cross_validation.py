"""The errors of K-fold cross-validation along a path, which choose the number of features."""

import dataclasses

import numpy as np

from sparselin.results.base import FloatArray, IndexArray


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
