"""Found by an attack: its own promises are broken: [('OMP', 'certificate after the run')]"""  # fmt: skip

import numpy as np

from ..attacks import stands
from ..run import Case

h = float.fromhex
CASE = Case(
    "guarantee_bounds",
    np.array([
        [h("0x1.75f0760000000p+0"), h("0x1.75f0760000000p+0")],
        [h("-0x1.07a1260000000p-1"), h("-0x1.07a1240000000p-1")],
    ], np.float32),
    np.array([
        [8, -1],
    ], np.float32)[0],
    (), 1557985734, "C",
)  # fmt: skip


def test_case_e95f106b3a():
    stands(CASE)
