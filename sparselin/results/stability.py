"""The results of methods on parts of the rows: stability selection, with its bounds, and leave-one-out."""

from __future__ import annotations

from typing import Any

import numpy as np

from sparselin.results.base import FloatArray, IndexArray, Named, Names, Result, Status, result
from sparselin.results.display import Column, Table, number, plural
from sparselin.validation import check_count, check_real


@result
class StabilitySelection(Named):
    """The first k features of a path on each half of the rows, for B pairs of complementary halves.

    Ŝ_t(A) denotes the first t features of the path on the rows A. The number of forced features is f.

    Attributes
    ----------
    paths : (B, 2, k) for each half of each pair, the features in the order of the path, padded with −1.
    forced : (f,) the forced features, which are the first f of each path.
    threshold : τ, the default threshold of the methods below.
    method : "omp", "ols" or "lasso".
    n_rows : n, the number of rows with a positive weight; a half has ⌊n/2⌋ rows.
    n_features : d.
    status : COMPLETED, STOPPED if the callback stopped the run after B pairs, or BEYOND_PRECISION if some
        path ended so.
    names : the d names of the features, or None.
    undecided : the number of halves whose path ended because rounding left the next step undecided.
    groups : (n_features,) the number of the group of each column, or None. With groups, a group takes the
        place of a feature here: the numbers in `paths` and `forced`, d and the names are those of the groups.

    `to_frame()` has a row for each feature that is in some path, the most frequent first: index, name,
    forced, frequency and simultaneous (Π̂ = `frequencies` and Π̃ = `simultaneous` at t = k), stable_from (the
    least t with Π̂ ≥ τ; NaN if there is no such t).
    """

    paths: IndexArray
    forced: IndexArray
    threshold: float
    method: str
    n_rows: int
    n_features: int
    status: Status
    names: Names
    undecided: int = 0
    groups: IndexArray | None = None

    @property
    def pairs(self) -> int:
        """B, the number of pairs."""
        return len(self.paths)

    @property
    def k(self) -> int:
        """The number of features in each path."""
        return int(self.paths.shape[2])

    @property
    def frequencies(self) -> FloatArray:
        """Π̂ (k, d): the share of the 2B halves whose path has feature j among its first t, in row t − 1."""
        halves = self.paths.reshape(-1, self.k)
        half, place = np.nonzero(halves >= 0)
        return self._shares(place, halves[half, place], 2 * self.pairs)

    @property
    def simultaneous(self) -> FloatArray:
        """Π̃ (k, d): the share of the B pairs with feature j in the first t of both paths, in row t − 1."""
        first, second = self.paths[:, 0, :, None], self.paths[:, 1, None]
        pair, i, j = np.nonzero((first == second) & (first >= 0))
        return self._shares(np.maximum(i, j), self.paths[pair, 0, i], self.pairs)

    def _shares(self, places: IndexArray, features: IndexArray, total: int) -> FloatArray:
        counts = np.zeros((self.k, self.n_features))
        np.add.at(counts, (places, features), 1)
        return np.asarray(np.cumsum(counts, axis=0) / total)

    @property
    def sizes(self) -> FloatArray:
        """The average of |Ŝ_t| over all halves, without the forced features, for t = 1, …, k: an array (k,).

        Ŝ_t are the first t features of a path, and f is the number of forced features. The average estimates
        q_t = E|Ŝ_t|. It is max(t − f, 0), or less if some paths ended before t features.
        """
        first = np.count_nonzero(self.paths.reshape(-1, self.k) >= 0, axis=0).cumsum() / (2 * self.pairs)
        return np.asarray(np.maximum(first - len(self.forced), 0.0))

    def selected(self, t: int | None = None, threshold: float | None = None) -> Any:
        """Return the names of the stable features (Π̂ ≥ τ at t), or their indices if X has no names.

        See `selected_indices` for their order, the parameters and the errors.
        """
        J = self.selected_indices(t, threshold)
        return J if self.names is None else np.array(self._names_of(J), str)

    def selected_indices(self, t: int | None = None, threshold: float | None = None) -> IndexArray:
        """Return the indices of the stable features (Π̂ ≥ τ at t), forced ones included, most frequent first.

        Π̂ is the share of halves on which a feature is among the first t of the path.

        t : by default k.
        threshold : τ, by default the threshold of this result.

        If two features are equally frequent, the one with the larger Π̂_1 + … + Π̂_t comes first. Raises
        ValueError if t is not in 1..k, or τ is not in (1/2, 1].
        """
        frequencies = self.frequencies[: self._step(t) + 1]
        tau = self._threshold(threshold)
        order = _most_frequent(frequencies)
        return np.asarray(order[frequencies[-1, order] >= tau])

    def bound(self, t: int | None = None, threshold: float | None = None, *, unimodal: bool = False) -> float:
        """Bound the expected number of rarely selected features in the result: E|selected(t, τ) ∩ L|.

        Let q = t − f, which does not count the f forced features, so that E|Ŝ_t| ≤ q for the first t features
        Ŝ_t of a path. L is the set of features that the path on a random half has among its first t with
        probability at most θ = q/(d − f). With B pairs of halves, the bound is B·θq/(c − B), where c is the
        least integer ≥ 2Bτ. If τ is a multiple of 1/(2B), the bound is q²/((d − f)(2τ − 1)).

        With `unimodal` the bound is smaller. It then assumes that the distribution of Π̃_j, the share of
        pairs of which both halves select j, is unimodal for each j ∈ L, and needs Bθ² < 1. The docstring of
        `stability_selection` derives both bounds.

        Raises the errors of `selected`, and ValueError for `unimodal` if Bθ² ≥ 1.
        """
        step = self._step(t)
        tau = self._threshold(threshold)
        B = self.pairs
        q = step + 1 - len(self.forced)
        d = self.n_features - len(self.forced)
        if q <= 0:
            return 0.0
        theta = q / d
        s = int(np.count_nonzero(np.arange(2 * B + 1) / (2 * B) < tau)) - B
        if not unimodal:
            return theta * q * B / s
        if not B * theta**2 < 1:
            raise ValueError(f"unimodal needs pairs·θ² < 1; got {B} pairs, θ = {theta:.3g}. Use a smaller t")
        b = np.arange(s, B + 1)
        return theta * q * B * float((2 * (b - s + 1) / (b * (b + 1))).max())

    def _step(self, t: int | None) -> int:
        return (self.k if t is None else check_count(t, "t", 1, self.k)) - 1

    def _threshold(self, threshold: float | None) -> float:
        return self.threshold if threshold is None else check_threshold(threshold)

    def _headline(self) -> str:
        units = "features" if self.groups is None else "groups"
        chosen = f"{len(self.selected_indices())} of {self.n_features} {units} with Π̂ ≥ {self.threshold:g}"
        return f"{chosen} at k = {self.k}, {self.method}, {self.pairs} pairs, {self.status.name}"

    def _table(self) -> Table:
        frequencies = self.frequencies
        both = self.simultaneous[-1]
        order = _most_frequent(frequencies)
        order = order[frequencies[-1, order] > 0]
        stable = frequencies[:, order] >= self.threshold
        since = np.where(stable.any(axis=0), 1.0 + stable.argmax(axis=0), np.nan)
        forced = np.isin(order, self.forced)
        columns = (
            *self._features(order),
            Column("forced", "forced" if forced.any() else None, forced),
            Column("frequency", "Π̂", frequencies[-1, order], 3),
            Column("simultaneous", "Π̃", both[order], 3),
            Column("stable_from", "stable from t", since, 0),
        )
        q, d = self.k - len(self.forced), self.n_features - len(self.forced)
        theta = number(q / d) if d else "0"
        bound = self.bound()
        # Σ Π̂_j ≤ q over the features that are not forced
        most = min(d, int(q / self.threshold * (1 + 1e-12)))
        vain = f". This says nothing, because at most {most} features can have that Π̂; use a smaller k"
        halves = f"{2 * self.pairs} halves, {self.n_rows // 2} rows each"
        notes = [
            f"Π̂ and Π̃: shares of {halves}, and of {self.pairs} pairs",
            f"{number(float(self.sizes[-1]))} features on average on a half, at most {q}",
            f"of the features with Π̂ ≥ {self.threshold:g}, at most {number(bound)} are expected to be "
            f"features that a half selects with probability ≤ {theta}{vain * (bound >= most > 0)}",
        ]
        if self.undecided:
            notes.append(f"{plural(self.undecided, 'path')} ended early: rounding left a step undecided")
        return Table(columns, (*notes, self.status.line))


@result
class LeaveOneOut(Result):
    """The leave-one-out errors of least squares on the first 0, …, t features of a path.

    Attributes
    ----------
    sizes : (t + 1,) the numbers of features 0, …, t, so that entry s of each array is about s features.
    error : (t + 1,) the mean squared error on the rows, each of which is predicted by a fit without it; ∞ if
        some row determines its own fit.
    corrected : (t + 1,) the error multiplied by the correction of `leave_one_out`.
    r2 : (t + 1,) 1 − error/error[0], or 0 if error[0] is 0 or ∞.
    best, best_corrected : the sizes with the least error and with the least corrected error, among the sizes
        that include all forced features; the smallest if there are several.

    `to_frame()` has a row for each size: sizes, error, corrected, r2.
    """

    sizes: IndexArray
    error: FloatArray
    corrected: FloatArray
    r2: FloatArray
    best: int
    best_corrected: int

    def _headline(self) -> str:
        return f"least error with {self.best} features, least corrected error with {self.best_corrected}"

    def _table(self) -> Table:
        heads = {"sizes": "features", "error": "error", "corrected": "corrected", "r2": "R²"}
        columns = tuple(Column(key, head, getattr(self, key)) for key, head in heads.items())
        return Table(columns, ("mean squared errors at fixed supports: they ignore the selection",))


def _most_frequent(frequencies: FloatArray) -> IndexArray:
    """Return all features, the most frequent first: by the last row, then by the sum of the rows."""
    return np.lexsort((-frequencies.sum(axis=0), -frequencies[-1]))


def check_threshold(threshold: float) -> float:
    """Check that the threshold τ is in (1/2, 1] and return it."""
    words = "in (1/2, 1], because the bound holds only there"
    return check_real(threshold, "threshold", lambda tau: 0.5 < tau <= 1, words)
