"""The command `python -m benchmarks`, which parses the arguments and shows the progress of the run."""

import argparse
import datetime
import fnmatch
import shlex
import sys
import time
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from threadpoolctl import threadpool_limits

from benchmarks import report, scaling
from benchmarks.cases import CASES, MEASURES
from benchmarks.contest import Case, Options, run_case, summarize
from benchmarks.entrants import import_peers
from benchmarks.measures import Measure, run_measure

HERE = Path(__file__).parent
COLUMNS = (TextColumn("{task.description:24}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())


def parse(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Parse the arguments of the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Time sparselin and its peers.")
    parser.add_argument(
        "--case", nargs="+", default=["*"], metavar="NAME", help="rows, e.g. omp, omp/noise, */noise (--list)"
    )
    parser.add_argument("--list", action="store_true", help="print the names of all rows")
    parser.add_argument("--seeds", nargs="+", type=int, default=None, help="default: 0 1 2 3 4")
    parser.add_argument("--runs", type=int, default=None, help="most rounds per seed (default: 7)")
    parser.add_argument(
        "--pause",
        nargs="+",
        type=float,
        default=[0.0, 0.05],
        metavar="SECONDS",
        help="wait before each call; each value gets a column, goals are for the first (default: 0 0.05)",
    )
    parser.add_argument("--threads", type=int, default=2, help="threads for all entrants (default: 2)")
    parser.add_argument("--quick", action="store_true", help="run one seed and two rounds, for a first look")
    parser.add_argument("--toy", action="store_true", help="use tiny sizes, to check that everything runs")
    parser.add_argument(
        "--output", type=Path, help="folder for the results (default: benchmarks/, if all rows are run)"
    )
    parser.add_argument(
        "--resume", action="store_true", help="continue a run that was interrupted, which keeps its rows"
    )
    parser.add_argument("--redraw", action="store_true", help="rewrite the table and chart from results.json")
    return parser.parse_args(arguments)


def settings(chosen: argparse.Namespace) -> Options:
    """Return the options of the run."""
    brief = chosen.quick or chosen.toy
    return Options(
        seeds=tuple(chosen.seeds or ([0] if brief else range(5))),
        runs=chosen.runs or (2 if brief else 7),
        least_runs=min(chosen.runs or 7, 2 if brief else 3),
        pauses=(0.0,) if chosen.toy else tuple(chosen.pause),
        toy=chosen.toy,
    )


def select(patterns: Sequence[str]) -> tuple[list[Case], list[Measure], bool]:
    """Return the cases with matching jobs, the matching measures, and whether to draw the chart."""

    def matches(key: str) -> bool:
        return any(fnmatch.fnmatch(key, p) or fnmatch.fnmatch(key, f"{p}/*") for p in patterns)

    cases = [case.only(matches) for case in CASES]
    return [case for case in cases if case.jobs], [m for m in MEASURES if matches(m.key)], matches("scaling")


def rows(
    cases: list[Case], measures: list[Measure], options: Options
) -> Iterator[tuple[str, dict[str, Any] | None]]:
    """Run cases and measures. Yield (description, None) before each piece of work, (key, row) after it."""
    for case in cases:
        records = []
        for seed in options.seeds:
            yield f"{case.name} seed {seed}", None
            records.append(run_case(case, seed, options))
        for row in summarize(case, records, options):
            yield row["key"], row
    for measure in measures:
        yield measure.key, None
        yield measure.key, run_measure(measure, options)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return its exit status, 1 if one of our answers is wrong."""
    chosen = parse(arguments)
    console = Console()
    cases, measures, chart = select(chosen.case)
    if chosen.redraw:
        report.redraw(chosen.output or HERE)
        return 0
    if chosen.list:
        keys = [job.key for case in cases for job in case.jobs] + [m.key for m in measures]
        console.print("\n".join(keys + ["scaling"] * chart))
        return 0
    if not (cases or measures or chart):
        console.print(f"no row matches {' '.join(chosen.case)}; --list prints all names")
        return 2
    whole = chosen.case == ["*"] and not (chosen.quick or chosen.toy)
    output = chosen.output or (HERE if whole else None)
    if chosen.resume and output is None:
        console.print("--resume needs --output, or all rows")
        return 2
    options = settings(chosen)
    results: dict[str, Any] = {
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "command": shlex.join(
            ["python", "-m", "benchmarks", *(sys.argv[1:] if arguments is None else arguments)]
        ),
        "skipped": import_peers(),  # must come before the limit on threads and the description of the machine
        "machine": report.machine(chosen.threads),
    }
    results |= {"options": options.as_dict() | {"threads": chosen.threads}, "rows": [], "seconds": 0}
    if chosen.resume and output is not None:
        results |= report.rows_so_far(output, results)
        console.print(f"rows of an unfinished run: {len(results['rows'])}")
    finished = run(results, cases, measures, chart, options, console, output)
    for note in report.footnotes(results):
        console.print(note, highlight=False, soft_wrap=True)
    if output is not None and finished:
        report.write(output, results)
        report.forget(output)
        console.print(f"written: {output / 'results.json'}, {output / 'RESULTS.md'}", soft_wrap=True)
    wrong = [row["key"] for row in results["rows"] if row["correct"] is False]
    if wrong:
        console.print(f"[red]wrong answers: {', '.join(wrong)}")
    return int(bool(wrong)) if finished else 130


def run(
    results: dict[str, Any],
    cases: list[Case],
    measures: list[Measure],
    chart: bool,
    options: Options,
    console: Console,
    output: Path | None,
) -> bool:
    """Run cases and measures, add their rows to the results, and print each. Return False if interrupted.

    Rows that the results have are not run again. After each row the results are written to `output`, if it is
    given, as those of an unfinished run.
    """
    started, before = time.perf_counter(), results["seconds"]
    results["scaling"] = None
    known = {row["key"] for row in results["rows"]}
    cases = [case for case in (case.only(lambda key: key not in known) for case in cases) if case.jobs]
    measures = [measure for measure in measures if measure.key not in known]
    total = len(cases) * len(options.seeds) + len(measures) + chart
    with (
        Progress(*COLUMNS, console=console, transient=True) as progress,
        threadpool_limits(results["machine"]["threads"]),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")  # hide the warnings of the peers
        task = progress.add_task("", total=total)
        done = 0
        try:
            for text, row in rows(cases, measures, options):
                if row is None:
                    progress.update(task, description=text, completed=done)
                    done += 1
                else:
                    results["rows"].append(row)
                    results["seconds"] = before + round(time.perf_counter() - started)
                    if output is not None:
                        report.keep(output, results)
                    progress.console.print(report.line(row), highlight=False, soft_wrap=True)
            if chart:
                progress.update(task, description="scaling", completed=done)
                results["scaling"] = scaling.measure(options)
            finished = True
        except KeyboardInterrupt:
            finished = False
    results["seconds"] = before + round(time.perf_counter() - started)
    results["load_average_at_the_end"] = report.load_average()
    return finished


if __name__ == "__main__":
    raise SystemExit(main())
