"""The regularizers that the experiment runs, by name."""

import dataclasses
import functools
from collections.abc import Callable

from sparselin.spectral import GeneralizedRank, SmoothedDifferentialEntropy, SpectralVariance
from sparselin.spectral.regularizers.base import Method, SetFunction
from sparselin.validation import check_new


@dataclasses.dataclass(frozen=True)
class Regularizer:
    """A named set function of the experiment.

    Attributes
    ----------
    name : the key in `REGULARIZERS`.
    of : a function (k, α) → f. It chooses the constants of f so that f ≥ 0 on k unit columns; α is the value
        of --alpha.
    method : the search for the maximum of R² + νf.
    """

    name: str
    of: Callable[[int, float], SetFunction]
    method: Method = "greedy_local_search"


REGULARIZERS: dict[str, Regularizer] = {}


def register(regularizer: Regularizer) -> Regularizer:
    """Add a regularizer to `REGULARIZERS`, so that the experiment runs, tabulates and draws it.

    Raises ValueError if the name is already used.
    """
    REGULARIZERS[check_new(regularizer.name, REGULARIZERS, "a regularizer")] = regularizer
    return regularizer


def carrier() -> Callable[[], None]:
    """Return a picklable function that registers this process's regularizers in another process.

    The field `of` of each regularizer must be picklable.
    """
    return functools.partial(_register_all, dict(REGULARIZERS))


def _register_all(regularizers: dict[str, Regularizer]) -> None:
    REGULARIZERS.update(regularizers)


def _entropy(delta: float, k: int, alpha: float) -> SetFunction:
    return SmoothedDifferentialEntropy(delta, k)


def _variance(k: int, alpha: float) -> SetFunction:
    return SpectralVariance(k)


def _rank(k: int, alpha: float) -> SetFunction:
    return GeneralizedRank(alpha)


# each with the search that the paper shows for it, in the order of the paper's panels
register(Regularizer("ld", functools.partial(_entropy, 1.0), "forward"))
register(Regularizer("ld-0.1", functools.partial(_entropy, 0.1)))
register(Regularizer("sv", _variance))
register(Regularizer("gr", _rank, "forward"))
