"""Found by an attack: at λ = 0.0 (of 0.5) the KKT conditions fail by 1 at column 2; rounding
explains 47.7"""  # fmt: skip

import numpy as np

from ..attacks import stands
from ..run import Case

h = float.fromhex
CASE = Case(
    "lasso_path",
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


def test_case_13c671ab6b():
    stands(CASE)
