"""The state of the explorer: a design with two or three rows, y, λ and S; and its address."""

import dataclasses
import itertools
import math
import urllib.parse
from collections.abc import Callable
from typing import TypeVar

import numpy as np

from sparselin.lasso.entry import first_entry
from sparselin.plots.style import PALETTE
from sparselin.results import FloatArray

MOST = len(PALETTE)  # the largest number of columns, because each has its own colour
# The range of numbers that can be drawn; labels and pixels beyond it would show nothing.
_LARGEST, _SMALLEST = 1e6, 1e-6
_Value = TypeVar("_Value")


@dataclasses.dataclass(frozen=True)
class State:
    """A design to explore: the columns of X (d, n), y (n,) with n = 2 or 3, λ > 0, and S in increasing order.

    S are the selected features. The fields are tuples, so that states can be compared. Raises ValueError,
    with a message of one line, if the picture cannot be drawn.
    """

    columns: tuple[tuple[float, ...], ...]
    y: tuple[float, ...]
    lam: float
    S: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        n, d = len(self.y), len(self.columns)
        if n not in (2, 3):
            raise ValueError(f"y must have 2 or 3 numbers; got {n}")
        if not 1 <= d <= MOST:
            raise ValueError(f"X must have 1 to {MOST} columns; got {d}")
        for j, column in enumerate(self.columns):
            if len(column) != n:
                raise ValueError(f"column {j} of X must have {n} numbers, like y; got {len(column)}")
        for x in itertools.chain(*self.columns, self.y):
            if not abs(x) <= _LARGEST:
                raise ValueError(f"X and y must have finite numbers of size at most {_LARGEST:g}; got {x:g}")
        if not _SMALLEST <= self.lam <= _LARGEST:
            raise ValueError(
                f"lam must be from {_SMALLEST:g} to {_LARGEST:g}; got {self.lam:g}. Scale y and lam by the "
                "same factor."
            )
        if tuple(sorted(set(self.S))) != self.S or not all(0 <= j < d for j in self.S):
            raise ValueError(f"S must have distinct columns from 0 to {d - 1}; got {str(list(self.S))[:40]}")

    @property
    def X(self) -> FloatArray:
        """The design (n, d)."""
        return np.array(self.columns, float).T.copy()


def of_data(X: FloatArray, y: FloatArray, lam: float | None, S: tuple[int, ...]) -> State:
    """Return the state with these arrays. If lam is None, λ is λ*/2, or 1 if λ* is zero."""
    if lam is None:
        lam = first_entry(X, y, forced=S).lam_star / 2 or 1.0
    columns = tuple(tuple(column) for column in X.T.tolist())
    return State(columns, tuple(y.tolist()), float(lam), tuple(sorted(S)))


def to_address(state: State) -> str:
    """Return the query of the address of a state, for example X=1,0;0.6,0.8&y=3,1&lam=2&S=0.

    Semicolons separate the columns. Numbers are the shortest texts that give the same floats, so ties stay
    ties.
    """
    parts = [f"X={';'.join(_words(column) for column in state.columns)}", f"y={_words(state.y)}"]
    parts += [f"lam={_words((state.lam,))}"] + [f"S={','.join(map(str, state.S))}"] * bool(state.S)
    return "&".join(parts)


def of_address(query: str) -> State:
    """Return the state of an address from `to_address`; without lam, λ is λ*/2.

    Raises ValueError, with a message of one line that names the faulty part.
    """
    fields = urllib.parse.parse_qs(query.removeprefix("?"), keep_blank_values=True)
    for name, values in fields.items():
        if name not in ("X", "y", "lam", "S"):
            raise ValueError(f"the address may have X, y, lam and S, or preset; got {name[:40]!r}")
        if len(values) > 1:
            raise ValueError(f"the address must have {name} only once; got it {len(values)} times")
    for name in ("X", "y"):
        if not fields.get(name, [""])[0]:
            raise ValueError(f"the address must have {name}, for example X=1,0;0,1&y=3,1; got {query[:60]!r}")
    columns = tuple(_read("X", column, float) for column in fields["X"][0].split(";"))
    y, S = _read("y", fields["y"][0], float), _read("S", fields.get("S", [""])[0], int)
    given = _read("lam", fields.get("lam", [""])[0], float)
    if len(given) > 1:
        raise ValueError(f"lam must be one number; got {len(given)}")
    state = State(columns, y, given[0] if given else 1.0, tuple(sorted(S)))
    return state if given else of_data(state.X, np.array(y), None, state.S)


def _words(numbers: tuple[float, ...]) -> str:
    """Return numbers as text, separated by commas."""
    return ",".join(repr(value + 0.0).removesuffix(".0") for value in numbers)


def _read(name: str, text: str, kind: Callable[[str], _Value]) -> tuple[_Value, ...]:
    """Read numbers separated by commas; an empty text gives no numbers. Errors name the part."""
    found = []
    for part in text.split(",") if text.strip() else []:
        try:
            value = kind(part)
        except ValueError:
            whole = "whole numbers" if kind is int else "numbers"
            raise ValueError(f"{name} must have {whole} separated by commas; got {part[:40]!r}") from None
        if isinstance(value, float) and not math.isfinite(value):
            raise ValueError(f"{name} must have finite numbers; got {part[:40]!r}")
        found.append(value)
    return tuple(found)
