"""Measure `sl.compress` on data longer than memory; each figure is measured in its own process."""

import argparse
import contextlib
import datetime
import functools
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import sparselin as sl
from benchmarks.timing import interleave
from sparselin.scale.form import chunk_of, form_of
from sparselin.scale.partial import absorb, empty_partial
from sparselin.scale.sources import ReadOptions, open_source

HERE = Path(__file__).parent
SETTINGS = {"intercept": False, "max_levels": 2, "held_out": 0}
FORM = {"weights": None, "columns": None, "forced": (), "categories": (), **SETTINGS}
CLUSTER = {"threads_per_worker": 1, "dashboard_address": ":0", "processes": True}


def answer(text: str, goal: str, met: bool | None, **numbers: Any) -> dict[str, Any]:
    """Return the record of a figure: the text for the table, its goal, whether it is met, and the numbers."""
    return {"text": text, "goal": goal, "met": met, "numbers": numbers}


def factoring(toy: bool, d: int, goal: float) -> dict[str, Any]:
    """Measure the rows per second of processor time on one core, with chunks in memory."""
    rates = rates_of(toy, d)
    rate, best = statistics.median(rates), max(rates)
    flops = 2 * d * d * rate / 1e9
    text = f"{rate / 1e6:.2f}·10⁶ rows/s per core (best {best / 1e6:.2f}), {flops:.0f} GFlop/s by 2nd²"
    return answer(text, f"≥ {goal / 1e6:g}·10⁶ rows/s", rate >= goal, rate=rate, best=best, d=d)


def rates_of(toy: bool, d: int) -> list[float]:
    """Measure, in each round, how many rows of d numbers are factored per second of processor time."""
    rows, rates = (20_000 if toy else 4 * 10**7 // d), []
    chunk = chunk_of(np.random.default_rng(0).standard_normal((rows, d)))
    form = form_of(chunk, y=d - 1, **FORM)
    absorb(empty_partial(form), chunk, 0, form)
    for _ in range(3 if toy else 15):
        started = time.process_time()
        absorb(empty_partial(form), chunk, 0, form)
        rates.append(rows / (time.process_time() - started))
    return rates


def model(toy: bool) -> dict[str, Any]:
    """Fit the cost model, seconds per row = 8m/c + 2m²/f, and check it.

    c and f are fitted at m = 40 and 200, and checked at m = 20, 80, 120 and 400.
    """
    seconds = {m: 1 / statistics.median(rates_of(toy, m)) for m in (40, 200, 20, 80, 120, 400)}
    sides = np.array([seconds[m] for m in (40, 200)])
    c, f = 1 / np.linalg.solve([[8 * m, 2 * m * m] for m in (40, 200)], sides)
    ratios = {m: seconds[m] / (8 * m / c + 2 * m * m / f) for m in (20, 80, 120, 400)}
    text = f"c = {c / 1e9:.1f} GB/s, f = {f / 1e9:.0f} GFlop/s; measured over predicted: "
    text += ", ".join(f"{ratio:.2f} at m = {m}" for m, ratio in ratios.items())
    met = all(0.5 < ratio < 2 for ratio in ratios.values())
    return answer(text, "within a factor of 2", met, c=c, f=f)


def write_parquet(path: Path, rows: int, columns: int, group: int) -> None:
    """Write an uncompressed Parquet file of noise, in row groups."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(0)
    names = [f"c{j}" for j in range(columns)]
    schema = pa.schema([(name, pa.float64()) for name in names])
    with pq.ParquetWriter(path, schema, compression="none", use_dictionary=False) as writer:
        for start in range(0, rows, group):
            size = min(group, rows - start)
            x = rng.standard_normal(size)
            table = pa.table({name: np.roll(x, 7 * j) * (1 + x[j % size]) for j, name in enumerate(names)})
            writer.write_table(table, row_group_size=size)


def overlap(toy: bool) -> dict[str, Any]:
    """Measure how well the reading and the factoring of a Parquet file overlap.

    The time of both together is compared with the longer one of reading alone and factoring alone.
    """
    rows, d = (30_000, 10) if toy else (600_000, 100)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.parquet"
        write_parquet(path, rows, d, rows // 3)
        wanted = ReadOptions(None, ())

        def chunks() -> Iterator[Any]:
            for piece in open_source(path, wanted).chunks(0):
                yield chunk_of(piece.content)

        in_memory = list(chunks())
        form = form_of(in_memory[0], y="c0", **FORM)

        def read() -> None:
            for chunk in chunks():
                for column in chunk.columns:
                    column.sum()  # as the check of entries does

        def factor() -> None:
            partial = empty_partial(form)
            for number, chunk in enumerate(in_memory):
                partial = absorb(partial, chunk, number, form)

        def apart() -> None:
            thread = threading.Thread(target=read)
            thread.start()
            factor()
            thread.join()

        calls = {"read": read, "factor": factor, "both": lambda: sl.compress(path, y="c0"), "apart": apart}
        for call in calls.values():
            call()
        seconds = interleave(calls, runs=2 if toy else 9, least_runs=2 if toy else 5, pause=0.0, budget=60.0)
    rounds = [dict(zip(seconds, values, strict=True)) for values in zip(*seconds.values(), strict=True)]
    slower = [max(times["read"], times["factor"]) for times in rounds]
    ratio = statistics.median(times["both"] / most for times, most in zip(rounds, slower, strict=True))
    least = statistics.median(times["apart"] / most for times, most in zip(rounds, slower, strict=True))
    middle = {name: statistics.median(values) for name, values in seconds.items()}
    text = f"{ratio:.2f} × the slower (reading {middle['read']:.2f} s, factoring {middle['factor']:.2f} s; "
    text += f"{rows:,} × {d}); two threads that share nothing took {least:.2f} ×, "
    text += f"so relative to these it is {ratio / least:.2f}"
    return answer(text, "≤ 1.2 ×", ratio <= 1.2, ratio=ratio, share=least, **middle)


def status_of(field: str) -> int:
    """Return the bytes in a field of /proc/self/status."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line.split()[1] for line in lines if line.startswith(field))) * 1024


def long_stream(toy: bool) -> dict[str, Any]:
    """Compress a generated stream of 10⁸ rows of 39 features, or of as many rows as 5 minutes allow."""
    rows, block = (200_000, 50_000) if toy else (10**8, 10**6)
    rng, limit = np.random.default_rng(0), 5.0 if toy else 300.0
    beta, started, made = np.arange(39) % 5 == 0, time.perf_counter(), [0, 0.0]

    def chunks() -> Iterator[Any]:
        while made[0] < rows and time.perf_counter() - started < limit:
            at = time.perf_counter()
            X = rng.standard_normal((block, 39), dtype=np.float32)
            y = X @ beta.astype(np.float32) + rng.standard_normal(block, dtype=np.float32)
            made[0], made[1] = made[0] + block, made[1] + time.perf_counter() - at
            yield X, y

    problem = sl.compress(chunks(), intercept=True)
    path, seconds = sl.omp(problem, 8), time.perf_counter() - started
    peak = status_of("VmHWM")
    right = set(path.support.tolist()) == set(np.flatnonzero(beta).tolist())
    rate = made[0] / (seconds - made[1])
    text = f"{made[0]:.3g} rows in {seconds:.0f} s ({made[1]:.0f} s of these to generate them, otherwise "
    text += f"{rate / 1e6:.2f}·10⁶ rows/s), {peak / 2**20:.0f} MiB at most, "
    text += "the right features" if right else "WRONG features"
    met = right and peak < 10**9
    return answer(text, "10⁸ rows, < 1 GB", met, rows=made[0], seconds=seconds, peak=peak, rate=rate)


def ill_conditioning(toy: bool) -> dict[str, Any]:
    """Measure, at κ = 10⁸, the error of the coefficients without noise and the backward error with noise."""
    n, d, rng = (20_000 if toy else 400_000), 12, np.random.default_rng(0)
    V = np.linalg.qr(rng.standard_normal((d, d)))[0]
    U = np.linalg.qr(rng.standard_normal((n, d)))[0]
    X = U * np.logspace(0, -8, d) @ V
    beta = rng.standard_normal(d)

    def both(y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        parts = [(X[a : a + n // 20], y[a : a + n // 20]) for a in range(0, n, n // 20)]
        normal = np.linalg.solve(sum(A.T @ A for A, _ in parts), sum(A.T @ b for A, b in parts))
        problem = sl.compress(parts)
        return np.linalg.lstsq(problem.X, problem.y, rcond=None)[0], normal

    ours, theirs = (float(np.abs(v - beta).max() / np.abs(beta).max()) for v in both(X @ beta))
    y = X @ beta + 1e-3 * rng.standard_normal(n) / np.sqrt(n)
    left = [backward(U, np.logspace(0, -8, d), y - X @ v, v) for v in both(y)]
    text = f"coefficients to {ours:.0e}, by normal equations to {theirs:.0e}; with noise the backward error "
    text += f"is {left[0]:.0e}, by normal equations {left[1]:.0e}"
    return answer(
        text,
        "≤ 1e-7, normal equations wrong",
        ours <= 1e-7 and theirs > 1e-3,
        ours=ours,
        normal=theirs,
        noisy=left,
    )


def backward(U: np.ndarray, s: np.ndarray, r: np.ndarray, v: np.ndarray) -> float:
    """Return the backward error of v: the least relative change of X for which v solves the problem.

    Up to a factor below 2 it is ‖(XᵀX + ν²I)^(−½)Xᵀr‖/‖v‖, ν = ‖r‖/‖v‖ (Karlson and Waldén, 1997). Here
    X = U diag(s) V with ‖X‖ = 1.
    """
    nu = np.linalg.norm(r) / np.linalg.norm(v)
    return float(np.linalg.norm(s / np.hypot(s, nu) * (U.T @ r)) / np.linalg.norm(v))


def array(toy: bool) -> Any:
    """Return a Dask array that the workers generate, each chunk in two blocks of columns (dask#3419)."""
    import dask.array as da

    rows, block = (8_000, 500) if toy else (1_600_000, 40_000)
    return da.random.default_rng(0).standard_normal((rows, 120), chunks=(block, 60))


def workers(toy: bool) -> dict[str, Any]:
    """Compare one Dask worker with two, kill a worker, and measure the peak memory of a worker."""
    import distributed

    x, found = array(toy), []
    with contextlib.ExitStack() as stack:
        clients = {}
        for count in (1, 2):
            cluster = stack.enter_context(distributed.LocalCluster(n_workers=count, **CLUSTER))
            clients[count] = stack.enter_context(distributed.Client(cluster))

        def compress(count: int) -> None:
            with clients[count].as_current():
                found.append(sl.compress(x, y=0))

        def apart(count: int) -> None:
            clients[count].gather(clients[count].map(burn, range(8), pure=False))

        calls = {
            (f.__name__, count): functools.partial(f, count) for f in (compress, apart) for count in (1, 2)
        }
        for call in calls.values():
            call()
        runs = 1 if toy else 5
        seconds = interleave(calls, runs=runs, least_runs=runs, pause=0.0, budget=60.0)
        peak = max(clients[2].run(status_of, "VmHWM").values())
        with clients[2].as_current():
            found.append(sl.compress(x, y=0, progress=killer(clients[2])))
    same = all((problem.X == found[0].X).all() for problem in found)
    gain, most = (
        statistics.median(a / b for a, b in zip(seconds[name, 1], seconds[name, 2], strict=True))
        for name in ("compress", "apart")
    )
    alone, both = (statistics.median(seconds["compress", count]) for count in (1, 2))
    text = f"2 workers are {gain:.2f} × as fast as 1 ({alone:.1f} s, {both:.1f} s; tasks that share nothing: "
    text += f"{most:.2f} ×); after a worker was killed {'the same bits' if same else 'OTHER BITS'}; "
    text += f"a worker uses at most {peak / 2**20:.0f} MiB of {x.nbytes / 2**20:.0f} MiB"
    return answer(
        text, "≥ 1.5 ×, same bits", same and gain >= 1.5, gain=gain, most=most, same=same, peak=peak
    )


def burn(number: int) -> None:
    """Keep a core busy for some tenths of a second, by factoring a chunk in memory."""
    chunk = chunk_of(np.random.default_rng(number).standard_normal((100_000, 60)))
    form = form_of(chunk, y=0, **FORM)
    for _ in range(2):
        absorb(empty_partial(form), chunk, 0, form)


def killer(client: Any) -> Callable[[Any], None]:
    """Return a callback that kills one of the workers in the middle of the pass."""
    victims = list(client.run(os.getpid).values())[:1]

    def kill(progress: Any) -> None:
        if 2 * progress.rows > progress.total and victims:
            os.kill(victims.pop(), signal.SIGKILL)

    return kill


def resume(toy: bool) -> dict[str, Any]:
    """Interrupt a pass over a memmap in the middle, and resume it from its checkpoint."""
    rows, d = (50_000, 8) if toy else (2_000_000, 40)
    with tempfile.TemporaryDirectory() as folder:
        A = np.memmap(Path(folder) / "A", np.float64, "w+", shape=(rows, d))
        for a in range(0, rows, 50_000):
            A[a : a + 50_000] = np.random.default_rng(a).standard_normal((len(A[a : a + 50_000]), d))
        options = {"y": 0, "memory": 2**20 if toy else 2**26}
        whole = sl.compress(A, **options)

        def stop(progress: Any) -> None:
            if 2 * progress.rows > rows:
                raise KeyboardInterrupt

        path = Path(folder) / "pass.npz"
        with contextlib.suppress(KeyboardInterrupt):
            sl.compress(A, checkpoint=path, progress=stop, **options)
        again: list[int] = []
        problem = sl.compress(A, checkpoint=path, progress=lambda p: again.append(p.chunks), **options)
    same = bool((problem.X == whole.X).all())
    text = (
        f"{len(again)} of {whole.compressed.chunks} chunks read again, {'the same' if same else 'OTHER'} bits"
    )
    return answer(text, "same bits", same and len(again) <= whole.compressed.chunks // 2 + 1)


def row_group(toy: bool) -> dict[str, Any]:
    """Read a row group of 3 GiB with a limit on memory: 256 MiB, plus 24 for stack and allocator."""
    rows, d, memory = (400_000, 20, 2**25) if toy else (3 * 2**30 // 320, 40, 2**28)
    with tempfile.TemporaryDirectory() as folder:
        path, small = Path(folder) / "x.parquet", Path(folder) / "small.parquet"
        write_parquet(path, rows, d, rows)
        write_parquet(small, 5000, d, 5000)
        sl.compress(small, y="c0", memory=memory)
        limit = status_of("VmSize") + memory + 3 * 2**23
        before = status_of("VmRSS")
        import resource  # not on Windows

        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
        started = time.perf_counter()
        problem = sl.compress(path, y="c0", memory=memory)
        seconds, peak = time.perf_counter() - started, status_of("VmHWM") - before
    size = rows * d * 8
    text = f"{size / 2**30:.2g} GiB read with a limit of {memory / 2**20:.0f} MiB on additional memory, "
    text += f"{size / seconds / 2**20:.0f} MiB/s"
    return answer(text, "done", problem.compressed.rows == rows, peak=peak, seconds=seconds)


FIGURES: dict[str, tuple[str, Callable[[bool], dict[str, Any]]]] = {
    "factoring-40": ("factoring, d = 40", lambda toy: factoring(toy, 40, 4e6)),
    "factoring-200": ("factoring, d = 200", lambda toy: factoring(toy, 200, 0.25e6)),
    "model": ("the cost model", model),
    "overlap": ("reading and factoring overlap", overlap),
    "generated": ("a generated stream of 39 features", long_stream),
    "conditioned": ("κ = 10⁸", ill_conditioning),
    "resumed": ("checkpoint and resume", resume),
    "row-group": ("a row group larger than the memory", row_group),
    "workers": ("Dask", workers),
}


def main(arguments: list[str] | None = None) -> int:
    """Measure the figures, and write scale.json and SCALE.md."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scale", description=__doc__)
    parser.add_argument("--case", nargs="+", choices=FIGURES, default=list(FIGURES))
    parser.add_argument("--toy", action="store_true", help="use tiny sizes, to check that everything runs")
    parser.add_argument("--alone", action="store_true", help="measure in this process and print JSON")
    parser.add_argument("--output", type=Path, default=HERE, help="folder for scale.json and SCALE.md")
    chosen = parser.parse_args(arguments)
    if chosen.alone:
        print(json.dumps(FIGURES[chosen.case[0]][1](chosen.toy)))  # noqa: T201
        return 0
    path = chosen.output / "scale.json"
    found = json.loads(path.read_text()) if path.exists() else {}
    for name in chosen.case:
        found[name] = measure(name, chosen.toy)
        print(f"{name}: {found[name]['text']}", flush=True)  # noqa: T201
    path.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    (chosen.output / "SCALE.md").write_text(page(found), encoding="utf-8")
    return 0


def measure(name: str, toy: bool) -> dict[str, Any]:
    """Measure a figure in a new process with one BLAS thread and one arena of memory."""
    single = {"MALLOC_ARENA_MAX": "1", "ARROW_DEFAULT_MEMORY_POOL": "system", "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "benchmarks.scale", "--alone", "--case", name, *["--toy"] * toy]
    busy = os.getloadavg()[0]
    done = subprocess.run(command, env=os.environ | single, stdout=subprocess.PIPE, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return {**found, "date": datetime.datetime.now(datetime.UTC).date().isoformat(), "load": round(busy, 1)}


def page(found: dict[str, Any]) -> str:
    """Return the page SCALE.md."""
    lines = [
        "# Data longer than memory",
        "",
        "Written by `make bench-scale`. *load* is the number of processes that ran on the two cores of the "
        "machine when the measurement began. Ratios are medians over rounds; rates are per second of "
        "processor time.",
        "",
        "| figure | measured | goal | met | load | date |",
        "| --- | --- | --- | --- | --: | --- |",
    ]
    for name, (words, _) in FIGURES.items():
        if name in found:
            met = "yes" if found[name]["met"] else "no"
            text, goal, load, date = (found[name][key] for key in ("text", "goal", "load", "date"))
            lines.append(f"| {words} | {text} | {goal} | {met} | {load} | {date} |")
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    sys.exit(main())
