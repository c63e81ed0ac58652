"""Orthogonal factorisations updated column by column, with error bounds; products with X."""
