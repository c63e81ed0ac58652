"""Tests of losses, batches, seeds, and networks that begin with a linear layer."""

import numpy as np
import pytest
import torch
from refusals import refuses
from torch import nn

from sparselin.neural import SkipNetwork, mlp, training
from sparselin.neural.batches import Shuffled
from sparselin.neural.networks import first_linear


def test_losses_are_by_rows():
    output, target = torch.randn(6, 3), torch.tensor([0, 1, 2, 0, 1, 2])
    found = training.as_loss("cross_entropy")(output, target)
    assert torch.equal(found, nn.CrossEntropyLoss(reduction="none")(output, target))
    assert training.as_loss(nn.CrossEntropyLoss()) is training.cross_entropy
    assert training.as_loss(nn.CrossEntropyLoss(label_smoothing=0.1)) is not training.cross_entropy
    squares, halves = (training.as_loss(loss)(output, 0 * output) for loss in (nn.MSELoss(), "squared"))
    assert torch.allclose(squares, 2 * halves)
    refuses("'squared'", training.as_loss, "hinge")
    refuses("one number for each row", training.as_loss(lambda output, target: output.sum()), output, target)
    refuses("λ = 3", training.check_finite_loss, float("nan"), "λ = 3, step 7", error=training.NonFiniteLoss)


@pytest.mark.parametrize("loss", [nn.MSELoss(), nn.BCEWithLogitsLoss(), nn.HuberLoss()])
def test_targets_of_a_pytorch_loss_are_not_broadcast_against_a_column_of_outputs(loss):
    output, target = torch.randn(6, 1), torch.rand(6)
    by_rows = training.as_loss(loss)
    assert torch.equal(by_rows(output, target), by_rows(output, target[:, None]))
    own = training.as_loss(lambda output, target: (output - target) ** 2)
    refuses(r"\(6, 6\) for outputs \(6, 1\) and targets \(6,\)", own, output, target)


@pytest.mark.parametrize("size", [None, 1, 2, 3, 4, 7, 100])
@pytest.mark.parametrize("n", [1, 2, 3, 5, 8, 9, 10, 15, 22])
def test_a_last_row_alone_joins_the_batch_before_it_and_no_other_cut_changes(n, size):
    rows = training.Rows(torch.arange(float(n)).reshape(n, 1), torch.arange(n))
    found = [batch.y.tolist() for batch in rows.batches(size, torch.Generator().manual_seed(3))]
    expected = torch.randperm(n, generator=torch.Generator().manual_seed(3)).tolist()
    expected = [expected[i : i + (size or n)] for i in range(0, n, size or n)]
    if size is not None and 1 < size < n and n % size == 1:
        expected[-2:] = [expected[-2] + expected[-1]]
    assert found == expected or found == [list(range(n))] == [sorted(*expected)]
    assert len(found) == len(rows.cuts(size)) + 1 == len(Shuffled(rows, size))


def test_an_error_of_the_network_is_not_taken_for_one_of_batch_normalisation():
    def other(X):
        raise ValueError("of its own")

    refuses("of its own", training.forward, other, torch.ones(1, 2))


def test_seeds_leave_the_state_outside():
    before = torch.get_rng_state()
    for rng in (0, np.random.default_rng(0)):
        with training.seeded(rng) as generator:
            drawn = torch.rand(2), torch.rand(2, generator=generator)
        assert torch.equal(*drawn)
        assert torch.equal(before, torch.get_rng_state())


def test_the_first_linear_layer_is_found_or_refused():
    net = nn.Sequential(nn.Flatten(), mlp(4, [3], 2))
    assert first_linear(net, 4)[0] == "1.0"
    for wrong in (mlp(5, [3], 2), nn.Sequential(nn.BatchNorm1d(4), nn.Linear(4, 2)), nn.ReLU()):
        refuses(r"must begin with nn\.Linear\(4", first_linear, wrong, 4)
    assert SkipNetwork(net, 4, 2)(torch.ones(3, 4)).shape == (3, 2)
