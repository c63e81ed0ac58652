"""Estimators for scikit-learn: exact versions of its OMP and LARS-LASSO classes, and feature selectors.

`__init__.pyi` lists the classes. Each class is loaded when it is first used, and scikit-learn with it.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
