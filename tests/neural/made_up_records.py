"""Artificial records of a run, in which every printed figure is met or missed by a given amount."""

import dataclasses
import itertools

import numpy as np

from proofs_checks.experiments.networks.pieces import Piece, Record
from proofs_checks.experiments.networks.printed import ALL, LEARNERS, NAMES, OWN, TABLES, lassonet_rows

DATA = ("mice", "mnist", "fashion", "isolet", "coil20", "activity")
SEEDS = (1, 2, 3, 4, 5)
# pieces that a sentence needs, but no printed figure
OTHERS = (
    *itertools.product(
        ("lassonet",), ("mice", "mnist", "isolet", "coil20"), ("LassoNet", NAMES["Fisher"], NAMES["PFA"]),
        (5, 10, 25, 75, 100), ("",), ("network", "ExtraTrees"),
    ),
    *(("paper", data, "LassoNet", 50, "", "network") for data in DATA[:5]),
    ("completion", "mice", "LassoNet", 77, "trained again", "mse"),
    ("completion", "mice", "LassoNet", 40, "", "mse"),
    ("completion", "mice", "soft-impute", 77, "", "mse"),
)  # fmt: skip


def made_up(shift=0.0, seeds=SEEDS, share=1.0, missing=("activity",), rng=None):
    """Return a record for each piece that a printed figure or a sentence needs, sorted by key.

    shift : added to all printed accuracies.
    seeds : the seeds of each piece.
    share : the share of the protocol's training rows.
    missing : data sets without records.
    """
    rng = np.random.default_rng(0) if rng is None else rng
    found = {}
    for figure in itertools.chain.from_iterable(table(data) for table in TABLES.values() for data in DATA):
        if figure.data not in missing:
            _add(found, figure, shift, seeds, round(share * figure.n_train), rng)
    for data in ("mnist", "fashion"):
        for figure in TABLES["SA-table-2"](data):
            if figure.method == NAMES["SA"]:
                own = dataclasses.replace(figure, setting=OWN)
                _add(found, own, shift, seeds, round(share * figure.n_train), rng)
    for (study, data, method, k, setting, learner), seed in itertools.product(OTHERS, seeds):
        if data not in missing:
            value = 0.6 + 0.001 * (k + seed) + (method == "LassoNet") * (-0.15 if learner == "mse" else 0.05)
            # of "paper" fewer rows than Sequential Attention's
            rows = lassonet_rows(data)[0] if study == "lassonet" else 100
            _put(found, Piece(study, data, method, k, seed, setting), learner, value, rows, rng)
    return [found[key] for key in sorted(found)]


def _add(found, figure, shift, seeds, rows, rng):
    """Add the records of a figure; times are 1.1 times the printed ones."""
    for seed in seeds:
        piece = Piece(figure.study, figure.data, figure.method, figure.k, seed, figure.setting)
        if figure.learner == "selecting":
            record = _put(found, piece, None, 0.0, rows, rng)
            record.seconds["selecting"] = 1.1 * figure.mean + 0.1 * seed
        else:
            # 1.2 times the printed standard deviation, around a mean that is met
            deviation = 1.2 * (figure.std or 0.001) * (seed - 3) / 2.5**0.5
            value = min(1.0, figure.mean + shift + deviation)
            _put(found, piece, figure.learner, value, rows, rng)


def _put(found, piece, learner, value, rows, rng):
    """Add a score to the record of a piece; make the record if there is none."""
    if piece.key not in found:
        d = {"mnist": 784, "fashion": 784, "isolet": 617, "coil20": 400}.get(piece.data, 77)
        none = piece.method in (ALL, *LEARNERS)
        support = () if none else tuple(rng.permutation(d)[: piece.k].tolist())
        found[piece.key] = Record(piece, {}, support, {"selecting": 1.0, "fitting": 2.0}, rows)
    record = found[piece.key]
    if learner is not None:
        record.scores[learner] = value
    return record
