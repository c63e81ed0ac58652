"""Rows to train, to validate and to test on: as the references draw and scale them, and without leaks."""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from proofs_checks.experiments.networks.data import Table
from sparselin.neural.baselines.methods import Split
from sparselin.results import FloatArray, IndexArray
from sparselin.validation import check_count

SENTINEL = -100_000.0
"""What stands for a missing value in the references."""


@dataclasses.dataclass(frozen=True)
class Protocol:
    """What of the references' protocol is taken over; each switch is a leak from the test rows.

    Attributes
    ----------
    scale_on_all : the least and the largest values, which go to 0 and 1, are those of all rows, not of the
        training rows (`load_mice`, `load_isolet`, … in data_loader.py, and in LassoNet's data_utils.py).
    class_means_with_sentinel : a missing value becomes the mean of its class, over rows in which those that
        come later still are −100,000, training and test rows together (`load_mice`); else the mean of the
        feature over the training rows.
    by_row : without an official split rows are drawn regardless of their group and class, so that rows of
        one mouse are on both sides (`load_mice`); else whole groups, within each class.
    test_images : of images with official test rows, MNIST and Fashion-MNIST, these 10,000 alone are taken,
        and this share of them is trained on, with an eighth of it for validation; None: all images, as they
        are distributed. LassoNet's data_utils.py has 0.4, its paper 0.8 ("70-10-20", section 5.2).

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
    """Training, validation and test rows, X float32 in [0, 1] on the rows that it was scaled by."""

    X: NDArray[np.float32]
    y: IndexArray
    X_val: NDArray[np.float32]
    y_val: IndexArray
    X_test: NDArray[np.float32]
    y_test: IndexArray
    classes: int

    @property
    def split(self) -> Split:
        """Training and test rows, for `methods.accuracy` and `methods.compare`."""
        return Split(self.X, self.y, self.X_test, self.y_test)


def split(table: Table, protocol: Protocol, seed: int, rows: int | None = None) -> Sets:
    """Draw training, validation and test rows, fill what is missing, and scale to [0, 1].

    The official test rows where there are some; else a fifth. Of the training rows an eighth are for
    validation, as LassoNet prints and both codes do. Without `by_row` whole groups are drawn within each
    class, at least one of each class that has two on each side.

    Features with a unit in common, pixels, have one least and largest value; of others each feature has its
    own. What is constant, or missing, on all rows that it is scaled by is 0 on all rows.

    rows : of the training rows so many at most, those for validation among them.

    Raises ValueError where no row is left for one of the three.

    >>> from proofs_checks.experiments.networks.data import table
    >>> found = split(table("breast_cancer"), HONEST, seed=1)
    >>> found.X.shape, found.X_val.shape, found.X_test.shape, float(found.X.min()), float(found.X.max())
    ((399, 30), (57, 30), (113, 30), 0.0, 1.0)
    """
    rng = np.random.default_rng(seed)
    train, test = _train_test(table, protocol, rng)
    if rows is not None:
        train = rng.permutation(train)[: check_count(rows, "rows", 1)]
    train, validation = _drawn(table, protocol, train, 8, rng)
    if not len(train) * len(validation) * len(test):
        raise ValueError(
            f"{table.title} must have rows to train, to validate and to test on; got {len(train)}, "
            f"{len(validation)} and {len(test)} of {len(table.y)}, at most {rows} of them to train on"
        )
    everything = np.concatenate([train, validation, test])
    reference = everything if protocol.scale_on_all else train
    X = _filled(table, protocol, train)
    low, span = _range(X[reference], table.image is not None)
    scaled = [_scaled(X[part], low, span) for part in (train, validation, test)]
    parts = [(x, table.y[part]) for x, part in zip(scaled, (train, validation, test), strict=True)]
    (X_train, y), (X_val, y_val), (X_test, y_test) = parts
    return Sets(X_train, y, X_val, y_val, X_test, y_test, table.classes)


def _train_test(table: Table, protocol: Protocol, rng: np.random.Generator) -> tuple[IndexArray, IndexArray]:
    every = np.arange(len(table.y))
    if table.n_train is not None:
        train, test = every[: table.n_train], every[table.n_train :]
        if table.image is None or protocol.test_images is None:
            return train, test
        test = rng.permutation(test)
        cut = round(protocol.test_images * len(test))
        return test[:cut], test[cut:]
    return _drawn(table, protocol, every, 5, rng)


def _drawn(
    table: Table, protocol: Protocol, rows: IndexArray, part: int, rng: np.random.Generator
) -> tuple[IndexArray, IndexArray]:
    """A `part`-th of the rows is put aside, in random order: what is left, and that."""
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
        # a class with two groups has one on each side, and one that has a single one is trained on
        aside[own[: min(max(1, round(len(own) / part)), len(own) - 1)]] = True
    return rows[~aside[group]], rows[aside[group]]


def _filled(table: Table, protocol: Protocol, train: IndexArray) -> Any:
    """X without NaN. A feature that no training row has is 0 on all of them, and so 0 when it is scaled."""
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
    """The least value and the span, of all features together or of each."""
    axis = None if together else 0
    low = X.min(axis=axis)
    return low, X.max(axis=axis) - low


def _scaled(X: FloatArray, low: Any, span: Any) -> NDArray[np.float32]:
    """(X − low)/span, 0 where the span is 0."""
    with np.errstate(over="ignore"):
        scaled: Any = np.where(span > 0, (X - low) / np.where(span > 0, span, 1), 0)
    return np.ascontiguousarray(scaled, np.float32)
