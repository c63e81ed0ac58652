"""Greedy selection of features: methods differ in their rule, and in how picks that are certain are found.

A pick is certain when no other column can have the largest score within the bounds on rounding errors.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Protocol

from sparselin.greedy._blocks import Blocks
from sparselin.greedy._lengths import Lengths
from sparselin.greedy._selection import Callback, Followed, Selection, begin
from sparselin.greedy._single import FEWEST, SMALL, ByRule, Screened, can_screen
from sparselin.greedy._walk import Pick, walk
from sparselin.linalg.gathered import compiled
from sparselin.parallel.threads import workers
from sparselin.problem import Problem
from sparselin.results import FloatArray, SelectionPath, Status
from sparselin.validation import Columns

Rule = Callable[[Selection], Pick | Status]

Audit = Callable[[Selection, FloatArray, FloatArray, int], int]


class Scheme(Protocol):
    """A way to find the picks that are certain."""

    @property
    def efficient(self) -> bool:
        """Whether the picks so far suggest to continue with this scheme."""

    def certain_pick(self) -> Pick | None:
        """The next pick, or None where it is not certain."""

    def follow(self, pick: Pick, floor: float, limit: int) -> Followed:
        """Add `pick` to the factorisation, then further picks while each is certain, at most `limit` in all.

        It stops once ‖r‖ ≤ floor, and adds nothing if `pick` is in the span of S.
        """

    def products(self, t: int) -> FloatArray:
        """W = QᵀX, (p, d), for the columns of Q from the t-th on."""


class Pursuit:
    """A selection with the rule of a method and a scheme: what `walk` steps."""

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
        self._scheme: Scheme
        if by_rule:
            self._scheme = ByRule(selection)
        elif self._worth_screening() and problem.n * problem.d <= SMALL:
            self._scheme = self._screened()
        else:
            self._scheme = Blocks(selection, k, count, lengths, with_active, audit is not None)

    def _worth_screening(self) -> bool:
        return self._can_screen and self._k - len(self.trail.picks) >= FEWEST

    def _screened(self) -> Screened:
        return Screened(self.selection, self._k, self._count, self._with_active)

    def path(self, status: Status) -> SelectionPath:
        return self.selection.path(status)

    def step(self, limit: int) -> Status | None:
        selection, m, t = self.selection, len(self.trail.picks), self.selection.qr.size
        if self._worth_screening() and not self._scheme.efficient:
            del self._scheme  # frees its memory first
            self._scheme = self._screened()
        pick = self._scheme.certain_pick() or self._rule(selection)
        if isinstance(pick, Status):
            return pick
        if pick.feature in selection.excluded:
            return Status.BEYOND_PRECISION
        before = None if self._audit is None else selection.correlations().copy()
        followed = self._scheme.follow(pick, self._floor, limit)
        if not followed.picks:
            selection.exclude(pick.feature)
            return None
        selection.record(followed)
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
    """Take the `forced` features, then pick features until there are k, or until a status ends the path.

    While the pick is certain, a scheme takes the column of largest |c_j|, or with `lengths` of largest
    |c_j|/ρ_j: by blocks of picks where these are faster, else one by one. Where rounding leaves the pick
    undecided, and for sparse designs or with `by_rule` always, the rule decides. `state` is the class of the
    selection. A pick in the span of S, as a Gram problem can suggest, is excluded; if the rule returns it
    again, the path ends, BEYOND_PRECISION.
    With `with_active` a certain pick i has A(S) = {i}. audit(selection, c, W, threads) gets the picks that
    were added last, by c = Xᵀr before them and W = QᵀX, and returns how many of them pass; the path ends
    before the first that does not, BEYOND_PRECISION.
    """
    selection, k, floor = begin(problem, k, tol, residual, forced, state)
    by_rule = by_rule or not compiled(problem)
    with contextlib.nullcontext(1) if by_rule else workers(2.0 * problem.n * problem.d * k) as count:
        pursuit = Pursuit(selection, rule, k, floor, count, lengths, with_active, audit, by_rule)
        return walk(pursuit, k, floor, callback)
