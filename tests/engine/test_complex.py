"""OMP and OLS over ℂ, against exact arithmetic: Gaussian integers, embedded in rational matrices."""

from unittest import mock

import numpy as np
import pytest
import scipy.sparse
import scipy.stats
from flint import fmpq, fmpq_mat
from hypothesis import given
from hypothesis import strategies as st
from refusals import refuses
from scipy.sparse.linalg import LinearOperator, aslinearoperator
from seeds import SEEDS

import sparselin as sl
from sparselin import Status
from sparselin.greedy import _complex

pandas = pytest.importorskip("pandas")
METHODS = pytest.mark.parametrize("method", [sl.omp, sl.ols])


def gaussian(seed, n=12, d=18):
    rng = np.random.default_rng(seed)
    X, Y = (rng.normal(size=(n, d)) + 1j * rng.normal(size=(n, d)) for _ in range(2))
    return X, Y[:, 0]


def rational(M):
    """The rational matrix [Re −Im; Im Re] of Gaussian integers."""
    whole = np.block([[M.real, -M.imag], [M.imag, M.real]])
    return fmpq_mat(*whole.shape, [fmpq(int(v)) for v in whole.ravel()])


def square(v):
    return sum((v[i, 0] ** 2 for i in range(v.nrows())), fmpq(0))


def off(S, v):
    """P_S^⊥v in the embedding, for independent columns S."""
    if not len(S):
        return v
    A = rational(S)
    return v - A * (A.transpose() * A).solve(A.transpose() * v)


def exactly(X, y, k, quotients):
    """S, |c|² (or its quotient by ‖z‖²) of each pick, T of each, squared residual norms, and the end."""
    d, S, tops, ties, norms = X.shape[1], [], [], [], []
    first = [rational(X[:, [j]]) * fmpq_mat(2, 1, [1, 0]) for j in range(d)]
    while True:
        r = off(X[:, S], rational(y[:, None]) * fmpq_mat(2, 1, [1, 0]))
        norms.append(square(r))
        if len(S) == k:
            return S, tops, ties, norms, Status.COMPLETED
        c = [square(rational(X[:, [j]]).transpose() * r) for j in range(d)]
        z = [square(off(X[:, S], x)) for x in first]
        divisors = z if quotients else [fmpq(1)] * d
        size = [c[j] / divisors[j] if z[j] else fmpq(0) for j in range(d)]
        if not any(size):
            if not norms[-1]:
                return S, tops, ties, norms, Status.EXACT_FIT
            return S, tops, ties, norms, Status.NO_CORRELATION if any(z) else Status.RANK_EXHAUSTED
        T = [j for j in range(d) if size[j] == max(size)]
        tops.append(c[T[0]])
        ties.append(tuple(T))
        S.append(T[0])


@st.composite
def designs(draw):
    n, d = draw(st.integers(1, 5)), draw(st.integers(1, 6))
    rng = np.random.default_rng(draw(SEEDS))
    most = draw(st.sampled_from([1, 2, 9]))
    X, y = (rng.integers(-most, most + 1, shape) @ [1, 1j] for shape in ((n, d, 2), (n, 2)))
    for j in range(draw(st.integers(0, d - 1))):  # columns that are others, but for a unit
        X[:, j + 1] = X[:, rng.integers(0, j + 1)] * 1j ** int(rng.integers(4))
    return X, y


def root(q):
    return np.sqrt(float(q.p) / float(q.q))


USUAL = {"_LEAST": 10**6}  # c is computed from the residual
ROWS = {"_LEAST": 0, "_SHARE": 100.0}  # rows of XᴴX also for a small design


@METHODS
@pytest.mark.parametrize("settings", [USUAL, ROWS])
@given(design=designs())
def test_picks_ties_and_ends_are_the_exact_ones(method, settings, design):
    X, y = design
    d = X.shape[1]
    S, tops, ties, norms, end = exactly(X, y, d, method is sl.ols)
    with mock.patch.multiple(_complex, **settings):
        path = method(X, y, d)
    assert path.support.tolist() == S
    assert path.status is end
    assert path.ties == tuple(ties)
    slack = 1e-13 * np.linalg.norm(y)
    np.testing.assert_allclose(path.residual_norm, [root(q) for q in norms], rtol=1e-12, atol=slack)
    longest = np.linalg.norm(X, axis=0).max()
    np.testing.assert_allclose(path.lam_star, [root(q) for q in tops], rtol=1e-11, atol=slack * longest)
    fit = np.linalg.norm(y - X[:, S] @ path.coef)
    np.testing.assert_allclose(fit, root(norms[-1]), rtol=1e-12, atol=slack)


@METHODS
@given(seed=SEEDS, single=st.booleans(), forced=st.lists(st.integers(0, 99), max_size=3, unique=True))
def test_guessed_rows_change_no_pick(method, seed, single, forced):
    """The picks are those by passes over X, for any guesses, and no product is computed for a known row."""
    X, y = gaussian(seed, 40, 100)
    X = X.astype(np.complex64) if single else X
    rng = np.random.default_rng(seed)
    X[:, :50] += X[:, 50:] * rng.choice([0, 3])  # correlated columns
    weight = rng.random(40)
    expected = method(X, y, 15, forced=forced, sample_weight=weight)
    computed = []
    find, multiply = _complex.RowsAhead.of, _complex.ComplexColumns.gram_rows

    def guess(self, S, score):
        return find(self, S, rng.random(len(score)) if rng.random() < 0.5 else score)

    def record(self, J, count):
        computed.extend(J.tolist())
        return multiply(self, J, count)

    with (
        mock.patch.multiple(_complex, **ROWS),
        mock.patch.object(_complex.RowsAhead, "of", guess),
        mock.patch.object(_complex.ComplexColumns, "gram_rows", record),
    ):
        path = method(X, y, 15, forced=forced, sample_weight=weight)
    assert computed
    assert len(set(computed)) == len(computed)
    assert path.support.tolist() == expected.support.tolist()
    assert (path.ties, path.status) == (expected.ties, expected.status)
    np.testing.assert_allclose(path.lam_star, expected.lam_star, rtol=1e-5 if single else 1e-10)


@METHODS
@given(seed=SEEDS, forced=st.lists(st.integers(0, 17), max_size=3, unique=True))
def test_the_fields(method, seed, forced):
    X, y = gaussian(seed)
    path = method(X, y, 6, forced=forced)
    assert path.coef_path.dtype == np.complex128
    assert path.lam_star.dtype == path.margin.dtype == path.residual_norm.dtype == np.float64
    assert path.by_length == (method is sl.ols)
    assert path.support[: len(forced)].tolist() == forced
    assert np.isnan(path.lam_star).tolist() == [i < len(forced) for i in range(6)]
    for t in range(7):
        S = path.support[:t]
        coef = np.linalg.lstsq(X[:, S], y)[0]
        np.testing.assert_allclose(path.coef_at(t), coef, rtol=1e-9, atol=1e-10 * np.abs(coef).max(initial=0))
        r = y - X[:, S] @ coef
        np.testing.assert_allclose(path.residual_norm[t], np.linalg.norm(r), rtol=1e-11)
        # in reals, on the same support
        real = np.block([[X.real, -X.imag], [X.imag, X.real]])[:, np.r_[S, S + 18]]
        whole = np.r_[y.real, y.imag]
        left = whole - real @ np.linalg.lstsq(real, whole)[0]
        np.testing.assert_allclose(path.residual_norm[t], np.linalg.norm(left), rtol=1e-11)
        if len(forced) <= t < 6:
            Z = X - X[:, S] @ np.linalg.lstsq(X[:, S], X)[0]
            size = np.abs(X.conj().T @ r)
            size[S] = 0
            np.testing.assert_allclose(path.lam_star[t], size[path.support[t]], rtol=1e-9)
            if method is sl.ols:
                size[size > 0] /= np.linalg.norm(Z[:, size > 0], axis=0)
            second, best = np.sort(size)[-2:]
            assert size[path.support[t]] == best
            np.testing.assert_allclose(path.margin[t], (best - second) / best, rtol=1e-6, atol=1e-9)


@METHODS
@given(seed=SEEDS)
def test_rotations_and_phases_change_no_pick(method, seed):
    X, y = gaussian(seed)
    path = method(X, y, 6)
    Q = scipy.stats.unitary_group.rvs(12, random_state=seed)
    turned = method(Q @ X, Q @ y, 6)
    assert turned.support.tolist() == path.support.tolist()
    np.testing.assert_allclose(turned.coef, path.coef, rtol=1e-8)
    rng = np.random.default_rng(seed)
    phase, common = np.exp(2j * np.pi * rng.random(18)), np.exp(2j * np.pi * rng.random())
    turned = method(X * phase, y * common, 6)
    assert turned.support.tolist() == path.support.tolist()
    np.testing.assert_allclose(turned.coef, path.coef / phase[path.support] * common, rtol=1e-9)
    np.testing.assert_allclose(turned.lam_star, path.lam_star, rtol=1e-9)


@METHODS
@given(seed=SEEDS, tol=st.sampled_from([None, 0.5]))
def test_real_data_as_complex(method, seed, tol):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(12, 18)), rng.normal(size=12)
    path = method(X, y, 12, tol=tol)
    for given_X, given_y in ((X + 0j, y), (X, y + 0j), ((X + 0j).tolist(), y)):
        other = method(given_X, given_y, 12, tol=tol)
        assert other.support.tolist() == path.support.tolist()
        assert other.status is path.status
        assert other.ties == path.ties
        assert not other.coef.imag.any()
        np.testing.assert_allclose(other.coef, path.coef, rtol=1e-6)
        np.testing.assert_allclose(other.residual_norm, path.residual_norm, rtol=1e-8, atol=1e-13)


@METHODS
def test_a_column_and_its_multiple_by_i_are_tied_and_dependent(rng, method):
    for _ in range(20):
        x = rng.normal(size=8) + 1j * rng.normal(size=8)
        other = rng.normal(size=8) + 1j * rng.normal(size=8)
        X = np.column_stack([0.1 * other, 1j * x, x, np.exp(1j) * x])
        path = method(X, 3 * x + 0.01 * other, 4)
        assert path.support.tolist() == [1, 0]
        assert path.ties[0] == (1, 2, 3)
        assert path.margin[0] < 1e-14
        assert path.status is Status.EXACT_FIT


@METHODS
def test_dependent_forced_columns(method):
    X = np.eye(4)[:, :2] * 1j
    path = method(np.c_[X, (1 + 1j) * X[:, 0], 0 * X[:, 0]], [1, 2j, 3, 0], 4, forced=[0, 2, 3])
    assert path.support.tolist() == [0, 2, 3, 1]
    np.testing.assert_allclose(path.coef, [-1j, 0, 0, 2], rtol=1e-15)
    np.testing.assert_allclose(path.residual_norm**2, [14, 13, 13, 13, 9], rtol=1e-14)


@METHODS
def test_forms_weights_stops_and_precision(rng, method):
    X, y = gaussian(3)
    path = method(X, y, 6)
    for form in (np.asfortranarray, scipy.sparse.csr_array, scipy.sparse.csc_matrix, np.ndarray.tolist):
        other = method(form(X), y, 6)
        assert other.support.tolist() == path.support.tolist()
        np.testing.assert_allclose(other.coef, path.coef, rtol=1e-12)
    single = method(X.astype(np.complex64), y, 6)
    assert single.support.tolist() == path.support.tolist()
    assert single.coef_path.dtype == np.complex64
    assert single.lam_star.dtype == single.residual_norm.dtype == np.float32
    np.testing.assert_allclose(single.coef, path.coef, rtol=1e-4)
    assert method(X.real.astype(np.float32), y, 3).coef.dtype == np.complex64
    exact = (X[:, 4] - X[:, 5]).astype(np.complex64)
    assert method(X.astype(np.complex64), exact, 12).status is Status.EXACT_FIT
    weight = rng.integers(0, 4, 12)
    weighted = method(X, y, 5, sample_weight=weight)
    repeated = method(np.repeat(X, weight, axis=0), np.repeat(y, weight), 5)
    assert weighted.support.tolist() == repeated.support.tolist()
    np.testing.assert_allclose(weighted.coef, repeated.coef, rtol=1e-9)
    norms = path.residual_norm
    stopped = method(X, y, 6, residual=norms[3] * 1.001)
    assert (len(stopped.support), stopped.status) == (3, Status.TOLERANCE)
    assert len(method(X, y, 6, tol=norms[2] / norms[0] * 1.001, residual=norms[4]).support) == 2
    seen = []
    stopped = method(X, y, 6, callback=lambda path: seen.append(path.support.tolist()) or len(seen) == 2)
    assert seen == [path.support[:1].tolist(), path.support[:2].tolist()]
    assert stopped.status is Status.STOPPED
    assert not X.flags.writeable or np.array_equal(X, gaussian(3)[0])


@METHODS
@given(seed=SEEDS, forced=st.lists(st.integers(0, 17), max_size=2, unique=True))
def test_an_operator_selects_as_its_matrix(method, seed, forced):
    X, y = gaussian(seed)
    weight = np.random.default_rng(seed).integers(1, 4, 12)
    for options in ({}, {"sample_weight": weight}, {"forced": forced}, {"residual": 1.0}):
        path, other = (method(data, y, 6, **options) for data in (X, aslinearoperator(X)))
        assert other.support.tolist() == path.support.tolist()
        assert (other.ties, other.status) == (path.ties, path.status)
        np.testing.assert_allclose(other.coef, path.coef, rtol=1e-9)
        np.testing.assert_allclose(other.lam_star, path.lam_star, rtol=1e-9)


@METHODS
@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e12])
def test_an_operator_in_single_precision(method, scale):
    """Its products are known to float32's eps, also where c² is beyond its range."""
    X, y = (scale * v for v in gaussian(4))
    X, y = X.astype(np.complex64), y.astype(np.complex64)
    for options in ({}, {"sample_weight": np.arange(12) % 2 + 1}, {"forced": [3]}):
        path, other = (method(data, y, 6, **options) for data in (X, aslinearoperator(X)))
        assert other.support.tolist() == path.support.tolist()
        assert other.status is path.status
        np.testing.assert_allclose(other.coef, path.coef, rtol=1e-4)
    exact = (X[:, 4] - X[:, 5]).astype(np.complex64)
    assert method(aslinearoperator(X), exact, 12).status is Status.EXACT_FIT


def test_sparse_spectra_from_some_samples_by_an_fft(rng):
    """Compressed sensing: the frequencies of a signal from 64 of its 256 samples, no matrix in sight."""
    n, d = 64, 256
    rows = np.sort(rng.permutation(d)[:n])

    def rmatvec(r):
        whole = np.zeros((d, *r.shape[1:]), complex)
        whole[rows] = r
        return np.fft.fft(whole, axis=0, norm="ortho")

    def matvec(v):
        return np.fft.ifft(v, axis=0, norm="ortho")[rows]

    F = LinearOperator((n, d), matvec, rmatvec, matmat=matvec, rmatmat=rmatvec, dtype=complex)
    beta = np.zeros(d, complex)
    beta[[3, 50, 200]] = 2 + 1j, -3j, 1.5
    path = sl.omp(F, F @ beta, 10)
    assert sorted(path.support) == [3, 50, 200]
    assert path.status is Status.EXACT_FIT
    np.testing.assert_allclose(path.dense_coef(), beta, atol=1e-13)


@given(SEEDS)
def test_batch_omp_equals_omp(seed):
    X, _ = gaussian(seed)
    rng = np.random.default_rng(seed)
    Y = np.column_stack([*(rng.normal(size=(4, 12)) + 1j * rng.normal(size=(4, 12))), X[:, 3], 0 * X[:, 0]])
    tol, level = rng.uniform(0, 0.8, 6), rng.uniform(0, 3, 6)
    batch = sl.batch_omp(X, Y, 5, tol=tol, residual=level, forced=[7])
    assert batch.n_redone == 6
    assert batch.coef.dtype == np.complex128
    assert batch.residual_norms.dtype == np.float64
    for i in range(6):
        path = sl.omp(X, Y[:, i], 5, tol=tol[i], residual=level[i], forced=[7])
        t = len(path.support)
        assert batch.support[i].tolist() == path.support.tolist() + [-1] * (5 - t)
        assert batch.status[i] is path.status
        assert np.array_equal(batch.coef[i, :t], path.coef)
        assert np.array_equal(batch.residual_norms[i, : t + 1], path.residual_norm)
    off = np.linalg.norm(Y - batch.reconstruct(X), axis=0)
    np.testing.assert_allclose(off, batch.residual_norm, rtol=1e-10, atol=1e-13)


def test_batch_omp_of_other_forms():
    X, y = gaussian(1)
    Y = np.column_stack([y, X[:, 2], y.conj()])
    batch = sl.batch_omp(X, Y, 4)
    for D, signals in (
        (scipy.sparse.csc_array(X), Y),
        (X, scipy.sparse.csr_array(Y)),
        (X.tolist(), Y.tolist()),
    ):
        assert np.array_equal(sl.batch_omp(D, signals, 4).support, batch.support)
    assert sl.batch_omp(X.real, Y, 4).coef.dtype == np.complex128
    single = sl.batch_omp(X.astype(np.complex64), Y, 4)
    assert single.coef.dtype == np.complex64
    assert single.residual_norms.dtype == np.float32
    assert np.array_equal(single.support, batch.support)
    stopped = sl.batch_omp(X, Y, 4, callback=lambda batch: len(batch.support) == 2)
    assert [status.name for status in stopped.status] == ["COMPLETED", "EXACT_FIT", "STOPPED"]


X, Y = gaussian(0, 4, 3)


BAD_INPUT = [
    (lambda: sl.omp(X, Y[:3], 1), ValueError, "y must have 4 entries"),
    (lambda: sl.omp(X[0], Y, 1), ValueError, "X must be a matrix"),
    (lambda: sl.omp(X * np.nan, Y, 1), ValueError, "X must be finite"),
    (lambda: sl.ols(X, np.array([1, 2, 3, 1j * np.inf]), 1), ValueError, "y must be finite"),
    (lambda: sl.omp(X, Y, 4), ValueError, r"k must be in 1\.\.3"),
    (lambda: sl.omp(X, Y, 1, forced=[0, 1]), ValueError, "forced features count in k"),
    (lambda: sl.omp(X, Y, 1, tol=-1), ValueError, "tol must be nonnegative"),
    (lambda: sl.omp(X, Y, 1, sample_weight=1j * np.ones(4)), TypeError, "sample_weight must hold real"),
    (lambda: sl.omp(X * 1e200, Y, 1), ValueError, "column 0 of X has a norm whose square"),
    (lambda: sl.omp(X, Y * 1e-200, 1), ValueError, "y has a norm whose square"),
    (lambda: sl.ols(X, Y, 1, intercept=True), ValueError, "column of ones in forced"),
    (lambda: sl.omp(X, Y, 1, standardize=True), ValueError, "are for real data"),
    (lambda: sl.omp(X, None, 1), TypeError, "y is missing"),
    (lambda: sl.batch_omp(X, Y, 1), ValueError, "Y must be a matrix"),
    (lambda: sl.omp(pandas.DataFrame(X), Y, 1), TypeError, r"complex data, pass X\.to_numpy\(\)"),
    (lambda: sl.batch_omp(X, X.T, 1), ValueError, "Y must have 4 rows"),
    (lambda: sl.Problem(X, Y), TypeError, "Only omp, ols and batch_omp take complex data"),
]


@pytest.mark.parametrize(("call", "error", "words"), BAD_INPUT)
def test_bad_input(call, error, words):
    refuses(words, call, error=error)
