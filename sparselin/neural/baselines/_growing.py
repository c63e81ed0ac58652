"""A network that sees some features: all others have rows W_j = 0, and cost nothing while it is trained."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from sparselin.neural.baselines._data import PreparedData
from sparselin.neural.baselines._fit import fit, row_gradients
from sparselin.neural.networks import mlp
from sparselin.neural.training import Plan, Rows
from sparselin.results import FloatArray

# Gradients below this multiple of eps times their bound without features are zero.
_ZERO = 100


class GrowingNetwork:
    """A perceptron on m features, of which S, empty at first, have rows W_j ≠ 0.

    A feature that joins starts from the row that was drawn for it, not from zero: a hidden unit of negative
    bias whose rows are all zero is zero for all x, has no gradient, and would stay so.
    """

    def __init__(self, data: PreparedData, hidden: Sequence[int], generator: torch.Generator) -> None:
        self.rows, self.loss, self.generator = data.rows, data.loss, generator
        self.network = mlp(len(data.kept), hidden, data.q, dtype=self.rows.X.dtype)
        self.first: nn.Linear = self.network[0]
        self.drawn = self.first.weight.detach().clone()
        self.S: list[int] = []
        self.keep()
        self.floor = _ZERO * torch.finfo(self.rows.X.dtype).eps * self._bound()

    @torch.no_grad()
    def keep(self) -> None:
        """All rows but those of S become zero."""
        outside = np.setdiff1d(np.arange(self.first.in_features), self.S)
        self.first.weight[:, outside] = 0

    @torch.no_grad()
    def add(self, j: int) -> None:
        self.first.weight[:, j] = self.drawn[:, j]
        self.S.append(j)

    def train(self, plan: Plan) -> None:
        """Minimise the loss over the rows of S and all later layers."""
        part = _Part(self.first, self.network[1:], self.S)
        rows = Rows(self.rows.X[:, self.S], self.rows.y, self.rows.weight)
        fit(part, rows, self.loss, plan, self.generator, f"{len(self.S)} features")
        with torch.no_grad():
            self.first.weight[:, self.S] = part.weight

    def gradients(self) -> FloatArray:
        """(m,) ‖∂L/∂W_j‖₂ over all rows of X, −1 for j ∈ S; empty where all others are zero to rounding."""
        norms = row_gradients(self.network, self.first, self.rows, self.loss).norm(dim=0)
        norms[self.S] = -1
        return norms.numpy() if float(norms.max()) > self.floor else np.zeros(0)

    def _bound(self) -> float:
        """A bound on all ‖∂L/∂W_j‖ without features: they are ‖(1/n)Σ_i x_ij·δ_i‖, δ_i = ∂ℓ_i/∂(the inputs of
        the hidden units), at most rms(x_j)·rms(‖δ_i‖)."""
        inputs = self.first.bias.detach().expand(len(self.rows), -1).clone().requires_grad_()
        value = self.rows.mean(self.loss, self.network[1:](inputs))
        deltas = torch.autograd.grad(value, inputs)[0]
        longest = self.rows.X.square().mean(dim=0).max().sqrt()
        return float(longest * deltas.norm() * len(self.rows) ** 0.5)


class _Part(nn.Module):
    """The network on the columns of S: later layers are its own, W a copy."""

    def __init__(self, first: nn.Linear, later: nn.Module, S: list[int]) -> None:
        super().__init__()
        self.weight = nn.Parameter(first.weight.detach()[:, S].clone())
        self.bias, self.later = first.bias, later

    def forward(self, X: Tensor) -> Tensor:
        return self.later(F.linear(X, self.weight, self.bias))
