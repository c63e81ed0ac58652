"""A hook for wheels that bring compiled kernels: `make dist-compiled`.

The hook is off by default (pyproject.toml), so a usual wheel is pure. If it is on, `sparselin warm-up`
compiles all kernels of this checkout for x86-64-v3, and the wheel has them in `sparselin/_kernels/compiled`.
The wheel is for this version of Python and for the platforms of the installed Numba. With another version of
Numba, kernels are compiled when they are needed, as in a pure wheel.
"""

import importlib.metadata
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class CompiledKernels(BuildHookInterface[Any]):
    """Compile the kernels before the wheel is packed, and remove them afterwards."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Fill a temporary folder with compiled kernels and add it to the wheel."""
        self.temporary = tempfile.TemporaryDirectory()
        cache, folder = Path(self.temporary.name) / "cache", Path(self.temporary.name) / "compiled"
        target = {"NUMBA_CPU_NAME": "x86-64-v3", "NUMBA_CPU_FEATURES": "", "NUMBA_CACHE_DIR": str(cache)}
        environment = os.environ | target | {"PYTHONPATH": self.root}
        warm_up = [sys.executable, "-m", "sparselin", "warm-up", "--jobs", "1"]  # two might lose entries
        subprocess.run(warm_up, env=environment, cwd=self.root, check=True)
        store = (
            "import pathlib, sys; from sparselin._kernels.cache import store_forms; "
            "print(store_forms(*map(pathlib.Path, sys.argv[1:])), 'compiled forms')"
        )
        subprocess.run([sys.executable, "-c", store, cache, folder], env=environment, check=True)
        build_data["force_include"][str(folder)] = "sparselin/_kernels/compiled"
        build_data["pure_python"] = False
        build_data["tag"] = f"{_python()}-{_platforms()}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove the temporary folder."""
        self.temporary.cleanup()


def _python() -> str:
    """Return the tags of this version of Python and of its binary interface, such as cp311-cp311."""
    name = f"cp{sys.version_info[0]}{sys.version_info[1]}"
    return f"{name}-{name}{getattr(sys, 'abiflags', '')}"


def _platforms() -> str:
    """Return the tags of the platforms on which the installed Numba runs, joined by points."""
    wheel = importlib.metadata.distribution("numba").read_text("WHEEL") or ""
    return ".".join(re.findall(r"^Tag: \S+-(\S+)$", wheel, re.MULTILINE))
