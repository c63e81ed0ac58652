"""How many features: K-fold cross-validation of a method's path."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from sparselin.results import FloatArray, IndexArray
from sparselin.selection.methods import SelectionData, models

# the most features that are tried where nobody says how many
MOST = 30


class Fold(NamedTuple):
    """One fold: its weight, the mean squared error there of each model (m,), and that of the mean of y."""

    weight: float
    errors: FloatArray
    of_mean: float


@dataclasses.dataclass(frozen=True, eq=False)
class CrossValidation:
    """Mean squared errors on rows that were left out, for numbers of features t.

    With E_l the error in fold l, w_l its weight (its number of rows) and K folds, as in glmnet (Friedman,
    Hastie and Tibshirani, 2010)

        E = Σ w_l E_l/Σ w_l,     standard error = √(Σ w_l (E_l − E)²/Σ w_l/(K − 1)).

    Attributes
    ----------
    sizes (m,), error (m,), standard_error (m,) : t, E and its standard error.
    r2 : (m,) 1 − E/E₀, E₀ the error of the mean of y in the other folds (of zero without an intercept).
    best : the t of least E, the fewest if there are several.
    chosen : the least t with E at most the least E plus its standard error (the one-standard-error rule of
        Breiman, Friedman, Olshen and Stone, 1984).
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
        """The position of t in `sizes`."""
        return int(np.flatnonzero(self.sizes == t)[0])


def largest_size(n: int, d: int, folds: int) -> int:
    """The most features to try: at most d, MOST, and half as many, with the intercept, as rows to fit."""
    left_out = -(-n // min(folds, n))
    return max(0, min(d, MOST, (n - left_out) // 2 - 1))


def cross_validate(data: SelectionData, method: str, k: int, folds: int, seed: int) -> Iterator[Fold]:
    """The errors of `models` with up to k features, fold by fold. The rows are shuffled by the seed.

    Each fold is predicted by models of all other rows: scaling and selection are done there anew. Models
    stay what they are where a path ends before k features, as it does when columns become constant there.
    """
    n = len(data.y)
    of_row = np.random.default_rng(seed).permutation(n) % min(folds, n)
    weights = np.ones(n) if data.weight is None else data.weight
    for fold in range(min(folds, n)):
        out = of_row == fold
        w, y = weights[out], data.y[out]
        mean = np.average(data.y[~out], weights=weights[~out]) if data.intercept else 0.0
        fitted = models(data, method, k, seed, rows=~out)
        errors = [np.average((y - model.predict(data.X[out])) ** 2, weights=w) for model in fitted]
        yield Fold(float(w.sum()), np.array(errors), float(np.average((y - mean) ** 2, weights=w)))


def summarize(found: Sequence[Fold], f: int) -> CrossValidation:
    """E and its standard error from all folds, of at least two; f is the number of forced features."""
    weight = np.array([fold.weight for fold in found])
    errors = np.array([fold.errors for fold in found])
    error = np.average(errors, axis=0, weights=weight)
    spread = np.average((errors - error) ** 2, axis=0, weights=weight)
    standard_error = np.sqrt(spread / (len(found) - 1))
    of_mean = float(np.average([fold.of_mean for fold in found], weights=weight))
    best = int(np.argmin(error))
    chosen = int(np.argmax(error <= error[best] + standard_error[best]))
    return CrossValidation(
        sizes=np.arange(f, f + len(error)),
        error=error,
        standard_error=standard_error,
        r2=1 - error / of_mean if of_mean > 0 else np.zeros(len(error)),
        best=f + best,
        chosen=f + chosen,
        folds=len(found),
    )
