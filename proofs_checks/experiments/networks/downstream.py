"""What SVC, 1-NN and ExtraTrees make of the features that each method selects, and of all of them."""

from __future__ import annotations

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

from proofs_checks.experiments.networks.data import FORMS, Table, table
from proofs_checks.experiments.networks.pieces import LARGE, Piece, Record, Scale, Study
from proofs_checks.experiments.networks.printed import ALL
from proofs_checks.experiments.networks.protocol import (
    HONEST,
    Picks,
    below,
    called_with,
    pick,
    recorded,
    run_length,
    sets_of,
)
from sparselin.neural.baselines.methods import METHODS, Split
from sparselin.results import IndexArray

SIZES = (25, 50, 75, 100)
"""Features selected, K of both papers; those below d."""

LEARNERS: dict[str, Callable[[int], Any]] = {
    "SVC": lambda seed: SVC(cache_size=1000),
    "1-NN": lambda seed: KNeighborsClassifier(1, algorithm="brute"),
    "ExtraTrees": lambda seed: ExtraTreesClassifier(50, random_state=seed),
}
"""Name → a classifier for a seed, as scikit-learn has it by default; `cache_size` changes the time only."""


class Preparation(NamedTuple):
    """A way to scale and divide the rows of the all-feature anchors.

    scaling : "features" each to [0, 1] over training and test rows, as in NeuroFS (`load_data` in utils.py);
        "together" one range for all of them; "standard" mean 0 and variance 1, over the same rows; "none".
    rows : "released" as in NeuroFS: the official test rows of the images, else scikit-learn's
        train_test_split(test_size=0.2, random_state=42); "official"; "drawn" a fifth by the seed.
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
"""Settings of the study "anchors", in the order in which they are tried."""


def prepared_rows(found: Table, preparation: Preparation, seed: int) -> Split:
    """Return the training and test rows of a data set without missing values, by a `Preparation`.

    Raises ValueError for missing values, official rows that there are not, and names that are none.

    >>> rows = prepared_rows(table("digits"), PREPARATIONS["as released"], seed=1)
    >>> len(rows.X), len(rows.X_test), float(rows.X_test.min()), float(rows.X.max())
    (1437, 360, 0.0, 1.0)
    """
    X = _scaled(found.X, preparation.scaling)
    if not np.isfinite(X).all():
        raise ValueError(f"{found.title} must be without missing values for {preparation}")
    train, test = _rows(found, preparation.rows, seed)
    return Split(X[train], found.y[train], X[test], found.y[test])


def _scaled(X: Any, scaling: str) -> NDArray[np.float32]:
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
            raise ValueError(f"{found.title} has no official test rows")
        return every[: found.n_train], every[found.n_train :]
    if rows not in ("released", "drawn"):
        raise ValueError(f"rows must be released, official or drawn; got {rows!r}")
    train, test = train_test_split(every, test_size=0.2, random_state=42 if rows == "released" else seed)
    return train, test


def score(name: str, rows: Split, support: Any, seed: int) -> float:
    """Return the share of test rows that the learner `name`, trained on these features, gets right.

    >>> score("1-NN", prepared_rows(table("digits"), PREPARATIONS["as released"], 1), range(64), 1) > 0.98
    True
    """
    J = np.asarray(support, np.intp)
    learner = LEARNERS[name](seed).fit(np.ascontiguousarray(rows.X[:, J]), rows.y)
    right = learner.predict(np.ascontiguousarray(rows.X_test[:, J])) == rows.y_test
    return float(np.mean(right))


def _anchors(names: Sequence[str], scale: Scale) -> Iterator[Piece]:
    for data in (name for name in _DATA if name in names):
        form = FORMS[data]
        for setting, preparation in PREPARATIONS.items():
            if data in LARGE and setting != "as released":
                continue  # SVC takes minutes on 60,000 rows, and what is released meets the anchors
            if preparation.rows == "official" and form.n_train is None:
                continue
            for learner in LEARNERS:
                fixed = preparation.rows != "drawn" and learner != "ExtraTrees"
                for seed in (1,) if fixed else range(1, scale.seeds + 1):
                    yield Piece("anchors", data, learner, form.d, seed, setting)


def _anchor(piece: Piece, scale: Scale) -> Record:
    rows = prepared_rows(table(piece.data), PREPARATIONS[piece.setting], piece.seed)
    most = scale.rows_of(piece.data, whole=True)
    if most is not None:
        chosen = np.random.default_rng(piece.seed).permutation(len(rows.X))[:most]
        rows = rows._replace(X=rows.X[chosen], y=rows.y[chosen])
    begin = time.process_time()
    scores = {piece.method: score(piece.method, rows, range(piece.k), piece.seed)}
    return recorded(piece, scores, Picks((), 0.0), begin, len(rows.X), [ALL])


def _downstream(names: Sequence[str], scale: Scale) -> Iterator[Piece]:
    for data in (name for name in _DATA if name in names):
        for seed in scale.seeds_of(data):
            yield Piece("downstream", data, ALL, FORMS[data].d, seed)
            for method in METHODS:
                yield from (Piece("downstream", data, method, k, seed) for k in below(data, SIZES))


@functools.lru_cache(maxsize=1)
def _rows_of(data: str, seed: int, scale: Scale) -> Split:
    """Return the rows; validation rows are trained on, because nothing is chosen by validation here."""
    sets = sets_of(data, HONEST, seed, scale.rows_of(data))
    X, y = np.concatenate([sets.X, sets.X_val]), np.concatenate([sets.y, sets.y_val])
    return Split(X, y, sets.X_test, sets.y_test)


@functools.lru_cache(maxsize=4)
def _picks(data: str, method: str, k: int, seed: int, scale: Scale) -> Picks:
    rows = _rows_of(data, seed, scale)
    options = called_with(method, len(rows.y), scale)
    return pick(method, rows.X, rows.y, k, SIZES[0], seed, options)


def _learned(piece: Piece, scale: Scale) -> Record:
    rows = _rows_of(piece.data, piece.seed, scale)
    run = run_length(piece.method, piece.k, below(piece.data, SIZES)[0])
    picks, notes = _picks(piece.data, piece.method, run, piece.seed, scale).prefix(piece.k)
    begin = time.process_time()
    scores = {name: score(name, rows, picks.order, piece.seed) for name in LEARNERS}
    return recorded(piece, scores, picks, begin, len(rows.X), notes)


_DATA = ("breast_cancer", "digits", "coil20", "isolet", "mnist", "fashion")

_SOURCE = "Atashgahi et al., NeuroFS (TMLR 2023), Section 4; Li et al. (2024)"

ANCHORS = Study("anchors", "All features: SVC, 1-NN, ExtraTrees", _SOURCE, _DATA, _anchors, _anchor)
DOWNSTREAM = Study(
    "downstream", "SVC, 1-NN and ExtraTrees on selected features", _SOURCE, _DATA, _downstream, _learned
)
