"""Tests of marginal gains: networks trained together equal networks trained one by one."""

import copy

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from sparselin.neural import NonFiniteLoss, marginal_gains, mlp  # noqa: E402
from sparselin.neural.gains import gains_and_attention  # noqa: E402
from sparselin.neural.training import Rows, as_loss, seeded  # noqa: E402


def data(n=60, d=5):
    X = torch.randn(n, d, generator=torch.Generator().manual_seed(3))
    return X, (X[:, 1] > 0).long() + (X[:, 3] > 1).long()


def test_gains_are_those_of_networks_trained_one_by_one():
    X, y = data()
    with seeded(0):
        network = mlp(5, [4], 3)
    before = copy.deepcopy(network.state_dict())
    candidates, gain = marginal_gains(network, X, y, [1], epochs=5, batch_size=16, learning_rate=0.01, rng=7)
    assert all(torch.equal(before[name], value) for name, value in network.state_dict().items())

    def trained(T):
        mask = torch.zeros(5)
        mask[T] = 1
        net, loss = copy.deepcopy(network), as_loss("cross_entropy")
        optimizer, rows = torch.optim.Adam(net.parameters(), 0.01), Rows(X * mask, y)
        with seeded(7) as generator:
            for _ in range(5):
                for batch in rows.batches(16, generator):
                    optimizer.zero_grad()
                    batch.mean(loss, net(batch.X)).backward()
                    optimizer.step()
        return rows.mean(loss, net(rows.X)).item()

    assert candidates.tolist() == [0, 2, 3, 4]
    expected = [trained([1]) - trained([1, i]) for i in candidates]
    np.testing.assert_allclose(gain, expected, rtol=1e-3, atol=1e-6)


def test_attention_goes_with_the_gains():
    X, y = data(200)
    found = gains_and_attention(
        lambda: mlp(5, [8], 3), X, y, [], repeats=2, epochs=20, batch_size=64, learning_rate=0.01
    )
    assert found.gain.shape == found.attention.shape == (2, 5)
    assert found.gain.mean(0).argmax() == found.attention.mean(0).argmax() == 1
    assert found.correlation >= 0.7
    conditioned = gains_and_attention(
        lambda: mlp(5, [8], 3), X, y, [1], epochs=20, batch_size=64, learning_rate=0.01
    )
    assert conditioned.candidates.tolist() == [0, 2, 3, 4]
    assert conditioned.gain[0].argmax() == conditioned.attention[0].argmax() == 2
    assert np.isnan(conditioned.repeatability)


def test_a_loss_that_is_not_finite_says_when():
    X, y = data()
    with pytest.raises(NonFiniteLoss, match="epoch 1"):
        marginal_gains(mlp(5, [4], 3), X * torch.nan, y, [])


def test_the_study_of_figure_11():
    """No feature of S is a candidate, and the correlation is that of the two rankings."""
    from proofs_checks.experiments.networks import attention_study
    from proofs_checks.experiments.networks.pieces import QUICK

    found = list(attention_study.GAINS.pieces(["breast_cancer", "mnist"], QUICK))
    assert [(p.data, p.k) for p in found if p.seed == 1] == [
        ("breast_cancer", 0), ("breast_cancer", 9), ("mnist", 0), ("mnist", 9), ("mnist", 49)
    ]  # fmt: skip
    record = attention_study.GAINS.run(found[1], QUICK)
    assert len(set(record.support)) == 9
    assert record.note == "21 candidates"
    assert -1 <= record.scores["Spearman"] <= 1
    assert record.scores == attention_study.GAINS.run(found[1], QUICK).scores
