"""A statement of a paper, its verdict, and the papers that it may be of."""

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
    function : the check itself, of a `Check`.
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
