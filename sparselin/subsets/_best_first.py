"""Best-first branch and bound for the best subset with a ridge, a box, groups or a hierarchy.

A group is a set of features that are selected together; without groups every feature is one. `_relaxation`
derives lower bounds on the objective q. The node of the search tree with the least bound is examined next.
Its relaxation gives a better bound, a set that may be the best, and groups that must, or must not, be
selected. Then the node is split on one group: the one whose variable z in the relaxation is nearest to ½. At
any time the least bound of the open and the closed nodes is a lower bound on q for all sets. With a
hierarchy, only closed sets (see `_hierarchy`) are compared, and it decides some of the groups of a node.
"""

import heapq
import math
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from sparselin._kernels import perspective as kernels
from sparselin.greedy.incumbents import Incumbent, exchange
from sparselin.problem import Problem
from sparselin.problem.errors import EPS, TINY
from sparselin.results import FloatArray, IndexArray, Status
from sparselin.subsets._relaxation import Restrictions, Scaled, Stage
from sparselin.subsets._search import RivalSets, SearchResult, order_by_quotients
from sparselin.subsets._set_values import SetFit, SetValue
from sparselin.subsets._tree_record import NearSets, Node, TreeRecord, certificate_of
from sparselin.subsets.certificate import SubsetCertificate
from sparselin.subsets.certificate_form import Operation

FREE, IN, OUT = kernels.FREE, kernels.IN, kernels.OUT
# D is computed again when this share of the features of a stage is left.
_SHRUNK = 0.5
# A node is relaxed again after groups were fixed in it, this number of times in all.
_REPEATS = 3
# Sets whose values differ by less than this times ½‖y‖² count as equal, unless a certificate is wanted.
_MARGIN = 1e-10
# With a bound that is lower than the value by more than this times ‖y‖² the result is not called optimal.
_LOST = 1e-9
_SLACK = 1e-12  # a decrease of the value by less than this times ½‖y‖² is not an improvement
# The largest `extra` is this number plus a quarter of all nodes.
_SPARE = 200
# The tree of a search with more vectors than this is not kept for a certificate.
_VECTORS = 50_000
_NONE = np.empty(0, np.intp)
# The number of groups that are tried in the place of another one to improve the first sets.
_TRIED = 3


class BestFirst:
    """The state of a best-first search: open nodes, the best sets, and the least bound of the closed nodes.

    Attributes
    ----------
    best, groups : the `SetFit` with the least value so far, and its groups, the forced ones first.
    room : a bound on two changes of the best value: by rounding, and by moving coefficients to a bound that
        they nearly reach (`Scaled.at_bounds`).
    floor : the least lower bound of the closed nodes.
    covered : the least lower bound of the nodes that were closed without fitting a set.
    near : the sets that might be as good as the best one when they were met.
    is_sharp, extra : whether, without a record too, nodes are examined that can only contain sets as good as
        the best one, and the number of these nodes.
    second : the least lower bound of the sets, other than the best, that closed a node.
    nodes, moves : the numbers of examined nodes, and of improvements during the search.
    ceiling : an upper bound on the least value of a set, without rounding errors, if `within` is given.
    listed : the values of the examined sets of exactly k groups that may be within the limit, likewise.
    record : the tree for a certificate, or None.
    """

    step = 1

    def __init__(
        self,
        problem: Problem,
        k: int,
        forced: IndexArray,
        given: Restrictions,
        gap: float = 0.0,
        within: float | None = None,
        left_out: IndexArray = _NONE,
    ) -> None:
        self.problem = problem
        self.k = k
        self.forced = forced
        self.given = given
        self.gap, self.within = gap, within
        self.left_out = left_out
        self.near = NearSets()
        self.is_sharp = gap == 0 and within is None
        self.extra = 0
        self.scaled = Scaled(problem, given)
        self.nodes = self.moves = 0
        self.floor = self.covered = self.second = math.inf
        self.listed: dict[tuple[int, ...], SetValue] = {}
        self.candidates: list[tuple[str, SetFit]] = []
        groups = np.setdiff1d(given.group, left_out)
        self.best = self.scaled.fit(forced)
        self.groups = forced
        self.ceiling = math.inf
        if within is not None:
            self.ceiling = self.scaled.values.value(self.best.J).high
        self.room = 2 * self.scaled.value_error(self.best.coef)
        if len(forced) < k and problem.y_norm > 0:
            self._start()
        stage = Stage(self.scaled, groups)
        state = np.full(len(groups), FREE, np.int8)
        state[np.isin(groups, forced)] = IN
        kept = self.scaled.strict and within is None and problem.y_norm > 0
        self.record = TreeRecord() if kept else None
        if given.is_derived:
            stage = self._narrow(stage, state)
        self.open = [
            Node(
                bound=0.0,
                number=0,
                state=state,
                stage=stage,
                places=np.empty(0, np.intp),
                w=np.empty(0),
                vector=-1,
            )
        ]

    def _narrow(self, stage: Stage, state: Any) -> Stage:
        """Return the stage with a smaller box, derived from the relaxation at the root of the tree."""
        m = self.k - int((state == IN).sum())
        free = state == FREE
        if stage.is_void or m == 0 or free.sum() <= m:
            return stage
        w = np.zeros(len(stage.features))
        H = np.zeros(len(state))
        z = np.zeros(len(state))
        c = w.copy()
        found = kernels.relax(stage.data, state, m, self.target, w, c, H, z)
        if self.record is not None:
            self.record.box = self.record.vector(stage, w)
        limit = self.target if self.within is not None else self.best.value + self.room
        limit += _SLACK * self.scaled.half
        least = np.sort(H[free])[-m]
        low = np.where(free, found + np.maximum(least - H, 0) - 8 * EPS * self.scaled.half, found)
        return stage.narrow(limit, low, w, c, H)

    def _try(self, groups: IndexArray) -> SetFit:
        """Minimise the objective on these groups, and keep the set if it is the best so far."""
        fit = self.scaled.fit(groups)
        if fit.value < self.best.value - _SLACK * self.scaled.half:
            last = self.groups, self.best.value - self.room
            self.second = min(self.second, last[1])
            first = self.forced
            groups = np.append(first, np.setdiff1d(groups, first))
            room = self.scaled.value_error(fit.coef)
            # in one step, so that an interrupted search shows a set with its value
            self.best, self.groups, self.room = fit, groups, 2 * room
            self.moves += 1
            self.near.keep(*last, self.best.value + self.room)
            if self.within is not None:
                self.ceiling = min(self.ceiling, self.scaled.values.value(fit.J).high)
        return fit

    def _start(self) -> None:
        """Find a first set by forward selection, and improve it by exchanges."""
        S, fit = self.forced, self.best
        hierarchy = self.given.hierarchy
        for _ in range(self.k - len(S)):
            S = hierarchy.complete(S, np.argsort(-self.scaled.scores(fit, S), kind="stable"), self.k, 1)
            fit = self._try(S)
        self.candidates = [("orthogonal matching pursuit", fit)]

        def neighbours(incumbent: Incumbent, g: int) -> Iterator[Incumbent]:
            rest = hierarchy.without(incumbent.S, g)
            scores = self.scaled.scores(self.scaled.fit(rest), rest)
            order = np.argsort(-scores, kind="stable")[:_TRIED]
            for i in np.flatnonzero(scores[order] >= 0):
                groups = hierarchy.complete(rest, np.roll(order, -i), self.k)
                yield Incumbent(groups, self.scaled.fit(groups).value)

        def is_better(new: Incumbent, old: Incumbent) -> bool:
            return new.value < old.value - _SLACK * self.scaled.half

        def leaving(incumbent: Incumbent) -> IndexArray:
            return incumbent.S[~np.isin(incumbent.S, self.forced)]

        best = Incumbent(S, fit.value)
        best = [best, *exchange(best, neighbours, is_better, leaving)][-1]
        self.candidates.append(("exchanges", self._try(best.S)))
        self.moves = 0

    @property
    def target(self) -> float:
        """The bound at which a node is closed: no set in it can then be better, or within the limit.

        A value v meets a gap if no set is below v − max(gap·v, _MARGIN·½‖y‖²).
        """
        value = self.best.value
        slack = _SLACK * self.scaled.half
        if self.within is not None:  # above the limit, so that sets at the limit are found
            return max(self.ceiling * (1 + self.within) * (1 + 4 * EPS) + slack, TINY)
        if self.record is not None or (self.is_sharp and self.room <= _MARGIN * self.scaled.half):
            return value * (1 - self.gap) + max(slack, self.room)
        return value - max(self.gap * value, _MARGIN * self.scaled.half)

    def within_limit(self) -> dict[tuple[int, ...], SetValue]:
        """Return the values of the examined sets that may be at most (1 + within) times the least one."""
        limit = self.target
        return {S: value for S, value in self.listed.items() if value.low <= limit}

    @property
    def lower(self) -> float:
        """A lower bound on the objective over all sets."""
        least = self.open[0].bound if self.open else math.inf
        return max(0.0, min(least, self.floor, self.best.value))

    @property
    def support(self) -> IndexArray:
        """The features of the best set so far."""
        return self.scaled.features(self.groups)

    @property
    def bounds(self) -> tuple[float, float]:
        """The least value so far, and a lower bound on it for all sets, in the units of the data."""
        factor = self.scaled.units.factor
        return factor * self.best.value, factor * self.lower

    def advance(self, stop: float) -> bool:
        """Examine the first open node, unless `stop` nodes have been examined; return True if none was left.

        A node whose bound reaches the target has no better set. If all open nodes are such nodes, none is
        left, and they are closed.
        """
        if self.record is not None and len(self.record.vectors) > _VECTORS:
            self.record = None
        proved = self.best.value - _MARGIN * self.scaled.half
        if self.record is None and self.open and self.open[0].bound >= proved:
            self.extra += 1
            self.is_sharp &= self.nodes < stop and self.extra <= _SPARE + self.nodes // 4
        if self.open and self.open[0].bound < self.target:
            if self.nodes < stop:
                self._examine(self.open[0])
            return False
        while self.open:
            self._finish(self.open[0], [("bound", self.open[0].vector)], self.open[0].bound)
        return True

    def _examine(self, node: Node) -> None:
        """Compute the bound of the first open node, then close or split the node.

        If Ctrl-C interrupts this, the node stays open.
        """
        low, _, state, stage, places, entries, vector = node
        operations: list[Operation] = []
        w: FloatArray = np.zeros(len(stage.features))
        state = state.copy()
        left = _REPEATS
        w[places] = entries
        while True:
            if not self.given.hierarchy.decide(stage.groups, state, self.k):
                self._finish(node, operations, math.inf)
                return
            live = state != OUT
            m = self.k - int((state == IN).sum())
            free = np.flatnonzero(state == FREE)
            if m == 0 or len(free) <= m:
                self._leaf(node, stage, state, m, operations)
                return
            if left == 0:
                break
            if stage.is_void or live.sum() <= _SHRUNK * len(stage.groups):
                stage, state, w = self._shrink(stage, state, w)
                free = np.flatnonzero(state == FREE)
            c = np.empty_like(w)
            H = np.empty(len(state))
            z = np.zeros(len(state))
            if stage.is_void:
                break
            found = kernels.relax(stage.data, state, m, self.target, w, c, H, z)
            own = self.record.vector(stage, w) if self.record is not None else -1
            if found >= low:
                low, vector = found, own
            if low >= self.target:
                self._finish(node, [*operations, ("bound", vector)], low)
                return
            order = free[np.argsort(-H[free], kind="stable")]
            self._try(self.given.hierarchy.complete(stage.groups[state == IN], stage.groups[order], self.k))
            fixed = self._fix(stage, state, order, H, m, found, own, operations)
            left = left - 1 if fixed else 0
            if self.within is not None and m == 1 and not fixed:  # each free group ends a set
                for g in np.flatnonzero(state == FREE):
                    self._list(stage.groups[np.append(np.flatnonzero(state == IN), g)])
                self._finish(node, operations, math.inf)
                return
        self._split(node, stage, state, w, z, low, vector, operations)

    def _shrink(self, stage: Stage, state: Any, w: FloatArray) -> tuple[Stage, Any, FloatArray]:
        """Return a stage without the excluded groups, its states and its w.

        If no group is excluded, the arguments are returned.
        """
        live = state != OUT
        if live.all():
            return stage, state, w
        inside = np.isin(self.scaled.group[stage.features], stage.groups[live])
        return Stage(self.scaled, stage.groups[live]), state[live], w[inside]

    def _fix(
        self,
        stage: Stage,
        state: Any,
        order: IndexArray,
        H: FloatArray,
        m: int,
        low: float,
        vector: int,
        operations: list[Operation],
    ) -> bool:
        """Fix free groups as selected or excluded, where the opposite cannot give a better set.

        A group is fixed if the lower bound for the opposite choice reaches the target; but a group that a
        group fixed as selected needs is not excluded. Returns whether some group was fixed as selected.

        order : the free groups, sorted by decreasing H.
        """
        if low == -math.inf:
            return False
        target = self.target + 8 * EPS * self.scaled.half
        h = H[order]
        out = order[m:][low + h[m - 1] - h[m:] >= target]
        inn = order[:m][low + h[:m] - h[m] >= target]
        needed = self.given.hierarchy.closure(stage.groups[inn])
        out = out[~np.isin(stage.groups[out], needed)]  # else no set is left; the next bound shows it
        for places, side, kind in ((out, OUT, "out"), (inn, IN, "in")):
            if len(places):
                self.floor, self.covered = min(self.floor, self.target), min(self.covered, self.target)
                state[places] = side
                operations.append((kind, vector, tuple(stage.groups[places].tolist())))
        return len(inn) > 0

    def _leaf(self, node: Node, stage: Stage, state: Any, m: int, operations: list[Operation]) -> None:
        """Close a node in which only one set is left to be compared, and compare this set.

        The set consists of all selected groups. If all free groups may be added, it contains them too.
        """
        live = stage.groups[(state == IN) if m == 0 else (state != OUT)]
        if self.within is not None:
            if len(live) == self.k:
                self._list(live)
            self._finish(node, operations, math.inf)
            return
        fit = self._try(live)
        low = Stage(self.scaled, live).lower_of(fit, live)[0]
        if low < self.target:
            low = max(low, self.scaled.values.value(fit.J).low)
        self.near.keep(live, low, self.best.value + self.room)
        *sides, stable, binds = self.scaled.at_bounds(fit)
        operation: Operation = ("value", *(tuple(J.tolist()) for J in sides))
        best = (self.groups, *self.scaled.at_bounds(self.best)[:2])
        if self.record is not None and not (stable and binds):
            vector = -1
            proved = low
            if not stage.is_void:
                proved, w = stage.lower_of(fit, live)
                vector = self.record.vector(stage, w)
            operation = ("bound", vector)
            self.second = min(self.second, proved)
        elif not all(map(np.array_equal, map(np.sort, (live, *sides)), map(np.sort, best))):
            self.second = min(self.second, low)
        self._finish(node, [*operations, operation], max(node.bound, low))

    def rivals(self) -> RivalSets:
        """Return the sets that may be as good as the best one, after a completed search."""
        high = self.scaled.values.value(self.best.J).high
        return RivalSets(sets=self.near.below(high), is_complete=self.covered > high and self.near.is_whole)

    def _list(self, groups: IndexArray) -> None:
        """Add a set of k groups and its value to the list, unless the value is above the limit."""
        fit = self._try(groups)
        value = self.scaled.values.value(fit.J)
        self.ceiling = min(self.ceiling, value.high)
        if value.low <= self.target:
            self.listed[tuple(sorted(groups.tolist()))] = value

    def _finish(
        self, node: Node, operations: list[Operation], bound: float, children: tuple[Node, ...] = ()
    ) -> None:
        """Replace the first open node by its children.

        If Ctrl-C interrupts this, the open nodes do not change.
        """
        if self.record is not None:
            self.record.operations[node.number] = operations
        self.floor = min(self.floor, bound)
        if operations and operations[-1][0] == "bound":
            self.covered = min(self.covered, bound)
        following = self.open.copy()
        heapq.heappop(following)
        for child in children:
            heapq.heappush(following, child)
        # in one step, so that an interrupted search can go on
        self.nodes, self.open = self.nodes + 1, following

    def _split(
        self,
        node: Node,
        stage: Stage,
        state: Any,
        w: FloatArray,
        z: FloatArray,
        low: float,
        vector: int,
        operations: list[Operation],
    ) -> None:
        """Replace a node by two children: the sets that contain a certain group, and the sets that do not."""
        free, inside = np.flatnonzero(state == FREE), np.flatnonzero(state == IN)
        if stage.is_void:
            chosen = stage.groups[inside]
            scores = self.scaled.scores(self.scaled.fit(chosen), chosen)[stage.groups[free]]
            best = free[np.argsort(-scores, kind="stable")]
            self._try(self.given.hierarchy.complete(chosen, stage.groups[best], self.k))
            g = int(best[0])
        else:
            g = int(free[np.argmax(np.minimum(z[free], 1 - z[free]) + 1e-9 * z[free])])
        places = np.flatnonzero(w)
        first = state.copy()
        second = state
        first[g], second[g] = IN, OUT
        numbers = 2 * node.number + 1, 2 * node.number + 2
        child = partial(Node, bound=low, stage=stage, places=places, w=w[places], vector=vector)
        children = tuple(
            child(number=number, state=states)
            for number, states in zip(numbers, (first, second), strict=True)
        )
        operations = [*operations, ("split", int(stage.groups[g]), *numbers)]
        self._finish(node, operations, math.inf, children)

    def result(self, status: Status) -> SearchResult:
        """Return the best subset so far. Its coefficients and its value are computed from the data."""
        problem, scaled = self.problem, self.scaled
        support = self._order()
        residuals = [problem.y]
        coef = np.empty(0)
        for t in range(1, len(support) + 1):
            fit = self.scaled.values.solve(support[:t])
            coef = np.ldexp(fit.coef, scaled.units.lift - scaled.units.shift[fit.J])
            residuals.append(problem.y - problem.columns(support[:t]) @ coef)
        squares = np.array([r @ r for r in residuals])
        root = math.sqrt(self.given.ridge) * coef  # the squares of coefficients may overflow
        value = float(squares[-1] + root @ root)
        lower = min(value, scaled.units.factor * self.lower)
        room = _LOST * problem.y_norm**2
        optimal = status is Status.COMPLETED and value - lower <= room
        if status is Status.COMPLETED and value - lower > max(room, self.gap * value):
            status = Status.BEYOND_PRECISION
        elif status is Status.COMPLETED and len(np.unique(self.given.group[support])) < self.k:
            rest = status if self.given.hierarchy.pairs else Status.NO_CORRELATION  # others may need too many
            status = Status.EXACT_FIT if value <= _MARGIN * problem.y_norm**2 else rest
        half = scaled.half
        starts = tuple((name, 1 - fit.value / half if half else 0.0) for name, fit in self.candidates)
        return SearchResult(
            support=support,
            coef=coef,
            squares=squares,
            value=value,
            lower=lower,
            status=status,
            optimal=optimal,
            nodes=self.nodes,
            moves=self.moves,
            candidates=starts,
        )

    def _order(self) -> IndexArray:
        """Return the features of the best set, ordered by orthogonal least squares on this set.

        The forced features come first. Other features with the coefficient 0 are left out, unless the
        hierarchy makes them necessary.
        """
        group = self.given.group
        used = self.best.J[self.best.coef != 0]
        first = np.concatenate([np.empty(0, np.intp), *(np.flatnonzero(group == g) for g in self.forced)])
        units = np.unique(group[used])
        needed = np.isin(group, self.given.hierarchy.closure(units)[len(units) :])
        support = np.append(first, np.setdiff1d(np.append(used, np.flatnonzero(needed)), first))
        return order_by_quotients(self.problem, support, len(first))

    def certificate(self) -> SubsetCertificate | str:
        """Return a certificate of the search so far, or the reason why there is none."""
        return certificate_of(self)
