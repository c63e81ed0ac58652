"""A study of networks in pieces: each is computed by itself, stored at once, and not computed again.

The records of a run are a file of lines, a JSON object each. So a run that ends early, in whatever way, has
lost the pieces that were under way, and the next one computes these.
"""

from __future__ import annotations

import contextlib
import dataclasses
import errno
import importlib
import itertools
import json
import math
import os
import signal
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple, NoReturn, TypeAlias

from sparselin.parallel.processes import Job, Lost, run_groups

NAME = "records.jsonl"
LARGE = ("mnist", "fashion")
"""The data sets of which a scale takes fewer rows and seeds."""


@dataclasses.dataclass(frozen=True, order=True)
class Piece:
    """A selection, or a training, of a study.

    Attributes
    ----------
    study : its name, a key of `studies.STUDIES`.
    data : the data set, a key of `data.DATA`; of synthetic signals the name of the signal.
    method : a key of `methods.METHODS`, or what the study adds to them.
    k : features to select; d for all of them.
    seed : of the split, of the method and of the training.
    setting : what else differs between pieces: a switch, a form of the mask, features at a time; "" for none.
    """

    study: str
    data: str
    method: str
    k: int
    seed: int
    setting: str = ""

    @property
    def key(self) -> str:
        """A line that no other piece has.

        >>> Piece("paper", "mice", "random", 50, 1).key
        'paper|mice|random|50|1|'
        """
        return "|".join(map(str, dataclasses.astuple(self)))

    def __str__(self) -> str:
        more = f", {self.setting}" if self.setting else ""
        return f"{self.study}: {self.method} on {self.data}, k = {self.k}{more}, seed {self.seed}"


@dataclasses.dataclass(frozen=True)
class Record:
    """The result of a piece.

    Attributes
    ----------
    piece : the piece.
    scores : by learner or measure, on the test rows: "network", "SVC", "precision", …; shares, not percents.
    support : the features in the order in which they were picked; () where none were.
    seconds : "selecting" and "fitting", of the processor, by one thread: other work hardly counts.
    rows : training rows.
    note : what a reader has to know: "prefix of 50", the setting that validation chose, …
    """

    piece: Piece
    scores: Mapping[str, float]
    support: tuple[int, ...]
    seconds: Mapping[str, float]
    rows: int
    note: str = ""

    def as_json(self) -> dict[str, Any]:
        """Return numbers, strings, lists and dicts, which `from_json` reads."""
        return {
            **dataclasses.asdict(self),
            "scores": dict(self.scores),
            "support": list(self.support),
            "seconds": {name: round(value, 3) for name, value in self.seconds.items()},
        }

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Record:
        """Return the record of `as_json`; raise KeyError or TypeError for anything else."""
        piece = Piece(**stored["piece"])
        return cls(**{**stored, "piece": piece, "support": tuple(map(int, stored["support"]))})


@dataclasses.dataclass(frozen=True)
class Scale:
    """The extent of a run.

    Attributes
    ----------
    rows : the most training rows of MNIST and Fashion-MNIST; None for all. Of other sets all are taken.
    seeds : of the small sets. MNIST, Fashion-MNIST and synthetic signals take `image_seeds`, and so do all
        sets in "switches", "efficiency", "adaptivity", "masks", and "lassonet" its other k and settings.
    epochs : the share of the epochs of each method's settings, at least one epoch.
    sizes : the numbers of features k.
    features : the most features of synthetic signals.
    whole : whether what the papers' own figures hang on, Sequential Attention as released and the anchors,
        takes all rows and `seeds` seeds of every data set.
    """

    rows: int | None = 10_000
    seeds: int = 5
    image_seeds: int = 3
    epochs: float = 1.0
    sizes: tuple[int, ...] = (5, 10, 25, 50)
    features: int = 2048
    whole: bool = True

    def seeds_of(self, data: str) -> range:
        """Return the seeds for a data set: 1, 2, … as in the released experiments."""
        return range(1, 1 + (self.image_seeds if data in LARGE else self.seeds))

    def draws(self, names: Sequence[str]) -> Iterator[tuple[int, str]]:
        """Yield seeds and data sets, the first seed of each set before the second."""
        seeds = range(1, 1 + max(self.seeds, self.image_seeds))
        return ((seed, data) for seed in seeds for data in names if seed in self.seeds_of(data))

    def rows_of(self, data: str, whole: bool = False) -> int | None:
        """Return the most training rows of a data set; `whole`: all, unless the scale forbids it."""
        return self.rows if data in LARGE and not (whole and self.whole) else None

    def bearing(self) -> dict[str, Any]:
        """Return the fields that change a record, and not only which pieces there are, as JSON has them.

        >>> Scale(rows=1000, seeds=2, sizes=(5, 10)).bearing()
        {'rows': 1000, 'epochs': 1.0, 'sizes': [5, 10], 'whole': True}
        """
        return {"rows": self.rows, "epochs": self.epochs, "sizes": list(self.sizes), "whole": self.whole}

    def epochs_of(self, epochs: int) -> int:
        """Return the number of epochs in place of `epochs`."""
        return max(1, round(self.epochs * epochs))


FULL = Scale()
QUICK = Scale(rows=1000, seeds=2, image_seeds=2, epochs=0.1, sizes=(5, 10), features=32, whole=False)


class Study(NamedTuple):
    """A table or figure of a paper, or of ours, in pieces.

    Attributes
    ----------
    name, title : a word; a line.
    source : paper and number, as in the ledger.
    data : the data sets that it knows.
    pieces : (names of data, scale) ↦ its pieces, those that tell most first.
    run : (piece, scale) ↦ its record.
    """

    name: str
    title: str
    source: str
    data: tuple[str, ...]
    pieces: Callable[[Sequence[str], Scale], Iterator[Piece]]
    run: Callable[[Piece, Scale], Record]


# --- records on disk -------------------------------------------------------------------------------------


class Failure(NamedTuple):
    """A piece that raised, with the class of the exception and its message."""

    piece: Piece
    error: str

    def as_json(self) -> dict[str, Any]:
        """Return strings and numbers only."""
        return {"piece": dataclasses.asdict(self.piece), "error": self.error}


Outcome: TypeAlias = Record | Failure
_STARTS = (b'{"record":', b'{"failure":')


class Store:
    """The records of one scale in a file; the file may have those of other scales, which stay there.

    Attributes
    ----------
    path, scale : as given.
    records : key of a piece ↦ its record at this scale; the last one where there are several.
    failures : key ↦ the failure of a piece that has no record.
    seconds : key ↦ the seconds that the record took by the clock.
    others : the number of records of other scales.
    torn : whether the last line has no end, which a run that was killed, or a full disk, leaves behind.
    """

    def __init__(self, path: Path, scale: Scale) -> None:
        """Read the file, if there is one.

        Raises ValueError, with the number of the line, for one that is no record, and OSError.
        """
        self.path, self.scale, self.others = path, scale, 0
        self.records: dict[str, Record] = {}
        self.failures: dict[str, Failure] = {}
        self.seconds: dict[str, float] = {}
        data = path.read_bytes() if path.exists() else b""
        *lines, rest = data.split(b"\n")
        if rest and not rest.startswith(tuple(start[: len(rest)] for start in _STARTS)):
            lines.append(rest)  # it is not the beginning of a line: that raises
        self.torn = bool(rest)
        self._size, self._end = len(data), len(data) - len(rest)
        for number, line in enumerate(lines, 1):
            self._take(line, number)

    def add(self, outcome: Outcome, seconds: float) -> None:
        """Append a line, which replaces a torn one.

        Raises OSError if it cannot be written, or if another run has written to the file.
        """
        kind = "record" if isinstance(outcome, Record) else "failure"
        content = {kind: outcome.as_json(), "scale": self.scale.bearing(), "seconds": round(seconds, 3)}
        text = json.dumps(content, ensure_ascii=False, separators=(",", ":"), default=lambda x: x.item())
        line = text.encode() + b"\n"
        with self.path.open("ab", buffering=0) as file:
            if file.tell() != self._size:
                raise OSError(errno.EBUSY, "another run writes to this file", str(self.path))
            file.truncate(self._end)
            self._size = self._end
            try:
                _write(file, line)
            except OSError:
                file.truncate(self._end)
                raise
        self._size = self._end = self._end + len(line)
        self._take(line, 0)

    def _take(self, line: bytes, number: int) -> None:
        try:
            content = json.loads(line.decode())
            scale, seconds = dict(content["scale"]), float(content["seconds"])
            record = Record.from_json(content["record"]) if "record" in content else None
            piece = record.piece if record else Piece(**content["failure"]["piece"])
            error = "" if record else str(content["failure"]["error"])
        except (ValueError, KeyError, TypeError, AttributeError) as wrong:
            raise ValueError(
                f"{self.path}, line {number} is not one that `make networks` wrote ({type(wrong).__name__}: "
                f"{wrong}): remove the line, and its piece is computed again, or choose another folder"
            ) from None
        if scale != self.scale.bearing():
            self.others += record is not None
        elif record is not None:
            self.failures.pop(piece.key, None)
            self.records[piece.key], self.seconds[piece.key] = record, seconds
        elif piece.key not in self.records:
            self.failures[piece.key] = Failure(piece, error)


def _write(file: Any, line: bytes) -> None:
    """Write all bytes onto the disk: a write to a full disk may take some of them only."""
    while line:
        line = line[file.write(line) :]
    os.fsync(file.fileno())


# --- a run -----------------------------------------------------------------------------------------------


def planned(studies: Iterable[Study], data: Iterable[str], scale: Scale) -> list[Piece]:
    """Return all pieces of the studies on these data sets, in the order of each study."""
    known = set(data)
    named = ((study, [name for name in study.data if name in known]) for study in studies)
    return list(dict.fromkeys(p for study, names in named if names for p in study.pieces(names, scale)))


def grouped(pieces: Iterable[Piece]) -> list[list[Piece]]:
    """Put pieces that differ in k only together: one selection may serve all of them.

    >>> pieces = [Piece("paper", "mice", "OMP", k, seed) for k, seed in [(5, 1), (5, 2), (9, 1)]]
    >>> [[piece.k for piece in group] for group in grouped(pieces)]
    [[5, 9], [5]]
    """
    groups: dict[Piece, list[Piece]] = {}
    for piece in pieces:
        groups.setdefault(dataclasses.replace(piece, k=0), []).append(piece)
    return list(groups.values())


def pending(pieces: Iterable[Piece], store: Store) -> list[Piece]:
    """Return the pieces without a record, those that failed among them."""
    return [piece for piece in pieces if piece.key not in store.records]


def run(
    studies: Mapping[str, Study], pieces: Iterable[Piece], store: Store, jobs: int, hours: float | None = None
) -> Iterator[Outcome]:
    """Compute pieces, put each outcome into the store, and yield it.

    hours : no piece begins after them; those under way are finished.

    Raises OSError if the store cannot be written. Closing the iterator leaves what is under way undone.
    """
    end = math.inf if hours is None else time.monotonic() + 3600 * hours

    def in_time(group: list[Piece]) -> Iterator[Job]:
        for piece in itertools.takewhile(lambda _: time.monotonic() < end, group):
            yield compute, (studies[piece.study].run, piece, store.scale)

    with contextlib.closing(run_groups(map(in_time, grouped(pieces)), jobs)) as stream:  # type: ignore[type-var]
        for found in stream:
            if isinstance(found, Lost):
                words = "its process was killed; if memory was short, --jobs 1 needs less"
                found = Failure(found.arguments[1], words), 0.0
            store.add(*found)
            yield found[0]


def compute(run: Callable[[Piece, Scale], Record], piece: Piece, scale: Scale) -> tuple[Outcome, float]:
    """Return the record of a piece, or its failure, by one thread, and the seconds by the clock."""
    if "torch" in sys.modules:  # that is where `run` needs it
        sys.modules["torch"].set_num_threads(1)
        importlib.import_module("torch._dynamo")  # else a second of the first optimiser's
    began = time.perf_counter()
    outcome: Outcome
    try:
        with _interrupts_unheard():
            outcome = run(piece, scale)
        for name, score in outcome.scores.items():
            if not math.isfinite(score):
                raise ValueError(f"the score {name!r} is {score}: the training did not converge")
    except Exception as error:
        outcome = Failure(piece, f"{type(error).__name__}: {error}")
    return outcome, time.perf_counter() - began


class _Interrupted(BaseException):
    """Ctrl-C within a piece."""


@contextlib.contextmanager
def _interrupts_unheard() -> Iterator[None]:
    """Let Ctrl-C end a piece and not only a path within it.

    `lassonet_path` and `SequentialAttention.fit` end at KeyboardInterrupt and return what they have: a record
    of that would be one of another method. They do not catch this exception.
    """
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:  # a worker, which ignores it
        yield
        return

    def stop(number: int, frame: FrameType | None) -> NoReturn:
        raise _Interrupted

    signal.signal(signal.SIGINT, stop)
    try:
        yield
    except _Interrupted:
        raise KeyboardInterrupt from None
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def summarize_failures(failures: Iterable[Failure]) -> list[str]:
    """Return a line for each error: the number of pieces that it ended, and the first of them."""
    by_error: dict[str, list[Piece]] = {}
    for piece, error in failures:
        by_error.setdefault(error, []).append(piece)
    return [
        f"{f'{len(pieces)} pieces, the first ' * (len(pieces) > 1)}{pieces[0]}: {error}"
        for error, pieces in by_error.items()
    ]
