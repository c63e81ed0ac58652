"""A study of networks in pieces: each is computed by itself, stored at once, and not computed again."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple


@dataclasses.dataclass(frozen=True, order=True)
class Piece:
    """One selection, or one training, of one study.

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
        """One line that no other piece has.

        >>> Piece("paper", "mice", "random", 50, 1).key
        'paper|mice|random|50|1|'
        """
        return "|".join(map(str, dataclasses.astuple(self)))


@dataclasses.dataclass(frozen=True)
class Record:
    """What a piece gave.

    Attributes
    ----------
    piece : which.
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
        """Numbers, strings, lists and dicts only; `from_json` reads them."""
        return {
            **dataclasses.asdict(self),
            "scores": dict(self.scores),
            "support": list(self.support),
            "seconds": {name: round(value, 3) for name, value in self.seconds.items()},
        }

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Record:
        """The record of `as_json`; KeyError or TypeError for something else."""
        piece = Piece(**stored["piece"])
        return cls(**{**stored, "piece": piece, "support": tuple(map(int, stored["support"]))})


@dataclasses.dataclass(frozen=True)
class Scale:
    """How much is computed.

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
        """The seeds for a data set: 1, 2, … as in the released experiments."""
        return range(1, 1 + (self.image_seeds if data in ("mnist", "fashion") else self.seeds))

    def rows_of(self, data: str, whole: bool = False) -> int | None:
        """The most training rows of a data set; `whole`: all of them, unless the scale forbids it."""
        return self.rows if data in ("mnist", "fashion") and not (whole and self.whole) else None

    def epochs_of(self, epochs: int) -> int:
        """So many epochs instead of `epochs`."""
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
