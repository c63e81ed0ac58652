"""Hypothesis profiles of `tests/` and `proofs_checks/`: deterministic by default.

HYPOTHESIS_PROFILE=thorough draws many more. No deadline: the first call of a kernel compiles it.
"""

import importlib.util
import os
import sys

import pytest
from hypothesis import HealthCheck, settings

# The doctests are in the pages; tests/test_gallery.py runs the scripts, `make docs` the rest.
collect_ignore_glob = ["docs/conf.py", "docs/_build/*", "docs/_ext/*", "docs/gallery/*", "docs/made/*"]
if importlib.util.find_spec("torch") is None:
    collect_ignore_glob += [
        "sparselin/neural/*",
        "sparselin/estimators/*network*",
        "proofs_checks/experiments/networks/*",
        "docs/guide/networks.md",
        "docs/networks-tables.md",
    ]

quiet = [HealthCheck.too_slow, HealthCheck.data_too_large]
common = {"deadline": None, "suppress_health_check": quiet}
settings.register_profile("ci", derandomize=True, max_examples=40, **common)
settings.register_profile("thorough", max_examples=3000, **common)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


@pytest.fixture(autouse=True)
def no_figure_stays_open():
    """Doctests do not close theirs, and of more than 20 matplotlib warns."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")
