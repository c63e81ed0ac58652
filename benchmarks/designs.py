"""The data of the cases. Each function build(seed, **size) returns the same data for the same seed."""

import math
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import scipy.sparse as sp

import sparselin as sl
from benchmarks import textbook


def cache(data: SimpleNamespace, name: str, make: Callable[[], Any]) -> Any:
    """Return data.name, made at the first call, so that conversions for a peer are not timed."""
    if not hasattr(data, name):
        setattr(data, name, make())
    return getattr(data, name)


def unit(X: np.ndarray) -> np.ndarray:
    """Scale the columns to unit length."""
    return X / np.linalg.norm(X, axis=0)


def noise(seed: int, n: int, d: int, k: int) -> SimpleNamespace:
    """Draw Gaussian unit columns, and white noise as y: there is no signal, and margins are small."""
    rng = np.random.default_rng(seed)
    X = unit(rng.standard_normal((n, d)))
    return SimpleNamespace(X=X, y=rng.standard_normal(n), k=k, steps=k)


def sparse(seed: int, n: int, d: int, k: int) -> SimpleNamespace:
    """Draw Gaussian unit columns, and y = Xβ + noise of a tenth of its size, β = ±1 on k/2 columns."""
    X, y = sl.ensembles.sparse_signal(n, d, seed, k=max(1, k // 2), snr=10.0)
    return SimpleNamespace(X=X, y=y, k=k, steps=k)


def complex_signal(seed: int, n: int, d: int, k: int) -> SimpleNamespace:
    """Draw complex Gaussian unit columns, and y = Xβ + a tenth of noise, β complex normal on k/2 columns."""
    rng = np.random.default_rng(seed)
    real, imaginary = rng.standard_normal((2, n, d))
    X = unit(real + 1j * imaginary)
    S = rng.choice(d, max(1, k // 2), replace=False)
    weight, noise = (rng.standard_normal(m) + 1j * rng.standard_normal(m) for m in (len(S), n))
    return SimpleNamespace(X=X, y=_with_noise(X[:, S] @ weight, noise), k=k)


def column_groups(seed: int, n: int, d: int, k: int, size: int) -> SimpleNamespace:
    """Draw Gaussian unit columns in groups of `size`, and y = Xβ + a tenth of noise, β on k/2 groups."""
    rng = np.random.default_rng(seed)
    X, groups = unit(rng.standard_normal((n, d))), np.arange(d) // size
    S = np.flatnonzero(np.isin(groups, rng.choice(d // size, max(1, k // 2), replace=False)))
    y = _with_noise(X[:, S] @ rng.standard_normal(len(S)), rng.standard_normal(n))
    return SimpleNamespace(X=X, y=y, k=k, groups=groups)


def _with_noise(fit: np.ndarray, rough: np.ndarray, share: float = 0.1) -> np.ndarray:
    """Add noise whose length is a share of the length of the fit, by default a tenth."""
    return fit + share * rough * np.linalg.norm(fit) / np.linalg.norm(rough)


def ar1(seed: int, n: int, d: int, k: int) -> SimpleNamespace:
    """Draw an AR(1) design, whose neighbouring columns have correlation 0.9; y is noise or a signal."""
    X, y = sl.ensembles.ar1(n, d, seed)
    return SimpleNamespace(X=X, y=y, k=k, steps=k)


def ar1_path(seed: int, n: int, d: int, steps: int) -> SimpleNamespace:
    """Draw an AR(1) design, with y times n, because scikit-learn ends a path where λ/n is about 1e-7."""
    data = ar1(seed, n, d, steps)
    data.y = n * data.y
    return data


def random_walk(seed: int, n: int, d: int, k: int) -> SimpleNamespace:
    """Draw columns that are running sums, so that neighbours nearly coincide; y is noise or a signal."""
    X, y = sl.ensembles.random_walk(n, d, seed)
    return SimpleNamespace(X=X, y=y, k=k, steps=k)


def tall(seed: int, n: int, d: int, k: int) -> SimpleNamespace:
    """Draw Gaussian columns in float32, and y = Xβ + noise of equal size, β normal on k/2 columns."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d), dtype=np.float32)
    beta = np.zeros(d, np.float32)
    beta[rng.choice(d, max(1, k // 2), replace=False)] = rng.standard_normal(max(1, k // 2))
    y = _with_noise(X @ beta, rng.standard_normal(n, dtype=np.float32), 1.0)
    return SimpleNamespace(X=X, y=y, k=k, steps=k)


def centred_signal(seed: int, n: int, d: int, k: int) -> SimpleNamespace:
    """Draw `sparse`, and centre the columns and y, so that an intercept changes nothing."""
    data = sparse(seed, n, d, k)
    data.X -= data.X.mean(axis=0)
    data.y -= data.y.mean()
    return data


def dependent_integers(seed: int, n: int, d: int, rank: int, designs: int) -> SimpleNamespace:
    """Draw a list `each` of (X, y, k), where X consists of dependent integer columns and y is white noise.

    X has `rank` columns in −3..3 and combinations of these with coefficients −1, 0, 1, shuffled; k is the
    rank of X with its columns centred.
    """
    rng = np.random.default_rng(seed)
    each = []
    for _ in range(designs):
        X = rng.integers(-3, 4, (n, rank))
        X = np.hstack([X, X @ rng.integers(-1, 2, (rank, d - rank))])[:, rng.permutation(d)]
        each.append((X.astype(float), rng.standard_normal(n), textbook.rank_with_ones(X)))
    return SimpleNamespace(each=each)


def image_like(seed: int, n: int, d: int, k: int) -> SimpleNamespace:
    """Draw unit columns that are correlated like the pixels of images, neighbours more; C = XᵀX."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    X = unit(X + np.roll(X, 1, axis=1) + 0.5 * rng.standard_normal((n, 1)))
    return SimpleNamespace(X=X, C=X.T @ X, k=k)


def half_noise(seed: int, n: int, d: int, k: int) -> SimpleNamespace:
    """Draw columns whose neighbours have correlation ½, and y = Xβ + noise of equal size; k nonzeros in β."""
    X = sl.ensembles.ar1(n, d, seed, rho=0.5)[0]
    rng = np.random.default_rng([seed, 1])
    fit = X[:, rng.choice(d, k, replace=False)] @ rng.standard_normal(k)
    return SimpleNamespace(X=X, y=_with_noise(fit, rng.standard_normal(n), 1.0), k=k)


def formulas(seed: int, n: int, d: int, k: int, r2: float = 0.96) -> SimpleNamespace:
    """Generate centred features from 10 positive primaries, as SISSO does, and y from k of them plus noise.

    The first features are the primaries, x², √x, 1/x, ln x, e⁻ˣ, and products, quotients, sums and distances
    of two primaries. The others are random products, quotients, sums and differences of two of these.
    """
    rng = np.random.default_rng(seed)
    P = rng.uniform(0.5, 3, (10, n))
    a, b = (P[J] for J in np.triu_indices(10, 1))
    first = np.vstack([P, P**2, np.sqrt(P), 1 / P, np.log(P), np.exp(-P), a * b, a / b, a + b, abs(a - b)])
    i, j = (np.repeat(J, 4) for J in np.triu_indices(len(first), 1))
    operations = np.tile([np.multiply, np.divide, np.add, np.subtract], len(i) // 4)
    drawn = rng.choice(len(i), max(0, d - len(first)), replace=False)
    more = [operations[m](first[i[m]], first[j[m]]) for m in drawn]
    X = np.column_stack([*first, *more])[:, :d]
    X = X - X.mean(axis=0)
    S = rng.choice(d, k, replace=False)
    signal = X[:, S] / X[:, S].std(axis=0) @ rng.uniform(1, 2, k)
    y = _with_noise(signal, rng.standard_normal(n), math.sqrt(1 / r2 - 1))
    return SimpleNamespace(X=X, y=y - y.mean(), k=k)


def frontier_instance(
    n: int, d: int, k: int, rho: float = 0.9, snr: float = 5.0, seed: int = 0
) -> SimpleNamespace:
    """Draw Gaussian rows with E X_i X_j = ρ^|i−j|, and y = Xβ + noise, β = 1 on k indices d//k apart.

    The variance of the noise is βᵀCβ/snr, where C is the covariance of the rows. X is in C order, and its
    columns are not scaled.
    """
    rng = np.random.default_rng([seed, n, d])
    X = rng.standard_normal((n, d))
    X[:, 1:] *= math.sqrt(1 - rho**2)
    for j in range(1, d):
        X[:, j] += rho * X[:, j - 1]
    S = np.arange(k) * (d // k)
    variance = (rho ** np.abs(S[:, None] - S)).sum() / snr
    y = X[:, S].sum(axis=1) + math.sqrt(variance) * rng.standard_normal(n)
    return SimpleNamespace(X=X, y=y, k=k, S=S)


def whole_path(seed: int, n: int, d: int) -> SimpleNamespace:
    """Draw `noise`, for a path to λ = 0."""
    data = noise(seed, n, d, 1)
    data.steps = None
    return data


def dictionary(seed: int, n: int, d: int, signals: int, k: int) -> SimpleNamespace:
    """Draw D (n, d) of Gaussian unit atoms, and Y (n, signals) of k atoms each and a tenth of noise."""
    rng = np.random.default_rng(seed)
    D = unit(rng.standard_normal((n, d)))
    B = np.zeros((signals, d))
    atoms = np.argpartition(rng.random((signals, d)), k, axis=1)[:, :k]
    np.put_along_axis(B, atoms, rng.standard_normal((signals, k)), axis=1)
    clean, rough = D @ B.T, rng.standard_normal((n, signals))
    scale = 0.1 * np.linalg.norm(clean, axis=0) / np.linalg.norm(rough, axis=0)
    return SimpleNamespace(D=D, Y=np.asfortranarray(clean + scale * rough), k=k)


def projection(seed: int, n: int, d: int, lam: float, unpenalized: float = 0.0) -> SimpleNamespace:
    """Draw Gaussian unit columns, a v of ten columns and noise, and a random S; λ = lam·λ*(S)."""
    X, v = sl.ensembles.sparse_signal(n, d, seed, k=min(10, d), snr=10.0)
    rng = np.random.default_rng([seed, 1])
    S = np.sort(rng.choice(d, math.ceil(unpenalized * d), replace=False)).astype(np.intp)
    return _to_project(X, v, S, lam)


def projection_of_noise(seed: int, n: int, d: int, lam: float, unpenalized: float) -> SimpleNamespace:
    """Draw X and S as `projection` does, with white noise as v, so that many more columns are active."""
    data = projection(seed, n, d, lam, unpenalized)
    return _to_project(data.X, np.random.default_rng([seed, 2]).standard_normal(n), data.S, lam)


def _to_project(X: np.ndarray, v: np.ndarray, S: np.ndarray, share: float) -> SimpleNamespace:
    """Return X, v, S and λ = share·λ*(S): the data of a projection of v."""
    r = v - X[:, S] @ np.linalg.lstsq(X[:, S], v, rcond=None)[0] if len(S) else v
    return SimpleNamespace(X=X, v=v, S=S, lam=share * float(np.abs(X.T @ r).max()))


def sparse_matrices(seed: int, n: int, d: int, k: int) -> SimpleNamespace:
    """Draw CSC designs of normal entries with densities of ½, 1 and 2 %, and one noise y for all."""
    rng = np.random.default_rng(seed)

    def draw(density: float) -> sp.csc_array:
        nnz = int(density * n * d)
        ij = rng.integers(n, size=nnz), rng.integers(d, size=nnz)
        return sp.csc_array(sp.coo_array((rng.standard_normal(nnz), ij), shape=(n, d)))

    X = {density: draw(density) for density in (0.005, 0.01, 0.02)}
    return SimpleNamespace(by_density=X, X=X[0.01], y=rng.standard_normal(n), k=k)
