"""Checks of Theorem 3.3 on one design or many small ones, by code that shares nothing with the methods."""
