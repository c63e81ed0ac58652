"""Tests of the baselines: they find planted signals and agree with other implementations."""

import numpy as np
import pytest
import scipy.sparse
import scipy.stats
from refusals import refuses
from sklearn.feature_selection import f_classif
from sklearn.linear_model import Lasso

torch = pytest.importorskip("torch")

import sparselin as sl  # noqa: E402
from sparselin.estimators import OMPSelector  # noqa: E402
from sparselin.neural import NonFiniteLoss, baselines, mlp  # noqa: E402
from sparselin.neural.baselines._data import prepare  # noqa: E402
from sparselin.neural.baselines._fit import (  # noqa: E402
    GrowingNetwork,
    Proximal,
    row_gradients,
    shrink_rows,
)
from sparselin.neural.baselines.linear import diverse, linear_ols, linear_omp  # noqa: E402
from sparselin.neural.baselines.methods import (  # noqa: E402
    METHODS,
    Split,
    accuracy,
    compare,
    image_split,
    register,
)
from sparselin.neural.baselines.selecting_layer import ConcreteSelectors  # noqa: E402
from sparselin.neural.training import LOSSES, Plan, Rows, seeded  # noqa: E402
from sparselin.results import Status  # noqa: E402

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
    "concrete autoencoder of y": {"hidden": (16,), "epochs": 100, "batch_size": 100, "learning_rate": 0.02},
    "random forest": {"trees": 20},
}
LINEAR = {"hidden": (), "batch_size": None, "epochs": 100}


def run(name, X, y, k, **options):
    if name == "mRMR":
        pytest.importorskip("feature_engine")
    return METHODS[name](X, y, k, **{**QUICK.get(name, {}), **options})


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


READING_ALL = sorted({name for name in QUICK if QUICK[name].get("hidden") == (16,)})


@pytest.mark.parametrize("name", READING_ALL)
def test_networks_that_see_all_features_see_xor(name):
    X = np.random.default_rng(1).standard_normal((400, 6))
    y = X[:, 2] * X[:, 5] > 0
    assert set(run(name, X, y, 2).support) == {2, 5}


def test_correlations_and_gradients_at_zero_do_not_see_xor():
    """In an orthogonal design every single feature is independent of y, so OMP selects nothing."""
    signs = np.array([[a, b, c] for a in (-1.0, 1) for b in (-1.0, 1) for c in (-1.0, 1)] * 4)
    y = signs[:, 0] * signs[:, 2] > 0
    assert baselines.largest_correlation(signs, y, 2).scores.max() < 1e-7
    found = baselines.omp(signs, y, 2, hidden=(8,), batch_size=None, epochs=50)
    assert found.scores.max() < 1e-12
    assert found.picks.tolist() == []


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


def test_a_row_is_zero_exactly_or_shrunk():
    V = torch.randn(5, 40, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    level = torch.linspace(0, 5, 40, dtype=torch.float64)
    Z = shrink_rows(V, level)
    lengths = V.norm(dim=0)
    assert torch.equal(Z.norm(dim=0) == 0, lengths <= level)
    assert torch.allclose(Z.norm(dim=0), (lengths - level).clamp(min=0), rtol=1e-12)
    edge = torch.tensor([[3.0, 0.0], [4.0, 0.0]])
    assert not shrink_rows(edge, torch.tensor([5.0, 0.0])).any()


def proximal(X, y, loss, lam, hidden, epochs, rate, decay=0.0):
    rows = Rows(torch.from_numpy(X), torch.from_numpy(y))
    with seeded(0) as generator:
        net = mlp(X.shape[1], hidden, 1 if loss == "squared" else int(y.max()) + 1, dtype=rows.X.dtype)
        for r in (rate, rate / 20):
            steps = Proximal(net, rows, LOSSES[loss], Plan(epochs, None, r), generator, decay)
            steps.run(lam)
    return net, rows


def test_gradients_are_over_all_rows():
    X = torch.randn(9000, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    rows = Rows(X, X[:, :1] ** 2, torch.linspace(0, 2, 9000, dtype=torch.float64))
    with seeded(0):
        net = mlp(3, (4,), 1, dtype=torch.float64)
    rows.mean(LOSSES["squared"], net(X)).backward()
    ours = row_gradients(net, rows, LOSSES["squared"])
    assert torch.allclose(ours, net[0].weight.grad, rtol=1e-10)


def test_group_lasso_of_a_linear_model_is_the_lasso():
    rng = np.random.default_rng(2)
    X = rng.standard_normal((60, 10))
    y = X @ (rng.standard_normal(10) * (np.arange(10) < 4)) + rng.standard_normal(60)
    net, _ = proximal(X, y[:, None], "squared", 0.2, (), 500, 1e-2)
    theirs = Lasso(alpha=0.2, tol=1e-14, max_iter=10**5).fit(X, y).coef_
    ours = net[0].weight.detach().numpy()[0]
    assert 0 < np.count_nonzero(ours) < 10
    assert np.array_equal(ours == 0, theirs == 0)
    assert np.allclose(ours, theirs, rtol=1e-6, atol=1e-9 * np.abs(theirs).max())


def test_group_lasso_of_a_network_satisfies_kkt():
    """The KKT conditions are ‖∇_j‖ ≤ λ if W_j = 0, and ∇_j = −λW_j/‖W_j‖ otherwise.

    A row that stays zero has ‖m̂_j‖ ≤ λ, where m̂ is the mean of the last gradients. The error in the second
    condition shows how much these gradients still change.
    """
    rng = np.random.default_rng(3)
    X = rng.standard_normal((300, 10))
    y = np.digitize(X[:, 0] + X[:, 1], [-0.5, 0.5])
    lam = 0.1
    net, rows = proximal(X, y, "cross_entropy", lam, (6,), 800, 5e-3, decay=0.02)
    W, G = net[0].weight.detach(), row_gradients(net, rows, LOSSES["cross_entropy"])
    lengths = W.norm(dim=0)
    zero = lengths == 0
    assert 3 <= int(zero.sum()) < 10
    left = (G + lam * W / lengths)[:, ~zero].norm(dim=0).max() / lam
    assert left < 0.05
    assert G[:, zero].norm(dim=0).max() <= lam * (1 + float(left))
    V = net[2].weight
    (of_V,) = torch.autograd.grad(rows.mean(LOSSES["cross_entropy"], net(rows.X)), V)
    assert (of_V + 0.02 * V).norm() < 0.05 * 0.02 * V.norm()


def test_several_selectors_of_one_feature_are_reported():
    X = np.random.default_rng(4).standard_normal((200, 6))
    found = baselines.concrete_autoencoder(
        X, X[:, 3] > 0, 4, target="y", hidden=(8,), epochs=80, batch_size=50, learning_rate=0.05
    )
    assert found.duplicates[0][0] == 3
    assert found.status is Status.FILLED
    assert len(found.picks) == len(set(found.support)) == 4
    assert found.support[0] == 3
    assert found.to_frame("pandas")["picked"].sum() == 4


def test_selectors_cool_down(monkeypatch):
    seen, forward = [], ConcreteSelectors.forward

    def record(self, X):
        seen.append(self.temperature)
        return forward(self, X)

    monkeypatch.setattr(ConcreteSelectors, "forward", record)
    X = np.random.default_rng(4).standard_normal((50, 3))
    baselines.concrete_autoencoder(X, X[:, 0], 2, epochs=30, batch_size=20, temperatures=(8.0, 0.5))
    assert len(seen) == 90
    assert seen[0] == 8.0
    assert np.allclose(np.diff(np.log(seen)), np.log(0.5 / 8) / 90)


def test_mrmr_is_feature_engines():
    MRMR = pytest.importorskip("feature_engine.selection").MRMR
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(5)
    X = rng.standard_normal((100, 9)) @ rng.standard_normal((9, 9))
    y = np.digitize(X[:, 0] + X[:, 5], [-1, 1])
    for k, target, regression in ((2, y, False), (5, y, False), (4, X[:, 0] + 2 * X[:, 5], True)):
        frame = pandas.DataFrame(X)
        theirs = MRMR(method="FCQ", max_features=k, regression=regression).fit(frame, pandas.Series(target))
        ours = baselines.mrmr(X, target, k)
        assert set(ours.support) == set(range(9)) - set(theirs.features_to_drop_)
        assert np.allclose(ours.scores, theirs.relevance_, rtol=1e-6)
    assert baselines.mrmr(X, y, 1).support[0] == f_classif(X, y)[0].argmax()
    assert len(baselines.mrmr(X, y, 9)) == 9
    refuses("sample_weight", baselines.mrmr, X, y, 2, sample_weight=np.ones(100))


@pytest.mark.parametrize("name", sorted(METHODS))
def test_constant_columns_come_last_and_all_columns_are_ranked(name):
    X = np.random.default_rng(6).standard_normal((30, 5)).astype(np.float32)
    X[:, 1], X[:, 3] = 0.0, 1e6
    y = np.arange(30) % 3
    kept = X.copy()
    found = run(name, X, y, 5)
    assert set(found.support[:3]) == {0, 2, 4}
    assert found.support[3:].tolist() == [1, 3]
    assert found.status is Status.FILLED
    assert np.isnan(found.scores[[1, 3]]).all()
    assert np.array_equal(X, kept)
    assert run(name, X, y, 5) == found
    one = run(name, X, y, 1)
    assert len(one) == 1
    assert one.support[0] in (0, 2, 4)
    none = run(name, np.ones((30, 2)), y, 2)
    assert none.support.tolist() == [0, 1]


def test_networks_keep_float32():
    X = np.random.default_rng(7).standard_normal((40, 4))
    y = X[:, 0] > 0
    for name in ("feature mask (LLY)", "OMP", "concrete autoencoder"):
        assert run(name, X.astype(np.float32), y, 2).scores.dtype == np.float32
        assert run(name, X, y, 2).scores.dtype == np.float64


def test_correlation_with_classes_is_the_f_of_an_analysis_of_variance():
    rng = np.random.default_rng(8)
    X, y = rng.standard_normal((50, 6)), rng.integers(0, 4, 50)
    X[:, 0] += 1e8
    R2 = baselines.largest_correlation(X, y, 3).scores ** 2
    F = R2 / (1 - R2) * (50 - 4) / (4 - 1)
    assert np.allclose(F[1:], f_classif(X, y)[0][1:], rtol=1e-10)
    one = baselines.largest_correlation(X, X[:, 1] ** 3, 2).scores
    assert np.allclose(one[1:], [abs(scipy.stats.pearsonr(x, X[:, 1] ** 3)[0]) for x in X.T[1:]], rtol=1e-10)


def test_weights_are_numbers_of_rows():
    rng = np.random.default_rng(9)
    X = rng.standard_normal((60, 6))
    y = (X[:, 2] + 0.5 * X[:, 4] + 0.5 * rng.standard_normal(60) > 0).astype(int)
    times = rng.integers(0, 4, 60)
    repeated = np.repeat(np.arange(60), times)
    for method in (
        baselines.largest_correlation,
        linear_omp,
        linear_ols,
        diverse,
        lambda *a, **b: baselines.omp(*a, **LINEAR, **b),
        lambda *a, **b: baselines.feature_mask(*a, batch_size=None, epochs=3, **b),
        lambda *a, **b: baselines.group_lasso(*a, batch_size=None, hidden=(4,), grid=(1e-3, 1.5), **b),
    ):
        weighted = method(X, y, 3, sample_weight=times)
        several = method(X[repeated], y[repeated], 3)
        assert weighted.support.tolist() == several.support.tolist()
        assert np.allclose(weighted.scores, several.scores, rtol=1e-4)


def test_linear_methods_are_those_of_the_package():
    f = sl.spectral.SmoothedDifferentialEntropy(1.0)
    for X, y in designs(20):
        Z = (X - X.mean(axis=0)) / X.std(axis=0) / np.sqrt(len(X))
        assert linear_ols(X, y, 5).support.tolist() == sl.ols(X, y, 5, intercept=True).support.tolist()
        omp = sl.omp(X, y, 5, intercept=True, standardize=True)
        assert linear_omp(X, y, 5, standardize=True).support.tolist() == omp.support.tolist()
        theirs = sl.forward_regression(Z, y - y.mean(), 5, regularizer=f, nu=0.3)
        assert diverse(X, y, 5, nu=0.3).support.tolist() == theirs.support.tolist()
        classes = np.digitize(y, np.quantile(y, [0.3, 0.7]))
        selected = OMPSelector(4, standardize=True).fit(X, np.eye(3)[classes]).selected_
        assert set(linear_omp(X, classes, 4, standardize=True).support) == set(selected)


def test_ols_of_classes_is_the_best_single_feature_at_each_step():
    X, y = next(designs(1))
    classes = np.digitize(y, np.quantile(y, [0.3, 0.7]))
    Y = np.eye(3)[classes]
    Y -= Y.mean(axis=0)
    Z = X - X.mean(axis=0)
    S = []
    for _ in range(4):
        left = {j: np.linalg.lstsq(Z[:, [*S, j]], Y)[1].sum() for j in range(Z.shape[1]) if j not in S}
        S.append(min(left, key=left.get))
    assert linear_ols(X, classes, 4).support.tolist() == S


def test_a_class_may_be_missing_from_a_batch():
    X = np.random.default_rng(10).standard_normal((41, 4))
    y = np.array(["a", "b", "c"])[np.digitize(X[:, 1], [-1.5, 0])]
    for name in ("feature mask (LLY)", "Sequential LASSO, λ fixed", "OMP"):
        assert 1 in run(name, X, y, 2, batch_size=2, epochs=3).support


def test_a_fit_without_rest_ends_and_is_filled():
    X = np.random.default_rng(11).standard_normal((30, 5))
    for method in (baselines.omp, baselines.sequential_lasso):
        found = method(X, 2 * X[:, 3], 3, **LINEAR)
        assert found.picks.tolist() == [3]
        assert found.support[0] == 3
        assert len(found) == 3
        assert found.status is Status.FILLED
        assert method(X, np.ones(30), 2, **LINEAR).picks.tolist() == []


@pytest.mark.parametrize("name", sorted(METHODS))
def test_bad_data_are_named(name):
    X, y = np.random.default_rng(12).standard_normal((20, 3)), np.arange(20) % 2
    hole = X.copy()
    hole[4, 1] = np.nan
    for bad, message in (
        ((hole, y, 1), "X must be finite"),
        ((X, np.where(y, np.nan, 1.0), 1), "y must be finite"),
        ((X, y, 4), "k must be in 1..3; got 4"),
        ((X, y[:5], 1), "y must have an entry, or a row, for each of the 20 rows"),
        ((X, np.zeros(20, int), 1), "y must have at least two classes"),
    ):
        refuses(message, run, name, *bad)
    refuses("task must be", run, name, X, y, 1, task="ranking")
    refuses("toarray", run, name, scipy.sparse.csc_array(X), y, 1, error=TypeError)


def test_options_are_checked():
    X, y = np.random.default_rng(13).standard_normal((20, 3)), np.arange(20) % 2
    for method, options, message in (
        (baselines.omp, {"epochs": 0}, "epochs"),
        (baselines.omp, {"batch_size": 0}, "batch_size"),
        (baselines.omp, {"learning_rate": -1.0}, "learning_rate"),
        (baselines.omp, {"features_per_step": 0}, "features_per_step"),
        (baselines.group_lasso, {"grid": (1e-3, 1.0)}, "grid must be two numbers"),
        (baselines.group_lasso, {"weight_decay": -1.0}, "weight_decay"),
        (baselines.group_lasso, {"grid": (0.0, 1.1)}, "grid must be two numbers"),
        (baselines.sequential_lasso, {"decrease": 1.0}, "decrease"),
        (baselines.sequential_lasso, {"lam": -1.0}, "lam"),
        (baselines.concrete_autoencoder, {"target": "Z"}, "target"),
        (baselines.concrete_autoencoder, {"temperatures": (1.0, 0.0)}, "temperatures"),
    ):
        refuses(message, method, X, y, 1, **options)
    with pytest.raises(NonFiniteLoss, match="learning_rate"):
        baselines.omp(X.astype(np.float32), 1.0 * y, 2, learning_rate=1e30, batch_size=10)


def test_a_feature_joins_with_the_row_drawn_for_it():
    X, y = next(designs(1))
    with seeded(0) as generator:
        net = GrowingNetwork(prepare(X, y, 2, None), (5,), generator)
        assert not net.first.weight.any()
        net.add(3)
        net.keep()
        assert net.first.weight[:, 3].all()
        assert int((net.first.weight != 0).sum()) == 5
        before = net.drawn.clone()
        net.train(Plan(3, None, 1e-3))
        assert torch.equal(net.drawn, before)
        assert not torch.equal(net.first.weight[:, 3], before[:, 3])


def test_several_features_a_step():
    X, y = next(designs(1))
    found = baselines.omp(X, y, 5, features_per_step=2, **LINEAR)
    assert found.support[:2].tolist() == np.argsort(-np.abs(_correlations(X, y)))[:2].tolist()
    assert len(set(found.support)) == 5


def _correlations(X, y):
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    return Z.T @ (y - y.mean())


def test_accuracy_of_the_picks():
    split = image_split("digits", 400, 200)
    assert split.X.dtype == np.float32
    assert split.X.max() <= 1
    both = {o.method: o for o in compare(split, 8, ["random", "linear OLS"], epochs=30, batch_size=32)}
    assert both["linear OLS"].accuracy > both["random"].accuracy + 0.1
    known = Split(split.X, split.y, split.X, split.y)
    assert accuracy(known, np.arange(64), epochs=60, batch_size=32) > 0.97
    refuses("a method 'random' already", register, "random", baselines.random_features)
