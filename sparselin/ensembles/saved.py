"""Counterexamples as .npz files: tuples of designs, arrays and numbers; each is stored under its position."""

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from sparselin.ensembles.design import Design
from sparselin.validation import read_npz


def archive(value: Any, **more: Any) -> bytes | None:
    """Return the bytes of an .npz file with a counterexample and more arrays; None if it cannot be stored.

    The first design in `value` is also stored as X and y, which `sparselin verify --design` reads.
    """
    leaves = dict(_leaves(value, "value"))
    if any(array.dtype == object for array in leaves.values()):
        return None
    design = next(_designs(value), None)
    first = {} if design is None else {"X": design.X, "y": design.y}
    file = io.BytesIO()
    np.savez_compressed(file, **leaves, **first, **more)  # type: ignore[arg-type]
    return file.getvalue()


def load_value(file: Path) -> tuple[Any, dict[str, Any]]:
    """Return the value and the other arrays in a file that `archive` wrote; ValueError for other files."""
    arrays = read_npz(file)
    leaves = {name: arrays.pop(name) for name in list(arrays) if name.split("/")[0] == "value"}
    if not leaves:
        raise ValueError(f"{file} is not a saved counterexample: it holds {', '.join(arrays) or 'nothing'}")
    try:
        return _rebuild(leaves, "value"), arrays
    except (LookupError, TypeError, ValueError) as error:
        raise ValueError(f"{file} is not a saved counterexample: {error}") from None


def as_design(value: Any) -> Design | None:
    """Convert a design, or a pair (X, y) of arrays, to a design; return None for anything else."""
    if isinstance(value, Design):
        return value
    if isinstance(value, tuple) and len(value) == 2 and all(isinstance(v, np.ndarray) for v in value):
        X, y = value
        if X.ndim == 2 and y.shape == X.shape[:1] and X.dtype.kind == y.dtype.kind == "f":
            return Design(X, y)
    return None


def describe_value(value: Any) -> str:
    """Write a value for a message: a small value in full, a large design by its shape."""
    found = next(_designs(value), None)
    return repr(value) if found is None or found.X.size <= 100 else f"X {found.X.shape}, y {found.y.shape}"


def _designs(value: Any) -> Iterator[Design]:
    if (design := as_design(value)) is not None:
        yield design
    elif isinstance(value, tuple):
        for part in value:
            yield from _designs(part)


def _leaves(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    if isinstance(value, Design):
        for name in ("X", "y", "coef", "noise"):
            if getattr(value, name) is not None:
                yield f"{path}/{name}", getattr(value, name)
    elif isinstance(value, tuple):
        for i, part in enumerate(value):
            yield from _leaves(part, f"{path}/{i}")
    else:
        yield path, np.asarray(value)


def _rebuild(leaves: dict[str, Any], path: str) -> Any:
    if path in leaves:
        leaf = leaves[path]
        return leaf.item() if leaf.ndim == 0 else leaf
    tails = (name[len(path) + 1 :] for name in leaves if name.startswith(path))
    below = list(dict.fromkeys(tail.split("/")[0] for tail in tails))
    if "X" in below:
        return Design(**{name: leaves[f"{path}/{name}"] for name in below})
    return tuple(_rebuild(leaves, f"{path}/{i}") for i in range(len(below)))
