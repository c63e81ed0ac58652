"""Depth-first branch and bound for the best subset of a least squares problem, with few features.

A node (I, F, m) of the search tree represents the sets I ∪ A with A ⊆ F and |A| ≤ m, where I are the features
already chosen, and F the candidates. With Z = P_I^⊥X_F, r = P_I^⊥y, C = ZᵀZ and b = Zᵀr,

    ‖P_{I∪A}^⊥y‖² = ‖r‖² + min {βᵀCβ − 2bᵀβ : β ∈ ℝ^F zero off A}.                                        (1)

**Bound.** Let D be a positive diagonal matrix such that M = C − D is positive semidefinite. For x ∈ ℝ^F let
v_j = (b − Mx)_j²/D_j, and let T_m(v) be the sum of the m largest v_j. Then every x satisfies

    ‖P_{I∪A}^⊥y‖² ≥ ‖r‖² − xᵀMx − T_m(v)    for all A ⊆ F, |A| ≤ m.                                        (2)

Proof: Let β be zero off A and u = b − Mx. From (β − x)ᵀM(β − x) ≥ 0, βᵀMβ ≥ 2βᵀMx − xᵀMx. Also
D_jβ_j² ≥ 2u_jβ_j − u_j²/D_j. So βᵀCβ − 2bᵀβ ≥ −xᵀMx + 2(Mx + u − b)ᵀβ − Σ_{j∈A} v_j, where the middle term is
zero. ∎ The bound holds for every x, so no iteration has to converge and no system is solved. At x = 0 the
bound is ‖r‖² minus the sum of the m largest b_j²/D_j. At x = C⁻¹b it is the squared residual on I ∪ F plus
the sum of the |F| − m least D_jx_j² (a lower bound on the cost of deleting |F| − m features). The best x
solves the perspective relaxation (Frangioni and Gentile, 2006; Dong, Chen and Linderoth, 2015)

    min_{x, z} xᵀMx − 2bᵀx + Σ_j D_jx_j²/z_j,   0 ≤ z ≤ 1,  Σ z_j ≤ m.

It is solved approximately, starting from the x of the parent node. Coordinate descent on x for a fixed
multiplier λ of the constraint Σ z_j ≤ m alternates with updates of λ for fixed x. Let L be the right side of
(2), and v_(m) the m-th largest v_j. The same proof gives lower bounds for the sets that contain j (left) and
for the sets that do not (right):

    j ∈ A, v_j < v_(m):  ≥ L + v_(m) − v_j;        j ∉ A, v_j ≥ v_(m):  ≥ L + v_j − v_(m+1).              (3)

These bounds exclude candidates from all sets of the node, and bound the branch of the sets without j.

**D** is s/diag(C⁻¹), with the largest s (to a few hundredths of its logarithm) at which a Cholesky
factorisation of C − D exists. This s is at least 1/|F|, because C⁻¹ scaled to unit diagonal has trace |F|.
The same D can be used at all descendants of the node. To see this for a feature j ∈ F that is chosen, note
that C − D ⪰ 0 implies C − diag(0, D_{F∖j}) ⪰ 0. The Schur complement of entry j in this matrix is positive
semidefinite too. It is the matrix C of the child node, whose columns are projected off Z_j, minus D_{F∖j}. D
is recomputed when F has shrunk by a fifth. If C is singular, let s_j be the sum of the m − 1 largest
|correlations| of Z_j with other columns, and let D_j = C_jj(1 − s_j). This makes C_A − D_A diagonally
dominant for every |A| ≤ m, and (2) holds with x = 0. If some s_j ≥ 1, the node has no bound, and its sets are
enumerated.

**Branching** is on the feature j with the largest v_j: the sets with j are searched first, then the sets
without j. If two features remain to be chosen, all pairs are compared by the closed form of their gain,
(c_i² + c_j² − 2ρc_ic_j)/(1 − ρ²) for unit columns with the inner product ρ.

**Rounding.** When feature i is chosen, C becomes C − C_iC_iᵀ/C_ii, which is one step of elimination. Let γ_j
be the coefficients of column j on the features added to I since Z was last projected and scaled to unit
length. The products of these columns have errors of some eps, so the error of C_jl is eps·a_ja_l with
a_j = 1 + ‖γ_j‖₁. Adding i increases a_j by at most |C_ij/C_ii|·a_i. Let a be the same number for y. As long
as a_j² ≤ 10⁴·C_jj for all j, and a² ≤ 10⁴, relative errors are at most 10⁴·eps. Otherwise all of Z is
projected again off an orthonormal basis of I (Gram-Schmidt, twice) and scaled to unit length, and columns in
the span of I are removed. (A check of C_jj alone does not suffice: for X_1 = e_1, X_{t+1} = e_t + g·e_{t+1}
all C_jj ≥ g²/(1 + g²), but errors grow by 1/g² per step.) The closed form for pairs divides by 1 − ρ². If
1 − ρ² is below 0.1, the pairs that the closed form does not exclude are compared by projection.

A column x projected off I has a relative error of u·s(x)/ρ_x, where ρ_x is its length, u = 8·eps, and s(x) is
defined in `submodularity`. Later the error grows in proportion to a_j. D and the bound (2) are reduced by
these errors. Sets whose order these errors leave open are compared by projection, with an error of
u·‖r‖(2s(y) + √n‖r‖) + (u·s(y))². The lower bound is reduced by the largest of these errors that mattered, and
by at least 1e-10·‖y‖². Sets whose residuals differ by less than 1e-12·‖y‖² count as equal. If a column is
closer than 2u·s(x) to a span, and `_dependence` does not prove that it is in this span, its gain may have any
value. Then there is no lower bound.
"""

import time
from typing import Any

import numpy as np

from sparselin._kernels import best_subset as kernels
from sparselin.greedy.incumbents import Incumbent, first_sets, squared_residual
from sparselin.greedy.ols import by_quotients
from sparselin.problem import Problem
from sparselin.problem.memory import check_memory
from sparselin.results import IndexArray, SelectionPath, Status
from sparselin.subsets._search import Found, Watch
from sparselin.subsets.unit_data import UnitData

# The least amount, in units of ‖y‖², that is subtracted from lower bounds for rounding in the search. If it
# were smaller, a lower bound might exceed the optimum; if it were larger, close sets would not be
# distinguished.
_MARGIN = 1e-10
# Ten times the margin. If the recomputed squared residual exceeds the one of the search by more than this (in
# units of ‖y‖²), and by more than its own rounding error, the status is BEYOND_PRECISION.
_APART = 1e-9
# With a larger rounding error (10⁻³ of ‖y‖ in ‖r‖) the result is not called optimal.
_LOST = 1e-6
# Seconds of search between two checks of the clock, the callback and Ctrl-C.
_INTERVAL = 0.05


class Start:
    """The start of a search: X and y in few rows, and the best of three greedy subsets.

    Attributes
    ----------
    unit : the columns and y, scaled to unit length.
    best : the best of the starting subsets, with its ‖P_S^⊥y‖²/‖y‖².
    candidates : pairs (name, R²) of all starting subsets.
    """

    def __init__(self, problem: Problem, k: int, forced: IndexArray) -> None:
        self.problem, self.k, self.forced = problem, k, forced
        self.unit = UnitData.by_length(problem, np.arange(problem.d))
        X, y = self.unit.X, self.unit.y
        self.candidates: list[tuple[str, float]] = []
        self.best = Incumbent(forced, squared_residual(X[:, forced], y))
        for name, found in first_sets(X, y, k, forced) if problem.y_norm > 0 else ():
            self.candidates.append((name, 1 - found.value))
            if found.value < self.best.value - kernels.SLACK:
                self.best = found


class Tree:
    """The search tree: a stack of nodes in arrays, on which the kernel `search` works (see its docstring)."""

    _first = 16  # the number of nodes before the first look at the clock

    def __init__(self, problem: Problem, k: int, forced: IndexArray) -> None:
        d, m = problem.d, k - len(forced)
        check_memory((max(1, m - 1), d, d), np.float64, "The Gram matrix of X at each level of the search")
        self.problem = problem
        self.start = start = Start(problem, k, forced)
        self.data, self.stack = project_data(start, start.forced), kernels.empty_stack(max(1, m - 1), d)
        self.best = kernels.empty_search(m, start.best.value, d)
        free = np.setdiff1d(np.arange(d), start.forced)
        self.stack.features[0, : len(free)] = free
        self.stack.size[0] = len(free)
        self.stack.kind[0] = kernels.STALE
        kernels.renew(self.data, self.stack, self.best)
        if m == 0:
            self.best.counters[kernels.DEPTH] = -1

    def run(self, watch: Watch) -> Status:
        """Search until the tree is exhausted or a limit, the callback or an interrupt stops it."""
        most, stop = self._first, min(self.nodes + watch.nodes, 2**62)
        try:
            while True:
                looked = time.monotonic()
                if self._advance(min(stop, self.nodes + most)):
                    return Status.COMPLETED
                if self.nodes >= stop or watch.is_late():
                    return Status.MAX_ITER
                most = 2 * most if time.monotonic() - looked < _INTERVAL / 2 else max(1, most // 2)
                scale = self.start.problem.y_norm**2
                bounds = scale * float(self.best.value[0]), scale * self.lower
                if watch.stops(self.nodes, self.support, *bounds):
                    return Status.STOPPED
        except KeyboardInterrupt:
            self._advance(0)  # compares a set that may still be waiting
            return Status.STOPPED

    def _advance(self, stop: float) -> bool:
        """Search until the number of visited nodes is `stop`; return whether the tree is exhausted."""
        while not kernels.search(self.stack, self.best, int(stop)):
            if not kernels.renew(self.data, self.stack, self.best):
                return False
        return True

    @property
    def nodes(self) -> int:
        return int(self.best.counters[kernels.NODES])

    @property
    def support(self) -> IndexArray:
        if self.best.counters[kernels.MOVES] == 0:
            return self.start.best.S
        return np.concatenate([self.start.forced, self.best.found[: self.best.counters[kernels.SIZE]]])

    @property
    def lower(self) -> float:
        """The lower bound on ‖P_S^⊥y‖²/‖y‖² over all sets S.

        It is the least of the bounds of the open nodes and the best value found.
        """
        if self.undecided:
            return 0.0
        open_nodes = self.stack.bound[: self.best.counters[kernels.DEPTH] + 1]
        return max(0.0, float(open_nodes.min(initial=self.best.value[0])) - self.margin)

    @property
    def undecided(self) -> bool:
        """True if rounding leaves open whether some column is in the span of others; its gain is unknown."""
        return bool(self.data.seen[0])

    @property
    def margin(self) -> float:
        """The amount, in units of ‖y‖², by which lower bounds are reduced for rounding."""
        return max(_MARGIN, float(self.data.seen[1]))

    def result(self, status: Status) -> Found:
        """Recompute the residual of the best subset, decide the status, and return the result."""
        problem, k = self.start.problem, self.start.k
        scale, value = problem.y_norm**2, float(self.best.value[0])
        path = in_order(problem, k, self.support, len(self.start.forced))
        least, error = kernels.remainder(self.data, self.support[len(self.start.forced) :])
        limit = (value + max(_APART, error)) * scale
        if path.residual_norm[-1] ** 2 > limit:  # in that order a nearly dependent column is excluded
            path = by_quotients(problem, len(self.support), forced=self.support, by_rule=True)
        square = float(path.residual_norm[-1] ** 2)
        optimal = status is Status.COMPLETED
        if optimal:
            status = path.status
        fewer = len(path.support) < k and status is Status.COMPLETED
        if square > limit or (optimal and (self.undecided or fewer or max(self.margin, error) > _LOST)):
            status, optimal = Status.BEYOND_PRECISION, False
        lower = max(0.0, min(square, scale * self.lower, scale * (least - error)))
        moves, candidates = int(self.best.counters[kernels.MOVES]), tuple(self.start.candidates)
        squares = path.residual_norm**2
        return Found(
            support=path.support,
            coef=path.coef,
            squares=squares,
            value=square,
            lower=lower,
            status=status,
            optimal=optimal,
            nodes=self.nodes,
            moves=moves,
            candidates=candidates,
        )

    def certificate(self) -> None:
        """Return None: this search stores no vectors from which a certificate could prove its bounds."""


def project_data(start: Start, forced: IndexArray) -> kernels.SubsetData:
    """Make the data of the search: project X and y off the forced columns, and scale the columns to length 1.

    Columns in the span of the forced columns are set to zero.
    """
    d = start.problem.d
    rows: Any = np.array(start.unit.X.T, order="C")
    y: Any = start.unit.y.copy()
    exact = start.unit.exact
    data = kernels.SubsetData(
        X=rows, y=y, exact=exact, own=np.ones(d + 1), fixed=0, volume=0.0, seen=np.zeros(2)
    )
    if not len(forced):
        return data
    members = kernels.project_all(data, forced)
    return data._replace(fixed=len(members), volume=float(exact.volumes[members].sum()))


def in_order(problem: Problem, k: int, support: IndexArray, forced: int) -> SelectionPath:
    """Order the features of the best subset by orthogonal least squares on this subset; return the path.

    forced : the number of forced features, which are the first of `support` and stay first.

    Features that do not reduce the residual are left out. If fewer than k remain, the status of the path is
    that of orthogonal least squares on all columns, started from the subset.
    """
    if len(support) == 0:
        return by_quotients(problem, k, by_rule=True)
    support = np.concatenate([support[:forced], np.sort(support[forced:])])
    within = Problem(problem.columns(support), problem.y)
    order = by_quotients(within, len(support), forced=range(forced), by_rule=True).support
    return by_quotients(problem, k, forced=support[order], by_rule=True)
