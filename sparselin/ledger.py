"""The ledger: statements of the papers, each bound to a check that decides it.

A file in `proofs_checks/` marks one test per statement with `claim`; its docstring has the statement, its
hypotheses, and what holds instead. The test receives a `Check`, through which it counts cases, shows that a
printed statement fails at a witness, and measures. `decide` runs it: a verdict is accepted only if the
outcome supports it, so that it cannot be edited without evidence.

>>> def square(x):
...     return x * x
>>> @claim("ours-example", "an example", "exact", CORRECTED)
... @mutants("square")
... def test_squares(check):
...     '''x² ≥ x.
...
...     Hypotheses: real x
...
...     Instead: for integer x
...     '''
...     check.refutes(square(0.5) < 0.5, "x = ½")
...     check.over(range(-9, 10), lambda x: square(x) >= x)
>>> outcome = decide(test_squares.claim)
>>> outcome.failure is None, outcome.cases, outcome.witnesses
(True, 19, ('x = ½',))
"""

from __future__ import annotations

import dataclasses
import enum
import functools
import importlib
import inspect
import multiprocessing
import re
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from sparselin.ensembles import Design
from sparselin.ensembles.claims import smaller
from sparselin.ensembles.saved import as_design, in_words
from sparselin.parallel.processes import work_quietly
from sparselin.validation import check_new

PAPERS = {
    "SA": "Sequential Attention for Feature Selection",
    "SR": "Selecting Diverse Features via Spectral Regularization",
    "LN": "LassoNet: A Neural Network with Feature Sparsity",
    "ours": "Beyond the papers",
}


def paper(key: str, title: str) -> None:
    """Add a source of claims: ids that begin with `key` and a hyphen belong to it.

    For one's own claims, above them in their file: paper("mine", "My conjectures"). Raises ValueError for a
    key that is no word of letters and digits, or that has another title.
    """
    if not key.isalnum():
        raise ValueError(f"key must be a word of letters and digits; got {key!r}")
    if PAPERS.setdefault(key, title) != title:
        raise ValueError(f"the paper {key!r} has the title {PAPERS[key]!r} already; choose another key")


# A paragraph of a docstring that begins with one of these is that field of the `Claim`.
LABELS = {
    "Reading of": "reading_of",
    "Hypotheses": "hypotheses",
    "Instead": "correction",
    "Consequences": "consequences",
    "Unchecked": "unchecked",
    "Tolerance": "tolerance",
    "In Coq": "formal",
}
METHODS = ("formal", "proof", "exact", "interval", "float", "brute force")


_Check = TypeVar("_Check", bound=Callable[..., None])


class Verdict(enum.Enum):
    """What is known of a printed statement."""

    HOLDS = "holds"
    MISPRINT = "holds, misprinted"
    CORRECTED = "holds, corrected"
    FALSE = "false as printed"
    EMPIRICAL = "empirical"
    OPEN = "open"
    REPRODUCED = "reproduced"
    NOT_REPRODUCED = "not reproduced"
    UNDECIDED = "undecided"
    CONTRADICTED = "contradicted by the paper's own tables"
    NEEDS_DATA = "needs data"


HOLDS, MISPRINT, CORRECTED, FALSE, EMPIRICAL, OPEN, *_experimental = Verdict
REPRODUCED, NOT_REPRODUCED, UNDECIDED, CONTRADICTED, NEEDS_DATA = _experimental
REFUTED = (MISPRINT, CORRECTED, FALSE, CONTRADICTED)
EXPERIMENTAL = (REPRODUCED, NOT_REPRODUCED, UNDECIDED, NEEDS_DATA)
UNCHECKED = (OPEN, NEEDS_DATA)


@dataclasses.dataclass(frozen=True)
class Claim:
    """One statement, and the function that checks it.

    Attributes
    ----------
    id : a short name, `paper-kind-number`.
    paper : the beginning of the id, a key of `PAPERS`; "ours" for statements beyond the papers.
    number : its place in each version of the paper.
    statement : one line, in our notation.
    hypotheses : under which it is checked.
    method : how, a comma-separated choice of `METHODS`.
    verdict : what the check must support.
    correction : what holds instead, if the printed statement fails.
    consequences : which other statements fail with it, or hold nevertheless and why.
    unchecked : what is not checked.
    tolerance : of comparisons in floating point, and its reason.
    formal : the theorems of proofs_checks/formal/theorems.v that state it, where the method is "formal".
    reading_of : the printed words, if the statement is one reading of several; else empty.
    mutants : the functions under test, see `mutants`.
    cases, ci_cases : `Check.cases` of a thorough run and of a test.
    test : file::function.
    function : the check itself.
    """

    id: str
    paper: str
    number: str
    statement: str
    hypotheses: str
    method: str
    verdict: Verdict
    correction: str
    consequences: str
    unchecked: str
    tolerance: str
    formal: str
    reading_of: str
    mutants: tuple[str, ...]
    cases: int
    ci_cases: int
    test: str
    function: Callable[[Check], None]


@dataclasses.dataclass(frozen=True)
class Outcome:
    """The outcome of one check.

    Attributes
    ----------
    cases : the number of cases in which the statement, or its correction, held.
    undecided : cases that floating point could not decide; not among `cases`.
    witnesses : cases in which the printed statement fails.
    found : measurements, a sentence each.
    failure : None, or why the verdict is not supported.
    counterexample : the value on which the check failed, as far as it could be shrunk; else None.
    call : which of the check's `forall` and `over`, from 1, had it; 0 for none.
    smaller : a smaller design on which it fails too, for one of `over`; it may not meet the hypotheses.
    """

    cases: int
    undecided: int
    witnesses: tuple[str, ...]
    found: tuple[str, ...]
    failure: str | None
    counterexample: Any = dataclasses.field(default=None, compare=False)
    call: int = 0
    smaller: Design | None = dataclasses.field(default=None, compare=False)


class ClaimFailed(AssertionError):
    """A case contradicts the claim, or a witness does not refute it."""


class Check:
    """The argument of a check: the number of cases, a random generator, and the record of its outcome.

    With `only` = (call, value), that `forall` or `over` has this value alone, and the others have none.
    """

    def __init__(
        self, cases: int, seed: int, shrink: bool = True, only: tuple[int, Any] | None = None
    ) -> None:
        self.cases = cases
        self.seed = seed
        self.shrink = shrink
        self.rng = np.random.default_rng(seed)
        self.counted = 0
        self.unsettled = 0
        self.witnesses: list[str] = []
        self.found: list[str] = []
        self.conclusion: Verdict | None = None
        self.only = only
        self.call = 0
        self.failing: Any = None
        self.smaller: Design | None = None

    def forall(self, strategy: Any, holds: Callable[[Any], Any], cases: int | None = None) -> None:
        """`holds(value)` for `cases` (default: `self.cases`) values of a Hypothesis strategy.

        A value that fails is shrunk before it is reported, unless `decide` was told not to.
        `hypothesis.assume` in `holds` discards a value.
        """
        from hypothesis import HealthCheck, Phase, given, seed, settings

        if self._is_replayed(holds):
            return

        @seed(self.seed)
        @settings(
            max_examples=cases or self.cases,
            deadline=None,
            database=None,
            report_multiple_bugs=False,
            suppress_health_check=list(HealthCheck),
            phases=(Phase.generate, Phase.shrink) if self.shrink else (Phase.generate,),
        )
        @given(strategy)
        def run(value: Any) -> None:
            self._one(value, holds)

        before = self.counted
        run()
        self.failing = None
        if self.counted == before:
            raise ClaimFailed("no value met the hypotheses: nothing was checked")

    def over(self, values: Iterable[Any], holds: Callable[[Any], Any]) -> None:
        """`holds(value)` for each of the values: an enumeration, or draws from `self.rng`."""
        if self._is_replayed(holds):
            return
        for value in values:
            try:
                self._one(value, holds)
            except Exception:
                self.smaller = self._smaller(value, holds) if self.shrink else None
                raise

    def tally(self, cases: int, violations: int = 0, example: str = "") -> None:
        """Add a number of cases that were checked and counted by the caller."""
        self.counted += cases
        if violations:
            raise ClaimFailed(f"{violations} of {cases} cases fail, the first: {example}")

    def undecided(self, cases: int = 1) -> None:
        """Cases that floating point could not decide."""
        self.unsettled += cases

    def refutes(self, fails: Any, witness: str) -> None:
        """Record a witness: `fails` is true iff the printed statement fails there."""
        if not fails:
            raise ClaimFailed(f"the printed statement is not refuted by {witness}")
        self.witnesses.append(witness)

    def measured(self, sentence: str) -> None:
        """Record a measurement, the same in every run with the same seed and number of cases."""
        self.found.append(sentence)

    def concludes(self, verdict: Verdict) -> None:
        """What the records of an experiment come to: one of `EXPERIMENTAL`, and the row's verdict."""
        self.conclusion = verdict

    def _one(self, value: Any, holds: Callable[[Any], Any]) -> None:
        self.failing = value
        if not holds(value):
            raise ClaimFailed(f"counterexample: {in_words(value)}")
        self.failing = None
        self.counted += 1

    def _is_replayed(self, holds: Callable[[Any], Any]) -> bool:
        """Count this call of `forall` or `over`; whether `only` stands for its values."""
        self.call += 1
        if self.only is not None and self.only[0] == self.call:
            self._one(self.only[1], holds)
        return self.only is not None

    def _smaller(self, value: Any, holds: Callable[[Any], Any]) -> Design | None:
        """A smaller design on which `holds` is false, and raises nothing; None where there is none."""
        design = as_design(value)
        if design is None:
            return None
        try:
            found = smaller(
                lambda one: bool(holds(one if isinstance(value, Design) else (one.X, one.y))),
                *design,
                calls=500,
            )
        except ValueError:
            return None
        return found if found.X.size < design.X.size else None


def mutants(*names: str) -> Callable[[_Check], _Check]:
    """Name the functions that a check is about, as "sl.name" (the public face) or "name" (in its file).

    At least one false version of each (scaled, shifted, emptied, …) must make the claim fail.
    """

    def mark(function: _Check) -> _Check:
        vars(function)["mutants"] = names
        return function

    return mark


def claim(
    id: str,
    number: str,
    method: str,
    verdict: Verdict,
    *,
    cases: int = 1000,
    ci_cases: int = 40,
    **shared: str,
) -> Callable[[Callable[[Check], None]], Callable[[], None]]:
    """Mark a check as the one that decides a statement; the fields are those of `Claim`.

    The docstring of the check holds the texts: first the statement, then paragraphs that begin with a label
    of `LABELS` and a colon. Fields that several checks of a file have in common may be given as `shared`.

    The result takes no arguments, so that pytest runs it: `decide` with `ci_cases`, and an AssertionError
    if the verdict is not supported. Its attribute `claim` is the `Claim`.
    Raises ValueError for an unknown paper or method, a missing statement or hypotheses, and
    for a verdict whose fields do not fit it.
    """

    def mark(function: Callable[[Check], None]) -> Callable[[], None]:
        made = _made(function, inspect.getdoc(function) or "", id, number, method, verdict, shared)
        only = dataclasses.replace(made, cases=cases, ci_cases=ci_cases)
        test = _as_test(function, [only])
        vars(test)["claim"] = only
        return test

    return mark


def claims(
    each: Mapping[str, Mapping[str, str]],
    id: str,
    number: str,
    method: str,
    verdict: Callable[[str], Verdict],
) -> Callable[[Callable[[Check, str], None]], Callable[[], None]]:
    """Mark a check of (check, key) as the one that decides a row for each key of `each`.

    The row's id is that of `claim` with "-key" at its end, its verdict `verdict(key)`. In the docstring
    {name} stands for each[key][name]. The test decides all rows; its attribute `claims` has their `Claim`s.
    """

    def mark(function: Callable[[Check, str], None]) -> Callable[[], None]:
        text = inspect.getdoc(function) or ""
        made = [
            _made(_at(function, key), text.format(**words), f"{id}-{key}", number, method, verdict(key), {})
            for key, words in each.items()
        ]
        return _as_test(function, made)

    return mark


def _at(function: Callable[[Check, str], None], key: str) -> Callable[[Check], None]:
    """The check of one key, with the name and the marks of that of all."""

    @functools.wraps(function)
    def check_one(check: Check) -> None:
        function(check, key)

    return check_one


def _made(
    function: Callable[[Check], None],
    docstring: str,
    id: str,
    number: str,
    method: str,
    verdict: Verdict,
    shared: Mapping[str, str],
) -> Claim:
    texts = dict.fromkeys(LABELS.values(), "") | {"tolerance": "none"}
    made = Claim(
        id=id,
        paper=id.partition("-")[0],
        number=number,
        method=method,
        verdict=verdict,
        mutants=vars(function).get("mutants", ()) if verdict is not NEEDS_DATA else (),
        cases=1000,
        ci_cases=40,
        test=f"{function.__module__.rpartition('.')[2]}.py::{function.__name__}",
        function=function,
        **{**texts, **_stated(docstring), **shared},
    )
    _check_fields(made)
    return made


def _as_test(function: Callable[..., None], made: Sequence[Claim]) -> Callable[[], None]:
    """A function without arguments, which pytest runs: all claims decided, AssertionError if one fails."""

    def test() -> None:
        outcomes = [(one.id, decide(one, one.ci_cases)) for one in made]
        failures = [f"{id}: {outcome.failure}" for id, outcome in outcomes if outcome.failure]
        if failures:
            raise AssertionError("\n".join(failures))

    # not functools.wraps: pytest would unwrap it, and treat `check` as a fixture
    test.__name__, test.__doc__, test.__module__ = function.__name__, function.__doc__, function.__module__
    vars(test)["claims"] = tuple(made)
    return test


def _stated(docstring: str) -> dict[str, str]:
    """The fields of a docstring; a paragraph without a label continues the one above it."""
    fields, name = {"statement": ""}, "statement"
    for paragraph in docstring.split("\n\n"):
        text = " ".join(paragraph.split())
        label, colon, rest = text.partition(": ")
        if colon and label in LABELS:
            name, text = LABELS[label], rest
        fields[name] = f"{fields.get(name, '')} {text}".strip()
    return fields


# by id in lower case, which is also its anchor
CLAIMS: dict[str, Claim] = {}


def register(made: Claim) -> Claim:
    """Add a claim from outside, `test_x.claim`, to those that `collect` finds in any folder.

    Raises ValueError if its id is taken.
    """
    CLAIMS[check_new(made.id.lower(), CLAIMS, "a claim")] = made
    return made


def _check_fields(made: Claim) -> None:
    if made.paper not in PAPERS:
        raise ValueError(f"{made.id}: paper must be one of {', '.join(PAPERS)}; got {made.paper!r}")
    if not (made.statement and made.hypotheses):
        lacking = "Hypotheses:" if made.statement else "the statement, which comes first"
        raise ValueError(f"{made.id}: the docstring of the check lacks {lacking}")
    unknown = [name for name in made.method.split(", ") if name not in METHODS]
    if unknown:
        raise ValueError(f"{made.id}: method must be among {', '.join(METHODS)}; got {unknown[0]!r}")
    if ("formal" in made.method.split(", ")) != bool(made.formal):
        raise ValueError(f"{made.id}: the method formal and the label In Coq belong together")
    if made.verdict in REFUTED and not made.correction:
        raise ValueError(f"{made.id}: {made.verdict.name} needs a correction; the docstring lacks Instead:")
    if made.correction and made.verdict not in REFUTED:
        words = ", ".join(verdict.name for verdict in REFUTED)
        raise ValueError(f"{made.id}: a correction, Instead:, belongs to {words} alone")
    if not made.mutants and made.verdict not in UNCHECKED:
        raise ValueError(f"{made.id}: mutants must name what the check would notice; got none")


def decide(
    made: Claim,
    cases: int | None = None,
    seed: int = 0,
    shrink: bool = True,
    only: tuple[int, Any] | None = None,
) -> Outcome:
    """Run a check, with `cases` in place of its own number; its randomness depends on seed and id alone.

    A counterexample is shrunk unless it is enough to know that there is one. `only`, (call, counterexample)
    of an outcome, checks that value again, and no other.
    """
    check = Check(cases or made.cases, zlib.crc32(f"{seed}:{made.id}".encode()), shrink, only)
    failure = None
    try:
        made.function(check)
        failure = None if only else _unsupported(made, check)
    except Exception as error:
        failure = str(error) if isinstance(error, ClaimFailed) else f"{type(error).__name__}: {error}"
    record = tuple(check.witnesses), tuple(check.found), failure
    if not failure or check.failing is None:
        return Outcome(check.counted, check.unsettled, *record)
    return Outcome(check.counted, check.unsettled, *record, check.failing, check.call, check.smaller)


def _unsupported(made: Claim, check: Check) -> str | None:
    """Why what was found does not support the verdict, or None."""
    verdict = made.verdict
    if (verdict in REFUTED) != bool(check.witnesses):
        if check.witnesses:
            return f"'{verdict.value}', and check.refutes has a witness against the printed statement"
        return f"'{verdict.value}' needs a witness against the printed statement, by check.refutes"
    if check.conclusion is not (verdict if verdict in EXPERIMENTAL else None):
        if check.conclusion is None:
            return f"'{verdict.value}' needs what the records say, by check.concludes"
        return f"'{verdict.value}', and the records say '{check.conclusion.value}'"
    if verdict in (EMPIRICAL, *EXPERIMENTAL) and not check.found:
        return f"'{verdict.value}' with nothing measured"
    if verdict not in UNCHECKED and not check.counted:
        return f"'{verdict.value}' with no case checked"
    return None


def collect(folder: Path, paper: str | None = None, pattern: str | None = None) -> list[Claim]:
    """The claims of the `test_*.py` in a folder, which is a package, and of `CLAIMS`; by paper, then by id.

    `paper` keeps one paper, `pattern` the ids that begin with it, in any case. Raises FileNotFoundError where
    the folder has no checks, and ValueError for an id used twice or a file that cannot be imported.
    """
    files = sorted(Path(folder).resolve().glob("test_*.py"))
    if not files:
        raise FileNotFoundError(f"no test_*.py in {folder}: run in the repository, or name its proofs_checks")
    root = str(files[0].parent.parent)
    if root not in sys.path:
        sys.path.insert(0, root)
    modules = [_imported(f"{file.parent.name}.{file.stem}") for file in files]
    claims = dict(CLAIMS)
    for module in modules:
        for value in vars(module).values():
            for made in _claims_of(value):
                if made.function.__module__ == module.__name__:
                    other = claims.setdefault(made.id.lower(), made)
                    if other is not made:
                        raise ValueError(f"{made.id} is claimed by {other.test} and by {made.test}")
    start = (pattern or "").lower()
    chosen = [made for key, made in claims.items() if key.startswith(start) and paper in (None, made.paper)]
    return sorted(chosen, key=lambda made: order(made.paper, made.id))


def _claims_of(value: Any) -> tuple[Claim, ...]:
    """Those of a test; () for anything else, a module with a member `claims` among it."""
    made = getattr(value, "claims", ())
    return made if isinstance(made, tuple) and all(isinstance(one, Claim) for one in made) else ()


def _imported(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except Exception as error:
        raise ValueError(f"{name} cannot be imported: {type(error).__name__}: {error}") from error


def order(paper: str, id: str) -> tuple[Any, ...]:
    """Sorts by paper, then by id with its numbers as numbers."""
    parts = re.split(r"(\d+)", id)
    natural = [(0, int(part), "") if part.isdigit() else (1, 0, part) for part in parts if part]
    return (list(PAPERS).index(paper), natural)


def decide_all(
    claims: Sequence[Claim], cases: int | None = None, seed: int = 0, jobs: int = 1
) -> Iterator[tuple[Claim, Outcome]]:
    """`decide` for each claim as it ends, in `jobs` processes (longest first); in order with one."""
    if jobs == 1:
        for made in claims:
            yield made, decide(made, cases, seed)
        return
    # spawned: a fork would copy the locks of threads that it does not copy
    with multiprocessing.get_context("spawn").Pool(jobs, work_quietly, (sys.path,)) as pool:
        # a claim's function is hidden behind its test, so it travels by name; longest first
        names = [
            (place, made.function.__module__, made.function.__name__, made.id, cases, seed)
            for place, made in sorted(enumerate(claims), key=lambda item: -item[1].cases)
        ]
        for place, outcome in pool.imap_unordered(_decide_named, names):
            yield claims[place], outcome


def _decide_named(named: tuple[int, str, str, str, int | None, int]) -> tuple[int, Outcome]:
    place, module, name, id, cases, seed = named
    made = {one.id: one for one in getattr(importlib.import_module(module), name).claims}
    return place, decide(made[id], cases, seed)
