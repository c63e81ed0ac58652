"""The report of `sparselin verify`: a table, a page with its figures inside, JSON, and saved designs."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rich import box
from rich.table import Table

from sparselin import plots
from sparselin.ensembles import ENSEMBLES
from sparselin.experiments.penalty_contours import penalty_contours
from sparselin.experiments.verification.projected_design import Agreement
from sparselin.experiments.verification.run import (
    DesignRecord,
    EnsembleSummary,
    StepRecord,
    VerificationSettings,
)
from sparselin.reports import page
from sparselin.results import SelectionPath

# heading of the page, heading of the terminal's table (80 columns), field, format
COLUMNS = (
    ("ensemble", "ensemble", "name", "{}"),
    ("designs", "designs", "designs", "{}"),
    ("steps", "steps", "steps", "{}"),
    ("agree", "agree", "agreements", "{}"),
    ("undecided", "undec.", "undecided", "{}"),
    ("violate", "viol.", "violations", "{}"),
    ("ties", "ties", "ties", "{}"),
    ("A ⊂ T", "A⊂T", "strict", "{}"),
    ("audited", "", "audited", "{}"),
    ("worst gap/‖y‖²", "gap", "worst_gap", "{:.0e}"),
    ("worst λ* error", "λ* err", "worst_lam_error", "{:.0e}"),
    ("median λ₂/λ*", "λ₂/λ*", "median_window", "{:.3f}"),
    ("reach", "", "median_reach", "{:.2f}"),
)
PACKAGES = ("numpy", "scipy", "numba", "cvxpy", "clarabel")
TOTALS = {"median_window": None, "median_reach": None, "worst_gap": max, "worst_lam_error": max}


def cells(row: EnsembleSummary) -> tuple[str, ...]:
    """One row of the table as text."""
    return tuple(style.format(getattr(row, field)) for _, _, field, style in COLUMNS)


def table(summary: Sequence[EnsembleSummary]) -> Table:
    """The summary for a terminal."""
    shown = [i for i, (_, short, _, _) in enumerate(COLUMNS) if short]
    title = "OMP, Sequential LASSO, linear Sequential Attention: the same choice?"
    view = Table(title=title, box=box.SIMPLE_HEAD, padding=0, pad_edge=False)
    for i in shown:
        view.add_column(COLUMNS[i][1], justify="right" if i else "left", no_wrap=True)
    for row in summary:
        line = cells(row)
        view.add_row(*(line[i] for i in shown), style=None if row.passes else "bold red")
    view.add_section()
    line = totals(summary)
    view.add_row(*(line[i] for i in shown), style="bold")
    return view


def totals(summary: Sequence[EnsembleSummary]) -> tuple[str, ...]:
    """The last row: sums, and the worst of the worst."""
    line = ["all"]
    for _, _, field, style in COLUMNS[1:]:
        combine = TOTALS.get(field, sum)
        line.append(style.format(combine(getattr(row, field) for row in summary)) if combine else "")
    return tuple(line)


def headline(summary: Sequence[EnsembleSummary]) -> list[str]:
    """The result in two or three sentences."""
    steps = sum(row.steps for row in summary)
    agreements = sum(row.agreements for row in summary)
    violations = sum(row.violations for row in summary)
    undecided = sum(row.undecided for row in summary)
    designs = sum(row.designs for row in summary)
    lines = [
        f"{designs} designs, {steps} steps: {agreements} agree, {violations} violate, {undecided} undecided."
    ]
    reach = [row.median_reach for row in summary if row.reach_steps]
    if reach:
        lines.append(
            "Linear Sequential Attention picks the same feature down to "
            f"{min(reach):.2f}–{max(reach):.2f} of λ* (medians of the ensembles, "
            f"{sum(row.reach_steps for row in summary)} steps)."
        )
    lines += [
        f"{row.name}: {row.undecided} of {row.steps} steps are undecided, above the limit of "
        f"{row.undecided_limit:.0%}."
        for row in summary
        if row.undecided > row.undecided_limit * row.steps
    ]
    return lines


def reproductions(output: Path, settings: VerificationSettings, records: Sequence[DesignRecord]) -> list[str]:
    """For each violating design: the violation, and the command that reproduces it."""
    lines = []
    for record in records:
        if record.verdict is Agreement.VIOLATES:
            lines.append(
                f"violated by {record.ensemble} #{record.index}: {'; '.join(reasons(record))}\n"
                f"  sparselin verify --design {saved_design(output, record)} --steps {settings.steps}"
            )
    return lines


def reasons(record: DesignRecord) -> list[str]:
    """The checks that do not agree, a line each."""
    found = [
        f"step {step.step}, {check}: {reason}"
        for step in record.steps
        for check, reason in step.reasons.items()
    ]
    return found + ([f"supports: {record.supports.reason}"] if record.supports.reason else [])


def saved_design(output: Path, record: DesignRecord) -> Path:
    """The file in which a violating design is saved."""
    return output / f"violation-{record.ensemble}-{record.index}.npz"


def step_table(path: SelectionPath, records: Sequence[StepRecord]) -> Table:
    """One design, a row a step."""
    view = Table(title="every check at every step")
    for name in ("step", "feature", "λ*", "|T|", "|A(S)|", "λ₂/λ*", "verdict", "why"):
        view.add_column(name)
    for record in records:
        feature = str(path.support[record.step - 1]) if record.step <= len(path.support) else "–"
        why = "; ".join(f"{check}: {reason}" for check, reason in record.reasons.items())
        numbers = (f"{record.lam_star:.6g}", str(record.tied), str(record.active), f"{record.window:.3f}")
        view.add_row(str(record.step), feature, *numbers, record.verdict, why)
    return view


def write(
    output: Path,
    settings: VerificationSettings,
    records: Sequence[DesignRecord],
    summary: Sequence[EnsembleSummary],
    seconds: float,
    interrupted: bool,
) -> Path:
    """Write index.html, results.json, the figures (PNG and SVG) and the violating designs to a folder."""
    output.mkdir(parents=True, exist_ok=True)
    for record in records:
        if record.verdict is Agreement.VIOLATES:
            X, y = ENSEMBLES[record.ensemble].design(record.index, settings.seed)
            seed, reach = settings.key(record.ensemble, record.index), settings.measures_reach(record.index)
            np.savez_compressed(saved_design(output, record), X=X, y=y, seed=seed, reach=reach)
    run = page.describe(
        _command(settings), seconds, settings.jobs, settings.seed, interrupted, packages=PACKAGES
    )
    page.write_json(
        output,
        {
            "run": run,
            "summary": [dataclasses.asdict(row) | {"passes": row.passes} for row in summary],
            "designs": [dataclasses.asdict(record) | {"verdict": record.verdict} for record in records],
        },
    )
    context = {
        "run": run,
        "headline": headline(summary),
        "passes": all(row.passes for row in summary),
        "columns": [heading for heading, *_ in COLUMNS],
        "rows": [(cells(row), ENSEMBLES[row.name].description, row.passes) for row in summary],
        "totals": totals(summary),
        "figures": [page.figure(output, *entry) for entry in _figures(records, summary)],
        "violations": [
            (f"{r.ensemble} #{r.index}", reasons(r)) for r in records if r.verdict is Agreement.VIOLATES
        ],
        "undecided": [
            (f"{r.ensemble} #{r.index}", reasons(r)) for r in records if r.verdict is Agreement.UNDECIDED
        ],
        "commands": reproductions(output, settings, records),
    }
    return page.write_page(output, "verification.html.j2", context)


def _command(settings: VerificationSettings) -> str:
    """The command line that repeats the run."""
    cap = "" if settings.descent_flops is not None else " --uncapped"
    quick = " --quick" if settings.audit_first < VerificationSettings.audit_first else ""
    chosen = "all" if settings.ensembles == tuple(ENSEMBLES) else ",".join(settings.ensembles)
    return (
        f"sparselin verify --designs {settings.designs} --steps {settings.steps} "
        f"--ensembles {chosen} --seed {settings.seed}{cap}{quick}"
    )


def _figures(
    records: Sequence[DesignRecord], summary: Sequence[EnsembleSummary]
) -> list[tuple[str, str, Any]]:
    return [
        (
            "agreement",
            "Steps of each ensemble: agreeing, undecided, violating.",
            plots.agreement(summary).figure,
        ),
        (
            "window",
            "Where the window begins in which the LASSO's support off S stays A(S), as a share of λ*: λ₂/λ* "
            "at every step (sharp), and λ₀/λ*, which the printed proof gives. Nearer to 0 is a wider window.",
            plots.windows(records).figure,
        ),
        (
            "penalty",
            "Contours of Q*(β∘β), the penalty that softmax attention induces (Lemma 3.2, Figure 2).",
            plots.penalty_panels([penalty_contours(limit) for limit in (1, 10, 100)])[0].figure,
        ),
    ]
