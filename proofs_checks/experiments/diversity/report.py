"""The report of `make diversity`: tables, a page with the six panels of Figure 1, CSV and JSON."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rich import box
from rich.table import Table

from proofs_checks.experiments.diversity import figures
from proofs_checks.experiments.diversity.findings import (
    PRINTED_AXES,
    Finding,
    extremes,
    judge,
    order_at,
    panels,
)
from proofs_checks.experiments.diversity.findings import Table as ByMethod
from proofs_checks.experiments.diversity.run import (
    KS,
    RARE,
    Design,
    DiversitySettings,
    MethodSelection,
    methods,
)
from sparselin.spectral.regularizers import REGULARIZERS
from sparselin.studies.common import folder, page

TEMPLATE = Path(__file__).with_name("report.html.j2")
PACKAGES = ("numpy", "scipy", "numba", "scikit-learn")
FILES = ("selections.csv", *page.pictures("figure-1", "fit", "pixels", "without-constants"))
SHORT_NOTE = " Faded, with their number: selections of fewer than k features."
SEARCH_NAMES = {"forward": "greedy FR", "greedy_local_search": "GLS"}
COLUMNS = ("method", "k", "features", "ν", "qualifies", "R²", "R² lasso", "R² lasso, refitted")


def findings_table(findings: Sequence[Finding]) -> Table:
    """The claims of the paper and their verdicts, for a terminal."""
    view = Table(title="Figure 1 of the 2012 paper: does it show?", box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    view.add_column("")
    view.add_column("claim")
    view.add_column("holds", justify="right", no_wrap=True)
    view.add_column("verdict", no_wrap=True)
    for found in findings:
        panel = f"({found.panel})" if found.panel else ""
        style = "bold red" if found.verdict == "does not show" else None
        view.add_row(panel, found.claim, f"{found.held}/{found.total}", found.verdict, style=style)
    if any(found.left_out for found in findings):
        view.caption = "Selections of fewer than k features are left out of all comparisons."
    return view


def method_table(selections: Sequence[MethodSelection], settings: DiversitySettings) -> Table:
    """Each method at the largest k, for a terminal."""
    k = max(one.k for one in selections)
    view = Table(title=f"k = {k}, σ = {settings.sigma:g}", box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    headings = ("method", "R²", "error, y", "error, X", *REGULARIZERS, "rare")
    for i, heading in enumerate(headings):
        view.add_column(heading, justify="right" if i else "left", no_wrap=True)
    for one in selections:
        if one.k == k:
            view.add_row(
                one.method + (f" ({len(one.support)} features)" if one.short else ""),
                f"{one.r2:.3f}",
                *(f"{np.mean(errors[settings.sigma]):.4f}" for errors in (one.target, one.features)),
                *(f"{one.diversity[name]:.3f}" for name in REGULARIZERS),
                f"{one.rare}/{len(one.support)}",
            )
    return view


def headline(
    design: Design,
    settings: DiversitySettings,
    findings: Sequence[Finding],
    selections: Sequence[MethodSelection],
) -> list[str]:
    """The result in two sentences, and the data."""
    short = sum(one.short for one in selections)
    left_out = (
        f" {short} of the {len(selections)} selections {'has' if short == 1 else 'have'} fewer than k "
        "features and no part in these counts."
        if short
        else ""
    )
    rule = "least squares on the LASSO's features" if settings.refitted else "the LASSO's own coefficients"
    zero = int((design.usage == 0).sum())
    rare = int(((design.usage > 0) & (design.usage < RARE)).sum())
    count = functools.partial(_counted, findings)
    return [
        f"{design.name}: with y perturbed the error of the regularized selection is below that of greedy "
        f"selection in {count('regularized', 'a')} cases, and that below the LASSO's in "
        f"{count('greedy', 'a')}; with X perturbed in {count('regularized', 'b')} and "
        f"{count('greedy', 'b')}.{left_out}",
        f"By its own measure the regularized selection is more diverse than either in {count('diverse')} "
        "comparisons. From one k to the next the LASSO's normalised diversity increases in "
        f"{count('trend lasso')} steps, greedy's in {count('trend no-reg')}.",
        f"{len(design.y)} images, {design.X.shape[1]} pixels, of which {zero} are zero in all of them and "
        f"stay zero columns, never picked, and {rare} are rare: not zero in fewer than {RARE:.0%} of the "
        f"images. {design.note} ν is the largest found with R² at least that of {rule}.",
    ]


def _counted(findings: Sequence[Finding], key: str, panel: str = "") -> str:
    """32 of 36: the comparisons of a claim, in one panel or in all."""
    chosen = [found for found in findings if found.key == key and panel in found.panel]
    return f"{sum(found.held for found in chosen)} of {sum(found.total for found in chosen)}"


def reading(selections: Sequence[MethodSelection]) -> list[str]:
    """The rare pixels and the loss of R² by diversity, in numbers of this run."""
    table = ByMethod(selections)
    lines = [_rare(selections), _price(table)]
    every = sum(one.qualifies == "every" for one in selections)
    short = [one for one in selections if one.short]
    if every:
        lines.append(
            f"For {every} of the choices every ν tried qualifies: the selection is then the most diverse "
            "that the search finds, whatever it explains."
        )
    if short:
        places = ", ".join(f"{one.method} at k = {one.k}: {len(one.support)}" for one in short)
        lines.append(
            f"Fewer than k features: {places}. GLS may return its set S₁' = LS(S₁), and the LASSO's path may "
            "skip a number. Fewer features tend to have smaller errors: these are left out of all "
            "comparisons, and drawn faded with their number beside them."
        )
    return [line for line in lines if line]


def _rare(selections: Sequence[MethodSelection]) -> str:
    """Where the diversity comes from."""
    k = max(one.k for one in selections)
    last = [one for one in selections if one.k == k and one.support]
    shares = ", ".join(f"{one.rare / len(one.support):.0%} for {one.method}" for one in last)
    return (
        f"Where the diversity comes from: at k = {k} the share of rare pixels (not zero in fewer than "
        f"{RARE:.0%} of the images, and so nearly orthogonal to the others) is {shares}."
        if last
        else ""
    )


def _price(table: ByMethod) -> str:
    """The loss of R² by diversity."""
    k = min(table.ks)
    if not {("no-reg", k), ("ld", k)} <= set(table.at):
        return ""
    one, base = table.at["ld", k], table.at["no-reg", k]
    return (
        f"What it costs: at k = {k} R² is {one.r2:.3f} with ld and {base.r2:.3f} with no-reg; the LASSO's "
        f"own coefficients reach {one.r2_lasso:.3f}, least squares on its features {one.r2_refitted:.3f}. "
        "The paper's rule compares with the LASSO; if that is with its shrunk coefficients, it asks for "
        "little at small k."
    )


def _columns() -> tuple[str, ...]:
    """The headings over `cells`."""
    return (*COLUMNS, "error, y", "error, X", *(f"diversity {name}" for name in REGULARIZERS), "rare")


def cells(one: MethodSelection, settings: DiversitySettings) -> tuple[str, ...]:
    """A row of the page's table."""
    regularized = one.method in REGULARIZERS
    return (
        one.method,
        str(one.k),
        str(len(one.support)),
        f"{one.nu:.3g}" if regularized else "",
        one.qualifies,
        f"{one.r2:.4f}",
        f"{one.r2_lasso:.4f}",
        f"{one.r2_refitted:.4f}",
        *(_spread(errors[settings.sigma]) for errors in (one.target, one.features)),
        *(f"{one.diversity[name]:.4f}" for name in REGULARIZERS),
        str(one.rare),
    )


def _spread(errors: Sequence[float]) -> str:
    return f"{np.mean(errors):.4f} ± {np.std(errors):.4f}"


def write(
    output: Path,
    settings: DiversitySettings,
    design: Design,
    selections: Sequence[MethodSelection],
    command: str,
    seconds: float,
    interrupted: bool,
) -> Path:
    """Write index.html, results.json, selections.csv and the figures (PNG and SVG) to a folder."""
    findings = judge(selections, settings)
    run = page.describe(command, seconds, settings.jobs, settings.seed, interrupted, packages=PACKAGES)
    least = extremes(selections, settings.sigma)
    results = {
        "run": run,
        "settings": dataclasses.asdict(settings),
        "data": {"name": design.name, "images": len(design.y), "pixels": design.X.shape[1]},
        "findings": [dataclasses.asdict(found) | {"verdict": found.verdict} for found in findings],
        "selections": [dataclasses.asdict(one) for one in selections],
    }
    files = {"selections.csv": page.table(_lines(selections, settings))}
    context = {
        "run": run,
        "headline": headline(design, settings, findings, selections),
        "findings": [(found, found.verdict == "does not show") for found in findings],
        "reading": reading(selections),
        "settings": settings,
        "searches": {name: SEARCH_NAMES[one.method] for name, one in REGULARIZERS.items()},
        "figures": [page.figure(files, *entry) for entry in _figures(design, selections, settings)],
        "sigmas": _sigmas(selections, settings),
        "axes": _axes(least) if design.name == "MNIST" and settings.ks == KS["MNIST"] else [],
        "columns": _columns(),
        "rows": [cells(one, settings) for one in selections],
    }
    files[folder.INDEX] = page.render(TEMPLATE, context)
    return folder.write(output, results, files)


def _axes(least: dict[str, float]) -> list[tuple[str, str, str, str]]:
    """Panel, quantity, its range by the printed axis, its value here."""
    rows = []
    for panel, (low, high) in PRINTED_AXES.items():
        what = "largest error" if panel in "ab" else "least diversity"
        rows.append((f"({panel})", what, f"{low:g} to {high:g}", f"{least[panel]:.3f}"))
    return rows


def _sigmas(
    selections: Sequence[MethodSelection], settings: DiversitySettings
) -> list[tuple[str, str, tuple[str, ...]]]:
    """σ, how many comparisons hold, and each method's median error over k, X being perturbed."""
    table = ByMethod(selections)
    rows = []
    for sigma in sorted(settings.all_sigmas()):
        held, total = order_at(table, sigma)
        medians = [[float(np.mean(one.features[sigma])) for one in table.line(name)] for name in methods()]
        told = tuple(f"{np.median(line):.4f}" if line else "" for line in medians)
        rows.append((f"{sigma:g}", f"{held} of {total}", told))
    return rows


def _lines(selections: Sequence[MethodSelection], settings: DiversitySettings) -> Iterator[Iterable[object]]:
    """Yield the lines of selections.csv: one for each selection, with the errors of every σ."""
    sigmas = settings.all_sigmas()
    plain = ("method", "k", "features", "nu", "nu_upper", "qualifies", "r2", "r2_lasso", "r2_refitted")
    yield (
        [*plain, *(f"diversity_{name}" for name in REGULARIZERS), "plain_ld-0.1", "plain_sv"]
        + [f"{what}_error_sigma_{sigma:g}" for what in ("target", "feature") for sigma in sigmas]
        + ["expected_target_error_over_sigma", "rare", "support"]
    )
    for one in selections:
        head = (one.method, one.k, len(one.support), one.nu, one.upper, one.qualifies)
        errors = [np.mean(found[sigma]) for found in (one.target, one.features) for sigma in sigmas]
        yield [
            *(*head, one.r2, one.r2_lasso, one.r2_refitted),
            *(*one.diversity.values(), *one.plain.values()),
            *(*errors, one.expected, one.rare, " ".join(map(str, one.support))),
        ]


def _figures(
    design: Design, selections: Sequence[MethodSelection], settings: DiversitySettings
) -> list[tuple[str, str, Any]]:
    k = max(one.k for one in selections)
    faded = SHORT_NOTE if any(one.short for one in selections) else ""
    letters = ", ".join(f"({panel}) {name}" for name, panel in panels().items())
    return [
        (
            "figure-1",
            f"Figure 1 on {design.name}. (a), (b): the average error of the coefficients, σ = "
            f"{settings.sigma:g}. {letters}: the regularizer over its largest value for k unit "
            f"columns.{faded}",
            figures.diversity_panels(selections, settings.sigma)[0].figure,
        ),
        (
            "fit",
            "R² of least squares on the features of each method, and of the LASSO's own coefficients, with "
            "which the paper's rule for ν compares" + (" by default." if settings.refitted else ".") + faded,
            figures.r_squared(selections).figure,
        ),
        (
            "pixels",
            f"The features selected for k = {k}, on the share of the images in which each pixel is not zero."
            " Above: how many are rare, of how many.",
            figures.pixel_maps(design, [one for one in selections if one.k == k])[0].figure,
        ),
        (
            "without-constants",
            "(d) and (e) without the constants 3k log₂(1/δ) and 9k², which lift all curves towards 1."
            + faded,
            figures.without_constants(selections)[0].figure,
        ),
    ]
