"""Measures: rows with one number and a bound. Most are measured in a new process."""

import dataclasses
import functools
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from benchmarks import designs
from benchmarks.contest import Options, Outcome, missing

ROOT = Path(__file__).parent.parent


@dataclasses.dataclass(frozen=True)
class Measure:
    """A measure: a row with one number. take(seed, **size) returns it for one seed, and an Outcome or None.

    `at_most` is the bound; a measure without a bound is for comparison only.
    """

    key: str
    title: str
    unit: str
    take: Callable[..., tuple[float, Outcome | None]]
    at_most: float | None = None
    size: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    toy: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    needs: str = ""


def run_measure(measure: Measure, options: Options) -> dict[str, Any]:
    """Measure each seed and return the row, whose value is the median over the seeds."""
    row: dict[str, Any] = {
        "key": measure.key,
        "title": measure.title,
        "kind": "measure",
        "unit": measure.unit,
        "goal": "" if measure.at_most is None else f"≤ {measure.at_most:g} {measure.unit}".strip(),
        "skipped": missing(measure.needs),
        "correct": None,
        "outcomes": [],
        "met": None,
    }
    if row["skipped"]:
        return row
    values = []
    for seed in options.seeds:
        try:
            value, outcome = measure.take(seed, **(measure.toy if options.toy else measure.size))
        except FileNotFoundError as error:  # the data must be supplied by the user
            return row | {"skipped": str(error)}
        except Exception as error:  # a broken measure must not stop the others
            row |= {"skipped": f"{type(error).__name__}: {error}", "correct": False}
            return row
        values.append(value)
        if outcome is not None:
            row["outcomes"].append(outcome.text)
            row["correct"] = outcome.right and row["correct"] is not False
    value = statistics.median(values)
    met = None if measure.at_most is None else value <= measure.at_most
    return row | {"value": value, "worst": max(values), "by_seed": values, "met": met}


def sweep(seed: int, n: int, d: int, k: int, designs: int) -> tuple[float, Outcome]:
    """Measure the seconds per million designs, which include drawing them."""
    from proofs_checks.gaussian_sweep import sweep_gaussian

    _warm_sweep(n, d, k)
    started = time.perf_counter()
    found = sweep_gaussian(n, d, k, designs, seed)
    seconds = time.perf_counter() - started
    text = f"{found.verified} of {designs} verified"
    return seconds * 1e6 / designs, Outcome(found.verified == designs and not found.violated, text)


def best_subset(seed: int, data: str, n: int, d: int, k: int, **options: float) -> tuple[float, Outcome]:
    """Measure the seconds until the best subset is proved to a gap of 1e-4, at most five minutes.

    data : the name of the function of `designs` that draws X and y.
    """
    from sparselin import best_subset as call

    drawn = getattr(designs, data)(seed=seed, n=n, d=d, k=k)
    rows, columns = (n, 3) if n > d else (20, 60)  # for the same search, which is compiled here
    call(drawn.X[:rows, :columns], drawn.y[:rows], min(k, 3), **options)
    started = time.perf_counter()
    found = call(drawn.X, drawn.y, k, time_limit=300, **options)
    return time.perf_counter() - started, Outcome(
        found.gap <= 1e-4, f"{found.nodes} nodes, gap {found.gap:.1e}"
    )


@functools.cache
def _warm_sweep(n: int, d: int, k: int) -> None:
    """Run a small sweep once, so that compiling is not timed."""
    from proofs_checks.gaussian_sweep import sweep_gaussian

    sweep_gaussian(n, d, k, 10, 0)


def memory(seed: int, n: int, d: int, k: int) -> tuple[float, None]:
    """Measure the peak of the extra memory of omp as a share of the bytes of X.

    It is the larger of the values from the resident set and from tracemalloc. The high-water mark of the
    resident set does not count reused memory, so malloc is set to return freed memory. A smaller problem runs
    first, so that compiling and the buffers of BLAS do not count. X is drawn in place, so that the mark
    before the call is the memory in use.
    """
    code = f"""
import resource, sys, tracemalloc, numpy as np, sparselin as sl
rng = np.random.default_rng({seed})
y = rng.standard_normal({n})
def mark():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
sl.omp(rng.standard_normal(({n}, {max(d // 5, k)})), y, {k})
X = np.empty(({n}, {d}))
for row in X:
    rng.standard_normal(out=row)
before = mark()
path = sl.omp(X, y, {k})
assert len(path.support) == {k}
resident = mark() - before
tracemalloc.start()
sl.omp(X, y, {k})
print(max(resident, tracemalloc.get_traced_memory()[1]) / X.nbytes)
"""
    return_freed = {"MALLOC_MMAP_THRESHOLD_": "65536", "MALLOC_TRIM_THRESHOLD_": "65536"}
    return float(_run_in_new_process(code, **return_freed)), None


FIRST_AND_SECOND = """
import time, numpy as np, sparselin as sl
{before}
rng = np.random.default_rng(0)
X, y = rng.standard_normal((300, 1000)), rng.standard_normal(300)
seconds = []
for _ in range(2):
    started = time.perf_counter()
    sl.omp(X, y, 20)
    seconds.append(time.perf_counter() - started)
print(seconds[0] - seconds[1])
"""
COLD = """
import time, numpy as np, sparselin as sl
X, y = sl.ensembles.gaussian(60, 20, rng=0)
call = lambda: sl.{call}
getattr(sl, "{call}".split("(")[0])
times = [time.perf_counter()]
for _ in range(1 + {later}):
    call()
    times.append(time.perf_counter())
print(times[-1] - times[1 if {later} else 0])
"""
NUMBA_ALONE = """
import time, numpy as np
from benchmarks.one_line import one_line
x, seconds = np.ones(1), []
for _ in range(2):
    started = time.perf_counter()
    one_line(x)
    seconds.append(time.perf_counter() - started)
print(seconds[0] - seconds[1])
"""
AFTER_NUMBA = "import numpy as np; from benchmarks.one_line import one_line; one_line(np.ones(1))"


def import_time(seed: int, modules: str = "sparselin") -> tuple[float, None]:
    """Measure the seconds of the import statement alone."""
    code = f"import time; t = time.perf_counter(); import {modules}; print(time.perf_counter() - t)"
    return _in_second_process(code), None


def warm_start(seed: int, before: str = "") -> tuple[float, None]:
    """Measure the seconds of the first call of omp minus those of the second, after the code `before`."""
    return _in_second_process(FIRST_AND_SECOND.format(before=before)), None


def numba_start(seed: int) -> tuple[float, None]:
    """Measure the seconds of the first call minus the second call of a cached Numba function of one line.

    This is the time that Numba needs once in every process: for its first function, even a cached one, it
    imports SciPy's BLAS and its own implementations, and registers these with the compiler.
    """
    return _in_second_process(NUMBA_ALONE), None


def cold_call(seed: int, call: str, later: int = 0) -> tuple[float, None]:
    """Measure the seconds of the first call of a public function in a process without cached kernels.

    Neither the import nor the design of 60 × 20 counts. SPARSELIN_COMPILE is "auto", as for users.
    later : measure instead the calls after the first.
    """
    with tempfile.TemporaryDirectory() as folder:
        settings = {"NUMBA_CACHE_DIR": folder, "SPARSELIN_COMPILE": "auto"}
        return float(_run_in_new_process(COLD.format(call=call, later=later), **settings)), None


def _in_second_process(code: str) -> float:
    """Return the number that the code prints in a process that finds bytecode and kernels cached."""
    _run_once(code)
    return float(_run_in_new_process(code))


@functools.cache
def _run_once(code: str) -> None:
    """Run the code in a new process, unless it was run before."""
    _run_in_new_process(code)


def _run_in_new_process(code: str, **environment: str) -> str:
    """Return the output of the code in a new process, which may store bytecode like an installed package."""
    inherited = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    line, env = [sys.executable, "-c", code], inherited | environment
    done = subprocess.run(line, capture_output=True, text=True, check=False, cwd=ROOT, env=env)
    if done.returncode:
        raise RuntimeError(done.stderr.strip().splitlines()[-1])
    return done.stdout
