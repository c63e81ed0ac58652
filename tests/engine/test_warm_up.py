"""`sparselin warm-up` compiles all that public functions use; the lines that say that it happens."""

import ast
import contextlib
import functools
import io
import logging
import math
import os
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import numba
import numpy as np
import pytest
import scipy.sparse
from commands import invoke
from house import ROOT
from invariances import DESIGNS
from methods import METHODS
from numba.core import event
from refusals import interrupt

import sparselin as sl
from sparselin import _kernels
from sparselin._kernels import Kernel, clock, notice
from sparselin.greedy._runs import picks_singly
from sparselin.parallel.processes import run_jobs, try_jobs
from sparselin.problem.support import SUPPORT
from sparselin.studies.common import warm_up
from sparselin.studies.common.warm_up import CALLS


def frozen(array):
    """An array as pandas, joblib and read-only maps give it out; for Numba it is of another type."""
    array = array.view()
    array.flags.writeable = False
    return array


def forms(data, method):
    """The design in the dtypes and layouts that users have, as arguments of the method."""
    y = data.Y if method.many else data.y
    for dtype in (np.float64, np.float32):
        X, z = data.X.astype(dtype), y.astype(dtype)
        for form in (np.ascontiguousarray, np.asfortranarray, scipy.sparse.csc_array, scipy.sparse.csr_array):
            yield form(X), z
        yield frozen(X), frozen(z)
        yield frozen(np.repeat(X, 2, axis=1)[:, ::2]), frozen(np.asfortranarray(z))
        with tempfile.TemporaryDirectory() as folder:
            np.save(f"{folder}/X.npy", X)
            yield np.load(f"{folder}/X.npy", mmap_mode="r"), z
        if "Gram" in SUPPORT[method.name].data:
            yield sl.Problem.from_gram(X.T @ X, X.T @ z, float(z @ z)), None


def signatures():
    """Return the signatures that are compiled or came from the cache, whatever the cache holds."""
    modules = [vars(module) for name, module in sys.modules.items() if name.startswith("sparselin._kernels.")]
    kernels = [f for module in modules for f in module.values() if isinstance(f, Kernel)]
    return {(f.__module__, f.__name__, signature) for f in kernels for signature in f.compiled.signatures}


@pytest.fixture(scope="module")
def warm():
    for name in CALLS:
        warm_up.compile_all(name)


@pytest.mark.parametrize("name", METHODS)
def test_nothing_is_left_to_compile(name, warm):
    method, before = METHODS[name], signatures()
    for data in DESIGNS.values():
        for X, y in forms(data, method):
            with contextlib.suppress(TypeError, ValueError):  # of what the method lacks
                method.call(X, y, data.levels)
    new = signatures() - before
    assert not new


COUNTS = f"""
import sys
sys.path[:0] = [{str(Path(__file__).parent)!r}, {str(Path(__file__).parents[1])!r}]
from collections import Counter
from test_warm_up import CALLS, signatures, warm_up
for name in CALLS:
    warm_up.compile_all(name)
print(Counter(module.split(".")[-1] + "." + kernel for module, kernel, _ in signatures()).most_common(4))
"""


def test_a_kernel_is_compiled_for_each_dtype_and_not_for_each_kind_of_array():
    """A new process counts; `test_nothing_is_left_to_compile` shows that other kinds of arrays need no more.

    `select_rows` has four forms, and no other kernel has more than two.
    """
    command = [sys.executable, "-c", COUNTS]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    counts = ast.literal_eval(run.stdout)
    assert counts[0] == ("many.select_rows", 4)
    assert counts[1][1] == 2


def test_large_data_are_above_the_size_for_single_picks():
    X = max((X for X, _ in warm_up.data("omp")), key=lambda X: getattr(X, "size", 0))
    assert not picks_singly(sl.Problem(X, X[:, 0]), 4, by_length=False)


def test_nothing_is_left_to_compile_for_restricted_subsets(warm, rng):
    """The search with a ridge, a box, groups or signs has kernels of its own, for both forms of X'X."""
    before = signatures()
    for n, d in ((40, 12), (8, 30)):
        X, y = rng.standard_normal((n, d)), rng.standard_normal(n)
        for given in (
            {"ridge": 1.0},
            {"box": 1.0, "positive": True},
            {"box": "proved", "ridge": 0.1},
            {"groups": np.arange(d) // 3, "ridge": 0.1},
            {"gap": 0.1, "ridge": 0.1, "forced": [1]},
        ):
            sl.best_subset(X, y, 3, **given, node_limit=20)
    assert not signatures() - before


def decorators(tree):
    """The name of the decorator of each kernel of a module."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            for call in node.decorator_list:
                if isinstance(call, ast.Call) and isinstance(call.func, ast.Name):
                    yield node.name, call.func.id


def test_no_one_but_kernels_calls_what_has_no_entry_from_python():
    """A call from Python would run interpreted, however large the arrays are."""
    folder = ROOT / "_kernels"
    inner = {}
    for path in folder.glob("*.py"):
        kinds = decorators(ast.parse(path.read_text(encoding="utf-8")))
        inner[path.stem] = {name for name, kind in kinds if kind == "inner"}
    assert "extend_inverse" in inner["linear_algebra"]
    used = set()
    for path in ROOT.rglob("*.py"):
        if path.parent == folder:
            continue
        tree = ast.parse(path.read_text(encoding="utf-8"))
        modules = {}
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.module == "sparselin._kernels":
                modules |= {alias.asname or alias.name: alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("sparselin._kernels."):
                used |= {(node.module.split(".")[-1], alias.name) for alias in node.names}
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                used.add((modules.get(node.value.id), node.attr))
    assert not [(module, name) for module, name in used if name in inner.get(module, ())]


# The line


def compile_one(module="sparselin.somewhere"):
    def added(x):
        return x + 1

    added.__module__ = module
    assert numba.njit(added)(1) == 2


def caller(name, module="sparselin.somewhere", call=compile_one):
    """A function of this name that compiles one by a call, as if it were defined in the module."""
    space = {"__name__": module, "call": call}
    exec(f"def {name}(self=None):\n    call()", space)
    return space[name]


@pytest.fixture
def log(monkeypatch):
    """The logger as a user finds it; the process's own listener is quiet."""
    log = logging.getLogger("sparselin")
    monkeypatch.setattr(log, "level", logging.NOTSET)
    log.manager._clear_cache()
    monkeypatch.setattr(clock.CLOCK, "delay", math.inf)
    yield log
    log.manager._clear_cache()


def written(monkeypatch, stream, *calls, delay=0.0):
    """Return the text that a new listener writes to stderr while the calls compile, without logging."""
    monkeypatch.setattr(logging.root, "level", logging.WARNING)
    logging.root.manager._clear_cache()
    monkeypatch.setattr("sys.stderr", stream)
    with event.install_listener("numba:compile", clock._Clock(delay)):
        for call in calls:
            call()
    return stream.getvalue()


def in_a_thread():
    thread = threading.Thread(target=compile_one)
    thread.start()
    thread.join()


def line(name, seconds=10):
    return f"sparselin: {notice.TEXT.format(name, seconds)}\n"


LINE = line("the package")


def test_the_line_is_shown_once(log, monkeypatch):
    assert written(monkeypatch, io.StringIO(), in_a_thread, compile_one) == LINE


def test_the_line_names_the_function_that_was_called(log, monkeypatch):
    names = "omp", "omp", "guarantee_bounds", "some_helper"
    calls = [*map(caller, names), caller("omp", "user")]
    lines = line("omp") + line("guarantee_bounds", 20) + LINE
    assert written(monkeypatch, io.StringIO(), *calls) == lines
    fit = functools.partial(caller("fit"), SimpleNamespace())
    assert written(monkeypatch, io.StringIO(), fit) == line("SimpleNamespace.fit")


def test_the_line_of_a_thread_names_the_function_that_waits(log, monkeypatch):
    assert written(monkeypatch, io.StringIO(), caller("ols", call=in_a_thread)) == line("ols")


@pytest.mark.parametrize("program", ["/bin/sparselin", "sparselin/__main__.py"])
def test_the_line_of_a_command_names_the_command(log, monkeypatch, program):
    """The worker processes, which have its command line, name it too."""
    monkeypatch.setattr("sys.argv", [program, "verify", "--designs", "3"])
    assert written(monkeypatch, io.StringIO(), caller("omp"), in_a_thread) == line("`sparselin verify`", 60)


def is_silent(i):
    time.sleep(0.5)  # so that each process has one
    return logging.getLogger("sparselin").level >= logging.WARNING


def form_of(i):
    return _kernels.form()


@pytest.mark.parametrize("count", [1, 2])
def test_long_runs_compile_at_the_first_call(count, monkeypatch):
    """Unless the environment chooses a form."""
    monkeypatch.delenv("SPARSELIN_COMPILE", raising=False)
    _kernels._form_by_environment.cache_clear()

    def forms(compiled):
        return {*try_jobs(iter([(form_of, (i,)) for i in range(2)]), count, compiled=compiled)}

    try:
        assert forms(True) == {"always"}
        assert forms(False) == {_kernels.form()} == {"auto"}
        monkeypatch.setenv("SPARSELIN_COMPILE", "never")
        _kernels._form_by_environment.cache_clear()
        assert forms(True) == {"never"}
    finally:
        monkeypatch.undo()
        _kernels._form_by_environment.cache_clear()


def test_only_one_of_several_processes_shows_lines():
    found = [*run_jobs(iter([(is_silent, (i,)) for i in range(2)]), 2)]
    assert sorted(found) == [False, True]


def test_the_line_is_for_our_kernels_that_take_long(log, monkeypatch):
    assert written(monkeypatch, io.StringIO(), lambda: compile_one("user")) == ""
    assert written(monkeypatch, io.StringIO(), compile_one, delay=60.0) == ""


def test_the_line_says_if_nothing_can_be_stored(log, monkeypatch):
    def added(x):
        return x + 1

    added.__module__ = "sparselin.somewhere"
    function = numba.njit(added)
    function._cache = SimpleNamespace(
        _cache_path="", load_overload=lambda *_: None, save_overload=lambda *_: None
    )
    expected = f"sparselin: {notice.UNSTORED.format('the package', 10)}\n"
    assert written(monkeypatch, io.StringIO(), lambda: function(1)) == expected


@pytest.mark.parametrize("closed", [True, False])
def test_the_line_needs_no_stderr(log, monkeypatch, closed):
    stream = io.StringIO()
    stream.close()
    monkeypatch.setattr("sys.stderr", stream if closed else None)
    with event.install_listener("numba:compile", clock._Clock(0.0)):
        compile_one()


def test_the_logger_takes_the_line_or_silences_it(log, caplog, monkeypatch):
    log.setLevel(logging.WARNING)
    assert (written(monkeypatch, io.StringIO(), compile_one), caplog.messages) == ("", [])
    log.setLevel(logging.INFO)
    assert written(monkeypatch, io.StringIO(), compile_one) == ""
    assert caplog.messages == [LINE.removeprefix("sparselin: ").strip()]


# An empty cache

COMPILED = """
import sparselin as sl
from sparselin.studies.common.warm_up import compilations
X, y = sl.ensembles.gaussian(60, 20)
with compilations() as compiled:
    sl.{}
print(len(compiled))
"""
LIMITS = {"omp(X, y, 3)": 58, "lasso_path(X, y)": 58, "guarantee_bounds(X, y, 3)": 150}


@pytest.mark.parametrize(
    "call",
    [call if call.startswith("omp") else pytest.param(call, marks=pytest.mark.slow) for call in LIMITS],
)
def test_a_first_call_compiles_few_functions(call, tmp_path):
    """The time of a first call is that of its compilations; b[:] = a alone compiles forty more."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    command = [sys.executable, "-c", COMPILED.format(call)]
    run = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
    assert 0 < int(run.stdout) <= LIMITS[call]
    assert f"sparselin: {call.split('(')[0]} compiles" in run.stderr  # stderr is no terminal


# The command


@pytest.fixture
def two(monkeypatch):
    """Two functions that compile nothing once they were called."""
    calls = {name: CALLS[name] for name in ("hier_prox", "softmax_penalty")}
    monkeypatch.setattr(warm_up, "CALLS", calls)  # entries taken out and put back would change their order
    for name in calls:
        warm_up.compile_all(name)


def test_the_command_says_what_it_compiled(two, monkeypatch):
    output = invoke("warm-up", "--jobs", "1")
    assert "2/2" in output
    assert "All functions are compiled" in output
    assert "processor time" not in output
    monkeypatch.setitem(warm_up.CALLS, "hier_prox", lambda X, y: numba.njit(lambda x: x + 1)(1))
    output = invoke("warm-up", "--jobs", "1")
    assert "hier_prox" in output
    assert "processor time" in output


def test_the_command_says_that_nothing_is_compiled(monkeypatch):
    with _kernels.use("never"):
        assert "SPARSELIN_COMPILE is never" in invoke("warm-up", exit_code=1)


def test_an_interrupt_keeps_what_was_compiled(two, monkeypatch):
    monkeypatch.setitem(warm_up.CALLS, "softmax_penalty", interrupt)
    assert "the compiled code is kept" in invoke("warm-up", "--jobs", "1", exit_code=130)


def test_only_named_functions_are_compiled(monkeypatch):
    called = []
    monkeypatch.setattr(
        warm_up, "compile_all", lambda name: called.append(name) or warm_up.Warmed(name, 0.0, 0)
    )
    assert "omp, ols compiled" in invoke("warm-up", "ols", "omp", "--jobs", "1")
    assert called == ["omp", "ols"]
    assert "is not one of" in invoke("warm-up", "nothing", exit_code=2)
