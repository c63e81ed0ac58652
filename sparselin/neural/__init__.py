"""Feature selection with networks: Sequential Attention and LassoNet.

The folder has all that the package does with networks, with their results, pictures and estimators.
It needs PyTorch, which the rest of the package does not need: pip install 'sparselin[neural]'.
`__init__.pyi` lists the public names. Each is loaded when it is first used.
"""

import importlib.util

import lazy_loader

from sparselin.validation.extras import installed_by

if importlib.util.find_spec("torch") is None:
    raise ModuleNotFoundError(f"sparselin.neural needs PyTorch: {installed_by('neural')}", name="torch")

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
