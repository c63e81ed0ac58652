"""The ledger: statements of the papers, each bound to a check that decides it.

A file in `proofs_checks/` marks one test for each statement with `claim`. The docstring of the test has the
statement, its hypotheses and, if the statement is false, its correction. The test receives a `Check`. With
this object the test counts cases, shows that a printed statement fails at a witness, and records
measurements. `decide` runs the test. A verdict is accepted only if the outcome supports it, so nobody can
edit a verdict without evidence.

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

from sparselin.ledger.check import Check as Check
from sparselin.ledger.check import ClaimFailed as ClaimFailed
from sparselin.ledger.check import Outcome as Outcome
from sparselin.ledger.check import decide as decide
from sparselin.ledger.marks import claim as claim
from sparselin.ledger.marks import claims as claims
from sparselin.ledger.marks import mutants as mutants
from sparselin.ledger.registry import CLAIMS as CLAIMS
from sparselin.ledger.registry import collect as collect
from sparselin.ledger.registry import decide_all as decide_all
from sparselin.ledger.registry import order as order
from sparselin.ledger.registry import register as register
from sparselin.ledger.statement import CONTRADICTED as CONTRADICTED
from sparselin.ledger.statement import CORRECTED as CORRECTED
from sparselin.ledger.statement import EMPIRICAL as EMPIRICAL
from sparselin.ledger.statement import EXPERIMENTAL as EXPERIMENTAL
from sparselin.ledger.statement import FALSE as FALSE
from sparselin.ledger.statement import HOLDS as HOLDS
from sparselin.ledger.statement import LABELS as LABELS
from sparselin.ledger.statement import METHODS as METHODS
from sparselin.ledger.statement import MISPRINT as MISPRINT
from sparselin.ledger.statement import NEEDS_DATA as NEEDS_DATA
from sparselin.ledger.statement import NOT_REPRODUCED as NOT_REPRODUCED
from sparselin.ledger.statement import OPEN as OPEN
from sparselin.ledger.statement import PAPERS as PAPERS
from sparselin.ledger.statement import REFUTED as REFUTED
from sparselin.ledger.statement import REPRODUCED as REPRODUCED
from sparselin.ledger.statement import UNCHECKED as UNCHECKED
from sparselin.ledger.statement import UNDECIDED as UNDECIDED
from sparselin.ledger.statement import Claim as Claim
from sparselin.ledger.statement import Verdict as Verdict
from sparselin.ledger.statement import paper as paper
