"""The contests: rows of the table with data, entrants, goals and checks, and the functions to run them."""

from __future__ import annotations

import dataclasses
import functools
import statistics
import traceback
from collections.abc import Callable, Iterable, Mapping
from types import SimpleNamespace
from typing import Any

from benchmarks.timing import interleave
from sparselin.validation import check_new

Data = SimpleNamespace


@dataclasses.dataclass(frozen=True)
class Options:
    """The options of a run: seeds, rounds, pauses and time; `toy` selects tiny sizes."""

    seeds: tuple[int, ...] = (0, 1, 2, 3, 4)
    runs: int = 7
    least_runs: int = 3
    pauses: tuple[float, ...] = (0.0, 0.05)  # before each call; goals are for the first one
    budget: float = 2.0  # seconds for one entrant, one seed
    toy: bool = False

    def as_dict(self) -> dict[str, Any]:
        return dataclasses.asdict(self)


@dataclasses.dataclass(frozen=True)
class Entrant:
    """An entrant of a contest, ours or a peer: `call(data)` is timed.

    needs : "module" or "module:attribute"; without it the entrant is skipped, with a note.
    share : a function of the data; it returns the share of the job that the call does, by which the seconds
        are divided. None: the whole job.
    """

    name: str
    call: Callable[[Data], Any]
    needs: str = ""
    share: Callable[[Data], float] | None = None


# key of a job, or its first part for all jobs of a kind → name → peer
PEERS: dict[str, dict[str, Entrant]] = {}


def register(peer: Entrant, *jobs: str) -> Entrant:
    """Register a peer for the jobs with these keys or kinds, such as "path/ar1" or "path".

    Raises ValueError if one of them already has a peer of that name.
    """
    for job in jobs:
        check_new(peer.name, PEERS.get(job, ()), f"a peer for {job},")
    for job in jobs:
        PEERS.setdefault(job, {})[peer.name] = peer
    return peer


@dataclasses.dataclass(frozen=True)
class Goal:
    """A goal: bounds on the seconds of a peer divided by ours.

    `at_least` is for a peer that ours must beat; `at_most` limits a cost. `harder` is a second bound, larger
    than `at_least`.
    """

    peer: Entrant
    at_least: float = 0.0
    harder: float | None = None
    at_most: float = float("inf")

    def met(self, ratio: float) -> bool:
        """Return whether the ratio meets the goal."""
        return self.at_least <= ratio <= self.at_most

    def __str__(self) -> str:
        if self.at_most < float("inf"):
            return f"{self.peer.name} ≤ {self.at_most:.3g}"
        harder = f" ({self.harder:.3g})" if self.harder else ""
        return f"{self.peer.name} ≥ {self.at_least:.3g}{harder}"


@dataclasses.dataclass(frozen=True)
class Outcome:
    """The outcome of a check: whether the answers are right, and a text with the errors for the table."""

    right: bool
    text: str


@dataclasses.dataclass(frozen=True)
class Job:
    """A row of the table: our entrant and the peers of its key. check(data, answers) judges the answers."""

    key: str
    title: str
    ours: Entrant
    goals: tuple[Goal, ...] = ()
    check: Callable[[Data, Mapping[Entrant, Any]], Outcome] | None = None

    @property
    def rivals(self) -> tuple[Entrant, ...]:
        """The peers that are registered for the job's kind or key, and the peers that only a goal names."""
        peers = PEERS.get(self.key.partition("/")[0], {}) | PEERS.get(self.key, {})
        return tuple(dict.fromkeys([*peers.values(), *(goal.peer for goal in self.goals)]))


@dataclasses.dataclass(frozen=True)
class Case:
    """Data, and jobs on these data; the calls of all entrants are interleaved.

    build : a function; build(seed, **size) returns the data, and is not timed.
    """

    name: str
    build: Callable[..., Data]
    size: Mapping[str, Any]
    toy: Mapping[str, Any]
    jobs: tuple[Job, ...] = ()

    def with_jobs(self, *jobs: Job) -> Case:
        """Return the case with these jobs."""
        return dataclasses.replace(self, jobs=jobs)

    def only(self, matches: Callable[[str], bool]) -> Case:
        """Return the case with the jobs whose keys match."""
        return self.with_jobs(*(job for job in self.jobs if matches(job.key)))

    @property
    def entrants(self) -> tuple[Entrant, ...]:
        """All entrants of all jobs."""
        return tuple(dict.fromkeys(e for job in self.jobs for e in (job.ours, *job.rivals)))


@functools.cache
def missing(needs: str) -> str:
    """Return the reason why `needs`, "module" or "module:attribute", is not available; "" if it is."""
    module, _, attribute = needs.partition(":")
    if not module:
        return ""
    try:
        found = __import__(module, fromlist=["_"])
    except Exception as error:  # a peer may fail to load in any way; none may stop the others
        return f"{module} cannot be imported ({type(error).__name__}: {error})"
    return "" if not attribute or hasattr(found, attribute) else f"{module} has no {attribute}"


def run_case(case: Case, seed: int, options: Options) -> dict[str, Any]:
    """Run the rounds of one seed. Return the seconds for each pause, the outcomes and the absent entrants."""
    data = case.build(seed, **(case.toy if options.toy else case.size))
    absent = {e: missing(e.needs) for e in case.entrants if missing(e.needs)}
    answers = {}
    for entrant in case.entrants:
        if entrant not in absent:
            try:
                answers[entrant] = entrant.call(data)
            except Exception as error:  # a broken entrant, even ours, must not stop the others
                absent[entrant] = f"{type(error).__name__}: {error}"
    outcomes = {job.key: _check(job, data, answers) for job in case.jobs if job.ours in answers}
    needed = {e for job in case.jobs if job.ours in answers for e in (job.ours, *job.rivals)}
    calls = {e: functools.partial(e.call, data) for e in case.entrants if e in answers and e in needed}
    answers.clear()
    shares = {e: 1.0 if e.share is None else e.share(data) for e in calls}
    seconds = []
    for pause in options.pauses:
        taken = interleave(
            calls, runs=options.runs, least_runs=options.least_runs, pause=pause, budget=options.budget
        )
        seconds.append({e: [value / shares[e] for value in values] for e, values in taken.items()})
    return {"seed": seed, "seconds": seconds, "outcomes": outcomes, "absent": absent}


def _check(job: Job, data: Data, answers: Mapping[Entrant, Any]) -> Outcome | None:
    """Check the answers of a job; an error in the check counts as a wrong answer."""
    if job.check is None:
        return None
    try:
        return job.check(data, answers)
    except Exception:  # an answer of the wrong shape is a wrong answer
        return Outcome(False, traceback.format_exc(limit=-1).strip().splitlines()[-1])


def summarize(case: Case, records: list[dict[str, Any]], options: Options) -> list[dict[str, Any]]:
    """Return one row for each job, with medians over the seeds of the medians over the rounds."""
    return [_row(case, job, records, options) for job in case.jobs]


def _row(case: Case, job: Job, records: list[dict[str, Any]], options: Options) -> dict[str, Any]:
    """Return the row of one job."""
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
    row["goals"] = [_judge(goal, peers.get(goal.peer.name)) for goal in job.goals]
    verdicts = [goal["met"] for goal in row["goals"] if goal["met"] is not None]
    row["met"] = all(verdicts) if verdicts else None
    return row


def _way(job: Job, pause: float, seconds: Mapping[int, Mapping[Entrant, list[float]]]) -> dict[str, Any]:
    """Return our time for one pause, and the times of the peers divided by ours.

    seconds : {seed: {entrant: seconds of each round}}.
    """
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
    """Return the median over the seeds of the medians over the rounds, in milliseconds."""
    return statistics.median(1e3 * statistics.median(values) for values in seconds)


def _skip(row: dict[str, Any], job: Job, records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Write into the row why our entrant did not run, and return no records."""
    row["skipped"] = next((r["absent"][job.ours] for r in records if job.ours in r["absent"]), "not run")
    if not missing(job.ours.needs):  # it is available, and failed
        row["correct"] = False
    return []


def _judge(goal: Goal, peer: dict[str, Any] | None) -> dict[str, Any]:
    """Return the record of a goal: whether it is met, and its harder bound too; None for an absent peer."""
    return {
        "text": str(goal),
        "peer": goal.peer.name,
        "met": None if peer is None else goal.met(peer["ratio"]),
        "harder": None if peer is None or goal.harder is None else peer["ratio"] >= goal.harder,
    }


SYMBOLS = {"lam": "λ/λ*", "unpenalized": "|S|/d"}


def describe(size: Mapping[str, Any]) -> str:
    """Describe a size, for example as "2000 × 20000, k = 100"."""
    parts = [f"{size['n']} × {size['d']}"] if "n" in size else []
    rest = {name: value for name, value in size.items() if name not in ("n", "d")}
    return ", ".join(parts + [f"{SYMBOLS.get(name, name)} = {value}" for name, value in rest.items()])
