"""Certificates of a selection that exact arithmetic, or rounded with error bounds, checks."""
