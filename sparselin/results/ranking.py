"""The result of a method that ranks features: which k it takes, and the scores of all."""

from __future__ import annotations

from collections import Counter

import numpy as np

from sparselin.results.base import FloatArray, IndexArray, Named, Names, Status, ended, result
from sparselin.results.display import Column, Table


@result
class FeatureRanking(Named):
    """k of d features, in order, and the score of each feature by the method.

    Attributes
    ----------
    support : (k,) distinct indices, the best or first first.
    scores : (d,) the method's own measure, larger is better; NaN for features that are constant, which no
        method is shown and which come last.
    picks : what the method itself picked, in its order, with repetitions: `support` begins with the distinct
        ones of them, and where these are fewer than k the features of largest score fill it (FILLED).
    lam : (k,) the λ, of the loss and the data as the method sees them, at which each feature of `support`
        entered, or up to which it stayed; NaN for methods without a penalty.
    method : its name.
    status : COMPLETED, or FILLED.
    n_features : d.
    names : d names of the features, or None.

    Its length is k. `to_frame()` has a row for each feature: step, index, name, score, lam, and picked, how
    many times the method picked it.
    """

    support: IndexArray
    scores: FloatArray
    picks: IndexArray
    lam: FloatArray
    method: str
    status: Status
    n_features: int
    names: Names

    def __len__(self) -> int:
        return len(self.support)

    @property
    def support_names(self) -> tuple[str, ...]:
        """The names of `support`."""
        return self._names_of(self.support)

    @property
    def duplicates(self) -> tuple[tuple[int, int], ...]:
        """Pairs of a feature that was picked more than once, and how many times it was."""
        return tuple((j, times) for j, times in Counter(self.picks.tolist()).items() if times > 1)

    def _headline(self) -> str:
        return f"{self.method}, {len(self)} of {self.n_features} features, {self.status.name}"

    def _table(self) -> Table:
        times = Counter(self.picks.tolist())
        columns = (
            Column("step", "step", np.arange(1, len(self) + 1)),
            Column("index", None, self.support),
            Column("name", "feature", self.support_names),
            Column("score", "score", self.scores[self.support]),
            Column("lam", "λ", self.lam),
            Column("picked", "picked", np.array([times[j] for j in self.support.tolist()], np.intp)),
        )
        return Table(columns, (ended(self.status),))
