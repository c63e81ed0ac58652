"""sparselin beside its peers: `python -m benchmarks --help`, and README.md for how it measures."""
