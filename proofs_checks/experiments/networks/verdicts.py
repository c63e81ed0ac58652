"""Means over seeds, a paired test of two methods, and the rule that judges what a paper prints.

The rule was stated on 2026-11-24, before any verdict was computed with it. An older rule allowed a difference
of 2·√(s² + s'²). It compared means as if they were single runs, and it called a figure reproduced whenever
our own runs varied much.

**A printed figure.** The paper prints a mean M of m runs with standard deviation s, rounded to the unit δ =
.001. We have a mean M' of m' runs with standard deviation s'. The error of rounding is uniform on ±δ/2 and
has the variance δ²/12. So

    Var(M' − M) = SE² = s²/m + s'²/m' + δ²/12,   δ = .001.

The figure is

    reproduced       if |M' − M| ≤ 2 SE and 2 SE ≤ .03,
    not reproduced   if |M' − M| > 3 SE,
    undecided        otherwise: the means are not close enough, or not known well enough.

m is the number of runs that the paper states. This number is five in Sequential Attention's Tables 2 and 5.
(Our runs of the baselines' released code are compared with the figures of the same tables.) If no number is
stated (Sequential Attention's Tables 9 and 10), m = 1, which makes SE too large rather than too small. If no
s is printed (Sequential Attention's Table 3, LassoNet's Tables 1 and 2), the figure is treated as one run,
and s is the standard error √(M(1 − M)/n_test) of a share of n_test rows. If a figure has a tolerance of its
own, `Printed.within`, it is reproduced within this tolerance and not reproduced beyond it.

**A sentence** of a paper makes a claim on the difference D of two means, or on another linear combination
Σc_i·M_i of means. Its standard error is given by SE² = Σc_i²·s_i²/m_i. The factors 2 and 3 are the same as
for a figure:

    larger        D > 0: reproduced if D > 2 SE, not reproduced if D < −3 SE;
    not smaller   D ≥ 0 up to noise: reproduced if D ≥ −2 SE and 2 SE ≤ .03, or if D ≥ 2 SE,
                  not reproduced if D < −3 SE;
    equal         as for a printed figure.

Otherwise the sentence is undecided. A verdict for the paper depends on 2 SE, and a verdict against the paper
on 3 SE. The reason is that some statements of the ledger have several figures: the statement is reproduced
only if all figures are, and not reproduced as soon as one figure is not (`combine`). With every further
comparison, chance makes "reproduced" less likely and "not reproduced" more likely. A claim that several means
are in some order has a comparison for each mean and the next one. A claim that a ratio lies between two
numbers has a comparison for each of the two numbers. If a sentence uses a figure of another table, this
figure keeps the s and m of its own table. A statistic that is not a mean over seeds, for example the overlap
of the selections of two seeds, has the standard error of the jackknife, which for a mean is s/√m.

The two means of a sentence are not paired by seed, although all methods have the same split for a seed. With
three or five seeds, only two or four degrees of freedom would remain. Moreover, if three differences are
equal, which is frequent in counts of a few hundred test rows, the standard error would be zero. Scores on the
same split tend to rise and fall together; then SE is too large, and more is undecided. The function
`compare_pairs` is an exact test for paired scores.

**How often does chance lead to "not reproduced"?** If two means of normal runs are equal in truth, |D| > 3 SE
has the probability 1.7 % for five runs each with equal spread. For five and three runs the probability is 3.0
%, for three and three runs 4.0 %, and it is at most 9.5 %, if all spread is in three runs (Welch's t with 8
to 2 degrees of freedom, simulated). So a statement with five independent comparisons has at least one failure
by chance in 8 to 18 % of the cases. With seven comparisons it is 11 to 25 %, with 16 comparisons 24 to 48 %,
and with 24 comparisons 34 to 62 %. A one-sided claim fails half as often. Therefore each statement in the
ledger gives the number of its comparisons.

**SE does not include:** (1) The choice of test rows that all runs share, which affects neither s nor s'. In
Sequential Attention's tables of MNIST, Fashion-MNIST and ISOLET the printed runs and ours have the same test
rows, so their choice cancels in the difference. On other data sets each of our seeds draws new test rows. If
the printed runs all had the same test rows, SE is too small. (2) The choice between n and n − 1 in the
printed s; with n, the SE of the printed mean would be 11 % too small for five runs. Moreover, all means and
standard deviations of the times in Sequential Attention's Table 6 are multiples of .5, which looks like two
runs, not five. If Table 5 has two runs as well, its SE is too small by a factor of up to 2.2. (Neither would
change the verdict on a statement; this was found after the verdicts.) (3) Differences of protocol: "not
reproduced" says that two means differ by more than chance. It does not say that the difference is large, or
who is right.

**Seconds** were measured on different machines, and no standard deviation includes the difference of
machines. So a method's time is divided by the time of Sequential Attention on the same rows with the same
number of epochs, in print and in our runs. The time is reproduced if these two ratios differ by at most a
factor of `FACTOR`, and otherwise not reproduced.
"""

import dataclasses
import json
import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np

from proofs_checks.experiments.networks.pieces import Record
from proofs_checks.experiments.networks.printed import Printed
from sparselin.ledger import Verdict

NEAR = 2.0
"""The number of standard errors within which a figure is reproduced, and beyond which a mean is the larger
one."""
FAR = 3.0
"""The number of standard errors beyond which a figure or a sentence is not reproduced."""
PRECISE = 0.03
"""The largest value of `NEAR` standard errors at which two means may be called equal."""
UNIT = 0.001
"""The unit of the last printed digit of an accuracy."""
FACTOR = 2.0
"""The factor by which two ratios of times may differ."""
LEAST_SEEDS = 2
"""The smallest number of seeds, because one seed has no standard deviation."""
LEAST_ROWS = 0.7
"""The smallest quotient of the training rows of two experiments that are compared."""
MOST_SEEDS = 20


@dataclasses.dataclass(frozen=True)
class Summary:
    """A summary, over seeds, of the scores of one method in one setting on one data set.

    Attributes
    ----------
    study, data, method, k, setting : the fields that its selections or trainings have in common, as in
        `pieces.Piece`.
    learner : the key of the scores that are summarized.
    values : seed ↦ score.
    seconds : "selecting" and "fitting" ↦ the mean of the seconds over seeds.
    rows : the smallest and the largest number of training rows. They differ if the split keeps groups of rows
        together.
    notes : the notes of the records, each once.
    """

    study: str
    data: str
    method: str
    k: int
    setting: str
    learner: str
    values: Mapping[int, float]
    seconds: Mapping[str, float]
    rows: tuple[int, int]
    notes: tuple[str, ...] = ()

    @property
    def address(self) -> tuple[str, str, str, int, str, str]:
        """The tuple (study, data, method, k, setting, learner), which identifies the summary."""
        return self.study, self.data, self.method, self.k, self.setting, self.learner

    @property
    def mean(self) -> float:
        """The mean of the scores over seeds."""
        return math.fsum(self.values.values()) / len(self.values)

    @property
    def std(self) -> float:
        """The standard deviation √(Σ(x − x̄)²/(n − 1)) of the scores x over n seeds; NaN for one seed."""
        if len(self.values) < 2:
            return math.nan
        mean = self.mean
        return math.sqrt(math.fsum((x - mean) ** 2 for x in self.values.values()) / (len(self.values) - 1))

    @property
    def error(self) -> float:
        """The standard error of the mean score: the standard deviation divided by √n for n seeds; NaN for one
        seed.
        """
        return self.std / math.sqrt(len(self.values))

    def __str__(self) -> str:
        return f"{self.mean:.3f} ± {self.std:.3f}" if len(self.values) > 1 else f"{self.mean:.3f}"


def summarize(records: Iterable[Record], *, times: bool = False) -> tuple[Summary, ...]:
    """Return a summary over seeds for each study, data set, method, k, setting and kind of score.

    With `times` the seconds of the records are summarized in place of the scores. Raises ValueError if two
    records are of the same selection or training, or if a score is not finite.

    >>> from proofs_checks.experiments.networks.pieces import Piece
    >>> piece = [Piece("paper", "mice", "random", 50, seed) for seed in (1, 2)]
    >>> a, b = (Record(p, {"network": x}, (), {"fitting": 1.0}, 756) for p, x in zip(piece, (0.9, 0.95)))
    >>> print(*summarize([a, b]))
    0.925 ± 0.035
    """
    found: dict[tuple[str, str, str, int, str], list[Record]] = defaultdict(list)
    keys: set[str] = set()
    for record in records:
        piece = record.piece
        if piece.key in keys:
            raise ValueError(
                f"records must have different pieces; {piece.key} is there twice: remove one of them"
            )
        keys.add(piece.key)
        found[piece.study, piece.data, piece.method, piece.k, piece.setting].append(record)
    return tuple(made for address, group in found.items() for made in _summaries(address, group, times))


def _summaries(
    address: tuple[str, str, str, int, str], records: list[Record], times: bool
) -> Iterable[Summary]:
    """Yield a summary for each kind of score in some records that differ only in their seed."""
    measured = [(record, record.seconds if times else record.scores) for record in records]
    for learner in dict.fromkeys(name for _, values in measured for name in values):
        own = [record for record, scores in measured if learner in scores]
        values = {
            record.piece.seed: float(scores[learner]) for record, scores in measured if learner in scores
        }
        for record in own:
            if not math.isfinite(values[record.piece.seed]):
                raise ValueError(
                    f"scores must be finite; {learner} of {record.piece.key} is not: run it again"
                )
        names = dict.fromkeys(name for record in own for name in record.seconds)
        seconds = {
            name: math.fsum(record.seconds.get(name, 0.0) for record in own) / len(own) for name in names
        }
        sizes = [record.rows for record in own]
        notes = tuple(dict.fromkeys(record.note for record in own if record.note))
        yield Summary(
            *address,
            learner=learner,
            values=values,
            seconds=seconds,
            rows=(min(sizes), max(sizes)),
            notes=notes,
        )


class Paired(NamedTuple):
    """The paired comparison of the scores of two methods over their common seeds.

    Attributes
    ----------
    n : the number of common seeds.
    difference : the mean over these seeds of the first method's score minus the second's.
    p : the p-value of the two-sided test, see `compare_pairs`.
    """

    n: int
    difference: float
    p: float


def compare_pairs(first: Summary, second: Summary) -> Paired:
    """Test whether two methods have equal scores, by an exact test on the differences for each seed.

    The hypothesis is that the differences are symmetric about 0 (Fisher 1935; Pitman 1937). Let δ_i be the
    differences for n seeds. Then p is the share of the 2ⁿ choices of signs for which |Σ ±δ_i| ≥ |Σ δ_i|.
    These include the original signs and the opposite signs, so p ≥ 2/2ⁿ: 0.25 for three seeds, 0.0625 for
    five. With fewer than six seeds no difference, however large, is significant at 5 %. Seeds with δ_i = 0 do
    not change p; if all are 0, p = 1.

    Raises ValueError if there is no common seed, or if there are more than 20.

    >>> a, b = (Summary("s", "d", m, 5, "", "network", dict(enumerate(x)), {}, (9, 9)) for m, x in
    ...         (("A", [0.9, 0.8, 0.9]), ("B", [0.7, 0.7, 0.8])))
    >>> compare_pairs(a, b).p
    0.25
    """
    seeds = sorted(set(first.values) & set(second.values))
    if not 0 < len(seeds) <= MOST_SEEDS:
        raise ValueError(
            f"first and second must have 1 to {MOST_SEEDS} seeds in common; got {len(seeds)}: "
            f"{first.method}, {sorted(first.values)}; {second.method}, {sorted(second.values)}"
        )
    a, b = (np.array([method.values[seed] for seed in seeds]) for method in (first, second))
    delta = a - b
    sums = np.zeros(1)
    for change in delta:
        sums = np.concatenate([sums + change, sums - change])
    # scores are rounded, and so are their differences, and sums are rounded n times: two sums that are equal
    # in exact arithmetic differ by less than 2(n + 2)·eps·Σ(|a_i| + |b_i|)
    slack = 2 * (len(seeds) + 2) * np.finfo(np.float64).eps * (np.abs(a) + np.abs(b)).sum()
    share = float(np.mean(np.abs(sums) >= abs(delta.sum()) - slack))
    return Paired(len(seeds), float(delta.mean()), share)


class Judged(NamedTuple):
    """A printed figure, our figure, and the verdict on whether the printed figure is reproduced.

    Attributes
    ----------
    printed, ours : the figures that are compared; `ours` is None if we have no record.
    verdict : one of `sparselin.ledger.EXPERIMENTAL`.
    difference : our mean minus the printed mean; NaN if data are missing. A time is first divided by that of
        Sequential Attention; the difference is then log₂ of our ratio divided by the printed ratio.
    tolerance : the largest |difference| for which the figure is reproduced. This is 2 SE with the standard
        error SE of the difference, or the figure's own tolerance, or log₂ of `FACTOR` for a time.
    lacking : the missing data if the verdict is NEEDS_DATA, otherwise "".
    """

    printed: Printed
    ours: Summary | None
    verdict: Verdict
    difference: float
    tolerance: float
    lacking: str = ""


def equal(difference: float, error: float) -> Verdict:
    """Judge the claim that two means are equal, by the difference and its standard error.

    >>> [equal(difference, 0.01).value for difference in (0.02, -0.025, 0.031)]
    ['reproduced', 'undecided', 'not reproduced']
    >>> equal(0.02, 0.016).value
    'undecided'
    """
    if abs(difference) > FAR * error:
        return Verdict.NOT_REPRODUCED
    near = abs(difference) <= NEAR * error <= PRECISE
    return Verdict.REPRODUCED if near else Verdict.UNDECIDED


def larger(difference: float, error: float) -> Verdict:
    """Judge the claim that the first of two means is larger, by the difference first − second and its
    standard error.

    >>> [larger(difference, 0.01).value for difference in (0.021, 0.02, -0.031)]
    ['reproduced', 'undecided', 'not reproduced']
    """
    if difference < -FAR * error:
        return Verdict.NOT_REPRODUCED
    return Verdict.REPRODUCED if difference > NEAR * error else Verdict.UNDECIDED


def not_smaller(difference: float, error: float) -> Verdict:
    """Judge the claim that the first of two means is not smaller than the second, up to noise.

    difference, error : the first mean minus the second, and the standard error of this difference.

    >>> [not_smaller(difference, 0.01).value for difference in (-0.02, -0.021, -0.031)]
    ['reproduced', 'undecided', 'not reproduced']
    >>> [not_smaller(difference, 0.02).value for difference in (0.04, 0.03)]
    ['reproduced', 'undecided']
    """
    if difference < -FAR * error:
        return Verdict.NOT_REPRODUCED
    near = difference >= -NEAR * error and NEAR * error <= PRECISE
    return Verdict.REPRODUCED if near or difference >= NEAR * error else Verdict.UNDECIDED


def error_in_print(printed: Printed) -> float:
    """Return the standard error √(s²/m + δ²/12) of a printed mean M of m runs.

    Here s is the printed standard deviation and δ = .001 the unit to which M is rounded. If s is not printed,
    it is √(M(1 − M)/n_test) with the number n_test of test rows.

    >>> figure = Printed("t", "paper", "mice", "SA", 50, "", "network", 0.9, None, 756, 900)
    >>> round(error_in_print(figure), 4)
    0.01
    """
    mean, std = printed.mean, printed.std
    variance = mean * (1 - mean) / printed.n_test if std is None else std**2
    return math.sqrt(variance / printed.runs + UNIT**2 / 12)


def verdict(printed: Printed, ours: Summary | None) -> Judged:
    """Judge whether our runs reproduce a printed accuracy, by the rule in the docstring of the module.

    The verdict is NEEDS_DATA if we have no record or fewer than `LEAST_SEEDS` seeds (unless the figure has
    its own tolerance). It is also NEEDS_DATA if the numbers of training rows, ours and the paper's, differ by
    more than `LEAST_ROWS` allows: a lower accuracy on half of the rows would not speak against the paper.
    Raises ValueError if our mean is not in [0, 1].
    """
    lacking = _lacking(printed, ours)
    if ours is None or lacking:
        return Judged(
            printed=printed,
            ours=ours,
            verdict=Verdict.NEEDS_DATA,
            difference=math.nan,
            tolerance=math.nan,
            lacking=lacking,
        )
    if not 0 <= ours.mean <= 1:
        raise ValueError(
            f"ours must be a share in [0, 1]; got {ours.mean} for {'|'.join(map(str, ours.address))}"
        )
    difference = ours.mean - printed.mean
    if printed.within is not None:
        return Judged(
            printed=printed,
            ours=ours,
            verdict=_within(difference, printed.within),
            difference=difference,
            tolerance=printed.within,
        )
    error = math.hypot(error_in_print(printed), ours.error)
    return Judged(
        printed=printed,
        ours=ours,
        verdict=equal(difference, error),
        difference=difference,
        tolerance=NEAR * error,
    )


def verdict_of_times(printed: tuple[Printed, Printed], ours: tuple[Summary | None, Summary | None]) -> Judged:
    """Judge whether our runs reproduce the time of a method divided by the time of Sequential Attention.

    Both arguments are pairs: the method, and Sequential Attention.
    """
    lacking = next(filter(None, map(_lacking, printed, ours)), "")
    first, second = ours
    if first is None or second is None or lacking:
        return Judged(
            printed=printed[0],
            ours=first,
            verdict=Verdict.NEEDS_DATA,
            difference=math.nan,
            tolerance=math.nan,
            lacking=lacking,
        )
    ratio, expected = first.mean / second.mean, printed[0].mean / printed[1].mean
    difference, tolerance = math.log2(ratio / expected), math.log2(FACTOR)
    return Judged(
        printed=printed[0],
        ours=first,
        verdict=_within(difference, tolerance),
        difference=difference,
        tolerance=tolerance,
    )


def _within(difference: float, tolerance: float) -> Verdict:
    return Verdict.REPRODUCED if abs(difference) <= tolerance else Verdict.NOT_REPRODUCED


def _lacking(printed: Printed, ours: Summary | None) -> str:
    """Return the data that our runs lack for the comparison with a printed figure, or "" if they lack
    nothing.
    """
    if ours is None:
        return "no record"
    if len(ours.values) < LEAST_SEEDS and printed.within is None:
        return f"{len(ours.values)} seed"
    if ours.rows[0] < LEAST_ROWS * printed.n_train:
        return f"{ours.rows[0]} of {printed.n_train} training rows"
    if printed.n_train < LEAST_ROWS * ours.rows[1]:
        return f"{ours.rows[1]} training rows, {printed.n_train} in print"
    return ""


def combine(verdicts: Iterable[Verdict]) -> Verdict:
    """Return one verdict for several figures together.

    The combined verdict is the first of NOT_REPRODUCED, NEEDS_DATA, UNDECIDED, REPRODUCED that at least one
    of the figures has. Raises ValueError without verdicts.

    >>> combine([Verdict.REPRODUCED, Verdict.UNDECIDED, Verdict.NEEDS_DATA]).value
    'needs data'
    """
    found = set(verdicts)
    for worst in (Verdict.NOT_REPRODUCED, Verdict.NEEDS_DATA, Verdict.UNDECIDED, Verdict.REPRODUCED):
        if worst in found:
            return worst
    raise ValueError("verdicts must have at least one verdict of an experiment; got none")


def read_records(path: Path) -> tuple[Record, ...]:
    """Read the stored records from a file with one JSON object a line; without a file return ().

    Raises ValueError, with the number of the line, if a line is not a record.
    """
    if not path.exists():
        return ()
    found = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        try:
            found.append(Record.from_json(json.loads(line)))
        except (ValueError, KeyError, TypeError) as error:
            words = f"{type(error).__name__}: {error}"
            raise ValueError(
                f"{path}, line {number}, must be a record; got {line[:60]!r} ({words})"
            ) from None
    return tuple(found)
