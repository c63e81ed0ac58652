"""LassoNet's path beside lassonet 0.0.21's: the same dense network, λ's, stopping rule, data and threads.

`python -m benchmarks.lassonet isolet --seeds 0 1 2` prints, for each seed, the seconds of the dense networks
and of the paths, in rounds in turn, and how many λ's have an objective of at most 1.01 times theirs.
SPARSELIN_DATA names the folder of the data.

Theirs takes proximal steps of length α with a velocity of g/(1 − μ), and so solves for (1 − μ)λ in place of
λ. `--scaled` gives it λ/(1 − μ): then both solve the same problem, and the ratio is that of the computations
alone.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
import warnings
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from rich.console import Console

HIDDEN, MOMENTUM = 100, 0.9
# λ's from a path that has all features to one that has none, standardized features.
FIRST, LAST = 2.0, 60.0


class Table(NamedTuple):
    """Standardized features, classes, and a tenth of the rows for validation."""

    X: np.ndarray
    y: np.ndarray
    X_val: np.ndarray
    y_val: np.ndarray


def table(name: str, seed: int, rows: int) -> Table:
    """ISOLET's training rows or the first ones of MNIST, float32, split at random."""
    from sparselin.datasets import read_idx

    folder = Path(os.environ["SPARSELIN_DATA"])
    if name == "isolet":
        with np.load(folder / "isolet" / "isolet_full_int16.npz") as stored:
            X, y = stored["X_train_e4"] / 1e4, stored["y_train"].astype(int) - 1
    else:
        X = read_idx(folder / "mnist" / "train-images-idx3-ubyte.gz").reshape(-1, 784)[:rows] / 255
        y = read_idx(folder / "mnist" / "train-labels-idx1-ubyte.gz")[:rows].astype(int)
    order = np.random.default_rng(seed).permutation(len(X))[:rows]
    X, y = X[order], y[order]
    spread = X.std(axis=0)
    X = ((X - X.mean(axis=0)) / np.where(spread > 0, spread, 1)).astype(np.float32)
    cut = len(X) // 10
    return Table(X[cut:], y[cut:], X[:cut], y[:cut])


class Pair:
    """Both methods on one table, from one dense network, which lassonet trains."""

    def __init__(
        self, data: Table, seed: int, lams: np.ndarray, epochs: tuple[int, int], scaled: bool
    ) -> None:
        self.data, self.seed, self.lams, self.epochs = data, seed, lams, epochs
        self.factor = 1 / (1 - MOMENTUM) if scaled else 1.0
        self.their_state: dict[str, Any] = self.their_dense()[0].state_dict

    def their_model(self, epochs: tuple[int, int], state: Any = None) -> Any:
        from lassonet import LassoNetClassifier

        class Given(LassoNetClassifier):  # type: ignore[misc]
            def _init_model(self, X: Any, y: Any) -> None:
                super()._init_model(X, y)
                if state is not None:
                    self.model.load_state_dict(state)

        return Given(hidden_dims=(HIDDEN,), n_iters=epochs, torch_seed=self.seed, verbose=0, device="cpu")

    def their_dense(self) -> Any:
        X, y, X_val, y_val = self.data
        model = self.their_model(self.epochs)
        return model.path(X, y, X_val=X_val, y_val=y_val, lambda_seq=[], return_state_dicts=True)

    def theirs(self) -> Any:
        X, y, X_val, y_val = self.data
        model = self.their_model((0, self.epochs[1]), self.their_state)
        path = partial(model.path, X, y, X_val=X_val, y_val=y_val, return_state_dicts=True)
        return path(lambda_seq=list(self.factor * self.lams), disable_lambda_warning=True)

    def our_network(self) -> Any:
        """Untrained, or with the weights of their dense network."""
        import torch

        from sparselin.neural import SkipNetwork, mlp

        X, q = self.data.X, int(self.data.y.max()) + 1
        torch.manual_seed(self.seed)
        network = SkipNetwork(mlp(X.shape[1], [HIDDEN], q), X.shape[1], q)
        if hasattr(self, "their_state"):
            names = {"layers.0": "network.0", "layers.1": "network.2", "skip": "skip"}
            state = {}
            for name, value in self.their_state.items():
                layer, _, kind = name.rpartition(".")
                state[f"{names[layer]}.{kind}"] = value
            network.load_state_dict(state)
        return network

    def our_dense(self) -> Any:
        return self.ours(epochs=self.epochs, callback=lambda step: True)

    def ours(self, epochs: tuple[int, int] | None = None, **options: Any) -> Any:
        from sparselin.neural import lassonet_path

        X, y, X_val, y_val = self.data
        epochs = (0, self.epochs[1]) if epochs is None else epochs
        options = {"lams": self.lams, "momentum": MOMENTUM, "epochs": epochs, **options}
        return lassonet_path(
            self.our_network(), X, y, loss="cross_entropy", validation=(X_val, y_val), **options
        )

    def their_objective(self, row: Any, lam: float) -> float:
        """L + λΣ‖θ_j‖ of their weights on the training rows, by our network."""
        import torch

        self.their_state, kept = row.state_dict, self.their_state
        network = self.our_network()
        self.their_state = kept
        with torch.no_grad():
            output = network(torch.from_numpy(self.data.X))
            loss = torch.nn.functional.cross_entropy(output, torch.from_numpy(self.data.y))
            return float(loss + lam * network.skip.weight.norm(dim=0).sum())


def compare(pair: Pair, rounds: int) -> dict[str, Any]:
    """Median seconds of the processor, which other jobs on the machine change less, and the objectives."""
    calls = {"ours": pair.ours, "theirs": pair.theirs}
    seconds: dict[str, list[float]] = {name: [] for name in calls}
    found: dict[str, Any] = {}
    for round_ in range(rounds):
        for name in sorted(calls, reverse=bool(round_ % 2)):
            started = time.process_time()
            found[name] = calls[name]()
            seconds[name].append(time.process_time() - started)
    ours, theirs = found["ours"], found["theirs"]
    pairs = [
        (
            ours.objective[i + 1],
            pair.their_objective(row, pair.lams[i]),
            ours.n_selected[i + 1],
            row.selected.sum(),
        )
        for i, row in enumerate(theirs[: len(ours) - 1])
    ]
    ratios = [b / a for a, b in zip(seconds["ours"], seconds["theirs"], strict=True)]
    return {
        "ratio": statistics.median(ratios), "ours": statistics.median(seconds["ours"]),
        "theirs": statistics.median(seconds["theirs"]), "objectives": np.array(pairs, dtype=float),
        "epochs": (int(ours.epochs[1:].sum()), sum(row.n_iters for row in theirs)),
        "excess": float(ours.excess.max()), "returns": int(ours.returns.sum()),
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", choices=["isolet", "mnist"])
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    parser.add_argument("--rows", type=int, default=10000)
    parser.add_argument("--count", type=int, default=12, help="how many λ's")
    parser.add_argument("--epochs", type=int, nargs=2, default=[100, 100])
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--scaled", action="store_true", help="give theirs λ/(1 − μ)")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    lams = np.geomspace(FIRST, LAST, args.count)
    console = Console(highlight=False, soft_wrap=True)
    for seed in args.seeds:
        started = time.process_time()
        pair = Pair(table(args.data, seed, args.rows), seed, lams, tuple(args.epochs), args.scaled)
        middle = time.process_time()
        pair.our_dense()
        dense = time.process_time() - middle
        console.print(f"seed {seed}: dense networks {dense:.1f} s, theirs {middle - started:.1f} s")
        found = compare(pair, args.rounds)
        ours, theirs, ours_n, theirs_n = found.pop("objectives").T
        for name, value in found.items():
            console.print(f"{name}: {value if isinstance(value, tuple) else round(value, 3)}")
        console.print(f"objective, ours / theirs: {np.round(ours / theirs, 3)}")
        console.print(f"at most 1.01 at {(ours <= 1.01 * theirs).mean():.0%} of the λ's")
        console.print(f"features: {ours_n.astype(int)}, theirs {theirs_n.astype(int)}")


if __name__ == "__main__":
    main()
