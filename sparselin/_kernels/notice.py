"""A message, once for each public function, when the compilation of its kernels takes longer than a second.

The message goes to the logger "sparselin" at level INFO if this level is enabled. Otherwise it goes to
stderr, which is a terminal, the output of a notebook's cell, or a log file. If the logger has another level,
there is no message: logging.getLogger("sparselin").setLevel("WARNING") silences the messages.
"""

from __future__ import annotations

import contextlib
import logging
import math
import sys
import time

from numba.core import event

TEXT = "{} compiles its kernels, once, which may take {} s (`sparselin warm-up` does so in advance)"


class _Notice(event.Listener):  # type: ignore[misc]
    """A clock for compilations: Numba reports to it the beginning and the end of each compilation.

    A kernel from the cache is not compiled, so Numba reports nothing. Compilations may be nested, but only
    one thread compiles at a time. The clock is read at each report. After each `delay` the function that
    compiles is named, unless it was named before.
    """

    def __init__(self, delay: float) -> None:
        self.delay, self.depth, self.began, self.spent, self.shown = delay, 0, 0.0, 0.0, set[str]()

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
        if self.spent + time.monotonic() - self.began > self.delay:
            self.spent, self.began, name = 0.0, time.monotonic(), _public_function()
            if name not in self.shown:
                self.shown.add(name)
                _announce(TEXT.format(name, 20 if name == "guarantee_bounds" else 10))


def _public_function() -> str:
    """Return the name of the outermost function of the package on the stack that users call.

    A thread that computes for a function does not know which; then the name is that of the package.
    """
    name, frame = "sparselin", sys._getframe()
    while frame := frame.f_back:  # type: ignore[assignment]
        called = frame.f_code.co_name
        if frame.f_globals.get("__name__", "").startswith("sparselin."):
            if called in getattr(sys.modules["sparselin"], "__all__", ()):
                name = called
            elif called == "fit":
                name = f"{type(frame.f_locals.get('self')).__name__}.fit"
    return name


def _announce(text: str) -> None:
    log = logging.getLogger("sparselin")
    if log.isEnabledFor(logging.INFO):
        log.info(text)
    elif log.level == logging.NOTSET:
        with contextlib.suppress(AttributeError, OSError, ValueError):  # no stderr, or a closed one
            sys.stderr.write(f"sparselin: {text}\n")


NOTICE = _Notice(1.0)
event.register("numba:compile", NOTICE)
