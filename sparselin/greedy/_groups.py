"""Orthogonal Matching Pursuit on groups of columns, and for several outputs with a common support."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from sparselin.greedy._lengths import Lengths
from sparselin.greedy._outcomes import Dependent
from sparselin.greedy._thresholds import floor_of
from sparselin.greedy._units import Units, UnitState, root_of_squares, weights_of_groups
from sparselin.greedy._walk import Pick, walk
from sparselin.linalg.thin_qr import ThinQR
from sparselin.linalg.ties import Scores, measure, measured_ending
from sparselin.problem import Problem
from sparselin.results import FloatArray, GroupPath, IndexArray, Status


def group_omp(
    X: Any,
    Y: FloatArray,
    k: int,
    *,
    groups: IndexArray | None = None,
    weights: str | None = None,
    forced: IndexArray | tuple[int, ...] = (),
    tol: float | None = None,
    sample_weight: FloatArray | None = None,
    callback: Callable[[GroupPath], object] | None = None,
    **data: Any,
) -> GroupPath:
    """Select k groups of columns by Orthogonal Matching Pursuit, for q outputs with a common support.

    Let S be the groups selected so far and R = P_S^⊥Y the residuals of least squares on their columns. Each
    step adds the group g whose columns X_g have the largest ‖X_gᵀR‖_F:

        g* = argmax_{g ∉ S} ‖X_gᵀR‖_F,    S ← S ∪ g*.

    At the least squares solution B on S, this is the norm of the gradient of ½‖Y − XB‖_F² with respect to the
    rows B_g. Groups whose norm agrees with the largest one to rounding are tied (the bounds are below), and
    the group of lowest index is picked. All comparisons are in float64.

    For one output and groups of orthonormal columns this is Group-OMP of Lozano, Świrszcz and Abe (*Grouped
    orthogonal matching pursuit for variable selection and prediction*, 2009). Other groups are not
    orthonormalised first, so a larger group, or one of longer columns, has an advantage; `weights` can take
    the advantage of size from it. For groups of one column the method is M-OMP of Cotter, Rao, Engan and
    Kreutz-Delgado (*Sparse solutions to linear inverse problems with multiple measurement vectors*, 2005).
    S-OMP of Tropp, Gilbert and Strauss (2006) differs: it
    compares Σ_j |⟨X_i, R_j⟩|.

    Rounding. Let u = 8·eps, where eps is the machine epsilon, and z_i = P_S^⊥X_i. Let s(x) be the size of a
    vector x, which is defined in `ThinQR.sizes`; the error of P_S^⊥x is proportional to it. The error of c_ij
    = ⟨X_i, R_j⟩ is at most e_ij = u·(s(X_i)‖R_j‖ + ‖z_i‖s(Y_j) + √n·‖z_i‖‖R_j‖), as shown in `linalg.ties`.
    The triangle inequality, first for the vectors (c_ij)_j of a column i and then over the columns i ∈ g,
    bounds the error of ‖X_gᵀR‖_F by

        (Σ_{i∈g} e_i²)^½,    e_i = u·(s(X_i)‖R‖_F + ‖z_i‖s(Y) + √n·‖z_i‖‖R‖_F),    s(Y) = (Σ_j s(Y_j)²)^½.

    The rounding error of the norm itself is added to this bound. It is u·√(|g|q) times the norm, for a sum of
    |g|·q squares and the division by the weight.

    Parameters
    ----------
    X (n, d), sample_weight, intercept, standardize, names : see `Problem`.
    Y : (n, q) the outputs, one per column.
    k : number of groups to select, including the `forced` ones. The path can end earlier, for the reasons
        that `omp` lists.
    groups : (d,) the number of the group of each column, 0, …, G − 1; by default each column is a group.
    weights : None, "sqrt" or "noise"; see `weights_of_groups`, by which the norms are divided.
    forced : groups that enter first, in this order.
    tol : stop once ‖R‖_F ≤ tol·‖Y‖_F; with an intercept, Y is centred first.
    callback : called after each pick with the path so far; the selection stops if it returns True.

    >>> X = np.array([[1.0, 0.0, 1.0], [0.0, 1.0, 1.0], [0.0, 0.0, 1.0]])
    >>> path = group_omp(X, np.array([[3.0], [4.0], [0.0]]), 1, groups=np.array([0, 0, 1]))
    >>> path.order.tolist(), path.lam_star.tolist()  # ‖(3, 4)‖ < 3 + 4
    ([1], [7.0])
    """
    # in this problem ‖y‖ = ‖Y‖_F, including the weights
    problem = Problem(X, np.hypot.reduce(Y, axis=1), sample_weight=sample_weight, **data)
    root = 1.0 if sample_weight is None else np.sqrt(np.asarray(sample_weight, np.float64))[:, None]
    numbers = np.arange(problem.n_features) if groups is None else groups
    fit = GroupLeastSquares(problem, problem.in_double(), np.asarray(Y, np.float64) * root)
    state = UnitState(frobenius_units(fit, numbers, weights), fit, group_path)
    state.force([int(g) for g in forced])
    return walk(state, k, floor_of(problem, state.trail.norms[0], tol), callback)


def groups_of_problem(
    problem: Problem, k: int, groups: IndexArray, weights: str | None, forced: IndexArray
) -> GroupPath:
    """Select k groups of columns of a problem, as `group_omp` does for one output.

    groups : (n_features,) the number of the group of each column.
    """
    double = problem.in_double()
    fit = GroupLeastSquares(problem, double, double.y[:, None])
    state = UnitState(frobenius_units(fit, groups, weights), fit, group_path)
    state.force(forced.tolist())
    return walk(state, k, floor_of(problem, state.trail.norms[0], None), None)


def frobenius_units(fit: GroupLeastSquares, groups: IndexArray, weights: str | None = None) -> Units:
    """Return the units that are compared by ‖X_gᵀR‖_F, the root of a sum of squares.

    groups : (d,) the number of the group of each column.
    weights : see `weights_of_groups`.
    """
    counts = np.bincount(groups)
    outputs = fit.Y.shape[1]
    return Units(
        groups=groups,
        weights=weights_of_groups(weights, counts, outputs),
        norm=root_of_squares,
        rounding=fit.problem.unit * np.sqrt(counts * outputs),
    )


class GroupLeastSquares:
    """Least squares for q outputs on the columns of the selected units, in float64.

    Let S be these columns. The residuals are R = P_S^⊥Y.

    data : the problem as given, perhaps in float32. Its precision decides which norms are zero, and which
        columns are in the span of S.
    problem : the same problem in float64, with ‖Y‖_F in the place of ‖y‖.
    lengths : the ‖P_S^⊥X_i‖ by which the correlations are divided in orthogonal least squares, or None.
    support : S, in the order of selection.
    sizes, ranks : the number of columns in S, and in the factorisation, after 0, 1, … units.
    """

    def __init__(self, data: Problem, problem: Problem, Y: FloatArray, quotients: bool = False) -> None:
        self.data = data
        self.problem = problem
        self.Y = Y
        self.ones = data.d - data.n_features
        self.qr = ThinQR(problem, range(data.n_features, data.d), unit=data.length_unit)
        self.lengths = Lengths(problem) if quotients else None
        self.support: list[int] = []
        self.sizes = [0]
        self.ranks = [self.qr.size]
        self.R = self.qr.residual(Y)
        self._c = np.zeros(0)

    @property
    def norm(self) -> float:
        """‖R‖_F."""
        return float(np.linalg.norm(self.R))

    def correlations(self) -> tuple[FloatArray, FloatArray]:
        """Return ‖X_iᵀR‖ of each column i, and bounds (d,) on the errors.

        In orthogonal least squares ‖X_iᵀR‖ is divided by ‖P_S^⊥X_i‖.
        """
        problem = self.problem
        m = self.data.n_features
        products, relative = self._correlate()
        self._c = np.linalg.norm(products[:m], axis=1)
        if self.lengths is None:
            return self._c, relative * problem.column_norms[:m]
        self.lengths.update(self.qr)
        c = self._c * self.lengths.scale[:m]
        return c, relative * self.lengths.weights(np.append(c, np.zeros(self.ones)))[:m]

    def _correlate(self) -> tuple[FloatArray, float]:
        """Return XᵀR (d, q), and a bound on the errors of its rows i, relative to ‖X_i‖."""
        return self.problem.correlate(self.R), self._error()

    def _error(self) -> float:
        """Return a bound on the error of ‖X_iᵀR‖, relative to ‖X_i‖."""
        return self.data.rounding(self.qr.kappa) * self.problem.y_norm

    def measure(self, columns: IndexArray) -> Scores:
        """Return the entries `columns` of `correlations`, with sharp error bounds."""
        measured = measure(self.qr, columns, self.data, self.Y)
        return measured.correlations() if self.lengths is None else measured.quotients()

    def describe(self, pick: Pick, score: FloatArray, units: Units) -> Pick:
        """Return the pick; in orthogonal least squares with λ* = ‖X_gᵀR‖_F, which is not its score."""
        if self.lengths is None:
            return pick
        return pick._replace(lam_star=float(units.norm(units.groups, self._c)[pick.feature]))

    def add(self, pick: Pick, columns: list[int]) -> float | Dependent:
        """Add the columns of a pick to S, and return ‖R‖_F.

        A pick is not added if all its columns are in the span of S to rounding. A forced one is added in any
        case; if its columns are in the span of S, its coefficients are zero.
        """
        rank = self.qr.size
        for j in columns:
            self.qr.append(j)
        if pick.tied and self.qr.size == rank:
            return Dependent(pick.feature)
        self.support.extend(columns)
        self.sizes.append(len(self.support))
        self.ranks.append(self.qr.size)
        self.R = self.qr.residual(self.Y)
        return self.norm

    def ending(self, units: Units, rest: IndexArray) -> Status:
        """Return the status that says why ‖X_iᵀR‖ is zero for the columns `rest`, which are not selected."""
        return measured_ending(self.qr, rest, self.data, self.Y)

    def coefficients(self) -> list[FloatArray]:
        """Return the coefficients after t = 0, 1, … units: one array (|S_t|, q) for each t.

        S_t are the columns of the first t units, in the order of the rows of the array, and q is the number
        of outputs. With an intercept, an array has one more row, the first one, with the intercepts (q,).
        """
        ones = self.ones
        projections = self.qr.Qt @ self.Y
        position = {j: i + ones for i, j in enumerate(self.support)}
        rows = np.array([position.get(j, 0) for j in self.qr.index], np.intp)
        coefs = list[FloatArray]()
        for size, rank in zip(self.sizes, self.ranks, strict=True):
            coef = np.zeros((ones + size, self.Y.shape[1]))
            coef[rows[:rank]] = np.linalg.solve(self.qr.R[:rank, :rank], projections[:rank])
            coefs.append(coef)
        return coefs


def group_path(state: UnitState[GroupLeastSquares, GroupPath], status: Status) -> GroupPath:
    """Return the groups that were selected so far, with the coefficients in the units of X."""
    fit, trail = state.fit, state.trail
    data = fit.data
    dtype = data.dtype
    ones = fit.ones
    coefs = fit.coefficients()
    scale = data.design.scale
    scales = np.ones(len(fit.support)) if scale is None else scale[fit.support]
    intercepts = np.array([coef[0] if ones else np.zeros(fit.Y.shape[1]) for coef in coefs], dtype)
    inner = [coef[ones:] * scales[: len(coef) - ones, None] for coef in coefs[1:]]
    lam_star, margin, ties = trail.fields(dtype)
    return GroupPath(
        order=np.array(trail.support, np.intp),
        groups=state.units.groups.copy(),
        support=np.array(fit.support, np.intp),
        sizes=np.array(fit.sizes, np.intp),
        ranks=np.array(fit.ranks, np.intp) - ones,
        coef_path=tuple(coef.astype(dtype) for coef in inner),
        intercept_path=intercepts,
        lam_star=lam_star,
        margin=margin,
        ties=ties,
        residual_norm=np.array(trail.norms, dtype),
        unfitted=state.unfitted,
        recession=state.recession,
        status=status,
        fit=data.design.fit(),
    )
