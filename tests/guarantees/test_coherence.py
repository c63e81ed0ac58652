"""Coherence, the Babel function and the exact recovery coefficient, against rational arithmetic and OMP."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse
from fractional import dot, fractions, gram, solve
from refusals import refuses

import sparselin as sl

EPS = float(np.finfo(float).eps)
FUNCTIONS = (sl.coherence, lambda X: sl.babel(X, 3), lambda X: sl.exact_recovery_coefficient(X, [0, 1]))


def squares_of_cosines(X):
    """⟨X_i, X_j⟩²/(‖X_i‖²‖X_j‖²) of the nonzero columns, i ≠ j, in fractions."""
    G = gram(fractions(X.T[X.any(axis=0)]))
    d = range(len(G))
    return [[G[i][j] ** 2 / (G[i][i] * G[j][j]) if i != j else Fraction(0) for j in d] for i in d]


def exact_babel(X, m):
    """Return μ₁(m) by its definition, over all sets of m nonzero columns, or of all if there are fewer."""
    cosines = np.sqrt(np.array(squares_of_cosines(X), float))
    d = len(cosines)
    m = min(m, d - 1)
    if m < 1:
        return 0.0
    pairs = ((S, j) for S in itertools.combinations(range(d), m) for j in range(d) if j not in S)
    return max(sum(cosines[i, j] for i in S) for S, j in pairs)


def designs(rng):
    yield "Gaussian", rng.standard_normal((7, 6))
    yield "integers", rng.integers(-2, 3, (5, 7)).astype(float)
    X = rng.standard_normal((6, 6))
    X[:, 2], X[:, 4] = 0, -3 * X[:, 1]
    yield "zero and parallel", X
    yield "orthogonal", np.eye(5)[:, :4] * [1, 2, 3, 4]
    yield "tiny and huge", rng.standard_normal((5, 5)) * [1e-200, 1e200, 1.0, 1e-308, 1e150]
    yield "one column", np.ones((3, 1))
    yield "one row", np.array([[1.0, -2.0, 0.0]])
    yield "one nonzero", np.array([[0.0, 2.0], [0.0, 1.0]])
    yield "nothing", np.zeros((3, 2))


def test_babel_is_the_definition(rng):
    for name, X in designs(rng):
        found = sl.babel(X, 7)
        for m in range(1, 8):
            bound = m * (len(X) + m + 4) * EPS
            assert abs(found[m - 1] - exact_babel(X, m)) <= bound, (name, m)
        assert sl.coherence(X) == found[0] <= 1, name
        assert (np.diff(found) >= 0).all(), name


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("form", [np.asarray, scipy.sparse.csc_array])
@pytest.mark.parametrize("exponent", [1022, 1000, 480, -480, -1000, -1022, [1020, -1000, 3, 0, -500]])
def test_columns_near_the_range_of_floats(form, exponent, rng):
    """All are exact multiples by powers of two, so that every bit but those of the ERC stays."""
    X = rng.integers(-3, 4, (6, 5)).astype(float)
    X[0] = 1
    huge = form(np.ldexp(X, exponent))
    assert sl.coherence(huge) == sl.coherence(form(X))
    assert np.array_equal(sl.babel(huge, 3), sl.babel(form(X), 3))
    if np.ndim(exponent) == 0:
        expected = sl.exact_recovery_coefficient(form(X), [0, 2])
        assert sl.exact_recovery_coefficient(huge, [0, 2]) == pytest.approx(expected, rel=1e-12)
    else:
        assert sl.exact_recovery_coefficient(huge, [1, 2]) == np.inf  # X_0 is 2^2020 times as long as X_1


def test_blocks_make_no_difference(rng, monkeypatch):
    X = rng.standard_normal((8, 23))
    whole = sl.babel(X, 5)
    monkeypatch.setattr("sparselin.guarantees.coherence._BLOCK", 50)
    np.testing.assert_allclose(sl.babel(X, 5), whole, rtol=60 * EPS)
    np.testing.assert_allclose(sl.babel(scipy.sparse.csr_array(X), 5), whole, rtol=60 * EPS)


def test_sparse_rows_of_the_gram_matrix_may_be_short(rng):
    """Fewer nonzero inner products than m in every row, or none."""
    for density in (0.05, 0.15, 0.4):
        X = scipy.sparse.random_array((12, 15), density=density, rng=rng, format="csc")
        np.testing.assert_allclose(sl.babel(X, 9), sl.babel(X.toarray(), 9), rtol=200 * EPS)


def test_it_agrees_with_the_field_of_sparse_eigenvalues(rng):
    X = rng.standard_normal((9, 7)) * 2.0 ** np.arange(7)
    spectrum = sl.sparse_eigenvalues(X, 3)
    assert spectrum.coherence == sl.coherence(X)
    assert np.array_equal(spectrum.babel, sl.babel(X, 3))


# The exact recovery coefficient


def exact_erc(X, S):
    """Return the coefficient by solving the normal equations in fractions."""
    columns = fractions(X.T)
    chosen = [columns[i] for i in S]
    outside = [x for j, x in enumerate(columns) if j not in S]
    return max(sum(map(abs, solve(gram(chosen), [dot(a, x) for a in chosen]))) for x in outside)


@pytest.mark.parametrize("seed", range(6))
def test_erc_is_the_definition(seed):
    rng = np.random.default_rng(seed)
    X = rng.integers(-3, 4, (7, 9)) * 2.0 ** rng.integers(-5, 6, 9)
    S = rng.choice(9, 3, replace=False)
    if np.linalg.matrix_rank(X[:, S]) == 3:
        exact = float(exact_erc(X, S.tolist()))
        kappa = np.linalg.cond(X[:, S] / np.linalg.norm(X[:, S], axis=0))
        assert sl.exact_recovery_coefficient(X, S) == pytest.approx(exact, rel=64 * kappa * EPS)


def test_erc_decides_what_omp_does():
    """Below 1, OMP finds every y of S; above 1, the y of the docstring misleads its first pick."""
    seen = set()
    for seed in range(40):
        X, _ = sl.ensembles.gaussian(12, 16, rng=seed)
        S = np.arange(3)
        erc = sl.exact_recovery_coefficient(X, S)
        seen.add(erc < 1)
        if erc < 1:
            for signs in itertools.product([1.0, -1.0], repeat=3):
                y = X[:, S] @ (np.array(signs) * [1, 0.1, 3])
                assert set(sl.omp(X, y, 3).support) == set(S)
                assert set(sl.ols(X, y, 3).support) == set(S)
        elif erc > 1 + 1e-9:
            Q = np.linalg.pinv(X[:, S]) @ X
            Q[:, S] = 0
            q = Q[:, np.argmax(np.abs(Q).sum(axis=0))]
            y = X[:, S] @ np.linalg.solve(X[:, S].T @ X[:, S], np.sign(q))
            assert sl.omp(X, y, 1).support[0] not in S
    assert seen == {True, False}


def test_edges_of_erc():
    X = np.array([[1.0, 0.0, 0.5, 1.0, 0.0], [0.0, 1.0, 0.25, 1.0, 0.0]])
    erc = sl.exact_recovery_coefficient
    assert erc(X, []) == 0
    assert erc(X[:, :2], [1, 0]) == 0
    assert erc(X, [0, 1]) == 2
    assert erc(X[:, [0, 1, 2, 4]], [0, 1]) == 0.75
    assert erc(X, [0, 4]) == np.inf
    assert erc(X, [0, 1, 3]) == np.inf
    assert erc(X[:, [0, 0, 1]], [0, 1]) == np.inf
    assert erc(X * 1e-200, [0, 1]) == erc(X, [0, 1])
    assert erc(scipy.sparse.csc_array(X), [0, 1]) == 2


def test_columns_by_name():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": [1.0, 0.0], "b": [0.0, 1.0], "c": [0.5, 0.25]})
    assert sl.exact_recovery_coefficient(frame, ["b", "a"]) == 0.75
    named = sl.Problem([[1.0, 0.0, 0.5], [0.0, 1.0, 0.25]], [1.0, 2.0], names=["a", "b", "c"])
    assert sl.exact_recovery_coefficient(named, ["b", "a"]) == 0.75
    refuses("no column", sl.exact_recovery_coefficient, frame, ["d"])


@pytest.mark.parametrize("function", FUNCTIONS)
def test_what_has_no_columns_is_refused(function):
    X, y = np.eye(3), np.ones(3)
    refuses("pass the centred and scaled X", function, sl.Problem(X, y, intercept=True))
    refuses("pass the centred and scaled X", function, sl.Problem(X, y, standardize=True))
    refuses("LinearOperator", function, scipy.sparse.linalg.aslinearoperator(X), error=TypeError)
