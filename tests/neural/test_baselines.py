"""Tests of the baselines: they find planted signals and agree with other implementations."""

import itertools

import numpy as np
import pandas
import pytest
import scipy.sparse
import torch
from refusals import refuses
from sklearn.feature_selection import f_classif
from sklearn.linear_model import Lasso

import sparselin as sl
from proofs_checks.experiments.networks import baselines
from proofs_checks.experiments.networks.baselines import methods
from proofs_checks.experiments.networks.baselines._data import Training, prepare
from proofs_checks.experiments.networks.baselines.first_layer import GrowingNetwork, Proximal, row_gradients
from proofs_checks.experiments.networks.baselines.linear import diverse, linear_ols, linear_omp
from proofs_checks.experiments.networks.baselines.methods import METHODS
from proofs_checks.experiments.networks.baselines.selecting_layer import ConcreteSelectors
from sparselin.estimators import OMPSelector
from sparselin.neural import NonFiniteLoss, mlp
from sparselin.neural.training import LOSSES, Plan, Rows, seeded
from sparselin.results import Status

# few passes over few rows
NETWORK = {"hidden": (16,), "batch_size": 100, "learning_rate": 0.01}
QUICK = {
    "feature mask (LLY)": {**NETWORK, "epochs": 40},
    "group LASSO": {**NETWORK, "epochs": 2, "grid": (1e-3, 1.3)},
    "group LASSO, λ fixed": {**NETWORK, "lam": 0.02},
    "Sequential LASSO": {"hidden": (6,), "epochs": 10, "batch_size": None, "decrease": 0.02},
    "Sequential LASSO, λ fixed": {**NETWORK, "epochs": 25},
    "OMP": {"hidden": (6,), "epochs": 10, "batch_size": None},
    "concrete autoencoder": {"hidden": (8,), "epochs": 20, "batch_size": 100},
    "concrete autoencoder of y": {**NETWORK, "epochs": 100, "learning_rate": 0.02},
    "random forest": {"trees": 20},
}
LINEAR = {"hidden": (), "batch_size": None, "epochs": 100}


def run(name, X, y, k, **options):
    if name == "mRMR":
        pytest.importorskip("feature_engine")
    return METHODS[name](X, y, k, **QUICK.get(name, {}) | options)


def designs(count, n=40, d=8):
    """Yield random designs whose columns differ in length, with a y that depends on all columns."""
    for seed in range(count):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((n, d)) * rng.uniform(0.5, 2, d) + rng.standard_normal(d)
        yield X, X @ rng.standard_normal(d) + rng.standard_normal(n) + 3.0


@pytest.mark.parametrize("name", sorted(METHODS.keys() - {"random", "concrete autoencoder"}))
def test_a_linear_signal_is_found(name):
    X = np.random.default_rng(0).standard_normal((300, 8))
    signal = 2 * X[:, 1] - 1.6 * X[:, 4]
    assert set(run(name, X, np.where(signal > 0, "yes", "no"), 2).support) == {1, 4}
    found = run(name, X, 5e3 * signal + 7e4, 2)
    assert set(found.picks) == {1, 4} or (found.duplicates and set(found.picks) <= {1, 4})
    assert found.duplicates == () or "concrete" in name


@pytest.mark.parametrize("name", ["largest correlation", "OMP"])
def test_correlations_and_gradients_at_zero_do_not_see_xor(name):
    """In an orthogonal design every single feature is independent of y, so OMP selects nothing."""
    signs = np.array([*itertools.product([-1.0, 1], repeat=3)] * 4)
    assert run(name, signs, signs[:, 0] * signs[:, 2] > 0, 2).scores.max() < 1e-7


def test_omp_of_a_linear_model_is_omp():
    for i, (X, y) in enumerate(designs(100)):
        ours = baselines.omp(X, y, 3, standardize=i % 2 == 1, **LINEAR)
        path = sl.omp(X, y, 3, intercept=True, standardize=i % 2 == 1)
        assert ours.support.tolist() == path.support.tolist()
        if not i % 2:  # L is a mean, of y/σ_y
            assert np.allclose(ours.lam, path.lam_star / (len(y) * y.std()), rtol=1e-6)


def test_sequential_lasso_of_a_linear_model_is_sequential_lasso():
    for X, y in designs(100):
        ours = baselines.sequential_lasso(X, y, 2, standardize=False, **{**LINEAR, "epochs": 8})
        path = sl.sequential_lasso(X, y, 2, intercept=True)
        assert ours.support.tolist() == path.support.tolist()
        assert np.allclose(ours.lam, (1 - 1e-3) * path.lam_star / (len(y) * y.std()), rtol=1e-5)


def proximal(X, y, loss, lam, hidden, epochs, rate, decay=0.0):
    """Return a trained network, its rows, and the gradients of its first layer."""
    rows = Rows(torch.from_numpy(X), torch.from_numpy(y))
    with seeded(0) as generator:
        net = mlp(X.shape[1], hidden, 1 if loss == "squared" else int(y.max()) + 1, dtype=rows.X.dtype)
        for r in (rate, rate / 20):
            Proximal(
                network=net,
                rows=rows,
                loss=LOSSES[loss],
                plan=Plan(epochs, None, r),
                generator=generator,
                weight_decay=decay,
            ).run(lam)
    return net, rows, row_gradients(net, rows, LOSSES[loss])


def test_gradients_are_over_all_rows():
    X = torch.randn(9000, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    rows = Rows(X, X[:, :1] ** 2, torch.linspace(0, 2, 9000, dtype=torch.float64))
    net = mlp(3, (4,), 1, dtype=torch.float64)
    rows.mean(LOSSES["squared"], net(X)).backward()
    assert torch.allclose(row_gradients(net, rows, LOSSES["squared"]), net[0].weight.grad, rtol=1e-10)


def test_group_lasso_of_a_linear_model_is_the_lasso():
    rng = np.random.default_rng(2)
    X = rng.standard_normal((60, 10))
    y = X @ (rng.standard_normal(10) * (np.arange(10) < 4)) + rng.standard_normal(60)
    net, *_ = proximal(X, y[:, None], "squared", 0.2, (), 500, 1e-2)
    theirs = Lasso(alpha=0.2, tol=1e-14, max_iter=10**5).fit(X, y).coef_
    ours = net[0].weight.detach().numpy()[0]
    assert np.array_equal(ours == 0, theirs == 0)
    assert np.allclose(ours, theirs, rtol=1e-6, atol=1e-9 * np.abs(theirs).max())


def test_group_lasso_of_a_network_satisfies_kkt():
    """The KKT conditions are ‖∇_j‖ ≤ λ if W_j = 0, and ∇_j = −λW_j/‖W_j‖ otherwise.

    A row that stays zero has ‖m̂_j‖ ≤ λ, where m̂ is the mean of the last gradients. The error in the second
    condition shows how much these gradients still change.
    """
    X = np.random.default_rng(3).standard_normal((300, 10))
    y = np.digitize(X[:, 0] + X[:, 1], [-0.5, 0.5])
    net, rows, G = proximal(X, y, "cross_entropy", 0.1, (6,), 800, 5e-3, decay=0.02)
    W = net[0].weight.detach()
    lengths = W.norm(dim=0)
    zero = lengths == 0
    assert 3 <= int(zero.sum()) < 10
    left = float((G + 0.1 * W / lengths)[:, ~zero].norm(dim=0).max() / 0.1)
    assert left < 0.05
    assert G[:, zero].norm(dim=0).max() <= 0.1 * (1 + left)
    V = net[2].weight
    (of_V,) = torch.autograd.grad(rows.mean(LOSSES["cross_entropy"], net(rows.X)), V)
    assert (of_V + 0.02 * V).norm() < 0.05 * 0.02 * V.norm()


def test_several_selectors_of_one_feature_are_reported():
    X = np.random.default_rng(4).standard_normal((200, 6))
    options = {"hidden": (8,), "epochs": 80, "batch_size": 50, "learning_rate": 0.05}
    found = baselines.concrete_autoencoder(X, X[:, 3] > 0, 4, target="y", **options)
    assert found.duplicates[0][0] == found.support[0] == 3
    assert found.status is Status.FILLED
    assert len(found.picks) == len(set(found.support)) == 4
    assert found.to_frame("pandas")["picked"].sum() == 4


def test_selectors_cool_down(monkeypatch):
    seen, forward = [], ConcreteSelectors.forward
    monkeypatch.setattr(
        ConcreteSelectors, "forward", lambda self, X: seen.append(self.temperature) or forward(self, X)
    )
    X = np.random.default_rng(4).standard_normal((50, 3))
    baselines.concrete_autoencoder(X, X[:, 0], 2, epochs=30, batch_size=20, temperatures=(8.0, 0.5))
    np.testing.assert_allclose(seen, 8 * (0.5 / 8) ** (np.arange(90) / 90))


def test_mrmr_is_feature_engines():
    MRMR = pytest.importorskip("feature_engine.selection").MRMR
    rng = np.random.default_rng(5)
    X = rng.standard_normal((100, 9)) @ rng.standard_normal((9, 9))
    y = np.digitize(X[:, 0] + X[:, 5], [-1, 1])
    for target in (y, X[:, 0] + 2 * X[:, 5]):
        theirs = MRMR(method="FCQ", max_features=5, regression=target is not y)
        theirs.fit(pandas.DataFrame(X), pandas.Series(target))
        ours = baselines.mrmr(X, target, 5)
        assert set(ours.support) == set(range(9)) - set(theirs.features_to_drop_)
        assert np.allclose(ours.scores, theirs.relevance_, rtol=1e-6)
    assert baselines.mrmr(X, y, 1).support[0] == f_classif(X, y)[0].argmax()
    refuses("sample_weight", baselines.mrmr, X, y, 2, sample_weight=np.ones(100))


@pytest.mark.parametrize("name", sorted(METHODS))
def test_constant_columns_come_last_and_all_columns_are_ranked(name):
    X = np.random.default_rng(6).standard_normal((30, 5)).astype(np.float32)
    X[:, 1], X[:, 3] = 0.0, 1e6
    y, kept = np.arange(30) % 3, X.copy()
    found = run(name, X, y, 5)
    assert [*sorted(found.support[:3]), *found.support[3:]] == [0, 2, 4, 1, 3]
    assert found.status is Status.FILLED
    assert np.isnan(found.scores[[1, 3]]).all()
    assert run(name, X, y, 5) == found
    assert np.array_equal(X, kept)
    assert run(name, X, y, 1).support.tolist() in ([0], [2], [4])
    assert run(name, np.ones((30, 2)), y, 2).support.tolist() == [0, 1]
    if name in ("feature mask (LLY)", "OMP", "concrete autoencoder"):
        assert found.scores.dtype == np.float32
        assert run(name, X.astype(float), y, 2).scores.dtype == np.float64


def test_correlation_with_classes_is_the_f_of_an_analysis_of_variance():
    rng = np.random.default_rng(8)
    X, y = rng.standard_normal((50, 6)), rng.integers(0, 4, 50)
    X[:, 0] += 1e8
    R2 = baselines.largest_correlation(X, y, 3).scores[1:] ** 2
    assert np.allclose(R2 / (1 - R2) * (50 - 4) / (4 - 1), f_classif(X, y)[0][1:], rtol=1e-10)
    one = baselines.largest_correlation(X, X[:, 1] ** 3, 2).scores[1:]
    assert np.allclose(one, np.abs(np.corrcoef(X[:, 1:].T, X[:, 1] ** 3)[-1, :-1]), rtol=1e-10)


@pytest.mark.parametrize(("name", "options"), [
    *((name, {}) for name in ("largest correlation", "linear OMP", "linear OLS", "diverse selection")),
    ("OMP", LINEAR), ("feature mask (LLY)", {"batch_size": None, "epochs": 3}),
    ("group LASSO", {"batch_size": None, "hidden": (4,), "grid": (1e-3, 1.5)}),
])  # fmt: skip
def test_weights_are_numbers_of_rows(name, options):
    rng = np.random.default_rng(9)
    X = rng.standard_normal((60, 6))
    y = (X[:, 2] + 0.5 * X[:, 4] + 0.5 * rng.standard_normal(60) > 0).astype(int)
    times = rng.integers(0, 4, 60)
    weighted = METHODS[name](X, y, 3, sample_weight=times, **options)
    several = METHODS[name](np.repeat(X, times, axis=0), np.repeat(y, times), 3, **options)
    assert weighted.support.tolist() == several.support.tolist()
    assert np.allclose(weighted.scores, several.scores, rtol=1e-4)


def test_linear_methods_are_those_of_the_package():
    options = {"regularizer": sl.spectral.SmoothedDifferentialEntropy(1.0), "nu": 0.3}
    for X, y in designs(20):
        Z = (X - X.mean(axis=0)) / X.std(axis=0) / np.sqrt(len(X))
        classes = np.digitize(y, np.quantile(y, [0.3, 0.7]))
        for ours, theirs in (
            (linear_ols(X, y, 5), sl.ols(X, y, 5, intercept=True)),
            (linear_omp(X, y, 5, standardize=True), sl.omp(X, y, 5, intercept=True, standardize=True)),
            (diverse(X, y, 5, nu=0.3), sl.forward_regression(Z, y - y.mean(), 5, **options)),
        ):
            assert ours.support.tolist() == theirs.support.tolist()
        selected = OMPSelector(4, standardize=True).fit(X, np.eye(3)[classes]).selected_
        assert set(linear_omp(X, classes, 4, standardize=True).support) == set(selected)


def test_ols_of_classes_is_the_best_single_feature_at_each_step():
    X, y = next(designs(1))
    classes = np.digitize(y, np.quantile(y, [0.3, 0.7]))
    Y, Z = np.eye(3)[classes], np.column_stack([X, np.ones(len(X))])
    S = []
    for _ in range(4):
        left = {j: np.linalg.lstsq(Z[:, [*S, j, -1]], Y)[1].sum() for j in range(8) if j not in S}
        S.append(min(left, key=left.get))
    assert linear_ols(X, classes, 4).support.tolist() == S


@pytest.mark.parametrize("method", [baselines.omp, baselines.sequential_lasso])
def test_a_fit_without_rest_ends_and_is_filled(method):
    X = np.random.default_rng(11).standard_normal((30, 5))
    found = method(X, 2 * X[:, 3], 3, **LINEAR)
    assert found.picks.tolist() == [3] == found.support[:1].tolist()
    assert (len(found), found.status) == (3, Status.FILLED)
    assert method(X, np.ones(30), 2, **LINEAR).picks.tolist() == []


@pytest.mark.parametrize("name", sorted(METHODS))
def test_bad_data_are_named(name):
    X, y = np.random.default_rng(12).standard_normal((20, 3)), np.arange(20) % 2
    refuses("X must be finite", run, name, np.where(X[4, 1] == X, np.nan, X), y, 1)
    refuses("y must be finite", run, name, X, np.where(y, np.nan, 1.0), 1)
    refuses("k must be in 1..3; got 4", run, name, X, y, 4)
    refuses("y must have an entry, or a row, for each of the 20 rows", run, name, X, y[:5], 1)
    refuses("y must have at least two classes", run, name, X, np.zeros(20, int), 1)
    refuses("task must be", run, name, X, y, 1, task="ranking")
    refuses("toarray", run, name, scipy.sparse.csc_array(X), y, 1, error=TypeError)


def test_options_are_checked():
    X, y = np.random.default_rng(13).standard_normal((20, 3)), np.arange(20) % 2
    for method, options in (
        (baselines.omp, {"epochs": 0, "batch_size": 0, "learning_rate": -1.0, "features_per_step": 0}),
        (baselines.group_lasso, {"grid": (1e-3, 1.0), "weight_decay": -1.0}),
        (baselines.sequential_lasso, {"decrease": 1.0, "lam": -1.0}),
        (baselines.concrete_autoencoder, {"target": "Z", "temperatures": (1.0, 0.0)}),
    ):
        for name, value in options.items():
            refuses(name, method, X, y, 1, **{name: value})
    refuses("grid must be two numbers", baselines.group_lasso, X, y, 1, grid=(0.0, 1.1))
    with pytest.raises(NonFiniteLoss, match="learning_rate"):
        baselines.omp(X.astype(np.float32), 1.0 * y, 2, learning_rate=1e30, batch_size=10)


def test_a_feature_joins_with_the_row_drawn_for_it():
    with seeded(0) as generator:
        plan = Training((5,), Plan(3, None, 1e-3), generator, 0)
        net = GrowingNetwork(prepare(*next(designs(1)), 2, None), plan)
        before = net.drawn.clone()
        net.add([3])
        net.keep()
        assert torch.equal(net.first.weight, before * (torch.arange(8) == 3))
        net.train()
        assert torch.equal(net.drawn, before)


def test_several_features_a_step():
    X, y = next(designs(1))
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    found = baselines.omp(X, y, 5, features_per_step=2, **LINEAR)
    assert found.support[:2].tolist() == baselines.largest_correlation(X, y, 2).support.tolist()
    assert len(set(found.support)) == 5


def test_accuracy_of_the_picks():
    split = methods.image_split("digits", 400, 200)
    assert split.X.max() <= 1
    options = {"epochs": 30, "batch_size": 32}
    random, ols = methods.compare(split, 8, ["random", "linear OLS"], **options)
    assert ols.accuracy > random.accuracy + 0.1
    known = methods.Split(split.X, split.y, split.X, split.y)
    assert methods.accuracy(known, np.arange(64), epochs=60, batch_size=32) > 0.97
    refuses("a method 'random' already", methods.register, "random", baselines.random_features)
