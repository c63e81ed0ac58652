"""The command `python -m proofs_checks.experiments.diversity`: its options, and the experiment that it
runs.
"""

import math
import shlex
import time
from pathlib import Path

import click
from rich.console import Console

from proofs_checks.experiments.diversity import report, run
from proofs_checks.experiments.diversity.findings import judge
from sparselin.ensembles.datasets import FOLDER, Images, Source, images
from sparselin.studies.common import command as cli
from sparselin.studies.common.page import describe


@click.command("python -m proofs_checks.experiments.diversity", cls=cli.Alone, context_settings=cli.HELP)
@click.option(
    "--data",
    "source",
    type=click.Choice(("auto", "mnist", "digits")),
    default="auto",
    show_default=True,
    help=f"auto: MNIST if the variable {FOLDER} names a folder with mnist/*-ubyte.gz, otherwise digits.",
)
@click.option("--k", "ks", help="Comma-separated sparsities.  [default: 10,20,…,90; digits 5,10,…,40]")
@click.option("--sigma", type=float, default=0.1, show_default=True, help="Strength of the noise, positive.")
@click.option("--repeats", type=click.IntRange(1), default=5, show_default=True, help="Draws of the noise.")
@click.option(
    "--images", "count", type=click.IntRange(2), help="Images to sample.  [default: 1000; digits: all 1797]"
)
@click.option(
    "--seed", type=click.IntRange(0), default=0, show_default=True, help="Seed of the sample and the noise."
)
@click.option(
    "--alpha",
    type=click.FloatRange(0, 1),
    default=0.5,
    show_default=True,
    help="Power of the generalized rank; the paper does not state its value.",
)
@click.option("--refitted", is_flag=True, help="Choose ν by R² of least squares on the LASSO's features.")
@click.option("--quick", is_flag=True, help="Use three sparsities and few images; takes seconds.")
@cli.jobs_option
@cli.output_option("report/diversity", "index.html, results.json, selections.csv and the figures")
def diversity(
    source: Source,
    ks: str | None,
    sigma: float,
    repeats: int,
    count: int | None,
    seed: int,
    alpha: float,
    refitted: bool,
    quick: bool,
    jobs: int,
    output: Path,
) -> None:
    """Reproduce Figure 1 of the 2012 paper: are diverse features robust to noise, and at what loss of R²?

    The command selects k pixels of handwritten digits by the LASSO, greedily, and with each spectral
    regularizer. Then it perturbs labels and images, and reports for each panel which claims hold.

    Exit status 0: the run is complete, even if a claim does not hold. 130: interrupted; the report of the
    finished selections is written.
    """
    if not 0 < sigma < math.inf:
        raise click.BadParameter(f"must be positive and finite; got {sigma}", param_hint="--sigma")
    console = Console()
    found = _images(source)
    console.print(found.note, highlight=False)
    design = _design(found, count or _default_count(found, quick), seed)
    chosen = _sparsities(ks, design, quick)
    settings = run.DiversitySettings(
        ks=chosen, sigma=sigma, repeats=repeats, seed=seed, alpha=alpha, refitted=refitted, jobs=jobs
    )
    cli.make_folder(output, "proofs_checks.experiments.diversity", report.FILES)
    started = time.perf_counter()
    selections, interrupted = _collect(console, design, settings)
    if not selections:
        raise SystemExit(130)
    cli.ignore_interrupts()
    seconds = time.perf_counter() - started
    console.print(report.method_table(selections, settings))
    findings = judge(selections, settings)
    console.print(report.findings_table(findings))
    for line in (*report.headline(design, settings, findings, selections), *report.reading(selections)):
        console.print(line, highlight=False)
    record = describe(_command(design, settings), seconds, jobs, seed, interrupted, report.PACKAGES)
    index = report.write(output, settings, design, selections, record)
    cli.finish(console, index, interrupted)


def _images(source: Source) -> Images:
    """Return the images that the option --data names."""
    try:
        return images(source)
    except (FileNotFoundError, ValueError) as error:
        raise click.BadParameter(str(error), param_hint="--data") from None


def _default_count(found: Images, quick: bool) -> int:
    """Return the number of images that the experiment uses if the options do not say it.

    This number is 1000 for MNIST, as in the paper, and the number of all images for scikit-learn's digits.
    With --quick it is 300.
    """
    whole = 1000 if found.name == "MNIST" else len(found.labels)
    return 300 if quick else whole


def _design(found: Images, count: int, seed: int) -> run.Design:
    """Return the regression problem of a random sample of the images."""
    try:
        return run.sample(found, count, seed)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--images") from None


def _sparsities(text: str | None, design: run.Design, quick: bool) -> tuple[int, ...]:
    """Return the numbers of features that the option --k lists.

    They must be increasing, and at most the number of images and the number of pixels that are not always
    zero.
    """
    default = run.KS[design.name]
    if text is None:
        return default[:3] if quick else default
    try:
        chosen = tuple(sorted({int(part) for part in text.split(",")}))
    except ValueError:
        raise click.BadParameter(f"must be integers like 10,20; got {text!r}", param_hint="--k") from None
    most = min(len(design.y), int((design.usage > 0).sum()))
    if chosen[0] < 1 or chosen[-1] > most:
        words = f"must lie in 1..{most} for {len(design.y)} of these images; got {text}"
        raise click.BadParameter(words, param_hint="--k")
    return chosen


def _command(design: run.Design, settings: run.DiversitySettings) -> str:
    """Return the command line that repeats the experiment."""
    ks = ",".join(map(str, settings.ks))
    line = [*str(diversity.name).split(), "--data", design.name.lower(), "--k", ks]
    line += ["--sigma", f"{settings.sigma:g}", "--repeats", str(settings.repeats)]
    line += ["--images", str(len(design.y)), "--seed", str(settings.seed), "--alpha", f"{settings.alpha:g}"]
    return shlex.join(line + ["--refitted"] * settings.refitted)


def _collect(
    console: Console, design: run.Design, settings: run.DiversitySettings
) -> tuple[list[run.MethodSelection], bool]:
    """Return the selections, sorted by method and k, and whether Ctrl-C ended the run before all were
    done.
    """
    selections: list[run.MethodSelection] = []

    def take(found: list[run.MethodSelection]) -> tuple[int, str]:
        selections.extend(found)
        state = found[0].method if len(found) > 1 else f"{found[0].method}, k = {found[0].k}"
        return len(found), state

    total = len(run.methods()) * len(settings.ks)
    words = "Interrupted: the report shows the finished selections."
    interrupted = cli.watch(console, "selections", total, run.select_all(design, settings), take, words)
    return run.sort_selections(selections), interrupted
