"""One design from a file: .npz with X and y, or .csv whose first line names the columns."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any, NamedTuple

import click
import numpy as np

from sparselin.cli.tables import BadTable, positions, read_csv

# what NumPy raises for files that are something else
_UNREADABLE = (OSError, KeyError, ValueError, TypeError, IndexError, AttributeError, zipfile.BadZipFile)


class SavedDesign(NamedTuple):
    """The contents of a file.

    Attributes
    ----------
    X, y : (n, d) and (n,).
    names, target : the names of the columns and of y, of a .csv.
    note : a sentence for the user, or "".
    k, seed, reach, audit, flops : as an .npz that a command saved has them: features, the key of random
        numbers, whether the reach of the pick is measured and the steps are audited, and the cap on a descent
        (infinite for no cap; None where none is saved).
    """

    X: Any
    y: Any
    names: tuple[str, ...] = ()
    target: str = "y"
    note: str = ""
    k: int | None = None
    seed: list[int] | None = None
    reach: bool = False
    audit: bool = True
    flops: float | None = None


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
                audit=bool(saved["audit"]) if "audit" in saved else True,
                flops=float(saved["flops"]) if "flops" in saved else None,
            )
    except click.BadParameter:
        raise
    except _UNREADABLE as error:
        words = f"{path} must be an .npz with X (n, d) and y (n,), or a .csv: {error}"
        raise click.BadParameter(words, param_hint="--design") from None


def _from_csv(path: Path, target: str | None) -> SavedDesign:
    try:
        names, data, _, note, _ = read_csv(path)
    except BadTable as error:
        raise click.BadParameter(error.told(target), param_hint="--design") from None
    try:
        at = positions([target], names, "--target")[0] if target is not None else len(names) - 1
    except BadTable as error:
        raise click.UsageError(f"{error}.") from None
    others = names[:at] + names[at + 1 :]
    return SavedDesign(np.delete(data, at, axis=1), data[:, at], others, names[at], note)
