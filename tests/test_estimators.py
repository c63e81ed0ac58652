"""`sparselin.estimators` in place of scikit-learn's: same semantics, same answers where those are right."""

import os
import pickle
import subprocess
import sys
import tracemalloc
import warnings
from importlib.util import find_spec

import numpy as np
import pytest
import scipy.sparse
import sklearn
from oracles import lasso_kkt, textbook_omp
from sklearn import linear_model
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_selection import SelectFromModel
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    KFold,
    LeaveOneGroupOut,
    cross_validate,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from ties import KINDS, tied

import sparselin as sl
from sparselin import estimators
from sparselin.estimators import (
    LassoLars,
    LassoLarsCV,
    LassoLarsIC,
    OrthogonalMatchingPursuit,
    OrthogonalMatchingPursuitCV,
)

ALL = {
    "OrthogonalMatchingPursuit": {"n_nonzero_coefs": 4},
    "OrthogonalMatchingPursuitCV": {"max_iter": 8},
    "LassoLars": {"alpha": 0.05},
    "LassoLarsCV": {},
    "LassoLarsIC": {"criterion": "bic"},
}
each = pytest.mark.parametrize("name", ALL)
callbacks = pytest.mark.skipif(
    find_spec("sklearn.callback") is None, reason="callbacks came with scikit-learn 1.9"
)


def ours(name, **more):
    return getattr(estimators, name)(**ALL[name] | more)


def theirs(name, **more):
    return getattr(linear_model, name)(**ALL[name] | more)


def data(rng, n=60, d=20, offset=3.0):
    X = rng.standard_normal((n, d)) + offset * rng.standard_normal(d)
    return X, X[:, :4] @ [3.0, -2.0, 1.5, 1.0] + rng.standard_normal(n) + offset


def near(a, b, tol=1e-9):
    a, b = np.asarray(a), np.asarray(b)
    assert a.shape == b.shape
    assert np.abs(a - b).max(initial=0) <= tol * np.abs(b).max(initial=np.finfo(float).tiny)


def learnt(model):
    return {key: value for key, value in vars(model).items() if key.endswith("_")}


# scikit-learn's own checks


def test_check_estimator():
    """All of them pass and none is skipped; those of the array API need a variable before SciPy is loaded."""
    code = (
        f"names = {sorted(ALL)}"
        + """
from sklearn.utils.estimator_checks import check_estimator
from sparselin import estimators
for name in names:
    # as for scikit-learn's: there are checks with fewer rows than features
    more = {"noise_variance": 1.0} if name == "LassoLarsIC" else {}
    done = check_estimator(getattr(estimators, name)(**more), on_fail=None, on_skip=None)
    print(name, len(done) >= 50, [(r["check_name"], r["exception"]) for r in done if r["status"] != "passed"])
"""
    )
    run = [sys.executable, "-W", "ignore", "-c", code]
    done = subprocess.run(
        run, capture_output=True, text=True, check=True, env=os.environ | {"SCIPY_ARRAY_API": "1"}
    )
    assert done.stdout.splitlines() == [f"{name} True []" for name in sorted(ALL)]


def test_scikit_learn_is_loaded_at_first_use():
    code = "import sys, sparselin; sparselin.estimators; print('sklearn' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "False\n"


@each
def test_same_parameters_and_defaults(name):
    assert getattr(estimators, name)().get_params() == getattr(linear_model, name)().get_params()


# Answers


@pytest.mark.parametrize("fit_intercept", [True, False])
@each
def test_agrees_with_theirs_on_gaussian_designs(rng, name, fit_intercept):
    X, y = data(rng)
    a = ours(name, fit_intercept=fit_intercept).fit(X, y)
    b = theirs(name, fit_intercept=fit_intercept).fit(X, y)
    mine, other = learnt(a), learnt(b)
    assert set(other) <= set(mine) <= set(other) | {"mse_path_"}
    for key, value in other.items():
        near(mine[key], value, 1e-8)
        assert type(mine[key]) is type(value) or np.isscalar(value), key


@pytest.mark.parametrize("name", ["LassoLars", "LassoLarsCV", "LassoLarsIC"])
def test_agrees_with_theirs_where_nonnegative(rng, name):
    X, y = data(rng, offset=0.0)
    a, b = (make(name, positive=True).fit(X, y) for make in (ours, theirs))
    near(a.coef_, b.coef_, 1e-8)
    assert a.coef_.min() >= 0


@pytest.mark.parametrize("name", ["OrthogonalMatchingPursuit", "LassoLars"])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_agrees_with_theirs_on_targets(rng, name, fit_intercept):
    X, y = data(rng)
    Y = np.column_stack(
        [y, X[:, 5] - y, rng.standard_normal(len(y)), 3 * X[:, 2], X @ rng.standard_normal(20)]
    )
    a, b = (make(name, fit_intercept=fit_intercept).fit(X, Y) for make in (ours, theirs))
    near(a.coef_, b.coef_, 1e-8)
    near(a.intercept_, b.intercept_, 1e-8)
    near(a.predict(X), b.predict(X), 1e-8)
    assert list(a.n_iter_) == list(b.n_iter_)
    single = ours(name, fit_intercept=fit_intercept).fit(X, Y[:, :1])
    near(single.intercept_, theirs(name, fit_intercept=fit_intercept).fit(X, Y[:, :1]).intercept_, 1e-8)
    near(single.coef_, a.coef_[0], 1e-8)


@pytest.mark.filterwarnings("ignore:the path ended:RuntimeWarning")
def test_many_targets_are_as_one_by_one(rng):
    """By `batch_omp`, with and without weights; a feature of one column keeps its dimension."""
    X, y = data(rng)
    Y = y[:, None] + rng.standard_normal((60, 12)) * np.arange(12)
    weight = rng.uniform(0, 2, 60)
    for model in (ours("OrthogonalMatchingPursuit"), OrthogonalMatchingPursuit(tol=60.0)):
        for w in (None, weight):
            whole = clone(model).fit(X, Y, w)
            for i, target in enumerate(Y.T):
                one = clone(model).fit(X, target, w)
                near(whole.coef_[i], one.coef_)
                near(whole.intercept_[i], one.intercept_)
                assert whole.n_iter_[i] == one.n_iter_
    assert OrthogonalMatchingPursuit().fit(X[:, :1], Y).coef_.shape == (12, 1)


def test_omp_is_the_function(rng):
    X, y = data(rng)
    model, path = OrthogonalMatchingPursuit(n_nonzero_coefs=5).fit(X, y), sl.omp(X, y, 5, intercept=True)
    assert np.array_equal(model.coef_, path.dense_coef())
    assert model.intercept_ == path.intercept
    assert np.array_equal(
        np.flatnonzero(model.coef_), np.sort(textbook_omp(X - X.mean(axis=0), y - y.mean(), 5))
    )


def test_tol_is_the_square_of_a_norm(rng):
    X, y = data(rng)
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


def test_omp_does_not_end_at_a_feature_that_is_orthogonal_to_y():
    X, y = np.array([[1.0, 1.0], [0.0, 1.0]]), np.array([1.0, -1.0])
    how = {"n_nonzero_coefs": 2, "fit_intercept": False}
    near(OrthogonalMatchingPursuit(**how).fit(X, y).coef_, [2.0, -1.0])
    with pytest.warns(RuntimeWarning):
        wrong = linear_model.OrthogonalMatchingPursuit(**how, precompute=False).fit(X, y)
    assert np.count_nonzero(wrong.coef_) == 1


@pytest.mark.parametrize("scale", [2.0**-40, 2.0**40])
@each
def test_the_scale_of_y_does_not_matter(rng, name, scale):
    X, y = data(rng)
    how = {"alpha": 0.05 * scale} if name == "LassoLars" else {}
    a, b = ours(name).fit(X, y), ours(name, **how).fit(X, y * scale)
    assert np.array_equal(b.coef_, a.coef_ * scale)


@pytest.mark.parametrize("positive", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_lasso_is_optimal_under_ties(rng, kind, positive):
    """By the KKT conditions, at each knot and at α; scikit-learn fails them on these designs."""
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
    for i, alpha in enumerate(model.alphas_):  # ends at a knot: there is no other beside it
        again = LassoLars(alpha=alpha).fit(X, y)
        assert (again.n_iter_, again.alphas_[-1]) == (i, alpha)
    less = clone(model).set_params(fit_path=False).fit(X, y)
    assert less.alphas_ == 0.02
    assert np.array_equal(less.coef_, model.coef_)
    assert not hasattr(model.set_params(fit_path=False).fit(X, y), "coef_path_")
    high = LassoLars(alpha=1e6).fit(X, y)
    assert (high.alphas_.tolist(), high.coef_.any(), high.n_iter_) == ([1e6], False, 0)


@pytest.mark.parametrize("most", [0, 1, 3])
def test_max_iter(rng, most):
    X, y = data(rng)
    for name in ("LassoLars", "LassoLarsIC"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            a, b = (make(name, max_iter=most).fit(X, y) for make in (ours, theirs))
        near(a.alphas_, b.alphas_, 1e-9)
        near(a.coef_, b.coef_, 1e-9)
        assert a.n_iter_ == most
    with pytest.warns(ConvergenceWarning, match=r"above 0\.05: max_iter was reached"):
        ours("LassoLars", max_iter=most).fit(X, y)


def test_cross_validation_of_omp(rng):
    """Each fold and each k by a least squares of its own."""
    X, y = data(rng)
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


def test_cross_validation_of_lasso(rng):
    """The errors at some α by coordinate descent."""
    X, y = data(rng)
    model = LassoLarsCV(cv=4).fit(X, y)
    for q in (len(model.cv_alphas_) // 3, -3):
        for i, (train, test) in enumerate(KFold(4).split(X)):
            lasso = linear_model.Lasso(alpha=model.cv_alphas_[q], tol=1e-12).fit(X[train], y[train])
            near(model.mse_path_[q, i], np.mean((y[test] - lasso.predict(X[test])) ** 2), 1e-6)
    near(model.coef_, LassoLars(alpha=model.alpha_).fit(X, y).coef_)
    assert len(LassoLarsCV(max_n_alphas=5).fit(X, y).cv_alphas_) <= 10


def test_folds_that_end_early(rng):
    X, y = rng.standard_normal((12, 30)), rng.standard_normal(12)
    with pytest.warns(RuntimeWarning, match="max_iter=20, but the path of fold 0 has [5-7] features"):
        model = OrthogonalMatchingPursuitCV(max_iter=20, cv=2).fit(X, y)
    assert len(model.mse_path_) <= 6
    y[6:] = 1.0  # the training part of the first fold has no variance: its path is the constant
    model = OrthogonalMatchingPursuitCV(max_iter=3, cv=2).fit(X, y)
    near(model.mse_path_[:, 0], np.full(3, np.mean((y[:6] - 1) ** 2)))
    assert np.isfinite(LassoLarsCV(cv=2).fit(X, y).mse_path_).all()
    constant = OrthogonalMatchingPursuitCV(cv=2).fit(X, np.ones(12))
    assert (constant.n_iter_, constant.coef_.any()) == (0, False)
    near(constant.intercept_, 1.0)


def test_information_criterion(rng):
    X, y = data(rng)
    model = LassoLarsIC("bic").fit(X, y)
    rss = np.linalg.norm(y - linear_model.LinearRegression().fit(X, y).predict(X)) ** 2
    near(model.noise_variance_, rss / (60 - 20 - 1), 1e-9)
    assert np.isfinite(LassoLarsIC().fit(X, np.ones(60)).coef_).all()
    with pytest.raises(ValueError, match=r"n_samples = 15, n_features = 20.*Pass\s+noise_variance"):
        LassoLarsIC().fit(X[:15], y[:15])
    assert LassoLarsIC(noise_variance=1.0).fit(X[:15], y[:15]).n_iter_ > 0


# Kinds of data


@pytest.mark.parametrize(
    "container", [scipy.sparse.csr_array, scipy.sparse.csc_matrix, scipy.sparse.coo_array]
)
@pytest.mark.parametrize("weighted", [False, True])
@each
def test_sparse_is_as_dense(rng, name, weighted, container):
    X = rng.standard_normal((60, 20)) * (rng.random((60, 20)) < 0.3)
    y = X[:, :4] @ [3.0, -2.0, 1.5, 1.0] + 0.1 * rng.standard_normal(60) + 5
    weight = rng.uniform(0.1, 2, 60) if weighted else None
    a, b = (ours(name).fit(x, y, sample_weight=weight) for x in (container(X), X))
    near(a.coef_, b.coef_, 1e-9)
    near(a.intercept_, b.intercept_, 1e-9)
    near(a.predict(container(X)), b.predict(X), 1e-9)


@each
def test_sparse_is_not_made_dense(rng, name):
    n, d = 2000, 3000
    X = scipy.sparse.random_array((n, d), density=0.003, rng=rng, format="csr")
    Y = X[:, :3] @ np.array([[3.0, 1.0], [2.0, -2.0], [1.0, 0.0]]) + 0.01 * rng.standard_normal((n, 2)) + 5
    y = Y if name == "OrthogonalMatchingPursuit" else Y[:, 0]
    more = {"LassoLars": {"alpha": 1e-4}, "LassoLarsIC": {"noise_variance": 1e-3}}.get(name, {})
    model = ours(name, **more, **({} if name.startswith("Orth") else {"max_iter": 6}))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        tracemalloc.start()
        model.fit(X, y)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert peak < n * d * 8 / 8
    assert {0, 1} <= set(np.flatnonzero(np.atleast_2d(model.coef_)[0]))


@each
def test_float32_is_kept(rng, name):
    X, y = data(rng, offset=0.0)
    for x in (X, scipy.sparse.csc_array(X)):
        single, double = ours(name).fit(x.astype(np.float32), y.astype(np.float32)), ours(name).fit(x, y)
        for key in ("coef_", "intercept_", "alphas_", "coef_path_"):
            if hasattr(single, key):
                assert getattr(single, key).dtype == np.float32
        near(single.coef_, double.coef_, 1e-4)


@each
def test_weights_count_rows(rng, name):
    """As rows repeated; without an intercept and a penalty as rows multiplied by √w."""
    X, y = data(rng)
    count, groups = rng.integers(0, 4, 60), np.arange(60) % 4
    rows = np.repeat(np.arange(60), count)
    how = [{}, {}]
    if name.endswith("CV"):
        folds = LeaveOneGroupOut()
        how = [
            {"cv": list(folds.split(X, groups=groups))},
            {"cv": list(folds.split(X[rows], groups=groups[rows]))},
        ]
    a = ours(name, **how[0]).fit(X, y, sample_weight=count)
    b = ours(name, **how[1]).fit(X[rows], y[rows])
    near(a.coef_, b.coef_, 1e-8)
    near(a.intercept_, b.intercept_, 1e-8)
    if name in ("OrthogonalMatchingPursuit", "LassoLars"):
        weight = rng.uniform(0.1, 2, 60)
        root = np.sqrt(weight)
        more = {"alpha": 0.05 * weight.sum() / 60} if name == "LassoLars" else {}
        a = ours(name, fit_intercept=False).fit(X, y, sample_weight=weight)
        b = ours(name, fit_intercept=False, **more).fit(X * root[:, None], y * root)
        near(a.coef_, b.coef_, 1e-9)


def test_weights_of_folds(rng):
    X, y = data(rng)
    weight = np.r_[np.zeros(15), np.ones(45)]  # the first of four folds leaves out nothing that counts
    model = OrthogonalMatchingPursuitCV(max_iter=5, cv=4).fit(X, y, sample_weight=weight)
    assert np.isnan(model.mse_path_[:, 0]).all()
    assert np.isfinite(model.mse_path_[:, 1:]).all()
    near(model.coef_, OrthogonalMatchingPursuit(n_nonzero_coefs=model.n_iter_).fit(X[15:], y[15:]).coef_)


@each
def test_the_data_are_left_alone(rng, name):
    """Read-only arrays, frames and lists do; X is not written to whatever `copy_X` says."""
    X, y = data(rng)
    X.flags.writeable = y.flags.writeable = False
    copy = {"copy" if name == "OrthogonalMatchingPursuitCV" else "copy_X": False}
    model = ours(name, **({} if name == "OrthogonalMatchingPursuit" else copy)).fit(X, y)
    near(ours(name).fit(np.asfortranarray(X), y).coef_, model.coef_)
    near(ours(name).fit(X.tolist(), y.tolist()).coef_, model.coef_)
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X.copy(), columns=[f"c{j}" for j in range(20)])
    named = ours(name).fit(frame, pd.Series(y))
    assert named.feature_names_in_[3] == "c3"
    near(named.predict(frame), model.predict(X))
    frame.iloc[2, 3] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        ours(name).fit(frame, y)


@each
def test_options_without_effect(rng, name):
    X, y = data(rng)
    model = ours(name).fit(X, y)
    gram = X.T @ X
    for key, value in {
        "precompute": False,
        "eps": 0.1,
        "verbose": False,
        "jitter": 1.0,
        "random_state": 0,
    }.items():
        if key in model.get_params():
            near(ours(name, **{key: value}).fit(X, y).coef_, model.coef_)
    if name == "LassoLars":
        near(ours(name, precompute=gram).fit(X, y, Xy=X.T @ y).coef_, model.coef_)
    if name == "LassoLarsCV":
        with pytest.warns(UserWarning, match="precompute is an array"):
            near(ours(name, precompute=gram).fit(X, y).coef_, model.coef_)


# Bad input


def test_bad_input(rng):
    X, y = data(rng)
    with pytest.raises(
        ValueError, match="n_nonzero_coefs must be at most 20, the number of features of X; got 21"
    ):
        OrthogonalMatchingPursuit(n_nonzero_coefs=21).fit(X, y)
    with pytest.raises(ValueError, match="max_iter must be at most 20"):
        OrthogonalMatchingPursuitCV(max_iter=21).fit(X, y)
    with pytest.raises(ValueError, match="tol"):
        OrthogonalMatchingPursuit(tol=-1.0).fit(X, y)
    for name in ALL:
        with pytest.raises(ValueError, match="inconsistent numbers of samples"):
            ours(name).fit(X, y[:-1])
        with pytest.raises(ValueError, match=r"[Nn]egative"):
            ours(name).fit(X, y, sample_weight=-np.ones(60))
        with pytest.raises(ValueError, match=r"non-zero number|zero for every row"):
            ours(name).fit(X, y, sample_weight=np.zeros(60))
        with pytest.raises(ValueError, match="NaN"):
            ours(name).fit(np.where(X[3, 2] == X, np.nan, X), y)
        with pytest.raises(ValueError, match="NaN"):
            ours(name).fit(X, np.where(y == y[3], np.nan, y))


def test_fewer_features_than_asked_for(rng):
    X, y = data(rng)
    with pytest.warns(
        RuntimeWarning, match="ended with 3 features of 5 asked for: every remaining column lies in"
    ):
        OrthogonalMatchingPursuit(n_nonzero_coefs=5).fit(np.tile(X[:, :3], 2), y)
    with pytest.warns(RuntimeWarning, match=r"‖r‖² above tol=1e-06"):
        OrthogonalMatchingPursuit(tol=1e-6).fit(X[:, :3], y)
    with pytest.warns(RuntimeWarning, match="for 2 of 3 targets, the first 1"):
        OrthogonalMatchingPursuit(tol=1e-6).fit(X[:, :3], np.column_stack([X[:, 0], y, -y]))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        exact = OrthogonalMatchingPursuit(n_nonzero_coefs=5).fit(X, 2 * X[:, 3])
    assert exact.n_iter_ == 1


# In scikit-learn's machinery


@each
def test_in_a_pipeline_and_a_search(rng, name):
    X, y = data(rng)
    pipe = make_pipeline(StandardScaler(), ours(name)).fit(X, y)
    assert pipe.score(X, y) > 0.8
    key, values = next((k, v) for k, v in {
        "n_nonzero_coefs": [1, 4], "alpha": [10.0, 0.05], "max_iter": [1, 8],
    }.items() if k in ALL[name] or k == "max_iter")  # fmt: skip
    search = GridSearchCV(ours(name), {key: values}, cv=3).fit(X, y)
    assert search.best_params_ == {key: values[1]}
    pd = pytest.importorskip("pandas")
    selector = make_pipeline(StandardScaler(), SelectFromModel(ours(name))).set_output(transform="pandas")
    kept = selector.fit_transform(pd.DataFrame(X, columns=[f"c{j}" for j in range(20)]), y)
    assert {"c0", "c1"} <= set(kept.columns)
    for copy in (clone(pipe[-1]).fit(*(pipe[0].transform(X), y)), pickle.loads(pickle.dumps(pipe[-1]))):
        assert np.array_equal(copy.coef_, pipe[-1].coef_)


@each
def test_metadata_routing(rng, name):
    X, y = data(rng)
    weight, groups = rng.uniform(0, 2, 60), np.arange(60) // 15
    with sklearn.config_context(enable_metadata_routing=True):
        model = ours(name).set_fit_request(sample_weight=True)
        scaler = StandardScaler().set_fit_request(sample_weight=False)
        pipe = make_pipeline(scaler, model).fit(X, y, sample_weight=weight)
        direct = ours(name).fit(StandardScaler().fit_transform(X), y, sample_weight=weight)
        near(pipe[-1].coef_, direct.coef_)
        model.set_score_request(sample_weight=True)
        cross_validate(model, X, y, params={"sample_weight": weight}, error_score="raise")
        if name.endswith("CV"):
            model = ours(name, cv=GroupKFold(4)).fit(X, y, groups=groups, sample_weight=weight)
            folds = list(GroupKFold(4).split(X, groups=groups))
            for given in (folds, iter(folds)):
                found = ours(name, cv=given).fit(X, y, sample_weight=weight)
                near(model.mse_path_, found.mse_path_)
    if name.endswith("CV"):
        with pytest.raises(ValueError, match="groups"):
            ours(name).fit(X, y, groups=groups)


class Watch:
    """A callback that counts tasks, and stops each path at the k-th pick or segment of it."""

    def __init__(self, stop=None):
        self.stop, self.begun, self.ended, self.scores, self.weights = stop, [], [], [], []

    def setup(self, estimator, context):
        self.begun.append("setup")

    def teardown(self, estimator, context):
        self.ended.append("setup")

    def on_fit_task_begin(self, estimator, context):
        self.begun.append(context.task_name)

    def on_fit_task_end(self, estimator, context, *, X, y, metadata, fitted_estimator):
        self.ended.append(context.task_name)
        self.weights.append(metadata)
        if fitted_estimator is not None and np.ndim(y) == 1:
            self.scores.append((fitted_estimator.score(X, y), fitted_estimator.n_iter_))
        return context.task_name in ("pick", "segment") and context.task_id + 1 == self.stop


@callbacks
@pytest.mark.parametrize("name", ["OrthogonalMatchingPursuit", "LassoLars", "LassoLarsIC"])
def test_callbacks_end_the_path(rng, name):
    X, y = data(rng)
    step = "pick" if name.startswith("Orth") else "segment"
    watch = Watch(stop=3)
    model = ours(name).set_callbacks(watch).fit(X, y, sample_weight=np.ones(60))
    assert model.n_iter_ == 3
    assert watch.begun == ["setup", "fit", *[step] * 3]
    assert watch.ended == [*[step] * 3, "fit", "setup"]
    assert [k for _, k in watch.scores[:3]] == [1, 2, 3]
    assert np.all(np.diff([score for score, _ in watch.scores[:3]]) > 0)
    near(watch.scores[3][0], model.score(X, y))
    assert all((m["sample_weight"] == 1).all() for m in watch.weights)
    quiet = Watch()
    whole = ours(name).set_callbacks(quiet).fit(X, y)
    assert quiet.begun.count(step) == quiet.ended.count(step) >= whole.n_iter_
    near(whole.coef_, ours(name).fit(X, y).coef_)
    piped = Watch(stop=2)
    pipe = make_pipeline(StandardScaler(), ours(name).set_callbacks(piped)).fit(X, y)
    assert pipe[-1].n_iter_ == 2


@callbacks
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", ["LassoLars", "LassoLarsCV"])
def test_callbacks_without_steps(rng, name):
    X, y = data(rng)
    watch = Watch()
    model = ours(name, max_iter=0).set_callbacks(watch).fit(X, y)
    assert not model.coef_.any()
    assert "segment" not in watch.begun
    assert watch.begun.count("fit") == 1


@callbacks
@pytest.mark.parametrize("name", ["OrthogonalMatchingPursuit", "LassoLars"])
def test_callbacks_of_targets(rng, name):
    X, y = data(rng)
    watch = Watch(stop=2)
    model = ours(name).set_callbacks(watch).fit(X, np.column_stack([y, -y, y**2]))
    assert watch.begun.count("target") == watch.ended.count("target") == 3
    assert list(model.n_iter_) == [2, 2, 2]


@callbacks
@pytest.mark.parametrize("n_jobs", [None, 2])
@pytest.mark.parametrize("name", ["OrthogonalMatchingPursuitCV", "LassoLarsCV"])
def test_callbacks_of_folds(rng, name, n_jobs):
    X, y = data(rng)
    watch = Watch(stop=3)
    model = ours(name, cv=4, n_jobs=n_jobs).set_callbacks(watch).fit(X, y)
    assert sorted(watch.begun) == sorted(watch.ended)
    assert watch.begun.count("fold") == 4
    assert watch.begun.count("refit") == 1
    assert model.n_iter_ <= 3
    assert len(model.mse_path_) <= (3 if name.startswith("Orth") else 16)
    near(ours(name, cv=4).set_callbacks(Watch()).fit(X, y).mse_path_, ours(name, cv=4).fit(X, y).mse_path_)


@callbacks
def test_a_progress_bar(rng, capsys):
    pytest.importorskip("rich")
    from sklearn.callback import ProgressBar

    X, y = data(rng)
    search = GridSearchCV(ours("OrthogonalMatchingPursuit"), {"n_nonzero_coefs": [1, 4]}, cv=3)
    search.set_callbacks(ProgressBar()).fit(X, y)
    ours("LassoLarsCV").set_callbacks(ProgressBar()).fit(X, y)
    assert "LassoLarsCV" in capsys.readouterr().out
