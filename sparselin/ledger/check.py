"""The check of a statement: it counts cases, and records witnesses and measurements; `decide` runs it."""

from __future__ import annotations

import dataclasses
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from sparselin.ensembles import ENSEMBLES, Design
from sparselin.ensembles.claims import smaller
from sparselin.ensembles.saved import as_design, describe_value
from sparselin.ledger.statement import EMPIRICAL, EXPERIMENTAL, REFUTED, UNCHECKED, Claim, Verdict
from sparselin.parallel.processes import describe_error


@dataclasses.dataclass(frozen=True)
class Outcome:
    """The outcome of one check.

    Attributes
    ----------
    cases : the number of cases in which the statement, or its correction, held.
    undecided : the number of cases that floating point could not decide; `cases` does not include them.
    witnesses : the cases in which the printed statement fails.
    found : the measurements, one sentence each.
    failure : the reason why the verdict is not supported; None if it is supported.
    counterexample : the value on which the check failed, after shrinking; else None.
    call : the number, from 1, of the call of `forall` or `over` that found the counterexample; 0 for none.
    smaller : for a call of `over`, a smaller design on which the check also fails. This design may violate
        the hypotheses.
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
    """The error that a case contradicts the claim, or that a witness does not refute the statement."""


class Check:
    """The argument of a check: the number of cases, a random generator, and the record of the outcome.

    only : (call, value), to check one value again. The calls of `forall` and `over` are numbered from 1. Only
        the call with the number `call` checks something, namely this value.
    ensembles : the names of the ensembles of `designs`; () for all.
    """

    def __init__(
        self,
        cases: int,
        seed: int,
        shrink: bool = True,
        only: tuple[int, Any] | None = None,
        ensembles: Sequence[str] = (),
    ) -> None:
        self.cases = cases
        self.seed = seed
        self.ensembles = ensembles
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
        """Check that holds(value) is true for `cases` values of a Hypothesis strategy.

        cases : by default `self.cases`.

        A value that fails is shrunk before it is reported, unless `decide` has shrink=False. To discard a
        value, the function `holds` calls `hypothesis.assume`.
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
        """Check that holds(value) is true for each of the values. Random values are drawn from `self.rng`."""
        if self._is_replayed(holds):
            return
        for value in values:
            try:
                self._one(value, holds)
            except Exception:
                self.smaller = self._smaller(value, holds) if self.shrink else None
                raise

    def designs(self, cases: int | None = None) -> Iterator[Design]:
        """Yield `cases` designs for `over`, in turn from the ensembles of `sparselin ledger --ensembles`.

        cases : by default `self.cases`.
        """
        names = self.ensembles or tuple(ENSEMBLES)
        for i in range(cases or self.cases):
            yield ENSEMBLES[names[i % len(names)]].design(i // len(names), self.seed)

    def tally(self, cases: int, violations: int = 0, example: str = "") -> None:
        """Add the numbers of cases and of violations that the caller has counted.

        example : a violation, in words.
        """
        self.counted += cases
        if violations:
            raise ClaimFailed(f"{violations} of {cases} cases fail, the first: {example}")

    def undecided(self, cases: int = 1) -> None:
        """Add `cases` to the number of cases that floating point could not decide."""
        self.unsettled += cases

    def refutes(self, fails: Any, witness: str) -> None:
        """Record a witness, at which the printed statement fails. Raises ClaimFailed if `fails` is false."""
        if not fails:
            raise ClaimFailed(f"the printed statement is not refuted by {witness}")
        self.witnesses.append(witness)

    def measured(self, sentence: str) -> None:
        """Record a measurement, which must depend only on the seed and the number of cases."""
        self.found.append(sentence)

    def concludes(self, verdict: Verdict) -> None:
        """Record the verdict, one of `EXPERIMENTAL`, that follows from the records of an experiment."""
        self.conclusion = verdict

    def _one(self, value: Any, holds: Callable[[Any], Any]) -> None:
        self.failing = value
        if not holds(value):
            raise ClaimFailed(f"counterexample: {describe_value(value)}")
        self.failing = None
        self.counted += 1

    def _is_replayed(self, holds: Callable[[Any], Any]) -> bool:
        """Count this call of `forall` or `over`. If `only` names this call, check the value of `only`.

        Returns whether `only` is set. If it is set, the caller must check nothing else.
        """
        self.call += 1
        if self.only is not None and self.only[0] == self.call:
            self._one(self.only[1], holds)
        return self.only is not None

    def _smaller(self, value: Any, holds: Callable[[Any], Any]) -> Design | None:
        """Return a smaller design on which `holds` returns False and raises no error, or None."""
        design = as_design(value)
        if design is None:
            return None
        try:
            found = smaller(
                lambda part: bool(holds(part if isinstance(value, Design) else (part.X, part.y))),
                *design,
                calls=500,
            )
        except ValueError:
            return None
        return found if found.X.size < design.X.size else None


def decide(
    made: Claim,
    cases: int | None = None,
    seed: int = 0,
    shrink: bool = True,
    only: tuple[int, Any] | None = None,
    ensembles: Sequence[str] = (),
) -> Outcome:
    """Run the check of a claim and return its outcome.

    The random numbers of the check depend only on the seed and on the id of the claim.

    cases : the number of cases; by default the number that the claim states.
    shrink : whether to shrink a counterexample.
    only : (call, counterexample) of an outcome, to check only this value again.
    ensembles : the names of the ensembles from which `check.designs` draws; () for all.

    >>> from sparselin.ledger import OPEN, claim
    >>> @claim("ours-even", "an example", "exact", OPEN)
    ... def test_even(check):
    ...     "2n is even.\\n\\nHypotheses: integer n"
    ...     check.over(range(9), lambda n: 2 * n % 2 == 0)
    >>> outcome = decide(test_even.claim)
    >>> outcome.cases, outcome.failure
    (9, None)
    """
    check = Check(cases or made.cases, zlib.crc32(f"{seed}:{made.id}".encode()), shrink, only, ensembles)
    failure = None
    try:
        made.function(check)
        failure = None if only else _objection(made, check)
    except Exception as error:
        failure = str(error) if isinstance(error, ClaimFailed) else describe_error(error)
    outcome = Outcome(
        cases=check.counted,
        undecided=check.unsettled,
        witnesses=tuple(check.witnesses),
        found=tuple(check.found),
        failure=failure,
    )
    if not failure or check.failing is None:
        return outcome
    return dataclasses.replace(outcome, counterexample=check.failing, call=check.call, smaller=check.smaller)


def _objection(made: Claim, check: Check) -> str | None:
    """Return the reason why the outcome does not support the verdict, or None if it does."""
    verdict = made.verdict
    if (verdict in REFUTED) != bool(check.witnesses):
        if check.witnesses:
            return f"'{verdict.value}', but check.refutes has a witness against the printed statement"
        return f"'{verdict.value}' needs a witness against the printed statement, by check.refutes"
    if check.conclusion is not (verdict if verdict in EXPERIMENTAL else None):
        if check.conclusion is None:
            return f"'{verdict.value}' needs a conclusion from the records, by check.concludes"
        return f"'{verdict.value}', but the records say '{check.conclusion.value}'"
    if verdict in (EMPIRICAL, *EXPERIMENTAL) and not check.found:
        return f"'{verdict.value}', but nothing was measured"
    if verdict not in UNCHECKED and not check.counted:
        return f"'{verdict.value}', but no case was checked"
    return None
