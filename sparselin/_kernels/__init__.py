"""Numba kernels: functions of arrays, without validation.

Numba caches each compiled function on disk, together with the functions that it calls. Numba notices a change
of the file that defines the function, but not a change of the files that define the called functions. So this
module adds a digest to Numba's version number: the digest of the defining file and of the files in this
folder that it imports. After a change in any of these files the version differs, and Numba compiles the
kernel again. (Numba compares the version before it reads the types of the arguments. These types may be
classes that no longer exist.) Outdated files are overwritten where Numba stores them: in `__pycache__`, in
the user's cache if `__pycache__` is not writable, or in NUMBA_CACHE_DIR.

A file of the cache may be damaged, for example by a power cut, because Numba does not wait until it is on the
disk. Such a file counts as missing: the kernel is compiled again, and the file is overwritten.
"""

import functools
import hashlib
import pickle
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
from numba.core.caching import IndexDataCacheFile

from sparselin._kernels import notice as notice  # it listens for compilations


@functools.cache
def _digest(path: Path) -> str:
    """Return the SHA-256 of a file and of the modules of this folder that it imports.

    For a file in a zip archive the digest is "", because Numba itself notices when an archive changes.
    """
    if not path.exists():
        return ""
    source = path.read_bytes()
    names = re.findall(rb"^from sparselin\._kernels\.(\w+) import", source, re.MULTILINE)
    modules = (Path(__file__).with_name(f"{name.decode()}.py") for name in names)
    parts = [source, *(_digest(module).encode() for module in modules)]
    return hashlib.sha256(b"".join(parts)).hexdigest()


class _CheckedFile(IndexDataCacheFile):  # type: ignore[misc]
    """The files of one kernel in Numba's cache: an index, and data that are stored with their digest.

    Without the digest, some damaged files would be read, and an index could name a file of another kernel.
    """

    def load(self, key: Any) -> Any:
        """Return the data of a key; None if there are none, or if they are damaged."""
        try:
            digest, packed = super().load(key) or ("", b"")
            return pickle.loads(packed) if digest == self._digest(packed) else None
        except Exception:  # a damaged pickle may raise anything
            return None

    def save(self, key: Any, data: Any) -> None:
        """Store the data of a key."""
        packed = self._dump(data)
        super().save(key, (self._digest(packed), packed))

    def _load_index(self) -> dict[Any, str]:
        try:
            overloads = super()._load_index()
        except OSError:
            raise
        except Exception:  # as in `load`
            return {}
        return overloads if isinstance(overloads, dict) else {}

    def _digest(self, packed: bytes) -> str:
        return hashlib.sha256(self._index_name.encode() + packed).hexdigest()


# Division by zero gives inf or NaN: code that raises an error would take the compiler a tenth of its time.
_ALL = {"nogil": True, "no_cfunc_wrapper": True, "error_model": "numpy"}


def kernel(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Compile a function by `numba.njit`, with a cache on disk if a folder for it is writable."""

    def compile_(function: Callable[..., Any]) -> Any:
        try:
            compiled = numba.njit(cache=True, **_ALL, **options)(function)
        except RuntimeError:  # Numba: "no locator available": neither __pycache__ nor a user's cache
            return numba.njit(**_ALL, **options)(function)
        if not numba.config.DISABLE_JIT:
            cache = compiled._cache
            stamp = cache._impl.locator.get_source_stamp()
            file = cache._cache_file = _CheckedFile(cache.cache_path, cache._impl.filename_base, stamp)
            sources = _digest(Path(__file__)), _digest(Path(function.__code__.co_filename))
            file._version = file._version, *sources
        return compiled

    return compile_


def inner(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Compile, by `numba.njit`, a function that only kernels call.

    The compiled function has no wrapper for calls from Python. If arguments are tuples of arrays, such a
    wrapper would take half of the time of compilation. A call from Python would end the process
    (`tests/test_warm_up.py`).
    """
    return numba.njit(no_cpython_wrapper=True, **_ALL, **options)


# Sums may be reassociated (SIMD) and products contracted (FMA); NaN, inf and signed zeros stay exact. A loop
# that sums must not store: LLVM would vectorise it only if the arrays are far apart in memory, so the order
# of the sum would depend on the places of the arrays.
VECTORIZED = {"fastmath": {"reassoc", "contract"}}
# For a function that is called in one place: it is compiled as a part of its caller, and not first by itself.
ONCE = {"inline": "always"}
