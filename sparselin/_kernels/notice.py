"""One line, once a process, when kernels are being compiled for longer than a second.

It goes to the logger "sparselin" at level INFO if that is enabled; else to stderr, if that is a terminal or
the process is IPython's, unless the logger has a level: logging.getLogger("sparselin").setLevel("WARNING")
silences it.
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
    "compiling, once for each function (for seconds, or up to a minute; "
    "`sparselin warm-up` does it ahead for all)"
)


class _Notice(event.Listener):  # type: ignore[misc]
    """Numba tells it when a compilation begins and ends, which may contain others; none for a cached kernel.

    One thread at a time compiles. The clock is looked at on each of these occasions.
    """

    def __init__(self, patience: float) -> None:
        self.patience, self.depth, self.began, self.spent, self.shown = patience, 0, 0.0, 0.0, False

    def on_start(self, event: event.Event) -> None:
        if self.depth == 0:
            module = event.data["dispatcher"].py_func.__module__ or ""  # None in what `exec` defines
            self.began = time.monotonic() if module.startswith("sparselin.") else math.inf
        self.depth += 1
        self._look()

    def on_end(self, event: event.Event) -> None:
        self._look()
        self.depth -= 1
        if self.depth == 0:
            self.spent += max(0.0, time.monotonic() - self.began)

    def _look(self) -> None:
        if not self.shown and self.spent + time.monotonic() - self.began > self.patience:
            self.shown = True
            _tell()


def _tell() -> None:
    log = logging.getLogger("sparselin")
    if log.isEnabledFor(logging.INFO):
        log.info(TEXT)
    elif log.level == logging.NOTSET:
        with contextlib.suppress(AttributeError, OSError, ValueError):  # no stderr, or one that is closed
            if sys.stderr.isatty() or hasattr(builtins, "__IPYTHON__"):
                sys.stderr.write(f"sparselin: {TEXT}\n")


NOTICE = _Notice(1.0)
event.register("numba:compile", NOTICE)
