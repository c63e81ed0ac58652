"""Tests of marginal gains: networks trained together equal networks trained one by one."""

import copy
import itertools

import numpy as np
import pytest
import torch
from refusals import refuses
from scipy.stats import spearmanr

from proofs_checks.experiments.networks.attention_study import gains_and_attention
from proofs_checks.experiments.networks.gains import marginal_gains
from sparselin.neural import NonFiniteLoss, mlp
from sparselin.neural.training import Rows, cross_entropy, seeded


def data(n=60, d=5):
    X = torch.randn(n, d, generator=torch.Generator().manual_seed(3))
    return X, (X[:, 1] > 0).long() + (X[:, 3] > 1).long()


def test_gains_are_those_of_networks_trained_one_by_one():
    X, y = data()
    with seeded(0):
        network = mlp(5, [4], 3)
    before = copy.deepcopy(network)
    candidates, gain = marginal_gains(network, X, y, [1], epochs=5, batch_size=16, learning_rate=0.01, rng=7)

    def trained(*T):
        net, rows = copy.deepcopy(before), Rows(X * torch.eye(5)[list(T)].sum(dim=0), y)
        optimizer = torch.optim.Adam(net.parameters(), 0.01)
        with seeded(7) as generator:
            for batch in itertools.chain.from_iterable(rows.batches(16, generator) for _ in range(5)):
                optimizer.zero_grad()
                batch.mean(cross_entropy, net(batch.X)).backward()
                optimizer.step()
        return rows.mean(cross_entropy, net(rows.X)).item()

    assert candidates.tolist() == [0, 2, 3, 4]
    np.testing.assert_allclose(gain, [trained(1) - trained(1, i) for i in candidates], rtol=1e-3, atol=1e-6)
    assert all(map(torch.equal, network.parameters(), before.parameters()))


@pytest.mark.parametrize(("S", "best"), [([], 1), ([1], 2)])
def test_attention_goes_with_the_gains(S, best):
    X, y = data(200)
    options = {"repeats": 2, "epochs": 20, "batch_size": 64, "learning_rate": 0.01}
    candidates, gain, attention = gains_and_attention(lambda: mlp(5, [8], 3), X, y, S, **options)
    assert candidates.tolist() == [j for j in range(5) if j not in S]
    assert gain.shape == attention.shape == (2, 5 - len(S))
    assert gain.mean(0).argmax() == attention.mean(0).argmax() == best
    assert spearmanr(gain.mean(0), attention.mean(0)).statistic >= 0.7


def test_a_loss_that_is_not_finite_says_when():
    X, y = data()
    refuses("epoch 1", marginal_gains, mlp(5, [4], 3), X * torch.nan, y, [], error=NonFiniteLoss)
