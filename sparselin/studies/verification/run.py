"""Check Theorems 1.1, 1.2 and 3.3 on many designs: OMP, Sequential LASSO and Sequential Attention agree.

Sequential Attention is the linear form. At every step the features selected before are those of Sequential
LASSO, and `sparselin.verification.checks` verifies the claims. Designs depend neither on each other nor on
the number of processes: each design has its own generator, seeded by (seed, ensemble, index).

The other claim, "flow", is about `gradient_flow` (`sparselin.verification.flow`), on designs with n, d ≤ 20.
"""

import contextlib
import dataclasses
import math
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from sparselin import gradient_flow, omp
from sparselin.ensembles import ENSEMBLES, Design, carried, of_random_size
from sparselin.parallel.processes import Lost, try_jobs
from sparselin.results import FloatArray, FlowPath, SelectionPath
from sparselin.verification.along_path import StepRecord, verify_design
from sparselin.verification.checks import Methods
from sparselin.verification.flow import LOGS, FlowCheck, verify_flow
from sparselin.verification.projected_design import SEVERITY, Agreement, CheckResult

_MANY = 50  # designs for a process, for which it compiles kernels at once


@dataclasses.dataclass(frozen=True)
class _Record:
    """A design: the name of its ensemble, its index there, the seed, and its size."""

    ensemble: str
    index: int
    seed: int
    n: int
    d: int


@dataclasses.dataclass(frozen=True)
class DesignRecord(_Record):
    """The results on one design: one record for each step, and a check of all selected features.

    supports : the check that the three algorithms select the same supports, compared up to the first tie.
    """

    status: str
    supports: CheckResult
    steps: tuple[StepRecord, ...]

    @property
    def verdict(self) -> Agreement:
        verdicts = [self.supports.verdict, *(step.verdict for step in self.steps)]
        return max(verdicts, key=SEVERITY.__getitem__)


@dataclasses.dataclass(frozen=True)
class FlowRecord(_Record):
    """The result of the claim "flow" on one design."""

    check: FlowCheck

    @property
    def verdict(self) -> Agreement:
        return self.check.verdict


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
    plant : the name of an artificial defect in `PLANTS`, which the run must find; or None. For the claim
        "flow" it is a name in `FLOW_PLANTS`.
    claim : "selection" or "flow". The fields from `reach_every` to `max_iter`, and `steps`, are only for the
        first one. For the second one the solver runs at two more α on every tenth design of an ensemble.
    shape : the ranges of n and of d, ends included; None for the ranges of each ensemble, and for the claim
        "flow" 4 to 20.
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
    claim: str = "selection"
    shape: tuple[tuple[int, int], tuple[int, int]] | None = None

    def design(self, name: str, index: int) -> Design:
        """Return design `index` of an ensemble, of a size in `sizes` if there are any.

        A family of random designs draws X and y at this size. Of other ensembles, such as real data, random
        rows and columns of the design with this index are kept, or all if there are fewer.
        """
        ensemble = ENSEMBLES[name]
        if self.sizes is None:
            return ensemble.design(index, self.seed)
        if ensemble.family is not None:
            return of_random_size(name, "", ensemble.family, *self.sizes).design(index, self.seed)
        X, y = ensemble.design(index, self.seed)
        rng = np.random.default_rng(self.key(name, index))
        rows, columns = (
            rng.permutation(m)[: rng.integers(low, high, endpoint=True)]
            for m, (low, high) in zip(X.shape, self.sizes, strict=True)
        )
        return Design(X[np.ix_(rows, columns)], y[rows])

    @property
    def sizes(self) -> tuple[tuple[int, int], tuple[int, int]] | None:
        """The ranges of n and of d; None if each ensemble has its own."""
        return self.shape or (((4, 20), (4, 20)) if self.claim == "flow" else None)

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

    def tasks(self) -> Iterator[tuple[str, int]]:
        """Return an iterator of (ensemble, index) of every design, cycling through the ensembles."""
        names = self.ensembles
        return ((names[i % len(names)], i // len(names)) for i in range(self.designs))


def verify_one(
    task: tuple[str, int], settings: VerificationSettings, methods: Methods | None = None
) -> DesignRecord:
    """Verify one design, which is drawn from the name of its ensemble and its index."""
    name, index = task
    X, y = settings.design(name, index)
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
        ensemble=name,
        index=index,
        seed=settings.seed,
        n=len(y),
        d=X.shape[1],
        status=path.status.name,
        supports=supports,
        steps=tuple(steps),
    )


def verify_one_flow(task: tuple[str, int], settings: VerificationSettings) -> FlowRecord:
    """Check the flow of one design, which is drawn from the name of its ensemble and its index."""
    X, y = settings.design(*task)
    check = verify_flow(X, y, flow=FLOW_PLANTS[settings.plant], sample=task[1] % 10 == 0)
    return FlowRecord(
        ensemble=task[0], index=task[1], seed=settings.seed, n=len(y), d=X.shape[1], check=check
    )


@dataclasses.dataclass(frozen=True)
class Failure:
    """A design on which no check was completed: its ensemble, its index there, the seed, and the reason."""

    ensemble: str
    index: int
    seed: int
    why: str

    def __str__(self) -> str:
        return f"{self.ensemble} #{self.index} (seed {self.seed}) could not be checked: {self.why}"


def verify_all(settings: VerificationSettings) -> Iterator[Any]:
    """Yield a record or a `Failure` for each design, as `jobs` processes finish them.

    Closing the iterator stops the work. An error, or a process that is killed, costs only one design.
    """
    verify = verify_one_flow if settings.claim == "flow" else verify_one
    jobs = ((verify, (task, settings)) for task in settings.tasks())
    compiled = settings.designs >= _MANY * settings.jobs
    stream = try_jobs(jobs, settings.jobs, carried(), compiled)
    with contextlib.closing(stream) as results:  # type: ignore[type-var]
        for found in results:
            if isinstance(found, Lost):
                name, index = found.arguments[0]
                found = Failure(name, index, settings.seed, found.why)
            yield found


@dataclasses.dataclass(frozen=True, kw_only=True)
class SummaryRow:
    """The part of a row of the table that does not depend on the claim.

    n, d : the least and the largest size.
    steps : the number of verdicts: of steps, or for the claim "flow" of designs.
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
    different: int = 0
    ill_conditioned: bool

    @property
    def undecided_limit(self) -> float:
        """The largest fraction of steps that may be undecided if the run is to pass."""
        return 0.05 if self.ill_conditioned else 0.01

    @property
    def passes(self) -> bool:
        most = self.undecided_limit * self.steps
        return self.steps > 0 and self.violations == self.different == 0 and self.undecided <= most


@dataclasses.dataclass(frozen=True, kw_only=True)
class EnsembleSummary(SummaryRow):
    """One row of the table, for one ensemble."""

    ties: int
    strict: int
    audited: int
    worst_gap: float
    worst_lam_error: float
    median_window: float
    median_proof: float
    median_reach: float
    reach_steps: int


@dataclasses.dataclass(frozen=True, kw_only=True)
class FlowSummary(SummaryRow):
    """One row of the table of the claim "flow", for one ensemble.

    events, leaves : the numbers of events, and of events at which a feature leaves.
    lasso : the share of the averages that are LASSO solutions.
    rate : the median of L·‖s_α − s‖∞ at α = 1e-300, where L = log(1/α).
    far : the number of designs with ‖s_α − s‖∞ > .05 at α = 1e-300.
    error : the largest ‖s_α − s‖∞ at the last α, which decides.
    """

    events: int
    leaves: int
    lasso: float
    rate: float
    far: int
    error: float


def summarize(records: Iterable[Any]) -> list[Any]:
    """Return a row for each ensemble that has records, in the order of the registry."""
    by_name: dict[str, list[Any]] = {}
    for record in records:
        by_name.setdefault(record.ensemble, []).append(record)
    make: dict[type, Callable[..., Any]] = {DesignRecord: _summarize, FlowRecord: _summarize_flow}
    return [make[type(by_name[name][0])](name, by_name[name]) for name in ENSEMBLES if name in by_name]


def _counts(name: str, records: list[Any], steps: Sequence[Any]) -> dict[str, Any]:
    """Return the fields of `SummaryRow` except `different`; `steps` have the verdicts that are counted."""
    count = Counter(step.verdict for step in steps)
    sizes = {axis: [getattr(record, axis) for record in records] for axis in "nd"}
    return {axis: (min(values), max(values)) for axis, values in sizes.items()} | {
        "name": name,
        "designs": len(records),
        "steps": len(steps),
        "agreements": count[Agreement.AGREES],
        "undecided": count[Agreement.UNDECIDED],
        "violations": count[Agreement.VIOLATES],
        "ill_conditioned": ENSEMBLES[name].ill_conditioned,
    }


def _summarize_flow(name: str, records: list[FlowRecord]) -> FlowSummary:
    checks = [record.check for record in records]
    errors = [[error for _, error, _ in check.runs] for check in checks if check.runs]
    return FlowSummary(
        **_counts(name, records, records),
        events=sum(check.events for check in checks),
        leaves=sum(check.leaves for check in checks),
        lasso=sum(check.lasso for check in checks) / max(1, sum(check.averages for check in checks)),
        rate=LOGS[2] * _median([e[-2] for e in errors]),
        far=sum(e[-2] > 0.05 for e in errors),
        error=max((e[-1] for e in errors), default=math.nan),
    )


def _summarize(name: str, records: list[DesignRecord]) -> EnsembleSummary:
    steps = [step for record in records for step in record.steps]
    reach = [step.reach for step in steps if not math.isnan(step.reach)]
    return EnsembleSummary(
        **_counts(name, records, steps),
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
    return replace(path, support=support, ties=(*path.ties[:-1], (int(support[-1]),)))


PLANTS = {"second-best": Methods(omp=second_best_omp)}
FLOW_PLANTS: dict[str | None, Callable[..., FlowPath]] = {
    None: gradient_flow,
    # s starts from zero after each event, as if the flow were restarted
    "forgets": lambda X, y, restart=False: replace(gradient_flow(X, y, restart=True), restarted=restart),
    # the events are 1 % late
    "late": lambda *Xy, **options: replace(path := gradient_flow(*Xy, **options), tau=1.01 * path.tau),
}
FLOW_LIMIT = 20  # the most rows, and columns, of a design of the claim "flow"
# name of a claim ↦ its defects by name
CLAIMS: dict[str, dict[Any, Any]] = {"selection": PLANTS, "flow": FLOW_PLANTS}
