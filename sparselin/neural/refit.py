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
from sparselin.neural.lassonet import prepare
from sparselin.neural.networks import SkipNetwork, first_linear
from sparselin.neural.settings import LassoNetSettings, check_settings
from sparselin.neural.training import Loss, Rows, as_loss, backward, seeded
from sparselin.validation import check_indices

_SETTINGS = LassoNetSettings(tol=0.99)


def refit(
    network: SkipNetwork | nn.Module | Sequence[int],
    X: Any,
    y: Any,
    features: Sequence[int],
    *,
    loss: Any,
    validation: tuple[Any, ...] | None = None,
    sample_weight: Any = None,
    settings: LassoNetSettings = _SETTINGS,
    rng: Any = 0,
) -> SkipNetwork:
    """A skip network that reads X[:, features], trained by Adam without penalty and hierarchy.

    The networks of a path are biased: λ shrinks θ, and M‖θ_j‖ bounds W_j. This is the usual last step.

    network : hidden widths, for new weights, as in the paper's experiments; or a network that reads all d
        features, whose weights of the selected ones are the first. It is not modified.
    features : (k,) indices of columns of X, in the order in which the new network reads them.
    settings : the first values of pairs are used, by default with tol = 0.99.
    The rest as for `lassonet_path`. Raises what that raises.

    >>> X = torch.tensor([[0.0, 1.0], [0.0, -1.0], [1.0, 2.0], [1.0, 0.0]])
    >>> settings = LassoNetSettings(learning_rate=0.1, epochs=300)
    >>> net = refit([4], X, 3 * X[:, 1], [1], loss="squared", settings=settings)
    >>> bool((net(X[:, [1]])[:, 0] - 3 * X[:, 1]).abs().max() < 0.2)
    True
    """
    by_rows = as_loss(loss)
    check_settings(settings)
    raw = border.as_design(X, "X")
    chosen = check_indices(features, raw.shape[1], "features")
    if not len(chosen):
        raise ValueError("features must hold at least one column; got none")
    if validation is not None:
        X_v, *others = border.triple(validation)
        validation = (border.as_design(X_v, "X_validation")[:, chosen], *others)
    with seeded(rng) as order:
        if isinstance(network, nn.Module):
            whole = border.as_skip_network(network, raw, border.as_tensor(y, "y"), by_rows)
            network = restricted(whole, torch.as_tensor(chosen))
        model, rows, judge = prepare(network, raw[:, chosen], y, by_rows, validation, sample_weight, settings)
        reduced = ReducedNetwork(model)
        border.check_reads_through_first(model, reduced, rows.X)
        PathTraining(reduced, rows, judge, by_rows, float("inf"), settings, order).dense()  # no hierarchy
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
