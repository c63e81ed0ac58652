"""The public face, a line each: `python -m tests.public` prints what tests/public.txt holds."""

import inspect
from enum import EnumType

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
    print("\n".join(lines()))
