"""Two baselines of Sequential Attention as its authors released them, what is odd in each with a switch.

Behaviour of google-research/sequential_attention, experiments/models/mlp_omp.py and mlp_lly.py, and its
folder benchmarks (Apache 2.0); network, batches, optimiser and settings are those of Sequential Attention, in
`reference`. Their group LASSO and Sequential LASSO (mlp_seql.py) cannot be run as they are: the constructor
does not hand the layers on to that of MLPModel, which ends with a TypeError. Nor are concrete autoencoders
among what was released.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from typing import cast

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from proofs_checks.experiments.networks.protocol import Sets
from proofs_checks.experiments.networks.reference import (
    AS_RELEASED,
    Batches,
    BatchNorm,
    Settings,
    optimizer,
    perceptron,
    rows_of,
)
from sparselin.neural.training import Rows, backward, cross_entropy, seeded

MASK_WIDTHS = (128, 64)
MASK_SLOPE = 0.2


@dataclasses.dataclass(frozen=True)
class Gradients:
    """Which gradients rank the features in the released OMP.

    Attributes
    ----------
    random_off : of the network in which the W_j of unselected features have the random values that they were
        drawn with, all features being passed on; else W_j = 0 off S, as in OMP, from the second pick on: for
        S = ∅ all hidden units are 0 then, where ReLU has no slope.
    one_batch : over the batch of the step before; else over all training rows.
    """

    random_off: bool = True
    one_batch: bool = True


def reference_omp(
    sets: Sets,
    k: int,
    seed: int,
    *,
    settings: Settings,
    gradients: Gradients | None = None,
    normalised: bool = True,
) -> list[int]:
    """k features in the order of picking: k phases of the steps, in which the network sees x∘1_S; each begins
    with argmax_{j ∉ S} ‖∂L/∂W_j‖₂ joining S, the first with step 1: the gradients are of the step before.

    normalised : whether the batch normalisation, as released, comes first; else the network reads X.

    Raises ValueError for fewer than k + 1 steps, and for k > d.

    >>> from proofs_checks.experiments.networks import data, protocol, reference
    >>> sets = protocol.split(data.table("breast_cancer"), protocol.PAPER, 1)
    >>> len(reference_omp(sets, 3, 1, settings=reference.SETTINGS["breast_cancer"]))
    3
    """
    chosen, d = gradients or Gradients(), sets.X.shape[1]
    rows = rows_of(sets.X, sets.y)
    batches = Batches(rows, settings.batch_size)
    steps = len(batches) * settings.epochs
    if k > d:
        raise ValueError(f"k must be at most the number of features; got k = {k}, {d} features")
    if steps <= k:
        raise ValueError(f"OMP needs a step more than features; got {steps} steps, k = {k}: take more epochs")
    with seeded(seed):
        network, mask = perceptron(d, d, sets.classes), torch.zeros(d)
        inputs: nn.Module = BatchNorm(d) if normalised else nn.Identity()
        stepper = optimizer(settings, AS_RELEASED)([*inputs.parameters(), *network.parameters()])
        through = nn.Sequential(inputs, _Times(mask), network)
        order: list[int] = []
        passes = itertools.chain.from_iterable(batches for _ in range(settings.epochs))
        before = rows
        for step, batch in enumerate(passes):
            if math.ceil(step * k / steps) > len(order):
                random = chosen.random_off or not order
                norms = _norms(network, inputs, before if chosen.one_batch else rows, mask, random)
                norms[order] = -1
                order.append(int(np.argmax(norms.numpy())))  # of equal ones the first
                mask[order[-1]] = 1
            stepper.zero_grad()
            backward(through, batch, cross_entropy, "training on the picks")
            stepper.step()
            before = batch
    return order


def _norms(network: nn.Sequential, inputs: nn.Module, rows: Rows, mask: Tensor, random_off: bool) -> Tensor:
    """(d,) ‖∂L/∂W_j‖₂ with all features passed on, W_j = 0 off S unless `random_off`."""
    first = cast(nn.Linear, network[0])
    W = (first.weight if random_off else first.weight * mask).detach().requires_grad_()
    with torch.no_grad():
        X = inputs(rows.X)
    loss = cross_entropy(network[1:](F.linear(X, W, first.bias)), rows.y).mean()
    return torch.autograd.grad(loss, W)[0].norm(dim=0)


class _Times(nn.Module):
    """x ↦ x∘m, m not trained."""

    def __init__(self, mask: Tensor) -> None:
        super().__init__()
        self._mask = mask

    def forward(self, X: Tensor) -> Tensor:
        return X * self._mask


def reference_mask(
    sets: Sets, k: int, seed: int, *, settings: Settings, normalised: bool = False
) -> list[int]:
    """The k features of the largest mask softmax(mean of g(x) over a batch), trained with the network.

    g has the widths 128, 64, d, and leaky units, of the last layer too. In training it reads the rows after
    the batch normalisation, at the end all training rows as they are; `normalised`: then after it, too.

    >>> from proofs_checks.experiments.networks import data, protocol, reference
    >>> sets = protocol.split(data.table("breast_cancer"), protocol.PAPER, 1)
    >>> len(reference_mask(sets, 3, 1, settings=reference.SETTINGS["breast_cancer"]))
    3
    """
    d = sets.X.shape[1]
    rows = rows_of(sets.X, sets.y)
    batches = Batches(rows, settings.batch_size)
    with seeded(seed):
        network, inputs, mask = perceptron(d, d, sets.classes), BatchNorm(d), _Mask(d)
        through = nn.Sequential(inputs, mask, network)
        stepper = optimizer(settings, AS_RELEASED)(list(through.parameters()))
        for batch in itertools.chain.from_iterable(batches for _ in range(settings.epochs)):
            stepper.zero_grad()
            backward(through, batch, cross_entropy, "training with the mask")
            stepper.step()
        inputs.eval()
        with torch.no_grad():
            shares = mask.shares(inputs(rows.X) if normalised else rows.X)
    return np.argsort(-shares.numpy(), kind="stable")[:k].tolist()  # type: ignore[no-any-return]


class _Mask(nn.Module):
    """x ↦ x∘softmax(mean of g over the batch); weights of Glorot and Bengio (2010), biases 0."""

    def __init__(self, d: int) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        for width, following in itertools.pairwise((d, *MASK_WIDTHS, d)):
            layer = nn.Linear(width, following)
            nn.init.xavier_uniform_(layer.weight)
            nn.init.zeros_(layer.bias)
            layers += [layer, nn.LeakyReLU(MASK_SLOPE)]
        self.g = nn.Sequential(*layers)

    def shares(self, X: Tensor) -> Tensor:
        """(d,) of sum 1."""
        return torch.softmax(self.g(X).mean(dim=0), dim=0)

    def forward(self, X: Tensor) -> Tensor:
        return X * self.shares(X)
