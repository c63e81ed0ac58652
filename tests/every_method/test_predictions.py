"""R² and predictions of results, and the LASSO path at other levels."""

import contextlib
import pickle
import re

import numpy as np
import pytest
import scipy.sparse
from calls import EPS, FRAME, NAMES, X, Y, design
from refusals import refuses

import sparselin as sl
from sparselin.results.display import number

pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")


def least_squares(X, y, S, intercept):
    A = np.column_stack([X[:, S], np.ones((len(X), int(intercept)))])
    b = np.linalg.lstsq(A, y)[0]
    return b, A @ b


@pytest.mark.parametrize("intercept", [False, True])
def test_the_intercept_of_the_first_features(intercept):
    path = sl.omp(X, Y, 3, intercept=intercept)
    for t in range(4):
        b, _ = least_squares(X, Y, path.support[:t], intercept)
        assert path.intercept_at(t) == pytest.approx(b[-1] if intercept else 0, rel=1e-9)
        assert isinstance(path.intercept_at(t), float)
    assert path.intercept == path.intercept_at(3)
    for t in (-1, 4):
        refuses(rf"t must lie in 0\.\.3, the number of steps; got {t}", path.intercept_at, t)


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("forced", [(), (1, 3)])
def test_r2_is_the_share_of_the_sum_of_squares(intercept, forced):
    path = sl.omp(X, Y, 4, intercept=intercept, forced=forced)
    z = Y - Y.mean() if intercept else Y
    expected = [0.0]
    for t in range(1, 5):
        _, fit = least_squares(X, Y, path.support[:t], intercept)
        expected.append(1 - np.sum((Y - fit) ** 2) / np.sum(z**2))
    assert path.r2_path == pytest.approx(expected, rel=1e-10, abs=64 * EPS)
    assert path.r2 == path.r2_path[-1]
    assert path.to_frame()["r2"].tolist() == path.r2_path[1:].tolist()


def test_r2_of_nothing():
    path = sl.omp(X, np.full(30, 7.0), 2, intercept=True)
    assert path.r2 in (0.0, pytest.approx(0.0, abs=1e-6))
    assert sl.omp(X, 0 * Y, 2).r2_path.tolist() == [0.0]
    assert sl.omp(X.astype(np.float32), Y, 2).r2_path.dtype == np.float32


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("standardize", [False, True])
def test_predictions_are_those_of_least_squares(intercept, standardize):
    new, options = design(8)[0], {"intercept": intercept, "standardize": standardize}
    path = sl.omp(X, Y, 4, **options)
    cases = [(path.support[:t], path.predict(new, t)) for t in range(1, 5)]
    cases.append((path.support, path.predict(new)))
    best = sl.best_subset(X, Y, 3, **options)
    cases.append((best.support, best.predict(new)))
    chosen = sl.forward_regression(X, Y, 3, **options)
    cases.append((chosen.support, chosen.predict(new)))
    lasso = sl.lasso_path(X, Y, **options)
    cases.append((np.arange(6), lasso.predict(new, 0.0)))
    for S, predicted in cases:
        b, _ = least_squares(X, Y, S, intercept)
        A = np.column_stack([new[:, S], np.ones((30, int(intercept)))])
        # κ²·eps of the columns as they are, |κ| ≤ 1e3
        assert np.linalg.norm(predicted - A @ b) <= 1e6 * EPS * np.linalg.norm(A) * np.linalg.norm(b)
    assert path.predict(new, 0) == pytest.approx(Y.mean() if intercept else 0.0, rel=1e-12)


def test_predictions_of_descent():
    found = sl.hadamard_descent(X, Y, 5.0, intercept=True)
    assert found.predict(X) == pytest.approx(X @ found.coef + found.intercept, rel=1e-12)
    assert found.intercept != 0


PREDICT = {
    "SelectionPath": lambda X: sl.omp(FRAME, Y, 2, intercept=True).predict(X),
    "SubsetResult": lambda X: sl.best_subset(FRAME, Y, 2, intercept=True).predict(X),
    "DescentResult": lambda X: sl.hadamard_descent(FRAME, Y, 5.0).predict(X),
    "LassoPath": lambda X: sl.lasso_path(FRAME, Y, intercept=True).predict(X, 3.0),
    "FlowPath": lambda X: sl.gradient_flow(FRAME, Y, intercept=True).predict(X, 3.0),
}


@pytest.mark.parametrize("predict", PREDICT.values(), ids=PREDICT)
def test_new_rows_come_in_any_form(predict):
    expected = predict(FRAME)
    same = (FRAME.iloc[:3], polars.DataFrame(FRAME.iloc[:3]), X[:3], X[:3].tolist())
    for new in (*same, scipy.sparse.csr_array(X[:3]), pandas.DataFrame(X[:3])):
        assert predict(new) == pytest.approx(expected[:3], rel=1e-12)


def reads(predict, j):
    """Return whether the prediction reads column j, so that NaN is refused there."""
    with contextlib.suppress(ValueError):
        return predict(np.where(np.arange(6) == j, np.nan, X)) is None
    return True


@pytest.mark.parametrize("predict", PREDICT.values(), ids=PREDICT)
def test_new_rows_have_the_columns_that_are_read(predict):
    read = [name for j, name in enumerate(NAMES) if reads(predict, j)]
    assert "高さ" in read
    for name in read:
        refuses(f"X must have the column {re.escape(repr(name))}", predict, FRAME.drop(columns=name))
        twice = pandas.concat([FRAME, FRAME[[name]]], axis=1)
        refuses(f"one column {re.escape(repr(name))}; got 2", predict, twice)
    refuses("Did you mean '高さs'", predict, FRAME.rename(columns={"高さ": "高さs"}))
    turned = FRAME[list(NAMES[::-1])].assign(more="text")
    turned[[name for name in NAMES if name not in read]] = pandas.Timestamp(0)
    twice = pandas.concat([turned, turned[["more"]]], axis=1)
    for form in (turned, turned[read], polars.DataFrame(turned), twice):
        np.testing.assert_allclose(predict(form), predict(FRAME), rtol=1e-12)
    for new, words in (
        (X[:, :5], r"X must have 6 columns, as in the fit; got shape \(30, 5\)"),
        (X[0], "must be a matrix"),
        (FRAME.mask(FRAME.loc[4] == FRAME), r"X must be finite.*'高さ' \(1\).*the first in row 4"),
    ):
        refuses(words, predict, new)
    refuses("real numbers", predict, X.astype(str), error=TypeError)


def test_columns_of_the_same_name_go_by_position():
    """Positions count, as in scikit-learn, because names cannot tell such columns apart."""
    frame = pandas.DataFrame(X, columns=["a", "b", "a", "c", "d", "e"])
    path = sl.omp(frame, Y, 3)
    assert path.predict(frame).tolist() == path.predict(X).tolist()
    assert path.predict(frame[["c"]], 0).tolist() == [0.0] * 30
    for order in ([0, 2, 1, 3, 4, 5], [0, 1, 3, 4, 5]):
        refuses("one column 'a'; got 2", path.predict, frame.iloc[:, order])


def test_columns_that_are_not_used_are_not_read():
    path = sl.omp(X, Y, 2)
    new = np.where(np.isin(np.arange(6), path.support), X, np.nan)
    assert path.predict(new).tolist() == path.predict(X).tolist()
    new[7, path.support[0]] = np.nan
    refuses(f"in column 'x{path.support[0]}' .*the first in row 7", path.predict, new)


def test_predictions_over_the_complex_numbers():
    Z = X[:15] + 1j * X[15:]
    path = sl.omp(Z, Z @ np.array([1, 2j, 0, 0, 3, 0]) + Y[:15], 3)
    assert pickle.loads(pickle.dumps(path)) == path
    for frame in (path.to_frame("pandas"), path.to_frame("polars")):
        assert frame["coefficient_real"].to_list() == path.coef.real.tolist()
        assert frame["coefficient_imag"].to_list() == path.coef.imag.tolist()
    first = path.coef[0]
    sign = "-" if first.imag < 0 else "+"
    assert f" {number(first.real)}{sign}{number(abs(first.imag))}j " in str(path)
    expected = Z[:, path.support] @ path.coef
    for new in (Z, Z.tolist(), scipy.sparse.csr_array(Z)):
        assert path.predict(new) == pytest.approx(expected, rel=1e-12)
    assert path.predict(X) == pytest.approx(X[:, path.support] @ path.coef, rel=1e-12)
    assert np.linalg.norm(Z @ path.dense_coef() - path.predict(Z)) <= 1e-12 * np.linalg.norm(expected)
    refuses("real numbers", sl.omp(X, Y, 2).predict, X * 1j, error=TypeError)
    refuses("must be finite", path.predict, np.where(np.arange(15)[:, None] == 3, np.nan, Z))


def test_steps_that_were_not_taken():
    path = sl.omp(X, Y, 2)
    assert path.predict(scipy.sparse.csr_array(X), 0).tolist() == [0.0] * 30
    for t in (-1, 3):
        refuses(r"t must lie in 0\.\.2", path.predict, X, t)


def test_float32_stays():
    single = X.astype(np.float32)
    assert sl.omp(single, Y, 2, intercept=True).predict(single).dtype == np.float32
    assert sl.best_subset(single, Y, 2, intercept=True).predict(single).dtype == np.float32
    path = sl.lasso_path(single, Y, intercept=True)
    assert path.predict(single, 3.0).dtype == path.predict(single, [3.0]).dtype == np.float32
    assert path.at(3.0).dtype == path.at([3.0]).dtype == path.to_sparse().dtype == np.float32


# the LASSO path


@pytest.mark.parametrize("intercept", [False, True])
def test_at_many_levels(intercept):
    path = sl.lasso_path(X, Y, intercept=intercept)
    top, end = path.knots[0], path.knots[-1]
    lams = np.array([2 * top, top, *path.knots[1:-1], 0.3 * top, 0.01 * top, end])
    many, offsets = path.at(lams), path.intercept_at(lams)
    assert many.shape == (len(lams), 6)
    assert offsets.shape == lams.shape
    for lam, beta, offset in zip(lams, many, offsets, strict=True):
        assert np.array_equal(path.at(lam), beta)
        assert path.intercept_at(float(lam)) == offset
        c = X.T @ (Y - X @ beta - offset)  # KKT
        assert np.abs(c).max() <= lam * (1 + 1e-10) + 1e-12 * top
        assert np.abs(c - lam * np.sign(beta))[beta != 0].max(initial=0) <= 1e-10 * top
        if intercept:
            assert abs(np.sum(Y - X @ beta - offset)) <= 1e-10 * np.abs(Y).sum()
        else:
            assert offset == 0
    assert np.array_equal(path.at(path.knots), path.coef)
    assert np.array_equal(path.intercept_at(path.knots), path.intercept)
    assert isinstance(path.intercept_at(top), float)
    assert path.at(lams.tolist()).tolist() == many.tolist()
    assert path.at([]).shape == (0, 6)
    predicted = path.predict(X, lams)
    assert predicted == pytest.approx(X @ many.T + offsets, rel=1e-12)
    assert path.predict(X, lams[3]) == pytest.approx(predicted[:, 3], rel=1e-12)


def test_a_path_of_one_knot():
    path = sl.lasso_path(X, 0 * Y)
    assert len(path) == 1
    assert repr(path) == "<LassoPath: 1 knot, λ = 0, 0 of 6 features, R² 0.000, COMPLETED>"
    assert path.at([1.0, 0.0]).tolist() == [[0.0] * 6] * 2
    assert path.intercept_at(1.0) == 0.0
    assert path.predict(X, 1.0).tolist() == [0.0] * 30


@pytest.mark.parametrize("method", ["at", "intercept_at"])
def test_levels_that_a_path_does_not_have(method):
    path = sl.lasso_path(X, Y, lam_min=2.0)
    for lam, words in ((1.0, "least 2.*its lam_min.*got 1.0"), (-1.0, r"got -1.0$"), ([3, 1], "got 1.0"),
                       (np.nan, "got nan"), ([np.inf], "got inf")):  # fmt: skip
        refuses(words, getattr(path, method), lam)
    for lam in ("3", None, 1j, True, [[3.0]], [3.0, None]):
        refuses("real number", getattr(path, method), lam, error=TypeError)


def test_sparse_coefficients_of_a_long_path():
    Z = np.random.default_rng(2).normal(size=(5, 30))
    path = sl.lasso_path(Z, Z[:, 7] - Z[:, 20], forced=[2])
    assert len(path.features) < 30
    matrix = path.to_sparse()
    assert isinstance(matrix, scipy.sparse.csr_array)
    assert np.array_equal(matrix.toarray(), path.coef)
    assert matrix.nnz == np.count_nonzero(path.coef)
    assert matrix.has_canonical_format
