"""Greedy selection: OMP, OLS, OMP of many responses at once. The loop and its engine have a leading _."""
