"""`forced` features in the searches, and in the guarantees: the problem given them, by enumeration."""

import numpy as np
import pytest
import ratios
import scipy.sparse
from exact_r2 import FAMILIES, ExactR2, nearly_dependent, rational
from oracles import unit
from ratios import independent_design, r2, subsets
from refusals import refuses
from spectral_oracles import Table, r_squared, trap

import sparselin as sl
from sparselin import Status, batch_omp
from sparselin.greedy._groups import group_omp
from sparselin.linalg.elimination import eliminate as given_first
from sparselin.spectral import GeneralizedRank, SpectralVariance
from sparselin.spectral.choice import lasso_fits


def test_deletions_leave_the_forced_features():
    """The element that spoils the others is forced, and then all others are worth one each."""
    d, q = 6, 50
    found = sl.local_search(np.eye(d), np.ones(d), regularizer=trap(d, q), forced=[0])
    assert found.support.tolist() == [0, 1, 2, 3, 4, 5]
    # f_F = q at S = ∅ and less elsewhere: the search deletes the feature with which it starts
    falling = Table(tuple(float(50 - m.bit_count()) if m & 1 else 0.0 for m in range(1 << d)))
    found = sl.local_search(np.eye(d), np.zeros(d), regularizer=falling, forced=[0])
    assert (found.support.tolist(), found.moves) == ([0], 1)


def test_within_and_forced():
    X, y = np.eye(5), np.ones(5)
    found = sl.local_search(X, y, regularizer=GeneralizedRank(0.5), within=[2, 4, 3], forced=[3, 0])
    assert found.support.tolist() == [3, 0, 2, 4]
    alone = sl.local_search(X, y, regularizer=SpectralVariance(k=2), within=[], forced=[3])
    assert (alone.support.tolist(), alone.moves) == ([3], 0)


@pytest.mark.parametrize("method", ["forward", "greedy_local_search"])
@pytest.mark.parametrize("refitted", [False, True])
def test_choose_nu_with_forced_features(method, refitted, rng):
    X = rng.standard_normal((40, 10)) + rng.standard_normal((40, 1))
    X /= np.linalg.norm(X, axis=0)
    y, F, k, f = X[:, :4] @ [1, -2, 3, 1] + 0.1 * rng.standard_normal(40), [7, 2], 5, GeneralizedRank(0.5)
    options = {"method": method, "refitted": refitted, "forced": F}
    choice = sl.choose_nu(X, y, k, f, **options)
    # the LASSO without a penalty on F is that of what is left of the columns and y
    Q = np.linalg.qr(X[:, F])[0]
    free = np.setdiff1d(np.arange(10), F)
    rest, left = X[:, free] - Q @ (Q.T @ X[:, free]), y - Q @ (Q.T @ y)
    fit = lasso_fits(sl.Problem(rest, left), [k - 2])[0]
    lost = (left @ left) / (y @ y)
    assert choice.r2_lasso == pytest.approx(1 - lost * (1 - fit.r2))
    assert choice.r2_refitted == pytest.approx(r_squared(X, y, F + free[fit.features].tolist()))
    search = sl.forward_regression if method == "forward" else sl.greedy_local_search
    target = choice.r2_refitted if refitted else choice.r2_lasso
    for nu, score in zip(choice.tried[::5], choice.r2_tried[::5], strict=True):
        assert search(X, y, k, regularizer=f, nu=nu, forced=F).r2 == pytest.approx(score)
        assert nu <= choice.nu or score < target
    assert choice.selection.support[:2].tolist() == F
    assert choice.selection.r2 >= target
    nothing = sl.choose_nu(X, y, 2, f, **options)
    assert nothing.selection.support.tolist() == F
    assert nothing.r2_lasso == nothing.r2_refitted == pytest.approx(r_squared(X, y, F))


# γ and the guarantees


def at(f, F, free):
    """The set function f(F ∪ ·) on the positions of the free elements."""
    return lambda S: f(tuple(F) + tuple(free[i] for i in S))


@pytest.mark.parametrize("kind", ratios.KINDS)
def test_gamma_is_that_of_the_contracted_function(kind, rng):
    for _ in range(20):
        X, y, U, k = ratios.draw(rng, kind)
        order = rng.permutation(X.shape[1]).tolist()
        m = int(rng.integers(1, X.shape[1] + 1))
        F, free = order[:m], sorted(order[m:])
        found = sl.submodularity_ratio(X, y, U, k, forced=F)
        f = at(ratios.r2_by_svd(X, y), F, free)
        V, left = [free.index(j) for j in U if j in free], 1 - f(())
        gamma = ratios.gamma_by_definition(f, len(free), V, k, 1e-11)[0]
        assert found.exact
        assert not {*found.base.tolist(), *found.added.tolist()} & set(F)
        if left > 1e-9:
            assert found.lower - 1e-8 <= gamma <= found.upper + 1e-8
            assert found.upper - found.lower < 1e-8
        else:
            assert found.lower == found.upper == 1


@pytest.mark.parametrize("family", FAMILIES)
def test_gamma_in_rationals(family):
    """The eps of the problem tells how far the projected columns are off."""
    decided = 0
    for seed in range(12):
        X, y = nearly_dependent(family, np.random.default_rng(seed))
        d = X.shape[1]
        F, free = [seed % d], [j for j in range(d) if j != seed % d]
        f = ExactR2(X, y)
        left = given_first(sl.Problem(X, y), np.array(F))
        found = sl.submodularity_ratio(X, y, free[:2], 2, forced=F)
        gamma = rational(1.0)
        inside = [j for j in free if left.column_norms[j] == 0]
        for L, A in ratios.pairs(d, free[:2], 2):
            if {*L, *A} & {*F, *inside}:  # to rounding in the span of F
                continue
            joint = f((*L, *F, *A)) - f((*L, *F))
            if joint > rational(1e-24) * (1 - f(tuple(F))):
                single = sum((f((*L, *F, x)) - f((*L, *F)) for x in A), rational(0.0))
                gamma = min(gamma, single / joint)
        assert rational(found.lower) <= gamma <= rational(found.upper)
        decided += found.exact
    assert decided or family == "clusters"


def test_copies_given_forced_columns_are_known_exactly(rng):
    """Columns of integers, and copies, whose dependence given F rounding leaves open."""
    X = rng.integers(-2, 3, (7, 5)).astype(float)
    X = np.column_stack([X, 2 * X[:, 1] + X[:, 0], -4 * X[:, 3]])
    found = sl.submodularity_ratio(X, rng.integers(-2, 3, 7), [1, 3], 2, forced=[0])
    assert found.exact
    assert found.lower > 0
    left = given_first(sl.Problem(X, np.ones(7)), np.array([0, 1]))
    assert np.flatnonzero(left.column_norms == 0).tolist() == [0, 1, 5]
    assert left.eps > left.origin.eps


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("intercept", [False, True])
def test_guarantees_are_those_of_the_projected_problem(seed, intercept):
    X, y, k = independent_design(seed)
    X, d = X + 3 * intercept, X.shape[1]
    F = np.random.default_rng(seed).permutation(d)[: 1 + seed % 2].tolist()
    free = np.setdiff1d(np.arange(d), F)
    E = np.column_stack([np.ones((len(X), int(intercept))), X[:, F]])
    Z, z = (v - E @ np.linalg.lstsq(E, v, rcond=None)[0] for v in (X[:, free], y))
    k = min(k, len(free))
    algorithms = ("forward_regression", "omp", "sequential_lasso")
    found = sl.guarantee_bounds(X, y, k + len(F), forced=F, intercept=intercept, algorithms=algorithms)
    plain = sl.guarantee_bounds(Z, z, k, algorithms=algorithms)
    assert found.k == k + len(F)
    for (name, S), (_, T) in zip(found.supports, plain.supports, strict=True):
        assert S.tolist() == F + free[T].tolist()
        top = max(r2(Z, z, L) for L in subsets(range(len(free)), k, k))
        short = {"forward_regression": "FR", "omp": "OMP"}.get(name, name)
        assert dict(found.r2)[short] == pytest.approx(r2(Z, z, T))
        assert found.best.lower == pytest.approx(top)
    for one, other in zip(found.bounds, plain.bounds, strict=True):
        assert (one.name, one.hypotheses) == (other.name, other.hypotheses)
        assert one.lower == pytest.approx(other.lower, abs=1e-9)
        assert one.upper == pytest.approx(other.upper, abs=1e-9)
        assert one.achieved.lower == pytest.approx(other.achieved.lower, abs=1e-7)
        assert one.achieved.upper == pytest.approx(other.achieved.upper, abs=1e-7)
    assert sorted(found.best_support[len(F) :]) == sorted(free[plain.best_support])
    assert not found.violated


def test_many_sets_beside_forced_features(rng):
    """max g is bounded then, by R² of the best subset and single gains of f given F."""
    X, y = unit(rng.standard_normal((30, 40))), rng.standard_normal(30)
    F, f, nu = [3, 8], GeneralizedRank(0.5), 0.1
    given = {"forced": F, "regularizer": f, "nu": nu}
    found = sl.guarantee_bounds(X, y, 5, **given, algorithms=("omp",), node_limit=2000, pair_limit=5000)
    achieved, C = found.of("FR on R² + νf")[0].achieved, X.T @ X
    ahead = sl.forward_regression(X, y, 5, regularizer=f, nu=nu, forced=F)
    for _ in range(300):
        S = F + rng.choice(np.setdiff1d(np.arange(40), F), 3, replace=False).tolist()
        assert achieved.lower * (r2(X, y, S) + nu * f.value(C, S)) <= ahead.value * (1 + 1e-9)
    assert 0.5 < achieved.lower < achieved.upper <= 1


def test_a_guarantee_needs_a_feature_that_is_not_forced():
    refuses("k = 2 features are forced", sl.guarantee_bounds, np.eye(4), np.ones(4), 2, forced=[0, 1])


def test_forced_by_name():
    problem = sl.Problem(np.eye(3) + 0.5, [1.0, 2.0, 0.5], names=["a", "b", "c"])
    f = GeneralizedRank(0.5)
    assert sl.local_search(problem, regularizer=f, nu=0.1, forced=["c"]).support[0] == 2
    assert sl.greedy_local_search(problem, 2, regularizer=f, nu=0.1, forced=["c"]).support[0] == 2
    assert sl.choose_nu(problem, 2, f, forced=["c"]).selection.support[0] == 2
    assert sl.guarantee_bounds(problem, 2, forced=["c"]).supports[0][1][0] == 2
    by_index = sl.submodularity_ratio(problem, None, [0], 2, forced=[2])
    assert sl.submodularity_ratio(problem, None, ["a"], 2, forced=["c"]).upper == by_index.upper


# All methods stop alike: at a zero residual, and at exactly the level that another reached


def stopping_methods(X, y, k):
    """The status and the number of picks of every method with `residual` or `tol`, by its name."""
    rows = np.sqrt(np.arange(1.0, len(y) + 1))

    def batch(D, count):
        def by(**rule):
            found = batch_omp(D, np.column_stack([y] * count), k, **rule)
            assert len(set(found.status)) == 1
            return found.status[0], int(found.n_selected[0])

        return by

    def groups(residual=None, tol=None):
        levels = [level for level in (residual, tol and tol * np.linalg.norm(y)) if level is not None]
        level = max(levels) / np.linalg.norm(y) if levels else None
        path = group_omp(X, y[:, None], k, tol=level)
        return path.status, len(path.order)

    def ended(method, *data, **options):
        def by(**rule):
            path = method(*data, k, **options, **rule)
            return path.status, len(path.support)

        return by

    return {
        "omp": ended(sl.omp, X, y),
        "ols": ended(sl.ols, X, y),
        "positive": ended(sl.omp, X, y, positive=True),
        "sparse": ended(sl.omp, scipy.sparse.csc_array(X), y),
        "single": ended(sl.omp, X.astype(np.float32), y.astype(np.float32)),
        "complex": ended(sl.omp, 1j * X, y),
        "complex_ols": ended(sl.ols, 1j * X, y),
        "weights": ended(sl.omp, X / rows[:, None], y / rows, sample_weight=rows**2),
        "gram": ended(sl.omp, sl.Problem.from_gram(X.T @ X, X.T @ y, y @ y), None),
        "groups": groups,
        "batch_omp": batch(X, 12),
        "one_by_one": batch(X, 1),
        "complex_batch": batch(1j * X, 1),
    }


@pytest.mark.parametrize("rule", [{"residual": 0.0}, {"tol": 0.0}, {"tol": 1e-17}, {"residual": 0, "tol": 0}])
def test_every_method_calls_a_zero_residual_an_exact_fit(rule):
    """EXACT_FIT does not depend on whether all digits of ‖r‖ vanish, as they often do over integers."""
    fits = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        X = rng.integers(-2, 3, (6, 4)).astype(float)
        if np.linalg.matrix_rank(X) < 4:
            continue
        y = X[:, :2] @ rng.integers(1, 4, 2)
        # more columns than the fit needs
        X = np.column_stack([X, rng.integers(-2, 3, (6, 2))])
        for name, method in stopping_methods(X, y, 6).items():
            status, _ = method(**rule)
            assert status is method()[0], (seed, name)
            assert status is not Status.TOLERANCE, (seed, name)
        fits += sl.omp(X, y, 6, **rule).status is Status.EXACT_FIT
    assert fits > 10


@pytest.mark.parametrize("unit", [1.0, 1e-3, 2.0**60])
def test_every_method_stops_at_exactly_the_level_that_another_reached(unit):
    """All methods pick the same orthogonal columns and stop at residual norms with rounding errors."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        X = np.linalg.qr(rng.standard_normal((9, 9)))[0][:, :6] * rng.uniform(0.5, 2)
        y = unit * (X @ np.array([0.9, 0.75, 0.6, 0.45, 0.3, 0.15]) + 0.1 * rng.standard_normal(9))
        reached = sl.omp(X, y, 6).residual_norm
        for t in range(1, 6):
            methods = stopping_methods(X, y, 6)
            del methods["gram"]  # which knows ‖r‖² to eps‖y‖²
            for name, method in methods.items():
                for rule in ({"residual": reached[t]}, {"tol": reached[t] / np.linalg.norm(y)}):
                    assert method(**rule) == (Status.TOLERANCE, t), (seed, t, name)
