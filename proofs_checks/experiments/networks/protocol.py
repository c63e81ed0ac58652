"""The preparation of a data set, and the selection of features on it, which all network studies share.

Training, validation and test rows are drawn and scaled as in the papers' released code, or without leaks from
the test rows. For most methods one run that selects the largest number of features also has the selections of
all smaller numbers.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import math
import time
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from proofs_checks.experiments.networks.baselines.methods import METHODS, Split
from proofs_checks.experiments.networks.data import FORMS, Table, table
from proofs_checks.experiments.networks.pieces import Piece, Record, Scale
from proofs_checks.experiments.networks.printed import ALL
from sparselin.results import FloatArray, IndexArray
from sparselin.validation import check_count

SENTINEL = -100_000.0
"""The number that the references put in place of a missing value."""


@dataclasses.dataclass(frozen=True)
class Protocol:
    """The protocol by which rows are split and scaled, with a switch for each leak in the papers' released
    code.

    Attributes
    ----------
    scale_on_all : features are scaled to [0, 1] by the smallest and the largest value of all rows, not only
        of the training rows (`load_mice`, `load_isolet`, … in data_loader.py, and LassoNet's data_utils.py).
    class_means_with_sentinel : a missing value is replaced by the mean of the feature in its class, over
        training and test rows. In this mean, missing values that are not replaced yet count as −100,000
        (`load_mice`). If False, a missing value is replaced by the mean of the feature over the training
        rows.
    by_row : if a data set has no official split, single rows are drawn, so that rows of one mouse can be in
        the training and in the test rows (`load_mice`). If False, whole groups of rows, for example all rows
        of a mouse, are drawn within each class.
    test_images : for MNIST and Fashion-MNIST, only the 10,000 official test images are used, and
        `test_images` is the share of these images that is used for training. An eighth of this share is for
        validation. None: all images are used, with the official split. LassoNet's data_utils.py has 0.4, and
        the LassoNet paper has 0.8 ("70-10-20", section 5.2).

    >>> PAPER
    Protocol(scale_on_all=True, class_means_with_sentinel=True, by_row=True, test_images=None)
    """

    scale_on_all: bool = False
    class_means_with_sentinel: bool = False
    by_row: bool = False
    test_images: float | None = None


PAPER = Protocol(True, True, True)
HONEST = Protocol()


class Sets(NamedTuple):
    """Training, validation and test rows of a data set.

    X is float32. It is in [0, 1] on the rows that determine the scaling.
    """

    X: NDArray[np.float32]
    y: IndexArray
    X_val: NDArray[np.float32]
    y_val: IndexArray
    X_test: NDArray[np.float32]
    y_test: IndexArray
    classes: int

    @property
    def split(self) -> Split:
        """The training and test rows without the validation rows, for `methods.accuracy` and
        `methods.compare`.
        """
        return Split(self.X, self.y, self.X_test, self.y_test)


@functools.lru_cache(maxsize=2)
def sets_of(data: str, protocol: Protocol, seed: int, rows: int | None) -> Sets:
    """Return the training, validation and test rows of a data set by its name; the last two results are
    cached.
    """
    return split(table(data), protocol, seed, rows)


def split(table: Table, protocol: Protocol, seed: int, rows: int | None = None) -> Sets:
    """Draw training, validation and test rows, fill missing values, and scale to [0, 1].

    The test rows are the official ones, or a fifth of all rows if the data set has no official split. An
    eighth of the other rows are for validation, as in LassoNet's paper and in the released code of both
    papers. If the protocol does not draw single rows, whole groups of rows are drawn within each class. A
    class with two or more groups then has at least one group on each side of the split.

    Pixels have a common unit and are scaled by one minimum and maximum for all of them. Other features are
    scaled one by one. A feature that is constant or missing on all rows that determine the scaling is 0 on
    all rows.

    rows : the largest number of training rows, validation rows included.

    Raises ValueError if training, validation or test rows would be empty.

    >>> found = split(table("breast_cancer"), HONEST, seed=1)
    >>> found.X.shape, found.X_val.shape, found.X_test.shape, float(found.X.min()), float(found.X.max())
    ((399, 30), (57, 30), (113, 30), 0.0, 1.0)
    """
    rng = np.random.default_rng(seed)
    train, test = _train_test(table, protocol, rng)
    if rows is not None:
        train = rng.permutation(train)[: check_count(rows, "rows", 1)]
    train, validation = _draw(table, protocol, train, 8, rng)
    if not len(train) * len(validation) * len(test):
        raise ValueError(
            f"{table.title} must have training, validation and test rows; got {len(train)}, "
            f"{len(validation)} and {len(test)} of {len(table.y)} rows, with at most {rows} training rows"
        )
    everything = np.concatenate([train, validation, test])
    reference = everything if protocol.scale_on_all else train
    X = _fill(table, protocol, train)
    low, span = _range(X[reference], table.image is not None)
    X_train, X_val, X_test = (_scale(X[part], low, span) for part in (train, validation, test))
    y = table.y
    return Sets(
        X=X_train,
        y=y[train],
        X_val=X_val,
        y_val=y[validation],
        X_test=X_test,
        y_test=y[test],
        classes=table.classes,
    )


def _train_test(table: Table, protocol: Protocol, rng: np.random.Generator) -> tuple[IndexArray, IndexArray]:
    """Return the training rows (validation rows included) and the test rows of a data set."""
    every = np.arange(len(table.y))
    if table.n_train is not None:
        train, test = every[: table.n_train], every[table.n_train :]
        if table.image is None or protocol.test_images is None:
            return train, test
        test = rng.permutation(test)
        cut = round(protocol.test_images * len(test))
        return test[:cut], test[cut:]
    return _draw(table, protocol, every, 5, rng)


def _draw(
    table: Table, protocol: Protocol, rows: IndexArray, part: int, rng: np.random.Generator
) -> tuple[IndexArray, IndexArray]:
    """Draw a share of 1/part of the given rows at random. Return the other rows, and the drawn rows.

    Unless the protocol draws single rows, whole groups of rows are drawn within each class.
    """
    rows = rng.permutation(rows)
    if protocol.by_row:
        left = len(rows) - len(rows) // part
        return rows[:left], rows[left:]
    groups = rows if table.groups is None else table.groups[rows]
    names, first, group = np.unique(groups, return_index=True, return_inverse=True)
    classes = table.y[rows][first]
    aside = np.zeros(len(names), bool)
    for c in np.unique(classes):
        own = rng.permutation(np.flatnonzero(classes == c))
        # a class with two groups has one on each side; a class with a single group is trained on
        aside[own[: min(max(1, round(len(own) / part)), len(own) - 1)]] = True
    return rows[~aside[group]], rows[aside[group]]


def _fill(table: Table, protocol: Protocol, train: IndexArray) -> Any:
    """Return X with every missing value replaced as the protocol says.

    If the mean of the training rows is used, a feature that is missing in all of them becomes 0.
    """
    missing = np.isnan(table.X)
    if not missing.any():
        return table.X
    X = np.where(missing, SENTINEL, table.X)
    if protocol.class_means_with_sentinel:
        for i, j in np.argwhere(missing):
            X[i, j] = X[table.y == table.y[i], j].mean()
        return X
    known = ~missing[train]
    counts = known.sum(axis=0)
    means = np.where(known, table.X[train], 0).sum(axis=0) / np.maximum(counts, 1)
    return np.where(missing, means, table.X)


def _range(X: FloatArray, together: bool) -> tuple[Any, Any]:
    """Return the minimum and the range (maximum − minimum) of each feature, or of all features `together`."""
    axis = None if together else 0
    low = X.min(axis=axis)
    return low, X.max(axis=axis) - low


def _scale(X: FloatArray, low: Any, span: Any) -> NDArray[np.float32]:
    """Scale X to (X − low)/span, and to 0 where the span is 0."""
    with np.errstate(over="ignore"):
        scaled: Any = np.where(span > 0, (X - low) / np.where(span > 0, span, 1), 0)
    return np.ascontiguousarray(scaled, np.float32)


# --- the picks of a method -------------------------------------------------------------------------------

NOT_NESTED = frozenset({"Sequential Attention", "mRMR", "concrete autoencoder", "concrete autoencoder of y"})
"""Methods whose picks for k do not begin with the picks for a smaller k: they have k phases or k selectors,
and feature-engine's `MRMR` returns the set but not the order."""

PATHS = frozenset({"LassoNet", "group LASSO"})
"""Methods that drop features on a path down to the smallest k; the order of leaving ranks the features."""

LASSONET: dict[str, Any] = {"growth": 1.02, "batch_size": 256, "learning_rate": (1e-3, 1e-3)}
"""Options of LassoNet's paths, as in its code; the paper prints only the learning rate."""
DENSE, AT_LAMBDA = 1000, 20
"""Steps of the dense network (fewer if 10 epochs do not lower the validation loss), and steps at each λ.

The defaults of LassoNet's package, 100 epochs at each λ with all rows in a batch, take 117 s instead of 24 s
for a path of ISOLET, and its 50 features are no better on the validation rows (0.841, here 0.886). With a
growth of 1.1, a third of the features leave at one λ.
"""
OPTIONS: Mapping[str, Mapping[str, Any]] = {"Sequential LASSO": {"decrease": 0.02}}
"""Options that differ from the defaults of a method, except LassoNet's. λ falls by 2 % at a time, not by
0.1 %: for k = 10 on COIL-20 this takes 1.4 s instead of 8.9 s, and it is as good on Mice Protein. To first
order the picks are those of OMP in both cases."""


class Picks(NamedTuple):
    """The features in the order in which a method selects them, the best first, and the seconds of the
    selection.

    picked : the number of features that the method selected itself, or None for all. The other features were
        appended in the order of their scores, and then of their indices (`Status.FILLED`).
    tuning : the seconds of the search for the method's settings. None if there was no search, or if the
        search was made for another number of features.
    """

    order: tuple[int, ...]
    seconds: float
    picked: int | None = None
    tuning: float | None = None

    def prefix(self, k: int) -> tuple[Picks, list[str]]:
        """Return the first k features as a selection of its own, and notes for the reader.

        If this selection is shorter, its seconds are 0, because the time belongs to the longer selection.
        """
        length = len(self.order)
        notes = [f"prefix of {length}, which has the seconds"] if k < length else []
        return Picks(self.order[:k], self.seconds if k == length else 0.0), [
            *notes,
            *filter(None, [self.fill_note(k)]),
        ]

    def fill_note(self, k: int) -> str:
        """Return a note on how many of the first k features the method did not select itself; "" if it
        selected all.

        >>> Picks((4, 2, 0), 1.0, picked=1).fill_note(3), Picks((4, 2, 0), 1.0, picked=1).fill_note(1)
        ('1 picked, 2 filled up', '')
        """
        if self.picked is None or k <= self.picked:
            return ""
        return f"{self.picked} picked, {k - self.picked} filled up"


def sizes_below(data: str, sizes: Iterable[int]) -> list[int]:
    """Return those of the given sizes that are below the number of features of a data set, the largest first.

    >>> sizes_below("mice", (5, 10, 50, 100))
    [50, 10, 5]
    """
    return sorted((k for k in sizes if k < FORMS[data].d), reverse=True)


def run_length(method: str, k: int, largest: int) -> int:
    """Return how many features a method must select in the run from which its selection of k features is
    taken.

    This number is `largest` for most methods, whose first k picks are their selection for k. It is k for the
    methods in NOT_NESTED, and for ALL, which uses all features.

    >>> run_length("linear OMP", 5, 50), run_length("mRMR", 5, 50)
    (50, 5)
    """
    return k if method == ALL or method in NOT_NESTED else largest


def pick(
    method: str, X: Any, y: Any, k: int, smallest: int, seed: int, options: Mapping[str, Any] | None = None
) -> Picks:
    """Select k features by a method. Unless the method is in NOT_NESTED, its first j picks are its selection
    of j features.

    method : a key of METHODS, or ALL, which takes the first k features.
    smallest : the smallest number of features in the study. LassoNet and group LASSO remove features from a
        network until this number is left.
    options : options of the method that replace its defaults.

    >>> X = np.eye(4)[[0, 1, 2, 3, 0, 1]]
    >>> pick("linear OMP", X, ["a", "b", "b", "b", "a", "b"], 2, 1, seed=0).order
    (0, 1)
    """
    if method == ALL:
        return Picks(tuple(range(k)), 0.0)
    given = dict(options or {})
    begin = time.process_time()
    if method == "LassoNet":
        given["down_to"] = smallest
    run = min(k, smallest) if method == "group LASSO" else k
    ranking = METHODS[method](X, y, run, rng=seed, **given)
    order = ranking.support if run == k else np.argsort(-ranking.scores, kind="stable")[:k]
    picked = len(set(ranking.picks.tolist())) if run == k else k
    seconds = time.process_time() - begin
    return Picks(tuple(order.tolist()), seconds, picked if picked < k else None)


@functools.lru_cache(maxsize=4)
def pick_on(
    data: str, protocol: Protocol, method: str, k: int, smallest: int, seed: int, scale: Scale
) -> Picks:
    """Select k features by a method on the training rows of a data set, with the options of the scale.

    The result is that of `pick`. The last four results are cached.
    """
    sets = sets_of(data, protocol, seed, scale.rows_of(data))
    return pick(method, sets.X, sets.y, k, smallest, seed, options_for(method, len(sets.y), scale))


def make_record(
    piece: Piece, scores: Mapping[str, float], picks: Picks, began: float, rows: int, notes: Iterable[str]
) -> Record:
    """Return the `Record` of one selection or training, with its scores, its features and its seconds.

    `began` is the process time at which the features had been selected and the training of the judging
    network began.
    """
    seconds = {"selecting": picks.seconds, "fitting": time.process_time() - began}
    if picks.tuning is not None:
        seconds["tuning"] = picks.tuning
    support = () if piece.method == ALL else picks.order
    return Record(
        piece=piece,
        scores=scores,
        support=support,
        seconds=seconds,
        rows=rows,
        note="; ".join(filter(None, notes)),
    )


def path_epochs(rows: int, scale: Scale) -> tuple[int, int]:
    """Return the epochs of the dense training, and those at each λ of a path, for a number of training rows.

    The dense training has about DENSE steps, and the training at each λ about AT_LAMBDA steps; both are
    multiplied by the share of the epochs that the scale of the run prescribes.

    >>> path_epochs(735, Scale()), path_epochs(8750, Scale())
    ((334, 7), (29, 1))
    """
    batches = math.ceil(rows / LASSONET["batch_size"])
    return scale.epochs_of(math.ceil(DENSE / batches)), scale.epochs_of(math.ceil(AT_LAMBDA / batches))


def options_for(
    method: str, rows: int, scale: Scale, given: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Return the options of a method for a number of training rows; the options `given` replace the defaults.

    >>> options_for("Sequential LASSO", 1000, Scale(), {"lam": 0.1})
    {'decrease': 0.02, 'lam': 0.1}
    """
    if method == ALL:
        return {}
    if method == "LassoNet":
        return {**LASSONET, "epochs": path_epochs(rows, scale), **(given or {})}
    return scale_epochs(method, {**OPTIONS.get(method, {}), **(given or {})}, scale)


def scale_epochs(method: str, options: Mapping[str, Any], scale: Scale) -> dict[str, Any]:
    """Return the options of a method with the share of its epochs that the scale of the run prescribes.

    This also holds for epochs that are defaults of the method.

    >>> from proofs_checks.experiments.networks.pieces import QUICK
    >>> scale_epochs("group LASSO", {"epochs": 40}, QUICK)
    {'epochs': 4, 'dense_epochs': 2}
    """
    if scale.epochs == 1:
        return dict(options)
    found = {
        name: parameter.default
        for name, parameter in inspect.signature(METHODS[method]).parameters.items()
        if name in ("epochs", "dense_epochs")
    }
    found = {**found, **{name: value for name, value in options.items() if name in found}}
    less = {
        name: tuple(map(scale.epochs_of, value)) if isinstance(value, tuple) else scale.epochs_of(value)
        for name, value in found.items()
    }
    return {**options, **less}
