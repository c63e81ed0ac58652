"""Damaged files in Numba's cache, and kernels that run as Python because compilation is switched off."""

import os
import shutil
import subprocess
import sys

import numba
import pytest

from sparselin._kernels import kernel


def double(x):
    return 2 * x


def triple(x):
    return 3 * x


def first_call(function, x):
    """Return f(x), and how often the cache had what the call needed, as in a new process."""
    compiled = kernel()(function)
    return compiled(x), sum(compiled.stats.cache_hits.values())


@pytest.fixture
def files(tmp_path, monkeypatch):
    """A function that returns the files of a cache, sorted, which holds two kernels."""
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    assert first_call(double, 1.5) == (3.0, 0)
    assert first_call(double, 1.5) == (3.0, 1)
    assert first_call(triple, 1.5) == (4.5, 0)
    return lambda name, end: sorted(tmp_path.rglob(f"*.{name}-*{end}"))


@pytest.mark.parametrize("end", [".nbi", ".nbc"])
@pytest.mark.parametrize("damage", ["empty", "zeros", "bytes", "half", "one bit", "another pickle"])
def test_a_damaged_file_counts_as_missing_and_is_overwritten(end, damage, files):
    (path,) = files("double", end)
    whole = path.read_bytes()
    bit = bytearray(whole)
    bit[len(bit) // 2 if end == ".nbc" else 5] ^= 1
    damaged = {
        "empty": b"",
        "zeros": bytes(200),
        "bytes": bytes(range(256)),
        "half": whole[: len(whole) // 2],
        "one bit": bytes(bit),
        "another pickle": b"I1\n.",
    }
    path.write_bytes(damaged[damage])
    assert first_call(double, 1.5) == (3.0, 0)
    assert first_call(double, 1.5) == (3.0, 1)


def test_an_index_that_names_the_file_of_another_kernel(files):
    shutil.copy(*files("triple", ".nbc"), *files("double", ".nbc"))
    assert first_call(double, 1.5) == (3.0, 0)
    assert first_call(double, 1.5) == (3.0, 1)


AS_PYTHON = """
from fractions import Fraction
import numpy as np, sparselin as sl
from sparselin._kernels.refinement import _product
for a, b in np.random.default_rng(0).standard_normal((50, 2)) * 2.0 ** np.arange(-25, 25)[:, None]:
    p, e = _product(a, b)
    assert Fraction(float(a)) * Fraction(float(b)) == Fraction(float(p)) + Fraction(e)
X = np.random.default_rng(0).standard_normal((8, 3))
y = X[:, 0] - X[:, 2]
flow = sl.gradient_flow(X, y)
print(sl.sequential_attention(X, y, 2).support, flow.supports[-1], sl.verify(X, y, 2).verdict)
"""


def test_kernels_run_as_python_if_compilation_is_switched_off():
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    command = [sys.executable, "-c", AS_PYTHON]
    run = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
    assert run.stdout == "[0 2] (0, 2) agrees\n"
