"""Spectral regularizers for diverse selection, and the searches that use them."""

from sparselin.spectral.choice import choose_nu as choose_nu
from sparselin.spectral.regularizers import GeneralizedRank as GeneralizedRank
from sparselin.spectral.regularizers import SmoothedDifferentialEntropy as SmoothedDifferentialEntropy
from sparselin.spectral.regularizers import SpectralVariance as SpectralVariance
from sparselin.spectral.search import forward_regression as forward_regression
from sparselin.spectral.search import greedy_local_search as greedy_local_search
from sparselin.spectral.search import greedy_maximize as greedy_maximize
from sparselin.spectral.search import local_search as local_search
