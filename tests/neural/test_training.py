"""Tests of losses, batches, seeds, and networks that begin with a linear layer."""

import itertools

import numpy as np
import pytest
from refusals import refuses

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402

from sparselin.neural import SkipNetwork, mlp, training  # noqa: E402
from sparselin.neural.batches import Shuffled  # noqa: E402
from sparselin.neural.networks import first_linear  # noqa: E402


def test_losses_are_by_rows():
    output, target = torch.randn(6, 3), torch.tensor([0, 1, 2, 0, 1, 2])
    ours = training.as_loss("cross_entropy")(output, target)
    assert torch.equal(ours, training.as_loss(nn.CrossEntropyLoss())(output, target))
    assert training.as_loss(nn.CrossEntropyLoss()) is training.cross_entropy
    assert training.as_loss(nn.CrossEntropyLoss(label_smoothing=0.1)) is not training.cross_entropy
    squares = training.as_loss(nn.MSELoss())(output, torch.zeros(6, 3))
    assert torch.allclose(squares, 2 * training.as_loss("squared")(output, torch.zeros(6, 3)))
    refuses("'squared'", training.as_loss, "hinge")
    refuses("one number for each row", training.as_loss(lambda output, target: output.sum()), output, target)


@pytest.mark.parametrize("loss", [nn.MSELoss(), nn.BCEWithLogitsLoss(), nn.HuberLoss()])
def test_targets_of_a_pytorch_loss_are_not_broadcast_against_a_column_of_outputs(loss):
    output, target = torch.randn(6, 1), torch.rand(6)
    by_rows = training.as_loss(loss)
    assert torch.equal(by_rows(output, target), by_rows(output, target[:, None]))
    with pytest.raises(ValueError, match=r"\(6, 6\) for outputs \(6, 1\) and targets \(6,\)"):
        training.as_loss(lambda output, target: (output - target) ** 2)(output, target)


def test_batches_are_all_rows_once_in_an_order_of_the_seed():
    rows = training.Rows(torch.arange(10.0).reshape(10, 1), torch.arange(10), torch.ones(10))

    def order(seed):
        with training.seeded(seed) as generator:
            return [batch.y.tolist() for batch in rows.batches(4, generator)]

    assert sorted(itertools.chain(*order(0))) == list(range(10))
    assert [len(batch) for batch in order(0)] == [4, 4, 2]
    assert order(0) == order(0) != order(1)
    with training.seeded(0) as generator:
        assert next(rows.batches(None, generator)) is rows


@pytest.mark.parametrize("size", [None, 1, 2, 3, 4, 7, 100])
@pytest.mark.parametrize("n", [1, 2, 3, 5, 8, 9, 10, 15, 22])
def test_a_last_row_alone_joins_the_batch_before_it_and_no_other_cut_changes(n, size):
    rows = training.Rows(torch.arange(float(n)).reshape(n, 1), torch.arange(n))
    found = [batch.y.tolist() for batch in rows.batches(size, torch.Generator().manual_seed(3))]
    order = torch.arange(n)
    if size is not None and size < n:
        order = torch.randperm(n, generator=torch.Generator().manual_seed(3))
    expected = [part.tolist() for part in order.split(size or n)]
    if size is not None and 1 < size < n and n % size == 1:
        expected[-2:] = [expected[-2] + expected[-1]]
    assert found == expected or (len(found) == 1 and found == [list(range(n))])
    assert len(found) == len(rows.cuts(size)) + 1 == len(Shuffled(rows, size)) == len(expected)
    assert size == 1 or n == 1 or min(map(len, found)) > 1


def test_a_batch_that_cannot_be_normalised_is_named():
    normalised = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3))
    with pytest.raises(ValueError, match=r"at least 2 rows, .* batch normalisation; got 1\. Pass a"):
        training.forward(normalised, torch.ones(1, 2))
    assert training.forward(normalised, torch.ones(2, 2)).shape == (2, 3)

    def other(X):
        raise ValueError("of its own")

    refuses("of its own", training.forward, other, torch.ones(1, 2))


def test_seeds_leave_the_state_outside():
    torch.manual_seed(5)
    expected = torch.rand(2)
    torch.manual_seed(5)
    with training.seeded(0):
        first = mlp(3, [2], 1)[0].weight
    assert torch.equal(torch.rand(2), expected)
    with training.seeded(np.random.default_rng(0)):
        assert torch.equal(mlp(3, [2], 1)[0].weight, first)


def test_the_first_linear_layer_is_found_or_refused():
    net = nn.Sequential(nn.Flatten(), mlp(4, [3], 2))
    assert first_linear(net, 4)[0] == "1.0"
    for wrong in (mlp(5, [3], 2), nn.Sequential(nn.BatchNorm1d(4), nn.Linear(4, 2)), nn.ReLU()):
        refuses(r"must begin with nn\.Linear\(4", first_linear, wrong, 4)
    assert SkipNetwork(net, 4, 2)(torch.ones(3, 4)).shape == (3, 2)


def test_a_loss_that_is_not_finite_says_where():
    refuses("λ = 3", training.check_finite_loss, float("nan"), "λ = 3, step 7", error=training.NonFiniteLoss)
