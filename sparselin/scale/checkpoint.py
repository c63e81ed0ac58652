"""Checkpoints: the state of a pass over the data, saved on disk.

A checkpoint is written to a temporary file, which then replaces the old checkpoint.
"""

import json
import os
import uuid
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from sparselin.results import FloatArray
from sparselin.scale import factor
from sparselin.scale.form import Form
from sparselin.scale.partial import Partial
from sparselin.validation import read_npz

_FORMAT = "sparselin pass 1"


class Saved(NamedTuple):
    """A checkpoint: the number of chunks read, and the parts of the factorisation.

    A part is a pair: its height in the tree of merges, and the `Partial` (the state) of consecutive chunks.
    """

    chunks: int
    parts: list[tuple[int, Partial]]


def checkpoint_path(checkpoint: str | Path) -> Path:
    """Return the path of a checkpoint, with links resolved; FileNotFoundError if its folder is missing."""
    path = Path(os.path.realpath(checkpoint))
    if not path.parent.is_dir():
        raise FileNotFoundError(
            f"checkpoint {checkpoint} must be in a folder that exists; there is no folder {path.parent}"
        )
    return path


def save(path: Path, saved: Saved, form: Form, identity: str) -> None:
    """Write a checkpoint. If writing fails, the old one is unchanged, and an OSError names the file."""
    arrays: dict[str, Any] = {}
    parts = []
    for i, (height, partial) in enumerate(saved.parts):
        arrays[f"R{i}"] = partial.R
        if partial.held is not None:
            arrays[f"held{i}"] = partial.held
        fields = {k: v for k, v in vars(partial).items() if k not in ("R", "held")}
        parts.append({"height": height, **fields})
    head = {"format": _FORMAT, "chunks": saved.chunks, "form": form, "identity": identity, "parts": parts}
    other = path.with_name(f".{uuid.uuid4().hex}.part")
    try:
        with other.open("xb") as file:
            np.savez(file, head=np.array(json.dumps(head, default=_to_json)), **arrays)
            file.flush()
            os.fsync(file.fileno())
        other.replace(path)
    except OSError as error:
        raise OSError(error.errno, f"the checkpoint cannot be written: {error.strerror}", str(path)) from None
    finally:
        other.unlink(missing_ok=True)


def load(path: Path, form: Form, identity: str) -> Saved:
    """Return the contents of a checkpoint. Raises ValueError if it is invalid, or belongs to another pass."""
    try:
        arrays = read_npz(path)
        head = json.loads(str(arrays.pop("head", "{}")))
        if not isinstance(head, dict) or head.get("format") != _FORMAT:
            raise ValueError(f"it has no header with the format {_FORMAT!r}")
        stored = {key: head[key] for key in ("identity", "form")}
        parts = [_partial(i, fields, arrays) for i, fields in enumerate(head["parts"])]
        chunks = int(head["chunks"])
        if not parts:
            raise ValueError("it has no parts")
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        why = f"it has no {error}" if isinstance(error, KeyError) else str(error)
        raise ValueError(
            f"checkpoint {path} is not the checkpoint of a pass: {why}. Choose another file, or delete it to "
            "start again"
        ) from None
    ours = json.loads(json.dumps({"form": form, "identity": identity}, default=_to_json))
    for key, what in (("identity", "source"), ("form", "form of chunks and arguments")):
        if stored[key] != ours[key]:
            raise ValueError(
                f"checkpoint {path} belongs to another {what}: {stored[key]}, not {ours[key]}. "
                "Choose another file, or delete it to start again"
            )
    return Saved(chunks, parts)


def _partial(i: int, fields: dict[str, Any], arrays: dict[str, Any]) -> tuple[int, Partial]:
    """Return part i of a checkpoint: its height in the tree of merges, and its state."""
    height = fields.pop("height")
    fields["slots"] = tuple(map(tuple, fields["slots"]))
    fields["skipped"] = tuple(map(tuple, fields["skipped"]))
    held = arrays.get(f"held{i}")
    return height, Partial(R=_factor(arrays[f"R{i}"]), held=None if held is None else _factor(held), **fields)


def _factor(array: np.ndarray) -> FloatArray:
    """Return a copy of a factor in the memory layout that LAPACK needs; ValueError if it is no factor."""
    if array.dtype != np.float64 or array.shape != (len(array), len(array)):
        raise ValueError(f"a factor must be a square matrix of float64; got {array.dtype}, {array.shape}")
    return factor.align(array)


def _to_json(value: Any) -> Any:
    return value.item() if hasattr(value, "item") else str(value)
