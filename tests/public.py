"""The public face, a line each: `python -m tests.public` writes tests/public.txt."""

import inspect
from enum import EnumType
from pathlib import Path

import sparselin as sl


def lines():
    for name in sorted(sl.__all__):
        thing = getattr(sl, name)
        if inspect.ismodule(thing):
            yield f"{name}: module"
        elif isinstance(thing, EnumType):
            yield f"{name}: {', '.join(member.name for member in thing)}"
        elif callable(thing):
            yield f"{name}{inspect.signature(thing)}"
        else:
            yield f"{name} = {thing!r}"


if __name__ == "__main__":
    (Path(__file__).parent / "public.txt").write_text("\n".join(lines()) + "\n")
