"""The experiment on diverse selection: Figure 1 of the paper on spectral regularization (2012)."""
