"""The package as an installed thing: what importing costs, what a missing extra says."""

import importlib.util
import inspect
import operator
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import public
import pytest

import sparselin as sl
from release import repository

ROOT = Path(__file__).parents[2]


def run(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)


def test_import_is_light():
    """Neither the heavy needs nor the extras are loaded; no kernel is compiled or taken from the cache.

    SciPy 1.15 loads its linear algebra for its special functions.
    """
    scipy = "scipy.linalg scipy.sparse scipy.optimize"
    heavy = f"{scipy} sklearn matplotlib cvxpy pandas polars hypothesis rich click"
    code = f"""
import sys, scipy.special
heavy = [name for name in {heavy.split()} if name not in sys.modules]
import sparselin
sparselin.omp, sparselin.lasso_path, sparselin.sequential_attention
print([name for name in heavy if name in sys.modules])
kernels = [vars(module) for name, module in sys.modules.items() if name.startswith("sparselin._kernels.")]
kernels = [f for module in kernels for f in module.values() if isinstance(f, sparselin._kernels.Kernel)]
print(len(kernels) > 10, [kernel.__name__ for kernel in kernels if "compiled" in vars(kernel)])
"""
    assert run(code).stdout.splitlines() == ["[]", "True []"]


def test_lazy_parts_are_attributes():
    assert sl.testing.integer_designs
    assert sl.plots.contours
    assert len(dir(sl)) == len(set(dir(sl)))
    with pytest.raises(AttributeError, match="attribute omq"):
        _ = sl.omq


def test_results_lists_the_classes_of_results_and_the_root_functions():
    """Until version 1.1 the classes load from the root too, which does not list them."""
    here = {name for name in sl.__all__ if inspect.isclass(getattr(sl, name))}
    assert here == {"BadChunk", "Problem", "Status"}
    stub = Path(sl.__file__).with_suffix(".pyi").read_text(encoding="utf-8")
    before = re.findall(r"(?m)^from \.results import (\w+)", stub)
    assert len(before) == 33
    assert not set(before) & {*sl.__all__, *dir(sl)}
    assert set(before) < set(dir(sl.results)) == set(sl.results.__all__)
    assert all(getattr(sl, name) is getattr(sl.results, name) for name in before)


def test_no_function_has_the_name_of_a_module_beside_it():
    """The import of a module sets its name in the package, so `__getattr__` would not be asked again."""
    names = [name for name in sl.__all__ if not inspect.ismodule(getattr(sl, name))]
    assert not [name for name in names if importlib.util.find_spec(f"sparselin.{name}")]


@pytest.mark.parametrize(
    ("missing", "command"), [("click", "select"), ("cvxpy", "verify"), ("cvxpy", "select")]
)
def test_the_command_names_the_extra_that_is_missing(missing, command):
    """`select` does not need a solver."""
    hide = f"""
import importlib.util, sys
sys.argv[1:] = [{command!r}, "--help"]
find = importlib.util.find_spec
importlib.util.find_spec = lambda name, package=None: None if name == {missing!r} else find(name, package)
from sparselin.__main__ import main
main()
"""
    result = run(hide)
    if (missing, command) == ("cvxpy", "select"):
        assert result.returncode == 0
        assert result.stdout.startswith("Usage: sparselin select")
        return
    assert result.returncode == 1
    assert result.stderr.strip() == (
        f"The sparselin command needs {missing}: "
        "pip install 'sparselin[verify]' (in a checkout: pip install '.[verify]')"
    )


def build(folder, target):
    """Build wheel and sdist of a checkout into a folder, and return their paths."""
    command = [sys.executable, "-m", "hatchling", "build", "-d", str(target)]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    return next(target.glob("*.whl")), next(target.glob("*.tar.gz"))


def test_wheel_and_sdist_have_the_package_and_the_repository_and_are_reproducible(tmp_path):
    """From an unpacked sdist, with other times of files, the same bytes are built."""
    pytest.importorskip("hatchling")
    wheel, sdist = build(ROOT, tmp_path / "first")
    kinds = {".py", ".pyi", ".j2", ".js", ".css", ".html", ".toml", ".typed", ".mplstyle"}
    package = {path.relative_to(ROOT).as_posix() for path in (ROOT / "sparselin").rglob("*")
               if path.suffix in kinds or path.name == "py.typed"}  # fmt: skip
    names = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    assert names == package
    with tarfile.open(sdist) as file:
        held = {name.partition("/")[2] for name in file.getnames()}
        file.extractall(tmp_path / "source", filter="data")
    assert held == {*repository(), "PKG-INFO"}
    source = tmp_path / "source" / f"sparselin-{sl.__version__}"
    (source / "PKG-INFO").unlink()
    for path in source.rglob("*"):
        os.utime(path, (1e9, 1e9))
    again = build(source, tmp_path / "second")
    assert [path.read_bytes() for path in again] == [wheel.read_bytes(), sdist.read_bytes()]


def test_the_module_is_the_command():
    command = [sys.executable, "-m", "sparselin", "--version"]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    assert sl.__version__ in result.stdout


def test_kernels_work_where_no_cache_can_be_written(tmp_path):
    """Numba finds no folder to write: kernels compile uncached, and the answer is the same."""
    code = """
import numba.core.caching as caching
caching.CacheImpl._locator_classes = []
import numpy as np
from sparselin._kernels.linear_algebra import solve
print(solve(np.eye(2), np.arange(2.0))[1], sum(solve.compiled.stats.cache_hits.values()))
"""
    result = run(code)
    assert result.stdout.split() == ["1.0", "0"], result.stderr


ONCE = """
import numpy as np
from numba.core import event
from sparselin import _kernels
from sparselin._kernels.linear_algebra import solve
with _kernels.use("always"), event.install_recorder("numba:compile") as recorder:
    solve(np.eye(3), np.ones(3))
print(len(recorder.buffer) > 0)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="its files cannot be locked")
def test_one_process_compiles_and_the_others_wait_for_it(tmp_path):
    command, environment = [sys.executable, "-c", ONCE], {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    processes = [
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) for _ in range(3)
    ]
    compiled = [process.communicate()[0].strip() for process in processes]
    assert sorted(compiled) == ["False", "False", "True"]


CALLER = """
from typing import NamedTuple
import numpy as np
from sparselin._kernels import kernel
from sparselin._kernels.linear_algebra import insert

class Pair(NamedTuple):
    a: np.ndarray
    b: np.ndarray

@kernel()
def product(pair):
    insert(pair.a, 4.0)
    return pair.a[0] * pair.b[0]

pair = Pair(np.ones(4), np.ones(4))
"""


@pytest.mark.slow
@pytest.mark.parametrize("chosen", [False, True])
def test_a_change_in_one_kernel_file_is_noticed_by_those_that_call_it(chosen, tmp_path):
    """Nothing out of date is left where Numba writes, because the same files are written again.

    Nor is anything out of date read: the stored types of arguments may name classes that are gone.
    """
    folder = tmp_path / "sparselin" / "_kernels"
    folder.mkdir(parents=True)
    shared, caller = folder / "linear_algebra.py", folder / "caller.py"
    mechanism = "__init__ cache clock compiled_primitives compiler interpreter notice primitives"
    for name in (*(f"{module}.py" for module in mechanism.split()), shared.name):
        shutil.copy(Path(sl.__file__).parent / "_kernels" / name, folder / name)
    caller.write_text(CALLER, encoding="utf-8")
    (tmp_path / "sparselin" / "__init__.py").touch()
    code = f"""
import logging, sys
logging.getLogger("sparselin").setLevel("WARNING")
sys.path.insert(0, {str(tmp_path)!r})
from sparselin._kernels.caller import pair, product
print(product(pair), sum(product.compiled.stats.cache_hits.values()))
"""
    cache = tmp_path / "elsewhere" if chosen else folder / "__pycache__"
    env = {**os.environ, "NUMBA_CACHE_DIR": str(cache) if chosen else ""}

    def product_and_hits():
        command = [sys.executable, "-c", code]
        result = subprocess.run(command, capture_output=True, text=True, env=env, check=False)
        assert not result.stderr
        return result.stdout.split()

    assert [product_and_hits(), product_and_hits()] == [["4.0", "0"], ["4.0", "1"]]
    before = sorted(cache.rglob("*.nb?"))
    text = shared.read_text(encoding="utf-8")
    assert text.count("top[i] = x\n") == 1
    shared.write_text(text.replace("top[i] = x\n", "top[i] = x * 9\n"), encoding="utf-8")
    assert [product_and_hits(), product_and_hits()] == [["36.0", "0"], ["36.0", "1"]]
    caller.write_text(CALLER.replace("Pair", "Couple"), encoding="utf-8")
    assert [product_and_hits(), product_and_hits()] == [["36.0", "0"], ["36.0", "1"]]
    assert sorted(cache.rglob("*.nb?")) == before != []


@pytest.mark.parametrize("name", sl.__all__ + [f"results.{name}" for name in sl.results.__all__])
def test_public_things_are_documented(name):
    thing = operator.attrgetter(name)(sl)
    assert inspect.getdoc(thing)
    if inspect.isfunction(thing):
        for section in ("Parameters", "Returns", "Raises", ">>>"):
            assert section in thing.__doc__ or name == "lambda_star"
        hints = inspect.signature(thing)
        assert hints.return_annotation is not inspect.Signature.empty


def test_the_public_names_and_signatures_are_the_frozen_ones():
    """`python -m tests.public --write` stores a change that is meant, which the CHANGELOG then names."""
    command = [sys.executable, public.__file__]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert result.stdout == public.STORED.read_text(encoding="utf-8")
