"""python -m tests.attacks: fresh designs of every family against every method, for as long as one likes."""

import argparse
import contextlib
import os
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import numpy as np

import sparselin

from .attacks import ATTACKS, attempt, make, warm_up
from .designs import FAMILIES
from .run import CRASH, FAILURES, HANG, RIGHT, UNDECIDED, WRONG, shrink, write_down

VERDICTS = (RIGHT, UNDECIDED, WRONG, HANG, CRASH)
# The failures of one family and method that are made small and written down; the others are counted.
KEPT = 3
LAST = Path(tempfile.gettempdir()) / f"attack-{os.getpid()}"


def say(line=""):
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def arguments():
    parser = argparse.ArgumentParser(prog="python -m tests.attacks", description=__doc__)
    add = parser.add_argument
    add("--minutes", type=float, default=1.0, help="for the whole run, the families taking turns (default 1)")
    add("--family", action="append", choices=sorted(FAMILIES), help="this one alone; may be given again")
    add("--method", action="append", choices=sorted(ATTACKS), help="this one alone; may be given again")
    add("--seed", type=int, help="of the first designs, the next following; printed, fresh by default")
    add("--cases", type=int, help="at most this number of designs of each family; 1 with --seed repeats one")
    add("--dry", action="store_true", help="do not shrink failures, nor write them down as tests")
    return parser.parse_args()


def main():
    given = arguments()
    families, methods = given.family or sorted(FAMILIES), given.method or list(ATTACKS)
    seed = int(np.random.SeedSequence().entropy % 2**31) if given.seed is None else given.seed
    say(f"sparselin in {sparselin.__path__[0]}; seeds from {seed}; the last case is named in {LAST}")
    warm_up(methods)
    end, count, kept = time.monotonic() + 60 * given.minutes, Counter(), Counter()
    case_limit, done = given.cases or sys.maxsize, 0
    with contextlib.suppress(KeyboardInterrupt):  # the report shows what was done
        while done < case_limit and time.monotonic() < end:
            for family in families:
                for method in methods:
                    if time.monotonic() < end:
                        one(family, method, seed + done, count, kept, not given.dry)
            done += 1
    report(count, families, methods)
    return int(any(count[family, method, kind] for family, method, kind in count if kind in FAILURES))


def one(family, method, seed, count, kept, write):
    case = make(family, method, seed)
    with LAST.open("w") as last:  # should compiled code never return, the process is ended from without
        last.write(f"--family {family} --method {method} --seed {seed} --cases 1\n")
    kind, words = attempt(case)
    count[family, method, kind] += 1
    if kind not in FAILURES:
        return
    kept[family, method] += 1
    if kept[family, method] > KEPT:
        return
    say(f"{kind}: --family {family} --method {method} --seed {seed} --cases 1: {words[:300]}")
    if write:
        small = shrink(case, lambda candidate: attempt(candidate)[0] == kind, 30.0)
        say(f"  {small.X.shape[0]} × {small.X.shape[1]} of it: {write_down(small, attempt(small)[1])}")


def report(count, families, methods):
    def row(name, chosen):
        verdicts = Counter()
        for (family, method, kind), number in count.items():
            if chosen(family, method):
                verdicts[kind] += number
        calls = sum(verdicts.values())
        share = f"{100 * verdicts[UNDECIDED] / calls:.2f} %" if calls else "–"
        kinds = "".join(f" {verdicts[kind]:>9}" for kind in VERDICTS)
        say(f"{name:>24} {calls:>8}{kinds} {share:>10}")

    say("\n" + " " * 25 + "   calls" + "".join(f" {kind:>9}" for kind in VERDICTS) + "  undecided")
    for family in families:
        row(family, lambda f, m, family=family: f == family)
    say()
    for method in methods:
        row(method, lambda f, m, method=method: m == method)
    say()
    for family in families:
        for method in methods:
            if any(count[family, method, kind] for kind in VERDICTS[1:]):
                row(f"{family}, {method}"[:24], lambda f, m, pair=(family, method): (f, m) == pair)
    row("all", lambda f, m: True)


if __name__ == "__main__":
    sys.exit(main())
