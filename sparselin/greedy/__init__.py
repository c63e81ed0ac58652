"""Greedy selection: OMP, OLS, OMP of many responses at once. The common loop is in the modules `_...`."""
