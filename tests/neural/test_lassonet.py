"""Tests of LassoNet's path: stationarity, absent features, and the LASSO for M = 0."""

import copy
import inspect
import itertools

import numpy as np
import pytest
from refusals import refuses

torch = pytest.importorskip("torch")

from flat import (  # noqa: E402
    QUICK,
    design,
    lassonet_path,
    matrix_completion,
    reconstruction_path,
    refit,
    skip_network,
)
from torch import nn  # noqa: E402

import sparselin as sl  # noqa: E402
from sparselin.neural import SkipNetwork, mlp, network_at, training  # noqa: E402
from sparselin.neural._reduced import shrink, shrink_by_torch  # noqa: E402
from sparselin.neural.gains import marginal_gains  # noqa: E402
from sparselin.neural.lassonet import LassoNetStep  # noqa: E402
from sparselin.results import Status  # noqa: E402


def pulls(model, X, y, loss, M, groups):
    """Return ‖∇θ_g‖ + M‖∇W_g‖₁ of each group, by autograd through the whole network, and ‖θ_g‖."""
    model = model.eval()
    loss(model(X), y).mean().backward()
    dtheta, dW = model.skip.weight.grad, model.first.weight.grad
    theta = model.skip.weight.detach()
    pull = [float(dtheta[:, g].norm() + M * dW[:, g].abs().sum()) for g in groups]
    return np.array(pull), np.array([float(theta[:, g].norm()) for g in groups])


@pytest.mark.parametrize("groups", [None, [[0, 5], [1], [2, 4], [3]]])
@pytest.mark.parametrize("kind", ["squared", "cross_entropy"])
def test_absent_features_do_not_want_back_in(kind, groups):
    """At every λ check the gradient of the whole network by autograd, and ‖W_g‖∞ ≤ M‖θ_g‖ exactly."""
    X, y = design()
    y = y if kind == "squared" else (y > y.mean()).astype(int)
    net = skip_network(6, 1 if kind == "squared" else 2)
    path = lassonet_path(net, X, y, loss=kind, M=3.0, groups=groups, keep="states", **QUICK)
    assert path.n_selected[0] == 6
    assert path.n_selected[-1] == 0
    assert path.status is Status.COMPLETED
    target = torch.as_tensor(y)
    parts = [[j] for j in range(6)] if groups is None else groups
    for row in range(1, len(path)):
        model = network_at(net, path, row)
        pull, norm = pulls(model, torch.from_numpy(X), target, training.as_loss(kind), 3.0, parts)
        excess = (pull[norm == 0] / path.lam[row]).max(initial=0)
        assert excess == pytest.approx(path.excess[row], rel=1e-9, abs=1e-12)
        assert excess <= 1
        largest = np.array([float(model.first.weight.detach()[:, g].abs().max()) for g in parts])
        assert (largest <= 3.0 * norm).all()
        assert np.array_equal([path.mask[row, g].all() for g in parts], norm > 0)
        value = training.as_loss(kind)(model(torch.from_numpy(X)), target).mean().item()
        assert path.loss[row] == pytest.approx(value, rel=1e-12)
        assert path.objective[row] == pytest.approx(value + path.lam[row] * norm.sum(), rel=1e-12)


def reference(net, X, y, lam, epochs, M, step, momentum):
    """Return the state after steps of torch.optim.SGD and `group_hier_prox` with all features."""
    net = copy.deepcopy(net)
    optimizer = torch.optim.SGD(net.parameters(), lr=step, momentum=momentum)
    theta, W = net.skip.weight, net.first.weight
    for _ in range(epochs):
        optimizer.zero_grad()
        training.squared_error(net(X), y).mean().backward()
        optimizer.step()
        with torch.no_grad():
            args = theta.t().numpy(), W.t().numpy()
            found = sl.group_hier_prox(*args, lam=step * lam / (1 - momentum), M=M)
            theta.copy_(torch.from_numpy(found.theta.copy()).t())
            W.copy_(torch.from_numpy(found.W.copy()).t())
    return net.state_dict()


def test_steps_are_proximal_steps_with_momentum():
    """The steps are checked with all features, and after features have left for good."""
    X, y = design(d=9)
    net = skip_network(9)
    options = {"loss": "squared", "learning_rate": 0.02, "momentum": 0.8, "patience": None}
    for lam, left in ((0.5, 0), (60.0, 1)):
        path = lassonet_path(net, X, y, epochs=(0, 30), lams=[lam], rounds=0, keep="states", **options)
        assert (path.n_selected[-1] < 9) == left
        expected = reference(net, torch.from_numpy(X), torch.from_numpy(y), lam, 30, 10.0, 0.02, 0.8)
        for name, value in path.state_dict(1).items():
            scale = 1e-9 * max(np.abs(value).max(), 1e-3)
            np.testing.assert_allclose(expected[name].numpy(), value, rtol=1e-9, atol=scale)


def test_at_M_zero_the_path_is_the_lassos():
    """The problem is ½‖y − Xβ‖²/n + λ‖β‖₁ with an intercept; the duality gap bounds the error.

    With the residual r, u = r·min(1, nλ/‖Xᵀr‖∞) is feasible for the dual. So the gap G bounds the excess of
    the objective, and ½‖X(β − β*)‖² ≤ G by strong convexity of ½‖y − ·‖².
    """
    rng = np.random.default_rng(1)
    X = rng.standard_normal((80, 6))
    X -= X.mean(axis=0)
    y = X @ [3.0, -2.0, 1.0, 0.3, 0.0, 0.0] + 0.5 * rng.standard_normal(80) + 4
    lams = [0.05, 0.2, 0.8, 2.0]
    path = lassonet_path(
        skip_network(6, hidden=(2,)), X, y, loss="squared", M=0.0, lams=lams, learning_rate=(1e-2, 0.1),
        momentum=0.5, epochs=(100, 1000), patience=(None, 100), tol=1.0, keep="states",
    )  # fmt: skip
    lasso = sl.lasso_path(X, y - y.mean())
    for row in range(1, len(path)):
        lam, state = 80 * path.lam[row], path.state_dict(row)
        assert not state["network.0.weight"].any()
        beta, exact = state["skip.weight"][0], lasso.at(lam)
        c = y - y.mean()
        r = c - X @ beta
        u = r * min(1, lam / np.abs(X.T @ r).max())
        gap = (r @ r / 2 + lam * np.abs(beta).sum()) - (c @ c - (c - u) @ (c - u)) / 2
        assert gap <= 1e-9 * (c @ c)
        assert np.linalg.norm(X @ (beta - exact)) <= np.sqrt(2 * max(gap, 0)) + 1e-10 * np.linalg.norm(c)
        assert np.array_equal(np.flatnonzero(beta), np.flatnonzero(exact))


@pytest.mark.parametrize("weights", ["sample", "class"])
def test_weights_are_repeated_rows(weights):
    X, y = design(n=30)
    label = (y > y.mean()).astype(int)
    count = np.random.default_rng(0).integers(1, 4, 30) if weights == "sample" else np.array([1, 3])[label]
    given = {"sample_weight": 2.5 * count} if weights == "sample" else {"class_weight": [1.0, 3.0]}
    net = skip_network(6, 2)
    options = {"loss": "cross_entropy", "lams": [0.5, 1.0, 2.0], **QUICK}
    one = lassonet_path(net, X, label, **given, **options)
    other = lassonet_path(net, X.repeat(count, axis=0), label.repeat(count), **options)
    np.testing.assert_allclose(one.objective, other.objective, rtol=1e-8)
    assert np.array_equal(one.mask, other.mask)
    plain = lassonet_path(net, X, label, **options)
    assert not np.allclose(one.objective, plain.objective, rtol=1e-3)
    balanced = 30 / (2 * np.bincount(label))
    one, other = (lassonet_path(net, X, label, class_weight=w, **options) for w in ("balanced", balanced))
    assert one == other


@pytest.mark.parametrize(("dtype", "p"), list(itertools.product([torch.float32, torch.float64], [1, 3])))
def test_the_operator_in_torch_is_the_kernel_and_feasible(dtype, p):
    generator = torch.Generator().manual_seed(0)
    theta = torch.randn(200, p, generator=generator, dtype=dtype)
    W = torch.randn(200, 7, generator=generator, dtype=dtype)
    theta[:5], W[5:9], theta[9], W[9] = 0, 0, 0, 0
    for lam, M in itertools.product([0.0, 0.3, 2.0], [0.0, 0.7, 10.0]):
        b, w, b2, w2 = theta.clone(), W.clone(), theta.clone(), W.clone()
        shrink(b, w, lam, M)
        shrink_by_torch(b2, w2, lam, M)
        tolerance = 50 * torch.finfo(dtype).eps
        assert torch.allclose(b, b2, rtol=tolerance, atol=tolerance)
        assert torch.allclose(w, w2, rtol=tolerance, atol=tolerance * max(1, M))
        for x, z in ((b, w), (b2, w2)):
            assert (z.abs().amax(dim=1) <= M * torch.linalg.vector_norm(x, dim=1)).all()
            assert (z.double().abs().amax(dim=1) <= M * torch.linalg.vector_norm(x.double(), dim=1)).all()


def test_minibatches_float32_and_tensors():
    """Training with batches, dropout and validation rows depends on the seed only."""
    X, y = design(n=90)
    net = SkipNetwork(mlp(6, [8], 1, dropout=0.1), 6, 1)
    data = torch.from_numpy(X).float(), torch.from_numpy(y).float()
    options = {"loss": "squared", "batch_size": 32, "validation": (X[60:], y[60:]), "k": 1, **QUICK}
    path = lassonet_path(net, data[0][:60], data[1][:60], rng=3, **options)
    assert path == lassonet_path(net, X[:60].astype("f"), y[:60], rng=3, **options)
    assert path != lassonet_path(net, X[:60], y[:60], rng=4, **options)
    assert np.isfinite(path.validation_loss).all()
    assert path.n_selected[-1] <= 1
    assert path.support(1).tolist() == [3]


@pytest.mark.parametrize("batch_size", [None, 20])
@pytest.mark.parametrize("backtrack", [False, True])
def test_rows_for_validation_are_only_measured_where_training_decides(batch_size, backtrack):
    """The path equals the path without validation rows; it records their mean loss for each network."""
    X, y = design(n=80)
    other = torch.from_numpy(X[60:]), torch.from_numpy(-5 * y[60:])
    net = skip_network(6)
    options = {
        "loss": "squared", "keep": "states", "patience": (5, 2), "batch_size": batch_size,
        "backtrack": backtrack, **QUICK,
    }  # fmt: skip
    alone = lassonet_path(net, X[:60], y[:60], **options)
    path = lassonet_path(net, X[:60], y[:60], validation=other, stop_on="training", **options)
    for name in ("lam", "objective", "epochs", "theta_norm"):
        assert np.array_equal(getattr(path, name), getattr(alone, name)), name
    with torch.no_grad():
        found = [
            training.squared_error(network_at(net, path, i)(other[0]), other[1]).mean()
            for i in range(len(path))
        ]
    np.testing.assert_allclose(path.validation_loss, found, rtol=1e-10)
    decided = lassonet_path(net, X[:60], y[:60], validation=other, **options)
    assert not np.array_equal(decided.epochs, path.epochs)


def test_given_network_and_data_are_not_modified():
    X, y = design()
    net = skip_network(6)
    before = {name: value.clone() for name, value in net.state_dict().items()}
    kept = X.copy(), y.copy()
    lassonet_path(net, X, y, loss="squared", k=3, **QUICK)
    assert all(torch.equal(before[name], value) for name, value in net.state_dict().items())
    assert np.array_equal(X, kept[0])
    assert np.array_equal(y, kept[1])


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
        [20], X.astype("f"), y, loss=kind, growth=growth, batch_size=batch_size, epochs=(150, epochs),
        patience=(50, 10), k=6,
    )  # fmt: skip
    assert path.lam[np.argmax(path.n_selected < 12)] >= 2 * path.lam[1]
    assert growth > 1.1 or np.diff(path.n_selected).min() > -6


def test_returning_features_are_recorded_and_the_round_limit_holds():
    """A network whose important feature was set to zero brings it back at a small λ."""
    X, y = design()
    net = skip_network(6)
    with torch.no_grad():
        net.skip.weight[:, 3] = 0
        net.first.weight[:, 3] = 0
    options = {"loss": "squared", "epochs": (0, 40), "learning_rate": 1e-3, "lams": [0.05], "momentum": 0.0}
    path = lassonet_path(net, X, y, **options)
    assert path.mask[1, 3]
    assert path.importances[3] == np.inf


def test_importances_are_of_the_last_leaving():
    """An importance is the λ of the last leaving, 0 if never selected, ∞ if present at the end."""
    mask = np.array([[1, 1, 0, 1], [1, 0, 0, 1], [1, 1, 0, 0], [1, 0, 0, 0]], bool)
    norm = mask * np.array([[1.0, 2, 0, 3]] * 4)
    zero = np.zeros(4)
    path = sl.results.LassoNetPath(
        lam=np.array([0.0, 1, 2, 4]), objective=zero, loss=zero, validation_loss=zero, n_selected=mask.sum(1),
        mask=mask, theta_norm=norm, epochs=np.zeros(4, int), returns=np.zeros(4, int), excess=zero, states=(),
        M=1.0,
        k=0, groups=None, status=Status.COMPLETED, names=None,
    )  # fmt: skip
    assert path.importances.tolist() == [np.inf, 4, 0, 2]
    assert path.ranking().tolist() == [0, 1, 3, 2]
    assert path.support(2).tolist() == [0, 1]
    assert path.support().tolist() == [0]
    assert path.row_at(2) == 2
    assert path.row_at(3) == 0
    refuses("at most 3", path.row_at, 4)
    refuses(r"0\.\.4", path.support, 5)
    assert "LassoNetPath" in repr(path)
    assert len(path.to_frame("pandas")) == 4


class Callback:
    def __init__(self, at, action):
        self.steps, self.at, self.action = [], at, action

    def __call__(self, step):
        assert isinstance(step, LassoNetStep)
        self.steps.append(step)
        if len(self.steps) == self.at:
            return self.action()
        return None


def interrupt():
    raise KeyboardInterrupt


@pytest.mark.parametrize("action", [lambda: True, interrupt])
def test_what_was_done_stays_when_stopped(action):
    X, y = design()
    whole = lassonet_path(skip_network(6), X, y, loss="squared", **QUICK)
    path = lassonet_path(skip_network(6), X, y, loss="squared", callback=Callback(4, action), **QUICK)
    assert path.status is Status.STOPPED
    assert len(path) == 4
    assert np.array_equal(path.objective, whole.objective[:4])


def test_a_loss_that_is_not_finite_keeps_the_path_so_far():
    X, y = design()
    calls = itertools.count()

    def breaks(output, target):
        value = training.squared_error(output, target)
        return value * np.nan if next(calls) > 200 else value

    with pytest.raises(training.NonFiniteLoss, match=r"λ = .*learning_rate") as caught:
        lassonet_path(skip_network(6), X, y, loss=breaks, **QUICK)
    assert len(caught.value.path) >= 1
    assert np.isfinite(caught.value.path.objective).all()
    with pytest.raises(training.NonFiniteLoss, match="dense network"):
        lassonet_path(skip_network(6), 1e200 * X, 1e200 * y, loss="squared", **QUICK)


@pytest.mark.parametrize(
    ("change", "error", "match"),
    [
        ({"X": np.full((60, 6), np.nan)}, ValueError, "X must be finite"),
        ({"y": np.full(60, np.inf)}, ValueError, "y must be finite"),
        ({"X": np.zeros((0, 6)), "y": np.zeros(0)}, ValueError, "at least one row"),
        ({"X": np.zeros((60, 0))}, ValueError, "at least one row and one feature"),
        ({"y": np.zeros(7)}, ValueError, "60 entries"),
        ({"X": np.array([["a"] * 6] * 60)}, TypeError, "numeric"),
        ({"M": np.inf}, ValueError, "M must be"),
        ({"groups": [[0, 1], [1, 2, 3, 4, 5]]}, ValueError, r"in several groups: \[1\]"),
        ({"groups": [[0, 1]]}, ValueError, r"in no group: \[2, 3, 4, 5\]"),
        ({"groups": [[0, 9]]}, ValueError, r"0\.\.5"),
        ({"growth": 1.0}, ValueError, "growth"),
        ({"momentum": 1.0}, ValueError, "momentum"),
        ({"tol": 0.0}, ValueError, "tol"),
        ({"lam_start": 0.0}, ValueError, "lam_start"),
        ({"learning_rate": -1.0}, ValueError, "learning_rate"),
        ({"patience": 0}, ValueError, "patience must be"),
        ({"patience": 1.5}, TypeError, "patience"),
        ({"epochs": 1.5}, TypeError, "epochs"),
        ({"stop_on": "test"}, ValueError, "stop_on must be"),
        ({"loss": "cross_entropy"}, ValueError, "class numbers 0, 1"),
        ({"class_weight": "balanced"}, ValueError, "sample_weight"),
        ({"sample_weight": -np.ones(60)}, ValueError, "nonnegative"),
        ({"validation": (np.zeros((3, 5)), np.zeros(3))}, ValueError, "6 features"),
        ({"network": SkipNetwork(mlp(5, [2], 1), 5, 1)}, ValueError, "columns of X"),
        ({"batch_size": 0}, ValueError, "batch_size"),
    ],
)
def test_bad_arguments_are_named(change, error, match):
    X, y = design()
    given = {"network": [4], "X": X, "y": y, "loss": "squared", "epochs": (1, 1), "k": 5, **change}
    refuses(match, lassonet_path, given.pop("network"), given.pop("X"), given.pop("y"), **given, error=error)


def test_a_network_that_reads_X_elsewhere_is_refused():
    class Twice(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = nn.Linear(6, 3), nn.Linear(3, 1)

        def forward(self, X):
            return self.second(torch.relu(self.first(X))) + X[:, :1]

    X, y = design()
    refuses("nowhere else", lassonet_path, Twice(), X.astype("f"), y, loss="squared")


def test_networks_that_are_no_networks_of_these_columns_are_named():
    X, y = np.eye(6, 4), np.arange(6) % 2
    for network, label, error, words in (
        (8, y, TypeError, r"hidden widths, such as \[32\].*got 8"),
        (mlp(3, [5], 2), y, ValueError, "network must read the 4 columns of X"),
        ([8], np.where(y, "a", "b"), TypeError, "y must be numeric.*Encode classes"),
    ):
        refuses(words, lassonet_path, network, X, label, loss="cross_entropy", error=error)


def test_a_support_of_k_features_parts_no_group():
    X = np.random.default_rng(0).standard_normal((30, 4))
    path = lassonet_path(
        [2], X, X[:, 0] + X[:, 1], loss="squared", groups=[[0, 1], [2, 3]], lams=[1e3], epochs=(5, 5), rng=0
    )
    assert [len(path.support(k)) for k in range(5)] == [0, 0, 2, 2, 4]
    assert path.support(3).tolist() in ([0, 1], [2, 3])


def normalised(q=1):
    return nn.Sequential(nn.Linear(4, 5), nn.BatchNorm1d(5), nn.ReLU(), nn.Linear(5, q))


WITH_BATCHES = {
    "path": lambda X, y, **options: lassonet_path(
        normalised(), X, y, loss="squared", growth=4.0, epochs=(2, 2), **options
    ),
    "refit": lambda X, y, **options: refit(normalised(), X, y, [1, 2], loss="squared", epochs=2, **options),
    "reconstruction": lambda X, y, **options: reconstruction_path(
        normalised(4), X, growth=4.0, epochs=(2, 2), **options
    ),
    "completion": lambda X, y, **options: matrix_completion(
        normalised(4), X, growth=4.0, epochs=(2, 2), rounds=2, **options
    ),
    "gains": lambda X, y, **options: marginal_gains(
        normalised(), torch.tensor(X), torch.tensor(y)[:, None], [1], loss="squared", epochs=2, **options
    ),
}


@pytest.mark.parametrize("method", WITH_BATCHES)
@pytest.mark.parametrize("n", [1, 2, 9, 17])
@pytest.mark.parametrize("batch_size", [None, 1, 2, 4, 8, 16])
def test_batch_normalisation_trains_on_any_rows_but_single_ones(method, n, batch_size):
    X = np.random.default_rng(0).standard_normal((n, 4)).astype(np.float32)
    given = {"X": X, "y": X[:, 1], "batch_size": batch_size, "rng": 0}
    if 1 in (n, batch_size):
        words = "every batch must have at least 2 rows.*Pass a batch_size"
        refuses(words, WITH_BATCHES[method], **given)
    else:
        WITH_BATCHES[method](**given)


@pytest.mark.parametrize("method", ["lassonet_path", "refit"])
def test_a_wrong_value_of_any_argument_is_named(method, wrong):
    X, y = design(24, 4)
    options = {"network": [3], "X": X, "y": y, "loss": "squared"}
    if method == "refit":
        call, options = refit, {**options, "features": [0, 1], "epochs": 2}
    else:
        call, options = lassonet_path, {**options, "growth": 3.0, "epochs": (2, 2)}
    for name in inspect.signature(call).parameters:
        for value in wrong.get(name, ()) if name != "class_weight" else (5, "nope"):
            with pytest.raises((TypeError, ValueError), match=name) as raised:
                call(**{**options, name: value})
            assert "ambiguous" not in str(raised.value), name


def test_one_class_is_refused():
    X, _ = design(24, 4)
    for network in ([3], mlp(4, [3], 1), skip_network(4)):
        with pytest.raises(ValueError, match="y must have at least two classes"):
            lassonet_path(network, X, np.zeros(24, int), loss="cross_entropy")


@pytest.mark.parametrize("function", [sl.neural.lassonet_path, sl.neural.refit, sl.neural.matrix_completion])
def test_settings_are_a_record(function):
    """A dict in place of the settings is refused; numbers of any type are stored as floats and integers."""
    X = np.eye(4)
    features = [[0]] if function is sl.neural.refit else []
    data = [X] if function is sl.neural.matrix_completion else [X, X[:, 0]]
    loss = {} if function is sl.neural.matrix_completion else {"loss": "squared"}
    with pytest.raises(TypeError, match="settings must be a LassoNetSettings; got dict"):
        function([2], *data, *features, settings={"growth": 2}, **loss)
    kept = sl.neural.LassoNetSettings(growth=np.float32(2), rounds=np.int64(1), batch_size=np.int64(3))
    assert {type(value) for value in (kept.growth, kept.tol)} == {float}
    assert {type(value) for value in (kept.rounds, kept.batch_size)} == {int}
