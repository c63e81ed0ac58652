"""The gaps of OMP and of OLS at each step of a path.

Let S be the features before a step, i its pick, and j a rival. Let w_j = X_S⁺X_j, z_j = P_S^⊥X_j, r = P_S^⊥y,
and let s_i be the sign of c_i = ⟨X_i, r⟩. An intercept is projected off first: X and y are centred, and its
column does not move.

**OMP.** The gap is |c_i| − σs_ic_j = s_i⟨z, r⟩, for σ = ±1 and z = z_i − σz_j. Its first-order fall is

    K = ‖r‖(‖X_i‖ + ‖X_j‖) + ‖z‖‖y‖ + Σ_{t∈S} ‖X_t‖‖b_tz + w_ts_ir‖,   w = w_i − σw_j.

For standardized columns √(‖X_i‖²‖r‖² − c_i²) takes the place of ‖r‖‖X_i‖, since a column can only turn.

**OLS.** With q_j = z_j/‖z_j‖ the gap is s_i⟨q_i − σq_j, y⟩. Let h_j = r − ⟨q_j, r⟩q_j, which is orthogonal to
S and to q_j. The changed column is X̃_Sw_j + z_j + a_j, so its direction becomes q_j + δ_j to first order,
with the component δ_j of P̃a_j/‖z_j‖ − Π̃z_j/‖z_j‖ orthogonal to q_j, and ‖δ_j‖ ≤ τ = (u_j/‖z_j‖ + √k/σ̃)ε. A
unit vector in the direction of q_j + δ with ‖δ‖ ≤ τ < 1 differs from q_j + δ_j by at most √2·τ²/(1 − τ).
Hence

    K = ‖y‖‖ζ‖ + ‖X_i‖‖h_i‖/‖z_i‖ + ‖X_j‖‖h_j‖/‖z_j‖
        + Σ_t ‖X_t‖‖b_tζ + s_i(w_{i,t}h_i/‖z_i‖ − σw_{j,t}h_j/‖z_j‖)‖

with ζ = q_i − σq_j, and the second-order terms are at most, summed over i and j,

    τ(√k‖h_j‖ε/σ̃ + vε) + √2τ²(‖r‖ + vε)/(1 − τ).
"""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable, Iterator

import numpy as np

from sparselin.guarantees.perturbation._gaps import Gaps, Spread, of_standardized, relevant
from sparselin.problem import Problem
from sparselin.problem.memory import blocks
from sparselin.results import FloatArray, IndexArray

_STALE = 1e-4  # squared lengths are computed by projection where cancellation leaves less than this share


@dataclasses.dataclass(frozen=True, eq=False)
class Step:
    """A step of a path: the numbers of all columns after projection off those selected before.

    pick : i.
    sign : the sign of c_i.
    lengths : (d,) the lengths of the columns, without an intercept.
    y_norm : the length of y, without an intercept.
    size : (d,) the sizes s(X_j), which bound errors of projections.
    y_size : s(y).
    c : (d,) the correlations ⟨X_j, r⟩.
    squares : (d,) ‖z_j‖², zero for columns in the span of S.
    product : (d,) ⟨z_i, z_j⟩.
    w : (k, d) the coefficients of the columns on X_S, without the column of ones.
    b : (k,) the coefficients of y on X_S, without the column of ones.
    S : (k,) the features selected before.
    r_norm : ‖r‖.
    sigma : the least singular value of X_S with columns of length 1, minus a bound on its error.
    rivals : the other features, which can become the pick.
    project : a function that projects columns (n, m) off X_S.
    r : (n,) the residual.
    problem : the problem, in float64.
    """

    pick: int
    sign: float
    lengths: FloatArray
    y_norm: float
    size: FloatArray
    y_size: float
    c: FloatArray
    squares: FloatArray
    product: FloatArray
    w: FloatArray
    b: FloatArray
    S: IndexArray
    r_norm: float
    sigma: float
    rivals: IndexArray
    project: Callable[[FloatArray], FloatArray]
    r: FloatArray
    problem: Problem

    def differences(
        self, J: IndexArray, sigma: FloatArray, scale: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return ‖z_i/scale_i − σz_j/scale_j‖ (m,), and their products with the residual, for the rivals J.

        They are computed from the vectors, so that copies of column i, up to a small difference, have lengths
        without cancellation.
        """
        own = self.problem.columns([self.pick]) / scale[self.pick]
        Z = self.project(own - self.problem.columns(J) * (sigma / scale[J]))
        return np.linalg.norm(Z, axis=0), self.sign * (self.r @ Z)


def steps(problem: Problem, support: IndexArray, first: int) -> Iterator[Step]:
    """Yield the steps from number `first` on of a path with this support, for a problem in float64.

    Raises ValueError if the features of the path are dependent.
    """
    d = problem.n_features
    order = problem.with_ones(support)
    offset = len(order) - len(support)  # 1 with an intercept, else 0
    Q, R = np.linalg.qr(problem.columns(order))
    signs = np.where(np.diag(R) < 0, -1.0, 1.0)
    Qt = np.ascontiguousarray((Q * signs).T)
    R = R * signs[:, None]
    norms = problem.column_norms[:d].astype(np.float64)
    residuals = [problem.y]
    for t in range(len(order)):  # orthogonal to all columns before, so that c has errors relative to ‖r‖
        residuals.append(project_off(Qt[: t + 1], residuals[-1]))
    products = problem.correlate(np.array([*Qt, *residuals]).T).T[:, :d]
    projections = products[: len(order)]
    inverse = np.zeros_like(R)
    squares = norms**2
    measured = squares.copy()
    free = np.ones(d, bool)
    lengths = norms
    y_norm = float(problem.y_norm)
    for t, i in enumerate(order.tolist()):
        w = inverse[:t, :t] @ projections[:t]
        b = inverse[:t, :t] @ (Qt[:t] @ problem.y)
        scaled = problem.column_norms[order[:t]]
        size = np.sqrt(norms**2 + scaled**2 @ w**2)
        project = functools.partial(project_off, Qt[:t])
        if t:
            squares = np.maximum(squares - projections[t - 1] ** 2, 0)
            stale = np.flatnonzero(free & (squares <= _STALE * measured) & (measured > 0))
            for part in blocks(len(stale), problem.n):
                here = stale[part]
                length = np.linalg.norm(project(problem.columns(here)), axis=0)
                squares[here] = np.where(length > problem.length_unit * size[here], length, 0) ** 2
                measured[here] = squares[here]
        if t == offset:
            y_norm = float(np.linalg.norm(residuals[t]))
            lengths = np.sqrt(squares)
        if i < d and not squares[i] > 0:
            raise ValueError(
                "the features of path are linearly dependent, so no distance is defined for them. Leave "
                "dependent features out of `forced`"
            )
        if t >= offset + first:
            c = products[len(order) + t]
            free[i] = False
            yield Step(
                pick=i,
                sign=1.0 if c[i] >= 0 else -1.0,
                lengths=lengths,
                y_norm=y_norm,
                size=size,
                y_size=math.hypot(float(problem.y_norm), float(np.linalg.norm(scaled * b))),
                c=c,
                squares=squares,
                product=R[t, t] * projections[t],
                w=w[offset:],
                b=b[offset:],
                S=order[offset:t],
                r_norm=float(np.linalg.norm(residuals[t])),
                sigma=_least_singular_value(problem, R[offset:t, offset:t], order[offset:t], lengths),
                rivals=np.flatnonzero(free & (lengths > 0)),
                project=project,
                r=residuals[t],
                problem=problem,
            )
        if i < d:
            free[i] = False
            squares[i] = 0
            measured[i] = 0
        inverse[: t + 1, t] = -inverse[: t + 1, :t] @ R[:t, t] / R[t, t]
        inverse[t, t] = 1 / R[t, t]


def project_off(Qt: FloatArray, Z: FloatArray) -> FloatArray:
    """Project columns Z (n, m) off the orthonormal rows of Qt, twice."""
    for _ in range(2):
        Z = Z - Qt.T @ (Qt @ Z)
    return Z


def _least_singular_value(problem: Problem, R: FloatArray, S: IndexArray, lengths: FloatArray) -> float:
    """Return the least singular value of the columns S with length 1, minus a bound on its error.

    R : their triangular factor, after the projection off the column of ones.

    The factor is exact for columns that differ by unit·‖X_j‖, where ‖X_j‖ is the length before the
    projection.
    """
    if not len(S):
        return 1.0
    value = np.linalg.svd(R / lengths[S], compute_uv=False)[-1]
    error = problem.unit * np.linalg.norm(problem.column_norms[S] / lengths[S])
    return max(0.0, float(value - error))


def omp_gaps(step: Step, standardized: bool, n: int, unit: float) -> Gaps:
    """Return the gaps of a step of OMP that may close first, for both signs of each rival.

    standardized : whether the columns are scaled to a fixed length again after a change.
    n, unit : the number of rows, and the unit of rounding errors.
    """
    i = step.pick
    J = np.concatenate([step.rivals, step.rivals])
    sigma = np.repeat([1.0, -1.0], len(step.rivals))
    if not len(J):  # with no rival, the pick stays while its correlation is not zero
        J = np.array([i])
        sigma = np.zeros(1)
    c_i = abs(step.c[i])
    c_j = step.sign * step.c[J]
    gap = c_i - sigma * c_j
    z, gap = _lengths_and_gaps(step, J, sigma, np.ones_like(step.c), gap)
    lengths = step.lengths
    length = np.abs(sigma) * lengths[J]
    own = lengths[i] * step.r_norm
    others = length * step.r_norm
    if standardized:
        own = float(of_standardized(np.array(own), np.array(c_i)))
        others = of_standardized(others, sigma * c_j)
    slope = own + others + z * step.y_norm
    at = lengths[step.S]
    u = lengths[i] + length + at @ np.abs(step.w[:, [i]]) + (at @ np.abs(step.w))[J] * np.abs(sigma)
    v = step.y_norm + float(at @ np.abs(step.b))
    root = max(math.sqrt(n), n / 16)
    error = unit * (
        (step.size[i] + np.abs(sigma) * step.size[J]) * step.r_norm
        + z * step.y_size
        + root * (lengths[i] + length) * step.r_norm
    )
    spread = Spread(
        u=u,
        z=z,
        h=None,
        v=v,
        r=step.r_norm,
        parallel=(c_i + np.abs(sigma * c_j)) * standardized,
        k=len(step.S),
        sigma=step.sigma,
        standardized=standardized,
    )
    gaps = Gaps(
        gap=gap,
        slope=slope,
        in_y=z * step.y_norm,
        error=error,
        rival=J,
        sign=sigma,
        spread=spread,
        y_number=0.0,
    )
    few = relevant(gap, error, slope, v * z + u * step.r_norm, gaps.in_y, spread)

    def whole(gaps: Gaps) -> FloatArray:
        z = gaps.spread.z
        slope = gaps.slope
        for length, w, b in zip(at, step.w, step.b, strict=True):
            w = w[i] - gaps.sign * w[gaps.rival]
            square = (b * z) ** 2 + (w * step.r_norm) ** 2 + 2 * b * step.sign * w * gaps.gap
            slope = slope + length * np.sqrt(np.maximum(square, 0))
        return slope

    return _narrow(gaps, few, whole)


def _narrow(gaps: Gaps, few: IndexArray, slopes: Callable[[Gaps], FloatArray]) -> Gaps:
    """Return the gaps `few`, with their slopes, and the condition number in y of all gaps."""
    number = float(gaps.quotients(True).max(initial=0))
    kept = gaps.of(few)
    return dataclasses.replace(kept, slope=slopes(kept), y_number=number)


def _lengths_and_gaps(
    step: Step, J: IndexArray, sigma: FloatArray, scale: FloatArray, gap: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return ‖z_i/scale_i − σz_j/scale_j‖ and the gaps (m,), computed from vectors where they cancel."""
    i = step.pick
    own = step.squares[i] / scale[i] ** 2
    others = sigma**2 * step.squares[J] / scale[J] ** 2
    z2 = own + others - 2 * sigma * step.product[J] / (scale[i] * scale[J])
    near = np.flatnonzero(z2 <= _STALE * (own + others))
    z = np.sqrt(np.maximum(z2, 0))
    for here in blocks(len(near), step.problem.n):
        some = near[here]
        z[some], gap[some] = step.differences(J[some], sigma[some], scale)
    return z, gap


def ols_gaps(step: Step, n: int, unit: float) -> Gaps:
    """Return the gaps of a step of OLS, for both signs of each rival; see `omp_gaps`.

    A rival in the span of S has the gap 0, because a change of any size can turn it anywhere. A change of y
    alone does not make it a rival, so its fall in y is zero.
    """
    i = step.pick
    outside = step.rivals[step.squares[step.rivals] > 0]
    inside = step.rivals[step.squares[step.rivals] == 0]
    J = np.concatenate([outside, outside])
    sigma = np.repeat([1.0, -1.0], len(outside))
    if not len(J):
        J = np.array([i])
        sigma = np.zeros(1)
    rho = np.sqrt(step.squares)
    quotient = np.zeros_like(rho)
    np.divide(step.c, rho, out=quotient, where=rho > 0)
    e_i = abs(quotient[i])
    e_j = step.sign * quotient[J]
    gap = e_i - sigma * e_j
    cosine = step.product[J] / (rho[i] * np.where(rho[J] > 0, rho[J], 1))
    z, gap = _lengths_and_gaps(step, J, sigma, np.where(rho > 0, rho, 1), gap)
    r2 = step.r_norm**2
    h_i = math.sqrt(max(r2 - e_i**2, 0))
    h_j = np.sqrt(np.maximum(r2 - e_j**2, 0))
    lengths = step.lengths
    own = lengths[i] / rho[i]
    other = np.abs(sigma) * lengths[J] / np.where(rho[J] > 0, rho[J], 1)
    slope = step.y_norm * z + own * h_i + other * h_j
    at = lengths[step.S]
    x = step.w / np.where(rho > 0, rho, 1)
    v = step.y_norm + float(at @ np.abs(step.b))
    u_i = np.full(len(J), own + at @ np.abs(x[:, i]))
    u = np.array([u_i, other + (at @ np.abs(x))[J] * np.abs(sigma)])
    root = max(math.sqrt(n), n / 16)
    error_i = _quotient_error(step, np.array([i]), rho, e_i, root, unit)
    error = error_i + np.abs(sigma) * _quotient_error(step, J, rho, np.abs(e_j), root, unit)
    h = np.array([np.full(len(J), h_i), np.abs(sigma) * h_j])
    spread = Spread(
        u=u,
        z=z,
        h=h,
        v=v,
        r=step.r_norm,
        parallel=np.zeros(len(J)),
        k=len(step.S),
        sigma=step.sigma,
        standardized=False,
    )
    gaps = Gaps(
        gap=gap,
        slope=slope,
        in_y=z * step.y_norm,
        error=error,
        rival=J,
        sign=sigma,
        spread=spread,
        y_number=0.0,
    )
    most = v * z + (u * h).sum(axis=0)
    few = relevant(gap, error, slope, most, gaps.in_y, spread)

    def whole(gaps: Gaps) -> FloatArray:
        # the products of ζ, h_i and h_j, for y with the sign that makes ⟨q_i, y⟩ positive
        e = e_j[few]
        cos = cosine[few]
        sigma = gaps.sign
        hj = h_j[few]
        with_i = -sigma * (e - e_i * cos)
        with_j = e_i - e * cos
        inner = r2 - e_i**2 - e**2 + e_i * e * cos
        slope = gaps.slope
        for length, row, b in zip(at, x, step.b * step.sign, strict=True):
            own = row[i]
            other = sigma * row[gaps.rival]
            square = (b * gaps.spread.z) ** 2 + (own * h_i) ** 2 + (other * hj) ** 2
            square += 2 * b * (own * with_i - other * with_j) - 2 * own * other * inner
            slope = slope + length * np.sqrt(np.maximum(square, 0))
        return slope

    found = _narrow(gaps, few, whole)
    return found if not len(inside) else found.with_free_rival(int(inside[0]))


def _quotient_error(
    step: Step, J: IndexArray, rho: FloatArray, quotient: FloatArray, root: float, unit: float
) -> FloatArray:
    """Return bounds on the rounding errors of |c_j|/‖z_j‖ for the columns J."""
    length = np.where(rho[J] > 0, rho[J], 1)
    error = step.size[J] * step.r_norm + length * step.y_size + root * step.lengths[J] * step.r_norm
    return np.asarray(unit * (error + quotient * step.size[J]) / length)
