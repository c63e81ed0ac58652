"""The stored records of the papers' experiments on networks, and the functions by which checks read them.

A record is the result of one selection or one training. `python -m proofs_checks.networks FILE` stores the
records of a run, where FILE is the run's records.jsonl. The command takes the records of the run at full
scale, sorts them, and writes each as a line of JSON to networks_records.jsonl. It also draws the pictures of
docs/networks-tables.md. Without FILE, the command prints the tables of the stored records, which the site
shows on that page. The checks of the ledger read the stored records, and `sparselin ledger --write` stores
their verdicts.
"""

import json
import math
import sys
from collections import defaultdict
from pathlib import Path
from statistics import fmean, stdev
from typing import NamedTuple

from proofs_checks.experiments.networks import verdicts
from proofs_checks.experiments.networks.figures import draw_study
from proofs_checks.experiments.networks.pages import site_pages
from proofs_checks.experiments.networks.pieces import FULL, Record, plan_pieces
from proofs_checks.experiments.networks.printed import NAMES, OWN, TABLES, TITLES
from proofs_checks.experiments.networks.tables import place, rows
from sparselin import plots
from sparselin.ledger import Verdict, claim, mutants

FILE = Path(__file__).with_name("networks_records.jsonl")
DOCS = Path(__file__).parents[1] / "docs"
# the data sets of the papers that are here; Activity is one to bring, see `data.table`
HERE = ("mice", "mnist", "fashion", "isolet", "coil20")
SA, LASSONET = NAMES["SA"], NAMES["LassoNet"]

RECORDS = verdicts.read_records(FILE)
OURS = {row.address: row for row in verdicts.summarize(RECORDS)}
CLOCKS = {row.address: row for row in verdicts.summarize(RECORDS, times=True)}
BY_PIECE = defaultdict(list)
for _record in RECORDS:
    _piece = _record.piece
    BY_PIECE[_piece.study, _piece.data, _piece.method, _piece.k, _piece.setting].append(_record)


def by_hand(address):
    """Return the mean and standard error over seeds of the scores or seconds of a method, in plain Python.

    `address` is (study, data, method, k, setting, learner). The checks compare the result with that of
    `figure`.
    """
    *piece, learner = address
    values = [row.scores.get(learner, row.seconds.get(learner)) for row in BY_PIECE[tuple(piece)]]
    return mean_and_error([value for value in values if value is not None])


def mean_and_error(values):
    """Return the mean of some values and its standard error; the standard error of a single value is NaN."""
    return fmean(values), stdev(values) / math.sqrt(len(values)) if len(values) > 1 else math.nan


def by_rule(rule, difference, error):
    """Return the verdict on a difference of means by one of the rules `equal`, `larger` and `not_smaller`.

    This function repeats the rules of `verdicts` in units of standard errors, so that the checks can compare
    the verdicts of two implementations.
    """
    without_error = math.copysign(math.inf, difference) if difference else 0.0
    z = difference / error if error else without_error
    if (abs(z) if rule is verdicts.equal else -z) > 3:
        return Verdict.NOT_REPRODUCED
    clear = (rule is verdicts.larger and z > 2) or (rule is verdicts.not_smaller and z >= 2)
    within = z >= -2 if rule is verdicts.not_smaller else abs(z) <= 2
    near = rule is not verdicts.larger and within and error <= 0.015
    return Verdict.REPRODUCED if clear or near else Verdict.UNDECIDED


def close(a, b):
    """Return whether |a − b| ≤ 1e-12·max(|a|, |b|, 1), which allows for the rounding of sums of a few
    numbers.
    """
    return abs(a - b) <= 1e-12 * max(abs(a), abs(b), 1)


def command(study, data):
    """Return the shell command that computes and stores the records of a study on a data set."""
    run = f"python -m proofs_checks.experiments.networks --full --study {study} --data {data}"
    return f"{run}; python -m proofs_checks.networks FILE"


# --- printed figures -------------------------------------------------------------------------------------


def figures(table, data, keep=lambda method: True):
    """Return the figures that a paper prints in a table for one data set.

    `keep` is a function of the name of a method; figures of other methods are left out if it is false.
    """
    return [printed for printed in TABLES[table](data) if keep(printed.method)]


def describe(judged):
    """Return a sentence that compares a printed figure with ours and gives the verdict."""
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
    """Return the mean over seeds, and its standard error, of our scores at an address.

    The address is (study, data, method, k, setting, learner).
    """
    return OURS[address].mean, OURS[address].error


def attention(study, data, setting="", k=50, method=SA):
    """Return the address (study, data, method, k, setting, "network") of the accuracy of a network.

    By default the method is Sequential Attention with k = 50 features.
    """
    return study, data, method, k, setting, "network"


def on_like_rows(data):
    """Return the address of Sequential Attention's run on as many training rows as the other methods have.

    On MNIST and Fashion-MNIST the released code is trained on all rows, so the address is that of the run
    with our own defaults. On other data sets it is the run of the released code.
    """
    return attention("paper", data, OWN if data in ("mnist", "fashion") else "")


def minus(first, second, share=1.0):
    """Return the difference of two means, first − share·second, and its standard error.

    Each of the two arguments is a pair (mean, standard error).
    """
    return first[0] - share * second[0], math.hypot(first[1], share * second[1])


class Comparison(NamedTuple):
    """A comparison of means that a sentence of a paper makes.

    `rule` is one of the rules in `verdicts`, for example `larger`. `addresses` are those of the means that
    are compared. `difference` returns the difference of the means and its standard error, and `words`
    describes the difference.
    """

    rule: object
    addresses: tuple
    difference: object
    words: str

    @property
    def verdict(self):
        """The verdict of the comparison, by its rule."""
        return self.rule(*self.difference())


def compared(rule, first, second, of=figure):
    """Return the comparison of the means at two addresses by a rule.

    `of` is a function that returns the mean and the standard error for an address.
    """
    words = f"{_name(first)} less {_name(second)}"
    return Comparison(rule, (first, second), lambda: minus(of(first), of(second)), words)


class Case(NamedTuple):
    """A sentence of a paper on one data set, with all the comparisons of means that the sentence makes."""

    data: str
    comparisons: tuple

    @property
    def addresses(self):
        """The addresses of the means that are compared, each of them once."""
        return tuple(
            dict.fromkeys(address for comparison in self.comparisons for address in comparison.addresses)
        )

    @property
    def lacking(self):
        """The reason why the means cannot be compared, for example a missing record; "" if they can be."""
        missing = [address for address in self.addresses if address not in OURS]
        if missing:
            return f"no record of {missing[0][2]}, k = {missing[0][3]}: {command(*missing[0][:2])}"
        found = [OURS[address] for address in self.addresses]
        if min(len(row.values) for row in found) < verdicts.LEAST_SEEDS:
            return f"a single seed; {command(*self.addresses[0][:2])}"
        sizes = [size for row in found for size in row.rows]
        return "unlike numbers of training rows" if min(sizes) < verdicts.LEAST_ROWS * max(sizes) else ""

    @property
    def verdict(self):
        """The verdict of all comparisons of the sentence together, or NEEDS_DATA if records are missing."""
        return (
            Verdict.NEEDS_DATA
            if self.lacking
            else verdicts.combine(comparison.verdict for comparison in self.comparisons)
        )


def concluded(cases):
    """Return the verdict on a sentence that makes its statement about every data set of the given cases."""
    return verdicts.combine(case.verdict for case in cases)


def most(cases):
    """Return the verdict on a sentence that makes its statement about more than half of the data sets.

    The verdict is REPRODUCED if the statement is reproduced on more than half of the data sets, and
    NOT_REPRODUCED if it fails on at least half of them. Undecided data sets count neither for nor against it.
    """
    found = [case.verdict for case in cases]
    if 2 * found.count(Verdict.REPRODUCED) > len(found):
        return Verdict.REPRODUCED
    if 2 * found.count(Verdict.NOT_REPRODUCED) >= len(found):
        return Verdict.NOT_REPRODUCED
    return Verdict.NEEDS_DATA if Verdict.NEEDS_DATA in found else Verdict.UNDECIDED


def settle(check, cases, figure, verdict=concluded):
    """Check the means and the verdicts of a sentence of a paper, and report them.

    `cases` has the sentence on each data set, and `figure` returns the mean and the standard error for an
    address. The check computes both again in a second way.
    """
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
    """Mark a function as the check of a sentence of a paper, whose verdict is computed from `cases`.

    The mutants are `figure` and the functions that `helpers` names: the check must fail if one of them is
    wrong.
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
    """Return the best record of each selection or training, sorted by the keys of the selections and
    trainings.

    The best record has the most training rows; if several have the most, the last one is taken. Only runs at
    full scale, or with more rows than full scale, count. Failed runs, and runs with only a share of the
    epochs, are left out.
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
    """Sort records in the order in which a complete run computes them.

    Records that belong to no study come last, sorted by their keys.
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
    """Draw the pictures of docs/networks-tables.md for which there are records."""
    for study in {study for study, _ in PICTURES}:
        mine = sorted((record for record in records if record.piece.study == study), key=place)
        for name, _, drawn in draw_study(study, rows(mine, ()), mine):
            if (study, name) in PICTURES:
                drawn.savefig(DOCS / PICTURES[study, name], dpi=80)
            plots.close(drawn)


def main(run=None):
    """Store the records of a run and draw their pictures, or print the tables of the stored records.

    `run` is the name of the run's file of records; without it, the tables are printed.
    """
    if run is None:
        sys.stdout.write("\n".join(site_pages(verdicts.read_records(FILE)).values()))
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
