"""Estimators for scikit-learn: exact versions of its OMP and LARS-LASSO classes, and feature selectors.

`__init__.pyi` lists the classes. A class is loaded when it is first used; only then is scikit-learn loaded.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
