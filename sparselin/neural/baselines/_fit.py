"""The training that the methods share: Adam or L-BFGS, and proximal steps on the rows of W.

The row W_j ∈ ℝᴷ of feature j consists of the weights from x_j to the first layer: a column of
`nn.Linear.weight`. A growing network uses some features only: all other features have rows W_j = 0, and cost
no time in training.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from sparselin.neural.baselines._data import PreparedData
from sparselin.neural.networks import keep_columns
from sparselin.neural.training import Loss, Plan, Rows, adam, backward, lbfgs
from sparselin.results import FloatArray

_AT_ONCE = 4096  # the number of rows whose gradients are computed at a time


def fit(
    network: nn.Module, rows: Rows, loss: Loss, plan: Plan, generator: torch.Generator, where: str
) -> None:
    """Minimise the loss by Adam on batches, or by L-BFGS on all rows if the plan's `batch_size` is None.

    L-BFGS makes at most `plan.epochs` iterations.

    where : the name of this training, for error messages.
    """
    if plan.batch_size is not None:
        return adam(network, rows, loss, plan, generator, where)
    level = 10 * torch.finfo(rows.X.dtype).eps
    stop = {"max_iter": plan.epochs, "tolerance_grad": level, "tolerance_change": 0.0}
    return lbfgs(network, network.parameters(), rows, loss, where, **stop)


class Proximal:
    """Proximal Adam for the objective L(W, V) + Σ_j λ_j‖W_j‖₂ + ½·weight_decay·‖V‖².

    W is the first layer, with a row W_j for each feature j. V, all other parameters, is trained by Adam, and
    W by

        U = W − η·m̂,    W_j ← max(0, 1 − ηλ_j/‖U_j‖₂)·U_j,    η = learning_rate/(√v̂ + ε).

    Here m̂ is Adam's average of gradients, and v̂ is the average of the *mean* of their squares over all of
    W. So v̂ and the step length η are single numbers, and the new W is the exact minimiser of
    ⟨m̂, W⟩ + ‖W − W_old‖²/(2η) + Σ λ_j‖W_j‖₂. (With Adam's own step lengths, one for each entry, there is no
    closed form.) When is a W with m̂ = ∇L a fixed point? For each η, if and only if ∇_jL = −λ_j·W_j/‖W_j‖, or
    ‖∇_jL‖₂ ≤ λ_j if W_j = 0. These are the KKT conditions. A row with ‖U_j‖ ≤ ηλ_j becomes exactly zero.
    """

    def __init__(
        self,
        network: nn.Sequential,
        rows: Rows,
        loss: Loss,
        plan: Plan,
        generator: torch.Generator,
        weight_decay: float = 0.0,
    ) -> None:
        self.network, self.rows, self.loss, self.plan, self.generator = network, rows, loss, plan, generator
        first, *others = network.parameters()
        self.W = first
        self.others = torch.optim.Adam(others, plan.learning_rate, weight_decay=weight_decay)
        self.mean, self.square, self.steps = torch.zeros_like(first), 0.0, 0

    def run(self, level: float, free: Sequence[int] = (), where: str = "") -> Tensor:
        """Make `plan.epochs` passes with λ_j = level, or zero for `free` features; return ‖W_j‖₂ (d,)."""
        lam = torch.full((self.W.shape[1],), level, dtype=self.W.dtype)
        lam[list(free)] = 0
        for _ in range(self.plan.epochs):
            for batch in self.rows.batches(self.plan.batch_size, self.generator):
                self.network.zero_grad()
                place = f"λ = {level:.4g}{where}, step {self.steps + 1}"
                backward(self.network, batch, self.loss, place)
                self.others.step()
                self._move(lam)
        return self.W.detach().norm(dim=0)

    @torch.no_grad()
    def _move(self, lam: Tensor) -> None:
        """Make a proximal step on the first layer W."""
        gradient: Any = self.W.grad
        self.steps += 1
        self.mean.lerp_(gradient, 0.1)
        self.square += 0.001 * (float(gradient.square().mean()) - self.square)
        spread = (self.square / (1 - 0.999**self.steps)) ** 0.5
        eta = self.plan.learning_rate / (spread + 1e-8)
        U = self.W - (eta / (1 - 0.9**self.steps)) * self.mean
        self.W.copy_(shrink_rows(U, eta * lam))


def shrink_rows(V: Tensor, level: Tensor) -> Tensor:
    """Return max(0, 1 − level_j/‖V_j‖₂)·V_j for the columns V_j of V (K, d): the prox of Σ level_j‖V_j‖₂.

    >>> shrink_rows(torch.tensor([[3.0, 0.3, 0.0], [4.0, 0.4, 0.0]]), torch.tensor([1.0, 0.5, 0.0]))
    tensor([[2.4000, 0.0000, 0.0000],
            [3.2000, 0.0000, 0.0000]])
    """
    norms = torch.linalg.vector_norm(V, dim=0)
    keep = torch.where(norms > level, 1 - level / norms.clamp(min=torch.finfo(V.dtype).tiny), 0.0)
    return V * keep


def row_gradients(network: nn.Sequential, rows: Rows, loss: Loss) -> Tensor:
    """Return the gradient ∂L/∂W (K, d) for the first layer W over all rows, computed in chunks of rows."""
    W = next(network.parameters())
    total = torch.zeros_like(W)
    for numbers in torch.arange(len(rows)).split(_AT_ONCE):
        batch = rows.at(numbers)
        value = batch.mean(loss, network(batch.X)) * (len(batch) / len(rows))
        total += torch.autograd.grad(value, W)[0]
    return total


# Gradients count as zero below this multiple of eps times their bound without features: sums over n rows
# have rounding errors of √n·eps, which is less for n up to 10⁴. If the multiple is smaller, rounding errors
# can select a feature; if it is larger, a weak feature is ignored.
_ZERO = 100


class GrowingNetwork:
    """A perceptron on m features in which only the features of a growing set S have rows W_j ≠ 0.

    W_j are the weights from feature j to the first layer. S is empty at first. A feature that joins S starts
    from a row of random weights, not from zero. With zero rows, a hidden unit with negative bias would be
    zero for all x, have no gradient, and stay zero.
    """

    def __init__(self, data: PreparedData, hidden: Sequence[int], generator: torch.Generator) -> None:
        self.rows, self.loss, self.k, self.generator = data.rows, data.loss, data.k, generator
        self.network = data.mlp(hidden)
        self.first: nn.Linear = self.network[0]
        self.drawn = self.first.weight.detach().clone()
        self.S: list[int] = []
        self.scores = np.zeros(len(data.kept), data.X.dtype)
        self.keep()
        self.floor = _ZERO * torch.finfo(self.rows.X.dtype).eps * self._bound()

    @torch.no_grad()
    def keep(self) -> None:
        """Set the rows of the first layer to zero, except the rows of the selected features."""
        outside = np.setdiff1d(np.arange(self.first.in_features), self.S)
        self.first.weight[:, outside] = 0

    @torch.no_grad()
    def add(self, j: int) -> None:
        """Add a feature to the selected set S, with its random row."""
        self.first.weight[:, j] = self.drawn[:, j]
        self.S.append(j)

    def train(self, plan: Plan) -> None:
        """Minimise the loss over the selected rows of the first layer, the bias and all later layers."""
        first = keep_columns(copy.deepcopy(self.first), self.S)
        first.bias = self.first.bias
        network, rows = nn.Sequential(first, *self.network[1:]), self.rows.columns(self.S)
        fit(network, rows, self.loss, plan, self.generator, f"{len(self.S)} features")
        with torch.no_grad():
            self.first.weight[:, self.S] = first.weight

    def gradients(self, plan: Plan) -> Iterator[FloatArray]:
        """Train on S and yield the norms ‖∂L/∂W_j‖₂ (m,) over all rows of X, with −1 for j ∈ S; then repeat.

        S are the selected features, L is the loss, and W_j are the weights from feature j to the first layer.
        The caller adds features to S after each yield. The iteration ends when S has k features, or when all
        norms outside S are zero up to rounding. `scores` holds the last norm of each feature outside S.
        """
        while len(self.S) < self.k:
            self.train(plan)
            norms = row_gradients(self.network, self.rows, self.loss).norm(dim=0)
            norms[self.S] = -1
            if not float(norms.max()) > self.floor:
                break
            self.scores = np.where(norms < 0, self.scores, norms)
            yield norms.numpy()

    def _bound(self) -> float:
        """Return a bound on ‖∂L/∂W_j‖ without selected features; W_j leads from feature j to the first layer.

        ∂L/∂W_j = (1/n)Σ_i x_ij·δ_i, where δ_i is the derivative of the loss of row i with respect to the
        inputs of the hidden units. The norm of this mean is at most rms(x_j)·rms(‖δ_i‖), with the root mean
        squares over i.
        """
        inputs = self.first.bias.detach().expand(len(self.rows), -1).clone().requires_grad_()
        value = self.rows.mean(self.loss, self.network[1:](inputs))
        deltas = torch.autograd.grad(value, inputs)[0]
        longest = self.rows.X.square().mean(dim=0).max().sqrt()
        return float(longest * deltas.norm() * len(self.rows) ** 0.5)
