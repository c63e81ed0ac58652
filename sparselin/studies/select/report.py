"""The report of `sparselin select`: a page with embedded figures, the table as CSV, and results as JSON."""

import dataclasses
import operator
from pathlib import Path
from typing import Any, NamedTuple

from sparselin import plots
from sparselin.plots import style
from sparselin.results import SplitInference, Status
from sparselin.studies.common import folder, page
from sparselin.studies.common.listing import Listing, page_field
from sparselin.studies.select import comparison, halves, sizes, words
from sparselin.studies.select.model import METHODS, splitter_of
from sparselin.studies.select.words import Job

TEMPLATE = Path(__file__).with_name("report.html.j2")
PACKAGES = ("numpy", "scipy", "numba", "scikit-learn", "pandas")
_TABLES = ("selected.csv", "selected.tex", "inference.csv", "inference.tex", "methods.csv")
FILES = (*_TABLES, *page.pictures("selection", "cross-validation"))


class Found(NamedTuple):
    """The results of a run.

    tested : the tests on a half of the rows, or None.
    compared : the methods on the same folds, or [].
    """

    job: Job
    tested: halves.Tested | None
    compared: list[comparison.Compared]


def write(output: Path, found: Found, command: str, seed: int, seconds: float, interrupted: bool) -> Path:
    """Write index.html, results.json, the tables and the figures; return the path of index.html."""
    job, tested = found.job, found.tested
    run = page.describe(command, seconds, 1, seed, interrupted, packages=PACKAGES)
    model = words.table(job)
    files = {"selected.csv": model.csv(), "selected.tex": model.tex()}
    compared = _sizes(job)
    if tested is not None:
        tests = halves.table(tested.result)
        files |= {"inference.csv": tests.csv(), "inference.tex": tests.tex()}
    if found.compared:
        files["methods.csv"] = comparison.table(found.compared).csv()
    features = [row.feature for row in job.rows]
    context = {
        "run": run,
        "job": job,
        "headline": words.headline(job),
        "data": [line for line in (job.source.table.note, *words.data_lines(job)) if line],
        "validation": [*words.validation_lines(job), *comparison.sentences(found.compared)],
        "compared": comparison.table(found.compared),
        "model": model,
        "sizes": _size_table(compared),
        "tests": None if tested is None else halves.table(tested.result),
        "about_tests": [] if tested is None else halves.sentences(tested.result, seed, features),
        "figures": {name: page.figure(files, name, *rest) for name, *rest in _figures(job)},
        "python": python(job, tested),
    }
    files[folder.INDEX] = page.render(TEMPLATE, context)
    return folder.write(output, {"run": run, **_results(found, compared)}, files)


def python(job: Job, tested: halves.Tested | None = None) -> str:
    """Return a Python program that makes the same selection, and the same tests if there are some."""
    source = job.source
    template = page.environment(TEMPLATE.parent, trim_blocks=True)
    return template.get_template("program.py.j2").render(
        job=job,
        split=tested is not None,
        half=tested,
        left_out=[*source.dropped, *source.columns.left_out],
        selector=METHODS[job.request.method].selector,
        splitter=splitter_of(source).__name__,
        largest=job.checked.sizes[-1] if job.checked else max(job.k, 1),
    )


def _sizes(job: Job) -> list[sizes.Size]:
    """Return the table of sizes, for a path of least squares with at least one step."""
    if not job.size or job.source.loss != "squared":
        return []
    return sizes.table_of_sizes(job.path, job.X, job.source.y, job.source.weight)


def _size_table(compared: list[sizes.Size]) -> Listing:
    headings = {"adjusted R²": "adjusted_r2", "Cp": "cp", "BIC": "bic"}
    fields = [
        page_field("features", lambda size: size.k),
        page_field("R²", lambda size: size.r2, "{:z.4f}".format),
        *(page_field(heading, operator.attrgetter(name), _cell) for heading, name in headings.items()),
    ]
    return Listing(fields, compared)


def _cell(value: float | None) -> str:
    return "" if value is None else words.number(value)


def _results(found: Found, compared: list[sizes.Size]) -> dict[str, Any]:
    job, tested = found.job, found.tested
    source, request = job.source, job.request
    kept = [
        "target",
        "weights",
        "group",
        "dropped",
        "lost",
        "incomplete",
        "weightless",
        "gaps",
        "empty",
        "blanks",
    ]
    columns = {"numbers": source.columns.numbers, "left_out": source.columns.left_out}
    each = zip(source.columns.categories, source.columns.levels, strict=True)
    columns["categories"] = {name: list(map(str, levels)) for name, levels in each}
    checked = None if job.checked is None else dataclasses.asdict(job.checked)
    return {
        "data": {
            "path": str(source.path),
            "note": source.table.note,
            "rows": len(source.table.frame),
            **{name: getattr(source, name) for name in kept},
            "columns": columns,
            "rows_used": len(source.X),
            "features": len(source.columns.names),
        },
        "method": request.method,
        "loss": source.loss,
        "k": job.k,
        "k_given": job.given,
        "with_intercept": request.intercept,
        "standardized": request.standardize and METHODS[request.method].scaled,
        "forced": request.forced,
        "selected": [row._asdict() for row in job.rows],
        "intercept": job.intercept,
        "r2": job.r2,
        "status": job.path.status.name,
        "cautions": job.cautions,
        "cross_validation": checked,
        "methods": [each._asdict() for each in found.compared],
        "sizes": [size._asdict() for size in compared],
        "inference": None if tested is None else _tests(tested.result),
    }


def _tests(tested: SplitInference) -> dict[str, Any]:
    fields = ("rows", "level", "dispersion", "test", "reason", "units", "unit_names")
    arrays = (
        "support",
        "estimate",
        "standard_error",
        "p_value",
        "interval",
        "unit_p_value",
        "unit_statistic",
    )
    return {
        **{name: getattr(tested, name) for name in fields},
        **{name: getattr(tested, name).tolist() for name in arrays},
    }


def _figures(job: Job) -> list[tuple[str, str, Any]]:
    """Return (name, caption, figure) for each figure of the page."""
    figures = []
    if job.size:
        fit = "R² and the relative norm of the residual"
        fit = fit if job.source.loss == "squared" else "the explained share D² of the deviance, and the rest,"
        caption = (
            "The steps of the selection, from top to bottom. Left: λ* at each step, with a bar that ends at "
            f"the runner-up. Right: {fit} after each step."
        )
        if job.lasso is not None:
            stopped = job.lasso.status is Status.STOPPED
            end = "one knot beyond the solution in the table" if stopped else "its end"
            caption = (
                "The coefficients of the LASSO as λ decreases from left to right: broken lines that bend at "
                f"the knots. The path is drawn to {end}. The numbers at the top are R²."
            )
        if job.best is not None:
            caption = (
                "The best subset. Left: R² as its features are added one by one. Right: their coefficients."
            )
        drawn = plots.show(job.path if job.lasso is None else job.lasso)
        if job.request.grouped and job.best is None:  # the names of the table instead of numbers
            drawn.set_yticks(
                at := drawn.get_yticks(),
                [f"{t + 1:.0f}  {style.name((job.rows[int(t)].feature,), 0)}" for t in at],
            )
        figures.append(("selection", caption, drawn))
    if job.checked is not None:
        drawn = plots.cross_validation(job.checked, job.k)
        error = "mean squared error" if job.source.loss == "squared" else "mean deviance"
        drawn.set_ylabel(f"{error} on held-out rows")
        caption = (
            f"A curve of the {error} on held-out rows against the number of features: the mean over the "
            "folds, in a band of one standard error to either side."
        )
        figures.append(("cross-validation", caption, drawn))
    return [(name, caption, drawn.figure) for name, caption, drawn in figures]
