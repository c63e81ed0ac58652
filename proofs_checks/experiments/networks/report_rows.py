"""The rows of the page of `make networks`: ours, what is printed, the verdict, and a paired test."""

from __future__ import annotations

import dataclasses
import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from proofs_checks.experiments.networks.data import FORMS
from proofs_checks.experiments.networks.figures import ALL, OWN, TABLES
from proofs_checks.experiments.networks.pieces import Record, Scale
from proofs_checks.experiments.networks.printed import TITLES
from proofs_checks.experiments.networks.verdicts import (
    Judged,
    Paired,
    Summary,
    paired,
    summary,
    verdict,
    verdict_of_times,
)
from sparselin.ledger import Verdict

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
NAMES = {
    "SA-table-2": "Sequential Attention, Table 2",
    "SA-released": "Sequential Attention, Table 2, baselines as released",
    **{f"SA-table-{i}": f"Sequential Attention, Table {i}" for i in (3, 5, 6, 9, 10)},
    **{f"LN-table-{i}": f"LassoNet, Table {i}" for i in (1, 2)},
    "anchors": "All features with three learners",
}


@dataclasses.dataclass(frozen=True)
class Row:
    """A method on a data set.

    Attributes
    ----------
    ours : the summary of its records.
    judged : beside what is printed; None where nothing is.
    times : its seconds beside the printed ones; None where none are.
    other : what it is compared with, see `other`; None for that method itself.
    """

    ours: Summary
    judged: Judged | None
    times: Judged | None
    other: Summary | None

    @property
    def method(self) -> str:
        """The method and the setting."""
        return f"{self.ours.method}, {self.ours.setting}" if self.ours.setting else self.ours.method

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
        """Numbers and words for results.json."""
        one = self.ours
        found = dict(zip(("study", "data", "method", "k", "setting", "learner"), one.address, strict=True))
        found |= {"mean": one.mean, "std": one.std, "values": dict(one.values)}
        found |= {"rows": list(one.rows), "seconds": dict(one.seconds), "notes": list(one.notes)}
        found |= {"printed": _judged_json(self.judged), "printed_seconds": _judged_json(self.times)}
        test, than = self.test, self.other
        compared = None if test is None or than is None else {**test._asdict(), "other": than.setting}
        return found | {"test": compared}


def rows(records: Sequence[Record], judged: Iterable[Judged], against: str = AGAINST) -> list[Row]:
    """A row for each summary of the records, in the order in which they came.

    judged : of `judged_here`. against : the method that the others are compared with, seed by seed.
    """
    found = [one for one in summary(records) if one.learner not in ASIDE]
    by_address = {one.address: one for one in found}
    accuracies, times = {}, {}
    for beside in judged:
        address = beside.printed.address
        if beside.printed.table == TIMES:
            times[address[:5]] = beside
        else:
            accuracies[address] = beside
    return [
        Row(one, accuracies.get(one.address), times.get(one.address[:5]), other(one, by_address, against))
        for one in found
    ]


def other(one: Summary, by_address: Mapping[Any, Summary], against: str = AGAINST) -> Summary | None:
    """What a row is compared with, on the same training rows, if it is there: that method in the same
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
    """Every printed figure, in the order of the tables, beside its records."""
    scores = {one.address: one for one in summary(records)}
    clocks = {one.address: one for one in summary(records, times=True)}
    found = []
    for name, figures in TABLES.items():
        for data in TITLES:
            printed = list(figures(data))
            if name == TIMES:
                base = next(one for one in printed if one.method == AGAINST)
                found += [
                    verdict_of_times((one, base), (clocks.get(one.address), clocks.get(base.address)))
                    for one in printed
                    if one is not base
                ]
            else:
                found += [verdict(one, scores.get(one.address)) for one in printed]
    return found


def judged_here(records: Sequence[Record], scale: Scale) -> list[Judged]:
    """Every printed figure of a study and a data set that have a record, with its verdict.

    With a share of the epochs only, as with one of the rows, none can be met or missed.
    """
    there = {(record.piece.study, record.piece.data) for record in records}
    found = [one for one in judged_all(records) if (one.printed.study, one.printed.data) in there]
    if scale.epochs >= 1:
        return found
    lacking, nan = f"{scale.epochs:.0%} of the epochs", math.nan
    return [Judged(one.printed, one.ours, Verdict.NEEDS_DATA, nan, nan, lacking) for one in found]


class Count(NamedTuple):
    """Of a printed table: its figures on the data sets that were run, by verdict."""

    table: str
    figures: int
    verdicts: dict[str, int]


def counts(judged: Iterable[Judged]) -> list[Count]:
    """By table, in their order."""
    by_table: dict[str, Counter[str]] = {}
    for one in judged:
        by_table.setdefault(one.printed.table, Counter())[one.verdict.value] += 1
    return [Count(table, sum(found.values()), dict(found)) for table, found in by_table.items()]


def _judged_json(judged: Judged | None) -> dict[str, Any] | None:
    if judged is None:
        return None
    printed = judged.printed
    found = {"table": printed.table, "mean": printed.mean, "std": printed.std}
    found |= {"verdict": judged.verdict.value, "lacking": judged.lacking}
    return found | {"difference": judged.difference, "tolerance": judged.tolerance}


def number_of(setting: str) -> tuple[int, str] | None:
    """A setting that begins with a number: that, and what follows; None for another.

    >>> number_of("128"), number_of("p=128"), number_of("8, as released"), number_of("softmax")
    ((128, ''), (128, ''), (8, ', as released'), None)
    """
    found = re.match(r"(?:\w+=)?(\d+)\b(.*)", setting)
    return (int(found[1]), found[2]) if found else None


# --- in words --------------------------------------------------------------------------------------------


def spread(mean: float, std: float | None, digits: int | None = None) -> str:
    """Mean ± standard deviation, which one seed does not have.

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
    """What is printed, "" for nothing."""
    return "" if judged is None else spread(judged.printed.mean, judged.printed.std)


def verdict_words(judged: Judged | None) -> str:
    """The verdict, and what it lacks."""
    if judged is None:
        return ""
    return f"{judged.verdict.value}: {judged.lacking}" if judged.lacking else judged.verdict.value


LONG = (
    *(
        "method",
        "k",
        "by",
        "ours",
        "− the other",
        "p",
        "seeds",
        "training rows",
        "selecting [s]",
        "fitting [s]",
    ),
    *("in print", "difference", "tolerance", "verdict", "note"),
)
"""The headings over `cells`."""
TEXT = ("method", "by", "verdict", "note")
"""Those of them that are over words."""


def cells(row: Row) -> tuple[str, ...]:
    """A row of the long table."""
    one, test = row.ours, row.test
    low, high = one.rows
    return (
        row.method,
        str(one.k),
        one.learner,
        spread(one.mean, one.std),
        f"{test.difference:+.3f}" if test else "",
        f"{test.p:.3g}" if test else "",
        str(len(one.values)),
        str(low) if low == high else f"{low} to {high}",
        *(f"{one.seconds[name]:.1f}" if name in one.seconds else "" for name in ("selecting", "fitting")),
        printed_words(row.judged),
        *_difference(row.judged),
        verdict_words(row.judged),
        "; ".join([*one.notes, *_times(row.times), *_other(row)]),
    )


def _difference(judged: Judged | None) -> tuple[str, str]:
    """From what is printed, and what it may be."""
    if judged is None or math.isnan(judged.difference):
        return "", ""
    return f"{judged.difference:+.3f}", f"{judged.tolerance:.4f}"


def _other(row: Row) -> list[str]:
    """Which setting it is compared with, where that is not its own or none."""
    if row.other is None or row.other.setting in ("", row.ours.setting):
        return []
    return [f"the other: {row.other.method}, {row.other.setting}"]


def _times(judged: Judged | None) -> list[str]:
    if judged is None:
        return []
    return [f"selecting, in print: {printed_words(judged)} s ({verdict_words(judged)})"]
