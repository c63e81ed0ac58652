"""The diversity-promoting set functions of *Selecting Diverse Features via Spectral Regularization* (2012).

For a set S of columns with C_S = X_SᵀX_S and eigenvalues λ_i they are traces Σ h(λ_i), submodular where h′ is
operator antitone on the spectrum (Friedland and Gaubert; Theorem 12 there). What is claimed of each, and of
which C, is proved in its docstring. A gain f(S + x) − f(S) is written f(x | S); `x` is a column not in S.
Each has a file, with the state that its gains are read off while S grows by one feature after the other.
"""

from sparselin.spectral.regularizers.base import Growth, PlainGrowth, SetFunction, grow
from sparselin.spectral.regularizers.entropy import SmoothedDifferentialEntropy
from sparselin.spectral.regularizers.rank import GeneralizedRank, PowerGrowth
from sparselin.spectral.regularizers.variance import SpectralVariance

__all__ = [
    "GeneralizedRank",
    "Growth",
    "PlainGrowth",
    "PowerGrowth",
    "SetFunction",
    "SmoothedDifferentialEntropy",
    "SpectralVariance",
    "grow",
]
