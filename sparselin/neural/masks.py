"""Masks x ↦ x∘s on the features x of a network: as a layer, or folded into the linear layer that reads x."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from sparselin.problem.labels import align_columns
from sparselin.validation import FloatArray, IndexArray, check_choice, check_count, check_real


class MaskForm(NamedTuple):
    """The form of a mask: s_i = f(w_i), or f(w_i)/Σf(w_j) over the unselected units if `normalized`.

    inverse : a function that maps v to a w with f(w) = v. If m units are unselected, a mask starts at
        v = 1/m.
    """

    f: Callable[[Tensor], Tensor]
    inverse: Callable[[float], float]
    normalized: bool


FORMS: dict[str, MaskForm] = {
    "linear": MaskForm(lambda w: w, lambda v: v, False),
    "l1": MaskForm(torch.abs, lambda v: v, False),
    "l2": MaskForm(torch.square, lambda v: v**0.5, False),
    "l1_normalized": MaskForm(torch.abs, lambda v: 1.0, True),
    "l2_normalized": MaskForm(torch.square, lambda v: 1.0, True),
    # softmax is computed by torch.softmax, which subtracts the largest logit
    "softmax": MaskForm(torch.exp, lambda v: 0.0, True),
}


class FeatureMask(nn.Module):
    """The mask x ↦ x∘s(w), with one weight for each unit: a feature, or a group of features.

    On the selected units S, s_i = 1. Outside S, with sums over the unselected units S̄ and the temperature τ,

        "linear"         w_i             "l1"             |w_i|
        "l2"             w_i²            "l1_normalized"  |w_i|/Σ|w_j|
        "softmax"        e^{w_i/τ}/Σe^{w_j/τ}   "l2_normalized"  w_i²/Σw_j²

    (Algorithm 1 and Section 4.2 of *Sequential Attention for Feature Selection*). `reset` sets every s_i
    outside S to 1/|S̄|, for each form. During the warm-up, until `attend` is called, s is identically 1.

    Parameters
    ----------
    n_features : d. A row x may have any shape with d entries.
    parametrization : the form of s.
    temperature : τ > 0, for "softmax" only.
    groups : (d,) the unit of each feature, a number 0, …, u − 1; None: every feature is a unit.
    dtype : the dtype of w.

    Attributes
    ----------
    logits : w, a parameter (u,).
    selected : (u,) booleans, True on S.
    groups : (d,) the unit of each feature, or None.
    n_features : d.
    attending : whether the warm-up is over.

    Raises
    ------
    TypeError, ValueError : d < 1; an unknown parametrization; τ ≤ 0, or τ ≠ 1 without "softmax"; or invalid
        groups.

    >>> mask = FeatureMask(3)
    >>> mask.attend()
    >>> mask.select([1])
    >>> mask(torch.tensor([[1.0, 2.0, 4.0]])).tolist()
    [[0.5, 2.0, 2.0]]
    """

    logits: nn.Parameter
    selected: Tensor
    groups: Tensor | None

    def __init__(
        self,
        n_features: int,
        *,
        parametrization: str = "softmax",
        temperature: float = 1.0,
        groups: IndexArray | None = None,
        dtype: torch.dtype = torch.float32,
    ) -> None:
        super().__init__()
        d = check_count(n_features, "n_features", 1)
        check_choice(parametrization, "parametrization", FORMS)
        self.parametrization = parametrization
        self.form = FORMS[parametrization]
        self.temperature = check_real(temperature, "temperature", lambda T: T > 0, "positive")
        if self.temperature != 1 and parametrization != "softmax":
            raise ValueError(f'temperature is for "softmax" only; got {temperature} with "{parametrization}"')
        units = check_groups(groups, d)
        u = int(units.max()) + 1
        self.logits = nn.Parameter(torch.zeros(u, dtype=dtype))
        self.register_buffer("selected", torch.zeros(u, dtype=torch.bool))
        self.register_buffer("_ones", torch.zeros(u, dtype=dtype), persistent=False)  # 1 on S
        self.register_buffer("_barred", torch.zeros(u, dtype=dtype), persistent=False)  # −∞ on S
        self.register_buffer("groups", None if groups is None else torch.as_tensor(units), persistent=False)
        self.n_features = d
        self.attending = False
        self._m = u
        self.reset()

    def attend(self) -> None:
        """End the warm-up: from now on the mask is s(w), not 1."""
        self.attending = True

    def select(self, units: list[int] | IndexArray) -> None:
        """Add units to the selected units S, and `reset` w."""
        self.selected[torch.as_tensor(units, dtype=torch.long, device=self.selected.device)] = True
        self._ones.copy_(self.selected)
        self._barred.zero_().masked_fill_(self.selected, -torch.inf)
        self._m = int((~self.selected).sum())
        self.reset()

    @torch.no_grad()
    def reset(self) -> None:
        """Set w so that every unselected unit has the attention weight s_i = 1/m, where m is their number."""
        self.logits.fill_(self.form.inverse(1 / max(self._m, 1)))

    def weights(self) -> Tensor:
        """Return the mask s as an array (u,) with one entry for each of the u units."""
        if not self.attending:
            return torch.ones_like(self._ones)
        if self._m == 0:
            return self._ones
        if self.parametrization == "softmax":
            w = self.logits if self.temperature == 1 else self.logits / self.temperature
            return (w + self._barred).softmax(0) + self._ones
        s = self.form.f(self.logits).masked_fill(self.selected, 0)
        return (s / s.sum() if self.form.normalized else s) + self._ones

    def features(self) -> Tensor:
        """Return the mask s as an array (d,) with one entry for each of the d features."""
        s = self.weights()
        return s if self.groups is None else s[self.groups]

    @torch.no_grad()
    def attention(self) -> FloatArray:
        """Return the moduli of the attention weights of all units in float64, 1 for selected units."""
        return np.asarray(self.weights().abs().to("cpu", torch.float64).numpy())

    def forward(self, X: Tensor) -> Tensor:
        """Return the rows of X times the mask s."""
        return X * self.features().reshape(X.shape[1:]) if self.attending else X


class MaskedLinear(nn.Module):
    """The layer x ↦ W(x∘s) + b for a mask s, computed as (W diag s)x + b.

    This order is faster. Let n rows of d entries go through the layer, which has h outputs. Computing W diag
    s takes dh products, but computing x∘s for all rows takes nd. In the backward pass the gradient with
    respect to x∘s has nd entries, which cost h products each. The folded layer does not need this gradient.
    Instead, the gradient with respect to s follows from the gradient with respect to W diag s: ∂L/∂s_j = Σ_i
    W_ij ∂L/∂(W diag s)_ij, where L is the loss.
    """

    def __init__(self, linear: nn.Linear, mask: FeatureMask) -> None:
        super().__init__()
        self.linear, self.mask = linear, mask

    def forward(self, X: Tensor) -> Tensor:
        """Return W(x∘s) + b for each row x of X, with the weight W and the bias b of the layer."""
        if not self.mask.attending:
            return self.linear(X)
        return F.linear(X, self.linear.weight * self.mask.features(), self.linear.bias)


def apply_mask(network: nn.Module, mask: FeatureMask, folded: bool | str = "auto") -> nn.Module:
    """Return the network x ↦ network(x∘s), where s is the mask; `network` is not changed.

    The returned network shares the parameters of `network` and of `mask`.

    folded : whether to multiply the weights of the linear layer that reads x by s (`MaskedLinear`); "auto"
        does so if there is such a layer. This layer must be the network itself, or the first layer of a
        `Sequential`. Only Identity, Flatten and Dropout may precede it, because they commute with a mask.
        Raises ValueError if `folded` is True and there is no such layer.
    """
    given: Any = folded
    if not isinstance(given, bool) and (not isinstance(given, str) or given != "auto"):
        raise ValueError(f"folded must be 'auto', True or False; got {folded!r}")
    if folded:
        inner = _fold(network, mask)
        if inner is not None:
            return inner
        if folded is True:
            raise ValueError(
                f"folded=True needs a network that is nn.Linear({mask.n_features}, …), or a Sequential that "
                f"begins with it, without hooks; got {network}. folded=False takes any network"
            )
    return nn.Sequential(mask, network)


_COMMUTING = (nn.Identity, nn.Flatten, nn.Dropout)


def _fold(network: nn.Module, mask: FeatureMask) -> nn.Module | None:
    """Return the network with the mask folded into its first linear layer, or None if there is none."""
    if network._forward_hooks or network._forward_pre_hooks:
        return None
    if type(network) is nn.Linear:
        return MaskedLinear(network, mask) if network.in_features == mask.n_features else None
    if type(network) is not nn.Sequential:
        return None
    layers = list(network)
    at = next((i for i, layer in enumerate(layers) if type(layer) not in _COMMUTING), None)
    first = None if at is None else _fold(layers[at], mask)
    return None if at is None or first is None else nn.Sequential(*layers[:at], first, *layers[at + 1 :])


def squares(mask: FeatureMask, layer: nn.Linear) -> Tensor:
    """Return Σ w_u² + Σ ‖W_j‖² over the unselected units u and their features j.

    W_j is column j of `layer`. The first sum is left out if the mask does not depend on the scale of w.
    """
    left = ~mask.selected
    columns = left if mask.groups is None else left[mask.groups]
    total = (layer.weight.square().sum(0) * columns).sum()
    if mask.form.normalized and mask.parametrization != "softmax":
        return total
    return total + (mask.logits.square() * left).sum()


def check_groups(groups: object, d: int) -> IndexArray:
    """Return the number of the unit (d,) of each feature; for None every feature is its own unit.

    Raises ValueError unless the numbers that occur are 0, 1, …, without a gap.
    """
    if groups is None:
        return np.arange(d)
    groups = align_columns(groups, (), d, "groups")
    try:
        units = np.asarray(groups)
    except ValueError:  # the rows have different lengths
        units = np.asarray(groups, dtype=object)
    if units.shape != (d,) or units.dtype.kind not in "iu":
        raise ValueError(
            f"groups must be {d} integers, the unit of each feature; got shape {units.shape}, {units.dtype}"
        )
    present = np.unique(units)
    if present[0] != 0 or present[-1] != len(present) - 1:
        raise ValueError(
            f"groups must be numbered 0, …, u − 1 without a gap; got {len(present)} numbers in "
            f"{present[0]}..{present[-1]}. Number them by np.unique(groups, return_inverse=True)[1]"
        )
    return units.astype(np.intp)
