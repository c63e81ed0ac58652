"""Theorem 3.3 on ensembles of designs: the run, planted defects, the report and the command `verify`."""
