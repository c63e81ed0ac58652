"""The reports: results.json, RESULTS.md, lines on the terminal, and the description of the machine."""

import json
import os
import platform
from importlib import metadata
from itertools import pairwise
from pathlib import Path
from typing import Any

from rich.markup import escape
from threadpoolctl import threadpool_info

from benchmarks import scaling
from benchmarks.entrants import peer_versions

VERDICTS = ("goal", "met")
_UNFINISHED = "unfinished.json"


def write(folder: Path, results: dict[str, Any]) -> None:
    """Write results.json, RESULTS.md and the chart."""
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps(results, indent=1, ensure_ascii=False, default=float)
    (folder / "results.json").write_text(text + "\n", encoding="utf-8")
    (folder / "RESULTS.md").write_text(markdown(results), encoding="utf-8")
    if results["scaling"]:
        scaling.draw(results["scaling"], folder / "scaling.png")


def keep(folder: Path, results: dict[str, Any]) -> None:
    """Write the rows of a run that is not finished, in one step."""
    folder.mkdir(parents=True, exist_ok=True)
    part = folder / f"{_UNFINISHED}.part"
    part.write_text(json.dumps(results, ensure_ascii=False, default=float), encoding="utf-8")
    part.replace(folder / _UNFINISHED)


def forget(folder: Path) -> None:
    """Remove the rows of an unfinished run."""
    (folder / _UNFINISHED).unlink(missing_ok=True)


def rows_so_far(folder: Path, results: dict[str, Any]) -> dict[str, Any]:
    """Return the date, the rows and the seconds of an unfinished run; {} if there is none.

    Rows with other options, from another machine or with other versions do not belong to these results.
    """
    path = folder / _UNFINISHED
    if not path.exists():
        return {}
    stored: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    same = _conditions(stored) == _conditions(json.loads(json.dumps(results)))
    return {name: stored[name] for name in ("date", "rows", "seconds")} if same else {}


def _conditions(results: dict[str, Any]) -> tuple[Any, ...]:
    """Return the options, and the description of the machine without its load."""
    return results["options"], results["machine"] | {"load_average": None}


def redraw(folder: Path) -> None:
    """Write RESULTS.md and the chart again, from results.json."""
    write(folder, json.loads((folder / "results.json").read_text(encoding="utf-8")))


# Cells


def cells(row: dict[str, Any], ways: int) -> tuple[str, ...]:
    """Return the cells of a row: title, times and ratios, goal, and verdicts.

    Times and ratios are two cells for each way of timing, or two cells of a measure.
    """
    if row["skipped"]:
        empty = ("",) * (2 * ways - 2 if row["kind"] == "contest" else 0)
        return row["title"], "skipped", "", *empty, row["goal"], "", _right(row)
    if row["kind"] == "measure":
        value, worst = (f"{row[name]:.3g} {row['unit']}".strip() for name in ("value", "worst"))
        times: tuple[str, ...] = (value, worst)
    else:
        times = tuple(cell for way in row["ways"] for cell in _way(row, way))
    return row["title"], *times, row["goal"], _met(row), _right(row)


def _way(row: dict[str, Any], way: dict[str, Any]) -> tuple[str, str]:
    """Return our time, and the ratios of the peers."""
    ratios = [f"{name} {p['ratio']:.3g} ({p['worst']:.3g})" for name, p in way["peers"].items()]
    ratios += [f"{name} –" for name in row["absent"] if name not in way["peers"]]
    return f"{way['ms']:.3g} ms", ", ".join(ratios)


def _met(row: dict[str, Any]) -> str:
    """Return whether the goals are met, in words."""
    if row["met"] is None:
        return "" if not row["goal"] else "not measured"
    if row["kind"] == "measure":
        return "yes" if row["met"] else "no"
    missed = [goal["peer"] for goal in row["goals"] if goal["met"] is False]
    if missed:
        return "no" if len(row["goals"]) == 1 else f"no: {', '.join(missed)}"
    return "yes, also the harder one" if any(goal["harder"] for goal in row["goals"]) else "yes"


def _right(row: dict[str, Any]) -> str:
    """Return whether the answers are right, in words."""
    return {True: "yes", False: "NO", None: ""}[row["correct"]]


def line(row: dict[str, Any]) -> str:
    """Return the line of a row for the terminal."""
    _, *times, goal, met, right = cells(row, 1)
    notes = [f"goal {goal}: {met}"] if goal and met else []
    notes += [f"right: {right}"] if right else []
    text = escape("  ".join([f"{row['key']:28}", *times, *notes]))
    colour = "yellow" if row["met"] is False else ""
    colour = "red" if row["correct"] is False else colour
    return f"[{colour}]{text}" if colour else text


# The page


def markdown(results: dict[str, Any]) -> str:
    """Return the page RESULTS.md."""
    rows, options = results["rows"], results["options"]
    kinds = list(dict.fromkeys(_kind(row) for row in rows))
    rows = sorted(rows, key=lambda row: kinds.index(_kind(row)))
    measured = [row for row in rows if not row["skipped"]]
    contests = [row for row in measured if row["kind"] == "contest"]
    measures = [row for row in measured if row["kind"] == "measure"]
    parts = [
        "# Results",
        f"Written by `make bench`; [README.md](README.md) describes the method. {results['date']}, "
        f"{results['seconds'] / 60:.0f} minutes.",
        f"*ours* is our median time{_first_way(options['pauses'])}. *peer / ours* is the time of the peer "
        "divided by ours: the median over the seeds of the median over the rounds, with the worst seed in "
        "brackets. A second, harder goal is in brackets. Our answers are those of the textbook, or proved, "
        "but for those named below the tables. [results.json](results.json) has the other way of timing "
        "(`ways`), and the errors and gaps (`outcomes`).",
        *_table(
            ("job", "ours", "peer / ours (worst seed)", *VERDICTS),
            _short([_contest(row) for row in contests]),
        ),
        *_table(
            ("measure", "ours", "worst seed", *VERDICTS), _short([cells(row, 1)[:-1] for row in measures])
        ),
        *(["![time of OMP by d and by n](scaling.png)"] if results["scaling"] else []),
        *footnotes(results),
        *_wrong_answers(rows),
        "## The machine",
        _setting(results),
        f"To repeat this: `{results['command']}`, with seeds {', '.join(map(str, options['seeds']))} and at "
        f"most {options['runs']} rounds.",
    ]
    return "\n\n".join(parts) + "\n"


def _kind(row: dict[str, Any]) -> str:
    """Return the kind of a row, the first part of its key."""
    return str(row["key"]).split("/")[0]


def _short(rows: list[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """Return the rows with … for a title's words before its first comma, if three or more repeat."""
    starts = ["", *(row[0].partition(", ")[0] for row in rows)]
    repeats = [a == b and len(b.split()) > 2 for a, b in pairwise(starts)]
    return [
        (f"…, {row[0].partition(', ')[2]}", *row[1:]) if repeat else row
        for row, repeat in zip(rows, repeats, strict=True)
    ]


def _contest(row: dict[str, Any]) -> tuple[str, ...]:
    """Return the cells of a contest, with the first way of timing, to which the goals refer."""
    return cells(row | {"ways": row.get("ways", [])[:1]}, 1)[:-1]


def _first_way(pauses: list[float]) -> str:
    """Return the words for the first way of timing."""
    return " in calls back to back" if pauses[0] == 0 else f" after {1e3 * pauses[0]:g} ms of pause"


def _table(header: tuple[str, ...], rows: list[tuple[str, ...]]) -> list[str]:
    """Return the table in a list, which is empty if there are no rows."""
    lines = [header, ("---", "--:", *["---"] * (len(header) - 2)), *rows]
    text = "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in lines)
    return [text] if rows else []


def _wrong_answers(rows: list[dict[str, Any]]) -> list[str]:
    """List the outcomes of wrong rows under a heading; nothing if all rows are right."""
    wrong = [row for row in rows if row["correct"] is False]
    lines = [f"- {row['title']}: {'; '.join(row['outcomes'])}" for row in wrong]
    return ["## Answers that are wrong or not proved", "\n".join(lines)] if lines else []


def footnotes(results: dict[str, Any]) -> list[str]:
    """Return the notes on peers and rows that were skipped, as a list of at most one text.

    Modules that were skipped for one reason share a note.
    """
    reasons: dict[str, list[str]] = {}
    for module, why in results["skipped"].items():
        reasons.setdefault(f"skipped: {why}.", []).append(module)
    for row in results["rows"]:
        if row["skipped"]:
            reasons.setdefault(f"skipped: {row['skipped']}.", []).append(row["key"])
        for peer, why in row.get("absent", {}).items():
            if not any(why.startswith(module) for module in results["skipped"]):
                reasons.setdefault(f"{peer} is missing: {why}.", []).append(row["key"])
    notes = [f"- {', '.join(dict.fromkeys(keys))}: {why}" for why, keys in reasons.items()]
    return ["\n".join(notes)] if notes else []


def _setting(results: dict[str, Any]) -> str:
    """Return the lines on the machine, its load and the versions."""
    machine = results["machine"]
    lines = {
        "machine": f"{machine['cpu']}, {machine['cores']} cores, caches {machine['caches']}, "
        f"{machine['memory']}, {machine['system']}",
        "threads": f"{results['options']['threads']} for all entrants",
        "load": f"{machine['load_average']} at the start, {results['load_average_at_the_end']} at the end",
        "versions": ", ".join(f"{name} {version}" for name, version in machine["versions"].items()),
        "peers": ", ".join(f"{name} {version}" for name, version in machine["peers"].items()),
        "BLAS": "; ".join(machine["blas"]),
    }
    return "\n".join(f"- {name}: {text}" for name, text in lines.items())


# The machine


def machine(threads: int) -> dict[str, Any]:
    """Describe the machine and the versions of all packages."""
    packages = ("numpy", "scipy", "numba", "threadpoolctl", "sparselin")
    return {
        "cpu": _cpu(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "caches": _caches(),
        "memory": _memory(),
        "system": f"{platform.system()} {platform.machine()}",
        "threads": threads,
        "load_average": load_average(),
        "versions": {"Python": platform.python_version()}
        | {name: metadata.version(name) for name in packages},
        "peers": peer_versions(),
        "blas": sorted(
            f"{Path(pool['filepath']).parent.name}: {pool['internal_api']} {pool['version']} "
            f"{pool.get('architecture', '')} ({pool.get('threading_layer', '')})"
            for pool in threadpool_info()
            if pool["user_api"] == "blas"
        ),
    }


def load_average() -> str:
    """Return the load of the last minute."""
    return f"{os.getloadavg()[0]:.2f}" if hasattr(os, "getloadavg") else "unknown"


def _cpu() -> str:
    """Return the model of the processor, from the kernel."""
    for text in _read(Path("/proc/cpuinfo")).splitlines():
        if text.startswith("model name"):
            return text.split(":", 1)[1].strip()
    return platform.processor() or "unknown"


def _caches() -> str:
    """Return the sizes of the processor's caches."""
    folders = sorted(Path("/sys/devices/system/cpu/cpu0/cache").glob("index*"))
    sizes = [
        f"L{level}{ {'Data': 'd', 'Instruction': 'i'}.get(kind, '') } {size}"
        for folder in folders
        if (level := _read(folder / "level"))
        and (size := _read(folder / "size"))
        and (kind := _read(folder / "type"))
    ]
    return ", ".join(sizes) or "unknown"


def _memory() -> str:
    """Return the size of the memory."""
    first = _read(Path("/proc/meminfo")).splitlines()
    return f"{int(first[0].split()[1]) / 2**20:.0f} GiB" if first else "memory unknown"


def _read(path: Path) -> str:
    """Return the text of a file, or nothing if it cannot be read."""
    try:
        return path.read_text(encoding="utf-8").strip()
    except OSError:
        return ""
