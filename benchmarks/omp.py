"""OMP beside scikit-learn and beside k matrix-vector products: interleaved runs, medians, ratios."""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable

import numpy as np
from sklearn.linear_model import orthogonal_mp
from threadpoolctl import threadpool_limits

import sparselin as sl

CASES = {  # name: (n, d, k)
    "small": (300, 1000, 20),
    "wide": (1000, 5000, 50),
    "tall": (5000, 1000, 50),
}
PAUSE = 0.05  # seconds, for the thread pool of the last one to fall asleep


def gemvs(X: np.ndarray, y: np.ndarray, k: int) -> None:
    """The textbook cost of k steps: one pass over X each."""
    for _ in range(k):
        X.T @ y


def interleaved(callables: dict[str, Callable[[], object]], runs: int) -> dict[str, float]:
    """Median seconds of each, the callables taking turns after one warm-up."""
    seconds: dict[str, list[float]] = {name: [] for name in callables}
    for run in range(runs + 1):
        for name, call in callables.items():
            time.sleep(PAUSE)
            started = time.perf_counter()
            call()
            if run:
                seconds[name].append(time.perf_counter() - started)
    return {name: statistics.median(values) for name, values in seconds.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    print(f"{'case':8}{'n':>6}{'d':>6}{'k':>5}{'ours ms':>10}{'/ scikit-learn':>16}{'/ k gemvs':>12}")
    for name, (n, d, k) in CASES.items():
        X, y = sl.ensembles.gaussian(n, d, options.seed)
        contenders: dict[str, Callable[[], object]] = {
            "ours": lambda X=X, y=y, k=k: sl.omp(X, y, k),
            "sklearn": lambda X=X, y=y, k=k: orthogonal_mp(X, y, n_nonzero_coefs=k),
            "gemvs": lambda X=X, y=y, k=k: gemvs(X, y, k),
        }
        with threadpool_limits(2):
            median = interleaved(contenders, options.runs)
        ratios = median["ours"] / median["sklearn"], median["ours"] / median["gemvs"]
        print(f"{name:8}{n:6}{d:6}{k:5}{1e3 * median['ours']:10.1f}{ratios[0]:16.2f}{ratios[1]:12.2f}")


if __name__ == "__main__":
    main()
