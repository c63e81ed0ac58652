"""The state of a greedy method: the selected features, their factorisation, the residual, and the picks.

`Lengths` has the lengths ‖P_S^⊥X_j‖ off the selected columns. `Double` has the float64 correlations of a
float32 problem, for the columns that float32 leaves undecided.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from sparselin._kernels import blocks as kernels
from sparselin.greedy._walk import Pick, PickRecord
from sparselin.linalg.gathered import is_dense, rows_of_columns
from sparselin.linalg.thin_qr import ThinQR
from sparselin.linalg.ties import Measurement, Scores, measure, measured_ending
from sparselin.problem import Problem
from sparselin.problem.design import DesignColumns, scale_rows
from sparselin.problem.errors import stopping_level
from sparselin.results import FloatArray, IndexArray, SelectionPath, Status
from sparselin.validation import Columns, check_level, check_tolerance

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
    """

    rule: Callable[[Selection], Pick | Status]
    lengths: Lengths | None = None
    with_active: bool = False
    audit: Callable[[Selection, FloatArray, FloatArray, int], int] | None = None
    by_rule: bool = False


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


def ranks_of(problem: Problem, order: IndexArray) -> list[int]:
    """Return the ranks of the first 0, 1, … columns of `order`, centred if there is an intercept.

    A column counts if `Selection` finds it outside the span of the columns before it.
    """
    qr = ThinQR(problem, problem.with_ones(order[:0]))
    return list(itertools.accumulate(map(qr.append, order.tolist()), initial=0))


class Selection:
    """The state of a greedy method: the selected features S, the factorisation X_S = QR, and the residual.

    Attributes
    ----------
    residual : r = P_S^⊥y.
    trail : the record of the picks, in the order of selection, and of the norms ‖r‖.
    excluded : the columns that may not be picked: S and the columns found to depend linearly on S.
    projections : Qᵀy, that is, ⟨q, y⟩ for each column q of Q.
    undecided : whether rounding left the coefficients undecided when a feature was added. This is possible
        only for `Nonnegative`.
    """

    undecided = False
    by_length = False  # whether a pick has the largest |⟨X_j, r⟩|/‖P_S^⊥X_j‖
    positive = False  # whether the coefficients of picks are nonnegative

    def __init__(self, problem: Problem, capacity: int = 8) -> None:
        self.problem = problem
        self.qr = ThinQR(problem, capacity=min(capacity, problem.n))
        self.residual = problem.y
        self.excluded: list[int] = []
        self.projections: list[float] = []
        self._c: FloatArray | None = None
        self._basis: list[int] = []  # position in the support of each column of the QR
        self.trail = PickRecord(problem.y_norm)

    @functools.cached_property
    def double(self) -> Double:
        return Double(self.problem)

    @property
    def total_norm(self) -> float:
        """The norm to which `tol` is relative: ‖y‖, or with an intercept ‖y − ȳ‖, where ȳ = mean y."""
        return self.trail.norms[self._ones]

    @property
    def _ones(self) -> int:
        """The number of columns of ones among the selected columns: 1 with an intercept, else 0."""
        return int(self.problem.d - self.problem.n_features)

    def append(self, pick: Pick) -> AddedPicks:
        """Add the column of a pick to the factorisation.

        If the column is in the span of the selected columns, nothing is added, and the result has no picks.
        """
        if not self.qr.append(pick.feature):
            return AddedPicks([], [], [], self.residual)
        projection = float(self.qr.Qt[-1] @ self.residual)
        r = self.residual - projection * self.qr.Qt[-1]
        return AddedPicks([pick], [projection], [math.sqrt(float(r @ r))], r)

    def add(self, pick: Pick) -> bool:
        """Add the column of `pick` to the selected columns S; return whether it was outside the span of S.

        A column in the span of S is added too; it gets the coefficient zero.
        """
        added = self.append(pick)
        if added.picks:
            self.record(added)
        else:
            self.exclude(pick.feature)
            self.trail.add([pick], [self.trail.norms[-1]])
        return bool(added.picks)

    def force(self, J: IndexArray) -> None:
        """Add the columns J to the selected columns S, then project y off S twice.

        Afterwards the residual r satisfies ‖Qᵀr‖ ≈ eps‖y‖, where X_S = QR.
        """
        if len(J):
            for j in J.tolist():
                self.add(Pick(feature=j))
            self.residual = self.qr.residual(self.problem.y)
            self.trail.norms[-1] = math.sqrt(float(self.residual @ self.residual))

    def record(self, added: AddedPicks) -> None:
        """Update the selection, the residual r, ‖r‖ and Xᵀr after picks were added to the factorisation."""
        picks, projections, norms, self.residual, self._c = added
        self._basis.extend(range(len(self.trail.picks), len(self.trail.picks) + len(picks)))
        self.trail.add(picks, norms)
        self.excluded.extend(pick.feature for pick in picks)
        self.projections.extend(projections)

    def exclude(self, j: int) -> None:
        """Exclude column j from later picks, because it was found to depend on the selected columns.

        A rule can pick such a column if the problem is given only by its Gram matrix.
        """
        self.excluded.append(j)
        if self._c is not None:
            self._c[j] = 0

    def forget(self, m: int) -> None:
        """Keep only the first m selected features. Afterwards only `path` may be called."""
        t = int(np.searchsorted(self._basis, m))
        self.qr.truncate(t)
        self.trail.truncate(m)
        del self.projections[t:], self._basis[t:]

    def correlations(self) -> FloatArray:
        """Return the correlations c = Xᵀr (d,) with the residual r, set to zero on the excluded columns.

        The caller must not modify this array.
        """
        if self._c is None:
            self._c = self.problem.correlate(self.residual) if self.qr.size else self.problem.Xty.copy()
            self._c[self.excluded] = 0
        return self._c

    def double_qr(self) -> ThinQR:
        """Return the factorisation of the selected columns in float64."""
        return self.double.factorise(self.qr.index) if self.problem.dtype == np.float32 else self.qr

    def measure(self, J: IndexArray) -> Measurement:
        """Compute correlations and lengths of the columns J, projected off the selected columns.

        The computation is in float64, and the error bounds are sharp.
        """
        if self.problem.dtype == np.float32:
            return self.double.measure(J, self.qr.index)
        return measure(self.qr, J)

    def scores(self, J: IndexArray) -> Scores:
        """Return the correlations of the columns J with the residual, in float64, with sharp error bounds."""
        return self.measure(J).correlations()

    def ending(self) -> Status:
        """Return the status that says why no column has a nonzero correlation with the residual."""
        return measured_ending(self.qr, np.setdiff1d(np.arange(self.problem.d), self.qr.index))

    def _lam_star(self) -> FloatArray:
        """Return λ* of each pick, the largest |⟨X_j, r⟩| before the pick, where r is the residual then.

        If no other column is tied with the pick i, λ* is computed as |⟨X_i, r⟩| = ρ|⟨q, r⟩|. Here X_S are the
        columns selected before, q is the unit vector along P_S^⊥X_i, and ρ = ‖P_S^⊥X_i‖. This formula is more
        accurate, because rounding leaves a small part of r in the span of X_S, and this part does not affect
        ⟨q, r⟩.
        """
        picks = self.trail.picks
        lam_star = np.array([pick.lam_star for pick in picks])
        lengths = self.qr.R.diagonal().tolist()
        for i, rho, projection in zip(self._basis, lengths, self.projections, strict=True):
            if picks[i].tied == (picks[i].feature,):
                lam_star[i] = abs(rho * projection)
        return lam_star

    def _coef_path(self) -> FloatArray:
        """Return the coefficients (t, t) along the path: row j is the fit on the first j + 1 features."""
        projections = np.array(self.projections, self.problem.dtype)
        return self.qr.coefficients(projections, np.array(self._basis, np.intp), len(self.trail.picks))

    def path(self, status: Status) -> SelectionPath:
        """Return the selection so far as a `SelectionPath`.

        The coefficient of the column of ones becomes the intercept.
        """
        problem, dtype, ones = self.problem, self.problem.dtype, self._ones
        coef = self._coef_path()
        support = np.array(self.trail.support[ones:], np.intp)
        intercept = coef[:, 0] if ones else np.zeros(len(self.trail.picks) + 1, dtype)
        inner, scale = coef[ones:, ones:], problem.design.scale
        path = inner if scale is None else inner * scale[support]
        lam_star, (_, margin, ties) = self._lam_star()[ones:].astype(dtype), self.trail.fields(dtype, ones)
        active_sets = tuple(pick.active for pick in self.trail.picks[ones:])
        weights = tuple(p.weights[: problem.n_features] for p in self.trail.picks if p.weights is not None)
        norms = np.array(self.trail.norms[ones:], dtype)
        fit = problem.design.fit(problem.names, self.positive, self.by_length)
        steps = (support, path, intercept.copy(), lam_star, margin, ties)
        return SelectionPath(*steps, active_sets, weights, norms, status, fit)


def begin(problem: Problem, k: int, forced: Columns, state: type[Selection]) -> tuple[Selection, int]:
    """Check k and the forced features, and add these features to a new selection; return it and k.

    With an intercept, the column of ones is selected first and counts in the returned k.
    """
    k, first = problem.budget(k, forced)
    k += problem.d - problem.n_features
    selection = state(problem, k)
    if problem.d > problem.n_features:
        selection.force(problem.with_ones(first[:0]))
    selection.force(first)
    return selection, k


def floor_of(data: Problem, total_norm: float, tol: float | None, residual: float | None = None) -> float:
    """Return the threshold at which a path stops, to be compared with the computed norm of the residual.

    The path stops once this norm is at most the larger one of tol·total_norm and `residual`. The threshold
    allows for the rounding error of the computed norm. It is −1 if neither argument was given.
    """
    level = -1.0 if tol is None else check_tolerance(tol) * total_norm
    level = level if residual is None else max(level, check_level(residual, "residual"))
    return float(stopping_level(level, data.y_norm, data.unit, data.length_unit)) if level >= 0 else -1.0


class Double:
    """The float64 correlations of the few columns that float32 leaves undecided.

    The factorisation of the selected columns in float64 is updated only when it is needed.
    """

    def __init__(self, problem: Problem) -> None:
        self.data, self._columns = problem, ConvertedColumns.of(problem)
        self.problem = problem.with_design(self._columns)
        self.qr = ThinQR(self.problem)

    def prepare(self, J: IndexArray, index: list[int]) -> None:
        """Read the columns J in one pass, and cache only these columns; factorise X_S for S = index."""
        self._columns.cache(J)
        self.factorise(index)

    def measure(self, J: IndexArray, index: list[int]) -> Measurement:
        """Compute the correlations and lengths of the columns J, projected off the columns S = index.

        Error bounds are returned with them.
        """
        return measure(self.factorise(index), J, self.data)

    def factorise(self, index: list[int]) -> ThinQR:
        """Return the QR factorisation of X_S for S = index.

        If S begins with the same columns as in the last call, these columns are not factorised again.
        """
        qr, same = self.qr, 0
        while same < min(len(index), qr.size) and index[same] == qr.index[same]:
            same += 1
        qr.truncate(same)
        qr.extend(index[same:], self.problem.columns(index[same:]).T)
        return qr


@dataclasses.dataclass(frozen=True, eq=False)
class ConvertedColumns(DesignColumns):
    """The columns of a float32 problem in float64, converted on demand.

    Attributes
    ----------
    root : (n,) √weight, by which the rows of X must still be multiplied, or None.
    cached : index → column (n,), for the columns that are cached.
    """

    root: FloatArray | None = None
    cached: dict[int, FloatArray] = dataclasses.field(default_factory=dict)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of the columns as they are returned: float64."""
        return np.dtype(np.float64)

    @classmethod
    def of(cls, problem: Problem) -> ConvertedColumns:
        """Return the columns of a problem in float64, with no column cached."""
        design = problem.double_design
        return cls(
            X=design.X,
            ones=design.ones,
            scale=design.scale,
            names=problem.names,
            labels=problem.labels,
            root=problem.double_root,
        )

    def cache(self, J: IndexArray) -> None:
        """Cache the columns J, and no others."""
        self.cached.clear()
        if len(J):
            rows = np.ascontiguousarray(self._convert(J).T)
            self.cached.update(zip(J.tolist(), rows, strict=True))

    def block(self, J: IndexArray) -> Any:
        """Return X_J (n, |J|) in float64; it is sparse if X is sparse."""
        if self.cached and all(j in self.cached for j in J.tolist()):
            rows = [self.cached[j] for j in J.tolist()]
            return np.array(rows).reshape(len(rows), self.n).T
        return self._convert(J)

    def _convert(self, J: IndexArray) -> Any:
        inner, raw = J[self.X.shape[1] > J], DesignColumns(self.X)
        X = rows_of_columns(raw, inner, 1).T if is_dense(raw) else raw.block(inner)
        return self.complete(J, scale_rows(X.astype(np.float64), self.root))


class Lengths:
    """The squared lengths ρ_j² = ‖P_S^⊥X_j‖² of all columns, projected off the selected columns S.

    Orthogonal least squares divides by ρ_j. Each column q of the factorisation X_S = QR reduces ρ_j² by
    ⟨q, X_j⟩². Once cancellation has cost four digits of ρ_j², it is recomputed by projecting X_j off S.

    Attributes
    ----------
    squares : (d,) ρ_j², zero for columns in the span of S.
    measured : (d,) the value of ρ_j² at the last projection, zero for columns in the span of S.
    scale : (d,) 1/ρ_j, zero for columns in the span of S.
    size : the number of columns q whose ⟨q, X_j⟩² have already been subtracted.
    """

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.norms = problem.column_norms
        self.squares = self.norms**2
        self.measured = self.squares.copy()
        self.scale = np.zeros_like(self.squares)
        self.size = 0
        self.ratio = self.problem.dtype.type(1 / problem.y_norm if problem.y_norm else 0)

    def arrays(self) -> kernels.ProjectedLengths:
        """Return the lengths as the arrays that the kernels read and update."""
        return kernels.ProjectedLengths(self.squares, self.measured, self.scale, self.norms, self.ratio)

    def update(self, qr: ThinQR) -> None:
        """Reduce the lengths by the columns that were added to the factorisation since the last update."""
        if self.size < qr.size:
            self.squares -= (self.problem.correlate(qr.Qt[self.size :].T) ** 2).sum(axis=1)
            self.size = qr.size
        self.measure(qr)

    def measure(self, qr: ThinQR) -> None:
        """Recompute each inaccurate length ‖P_S^⊥X_j‖ by projecting X_j off the selected columns S.

        A column in the span of S gets the length zero.
        """
        self.measured[qr.index] = 0
        stale = np.flatnonzero((self.squares <= 1e-4 * self.measured) & (self.measured > 0))
        if len(stale):
            fresh = measure(qr, stale)
            self.squares[stale] = self.measured[stale] = np.where(fresh.outside, fresh.length, 0) ** 2
        free = self.measured > 0
        self.scale[:] = 0
        self.scale[free] = 1 / np.sqrt(self.squares[free])

    def exclude(self, j: int) -> None:
        """Set the length of column j to zero, so that it counts as in the span of the selected columns."""
        self.squares[j] = self.measured[j] = self.scale[j] = 0

    def weights(self, score: FloatArray) -> FloatArray:
        """Return factors w (d,) for the error of the scores |c_j|/ρ_j.

        Here c = Xᵀr are the correlations with the residual r, and ρ_j = ‖P_S^⊥X_j‖. If e bounds the error of
        c_j/‖X_j‖ for every j, then w_j·e bounds the error of score j (see the kernel `rescale`).
        """
        share = self.ratio * np.abs(score) * np.sqrt(self.measured) * self.scale
        return np.asarray(self.scale * (self.norms * (1 + share)))
