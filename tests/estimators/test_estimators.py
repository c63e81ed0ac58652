"""`sparselin.estimators` in place of scikit-learn's: same semantics, same answers where those are right."""

import warnings

import numpy as np
import pytest
import scipy.sparse
from estimator_cases import data, each_estimator, near_models, ours, theirs
from oracles import lasso_kkt, near, textbook_omp
from peak_memory import peak_memory
from refusals import refuses, warns
from sklearn import linear_model
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import KFold, LeaveOneGroupOut
from ties import KINDS, tied

import sparselin as sl
from sparselin.estimators import (
    LassoLars,
    LassoLarsCV,
    LassoLarsIC,
    OrthogonalMatchingPursuit,
    OrthogonalMatchingPursuitCV,
)

either_intercept = pytest.mark.parametrize("fit_intercept", [True, False])


@pytest.fixture
def drawn(rng):
    return data(rng)


@pytest.fixture
def X(drawn):
    return drawn[0]


@pytest.fixture
def y(drawn):
    return drawn[1]


def both(name, X, y, **options):
    """Our estimator and scikit-learn's, fitted."""
    return [estimator(name, **options).fit(X, y) for estimator in (ours, theirs)]


def learnt(model):
    return {key: value for key, value in vars(model).items() if key.endswith("_")}


# Answers


@either_intercept
@each_estimator
def test_agrees_with_theirs_on_gaussian_designs(X, y, name, fit_intercept):
    mine, other = map(learnt, both(name, X, y, fit_intercept=fit_intercept))
    assert set(other) <= set(mine) <= set(other) | {"mse_path_"}
    for key, value in other.items():
        near(mine[key], value, 1e-8)
        assert type(mine[key]) is type(value) or np.isscalar(value), key


@pytest.mark.parametrize("name", ["LassoLars", "LassoLarsCV", "LassoLarsIC"])
def test_agrees_with_theirs_where_nonnegative(rng, name):
    a, b = both(name, *data(rng, offset=0.0), positive=True)
    near(a.coef_, b.coef_, 1e-8)
    assert a.coef_.min() >= 0


@either_intercept
@pytest.mark.parametrize("name", ["OrthogonalMatchingPursuit", "LassoLars"])
def test_agrees_with_theirs_on_targets(rng, X, y, name, fit_intercept):
    Y = np.column_stack(
        [y, X[:, 5] - y, rng.standard_normal(len(y)), 3 * X[:, 2], X @ rng.standard_normal(20)]
    )
    a, b = both(name, X, Y, fit_intercept=fit_intercept)
    near_models(a, b, 1e-8)
    near(a.predict(X), b.predict(X), 1e-8)
    assert list(a.n_iter_) == list(b.n_iter_)
    single, other = both(name, X, Y[:, :1], fit_intercept=fit_intercept)
    near(single.intercept_, other.intercept_, 1e-8)
    near(single.coef_, a.coef_[0], 1e-8)


@pytest.mark.filterwarnings("ignore:the path ended:RuntimeWarning")
def test_many_targets_are_as_one_by_one(rng, X, y):
    """`batch_omp` fits them, with and without weights; a feature of one column keeps its dimension."""
    Y = y[:, None] + rng.standard_normal((60, 12)) * np.arange(12)
    weight = rng.uniform(0, 2, 60)
    for model in (ours("OrthogonalMatchingPursuit"), OrthogonalMatchingPursuit(tol=60.0)):
        for w in (None, weight):
            whole = clone(model).fit(X, Y, w)
            singles = [clone(model).fit(X, target, w) for target in Y.T]
            for i, single in enumerate(singles):
                near(whole.coef_[i], single.coef_)
                near(whole.intercept_[i], single.intercept_)
                assert whole.n_iter_[i] == single.n_iter_
    assert OrthogonalMatchingPursuit().fit(X[:, :1], Y).coef_.shape == (12, 1)


def test_omp_is_the_function(X, y):
    model, path = OrthogonalMatchingPursuit(n_nonzero_coefs=5).fit(X, y), sl.omp(X, y, 5, intercept=True)
    assert np.array_equal(model.coef_, path.dense_coef())
    assert model.intercept_ == path.intercept
    assert set(np.flatnonzero(model.coef_)) == set(textbook_omp(X - X.mean(axis=0), y - y.mean(), 5))


def test_tol_is_the_square_of_a_norm(X, y):
    norms = sl.omp(X, y, 8, intercept=True).residual_norm
    for t in range(8):
        model = OrthogonalMatchingPursuit(tol=(0.5 * (norms[t] + norms[t + 1])) ** 2).fit(X, y)
        assert model.n_iter_ == t + 1
        assert model.n_nonzero_coefs_ is None
    assert OrthogonalMatchingPursuit(tol=1.001 * norms[0] ** 2).fit(X, y).n_iter_ == 0


def test_the_default_is_a_tenth_of_the_features(rng):
    X, y = data(rng, d=35)
    assert OrthogonalMatchingPursuit().fit(X, y).n_nonzero_coefs_ == 3
    assert OrthogonalMatchingPursuit().fit(X[:, :3], y).n_nonzero_coefs_ == 1


@pytest.mark.parametrize("scale", [2.0**-40, 2.0**40])
@each_estimator
def test_the_scale_of_y_does_not_matter(X, y, name, scale):
    how = {"alpha": 0.05 * scale} if name == "LassoLars" else {}
    a, b = ours(name).fit(X, y), ours(name, **how).fit(X, y * scale)
    assert np.array_equal(b.coef_, a.coef_ * scale)


@pytest.mark.parametrize("positive", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_lasso_is_optimal_under_ties(rng, kind, positive):
    """The KKT conditions hold at each knot and at α; scikit-learn fails them on these designs."""
    for fit_intercept in (False, True):
        for _ in range(10):
            X, y = tied(kind, int(rng.integers(6, 12)), rng)
            Z, z = (X - X.mean(axis=0), y - y.mean()) if fit_intercept else (X, y)
            if np.abs(Z.T @ z).max() <= 1e-9:
                continue
            alpha = 0.1 * np.abs(Z.T @ z).max() / len(y)
            model = LassoLars(alpha=alpha, positive=positive, fit_intercept=fit_intercept).fit(X, y)
            for lam, coef in zip(len(y) * model.alphas_, model.coef_path_.T, strict=True):
                if positive:
                    c = Z.T @ (z - Z @ coef)
                    assert coef.min() >= 0
                    assert c.max() <= lam + 1e-9 * np.abs(Z.T @ z).max()
                    near(coef @ c, lam * coef.sum(), 1e-8)
                else:
                    assert lasso_kkt(Z, z, coef, lam) <= 1e-9
            assert model.alphas_[-1] == min(alpha, model.alphas_[0])
            near(model.intercept_, y.mean() - X.mean(axis=0) @ model.coef_ if fit_intercept else 0.0)


def test_the_path_of_lasso(rng):
    X, y = data(rng, n=70, d=40)
    model, path = LassoLars(alpha=0.02).fit(X, y), sl.lasso_path(X, y, intercept=True)
    near(model.coef_, path.at(0.02 * len(y)), 1e-12)
    near(model.coef_path_[:, :-1], path.coef[: model.n_iter_].T)
    near(model.alphas_[:-1], path.knots[: model.n_iter_] / len(y))
    assert set(model.active_) == set(np.flatnonzero(model.coef_))
    for i, alpha in enumerate(model.alphas_):  # ends at a knot: no other is next to it
        again = LassoLars(alpha=alpha).fit(X, y)
        assert (again.n_iter_, again.alphas_[-1]) == (i, alpha)
    less = clone(model).set_params(fit_path=False).fit(X, y)
    assert less.alphas_ == 0.02
    assert np.array_equal(less.coef_, model.coef_)
    assert not hasattr(model.set_params(fit_path=False).fit(X, y), "coef_path_")
    high = LassoLars(alpha=1e6).fit(X, y)
    assert (high.alphas_.tolist(), high.coef_.any(), high.n_iter_) == ([1e6], False, 0)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("most", [0, 1, 3])
def test_max_iter(X, y, most):
    for name in ("LassoLars", "LassoLarsIC"):
        a, b = both(name, X, y, max_iter=most)
        near(a.alphas_, b.alphas_, 1e-9)
        near(a.coef_, b.coef_, 1e-9)
        assert a.n_iter_ == most
    words = r"above 0\.05: max_iter was reached"
    warns(words, ours("LassoLars", max_iter=most).fit, X, y, category=ConvergenceWarning)


def test_cross_validation_of_omp(X, y):
    """Each fold and each k by a least squares of its own."""
    mse = np.empty((8, 4))
    for i, (train, test) in enumerate(KFold(4).split(X)):
        mean, level = X[train].mean(axis=0), y[train].mean()
        for k in range(1, 9):
            S = textbook_omp(X[train] - mean, y[train] - level, k)
            coef = np.linalg.lstsq((X[train] - mean)[:, S], y[train] - level, rcond=None)[0]
            mse[k - 1, i] = np.mean((y[test] - level - (X[test] - mean)[:, S] @ coef) ** 2)
    for n_jobs in (None, 2):
        model = OrthogonalMatchingPursuitCV(max_iter=8, cv=4, n_jobs=n_jobs).fit(X, y)
        near(model.mse_path_, mse, 1e-10)
        assert model.n_nonzero_coefs_ == np.argmin(mse.mean(axis=1)) + 1
    refit = OrthogonalMatchingPursuit(n_nonzero_coefs=model.n_nonzero_coefs_).fit(X, y)
    near(model.coef_, refit.coef_, 1e-12)


def test_cross_validation_of_lasso(X, y):
    """The errors at some α by coordinate descent."""
    model = LassoLarsCV(cv=4).fit(X, y)
    for q in (len(model.cv_alphas_) // 3, -3):
        for i, (train, test) in enumerate(KFold(4).split(X)):
            lasso = linear_model.Lasso(alpha=model.cv_alphas_[q], tol=1e-12).fit(X[train], y[train])
            near(model.mse_path_[q, i], np.mean((y[test] - lasso.predict(X[test])) ** 2), 1e-6)
    near(model.coef_, LassoLars(alpha=model.alpha_).fit(X, y).coef_)
    assert len(LassoLarsCV(max_n_alphas=5).fit(X, y).cv_alphas_) <= 10


def test_folds_that_end_early(rng):
    X, y = rng.standard_normal((12, 30)), rng.standard_normal(12)
    model = OrthogonalMatchingPursuitCV(max_iter=20, cv=2)
    words = "max_iter=20, but the path of fold 0 has only [5-7] features"
    warns(words, model.fit, X, y, category=RuntimeWarning)
    assert len(model.mse_path_) <= 6
    y[6:] = 1.0  # the training part of the first fold has no variance: its path is the constant
    model = OrthogonalMatchingPursuitCV(max_iter=3, cv=2).fit(X, y)
    near(model.mse_path_[:, 0], np.full(3, np.mean((y[:6] - 1) ** 2)))
    assert np.isfinite(LassoLarsCV(cv=2).fit(X, y).mse_path_).all()
    constant = OrthogonalMatchingPursuitCV(cv=2).fit(X, np.ones(12))
    assert (constant.n_iter_, constant.coef_.any()) == (0, False)
    near(constant.intercept_, 1.0)


def test_information_criterion(X, y):
    model = LassoLarsIC("bic").fit(X, y)
    rss = np.linalg.norm(y - linear_model.LinearRegression().fit(X, y).predict(X)) ** 2
    near(model.noise_variance_, rss / (60 - 20 - 1), 1e-9)
    assert np.isfinite(LassoLarsIC().fit(X, np.ones(60)).coef_).all()
    refuses(r"n_samples = 15, n_features = 20.*Pass\s+noise_variance", LassoLarsIC().fit, X[:15], y[:15])
    assert LassoLarsIC(noise_variance=1.0).fit(X[:15], y[:15]).n_iter_ > 0


# Kinds of data


@pytest.mark.parametrize(
    "container", [scipy.sparse.csr_array, scipy.sparse.csc_matrix, scipy.sparse.coo_array]
)
@pytest.mark.parametrize("weighted", [False, True])
@each_estimator
def test_sparse_is_as_dense(rng, name, weighted, container):
    X = rng.standard_normal((60, 20)) * (rng.random((60, 20)) < 0.3)
    y = X[:, :4] @ [3.0, -2.0, 1.5, 1.0] + 0.1 * rng.standard_normal(60) + 5
    weight = rng.uniform(0.1, 2, 60) if weighted else None
    a, b = (ours(name).fit(x, y, sample_weight=weight) for x in (container(X), X))
    near_models(a, b)
    near(a.predict(container(X)), b.predict(X), 1e-9)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@each_estimator
def test_sparse_is_not_made_dense(rng, name):
    n, d = 2000, 3000
    X = scipy.sparse.random_array((n, d), density=0.003, rng=rng, format="csr")
    Y = X[:, :3] @ np.array([[3.0, 1.0], [2.0, -2.0], [1.0, 0.0]]) + 0.01 * rng.standard_normal((n, 2)) + 5
    y = Y if name == "OrthogonalMatchingPursuit" else Y[:, 0]
    more = {"LassoLars": {"alpha": 1e-4}, "LassoLarsIC": {"noise_variance": 1e-3}}.get(name, {})
    model = ours(name, **more, **({} if name.startswith("Orth") else {"max_iter": 6}))
    assert peak_memory(model.fit, X, y) < n * d * 8 / 8
    assert {0, 1} <= set(np.flatnonzero(np.atleast_2d(model.coef_)[0]))


@each_estimator
def test_float32_is_kept(rng, name):
    X, y = data(rng, offset=0.0)
    for x in (X, scipy.sparse.csc_array(X)):
        single, double = ours(name).fit(x.astype(np.float32), y.astype(np.float32)), ours(name).fit(x, y)
        for key in {"coef_", "intercept_", "alphas_", "coef_path_"} & learnt(single).keys():
            assert getattr(single, key).dtype == np.float32
        near(single.coef_, double.coef_, 1e-4)


@each_estimator
def test_weights_count_rows(rng, X, y, name):
    """Weights act as repeated rows, but in criteria; without intercept also as rows multiplied by √w."""
    if name == "LassoLarsIC":
        pytest.skip("a criterion counts each row once")
    count, groups = rng.integers(0, 4, 60), np.arange(60) % 4
    rows = np.repeat(np.arange(60), count)
    folds = [list(LeaveOneGroupOut().split(X[kept], groups=groups[kept])) for kept in (slice(None), rows)]
    how = [{"cv": split} if name.endswith("CV") else {} for split in folds]
    a = ours(name, **how[0]).fit(X, y, sample_weight=count)
    near_models(a, ours(name, **how[1]).fit(X[rows], y[rows]), 1e-8)
    if name in ("OrthogonalMatchingPursuit", "LassoLars"):
        weight = rng.uniform(0.1, 2, 60)
        root = np.sqrt(weight)
        more = {"alpha": 0.05 * weight.sum() / 60} if name == "LassoLars" else {}
        a = ours(name, fit_intercept=False).fit(X, y, sample_weight=weight)
        b = ours(name, fit_intercept=False, **more).fit(X * root[:, None], y * root)
        near(a.coef_, b.coef_, 1e-9)


def test_weights_of_folds(X, y):
    """The first of four given folds has no test row that counts, and a splitter splits the other rows."""
    weight = np.r_[np.zeros(15), np.ones(45)]
    given = OrthogonalMatchingPursuitCV(max_iter=5, cv=list(KFold(4).split(X))).fit(
        X, y, sample_weight=weight
    )
    assert given.mse_path_.shape == (5, 3)
    for cv in (4, KFold(4), KFold(4, shuffle=True, random_state=0)):
        model = OrthogonalMatchingPursuitCV(max_iter=5, cv=cv)
        near(clone(model).fit(X, y, weight).mse_path_, model.fit(X[15:], y[15:]).mse_path_, 1e-9)


@each_estimator
def test_options_without_effect(X, y, name):
    model, gram = ours(name).fit(X, y), X.T @ X
    without_effect = {"precompute": False, "eps": 0.1, "verbose": False, "jitter": 1.0, "random_state": 0}
    for key in without_effect.keys() & model.get_params().keys():
        near(ours(name, **{key: without_effect[key]}).fit(X, y).coef_, model.coef_)
    if name == "LassoLars":
        near(ours(name, precompute=gram).fit(X, y, Xy=X.T @ y).coef_, model.coef_)
    if name == "LassoLarsCV":
        near(warns("precompute is an array", ours(name, precompute=gram).fit, X, y).coef_, model.coef_)


# Bad input


def test_bad_numbers(X, y):
    words = "n_nonzero_coefs must be at most 20, the number of features of X; got 21"
    refuses(words, OrthogonalMatchingPursuit(n_nonzero_coefs=21).fit, X, y)
    refuses("max_iter must be at most 20", OrthogonalMatchingPursuitCV(max_iter=21).fit, X, y)
    refuses("tol", OrthogonalMatchingPursuit(tol=-1.0).fit, X, y)


@each_estimator
def test_bad_input(X, y, name):
    fit = ours(name).fit
    refuses("inconsistent numbers of samples", fit, X, y[:-1])
    refuses(r"[Nn]egative", fit, X, y, sample_weight=-np.ones(60))
    refuses(r"non-zero number|zero for every row", fit, X, y, sample_weight=np.zeros(60))
    refuses("NaN", fit, np.where(X[3, 2] == X, np.nan, X), y)
    refuses("NaN", fit, X, np.where(y == y[3], np.nan, y))


def test_fewer_features_than_asked_for(X, y):
    five, tiny = OrthogonalMatchingPursuit(n_nonzero_coefs=5), OrthogonalMatchingPursuit(tol=1e-6)
    Z, kind = X[:, :3], {"category": RuntimeWarning}
    words = "ended with 3 features of 5 requested: every remaining column lies in"
    warns(words, five.fit, np.tile(Z, 2), y, **kind)
    warns(r"‖r‖² above tol=1e-06", tiny.fit, Z, y, **kind)
    warns("for 2 of 3 targets, the first 1", tiny.fit, Z, np.column_stack([Z[:, 0], y, -y]), **kind)
    with warnings.catch_warnings(action="error"):
        assert five.fit(X, 2 * X[:, 3]).n_iter_ == 1
