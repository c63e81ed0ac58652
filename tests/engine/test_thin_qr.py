"""The factorisation: whatever comes and goes, X_J = QR with Q orthonormal; and its refinement, exactly."""

from fractions import Fraction

import numpy as np
import pytest
from fractional import dot, fractions, gram, solve
from hypothesis import given
from hypothesis import strategies as st

import sparselin as sl
from sparselin.linalg.thin_qr import ThinQR, refine
from sparselin.linalg.ties import in_span

N, D = 30, 14


def problem(seed, dtype=np.float64):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, D)) @ np.diag(np.exp(rng.normal(size=D)))
    X[:, 1] = X[:, 0] + 0.01 * X[:, 1]
    return sl.Problem(X.astype(dtype), rng.normal(size=N))


def extend(qr, J):
    return qr.extend(list(J), qr.problem.X[:, list(J)].T)


def check(qr):
    """Q orthonormal, X_J = QR with an upper triangle of positive diagonal, and κ what it is called."""
    X, eps = qr.problem.X[:, qr.index], qr.problem.eps
    assert np.array_equal(qr.columns, X.T if qr.keep_columns else X.T[:0])
    np.testing.assert_allclose(qr.Qt @ qr.Qt.T, np.eye(qr.size), atol=100 * eps)
    R, lengths = qr.Qt @ X, np.linalg.norm(X, axis=0)
    assert np.all(np.abs(np.tril(R, -1)) <= 100 * eps * lengths)
    assert np.all(np.abs(np.triu(R) - np.triu(qr.R)) <= 100 * eps * lengths)
    assert np.all(np.tril(qr.R, -1) == 0)
    assert np.all(np.diag(qr.R) > 0)
    inverse = np.linalg.inv(qr.R.astype(float)) if qr.size else np.zeros((0, 0))
    norms = lengths.astype(float)
    kappas = [np.linalg.norm(norms[:t, None] * inverse[:t, :t]) for t in range(1, qr.size + 1)]
    np.testing.assert_allclose(qr.kappas(1), np.maximum(1, kappas), rtol=1e3 * eps * max([1, *kappas]))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@given(data=st.data())
def test_columns_come_and_go_one_by_one_and_in_blocks(dtype, data):
    seed, keep = data.draw(st.integers(0, 5)), data.draw(st.booleans())
    qr = ThinQR(problem(seed, dtype), capacity=3, keep_columns=keep)
    for _ in range(data.draw(st.integers(1, 6))):
        free, before = [j for j in range(D) if j not in qr.index], list(qr.index)
        wanted = data.draw(st.lists(st.sampled_from(free), unique=True)) if free else []
        if len(wanted) == 1:
            assert qr.append(wanted[0])
        else:
            assert extend(qr, wanted) == len(wanted)
        assert qr.index == before + wanted
        check(qr)
        if data.draw(st.booleans()) and qr.size:
            qr.delete(data.draw(st.integers(0, qr.size - 1)))
        else:
            qr.truncate(data.draw(st.integers(0, qr.size)))
        check(qr)


def test_dependent_columns_are_refused(rng):
    X = rng.normal(size=(N, 6))
    X[:, 3], X[:, 4] = X[:, 0] - 2 * X[:, 1], 0
    qr = ThinQR(sl.Problem(X, rng.normal(size=N)))
    assert extend(qr, [0, 1, 3, 5]) == 2  # X_3 is in the span of the first two
    assert qr.index == [0, 1]
    assert extend(qr, [5, 3]) == 1
    assert extend(qr, [4]) == 0
    assert not qr.append(4)
    assert not qr.append(3)
    assert qr.index == [0, 1, 5]
    check(qr)


def test_a_basis_takes_no_more(rng):
    """Beyond n columns only rounding is left, whatever its size."""
    for n in (1, 2, 5):
        qr = ThinQR(sl.Problem(rng.normal(size=(n, 9)), np.ones(n)))
        assert extend(qr, range(9)) == n
        assert not qr.append(8)
        check(qr)


def chains(apart):
    """Columns that each keep a share of their length, so that no single step loses much."""
    rng = np.random.default_rng(0)
    Q, _ = np.linalg.qr(rng.normal(size=(200, 60)))
    for keep, length in ((0.51, 30), (0.51, 40), (0.6, 60), (0.72, 60), (0.9, 60)):
        R = np.eye(length) * keep
        R[np.arange(length - 1), np.arange(1, length)] = -np.sqrt(1 - keep**2)
        R[0, 0] = 1
        yield Q[:, :length] @ R
    # each keeps 0.72 of its length, and the rest lies where those before are weakest
    worst = [Q[:, 0]]
    for t in range(1, 30):
        basis, upper = np.linalg.qr(np.array(worst).T)
        worst.append(0.72 * Q[:, t] - np.sqrt(1 - 0.72**2) * basis @ np.linalg.svd(upper)[0][:, -1])
    yield np.array(worst).T
    yield rng.normal(size=(200, 1)) + apart * rng.normal(size=(200, 40))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("block", [0, 1, 7, 40])
def test_q_is_orthonormal_however_long_the_chain(dtype, block):
    """One pass of Gram-Schmidt a column, or a block, would lose a factor √(1 − ρ²)/ρ at each."""
    for X in chains(10 * np.sqrt(np.finfo(dtype).eps)):
        qr = ThinQR(sl.Problem(X.astype(dtype), X[:, 0].astype(dtype)))
        if block:
            for start in range(0, X.shape[1], block):
                J = range(start, min(start + block, X.shape[1]))
                if extend(qr, J) < len(J):
                    break
        else:
            for j in range(X.shape[1]):
                qr.append(j)
        assert qr.size >= (8 if dtype == np.float32 else 20)
        off = np.abs(qr.Qt.astype(float) @ qr.Qt.T - np.eye(qr.size)).max()
        assert off <= 40 * qr.problem.eps


def exact_balance(X, f, g):
    """r and x of r + Xx = f, Xᵀr = g."""
    X, f, g = fractions(X.T), fractions(f), fractions(g)
    x = solve(gram(X), [dot(u, f) - c for u, c in zip(X, g, strict=True)])
    return [a - sum(u[i] * b for u, b in zip(X, x, strict=True)) for i, a in enumerate(f)], x


def less(exact, found, low):
    """Return exact − (found + low), computed in fractions."""
    return [float(a - Fraction(b) - Fraction(c)) for a, b, c in zip(exact, found, low, strict=True)]


@pytest.mark.parametrize("seed", range(3, 11))
@pytest.mark.parametrize("noise", [1e-1, 1e-4, 1e-8, 1e-10, 1e-12])
def test_refined_to_twice_the_precision_and_within_its_bounds(noise, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(10, 4)) @ rng.normal(size=(4, 7)) + noise * rng.normal(size=(10, 7))
    y, signs = rng.normal(size=10), np.sign(rng.normal(size=7))
    qr = ThinQR(sl.Problem(X, y), keep_columns=True)
    assert all(qr.append(j) for j in range(7))
    qr.remove(2)
    assert qr.append(2)
    J = qr.index
    for f, g in ((y, None), (None, signs)):
        found = refine(qr, f, g)
        r, x = exact_balance(X[:, J], np.zeros(10) if f is None else f, np.zeros(7) if g is None else g)
        assert found.sound
        r_off, x_off = less(r, found.r, found.r_low), less(x, found.x, found.x_low)
        assert np.linalg.norm(r_off) <= found.r_error <= 1e-15 * np.linalg.norm(found.r)
        assert np.all(np.abs(x_off) <= found.x_error)
        assert np.all(found.x_error <= 1e-14 * np.abs(found.x).max())


def test_a_column_in_the_span_to_rounding_is_refused_whatever_the_condition(rng):
    """Nearly dependent columns do not make a third one, off their span by 1e-9, count as dependent."""
    a, b, c, e = rng.normal(size=(4, 20))
    X = np.stack([a, a + 1e-9 * b, a + 1e-9 * c, a + 2e-9 * b, e], axis=1)
    qr = ThinQR(sl.Problem(X, e))
    assert [qr.append(j) for j in range(3)] == [True] * 3
    assert qr.kappa > 1e8
    twice = ThinQR(sl.Problem(np.stack([a, 3 * a + b, b, e], axis=1), e))
    assert [twice.append(j) for j in range(4)] == [True, True, False, True]
    assert in_span(twice, np.arange(4))[0].all()


@given(seed=st.integers(0, 5), dtype=st.sampled_from([np.float64, np.float32]))
def test_a_copy_is_changed_apart_from_the_original(seed, dtype):
    data = problem(seed, dtype)
    original = ThinQR(data.in_double(), [3, 1, 4])
    copied = original.copy(data.in_double(), data.length_unit)
    assert copied.append(0)
    copied.remove(1)
    assert (original.index, copied.index) == ([3, 1, 4], [3, 4, 0])
    assert (original.unit, copied.unit) == (data.in_double().length_unit, data.length_unit)
    for qr in (original, copied):
        check(qr)
