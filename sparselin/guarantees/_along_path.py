"""The constants of the guarantees at each set of a greedy path.

Let S be one of its sets, r = P_S^⊥y, c = Xᵀr, ρ_x = ‖P_S^⊥X_x‖, and A a set of at most k columns that are
independent given S; m ≥ |A| is the least of k, the number of columns outside the span of S, and n − |S|. With
G = (⟨P_S^⊥X_x, P_S^⊥X_x'⟩)_{x,x' ∈ A} and H = G scaled to unit diagonal,

    ‖y‖²·[R²(S ∪ A) − R²(S)] = c_Aᵀ G⁻¹ c_A ≤ ‖c_A‖²/λ_min(G),    and ≤ Σ_A (c_x/ρ_x)²/λ_min(H),         (1)

while the definition of γ_{S,k} gives ≤ Σ_A (c_x/ρ_x)²/γ_{S,k}. Columns in the span of S have gain zero, and a
dependent set has the gain of an independent subset: (1) with the least eigenvalues over all m columns outside
the span of S (zero if some are dependent; by interlacing no larger than those of fewer) bounds the gain of
any k columns.

**A step.** Let Δ = R²(best) − R²(S), A = best∖S. FR's gain g is the largest (c_x/ρ_x)², so that Δ ≤ (m/γ)·g
with γ = max(γ_{S,k}, λ_min(H)). OMP's pick i has the largest |c| and gains g = c_i²/ρ_i², so that

    Δ ≤ (m/θ)·g,    θ = max(γ_{S,k}·min_x ρ_x², λ_min(G))/ρ_i²,                                          (2)

for Σ_A (c_x/ρ_x)² ≤ m·c_i²/min ρ_x² in the one case and ‖c_A‖² ≤ m·c_i² in the other. In both Δ decreases by
a factor of at most 1 − θ/m.

**Afterwards.** (1) with the m largest summands bounds R²(best) from every S, however it was selected.

**Rounding.** For a column x, with sizes s(x) and s(y) as in `submodularity` but s(x) in proportion to ‖x‖,
P_S^⊥x is known to u·s(x), up to a part in the span of S, and so is ρ_x; c_x is known to u·(s(x)‖r‖ +
ρ_x·s(y) + √n·ρ_x‖r‖), and R²(S) to u·‖r‖(2s(y) + √n‖r‖) + (u·s(y))² (for a Gram problem, squares are known to
u·s²). If the pick certainly has |c_i| ≥ q·max|c|, θ is q² times (2), and so is γ with |c|/ρ in place of |c|.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import scipy.linalg

from sparselin._kernels import dependence as kernels
from sparselin.guarantees._dependence import exactness
from sparselin.guarantees.sparse_eigenvalues import bound_below
from sparselin.guarantees.submodularity import submodularity_ratio
from sparselin.problem import Problem
from sparselin.problem.errors import EPS, product_error
from sparselin.results import FloatArray, IndexArray


class ScaledData(NamedTuple):
    """The nonzero columns in float64, the longest of length one, and y of length one, in at most d + 1 rows.

    `place` (d,) is the position of each column of the problem in X, −1 for zero columns; `norms` (d',) are
    lengths, `exact` has what decides dependence exactly.
    """

    problem: Problem
    X: FloatArray
    y: FloatArray
    place: IndexArray
    norms: FloatArray
    exact: kernels.DependenceTest

    @property
    def d(self) -> int:
        return int(self.X.shape[1])


class IndependentColumns(NamedTuple):
    """Positions J of independent columns of a set S with the same span; X_J, scaled to unit columns, = QR.

    `inverse` is R⁻¹; `undecided` says that rounding leaves open whether the rest of S is in their span.
    """

    J: IndexArray
    Q: FloatArray
    inverse: FloatArray
    undecided: bool


class LowerBounds(NamedTuple):
    """Lower bounds valid at every step: γ_{S,k} of the final S (`gamma`); λ_min over sets of |S| + |A|
    columns, as given (`sparse`) and of unit length (`correlation`).

    The latter bound those of every step by interlacing.
    """

    gamma: float
    sparse: float
    correlation: float


class PrefixBounds(NamedTuple):
    """One set S of the path. Constants are (2,), certified lower and upper bounds.

    Attributes
    ----------
    r2, error : R²(S), and a bound on its rounding error.
    m : as above.
    largest_correlation, largest_gain : whether that pick has the largest |c|, the largest |c|/ρ, to rounding;
        for a path that ends before k picks, whether all are zero. None if rounding leaves open which columns
        are in the span of S.
    gamma : γ.
    theta : θ, with ρ_i = 1 if there is no next pick.
    r2_upper : an upper bound on R² of any set of k features.
    q_squared : lower bounds on q² for |c| and for |c|/ρ, 1 if there is no next pick.
    """

    r2: float
    error: float
    m: int
    largest_correlation: bool | None
    largest_gain: bool | None
    gamma: FloatArray
    theta: FloatArray
    r2_upper: float
    q_squared: tuple[float, float] = (1.0, 1.0)


def scaled(problem: Problem) -> ScaledData:
    """The data as the guarantees need them; y = 0 stays zero."""
    norms = problem.column_norms.astype(np.float64)
    # if all columns are zero, one of them is used
    keep = np.flatnonzero(norms) if norms.any() else np.zeros(1, np.intp)
    columns = problem.columns(keep)
    A = np.empty((problem.n, len(keep) + 1), order="F")
    A[:, :-1] = columns
    # twice: the first lengths are rounded to the dtype of the problem
    A[:, :-1] /= norms[keep].max(initial=0) or 1.0
    A[:, :-1] /= math.sqrt(np.einsum("ij,ij->j", A[:, :-1], A[:, :-1]).max()) or 1.0
    A[:, -1] = problem.y / np.float64(problem.y_norm or 1.0)
    if problem.n > A.shape[1]:
        A = np.asarray(np.linalg.qr(A, mode="r"))
    place = np.full(problem.d, -1)
    place[keep] = np.arange(len(keep))
    X, y = np.ascontiguousarray(A[:, :-1]), np.ascontiguousarray(A[:, -1])
    lengths = np.sqrt(np.einsum("ij,ij->j", X, X))
    return ScaledData(problem, X, y, place, lengths, exactness(problem, keep))


def basis(data: ScaledData, places: IndexArray) -> IndependentColumns:
    """A basis of the span of the columns at these positions, chosen in this order."""
    places = places[data.norms[places] > 0]
    if len(places) <= len(data.y):
        found = _factors(data, places)
        if found is not None:
            return found
    J = IndependentColumns(places[:0], np.zeros((len(data.y), 0)), np.zeros((0, 0)), False)
    undecided = False
    for x in places:
        outside = _outside(data, J, np.array([x]))[0]
        undecided |= bool(outside < 0)
        if outside > 0:
            J = _factors(data, np.append(J.J, x), sure=True) or J
    return J._replace(undecided=undecided)


def _factors(data: ScaledData, J: IndexArray, sure: bool = False) -> IndependentColumns | None:
    """QR of the columns scaled to unit length, if they are certainly independent."""
    if not len(J):
        return IndependentColumns(J, np.zeros((len(data.y), 0)), np.zeros((0, 0)), False)
    Q, R = np.linalg.qr(data.X[:, J] / data.norms[J])
    if not sure and not R.diagonal().all():
        return None
    inverse = np.linalg.inv(R)
    # the columns of R⁻¹ have the lengths s(x)/ρ
    ratio = (inverse**2).sum(axis=0)
    if sure or (ratio * kernels.span(data.exact.unit) < 1).all():
        return IndependentColumns(J, np.asarray(Q), np.asarray(inverse), False)
    return None


def _outside(data: ScaledData, J: IndependentColumns, places: IndexArray) -> IndexArray:
    """For each column 1 if it is outside the span of J, 0 if in it, −1 if undecided."""
    unit = data.X[:, places] / data.norms[places]
    Z, size = _projected(J, unit)
    squares = np.einsum("ij,ij->j", Z, Z)
    outside = np.ones(len(places), np.intp)
    for i in np.flatnonzero(squares <= kernels.span(data.exact.unit) * size):
        outside[i] = kernels.outside_span(data.exact, squares[i], size[i], places[i], J.J, len(data.y), 0.0)
    return outside


def _projected(J: IndependentColumns, V: FloatArray) -> tuple[FloatArray, FloatArray]:
    """P_J^⊥V for unit vectors V, and the squares of their sizes, 1 + ‖coefficients‖²."""
    inner = J.Q.T @ V
    Z = V - J.Q @ inner
    return Z - J.Q @ (J.Q.T @ Z), 1 + ((J.inverse @ inner) ** 2).sum(axis=0)


def explained(data: ScaledData, S: IndexArray) -> tuple[float, float]:
    """R²(S) = ‖P_S y‖²/‖y‖² and a bound on its rounding error."""
    J = data.place[S]
    return _explained(data, basis(data, J[J >= 0]))


def _explained(data: ScaledData, J: IndependentColumns) -> tuple[float, float]:
    if not data.y.any():
        return 0.0, 0.0
    r, size = _projected(J, data.y)
    square, left = float(data.y @ data.y), float(r @ r)
    if J.undecided:
        return max(0.0, square - left), 1.0
    u, root, power = data.exact.unit
    if power == 2:
        error = u * float(size)
    else:
        y_size = math.sqrt(size)
        error = u * math.sqrt(left) * (2 * y_size + root * math.sqrt(left)) + (u * y_size) ** 2
    return max(0.0, square - left), error if len(J.J) else 0.0


def everything(data: ScaledData) -> float:
    """An upper bound on R² of all columns."""
    if data.d >= len(data.y) or not data.norms.all():
        return 1.0
    order = scipy.linalg.qr(data.X / data.norms, mode="r", pivoting=True)[1]
    r2, error = _explained(data, basis(data, order))
    return min(1.0, r2 + error)


class _Left(NamedTuple):
    """The columns outside the span of S, which are `places` of the data, and y, projected off S.

    `Z` holds P_S^⊥X_x, `rho` ρ_x, `c` c_x. Bounds on their rounding errors are `error` for Z, `error_c` for
    c, `error_gain` for c/ρ and `error_unit` for Z/ρ. `residual_norm` is ‖r‖, `m` is m for k = d. `undecided`
    says that rounding leaves open which columns are outside.
    """

    places: IndexArray
    Z: FloatArray
    rho: FloatArray
    c: FloatArray
    error: FloatArray
    error_c: FloatArray
    error_gain: FloatArray
    error_unit: FloatArray
    residual_norm: float
    m: int
    undecided: bool


def step(
    data: ScaledData,
    S: IndexArray,
    pick: IndexArray,
    k: int,
    known: LowerBounds,
    pair_limit: int,
    node_limit: int,
) -> PrefixBounds:
    """The constants at S, a set of independent columns; `pick` (of length 0 or 1) is the next pick."""
    places = data.place[S]
    J = basis(data, places[places >= 0])
    r2, error = _explained(data, J)
    left = _left(data, J)
    if left.undecided and data.y.any():
        undecided = None if len(S) < k else True
        nothing = 0.0 if len(pick) else 1.0
        bounds = np.array([0.0, 1.0]), np.array([0.0, 1.0])
        return PrefixBounds(r2, error, k, undecided, undecided, *bounds, 1.0, (nothing, nothing))
    m = min(k, left.m)
    if m <= 0 or not data.y.any():
        return PrefixBounds(r2, error, 0, True, True, np.ones(2), np.ones(2), min(1.0, r2 + error))
    ratio = submodularity_ratio(data.problem, None, S, k, pair_limit=pair_limit, node_limit=node_limit)
    given = _raised(np.array([ratio.lower, ratio.upper]), known.gamma)
    unit = left.Z / left.rho
    gamma = np.maximum(given, _least(unit, m, left.error_unit, node_limit, known.correlation))
    sparse = _least(left.Z, m, left.error, node_limit, known.sparse)
    gain_upper = _gain_upper(left, m, float(gamma[0]), float(sparse[0]))
    at = np.flatnonzero(np.isin(left.places, data.place[pick]))
    theta = _theta(left, at, given, sparse)
    capped = np.minimum(1.0, gamma), np.minimum(1.0, theta)
    ended = not len(pick) and len(S) < k and left.residual_norm**2 > EPS + error
    largest = _nothing_left(left) if ended else _largest_at(left, at)
    # where 1 − R²(S) is below the rounding error of the guarantees
    q_squared = (1.0, 1.0) if left.residual_norm**2 + error <= EPS else _q_squared(left, at)
    return PrefixBounds(r2, error, m, *largest, *capped, min(1.0, r2 + error + gain_upper), q_squared)


def _left(data: ScaledData, J: IndependentColumns) -> _Left:
    """X and y projected off S, twice, without the columns in the span of S."""
    others = np.setdiff1d(np.flatnonzero(data.norms > 0), J.J)
    outside = _outside(data, J, others)
    places = others[outside > 0]
    norms = data.norms[places]
    unit, size = _projected(J, data.X[:, places] / norms)
    r, y_square = _projected(J, data.y)
    rho = np.sqrt(np.einsum("ij,ij->j", unit, unit))
    u, root, power = data.exact.unit
    length, s, y_size = float(np.sqrt(r @ r)), np.sqrt(size), math.sqrt(y_square)
    if power == 2:
        error_unit, error_c = math.sqrt(u) * s / rho, u * (s * y_size + rho * root * length)
        error_gain = u * (s * y_size / rho + length * (size / rho**2 + root))
    else:
        error_unit, error_c = u * s / rho, u * (s * length + rho * (y_size + root * length))
        error_gain = u * (2 * s / rho * length + y_size + root * length)
    Z, rho = unit * norms, rho * norms
    m = min(len(places), len(data.y) - len(J.J))
    undecided = J.undecided or bool((outside < 0).any())
    errors = error_unit * rho, error_c * norms, error_gain, error_unit
    return _Left(places, Z, rho, Z.T @ r, *errors, length, m, undecided)


def _theta(left: _Left, at: IndexArray, gamma: FloatArray, sparse: FloatArray) -> FloatArray:
    """θ of (2). `at` is the position of the pick, if there is one."""
    error = np.array([-1.0, 1.0])[:, None] * left.error_unit
    shortest = (left.rho * np.maximum(0.0, 1 + error)).min(axis=1)
    length = (left.rho * np.maximum(0.0, 1 - error))[:, at].prod(axis=1)
    above = np.maximum(gamma * shortest**2, sparse)
    return np.asarray(np.divide(above, length**2, out=np.ones(2), where=length > 0))


def _largest_at(left: _Left, at: IndexArray) -> tuple[bool, bool]:
    """Whether the pick, if there is one, has the largest |c|, and the largest |c|/ρ, to rounding."""
    size, gains = np.abs(left.c), np.abs(left.c) / left.rho
    most_correlated = bool(((size + left.error_c)[at] >= (size - left.error_c).max()).all())
    most_gained = bool(((gains + left.error_gain)[at] >= (gains - left.error_gain).max()).all())
    return most_correlated, most_gained


def _q_squared(left: _Left, at: IndexArray) -> tuple[float, float]:
    """Lower bounds on q² for |c| and for |c|/ρ."""
    size, gains = np.abs(left.c), np.abs(left.c) / left.rho
    pairs = (size, left.error_c), (gains, left.error_gain)
    one, other = (_square((v - e)[at].prod(), np.delete(v + e, at), len(at)) for v, e in pairs)
    return one, other


def _square(score: float, others: FloatArray, picked: int) -> float:
    """(score/max(score, others))², 1 if nothing is picked."""
    largest = float(others.max(initial=0.0))
    return 1.0 if not picked or score >= largest else max(0.0, score / largest) ** 2


def _nothing_left(left: _Left) -> tuple[bool, bool]:
    """Whether the path may end here: whether all c are zero to rounding, and all |c|/ρ."""
    size = np.abs(left.c)
    return bool((size <= left.error_c).all()), bool((size <= left.error_gain * left.rho).all())


def _raised(bounds: FloatArray, known: float) -> FloatArray:
    """The bounds on a constant that is at least `known`."""
    return np.array([max(bounds[0], known), max(bounds[1], known)])


def _gain_upper(left: _Left, m: int, gamma: float, sparse: float) -> float:
    """The bound (1) on the gain of k columns."""
    size = np.abs(left.c)
    one = _largest(size / left.rho + left.error_gain, m) / gamma if gamma > 0 else math.inf
    other = _largest(size + left.error_c, m) / sparse if sparse > 0 else math.inf
    return min(one, other)


def _largest(values: FloatArray, m: int) -> float:
    """The sum of the m largest squares."""
    return float((np.sort(values)[len(values) - m :] ** 2).sum())


def _least(Z: FloatArray, m: int, error: FloatArray, node_limit: int, known: float) -> FloatArray:
    """λ_min over m columns of ZᵀZ, which is at least `known`.

    Each column errs by its `error`, which changes singular values by at most the root of the sum of squares.
    """
    C, change = Z.T @ Z, math.sqrt(_largest(error, m))
    trace = float(np.sort(C.diagonal())[len(C) - m :].sum())
    floor = max(0.0, math.sqrt(known) - change) ** 2
    found = bound_below(C, m, product_error(len(Z), kappa=m) * trace, node_limit, known=floor)
    root = np.sqrt(np.maximum(0.0, [found.lower, found.value])) + change * np.array([-1, 1])
    return _raised(np.maximum(0.0, root) ** 2, known)
