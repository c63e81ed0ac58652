"""OMP and OLS on small problems in one call of a kernel, as long as the picks are certain."""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparselin._kernels import many
from sparselin._kernels.linear_algebra import solve_prefixes
from sparselin._kernels.screen import MOST, Levels, SelectedColumns, Ties
from sparselin.greedy._method import GreedyMethod
from sparselin.greedy._selection import Selection
from sparselin.linalg.gathered import is_dense
from sparselin.parallel.threads import spread_chunks, workers
from sparselin.problem import Problem
from sparselin.results import Fit, FloatArray, IndexArray, SelectionPath, Status

MOST_PICKS = 64  # in one call
# Tuned by omp/*, ols/* and scaling of `make bench`; picks do not depend on these numbers.
# The most entries of X for which single picks are as fast as blocks, and the same for few rows: in C order
# each comparison reads n lines of the cache. OLS compares more columns, and projects them off those of Q.
_SMALL = 10**6
_MEDIUM = 5 * 10**6
_FEW_ROWS = 5000
_SMALL_OLS = 2 * 10**6
_PROJECTED = 10**5  # the most entries of Q
_LEAST = 1e-100  # the square of a larger number does not underflow


@dataclasses.dataclass(frozen=True, eq=False)
class Run:
    """The first picks on a small problem, each of which is certain, from one call of a kernel.

    X_S = QR is the factorisation of the picks, after the column of ones if there is an intercept.

    A path keeps its run for the fields that are computed later. So a run holds neither X nor y, which may be
    large, or be changed.

    scale : the scales of the columns, or None.
    with_active : whether the features that enter the LASSO first are recorded.
    fit : the properties of the fits.
    before : (), or (⟨q, y⟩,) for the column q of Q that belongs to the column of ones.
    picks : (t,) the picks.
    numbers : (4, k + 1), see the kernel `run`.
    tied : `Ties.found`; it is empty if each pick is certain.
    R : the matrix R in its first rows and columns.
    """

    scale: FloatArray | None
    with_active: bool
    fit: Fit
    before: tuple[float, ...]
    picks: IndexArray
    numbers: FloatArray
    tied: IndexArray
    R: FloatArray

    @classmethod
    def begin(
        cls, problem: Problem, k: int, floor: float, method: GreedyMethod, selection: Selection | None = None
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
        ties = no_ties(problem, method, k)
        rule = len(before), levels, None if method.lengths is None else True, ties
        t = many.run(*plain_columns(problem), chosen, *rule, picks, numbers)
        return cls(
            scale=problem.design.scale,
            with_active=method.with_active,
            fit=problem.design.fit(by_length=method.lengths is not None),
            before=before,
            picks=picks[:t],
            numbers=numbers,
            tied=ties.found,
            R=chosen.R,
        )

    def status(self, k: int, floor: float) -> Status | None:
        """Return the status of the path, or None if it does not end with these picks."""
        t = len(self.picks)
        if self.numbers[3, t] <= floor:
            return Status.TOLERANCE
        return Status.COMPLETED if t == k else None

    def path(self, status: Status) -> SelectionPath:
        """Return the picks as a path; its other fields are methods of this run."""
        t = len(self.picks)
        return SelectionPath._deferring(
            self,
            support=self.picks,
            lam_star=self.numbers[0, :t],
            margin=self.numbers[1, :t],
            weights=(),
            residual_norm=self.numbers[3, : t + 1],
            status=status,
            fit=self.fit,
        )

    @functools.cached_property
    def _coefficients(self) -> FloatArray:
        size = len(self.before) + len(self.picks)
        z = np.append(self.before, self.numbers[2, : len(self.picks)])
        path = np.zeros((size, size))
        solve_prefixes(self.R, z, np.arange(size), path)
        return path

    def coef_path(self) -> FloatArray:
        ones = len(self.before)
        inner = self._coefficients[ones:, ones:]
        return inner if self.scale is None else inner * self.scale[self.picks]

    def intercept_path(self) -> FloatArray:
        return self._coefficients[:, 0].copy() if self.before else np.zeros(len(self.picks) + 1)

    def ties(self) -> tuple[tuple[int, ...], ...]:
        return tied_with(self.picks.tolist(), self.tied)

    def active_sets(self) -> tuple[tuple[int, ...], ...]:
        return self.ties() if self.with_active else ((),) * len(self.picks)


def levels_of(problem: Problem, dependent: float, floor: float) -> Levels:
    """Return the bounds on rounding errors for the kernels, with the `unit` of a `ThinQR` as `dependent`."""
    errors = problem.errors
    return Levels(
        correlation=errors.rounding(0.0),
        unit=errors.unit,
        of_squares=errors.of_squares,
        y_norm=problem.y_norm,
        dependent=dependent,
        floor=floor,
    )


def no_ties(problem: Problem, method: GreedyMethod, k: int) -> Ties:
    """Return a record for the ties of k picks; it is empty if the rule of the method must decide them."""
    if not method.by_index or problem.errors.of_squares:
        k = 0
    width = 1 + min(MOST, problem.n_features)
    return Ties(y=problem.y.copy(), found=np.zeros((k, width), np.intp))


def tied_with(picks: list[int], found: IndexArray) -> tuple[tuple[int, ...], ...]:
    """Return the tied features of each of the first picks to which `Ties.found` belongs."""
    if not found.size:
        return tuple((j,) for j in picks)
    counts = found[: len(picks), 0].tolist()
    return tuple(
        tuple(found[i, 1 : 1 + count].tolist()) if count else (j,)
        for i, (j, count) in enumerate(zip(picks, counts, strict=True))
    )


def picks_singly(problem: Problem, k: int, *, by_length: bool) -> bool:
    """Return whether k single picks in one call of a kernel are as fast as blocks.

    by_length : whether the method is OLS, whose selected columns have the factor Q (n, k).
    """
    n = problem.n
    if by_length:
        return n * problem.d <= _SMALL_OLS and n * min(k, MOST_PICKS) <= _PROJECTED
    return n * problem.d <= (_MEDIUM if n <= _FEW_ROWS else _SMALL)


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
    small = m * problem.d <= _SMALL and p + k <= m
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
