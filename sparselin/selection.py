"""The loop that the greedy methods share: they differ only in the rule by which they pick."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np

from sparselin._kernels import steps as kernels
from sparselin.problem import Problem, check_count, check_indices, check_level
from sparselin.results import FloatArray, IndexArray, SelectionPath, Status
from sparselin.thin_qr import ThinQR

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

    What float32 correlations leave open is decided by the correlations of the few columns concerned, with
    the residual of a factorisation in float64 that grows with the selection.
    """

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.index: list[int] = []
        self.Qt = np.zeros((0, problem.n))
        self.y = problem.y.astype(np.float64)
        self._place: dict[int, int] = {}
        self._rows = self.Qt

    def prepare(self, J: IndexArray, index: list[int]) -> None:
        """Read the columns J in one go, to be at hand until others are, and follow S = index at once."""
        self._place = {}
        self._rows = self._columns(J)
        self._place = {j: i for i, j in enumerate(J.tolist())}
        self._follow(index)

    def correlations(self, J: IndexArray, qr: ThinQR, size: int) -> tuple[FloatArray, FloatArray]:
        """c_i and e_c for the columns J, with the first `size` columns of the QR as S."""
        Q = self._follow(qr.index[:size])
        shrink = np.finfo(np.float64).eps / self.problem.eps
        error = shrink * self.problem.rounding(qr.kappa) * self.problem.column_norms[J] * self.problem.y_norm
        return self._columns(J) @ (self.y - (Q @ self.y) @ Q), error

    def lengths(self, J: IndexArray, qr: ThinQR) -> FloatArray:
        """‖P_S^⊥X_i‖ for the columns J."""
        Q = self._follow(qr.index)
        return np.asarray(np.linalg.norm(_projected(self._columns(J), Q), axis=1))

    def _follow(self, index: list[int]) -> FloatArray:
        """Qᵀ for S = index; what is there beyond it stays."""
        same = 0
        while same < min(len(index), len(self.index)) and index[same] == self.index[same]:
            same += 1
        if same < len(index):
            Q, p = self.Qt[:same], len(index) - same
            self.Qt = np.vstack([Q, _projected(self._columns(np.array(index[same:])), Q)])
            lengths, R = np.linalg.norm(self.Qt, axis=1), np.eye(len(index))  # only of what is new
            kernels.orthogonalize_block(self.Qt, R, lengths, same, p, np.zeros(p))
            self.index = list(index)
        return self.Qt[: len(index)]

    def _columns(self, J: IndexArray) -> FloatArray:
        """X_Jᵀ, by rows."""
        if self._place and all(j in self._place for j in J.tolist()):
            return self._rows[[self._place[j] for j in J.tolist()]]
        dense = isinstance(self.problem.X, np.ndarray)
        rows = self.problem.rows_of_columns(J, 1) if dense else self.problem.columns(J).T
        return np.asarray(rows, np.float64)


def _projected(X: FloatArray, Q: FloatArray) -> FloatArray:
    """The rows of X, projected off those of Q."""
    for _ in range(2):
        X = X - (X @ Q.T) @ Q
    return X


class Selection:
    """Where a greedy method stands: S, its factorisation, r = P_S^⊥y, and the record so far."""

    def __init__(self, problem: Problem, capacity: int = 8) -> None:
        self.problem = problem
        self.qr = ThinQR(problem, capacity=min(capacity, problem.n))
        self.double = Double(problem)
        self.residual = problem.y
        self.c: FloatArray | None = None  # the correlations, when they are known
        self.picks: list[Pick] = []
        self.shares: list[float] = []  # ⟨q_s, y⟩
        self._basis: list[int] = []  # position in the support of each column of the QR
        self._residual_norm = [problem.y_norm]

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
            if self.c is not None:
                self.c[pick.feature] = 0
            return
        q = self.qr.Qt[-1]
        share = q @ self.residual
        residual = self.residual - share * q
        self.record([pick], [share], residual, [math.sqrt(float(residual @ residual))])

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

    def path(self, status: Status) -> SelectionPath:
        """The record as a result."""
        dtype, t = self.problem.dtype, len(self.picks)
        basis = np.array(self._basis, np.intp)
        return SelectionPath(
            support=np.array(self.support, np.intp),
            coef_path=self.qr.coefficients(np.array(self.shares, dtype), basis, t),
            lam_star=np.array([pick.lam_star for pick in self.picks], dtype),
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
    return selection, k, floor


def greedy(
    problem: Problem,
    k: int,
    rule: Callable[[Selection], Pick | Status],
    *,
    tol: float | None = None,
    forced: Iterable[int] = (),
    callback: Callback | None = None,
) -> SelectionPath:
    """Take the `forced` features, then what the rule picks, until k are taken or a status ends it."""
    selection, k, floor = begin(problem, k, tol, forced)
    while selection.residual_norm > floor:
        if len(selection.picks) == k:
            return selection.path(Status.COMPLETED)
        pick = rule(selection)
        if isinstance(pick, Status):
            return selection.path(pick)
        selection.take(pick)
        if callback is not None and callback(selection.path(Status.STOPPED)):
            return selection.path(Status.STOPPED)
    return selection.path(Status.TOLERANCE)


def tied_at_maximum(c: FloatArray, error: FloatArray) -> tuple[float, IndexArray]:
    """λ* = max|c_i| and T, for correlations c (d,) known to ±e (d,).

    c_i is zero when |c_i| ≤ e_i, and λ* when all are. Tied is what may be the largest:
    |c_i| + e_i ≥ max_j (|c_j| − e_j).
    """
    size = np.where(np.abs(c) > error, np.abs(c), 0)
    lam_star = float(size.max())
    if lam_star == 0:
        return 0.0, np.zeros(0, np.intp)
    return lam_star, np.flatnonzero((size > 0) & (size + error >= (size - error).max()))


def relative_margin(c: FloatArray, pick: int, lam_star: float) -> float:
    """(λ* − max_{j ≠ pick}|c_j|)/λ*, at least 0."""
    size = np.abs(c)
    size[pick] = 0
    return max(0.0, (lam_star - float(size.max())) / lam_star)


def ending(problem: Problem, qr: ThinQR, residual_norm: float) -> Status:
    """Why λ*(S) is zero: the residual is, or nothing independent is left, or it is orthogonal to X."""
    if residual_norm <= problem.length_error(qr.kappa) * problem.y_norm:
        return Status.EXACT_FIT
    if qr.in_span().all():
        return Status.RANK_EXHAUSTED
    return Status.NO_CORRELATION
