"""Greedy selection for logistic and Poisson regression, against other solvers and exact oracles."""

import importlib

import numpy as np
import pytest
import scipy.sparse
from losses import NAMED, draw, with_ones
from refusals import refuses
from sklearn.linear_model import LogisticRegression, PoissonRegressor

import sparselin as sl
from proofs_checks.glm import LOGISTIC, POISSON, dual_point, model, objective, reach, solve
from sparselin.greedy._losses import LOSSES
from sparselin.greedy._refit import LossData, refit


def decrement(loss, A, y, b, weight=1.0):
    """gᵀH⁻¹g, g in extended precision."""
    A, b = A.astype(np.longdouble), b.astype(np.longdouble)
    mu = np.exp(A @ b) if loss == "poisson" else 1 / (1 + np.exp(-A @ b))
    v = mu if loss == "poisson" else mu * (1 - mu)
    g, H = A.T @ (weight * (y - mu)), A.T @ ((weight * v)[:, None] * A)
    return float(g @ np.linalg.solve(H.astype(float), g.astype(float)))


# The refits


@NAMED
def test_refits_are_those_of_scikit_learn(loss, rng):
    X, y = draw(loss, rng)
    weight = rng.integers(0, 4, len(y))
    path = sl.generalized_omp(X, y, 5, loss=loss, sample_weight=weight)
    for t in range(1, 6):
        J = path.support[:t]
        if loss == "logistic":
            other = LogisticRegression(C=np.inf, tol=1e-12, solver="newton-cholesky")
        else:
            other = PoissonRegressor(alpha=0, tol=1e-12, solver="newton-cholesky")
        other.fit(X[:, J], y, sample_weight=weight)
        assert path.coef_at(t) == pytest.approx(other.coef_.ravel(), rel=1e-8)
        assert path.intercept_path[t] == pytest.approx(np.ravel(other.intercept_)[0], rel=1e-7, abs=1e-9)
        if loss == "poisson":
            assert path.d2_path[t] == pytest.approx(other.score(X[:, J], y, weight), rel=1e-12)
            assert path.predict(X, t) == pytest.approx(other.predict(X[:, J]), rel=1e-8)
        else:
            assert path.predict(X, t) == pytest.approx(other.predict_proba(X[:, J])[:, 1], rel=1e-8)
            assert path.linear_predictor(X, t) == pytest.approx(other.decision_function(X[:, J]), rel=1e-8)


@NAMED
@pytest.mark.parametrize("intercept", [True, False])
def test_optimality_bounds_what_is_left_and_is_of_the_order_of_rounding(loss, intercept, rng):
    """The decrement squared, in extended precision, exceeds L − min L by little at such points."""
    for shift in (0, 1e3, 1e6):
        X, y = draw(loss, rng)
        X[:, 1] += shift
        path = sl.generalized_omp(X, y, 5, loss=loss, intercept=intercept, forced=[1])
        for t in range(not intercept, 6):
            A, b = X[:, path.support[:t]], path.coef_at(t)
            if intercept:
                A, b = with_ones(A), np.append(path.intercept_path[t], b)
            left = 2 * decrement(loss, A, y, b)
            assert left <= path.optimality[t] < 1e-23 * path.deviance[0] * max(1, shift**2)


def test_the_bound_holds_far_from_the_minimum(rng):
    """L(b) − min L ≤ D² where all |a_iᵀδ| < 1: the theorem of `_refit`, at many b."""
    from sparselin.greedy._refit import evaluate

    near = 0
    for case in range(60):
        loss = ("logistic", "poisson")[case % 2]
        X, y = draw(loss, rng, 30, 3)
        data = LossData(LOSSES[loss], y + 0.0, rng.uniform(0.5, 2, 30))
        best = refit(data, X, np.zeros(3))
        b = best.coef + rng.standard_normal(3) * 10 ** rng.uniform(-3, 0)
        here, step, _ = evaluate(data, X, b)
        if np.abs(X @ step).max() < 1:
            near += 1
            above = [data.weight @ data.loss.deviance(X @ c, data.y) / 2 for c in (b, best.coef)]
            assert above[0] - above[1] <= here.decrement**2 * (1 + 1e-9)
            # and the distance
            if here.M * here.decrement <= 0.5:
                far = np.sqrt(here.variance) * (X @ (best.coef - b))
                assert np.linalg.norm(far) <= 1.4 * here.decrement
    assert near > 20


def test_a_path_of_few_features_is_the_beginning_of_a_longer_one(rng):
    X, y = draw("poisson", rng)
    long, short = (sl.generalized_omp(X, y, k, loss="poisson") for k in (6, 3))
    assert np.array_equal(long.support[:3], short.support)
    assert np.array_equal(long.coef_path[2, :3], short.coef)
    assert np.array_equal(long.deviance[:4], short.deviance)


@pytest.mark.filterwarnings("error")
def test_steps_that_overflow_are_shortened(rng):
    """Newton's step from μ = 1 to counts of 10⁹ overflows e^η; rows far out have μ = 0."""
    X = rng.uniform(1, 2, (30, 2))
    y = np.round(1e9 * np.exp(0.1 * rng.standard_normal(30)))
    path = sl.generalized_omp(X, y, 2, loss="poisson", intercept=False)
    assert path.status is sl.Status.COMPLETED
    left = 2 * decrement("poisson", X[:, path.support], y, path.coef)
    assert left <= path.optimality[-1] < 1e-12 * path.deviance[0]
    X, y = draw("poisson", rng)
    X[0], y[0] = -1e6, 0
    path = sl.generalized_omp(X, y, 3, loss="poisson")
    assert path.status is sl.Status.COMPLETED
    assert path.predict(X)[0] == 0
    assert np.isfinite(path.deviance).all()


# The picks


@NAMED
@pytest.mark.parametrize(("n", "d"), [(60, 8), (30, 50)])
def test_lam_star_is_where_the_first_feature_enters(loss, n, d, rng):
    """Above λ* the ℓ1-penalised solution is zero off S; just below the pick alone is not. By duality gaps."""
    X, y = draw(loss, rng, n, d, 0.4)
    path = sl.generalized_omp(X, y, 3, loss=loss)
    law = LOGISTIC if loss == "logistic" else POISSON
    for t in range(3):
        at = model(law, with_ones(X), y + 0.0, [0, *(1 + path.support[:t])])
        off = ~at.selected
        for lam, active in ((path.lam_star[t] * 1.001, []), (path.lam_star[t] * 0.999, [path.support[t]])):
            if active and path.margin[t] < 0.01:
                continue
            beta = solve(at, lam)
            u, gap = dual_point(at, lam, beta)
            zero = np.abs(at.X.T @ u) + reach(at, u, gap) < lam
            assert np.flatnonzero(~zero & off).tolist() == [1 + j for j in active]
        # what the pick gains is more than the gap: it is not zero in a solution
        without = np.where(off, 0, beta)
        assert objective(at, lam, without) > objective(at, lam, beta)


@NAMED
@pytest.mark.parametrize("standardize", [False, True])
def test_picks_maximise_the_gradient(loss, standardize, rng):
    """c in extended precision at the coefficients of the path, by the definition."""
    X, y = draw(loss, rng)
    X *= 10.0 ** rng.integers(-3, 4, X.shape[1])
    weight = rng.uniform(0.1, 3, len(y))
    options = {"sample_weight": weight, "standardize": standardize, "forced": [7]}
    path = sl.generalized_omp(X, y, 5, loss=loss, **options)
    mean = np.average(X, axis=0, weights=weight)
    unit = np.sqrt(np.average((X - mean) ** 2, axis=0, weights=weight)) if standardize else np.ones(12)
    for t in range(1, 5):
        mu = path.predict(X, t).astype(np.longdouble)
        c = np.abs((X / unit).astype(np.longdouble).T @ (weight * (y - mu)))
        c[path.support[:t]] = 0
        i, second = np.argsort(-c)[:2]
        assert path.support[t] == i
        assert path.lam_star[t] == pytest.approx(float(c[i]), rel=1e-10)
        assert path.margin[t] == pytest.approx(float(1 - c[second] / c[i]), abs=1e-9)
        assert path.ties[t] == (i,)
    assert np.isnan(path.lam_star[0])


@NAMED
@pytest.mark.parametrize(("spread", "apart"), [(1.0, 1e-6), (1e-3, 1e-9), (1e-6, 1e-3)])
def test_what_symmetry_ties_is_tied(loss, spread, apart, rng):
    """Rows in pairs of equal y and equal S; one column has the entries of another with the pairs swapped.

    With S nearly dependent the refit is inexact, and c with it: by its square only, once measured.
    """
    for _ in range(20):
        half, y = draw(loss, rng, 40, 2)
        half[:, 1] = half[:, 0] + spread * half[:, 1]
        X, y = np.repeat(half, 2, axis=0) + 1e4 * (spread == 1), np.repeat(y, 2)
        a = 3 * rng.standard_normal(80) + 4 * (y - y.mean())
        b = a.reshape(-1, 2)[:, ::-1].ravel()
        path = sl.generalized_omp(np.column_stack([X, a, b]), y, 3, loss=loss, forced=[0, 1])
        assert path.status is sl.Status.COMPLETED
        assert path.ties[2] == (2, 3)
        assert path.support[2] == 2
        far = sl.generalized_omp(np.column_stack([X, a, b * (1 + apart)]), y, 3, loss=loss, forced=[0, 1])
        assert far.ties[2] == (3,)


def test_copies_dependent_and_zero_columns(rng):
    X, y = draw("poisson", rng, 60, 4)
    A = np.column_stack([0 * y, X, -X[:, 0], X[:, 0] + X[:, 1], np.ones(60)])
    path = sl.generalized_omp(A, y, 8, loss="poisson")
    assert path.status is sl.Status.RANK_EXHAUSTED
    assert len(path) == 4
    assert np.linalg.matrix_rank(with_ones(A[:, path.support])) == 5
    assert not {0, 7} & set(path.support)
    assert any({1, 5} <= set(tied) for tied in path.ties) or 6 in path.support
    forced = sl.generalized_omp(A, y, 5, loss="poisson", forced=[1, 5, 0, 7, 2])
    assert forced.status is sl.Status.COMPLETED
    assert forced.support.tolist() == [1, 5, 0, 7, 2]
    assert forced.coef[1:4].tolist() == [0, 0, 0]
    plain = sl.generalized_omp(A, y, 2, loss="poisson", forced=[1, 2])
    assert forced.coef[[0, 4]].tolist() == plain.coef.tolist()


def test_ends():
    X = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    y = np.exp(X @ [0.5, -0.7] + 0.1)
    path = sl.generalized_omp(X, y, 2, loss="poisson")
    assert path.status is sl.Status.COMPLETED
    assert path.coef[np.argsort(path.support)] == pytest.approx([0.5, -0.7], rel=1e-13)
    assert path.deviance[-1] < 1e-25
    more = sl.generalized_omp(np.column_stack([X, [3, 1, 2]]), y, 3, loss="poisson", forced=[0, 1])
    assert more.status is sl.Status.EXACT_FIT
    assert len(sl.generalized_omp(X, [2, 2, 2], 2, loss="poisson")) == 0
    assert sl.generalized_omp(X, [2, 2, 2], 2, loss="poisson").status is sl.Status.EXACT_FIT
    assert path.margin[1] == 1
    even = sl.generalized_omp([[1.0], [-1.0], [1.0], [-1.0]], [0, 0, 1, 1], 1, loss="logistic")
    assert (even.status, len(even), even.d2) == (sl.Status.NO_CORRELATION, 0, 0.0)
    # 0.1 + 0.2 − 0.3 is zero but for the rounding of single precision
    thirds, options = np.float32([[0.1], [0.2], [-0.3]]), {"loss": "logistic", "intercept": False}
    assert sl.generalized_omp(thirds, [1, 1, 1], 1, **options).status is sl.Status.NO_CORRELATION
    assert sl.generalized_omp(thirds.astype(float), [1, 1, 1], 1, **options).status is sl.Status.COMPLETED


@pytest.mark.parametrize("loss", ["logistic", "poisson"])
@pytest.mark.parametrize("offset", [1e5, 1e6, 1e7])
def test_a_column_that_may_be_correlated_is_not_called_orthogonal(loss, offset, monkeypatch):
    """Weights of 1e-8 to 1e8 and large offsets leave the minimum, and so the gradient, in the dark."""
    module, endings = importlib.import_module("sparselin.greedy.generalized"), []
    ending = module._GeneralizedState._ending

    def spy(path):
        rest = np.setdiff1d(np.arange(path.problem.n_features), path.support)
        endings.append((path._measure_in_parts(rest), path.data.weight, path._columns(rest), path.fit))
        return ending(path)

    monkeypatch.setattr(module._GeneralizedState, "_ending", spy)
    dark = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        X = offset + rng.standard_normal((12, 4))
        y = rng.random(12) < 0.5 if loss == "logistic" else rng.poisson(2, 12)
        weight = 10.0 ** rng.choice([-8, 8, 0], 12)
        for intercept in (True, False):
            endings.clear()
            path = sl.generalized_omp(X, y, 4, loss=loss, sample_weight=weight, intercept=intercept)
            if not endings:
                continue
            measured, w, columns, fit = endings[-1]
            # |c| cannot exceed ‖z‖‖y − μ‖, and the bound on its error must be much smaller than that
            most = np.linalg.norm(np.sqrt(w)[:, None] * columns, axis=0) * np.linalg.norm(fit.u / np.sqrt(w))
            assert (measured.most <= most * (1 + 1e-9)).all()
            unknown = measured.error > 1e-3 * measured.most
            if path.status is sl.Status.NO_CORRELATION:
                assert not unknown[measured.outside].any()
            elif path.status is sl.Status.BEYOND_PRECISION:
                dark += 1
    assert dark or (loss, offset) != ("poisson", 1e6)


# Invariances that the table of methods does not have


@NAMED
def test_weights_repeat_rows_and_zero_weights_drop_them(loss, rng):
    X, y = draw(loss, rng)
    weight = rng.integers(0, 4, 80)
    X[weight == 0] *= 1e9  # whatever they hold
    path = sl.generalized_omp(X, y, 4, loss=loss, sample_weight=weight, standardize=True)
    rows = np.repeat(np.arange(80), weight)
    other = sl.generalized_omp(X[rows], y[rows], 4, loss=loss, standardize=True)
    assert np.array_equal(path.support, other.support)
    for field in ("coef_path", "intercept_path", "lam_star", "deviance"):
        assert getattr(path, field) == pytest.approx(getattr(other, field), rel=1e-9)
    double = sl.generalized_omp(X, y, 4, loss=loss, sample_weight=2.0**40 * weight, standardize=True)
    assert np.array_equal(double.coef_path, path.coef_path)
    assert np.array_equal(double.lam_star, 2.0**40 * path.lam_star)
    assert np.array_equal(double.optimality, 2.0**40 * path.optimality)


@NAMED
def test_an_intercept_makes_shifts_of_columns_irrelevant(loss, rng):
    X, y = draw(loss, rng)
    path, other = (sl.generalized_omp(A, y, 4, loss=loss) for A in (X, X + 8 * rng.integers(-5, 6, 12)))
    assert np.array_equal(path.support, other.support)
    assert path.coef == pytest.approx(other.coef, rel=1e-10)
    assert path.lam_star == pytest.approx(other.lam_star, rel=1e-10)
    assert path.with_intercept
    alone = sl.generalized_omp(with_ones(X), y, 5, loss=loss, forced=[0], intercept=False)
    assert alone.coef[1:] == pytest.approx(path.coef, rel=1e-10)
    assert alone.coef[0] == pytest.approx(path.intercept, rel=1e-10)
    assert not alone.intercept_path.any()


@NAMED
def test_standardize_makes_units_irrelevant(loss, rng):
    X, y = draw(loss, rng)
    units = 10.0 ** rng.integers(-8, 9, 12)
    path, other = (sl.generalized_omp(A, y, 4, loss=loss, standardize=True) for A in (X, X * units))
    explicit = sl.generalized_omp((X - X.mean(0)) / X.std(0), y, 4, loss=loss)
    for found, scale in ((other, units), (explicit, 1 / X.std(0))):
        assert np.array_equal(path.support, found.support)
        assert path.coef == pytest.approx(found.coef * scale[path.support], rel=1e-10)
        assert path.lam_star == pytest.approx(found.lam_star, rel=1e-10)


@NAMED
def test_sparse_and_single_precision(loss, rng):
    X, y = draw(loss, rng, 80, 12)
    X = np.round(X * (rng.random(X.shape) < 0.5), 3)
    X[:, :3] += np.round(rng.standard_normal((80, 3)), 2)
    path = sl.generalized_omp(X, y, 4, loss=loss, standardize=True)
    for form in (scipy.sparse.csr_array(X), scipy.sparse.csc_matrix(X)):
        other = sl.generalized_omp(form, y, 4, loss=loss, standardize=True)
        assert np.array_equal(path.support, other.support)
        assert path.coef == pytest.approx(other.coef, rel=1e-12)
        assert path.predict(form) == pytest.approx(path.predict(X), rel=1e-12)
    single = sl.generalized_omp(X.astype(np.float32), y, 4, loss=loss)
    exact = sl.generalized_omp(X.astype(np.float32).astype(float), y, 4, loss=loss)
    assert single.coef_path.dtype == single.lam_star.dtype == single.deviance.dtype == np.float32
    assert np.array_equal(single.support, exact.support)
    assert sl.generalized_omp(X[:, :2].astype(np.float32), y, 2, loss=loss).margin[1] == 1
    assert np.array_equal(single.coef_path, exact.coef_path.astype(np.float32))
    assert single.optimality[-1] < 1e-18 * single.deviance[0]


def test_labels_may_be_written_in_several_ways(rng):
    X, y = draw("logistic", rng)
    path = sl.generalized_omp(X, y, 3, loss="logistic")
    for labels in (y.astype(int), 2 * y - 1.0, y.tolist(), y.astype(np.float32)):
        assert sl.generalized_omp(X, labels, 3, loss="logistic") == path
    turned = sl.generalized_omp(X, ~y, 3, loss="logistic")
    assert turned.coef == pytest.approx(-path.coef, rel=1e-12)
    rates = rng.poisson(3, 80)
    exposure = rng.uniform(0.5, 2, 80)
    path = sl.generalized_omp(X, rates / exposure, 2, loss="poisson", sample_weight=exposure)
    A, b = with_ones(X[:, path.support]), np.append(path.intercept, path.coef)
    # ∇ of Σ e·e^η − yη, with the offset log e
    assert np.abs(A.T @ (rates - exposure * np.exp(A @ b))).max() < 1e-11


# Arguments


def test_refusals(rng):
    X, y = draw("logistic", rng)
    counts = np.arange(80)

    def refused(error, match, X=X, y=y, k=2, loss="logistic", **options):
        refuses(match, sl.generalized_omp, X, y, k, error=error, loss=loss, **options)

    refused(ValueError, r"loss must be one of \['logistic', 'poisson'\]; got 'hinge'", loss="hinge")
    refused(ValueError, "labels 0 and 1, or −1 and 1, or truth values.*got 0, 1, 2, 3, 4, …", y=counts)
    refused(ValueError, "got 1, 2", y=1 + y)
    refused(ValueError, "y must hold real numbers|y must hold labels", y=y + 0.5)
    for words in (
        np.where(y, "a", "b"),
        np.where(y, "a", "b").tolist(),
        np.where(y, "a", "b").astype(object),
    ):
        refused(
            TypeError,
            rf"truth values, for loss='logistic'; got '{words[0]}'\. For two classes, pass y == label",
            y=words,
        )
    refused(TypeError, "y must hold real numbers", y=np.where(y, "a", "b"), loss="poisson")
    refused(ValueError, "y must be finite", y=np.where(y, np.nan, 0))
    refused(ValueError, "y must hold both classes in rows of positive weight; got only 1", y=y | True)
    refused(ValueError, "got only 0", sample_weight=1.0 - y)
    refused(ValueError, "counts or rates ≥ 0 for loss='poisson'; got -1", y=counts - 1, loss="poisson")
    refused(ValueError, "positive and finite mean.*only zeros", y=0 * counts, loss="poisson")
    refused(ValueError, "almost zero", sample_weight=np.where(y, 1e-321, 1.0))
    refused(ValueError, "sample_weight must be nonnegative", sample_weight=-counts)
    refused(ValueError, r"k must be in 1\.\.12", k=13)
    refused(ValueError, "forced features count in k", forced=[1, 2, 3])
    refused(ValueError, "tol must be nonnegative", tol=-1)
    refused(TypeError, "pass X and y instead of a Problem", X=sl.Problem(X, y))
    refused(TypeError, "LinearOperator", X=scipy.sparse.linalg.aslinearoperator(X))
    refused(TypeError, "complex", X=X + 1j)
    pandas = pytest.importorskip("pandas")
    yes = pandas.Series(np.where(y, "yes", "no"))
    for words in (yes, yes.astype("category")):
        refused(TypeError, r"got '(yes|no)'\. For two classes, pass y == label", y=words)
    refused(
        TypeError,
        r"^y must hold real numbers; got dtype \w+\. Encode it as numbers\.$",
        y=yes,
        loss="poisson",
    )
    frame = pandas.DataFrame(X, columns=[f"c{j}" for j in range(12)])
    refused(ValueError, "Pass y.loc", X=frame, y=pandas.Series(y)[::-1])
    refused(ValueError, "Pass sample_weight.loc", X=frame, sample_weight=pandas.Series(counts + 1)[::-1])
    path = sl.generalized_omp(frame, pandas.Series(y), 2, loss="logistic", forced=["c7"])
    assert path.support_names[0] == "c7"
    turned = path.predict(frame[frame.columns[::-1]])
    np.testing.assert_allclose(turned, path.predict(frame), rtol=1e-12)
    refuses(r"t must lie in 0\.\.2", path.predict, frame, 3)


def test_tolerance_and_callback(rng):
    X, y = draw("poisson", rng)
    whole = sl.generalized_omp(X, y, 12, loss="poisson")
    level = float(whole.deviance[2] / whole.deviance[0])
    path = sl.generalized_omp(X, y, 12, loss="poisson", tol=level * (1 + 1e-12))
    assert (path.status, len(path)) == (sl.Status.TOLERANCE, 2)
    seen = []
    path = sl.generalized_omp(X, y, 12, loss="poisson", callback=lambda p: seen.append(p) or len(p) == 3)
    assert (path.status, len(path), [len(p) for p in seen]) == (sl.Status.STOPPED, 3, [1, 2, 3])
    assert path == seen[-1]
    assert path.coef.tolist() == whole.coef_at(3).tolist()
    assert path.d2_path.tolist() == (1 - path.deviance / path.deviance[0]).tolist()
    assert path.dense_coef()[path.support].tolist() == path.coef.tolist()
