"""The ledger on paper: rows as JSON, as LEDGER.md, and as a table for a terminal."""

from __future__ import annotations

import datetime
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from rich import box
from rich.table import Table
from rich.text import Text

import sparselin
from sparselin.ledger import PAPERS, Claim, Outcome, Verdict, order

# shown at the head of the ledger
CENTRAL = (
    "SA-theorem-1.1",
    "SA-theorem-3.3",
    "SA-theorem-3.3-any-choice",
    "SA-theorem-3.3-certified",
    "SA-theorem-3.3-floats",
    "SA-theorem-3.3-unit-columns",
    "ours-glm-omp",
)
MARKDOWN, JSON = "LEDGER.md", "ledger.json"
# the fields of a claim that must be equal in the code and in the stored ledger, else that is out of date
STATED = (
    "id",
    "paper",
    "number",
    "statement",
    "hypotheses",
    "method",
    "verdict",
    "correction",
    "consequences",
    "unchecked",
    "tolerance",
    "reading_of",
    "test",
)
FOUND = ("cases", "undecided", "witnesses", "found")


def stated(made: Claim) -> dict[str, str]:
    """The fields of `STATED`."""
    return {name: made.verdict.value if name == "verdict" else getattr(made, name) for name in STATED}


def document(
    results: Sequence[tuple[Claim, Outcome]],
    seed: int,
    date: datetime.date,
    others: Sequence[Mapping[str, Any]] = (),
) -> dict[str, Any]:
    """The ledger as plain data: a row a result, and stored rows of other claims; by paper, then by id."""
    rows = [
        stated(made)
        | {name: _plain(getattr(outcome, name)) for name in FOUND}
        | {"seed": seed, "date": date.isoformat()}
        for made, outcome in results
    ]
    rows = sorted([*rows, *(dict(row) for row in others)], key=lambda row: order(row["paper"], row["id"]))
    return {"sparselin": sparselin.__version__, "rows": rows}


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def markdown(ledger: Mapping[str, Any]) -> str:
    """LEDGER.md."""
    environment = Environment(
        loader=PackageLoader("sparselin.reports", "."),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {
        "text": _text,
        "cell": lambda words: _text(words).replace("|", "\\|"),
        "anchor": _anchor,
    }
    rows = ledger["rows"]
    dates, seeds = (sorted({str(row[name]) for row in rows}) for name in ("date", "seed"))
    papers = {key: [row for row in rows if row["paper"] == key] for key in PAPERS}
    counts = {
        key: [sum(row["verdict"] == verdict.value for row in papers[key]) for verdict in Verdict]
        for key in PAPERS
    }
    return environment.get_template("ledger.md.j2").render(
        ledger=ledger,
        dates=" to ".join(dict.fromkeys((dates[0], dates[-1]))) if dates else "",
        seeds=", ".join(seeds),
        titles=PAPERS,
        central=CENTRAL,
        papers=papers,
        counts=counts,
        verdicts=[verdict.value for verdict in Verdict],
        errata=[row for row in rows if row["witnesses"]],
    )


def _text(words: str) -> str:
    """A text with its asterisks, underscores and brackets escaped."""
    return re.sub(r"([*_<\\])", r"\\\1", words)


def _anchor(row: Mapping[str, Any]) -> str:
    """Where a heading with the row's id can be linked to."""
    return str(row["id"]).lower().replace(".", "")


def write(folder: Path, ledger: Mapping[str, Any]) -> None:
    """`ledger.json` and `LEDGER.md`."""
    text = json.dumps(ledger, indent=1, ensure_ascii=False) + "\n"
    (folder / JSON).write_text(text, encoding="utf-8")
    (folder / MARKDOWN).write_text(markdown(ledger), encoding="utf-8")


def read(folder: Path) -> dict[str, Any] | None:
    """The stored ledger, None where there is none. Raises ValueError where it is not one."""
    try:
        ledger = json.loads((folder / JSON).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    if not (isinstance(ledger, dict) and isinstance(ledger.get("rows"), list)):
        raise ValueError(f"{folder / JSON} holds no ledger")
    return ledger


def changes(claims: Sequence[Claim], ledger: Mapping[str, Any], whole: bool) -> list[str]:
    """Where claims and the stored ledger differ, a sentence each; `whole` if the claims are all there are."""
    stored = {row["id"]: row for row in ledger["rows"]}
    found = []
    for made in claims:
        row = stored.pop(made.id, None)
        if row is None:
            found.append(f"{made.id} is not in the stored ledger")
            continue
        differing = [name for name, value in stated(made).items() if row[name] != value]
        found += [f"{made.id}: the stored {name} is {row[name]!r}" for name in differing]
    return found + ([f"{id} is in the stored ledger alone" for id in stored] if whole else [])


def table(results: Sequence[tuple[Claim, Outcome]]) -> Table:
    """A row a claim, the failed ones red, with the reason below."""
    view = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for heading in ("id", "statement", "cases", "verdict"):
        view.add_column(heading, justify="right" if heading == "cases" else "left", overflow="fold")
    for made, outcome in results:
        count = f"{outcome.cases}" + (f" + {outcome.undecided} undecided" if outcome.undecided else "")
        verdict = f"FAILED, not '{made.verdict.value}'" if outcome.failure else made.verdict.value
        # Text: brackets in a statement are no markup
        style = "bold red" if outcome.failure else None
        view.add_row(made.id, Text(made.statement), count, verdict, style=style)
        if outcome.failure:
            view.add_row("", Text(outcome.failure), "", "", style="red")
    return view
