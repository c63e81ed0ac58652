"""Theorem 3.3 and what goes with it, verified step by step on random designs."""
