"""OMP on all rows and on those of each fold, the folds sharing what they can.

Their paths are much alike. So the path of a fold is found on few columns, chosen by the path of all rows, and
then each of its steps is checked on all columns: with r_s its residual before step s, zero on the rows that
the fold leaves out, and λ*_s the largest |⟨X_j, r_s⟩| among the few,

    |⟨X_j, r_s⟩| < λ*_s    for every other column j,

by more than rounding. Then the pick, and what ties with it, are those of all columns. It takes one product
with a copy of X in float32, which is made once; X itself is copied for no fold. Columns that fail join the
few, and the path is found again; a fold that does not pass then is solved on all columns.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from sparselin.greedy.omp import omp
from sparselin.linalg.products import compiled
from sparselin.parallel.threads import spread, workers
from sparselin.problem import Problem
from sparselin.results import FloatArray, IndexArray, SelectionPath, Status

_LEAST = 2 * 10**6  # entries of X from which sharing is faster
_SHARE = 6  # the few are this share of the columns, and at least 4k
_TRIES = 3
_EPS = float(np.finfo(np.float32).eps)
_RANGE = 1e-15, 1e15  # lengths of columns in which float32 neither over- nor underflows


class FoldPath(NamedTuple):
    """What a fold needs of a `SelectionPath`."""

    support: IndexArray
    coef_path: FloatArray
    intercept_path: FloatArray
    status: Status


def path_of(path: SelectionPath, columns: IndexArray | None = None) -> FoldPath:
    support = path.support if columns is None else columns[path.support]
    return FoldPath(support, path.coef_path, path.intercept_path, path.status)


def can_share(problem: Problem, k: int) -> bool:
    """Whether the folds of this problem, of all rows, may share, and gain by it."""
    norms = problem.column_norms[problem.column_norms > 0]
    fits = len(norms) > 0 and _RANGE[0] < norms.min() and norms.max() < _RANGE[1]
    large = problem.n * problem.d >= _LEAST and 8 * k <= problem.d
    return bool(fits and large and compiled(problem) and problem.dtype == np.float64)


class SharedFolds:
    """The paths of k features on the training rows of each fold.

    whole : the path of all rows, the problem's.
    """

    def __init__(self, problem: Problem, parts: list[IndexArray], k: int, whole: SelectionPath) -> None:
        self.problem, self.parts, self.k = problem, parts, k
        self.single = problem.X.astype(np.float32)
        self.few = self._likely(whole)

    def paths(self) -> list[FoldPath | None]:
        """Those that passed; None where the fold is to be solved on all columns."""
        found: list[FoldPath | None] = [None] * len(self.parts)
        left = list(range(len(self.parts)))
        for _ in range(_TRIES):
            block, more, failed = self.problem.X[:, self.few], [], []
            for i in left:
                path = self._guess(block, self.parts[i])
                wrong = self._failing(path, self.parts[i])
                if len(wrong) == 0:
                    found[i] = path_of(path, self.few)
                elif 8 * len(wrong) <= self.problem.d:
                    failed.append(i)
                    more.append(wrong)
            left = failed
            if not left:
                break
            self.few = np.union1d(self.few, np.concatenate(more))
        return found

    def _ones(self, rows: IndexArray) -> FloatArray:
        """The column of ones (|rows|, 1), or (|rows|, 0) without an intercept."""
        ones = self.problem.design.ones
        return np.empty((len(rows), 0)) if ones is None else ones[rows, None]

    def _products(self, V: FloatArray) -> FloatArray:
        """|VX| in float32."""
        out = np.empty((len(V), self.single.shape[1]), np.float32)

        def multiply(a: int, b: int) -> None:
            np.matmul(V, self.single[:, a:b], out=out[:, a:b])

        with workers(2.0 * self.single.size * len(V)) as count:
            spread(multiply, out.shape[1], count)
        return np.abs(out, out=out)

    def _guess(self, block: FloatArray, rows: IndexArray) -> SelectionPath:
        intercept = self.problem.design.ones is not None
        return omp(Problem(block[rows], self.problem.y[rows], intercept=intercept), self.k)

    def _likely(self, whole: SelectionPath) -> IndexArray:
        """The columns most correlated, on some fold, with residuals of the second half of the whole path."""
        S, t, y = whole.support, len(whole), self.problem.y
        ends = sorted({t // 2, 3 * t // 4, t})
        coef = np.zeros((len(ends), t))
        for row, end in zip(coef, ends, strict=True):
            row[:end] = whole.coef_at(end)
        residuals = y - whole.intercept_path[ends, None] - coef @ self.problem.X[:, S].T
        masked = np.zeros((len(self.parts), *residuals.shape), np.float32)
        for out, rows in zip(masked, self.parts, strict=True):
            inside = residuals[:, rows]
            mean = inside.mean(axis=1, keepdims=True) if self._ones(rows).size else 0.0
            inside = inside - mean
            out[:, rows] = inside / np.maximum(
                np.abs(inside).max(axis=1, keepdims=True), np.finfo(float).tiny
            )
        c = self._products(masked.reshape(-1, len(y)))
        score = (c / np.maximum(c.max(axis=1, keepdims=True), np.finfo(np.float32).tiny)).max(axis=0)
        score[S] = np.inf
        m = max(len(score) // _SHARE, 4 * self.k)
        return np.sort(np.argpartition(score, -m)[-m:])

    def _failing(self, path: SelectionPath, rows: IndexArray) -> IndexArray:
        """The columns, not of the few, for which a step of the path is not certain; all, if it ended early.

        Rounding is bounded as by `Problem.rounding`: 8·eps·(√n + 1)‖X_j‖‖r_s‖ for the products, with the eps
        of float32, and for r_s what it gives in float64.
        """
        d, t = self.problem.n_features, len(path)
        if t == 0 or path.status not in (Status.COMPLETED, Status.EXACT_FIT):
            return np.arange(d)
        columns, y = self.problem.X[np.ix_(rows, self.few[path.support])], self.problem.y[rows]
        A = np.hstack([self._ones(rows), columns])
        Q, R = np.linalg.qr(A / np.linalg.norm(A, axis=0))
        steps = y[:, None] - np.cumsum(np.hstack([np.zeros((len(y), 1)), Q * (y @ Q)]), axis=1)
        first = A.shape[1] - t
        residuals = steps[:, first : first + t].T
        length = np.linalg.norm(residuals, axis=1)
        masked = np.zeros((t, self.problem.n), np.float32)
        masked[:, rows] = residuals / length[:, None]
        kappa = float(np.linalg.cond(R))
        norms = self.problem.column_norms[:d]
        rounding = 8 * _EPS * (math.sqrt(len(y)) + 1) * length
        rounding += self.problem.rounding(kappa) * math.sqrt(float(y @ y))
        # |w|·‖r‖ + rounding·‖X_j‖ < λ*, divided by ‖r‖ and compared in float32, which has room in its bound
        level, slack = path.lam_star / length, rounding / length
        certain = self._products(masked) + np.multiply.outer(slack, norms).astype(np.float32) < level[
            :, None
        ].astype(np.float32)
        certain[:, self.few] = True
        return np.flatnonzero(~certain.all(axis=0))
