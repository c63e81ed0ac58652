"""A run of studies, piece by piece: what is planned, what is left, and each record on disk at once."""

from __future__ import annotations

import contextlib
import importlib
import itertools
import math
import signal
import sys
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from types import FrameType
from typing import NamedTuple, NoReturn

from proofs_checks.experiments.networks.pieces import Piece, Record, Scale, Study
from proofs_checks.experiments.networks.store import Failure, Store
from sparselin.parallel.processes import Job, Lost, run_groups

Outcome = Record | Failure


def planned(
    studies: Iterable[Study],
    data: Collection[str],
    scale: Scale,
    methods: Collection[str] | None = None,
    *,
    synthetic: Collection[str] = (),
) -> list[Piece]:
    """All pieces of the studies on these data sets by these methods, in order.

    data : names; a study gets those that it knows, in its order.
    methods : names; None for all.
    synthetic : names that a study makes up itself, and so gets without being in `data`.
    """
    pieces: dict[Piece, None] = {}
    for study in studies:
        names = [name for name in study.data if name in data or name in synthetic]
        for piece in study.pieces(names, scale) if names else ():
            if methods is None or piece.method in methods:
                pieces[piece] = None
    return list(pieces)


def grouped(pieces: Iterable[Piece]) -> list[list[Piece]]:
    """Pieces that differ in k only, together: one selection may serve all of them. In order otherwise.

    >>> pieces = [Piece("paper", "mice", "OMP", k, seed) for k, seed in [(5, 1), (5, 2), (9, 1)]]
    >>> [[piece.k for piece in group] for group in grouped(pieces)]
    [[5, 9], [5]]
    """
    groups: dict[tuple[str, str, str, int, str], list[Piece]] = {}
    for piece in pieces:
        same = (piece.study, piece.data, piece.method, piece.seed, piece.setting)
        groups.setdefault(same, []).append(piece)
    return list(groups.values())


def left(pieces: Iterable[Piece], store: Store) -> list[Piece]:
    """Those that have no record; those that failed are among them."""
    return [piece for piece in pieces if piece.key not in store.records]


class Computed(NamedTuple):
    """What a piece gave, and its seconds by the clock."""

    outcome: Outcome
    seconds: float


def compute(run: Callable[[Piece, Scale], Record], piece: Piece, scale: Scale) -> Computed:
    """The record of a piece, or how it failed, by one thread."""
    if "torch" in sys.modules:  # that is where `run` needs it
        sys.modules["torch"].set_num_threads(1)
        importlib.import_module("torch._dynamo")  # else a second of the first optimiser's
    began = time.perf_counter()
    outcome: Outcome
    try:
        with _interrupts_unheard():
            outcome = _checked(run(piece, scale))
    except Exception as error:
        outcome = Failure(piece, f"{type(error).__name__}: {error}")
    return Computed(outcome, time.perf_counter() - began)


def _checked(record: Record) -> Record:
    for name, score in record.scores.items():
        if not math.isfinite(score):
            raise ValueError(f"the score {name!r} is {score}: the training did not converge")
    return record


def run(
    studies: dict[str, Study],
    pieces: Sequence[Piece],
    store: Store,
    jobs: int = 1,
    hours: float | None = None,
) -> Iterator[Computed]:
    """Compute pieces, put each outcome into the store, and yield it.

    hours : after so many none is begun; those under way are finished.

    Raises OSError if the store cannot be written. Closing the iterator leaves what is under way undone.
    """
    end = None if hours is None else time.monotonic() + 3600 * hours

    def job(piece: Piece) -> Job:
        return compute, (studies[piece.study].run, piece, store.scale)

    def in_time(group: list[Piece]) -> Iterator[Job]:
        return (job(piece) for piece in itertools.takewhile(lambda _: not over(end), group))

    with contextlib.closing(run_groups(map(in_time, grouped(pieces)), jobs)) as stream:  # type: ignore[type-var]
        for found in stream:
            outcome, seconds = _unless_lost(found)
            yield Computed(store.add(outcome, seconds), seconds)


def over(end: float | None) -> bool:
    """Whether the time of the clock `time.monotonic` has come."""
    return end is not None and time.monotonic() >= end


def _unless_lost(found: Computed | Lost) -> Computed:
    if isinstance(found, Lost):
        words = "its process was killed; if memory was short, --jobs 1 needs less"
        return Computed(Failure(found.arguments[1], words), 0.0)
    return found


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


def failures_in_words(failures: Iterable[Failure]) -> list[str]:
    """A line for each error: how many pieces it ended, and the first of them."""
    by_error: dict[str, list[Piece]] = {}
    for failure in failures:
        by_error.setdefault(failure.error, []).append(failure.piece)
    return [f"{_counted(pieces)}: {error}" for error, pieces in by_error.items()]


def _counted(pieces: Sequence[Piece]) -> str:
    first = in_words(pieces[0])
    return first if len(pieces) == 1 else f"{len(pieces)} pieces, the first {first}"


def duration(hours: float) -> str:
    """Hours for a line of text.

    >>> duration(7.25), duration(0.41), duration(0.001)
    ('7.2 h', '25 min', '4 s')
    """
    if hours >= 1:
        return f"{hours:.1f} h"
    return f"{60 * hours:.0f} min" if hours >= 1 / 60 else f"{3600 * hours:.0f} s"


def in_words(piece: Piece) -> str:
    """A piece for a line of text.

    >>> in_words(Piece("paper", "mice", "LassoNet", 50, 1))
    'paper: LassoNet on mice, k = 50, seed 1'
    """
    more = f", {piece.setting}" if piece.setting else ""
    return f"{piece.study}: {piece.method} on {piece.data}, k = {piece.k}{more}, seed {piece.seed}"
