"""How long pieces take: from equal ones that are done, else from a table that was measured.

`python -m proofs_checks.experiments.networks.seconds records.jsonl "machine, in words"` writes the table.
"""

from __future__ import annotations

import datetime
import json
import statistics
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from proofs_checks.experiments.networks.pieces import Piece, Record, Scale
from proofs_checks.experiments.networks.store import Line, bearing

TABLE = Path(__file__).with_name("seconds.json")
_UNKNOWN = 10.0  # of a piece like no other, with all epochs
_Like = tuple[Any, ...]


class Estimates:
    """The seconds of pieces, by what is most like them and has been measured.

    The mean over pieces that differ in the seed only; else over those of the same study, data and method; of
    the same study and data; of the same study; of all. At each of these steps what this machine did comes
    before the table.
    """

    def __init__(
        self,
        done: Iterable[tuple[Piece, float]] = (),
        table: Mapping[str, float] | None = None,
        epochs: float = 1.0,
    ):
        """done : pieces and their seconds. table : "study|data|method" ↦ seconds of a piece in the mean.

        epochs : the share of them, of the scale.
        """
        self._unknown = _UNKNOWN * epochs
        self._done: defaultdict[_Like, list[float]] = defaultdict(list)
        self._table: defaultdict[_Like, list[float]] = defaultdict(list)
        for piece, seconds in done:
            self.add(piece, seconds)
        for words, seconds in (table or {}).items():
            study, data, method = words.split("|")
            for like in list(_likes(Piece(study, data, method, 0, 0)))[1:]:
                self._table[like].append(seconds)

    def add(self, piece: Piece, seconds: float) -> None:
        """A piece that is done."""
        for like in _likes(piece):
            self._done[like].append(seconds)

    def of(self, piece: Piece) -> float:
        """The seconds that the piece will take on one process."""
        for like in _likes(piece):
            for known in (self._done, self._table):
                if like in known:
                    return statistics.fmean(known[like])
        return self._unknown

    def measured(self, piece: Piece) -> bool:
        """Whether pieces of the same study, data and method are known, here or in the table."""
        return any(like in known for like in [*_likes(piece)][:2] for known in (self._done, self._table))

    def hours(self, groups: Iterable[Iterable[Piece]], jobs: int) -> float:
        """Of groups of pieces, each on one process: their share, but no less than the longest group."""
        seconds = [sum(map(self.of, group)) for group in groups]
        return max(sum(seconds) / jobs, max(seconds, default=0.0)) / 3600


def _likes(piece: Piece) -> Iterator[_Like]:
    """What pieces like this one have in common, from the most on."""
    yield (piece.study, piece.data, piece.method, piece.k, piece.setting)
    yield (piece.study, piece.data, piece.method)
    yield (piece.study, piece.data)
    yield (piece.study,)
    yield ()


def stored(scale: Scale, path: Path = TABLE) -> dict[str, float]:
    """The table for a scale; where it was not measured, that of another one by the share of the epochs."""
    tables = json.loads(path.read_text(encoding="utf-8")) if path.exists() else []
    for table in tables:
        if table["scale"] == bearing(scale):
            return dict(table["seconds"])
    if not tables:
        return {}
    ratio = scale.epochs / tables[0]["scale"]["epochs"]
    return {words: ratio * seconds for words, seconds in tables[0]["seconds"].items()}


def measured(records: Path, machine: str) -> list[dict[str, Any]]:
    """The tables, one a scale, of the records in a file, FULL's or what is nearest to it first."""
    found: dict[str, defaultdict[str, list[float]]] = {}
    for text in records.read_text(encoding="utf-8").splitlines():
        line = Line.parse(text)
        if isinstance(line.outcome, Record):
            piece = line.outcome.piece
            of_scale = found.setdefault(json.dumps(line.scale, sort_keys=True), defaultdict(list))
            of_scale[f"{piece.study}|{piece.data}|{piece.method}"].append(line.seconds)
    tables = [
        {
            "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
            "machine": machine,
            "scale": json.loads(scale),
            "seconds": {
                words: max(0.01, round(statistics.fmean(s), 2)) for words, s in sorted(seconds.items())
            },
        }
        for scale, seconds in found.items()
    ]
    return sorted(tables, key=lambda table: -float(table["scale"]["epochs"]))


def write(records: Path, machine: str, path: Path = TABLE) -> None:
    """Put the tables of `measured` into the file; those of other scales stay there."""
    new = measured(records, machine)
    scales = [table["scale"] for table in new]
    old = json.loads(path.read_text(encoding="utf-8")) if path.exists() else []
    tables = [*new, *(table for table in old if table["scale"] not in scales)]
    tables.sort(key=lambda table: -float(table["scale"]["epochs"]))
    path.write_text(json.dumps(tables, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    write(Path(sys.argv[1]), sys.argv[2])
