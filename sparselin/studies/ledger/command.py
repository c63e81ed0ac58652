"""The command `sparselin ledger`: its options, and the steps of a run."""

import datetime
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from sparselin.ensembles import ENSEMBLES
from sparselin.ensembles.saved import archive, load_value
from sparselin.ledger import PAPERS, Claim, Outcome, collect, decide, decide_all
from sparselin.results.display import plural
from sparselin.studies.common import command as common
from sparselin.studies.common.folder import ReportError, write_files
from sparselin.studies.ledger import report as ledger_report

# options that have no effect with --design
_OPTIONS_OF_RUN = ("cases", "ensembles", "jobs", "write", "counterexamples")


@click.command(short_help="Check every claim of the papers.")
@click.option(
    "--paper",
    help="; ".join(f"{key}: {title}" for key, title in PAPERS.items()) + "; or a paper of your own folder.",
)
@click.option("--id", "pattern", help="Check only the claims whose id begins with this text.")
@click.option(
    "--cases", type=click.IntRange(1), help="Approximate cases per claim.  [default: set by each claim]"
)
@common.ensembles_option(tuple(ENSEMBLES))
@common.seed_option
@common.jobs_option
@common.folder_option(
    "--folder", "proofs_checks", "The folder with the checks, test_*.py: that of the repository, or your own."
)
@common.folder_option(
    "--counterexamples",
    "counterexamples",
    "The folder for counterexamples, one .npz for each claim that fails.",
)
@common.design_option("Check again the counterexample saved in this file.")
@click.option("--write", is_flag=True, help="Store the verdicts in the folder, as LEDGER.md and ledger.json.")
def ledger(
    paper: str | None,
    pattern: str | None,
    cases: int | None,
    ensembles: str,
    seed: int,
    jobs: int,
    folder: Path,
    counterexamples: Path,
    design: Path | None,
    write: bool,
) -> None:
    """Check every claim of the papers, and compare the verdicts with the stored ledger.

    The option --ensembles is for claims of your own that draw from `check.designs`.

    Exit status: 0 if all verdicts hold, 1 if one fails or differs from the stored verdict, 130 if interrupted
    (the finished claims are shown).
    """
    try:
        claims = collect(folder, pattern=pattern)
        stored = ledger_report.read(folder)
    except FileNotFoundError as error:
        raise click.BadParameter(str(error), param_hint="--folder") from None
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    claims = _of_paper(claims, paper)
    console = common.Terminal()
    if design is not None:
        common.refuse(_OPTIONS_OF_RUN, "--design, which checks only one value")
        raise SystemExit(_again(console, claims, design))
    if not claims:
        where = f" in {paper}" if paper else ""
        raise click.BadParameter(f"no claim{where} has an id that begins with {pattern!r}", param_hint="--id")
    chosen = common.ensemble_names(common.register_own(ensembles, seed), tuple(ENSEMBLES))
    _check_outputs(folder if write else None, counterexamples, claims)
    results, interrupted = _decide(console, claims, decide_all(claims, cases, seed, jobs, chosen))
    console.print(ledger_report.table(results))
    failed = [claim.id for claim, outcome in results if outcome.failure]
    for claim, outcome in results:
        for line in _save(counterexamples, folder, claim, outcome):
            console.print(line, soft_wrap=True, highlight=False, markup=False)
    whole = paper is None and pattern is None and not interrupted
    if write:
        rows = (stored or {"rows": []})["rows"]
        others = [row for row in rows if row["id"] in failed] if whole else rows
        stored = _store(console, folder, results, seed, others)
    changes = []
    if stored is None:
        console.print(f"There is no ledger in {folder} to compare with.")
    else:
        changes = ledger_report.changes([claim for claim, _ in results], stored, whole)
    for line in changes:
        console.print(f"Changed: {line}", style="bold red", highlight=False, markup=False)
    if interrupted:
        console.print(f"Interrupted after {len(results)} of {len(claims)} claims.")
    count = sum(outcome.cases for _, outcome in results)
    stored_at = folder / ledger_report.JSON
    where = f" Witnesses and corrections are in {stored_at}" if stored_at.exists() else ""
    verb = "does" if len(failed) == 1 else "do"
    verdict = f"{plural(len(failed), 'verdict')} {verb} not hold" if failed else "all verdicts hold"
    console.print(f"{plural(len(results), 'claim')}, {count:,} cases: {verdict}.{where}", highlight=False)
    if failed or changes:
        raise SystemExit(1)
    raise SystemExit(130 if interrupted else 0)


def _of_paper(claims: list[Claim], paper: str | None) -> list[Claim]:
    """Return the claims of a paper, whose key may be in upper or lower case; None stands for all papers."""
    if paper is None:
        return claims
    keys = {key.lower(): key for key in PAPERS}
    if paper.lower() not in keys:
        raise click.BadParameter(f"must be one of {', '.join(PAPERS)}; got {paper!r}", param_hint="--paper")
    return [claim for claim in claims if claim.paper == keys[paper.lower()]]


def _check_outputs(folder: Path | None, counterexamples: Path, claims: list[Claim]) -> None:
    """Raise click.BadParameter if the run would overwrite a file that no earlier run wrote."""
    try:
        if folder is not None:
            ledger_report.check(folder)
    except ReportError as error:
        raise click.BadParameter(str(error), param_hint="--write") from None
    for claim in claims:
        file = counterexamples / f"{claim.id}.npz"
        if os.path.lexists(file):
            try:
                ours = not file.is_symlink() and str(load_value(file)[1].get("claim")) == claim.id
            except ValueError:
                ours = False
            if not ours:
                words = f"`sparselin ledger` did not write {file}, and may overwrite it"
                advice = "move it, or choose another folder"
                raise click.BadParameter(f"{words}: {advice}", param_hint="--counterexamples")


def _save(counterexamples: Path, folder: Path, claim: Claim, outcome: Outcome) -> list[str]:
    """Save the counterexample to a claim, if there is one.

    Returns lines with its file and a command to check it again.
    """
    if outcome.counterexample is None:
        return []
    file = counterexamples / f"{claim.id}.npz"
    least = outcome.smaller
    more = {} if least is None else {"smaller_X": least.X, "smaller_y": least.y}
    data = archive(outcome.counterexample, claim=claim.id, call=outcome.call, **more)
    if data is None:
        return []
    write_files(counterexamples, {file.name: data})
    lines = [f"{claim.id} fails on {file}:", f"  sparselin ledger --folder {folder} --design {file}"]
    if least is not None:
        lines.insert(
            1, f"  and on a smaller design of shape {least.X.shape}, stored there as smaller_X and smaller_y"
        )
    return lines


def _again(console: Console, claims: list[Claim], design: Path) -> int:
    """Check a saved counterexample again. Return 1 if the claim fails on it, and 0 if it holds."""
    try:
        value, more = load_value(design)
        id, call = str(more["claim"]), int(more["call"])
    except (ValueError, KeyError) as error:
        raise click.BadParameter(str(error), param_hint="--design") from None
    claim = next((claim for claim in claims if claim.id == id), None)
    if claim is None:
        raise click.BadParameter(f"has no claim {id}, to which {design} belongs", param_hint="--folder")
    outcome = decide(claim, only=(call, value))
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
    """Write the ledger to the folder, and return it.

    The ledger has the results that hold, and the stored `rows` of all other claims. A failed result is not
    stored, so its claim keeps the old row.
    """
    supported = [(claim, outcome) for claim, outcome in results if not outcome.failure]
    here = {claim.id for claim, _ in supported}
    others = [row for row in rows if row["id"] not in here]
    ledger = ledger_report.document(supported, seed, datetime.date.today(), others)
    ledger_report.write(folder, ledger)
    failed = len(results) - len(supported)
    console.print(f"Stored {len(supported)} rows in {folder}; {failed} failed and were not stored.")
    return ledger


def _decide(
    console: Console, claims: list[Claim], stream: Iterator[tuple[Claim, Outcome]]
) -> tuple[list[tuple[Claim, Outcome]], bool]:
    """Return the outcomes in the order of the claims, and whether Ctrl-C ended the run early."""
    outcomes: dict[str, Outcome] = {}

    def take(result: tuple[Claim, Outcome]) -> tuple[int, str]:
        claim, outcome = result
        outcomes[claim.id] = outcome
        return 1, claim.id

    interrupted = common.watch(console, "claims", len(claims), stream, take)
    return [(claim, outcomes[claim.id]) for claim in claims if claim.id in outcomes], interrupted
