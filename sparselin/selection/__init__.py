"""Methods of selection by name, and the errors of cross-validation along a path."""
