"""Sequential Attention and two baselines as their authors released them, each defect with a switch.

Behaviour of google-research/sequential_attention (Apache 2.0). **Its sequential_attention/experiments:** a
batch normalisation of the inputs, the mask, 67 ReLU, softmax. Its train and retrain steps are those of Keras:
initial weights of Glorot and Bengio (2010), ε = 10⁻⁷, batch statistics with momentum .99 and ε = 10⁻³. What
has no switch: w begins a phase at 0, and theirs with noise, N(0, 10⁻¹⁰).

**Baselines:** experiments/models/mlp_omp.py and mlp_lly.py, and its folder benchmarks; network, batches,
optimiser and settings are those of Sequential Attention. Their group LASSO and Sequential LASSO (mlp_seql.py)
cannot be run as they are: the constructor does not hand the layers on to that of MLPModel, which ends with a
TypeError. Nor are concrete autoencoders among what was released.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from proofs_checks.experiments.networks.protocol import Sets
from sparselin.neural.attention import SequentialAttention
from sparselin.neural.schedule import PerStep, Schedule, equal_phases
from sparselin.neural.training import Rows, backward, cross_entropy, seeded
from sparselin.results import IndexArray

HIDDEN = 67
WARM_UP = 0.1


@dataclasses.dataclass(frozen=True)
class Settings:
    """Passes to select and to fit on a data set, rows of a batch, and Adam's steps lr·rate^(t/steps)."""

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
    """Switches of what the released code does; the first three are those of `schedule.equal_phases`.

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
        """Return when and how many features are picked."""
        names = ("first_at_random", "last_wasted", "counts_features")
        defects = {name: getattr(self, name) for name in names}
        return equal_phases(k, features_per_step, steps, WARM_UP, **defects)


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
    """Select k features in order; where fewer are picked, those with the lowest numbers follow.

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
    """Return the share of test rows that the network, trained again on these features only, gets right.

    x∘1_S after the batch normalisation has no gradient off S: only x_S is passed through, with initial
    weights of the layer for all d features.
    """
    S = np.asarray(support, np.intp)
    with seeded(seed):
        body = perceptron(len(S), sets.X.shape[1], sets.classes)
        network = nn.Sequential(BatchNorm(len(S)), body)
        batches = Batches(rows_of(sets.X[:, S], sets.y), settings.batch_size, switches)
        stepper = optimizer(settings, switches)(list(network.parameters()))
        for batch in batches.repeated(settings.epochs_fit):
            _step(network, stepper, batch)
        network.eval()
        with torch.no_grad():
            test = rows_of(sets.X_test[:, S], sets.y_test)
            return float((network(test.X).argmax(dim=1) == test.y).double().mean())


def _step(network: nn.Module, stepper: torch.optim.Optimizer, batch: Rows) -> None:
    """Take a step of training."""
    stepper.zero_grad()
    backward(network, batch, cross_entropy, "training on the picks")
    stepper.step()


def rows_of(X: Any, y: IndexArray) -> Rows:
    """Return X (n, d) and the classes for PyTorch."""
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
        """Normalise the rows of X by their own mean and variance, in evaluation by the averages."""
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

    def repeated(self, epochs: int) -> Iterator[Rows]:
        """Return the batches of some passes, one pass after the other."""
        return itertools.chain.from_iterable(self for _ in range(epochs))


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
        """Take a step; return the value of the closure."""
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


# --- two baselines ---------------------------------------------------------------------------------------

MASK_WIDTHS = (128, 64)
MASK_SLOPE = 0.2


@dataclasses.dataclass(frozen=True)
class Gradients:
    """The gradients that rank the features in the released OMP.

    Attributes
    ----------
    random_off : of the network in which the W_j of unselected features have the random values that they were
        drawn with, all features being passed on; else W_j = 0 off S, as in OMP, from the second pick on: for
        S = ∅ all hidden units are 0 then, where ReLU has no slope.
    one_batch : over the batch of the step before; else over all training rows.
    """

    random_off: bool = True
    one_batch: bool = True


def reference_omp(
    sets: Sets,
    k: int,
    seed: int,
    *,
    settings: Settings,
    gradients: Gradients | None = None,
    normalised: bool = True,
) -> list[int]:
    """Select k features in order, in k phases of the steps, in which the network sees x∘1_S; each begins
    with argmax_{j ∉ S} ‖∂L/∂W_j‖₂ joining S, the first with step 1: the gradients are of the step before.

    normalised : whether the batch normalisation, as released, comes first; else the network reads X.

    Raises ValueError for fewer than k + 1 steps, and for k > d.

    >>> from proofs_checks.experiments.networks import data, protocol
    >>> sets = protocol.split(data.table("breast_cancer"), protocol.PAPER, 1)
    >>> len(reference_omp(sets, 3, 1, settings=SETTINGS["breast_cancer"]))
    3
    """
    chosen, d = gradients or Gradients(), sets.X.shape[1]
    rows = rows_of(sets.X, sets.y)
    batches = Batches(rows, settings.batch_size)
    steps = len(batches) * settings.epochs
    if k > d:
        raise ValueError(f"k must be at most the number of features; got k = {k}, {d} features")
    if steps <= k:
        raise ValueError(f"OMP needs a step more than features; got {steps} steps, k = {k}: take more epochs")
    with seeded(seed):
        network, mask = perceptron(d, d, sets.classes), torch.zeros(d)
        inputs: nn.Module = BatchNorm(d) if normalised else nn.Identity()
        stepper = optimizer(settings, AS_RELEASED)([*inputs.parameters(), *network.parameters()])
        through = nn.Sequential(inputs, _Times(mask), network)
        order: list[int] = []
        before = rows
        for step, batch in enumerate(batches.repeated(settings.epochs)):
            if math.ceil(step * k / steps) > len(order):
                random = chosen.random_off or not order
                norms = _norms(network, inputs, before if chosen.one_batch else rows, mask, random)
                norms[order] = -1
                order.append(int(np.argmax(norms.numpy())))  # of equal ones the first
                mask[order[-1]] = 1
            _step(through, stepper, batch)
            before = batch
    return order


def _norms(network: nn.Sequential, inputs: nn.Module, rows: Rows, mask: Tensor, random_off: bool) -> Tensor:
    """Return (d,) ‖∂L/∂W_j‖₂ with all features passed on, W_j = 0 off S unless `random_off`."""
    first = cast(nn.Linear, network[0])
    W = (first.weight if random_off else first.weight * mask).detach().requires_grad_()
    with torch.no_grad():
        X = inputs(rows.X)
    loss = cross_entropy(network[1:](F.linear(X, W, first.bias)), rows.y).mean()
    return torch.autograd.grad(loss, W)[0].norm(dim=0)


class _Times(nn.Module):
    """x ↦ x∘m, m not trained."""

    def __init__(self, mask: Tensor) -> None:
        super().__init__()
        self._mask = mask

    def forward(self, X: Tensor) -> Tensor:
        return X * self._mask


def reference_mask(
    sets: Sets, k: int, seed: int, *, settings: Settings, normalised: bool = False
) -> list[int]:
    """Select the k largest entries of the mask softmax(mean of g(x) over a batch), trained with the network.

    g has the widths 128, 64, d, and leaky units, of the last layer too. In training it reads the rows after
    the batch normalisation, at the end all training rows as they are; `normalised`: then after it, too.

    >>> from proofs_checks.experiments.networks import data, protocol
    >>> sets = protocol.split(data.table("breast_cancer"), protocol.PAPER, 1)
    >>> len(reference_mask(sets, 3, 1, settings=SETTINGS["breast_cancer"]))
    3
    """
    d = sets.X.shape[1]
    rows = rows_of(sets.X, sets.y)
    batches = Batches(rows, settings.batch_size)
    with seeded(seed):
        network, inputs, mask = perceptron(d, d, sets.classes), BatchNorm(d), _Mask(d)
        through = nn.Sequential(inputs, mask, network)
        stepper = optimizer(settings, AS_RELEASED)(list(through.parameters()))
        for batch in batches.repeated(settings.epochs):
            _step(through, stepper, batch)
        inputs.eval()
        with torch.no_grad():
            shares = mask.shares(inputs(rows.X) if normalised else rows.X)
    return np.argsort(-shares.numpy(), kind="stable")[:k].tolist()  # type: ignore[no-any-return]


class _Mask(nn.Module):
    """x ↦ x∘softmax(mean of g over the batch); weights of Glorot and Bengio (2010), biases 0."""

    def __init__(self, d: int) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        for width, following in itertools.pairwise((d, *MASK_WIDTHS, d)):
            layer = nn.Linear(width, following)
            nn.init.xavier_uniform_(layer.weight)
            nn.init.zeros_(layer.bias)
            layers += [layer, nn.LeakyReLU(MASK_SLOPE)]
        self.g = nn.Sequential(*layers)

    def shares(self, X: Tensor) -> Tensor:
        """Return (d,) shares of sum 1."""
        return torch.softmax(self.g(X).mean(dim=0), dim=0)

    def forward(self, X: Tensor) -> Tensor:
        return X * self.shares(X)
