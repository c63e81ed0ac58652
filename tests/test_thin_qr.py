"""The factorisation: whatever comes and goes, X_J = QR with Q orthonormal."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sparselin as sl
from sparselin.linalg.thin_qr import ThinQR

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
    qr = ThinQR(problem(data.draw(st.integers(0, 5)), dtype), capacity=3)
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


def test_dependent_columns_are_refused():
    rng = np.random.default_rng(0)
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


def test_a_basis_takes_no_more():
    """Beyond n columns only rounding is left, whatever its size."""
    rng = np.random.default_rng(0)
    for n in (1, 2, 5):
        qr = ThinQR(sl.Problem(rng.normal(size=(n, 9)), np.ones(n)))
        assert extend(qr, range(9)) == n
        assert not qr.append(8)
        check(qr)


def chains(apart):
    """Columns that keep a share of their length each, of which no step by itself loses much."""
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
