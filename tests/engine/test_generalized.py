"""Greedy selection for logistic and Poisson regression, against other solvers and exact oracles."""

import importlib
from functools import partial

import numpy as np
import pytest
import scipy.sparse
from losses import NAMED, draw, with_ones
from refusals import refuses

import sparselin as sl
from proofs_checks.glm import LOGISTIC, POISSON, dual_point, model, objective, reach, solve
from sparselin.greedy._losses import LOSSES, LossData, refit

select = partial(sl.generalized_omp, intercept=True)


def decrement(loss, A, y, b, weight=1.0):
    """gᵀH⁻¹g, g in extended precision."""
    A, b = A.astype(np.longdouble), b.astype(np.longdouble)
    mu = np.exp(A @ b) if loss == "poisson" else 1 / (1 + np.exp(-A @ b))
    v = mu if loss == "poisson" else mu * (1 - mu)
    g, H = A.T @ (weight * (y - mu)), A.T @ ((weight * v)[:, None] * A)
    return float(g @ np.linalg.solve(H.astype(float), g.astype(float)))


# The refits


@NAMED
@pytest.mark.parametrize("intercept", [True, False])
def test_optimality_bounds_what_is_left_and_is_of_the_order_of_rounding(loss, intercept, rng):
    """The decrement squared, in extended precision, exceeds L − min L by little at such points."""
    for shift in (0, 1e3, 1e6):
        X, y = draw(loss, rng)
        X[:, 1] += shift
        path = select(X, y, 5, loss=loss, intercept=intercept, forced=[1])
        for t in range(not intercept, 6):
            A, b = X[:, path.support[:t]], path.coef_at(t)
            if intercept:
                A, b = with_ones(A), np.append(path.intercept_path[t], b)
            left = 2 * decrement(loss, A, y, b)
            assert left <= path.optimality[t] < 1e-23 * path.deviance[0] * max(1, shift**2)


def test_the_bound_holds_far_from_the_minimum(rng):
    """L(b) − min L ≤ D² where all |a_iᵀδ| < 1: the theorem of `_losses`, at many b."""
    from sparselin.greedy._losses import evaluate

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
    long, short = (select(X, y, k, loss="poisson") for k in (6, 3))
    assert np.array_equal(long.support[:3], short.support)
    assert np.array_equal(long.coef_path[2, :3], short.coef)
    assert np.array_equal(long.deviance[:4], short.deviance)


@pytest.mark.filterwarnings("error")
def test_steps_that_overflow_are_shortened(rng):
    """Newton's step from μ = 1 to counts of 10⁹ overflows e^η; rows far out have μ = 0."""
    X = rng.uniform(1, 2, (30, 2))
    y = np.round(1e9 * np.exp(0.1 * rng.standard_normal(30)))
    path = select(X, y, 2, loss="poisson", intercept=False)
    assert path.status is sl.Status.COMPLETED
    left = 2 * decrement("poisson", X[:, path.support], y, path.coef)
    assert left <= path.optimality[-1] < 1e-12 * path.deviance[0]
    X, y = draw("poisson", rng)
    X[0], y[0] = -1e6, 0
    path = select(X, y, 3, loss="poisson")
    assert path.status is sl.Status.COMPLETED
    assert path.predict(X)[0] == 0
    assert np.isfinite(path.deviance).all()


# The picks


@NAMED
@pytest.mark.parametrize(("n", "d"), [(60, 8), (30, 50)])
def test_lam_star_is_where_the_first_feature_enters(loss, n, d, rng):
    """Above λ* the ℓ1-penalised solution is zero off S; just below the pick alone is not. By duality gaps."""
    X, y = draw(loss, rng, n, d, 0.4)
    path = select(X, y, 3, loss=loss)
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
        path = select(np.column_stack([X, a, b]), y, 3, loss=loss, forced=[0, 1])
        assert path.status is sl.Status.COMPLETED
        assert path.ties[2] == (2, 3)
        assert path.support[2] == 2
        far = select(np.column_stack([X, a, b * (1 + apart)]), y, 3, loss=loss, forced=[0, 1])
        assert far.ties[2] == (3,)


def test_ends():
    X = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    y = np.exp(X @ [0.5, -0.7] + 0.1)
    path = select(X, y, 2, loss="poisson")
    assert path.status is sl.Status.COMPLETED
    assert path.coef[np.argsort(path.support)] == pytest.approx([0.5, -0.7], rel=1e-13)
    assert path.deviance[-1] < 1e-25
    more = select(np.column_stack([X, [3, 1, 2]]), y, 3, loss="poisson", forced=[0, 1])
    assert more.status is sl.Status.EXACT_FIT
    assert len(select(X, [2, 2, 2], 2, loss="poisson")) == 0
    assert select(X, [2, 2, 2], 2, loss="poisson").status is sl.Status.EXACT_FIT
    assert path.margin[1] == 1
    even = select([[1.0], [-1.0], [1.0], [-1.0]], [0, 0, 1, 1], 1, loss="logistic")
    assert (even.status, len(even), even.d2) == (sl.Status.NO_CORRELATION, 0, 0.0)
    # 0.1 + 0.2 − 0.3 is zero but for the rounding of single precision
    thirds, options = np.float32([[0.1], [0.2], [-0.3]]), {"loss": "logistic", "intercept": False}
    assert select(thirds, [1, 1, 1], 1, **options).status is sl.Status.NO_CORRELATION
    assert select(thirds.astype(float), [1, 1, 1], 1, **options).status is sl.Status.COMPLETED


@pytest.mark.parametrize("loss", ["logistic", "poisson"])
@pytest.mark.parametrize("offset", [1e5, 1e6, 1e7])
def test_a_column_that_may_be_correlated_is_not_called_orthogonal(loss, offset, monkeypatch):
    """Weights of 1e-8 to 1e8 and large offsets leave the minimum, and so the gradient, in the dark."""
    module, endings = importlib.import_module("sparselin.greedy._generalized_fit"), []
    ending = module.GeneralizedFit.ending

    def spy(fit, units, rest):
        columns = fit.regression.columns(rest)
        endings.append((fit._measure_in_parts(rest), fit.terms.weight, columns, fit.model))
        return ending(fit, units, rest)

    monkeypatch.setattr(module.GeneralizedFit, "ending", spy)
    dark = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        X = offset + rng.standard_normal((12, 4))
        y = rng.random(12) < 0.5 if loss == "logistic" else rng.poisson(2, 12)
        weight = 10.0 ** rng.choice([-8, 8, 0], 12)
        for intercept in (True, False):
            endings.clear()
            path = select(X, y, 4, loss=loss, sample_weight=weight, intercept=intercept)
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
    path = select(X, y, 4, loss=loss, sample_weight=weight, standardize=True)
    rows = np.repeat(np.arange(80), weight)
    other = select(X[rows], y[rows], 4, loss=loss, standardize=True)
    assert np.array_equal(path.support, other.support)
    for field in ("coef_path", "intercept_path", "lam_star", "deviance"):
        assert getattr(path, field) == pytest.approx(getattr(other, field), rel=1e-9)
    double = select(X, y, 4, loss=loss, sample_weight=2.0**40 * weight, standardize=True)
    assert np.array_equal(double.coef_path, path.coef_path)
    assert np.array_equal(double.lam_star, 2.0**40 * path.lam_star)
    assert np.array_equal(double.optimality, 2.0**40 * path.optimality)


@NAMED
def test_an_intercept_makes_shifts_of_columns_irrelevant(loss, rng):
    X, y = draw(loss, rng)
    path, other = (select(A, y, 4, loss=loss) for A in (X, X + 8 * rng.integers(-5, 6, 12)))
    assert np.array_equal(path.support, other.support)
    assert path.coef == pytest.approx(other.coef, rel=1e-10)
    assert path.lam_star == pytest.approx(other.lam_star, rel=1e-10)
    assert path.with_intercept
    alone = select(with_ones(X), y, 5, loss=loss, forced=[0], intercept=False)
    assert alone.coef[1:] == pytest.approx(path.coef, rel=1e-10)
    assert alone.coef[0] == pytest.approx(path.intercept, rel=1e-10)
    assert not alone.intercept_path.any()


@NAMED
def test_standardize_makes_units_irrelevant(loss, rng):
    X, y = draw(loss, rng)
    units = 10.0 ** rng.integers(-8, 9, 12)
    path, other = (select(A, y, 4, loss=loss, standardize=True) for A in (X, X * units))
    explicit = select((X - X.mean(0)) / X.std(0), y, 4, loss=loss)
    for found, scale in ((other, units), (explicit, 1 / X.std(0))):
        assert np.array_equal(path.support, found.support)
        assert path.coef == pytest.approx(found.coef * scale[path.support], rel=1e-10)
        assert path.lam_star == pytest.approx(found.lam_star, rel=1e-10)


@NAMED
def test_sparse_and_single_precision(loss, rng):
    X, y = draw(loss, rng, 80, 12)
    X = np.round(X * (rng.random(X.shape) < 0.5), 3)
    X[:, :3] += np.round(rng.standard_normal((80, 3)), 2)
    path = select(X, y, 4, loss=loss, standardize=True)
    for form in (scipy.sparse.csr_array(X), scipy.sparse.csc_matrix(X)):
        other = select(form, y, 4, loss=loss, standardize=True)
        assert np.array_equal(path.support, other.support)
        assert path.coef == pytest.approx(other.coef, rel=1e-12)
        assert path.predict(form) == pytest.approx(path.predict(X), rel=1e-12)
    single = select(X.astype(np.float32), y, 4, loss=loss)
    exact = select(X.astype(np.float32).astype(float), y, 4, loss=loss)
    assert single.coef_path.dtype == single.lam_star.dtype == single.deviance.dtype == np.float32
    assert np.array_equal(single.support, exact.support)
    assert select(X[:, :2].astype(np.float32), y, 2, loss=loss).margin[1] == 1
    assert np.array_equal(single.coef_path, exact.coef_path.astype(np.float32))
    assert single.optimality[-1] < 1e-18 * single.deviance[0]


def test_labels_may_be_written_in_several_ways(rng):
    X, y = draw("logistic", rng)
    path = select(X, y, 3, loss="logistic")
    for labels in (y.astype(int), y.tolist(), y.astype(np.float32), y.astype(object)):
        assert select(X, labels, 3, loss="logistic") == path
    words, pandas = np.where(y, "yes", "no"), pytest.importorskip("pandas")
    frames = [pandas.Series(words, dtype=dtype) for dtype in ("category", "string", object)]
    for labels in (2 * y - 1.0, 7 - 2 * ~y, words, words.tolist(), *frames):
        other = select(X, labels, 3, loss="logistic")
        assert other.classes == tuple(np.unique(labels).tolist())
        assert np.array_equal(other.predict(X), path.predict(X))
    assert "η is the log odds of 'yes'; the other label is 'no'" in str(other)
    assert "log odds" not in str(path)
    # a single label, if it is 0, 1 or −1, separates
    for label, classes in ((0, (0, 1)), (1, (0, 1)), (-1, (-1, 1)), (False, (False, True))):
        lone = sl.generalized_omp(np.abs(X), [label] * 80, 1, loss="logistic", intercept=False)
        assert (lone.status, lone.classes) == (sl.Status.NO_MINIMUM, classes)
    turned = select(X, ~y, 3, loss="logistic")
    assert turned.coef == pytest.approx(-path.coef, rel=1e-12)
    rates = rng.poisson(3, 80)
    exposure = rng.uniform(0.5, 2, 80)
    path = select(X, rates / exposure, 2, loss="poisson", sample_weight=exposure)
    A, b = with_ones(X[:, path.support]), np.append(path.intercept, path.coef)
    # ∇ of Σ e·e^η − yη, with the offset log e
    assert np.abs(A.T @ (rates - exposure * np.exp(A @ b))).max() < 1e-11


# Arguments


def test_refusals(rng):
    X, y = draw("logistic", rng)
    counts = np.arange(80)

    def refused(error, match, X=X, y=y, k=2, loss="logistic", **options):
        refuses(match, select, X, y, k, error=error, loss=loss, **options)

    refused(ValueError, r"loss must be one of \['logistic', 'poisson'\]; got 'hinge'", loss="hinge")
    refused(ValueError, "not continuous values; got 80: 0, 1, 2, 3, 4, …. Only", y=counts)
    refused(ValueError, "got 3: 'a', 'b', 'c'. Only", y=["a", "b", *np.where(y[2:], "a", "c")])
    mixed = np.array([1, *np.where(y[1:], "a", "b")], object)
    refused(TypeError, "labels of one kind; got strings and others", y=mixed)
    refused(TypeError, "y must hold real numbers", y=np.where(y, "a", "b"), loss="poisson")
    refused(ValueError, r"vector of labels; got shape \(80, 1\)", y=np.where(y, "a", "b")[:, None])
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
    words = f"{y.sum()} labels are missing .*, the first in row {y.argmax()}"
    hidden = [yes.astype(dtype).mask(y) for dtype in ("category", "string", object)]
    hidden += [np.where(y, None, "no"), np.where(y, np.nan, 0), np.ma.array(y, mask=y)]
    for labels in (*hidden, pandas.Series(y, dtype="boolean").mask(y), pandas.Series(1 + y).mask(y)):
        refused(ValueError, words, y=labels)
    encode = r"^y must hold real numbers; got dtype \w+\. Encode it as numbers\.$"
    refused(TypeError, encode, y=yes, loss="poisson")
    frame = pandas.DataFrame(X, columns=[f"c{j}" for j in range(12)])
    refused(ValueError, "Pass y.loc", X=frame, y=yes[::-1])
    refused(ValueError, "Pass sample_weight.loc", X=frame, sample_weight=pandas.Series(counts + 1)[::-1])
    path = select(frame, pandas.Series(y), 2, loss="logistic", forced=["c7"])
    assert path.support_names[0] == "c7"
    turned = path.predict(frame[frame.columns[::-1]])
    np.testing.assert_allclose(turned, path.predict(frame), rtol=1e-12)
    refuses(r"t must lie in 0\.\.2", path.predict, frame, 3)


def test_no_intercept_by_default(rng):
    X, y = draw("poisson", rng)
    assert sl.generalized_omp(X, y, 2, loss="poisson") == select(X, y, 2, loss="poisson", intercept=False)


def test_tolerance_and_callback(rng):
    X, y = draw("poisson", rng)
    whole = select(X, y, 12, loss="poisson")
    level = float(whole.deviance[2] / whole.deviance[0])
    path = select(X, y, 12, loss="poisson", tol=level * (1 + 1e-12))
    assert (path.status, len(path)) == (sl.Status.TOLERANCE, 2)
    seen = []
    path = select(X, y, 12, loss="poisson", callback=lambda p: seen.append(p) or len(p) == 3)
    assert (path.status, len(path), [len(p) for p in seen]) == (sl.Status.STOPPED, 3, [1, 2, 3])
    assert path == seen[-1]
    assert path.coef.tolist() == whole.coef_at(3).tolist()
    assert path.d2_path.tolist() == (1 - path.deviance / path.deviance[0]).tolist()
    assert path.dense_coef()[path.support].tolist() == path.coef.tolist()
