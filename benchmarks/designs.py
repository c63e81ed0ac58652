"""The data of the cases: build(seed, **size), the same for the same seed."""

from __future__ import annotations

import math
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import scipy.sparse as sp

import sparselin as sl
from benchmarks import textbook


def cached(data: SimpleNamespace, name: str, make: Callable[[], Any]) -> Any:
    """data.name, made at the first call: conversions for a peer are made in its warm-up, untimed."""
    if not hasattr(data, name):
        setattr(data, name, make())
    return getattr(data, name)


def unit(X: np.ndarray) -> np.ndarray:
    return X / np.linalg.norm(X, axis=0)


def noise(seed: int, n: int, d: int, k: int) -> SimpleNamespace:
    """Gaussian unit columns, y white noise: nothing to find, small margins."""
    rng = np.random.default_rng(seed)
    X = unit(rng.standard_normal((n, d)))
    return SimpleNamespace(X=X, y=rng.standard_normal(n), k=k, steps=k)


def sparse(seed: int, n: int, d: int, k: int) -> SimpleNamespace:
    """Gaussian unit columns, y = Xβ + noise at a tenth of it, β = ±1 on k/2 columns."""
    X, y = sl.ensembles.sparse_signal(n, d, seed, k=max(1, k // 2), snr=10.0)
    return SimpleNamespace(X=X, y=y, k=k, steps=k)


def complex_signal(seed: int, n: int, d: int, k: int) -> SimpleNamespace:
    """Complex Gaussian unit columns, y = Xβ + noise at a tenth of it, β complex normal on k/2 columns."""
    rng = np.random.default_rng(seed)
    real, imaginary = rng.standard_normal((2, n, d))
    X = unit(real + 1j * imaginary)
    S = rng.choice(d, max(1, k // 2), replace=False)
    weight, noise = (rng.standard_normal(m) + 1j * rng.standard_normal(m) for m in (len(S), n))
    return SimpleNamespace(X=X, y=_with_noise(X[:, S] @ weight, noise), k=k)


def grouped(seed: int, n: int, d: int, k: int, size: int) -> SimpleNamespace:
    """Gaussian unit columns in groups of `size`, y = Xβ + noise at a tenth of it, β normal on k/2 groups."""
    rng = np.random.default_rng(seed)
    X, groups = unit(rng.standard_normal((n, d))), np.arange(d) // size
    S = np.flatnonzero(np.isin(groups, rng.choice(d // size, max(1, k // 2), replace=False)))
    y = _with_noise(X[:, S] @ rng.standard_normal(len(S)), rng.standard_normal(n))
    return SimpleNamespace(X=X, y=y, k=k, groups=groups)


def _with_noise(fit: np.ndarray, rough: np.ndarray) -> np.ndarray:
    return fit + 0.1 * rough * np.linalg.norm(fit) / np.linalg.norm(rough)


def ar1(seed: int, n: int, d: int, k: int) -> SimpleNamespace:
    """Neighbouring columns correlate by 0.9; y noise for some seeds, a signal for others."""
    X, y = sl.ensembles.ar1(n, d, seed)
    return SimpleNamespace(X=X, y=y, k=k, steps=k)


def ar1_path(seed: int, n: int, d: int, steps: int) -> SimpleNamespace:
    """The same; y times n, because scikit-learn ends a path, short of its steps, where λ/n is about 1e-7."""
    data = ar1(seed, n, d, steps)
    data.y = n * data.y
    return data


def random_walk(seed: int, n: int, d: int, k: int) -> SimpleNamespace:
    """Columns are running sums: neighbours nearly coincide; y noise for some seeds, a signal for others."""
    X, y = sl.ensembles.random_walk(n, d, seed)
    return SimpleNamespace(X=X, y=y, k=k, steps=k)


def centred(seed: int, n: int, d: int, k: int) -> SimpleNamespace:
    """`sparse`, all columns and y of mean zero, so that an intercept changes nothing."""
    data = sparse(seed, n, d, k)
    data.X -= data.X.mean(axis=0)
    data.y -= data.y.mean()
    return data


def dependent_integers(seed: int, n: int, d: int, rank: int, designs: int) -> SimpleNamespace:
    """`each`: (X, y, k), X of integers, `rank` columns in −3..3 and combinations of them with coefficients
    −1, 0, 1, shuffled; k the rank of X with its columns centred; y white noise."""
    rng = np.random.default_rng(seed)
    each = []
    for _ in range(designs):
        X = rng.integers(-3, 4, (n, rank))
        X = np.hstack([X, X @ rng.integers(-1, 2, (rank, d - rank))])[:, rng.permutation(d)]
        each.append((X.astype(float), rng.standard_normal(n), textbook.rank_beside_ones(X)))
    return SimpleNamespace(each=each)


def correlated(seed: int, n: int, d: int, k: int) -> SimpleNamespace:
    """Unit columns that all share a direction, neighbours more, as the pixels of images do; C = XᵀX."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    X = unit(X + np.roll(X, 1, axis=1) + 0.5 * rng.standard_normal((n, 1)))
    return SimpleNamespace(X=X, C=X.T @ X, k=k)


def half_noise(seed: int, n: int, d: int, k: int) -> SimpleNamespace:
    """Neighbours correlate by ½; y of k columns with normal coefficients, and as much noise."""
    X = sl.ensembles.ar1(n, d, seed, rho=0.5)[0]
    rng = np.random.default_rng([seed, 1])
    fit = X[:, rng.choice(d, k, replace=False)] @ rng.standard_normal(k)
    rough = rng.standard_normal(n)
    return SimpleNamespace(X=X, y=fit + rough * np.linalg.norm(fit) / np.linalg.norm(rough), k=k)


def whole_path(seed: int, n: int, d: int) -> SimpleNamespace:
    """White noise, for a path to λ = 0."""
    data = noise(seed, n, d, 1)
    data.steps = None
    return data


def dictionary(seed: int, n: int, d: int, signals: int, k: int) -> SimpleNamespace:
    """D (n, d) Gaussian unit atoms; Y (n, signals), each k normal coefficients and noise at a tenth of it."""
    rng = np.random.default_rng(seed)
    D = unit(rng.standard_normal((n, d)))
    B = np.zeros((signals, d))
    atoms = np.argpartition(rng.random((signals, d)), k, axis=1)[:, :k]
    np.put_along_axis(B, atoms, rng.standard_normal((signals, k)), axis=1)
    clean, rough = D @ B.T, rng.standard_normal((n, signals))
    scale = 0.1 * np.linalg.norm(clean, axis=0) / np.linalg.norm(rough, axis=0)
    return SimpleNamespace(D=D, Y=np.asfortranarray(clean + scale * rough), k=k)


def projection(seed: int, n: int, d: int, lam: float, unpenalized: float = 0.0) -> SimpleNamespace:
    """Gaussian unit columns; v ten of them and noise; λ a share of λ*(S), S a random share of the columns."""
    X, v = sl.ensembles.sparse_signal(n, d, seed, k=min(10, d), snr=10.0)
    rng = np.random.default_rng([seed, 1])
    S = np.sort(rng.choice(d, math.ceil(unpenalized * d), replace=False)).astype(np.intp)
    return _to_project(X, v, S, lam)


def projection_of_noise(seed: int, n: int, d: int, lam: float, unpenalized: float) -> SimpleNamespace:
    """The same X and S, v white noise: many more columns are active."""
    data = projection(seed, n, d, lam, unpenalized)
    return _to_project(data.X, np.random.default_rng([seed, 2]).standard_normal(n), data.S, lam)


def _to_project(X: np.ndarray, v: np.ndarray, S: np.ndarray, share: float) -> SimpleNamespace:
    r = v - X[:, S] @ np.linalg.lstsq(X[:, S], v, rcond=None)[0] if len(S) else v
    return SimpleNamespace(X=X, v=v, S=S, lam=share * float(np.abs(X.T @ r).max()))


def sparse_matrices(seed: int, n: int, d: int, k: int) -> SimpleNamespace:
    """CSC designs of normal entries at densities ½, 1 and 2 %, one noise y."""
    rng = np.random.default_rng(seed)

    def draw(density: float) -> sp.csc_array:
        nnz = int(density * n * d)
        ij = rng.integers(n, size=nnz), rng.integers(d, size=nnz)
        return sp.csc_array(sp.coo_array((rng.standard_normal(nnz), ij), shape=(n, d)))

    X = {density: draw(density) for density in (0.005, 0.01, 0.02)}
    return SimpleNamespace(by_density=X, X=X[0.01], y=rng.standard_normal(n), k=k)
