"""Figure 10 of the LassoNet paper: missing entries of the data set Mice Protein, imputed in two ways.

One way is LassoNet with its networks on few columns; the other is a matrix of low rank (soft-impute). The
known entries are divided at random into 80 % for training, 10 % for validation and 10 % for the test. Columns
have mean 0 and variance 1 on their training entries. The score "mse" is the mean squared error on the test
entries. It is about 1 if the mean of each column is imputed. A network on k columns reads a completed matrix,
whose missing entries were imputed from all columns by LassoNet's network. The numbers of training epochs were
chosen after the test errors of the first seeds had been seen, so the comparison with soft-impute is not blind
in this respect.
"""

import functools
import itertools
import time
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from proofs_checks.experiments.networks.data import FORMS, table
from proofs_checks.experiments.networks.pieces import Piece, Record, Scale, Study
from proofs_checks.experiments.networks.protocol import sizes_below
from sparselin.neural.lassonet import completion_loss, matrix_completion, refit
from sparselin.neural.networks import SkipNetwork, mlp
from sparselin.neural.settings import LassoNetSettings
from sparselin.neural.training import seeded
from sparselin.results import FloatArray, IndexArray

DATA = ("digits", "breast_cancer", "mice")
SOFT, LASSONET, AGAIN = "soft-impute", "LassoNet", "trained again"
MORE = (35, 40)
"""More k than those of the scale: Figure 10 reaches the error of soft-impute with about 40 of the 77
proteins."""
EPOCHS = (20, 80, 160)
"""The epochs of training in a round of imputation. The network reads and reconstructs all known entries, so
the identity is an optimum, and the imputed values depend on early stopping: the validation entries choose."""
AT_LAMBDA = 20
"""The epochs at each λ of the path."""
ROUNDS, GROWTH, RATE = 20, 1.05, 3e-3
REFIT, PATIENCE = 2000, 50
"""The epochs of the network on k columns: at most, and at most without a lower error on validation
entries."""
LEVELS = np.geomspace(1, 1e-4, 40)
"""The λ of soft-impute, relative to the largest singular value."""

Mask = NDArray[np.bool_]


class Parts(NamedTuple):
    """A data matrix whose known entries are divided into training, validation and test entries.

    Z (m, d) has the standardized entries, and 0 where an entry is unknown. The other fields are the masks of
    the three parts.
    """

    Z: FloatArray
    train: Mask
    validation: Mask
    test: Mask

    def error(self, X: FloatArray, part: Mask) -> float:
        """Return the mean squared error of a matrix X on the entries of one part."""
        return float(np.mean(np.square(X - self.Z)[part]))


def split_entries(X: Any, seed: int) -> Parts:
    """Divide the known entries of X (m, d) at random into 80, 10 and 10 %, for training, validation and test.

    Each column is standardized by its training entries. A row without a training entry is left out of all
    three parts, because no method can impute it.
    """
    known = ~np.isnan(X)
    part = np.random.default_rng(seed).random(X.shape)
    train = known & (part < 0.8)
    known &= train.any(axis=1, keepdims=True)
    counts = np.maximum(train.sum(axis=0), 1)
    mean = np.where(train, X, 0).sum(axis=0) / counts
    deviation = np.sqrt(np.where(train, (X - mean) ** 2, 0).sum(axis=0) / counts)
    Z = np.where(known, (X - mean) / np.where(deviation > 0, deviation, 1), 0)
    return Parts(Z, train, known & (part >= 0.8) & (part < 0.9), known & (part >= 0.9))


def soft_impute(given: Parts) -> tuple[FloatArray, str]:
    """Complete a matrix by soft-impute: minimise the squared error on training entries plus a nuclear norm.

    The objective is ½‖P_Ω(Z − X)‖_F² + λ‖X‖_*, where P_Ω keeps the training entries of a matrix and sets all
    others to 0. The iteration is X ← S_λ(P_Ω(Z) + X − P_Ω(X)), where S_λ reduces each singular value by λ,
    but not below 0. It ends when X changes by at most 10⁻⁴ of its Frobenius norm. λ decreases from the
    largest singular value of P_Ω(Z), and the iteration for each λ begins with the result for the previous λ.
    The result is the X with the smallest error on the validation entries. The method is Algorithm 1 of
    Mazumder, Hastie and Tibshirani, *Spectral regularization algorithms for learning large incomplete
    matrices* (2010).
    """
    known = np.where(given.train, given.Z, 0)
    top = float(np.linalg.norm(known, 2))
    X, best, chosen = np.zeros_like(known), (np.inf, np.zeros_like(known)), 0.0
    for level in top * LEVELS:
        for _ in range(100):
            U, sigma, V = np.linalg.svd(np.where(given.train, known, X), full_matrices=False)
            new = (U * np.maximum(sigma - level, 0)) @ V
            moved, X = np.linalg.norm(new - X), new
            if moved <= 1e-4 * np.linalg.norm(X):
                break
        error = given.error(X, given.validation)
        if error < best[0]:
            best, chosen = (error, X), level / top
    return best[1], f"λ = {chosen:.2g} of the largest singular value"


class Imputed(NamedTuple):
    """The matrix that LassoNet's dense network completed, with the order of the columns on LassoNet's path.

    `epochs` and `seconds` are the number of epochs that was chosen, and the time of the computation.
    """

    X: FloatArray
    order: IndexArray
    epochs: int
    seconds: float


def lassonet_impute(given: Parts, smallest: int, seed: int, scale: Scale) -> Imputed:
    """Complete a matrix by LassoNet's Algorithm 5, with two hidden layers of d/3 units for d columns.

    The algorithm runs for several numbers of epochs, or only for the first of them in a run with fewer
    epochs. The result is the completed matrix with the smallest error on the validation entries.
    """
    begin = time.process_time()
    rows, d = given.train.any(axis=1), given.Z.shape[1]
    Z = np.where(given.train, given.Z, np.nan)[rows]
    best, least = None, np.inf
    for epochs in EPOCHS if scale.epochs >= 1 else EPOCHS[:1]:
        both = scale.epochs_of(epochs), scale.epochs_of(AT_LAMBDA)
        settings = LassoNetSettings(epochs=both, growth=GROWTH, learning_rate=RATE, tol=0.99)
        found = matrix_completion(
            [max(1, d // 3)] * 2, Z, rounds=scale.epochs_of(ROUNDS), settings=settings, k=smallest, rng=seed
        )
        X = given.Z.copy()
        X[rows] = found.completed
        error = given.error(X, given.validation)
        if best is None or error < least:
            best, least = Imputed(X, found.path.ranking(), epochs, 0.0), error
    assert best is not None
    return best._replace(seconds=time.process_time() - begin)


def reconstruct(given: Parts, X: FloatArray, support: Sequence[int], seed: int, scale: Scale) -> FloatArray:
    """Return all columns of a matrix as a network predicts them from the columns `support` of X.

    The network is trained from scratch on the training entries. The validation entries decide when its
    training ends.
    """
    d = X.shape[1]

    def target(part: Mask) -> Tensor:
        return torch.from_numpy(np.stack([np.where(part, given.Z, 0), part.astype(float)], axis=1))

    with seeded(seed):
        network: SkipNetwork = SkipNetwork(mlp(d, [max(1, d // 3)] * 2, d, dtype=torch.float64), d, d)
    settings = LassoNetSettings(
        learning_rate=RATE, epochs=scale.epochs_of(REFIT), patience=PATIENCE, tol=0.99, backtrack=True
    )
    model = refit(
        network,
        torch.from_numpy(X),
        target(given.train),
        list(support),
        loss=completion_loss,
        validation=(torch.from_numpy(X), target(given.validation)),
        settings=settings,
        rng=seed,
    )
    with torch.no_grad():
        return np.asarray(model(torch.from_numpy(X[:, list(support)])).numpy())


def sizes(data: str, scale: Scale) -> list[int]:
    """Return the numbers k of columns for the right panel of LassoNet's Figure 10, the largest first."""
    more = MORE if max(scale.sizes) >= 50 else ()
    return sizes_below(data, {*scale.sizes, *more})


def pieces(names: Sequence[str], scale: Scale) -> Iterator[Piece]:
    """Yield the computations for LassoNet's Figure 10: first those of the left panel, then those of the right
    one.

    The left panel has Algorithm 5, soft-impute, and a network that is trained from scratch.
    """
    for data, seed in itertools.product(names, range(1, 1 + scale.seeds)):
        yield Piece(study="completion", data=data, method=SOFT, k=FORMS[data].d, seed=seed)
        yield Piece(study="completion", data=data, method=LASSONET, k=FORMS[data].d, seed=seed)
        yield Piece(study="completion", data=data, method=LASSONET, k=FORMS[data].d, seed=seed, setting=AGAIN)
        for k in sizes(data, scale):
            yield Piece(study="completion", data=data, method=LASSONET, k=k, seed=seed)


def run(piece: Piece, scale: Scale) -> Record:
    """Compute one imputation, and return its `Record` with the mean squared error on the test entries."""
    data, seed, k = piece.data, piece.seed, piece.k
    given = _parts(data, seed, scale)
    begin, support, selecting = time.process_time(), (), 0.0
    if piece.method == SOFT:
        X, note = soft_impute(given)
    else:
        found = _impute(data, seed, scale)
        begin, X, note = time.process_time(), found.X, f"{found.epochs} epochs a round"
        if k < X.shape[1] or piece.setting == AGAIN:
            support = tuple(found.order[:k].tolist())
            X = reconstruct(given, X, support, seed, scale)
        else:
            selecting = found.seconds
    seconds = {"selecting": selecting, "fitting": time.process_time() - begin}
    note += f"; {given.error(X, given.validation):.3f} on the validation entries"
    rows = int(given.train.any(axis=1).sum())
    return Record(
        piece=piece,
        scores={"mse": given.error(X, given.test)},
        support=support,
        seconds=seconds,
        rows=rows,
        note=note,
    )


def _parts(data: str, seed: int, scale: Scale) -> Parts:
    """Divide the known entries of a data set at random as `split_entries` does.

    The scale of the run limits the number of rows.
    """
    return split_entries(np.asarray(table(data).X[: scale.rows], float), seed)


@functools.lru_cache(maxsize=1)
def _impute(data: str, seed: int, scale: Scale) -> Imputed:
    given = _parts(data, seed, scale)
    return lassonet_impute(given, min(sizes(data, scale)), seed, scale)


STUDY = Study(
    name="completion",
    title="Missing entries by LassoNet and by soft-impute",
    source="LassoNet (JMLR 22(127), 2021), Figure 10",
    data=DATA,
    pieces=pieces,
    run=run,
)
