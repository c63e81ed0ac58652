"""The network that judges picks: trained on them until the validation rows say that it is enough."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from sparselin.neural.networks import mlp
from sparselin.neural.training import (
    Plan,
    Rows,
    backward,
    check_finite_loss,
    cross_entropy,
    planned,
    seeded,
)
from sparselin.validation import check_count

if TYPE_CHECKING:
    from proofs_checks.experiments.networks.protocol import Sets

STEPS, PATIENCE, EVERY = 5_000, 500, 25
"""Of Adam at most, without a lower validation loss at most, and between two looks at the validation rows.

Steps and not epochs: an epoch is 5 of them on Mice, 70 on 8,750 images. 20,000 steps of a fifth of the length
bring the validation loss no further (Mice, ISOLET, MNIST, COIL-20 with 10 and 50 features: within 0.04).
"""


class Fit(NamedTuple):
    """A network at the step at which the cross-entropy of the validation rows was least.

    Attributes
    ----------
    accuracy : the share of test rows that it gets right.
    validation : that of the validation rows.
    loss : the mean cross-entropy of the validation rows.
    steps : of Adam, up to there.
    """

    accuracy: float
    validation: float
    loss: float
    steps: int


def fit(
    sets: Sets,
    support: Any,
    seed: int,
    *,
    hidden: Sequence[int] = (67,),
    steps: int = STEPS,
    patience: int = PATIENCE,
    batch_size: int = 128,
    learning_rate: float = 5e-3,
) -> Fit:
    """A perceptron that reads X[:, support], trained by Adam on the cross-entropy of the training rows.

    The network of `methods.accuracy`; how long it is trained is the validation rows' choice. Test rows are
    read once, by the network that is kept.

    Parameters
    ----------
    sets : training, validation and test rows.
    support : (k,) columns, k ≥ 1.
    seed : of the weights and of the order of the rows.
    hidden : widths of the hidden layers.
    steps, patience : of Adam at most, and at most without a lower validation loss.
    batch_size, learning_rate : rows and length of a step.

    Raises
    ------
    ValueError : a number is out of its range. NonFiniteLoss : with the step.
    """
    plan = planned(1, batch_size, learning_rate)
    check_count(steps, "steps", 1)
    check_count(patience, "patience", 1)
    train, judge, test = (_columns(X, support) for X in (sets.X, sets.X_val, sets.X_test))
    rows = Rows(train, torch.from_numpy(np.asarray(sets.y, np.int64)))
    target = torch.from_numpy(np.asarray(sets.y_val, np.int64))
    best, kept = Fit(0.0, 0.0, np.inf, 0), {}
    with seeded(seed) as generator:
        network = mlp(train.shape[1], hidden, sets.classes, dtype=train.dtype)
        for step in _steps(network, rows, plan, steps, generator):
            output = _outputs(network, judge)
            loss = float(cross_entropy(output, target).mean())
            check_finite_loss(loss, f"training on the picks, step {step}, the validation rows")
            if loss < best.loss:
                best = Fit(0.0, _right(output, sets.y_val), loss, step)
                kept = copy.deepcopy(network.state_dict())
            if step - best.steps >= patience:
                break
        network.load_state_dict(kept)
    return best._replace(accuracy=_right(_outputs(network, test), sets.y_test))


def _steps(
    network: nn.Module, rows: Rows, plan: Plan, steps: int, generator: torch.Generator
) -> Iterator[int]:
    """Steps of Adam on batches; yields their number, each time after EVERY ones and at the end."""
    optimizer, done = plan.adam(network.parameters()), 0
    while done < steps:
        for batch in rows.batches(plan.batch_size, generator):
            optimizer.zero_grad()
            backward(network, batch, cross_entropy, f"training on the picks, step {done + 1}")
            optimizer.step()
            done += 1
            if done % EVERY == 0 or done == steps:
                yield done
            if done == steps:
                return


def _columns(X: Any, support: Any) -> Tensor:
    return torch.from_numpy(np.ascontiguousarray(X[:, np.asarray(support, np.intp)]))


def _outputs(network: nn.Module, X: Tensor) -> Tensor:
    """The outputs (n, q), without gradients."""
    with torch.no_grad():
        output: Tensor = network(X)
    return output


def _right(output: Tensor, y: Any) -> float:
    return float(np.mean(output.argmax(dim=1).numpy() == y))
