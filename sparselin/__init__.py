"""sparselin: exact algorithms for the theory of greedy sparse regression.

The package has Orthogonal Matching Pursuit, Sequential LASSO with its exact λ* (the penalty below which the
next feature enters), linear Sequential Attention, the dual polytope that relates these three methods, and
checks that the methods select the same features. `__init__.pyi` lists the public names and their modules;
each name is loaded at its first use.

The heart is in `problem` (the data and their rounding errors), `greedy`, `lasso`, `attention` and
`verification`. Imports run downwards through five layers: faces (`estimators`, `plots`, `studies`); theory
(`subsets`, `post_selection`, `explanations`, `guarantees`, `verification`); methods (`certificates`,
`greedy`, `lasso`, `attention`, `spectral`, `neural`); the border (`problem`, `linalg`, `scale`, `ensembles`,
`testing`, `ledger`); and the ground (`_kernels`, `validation`, `parallel`, `results`).
"""

from sparselin import validation

__version__ = "1.0.0"

_NEEDED = {
    "neural": validation.Extra("torch", "PyTorch", "pip install 'sparselin[neural]'"),
    "testing": validation.Extra("hypothesis", "hypothesis", "pip install 'sparselin[verify]'"),
    "post_selection.inference": validation.Extra("flint", "python-flint", "pip install 'sparselin[verify]'"),
    "plots.explorer.widget": validation.Extra("anywidget", "anywidget", "pip install 'sparselin[notebooks]'"),
}
__getattr__, __dir__, __all__ = validation.attach_stub(__name__, __file__, _NEEDED)
# `import *` loads no module but `ensembles`, because `plots` needs matplotlib and `testing` needs hypothesis
__all__ = [name for name in __all__ if name not in ("estimators", "neural", "plots", "spectral", "testing")]
