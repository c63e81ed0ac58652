"""Methods of selection by one interface, and their cross-validation."""
