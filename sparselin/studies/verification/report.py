"""The report of `sparselin verify`: a table, a page with embedded figures, JSON, and saved designs."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rich import box
from rich.table import Table

from sparselin import plots
from sparselin.ensembles import ENSEMBLES
from sparselin.plots.penalty import penalty_contours
from sparselin.studies.common import folder, page
from sparselin.studies.verification import figures
from sparselin.studies.verification.run import Failure, FlowRecord, FlowSummary, VerificationSettings
from sparselin.verification.projected_design import Agreement

# heading of the page, heading of the terminal's table (80 columns), field, format
COLUMNS = (
    ("ensemble", "ensemble", "name", "{}"), ("designs", "designs", "designs", "{}"),
    ("steps", "steps", "steps", "{}"), ("agree", "agree", "agreements", "{}"),
    ("undecided", "undec.", "undecided", "{}"), ("violate", "viol.", "violations", "{}"),
    ("ties", "ties", "ties", "{}"), ("A ⊂ T", "A⊂T", "strict", "{}"), ("audited", "", "audited", "{}"),
    ("worst gap/‖y‖²", "gap", "worst_gap", "{:.0e}"),
    ("worst λ* error", "λ* err", "worst_lam_error", "{:.0e}"),
    ("median λ₂/λ*", "λ₂/λ*", "median_window", "{:.3f}"), ("reach", "", "median_reach", "{:.2f}"),
)  # fmt: skip
FLOW_COLUMNS = (
    *COLUMNS[:2], ("events", "events", "events", "{}"), *COLUMNS[3:6], ("leave", "", "leaves", "{}"),
    ("LASSO", "LASSO", "lasso", "{:.0%}"), ("median L·error", "L·err", "rate", "{:.1f}"),
    ("> .05", "", "far", "{}"), ("last error", "error", "error", "{:.0e}"),
)  # fmt: skip
TEMPLATE = Path(__file__).with_name("report.html.j2")
PACKAGES = ("numpy", "scipy", "numba", "clarabel")
FILES = ("violation-*.npz", "undecided-*.npz", *page.pictures("agreement", "window", "penalty", "errors"))
TOTALS = {"median_window": None, "median_reach": None, "worst_gap": max, "worst_lam_error": max}
TOTALS |= {"lasso": None, "rate": None, "error": max}


def _columns(row: Any) -> tuple[tuple[str, str, str, str], ...]:
    return FLOW_COLUMNS if isinstance(row, FlowSummary) else COLUMNS


def cells(row: Any) -> tuple[str, ...]:
    """Return one row of the table as text."""
    return tuple(style.format(getattr(row, field)) for _, _, field, style in _columns(row))


def table(summary: Sequence[Any]) -> Table:
    """Return the summary for a terminal."""
    columns = _columns(summary[0])
    shown = [i for i, (_, short, _, _) in enumerate(columns) if short]
    title = "Do OMP, Sequential LASSO and linear Sequential Attention choose the same?"
    if columns is FLOW_COLUMNS:
        title = "Is gradient_flow the limit of gradient flow?"
    view = Table(title=title, box=box.SIMPLE_HEAD, padding=0, pad_edge=False)
    for i in shown:
        view.add_column(columns[i][1], justify="right" if i else "left", no_wrap=True)
    for row in summary:
        line = cells(row)
        view.add_row(*(line[i] for i in shown), style=None if row.passes else "bold red")
    view.add_section()
    line = totals(summary)
    view.add_row(*(line[i] for i in shown), style="bold")
    return view


def totals(summary: Sequence[Any]) -> tuple[str, ...]:
    """Return the last row of the table: the sums of the counts, and the maxima of the errors."""
    line = ["all"]
    for _, _, field, style in _columns(summary[0])[1:]:
        combine = TOTALS.get(field, sum)
        line.append(style.format(combine(getattr(row, field) for row in summary)) if combine else "")
    return tuple(line)


def headline(summary: Sequence[Any], settings: VerificationSettings) -> list[str]:
    """Return the result in sentences; the first one says whether the run passes."""
    return page.sentences(TEMPLATE.with_name("headline.txt.j2"), {"rows": summary, "settings": settings})


def reproductions(output: Path, settings: VerificationSettings, records: Sequence[Any]) -> list[str]:
    """Return, for each design that violates the theorem, the violation and a command that repeats the check.

    The last line names the folder of the designs with undecided steps.
    """
    violations = _with_verdict(Agreement.VIOLATES, output, settings, records)
    lines = [f"violated by {name}: {'; '.join(found)}\n  {command}" for name, found, command in violations]
    undecided = sum(record.verdict is Agreement.UNDECIDED for record in records)
    if undecided:
        where = output / "undecided-*.npz"
        lines.append(f"Undecided designs saved as {where}: {undecided}. The report has a command for each.")
    return lines


def _with_verdict(
    verdict: Agreement, output: Path, settings: VerificationSettings, records: Sequence[Any]
) -> list[tuple[str, list[str], str]]:
    """Return (name, reasons, command that repeats the check) of each design with a verdict."""
    return [
        (f"{record.ensemble} #{record.index}", reasons(record), reproduction(output, settings, record))
        for record in records
        if record.verdict is verdict
    ]


def reproduction(output: Path, settings: VerificationSettings, record: Any) -> str:
    """Return the command that checks a saved design again, with the settings of the run."""
    plant = f" --plant {settings.plant}" if settings.plant else ""
    return f"sparselin verify --design {saved_design(output, record)} {_about(settings)}{plant}"


def _about(settings: VerificationSettings) -> str:
    return "--claim flow" if settings.claim == "flow" else f"--steps {settings.steps}"


def reasons(record: Any) -> list[str]:
    """Return a line for each check of a design that does not agree with the claim."""
    if isinstance(record, FlowRecord):
        return [f"{check}: {reason}" for check, reason in record.check.reasons.items()]
    found = [
        f"step {step.step}, {check}: {reason}"
        for step in record.steps
        for check, reason in step.reasons.items()
    ]
    return found + ([f"supports: {record.supports.reason}"] if record.supports.reason else [])


def saved_design(output: Path, record: Any) -> Path:
    """Return the file in which a design is saved, if the theorem is violated or undecided on it."""
    kind = "violation" if record.verdict is Agreement.VIOLATES else "undecided"
    return output / f"{kind}-{record.ensemble.replace('.py:', '-')}-{record.index}.npz"


def write(
    output: Path,
    settings: VerificationSettings,
    records: Sequence[Any],
    summary: Sequence[Any],
    seconds: float,
    interrupted: bool,
    failures: Sequence[Failure] = (),
) -> Path:
    """Write the page, results.json, the figures, and the designs that do not agree, to a folder."""
    files = {
        saved_design(output, record).name: _archive(settings, record)
        for record in records
        if record.verdict is not Agreement.AGREES
    }
    run = page.describe(
        _command(settings), seconds, settings.jobs, settings.seed, interrupted, packages=PACKAGES
    )
    results = {
        "run": run,
        "summary": [dataclasses.asdict(row) | {"passes": row.passes} for row in summary],
        "designs": [dataclasses.asdict(record) | {"verdict": record.verdict} for record in records],
        "failures": [dataclasses.asdict(failure) for failure in failures],
    }
    context = {
        "run": run,
        "headline": headline(summary, settings),
        "passes": all(row.passes for row in summary),
        "claim": settings.claim,
        "columns": [heading for heading, *_ in _columns(summary[0])],
        "rows": [(cells(row), row.passes) for row in summary],
        "ensembles": [(row, ENSEMBLES[row.name]) for row in summary],
        "totals": totals(summary),
        "figures": {name: page.picture(files, name, drawn) for name, drawn in _figures(records, summary)},
        "verdicts": {
            heading: _with_verdict(verdict, output, settings, records)
            for heading, verdict in (("Violations", Agreement.VIOLATES), ("Undecided", Agreement.UNDECIDED))
        },
    }
    files[folder.INDEX] = page.render(TEMPLATE, context)
    return folder.write(output, results, files)


def _archive(settings: VerificationSettings, record: Any) -> bytes:
    """Return the .npz of a design, with which `sparselin verify --design` repeats the checks of the run."""
    X, y = settings.design(record.ensemble, record.index)
    return page.archive(
        X=X,
        y=y,
        seed=settings.key(record.ensemble, record.index),
        reach=settings.measures_reach(record.index),
        audit=settings.audits(record.index),
        flops=np.inf if settings.descent_flops is None else settings.descent_flops,
    )


def _command(settings: VerificationSettings) -> str:
    """Return the command line that repeats the run."""
    cap = "" if settings.descent_flops is not None else " --uncapped"
    quick = " --quick" if settings.audit_first < VerificationSettings.audit_first else ""
    origins = [ENSEMBLES[name].origin or name for name in settings.ensembles]
    chosen = "all" if settings.ensembles == tuple(ENSEMBLES) else ",".join(origins)
    plant = f" --plant {settings.plant}" if settings.plant else ""
    return (
        f"sparselin verify --designs {settings.designs} {_about(settings)} "
        f"--ensembles {chosen} --seed {settings.seed}{cap}{quick}{plant}"
    )


def _figures(records: Sequence[Any], summary: Sequence[Any]) -> list[tuple[str, Any]]:
    """Return (name, figure) for each figure of the page; the page has the captions."""
    if isinstance(summary[0], FlowSummary):
        return [("errors", figures.errors(records).figure)]
    penalty = plots.penalty_panels([penalty_contours(limit) for limit in (1, 10, 100)])[0]
    return [
        ("agreement", figures.agreement(summary).figure),
        ("window", figures.windows(records).figure),
        ("penalty", penalty.figure),
    ]
