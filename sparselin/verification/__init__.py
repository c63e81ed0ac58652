"""Theorem 3.3 on one design, verified by code that shares nothing with the methods."""
