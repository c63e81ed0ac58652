"""Estimators for scikit-learn: exact versions of its OMP and LARS-LASSO classes, and feature selectors.

`__init__.pyi` lists the classes. A class is loaded when it is first used; only then is scikit-learn loaded.
"""

from sparselin.validation.extras import Extra, attach_stub, installed_by

_TORCH = Extra("torch", "PyTorch", installed_by("neural"))
_PYSINDY = Extra("pysindy", "pysindy", "pip install 'pysindy>=2.1'")
_NEEDED = {"neural.estimators.attention": _TORCH, "neural.estimators.lassonet": _TORCH, "sindy": _PYSINDY}
__getattr__, __dir__, __all__ = attach_stub(__name__, __file__, _NEEDED)
