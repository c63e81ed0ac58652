"""The tables of the studies: ours beside what is printed, with verdicts and paired tests.

`rows` and `matrices` are for the page of `make networks`; `markdown` makes those of the site's page
docs/networks-tables.md from stored records.
"""

from __future__ import annotations

import dataclasses
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from proofs_checks.experiments.networks.data import FORMS, title
from proofs_checks.experiments.networks.pieces import Record, Scale
from proofs_checks.experiments.networks.printed import ALL, OWN, TABLES, TITLES
from proofs_checks.experiments.networks.verdicts import (
    Judged,
    Paired,
    Summary,
    paired,
    summary,
    verdict,
    verdict_of_times,
)
from sparselin.ledger import EXPERIMENTAL, Verdict

AGAINST = "Sequential Attention"
# scores that are not of test rows
ASIDE = ("validation", "steps", "validation mse")
TIMES = "SA-table-6"
BASES = {"switches": "as released", "adaptivity": "1", "masks": "softmax"}
"""A study ↦ the setting with which its others are compared, where that is not the plain one."""
ELSEWHERE = {
    "switches": ("split by group and class", "all but the optimiser", "all"),
    "lassonet": ("released split",),
}
"""A study ↦ its settings that draw other rows for the same seed, so that seeds are no pairs."""
CAVEATS = {
    "paper": "Sequential Attention at the largest k, and all features, take all training rows of MNIST "
    "and Fashion-MNIST, as in print; the others, and Sequential Attention with its own "
    "defaults, 8,750 at full scale. The baselines are ours: the group LASSO and Sequential "
    "LASSO on a path of λ where the released code has one λ (“λ fixed” has .03 and .01), OMP "
    "with the gradients of all rows and W = 0 off the picks (“switches” has the released OMP "
    "and feature mask).",
    "switches": "What is mended holds for the network that is trained again, too, but not in the baselines. "
    "“All” still leaves out the rows that do not fill a batch. Adam has the rate of the settings on "
    "MNIST, ISOLET and COIL-20, and 2·10⁻⁴ on Mice Protein and MNIST-Fashion, where they give "
    "none that can be used. OMP and the feature mask have the epochs and batches of Sequential "
    "Attention, and RMSprop.",
    "efficiency": "The epochs and batches of Table 4, all rows in each pass and λ fixed, in selecting; "
    "trained again as in “paper”.",
    "adaptivity": "Beside print are the settings that pick as many at a time as they say; those “as "
    "released” count phases as features, and fill up with the lowest numbers.",
    "honest": "On Mice Protein and ISOLET Sequential Attention, LassoNet, the group LASSO and the feature "
    "mask have the best of eight settings each, by the validation rows and the largest k; the "
    "other methods, and all on other data sets, their defaults. (LassoNet's settings were drawn "
    "anew after one tuned record had been seen.) Speakers of ISOLET are among training and "
    "validation rows; of COIL-20 neighbouring views of a thing are on both sides.",
    "lassonet": "At the tables' k = 50 the width of the decoder is the best of four by the validation rows, "
    "and the small sets have more seeds at full scale; at other k, and in a run with a share of "
    "the epochs, it is k. Lines against k join both.",
    "completion": "A network on k columns reads the completed matrix: where an entry of these is missing, "
    "what the dense network imputed, from all columns. How many epochs are tried was chosen "
    "with test errors of the first seeds in view.",
    "signals": "The seconds of methods whose picks for 2k do not begin with those for k (Sequential "
    "Attention, mRMR, both concrete autoencoders) are of both runs. Among the first 2k is every "
    "feature where there are no more.",
}
"""A study ↦ what a reader of its tables and figures has to know."""
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
"""A learner, or a measure ↦ in words; the others are names of learners."""
LOWER = ("mse",)
"""Scores of which the least is the best."""
TEXT = ("method", "by", "verdict", "note")
"""The headings of `cells` over words."""
_MARKS = {"reproduced": "✓", "not reproduced": "✗", "undecided": "?"}


@dataclasses.dataclass(frozen=True)
class Row:
    """A method on a data set.

    Attributes
    ----------
    ours : the summary of its records.
    judged : the comparison with what is printed; None where nothing is.
    times : the comparison of its seconds; None where none are printed.
    other : what it is compared with, see `other`; None for that method itself.
    """

    ours: Summary
    judged: Judged | None
    times: Judged | None
    other: Summary | None

    @property
    def method(self) -> str:
        """The method and the setting."""
        return _method(self.ours.method, self.ours.setting)

    @property
    def test(self) -> Paired | None:
        """Its scores minus the other's, over the seeds that both have."""
        if self.other is None or not set(self.ours.values) & set(self.other.values):
            return None
        return paired(self.ours, self.other)

    @property
    def size(self) -> int | None:
        """k, but None for all features, which are as many as the data have."""
        d = FORMS[self.ours.data].d if self.ours.data in FORMS else None
        return None if self.ours.method == ALL or self.ours.k == d else self.ours.k

    def as_json(self) -> dict[str, Any]:
        """Return numbers and words for results.json."""
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
    """Return a row for each summary of the records, in the order in which they came.

    judged : of `judged_here`. against : the method that the others are compared with, seed by seed.
    """
    found = [one for one in summary(records) if one.learner not in ASIDE]
    by_address = {one.address: one for one in found}
    scores, times = {}, {}
    for figure in judged:
        address = figure.printed.address
        if figure.printed.table == TIMES:
            times[address[:5]] = figure
        else:
            scores[address] = figure
    return [
        Row(one, scores.get(one.address), times.get(one.address[:5]), other(one, by_address, against))
        for one in found
    ]


def other(one: Summary, by_address: Mapping[Any, Summary], against: str = AGAINST) -> Summary | None:
    """Return what a row is compared with, on the same training rows, if it is there: that method in the same
    setting, else as in print or ours; that method itself with what its study begins with."""
    base = BASES.get(one.study, "")
    settings = (base,) if one.method == against else (one.setting, base, OWN)
    for setting in settings:
        found = by_address.get((one.study, one.data, against, one.k, setting, one.learner))
        alike = setting == one.setting or not {setting, one.setting} & {*ELSEWHERE.get(one.study, ())}
        if found is not None and found.rows == one.rows and alike:
            return None if found is one else found
    return None


def judged_all(records: Sequence[Record]) -> list[Judged]:
    """Judge every printed figure by its records, in the order of the tables."""
    ours = {one.address: one for times in (False, True) for one in summary(records, times=times)}
    found = []
    for name, figures in TABLES.items():
        for printed in map(list, map(figures, TITLES)):
            if name == TIMES:
                base, *others = printed  # Sequential Attention, whose time is the unit
                time = ours.get(base.address)
                found += [verdict_of_times((one, base), (ours.get(one.address), time)) for one in others]
            else:
                found += [verdict(one, ours.get(one.address)) for one in printed]
    return found


def judged_here(records: Sequence[Record], scale: Scale) -> list[Judged]:
    """Judge every printed figure of a study and a data set that have a record.

    With a share of the epochs only, as with one of the rows, none can be met or missed.
    """
    there = {(record.piece.study, record.piece.data) for record in records}
    found = [one for one in judged_all(records) if (one.printed.study, one.printed.data) in there]
    if scale.epochs >= 1:
        return found
    lacking, nan = f"{scale.epochs:.0%} of the epochs", math.nan
    return [Judged(*one[:2], Verdict.NEEDS_DATA, nan, nan, lacking) for one in found]


def counts(judged: Iterable[Judged]) -> list[list[str]]:
    """Count the figures of each printed table by verdict, under a line of headings."""
    by_table: dict[str, Counter[Verdict]] = {}
    for one in judged:
        by_table.setdefault(one.printed.table, Counter())[one.verdict] += 1
    lines = [
        [HEADINGS.get(table, table), *map(str, (found.total(), *(found[word] for word in EXPERIMENTAL)))]
        for table, found in by_table.items()
    ]
    return [["figures of", "all", *(word.value for word in EXPERIMENTAL)], *lines]


def number_of(setting: str) -> tuple[int, str] | None:
    """Split a setting that begins with a number into that and the rest; None for another.

    >>> number_of("128"), number_of("p=128"), number_of("8, as released"), number_of("softmax")
    ((128, ''), (128, ''), (8, ', as released'), None)
    """
    found = re.match(r"(?:\w+=)?(\d+)\b(.*)", setting)
    return (int(found[1]), found[2]) if found else None


# --- in words --------------------------------------------------------------------------------------------


def spread(mean: float, std: float | None, digits: int | None = None) -> str:
    """Return mean ± standard deviation, which one seed does not have.

    digits : after the point; None for 3, from 10 on 1.

    >>> spread(0.9563, 0.002), spread(57.5, 1.5), spread(0.96, None), spread(9.5, 1.5, digits=1)
    ('0.956 ± 0.002', '57.5 ± 1.5', '0.960', '9.5 ± 1.5')
    """
    if digits is None:
        digits = 1 if mean >= 10 else 3
    if std is None or math.isnan(std):
        return f"{mean:.{digits}f}"
    return f"{mean:.{digits}f} ± {std:.{digits}f}"


def printed_words(judged: Judged | None) -> str:
    """Return the printed mean, "" for none."""
    return "" if judged is None else spread(judged.printed.mean, judged.printed.std)


def verdict_words(judged: Judged | None) -> str:
    """Return the verdict, and what it lacks."""
    if judged is None:
        return ""
    return f"{judged.verdict.value}: {judged.lacking}" if judged.lacking else judged.verdict.value


def cells(row: Row) -> dict[str, str]:
    """Return a row of the long table, by its headings."""
    one, test, judged = row.ours, row.test, row.judged
    known = judged is not None and not math.isnan(judged.difference)
    notes = [*one.notes]
    if row.times:
        notes.append(f"selecting, in print: {printed_words(row.times)} s ({verdict_words(row.times)})")
    if row.other and row.other.setting not in ("", one.setting):
        notes.append(f"the other: {_method(row.other.method, row.other.setting)}")
    return {
        "method": row.method,
        "k": str(one.k),
        "by": one.learner,
        "ours": spread(one.mean, one.std),
        "− the other": f"{test.difference:+.3f}" if test else "",
        "p": f"{test.p:.3g}" if test else "",
        "seeds": str(len(one.values)),
        "training rows": " to ".join(map(str, dict.fromkeys(one.rows))),
        "selecting [s]": f"{one.seconds['selecting']:.1f}" if "selecting" in one.seconds else "",
        "fitting [s]": f"{one.seconds['fitting']:.1f}" if "fitting" in one.seconds else "",
        "in print": printed_words(judged),
        "difference": f"{judged.difference:+.3f}" if judged and known else "",
        "tolerance": f"{judged.tolerance:.4f}" if judged and known else "",
        "verdict": verdict_words(judged),
        "note": "; ".join(notes),
    }


# --- methods by data sets --------------------------------------------------------------------------------


def matrices(mine: Sequence[Row]) -> list[dict[str, Any]]:
    """Return the tables of a study, one for each k and learner, the largest k first; all features are last.

    Settings that are numbers, as 128 features in all, go across if several methods have them.
    """
    across = len({row.ours.method for row in mine if number_of(row.ours.setting)}) > 1
    learners = dict.fromkeys(row.ours.learner for row in mine)
    sizes: list[int | None] = [*sorted({row.size for row in mine if row.size is not None}, reverse=True)]
    parts = [
        (size, [row for row in mine if row.size in (size, None) and row.ours.learner == learner])
        for size in sizes or [None]
        for learner in learners
    ]
    return [_matrix(size, chosen, across) for size, chosen in parts if chosen]


def _matrix(size: int | None, chosen: Sequence[Row], across: bool) -> dict[str, Any]:
    """Put each row at its method and its column."""
    at = {(_name(row, size, across), _column(row, across)): row for row in chosen}
    columns = list(dict.fromkeys(column for _, column in at))
    whole = {_name(row, size, across) for row in chosen if row.size is None}
    names = sorted(dict.fromkeys(name for name, _ in at), key=lambda name: name in whole)
    best = [row for one in columns for row in _best([row for row in chosen if _column(row, across) == one])]
    learner = chosen[0].ours.learner
    return {
        "title": "all features" if size is None else f"k = {size}",
        "of": SCORES.get(learner, learner),
        "columns": [(title(data), setting) for data, setting in columns],
        "rows": [(name, [_cell(at.get((name, column)), best) for column in columns]) for name in names],
    }


def _name(row: Row, size: int | None, across: bool) -> str:
    """Return the name of a row; a method may be there with k features and with all of them."""
    name = row.ours.method if across and number_of(row.ours.setting) else row.method
    return f"{name}, {ALL}" if row.size != size and name != ALL else name


def _column(row: Row, across: bool) -> tuple[str, str]:
    """Return the data set and, where settings go across, the setting."""
    return row.ours.data, row.ours.setting if across and number_of(row.ours.setting) else ""


def _best(rows: Sequence[Row]) -> list[Row]:
    """Return the rows of the best mean among two or more on as many training rows as most have."""
    selected = [row for row in rows if row.ours.method != ALL]
    sizes = Counter(row.ours.rows for row in selected)
    alike = [row for row in selected if sizes[row.ours.rows] == max(sizes.values())]
    if len(alike) < 2:
        return []
    least = alike[0].ours.learner in LOWER
    best = (min if least else max)(row.ours.mean for row in alike)
    return [row for row in alike if row.ours.mean == best]


def _cell(row: Row | None, best: Sequence[Row]) -> dict[str, Any] | None:
    """Return our mean, the printed one, and the verdict as a mark."""
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


# --- docs/networks-tables.md -----------------------------------------------------------------------------

ORDER = (
    *("honest", "paper", "switches", "efficiency", "adaptivity", "masks", "lassonet", "lassonet-pixels"),
    *("completion", "gains", "anchors", "downstream", "signals"),
)
"""The studies, in the order of the tables, what is without leaks first; others come after them."""


def markdown(records: Sequence[Record]) -> str:
    """Return the printed figures next to ours, with their verdicts, then all means by study."""
    if not records:
        return "No records are stored yet: `make networks ARGS=--full`, some hours, makes them.\n"
    head = (
        f"Made from {len(records):,} records. ± is the standard deviation over seeds "
        "(n − 1), bold the best selection of a column, of those on as many training rows as most have. "
        "Seconds are means over seeds, by one thread. What else one has to know of a study stands under its "
        "name. Tests of pairs, "
        "seed by seed, are on the page that `make networks` makes.\n"
    )
    judged = judged_all(records)
    printed = "\n".join((*_table(counts(_there(judged))), "", *_printed(judged)))
    means = "\n".join(_means(rows(sorted(records, key=place), ())))
    return f"{head}\n## What is printed, and ours\n\n{printed}\n## All means\n\n{means}"


def place(record: Record) -> tuple[int, int]:
    """Return the place of a record on the page: its study's, and its data set's."""
    known, sets = (*ORDER, record.piece.study), (*FORMS, record.piece.data)
    return known.index(record.piece.study), sets.index(record.piece.data)


def _there(judged: Sequence[Judged]) -> list[Judged]:
    """Return the figures of a study and a data set that have a record."""
    there = {(one.printed.study, one.printed.data) for one in judged if one.ours is not None}
    return [one for one in judged if (one.printed.study, one.printed.data) in there]


def _printed(judged: Sequence[Judged]) -> Iterator[str]:
    """Yield a table for each printed one, and the studies of data sets without a record."""
    run = _there(judged)
    there = {(one.printed.study, one.printed.data) for one in run}
    for name, those in groupby(run, key=lambda one: one.printed.table):
        yield f"### {HEADINGS.get(name, name)}\n"
        figures = list(those)
        unit = "log₂ of the ratios" if name == TIMES else "ours − printed"
        most = "at most" if name == TIMES or figures[0].printed.within else "2 SE"
        heads = ["data", "method", "by", "printed", "ours", "seeds", "training rows", unit, most, "verdict"]
        yield from _table([heads, *map(_figure, figures)], "|---|---|---|--:|--:|--:|--:|--:|--:|---|")
        yield ""
    left: dict[str, dict[str, None]] = {}
    for one in judged:
        if (one.printed.study, one.printed.data) not in there:
            left.setdefault(title(one.printed.data), {})[one.printed.study] = None
    if left:
        words = "; ".join(f"{data} ({', '.join(studies)})" for data, studies in left.items())
        yield f"Not run here: {words}.\n"


def _figure(judged: Judged) -> list[str]:
    printed, ours = judged.printed, judged.ours
    digits = 1 if printed.table == TIMES else 3
    line = [title(printed.data), _method(printed.method, printed.setting), printed.learner]
    line.append(spread(printed.mean, printed.std, digits))
    line += [spread(ours.mean, ours.std, digits), str(len(ours.values)), _rows(ours)] if ours else [""] * 3
    difference = f"{judged.difference:+.4f}".replace("-", "−")
    line += ["", ""] if judged.lacking else [difference, f"{judged.tolerance:.4f}"]
    return [*line, verdict_words(judged)]


def _means(found: Sequence[Row]) -> Iterator[str]:
    """Yield the matrices of each study, all but the first folded, and the seconds."""
    for study in dict.fromkeys(row.ours.study for row in found):
        mine = [row for row in found if row.ours.study == study]
        yield f"### {study}\n\n{'; '.join(_sizes([row.ours for row in mine]))}. {CAVEATS.get(study, '')}\n"
        for i, one in enumerate(matrices(mine)):
            columns = [", ".join(filter(None, column)) for column in one["columns"]]
            lines = [(name, list(map(_bold, cells))) for name, cells in one["rows"]]
            yield from _block(f"{one['title']}: {one['of']}", columns, lines, folded=i > 0)
        yield from _seconds([row.ours for row in mine if row.size is not None])


def _sizes(mine: Sequence[Summary]) -> Iterator[str]:
    """Yield seeds and training rows of each data set, with exceptions by name."""
    for data in dict.fromkeys(one.data for one in mine):
        those: dict[str, list[Summary]] = {}
        for one in mine:
            if one.data == data:
                seeds = f"{len(one.values)} seed{'s' * (len(one.values) > 1)}"
                those.setdefault(f"{seeds}, {_rows(one)} rows", []).append(one)
        usual, *others = sorted(those, key=lambda words: -len(those[words]))
        exceptions = "; ".join(
            f"{words}: {', '.join(f'*{name}*' for name in _distinct(those[words]))}" for words in others
        )
        yield f"{title(data)} {usual}" + (f" ({exceptions})" if exceptions else "")


def _distinct(those: Iterable[Summary]) -> dict[str, None]:
    return dict.fromkeys(_method(one.method, one.setting) for one in those)


def _block(
    heading: str, columns: Sequence[str], lines: Iterable[tuple[str, Sequence[str]]], folded: bool = True
) -> Iterator[str]:
    yield f"<details><summary>{heading}</summary>\n" if folded else f"**{heading}**\n"
    yield from _table([["method", *columns], *([name, *cells] for name, cells in lines)])
    yield "\n</details>\n" if folded else ""


def _bold(cell: Mapping[str, Any] | None) -> str:
    """Return a cell, in bold for the best of a column."""
    if cell is None:
        return ""
    return f"**{cell['ours']}**" if cell["best"] else str(cell["ours"])


def _seconds(mine: Sequence[Summary]) -> Iterator[str]:
    """Yield the seconds at the largest k: one run has the picks for all smaller k."""
    took: dict[tuple[str, str], str] = {}
    for one in sorted(mine, key=lambda one: one.k):
        if one.seconds.get("selecting"):
            tuning = f" + {one.seconds['tuning']:.0f}" if "tuning" in one.seconds else ""
            took[_method(one.method, one.setting), one.data] = f"{one.seconds['selecting']:.1f}{tuning}"
    names = dict.fromkeys(one.data for one in mine)
    lines = [
        (method, [took.get((method, data), "") for data in names])
        for method in _distinct(mine)
        if any((method, data) in took for data in names)
    ]
    if lines:
        heading = "seconds of the selection, at the largest k that a method is run for"
        heading += " + of its tuning" * any("tuning" in one.seconds for one in mine)
        yield from _block(heading, list(map(title, names)), lines)


def _method(method: str, setting: str) -> str:
    return f"{method}, {setting}" if setting else method


def _rows(one: Summary) -> str:
    return " to ".join(f"{size:,}" for size in dict.fromkeys(one.rows))


def _table(lines: Sequence[Sequence[str]], below: str = "") -> Iterator[str]:
    """Return a table of Markdown; below : the line below the headings, if several columns are of words."""
    made = ["| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines]
    return iter([made[0], below or "|---" + "|--:" * (len(lines[0]) - 1) + "|", *made[1:]])
