"""`Selection`: where a greedy method stands, S and its factorisation, and the record of what was picked."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np

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


class Double:
    """A selection on a float32 problem followed in float64, as far as someone asks.

    What float32 correlations leave open is decided by those of the few columns concerned, with a
    factorisation in float64 that grows with the selection.
    """

    def __init__(self, problem: Problem) -> None:
        self.data, self.problem = problem, _InDouble(problem)
        self.qr = ThinQR(self.problem)

    def prepare(self, J: IndexArray, index: list[int]) -> None:
        """Read the columns J in one go, to be at hand until others are, and follow S = index at once."""
        self.problem.keep(J)
        self._follow(index)

    def measure(self, J: IndexArray, index: list[int]) -> Measured:
        """The columns J beside S = index."""
        return measure(self._follow(index), J, self.data)

    def _follow(self, index: list[int]) -> ThinQR:
        """The factorisation for S = index."""
        qr, same = self.qr, 0
        while same < min(len(index), qr.size) and index[same] == qr.index[same]:
            same += 1
        qr.truncate(same)
        qr.spare.clear()
        new = np.array(index[same:], np.intp)
        if len(new):
            rows = np.ascontiguousarray(self.problem.columns(new).T)
            qr.reserve(new, rows, qr.Qt @ rows.T)
            qr.take(len(new))
        return qr


class _InDouble(Problem):
    """A float32 problem in float64; columns are converted as they are asked for."""

    def __init__(self, problem: Problem) -> None:
        vars(self).update(vars(problem))
        self.dtype = np.dtype(np.float64)
        if problem.kind != "gram":  # whose factor is rounded like G
            self.eps = float(np.finfo(np.float64).eps)
        self.y = problem.y.astype(np.float64)
        self.column_norms = problem.column_norms.astype(np.float64)
        self._single = problem
        self.keep(np.zeros(0, np.intp))

    def keep(self, J: IndexArray) -> None:
        """Have the columns J at hand, and no others."""
        self._rows, self._place = np.zeros((0, self.n)), {j: i for i, j in enumerate(J.tolist())}
        if len(J):
            self._rows = self._single.rows_of_columns(J, 1).astype(np.float64)

    def block(self, J: IndexArray) -> Any:
        if self._place and all(j in self._place for j in J.tolist()):
            return self._rows[[self._place[j] for j in J.tolist()]].T
        return self.X[:, J].astype(np.float64)


class Selection:
    """Where a greedy method stands: S, its factorisation, r = P_S^⊥y, and the record so far."""

    def __init__(self, problem: Problem, capacity: int = 8) -> None:
        self.problem = problem
        self.qr = ThinQR(problem, capacity=min(capacity, problem.n))
        self.residual = problem.y
        self.c: FloatArray | None = None  # the correlations, when they are known
        self.picks: list[Pick] = []
        self.shares: list[float] = []  # ⟨q_s, y⟩
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

    def take(self, pick: Pick) -> None:
        """Add a feature. A dependent one (a forced one can be) gets the coefficient zero."""
        if not self.qr.append(pick.feature):
            self.picks.append(pick)
            self._residual_norm.append(self.residual_norm)
            self.c = None
            return
        q = self.qr.Qt[-1]
        share = q @ self.residual
        residual = self.residual - share * q
        self.record([pick], [share], residual, [math.sqrt(float(residual @ residual))])

    def refresh(self) -> None:
        """Project y off S anew, twice: what is left of a large y is then right to what is left."""
        self.residual = self.qr.residual(self.problem.y)
        self._residual_norm[-1] = math.sqrt(float(self.residual @ self.residual))

    def record(
        self, picks: list[Pick], shares: list[float], residual: FloatArray, norms: list[float]
    ) -> None:
        """Note picks whose columns the QR has just got: ⟨q, r⟩ of each, and r and its norms after them."""
        self._basis.extend(range(len(self.picks), len(self.picks) + len(picks)))
        self.picks.extend(picks)
        self.shares.extend(shares)
        self._residual_norm.extend(norms)
        self.residual = residual
        self.c = None

    def forget(self, m: int) -> None:
        """Cut the record back to the first m features, before it becomes a result."""
        kept = int(np.searchsorted(self._basis, m))
        self.qr.truncate(kept)
        del self.picks[m:], self.shares[kept:], self._basis[kept:], self._residual_norm[m + 1 :]

    def correlations(self) -> FloatArray:
        """c = Xᵀr (d,), zero on S. Not to be modified."""
        if self.c is None:
            self.c = self.problem.correlate(self.residual) if self.shares else self.problem.Xty.copy()
            self.c[self.support] = 0
        return self.c

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
    for j in forced:
        selection.take(Pick(int(j)))
    if len(forced):
        selection.refresh()
    return selection, k, floor
