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

from sparselin.ledger.check import Check, ClaimFailed, Outcome, decide
from sparselin.ledger.marks import claim, claims, mutants
from sparselin.ledger.registry import CLAIMS, collect, decide_all, order, register
from sparselin.ledger.statement import (
    CONTRADICTED,
    CORRECTED,
    EMPIRICAL,
    EXPERIMENTAL,
    FALSE,
    HOLDS,
    LABELS,
    METHODS,
    MISPRINT,
    NEEDS_DATA,
    NOT_REPRODUCED,
    OPEN,
    PAPERS,
    REFUTED,
    REPRODUCED,
    UNCHECKED,
    UNDECIDED,
    Claim,
    Verdict,
    paper,
)

__all__ = [
    "CLAIMS",
    "CONTRADICTED",
    "CORRECTED",
    "EMPIRICAL",
    "EXPERIMENTAL",
    "FALSE",
    "HOLDS",
    "LABELS",
    "METHODS",
    "MISPRINT",
    "NEEDS_DATA",
    "NOT_REPRODUCED",
    "OPEN",
    "PAPERS",
    "REFUTED",
    "REPRODUCED",
    "UNCHECKED",
    "UNDECIDED",
    "Check",
    "Claim",
    "ClaimFailed",
    "Outcome",
    "Verdict",
    "claim",
    "claims",
    "collect",
    "decide",
    "decide_all",
    "mutants",
    "order",
    "paper",
    "register",
]
