"""Every family against every method with fixed seeds, and whether the attacks notice a liar."""

import pytest

from .attacks import ATTACKS, attempt, make, warm_up
from .designs import FAMILIES
from .run import FAILURES

# Seconds for each family and method here: `make attack` is for more.
DESIGNS = {"step": 12, "path": 4, "set": 3}


@pytest.fixture(scope="module", autouse=True)
def _warm():
    warm_up(ATTACKS)


@pytest.mark.parametrize("method", ATTACKS)
@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_no_false_claim(family, method):
    failures = []
    for seed in range(DESIGNS[ATTACKS[method][0]]):
        kind, words = attempt(make(family, method, seed))
        if kind in FAILURES:
            failures.append(f"{kind}: --family {family} --method {method} --seed {seed} --cases 1: {words}")
    assert not failures, "\n".join(failures)
