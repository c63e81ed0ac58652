"""A test for each thread of lasso-net/lassonet in which users report a problem or request a feature."""

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

from sparselin.neural import network_at, training  # noqa: E402
from sparselin.results import Status  # noqa: E402


def test_66_the_path_stops_at_a_number_of_features():
    """Request: stop at a lower limit of selected features instead of continuing until none is left."""
    X, y = design()
    path = lassonet_path([8], X, y, loss="squared", k=4, **QUICK)
    assert path.n_selected[-1] <= 4 < path.n_selected[-2]
    assert path.status is Status.COMPLETED
    assert len(path.support(4)) == 4


def test_53_thirty_thousand_features_are_finite():
    """Problem: with 30 000 features the loss grew to 5·10⁸ on the path, and an AssertionError ended it."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((10, 30000)).astype("f")
    seen = []

    def three(step):
        seen.append(step)
        return len(seen) == 3

    path = lassonet_path([4], X, X[:, 7], loss="squared", epochs=(5, 5), callback=three)
    assert path.status is Status.STOPPED
    assert path.n_features == 30000
    assert np.isfinite(path.objective).all()
    assert (path.lam[1:] > 0).all()
    assert path.lam[2] == pytest.approx(1.02 * path.lam[1])
    assert path.n_selected[1] > 0.9 * 30000


def test_33_batches():
    """Request: support data loaders, that is, training in batches in random order."""
    X, y = design()
    whole = lassonet_path([8], X, y, loss="squared", k=2, **QUICK)
    path = lassonet_path([8], X, y, loss="squared", k=2, batch_size=17, **QUICK)
    assert path.support(2).tolist() == whole.support(2).tolist() == [1, 3]
    assert path.n_selected[-1] <= 2
    assert (path.excess[1:] <= 1).all()


class Own(nn.Module):
    """A network with a user's layers and activations."""

    def __init__(self, d, q):
        super().__init__()
        self.reads = nn.Linear(d, 10, bias=False)
        self.norm = nn.LayerNorm(10)
        self.last = nn.Linear(10, q)

    def forward(self, X):
        return self.last(torch.tanh(self.norm(self.reads(X))))


def test_26_a_network_of_the_user():
    """Request: a custom model with other activations and layers for a [0, 1] classification."""
    X, y = design()
    with training.seeded(0):
        net = Own(6, 2).double()
    path = lassonet_path(net, X, (y > y.mean()).astype(int), loss="cross_entropy", k=1, **QUICK)
    assert path.support(1).tolist() == [3]


def test_40_another_loss():
    """Request: a quantile loss in place of the squared error; its training did not converge there."""
    X, y = design()

    def quantile(output, target):
        error = target - output[:, 0]
        return torch.maximum(0.8 * error, -0.2 * error)

    path = lassonet_path([8], X, y, loss=quantile, k=2, **QUICK)
    assert path.support(2).tolist() == [1, 3]
    assert path.loss[0] < 0.1


def test_51_a_loss_that_is_no_mean_over_rows_is_refused():
    """Request: Cox's partial likelihood. It couples rows and is not a mean over them, so it is refused."""
    X, y = design()

    def cox(output, target):
        return output.sum() - torch.logcumsumexp(output[:, 0], 0).sum()

    refuses("one number for each row", lassonet_path, [8], X, y, loss=cox)


def test_71_results_are_numpy_arrays():
    """Problem: scoring predictions on the GPU raised a TypeError. Here results contain no tensors."""
    X, y = design()
    path = lassonet_path(
        [8], torch.from_numpy(X), torch.from_numpy(y), loss="squared", keep="states", **QUICK
    )
    fields = [path.lam, path.objective, path.mask, path.theta_norm, path.importances, path.support()]
    assert all(type(array) is np.ndarray for array in [*fields, *path.state_dict(0).values()])


def test_69_classes_beyond_the_outputs_are_named():
    """Problem: a device-side assert at random, if a class of the validation rows is missing in a subsample.

    Here a class that only the validation rows have is valid if the network has an output for it; otherwise
    the error names the class.
    """
    X, y = design()
    label = (y > y.mean()).astype(int)
    refuses("class 2", lassonet_path, skip_network(6, 2), X, label + 1, loss="cross_entropy")
    judge = (X, label + 1)
    refuses("class 2", lassonet_path, skip_network(6, 2), X, label, loss="cross_entropy", validation=judge)
    judge = (X, 2 * label)
    path = lassonet_path(skip_network(6, 3), X, label, loss="cross_entropy", validation=judge, k=5, **QUICK)
    assert np.isfinite(path.validation_loss).all()


def test_54_56_57_scores_are_of_networks_trained_again_on_the_selected_features():
    """Question: does Table 1 average several trials, and why are reproduced scores at 50 features lower?

    The paper trains a network from scratch on the selected features. The network of the path is shrunk by λ
    and has a larger error. Both depend on the seed only.
    """
    X, y = design(120)
    train, test = (X[:80], y[:80]), (torch.from_numpy(X[80:]), torch.from_numpy(y[80:]))
    net = skip_network(6)
    path = lassonet_path(net, *train, loss="squared", k=2, keep="states", **QUICK)
    S = path.support(2)
    shrunk = network_at(net, path, path.row_at(2)).eval()
    options = {"loss": "squared", "learning_rate": 1e-2, "epochs": 300}
    again = [refit([8], *train, S, rng=seed, **options) for seed in (0, 0, 1)]
    again.append(refit(network_at(net, path, path.row_at(2)), *train, S, **options))
    assert all(network.skip.in_features == 2 for network in again)
    with torch.no_grad():
        errors = [float(training.squared_error(f(test[0][:, S]), test[1]).mean()) for f in again]
        biased = float(training.squared_error(shrunk(test[0]), test[1]).mean())
    assert errors[0] == errors[1] != errors[2]
    assert max(errors) < 0.8 * biased


def test_59_63_importances_choose_features():
    """Question: what do the importances mean, and how can features be chosen by them?

    The importance of a feature is the λ at which it leaves for good. So the features with an importance above
    λ are those that occur in the row of λ or later.
    """
    X, y = design()
    path = lassonet_path([8], X, y, loss="squared", **QUICK)
    assert path.n_selected[-1] == 0
    assert np.isfinite(path.importances).all()
    for row in range(len(path)):
        later = path.mask[row:].any(axis=0)
        assert np.array_equal(path.importances > path.lam[row], later)
    assert path.ranking()[0] == 3
    assert set(path.support(2)) == {1, 3}


def test_7_28_29_groups():
    """Request: groups of features that are selected together, θ_j ∈ ℝᵠ for q outputs, and their penalty."""
    X, y = design()
    target = np.column_stack([y, -y, X[:, 0]])
    groups = [[0, 4], [1, 3], [2, 5]]
    net = skip_network(6, 3)
    path = lassonet_path(net, X, target, loss="squared", groups=groups, keep="states", **QUICK)
    theta = np.array([path.state_dict(row)["skip.weight"] for row in range(len(path))])
    penalty = sum(np.sqrt((theta[:, :, group] ** 2).sum(axis=(1, 2))) for group in groups)
    np.testing.assert_allclose(path.objective, path.loss + path.lam * penalty, rtol=1e-12)
    assert path.importances[1] == path.importances[3] == path.importances.max()


def test_35_at_M_zero_it_is_logistic_regression_with_a_lasso_penalty():
    """Problem: with M = 0 it did not agree with glmnet on a classification.

    The optimality conditions of (1/n)Σ log(1 + e^η) − yη + λ‖β‖₁ are: c_j = x_jᵀ(y − p)/n is λ·sign(β_j) if
    β_j ≠ 0, and at most λ in magnitude otherwise; and Σ(y − p) = 0. (lassonet 0.0.21 solves the problem for
    λ/10, because its proximal step leaves out the momentum.)
    """
    X, y = design(80)
    label = (y > np.median(y)).astype(float)
    X = X - X.mean(axis=0)
    path = lassonet_path(
        [2], X, label, loss=logistic, M=0.0,
        lams=[0.02, 0.1], learning_rate=(1e-2, 0.5), momentum=0.5, epochs=(50, 800), patience=(None, 100),
        tol=1.0, keep="states",
    )  # fmt: skip
    for row in (1, 2):
        state = path.state_dict(row)
        beta = state["skip.weight"][0]
        hidden = np.maximum(state["network.0.bias"], 0)
        eta = X @ beta + float(state["network.2.weight"][0] @ hidden + state["network.2.bias"][0])
        residual = label - 1 / (1 + np.exp(-eta))
        c, lam = X.T @ residual / 80, path.lam[row]
        assert abs(residual.mean()) <= 1e-4
        np.testing.assert_allclose(c[beta != 0], lam * np.sign(beta[beta != 0]), rtol=1e-3)
        assert (np.abs(c[beta == 0]) <= lam).all()
        assert 0 < np.count_nonzero(beta) < 6


def logistic(output, target):
    """Return log(1 + e^η) − yη for each row."""
    return nn.functional.softplus(output[:, 0]) - target * output[:, 0]


def test_18_given_lambdas_need_no_start():
    """Problem: with lambda_seq, the attribute of an automatic start was missing."""
    X, y = design()
    lams = [1.0, 3.0, 9.0]
    path = lassonet_path([8], X, y, loss="squared", lams=lams, **QUICK)
    assert path.lam.tolist() == [0.0, *lams]
    assert lassonet_path([8], X, y, loss="squared", lams=[1e6], **QUICK).n_selected[-1] == 0
    start = lassonet_path([8], X, y, loss="squared", lam_start=2.0, k=5, **QUICK)
    np.testing.assert_allclose(start.lam[1:], 2.0 * 1.6 ** np.arange(len(start) - 1))


def test_25_43_47_without_targets():
    """Request: unsupervised selection, and an autoencoder. One copy of each of two factors is enough."""
    rng = np.random.default_rng(0)
    factors = rng.standard_normal((80, 2))
    X = np.repeat(factors, 3, axis=1) * [1, -1, 2, 1, -1, 2] + 0.05 * rng.standard_normal((80, 6))
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
    mean = np.broadcast_to(np.nanmean(hidden, axis=1)[:, None], Z.shape)
    error = np.linalg.norm((found.completed - Z)[missing])
    assert error < 0.3 * np.linalg.norm((mean - Z)[missing])
    assert found.status is Status.COMPLETED
    assert found.change[-1] <= 0.02
    assert found.path.n_selected[0] == 5
    assert found.path.n_selected[-1] <= 2
    hidden[3] = np.nan
    refuses(r"rows \[3\]", matrix_completion, [8], hidden)
