"""The public names and their signatures: `python -m tests.public --write` stores them in docs/public.txt.

docs/api.rst lists the names. Annotations are left out, because Python and NumPy print them in other words in
other versions. Stand-ins for PyTorch, as in the site, and for pysindy make the list the same without them.
"""

import inspect
import pkgutil
import re
import sys
from enum import EnumType
from pathlib import Path

DOCS = Path(__file__).parent.parent / "docs"
STORED = DOCS / "public.txt"
PRIVATE = re.compile(
    r"sparselin\.Problem\.(?!from_gram)"
)  # methods and attributes that may change at any time


def signature(thing):
    """Return the names, kinds and defaults of the arguments, as in a call."""
    given = inspect.signature(thing)
    arguments = [each.replace(annotation=inspect.Parameter.empty) for each in given.parameters.values()]
    text = str(given.replace(parameters=arguments, return_annotation=inspect.Signature.empty))
    return re.sub(r"<function (\w+) at \w+>", r"\1", text)


def members(thing):
    """Yield the public methods and properties that our code gives to a class."""
    ours = {key: value for base in reversed(thing.__mro__) if base.__module__.startswith("sparselin")
            for key, value in vars(base).items() if not key.startswith("_")}  # fmt: skip
    for key, value in sorted(ours.items()):
        function = value.__func__ if isinstance(value, classmethod | staticmethod) else value
        if inspect.isfunction(function):
            yield f".{key}{signature(function)}"
        elif isinstance(value, property) or hasattr(value, "func"):
            yield f".{key}"


def lines():
    for name in sorted(
        re.findall(r"^   ~?(sparselin\.[\w.]+)$", (DOCS / "api.rst").read_text("utf-8"), re.M)
    ):
        thing = pkgutil.resolve_name(name)
        if inspect.ismodule(thing):
            yield f"{name}: module"
        elif isinstance(thing, EnumType):
            yield f"{name}: {', '.join(member.name for member in thing)}"
        elif inspect.isclass(thing) and issubclass(thing, Exception):
            yield f"{name}: exception"
        else:
            yield f"{name}{signature(thing)}"
        if inspect.isclass(thing):
            yield from (name + member for member in members(thing) if not PRIVATE.match(name + member))


if __name__ == "__main__":
    sys.path.insert(0, str(DOCS / "_ext"))
    stand_in = __import__("torch_stub")
    stand_in.install()
    stand_in.install(("pysindy", "pysindy.optimizers"))
    text = "\n".join(lines()) + "\n"
    if sys.argv[1:] == ["--write"]:
        STORED.write_text(text, "utf-8")
    else:
        sys.stdout.write(text)
