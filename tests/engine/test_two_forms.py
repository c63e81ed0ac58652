"""The two forms of kernels, interpreted and compiled; `test_methods.py` compares them on all methods."""

import importlib
import inspect
import os
import pkgutil
import platform
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from bits import bits

import sparselin as sl
from sparselin import _kernels
from sparselin._kernels import interpreter
from sparselin._kernels.primitives import add_four_pairs, dot, dot_of_pairs, narrow_dot
from sparselin.parallel.threads import spread


def test_a_kernel_computes_in_the_types_of_compiled_code():
    """Constants are float64, so the sum of products of float32 is; and 1/0 is inf."""

    @_kernels.kernel()
    def mean(x):
        total, count = 0.0, 0.0
        for i in range(x.size):
            total += x[i] * x[i]
        return total, 1.0 / count

    x = np.random.default_rng(0).standard_normal(99).astype(np.float32)
    with _kernels.use("always"):
        compiled = mean(x)
    with _kernels.use("never"):
        interpreted = mean(x)
    assert compiled == interpreted
    assert type(compiled[0]) is type(interpreted[0]) is float
    assert interpreted[1] == np.inf


def test_a_kernel_for_kernels_may_be_called_from_python():
    from sparselin._kernels.linear_algebra import copy_rows

    A = np.empty((2, 3))
    copy_rows(np.ones((2, 3)), A)
    assert np.array_equal(A, np.ones((2, 3)))


def wide(a, b):
    return dot(a, b)


def narrow(a, b):
    return narrow_dot(a, b)


@pytest.mark.parametrize(("function", "kind"), [(wide, np.float64), (wide, np.float32), (narrow, np.float32)])
def test_sums_in_lanes_have_the_same_bits(function, kind):
    """The sizes are those of all ways in which lanes are folded; zeros may be −0."""
    product = _kernels.kernel()(function)
    rng = np.random.default_rng(0)
    for n in (*range(70), 1000, 3333):
        a, b = rng.standard_normal((2, n)).astype(kind)
        for x in (a, 0 * a, 1e30 * a):
            results = []
            for form in ("always", "never"):
                with _kernels.use(form):
                    results.append(np.float64(product(x, b)).tobytes())
            assert results[0] == results[1], n


@pytest.mark.parametrize("form", ["always", "never"])
def test_inner_products_refuse_gaps(form):
    """A sum over every other entry would have other lanes in one form than in the other."""
    with _kernels.use(form), pytest.raises(Exception, match="without gaps"):
        _kernels.kernel()(wide)(np.ones(8)[::2], np.ones(4))


def four(A, x, out):
    add_four_pairs(A, 1, 2, x, out)


@pytest.mark.parametrize("d", [0, 1, 7, 8, 503])
@pytest.mark.parametrize("form", ["always", "never"])
def test_products_of_four_pairs_are_exact_before_they_are_rounded(form, d):
    """The two sums of four products, in integers, are rounded to float32, and then added in float32."""
    rng = np.random.default_rng(0)
    most = np.array([[32767], [16383]])
    for signs in (rng.integers(-32767, 32768, (2, 12, d + 3)), np.full((2, 12, d + 3), -32768)):
        integers = np.maximum(signs[0], -32768)
        factors = np.clip(signs[1, :, 0], -most[1], most[1])
        A = (integers.astype(np.int16)).reshape(6, 2, -1).transpose(0, 2, 1).copy().view(np.int32)[..., 0]
        x = factors.astype(np.int16).view(np.int32)
        out = np.ones(d, np.float32)
        with _kernels.use(form):
            _kernels.kernel()(four)(A, x, out)
        terms = integers[2:10, 2 : d + 2] * factors[2:10, None]
        sums = [terms[:4].sum(axis=0).astype(np.float32), terms[4:].sum(axis=0).astype(np.float32)]
        assert np.array_equal(out, np.ones(d, np.float32) + (sums[0] + sums[1]))


def test_a_kernel_that_borrows_arrays_counts_no_references():
    """The private option of Numba still has its effect; else threads would share a counter for each array."""
    numba = pytest.importorskip("numba")

    def first_positive(A):
        for i in range(len(A)):
            row = A[i]
            for j in range(row.size):
                if row[j] > 0:
                    return i
        return -1

    counts = []
    for options in ({}, _kernels.BORROWED):
        compiled = numba.njit(**options)(first_positive)
        assert compiled(np.eye(3)[1:]) == 0
        counts.append("@NRT_decref" in next(iter(compiled.inspect_llvm().values())))
    assert counts == [True, False]


def pairs(a, x):
    return dot_of_pairs(a, x)


@pytest.mark.parametrize("m", [0, 16, 32, 48, 496])
def test_inner_products_of_pairs_have_the_same_bits(m):
    rng = np.random.default_rng(0)
    whole, factors = rng.integers(-32768, 32768, (2, 2 * m))
    factors = np.clip(factors, -16383, 16383)
    results = []
    for form in ("always", "never"):
        with _kernels.use(form):
            product = _kernels.kernel()(pairs)
            results.append(product(*(v.astype(np.int16).view(np.int32) for v in (whole, factors))))
    assert results[0] == results[1] == pytest.approx(float(whole @ factors), rel=1e-4)


def test_only_named_kernels_let_the_compiler_reorder_sums():
    """The docstring of `_kernels` says what is true of each of them."""
    found = set()
    for module in pkgutil.iter_modules(_kernels.__path__, "sparselin._kernels."):
        for name, kernel in vars(importlib.import_module(module.name)).items():
            if isinstance(kernel, _kernels.Kernel) and kernel.__module__ == module.name:
                free = kernel.targetoptions.get("fastmath", set())
                if free is True or set(free) & {"fast", "reassoc", "contract"}:
                    found.add(f"{module.name.rpartition('.')[2]}.{name}")
    assert found == {"products.by_rows", "products.by_columns", "batch_omp.extend"}


def test_the_interpreter_has_all_functions_of_math_that_kernels_use():
    from proofs_checks import sweep_kernel

    packages = [module.name for module in pkgutil.iter_modules(_kernels.__path__, "sparselin._kernels.")]
    for module in (sweep_kernel, *map(importlib.import_module, packages)):
        for value in vars(module).values():
            if isinstance(value, _kernels.Kernel):
                used = re.findall(r"\bmath\.(\w+)", inspect.getsource(value.py_func))
                assert all(hasattr(interpreter._Math, name) for name in used), (module.__name__, used)


@pytest.mark.parametrize("shape", [(60, 20), (40, 80), (100, 30)])
def test_larger_data_give_the_same_bits(shape):
    """The designs of `test_methods.py` are smaller than lanes."""
    rng = np.random.default_rng(shape)
    X = rng.standard_normal(shape)
    y = X[:, :3].sum(axis=1) + rng.standard_normal(shape[0])
    for A in (X, np.asfortranarray(X), X.astype(np.float32)):
        calls = (
            lambda A=A: sl.omp(A, y.astype(A.dtype), 5, intercept=True, standardize=True),
            lambda A=A: sl.ols(A, y.astype(A.dtype), 5),
            lambda A=A: sl.lasso_path(A, y.astype(A.dtype), max_steps=20),
            lambda A=A: sl.sequential_lasso(A, y.astype(A.dtype), 4),
            lambda A=A: sl.best_subset(A, y.astype(A.dtype), 2),
            lambda A=A: sl.batch_omp(A, np.column_stack([y, -2 * y]).astype(A.dtype), 4),
        )
        for call in calls:
            results = []
            for form in ("always", "never"):
                with _kernels.use(form):
                    results.append(bits(call()))
            assert results[0] == results[1]


PROCESSORS = """
import hashlib, logging, sys
sys.path.insert(0, {tests!r})
logging.getLogger("sparselin").setLevel("WARNING")
import numpy as np, sparselin as sl
from bits import bits
X, y = sl.ensembles.gaussian(60, 20, rng=0)
for A in (X, np.asfortranarray(X), X.astype(np.float32)):
    z = y.astype(A.dtype)
    omp, path = sl.omp(A, z, 5, intercept=True, standardize=True), sl.lasso_path(A, z)
    found = omp, path, sl.batch_omp(A, z[:, None], 4)
    print(hashlib.sha256(repr(bits(found)).encode()).hexdigest())
"""


@pytest.mark.slow
@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="Numba knows other processors")
def test_processors_without_fused_multiply_add_give_the_same_bits(tmp_path):
    code = PROCESSORS.format(tests=str(Path(__file__).parents[1]))
    found = []
    for processor in ("", "x86-64-v3", "nehalem"):  # this one; with AVX2 and FMA; with neither
        environment = {
            "NUMBA_CPU_NAME": processor,
            "NUMBA_CPU_FEATURES": "",
            "NUMBA_CACHE_DIR": str(tmp_path),
        }
        found.append(run(code, SPARSELIN_COMPILE="always", **environment if processor else {}))
    assert found[0].stdout.count("\n") == 3, found[0].stderr
    assert found[0].stdout == found[1].stdout == found[2].stdout


# The budget


@_kernels.inner()
def add_numbers(x, count):
    for i in range(count):
        x[i % x.size] += 1.0 + i


def numbers_added(pair, count):
    add_numbers(pair[0], count)
    return pair[1][0]


@pytest.fixture
def added():
    """A kernel that changes an array in each step; its other array is read-only."""
    return _kernels.kernel()(numbers_added)


def pair_of(size):
    fixed = np.ones(3)
    fixed.flags.writeable = False
    return np.zeros(size), fixed


def test_a_kernel_is_compiled_when_its_budget_is_spent(added):
    budget = _kernels.BUDGET * added.price
    with _kernels.use("auto"):
        added(pair_of(5), 10)
        assert 0 < added.work < budget
        assert not added.due
        while not added.due:
            added(pair_of(5), 10_000)
    assert added.compiled.signatures
    assert added.work >= budget


def test_a_call_in_which_the_budget_is_spent_begins_again(added):
    expected, found = pair_of(7), pair_of(7)
    with _kernels.use("always"):
        added(expected, _kernels.BUDGET * added.price)
    added.due = False
    with _kernels.use("auto"):
        added(found, _kernels.BUDGET * added.price)
    assert added.due
    assert added.work > 0
    assert np.array_equal(found[0], expected[0])


def test_a_large_call_is_compiled_at_once(added):
    with _kernels.use("auto"):
        added(pair_of(_kernels.LARGE), 1)
    assert added.due
    assert added.work == 0


def test_a_call_that_is_divided_among_threads_is_compiled_at_once(added):
    """The threads write to one array, which none of them may restore."""
    x, fixed = pair_of(8)
    with _kernels.use("auto"):
        spread(lambda a, b: added((x[a:b], fixed), 100), 8, 2)
    assert added.due
    assert added.work == 0


def doubled(x):
    return 2 * hook(x)


def hook(x):
    """Call a kernel from a kernel that is interpreted, as a callback may."""
    return _kernels.kernel()(wide)(x, x)


def test_a_kernel_inside_another_has_a_budget_of_its_own():
    outer = _kernels.kernel()(doubled)
    with _kernels.use("auto"):
        assert outer(np.ones(3)) == 6.0
    assert outer.work == 0


def test_a_loop_that_ends_early_counts_what_it_did():
    @_kernels.kernel()
    def first(x):
        for i in range(10**9):
            if x[i] > 0:
                return i
        return -1

    with _kernels.use("auto"):
        assert first(np.array([0.0, 0.0, 1.0])) == 2
    assert not first.due


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
    found = run(EXAMPLE, SPARSELIN_COMPILE="auto")
    assert found.stdout == "[0, 2] agrees [0, 2]\n", found.stderr
    assert found.stderr == ""


def test_a_large_problem_recommends_numba_once():
    code = EXAMPLE.replace("(20, 8)", "(9000, 8)").replace("sl.verify(X, y, 2).verdict", "''")
    found = run(code.replace("sl.best_subset(X, y, 2)", "sl.omp(X, y, 3)"), SPARSELIN_COMPILE="auto")
    assert found.stderr.count("as fast with Numba") == 1, found.stderr
    assert "omp would be" in found.stderr


def test_a_small_problem_does_not_import_numba():
    code = "\nprint('numba' in sys.modules)"
    found = run(EXAMPLE.replace('sys.modules["numba"] = None', "") + code, SPARSELIN_COMPILE="auto")
    assert found.stdout.endswith("False\n"), found.stderr


SLOW = {"matplotlib", "multiprocessing", "numba", "pandas", "scipy", "sklearn", "zipfile"}


@pytest.mark.parametrize(
    "call",
    ["best_subset(X, y, 3)", "lasso_path(X, y)", "ols(X, y, 3)", "omp(X, y, 3)", "sequential_lasso(X, y, 3)"],
)
def test_the_first_call_imports_nothing_slow(call):
    """Each of these modules takes from 10 to 1000 ms to import; our modules and the call take 150 ms."""
    code = f"""
import sys, numpy as np
before = set(sys.modules)
import sparselin as sl
X = np.random.default_rng(0).standard_normal((60, 20))
y = X[:, 0] - X[:, 2]
sl.{call}
print({SLOW} & (set(sys.modules) - before))
"""
    found = run(code, SPARSELIN_COMPILE="auto")
    assert found.stdout == "set()\n", found.stderr


def test_the_choice_of_form_is_checked():
    found = run("import sparselin as sl; sl.omp([[1.0], [2.0]], [1.0, 0.0], 1)", SPARSELIN_COMPILE="nver")
    assert 'SPARSELIN_COMPILE must be "auto", "always" or "never"; got \'nver\'' in found.stderr
