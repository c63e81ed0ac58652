"""The loop of all greedy methods: they differ in their rule, and in how picks that are clear are found."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable
from typing import Protocol

from sparselin.greedy._blocks import Blocks
from sparselin.greedy._lengths import Lengths
from sparselin.greedy._selection import Callback, Followed, Pick, Selection, begin
from sparselin.greedy._single import FEWEST, SMALL, ByRule, Screened, can_screen
from sparselin.linalg.products import compiled
from sparselin.parallel.threads import workers
from sparselin.problem import Problem
from sparselin.results import FloatArray, SelectionPath, Status

Rule = Callable[[Selection], Pick | Status]

Audit = Callable[[Selection, FloatArray, FloatArray, int], int]


class Scheme(Protocol):
    """A way to carry a selection forward by the picks that are clear."""

    @property
    def pays(self) -> bool:
        """Whether it is worth going on with, as far as can be told by now."""

    def clear_pick(self) -> Pick | None:
        """The next pick, or None where it is not clear."""

    def follow(self, pick: Pick, floor: float, limit: int) -> Followed:
        """Add this pick to the factorisation, and of those that follow it such as are clear, `limit` at most.

        None is added once ‖r‖ ≤ floor, and nothing at all if the pick is in the span of S.
        """

    def products(self, t: int) -> FloatArray:
        """W = XᵀQ, by rows, for the columns of Q from the t-th on."""


def pursue(
    problem: Problem,
    k: int,
    rule: Rule,
    *,
    tol: float | None = None,
    forced: Iterable[int] = (),
    callback: Callback | None = None,
    lengths: Lengths | None = None,
    clear_sets: bool = False,
    audit: Audit | None = None,
    by_rule: bool = False,
) -> SelectionPath:
    """Take the `forced` features, then one after the other until k are taken or a status ends it.

    A scheme takes the columns of largest |c_j|, or with `lengths` of largest |c_j|/ρ_j, as long as they are
    clear: by blocks of picks where guesses pay, else one by one. The rule decides where rounding leaves
    open which column comes next, and for sparse designs, or with `by_rule`, always. A pick in the span of S,
    as a Gram problem can suggest, is barred; a rule that insists on it ends the path, BEYOND_PRECISION.
    With `clear_sets` a clear pick is its own A(S). audit(selection, c, W, threads) is told of picks in a
    row c = Xᵀr before them and the rows W = XᵀQ, and says how many of them pass; if not all do, the
    path ends before the first that does not, BEYOND_PRECISION.
    """
    selection, k, floor = begin(problem, k, tol, forced)
    by_rule = by_rule or not compiled(problem)
    audit = None if by_rule else audit
    single = not by_rule and lengths is None and can_screen(problem)
    with contextlib.nullcontext(1) if by_rule else workers(2.0 * problem.n * problem.d * k) as count:
        scheme: Scheme
        if by_rule:
            scheme = ByRule(selection)
        elif single and k - len(selection.picks) >= FEWEST and problem.n * problem.d <= SMALL:
            scheme = Screened(selection, k, count, clear_sets)
        else:
            scheme = Blocks(selection, k, count, lengths, clear_sets, audit is not None)
        while selection.residual_norm > floor:
            m, t = len(selection.picks), selection.qr.size
            if m == k:
                return selection.path(Status.COMPLETED)
            if single and k - m >= FEWEST and not scheme.pays:
                del scheme  # its room is given back first
                scheme = Screened(selection, k, count, clear_sets)
            pick = scheme.clear_pick() or rule(selection)
            if isinstance(pick, Status):
                return selection.path(pick)
            if pick.feature in selection.out:
                return selection.path(Status.BEYOND_PRECISION)
            before = None if audit is None else selection.correlations().copy()
            followed = scheme.follow(pick, floor, k - m if callback is None else 1)
            if not followed.picks:
                selection.bar(pick.feature)
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
