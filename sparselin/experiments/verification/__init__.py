"""Theorem 3.3 and related statements, verified step by step on random designs."""
