"""LassoNet's functions with settings as keyword arguments, and the design of LassoNet's tests."""

import dataclasses
import functools

import numpy as np
import torch

from sparselin.neural import LassoNetSettings, SkipNetwork, mlp
from sparselin.neural import lassonet as _lassonet
from sparselin.neural import reconstruction as _reconstruction
from sparselin.neural import refit as _refit
from sparselin.neural.training import seeded

NAMES = {field.name for field in dataclasses.fields(LassoNetSettings)}


def flat(function, *kept, **defaults):
    """Wrap a function so that keywords named like settings go into `settings`, except those in `kept`."""

    @functools.wraps(function)
    def call(*arguments, **options):
        settings = {name: options.pop(name) for name in NAMES & options.keys() - set(kept)}
        if settings:
            options["settings"] = LassoNetSettings(**defaults | settings)
        return function(*arguments, **options)

    return call


lassonet_path = flat(_lassonet.lassonet_path)
refit = flat(_refit, tol=0.99)
reconstruction_path = flat(_reconstruction.reconstruction_path)
matrix_completion = flat(_reconstruction.matrix_completion, "rounds", "tol", epochs=(1000, 100), tol=0.99)

QUICK = {"learning_rate": (1e-2, 2e-3), "epochs": (120, 25), "growth": 1.6}


def design(n=60, d=6):
    """Return X and y, where y depends on feature 1 through |·| and on feature 3 linearly."""
    X = np.random.default_rng(0).standard_normal((n, d))
    return X, 2 * X[:, 3] + np.abs(X[:, 1])


def skip_network(d, q=1, hidden=(8,)):
    with seeded(0):
        return SkipNetwork(mlp(d, hidden, q, dtype=torch.float64), d, q)
