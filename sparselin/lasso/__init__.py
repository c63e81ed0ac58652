"""The LASSO: path, first entry and λ*, Sequential LASSO, projection onto the dual polytope, duality gap."""
