"""The comparison without leaks: all methods, four of them tuned on two data sets.

Of each data set the training rows select, the validation rows choose (settings and how long the network that
judges is trained), and the test rows are read once, at the end. Scaling and imputation are of the training
rows, and no mouse is on two sides (`protocol.HONEST`).
"""

from __future__ import annotations

import functools
import itertools
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from proofs_checks.experiments.networks.data import EMBEDDED, FORMS, OURS, table
from proofs_checks.experiments.networks.fitting import PATIENCE, STEPS, Fit, fit
from proofs_checks.experiments.networks.picks import Picks, called_with, pick, run_length
from proofs_checks.experiments.networks.pieces import Piece, Record, Scale, Study
from proofs_checks.experiments.networks.protocol import HONEST, Sets, split
from sparselin.neural.baselines.methods import METHODS

ALL = "all features"


def _grid(**values: Sequence[Any]) -> tuple[dict[str, Any], ...]:
    """All combinations, the last name the fastest."""
    return tuple(dict(zip(values, chosen, strict=True)) for chosen in itertools.product(*values.values()))


SETTINGS: dict[str, tuple[dict[str, Any], ...]] = {
    # The released step lengths reach from 10⁻⁵ to 1 by data set; 50 epochs are 12 steps a phase on Mice.
    "Sequential Attention": _grid(learning_rate=(3e-4, 1e-3, 3e-3, 1e-2), epochs=(50, 200)),
    # M is 10 in the paper, 30 in the released evaluate.py. A path has (growth − 1)⁻¹ λ's for each factor e,
    # and steps of 10⁻³ (the paper's) or more at each: both are how many features leave at once.
    "LassoNet": _grid(M=(10.0, 30.0), growth=(1.05, 1.02), learning_rate=((1e-3, 1e-3), (1e-3, 3e-3))),
    # The step between λ's as for LassoNet: by their length and their number; and what keeps V from growing.
    "group LASSO": _grid(learning_rate=(1e-3, 3e-3), epochs=(2, 8), weight_decay=(1e-3, 1e-2)),
    # The mask begins uniform, 1/d: whether it has left that depends on length and number of the steps.
    "feature mask (LLY)": _grid(learning_rate=(1e-3, 1e-2), epochs=(100, 300), mask_width=(32, 128)),
}
"""Eight settings each, of which one is chosen at the largest k; the rest is as in `picks.called_with`. Fixed
before the run, but for LassoNet's: they were drawn anew after one tuned record had been seen, of paths on
which most features left at one λ."""

TUNED = ("mice", "isolet")


class Chosen(NamedTuple):
    """The setting whose picks do best on the validation rows, those picks, and what it took to find it."""

    options: Mapping[str, Any]
    picks: Picks
    seconds: float
    note: str


def tuned(method: str, sets: Sets, k: int, smallest: int, seed: int, scale: Scale) -> Chosen:
    """The first of SETTINGS[method] whose network, trained again on the k picks, is right on most validation
    rows; of as many the one of least cross-entropy. Test rows are not looked at.

    >>> from proofs_checks.experiments.networks.pieces import QUICK
    >>> sets = split(table("breast_cancer"), HONEST, seed=1)
    >>> tuned("group LASSO", sets, 5, 5, 1, QUICK).note.split(":")[0]
    'chosen of 8 by 57 validation rows'
    """
    begin = time.process_time()
    blind = sets._replace(X_test=sets.X_val, y_test=sets.y_val)
    tried: list[tuple[Fit, Picks, dict[str, Any]]] = []
    for setting in SETTINGS[method]:
        options = called_with(method, len(sets.y), scale, setting)
        picks = pick(method, sets.X, sets.y, k, smallest, seed, options)
        tried.append((judged(blind, picks.order, seed, scale), picks, setting))
    _, picks, setting = max(tried, key=lambda one: (one[0].validation, -one[0].loss))
    words = ", ".join(f"{name} {value}" for name, value in setting.items())
    note = f"chosen of {len(tried)} by {len(sets.y_val)} validation rows: {words}"
    return Chosen(called_with(method, len(sets.y), scale, setting), picks, time.process_time() - begin, note)


def judged(sets: Sets, support: Sequence[int], seed: int, scale: Scale) -> Fit:
    """The network of `fitting.fit` on these features, in the share of its steps that the scale has."""
    steps, patience = scale.epochs_of(STEPS), scale.epochs_of(PATIENCE)
    return fit(sets, support, seed, steps=steps, patience=patience)


def sizes(data: str, scale: Scale) -> list[int]:
    """The k of a data set: the scale's below d, the largest first."""
    return sorted((k for k in scale.sizes if k < FORMS[data].d), reverse=True)


def pieces(names: Sequence[str], scale: Scale) -> Iterator[Piece]:
    """All k of a method and a seed together: most come of one run (`picks`), which the process keeps."""
    for seed, data in itertools.product(range(1, 1 + max(scale.seeds, scale.image_seeds)), names):
        if seed not in scale.seeds_of(data):
            continue
        yield Piece("honest", data, ALL, FORMS[data].d, seed)
        for method, k in itertools.product(METHODS, sizes(data, scale)):
            yield Piece("honest", data, method, k, seed)


def run(piece: Piece, scale: Scale) -> Record:
    """The accuracy of the network on the picks, on the test rows."""
    data, method, k, seed = piece.data, piece.method, piece.k, piece.seed
    sets = _sets(data, seed, scale)
    order, seconds = tuple(range(FORMS[data].d)), {"selecting": 0.0}
    notes: list[str] = []
    if method != ALL:
        order, seconds, notes = _support(data, method, k, seed, scale)
    begin = time.process_time()
    found = judged(sets, order, seed, scale)
    seconds["fitting"] = time.process_time() - begin
    notes.append(f"{found.steps} steps, with {found.validation:.3f} of the validation rows right")
    support = () if method == ALL else order
    return Record(piece, {"network": found.accuracy}, support, seconds, len(sets.y), "; ".join(notes))


def _support(
    data: str, method: str, k: int, seed: int, scale: Scale
) -> tuple[tuple[int, ...], dict[str, float], list[str]]:
    """The picks, the seconds of what was run for this k, and what a reader has to know."""
    largest = max(sizes(data, scale))
    length = run_length(method, k, largest)
    picks, seconds, notes = _picks(data, method, length, seed, scale), {}, []
    if data in TUNED and method in SETTINGS:
        chosen = _chosen(data, method, seed, scale)
        notes.append(chosen.note if k == largest else f"{chosen.note}, k = {largest}")
        if k == largest:
            seconds["tuning"] = chosen.seconds
    if k < length:
        notes.append(f"prefix of {length}, which has the seconds")
    if filled := picks.filled(k):
        notes.append(filled)
    return picks.order[:k], {"selecting": picks.seconds if k == length else 0.0, **seconds}, notes


@functools.lru_cache(maxsize=2)
def _sets(data: str, seed: int, scale: Scale) -> Sets:
    return split(table(data), HONEST, seed, scale.rows if FORMS[data].image and FORMS[data].n_train else None)


@functools.lru_cache(maxsize=4)
def _chosen(data: str, method: str, seed: int, scale: Scale) -> Chosen:
    few = sizes(data, scale)
    return tuned(method, _sets(data, seed, scale), few[0], few[-1], seed, scale)


@functools.lru_cache(maxsize=4)
def _picks(data: str, method: str, k: int, seed: int, scale: Scale) -> Picks:
    sets, few = _sets(data, seed, scale), sizes(data, scale)
    options = called_with(method, len(sets.y), scale)
    if data in TUNED and method in SETTINGS:
        chosen = _chosen(data, method, seed, scale)
        if k == few[0]:
            return chosen.picks
        options = dict(chosen.options)
    return pick(method, sets.X, sets.y, k, few[-1], seed, options)


STUDY = Study(
    "honest",
    "Accuracy of a network on k features, without leaks",
    "ours, after Tables 2, 5 and 6 of Sequential Attention (ICLR 2023)",
    (*EMBEDDED, *OURS, "activity"),
    pieces,
    run,
)
