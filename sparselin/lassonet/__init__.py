"""LassoNet's hierarchical proximal operators."""
