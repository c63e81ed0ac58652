"""Found by an attack: ‖r‖² of (0, 1, 2, 3, 4) is 0.0, ‖y‖² = 2.710906717747951, lower_bound
0.605930713156113"""  # fmt: skip

import numpy as np

from ..attacks import stands
from ..run import Case

h = float.fromhex
CASE = Case(
    "best_subset",
    np.array([
        [h("-0x1.334bfc69f12eep-2"), h("-0x1.334beda2a44c2p-2"), h("-0x1.334beb0c4deb8p-2"),
         h("-0x1.334bddbcc039ep-2"), h("-0x1.334bf06cdf093p-2")],
        [h("-0x1.7f43f1b2ace5cp+0"), h("-0x1.7f43f3e5dc138p+0"), h("-0x1.7f43f6cecdb0bp+0"),
         h("-0x1.7f43ee0134722p+0"), h("-0x1.7f43f61b5e53fp+0")],
        [h("-0x1.78f671aed4792p-2"), h("-0x1.78f6637d4652fp-2"), h("-0x1.78f676716f1d9p-2"),
         h("-0x1.78f669ea64071p-2"), h("-0x1.78f65de94849cp-2")],
        [h("-0x1.d3ea965a29e12p-2"), h("-0x1.d3ea832e65ee0p-2"), h("-0x1.d3ea7fd4456d1p-2"),
         h("-0x1.d3ea8ce8c9c29p-2"), h("-0x1.d3ea6ed4ecb48p-2")],
        [h("0x1.0814576b6905dp-1"), h("0x1.08144fef79c26p-1"), h("0x1.081452fe48193p-1"),
         h("0x1.08144b96d8756p-1"), h("0x1.08144f83388d3p-1")],
    ], np.float64),
    np.array([
        [h("0x1.4e116514b40c1p-3"), h("0x1.fac0d00f1ececp-2"), h("-0x1.9587d078898e7p-2"),
         h("-0x1.16eb5916a0fa8p+0"), h("0x1.0bf19a247b164p+0")],
    ], np.float64)[0],
    (), 0, "C",
)  # fmt: skip


def test_case_a498715d25():
    stands(CASE)
