"""The schemes of greedy selection, blocks of guesses and a screen in 16 bits: they err, no pick changes."""

import functools
import warnings

import numpy as np
import pytest
import scipy.sparse
from oracles import residual, textbook_omp
from peak_memory import peak_memory
from refusals import refuses
from schemes import KINDS, METHODS, ORDERS, STOP_NEVER, TEXTBOOK, assert_same, design, only, refuse

import sparselin as sl
from sparselin import Problem, Status
from sparselin._kernels import blocks as block_kernels
from sparselin._kernels import linear_algebra, pairs
from sparselin.ensembles import gaussian, random_walk
from sparselin.greedy import _pursuit as pursuit
from sparselin.greedy import _single as single
from sparselin.greedy._blocks import Blocks
from sparselin.greedy._lengths import Lengths
from sparselin.greedy._method import GreedyMethod
from sparselin.greedy._outcomes import Dependent, Undecided
from sparselin.greedy._selection import Selection
from sparselin.greedy._single import Screen, Screened
from sparselin.greedy._walk import Pick
from sparselin.greedy.omp import largest_correlation

NONE = np.zeros(0, np.intp)  # no forced feature

# What both have in common


@pytest.fixture(params=["blocks", "screen", "screen, one by one"])
def scheme(request, monkeypatch):
    only(monkeypatch, request.param)
    return request.param


@pytest.fixture
def in_blocks(monkeypatch):
    only(monkeypatch, "blocks")


@ORDERS
@pytest.mark.parametrize("kind", KINDS)
def test_paths_are_the_textbook_ones(scheme, kind, order):
    for seed in range(2):
        X, y = design(kind, seed)
        path = sl.omp(np.asarray(X, order=order), y, 30)
        unique = [len(tied) == 1 for tied in path.ties]
        assert not all(unique) or path.support.tolist() == textbook_omp(X, y, 30)
        for t, pick in enumerate(path.support):
            r = residual(X, y, path.support[:t])
            c = np.abs(X.T @ r)
            c[path.support[:t]] = 0
            first, second = np.sort(c)[[-1, -2]]
            assert [path.lam_star[t], c[pick]] == pytest.approx([first] * 2, rel=1e-9)
            assert path.residual_norm[t] == pytest.approx(np.linalg.norm(r), rel=1e-10)
            assert not unique[t] or path.margin[t] == pytest.approx(1 - second / first, abs=1e-9)
        coef = np.linalg.lstsq(X[:, path.support], y, rcond=None)[0]
        np.testing.assert_allclose(path.coef, coef, rtol=1e-7, atol=1e-10 * np.abs(coef).max())
        assert path.status is Status.COMPLETED


@pytest.mark.parametrize("d", [5, 11, 128, 130, 2100])
def test_any_number_of_columns(scheme, d):
    X, y = design("gaussian", 1, 50, d)
    assert sl.omp(X, y, min(d, 20)).support.tolist() == textbook_omp(X, y, min(d, 20))


def test_ties_are_left_to_the_rule(scheme):
    """±copies of every column: each pick is a tie, which is listed and goes to the lowest."""
    half, y = design("gaussian", 5, 40, 100)
    path = sl.omp(np.hstack([half, -half]), y, 20)
    assert path.support.tolist() == textbook_omp(half, y, 20)
    assert path.ties == tuple((i, i + 100) for i in path.support)
    assert np.all(path.margin == 0)


@METHODS
@pytest.mark.parametrize("nonzero", [3, 30, 63, 64, 150])
def test_zero_columns_are_no_candidates(in_blocks, method, nonzero, rng):
    X, y = np.zeros((20, 200)), rng.normal(size=20)
    X[:, rng.choice(200, nonzero, replace=False)] = rng.normal(size=(20, nonzero))
    path, kept = method(X, y, 5), np.flatnonzero(X.any(axis=0))
    assert path.support.tolist() == kept[method(X[:, kept], y, min(5, nonzero)).support].tolist()
    assert path.status is (Status.COMPLETED if nonzero >= 5 else Status.RANK_EXHAUSTED)


def test_a_tolerance_reached_inside_a_block_or_a_run(scheme):
    X, y = gaussian(60, 250, 0)
    norms = sl.omp(X, y, 30).residual_norm / np.linalg.norm(y)
    for t in (1, 5, 17, 29):
        path = sl.omp(X, y, 30, tol=norms[t])
        assert (len(path.support), path.status) == (t, Status.TOLERANCE)


@METHODS
@pytest.mark.parametrize("kind", KINDS[:3])
def test_blocks_and_single_picks_agree(monkeypatch, method, kind):
    """A callback makes every block, and every run, a single pick."""
    X, y = design(kind, 1)
    paths = []
    for name, run in (("blocks", 64), ("screen", 64), ("screen", 3), ("screen, one by one", 64)):
        if name != "screen, one by one" or method is sl.omp:
            with monkeypatch.context() as patch:
                only(patch, name)
                patch.setattr(single, "MOST_PICKS", run)
                paths += [method(X, y, 30), method(X, y, 30, **STOP_NEVER)]
    for path in paths[1:]:
        assert_same(path, paths[0])


def test_extreme_lengths_warn_of_nothing(scheme):
    X, y = design("gaussian", 0)
    for method in (sl.omp,) if scheme == "screen, one by one" else (sl.omp, sl.ols):
        usual = method(X, y, 8).support.tolist()
        for scale in (2.0**140, 2.0**-150, 2.0**400, 2.0**-400):
            with warnings.catch_warnings(action="error"):
                assert method(X * scale, y, 8).support.tolist() == usual
                assert method(X * scale, y / scale, 8).support.tolist() == usual


def test_a_rule_that_insists_on_a_column_in_the_span_ends_the_path(scheme, monkeypatch):
    for each in (Blocks, Screened):
        monkeypatch.setattr(
            each, "extend", lambda self, *a, f=each.extend: f(self, *a) if a[0] else Undecided()
        )
    X, y = design("gaussian", 0, d=100)
    X[:, 9] = X[:, 7]
    for wanted in (9, 7):  # in the span of S, and in S
        for options in ({}, STOP_NEVER):
            rule = functools.partial(lambda j, chosen: Pick(feature=j), wanted)
            path = pursuit.pursue(Problem(X, y), 20, GreedyMethod(rule), forced=[7], **options)
            assert (path.support.tolist(), path.status) == ([7], Status.BEYOND_PRECISION)


@pytest.mark.parametrize("at_once", [False, True])
def test_memory_stays_below_a_third_of_the_design(monkeypatch, at_once):
    """It stays so on walks, where blocks give way to single picks: their memory is given back before."""
    monkeypatch.setattr(pursuit, "picks_singly", lambda *arguments, **options: at_once)
    for X, y in (gaussian(600, 3000, 0), random_walk(800, 8000, 0)[:2]):
        sl.omp(X, y, 70)  # compiles
        assert peak_memory(sl.omp, X, y, 70) <= 0.3 * X.nbytes


@pytest.mark.parametrize("method", [sl.omp, sl.ols])
def test_a_sparse_design_is_never_made_dense(method, rng):
    X = scipy.sparse.random(2000, 4000, density=0.01, format="csc", random_state=rng)
    y = X @ rng.normal(size=4000)
    method(X, y, 2)  # compiles
    assert peak_memory(method, X, y, 10) <= 0.1 * 8 * 2000 * 4000


# Blocks


@METHODS
@pytest.mark.parametrize("blunder", ["arbitrary", "repeated", "reversed", "nothing to follow"])
@pytest.mark.parametrize("shape", [(61, 250), (400, 600)])
def test_wrong_guesses_change_nothing(in_blocks, monkeypatch, method, blunder, shape):
    right, rng = block_kernels.guess, np.random.default_rng(1)

    def guess(candidates, first, scaled, worth, picks):
        p = right(candidates, first, scaled, worth, picks)
        if blunder == "arbitrary":
            picks[1:] = rng.choice(candidates.columns, len(picks) - 1)
        elif blunder == "repeated":
            picks[:] = first
        elif blunder == "reversed":
            picks[1:p] = picks[1:p][::-1].copy()
        return {"reversed": p, "nothing to follow": 1}.get(blunder, len(picks))

    monkeypatch.setattr(block_kernels, "guess", guess)
    X, y = design("gaussian", 0, *shape)
    path = method(X, y, 12)
    assert path.support.tolist() == TEXTBOOK[method](X, y, 12)
    assert path.residual_norm[-1] == pytest.approx(np.linalg.norm(residual(X, y, path.support)), rel=1e-10)


@METHODS
@pytest.mark.parametrize("kind", KINDS[:3])
def test_w_and_c_are_what_they_are_taken_for(in_blocks, monkeypatch, method, kind):
    """W = XᵀQ and c = Xᵀr after every block, whatever the guesses were; rows not yet made are not used."""
    right_guess, right_extend, right_init = block_kernels.guess, Blocks.extend, Blocks.__init__
    rng, sizes = np.random.default_rng(0), []

    def init(run, *arguments):
        right_init(run, *arguments)
        run.W[run.selection.qr.size :] = np.nan

    def guess(*arguments):
        picks, p = arguments[-1], right_guess(*arguments)
        picks[1:p] = rng.permutation(picks[1:p])
        return p

    def extend(run, *arguments):
        followed, qr, problem = right_extend(run, *arguments), run.selection.qr, run.problem
        support = [*run.selection.trail.support, *(pick.feature for pick in followed.picks)]
        assert qr.index == support
        sizes.append(len(followed.picks))
        if len(support) < run.k:
            error = np.abs(run.W[: qr.size] - qr.Qt @ problem.X)
            assert np.all(error <= problem.rounding() * problem.column_norms)
            c = problem.X.T @ residual(problem.X, problem.y, support)
            c[support] = 0
            assert np.all(np.abs(followed.c - c) <= problem.correlation_error(qr.kappa))
        return followed

    monkeypatch.setattr(block_kernels, "guess", guess)
    monkeypatch.setattr(Blocks, "__init__", init)
    monkeypatch.setattr(Blocks, "extend", extend)
    for seed in range(2):
        X, y = design(kind, seed, 400, 1100)
        assert method(X, y, 12).support.tolist() == TEXTBOOK[method](X, y, 12)
    assert max(sizes) > 1


@ORDERS
def test_float32_picks_are_those_of_float64(in_blocks, order):
    """Copies that differ in the sixth digit: float32 correlations cannot tell them apart, float64 can."""
    for seed in range(5):
        rng = np.random.default_rng(seed)
        half = rng.normal(size=(60, 150))
        X = np.hstack([half, half + 1e-5 * rng.normal(size=half.shape)]).astype(np.float32, order=order)
        y = rng.normal(size=60).astype(np.float32)
        path = sl.omp(X, y, 15)
        assert path.support.tolist() == textbook_omp(X.astype(float), y.astype(float), 15)
        assert path.ties == tuple((i,) for i in path.support)


@pytest.mark.parametrize("gap", [3e-8, 3e-7])
@METHODS
def test_a_gram_problem_with_near_copies_takes_no_feature_twice_and_none_in_the_span(in_blocks, method, gap):
    """G knows lengths to √eps only: copies that differ by less may look correlated, but are in the span."""
    for seed in range(20):
        X, y = design("gaussian", seed, 30, 20)
        X[:, 10:] = X[:, :10] + gap * X[:, 10:]
        path = method(Problem.from_gram(X.T @ X, X.T @ y, float(y @ y)), 12)
        assert len(set(path.support.tolist())) == len(path.support)
        assert np.all(path.coef != 0)
        if gap < 1e-7:
            assert len(set(path.support % 10)) == len(path.support) <= 10
            assert path.status in (Status.RANK_EXHAUSTED, Status.NO_CORRELATION, Status.BEYOND_PRECISION)


def test_a_barred_column_suppresses_no_other(in_blocks):
    for seed in range(40):
        X, y = design("gaussian", seed, 12, 8)
        X[:, 1] = X[:, 0] + 5e-8 * X[:, 1]
        X *= np.array([1e6] * 2 + [0.01] * 6)
        path = sl.omp(Problem.from_gram(X.T @ X, X.T @ y, float(y @ y)), 6)
        for t, pick in enumerate(path.support):
            S = path.support[:t]
            c = np.abs(X.T @ residual(X, y, S))
            c[S] = 0
            c[:2] *= not np.isin([0, 1], S).any()
            assert c[pick] >= 0.99 * c.max(), seed


def test_the_first_segments_of_sequential_lasso_are_checked(in_blocks, monkeypatch):
    """A window too long, so that the solution in its middle is none, must not pass."""
    X, y = gaussian(30, 80, 0)
    right = block_kernels.windows

    def windows(c, W, shares, rho, support, m, length):
        right(c, W, shares, rho, support, m, length)
        length[min(3, len(length) - 1)] *= 2.5

    assert sl.sequential_lasso(X, y, 8).status is Status.COMPLETED
    monkeypatch.setattr(block_kernels, "windows", windows)
    path = sl.sequential_lasso(X, y, 8)
    assert path.status is Status.BEYOND_PRECISION
    assert len(path.support) < 8
    assert len(path.residual_norm) == len(path.support) + 1


@pytest.mark.parametrize("method", ["of omp", "omp", "lasso"])
@pytest.mark.parametrize("forced", [(), (3, 1)])
def test_blocks_give_way_to_single_picks(monkeypatch, method, forced):
    taken = []
    for scheme in (Blocks, Screened):
        right = scheme.extend
        monkeypatch.setattr(scheme, "extend", lambda *a, right=right: taken.append(type(a[0])) or right(*a))
    monkeypatch.setattr(pursuit, "picks_singly", lambda *arguments, **options: False)
    X, y = design("walks", 0, 400, 600)
    call = sl.omp if method == "of omp" else functools.partial(sl.sequential_lasso, method=method)
    path = call(X, y, 30, forced=forced)
    assert (taken[0], taken[-1]) == (Blocks, Screened)
    assert path.support.tolist() == textbook_omp(X, y, 30, forced)
    unforced = path.support[len(forced) :].tolist()
    assert method == "of omp" or path.active_sets[len(forced) :] == tuple((i,) for i in unforced)
    taken.clear()
    sl.omp(*design("gaussian", 0, 1000, 2000), 40)  # where guesses are right blocks stay
    assert set(taken) == {Blocks}


# The screen of single picks in 16 bits: its error, and what it may not miss


@pytest.fixture
def screened(monkeypatch):
    only(monkeypatch, "screen")


def filled(problem, count=1):
    screen = Screen(problem, count)
    screen.fill()
    return screen


def integers(screen, n):
    """The integers of the copy, (n, d); those beyond the last row are zero."""
    copy = screen.data.copy if screen.data.by_rows else screen.data.copy.T
    whole = np.concatenate([copy << 16 >> 16, copy >> 16])
    assert not whole[n:].any()
    return whole[:n]


@ORDERS
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [1, 2, 7, 61, 1029])
def test_the_copy_errs_by_half_a_unit(kind, order, n):
    X, y = design(kind, 0, n, 90)
    X[:, 3] = 0
    X[0, 4] = 1e8
    screen = filled(Problem(np.asarray(X, order=order), y))
    unit, copy = screen.data.unit, integers(screen, n)
    assert np.all(np.abs(copy * unit - X) <= (0.5 + 1e-9) * unit)
    guess = min(6 / np.sqrt(n), 1) * np.linalg.norm(X, axis=0)
    largest = np.maximum(guess, np.abs(X).max(axis=0))
    np.testing.assert_allclose(unit * pairs.LARGEST, largest, rtol=1e-5)


def exact_error(screen, X, r):
    """|c_j/‖r‖ − unit_j⟨q_j, x⟩| in longer floats, less the bound on the error of x."""
    length = np.sqrt(r @ r)
    exact = X.astype(np.longdouble).T @ (r.astype(np.longdouble) / length)
    error = np.abs(exact - screen.data.unit * screen.scores(r / length))
    return error - screen.rounded.error[0] * screen.data.norms


@ORDERS
@pytest.mark.parametrize("n", [61, 500, 2051])
def test_the_bound_holds_and_is_not_loose(order, n):
    """Entries half a unit off, and the residual that makes the errors of a column add up."""
    X, y = design("gaussian", 0, n, 40)
    X[0] *= 50  # so that the unit is that of the largest entry
    unit = filled(Problem(X, y)).data.unit
    X = np.asarray(unit * np.clip(np.rint(X / unit) + 0.49, -32767, 32767), order=order)
    screen = filled(Problem(X, y))
    copy = integers(screen, n)
    for j in range(40):
        error = exact_error(screen, X, np.sign(X[:, j] - screen.data.unit[j] * copy[:, j]))
        assert np.all(error <= screen.data.error)
        assert error[j] > 0.3 * screen.data.error[j]


@ORDERS
@pytest.mark.parametrize("kind", KINDS)
def test_the_copy_bounds_the_lengths_of_projected_columns(kind, order):
    """ρ_j² = ‖X_j‖² − Σ⟨q_s, X_j⟩² of OLS in longer floats, with columns forced before the copy exists."""
    X, y = design(kind, 0)
    chosen = pursuit.begin(Problem(np.asarray(X, order=order), y), 25, np.array([3, 7]))
    scheme = Screened(chosen, GreedyMethod(largest_correlation, Lengths(chosen.problem)), 25, 1, at_once=True)
    added = scheme.extend(None, -1.0, 20)
    assert kind == "one-hot" or len(added.picks) == 20
    Q = chosen.qr.Qt[: scheme._seen].astype(np.longdouble)
    exact = (X.astype(np.longdouble) ** 2).sum(axis=0) - ((Q @ X) ** 2).sum(axis=0)
    least, most = scheme._squares
    assert np.all(least <= exact)
    assert np.all(exact <= most)


def few_large_entries(rest, small, n=20_000):
    """n/36 entries of 32767, and `rest` elsewhere; and a direction whose entries are as 16383 and `small`.

    A sum in their order is large, and a multiple of 32768, when the small terms come. Eight of these are
    4·32768 + 16320 or 3·32768 + 16368, of which the last number is cut off.
    """
    m = n // 36
    v, x = np.full(n, rest), np.full(n, float(small))
    v[:m], x[:m] = 32767, 16383
    return v, x / np.linalg.norm(x)


@ORDERS
def test_the_bound_allows_for_a_long_sum_in_single_precision(order):
    """Sums are longest in C order; Fortran order has more partial sums, with smaller errors."""
    v, x = few_large_entries(8.4999, 2303)
    X = np.asarray(np.stack([v] * 8, axis=1), order=order)
    screen = filled(Problem(X, x))
    error = exact_error(screen, X, x)
    assert np.all(error <= 0.7 * screen.data.error)
    assert order == "F" or np.all(error > 0.5 * np.sqrt(len(x)) * screen.data.unit)


@pytest.mark.parametrize("large", [1, 1e3])
@pytest.mark.parametrize("n", [3, 700, 20_000])
def test_the_rounding_of_a_vector_has_a_bound(n, large, rng):
    """A vector with large entries is rounded twice, so that the small ones keep some digits."""
    v = rng.normal(size=n)
    v[:2] *= large
    screen = filled(Problem(v[:, None], v))
    pairs.round_vector(v, np.linalg.norm(v), screen.rounded)
    parts, count, unit, error, *_ = screen.rounded
    whole = np.concatenate([parts << 16 >> 16, parts >> 16], axis=1)
    p, q = whole[:, :n]
    assert count[0] == 1 + (n > 3 and large > 1)
    assert np.abs(p).max() == 16383
    assert not whole[:, n:].any()
    left = np.linalg.norm(v / np.linalg.norm(v) - unit[0] * (p + (count[0] - 1) * 2.0**-14 * q))
    assert left * 1.2 <= error[0] <= 4e-4 * 1.25


@ORDERS
def test_a_near_tie_that_single_precision_turns_round(order):
    """The largest correlation is the one that a long chain of roundings would take most from."""
    v, x = few_large_entries(6.4999, 2389)
    n = len(x)
    X = np.zeros((n + 1, 10))
    X[n, 0] = 1
    X[:n, 1] = v
    X[:n, 2:4] = np.outer(x * (v @ x), [1 - 2e-5, 1 - 3e-5])
    X[:n, 4:] = 1e-3 * np.random.default_rng(0).normal(size=(n, 6))
    path = sl.omp(np.asarray(X, order=order), np.append(x, 1.0), 6, forced=[0])
    assert path.support[1] == 1
    assert path.margin[1] == pytest.approx(2e-5, rel=1e-4)


@pytest.mark.parametrize("kind", KINDS)
def test_the_copy_may_err_as_far_as_its_bound(monkeypatch, kind, rng):
    """Errors of 0.99 of the bound, the worst for the picks or by chance, in place of the copy's own."""
    only(monkeypatch, "screen, one by one")

    def scores(self, x):
        unit, exact = self.data.unit, (self.data.X if self.data.by_rows else self.data.X.T).T @ x
        spread = 0.99 * self.data.error * rng.choice([-1, 1], len(exact))
        if rng.random() < 0.5:  # the largest too small, all others too large
            spread = 0.99 * self.data.error * np.sign(exact)
            spread[np.argmax(np.abs(exact))] *= -1
        return np.divide(exact + spread, unit, out=np.zeros_like(unit), where=unit > 0)

    for seed in range(3):
        usual = sl.omp(*design(kind, seed), 25)
        with monkeypatch.context() as patch:
            patch.setattr(Screen, "scores", scores)
            assert_same(sl.omp(*design(kind, seed), 25), usual)


def test_more_contenders_than_are_compared(screened, monkeypatch, rng):
    """200 columns that the copy cannot tell apart: then all correlations are computed."""
    asked, right = [], Selection.correlations
    monkeypatch.setattr(Selection, "correlations", lambda self: asked.append(self) or right(self))
    y, few, many = rng.normal(size=50), rng.normal(size=(50, 5)), 1e-7 * rng.normal(size=(50, 200))
    for X in (np.hstack([few, y[:, None] + many]),
              np.hstack([few + 30 * y[:, None], rng.normal(size=(50, 1)) + many])):  # fmt: skip
        asked.clear()
        assert sl.omp(X, y, 7).support.tolist() == textbook_omp(X, y, 7)
        assert asked


@pytest.mark.parametrize(("count", "apart"), [(3, 1e-4), (10, 1e-5), (40, 1e-6), (40, 1e-8)])
def test_runner_up_among_many_that_are_close(count, apart, rng):
    """Columns within the bound of the copy: margins are those of float64."""
    y = rng.normal(size=80)
    near = y[:, None] + apart * rng.normal(size=(80, count))
    X = np.hstack([0.1 * rng.normal(size=(80, 60)), near, near[:, :2] * 0.3])
    path = sl.omp(X, y, 6, forced=[0])  # the first unforced pick is searched by the copy
    c = np.sort(np.abs(X.T @ residual(X, y, [0])))
    assert path.support[1] == textbook_omp(X, y, 2, [0])[1]
    assert path.lam_star[1] == pytest.approx(c[-1], rel=1e-12)
    assert path.margin[1] == pytest.approx((c[-1] - c[-2]) / c[-1], abs=1e-12)


def test_what_the_factorisation_refuses_is_barred():
    X, y = design("gaussian", 0)
    X[:, 9] = X[:, 7]
    chosen = pursuit.begin(Problem(X, y), 20, NONE)
    scheme = Screened(chosen, GreedyMethod(largest_correlation), 20, 1, at_once=True)
    chosen.record(scheme.extend(Pick(feature=7), -1.0, 1))
    assert scheme.extend(Pick(feature=9), -1.0, 1) == Dependent(9)
    assert (chosen.trail.support, chosen.excluded) == ([7], [7, 9])
    assert np.flatnonzero(scheme._chosen.out).tolist() == [7, 9]
    assert scheme.extend(None, -1.0, 1).picks[0].feature not in (7, 9)


@pytest.mark.parametrize(("n", "d"), [(8, 12), (5, 40), (8, 8), (1, 3)])
def test_a_basis_is_never_exceeded(n, d):
    X, y = design("gaussian", 0, n, d)
    path = sl.omp(X, y, min(d, n + 4))
    assert path.status is (Status.COMPLETED if d == n else Status.EXACT_FIT)
    chosen = pursuit.begin(Problem(X, y), min(20, d), NONE)
    scheme = Screened(chosen, GreedyMethod(largest_correlation), min(20, d), 1, at_once=True)
    for j in range(n):
        followed = scheme.extend(Pick(feature=j), -1.0, 1)
        assert [pick.feature for pick in followed.picks] == [j]
        chosen.record(followed)
    assert d == n or scheme.extend(Pick(feature=n), -1.0, 5) == Dependent(n)
    assert chosen.qr.size == n


def test_few_picks_and_other_problems_need_no_copy(monkeypatch):
    monkeypatch.setattr(single, "Screen", refuse)
    only(monkeypatch, "blocks")
    monkeypatch.setattr(Blocks, "efficient", False)
    X, y = design("walks", 0)
    for k, forced in ((single.FEWEST - 1, ()), (single.FEWEST + 1, (0, 1))):
        assert len(sl.omp(X, y, k, forced=forced).support) == k
    sl.ols(X, y, 9)
    sl.omp(X.astype(np.float32), y, 9)
    refuses("not this scheme", sl.omp, X, y, single.FEWEST, error=AssertionError)


@ORDERS
def test_passes_are_shared_as_long_as_that_makes_them_faster(monkeypatch, order):
    X, y = design("gaussian", 0)
    screen = filled(Problem(np.asarray(X, order=order), y), 3)
    times = iter([0, 1, 0, 2, 0, 0.5, 0, 0.5, 0, 2, 0, 0.5])  # alone; waking, twice together, late; alone
    monkeypatch.setattr(single.time, "perf_counter", lambda: next(times))
    threads, scores = [], []
    for _ in range(6):
        threads.append(screen._threads)
        scores.append(screen.scores(y))
    assert threads == [1, 3, 3, 3, 3, 1]
    assert all(np.array_equal(score, scores[0]) for score in scores)


@pytest.mark.parametrize("scale", [1.0, 1e-154, 1e150])
def test_the_condition_number_does_not_depend_on_the_scale(scale):
    R = scale * np.array([[1.0, 0.5], [0.0, 1e-6]])
    assert linear_algebra.inverse_column_norm(R, np.full(2, scale), 1) == pytest.approx(1.25e12)
