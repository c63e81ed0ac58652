"""The parts that the network methods share: losses, batches, seeds, optimisers, and error handling.

The loss of a network f on rows with weights ω_i of mean 1 is L(f) = (1/n)Σ ω_i ℓ(f(x_i), y_i). For "squared"
ℓ = ½‖f(x) − y‖². For a linear network and equal weights, nL is ½‖y − Xβ‖², which is the loss in the rest of
the package. So λ here corresponds to nλ there.
"""

from __future__ import annotations

import contextlib
import copy
import dataclasses
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from sparselin.validation import check_count, check_real
from sparselin.validation import check_generator as check_generator

Loss = Callable[[Tensor, Tensor], Tensor]


class NonFiniteLoss(ArithmeticError):
    """The error that the training loss became NaN or infinite; the message says where, and gives a remedy.

    path : the result so far if the method has one, else None.
    """

    path: Any = None


def squared_error(output: Tensor, target: Tensor) -> Tensor:
    """Return ½‖f(x) − y‖² for each row, with the outputs f(x) and the targets y."""
    return 0.5 * ((output - target.reshape(output.shape)) ** 2).sum(dim=1)


def cross_entropy(output: Tensor, target: Tensor) -> Tensor:
    """Return −log softmax(f(x))_y for each row, with the outputs f(x) and the number y of the class."""
    return F.cross_entropy(output, target, reduction="none")


LOSSES: dict[str, Loss] = {"squared": squared_error, "cross_entropy": cross_entropy}


def as_loss(loss: str | nn.Module | Loss) -> Loss:
    """Return a loss that maps outputs (b, q) and targets (b, …) to one number for each row (b,).

    loss : a name from LOSSES, a PyTorch loss, or a function that returns one or more numbers for each row,
        which are summed. The reduction of a PyTorch loss is removed, and targets of floats are passed to the
        loss in the shape of the outputs.

    The returned loss raises ValueError if `loss` returns more numbers than there are outputs: this shows that
    outputs (b, 1) and targets (b,) were broadcast to (b, b).
    """
    if isinstance(loss, str):
        if loss not in LOSSES:
            raise ValueError(
                f"loss must be one of {sorted(LOSSES)}, a PyTorch loss or a function; got {loss!r}"
            )
        return LOSSES[loss]
    if any(loss is known for known in LOSSES.values()):
        return loss
    if isinstance(loss, nn.CrossEntropyLoss) and repr(vars(loss)) == repr(vars(nn.CrossEntropyLoss())):
        return cross_entropy
    elementwise = isinstance(loss, nn.Module) and hasattr(loss, "reduction")
    if elementwise:
        loss = copy.deepcopy(loss)
        loss.reduction = "none"  # type: ignore[union-attr]
    if not callable(loss):
        raise TypeError(f"loss must be a name, a PyTorch loss or a function; got {type(loss).__name__}")

    def by_rows(output: Tensor, target: Tensor) -> Tensor:
        if elementwise and target.is_floating_point() and target.numel() == output.numel():
            target = target.reshape(output.shape)
        value = loss(output, target)
        if not isinstance(value, Tensor):
            raise TypeError(f"loss must give a tensor, one number for each row; got {type(value).__name__}")
        if value.ndim == 0:
            raise ValueError("loss must give one number for each row, without a reduction; got one number")
        if value.numel() > output.numel():
            raise ValueError(
                f"loss must not give more numbers than there are outputs; got {tuple(value.shape)} for "
                f"outputs {tuple(output.shape)} and targets {tuple(target.shape)}, which were broadcast. "
                "Pass targets in the shape of the outputs, and as floats unless they are classes"
            )
        return value.reshape(len(output), -1).sum(dim=1)

    return by_rows


@dataclasses.dataclass(frozen=True)
class Rows:
    """Rows of data: X (n, d), the targets (n, …), and the weights (n,) of mean 1, or None."""

    X: Tensor
    y: Tensor
    weight: Tensor | None = None

    def __len__(self) -> int:
        return len(self.X)

    def cuts(self, size: int | None) -> range:
        """Return the row at which each batch of `size` rows begins, except the first batch.

        With None all rows are one batch. The last batch has the remaining rows. A single remaining row joins
        the batch before it, because batch normalisation divides by the standard deviation of a batch, which
        is zero for a single row.
        """
        n = len(self.X)
        return range(0) if size is None else range(size, n - (size > 1), size)

    def batches(self, size: int | None, generator: torch.Generator) -> Iterator[Rows]:
        """Yield batches that contain each row once, in random order.

        If all rows are in one batch, their order is kept.
        """
        cuts = self.cuts(size)
        if not cuts:
            yield self
            return
        for batch in torch.randperm(len(self.X), generator=generator).tensor_split(list(cuts)):
            yield self.at(batch.to(self.X.device))

    def at(self, rows: Any) -> Rows:
        """Return the data of these rows."""
        return Rows(self.X[rows], self.y[rows], None if self.weight is None else self.weight[rows])

    def columns(self, J: Any) -> Rows:
        """Return the same rows with the columns X_J only."""
        return Rows(self.X[:, J], self.y, self.weight)

    def mean(self, loss: Loss, output: Tensor) -> Tensor:
        """Return the mean loss (1/n)Σ ω_i ℓ_i, with the weights ω_i and the losses ℓ_i of the rows."""
        values = loss(output, self.y)
        return values.mean() if self.weight is None else (self.weight * values).mean()


def check_finite_loss(value: float, where: str) -> None:
    """Raise NonFiniteLoss unless the loss is finite; `where` names the λ, the phase or the step."""
    if not np.isfinite(value):
        raise NonFiniteLoss(
            f"the loss is {value} at {where}. Standardize the features, shorten the step (learning_rate), or "
            "check the loss"
        )


def check_function(value: Any, name: str) -> None:
    """Raise TypeError unless the value is a function or None."""
    if value is not None and not callable(value):
        raise TypeError(f"{name} must be a function or None; got {value!r}")


@contextlib.contextmanager
def seeded(rng: Any) -> Iterator[torch.Generator]:
    """Seed PyTorch's global random numbers inside a `with` block, for example for layers and dropout.

    The block gets a generator with the same seed. After the block the global state is restored.

    rng : a seed or a NumPy Generator.
    """
    seed = int(check_generator(rng).integers(2**63))
    devices = range(torch.cuda.device_count()) if torch.cuda.is_available() else []
    with torch.random.fork_rng(devices):
        torch.manual_seed(seed)
        yield torch.Generator().manual_seed(seed)


class Plan(NamedTuple):
    """The plan of a training: passes over the data, rows of a batch (None: all), and step length."""

    epochs: int
    batch_size: int | None
    learning_rate: float

    def adam(self, parameters: Any) -> torch.optim.Optimizer:
        """Return PyTorch's Adam for these parameters, with the step length of the plan."""
        return torch.optim.Adam(parameters, lr=self.learning_rate)


def make_plan(epochs: int, batch_size: int | None, learning_rate: float) -> Plan:
    """Return the plan; raise TypeError or ValueError if an argument is invalid."""
    epochs = check_count(epochs, "epochs", 1)
    size = None if batch_size is None else check_count(batch_size, "batch_size", 1)
    return Plan(epochs, size, check_real(learning_rate, "learning_rate", lambda x: x > 0, "positive"))


def as_device(device: Any) -> torch.device:
    """Return the device; raise ValueError unless PyTorch can create an empty tensor on it."""
    try:
        found = torch.empty(0, device=device).device
        if found.type != "meta":
            return found
        error: Any = "tensors of meta have no numbers"
    except (AssertionError, RuntimeError, TypeError, ValueError) as raised:
        error = str(raised).partition("\n")[0]
    raise ValueError(f"device must be available to PyTorch, such as 'cpu' or 'cuda'; got {device!r}: {error}")


def adam(
    network: nn.Module,
    rows: Rows,
    loss: Loss,
    plan: Plan,
    generator: torch.Generator,
    where: str,
    before: Callable[[int, Rows], object] | None = None,
) -> None:
    """Train the network by Adam (Kingma and Ba, 2015) on batches, as the plan says.

    where : the name of this training, for error messages.
    before : a function that is called before each step with the number of the step and its batch.
    """
    optimizer = plan.adam(network.parameters())
    step = 0
    for _ in range(plan.epochs):
        for batch in rows.batches(plan.batch_size, generator):
            if before is not None:
                before(step, batch)
            optimizer.zero_grad()
            backward(network, batch, loss, f"{where}, step {step + 1}")
            optimizer.step()
            step += 1


def lbfgs(network: nn.Module, parameters: Any, rows: Rows, loss: Loss, where: str, **options: Any) -> None:
    """Train the parameters by L-BFGS on all rows, with a line search.

    options : keyword arguments of `torch.optim.LBFGS`.
    """
    optimizer = torch.optim.LBFGS(parameters, line_search_fn="strong_wolfe", **options)

    def closure() -> Tensor:
        optimizer.zero_grad()
        return backward(network, rows, loss, where)

    optimizer.step(closure)


def forward(network: Callable[[Tensor], Tensor], X: Tensor) -> Tensor:
    """Return the outputs for a batch in training.

    Raises ValueError if the network has batch normalisation and the batch has a single row.
    """
    try:
        return network(X)
    except ValueError as error:
        if "more than 1 value per channel" not in str(error):  # the message of torch.nn.functional.batch_norm
            raise
        raise ValueError(
            "every batch must have at least 2 rows, because network has batch normalisation; got "
            f"{len(X)}. Pass a batch_size and an X of at least 2 rows; in a DataLoader drop_last=True leaves "
            "out the last batch"
        ) from error


def backward(network: nn.Module, rows: Rows, loss: Loss, where: str) -> Tensor:
    """Return the mean loss, and add its gradients to the gradients of the parameters."""
    value = rows.mean(loss, forward(network, rows.X))
    check_finite_loss(float(value.detach()), where)
    value.backward()
    return value
