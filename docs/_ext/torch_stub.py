"""A stand-in for PyTorch, so that the site has the pages of `sparselin.neural` without PyTorch.

These pages need the signatures and the docstrings of our own code only. The mocks of `autodoc_mock_imports`
do not serve here, because they are no classes, and SciPy asks whether arrays are instances of `torch.Tensor`
once a module of that name is loaded. The stand-in is used even if PyTorch is installed, so that the pages are
the same.
"""

import sys
import types
from importlib.machinery import ModuleSpec
from typing import Any


class _Named(type):
    """The class of the names: a signature shows `torch.float32` as PyTorch does."""

    def __repr__(cls) -> str:
        return f"{cls.__module__}.{cls.__name__}"


class _Name(metaclass=_Named):
    """Anything that PyTorch defines: a base class, an annotation, or a decorator that changes nothing."""

    def __init__(self, *args: Any, **kwargs: Any) -> None: ...

    def __call__(self, function: Any) -> Any:
        return function


class _Module(types.ModuleType):
    """A module that defines every public name, as a class."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        setattr(self, name, _Named(name, (_Name,), {"__module__": self.__name__}))
        return getattr(self, name)


TORCH = "torch", "torch.func", "torch.nn", "torch.nn.functional", "torch.optim"


def install(names: tuple[str, ...] = TORCH) -> None:
    """Put the stand-in into `sys.modules`, or one for modules of another package."""
    for name in names:
        module = sys.modules[name] = _Module(name)
        module.__spec__ = ModuleSpec(name, None)
        parent, _, last = name.rpartition(".")
        if parent:
            setattr(sys.modules[parent], last, module)
