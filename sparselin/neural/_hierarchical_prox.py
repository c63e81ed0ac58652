"""LassoNet's proximal operator on tensors, in place: the kernel on the CPU, its formula in PyTorch elsewhere.

`sparselin.lasso.hierarchical_prox` derives it. Feasibility is exact: ‖W_g‖∞ ≤ M‖θ_g‖ for the floats that are
left.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from sparselin.lasso.hierarchical_prox import norm_slack, rounded_down, shrink_in_place


def shrink_groups(U: Tensor, K: int, groups: Sequence[Tensor] | None, lam: float, M: float) -> None:
    """Overwrite the rows [W_j | θ_j] of U (a, K + q) with the operator's, group by group.

    groups : (G, s) numbers of rows for each size s that a group has; None if each row is one.
    """
    if groups is None:
        shrink(U[:, K:], U[:, :K], lam, M)
        return
    for rows in groups:
        part = U[rows]
        G, s = rows.shape
        theta, W = part[:, :, K:].reshape(G, -1), part[:, :, :K].reshape(G, -1)
        shrink(theta, W, lam, M)
        U[rows] = torch.cat([W.view(G, s, -1), theta.view(G, s, -1)], dim=2)


def shrink(theta: Tensor, W: Tensor, lam: float, M: float) -> None:
    """Overwrite theta (G, p) and W (G, K), one group a row, with `group_hier_prox` of them."""
    if theta.device.type == "cpu":
        shrink_in_place(theta.numpy(), W.numpy(), lam, M)
    else:
        shrink_by_torch(theta, W, lam, M)


def shrink_by_torch(theta: Tensor, W: Tensor, lam: float, M: float) -> None:
    """`shrink` on any device: t = max(0, max_m t_m) from sorted |W|, in float64."""
    dtype = np.dtype(str(theta.dtype).removeprefix("torch."))
    M = rounded_down(M, dtype)
    v, w = theta.double(), W.double()
    norm = torch.linalg.vector_norm(v, dim=1, keepdim=True)
    sums = torch.cumsum(w.abs().sort(dim=1, descending=True).values, dim=1)
    sums = torch.cat([torch.zeros_like(norm), sums], dim=1)
    m = torch.arange(sums.shape[1], dtype=torch.float64, device=sums.device)
    t = ((norm - lam + M * sums) / (1 + m * M**2)).amax(dim=1, keepdim=True).clamp(min=0)
    first = torch.zeros_like(v)
    first[:, 0] = 1
    theta.copy_(torch.where(norm > 0, v / norm.clamp(min=torch.finfo(torch.float64).tiny), first) * t)
    # M‖θ‖ of the rounded θ, below it by what its own evaluation may err, and rounded down to the dtype of W.
    slack = max(norm_slack(theta.shape[1], dtype), 4 * float(np.finfo(np.float64).eps))
    bound = M * torch.linalg.vector_norm(theta.double(), dim=1, keepdim=True) * (1 - slack)
    level = bound.to(W.dtype)
    level = torch.where(level.double() > bound, torch.nextafter(level, torch.zeros_like(level)), level)
    W.copy_(torch.maximum(torch.minimum(W, level), -level))
