"""Read one design from a file: an .npz with X and y, or a .csv whose first line names the columns."""

from pathlib import Path
from typing import Any, NamedTuple

import click
import numpy as np

from sparselin.studies.common.tables import BadTable, is_text, numbers_of, positions, read_table, some
from sparselin.validation import read_npz

# name ↦ kinds of dtype, least and largest value, and (conversion, description)
_OPTIONS: dict[str, tuple[str, float, float, tuple[Any, str]]] = {
    "k": ("iu", 1, 2**62, (int, "a positive integer")),
    "seed": ("iu", 0, np.inf, (list, "a list of nonnegative integers")),
    "reach": ("b", 0, 1, (bool, "True or False")),
    "audit": ("b", 0, 1, (bool, "True or False")),
    "flops": ("iuf", 0, np.inf, (float, "a nonnegative number")),
}


class SavedDesign(NamedTuple):
    """The contents of a file with a design.

    Attributes
    ----------
    X, y : (n, d) and (n,).
    names, target : the names of the columns and of y in a .csv.
    note : a sentence for the user, or "".
    k, seed, reach, audit, flops : the settings in an .npz that a command saved. These are the number of
        features; the seed; whether `StepRecord.reach`, the least λ/λ* with the same pick, is measured;
        whether an interior point method repeats the checks of the steps; and the limit on the work of a
        gradient descent. The limit is infinite if there is none, and None if the file does not say.
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
    """Read the design in a file; `target` names y among the columns of a .csv, by default the last one.

    Raises click.BadParameter, whose message names the fault and its place in the file.
    """
    if is_text(path):
        return _from_csv(path, target)
    wanted = "must be an .npz with X (n, d) and y (n,), or a .csv"
    try:
        if target is not None:
            raise ValueError("--target names a column of a .csv; in an .npz the array must be called y")
        if path.suffix.lower() == ".npy":
            raise ValueError(f"{path} {wanted}; an .npy holds only one array")
        try:
            arrays = read_npz(path)
        except ValueError as error:
            raise ValueError(f"{wanted}; {error}") from None
        return _from_arrays(path, arrays)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--design") from None


def _from_arrays(path: Path, arrays: dict[str, Any]) -> SavedDesign:
    """Return the design in these arrays; ValueError names an array that is missing or has a wrong dtype."""
    missing = {"X", "y"} - set(arrays)
    if missing:
        raise ValueError(
            f"{path} must be an .npz with X (n, d) and y (n,): it has no {' and no '.join(sorted(missing))}. "
            f"Its arrays are {some(list(arrays))}"
        )
    for name in ("X", "y"):
        if arrays[name].dtype.kind not in "biuf":
            raise ValueError(f"{path}: {name} must hold real numbers; its dtype is {arrays[name].dtype}")
    if arrays["X"].ndim != 2:
        raise ValueError(
            f"{path}: X must have two dimensions, (n, d); it has {arrays['X'].ndim}. Save X.reshape(-1, 1)"
            " for a single column"
        )
    options: dict[str, Any] = {}
    for name, (kinds, least, most, make) in _OPTIONS.items():
        if name in arrays:
            value = arrays[name]
            right = value.dtype.kind in kinds and value.ndim == (name == "seed")
            if not (right and np.all((least <= value) & (value <= most))):
                raise ValueError(f"{path}: {name} must be {make[1]}; got {str(value)[:40]}")
            options[name] = make[0](value.tolist())
    return SavedDesign(
        X=np.asarray(arrays["X"], np.float64), y=np.asarray(arrays["y"], np.float64), **options
    )


def _from_csv(path: Path, target: str | None) -> SavedDesign:
    try:
        table = read_table(path)
        data = numbers_of(path, table)
    except BadTable as error:
        plain = "Save it as a plain .csv: the names in the first line, commas between columns, decimal points"
        message = f"{error.reason.rstrip('.')}. {plain}" if error.remedy else error.reason
        raise click.BadParameter(message, param_hint="--design") from None
    names = tuple(table.frame)
    try:
        at = positions([target], names, "--target")[0] if target is not None else len(names) - 1
    except BadTable as error:
        raise click.UsageError(str(error)) from None
    others = names[:at] + names[at + 1 :]
    return SavedDesign(
        X=np.delete(data, at, axis=1), y=data[:, at], names=others, target=names[at], note=table.note
    )
