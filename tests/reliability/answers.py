"""The claims of an answer, in the columns of the design, and the verdict on two answers."""

import itertools
from dataclasses import dataclass

AGREE, TIED, STATUS, CONTRADICT = "agree", "tied", "status alone", "contradict"
VERDICTS = (AGREE, TIED, STATUS, CONTRADICT)
SLACK = 1e-6  # of ‖y‖²: the room for rounding that `best_subset` states


@dataclass(frozen=True)
class Step:
    """A step: the best columns are among `best`, and `pick` was done.

    If `open`, other picks may be as good.
    """

    best: frozenset
    pick: frozenset
    open: bool = False


@dataclass(frozen=True)
class Answer:
    """A status, the steps before it, and intervals that contain the exact numbers."""

    status: str
    steps: tuple = ()
    intervals: tuple = ()

    @property
    def ties(self):
        """True if a step may have had another pick."""
        return any(step.open or len(step.best) > 1 for step in self.steps)


def compare(one, other, excuses=lambda columns: False):
    """Return the verdict on two answers to the same problem.

    `excuses` takes the columns of all picks up to a step where the answers differ, and returns whether more
    than one pick may be right there, although no answer says so.
    """
    for (a, b), (c, d) in zip(one.intervals, other.intervals, strict=False):
        if b < c or d < a:
            return CONTRADICT
    columns = set()
    for a, b in zip(one.steps, other.steps, strict=False):
        columns |= a.pick | b.pick
        if a.pick != b.pick:
            known = a.open or b.open or a.best & b.best
            return TIED if known or excuses(columns) else CONTRADICT
        if not (a.open or b.open or a.best & b.best):
            return CONTRADICT
    alike = one.status == other.status and len(one.steps) == len(other.steps)
    return AGREE if alike else STATUS


def selection(path, at):
    """Read a path that makes one pick at a time, and names its ties."""
    steps = (
        Step(frozenset(at.back(T)) or frozenset(pick), frozenset(pick))
        for pick, T in ((at.back([j]), T) for j, T in zip(path.support, path.ties, strict=True))
    )
    return Answer(path.status.name, tuple(steps))


def supports(support, status, path, at):
    """Read picks without ties, which a path of the same rule has, as long as its picks are these."""
    steps = []
    same = True
    for t, j in enumerate(support):
        T = set(path.ties[t]) if same and t < len(path.ties) else set()
        same = same and t < len(path.support) and int(path.support[t]) == j
        steps.append(Step(frozenset(at.back(T if j in T else [j])), frozenset(at.back([j]))))
    return Answer(status, tuple(steps))


def entry(found, at):
    """Read a first entry."""
    if not found.tied:
        return Answer(found.status.name)
    return Answer(
        found.status.name, (Step(frozenset(at.back(found.tied)), frozenset(at.back(found.active))),)
    )


def changes(sets, at, unique=None, status=""):
    """Read sets of active columns: at each knot the columns that enter or leave.

    Several columns at one knot are a tie to rounding. The knots after it may depend on their order, so that
    they claim nothing. (The picks of a greedy path depend on the set of picks before them alone.)
    """
    known = itertools.repeat(True) if unique is None else unique
    steps = []
    before = frozenset()
    tied = False
    for active, sure in zip(sets, known, strict=False):
        now = frozenset(at.back(active))
        if now != before:
            steps.append(Step(now ^ before, now ^ before, open=tied or not sure))
        tied = tied or len(now ^ before) > 1
        before = now
    return Answer(status, tuple(steps))


def subset(found, at, square):
    """Read a best subset: an interval for the least square, in units of ‖y‖²."""
    low, high = found.lower_bound / square, 2 * found.objective / square
    pick = frozenset(at.back(found.support))
    status = f"{found.status.name}, optimal: {found.optimal}"
    return Answer(status, (Step(pick, pick, open=True),), ((low - SLACK, high + SLACK),))


def within(found, square):
    """Read the list of near-best subsets: the least square, as the limit states it."""
    low = found.limit / square
    return Answer(f"{found.status.name}, complete: {found.complete}", (), ((low - SLACK, low + SLACK),))


def bounds(*intervals, unit=1.0, error=0.0):
    """Read intervals, which are known to an error besides their own."""
    ends = [(i.lower - i.rounding, i.upper + i.rounding) for i in intervals]
    return Answer("COMPLETED", (), tuple((low / unit - error, high / unit + error) for low, high in ends))
