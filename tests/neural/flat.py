"""LassoNet's functions with the settings of the training among their keywords, as tests like to vary them."""

import dataclasses
import functools

from sparselin.neural import LassoNetSettings
from sparselin.neural import lassonet as _lassonet
from sparselin.neural import reconstruction as _reconstruction
from sparselin.neural import refit as _refit

NAMES = {field.name for field in dataclasses.fields(LassoNetSettings)}


def flat(function, defaults=None, kept=()):
    """The function, with keywords that are settings put into the record; `kept` ones stay its own."""

    @functools.wraps(function)
    def call(*arguments, **options):
        names = NAMES & options.keys() - set(kept)
        settings = {name: options.pop(name) for name in names}
        if settings:
            options["settings"] = LassoNetSettings(**(defaults or {}) | settings)
        return function(*arguments, **options)

    return call


lassonet_path = flat(_lassonet.lassonet_path)
refit = flat(_refit, {"tol": 0.99})
reconstruction_path = flat(_reconstruction.reconstruction_path)
matrix_completion = flat(
    _reconstruction.matrix_completion, {"epochs": (1000, 100), "tol": 0.99}, kept=("rounds", "tol")
)
