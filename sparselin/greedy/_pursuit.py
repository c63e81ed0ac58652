"""Greedy selection of features: a rule says which score decides a pick, and a scheme finds the pick fast.

Methods such as OMP and OLS differ in their rule. A pick of a scheme is certain: within the bounds on rounding
errors, no other column can have the largest score.
"""

import contextlib
from collections.abc import Callable

import numpy as np

from sparselin.greedy._blocks import Blocks
from sparselin.greedy._least_squares import LeastSquares
from sparselin.greedy._method import Callback, GreedyMethod
from sparselin.greedy._outcomes import AddedPicks, Undecided
from sparselin.greedy._runs import Run, picks_singly
from sparselin.greedy._selection import ColumnFit, Selection
from sparselin.greedy._single import FEWEST, LONGEST, ByRule, Screened
from sparselin.greedy._thresholds import floor_of
from sparselin.greedy._walk import walk
from sparselin.linalg.gathered import is_dense
from sparselin.parallel.threads import workers
from sparselin.problem import Problem
from sparselin.results import IndexArray, SelectionPath, Status
from sparselin.validation import Columns

FitConstructor = Callable[[Problem, int], ColumnFit]


class Pursuit:
    """The state of a greedy selection: the selected features, the rule of the method, and a scheme.

    The rule says which score decides a pick; the scheme is a fast way to find picks.
    """

    def __init__(
        self,
        selection: Selection,
        method: GreedyMethod,
        k: int,
        floor: float,
        count: int,
        singly: bool,
        first: Run | None,
    ) -> None:
        self.selection = selection
        self.trail = selection.trail
        self._method = method
        self._k = k
        self._floor = floor
        self._count = count
        self._audit = None if method.by_rule else method.audit
        problem = selection.problem
        self._singly = singly
        in_double = bool(problem.dtype == np.float64)
        screened = in_double and not method.by_rule and problem.n <= LONGEST
        self._can_screen = screened and method.lengths is None
        self._scheme: ByRule
        if method.by_rule:
            self._scheme = ByRule(selection)
        elif singly and screened:
            self._scheme = self._screen(first)
        else:
            self._scheme = Blocks(selection, method, k, count)

    def _worth_screening(self) -> bool:
        return self._can_screen and self._k - len(self.trail.picks) >= FEWEST

    def _screen(self, first: Run | None = None) -> Screened:
        method, at_once = self._method, self._singly
        return Screened(self.selection, method, self._k, self._count, at_once=at_once, first=first)

    def path(self, status: Status) -> SelectionPath:
        return self.selection.path(status)

    def step(self, limit: int) -> Status | None:
        selection = self.selection
        m = len(self.trail.picks)
        t = self.selection.qr.size
        if self._worth_screening() and not self._scheme.efficient:
            del self._scheme  # free its memory first
            self._scheme = self._screen()
        before = None if self._audit is None else selection.correlations().copy()
        outcome = self._scheme.extend(None, self._floor, limit)
        if isinstance(outcome, Undecided):
            pick = Status.BEYOND_PRECISION if selection.undecided else self._method.rule(selection)
            if isinstance(pick, Status):
                return pick
            if pick.feature in selection.excluded:
                return Status.BEYOND_PRECISION
            outcome = self._scheme.extend(pick, self._floor, limit)
        if isinstance(outcome, Undecided):
            return Status.BEYOND_PRECISION
        if not isinstance(outcome, AddedPicks):
            return None
        selection.record(outcome)
        if self._audit is not None and before is not None:
            passed = self._audit(selection, before, self._scheme.products(t), self._count)
            if passed < len(self.trail.picks) - m:
                selection.forget(m + passed)
                return Status.BEYOND_PRECISION
        return None


def begin(
    problem: Problem,
    k: int,
    forced: IndexArray,
    fit: FitConstructor = LeastSquares,
    *,
    by_length: bool = False,
) -> Selection:
    """Return a new selection of the column of ones, if there is an intercept, and the forced features.

    k : the number of features to select, for the size of arrays.
    """
    ones = problem.d - problem.n_features
    selection = Selection(fit(problem, k + ones), by_length=by_length)
    if ones:
        selection.force(problem.with_ones(forced[:0]))
    selection.force(forced)
    return selection


def pursue(
    problem: Problem,
    k: int,
    method: GreedyMethod,
    *,
    tol: float | None = None,
    residual: float | None = None,
    forced: Columns = (),
    callback: Callback | None = None,
    fit: FitConstructor = LeastSquares,
) -> SelectionPath:
    """Select the `forced` features, then pick features until there are k or a status ends the path.

    Let S be the selected columns, r the residual and c = Xᵀr. While the pick is certain, a scheme takes the
    column of largest |c_j|; if the method has `lengths`, it takes the column of largest |c_j|/ρ_j, where
    ρ_j = ‖P_S^⊥X_j‖. On a small problem without forced features, one call of a kernel makes the first picks
    (`Run`). The scheme picks in blocks if blocks are faster, otherwise one by one. If rounding leaves the
    pick undecided, the rule decides. For sparse designs and with `by_rule`, the rule makes every pick. A Gram
    problem can lead to a pick in the span of S. Such a pick is excluded; if the rule returns it again, the
    path ends with BEYOND_PRECISION.

    Parameters
    ----------
    fit : the class of the fit on the selected columns.
    """
    k, first = problem.budget(k, forced)
    if not is_dense(problem):
        method = method._replace(by_rule=True)
    ones = problem.d - problem.n_features
    whole = not (method.by_rule or method.audit or len(first)) and callback is None
    selection = None
    run = None
    if ones or not whole:
        selection = begin(problem, k, first, fit, by_length=method.lengths is not None)
    total_norm = problem.y_norm if selection is None else selection.total_norm
    floor = floor_of(problem, total_norm, tol, residual)
    singly = picks_singly(problem, k, by_length=method.lengths is not None)
    if whole and singly:
        run = Run.begin(problem, k, floor, method, selection)
        status = None if run is None else run.status(k, floor)
        if run is not None and status is not None:
            return run.path(status)
    if selection is None:
        selection = begin(problem, k, first, fit, by_length=method.lengths is not None)
    k += ones
    with contextlib.nullcontext(1) if method.by_rule else workers(2.0 * problem.n * problem.d * k) as count:
        state = Pursuit(
            selection=selection, method=method, k=k, floor=floor, count=count, singly=singly, first=run
        )
        return walk(state, k, floor, callback)
