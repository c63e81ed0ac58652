"""The caches in which compiled kernels are looked up: the package's own folder, and Numba's cache on disk.

Numba caches each compiled function on disk, together with the functions that it calls. Numba notices a change
of the file that defines the function, but not a change of the files that define the called functions. So this
module adds digests to Numba's version number: of the defining file and of the files in this folder that it
imports. After a change in any of these files the version differs, and Numba compiles the kernel again. (Numba
compares the version before it reads the types of the arguments. These types may be classes that no longer
exist.) Outdated files are overwritten where Numba stores them: in `__pycache__`, in the user's cache if
`__pycache__` is not writable, or in NUMBA_CACHE_DIR.

A file of the cache may be damaged, for example by a power cut, because Numba does not wait until it is on the
disk. Such a file counts as missing: the kernel is compiled again, and the file is overwritten.

**Compiled kernels in a wheel.** A wheel may bring the files of a cache in the folder `compiled`, which is
read and never written. Its kernels are compiled for a level of instructions, x86-64-v3 (AVX2 and FMA), that
the processor must have; a cache of Numba is for one model of processor. They are found if the versions of
Python, Numba and all sources are those of the build. Otherwise the kernel comes from the cache, or it is
compiled.
"""

import contextlib
import functools
import hashlib
import os
import pickle
import re
import shutil
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
from numba import config
from numba.core.caching import FunctionCache, IndexDataCacheFile
from numba.core.compiler import CompileResult

try:
    import fcntl
except ImportError:  # not on Windows
    fcntl = None  # type: ignore[assignment]

_LONGEST = 60.0
LEVEL = "x86-64-v3"
FOLDER = Path(__file__).with_name("compiled")
_STAMP = "compiled in advance"  # in place of the time at which a source was changed
# what x86-64-v3 adds to x86-64, in the names of LLVM
_FEATURES = {
    "avx",
    "avx2",
    "bmi",
    "bmi2",
    "f16c",
    "fma",
    "lzcnt",
    "movbe",
    "popcnt",
    "sse4.2",
    "ssse3",
    "cx16",
}


@functools.cache
def _digest(path: Path) -> str:
    """Return the SHA-256 of a file and of the modules of this folder that it imports.

    For a file in a zip archive the digest is "", because Numba itself notices when an archive changes.
    """
    if not path.exists():
        return ""
    source = path.read_bytes()
    names = re.findall(rb"^(?:from|import) sparselin\._kernels\.(\w+)", source, re.MULTILINE)
    modules = (Path(__file__).with_name(f"{name.decode()}.py") for name in names)
    parts = [source, *(_digest(module).encode() for module in modules)]
    return hashlib.sha256(b"".join(parts)).hexdigest()


@functools.cache
def _processor_has_level() -> bool:
    """Return whether the processor has the instructions of LEVEL."""
    from llvmlite import binding

    if not binding.get_process_triple().startswith("x86_64"):
        return False
    return {name for name, there in binding.get_host_cpu_features().items() if there} >= _FEATURES


def _folder_serves() -> bool:
    """Return whether kernels of the folder `compiled` serve: unless settings of Numba need other code."""
    other = config.CPU_NAME or config.CPU_FEATURES or config.BOUNDSCHECK or config.DEBUGINFO_DEFAULT
    return FOLDER.is_dir() and not other and _processor_has_level()


class KernelCache(FunctionCache):  # type: ignore[misc]
    """The compiled forms of one kernel: in the folder `compiled`, and in Numba's cache if there is one."""

    def __init__(self, function: Callable[..., Any], module: str) -> None:
        """Open the cache of `function`; `module` is the file whose decorators compile it."""
        source = Path(function.__code__.co_filename)
        version = _digest(Path(__file__)), _digest(Path(module)), _digest(source)
        try:
            super().__init__(function)
        except RuntimeError:  # "no locator available": neither __pycache__ nor a user's cache can be written
            self._name = repr(function)
            self._py_func = function
            self._cache_path = ""
            self.disable()
        else:
            stamp = self._impl.locator.get_source_stamp()
            self._cache_file = CheckedFile(self._cache_path, self._impl.filename_base, stamp, version)
        self._compiled = CheckedFile(FOLDER, _base_name(function), _STAMP, version)
        self.turn = Turn(Path(self._cache_path) / f"{_base_name(function)}.lock")

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the compiled form for these types, or None."""
        if _folder_serves():
            target_context.refresh()
            key = self._index_key(sig, target_context.codegen())
            found = self._compiled.load(_key_of_level(key))
            if found is not None:
                return CompileResult._rebuild(target_context, *found)
        found = super().load_overload(sig, target_context)
        if found is None and self._cache_path:
            self.turn.begin()
            found = super().load_overload(sig, target_context)  # another process may have stored it
        return found


class Turn:
    """The right of one process to compile a kernel, by a lock on a file; other processes wait for the result.

    They wait for at most _LONGEST seconds. Where files cannot be locked, nobody waits. Threads of a process
    wait for each other by a lock of Numba; only the thread that has begun the turn ends it.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = -1
        self._thread = 0

    def begin(self) -> None:
        """Wait for the turn of this process."""
        if fcntl is None or self._file >= 0:
            return
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._thread = threading.get_ident()
            self._file = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o666)
            until = time.monotonic() + _LONGEST
            while not self._lock() and time.monotonic() < until:
                time.sleep(0.05)
        except OSError:
            self.end()

    def _lock(self) -> bool:
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def end(self) -> None:
        """End the turn of this process, if this thread has begun it."""
        if self._file >= 0 and self._thread == threading.get_ident():
            file = self._file
            self._file = -1
            with contextlib.suppress(OSError):
                fcntl.flock(file, fcntl.LOCK_UN)  # a child of this process may keep the file open
            os.close(file)


def _base_name(function: Callable[..., Any]) -> str:
    """Return the beginning of the names of the files that Numba's cache has of a function."""
    code = function.__code__
    python = f"py{sys.version_info[0]}{sys.version_info[1]}"
    name = re.sub("[<>]", "", f"{Path(code.co_filename).stem}.{function.__qualname__}")
    return f"{name}-{code.co_firstlineno}.{python}{getattr(sys, 'abiflags', '')}"


def store_forms(cache: Path, folder: Path) -> int:
    """Copy the kernels of a cache of Numba to a folder `compiled`; return the number of compiled forms.

    The cache must have been filled by `sparselin warm-up` in an environment with NUMBA_CACHE_DIR=`cache`,
    NUMBA_CPU_NAME=x86-64-v3 and an empty NUMBA_CPU_FEATURES. Raises ValueError if it holds code for another
    processor.
    """
    folder.mkdir(parents=True, exist_ok=True)
    count = 0
    for path in sorted(cache.glob("_kernels_*/*.nbi")):
        with path.open("rb") as file:
            version, (_, forms) = pickle.load(file), pickle.load(file)
        for _, (_, processor, features), _ in forms:
            if (processor, features) != (LEVEL, ""):
                raise ValueError(f"{path} must hold code for {LEVEL} only; got {processor}, {features!r}")
        stored = {_key_of_level(key): name for key, name in forms.items()}
        CheckedFile(folder, path.stem, _STAMP, version[1:])._save_index(stored)
        for name in stored.values():
            shutil.copyfile(path.with_name(name), folder / name)
        count += len(stored)
    return count


def _key_of_level(key: Any) -> Any:
    """Return the key of a kernel for a processor with its level of instructions in place of its model."""
    types, (triple, *_), code = key
    return types, (triple, LEVEL), code


class CheckedFile(IndexDataCacheFile):  # type: ignore[misc]
    """The files of one kernel in a cache: an index, and data that are stored with their digest.

    Without the digest, some damaged files would be read, and an index could name a file of another kernel.
    """

    def __init__(self, folder: str | Path, base: str, stamp: Any, version: tuple[str, ...]) -> None:
        super().__init__(str(folder), base, stamp)
        self._version: tuple[str, ...] = numba.__version__, *version

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
