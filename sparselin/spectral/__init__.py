"""Spectral regularizers for diverse selection, and the searches that use them."""
