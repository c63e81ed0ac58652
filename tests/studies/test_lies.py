"""Every row of the ledger can turn red."""

import functools
import importlib
import sys

import pytest
from claims import CLAIMS
from liars import liars

from sparselin.ledger import decide


def _holders(name, function):
    """The modules of helpers of the claims that call the function by this name."""
    helpers = [module for key, module in sys.modules.items() if key.startswith("proofs_checks.")]
    return [module for module in helpers if vars(module).get(name) is function]


@functools.cache
def rounds(made):
    """Return the numbers of cases to try: most lies are seen with few, which count if they pass the truth."""
    few = -(-made.ci_cases // 16)
    return [made.ci_cases] if decide(made, few, shrink=False).failure else [few, made.ci_cases]


@pytest.mark.parametrize(
    ("made", "name"),
    [pytest.param(made, name, id=f"{made.id}:{name}") for made in CLAIMS for name in made.mutants],
)
def test_a_row_turns_red_when_a_function_under_test_lies(made, name, monkeypatch):
    owner, _, attribute = name.rpartition(".")
    module = importlib.import_module("sparselin") if owner == "sl" else sys.modules[made.function.__module__]
    true = getattr(module, attribute)
    lies, holders = dict(liars(true)), [module, *_holders(attribute, true)]
    for cases in rounds(made):
        for lying in lies.values():
            for holder in holders:
                monkeypatch.setattr(holder, attribute, lying)
            if decide(made, cases, shrink=False).failure:
                return
    pytest.fail(f"{made.id} stands although {name} lies: {', '.join(lies)}")
