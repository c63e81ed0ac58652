"""Noise: σ or an estimate of it, and the law of a statistic that follows.

With σ known, ηᵀy/σ is normal. With σ estimated by the residual of all features, it is the law `Student`: a
path, its coefficients and the criteria for k depend on y only through P_Xy and ‖P_X^⊥y‖, and η lies in the
span of X, so the truncation of ηᵀy does not change if P_X^⊥y is rotated. (For BIC and EBIC see
`_traces.Choice`.) With "unknown" it is the law `Circle` for each tested model.

**Degrees of freedom.** ν = n − d, where d counts independent columns and the intercept. Tests by `Student`
have their level for ν ≥ 2, and its confidence sets are intervals for ν ≥ 3, the least ν that is accepted.

**Randomization** draws noise of the size of σ̂ as if σ̂ were σ, so its level is approximate. Let τ = σ̂/σ, and
let a selection look at a₁ = η̂ᵀ(y + γω), and the test at a₂ = η̂ᵀ(y − ω/γ), where ω has the deviation τσ. In
units of σ their covariance is 1 − τ². So given a₁ = c·√(1 + γ²τ²), the mean of a₂ in units of its own
deviation is about c(1 − τ²)γ/(1 + γ²), at most c(1 − τ²)/2, whose mean square is c²/(2ν), because the
variance of τ² is 2/ν. A two-sided test at z = 1.96 with such a random mean has a level that is larger by
about zφ(z)·c²/(2ν) = .115·c²/(2ν); the largest of d independent a₁ has c² ≈ 2·ln d. The quotient a₂/σ̂ adds at
most the excess of Student's law, zφ(z)(z² + 1)/(2ν) = .28/ν. For ν ≥ 100 both stay below .01 if d ≤ 400.
`python -m proofs_checks.experiments.levels` measures it.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from sparselin.linalg.thin_qr import ThinQR
from sparselin.post_selection._laws import Normal, Set, Student, scale_set
from sparselin.problem import Problem
from sparselin.problem.errors import EPS
from sparselin.validation import check_real

FEWEST = 3  # the fewest degrees of freedom of tests with all features
MANY = 100  # the fewest degrees of freedom of an estimate that randomization takes as σ


class Noise(NamedTuple):
    """Noise of the variance σ², with σ given, estimated or unknown.

    sigma : σ, or its estimate; NaN for sigma="unknown".
    words : the assumptions.
    degrees : the degrees of freedom of the estimate; infinite for a given σ, NaN for sigma="unknown".
    by_residual : whether σ is estimated by the residual of all features, with the law `Student`.
    needs_mean : whether μ must be in the span of the features: of the tested model if σ is unknown, else of
        all, by whose residual σ is estimated.
    approximate : whether an estimate is taken as σ.
    error : a bound on the relative error of the estimate by rounding.
    """

    sigma: float
    words: str
    degrees: float = math.inf
    by_residual: bool = False
    needs_mean: bool = False
    approximate: bool = False
    error: float = 0.0

    @property
    def unknown(self) -> bool:
        """True for sigma="unknown"."""
        return math.isnan(self.sigma)

    def law(self, x: float, error: float) -> Normal | Student:
        """Return the law of a statistic η̂ᵀy = x that is known up to `error`."""
        if not self.by_residual:
            return Normal(x / self.sigma, error / self.sigma, self.sigma)
        error = (error + abs(x) * self.error) * (1 + 2 * self.error)
        return Student(x / self.sigma, error / self.sigma, self.sigma, int(self.degrees))

    def scale(self, offsets: Set, side: int) -> Set:
        """Divide a set of offsets by σ; widen (side = 1) or narrow (−1) it by more than the errors.

        For a relative error e ≤ ½ of σ, 1/σ has one of at most 2e.
        """
        return scale_set(offsets, 1 / self.sigma, side, 2 * self.error)


def noise_of(problem: Problem, n: int, sigma: Any, *, added: bool = False) -> Noise:
    """Check sigma, or estimate σ.

    n : the number of rows with a positive weight.
    added : whether noise of the size of σ is to be added to y (`randomize`).

    Raises ValueError for a wrong sigma, or if σ cannot be estimated.
    """
    named = sigma if isinstance(sigma, str) else None
    if named not in (None, "full", "response", "unknown"):
        raise ValueError(f'sigma must be a number, "full", "response" or "unknown"; got {sigma!r}')
    if named == "unknown":
        if added:
            raise ValueError(
                'sigma must be a number for method="randomized", which adds noise of the size of σ to y; got '
                '"unknown". Pass a number that comes from other data, or method="exact"'
            )
        return _without_sigma()
    if named == "response":
        return _of_response(problem, n)
    if sigma is not None and named is None:
        value = _check_size(problem, check_real(sigma, "sigma"))
        return Noise(sigma=value, words=f"y ~ N(μ, σ²I), σ = {value:.4g}, any μ")
    return _of_all_features(problem, n, named, added)


def _without_sigma(why: str = "") -> Noise:
    words = "y ~ N(μ, σ²I), σ unknown, μ in the span of the tested model: t-tests"
    return Noise(sigma=math.nan, words=words + why, degrees=math.nan, needs_mean=True)


def _of_response(problem: Problem, n: int) -> Noise:
    value, degrees, _ = _estimate(problem, problem.with_ones(np.arange(0)).tolist(), n)
    words = f"the deviation of y with {degrees} degrees of freedom, taken as known: approximate"
    return Noise(
        sigma=value, words=f"y ~ N(μ, σ²I), σ = {value:.4g}, {words}", degrees=degrees, approximate=True
    )


def _of_all_features(problem: Problem, n: int, named: str | None, added: bool) -> Noise:
    """Return the estimate by the residual of all features; by default "unknown" if there are too few rows."""
    free = n - problem.d
    fewest = MANY if added else FEWEST
    value = error = math.nan
    if free > 0 or named:
        columns = problem.with_ones(np.arange(problem.n_features)).tolist()
        value, free, error = _estimate(problem, columns, n)
    if added and free < (FEWEST if named else fewest):
        raise ValueError(
            'sigma is needed: method="randomized" takes an estimate of σ as known, which needs n − d ≥ '
            f"{fewest} degrees of freedom; got n − d = {free}. Pass a number that comes from other data, or "
            'method="exact"'
        )
    if free < FEWEST and named:
        raise ValueError(
            f'sigma="full" needs n − d ≥ {FEWEST} degrees of freedom, where d counts independent columns and '
            f'the intercept; got n − d = {free}. Pass a number that comes from other data, or "unknown" for '
            "t-tests in the selected model"
        )
    if free < FEWEST:
        return _without_sigma(f"; with all features n − d = {free} is too small")
    if added:
        words = f"estimated with n − d = {free} degrees of freedom and taken as known: approximate"
        law = f"y ~ N(μ, σ²I), σ = {value:.4g}, {words}"
        return Noise(sigma=value, words=law, degrees=free, approximate=True, needs_mean=True)
    words = f"t-tests with n − d = {free} degrees of freedom, σ̂ = {value:.4g}"
    law = f"y ~ N(μ, σ²I), μ = Xβ, σ unknown: {words}"
    return Noise(sigma=value, words=law, degrees=free, by_residual=True, needs_mean=True, error=error)


def _estimate(problem: Problem, columns: list[int], n: int) -> tuple[float, int, float]:
    """Return the estimate of σ by the residual of these columns, its degrees of freedom, and its error."""
    qr = ThinQR(problem, columns)
    free = n - qr.size
    if free <= 0:
        return math.nan, free, math.nan
    left = float(np.linalg.norm(qr.residual(problem.y)))
    level = (3.001 * problem.rounding(qr.kappa) + EPS) * problem.y_norm  # as `Basis.error`
    if 2 * level >= left:
        raise ValueError(
            f"sigma cannot be estimated: the residual of {qr.size} columns is {left:.3g}, of which "
            f"{level:.3g} may be rounding. Pass a number that comes from other data"
        )
    return _check_size(problem, left / math.sqrt(free)), free, level / left


def _check_size(problem: Problem, value: float) -> float:
    if not 1e-100 * problem.y_norm < value < 1e100 * (problem.y_norm or 1):
        raise ValueError(f"sigma must be positive, and of the size of y or its residual; got {value}")
    return value
