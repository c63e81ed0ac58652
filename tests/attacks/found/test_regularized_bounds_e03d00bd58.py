"""Found by an attack, a flaw of its judge: achieved of g is 1.0, claimed Interval(lower=0.9770822567976928,
upper=0.9770963336226912, method='all sets', rounding=2.847979759223048e-05)"""  # fmt: skip

import numpy as np

from ..attacks import stands
from ..run import Case

h = float.fromhex
CASE = Case(
    "regularized_bounds",
    np.array([
        [h("0x1.98b9200000000p-1"), h("0x1.98ba200000000p-1"), h("0x1.98ba000000000p-1")],
        [h("-0x1.60a1400000000p-2"), h("-0x1.609ee00000000p-2"), h("-0x1.609fe00000000p-2")],
        [h("0x1.07b4800000000p-2"), h("0x1.07b3800000000p-2"), h("0x1.07b4400000000p-2")],
    ], np.float32),
    np.array([
        [h("-0x1.0000000000000p-1"), 1, -2],
    ], np.float32)[0],
    (), 1864766824, "C",
)  # fmt: skip


def test_case_e03d00bd58():
    stands(CASE)
