"""The report of `make diversity`: tables, a page with the six panels of the paper's Figure 1, CSV and
JSON.
"""

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
from proofs_checks.experiments.diversity.regularizers import REGULARIZERS
from proofs_checks.experiments.diversity.run import (
    KS,
    RARE,
    Design,
    DiversitySettings,
    MethodSelection,
    methods,
)
from sparselin.studies.common import folder, page

TEMPLATE = Path(__file__).with_name("report.html.j2")
PACKAGES = ("numpy", "scipy", "numba", "scikit-learn")
FILES = ("selections.csv", *page.pictures("figure-1", "fit", "pixels", "without-constants"))
SHORT_NOTE = " Selections with fewer than k features are faded, with their number of features."
SEARCH_NAMES = {"forward": "greedy FR", "greedy_local_search": "GLS"}
COLUMNS = ("method", "k", "features", "ν", "qualifies", "R²", "R² lasso", "R² lasso, refitted")


def findings_table(findings: Sequence[Finding]) -> Table:
    """Return the claims of the paper and their verdicts as a table for a terminal."""
    view = Table(title="Claims on Figure 1 of the 2012 paper", box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    view.add_column("")
    view.add_column("claim")
    view.add_column("holds", justify="right", no_wrap=True)
    view.add_column("verdict", no_wrap=True)
    for found in findings:
        panel = f"({found.panel})" if found.panel else ""
        style = "bold red" if found.verdict == "does not show" else None
        view.add_row(panel, found.claim, f"{found.held}/{found.total}", found.verdict, style=style)
    if any(found.left_out for found in findings):
        view.caption = "Selections with fewer than k features are left out of all comparisons."
    return view


def method_table(selections: Sequence[MethodSelection], settings: DiversitySettings) -> Table:
    """Return a table for a terminal with the errors and the diversity of each method at the largest k."""
    k = max(s.k for s in selections)
    view = Table(title=f"k = {k}, σ = {settings.sigma:g}", box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    headings = ("method", "R²", "error, y", "error, X", *REGULARIZERS, "rare")
    for i, heading in enumerate(headings):
        view.add_column(heading, justify="right" if i else "left", no_wrap=True)
    for s in selections:
        if s.k == k:
            view.add_row(
                s.method + (f" ({len(s.support)} features)" if s.short else ""),
                f"{s.r2:.3f}",
                *(f"{np.mean(errors[settings.sigma]):.4f}" for errors in (s.target, s.features)),
                *(f"{s.diversity[name]:.3f}" for name in REGULARIZERS),
                f"{s.rare}/{len(s.support)}",
            )
    return view


def headline(
    design: Design,
    settings: DiversitySettings,
    findings: Sequence[Finding],
    selections: Sequence[MethodSelection],
) -> list[str]:
    """Return the main result in two sentences, a description of the data, and the rule for the weight ν."""
    short = sum(s.short for s in selections)
    have = "has" if short == 1 else "have"
    left_out = (
        f" {short} of the {len(selections)} selections {have} fewer than k features and are not counted."
        if short
        else ""
    )
    rule = "least squares on the LASSO's features" if settings.refitted else "the LASSO's own coefficients"
    zero = int((design.usage == 0).sum())
    rare = int(((design.usage > 0) & (design.usage < RARE)).sum())
    count = functools.partial(_count, findings)
    return [
        f"{design.name}: with y perturbed the error of the regularized selection is below that of greedy "
        f"selection in {count('regularized', 'a')} cases, and greedy's is below the LASSO's in "
        f"{count('greedy', 'a')}; with X perturbed these counts are {count('regularized', 'b')} and "
        f"{count('greedy', 'b')}.{left_out}",
        f"By its own measure the regularized selection is more diverse than either in {count('diverse')} "
        "comparisons. From one k to the next the LASSO's normalised diversity increases in "
        f"{count('trend lasso')} steps, and greedy's in {count('trend no-reg')}.",
        f"The data are {len(design.y)} images of {design.X.shape[1]} pixels. {zero} pixels are zero in all "
        f"images; no method selects them. {rare} pixels are rare: they are not zero in fewer than {RARE:.0%} "
        f"of the images. {design.note} ν is the largest value found for which R² is at least that of {rule}.",
    ]


def _count(findings: Sequence[Finding], key: str, panel: str = "") -> str:
    """Return how many comparisons of a claim hold, in one panel or in all panels, for example "32 of 36"."""
    chosen = [found for found in findings if found.key == key and panel in found.panel]
    return f"{sum(found.held for found in chosen)} of {sum(found.total for found in chosen)}"


def reading(selections: Sequence[MethodSelection]) -> list[str]:
    """Return sentences about the rare pixels and about the loss of R² by diverse selection, with our
    numbers.
    """
    table = ByMethod(selections)
    lines = [_rare(selections), _r2_loss(table)]
    every = sum(s.qualifies == "every" for s in selections)
    short = [s for s in selections if s.short]
    if every:
        lines.append(
            f"In {every} cases every ν that was tried qualifies. Then the selection is the most diverse one "
            "that the search finds, whatever its R²."
        )
    if short:
        places = ", ".join(f"{s.method} at k = {s.k}: {len(s.support)}" for s in short)
        lines.append(
            f"Selections with fewer than k features: {places}. GLS may return its set S₁' = LS(S₁), and the "
            "LASSO's path may skip a number of features. Because fewer features tend to have smaller errors, "
            "these selections are left out of all comparisons. The figures show them faded, with their "
            "numbers of features."
        )
    return [line for line in lines if line]


def _rare(selections: Sequence[MethodSelection]) -> str:
    """Return a sentence on the share of rare pixels in each selection; these pixels cause the diversity."""
    k = max(s.k for s in selections)
    last = [s for s in selections if s.k == k and s.support]
    shares = ", ".join(f"{s.rare / len(s.support):.0%} for {s.method}" for s in last)
    return (
        f"The diversity comes from rare pixels, which are not zero in fewer than {RARE:.0%} of the images. "
        f"So they are nearly orthogonal to the others. At k = {k} their share is {shares}."
        if last
        else ""
    )


def _r2_loss(table: ByMethod) -> str:
    """Return sentences on the R² that a diverse selection loses at the smallest k."""
    k = min(table.ks)
    if not {("no-reg", k), ("ld", k)} <= set(table.at):
        return ""
    ld, base = table.at["ld", k], table.at["no-reg", k]
    return (
        f"The loss of R²: at k = {k} R² is {ld.r2:.3f} with ld and {base.r2:.3f} with no-reg. The LASSO's "
        f"own coefficients reach {ld.r2_lasso:.3f}, least squares on its features {ld.r2_refitted:.3f}. "
        "The paper's rule compares with the LASSO. If this means the LASSO's shrunk coefficients, it is a "
        "weak condition at small k."
    )


def _columns() -> tuple[str, ...]:
    """Return the headings of the table of selections on the page."""
    return (*COLUMNS, "error, y", "error, X", *(f"diversity {name}" for name in REGULARIZERS), "rare")


def cells(s: MethodSelection, settings: DiversitySettings) -> tuple[str, ...]:
    """Return the row of the table of selections that describes one selection."""
    regularized = s.method in REGULARIZERS
    return (
        s.method,
        str(s.k),
        str(len(s.support)),
        f"{s.nu:.3g}" if regularized else "",
        s.qualifies,
        f"{s.r2:.4f}",
        f"{s.r2_lasso:.4f}",
        f"{s.r2_refitted:.4f}",
        *(_spread(errors[settings.sigma]) for errors in (s.target, s.features)),
        *(f"{s.diversity[name]:.4f}" for name in REGULARIZERS),
        str(s.rare),
    )


def _spread(errors: Sequence[float]) -> str:
    return f"{np.mean(errors):.4f} ± {np.std(errors):.4f}"


def write(
    output: Path, settings: DiversitySettings, design: Design, selections: Sequence[MethodSelection], run: Any
) -> Path:
    """Write index.html, results.json, selections.csv and the figures (PNG and SVG) to a folder."""
    findings = judge(selections, settings)
    least = extremes(selections, settings.sigma)
    results = {
        "run": run,
        "settings": dataclasses.asdict(settings),
        "data": {"name": design.name, "images": len(design.y), "pixels": design.X.shape[1]},
        "findings": [dataclasses.asdict(found) | {"verdict": found.verdict} for found in findings],
        "selections": [dataclasses.asdict(s) for s in selections],
    }
    files = {"selections.csv": page.table(_lines(selections, settings))}
    context = {
        "run": run,
        "headline": headline(design, settings, findings, selections),
        "findings": [(found, found.verdict == "does not show") for found in findings],
        "reading": reading(selections),
        "settings": settings,
        "searches": {name: SEARCH_NAMES[regularizer.method] for name, regularizer in REGULARIZERS.items()},
        "figures": [page.figure(files, *entry) for entry in _figures(design, selections, settings)],
        "sigmas": _sigmas(selections, settings),
        "axes": _axes(least) if design.name == "MNIST" and settings.ks == KS["MNIST"] else [],
        "columns": _columns(),
        "rows": [cells(s, settings) for s in selections],
    }
    files[folder.INDEX] = page.render(TEMPLATE, context)
    return folder.write(output, results, files)


def _axes(least: dict[str, float]) -> list[tuple[str, str, str, str]]:
    """Return a row for each panel of Figure 1 that compares the axis in print with our extreme value.

    The row has the name of the panel, its quantity, the range of the printed axis, and our value.
    """
    rows = []
    for panel, (low, high) in PRINTED_AXES.items():
        what = "largest error" if panel in "ab" else "least diversity"
        rows.append((f"({panel})", what, f"{low:g} to {high:g}", f"{least[panel]:.3f}"))
    return rows


def _sigmas(
    selections: Sequence[MethodSelection], settings: DiversitySettings
) -> list[tuple[str, str, tuple[str, ...]]]:
    """Return a row for each strength σ of the noise in X, for the table of the page.

    The row has σ, the number of comparisons that hold, and the median error of each method. A comparison
    holds if two methods have the expected order of errors, see `order_at`. The error at one k is the mean
    over the repeats, and the median is taken over k.
    """
    table = ByMethod(selections)
    rows = []
    for sigma in sorted(settings.all_sigmas()):
        held, total = order_at(table, sigma)
        medians = [[float(np.mean(s.features[sigma])) for s in table.line(name)] for name in methods()]
        words = tuple(f"{np.median(line):.4f}" if line else "" for line in medians)
        rows.append((f"{sigma:g}", f"{held} of {total}", words))
    return rows


def _lines(selections: Sequence[MethodSelection], settings: DiversitySettings) -> Iterator[Iterable[object]]:
    """Yield the lines of selections.csv: the headings, and a line for each selection with its errors for
    every σ.
    """
    sigmas = settings.all_sigmas()
    plain = ("method", "k", "features", "nu", "nu_upper", "qualifies", "r2", "r2_lasso", "r2_refitted")
    yield (
        [*plain, *(f"diversity_{name}" for name in REGULARIZERS), "plain_ld-0.1", "plain_sv"]
        + [f"{what}_error_sigma_{sigma:g}" for what in ("target", "feature") for sigma in sigmas]
        + ["expected_target_error_over_sigma", "rare", "support"]
    )
    for s in selections:
        head = (s.method, s.k, len(s.support), s.nu, s.upper, s.qualifies)
        errors = [np.mean(found[sigma]) for found in (s.target, s.features) for sigma in sigmas]
        yield [
            *(*head, s.r2, s.r2_lasso, s.r2_refitted),
            *(*s.diversity.values(), *s.plain.values()),
            *(*errors, s.expected, s.rare, " ".join(map(str, s.support))),
        ]


def _figures(
    design: Design, selections: Sequence[MethodSelection], settings: DiversitySettings
) -> list[tuple[str, str, Any]]:
    k = max(s.k for s in selections)
    faded = SHORT_NOTE if any(s.short for s in selections) else ""
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
            figures.r2_curves(selections).figure,
        ),
        (
            "pixels",
            f"The features selected for k = {k}, on the share of the images in which each pixel is not zero."
            " The titles have the number of rare features, and of all selected features.",
            figures.pixel_maps(design, [s for s in selections if s.k == k])[0].figure,
        ),
        (
            "without-constants",
            "(d) and (e) without the constants 3k log₂(1/δ) and 9k², which lift all curves towards 1."
            + faded,
            figures.panels_without_constants(selections)[0].figure,
        ),
    ]
