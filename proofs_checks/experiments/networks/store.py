"""Records on disk, a JSON line each, written as soon as there is one."""

from __future__ import annotations

import dataclasses
import errno
import json
import os
from pathlib import Path
from typing import Any

from proofs_checks.experiments.networks.pieces import Piece, Record, Scale

NAME = "records.jsonl"


@dataclasses.dataclass(frozen=True)
class Failure:
    """A piece that raised.

    Attributes
    ----------
    piece : which.
    error : the class of the exception and its message.
    """

    piece: Piece
    error: str


@dataclasses.dataclass(frozen=True)
class Line:
    """A line of the file.

    Attributes
    ----------
    outcome : what the piece gave, or how it failed.
    scale : what of the `Scale` bears on a record, see `bearing`.
    seconds : that the piece took by the clock, on one process; what it found done before is not in them.
    """

    outcome: Record | Failure
    scale: dict[str, Any]
    seconds: float

    def text(self) -> str:
        """The line, without its end."""
        if isinstance(self.outcome, Record):
            found: dict[str, Any] = {"record": self.outcome.as_json()}
        else:
            found = {"failure": dataclasses.asdict(self.outcome)}
        whole = {**found, "scale": self.scale, "seconds": round(self.seconds, 3)}
        return json.dumps(whole, ensure_ascii=False, separators=(",", ":"), default=_plain)

    @classmethod
    def parse(cls, text: str) -> Line:
        """The line of `text`; ValueError, KeyError or TypeError for something else."""
        stored = json.loads(text)
        outcome: Record | Failure
        if "record" in stored:
            outcome = Record.from_json(stored["record"])
        else:
            outcome = Failure(Piece(**stored["failure"]["piece"]), str(stored["failure"]["error"]))
        return cls(outcome, dict(stored["scale"]), float(stored["seconds"]))


def bearing(scale: Scale) -> dict[str, Any]:
    """What of a scale bears on a record, as JSON gives it back: not what says only which pieces there are.

    >>> bearing(Scale(rows=1000, seeds=2, sizes=(5, 10)))
    {'rows': 1000, 'epochs': 1.0, 'sizes': [5, 10], 'whole': True}
    """
    fields = dataclasses.asdict(scale)
    kept = {n: value for n, value in fields.items() if not n.endswith("seeds") and n != "features"}
    return dict(json.loads(json.dumps(kept)))


_STARTS = (b'{"record":', b'{"failure":')


class Store:
    """The records of one scale in a file of lines, and those of others, which are kept and left alone.

    Attributes
    ----------
    path, scale : as given.
    records : key of a piece ↦ its record at this scale; the last one where there are several.
    failures : key ↦ the failure of a piece that has no record.
    seconds : key ↦ the seconds that the record took by the clock.
    others : how many records of other scales the file has.
    torn : whether its last line has no end, which a run that was killed, or a full disk, leaves behind.
    """

    def __init__(self, path: Path, scale: Scale) -> None:
        """Read the file, if there is one.

        Raises ValueError, with the number of the line, for one that is no record, and OSError.
        """
        self.path, self.scale = path, scale
        self.records: dict[str, Record] = {}
        self.failures: dict[str, Failure] = {}
        self.seconds: dict[str, float] = {}
        self.others = 0
        data = path.read_bytes() if path.exists() else b""
        *whole, rest = data.split(b"\n")
        if rest and not rest.startswith(tuple(start[: len(rest)] for start in _STARTS)):
            self._parsed(rest, len(whole) + 1)  # raises: it is not the beginning of a line
        self.torn = bool(rest)
        self._size, self._end = len(data), len(data) - len(rest)
        for number, line in enumerate(whole, 1):
            self._take(self._parsed(line, number))

    def add(self, outcome: Record | Failure, seconds: float) -> Record | Failure:
        """Append a line; what it stores, as it will be read.

        A torn line, of before or by a full disk, is cut off. Raises OSError if the line cannot be written, or
        if another run has written to the file.
        """
        text = Line(outcome, bearing(self.scale), seconds).text()
        line = text.encode() + b"\n"
        with self.path.open("ab", buffering=0) as file:
            if os.fstat(file.fileno()).st_size != self._size:
                raise OSError(errno.EBUSY, "another run writes to this file", str(self.path))
            file.truncate(self._end)
            self._size, self.torn = self._end, False
            try:
                _write(file, line)
            except OSError:
                file.truncate(self._end)
                raise
        self._end = self._size = self._end + len(line)
        stored = Line.parse(text)
        self._take(stored)
        return stored.outcome

    def _parsed(self, line: bytes, number: int) -> Line:
        try:
            return Line.parse(line.decode())
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            words = f"{type(error).__name__}: {error}"
            raise ValueError(
                f"{self.path}, line {number} is not one that `make networks` wrote ({words}): remove the "
                "line, and its piece is computed again, or choose another folder"
            ) from None

    def _take(self, line: Line) -> None:
        key = line.outcome.piece.key
        if line.scale != bearing(self.scale):
            self.others += isinstance(line.outcome, Record)
        elif isinstance(line.outcome, Failure):
            if key not in self.records:
                self.failures[key] = line.outcome
        else:
            self.failures.pop(key, None)
            self.records[key], self.seconds[key] = line.outcome, line.seconds


def _write(file: Any, line: bytes) -> None:
    """All bytes, and onto the disk: a write to a full disk may take some of them only."""
    while line:
        line = line[file.write(line) :]
    os.fsync(file.fileno())


def _plain(value: Any) -> Any:
    """NumPy's scalars are numbers too."""
    if hasattr(value, "item"):
        return value.item()
    raise TypeError(f"a record has numbers and strings; got {type(value).__name__}")
