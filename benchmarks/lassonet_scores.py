"""Compare test scores and seconds of our LassoNet path and of lassonet 0.0.21.

Both packages use their defaults except for the growth, the same rows for training, validation and testing,
the same standardized numbers and the same initial weights. They run in turn in one process, on one thread,
and each seed changes which one runs first. A cell (data, growth, k) compares the first network of each path
that has at most k features, by the accuracy on the test rows, or by R² for regressions. The difference is the
mean over the seeds of our score less theirs, with its standard error. A cell fails if the difference is below
−2 standard errors or below −0.05. Seconds are means over the seeds, of processor time and, in brackets, of
wall time; they include the training of the dense networks.
"""

import argparse
import statistics
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from benchmarks.lassonet import NAMES, rename, skip_network, standardize, starting_at, torch_threads

SIZES = {
    "diabetes": (8, 5, 2),
    "cancer": (15, 8, 4, 2),
    "friedman1": (20, 10, 5, 3),
    "digits": (40, 20, 10, 5),
}
CLASSES = ("cancer", "digits")


class Part(NamedTuple):
    """A part of the data: rows of standardized features, and their classes or standardized targets."""

    X: np.ndarray
    y: np.ndarray


class Found(NamedTuple):
    """The result of a path: its test score for each k, and its seconds of processor and wall time."""

    scores: list[float]
    processor: float
    clock: float


def parts(name: str, seed: int) -> list[Part]:
    """Return the parts for training, validation (a tenth of the rest) and testing (a quarter of the rows)."""
    from sklearn import datasets
    from sklearn.model_selection import train_test_split

    load = {
        "diabetes": datasets.load_diabetes,
        "cancer": datasets.load_breast_cancer,
        "digits": datasets.load_digits,
        "friedman1": lambda return_X_y: datasets.make_friedman1(500, 30, noise=1.0, random_state=seed),
    }
    X, y = load[name](return_X_y=True)
    labels = name in CLASSES
    rest, test = train_test_split(
        np.arange(len(y)), test_size=0.25, random_state=seed, stratify=y if labels else None
    )
    train, validation = train_test_split(
        rest, test_size=0.1, random_state=seed, stratify=y[rest] if labels else None
    )
    X = standardize(X, train)
    if not labels:
        y = ((y - y[train].mean()) / y[train].std()).astype(np.float32)
    return [Part(X[rows], y[rows]) for rows in (train, validation, test)]


def score(output: np.ndarray, y: np.ndarray, labels: bool) -> float:
    """Return the accuracy if there are labels, otherwise R²."""
    if labels:
        return float((output.argmax(axis=1) == y).mean())
    return float(1 - ((output[:, 0] - y) ** 2).sum() / ((y - y.mean()) ** 2).sum())


def initial(name: str, data: list[Part], seed: int) -> Any:
    """Return our skip network with the weights from which both paths start."""
    import torch

    d, q = data[0].X.shape[1], int(data[0].y.max()) + 1 if name in CLASSES else 1
    with torch.random.fork_rng([]):
        torch.manual_seed(seed)
        return skip_network(d, q)


def time_work(work: Callable[[], Any]) -> tuple[Any, float, float]:
    """Return the result, and the seconds of processor time and of wall time."""
    clock, processor = time.perf_counter(), time.process_time()
    found = work()
    return found, time.process_time() - processor, time.perf_counter() - clock


def our_path(name: str, data: list[Part], growth: float, seed: int) -> Found:
    """Run `sparselin.neural.lassonet_path`."""
    import torch

    from sparselin.neural import LassoNetSettings, lassonet_path, network_at

    train, validation, test = data
    network, labels = initial(name, data, seed), name in CLASSES
    path, processor, clock = time_work(
        lambda: lassonet_path(
            network,
            train.X,
            train.y,
            loss="cross_entropy" if labels else "squared",
            rng=seed,
            validation=tuple(validation),
            settings=LassoNetSettings(growth=growth),
            keep="states",
        )
    )
    scores = []
    for k in SIZES[name]:
        row = int(np.argmax(path.n_selected <= k))
        with torch.no_grad():
            output = network_at(network, path, row).eval()(torch.from_numpy(test.X)).numpy()
        scores.append(score(output, test.y, labels))
    return Found(scores, processor, clock)


def their_path(name: str, data: list[Part], growth: float, seed: int) -> Found:
    """Run the path of the package lassonet."""
    import lassonet
    import torch

    train, validation, test = data
    labels = name in CLASSES
    state = rename(initial(name, data, seed).state_dict(), NAMES)
    kind = lassonet.LassoNetClassifier if labels else lassonet.LassoNetRegressor
    model = starting_at(state, kind, path_multiplier=growth, torch_seed=seed, verbose=0, device="cpu")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        path, processor, clock = time_work(
            lambda: model.path(*train, X_val=validation.X, y_val=validation.y, return_state_dicts=True)
        )
    scores = []
    for k in SIZES[name]:
        row = next(row for row in path if int(row.selected.sum()) <= k)
        model.model.load_state_dict(row.state_dict)
        model.model.eval()
        with torch.no_grad():
            scores.append(score(model.model(torch.from_numpy(test.X)).numpy(), test.y, labels))
    return Found(scores, processor, clock)


def lines(name: str, growth: float, seeds: list[int]) -> Iterator[str]:
    """Yield the rows of the table, one for each k; the first one has the seconds."""
    ours, theirs = [], []
    for seed in seeds:
        data = parts(name, seed)
        pair = [(our_path, ours), (their_path, theirs)]
        for run, found in pair if seed % 2 == 0 else pair[::-1]:
            found.append(run(name, data, growth, seed))
    seconds = [
        f"{statistics.mean(r.processor for r in found):.1f} ({statistics.mean(r.clock for r in found):.1f})"
        for found in (ours, theirs)
    ]
    for i, k in enumerate(SIZES[name]):
        a, b = (np.array([r.scores[i] for r in found]) for found in (ours, theirs))
        mean = float((a - b).mean())
        error = float((a - b).std(ddof=1) / np.sqrt(len(a))) if len(a) > 1 else float("nan")
        verdict = "no" if mean < -0.05 or mean < -2 * error else "yes"
        cells = [f"{a.mean():.3f}", f"{b.mean():.3f}", f"{mean:+.3f} ± {error:.3f}", verdict]
        cells += ("", "") if i else seconds
        yield f"| {' | '.join([name, f'{growth:g}', str(k), *cells])} |"


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.lassonet_scores", description=__doc__)
    parser.add_argument("--data", nargs="+", choices=list(SIZES), default=list(SIZES))
    parser.add_argument("--growth", nargs="+", type=float, default=[1.05, 1.02])
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2, 3, 4])
    parser.add_argument("--quick", action="store_true", help="run only diabetes, growth 1.2, seeds 0 and 1")
    chosen = parser.parse_args()
    if chosen.quick:
        chosen.data, chosen.growth, chosen.seeds = ["diabetes"], [1.2], [0, 1]
    say = sys.stdout.write
    say("| data | growth | k | ours | lassonet | difference | holds | our seconds | lassonet's |\n")
    say("|---|---|---|---|---|---|---|---|---|\n")
    with torch_threads(1):
        for name in chosen.data:
            for growth in chosen.growth:
                for line in lines(name, growth, chosen.seeds):
                    say(f"{line}\n")
                    sys.stdout.flush()


if __name__ == "__main__":
    main()
