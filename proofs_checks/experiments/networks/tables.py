"""The tables of the network studies: our means next to the printed ones, with verdicts and paired tests.

`pages` shows these tables on the page that `make networks` writes and on the pages of the site, and `figures`
draws their rows.
"""

import dataclasses
import math
import re
import tomllib
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from proofs_checks.experiments.networks.data import FORMS, title
from proofs_checks.experiments.networks.pieces import Record, Scale
from proofs_checks.experiments.networks.printed import ALL, OWN, TABLES, TITLES
from proofs_checks.experiments.networks.verdicts import (
    Judged,
    Paired,
    Summary,
    compare_pairs,
    summarize,
    verdict,
    verdict_of_times,
)
from sparselin.ledger import EXPERIMENTAL, Verdict

AGAINST = "Sequential Attention"
NOT_TEST_SCORES = ("validation", "steps", "validation mse")
TIMES = "SA-table-6"
BASES = {"switches": "as released", "adaptivity": "1", "masks": "softmax"}
"""A study ↦ the setting with which its other settings are compared, if it is not the plain one."""
OTHER_ROWS = {
    "switches": ("split by group and class", "all but the optimiser", "all"),
    "lassonet": ("released split",),
}
"""A study ↦ its settings that draw other rows for the same seed, so that their seeds are not paired."""
CAVEATS = tomllib.loads(Path(__file__).with_name("caveats.toml").read_text(encoding="utf-8"))
"""A study ↦ the notes that a reader of its tables and figures needs."""
HEADINGS = {
    "SA-table-2": "Sequential Attention, Table 2",
    "SA-released": "Sequential Attention, Table 2, baselines as released",
    **{f"SA-table-{i}": f"Sequential Attention, Table {i}" for i in (3, 5, 6, 9, 10)},
    **{f"LN-table-{i}": f"LassoNet, Table {i}" for i in (1, 2)},
    "anchors": "All features with three learners",
}
SCORES = {
    "network": "accuracy of a network on the picks",
    "mse": "mean squared error",
    "first k": "true features among the first k",
    "first 2k": "true features among the first 2k, over k",
    "related in first k": "related features among the first k",
    "Spearman": "rank correlation of marginal gains and attention",
}
"""A learner or a measure ↦ its description. Other scores are accuracies of the learner that they name."""
LOWER = ("mse",)
"""Scores whose smallest value is the best."""
TEXT = ("method", "by", "verdict", "note")
"""The headings of `cells` whose columns have text."""
_MARKS = {"reproduced": "✓", "not reproduced": "✗", "undecided": "?"}


@dataclasses.dataclass(frozen=True)
class Row:
    """A row of a table of results: one method in one setting on one data set.

    Attributes
    ----------
    ours : the summary of our scores over seeds.
    judged : the comparison with the score that the paper prints; None if it prints none.
    times : the comparison with the seconds that the paper prints; None if it prints none.
    other : the summary of the method with which this method is compared (see the function `other`), or None.
    """

    ours: Summary
    judged: Judged | None
    times: Judged | None
    other: Summary | None

    @property
    def method(self) -> str:
        """The name of the method, with its setting."""
        return method_words(self.ours.method, self.ours.setting)

    @property
    def test(self) -> Paired | None:
        """The paired test of this method's scores against those of `other`; None without common seeds."""
        if self.other is None or not set(self.ours.values) & set(self.other.values):
            return None
        return compare_pairs(self.ours, self.other)

    @property
    def size(self) -> int | None:
        """The number k of features, or None if all features of the data are used."""
        d = FORMS[self.ours.data].d if self.ours.data in FORMS else None
        return None if self.ours.method == ALL or self.ours.k == d else self.ours.k

    def as_json(self) -> dict[str, Any]:
        """Return the numbers and words of the row for results.json."""
        test, other = self.test, self.other
        compared = None if test is None or other is None else {**test._asdict(), "other": other.setting}
        return {
            **dataclasses.asdict(self.ours),
            "mean": self.ours.mean,
            "std": self.ours.std,
            "printed": _judged_json(self.judged),
            "printed_seconds": _judged_json(self.times),
            "test": compared,
        }


def _judged_json(judged: Judged | None) -> dict[str, Any] | None:
    if judged is None:
        return None
    found = {name: getattr(judged.printed, name) for name in ("table", "mean", "std")}
    found |= {name: getattr(judged, name) for name in ("lacking", "difference", "tolerance")}
    return found | {"verdict": judged.verdict.value}


def rows(records: Sequence[Record], judged: Iterable[Judged], against: str = AGAINST) -> list[Row]:
    """Return a row of results for each method, setting, data set and kind of score in the records.

    judged : the verdicts that `judged_here` returns. against : the method with which all others are compared.
    """
    found = [summary for summary in summarize(records) if summary.learner not in NOT_TEST_SCORES]
    by_address = {summary.address: summary for summary in found}
    scores, times = {}, {}
    for figure in judged:
        address = figure.printed.address
        if figure.printed.table == TIMES:
            times[address[:5]] = figure
        else:
            scores[address] = figure
    return [
        Row(s, scores.get(s.address), times.get(s.address[:5]), other(s, by_address, against)) for s in found
    ]


def other(summary: Summary, by_address: Mapping[Any, Summary], against: str = AGAINST) -> Summary | None:
    """Return the results of the method `against` with which a method's results are compared, or None.

    Both results have the same number of training rows. They have the same setting, if there is such a result
    of `against`. Otherwise its result in the base setting of the study is taken, or the one with our
    defaults. If the results are those of `against` itself, they are compared with its result in the base
    setting.
    """
    base = BASES.get(summary.study, "")
    settings = (base,) if summary.method == against else (summary.setting, base, OWN)
    moved = {*OTHER_ROWS.get(summary.study, ())}
    for setting in settings:
        found = by_address.get((summary.study, summary.data, against, summary.k, setting, summary.learner))
        alike = setting == summary.setting or not {setting, summary.setting} & moved
        if found is not None and found.rows == summary.rows and alike:
            return None if found is summary else found
    return None


def judged_all(records: Sequence[Record]) -> list[Judged]:
    """Judge every figure that the papers print by our records, in the order of the printed tables."""
    ours = {made.address: made for times in (False, True) for made in summarize(records, times=times)}
    found = []
    for name, figures in TABLES.items():
        for printed in map(list, map(figures, TITLES)):
            if name == TIMES:
                base, *others = printed  # Sequential Attention, whose time is the unit
                time = ours.get(base.address)
                found += [
                    verdict_of_times((other, base), (ours.get(other.address), time)) for other in others
                ]
            else:
                found += [verdict(figure, ours.get(figure.address)) for figure in printed]
    return found


def judged_here(records: Sequence[Record], scale: Scale) -> list[Judged]:
    """Judge the printed figures of those studies and data sets for which there are records.

    With fewer epochs than in the papers, every figure has the verdict NEEDS_DATA, because no other verdict is
    possible.
    """
    recorded = {(record.piece.study, record.piece.data) for record in records}
    found = [
        figure for figure in judged_all(records) if (figure.printed.study, figure.printed.data) in recorded
    ]
    if scale.epochs >= 1:
        return found
    lacking, nan = f"{scale.epochs:.0%} of the epochs", math.nan
    return [
        figure._replace(verdict=Verdict.NEEDS_DATA, difference=nan, tolerance=nan, lacking=lacking)
        for figure in found
    ]


def table_title(figure: Judged) -> str:
    """Return the title of the printed table to which a figure belongs."""
    return HEADINGS.get(figure.printed.table, figure.printed.table)


def counts(judged: Iterable[Judged], heading: Callable[[Judged], str] = table_title) -> list[list[str]]:
    """Count the printed figures by verdict, for each printed table.

    The result is a table of text that begins with its headings. With another function `heading`, the figures
    are grouped by its value in place of the printed table.
    """
    found: dict[str, Counter[Verdict]] = {}
    for figure in judged:
        found.setdefault(heading(figure), Counter())[figure.verdict] += 1
    lines = [
        [name, *map(str, (verdicts.total(), *(verdicts[verdict] for verdict in EXPERIMENTAL)))]
        for name, verdicts in found.items()
    ]
    return [["figures of", "all", *(verdict.value for verdict in EXPERIMENTAL)], *lines]


def number_of(setting: str) -> tuple[int, str] | None:
    """Split a setting such as "8, as released" or "p=128" into its number and the rest.

    The result is None if the setting does not begin with a number, or with a name and a number.

    >>> number_of("128"), number_of("p=128"), number_of("8, as released"), number_of("softmax")
    ((128, ''), (128, ''), (8, ', as released'), None)
    """
    found = re.match(r"(?:\w+=)?(\d+)\b(.*)", setting)
    return (int(found[1]), found[2]) if found else None


# --- in words --------------------------------------------------------------------------------------------


def spread(mean: float, std: float | None, digits: int | None = None) -> str:
    """Return "mean ± standard deviation", or the mean alone if the standard deviation is None or NaN.

    digits : digits after the point; None: 1 for means of at least 10, otherwise 3.

    >>> spread(0.9563, 0.002), spread(57.5, 1.5), spread(0.96, None), spread(9.5, 1.5, digits=1)
    ('0.956 ± 0.002', '57.5 ± 1.5', '0.960', '9.5 ± 1.5')
    """
    if digits is None:
        digits = 1 if mean >= 10 else 3
    if std is None or math.isnan(std):
        return f"{mean:.{digits}f}"
    return f"{mean:.{digits}f} ± {std:.{digits}f}"


def score_words(learner: str) -> str:
    """Return the description of a kind of score.

    >>> score_words("mse"), score_words("SVC")
    ('mean squared error', 'accuracy of SVC')
    """
    return SCORES.get(learner, f"accuracy of {learner}")


def printed_words(judged: Judged | None) -> str:
    """Return the printed mean as text, or "" if no mean is printed."""
    return "" if judged is None else spread(judged.printed.mean, judged.printed.std)


def verdict_words(judged: Judged | None) -> str:
    """Return the verdict in words, or "" if the paper prints no figure.

    If the verdict is NEEDS_DATA, the words also say which data are missing.
    """
    if judged is None:
        return ""
    return f"{judged.verdict.value}: {judged.lacking}" if judged.lacking else judged.verdict.value


def cells(row: Row) -> dict[str, str]:
    """Return the cells of a row of the detailed table of results, by their headings."""
    ours, test, judged = row.ours, row.test, row.judged
    known = judged is not None and not math.isnan(judged.difference)
    notes = [*ours.notes]
    if row.times:
        notes.append(
            f"printed seconds of the selection: {printed_words(row.times)} ({verdict_words(row.times)})"
        )
    if row.other and row.other.setting not in ("", ours.setting):
        notes.append(f"the other: {method_words(row.other.method, row.other.setting)}")
    return {
        "method": row.method,
        "k": str(ours.k),
        "by": ours.learner,
        "ours": spread(ours.mean, ours.std),
        "− the other": f"{test.difference:+.3f}" if test else "",
        "p": f"{test.p:.3g}" if test else "",
        "seeds": str(len(ours.values)),
        "training rows": " to ".join(map(str, dict.fromkeys(ours.rows))),
        "selecting [s]": f"{ours.seconds['selecting']:.1f}" if "selecting" in ours.seconds else "",
        "fitting [s]": f"{ours.seconds['fitting']:.1f}" if "fitting" in ours.seconds else "",
        "printed": printed_words(judged),
        "difference": f"{judged.difference:+.3f}" if judged and known else "",
        "tolerance": f"{judged.tolerance:.4f}" if judged and known else "",
        "verdict": verdict_words(judged),
        "note": "; ".join(notes),
    }


# --- methods by data sets --------------------------------------------------------------------------------


def matrices(mine: Sequence[Row]) -> list[dict[str, Any]]:
    """Return the tables (methods by data sets) of a study: one for each number k of features and kind of
    score.

    The largest k comes first. If several methods have numeric settings (for example 128 features in all),
    there is a column for each data set and setting. Methods that use all features are in the last rows of
    each table.
    """
    across = several_have_numbers(mine)
    learners = dict.fromkeys(row.ours.learner for row in mine)
    sizes: list[int | None] = [*sorted({row.size for row in mine if row.size is not None}, reverse=True)]
    groups = [
        (size, [row for row in mine if row.size in (size, None) and row.ours.learner == learner])
        for size in sizes or [None]
        for learner in learners
    ]
    return [_matrix(size, chosen, across) for size, chosen in groups if chosen]


def _matrix(size: int | None, chosen: Sequence[Row], across: bool) -> dict[str, Any]:
    """Return the table of methods by data sets for one number k of features and one kind of score."""

    def name(row: Row) -> str:  # a method may have a row for k features and one for all features
        name = row.ours.method if number_across(row, across) else row.method
        return f"{name}, {ALL}" if row.size != size and name != ALL else name

    columns, lines = pivot(chosen, name, lambda row: (row.ours.data, number_across(row, across)))
    learner = chosen[0].ours.learner
    return {
        "title": "all features" if size is None else f"k = {size}",
        "of": SCORES.get(learner, learner),
        "columns": [(title(data), setting) for data, setting in columns],
        "rows": lines,
    }


def several_have_numbers(mine: Sequence[Row]) -> bool:
    """Return whether several methods have settings that begin with a number."""
    return len({row.ours.method for row in mine if number_of(row.ours.setting)}) > 1


def number_across(row: Row, across: bool) -> str:
    """Return the setting of a row of results if the table has a column for this setting, otherwise ""."""
    return row.ours.setting if across and number_of(row.ours.setting) else ""


def pivot(
    chosen: Sequence[Row], name: Callable[[Row], str], column: Callable[[Row], Hashable]
) -> tuple[list[Any], list[tuple[str, list[dict[str, Any] | None]]]]:
    """Arrange rows of results in a table. Return the columns of the table, and (name, cells) for each line.

    name, column : functions of a row of results that return its line and its column in the table.

    Methods that use all features are in the last lines.
    """
    at = {(name(row), column(row)): row for row in chosen}
    columns = list(dict.fromkeys(place for _, place in at))
    whole = {name(row) for row in chosen if row.size is None}
    names = sorted(dict.fromkeys(label for label, _ in at), key=lambda label: label in whole)
    best = [row for place in columns for row in _best([row for row in chosen if column(row) == place])]
    return columns, [(label, [_cell(at.get((label, place)), best) for place in columns]) for label in names]


def _best(rows: Sequence[Row]) -> list[Row]:
    """Return the rows of results that have the best mean.

    Only selections with the most common number of training rows are compared. If there is only one such
    selection, return [], because there is nothing to compare it with.
    """
    selected = [row for row in rows if row.ours.method != ALL]
    sizes = Counter(row.ours.rows for row in selected)
    alike = [row for row in selected if sizes[row.ours.rows] == max(sizes.values())]
    if len(alike) < 2:
        return []
    lowest = alike[0].ours.learner in LOWER
    best = (min if lowest else max)(row.ours.mean for row in alike)
    return [row for row in alike if row.ours.mean == best]


def _cell(row: Row | None, best: Sequence[Row]) -> dict[str, Any] | None:
    """Return the contents of a cell: our mean, the printed mean, and the verdict as a mark and in words."""
    if row is None:
        return None
    word = row.judged.verdict.value if row.judged else ""
    return {
        "ours": spread(row.ours.mean, row.ours.std),
        "best": row in best,
        "printed": printed_words(row.judged),
        "mark": _MARKS.get(word, ""),
        "word": verdict_words(row.judged),
    }


# --- the order of the studies, and their figures ---------------------------------------------------------

ORDER = (
    *("honest", "paper", "switches", "efficiency", "adaptivity", "masks", "lassonet", "lassonet-pixels"),
    *("completion", "gains", "anchors", "downstream", "signals"),
)
"""The studies in the order of the tables: first the one without leaks. Other studies come after them."""


def place(record: Record) -> tuple[int, int]:
    """Return a key by which records are sorted for a page: by study, and then by data set."""
    known, sets = (*ORDER, record.piece.study), (*FORMS, record.piece.data)
    return known.index(record.piece.study), sets.index(record.piece.data)


def method_words(method: str, setting: str) -> str:
    """Return the name of a method, followed by its setting if there is one."""
    return f"{method}, {setting}" if setting else method
