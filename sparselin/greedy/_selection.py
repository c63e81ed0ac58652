"""`Selection`: where a greedy method stands, S and its factorisation, and the record of what was picked."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np

from sparselin.greedy._double import Double
from sparselin.linalg.thin_qr import ThinQR
from sparselin.problem import Problem
from sparselin.results import FloatArray, IndexArray, SelectionPath, Status
from sparselin.ties import Measured, ending, measure
from sparselin.validation import check_count, check_indices, check_level

Callback = Callable[[SelectionPath], object]


class Pick(NamedTuple):
    """One choice of a rule, with what it knew."""

    feature: int
    lam_star: float = math.nan
    margin: float = math.nan
    tied: tuple[int, ...] = ()
    active: tuple[int, ...] = ()
    weights: FloatArray | None = None

    @classmethod
    def clear(cls, feature: int, lam_star: float, margin: float, set_too: bool) -> Pick:
        """What is tied with nothing, and so, if that is asked for, the whole of A(S)."""
        tied = (feature,)
        return cls(feature, lam_star, margin, tied, tied if set_too else ())


class Followed(NamedTuple):
    """Picks whose columns the factorisation has just got, ⟨q, r⟩ of each, and ‖r‖ after it.

    And c = Xᵀr after them all, where it is known: an array that scheme and selection share from then on.
    """

    picks: list[Pick]
    shares: list[float]
    norms: list[float]
    c: FloatArray | None = None


class Selection:
    """Where a greedy method stands: S, its factorisation, r = P_S^⊥y, and the record so far.

    Attributes
    ----------
    residual : r.
    picks : S, in the order of selection, with what was known of each.
    out : S and the columns that are barred.
    shares : ⟨q, y⟩ for each column q of the factorisation.
    """

    def __init__(self, problem: Problem, capacity: int = 8) -> None:
        self.problem = problem
        self.qr = ThinQR(problem, capacity=min(capacity, problem.n))
        self.residual = problem.y
        self.picks: list[Pick] = []
        self.out: list[int] = []
        self.shares: list[float] = []
        self._c: FloatArray | None = None
        self._basis: list[int] = []  # position in the support of each column of the QR
        self._residual_norm = [problem.y_norm]

    @functools.cached_property
    def double(self) -> Double:
        return Double(self.problem)

    @property
    def support(self) -> list[int]:
        return [pick.feature for pick in self.picks]

    @property
    def residual_norm(self) -> float:
        return self._residual_norm[-1]

    def append(self, pick: Pick) -> Followed:
        """Add the column of a pick to the factorisation, unless it is in the span of S."""
        if not self.qr.append(pick.feature):
            return Followed([], [], [])
        share = float(self.qr.Qt[-1] @ self.residual)
        r = self.residual - share * self.qr.Qt[-1]
        return Followed([pick], [share], [math.sqrt(float(r @ r))])

    def add(self, pick: Pick) -> bool:
        """Take a column whatever it is: one in the span of S gets the coefficient zero. Says which it was."""
        followed = self.append(pick)
        if followed.picks:
            self.record(followed)
        else:
            self.picks.append(pick)
            self.bar(pick.feature)
            self._residual_norm.append(self.residual_norm)
        return bool(followed.picks)

    def force(self, J: IndexArray) -> None:
        """Take the columns J, and project y off them anew, twice: r is then right to what is left of y."""
        for j in J.tolist():
            self.add(Pick(j))
        if len(J):
            self.residual = self.qr.residual(self.problem.y)
            self._residual_norm[-1] = math.sqrt(float(self.residual @ self.residual))

    def record(self, followed: Followed) -> None:
        """Note the picks whose columns the factorisation has just got."""
        picks, shares, norms, self._c = followed
        self._basis.extend(range(len(self.picks), len(self.picks) + len(picks)))
        self.picks.extend(picks)
        self.out.extend(pick.feature for pick in picks)
        self.shares.extend(shares)
        self._residual_norm.extend(norms)
        self.residual = self.residual - np.array(shares, self.problem.dtype) @ self.qr.Qt[-len(picks) :]

    def bar(self, j: int) -> None:
        """Leave out what the factorisation has refused: a dependent column, as a Gram problem can suggest."""
        self.out.append(j)
        if self._c is not None:
            self._c[j] = 0

    def forget(self, m: int) -> None:
        """Cut the record back to the first m features, before it becomes a result."""
        kept = int(np.searchsorted(self._basis, m))
        self.qr.truncate(kept)
        del self.picks[m:], self.shares[kept:], self._basis[kept:], self._residual_norm[m + 1 :]

    def correlations(self) -> FloatArray:
        """c = Xᵀr (d,), zero on S and where barred. Not to be modified."""
        if self._c is None:
            self._c = self.problem.correlate(self.residual) if self.shares else self.problem.Xty.copy()
            self._c[self.out] = 0
        return self._c

    def measure(self, J: IndexArray) -> Measured:
        """The columns J beside S, in float64."""
        if self.problem.dtype == np.float32:
            return self.double.measure(J, self.qr.index)
        return measure(self.qr, J)

    def ending(self) -> Status:
        """Why λ*(S) is zero."""
        return ending(self.problem, self.qr)

    def _lam_star(self) -> FloatArray:
        """λ* of each pick: ⟨X_i, r⟩ = ρ⟨q, r⟩, X_i being ρq + X_Sb, without what r has left of S."""
        known = np.array([pick.lam_star for pick in self.picks])
        alone = [self.picks[place].tied == (self.picks[place].feature,) for place in self._basis]
        places = np.array(self._basis, np.intp)[alone]
        known[places] = np.abs(np.diag(self.qr.R) * np.array(self.shares))[alone]
        return known

    def path(self, status: Status) -> SelectionPath:
        """The record as a result."""
        dtype, t = self.problem.dtype, len(self.picks)
        basis = np.array(self._basis, np.intp)
        return SelectionPath(
            support=np.array(self.support, np.intp),
            coef_path=self.qr.coefficients(np.array(self.shares, dtype), basis, t),
            lam_star=self._lam_star().astype(dtype),
            margin=np.array([pick.margin for pick in self.picks], dtype),
            ties=tuple(pick.tied for pick in self.picks),
            active_sets=tuple(pick.active for pick in self.picks),
            weights=tuple(pick.weights for pick in self.picks if pick.weights is not None),
            residual_norm=np.array(self._residual_norm, dtype),
            status=status,
            n_features=self.problem.d,
        )


def begin(problem: Problem, k: int, tol: float | None, forced: Iterable[int]) -> tuple[Selection, int, float]:
    """A selection that holds the forced features; k and the floor of ‖r‖, both checked."""
    k = check_count(k, "k", 1, problem.d)
    forced = check_indices(forced, problem.d, "forced")
    if len(forced) > k:
        raise ValueError(f"forced features count in k: got {len(forced)} of them and k={k}")
    floor = -1.0 if tol is None else check_level(tol, "tol") * problem.y_norm
    selection = Selection(problem, k)
    selection.force(forced)
    return selection, k, floor
