"""A case, its verdict under a time limit, and what becomes of a failure: made small, and written down."""

import contextlib
import dataclasses
import faulthandler
import hashlib
import json
import signal
import sys
import time
import warnings
from collections import defaultdict
from pathlib import Path

import numpy as np
import scipy.sparse
from scipy.sparse.linalg import aslinearoperator

from sparselin._kernels import clock

RIGHT, UNDECIDED, WRONG, HANG, CRASH = "right", "undecided", "wrong", "hang", "crash"
FAILURES = (WRONG, HANG, CRASH)
# A call is a hang beyond 100 times the median of its kind and size, and never below this many seconds.
FACTOR, FLOOR = 100, 2.0
# The limit in seconds until kernels are known to be compiled, without a second try.
COLD = 120.0
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
    options: tuple = ()

    def rng(self):
        return np.random.default_rng(self.seed)

    def given(self):
        """X as the package gets it."""
        if self.form == "sparse":
            return scipy.sparse.csc_array(self.X)
        if self.form == "operator":
            return aslinearoperator(self.X)
        return np.asarray(self.X, order=self.form)


class Clock:
    """Medians of calls by kind and size, and the limits that follow from them."""

    def __init__(self):
        self.times, self.warm = defaultdict(list), False

    def limit(self, key):
        if not self.warm:
            return COLD
        seen = sorted(self.times[key][-200:])
        return max(FLOOR, FACTOR * seen[len(seen) // 2]) if len(seen) >= 5 else 10 * FLOOR


CLOCK = Clock()


@contextlib.contextmanager
def within(seconds):
    """Raise Late after this CPU time in seconds; end the process long after, if compiled code stays.

    If a kernel is being compiled then, the time begins again.
    """

    def late(*_):
        if not clock.CLOCK.depth:
            raise Late
        signal.setitimer(signal.ITIMER_PROF, seconds)

    before = signal.signal(signal.SIGPROF, late)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    faulthandler.dump_traceback_later(10 * seconds + 60, exit=True, file=sys.__stderr__)
    try:
        yield
    finally:
        faulthandler.cancel_dump_traceback_later()
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def call(case, function, *args, **kwargs):
    """The package's answer, warnings being errors. What is late has a second try: kernels may be read."""
    key = case.method, case.X.dtype.char, case.form, int(np.log2(case.X.size))
    limit = CLOCK.limit(key)
    for last in (False, True) if CLOCK.warm else (True,):
        try:
            start = time.process_time()
            with within(limit), warnings.catch_warnings(action="error"):
                if case.X.dtype == np.float32:
                    # OpenBLAS's sgemv for matrices of five rows computes, and throws away, what lies
                    # next to them in memory: a signalling NaN there warns, of X.T @ r by NumPy alone too.
                    # A matrix of another size may lead to one of five rows.
                    warnings.filterwarnings("ignore", "invalid value encountered in matmul")
                answer = function(*args, **kwargs)
            CLOCK.times[key].append(time.process_time() - start)
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
    """A smaller case that still fails: fewer columns, rows, forced, then shorter numbers; greedily."""
    end, before = time.monotonic() + seconds, None
    while case is not before:
        before = case
        for axis in (1, 0):
            for share in (2, 4, 8, case.X.shape[axis]):
                start, size = 0, max(1, case.X.shape[axis] // share)
                while start < case.X.shape[axis] > size:
                    candidate = _without(case, axis, range(start, min(start + size, case.X.shape[axis])))
                    if time.monotonic() < end and fails(candidate):
                        case = candidate
                    else:
                        start += size
        for candidate in _simpler(case):
            if time.monotonic() < end and fails(candidate(case)):
                case = candidate(case)
    return case


def _without(case, axis, places):
    X = np.delete(case.X, list(places), axis)
    if axis == 0:
        return dataclasses.replace(case, X=X, y=np.delete(case.y, list(places)))
    kept = tuple(f - sum(p < f for p in places) for f in case.forced if f not in places)
    return dataclasses.replace(case, X=X, forced=kept)


def _simpler(case):
    for j in case.forced:
        yield lambda c, j=j: dataclasses.replace(c, forced=tuple(f for f in c.forced if f != j))
    for name in case.options:
        rest = tuple(other for other in case.options if other != name)
        yield lambda c, rest=rest: dataclasses.replace(c, options=rest)
    if case.form != "C":
        yield lambda c: dataclasses.replace(c, form="C")
    for bits in (30, 20, 12, 8, 4, 2, 1):
        for name in ("X", "y"):
            if (_short(getattr(case, name), bits) != getattr(case, name)).any():
                yield lambda c, name=name, bits=bits: dataclasses.replace(
                    c, **{name: _short(getattr(c, name), bits)}
                )


def _short(A, bits):
    mantissa, exponent = np.frexp(A)
    return np.ldexp(np.round(mantissa * 2.0**bits) / 2.0**bits, exponent).astype(A.dtype)


def write_down(case, words):
    """The case in a file of its own, which `found/test_found.py` reads; returns the file."""
    digest = hashlib.sha256(case.X.tobytes() + case.y.tobytes() + repr(case).encode()).hexdigest()[:10]
    path = FOUND / f"{case.method}_{digest}.json"
    fields = {"words": " ".join(words.split())[:300], **vars(case), "dtype": str(case.X.dtype)}
    text = json.dumps(fields, default=np.ndarray.tolist, ensure_ascii=False)
    path.write_text(text.replace("], [", "],\n  [") + "\n")
    return path


def read(path):
    """The case that `write_down` wrote to a file."""
    fields = json.loads(path.read_text())
    arrays = {name: np.array(fields[name], fields["dtype"]) for name in ("X", "y")}
    return Case(
        fields["method"],
        **arrays,
        forced=tuple(fields["forced"]),
        seed=fields["seed"],
        form=fields["form"],
        options=tuple(fields["options"]),
    )
