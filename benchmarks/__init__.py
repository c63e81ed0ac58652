"""Timings of sparselin and its peers: see `python -m benchmarks --help`, and README.md for the method."""
