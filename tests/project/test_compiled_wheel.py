"""Kernels that a wheel brings: found without a cache, and compiled as usual if one of them does not fit."""

import importlib.util
import os
import pickle
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from house import PROJECT

from sparselin._kernels import cache

CALL = """
import pathlib, sys
from numba.core import caching, event
if "no cache" in sys.argv:
    caching.CacheImpl._locator_classes = []
import numpy as np, sparselin as sl
from sparselin._kernels import cache
if "no level" in sys.argv:
    cache._processor_has_level = lambda: False
rng = np.random.default_rng(0)
X = rng.integers(-9, 10, (12, 5)).astype(float)
y = X[:, 0] - 2 * X[:, 3] + rng.integers(-1, 2, 12)
with event.install_recorder("numba:compile") as recorder:
    flow = sl.gradient_flow(X, y)
    path = None if "flow" in sys.argv else sl.omp(X, y, 3)
    coef = None if path is None else path.coef  # computed now
if "store" in sys.argv:
    print(cache.store_forms(*map(pathlib.Path, sys.argv[2:4])))
else:
    numbers = [flow.tau, flow.coef_path] + ([] if path is None else [path.support, coef])
    print(flow.features, *(array.tobytes().hex() for array in numbers))
    print(*sorted({e.data["dispatcher"].py_func.__module__ + "." + e.data["dispatcher"].__name__
                   for _, e in recorder.buffer}))
"""
TARGET = {"NUMBA_CPU_NAME": "x86-64-v3", "NUMBA_CPU_FEATURES": ""}
pytestmark = pytest.mark.skipif(not cache._processor_has_level(), reason="the processor lacks x86-64-v3")


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    """A copy of the package with a folder of compiled kernels, as a wheel installs it."""
    place = tmp_path_factory.mktemp("package")
    shutil.copytree(
        PROJECT / "sparselin", place / "sparselin", ignore=shutil.ignore_patterns("__pycache__", "compiled")
    )
    caches, folder = place / "cache", place / "sparselin" / "_kernels" / "compiled"
    environment = os.environ | TARGET | {"PYTHONPATH": str(place), "NUMBA_CACHE_DIR": str(caches)}
    command = [sys.executable, "-P", "-c", CALL, "store", caches, folder]
    count = subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout
    assert int(count) == len(list(folder.glob("*.nbc"))) > 5
    return place


def call(package, cache_of_numba, *how, **settings):
    """Return the results of two methods in a new process, and the names of the functions that it compiled.

    With "flow" only one of them is called: its nine kernels take a fifth of the time to compile.
    """
    environment = os.environ | {"PYTHONPATH": str(package), "NUMBA_CACHE_DIR": str(cache_of_numba)} | settings
    command = [sys.executable, "-P", "-c", CALL, *how]
    run = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    results, compiled = run.stdout.splitlines()
    return results, compiled.split()


@pytest.fixture(scope="module")
def found_flow(package, tmp_path_factory):
    """Return the results of the flow by the kernels of the folder."""
    return call(package, tmp_path_factory.mktemp("found"), "flow")[0].split("]")[0]


def index_files(package):
    return sorted((package / "sparselin" / "_kernels" / "compiled").glob("*.nbi"))


@pytest.mark.slow
def test_nothing_is_compiled_in_a_new_environment(package, tmp_path):
    """Neither with an empty cache nor where no cache can be written; and nothing is written."""
    found = [call(package, tmp_path, *how) for how in ((), ("no cache",))]
    assert [compiled for _, compiled in found] == [[], []]
    assert not list(tmp_path.rglob("*.nb?"))
    usual, compiled = call(package, tmp_path, "no level", **TARGET)
    assert len(compiled) > 5
    assert [results for results, _ in found] == [usual, usual]


@pytest.mark.slow
def test_a_kernel_that_is_missing_is_compiled_as_usual(package, found_flow, tmp_path):
    """The kernels are taken away one after the other; each is compiled with the functions that it calls.

    A kernel that only kernels call is part of their compiled forms, and is not missed.
    """
    _, used = call(package, tmp_path, "flow", "no level", **TARGET)
    names = {path: f"sparselin._kernels.{path.name.partition('-')[0]}" for path in index_files(package)}
    of_flow = {path: name for path, name in names.items() if name in used}
    missed = []
    for k, (path, name) in enumerate(of_flow.items()):
        kept = path.read_bytes()
        path.unlink()
        found, compiled = call(package, tmp_path / str(k), "flow")
        path.write_bytes(kept)
        assert {*compiled} & {*names.values()} <= {name}
        assert found.split("]")[0] == found_flow
        missed += [name] * (name in compiled)
    assert len(missed) > 5


def with_version(content, change):
    """The content of an index file, with another version."""
    version = pickle.loads(content)
    rest = content[len(pickle.dumps(version, protocol=-1)) :]
    return pickle.dumps(change(version), protocol=-1) + rest


@pytest.mark.slow
@pytest.mark.parametrize("other", ["Numba", "source", "damaged", "processor", "bounds"])
def test_with_another_numba_source_or_processor_everything_is_compiled_as_usual(
    package, found_flow, tmp_path, other
):
    copy = tmp_path / "package"
    shutil.copytree(package, copy)
    how, settings = ("flow",), {}
    for path in index_files(copy):
        content = path.read_bytes()
        if other == "Numba":
            path.write_bytes(with_version(content, lambda version: ("0.1.0", *version[1:])))
        elif other == "source":
            path.write_bytes(with_version(content, lambda version: (*version[:-1], "0")))
        elif other == "damaged":
            path.write_bytes(content[: len(content) // 2])
    if other == "processor":
        how = ("flow", "no level")
    elif other == "bounds":
        settings = {"NUMBA_BOUNDSCHECK": "1"}
    results, compiled = call(copy, tmp_path / "cache", *how, **settings)
    assert len(compiled) > 5
    assert results.split("]")[0] == found_flow


def test_the_level_needs_all_of_its_instructions(monkeypatch):
    from llvmlite import binding

    features = dict.fromkeys(cache._FEATURES, True) | {"avx512f": False}
    monkeypatch.setattr(binding, "get_host_cpu_features", lambda: features)
    assert cache._processor_has_level.__wrapped__()
    features["fma"] = False
    assert not cache._processor_has_level.__wrapped__()
    features["fma"] = True
    monkeypatch.setattr(binding, "get_process_triple", lambda: "aarch64-unknown-linux-gnu")
    assert not cache._processor_has_level.__wrapped__()


def test_code_for_another_processor_is_not_stored(tmp_path):
    """The cache of a usual run holds code for the processor of this machine."""
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path), "NUMBA_CPU_NAME": "x86-64-v2"}
    call = "from sparselin._kernels.linear_algebra import solve; solve(np.eye(2), np.ones(2))"
    subprocess.run([sys.executable, "-c", f"import numpy as np; {call}"], env=environment, check=True)
    with pytest.raises(ValueError, match="must hold code for x86-64-v3 only; got x86-64-v2"):
        cache.store_forms(tmp_path, tmp_path / "compiled")


def test_the_hook_adds_the_folder_and_names_python_and_the_platforms_of_numba(monkeypatch, tmp_path):
    """`make dist-compiled` runs it, in three minutes; here nothing is compiled."""
    pytest.importorskip("hatchling")
    spec = importlib.util.spec_from_file_location("hatch_build", PROJECT / "release" / "hatch_build.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    commands = []
    monkeypatch.setattr(module.subprocess, "run", lambda command, **rest: commands.append((command, rest)))
    hook = object.__new__(module.CompiledKernels)
    monkeypatch.setattr(module.CompiledKernels, "root", str(tmp_path))
    data = {"force_include": {}}
    hook.initialize("standard", data)
    ((folder, target),) = data["force_include"].items()
    hook.finalize("standard", data, "")
    assert target == "sparselin/_kernels/compiled"
    assert not Path(folder).parent.exists()
    (warm_up, rest), (store, _) = commands
    assert warm_up[1:4] == ["-m", "sparselin", "warm-up"]
    assert rest["env"].items() >= TARGET.items()
    assert store[-1] == Path(folder)
    name = f"cp{sys.version_info[0]}{sys.version_info[1]}"
    assert re.fullmatch(rf"{name}-{name}\w*-\w[\w.]*", data["tag"])
    assert data["pure_python"] is False
