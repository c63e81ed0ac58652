"""Measures of networks: the cost of Sequential Attention compared with plain training, and marginal gains.

PyTorch is imported inside the functions; without it the rows are skipped.
"""

import itertools
import statistics
from typing import Any

import numpy as np

from benchmarks.contest import Outcome
from benchmarks.lassonet import torch_threads
from benchmarks.timing import interleave

HIDDEN = 67  # units of the single hidden layer in the papers' networks
BATCH = 256  # the batch size of the authors' efficiency runs (Table 4)


def attention_cost(
    seed: int, n: int, k: int, network: str, folded: bool, source: str = "auto", threads: int = 2
) -> tuple[float, Outcome]:
    """Measure the seconds of two epochs of Sequential Attention divided by those of a plain training loop.

    The warm-up counts. The plain loop draws the same batches, without checks and records. The images come
    from `sparselin.ensembles.datasets`.
    """
    from torch.nn import functional as F

    from sparselin.neural import SequentialAttention
    from sparselin.neural.attention import adam
    from sparselin.neural.batches import Shuffled
    from sparselin.neural.training import seeded

    rows, (height, width) = images(n, source)
    batches, d = Shuffled(rows, BATCH), height * width
    with seeded(seed):
        bare, masked = (_network(network, height, width) for _ in range(2))
    optimizer = adam(list(bare.parameters()))
    method = SequentialAttention(masked, k, n_features=d, folded=folded, rng=seed)

    def plain() -> None:
        for batch in itertools.chain(batches, batches):
            optimizer.zero_grad()
            F.cross_entropy(bare(batch.X), batch.y).backward()
            optimizer.step()

    def attention() -> Any:
        return method.fit(batches, epochs=2)

    with torch_threads(threads):
        path, _ = attention(), plain()
        seconds = interleave(
            {"plain": plain, "attention": attention}, runs=15, least_runs=5, pause=0.0, budget=5.0
        )
    ratios = [a / b for a, b in zip(seconds["attention"], seconds["plain"], strict=False)]
    return statistics.median(ratios), Outcome(len(set(path.order)) == k, f"{len(path)} of {d} pixels")


def gains_on_digits(seed: int, k: int, epochs: int, repeats: int) -> tuple[float, None]:
    """Measure Spearman's correlation of attention and true marginal gains on the digits, given k pixels.

    Sequential Attention selects these k pixels first. For each of the other pixels a network is trained
    (Appendix B.6 of *Sequential Attention for Feature Selection*). After 49 pixels 15 remain, and their gains
    are so small that they differ from one training to the next.
    """
    from scipy.stats import spearmanr

    from proofs_checks.experiments.networks.attention_study import gains_and_attention
    from sparselin.neural import SequentialAttention, mlp
    from sparselin.neural.batches import Shuffled
    from sparselin.neural.training import seeded

    rows, (height, width) = images(1797, "digits")
    d = height * width
    selected: list[int] = []
    if k:
        with seeded(seed):
            network = mlp(d, [HIDDEN], 10)
        path = SequentialAttention(network, k, n_features=d, rng=seed).fit(Shuffled(rows, BATCH), 6 * k)
        selected = path.order.tolist()
    _, gains, weights = gains_and_attention(
        lambda: mlp(d, [HIDDEN], 10), rows.X, rows.y, selected, repeats=repeats, epochs=epochs, rng=seed
    )
    return float(spearmanr(gains.mean(0), weights.mean(0)).statistic), None


def images(n: int, source: str) -> tuple[Any, tuple[int, int]]:
    """Return the first n images as `Rows` of pixels in [0, 1], and their height and width."""
    import torch

    from sparselin.ensembles.datasets import images as read
    from sparselin.neural.training import Rows

    found = read(source)  # type: ignore[arg-type]
    pixels = found.pixels[:n].reshape(min(n, len(found.pixels)), -1)
    X = torch.as_tensor(pixels / np.float32(pixels.max()), dtype=torch.float32)
    y = torch.as_tensor(found.labels[:n].astype(np.int64))
    return Rows(X, y), found.pixels.shape[1:]


def _network(kind: str, height: int, width: int) -> Any:
    """Return a network with 10 outputs.

    "mlp" is that of the papers, "deep" has three hidden layers, and "conv" has two convolutions.
    """
    from torch import nn

    from sparselin.neural import mlp

    if kind == "mlp":
        return mlp(height * width, [HIDDEN], 10)
    if kind == "deep":
        return mlp(height * width, [256, 256, 128], 10)
    left = (height // 2) * (width // 2) * 16
    return nn.Sequential(
        nn.Unflatten(1, (1, height, width)),
        nn.Conv2d(1, 16, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(16, 16, 3, padding=1),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(left, 10),
    )
