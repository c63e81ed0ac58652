import numpy as np
import pytest
from refusals import refuses
from threadpoolctl import threadpool_limits

import sparselin as sl
from proofs_checks import gaussian_sweep as experiment
from proofs_checks import sweep_kernel as kernels
from proofs_checks.gaussian_sweep import sweep_design, sweep_gaussian
from sparselin import _kernels

SIZES = [(20, 30, 5), (40, 80, 8), (60, 120, 10), (21, 17, 17), (9, 40, 9)]


def with_runner_up(X, y, k, step):
    """Return k picks of OMP that takes the column with the second largest |c_j| at one step."""
    S = sl.omp(X, y, step + 1).support[:step]
    r = y - X[:, S] @ np.linalg.lstsq(X[:, S], y, rcond=None)[0]
    c = np.abs(X.T @ r)
    c[S] = 0
    return sl.omp(X, y, k, forced=[*S, np.argsort(c)[-2]]).support


@pytest.mark.parametrize(("n", "d", "k"), SIZES)
def test_first_entry_agrees(n, d, k):
    for index in range(6):
        X, y = sweep_design(n, d, index, seed=3)
        path = sl.omp(X, y, k)
        entries = [sl.first_entry(X, y, forced=path.support[:t]) for t in range(k)]
        assert all(entry.active == (pick,) for entry, pick in zip(entries, path.support, strict=True))
        assert kernels.check(X, y, path.support, 1.0) == kernels.VERIFIED


@pytest.mark.parametrize(("n", "d", "k"), SIZES[:3])
def test_a_wrong_pick_is_a_violation(n, d, k):
    """OMP made to take the runner-up at one step, however close."""
    for index in range(50):
        X, y = sweep_design(n, d, index)
        step = index % k
        picks = with_runner_up(X, y, k, step)
        assert kernels.check(X, y, picks, 1.0) == kernels.VIOLATED
        assert kernels.check(X, y, picks[: step + 1], 1.0) == kernels.VIOLATED


@pytest.mark.parametrize(("n", "d", "k"), SIZES[:3])
def test_a_window_too_long_is_a_violation(n, d, k):
    """Half of a factor above two is past the first event."""
    for index in range(50):
        X, y = sweep_design(n, d, index)
        picks = sl.omp(X, y, k).support
        assert kernels.check(X, y, picks, 2.01) == kernels.VIOLATED
        assert kernels.check(X, y, picks, 1.9) == kernels.VERIFIED


def lasso_in_window(X, y, S, i, share):
    """β on S and i at λ = λ* − share·ε₂, by plain NumPy and `first_entry`; and λ."""
    entry = sl.first_entry(X, y, forced=S)
    assert entry.active == (i,)
    lam = entry.lam_star - share * (entry.lam_star - entry.window_lower)
    J = [*S, i]
    pull = np.zeros(len(J))
    pull[-1] = lam * entry.signs[0]
    return np.linalg.solve(X[:, J].T @ X[:, J], X[:, J].T @ y - pull), lam, entry.lam_star


def verdict_of(X, y, chosen, beta, lam):
    raw, chosen, g = np.ascontiguousarray(X[:, chosen].T), np.array(chosen, np.intp), np.empty(X.shape[1])
    error = 1e-13 * kernels.correlations(X, y, raw, np.array(beta), len(chosen), np.empty(len(y)), g)
    return kernels.judge(g, chosen, len(chosen), float(beta[-1]), lam, error)


def test_the_check_knows_right_from_wrong(rng):
    for index in range(20):
        X, y = sweep_design(30, 50, index)
        S, i = sl.omp(X, y, 3).support.tolist(), int(sl.omp(X, y, 4).support[3])
        beta, lam, lam_star = lasso_in_window(X, y, S, i, 0.5)
        J = [*S, i]
        assert verdict_of(X, y, J, beta, lam) == kernels.VERIFIED
        least_squares = np.append(np.linalg.lstsq(X[:, S], y, rcond=None)[0], 0)
        assert verdict_of(X, y, J, least_squares, lam_star) == kernels.VERIFIED
        # a coefficient, λ, the sign of the entering one, the other end, the entering column
        for l in range(4):
            wrong = beta.copy()
            wrong[l] += 1e-9
            assert verdict_of(X, y, J, wrong, lam) == kernels.VIOLATED
        assert verdict_of(X, y, J, beta, lam * (1 + 1e-9)) == kernels.VIOLATED
        assert verdict_of(X, y, J, beta, lam * (1 - 1e-9)) == kernels.VIOLATED
        assert verdict_of(X, y, J, least_squares, lam_star * (1 + 1e-9)) == kernels.VIOLATED
        assert verdict_of(X, y, J, least_squares, lam) == kernels.VIOLATED
        other = next(j for j in range(50) if j not in J)
        assert verdict_of(X, y, [*S, other], beta, lam) == kernels.VIOLATED
        past, below, _ = lasso_in_window(X, y, S, i, 1.001)
        assert verdict_of(X, y, J, past, below) == kernels.VIOLATED
        edge, lam, _ = lasso_in_window(X, y, S, i, 1.0)
        assert lam == 0 or verdict_of(X, y, J, edge, lam) == kernels.UNDECIDED


def test_a_coefficient_of_the_wrong_sign_is_a_violation():
    """One column: β = −1 at λ = 2 is stationary for −λ, not for λ."""
    X, y = np.ones((1, 1)), np.ones(1)
    assert verdict_of(X, y, [0], [0.5], 0.5) == kernels.VERIFIED
    assert verdict_of(X, y, [0], [-1.0], 2.0) == kernels.VIOLATED


def tied(X, Y):
    """A copy of the column that OMP picks first, turned round."""
    for A, y in zip(X, Y, strict=True):
        unit = A / np.linalg.norm(A, axis=0)
        j = np.argmax(np.abs(unit.T @ y))
        A[:, j - 1] = -A[:, j]
    return X, Y


def test_both_forms_of_the_kernels_give_one_result():
    with _kernels.use("never"):
        interpreted = sweep_gaussian(20, 30, 4, 40, seed=3)
    assert interpreted == sweep_gaussian(20, 30, 4, 40, seed=3)


def test_ties_are_left_to_first_entry(monkeypatch):
    blocks = experiment._blocks
    monkeypatch.setattr(experiment, "_blocks", lambda *args: (tied(*block) for block in blocks(*args)))
    result = sweep_gaussian(20, 30, 4, 40)
    assert (result.verified, result.settled, result.undecided, result.violated) == (0, 40, 0, 0)
    monkeypatch.setattr(experiment, "_agrees", lambda X, y, k: False)
    result = sweep_gaussian(20, 30, 4, 40)
    assert (result.undecided, result.first_undecided) == (40, 0)


def test_agreement_with_first_entry_is_checked(monkeypatch):
    X, y = sweep_design(20, 30, 0)
    assert experiment._agrees(X, y, 5)
    wrong = sl.omp(X, -y, 5, forced=[int(np.argmin(np.abs(X.T @ y)))])
    monkeypatch.setattr(experiment, "omp", lambda X, y, k: wrong)
    assert not experiment._agrees(X, y, 5)


def test_counts_add_up_and_designs_come_again(monkeypatch):
    """Over the ends of blocks and chunks; the kernel saw what `sweep_design` gives."""
    seen = {}

    def spy(X, Y, k, verdict):
        seen.update({float(y[0]): A.copy() for A, y in zip(X, Y, strict=True)})
        genuine(X, Y, k, verdict)

    genuine = kernels.sweep
    monkeypatch.setattr(kernels, "sweep", spy)
    assert sweep_gaussian(12, 20, 3, 1101, seed=5).verified == len(seen) == 1101
    for index in (0, 15, 16, 255, 256, 511, 512, 1100):
        X, y = sweep_design(12, 20, index, seed=5)
        np.testing.assert_allclose(np.linalg.norm(X, axis=0), 1, rtol=1e-14)
        raw = seen[float(y[0])]
        np.testing.assert_allclose(raw / np.linalg.norm(raw, axis=0), X, rtol=1e-13)


def test_the_number_of_threads_changes_nothing():
    many = sweep_gaussian(20, 30, 5, 1500, seed=1)
    with threadpool_limits(1):
        one = sweep_gaussian(20, 30, 5, 1500, seed=1)
    assert many == one


def plant(monkeypatch, index):
    """Let OMP pick the runner-up in one design."""
    genuine = kernels.sweep
    first = sweep_design(20, 30, index)[1][0]
    row = index % experiment.BLOCK

    def planted(X, Y, k, verdict):
        genuine(X, Y, k, verdict)
        if row < len(Y) and Y[row, 0] == first:
            verdict[row] = kernels.check(X[row], Y[row], with_runner_up(X[row], Y[row], k, 2), 1.0)

    monkeypatch.setattr(kernels, "sweep", planted)


@pytest.mark.parametrize("index", [5, 300])
def test_a_violation_is_counted_and_named(monkeypatch, index):
    plant(monkeypatch, index)
    result = sweep_gaussian(20, 30, 5, 600)
    assert (result.verified, result.violated, result.first_violated) == (599, 1, index)


BAD_INPUT = [
    ((0, 5, 1, 1), "n must be at least 1"),
    ((5, 4, 5, 1), r"k must be in 1\.\.4"),
    ((5, 4, 1, 0), "designs must be at least 1"),
    ((5, 4, 1, 1, -1), "seed must be at least 0"),
]


@pytest.mark.parametrize(("arguments", "words"), BAD_INPUT)
def test_bad_input(arguments, words):
    refuses(words, sweep_gaussian, *arguments)
