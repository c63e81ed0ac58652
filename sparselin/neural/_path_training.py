"""Training of LassoNet at one λ: Adam for the dense network, proximal steps with momentum for the path.

Let x be the weights, g_t the gradients, α the step size and μ the momentum. A step of the path is

    v_t = μv_{t−1} + g_t,    x_{t+1} = prox_{sλ}(x_t − αv_t),    s = α/(1 − μ),

where prox is LassoNet's proximal operator. For λ = 0 this is the step of torch.optim.SGD. Because (1 − μ)v is
an average of gradients and αv = s(1 − μ)v, this is a proximal step of length s along the average (ProxSGD:
Yang, Yuan, Chatzinotas and Ottersten, ICLR 2020). At a fixed point v = g/(1 − μ) and x = prox_{sλ}(x − sg),
so x is stationary for L + λΣ‖θ_g‖, where L is the loss, and θ_g are the weights of group g in the skip
connection. With prox_{αλ} in place of prox_{sλ}, as in the lassonet package, x would be stationary for the
penalty (1 − μ)λ.
"""

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from sparselin.neural._reduced import ReducedNetwork
from sparselin.neural.settings import LassoNetSettings
from sparselin.neural.training import Loss, Rows, check_finite_loss, forward

# Features that are zero are left out of the tensors once at most this share of the columns is nonzero. Then
# all copies together cost at most 1/(1 − _SHARE) copies of X.
_SHARE = 0.9
_CHUNK = 8192
_CANDIDATES = 32  # the largest number of groups whose gradient at zero is computed, in order of vanishing
_SAME_IN_TRAINING = (
    nn.Sequential, nn.Linear, nn.Flatten, nn.Identity, nn.LayerNorm, nn.ReLU, nn.LeakyReLU, nn.ELU, nn.SELU,
    nn.GELU, nn.SiLU, nn.Tanh, nn.Sigmoid, nn.Softplus, nn.Hardtanh,
)  # fmt: skip

Step = Callable[[Rows, float], None]


@dataclasses.dataclass(eq=False)
class PathTraining:
    """The training of a network reduced to some features: the network, its columns of X, and the steps."""

    reduced: ReducedNetwork
    rows: Rows
    validation: Rows | None
    loss: Loss
    M: float  # infinity switches the hierarchy off, for λ = 0 only
    settings: LassoNetSettings
    order: torch.Generator

    def __post_init__(self) -> None:
        reduced, settings = self.reduced, self.settings
        self.full = not self.rows.cuts(settings.batch_size)
        parts = [m for m in reduced.network.modules() if m is not reduced.given]
        self.decides = self.validation is not None and settings.stop_on == "validation"
        # If True, the loss that decides about stopping is also the loss of the next step.
        self.reuse = self.full and not self.decides and all(type(m) in _SAME_IN_TRAINING for m in parts)
        self.weights = [p for p in reduced.rest if p.ndim > 1]
        self.where = "the dense network"
        self.shorter = 1.0
        self._select()

    def _select(self) -> None:
        """Copy the columns of X that the reduced network reads."""
        self.pending: Tensor | None = None
        self.active = self._active_columns(self.rows)
        self.judged_rows = self.active if self.validation is None else self._active_columns(self.validation)

    def _active_columns(self, rows: Rows) -> Rows:
        """Return the rows restricted to the features of the reduced network."""
        features = self.reduced.features
        return rows if len(features) == self.reduced.n_features else rows.columns(features)

    def compact(self, lam: float) -> None:
        """Remove from the tensors the groups of features that are zero and stay zero in the next step at λ.

        Nothing is changed if the remaining columns would be more than the fraction `_SHARE` of the present
        ones.
        """
        present = self.reduced.present(lam, self.M, 1 - self.settings.momentum)
        if int(present.sum()) > _SHARE * len(present):
            return
        rows = present.nonzero().squeeze(1)
        self.reduced.restrict(rows)
        self.pending = None
        self.active = self.active.columns(rows)
        self.judged_rows = self.active if self.validation is None else self.judged_rows.columns(rows)

    def restore(self, kept: dict[str, Any]) -> None:
        """Restore the network from a snapshot."""
        self.reduced.restore(kept)
        self._select()

    def penalty(self, lam: float) -> float:
        """Return λΣ‖θ_g‖ + l2·‖V‖².

        θ_g are the weights of group g in the skip connection. V are all weights except those of the skip
        connection and the first layer.
        """
        value = lam * float(self.reduced.group_norms().sum(dtype=torch.float64)) if lam else 0.0
        if self.settings.l2:
            value += self.settings.l2 * sum(float(p.detach().square().sum()) for p in self.weights)
        return value

    def objective(self, lam: float) -> float:
        """Return the objective whose values end the training.

        The objective is computed on the validation rows if the settings say so, else on the training rows.
        """
        if self.reuse:
            self.reduced.network.train()
            self.pending = self.active.mean(self.loss, self.reduced.outputs(self.active.X))
            value = self.pending.item()
        else:
            value = self.mean_loss(self.judged_rows if self.decides else self.active)
        check_finite_loss(value, self.where)
        return float(value) + self.penalty(lam)

    def mean_loss(self, rows: Rows) -> float:
        """Return the mean loss on rows that hold the active columns only, in evaluation mode."""
        self.reduced.network.eval()
        n = len(rows)
        total = 0.0
        with torch.no_grad():
            for start in range(0, n, _CHUNK):
                chunk = rows.at(slice(start, start + _CHUNK))
                value = chunk.mean(self.loss, self.reduced.outputs(chunk.X))
                total += value.item() * len(chunk) / n
        return total

    def gradients(self, batch: Rows) -> list[Tensor]:
        """Return the gradients of the smooth part of the objective in U and in the other parameters.

        U are the weights of the features: first layer and skip connection.
        """
        value = self.pending
        if value is None:
            value = batch.mean(self.loss, forward(self.reduced.outputs, batch.X))
            check_finite_loss(value.item(), self.where)
        self.pending = None
        by = [self.reduced.U, *self.reduced.rest]
        found = list(torch.autograd.grad(value, by, allow_unused=True, materialize_grads=True))
        if self.settings.l2:
            for i, p in enumerate(self.reduced.rest, 1):
                if p.ndim > 1:
                    found[i] = found[i] + 2 * self.settings.l2 * p.detach()
        return found

    def proximal(self, batch: Rows, lam: float) -> None:
        """Make one proximal step with momentum; the docstring of the module gives the formula."""
        reduced = self.reduced
        step = self.settings.learning_rate[1] * self.shorter
        found = self.gradients(batch)
        points = [reduced.U.detach(), *(p.detach() for p in reduced.rest)]
        velocity = [reduced.velocity, *reduced.rest_velocity]
        torch._foreach_mul_(velocity, self.settings.momentum)
        torch._foreach_add_(velocity, found)
        torch._foreach_add_(points, velocity, alpha=-step)
        reduced.shrink(step / (1 - self.settings.momentum) * lam, self.M)

    def adam(self) -> Step:
        """Return a function that makes a step of Adam, followed by the proximal operator at λ = 0.

        Let θ_g and W_g be the weights of group g in the skip connection and in the first layer, and M the
        hierarchy coefficient. The operator enforces ‖W_g‖∞ ≤ M‖θ_g‖₂ from the first step on.
        """
        by = [self.reduced.U, *self.reduced.rest]
        optimizer = torch.optim.Adam(by, lr=self.settings.learning_rate[0])

        def step(batch: Rows, lam: float) -> None:
            for p, g in zip(by, self.gradients(batch), strict=True):
                p.grad = g
            optimizer.step()
            optimizer.zero_grad()
            if np.isfinite(self.M):
                self.reduced.shrink(lam, self.M)

        return step

    def run(self, step: Step, lam: float, epochs: int, patience: int | None) -> int:
        """Train for at most `epochs` epochs at λ, and return the number of epochs that were made.

        The training ends early once `patience` epochs in a row have not lowered the objective below `tol`
        times its best value. With patience = None it does not end early.

        step : a function that makes a step with a batch.
        """
        best = self.objective(lam)
        kept, least = (self.reduced.snapshot(), best) if self.settings.backtrack else (None, best)
        since = used = 0
        while used < epochs and since != patience:
            self.reduced.network.train()
            for batch in self.active.batches(self.settings.batch_size, self.order):
                step(batch, lam)
            used += 1
            if lam:
                self.compact(lam)
            value = self.objective(lam)
            if kept is not None and value < least:
                kept = self.reduced.snapshot()
                least = value
            since += 1
            if value < best - (1 - self.settings.tol) * abs(best):
                best = value
                since = 0
        if kept is not None:
            self.restore(kept)
        return used

    def train_at(self, lam: float) -> dict[str, Any]:
        """Train at λ; bring back the groups that are not stationary at zero, and continue the training.

        A step that is too long can carry the weights of a group to zero although zero is not stationary. So
        the steps of further rounds are shorter. Returns five numbers: λ; the loss; the number of epochs; the
        number of features that came back; and the largest ‖∇_{θ_g}L‖₂ + M‖∇_{W_g}L‖₁ of a zero group g,
        divided by λ. Here L is the loss, θ_g and W_g are the weights of group g in the skip connection and in
        the first layer, and M is the hierarchy coefficient.
        """
        self.where = f"λ = {lam:.4g}"
        self.shorter = 1.0
        epochs, patience = self.settings.epochs[1], self.settings.patience[1]
        used = self.run(self.proximal, lam, epochs, patience)
        returns = 0
        for left in range(self.settings.rounds, -1, -1):
            loss, gradient = self.reduced.full_pass(self.rows, self.loss, self.active.X)
            check_finite_loss(loss, self.where)
            pull = self.reduced.pull(gradient, self.M)
            pull = torch.where(self.reduced.group_norms() == 0, pull, 0)
            wanted = (pull > lam)[self.reduced.label] & self.reduced.absent()
            if not left or not wanted.any():
                break
            features = wanted.nonzero().squeeze(1)
            returns += len(features)
            self.shorter /= 4
            # the velocity that a constant gradient would have built up
            self.reduced.admit(features, gradient[features] / (1 - self.settings.momentum))
            self._select()
            used += self.run(self.proximal, lam, epochs, patience)
        excess = float(pull.max()) / lam if pull.numel() else 0.0
        return {"lam": lam, "loss": loss, "epochs": used, "returns": returns, "excess": excess}

    def dense(self) -> dict[str, Any]:
        """Train the dense network, with all features and λ = 0; return the same fields as `train_at`."""
        used = self.run(self.adam(), 0.0, self.settings.epochs[0], self.settings.patience[0])
        loss = self.mean_loss(self.active)
        check_finite_loss(loss, self.where)
        return {"lam": 0.0, "loss": loss, "epochs": used, "returns": 0, "excess": 0.0}

    def row(self, found: dict[str, Any]) -> dict[str, Any]:
        """Return the row of the path for a λ, from the present network.

        found : the result of `train_at` or `dense`, to which the row adds its fields.
        """
        reduced = self.reduced
        theta = np.zeros((reduced.n_features, reduced.q))
        theta[reduced.features.cpu().numpy()] = reduced.U.detach()[:, reduced.K :].double().cpu().numpy()
        mask = theta.any(axis=1)
        judged = np.nan if self.validation is None else self.mean_loss(self.judged_rows)
        return {
            **found,
            "objective": found["loss"] + self.penalty(found["lam"]),
            "validation_loss": judged,
            "n_selected": int(mask.sum()),
            "mask": mask,
            "theta_norm": np.linalg.norm(theta, axis=1),
        }


def first_lambda(training: PathTraining, growth: float) -> float:
    """Return the first λ of a path.

    It is the result of `_lambda_start` for the dense network, or less. While the training at this λ makes
    more than a tenth of the groups zero, λ is divided by 4, at most five times. The network is restored
    before each new training.
    """
    lam = _lambda_start(training, growth)
    reduced = training.reduced
    kept = training.reduced.snapshot()
    order = training.order.get_state()
    count = int((reduced.group_norms() > 0).sum())
    for _ in range(5):
        training.where = f"λ = {lam:.4g}"
        training.run(training.proximal, lam, training.settings.epochs[1], training.settings.patience[1])
        alive = int((reduced.group_norms() > 0).sum())
        training.restore(kept)
        training.order.set_state(order)
        if alive >= 0.9 * count:
            break
        lam /= 4
    return lam


def _lambda_start(training: PathTraining, growth: float) -> float:
    """Return half of the λ at which the weights of a first group are expected to become zero.

    The result is 1 if all weights are zero. Group g has the weights u_g = (W_g, θ_g), with θ_g in the skip
    connection and W_g in the first layer. L is the loss, and M the hierarchy coefficient. In the training at
    λ the weights of group g become zero, and stay zero, only if two conditions hold.

    First, the weights can reach zero. Without a gradient from L, proximal steps of total length τ at λ take
    u_g to zero if and only if ‖θ_g‖₂ + M‖W_g‖₁ ≤ τλ (`lasso.hierarchical_prox`; the lengths of several steps
    add up). How large is τ? A step has length α/(1 − μ) with the step size α and the momentum μ, and the
    steps at the earlier values of λ count too. With T steps at each of λ, λ/γ, λ/γ², … (γ is `growth`) the
    sum is λτ = λ·αT/(1 − μ)·γ/(γ − 1). T is the number of steps in all epochs at a λ. Patience does not end
    these epochs early, because the objective falls while all weights shrink. If T were chosen smaller, the
    first λ would be too large: the weights of all features would reach zero at nearly the same λ, before the
    rest of the network has adapted.

    Second, the weights stay at zero. With the rest of the network fixed, u_g = 0 is stationary if and only if
    ‖∇_{θ_g}L‖₂ + M‖∇_{W_g}L‖₁ ≤ λ at u_g = 0.

    Each condition gives a lower bound on λ. So the weights of a group are expected to become zero at the
    larger of the two bounds. The path begins at half of the least such λ over all groups. This number is
    neither zero nor NaN unless all weights are zero.
    """
    reduced, settings = training.reduced, training.settings
    batches = len(training.rows.cuts(settings.batch_size)) + 1
    steps = batches * settings.epochs[1]
    length = settings.learning_rate[1] * steps / (1 - settings.momentum) * growth / (growth - 1)
    bounds = reduced.pull(reduced.U.detach(), training.M) / length
    living = torch.zeros_like(bounds).index_add_(0, reduced.label, training.rows.X.abs().amax(dim=0)) > 0
    chosen = torch.where(living & (bounds > 0), bounds, torch.inf)
    best = np.inf
    for g in chosen.argsort()[:_CANDIDATES].tolist():
        if not float(chosen[g]) < best:
            break
        best = min(best, max(float(chosen[g]), _pull_at_zero(training, g)))
    if best == np.inf:
        best = float(bounds.max())
    return best / 2 if best > 0 else 1.0


def _pull_at_zero(training: PathTraining, g: int) -> float:
    """Return ‖∇_{θ_g}L‖₂ + M‖∇_{W_g}L‖₁ at θ_g = 0, W_g = 0, for group g.

    L is the loss, θ_g and W_g are the weights of the group in the skip connection and in the first layer, and
    M is the hierarchy coefficient. All features must be present.
    """
    reduced, rows = training.reduced, training.rows
    members = (reduced.label == g).nonzero().squeeze(1)
    columns = rows.X[:, members]
    U = reduced.U.detach()
    Z = (rows.X @ U - columns @ U[members]).requires_grad_()
    reduced.network.eval()
    value = rows.mean(training.loss, reduced.outputs_from(Z))
    gradient = columns.t() @ torch.autograd.grad(value, Z)[0]
    theta, W = gradient[:, reduced.K :], gradient[:, : reduced.K]
    return float(theta.square().sum().sqrt() + training.M * W.abs().sum())
