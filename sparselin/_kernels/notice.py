"""Messages about compilation: that it takes a while, and that it would help.

A message goes to the logger "sparselin" at level INFO if this level is enabled. Otherwise it goes to stderr,
which is a terminal, the output of a notebook's cell, or a log file. If the logger has another level, there is
no message: logging.getLogger("sparselin").setLevel("WARNING") silences the messages.
"""

import contextlib
import functools
import logging
import sys

TEXT = "{} compiles its kernels, once, which may take {} s (`sparselin warm-up` does so in advance)"
UNSTORED = (
    "{} compiles its kernels, which may take {} s in each process, because no folder for them can be written "
    "(set NUMBA_CACHE_DIR to a folder that can)"
)
WITHOUT = (
    "{} would be up to some hundred times as fast with Numba, which is not installed (`pip install numba`)"
)


def public_function() -> str:
    """Return the name of the outermost function of the package on the stack that users call.

    A thread that computes for a function does not know which; then the name is that of the package.
    """
    name = "sparselin"
    frame = sys._getframe()
    while frame := frame.f_back:  # type: ignore[assignment]
        called = frame.f_code.co_name
        if frame.f_globals.get("__name__", "").startswith("sparselin."):
            if called in getattr(sys.modules["sparselin"], "__all__", ()):
                name = called
            elif called == "fit":
                name = f"{type(frame.f_locals.get('self')).__name__}.fit"
    return name


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
    announce(WITHOUT.format(public_function()))
