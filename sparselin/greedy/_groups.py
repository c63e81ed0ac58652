"""Orthogonal Matching Pursuit on groups of columns, and for several outputs with a common support."""

from collections.abc import Callable
from typing import Any

import numpy as np

from sparselin.greedy._lengths import Lengths
from sparselin.greedy._thresholds import floor_of
from sparselin.greedy._walk import Pick, PickRecord, argmax, walk
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
    double = np.asarray(Y, np.float64) * root
    selection = GroupSelection(problem, problem.in_double(), double, numbers, weights=weights)
    for g in forced:
        selection.add(Pick(feature=int(g)))
    return walk(selection, k, floor_of(problem, selection.total_norm, tol), callback)


def weights_of_groups(kind: str | None, counts: IndexArray, outputs: int = 1) -> FloatArray:
    """Return the weights (G,) by which the norms of G groups are divided before they are compared.

    counts : the number p_g of columns of each group; with q outputs let m_g = p_g·q.

    None: 1. "sqrt": √m_g, the weights of the group LASSO (Yuan and Lin, *Model selection and estimation in
    regression with grouped variables*, 2006). "noise": w_g, where w_g² is the quantile of χ² with m_g degrees
    of freedom at 1 − 1/(G + 1). If X_g has orthonormal columns and the outputs are independent N(0, σ²) noise
    E, then ‖X_gᵀE‖_F²/σ² has this χ² distribution, so each group exceeds σ·w_g with the same probability
    1/(G + 1), whatever its size. With None noise picks large groups more often, with "sqrt" small ones.
    """
    size = np.asarray(counts, np.float64) * outputs
    if kind == "noise":
        from scipy.special import gammainccinv  # imported here, because it takes 150 ms

        return np.asarray(np.sqrt(2 * gammainccinv(size / 2, 1 / (len(size) + 1))))
    return np.sqrt(size) if kind == "sqrt" else np.ones(len(size))


class GroupSelection:
    """The state of group OMP, in float64: the columns S of the selected groups, R = P_S^⊥Y, and the picks.

    data : the problem as given, perhaps in float32. Its precision decides which norms are zero, and which
        columns are in the span of S.
    problem : the same problem in float64, with ‖Y‖_F in the place of ‖y‖.
    quotients : whether the correlation of column i is divided by ‖P_S^⊥X_i‖, as in orthogonal least squares.
    weights : the weights of the groups; see `weights_of_groups`.
    """

    def __init__(
        self,
        data: Problem,
        problem: Problem,
        Y: FloatArray,
        groups: IndexArray,
        quotients: bool = False,
        weights: str | None = None,
    ) -> None:
        self.data, self.problem, self.Y, self.groups = data, problem, Y, groups
        self.ones = data.d - data.n_features
        self.qr = ThinQR(problem, range(data.n_features, data.d), unit=data.length_unit)
        self.counts = np.bincount(groups)
        self.weights = weights_of_groups(weights, self.counts, Y.shape[1])
        self.lengths = Lengths(problem) if quotients else None
        self.support: list[int] = []
        self.excluded: list[int] = []
        self.sizes, self.ranks = [0], [self.qr.size]
        self.R = self.qr.residual(Y)
        self.total_norm = float(np.linalg.norm(self.R))
        self.trail = PickRecord(self.total_norm)

    def add(self, pick: Pick) -> bool:
        """Add the group `pick.feature` to the selected groups S, and return whether it was added.

        A pick is not added if all its columns are in the span of S to rounding. A forced group (`pick.tied`
        is empty) is added in any case; if its columns are in the span of S, its coefficients are zero.
        """
        columns, rank = np.flatnonzero(self.groups == pick.feature).tolist(), self.qr.size
        self.excluded.append(pick.feature)
        for j in columns:
            self.qr.append(j)
        if pick.tied and self.qr.size == rank:
            return False
        self.support.extend(columns)
        self.sizes.append(len(self.support))
        self.ranks.append(self.qr.size)
        self.R = self.qr.residual(self.Y)
        self.trail.add([pick], [float(np.linalg.norm(self.R))])
        return True

    def step(self, limit: int) -> Status | None:
        """Add the group g with the largest ‖X_gᵀR‖_F; if all these norms are zero, return a status.

        R are the residuals of Y on the selected groups. The status says why the norms are zero.
        """
        problem, m = self.problem, self.data.n_features
        c: FloatArray = np.linalg.norm(problem.correlate(self.R)[:m], axis=1)
        relative = self.data.rounding(self.qr.kappa) * problem.y_norm
        error: FloatArray = relative * problem.column_norms[:m]
        sizes = None
        if self.lengths is not None:
            sizes = np.sqrt(np.bincount(self.groups, c**2))
            self.lengths.update(self.qr)
            c = c * self.lengths.scale[:m]
            error = relative * self.lengths.weights(np.append(c, np.zeros(self.ones)))[:m]
        pick, _ = argmax(*self._norms(c, error), self.excluded, self._measure)
        if pick is None:
            rest = self._columns(np.setdiff1d(np.arange(len(self.counts)), self.excluded))
            return measured_ending(self.qr, rest, self.data, self.Y)
        self.add(pick if sizes is None else pick._replace(lam_star=float(sizes[pick.feature])))
        return None

    def _norms(self, c: FloatArray, error: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return, for each group, the norm of its entries of c divided by its weight, and an error bound.

        c : (d,) one entry for each column.
        error : (d,) bounds on the errors of c.
        """
        score = np.sqrt(np.bincount(self.groups, c**2))
        summed = self.problem.unit * np.sqrt(self.counts * self.Y.shape[1]) * score
        return score / self.weights, (np.sqrt(np.bincount(self.groups, error**2)) + summed) / self.weights

    def _columns(self, J: IndexArray) -> IndexArray:
        """Return the columns of the groups J."""
        return np.flatnonzero(np.isin(self.groups, J))

    def _measure(self, J: IndexArray) -> Scores:
        """Return the scores ‖X_gᵀR‖_F of the groups g in J, with sharp error bounds.

        R are the residuals of Y on the selected groups.
        """
        columns = self._columns(J)
        measured = measure(self.qr, columns, self.data, self.Y)
        found = measured.correlations() if self.lengths is None else measured.quotients()
        c, e = np.zeros((2, len(self.groups)))
        c[columns], e[columns] = found.score, found.error
        score, error = self._norms(c, e)
        return Scores(score[J], error[J], found.coarse)

    def coefficients(self) -> list[FloatArray]:
        """Return the coefficients after t = 0, 1, … groups: one array (|S_t|, q) for each t.

        S_t are the columns of the first t groups, in the order of the rows of the array, and q is the number
        of outputs. With an intercept, an array has one more row, the first one, with the intercepts (q,).
        """
        ones, projections = self.ones, self.qr.Qt @ self.Y
        position = {j: i + ones for i, j in enumerate(self.support)}
        rows = np.array([position.get(j, 0) for j in self.qr.index], np.intp)
        coefs = list[FloatArray]()
        for size, rank in zip(self.sizes, self.ranks, strict=True):
            coef = np.zeros((ones + size, self.Y.shape[1]))
            coef[rows[:rank]] = np.linalg.solve(self.qr.R[:rank, :rank], projections[:rank])
            coefs.append(coef)
        return coefs

    def path(self, status: Status) -> GroupPath:
        data, dtype, scale, ones = self.data, self.data.dtype, self.data.design.scale, self.ones
        coefs = self.coefficients()
        units = np.ones(len(self.support)) if scale is None else scale[self.support]
        intercepts = np.array([coef[0] if ones else np.zeros(self.Y.shape[1]) for coef in coefs], dtype)
        inner = [coef[ones:] * units[: len(coef) - ones, None] for coef in coefs[1:]]
        path = tuple(coef.astype(dtype) for coef in inner)
        lists = (self.trail.support, self.support, self.sizes, self.ranks)
        order, support, sizes, ranks = (np.array(numbers, np.intp) for numbers in lists)
        fits = (path, intercepts, *self.trail.fields(dtype), np.array(self.trail.norms, dtype))
        groups, fit = self.groups.copy(), data.design.fit(data.names)
        return GroupPath(order, groups, support, sizes, ranks - ones, *fits, (), np.zeros(0), status, fit)
