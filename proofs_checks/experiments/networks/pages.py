"""The pages with the results of the network experiments: the one of `make networks`, and those of the site.

`write` makes the page of a run, with a section of tables and figures for each study. `site_pages` makes the
pages of the site from the stored records of our runs: an index, which docs/networks-tables.md shows, and a
page for each data set. The page of a data set compares the figures that the papers print with ours and gives
a verdict on each. Then it has the means of our runs, study by study.
"""

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from proofs_checks.experiments.networks import tables
from proofs_checks.experiments.networks.data import FORMS, title
from proofs_checks.experiments.networks.figures import draw_study
from proofs_checks.experiments.networks.pieces import Record, Store, Study, summarize_failures
from proofs_checks.experiments.networks.verdicts import Judged, Summary
from sparselin.studies.common import folder, page

TEMPLATE = Path(__file__).with_name("report.html.j2")
PACKAGES = ("numpy", "scipy", "scikit-learn", "torch")


@dataclasses.dataclass(frozen=True)
class Run:
    """The run that made the records on the page.

    Attributes
    ----------
    command : the command line that repeats or resumes the run.
    seconds : the seconds of this run.
    jobs : the number of processes.
    interrupted : whether Ctrl-C ended the run.
    left : the number of selections and trainings without a record.
    against : the method with which all other methods are compared.
    """

    command: str
    seconds: float
    jobs: int
    interrupted: bool
    left: int
    against: str = tables.AGAINST


def write(output: Path, studies: Mapping[str, Study], store: Store, run: Run) -> Path:
    """Write the page of the stored records to a folder: index.html, results.json and the figures (PNG and
    SVG).
    """
    records = sorted(store.records.values(), key=tables.place)
    judged = tables.judged_here(records, store.scale)
    found = tables.rows(records, judged, run.against)
    hours = sum(store.seconds.values()) / 3600
    common = {
        "run": page.describe(run.command, run.seconds, run.jobs, 1, run.interrupted, packages=PACKAGES),
        "scale": dataclasses.asdict(store.scale),
        "left": run.left,
        "failures": summarize_failures(store.failures.values()),
        "against": run.against,
    }
    files: dict[str, bytes] = {}
    names = dict.fromkeys(row.ours.study for row in found)
    context = {
        **common,
        "hours": f"{hours:.1f} h" if hours >= 1 else f"{60 * hours:.1f} min",
        "records": len(records),
        "counts": tables.counts(judged),
        "studies": [_section(files, studies.get(name), name, found, records) for name in names],
        "text": tables.TEXT,
    }
    files[folder.INDEX] = page.render(TEMPLATE, context)
    return folder.write(output, {**common, "rows": [row.as_json() for row in found]}, files)


def _section(
    files: dict[str, bytes],
    study: Study | None,
    name: str,
    found: Sequence[tables.Row],
    records: Sequence[Record],
) -> dict[str, Any]:
    """Return the section of a study as data for the page's template.

    In its long tables, the largest number of features comes first.
    """
    mine = [row for row in found if row.ours.study == name]
    learners = list(dict.fromkeys(row.ours.learner for row in mine))
    long: dict[str, list[dict[str, str]]] = {row.ours.data: [] for row in mine}
    for row in sorted(mine, key=lambda row: (learners.index(row.ours.learner), -(row.size or 0))):
        long[row.ours.data].append(tables.cells(row))
    drawn = draw_study(name, mine, [record for record in records if record.piece.study == name])
    return {
        "name": name,
        "title": study.title if study else name,
        "source": study.source if study else "",
        "caveat": tables.CAVEATS.get(name, ""),
        "matrices": tables.matrices(mine),
        "long": [(title(data), lines) for data, lines in long.items()],
        "figures": [page.figure(files, f"{name}-{what}", *rest) for what, *rest in drawn],
    }


# --- the site --------------------------------------------------------------------------------------------

INDEX = "index"
"""The name of the page with the index."""
SIGNALS = "signals"
"""The name of the page of all data sets that a study generates."""
STYLE = (
    "---\nhtml_theme.sidebar_secondary.remove: true\n---\n"
    "<style>article table { font-size: .82em } article summary { cursor: pointer }</style>\n"
)
"""The head of a page with tables: they take the width of the list of sections, and smaller type."""
READING = (
    "± is the standard deviation over seeds (n − 1). *Difference* is our mean minus the printed mean. A "
    "figure is reproduced if the difference is at most 2 SE and 2 SE is at most .03 "
    "([the rule](../../networks-rule.md)). In the means of our runs, bold type marks the best selection of a "
    "column, among the methods with the most common number of training rows. *Seconds* are those of the "
    "selection on one thread, with the largest number of features. There are separate pages for the "
    "[studies](../../networks-run.md#the-studies) and the [methods](../../networks-baselines.md).\n"
)


def site_pages(records: Sequence[Record]) -> dict[str, str]:
    """Return the Markdown of the site's pages by name: first the index, then a page for each data set."""
    if not records:
        return {INDEX: "No records are stored yet: `make networks ARGS=--full` makes them in some hours.\n"}
    judged, found = tables.judged_all(records), tables.rows(sorted(records, key=tables.place), ())
    ran = {(figure.printed.study, figure.printed.data) for figure in judged if figure.ours is not None}
    recorded = [figure for figure in judged if (figure.printed.study, figure.printed.data) in ran]
    names: dict[str, set[str]] = {}
    for row in sorted(found, key=lambda row: [*FORMS, row.ours.data].index(row.ours.data)):
        names.setdefault(row.ours.data if row.ours.data in FORMS else SIGNALS, set()).add(row.ours.data)
    made = {INDEX: "\n".join(_index(list(names), judged, recorded, len(records)))}
    for name, sets in names.items():
        figures = [figure for figure in recorded if figure.printed.data in sets]
        mine = [row for row in found if row.ours.data in sets]
        made[name] = "\n".join(_page(name, figures, mine))
    return made


def _title(page: str) -> str:
    return "Generated signals" if page == SIGNALS else title(page)


def _index(
    names: Sequence[str], judged: Sequence[Judged], recorded: Sequence[Judged], count: int
) -> Iterator[str]:
    """Yield the lines of the index page.

    It counts the verdicts by data set, with links to the pages, and by printed table.
    """
    heads, *lines = tables.counts(recorded, lambda figure: figure.printed.data)
    counted = {line[0]: line[1:] for line in lines}
    linked = [
        [f"[{_title(page)}](made/networks/{page}.md)", *counted.get(page, ["–"] * (len(heads) - 1))]
        for page in names
    ]
    yield from _table([["data set", *heads[1:]], *linked])
    yield "\nThe same figures by printed table:\n"
    yield from _table(tables.counts(recorded))
    missing: dict[str, dict[str, None]] = {}
    for figure in judged:
        if figure not in recorded:
            missing.setdefault(title(figure.printed.data), {})[figure.printed.study] = None
    words = "; ".join(f"{data} ({', '.join(studies)})" for data, studies in missing.items())
    yield f"\nMade from {count:,} records." + f" Without records: {words}." * bool(words)
    yield "\n```{toctree}\n:hidden:\n"
    yield from (f"{_title(page)} <made/networks/{page}>" for page in names)
    yield "```\n"


def _page(page: str, figures: Sequence[Judged], mine: Sequence[tables.Row]) -> Iterator[str]:
    """Yield the lines of the page of a data set, or of the page of all generated data sets."""
    yield f"{STYLE}\n# {_title(page)}: all tables\n"
    yield READING
    if figures:
        yield "## Printed figures, and ours\n"
        yield from _printed_tables(figures)
    yield "## Means of our runs\n"
    for i, study in enumerate(dict.fromkeys(row.ours.study for row in mine)):
        yield from _study(study, [row for row in mine if row.ours.study == study], folded=i > 0)


def _printed_tables(figures: Sequence[Judged]) -> Iterator[str]:
    """Yield the lines that compare each printed table with our figures."""
    for name, group in groupby(figures, key=tables.table_title):
        compared = list(group)
        times = compared[0].printed.table == tables.TIMES
        difference = "log₂ of the ratios" if times else "difference"
        most = "at most" if times or compared[0].printed.within else "2 SE"
        heads = ["method", "printed", "ours", difference, most, "verdict", "seeds", "training rows"]
        yield f"### {name}\n"
        yield from _table([heads, *map(_figure, compared)], "|---|--:|--:|--:|--:|---|--:|--:|")
        yield ""


def _figure(judged: Judged) -> list[str]:
    """Return a row that compares one printed figure with ours."""
    printed, ours = judged.printed, judged.ours
    digits = 1 if printed.table == tables.TIMES else 3
    learner = "" if printed.learner in ("network", "selecting", printed.method) else printed.learner
    line = [tables.method_words(tables.method_words(printed.method, printed.setting), learner)]
    line += [
        tables.spread(printed.mean, printed.std, digits),
        tables.spread(ours.mean, ours.std, digits) if ours else "",
    ]
    difference = f"{judged.difference:+.4f}".replace("-", "−")
    line += ["", ""] if judged.lacking else [difference, f"{judged.tolerance:.4f}"]
    line.append(tables.verdict_words(judged))
    return line + ([str(len(ours.values)), _sizes(ours)] if ours else ["", ""])


def _study(study: str, mine: Sequence[tables.Row], folded: bool) -> Iterator[str]:
    """Yield the tables of a study: one for each data set and each kind of score.

    Only the tables of the first kind of score have the seconds of the selection.
    """
    samples = "; ".join(_samples([row.ours for row in mine]))
    yield f"### {study}\n\n{samples}. {tables.CAVEATS.get(study, '')}\n"
    across = tables.several_have_numbers(mine)
    sets = dict.fromkeys(row.ours.data for row in mine)
    for data, learner in dict.fromkeys((row.ours.data, row.ours.learner) for row in mine):
        chosen = [row for row in mine if (row.ours.data, row.ours.learner) == (data, learner)]
        heading = f"{title(data)}: " * (len(sets) > 1) + tables.score_words(learner)
        yield f"<details{'' if folded else ' open'}><summary>{heading}</summary>\n"
        yield from _table(_means(chosen, across, timed=learner == mine[0].ours.learner))
        yield "\n</details>\n"


def _means(chosen: Sequence[tables.Row], across: bool, timed: bool) -> list[list[str]]:
    """Return a table of our means, with a line for each method and a column for each number k of features.

    If `across`, there is also a column for each numeric setting. If `timed`, the last column has the seconds
    of the selection at the largest k, because one run selects the features for all smaller k too.
    """

    def name(row: tables.Row) -> str:
        return row.ours.method if tables.number_across(row, across) else row.method

    ordered = sorted(chosen, key=lambda row: -(row.size or 0))  # the largest k first, all features last
    columns, lines = tables.pivot(ordered, name, lambda row: (row.size, tables.number_across(row, across)))
    heads = [tables.method_words("all features" if k is None else f"k = {k}", rest) for k, rest in columns]
    table = [["method", *heads], *([label, *map(_bold, cells)] for label, cells in lines)]
    took: dict[str, str] = {}
    for row in sorted(chosen, key=lambda row: row.ours.k):
        seconds = row.ours.seconds
        if timed and row.size is not None and seconds.get("selecting"):
            tuning = f" + {seconds['tuning']:.0f} tuning" if "tuning" in seconds else ""
            took[name(row)] = f"{seconds['selecting']:.1f}{tuning}"
    if took:
        table = [[*table[0], "seconds"], *([*line, took.get(line[0], "")] for line in table[1:])]
    return table


def _samples(mine: Sequence[Summary]) -> Iterator[str]:
    """Yield, for each data set, how many seeds and training rows most methods have, and which methods
    differ.
    """
    for data in dict.fromkeys(summary.data for summary in mine):
        methods: dict[str, dict[str, None]] = {}
        for summary in mine:
            if summary.data == data:
                seeds = f"{len(summary.values)} seed{'s' * (len(summary.values) > 1)}"
                name = tables.method_words(summary.method, summary.setting)
                methods.setdefault(f"{seeds}, {_sizes(summary)} rows", {})[name] = None
        usual, *others = sorted(methods, key=lambda words: -len(methods[words]))
        exceptions = "; ".join(f"{words}: {', '.join(f'*{m}*' for m in methods[words])}" for words in others)
        yield f"{title(data)}: {usual}" + (f" ({exceptions})" if exceptions else "")


def _sizes(summary: Summary) -> str:
    """Return the smallest and the largest number of training rows of a method's runs, as text."""
    return " to ".join(f"{size:,}" for size in dict.fromkeys(summary.rows))


def _bold(cell: Mapping[str, Any] | None) -> str:
    """Return our mean as text, in bold type if it is the best of its column."""
    if cell is None:
        return ""
    return f"**{cell['ours']}**" if cell["best"] else str(cell["ours"])


def _table(lines: Iterable[Sequence[str]], below: str = "") -> Iterator[str]:
    """Yield the lines of a table in Markdown.

    `below` is the line below the headings. By default it aligns the first column as words and the others as
    numbers. The spaces within "a ± b" and "k = 5" do not allow a line break.
    """
    cells = [[cell.replace("|", "\\|") for cell in line] for line in lines]
    made = [
        "| " + " | ".join(line).replace(" ± ", "\u00a0±\u00a0").replace(" = ", "\u00a0=\u00a0") + " |"
        for line in cells
    ]
    return iter([made[0], below or "|---" + "|--:" * (len(cells[0]) - 1) + "|", *made[1:]])
