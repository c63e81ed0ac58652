"""Tests of Sequential Attention on networks: selection, schedule, validation, and the linear method."""

import inspect
import itertools

import numpy as np
import pytest
from refusals import refuses

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402
from torch.utils.data import DataLoader, TensorDataset  # noqa: E402

import sparselin as sl  # noqa: E402
from sparselin import Status  # noqa: E402
from sparselin.neural import EmbeddedColumns, NonFiniteLoss, SequentialAttention, masks, mlp  # noqa: E402
from sparselin.neural.batches import Shuffled  # noqa: E402
from sparselin.neural.training import Rows, seeded  # noqa: E402


def adam(parameters):
    return torch.optim.Adam(parameters, 0.02)


def planted(d=8, n=64, seed=0):
    """Return X and y, where y depends on columns 5, 2 and, most weakly, 0."""
    X = torch.randn(n, d, generator=torch.Generator().manual_seed(seed))
    return X, (3 * X[:, 5] + 2 * X[:, 2] + X[:, 0])[:, None]


def network(d, q=1, hidden=(8,), seed=0, **options):
    with seeded(seed):
        return mlp(d, hidden, q, **options)


def made(k, d=8, net=None, **options):
    settings = {"n_features": d, "loss": "squared", "optimizer": adam, **options}
    return SequentialAttention(network(d) if net is None else net, k, **settings)


@pytest.mark.parametrize("form", sorted(masks.FORMS))
@pytest.mark.parametrize("folded", [True, False])
def test_the_planted_features_are_found(form, folded):
    path = made(3, parametrization=form, folded=folded).fit([planted()], epochs=200)
    assert sorted(path.order) == [0, 2, 5]
    assert path.status is Status.COMPLETED


@pytest.mark.parametrize(
    ("per_step", "phases"), [(1, (1, 2, 3, 4, 5)), (2, (1, 1, 2, 2, 3)), ("double", (1, 2, 2, 3, 3))]
)
def test_each_phase_picks_at_its_end_the_units_of_largest_attention(per_step, phases):
    seen = []
    X, y = planted()
    path = made(5, features_per_step=per_step, callback=lambda path: seen.append(path)).fit(
        Shuffled(Rows(X, y), 16), epochs=25
    )
    assert path.phase.tolist() == list(phases)
    assert path.warm_up_steps == 10
    assert path.total_steps == 100 == path.warm_up_steps + path.steps.sum()
    assert seen[-1].order.tolist() == path.order.tolist()
    for t, (attention, size) in enumerate(zip(path.attention, np.bincount(phases)[1:], strict=True)):
        before = path.order[path.phase <= t]
        assert (attention[before] == 1).all()
        assert np.delete(attention, before).sum() == pytest.approx(1, rel=1e-6)
        ranked = [i for i in np.argsort(-attention, kind="stable") if i not in before]
        assert path.order[path.phase == t + 1].tolist() == ranked[:size]
        assert seen[t].total_steps == path.warm_up_steps + path.steps[: t + 1].sum()
        first, second = attention[ranked[0]], attention[ranked[1]]
        assert path.margin[np.argmax(path.phase == t + 1)] == pytest.approx((first - second) / first)
    assert np.isfinite(path.loss).all()
    assert path.loss[-1] < path.warm_up_loss


def test_ties_go_to_the_lowest_number_and_have_margin_zero():
    path = made(3, optimizer=lambda p: torch.optim.SGD(p, 0.0), forced=[1]).fit([planted()], epochs=5)
    assert path.order.tolist() == [1, 0, 2]
    assert np.isnan(path.margin[0])
    assert path.margin[1:].tolist() == [0, 0]
    assert path.phase.tolist() == [0, 1, 2]


def test_every_unit_can_be_selected():
    path = made(8).fit([planted()], epochs=20)
    assert sorted(path.order) == list(range(8))
    assert path.margin[-1] == 1


def lbfgs(parameters):
    return torch.optim.LBFGS(
        parameters, max_iter=400, tolerance_grad=1e-5, tolerance_change=1e-12, line_search_fn="strong_wolfe"
    )


def test_linear_attention_on_a_linear_network_is_the_linear_method():
    """For 200 designs λ is in the middle of the window of `first_entry` for each S."""
    n, d, k = 20, 6, 2
    for seed in range(200):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((n, d))
        y = X @ rng.standard_normal(d) + rng.standard_normal(n)

        def middle(S, problem=sl.Problem(X, y, intercept=True)):  # noqa: B008
            entry = sl.first_entry(problem, unpenalized=list(S))
            return 0.5 * (entry.lam_star + entry.window_lower) / n

        path = made(
            k, d, network(d, hidden=(), dtype=torch.float64, seed=seed), optimizer=lbfgs, warm_up=0,
            parametrization="linear", reset_moments=True, penalty=middle,
        ).fit([(X, y)], epochs=k)  # fmt: skip
        expected = sl.sequential_attention(X, y, k, intercept=True)
        assert path.order.tolist() == expected.support.tolist(), seed


def test_the_penalty_is_of_what_is_not_selected():
    method = made(
        3, 4, network(4), groups=[0, 0, 1, 2], parametrization="l2", penalty=0.7, forced=[1], warm_up=0
    )
    found = method._regularizer().item()
    W, w = method.network[0].weight.detach().numpy(), method.mask.logits.detach().numpy()
    expected = 0.35 * (w[0] ** 2 + w[2] ** 2 + (W[:, [0, 1, 3]] ** 2).sum())
    assert found == pytest.approx(expected, rel=1e-6)
    method.mask.form = masks.FORMS["l2_normalized"]
    assert method._regularizer().item() == pytest.approx(0.35 * (W[:, [0, 1, 3]] ** 2).sum(), rel=1e-6)


def test_a_penalty_that_no_unit_is_worth_ends_the_path():
    path = made(
        2, net=network(8, hidden=(), dtype=torch.float64), optimizer=lbfgs, reset_moments=True, warm_up=0,
        penalty=lambda S: 1e4 if S else 0.0, parametrization="linear",
    ).fit([planted()], epochs=2)  # fmt: skip
    assert path.status is Status.NO_ATTENTION
    assert len(path) == 1
    assert path.penalty.tolist() == [0]


def test_a_stream_is_taken_once_in_disjoint_parts_and_no_further():
    X, y = planted(n=640)
    stream = iter(zip(X.split(10), y.split(10), strict=True))
    method = made(3, steps_per_phase=10, warm_up=5)
    path = method.fit_stream(stream)
    assert path.total_steps == 35
    assert path.steps.tolist() == [10, 10, 10]
    assert len(list(stream)) == 64 - 35
    by_hand = made(3, steps_per_phase=10, warm_up=5)
    for batch in zip(X.split(10), y.split(10), strict=True):
        assert by_hand.done == (by_hand.path.total_steps == 35)
        by_hand.partial_fit(*batch)
    assert by_hand.path == path
    listed = made(3, warm_up=5).fit_stream(list(zip(X.split(10), y.split(10), strict=True))[:35])
    assert listed == path
    counted = made(3, warm_up=5).fit_stream(zip(X.split(10), y.split(10), strict=True), steps=35)
    assert counted == path


def test_a_stream_that_ends_in_phase_3_says_so():
    X, y = planted(n=300)
    path = made(5, steps_per_phase=10, warm_up=5).fit_stream(zip(X.split(10), y.split(10), strict=True))
    assert path.status is Status.STREAM_ENDED
    assert len(path) == 2
    assert path.total_steps == 30
    assert "2 of 8 units" in repr(path)
    assert made(2, steps_per_phase=2).fit_stream([]).status is Status.STREAM_ENDED


def bad(X=None, y=None, weight=None, rows=slice(None)):
    good = [torch.ones(4, 3), torch.zeros(4, dtype=torch.long), torch.ones(4)]
    return tuple(a if b is None else b for a, b in zip(good, (X, y, weight), strict=True))


@pytest.mark.parametrize(
    ("batch", "error", "message"),
    [
        (bad(X=torch.full((4, 3), torch.nan)), ValueError, r"X of batch 2 must be finite; got 12 .*\(0, 0\)"),
        (bad(X=torch.full((4, 3), -torch.inf)), ValueError, "X of batch 2 must be finite"),
        (bad(X=torch.ones(0, 3)), ValueError, "batch 2 must have rows; it is empty"),
        (bad(X=torch.ones(4, 2)), ValueError, r"X of batch 2 must have 3 features.*\(4, 2\)"),
        (bad(X=torch.ones(4)), ValueError, "X of batch 2 must have a row for each example"),
        (bad(X=[["a"]]), TypeError, "X of batch 2 must be a tensor"),
        (bad(X=torch.ones(4, 3) * 1j), TypeError, "X of batch 2 must hold real numbers"),
        (bad(y=torch.tensor([0, 1, 2, 0])), ValueError, r"y of batch 2 must hold classes in 0\.\.1.*got 2"),
        (bad(y=torch.tensor([0, 1, -100, 0])), ValueError, "y of batch 2 must hold classes.*got -100"),
        (bad(y=torch.ones(4)), TypeError, "y of batch 2 must hold class numbers"),
        (bad(y=torch.ones(3, dtype=torch.long)), ValueError, "y of batch 2 must have an entry for each"),
        (bad(weight=torch.ones(4, 1)), ValueError, r"weight of batch 2 must have shape \(4,\)"),
        (bad(weight=torch.tensor([1, 1, -1.0, 0])), ValueError, "weight of batch 2 must be nonnegative"),
        (bad(weight=torch.tensor([1, 1, torch.nan, 0])), ValueError, "weight of batch 2 must be finite"),
        (torch.ones(4, 3), TypeError, r"batch 2 must be \(X, y\) or \(X, y, weight\); got Tensor"),
        ((torch.ones(4, 3),), TypeError, r"batch 2 must be .* got tuple of 1"),
    ],
)
def test_bad_batches_are_named(batch, error, message):
    method = made(2, 3, network(3, 2), loss="cross_entropy")
    refuses(message, method.fit, [bad(), batch], epochs=3, error=error)
    assert method.path.total_steps == 1


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"k": 0}, ValueError, r"k must be in 1\.\.8; got 0"),
        ({"k": 9}, ValueError, r"k must be in 1\.\.8; got 9; there are 8 units"),
        ({"k": 1.5}, TypeError, "k must be an integer"),
        ({"k": 1, "forced": [0, 1]}, ValueError, r"k must be in 2\.\.8; got 1"),
        (
            {"penalty": 1.0, "net": nn.Sequential(nn.BatchNorm1d(8), nn.Linear(8, 1))},
            ValueError,
            "must begin",
        ),
        ({"n_features": None}, TypeError, "n_features must be given"),
    ],
)
def test_bad_settings_are_named(options, error, message):
    refuses(message, made, **{"k": 2, **options}, error=error)


def test_a_wrong_value_of_any_argument_is_named(wrong):
    for name in inspect.signature(SequentialAttention).parameters:
        for value in wrong.get(name, ()):
            if name in ("groups", "names") and value is None:
                continue
            called = "k must" if name == "forced" and value == [0, 1, 2] else name
            with pytest.raises((TypeError, ValueError), match=called) as raised:
                made(**{"k": 2, **({"net": value} if name == "network" else {name: value})}).fit([planted()])
            assert "ambiguous" not in str(raised.value), name
    for call in (made(2).fit, made(2).fit_stream):
        for value in (5, None, 1.5, np.array(3), torch.tensor(2)):
            refuses(r"batches|stream", call, value, error=TypeError)
    for value in (5, None, "nope"):
        refuses("categories must be a dict", EmbeddedColumns, 3, value, error=TypeError)


@pytest.mark.parametrize("method", ["fit", "fit_stream", "partial_fit"])
def test_a_batch_of_one_row_is_named_where_it_cannot_be_normalised(method):
    net = nn.Sequential(nn.Linear(8, 3), nn.BatchNorm1d(3), nn.Linear(3, 1))
    X, y = planted()
    given = (X[:1], y[:1]) if method == "partial_fit" else ([(X, y), (X[:1], y[:1])],)
    call = getattr(made(1, net=net, steps_per_phase=3), method)
    refuses(r"every batch must have at least 2 rows.*; got 1\..*drop_last=True", call, *given)


def test_bad_calls_are_named():
    refuses(r"more than once.*list_iterator\. .* fit_stream", made(2).fit, iter([planted()]), error=TypeError)
    refuses("batches must not be empty", made(2).fit, [])
    refuses("epochs must be at least 1", made(2).fit, [planted()], epochs=0)
    refuses("number of batches is unknown; pass steps_per_phase", made(2).fit_stream, iter([planted()]))
    refuses("partial_fit needs steps_per_phase", made(2).partial_fit, *planted())
    refuses("penalty must be nonnegative", made(2, penalty=lambda S: -1.0).fit, [planted()])
    refuses(r"such as \[\(X, y\)\]; got one Tensor", made(2).fit, *planted(), error=TypeError)
    refuses(r"\[\(X, y\)\] has all rows in one batch", made(2).fit, planted(), error=TypeError)
    refuses("not a class", made, 2, net=nn.Linear, error=TypeError)
    optimizer = torch.optim.Adam(network(8).parameters())
    refuses("that makes an optimiser.*got Adam", made, 2, optimizer=optimizer, error=TypeError)
    labels = torch.zeros(64, 1, dtype=torch.long)
    classes = made(2, loss="cross_entropy").fit
    refuses("an output for each of at least two classes", classes, [(planted()[0], labels[:, 0])])
    refuses(r"one class for each row; got shape \(64, 1\)", classes, [(planted()[0], labels)])


def test_infinity_that_the_network_hides_is_found():
    X, y = planted()
    hidden = made(2, net=nn.Sequential(nn.ReLU(), network(8)))
    with pytest.raises(ValueError, match="X of batch 2 must be finite; got 8"):
        hidden.fit([(X, y), (torch.where(torch.arange(64)[:, None] == 3, -torch.inf, X), y)])


def test_a_class_may_be_missing_from_a_batch():
    X = torch.eye(3).repeat(4, 1)
    y = torch.arange(3).repeat(4)
    batches = [(X[y == c], y[y == c]) for c in range(3)]
    path = made(2, 3, network(3, 3), loss="cross_entropy").fit(batches, epochs=40)
    assert path.status is Status.COMPLETED
    assert path.loss[-1] < path.warm_up_loss


def test_a_loss_that_is_not_finite_stops_with_phase_and_step():
    method = made(3, optimizer=lambda p: torch.optim.SGD(p, 1e12), warm_up=0, steps_per_phase=4)
    with pytest.raises(NonFiniteLoss, match=r"phase 1, step \d of it \(batch \d\).*learning_rate"):
        method.fit([planted()], epochs=20)
    assert method.path.status is Status.STREAM_ENDED
    calls = itertools.count()
    method = made(3, loss=lambda f, y: f.sum(1) / (0.0 if next(calls) == 9 else 1.0), warm_up=2)
    refuses(r"phase 2, step 2 of it \(batch 10\)", method.fit, [planted()], epochs=20, error=NonFiniteLoss)
    assert len(method.path) == 1


@pytest.mark.parametrize("where", ["callback", "batches", "returned"])
def test_ctrl_c_keeps_what_was_done(where):
    def interrupt(path=None):
        if path is None or len(path) == 2:
            raise KeyboardInterrupt

    def stop(path):
        return len(path) == 2

    def stream():
        yield from itertools.repeat(planted(), 29)
        interrupt()

    callback = {"callback": interrupt, "returned": stop}.get(where)
    method = made(5, steps_per_phase=10, warm_up=5, callback=callback)
    path = method.fit_stream(stream() if where == "batches" else itertools.repeat(planted()))
    assert path.status is Status.STOPPED
    assert len(path) == 2
    assert method.path == path


def test_same_seed_same_path_and_nothing_else_changes_it():
    X, y = planted()

    def run(seed, **options):
        net = network(8, dropout=0.3)
        loader = DataLoader(TensorDataset(X, y), batch_size=16, shuffle=True)
        return made(3, net=net, rng=seed, **options).fit(loader, epochs=10)

    first = run(1)
    torch.manual_seed(99)
    assert run(1) == first
    assert not np.array_equal(run(2).attention, first.attention)
    state = torch.random.get_rng_state()
    assert run(np.random.default_rng(1)) == first
    assert torch.equal(torch.random.get_rng_state(), state)
    assert run(1, folded=False).order.tolist() == first.order.tolist()


def test_moments_are_kept_unless_reset():
    def moments(reset):
        kept = []
        method = made(2, reset_moments=reset, callback=lambda path: kept.append(len(method._stepper.state)))
        method.fit([planted()], epochs=20)
        return kept

    assert moments(True) == [0, 0]
    assert min(moments(False)) == 5


def test_rows_of_weight_zero_do_not_count():
    X, y = planted()
    keep = torch.arange(len(X)) < 40
    weight = keep * (len(X) / 40.0)
    spoiled = torch.where(keep[:, None], y, 1e3)
    path, part = (made(3).fit([b], epochs=30) for b in [(X, spoiled, weight), (X[keep], y[keep])])
    assert path.order.tolist() == part.order.tolist()
    np.testing.assert_allclose(path.loss, part.loss, rtol=1e-4)


def test_float64_arrays_in_and_arrays_out_whatever_the_network():
    X, y = planted()
    path = made(2, names=[f"f{j}" for j in range(8)]).fit([(X.numpy().astype(float), y.numpy())], epochs=100)
    assert path.to_frame().name.tolist() == [f"f{j}" for j in path.order]
    assert path.attention.dtype == float
    assert sorted(path.support) == [2, 5]
    double = made(2, net=network(8, dtype=torch.float64)).fit([(X, y)], epochs=100)
    assert double.order.tolist() == path.order.tolist()


def test_images_through_a_convolution():
    X, y = planted(d=16)
    net = nn.Sequential(nn.Unflatten(1, (1, 4, 4)), nn.Conv2d(1, 4, 2), nn.Flatten(), nn.Linear(36, 1))
    path = made(2, 16, net).fit([(X, X[:, [5]] * 3)], epochs=100)
    assert path.order[0] == 5
    whole = made(2, 16, nn.Sequential(nn.Conv2d(1, 4, 2), nn.Flatten(), nn.Linear(36, 1)))
    assert len(whole.fit([(X.reshape(-1, 1, 4, 4), y)], epochs=10)) == 2


def test_categorical_columns_are_units():
    generator = torch.Generator().manual_seed(0)
    category = torch.randint(0, 12, (200, 3), generator=generator)
    noise = torch.randn(200, 2, generator=generator)
    value = torch.randn(12, generator=generator)
    X = torch.cat([category[:, :1], noise[:, :1], category[:, 1:], noise[:, 1:]], dim=1).double()
    y = 3 * value[category[:, 1]] + noise[:, 1]
    inputs = EmbeddedColumns(5, {0: 12, 2: 12, 3: 12}, dimension=4)
    assert inputs.n_features == 14
    path = made(2, None, network(14), inputs=inputs).fit([(X, y)], epochs=200)
    assert path.order.tolist() == [2, 4]
    assert sorted(path.support) == sorted(np.flatnonzero(np.isin(inputs.groups, [2, 4])))
    assert path.features_at(1).tolist() == [6, 7, 8, 9]
    refuses(r"t must lie in 0\.\.2", path.features_at, 3)
    vectors = inputs(torch.ones(1, 5))[0, 2:].reshape(3, 4)
    assert len(torch.unique(vectors, dim=0)) == 3
    large = EmbeddedColumns(1, {0: 2**24 + 2}, dimension=1)
    with torch.no_grad():
        large.table.weight[2**24 + 1] = 7.0
    assert large(torch.tensor([[2**24 + 1]])).item() == 7
    for wrong in (12.0, -1.0, 0.5):
        with pytest.raises(
            ValueError, match=r"column 0 must hold categories, integers in 0\.\.11; got .* row 1"
        ):
            inputs(torch.tensor([[0.0] * 5, [wrong, 0, 0, 0, 0]]))
    refuses(r"a column of categories must be in 0\.\.4; got 5", EmbeddedColumns, 5, {5: 3})


def test_batches_may_be_frames():
    pandas = pytest.importorskip("pandas")
    X, y = np.random.default_rng(0).standard_normal((12, 4)), np.arange(12) % 2
    found = []
    for batch in ((X, y), (pandas.DataFrame(X), pandas.Series(y))):
        with seeded(0):
            net = mlp(4, [3], 2)
        found.append(SequentialAttention(net, 2, n_features=4).fit([batch]).attention)
    assert np.array_equal(*found)
