"""Orthogonal Matching Pursuit on groups of columns, and for several outputs with a common support."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from sparselin.linalg.thin_qr import ThinQR
from sparselin.linalg.ties import Scores, argmax, measure, relative_margin, stopping_level
from sparselin.problem import Problem
from sparselin.results import FloatArray, GroupPath, IndexArray, Status

_AT_ONCE = 4 * 10**6  # entries of X that are projected at a time


def group_omp(
    X: Any,
    Y: FloatArray,
    k: int,
    *,
    groups: IndexArray | None = None,
    forced: IndexArray | tuple[int, ...] = (),
    tol: float | None = None,
    intercept: bool = False,
    standardize: bool = False,
    sample_weight: FloatArray | None = None,
    names: tuple[str, ...] | None = None,
    callback: Callable[[GroupPath], object] | None = None,
) -> GroupPath:
    """Select k groups of columns by Orthogonal Matching Pursuit, for q outputs with a common support.

    With R = P_S^⊥Y the residuals of least squares on the groups S so far, each step takes

        g* = argmax_{g ∉ S} ‖X_gᵀR‖_F,    S ← S ∪ g*.

    ‖X_gᵀR‖_F is the norm of the gradient of ½‖Y − XB‖_F² in the rows B_g at the least squares solution on S.
    For one output this is Group-OMP of Lozano, Świrszcz and Abe (*Grouped orthogonal matching pursuit for
    variable selection and prediction*, 2009) where the columns of each group are orthonormal, as they assume;
    other groups are taken as they are, so that a larger group, or one of longer columns, has an advantage.
    For groups of one column it is M-OMP of Cotter, Rao, Engan and Kreutz-Delgado (*Sparse solutions to linear
    inverse problems with multiple measurement vectors*, 2005); S-OMP of Tropp, Gilbert and Strauss (2006)
    compares Σ_j |⟨X_i, R_j⟩| instead. Groups whose norm is the largest to rounding are tied (bounds below),
    and the lowest is picked. All is compared in float64.

    Rounding: with s(x) the size of x (`ThinQR.sizes`) and u = 8·eps, c_ij = ⟨X_i, R_j⟩ is off by
    e_ij = u·(s(X_i)‖R_j‖ + ‖z_i‖s(Y_j) + √n·‖z_i‖‖R_j‖), z_i = P_S^⊥X_i (`linalg.ties`). By the triangle
    inequality for vectors over j, then over i ∈ g, ‖X_gᵀR‖_F is off by at most

        (Σ_{i∈g} e_i²)^½,    e_i = u·(s(X_i)‖R‖_F + ‖z_i‖s(Y) + √n·‖z_i‖‖R‖_F),    s(Y) = (Σ_j s(Y_j)²)^½,

    and by the rounding of a sum of |g|·q squares, u·√(|g|q) of it.

    Parameters
    ----------
    X (n, d), sample_weight, intercept, standardize, names : as for `Problem`.
    Y : (n, q).
    k : groups to select, forced ones included; the path ends earlier as that of `omp` does.
    groups : (d,) the number of the group of each column, 0, …, G − 1; by default each column is one.
    forced : groups that enter first, in this order.
    tol : stop once ‖R‖_F ≤ tol·‖Y‖_F, of Y less its means with an intercept.
    callback : called after each pick with the path so far; returning True stops.

    >>> X = np.array([[1.0, 0.0, 1.0], [0.0, 1.0, 1.0], [0.0, 0.0, 1.0]])
    >>> path = group_omp(X, np.array([[3.0], [4.0], [0.0]]), 1, groups=np.array([0, 0, 1]))
    >>> path.order.tolist(), path.lam_star.tolist()  # ‖(3, 4)‖ < 3 + 4
    ([1], [7.0])
    """
    # ‖y‖ of this problem is ‖Y‖_F, weights included
    data = Problem(
        X, np.hypot.reduce(Y, axis=1), sample_weight=sample_weight, intercept=intercept,
        standardize=standardize, names=names,
    )  # fmt: skip
    root = 1.0 if sample_weight is None else np.sqrt(np.asarray(sample_weight, np.float64))[:, None]
    numbers = np.arange(data.n_features) if groups is None else groups
    pursuit = _Pursuit(data, np.asarray(Y, np.float64) * root, numbers)
    for g in forced:
        pursuit.add(int(g), math.nan, math.nan, ())
    level = -1.0 if tol is None else tol * pursuit.norms[0]
    floor = float(stopping_level(level, data.y_norm, data.unit, data.length_unit))
    while pursuit.norms[-1] > floor:
        if len(pursuit.order) == k:
            return pursuit.path(Status.COMPLETED)
        status = pursuit.step()
        if status is not None:
            return pursuit.path(status)
        if callback is not None and callback(pursuit.path(Status.STOPPED)):
            return pursuit.path(Status.STOPPED)
    return pursuit.path(Status.TOLERANCE)


class _Pursuit:
    """The state: S, its factorisation, R, and the picks so far. `data` may be float32, `problem` is not."""

    def __init__(self, data: Problem, Y: FloatArray, groups: IndexArray) -> None:
        self.data, self.problem, self.Y, self.groups = data, data.in_double(), Y, groups
        self.qr = ThinQR(self.problem)
        self.ones = data.d - data.n_features
        if self.ones:
            self.qr.append(data.n_features)
        squares = np.bincount(groups, self.problem.column_norms[: data.n_features] ** 2)
        self.lengths, self.counts = np.sqrt(squares), np.bincount(groups)
        self.order: list[int] = []
        self.support: list[int] = []
        self.sizes, self.ranks = [0], [self.qr.size]
        self.picks: list[tuple[float, float, tuple[int, ...]]] = []
        self.R = self.qr.residual(Y)
        self.norms = [float(np.linalg.norm(self.R))]

    def add(self, g: int, lam_star: float, margin: float, tied: tuple[int, ...]) -> None:
        for j in np.flatnonzero(self.groups == g).tolist():
            self.support.append(j)
            self.qr.append(j)
        self.order.append(g)
        self.sizes.append(len(self.support))
        self.ranks.append(self.qr.size)
        self.picks.append((lam_star, margin, tied))
        self.R = self.qr.residual(self.Y)
        self.norms.append(float(np.linalg.norm(self.R)))

    def step(self) -> Status | None:
        """Add the next group, or say why there is none."""
        m, q = self.problem.n_features, self.Y.shape[1]
        squares = np.square(self.problem.correlate(self.R)[:m]).sum(axis=1)
        score = np.sqrt(np.bincount(self.groups, squares))
        relative = self.problem.rounding(self.qr.kappa) + self.problem.unit * np.sqrt(self.counts * q)
        error = relative * self.lengths * self.problem.y_norm
        best, score = argmax(score, error, self.order, self.measured)
        if best is None:
            return self.ending()
        score[self.order] = 0
        margin = relative_margin(score, best.pick, best.top)
        self.add(best.pick, best.top, margin, best.tied)
        return None

    def y_size(self) -> float:
        """s(Y)."""
        norms = np.linalg.norm(self.Y, axis=0)
        return float(np.linalg.norm(self.qr.sizes(norms, self.qr.Qt @ self.Y)))

    def measured(self, J: IndexArray) -> Scores:
        """‖X_gᵀR‖_F for g in J, from projected columns, zero in the span of S; and the bound above."""
        problem, q = self.problem, self.Y.shape[1]
        y_size, r_norm = self.y_size(), self.norms[-1]
        squares, errors = np.zeros(len(self.counts)), np.zeros(len(self.counts))
        columns = np.flatnonzero(np.isin(self.groups, J))
        step = max(1, _AT_ONCE // problem.n)
        for at in range(0, len(columns), step):
            block = columns[at : at + step]
            X = problem.columns(block)
            size = self.qr.sizes(problem.column_norms[block], self.qr.Qt @ X)
            Z = self.qr.residual(X)
            length = np.linalg.norm(Z, axis=0)
            outside = length > self.data.length_unit * size
            error = problem.measured_error(size, length, y_size, r_norm, length)
            c = np.square(Z.T @ self.R).sum(axis=1)
            np.add.at(squares, self.groups[block], np.where(outside, c, 0))
            np.add.at(errors, self.groups[block], np.where(outside, error**2, 0))
        score = np.sqrt(squares[J])
        summed = problem.unit * np.sqrt(self.counts[J] * q) * score
        return Scores(score, np.sqrt(errors[J]) + summed, self.data.unit / problem.unit)

    def ending(self) -> Status:
        """Why no group is correlated with R."""
        if self.norms[-1] <= self.data.length_unit * self.y_size():
            return Status.EXACT_FIT
        rest = np.flatnonzero(~np.isin(self.groups, self.order))
        outside = len(rest) > 0 and bool(measure(self.qr, rest, self.data).outside.any())
        return Status.NO_CORRELATION if outside else Status.RANK_EXHAUSTED

    def path(self, status: Status) -> GroupPath:
        data, dtype, scale = self.data, self.data.dtype, self.data.design.scale
        projections = self.qr.Qt @ self.Y
        position = {j: i for i, j in enumerate(self.support)}
        rows = np.array([position[j] for j in self.qr.index[self.ones :]], np.intp)
        coefs, intercepts = [], np.zeros((len(self.sizes), self.Y.shape[1]), dtype)
        for t, (size, rank) in enumerate(zip(self.sizes, self.ranks, strict=True)):
            solution = np.linalg.solve(self.qr.R[:rank, :rank], projections[:rank])
            coef = np.zeros((size, self.Y.shape[1]))
            coef[rows[: rank - self.ones]] = solution[self.ones :]
            if scale is not None:
                coef *= scale[self.support[:size], None]
            coefs.append(coef.astype(dtype))
            if self.ones:
                intercepts[t] = solution[0]
        lam_star, margin, ties = zip(*self.picks, strict=True) if self.picks else ((), (), ())
        return GroupPath(
            order=np.array(self.order, np.intp),
            groups=self.groups.copy(),
            support=np.array(self.support, np.intp),
            sizes=np.array(self.sizes, np.intp),
            ranks=np.array(self.ranks, np.intp) - self.ones,
            coef_path=tuple(coefs[1:]),
            intercept_path=intercepts,
            lam_star=np.array(lam_star, dtype),
            margin=np.array(margin, dtype),
            ties=ties,
            residual_norm=np.array(self.norms, dtype),
            status=status,
            fit=data.design.fit(data.names),
        )
