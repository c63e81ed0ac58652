"""Data that do not fit into memory: one pass over chunks of rows computes the triangular factor of [X y]."""
