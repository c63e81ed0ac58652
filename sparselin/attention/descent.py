"""Gradient descent on the Hadamard parametrizations β = s(w)∘θ of sparse regression.

Here s(w)∘θ has the entries s_i(w)θ_i. The selected features S are not penalised and are eliminated first: X
and y are replaced by P_S^⊥X_{S̄} and P_S^⊥y, where P_S^⊥ projects off the columns of S, and S̄ are the other
features. Then

    F(w, θ) = ½‖y − X(s(w)∘θ)‖² + (λ/2)(‖w‖² + ‖θ‖²)

depends only on the features of S̄, and an ill-conditioned X_S does not slow down the descent. In *Sequential
Attention for Feature Selection* the squared error has no ½, so the λ of the paper is twice the λ here.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple, Unpack

import numpy as np
from numpy.typing import ArrayLike

from sparselin._kernels import descent as kernels
from sparselin.lasso.gap import gap_at
from sparselin.linalg.elimination import orthonormal_basis, project_off
from sparselin.linalg.thin_qr import ThinQR
from sparselin.linalg.ties import measure, tied_at_maximum
from sparselin.problem import DataOptions, Problem, as_problem, takes_problem
from sparselin.results import DescentResult, FloatArray, IndexArray, Status
from sparselin.validation import Columns, check_count, check_generator, check_level

FORMS = {
    "linear": kernels.LINEAR,
    "l1": kernels.L1,
    "l2": kernels.L2,
    "l1_normalized": kernels.L1_NORMALIZED,
    "l2_normalized": kernels.L2_NORMALIZED,
    "softmax": kernels.SOFTMAX,
}
# Larger penalties are replaced by this one: their squares could overflow, and θ is zero to rounding anyway.
_HUGE = 1e100
ENDINGS = {kernels.AT_LIMIT: Status.MAX_ITER, kernels.STALLED: Status.BEYOND_PRECISION}


@takes_problem
def hadamard_descent(
    X: Any,
    y: ArrayLike | None,
    lam: float,
    *,
    forced: Columns = (),
    unpenalized: Columns | None = None,
    tol: float = 1e-4,
    max_iter: int = 100_000,
    rng: Any = 0,
    **data: Unpack[DataOptions],
) -> DescentResult:
    """Solve the LASSO by gradient descent on w and θ with β = w∘θ: regularized linear Sequential Attention.

    Let S be the features without penalty, S̄ the others, and w∘θ the vector with the entries w_iθ_i. From a
    random start, the method takes gradient steps on

        F(w, θ) = ½‖y − Xβ‖² + (λ/2)(‖w‖² + ‖θ_{S̄}‖²),   β = w∘θ outside S, β_S = X_S⁺(y − X_{S̄}β_{S̄})

    where X_S⁺ is the pseudoinverse, so that β_S is the least squares fit given β_{S̄} (Definition 3.1 of
    *Sequential Attention for Feature Selection*, whose λ is twice this one). For a given β, the minimum of F
    over all w and θ with w∘θ = β is ½‖y − Xβ‖² + λ‖β_{S̄}‖₁ (Hoff, 2017). So the minimisers of F give the
    solutions of the LASSO. F has no spurious minima (Poon and Peyré, 2021; docs/proofs/hoff_lemma.md). The
    step lengths are those of Barzilai and Borwein.

    Stopping. Let δ be the sum of two terms: a duality gap of the LASSO at β, and F − ½‖y − Xβ‖² − λ‖β_{S̄}‖₁
    ≥ 0, the excess of F over the LASSO's objective. Then F exceeds its minimum by at most δ. Let P_S^⊥y be
    the residual of least squares on S, and λ*(S) the least λ at which β_{S̄} = 0. The descent ends in one of
    these cases:

    - δ ≤ tol·(½‖P_S^⊥y‖² − F). The factor of tol is the decrease of F from its value at β_{S̄} = 0;
    - λ ≥ (1 − 1e-6)λ*(S), F ≥ ½‖P_S^⊥y‖² and δ ≤ ½(1e-7‖P_S^⊥y‖)². In this case w and θ may tend to zero;
    - no step decreases F by more than its rounding error, which happens for tol = 0. Then the status is
      BEYOND_PRECISION, and the result is the iterate of least F.

    Many iterations may be needed if λ is within a relative 1e-6 of λ*, or far below λ*.

    Parameters
    ----------
    X, y : design (n, d) and response (n,), or one `Problem` in place of both. The columns of a sparse X
        outside S are made dense, which raises MemoryError if they take more than a quarter of the memory.
    lam : λ ≥ 0.
    forced : S, the features without penalty and without w, by index or name. `unpenalized` is another name
        for this argument.
    tol : the relative accuracy of F. The default suffices for the choice of a feature: for λ in the middle of
        the window of `first_entry`, the feature of largest |w| is in A(S), the features that enter the LASSO
        first. This may fail if the cosine of the angle between this feature and another column is above about
        1 − tol.
    max_iter : take at most this many steps. If they do not suffice, the status is MAX_ITER, and the result is
        the last iterate.
    rng : seed or Generator of the random start.
    intercept, standardize : fit an unpenalised intercept; divide columns by their standard deviations, so
        that w, θ and λ refer to the scaled columns (see `Problem`).
    sample_weight : (n,) weights of the squared residuals.

    Returns
    -------
    DescentResult, with w, θ, the coefficients β, F at every iterate, and the duality gap of the LASSO at β.

    Raises
    ------
    TypeError, ValueError : invalid data (see `Problem`), invalid `forced`, λ < 0, tol < 0, or max_iter < 1.

    >>> result = hadamard_descent([[1.0, 0.0], [0.0, 1.0]], [3.0, 1.0], 2.0, tol=1e-8)
    >>> np.abs(result.coef).round(3).tolist(), result.status.name
    ([1.0, 0.0], 'COMPLETED')
    """
    problem = as_problem(X, y, **data)
    S = problem.unpenalized_columns(forced, unpenalized)
    lam, tol = check_level(lam, "lam"), check_level(tol, "tol")
    max_iter = check_count(max_iter, "max_iter", 1)
    qr = ThinQR(problem, S)
    reduced = eliminate(problem, qr, S, only_range=lam == 0)
    share = lam / penalty_unit(reduced, "linear")
    training = train(reduced, share, "linear", check_generator(rng), tol=tol, max_iter=max_iter)
    return _result(problem, qr, S, reduced, training, lam)


class EliminatedProblem(NamedTuple):
    """The data of a problem after the columns of the selected features S have been projected off and removed.

    Attributes
    ----------
    free : (m,) the features S̄ outside S.
    X, y : P_S^⊥X_{S̄} (p, m) and P_S^⊥y (p,), in coordinates of ℝⁿ or of an orthonormal basis of the column
        space. In the second case the component of y orthogonal to the column space is missing.
    lengths : (m,) ‖P_S^⊥X_j‖. If a column is in the span of S to rounding, its length is zero, and so is its
        column of X.
    lam_star : λ*(S) = max|⟨X_j, P_S^⊥y⟩|; zero if it is zero to rounding.
    residual_norm : ‖P_S^⊥y‖.
    basis : the orthonormal basis (n, p) if X and y are in its coordinates.
    """

    free: IndexArray
    X: FloatArray
    y: FloatArray
    lengths: FloatArray
    lam_star: float
    residual_norm: float
    basis: FloatArray | None = None


class DescentEnd(NamedTuple):
    """The result of gradient descent on F(w, θ), after the features S have been eliminated.

    w, theta, mask : (m,) w, θ and the mask s(w).
    value : F − ½‖P_S^⊥y‖² at every iterate, where P_S^⊥y is the residual of least squares on S.
    end : a code of the kernel `descend` that says why the descent ended.
    """

    w: FloatArray
    theta: FloatArray
    mask: FloatArray
    value: FloatArray
    end: int


class Coordinates(NamedTuple):
    """The coordinates basisᵀX and basisᵀy of X and y in an orthonormal basis (n, d) of the column space.

    The columns of X are independent. For every set S of features, the columns of P_S^⊥X span the vectors of
    the column space that are orthogonal to X_S.
    """

    basis: FloatArray
    X: FloatArray
    y: FloatArray


def column_space(problem: Problem) -> Coordinates | None:
    """Return the coordinates of X and y in an orthonormal basis of the column space of X.

    The result is None if the columns are dependent to rounding, or if X has at least as many columns as rows.
    """
    if problem.d >= problem.n:
        return None
    X = problem.columns(np.arange(problem.d))
    basis = orthonormal_basis(X)
    return Coordinates(basis, basis.T @ X, basis.T @ problem.y) if basis.shape[1] == problem.d else None


def eliminate(
    problem: Problem, qr: ThinQR, S: IndexArray, *, only_range: bool = False, space: Coordinates | None = None
) -> EliminatedProblem:
    """Project y and the columns outside S off X_S, and remove the features S from the problem.

    qr is the factorisation X_S = QR, and the projection is repeated once for accuracy. If there are fewer
    columns than rows, or with `only_range`, the results are then expressed in an orthonormal basis of the
    column space. There are two reasons for this. It saves memory. And if r is the residual, the dual points
    r·min(1, λ/‖Xᵀr‖∞) are better without the component of r that no β can change. If `space` already holds X
    and y in such a basis, the projection is done there.
    """
    free = np.delete(np.arange(problem.d), S)
    measured = measure(qr, free)
    lengths = np.where(measured.outside, measured.length, 0)
    lam_star = tied_at_maximum(*measured.correlations()[:2])[0]
    if space is None:
        X, y = qr.residual(problem.columns(free)), qr.residual(problem.y)
    else:
        Q = space.basis.T @ qr.Qt.T
        X, y = project_off(Q, space.X[:, free]), project_off(Q, space.y)
    X[:, lengths == 0], basis = 0, None
    if space is None and (len(free) < problem.n or only_range):
        basis = orthonormal_basis(X)
        X, y = basis.T @ X, basis.T @ y
    return EliminatedProblem(
        free=free,
        X=X,
        y=y,
        lengths=lengths,
        lam_star=lam_star,
        residual_norm=measured.residual_norm,
        basis=basis,
    )


def penalty_unit(reduced: EliminatedProblem, parametrization: str) -> float:
    """Return the unit in which λ is measured, so that λ follows the units of X and y.

    Let ℓ = max‖P_S^⊥X_j‖ and λ* = max|⟨X_j, P_S^⊥y⟩|, where P_S^⊥ projects off the selected columns. The unit
    is λ* for "linear" and "l1", (λ*⁴/ℓ²)^{1/3} for "l2", and ℓ² for the other forms. It is 1 if λ* = 0,
    because then nothing is trained. If the units of X and y are changed, and λ stays the same multiple of
    this unit, the minimisers of F only change by factors. "softmax" is an exception.
    """
    lam_star = reduced.lam_star
    longest = float(reduced.lengths.max(initial=0))
    if lam_star == 0:
        return 1.0
    if parametrization in ("linear", "l1"):
        return lam_star
    if parametrization == "l2":
        return lam_star * float(np.cbrt(lam_star / longest / longest))
    return longest * longest


def train(
    reduced: EliminatedProblem,
    share: float,
    parametrization: str,
    rng: np.random.Generator,
    *,
    tol: float,
    max_iter: int,
    size: float | None = None,
) -> DescentEnd:
    """Descend from a random start at λ = share·`penalty_unit`, on data scaled to max‖X_j‖ = 1 and λ* = 1.

    Write X = qX', y = py', w = ωw' and θ = υθ', where the primed quantities are scaled. The factors ω and υ
    are such that s(w)∘θ = (p/q)·s(w')∘θ'. Then F = p²F', where F' has the penalties λ'_w = λω²/p² on ‖w'‖²
    and λ'_θ = λυ²/p² on ‖θ'‖². So the iterates do not depend on the units of X and y. Both penalties equal
    `share`, with two exceptions: the normalised forms have λ'_w = 0, and a softmax has ω = 1 and λ'_w =
    share·(q/p)². If `size` is given, it takes the place of p/q. All computations are in float64, because the
    duality gap is computed from squares.
    """
    form = FORMS[parametrization]
    if reduced.lam_star == 0 or (share > _HUGE and form <= kernels.L2):
        zero = np.zeros(len(reduced.free))
        return DescentEnd(zero, zero, zero, np.zeros(1), kernels.AT_FLOOR)
    q = float(reduced.lengths.max())
    p = reduced.lam_star / q
    omega, upsilon, sigma = _units(form, p / q)
    X = np.ascontiguousarray(reduced.X, np.float64) / q
    y = reduced.y.astype(np.float64) / p
    decay = {kernels.L1_NORMALIZED: 0.0, kernels.L2_NORMALIZED: 0.0, kernels.SOFTMAX: 1 / (size or p / q)}
    unit = decay.get(form, 1.0)
    penalties = np.minimum([share * unit * unit, share], _HUGE)
    start = np.concatenate(_start(form, X.T @ y, reduced.lengths > 0, rng))
    # below λ* (for w²: its analogue) the decrease from zero is positive and must end the descent
    vanishes = share >= (1 - 1e-6) * (np.cbrt(0.25) if form == kernels.L2 else 1)
    floor = 0.5 * (1e-7 * reduced.residual_norm / p) ** 2 if vanishes else 0.0
    objective = kernels.DescentObjective(form, X, np.ascontiguousarray(X.T), y, penalties)
    x, s, value, end = kernels.descend(objective, start, tol, floor, max_iter)
    m = len(s)
    with np.errstate(over="ignore"):  # F may overflow at the start even if ‖y‖² does not
        value = p**2 * value
    return DescentEnd(omega * x[:m], upsilon * x[m:], sigma * s, value, end)


def _units(form: int, size: float) -> tuple[float, float, float]:
    """Return the factors by which w, θ and the mask s(w) grow when β = s(w)∘θ is multiplied by `size`.

    The factors are ω for w, υ for θ, and size/υ for the mask.
    """
    if form <= kernels.L1:
        root = math.sqrt(size)
        return root, root, root
    if form == kernels.L2:
        root = math.cbrt(size)
        return root, root, root**2
    return 1.0, size, 1.0


def _start(
    form: int, c: FloatArray, nonzero: np.ndarray, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray]:
    """Return random start values (w, θ).

    At the start, the coefficients β = s(w)∘θ are at most about a tenth of a typical coefficient.

    c : (m,) the correlations Xᵀy.
    nonzero : (m,) False for zero columns of X; there w and θ are zero.

    If the mask s is ≥ 0, β has the signs of θ, so θ starts with the signs of c. For "l2" and the normalised
    forms all w_i start equal, because a large random w_i would favour feature i whatever its correlation.
    """
    noise = rng.standard_normal((2, len(c))) * nonzero
    if form == kernels.LINEAR:
        w, theta = math.sqrt(0.1) * noise
        return w, theta
    noise[1] = np.copysign(noise[1], c)
    if form == kernels.L1:
        return math.sqrt(0.1) * np.abs(noise[0]), math.sqrt(0.1) * noise[1]
    if form == kernels.L2:
        return 0.15 * nonzero, 0.15 * np.copysign(nonzero, c) * (1 + 0.1 * noise[0])
    return nonzero * float(form != kernels.SOFTMAX), 0.1 * noise[1]


def _result(
    problem: Problem, qr: ThinQR, S: IndexArray, reduced: EliminatedProblem, training: DescentEnd, lam: float
) -> DescentResult:
    """Return the end of a descent as a `DescentResult` on all d features.

    The coefficients of the features S, which were eliminated, are found by least squares.
    """
    w, weights, theta = (np.full(problem.d, start, problem.dtype) for start in (np.nan, 1, 0))
    w[reduced.free], weights[reduced.free], theta[reduced.free] = training.w, training.mask, training.theta
    residual = problem.y - problem.predict(weights * theta)
    theta[qr.index] = qr.solve(qr.Qt @ residual)
    coef = weights * theta
    objective = (0.5 * reduced.residual_norm**2 + training.value).astype(problem.dtype)
    m = problem.n_features
    inner, intercept = problem.in_units_of_data(coef)
    gap = _duality_gap(problem, qr, S, reduced.basis, coef, lam)
    status = ENDINGS.get(training.end, Status.COMPLETED)
    fit = (w[:m], theta[:m], weights[:m], inner)
    standardized = problem.design.scale is not None
    return DescentResult(*fit, float(intercept), objective, gap, status, problem.names, standardized)


def _duality_gap(
    problem: Problem, qr: ThinQR, S: IndexArray, basis: FloatArray | None, coef: FloatArray, lam: float
) -> float:
    """Return the duality gap of the LASSO at the coefficients `coef`, computed from X, y and S alone.

    qr is the factorisation of X_S, and `basis` an orthonormal basis of the columns of X projected off X_S, or
    None. If it is not None, y is replaced by its projection on the column space of X. The replacement changes
    the objective by a constant and gives better dual points.
    """
    y = problem.y
    if basis is not None:
        y = y - qr.residual(y) + basis @ (basis.T @ y)
    residual = y - problem.predict(coef)
    u = qr.residual(residual)
    return gap_at(residual, u, problem.correlate(u), S, coef, lam, problem.column_norms).gap
