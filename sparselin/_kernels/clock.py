"""A message, once for each public function, when its kernels take longer than five seconds to compile."""

import math
import time

from numba.core import event

from sparselin._kernels import notice


class _Clock(event.Listener):  # type: ignore[misc]
    """A clock for compilations: Numba reports to it the beginning and the end of each compilation.

    A kernel from the cache is not compiled, so Numba reports nothing. Compilations may be nested, but only
    one thread compiles at a time. The clock is read at each report. After each `delay` the function that
    compiles is named, unless it was named before.
    """

    def __init__(self, delay: float) -> None:
        self.delay = delay
        self.depth = 0
        self.began = 0.0
        self.spent = 0.0
        self.shown = set[str]()
        self.stored = True

    def on_start(self, event: event.Event) -> None:
        if self.depth == 0:
            module = event.data["dispatcher"].py_func.__module__ or ""  # None in code that `exec` runs
            self.began = time.monotonic() if module.startswith("sparselin.") else math.inf
            self.stored = getattr(event.data["dispatcher"]._cache, "_cache_path", "unknown") != ""
        self.depth += 1
        self._look()

    def on_end(self, event: event.Event) -> None:
        self._look()
        self.depth -= 1
        if self.depth == 0:
            self.spent += max(0.0, time.monotonic() - self.began)

    def _look(self) -> None:
        if self.spent + time.monotonic() - self.began > self.delay:
            self.spent = 0.0
            self.began = time.monotonic()
            name = notice.caller()
            if name not in self.shown:
                self.shown.add(name)
                notice.announce_compilation(name, self.stored)


CLOCK = _Clock(5.0)
event.register("numba:compile", CLOCK)
