"""Timings of sparselin and its peers: see `python -m benchmarks --help`, and README.md for the method.

Unless SPARSELIN_COMPILE is set, kernels are compiled at their first call, which is not timed. The rows
`cold/*` measure first calls with the setting "auto".
"""

import os

os.environ.setdefault("SPARSELIN_COMPILE", "always")
