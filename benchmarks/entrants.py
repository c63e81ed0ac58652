"""The entrants: ours, the peers, and k matrix-vector products, each a function.

A peer is imported inside its function, so that a missing peer makes only its own entrant fail. Once the
module is loaded, the import costs about a microsecond. Conversions for a peer happen in its untimed first
call (`cache`).
"""

import contextlib
import io
import re
from collections.abc import Callable
from importlib import metadata
from types import SimpleNamespace
from typing import Any

import numpy as np

import sparselin as sl
from benchmarks import textbook
from benchmarks.contest import PEERS, Data, Entrant, missing, register
from benchmarks.designs import cache

# the names on PyPI of modules that have another name there
DISTRIBUTIONS = {
    "sklearn": "scikit-learn",
    "spams": "spams-bin",
    "submodlib": "submodlib-py",
    "TorchSisso": "torchsisso",
}


MEASURED = ("lassonet",)  # peers that measures use


def modules() -> tuple[str, ...]:
    """Return the modules that the registered peers import."""
    needs = [e.needs for job in PEERS.values() for e in job.values() if e.needs]
    return tuple(dict.fromkeys(module.partition(":")[0] for module in (*needs, *MEASURED)))


def import_peers() -> dict[str, str]:
    """Import all peers, so that the limit on threads finds their pools; return {module: why skipped}."""
    return {module: why for module in modules() if (why := missing(module))}


def peer_versions() -> dict[str, str]:
    """Return the installed version of each peer."""
    versions = {}
    for name in (DISTRIBUTIONS.get(module, module) for module in modules()):
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            versions[name] = "not installed"
    return versions


def entrant(
    name: str, *jobs: str, needs: str = "", share: Callable[[Data], float] | None = None
) -> Callable[[Callable[[Data], Any]], Entrant]:
    """Make a function an entrant, and register it as a peer for `jobs` if any are given."""
    return lambda call: register(Entrant(name, call, needs, share), *jobs)


# Ours


def _by_columns(data: Data) -> Data:
    """Return the data with X in Fortran order."""
    X = cache(data, "X_fortran", lambda: np.asfortranarray(data.X))
    return SimpleNamespace(**vars(data) | {"X": X})


def _read(result: Any, *fields: str) -> Any:
    """Read fields of our result that peers compute too: some are computed only when they are read."""
    for field in fields:
        getattr(result, field)
    return result


our_omp = entrant("sl.omp")(lambda data: _read(sl.omp(data.X, data.y, data.k), "coef"))


@entrant("sl.omp, with an intercept")
def our_centred_omp(data: Data) -> Any:
    return _read(sl.omp(data.X, data.y, data.k, intercept=True), "coef", "intercept")


@entrant("sl.omp, with an intercept and standardize")
def our_standardized_omp(data: Data) -> Any:
    return sl.omp(data.X, data.y, data.k, intercept=True, standardize=True)


@entrant("OrthogonalMatchingPursuit", needs="sparselin:estimators")
def our_estimator(data: Data) -> Any:
    return sl.estimators.OrthogonalMatchingPursuit(n_nonzero_coefs=data.k).fit(data.X, data.y)


@entrant("OrthogonalMatchingPursuitCV", needs="sparselin:estimators")
def our_omp_cv(data: Data) -> Any:
    return sl.estimators.OrthogonalMatchingPursuitCV(max_iter=data.k).fit(data.X, data.y)


@entrant("sl.omp, Fortran order")
def our_omp_by_columns(data: Data) -> Any:
    return our_omp.call(_by_columns(data))


@entrant("sl.omp, float32")
def our_omp_single(data: Data) -> Any:
    X, y = cache(data, "single", lambda: (data.X.astype(np.float32), data.y.astype(np.float32)))
    return sl.omp(X, y, data.k)


@entrant("OMPSelector with groups", needs="sparselin:estimators")
def our_groups(data: Data) -> Any:
    selector = sl.estimators.OMPSelector(data.k, groups=data.groups, fit_intercept=False)
    return selector.fit(data.X, data.y).path_


our_ols = entrant("sl.ols", needs="sparselin:ols")(lambda data: _read(sl.ols(data.X, data.y, data.k), "coef"))


@entrant("sl.ols, with an intercept", needs="sparselin:ols")
def our_ols_of_each(data: Data) -> Any:
    return [sl.ols(X, y, k, intercept=True) for X, y, k in data.each]


@entrant("sl.sequential_lasso by OMP")
def our_sequential_by_omp(data: Data) -> Any:
    return _read(sl.sequential_lasso(data.X, data.y, data.k, method="omp"), "coef")


@entrant("sl.sequential_lasso")
def our_sequential(data: Data) -> Any:
    return sl.sequential_lasso(data.X, data.y, data.k, method="lasso")


@entrant("sl.batch_omp", needs="sparselin:batch_omp")
def our_batch(data: Data) -> Any:
    return sl.batch_omp(data.D, data.Y, data.k)


our_path = entrant("sl.lasso_path")(
    lambda data: _read(sl.lasso_path(data.X, data.y, max_steps=data.steps), "coef_path")
)


@entrant("sl.lasso_path, Fortran order")
def our_path_by_columns(data: Data) -> Any:
    return our_path.call(_by_columns(data))


@entrant("sl.gradient_flow", needs="sparselin:gradient_flow")
def our_flow(data: Data) -> Any:
    return sl.gradient_flow(data.X, data.y, max_events=data.steps)


@entrant("sl.project_dual")
def our_projection(data: Data) -> Any:
    return _read(sl.project_dual(data.X, data.v, data.lam, forced=data.S), "duality_gap", "coef")


def our_omp_at(density: float) -> Entrant:
    """Return the entrant that runs OMP on the design of this density."""
    return Entrant(
        f"sl.omp at {100 * density:g} %", lambda data: sl.omp(data.by_density[density], data.y, data.k)
    )


HALF, ONE, TWO = our_omp_at(0.005), our_omp_at(0.01), our_omp_at(0.02)

# Best subsets: our result has `support`, that of abess has `coef_`


our_best_subset = entrant("sl.best_subset")(lambda data: sl.best_subset(data.X, data.y, data.k))


@entrant("abess (no proof)", "best-subset", needs="abess")
def abess_subset(data: Data) -> Any:
    """Run splicing: exchanges, without a proof of optimality."""
    from abess import LinearRegression

    return LinearRegression(support_size=data.k, fit_intercept=False).fit(data.X, data.y)


@entrant("TorchSISSO", "formulas", needs="TorchSisso")
def torch_sisso(data: Data) -> Any:
    """Compare all sets of k of 33·k features. The package needs PyTorch, in an environment of its own."""
    import torch
    from TorchSisso.Regressor import Regressor

    X, y = torch.tensor(data.X), torch.tensor(data.y)
    with contextlib.redirect_stdout(io.StringIO()):
        sisso = Regressor(X, y, [*range(len(X.T))], dimension=data.k, sis_features=len(X.T) // data.k)
        terms = re.findall(r"\*(\d+)", sisso.regressor_fit()[1])
    return SimpleNamespace(coef_=np.isin(np.arange(len(X.T)), np.array(terms, int)))


# Optimizers of pysindy with one equation: the selection alone, and a whole fit

_OPTIMIZER = "sparselin.estimators.sindy:OLSOptimizer"


@entrant("OLSOptimizer._reduce", needs=_OPTIMIZER)
def our_reduce(data: Data) -> Any:
    optimizer = cache(data, "our_optimizer", lambda: sl.estimators.OLSOptimizer(data.k))
    optimizer._reduce(data.X, data.y[:, None])
    return optimizer.results_[0]


@entrant("OLSOptimizer.fit", needs=_OPTIMIZER)
def our_sindy_fit(data: Data) -> Any:
    return sl.estimators.OLSOptimizer(data.k).fit(data.X, data.y[:, None]).results_[0]


@entrant("FROLS._reduce", "sindy/reduce", needs="pysindy")
def frols_reduce(data: Data) -> Any:
    from pysindy.optimizers import FROLS

    return FROLS(max_iter=data.k)._reduce(data.X, data.y[:, None])


@entrant("BaseOptimizer.fit, no selection", "sindy/fit", needs="pysindy")
def empty_sindy_fit(data: Data) -> Any:
    from pysindy.optimizers import BaseOptimizer

    empty = cache(data, "empty", lambda: type("Empty", (BaseOptimizer,), {"_reduce": lambda *_: None}))
    return empty().fit(data.X, data.y[:, None])


# Greedy maximisation of spectral set functions of C


def our_greedy(name: str, regularizer: Callable[[], Any]) -> Entrant:
    """Return the entrant that maximises a regularizer greedily."""

    def call(data: Data) -> Any:
        return sl.spectral.greedy_maximize(data.C, data.k, cache(data, name, regularizer))

    return Entrant(f"sl.spectral, {name}", call)


our_log_det = our_greedy("log det", lambda: sl.spectral.SmoothedDifferentialEntropy(0.1))
our_variance = our_greedy("variance", lambda: sl.spectral.SpectralVariance())
our_rank = our_greedy("rank", lambda: sl.spectral.GeneralizedRank(0.5))


def _few(data: Data) -> int:
    """Return the number of candidates whose gain is computed at each step; all would take too long."""
    return min(16, data.C.shape[0] - data.k)


@entrant(
    "eigvalsh per candidate (16 a step, scaled)",
    "spectral",
    share=lambda data: _few(data) * data.k / sum(data.C.shape[0] - t for t in range(data.k)),
)
def eigenvalues_of_each(data: Data) -> None:
    """Compute gains from the definition of f, by eigenvalues, on random sets; the cost is the same."""
    order = cache(data, "order", lambda: np.random.default_rng(0).permutation(len(data.C)))
    for t in range(data.k):
        for x in order[data.k : data.k + _few(data)]:
            S = np.append(order[:t], x)
            np.linalg.eigvalsh(data.C[np.ix_(S, S)])


@entrant("submodlib", "spectral/log-det", needs="submodlib")
def submodlib_log_det(data: Data) -> Any:
    """Maximise log det(0.1·I + C_S) by lazy greedy, the faster of its two exact optimizers."""
    import submodlib

    f = submodlib.LogDeterminantFunction(n=len(data.C), mode="dense", lambdaVal=0.1, sijs=data.C)
    return [i for i, _ in f.maximize(budget=data.k, optimizer="LazyGreedy", show_progress=False)]


# OMP and OLS


@entrant("scikit-learn", "omp", needs="sklearn")
def sklearn_omp(data: Data) -> Any:
    from sklearn.linear_model import orthogonal_mp

    return orthogonal_mp(data.X, data.y, n_nonzero_coefs=data.k)


@entrant("scikit-learn's class", "estimator", needs="sklearn")
def sklearn_estimator(data: Data) -> Any:
    from sklearn.linear_model import OrthogonalMatchingPursuit

    return OrthogonalMatchingPursuit(n_nonzero_coefs=data.k).fit(data.X, data.y)


@entrant("scikit-learn's CV", "omp-cv", needs="sklearn")
def sklearn_omp_cv(data: Data) -> Any:
    from sklearn.linear_model import OrthogonalMatchingPursuitCV

    return OrthogonalMatchingPursuitCV(max_iter=data.k).fit(data.X, data.y)


textbook_omp = entrant("textbook", "complex")(lambda data: textbook.omp(data.X, data.y, data.k))


@entrant("textbook", "groups")
def textbook_groups(data: Data) -> Any:
    return textbook.group_omp(data.X, data.y, data.k, data.groups)


@entrant("k gemvs", "omp", "complex", "groups", "path/noise", "csc/1%")
def gemvs(data: Data) -> None:
    """Compute Xᵀr k times, the textbook cost of k steps, with NumPy's BLAS (for a sparse X with SciPy)."""
    for _ in range(data.k):
        data.X.T @ data.y


@entrant("SPAMS (OLS)", "ols", needs="spams")
def spams_omp(data: Data) -> Any:
    """Run SPAMS' `omp`, which is orthogonal least squares."""
    return _spams(data, 2)


@entrant("SPAMS (OLS), one thread", "omp/small", "ols/small", "omp/tiny", needs="spams")
def spams_omp_alone(data: Data) -> Any:
    """Run SPAMS' `omp`, which is orthogonal least squares, in one thread: on small data it is faster so."""
    return _spams(data, 1)


def _spams(data: Data, threads: int) -> Any:
    import spams

    X, Y = cache(data, "for_spams", lambda: (np.asfortranarray(data.X), np.asfortranarray(data.y[:, None])))
    return spams.omp(Y, X, L=data.k, numThreads=threads)


@entrant("SPAMS (OLS)", "batch", needs="spams")
def spams_batch(data: Data) -> Any:
    import spams

    return spams.omp(
        data.Y, cache(data, "D_fortran", lambda: np.asfortranarray(data.D)), L=data.k, numThreads=2
    )


@entrant("fastcan", "ols/centred", needs="fastcan")
def fastcan_ols(data: Data) -> Any:
    """Run FastCan, which for a single y is orthogonal least squares, always with an intercept."""
    from fastcan import FastCan

    X = cache(data, "X_fortran", lambda: np.asfortranarray(data.X))
    return FastCan(data.k, verbose=0).fit(X, data.y)


@entrant("fastcan", "dependent/ols", needs="fastcan")
def fastcan_ols_of_each(data: Data) -> Any:
    from fastcan import FastCan

    return [list(FastCan(k, verbose=0).fit(X, y).indices_) for X, y, k in data.each]


def _some(data: Data) -> int:
    """Return the number of signals on which scikit-learn runs."""
    return min(500, data.Y.shape[1])


@entrant(
    "scikit-learn (500 signals, scaled)",
    "batch",
    needs="sklearn",
    share=lambda data: _some(data) / data.Y.shape[1],
)
def sklearn_batch(data: Data) -> Any:
    """Run scikit-learn on a part of the signals, because it solves them one by one."""
    from sklearn.linear_model import orthogonal_mp

    return orthogonal_mp(data.D, data.Y[:, : _some(data)], n_nonzero_coefs=data.k, precompute=True)


# LASSO paths


@entrant("scikit-learn", "path", "tall/path", needs="sklearn")
def sklearn_path(data: Data) -> Any:
    from sklearn.linear_model import lars_path

    return lars_path(data.X, data.y, method="lasso", max_iter=data.steps or 8 * min(data.X.shape))


@entrant("scikit-learn, Gram", "path/ar1", "tall/path", "tall/path-fortran", needs="sklearn")
def sklearn_gram_path(data: Data) -> Any:
    """Run scikit-learn's path with a Gram matrix, which is not its default, but is faster for d < n."""
    from sklearn.linear_model import lars_path

    return lars_path(
        data.X, data.y, method="lasso", max_iter=data.steps or 8 * min(data.X.shape), Gram="auto"
    )


@entrant("scikit-learn, Fortran order", "tall/path-fortran", needs="sklearn")
def sklearn_path_by_columns(data: Data) -> Any:
    return sklearn_path.call(_by_columns(data))


@entrant("SPAMS", "path", needs="spams")
def spams_path(data: Data) -> Any:
    return _spams_path(data, 2)


@entrant("SPAMS, one thread", "path/tiny", "path/small", needs="spams")
def spams_path_in_one_thread(data: Data) -> Any:
    """Follow the path by SPAMS in one thread: on small data it is faster so."""
    return _spams_path(data, 1)


def _spams_path(data: Data, threads: int) -> Any:
    import spams

    X, Y = cache(data, "for_spams", lambda: (np.asfortranarray(data.X), np.asfortranarray(data.y[:, None])))
    steps = data.steps or 4 * min(data.X.shape)
    return spams.lasso(
        Y, D=X, L=steps, lambda1=0.0, return_reg_path=True, max_length_path=steps + 1, numThreads=threads
    )


@entrant("cvxcla", "path/whole", needs="cvxcla")
def cvxcla_path(data: Data) -> Any:
    import cvxcla

    return cvxcla.Lasso(x=data.X, y=data.y)


# Projections: all return u (n,)


def _constraints(data: Data) -> tuple[np.ndarray, ...]:
    """Return the projection as a quadratic program for DAQP: H = I, and −λ ≤ Xᵀu ≤ λ (Xᵀu = 0 on S)."""
    bound, sense = np.full(data.X.shape[1], data.lam), np.zeros(data.X.shape[1], np.int32)
    bound[data.S], sense[data.S] = 0, 5
    return np.eye(len(data.v)), np.ascontiguousarray(data.X.T), bound, -bound, sense


@entrant("DAQP", "project", needs="daqp")
def daqp_projection(data: Data) -> Any:
    import daqp

    H, A, upper, lower, sense = cache(data, "for_daqp", lambda: _constraints(data))
    return daqp.solve(H, -data.v, A, upper, lower, sense)[0]


def _by_lasso(data: Data, solve: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> np.ndarray:
    """Project with a LASSO solver that has no unpenalised columns: project X and v off X_S first."""
    if not len(data.S):
        X = cache(data, "X_fortran", lambda: np.asfortranarray(data.X))
        return data.v - X @ solve(X, data.v)
    rest = cache(data, "rest", lambda: np.setdiff1d(np.arange(data.X.shape[1]), data.S))
    Q = np.linalg.qr(data.X[:, data.S])[0]
    X, v = np.asfortranarray(data.X[:, rest]), data.v - Q @ (Q.T @ data.v)
    X -= Q @ (Q.T @ X)
    return v - X @ solve(X, v)


def _celer(tol: float) -> Callable[[Data], np.ndarray]:
    """Return the call of celer with this tolerance."""

    def call(data: Data) -> np.ndarray:
        from celer.homotopy import celer_path

        alpha = data.lam / len(data.v)
        return _by_lasso(data, lambda X, v: celer_path(X, v, "lasso", alphas=[alpha], tol=tol)[1][:, 0])

    return call


celer_projection = entrant("celer", "project", needs="celer")(_celer(1e-4))  # its default tolerance
entrant("celer, tol 1e-12", "project", needs="celer")(_celer(1e-12))


@entrant("skglm, tol 1e-10", "project", needs="skglm")
def skglm_projection(data: Data) -> Any:
    from skglm import WeightedLasso

    X = cache(data, "X_fortran", lambda: np.asfortranarray(data.X))
    weights = np.ones(X.shape[1])
    weights[data.S] = 0
    model = WeightedLasso(
        alpha=data.lam / len(data.v), weights=weights, tol=1e-10, fit_intercept=False, max_iter=1000
    )
    return data.v - X @ model.fit(X, data.v).coef_


@entrant("scikit-learn LARS", "project", needs="sklearn")
def sklearn_projection(data: Data) -> Any:
    from sklearn.linear_model import lars_path

    alpha = data.lam / len(data.v)
    most = 8 * min(data.X.shape)
    return _by_lasso(
        data, lambda X, v: lars_path(X, v, method="lasso", alpha_min=alpha, max_iter=most)[2][:, -1]
    )
