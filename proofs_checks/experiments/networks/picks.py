"""What a method picks for several k: for most, one run with the largest k has them all."""

from __future__ import annotations

import inspect
import math
import time
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from proofs_checks.experiments.networks.pieces import Scale
from sparselin.neural.baselines.methods import METHODS

ALONE = frozenset({"Sequential Attention", "mRMR", "concrete autoencoder", "concrete autoencoder of y"})
"""Methods whose picks for k do not begin with those for a smaller one: phases and selectors are k, and
feature-engine's `MRMR` tells the set but not the order."""

PATHS = frozenset({"LassoNet", "group LASSO"})
"""Methods that drop features: their order is that of leaving, on a path down to the smallest k."""


LASSONET: dict[str, Any] = {"growth": 1.02, "batch_size": 256, "learning_rate": (1e-3, 1e-3)}
"""Of LassoNet's paths, as in its code; the paper prints the learning rate only."""
DENSE, AT_LAMBDA = 1000, 20
"""Steps of the dense network, unless 10 epochs do not bring the validation loss down, and at each λ.

100 epochs at each λ with all rows in a batch, the defaults of its package, take 117 s for a path of ISOLET
and not 24, and its 50 features are no better on the validation rows (0.841, 0.886). With a growth of 1.1 a
third of the features leaves at one λ.
"""
OPTIONS: Mapping[str, Mapping[str, Any]] = {"Sequential LASSO": {"decrease": 0.02}}
"""What differs from the defaults of a method, LassoNet's apart. λ falls by 2 %, not by 0.1 %, at a time: for
k = 10 on COIL-20 1.4 s instead of 8.9 s, and as good on Mice Protein. To first order the picks are OMP's
either way."""


class Picks(NamedTuple):
    """The features in the order of a method, the best or first first, and the seconds that it took.

    picked : how many of them it picked itself; the others fill up, by their scores and then by their number
        (`Status.FILLED`). None for all.
    """

    order: tuple[int, ...]
    seconds: float
    picked: int | None = None

    def filled(self, k: int) -> str:
        """What a reader of the first k has to know; "" where all of them were picked.

        >>> Picks((4, 2, 0), 1.0, picked=1).filled(3), Picks((4, 2, 0), 1.0, picked=1).filled(1)
        ('1 picked, 2 filled up', '')
        """
        if self.picked is None or k <= self.picked:
            return ""
        return f"{self.picked} picked, {k - self.picked} filled up"


def run_length(method: str, k: int, largest: int) -> int:
    """The k of the run that has the picks for k: `largest`, of methods ALONE k itself.

    >>> run_length("linear OMP", 5, 50), run_length("mRMR", 5, 50)
    (50, 5)
    """
    return k if method in ALONE else largest


def pick(
    method: str, X: Any, y: Any, k: int, smallest: int, seed: int, options: Mapping[str, Any] | None = None
) -> Picks:
    """The k features of a method of METHODS; of those that are not ALONE the first ones are for a smaller k.

    smallest : the least k that is asked for: PATHS go down to it.
    options : of the method, in place of its defaults.

    >>> X = np.eye(4)[[0, 1, 2, 3, 0, 1]]
    >>> pick("linear OMP", X, ["a", "b", "b", "b", "a", "b"], 2, 1, seed=0).order
    (0, 1)
    """
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


def path_epochs(rows: int, scale: Scale) -> tuple[int, int]:
    """The epochs that have DENSE steps, and those that have AT_LAMBDA, or the scale's share of them.

    >>> path_epochs(735, Scale()), path_epochs(8750, Scale())
    ((334, 7), (29, 1))
    """
    batches = math.ceil(rows / LASSONET["batch_size"])
    return scale.epochs_of(math.ceil(DENSE / batches)), scale.epochs_of(math.ceil(AT_LAMBDA / batches))


def called_with(
    method: str, rows: int, scale: Scale, given: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """The options of a method on so many training rows: OPTIONS or LASSONET, and before them those given.

    >>> called_with("Sequential LASSO", 1000, Scale(), {"lam": 0.1})
    {'decrease': 0.02, 'lam': 0.1}
    """
    if method == "LassoNet":
        return {**LASSONET, "epochs": path_epochs(rows, scale), **(given or {})}
    return with_epochs(method, {**OPTIONS.get(method, {}), **(given or {})}, scale)


def with_epochs(method: str, options: Mapping[str, Any], scale: Scale) -> dict[str, Any]:
    """The options, with the share of epochs of a scale, those that are defaults of the method among them.

    >>> from proofs_checks.experiments.networks.pieces import QUICK
    >>> with_epochs("group LASSO", {"epochs": 40}, QUICK)
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
