"""Feature selection with networks: Sequential Attention and LassoNet.

The folder has all that the package does with networks, with their results, pictures and estimators.
It needs PyTorch, which the rest of the package does not need: pip install 'sparselin[neural]'.
`__init__.pyi` lists the public names. Each is loaded when it is first used.
"""

import importlib.util

import lazy_loader

if importlib.util.find_spec("torch") is None:
    raise ModuleNotFoundError("sparselin.neural needs PyTorch: pip install 'sparselin[neural]'", name="torch")

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
