"""Found by attacks: column 2 is almost in the span of the forced columns, and T = {2, 3} lacked it.

With the columns [0, 1] forced: T = (3,) lacks [2], |c| = [1. 0.5], λ* = 1.0 (q = [1. 1.] of OLS); and on the
path of the LASSO the KKT conditions at λ = 0.0 (of 0.5) fail by 1 at column 2; rounding explains 47.7.
"""

import numpy as np
import pytest

from ..attacks import stands
from ..run import Case

h = float.fromhex
X = np.array([
    [1, 1, h("0x1.7d78400000000p+26"), 0],
    [0, h("0x1.0000000000000p-23"), 0, 0],
    [0, 0, 1, 0],
    [0, 0, 0, h("0x1.0000000000000p-1")],
], np.float64)  # fmt: skip


@pytest.mark.parametrize("method", ["first_entry", "lasso_path", "ols", "omp", "sequential_lasso"])
def test_a_column_almost_in_the_span(method):
    stands(Case(method, X, np.ones(4), (0, 1), 0, "C"))
