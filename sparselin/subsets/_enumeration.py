"""The best subset of at most three of many columns, by the comparison of all sets, without their Gram matrix.

For n ≤ d without a ridge no bound excludes many sets (see `_depth_first`), but three columns can be compared
in a tenth of a nanosecond (`_kernels.triples`). So this search compares all sets: it multiplies some columns
at a time, and holds n·d numbers and a panel of products. For a larger subset, all sets of m − 3 columns are
enumerated, and for each the sets of three that follow them; m is the number of features besides the forced
ones. The sets of 2, …, m columns are compared in turn. So no set of fewer columns is better than the best one
so far, which would make all sets that contain it seem better.

**Sets that rounding leaves open.** The comparison reports every set that may be better than the best one. The
reported sets are compared by projection (`remainder`). If rounding leaves open whether a column of the set is
in the span of the others, the residual of y is computed exactly from the data (`exact_residual`). A pair of
columns that is nearly dependent would be reported with every third column. So the direction in which its
second column leaves the first one is computed exactly, and takes the place of the second column.
Generated features have many such sets: a, b and a + b, or (a·b)·c and a·(b·c).
"""

import itertools
import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from sparselin._kernels import best_subset as kernels
from sparselin._kernels.triples import BOUND, NEAR, triples
from sparselin.parallel.threads import spread_chunks, workers
from sparselin.problem import Problem
from sparselin.problem.errors import TINY
from sparselin.problem.memory import blocks
from sparselin.results import FloatArray, IndexArray
from sparselin.subsets._projected import ProjectedSearch
from sparselin.subsets._search import RivalSets
from sparselin.subsets.dependence import exact_residual, least_residuals, original_columns

# The amount, in units of ‖y‖², above the best value up to which a set is compared exactly.
_MARGIN = 1e-10
# The entries of a panel of products, and the rows and columns of a tile, which fits into the cache.
_PANEL = 2 * 10**7
_ROWS = 128
_WIDTH = 512
# Columns whose error is above this, in units of u, are projected exactly.
_ROUGH = 1e3
# Up to this number of sets is compared if the first one has no residual, only for others that have none.
_QUICK = 10**7
# The number of sets near the best one that rounding leaves open and that are kept.
_DOUBTFUL = 64
# With more sets than this that one call reports, the others are left out, and nothing is proved.
_FLOOD = 10**6


class _Level(NamedTuple):
    """The columns that may be added to some columns, projected off these and scaled to unit length.

    before : the columns to which they may be added.
    features : (f + 1,) the features; the first entry stands for none, and its column is zero.
    Z : (f + 1, n) the columns, by rows; y : (n,) the response, projected and scaled likewise.
    c, w : their products with y, and the bounds on errors for `triples`.
    square : the squared length of the response before it was scaled.
    """

    before: IndexArray
    features: IndexArray
    Z: FloatArray
    y: FloatArray
    c: FloatArray
    w: FloatArray
    square: float


class Enumeration(ProjectedSearch):
    """The comparison of all sets. Its nodes are the tiles of columns j, for each panel of columns i.

    free : the features that may be added to the forced ones.
    open : whether tiles are left.
    floor : the least exact value of the sets that rounding leaves open, or 0 if it is not known.
    doubtful : such sets with their values, if these are near the best one.
    is_open : whether the value of some set is not known.
    """

    step = 1

    def __init__(self, problem: Problem, k: int, forced: IndexArray, left_out: IndexArray) -> None:
        super().__init__(problem, k, forced, left_out)
        m = k - len(forced)
        self.origin = (problem.origin or problem).without_scales()
        self.floor = math.inf
        self.is_open = False
        self.data = self._project_off(self.kernel_data(), forced[:0], forced)
        value = min(self.first.value, float(self.data.y @ self.data.y))
        self.best = kernels.empty_search(m, value, 0)
        first = np.unique(self.data.exact.twins, return_index=True)[1]  # equal columns make equal sets
        free = np.setdiff1d(first[self.data.X[first].any(axis=1)], np.append(forced, left_out))
        # nearly equal columns become neighbours, and the tiles of good sets come first
        self.free = free[np.argsort(-abs(self.data.X[free] @ self.data.y), kind="stable")]
        self.most = min(m, len(self.free))
        few = math.comb(len(self.free), self.most) <= _QUICK
        self.open = self.most > 0 and (value > kernels.SLACK or few)
        if not self.open:
            self._forget_rivals()
        self.doubtful: list[tuple[float, IndexArray]] = []
        self._made: dict[Any, Any] = {}

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_made": {}}

    @property
    def lower(self) -> float:
        if self.open:
            return 0.0
        return max(0.0, min(float(self.best.value[0]) - self.margin, self.floor * (1 - self.margin)))

    @property
    def undecided(self) -> bool:
        return super().undecided or self.floor < self.best.value[0] - kernels.SLACK

    def advance(self, stop: float) -> bool:
        began = self.nodes
        for place in itertools.islice(self._places() if self.open else (), self.nodes, None):
            if self.nodes >= stop:
                if began < stop or self.best.value[0] > kernels.SLACK:
                    return False
                self._forget_rivals()
                break
            if self.best.value[1] <= 0:
                break
            self._examine(*place)
            self.best.counters[kernels.NODES] += 1
        self.open = False
        return True

    def _places(self) -> Iterator[tuple[tuple[int, ...], range, int]]:
        """Yield the tiles: the columns before the last three, by their positions in `free`, panel and tile.

        Of sets of two columns, the first of three is column 0.
        """
        for size in range(min(2, self.most), self.most + 1):
            for before in itertools.combinations(range(len(self.free) - 3), max(0, size - 3)):
                count = len(self.free) - (before[-1] if before else -1)
                height = max(1, _PANEL // count)
                panels = [range(i, min(i + height, count)) for i in range(1, count, height)]
                for panel in panels if size > 2 else [range(1)]:
                    tiles = range(max(1, panel.start), count, _ROWS) if size > 1 else [0]
                    yield from ((before, panel, j) for j in tiles)

    def _examine(self, before: tuple[int, ...], panel: range, j: int) -> None:
        """Compare the sets of one tile."""
        if self._made.get("before") != before:
            self._made = {"before": before, "level": self._project(before)}
        level = self._made["level"]
        if level.square <= self.best.value[1]:  # all these sets are rivals
            self._forget_rivals()
        if level.square <= kernels.SLACK:
            return
        if self._made.get("panel") != panel:
            products = level.Z[panel.start : panel.stop] @ level.Z.T
            if panel.start > 0:
                self._compare_pairs(level, products, panel.start)
            self._made |= {"products": products, "panel": panel}
        self._compare_tile(level, self._made["products"], panel.start, j)

    def _project(self, before: tuple[int, ...]) -> _Level:
        """Project the columns that follow the columns `before` off these."""
        data, features = self.data, self.free
        chosen = self.free[list(before)]
        if before:
            copies = data._replace(X=data.X.copy(), y=data.y.copy(), own=data.own.copy())
            data = self._project_off(copies, self.forced, chosen)
            features = features[before[-1] + 1 :]
        square = float(data.y @ data.y)
        unit = data.exact.unit
        own = data.own
        length = math.sqrt(square) or 1.0
        Z = np.vstack([np.zeros(len(data.y)), data.X[features]])
        y = data.y / length
        w = unit.u * (np.append(0, own[features]) + unit.root + (own[-1] / length + unit.root) / 3)
        return _Level(before=chosen, features=np.append(-1, features), Z=Z, y=y, c=Z @ y, w=w, square=square)

    def _project_off(self, data: kernels.SubsetData, fixed: IndexArray, J: IndexArray) -> kernels.SubsetData:
        """Project the data, which are projected off `fixed` before, off the columns J, one by one.

        Columns that lose many digits in a step, or whose span is open, are computed again exactly.
        """
        for t in range(len(J)):
            members = kernels.project_all(data, J[t : t + 1])
            lost = (data.own[:-1] > _ROUGH) | ((data.own[:-1] == 0) & bool(data.seen[0]))
            data.seen[0] = 0
            volume = data.volume + float(data.exact.volumes[members].sum())
            data = data._replace(fixed=data.fixed + len(members), volume=volume)
            for j in np.flatnonzero(lost):
                e = self._direction(np.append(fixed, J[: t + 1]), int(j))
                if e is not None:
                    data.X[j] = e
                    data.own[j] = e.any()
                elif data.own[j] == 0:
                    self._leave_open()
        return data

    def _goal(self, level: _Level) -> float:
        """Return the share of ‖y‖² by which a set of the level must reduce it, to be better than the best."""
        return min(1.0, 1 - float(self.best.value[1]) / level.square)

    def _compare_tile(self, level: _Level, panel: FloatArray, i: int, j: int) -> None:
        """Compare the sets whose first column is in the panel, from i on, and whose second is in the tile."""
        rows = level.Z[j : j + _ROWS if j else 1]
        count = len(level.Z)
        found: dict[int, IndexArray] = {}
        flooded: list[int] = []

        def compare(start: int, stop: int) -> None:
            T = rows @ level.Z[j + start : j + stop].T
            out = np.empty((_WIDTH, 3), np.intp)
            arguments = T, panel, level.c, level.w, (i, j, j + start), need
            size = triples(*arguments, out)
            if size > _FLOOD:
                flooded.append(start)
            elif size > len(out):
                out = np.empty((size, 3), np.intp)
                triples(*arguments, out)
            found[start] = out[:size]

        with workers(6.0 * len(panel) * len(rows) * (count - j)) as threads:
            need = self._goal(level)
            spread_chunks(compare, count - j, _WIDTH, threads)
            if flooded:  # perhaps with rivals
                self._forget_rivals()
                flooded.clear()
                need = self._goal(level)
                if self.best.value[1] > 0:
                    spread_chunks(compare, count - j, _WIDTH, threads)
        if flooded:
            self._leave_open()
        sets = np.concatenate([found[start] for start in sorted(found)])
        self._compare(level, sets[:, (i == 0) + (j == 0) :])

    def _compare_pairs(self, level: _Level, panel: FloatArray, i: int) -> None:
        """Compare the sets with a nearly dependent pair (a, b), where a is in the panel and a < b."""
        near = 2 * NEAR * BOUND
        given = np.append(self.forced, level.before)
        w = level.w
        for a, g in enumerate(panel, i):
            close = 1 - g**2 <= near * (w[a] + w)
            for b in a + 1 + np.flatnonzero(close[a + 1 :]):
                e = self._direction(np.append(given, level.features[a]), level.features[b])
                error = w[a]
                if e is None:  # the data are rounded
                    e = level.Z[b] - g[b] * level.Z[a]
                    e -= (e @ level.Z[a]) * level.Z[a]
                    length = float(np.linalg.norm(e)) or TINY
                    e = e / length
                    error = error + 2 * (w[a] + w[b]) / length
                if error > 1:
                    self._leave_open()
                elif e.any():
                    third = _third(level, error, g, level.c[a], e, self._goal(level))
                    # of three nearly equal columns, only the pair of the first two counts
                    third = third[(third > 0) & ((third > b) | ~close[third])]
                    self._compare(level, np.stack([0 * third + a, third, 0 * third + b], axis=1))

    def _compare(self, level: _Level, sets: IndexArray) -> None:
        """Compare sets of columns of the level by projection, or exactly where rounding leaves them open."""
        sets = np.column_stack([np.tile(level.before, (len(sets), 1)), level.features[sets]])
        sets = sets[kernels.compare(self.data, self.best, sets)]
        for part in blocks(len(sets), 4.0 * self.problem.n):
            self._compare_exactly(sets[part])

    def _compare_exactly(self, sets: IndexArray) -> None:
        """Compare sets of features that rounding leaves open."""
        forced = np.append(self.forced, self.problem.removed)
        features, places = np.unique(sets, return_inverse=True)
        data = original_columns(self.origin, np.append(features, forced))
        if data is None:
            self._leave_open()
            return
        fixed = np.arange(len(features), data.shape[1] - 1)
        places = np.column_stack([np.tile(fixed, (len(sets), 1)), places.reshape(sets.shape)])
        exponents = np.frexp(np.linalg.norm(data, axis=0))[1]
        unit = np.ldexp(data, -exponents)  # without rounding
        columns = np.moveaxis(unit[:, places], 1, 0)
        scale = np.ldexp(self.problem.y_norm, -exponents[-1])
        least = least_residuals(columns[:, :, :-1], columns[:, :, -1], unit[:, -1]) / scale**2
        for J in places[least <= self.best.value[0] + _MARGIN]:
            r = exact_residual(data[:, J], data[:, -1])
            value = float(r @ r) / self.problem.y_norm**2
            self.floor = min(self.floor, value)
            if value < self.best.value[0] + _MARGIN and len(self.doubtful) < _DOUBTFUL:
                self.doubtful.append((value, np.append(self.forced, features[J[len(fixed) :]])))

    def rivals(self) -> RivalSets:
        sets, is_complete = super().rivals()
        sets += [S for value, S in self.doubtful if value < self.best.value[0] + _MARGIN / 2]
        full = len(self.doubtful) == _DOUBTFUL
        return RivalSets(sets=sets, is_complete=is_complete and not (full or self.is_open))

    def _leave_open(self) -> None:
        """Note that the values of some sets are not known."""
        self.floor = 0.0
        self.is_open = True

    def _forget_rivals(self) -> None:
        """Search for better sets only from now on, not for sets that are as good."""
        self.best.value[1] = min(self.best.value[1], self.best.value[0] - kernels.SLACK)

    def _direction(self, before: IndexArray, j: int) -> FloatArray | None:
        """Return P^⊥X_j/‖P^⊥X_j‖, or zeros, computed exactly, where P^⊥ projects off the columns `before`."""
        removed = np.concatenate([self.problem.removed, before, [j]]).astype(np.intp)
        data = original_columns(self.origin, removed)
        if data is None:
            return None
        r = exact_residual(data[:, :-2], data[:, -2])
        return r / (np.linalg.norm(r) or 1)


def _third(level: _Level, w: float, g: FloatArray, c: float, e: FloatArray, need: float) -> IndexArray:
    """Return the columns that, with a column a and a unit vector e ⟂ a, may reduce ‖y‖² by more than `need`.

    w, g, c : w_a, the products of a with all columns, and its product with y. The test is that of `triples`,
    where L = 1 for e.
    """
    rho = level.Z @ e
    c_e = e @ level.y
    N = need - c * c
    a = level.c - c * g
    f = (N * rho - 2 * c_e * a) * rho + (c_e**2 - N) * (1 - g**2) + a**2
    return np.flatnonzero(f > -BOUND * (2 * w + level.w))
