"""The comparison of all selection methods without leaks from the test rows.

The features are selected on the training rows. A network that is trained on the selected features judges
them. Its number of training steps is chosen on the validation rows, and so are the settings of four methods
on two data sets. The test rows are read once, at the end. Scaling and imputation use the training rows only,
and all rows of a mouse are on one side of the split. This protocol is `protocol.HONEST`.

Three learners judge the features of all methods too: a support vector classifier (SVC), the nearest neighbour
(1-NN), and extremely randomized trees (ExtraTrees). The study "anchors" has their accuracies on all features.
"""

from __future__ import annotations

import copy
import functools
import itertools
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC
from torch import Tensor, nn

from proofs_checks.experiments.networks.baselines.methods import METHODS, Split
from proofs_checks.experiments.networks.data import EMBEDDED, FORMS, OURS, Table, table
from proofs_checks.experiments.networks.pieces import LARGE, Piece, Record, Scale, Study
from proofs_checks.experiments.networks.printed import ALL
from proofs_checks.experiments.networks.protocol import (
    HONEST,
    Picks,
    Sets,
    make_record,
    options_for,
    pick,
    pick_on,
    run_length,
    sets_of,
    sizes_below,
)
from sparselin.neural import training
from sparselin.neural.networks import mlp
from sparselin.results import IndexArray
from sparselin.validation import check_count


def _grid(**values: Sequence[Any]) -> tuple[dict[str, Any], ...]:
    """Return all combinations of the given values of some options; the last option varies fastest."""
    return tuple(dict(zip(values, chosen, strict=True)) for chosen in itertools.product(*values.values()))


SETTINGS: dict[str, tuple[dict[str, Any], ...]] = {
    # The released learning rates are between 10⁻⁵ and 1; on Mice 50 epochs are 12 steps per phase.
    "Sequential Attention": _grid(learning_rate=(3e-4, 1e-3, 3e-3, 1e-2), epochs=(50, 200)),
    # M is 10 in the paper and 30 in the released evaluate.py. A path has (growth − 1)⁻¹ values of λ for each
    # factor e, with steps of 10⁻³ (the paper's) or more: both determine how many features leave at once.
    "LassoNet": _grid(M=(10.0, 30.0), growth=(1.05, 1.02), learning_rate=((1e-3, 1e-3), (1e-3, 3e-3))),
    # As for LassoNet, the length and the number of the steps at each λ; and the decay that bounds V.
    "group LASSO": _grid(learning_rate=(1e-3, 3e-3), epochs=(2, 8), weight_decay=(1e-3, 1e-2)),
    # The mask begins uniform, 1/d; the length and the number of the steps decide how far it moves.
    "feature mask (LLY)": _grid(learning_rate=(1e-3, 1e-2), epochs=(100, 300), mask_width=(32, 128)),
}
"""Eight settings for each method; one is chosen at the largest k. Other options are those of `options_for`.
They were fixed before the run, except LassoNet's: these were drawn again after one tuned record had been
seen, because most features left its paths at one λ."""

TUNED = ("mice", "isolet")


class Tuning(NamedTuple):
    """The best setting of a method on the validation rows, the features that it selects, and the seconds.

    The seconds are those of the search over all settings.
    """

    options: Mapping[str, Any]
    picks: Picks
    seconds: float
    note: str


def tune(method: str, sets: Sets, k: int, smallest: int, seed: int, scale: Scale) -> Tuning:
    """Choose the setting of a method whose k picks give the best accuracy on the validation rows.

    For each setting, a network is trained on the features that the method selects. If several settings have
    the best accuracy, the one with the smallest cross-entropy is chosen. Test rows are not used.

    >>> from proofs_checks.experiments.networks.pieces import QUICK
    >>> sets = sets_of("breast_cancer", HONEST, 1, None)
    >>> tune("group LASSO", sets, 5, 5, 1, QUICK).note.split(":")[0]
    'chosen of 8 by 57 validation rows'
    """
    begin = time.process_time()
    blind = sets._replace(X_test=sets.X_val, y_test=sets.y_val)
    tried: list[tuple[Fit, Picks, dict[str, Any]]] = []
    for setting in SETTINGS[method]:
        options = options_for(method, len(sets.y), scale, setting)
        picks = pick(method, sets.X, sets.y, k, smallest, seed, options)
        tried.append((judge(blind, picks.order, seed, scale), picks, setting))
    _, picks, setting = max(tried, key=lambda trial: (trial[0].validation, -trial[0].loss))
    words = ", ".join(f"{name} {value}" for name, value in setting.items())
    note = f"chosen of {len(tried)} by {len(sets.y_val)} validation rows: {words}"
    return Tuning(options_for(method, len(sets.y), scale, setting), picks, time.process_time() - begin, note)


def judge(sets: Sets, support: Sequence[int], seed: int, scale: Scale) -> Fit:
    """Train a network on these features, and return its results as `fit` does.

    Training takes the share `scale.epochs` of the full number of steps, but at least one step.
    """
    steps, patience = scale.epochs_of(STEPS), scale.epochs_of(PATIENCE)
    return fit(sets, support, seed, steps=steps, patience=patience)


def pieces(names: Sequence[str], scale: Scale) -> Iterator[Piece]:
    """Yield each selection of the study; those of one method and seed for different k follow each other.

    For most methods one run has the selections for all k, and this run is cached.
    """
    for seed, data in scale.draws(names):
        yield Piece(study="honest", data=data, method=ALL, k=FORMS[data].d, seed=seed)
        for method, k in itertools.product(METHODS, sizes_below(data, scale.sizes)):
            yield Piece(study="honest", data=data, method=method, k=k, seed=seed)


def run(piece: Piece, scale: Scale) -> Record:
    """Compute one selection, and return its `Record` with the test accuracy of a network on these
    features.
    """
    data, method, k, seed = piece.data, piece.method, piece.k, piece.seed
    sets = _sets(data, seed, scale)
    largest = sizes_below(data, scale.sizes)[0]
    picks, notes = _picks(data, method, run_length(method, k, largest), seed, scale).prefix(k)
    if data in TUNED and method in SETTINGS:
        chosen = _tuning(data, method, seed, scale)
        notes.insert(0, chosen.note if k == largest else f"{chosen.note}, k = {largest}")
        picks = picks._replace(tuning=chosen.seconds if k == largest else None)
    begin = time.process_time()
    found = judge(sets, picks.order, seed, scale)
    notes.append(f"{found.steps} steps, with {found.validation:.3f} of the validation rows right")
    return make_record(piece, {"network": found.accuracy}, picks, begin, len(sets.y), notes)


def _sets(data: str, seed: int, scale: Scale) -> Sets:
    return sets_of(data, HONEST, seed, scale.rows_of(data))


@functools.lru_cache(maxsize=4)
def _tuning(data: str, method: str, seed: int, scale: Scale) -> Tuning:
    few = sizes_below(data, scale.sizes)
    return tune(method, _sets(data, seed, scale), few[0], few[-1], seed, scale)


def _picks(data: str, method: str, k: int, seed: int, scale: Scale) -> Picks:
    few = sizes_below(data, scale.sizes)
    if data not in TUNED or method not in SETTINGS:
        return pick_on(data, HONEST, method, k, few[-1], seed, scale)
    chosen, sets = _tuning(data, method, seed, scale), _sets(data, seed, scale)
    return chosen.picks if k == few[0] else pick(method, sets.X, sets.y, k, few[-1], seed, chosen.options)


# --- the network that judges picks -----------------------------------------------------------------------

STEPS, PATIENCE, EVERY = 5_000, 500, 25
"""Steps of Adam: at most, at most without a lower validation loss, and between two validations.

These are steps, not epochs, because an epoch has 5 steps on Mice and 70 on 8,750 images. 20,000 steps of a
fifth of the length do not lower the validation loss further (Mice, ISOLET, MNIST, COIL-20 with 10 and 50
features: within 0.04).
"""


class Fit(NamedTuple):
    """The results of a network after the training step with the smallest cross-entropy on the validation
    rows.

    Attributes
    ----------
    accuracy : the accuracy on the test rows.
    validation : the accuracy on the validation rows.
    loss : the mean cross-entropy on the validation rows.
    steps : the number of that step.
    """

    accuracy: float
    validation: float
    loss: float
    steps: int


def fit(
    sets: Sets,
    support: Any,
    seed: int,
    *,
    hidden: Sequence[int] = (67,),
    steps: int = STEPS,
    patience: int = PATIENCE,
    batch_size: int = 128,
    learning_rate: float = 5e-3,
) -> Fit:
    """Train a perceptron on some features, by Adam on the cross-entropy of the training rows.

    The network is that of `methods.accuracy`. The number of training steps is chosen by the validation rows.
    The test rows are read once, by the chosen network.

    Parameters
    ----------
    sets : training, validation and test rows.
    support : (k,) the columns of X that the network reads, k ≥ 1.
    seed : the seed of the weights and of the order of the rows.
    hidden : the widths of the hidden layers.
    steps, patience : the largest number of steps of Adam, and the largest number of steps in a row that do
        not lower the validation loss.
    batch_size, learning_rate : the number of rows that a step uses, and the learning rate of Adam.

    Raises
    ------
    ValueError : a number is out of its range.
    NonFiniteLoss : the loss is NaN or infinite; the message has the number of the step.
    """
    plan = training.make_plan(1, batch_size, learning_rate)
    check_count(steps, "steps", 1)
    check_count(patience, "patience", 1)
    train, judge, test = (_columns(X, support) for X in (sets.X, sets.X_val, sets.X_test))
    rows = training.Rows(train, torch.from_numpy(np.asarray(sets.y, np.int64)))
    target = torch.from_numpy(np.asarray(sets.y_val, np.int64))
    best, kept = Fit(0.0, 0.0, np.inf, 0), {}
    with training.seeded(seed) as generator:
        network = mlp(train.shape[1], hidden, sets.classes, dtype=train.dtype)
        for step in _steps(network, rows, plan, steps, generator):
            output = _outputs(network, judge)
            loss = float(training.cross_entropy(output, target).mean())
            training.check_finite_loss(loss, f"training on the picks, step {step}, the validation rows")
            if loss < best.loss:
                best = Fit(0.0, _accuracy(output, sets.y_val), loss, step)
                kept = copy.deepcopy(network.state_dict())
            if step - best.steps >= patience:
                break
        network.load_state_dict(kept)
    return best._replace(accuracy=_accuracy(_outputs(network, test), sets.y_test))


def _steps(
    network: nn.Module, rows: training.Rows, plan: training.Plan, steps: int, generator: torch.Generator
) -> Iterator[int]:
    """Train the network by Adam on batches, and yield the number of steps after each EVERY steps and at the
    end.
    """
    optimizer, done = plan.adam(network.parameters()), 0
    while done < steps:
        for batch in rows.batches(plan.batch_size, generator):
            optimizer.zero_grad()
            training.backward(
                network, batch, training.cross_entropy, f"training on the picks, step {done + 1}"
            )
            optimizer.step()
            done += 1
            if done % EVERY == 0 or done == steps:
                yield done
            if done == steps:
                return


def _columns(X: Any, support: Any) -> Tensor:
    return torch.from_numpy(np.ascontiguousarray(X[:, np.asarray(support, np.intp)]))


def _outputs(network: nn.Module, X: Tensor) -> Tensor:
    """Return the outputs (n, q) of the network for the rows X, without gradients."""
    with torch.no_grad():
        output: Tensor = network(X)
    return output


def _accuracy(output: Tensor, y: Any) -> float:
    """Return the share of rows for which the largest output belongs to the right class."""
    return float(np.mean(output.argmax(dim=1).numpy() == y))


STUDY = Study(
    name="honest",
    title="Accuracy of a network on k features, without leaks",
    source="ours, after Tables 2, 5 and 6 of Sequential Attention (ICLR 2023)",
    data=(*EMBEDDED, *OURS, "activity"),
    pieces=pieces,
    run=run,
)

# --- three learners that judge picks, and all features ---------------------------------------------------

LEARNER_SIZES = (25, 50, 75, 100)
"""The numbers of selected features, K in both papers; only those below d are used."""

LEARNERS: dict[str, Callable[[int], Any]] = {
    "SVC": lambda seed: SVC(cache_size=1000),
    "1-NN": lambda seed: KNeighborsClassifier(1, algorithm="brute"),
    "ExtraTrees": lambda seed: ExtraTreesClassifier(50, random_state=seed),
}
"""Name ↦ a classifier for a seed, with scikit-learn's defaults; `cache_size` only changes the time."""


class Preparation(NamedTuple):
    """A way to scale and split the rows of a data set, for the study in which learners use all features.

    scaling : "features": each feature is scaled to [0, 1] over training and test rows, as in the released
        code of the paper NeuroFS (`load_data` in utils.py). "together": all features are scaled by one range.
        "standard": each feature has mean 0 and variance 1 over training and test rows. "none": unchanged.
    rows : "released": as in NeuroFS, the official test rows for images, otherwise scikit-learn's
        train_test_split(test_size=0.2, random_state=42). "official": the official test rows. "drawn": a fifth
        of the rows, drawn at random with the seed of the run.
    """

    scaling: str
    rows: str


PREPARATIONS = {
    "as released": Preparation("features", "released"),
    "one range": Preparation("together", "released"),
    "z-scores": Preparation("standard", "released"),
    "as they are": Preparation("none", "released"),
    "official rows": Preparation("features", "official"),
    "rows by the seed": Preparation("features", "drawn"),
}
"""The settings of the study "anchors", in the order in which they run."""


def prepare_rows(found: Table, preparation: Preparation, seed: int) -> Split:
    """Return the training and test rows of a data set, scaled and split by a `Preparation`.

    Raises ValueError if values are missing, if there are no official test rows, or if a name is unknown.

    >>> rows = prepare_rows(table("digits"), PREPARATIONS["as released"], seed=1)
    >>> len(rows.X), len(rows.X_test), float(rows.X_test.min()), float(rows.X.max())
    (1437, 360, 0.0, 1.0)
    """
    X = _scale_features(found.X, preparation.scaling)
    if not np.isfinite(X).all():
        raise ValueError(f"{found.title} must have no missing values for {preparation}")
    train, test = _row_numbers(found, preparation.rows, seed)
    return Split(X[train], found.y[train], X[test], found.y[test])


def _scale_features(X: Any, scaling: str) -> NDArray[np.float32]:
    X = np.asarray(X, np.float64)
    if scaling == "none":
        low, span = np.zeros(1), np.ones(1)
    elif scaling == "standard":
        low, span = X.mean(axis=0), X.std(axis=0)
    elif scaling in ("features", "together"):
        axis = 0 if scaling == "features" else None
        low, span = X.min(axis=axis), np.ptp(X, axis=axis)
    else:
        raise ValueError(f"scaling must be features, together, standard or none; got {scaling!r}")
    return np.asarray((X - low) / np.where(span > 0, span, 1), np.float32)


def _row_numbers(found: Table, rows: str, seed: int) -> tuple[IndexArray, IndexArray]:
    every = np.arange(len(found.y))
    if rows == "official" or (rows == "released" and found.image and found.n_train):
        if found.n_train is None:
            raise ValueError(f"{found.title} has no official test rows: rows must be released or drawn")
        return every[: found.n_train], every[found.n_train :]
    if rows not in ("released", "drawn"):
        raise ValueError(f"rows must be released, official or drawn; got {rows!r}")
    train, test = train_test_split(every, test_size=0.2, random_state=42 if rows == "released" else seed)
    return train, test


def score(name: str, rows: Split, support: Any, seed: int) -> float:
    """Train a learner on the features `support`, and return its accuracy on the test rows.

    >>> score("1-NN", prepare_rows(table("digits"), PREPARATIONS["as released"], 1), range(64), 1) > 0.98
    True
    """
    J = np.asarray(support, np.intp)
    learner = LEARNERS[name](seed).fit(np.ascontiguousarray(rows.X[:, J]), rows.y)
    right = learner.predict(np.ascontiguousarray(rows.X_test[:, J])) == rows.y_test
    return float(np.mean(right))


def _anchor_pieces(names: Sequence[str], scale: Scale) -> Iterator[Piece]:
    for data in (name for name in _LEARNER_DATA if name in names):
        form = FORMS[data]
        for setting, preparation in PREPARATIONS.items():
            if data in LARGE and setting != "as released":
                continue  # SVC takes minutes on 60,000 rows, and the released preparation meets the anchors
            if preparation.rows == "official" and form.n_train is None:
                continue
            for learner in LEARNERS:
                fixed = preparation.rows != "drawn" and learner != "ExtraTrees"
                for seed in (1,) if fixed else range(1, scale.seeds + 1):
                    yield Piece(
                        study="anchors", data=data, method=learner, k=form.d, seed=seed, setting=setting
                    )


def _run_anchor(piece: Piece, scale: Scale) -> Record:
    rows = prepare_rows(table(piece.data), PREPARATIONS[piece.setting], piece.seed)
    most = scale.rows_of(piece.data, whole=True)
    if most is not None:
        chosen = np.random.default_rng(piece.seed).permutation(len(rows.X))[:most]
        rows = rows._replace(X=rows.X[chosen], y=rows.y[chosen])
    begin = time.process_time()
    scores = {piece.method: score(piece.method, rows, range(piece.k), piece.seed)}
    return make_record(piece, scores, Picks((), 0.0), begin, len(rows.X), [ALL])


def _downstream_pieces(names: Sequence[str], scale: Scale) -> Iterator[Piece]:
    for data in (name for name in _LEARNER_DATA if name in names):
        for seed in scale.seeds_of(data):
            yield Piece(study="downstream", data=data, method=ALL, k=FORMS[data].d, seed=seed)
            for method in METHODS:
                yield from (
                    Piece(study="downstream", data=data, method=method, k=k, seed=seed)
                    for k in sizes_below(data, LEARNER_SIZES)
                )


@functools.lru_cache(maxsize=1)
def _learner_rows(data: str, seed: int, scale: Scale) -> Split:
    """Return the training and test rows of a data set.

    Validation rows are added to the training rows, because nothing is validated in this study.
    """
    sets = sets_of(data, HONEST, seed, scale.rows_of(data))
    X, y = np.concatenate([sets.X, sets.X_val]), np.concatenate([sets.y, sets.y_val])
    return Split(X, y, sets.X_test, sets.y_test)


@functools.lru_cache(maxsize=4)
def _learner_picks(data: str, method: str, k: int, seed: int, scale: Scale) -> Picks:
    rows = _learner_rows(data, seed, scale)
    options = options_for(method, len(rows.y), scale)
    return pick(method, rows.X, rows.y, k, LEARNER_SIZES[0], seed, options)


def _run_downstream(piece: Piece, scale: Scale) -> Record:
    rows = _learner_rows(piece.data, piece.seed, scale)
    length = run_length(piece.method, piece.k, sizes_below(piece.data, LEARNER_SIZES)[0])
    picks, notes = _learner_picks(piece.data, piece.method, length, piece.seed, scale).prefix(piece.k)
    begin = time.process_time()
    scores = {name: score(name, rows, picks.order, piece.seed) for name in LEARNERS}
    return make_record(piece, scores, picks, begin, len(rows.X), notes)


_LEARNER_DATA = ("breast_cancer", "digits", "coil20", "isolet", "mnist", "fashion")

_SOURCE = "Atashgahi et al., NeuroFS (TMLR 2023), Section 4; Li et al. (2024)"

ANCHORS = Study(
    name="anchors",
    title="All features: SVC, 1-NN, ExtraTrees",
    source=_SOURCE,
    data=_LEARNER_DATA,
    pieces=_anchor_pieces,
    run=_run_anchor,
)
DOWNSTREAM = Study(
    name="downstream",
    title="SVC, 1-NN and ExtraTrees on selected features",
    source=_SOURCE,
    data=_LEARNER_DATA,
    pieces=_downstream_pieces,
    run=_run_downstream,
)
