"""Greedy selection: OMP, OLS, swaps, and OMP of many responses; the common loop is in `_walk`."""
