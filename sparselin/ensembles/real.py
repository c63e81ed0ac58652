"""Real data: three data sets of scikit-learn as designs."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from sparselin.ensembles.design import Design, Response, respond
from sparselin.ensembles.families import unit
from sparselin.validation import Rng


def diabetes(
    rng: Rng = None, *, y: Response = "measured", k: int | None = None, snr: float | None = None
) -> Design:
    """Load the diabetes data (442, 55): the progression of the disease, ten measurements, their 45 products.

    The columns are centred and have unit length. `rng=None` gives all rows; any other rng gives a random
    half, centred and scaled again. (Efron, Hastie, Johnstone and Tibshirani, 2004.)

    >>> diabetes()[0].shape, diabetes(rng=0)[0].shape
    ((442, 55), (221, 55))
    """
    return _real_data("diabetes", rng, y, k, snr)


def digits(
    rng: Rng = None, *, y: Response = "measured", k: int | None = None, snr: float | None = None
) -> Design:
    """Load the digits data (1797, 64): y is the digit, and X has the 8×8 pixels of its image.

    The columns are centred and have unit length; constant pixels are zero columns. `rng=None` gives all rows;
    any other rng gives 450 random rows, centred and scaled again. (Alpaydin and Kaynak, 1998.)

    >>> X, y = digits()
    >>> X.shape, int((X == 0).all(axis=0).sum())
    ((1797, 64), 3)
    """
    return _real_data("digits", rng, y, k, snr)


def breast_cancer(
    rng: Rng = None, *, y: Response = "measured", k: int | None = None, snr: float | None = None
) -> Design:
    """Load the breast cancer data (569, 30): y is benign or malignant, X has measurements of cell nuclei.

    The columns are centred and have unit length. `rng=None` gives all rows; any other rng gives a random
    half, centred and scaled again. (Street, Wolberg and Mangasarian, 1993.)

    >>> breast_cancer()[0].shape, breast_cancer(rng=0)[0].shape
    ((569, 30), (284, 30))
    """
    return _real_data("breast_cancer", rng, y, k, snr)


@functools.cache
def _load(name: str) -> tuple[Any, Any]:
    from sklearn import datasets, preprocessing

    X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
    if name == "diabetes":
        X = preprocessing.PolynomialFeatures(2, interaction_only=True, include_bias=False).fit_transform(X)
    return X, y.astype(np.float64)


def _real_data(name: str, rng: Rng, y: Response, k: int | None, snr: float | None) -> Design:
    X, measured = _load(name)
    generator = np.random.default_rng(rng)
    if rng is not None:
        n = len(X)
        rows = generator.choice(n, min(n // 2, 450), replace=False)
        X, measured = X[rows], measured[rows]
    # A constant column minus its rounded mean need not be zero.
    X = np.where(np.ptp(X, axis=0) > 0, X - X.mean(axis=0), 0.0)
    return respond(unit(X), generator, y, k, snr, {"measured": measured - measured.mean()})
