"""Low rank plus small noise: `lasso_path` went round endlessly, or returned knots that were no solutions."""

import numpy as np
import pytest

from ..attacks import stands
from ..run import Case


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("n", "d", "rank", "noise"), [(20, 120, 10, 3e-4), (14, 60, 7, 1e-4)])
def test_low_rank(n, d, rank, noise, seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, rank)) @ rng.standard_normal((rank, d)) + noise * rng.standard_normal((n, d))
    stands(Case("lasso_path", X, rng.standard_normal(n)))
