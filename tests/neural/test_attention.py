"""Tests of Sequential Attention on networks: selection, schedule, validation, and the linear method."""

import inspect
import itertools
from functools import partial

import numpy as np
import pytest
import torch
from refusals import refuses
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import sparselin as sl
from sparselin import Status
from sparselin.neural import EmbeddedColumns, NonFiniteLoss, SequentialAttention, masks, mlp
from sparselin.neural.batches import Shuffled
from sparselin.neural.training import Rows, seeded


def planted(d=8, n=64):
    """Return X and y, where y depends on columns 5, 2 and, most weakly, 0."""
    X = torch.randn(n, d, generator=torch.Generator().manual_seed(0))
    return X, (3 * X[:, 5] + 2 * X[:, 2] + X[:, 0])[:, None]


X, Y = planted()


def network(d, q=1, hidden=(8,), seed=0, **options):
    with seeded(seed):
        return mlp(d, hidden, q, **options)


def made(k, d=8, net=None, **options):
    settings = {"n_features": d, "loss": "squared", "optimizer": partial(torch.optim.Adam, lr=0.02)} | options
    return SequentialAttention(network(d) if net is None else net, k, **settings)


@pytest.mark.parametrize("form", sorted(masks.FORMS))
@pytest.mark.parametrize("folded", [True, False])
def test_the_planted_features_are_found(form, folded):
    path = made(3, parametrization=form, folded=folded).fit([(X, Y)], epochs=200)
    assert (sorted(path.order), path.status) == ([0, 2, 5], Status.COMPLETED)


@pytest.mark.parametrize(("per_step", "sizes"), [(1, [1] * 5), (2, [2, 2, 1]), ("double", [1, 2, 2])])
def test_each_phase_picks_at_its_end_the_units_of_largest_attention(per_step, sizes):
    seen = []
    path = made(5, features_per_step=per_step, callback=seen.append).fit(Shuffled(Rows(X, Y), 16), epochs=25)
    assert path.phase.tolist() == np.repeat(np.arange(len(sizes)) + 1, sizes).tolist()
    assert (path.warm_up_steps, path.total_steps, path.steps.sum()) == (10, 100, 90)
    assert seen[-1].order.tolist() == path.order.tolist()
    for t, (attention, size) in enumerate(zip(path.attention, sizes, strict=True)):
        before = path.order[path.phase <= t]
        assert (attention[before] == 1).all()
        assert np.delete(attention, before).sum() == pytest.approx(1, rel=1e-6)
        ranked = [i for i in np.argsort(-attention, kind="stable") if i not in before]
        assert path.order[path.phase == t + 1].tolist() == ranked[:size]
        assert seen[t].total_steps == 10 + path.steps[: t + 1].sum()
        first, second = attention[ranked[:2]]
        assert path.margin[len(before)] == pytest.approx((first - second) / first)
    assert path.loss[-1] < path.warm_up_loss


def test_ties_go_to_the_lowest_number_and_have_margin_zero():
    path = made(8, optimizer=lambda p: torch.optim.SGD(p, 0.0), forced=[1]).fit([(X, Y)], epochs=8)
    assert path.order.tolist() == [1, 0, *range(2, 8)]
    assert np.isnan(path.margin[0])
    assert path.margin[1:].tolist() == [0] * 6 + [1]
    assert path.phase.tolist() == list(range(8))


EXACT = {"max_iter": 400, "tolerance_grad": 1e-5, "tolerance_change": 1e-12, "line_search_fn": "strong_wolfe"}
LINEAR = {"optimizer": partial(torch.optim.LBFGS, **EXACT), "warm_up": 0, "parametrization": "linear"}
LINEAR["reset_moments"] = True


def test_linear_attention_on_a_linear_network_is_the_linear_method():
    """For 200 designs λ is in the middle of the window of `first_entry` for each S."""
    for seed in range(200):
        rng = np.random.default_rng(seed)
        A = rng.standard_normal((20, 6))
        y = A @ rng.standard_normal(6) + rng.standard_normal(20)

        def middle(S, problem=sl.Problem(A, y, intercept=True)):  # noqa: B008
            entry = sl.first_entry(problem, unpenalized=list(S))
            return 0.5 * (entry.lam_star + entry.window_lower) / 20

        net = network(6, hidden=(), dtype=torch.float64, seed=seed)
        path = made(2, 6, net, penalty=middle, **LINEAR).fit([(A, y)], epochs=2)
        assert path.order.tolist() == sl.sequential_attention(A, y, 2, intercept=True).support.tolist(), seed


def test_the_penalty_is_of_what_is_not_selected():
    options = {"groups": [0, 0, 1, 2], "penalty": 0.7, "forced": [1], "warm_up": 0}
    method = made(3, 4, network(4), parametrization="l2", **options)
    found = method._regularizer().item()
    W, w = method.network[0].weight.detach().numpy(), method.mask.logits.detach().numpy()
    rest = (W[:, [0, 1, 3]] ** 2).sum()
    assert found == pytest.approx(0.35 * (w[0] ** 2 + w[2] ** 2 + rest), rel=1e-6)
    method.mask.form = masks.FORMS["l2_normalized"]
    assert method._regularizer().item() == pytest.approx(0.35 * rest, rel=1e-6)


def test_a_penalty_that_no_unit_is_worth_ends_the_path():
    net = network(8, hidden=(), dtype=torch.float64)
    path = made(2, net=net, penalty=lambda S: 1e4 if S else 0.0, **LINEAR).fit([(X, Y)], epochs=2)
    assert (path.status, path.penalty.tolist()) == (Status.NO_ATTENTION, [0])


def test_a_stream_is_taken_once_in_disjoint_parts_and_no_further():
    def run(stream, steps=None, **options):
        return made(3, warm_up=5, **options).fit_stream(stream, steps)

    batches = list(zip(*(part.split(10) for part in planted(n=640)), strict=True))
    stream, by_hand = iter(batches), made(3, steps_per_phase=10, warm_up=5)
    path = run(stream, steps_per_phase=10)
    assert path.steps.tolist() == [10, 10, 10]
    assert len(list(stream)) == 64 - 35
    for batch in batches:
        assert by_hand.done == (by_hand.path.total_steps == 35)
        by_hand.partial_fit(*batch)
    assert by_hand.path == run(batches[:35]) == run(iter(batches), 35) == path
    short = run(batches[:30], steps_per_phase=10)
    assert (short.status, len(short), short.total_steps) == (Status.STREAM_ENDED, 2, 30)


BAD_BATCHES = [
    ({"X": torch.full((4, 3), torch.nan)}, r"X of batch 2 must be finite; got 12 .*\(0, 0\)"),
    ({"X": torch.ones(0, 3)}, "batch 2 must have rows; it is empty"),
    ({"X": torch.ones(4, 2)}, r"X of batch 2 must have 3 features.*\(4, 2\)"),
    ({"X": torch.ones(4)}, "X of batch 2 must have a row for each example"),
    ({"X": [["a"]]}, "X of batch 2 must be numeric"),
    ({"y": torch.tensor([0, 1, 2, 0])}, r"y of batch 2 must hold classes in 0\.\.1.*got 2"),
    ({"y": torch.tensor([0, 1, -100, 0])}, "y of batch 2 must hold classes.*got -100"),
    ({"y": torch.ones(4)}, "y of batch 2 must hold class numbers"),
    ({"y": torch.ones(3, dtype=torch.long)}, "y of batch 2 must have an entry for each"),
    ({"weight": torch.tensor([1, 1, -1.0, 0])}, "weight of batch 2 must be nonnegative"),
    ({"y": None, "weight": None}, r"batch 2 must be \(X, y\) or \(X, y, weight\); got tuple of 1"),
]


@pytest.mark.parametrize(("wrong", "message"), BAD_BATCHES)
def test_bad_batches_are_named(wrong, message):
    good = {"X": torch.ones(4, 3), "y": torch.zeros(4, dtype=torch.long), "weight": torch.ones(4)}
    method = made(2, 3, network(3, 2), loss="cross_entropy")
    batch = tuple(part for part in (good | wrong).values() if part is not None)
    refuses(message, method.fit, [tuple(good.values()), batch], epochs=3, error=(TypeError, ValueError))
    assert method.path.total_steps == 1


def test_a_wrong_value_of_any_argument_is_named(refuses_wrong_values):
    def call(name, value):
        made(**{"k": 2, "net" if name == "network" else name: value}).fit([(X, Y)])

    refuses_wrong_values(call, inspect.signature(SequentialAttention).parameters)
    refuses("batches", made(2).fit, torch.tensor(2), error=TypeError)
    refuses("stream", made(2).fit_stream, np.array(3), error=TypeError)
    refuses("categories must be a dict", EmbeddedColumns, 3, "nope", error=TypeError)


def test_bad_calls_are_named():
    refuses(r"k must be in 1\.\.8; got 9; there are 8 units", made, 9)
    refuses(r"k must be in 2\.\.8; got 1", made, 1, forced=[0, 1])
    normalised = nn.Sequential(nn.BatchNorm1d(8), nn.Linear(8, 1))
    refuses("must begin", made, 2, net=normalised, penalty=1.0)
    refuses(r"least 2 rows.*; got 1\..*drop_last=True", made(1, net=normalised).fit, [(X[:1], Y[:1])])
    refuses("n_features must be given", made, 2, n_features=None, error=TypeError)
    refuses(r"more than once.*list_iterator\. .* fit_stream", made(2).fit, iter([(X, Y)]), error=TypeError)
    refuses("batches must not be empty", made(2).fit, [])
    refuses("number of batches is unknown; pass steps_per_phase", made(2).fit_stream, iter([(X, Y)]))
    refuses("partial_fit needs steps_per_phase", made(2).partial_fit, X, Y)
    refuses("penalty must be nonnegative", made(2, penalty=lambda S: -1.0).fit, [(X, Y)])
    refuses(r"such as \[\(X, y\)\]; got one Tensor", made(2).fit, X, Y, error=TypeError)
    refuses(r"\[\(X, y\)\] has all rows in one batch", made(2).fit, (X, Y), error=TypeError)
    optimizer = torch.optim.Adam(network(8).parameters())
    refuses("that makes an optimiser.*got Adam", made, 2, optimizer=optimizer, error=TypeError)
    classes, labels = made(2, loss="cross_entropy").fit, torch.zeros(64, 1, dtype=torch.long)
    refuses("an output for each of at least two classes", classes, [(X, labels[:, 0])])
    refuses(r"one class for each row; got shape \(64, 1\)", classes, [(X, labels)])


def test_infinity_that_the_network_hides_is_found():
    hidden = made(2, net=nn.Sequential(nn.ReLU(), network(8)))
    spoiled = torch.where(torch.arange(64)[:, None] == 3, -torch.inf, X)
    refuses("X of batch 2 must be finite; got 8", hidden.fit, [(X, Y), (spoiled, Y)])


def test_a_loss_that_is_not_finite_stops_with_phase_and_step():
    calls = itertools.count()
    method = made(3, loss=lambda f, y: f.sum(1) / (0.0 if next(calls) == 9 else 1.0), warm_up=2)
    words = r"phase 2, step 2 of it \(batch 10\).*learning_rate"
    refuses(words, method.fit, [(X, Y)], epochs=20, error=NonFiniteLoss)
    assert (len(method.path), method.path.status) == (1, Status.STREAM_ENDED)


@pytest.mark.parametrize("where", ["callback", "batches", "returned"])
def test_ctrl_c_keeps_what_was_done(where):
    def ends(path):
        if where == "callback" and len(path) == 2:
            raise KeyboardInterrupt
        return where == "returned" and len(path) == 2

    def stream():
        yield from itertools.repeat((X, Y), 29 if where == "batches" else 99)
        raise KeyboardInterrupt

    method = made(5, steps_per_phase=10, warm_up=5, callback=ends)
    path = method.fit_stream(stream())
    assert (path.status, len(path)) == (Status.STOPPED, 2)
    assert method.path == path


def test_same_seed_same_path_and_nothing_else_changes_it():
    def run(seed, **options):
        loader = DataLoader(TensorDataset(X, Y), batch_size=16, shuffle=True)
        return made(3, net=network(8, dropout=0.3), rng=seed, **options).fit(loader, epochs=10)

    first = run(1)
    torch.manual_seed(99)
    state = torch.random.get_rng_state()
    assert run(1) == run(np.random.default_rng(1)) == first
    assert torch.equal(torch.random.get_rng_state(), state)
    assert not np.array_equal(run(2).attention, first.attention)
    assert run(1, folded=False).order.tolist() == first.order.tolist()


@pytest.mark.parametrize(("reset", "least"), [(True, 0), (False, 5)])
def test_moments_are_kept_unless_reset(reset, least):
    kept = []
    method = made(2, reset_moments=reset, callback=lambda path: kept.append(len(method._stepper.state)))
    method.fit([(X, Y)], epochs=20)
    assert kept == [least] * 2


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_arrays_and_frames_in_and_arrays_out_whatever_the_network(dtype):
    frame, paths = pytest.importorskip("pandas").DataFrame, []
    for batch in ((X.double().numpy(), Y.numpy()), (frame(X.numpy()), frame(Y.numpy()))):
        method = made(2, net=network(8, dtype=dtype), names=list("abcdefgh"))
        paths.append(method.fit([batch], epochs=100))
    assert paths[0] == paths[1]
    assert (paths[0].order.tolist(), paths[0].attention.dtype) == ([5, 2], float)
    assert paths[0].to_frame().name.tolist() == ["f", "c"]


def test_categorical_columns_are_units():
    generator = torch.Generator().manual_seed(0)
    A = torch.randint(0, 12, (200, 5), generator=generator).double()
    A[:, [1, 4]] = torch.randn(200, 2, generator=generator).double()
    y = 3 * torch.randn(12, generator=generator)[A[:, 2].long()] + A[:, 4]
    inputs = EmbeddedColumns(5, {0: 12, 2: 12, 3: 12}, dimension=4)
    path = made(2, None, network(14), inputs=inputs).fit([(A, y)], epochs=200)
    assert path.order.tolist() == [2, 4]
    assert sorted(path.support) == sorted(np.flatnonzero(np.isin(inputs.groups, [2, 4])))
    assert path.features_at(1).tolist() == [6, 7, 8, 9]
    refuses(r"t must lie in 0\.\.2", path.features_at, 3)
    assert len(torch.unique(inputs(torch.ones(1, 5))[0, 2:].reshape(3, 4), dim=0)) == 3
    large = EmbeddedColumns(1, {0: 2**24 + 2}, dimension=1)
    large.table.weight.data[2**24 + 1] = 7.0
    assert large(torch.tensor([[2**24 + 1]])).item() == 7
    for wrong in (12.0, -1.0, 0.5):
        rows = torch.tensor([[0.0] * 5, [wrong, 0, 0, 0, 0]])
        refuses(r"column 0 must hold categories, integers in 0\.\.11; got .* row 1", inputs, rows)
    refuses(r"a column of categories must be in 0\.\.4; got 5", EmbeddedColumns, 5, {5: 3})
