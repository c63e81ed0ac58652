"""A search for the best subset that compares sets by projection of y: what two of the three searches share.

The depth-first search (`_depth_first`) and the comparison of all sets (`_enumeration`) work on columns of
unit length, projected off the forced columns. They begin with the sets of greedy methods, and their kernels
keep the best set so far. The value of a set that may be the best is computed by projection, with a bound on
its error (`_kernels.best_subset.remainder`). At the end, the residual of the best set is computed again from
the data.
"""

import numpy as np

from sparselin._kernels import best_subset as kernels
from sparselin.greedy.incumbents import Incumbent, first_sets, squared_residual
from sparselin.greedy.ols import by_quotients
from sparselin.problem import Problem
from sparselin.results import IndexArray, SelectionPath, Status
from sparselin.subsets._search import RivalSets, SearchResult
from sparselin.subsets.unit_data import UnitData

# The least amount, in units of ‖y‖², that is subtracted from lower bounds for rounding in the search. If it
# were smaller, a lower bound might exceed the optimum; if it were larger, close sets would not be
# distinguished.
_MARGIN = 1e-10
# Ten times the margin. If the recomputed squared residual exceeds the one of the search by more than this (in
# units of ‖y‖²), and by more than its own rounding error, the status is BEYOND_PRECISION.
_APART = 1e-9
# With a larger rounding error (10⁻³ of ‖y‖ in ‖r‖) the result is not called optimal.
_LOST = 1e-6


class ProjectedSearch:
    """A search for the best subset of a least squares problem, which compares sets by projection.

    Subclasses make `data` and `best`, and have `advance` and `lower`, see `AnySearch`.

    Attributes
    ----------
    left_out : features that are not searched, because they are multiples of others.
    unit : the columns and y, scaled to unit length.
    first, candidates : the best of the first sets, and the pairs (name, R²) of all of them.
    data : the columns and y, projected off the forced columns.
    best : the state of the kernels, with the best set and its ‖P_S^⊥y‖²/‖y‖².
    """

    step = 16
    data: kernels.SubsetData
    best: kernels.SubsetSearch

    def __init__(self, problem: Problem, k: int, forced: IndexArray, left_out: IndexArray) -> None:
        self.problem = problem
        self.k = k
        self.forced = forced
        self.left_out = left_out
        self.unit = UnitData.by_length(problem, np.arange(problem.d))
        X, y = self.unit.X, self.unit.y
        self.first = Incumbent(forced, squared_residual(X[:, forced], y))
        self.candidates = []
        for name, found in first_sets(X, y, k, forced) if problem.y_norm > 0 else ():
            self.candidates.append((name, 1 - found.value))
            if found.value < self.first.value - kernels.SLACK:
                self.first = found

    def kernel_data(self) -> kernels.SubsetData:
        """Return the scaled columns and y as the data of the kernels."""
        return kernels.SubsetData(
            X=np.array(self.unit.X.T, order="C"),
            y=self.unit.y.copy(),
            exact=self.unit.exact,
            own=np.ones(self.unit.d + 1),
            fixed=0,
            volume=0.0,
            seen=np.zeros(2),
        )

    @property
    def nodes(self) -> int:
        return int(self.best.counters[kernels.NODES])

    @property
    def support(self) -> IndexArray:
        if self.best.counters[kernels.MOVES] == 0:
            return self.first.S
        return np.concatenate([self.forced, self.best.found[: self.best.counters[kernels.SIZE]]])

    @property
    def lower(self) -> float:
        """The lower bound on ‖P_S^⊥y‖²/‖y‖² over all sets S."""
        raise NotImplementedError

    @property
    def bounds(self) -> tuple[float, float]:
        """The value ‖P_S^⊥y‖² of the best set so far, and a lower bound on it for all sets."""
        scale = self.problem.y_norm**2
        return scale * float(self.best.value[0]), scale * self.lower

    @property
    def undecided(self) -> bool:
        """True if rounding leaves open whether some column is in the span of others; its gain is unknown."""
        return bool(self.data.seen[0])

    @property
    def margin(self) -> float:
        """The amount, in units of ‖y‖², by which lower bounds are reduced for rounding."""
        return max(_MARGIN, float(self.data.seen[1]))

    def result(self, status: Status) -> SearchResult:
        """Recompute the residual of the best subset, decide the status, and return the result."""
        problem, k = self.problem, self.k
        scale = problem.y_norm**2
        value = float(self.best.value[0])
        path = _in_order(problem, k, self.support, len(self.forced))
        unforced = self.support[len(self.forced) :]
        least, error = kernels.remainder(self.data, unforced)
        limit = (value + max(_APART, error)) * scale
        if path.residual_norm[-1] ** 2 > limit:  # in that order a nearly dependent column is excluded
            path = by_quotients(problem, len(self.support), forced=self.support, by_rule=True)
        square = float(path.residual_norm[-1] ** 2)
        optimal = status is Status.COMPLETED
        if optimal:
            status = path.status
        fewer = len(path.support) < k and status is Status.COMPLETED
        if square > limit or (optimal and (self.undecided or fewer or max(self.margin, error) > _LOST)):
            status = Status.BEYOND_PRECISION
            optimal = False
        lower = max(0.0, min(square, scale * self.lower, scale * (least - error)))
        return SearchResult(
            support=path.support,
            coef=path.coef,
            squares=path.residual_norm**2,
            value=square,
            lower=lower,
            status=status,
            optimal=optimal,
            nodes=self.nodes,
            moves=int(self.best.counters[kernels.MOVES]),
            candidates=tuple(self.candidates),
        )

    def rivals(self) -> RivalSets:
        """Return the sets whose values may be at most that of the best set.

        Bounds and values in the search have errors of at most _MARGIN, but residuals by projection have been
        noted with their own errors.
        """
        square, error = kernels.remainder(self.data, self.support[len(self.forced) :])
        value = max(float(self.best.value[0]), square) + error
        sets = self.best.rivals[: self.best.counters[kernels.NEARBY]]
        near = self.best.squares[: len(sets)] < value + _MARGIN
        found = [np.append(self.forced, row[1 : row[0] + 1]) for row in sets[near]]
        if self.first.value < value + _MARGIN:
            found.append(self.first.S)
        apart = self.best.value[1] - _MARGIN > value and not self.undecided
        return RivalSets(sets=found, is_complete=bool(apart))

    def certificate(self) -> str:
        """Say that these searches store no vectors from which a certificate could prove their bounds."""
        return "the search for small problems, which is faster, makes none: pass box=np.inf for one that does"


def _in_order(problem: Problem, k: int, support: IndexArray, forced: int) -> SelectionPath:
    """Order the features of the best subset by orthogonal least squares on this subset; return the path.

    forced : the number of forced features, which are the first of `support` and stay first.

    Features that do not reduce the residual are left out. If fewer than k remain, the status of the path is
    that of orthogonal least squares on all columns, started from the subset.
    """
    if len(support) == 0:
        return by_quotients(problem, k, by_rule=True)
    support = np.concatenate([support[:forced], np.sort(support[forced:])])
    within = Problem(problem.columns(support), problem.y)
    order = by_quotients(within, len(support), forced=range(forced), by_rule=True).support
    return by_quotients(problem, k, forced=support[order], by_rule=True)
