"""sparselin: exact algorithms for the theory of greedy sparse regression.

The package has Orthogonal Matching Pursuit, Sequential LASSO with its exact λ* (the penalty below which the
next feature enters), linear Sequential Attention, the dual polytope that relates these three methods, and
checks that the methods select the same features. `__init__.pyi` lists the public names and their modules;
each name is loaded at its first use.
"""

import lazy_loader

__version__ = "1.0.0"

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
# `import *` loads no module but `ensembles`, because `plots` needs matplotlib and `testing` needs hypothesis
__all__ = [name for name in __all__ if name not in ("estimators", "neural", "plots", "spectral", "testing")]
