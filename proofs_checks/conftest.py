"""Hypothesis profiles of the checks: deterministic in CI, `HYPOTHESIS_PROFILE=thorough` at night."""

import os

from hypothesis import HealthCheck, settings

quiet = [HealthCheck.too_slow, HealthCheck.data_too_large]
settings.register_profile("ci", deadline=None, derandomize=True, max_examples=100, suppress_health_check=quiet)
settings.register_profile("thorough", deadline=None, max_examples=5000, suppress_health_check=quiet)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))
