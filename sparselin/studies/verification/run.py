"""Check Theorems 1.1, 1.2 and 3.3 on many designs: OMP, Sequential LASSO and Sequential Attention agree.

Sequential Attention is the linear form. At every step the features selected before are those of Sequential
LASSO, and `sparselin.verification.checks` verifies the claims. Designs depend neither on each other nor on
the number of processes: each design has its own generator, seeded by (seed, ensemble, index).
"""

from __future__ import annotations

import dataclasses
import math
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from sparselin.ensembles import ENSEMBLES, carried
from sparselin.greedy.omp import omp
from sparselin.parallel.processes import run_jobs
from sparselin.results import FloatArray, SelectionPath
from sparselin.verification.along_path import StepRecord, verify_design
from sparselin.verification.checks import Methods
from sparselin.verification.projected_design import SEVERITY, Agreement, CheckResult


@dataclasses.dataclass(frozen=True)
class DesignRecord:
    """The results on one design: one record for each step, and a check of all selected features.

    supports : the check that the three algorithms select the same supports, compared up to the first tie.
    """

    ensemble: str
    index: int
    seed: int
    n: int
    d: int
    status: str
    supports: CheckResult
    steps: tuple[StepRecord, ...]

    @property
    def verdict(self) -> Agreement:
        verdicts = [self.supports.verdict, *(step.verdict for step in self.steps)]
        return max(verdicts, key=SEVERITY.__getitem__)


@dataclasses.dataclass(frozen=True)
class VerificationSettings:
    """The settings of `sparselin verify`.

    Attributes
    ----------
    designs, steps, ensembles, seed, jobs : as on the command line.
    reach_every : the number N if `StepRecord.reach` is measured on every N-th design of an ensemble.
    audit_first, audit_every : an interior point method repeats the checks of the first `audit_first` designs
        of an ensemble, and of every `audit_every`-th design after them.
    descent_flops : the limit on the work of one gradient descent, by default about 10 ms. With None only
        `max_iter` limits the descent.
    plant : the name of an artificial defect in `PLANTS`, which the run must find; or None.
    """

    designs: int = 1000
    steps: int = 8
    ensembles: tuple[str, ...] = dataclasses.field(default_factory=lambda: tuple(ENSEMBLES))
    seed: int = 0
    jobs: int = 2
    reach_every: int = 40
    audit_first: int = 5
    audit_every: int = 50
    descent_flops: float | None = 6e7
    max_iter: int = 1_000_000
    plant: str | None = None

    def key(self, name: str, index: int) -> tuple[int, int, int]:
        """Return the seed of the random starts on design `index` of the ensemble `name`."""
        return self.seed, zlib.crc32(name.encode()), index

    def measures_reach(self, index: int) -> bool:
        """Return whether `StepRecord.reach` is measured on this design of an ensemble."""
        return index % self.reach_every == 0

    def audits(self, index: int) -> bool:
        """Return whether an interior point method repeats the checks of this design of an ensemble."""
        return index < self.audit_first or index % self.audit_every == 0

    def iterations(self, n: int, m: int) -> int:
        """Return the limit on the iterations of a gradient descent over m features in n dimensions."""
        if self.descent_flops is None:
            return self.max_iter
        return max(50, min(self.max_iter, int(self.descent_flops / (4 * n * m))))

    def tasks(self) -> list[tuple[str, int]]:
        """Return (ensemble, index) of every design, cycling through the ensembles."""
        names = self.ensembles
        return [(names[i % len(names)], i // len(names)) for i in range(self.designs)]


def verify_one(
    task: tuple[str, int], settings: VerificationSettings, methods: Methods | None = None
) -> DesignRecord:
    """Verify one design, which is drawn from the name of its ensemble and its index."""
    name, index = task
    X, y = ENSEMBLES[name].design(index, settings.seed)
    path, supports, steps = verify_design(
        X,
        y,
        settings.steps,
        methods=methods or (PLANTS[settings.plant] if settings.plant else None),
        seed=settings.key(name, index),
        audit=settings.audits(index),
        reach=settings.measures_reach(index),
        max_iter=settings.iterations,
    )
    return DesignRecord(
        name, index, settings.seed, len(y), X.shape[1], path.status.name, supports, tuple(steps)
    )


def verify_all(settings: VerificationSettings) -> Iterator[DesignRecord]:
    """Yield the records as `jobs` processes finish them. Closing the iterator stops the work."""
    jobs = ((verify_one, (task, settings)) for task in settings.tasks())
    yield from run_jobs(jobs, settings.jobs, carried())


@dataclasses.dataclass(frozen=True)
class EnsembleSummary:
    """One row of the table, for one ensemble.

    n, d : the least and the largest size.
    different : the number of designs whose supports differ.
    """

    name: str
    n: tuple[int, int]
    d: tuple[int, int]
    designs: int
    steps: int
    agreements: int
    undecided: int
    violations: int
    different: int
    ties: int
    strict: int
    audited: int
    worst_gap: float
    worst_lam_error: float
    median_window: float
    median_proof: float
    median_reach: float
    reach_steps: int
    ill_conditioned: bool

    @property
    def undecided_limit(self) -> float:
        """The largest fraction of steps that may be undecided if the run is to pass."""
        return 0.05 if self.ill_conditioned else 0.01

    @property
    def passes(self) -> bool:
        most = self.undecided_limit * self.steps
        return self.violations == self.different == 0 and self.undecided <= most


def summarize(records: Iterable[DesignRecord]) -> list[EnsembleSummary]:
    """Return a row for each ensemble that has records, in the order of the registry."""
    by_name: dict[str, list[DesignRecord]] = {}
    for record in records:
        by_name.setdefault(record.ensemble, []).append(record)
    return [_summarize(name, by_name[name]) for name in ENSEMBLES if name in by_name]


def _summarize(name: str, records: list[DesignRecord]) -> EnsembleSummary:
    steps = [step for record in records for step in record.steps]
    count = Counter(step.verdict for step in steps)
    reach = [step.reach for step in steps if not math.isnan(step.reach)]
    return EnsembleSummary(
        name=name,
        n=(min(record.n for record in records), max(record.n for record in records)),
        d=(min(record.d for record in records), max(record.d for record in records)),
        designs=len(records),
        steps=len(steps),
        agreements=count[Agreement.AGREES],
        undecided=count[Agreement.UNDECIDED],
        violations=count[Agreement.VIOLATES],
        different=sum(record.supports.verdict is Agreement.VIOLATES for record in records),
        ties=sum(step.tied > 1 for step in steps),
        strict=sum(step.active < step.tied for step in steps),
        audited=sum(step.audited for step in steps),
        worst_gap=max((step.gap for step in steps), default=math.nan),
        worst_lam_error=max((step.lam_error for step in steps), default=math.nan),
        median_window=_median([step.window for step in steps]),
        median_proof=_median([step.proof for step in steps]),
        median_reach=_median(reach),
        reach_steps=len(reach),
        ill_conditioned=ENSEMBLES[name].ill_conditioned,
    )


def _median(values: list[Any]) -> float:
    return float(np.median(values)) if values else math.nan


def second_best_omp(X: FloatArray, y: FloatArray, k: int, forced: Iterable[int] = ()) -> SelectionPath:
    """Run OMP, but replace its last pick by the feature i with the second largest |⟨X_i, r⟩|.

    r is the residual of least squares on the features selected before.
    """
    path = omp(X, y, k, forced=forced)
    S = path.support[:-1]
    r = y - X[:, S] @ np.linalg.lstsq(X[:, S], y, rcond=None)[0] if len(S) else y
    c = np.abs(X.T @ r)
    c[path.support] = 0
    if not c.any():
        return path
    support = np.append(S, np.argmax(c))
    return dataclasses.replace(path, support=support, ties=(*path.ties[:-1], (int(support[-1]),)))


PLANTS = {"second-best": Methods(omp=second_best_omp)}
