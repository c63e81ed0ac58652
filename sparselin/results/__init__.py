"""The results of the methods: frozen dataclasses, whose fields are always all present.

`__init__.pyi` lists them with their modules. Certificates and `Compressed` live in the folders of the methods
that make them. Each name is loaded at its first use, so this folder imports no method.
"""

from sparselin.validation.extras import attach_stub

__getattr__, _, _names = attach_stub(__name__, __file__, {})
_TYPES = {"Fit", "FloatArray", "IndexArray", "Names"}  # of fields, and the base of fits
__all__ = [name for name in _names if name not in _TYPES]


def __dir__() -> list[str]:
    return __all__
