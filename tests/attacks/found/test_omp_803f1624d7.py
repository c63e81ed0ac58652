"""Found by an attack: NO_CORRELATION after [0], but c = [-1.33099168e-07] at [1] (e =
[2.82968344e-11])"""  # fmt: skip

import numpy as np

from ..attacks import stands
from ..run import Case

h = float.fromhex
CASE = Case(
    "omp",
    np.array([
        [h("0x1.869fa00000000p+16"), h("0x1.869e400000000p+16")],
        [100001, h("0x1.869fa00000000p+16")],
    ], np.float64),
    np.array([
        [1024, 1024],
    ], np.float64)[0],
    (), 0, "C",
)  # fmt: skip


def test_case_803f1624d7():
    stands(CASE)
