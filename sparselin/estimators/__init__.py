"""scikit-learn's OMP and LARS-LASSO estimators, solved exactly: change the import, keep the code.

`__init__.pyi` lists the classes. Each is loaded at its first use, and scikit-learn with it.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
