"""The loop of all greedy methods: they differ in their rule, and in how picks that are certain are found.

A pick is certain when no other column can have the largest score within the bounds on rounding errors.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Protocol

from sparselin.greedy._blocks import Blocks
from sparselin.greedy._lengths import Lengths
from sparselin.greedy._selection import Callback, Followed, Pick, Selection, begin
from sparselin.greedy._single import FEWEST, SMALL, ByRule, Screened, can_screen
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
    selection. A pick in the span of S,
    as a Gram problem can suggest, is excluded; if the rule returns it again, the path ends, BEYOND_PRECISION.
    With `with_active` a certain pick i has A(S) = {i}. audit(selection, c, W, threads) gets the picks that
    were added last, by c = Xᵀr before them and W = QᵀX, and returns how many of them pass; the path ends
    before the first that does not, BEYOND_PRECISION.
    """
    selection, k, floor = begin(problem, k, tol, residual, forced, state)
    by_rule = by_rule or not compiled(problem)
    audit = None if by_rule else audit
    single = not by_rule and lengths is None and can_screen(problem)
    with contextlib.nullcontext(1) if by_rule else workers(2.0 * problem.n * problem.d * k) as count:
        scheme: Scheme
        if by_rule:
            scheme = ByRule(selection)
        elif single and k - len(selection.picks) >= FEWEST and problem.n * problem.d <= SMALL:
            scheme = Screened(selection, k, count, with_active)
        else:
            scheme = Blocks(selection, k, count, lengths, with_active, audit is not None)
        while selection.residual_norm > floor:
            m, t = len(selection.picks), selection.qr.size
            if m == k:
                return selection.path(Status.COMPLETED)
            if single and k - m >= FEWEST and not scheme.efficient:
                del scheme  # frees its memory first
                scheme = Screened(selection, k, count, with_active)
            pick = scheme.certain_pick() or rule(selection)
            if isinstance(pick, Status):
                return selection.path(pick)
            if pick.feature in selection.excluded:
                return selection.path(Status.BEYOND_PRECISION)
            before = None if audit is None else selection.correlations().copy()
            followed = scheme.follow(pick, floor, k - m if callback is None else 1)
            if not followed.picks:
                selection.exclude(pick.feature)
                continue
            selection.record(followed)
            if audit is not None and before is not None:
                passed = audit(selection, before, scheme.products(t), count)
                if passed < len(selection.picks) - m:
                    selection.forget(m + passed)
                    return selection.path(Status.BEYOND_PRECISION)
            if callback is not None and callback(selection.path(Status.STOPPED)):
                return selection.path(Status.STOPPED)
        return selection.path(Status.TOLERANCE)
