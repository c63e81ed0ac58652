"""What SVC, 1-NN and ExtraTrees make of the features that each method selects, and of all of them."""

from __future__ import annotations

import functools
import inspect
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC

from sparselin.experiments.networks.data import Table, table
from sparselin.experiments.networks.methods import METHODS, Split
from sparselin.experiments.networks.pieces import Piece, Record, Scale, Study
from sparselin.experiments.networks.protocol import HONEST, split
from sparselin.results import FeatureRanking, IndexArray

SIZES = (25, 50, 75, 100)
"""Features selected, K of both papers; those below d."""

LEARNERS: dict[str, Callable[[int], Any]] = {
    "SVC": lambda seed: SVC(cache_size=1000),
    "1-NN": lambda seed: KNeighborsClassifier(1, algorithm="brute"),
    "ExtraTrees": lambda seed: ExtraTreesClassifier(50, random_state=seed),
}
"""Name → a classifier for a seed, as scikit-learn has it by default; `cache_size` changes the time only."""

NOT_NESTED = ("Sequential Attention", "concrete autoencoder", "concrete autoencoder of y")
"""Methods whose k features are not the first of the k + 1 of a longer run: for each k a run of its own."""

ALL = "all features"


class Preparation(NamedTuple):
    """How the rows of the all-feature anchors are scaled and divided.

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
    """Training and test rows of a data set without missing values, by a `Preparation`.

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


def score(name: str, rows: Split, support: Any, seed: int) -> tuple[float, float]:
    """The share of test rows that the learner `name`, trained on these features, gets right, and its seconds.

    >>> score("1-NN", prepared_rows(table("digits"), PREPARATIONS["as released"], 1), range(64), 1)[0] > 0.98
    True
    """
    J = np.asarray(support, np.intp)
    begin = time.process_time()
    learner = LEARNERS[name](seed).fit(np.ascontiguousarray(rows.X[:, J]), rows.y)
    right = learner.predict(np.ascontiguousarray(rows.X_test[:, J])) == rows.y_test
    return float(np.mean(right)), time.process_time() - begin


def _anchors(names: Sequence[str], scale: Scale) -> Iterator[Piece]:
    for data in (name for name in _DATA if name in names):
        found = table(data)
        for setting, preparation in PREPARATIONS.items():
            large = found.n_train is not None and found.image is not None
            if large and setting != "as released":
                continue  # the official rows of both, and one range of pixels: the same to 0.1 points
            if preparation.rows == "official" and found.n_train is None:
                continue
            for learner in LEARNERS:
                fixed = preparation.rows != "drawn" and learner != "ExtraTrees"
                for seed in (1,) if fixed else range(1, scale.seeds + 1):
                    yield Piece("anchors", data, learner, found.X.shape[1], seed, setting)


def _anchor(piece: Piece, scale: Scale) -> Record:
    rows = prepared_rows(table(piece.data), PREPARATIONS[piece.setting], piece.seed)
    if scale.rows is not None and scale.rows < _LEAST_FOR_ANCHORS:
        chosen = np.random.default_rng(piece.seed).permutation(len(rows.X))[: scale.rows]
        rows = rows._replace(X=rows.X[chosen], y=rows.y[chosen])
    share, seconds = score(piece.method, rows, range(piece.k), piece.seed)
    timed = {"selecting": 0.0, "fitting": seconds}
    return Record(piece, {piece.method: share}, (), timed, len(rows.X), "all features")


def shortened(method: str, scale: Scale, **options: Any) -> dict[str, Any]:
    """Options for METHODS[method]: these, or its own, with `scale.epochs` of the epochs.

    >>> shortened("LassoNet", Scale(epochs=0.1)), shortened("random", Scale(epochs=0.1))
    ({'epochs': (20, 2)}, {})
    """
    for name in ("epochs", "dense_epochs"):
        known = inspect.signature(METHODS[method]).parameters
        if name in known:
            given = options.get(name, known[name].default)
            parts = tuple(scale.epochs_of(e) for e in given) if isinstance(given, tuple) else None
            options[name] = parts or scale.epochs_of(given)
    return options


def _sizes(d: int) -> list[int]:
    """The K below d, the largest first: the others are its prefixes."""
    return [k for k in reversed(SIZES) if k < d]


def _downstream(names: Sequence[str], scale: Scale) -> Iterator[Piece]:
    for data in (name for name in _DATA if name in names):
        d = table(data).X.shape[1]
        for seed in scale.seeds_of(data):
            yield Piece("downstream", data, ALL, d, seed)
            for method in METHODS:
                for k in _sizes(d):
                    yield Piece("downstream", data, method, k, seed)


@functools.lru_cache(maxsize=1)
def _sets(data: str, seed: int, rows: int | None) -> Split:
    """Training rows, those for validation among them, as nothing is chosen by validation here."""
    sets = split(table(data), HONEST, seed, rows)
    X, y = np.concatenate([sets.X, sets.X_val]), np.concatenate([sets.y, sets.y_val])
    return Split(X, y, sets.X_test, sets.y_test)


@functools.lru_cache(maxsize=2)
def _ranking(data: str, method: str, k: int, seed: int, scale: Scale) -> tuple[FeatureRanking, float]:
    rows = _sets(data, seed, scale.rows)
    begin = time.process_time()
    found = METHODS[method](rows.X, rows.y, k, rng=seed, **shortened(method, scale))
    return found, time.process_time() - begin


def _learned(piece: Piece, scale: Scale) -> Record:
    rows = _sets(piece.data, piece.seed, scale.rows)
    support, seconds, note = tuple(range(piece.k)), 0.0, ""
    if piece.method != ALL:
        longest = piece.k if piece.method in NOT_NESTED else _sizes(rows.X.shape[1])[0]
        ranking, seconds = _ranking(piece.data, piece.method, longest, piece.seed, scale)
        support = tuple(ranking.support[: piece.k].tolist())
        note = "" if longest == piece.k else f"prefix of {longest}"
    results = {name: score(name, rows, support, piece.seed) for name in LEARNERS}
    timed = {"selecting": seconds, "fitting": sum(spent for _, spent in results.values())}
    shares = {name: share for name, (share, _) in results.items()}
    return Record(piece, shares, () if piece.method == ALL else support, timed, len(rows.X), note)


_DATA = ("breast_cancer", "digits", "coil20", "isolet", "mnist", "fashion")
_LEAST_FOR_ANCHORS = 10_000

_SOURCE = "Atashgahi et al., NeuroFS (TMLR 2023), Section 4; Li et al. (2024)"

ANCHORS = Study("anchors", "All features: SVC, 1-NN, ExtraTrees", _SOURCE, _DATA, _anchors, _anchor)
DOWNSTREAM = Study(
    "downstream", "SVC, 1-NN and ExtraTrees on selected features", _SOURCE, _DATA, _downstream, _learned
)
