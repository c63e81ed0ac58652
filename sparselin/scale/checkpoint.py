"""A pass on disk: parts of it with their counts, written to another file that then takes the name."""

from __future__ import annotations

import dataclasses
import json
import os
import uuid
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from sparselin.scale import factor
from sparselin.scale.form import Form
from sparselin.scale.partial import Partial
from sparselin.validation import read_npz

_FORMAT = "sparselin pass 1"


class Saved(NamedTuple):
    """chunks : how many were read. parts : (height in the tree, Partial) of consecutive chunks."""

    chunks: int
    parts: list[tuple[int, Partial]]


def writable(checkpoint: str | Path) -> Path:
    """Return where a checkpoint is written, through links. Raises FileNotFoundError without its folder."""
    path = Path(os.path.realpath(checkpoint))
    if not path.parent.is_dir():
        raise FileNotFoundError(
            f"checkpoint {checkpoint} must be in a folder that exists; there is no folder {path.parent}"
        )
    return path


def save(path: Path, saved: Saved, form: Form, identity: str) -> None:
    """Write a checkpoint whole, or leave the one that is there. OSError names it."""
    arrays: dict[str, Any] = {}
    words = []
    for i, (height, partial) in enumerate(saved.parts):
        arrays[f"R{i}"] = partial.R
        if partial.held is not None:
            arrays[f"held{i}"] = partial.held
        fields = {f.name: getattr(partial, f.name) for f in dataclasses.fields(partial)}
        words.append({"height": height, **{k: v for k, v in fields.items() if k not in ("R", "held")}})
    head = {"format": _FORMAT, "chunks": saved.chunks, "form": form, "identity": identity, "parts": words}
    other = path.with_name(f".{uuid.uuid4().hex}.part")
    try:
        with other.open("xb") as file:
            np.savez(file, head=np.array(json.dumps(head, default=_plain)), **arrays)
            file.flush()
            os.fsync(file.fileno())
        other.replace(path)
    except OSError as error:
        raise OSError(error.errno, f"the checkpoint cannot be written: {error.strerror}", str(path)) from None
    finally:
        other.unlink(missing_ok=True)


def load(path: Path, form: Form, identity: str) -> Saved:
    """Return the contents of a checkpoint. ValueError if it is none, or that of another pass."""
    try:
        arrays = read_npz(path)
        head = json.loads(str(arrays.pop("head", "{}")))
        if not isinstance(head, dict) or head.get("format") != _FORMAT:
            raise ValueError(f"it has no head with the format {_FORMAT!r}")
        stored = {key: head[key] for key in ("identity", "form")}
        parts = [_partial(i, words, arrays) for i, words in enumerate(head["parts"])]
        chunks = int(head["chunks"])
        if not parts:
            raise ValueError("it has no parts")
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        why = f"it has no {error}" if isinstance(error, KeyError) else str(error)
        raise ValueError(
            f"checkpoint {path} is none of a pass: {why}. Choose another file, or delete it to begin anew"
        ) from None
    ours = json.loads(json.dumps({"form": form, "identity": identity}, default=_plain))
    for key, what in (("identity", "source"), ("form", "form of chunks and arguments")):
        if stored[key] != ours[key]:
            raise ValueError(
                f"checkpoint {path} is of another {what}: {stored[key]}, not {ours[key]}. "
                "Delete it to begin anew"
            )
    return Saved(chunks, parts)


def _partial(i: int, words: dict[str, Any], arrays: dict[str, Any]) -> tuple[int, Partial]:
    height = words.pop("height")
    words["slots"] = tuple(map(tuple, words["slots"]))
    words["skipped"] = tuple(map(tuple, words["skipped"]))
    held = arrays.get(f"held{i}")
    return height, Partial(
        R=_by_columns(arrays[f"R{i}"]), held=None if held is None else _by_columns(held), **words
    )


def _by_columns(array: np.ndarray) -> Any:
    if array.dtype != np.float64:
        raise ValueError(f"an array must hold float64; got {array.dtype}")
    R = factor.zeros(len(array))
    R[:] = array
    return R


def _plain(value: Any) -> Any:
    return value.item() if hasattr(value, "item") else str(value)
