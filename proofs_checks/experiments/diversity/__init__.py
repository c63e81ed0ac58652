"""The experiment on diverse selection: Figure 1 of the spectral paper."""
