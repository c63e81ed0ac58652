"""Estimators for scikit-learn: its OMP and LARS-LASSO classes, solved exactly, and selectors of features.

`__init__.pyi` lists the classes. Each is loaded at its first use, and scikit-learn with it.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
