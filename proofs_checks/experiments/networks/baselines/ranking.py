"""The result of a baseline: a ranking of features, and its picture."""

from __future__ import annotations

from collections import Counter
from typing import ClassVar

import numpy as np

from sparselin.plots import style
from sparselin.plots.style import BLUE, Axes
from sparselin.results.base import FloatArray, IndexArray, Names, Status, Supported, result
from sparselin.results.display import Column, Table


@result
class FeatureRanking(Supported):
    """A ranking of k of d features, and the score that the method gives each feature.

    Attributes
    ----------
    support : (k,) distinct indices, the best (or the first) feature first.
    scores : (d,) the score by which the method measures a feature; larger is better. Constant features, which
        are not passed to any method and come last, have the score NaN.
    picks : the features that the method itself picked, in its order, with repetitions. `support` begins with
        the distinct picks. If there are fewer than k, the features of largest score follow, and the status is
        FILLED.
    lam : (k,) the λ at which each feature of `support` entered, or up to which it stayed; NaN for methods
        without a penalty. λ refers to the loss and the data that are passed to the method.
    method : the name of the method.
    status : COMPLETED, or FILLED.
    n_features : d.
    names : the d names of the features, or None.

    The length of the result is k. `to_frame()` has a row for each feature: step, index, name, score, lam, and
    picked (the number of times that the method picked it).
    """

    _picture: ClassVar[str] = "proofs_checks.experiments.networks.baselines.ranking:draw"

    support: IndexArray
    scores: FloatArray
    picks: IndexArray
    lam: FloatArray
    method: str
    status: Status
    n_features: int
    names: Names

    @property
    def duplicates(self) -> tuple[tuple[int, int], ...]:
        """Pairs (feature, number of picks) of the features that were picked more than once."""
        return tuple((j, times) for j, times in Counter(self.picks.tolist()).items() if times > 1)

    def _headline(self) -> str:
        return f"{self.method}, {len(self)} of {self.n_features} features, {self.status.name}"

    def _table(self) -> Table:
        times = Counter(self.picks.tolist())
        columns = (
            Column("step", "step", np.arange(1, len(self) + 1)),
            *self._features(self.support, head="feature"),
            Column("score", "score", self.scores[self.support]),
            Column("lam", "λ", self.lam),
            Column("picked", "picked", np.array([times[j] for j in self.support.tolist()], np.intp)),
        )
        return Table(columns, (self.status.line,))


def draw(found: FeatureRanking, *, ax: Axes | None = None) -> Axes:
    """Draw the scores of the selected features, in order.

    >>> from sparselin.results import Status
    >>> picks, scores = np.array([2, 0]), np.array([0.4, 0.1, 0.9])
    >>> found = FeatureRanking(picks, scores, picks, np.full(2, np.nan), "mRMR", Status.COMPLETED, 3, None)
    >>> ax = draw(found)
    >>> [label.get_text() for label in ax.get_yticklabels()], [float(bar.get_width()) for bar in ax.patches]
    (['x2', 'x0'], [0.9, 0.4])
    """
    ax = style.picture(ax, f"score by {found.method}", "", "", (6.6, style.height(len(found))))
    scores = found.scores[found.support]
    finite = np.isfinite(scores)
    if not finite.any():
        return style.note(ax, f"{found.method} has no finite scores")
    ax.barh(np.flatnonzero(finite), scores[finite], height=0.6, color=BLUE)
    style.rows(ax, [style.name(found.names, int(j)) for j in found.support])
    if (scores[finite] % 1 == 0).all():
        style.integers(ax)
    return ax
