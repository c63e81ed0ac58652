"""The accuracy of three learners on the features that each method selects, and on all features.

The learners are a support vector classifier (SVC), the nearest neighbour (1-NN), and extremely randomized
trees (ExtraTrees).
"""

import functools
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC

from proofs_checks.experiments.networks import protocol
from proofs_checks.experiments.networks.baselines.methods import METHODS, Split
from proofs_checks.experiments.networks.data import FORMS, Table, table
from proofs_checks.experiments.networks.pieces import LARGE, Piece, Record, Scale, Study
from proofs_checks.experiments.networks.printed import ALL
from sparselin.results import IndexArray

SIZES = (25, 50, 75, 100)
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
    X = _scale(found.X, preparation.scaling)
    if not np.isfinite(X).all():
        raise ValueError(f"{found.title} must have no missing values for {preparation}")
    train, test = _rows(found, preparation.rows, seed)
    return Split(X[train], found.y[train], X[test], found.y[test])


def _scale(X: Any, scaling: str) -> NDArray[np.float32]:
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


def _rows(found: Table, rows: str, seed: int) -> tuple[IndexArray, IndexArray]:
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
    for data in (name for name in _DATA if name in names):
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
    return protocol.make_record(piece, scores, protocol.Picks((), 0.0), begin, len(rows.X), [ALL])


def _downstream_pieces(names: Sequence[str], scale: Scale) -> Iterator[Piece]:
    for data in (name for name in _DATA if name in names):
        for seed in scale.seeds_of(data):
            yield Piece(study="downstream", data=data, method=ALL, k=FORMS[data].d, seed=seed)
            for method in METHODS:
                yield from (
                    Piece(study="downstream", data=data, method=method, k=k, seed=seed)
                    for k in protocol.sizes_below(data, SIZES)
                )


@functools.lru_cache(maxsize=1)
def _rows_of(data: str, seed: int, scale: Scale) -> Split:
    """Return the training and test rows of a data set.

    Validation rows are added to the training rows, because nothing is validated in this study.
    """
    sets = protocol.sets_of(data, protocol.HONEST, seed, scale.rows_of(data))
    X, y = np.concatenate([sets.X, sets.X_val]), np.concatenate([sets.y, sets.y_val])
    return Split(X, y, sets.X_test, sets.y_test)


@functools.lru_cache(maxsize=4)
def _picks(data: str, method: str, k: int, seed: int, scale: Scale) -> protocol.Picks:
    rows = _rows_of(data, seed, scale)
    options = protocol.options_for(method, len(rows.y), scale)
    return protocol.pick(method, rows.X, rows.y, k, SIZES[0], seed, options)


def _run_downstream(piece: Piece, scale: Scale) -> Record:
    rows = _rows_of(piece.data, piece.seed, scale)
    run = protocol.run_length(piece.method, piece.k, protocol.sizes_below(piece.data, SIZES)[0])
    picks, notes = _picks(piece.data, piece.method, run, piece.seed, scale).prefix(piece.k)
    begin = time.process_time()
    scores = {name: score(name, rows, picks.order, piece.seed) for name in LEARNERS}
    return protocol.make_record(piece, scores, picks, begin, len(rows.X), notes)


_DATA = ("breast_cancer", "digits", "coil20", "isolet", "mnist", "fashion")

_SOURCE = "Atashgahi et al., NeuroFS (TMLR 2023), Section 4; Li et al. (2024)"

ANCHORS = Study(
    name="anchors",
    title="All features: SVC, 1-NN, ExtraTrees",
    source=_SOURCE,
    data=_DATA,
    pieces=_anchor_pieces,
    run=_run_anchor,
)
DOWNSTREAM = Study(
    name="downstream",
    title="SVC, 1-NN and ExtraTrees on selected features",
    source=_SOURCE,
    data=_DATA,
    pieces=_downstream_pieces,
    run=_run_downstream,
)
