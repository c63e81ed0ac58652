"""Greedy selection of features: OMP, OLS, OMP for other losses and for many responses, and swaps."""
