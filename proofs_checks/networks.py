"""The records of the papers' experiments, run again, and the functions by which rows of the ledger read them.

`python -m proofs_checks.networks FILE` stores the records of a run, where FILE is the run's records.jsonl.
The command takes the records at full scale, sorts them in the order of a run, and writes each as a line of
`Record.as_json` to networks_records.jsonl. It also draws the pictures of docs/networks-tables.md. Without
FILE, the command prints the tables of the stored records, which the site shows on that page. The rows of the
ledger read the records, and `sparselin ledger --write` stores their verdicts.
"""

import json
import math
import sys
from collections import defaultdict
from pathlib import Path
from statistics import fmean, stdev
from typing import NamedTuple

from proofs_checks.experiments.networks import report
from proofs_checks.experiments.networks.pieces import FULL, Record, plan_pieces
from proofs_checks.experiments.networks.printed import NAMES, OWN, TABLES, TITLES
from proofs_checks.experiments.networks.site import pages
from proofs_checks.experiments.networks.tables import place, rows
from proofs_checks.experiments.networks.verdicts import (
    LEAST_ROWS,
    LEAST_SEEDS,
    combine,
    equal,
    larger,
    not_smaller,
    read_records,
    summarize,
)
from sparselin import plots
from sparselin.ledger import Verdict, claim, mutants

FILE = Path(__file__).with_name("networks_records.jsonl")
DOCS = Path(__file__).parents[1] / "docs"
# the data sets of the papers that are here; Activity is one to bring, see `data.table`
HERE = ("mice", "mnist", "fashion", "isolet", "coil20")
SA, LASSONET = NAMES["SA"], NAMES["LassoNet"]

RECORDS = read_records(FILE)
OURS = {row.address: row for row in summarize(RECORDS)}
CLOCKS = {row.address: row for row in summarize(RECORDS, times=True)}
BY_PIECE = defaultdict(list)
for _record in RECORDS:
    _piece = _record.piece
    BY_PIECE[_piece.study, _piece.data, _piece.method, _piece.k, _piece.setting].append(_record)


def by_hand(address):
    """Return the mean and standard error of the scores or seconds at an address, computed in plain Python."""
    *piece, learner = address
    values = [row.scores.get(learner, row.seconds.get(learner)) for row in BY_PIECE[tuple(piece)]]
    return mean_and_error([value for value in values if value is not None])


def mean_and_error(values):
    """Return the mean of some values and its standard error, which is NaN for a single value."""
    return fmean(values), stdev(values) / math.sqrt(len(values)) if len(values) > 1 else math.nan


def by_rule(rule, difference, error):
    """Return the verdict of the rule `equal`, `larger` or `not_smaller`, computed again in units of standard
    errors."""
    z = difference / error if error else math.copysign(math.inf, difference) if difference else 0.0
    if (abs(z) if rule is equal else -z) > 3:
        return Verdict.NOT_REPRODUCED
    clear = z > 2 if rule is larger else z >= 2 if rule is not_smaller else False
    near = False if rule is larger else (z >= -2 if rule is not_smaller else abs(z) <= 2) and error <= 0.015
    return Verdict.REPRODUCED if clear or near else Verdict.UNDECIDED


def close(a, b):
    """Return whether a and b are equal up to the rounding of sums of a few numbers of size 1 or a."""
    return abs(a - b) <= 1e-12 * max(abs(a), abs(b), 1)


def command(study, data):
    """Return the command that makes the records of a study on a data set."""
    run = f"python -m proofs_checks.experiments.networks --full --study {study} --data {data}"
    return f"{run}; python -m proofs_checks.networks FILE"


# --- printed figures -------------------------------------------------------------------------------------


def figures(table, data, keep=lambda method: True):
    """Return the printed figures of a table for a data set and for the methods that `keep` accepts."""
    return [printed for printed in TABLES[table](data) if keep(printed.method)]


def describe(judged):
    """Return a sentence that describes the verdict on a figure."""
    printed, ours = judged.printed, judged.ours
    name = ", ".join(filter(None, (printed.method, printed.setting)))
    if judged.lacking:
        rows = " --rows 60000" if "training rows" in judged.lacking else ""
        return f"{name}: {judged.lacking}; {command(printed.study, printed.data + rows)}"
    rows = " to ".join(map(str, dict.fromkeys(ours.rows)))
    tolerance = "at most" if printed.within or printed.learner == "selecting" else "2 SE"
    return (
        f"{name}: {ours} ({len(ours.values)} seeds, {rows} training rows) where {printed.mean:g} is printed; "
        f"difference {judged.difference:+.3f}, {tolerance} {judged.tolerance:.4f}: {judged.verdict.value}"
    )


# --- sentences -------------------------------------------------------------------------------------------


def figure(address):
    """Return the mean and standard error of the records of (study, data, method, k, setting, learner)."""
    return OURS[address].mean, OURS[address].error


def attention(study, data, setting="", k=50, method=SA):
    """Return the address of a network's accuracy."""
    return study, data, method, k, setting, "network"


def on_like_rows(data):
    """Return the address of Sequential Attention in the study "paper" with as many rows as the other methods.

    On images, the released method is trained on all rows, so the address is that of the run with our
    defaults.
    """
    return attention("paper", data, OWN if data in ("mnist", "fashion") else "")


def minus(first, second, share=1.0):
    """Return first − share·second, where both are (mean, standard error), and the standard error of the
    difference."""
    return first[0] - share * second[0], math.hypot(first[1], share * second[1])


class Comparison(NamedTuple):
    """A comparison that a sentence makes.

    `rule` is one of the rules in `verdicts`, `difference` returns the difference and its standard error, and
    `words` describes the difference.
    """

    rule: object
    addresses: tuple
    difference: object
    words: str

    @property
    def verdict(self):
        """The verdict of the rule on the difference."""
        return self.rule(*self.difference())


def compared(rule, first, second, of=figure):
    """Return the comparison of two addresses by the figure `of`."""
    words = f"{_name(first)} less {_name(second)}"
    return Comparison(rule, (first, second), lambda: minus(of(first), of(second)), words)


class Case(NamedTuple):
    """A sentence on one data set, with all the comparisons that the sentence makes."""

    data: str
    comparisons: tuple

    @property
    def addresses(self):
        """The addresses that are compared, each of them once."""
        return tuple(
            dict.fromkeys(address for comparison in self.comparisons for address in comparison.addresses)
        )

    @property
    def lacking(self):
        """The reason why the records cannot be compared, for example a missing record; "" if they can be."""
        missing = [address for address in self.addresses if address not in OURS]
        if missing:
            return f"no record of {missing[0][2]}, k = {missing[0][3]}: {command(*missing[0][:2])}"
        found = [OURS[address] for address in self.addresses]
        if min(len(row.values) for row in found) < LEAST_SEEDS:
            return f"a single seed; {command(*self.addresses[0][:2])}"
        sizes = [size for row in found for size in row.rows]
        return "unlike numbers of training rows" if min(sizes) < LEAST_ROWS * max(sizes) else ""

    @property
    def verdict(self):
        """The verdict of all comparisons together, or NEEDS_DATA if records are missing."""
        return (
            Verdict.NEEDS_DATA
            if self.lacking
            else combine(comparison.verdict for comparison in self.comparisons)
        )


def concluded(cases):
    """Return the verdict of a sentence that makes its statement about each case."""
    return combine(case.verdict for case in cases)


def most(cases):
    """Return the verdict of a sentence that makes its statement about more than half of the cases.

    The verdict is NOT_REPRODUCED if the statement fails in at least half of the cases. Undecided cases count
    for neither side.
    """
    found = [case.verdict for case in cases]
    if 2 * found.count(Verdict.REPRODUCED) > len(found):
        return Verdict.REPRODUCED
    if 2 * found.count(Verdict.NOT_REPRODUCED) >= len(found):
        return Verdict.NOT_REPRODUCED
    return Verdict.NEEDS_DATA if Verdict.NEEDS_DATA in found else Verdict.UNDECIDED


def settle(check, cases, figure, verdict=concluded):
    """Check `figure`, which maps an address to (mean, standard error), and the verdicts, and report them."""
    for case in cases:
        if case.lacking:
            check.measured(f"{TITLES[case.data]}: {case.lacking}")
            continue
        check.over(case.addresses, lambda address: all(map(close, figure(address), by_hand(address))))
        check.over(
            case.comparisons,
            lambda comparison: comparison.verdict is by_rule(comparison.rule, *comparison.difference()),
        )
        words = ", ".join(f"{_name(address)}: {OURS[address]}" for address in case.addresses)
        check.measured("; ".join([f"{TITLES[case.data]}: {case.verdict.value}", words, *_doubts(case)]))
    number = sum(len(case.comparisons) for case in cases)
    check.measured(f"{number} comparison{'s' * (number > 1)}")
    check.concludes(verdict(cases))


def sentence(id, number, cases, *helpers, verdict=concluded):
    """Mark a function as the check of a sentence. The verdict follows from the cases of the sentence, and the
    mutants are `figure` and `helpers`.
    """
    as_claim = claim(id, number, "float", verdict(cases))
    return lambda check: as_claim(mutants("figure", *helpers)(check))


def _doubts(case):
    """Yield a description of each comparison that is not reproduced."""
    for comparison in case.comparisons:
        if comparison.verdict is not Verdict.REPRODUCED:
            difference, error = comparison.difference()
            yield f"{comparison.words}: {difference:+.4f}, SE {error:.4f}, {comparison.verdict.value}"


def _name(address):
    _, _, method, k, setting, learner = address
    return " ".join(filter(None, (method, setting, f"k = {k}", learner if learner != "network" else "")))


# --- the command -----------------------------------------------------------------------------------------


def full(lines):
    """Return one record for each piece, a selection or a training: the record with the most training rows.
    Only runs at full scale, or with more rows than full scale, count. The records are sorted by the keys of
    their pieces.

    If several records have the most rows, the last one is taken. Failed runs, and runs with only a share of
    the epochs, are left out.
    """
    found = {}
    for line in lines:
        made = json.loads(line)
        scale = made["scale"]
        if "record" in made and scale["epochs"] == FULL.epochs and (scale["rows"] or math.inf) >= FULL.rows:
            record = Record.from_json(made["record"])
            before = found.get(record.piece.key)
            if before is None or record.rows >= before.rows:
                found[record.piece.key] = record
    return [found[key] for key in sorted(found)]


def in_order(records):
    """Sort records in the order of a complete run, with methods in the order of METHODS.

    Records that belong to no study come last, sorted by key.
    """
    from proofs_checks.experiments.networks.studies import STUDIES  # with PyTorch, as the run that made them

    sets = {name for study in STUDIES.values() for name in study.data}
    place = {piece.key: i for i, piece in enumerate(plan_pieces(STUDIES.values(), sets, FULL))}
    return sorted(records, key=lambda record: (place.get(record.piece.key, len(place)), record.piece.key))


PICTURES = {
    ("honest", "k-network"): "networks-k.png",
    ("honest", "lead-network"): "networks-lead.png",
    ("honest", "seconds"): "networks-seconds.png",
    ("adaptivity", "pixels-coil20"): "networks-pixels.png",
}
"""A study and a figure of its page ↦ the file that docs/networks-tables.md shows."""


def draw(records):
    """Draw the pictures of PICTURES for which there are records."""
    for study in {study for study, _ in PICTURES}:
        mine = sorted((record for record in records if record.piece.study == study), key=place)
        for name, _, drawn in report.figures(study, rows(mine, ()), mine):
            if (study, name) in PICTURES:
                drawn.savefig(DOCS / PICTURES[study, name], dpi=80)
            plots.close(drawn)


def main(run=None):
    """Store the records of a run and draw their pictures, or print the tables of the stored records."""
    if run is None:
        sys.stdout.write("\n".join(pages(read_records(FILE)).values()))
        return
    records = in_order(full(Path(run).read_text(encoding="utf-8").splitlines()))
    if not records:
        raise SystemExit(f"{run} has no record of a run at full scale: run `make networks ARGS=--full`")
    lines = [json.dumps(record.as_json(), ensure_ascii=False, separators=(",", ":")) for record in records]
    FILE.write_text("\n".join(lines) + "\n", encoding="utf-8")
    draw(records)
    sys.stdout.write(f"{len(records)} records in {FILE.name}; the docs build makes their tables.\n")


if __name__ == "__main__":
    main(*sys.argv[1:2])
