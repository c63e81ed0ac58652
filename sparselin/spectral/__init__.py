"""Spectral regularizers for diverse selection, and the searches that use them."""

from sparselin.spectral.choice import choose_nu
from sparselin.spectral.maximize import greedy_maximize
from sparselin.spectral.regularizers import GeneralizedRank, SmoothedDifferentialEntropy, SpectralVariance
from sparselin.spectral.search import forward_regression, greedy_local_search, local_search

__all__ = [
    "GeneralizedRank",
    "SmoothedDifferentialEntropy",
    "SpectralVariance",
    "choose_nu",
    "forward_regression",
    "greedy_local_search",
    "greedy_maximize",
    "local_search",
]
