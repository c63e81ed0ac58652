"""Means over seeds, a paired test of two methods, and the rule by which a printed statement is judged.

The rule was stated on 2026-11-24, before any verdict was computed by it. An older one, 2·√(s² + s'²), had
compared means as if they were single runs, and called a figure reproduced because our own runs varied much.

**A printed figure.** Print has a mean M of m runs with standard deviation s, rounded to the unit δ; we have
the mean M' of m' runs with s'. The error of rounding is uniform on ±δ/2 and has the variance δ²/12, so that

    Var(M' − M) = SE² = s²/m + s'²/m' + δ²/12,   δ = .001.

The figure is

    reproduced       if |M' − M| ≤ 2 SE and 2 SE ≤ .03,
    not reproduced   if |M' − M| > 3 SE,
    undecided        otherwise: the means are neither close enough nor known well enough.

m is the number of runs that the paper states: five in Sequential Attention's Tables 2 and 5, whose baselines
as released are compared with the same figures. Where no number is stated (its Tables 9 and 10) m = 1, which
makes SE too large rather than too small. Where no s is printed (its Table 3, LassoNet's Tables 1 and 2) the
figure is taken as one run, and s is the standard error √(M(1 − M)/n_test) of a share of n_test rows. Where a
figure has a tolerance of its own, `Printed.within`, it is reproduced within that tolerance and not reproduced
beyond it.

**A sentence** claims something of a difference D of two means, or of another linear combination Σc_i·M_i,
with SE² = Σc_i²·s_i²/m_i. With the same two constants:

    larger        D > 0: reproduced if D > 2 SE, not reproduced if D < −3 SE;
    not smaller   D ≥ 0 up to noise: reproduced if D ≥ −2 SE and 2 SE ≤ .03, or if D ≥ 2 SE,
                  not reproduced if D < −3 SE;
    equal         as a printed figure.

All else is undecided. 2 SE speak for the paper and 3 SE are asked against it because a row of several figures
is reproduced only if all of them are, and not reproduced as soon as one is not (`together`): chance alone
makes the first rarer and the second more likely with every comparison. An order of several means is one
comparison of each mean with the next; that a ratio lies between two numbers is one comparison at each end. A
figure of another table that a sentence names has the s and m that it has as a figure. A statistic that is not
a mean over seeds, as the overlap of what two seeds select, has the standard error of the jackknife, which of
a mean is s/√m.

The two means of a sentence are not paired by seed, though the methods share the split of a seed. Two or four
degrees of freedom would be left of three or five seeds, and three equal differences, which counts of a few
hundred test rows often have, would make the standard error zero. Scores on the same split rise and fall
together if anything; then SE is too large, and more is undecided. `paired` is the exact test of pairs.

**How often chance makes a "not reproduced".** If two means of normal runs are equal, |D| > 3 SE has the
probability 1.7 % for five runs each with equal spread, 3.0 % for five and three, 4.0 % for three and three,
and 9.5 % at most, where all spread is in three runs (Welch's t with 8 to 2 degrees of freedom, simulated). So
of five independent comparisons at least one fails by chance in 8 to 18 % of all rows, of seven in 11 to 25 %,
of 16 in 24 to 48 %, of 24 in 34 to 62 %; a one-sided claim fails half as often. Each row says how many
comparisons it makes, because of this.

**What SE leaves out.** (1) Test rows that all runs share are in neither s. In Sequential Attention's tables
of MNIST, Fashion-MNIST and ISOLET these are the same rows in print and here, and cancel in the difference.
Elsewhere our seeds draw new ones; if the printed runs did not, SE is too small. (2) Whether print divides by
n or n − 1; the first would make its SE 11 % too small with five runs. The times of Table 6, all of whose
means and deviations are multiples of .5, look like two runs, not five; if Table 5 has two as well, its SE is
too small by a factor of up to 2.2. (Neither would change the verdict of a row; this was seen after the
verdicts.) (3) Differences of protocol: "not reproduced" says that two means differ by more than chance, not
that the difference is large, nor whose it is.

**Seconds** are of another machine, and how much two machines differ is in no standard deviation. So a
method's time is divided by Sequential Attention's on the same rows and epochs, and is reproduced if the two
ratios differ by a factor of `FACTOR` at most, else not reproduced.
"""

from __future__ import annotations

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
"""The standard errors within which a figure is reproduced, and beyond which a mean is the larger one."""
FAR = 3.0
"""The standard errors beyond which a figure or a sentence is not reproduced."""
PRECISE = 0.03
"""The largest `NEAR` standard errors of two means that are called equal."""
UNIT = 0.001
"""The last printed digit of an accuracy."""
FACTOR = 2.0
"""How many times as large a ratio of times may be."""
LEAST_SEEDS = 2
"""Of one seed no standard deviation is known."""
LEAST_ROWS = 0.7
"""The quotient of the training rows of two experiments below which they are not compared."""
MOST_SEEDS = 20


@dataclasses.dataclass(frozen=True)
class Summary:
    """The records of one method in one setting, over seeds.

    Attributes
    ----------
    study, data, method, k, setting : of all its pieces.
    learner : the key of the scores that are summarised.
    values : seed ↦ score.
    seconds : "selecting" and "fitting" ↦ the mean over seeds.
    rows : the least and the most training rows; a split by groups varies them.
    notes : what the records say to their reader, each once.
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
        """Study, data, method, k, setting, learner."""
        return self.study, self.data, self.method, self.k, self.setting, self.learner

    @property
    def mean(self) -> float:
        """The mean over seeds."""
        return math.fsum(self.values.values()) / len(self.values)

    @property
    def std(self) -> float:
        """√(Σ(x − x̄)²/(n − 1)); NaN for one seed."""
        if len(self.values) < 2:
            return math.nan
        mean = self.mean
        return math.sqrt(math.fsum((x - mean) ** 2 for x in self.values.values()) / (len(self.values) - 1))

    @property
    def error(self) -> float:
        """The standard error of the mean, std/√n; NaN for one seed."""
        return self.std / math.sqrt(len(self.values))

    def __str__(self) -> str:
        return f"{self.mean:.3f} ± {self.std:.3f}" if len(self.values) > 1 else f"{self.mean:.3f}"


def summary(records: Iterable[Record], *, times: bool = False) -> tuple[Summary, ...]:
    """Return a summary for each study, data set, method, k, setting and learner, in their order.

    With `times` the keys of `Record.seconds` are the learners, and seconds the values. Raises ValueError for
    two records of one piece, and for a score that is not finite.

    >>> from proofs_checks.experiments.networks.pieces import Piece
    >>> piece = [Piece("paper", "mice", "random", 50, seed) for seed in (1, 2)]
    >>> a, b = (Record(p, {"network": x}, (), {"fitting": 1.0}, 756) for p, x in zip(piece, (0.9, 0.95)))
    >>> print(*summary([a, b]))
    0.925 ± 0.035
    """
    found: dict[tuple[str, str, str, int, str], list[Record]] = defaultdict(list)
    keys: set[str] = set()
    for record in records:
        piece = record.piece
        if piece.key in keys:
            raise ValueError(
                f"records must be of different pieces; {piece.key} is there twice: keep one of them"
            )
        keys.add(piece.key)
        found[piece.study, piece.data, piece.method, piece.k, piece.setting].append(record)
    return tuple(one for address, those in found.items() for one in _summaries(address, those, times))


def _summaries(
    address: tuple[str, str, str, int, str], records: list[Record], times: bool
) -> Iterable[Summary]:
    """Yield a summary for each learner of these records."""
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
        yield Summary(*address, learner, values, seconds, (min(sizes), max(sizes)), notes)


class Paired(NamedTuple):
    """The difference of two methods over the seeds that both have.

    Attributes
    ----------
    n : how many seeds.
    difference : the mean of first − second.
    p : of the two-sided test, see `paired`.
    """

    n: int
    difference: float
    p: float


def paired(first: Summary, second: Summary) -> Paired:
    """Test exactly that the differences over seeds are symmetric about 0 (Fisher 1935; Pitman 1937).

    p is the share of the 2ⁿ choices of signs for which |Σ ±δ_i| ≥ |Σ δ_i|. All signs as they are, and all
    turned, are among them, so that p ≥ 2/2ⁿ: 0.25 for three seeds, 0.0625 for five. Below six seeds no
    difference, however large, is significant at 5 %. Seeds with δ_i = 0 do not change p; if all are, p = 1.

    Raises ValueError if there is no common seed, or more than 20 of them.

    >>> a, b = (Summary("s", "d", m, 5, "", "network", dict(enumerate(x)), {}, (9, 9)) for m, x in
    ...         (("A", [0.9, 0.8, 0.9]), ("B", [0.7, 0.7, 0.8])))
    >>> paired(a, b).p
    0.25
    """
    seeds = sorted(set(first.values) & set(second.values))
    if not 0 < len(seeds) <= MOST_SEEDS:
        raise ValueError(
            f"first and second must have 1 to {MOST_SEEDS} seeds in common; got {len(seeds)}: "
            f"{first.method}, {sorted(first.values)}; {second.method}, {sorted(second.values)}"
        )
    a, b = (np.array([one.values[seed] for seed in seeds]) for one in (first, second))
    delta = a - b
    sums = np.zeros(1)
    for one in delta:
        sums = np.concatenate([sums + one, sums - one])
    # scores are rounded, their differences too, and sums of these n times: two sums that are equal in exact
    # arithmetic differ by less than 2(n + 2)·eps·Σ(|a_i| + |b_i|)
    slack = 2 * (len(seeds) + 2) * np.finfo(np.float64).eps * (np.abs(a) + np.abs(b)).sum()
    share = float(np.mean(np.abs(sums) >= abs(delta.sum()) - slack))
    return Paired(len(seeds), float(delta.mean()), share)


class Judged(NamedTuple):
    """A printed figure, ours, and the verdict.

    Attributes
    ----------
    printed, ours : what is compared; `ours` None where there is no record.
    verdict : one of `sparselin.ledger.EXPERIMENTAL`.
    difference : ours − printed; of times log₂ of the quotient of the ratios; NaN where there is none.
    tolerance : what |difference| may be at most if the figure is reproduced: 2 SE, or the figure's own, or
        log₂ of `FACTOR`.
    lacking : what NEEDS_DATA lacks; else "".
    """

    printed: Printed
    ours: Summary | None
    verdict: Verdict
    difference: float
    tolerance: float
    lacking: str = ""


def equal(difference: float, error: float) -> Verdict:
    """Judge that two means are equal, by their difference and its standard error.

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
    """Judge that the first of two means is larger, by first − second and its standard error.

    >>> [larger(difference, 0.01).value for difference in (0.021, 0.02, -0.031)]
    ['reproduced', 'undecided', 'not reproduced']
    """
    if difference < -FAR * error:
        return Verdict.NOT_REPRODUCED
    return Verdict.REPRODUCED if difference > NEAR * error else Verdict.UNDECIDED


def not_smaller(difference: float, error: float) -> Verdict:
    """Judge that the first of two means is not smaller but for noise, by first − second and its error.

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
    """Return √(s²/m + δ²/12) of a printed accuracy, with s = √(M(1 − M)/n_test) where none is printed.

    >>> figure = Printed("t", "paper", "mice", "SA", 50, "", "network", 0.9, None, 756, 900)
    >>> round(error_in_print(figure), 4)
    0.01
    """
    mean, std = printed.mean, printed.std
    variance = mean * (1 - mean) / printed.n_test if std is None else std**2
    return math.sqrt(variance / printed.runs + UNIT**2 / 12)


def verdict(printed: Printed, ours: Summary | None) -> Judged:
    """Judge whether an accuracy is reproduced, by the rule above.

    NEEDS_DATA without a record, with fewer than `LEAST_SEEDS` seeds by that rule, or where the fewer of our
    training rows and the protocol's are less than `LEAST_ROWS` times the others: on half the rows a lower
    accuracy says nothing. Raises ValueError for a mean that is no share.
    """
    lacking = _lacking(printed, ours)
    if ours is None or lacking:
        return Judged(printed, ours, Verdict.NEEDS_DATA, math.nan, math.nan, lacking)
    if not 0 <= ours.mean <= 1:
        raise ValueError(
            f"ours must be a share in [0, 1]; got {ours.mean} for {'|'.join(map(str, ours.address))}"
        )
    difference = ours.mean - printed.mean
    if printed.within is not None:
        return Judged(printed, ours, _within(difference, printed.within), difference, printed.within)
    error = math.hypot(error_in_print(printed), ours.error)
    return Judged(printed, ours, equal(difference, error), difference, NEAR * error)


def verdict_of_times(printed: tuple[Printed, Printed], ours: tuple[Summary | None, Summary | None]) -> Judged:
    """Judge a method's time, the first of a pair, in units of Sequential Attention's, the second."""
    lacking = next(filter(None, map(_lacking, printed, ours)), "")
    first, second = ours
    if first is None or second is None or lacking:
        return Judged(printed[0], first, Verdict.NEEDS_DATA, math.nan, math.nan, lacking)
    ratio, expected = first.mean / second.mean, printed[0].mean / printed[1].mean
    difference, tolerance = math.log2(ratio / expected), math.log2(FACTOR)
    return Judged(printed[0], first, _within(difference, tolerance), difference, tolerance)


def _within(difference: float, tolerance: float) -> Verdict:
    return Verdict.REPRODUCED if abs(difference) <= tolerance else Verdict.NOT_REPRODUCED


def _lacking(printed: Printed, ours: Summary | None) -> str:
    """Return what a figure lacks in our run, or ""."""
    if ours is None:
        return "no record"
    if len(ours.values) < LEAST_SEEDS and printed.within is None:
        return f"{len(ours.values)} seed"
    if ours.rows[0] < LEAST_ROWS * printed.n_train:
        return f"{ours.rows[0]} of {printed.n_train} training rows"
    if printed.n_train < LEAST_ROWS * ours.rows[1]:
        return f"{ours.rows[1]} training rows, {printed.n_train} in print"
    return ""


def together(verdicts: Iterable[Verdict]) -> Verdict:
    """Return the verdict of several figures: the first of these that one of them has.

    NOT_REPRODUCED, NEEDS_DATA, UNDECIDED, REPRODUCED. Raises ValueError for no verdict.

    >>> together([Verdict.REPRODUCED, Verdict.UNDECIDED, Verdict.NEEDS_DATA]).value
    'needs data'
    """
    found = set(verdicts)
    for one in (Verdict.NOT_REPRODUCED, Verdict.NEEDS_DATA, Verdict.UNDECIDED, Verdict.REPRODUCED):
        if one in found:
            return one
    raise ValueError("verdicts must have at least one verdict of an experiment; got none")


def stored(path: Path) -> tuple[Record, ...]:
    """Return the records of a file of lines, each as `Record.as_json` has it; () where there is no file.

    Raises ValueError that names the line which is none.
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
