"""The report of `sparselin verify`: a table, a page with embedded figures, JSON, and saved designs."""

import dataclasses
import operator
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sparselin import plots
from sparselin.ensembles import ENSEMBLES
from sparselin.plots.penalty import penalty_contours
from sparselin.studies.common import command as common
from sparselin.studies.common import folder, page
from sparselin.studies.common.listing import RED, Field, Listing
from sparselin.studies.verification import figures
from sparselin.studies.verification.run import Failure, FlowRecord, FlowSummary, VerificationSettings
from sparselin.verification.projected_design import Agreement


def _field(page: str, terminal: str | None, name: str, style: str = "{}") -> Field:
    return Field(page, terminal, None, operator.attrgetter(name), style.format)


# the terminal has 80 columns
COLUMNS = {
    "name": _field("ensemble", "ensemble", "name"),
    "designs": _field("designs", "designs", "designs"),
    "steps": _field("steps", "steps", "steps"),
    "agreements": _field("agree", "agree", "agreements"),
    "undecided": _field("undecided", "undec.", "undecided"),
    "violations": _field("violate", "viol.", "violations"),
    "ties": _field("ties", "ties", "ties"),
    "strict": _field("A ⊂ T", "A⊂T", "strict"),
    "audited": _field("audited", None, "audited"),
    "worst_gap": _field("worst gap/‖y‖²", "gap", "worst_gap", "{:.0e}"),
    "worst_lam_error": _field("worst λ* error", "λ* err", "worst_lam_error", "{:.0e}"),
    "median_window": _field("median λ₂/λ*", "λ₂/λ*", "median_window", "{:.3f}"),
    "median_reach": _field("reach", None, "median_reach", "{:.2f}"),
}
FLOW_COLUMNS = {
    "name": COLUMNS["name"],
    "designs": COLUMNS["designs"],
    "events": _field("events", "events", "events"),
    **{name: COLUMNS[name] for name in ("agreements", "undecided", "violations")},
    "leaves": _field("leave", None, "leaves"),
    "lasso": _field("LASSO", "LASSO", "lasso", "{:.0%}"),
    "rate": _field("median L·error", "L·err", "rate", "{:.1f}"),
    "far": _field("> .05", None, "far"),
    "error": _field("last error", "error", "error", "{:.0e}"),
}
TEMPLATE = Path(__file__).with_name("report.html.j2")
PACKAGES = ("numpy", "scipy", "numba", "clarabel")
FILES = (
    "agreement.tex",
    "violation-*.npz",
    "undecided-*.npz",
    *page.pictures("agreement", "window", "penalty", "errors"),
)
TOTALS = {"median_window": None, "median_reach": None, "worst_gap": max, "worst_lam_error": max}
TOTALS |= {"lasso": None, "rate": None, "error": max}


def table(summary: Sequence[Any]) -> Listing:
    """Return the table of the ensembles; the rows that do not pass are red."""
    flow = isinstance(summary[0], FlowSummary)
    title = "Do OMP, Sequential LASSO and linear Sequential Attention choose the same?"
    return Listing(
        fields=tuple((FLOW_COLUMNS if flow else COLUMNS).values()),
        rows=summary,
        style=lambda row: None if row.passes else RED,
        totals=totals(summary),
        title="Is gradient_flow the limit of gradient flow?" if flow else title,
    )


def totals(summary: Sequence[Any]) -> tuple[str, ...]:
    """Return the last row of the table: the sums of the counts, and the maxima of the errors."""
    line = ["all"]
    columns = FLOW_COLUMNS if isinstance(summary[0], FlowSummary) else COLUMNS
    for name, field in [*columns.items()][1:]:
        combine = TOTALS.get(name, sum)
        line.append(field.text(combine(field.value(row) for row in summary)) if combine else "")
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
    """Write the page, results.json, agreement.tex, the figures, and the designs that do not agree."""
    files = {
        saved_design(output, record).name: _archive(settings, record)
        for record in records
        if record.verdict is not Agreement.AGREES
    }
    files["agreement.tex"] = table(summary).tex()
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
        "table": table(summary),
        "ensembles": [(row, ENSEMBLES[row.name]) for row in summary],
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
    shape = "" if settings.shape is None else f" --shape {common.shape_text(settings.shape)}"
    return (
        f"sparselin verify --designs {settings.designs} {_about(settings)} "
        f"--ensembles {chosen}{shape} --seed {settings.seed}{cap}{quick}{plant}"
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
