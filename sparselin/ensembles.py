"""Designs on which the theorems are tested: random ones, ones built to tie, and real data.

Every function returns (X, y), X (n, d) and y (n,), float64 in C order, and the same pair for the same
seed. `rng` is an argument of np.random.default_rng. A *generic* y is, with probability ½ each, a
standard normal vector or a combination of at most eight columns plus noise: both regimes of the
theory, without ties almost surely. A *tying* y is in {−1, 0, 1}ⁿ with probability ¾ (dense or sparse),
else the sum of two to four signed columns, which greedy selection may fit exactly.

All of them raise TypeError when n or d is not an integer, and ValueError when it is below one or when
another parameter is out of range. `ENSEMBLES` has the ensembles of the commands by name; `register` adds one.
"""

from __future__ import annotations

import dataclasses
import functools
import math
import zlib
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sparselin.validation import check_count, check_new, check_real

Design: TypeAlias = tuple[NDArray[np.float64], NDArray[np.float64]]
Rng: TypeAlias = (
    int | Sequence[int] | np.random.SeedSequence | np.random.BitGenerator | np.random.Generator | None
)


def gaussian(n: int, d: int, rng: Rng = 0) -> Design:
    """X_ij ~ N(0, 1), then unit columns; generic y.

    >>> X, y = gaussian(20, 30)
    >>> X.shape, y.shape, float(np.linalg.norm(X, axis=0).round(12).max())
    ((20, 30), (20,), 1.0)
    """
    n, d, rng = _sizes(n, d, rng)
    return _generic(rng.standard_normal((n, d)), rng)


def rademacher(n: int, d: int, rng: Rng = 0) -> Design:
    """X_ij = ±1/√n with equal probability, so unit columns; generic y.

    >>> X, y = rademacher(16, 30)
    >>> float(np.abs(X).min()), float(np.abs(X).max())
    (0.25, 0.25)
    """
    n, d, rng = _sizes(n, d, rng)
    return _generic(rng.choice([-1.0, 1.0], (n, d)), rng)


def ar1(n: int, d: int, rng: Rng = 0, *, rho: float = 0.9) -> Design:
    """Gaussian rows with E X_i X_j = ρ^|i−j|, −1 < ρ < 1, then unit columns; generic y.

    X_j = ρ X_{j−1} + √(1 − ρ²) Z_j with white Z. (Example 1 of Tibshirani, 1996, has ρ = ½.)

    >>> X, y = ar1(2000, 3)
    >>> np.round(X.T @ X, 1)[0]
    array([1. , 0.9, 0.8])
    """
    n, d, rng = _sizes(n, d, rng)
    rho = _within(rho, "rho", "in (−1, 1)", lambda value: -1 < value < 1)
    X = rng.standard_normal((n, d))
    X[:, 1:] *= np.sqrt(1 - rho**2)
    for j in range(1, d):
        X[:, j] += rho * X[:, j - 1]
    return _generic(X, rng)


def equicorrelated(n: int, d: int, rng: Rng = 0, *, rho: float = 0.5) -> Design:
    """Gaussian rows with E X_i X_j = ρ for all i ≠ j, 0 ≤ ρ < 1, then unit columns; generic y.

    X = √ρ z1ᵀ + √(1 − ρ) Z with z and Z white.

    >>> X, y = equicorrelated(2000, 3)
    >>> np.round(X.T @ X, 1)[0]
    array([1. , 0.5, 0.5])
    """
    n, d, rng = _sizes(n, d, rng)
    rho = _within(rho, "rho", "in [0, 1)", lambda value: 0 <= value < 1)
    common = rng.standard_normal((n, 1))
    return _generic(np.sqrt(rho) * common + np.sqrt(1 - rho) * rng.standard_normal((n, d)), rng)


def random_walk(n: int, d: int, rng: Rng = 0) -> Design:
    """X_j = Z_1 + … + Z_j with white Z, then unit columns; generic y.

    Columns i < j correlate by √(i/j): neighbours more, the further along.

    >>> X, y = random_walk(2000, 100)
    >>> np.round(X[:, [24, 80, 99]].T @ X[:, 99], 1)
    array([0.5, 0.9, 1. ])
    """
    n, d, rng = _sizes(n, d, rng)
    return _generic(np.cumsum(rng.standard_normal((n, d)), axis=1), rng)


def partial_dft(n: int, d: int, rng: Rng = 0, *, oversampling: float = 4.0) -> Design:
    """X_ij = cos(2π t_i j/F), t_i ~ U[0, 1), j = 1, …, d, then unit columns; generic y.

    Random rows of a cosine basis, oversampled F ≥ 1 times: columns j and j + m correlate by
    sin(ω)/ω + O(1/j), ω = 2πm/F, and X is nearly rank deficient. (Fannjiang and Liao, 2012; Yin, Lou,
    He and Xin, 2015.)

    >>> X, y = partial_dft(2000, 100)
    >>> np.round(X[:, 90:].T @ X[:, 90], 1)[:3]
    array([1. , 0.6, 0. ])
    """
    n, d, rng = _sizes(n, d, rng)
    oversampling = _within(oversampling, "oversampling", "at least 1", lambda value: value >= 1)
    return _generic(np.cos(2 * np.pi / oversampling * np.outer(rng.random(n), np.arange(1, d + 1))), rng)


def partial_hadamard(n: int, d: int, rng: Rng = 0) -> Design:
    """n random rows and d random columns of Sylvester's Hadamard matrix of the least order ≥ max(n, d).

    Entries are ±1, (−1)^(number of ones that the binary i and j share); columns have norm √n, not one;
    tying y.

    >>> X, y = partial_hadamard(16, 16)
    >>> bool((X.T @ X == 16 * np.eye(16)).all())
    True
    """
    n, d, rng = _sizes(n, d, rng)
    order = 1 << (max(n, d) - 1).bit_length()
    i, j = rng.permutation(order)[:n], rng.permutation(order)[:d]
    return _tying(1 - 2 * (np.bitwise_count(i[:, None] & j) % 2).astype(np.int64), rng)


def duplicated(n: int, d: int, rng: Rng = 0) -> Design:
    """⌈d/2⌉ Gaussian unit columns and ⌊d/2⌋ exact copies, every second one negated, shuffled; generic y.

    Needs d ≥ 2; copies are drawn with replacement, so some columns occur three times or more.

    >>> X, y = duplicated(20, 30)
    >>> len({tuple(column * np.sign(column[0])) for column in X.T})
    15
    """
    n, d, rng = _sizes(n, d, rng)
    check_count(d, "d", 2)
    X, y = _generic(rng.standard_normal((n, d - d // 2)), rng)
    copies = X[:, rng.integers(X.shape[1], size=d // 2)]
    copies[:, ::2] *= -1
    return np.ascontiguousarray(np.hstack([X, copies])[:, rng.permutation(d)]), y


def small_integers(n: int, d: int, rng: Rng = 0) -> Design:
    """X_ij uniform in {−1, 0, 1}, columns not scaled; tying y. Small n and d tie most.

    >>> X, y = small_integers(8, 12)
    >>> np.unique(X)
    array([-1.,  0.,  1.])
    """
    n, d, rng = _sizes(n, d, rng)
    return _tying(rng.integers(-1, 2, (n, d)), rng)


def planted_ties(n: int, d: int, rng: Rng = 0) -> Design:
    """y = e₁ and X_ij in {−1, 0, 1}, the first row ±1 for half the columns and 0 for the others.

    That half is T, |⟨X_i, y⟩| = 1, and A(S) is where the shortest vector of the convex hull of its signed
    columns has its weights: often a strict subset of T. Columns are not scaled.

    >>> X, y = planted_ties(8, 12)
    >>> int((X.T @ y != 0).sum()), float(np.abs(X.T @ y).max())
    (6, 1.0)
    """
    n, d, rng = _sizes(n, d, rng)
    X = rng.integers(-1, 2, (n, d)).astype(np.float64)
    X[0] = rng.choice([-1.0, 1.0], d) * (rng.permutation(d) < (d + 1) // 2)
    return X, np.eye(n)[0]


def ill_conditioned(n: int, d: int, rng: Rng = 0, *, kappa: float | None = None) -> Design:
    """X = U diag(σ) Vᵀ, U and V random orthonormal, σ geometric from 1 to 1/κ, then unit columns; generic y.

    κ ≤ 1e14 is the condition before the columns are scaled, which changes it by a small factor; None
    draws it log-uniformly from 1e6 to 1e8. With n < d, κ is that of the min(n, d) nonzero singular
    values. (Mode 3 of `randsvd`, Higham, Accuracy and Stability of Numerical Algorithms, 28.3.)

    >>> X, y = ill_conditioned(40, 30, kappa=1e7)
    >>> bool(1e6 < np.linalg.cond(X) < 1e8)
    True
    """
    n, d, rng = _sizes(n, d, rng)
    kappa = 10 ** rng.uniform(6, 8) if kappa is None else kappa
    kappa = _within(kappa, "kappa", "in [1, 1e14]", lambda value: 1 <= value <= 1e14)
    m = min(n, d)
    U, V = (np.linalg.qr(rng.standard_normal((rows, m)))[0] for rows in (n, d))
    return _generic(U * np.geomspace(1, 1 / kappa, m) @ V.T, rng)


def heavy_tails(n: int, d: int, rng: Rng = 0, *, df: float = 2.0) -> Design:
    """X_ij Student t with df ≥ 1 degrees of freedom, then unit columns: a few rows dominate; generic y.

    >>> X, y = heavy_tails(200, 30)
    >>> float(np.abs(X).max()) > 0.9
    True
    """
    n, d, rng = _sizes(n, d, rng)
    df = _within(df, "df", "at least 1", lambda value: value >= 1)
    return _generic(rng.standard_t(df, (n, d)), rng)


def sparse_signal(n: int, d: int, rng: Rng = 0, *, s: int = 5, snr: float = 10.0) -> Design:
    """Gaussian unit columns and y = Xβ + noise, β = ±1 on s ≤ d columns, ‖Xβ‖ = snr·‖noise‖, snr ≥ 1e-100.

    Equal magnitudes are the hardest for greedy selection. (Tropp and Gilbert, 2007, with noise.)

    >>> X, y = sparse_signal(200, 30, s=2, snr=1e6)
    >>> np.sort(np.abs(np.linalg.lstsq(X, y)[0]))[-3:].round(3)
    array([0., 1., 1.])
    """
    n, d, rng = _sizes(n, d, rng)
    s = check_count(s, "s", 1, d)
    # below, ‖y‖² would overflow
    snr = _within(snr, "snr", "at least 1e-100", lambda value: value >= 1e-100)
    X = _unit(rng.standard_normal((n, d)))
    return X, _signal(X, rng.choice([-1.0, 1.0], s), snr, rng)


def diabetes(rng: Rng = None) -> Design:
    """Disease progression on ten measurements and their 45 products, (442, 55), centred, unit columns.

    `rng=None` gives all the rows; anything else a random half, recentred and rescaled. (Efron, Hastie,
    Johnstone and Tibshirani, 2004.)

    >>> diabetes()[0].shape, diabetes(rng=0)[0].shape
    ((442, 55), (221, 55))
    """
    return _real_data("diabetes", rng)


def digits(rng: Rng = None) -> Design:
    """The digit on the 8×8 pixels of its image, (1797, 64), centred, unit columns; constant pixels are zero.

    `rng=None` gives all the rows; anything else 450 random ones, recentred and rescaled. (Alpaydin and
    Kaynak, 1998.)

    >>> X, y = digits()
    >>> X.shape, int((X == 0).all(axis=0).sum())
    ((1797, 64), 3)
    """
    return _real_data("digits", rng)


def breast_cancer(rng: Rng = None) -> Design:
    """Benign or malignant on 30 measurements of cell nuclei, (569, 30), centred, unit columns.

    `rng=None` gives all the rows; anything else a random half, recentred and rescaled. (Street, Wolberg
    and Mangasarian, 1993.)

    >>> breast_cancer()[0].shape, breast_cancer(rng=0)[0].shape
    ((569, 30), (284, 30))
    """
    return _real_data("breast_cancer", rng)


@dataclasses.dataclass(frozen=True)
class Ensemble:
    """A named family of designs.

    Attributes
    ----------
    name : its key in `ENSEMBLES`.
    description : a few words for tables.
    draw : takes a Generator, returns (X, y).
    unit_columns : ‖X_j‖ = 1 to rounding for every column that is not zero.
    ties : some of its designs tie exactly at the first step.
    ill_conditioned : κ(X) (of its nonzero singular values) is about 1e6 or more.
    full : for real data, the function that returns the whole set.
    family : for random designs, the function of (n, d, rng).
    """

    name: str
    description: str
    draw: Callable[[np.random.Generator], Design]
    unit_columns: bool = True
    ties: bool = False
    ill_conditioned: bool = False
    full: Callable[[], Design] | None = None
    family: Callable[..., Design] | None = None

    def design(self, index: int, seed: int = 0) -> Design:
        """The design at `index` ≥ 0; for real data index 0 is the whole set.

        Its generator is that of SeedSequence(seed, spawn_key=(crc32(name), index)), so that it depends
        neither on other ensembles nor on the number of designs.

        >>> X, y = ENSEMBLES["gaussian"].design(3)
        >>> bool((X == ENSEMBLES["gaussian"].design(3)[0]).all()), ENSEMBLES["diabetes"].design(0)[0].shape
        (True, (442, 55))
        """
        index = check_count(index, "index", 0)
        seed = check_count(seed, "seed", 0, math.inf)
        if index == 0 and self.full is not None:
            return self.full()
        key = (zlib.crc32(self.name.encode()), index)
        return self.draw(np.random.default_rng(np.random.SeedSequence(seed, spawn_key=key)))


ENSEMBLES: dict[str, Ensemble] = {}


def register(ensemble: Ensemble) -> Ensemble:
    """Add an ensemble to `ENSEMBLES`, over which tables, commands and tests run.

    Raises ValueError if the name is taken.

    >>> def stars(n, d, rng):
    ...     return gaussian(n, d, rng)
    >>> register(of_random_size("stars", "an example", stars)).design(0)[0].shape[0] in range(20, 61)
    True
    >>> del ENSEMBLES["stars"]
    """
    ENSEMBLES[check_new(ensemble.name, ENSEMBLES, "an ensemble")] = ensemble
    return ensemble


def carried() -> Callable[[], None]:
    """A function that registers the ensembles of this process in another; `draw` must be picklable."""
    return functools.partial(_have, dict(ENSEMBLES))


def _have(ensembles: dict[str, Ensemble]) -> None:
    ENSEMBLES.update(ensembles)


def of_random_size(
    name: str,
    description: str,
    family: Callable[..., Design],
    rows: tuple[int, int] = (20, 60),
    columns: tuple[int, int] = (30, 120),
    **properties: Any,
) -> Ensemble:
    """The ensemble of family(n, d, rng), n in `rows` and d in `columns`, both ends included."""
    # a partial, not a closure: an Ensemble can be pickled and sent to another process
    draw = functools.partial(_draw, family, rows, columns)
    return Ensemble(name, description, draw, family=family, **properties)


def _draw(
    family: Callable[..., Design], rows: tuple[int, int], columns: tuple[int, int], rng: np.random.Generator
) -> Design:
    n, d = (int(rng.integers(low, high, endpoint=True)) for low, high in (rows, columns))
    return family(n, d, rng)


for _ensemble in (
    of_random_size("gaussian", "white noise", gaussian),
    of_random_size("rademacher", "random signs", rademacher),
    of_random_size("ar1", "neighbours correlate by 0.9", ar1),
    of_random_size("equicorrelated", "all pairs correlate by 0.5", equicorrelated),
    of_random_size("random_walk", "running sums of white noise", random_walk),
    of_random_size("partial_dft", "oversampled cosines", partial_dft, ill_conditioned=True),
    of_random_size(
        "partial_hadamard",
        "random part of a Hadamard matrix",
        partial_hadamard,
        unit_columns=False,
        ties=True,
    ),
    of_random_size("duplicated", "half the columns copied or negated", duplicated, ties=True),
    of_random_size(
        "small_integers",
        "entries −1, 0, 1",
        small_integers,
        rows=(8, 20),
        columns=(12, 30),
        unit_columns=False,
        ties=True,
    ),
    of_random_size(
        "planted_ties",
        "half the columns tie at the first step",
        planted_ties,
        rows=(8, 20),
        columns=(12, 30),
        unit_columns=False,
        ties=True,
    ),
    # few columns: otherwise greedy selection does not reach the nearly dependent ones
    of_random_size(
        "ill_conditioned", "condition 1e6 to 1e8", ill_conditioned, columns=(10, 40), ill_conditioned=True
    ),
    of_random_size("heavy_tails", "Student t, 2 degrees of freedom", heavy_tails),
    of_random_size("sparse_signal", "five equal coefficients plus noise", sparse_signal),
    Ensemble("diabetes", "real: 442 patients, 55 features", diabetes, full=diabetes),
    Ensemble("digits", "real: 1797 images, 64 pixels", digits, full=digits),
    Ensemble("breast_cancer", "real: 569 tumours, 30 features", breast_cancer, full=breast_cancer),
):
    register(_ensemble)


def _sizes(n: int, d: int, rng: Rng) -> tuple[int, int, np.random.Generator]:
    return check_count(n, "n", 1), check_count(d, "d", 1), np.random.default_rng(rng)


def _within(value: float, name: str, expected: str, holds: Callable[[float], bool]) -> float:
    """A finite number for which `holds` is true, as a float."""
    number = check_real(value, name)
    if not holds(number):
        raise ValueError(f"{name} must be {expected}; got {value}")
    return number


def _unit(X: NDArray[np.float64]) -> NDArray[np.float64]:
    norms = np.linalg.norm(X, axis=0)
    return np.ascontiguousarray(X / np.where(norms > 0, norms, 1))


def _signal(
    X: NDArray[np.float64], beta: NDArray[np.float64], snr: float, rng: np.random.Generator
) -> NDArray[np.float64]:
    S = rng.choice(X.shape[1], len(beta), replace=False)
    signal, noise = X[:, S] @ beta, rng.standard_normal(len(X))
    return np.asarray(signal + noise * (np.linalg.norm(signal) / (snr * np.linalg.norm(noise))))


def _generic(X: NDArray[np.float64], rng: np.random.Generator) -> Design:
    X = _unit(X)
    if rng.random() < 0.5:
        return X, rng.standard_normal(len(X))
    s = 1 + int(rng.integers(min(8, X.shape[1])))
    return X, _signal(X, rng.standard_normal(s), 10 ** rng.uniform(0, 3), rng)


def _tying(X: NDArray[np.int64], rng: np.random.Generator) -> Design:
    n, d = X.shape
    if rng.random() < 0.75:
        y = rng.choice([-1.0, 1.0], n) * (rng.random(n) < rng.uniform(0.2, 1))
    else:
        s = min(int(rng.integers(2, 5)), d)
        y = X[:, rng.choice(d, s, replace=False)] @ rng.choice([-1.0, 1.0], s)
    if not y.any():
        y[0] = 1
    return np.ascontiguousarray(X, np.float64), y


@functools.cache
def _load(name: str) -> tuple[Any, Any]:
    from sklearn import datasets, preprocessing

    X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
    if name == "diabetes":
        X = preprocessing.PolynomialFeatures(2, interaction_only=True, include_bias=False).fit_transform(X)
    return X, y.astype(np.float64)


def _real_data(name: str, rng: Rng) -> Design:
    X, y = _load(name)
    if rng is not None:
        n = len(X)
        rows = np.random.default_rng(rng).choice(n, min(n // 2, 450), replace=False)
        X, y = X[rows], y[rows]
    # A constant column minus its rounded mean need not be zero.
    X = np.where(np.ptp(X, axis=0) > 0, X - X.mean(axis=0), 0.0)
    return _unit(X), y - y.mean()
