"""The validation of LassoNet's arguments: settings, X, y, weights, groups, and the network."""

from __future__ import annotations

import dataclasses
import operator
import reprlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from sparselin.neural.batches import as_tensor
from sparselin.neural.networks import SkipNetwork, mlp, widths_of
from sparselin.neural.training import Loss, Rows, cross_entropy
from sparselin.validation import check_choice as check_choice
from sparselin.validation import check_count, check_flag, check_level, check_real, check_weights

# the settings that are numbers in an interval, which is also given in words
_CONDITIONS: dict[str, tuple[Callable[[float], bool], str]] = {
    "growth": (lambda growth: growth > 1, "more than 1, because λ is multiplied by it"),
    "momentum": (lambda momentum: 0 <= momentum < 1, "in [0, 1)"),
    "tol": (lambda tol: 0 < tol <= 1, "in (0, 1], because it is a share of the best objective"),
}


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class LassoNetSettings:
    """The settings of the training in `lassonet_path` and `refit`: values of λ, steps, and early stopping.

    Some settings are pairs: the first value is for the dense network, which is trained by Adam at λ = 0; the
    second value is for each λ, where training makes proximal steps. A single value is used for both, and is
    stored as a pair.

    Attributes
    ----------
    lam_start, growth : λ_i = lam_start·growthⁱ, unless `lams` is given. "auto" takes half of the least λ at
        which the steps of all epochs can shrink some feature of the dense network to zero. If more than a
        tenth of the features become zero in the training at this λ, a quarter of this λ is tried, and so on.
    batch_size : the number of rows of a step; None for all rows. Rows are in random order. The last batch of
        an epoch has the remaining rows. A single remaining row joins the batch before it, so that networks
        with batch normalisation can be trained.
    learning_rate : one value or two.
    momentum : the momentum of the proximal steps.
    epochs, patience : one value or two. The training at a λ ends after `epochs` epochs, or once the objective
        on the rows of `stop_on` has not fallen below `tol` times its best value for `patience` epochs in a
        row (None: it does not end early). The same holds in each further round (see `rounds`). If the first
        value of `epochs` is 0, the given dense network is assumed to be trained already.
    stop_on : "validation" or "training": the rows whose loss decides when training stops and, with
        `backtrack`, which epoch is best. Without validation rows the training rows are used.
    backtrack : whether the training at each λ ends with the network of the best epoch instead of the last.
    rounds : the largest number of times that training at a λ is continued because a feature has to come back.
    l2 : the coefficient of a penalty on weights: the squared norm of all weights except those of the skip
        connection and of the first layer.

    Raises TypeError or ValueError if a value is not as described.

    >>> LassoNetSettings(epochs=(300, 50)).patience
    (100, 10)
    """

    lam_start: float | str = "auto"
    growth: float = 1.02
    batch_size: int | None = None
    learning_rate: Any = 1e-3
    momentum: float = 0.9
    epochs: Any = (1000, 200)
    patience: Any = (100, 10)
    tol: float = 0.997
    stop_on: str = "validation"
    backtrack: bool = False
    rounds: int = 3
    l2: float = 0.0

    def __post_init__(self) -> None:
        numbers = {name: check_real(getattr(self, name), name, *rule) for name, rule in _CONDITIONS.items()}
        if not (isinstance(self.lam_start, str) and self.lam_start == "auto"):
            check_real(self.lam_start, "lam_start", lambda lam: lam > 0, '"auto" or positive')
        check_choice(self.stop_on, "stop_on", ("validation", "training"))
        size = None if self.batch_size is None else check_count(self.batch_size, "batch_size", 1)
        others = {"batch_size": size, "l2": check_level(self.l2, "l2")}
        check_flag(self.backtrack, "backtrack")
        others["rounds"] = check_count(self.rounds, "rounds", 0)
        for name, value in (numbers | others | self._pairs()).items():
            object.__setattr__(self, name, value)

    def _pairs(self) -> dict[str, Any]:
        """Return the settings that are pairs, after checking them."""
        pair, patience = _pair(self.learning_rate, "learning_rate"), _pair(self.patience, "patience")
        dense, path = _pair(self.epochs, "epochs")
        why, never = ": only the dense network can have 0, if it is trained already", ": None disables it"
        return {
            "learning_rate": tuple(check_real(x, "learning_rate", lambda x: x > 0, "positive") for x in pair),
            "epochs": (check_count(dense, "epochs", 0), check_count(path, "epochs", 1, why=why)),
            "patience": tuple(x if x is None else check_count(x, "patience", 1, why=never) for x in patience),
        }


def check_settings(settings: Any) -> LassoNetSettings:
    """Return the settings; raise TypeError if they are not a LassoNetSettings."""
    if not isinstance(settings, LassoNetSettings):
        raise TypeError(f"settings must be a LassoNetSettings; got {type(settings).__name__}")
    return settings


def _pair(value: Any, name: str) -> tuple[Any, ...]:
    """Return the values for the dense network and the path, given as two values or as one for both."""
    pair = value if isinstance(value, Sequence) else (value, value)
    if len(pair) != 2:
        raise ValueError(f"{name} must be one value or two, for the dense network and the path; got {value}")
    return tuple(pair)


def as_design(data: Any, name: str) -> Tensor:
    """Return the data as a tensor (n, d) of real, finite numbers."""
    X = as_tensor(data, name)
    if X.ndim != 2 or 0 in X.shape:
        raise ValueError(
            f"{name} must have shape (n, d), at least one row and one feature; got {tuple(X.shape)}"
        )
    return X


def as_rows(X: Any, y: Any, loss: Loss, like: Tensor, name: str = "X", weight: Any = None) -> Rows:
    """Return X (n, d), y (n, …) and weights scaled to mean 1, after checking them.

    The results are on the device and in the dtype of `like`; only class numbers stay integers.
    """
    of = name.removeprefix("X")
    X = as_design(X, name)
    y = as_tensor(y, f"y{of}")
    if y.ndim == 0 or len(y) != len(X):
        raise ValueError(
            f"y{of} must have {len(X)} entries, one for each row of {name}; got {tuple(y.shape)}"
        )
    if loss is cross_entropy:
        if y.ndim != 1 or (y.is_floating_point() and bool((y != y.round()).any())) or int(y.min()) < 0:
            raise ValueError(f"y{of} must hold class numbers 0, 1, … for the loss cross_entropy")
        y = y.long()
    elif y.is_floating_point():
        y = y.to(like.dtype)
    if weight is not None:
        vector = check_weights(weight, len(X), np.dtype(np.float64))
        weight = torch.from_numpy(vector / vector.mean()).to(like)
    return Rows(X.to(like).contiguous(), y.to(like.device), weight)


def prepare(
    network: Any, X: Any, y: Any, loss: Loss, validation: Any, sample_weight: Any
) -> tuple[SkipNetwork, Rows, Rows | None]:
    """Return the skip network, and the training and validation rows in its dtype and on its device."""
    X, y = as_design(X, "X"), as_tensor(y, "y")
    model = as_skip_network(network, X, y, loss)
    d = X.shape[1]
    like = model.skip.weight.detach()
    q = model.skip.out_features
    if model.skip.in_features != d:
        raise ValueError(f"network must read the {d} columns of X; it reads {model.skip.in_features}")
    rows = as_rows(X, y, loss, like, weight=sample_weight)
    held_out = None
    if loss is cross_entropy and q < 2:
        raise ValueError("y must have at least two classes, and network an output for each class; got 1")
    if validation is not None:
        X_v, y_v, weight_v = triple(validation)
        held_out = as_rows(X_v, y_v, loss, like, "X_validation", weight_v)
        if held_out.X.shape[1] != d:
            raise ValueError(f"validation must have {d} features like X; got {held_out.X.shape[1]}")
    for part in filter(None, (rows, held_out)):
        if loss is cross_entropy and (last := int(part.y.max())) >= q:
            raise ValueError(f"y must be below {q}, the number of outputs of the network; got class {last}")
    return model, rows, held_out


def triple(validation: Any) -> tuple[Any, Any, Any]:
    """Return X, y and the weights (or None) of the validation rows."""
    if not isinstance(validation, (tuple, list)) or not 2 <= len(validation) <= 3:
        raise TypeError(f"validation must be (X, y) or (X, y, weight); got {reprlib.repr(validation)}")
    X, y, weight = (*validation, None)[:3]
    return X, y, weight


def as_skip_network(network: Any, X: Tensor, y: Tensor, loss: Loss) -> SkipNetwork:
    """Return a skip network, made from a skip network, from another network, or from hidden widths.

    A skip network is returned unchanged, and another network gets a skip connection. New weights come from
    PyTorch's global generator.
    """
    d = X.shape[1]
    if isinstance(network, SkipNetwork):
        return network
    if isinstance(network, nn.Module):
        kind = next(network.parameters(), X)
        with torch.no_grad():
            try:
                output = network.eval()(X[:2].to(kind))
            except RuntimeError as error:
                raise ValueError(f"network must read the {d} columns of X: {error}") from error
        return SkipNetwork(network, d, output.shape[-1])
    if not isinstance(network, Iterable):
        raise TypeError(f"network must be hidden widths, such as [32], or a torch.nn.Module; got {network!r}")
    widths = widths_of(network, "network")
    if y.ndim > 2:
        raise ValueError(f"network must be a Module if y has shape {tuple(y.shape)}; got widths {widths}")
    q = int(y.max()) + 1 if loss is cross_entropy else y.shape[1:].numel()
    dtype = X.dtype if X.is_floating_point() else torch.get_default_dtype()
    model: SkipNetwork = SkipNetwork(mlp(d, widths, q, dtype=dtype), d, q).to(X.device)
    return model


def check_groups(groups: Any, d: int) -> tuple[tuple[int, ...], ...] | None:
    """Return the groups as tuples, or None; raise ValueError unless they are a partition of 0..d − 1."""
    if groups is None:
        return None
    if isinstance(groups, Mapping) or hasattr(groups, "iloc"):
        raise TypeError(
            f"groups must be sequences of features, like [[0, 1], [2]]; got a {type(groups).__name__}. From "
            "a Series of labels you get them by labels = groups.loc[X.columns].to_numpy() and "
            "[np.flatnonzero(labels == g) for g in np.unique(labels)]"
        )
    try:
        found = tuple(tuple(operator.index(j) for j in group) for group in groups)
    except TypeError:
        raise TypeError(
            f"groups must be sequences of features, like [[0, 1], [2]]; got {reprlib.repr(groups)}. From "
            "labels you get them by [np.flatnonzero(labels == g) for g in np.unique(labels)]"
        ) from None
    counts = np.zeros(d, np.intp)
    for j in (j for group in found for j in group):
        if not 0 <= j < d:
            raise ValueError(f"groups must hold features in 0..{d - 1}; got {j}")
        counts[j] += 1
    if not all(found) or (counts != 1).any():
        absent, twice = np.flatnonzero(counts == 0), np.flatnonzero(counts > 1)
        raise ValueError(
            f"groups must be nonempty and have each of the {d} features once; "
            f"in no group: {absent[:5].tolist()}, in several groups: {twice[:5].tolist()}"
        )
    return found
