import threading

import numpy as np
import pandas
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st
from oracles import residual, textbook_omp
from refusals import interrupt, refuses
from scipy.sparse.linalg import aslinearoperator
from seeds import SEEDS
from threadpoolctl import threadpool_limits

import sparselin as sl
from sparselin import Status, batch_omp
from sparselin.testing import ill_conditioned_designs, integer_designs


def gaussian(seed, n=20, d=30, N=12):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)), rng.normal(size=(n, N))


def assert_equals_omp(D, Y, k, rtol=1e-9, **options):
    """Row by row: picks, ends, coefficients and residual norms."""
    batch = batch_omp(D, Y, k, **options)
    each = {name: options.pop(name) for name in ("tol", "residual") if np.ndim(options.get(name)) == 1}
    assert batch.support.shape == batch.coef.shape == (Y.shape[1], k)
    for i, y in enumerate(np.asarray(Y).T):
        path = sl.omp(D, y, k, **options, **{name: levels[i] for name, levels in each.items()})
        t = batch.n_selected[i]
        assert batch.support[i].tolist() == path.support.tolist() + [-1] * (k - len(path.support))
        assert t == len(path.support)
        assert batch.status[i] is path.status
        longest = np.linalg.norm(D, axis=0).max() if isinstance(D, np.ndarray) else 0
        size = max(np.abs(path.coef).max(initial=0), np.linalg.norm(y) / longest if longest else 0)
        np.testing.assert_allclose(batch.coef[i, :t], path.coef, rtol=rtol, atol=rtol * size)
        assert not batch.coef[i, t:].any()
        slack = rtol * np.linalg.norm(y)
        norms = batch.residual_norms[i]
        np.testing.assert_allclose(norms[: t + 1], path.residual_norm, rtol=rtol, atol=slack)
        assert np.isnan(norms[t + 1 :]).all()
        assert batch.residual_norm[i] == norms[t]
    return batch


@given(SEEDS, st.sampled_from([1, 12]), st.booleans())
def test_supports_and_coefficients_are_the_textbook_ones(seed, N, unit):
    """N = 1 goes by samples, N = 12 by the Gram matrix."""
    D, Y = gaussian(seed, N=N)
    if unit:
        D /= np.linalg.norm(D, axis=0)
    batch = batch_omp(D, Y, 6)
    assert batch.n_redone == (N == 1)
    for i, y in enumerate(Y.T):
        S = textbook_omp(D, y, 6)
        assert batch.support[i].tolist() == S
        coef = np.linalg.lstsq(D[:, S], y, rcond=None)[0]
        np.testing.assert_allclose(batch.coef[i], coef, rtol=1e-10)
        np.testing.assert_allclose(batch.residual_norm[i], np.linalg.norm(residual(D, y, S)), rtol=1e-12)
    assert (batch.n_selected == 6).all()
    assert (batch.status == Status.COMPLETED).all()
    assert batch.n_features == 30


@given(SEEDS, st.sampled_from([1, 12]), st.lists(st.integers(0, 29), max_size=4, unique=True))
def test_forced_columns_come_first(seed, N, forced):
    D, Y = gaussian(seed, N=N)
    batch = assert_equals_omp(D, Y, 6, forced=forced)
    assert (batch.support[:, : len(forced)] == forced).all()
    assert batch.n_redone == (N == 1)
    for i, y in enumerate(Y.T):
        norms = [np.linalg.norm(residual(D, y, batch.support[i, :t])) for t in range(7)]
        np.testing.assert_allclose(batch.residual_norms[i], norms, rtol=1e-12)


@given(integer_designs(max_n=6, max_d=8, low=-1, high=1), SEEDS, st.sampled_from([None, 0.0, 0.6]))
def test_forced_columns_may_be_zero_or_dependent(design, seed, tol):
    """They have the coefficient zero, as in `omp`; signals of zero take the forced columns too."""
    D, y = design
    rng = np.random.default_rng(seed)
    d = D.shape[1]
    Y = np.c_[y, 0 * y, rng.integers(-1, 2, (len(y), 9))]
    forced = rng.permutation(d)[: rng.integers(0, d + 1)]
    assert_equals_omp(D, Y, d, forced=forced, tol=tol)


def test_a_constant_that_is_forced_costs_no_redoing(rng):
    """Pixels of a patch, all positive: a DC atom of another length than the others."""
    D = np.c_[np.full(64, 3.0), rng.normal(size=(64, 100))]
    Y = 100 + rng.normal(size=(64, 300))
    batch = assert_equals_omp(D, Y, 5, forced=[0], residual=0.9 * 8)
    assert batch.n_redone == 0
    lengths = np.linalg.norm(Y - Y.mean(axis=0), axis=0)
    np.testing.assert_allclose(batch.residual_norms[:, 1], lengths, rtol=1e-9)


@given(SEEDS, st.sampled_from([1, 12]))
def test_each_signal_has_levels_of_its_own(seed, N):
    D, Y = gaussian(seed, N=N)
    rng = np.random.default_rng(seed)
    Y *= 10.0 ** rng.uniform(-3, 3, N)
    tol, level = rng.uniform(0.1, 1.0, N), rng.uniform(0.1, 1.1, N) * np.linalg.norm(Y, axis=0)
    sizes = []
    for options in ({"tol": tol}, {"residual": level}, {"tol": tol, "residual": level}):
        batch = assert_equals_omp(D, Y, 8, **options)
        assert batch.n_redone == (N == 1)
        sizes.append(batch.n_selected)
    assert np.array_equal(sizes[2], np.minimum(sizes[0], sizes[1]))
    length = np.linalg.norm(Y, axis=0)
    silent = batch_omp(D, Y, 8, residual=length * (1 + 1e-15))
    assert (silent.status == Status.TOLERANCE).all()
    assert not silent.n_selected.any()
    assert (silent.support == -1).all()
    np.testing.assert_allclose(silent.residual_norm, length, rtol=1e-15)


def test_the_history_of_an_exact_fit_does_not_lose_half_the_digits(rng):
    """‖y‖² − Σz² would end at √eps·‖y‖."""
    D = rng.normal(size=(40, 60))
    X = np.zeros((60, 50))
    for x in X.T:
        x[rng.choice(60, 3, replace=False)] = [1, 1e-3, 1e-9]
    batch = batch_omp(D, D @ X, 20)
    fit = batch.status == Status.EXACT_FIT
    assert fit.sum() > 25
    assert (batch.residual_norm[fit] <= 1e-14 * np.linalg.norm(D @ X, axis=0)[fit]).all()
    for i in np.flatnonzero(fit & (batch.n_selected == 3)):
        with_two = np.linalg.norm(residual(D, D @ X[:, i], batch.support[i, :2]))
        np.testing.assert_allclose(batch.residual_norms[i, 2], with_two, rtol=1e-5)


@pytest.mark.parametrize("limit", [1, 2])
def test_the_callback_sees_what_is_done_and_stops(rng, limit):
    D, Y = rng.normal(size=(20, 30)), rng.normal(size=(20, 3000))
    whole, seen, here = batch_omp(D, Y, 4), [], threading.get_ident()

    def callback(batch):
        assert threading.get_ident() == here
        m = len(batch.support)
        assert np.array_equal(batch.support, whole.support[:m])
        assert np.array_equal(batch.residual_norms, whole.residual_norms[:m])
        assert (batch.status == Status.COMPLETED).all()
        seen.append(m)
        return len(seen) == stop_at

    with threadpool_limits(limit):
        stop_at = 0
        batch = batch_omp(D, Y, 4, callback=callback)
        assert seen == sorted(set(seen))
        assert seen[-1] == 3000
        assert np.array_equal(batch.coef, whole.coef)
        seen.clear()
        stop_at = 2
        batch = batch_omp(D, Y, 4, callback=callback)
    assert len(seen) == 2
    stopped = batch.status == Status.STOPPED
    assert not stopped[: seen[-1]].any()
    assert stopped.sum() >= 1000
    assert np.array_equal(batch.support[~stopped], whole.support[~stopped])
    assert (batch.support[stopped] == -1).all()
    assert not batch.n_selected[stopped].any()
    assert np.isnan(batch.residual_norm[stopped]).all()
    assert batch.coefficients.nnz == 4 * (~stopped).sum()


def test_a_callback_that_raises_ends_all_threads(rng):
    D, Y = rng.normal(size=(20, 30)), rng.normal(size=(20, 3000))

    refuses("^$", batch_omp, D, Y, 4, callback=interrupt, error=KeyboardInterrupt)
    assert batch_omp(D, Y, 4).n_redone == 0


@pytest.mark.parametrize("k", [1, 4, 5, 8, 9, 16, 17, 25])
def test_every_number_of_picks(rng, k):
    """Rows of W are taken four or eight at a time: 255, 256 and 257 columns, blocks of 64."""
    for d in (255, 256, 257):
        D, Y = rng.normal(size=(120, d)), rng.normal(size=(120, 300))
        batch = batch_omp(D, Y, k)
        assert batch.n_redone == 0
        for i in range(0, 300, 60):
            assert batch.support[i].tolist() == textbook_omp(D, Y[:, i], k)


@given(integer_designs(max_n=6, max_d=8, low=-1, high=1), SEEDS)
def test_equals_omp_on_designs_full_of_ties(design, seed):
    """Ties, zero and duplicated columns, rank below k, zero signals: k = d, many signals and one."""
    D, y = design
    Y = np.c_[y, np.random.default_rng(seed).integers(-1, 2, (len(y), 9))]
    assert_equals_omp(D, Y, D.shape[1])
    assert_equals_omp(D, Y[:, :1], D.shape[1])


@given(integer_designs(max_n=6, max_d=8), st.sampled_from([1e-12, 0.3, 0.7, 1.0]))
def test_equals_omp_with_a_tolerance(design, tol):
    D, y = design
    Y = np.c_[y, y[::-1], np.arange(len(y)), 0 * y]
    assert_equals_omp(D, Y, D.shape[1], tol=tol)


@given(ill_conditioned_designs())
def test_equals_omp_on_ill_conditioned_designs(design):
    """Up to what rounding leaves open: the picks are those of `omp`, or tie with them."""
    D, y = design
    k = D.shape[1]
    batch = batch_omp(D, np.c_[y, -y], k)
    path = sl.omp(D, y, k)
    assert batch.support[0].tolist() == batch.support[1].tolist()
    assert batch.support[0, : batch.n_selected[0]].tolist() == path.support.tolist()


def test_a_gap_that_float32_cannot_see_is_decided(rng):
    """Two columns, here and there, whose correlations differ by 1e-9: nothing is redone."""
    D, Y = rng.normal(size=(40, 150)), rng.normal(size=(40, 20))
    for y in Y.T:
        j = int(sl.omp(D, y, 1).support[0])
        twin = 149 if j < 75 else 0
        near = D[:, j] + 0.3 * rng.normal(size=40)
        near *= (D[:, j] @ y) / (near @ y)
        for share in (1 + 1e-9, 1 - 1e-9):
            E = D.copy()
            E[:, twin] = share * near
            batch = batch_omp(E, np.repeat(y[:, None], 200, axis=1), 1)
            assert batch.n_redone == 0
            assert set(batch.support[:, 0].tolist()) == {twin if share > 1 else j}


def test_a_gap_within_rounding_is_a_tie(rng):
    D, Y = rng.normal(size=(40, 30)), rng.normal(size=(40, 20))
    D[:, 20:] = -D[:, :10] * (1 + 4 * np.finfo(float).eps)
    batch = assert_equals_omp(D, Y, 6)
    assert batch.support.max() < 20
    assert batch.n_redone > 0


@pytest.mark.parametrize(("distance", "rtol"), [(1e-3, 1e-10), (1e-6, 1e-6)])
def test_nearly_dependent_columns_go_to_sample_space(rng, distance, rtol):
    """κ = 1e3 or 1e6: the Gram matrix would lose twice as many digits."""
    D = rng.normal(size=(40, 1)) + distance * rng.normal(size=(40, 12))
    Y = rng.normal(size=(40, 15))
    batch = assert_equals_omp(D, Y, 5, rtol=rtol)
    assert batch.n_redone == 15
    assert (batch.n_selected == 5).all()
    for S, coef, y in zip(batch.support, batch.coef, Y.T, strict=True):
        exact = np.linalg.lstsq(D[:, S], y, rcond=None)[0]
        np.testing.assert_allclose(coef, exact, rtol=rtol, atol=rtol * np.abs(exact).max())


@pytest.mark.parametrize("j", [0, 29])
def test_one_column_of_enormous_length(rng, j):
    D, Y = rng.normal(size=(20, 30)), rng.normal(size=(20, 40))
    D[:, j] *= 1e15
    batch = assert_equals_omp(D, Y, 6)
    assert (batch.support[:, 0] == j).all()
    assert batch.n_redone == 0


def test_columns_of_many_lengths(rng):
    D, Y = rng.normal(size=(20, 30)), rng.normal(size=(20, 40))
    D *= 10.0 ** rng.uniform(-6, 6, 30)
    D[:, 4] = 0
    batch = assert_equals_omp(D, Y, 8)
    assert not (batch.support == 4).any()


def test_a_column_orthogonal_to_the_signals_but_long(rng):
    """Rounding decides whether the column is correlated, so such signals are solved in sample space."""
    D, Y = rng.normal(size=(20, 30)), rng.normal(size=(20, 40))
    Y[0] = 0
    D[:, 7] = 0
    D[0, 7] = 1e15
    assert_equals_omp(D, Y, 3)


def test_exact_fits_need_no_redoing(rng):
    """Noiseless sparse signals end by themselves, the usual test of a dictionary."""
    D = rng.normal(size=(40, 60))
    D /= np.linalg.norm(D, axis=0)
    X = np.zeros((60, 200))
    for x in X.T:
        x[rng.choice(60, 3, replace=False)] = rng.uniform(1, 2, 3)
    batch = batch_omp(D, D @ X, 20)
    assert (batch.status == Status.EXACT_FIT).all()
    assert batch.n_redone < 20
    np.testing.assert_allclose(batch.to_sparse().toarray().T, X, atol=1e-12)
    batch = batch_omp(D, D @ X, 20, tol=1e-9)
    assert (batch.status == Status.TOLERANCE).all()
    assert batch.n_redone == 0


@pytest.mark.parametrize("noise", [1e-8, 1e-12])
def test_small_residuals(rng, noise):
    """Below the sight of float32; of the Gram matrix too in the second case."""
    D, Y = rng.normal(size=(40, 60)), rng.normal(size=(40, 30))
    batch = assert_equals_omp(D, D[:, :1] + noise * Y, 4)
    assert (batch.status == Status.COMPLETED).all()
    assert noise < 1e-9 or batch.n_redone == 0


def test_tol_is_a_relative_residual_norm_for_each_signal(rng):
    D, Y = rng.normal(size=(20, 30)), rng.normal(size=(20, 50)) * 10.0 ** rng.uniform(-12, 12, 50)
    batch = assert_equals_omp(D, Y, 10, tol=0.4)
    assert batch.n_redone == 0
    assert len(set(batch.n_selected.tolist())) > 2


def test_float32_data_end_as_float32_and_are_compared_in_float64(rng):
    D = rng.normal(size=(20, 24)).astype(np.float32)
    D[:, 12:] = D[:, :12] * np.float32(1 + 2e-7)
    X = np.zeros((24, 40), np.float32)
    X[rng.integers(0, 12, 40), np.arange(40)] = 1
    Y = np.c_[D @ X, rng.normal(size=(20, 40)).astype(np.float32)]
    batch = assert_equals_omp(D, Y, 4, rtol=1e-4)
    assert batch.support.min() == -1
    assert batch.support[:, 0].min() >= 12
    assert (batch.status[:40] == Status.EXACT_FIT).all()
    assert batch.n_redone == 0


def test_y_takes_the_dtype_of_the_dictionary(rng):
    D, Y = rng.normal(size=(20, 30)), rng.integers(-3, 4, (20, 10))
    assert batch_omp(D.astype(np.float32), Y, 3).coef.dtype == np.float32
    third, single = Y / 3, D.astype(np.float32)
    coef = batch_omp(single, third, 3).coef
    assert np.array_equal(coef, batch_omp(single, third.astype(np.float32), 3).coef)
    norms = batch_omp(single, third, 1).residual_norm
    assert np.array_equal(norms, batch_omp(single, third.astype(np.float32), 1).residual_norm)
    assert batch_omp(D, Y.astype(np.float32), 3).coef.dtype == np.float64
    assert batch_omp(D > 0, Y > 0, 3).coef.dtype == np.float64


def test_the_number_of_threads_changes_nothing(rng):
    D, Y = rng.normal(size=(30, 300)), rng.normal(size=(30, 2500))
    many = batch_omp(D, Y, 6)
    with threadpool_limits(1):
        one = batch_omp(D, Y, 6)
    assert np.array_equal(many.support, one.support)
    assert np.array_equal(many.coef, one.coef)
    assert np.array_equal(many.residual_norm, one.residual_norm)


def test_rows_are_independent_of_their_neighbours(rng):
    D, Y = rng.normal(size=(20, 30)), rng.normal(size=(20, 700))
    Y[:, ::7] = 0
    Y[:, 3::7] = D[:, [5]]
    batch = assert_equals_omp(D, Y[:, :40], 5)
    whole = batch_omp(D, Y, 5)
    assert np.array_equal(whole.support[:40], batch.support)


def test_to_sparse(rng):
    D, Y = rng.normal(size=(20, 30)), rng.normal(size=(20, 7))
    Y[:, 2] = 0
    Y[:, 4] = D[:, 9]
    batch = batch_omp(D, Y, 4)
    sparse = batch.to_sparse()
    assert sparse.format == "csr"
    assert sparse.shape == (7, 30)
    assert sparse.nnz == batch.n_selected.sum()
    assert sparse.has_sorted_indices
    for i, y in enumerate(Y.T):
        np.testing.assert_allclose(sparse.toarray()[i], sl.omp(D, y, 4).dense_coef(), atol=1e-12)


def test_coefficients_and_reconstruction(rng):
    D, Y = rng.normal(size=(20, 30)), rng.normal(size=(20, 7))
    Y[:, 2] = 0
    batch = batch_omp(D, Y, 4)
    assert batch.coefficients.format == "csc"
    assert batch.coefficients.shape == (30, 7)
    assert np.array_equal(batch.coefficients.toarray(), batch.to_sparse().toarray().T)
    signals = batch.reconstruct(D)
    np.testing.assert_allclose(np.linalg.norm(Y - signals, axis=0), batch.residual_norm, rtol=1e-12)
    for form in (scipy.sparse.csr_array, scipy.sparse.csc_matrix, np.asfortranarray, list, pandas.DataFrame):
        other = batch.reconstruct(form(D))
        assert isinstance(other, np.ndarray)
        np.testing.assert_allclose(other, signals, rtol=1e-12, atol=1e-14)
    assert batch.reconstruct(D[:3]).shape == (3, 7)
    single = batch_omp(D.astype(np.float32), Y, 4)
    assert single.coefficients.dtype == single.reconstruct(D.astype(np.float32)).dtype == np.float32
    for wrong in (D.T, D[0], D[:, :29]):
        refuses(r"D must have shape \(n, 30\)", batch.reconstruct, wrong)
    refuses("D must hold numbers", batch.reconstruct, D.astype(str), error=TypeError)


def test_large_dictionaries_do_without_a_gram_matrix_or_a_dense_copy(rng, monkeypatch):
    D, Y = rng.normal(size=(20, 30)), rng.normal(size=(20, 40))
    Y[:, 3] = D[:, 2]
    expected = batch_omp(D, Y, 5)
    module = __import__("sys").modules["sparselin.greedy.batch_omp"]
    monkeypatch.setattr(module, "_LARGEST", 100)
    for given_D in (D, scipy.sparse.csr_array(D)):
        calls = []
        options = {"residual": np.r_[np.full(20, 1e9), np.zeros(20)]}
        batch = assert_equals_omp(given_D, Y, 5, forced=[3], tol=0.3, **options)
        assert batch.n_selected[:20].tolist() == [1] * 20
        batch = batch_omp(given_D, Y, 5, callback=lambda b, calls=calls: calls.append(b) or len(calls) == 7)
        assert batch.n_selected[-1] == 0 or batch.n_redone == 40
        batch = batch_omp(given_D, scipy.sparse.csr_array(Y), 5)
        assert batch.n_redone == 40
        assert np.array_equal(batch.support, expected.support)
        np.testing.assert_allclose(batch.coef, expected.coef, rtol=1e-10)
        assert batch.status.tolist() == expected.status.tolist()


D, Y = np.eye(3), np.ones((3, 4))


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ((D, Y[:2], 1), ValueError, "Y must have 3 rows, one for each row of D"),
        ((D, Y.T, 1), ValueError, "pass Y.T"),
        ((D, Y[:, 0], 1), ValueError, "Y must be a matrix"),
        ((D, Y[:, :0], 1), ValueError, "Y must have at least one"),
        ((D * np.nan, Y, 1), ValueError, "D must be finite"),
        ((D, np.where(np.eye(3, 4) > 0, np.inf, 1), 1), ValueError, r"Y must be finite.*\(0, 0\)"),
        ((D, Y.astype(str), 1), TypeError, "Y must hold real numbers"),
        ((D * 1e200, Y, 1), ValueError, "column 0 of D has a norm whose square over- or underflows"),
        ((D, Y * [1, 1, 1e-200, 1], 1), ValueError, "column 2 of Y has a norm"),
        ((D.astype(np.float32), Y * 1e300, 1), ValueError, "column 0 of Y has a norm"),
    ],
)
def test_bad_input(arguments, error, words):
    refuses(words, batch_omp, *arguments, error=error)


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"residual": [1, 1, -2, 1]}, ValueError, "residual must be nonnegative; got -2.0 for signal 2"),
        ({"tol": [1, 1, 1]}, ValueError, r"tol must be a number, or have shape \(4,\), one for each signal"),
        ({"tol": np.ones((4, 1))}, ValueError, r"tol must be a number.*got shape \(4, 1\)"),
        ({"tol": [1, 1, np.nan, 1]}, ValueError, "tol must be finite"),
        ({"residual": ["3"] * 4}, TypeError, "residual must hold real numbers"),
    ],
)
def test_bad_options(options, error, words):
    refuses(words, batch_omp, D, Y, 1, error=error, **options)


@given(SEEDS)
def test_weights_operators_and_nonnegative_coefficients(seed):
    rng = np.random.default_rng(seed)
    (D, Y), weight = gaussian(seed, 9, 12, 4), rng.integers(1, 4, 9)
    for options in (
        {"sample_weight": weight},
        {"positive": True},
        {"positive": True, "sample_weight": weight},
    ):
        for kind in (D, scipy.sparse.csc_array(D), aslinearoperator(D)):
            assert_equals_omp(kind, Y, 5, tol=0.3, forced=[2], **options)
    assert_equals_omp(aslinearoperator(D + 1j * D[::-1]), Y, 5, residual=0.5, sample_weight=weight)
    refuses("positive is for real data", batch_omp, 1j * D, Y, 2, positive=True)


def test_the_conventions_of_spams_and_scikit_learn(rng):
    """Check docs/guide/dictionaries.md: `spams.omp` is OLS, tolerances are squares, `alpha` has no effect."""
    decomposition = pytest.importorskip("sklearn.decomposition")
    D, Y = rng.normal(size=(16, 40)), rng.normal(size=(16, 30))
    D /= np.linalg.norm(D, axis=0)
    how = {"algorithm": "omp", "n_nonzero_coefs": 5}
    for alpha in (None, 1.0):
        codes = decomposition.sparse_encode(Y.T, D.T, **how, alpha=alpha)
        np.testing.assert_allclose(codes.T, batch_omp(D, Y, 5).coefficients.toarray(), atol=1e-12)
    spams = pytest.importorskip("spams")
    D, Y = np.asfortranarray(D), np.asfortranarray(Y)
    for k, level in ((5, 0.0), (16, 2.0)):
        theirs = spams.omp(Y, D, L=k, eps=level**2).toarray()
        ours = [sl.ols(D, y, k, residual=level).dense_coef() for y in Y.T]
        np.testing.assert_allclose(theirs.T, ours, atol=1e-10)
        assert np.abs(theirs - batch_omp(D, Y, k, residual=level).coefficients.toarray()).max() > 0.1
