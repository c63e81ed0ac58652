"""sparselin: the theory of greedy sparse regression, exactly.

Orthogonal Matching Pursuit, Sequential LASSO with its exact λ*, linear Sequential Attention, the dual
polytope they share, and checks that they select the same features. What there is, and in which room it
lives, is in `__init__.pyi`; each name is loaded at its first use.
"""

import lazy_loader

__version__ = "0.1.0"

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
# what `import *` takes: no rooms but `ensembles`, since `plots` needs matplotlib and `testing` hypothesis
__all__ = [name for name in __all__ if name not in ("plots", "spectral", "testing")]
