"""sparselin: exact algorithms for the theory of greedy sparse regression.

The package has Orthogonal Matching Pursuit, Sequential LASSO with its exact λ* (the penalty below which the
next feature enters), linear Sequential Attention, the dual polytope that relates these three methods, and
checks that the methods select the same features. `__init__.pyi` lists the public names and their modules;
each name is loaded at its first use.

The heart is in `problem` (the data and their rounding errors), `greedy`, `lasso`, `attention` and
`verification`. Imports run downwards through five layers: faces (`estimators`, `plots`, `neural`, `studies`);
theory (`subsets`, `post_selection`, `explanations`, `guarantees`, `verification`); methods (`certificates`,
`greedy`, `lasso`, `attention`, `spectral`); the border (`problem`, `linalg`, `scale`, `ensembles`, `testing`,
`ledger`); and the ground (`_kernels`, `validation`, `parallel`, `results`).
"""

from sparselin import results
from sparselin.validation.extras import Extra, attach_stub, installed_by

__version__ = "1.0.0"

_NEEDED = {
    "neural": Extra("torch", "PyTorch", installed_by("neural")),
    "testing": Extra("hypothesis", "hypothesis", installed_by("verify")),
    "post_selection.inference": Extra("flint", "python-flint", installed_by("verify")),
    "plots.explorer.widget": Extra("anywidget", "anywidget", installed_by("notebooks")),
}
__getattr__, _present, _names = attach_stub(__name__, __file__, _NEEDED)
# names that load from here, as in checkouts before 1.0, until 1.1; `results` lists them
_RESULTS = {*results.__all__} - {"Status"}
# `import *` loads no module but `ensembles`, because `plots` needs matplotlib and `testing` needs hypothesis
_ROOMS = {"estimators", "neural", "plots", "results", "spectral", "testing"}
__all__ = [name for name in _names if name not in _RESULTS | _ROOMS]


def __dir__() -> list[str]:
    return [name for name in _present() if name not in _RESULTS]
