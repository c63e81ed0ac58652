"""sparselin and its peers, timed: `python -m benchmarks --help`, and README.md for how it measures."""
