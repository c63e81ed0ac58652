"""Messages about compilation: that it takes a while, and that it would help.

A message goes to the logger "sparselin" at level INFO if this level is enabled. Otherwise it goes to stderr,
which is a terminal, the output of a notebook's cell, or a log file. If the logger has another level, there is
no message: logging.getLogger("sparselin").setLevel("WARNING") silences the messages.
"""

import contextlib
import functools
import logging
import sys
import threading
from pathlib import Path
from types import FrameType

# how long the kernels of a function or command take on two cores, if it is not about 10 s
_SECONDS = {"guarantee_bounds": 20, "`sparselin guarantee`": 60, "`sparselin verify`": 60}
TEXT = "{} compiles its kernels, once, which may take {} s (`sparselin warm-up` does so in advance)"
UNSTORED = (
    "{} compiles its kernels, which may take {} s in each process, because no folder for them can be written "
    "(set NUMBA_CACHE_DIR to a folder that can)"
)
WITHOUT = (
    "{} would be up to some hundred times as fast with Numba, which is not installed (`pip install numba`)"
)


def caller() -> str:
    """Return a name for the work that users started: the command, or the function that they called.

    The function is the outermost public one on the stack of this thread, or of the main thread, which waits
    for the threads that compute. A process of a command has the command line of the command.
    """
    main = sys._current_frames().get(threading.main_thread().ident or 0)
    return _command() or _public_function(sys._getframe()) or _public_function(main) or "the package"


def _command() -> str:
    """Return the command `sparselin NAME` that this process runs, or works for; "" if there is none."""
    program, *words = sys.argv or [""]
    path = Path(program)
    if path.stem != "sparselin" and path.parts[-2:] != ("sparselin", "__main__.py"):
        return ""
    return "`{}`".format(" ".join(["sparselin", *words[:1]]))


def _public_function(frame: FrameType | None) -> str:
    """Return the name of the outermost public function of the package on a stack; "" if there is none."""
    name = ""
    while frame := frame and frame.f_back:
        called = frame.f_code.co_name
        if frame.f_globals.get("__name__", "").startswith("sparselin."):
            if called in getattr(sys.modules["sparselin"], "__all__", ()):
                name = called
            elif called == "fit":
                name = f"{type(frame.f_locals.get('self')).__name__}.fit"
    return name


def announce_compilation(name: str, stored: bool) -> None:
    """Say that the kernels of a function or command are being compiled.

    stored : whether they are stored for other processes.
    """
    announce((TEXT if stored else UNSTORED).format(name, _SECONDS.get(name, 10)))


def announce(text: str) -> None:
    """Show a message."""
    log = logging.getLogger("sparselin")
    if log.isEnabledFor(logging.INFO):
        log.info(text)
    elif log.level == logging.NOTSET:
        with contextlib.suppress(AttributeError, OSError, ValueError):  # no stderr, or a closed one
            sys.stderr.write(f"sparselin: {text}\n")


@functools.cache  # once
def recommend_numba() -> None:
    """Say that Numba would make the running function faster."""
    announce(WITHOUT.format(caller()))
