"""Theorem 3.3 on one design, checked by code that shares nothing with the methods; and on many small ones."""
