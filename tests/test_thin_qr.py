"""The factorisation with spare directions: whatever is wanted next, X_J = QR with Q orthonormal."""

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


def reserve(qr, J):
    J = np.array(J, np.intp)
    X = qr.problem.X[:, J].T.copy()
    return qr.reserve(J, X, qr.rows(0, qr.size + len(qr.spare)) @ X.T)


def check(qr):
    """[Q Z] orthonormal, X of all its columns in their order = [Q Z] times an upper triangle."""
    J, m = qr.index + qr.spare, qr.size + len(qr.spare)
    X, basis, eps = qr.problem.X[:, J], qr.rows(0, m), qr.problem.eps
    np.testing.assert_allclose(basis @ basis.T, np.eye(m), atol=100 * eps)
    R = basis @ X
    lengths = np.linalg.norm(X, axis=0)
    assert np.all(np.abs(np.tril(R, -1)) <= 100 * eps * lengths)
    assert np.all(np.abs(np.triu(R) - np.triu(qr._R[:m, :m])) <= 100 * eps * lengths)
    assert np.all(np.tril(qr._R[:m, :m], -1) == 0)
    assert np.all(np.diag(qr._R)[:m] > 0)
    inverse = np.linalg.inv(qr.R.astype(float)) if qr.size else np.zeros((0, 0))
    norms = lengths[: qr.size].astype(float)
    kappas = [np.linalg.norm(norms[:t, None] * inverse[:t, :t]) for t in range(1, qr.size + 1)]
    np.testing.assert_allclose(qr.kappas(1), np.maximum(1, kappas), rtol=1e3 * eps * max([1, *kappas]))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@given(data=st.data())
def test_columns_come_in_any_order_that_is_wanted(dtype, data):
    qr = ThinQR(problem(data.draw(st.integers(0, 5)), dtype), capacity=3)
    for _ in range(data.draw(st.integers(1, 6))):
        free = [j for j in range(D) if j not in qr.index]
        wanted = data.draw(st.lists(st.sampled_from(free), unique=True)) if free else []
        new = [j for j in wanted if j not in qr.spare]
        assert reserve(qr, new) == len(new)
        check(qr)
        before, t = qr.rows(0, qr.size + len(qr.spare)).copy(), qr.size
        U = qr.arrange(wanted)
        assert qr.spare[: len(wanted)] == wanted
        turned = before[t:] if U is None else U.T @ before[t:]
        np.testing.assert_allclose(turned, qr.rows(t, t + len(qr.spare)), atol=100 * qr.problem.eps)
        check(qr)
        count = data.draw(st.integers(0, len(wanted)))
        assert qr.take(count) == count
        check(qr)
        qr.truncate(data.draw(st.integers(t, qr.size)))
        check(qr)


def test_columns_in_order_need_no_turn():
    qr = ThinQR(problem(0))
    reserve(qr, [3, 5, 7])
    assert qr.arrange([]) is None
    assert qr.arrange([3, 5]) is None
    assert qr.arrange([5]) is not None
    assert qr.spare == [5, 3, 7]


def test_dependent_columns_are_refused():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, 6))
    X[:, 3], X[:, 4] = X[:, 0] - 2 * X[:, 1], 0
    qr = ThinQR(sl.Problem(X, rng.normal(size=N)))
    assert reserve(qr, [0, 1, 3, 5]) == 2  # X_3 is in the span of the first two
    assert qr.spare == [0, 1]
    assert reserve(qr, [5, 3]) == 1
    assert reserve(qr, [4]) == 0
    assert qr.spare == [0, 1, 5]
    assert qr.take(3) == 3
    check(qr)


def test_what_is_dependent_on_the_columns_taken_is_forgotten_with_what_follows():
    """Spare columns may be nearly dependent on one another; κ of what is taken decides."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, 5))
    near = X[:, 0] + 1e-7 * X[:, 1]
    X[:, 2] = near + 1e-14 * X[:, 2]
    X[:, 1] = near
    qr = ThinQR(sl.Problem(X, rng.normal(size=N)))
    reserve(qr, [0, 1, 3])
    assert qr.take(2) == 2
    assert qr.kappa > 1e6
    qr.spare.clear()
    qr._R[2, 2] = 1e-9 * qr.problem.column_norms[3]  # as if X_3 were nearly in the span
    qr._norms[2], qr.spare = qr.problem.column_norms[3], [3, 4]
    assert qr.take(2) == 0
    assert (qr.index, qr.spare) == ([0, 1], [])


@pytest.mark.parametrize("change", ["append", "delete"])
def test_single_columns_leave_nothing_spare(change):
    qr = ThinQR(problem(0), [2, 4, 6])
    reserve(qr, [3, 5])
    if change == "append":
        assert qr.append(9)
    else:
        qr.delete(1)
    assert qr.spare == []
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
                if qr.take(reserve(qr, J)) < len(J):
                    break
        else:
            for j in range(X.shape[1]):
                qr.append(j)
        assert qr.size >= (8 if dtype == np.float32 else 20)
        off = np.abs(qr.Qt.astype(float) @ qr.Qt.T - np.eye(qr.size)).max()
        assert off <= 40 * qr.problem.eps
