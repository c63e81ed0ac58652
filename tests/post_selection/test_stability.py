"""Stability selection: against loops over the same halves; its bounds by enumeration, linear programs."""

import itertools

import numpy as np
import pytest
import scipy.optimize
import scipy.sparse
from oracles import textbook_ols, textbook_omp
from refusals import refuses
from sklearn.linear_model import lars_path

import sparselin as sl

TEXTBOOK = {"omp": textbook_omp, "ols": textbook_ols}


def design(n=41, d=9, seed=0, rho=0.7):
    """Correlated columns with means."""
    rng = np.random.default_rng(seed)
    X = np.sqrt(rho) * rng.normal(size=(n, 1)) + np.sqrt(1 - rho) * rng.normal(size=(n, d)) + 5
    return X, X[:, :3] @ [2.0, -1.5, 1.0] + rng.normal(size=n) + 3


def halves(n, pairs, seed):
    rng = np.random.default_rng(seed)
    return [rng.permutation(n)[: 2 * (n // 2)].reshape(2, -1) for _ in range(pairs)]


def result(paths, d, forced=(), threshold=0.75):
    paths = np.array(paths, np.intp)
    forced = np.array(forced, np.intp)
    return sl.results.StabilitySelection(paths, forced, threshold, "omp", 10, d, sl.Status.COMPLETED, None)


@pytest.fixture
def rows_of(monkeypatch):
    """The rows of each half for which a problem was made."""
    seen, of_rows = [], sl.Problem.of_rows

    def spy(self, rows):
        seen.append(rows)
        return of_rows(self, rows)

    monkeypatch.setattr(sl.Problem, "of_rows", spy)
    return seen


@pytest.mark.parametrize("n", [40, 41])
def test_the_halves_of_a_pair_have_no_row_in_common(n, rows_of):
    sl.stability_selection(*design(n), 2, pairs=30, method="lasso")
    assert len(rows_of) == 60
    for one, two in zip(rows_of[::2], rows_of[1::2], strict=True):
        assert len(one) == len(two) == 20
        assert len({*one, *two}) == 40
    assert len({*np.concatenate(rows_of)}) == n


@pytest.mark.parametrize("method", ["omp", "ols"])
@pytest.mark.parametrize("forced", [(), (7, 2)])
@pytest.mark.parametrize("centred", [True, False])
@pytest.mark.parametrize("scaled", [True, False])
def test_paths_and_shares_are_those_of_a_loop(method, forced, centred, scaled, rows_of):
    X, y = design()
    options = {"forced": forced, "intercept": centred, "standardize": scaled}
    found = sl.stability_selection(X, y, 5, method=method, pairs=12, rng=3, **options)
    assert len(rows_of) == 1 + 24 * scaled  # one compiled call selects on all halves
    hat, tilde = np.zeros((5, 9)), np.zeros((5, 9))
    for pair, both in zip(halves(41, 12, 3), found.paths, strict=True):
        orders = []
        for rows in pair:
            Z, z = X[rows] - X[rows].mean(axis=0) * centred, y[rows] - y[rows].mean() * centred
            Z /= np.sqrt((Z**2).mean(axis=0)) if scaled else 1
            orders.append(TEXTBOOK[method](Z, z, 5, forced))
        assert both.tolist() == orders
        for t, j in itertools.product(range(5), range(9)):
            inside = [j in order[: t + 1] for order in orders]
            hat[t, j] += sum(inside) / 24
            tilde[t, j] += all(inside) / 12
    np.testing.assert_allclose(found.frequencies, hat, rtol=1e-14)
    np.testing.assert_allclose(found.simultaneous, tilde, rtol=1e-14)
    assert (2 * found.frequencies - 1 <= found.simultaneous + 1e-15).all()
    assert found.sizes.tolist() == [max(t - len(forced), 0) for t in range(1, 6)]
    for t, tau in ((1, 0.6), (3, 0.75), (5, 1.0)):
        assert set(found.selected(t, tau)) == set(np.flatnonzero(hat[t - 1] >= tau - 1e-12))
        shown = [(-hat[t - 1, j].round(9), -hat[:t, j].sum().round(9)) for j in found.selected(t, tau)]
        assert shown == sorted(shown)


@pytest.mark.parametrize("method", ["omp", "ols"])
def test_lengths_that_underflow_on_a_half(method):
    X, y = design()
    X[halves(41, 1, 0)[0][1], 3] *= 1e-170  # the second half
    with pytest.raises(ValueError, match="column 3 of X has a norm whose square over- or underflows"):
        sl.stability_selection(X, y, 5, method=method, pairs=1, rng=0)


def test_lasso_features_count_from_their_first_entry():
    """Against scikit-learn's LARS, on paths that features leave, so that they have more segments than k."""
    X, y = design(60, 12, seed=3, rho=0.9)
    found = sl.stability_selection(X, y, 12, method="lasso", pairs=8, rng=5, intercept=True)
    left = 0
    for pair, both in zip(halves(60, 8, 5), found.paths, strict=True):
        for rows, order in zip(pair, both, strict=True):
            Z, z = X[rows] - X[rows].mean(axis=0), y[rows] - y[rows].mean()
            coefs = lars_path(Z, z, method="lasso")[2]
            first = [np.flatnonzero(row)[0] if row.any() else 99 for row in coefs]
            expected = [j for j in np.argsort(first, kind="stable") if first[j] < 99]
            assert order[order >= 0].tolist() == expected
            left = max(left, coefs.shape[1] - 1 - len(expected))
    assert left > 2


def test_of_lasso_features_that_enter_together_the_lowest_is_first():
    found = sl.stability_selection(np.tile(np.eye(3), (40, 1)), np.ones(120), 3, method="lasso", pairs=200)
    together = 0
    for pair, both in zip(halves(120, 200, 0), found.paths, strict=True):
        for rows, order in zip(pair, both, strict=True):
            counts = np.bincount(rows % 3, minlength=3)
            assert order.tolist() == np.argsort(-counts, kind="stable").tolist()
            together += len(set(counts)) < 3
    assert together > 20


def test_a_short_k_has_the_first_features_of_a_long_one():
    X, y = design(60, 12, seed=1, rho=0.9)
    for method in ("omp", "ols", "lasso"):
        long = sl.stability_selection(X, y, 12, method=method, pairs=3, forced=[4])
        short = sl.stability_selection(X, y, 3, method=method, pairs=3, forced=[4])
        assert (long.paths[:, :, :3] == short.paths).all()


# The bounds


def test_the_bound_holds_for_every_law_of_rows_that_can_be_enumerated():
    """Rows drawn from three atoms: all samples of four rows, all choices of two pairs, weighed exactly."""
    ways = [((0, 1), (2, 3)), ((0, 2), (1, 3)), ((0, 3), (1, 2))]  # to halve four rows
    worst = 0.0
    for seed in range(12):
        rng = np.random.default_rng(seed)
        atoms, y = rng.normal(size=(3, 8)), rng.normal(size=3)
        first = {
            half: textbook_omp(atoms[list(half)], y[list(half)], 1)
            for half in itertools.product(range(3), repeat=2)
        }
        p = np.mean([np.isin(range(8), path) for path in first.values()], axis=0)
        for tau in (0.75, 1.0):
            counts = []
            for sample in itertools.product(range(3), repeat=4):
                pairs = [[first[sample[a], sample[b]] for a, b in way] for way in ways]
                for both in itertools.product(pairs, repeat=2):
                    found = result(both, 8)
                    counts.append(np.count_nonzero(p[found.selected(1, tau)] <= 1 / 8))
            assert np.mean(counts) <= found.bound(1, tau)
            worst = max(worst, np.mean(counts) / found.bound(1, tau))
    assert worst > 0.1


@pytest.mark.parametrize(("B", "tau"), [(50, 0.6), (50, 0.75), (50, 0.9), (7, 0.75), (4, 1.0)])
def test_the_formula(B, tau):
    found = result(np.tile([[[3, 0, 1]] * 2], (B, 1, 1)), 40, forced=[3])
    least = next(c for c in range(2 * B + 1) if c / (2 * B) >= tau)
    assert found.bound(3, tau) == pytest.approx(2**2 / 39 * B / (least - B), rel=1e-14)
    if (2 * B * tau) % 1 == 0:
        assert found.bound(3, tau) == pytest.approx(2**2 / 39 / (2 * tau - 1), rel=1e-12)
    assert found.bound(1, tau) == 0.0
    # Shah and Samworth, Theorem 2
    if (2 * B * tau) % 1 == 0:
        above = 4 * (1 - tau + 1 / (2 * B)) / (1 + 1 / B)
        C = 1 / (2 * (2 * tau - 1 - 1 / (2 * B))) if tau <= 0.75 else above
        assert found.bound(3, tau, unimodal=True) == pytest.approx(2**2 / 39 * C, rel=1e-12)


@pytest.mark.parametrize("B", [1, 3, 7, 10])
def test_the_unimodal_bound_is_the_value_of_a_linear_program(B):
    """max P(X ≥ s) over the unimodal laws on 0..B with a mean η < 1, each mode in its turn."""
    x, d = np.arange(B + 1), 100
    for s in range(1, B + 1):
        for t in {1, int(0.9 * d / np.sqrt(B)), int(np.ceil(d / np.sqrt(B))) - 1}:
            mean = B * (t / d) ** 2
            best = 0.0
            for mode in x:
                rising = np.diff(np.eye(B + 1), axis=0) * np.where(x[:-1] < mode, -1, 1)[:, None]
                program = scipy.optimize.linprog(
                    -1.0 * (x >= s),
                    np.vstack([rising, x]),
                    np.append(np.zeros(B), mean),
                    np.ones((1, B + 1)),
                    [1.0],
                )
                assert program.success or mode >= 2 * mean  # the mean of a law is at least half its mode
                best = max(best, -program.fun if program.success else 0.0)
            found = result(np.tile(np.arange(t), (B, 2, 1)), d)
            # P ≤ C·p², and the bound is C·θ·t, θ = t/d: P at p = θ is the bound over d
            assert best == pytest.approx(found.bound(t, (B + s) / (2 * B), unimodal=True) / d, rel=1e-7)


def test_the_unimodal_bound_has_a_range():
    found = result(np.tile(np.arange(30), (50, 2, 1)), 100)
    assert found.bound(14, 0.9, unimodal=True) < found.bound(14, 0.9)
    refuses(r"unimodal needs pairs·θ² < 1; got 50 pairs, θ = 0.15", found.bound, 15, 0.9, unimodal=True)


# Ends, seeds, errors


def test_paths_that_end_early():
    X, y = design(10, 9)
    found = sl.stability_selection(X, y, 9, pairs=4)
    assert (found.paths[:, :, 5:] == -1).all()
    assert (found.paths[:, :, :5] >= 0).all()
    assert found.sizes.tolist() == [1, 2, 3, 4, 5, 5, 5, 5, 5]
    assert found.frequencies[-1].sum() == pytest.approx(5, rel=1e-12)
    nothing = sl.stability_selection(X, 0 * y, 9, pairs=4, forced=[2])
    assert nothing.selected().tolist() == [2]
    assert nothing.sizes.tolist() == [0] * 9
    for method in ("ols", "lasso"):
        assert sl.stability_selection(X, 0 * y, 9, method=method, pairs=1).selected().tolist() == []


def test_seeds():
    X, y = design()
    first = sl.stability_selection(X, y, 3, pairs=5)
    assert first == sl.stability_selection(X, y, 3, pairs=5, rng=0)
    assert first == sl.stability_selection(X, y, 3, pairs=5, rng=np.random.default_rng(0))
    assert first != sl.stability_selection(X, y, 3, pairs=5, rng=1)
    more = sl.stability_selection(X, y, 3, pairs=9)
    assert (more.paths[:5] == first.paths).all()


def test_the_callback_sees_pairs_and_stops():
    X, y = design()
    seen = []
    found = sl.stability_selection(X, y, 3, callback=lambda f: seen.append(f) or len(seen) == 4)
    assert [f.pairs for f in seen] == [1, 2, 3, 4]
    assert found == seen[-1]
    assert found.status is sl.Status.STOPPED


@pytest.mark.parametrize("standardize", [False, True])
@pytest.mark.parametrize("intercept", [False, True])
def test_the_problem_of_some_rows_is_that_of_these_rows(intercept, standardize):
    X, y = design()
    weight = np.random.default_rng(4).uniform(0.5, 2, 41)
    rows, options = np.array([3, 7, 8, 20, 30, 39]), {"intercept": intercept, "standardize": standardize}
    for form in (np.array, np.asfortranarray, scipy.sparse.csc_array):
        whole = sl.Problem(form(X), y, sample_weight=weight, **options)
        part = whole.of_rows(rows)
        direct = sl.Problem(form(X[rows]), y[rows], sample_weight=weight[rows], **options)
        share = part.column_norms[:9] / direct.column_norms[:9]
        if intercept or not standardize:
            np.testing.assert_allclose(share, 1, rtol=1e-13)
        np.testing.assert_allclose(share / share[0], 1, rtol=1e-13)
        np.testing.assert_allclose(part.Xty[:9] / share, direct.Xty[:9], rtol=1e-12)


@pytest.mark.parametrize("form", [np.asarray, np.asfortranarray, np.float32, scipy.sparse.csc_array], ids=str)
@pytest.mark.parametrize("method", ["omp", "ols", "lasso"])
@pytest.mark.parametrize("standardize", [False, True])
@pytest.mark.parametrize("intercept", [False, True])
def test_rows_of_weight_zero_are_as_if_removed(intercept, standardize, method, form):
    """Bit for bit; the unit of the weights does not matter, and a row of zeros has its weight."""
    X, y = design(24, 6)
    X[5] = y[5] = 0
    places = [0, 0, 9, 24, 24]
    weight = np.random.default_rng(1).uniform(0.5, 2, 24)
    longer = form(np.insert(X, places, 70.0, axis=0)), np.insert(y, places, -80.0)
    gone = np.insert(weight, places, 0.0)
    options = {
        "intercept": intercept,
        "standardize": standardize,
        "method": method,
        "pairs": 4,
        "forced": [1],
    }
    found = sl.stability_selection(form(X), y, 4, sample_weight=weight, **options)
    assert sl.stability_selection(*longer, 4, sample_weight=gone, **options) == found
    assert sl.stability_selection(form(X), y, 4, sample_weight=4 * weight, **options) == found
    problem = sl.Problem(*longer, sample_weight=gone, intercept=True, standardize=standardize)
    if intercept:
        del options["intercept"], options["standardize"]
        assert sl.stability_selection(problem, None, 4, **options) == found
    assert found.n_rows == 24
    assert "8 halves, 12 rows each" in str(found)
    few = np.where(np.arange(29) == 4, 1.0, 0.0)
    refuses("two rows with a positive weight", sl.stability_selection, *longer, 4, sample_weight=few)


def test_paths_that_rounding_ends_are_counted():
    """Columns within 1e-13 of a space of three dimensions."""
    rng = np.random.default_rng(2)
    X = rng.standard_normal((24, 3)) @ rng.standard_normal((3, 8)) + 3e-13 * rng.standard_normal((24, 8))
    y = rng.standard_normal(24)
    found = sl.stability_selection(X, y, 6, method="lasso", pairs=5)
    cut = 0
    for pair, both in zip(halves(24, 5, 0), found.paths, strict=True):
        for rows, order in zip(pair, both, strict=True):
            path = sl.lasso_path(X[np.sort(rows)], y[np.sort(rows)])
            ended = path.status is sl.Status.BEYOND_PRECISION and (order < 0).any()
            assert not ended or set(order[order >= 0]) == set().union(*path.active)
            cut += ended
    assert found.undecided == cut > 0
    assert found.status is sl.Status.BEYOND_PRECISION
    assert f"{cut} paths ended early: rounding left a step undecided" in str(found)
    stopped = sl.stability_selection(X, y, 6, method="lasso", pairs=5, callback=lambda found: True)
    assert stopped.status is sl.Status.STOPPED


def test_what_it_refuses():
    X, y = design()
    for wrong, words in (
        ({"method": "lars"}, "method must be one of omp, ols, lasso; got 'lars'"),
        ({"threshold": 0.5}, r"threshold must be in \(1/2, 1\].*got 0.5"),
        ({"threshold": 1.1}, "threshold must be in"),
    ):
        refuses(words, sl.stability_selection, X, y, 3, **wrong)
    refuses("at least two rows", sl.stability_selection, X[:1], y[:1], 3)
    with pytest.raises(TypeError, match="rows of X are needed"):
        sl.stability_selection(sl.Problem.from_gram(X.T @ X, X.T @ y, y @ y), 3)
    found = sl.stability_selection(X, y, 3, pairs=2)
    for t in (0, 4):
        refuses(r"t must be in 1\.\.3", found.selected, t)
    refuses("threshold must be in", found.bound, 3, 0.4)


def test_the_table_and_the_frame():
    pandas = pytest.importorskip("pandas")
    X, y = design()
    found = sl.stability_selection(pandas.DataFrame(X).add_prefix("c"), y, 4, forced=["c8"], pairs=10)
    frame = found.to_frame()
    hat = found.frequencies
    assert frame["name"].tolist() == [f"c{j}" for j in frame["index"]]
    assert frame["frequency"].tolist() == sorted(hat[-1][hat[-1] > 0], reverse=True)
    assert found.selected().tolist() == [f"c{j}" for j in found.selected_indices()]
    assert frame["forced"].tolist() == (frame["index"] == 8).tolist()
    for j, since in zip(frame["index"], frame["stable_from"], strict=True):
        above = np.flatnonzero(hat[:, j] >= 0.75)
        assert since == above[0] + 1 if len(above) else np.isnan(since)


def test_a_bound_that_says_nothing_is_called_so(rng):
    """At most q/τ features can be in a share τ of halves with q features each."""
    words = "This says nothing, because at most {} features can have that Π̂; use a smaller k"
    X, y = rng.standard_normal((40, 30)), rng.standard_normal(40)
    for columns, k, forced, most in (
        (4, 4, (), 4),
        (10, 8, (), 10),
        (10, 9, (3,), 9),
        (10, 5, (), 0),
        (30, 3, (), 0),
    ):
        found = sl.stability_selection(X[:, :columns], y, k, forced=forced, pairs=5, threshold=0.8, rng=0)
        assert ("says nothing" in str(found)) == bool(most)
        assert not most or words.format(most) in str(found)
        free = np.count_nonzero(found.frequencies[-1] >= 0.8) - len(forced)
        assert free <= (k - len(forced)) / 0.8
