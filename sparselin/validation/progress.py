"""The progress of long calls, for the logger "sparselin" at level INFO."""

import logging
import time
from collections.abc import Callable

LOG = logging.getLogger("sparselin")
LOG.addHandler(logging.NullHandler())

_INTERVAL = 1.0  # the least time between two records, in seconds


class ProgressLog:
    """The progress of one call: at most one record a second, and none in the first second.

    enabled : whether the logger wants records. If not, a report takes less than a microsecond.
    """

    def __init__(self, name: str | Callable[[], str], unit: str, total: int | None = None) -> None:
        """Begin a call.

        name : the function that was called, or a function that finds its name if there is a record.
        unit : the plural of what is counted.
        total : the number of units of the whole call, if it is known.
        """
        self.enabled = LOG.isEnabledFor(logging.INFO)
        self._name = name
        self._of = unit if total is None else f"of {total} {unit}"
        self._began = self._last = time.monotonic() if self.enabled else 0.0

    def report(self, done: int, words: str = "") -> None:
        """Log that this number of units is done, unless it is 0 or the last record is younger than a second.

        words : more about the state, for the end of the record.
        """
        if not (self.enabled and done) or (now := time.monotonic()) < self._last + _INTERVAL:
            return
        self._last = now
        name = self._name if isinstance(self._name, str) else self._name()
        more = f", {words}" if words else ""
        LOG.info("%s: %d %s after %.0f s%s", name, done, self._of, now - self._began, more)
