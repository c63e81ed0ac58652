"""The experiments of the paper on Sequential Attention: Tables 2, 3, 5, 6, 9 and 10, and Figure 11.

For the tables, rows are split and scaled as in the paper's released code.
"""

import dataclasses
import functools
import itertools
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from scipy.stats import spearmanr

from proofs_checks.experiments.networks.baselines.methods import METHODS
from proofs_checks.experiments.networks.data import FORMS
from proofs_checks.experiments.networks.gains import marginal_gains
from proofs_checks.experiments.networks.pieces import Piece, Record, Scale, Study
from proofs_checks.experiments.networks.printed import ALL, MASKS, OWN, TABLE_4, TITLES
from proofs_checks.experiments.networks.protocol import (
    HONEST,
    OPTIONS,
    PAPER,
    Picks,
    Protocol,
    Sets,
    make_record,
    options_for,
    pick,
    pick_on,
    run_length,
    sets_of,
    sizes_below,
)
from proofs_checks.experiments.networks.released import (
    AS_RELEASED,
    CORRECTED,
    SETTINGS,
    WARM_UP,
    Gradients,
    Settings,
    Switches,
    reference_accuracy,
    reference_attention,
    reference_mask,
    reference_omp,
)
from sparselin.neural.attention import SequentialAttention
from sparselin.neural.batches import Shuffled
from sparselin.neural.networks import mlp
from sparselin.neural.training import Rows, seeded
from sparselin.results import FloatArray, IndexArray

SA = "Sequential Attention"


def settings_of(data: str, sets: Sets, scale: Scale, phases: int) -> Settings:
    """Return the training settings of the released code for a data set, with fewer epochs on a small scale.

    The scale of the run prescribes the share of the epochs. But the selection has at least two steps for each
    phase. The training that follows has at least 400 steps, if the settings allow it: after 400 steps the
    initial values 0 and 1 still contribute .99⁴⁰⁰ = 2 % to the averages of batch statistics.
    """
    found = SETTINGS[data]
    in_epoch = len(sets.y) // min(found.batch_size, len(sets.y))
    fit = max(scale.epochs_of(found.epochs_fit), min(found.epochs_fit, math.ceil(400 / in_epoch)))
    epochs = max(scale.epochs_of(found.epochs), least_epochs(sets, found.batch_size, phases))
    return dataclasses.replace(found, epochs=epochs, epochs_fit=fit)


def least_epochs(sets: Sets, batch_size: int, phases: int) -> int:
    """Return the smallest number of epochs that have 2·(phases + 1) training steps after the warm-up."""
    in_epoch = len(sets.y) // min(batch_size, len(sets.y))
    return math.ceil(2 * (phases + 1) / (1 - WARM_UP) / in_epoch)


def _draws(names: Sequence[str], scale: Scale) -> Iterator[tuple[int, str]]:
    """Return all pairs of a seed and a data set, for the number of seeds `scale.image_seeds`."""
    return itertools.product(range(1, 1 + scale.image_seeds), names)


def _record(
    piece: Piece, sets: Sets, scale: Scale, picks: Picks, note: str = "", switches: Switches = AS_RELEASED
) -> Record:
    """Train a network on the selected features as the released code does, and return the `Record`.

    The record has the accuracy of this network.
    """
    begin = time.process_time()
    settings = settings_of(piece.data, sets, scale, 0)
    found = reference_accuracy(sets, picks.order, piece.seed, settings=settings, switches=switches)
    notes = note, picks.fill_note(piece.k)
    return make_record(piece, {"network": found}, picks, begin, len(sets.y), notes)


def _prepare(piece: Piece, scale: Scale, protocol: Protocol = PAPER) -> tuple[Sets, Settings]:
    """Return the training, validation and test rows for one computation, and the settings of the training."""
    sets = sets_of(piece.data, protocol, piece.seed, scale.rows_of(piece.data))
    return sets, settings_of(piece.data, sets, scale, piece.k)


def _picks(select: Callable[..., list[int]], piece: Piece, sets: Sets, **options: Any) -> Picks:
    """Select k features with the released code, or with a corrected form of it, and measure the seconds."""
    begin = time.process_time()
    order = select(sets, piece.k, piece.seed, **options)
    return Picks(tuple(order), time.process_time() - begin)


# --- Tables 2 and 3: all methods with the released protocol ----------------------------------------------


def _paper_pieces(names: Sequence[str], scale: Scale) -> Iterator[Piece]:
    for seed in range(1, 1 + max(scale.seeds, scale.image_seeds)):
        for data in names:
            of_methods = seed in scale.seeds_of(data)
            if not of_methods and not (scale.whole and seed <= scale.seeds):
                continue
            sizes = sizes_below(data, scale.sizes)
            yield Piece(study="paper", data=data, method=ALL, k=FORMS[data].d, seed=seed)
            for k in sizes if of_methods else sizes[:1]:
                yield Piece(study="paper", data=data, method=SA, k=k, seed=seed)
            for method in METHODS if of_methods else ():
                setting = OWN if method == SA else ""
                yield from (
                    Piece(study="paper", data=data, method=method, k=k, seed=seed, setting=setting)
                    for k in sizes
                )


def _paper(piece: Piece, scale: Scale) -> Record:
    """Compute one selection of Sequential Attention's Tables 2 and 3, and its `Record`.

    If the method is Sequential Attention and has no setting, the released code is used. At the largest k, the
    k of the table, this code uses all training rows.
    """
    data, k, seed, largest = piece.data, piece.k, piece.seed, sizes_below(piece.data, scale.sizes)[0]
    released = piece.method == SA and piece.setting == ""
    whole = piece.method == ALL or (released and k == largest)
    sets = sets_of(data, PAPER, seed, scale.rows_of(data, whole))
    if released:
        settings = settings_of(data, sets, scale, k)
        return _record(piece, sets, scale, _picks(reference_attention, piece, sets, settings=settings))
    length = run_length(piece.method, k, largest)
    run = pick_on(data, PAPER, piece.method, length, min(scale.sizes), seed, scale)
    picks, notes = run.prefix(k)
    options = [f"{name} {value}" for name, value in OPTIONS.get(piece.method, {}).items()]
    return _record(piece, sets, scale, picks, "; ".join([*options, *notes]))


# --- the defects of the released protocol, corrected one at a time ----------------------------------------

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
    "all but the optimiser": (HONEST, dataclasses.replace(CORRECTED, optimizer="rmsprop")),
    "all": (HONEST, CORRECTED),
}
"""A correction, as `Piece.setting` names it ↦ the protocol and switches, in selecting and in retraining.
`counts_features` matters only if several features are picked at a time."""


def differences(data: str) -> list[str]:
    """Return the names of the corrections to the released code that have an effect on a data set.

    A correction of the split matters only if there is no official split, and one for missing values only for
    Mice Protein. For images the scaling has no leak: all pixels have one range, whose smallest and largest
    values occur in the training rows.
    """
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
"""A method and the correction of its released form ↦ the function that returns its picks."""


def _switches_pieces(names: Sequence[str], scale: Scale) -> Iterator[Piece]:
    for seed, data in _draws(names, scale):
        k = sizes_below(data, scale.sizes)[0]
        settings = [*((SA, name) for name in differences(data)), *BASELINES]
        yield from (
            Piece(study="switches", data=data, method=method, k=k, seed=seed, setting=name)
            for method, name in settings
        )


def _switches(piece: Piece, scale: Scale) -> Record:
    if baseline := BASELINES.get((piece.method, piece.setting)):
        sets, settings = _prepare(piece, scale)
        return _record(piece, sets, scale, _picks(baseline, piece, sets, settings=settings))
    protocol, switches = DIFFERENCES[piece.setting]
    sets, settings = _prepare(piece, scale, protocol)
    picks = _picks(reference_attention, piece, sets, settings=settings, switches=switches)
    return _record(piece, sets, scale, picks, switches=switches)


# --- Tables 5 and 6: the same number of epochs for all methods --------------------------------------------

BUDGETS = {data: TABLE_4[title] for data, title in TITLES.items()} | {
    "digits": (100, 64),
    "breast_cancer": (100, 64),
}
"""The total number of epochs and the rows of a batch: those of Table 4, and ours."""


def _budget_options(method: str, epochs: int, k: int) -> dict[str, Any]:
    """Return the options for which a method uses a given number of epochs in total, divided among its
    picks.
    """
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
    for seed, data in _draws(names, scale):
        k = sizes_below(data, scale.sizes)[0]
        yield from (
            Piece(study="efficiency", data=data, method=method, k=k, seed=seed) for method in EFFICIENT
        )


def _efficiency(piece: Piece, scale: Scale) -> Record:
    sets, k = sets_of(piece.data, PAPER, piece.seed, scale.rows_of(piece.data)), piece.k
    epochs, batch_size = BUDGETS[piece.data]
    epochs = scale.epochs_of(epochs)
    if piece.method == SA:
        epochs = max(epochs, least_epochs(sets, batch_size, k))
        settings = dataclasses.replace(SETTINGS[piece.data], epochs=epochs, batch_size=batch_size)
        all_rows = dataclasses.replace(AS_RELEASED, drop_remainder=False)  # as for the other methods
        picks = _picks(reference_attention, piece, sets, settings=settings, switches=all_rows)
        return _record(piece, sets, scale, picks)
    options = {"batch_size": batch_size} | _budget_options(piece.method, epochs, k)
    return _record(piece, sets, scale, pick(piece.method, sets.X, sets.y, k, k, piece.seed, options))


# --- Tables 9 and 10: several features at a time, and other forms of the mask -----------------------------


def adaptive(data: str) -> int:
    """Return the number k of features in our runs for Sequential Attention's Table 9.

    The number is 64, as in the table. If the data set has d ≤ 64 features, the number is the largest power of
    2 that is at most d/2.

    >>> adaptive("mice"), adaptive("digits"), adaptive("breast_cancer")
    (64, 32, 8)
    """
    d = FORMS[data].d
    return 64 if d > 64 else 2 ** int(math.log2(d / 2))


COUNTED = ", as released"
"""The end of the setting of pieces with `Switches.counts_features`. In other pieces this switch is off."""


def _adaptivity_pieces(names: Sequence[str], scale: Scale) -> Iterator[Piece]:
    for seed, data in _draws(names, scale):
        k = adaptive(data)
        for m in (2**i for i in range(int(math.log2(k)) + 1)):
            yield Piece(study="adaptivity", data=data, method=SA, k=k, seed=seed, setting=str(m))
            if m > 1:
                yield Piece(study="adaptivity", data=data, method=SA, k=k, seed=seed, setting=f"{m}{COUNTED}")


def _adaptivity(piece: Piece, scale: Scale) -> Record:
    (sets, settings), k = _prepare(piece, scale), piece.k
    m, counted = int(piece.setting.removesuffix(COUNTED)), piece.setting.endswith(COUNTED)
    switches = dataclasses.replace(AS_RELEASED, counts_features=counted)
    options = {"settings": settings, "switches": switches, "features_per_step": m}
    picks = _picks(reference_attention, piece, sets, **options)
    chosen = sum(switches.schedule(k, m, 2**20).sizes)
    note = "" if chosen == k else f"{chosen} picked, {k - chosen} with the lowest numbers"
    return _record(piece, sets, scale, picks, note)


def _masks_pieces(names: Sequence[str], scale: Scale) -> Iterator[Piece]:
    for seed, data in _draws(names, scale):
        k = sizes_below(data, scale.sizes)[0]
        yield from (
            Piece(study="masks", data=data, method=SA, k=k, seed=seed, setting=mask) for mask in MASKS
        )


def _masks(piece: Piece, scale: Scale) -> Record:
    sets, settings = _prepare(piece, scale)
    options = {"settings": settings, "parametrization": piece.setting}
    return _record(piece, sets, scale, _picks(reference_attention, piece, sets, **options))


# --- Figure 11: do true marginal gains and attention rank the features alike? ------------------------------
#
# S are the first k picks of Sequential Attention. A network is trained for S, and for S ∪ {i} with each i not
# in S. One phase of attention is trained with S selected (`gains`). "Spearman" is the rank
# correlation of both.

SELECTED = (0, 9, 49)
ROWS, EPOCHS, BATCH = 2000, 20, 256
"""The rows for training and validation, the epochs, and the rows of a batch. 785 networks with 784 inputs
take a second per step; with 52,500 rows and 50 epochs they would take three hours for each k. The paper
states neither number."""


def _gains_pieces(names: Sequence[str], scale: Scale) -> Iterator[Piece]:
    """Yield the computations of Figure 11: one for each seed, data set and number 0, 9 or 49 of selected
    features.

    At least three features must remain outside the selection. With two features left, the two rankings that
    the figure compares could only agree or be reversed.
    """
    for (seed, data), k in itertools.product(_draws(names, scale), SELECTED):
        if k + 3 <= FORMS[data].d:
            yield Piece(study="gains", data=data, method=SA, k=k, seed=seed)


def _gains(piece: Piece, scale: Scale) -> Record:
    """Compare the marginal gains of the features with their attention weights, and return the `Record`.

    The record has the rank correlation of the two over the features that are not selected yet. Only the
    training rows are used.
    """
    rows = ROWS if scale.rows is None else min(ROWS, scale.rows)  # an eighth are for validation
    sets = sets_of(piece.data, PAPER, piece.seed, rows)
    begin = time.process_time()
    options = options_for(SA, len(sets.y), scale)
    S = pick(SA, sets.X, sets.y, piece.k, piece.k, piece.seed, options).order if piece.k else ()
    selected = time.process_time()
    X, y = torch.from_numpy(sets.X), torch.from_numpy(sets.y)
    candidates, gains, weights = gains_and_attention(
        lambda: mlp(X.shape[1], (67,), sets.classes, dtype=X.dtype),
        X,
        y,
        S,
        epochs=scale.epochs_of(EPOCHS),
        batch_size=BATCH,
        rng=piece.seed,
    )
    picks, notes = Picks(tuple(S), selected - begin), [f"{len(candidates)} candidates"]
    scores = {"Spearman": float(spearmanr(gains[0], weights[0]).statistic)}
    return make_record(piece, scores, picks, selected, len(sets.y), notes)


def gains_and_attention(
    make: Callable[[], torch.nn.Module],
    X: torch.Tensor,
    y: torch.Tensor,
    selected: Sequence[int],
    *,
    repeats: int = 1,
    epochs: int = 50,
    batch_size: int = 256,
    learning_rate: float = 1e-3,
    rng: int = 0,
) -> tuple[IndexArray, FloatArray, FloatArray]:
    """Compute the marginal gain of every feature outside S, and the attention weights after one phase.

    S are the features `selected`, which are selected in this phase of Sequential Attention too.

    make : a function that returns a network with random weights. It is called once for each repeat, and the
        network is used for the gains and for the attention.
    epochs, batch_size, learning_rate : the settings of all trainings, with Adam.

    Returns the candidates (m,), their gains (repeats, m) and their attention weights (repeats, m).
    """
    found = np.random.default_rng(rng)
    gain, weight = [], []
    for _ in range(repeats):
        seed = int(found.integers(2**32))
        with seeded(seed):
            network = make()
        candidates, values = marginal_gains(
            network,
            X,
            y,
            selected,
            epochs=epochs,
            batch_size=batch_size,
            learning_rate=learning_rate,
            rng=seed,
        )
        gain.append(values)
        method = SequentialAttention(
            network,
            len(selected) + 1,
            n_features=X.shape[1],
            forced=list(selected),
            rng=seed,
            warm_up=0,
            optimizer=lambda p: torch.optim.Adam(p, learning_rate),
        )
        weight.append(method.fit(Shuffled(Rows(X, y), batch_size), epochs).attention[0][candidates])
    return candidates, np.array(gain), np.array(weight)


ICLR = "Sequential Attention for Feature Selection (ICLR 2023), "
DATA = tuple(SETTINGS)
STUDIES = (
    Study(
        name="paper",
        title="All methods with the released protocol",
        source=f"{ICLR}Tables 2, 3",
        data=DATA,
        pieces=_paper_pieces,
        run=_paper,
    ),
    Study(
        name="switches",
        title="The released protocol, corrected",
        source="ours",
        data=DATA,
        pieces=_switches_pieces,
        run=_switches,
    ),
    Study(
        name="efficiency",
        title="The same epochs",
        source=f"{ICLR}Tables 4, 5, 6",
        data=DATA,
        pieces=_efficiency_pieces,
        run=_efficiency,
    ),
    Study(
        name="adaptivity",
        title="Features at a time",
        source=f"{ICLR}Table 9",
        data=DATA,
        pieces=_adaptivity_pieces,
        run=_adaptivity,
    ),
    Study(
        name="masks",
        title="Forms of the mask",
        source=f"{ICLR}Table 10",
        data=DATA,
        pieces=_masks_pieces,
        run=_masks,
    ),
)
"""The studies of Sequential Attention's tables."""
GAINS = Study(
    name="gains",
    title="Marginal gains and attention",
    source=f"{ICLR}Appendix B.6, Figure 11",
    data=("digits", "breast_cancer", "mnist"),
    pieces=_gains_pieces,
    run=_gains,
)
