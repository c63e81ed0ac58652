"""Experiments compute and return results; `sparselin.plots` and the reports show them."""
