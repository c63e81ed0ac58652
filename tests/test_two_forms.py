"""The two forms of kernels, interpreted and compiled; `test_methods.py` compares them on all methods."""

import os
import subprocess
import sys

import numpy as np

from sparselin import _kernels


def test_a_kernel_computes_in_the_types_of_compiled_code(monkeypatch):
    """Constants are float64, so the sum of products of float32 is; and 1/0 is inf."""

    @_kernels.kernel()
    def mean(x):
        total, count = 0.0, 0.0
        for i in range(x.size):
            total += x[i] * x[i]
        return total, 1.0 / count

    x = np.random.default_rng(0).standard_normal(99).astype(np.float32)
    compiled = mean(x)
    monkeypatch.setattr(_kernels, "compiles", lambda: False)
    interpreted = mean(x)
    assert compiled == interpreted
    assert interpreted[0].dtype == np.float64
    assert interpreted[1] == np.inf


def test_a_kernel_for_kernels_may_be_called_from_python():
    from sparselin._kernels.linear_algebra import is_among

    assert is_among(2, np.arange(4), 3)


EXAMPLE = """
import sys
sys.modules["numba"] = None
import numpy as np, sparselin as sl
X = np.random.default_rng(0).standard_normal((20, 8))
y = X[:, 0] - X[:, 2]
omp, best = sl.omp(X, y, 2).support, sl.best_subset(X, y, 2).support
print(sorted(omp.tolist()), sl.verify(X, y, 2).verdict, sorted(best.tolist()))
"""


def run(code, **environment):
    command = [sys.executable, "-c", code]
    return subprocess.run(
        command, capture_output=True, text=True, env={**os.environ, **environment}, check=False
    )


def test_nothing_needs_numba():
    found = run(EXAMPLE)
    assert found.stdout == "[0, 2] agrees [0, 2]\n", found.stderr


def test_numba_is_imported_when_something_is_compiled():
    code = "\nprint('numba' in sys.modules)"
    found = run(EXAMPLE.replace('sys.modules["numba"] = None', "") + code, SPARSELIN_COMPILE="never")
    assert found.stdout.endswith("False\n"), found.stderr


def test_the_choice_of_form_is_checked():
    found = run("import sparselin as sl; sl.omp([[1.0], [2.0]], [1.0, 0.0], 1)", SPARSELIN_COMPILE="nver")
    assert 'SPARSELIN_COMPILE must be "always" or "never"; got \'nver\'' in found.stderr
