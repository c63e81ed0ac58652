"""`sparselin ledger`."""

from __future__ import annotations

import datetime
import os
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from sparselin.ensembles.saved import archive, load_value
from sparselin.ledger import PAPERS, Claim, Outcome, collect, decide, decide_all
from sparselin.results.display import plural
from sparselin.studies.common.command import NewPath, jobs_option, refuse, seed_option, watch
from sparselin.studies.common.folder import ReportError, put
from sparselin.studies.ledger import report as ledger_report


@click.command(short_help="Decide every claim of the papers.")
@click.option(
    "--paper",
    help="; ".join(f"{key}: {title}" for key, title in PAPERS.items()) + "; or a key of the folder's own.",
)
@click.option("--id", "pattern", help="Claims whose id begins with this.")
@click.option(
    "--cases", type=click.IntRange(1), help="Cases per claim, roughly.  [default: each claim's own number]"
)
@seed_option
@jobs_option
@click.option(
    "--folder",
    type=NewPath(file_okay=False, path_type=Path),
    default=Path("proofs_checks"),
    show_default=True,
    help="The checks, test_*.py: a folder of the repository, or of your own.",
)
@click.option(
    "--counterexamples",
    type=NewPath(file_okay=False, path_type=Path),
    default=Path("counterexamples"),
    show_default=True,
    help="Folder for what a claim fails on, an .npz for each.",
)
@click.option(
    "--design",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Check one saved counterexample again.",
)
@click.option("--write", is_flag=True, help="Store what was found: LEDGER.md, ledger.json in the folder.")
def ledger(
    paper: str | None,
    pattern: str | None,
    cases: int | None,
    seed: int,
    jobs: int,
    folder: Path,
    counterexamples: Path,
    design: Path | None,
    write: bool,
) -> None:
    """Check every claim of the papers, and compare the verdicts with the stored ledger.

    Exit status 0: all verdicts hold. 1: one does not, or differs from the stored one. 130: interrupted
    (what was done is shown).
    """
    try:
        claims = collect(folder, pattern=pattern)
        stored = ledger_report.read(folder)
    except FileNotFoundError as error:
        raise click.BadParameter(str(error), param_hint="--folder") from None
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    claims = _of_paper(claims, paper)
    console = Console()
    if design is not None:
        refuse(("cases", "jobs", "write", "counterexamples"), "--design, which checks one value again")
        raise SystemExit(_again(console, claims, design))
    if not claims:
        where = f" in {paper}" if paper else ""
        raise click.BadParameter(f"no claim's id{where} begins with {pattern!r}", param_hint="--id")
    _check_written(folder if write else None, counterexamples, claims)
    results, interrupted = _decide(console, claims, cases, seed, jobs)
    console.print(ledger_report.table(results))
    failed = [made.id for made, outcome in results if outcome.failure]
    for made, outcome in results:
        for line in _saved(counterexamples, folder, made, outcome):
            console.print(line, soft_wrap=True, highlight=False, markup=False)
    whole = paper is None and pattern is None and not interrupted
    if write:
        rows = (stored or {"rows": []})["rows"]
        others = [row for row in rows if row["id"] in failed] if whole else rows
        stored = _store(console, folder, results, seed, others)
    changed = []
    if stored is None:
        console.print(f"No ledger in {folder}: nothing to compare with.")
    else:
        changed = ledger_report.changes([made for made, _ in results], stored, whole)
    for line in changed:
        console.print(f"Changed: {line}", style="bold red", highlight=False, markup=False)
    if interrupted:
        console.print(f"Interrupted: {len(results)} of {len(claims)} claims done.")
    count = sum(outcome.cases for _, outcome in results)
    stored_at = folder / ledger_report.JSON
    where = f" Witnesses and corrections: {stored_at}" if stored_at.exists() else ""
    verb = "does" if len(failed) == 1 else "do"
    held = f"{plural(len(failed), 'verdict')} {verb} not hold" if failed else "all verdicts hold"
    console.print(f"{plural(len(results), 'claim')}, {count:,} cases; {held}.{where}", highlight=False)
    raise SystemExit(1 if failed or changed else 130 if interrupted else 0)


def _of_paper(claims: list[Claim], paper: str | None) -> list[Claim]:
    """The claims of a paper, in any case; all if it is None."""
    if paper is None:
        return claims
    keys = {key.lower(): key for key in PAPERS}
    if paper.lower() not in keys:
        raise click.BadParameter(f"{paper!r} is none of {', '.join(PAPERS)}", param_hint="--paper")
    return [made for made in claims if made.paper == keys[paper.lower()]]


def _check_written(folder: Path | None, counterexamples: Path, claims: list[Claim]) -> None:
    """Raise click.BadParameter for a file that a run would overwrite, and no earlier one wrote."""
    try:
        if folder is not None:
            ledger_report.check(folder)
    except ReportError as error:
        raise click.BadParameter(str(error), param_hint="--write") from None
    for made in claims:
        file = counterexamples / f"{made.id}.npz"
        if os.path.lexists(file):
            try:
                ours = not file.is_symlink() and str(load_value(file)[1].get("claim")) == made.id
            except ValueError:
                ours = False
            if not ours:
                words = (
                    f"{file} is not by `sparselin ledger`, which may overwrite it: move it, or choose another"
                )
                raise click.BadParameter(f"{words} folder", param_hint="--counterexamples")


def _saved(counterexamples: Path, folder: Path, made: Claim, outcome: Outcome) -> list[str]:
    """Save what a claim failed on; where it is, and the command that shows it again."""
    if outcome.counterexample is None:
        return []
    file, least = counterexamples / f"{made.id}.npz", outcome.smaller
    more = {} if least is None else {"smaller_X": least.X, "smaller_y": least.y}
    data = archive(outcome.counterexample, claim=made.id, call=outcome.call, **more)
    if data is None:
        return []
    put(counterexamples, {file.name: data})
    lines = [f"{made.id} fails on {file}:", f"  sparselin ledger --folder {folder} --design {file}"]
    if least is not None:
        lines.insert(1, f"  and on a smaller design, {least.X.shape}, smaller_X and smaller_y in that file")
    return lines


def _again(console: Console, claims: list[Claim], design: Path) -> int:
    """Check a saved counterexample: 1 where the claim fails on it, 0 where it holds."""
    try:
        value, more = load_value(design)
        id, call = str(more["claim"]), int(more["call"])
    except (ValueError, KeyError) as error:
        raise click.BadParameter(str(error), param_hint="--design") from None
    made = next((made for made in claims if made.id == id), None)
    if made is None:
        raise click.BadParameter(f"{design} is of {id}, which is not there", param_hint="--folder")
    outcome = decide(made, only=(call, value))
    if outcome.failure is None and not outcome.cases:
        raise click.BadParameter(f"{id} has no `forall` or `over` number {call}", param_hint="--design")
    words = "holds" if outcome.failure is None else f"fails: {outcome.failure}"
    console.print(f"{id} {words}", soft_wrap=True, highlight=False, markup=False)
    return 0 if outcome.failure is None else 1


def _store(
    console: Console,
    folder: Path,
    results: list[tuple[Claim, Outcome]],
    seed: int,
    rows: list[dict[str, Any]],
) -> dict[str, Any]:
    """Write the supported verdicts and the stored rows of other claims, and return the new ledger."""
    supported = [(made, outcome) for made, outcome in results if not outcome.failure]
    here = {made.id for made, _ in supported}
    others = [row for row in rows if row["id"] not in here]
    made = ledger_report.document(supported, seed, datetime.date.today(), others)
    ledger_report.write(folder, made)
    failed = len(results) - len(supported)
    console.print(f"Wrote {len(supported)} rows to {folder}; {failed} failed and were not stored.")
    return made


def _decide(
    console: Console, claims: list[Claim], cases: int | None, seed: int, jobs: int
) -> tuple[list[tuple[Claim, Outcome]], bool]:
    """All outcomes, in the order of the claims; Ctrl-C keeps those that have come."""
    outcomes: dict[str, Outcome] = {}

    def take(decided: tuple[Claim, Outcome]) -> tuple[int, str]:
        made, outcome = decided
        outcomes[made.id] = outcome
        return 1, made.id

    interrupted = watch(console, "claims", len(claims), decide_all(claims, cases, seed, jobs), take)
    return [(made, outcomes[made.id]) for made in claims if made.id in outcomes], interrupted
