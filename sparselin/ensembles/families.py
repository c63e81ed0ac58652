"""Random designs, designs with ties, and real data: three data sets of scikit-learn as designs.

The docstring of the package explains their common arguments.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from numpy.random import Generator

from sparselin.ensembles.design import Design, Response, respond
from sparselin.problem.argument_names import take_options
from sparselin.validation import FloatArray, Rng, check_count, check_generator, check_real


class _Family(Protocol):
    def __call__(self, n: int, d: int, rng: Rng = None, *, y: Response = ..., **options: Any) -> Design: ...


def _family(
    rule: str, own: Callable[[FloatArray], FloatArray] | None = None
) -> Callable[[Callable[..., FloatArray]], _Family]:
    """Make a family of a function of (n, d, generator) and parameters that draws X.

    rule : the default of the family's argument y.
    own : the response as a function of X, for a rule that no other family has.
    """

    def decorate(draw: Callable[..., FloatArray]) -> _Family:
        def family(
            n: int,
            d: int,
            rng: Rng = None,
            *,
            y: Response = rule,
            k: int | None = None,
            snr: float | None = None,
            **parameters: Any,
        ) -> Design:
            generator = check_generator(rng)
            X = draw(check_count(n, "n", 1), check_count(d, "d", 1), generator, **parameters)
            return respond(X, generator, y, k, snr, {} if own is None else {rule: own(X)})

        return take_options(family, draw)

    return decorate


@_family("generic")
def gaussian(n: int, d: int, rng: Generator) -> FloatArray:
    """Draw X_ij ~ N(0, 1) and scale the columns to unit length.

    By default y follows the rule "generic" (see `sparselin.ensembles`): noise, or a combination of a few
    columns plus noise.

    >>> X, y = gaussian(20, 30)
    >>> X.shape, y.shape, float(np.linalg.norm(X, axis=0).round(12).max())
    ((20, 30), (20,), 1.0)
    """
    return unit(rng.standard_normal((n, d)))


@_family("generic")
def rademacher(n: int, d: int, rng: Generator) -> FloatArray:
    """Draw X_ij = ±1/√n with equal probability, so that columns have unit length.

    By default y follows the rule "generic" of `gaussian`.

    >>> X, y = rademacher(16, 30)
    >>> float(np.abs(X).min()), float(np.abs(X).max())
    (0.25, 0.25)
    """
    return unit(rng.choice(np.array([-1.0, 1.0]), (n, d)))


@_family("generic")
def ar1(n: int, d: int, rng: Generator, *, rho: float = 0.9) -> FloatArray:
    """Draw Gaussian rows with E X_i X_j = ρ^|i−j|, −1 < ρ < 1, and scale the columns to unit length.

    X_j = ρ X_{j−1} + √(1 − ρ²) Z_j, where the Z_j have independent standard normal entries. (Example 1 of
    Tibshirani, 1996, has ρ = ½.) By default y follows the rule "generic" of `gaussian`.

    >>> X, y = ar1(2000, 3, rng=0)
    >>> np.round(X.T @ X, 1)[0]
    array([1. , 0.9, 0.8])
    """
    rho = check_real(rho, "rho", lambda value: -1 < value < 1, "in (−1, 1)")
    X = rng.standard_normal((n, d))
    X[:, 1:] *= np.sqrt(1 - rho**2)
    for j in range(1, d):
        X[:, j] += rho * X[:, j - 1]
    return unit(X)


@_family("generic")
def equicorrelated(n: int, d: int, rng: Generator, *, rho: float = 0.5) -> FloatArray:
    """Draw Gaussian rows with E X_i X_j = ρ for all i ≠ j, 0 ≤ ρ < 1, and scale the columns to unit length.

    X = √ρ z1ᵀ + √(1 − ρ) Z, where z and Z have independent standard normal entries, and 1 is a vector of
    ones. By default y follows the rule "generic" of `gaussian`.

    >>> X, y = equicorrelated(2000, 3, rng=0)
    >>> np.round(X.T @ X, 1)[0]
    array([1. , 0.5, 0.5])
    """
    rho = check_real(rho, "rho", lambda value: 0 <= value < 1, "in [0, 1)")
    common = rng.standard_normal((n, 1))
    return unit(np.sqrt(rho) * common + np.sqrt(1 - rho) * rng.standard_normal((n, d)))


@_family("generic")
def random_walk(n: int, d: int, rng: Generator) -> FloatArray:
    """Draw X_j = Z_1 + … + Z_j, where the Z_i are standard normal vectors, and scale to unit length.

    Columns i < j have the correlation √(i/j), so neighbours correlate more as j grows. By default y follows
    the rule "generic" of `gaussian`.

    >>> X, y = random_walk(2000, 100, rng=0)
    >>> np.round(X[:, [24, 80, 99]].T @ X[:, 99], 1)
    array([0.5, 0.9, 1. ])
    """
    return unit(np.cumsum(rng.standard_normal((n, d)), axis=1))


@_family("generic")
def partial_dft(n: int, d: int, rng: Generator, *, oversampling: float = 4.0) -> FloatArray:
    """Draw X_ij = cos(2π t_i j/F), t_i ~ U[0, 1), j = 1, …, d, and scale the columns to unit length.

    The rows are random rows of a cosine basis that is oversampled by the factor F ≥ 1. Columns j and j + m
    have the correlation sin(ω)/ω + O(1/j), ω = 2πm/F, and X is nearly rank deficient. (Fannjiang and Liao,
    2012; Yin, Lou, He and Xin, 2015.) By default y follows the rule "generic" of `gaussian`.

    >>> X, y = partial_dft(2000, 100, rng=0)
    >>> np.round(X[:, 90:].T @ X[:, 90], 1)[:3]
    array([1. , 0.6, 0. ])
    """
    oversampling = check_real(oversampling, "oversampling", lambda value: value >= 1, "at least 1")
    return unit(np.cos(2 * np.pi / oversampling * np.outer(rng.random(n), np.arange(1, d + 1))))


@_family("tying")
def partial_hadamard(n: int, d: int, rng: Generator) -> FloatArray:
    """Draw n rows and d columns of Sylvester's Hadamard matrix of the least order ≥ max(n, d).

    The entries are ±1, namely (−1)^(number of common ones in the binary i and j). Columns have norm √n. By
    default y follows the rule "tying" (see `sparselin.ensembles`), which makes ties frequent.

    >>> X, y = partial_hadamard(16, 16)
    >>> bool((X.T @ X == 16 * np.eye(16)).all())
    True
    """
    order = 1 << (max(n, d) - 1).bit_length()
    i, j = rng.permutation(order)[:n], rng.permutation(order)[:d]
    return np.asarray(1.0 - 2.0 * (np.bitwise_count(i[:, None] & j) % 2))


def duplicated(
    n: int,
    d: int,
    rng: Rng = None,
    *,
    y: Response = "generic",
    k: int | None = None,
    snr: float | None = None,
) -> Design:
    """Draw ⌈d/2⌉ Gaussian unit columns and ⌊d/2⌋ exact copies, and shuffle all of them.

    Every second copy is negated. Copies are drawn with replacement, so some columns occur three times or
    more. d must be at least 2. By default y follows the rule "generic" of `gaussian`.

    >>> X, y = duplicated(20, 30)
    >>> len({tuple(column * np.sign(column[0])) for column in X.T})
    15
    """
    n = check_count(n, "n", 1)
    d = check_count(d, "d", 1)
    rng = check_generator(rng)
    check_count(d, "d", 2)
    half = unit(rng.standard_normal((n, d - d // 2)))
    # β is nonzero only on originals, not on copies; but if y is a function of X, it must see all columns
    drawn = Design(half, half[:, 0]) if callable(y) else respond(half, rng, y, k, snr, {})
    copies = half[:, rng.integers(half.shape[1], size=d // 2)]
    copies[:, ::2] *= -1
    order = rng.permutation(d)
    X = np.ascontiguousarray(np.hstack([half, copies])[:, order])
    if callable(y):
        return respond(X, rng, y, k, snr, {})
    coef = None if drawn.coef is None else np.append(drawn.coef, np.zeros(d // 2))[order]
    return Design(X, drawn.y, coef, drawn.noise)


@_family("tying")
def small_integers(n: int, d: int, rng: Generator) -> FloatArray:
    """Draw X_ij uniformly in {−1, 0, 1}, without scaling; small n and d give the most ties.

    By default y follows the rule "tying" of `partial_hadamard`.

    >>> X, y = small_integers(8, 12, rng=0)
    >>> np.unique(X)
    array([-1.,  0.,  1.])
    """
    return rng.integers(-1, 2, (n, d)).astype(np.float64)


@_family("planted", own=lambda X: np.eye(len(X))[0])
def planted_ties(n: int, d: int, rng: Generator) -> FloatArray:
    """Draw X_ij in {−1, 0, 1}, the first row ±1 for half the columns and 0 for the others, and set y = e₁.

    The columns of this half have |⟨X_i, y⟩| = 1, and so they are the tied set T. No feature is selected
    before, so S = ∅; let A(S) be the features that enter the LASSO path first. They are found from the
    shortest vector in the convex hull of the columns of T, each with the sign of ⟨X_i, y⟩: A(S) are the
    columns with a positive weight in this vector. A(S) is often a strict subset of T. Columns are not scaled.

    >>> X, y = planted_ties(8, 12)
    >>> int((X.T @ y != 0).sum()), float(np.abs(X.T @ y).max())
    (6, 1.0)
    """
    X = rng.integers(-1, 2, (n, d)).astype(np.float64)
    X[0] = rng.choice([-1.0, 1.0], d) * (rng.permutation(d) < (d + 1) // 2)
    return X


@_family("generic")
def ill_conditioned(n: int, d: int, rng: Generator, *, kappa: float | None = None) -> FloatArray:
    """Draw X = U diag(σ) Vᵀ with σ geometric from 1 to 1/κ, and scale the columns to unit length.

    U and V are random with orthonormal columns. κ ≤ 1e14 is the condition number before the columns are
    scaled, and scaling changes it by a small factor; None draws κ log-uniformly from 1e6 to 1e8. If n < d, κ
    refers to the min(n, d) nonzero singular values. (Mode 3 of `randsvd`, Higham, Accuracy and Stability of
    Numerical Algorithms, 28.3.) By default y follows the rule "generic" of `gaussian`.

    >>> X, y = ill_conditioned(40, 30, rng=0, kappa=1e7)
    >>> bool(1e6 < np.linalg.cond(X) < 1e8)
    True
    """
    kappa = 10 ** rng.uniform(6, 8) if kappa is None else kappa
    kappa = check_real(kappa, "kappa", lambda value: 1 <= value <= 1e14, "in [1, 1e14]")
    m = min(n, d)
    U, V = (np.linalg.qr(rng.standard_normal((rows, m)))[0] for rows in (n, d))
    return unit(U * np.geomspace(1, 1 / kappa, m) @ V.T)


@_family("generic")
def near_ties(n: int, d: int, rng: Generator, *, gap: float = 1e-6) -> FloatArray:
    """Draw Gaussian unit columns in pairs at the distance ‖X_i − X_j‖ = gap, and shuffle the columns.

    One column is alone if d is odd. n must be at least 2, and 0 < gap ≤ 1. By default y follows the rule
    "generic" of `gaussian`. The condition number of OMP on these designs is at least 2/gap (see `condition`),
    unless the first pick is the column that is alone: let i be the first pick, and j its partner. The gap
    |c_i| − |c_j| is at most gap·‖y‖, and 2‖y‖ is a part of K.

    >>> X, y = near_ties(20, 30, gap=1e-6)
    >>> bool((np.sort(np.linalg.norm(X[:, :, None] - X[:, None], axis=0))[:, 1] < 1.01e-6).all())
    True
    """
    check_count(n, "n", 2)
    gap = check_real(gap, "gap", lambda value: 0 < value <= 1, "in (0, 1]")
    first = unit(rng.standard_normal((n, d - d // 2)))
    own = first[:, : d // 2]
    drawn = rng.standard_normal((n, d // 2))
    other = unit(drawn - own * (own * drawn).sum(axis=0))
    angle = 2 * np.arcsin(gap / 2)
    turned = np.cos(angle) * own + np.sin(angle) * other
    return np.ascontiguousarray(np.hstack([first, turned])[:, rng.permutation(d)])


@_family("generic")
def heavy_tails(n: int, d: int, rng: Generator, *, df: float = 2.0) -> FloatArray:
    """Draw X_ij from Student's t with df ≥ 1 degrees of freedom, and scale the columns to unit length.

    A few rows have far larger entries than the others. By default y follows the rule "generic" of `gaussian`.

    >>> X, y = heavy_tails(200, 30, rng=0)
    >>> float(np.abs(X).max()) > 0.9
    True
    """
    df = check_real(df, "df", lambda value: value >= 1, "at least 1")
    return unit(rng.standard_t(df, (n, d)))


def sparse_signal(
    n: int, d: int, rng: Rng = None, *, k: int | None = None, snr: float | None = None
) -> Design:
    """Draw Gaussian unit columns and y = Xβ + noise, where β has k coefficients of equal size.

    This is gaussian(n, d, rng, y="signal", k=k, snr=snr). (Tropp and Gilbert, 2007, with noise.)

    >>> design = sparse_signal(200, 30, rng=0, k=2, snr=1e6)
    >>> design.support, np.linalg.lstsq(*design)[0].round(3)[design.support], design.coef[design.support]
    (array([17, 24]), array([-1., -1.]), array([-1., -1.]))
    """
    return gaussian(n, d, rng, y="signal", k=k, snr=snr)


def unit(X: FloatArray) -> FloatArray:
    """Scale the columns to norm one; zero columns stay zero."""
    norms = np.linalg.norm(X, axis=0)
    return np.ascontiguousarray(X / np.where(norms > 0, norms, 1))


def diabetes(
    rng: Rng = None, *, y: Response = "measured", k: int | None = None, snr: float | None = None
) -> Design:
    """Load the diabetes data (442, 55): the progression of the disease, ten measurements, their 45 products.

    The columns are centred and have unit length. `rng=None` gives all rows; any other rng gives a random
    half, centred and scaled again. (Efron, Hastie, Johnstone and Tibshirani, 2004.)

    >>> diabetes()[0].shape, diabetes(rng=0)[0].shape
    ((442, 55), (221, 55))
    """
    return _real_data("diabetes", rng, y, k, snr)


def digits(
    rng: Rng = None, *, y: Response = "measured", k: int | None = None, snr: float | None = None
) -> Design:
    """Load the digits data (1797, 64): y is the digit, and X has the 8×8 pixels of its image.

    The columns are centred and have unit length; constant pixels are zero columns. `rng=None` gives all rows;
    any other rng gives 450 random rows, centred and scaled again. (Alpaydin and Kaynak, 1998.)

    >>> X, y = digits()
    >>> X.shape, int((X == 0).all(axis=0).sum())
    ((1797, 64), 3)
    """
    return _real_data("digits", rng, y, k, snr)


def breast_cancer(
    rng: Rng = None, *, y: Response = "measured", k: int | None = None, snr: float | None = None
) -> Design:
    """Load the breast cancer data (569, 30): y is benign or malignant, X has measurements of cell nuclei.

    The columns are centred and have unit length. `rng=None` gives all rows; any other rng gives a random
    half, centred and scaled again. (Street, Wolberg and Mangasarian, 1993.)

    >>> breast_cancer()[0].shape, breast_cancer(rng=0)[0].shape
    ((569, 30), (284, 30))
    """
    return _real_data("breast_cancer", rng, y, k, snr)


@functools.cache
def _load(name: str) -> tuple[Any, Any]:
    from sklearn import datasets, preprocessing

    X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
    if name == "diabetes":
        X = preprocessing.PolynomialFeatures(2, interaction_only=True, include_bias=False).fit_transform(X)
    return X, y.astype(np.float64)


def _real_data(name: str, rng: Rng, y: Response, k: int | None, snr: float | None) -> Design:
    X, measured = _load(name)
    generator = check_generator(rng)
    if rng is not None:
        n = len(X)
        rows = generator.choice(n, min(n // 2, 450), replace=False)
        X, measured = X[rows], measured[rows]
    # A constant column minus its rounded mean need not be zero.
    X = np.where(np.ptp(X, axis=0) > 0, X - X.mean(axis=0), 0.0)
    return respond(unit(X), generator, y, k, snr, {"measured": measured - measured.mean()})
