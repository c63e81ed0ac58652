"""LassoNet without targets: select features that reconstruct all features, and complete a matrix."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from sparselin.neural import settings as arguments
from sparselin.neural.lassonet import lassonet_path, network_at
from sparselin.neural.networks import SkipNetwork
from sparselin.neural.settings import LassoNetSettings, check_settings
from sparselin.neural.training import seeded, squared_error
from sparselin.results import LassoNetPath, MatrixCompletion, Status
from sparselin.validation import check_count, check_level, check_names, frame_names

_SETTINGS = LassoNetSettings(epochs=(1000, 100), tol=0.99)


def reconstruction_path(
    network: SkipNetwork | nn.Module | Sequence[int], X: Any, **options: Any
) -> LassoNetPath:
    """Select few features from which a network reconstructs all features (Algorithm 3 of LassoNet).

    This is `lassonet_path` with the targets X and the loss ½‖f(x) − x‖² for each row, where f is the network.
    So the weights θ_j of feature j in the skip connection are in ℝᵈ. The penalty λΣ‖θ_j‖₂ makes all features
    be reconstructed from the same selected features.

    network : as for `lassonet_path`, with d outputs.
    options : keyword arguments of `lassonet_path`. `validation` is a matrix of validation rows, without
        targets.

    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((80, 1)) * [1.0, -1.0, 2.0] + 0.01 * rng.standard_normal((80, 3))
    >>> settings = LassoNetSettings(growth=1.3, learning_rate=1e-2, epochs=(300, 50))
    >>> path = reconstruction_path([4], X, k=1, settings=settings)
    >>> path.support(1)
    array([2])
    """
    if "loss" in options:
        raise TypeError("loss is not an option: the loss is the squared error of the reconstruction")
    if options.get("validation") is not None:
        options["validation"] = (options["validation"], options["validation"])
    return lassonet_path(network, X, X, loss="squared", **options)


def matrix_completion(
    network: SkipNetwork | nn.Module | Sequence[int],
    Z: Any,
    *,
    rounds: int = 20,
    tol: float = 1e-2,
    settings: LassoNetSettings = _SETTINGS,
    rng: Any = 0,
    **options: Any,
) -> MatrixCompletion:
    """Complete a matrix with a network that reads few of its columns (Algorithm 5 of LassoNet).

    Let Ω be the set of observed entries of Z. P_Ω sets the entries outside Ω to zero, and P_Ω⊥ sets the
    entries in Ω to zero. The first completion X_0 has, outside Ω, the mean of the observed entries in the
    same row. In round t = 0, 1, …, let

        X_proj = P_Ω(Z) + P_Ω⊥(X_t),    X_{t+1} = f(X_proj),

    where the network f is trained with λ = 0 on the loss (1/m)Σ ½‖P_Ω(f(x_proj) − z)‖². The sum is over the m
    pairs of rows x_proj of X_proj and z of Z. The rounds end once
    ‖P_Ω⊥(X_{t+1} − X_t)‖_F ≤ tol·‖P_Ω⊥(X_t)‖_F. The training of f continues from round to round. Then
    `lassonet_path` starts from this f, with the data X_proj and the observed entries as targets.

    Parameters
    ----------
    network : as for `lassonet_path`, with d outputs.
    Z : (m, d) the matrix, with NaN for missing entries. Standardize the columns (by `np.nanmean` and
        `np.nanstd`).
    rounds : the largest number of rounds of imputation.
    tol : the relative change at which the rounds end.
    settings : the settings of the training, by default with tol = 0.99. Each round has epochs[0] epochs.
    options : other keyword arguments of `lassonet_path`.

    Raises
    ------
    ValueError : a row has no observed entry, or an entry is infinite; and the errors of `lassonet_path`.

    >>> Z = np.outer([1.0, -1.0, 2.0, 0.5, -2.0], [1.0, 2.0, -1.0])
    >>> hidden = Z.copy()
    >>> hidden[0, 1] = np.nan
    >>> settings = LassoNetSettings(growth=1.5, learning_rate=1e-2, epochs=(300, 20), tol=0.99)
    >>> found = matrix_completion([4], hidden, rounds=10, tol=1e-3, settings=settings)
    >>> found.observed.sum(), found.completed.shape
    (np.int64(14), (5, 3))
    """
    refused = [name for name in ("loss", "validation", "sample_weight") if name in options]
    if refused:
        raise TypeError(f"{refused[0]} is not an option of matrix_completion")
    check_settings(settings)
    check_count(rounds, "rounds", 1)
    check_level(tol, "tol")
    values, observed = _values_and_mask(Z)
    given = options.pop("names", None)
    names = frame_names(Z) if given is None else check_names(given, values.shape[1])
    mean = values.sum(dim=1, keepdim=True) / observed.sum(dim=1, keepdim=True)
    X = torch.where(observed, values, mean)
    with seeded(rng):
        model = arguments.as_skip_network(network, X, X, squared_error)
    options = {**options, "loss": completion_loss, "rng": rng, "names": names}
    dense = dataclasses.replace(settings, epochs=(settings.epochs[0], 1))
    target = torch.stack([values, observed.to(values)], dim=1)
    changes: list[float] = []
    while len(changes) < rounds and (not changes or changes[-1] > tol):
        model, X_new = _impute(model, X, target, {**options, "settings": dense})
        size = torch.linalg.vector_norm(X[~observed])
        changes.append(float(torch.linalg.vector_norm(X_new - X) / size) if size > 0 else 0.0)
        X = X_new
    trained = dataclasses.replace(settings, epochs=(0, settings.epochs[1]))
    path = lassonet_path(model, X, target, settings=trained, **options)
    status = path.status if path.status is Status.STOPPED else Status.MAX_ITER
    return MatrixCompletion(
        completed=X.cpu().numpy(), observed=observed.cpu().numpy(), change=np.array(changes),
        path=path, status=Status.COMPLETED if changes[-1] <= tol else status, names=names,
    )  # fmt: skip


def _impute(
    model: SkipNetwork, X: Tensor, target: Tensor, options: dict[str, Any]
) -> tuple[SkipNetwork, Tensor]:
    """Train the network further; return it, and the matrix X with its missing entries replaced by outputs."""
    dense = {**options, "keep": "states", "callback": lambda step: True}
    model = network_at(model, lassonet_path(model, X, target, **dense), 0)
    with torch.no_grad():
        output = model.eval()(X.to(model.skip.weight)).to(X)
    return model, torch.where(target[:, 1] > 0, target[:, 0], output)


def completion_loss(output: Tensor, target: Tensor) -> Tensor:
    """Return the loss ½‖P_Ω(f(x) − z)‖² of each row, where P_Ω sets missing entries to zero.

    output : (b, d) the outputs f(x).
    target : (b, 2, d) z, which is zero where an entry is missing, and the indicator of the observed entries.
    """
    return 0.5 * (target[:, 1] * (output - target[:, 0])).square().sum(dim=1)


def _values_and_mask(Z: Any) -> tuple[Tensor, Tensor]:
    """Return Z as a tensor with zeros for missing entries, and a mask of the observed entries."""
    target = Z.detach() if isinstance(Z, Tensor) else torch.tensor(np.asarray(Z, dtype=float))
    if target.ndim != 2 or 0 in target.shape:
        raise ValueError(f"Z must have shape (m, d), at least one row and column; got {tuple(target.shape)}")
    if torch.isinf(target).any():
        raise ValueError("Z must be finite, or NaN where it is missing; got infinity")
    observed = ~torch.isnan(target)
    empty = (~observed.any(dim=1)).nonzero().squeeze(1).tolist()
    if empty:
        raise ValueError(f"Z must have an observed entry in each row; drop the rows {empty[:5]}")
    return torch.where(observed, target, 0), observed
