"""OMP and OLS on small problems in one call of a kernel, as long as the picks are certain."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sparselin._kernels import many
from sparselin._kernels.linear_algebra import solve_prefixes
from sparselin._kernels.screen import Levels, SelectedColumns
from sparselin.greedy._selection import Selection
from sparselin.linalg.gathered import is_dense
from sparselin.parallel.threads import spread_chunks, workers
from sparselin.problem import Problem
from sparselin.results import FloatArray, IndexArray, SelectionPath, Status

# Tuned by omp/small and omp/noise-5000 of `make bench`; picks do not depend on this number.
SMALL = 10**6  # the most entries of X for which single picks are as fast as blocks
MOST_PICKS = 64  # in one call
_LEAST = 1e-100  # the square of a larger number does not underflow


class Run(NamedTuple):
    """The first picks on a small problem, each of which is certain, from one call of a kernel.

    X_S = QR is the factorisation of the picks, after the column of ones if there is an intercept.

    before : (), or (⟨q, y⟩,) for the column q of Q that belongs to the column of ones.
    picks, lam_star, margin : (t,) the picks, their λ*, and their margins.
    projections : (t,) ⟨q, r⟩ for the columns q of Q that belong to the picks.
    R : R in its first rows and columns.
    norms : (t + 1,) ‖r‖ before the first pick and after each.
    """

    before: tuple[float, ...]
    picks: IndexArray
    lam_star: FloatArray
    margin: FloatArray
    projections: FloatArray
    R: FloatArray
    norms: FloatArray

    @classmethod
    def begin(
        cls, problem: Problem, k: int, floor: float, by_length: bool, selection: Selection | None = None
    ) -> Run | None:
        """Make at most k picks, until ‖r‖ ≤ floor, on a small and dense problem.

        selection : with an intercept, the selection of the column of ones. It stays, but its arrays serve as
            workspace.

        Return None unless the problem is in float64.
        """
        norm = problem.y_norm if selection is None else selection.trail.norms[-1]
        if problem.dtype != np.float64 or k > MOST_PICKS or norm <= floor:
            return None
        before = () if selection is None else tuple(selection.fit.projections)
        chosen = _no_columns(problem, k) if selection is None else _columns_of(selection, k)
        picks = np.empty(k, np.intp)
        numbers = np.empty((4, k + 1))
        numbers[3, 0] = norm
        levels = levels_of(problem, problem.length_unit, floor)
        rule = len(before), levels, True if by_length else None
        t = many.run(*plain_columns(problem), chosen, *rule, picks, numbers)
        return cls(
            before=before,
            picks=picks[:t],
            lam_star=numbers[0, :t],
            margin=numbers[1, :t],
            projections=numbers[2, :t],
            R=chosen.R,
            norms=numbers[3, : t + 1],
        )

    def status(self, k: int, floor: float) -> Status | None:
        """Return the status of the path, or None if it does not end with these picks."""
        if self.norms[-1] <= floor:
            return Status.TOLERANCE
        return Status.COMPLETED if len(self.picks) == k else None

    def path(self, problem: Problem, status: Status, with_active: bool, by_length: bool) -> SelectionPath:
        """Return the picks as a path, whose coefficients and ties are computed when they are read."""
        t, ones = len(self.picks), len(self.before)
        scale = problem.design.scale

        def coefficients() -> FloatArray:
            path = np.zeros((ones + t, ones + t))
            z = np.append(self.before, self.projections)
            solve_prefixes(self.R, z, np.arange(ones + t), path)
            return path

        def coef_path() -> FloatArray:
            inner = coefficients()[ones:, ones:]
            return inner if scale is None else inner * scale[self.picks]

        def alone() -> tuple[tuple[int], ...]:
            return tuple((j,) for j in self.picks.tolist())

        return SelectionPath._deferring(
            {
                "coef_path": coef_path,
                "intercept_path": (lambda: coefficients()[:, 0]) if ones else lambda: np.zeros(t + 1),
                "ties": alone,
                "active_sets": alone if with_active else lambda: ((),) * t,
            },
            support=self.picks,
            lam_star=self.lam_star,
            margin=self.margin,
            weights=(),
            residual_norm=self.norms,
            status=status,
            fit=problem.design.fit(by_length=by_length),
        )


def levels_of(problem: Problem, dependent: float, floor: float) -> Levels:
    """Return the bounds on rounding errors for the kernels, with the `unit` of a `ThinQR` as `dependent`."""
    return Levels(
        correlation=problem.rounding(0.0),
        unit=problem.unit,
        of_squares=problem.errors.of_squares,
        y_norm=problem.y_norm,
        dependent=dependent,
        floor=floor,
    )


def certain_supports(
    problem: Problem, sets: IndexArray, k: int, forced: IndexArray, by_length: bool
) -> IndexArray:
    """Select k features, the forced ones included, by OMP on each set of rows, as long as they are certain.

    One call of a kernel selects on all sets (b, m) in all threads, for a small dense problem in float64. With
    `by_length` it selects by OLS. Row i of the result (b, k) is −1 unless all features on set i are certain.
    """
    p = problem.d - problem.n_features
    b, m = sets.shape
    X = problem.X
    ones, scale = problem.design.ones, problem.design.scale
    supports = np.full((b, p + k), -1)  # with an intercept, p = 1 and the column of ones comes first
    small = m * problem.d <= SMALL and p + k <= m
    if not small or problem.dtype != np.float64 or not is_dense(problem):
        return supports[:, p:]
    A = np.ascontiguousarray(X if ones is None else np.column_stack([X, ones]))
    sizes = np.abs(np.append(A, problem.y))
    if sizes[sizes > 0].min(initial=1.0) < _LEAST:
        return supports[:, p:]
    scales = np.ones((b, problem.d))
    first = problem.with_ones(forced)
    part = problem.of_rows(sets[0])
    if scale is not None:
        scales[:, : X.shape[1]] = [problem.of_rows(rows).design.scale for rows in sets]
    rule = first, levels_of(part, part.length_unit, 0.0), True if by_length else None
    with workers(2.0 * A.size * supports.size) as count:
        spread_chunks(
            lambda i, j: many.select_rows(A, problem.y, sets[i:j], scales[i:j], *rule, supports[i:j]),
            b,
            4,
            count,
        )
    return supports[:, p:]


def _no_columns(problem: Problem, k: int) -> SelectedColumns:
    """Return arrays for the factorisation of k columns, of which none is selected."""
    return SelectedColumns(
        Qt=np.empty((k, problem.n)),
        R=np.zeros((k, k)),
        norms=np.empty(k),
        inverse=np.empty(k),
        r=problem.y.copy(),
        out=np.zeros(problem.n_features, bool),
    )


def _columns_of(selection: Selection, k: int) -> SelectedColumns:
    """Return the arrays of a selection of the column of ones, with room for k more columns."""
    selection.qr.reserve(k + 1)
    Qt, R, norms, inverse = selection.qr.arrays
    r = selection.fit.residual.copy()
    out = np.zeros(selection.problem.n_features, bool)
    return SelectedColumns(Qt=Qt, R=R, norms=norms, inverse=inverse, r=r, out=out)


def plain_columns(problem: Problem) -> tuple[NDArray[Any], bool, NDArray[Any], NDArray[Any]]:
    """Return X (or its transpose), whether it is X, the scales, and the lengths of columns, for a screen."""
    X, d = problem.X, problem.n_features
    by_rows = bool(X.flags.c_contiguous)
    scale = problem.design.scale
    scale = np.ones(d) if scale is None else scale
    return X if by_rows else X.T, by_rows, scale, problem.column_norms[:d]
