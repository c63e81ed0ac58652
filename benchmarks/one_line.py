"""A Numba function of one line, whose first call costs the least start-up of any package that uses Numba."""

from typing import Any

import numba


@numba.njit(cache=True)  # type: ignore[untyped-decorator]
def one_line(x: Any) -> Any:
    """Return the first entry."""
    return x[0]
