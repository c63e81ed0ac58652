"""Found by an attack: first entry: T = (3,) lacks [2], |c| = [1. 0.5], λ* = 1.0"""  # fmt: skip

import numpy as np

from ..attacks import stands
from ..run import Case

h = float.fromhex
CASE = Case(
    "first_entry",
    np.array([
        [1, 1, h("0x1.7d78400000000p+26"), 0],
        [0, h("0x1.0000000000000p-23"), 0, 0],
        [0, 0, 1, 0],
        [0, 0, 0, h("0x1.0000000000000p-1")],
    ], np.float64),
    np.array([
        [1, 1, 1, 1],
    ], np.float64)[0],
    (0, 1), 0, "C",
)  # fmt: skip


def test_case_4974480263():
    stands(CASE)
