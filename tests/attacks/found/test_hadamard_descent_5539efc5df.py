"""Found by an attack: LinAlgError: Singular matrix, where memory that was not written held a one.

The LASSO path that judges the descent inverted a Cholesky factor, of whose square only the lower triangle is
written.
"""

import types

import numpy as np

from sparselin.lasso import _candidates

from ..attacks import stands
from ..run import Case

CASE = Case(
    "hadamard_descent",
    np.array([
        [0, 1, 1],
        [1, 1, 0],
        [0, 0, 1],
    ], np.float64),
    np.array([
        [0, -1, -1],
    ], np.float64)[0],
    (0, 1), 1557985586, "C",
)  # fmt: skip


def test_case_5539efc5df(monkeypatch):
    memory_of_ones = types.SimpleNamespace(**{**vars(np), "empty": np.ones})
    monkeypatch.setattr(_candidates, "np", memory_of_ones)
    stands(CASE)
