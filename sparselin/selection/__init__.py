"""Methods of selection behind one interface, and their cross-validation."""
