"""Tests of Sequential Attention as released: network, optimisers, baselines, its studies; and of gains."""

import copy
import dataclasses
import itertools
import math
from fractions import Fraction
from unittest.mock import Mock

import numpy as np
import pytest
import torch
from refusals import refuses
from scipy.stats import spearmanr
from torch import nn

from proofs_checks.experiments.networks import attention_study, released
from proofs_checks.experiments.networks.attention_study import gains_and_attention
from proofs_checks.experiments.networks.baselines.methods import METHODS
from proofs_checks.experiments.networks.data import FORMS, table
from proofs_checks.experiments.networks.gains import marginal_gains
from proofs_checks.experiments.networks.pieces import FULL, QUICK, Piece, Scale
from proofs_checks.experiments.networks.protocol import PAPER, Sets, pick, split
from proofs_checks.experiments.networks.released import AS_RELEASED, CORRECTED, SETTINGS, Settings
from sparselin.neural import NonFiniteLoss, mlp
from sparselin.neural.training import Rows, cross_entropy, seeded

# --- how -------------------------------------------------------------------------------------------------


def test_batch_normalisation_is_keras():
    rng, layer, averages = np.random.default_rng(0), released.BatchNorm(3), np.array([[0.0] * 3, [1.0] * 3])
    gamma, beta = np.array([1.0, 2.0, -1.0]), np.array([0.0, 1.0, 5.0])
    layer.weight.data, layer.bias.data = torch.tensor(gamma).float(), torch.tensor(beta).float()

    def check(m, v):
        found = layer(torch.from_numpy(X)).detach().numpy()
        np.testing.assert_allclose(found, (X - m) / np.sqrt(v + 1e-3) * gamma + beta, rtol=1e-4, atol=1e-5)

    for _ in range(50):
        X = rng.random((4, 3)).astype(np.float32) * np.float32([1, 10, 0])
        check(X.mean(axis=0), X.var(axis=0))
        averages = 0.99 * averages + 0.01 * np.array([X.mean(axis=0), X.var(axis=0)])
    layer.eval()
    check(*averages)


def keras(name, settings):
    """Return Keras's function (step number from 1, gradient, averages) ↦ change of a weight."""

    def rmsprop(t, g, means):
        v = means["v"] = 0.9 * means["v"] + 0.1 * g**2
        return -1e-3 * g / (np.sqrt(v + 1e-7) if name == "rmsprop" else np.sqrt(v) + 1e-7)

    def adam(t, g, means):
        m, v = means["m"], means["v"] = 0.9 * means["m"] + 0.1 * g, 0.999 * means["v"] + 0.001 * g**2
        rate = settings.learning_rate * settings.decay_rate ** ((t - 1) / settings.decay_steps)
        return -rate * np.sqrt(1 - 0.999**t) / (1 - 0.9**t) * m / (np.sqrt(v) + 1e-7)

    return adam if name == "adam" else rmsprop


@pytest.mark.parametrize("name", ["rmsprop", "rmsprop 2.10", "adam"])
def test_optimisers_are_keras(name):
    """The gradients range from 10⁻⁸, where ε matters, to 1. A parameter without a gradient stays."""
    settings = Settings(
        epochs=1, epochs_fit=1, batch_size=1, learning_rate=0.1, decay_rate=0.5, decay_steps=10
    )
    g = 10.0 ** torch.arange(-8, 1, dtype=torch.float64)
    w, frozen = nn.Parameter(torch.zeros_like(g)), nn.Parameter(torch.ones(1))
    stepper = released.optimizer(settings, released.Switches(optimizer=name))([w, frozen])
    expected, means, change = np.zeros(9), dict.fromkeys("mv", 0.0), keras(name, settings)
    for t in range(1, 31):
        w.grad = g * math.cos(t)
        stepper.step()
        expected += change(t, g.numpy() * math.cos(t), means)
        np.testing.assert_allclose(w.detach().numpy(), expected, rtol=1e-9)
    assert frozen.item() == 1


def test_an_unknown_optimiser_is_named_and_a_schedule_that_is_0_by_0_is_replaced():
    unknown = dataclasses.replace(AS_RELEASED, optimizer="sgd")
    refuses(r'"rmsprop 2.10" or "adam"; got \'sgd\'', released.optimizer, SETTINGS["mice"], unknown)
    assert SETTINGS["mice"].rate(0) == SETTINGS["fashion"].rate(1000) == 2e-4
    assert SETTINGS["mnist"].rate(660) == pytest.approx(6e-3 * 0.37**2)


@pytest.mark.parametrize("buffer", [True, False])
def test_batches_have_one_size_and_come_through_a_buffer(buffer):
    rows = Rows(torch.arange(250.0)[:, None], torch.arange(250))
    of = {(40, True): [40] * 6, (1000, True): [250], (40, False): [40] * 6 + [10], (83, False): [83] * 3}
    for (size, drop), counts in of.items():
        switches = dataclasses.replace(AS_RELEASED, buffer=buffer, drop_remainder=drop)
        batches = released.Batches(rows, size, switches)
        with seeded(0):
            passes = [[batch.y for batch in batches] for _ in range(20)]
        assert list(map(len, passes[0])) == counts
        assert len(batches) == len(counts)
        assert not torch.equal(passes[0][0], passes[1][0])
        # row i is 99 places early at most; with a complete shuffle the first batch has any row
        assert (max(int(parts[0].max()) for parts in passes) < counts[0] + 100) == (buffer or size == 1000)


def test_weights_begin_as_those_of_the_layer_for_all_features():
    first, _, last = released.perceptron(50, 400, 20)
    for layer, bound in ((first, math.sqrt(6 / (400 + 67))), (last, math.sqrt(6 / (67 + 20)))):
        assert 0.99 * bound < float(layer.weight.detach().abs().max()) <= bound
        assert not layer.bias.any()


def quadrants(n=400, d=8):
    """Return data whose classes are the quadrants of features 6 and 3."""
    X = np.random.default_rng(0).random((n, d)).astype(np.float32)
    y = (2 * (X[:, 6] > 0.5) + (X[:, 3] > 0.5)).astype(np.intp)
    half = n // 2
    return Sets(X=X[:half], y=y[:half], X_val=X[:0], y_val=y[:0], X_test=X[half:], y_test=y[half:], classes=4)


SMALL = Settings(epochs=25, epochs_fit=30, batch_size=16, learning_rate=1e-2, decay_rate=1.0, decay_steps=100)


@pytest.mark.parametrize("random_off", [True, False])
def test_gradients_that_rank_are_those_of_the_network_with_and_without_its_other_weights(random_off):
    sets, mask = quadrants(), torch.eye(8)[[1, 6]].sum(dim=0)
    network, inputs = released.perceptron(8, 8, 4), released.BatchNorm(8)
    rows = released.rows_of(sets.X, sets.y)
    found = released._norms(network, inputs, rows, mask, random_off)
    network[0].weight.data *= 1 if random_off else mask
    nn.functional.cross_entropy(network(inputs(rows.X)), rows.y).backward()
    torch.testing.assert_close(found, network[0].weight.grad.norm(dim=0))


@pytest.mark.parametrize("normalised", [True, False])
def test_a_feature_that_is_0_is_not_picked_first(normalised, monkeypatch):
    """If W were 0 for S = ∅, all gradients would be 0, and blank pixels would be selected first."""
    sets, norms = quadrants(), released._norms
    sets.X[:, :3] = 0

    def watched(network, inputs, rows, *rest):
        assert torch.equal(inputs(rows.X), rows.X) != normalised
        return norms(network, inputs, rows, *rest)

    monkeypatch.setattr(released, "_norms", watched)
    options = {"settings": SMALL, "gradients": released.Gradients(False, False), "normalised": normalised}
    assert min(released.reference_omp(sets, 2, 0, **options)) >= 3


def test_a_phase_of_omp_begins_with_its_pick(monkeypatch):
    """Step t = 0, 1, …, T − 1 has ceil(t·k/T) features; the gradients are those of the batch before."""
    seen = []

    def norms(network, inputs, rows, mask, random_off):
        assert rows is seen[-1][0]
        return torch.arange(8.0)

    def backward(network, rows, *rest):
        seen.append((rows, int(network[1]._mask.sum())))

    monkeypatch.setattr(released, "backward", backward)
    monkeypatch.setattr(released, "_norms", norms)
    sets, settings = quadrants(), dataclasses.replace(SMALL, epochs=3, batch_size=60)
    assert released.reference_omp(sets, 4, 0, settings=settings) == [7, 6, 5, 4]
    assert [count for _, count in seen] == [math.ceil(Fraction(4 * t, 9)) for t in range(9)]
    refuses("got k = 9, 8 features", released.reference_omp, sets, 9, 0, settings=settings)
    refuses("got 9 steps for k = 9", released.reference_omp, quadrants(d=9), 9, 0, settings=settings)


@pytest.mark.parametrize("normalised", [False, True])
def test_the_mask_as_released_is_trained_on_normalised_rows_and_read_on_others(monkeypatch, normalised):
    read, shares, sets = [], released._Mask.shares, quadrants()

    def watched(self, X):
        read.append(X)
        return shares(self, X)

    monkeypatch.setattr(released._Mask, "shares", watched)
    assert set(released.reference_mask(sets, 2, 0, settings=SMALL, normalised=normalised)) == {3, 6}
    *trained, last = read
    assert all(bool((X < 0).any()) for X in trained)  # and the rows are in [0, 1]
    assert torch.equal(last, torch.from_numpy(sets.X)) == (not normalised)


def test_the_steps_of_adam_are_those_of_the_settings():
    """In steps of 10⁻²⁰ all features keep the same attention, so the lowest numbers are selected."""
    slow = {"settings": dataclasses.replace(SMALL, learning_rate=1e-20), "switches": CORRECTED}
    assert released.reference_attention(quadrants(), 3, 0, **slow) == [0, 1, 2]
    assert released.reference_accuracy(quadrants(), [6, 3], 0, **slow) < 0.9
    assert {3, 6} == set(released.reference_attention(quadrants(), 2, 0, settings=SMALL, switches=CORRECTED))


def test_accuracy_is_of_the_picks():
    good, same, bad = (
        released.reference_accuracy(quadrants(), S, 0, settings=SMALL)
        for S in ([6, 3], np.array([6, 3]), [0, 1])
    )
    assert good == same > 0.9 > 0.6 > bad


# --- studies ---------------------------------------------------------------------------------------------

SA = attention_study.SA
STUDIES = {study.name: study for study in attention_study.STUDIES}
TINY = Scale(rows=400, seeds=1, image_seeds=1, epochs=0.02, sizes=(2, 3, 40), whole=False)


@pytest.mark.parametrize("study", attention_study.STUDIES, ids=lambda study: study.name)
@pytest.mark.parametrize("scale", [FULL, QUICK])
def test_pieces_are_different_and_possible(study, scale):
    pieces = list(study.pieces(study.data, scale))
    assert len(set(pieces)) == len(pieces)
    assert {(piece.study, piece.data) for piece in pieces} == {(study.name, data) for data in study.data}
    assert all(1 <= p.k < FORMS[p.data].d or p.method == attention_study.ALL for p in pieces)


@pytest.mark.parametrize(("k", "scale", "rows"), [(50, FULL, None), (25, FULL, 10_000), (10, QUICK, 1000)])
def test_only_the_figure_of_the_table_takes_all_rows(monkeypatch, k, scale, rows):
    sets_of = Mock(return_value=quadrants())
    monkeypatch.setattr(attention_study, "sets_of", sets_of)
    monkeypatch.setattr(attention_study, "reference_attention", Mock(return_value=range(k)))
    monkeypatch.setattr(attention_study, "reference_accuracy", Mock(return_value=1.0))
    STUDIES["paper"].run(Piece(study="paper", data="mnist", method=attention_study.SA, k=k, seed=1), scale)
    assert [call.args[-1] for call in sets_of.call_args_list] == [rows]
    assert FULL.rows_of("isolet") is None


def test_a_record_tells_how_many_features_were_picked():
    piece, options = (
        Piece(study="paper", data="breast_cancer", method="group LASSO, λ fixed", k=10, seed=1),
        {"lam": 0.05},
    )
    sets = attention_study.sets_of(piece.data, PAPER, 1, None)
    ranking = METHODS[piece.method](sets.X, sets.y, 10, rng=1, **options)
    picked = len(ranking.picks)
    assert 0 < picked < 10
    found = pick(piece.method, sets.X, sets.y, 10, 5, 1, options)
    assert found.order == tuple(ranking.support)
    record = attention_study._record(piece, sets, QUICK, found)
    assert record.note == f"{picked} picked, {10 - picked} filled up"


COMPUTED = {
    ("paper", attention_study.ALL, 30, ""): "",
    ("paper", SA, 3, ""): "",
    ("paper", SA, 2, attention_study.OWN): "",
    ("paper", "linear OMP", 2, ""): "prefix of 3",
    ("paper", "Sequential LASSO", 3, ""): "decrease 0.02",
    ("switches", SA, 3, "all"): "",
    **{("efficiency", method, 3, ""): "" for method in attention_study.EFFICIENT},
    ("adaptivity", SA, 8, "4, as released"): "4 picked, 4 with the lowest numbers",
    ("adaptivity", SA, 8, "4"): "",
    ("masks", SA, 3, "l1_normalized"): "",
}


@pytest.mark.parametrize("piece", COMPUTED)
def test_pieces_are_computed(piece):
    (study, method, k, setting), note = piece, COMPUTED[piece]
    record = STUDIES[study].run(
        Piece(study=study, data="breast_cancer", method=method, k=k, seed=1, setting=setting), TINY
    )
    assert 0.3 <= record.scores["network"] <= 1
    assert len(set(record.support)) == (0 if method == attention_study.ALL else k)
    assert (record.rows, record.note.startswith(note), bool(record.note)) == (399, True, bool(note))
    if method == "linear OMP":
        sets = split(table("breast_cancer"), PAPER, 1)
        assert list(record.support) == METHODS[method](sets.X, sets.y, 3).support[:2].tolist()


# --- marginal gains: networks trained together equal networks trained one by one --------------------------


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
