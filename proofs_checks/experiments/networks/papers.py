"""Sequential Attention's Tables 2, 3, 5, 6, 9 and 10, by the protocol that was released with it."""

from __future__ import annotations

import dataclasses
import functools
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from proofs_checks.experiments.networks.data import FORMS, table
from proofs_checks.experiments.networks.picks import OPTIONS, Picks, called_with, pick, run_length
from proofs_checks.experiments.networks.pieces import Piece, Record, Scale, Study
from proofs_checks.experiments.networks.printed import MASKS, TABLE_4, TITLES
from proofs_checks.experiments.networks.protocol import HONEST, PAPER, Protocol, Sets, split
from proofs_checks.experiments.networks.reference import (
    AS_RELEASED,
    MENDED,
    SETTINGS,
    WARM_UP,
    Settings,
    Switches,
    reference_accuracy,
    reference_attention,
)
from proofs_checks.experiments.networks.released import Gradients, reference_mask, reference_omp
from sparselin.neural.baselines.methods import METHODS

SA, ALL, OWN = "Sequential Attention", "all features", "own defaults"


def largest(data: str, scale: Scale) -> int:
    """The largest k of a data set: the scale's below d.

    >>> largest("breast_cancer", Scale())
    25
    """
    return max(k for k in scale.sizes if k < FORMS[data].d)


def settings_of(data: str, sets: Sets, scale: Scale, phases: int) -> Settings:
    """The settings of a data set in the scale's share of the epochs.

    There are two steps for each phase at least, and 400 to fit if the settings have them: of the averages
    of batch statistics .99⁴⁰⁰ = 2 % are still what they began with then, 0 and 1.
    """
    found = SETTINGS[data]
    in_epoch = len(sets.y) // min(found.batch_size, len(sets.y))
    fit = max(scale.epochs_of(found.epochs_fit), min(found.epochs_fit, math.ceil(400 / in_epoch)))
    epochs = max(scale.epochs_of(found.epochs), least_epochs(sets, found.batch_size, phases))
    return dataclasses.replace(found, epochs=epochs, epochs_fit=fit)


def least_epochs(sets: Sets, batch_size: int, phases: int) -> int:
    """Those with two steps for each phase and one more phase, after the warm-up."""
    in_epoch = len(sets.y) // min(batch_size, len(sets.y))
    return math.ceil(2 * (phases + 1) / (1 - WARM_UP) / in_epoch)


@functools.lru_cache(maxsize=2)
def sets_of(data: str, protocol: Protocol, seed: int, rows: int | None) -> Sets:
    """`protocol.split` of a data set, the last two kept."""
    return split(table(data), protocol, seed, rows)


def _record(
    piece: Piece,
    sets: Sets,
    scale: Scale,
    picks: Picks,
    note: str = "",
    switches: Switches = AS_RELEASED,
) -> Record:
    """The accuracy of the network that is trained again on the picks."""
    begin = time.process_time()
    settings = settings_of(piece.data, sets, scale, 0)
    found = reference_accuracy(sets, picks.order, piece.seed, settings=settings, switches=switches)
    seconds = {"selecting": picks.seconds, "fitting": time.process_time() - begin}
    support = () if piece.method == ALL else picks.order
    notes = "; ".join(filter(None, (note, picks.filled(piece.k))))
    return Record(piece, {"network": found}, support, seconds, len(sets.y), notes)


def _attention(
    sets: Sets, k: int, seed: int, settings: Settings, switches: Switches = AS_RELEASED, **options: Any
) -> Picks:
    begin = time.process_time()
    order = reference_attention(sets, k, seed, settings=settings, switches=switches, **options)
    return Picks(tuple(order), time.process_time() - begin)


# --- Tables 2 and 3: all methods on the splits of the released protocol ----------------------------------


def _paper_pieces(names: Sequence[str], scale: Scale) -> Iterator[Piece]:
    for seed in range(1, 1 + max(scale.seeds, scale.image_seeds)):
        for data in names:
            of_methods = seed in scale.seeds_of(data)
            if not of_methods and not (scale.whole and seed <= scale.seeds):
                continue
            sizes = sorted((k for k in scale.sizes if k < FORMS[data].d), reverse=True)
            yield Piece("paper", data, ALL, FORMS[data].d, seed)
            for k in sizes if of_methods else sizes[:1]:
                yield Piece("paper", data, SA, k, seed)
            for method in METHODS if of_methods else ():
                setting = OWN if method == SA else ""
                yield from (Piece("paper", data, method, k, seed, setting) for k in sizes)


def _paper(piece: Piece, scale: Scale) -> Record:
    """SA without a setting is the released one: with the largest k, as in the table, on all rows."""
    data, k, seed = piece.data, piece.k, piece.seed
    released = piece.method == SA and piece.setting == ""
    whole = piece.method == ALL or (released and k == largest(data, scale))
    sets = sets_of(data, PAPER, seed, scale.rows_of(data, whole))
    if piece.method == ALL:
        return _record(piece, sets, scale, Picks(tuple(range(k)), 0.0))
    if released:
        return _record(piece, sets, scale, _attention(sets, k, seed, settings_of(data, sets, scale, k)))
    run = run_length(piece.method, k, largest(data, scale))
    picks = _picks(data, piece.method, run, seed, scale)
    notes = [f"{name} {value}" for name, value in OPTIONS.get(piece.method, {}).items()]
    if run != k:
        picks = picks._replace(order=picks.order[:k], seconds=0.0)
        notes.append(f"prefix of {run}, which has the seconds")
    return _record(piece, sets, scale, picks, "; ".join(notes))


@functools.lru_cache(maxsize=4)
def _picks(data: str, method: str, k: int, seed: int, scale: Scale) -> Picks:
    sets = sets_of(data, PAPER, seed, scale.rows_of(data))
    options = called_with(method, len(sets.y), scale)
    return pick(method, sets.X, sets.y, k, min(scale.sizes), seed, options)


# --- the differences between the released protocol and what it should be, one by one ----------------------

DIFFERENCES: Mapping[str, tuple[Protocol, Switches]] = {
    "as released": (PAPER, AS_RELEASED),
    "scaled by training rows": (dataclasses.replace(PAPER, scale_on_all=False), AS_RELEASED),
    "means of training rows": (dataclasses.replace(PAPER, class_means_with_sentinel=False), AS_RELEASED),
    "split by group and class": (dataclasses.replace(PAPER, by_row=False), AS_RELEASED),
    "first pick trained": (PAPER, dataclasses.replace(AS_RELEASED, first_at_random=False)),
    "last phase used": (PAPER, dataclasses.replace(AS_RELEASED, last_wasted=False)),
    "all rows shuffled": (PAPER, dataclasses.replace(AS_RELEASED, buffer=False)),
    "RMSprop of 2.10": (PAPER, dataclasses.replace(AS_RELEASED, optimizer="rmsprop 2.10")),
    "Adam": (PAPER, dataclasses.replace(AS_RELEASED, optimizer="adam")),
    "all but the optimiser": (HONEST, dataclasses.replace(MENDED, optimizer="rmsprop")),
    "all": (HONEST, MENDED),
}
"""What is mended, in the words of `Piece.setting`, in selecting and in training again; `counts_features`
matters for several at a time only."""


def differences(data: str) -> list[str]:
    """Those that change something on a data set: rows are split by their group where no split is official,
    only Mice Protein has missing values, and pixels have one range, whose ends the training rows have too."""
    without = set() if data == "mice" else {"means of training rows"}
    if FORMS[data].image is not None:
        without.add("scaled by training rows")
    if FORMS[data].n_train is not None:
        without.add("split by group and class")
    return [name for name in DIFFERENCES if name not in without]


BASELINES: Mapping[tuple[str, str], Callable[..., list[int]]] = {
    ("OMP", "as released"): reference_omp,
    ("OMP", "W = 0 off the picks"): functools.partial(reference_omp, gradients=Gradients(random_off=False)),
    ("OMP", "gradients of all rows"): functools.partial(reference_omp, gradients=Gradients(one_batch=False)),
    ("OMP", "both"): functools.partial(reference_omp, gradients=Gradients(False, False)),
    ("OMP", "both, rows as they are"): functools.partial(
        reference_omp, gradients=Gradients(False, False), normalised=False
    ),
    ("feature mask (LLY)", "as released"): reference_mask,
    ("feature mask (LLY)", "read normalised"): functools.partial(reference_mask, normalised=True),
}
"""A method and what is mended in its released form ↦ its picks, by the released protocol."""


def _switches_pieces(names: Sequence[str], scale: Scale) -> Iterator[Piece]:
    for seed in range(1, 1 + scale.image_seeds):
        for data in names:
            k = largest(data, scale)
            yield from (Piece("switches", data, SA, k, seed, name) for name in differences(data))
            yield from (Piece("switches", data, method, k, seed, name) for method, name in BASELINES)


def _switches(piece: Piece, scale: Scale) -> Record:
    if (piece.method, piece.setting) in BASELINES:
        return _baseline(piece, scale)
    protocol, switches = DIFFERENCES[piece.setting]
    sets = sets_of(piece.data, protocol, piece.seed, scale.rows_of(piece.data))
    settings = settings_of(piece.data, sets, scale, piece.k)
    picks = _attention(sets, piece.k, piece.seed, settings, switches)
    return _record(piece, sets, scale, picks, switches=switches)


def _baseline(piece: Piece, scale: Scale) -> Record:
    sets = sets_of(piece.data, PAPER, piece.seed, scale.rows_of(piece.data))
    settings = settings_of(piece.data, sets, scale, piece.k)
    begin = time.process_time()
    order = BASELINES[piece.method, piece.setting](sets, piece.k, piece.seed, settings=settings)
    return _record(piece, sets, scale, Picks(tuple(order), time.process_time() - begin))


# --- Tables 5 and 6: the same passes over the data for all methods ----------------------------------------

BUDGETS = {data: TABLE_4[title] for data, title in TITLES.items()} | {
    "digits": (100, 64),
    "breast_cancer": (100, 64),
}
"""Epochs in all, and rows of a batch: Table 4, and ours."""


def _within(method: str, epochs: int, k: int) -> dict[str, Any]:
    """The options with which a method takes `epochs` passes in all: those with picks share them."""
    options: dict[str, dict[str, Any]] = {
        "feature mask (LLY)": {"epochs": epochs},
        "group LASSO": {"lam": 0.03, "dense_epochs": epochs},
        "Sequential LASSO": {"lam": 0.01, "epochs": max(1, epochs // k)},
        "OMP": {"epochs": max(1, epochs // k)},
        "concrete autoencoder": {"epochs": epochs},
    }
    return options[method]


# the λ are those of METHODS["group LASSO, λ fixed"] and METHODS["Sequential LASSO, λ fixed"]
EFFICIENT = (
    SA, "feature mask (LLY)", "group LASSO", "Sequential LASSO", "OMP", "concrete autoencoder",
)  # fmt: skip


def _efficiency_pieces(names: Sequence[str], scale: Scale) -> Iterator[Piece]:
    for seed in range(1, 1 + scale.image_seeds):
        for data in names:
            k = largest(data, scale)
            yield from (Piece("efficiency", data, method, k, seed) for method in EFFICIENT)


def _efficiency(piece: Piece, scale: Scale) -> Record:
    sets, k = sets_of(piece.data, PAPER, piece.seed, scale.rows_of(piece.data)), piece.k
    epochs, batch_size = BUDGETS[piece.data]
    epochs = scale.epochs_of(epochs)
    if piece.method == SA:
        epochs = max(epochs, least_epochs(sets, batch_size, k))
        settings = dataclasses.replace(SETTINGS[piece.data], epochs=epochs, batch_size=batch_size)
        all_rows = dataclasses.replace(AS_RELEASED, drop_remainder=False)  # as the others have
        return _record(piece, sets, scale, _attention(sets, k, piece.seed, settings, all_rows))
    options = {"batch_size": batch_size} | _within(piece.method, epochs, k)
    return _record(piece, sets, scale, pick(piece.method, sets.X, sets.y, k, k, piece.seed, options))


# --- Tables 9 and 10: several features at a time, and other forms of the mask -----------------------------


def adaptive(data: str) -> int:
    """The k of Table 9, 64; of fewer than 65 features the largest power of 2 up to d/2.

    >>> adaptive("mice"), adaptive("digits"), adaptive("breast_cancer")
    (64, 32, 8)
    """
    d = FORMS[data].d
    return 64 if d > 64 else 2 ** int(math.log2(d / 2))


COUNTED = ", as released"
"""Ends the setting of pieces with `Switches.counts_features`; else it is off, and alone is."""


def _adaptivity_pieces(names: Sequence[str], scale: Scale) -> Iterator[Piece]:
    for seed in range(1, 1 + scale.image_seeds):
        for data in names:
            k = adaptive(data)
            for m in (2**i for i in range(int(math.log2(k)) + 1)):
                yield Piece("adaptivity", data, SA, k, seed, str(m))
                if m > 1:
                    yield Piece("adaptivity", data, SA, k, seed, f"{m}{COUNTED}")


def _adaptivity(piece: Piece, scale: Scale) -> Record:
    sets, k = sets_of(piece.data, PAPER, piece.seed, scale.rows_of(piece.data)), piece.k
    m, counted = int(piece.setting.removesuffix(COUNTED)), piece.setting.endswith(COUNTED)
    switches = dataclasses.replace(AS_RELEASED, counts_features=counted)
    settings = settings_of(piece.data, sets, scale, k)
    picks = _attention(sets, k, piece.seed, settings, switches, features_per_step=m)
    chosen = sum(switches.schedule(k, m, 2**20).sizes)
    note = "" if chosen == k else f"{chosen} picked, {k - chosen} with the lowest numbers"
    return _record(piece, sets, scale, picks, note)


def _masks_pieces(names: Sequence[str], scale: Scale) -> Iterator[Piece]:
    for seed in range(1, 1 + scale.image_seeds):
        for data in names:
            yield from (Piece("masks", data, SA, largest(data, scale), seed, mask) for mask in MASKS)


def _masks(piece: Piece, scale: Scale) -> Record:
    sets = sets_of(piece.data, PAPER, piece.seed, scale.rows_of(piece.data))
    settings = settings_of(piece.data, sets, scale, piece.k)
    return _record(
        piece, sets, scale, _attention(sets, piece.k, piece.seed, settings, parametrization=piece.setting)
    )


ICLR = "Sequential Attention for Feature Selection (ICLR 2023), "
DATA = tuple(SETTINGS)
PAPERS = (
    Study("paper", "All methods by the released protocol", f"{ICLR}Tables 2, 3", DATA, _paper_pieces, _paper),
    Study("switches", "The released protocol mended", "ours", DATA, _switches_pieces, _switches),
    Study("efficiency", "The same epochs", f"{ICLR}Tables 4, 5, 6", DATA, _efficiency_pieces, _efficiency),
    Study("adaptivity", "Features at a time", f"{ICLR}Table 9", DATA, _adaptivity_pieces, _adaptivity),
    Study("masks", "Forms of the mask", f"{ICLR}Table 10", DATA, _masks_pieces, _masks),
)
"""The studies of Sequential Attention's tables."""
