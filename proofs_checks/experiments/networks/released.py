"""Sequential Attention and two baselines as in the authors' released code, with a switch for each defect.

The methods behave like the code in google-research/sequential_attention (Apache 2.0). **The network** in the
folder sequential_attention/experiments has a batch normalisation of the inputs, the mask, 67 ReLU units and a
softmax. It is trained as by Keras: the initial weights are those of Glorot and Bengio (2010), the optimizer
has ε = 10⁻⁷, and the batch statistics have momentum .99 and ε = 10⁻³. One difference has no switch: here the
weights w of the mask are 0 at the beginning of a phase, while in the released code they are noise, N(0,
10⁻¹⁰).

**The baselines** are those of experiments/models/mlp_omp.py and mlp_lly.py, and of the folder benchmarks.
Their network, batches, optimizer and settings are those of Sequential Attention. The released group LASSO and
Sequential LASSO (mlp_seql.py) do not run: their constructor does not pass the layers to the constructor of
MLPModel, which raises a TypeError. The released code has no concrete autoencoder.
"""

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
from sparselin.neural.schedule import PerStep, Schedule, equal_phases, sizes_of
from sparselin.neural.training import Rows, backward, cross_entropy, seeded
from sparselin.results import IndexArray

HIDDEN = 67
WARM_UP = 0.1


@dataclasses.dataclass(frozen=True)
class Settings:
    """The settings of the released code for a data set.

    They are the numbers of epochs to select features and to fit the network, the number of rows in a batch,
    and the learning rate lr·rate^(t/steps) of Adam in step t.
    """

    epochs: int
    epochs_fit: int
    batch_size: int
    learning_rate: float
    decay_rate: float
    decay_steps: int

    def rate(self, step: int) -> float:
        """Return the learning rate of Adam in step t = 0, 1, …

        If decay_steps = 0, the formula of the schedule is 0/0 at t = 0. The rate is then 2·10⁻⁴, the default
        of run.py.
        """
        if self.decay_steps == 0:
            return 2e-4
        return self.learning_rate * float(self.decay_rate ** (step / self.decay_steps))


# hyperparams_sa.py, by the fields of `Settings` in their order; the last two rows are ours
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
    """Switches for the defects of the released code of Sequential Attention.

    Attributes
    ----------
    first_at_random : the first feature is picked when the warm-up ends, before the weights w of the mask are
        trained, and therefore at random. This defect and the next two are in sequential_attention.py.
    last_wasted : one more phase is trained after the last feature is picked.
    counts_features : the number of the current phase is compared with a number of features. So too few
        features are picked if each phase picks m > 1 features. The missing features are those of lowest index
        (top_k in run.py).
    buffer : rows are shuffled within a buffer of 100 (dataset.py), not completely.
    optimizer : "rmsprop": RMSprop with the learning rate 10⁻³. The reason is that mlp.py makes an Adam
        optimizer with the learning rate of the settings, but calls `compile` without this optimizer, so that
        Keras uses its default. "rmsprop 2.10": RMSprop as in TensorFlow up to 2.10, where ε is outside the
        square root. "adam": Adam with the learning rate of the settings (`Settings.rate`).
    drop_remainder : rows that do not fill a batch are left out of an epoch (dataset.py).
    """

    first_at_random: bool = True
    last_wasted: bool = True
    counts_features: bool = True
    buffer: bool = True
    optimizer: str = "rmsprop"
    drop_remainder: bool = True

    def schedule(self, k: int, features_per_step: PerStep, steps: int) -> Schedule:
        """Return the schedule of a training of `steps` steps: when features are picked, and how many.

        If p phases pick, p − `first_at_random` + `last_wasted` are trained. With `counts_features` phase i =
        0, 1, … picks if i is at least the number of *features* picked before. So of phases of m features only
        the phases 0, m, 2m, … pick, about k/m features in place of k.

        >>> AS_RELEASED.schedule(6, 2, 40)
        Schedule(warm_up=4, ends=(4, 28), sizes=(2, 2))
        """
        sizes = sizes_of(k, features_per_step)
        p = len(sizes)
        trained = equal_phases(p - self.first_at_random + self.last_wasted, 1, steps, WARM_UP)
        ends = (*[trained.warm_up] * self.first_at_random, *trained.ends)
        picking = [sum(sizes[:t]) for t in range(p)] if self.counts_features else range(p)
        picking = [phase for phase in picking if phase < p]
        return Schedule(trained.warm_up, tuple(ends[phase] for phase in picking), sizes[: len(picking)])


AS_RELEASED = Switches()
CORRECTED = Switches(
    first_at_random=False, last_wasted=False, counts_features=False, buffer=False, optimizer="adam"
)
"""All defects are corrected except `drop_remainder`."""


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
    """Select k features by Sequential Attention as in the released code; return them in order.

    If a defect of the code makes it pick fewer features, the features of lowest index follow.

    Raises ValueError if k > d, or if there are fewer steps than phases.

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
    """Train the released network on the features `support`, and return its accuracy on the test rows.

    The released network has all d inputs, and after the batch normalisation it sets the inputs outside the
    support to 0. The weights of these inputs have no gradient. So the network here has only the inputs of the
    support, with initial weights as for all d features.
    """
    S = np.asarray(support, np.intp)
    with seeded(seed):
        body = perceptron(len(S), sets.X.shape[1], sets.classes)
        network = nn.Sequential(BatchNorm(len(S)), body)
        batches = Batches(rows_of(sets.X[:, S], sets.y), settings.batch_size, switches)
        stepper = optimizer(settings, switches)(list(network.parameters()))
        for batch in batches.repeat(settings.epochs_fit):
            _step(network, stepper, batch)
        network.eval()
        with torch.no_grad():
            test = rows_of(sets.X_test[:, S], sets.y_test)
            return float((network(test.X).argmax(dim=1) == test.y).double().mean())


def _step(network: nn.Module, stepper: torch.optim.Optimizer, batch: Rows) -> None:
    """Take one training step on one batch."""
    stepper.zero_grad()
    backward(network, batch, cross_entropy, "training on the picks")
    stepper.step()


def rows_of(X: Any, y: IndexArray) -> Rows:
    """Return the rows X (n, d) and their classes as tensors."""
    return Rows(torch.from_numpy(np.ascontiguousarray(X)), torch.from_numpy(y))


def perceptron(width: int, d: int, classes: int) -> nn.Sequential:
    """Return a network with `width` inputs, 67 ReLU units and an output for each class.

    The biases are 0. The weights of a layer are uniform in ±√(6/(inputs + outputs)), where the first layer
    counts d inputs in place of `width`.
    """
    layers = nn.Linear(width, HIDDEN), nn.Linear(HIDDEN, classes)
    for layer, inputs in zip(layers, (d, HIDDEN), strict=True):
        bound = math.sqrt(6 / (inputs + layer.out_features))
        nn.init.uniform_(layer.weight, -bound, bound)
        nn.init.zeros_(layer.bias)
    return nn.Sequential(layers[0], nn.ReLU(), layers[1])


class BatchNorm(nn.BatchNorm1d):
    """The batch normalisation of Keras, (x − m)/√(v + 10⁻³)·γ + β with the mean m and variance v of a batch.

    In evaluation, m and v are running averages with momentum .99. For a batch of b rows, v is Σ(x − m)²/b;
    PyTorch would average Σ(x − m)²/(b − 1).
    """

    def __init__(self, d: int) -> None:
        super().__init__(d, eps=1e-3, momentum=0.01)

    def forward(self, X: Tensor) -> Tensor:
        """Normalise the rows of X by their own mean and variance, or in evaluation by the running
        averages.
        """
        if not self.training:
            return super().forward(X)
        m, u = torch.zeros_like(self.running_mean), torch.zeros_like(self.running_var)
        normalised = F.batch_norm(X, m, u, self.weight, self.bias, True, 1.0, self.eps)
        self.running_mean.lerp_(m, self.momentum)
        self.running_var.lerp_(u * ((len(X) - 1) / len(X)), self.momentum)
        return normalised


class Batches:
    """Batches of equal size, made from the rows in a new random order for each epoch.

    The rows that do not fill a batch make one more batch, or are left out. If only one row remains, it is
    always left out, because a single row has no variance by which to normalise it.
    """

    def __init__(self, rows: Rows, size: int, switches: Switches = AS_RELEASED) -> None:
        self._rows, self._size, self._buffer = rows, min(size, len(rows)), switches.buffer
        rest = len(rows) % self._size
        self._taken = len(rows) - rest * (switches.drop_remainder or rest == 1)

    def __len__(self) -> int:
        return -(-self._taken // self._size)

    def __iter__(self) -> Iterator[Rows]:
        n = len(self._rows)
        order = shuffle_in_buffer(n, 100) if self._buffer else torch.randperm(n)
        for part in order[: self._taken].split(self._size):
            yield Rows(self._rows.X.index_select(0, part), self._rows.y[part])

    def repeat(self, epochs: int) -> Iterator[Rows]:
        """Return the batches of a number of epochs, one epoch after the other."""
        return itertools.chain.from_iterable(self for _ in range(epochs))


def shuffle_in_buffer(n: int, size: int) -> Tensor:
    """Shuffle the numbers 0, …, n − 1 of the rows by a buffer of `size` rows, as TensorFlow does.

    In each step a random row of the buffer is output, and the next row of the data takes its place. So row i
    is output at position i − size + 1 at the earliest. The random numbers are PyTorch's.

    >>> with seeded(0):
    ...     order = shuffle_in_buffer(1000, 100)
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
    """The optimizer RMSprop as in Keras from TensorFlow 2.11 on.

    For a gradient g, the step is −10⁻³·g/√(v + ε) with the running average v ↦ .9·v + .1·g².
    """

    def __init__(self, parameters: Any) -> None:
        super().__init__(parameters, {"lr": 1e-3})

    def step(self, closure: Callable[[], Any] | None = None) -> Any:  # type: ignore[override]
        """Take an optimization step, and return the value of the closure, the function that computes the
        loss.
        """
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
    """Return a function that makes the optimizer for given parameters. Raises ValueError for an unknown
    name.
    """
    if switches.optimizer == "rmsprop":
        return RMSprop
    if switches.optimizer == "rmsprop 2.10":
        return lambda parameters: torch.optim.RMSprop(parameters, lr=1e-3, alpha=0.9, eps=1e-7)
    if switches.optimizer != "adam":
        raise ValueError(f'optimizer must be "rmsprop", "rmsprop 2.10" or "adam"; got {switches.optimizer!r}')
    return lambda parameters: _decaying_adam(parameters, settings)


def _decaying_adam(parameters: Any, settings: Settings) -> torch.optim.Optimizer:
    """Return the optimizer Adam as in Keras, with a decaying learning rate lr_t.

    With the running averages m of the gradient and v of its square, step t = 1, 2, … in Keras is lr_t·√(1 −
    .999ᵗ)/(1 − .9ᵗ)·m/(√v + 10⁻⁷). The step of PyTorch is lr_t/(1 − .9ᵗ)·m/(√(v/(1 − .999ᵗ)) + ε). The two
    are equal for ε = 10⁻⁷/√(1 − .999ᵗ).
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
    """The gradients by which the released OMP ranks the features that are not selected yet.

    Attributes
    ----------
    random_off : the network has all features as inputs, and the input weights W_j of unselected features j
        have their random initial values. If False, W_j = 0 for these features from the second pick on, as OMP
        requires. (If this held before the first pick, all hidden units would be 0, where ReLU has no slope.)
    one_batch : the gradients are those of the loss on one batch, the batch of the step before. If False, the
        gradients are those of the loss on all training rows.
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
    """Select k features by orthogonal matching pursuit (OMP) as in the released code; return them in order.

    The training steps are divided into k phases. In each phase the network sees only the selected features.
    At the beginning of each phase, the unselected feature j with the largest ‖∂L/∂W_j‖₂ is selected, where L
    is the loss and W_j are the input weights of feature j. The first phase begins with the second training
    step, because the gradients are those of the step before.

    normalised : whether the network begins with the batch normalisation, as in the released code; otherwise
        it reads X itself.

    Raises ValueError if there are fewer than k + 1 steps, or if k > d.

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
        raise ValueError(f"OMP needs at least k + 1 steps; got {steps} steps for k = {k}: use more epochs")
    with seeded(seed):
        network, mask = perceptron(d, d, sets.classes), torch.zeros(d)
        inputs: nn.Module = BatchNorm(d) if normalised else nn.Identity()
        stepper = optimizer(settings, AS_RELEASED)([*inputs.parameters(), *network.parameters()])
        through = nn.Sequential(inputs, _Masking(mask), network)
        order: list[int] = []
        before = rows
        for step, batch in enumerate(batches.repeat(settings.epochs)):
            if math.ceil(step * k / steps) > len(order):
                random = chosen.random_off or not order
                norms = _norms(network, inputs, before if chosen.one_batch else rows, mask, random)
                norms[order] = -1
                order.append(int(np.argmax(norms.numpy())))  # the first of equal ones
                mask[order[-1]] = 1
            _step(through, stepper, batch)
            before = batch
    return order


def _norms(network: nn.Sequential, inputs: nn.Module, rows: Rows, mask: Tensor, random_off: bool) -> Tensor:
    """Return ‖∂L/∂W_j‖₂ (d,) for the loss L and the input weights W_j of each feature j.

    The network has all features as inputs. Unless `random_off`, W_j is set to 0 for the features j that are
    not selected.
    """
    first = cast(nn.Linear, network[0])
    W = (first.weight if random_off else first.weight * mask).detach().requires_grad_()
    with torch.no_grad():
        X = inputs(rows.X)
    loss = cross_entropy(network[1:](F.linear(X, W, first.bias)), rows.y).mean()
    return torch.autograd.grad(loss, W)[0].norm(dim=0)


class _Masking(nn.Module):
    """A layer that multiplies each input by a fixed factor, its entry of the mask."""

    def __init__(self, mask: Tensor) -> None:
        super().__init__()
        self._mask = mask

    def forward(self, X: Tensor) -> Tensor:
        return X * self._mask


def reference_mask(
    sets: Sets, k: int, seed: int, *, settings: Settings, normalised: bool = False
) -> list[int]:
    """Select the k features with the largest entries of a mask that is trained together with the network.

    The mask is softmax(mean of g(x) over the rows x of a batch). The network g has three layers of 128, 64
    and d leaky ReLU units. In training, g reads rows after the batch normalisation. For the final mask it
    reads all training rows without normalisation, as in the released code, unless `normalised`.

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
        for batch in batches.repeat(settings.epochs):
            _step(through, stepper, batch)
        inputs.eval()
        with torch.no_grad():
            shares = mask.shares(inputs(rows.X) if normalised else rows.X)
    return np.argsort(-shares.numpy(), kind="stable")[:k].tolist()  # type: ignore[no-any-return]


class _Mask(nn.Module):
    """A layer that multiplies each input by its entry of the mask softmax(mean of g over the batch).

    The initial weights of the network g are those of Glorot and Bengio (2010), and its biases are 0.
    """

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
        """Return the mask of a batch: d positive numbers whose sum is 1."""
        return torch.softmax(self.g(X).mean(dim=0), dim=0)

    def forward(self, X: Tensor) -> Tensor:
        return X * self.shares(X)
