"""A message, once in a process, when the compilation of kernels takes longer than a second.

The message goes to the logger "sparselin" at level INFO if this level is enabled. Otherwise it goes to
stderr, if stderr is a terminal or the process runs IPython. If the logger has another level, there is no
message: logging.getLogger("sparselin").setLevel("WARNING") silences the message.
"""

from __future__ import annotations

import builtins
import contextlib
import logging
import math
import sys
import time

from numba.core import event

TEXT = (
    "compiling for the first time on this machine (10–60 s, cached afterwards; "
    "`sparselin warm-up` compiles everything in advance)"
)


class _Notice(event.Listener):  # type: ignore[misc]
    """A clock for compilations: Numba reports to it the beginning and the end of each compilation.

    A kernel from the cache is not compiled, so Numba reports nothing. Compilations may be nested, but only
    one thread compiles at a time. The clock is read at each report.
    """

    def __init__(self, delay: float) -> None:
        self.delay, self.depth, self.began, self.spent, self.shown = delay, 0, 0.0, 0.0, False

    def on_start(self, event: event.Event) -> None:
        if self.depth == 0:
            module = event.data["dispatcher"].py_func.__module__ or ""  # None in code that `exec` runs
            self.began = time.monotonic() if module.startswith("sparselin.") else math.inf
        self.depth += 1
        self._look()

    def on_end(self, event: event.Event) -> None:
        self._look()
        self.depth -= 1
        if self.depth == 0:
            self.spent += max(0.0, time.monotonic() - self.began)

    def _look(self) -> None:
        if not self.shown and self.spent + time.monotonic() - self.began > self.delay:
            self.shown = True
            _announce()


def _announce() -> None:
    log = logging.getLogger("sparselin")
    if log.isEnabledFor(logging.INFO):
        log.info(TEXT)
    elif log.level == logging.NOTSET:
        with contextlib.suppress(AttributeError, OSError, ValueError):  # no stderr, or a closed one
            if sys.stderr.isatty() or hasattr(builtins, "__IPYTHON__"):
                sys.stderr.write(f"sparselin: {TEXT}\n")


NOTICE = _Notice(1.0)
event.register("numba:compile", NOTICE)
