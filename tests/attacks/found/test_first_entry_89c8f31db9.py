"""Found by an attack: first entry: A(S) = (0, 6), claimed (0,)"""  # fmt: skip

import numpy as np

from ..attacks import stands
from ..run import Case

h = float.fromhex
CASE = Case(
    "first_entry",
    np.array([
        [1, 1, 0, 1, 1, 0, 0],
        [1, 0, 0, 0, 1, 1, 1],
        [1, 1, 1, 0, 1, 0, 0],
        [0, 0, 1, 0, 1, 1, 0],
        [1, 1, 0, 0, 0, 0, 0],
    ], np.float64),
    np.array([
        [0, 3, -1, 0, 1],
    ], np.float64)[0],
    (1,), 0, "C",
)  # fmt: skip


def test_case_89c8f31db9():
    stands(CASE)
