"""FR, LS and GLS against the algorithms as printed, on tables of all values of f and g."""

import numpy as np
import pytest
from exact_r2 import ExactR2, number
from hypothesis import example, given, settings
from hypothesis import strategies as st
from refusals import refuses
from spectral_oracles import (
    NUS,
    REGULARIZERS,
    Table,
    by_eigenvalues,
    designs,
    mask_of,
    members,
    naive_forward,
    naive_local,
    r_squared,
    tables,
    trap,
)

import sparselin as sl
import sparselin.spectral.objective
from sparselin import Problem, Status
from sparselin.results import SubsetResult
from sparselin.spectral import GeneralizedRank, SmoothedDifferentialEntropy, SpectralVariance, greedy_maximize
from sparselin.spectral._searches import Climb
from sparselin.spectral.objective import GrowingR2
from sparselin.spectral.regularizers.base import Gram


def contracted(table, F, free):
    """The values of S ↦ table(F ∪ S) on subsets of the free elements."""
    return [table[mask_of([*F, *(free[i] for i in members(A))])] for A in range(1 << len(free))]


@st.composite
def given_some(draw):
    """X, y, F, which may be empty, and some of the other columns, at least one."""
    X = draw(designs(max_d=6))
    d = X.shape[1]
    order, m = draw(st.permutations(range(d))), draw(st.integers(0, d - 1))
    y = np.random.default_rng(draw(st.integers(0, 2**32))).integers(-3, 4, len(X)).astype(float)
    return X, y, order[:m], sorted(order[m : draw(st.integers(m + 1, d))])


@pytest.mark.parametrize("f", REGULARIZERS, ids=str)
@settings(max_examples=50)
@given(data=given_some(), nu=NUS, more=st.integers(1, 6))
def test_forward_regression_takes_what_the_printed_algorithm_takes(f, data, nu, more):
    X, y, F, _ = data
    d = X.shape[1]
    free, k = [j for j in range(d) if j not in F], min(len(F) + more, d)
    values, g = tables(X, y, f, nu)
    found = sl.forward_regression(X, y, k, regularizer=f, nu=nu, forced=F)
    picks = naive_forward(contracted(g, F, free), k - len(F), (1 << len(free)) - 1)
    assert found.support.tolist() == [*F, *(free[i] for i in picks)]
    prefixes = [0] + [mask_of(found.support[: j + 1]) for j in range(k)]
    assert found.value == pytest.approx(g[prefixes[-1]], rel=1e-7, abs=1e-7)
    assert found.r2 == pytest.approx(r_squared(X, y, found.support.tolist()), abs=1e-8)
    assert found.diversity == pytest.approx(values[prefixes[-1]], rel=1e-7, abs=1e-7)
    assert found.gains == pytest.approx(np.diff([g[A] for A in prefixes]), rel=1e-7, abs=1e-6 * max(1, nu))
    assert (found.status, found.moves, found.n_features) == (Status.COMPLETED, k, d)


@pytest.mark.parametrize("f", REGULARIZERS, ids=str)
@pytest.mark.parametrize("variant", ["complete", "printed"])
@settings(max_examples=40)
@given(data=given_some(), nu=NUS, eps=st.sampled_from([0.0, 0.1, 2.0]))
def test_local_search_ends_where_the_printed_algorithm_ends(f, variant, data, nu, eps):
    """If features are forced, the function is contracted."""
    X, y, F, U = data
    whole = tables(X, y, f, nu)
    values, g = (contracted(table, F, U) for table in whole)
    full = len(values) - 1
    expected = naive_local(values, g, eps, full, variant == "complete")
    found = sl.local_search(X, y, regularizer=f, nu=nu, eps=eps, within=U, variant=variant, forced=F)
    assert found.support[: len(F)].tolist() == F
    assert [name for name, _ in found.candidates] == ["S", "U∖S", "U"]
    assert [value for _, value in found.candidates] == pytest.approx([g[A] for A in expected], abs=1e-6)
    at = whole[1][mask_of(found.support)]
    assert at == pytest.approx(max(g[A] for A in expected), rel=1e-7, abs=1e-7)
    assert found.value == pytest.approx(at, rel=1e-7, abs=1e-6)
    assert nu * whole[0][0] + found.gains.sum() == pytest.approx(found.value, abs=1e-6)
    if variant == "complete" and min(values) >= 0:
        S, n, slack = expected[0], len(U), 1e-7 * max(values)
        assert (2 + eps / n) * values[S] + values[full & ~S] >= max(values) - slack
        assert found.value >= max(g) / (4 + eps / n) - slack


@pytest.mark.parametrize("f", REGULARIZERS, ids=str)
@settings(max_examples=40)
@given(data=given_some(), nu=NUS, more=st.integers(0, 2))
def test_greedy_local_search_is_the_best_of_its_three_sets(f, data, nu, more):
    X, y, F, _ = data
    free = [j for j in range(X.shape[1]) if j not in F]
    k = min(max(more, not F), len(free))
    values, g = (contracted(table, F, free) for table in tables(X, y, f, nu))
    full = len(values) - 1
    S1 = mask_of(naive_forward(g, k, full))
    S2 = mask_of(naive_forward(g, k, full & ~S1))
    inner = max(g[A] for A in naive_local(values, g, 0.1, S1, True)) if k else g[0]
    found = sl.greedy_local_search(X, y, len(F) + k, regularizer=f, nu=nu, forced=F)
    assert [name for name, _ in found.candidates] == ["S1", "S1'", "S2"]
    values = [value for _, value in found.candidates]
    assert values == pytest.approx([g[S1], inner, g[S2]], rel=1e-7, abs=1e-6)
    assert found.value == pytest.approx(max(g[S1], inner, g[S2]), rel=1e-7, abs=1e-6)
    assert found.support[: len(F)].tolist() == F
    assert len(found.support) <= len(F) + k


def test_additions_alone_are_trapped_and_deletions_are_not():
    """f({0}) = q + 1 is the best single element; with all added f = q + d, without 0 it is q(d − 1)."""
    d, q = 6, 50
    f, X, y = trap(d, q), np.eye(d), np.ones(d)
    # at ε = 3 an addition to {0} must raise f by (3/36)·(q + 1) > 1
    printed = sl.local_search(X, y, regularizer=f, nu=1.0, eps=3.0, variant="printed")
    complete = sl.local_search(X, y, regularizer=f, nu=1.0, eps=0.1, variant="complete")
    assert dict(printed.candidates)["S"] == pytest.approx(q + 1 + 1 / d)
    assert sorted(complete.support.tolist()) == [1, 2, 3, 4, 5]
    assert dict(complete.candidates)["S"] == pytest.approx(q * (d - 1) + (d - 1) / d)
    assert complete.moves == d  # five additions, and a deletion


def test_the_complete_search_ends_where_f_is_zero():
    """f = 0 everywhere: with "≥" additions and deletions would never end."""
    f = Table((0.0,) * 8)
    found = sl.local_search(np.eye(3), np.ones(3), regularizer=f)
    assert (found.moves, found.support.tolist()) == (0, [0, 1, 2])  # U has the largest R²
    assert sl.local_search(np.eye(3), np.ones(3), regularizer=f, variant="printed").moves == 2


def test_local_search_within_nothing():
    found = sl.local_search(np.eye(3), np.ones(3), regularizer=SpectralVariance(k=2), within=[])
    assert (found.support.tolist(), found.value, found.moves) == ([], 36.0, 0)


def test_negative_functions_are_refused():
    f = Table((-1.0,) * 8)
    refuses("local search needs f ≥ 0", sl.local_search, np.eye(3), np.ones(3), regularizer=f)
    with pytest.raises(ValueError, match="normalising"):
        sl.greedy_local_search(np.eye(3), np.ones(3), 2, regularizer=SmoothedDifferentialEntropy(3.0, k=2))


@pytest.mark.parametrize("kind", ["duplicates", "orthogonal", "noise"])
def test_without_a_regularizer_it_is_ols(kind, rng):
    X = rng.standard_normal((30, 12))
    if kind == "duplicates":
        X[:, 6:] = X[:, :6]
    if kind == "orthogonal":
        X = np.linalg.qr(X)[0]
    y = rng.standard_normal(30)
    path = sl.ols(X, y, 10)
    for regularizer in (None, GeneralizedRank(0.5)):
        found = sl.forward_regression(X, y, 10, regularizer=regularizer, nu=0.0, forced=[])
        assert found.support.tolist() == path.support.tolist()
        assert found.status is path.status
        assert found.coef == pytest.approx(path.coef, rel=1e-12)
        relative = (path.residual_norm / path.residual_norm[0]) ** 2
        assert found.r2 == found.value == pytest.approx(1 - relative[-1])
        assert found.gains == pytest.approx(-np.diff(relative))
    assert found.diversity == pytest.approx(by_eigenvalues(regularizer, X.T @ X, found.support))
    # a weight that cannot decide picks as OLS does too, and goes on when OLS ends
    tiny = sl.forward_regression(X, y, 10, regularizer=GeneralizedRank(0.5), nu=1e-200)
    assert tiny.support[: len(path.support)].tolist() == path.support.tolist()
    assert tiny.r2 == pytest.approx(found.r2)


@pytest.mark.parametrize("f", REGULARIZERS[:4], ids=str)
def test_ties_go_to_the_lowest_index(f, rng):
    """Orthonormal columns with equal products, and copies."""
    X = np.linalg.qr(rng.standard_normal((12, 6)))[0]
    y = X @ np.ones(6)
    assert sl.forward_regression(X, y, 4, regularizer=f, nu=0.1).support.tolist() == [0, 1, 2, 3]
    copies = np.repeat(X, 2, axis=1)
    assert sl.forward_regression(copies, y, 6, regularizer=f, nu=0.1).support.tolist() == [0, 2, 4, 6, 8, 10]


def test_zero_columns_and_a_zero_response(rng):
    X = rng.standard_normal((10, 5))
    X /= np.linalg.norm(X, axis=0)
    X[:, 2] = 0
    f = SpectralVariance()
    found = sl.forward_regression(X, np.zeros(10), 5, regularizer=f, nu=1.0)
    assert sorted(found.support.tolist()) == [0, 1, 3, 4]
    assert (found.status, found.r2) == (Status.RANK_EXHAUSTED, 0.0)
    assert not found.coef.any()
    forced = sl.forward_regression(X, X[:, 0], 3, regularizer=f, nu=1.0, forced=[2])
    assert forced.support[0] == 2
    assert forced.coef[0] == 0
    assert 2 not in sl.local_search(X, X[:, 0], regularizer=SpectralVariance(k=5)).support
    assert greedy_maximize(X.T @ X, 5, f).status is Status.RANK_EXHAUSTED


def test_dependent_columns_count_for_f_alone():
    X = np.array([[1.0, 1.0, 0.6], [0.0, 0.0, 0.8]])
    f = SmoothedDifferentialEntropy(1.0)
    found = sl.forward_regression(X, np.array([1.0, 1.0]), 3, regularizer=f, nu=0.1)
    assert len(found.support) == 3
    assert found.r2 == pytest.approx(1.0)
    assert np.count_nonzero(found.coef) == 2
    assert found.dense_coef() @ X.T == pytest.approx(np.ones(2))
    assert 0 < found.gains[2] < 0.1


def test_forward_regression_goes_on_where_g_falls(rng):
    X = rng.standard_normal((20, 8)) + 2 * rng.standard_normal((20, 1))
    X /= np.linalg.norm(X, axis=0)
    y = X[:, 0] + 0.1 * rng.standard_normal(20)
    found = sl.forward_regression(X, y, 8, regularizer=SpectralVariance(), nu=0.5)
    assert len(found.support) == 8
    assert found.gains.min() < 0
    assert found.best_prefix == 1


@pytest.mark.parametrize(
    "f", [SmoothedDifferentialEntropy(0.3), GeneralizedRank(0.3), GeneralizedRank(0.0)], ids=str
)
@given(X=designs(max_d=7), nu=NUS, seed=st.integers(0, 2**32))
def test_lazy_evaluation_takes_the_same(f, X, nu, seed):
    C, d = X.T @ X, X.shape[1]
    lazy, eager = (greedy_maximize(C, d, f, lazy=lazy) for lazy in (True, False))
    assert lazy.support.tolist() == eager.support.tolist()
    assert lazy.gains == pytest.approx(eager.gains, abs=1e-12)
    assert lazy.evaluations <= eager.evaluations == d * (d + 1) // 2
    assert lazy.value == pytest.approx(by_eigenvalues(f, C, lazy.support), abs=1e-8)


def test_lazy_evaluation_saves_evaluations_and_takes_the_same_on_a_larger_design(rng):
    X = rng.standard_normal((60, 200)) + rng.standard_normal((60, 1))
    X /= np.linalg.norm(X, axis=0)
    y, f = rng.standard_normal(60), GeneralizedRank(0.5)
    lazy, eager = (greedy_maximize(X.T @ X, 20, f, lazy=lazy) for lazy in (True, False))
    assert lazy.support.tolist() == eager.support.tolist()
    assert lazy.evaluations < eager.evaluations / 2
    plain = PlainSquareRoot()
    found = sl.forward_regression(X, y, 12, regularizer=f, nu=0.05)
    same = sl.forward_regression(X, y, 12, regularizer=plain, nu=0.05)
    assert found.support.tolist() == same.support.tolist()


class PlainSquareRoot:
    """f_gr for α = ½ by an eigendecomposition for each candidate; not said to be submodular."""

    submodular = False

    def value(self, C, S):
        return by_eigenvalues(GeneralizedRank(0.5), C, S)

    def gains(self, C, S):
        here = self.value(C, S)
        return np.array([0 if x in S else self.value(C, [*S, x]) - here for x in range(len(C))])


@st.composite
def near_copies(draw):
    """Few small integer columns many times, moved by about the root of eps, where eigenvalues are cut off."""
    base = draw(designs(max_d=4, unit=False))
    d, size = draw(st.integers(2, 12)), 10.0 ** draw(st.integers(-9, -6))
    which = draw(st.lists(st.integers(0, base.shape[1] - 1), min_size=d, max_size=d))
    moves = draw(st.lists(st.integers(-1, 1), min_size=d * len(base), max_size=d * len(base)))
    return base[:, which] + size * np.reshape(moves, (len(base), d))


@pytest.mark.parametrize("alpha", [0.0, 0.1, 0.5, 0.9])
@settings(max_examples=150)
@given(X=near_copies())
@example(X=np.array([[1.0] * 7 + [-1, -1, -0.999999, -1], [0] * 7 + [1, 1, 1, 1.000001]]))
def test_lazy_evaluation_takes_the_same_among_near_copies(alpha, X):
    """Unless an eigenvalue is so close to the cut-off that rounding decides whether it counts."""
    C, f = X.T @ X, GeneralizedRank(alpha)
    C = (C + C.T) / 2
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sparselin.spectral.objective, "_BATCH", 1)
        lazy, eager = (greedy_maximize(C, len(C), f, lazy=lazy) for lazy in (True, False))
    for t in np.flatnonzero(lazy.support != eager.support)[:1]:
        S = eager.support[: t + 1]
        size = np.linalg.eigvalsh(C[np.ix_(S, S)]) / (8 * np.finfo(float).eps * len(S) * C.diagonal().max())
        assert ((size > 0.5) & (size < 2)).any()


@pytest.mark.parametrize(("seed", "alpha"), [(407, 0.0), (944, 0.01), (741, 0.1), (1285, 0.5)])
def test_lazy_evaluation_knows_of_the_cut_off(seed, alpha, monkeypatch):
    """Designs on which bounds fail that forget what eigenvalues near the cut-off count."""
    monkeypatch.setattr(sparselin.spectral.objective, "_BATCH", 1)
    rng = np.random.default_rng(seed)
    n, m = rng.integers(2, 9), rng.integers(1, 6)
    d, moved_by = rng.integers(m, 14), (None, rng.integers, rng.standard_normal)[rng.integers(4)]
    X = rng.integers(-1, 2, (n, m)).astype(float) if rng.random() < 0.5 else rng.standard_normal((n, m))
    X, size = X[:, rng.integers(0, m, d)], 10.0 ** rng.uniform(-9, -6)
    X = X + size * (rng.integers(-1, 2, (n, d)) if moved_by == rng.integers else moved_by((n, d)))
    C, f = X.T @ X, GeneralizedRank(alpha)
    lazy, eager = (greedy_maximize((C + C.T) / 2, int(d), f, lazy=lazy) for lazy in (True, False))
    assert lazy.support.tolist() == eager.support.tolist()


def test_correlations_stay_accurate_on_ill_conditioned_sets(rng):
    """κ ≈ 1e7: products from the Gram column alone err by κ·eps, as large as what is left of the copies."""
    X, y = np.repeat(rng.standard_normal((9, 2)), 3, axis=1), rng.standard_normal(9)
    X += 1e-7 * rng.standard_normal(X.shape)
    explained = GrowingR2(Problem(X, y), Gram.of_problem(Problem(X, y)))
    for j in (0, 1, 3, 4):
        explained.add(j)
    exact = X.T @ explained.selection.fit.residual
    assert explained.c[[2, 5]] == pytest.approx(exact[[2, 5]], abs=1e-13)


def test_scores_within_their_errors_are_zero(rng):
    Q = np.linalg.qr(rng.standard_normal((12, 5)))[0]
    X, y = Q[:, :4] @ rng.standard_normal((4, 4)), Q[:, 4]
    gains, error = GrowingR2(Problem(X, y), Gram.of_problem(Problem(X, y))).gains(np.arange(4))
    assert np.all(gains <= error)
    assert np.all(error < 1e-25)


@pytest.mark.parametrize("delta", [1e-3, 1e-14, 1e-20, 1e-300])
def test_a_copy_is_no_tie_with_a_new_direction_whatever_delta(delta):
    X, f = np.eye(4)[:, [0, 0, 1, 2]], SmoothedDifferentialEntropy(delta)
    assert greedy_maximize(X.T @ X, 3, f).support.tolist() == [0, 2, 3]
    found = sl.forward_regression(X, np.array([1.0, 0.5, 0.2, 0.0]), 3, regularizer=f, nu=1.0)
    assert found.support.tolist() == [0, 2, 3]


@pytest.mark.parametrize("alpha", [0.0, 0.3, 0.5])
@pytest.mark.parametrize("scale", [1e-100, 1e100])
def test_extreme_scales(alpha, scale, rng):
    X, y, f = rng.standard_normal((8, 5)), rng.standard_normal(8), GeneralizedRank(alpha)
    base = sl.forward_regression(X, y, 5, regularizer=f, nu=0.1)
    found = sl.forward_regression(scale * X, y, 5, regularizer=f, nu=0.1 * scale ** (-2 * alpha))
    assert found.support.tolist() == base.support.tolist()
    assert found.gains == pytest.approx(base.gains)
    tiny = X * np.array([1, 1, 1e-100, 1, 1e-90])
    found = sl.forward_regression(tiny, np.zeros(8), 5, regularizer=f, nu=1.0)
    assert sorted(found.support[:3].tolist()) == [0, 1, 3]


def test_what_overflows_is_refused(rng):
    X, y = 1e100 * rng.standard_normal((8, 5)), rng.standard_normal(8)
    with np.errstate(over="ignore"), pytest.raises(ValueError, match="overflows"):
        sl.forward_regression(X, y, 3, regularizer=SpectralVariance(), nu=1.0)


def test_a_move_that_is_clear_is_made_though_another_may_be_larger():
    gram = Gram.of_matrix(np.eye(3))
    climb = Climb(gram, SpectralVariance(k=3), np.arange(3), 0.0, strict=True)
    J, gains = np.array([0, 2]), np.array([1.0, 0.9])
    assert climb._best(J, gains, np.array([5.0, 0.0])) == 1
    assert climb._best(J, gains, np.array([0.2, 0.0])) == 0
    assert climb._best(J, gains, np.array([5.0, 1.0])) is None


@pytest.mark.parametrize("seed", range(8))
def test_r_squared_decides_as_in_exact_arithmetic_on_ill_conditioned_designs(seed):
    """Three near copies of each column: what is left of the third after two is as small as their distance."""
    rng = np.random.default_rng(seed)
    X = np.repeat(rng.standard_normal((7, 2)), 3, axis=1) + 1e-6 * rng.standard_normal((7, 6))
    y = rng.standard_normal(7)
    exact = ExactR2(X, y)
    support = sl.forward_regression(X, y, 6, regularizer=GeneralizedRank(1.0), nu=1e-200).support.tolist()
    for t in range(6):
        values = {j: number(exact([*support[:t], j])) for j in range(6) if j not in support[:t]}
        assert values[support[t]] > max(values.values()) - 1e-3


def test_lazy_evaluation_of_what_is_not_submodular_is_refused():
    refuses("submodular", greedy_maximize, np.eye(3), 2, PlainSquareRoot(), lazy=True)


def test_callbacks_see_every_step_and_stop(rng):
    X, y = rng.standard_normal((15, 6)), rng.standard_normal(15)
    f = SpectralVariance(k=10)
    for regularizer, nu in ((None, 0.0), (f, 0.1)):
        seen = []
        how = {"regularizer": regularizer, "nu": nu}
        sl.forward_regression(X, y, 4, **how, callback=lambda s, seen=seen: seen.append(s))
        assert [len(s.support) for s in seen] == [1, 2, 3, 4]
        assert all(isinstance(s, SubsetResult) for s in seen)
        stopped = sl.forward_regression(X, y, 4, **how, callback=lambda s: len(s.support) == 2)
        assert (len(stopped.support), stopped.status) == (2, Status.STOPPED)
    unit = X / np.linalg.norm(X, axis=0)
    entropy = SmoothedDifferentialEntropy(1.0)
    climb = sl.local_search(unit, y, regularizer=entropy, callback=lambda s: len(s.support) == 3)
    assert (climb.moves, climb.status) == (2, Status.STOPPED)
    for stop in (1, 5):
        answers = iter([False] * stop + [True])
        how = {"regularizer": entropy, "callback": lambda s, answers=answers: next(answers)}
        found = sl.greedy_local_search(unit, y, 3, **how)
        assert found.status is Status.STOPPED


BAD_INPUT = [
    (lambda X, y, f: sl.forward_regression(X, y, 2, nu=0.1), "nu is the weight of a regularizer"),
    (lambda X, y, f: sl.local_search(X, y, regularizer=SpectralVariance), "regularizer must be"),
    (lambda X, y, f: sl.local_search(X, y, regularizer=f, variant="both"), "variant must be one of"),
    (lambda X, y, f: sl.greedy_local_search(X, y, 2, regularizer=None), "regularizer must be"),
    (lambda X, y, f: sl.forward_regression(X, y, 2, regularizer="sv", nu=1.0), "regularizer must be"),
    (lambda X, y, f: greedy_maximize(X, 2, f), "square"),
]


@pytest.mark.parametrize(("call", "message"), BAD_INPUT)
def test_bad_input(call, message):
    X, y = np.arange(24.0).reshape(4, 6), np.ones(4)
    refuses(message, call, X, y, SpectralVariance(k=6), error=(TypeError, ValueError))


@pytest.mark.parametrize("shape", [(5, 9), (9, 5)])
def test_all_features_of_wide_and_tall_designs(shape, rng):
    X, y = rng.standard_normal(shape), rng.standard_normal(shape[0])
    X /= np.linalg.norm(X, axis=0)
    for f in REGULARIZERS:
        found = sl.forward_regression(X, y, shape[1], regularizer=f, nu=0.1)
        assert sorted(found.support.tolist()) == list(range(shape[1]))
        assert found.r2 == pytest.approx(r_squared(X, y, list(range(shape[1]))), abs=1e-9)
