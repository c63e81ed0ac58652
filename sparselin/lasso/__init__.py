"""The LASSO: its path, first entries and λ*, Sequential LASSO, the dual polytope, duality gaps."""
