"""A LinearOperator as X: transforms against their matrices, and how many products they take."""

import numpy as np
import pytest
import scipy.fft
from refusals import refuses
from scipy.sparse.linalg import LinearOperator, aslinearoperator

import sparselin as sl
from sparselin.problem.operators import Operator


class Counting(LinearOperator):
    """Counts the vectors that it multiplies; at most `most` at a time."""

    def __init__(self, shape, dtype=np.float64, most=10**9):
        self.forward = self.backward = 0
        self.most = most
        super().__init__(dtype, shape)

    def _matvec(self, x):
        return self._matmat(np.reshape(x, (-1, 1)))[:, 0]

    def _rmatvec(self, r):
        return self._rmatmat(np.reshape(r, (-1, 1)))[:, 0]

    def _matmat(self, V):
        assert V.shape[1] <= self.most
        self.forward += V.shape[1]
        return self.multiply(V)

    def _rmatmat(self, R):
        self.backward += R.shape[1]
        return self.multiply_transposed(R)

    def dense(self):
        return np.asarray(self.multiply(np.eye(self.shape[1], dtype=self.dtype)))


class Cosines(Counting):
    """Some rows of the orthogonal cosine transform."""

    def __init__(self, n, d, rng, **options):
        self.rows = np.sort(rng.permutation(d)[:n])
        super().__init__((n, d), **options)

    def multiply(self, V):
        return scipy.fft.dct(V, norm="ortho", axis=0)[self.rows]

    def multiply_transposed(self, R):
        Z = np.zeros((self.shape[1], R.shape[1]), R.dtype)
        Z[self.rows] = R
        return scipy.fft.idct(Z, norm="ortho", axis=0)


class Convolution(Cosines):
    """Some entries of the cyclic convolution with a random vector."""

    def __init__(self, n, d, rng, **options):
        super().__init__(n, d, rng, **options)
        self.spectrum = scipy.fft.rfft(rng.standard_normal(d).astype(self.dtype))[:, None]

    def multiply(self, V):
        return scipy.fft.irfft(self.spectrum * scipy.fft.rfft(V, axis=0), self.shape[1], axis=0)[self.rows]

    def multiply_transposed(self, R):
        Z = np.zeros((self.shape[1], R.shape[1]), R.dtype)
        Z[self.rows] = R
        return scipy.fft.irfft(self.spectrum.conj() * scipy.fft.rfft(Z, axis=0), self.shape[1], axis=0)


METHODS = {
    "omp": lambda X, y, **options: sl.omp(X, y, 8, **options),
    "ols": lambda X, y, **options: sl.ols(X, y, 8, **options),
    "sequential_lasso": lambda X, y, **options: sl.sequential_lasso(X, y, 5, **options),
    "lasso_path": lambda X, y, **options: sl.lasso_path(X, y, max_steps=20, **options),
    "first_entry": sl.first_entry,
    "lambda_star": sl.lambda_star,
}


def assert_same(found, expected, eps):
    """Equal decisions, and numbers to their rounding."""
    if isinstance(found, float):
        assert found == pytest.approx(expected, rel=eps)
        return
    assert found.status is expected.status
    if isinstance(found, sl.results.FirstEntry):
        assert found.lam_star == pytest.approx(expected.lam_star, rel=eps)
        assert (found.tied, found.active) == (expected.tied, expected.active)
    elif isinstance(found, sl.results.LassoPath):
        assert found.knots == pytest.approx(expected.knots, rel=eps)
        assert found.active == expected.active
        size = float(np.abs(expected.coef).max())
        assert found.coef == pytest.approx(expected.coef, abs=eps * size)
        assert found.r2 == pytest.approx(expected.r2, abs=eps)
    else:
        assert found.support.tolist() == expected.support.tolist()
        assert found.ties == expected.ties
        size = float(np.abs(expected.coef_path).max())
        assert found.coef_path == pytest.approx(expected.coef_path, abs=eps * size)
        first = float(expected.residual_norm[0])
        assert found.residual_norm == pytest.approx(expected.residual_norm, abs=eps * first)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("form", [Cosines, Convolution])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("option", ["", "intercept", "weights", "forced"])
def test_a_transform_is_as_its_matrix(method, form, dtype, option, rng):
    n, d = 60, 220
    X = form(n, d, rng, dtype=dtype)
    D = X.dense()
    y = D[:, rng.permutation(d)[:6]] @ rng.choice([-3, -2, 2, 3], 6) + 0.05 * rng.standard_normal(n)
    y = y.astype(dtype)
    options = {
        "intercept": {"intercept": True},
        "weights": {"sample_weight": rng.random(n) + 0.5},
        "forced": {"forced": [3, 100]},
    }.get(option, {})
    found, expected = METHODS[method](X, y, **options), METHODS[method](D, y, **options)
    # κ of the few columns is below 10
    assert_same(found, expected, 1e3 * float(np.finfo(dtype).eps) * np.sqrt(n))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_ties_of_an_operator(method, dtype, rng):
    D = rng.integers(-1, 2, (30, 200)).astype(dtype)
    D[:, 100:] = D[:, :100]
    y = D[:, :3].sum(axis=1)
    found, expected = METHODS[method](aslinearoperator(D), y), METHODS[method](D, y)
    assert_same(found, expected, 1e3 * float(np.finfo(dtype).eps))


def test_given_lengths_leave_a_product_a_step(rng):
    """Xᵀr is a product with Xᵀ for each pick, and the picked column one with X."""
    n, d, k = 300, 4000, 12
    X = Cosines(n, d, rng)
    lengths = np.linalg.norm(X.dense(), axis=0)
    y = X.multiply(np.eye(d, 1, -7) - np.eye(d, 1, -70))[:, 0] + 0.01 * rng.standard_normal(n)
    expected = sl.omp(X.dense(), y, k)
    found = sl.omp(sl.Problem(X, y, column_norms=lengths), k)
    assert_same(found, expected, 1e-11)
    checks = 1  # of the adjoint
    assert X.forward == checks + k
    assert X.backward == checks + k  # with y and the residuals before k, and the last of them is not needed
    X.forward = X.backward = 0
    path = sl.lasso_path(sl.Problem(X, y, column_norms=lengths), max_steps=10)
    assert_same(path, sl.lasso_path(X.dense(), y, max_steps=10), 1e-11)
    assert X.forward < 400
    assert X.backward < 40


def test_lengths_take_a_product_a_column_in_blocks(rng, monkeypatch):
    X = Cosines(40, 100, rng, most=7)
    monkeypatch.setattr("sparselin.problem.memory._AT_ONCE", 700)
    problem = sl.Problem(X, rng.standard_normal(40))
    assert problem.column_norms == pytest.approx(np.linalg.norm(X.dense(), axis=0), rel=1e-14)
    assert X.forward == 101
    assert repr(problem) == "Problem(operator, n=40, d=100, float64)"
    assert (problem.kind, problem.d) == ("operator", 100)


def test_columns_are_kept_up_to_a_limit(rng, monkeypatch):
    X = Cosines(40, 100, rng)
    D, operator = X.dense(), Operator(X)
    before = X.forward
    for J in ([3, 5], [5, 3, 3], [5]):
        assert operator[:, J] == pytest.approx(D[:, J], abs=1e-15)
    assert X.forward == before + 2
    monkeypatch.setattr("sparselin.problem.operators._CACHE_ENTRIES", 4 * 40)
    for J in ([1, 2, 3], [5, 7, 1], [2], list(range(9)), []):
        assert operator[:, J] == pytest.approx(D[:, J], abs=1e-15)
        assert len(operator._columns) <= 4
    assert operator[:, 2:5] == pytest.approx(D[:, 2:5], abs=1e-15)


def test_weights_and_names(rng):
    X, y, weight = Convolution(30, 50, rng), rng.standard_normal(30), rng.random(30)
    names = [f"x{j}" for j in range(50)]
    problem = sl.Problem(X, y, sample_weight=weight, names=names, intercept=True)
    dense = sl.Problem(X.dense(), y, sample_weight=weight, names=names, intercept=True)
    assert problem.column_norms == pytest.approx(dense.column_norms, rel=1e-13)
    found, expected = sl.omp(problem, 4, forced=["x7"]), sl.omp(dense, 4, forced=["x7"])
    assert_same(found, expected, 1e-12)
    assert found.intercept == pytest.approx(expected.intercept)


WRONG = {
    "shifted": lambda r: np.concatenate([[0.0], r]),
    "scaled": lambda r: np.append(r, 0.0) * (1 + 1e-9),
    "of the other sign": lambda r: -np.append(r, 0.0),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_a_wrong_adjoint_is_found(wrong):
    X = LinearOperator((3, 4), matvec=lambda x: x[:3], rmatvec=WRONG[wrong])
    refuses("X must have its adjoint as rmatvec", sl.omp, X, np.ones(3), 1)
    right = LinearOperator((3, 4), matvec=lambda x: x[:3], rmatvec=lambda r: np.append(r, 0.0))
    assert sl.omp(right, [3.0, 1.0, 2.0], 2).support.tolist() == [0, 2]


def test_sparse_eigenvalues_refuse_a_problem_of_an_operator(rng):
    problem = sl.Problem(aslinearoperator(rng.standard_normal((5, 7))), np.ones(5))
    refuses("Only omp, .* take a LinearOperator", sl.sparse_eigenvalues, problem, 2, error=TypeError)


def test_operators_that_are_refused(rng):
    X, y = aslinearoperator(rng.standard_normal((5, 7))), np.ones(5)
    with pytest.raises(TypeError, match="X must have rmatvec"):
        sl.omp(LinearOperator((5, 7), matvec=lambda x: x[:5], dtype=float), y, 1)
    refuses(r"real numbers.*complex128", sl.lasso_path, aslinearoperator(1j * np.eye(5)), y, error=TypeError)
    with pytest.raises(TypeError, match="X must have rmatvec"):
        sl.omp(LinearOperator((5, 7), matvec=lambda x: 1j * x[:5], dtype=complex), y, 1)
    wrong = LinearOperator((5, 5), matvec=lambda x: 1j * x, rmatvec=lambda r: 1j * r, dtype=complex)
    refuses("X must have its adjoint as rmatvec", sl.omp, wrong, y, 1)
    refuses("standardize needs the entries of X", sl.omp, X, y, 1, standardize=True)
    refuses("X must be finite", sl.omp, aslinearoperator(np.diag([1.0, 2.0, np.nan, 1.0, 1.0])), y, 1)
    for norms, words in (([1.0, 2.0], "7 entries, one for each column"), (-np.ones(7), "nonnegative")):
        refuses(words, sl.Problem, X, y, column_norms=norms)
    refuses(r"column_norms\[\d\] is 1.0, but column", sl.omp, sl.Problem(X, y, column_norms=np.ones(7)), 2)
    for data, weight in ((np.eye(5), None), (X, y)):
        with pytest.raises(ValueError, match="column_norms are for a LinearOperator"):
            sl.Problem(data, y, sample_weight=weight, column_norms=np.ones(data.shape[1]))


def test_a_column_of_zeros_is_never_selected():
    X = aslinearoperator(np.diag([1.0, 0.0, 2.0]))
    path = sl.omp(X, np.ones(3), 3)
    assert path.support.tolist() == [2, 0]
    assert path.status is sl.Status.RANK_EXHAUSTED
    assert sl.lasso_path(X, np.ones(3)).status is sl.Status.COMPLETED
