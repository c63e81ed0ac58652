"""Found by an attack: RuntimeWarning: invalid value encountered in divide"""  # fmt: skip

import numpy as np

from ..attacks import stands
from ..run import Case

h = float.fromhex
CASE = Case(
    "regularized_bounds",
    np.array([
        [0, 0],
        [0, 0],
        [0, 0],
    ], np.float64),
    np.array([
        [1, 2, 3],
    ], np.float64)[0],
    (), 0, "C",
)  # fmt: skip


def test_case_688ba6351f():
    stands(CASE)
