"""The Hypothesis profiles of `tests/` and `proofs_checks/`, which are deterministic by default.

With HYPOTHESIS_PROFILE=thorough there are many more examples. There is no deadline, because a call may
compile a kernel. Kernels are compiled at their first call, unless a test or SPARSELIN_COMPILE says otherwise.
While tests are collected they run as for users: small problems at the top of a file compile nothing.
"""

import importlib.util
import os
import sys

import pytest
from hypothesis import HealthCheck, settings

# Doctests are collected from the pages. tests/test_gallery.py runs the gallery, and `make docs` runs the
# rest.
collect_ignore_glob = ["docs/conf.py", "docs/_build/*", "docs/_ext/*", "docs/gallery/*", "docs/made/*"]
if importlib.util.find_spec("torch") is None:
    collect_ignore_glob += [
        "sparselin/neural/*",
        "proofs_checks/experiments/networks/*",
        "docs/guide/networks.md",
        "docs/networks-tables.md",
    ]
if importlib.util.find_spec("pysindy") is None:
    collect_ignore_glob += ["sparselin/estimators/sindy.py", "docs/guide/sindy.md", "docs/upstream/pysindy*"]
if importlib.util.find_spec("chaospy") is None:
    collect_ignore_glob += ["docs/guide/chaos.md"]

os.environ.setdefault("SPARSELIN_COMPILE", "always")
quiet = [HealthCheck.too_slow, HealthCheck.data_too_large]
common = {"deadline": None, "suppress_health_check": quiet}
settings.register_profile("ci", derandomize=True, max_examples=40, **common)
settings.register_profile("thorough", max_examples=3000, **common)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Collect without compiling: all processes collect the same files, and would wait for one another."""
    from sparselin import _kernels

    form = _kernels.form()
    with _kernels.use("auto" if form == "always" else form):
        return (yield)


@pytest.fixture(autouse=True)
def no_figure_stays_open():
    """Close all figures after each test: doctests leave theirs open, and matplotlib warns of more than 20."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")
