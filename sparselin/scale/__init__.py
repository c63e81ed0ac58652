"""Data longer than memory: one pass over chunks of rows, which leaves the triangular factor of [X y]."""
