"""The statements of the papers, their verdicts, and the list of papers."""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Callable
from typing import Any

PAPERS = {
    "SA": "Sequential Attention for Feature Selection",
    "SR": "Selecting Diverse Features via Spectral Regularization",
    "LN": "LassoNet: A Neural Network with Feature Sparsity",
    "ours": "Beyond the papers",
}


def paper(key: str, title: str) -> None:
    """Add a paper to the sources of claims. A claim belongs to it if its id begins with `key` and a hyphen.

    For your own claims, call this function above them in their file: paper("mine", "My conjectures"). Raises
    ValueError if the key is not a word of letters and digits, or if it already has another title.

    >>> paper("mine", "My conjectures")
    >>> PAPERS.pop("mine")
    'My conjectures'
    """
    if not key.isalnum():
        raise ValueError(f"key must be a word of letters and digits; got {key!r}")
    if PAPERS.setdefault(key, title) != title:
        raise ValueError(f"the paper {key!r} has the title {PAPERS[key]!r} already; choose another key")


# The labels of the fields of a `Claim`. A paragraph of a docstring that begins with a label is this field.
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


class Verdict(enum.Enum):
    """The verdict on a printed statement."""

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
    """A statement, and the function that checks it.

    Attributes
    ----------
    id : a short name, `paper-kind-number`.
    paper : the beginning of the id, a key of `PAPERS`; "ours" for statements beyond the papers.
    number : the number of the statement in each version of the paper.
    statement : one line, in our notation.
    hypotheses : the hypotheses under which it is checked.
    method : the methods of the check, a comma-separated choice of `METHODS`.
    verdict : the verdict that the check must support.
    correction : the corrected statement, if the printed statement fails.
    consequences : the other statements that fail because this one fails, or that hold nevertheless; and the
        reason.
    unchecked : the part of the statement that is not checked.
    tolerance : the tolerance of comparisons in floating point, and its reason.
    formal : the theorems of proofs_checks/formal/theorems.v that state the claim, if the method is "formal".
    reading_of : the printed words, if they are ambiguous and the statement is one reading of them; else
        empty.
    mutants : the functions under test, which the decorator `mutants` names.
    cases, ci_cases : `Check.cases` of a thorough run and of a test.
    test : the place of the check, as file::function.
    function : the check itself, a function of a `Check`.
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
    function: Callable[[Any], None]


def check_fields(made: Claim) -> None:
    """Raise ValueError if fields of a claim are missing, unknown, or do not fit its verdict."""
    if made.paper not in PAPERS:
        raise ValueError(f"{made.id}: paper must be one of {', '.join(PAPERS)}; got {made.paper!r}")
    if not (made.statement and made.hypotheses):
        lacking = "Hypotheses:" if made.statement else "the statement, which comes first"
        raise ValueError(f"{made.id}: the docstring of the check lacks {lacking}")
    unknown = [name for name in made.method.split(", ") if name not in METHODS]
    if unknown:
        raise ValueError(f"{made.id}: method must be among {', '.join(METHODS)}; got {unknown[0]!r}")
    if ("formal" in made.method.split(", ")) != bool(made.formal):
        raise ValueError(f"{made.id}: the method formal needs the label In Coq, and the label the method")
    if made.verdict in REFUTED and not made.correction:
        raise ValueError(f"{made.id}: {made.verdict.name} needs a correction; the docstring lacks Instead:")
    if made.correction and made.verdict not in REFUTED:
        words = ", ".join(verdict.name for verdict in REFUTED)
        raise ValueError(f"{made.id}: a correction, Instead:, belongs only to {words}")
    if not made.mutants and made.verdict not in UNCHECKED:
        raise ValueError(f"{made.id}: mutants must name the functions under test; got no names")
