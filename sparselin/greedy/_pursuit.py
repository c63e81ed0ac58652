"""Greedy selection of features: a rule says which score decides a pick, and a scheme finds the pick fast.

Methods such as OMP and OLS differ in their rule. A pick of a scheme is certain: within the bounds on rounding
errors, no other column can have the largest score.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable

from sparselin.greedy._blocks import Blocks
from sparselin.greedy._selection import Callback, Lengths, Selection, begin
from sparselin.greedy._single import FEWEST, SMALL, ByRule, Screened, can_screen
from sparselin.greedy._walk import Pick, walk
from sparselin.linalg.gathered import is_dense
from sparselin.parallel.threads import workers
from sparselin.problem import Problem
from sparselin.results import FloatArray, SelectionPath, Status
from sparselin.validation import Columns

Rule = Callable[[Selection], Pick | Status]
Audit = Callable[[Selection, FloatArray, FloatArray, int], int]


class Pursuit:
    """The state of a greedy selection: the selected features, the rule of the method, and a scheme.

    The rule says which score decides a pick; the scheme is a fast way to find picks.
    """

    def __init__(
        self,
        selection: Selection,
        rule: Rule,
        k: int,
        floor: float,
        count: int,
        lengths: Lengths | None,
        with_active: bool,
        audit: Audit | None,
        by_rule: bool,
    ) -> None:
        self.selection, self.trail = selection, selection.trail
        self._rule, self._k, self._floor, self._count = rule, k, floor, count
        self._with_active, self._audit = with_active, None if by_rule else audit
        problem = selection.problem
        self._can_screen = not by_rule and lengths is None and can_screen(problem)
        self._scheme: ByRule
        if by_rule:
            self._scheme = ByRule(selection)
        elif self._worth_screening() and problem.n * problem.d <= SMALL:
            self._scheme = self._screen()
        else:
            self._scheme = Blocks(selection, k, count, lengths, with_active, audit is not None)

    def _worth_screening(self) -> bool:
        return self._can_screen and self._k - len(self.trail.picks) >= FEWEST

    def _screen(self) -> Screened:
        return Screened(self.selection, self._k, self._count, self._with_active)

    def path(self, status: Status) -> SelectionPath:
        return self.selection.path(status)

    def step(self, limit: int) -> Status | None:
        selection, m, t = self.selection, len(self.trail.picks), self.selection.qr.size
        if self._worth_screening() and not self._scheme.efficient:
            del self._scheme  # free its memory first
            self._scheme = self._screen()
        pick = self._scheme.certain_pick() or self._rule(selection)
        if isinstance(pick, Status):
            return pick
        if pick.feature in selection.excluded:
            return Status.BEYOND_PRECISION
        before = None if self._audit is None else selection.correlations().copy()
        added = self._scheme.extend(pick, self._floor, limit)
        if not added.picks:
            selection.exclude(pick.feature)
            return None
        selection.record(added)
        if self._audit is not None and before is not None:
            passed = self._audit(selection, before, self._scheme.products(t), self._count)
            if passed < len(self.trail.picks) - m:
                selection.forget(m + passed)
                return Status.BEYOND_PRECISION
        return None


def pursue(
    problem: Problem,
    k: int,
    rule: Rule,
    *,
    tol: float | None = None,
    residual: float | None = None,
    forced: Columns = (),
    callback: Callback | None = None,
    lengths: Lengths | None = None,
    with_active: bool = False,
    audit: Audit | None = None,
    by_rule: bool = False,
    state: type[Selection] = Selection,
) -> SelectionPath:
    """Select the `forced` features, then pick features until there are k or a status ends the path.

    Let S be the selected columns, r the residual and c = Xᵀr. While the pick is certain, a scheme takes the
    column of largest |c_j|; if `lengths` are given, it takes the column of largest |c_j|/ρ_j, where
    ρ_j = ‖P_S^⊥X_j‖. The scheme picks in blocks if blocks are faster, otherwise one by one. If rounding
    leaves the pick undecided, the rule decides. For sparse designs and with `by_rule`, the rule makes every
    pick. A Gram problem can lead to a pick in the span of S. Such a pick is excluded; if the rule returns it
    again, the path ends with BEYOND_PRECISION.

    Parameters
    ----------
    with_active : record A(S), the features that enter the LASSO first; for a pick i that is certain, {i}.
    audit : a function that checks picks after they were added, called as audit(selection, c, W, threads).
        Here c is Xᵀr before these picks, and W = QᵀX for the columns of Q that belong to them, where
        X_S = QR. It returns how many of the picks pass the audit. The path ends with BEYOND_PRECISION before
        the first pick that fails.
    state : the class of the selection.
    """
    selection, k, floor = begin(problem, k, tol, residual, forced, state)
    by_rule = by_rule or not is_dense(problem)
    with contextlib.nullcontext(1) if by_rule else workers(2.0 * problem.n * problem.d * k) as count:
        pursuit = Pursuit(selection, rule, k, floor, count, lengths, with_active, audit, by_rule)
        return walk(pursuit, k, floor, callback)
