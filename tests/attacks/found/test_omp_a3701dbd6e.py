"""Found by an attack: ValueError: zero-size array to reduction operation maximum which has no
identity"""  # fmt: skip

import numpy as np

from ..attacks import stands
from ..run import Case

h = float.fromhex
CASE = Case(
    "omp",
    np.array([
        [h("-0x1.e994640000000p-2"), h("-0x1.e99c6e0000000p-2"), h("-0x1.e983c80000000p-2")],
        [h("-0x1.e3228a0000000p-2"), h("-0x1.e33bb20000000p-2"), h("-0x1.e353340000000p-2")],
        [h("-0x1.73de700000000p-1"), h("-0x1.73d49a0000000p-1"), h("-0x1.73d5820000000p-1")],
        [h("-0x1.2ad0880000000p-3"), h("-0x1.2abce20000000p-3"), h("-0x1.2ab4540000000p-3")],
    ], np.float32),
    np.array([
        [h("0x1.7060000000000p-2"), h("0x1.6b80000000000p-2"), h("0x1.17c0000000000p-1"),
         h("0x1.c180000000000p-4")],
    ], np.float32)[0],
    (), 0, "C",
)  # fmt: skip


def test_case_a3701dbd6e():
    stands(CASE)
