"""Guarantees: lower bounds for greedy selection relative to the best subset, and the attained ratios."""
