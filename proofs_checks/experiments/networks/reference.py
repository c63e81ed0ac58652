"""Sequential Attention as its authors released it: their network, training and defects, each with a switch.

Behaviour of google-research/sequential_attention, sequential_attention/experiments (Apache 2.0): a batch
normalisation of the inputs, the mask, 67 ReLU, softmax. Its train and retrain steps are those of Keras:
initial weights of Glorot and Bengio (2010), ε = 10⁻⁷, batch statistics with momentum .99 and ε = 10⁻³. What
has no switch: w begins a phase at 0, and theirs with noise, N(0, 10⁻¹⁰).
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from proofs_checks.experiments.networks.protocol import Sets
from sparselin.neural.attention import SequentialAttention
from sparselin.neural.schedule import PerStep, Schedule, divided
from sparselin.neural.training import Rows, backward, cross_entropy, seeded
from sparselin.results import IndexArray

HIDDEN = 67
WARM_UP = 0.1


@dataclasses.dataclass(frozen=True)
class Settings:
    """Of a data set: passes to select and to fit, rows of a batch, and Adam's steps lr·rate^(t/steps)."""

    epochs: int
    epochs_fit: int
    batch_size: int
    learning_rate: float
    decay_rate: float
    decay_steps: int

    def rate(self, step: int) -> float:
        """Adam's step at step t = 0, 1, …; without `decay_steps`, where the schedule is 0/0 at t = 0, 2·10⁻⁴,
        the default of run.py."""
        if self.decay_steps == 0:
            return 2e-4
        return self.learning_rate * float(self.decay_rate ** (step / self.decay_steps))


# hyperparams_sa.py; the last two are ours
SETTINGS = {
    "mice": Settings(337, 250, 16, 1.0, 0.63, 0),
    "mnist": Settings(50, 50, 349, 6e-3, 0.37, 330),
    "fashion": Settings(1000, 54, 391, 0.4, 0.84, 0),
    "isolet": Settings(50, 80, 23, 2e-5, 0.95, 500),
    "coil20": Settings(454, 166, 451, 2e-3, 0.52, 242),
    "activity": Settings(624, 134, 183, 1e-5, 1.0, 500),
    "digits": Settings(50, 50, 32, 1e-3, 1.0, 500),
    "breast_cancer": Settings(50, 50, 16, 1e-3, 1.0, 500),
}


@dataclasses.dataclass(frozen=True)
class Switches:
    """What the released code does; the first three are switches of `schedule.divided`.

    Attributes
    ----------
    first_at_random : the first pick falls when the warm-up ends, before w is trained, at random
        (sequential_attention.py, as the next two).
    last_wasted : the phase after the last pick is trained.
    counts_features : phases are compared with numbers of features, so that m > 1 at a time pick too few; the
        others are then those with the lowest numbers (top_k in run.py).
    buffer : rows are shuffled within a buffer of 100 (dataset.py), not all of them.
    optimizer : "rmsprop", with steps of 10⁻³: mlp.py makes an Adam with the settings' rate, but `compile` is
        called without it and sets Keras' default; "rmsprop 2.10", the same in TensorFlow up to 2.10, where ε
        is outside the root; "adam", what the settings are for (`Settings.rate`).
    drop_remainder : rows that do not fill a batch are left out of a pass (dataset.py).
    """

    first_at_random: bool = True
    last_wasted: bool = True
    counts_features: bool = True
    buffer: bool = True
    optimizer: str = "rmsprop"
    drop_remainder: bool = True

    def schedule(self, k: int, features_per_step: PerStep, steps: int) -> Schedule:
        """When and how many features are picked."""
        return divided(
            k,
            features_per_step,
            steps,
            WARM_UP,
            first_at_random=self.first_at_random,
            last_wasted=self.last_wasted,
            counts_features=self.counts_features,
        )


AS_RELEASED = Switches()
MENDED = Switches(False, False, False, False, "adam")
"""All but `drop_remainder`."""


def reference_attention(
    sets: Sets,
    k: int,
    seed: int,
    *,
    settings: Settings,
    switches: Switches = AS_RELEASED,
    parametrization: str = "softmax",
    features_per_step: PerStep = 1,
) -> list[int]:
    """k features in the order of picking; where fewer were picked, then those with the lowest numbers.

    Raises ValueError for k > d, and for fewer steps than phases.

    >>> from proofs_checks.experiments.networks import data, protocol
    >>> sets = protocol.split(data.table("breast_cancer"), protocol.PAPER, 1)
    >>> len(reference_attention(sets, 3, 1, settings=SETTINGS["breast_cancer"]))
    3
    """
    d = sets.X.shape[1]
    batches = Batches(rows_of(sets.X, sets.y), settings.batch_size, switches)
    schedule = switches.schedule(k, features_per_step, len(batches) * settings.epochs)
    with seeded(seed):
        network, inputs = perceptron(d, d, sets.classes), BatchNorm(d)
        selector = SequentialAttention(
            network,
            sum(schedule.sizes),
            n_features=d,
            inputs=inputs,
            optimizer=optimizer(settings, switches),
            parametrization=parametrization,
            schedule=lambda steps: switches.schedule(k, features_per_step, steps),
            rng=seed,
        )
        order: list[int] = selector.fit(batches, settings.epochs).order.tolist()
    left = np.setdiff1d(np.arange(d), order)
    return [*order, *left[: k - len(order)].tolist()]


def reference_accuracy(
    sets: Sets, support: Any, seed: int, *, settings: Settings, switches: Switches = AS_RELEASED
) -> float:
    """The share of test rows that the network, trained again on these features only, gets right.

    x∘1_S after the batch normalisation has no gradient off S: only x_S is passed through, with initial
    weights of the layer for all d features.
    """
    S = np.asarray(support, np.intp)
    with seeded(seed):
        body = perceptron(len(S), sets.X.shape[1], sets.classes)
        network = nn.Sequential(BatchNorm(len(S)), body)
        batches = Batches(rows_of(sets.X[:, S], sets.y), settings.batch_size, switches)
        stepper = optimizer(settings, switches)(list(network.parameters()))
        for _ in range(settings.epochs_fit):
            for batch in batches:
                stepper.zero_grad()
                backward(network, batch, cross_entropy, "training on the picks")
                stepper.step()
        network.eval()
        with torch.no_grad():
            test = rows_of(sets.X_test[:, S], sets.y_test)
            return float((network(test.X).argmax(dim=1) == test.y).double().mean())


def rows_of(X: Any, y: IndexArray) -> Rows:
    """X (n, d) and the classes, for PyTorch."""
    return Rows(torch.from_numpy(np.ascontiguousarray(X)), torch.from_numpy(y))


def perceptron(width: int, d: int, classes: int) -> nn.Sequential:
    """`width` → 67 ReLU → classes; zero biases, weights uniform in ±√(6/(inputs + outputs)), of d inputs."""
    layers = nn.Linear(width, HIDDEN), nn.Linear(HIDDEN, classes)
    for layer, inputs in zip(layers, (d, HIDDEN), strict=True):
        bound = math.sqrt(6 / (inputs + layer.out_features))
        nn.init.uniform_(layer.weight, -bound, bound)
        nn.init.zeros_(layer.bias)
    return nn.Sequential(layers[0], nn.ReLU(), layers[1])


class BatchNorm(nn.BatchNorm1d):
    """Keras' batch normalisation: (x − m)/√(v + 10⁻³)·γ + β, the averages of m and v with momentum .99.

    v is the mean square, Σ(x − m)²/b; PyTorch's average is of Σ(x − m)²/(b − 1).
    """

    def __init__(self, d: int) -> None:
        super().__init__(d, eps=1e-3, momentum=0.01)

    def forward(self, X: Tensor) -> Tensor:
        """The rows of X, normalised by their own mean and variance, in evaluation by the averages."""
        if not self.training:
            return super().forward(X)
        m, u = torch.zeros_like(self.running_mean), torch.zeros_like(self.running_var)
        normalised = F.batch_norm(X, m, u, self.weight, self.bias, True, 1.0, self.eps)
        self.running_mean.lerp_(m, self.momentum)
        self.running_var.lerp_(u * ((len(X) - 1) / len(X)), self.momentum)
        return normalised


class Batches:
    """Batches of one size, in another order in each pass; rows left over make one more or are dropped.

    A single row is dropped, too: it has no variance by which to normalise it.
    """

    def __init__(self, rows: Rows, size: int, switches: Switches = AS_RELEASED) -> None:
        self._rows, self._size, self._buffer = rows, min(size, len(rows)), switches.buffer
        rest = len(rows) % self._size
        self._taken = len(rows) - rest * (switches.drop_remainder or rest == 1)

    def __len__(self) -> int:
        return -(-self._taken // self._size)

    def __iter__(self) -> Iterator[Rows]:
        n = len(self._rows)
        order = buffered(n, 100) if self._buffer else torch.randperm(n)
        for part in order[: self._taken].split(self._size):
            yield Rows(self._rows.X.index_select(0, part), self._rows.y[part])


def buffered(n: int, size: int) -> Tensor:
    """0, …, n − 1 through a buffer of `size`: again and again one of it, at random, is replaced by the next.

    So row i comes at place i − size + 1 at the earliest. The random numbers are PyTorch's own.

    >>> with seeded(0):
    ...     order = buffered(1000, 100)
    >>> bool((order - torch.arange(1000)).max() < 100), order.sort().values.equal(torch.arange(1000))
    (True, True)
    """
    size = min(size, n)
    held, order = list(range(size)), []
    for following, at in enumerate(torch.randint(size, (n - size,)).tolist(), size):
        order.append(held[at])
        held[at] = following
    rest = torch.tensor(held)[torch.randperm(size)]
    return torch.cat([torch.tensor(order, dtype=torch.long), rest])


class RMSprop(torch.optim.Optimizer):
    """g ↦ −10⁻³·g/√(v + ε), v the average of g² with weight .9 of the past: Keras from TensorFlow 2.11 on."""

    def __init__(self, parameters: Any) -> None:
        super().__init__(parameters, {"lr": 1e-3})

    def step(self, closure: Callable[[], Any] | None = None) -> Any:  # type: ignore[override]
        """One step; the value of the closure."""
        value = None if closure is None else closure()
        with torch.no_grad():
            for group in self.param_groups:
                for w in (w for w in group["params"] if w.grad is not None):
                    v = self.state[w].setdefault("square", torch.zeros_like(w))
                    v.mul_(0.9).addcmul_(w.grad, w.grad, value=0.1)
                    w.addcdiv_(w.grad, (v + 1e-7).sqrt_(), value=-group["lr"])
        return value


def optimizer(
    settings: Settings, switches: Switches
) -> Callable[[Sequence[nn.Parameter]], torch.optim.Optimizer]:
    """Parameters ↦ the optimiser; ValueError for an unknown name."""
    if switches.optimizer == "rmsprop":
        return RMSprop
    if switches.optimizer == "rmsprop 2.10":
        return lambda parameters: torch.optim.RMSprop(parameters, lr=1e-3, alpha=0.9, eps=1e-7)
    if switches.optimizer != "adam":
        raise ValueError(f'optimizer must be "rmsprop", "rmsprop 2.10" or "adam"; got {switches.optimizer!r}')
    return lambda parameters: _decaying_adam(parameters, settings)


def _decaying_adam(parameters: Any, settings: Settings) -> torch.optim.Optimizer:
    """Keras' Adam: lr_t·√(1 − .999ᵗ)/(1 − .9ᵗ)·m/(√v + 10⁻⁷) in step t = 1, 2, …

    PyTorch's is lr_t/(1 − .9ᵗ)·m/(√(v/(1 − .999ᵗ)) + ε): the same with ε_t = 10⁻⁷/√(1 − .999ᵗ).
    """
    adam = torch.optim.Adam(parameters, lr=settings.rate(0), eps=_epsilon(1))
    done = 0

    def after(*_: Any) -> None:
        nonlocal done
        done += 1
        adam.param_groups[0].update(lr=settings.rate(done), eps=_epsilon(done + 1))

    adam.register_step_post_hook(after)
    return adam


def _epsilon(t: int) -> float:
    return 1e-7 / math.sqrt(1 - 0.999**t)
