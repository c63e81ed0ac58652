"""The settings of LassoNet's training, checked once."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from sparselin.neural import _border as border
from sparselin.validation import check_count, check_flag, check_level, check_real


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class LassoNetSettings:
    """How `lassonet_path` and `refit` train: the grid of λ's, the steps, and when they end.

    Of two values the first is for the dense network, trained by Adam at λ = 0, and the second for each λ,
    trained by proximal steps; one value is for both, and is stored as two.

    Attributes
    ----------
    lam_start, growth : λ_i = lam_start·growthⁱ, where `lams` is not given. "auto" is half of the λ at which
        all epochs of steps may take the first feature of the dense network to zero; should features leave in
        the training at it, a quarter of it is tried.
    batch_size : rows of a step; None for all. Rows are in random order. The last batch of an epoch has the
        rows that are left; a single one joins the batch before it, so that networks with batch normalisation
        can be trained.
    learning_rate : one value or two. momentum : of the proximal steps.
    epochs, patience : one value or two. The training at a λ ends after `patience` epochs (None: never)
        in which the objective on the rows of `stop_on` has not come below `tol` of its best, and after
        `epochs`; so does each further round. Without epochs for it, the dense network is taken for trained.
    stop_on : "validation", where there is any, or "training": the rows that decide about stopping and, with
        `backtrack`, about the best epoch.
    backtrack : whether each λ ends with the network of the best epoch, not the last.
    rounds : how often at most a λ is trained on because a feature has to come back.
    l2 : the weight of ‖weights beside θ and W‖² in L.
    class_weight : a weight for each class, or "balanced"; its product with `sample_weight` is scaled to mean
        1.

    Raises TypeError or ValueError for a value that is not as described.

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
    class_weight: str | Sequence[float] | None = None

    def __post_init__(self) -> None:
        numbers = {name: check_real(getattr(self, name), name) for name in ("growth", "momentum", "tol")}
        if not numbers["growth"] > 1:
            raise ValueError(f"growth must be more than 1, by how much λ is multiplied; got {self.growth}")
        auto = isinstance(self.lam_start, str) and self.lam_start == "auto"
        if not auto and not check_real(self.lam_start, "lam_start") > 0:
            raise ValueError(f'lam_start must be "auto" or positive; got {self.lam_start}')
        if not 0 <= numbers["momentum"] < 1:
            raise ValueError(f"momentum must be in [0, 1); got {self.momentum}")
        if not 0 < numbers["tol"] <= 1:
            raise ValueError(
                f"tol must be in (0, 1]: the share of the best objective to get below; got {self.tol}"
            )
        check_choice(self.stop_on, "stop_on", ("validation", "training"))
        size = None if self.batch_size is None else check_count(self.batch_size, "batch_size", 1)
        others = {"batch_size": size, "l2": check_level(self.l2, "l2")}
        check_flag(self.backtrack, "backtrack")
        others["rounds"] = check_count(self.rounds, "rounds", 0)
        for name, value in (numbers | others | self._pairs()).items():
            object.__setattr__(self, name, value)

    def _pairs(self) -> dict[str, Any]:
        """The settings of two values, checked."""
        pairs = {
            "learning_rate": border.pair(self.learning_rate, "learning_rate"),
            "epochs": border.pair(self.epochs, "epochs", int),
            "patience": border.pair(self.patience, "patience", int, never=True),
        }
        if min(pairs["learning_rate"]) <= 0 or pairs["epochs"][0] < 0 or pairs["epochs"][1] < 1:
            raise ValueError(
                "learning_rate must be positive, and epochs at least 0 for the dense network and 1 for λ"
            )
        if any(value is not None and value < 1 for value in pairs["patience"]):
            raise ValueError(f"patience must be at least 1, or None: never; got {self.patience}")
        return pairs


def check_settings(settings: Any) -> LassoNetSettings:
    """The settings themselves; TypeError for anything else."""
    if not isinstance(settings, LassoNetSettings):
        raise TypeError(f"settings must be a LassoNetSettings; got {type(settings).__name__}")
    return settings


def check_choice(value: Any, name: str, known: tuple[str, str]) -> None:
    """Raise ValueError unless the value is one of two words."""
    if not isinstance(value, str) or value not in known:
        raise ValueError(f'{name} must be "{known[0]}" or "{known[1]}"; got {value!r}')
