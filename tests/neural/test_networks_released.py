"""Tests of Sequential Attention as released: network, optimisers, baselines, and its studies."""

import dataclasses
import math
from fractions import Fraction

import numpy as np
import pytest
from refusals import refuses

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402

from proofs_checks.experiments.networks import attention_study, released, studies  # noqa: E402
from proofs_checks.experiments.networks.data import FORMS, table  # noqa: E402
from proofs_checks.experiments.networks.pieces import FULL, QUICK, Piece, Scale  # noqa: E402
from proofs_checks.experiments.networks.printed import TABLES, TITLES  # noqa: E402
from proofs_checks.experiments.networks.protocol import PAPER, Sets, pick, split  # noqa: E402
from proofs_checks.experiments.networks.released import (  # noqa: E402
    AS_RELEASED,
    CORRECTED,
    SETTINGS,
    BatchNorm,
    Gradients,
    Settings,
    Switches,
    optimizer,
    reference_accuracy,
    reference_attention,
    reference_mask,
    reference_omp,
    shuffle_in_buffer,
)
from sparselin.neural.baselines.methods import METHODS  # noqa: E402
from sparselin.neural.training import Rows, seeded  # noqa: E402

# --- how -------------------------------------------------------------------------------------------------


def test_batch_normalisation_is_keras():
    rng = np.random.default_rng(0)
    layer, mean, variance = BatchNorm(3), np.zeros(3), np.ones(3)
    with torch.no_grad():
        layer.weight.copy_(torch.tensor([1.0, 2.0, -1.0]))
        layer.bias.copy_(torch.tensor([0.0, 1.0, 5.0]))
    gamma, beta = (parameter.detach().numpy() for parameter in (layer.weight, layer.bias))
    for _ in range(50):
        X = rng.random((4, 3)).astype(np.float32) * [1, 10, 0]
        m, v = X.mean(axis=0), X.var(axis=0)
        found = layer(torch.from_numpy(X.astype(np.float32))).detach().numpy()
        np.testing.assert_allclose(found, (X - m) / np.sqrt(v + 1e-3) * gamma + beta, rtol=1e-4, atol=1e-5)
        mean, variance = 0.99 * mean + 0.01 * m, 0.99 * variance + 0.01 * v
    layer.eval()
    found = layer(torch.from_numpy(X.astype(np.float32))).detach().numpy()
    np.testing.assert_allclose(found, (X - mean) / np.sqrt(variance + 1e-3) * gamma + beta, rtol=1e-4)


def keras(name, settings):
    """Return Keras's function (step number from 1, gradient, state) ↦ change of a weight."""

    def rmsprop(t, g, state):
        v = state["v"] = 0.9 * state.get("v", 0.0) + 0.1 * g**2
        return -1e-3 * g / (np.sqrt(v + 1e-7) if name == "rmsprop" else np.sqrt(v) + 1e-7)

    def adam(t, g, state):
        m = state["m"] = 0.9 * state.get("m", 0.0) + 0.1 * g
        v = state["v"] = 0.999 * state.get("v", 0.0) + 0.001 * g**2
        rate = settings.learning_rate * settings.decay_rate ** ((t - 1) / settings.decay_steps)
        return -rate * np.sqrt(1 - 0.999**t) / (1 - 0.9**t) * m / (np.sqrt(v) + 1e-7)

    return adam if name == "adam" else rmsprop


@pytest.mark.parametrize("name", ["rmsprop", "rmsprop 2.10", "adam"])
def test_optimisers_are_keras(name):
    """The gradients range from 10⁻⁸, where ε matters, to 1."""
    settings = Settings(1, 1, 1, 0.1, 0.5, 10)
    g = 10.0 ** torch.arange(-8, 1, dtype=torch.float64)
    w = nn.Parameter(torch.zeros(9, dtype=torch.float64))
    frozen = nn.Parameter(torch.ones(1))  # as w of the mask in the warm-up
    stepper = optimizer(settings, dataclasses.replace(AS_RELEASED, optimizer=name))([w, frozen])
    expected, state, change = np.zeros(9), {}, keras(name, settings)
    for t in range(1, 31):
        stepper.zero_grad()
        (w @ (g * math.cos(t))).backward()
        stepper.step()
        expected += change(t, g.numpy() * math.cos(t), state)
        np.testing.assert_allclose(w.detach().numpy(), expected, rtol=1e-9)
    assert frozen.item() == 1


def test_an_unknown_optimiser_is_named_and_a_schedule_that_is_0_by_0_is_replaced():
    with pytest.raises(ValueError, match=r'"rmsprop 2.10" or "adam"; got \'sgd\''):
        optimizer(SETTINGS["mice"], dataclasses.replace(AS_RELEASED, optimizer="sgd"))
    assert SETTINGS["mice"].rate(0) == SETTINGS["fashion"].rate(1000) == 2e-4
    assert SETTINGS["mnist"].rate(660) == pytest.approx(6e-3 * 0.37**2)


def test_batches_have_one_size_and_come_through_a_buffer():
    rows = Rows(torch.arange(250.0)[:, None], torch.arange(250))
    with seeded(0):
        for buffer in (True, False):
            batches = released.Batches(rows, 40, Switches(buffer=buffer))
            passes = [[batch.y for batch in batches] for _ in range(20)]
            assert len(batches) == len(passes[0]) == 6
            assert all(len(part) == 40 for part in passes[0])
            # row i is 99 places early at most, of all rows the first batch has any
            highest = max(int(parts[0].max()) for parts in passes)
            assert (highest < 140) == buffer
            assert not torch.equal(passes[0][0], passes[1][0])
        assert len(released.Batches(rows, 1000)) == 1
        for size, counts in ((40, [40] * 6 + [10]), (83, [83] * 3)):
            batches = released.Batches(rows, size, Switches(drop_remainder=False))
            parts = [len(batch) for batch in batches]
            assert parts == counts
            assert len(batches) == len(parts)
        late = torch.stack([shuffle_in_buffer(1000, 100).argsort()[0] for _ in range(400)]).double()
        # the first row leaves with chance 1/100 at each place
        assert abs(float(late.mean()) - 99) < 5 * 100 / math.sqrt(400)
        assert sorted(shuffle_in_buffer(7, 100).tolist()) == list(range(7))


def test_weights_begin_as_those_of_the_layer_for_all_features():
    with seeded(0):
        first, _, last = released.perceptron(50, 400, 20)
    for layer, inputs in ((first, 400), (last, 67)):
        bound = math.sqrt(6 / (inputs + layer.out_features))
        assert 0.99 * bound < float(layer.weight.detach().abs().max()) <= bound
        assert not layer.bias.detach().any()


def test_what_is_off_the_picks_has_no_effect():
    """The network on all d features with x∘1_S has the outputs and gradients of the network on S."""
    X, S = torch.rand(30, 6), [4, 1]
    with seeded(0):
        small, large = released.perceptron(2, 6, 3), released.perceptron(6, 6, 3)
    large.load_state_dict(small.state_dict() | {"0.weight": large[0].weight.detach()})
    with torch.no_grad():
        large[0].weight[:, S] = small[0].weight
    mask = torch.zeros(6)
    mask[S] = 1
    one = small(BatchNorm(2)(X[:, S])).logsumexp(1).sum()
    other = large(BatchNorm(6)(X) * mask).logsumexp(1).sum()
    torch.testing.assert_close(one, other)
    one.backward(), other.backward()
    torch.testing.assert_close(small[0].weight.grad, large[0].weight.grad[:, S])
    assert not large[0].weight.grad[:, [0, 2, 3, 5]].any()


def quadrants(n=400, d=8, seed=0):
    """Return data whose classes are the quadrants of features 6 and 3."""
    rng = np.random.default_rng(seed)
    X = rng.random((n, d)).astype(np.float32)
    y = (2 * (X[:, 6] > 0.5) + (X[:, 3] > 0.5)).astype(np.intp)
    half = n // 2
    return Sets(X[:half], y[:half], X[:0], y[:0], X[half:], y[half:], 4)


SMALL = Settings(25, 30, 16, 1e-2, 1.0, 100)


@pytest.mark.parametrize(
    ("switches", "form"), [(AS_RELEASED, "softmax"), (AS_RELEASED, "l1"), (CORRECTED, "softmax")]
)
def test_the_features_that_matter_are_picked_but_for_the_first(switches, form):
    orders = [
        reference_attention(quadrants(), 3, seed, settings=SMALL, switches=switches, parametrization=form)
        for seed in range(3)
    ]
    assert all({3, 6} <= set(order) for order in orders)
    first = [order[0] for order in orders]
    assert (set(first) <= {3, 6}) == (switches is CORRECTED)
    again = reference_attention(quadrants(), 3, 1, settings=SMALL, switches=switches, parametrization=form)
    assert orders[1] == again


def test_omp_as_released_ranks_by_random_weights_and_mended_by_those_of_the_picks():
    """In the data 58 of 60 features are noise."""
    sets = quadrants(n=120, d=60)

    def found(**switches):
        gradients = Gradients(**switches)
        return [reference_omp(sets, 3, s, settings=SMALL, gradients=gradients) for s in range(4)]

    both, plain = found(random_off=False, one_batch=False), found()
    assert all({3, 6} <= set(order) for order in both)
    assert not all({3, 6} <= set(order) for order in plain)
    assert found() == plain
    assert found(random_off=False) != both != found(one_batch=False)


def test_gradients_that_rank_are_those_of_the_network_with_and_without_its_other_weights():
    sets, mask = quadrants(), torch.zeros(8)
    mask[[1, 6]] = 1
    with seeded(0):
        network, inputs = released.perceptron(8, 8, 4), BatchNorm(8)
    rows = released.rows_of(sets.X, sets.y)
    for random_off in (True, False):
        kept = network[0].weight.detach().clone()
        with torch.no_grad():
            network[0].weight *= 1 if random_off else mask
        network.zero_grad()
        nn.functional.cross_entropy(network(inputs(rows.X)), rows.y).backward()
        expected = network[0].weight.grad.square().sum(dim=0).sqrt()
        with torch.no_grad():
            network[0].weight.copy_(kept)
        torch.testing.assert_close(released._norms(network, inputs, rows, mask, random_off), expected)


def test_a_feature_that_is_0_is_not_picked_first():
    """If W were 0 for S = ∅, all gradients would be 0, and blank pixels would be selected first."""
    sets = quadrants()
    sets.X[:, :3] = 0
    for normalised in (True, False):
        order = reference_omp(
            sets, 2, 0, settings=SMALL, gradients=Gradients(False, False), normalised=normalised
        )
        assert set(order) <= {3, 4, 5, 6, 7}


def test_omp_reads_rows_as_they_are_without_the_normalisation(monkeypatch):
    read = []

    def norms(network, inputs, rows, mask, random_off):
        read.append(torch.equal(inputs(rows.X), rows.X))
        return torch.arange(8.0)

    monkeypatch.setattr(released, "_norms", norms)
    for normalised in (True, False):
        reference_omp(quadrants(), 1, 0, settings=SMALL, normalised=normalised)
    assert read == [False, True]


def test_a_phase_of_omp_begins_with_its_pick(monkeypatch):
    """Step t = 0, 1, …, T − 1 has ceil(t·k/T) features; the gradients are those of the batch before."""
    seen, asked = [], []
    monkeypatch.setattr(
        released, "backward", lambda network, rows, *rest: seen.append((rows, int(network[1]._mask.sum())))
    )

    def norms(network, inputs, rows, mask, random_off):
        asked.append((len(seen), rows))
        return torch.arange(8.0)

    monkeypatch.setattr(released, "_norms", norms)
    sets, settings = quadrants(), dataclasses.replace(SMALL, epochs=3, batch_size=60)
    assert reference_omp(sets, 4, 0, settings=settings) == [7, 6, 5, 4]
    assert [count for _, count in seen] == [math.ceil(Fraction(4 * t, 9)) for t in range(9)]
    assert all(rows is seen[step - 1][0] for step, rows in asked)
    refuses("got k = 9, 8 features", reference_omp, sets, 9, 0, settings=settings)
    refuses("got 9 steps for k = 9", reference_omp, quadrants(d=9), 9, 0, settings=settings)


@pytest.mark.parametrize("normalised", [False, True])
def test_the_mask_as_released_is_trained_on_normalised_rows_and_read_on_others(monkeypatch, normalised):
    read = []

    class Spied(released._Mask):
        def shares(self, X):
            read.append(X.detach())
            found = super().shares(X)
            assert float(found.detach().sum()) == pytest.approx(1, abs=1e-6)
            return found

    monkeypatch.setattr(released, "_Mask", Spied)
    sets = quadrants()
    assert set(reference_mask(sets, 2, 0, settings=SMALL, normalised=normalised)) == {3, 6}
    *trained, last = read
    assert all(float(X.min()) < 0 for X in trained)  # and the rows are in [0, 1]
    assert torch.equal(last, torch.from_numpy(sets.X)) == (not normalised)


def test_too_few_picks_are_filled_with_the_lowest_numbers():
    sets = quadrants(d=20)
    order = reference_attention(sets, 6, 0, settings=SMALL, features_per_step=2)
    assert len(set(order)) == 6
    assert order[4:] == sorted(set(range(20)) - set(order[:4]))[:2]
    whole = dataclasses.replace(AS_RELEASED, counts_features=False)
    mended = reference_attention(sets, 6, 0, settings=SMALL, features_per_step=2, switches=whole)
    assert len(set(mended)) == 6
    assert {3, 6} <= set(mended)
    assert mended[:2] == order[:2]
    assert mended[4:] != order[4:]


def test_the_steps_of_adam_are_those_of_the_settings():
    """In steps of 10⁻²⁰ all features keep the same attention, so the lowest numbers are selected."""
    slow = dataclasses.replace(SMALL, learning_rate=1e-20)
    assert reference_attention(quadrants(), 3, 0, settings=slow, switches=CORRECTED) == [0, 1, 2]


def test_accuracy_is_of_the_picks():
    sets = quadrants()
    good = reference_accuracy(sets, [6, 3], 0, settings=SMALL)
    assert good > 0.9 > 0.6 > reference_accuracy(sets, [0, 1], 0, settings=SMALL)
    assert good == reference_accuracy(sets, np.array([6, 3]), 0, settings=SMALL)
    slow = dataclasses.replace(CORRECTED, optimizer="adam")
    settings = dataclasses.replace(SMALL, learning_rate=1e-7)
    assert reference_accuracy(sets, [6, 3], 0, settings=settings, switches=slow) < 0.9


# --- studies ---------------------------------------------------------------------------------------------

STUDIES = {study.name: study for study in attention_study.STUDIES}
TINY = Scale(rows=400, seeds=1, image_seeds=1, epochs=0.02, sizes=(2, 3, 40), whole=False)


@pytest.mark.parametrize("name", STUDIES)
@pytest.mark.parametrize("scale", [FULL, QUICK])
def test_pieces_are_different_and_possible(name, scale):
    study = STUDIES[name]
    pieces = list(study.pieces(study.data, scale))
    assert len({piece.key for piece in pieces}) == len(pieces)
    assert {piece.data for piece in pieces} == set(study.data)
    for piece in pieces:
        assert piece.study == name
        assert 1 <= piece.k < FORMS[piece.data].d or piece.method == attention_study.ALL
    assert {piece.data for piece in study.pieces(["digits"], scale)} == {"digits"}


def test_the_table_is_met_by_all_rows_and_seeds():
    pieces = list(STUDIES["paper"].pieces(["mnist"], FULL))
    released = [p for p in pieces if p.method == attention_study.SA and not p.setting]
    assert [p.seed for p in released if p.k == 50] == [1, 2, 3, 4, 5]
    assert {p.seed for p in released if p.k < 50} == {1, 2, 3}
    assert FULL.rows_of("mnist", whole=True) is FULL.rows_of("isolet") is None
    assert (FULL.rows_of("mnist"), QUICK.rows_of("mnist", whole=True)) == (10_000, 1000)
    assert {"random", "linear OMP", "random forest"} <= {p.method for p in pieces}


@pytest.mark.parametrize(
    ("k", "setting", "scale", "rows"), [(50, "", FULL, None), (25, "", FULL, 10_000), (10, "", QUICK, 1000)]
)
def test_only_the_figure_of_the_table_takes_all_rows(monkeypatch, k, setting, scale, rows):
    seen = []

    def sets_of(data, protocol, seed, most):
        seen.append(most)
        return quadrants()

    monkeypatch.setattr(attention_study, "sets_of", sets_of)
    monkeypatch.setattr(
        attention_study, "reference_attention", lambda sets, k, seed, **options: list(range(k))
    )
    monkeypatch.setattr(attention_study, "reference_accuracy", lambda sets, order, seed, **options: 1.0)
    STUDIES["paper"].run(Piece("paper", "mnist", attention_study.SA, k, 1, setting), scale)
    assert seen == [rows]


def test_differences_are_those_that_a_data_set_has():
    assert "means of training rows" in attention_study.differences("mice")
    assert "means of training rows" not in attention_study.differences("coil20")
    assert "split by group and class" in attention_study.differences("coil20")
    assert "split by group and class" not in attention_study.differences("isolet")
    assert "scaled by training rows" in attention_study.differences("isolet")
    assert "scaled by training rows" not in attention_study.differences("digits")
    on_training_rows = dataclasses.replace(PAPER, scale_on_all=False)
    for first, second in zip(
        *(split(table("digits"), protocol, 1) for protocol in (PAPER, on_training_rows)), strict=True
    ):
        assert np.array_equal(first, second)


def test_every_printed_figure_has_a_study_that_knows_its_data():
    for of in TABLES.values():
        for figure in (figure for data in TITLES for figure in of(data)):
            assert figure.data in studies.STUDIES[figure.study].data, figure.address


def test_a_record_tells_how_many_features_were_picked():
    piece = Piece("paper", "breast_cancer", "group LASSO, λ fixed", 10, 1)
    sets = attention_study.sets_of("breast_cancer", PAPER, 1, None)
    ranking = METHODS[piece.method](sets.X, sets.y, 10, lam=0.05, dense_epochs=60, rng=1)
    picked = len(ranking.picks)
    assert 0 < picked < 10
    options = {"lam": 0.05, "dense_epochs": 60}
    found = pick(piece.method, sets.X, sets.y, 10, 5, 1, options)
    assert found.order == tuple(ranking.support)
    assert (
        attention_study._record(piece, sets, QUICK, found).note == f"{picked} picked, {10 - picked} filled up"
    )
    short = pick(piece.method, sets.X, sets.y, picked, picked, 1, options)
    assert short.fill_note(picked) == ""


@pytest.mark.parametrize(
    "piece",
    [
        Piece("paper", "breast_cancer", attention_study.ALL, 30, 1),
        Piece("paper", "breast_cancer", attention_study.SA, 3, 1),
        Piece("paper", "breast_cancer", attention_study.SA, 2, 1, attention_study.OWN),
        Piece("paper", "breast_cancer", "linear OMP", 2, 1),
        Piece("paper", "breast_cancer", "Sequential LASSO", 3, 1),
        Piece("switches", "breast_cancer", attention_study.SA, 3, 1, "all"),
        *(Piece("efficiency", "breast_cancer", method, 3, 1) for method in attention_study.EFFICIENT),
        Piece("adaptivity", "breast_cancer", attention_study.SA, 8, 1, "4, as released"),
        Piece("adaptivity", "breast_cancer", attention_study.SA, 8, 1, "4"),
        Piece("masks", "breast_cancer", attention_study.SA, 3, 1, "l1_normalized"),
    ],
    ids=lambda piece: piece.key,
)
def test_pieces_are_computed(piece):
    record = STUDIES[piece.study].run(piece, TINY)
    assert record.piece == piece
    assert 0.3 <= record.scores["network"] <= 1
    assert len(set(record.support)) == (0 if piece.method == attention_study.ALL else piece.k)
    assert record.rows == 399
    expected = {
        "linear OMP": "prefix of 3",
        "Sequential LASSO": "decrease 0.02" * (piece.study == "paper"),
        "4, as released": "4 picked, 4 with the lowest numbers",
    }
    words = next((note for word, note in expected.items() if word in (piece.method, piece.setting)), "")
    assert record.note.startswith(words)
    assert bool(record.note) == bool(words)


def test_a_prefix_is_that_of_the_method_itself():
    sets = split(table("breast_cancer"), PAPER, 1)
    record = STUDIES["paper"].run(Piece("paper", "breast_cancer", "linear OMP", 2, 1), TINY)
    assert record.support == tuple(
        attention_study.METHODS["linear OMP"](sets.X, sets.y, 3).support[:2].tolist()
    )
