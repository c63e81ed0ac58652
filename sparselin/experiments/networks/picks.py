"""What a method picks for several k: for most, one run with the largest k has them all."""

from __future__ import annotations

import inspect
import time
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from sparselin.experiments.networks.methods import METHODS
from sparselin.experiments.networks.pieces import Scale

ALONE = frozenset({"Sequential Attention", "mRMR", "concrete autoencoder", "concrete autoencoder of y"})
"""Methods whose picks for k do not begin with those for a smaller one: phases and selectors are k, and
feature-engine's `MRMR` tells the set but not the order."""

PATHS = frozenset({"LassoNet", "group LASSO"})
"""Methods that drop features: their order is that of leaving, on a path down to the smallest k."""


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


def with_epochs(method: str, options: Mapping[str, Any], scale: Scale) -> dict[str, Any]:
    """The options, with the share of epochs of a scale, those that are defaults of the method among them.

    >>> from sparselin.experiments.networks.pieces import QUICK
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
