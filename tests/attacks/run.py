"""A case, its verdict under a time limit, and what becomes of a failure: made small, and written down."""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import signal
import time
import warnings
from collections import defaultdict
from pathlib import Path

import numpy as np
import scipy.sparse

RIGHT, UNDECIDED, WRONG, HANG, CRASH = "right", "undecided", "wrong", "hang", "crash"
FAILURES = (WRONG, HANG, CRASH)
# A call is a hang beyond 100 times the median of its kind and size, and never below this many seconds.
FACTOR, FLOOR = 100, 2.0
FOUND = Path(__file__).parent / "found"


class Wrong(AssertionError):
    """A claim that is false."""


class Crash(Exception):
    """An exception, or a warning, on valid input."""


class Late(BaseException):
    """Out of time; no `except Exception` stops it."""


def claim(true, words):
    if not true:
        raise Wrong(words)


@dataclasses.dataclass(frozen=True)
class Case:
    """One design for one method; `seed` settles k, λ and what else there is to choose."""

    method: str
    X: np.ndarray
    y: np.ndarray
    forced: tuple = ()
    seed: int = 0
    form: str = "C"

    def rng(self):
        return np.random.default_rng(self.seed)

    def given(self):
        """X as the package gets it."""
        if self.form == "sparse":
            return scipy.sparse.csc_array(self.X)
        return np.asarray(self.X, order=self.form)


class Clock:
    """Medians of calls by kind and size, and the limits that follow from them."""

    def __init__(self):
        self.times, self.warm = defaultdict(list), False

    def limit(self, key):
        if not self.warm:
            return 600.0
        seen = sorted(self.times[key][-200:])
        return max(FLOOR, FACTOR * seen[len(seen) // 2]) if len(seen) >= 5 else 10 * FLOOR


CLOCK = Clock()


@contextlib.contextmanager
def within(seconds):
    def late(*_):
        raise Late

    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def call(case, function, *args, **kwargs):
    """The package's answer, warnings being errors. What is late has a second try: kernels may compile."""
    key = case.method, case.X.dtype.char, case.form, int(np.log2(case.X.size))
    limit = CLOCK.limit(key)
    for last in (False, True):
        try:
            start = time.perf_counter()
            with within(limit), warnings.catch_warnings():
                warnings.simplefilter("error")
                answer = function(*args, **kwargs)
            CLOCK.times[key].append(time.perf_counter() - start)
            return answer
        except Late:
            if last:
                raise
        except Exception as error:
            raise Crash(f"{type(error).__name__}: {error}") from error


def verdict(attack, sl, case):
    """(verdict, words) of one attack on one case."""
    try:
        return attack(sl, case) or RIGHT, ""
    except Wrong as error:
        return WRONG, str(error)
    except Crash as error:
        return CRASH, str(error)
    except Late:
        return HANG, f"no answer within {FLOOR:g} s and {FACTOR} times the median"


def shrink(case, fails, seconds=60.0):
    """A smaller case that still fails: fewer rows, columns, forced, then shorter numbers; greedily."""
    end = time.monotonic() + seconds
    smaller = True
    while smaller and time.monotonic() < end:
        smaller = False
        for candidate in _smaller(case):
            if time.monotonic() > end:
                break
            if fails(candidate):
                case, smaller = candidate, True
                break
    return case


def _smaller(case):
    X, y, forced = case.X, case.y, case.forced
    n, d = X.shape
    made = dataclasses.replace
    for share in (2, 4, 8):
        for start in range(0, n, -(-n // share)) if n > share else ():
            keep = np.r_[0:start, start + -(-n // share) : n]
            yield made(case, X=X[keep], y=y[keep])
    for i in range(n if n > 1 else 0):
        yield made(case, X=np.delete(X, i, 0), y=np.delete(y, i))
    for j in range(d if d > 1 else 0):
        kept = tuple(f - (f > j) for f in forced if f != j)
        yield made(case, X=np.delete(X, j, 1), forced=kept)
    for j in forced:
        yield made(case, forced=tuple(f for f in forced if f != j))
    if case.form != "C":
        yield made(case, form="C")
    for bits in (1, 2, 4, 8, 12, 20, 30):
        for name, value in (("X", X), ("y", y)):
            mantissa, exponent = np.frexp(value)
            short = np.ldexp(np.round(mantissa * 2.0**bits) / 2.0**bits, exponent).astype(value.dtype)
            if (short != value).any():
                yield made(case, **{name: short})


def write_down(case, words):
    """The case as a test among those found; returns its file."""
    digest = hashlib.sha256(case.X.tobytes() + case.y.tobytes() + repr(case).encode()).hexdigest()[:10]
    path = FOUND / f"test_{case.method}_{digest}.py"
    path.write_text(TEMPLATE.format(words=" ".join(words.split())[:300], case=literal(case), digest=digest))
    return path


def literal(case):
    def rows(A):
        return [[number(x) for x in row] for row in np.atleast_2d(A).tolist()]

    def number(x):
        return repr(int(x)) if x == int(x) and abs(x) < 1e6 else f'h("{x.hex()}")'

    def text(rows):
        return "[\n" + "".join(f"        [{', '.join(row)}],\n" for row in rows) + "    ]"

    return (
        f'Case(\n    "{case.method}",\n    np.array({text(rows(case.X))}, np.{case.X.dtype}),\n'
        f"    np.array({text(rows(case.y))}, np.{case.y.dtype})[0],\n"
        f'    {tuple(int(j) for j in case.forced)}, {case.seed}, "{case.form}",\n)'
    )


TEMPLATE = '''"""Found by an attack: {words}"""  # fmt: skip
# ruff: noqa: E501

import numpy as np

from ..attacks import stands
from ..run import Case

h = float.fromhex
CASE = {case}  # fmt: skip


def test_case_{digest}():
    stands(CASE)
'''
