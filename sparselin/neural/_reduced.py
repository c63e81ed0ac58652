"""A network with a skip connection, reduced to the features with nonzero weights.

The other features are tested: those for which zero weights are not stationary must come back.

Let u_j = [W_j | θ_j] ∈ ℝᴷ⁺ᵠ be the weights of feature j: W_j in the first layer, θ_j in the skip connection.
The network reads X only through Z = XU (n, K + q), where U has the rows u_j. The first layer adds its bias to
the first K columns of Z, and the other columns are the skip connection. A feature with u_j = 0 adds nothing
to Z. So training on the columns A of X and the rows A of U is the same as training with all features, as long
as the absent features stay zero. Let L be the loss and D = ∇_Z L (n, K + q). Then ∇_{u_j}L = Dᵀx_j, so one
pass over the rows gives the gradients of all features, absent ones included.

A group g whose weights are zero is stationary if and only if, with the hierarchy coefficient M,

    ‖∇_{θ_g}L‖₂ + M‖∇_{W_g}L‖₁ ≤ λ.

The reason is that a proximal step of length s maps 0 to the value of the proximal operator for sλ at (−s∇_θ,
−s∇_W). This value is zero if and only if ‖s∇_θ‖ + M‖s∇_W‖₁ ≤ sλ (`lasso.hierarchical_prox`), which is the
same condition for every s. If the condition is violated, the objective can be decreased: along
θ_g = −t∇_θ/‖∇_θ‖, W_g = −tM·sign(∇_W) the derivative of the objective at t = 0 is λ − ‖∇_θ‖ − M‖∇_W‖₁ < 0.

The proximal operator changes tensors in place, by a kernel on the CPU, and by a formula in PyTorch on other
devices. The constraint ‖W_g‖∞ ≤ M‖θ_g‖ holds exactly for the resulting floats.
"""

import copy
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from sparselin.lasso.hierarchical_prox import norm_slack, round_down, shrink_in_place
from sparselin.neural.networks import SkipNetwork, first_linear
from sparselin.neural.training import Loss, Rows

_CHUNK = 8192  # the number of rows at a time in a pass without training


class _Given(nn.Module):
    """A substitute for the first layer W: it ignores its input X, and adds the bias to given products XW."""

    def __init__(self, bias: nn.Parameter | None) -> None:
        super().__init__()
        self.bias = bias
        self.value = torch.empty(0)

    def forward(self, _: Tensor) -> Tensor:
        return self.value if self.bias is None else self.value + self.bias


class ReducedNetwork:
    """A network with a skip connection, restricted to some of the features, which are called present.

    The given network is not modified.

    features : (a,) the present features, ascending.
    U : (a, K + q) the weights from these features to the K units of the first layer and the q outputs.
    rest : all other parameters.
    velocity, rest_velocity : the sums of gradients that momentum stores, for U and for the rest.
    """

    def __init__(self, model: SkipNetwork, groups: Sequence[Sequence[int]] | None = None) -> None:
        model = copy.deepcopy(model)
        d, self.q = model.skip.in_features, model.skip.out_features
        self.name, first = first_linear(model.network, d)
        self.K = first.out_features
        self.n_features = d
        self.U = torch.cat([first.weight.detach().t(), model.skip.weight.detach().t()], dim=1).contiguous()
        self.U.requires_grad_()
        self.given = _Given(first.bias)
        self.network = _replace(model.network, self.name, self.given)
        self.rest = [p for p in self.network.parameters() if p.requires_grad]
        self.features = torch.arange(d, device=self.U.device)
        self.label = torch.arange(d)
        self.grouped = groups is not None
        for number, members in enumerate(groups or ()):
            self.label[list(members)] = number
        self.n_groups = d if groups is None else len(groups)
        self.label = self.label.to(self.U.device)
        self.velocity = torch.zeros_like(self.U)
        self.rest_velocity = [torch.zeros_like(p) for p in self.rest]
        self._blocks: list[Tensor] | None = None
        self._arrange()

    def _arrange(self) -> None:
        """Collect the numbers of the rows of U that belong to each group of features.

        There is one array (groups, size) for each group size.
        """
        if not self.grouped:
            return
        label = self.label[self.features].cpu().numpy()
        order = np.argsort(label, kind="stable")
        parts = np.split(order, np.flatnonzero(np.diff(label[order])) + 1) if order.size else []
        sizes = sorted({len(part) for part in parts})
        stacks = (np.stack([part for part in parts if len(part) == size]) for size in sizes)
        self._blocks = [torch.as_tensor(stack, device=self.U.device) for stack in stacks]

    def outputs(self, X: Tensor) -> Tensor:
        """Return the outputs (b, q) for rows X (b, a) that have only the columns of the present features."""
        return self.outputs_from(X @ self.U)

    def outputs_from(self, Z: Tensor) -> Tensor:
        """Return the outputs (b, q) for rows of Z = XU (b, K + q).

        The network is called with NaN in place of X: if it read X in another way than through Z, the outputs
        would be NaN.
        """
        self.given.value = Z[:, : self.K]
        absent = Z.new_full((1, 1), float("nan")).expand(len(Z), self.n_features)
        output: Tensor = self.network(absent)
        self.given.value = torch.empty(0)
        return Z[:, self.K :] + output

    def group_norms(self) -> Tensor:
        """Return for each group the norm of its weights in the skip connection; absent groups have zero."""
        squares = self.U.detach()[:, self.K :].square().sum(dim=1)
        return self.group_sums(squares, self.label[self.features]).sqrt()

    def shrink(self, lam: float, M: float) -> None:
        """Apply LassoNet's proximal operator to the weights U of the features, in place."""
        U = self.U.detach()
        K = self.K
        if self._blocks is None:
            return shrink(U[:, K:], U[:, :K], lam, M)
        for rows in self._blocks:
            block = U[rows]
            G, s = rows.shape
            theta = block[:, :, K:].reshape(G, -1)
            W = block[:, :, :K].reshape(G, -1)
            shrink(theta, W, lam, M)
            U[rows] = torch.cat([W.view(G, s, -1), theta.view(G, s, -1)], dim=2)

    def present(self, lam: float, M: float, share: float) -> Tensor:
        """Return a mask of the rows of U whose group is nonzero, or may be nonzero after the next step.

        U are the weights of the features.

        share : 1 − μ, where μ is the momentum. This factor turns the velocity into an average of gradients. A
            zero group stays zero in the next step if the condition for stationary groups holds with this
            average in place of the gradient.
        """
        label = self.label[self.features]
        theta = self.U.detach()[:, self.K :]
        alive = self.group_sums((theta != 0).any(dim=1).to(theta), label) > 0
        if bool(alive[label].all()):
            return alive[label]
        return (alive | (share * self.pull(self.velocity, M, label) > lam))[label]

    def restrict(self, rows: Tensor) -> None:
        """Keep only these rows of the weights U and of their velocity; the other features become absent."""
        with torch.no_grad():
            self.U = self.U[rows].contiguous().requires_grad_()
        self.velocity = self.velocity[rows].contiguous()
        self.features = self.features[rows]
        self._arrange()

    def admit(self, features: Tensor, velocity: Tensor) -> None:
        """Add absent features to the network, in place.

        The weights U get rows of zeros, and the velocity gets the given rows.

        features : (m,) the indices of features that are absent.
        velocity : (m, K + q) the rows of the velocity for these features.
        """
        together, order = torch.cat([self.features, features]).sort()
        pad = self.U.detach().new_zeros((len(features), self.U.shape[1]))
        self.U = torch.cat([self.U.detach(), pad])[order].requires_grad_()
        self.velocity = torch.cat([self.velocity, velocity])[order]
        self.features = together
        self._arrange()

    def absent(self) -> Tensor:
        """Return a mask (d,) of the absent features."""
        everything = torch.ones(self.n_features, dtype=torch.bool, device=self.features.device)
        return everything.index_fill(0, self.features, False)

    def full_pass(self, rows: Rows, loss: Loss, columns: Tensor) -> tuple[float, Tensor]:
        """Return the loss L on all rows and its gradients in the weights of all features, in evaluation mode.

        The gradients are a matrix (d, K + q), where K is the number of units of the first layer and q that of
        the outputs. Row j is ∇_{u_j}L, where u_j are the weights of feature j in the first layer and in the
        skip connection.

        rows : the rows, with all features.
        columns : (n, a) the columns of the present features.
        """
        self.network.eval()
        n = len(rows)
        total = 0.0
        gradient = self.U.new_zeros((self.n_features, self.U.shape[1]))
        for start in range(0, n, _CHUNK):
            part = slice(start, start + _CHUNK)
            Z = (columns[part] @ self.U).detach().requires_grad_()
            chunk = rows.at(part)
            value = chunk.mean(loss, self.outputs_from(Z)) * (len(chunk) / n)
            total += value.item()
            gradient.addmm_(chunk.X.t(), torch.autograd.grad(value, Z)[0])
        return total, gradient

    def pull(self, gradient: Tensor, M: float, label: Tensor | None = None) -> Tensor:
        """Return ‖∇_{θ_g}L‖₂ + M‖∇_{W_g}L‖₁ for each group g of features.

        θ_g and W_g are the weights of group g in the skip connection and in the first layer, L is the loss,
        and M the hierarchy coefficient.

        gradient : (·, K + q) the gradient of L in the weights of a feature, one feature in each row.
        label : (·,) the group of each row of `gradient`; by default the rows are all d features.
        """
        label = self.label if label is None else label
        squares = self.group_sums(gradient[:, self.K :].square().sum(dim=1), label)
        return squares.sqrt() + M * self.group_sums(gradient[:, : self.K].abs().sum(dim=1), label)

    def group_sums(self, values: Tensor, label: Tensor) -> Tensor:
        """Return, for each group, the sum of the values (·,) of its features."""
        return values.new_zeros(self.n_groups).index_add_(0, label, values)

    def state(self) -> tuple[tuple[str, np.ndarray], ...]:
        """Return the state of the network with all features, as NumPy arrays.

        Absent features have zero weights.
        """
        full = self.U.new_zeros((self.n_features, self.U.shape[1]))
        full[self.features] = self.U.detach()
        first = f"network.{self.name}." if self.name else "network."
        state = {f"network.{name}": value for name, value in self.network.state_dict().items()}
        state = {f"{first}weight": full[:, : self.K].t(), "skip.weight": full[:, self.K :].t(), **state}
        return tuple((name, np.array(value.detach().cpu().numpy())) for name, value in state.items())

    def snapshot(self) -> dict[str, Any]:
        """Return a copy of everything that training changes."""
        names = ("U", "velocity", "rest_velocity", "features")
        kept = {name: copy.deepcopy(getattr(self, name)) for name in names}
        return {**kept, "network": copy.deepcopy(self.network.state_dict())}

    def restore(self, kept: dict[str, Any]) -> None:
        """Restore the state of a `snapshot`; the snapshot is not changed."""
        kept = copy.deepcopy(kept)
        self.network.load_state_dict(kept.pop("network"))
        vars(self).update(kept)
        self._arrange()


def check_reads_through_first(model: SkipNetwork, reduced: ReducedNetwork, X: Tensor) -> None:
    """Raise ValueError unless the network reads X through its first layer only, and reads it unchanged."""
    few = X[:8]
    training = model.training
    model.eval()
    reduced.network.eval()
    with torch.no_grad():
        expected = model(few)
        found = reduced.outputs(few)
    model.train(training)
    scale = expected.abs().max() + few.abs().max() * reduced.U.abs().sum(dim=0).max()
    tolerance = 1e3 * torch.finfo(expected.dtype).eps * scale
    if expected.shape != found.shape or not bool(((expected - found).abs() <= tolerance).all()):
        raise ValueError(
            "network must read X through its first linear layer, once, unchanged, and nowhere else, so that "
            "features with zero weights there can be left out"
        )


def _replace(network: nn.Module, name: str, module: nn.Module) -> nn.Module:
    """Replace the submodule of this name and return the network; for an empty name return `module`."""
    if not name:
        return module
    parent, _, last = name.rpartition(".")
    setattr(network.get_submodule(parent), last, module)
    return network


def shrink(theta: Tensor, W: Tensor, lam: float, M: float) -> None:
    """Apply `group_hier_prox` to theta (G, p) and W (G, K), in place, with one group in each row."""
    if theta.device.type == "cpu":
        shrink_in_place(theta.numpy(), W.numpy(), lam, M)
    else:
        shrink_by_torch(theta, W, lam, M)


def shrink_by_torch(theta: Tensor, W: Tensor, lam: float, M: float) -> None:
    """Apply `group_hier_prox` to theta (G, p) and W (G, K), in place, on any device, by a formula in float64.

    For one group let θ and W be its rows. Let t_m = (‖θ‖ − λ + M·s_m)/(1 + mM²), where s_m is the sum of the
    m largest |W_k|, m = 0, …, K. The new ‖θ‖ is max(0, max_m t_m), and W is clipped to M times this norm.
    """
    dtype = np.dtype(str(theta.dtype).removeprefix("torch."))
    M = round_down(M, dtype)
    v, w = theta.double(), W.double()
    norm = torch.linalg.vector_norm(v, dim=1, keepdim=True)
    sums = torch.cumsum(w.abs().sort(dim=1, descending=True).values, dim=1)
    sums = torch.cat([torch.zeros_like(norm), sums], dim=1)
    m = torch.arange(sums.shape[1], dtype=torch.float64, device=sums.device)
    t = ((norm - lam + M * sums) / (1 + m * M**2)).amax(dim=1, keepdim=True).clamp(min=0)
    first = torch.zeros_like(v)
    first[:, 0] = 1
    theta.copy_(torch.where(norm > 0, v / norm.clamp(min=torch.finfo(torch.float64).tiny), first) * t)
    # M‖θ‖ of the rounded θ, less a bound on its own rounding error, and rounded down to the dtype of W.
    slack = max(norm_slack(theta.shape[1], dtype), 4 * torch.finfo(torch.float64).eps)
    bound = M * torch.linalg.vector_norm(theta.double(), dim=1, keepdim=True) * (1 - slack)
    level = bound.to(W.dtype)
    level = torch.where(level.double() > bound, torch.nextafter(level, torch.zeros_like(level)), level)
    W.copy_(torch.maximum(torch.minimum(W, level), -level))
