"""The constants of the guarantees at each set of a greedy path.

Let S be one of the sets of the path, r = P_S^⊥y the residual, c = Xᵀr, and ρ_x = ‖P_S^⊥X_x‖. Let A be a set
of at most k columns whose projections P_S^⊥X_x are independent. Let m be the least of three numbers: k, the
number of columns outside the span of S, and n − |S|; so |A| ≤ m. With G = (⟨P_S^⊥X_x, P_S^⊥X_x'⟩)_{x,x' ∈ A}
and H = G scaled to unit diagonal,

    ‖y‖²·[R²(S ∪ A) − R²(S)] = c_Aᵀ G⁻¹ c_A ≤ ‖c_A‖²/λ_min(G),    and ≤ Σ_A (c_x/ρ_x)²/λ_min(H).         (1)

By the definition of the submodularity ratio γ_{S,k}, the left side is also at most Σ_A (c_x/ρ_x)²/γ_{S,k}.
The gain of a set of columns is the increase of R² when the set is added to S. Columns in the span of S have
gain zero, and a dependent set has the same gain as an independent subset. So the gain of any k columns is
bounded by (1), if λ_min is replaced by the least eigenvalue over all sets of m columns outside the span of S.
(These eigenvalues are zero if some such set is dependent. By interlacing they are no larger than the least
eigenvalues of smaller sets.)

**A step.** Let Δ = R²(best) − R²(S), where `best` is the best set of k columns, and A = best∖S. FR (forward
regression) picks the column with the largest (c_x/ρ_x)², which is its gain g. So Δ ≤ (m/γ)·g with
γ = max(γ_{S,k}, λ_min(H)). The pick i of OMP has the largest |c_x|, and its gain is g = c_i²/ρ_i². So

    Δ ≤ (m/θ)·g,    θ = max(γ_{S,k}·min_x ρ_x², λ_min(G))/ρ_i²,                                          (2)

because Σ_A (c_x/ρ_x)² ≤ m·c_i²/min ρ_x² and ‖c_A‖² ≤ m·c_i². So a step of OMP multiplies Δ by at most
1 − θ/m, and a step of FR by at most 1 − γ/m.

**After the run.** For every S, however it was selected, (1) bounds R²(best) − R²(S), if the sums run over the
m largest terms.

**Rounding.** Let s(x) and s(y) be the sizes of a column x and of y, as in `submodularity`, but with s(x)
proportional to ‖x‖, and let u = 8·eps. The following error bounds hold; for a Gram problem, squares have
errors of at most u·s².

- P_S^⊥x, up to a part in the span of S, and ρ_x: u·s(x);
- c_x: u·(s(x)‖r‖ + ρ_x·s(y) + √n·ρ_x‖r‖);
- R²(S): u·‖r‖(2s(y) + √n‖r‖) + (u·s(y))².

Because of rounding it may only be certain that the pick i has |c_i| ≥ q·max|c| for some q < 1. Then θ in (2)
is multiplied by q². For FR γ is multiplied by q², if the pick has |c_i|/ρ_i ≥ q·max|c|/ρ.
"""

import math
from typing import NamedTuple

import numpy as np
import scipy.linalg

from sparselin._kernels import dependence as kernels
from sparselin.guarantees.sparse_eigenvalues import bound_below
from sparselin.guarantees.submodularity import submodularity_ratio
from sparselin.problem.errors import EPS, product_error
from sparselin.results import FloatArray, IndexArray
from sparselin.subsets.unit_data import UnitData


class IndependentColumns(NamedTuple):
    """Linearly independent columns J with the same span as a set S of columns, and a factorisation of X_J.

    The columns X_J, scaled to length 1, have the factorisation QR, and `inverse` is R⁻¹. `undecided` is True
    if rounding leaves open whether the other columns of S are in the span of X_J.
    """

    J: IndexArray
    Q: FloatArray
    inverse: FloatArray
    undecided: bool


class LowerBounds(NamedTuple):
    """Lower bounds on constants of the guarantees that hold at every set S of a path of k features.

    gamma : a lower bound on the submodularity ratio γ_{S,k} for the final S.
    sparse : a lower bound on the least eigenvalue of the Gram matrices of S together with at most k further
        columns.
    correlation : the same lower bound for the columns scaled to length 1.
    """

    gamma: float
    sparse: float
    correlation: float


class PrefixBounds(NamedTuple):
    """The constants of the guarantees at one set S of a greedy path.

    The docstring of `guarantees._along_path` defines θ and the matrix H. For each column x, c_x is its
    correlation with the residual on S, and ρ_x its distance from the span of S.

    Attributes
    ----------
    r2, error : R²(S), and a bound on its rounding error.
    m : the largest number of columns that can increase R².
    largest_correlation, largest_gain : whether the next pick has the largest |c|, and the largest |c|/ρ, up
        to rounding. If the path ended here before k picks, they say whether all |c|, and all |c|/ρ, are zero.
        They are None if rounding leaves open which columns are in the span of S.
    gamma : (2,) a lower and an upper bound on max(γ_{S,k}, λ_min(H)), where γ_{S,k} is the submodularity
        ratio.
    theta : (2,) a lower and an upper bound on θ, with ρ_i = 1 if there is no next pick i.
    r2_upper : an upper bound on R² of any set of k features.
    q_squared : lower bounds on q², where the |c| and |c|/ρ of the pick are at least q times the largest ones;
        1 if there is no next pick.
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


def basis(data: UnitData, places: IndexArray) -> IndependentColumns:
    """Choose linearly independent columns with the same span as the columns at `places`.

    Columns are considered in the order of `places`.
    """
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


def _factors(data: UnitData, J: IndexArray, sure: bool = False) -> IndependentColumns | None:
    """Factor the columns J, scaled to unit length; return None if they are not certain to be independent.

    sure : True if the columns are known to be independent.
    """
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


def _outside(data: UnitData, J: IndependentColumns, places: IndexArray) -> IndexArray:
    """Return for each column at `places` whether it is outside the span of the columns J.

    The result is 1 if it is outside, 0 if it is inside, and −1 if rounding leaves this undecided.
    """
    unit = data.X[:, places] / data.norms[places]
    Z, size = _project(J, unit)
    squares = np.einsum("ij,ij->j", Z, Z)
    outside = np.ones(len(places), np.intp)
    for i in np.flatnonzero(squares <= kernels.span(data.exact.unit) * size):
        outside[i] = kernels.outside_span(data.exact, squares[i], size[i], places[i], J.J, len(data.y), 0.0)
    return outside


def _project(J: IndependentColumns, V: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Project vectors V of length 1 off the columns J; return the projections and the squared sizes of V.

    The squared size of a vector v is 1 + ‖b‖², where b are its least squares coefficients on X_J.
    """
    inner = J.Q.T @ V
    Z = V - J.Q @ inner
    return Z - J.Q @ (J.Q.T @ Z), 1 + ((J.inverse @ inner) ** 2).sum(axis=0)


def r2_of_set(data: UnitData, S: IndexArray) -> tuple[float, float]:
    """Return R²(S) = ‖P_S y‖²/‖y‖² and a bound on its rounding error."""
    J = data.place[S]
    return _r2_of_basis(data, basis(data, J[J >= 0]))


def _r2_of_basis(data: UnitData, J: IndependentColumns) -> tuple[float, float]:
    """Return R² of least squares on the columns J, and a bound on its rounding error."""
    if not data.y.any():
        return 0.0, 0.0
    r, size = _project(J, data.y)
    square, left = float(data.y @ data.y), float(r @ r)
    if J.undecided:
        return max(0.0, square - left), 1.0
    u, root, of_squares = data.exact.unit
    if of_squares:
        error = u * float(size)
    else:
        y_size = math.sqrt(size)
        error = u * math.sqrt(left) * (2 * y_size + root * math.sqrt(left)) + (u * y_size) ** 2
    return max(0.0, square - left), error if len(J.J) else 0.0


def r2_of_all(data: UnitData) -> float:
    """Return an upper bound on R² of least squares on all columns."""
    if data.d >= len(data.y) or not data.norms.all():
        return 1.0
    order = scipy.linalg.qr(data.X / data.norms, mode="r", pivoting=True)[1]
    r2, error = _r2_of_basis(data, basis(data, order))
    return min(1.0, r2 + error)


class _Remainder(NamedTuple):
    """The columns outside the span of the selected columns S, and their projections off S.

    Attributes
    ----------
    places : the positions of these columns in the data.
    Z, rho, c : P_S^⊥X_x, ρ_x = ‖P_S^⊥X_x‖ and c_x = ⟨X_x, r⟩ for each column x, where r = P_S^⊥y.
    error, error_c, error_gain, error_unit : bounds on the rounding errors of Z, c, c/ρ and Z/ρ.
    residual_norm : ‖r‖.
    m : the largest number of columns that can increase R², if k is not limited.
    undecided : whether rounding leaves open which columns are outside the span of S.
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

    @property
    def scores(self) -> tuple[tuple[FloatArray, FloatArray], ...]:
        """|c| and |c|/ρ, each with bounds on its rounding errors."""
        size = np.abs(self.c)
        return (size, self.error_c), (size / self.rho, self.error_gain)


def step(
    data: UnitData, S: IndexArray, pick: IndexArray, k: int, known: LowerBounds, limits: tuple[int, int]
) -> PrefixBounds:
    """Compute the constants of the guarantees at a set S of independent columns.

    pick : the next pick; empty if there is none.
    known : lower bounds that are known already.
    limits : `pair_limit` and `node_limit` of the searches for the submodularity ratio and for eigenvalues.
    """
    pair_limit, node_limit = limits
    places = data.place[S]
    J = basis(data, places[places >= 0])
    r2, error = _r2_of_basis(data, J)
    left = _project_others(data, J)
    if left.undecided and data.y.any():
        return _trivial_bounds(r2, error, S, pick, k)
    m = min(k, left.m)
    if m <= 0 or not data.y.any():
        return PrefixBounds(
            r2=r2,
            error=error,
            m=0,
            largest_correlation=True,
            largest_gain=True,
            gamma=np.ones(2),
            theta=np.ones(2),
            r2_upper=min(1.0, r2 + error),
        )
    ratio = submodularity_ratio(data.problem, None, S, k, pair_limit=pair_limit, node_limit=node_limit)
    given = np.maximum([ratio.lower, ratio.upper], known.gamma)
    unit = left.Z / left.rho
    gamma = np.maximum(given, _least(unit, m, left.error_unit, node_limit, known.correlation))
    sparse = _least(left.Z, m, left.error, node_limit, known.sparse)
    gain_upper = _gain_upper(left, m, float(gamma[0]), float(sparse[0]))
    at = np.flatnonzero(np.isin(left.places, data.place[pick]))
    theta = _theta(left, at, given, sparse)
    ended = not len(pick) and len(S) < k and left.residual_norm**2 > EPS + error
    largest_correlation, largest_gain = _may_end(left) if ended else _has_largest(left, at)
    # q² is 1 where 1 − R²(S) is below the rounding error of the guarantees
    q_squared = (1.0, 1.0) if left.residual_norm**2 + error <= EPS else _q2_bounds(left, at)
    return PrefixBounds(
        r2=r2,
        error=error,
        m=m,
        largest_correlation=largest_correlation,
        largest_gain=largest_gain,
        gamma=np.minimum(1.0, gamma),
        theta=np.minimum(1.0, theta),
        r2_upper=min(1.0, r2 + error + gain_upper),
        q_squared=q_squared,
    )


def _trivial_bounds(r2: float, error: float, S: IndexArray, pick: IndexArray, k: int) -> PrefixBounds:
    """Return constants that hold even if rounding leaves undecided which columns are in the span of S."""
    undecided = None if len(S) < k else True
    nothing = 0.0 if len(pick) else 1.0
    return PrefixBounds(
        r2=r2,
        error=error,
        m=k,
        largest_correlation=undecided,
        largest_gain=undecided,
        gamma=np.array([0.0, 1.0]),
        theta=np.array([0.0, 1.0]),
        r2_upper=1.0,
        q_squared=(nothing, nothing),
    )


def _project_others(data: UnitData, J: IndependentColumns) -> _Remainder:
    """Project the columns outside the span of S, and y, off S, with one reorthogonalisation."""
    others = np.setdiff1d(np.flatnonzero(data.norms > 0), J.J)
    outside = _outside(data, J, others)
    places = others[outside > 0]
    norms = data.norms[places]
    unit, size = _project(J, data.X[:, places] / norms)
    r, y_square = _project(J, data.y)
    rho = np.sqrt(np.einsum("ij,ij->j", unit, unit))
    u, root, of_squares = data.exact.unit
    length = float(np.sqrt(r @ r))
    s = np.sqrt(size)
    y_size = math.sqrt(y_square)
    if of_squares:
        error_unit = math.sqrt(u) * s / rho
        error_c = u * (s * y_size + rho * root * length)
        error_gain = u * (s * y_size / rho + length * (size / rho**2 + root))
    else:
        error_unit = u * s / rho
        error_c = u * (s * length + rho * (y_size + root * length))
        error_gain = u * (2 * s / rho * length + y_size + root * length)
    Z, rho = unit * norms, rho * norms
    m = min(len(places), len(data.y) - len(J.J))
    undecided = J.undecided or bool((outside < 0).any())
    return _Remainder(
        places=places,
        Z=Z,
        rho=rho,
        c=Z.T @ r,
        error=error_unit * rho,
        error_c=error_c * norms,
        error_gain=error_gain,
        error_unit=error_unit,
        residual_norm=length,
        m=m,
        undecided=undecided,
    )


def _theta(left: _Remainder, at: IndexArray, gamma: FloatArray, sparse: FloatArray) -> FloatArray:
    """Return bounds (2,) on the constant θ of OMP, which formula (2) in the docstring of the module defines.

    at : the position of the pick in `left`; empty if there is none.
    gamma, sparse : bounds (2,) on the submodularity ratio γ_{S,k}, and on the least eigenvalue of Gram
        matrices of the projected columns.
    """
    error = np.array([-1.0, 1.0])[:, None] * left.error_unit
    shortest = (left.rho * np.maximum(0.0, 1 + error)).min(axis=1)
    length = (left.rho * np.maximum(0.0, 1 - error))[:, at].prod(axis=1)
    above = np.maximum(gamma * shortest**2, sparse)
    return np.asarray(np.divide(above, length**2, out=np.ones(2), where=length > 0))


def _has_largest(left: _Remainder, at: IndexArray) -> tuple[bool, bool]:
    """Return whether the pick has the largest |c|, and whether it has the largest |c|/ρ, up to rounding.

    For a column x, c_x = ⟨X_x, r⟩ is its correlation with the residual r, and ρ_x its length after projection
    off the selected columns.

    at : the position of the pick in `left`. If it is empty, both answers are True.
    """
    by_c, by_gain = (bool(((v + e)[at] >= (v - e).max()).all()) for v, e in left.scores)
    return by_c, by_gain


def _q2_bounds(left: _Remainder, at: IndexArray) -> tuple[float, float]:
    """Return lower bounds on q², where the pick has at least q times the largest |c|, or |c|/ρ.

    The first bound is for |c|, the second for |c|/ρ. For a column x, c_x = ⟨X_x, r⟩ is its correlation with
    the residual r, and ρ_x its length after projection off the selected columns.

    at : the position of the pick in `left`; empty if there is none, and then q² = 1.
    """
    by_c, by_gain = (_square((v - e)[at].prod(), np.delete(v + e, at), len(at)) for v, e in left.scores)
    return by_c, by_gain


def _square(score: float, others: FloatArray, picks: int) -> float:
    """Return q² = (score/max(score, others))² for the score of a pick; 1 if there is no pick.

    picks : the number of picks, 0 or 1.
    """
    largest = float(others.max(initial=0.0))
    least = max(0.0, score)  # a score is not negative; its lower bound may be
    return 1.0 if not picks or least >= largest else (least / largest) ** 2


def _may_end(left: _Remainder) -> tuple[bool, bool]:
    """Return whether a path of OMP, and a path of FR, may end here.

    For a column x, let c_x = ⟨X_x, r⟩ be its correlation with the residual r, and ρ_x its length after
    projection off the selected columns. A path of OMP may end if all c_x are zero up to rounding. A path of
    FR may end if all c_x/ρ_x are zero up to rounding.
    """
    size = np.abs(left.c)
    return bool((size <= left.error_c).all()), bool((size <= left.error_gain * left.rho).all())


def _gain_upper(left: _Remainder, m: int, gamma: float, sparse: float) -> float:
    """Return an upper bound on the increase of R² by any k further columns.

    It is the smaller of two bounds: formula (1) of the module with the least eigenvalue `sparse`, and the
    bound by the submodularity ratio `gamma`.
    """
    size = np.abs(left.c)
    by_gamma = _largest(size / left.rho + left.error_gain, m) / gamma if gamma > 0 else math.inf
    by_sparse = _largest(size + left.error_c, m) / sparse if sparse > 0 else math.inf
    return min(by_gamma, by_sparse)


def _largest(values: FloatArray, m: int) -> float:
    """Return the sum of the squares of the m largest values."""
    return float((np.sort(values)[len(values) - m :] ** 2).sum())


def _least(Z: FloatArray, m: int, error: FloatArray, node_limit: int, known: float) -> FloatArray:
    """Return bounds (2,) on the least eigenvalue of Z_AᵀZ_A over the sets A of m columns of Z.

    error : bounds on the errors of the columns. The errors of the columns of A change singular values of Z_A
        by at most the square root of the sum of their squares.
    known : a lower bound on the least eigenvalue that is already known.
    """
    C = Z.T @ Z
    change = math.sqrt(_largest(error, m))
    trace = float(np.sort(C.diagonal())[len(C) - m :].sum())
    floor = max(0.0, math.sqrt(known) - change) ** 2
    found = bound_below(C, m, product_error(len(Z), kappa=m) * trace, node_limit, known=floor)
    root = np.sqrt(np.maximum(0.0, [found.lower, found.value])) + change * np.array([-1, 1])
    return np.asarray(np.maximum(np.maximum(0.0, root) ** 2, known))
