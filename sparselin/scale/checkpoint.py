"""Checkpoints: the state of a pass over the data, saved on disk.

A checkpoint is written to a temporary file, which then replaces the old checkpoint. `load` refuses a file
whose sizes, counts or numbers no pass can leave.

A checkpoint belongs to data, not to a path: another file may have the same layout, and a file may be
corrected in place. Two records tell data apart.

- `Digests` are digests (SHA-256) of the numbers that the pass has read: the columns that it uses, chunk by
  chunk. A resumed pass that reads these chunks again and finds another digest has other data, except with a
  probability of 2⁻²⁵⁶.
- A stamp names a state of a file: its inode, its size, and the times of its last change of content and of its
  last change at all (mtime and ctime, in nanoseconds). The system sets the ctime at every write and at every
  copy, and no user can set it. So a file with an unchanged stamp need not be read again. A copy has another
  stamp, and is read again.
"""

import hashlib
import json
import os
import uuid
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from sparselin.problem.errors import EPS
from sparselin.results import FloatArray
from sparselin.scale import factor
from sparselin.scale.factor import BLOCK
from sparselin.scale.form import SEPARATE, Chunk, Codes, Form, TooManyLevels, codes_of
from sparselin.scale.partial import Partial, join_slots
from sparselin.validation import read_npz

_FORMAT = "sparselin pass 2"
_OLD = "sparselin pass 1"  # without a trace of the data, so it may be of other data


class Digests(NamedTuple):
    """The digests of what a pass has read: of the first chunk that was used, and of all of them in order."""

    first: str = ""
    chain: str = ""

    def after(self, digest: str) -> "Digests":
        """Return the digests after a further chunk with this digest."""
        return Digests(self.first or digest, hashlib.sha256((self.chain + digest).encode()).hexdigest())


def digest_of(chunk: Chunk, form: Form) -> str:
    """Return the digest of the numbers and levels that the pass uses of a chunk, in any memory layout.

    The chunk must have the form `form`, which determines the columns and their dtypes.
    """
    found = hashlib.sha256(f"{chunk.rows} rows".encode())
    numbers = [j for j in (*form.numbers, form.y, form.weight) if j is not None and j != SEPARATE]
    if isinstance(chunk.columns, np.ndarray):
        used = slice(None) if len(set(numbers)) == chunk.width else numbers
        for start in range(0, chunk.rows, BLOCK):
            found.update(np.ascontiguousarray(chunk.columns[start : start + BLOCK, used]).data)
    else:
        for j in numbers:
            found.update(np.ascontiguousarray(chunk.columns[j]).data)
    for j in form.categories:
        codes: Codes = codes_of(chunk.column(j))
        found.update(np.ascontiguousarray(codes.codes, np.int64).data)
        for level in codes.levels:
            if not isinstance(level, (str, int, float)):
                raise TypeError(
                    f"checkpoint needs levels that are strings or numbers; {form.name(j)} has {level!r}. "
                    "Convert the column to strings, or leave out checkpoint"
                )
        found.update(repr(codes.levels).encode(errors="surrogatepass"))
    for vector in (chunk.y, chunk.weight):
        if vector is not None:
            found.update(np.ascontiguousarray(vector).data)
    return found.hexdigest()


def stamp_of_file(path: Any) -> list[Any]:
    """Return the stamp of a file."""
    state = os.stat(Path(path))
    return [state.st_ino, state.st_size, state.st_mtime_ns, state.st_ctime_ns]


def stamp_of_map(array: Any, vectors: tuple[Any, ...]) -> list[Any] | None:
    """Return the stamp of an array that is mapped from a file, with y and weights in memory; else None.

    A map that can be written (modes "r+", "w+" and "c") has no stamp: its memory may differ from the file.
    """
    if not isinstance(array, np.memmap) or array.mode != "r" or array.filename is None:
        return None
    whole = whole_map(array)
    place = [int(whole.offset) + array.ctypes.data - whole.ctypes.data, *array.strides]
    found = hashlib.sha256()
    for vector in vectors:
        found.update(np.ascontiguousarray(vector).data)
    return [*stamp_of_file(array.filename), place, found.hexdigest()]


def whole_map(array: Any) -> Any:
    """Return the map of a whole file of which `array` is a part."""
    while isinstance(array.base, np.memmap):
        array = array.base
    return array


class Saved(NamedTuple):
    """A checkpoint: the number of chunks read, and the parts of the factorisation.

    parts : pairs of the height in the tree of merges, and the `Partial` (the state) of consecutive chunks.
    trace : the digests of the chunks.
    stamp : the stamp of the file that was read, or None.
    """

    chunks: int
    parts: list[tuple[int, Partial]]
    trace: Digests = Digests()
    stamp: list[Any] | None = None

    @property
    def rows(self) -> int:
        """The number of rows that were read."""
        return sum(partial.rows_read for _, partial in self.parts)

    @property
    def skipped(self) -> set[int]:
        """The numbers of the chunks that were left out."""
        return {number for _, partial in self.parts for number, _ in partial.skipped}


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
    head |= {"trace": saved.trace._asdict(), "stamp": saved.stamp}
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


def load(path: Path, form: Form, identity: str, tree: bool = False) -> Saved:
    """Return the contents of a checkpoint. Raises ValueError if it is invalid, or belongs to another pass.

    tree : whether the parts are those of a tree of merges, in which height h has 2^h chunks.
    """
    try:
        arrays = read_npz(path)
        head = json.loads(str(arrays.pop("head", "{}")))
        if isinstance(head, dict) and head.get("format") == _OLD:
            raise ValueError("an earlier version wrote it, which did not store of which data it is")
        if not isinstance(head, dict) or head.get("format") != _FORMAT:
            raise ValueError(f"it has no header with the format {_FORMAT!r}")
        stored = {key: head[key] for key in ("identity", "form")}
        parts = [_partial(i, fields, arrays) for i, fields in enumerate(head["parts"])]
        saved = Saved(_count(head["chunks"], "chunks", 1), parts, Digests(**head["trace"]), head["stamp"])
        ours = json.loads(json.dumps({"form": form, "identity": identity}, default=_to_json))
        if stored == ours:
            _check(saved, form, tree)
    except (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError) as error:
        why = f"it has no {error}" if isinstance(error, KeyError) else str(error)
        raise ValueError(
            f"checkpoint {path} is not the checkpoint of a pass: {why}. Choose another file, or delete it to "
            "start again"
        ) from None
    for key, what in (("identity", "source"), ("form", "form of chunks and arguments")):
        if stored[key] != ours[key]:
            raise ValueError(
                f"checkpoint {path} belongs to another {what}: {stored[key]}, not {ours[key]}. "
                "Choose another file, or delete it to start again"
            )
    return saved


def other_data(path: Path | None, why: str) -> ValueError:
    """Return the error that the source does not have the data of the checkpoint."""
    return ValueError(
        f"checkpoint {path} belongs to other data: {why}. Choose another file for the checkpoint of these "
        "data, or delete it to start again"
    )


def _partial(i: int, fields: dict[str, Any], arrays: dict[str, Any]) -> tuple[int, Partial]:
    """Return part i of a checkpoint: its height in the tree of merges, and its state."""
    height = _count(fields.pop("height"), "height")
    fields["slots"] = tuple(map(tuple, fields["slots"]))
    fields["skipped"] = tuple((_count(number, "skipped"), str(why)) for number, why in fields["skipped"])
    held = arrays.get(f"held{i}")
    return height, Partial(R=_factor(arrays[f"R{i}"]), held=None if held is None else _factor(held), **fields)


def _factor(array: np.ndarray) -> FloatArray:
    """Return a copy of a factor in the memory layout that LAPACK needs; ValueError if it is no factor."""
    if array.dtype != np.float64 or array.shape != (len(array), len(array)):
        raise ValueError(f"a factor must be a square matrix of float64; got {array.dtype}, {array.shape}")
    if not np.isfinite(array).all() or np.tril(array, -1).any() or (np.diag(array) < 0).any():
        raise ValueError("a factor must be finite and upper triangular, with a nonnegative diagonal")
    return factor.align(array)


def _count(value: Any, name: str, least: int = 0) -> int:
    if type(value) is not int or value < least:
        raise ValueError(f"its {name} must be an integer of at least {least}; got {value!r}")
    return value


def _check(saved: Saved, form: Form, tree: bool) -> None:
    """Raise ValueError if the parts of a checkpoint do not fit its number of chunks, or the form."""
    heights = [height for height, _ in saved.parts]
    done = 0
    bits = range(saved.chunks.bit_length() - 1, -1, -1)
    expected = [height for height in bits if saved.chunks >> height & 1] if tree else [0]
    if heights != expected:
        raise ValueError(
            f"its parts have the heights {heights[:9]}, which {saved.chunks} chunks do not leave"
        )
    for height, partial in saved.parts:
        _check_counts(partial, form, range(done, done + (1 << height if tree else saved.chunks)))
        done += partial.chunks
        size = form.intercept + len(form.numbers) + len(partial.slots) + 1
        sizes = [len(partial.R), size if partial.held is None else len(partial.held)]
        if sizes != [size, size] or (partial.held is None) != (not form.held_out):
            raise ValueError(
                f"its factors, of the training rows and with held_out of the rows held out, must have {size} "
                f"columns; got {sizes}"
            )
    trace_is_empty = saved.trace == Digests()
    if trace_is_empty != (len(saved.skipped) == saved.chunks) or not all(map(_is_digest, saved.trace)):
        raise ValueError("its trace must have the digests of the chunks that were used")


def _check_counts(partial: Partial, form: Form, numbers: range) -> None:
    """Raise ValueError if the counts of a part, which has the chunks `numbers`, contradict each other."""
    for name in ("rows", "held_rows", "weightless", "chunks", "steps", "merges"):
        _count(getattr(partial, name), name)
    used = len(numbers) - len(partial.skipped)
    places = [number for number, _ in partial.skipped]
    if partial.chunks != len(numbers) or places != sorted(set(places) & set(numbers)):
        raise ValueError(
            f"chunks {numbers.start} to {numbers.stop - 1} are {len(numbers)}; got {partial.chunks}, "
            f"of which {places[:9]} were skipped"
        )
    rows = partial.rows + partial.held_rows
    if (partial.held_rows and not form.held_out) or rows > partial.steps * BLOCK * used:
        raise ValueError(f"{partial.steps} blocks in {used} chunks do not have {rows} rows")
    if partial.weightless and form.weight is None:
        raise ValueError(f"without weights {partial.weightless} rows do not have weight 0")
    if not _is_sum_of_weights(partial.weight, partial, form):
        raise ValueError(f"the weights of {partial.rows} rows do not have the sum {partial.weight!r}")
    if not {len(slot) for slot in partial.slots} <= {2} or not {j for j, _ in partial.slots} <= {
        *form.categories
    }:
        raise ValueError("its levels must belong to the categories")
    try:
        repeated = len(join_slots((), partial.slots, form)) < len(partial.slots)
    except TooManyLevels as error:
        raise ValueError(str(error)) from None
    if repeated:
        raise ValueError("its levels must differ")


def _is_sum_of_weights(weight: Any, partial: Partial, form: Form) -> bool:
    """Return whether `weight` can be the sum of the weights of the training rows.

    It is the number of rows if there are no weights. With an intercept the first column of the factored
    matrix has the length √weight, which is R_00 up to the error of a column. The sum itself has a relative
    error of at most rows·2⁻⁵³.
    """
    if type(weight) not in (int, float) or not 0 <= weight < np.inf:
        return False
    if form.weight is None and weight != partial.rows:
        return False
    error = factor.worst_error(partial.steps, partial.merges, len(partial.R)) + partial.rows * EPS
    root = weight**0.5
    return not form.intercept or abs(float(partial.R[0, 0]) - root) <= error * root


def _is_digest(text: Any) -> bool:
    return isinstance(text, str) and (not text or (len(text) == 64 and set(text) <= set("0123456789abcdef")))


def _to_json(value: Any) -> Any:
    return value.item() if hasattr(value, "item") else str(value)
