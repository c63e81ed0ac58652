"""Optional packages: names that are loaded at their first use, and messages that say what to install."""

import contextlib
import importlib.util
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import lazy_loader


def installed_by(extra: str) -> str:
    """Return the command that installs an extra of this package: from an index, and from a checkout."""
    return f"pip install 'sparselin[{extra}]' (in a checkout: pip install '.[{extra}]')"


@contextlib.contextmanager
def needs(package: str, use: str) -> Iterator[None]:
    """Import an optional package inside a `with` block; if it is missing, the error says how to install it.

    use : the beginning of the message of the ModuleNotFoundError, with the command that installs the package.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        if str(error.name).partition(".")[0] != package:
            raise
        raise ModuleNotFoundError(use, name=package) from None


class Extra(NamedTuple):
    """An optional package: the name that is imported, its name in words, and the command that installs it."""

    package: str
    name: str
    install: str


def attach_stub(package: str, file: str, needed: Mapping[str, Extra]) -> tuple[Any, Any, list[str]]:
    """Return `__getattr__`, `__dir__` and `__all__` of a package, whose stub lists the modules of its names.

    A name of another package (`from ..other import name`) is loaded from there when it is used.

    needed : the extras of modules in the stub. Without its extra a name is not listed. Its use raises
        AttributeError, as `hasattr` expects, or in `from … import` ModuleNotFoundError, with the remedy.
    """
    stub = Path(file).with_suffix(".pyi").read_text(encoding="utf-8")
    homes = {name: home for home, name in re.findall(r"(?m)^from (\.[\w.]*) import (\w+)", stub)}
    outside = {name: home for name, home in homes.items() if home.startswith("..")}
    modules = [name for name, home in homes.items() if home == "."]
    inside: dict[str, list[str]] = {}
    for name in homes.keys() - outside.keys() - set(modules):
        inside.setdefault(homes[name][1:], []).append(name)
    load, _, _ = lazy_loader.attach(package, modules, inside)
    names = sorted(homes)
    places = {name: home.lstrip(".") or name for name, home in homes.items()}
    extras = {name: needed[place] for name, place in places.items() if place in needed}

    def present() -> list[str]:
        return [n for n in names if n not in extras or importlib.util.find_spec(extras[n].package)]

    def get(name: str) -> Any:
        try:
            if name in outside:
                return getattr(importlib.import_module(outside[name], package), name)
            return load(name)
        except ModuleNotFoundError as error:
            words, absent = str(error), str(error.name)
            if name in extras and extras[name].package == absent.partition(".")[0]:
                words = f"{package}.{name} needs {extras[name].name}: {extras[name].install}"
            elif absent.startswith("sparselin"):
                raise
            # the import system asks by `hasattr` before it says "cannot import name", without any reason
            if sys._getframe(1).f_code.co_name == "_handle_fromlist":
                raise ModuleNotFoundError(words, name=absent) from None
            raise AttributeError(words, name=name) from None

    return get, present, present()
