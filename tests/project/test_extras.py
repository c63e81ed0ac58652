"""Tests without optional packages: modules can be listed, and a missing name says what to install."""

import json
import subprocess
import sys

import pytest

import sparselin.estimators
from sparselin.validation.extras import installed_by

OPTIONAL = (
    "torch pysindy matplotlib pandas polars cvxpy clarabel hypothesis flint rich click anywidget duckdb "
    "pyarrow dask zarr jinja2 openpyxl"
)
# Hide the optional packages, as if they were not installed, and print what fails.
CODE = """
import importlib, importlib.util, inspect, json, pydoc, sys
hidden, missing, find = set(sys.argv[1].split()), json.loads(sys.argv[2]), importlib.util.find_spec

class Hider:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in hidden:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Hider())
importlib.util.find_spec = lambda name, package=None: None if name in hidden else find(name, package)
found = []
for name in ["", ".estimators", ".plots", ".spectral", ".ensembles", ".ensembles.datasets"]:
    module = importlib.import_module("sparselin" + name)
    exec(f"from {module.__name__} import *", {})
    pydoc.render_doc(module)
    listed = dict(inspect.getmembers(module))
    found += [(module.__name__, x) for x in dir(module) if not hasattr(module, x) or x not in listed]
for module, name, package in missing:
    thing = importlib.import_module(module)
    assert not hasattr(thing, name), name
    assert getattr(thing, name, None) is None
    for use in (lambda: getattr(thing, name), lambda: exec(f"from {module} import {name}")):
        try:
            use()
        except (AttributeError, ImportError) as error:
            found.append((type(error).__name__, name, str(error)))
print(json.dumps(found))
"""
MISSING = [
    ("sparselin.estimators", "LassoNetRegressor", "PyTorch: " + installed_by("neural")),
    ("sparselin.estimators", "SequentialAttentionClassifier", "PyTorch: " + installed_by("neural")),
    ("sparselin.estimators", "OLSOptimizer", "pysindy: pip install 'pysindy>=2.1'"),
    ("sparselin.estimators", "choose_terms", "pysindy: pip install 'pysindy>=2.1'"),
    ("sparselin", "neural", "PyTorch: " + installed_by("neural")),
    ("sparselin", "testing", "hypothesis: " + installed_by("verify")),
    ("sparselin", "inference", "python-flint: " + installed_by("verify")),
    ("sparselin", "explore", "anywidget: " + installed_by("notebooks")),
]


def test_modules_can_be_listed_without_optional_packages():
    """Only the names that need a package are absent, and each says how to install it."""
    command = [sys.executable, "-c", CODE, OPTIONAL, json.dumps(MISSING)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    expected = [
        [kind, name, f"{module}.{name} needs {words}"]
        for module, name, words in MISSING
        for kind in ("AttributeError", "ModuleNotFoundError")
    ]
    found = json.loads(done.stdout)
    # the import of a module has its own message
    assert [row[:2] for row in found] == [row[:2] for row in expected]
    assert all(
        row[2].endswith(words[2].split(" needs ")[1]) for row, words in zip(found, expected, strict=True)
    )


def test_an_unknown_name_is_no_missing_extra():
    with pytest.raises(AttributeError, match="attribute nonsense"):
        getattr(sparselin.estimators, "nonsense")  # noqa: B009
