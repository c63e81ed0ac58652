"""Training again on selected features, without a penalty."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from sparselin.neural import _border as border
from sparselin.neural._path_training import PathTraining
from sparselin.neural._reduced import ReducedNetwork
from sparselin.neural.lassonet import prepare, settings_of
from sparselin.neural.networks import SkipNetwork, first_linear
from sparselin.neural.training import Loss, Rows, as_loss, backward, seeded
from sparselin.validation import check_indices


def refit(
    network: SkipNetwork | nn.Module | Sequence[int],
    X: Any,
    y: Any,
    features: Sequence[int],
    *,
    loss: Any,
    learning_rate: float = 1e-3,
    epochs: int = 1000,
    patience: int | None = 100,
    tol: float = 0.99,
    batch_size: int | None = None,
    validation: tuple[Any, ...] | None = None,
    sample_weight: Any = None,
    class_weight: Any = None,
    l2: float = 0.0,
    backtrack: bool = False,
    rng: Any = 0,
) -> SkipNetwork:
    """A skip network that reads X[:, features], trained by Adam without penalty and hierarchy.

    The networks of a path are biased: λ shrinks θ, and M‖θ_j‖ bounds W_j. This is the usual last step.

    network : hidden widths, for new weights, as in the paper's experiments; or a network that reads all d
        features, whose weights of the selected ones are the first. It is not modified.
    features : (k,) indices of columns of X, in the order in which the new network reads them.
    The rest as for `lassonet_path`. Raises what that raises.

    >>> X = torch.tensor([[0.0, 1.0], [0.0, -1.0], [1.0, 2.0], [1.0, 0.0]])
    >>> net = refit([4], X, 3 * X[:, 1], [1], loss="squared", learning_rate=0.1, epochs=300)
    >>> bool((net(X[:, [1]])[:, 0] - 3 * X[:, 1]).abs().max() < 0.2)
    True
    """
    by_rows = as_loss(loss)
    raw = border.as_design(X, "X")
    chosen = check_indices(features, raw.shape[1], "features")
    if not len(chosen):
        raise ValueError("features must hold at least one column; got none")
    once = ((learning_rate, learning_rate), 0.0, (epochs, 1), (patience, patience))
    settings = settings_of(by_rows, 0.0, l2, batch_size, *once, tol, backtrack, "validation")
    settings = settings._replace(M=float("inf"))  # no hierarchy
    if validation is not None:
        X_v, *others = border.triple(validation)
        validation = (border.as_design(X_v, "X_validation")[:, chosen], *others)
    with seeded(rng) as order:
        if isinstance(network, nn.Module):
            whole = border.as_skip_network(network, raw, border.as_tensor(y, "y"), by_rows)
            network = restricted(whole, torch.as_tensor(chosen))
        model, rows, judge = prepare(
            network, raw[:, chosen], y, by_rows, validation, sample_weight, class_weight
        )
        reduced = ReducedNetwork(model)
        border.check_reads_through_first(model, reduced, rows.X)
        PathTraining(reduced, rows, judge, settings, order).dense()
    model = copy.deepcopy(model)
    model.load_state_dict({name: torch.as_tensor(value) for name, value in reduced.state()})
    model.eval()
    return model


def restricted(model: SkipNetwork, features: Tensor) -> SkipNetwork:
    """The network that reads these columns only, in this order, with their weights."""
    model = copy.deepcopy(model)
    _, first = first_linear(model.network, model.skip.in_features)
    for layer in (first, model.skip):
        layer.weight = nn.Parameter(layer.weight.detach()[:, features.to(layer.weight.device)].clone())
        layer.in_features = len(features)
    return model


def constant(rows: Rows, n_outputs: int, loss: Loss) -> nn.Linear:
    """The best network of no features: a bias, by L-BFGS."""
    network = nn.utils.skip_init(nn.Linear, 1, n_outputs).to(rows.X)  # draws no random numbers
    network.weight = nn.Parameter(network.weight.detach()[:, :0])
    network.in_features = 0
    nn.init.zeros_(network.bias)
    nothing = rows.columns([])
    optimizer = torch.optim.LBFGS([network.bias], max_iter=100, line_search_fn="strong_wolfe")

    def closure() -> float:
        optimizer.zero_grad()
        return float(backward(network, nothing, loss, "the training without features").detach())

    optimizer.step(closure)
    return network
