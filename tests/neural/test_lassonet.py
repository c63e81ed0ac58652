"""Tests of LassoNet's path: stationarity, absent features, the LASSO for M = 0, and what users reported."""

import copy
import dataclasses
import functools
import inspect
import itertools

import numpy as np
import pytest
import torch
from refusals import refuses
from torch import nn

import sparselin as sl
from sparselin.neural import LassoNetSettings, SkipNetwork, mlp, network_at, training
from sparselin.neural._reduced import shrink, shrink_by_torch
from sparselin.results import Status

# --- functions with settings as keyword arguments, and a design -----------------------------------------

NAMES = {field.name for field in dataclasses.fields(LassoNetSettings)}


def flat(function, *kept, **defaults):
    """Wrap a function so that keywords named like settings go into `settings`, except those in `kept`."""

    @functools.wraps(function)
    def call(*arguments, **options):
        settings = {name: options.pop(name) for name in NAMES & options.keys() - set(kept)}
        if settings:
            options["settings"] = LassoNetSettings(**defaults | settings)
        return function(*arguments, **options)

    return call


lassonet_path = flat(sl.neural.lassonet_path)
refit = flat(sl.neural.refit, tol=0.99)
reconstruction_path = flat(sl.neural.reconstruction_path)
matrix_completion = flat(sl.neural.matrix_completion, "rounds", "tol", epochs=(1000, 100), tol=0.99)

QUICK = {"learning_rate": (1e-2, 2e-3), "epochs": (120, 25), "growth": 1.6}


def design(n=60, d=6):
    """Return X and y, where y depends on feature 1 through |·| and on feature 3 linearly."""
    X = np.random.default_rng(0).standard_normal((n, d))
    return X, 2 * X[:, 3] + np.abs(X[:, 1])


def skip_network(d, q=1, hidden=(8,)):
    with training.seeded(0):
        return SkipNetwork(mlp(d, hidden, q, dtype=torch.float64), d, q)


# --- the path --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("groups", [[[j] for j in range(6)], [[0, 5], [1], [2, 4], [3]]])
@pytest.mark.parametrize("kind", ["squared", "cross_entropy"])
def test_absent_features_do_not_want_back_in(kind, groups):
    """At every λ check the gradient of the whole network by autograd, and ‖W_g‖∞ ≤ M‖θ_g‖ exactly."""
    X, y = design()
    y = y if kind == "squared" else (y > y.mean()).astype(int)
    net, loss = skip_network(6, 1 if kind == "squared" else 2), training.as_loss(kind)
    path = lassonet_path(net, X, y, loss=kind, M=3.0, groups=groups, keep="states", **QUICK)
    assert path.n_selected[[0, -1]].tolist() == [6, 0]
    assert path.status is Status.COMPLETED
    for row in range(1, len(path)):
        model, lam = network_at(net, path, row).eval(), path.lam[row]
        value = loss(model(torch.from_numpy(X)), torch.from_numpy(y)).mean()
        value.backward()
        W, theta = model.first.weight, model.skip.weight
        pull = np.array([float(theta.grad[:, g].norm() + 3 * W.grad[:, g].abs().sum()) for g in groups])
        norm = np.array([float(theta.detach()[:, g].norm()) for g in groups])
        excess = (pull[norm == 0] / lam).max(initial=0)
        assert excess == pytest.approx(path.excess[row], rel=1e-9, abs=1e-12)
        assert excess <= 1
        assert all(
            float(W.data[:, g].abs().max()) <= 3 * length for g, length in zip(groups, norm, strict=True)
        )
        assert np.array_equal([path.mask[row, g].all() for g in groups], norm > 0)
        assert path.loss[row] == pytest.approx(value.item(), rel=1e-12)
        assert path.objective[row] == pytest.approx(value.item() + lam * norm.sum(), rel=1e-12)


def reference(net, X, y, lam, momentum, l2):
    """Return the state after 30 steps of torch.optim.SGD and `group_hier_prox` with all features."""
    net = copy.deepcopy(net)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.02, momentum=momentum)
    theta, W, V = net.skip.weight, net.first.weight, net.network[2].weight
    for _ in range(30):
        optimizer.zero_grad()
        (training.squared_error(net(X), y).mean() + l2 * V.square().sum()).backward()
        optimizer.step()
        args = theta.detach().t().numpy(), W.detach().t().numpy()
        found = sl.group_hier_prox(*args, lam=0.02 * lam / (1 - momentum), M=10.0)
        theta.data, W.data = (torch.from_numpy(part.copy()).t() for part in (found.theta, found.W))
    return net.state_dict()


@pytest.mark.parametrize(("lam", "left"), [(0.5, False), (60.0, True)])
def test_steps_are_proximal_steps_with_momentum(lam, left):
    """The steps are checked with all features, and after features have left for good."""
    X, y = design(d=9)
    net = skip_network(9)
    options = {"loss": "squared", "learning_rate": 0.02, "momentum": 0.8, "patience": None, "l2": 0.1}
    path = lassonet_path(net, X, y, epochs=(0, 30), lams=[lam], rounds=0, keep="states", **options)
    assert (path.n_selected[-1] < 9) == left
    expected = reference(net, torch.from_numpy(X), torch.from_numpy(y), lam, 0.8, 0.1)
    for name, value in path.state_dict(1).items():
        scale = 1e-9 * max(np.abs(value).max(), 1e-3)
        np.testing.assert_allclose(expected[name].numpy(), value, rtol=1e-9, atol=scale)
    squares = 0.1 * np.square(path.state_dict(1)["network.2.weight"]).sum()
    assert path.objective[1] == pytest.approx(path.loss[1] + lam * path.theta_norm[1].sum() + squares)


def test_at_M_zero_the_path_is_the_lassos():
    """The problem is ½‖y − Xβ‖²/n + λ‖β‖₁ with an intercept; the duality gap bounds the error.

    With the residual r, u = r·min(1, nλ/‖Xᵀr‖∞) is feasible for the dual. So the gap G bounds the excess of
    the objective, and ½‖X(β − β*)‖² ≤ G by strong convexity of ½‖y − ·‖².
    """
    rng = np.random.default_rng(1)
    X = rng.standard_normal((80, 6))
    X -= X.mean(axis=0)
    y = X @ [3.0, -2.0, 1.0, 0.3, 0.0, 0.0] + 0.5 * rng.standard_normal(80) + 4
    c, options = y - y.mean(), {"lams": [0.05, 0.2, 0.8, 2.0], "learning_rate": (1e-2, 0.1), "momentum": 0.5}
    options |= {"epochs": (100, 1000), "patience": (None, 100), "tol": 1.0, "keep": "states"}
    path = lassonet_path(skip_network(6, hidden=(2,)), X, y, loss="squared", M=0.0, **options)
    for row in range(1, len(path)):
        lam, state = 80 * path.lam[row], path.state_dict(row)
        assert not state["network.0.weight"].any()
        beta, exact = state["skip.weight"][0], sl.lasso_path(X, c).at(lam)
        r = c - X @ beta
        u = r * min(1, lam / np.abs(X.T @ r).max())
        gap = (r @ r / 2 + lam * np.abs(beta).sum()) - (c @ c - (c - u) @ (c - u)) / 2
        assert gap <= 1e-9 * (c @ c)
        assert np.linalg.norm(X @ (beta - exact)) <= np.sqrt(2 * max(gap, 0)) + 1e-10 * np.linalg.norm(c)
        assert np.array_equal(np.flatnonzero(beta), np.flatnonzero(exact))


def test_weights_are_repeated_rows():
    X, y = design(n=30)
    label, times = (y > y.mean()).astype(int), np.random.default_rng(0).integers(1, 4, 30)
    options = {"network": skip_network(6, 2), "loss": "cross_entropy", "lams": [0.5, 1.0, 2.0], **QUICK}
    one, plain = (lassonet_path(X=X, y=label, sample_weight=w, **options) for w in (2.5 * times, None))
    other = lassonet_path(X=X.repeat(times, axis=0), y=label.repeat(times), **options)
    np.testing.assert_allclose(one.objective, other.objective, rtol=1e-8)
    assert np.array_equal(one.mask, other.mask)
    assert not np.allclose(one.objective, plain.objective, rtol=1e-3)


@pytest.mark.parametrize("p", [1, 3])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_the_operator_in_torch_is_the_kernel_and_feasible(dtype, p):
    generator = torch.Generator().manual_seed(0)
    theta = torch.randn(200, p, generator=generator, dtype=dtype)
    W = torch.randn(200, 7, generator=generator, dtype=dtype)
    theta[:5], W[5:9], theta[9], W[9] = 0, 0, 0, 0
    for lam, M in itertools.product([0.0, 0.3, 2.0], [0.0, 0.7, 10.0]):
        pairs, tolerance = [(theta.clone(), W.clone()) for _ in range(2)], 50 * torch.finfo(dtype).eps
        shrink(*pairs[0], lam, M)
        shrink_by_torch(*pairs[1], lam, M)
        for ours, theirs in zip(*pairs, strict=True):
            torch.testing.assert_close(ours, theirs, rtol=tolerance, atol=tolerance * max(1, M))
        for x, z in (*pairs, *((x.double(), z.double()) for x, z in pairs)):
            assert (z.abs().amax(dim=1) <= M * torch.linalg.vector_norm(x, dim=1)).all()


def test_minibatches_float32_and_tensors():
    """Training with batches, dropout and validation rows depends on the seed only, and modifies nothing."""
    X, y = design(n=90)
    net = SkipNetwork(mlp(6, [8], 1, dropout=0.1), 6, 1)
    data = torch.from_numpy(X).float(), torch.from_numpy(y).float()
    options = {"loss": "squared", "batch_size": 32, "validation": (X[60:], y[60:]), "k": 1, **QUICK}
    path = lassonet_path(net, data[0][:60], data[1][:60], rng=3, **options)
    assert path == lassonet_path(net, X[:60].astype("f"), y[:60], rng=3, **options)
    assert path != lassonet_path(net, X[:60], y[:60], rng=4, **options)
    assert np.isfinite(path.validation_loss).all()
    assert path.support(1).tolist() == [3]


@pytest.mark.parametrize("batch_size", [None, 20])
@pytest.mark.parametrize("backtrack", [False, True])
def test_rows_for_validation_are_only_measured_where_training_decides(batch_size, backtrack):
    """The path equals the path without validation rows; it records their mean loss for each network."""
    X, y = design(n=80)
    other = torch.from_numpy(X[60:]), torch.from_numpy(-5 * y[60:])
    net = skip_network(6)
    options = {"loss": "squared", "keep": "states", "patience": (5, 2), "batch_size": batch_size, **QUICK}
    options |= {"backtrack": backtrack}
    alone = lassonet_path(net, X[:60], y[:60], **options)
    path = lassonet_path(net, X[:60], y[:60], validation=other, stop_on="training", **options)
    for name in ("lam", "objective", "epochs", "theta_norm"):
        assert np.array_equal(getattr(path, name), getattr(alone, name)), name
    models = [network_at(net, path, row) for row in range(len(path))]
    with torch.no_grad():
        found = [training.squared_error(model(other[0]), other[1]).mean() for model in models]
    np.testing.assert_allclose(path.validation_loss, found, rtol=1e-10)
    decided = lassonet_path(net, X[:60], y[:60], validation=other, **options)
    assert not np.array_equal(decided.epochs, path.epochs)


@pytest.mark.parametrize("batch_size", [None, 50])
@pytest.mark.parametrize("growth", [1.1, 1.3])
@pytest.mark.parametrize("kind", ["squared", "cross_entropy"])
def test_features_do_not_leave_together_soon_after_the_start(kind, growth, batch_size):
    """No feature leaves below twice λ_start; with growth 1.1 fewer than half leave at one λ.

    T steps of length s at each of λ_start·γⁱ, i ≤ n, shrink ‖θ_g‖ + M‖W_g‖₁ by sTλ_start(γⁿ⁺¹ − 1)/(γ − 1).
    λ_start is half of (γ − 1)/(sTγ) times the least of these norms, so without a gradient none is zero while
    γⁿ⁺¹ < 1 + 2γ. The patience is below the number of epochs.
    """
    X, y = design(n=100, d=12)
    y = (y - y.mean()) / y.std() + X[:, 5] * X[:, 7] if kind == "squared" else (y > y.mean()).astype(int)
    epochs = 100 if batch_size is None else 50
    path = lassonet_path(
        [20],
        X.astype("f"),
        y,
        loss=kind,
        growth=growth,
        batch_size=batch_size,
        epochs=(150, epochs),
        patience=(50, 10),
        k=6,
    )
    assert path.lam[np.argmax(path.n_selected < 12)] >= 2 * path.lam[1]
    assert growth > 1.1 or np.diff(path.n_selected).min() > -6


def test_a_feature_that_matters_returns():
    """A network whose important feature was set to zero brings it back at a small λ."""
    X, y = design()
    net = skip_network(6)
    with torch.no_grad():
        net.skip.weight[:, 3] = net.first.weight[:, 3] = 0
    options = {"loss": "squared", "epochs": (0, 40), "learning_rate": 1e-3, "lams": [0.05], "momentum": 0.0}
    path = lassonet_path(net, X, y, **options)
    assert path.mask[1, 3]
    assert path.importances[3] == np.inf


def test_importances_are_of_the_last_leaving():
    """An importance is the λ of the last leaving, 0 if never selected, ∞ if present at the end."""
    mask, zero = np.array([[1, 1, 0, 1], [1, 0, 0, 1], [1, 1, 0, 0], [1, 0, 0, 0]], bool), np.zeros(4)
    unused = dict.fromkeys(("objective", "loss", "validation_loss", "epochs", "returns", "excess"), zero)
    unused |= {"states": (), "M": 1.0, "k": 0, "groups": None, "status": Status.COMPLETED, "names": None}
    lam, norm = np.array([0.0, 1, 2, 4]), mask * [1.0, 2, 0, 3]
    path = sl.neural.LassoNetPath(lam=lam, n_selected=mask.sum(1), mask=mask, theta_norm=norm, **unused)
    assert path.importances.tolist() == [np.inf, 4, 0, 2]
    assert path.ranking().tolist() == [0, 1, 3, 2]
    assert (path.support(2).tolist(), path.support().tolist()) == ([0, 1], [0])
    assert (path.row_at(2), path.row_at(3)) == (2, 0)
    refuses("at most 3", path.row_at, 4)
    refuses(r"0\.\.4", path.support, 5)


@pytest.mark.parametrize("interrupted", [False, True])
def test_what_was_done_stays_when_stopped(interrupted):
    steps, options = [], {"loss": "squared", **QUICK}

    def fourth(step):
        steps.append(step)
        if len(steps) == 4 and interrupted:
            raise KeyboardInterrupt
        return len(steps) == 4

    path = lassonet_path(skip_network(6), *design(), callback=fourth, **options)
    assert path.status is Status.STOPPED
    assert np.array_equal(path.objective, lassonet_path(skip_network(6), *design(), **options).objective[:4])
    assert [step.objective for step in steps] == path.objective.tolist()


def test_a_loss_that_is_not_finite_keeps_the_path_so_far():
    X, y = design()
    calls, options = itertools.count(), {"error": training.NonFiniteLoss, **QUICK}

    def breaks(output, target):
        return training.squared_error(output, target) * (np.nan if next(calls) > 200 else 1)

    with pytest.raises(training.NonFiniteLoss, match=r"λ = .*learning_rate") as caught:
        lassonet_path(skip_network(6), X, y, loss=breaks, **QUICK)
    assert np.isfinite(caught.value.path.objective).all()
    assert len(caught.value.path) >= 1
    refuses("dense network", lassonet_path, skip_network(6), 1e200 * X, 1e200 * y, loss="squared", **options)


BOUNDS = {"M": np.inf, "growth": 1.0, "momentum": 1.0, "tol": 0.0, "lam_start": 0.0, "patience": 0}


class Twice(nn.Module):
    """A network that reads X in its first layer, and once more."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(6, 3), nn.Linear(3, 1)

    def forward(self, X):
        return self.second(torch.relu(self.first(X))) + X[:, :1]


BAD_ARGUMENTS = [
    ({"X": np.full((60, 6), np.nan)}, "X must be finite"),
    ({"y": np.full(60, np.inf)}, "y must be finite"),
    ({"X": np.zeros((60, 0))}, "at least one row and one feature"),
    ({"y": np.zeros(7)}, "60 entries"),
    ({"y": np.array(["a"] * 60)}, "y must be numeric.*Encode classes"),
    ({"groups": [[0, 1], [1, 2, 3, 4, 5]]}, r"in several groups: \[1\]"),
    ({"groups": [[0, 1]]}, r"in no group: \[2, 3, 4, 5\]"),
    ({"groups": [[0, 9]]}, r"0\.\.5"),
    *(({name: value}, name) for name, value in BOUNDS.items()),
    ({"loss": "cross_entropy"}, "class numbers 0, 1"),
    ({"loss": "cross_entropy", "y": np.zeros(60, int)}, "y must have at least two classes"),
    ({"sample_weight": -np.ones(60)}, "nonnegative"),
    ({"validation": (np.zeros((3, 5)), np.zeros(3))}, "6 features"),
    ({"network": SkipNetwork(mlp(5, [2], 1), 5, 1)}, "columns of X"),
    ({"network": mlp(3, [5], 2)}, "network must read the 6 columns of X"),
    ({"network": Twice().double()}, "nowhere else"),
    ({"network": 8}, r"hidden widths, such as \[32\].*got 8"),
]


@pytest.mark.parametrize(("change", "match"), BAD_ARGUMENTS)
def test_bad_arguments_are_named(change, match):
    X, y = design()
    given = {"network": [4], "X": X, "y": y, "loss": "squared", "epochs": (1, 1), "k": 5, **change}
    refuses(match, lassonet_path, **given, error=(TypeError, ValueError))


@pytest.mark.parametrize(
    ("call", "options"),
    [(lassonet_path, {"growth": 3.0, "epochs": (2, 2)}), (refit, {"features": [0, 1], "epochs": 2})],
)
def test_a_wrong_value_of_any_argument_is_named(call, options, refuses_wrong_values):
    X, y = design(24, 4)
    options = {"network": [3], "X": X, "y": y, "loss": "squared", **options}
    names = inspect.signature(call).parameters
    refuses_wrong_values(lambda name, value: call(**options | {name: value}), names)


def test_settings_are_a_record():
    refuses("got dict", lassonet_path, [2], np.eye(2), [1, 0], loss="squared", settings={}, error=TypeError)
    assert type(LassoNetSettings(growth=np.float32(2)).growth) is float


# --- threads of lasso-net/lassonet in which users report a problem or request a feature ------------------


def test_66_71_the_path_stops_at_a_number_of_features():
    """Request: stop at a lower limit of selected features instead of continuing until none is left.

    Problem: scoring predictions on the GPU raised a TypeError. Here results contain no tensors.
    """
    data = map(torch.from_numpy, design())
    path = lassonet_path([8], *data, loss="squared", k=4, keep="states", **QUICK)
    assert path.n_selected[-1] <= 4 < path.n_selected[-2]
    assert (path.status, len(path.support(4))) == (Status.COMPLETED, 4)
    fields = [path.lam, path.objective, path.mask, path.theta_norm, path.importances, path.support()]
    assert all(type(array) is np.ndarray for array in [*fields, *path.state_dict(0).values()])


def test_53_thirty_thousand_features_are_finite():
    """Problem: with 30 000 features the loss grew to 5·10⁸ on the path, and an AssertionError ended it."""
    X = np.random.default_rng(0).standard_normal((10, 30000)).astype("f")
    steps = itertools.count(1)
    options = {"loss": "squared", "epochs": (5, 5), "callback": lambda step: next(steps) == 3}
    path = lassonet_path([4], X, X[:, 7], **options)
    assert np.isfinite(path.objective).all()
    assert 0 < path.lam[2] == pytest.approx(1.02 * path.lam[1])
    assert path.n_selected[1] > 0.9 * 30000 == 0.9 * path.n_features


def test_26_a_network_of_the_user():
    """Request: a custom model with other activations and layers for a [0, 1] classification."""
    X, y = design()
    with training.seeded(0):
        first = nn.Sequential(nn.Linear(6, 10, bias=False), nn.LayerNorm(10))
        net = nn.Sequential(first, nn.Tanh(), nn.Linear(10, 2)).double()
    path = lassonet_path(net, X, (y > y.mean()).astype(int), loss="cross_entropy", k=1, **QUICK)
    assert path.support(1).tolist() == [3]


def test_69_classes_beyond_the_outputs_are_named():
    """Problem: a device-side assert at random, if a class of the validation rows is missing in a subsample.

    Here a class that only the validation rows have is valid if the network has an output for it; otherwise
    the error names the class.
    """
    X, y = design()
    label, options = (y > y.mean()).astype(int), {"loss": "cross_entropy", "k": 5, **QUICK}
    judge = (X, 2 * label)
    refuses("class 2", lassonet_path, skip_network(6, 2), X, label + 1, **options)
    refuses("class 2", lassonet_path, skip_network(6, 2), X, label, validation=judge, **options)
    path = lassonet_path(skip_network(6, 3), X, label, validation=judge, **options)
    assert np.isfinite(path.validation_loss).all()


def test_54_56_57_scores_are_of_networks_trained_again_on_the_selected_features():
    """Question: does Table 1 average several trials, and why are reproduced scores at 50 features lower?

    The paper trains a network from scratch on the selected features. The network of the path is shrunk by λ
    and has a larger error. Both depend on the seed only.
    """
    X, y = map(torch.from_numpy, design(120))
    train, net = (X[:80], y[:80]), skip_network(6)
    path = lassonet_path(net, *train, loss="squared", k=2, keep="states", **QUICK)
    S, shrunk = path.support(2), network_at(net, path, path.row_at(2)).eval()
    options = {"loss": "squared", "learning_rate": 1e-2, "epochs": 300}
    again = [refit([8], *train, S, rng=seed, **options) for seed in (0, 0, 1)]
    again.append(refit(shrunk, *train, S, **options))
    outputs = [shrunk(X[80:]), *(network(X[80:, S]) for network in again)]
    biased, *errors = (float(training.squared_error(f, y[80:]).mean().detach()) for f in outputs)
    assert errors[0] == errors[1] != errors[2]
    assert max(errors) < 0.8 * biased


def test_18_given_lambdas_need_no_start():
    """Problem: with lambda_seq, the attribute of an automatic start was missing."""
    lams = [1.0, 3.0, 9.0, 1e6]
    path = lassonet_path([8], *design(), loss="squared", lams=lams, **QUICK)
    assert path.lam.tolist() == [0.0, *lams][: len(path)]
    assert path.n_selected[-1] == 0
    start = lassonet_path([8], *design(), loss="squared", lam_start=2.0, k=5, **QUICK)
    np.testing.assert_allclose(start.lam[1:], 2.0 * 1.6 ** np.arange(len(start) - 1))


def test_25_43_47_without_targets():
    """Request: unsupervised selection, and an autoencoder. One copy of each of two factors is enough."""
    rng = np.random.default_rng(0)
    X = np.repeat(rng.standard_normal((80, 2)), 3, axis=1) + 0.05 * rng.standard_normal((80, 6))
    path = reconstruction_path([6], X, k=2, validation=X[:20], **QUICK)
    assert sorted(path.support(2) // 3) == [0, 1]
    refuses("loss", reconstruction_path, [6], X, loss="squared", error=TypeError)


def test_matrix_completion_beats_the_mean():
    """For a matrix of rank one observed entries stay, and missing ones are better than row means."""
    rng = np.random.default_rng(0)
    Z = np.outer(rng.standard_normal(60), [1.0, -1.0, 2.0, 0.5, -2.0])
    hidden = np.where(rng.random(Z.shape) < 0.15, np.nan, Z)
    hidden[:, 0] = Z[:, 0]
    options = {"growth": 2, "learning_rate": (1e-2, 2e-3), "epochs": (100, 20), "k": 2}
    found = matrix_completion([8], hidden, rounds=15, tol=0.02, **options)
    missing = np.isnan(hidden)
    assert np.array_equal(found.observed, ~missing)
    assert np.array_equal(found.completed[~missing], Z[~missing])
    mean = np.nanmean(hidden, axis=1)[:, None]
    error = np.linalg.norm((found.completed - Z)[missing])
    assert error < 0.3 * np.linalg.norm((mean - Z)[missing])
    assert (found.status, found.change[-1] <= 0.02) == (Status.COMPLETED, True)
    assert found.path.n_selected[0] == 5 > 2 >= found.path.n_selected[-1]
    hidden[3] = np.nan
    refuses(r"rows \[3\]", matrix_completion, [8], hidden)
