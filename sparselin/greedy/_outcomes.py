"""The outcomes when a pick, or several, are added to the selected columns."""

from __future__ import annotations

from typing import NamedTuple

from sparselin.greedy._walk import Pick
from sparselin.results import FloatArray, Status


class AddedPicks(NamedTuple):
    """Picks whose columns were just added to the factorisation X_S = QR of the selected columns.

    projections : ⟨q, r⟩ = ⟨q, y⟩ for each pick, where q is the column that the pick adds to Q, and r is the
        residual before the pick.
    norms : ‖r‖ after each pick.
    residual : (n,) r after the last pick.
    c : the array Xᵀr after the last pick, or None if it is not known. The selection keeps this array and does
        not copy it.
    """

    picks: list[Pick]
    projections: list[float]
    norms: list[float]
    residual: FloatArray
    c: FloatArray | None = None


class Dependent(NamedTuple):
    """A pick that was not added, because its column is in the span of the selected columns."""

    feature: int


class Undecided(NamedTuple):
    """Nothing was added, because rounding leaves the pick or the coefficients undecided."""


Outcome = AddedPicks | Dependent | Undecided


class NoFit(NamedTuple):
    """The reason why a refit failed.

    status : NO_MINIMUM if the loss decreases without end along `direction` (p,), else BEYOND_PRECISION.
    """

    status: Status
    direction: FloatArray
