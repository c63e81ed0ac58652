"""Orthogonal factorisations, updated column by column, with measured errors."""
