"""python -m tests.reliability: call every method in all circumstances, and count contradictions."""

import argparse
import contextlib
import datetime
import importlib.metadata
import itertools
import json
import multiprocessing
import platform
import signal
import sys
import time
from collections import Counter
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from pathlib import Path

from . import count, rounding
from .rows import PEERS, ROWS
from .table import calls_of, table

STORED = Path(__file__).with_name("measured.json")
PACKAGES = ("numpy", "scipy", "numba", "scikit-learn", "abess", "celer")
BY_ID = {row.id: row for row in ROWS}


def say(line):
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def arguments():
    parser = argparse.ArgumentParser(prog="python -m tests.reliability", description=__doc__)
    add = parser.add_argument
    add("--calls", type=int, help="stop after this number of calls of the package")
    add("--minutes", type=float, help="stop after this time (default 1, or none if --calls is given)")
    add("--seed", type=int, default=0, help="of the first designs, the next following (default 0)")
    add("--processes", type=int, default=1, help="each with one thread (default 1)")
    add("--row", action="append", choices=sorted(BY_ID), help="this method alone; may be given again")
    add("--write", action="store_true", help=f"store the counts in {STORED.name}")
    given = parser.parse_args()
    if given.minutes is None:
        given.minutes = 1.0 if given.calls is None else float("inf")
    return given


def jobs(rows, seed):
    """Yield (row, family, seed) without end; a slow row on some seeds only."""
    for s in itertools.count(seed):
        for family in sorted(count.FAMILIES):
            yield from ((row.id, family, s) for row in rows if s % row.every == 0)


def begin():
    """Prepare a process: one thread, and Ctrl-C is for the parent."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    rounding.one_thread()


def work(job):
    """Do a job in any process."""
    name, family, seed = job
    return count.group(BY_ID[name], family, seed)


def results(todo, processes):
    """Yield the results of jobs, by this process or by others."""
    if processes == 1:
        with rounding.one_thread():
            yield from map(work, todo)
        return
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(processes, mp_context=context, initializer=begin) as pool:
        running = {pool.submit(work, job) for job in itertools.islice(todo, 2 * processes)}
        try:
            while running:
                done, running = wait(running, return_when=FIRST_COMPLETED)
                running |= {pool.submit(work, job) for job in itertools.islice(todo, len(done))}
                yield from (future.result() for future in done)
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def processor():
    """Return the name of the processor, as Linux has it."""
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    return next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), "")


def record(counts, words, given, seconds):
    """Return what is stored of a run."""
    versions = {"python": platform.python_version()}
    for name in PACKAGES:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            versions[name] = importlib.metadata.version(name)
    return {
        "date": datetime.date.today().isoformat(),
        "processor": processor(),
        "versions": versions,
        "seed": given.seed,
        "processes": given.processes,
        "seconds": round(seconds),
        "calls": calls_of(counts),
        "counts": sorted([*key, number] for key, number in counts.items()),
        "contradictions": words[:20],
    }


def main():
    given = arguments()
    rows = [BY_ID[name] for name in given.row] if given.row else ROWS
    counts, words, start = Counter(), [], time.monotonic()
    with contextlib.suppress(KeyboardInterrupt):  # the report shows what was counted
        for more, lines in results(jobs(rows, given.seed), given.processes):
            counts += more
            words += lines
            late = time.monotonic() - start > 60 * given.minutes
            if late or (given.calls and calls_of(counts) >= given.calls):
                break
    found = record(counts, words, given, time.monotonic() - start)
    for line in words[:20]:
        say(line[:1500])
    say(table(found))
    say(f"{found['calls']} calls in {found['seconds']} s, peers: {len(PEERS)}")
    if given.write:
        STORED.write_text(json.dumps(found, ensure_ascii=False, indent=0) + "\n", encoding="utf-8")
    return int(any(counts[row.id, rounding.NEAREST, "contradict"] for row in rows))


if __name__ == "__main__":
    sys.exit(main())
