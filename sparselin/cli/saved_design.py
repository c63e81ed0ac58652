"""One design from a file: .npz with X and y, or .csv whose first line names the columns."""

from __future__ import annotations

import csv
import zipfile
from pathlib import Path
from typing import Any, NamedTuple

import click
import numpy as np

# what NumPy raises for files that are something else
_UNREADABLE = (OSError, KeyError, ValueError, TypeError, IndexError, AttributeError, zipfile.BadZipFile)
# how pandas writes an index of rows, at first and once it has read it
_INDEX = ("", "Unnamed: 0")


class SavedDesign(NamedTuple):
    """The contents of a file.

    Attributes
    ----------
    X, y : (n, d) and (n,).
    names, target : the names of the columns and of y, of a .csv.
    note : a sentence for the user, or "".
    k, seed, reach : as an .npz of a violated claim has them: features, the key of random numbers, and whether
        the reach of the pick is measured.
    """

    X: Any
    y: Any
    names: tuple[str, ...] = ()
    target: str = "y"
    note: str = ""
    k: int | None = None
    seed: list[int] | None = None
    reach: bool = False


def read_design(path: Path, target: str | None) -> SavedDesign:
    """The design in a file; `target` names y among the columns of a .csv, the last one by default.

    Raises click.BadParameter, which says what is wrong with the file, and where.
    """
    try:
        if path.suffix.lower() == ".csv":
            return _from_csv(path, target)
        if target is not None:
            raise ValueError("--target names a column of a .csv; an .npz has y by that name")
        if path.suffix.lower() == ".npy":
            raise ValueError("an .npy holds one array")
        with np.load(path) as saved:
            missing = {"X", "y"} - set(saved)
            if missing:
                raise ValueError(f"it has no {' and no '.join(sorted(missing))}, but {', '.join(saved)}")
            return SavedDesign(
                np.asarray(saved["X"], np.float64),
                np.asarray(saved["y"], np.float64),
                k=int(saved["k"]) if "k" in saved else None,
                seed=[int(part) for part in saved["seed"]] if "seed" in saved else None,
                reach=bool(saved["reach"]) if "reach" in saved else False,
            )
    except click.BadParameter:
        raise
    except _UNREADABLE as error:
        words = f"{path} must be an .npz with X (n, d) and y (n,), or a .csv: {error}"
        raise click.BadParameter(words, param_hint="--design") from None


def _from_csv(path: Path, target: str | None) -> SavedDesign:
    with path.open(newline="", encoding="utf-8-sig") as file:
        reader = csv.reader(file)
        lines = [(reader.line_num, row) for row in reader if row]
    if len(lines) < 2:
        raise _bad(path, "needs a line that names the columns and a line for each row of X and y")
    names = tuple(name.strip() for name in lines[0][1])
    if len(names) < 2:
        raise _bad(path, f"needs a column for y and others for X, separated by commas; it has {names[0]!r}")
    if all(_is_number(name) for name in names):
        raise _bad(path, "must name its columns in the first line; there are only numbers in it")
    first = int(names[0] in _INDEX and len(names) > 2)
    note = f"{path}: the first column has no name, and is left out as the index of the rows." if first else ""
    if "" in names[first:]:
        raise _bad(path, f"must name every column; column {names.index('', first) + 1} has no name")
    twice = [name for i, name in enumerate(names) if name in names[:i]]
    if twice:
        raise _bad(path, f"must not name two columns {twice[0]!r}")
    if target is not None and target not in names[first:]:
        raise click.BadParameter(
            f"no column {target!r} among {', '.join(names[first:])}", param_hint="--target"
        )
    data = np.array([_numbers(path, line, row, names, first) for line, row in lines[1:]])
    names = names[first:]
    at = names.index(target) if target is not None else len(names) - 1
    others = names[:at] + names[at + 1 :]
    return SavedDesign(np.delete(data, at, axis=1), data[:, at], others, names[at], note)


def _numbers(path: Path, line: int, row: list[str], names: tuple[str, ...], first: int) -> list[float]:
    """The fields of a line from the first on."""
    if len(row) != len(names):
        raise _bad(path, f"line {line} has {len(row)} fields, the first line {len(names)}")
    for name, field in zip(names[first:], row[first:], strict=True):
        if not field.strip():
            raise _bad(path, f"line {line} has nothing in column {name!r}: fill it in, or leave the row out")
        if not _is_number(field):
            raise _bad(
                path, f"line {line} has {field!r} in column {name!r}, no number: encode it, or leave it out"
            )
    return [float(field) for field in row[first:]]


def _is_number(field: str) -> bool:
    try:
        float(field)
    except ValueError:
        return False
    return True


def _bad(path: Path, words: str) -> click.BadParameter:
    return click.BadParameter(f"{path}: {words}", param_hint="--design")
