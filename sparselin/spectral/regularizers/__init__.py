"""The diversity-promoting set functions of *Selecting Diverse Features via Spectral Regularization* (2012).

For a set S of columns with C_S = X_SᵀX_S and eigenvalues λ_i they are traces Σ h(λ_i), submodular where h′ is
operator antitone on the spectrum (Friedland and Gaubert; Theorem 12 there). The properties of each, and for
which C they hold, are proved in its docstring. A gain f(S + x) − f(S), x ∉ S, is written f(x | S).
Each has a module, with the state from which its gains are computed while features are added to S.
`REGULARIZERS` maps names to what `python -m proofs_checks.experiments.diversity` runs; `register` adds one.
"""

import functools

from sparselin.spectral.regularizers.base import (
    REGULARIZERS,
    Growth,
    PlainGrowth,
    Regularizer,
    SetFunction,
    carried,
    grow,
    register,
)
from sparselin.spectral.regularizers.entropy import SmoothedDifferentialEntropy
from sparselin.spectral.regularizers.rank import GeneralizedRank, PowerGrowth
from sparselin.spectral.regularizers.variance import SpectralVariance

__all__ = [
    "REGULARIZERS",
    "GeneralizedRank",
    "Growth",
    "PlainGrowth",
    "PowerGrowth",
    "Regularizer",
    "SetFunction",
    "SmoothedDifferentialEntropy",
    "SpectralVariance",
    "carried",
    "grow",
    "register",
]


def _entropy(delta: float, k: int, alpha: float) -> SetFunction:
    return SmoothedDifferentialEntropy(delta, k)


def _variance(k: int, alpha: float) -> SetFunction:
    return SpectralVariance(k)


def _rank(k: int, alpha: float) -> SetFunction:
    return GeneralizedRank(alpha)


# with the search that the paper shows for each, in the order of its panels
register(Regularizer("ld", functools.partial(_entropy, 1.0), "forward"))
register(Regularizer("ld-0.1", functools.partial(_entropy, 0.1)))
register(Regularizer("sv", _variance))
register(Regularizer("gr", _rank, "forward"))
