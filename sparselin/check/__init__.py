"""Checkers of certificates in plain Python, which need nothing of the package."""
