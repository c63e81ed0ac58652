"""Synthetic data in which single features are not informative: how many true features does each method find?

The features that do not determine the label y are called decoys. Some methods cannot distinguish true
features from decoys. In the data sets RING, XOR and RING+XOR a true feature u_j has Cov(u_j, y) = 0, like a
decoy, because P(y = 1 | u_j) is a function of |u_j − ½| (in XOR the constant ½). Therefore

- largest correlation, mRMR (with F statistics), linear OMP, linear OLS and diverse selection select features
  at random, except for chance correlations in the sample;
- OMP and Sequential LASSO of networks make their first pick at random. They use the gradient ∂L/∂W_j of the
  loss with respect to the input weights of feature j at W = 0. There the network is constant, and the
  gradient is a multiple of Cov(u_j, y). After one true feature is selected, the network is no longer
  constant, and the other true feature of the pair has a gradient;
- the concrete autoencoder of X always selects at random, also in the data set with SUM. It does not use y,
  and true features and decoys are independent and have the same distribution.
"""

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit

from proofs_checks.experiments.networks.baselines.methods import METHODS
from proofs_checks.experiments.networks.pieces import Piece, Record, Scale, Study
from proofs_checks.experiments.networks.protocol import NOT_NESTED, pick, scale_epochs
from sparselin.results import FloatArray, IndexArray
from sparselin.validation import check_count

ROWS = 1000
"""The number of rows of every signal."""

DILUTIONS = (8, 32, 128, 512)
"""The total numbers of features of RING, XOR and their unions. The paper goes up to 2048."""

DAG_FEATURES = 2000
"""The number of features of DAG; half of them belong to the graph."""


class Signal(NamedTuple):
    """The rows of a synthetic data set, and the true features that determine its labels.

    X : (n, p) float32 in [−1, 1]; the true features are at random places among the columns.
    y : (n,) intp, 0 or 1.
    relevant : the true features, increasing.
    related : for the data set DAG, `relevant` and the features that share an ancestor with y; otherwise
        `relevant`.
    """

    X: FloatArray
    y: IndexArray
    relevant: IndexArray
    related: IndexArray


def signal(name: str, p: int, seed: int, n: int = ROWS) -> Signal:
    """Draw a synthetic data set of the benchmark of Passemiers et al. (2024), with new random numbers.

    The paper is *A quantitative benchmark of neural network feature selection methods for detecting nonlinear
    signals* (Scientific Reports 14, 2024).

    Let u be uniform in [0, 1]^p and c = (½, ½). X is 2u − 1 with its columns in random order. y = 1 if

        RING            |‖(u₀, u₁) − c‖ − 0.35| ≤ a                              a = 0.1151
        XOR             (u₀ − ½)(½ − u₁) ≥ b                                     b = 0
        RING+XOR        ring of u₀, u₁ or XOR of u₂, u₃                          a = 0.0704, b = 0.0337
        RING+XOR+SUM    ring or XOR or u₄ + u₅ + N(0, 0.2²) ≥ 1.4074             a = 0.0479, b = 0.0598
        DAG             `graph_signal`

    The probability of y = 1 is 4π·0.35·0.1151 = 0.506 for RING, ½ for XOR, 0.515 for RING+XOR and 0.50 for
    RING+XOR+SUM. The features that do not occur in the formula (decoys) are independent of y. The formulas
    and constants, n = 1000, the random order of the columns, and the scores "first k" and "first 2k" are
    those of the authors' code (src/data.py, src/dag.py and main.py of
    AntoinePassemiers/Feature-Selection-Benchmark). Three choices are ours. All n rows are used for selection;
    the authors use five sixths of the rows, six times. Each seed draws rows of its own. In DAG, y is computed
    from a node that we choose.

    Parameters
    ----------
    name : a key of `SIGNALS`.
    p : the total number of features, the true features included.
    seed : the random seed.
    n : the number of rows.

    Raises
    ------
    KeyError : the name is unknown.
    TypeError, ValueError : p is smaller than the number of true features.

    >>> rows = signal("RING+XOR", 8, seed=0)
    >>> rows.X.shape, rows.relevant.tolist()
    ((1000, 8), [0, 1, 2, 6])
    """
    if name == "DAG":
        return graph_signal(p, seed, n)
    k, label = _UNIFORM[name]
    check_count(p, "p", k)
    check_count(n, "n", 1)
    rng = np.random.default_rng(seed)
    U = rng.random((n, p))
    y = label(U, rng).astype(np.intp)
    order = rng.permutation(p)
    relevant = np.flatnonzero(order < k)
    return Signal((2 * U[:, order] - 1).astype(np.float32), y, relevant, relevant)


def _ring(u: FloatArray, v: FloatArray, half_width: float) -> Any:
    return np.abs(np.hypot(u - 0.5, v - 0.5) - 0.35) <= half_width


def _xor(u: FloatArray, v: FloatArray, margin: float) -> Any:
    return (u - 0.5) * (0.5 - v) >= margin


def _union_of_three(U: FloatArray, rng: np.random.Generator) -> Any:
    noise = rng.normal(0, 0.2, len(U))
    either = _ring(U[:, 0], U[:, 1], 0.0479) | _xor(U[:, 2], U[:, 3], 0.0598)
    return either | (U[:, 4] + U[:, 5] + noise >= 1.4074)


_UNIFORM: Mapping[str, tuple[int, Callable[[FloatArray, np.random.Generator], Any]]] = {
    "RING": (2, lambda U, rng: _ring(U[:, 0], U[:, 1], 0.1151)),
    "XOR": (2, lambda U, rng: _xor(U[:, 0], U[:, 1], 0.0)),
    "RING+XOR": (4, lambda U, rng: _ring(U[:, 0], U[:, 1], 0.0704) | _xor(U[:, 2], U[:, 3], 0.0337)),
    "RING+XOR+SUM": (6, _union_of_three),
}

SIGNALS = (*_UNIFORM, "DAG")


def graph_signal(p: int, seed: int, n: int = ROWS, sigma: float = 0.2) -> Signal:
    """Draw the synthetic data set DAG: the features are p nodes of a random acyclic graph, and y is one more
    node.

    Half of the features have no edges. The other p − ⌊p/2⌋ features and the node of y are numbered; for i < j
    there is an edge i → j with probability 8/p and a weight w_ij uniform in [−1, 1]. The values v_j are
    computed from parents to children. For a node j with m_j parents and noise ε ~ N(0, σ²),

        z_j = (1/m_j)Σ w_ij v_i + ε,        v_j = 1/(1 + exp(−2(z_j − mean)/std)),

    where the mean and the standard deviation (std) are those of z_j. X is 2v − 1, and y = 1 where the value v
    of the target node is above its median. `relevant` are the ancestors of the target node. `related` are
    these ancestors and the nodes that share an ancestor with the target node. Our target node is the one
    whose number of ancestors is nearest to 7. The authors of the benchmark have p = 2000, of which 1000 nodes
    have no edges, the density 0.004 and σ = 0.2. Their target is a random node of one stored graph, with 7
    ancestors (81 with the related nodes).
    """
    check_count(p, "p", 14)
    rng = np.random.default_rng(seed)
    m = p - p // 2 + 1
    edges = np.triu(rng.random((m, m)) < min(1.0, 8 / p), 1)
    above = edges.copy()
    for j in range(m):  # in the order of the nodes, so that the ancestors of the parents are known
        above[:, j] |= above[:, edges[:, j]].any(axis=1)
    target = int(np.argmin(np.abs(above.sum(axis=0) - 7)))
    values = _propagate(edges, n, sigma, rng)
    relatives = above[:, target] | (above.T @ above[:, target])
    decoys = _squash(rng.normal(size=(n, p // 2)))
    others = np.delete(np.arange(m), target)
    order = rng.permutation(p)
    V = np.hstack([values[:, others], decoys])[:, order]
    y = (values[:, target] > np.median(values[:, target])).astype(np.intp)
    relevant, related = (
        np.flatnonzero(np.append(chosen[others], np.zeros(p // 2, bool))[order])
        for chosen in (above[:, target], relatives)
    )
    return Signal((2 * V - 1).astype(np.float32), y, relevant, related)


def _squash(Z: FloatArray) -> FloatArray:
    scaled: FloatArray = expit(2 * (Z - Z.mean(axis=0)) / Z.std(axis=0))
    return scaled


def _propagate(edges: Any, n: int, sigma: float, rng: np.random.Generator) -> FloatArray:
    """Compute the values v_j of all nodes of a random graph, from parents to children, as in
    `graph_signal`.
    """
    V = rng.normal(0, sigma, (n, len(edges)))
    for j in range(len(edges)):
        parents = np.flatnonzero(edges[:, j])
        if len(parents):
            V[:, j] += V[:, parents] @ rng.uniform(-1, 1, len(parents)) / len(parents)
        V[:, j] = _squash(V[:, j])
    return V


SETTINGS: Mapping[str, Mapping[str, Any]] = {
    "Sequential Attention": {"epochs": 200, "learning_rate": 5e-3},
    "LassoNet": {"hidden": (32, 32), "batch_size": 64, "epochs": (30, 10)},
    "feature mask (LLY)": {"epochs": 200, "learning_rate": 5e-3, "batch_size": 64},
    "group LASSO, λ fixed": {"lam": 0.01},
    "concrete autoencoder of y": {"epochs": 300, "learning_rate": 5e-3},
}
"""Options that differ from the defaults of a method, which are for images with more rows. LassoNet's are
those of the authors, except for 10 epochs at each λ instead of 30. The others were chosen on RING and XOR
with 32 features and the seeds 101 and 102, which the study does not use."""


def recall(rows: Signal, first: Sequence[int], twice: Sequence[int], k: int) -> dict[str, float]:
    """Return the shares of the k true features that are among the first k and among the first 2k picks.

    For the data set DAG also return the share of the first k picks that are related features.

    >>> rows = Signal(np.zeros((1, 9)), np.zeros(1, int), np.array([3, 4]), np.array([3, 4, 5]))
    >>> recall(rows, [4, 5], [4, 5, 3, 0], 2)
    {'first k': 0.5, 'first 2k': 1.0, 'related in first k': 1.0}
    """
    scores = {"first k": np.isin(first, rows.relevant).sum() / k}
    scores["first 2k"] = np.isin(twice, rows.relevant).sum() / k
    if len(rows.related) > len(rows.relevant):
        scores["related in first k"] = np.isin(first, rows.related).mean()
    return {name: float(value) for name, value in scores.items()}


def _pieces(names: Sequence[str], scale: Scale) -> Iterator[Piece]:
    for name in (name for name in SIGNALS if name in names):
        dilutions = (DAG_FEATURES,) if name == "DAG" else DILUTIONS
        for p in (p for p in dilutions if p <= scale.features):
            for seed in range(1, scale.image_seeds + 1):
                k = len(_signal(name, p, seed).relevant)
                for method in METHODS:
                    yield Piece(study="signals", data=name, method=method, k=k, seed=seed, setting=f"p={p}")


@functools.lru_cache(maxsize=1)
def _signal(name: str, p: int, seed: int) -> Signal:
    """Draw a synthetic data set by its name; all methods select features on the same rows."""
    return signal(name, p, seed)


def _run(piece: Piece, scale: Scale) -> Record:
    """Let one method select 2k features, and return the `Record` that judges the first k and all 2k of them.

    The methods in NOT_NESTED also select k features in a run of its own.
    """
    p, k = int(piece.setting.removeprefix("p=")), piece.k
    rows = _signal(piece.data, p, piece.seed)
    options = scale_epochs(piece.method, SETTINGS.get(piece.method, {}), scale)
    twice = pick(piece.method, rows.X, rows.y, min(2 * k, p), k, piece.seed, options)
    first, seconds, note = twice.order[:k], twice.seconds, f"first k of {len(twice.order)}"
    if piece.method in NOT_NESTED:
        again = pick(piece.method, rows.X, rows.y, k, k, piece.seed, options)
        first, seconds = again.order, seconds + again.seconds
        note = f"runs for {k} and for {len(twice.order)}"
    note = "; ".join(filter(None, (note, twice.fill_note(len(twice.order)))))
    timed = {"selecting": seconds, "fitting": 0.0}
    return Record(
        piece=piece,
        scores=recall(rows, first, twice.order, k),
        support=first,
        seconds=timed,
        rows=len(rows.X),
        note=note,
    )


STUDY = Study(
    name="signals",
    title="Non-linear signals in noise: true features among the first picks",
    source="Passemiers et al., Scientific Reports 14 (2024): best p, best 2p",
    data=SIGNALS,
    pieces=_pieces,
    run=_run,
)
