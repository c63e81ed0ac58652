"""Gradient flow on w∘θ: events in rational arithmetic, a stiff solver at finite α, the LASSO, OMP."""

from fractions import Fraction

import numpy as np
import pytest
from refusals import refuses

import sparselin as sl
from proofs_checks.flow import exact_flow
from proofs_checks.rational import real, reals, vector


def hard_design(seed):
    """Small integers, with duplicates, opposite columns, a sum of columns, a zero column; and S."""
    rng = np.random.default_rng(seed)
    n, d = rng.integers(1, 6), rng.integers(1, 7)
    X = rng.integers(-2, 3, (n, d))
    for j in range(d):
        kind = rng.integers(6)
        if kind == 0:
            X[:, j] = rng.choice([-1, 1]) * X[:, rng.integers(d)]
        elif kind == 1:
            X[:, j] = X[:, rng.integers(d)] + X[:, rng.integers(d)]
    S = rng.permutation(d)[: rng.integers(0, 3)] if seed % 4 == 0 else np.zeros(0, int)
    S = [int(j) for k, j in enumerate(S) if np.linalg.matrix_rank(X[:, S[: k + 1]]) == k + 1][:1]
    return X.astype(float), rng.integers(-3, 4, n).astype(float), S


@pytest.mark.parametrize("block", range(6))
def test_events_are_those_of_rational_arithmetic(block):
    """In the last blocks the lengths of columns differ by factors up to 2^40 and 2^120."""
    most = (0, 0, 0, 0, 20, 60)[block]
    for seed in range(100 * block, 100 * block + 100):
        X, y, S = hard_design(seed)
        X *= 2.0 ** np.random.default_rng(seed).integers(-most, most + 1, X.shape[1])
        exact, path = exact_flow(X, y, S)[1:], sl.gradient_flow(X, y, forced=S)
        assert path.status == sl.Status.COMPLETED, seed
        assert len(path) == len(exact), seed
        for k, saddle in enumerate(exact):
            assert abs(path.tau[k] - real(saddle.tau)) <= 1e-11 * path.tau[k], seed
            errors = np.abs(path.s[k] - reals(vector(saddle.s)))[path.features]
            assert errors.max() <= path.s_error[k] <= (1e-3 if most else 1e-10), seed
            error = np.abs(X.T @ (y - X @ path.coef[k]) - reals(vector(saddle.c)))
            assert np.all(error <= 1e-11 * np.linalg.norm(X, axis=0) * np.linalg.norm(y)), seed
            assert list(path.supports[k]) == saddle.support(S), seed
            assert path.unique[k] == (len(saddle.vertices) == 1), seed


def test_errors_of_nearly_dependent_columns_are_in_the_bounds():
    """Pairs differ by 1e-1 to 1e-11, so some errors are multiplied by 1e11, and an event may be undecided."""
    largest = 0.0
    for seed in range(100):
        rng = np.random.default_rng(seed)
        X, y = rng.standard_normal((5, 6)), rng.standard_normal(5)
        X[:, 1::2] = X[:, ::2] * rng.choice([-1, 1], 3) + 10.0 ** -rng.integers(1, 12) * X[:, 1::2]
        path, exact = sl.gradient_flow(X, y), exact_flow(X, y)[1:]
        assert path.status in (sl.Status.COMPLETED, sl.Status.BEYOND_PRECISION)
        for k, saddle in enumerate(exact[: len(path)]):
            assert list(path.supports[k]) == saddle.support(()), seed
            off = np.abs(path.s[k] - reals(vector(saddle.s)))[path.features].max()
            assert off <= path.s_error[k], seed
            largest = max(largest, off)
    assert largest > 1e-9


def test_dependent_columns_share_as_in_the_limit():
    X = np.array([[1.0, 0.0, 0.5], [0.0, 1.0, 0.5], [0.0, 0.0, 0.0]])
    path = sl.gradient_flow(X, [1.0, 1.3, 0.4])
    assert path.supports == ((1,), (0, 1, 2))
    assert path.unique == (True, False)
    b1, b2, b3 = path.coef[-1]
    assert abs(b3 - np.sqrt(b1 * b2)) <= 1e-14
    assert np.allclose(X @ path.coef[-1], [1.0, 1.3, 0], rtol=0, atol=1e-15)
    copies = sl.gradient_flow(X[:, [0, 1, 0, 1, 1]] * [1, 1, -1, 1, -1], [1.0, 3.0, 0.0])
    assert np.allclose(copies.coef, [[0, 1, 0, 1, -1], [0.5, 1, -0.5, 1, -1]], rtol=0, atol=1e-15)


def test_the_restarted_flow_is_omp():
    for seed in range(60):
        rng = np.random.default_rng(seed)
        n, d = rng.integers(2, 14, 2)
        X, y = rng.standard_normal((n, d)), rng.standard_normal(n)
        forced = [int(rng.integers(d))] if seed % 3 == 0 else []
        path, omp = sl.gradient_flow(X, y, restart=True, forced=forced), sl.omp(X, y, d, forced=forced)
        assert (*forced, *(path.supports[-1] if len(path) else ())) == tuple(omp.support.tolist())
        t = len(forced)
        assert np.allclose(np.diff(path.tau, prepend=0), 1 / omp.lam_star[t:], rtol=1e-9)
        coef = np.zeros((len(path), d))
        coef[:, omp.support] = omp.coef_path[t:]
        assert np.allclose(path.coef, coef, rtol=1e-8, atol=1e-10)
        assert path.status in (sl.Status.EXACT_FIT, sl.Status.RANK_EXHAUSTED, sl.Status.NO_CORRELATION)
    for seed in range(100):  # ties
        X, y, S = hard_design(seed)
        path = sl.gradient_flow(X, y, restart=True, forced=S)
        steps = sl.sequential_lasso(X, y, X.shape[1], forced=S)
        assert (*S, *(path.supports[-1] if len(path) else ())) == tuple(steps.support.tolist()), seed
        assert path.status == (steps.status if len(steps) < X.shape[1] else path.status), seed
    refuses("without restarts", path.average, 1.0)


def test_times_and_values():
    X, y, path = np.eye(2), [4.0, 1.0], sl.gradient_flow(np.eye(2), [4.0, 1.0])
    assert path.at([0, 0.2499, 0.25, 1e9]).tolist() == [[0, 0], [0, 0], [4, 0], [4, 1]]
    assert path.s_at([0, 0.125, 0.5, 1e9]).tolist() == [[0, 0], [0.5, 0.125], [1, 0.5], [1, 1]]
    zero = path.average(0)
    assert not zero.coef.any()
    assert zero.is_lasso
    assert zero.excess == 0
    assert zero.lam == np.inf
    assert path.average(2.0).coef.tolist() == [3.5, 0.5] == sl.lasso_path(X, y).at(0.5).tolist()
    cut = sl.gradient_flow(X, y, max_events=1)
    assert cut.status == sl.Status.MAX_STEPS
    assert cut.at(0.25).tolist() == [4, 0]
    refuses(r"at most 0\.25", cut.at, 0.3)
    assert sl.gradient_flow(X, y, max_events=2).status == sl.Status.COMPLETED
    seen = []
    stopped = sl.gradient_flow(X, y, callback=lambda path: seen.append(len(path)) or len(path) == 1)
    assert seen == [1]
    assert stopped.status == sl.Status.STOPPED
    for tau in (-1, np.nan, np.inf):
        refuses("tau", path.at, tau)
    for tau in ("1", None, [[1.0]]):
        refuses("tau", path.at, tau, error=TypeError)
    refuses("one real number", path.average, [1.0, 2.0], error=TypeError)
    nothing = sl.gradient_flow(X, [0.0, 0.0])
    assert len(nothing) == 0
    assert nothing.at([0, 3]).tolist() == [[0, 0]] * 2 == nothing.s_at([0, 3]).tolist()
    assert nothing.average(3).is_lasso
    assert nothing.status == sl.Status.COMPLETED
    assert sl.gradient_flow(X, [0.0, 0.0], restart=True).status == sl.Status.EXACT_FIT


def test_intercept_scales_weights_and_float32(rng):
    X, y, w = rng.standard_normal((20, 6)) + 3, rng.standard_normal(20), rng.integers(1, 4, 20)
    path = sl.gradient_flow(X, y, intercept=True, standardize=True, sample_weight=w)
    Z = np.repeat(X, w, axis=0)
    Z, center, deviation = (Z - Z.mean(axis=0)) / Z.std(axis=0), Z.mean(axis=0), Z.std(axis=0)
    u = np.repeat(y, w)
    plain = sl.gradient_flow(Z, u - u.mean())
    assert path.supports == plain.supports
    assert np.allclose(path.tau, plain.tau, rtol=1e-10)
    assert np.allclose(path.coef, plain.coef / deviation, rtol=1e-9)
    assert np.allclose(path.intercept_path[1:], u.mean() - plain.coef / deviation @ center, rtol=1e-9)
    assert np.allclose(path.r2, plain.r2, rtol=1e-10)
    times = [0.0, path.tau[1], 2 * path.tau[-1]]
    fits = [X @ beta + path.intercept_at(tau) for beta, tau in zip(path.at(times), times, strict=True)]
    assert np.allclose(path.predict(X, times), np.transpose(fits), rtol=1e-12)
    assert np.allclose(path.predict(X, times[1]), fits[1], rtol=1e-12)
    for tau in path.tau[:-1] * 1.1:
        ours, theirs = path.average(tau), plain.average(tau)
        assert ours.violations == theirs.violations
        assert np.isclose(ours.excess, theirs.excess, rtol=1e-8)
    single = sl.gradient_flow(X.astype(np.float32), y.astype(np.float32))
    double = sl.gradient_flow(X.astype(np.float32).astype(float), y.astype(np.float32).astype(float))
    assert single.coef.dtype == np.float32
    assert single.supports == double.supports
    assert np.array_equal(single.tau, double.tau)
    assert single.average(3.0).is_lasso == double.average(3.0).is_lasso


def test_the_picture_has_stairs_and_averages():
    X = np.array([[2.0, 0.6], [0.0, 0.1]])
    ax = sl.plots.show(sl.gradient_flow(X, np.linalg.solve(X.T, [1.0, 0.9])))
    stairs, averages, (kept, broken) = ax.lines[:2], ax.lines[3:5], ax.lines[5:]
    assert {line.get_label(): line.get_ydata()[-1].round(2) for line in stairs} == {"x0": -17.75, "x1": 60.0}
    assert [line.get_drawstyle() for line in stairs] == ["steps-post"] * 2
    tau, mean = averages[0].get_data()
    assert np.interp(1.1, tau, averages[1].get_ydata()) == pytest.approx(0.25 * 0.1 / 1.1, rel=1e-3)
    assert np.interp(1.1, tau, mean) == 0
    assert kept.get_xdata().round(3).tolist() == [1, 1.167]
    assert broken.get_xdata().round(3).tolist() == [2.209]
    cut = sl.gradient_flow(X, np.linalg.solve(X.T, [1.0, 0.9]), max_events=2)
    assert sl.plots.show(cut).get_xlim()[1] == pytest.approx(cut.end)
    why = sl.explain(X, np.linalg.solve(X.T, [1.0, 0.9]), cut, 0)
    assert "and left at τ = 1.167; at the end of the path its coefficient is 0." in str(why)
    drawn = sl.plots.show(why).lines[1]
    assert (drawn.get_xdata().tolist(), drawn.get_ydata().tolist()) == ([1, 2], [1, 1])
    restarted = sl.plots.show(sl.gradient_flow(np.eye(2), [3.0, 1.0], restart=True))
    assert "dotted" not in restarted.get_xlabel()
    at_rest = sl.plots.show(sl.gradient_flow(X, [0.0, 0.0])).texts[0]
    assert at_rest.get_text().startswith("The flow is at rest")


@pytest.mark.parametrize("k", range(4, 46, 3))
def test_moderate_coefficients_beside_huge_ones_stay(k):
    """Compare with exact coefficients: two copies share β, while β₁ = 7/3 and β₃ = 11/3 are unique."""
    X = np.array([[-1, 1, 1, -2, 0], [1, -2, -1, 2, 0], [2, 1, -2, 1, 0], [2, -1, -2, 2, 0.0]])
    X[:, 4] = X[:, 0] + 2.0**-k
    y = np.array([-3, 0, 1, 0.0])
    path = sl.gradient_flow(X, y)
    beta, column = path.coef[-1], [Fraction(v) for v in y]
    assert path.supports[-1] == (0, 1, 2, 3, 4)
    assert beta[[1, 3]] == pytest.approx([7 / 3, 11 / 3])
    fit = [sum(Fraction(a) * Fraction(b) for a, b in zip(row, beta, strict=True)) for row in X.tolist()]
    left = [c - f for c, f in zip(column, fit, strict=True)]
    assert float(max(map(abs, left))) <= 1e-15 * float(np.abs(X) @ np.abs(beta) @ np.ones(4))


@pytest.mark.parametrize("seed", [30, 31, 76, 104, 122, 131, 201, 391])
def test_weights_leave_no_feature_whose_coefficient_is_zero(seed):
    """Weights 4·3 are three equal rows times 2; √3 is rounded, and the events must not know it.

    On these designs a coefficient, or all correlations that are left, are exactly zero.
    """
    rng = np.random.default_rng([20261128, seed])
    X, y = rng.integers(-1, 2, (6, 5)).astype(float), rng.integers(-3, 4, 6).astype(float)
    times = rng.integers(1, 4, 6)
    weighted = sl.gradient_flow(X, y, sample_weight=times * 4.0)
    repeated = sl.gradient_flow(np.repeat(2 * X, times, axis=0), np.repeat(2 * y, times))
    assert weighted.supports == repeated.supports
