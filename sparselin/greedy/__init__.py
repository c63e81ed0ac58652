"""Greedy selection of features: OMP, OLS, swaps, and OMP of many responses."""
