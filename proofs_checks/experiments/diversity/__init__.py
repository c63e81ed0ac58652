"""Diverse selection: Figure 1 of the spectral paper."""
