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
closer than 2u·s(x) to a span, and `dependence` does not prove that it is in this span, its gain may have any
value. Then there is no lower bound.
"""

import numpy as np

from sparselin._kernels import best_subset as kernels
from sparselin.problem import Problem
from sparselin.problem.memory import check_memory
from sparselin.results import IndexArray
from sparselin.subsets._projected import ProjectedSearch


class DepthFirst(ProjectedSearch):
    """The depth-first search. Its nodes are a stack in arrays, on which the kernel `search` works.

    stack : the open nodes of the current branch.
    """

    def __init__(self, problem: Problem, k: int, forced: IndexArray, left_out: IndexArray) -> None:
        d = problem.d
        m = k - len(forced)
        check_memory((max(1, m - 1), d, d), np.float64, "The Gram matrix of X at each level of the search")
        super().__init__(problem, k, forced, left_out)
        self.data = self._project_off(forced)
        self.stack = kernels.empty_stack(max(1, m - 1), d)
        self.best = kernels.empty_search(m, self.first.value, d)
        free = np.setdiff1d(np.arange(d), np.append(forced, left_out))
        self.stack.features[0, : len(free)] = free
        self.stack.size[0] = len(free)
        self.stack.kind[0] = kernels.STALE
        kernels.renew(self.data, self.stack, self.best)
        if m == 0:
            self.best.counters[kernels.DEPTH] = -1

    def _project_off(self, forced: IndexArray) -> kernels.SubsetData:
        """Project X and y off the forced columns, and scale the columns to length 1.

        Columns in the span of the forced columns are set to zero.
        """
        data = self.kernel_data()
        if not len(forced):
            return data
        members = kernels.project_all(data, forced)
        return data._replace(fixed=len(members), volume=float(data.exact.volumes[members].sum()))

    def advance(self, stop: float) -> bool:
        """Search until the number of visited nodes is `stop`; return whether the tree is exhausted."""
        began = self.nodes
        while not kernels.search(self.stack, self.best, int(stop)):
            if not kernels.renew(self.data, self.stack, self.best):
                return began >= stop and self._finish_early()
        return True

    def _finish_early(self) -> bool:
        """End the search if only rivals of the best set can be left; return whether that is so."""
        left = self.stack.bound[: self.best.counters[kernels.DEPTH] + 1]
        level = self.best.value[0] - kernels.SLACK
        if not (left >= level).all():
            return False
        self.best.value[1] = level
        return bool(kernels.search(self.stack, self.best, 0))

    @property
    def lower(self) -> float:
        """The lower bound on ‖P_S^⊥y‖²/‖y‖² over all sets S.

        It is the least of the bounds of the open nodes and the best value found.
        """
        if self.undecided:
            return 0.0
        open_nodes = self.stack.bound[: self.best.counters[kernels.DEPTH] + 1]
        return max(0.0, float(open_nodes.min(initial=self.best.value[0])) - self.margin)
