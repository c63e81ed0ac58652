"""The page of `make networks`: the results of the network experiments, with a section of tables and figures
for each study.
"""

import dataclasses
import itertools
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from proofs_checks.experiments.networks import pictures, tables
from proofs_checks.experiments.networks.data import FORMS, table, title
from proofs_checks.experiments.networks.pieces import Record, Store, Study, summarize_failures
from proofs_checks.experiments.networks.printed import OWN
from proofs_checks.experiments.networks.verdicts import Summary
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
    drawn = figures(name, mine, [record for record in records if record.piece.study == name])
    return {
        "name": name,
        "title": study.title if study else name,
        "source": study.source if study else "",
        "caveat": tables.CAVEATS.get(name, ""),
        "matrices": tables.matrices(mine),
        "long": [(title(data), lines) for data, lines in long.items()],
        "figures": [page.figure(files, f"{name}-{what}", *rest) for what, *rest in drawn],
    }


# --- figures ---------------------------------------------------------------------------------------------

_NUMBERS = {"adaptivity": "features at a time", "signals": "features in all"}
"""A study ↦ the meaning of its numeric settings."""

Figure = tuple[str, str, Any]  # name, caption, figure


def figures(study: str, mine: Sequence[tables.Row], records: Sequence[Record]) -> Iterator[Figure]:
    """Draw the figures of a study, such as accuracies against the number of features."""
    selected = [row for row in mine if row.size is not None]
    for learner in dict.fromkeys(row.ours.learner for row in selected):
        scored = [row for row in selected if row.ours.learner == learner]
        plain = [row.ours for row in scored if not row.ours.setting]
        yield from _against_k(plain, learner)
        yield from _leads(plain, learner)
        yield from _against_setting(study, scored, learner)
    yield from _against_seconds([row.ours for row in selected])
    for data in dict.fromkeys(record.piece.data for record in records):
        yield from _pixels(data, records)


def _words(learner: str) -> str:
    """Return the name of a kind of score in words."""
    return tables.SCORES.get(learner, f"accuracy of {learner}")


def _caption(learner: str, rest: str) -> str:
    """Return the caption of a figure that shows a kind of score."""
    words = _words(learner)
    return words[:1].upper() + words[1:] + rest


def _name(what: str, learner: str) -> str:
    """Return the name of the file of a figure that shows a kind of score."""
    return f"{what}-" + "".join(letter if letter.isalnum() else "-" for letter in learner)


def _against_k(plain: Sequence[Summary], learner: str) -> Iterator[Figure]:
    """Draw the scores of the methods against the number k of features.

    If a method was run with different numbers of training rows, the runs with the fewest rows are drawn.
    """
    most_first = sorted(plain, key=lambda summary: summary.rows, reverse=True)
    fewest = {(summary.data, summary.method): summary.rows for summary in most_first}
    points = [(s.k, s) for s in plain if s.rows == fewest[s.data, s.method]]
    if len({k for k, _ in points}) > 1:
        drawn = pictures.study_lines(points, "features", _words(learner))
        words = " against k: means over seeds."
        if len({method for _, method in fewest}) > pictures.MANY:
            words += " The methods that are first most often have colours."
        yield _name("k", learner), _caption(learner, words), drawn[0].figure


def _leads(plain: Sequence[Summary], learner: str) -> Iterator[Figure]:
    """Draw how far the method `AGAINST` is ahead of the best other method, for each number of features.

    The lead is the difference of the two mean scores. Only methods with the same number of training rows are
    compared. The figure is drawn if there are more than `pictures.MANY` methods, with at least two seeds.
    """
    if len({summary.method for summary in plain}) <= pictures.MANY:
        return
    sign, pairs = -1 if learner in tables.LOWER else 1, []
    for ours in sorted(
        (s for s in plain if s.method == tables.AGAINST and len(s.values) > 1), key=lambda s: s.k
    ):
        alike = [
            s for s in plain
            if (s.data, s.k, s.rows) == (ours.data, ours.k, ours.rows) and s is not ours and len(s.values) > 1
        ]  # fmt: skip
        if alike:
            pairs.append((ours, max(alike, key=lambda s: sign * s.mean)))
    if pairs:
        drawn = pictures.study_leads(pairs, f"lead of {tables.AGAINST}")
        words = (
            f": the mean of {tables.AGAINST} minus that of the best other method, ± two standard errors of "
            "the difference. The best method is chosen by the same scores, so chance makes the "
            "differences too unfavourable."
        )
        yield _name("lead", learner), _caption(learner, words), drawn[0].figure


def _against_setting(study: str, mine: Sequence[tables.Row], learner: str) -> Iterator[Figure]:
    """Draw scores against a setting that begins with a number.

    If there is text after the number, it becomes a part of the name of the method, so that each variant has a
    line of its own.
    """
    points, printed = [], dict[str, list[tuple[float, float]]]()
    for row in mine:
        if found := tables.number_of(row.ours.setting):
            number, rest = found
            points.append((number, dataclasses.replace(row.ours, method=row.ours.method + rest)))
            if row.judged:
                printed.setdefault(row.ours.data, []).append((number, row.judged.printed.mean))
    if points:
        what = _NUMBERS.get(study, "setting")
        sorted_points = {data: sorted(means) for data, means in printed.items()}
        drawn = pictures.study_lines(points, what, _words(learner), sorted_points)
        words = _caption(learner, f" against {what}: means over seeds.")
        yield _name("setting", learner), words, drawn[0].figure


def _against_seconds(selected: Sequence[Summary]) -> Iterator[Figure]:
    """Draw scores of the first kind against the seconds of the selection.

    The figure is for one number k of features: the one for which most methods have seconds, because a run
    that selects many features may serve all smaller k. If there are several such k, the figure shows the
    largest. Each data set shows the methods with its most common number of training rows.
    """
    timed = [made for made in selected if "selecting" in made.seconds and made.setting in ("", OWN)]
    timed = [made for made in timed if made.learner == timed[0].learner]
    if len({made.method for made in timed}) < 2:
        return
    took = Counter(made.k for made in timed if made.seconds["selecting"])
    k = max({made.k for made in timed}, key=lambda k: (took[k], k))
    sizes = Counter((made.data, made.rows) for made in timed if made.k == k)
    usual = {data: size for (data, size), _ in reversed(sizes.most_common())}
    shown = {
        (made.data, made.method): made
        for made in sorted(timed, key=lambda made: made.setting, reverse=True)
        if made.k == k and made.rows == usual[made.data]
    }
    learner = timed[0].learner
    drawn = pictures.study_times([made for made in timed if made in shown.values()], _words(learner))
    tuned = ", with its tuning" if any("tuning" in made.seconds for made in shown.values()) else ""
    rest = f" ± std at k = {k} against the seconds of the selection{tuned}, by one thread."
    yield "seconds", _caption(learner, rest), drawn[0].figure


def _pixels(data: str, records: Sequence[Record]) -> Iterator[Figure]:
    """Draw how often each method selects each pixel at the largest k: the share of the seeds that select
    it.
    """
    shape = FORMS[data].image if data in FORMS else None
    if shape is None:
        return
    picked = [r for r in records if r.piece.data == data and 0 < len(r.support) < FORMS[data].d]
    most = max((record.piece.k for record in picked), default=0)
    methods = {record.piece.method for record in picked}
    supports: dict[str, list[tuple[int, ...]]] = {}
    for record in sorted(picked, key=lambda record: tables.number_of(record.piece.setting) or (0, "")):
        if record.piece.k == most:
            method, setting = record.piece.method, record.piece.setting
            name = ", ".join(filter(None, (method, setting))) if len(methods) > 1 else setting or method
            supports.setdefault(name, []).append(record.support)
    if not supports:
        return
    shares = {
        method: {j: count / len(found) for j, count in Counter(itertools.chain(*found)).items()}
        for method, found in supports.items()
    }
    by = f" by {', '.join(methods)}" if len(methods) == 1 else ""
    words = (
        f"{title(data)}: the pixels picked{by}, k = {most}, on the mean image. Darker pixels have more seeds."
    )
    yield f"pixels-{data}", words, pictures.picked_pixels(shares, shape, _mean_image(data))[0].figure


def _mean_image(data: str) -> Any:
    """Return the mean of the images of a data set, or None if the data cannot be read any more."""
    try:
        return table(data).X.mean(axis=0)
    except (OSError, ValueError):
        return None
