"""The diversity-promoting set functions of *Selecting Diverse Features via Spectral Regularization* (2012).

For a set S of columns let C_S = X_SᵀX_S have the eigenvalues λ_i. The functions are traces f(S) = Σ h(λ_i).
They are submodular if h′ is operator antitone on the spectrum (Friedland and Gaubert; Theorem 12 of the
paper). Each docstring proves the properties of its function, and says for which C = XᵀX they hold. The gain
f(S + x) − f(S), x ∉ S, is written f(x | S). Each function has a module, which also holds the state from which
its gains are computed while S grows.
"""

from sparselin.spectral.regularizers.entropy import SmoothedDifferentialEntropy as SmoothedDifferentialEntropy
from sparselin.spectral.regularizers.rank import GeneralizedRank as GeneralizedRank
from sparselin.spectral.regularizers.variance import SpectralVariance as SpectralVariance
