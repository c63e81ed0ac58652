"""The decorators that bind a statement to the function that checks it."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from sparselin.ledger.check import Check, decide
from sparselin.ledger.statement import LABELS, NEEDS_DATA, Claim, Verdict, check_fields

_Check = TypeVar("_Check", bound=Callable[..., None])


def mutants(*names: str) -> Callable[[_Check], _Check]:
    """Name the functions that a check tests, as "sl.name" (public functions) or "name" (in its own file).

    For each function, at least one false version (scaled, shifted, emptied, …) must make the claim fail.

    >>> @mutants("sl.omp")
    ... def test_residual(check):
    ...     "The residual of OMP decreases."
    >>> test_residual.mutants
    ('sl.omp',)
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
    """Mark a function as the check that decides a statement; the arguments are fields of `Claim`.

    The docstring of the check has the statement first, and then paragraphs that begin with a label of
    `LABELS` and a colon. Fields that several checks of a file have in common may be given as `shared`.

    The decorated function takes no arguments, so that pytest runs it: it calls `decide` with `ci_cases`, and
    raises AssertionError if the verdict is not supported. Its attribute `claim` is the `Claim`. The decorator
    raises ValueError for an unknown paper or method, for a missing statement or missing hypotheses, and for a
    verdict that does not fit the other fields.

    >>> from sparselin.ledger import OPEN
    >>> @claim("ours-even", "an example", "exact", OPEN)
    ... def test_even(check):
    ...     "2n is even.\\n\\nHypotheses: integer n"
    ...     check.over(range(9), lambda n: 2 * n % 2 == 0)
    >>> test_even.claim.statement, test_even.claim.hypotheses
    ('2n is even.', 'integer n')
    >>> test_even()  # as pytest calls it
    """

    def mark(function: Callable[[Check], None]) -> Callable[[], None]:
        given = {"number": number, "method": method, "cases": cases, "ci_cases": ci_cases, **shared}
        made = _make(function, inspect.getdoc(function) or "", id, verdict, given)
        test = _as_test(function, [made])
        vars(test)["claim"] = made
        return test

    return mark


def claims(
    each: Mapping[str, Mapping[str, str]],
    id: str,
    number: str,
    method: str,
    verdict: Callable[[str], Verdict],
) -> Callable[[Callable[[Check, str], None]], Callable[[], None]]:
    """Mark a function of (check, key) as the check of a family of statements: one statement per key.

    The statement of a key has the id f"{id}-{key}" and the verdict verdict(key). In the docstring {name}
    stands for each[key][name]. The function is called once for each key, with a `Check` as its first
    argument. The decorated function decides all statements, and its attribute `claims` holds their `Claim`
    objects.
    """

    def mark(function: Callable[[Check, str], None]) -> Callable[[], None]:
        text = inspect.getdoc(function) or ""
        given = {"number": number, "method": method, "cases": 1000, "ci_cases": 40}
        made = [
            _make(_at(function, key), text.format(**words), f"{id}-{key}", verdict(key), given)
            for key, words in each.items()
        ]
        return _as_test(function, made)

    return mark


def _at(function: Callable[[Check, str], None], key: str) -> Callable[[Check], None]:
    """Make the check of one key from a function of (check, key), and give it the same name and marks."""

    @functools.wraps(function)
    def check_one(check: Check) -> None:
        function(check, key)

    return check_one


def _make(
    function: Callable[[Check], None], docstring: str, id: str, verdict: Verdict, given: Mapping[str, Any]
) -> Claim:
    """Make the `Claim` of a check from its docstring and other given fields, and validate the claim."""
    texts = dict.fromkeys(LABELS.values(), "") | {"tolerance": "none"}
    made = Claim(
        id=id,
        paper=id.partition("-")[0],
        verdict=verdict,
        mutants=vars(function).get("mutants", ()) if verdict is not NEEDS_DATA else (),
        test=f"{function.__module__.rpartition('.')[2]}.py::{function.__name__}",
        function=function,
        **{**texts, **_parse(docstring), **given},
    )
    check_fields(made)
    return made


def _as_test(function: Callable[..., None], made: Sequence[Claim]) -> Callable[[], None]:
    """Convert a check to a test for pytest, which raises AssertionError unless all its claims pass.

    function : the check, whose name and docstring the test gets.
    made : the claims of the check.
    """

    def test() -> None:
        outcomes = [(claim.id, decide(claim, claim.ci_cases)) for claim in made]
        failures = [f"{id}: {outcome.failure}" for id, outcome in outcomes if outcome.failure]
        if failures:
            raise AssertionError("\n".join(failures))

    # not functools.wraps: pytest would unwrap it, and treat `check` as a fixture
    test.__name__, test.__doc__, test.__module__ = function.__name__, function.__doc__, function.__module__
    vars(test)["claims"] = tuple(made)
    return test


def _parse(docstring: str) -> dict[str, str]:
    """Parse the fields of a claim in a docstring.

    A paragraph without a label belongs to the field of the paragraph before it.
    """
    fields = {"statement": ""}
    name = "statement"
    for paragraph in docstring.split("\n\n"):
        text = " ".join(paragraph.split())
        label, colon, rest = text.partition(": ")
        if colon and label in LABELS:
            name = LABELS[label]
            text = rest
        fields[name] = f"{fields.get(name, '')} {text}".strip()
    return fields
