"""The least that Numba can be asked for: the start-up of any package that uses it costs at least this."""

from __future__ import annotations

from typing import Any

import numba


@numba.njit(cache=True)  # type: ignore[untyped-decorator]
def one_line(x: Any) -> Any:
    return x[0]
