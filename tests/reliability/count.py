"""The calls of one method on one design, in all cells, and the counts of their verdicts."""

import contextlib
import warnings
import zlib
from collections import Counter
from dataclasses import dataclass, replace

import numpy as np
from attacks.designs import FAMILIES as FAMILIES
from attacks.designs import draw
from attacks.oracles import Design
from attacks.run import Late, within

from sparselin import _kernels

from . import variants
from .answers import AGREE, CONTRADICT, STATUS, TIED, Answer, compare
from .rounding import DIRECTED, NEAREST, rounding
from .rows import PEERS

COMPILED, INTERPRETED = "always", "never"
LIMIT = 20.0  # seconds for the calls on one design
CLASSES = (NEAREST, "directed")


@dataclass(frozen=True)
class Cell:
    """The circumstances that may differ between two calls on the same problem."""

    variant: str
    order: str
    form: str
    mode: str

    @property
    def kind(self):
        """The class of the answer: to nearest, or directed."""
        return NEAREST if self.mode == NEAREST else "directed"


FIRST = Cell(variants.NAMES[0], "C", COMPILED, NEAREST)


def cells(rng):
    """Return the cells of a design, those to nearest first: 17 of compiled kernels at least, and 5 others."""
    drawn = lambda values: str(rng.choice(values))  # noqa: E731
    found = [Cell(name, order, COMPILED, NEAREST) for name in variants.NAMES for order in "CF"]
    found += [Cell(name, drawn(["C", "F"]), INTERPRETED, NEAREST) for name in ("as it is", "all three")]
    for mode in DIRECTED:
        found += [Cell(name, drawn(["C", "F"]), COMPILED, mode) for name in variants.NAMES]
        found.append(Cell(drawn(variants.NAMES), drawn(["C", "F"]), INTERPRETED, mode))
    return found


@contextlib.contextmanager
def circumstances(cell):
    """Choose the form of kernels and the rounding mode; no warning ends or delays a call."""
    quiet = warnings.catch_warnings(action="ignore")
    with _kernels.use(cell.form), quiet, np.errstate(all="ignore"), rounding(cell.mode):
        yield


def answer(call, cell):
    """Return the answer of a call in a cell. A refusal is an answer whose status is the name of the error."""
    with circumstances(cell):
        try:
            return call()
        except Exception as error:
            return Answer(type(error).__name__)


def group(row, family, seed):
    """Call a method on one design in all cells. Return the counts, and the contradictions in words."""
    X, y, forced = draw(family, seed, row.size)
    rng = np.random.default_rng([seed, zlib.crc32(f"{family}, {row.id}".encode())])
    intercept = row.takes("intercept") and not row.labels and rng.random() < 0.25
    options = {"intercept": True} if intercept else {}
    peers = [peer for peer in PEERS if peer.row == row.id and not options]
    forced = () if peers and rng.random() < 0.5 else tuple(int(j) for j in forced)
    shape = {"lengths": row.lengths, "labels": row.labels}
    made = {
        name: variants.transform(name, X, y, rng, weights=row.takes("weights"), **shape)
        for name in variants.NAMES
    }
    drawn = [cell for cell in cells(rng) if row.interpreted or cell.form == COMPILED]
    exact = Design(X, y)

    def excuses(columns):  # columns are dependent, so that the solution is not unique
        used = columns | set(forced)
        ones = Design(np.column_stack([X, np.ones(len(X), X.dtype)]), y) if intercept else exact
        used |= {X.shape[1]} if intercept else set()
        return row.one_solution and len(ones.at(used).basis) < len(used)

    try:
        with within(LIMIT):
            call = lambda at: row.call(at, forced, options)  # noqa: E731
            counts, words, decided = judge(drawn, made, call, row.id, excuses)
            for peer in () if forced else peers:
                plain = {name: variants.transform(name, X, y, rng, weights=False, **shape) for name in made}
                again = [cell for cell in drawn if cell.form == COMPILED]
                more, _, _ = judge(again, plain, lambda at, peer=peer: peer.call(at, row.k or 3), peer.name)
                counts += changed(more, peer.name, decided)
    except Late:
        return Counter({(row.id, "late"): 1}), [f"{row.id}, {family}, seed {seed}: no answer in {LIMIT} s"]
    return counts, [f"{row.id}, {family}, seed {seed}, {options or forced}: {line}" for line in words]


def judge(drawn, made, call, name, excuses=lambda columns: False):
    """Call in each cell, and compare each answer with all earlier ones.

    Also return the contradictions in words, and whether all answers to nearest are completed without ties.
    """
    counts = Counter({(name, "designs"): 1})
    words, seen, bad = [], {}, set()
    decided = True
    for cell in drawn:
        at = made[cell.variant]
        at = replace(at, X=np.asarray(at.X, order=cell.order))
        found = answer(lambda at=at: call(at), cell)
        verdicts = [(compare(earlier, found, excuses), earlier) for earlier in seen]
        worst = next((earlier for verdict, earlier in verdicts if verdict == CONTRADICT), None)
        verdict = verdicts[0][0] if verdicts else AGREE
        if worst is not None:
            verdict = CONTRADICT
            bad.add(cell.kind)
            words.append(f"{seen[worst]}: {worst}; {cell}: {found}")
        counts[name, cell.kind, verdict] += 1
        counts[name, "form", cell.form] += 1
        seen.setdefault(found, cell)
        if cell.kind == NEAREST:
            certain = verdict == AGREE and not found.ties and found.status in ("COMPLETED", "MAX_STEPS")
            decided = decided and certain
    for kind in bad:
        counts[name, kind, "designs"] += 1
    return counts, words, decided


def changed(counts, name, decided):
    """Return the counts of a peer, whose sets agree with the first one or are other sets."""
    kind = "decided" if decided else "tied"
    found = Counter({(name, "peer", kind): 1})
    for side in CLASSES:
        calls = sum(counts[name, side, verdict] for verdict in (AGREE, TIED, STATUS, CONTRADICT))
        other = calls - counts[name, side, AGREE]
        found[name, side, f"{kind}: calls"] += calls
        found[name, side, f"{kind}: changed"] += other
        found[name, side, f"{kind}: designs"] += other > 0
    return found
