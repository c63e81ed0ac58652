"""A greedy method: the rule for its picks, and how they may be found and checked."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from sparselin.greedy._lengths import Lengths
from sparselin.greedy._selection import Selection
from sparselin.greedy._walk import Pick
from sparselin.results import FloatArray, SelectionPath, Status

Callback = Callable[[SelectionPath], object]


class GreedyMethod(NamedTuple):
    """A greedy method: the rule for its picks, and how they may be found and checked.

    rule : a function that returns the next pick of a selection, or the status that ends the path.
    lengths : ρ_j = ‖P_S^⊥X_j‖, if the pick is the column of largest |c_j|/ρ_j in place of |c_j|, c = Xᵀr.
    with_active : record A(S), the features that enter the LASSO first; for a pick i that is certain, {i}.
    audit : a function that checks picks after they were added, called as audit(selection, c, W, threads).
        Here c is Xᵀr before these picks, and W = QᵀX for the columns of Q that belong to them, where
        X_S = QR. It returns how many of the picks pass the audit. The path ends with BEYOND_PRECISION before
        the first pick that fails.
    by_rule : let the rule make every pick.
    by_index : the rule picks the lowest index among the features that are tied to the bounds of
        `linalg.ties`. So the kernels may decide ties.
    """

    rule: Callable[[Selection], Pick | Status]
    lengths: Lengths | None = None
    with_active: bool = False
    audit: Callable[[Selection, FloatArray, FloatArray, int], int] | None = None
    by_rule: bool = False
    by_index: bool = False
