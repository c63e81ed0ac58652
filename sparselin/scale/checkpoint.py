"""A pass on disk: parts of it with their counts, written to another file that then takes the name."""

from __future__ import annotations

import dataclasses
import json
import os
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from sparselin.scale import factor
from sparselin.scale.form import Form
from sparselin.scale.partial import Partial

_FORMAT = "sparselin pass 1"


class Saved(NamedTuple):
    """chunks : how many were read. parts : (height in the tree, Partial) of consecutive chunks."""

    chunks: int
    parts: list[tuple[int, Partial]]


def save(path: Path, saved: Saved, form: Form, identity: str) -> None:
    arrays: dict[str, Any] = {}
    words = []
    for i, (height, partial) in enumerate(saved.parts):
        arrays[f"R{i}"] = partial.R
        if partial.held is not None:
            arrays[f"held{i}"] = partial.held
        fields = {f.name: getattr(partial, f.name) for f in dataclasses.fields(partial)}
        words.append({"height": height, **{k: v for k, v in fields.items() if k not in ("R", "held")}})
    head = {"format": _FORMAT, "chunks": saved.chunks, "form": form, "identity": identity, "parts": words}
    other = path.with_name(path.name + ".part")
    with other.open("wb") as file:
        np.savez(file, head=np.array(json.dumps(head, default=_plain)), **arrays)
        file.flush()
        os.fsync(file.fileno())
    other.replace(path)


def load(path: Path, form: Form, identity: str) -> Saved:
    """What was saved. ValueError if it is no checkpoint, or that of another pass."""
    try:
        with np.load(path, allow_pickle=False) as file:
            head = json.loads(str(file["head"]))
            arrays = {key: file[key] for key in file.files if key != "head"}
        assert head.pop("format") == _FORMAT
        parts = [_partial(i, words, arrays) for i, words in enumerate(head["parts"])]
    except (OSError, ValueError, KeyError, AssertionError, AttributeError) as error:
        raise ValueError(f"checkpoint {path} is none of a pass: {error}. Delete it to begin anew") from None
    ours = json.loads(json.dumps({"form": form, "identity": identity}, default=_plain))
    for key, what in (("identity", "source"), ("form", "form of chunks and arguments")):
        if head[key] != ours[key]:
            raise ValueError(
                f"checkpoint {path} is of another {what}: {head[key]}, not {ours[key]}. "
                "Delete it to begin anew"
            )
    return Saved(head["chunks"], parts)


def _partial(i: int, words: dict[str, Any], arrays: dict[str, Any]) -> tuple[int, Partial]:
    height = words.pop("height")
    words["slots"] = tuple(map(tuple, words["slots"]))
    words["skipped"] = tuple(map(tuple, words["skipped"]))
    held = arrays.get(f"held{i}")
    return height, Partial(
        R=_by_columns(arrays[f"R{i}"]), held=None if held is None else _by_columns(held), **words
    )


def _by_columns(array: np.ndarray) -> Any:
    R = factor.zeros(len(array))
    R[:] = array
    return R


def _plain(value: Any) -> Any:
    return value.item() if hasattr(value, "item") else str(value)
