"""Artificial records of a run, in which every printed figure is met or missed by a given amount."""

import dataclasses
import itertools

import numpy as np

from proofs_checks.experiments.networks.pieces import Piece, Record
from proofs_checks.experiments.networks.printed import ALL, LEARNERS, NAMES, OWN, TABLES, lassonet_rows

DATA = {"mice": 77, "mnist": 784, "fashion": 784, "isolet": 617, "coil20": 400}
"""A data set ↦ its number of features; Activity is without records."""
SEEDS = (1, 2, 3, 4, 5)
# pieces that a sentence needs, but no printed figure
OTHERS = (
    *itertools.product(
        ("lassonet",), ("mice", "mnist", "isolet", "coil20"), ("LassoNet", NAMES["Fisher"], NAMES["PFA"]),
        (5, 10, 25, 75, 100), ("",), ("network", "ExtraTrees"),
    ),
    *(("paper", data, "LassoNet", 50, "", "network") for data in DATA),
    ("completion", "mice", "LassoNet", 77, "trained again", "mse"),
    ("completion", "mice", "LassoNet", 40, "", "mse"),
    ("completion", "mice", "soft-impute", 77, "", "mse"),
)  # fmt: skip


def made_up(shift=0.0):
    """Return a record for each piece that a printed figure or a sentence needs, sorted by key.

    shift : added to all printed accuracies. Times are about 1.1 times the printed ones.
    """
    rng, found = np.random.default_rng(0), {}

    def record(seed, rows, study, data, method, k, setting):
        piece = Piece(study, data, method, k, seed, setting)
        support = () if method in (ALL, *LEARNERS) else tuple(rng.permutation(DATA[data])[:k].tolist())
        made = Record(piece, {}, support, {"selecting": 1.0, "fitting": 2.0}, rows)
        return found.setdefault(piece.key, made)

    figures = [figure for table in TABLES.values() for data in DATA for figure in table(data)]
    first = [TABLES["SA-table-2"](data) for data in ("mnist", "fashion")]
    figures += [dataclasses.replace(next(iter(of)), setting=OWN) for of in first]
    for figure, seed in itertools.product(figures, SEEDS):
        made = record(seed, figure.n_train, *figure.address[:5])
        if figure.learner == "selecting":
            made.seconds["selecting"] = 1.1 * figure.mean + 0.1 * seed
        else:
            # 1.2 times the printed standard deviation, around a mean that is met
            deviation = 1.2 * (figure.std or 0.001) * (seed - 3) / 2.5**0.5
            made.scores[figure.learner] = min(1.0, figure.mean + shift + deviation)
    for (*address, learner), seed in itertools.product(OTHERS, SEEDS):
        study, data, method, k, _ = address
        # of "paper" fewer rows than Sequential Attention's
        rows = lassonet_rows(data)[0] if study == "lassonet" else 100
        lead = (method == "LassoNet") * (-0.15 if learner == "mse" else 0.05)
        record(seed, rows, *address).scores[learner] = 0.6 + 0.001 * (k + seed) + lead
    return [found[key] for key in sorted(found)]
