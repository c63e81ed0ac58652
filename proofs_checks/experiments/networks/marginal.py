"""Figure 11 of *Sequential Attention*: do true marginal gains and attention rank the features alike?

S are the first k picks of Sequential Attention; a network is trained for S and for S ∪ {i}, every i ∉ S, and
one phase of attention has S selected (`sparselin.neural.gains`). "Spearman" is the correlation of the ranks.
"""

from __future__ import annotations

import functools
import itertools
import time
from collections.abc import Iterator, Sequence

import torch

from proofs_checks.experiments.networks.data import FORMS, table
from proofs_checks.experiments.networks.picks import called_with, pick
from proofs_checks.experiments.networks.pieces import Piece, Record, Scale, Study
from proofs_checks.experiments.networks.protocol import PAPER, Sets, split
from sparselin.neural.gains import gains_and_attention
from sparselin.neural.networks import mlp

SA = "Sequential Attention"
SELECTED = (0, 9, 49)
ROWS, EPOCHS, BATCH = 2000, 20, 256
"""Rows for training and validation, and epochs: 785 networks of 784 inputs take a second a step, and with
52,500 rows and 50 epochs three hours for a k. The paper tells neither."""


def pieces(names: Sequence[str], scale: Scale) -> Iterator[Piece]:
    """k = 0, 9 and 49, those with three features left at least: two ranks always agree or are opposed."""
    for seed, data, k in itertools.product(range(1, 1 + scale.image_seeds), names, SELECTED):
        if k + 3 <= FORMS[data].d:
            yield Piece("gains", data, SA, k, seed)


def run(piece: Piece, scale: Scale) -> Record:
    """The correlation, over the features that are left, on the training rows alone."""
    sets = _sets(piece.data, piece.seed, scale)
    begin = time.process_time()
    options = called_with(SA, len(sets.y), scale)
    S = pick(SA, sets.X, sets.y, piece.k, piece.k, piece.seed, options).order if piece.k else ()
    picked = time.process_time()
    X, y = torch.from_numpy(sets.X), torch.from_numpy(sets.y)
    found = gains_and_attention(
        lambda: mlp(X.shape[1], (67,), sets.classes, dtype=X.dtype), X, y, S,
        epochs=scale.epochs_of(EPOCHS), batch_size=BATCH, rng=piece.seed,
    )  # fmt: skip
    seconds = {"selecting": picked - begin, "fitting": time.process_time() - picked}
    note = f"{len(found.candidates)} candidates"
    return Record(piece, {"Spearman": found.correlation}, tuple(S), seconds, len(sets.y), note)


@functools.lru_cache(maxsize=1)
def _sets(data: str, seed: int, scale: Scale) -> Sets:
    """Of ROWS rows, an eighth of them for validation; of sets that have fewer all of them."""
    rows = ROWS if scale.rows is None else min(ROWS, scale.rows)
    return split(table(data), PAPER, seed, rows)


STUDY = Study(
    "gains",
    "Marginal gains and attention",
    "Sequential Attention for Feature Selection (ICLR 2023), Appendix B.6, Figure 11",
    ("digits", "breast_cancer", "mnist"),
    pieces,
    run,
)
