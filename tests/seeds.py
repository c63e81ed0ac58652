"""Seeds and random generators that Hypothesis draws."""

import numpy as np
from hypothesis import strategies as st

SEEDS = st.integers(0, 2**32 - 1)
GENERATORS = SEEDS.map(np.random.default_rng)
