"""Measures of our LassoNet path compared with that of lassonet 0.0.21.

Both have the same data, dense network, values of λ and stopping rule, and one thread. The values of λ are
those of lassonet's own path, from its λ_start until no feature remains. Its proximal steps have length α, and
its velocity tends to ∇L/(1 − μ), so it solves the problem for (1 − μ)λ, not for λ. Therefore there are two
rows: one at the same λ, and one (`matched`) with (1 − μ)λ for ours, in which both solve the same problem. In
the second row ours has tol = 0.999, not 0.99, because lassonet's stopping rule uses an objective with λ/(1 −
μ), which decreases for longer. Times are processor times. SPARSELIN_DATA names the folder of the data.
"""

import contextlib
import time
import warnings
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from benchmarks.contest import Outcome

HIDDEN, MOMENTUM = 100, 0.9
NAMES = {"network.0": "layers.0", "network.2": "layers.1", "skip": "skip"}  # our layers and lassonet's


class Table(NamedTuple):
    """A table of standardized features and classes, with a tenth of the rows for validation."""

    X: np.ndarray
    y: np.ndarray
    X_val: np.ndarray
    y_val: np.ndarray


def table(name: str, seed: int, rows: int) -> Table:
    """Return random rows of ISOLET or MNIST (training sets) or of the digits, as float32, split at random."""
    if name == "digits":
        from sklearn.datasets import load_digits

        X, y = load_digits(return_X_y=True)
    elif name == "isolet":
        from sparselin.ensembles.datasets import files

        with np.load(*files("ISOLET", ["isolet/isolet_full_int16.npz"])) as stored:
            X, y = stored["X_train_e4"] / 1e4, stored["y_train"].astype(int) - 1
    else:
        from sparselin.ensembles.datasets import images

        found = images("mnist")
        X, y = found.pixels.reshape(len(found.pixels), -1), found.labels.astype(int)
    order = np.random.default_rng(seed).permutation(len(X))[:rows]
    X, y = standardize(X[order].astype(float)), y[order]
    cut = len(X) // 10
    return Table(X[cut:], y[cut:], X[:cut], y[:cut])


def standardize(X: np.ndarray, rows: Any = slice(None)) -> np.ndarray:
    """Return X as float32, with the columns standardized by their mean and spread on these rows."""
    spread = X[rows].std(axis=0)
    return ((X - X[rows].mean(axis=0)) / np.where(spread > 0, spread, 1)).astype(np.float32)


def path_cost(
    seed: int, data: str, rows: int, growth: float, epochs: tuple[int, int], matched: bool
) -> tuple[float, Outcome]:
    """Measure the processor time of our path, divided by that of lassonet's path.

    matched : whether our path has the values (1 − μ)λ, so that both solve the same problem. The answers are
    right if our objective is at most 1.01 times theirs at 95 % of the values of λ.
    """
    from sparselin.neural import LassoNetSettings

    with torch_threads(1):
        given = table(data, seed, rows)
        state = _theirs(given, seed, (epochs[0], 0), lambda_seq=[])[0][0].state_dict
        theirs, their_time = _theirs(given, seed, (0, epochs[1]), state, path_multiplier=growth)
        lams = np.array([row.lambda_ for row in theirs]) * (1 - MOMENTUM if matched else 1)
        tol = 0.999 if matched else 0.99
        settings = LassoNetSettings(momentum=MOMENTUM, epochs=(0, epochs[1]), tol=tol)
        ours, our_time = _ours(given, seed, state, settings, lams=lams)
        count = min(len(ours) - 1, len(theirs))
        pairs = zip(ours.objective[1:], theirs, lams, strict=False)
        good = np.mean([a <= 1.01 * _objective(given, row.state_dict, lam) for a, row, lam in pairs])
    words = (
        f"{count} of {len(theirs)} λ, {ours.epochs.sum()} epochs, theirs {sum(r.n_iters for r in theirs)}; "
    )
    return our_time / their_time, Outcome(good >= 0.95, f"{words}objective ≤ 1.01 of theirs at {good:.0%}")


def dense_cost(seed: int, data: str, rows: int, epochs: tuple[int, int]) -> tuple[float, None]:
    """Measure our processor time for the dense network, divided by lassonet's; both have the same epochs."""
    from sparselin.neural import LassoNetSettings

    with torch_threads(1):
        given = table(data, seed, rows)
        _, their_time = _theirs(given, seed, (epochs[0], 0), lambda_seq=[], patience=None)
        settings = LassoNetSettings(momentum=MOMENTUM, epochs=epochs, patience=None)
        _, our_time = _ours(given, seed, None, settings, callback=lambda step: True)
    return our_time / their_time, None


def _theirs(
    given: Table,
    seed: int,
    epochs: tuple[int, int],
    state: Any = None,
    lambda_seq: Any = None,
    **options: Any,
) -> tuple[Any, float]:
    """Run lassonet's path; return it and its processor time.

    state : the weights of the dense network at which the path begins; None: lassonet trains it first.
    """
    from lassonet import LassoNetClassifier

    model = starting_at(
        state, LassoNetClassifier, n_iters=epochs, torch_seed=seed, verbose=0, device="cpu", **options
    )
    X, y, X_val, y_val = given
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        begin = time.process_time()
        path = model.path(X, y, X_val=X_val, y_val=y_val, lambda_seq=lambda_seq, return_state_dicts=True)
        return path, time.process_time() - begin


def starting_at(state: Any, model: Any, **options: Any) -> Any:
    """Return lassonet's estimator of the class `model` whose network begins with the weights `state`."""

    class Given(model):  # type: ignore[misc]
        def _init_model(self, X: Any, y: Any) -> None:
            super()._init_model(X, y)
            if state is not None:
                self.model.load_state_dict(state)

    return Given(hidden_dims=(HIDDEN,), **options)


def _ours(given: Table, seed: int, state: Any, settings: Any, **options: Any) -> tuple[Any, float]:
    """Run our path; return it and its processor time.

    state : the weights of the dense network at which the path begins; None: it is trained first.
    """
    from sparselin.neural import lassonet_path

    X, y, X_val, y_val = given
    network = _network(given, state)
    begin = time.process_time()
    path = lassonet_path(
        network,
        X,
        y,
        loss="cross_entropy",
        validation=(X_val, y_val),
        settings=settings,
        rng=seed,
        **options,
    )
    return path, time.process_time() - begin


def _network(given: Table, state: Any) -> Any:
    """Return our skip network; `state`, if given, has its weights as lassonet stores them."""
    network = skip_network(given.X.shape[1], int(given.y.max()) + 1)
    if state is not None:
        network.load_state_dict(rename(state, {theirs: ours for ours, theirs in NAMES.items()}))
    return network


def skip_network(d: int, q: int) -> Any:
    """Return our skip network with one hidden layer, as lassonet has it."""
    from sparselin.neural import SkipNetwork, mlp

    return SkipNetwork(mlp(d, [HIDDEN], q), d, q)


def rename(state: Any, names: dict[str, str]) -> Any:
    """Return the weights with these new names of their layers."""
    split = {name: name.rpartition(".") for name in state}
    return {f"{names[split[n][0]]}.{split[n][2]}": value for n, value in state.items()}


def _objective(given: Table, state: Any, lam: float) -> float:
    """Return the objective L + λΣ‖θ_j‖ of lassonet's weights `state` on the training rows."""
    import torch

    network = _network(given, state)
    with torch.no_grad():
        output = network(torch.from_numpy(given.X))
        loss = torch.nn.functional.cross_entropy(output, torch.from_numpy(given.y))
        return float(loss + lam * network.skip.weight.norm(dim=0).sum())


@contextlib.contextmanager
def torch_threads(number: int) -> Iterator[None]:
    """Let PyTorch have this number of threads; with one, the processor time is that of the work."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(number)
    try:
        yield
    finally:
        torch.set_num_threads(before)
