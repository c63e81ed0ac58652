"""At which λ a path begins, from the dense network.

A feature leaves in the training at λ only if two things hold.

Its weights can get to zero: with no gradient from L, proximal steps of total length τ at λ take u_g to zero
if and only if ‖θ_g‖₂ + M‖W_g‖₁ ≤ τλ (`lasso.hierarchical_prox`; of several steps the lengths add up). A step
has length α/(1 − μ), and the steps at the λ's before count too: with T steps at each of λ, λ/γ, λ/γ², … it
is λτ = λ·αT/(1 − μ)·γ/(γ − 1). T is that of all epochs at a λ. Patience ends them no earlier: while all
weights shrink, the objective falls. A start for fewer steps is too high: the weights of all features reach
zero at nearly the same λ, before the rest of the network has adapted.

And zero keeps it: the group is stationary at zero, the rest of the network being as it is, if and only if
‖∇_{θ_g}L‖₂ + M‖∇_{W_g}L‖₁ ≤ λ at u_g = 0.

The least λ at which both hold for some group, the larger of the two bounds, is when the first is expected to
leave. The path begins at half of that. It is neither zero nor NaN unless all weights are zero.
"""

from __future__ import annotations

import torch

from sparselin.neural._path_training import PathTraining
from sparselin.neural._reduced import ReducedNetwork
from sparselin.neural.training import Loss, Rows

_CANDIDATES = 32  # groups whose gradient at zero is computed at most, those first whose weights vanish first


def lambda_start(training: PathTraining, growth: float) -> float:
    """Half of the λ at which the first group is expected to leave; 1 where all weights are zero already."""
    reduced, settings = training.reduced, training.settings
    batches = len(training.rows.cuts(settings.batch_size)) + 1
    steps = batches * settings.epochs[1]
    length = settings.learning_rate[1] * steps / (1 - settings.momentum) * growth / (growth - 1)
    reach = reduced.pull(reduced.U.detach(), training.M) / length
    living = torch.zeros_like(reach).index_add_(0, reduced.label, training.rows.X.abs().amax(dim=0)) > 0
    chosen = torch.where(living & (reach > 0), reach, torch.inf)
    best = float("inf")
    for g in chosen.argsort()[:_CANDIDATES].tolist():
        if not float(chosen[g]) < best:
            break
        kept = pull_at_zero(reduced, training.rows, training.loss, training.M, g)
        best = min(best, max(float(chosen[g]), kept))
    if best == float("inf"):
        best = float(reach.max())
    return best / 2 if best > 0 else 1.0


def pull_at_zero(reduced: ReducedNetwork, rows: Rows, loss: Loss, M: float, g: int) -> float:
    """‖∇_{θ_g}L‖₂ + M‖∇_{W_g}L‖₁ at u_g = 0; all features have to be present."""
    members = (reduced.label == g).nonzero().squeeze(1)
    columns = rows.X[:, members]
    Z = rows.X @ reduced.U.detach() - columns @ reduced.U.detach()[members]
    Z.requires_grad_()
    reduced.network.eval()
    value = rows.mean(loss, reduced.output_of(Z))
    gradient = columns.t() @ torch.autograd.grad(value, Z)[0]
    theta, W = gradient[:, reduced.K :], gradient[:, : reduced.K]
    return float(theta.square().sum().sqrt() + M * W.abs().sum())
