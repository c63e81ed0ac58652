"""Shared by the tests: Hypothesis profiles and the designs that break other packages."""

from __future__ import annotations

import os

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

# Compilation makes first calls slow: no deadline. CI is deterministic; `thorough` is for nights.
quiet = [HealthCheck.too_slow, HealthCheck.data_too_large]
settings.register_profile("ci", deadline=None, derandomize=True, max_examples=60, suppress_health_check=quiet)
settings.register_profile("thorough", deadline=None, max_examples=2000, suppress_health_check=quiet)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(20261121)
