"""The Hypothesis profiles of `tests/` and `proofs_checks/`, which are deterministic by default.

With HYPOTHESIS_PROFILE=thorough there are many more examples. There is no deadline, because a call may
compile a kernel. Kernels are compiled at their first call, unless a test or SPARSELIN_COMPILE says otherwise.
While tests are collected they run as for users: small problems at the top of a file compile nothing.

A test that fails in a loop says which draw failed, such as `seed = 7`: `variables_of_loops`.
"""

import ast
import importlib.util
import os
import reprlib
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# Doctests are collected from the pages. tests/pages/test_gallery.py runs the gallery, and `make docs` runs
# the rest.
# files of the site, and scripts that compute when they are imported
collect_ignore_glob = ["docs/conf.py", "docs/_build/*", "docs/_ext/*", "docs/gallery/*", "docs/made/*"]
collect_ignore_glob += ["docs/guarantees_experiment.py"]
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


def variables_of_loops(frame, line):
    """Return the variables of the loops around a line of a running function, with their values."""
    tree = ast.parse(Path(frame.f_code.co_filename).read_text(encoding="utf-8"))
    around = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.For) and node.lineno <= line <= node.end_lineno
    ]
    names = [part.id for loop in around for part in ast.walk(loop.target) if isinstance(part, ast.Name)]
    return {name: frame.f_locals[name] for name in names if name in frame.f_locals}


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    """Add the variables of the loops of the test to its report, if it failed in one."""
    report = yield
    if report.failed and call.excinfo is not None:
        for entry in call.excinfo.traceback:
            if entry.path == item.path and entry.frame.raw.f_code.co_filename == str(item.path):
                found = variables_of_loops(entry.frame.raw, entry.lineno + 1)
                words = [f"{name} = {reprlib.repr(value)}" for name, value in found.items()]
                if words:
                    report.sections.append(("the draw that failed", ", ".join(words)))
    return report


@pytest.fixture(autouse=True)
def no_figure_stays_open():
    """Close all figures after each test: doctests leave theirs open, and matplotlib warns of more than 20."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")
