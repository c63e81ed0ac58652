"""The designs on which greedy selection is compared with the best subset, and the comparison itself.

There are five studies. Each design has its own generator, seeded by (seed, study, ensemble, setting, index).
So a design depends neither on the number of designs nor on the number of processes.

- `check` asks whether every guarantee holds. Its designs have d ≤ 12 columns and k ≤ 3, so that γ can be
  enumerated.
- `ensembles` compares all ensembles at one size, for a table.
- `sweep` varies k, the correlation ρ and the signal-to-noise ratio of AR(1) and equicorrelated columns.
- `real` varies k on the real data of `sparselin.ensembles`.
- `large` has up to thousands of AR(1) columns; this study runs alone, and the module `large` examines it.
"""

import dataclasses
import functools
import itertools
import zlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import sparselin as sl
from sparselin.ensembles import ENSEMBLES, Design
from sparselin.parallel.processes import attempt
from sparselin.results import Bound, FloatArray, GuaranteeBounds
from sparselin.spectral import GeneralizedRank, SmoothedDifferentialEntropy, SpectralVariance

SWEPT = ("ar1", "equicorrelated")
RHOS = (0.0, 0.2, 0.4, 0.6, 0.8, 0.9, 0.95)
NOISES = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0)
# the signals, correlations and signal-to-noise ratios of the study `large`
SIGNALS = ("apart", "pairs")
LARGE_NOISES = (5.0, 1.0)
LARGE_RHOS = (0.1, 0.5, 0.7, 0.9, 0.95)
# the values at which a sweep holds the quantities that it does not vary; also the size of the table
N = 60
D = 20
K = 4
RHO = 0.5
SNR = 1.0
SPARSITY = 5
_NODES = 200_000


def families() -> tuple[str, ...]:
    """Return the names of all ensembles except `sparse_signal`.

    The X of `sparse_signal` is that of `gaussian`. It differs in y only, and `draw` draws another y for the
    studies `ensembles` and `sweep`.
    """
    return tuple(name for name in ENSEMBLES if name != "sparse_signal")


@dataclasses.dataclass(frozen=True)
class DesignTask:
    """The parameters from which one design is drawn.

    varies : the quantity that a sweep varies ("k", "rho" or "snr"), or "".
    rho, snr : the correlation and the signal-to-noise ratio in a sweep and in `large`; otherwise None.
    d : the number of columns in `large`.
    """

    study: str
    ensemble: str
    index: int
    k: int
    varies: str = ""
    rho: float | None = None
    snr: float | None = None
    d: int = 0

    def rng(self, seed: int) -> np.random.Generator:
        """Return the generator of the design. It does not depend on k, so a sweep over k keeps y and X."""
        text = f"{self.study} {self.ensemble} {self.rho} {self.snr}{f' {self.d}' if self.d else ''}"
        return np.random.default_rng([seed, zlib.crc32(text.encode()), self.index])


@dataclasses.dataclass(frozen=True)
class AlgorithmOutcome:
    """The result of one algorithm on one design.

    Attributes
    ----------
    ratio : certified lower and upper bounds on R²(greedy)/R²(best).
    promises : name of a guarantee ↦ its factor, or None if a hypothesis does not hold.
    violated : the names of the violated guarantees.
    """

    algorithm: str
    ratio: tuple[float, float]
    promises: dict[str, float | None]
    violated: tuple[str, ...]


@dataclasses.dataclass(frozen=True)
class GuaranteeRecord:
    """The results on one design.

    best : lower and upper bounds on R² of the best subset.
    exact : whether the two bounds agree.
    """

    task: DesignTask
    n: int
    d: int
    best: tuple[float, float]
    exact: bool
    outcomes: tuple[AlgorithmOutcome, ...]

    @property
    def violated(self) -> bool:
        return any(outcome.violated for outcome in self.outcomes)


@dataclasses.dataclass(frozen=True)
class GuaranteeSettings:
    """The settings of `sparselin guarantee`.

    Attributes
    ----------
    designs : the number of designs of the study `check`, or at each point of the study `large`.
    repeats : the number of designs at each point of `ensembles` and `sweep`.
    k : the largest k of the sweeps over k.
    families : the ensembles. Of these, the study `sweep` uses only `ar1` and `equicorrelated`, `real` uses
        only real data, and the other studies use all except real data.
    restarts, rounds : the numbers of starts and of rounds in the search for the worst designs.
    features : the numbers of columns in the study `large`; if any are given, no other study runs.
    """

    designs: int = 10_000
    repeats: int = 16
    k: int = 6
    families: tuple[str, ...] = dataclasses.field(default_factory=families)
    seed: int = 0
    jobs: int = 2
    restarts: int = 64
    rounds: int = 400
    features: tuple[int, ...] = ()

    def tasks(self) -> list[DesignTask]:
        """List a `DesignTask` for each design: first for the study `check`, then for the others."""
        if self.features:
            points = itertools.product(SIGNALS, LARGE_NOISES, LARGE_RHOS, self.features, range(self.designs))
            return [
                DesignTask(
                    study="large",
                    ensemble=f"{signal}, SNR {snr:g}",
                    index=i,
                    k=self.k,
                    varies="rho",
                    rho=rho,
                    snr=snr,
                    d=d,
                )
                for signal, snr, rho, d, i in points
            ]
        drawn = [name for name in self.families if ENSEMBLES[name].family]
        tasks = []
        if drawn:
            cycle = ((drawn[i % len(drawn)], i // len(drawn)) for i in range(self.designs))
            tasks += [DesignTask(study="check", ensemble=name, index=i, k=1 + i % 3) for name, i in cycle]
        for name in drawn:
            tasks += [
                DesignTask(study="ensembles", ensemble=name, index=i, k=min(K, self.k))
                for i in range(self.repeats)
            ]
        for name in SWEPT:
            if name in drawn:
                tasks += self._sweep(name)
        for name in self.families:
            if ENSEMBLES[name].full:
                tasks += [DesignTask(study="real", ensemble=name, index=0, k=k) for k in range(1, self.k + 1)]
        return tasks

    def _sweep(self, name: str) -> list[DesignTask]:
        k = min(K, self.k)
        points = [("k", each, RHO, SNR) for each in range(1, self.k + 1)]
        points += [("rho", k, rho, SNR) for rho in RHOS]
        points += [("snr", k, RHO, snr) for snr in NOISES]
        return [
            DesignTask(study="sweep", ensemble=name, index=i, k=size, varies=varies, rho=rho, snr=snr)
            for varies, size, rho, snr in points
            for i in range(self.repeats)
        ]


def draw(task: DesignTask, seed: int) -> Design:
    """Draw the design of a task; for the study `real`, read it.

    For the studies `ensembles` and `sweep` it has N rows and D columns, for `large` d columns and 2d rows.
    """
    if task.study == "real":
        return ENSEMBLES[task.ensemble].design(0)
    rng = task.rng(seed)
    if task.study == "check":
        return _small(task, rng)
    if task.study == "large":
        X, beta = _large(task, rng)
    else:
        family = _family(task)
        X = family(N, D, rng, rho=task.rho)[0] if task.study == "sweep" else family(N, D, rng)[0]
        beta = np.zeros(D)
        beta[rng.choice(D, SPARSITY, replace=False)] = rng.choice([-1.0, 1.0], SPARSITY)
    snr = SNR if task.snr is None else task.snr
    signal = X @ beta
    noise = rng.standard_normal(len(X))
    # the signal may be zero, because duplicated and negated columns can cancel
    size = float(np.linalg.norm(signal)) or 1.0
    noise *= size / (np.sqrt(snr) * np.linalg.norm(noise))
    return Design(X, signal + noise, beta, noise)


def _family(task: DesignTask) -> Callable[..., Any]:
    family = ENSEMBLES[task.ensemble].family
    assert family is not None, task
    return family


def _large(task: DesignTask, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    """Draw the design of a task of the study `large`: AR(1) columns, and k nonzero coefficients.

    The coefficients are 1 at distances d/k, or alternately 1 and −1 at pairs of neighbouring columns. If the
    correlation ρ is close to 1, each column of such a pair explains little, and both together explain much
    more.
    """
    k, d = task.k, task.d
    each = np.arange(task.k)
    X = sl.ensembles.ar1(2 * d, d, rng, rho=task.rho or 0.0)[0]
    beta = np.zeros(d)
    if task.ensemble.startswith("apart"):
        beta[each * (d // k)] = 1
    else:
        beta[each // 2 * (2 * d // k) + each % 2] = (-1.0) ** each
    return X, beta


def _small(task: DesignTask, rng: np.random.Generator) -> Design:
    """Draw the design of a task of the study `check`: at most 12 columns, so that γ can be enumerated.

    X comes from the family of the task's ensemble. It has 3 to 15 rows, which may be fewer than its columns.
    AR(1) and equicorrelated columns get a random correlation. The index of the task decides on special cases:
    one design in 16 has a zero column, and one in 8 has 60 rows and a y that k columns fit exactly.
    """
    d = int(rng.integers(max(3, task.k), 13))
    n = int(rng.integers(max(3, task.k), 16))
    family = _family(task)
    if task.ensemble == "ar1":
        family = functools.partial(family, rho=float(rng.uniform(-0.95, 0.95)))
    if task.ensemble == "equicorrelated":
        family = functools.partial(family, rho=float(rng.uniform(0, 0.95)))
    if task.index % 8 == 5:
        # low coherence and an exact fit: here exact recovery is guaranteed
        X = family(60, d, rng)[0]
        return Design(X, X[:, rng.choice(d, task.k, replace=False)] @ rng.choice([-1.0, 1.0], task.k))
    X, y = family(n, d, rng)
    if task.index % 16 == 15:
        X[:, int(rng.integers(d))] = 0
    return Design(X, y)


def examine(task: DesignTask, seed: int) -> GuaranteeRecord:
    """Compute the achieved ratios and the guarantees on one design."""
    X, y = draw(task, seed)
    algorithms: tuple[Any, ...] = ("omp", "forward_regression")
    extra: dict[str, Any] = {}
    if task.study != "check" or task.index % 16 == 3:
        algorithms += ("sequential_lasso",)
    elif task.index % 16 == 7:
        extra = _regularizer_options(task, seed)
    found = sl.guarantee_bounds(X, y, task.k, algorithms=algorithms, node_limit=_NODES, **extra)
    return record(task, X, found)


def _regularizer_options(task: DesignTask, seed: int) -> dict[str, Any]:
    """Return the options `regularizer`, `nu` and `eps` of a task.

    The regularizer is one of three, chosen by the index of the task; ν is random from 0.001 to 1.
    """
    k = task.k
    choice = task.index // 16 % 3
    f = (SmoothedDifferentialEntropy(0.5, k=k), GeneralizedRank(0.5), SpectralVariance(k=k))[choice]
    rng = np.random.default_rng([seed, task.index])
    return {"regularizer": f, "nu": float(10 ** rng.uniform(-3, 0)), "eps": 0.1}


def record(task: DesignTask, X: FloatArray, found: GuaranteeBounds) -> GuaranteeRecord:
    """Return the record of one design: the parts of its guarantees that the summaries use."""
    names = dict.fromkeys(bound.algorithm for bound in found.bounds)
    outcomes = tuple(_outcome(name, found.of(name)) for name in names)
    best = found.best.lower, found.best.upper
    return GuaranteeRecord(
        task=task, n=X.shape[0], d=X.shape[1], best=best, exact=found.best.exact, outcomes=outcomes
    )


def _outcome(algorithm: str, bounds: Sequence[Bound]) -> AlgorithmOutcome:
    return AlgorithmOutcome(
        algorithm,
        (bounds[0].achieved.lower, bounds[0].achieved.upper),
        {bound.name: bound.lower if bound.applies else None for bound in bounds},
        tuple(bound.name for bound in bounds if bound.violated),
    )


def examine_batch(tasks: Sequence[DesignTask], seed: int) -> list[Any]:
    """Return for each of several designs its `GuaranteeRecord`, or `Lost` if an error is raised."""
    return [attempt(examine, (task, seed)) for task in tasks]
