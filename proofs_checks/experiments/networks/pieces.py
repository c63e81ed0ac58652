"""The records of network experiments in a file, so that an interrupted run loses little and can be resumed.

A run consists of pieces, each of which is one selection of features or one training. The result of a piece is
stored at once, as a line of the file with one JSON object. A run that ends early, for any reason, loses only
the pieces that were being computed, and the next run computes them again.
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
"""The data sets with fewer rows and seeds, as the scale states."""


@dataclasses.dataclass(frozen=True, order=True)
class Piece:
    """One computation of a study, called a piece: one selection of features, or one training.

    Attributes
    ----------
    study : the name of the study, a key of `studies.STUDIES`.
    data : the data set, a key of `data.DATA`, or the name of a synthetic signal.
    method : a key of `methods.METHODS`, or a method that only this study has.
    k : the number of features to select; for a training on all features, their number d.
    seed : the seed of the split of the rows, of the method and of the training.
    setting : a further property in which pieces differ, for example a switch, a form of the mask or the
        number of features picked at a time; "" if there is none.
    """

    study: str
    data: str
    method: str
    k: int
    seed: int
    setting: str = ""

    @property
    def key(self) -> str:
        """The text that identifies this computation in the file of records.

        >>> Piece("paper", "mice", "random", 50, 1).key
        'paper|mice|random|50|1|'
        """
        return "|".join(map(str, dataclasses.astuple(self)))

    def __str__(self) -> str:
        more = f", {self.setting}" if self.setting else ""
        return f"{self.study}: {self.method} on {self.data}, k = {self.k}{more}, seed {self.seed}"


@dataclasses.dataclass(frozen=True)
class Record:
    """The result of one selection of features, or of one training.

    Attributes
    ----------
    piece : the `Piece`, which says what was computed.
    scores : learner or measure ("network", "SVC", "precision", …) ↦ score on the test rows, as a share.
    support : the features in the order in which they were picked; () if none were picked.
    seconds : "selecting" and "fitting" ↦ the processor time of one thread, on which other processes have
        little influence.
    rows : the number of training rows.
    note : a remark for the reader, for example "prefix of 50" or the setting that was chosen by validation.
    """

    piece: Piece
    scores: Mapping[str, float]
    support: tuple[int, ...]
    seconds: Mapping[str, float]
    rows: int
    note: str = ""

    def as_json(self) -> dict[str, Any]:
        """Return the record as numbers, strings, lists and dicts, from which `from_json` restores it."""
        return {
            **dataclasses.asdict(self),
            "scores": dict(self.scores),
            "support": list(self.support),
            "seconds": {name: round(value, 3) for name, value in self.seconds.items()},
        }

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Record:
        """Return the record that `as_json` stored.

        Raises KeyError or TypeError if the object is not of this form.
        """
        piece = Piece(**stored["piece"])
        return cls(**{**stored, "piece": piece, "support": tuple(map(int, stored["support"]))})


@dataclasses.dataclass(frozen=True)
class Scale:
    """The size of a run: how many rows, seeds, epochs and features it uses.

    Attributes
    ----------
    rows : the largest number of training rows of MNIST and Fashion-MNIST; None for all. Other data sets
        always have all rows.
    seeds : the number of seeds of the small data sets.
    image_seeds : the number of seeds of MNIST, Fashion-MNIST and synthetic data. Four of the studies have
        this number of seeds for every data set: "switches", "efficiency", "adaptivity" and "masks". The study
        "lassonet" has this number of seeds for every k and every setting that is not in the tables of the
        LassoNet paper.
    epochs : the share of the full number of epochs. A method whose settings prescribe E epochs trains for
        epochs·E epochs, rounded, but for at least one.
    sizes : the numbers k of features to select.
    features : the largest number of features in synthetic data.
    whole : whether the runs that are compared with the papers' own figures have all rows, and `seeds` seeds
        of every data set. These are the runs of Sequential Attention as released and those with all features.
    """

    rows: int | None = 10_000
    seeds: int = 5
    image_seeds: int = 3
    epochs: float = 1.0
    sizes: tuple[int, ...] = (5, 10, 25, 50)
    features: int = 2048
    whole: bool = True

    def seeds_of(self, data: str) -> range:
        """Return the seeds 1, 2, … of a data set; the released experiments begin with seed 1, too."""
        return range(1, 1 + (self.image_seeds if data in LARGE else self.seeds))

    def draws(self, names: Sequence[str]) -> Iterator[tuple[int, str]]:
        """Yield pairs (seed, data set): all data sets with seed 1, then with seed 2, and so on."""
        seeds = range(1, 1 + max(self.seeds, self.image_seeds))
        return ((seed, data) for seed in seeds for data in names if seed in self.seeds_of(data))

    def rows_of(self, data: str, whole: bool = False) -> int | None:
        """Return the largest number of training rows of a data set; None means all rows.

        With `whole` the result is None for runs that must have all rows.
        """
        return self.rows if data in LARGE and not (whole and self.whole) else None

    def record_fields(self) -> dict[str, Any]:
        """Return the fields of the scale on which the result of a computation depends, as JSON.

        The other fields only determine which results are computed.

        >>> Scale(rows=1000, seeds=2, sizes=(5, 10)).record_fields()
        {'rows': 1000, 'epochs': 1.0, 'sizes': [5, 10], 'whole': True}
        """
        return {"rows": self.rows, "epochs": self.epochs, "sizes": list(self.sizes), "whole": self.whole}

    def epochs_of(self, epochs: int) -> int:
        """Return the share of the given epochs that this scale prescribes; it is at least one epoch."""
        return max(1, round(self.epochs * epochs))


FULL = Scale()
QUICK = Scale(rows=1000, seeds=2, image_seeds=2, epochs=0.1, sizes=(5, 10), features=32, whole=False)


class Study(NamedTuple):
    """A study: the computations for some tables or figures of a paper, or of our own.

    Attributes
    ----------
    name, title : a name of one word, and a title of one line.
    source : the paper and the numbers of its tables or figures, as in the ledger.
    data : the names of the data sets on which the study can run.
    pieces : (names of data sets, scale) ↦ the pieces (single computations), the most informative ones first.
    run : (piece, scale) ↦ the record with the result.
    """

    name: str
    title: str
    source: str
    data: tuple[str, ...]
    pieces: Callable[[Sequence[str], Scale], Iterator[Piece]]
    run: Callable[[Piece, Scale], Record]


# --- records on disk -------------------------------------------------------------------------------------


class Failure(NamedTuple):
    """A computation (`Piece`) that failed, with the class and the message of its exception."""

    piece: Piece
    error: str

    def as_json(self) -> dict[str, Any]:
        """Return the failure as strings and numbers."""
        return {"piece": dataclasses.asdict(self.piece), "error": self.error}


Outcome: TypeAlias = Record | Failure
_STARTS = (b'{"record":', b'{"failure":')


class Store:
    """The file of records of a run, as far as they belong to one scale.

    The file may also have records of other scales. These are kept, but not used.

    Attributes
    ----------
    path, scale : as given.
    records : key of a computation (`Piece.key`) ↦ its record at this scale; if there are several, the last
        one.
    failures : key of a computation without a record ↦ its failure.
    seconds : key of a computation ↦ the wall-clock seconds that it took.
    others : the number of records of other scales.
    torn : whether the last line is incomplete, because a run was killed or the disk was full.
    """

    def __init__(self, path: Path, scale: Scale) -> None:
        """Read the records in the file, if the file exists.

        Raises ValueError, with the line's number, if a line is not a record, and OSError if the file cannot
        be read.
        """
        self.path, self.scale, self.others = path, scale, 0
        self.records: dict[str, Record] = {}
        self.failures: dict[str, Failure] = {}
        self.seconds: dict[str, float] = {}
        data = path.read_bytes() if path.exists() else b""
        *lines, rest = data.split(b"\n")
        if rest and not rest.startswith(tuple(start[: len(rest)] for start in _STARTS)):
            lines.append(rest)  # not the beginning of a record, so `_keep` raises
        self.torn = bool(rest)
        self._size, self._end = len(data), len(data) - len(rest)
        for number, line in enumerate(lines, 1):
            try:
                self._keep(json.loads(line))
            except (ValueError, KeyError, TypeError) as wrong:
                raise ValueError(
                    f"{path}, line {number} was not written by `make networks` "
                    f"({type(wrong).__name__}: {wrong}). Remove the line, so that its piece is computed "
                    "again, or choose another folder"
                ) from None

    def add(self, outcome: Outcome, seconds: float) -> None:
        """Append the outcome of a computation as a line of the file.

        If the last line is incomplete, the new line replaces it.

        Raises OSError if the line cannot be written, or if another run has written to the file.
        """
        kind = "record" if isinstance(outcome, Record) else "failure"
        content = {kind: outcome.as_json(), "scale": self.scale.record_fields(), "seconds": round(seconds, 3)}
        text = json.dumps(content, ensure_ascii=False, separators=(",", ":"), default=lambda x: x.item())
        line = text.encode() + b"\n"
        with self.path.open("ab", buffering=0) as file:
            if file.tell() != self._size:
                raise OSError(errno.EBUSY, "another run writes to this file", str(self.path))
            file.truncate(self._end)
            try:
                _write(file, line)
            except BaseException:
                file.truncate(self._end)
                raise
            finally:
                self._size = self._end = file.seek(0, os.SEEK_END)
        self._keep(json.loads(line))

    def _keep(self, content: Mapping[str, Any]) -> None:
        """Keep the outcome in a line of the file, if it belongs to this scale."""
        seconds, mine = float(content["seconds"]), content["scale"] == self.scale.record_fields()
        if "record" in content:
            record = Record.from_json(content["record"])
            self.others += not mine
            if mine:
                self.failures.pop(record.piece.key, None)
                self.records[record.piece.key] = record
                self.seconds[record.piece.key] = seconds
        else:
            failure = Failure(Piece(**content["failure"]["piece"]), str(content["failure"]["error"]))
            if mine and failure.piece.key not in self.records:
                self.failures[failure.piece.key] = failure


def _write(file: Any, line: bytes) -> None:
    """Write all bytes to the disk; a single write to a full disk may write only some of them."""
    while line:
        line = line[file.write(line) :]
    os.fsync(file.fileno())


# --- a run -----------------------------------------------------------------------------------------------


def plan_pieces(studies: Iterable[Study], data: Iterable[str], scale: Scale) -> list[Piece]:
    """Return the computations of some studies on some data sets, in the order of each study."""
    known = set(data)
    named = ((study, [name for name in study.data if name in known]) for study in studies)
    return list(dict.fromkeys(p for study, names in named if names for p in study.pieces(names, scale)))


def group_by_run(pieces: Iterable[Piece]) -> list[list[Piece]]:
    """Group the computations that differ only in the number k of features, because one run may serve all of
    them.

    >>> pieces = [Piece("paper", "mice", "OMP", k, seed) for k, seed in [(5, 1), (5, 2), (9, 1)]]
    >>> [[piece.k for piece in group] for group in group_by_run(pieces)]
    [[5, 9], [5]]
    """
    groups: dict[Piece, list[Piece]] = {}
    for piece in pieces:
        groups.setdefault(dataclasses.replace(piece, k=0), []).append(piece)
    return list(groups.values())


def pending(pieces: Iterable[Piece], store: Store) -> list[Piece]:
    """Return the computations that have no record, including those that failed."""
    return [piece for piece in pieces if piece.key not in store.records]


def run(
    studies: Mapping[str, Study], pieces: Iterable[Piece], store: Store, jobs: int, hours: float | None = None
) -> Iterator[Outcome]:
    """Run some computations of studies in several processes, store each outcome, and yield it.

    hours : after this time no new computation begins, and those that are running are finished.

    Raises OSError if the store cannot be written. Closing the iterator stops the running computations.
    """
    end = math.inf if hours is None else time.monotonic() + 3600 * hours

    def in_time(group: list[Piece]) -> Iterator[Job]:
        for piece in itertools.takewhile(lambda _: time.monotonic() < end, group):
            yield compute, (studies[piece.study].run, piece, store.scale)

    groups = map(in_time, group_by_run(pieces))
    with contextlib.closing(run_groups(groups, jobs)) as stream:  # type: ignore[type-var]
        for found in stream:
            if isinstance(found, Lost):
                words = "its process was killed; if memory was short, use --jobs 1"
                found = Failure(found.arguments[1], words), 0.0
            store.add(*found)
            yield found[0]


def compute(run: Callable[[Piece, Scale], Record], piece: Piece, scale: Scale) -> tuple[Outcome, float]:
    """Run one computation of a study with one thread.

    Returns its `Record` or `Failure`, and the wall-clock seconds.
    """
    if "torch" in sys.modules:  # it is imported if `run` needs it
        sys.modules["torch"].set_num_threads(1)
        importlib.import_module("torch._dynamo")  # otherwise the first optimizer takes a second more
    began = time.perf_counter()
    outcome: Outcome
    try:
        with _interrupt_pieces():
            outcome = run(piece, scale)
        for name, score in outcome.scores.items():
            if not math.isfinite(score):
                raise ValueError(f"the score {name!r} is {score}: the training did not converge")
    except Exception as error:
        outcome = Failure(piece, f"{type(error).__name__}: {error}")
    return outcome, time.perf_counter() - began


class _Interrupted(BaseException):
    """The exception that Ctrl-C raises during a computation, in place of KeyboardInterrupt."""


@contextlib.contextmanager
def _interrupt_pieces() -> Iterator[None]:
    """Let Ctrl-C end a whole computation, and not only the training of a path of networks within it.

    `lassonet_path` and `SequentialAttention.fit` catch KeyboardInterrupt and return an unfinished result,
    which must not become a record. They do not catch the exception `_Interrupted`, which is raised instead.
    """
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:  # a worker, which ignores Ctrl-C
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
    """Return a line for each kind of error: how many computations failed with it, and the first of them."""
    by_error: dict[str, list[Piece]] = {}
    for piece, error in failures:
        by_error.setdefault(error, []).append(piece)
    return [
        f"{f'{len(pieces)} pieces, the first ' * (len(pieces) > 1)}{pieces[0]}: {error}"
        for error, pieces in by_error.items()
    ]
