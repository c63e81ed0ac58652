"""What a row of the table is, and how it is run: data, entrants, goals, a check of the answers."""

from __future__ import annotations

import dataclasses
import functools
import statistics
import traceback
from collections.abc import Callable, Iterable, Mapping
from types import SimpleNamespace
from typing import Any

from benchmarks.timing import interleaved
from sparselin.validation import check_new

Data = SimpleNamespace


@dataclasses.dataclass(frozen=True)
class Options:
    """How much is run. `toy` takes the tiny sizes."""

    seeds: tuple[int, ...] = (0, 1, 2, 3, 4)
    runs: int = 7
    least_runs: int = 3
    pauses: tuple[float, ...] = (0.0, 0.05)  # before each call; goals are about the first
    budget: float = 2.0  # seconds for one entrant, one seed
    toy: bool = False

    def as_dict(self) -> dict[str, Any]:
        return dataclasses.asdict(self)


@dataclasses.dataclass(frozen=True)
class Entrant:
    """Somebody who does a job: `call(data)` is what is timed.

    needs : "module" or "module:attribute" without which the entrant is skipped by name.
    share : part of the job that the call does, its seconds being divided by it.
    """

    name: str
    call: Callable[[Data], Any]
    needs: str = ""
    share: Callable[[Data], float] | None = None


# the key of a job, or its first part for all of a kind -> name -> the peer
PEERS: dict[str, dict[str, Entrant]] = {}


def register(peer: Entrant, *jobs: str) -> Entrant:
    """Let a peer do the jobs of these keys or kinds, as "path/ar1" or "path".

    Raises ValueError if a peer of that name does one of them already.
    """
    for job in jobs:
        check_new(peer.name, PEERS.get(job, ()), f"a peer for {job},")
    for job in jobs:
        PEERS.setdefault(job, {})[peer.name] = peer
    return peer


@dataclasses.dataclass(frozen=True)
class Goal:
    """Bounds on peer/ours: at_least for a peer to be beaten, at_most for a cost to be in proportion."""

    peer: Entrant
    at_least: float = 0.0
    stretch: float | None = None
    at_most: float = float("inf")

    def met(self, ratio: float) -> bool:
        return self.at_least <= ratio <= self.at_most

    def __str__(self) -> str:
        if self.at_most < float("inf"):
            return f"{self.peer.name} ≤ {self.at_most:.3g}"
        stretch = f" ({self.stretch:.3g})" if self.stretch else ""
        return f"{self.peer.name} ≥ {self.at_least:.3g}{stretch}"


@dataclasses.dataclass(frozen=True)
class Outcome:
    """Whether the answers are right, and by how much, for the table."""

    right: bool
    text: str


@dataclasses.dataclass(frozen=True)
class Job:
    """One row: ours and the `PEERS` of its key. `check(data, answers)` has the answers by entrant."""

    key: str
    title: str
    ours: Entrant
    goals: tuple[Goal, ...] = ()
    check: Callable[[Data, Mapping[Entrant, Any]], Outcome] | None = None

    @property
    def rivals(self) -> tuple[Entrant, ...]:
        """The peers of its kind, its own, and those that only a goal names."""
        peers = PEERS.get(self.key.partition("/")[0], {}) | PEERS.get(self.key, {})
        return tuple(dict.fromkeys([*peers.values(), *(goal.peer for goal in self.goals)]))


@dataclasses.dataclass(frozen=True)
class Case:
    """Data and jobs on them, the calls of all entrants interleaved.

    build : build(seed, **size) returns the data, untimed.
    """

    name: str
    build: Callable[..., Data]
    size: Mapping[str, Any]
    toy: Mapping[str, Any]
    jobs: tuple[Job, ...]

    def only(self, wanted: Callable[[str], bool]) -> Case:
        return dataclasses.replace(self, jobs=tuple(job for job in self.jobs if wanted(job.key)))

    @property
    def entrants(self) -> tuple[Entrant, ...]:
        return tuple(dict.fromkeys(e for job in self.jobs for e in (job.ours, *job.rivals)))


@functools.cache
def missing(needs: str) -> str:
    """Why what is needed is not there, or nothing."""
    module, _, attribute = needs.partition(":")
    if not module:
        return ""
    try:
        found = __import__(module, fromlist=["_"])
    except Exception as error:  # a peer may fail to load in any way; none may stop the others
        return f"{module} cannot be imported ({type(error).__name__}: {error})"
    return "" if not attribute or hasattr(found, attribute) else f"{module} has no {attribute}"


def run_case(case: Case, seed: int, options: Options) -> dict[str, Any]:
    """The rounds of one seed: seconds for each pause, outcomes and who was absent, why."""
    data = case.build(seed, **(case.toy if options.toy else case.size))
    absent = {e: missing(e.needs) for e in case.entrants if missing(e.needs)}
    answers = {}
    for entrant in case.entrants:
        if entrant not in absent:
            try:
                answers[entrant] = entrant.call(data)
            except Exception as error:  # as above, and ours may be broken: a row says so
                absent[entrant] = f"{type(error).__name__}: {error}"
    outcomes = {job.key: _checked(job, data, answers) for job in case.jobs if job.ours in answers}
    needed = {e for job in case.jobs if job.ours in answers for e in (job.ours, *job.rivals)}
    calls = {e: functools.partial(e.call, data) for e in case.entrants if e in answers and e in needed}
    answers.clear()
    shares = {e: 1.0 if e.share is None else e.share(data) for e in calls}
    seconds = []
    for pause in options.pauses:
        taken = interleaved(
            calls, runs=options.runs, least_runs=options.least_runs, pause=pause, budget=options.budget
        )
        seconds.append({e: [value / shares[e] for value in values] for e, values in taken.items()})
    return {"seed": seed, "seconds": seconds, "outcomes": outcomes, "absent": absent}


def _checked(job: Job, data: Data, answers: Mapping[Entrant, Any]) -> Outcome | None:
    if job.check is None:
        return None
    try:
        return job.check(data, answers)
    except Exception:  # an answer of the wrong shape is a wrong answer
        return Outcome(False, traceback.format_exc(limit=-1).strip().splitlines()[-1])


def summarize(case: Case, records: list[dict[str, Any]], options: Options) -> list[dict[str, Any]]:
    """One row for each job: medians over the seeds of the medians over the rounds."""
    return [_row(case, job, records, options) for job in case.jobs]


def _row(case: Case, job: Job, records: list[dict[str, Any]], options: Options) -> dict[str, Any]:
    size = case.toy if options.toy else case.size
    row: dict[str, Any] = {
        "key": job.key,
        "title": f"{job.title}, {describe(size)}" if size else job.title,
        "kind": "contest",
        "size": dict(size),
        "goal": ", ".join(map(str, job.goals)),
        "ours": job.ours.name,
        "skipped": "",
        "ways": [],
        "absent": {e.name: why for r in records for e, why in r["absent"].items() if e in job.rivals},
        "correct": None,
        "outcomes": [],
        "met": None,
        "goals": [],
    }
    records = [record for record in records if job.ours in record["seconds"][0]] or _skip(row, job, records)
    if not records:
        return row
    row["ways"] = [
        _way(job, pause, {r["seed"]: r["seconds"][way] for r in records})
        for way, pause in enumerate(options.pauses)
    ]
    outcomes = [o for r in records if (o := r["outcomes"].get(job.key)) is not None]
    row["outcomes"] = [o.text for o in outcomes]
    row["correct"] = all(o.right for o in outcomes) if outcomes else None
    peers = row["ways"][0]["peers"]
    row["goals"] = [_judged(goal, peers.get(goal.peer.name)) for goal in job.goals]
    judged = [goal["met"] for goal in row["goals"] if goal["met"] is not None]
    row["met"] = all(judged) if judged else None
    return row


def _way(job: Job, pause: float, seconds: Mapping[int, Mapping[Entrant, list[float]]]) -> dict[str, Any]:
    """Our time after a pause and the peers' ratios to it, from {seed: {entrant: seconds}}."""
    peers = {}
    for peer in job.rivals:
        ratios = {
            seed: statistics.median(
                theirs / ours for theirs, ours in zip(taken[peer], taken[job.ours], strict=False)
            )
            for seed, taken in seconds.items()
            if peer in taken
        }
        if ratios:
            upper = any(goal.peer is peer and goal.at_most < float("inf") for goal in job.goals)
            peers[peer.name] = {
                "ratio": statistics.median(ratios.values()),
                "worst": max(ratios.values()) if upper else min(ratios.values()),
                "by_seed": ratios,
                "ms": _ms(taken[peer] for taken in seconds.values() if peer in taken),
                "rounds": min(len(taken[peer]) for taken in seconds.values() if peer in taken),
            }
    return {"pause": pause, "ms": _ms(taken[job.ours] for taken in seconds.values()), "peers": peers}


def _ms(seconds: Iterable[list[float]]) -> float:
    return statistics.median(1e3 * statistics.median(values) for values in seconds)


def _skip(row: dict[str, Any], job: Job, records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    row["skipped"] = next((r["absent"][job.ours] for r in records if job.ours in r["absent"]), "not run")
    if not missing(job.ours.needs):  # it is there and failed
        row["correct"] = False
    return []


def _judged(goal: Goal, peer: dict[str, Any] | None) -> dict[str, Any]:
    return {
        "text": str(goal),
        "peer": goal.peer.name,
        "met": None if peer is None else goal.met(peer["ratio"]),
        "stretch": None if peer is None or goal.stretch is None else peer["ratio"] >= goal.stretch,
    }


SYMBOLS = {"lam": "λ/λ*", "unpenalized": "|S|/d"}


def describe(size: Mapping[str, Any]) -> str:
    """2000 × 20000, k = 100."""
    parts = [f"{size['n']} × {size['d']}"] if "n" in size else []
    rest = {name: value for name, value in size.items() if name not in ("n", "d")}
    return ", ".join(parts + [f"{SYMBOLS.get(name, name)} = {value}" for name, value in rest.items()])
