"""The objective g(S) = R²(S) + ν·f(S) for a set S to which features are added, and the best feature to add.

f is a regularizer, S + x is S with the feature x added, and r = P_S^⊥y is the residual of least squares on S.
The gain in R² is R²(S + x) − R²(S) = ⟨X_x, r⟩²/(‖P_S^⊥X_x‖²·‖y‖²). It is 0 if X_x is in the span of S, and if
y = 0. Let the vectors q_s be an orthonormal basis of the span of S, and C = XᵀX. When j is added, the new
basis vector is q = P_S^⊥X_j/ρ with ρ = ‖P_S^⊥X_j‖, and all products follow from C_·j, column j of C:

    Xᵀq = (C_·j − Σ_s Xᵀq_s·⟨q_s, X_j⟩)/ρ,   Xᵀr ← Xᵀr − ⟨q, y⟩·Xᵀq,   ‖P_S^⊥X_x‖² ← ‖P_S^⊥X_x‖² − ⟨q, X_x⟩²,

where ⟨q_s, X_j⟩ is the sum from both passes of the orthogonalisation. A length ‖P_S^⊥X_x‖ is recomputed if
cancellation has made its square inaccurate. Computed by this formula, Xᵀq has the error κ·eps, where κ is the
condition number of X_S. That is too much for columns x that nearly depend on S, for which ⟨q, X_x⟩ is small.
So for an ill-conditioned S, Xᵀq is computed from X, with an error of eps.

R² and g need not be submodular, but f may be. Write f(x | S) = f(S + x) − f(S) for the gain of x in f, and
R²(x | S) for its gain in R². If f is submodular, f(x | S') ≥ f(x | S) for every earlier set S' ⊆ S. R²(x | S)
is known for all x, so R²(x | S) + ν·f(x | S') is an upper bound on the gain of x in g. Therefore f is
evaluated only for the features x whose bound is at least the best gain. The bound allows for rounding errors,
and for eigenvalues that count as zero because they are below a cut-off. The picks and ties are the same as
without this bound, unless rounding decides whether an eigenvalue is above the cut-off.
"""

import numpy as np

from sparselin.greedy._least_squares import LeastSquares
from sparselin.greedy._lengths import Lengths
from sparselin.greedy._selection import Selection
from sparselin.greedy._walk import Pick
from sparselin.greedy.ols import largest_quotient, quotient_scores
from sparselin.problem import Problem
from sparselin.results import FloatArray, IndexArray, Status
from sparselin.spectral.regularizers.base import Gram, Growth, SetFunction, grow
from sparselin.spectral.regularizers.rank import PowerGrowth

# If the error of tied gains exceeds this share of the unit of f (`Growth.unit`), the lowest index does not
# decide the tie. With a larger value, it would decide between gains that are hardly known. With a smaller
# value, more runs would end with BEYOND_PRECISION.
_VAGUE = 2.0**-10
_BATCH = 32  # the number of gains of f evaluated together
# From this κ on Xᵀq is computed from X, not by the recursion, whose error is about 8·eps·κ: 2·10⁻¹² at this
# κ, well below _MAX_ERROR. spectral/log-det of `make bench` measures the cost of a smaller value.
_ILL = 1e3
# Gains in R² whose error bound, absolute or relative to the largest gain, is larger than this are computed
# again more exactly. A smaller value costs time; a larger one leaves features tied whose gains differ.
_MAX_ERROR = 1e-9


class UndecidedGains(Exception):
    """The error raised if rounding leaves open which feature increases the regularizer most.

    The gains of these features may differ by much more than those of tied features.
    """


class GrowingR2:
    """R²(S) for a set S to which features are added one at a time, for a float64 problem."""

    def __init__(self, problem: Problem, gram: Gram, capacity: int = 8) -> None:
        self.problem, self.gram = problem, gram
        self.selection = Selection(LeastSquares(problem, capacity))
        self.lengths = Lengths(problem)
        self.lengths.measure(self.selection.qr)
        self.c = np.array(problem.Xty)
        self.gains_taken: list[float] = []
        self._rows = np.empty((max(1, min(capacity, problem.n)), problem.d))  # Xᵀq_s

    @property
    def value(self) -> float:
        """R² of the present set."""
        size = self.problem.y_norm
        return 1 - (self.selection.trail.norms[-1] / size) ** 2 if size > 0 else 0.0

    def add(self, j: int) -> None:
        """Add feature j to the set S. If its column is in the span of X_S, R² does not change."""
        selection = self.selection
        qr = selection.qr
        t, before = qr.size, self.value
        outside = selection.add(Pick(feature=j))
        self.c[j] = 0
        if not outside:
            self.lengths.exclude(j)
            self.gains_taken.append(0.0)
            return
        if t == len(self._rows):
            self._rows = np.concatenate([self._rows, np.empty_like(self._rows)])
        row = self._rows[t]
        if qr.kappa > _ILL:
            row[:] = self.problem.correlate(qr.Qt[t])
        else:
            row[:] = self.gram.column(j) - qr.R[:t, t] @ self._rows[:t]
            row /= qr.R[t, t]
        self.c -= selection.fit.projections[-1] * row
        self.c[selection.trail.support] = 0
        self.lengths.squares -= row**2
        self.lengths.size = qr.size
        self.lengths.measure(qr)
        self.gains_taken.append(self.value - before)

    def gains(self, J: IndexArray) -> tuple[FloatArray, FloatArray]:
        """Return R²(S + x) − R²(S) for each feature x in J, and error bounds, arrays (|J|,).

        S is the present set, S + x the set with x added, and r the residual of least squares on S. The score
        of x is |⟨X_x, r⟩|/‖P_S^⊥X_x‖. If its error is at most e, the gain lies between max(score − e, 0)² and
        (score + e)², both divided by ‖y‖². The cheap bound on e uses the condition number of X_S. If the
        error of the gain may then exceed 1e-9, the score is computed again with a sharper bound
        (`ties.measure`). If some gain exceeds its error, the same is done for gains whose error may exceed
        1e-9 of the largest gain.
        """
        if self.problem.y_norm == 0:
            return np.zeros(len(J)), np.zeros(len(J))
        scores = quotient_scores(self.selection, self.lengths, self.c)
        score, error = (v[J] / self.problem.y_norm for v in scores)
        best = float(score.max(initial=0.0))
        known = best > float(error.min(initial=np.inf))
        allowed = _MAX_ERROR * (min(1.0, best**2) if known else 1.0)
        inexact = np.flatnonzero((2 * score + error) * error > allowed)
        if len(inexact):
            measured = self.selection.measure(J[inexact]).quotients()
            score[inexact] = np.abs(measured.score) / self.problem.y_norm
            error[inexact] = measured.coarse * measured.error / self.problem.y_norm
        low = np.maximum(score - error, 0) ** 2
        high = (score + error) ** 2
        return (high + low) / 2, (high - low) / 2


class Objective:
    """The objective g(S) = R²(S) + ν·f(S) for a set S to which features are added one at a time.

    f is a regularizer. Without a problem g is ν·f, and without f it is R².
    """

    def __init__(
        self,
        gram: Gram,
        problem: Problem | None,
        f: SetFunction | None,
        nu: float,
        *,
        capacity: int = 8,
        lazy: bool | None = None,
    ) -> None:
        self.gram = gram
        self.problem = problem
        self.nu = nu if f is not None else 0.0
        self.explained = None if problem is None else GrowingR2(problem, gram, capacity)
        self.growth: Growth | None = None if f is None else grow(gram, f)
        self.lazy = isinstance(self.growth, PowerGrowth) and lazy is not False
        self.index: list[int] = []
        self.gains: list[float] = []
        self.evaluations = 0
        self._bounds = np.full(gram.d, np.inf)

    def add(self, j: int) -> None:
        """Add feature j to the present set."""
        gain = 0.0
        if self.explained is not None:
            self.explained.add(j)
            gain += self.explained.gains_taken[-1]
        if self.growth is not None:
            before = self.growth.value
            self.growth.add(j)
            gain += self.nu * (self.growth.value - before)
        self.index.append(j)
        self.gains.append(gain)

    def rest(self, within: IndexArray) -> IndexArray:
        """Return the features of `within` that can be added: not in the set, and with a nonzero column."""
        free = np.zeros(self.gram.d, bool)
        free[within] = True
        free[self.index] = False
        return np.flatnonzero(free & (self.gram.diagonal > 0))

    def pick(self, J: IndexArray) -> int | Status:
        """Return the feature x in J for which g is largest when x is added to the present set.

        g = R² + ν·f is the objective. If several features agree up to rounding, the lowest index is returned.
        For ν = 0, a status is returned instead of a feature if no feature of J increases R².
        """
        if self.nu == 0 and self.explained is not None:
            return self._pick_by_r2(J)
        if self.lazy:
            return self._pick_lazily(J, *self._r2_gains(J))
        return lowest_of_largest(J, *self.all_gains(J))

    def all_gains(self, J: IndexArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return g(S + x) − g(S) for each feature x in J, error bounds, and the errors that allow a tie.

        S is the present set, and S + x the set with x added. If gains are tied, and one of their errors is
        larger than the third array allows, the tie is not decided by the lowest index. Instead rounding
        leaves the pick undecided.
        """
        gains, error = self._r2_gains(J)
        vague = error + self._vague()
        if self.growth is not None:
            f, f_error = self.growth.gains(J)
            self.evaluations += len(J)
            gains, error = gains + self.nu * f, error + self.nu * f_error
        return gains, error, vague

    def _vague(self) -> float:
        """Return the largest error of a gain in ν·f for which a tie may be decided by the lowest index."""
        return np.inf if self.growth is None else self.nu * vague_error(self.growth)

    def _r2_gains(self, J: IndexArray) -> tuple[FloatArray, FloatArray]:
        """Return the gain in R² for each feature in J, and error bounds; zeros if there is no problem."""
        if self.explained is None:
            return np.zeros(len(J)), np.zeros(len(J))
        return self.explained.gains(J)

    def _pick_by_r2(self, J: IndexArray) -> int | Status:
        """Return the feature in J whose addition increases R² most, as `ols` does.

        If none increases R², a status is returned.
        """
        assert self.explained is not None
        excluded = np.setdiff1d(np.arange(self.gram.d), J)
        selection, lengths = self.explained.selection, self.explained.lengths
        pick = largest_quotient(selection, lengths, self.explained.c, excluded)
        return pick if isinstance(pick, Status) else pick.feature

    def _pick_lazily(self, J: IndexArray, r2: FloatArray, error: FloatArray) -> int:
        """Return the feature x in J with the largest gain in g = R² + ν·f, with few evaluations of f.

        r2, error : the gains in R² for the features in J, and bounds on their errors.

        The gains in f are evaluated in batches, in decreasing order of upper bounds on the gains in g. The
        loop ends when no bound of another feature is at least the best gain.
        """
        assert isinstance(self.growth, PowerGrowth)
        bound = r2 + error + self.nu * (self._bounds[J] + self.growth.slack())
        vague = error + self._vague()
        total = np.full(len(J), -np.inf)
        known = np.zeros(len(J), bool)
        best = -np.inf
        batch = _BATCH
        while True:
            left = np.flatnonzero(~known & (bound >= best))
            if not len(left):
                return lowest_of_largest(J[known], total[known], error[known], vague[known])
            m = left[np.argsort(-bound[left], kind="stable")[:batch]]
            f, f_error, self._bounds[J[m]] = self.growth.bounded_gains(J[m])
            self.evaluations += len(m)
            total[m] = r2[m] + self.nu * f
            known[m] = True
            error[m] += self.nu * f_error
            best = max(best, float((total[m] - error[m]).max()))
            batch *= 2

    @property
    def value(self) -> float:
        """The value g(S) = R²(S) + ν·f(S) at the present set S."""
        r2 = 0.0 if self.explained is None else self.explained.value
        return r2 if self.growth is None else r2 + self.nu * float(self.growth.value)


def vague_error(growth: Growth) -> float:
    """Return the largest error of a gain in the regularizer for which the lowest index may decide a tie."""
    return _VAGUE * growth.unit


def lowest_of_largest(
    J: IndexArray, total: FloatArray, error: FloatArray, vague: FloatArray | float = np.inf
) -> int:
    """Return the lowest index in J whose total may be the largest, given bounds on the errors of the totals.

    With bounds e = `error`, the total of j may be the largest if total_j + e_j ≥ max_i (total_i − e_i).

    total, error : (|J|,) the totals, and bounds on their errors.
    vague : the largest errors for which the lowest index may decide.

    Raises UndecidedGains if several totals may be the largest, and one of them has an error above `vague`.
    """
    if not np.isfinite(total).all():
        raise ValueError("R² + ν·f overflows; scale the columns of X to unit length, or lower nu")
    tied = total + error >= (total - error).max()
    if np.count_nonzero(tied) > 1 and (error > vague)[tied].any():
        raise UndecidedGains
    return int(J[tied].min())


def accepted_moves(
    increase: FloatArray, error: FloatArray, vague: FloatArray | float, needed: float, or_equal: bool = False
) -> IndexArray:
    """Return the indices of the moves that increase the objective by more than `needed`.

    A move is accepted if its increase exceeds `needed` by more than the error of the increase. With
    `or_equal` it is accepted if its increase plus this error is at least `needed`.

    increase, error : the increase of the objective by each move, and bounds on its error.
    vague : the largest errors for which this rule may decide.

    Raises UndecidedGains if a move has an increase within its error of `needed`, and this error exceeds
    `vague`.
    """
    possible, certain = increase + error >= needed, increase - error > needed
    if (possible & ~certain & (error > vague)).any():
        raise UndecidedGains
    return np.flatnonzero(possible if or_equal else certain)
