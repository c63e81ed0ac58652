"""Sequential Attention against textbook OMP, and what its masks must be."""

import importlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles import residual, textbook_omp
from seeds import SEEDS

import sparselin as sl
from sparselin import Status
from sparselin._kernels import descent as kernels
from sparselin.attention.descent import DescentEnd, penalty_unit, train

CONVEX = ["linear", "l1"]
NORMALISED = ["l1_normalized", "l2_normalized", "softmax"]
ALL = [*CONVEX, "l2", *NORMALISED]


def sparse_signal(seed, n=60, d=120, k=5, noise=0.1):
    """Gaussian unit columns, k coefficients of size 1 to 2 and ‖noise‖ of about `noise`·√k."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    X /= np.linalg.norm(X, axis=0)
    support = rng.choice(d, k, replace=False)
    coef = rng.choice([-1, 1], k) * rng.uniform(1, 2, k)
    return X, X[:, support] @ coef + noise * np.sqrt(k / n) * rng.normal(size=n), set(support.tolist())


# What is selected


@pytest.mark.parametrize("parametrization", CONVEX)
@pytest.mark.parametrize("name", ["gaussian", "ar1", "equicorrelated", "random_walk", "heavy_tails"])
def test_the_lasso_forms_select_what_omp_selects(parametrization, name):
    for seed in range(12):
        X, y = getattr(sl.ensembles, name)(25, 40, seed)
        path = sl.sequential_attention(X, y, 6, parametrization=parametrization, rng=seed)
        assert path.status is Status.COMPLETED
        assert path.support.tolist() == textbook_omp(X, y, 6)


@given(SEEDS, st.sampled_from(CONVEX), st.floats(0.05, 0.95))
def test_any_lambda_in_the_window_gives_the_same_pick(seed, parametrization, share):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(12, 20)), rng.normal(size=12)
    entry = sl.first_entry(X, y)
    lam = entry.window_lower + share * (entry.lam_star - entry.window_lower)
    path = sl.sequential_attention(X, y, 1, parametrization=parametrization, lam=lam, rng=seed)
    assert path.support.tolist() == [np.argmax(np.abs(X.T @ y))]


@pytest.mark.parametrize("parametrization", [*NORMALISED, "l2"])
def test_the_other_forms_find_a_sparse_signal_by_default(parametrization):
    for seed in range(10):
        X, y, support = sparse_signal(seed)
        path = sl.sequential_attention(X, y, 5, parametrization=parametrization, rng=seed)
        assert path.status is Status.COMPLETED
        assert set(path.support.tolist()) == support


@pytest.mark.parametrize("parametrization", NORMALISED)
def test_the_normalised_forms_tend_to_omp_as_lambda_grows(parametrization):
    for seed in range(10):
        X, y, _ = sparse_signal(seed, noise=0.3)
        path = sl.sequential_attention(X, 100 * y, 5, parametrization=parametrization, lam=3.0, rng=seed)
        assert path.support.tolist() == textbook_omp(X, y, 5)


@pytest.mark.parametrize("parametrization", ALL)
def test_the_default_lambda_is_the_documented_one(parametrization, monkeypatch):
    module = importlib.import_module("sparselin.attention.sequential")
    levels = []

    def spy(reduced, share, form, *args, **kwargs):
        levels.append(share * penalty_unit(reduced, form))
        return train(reduced, share, form, *args, **kwargs)

    monkeypatch.setattr(module.descent, "train", spy)
    X, y, _ = sparse_signal(4)
    X = 2 * X
    entry = sl.first_entry(X, y)
    middle, threshold = 0.5 * (entry.lam_star + entry.window_lower), np.cbrt(entry.lam_star**4 / 16)
    documented = {"linear": middle, "l1": middle, "l2": 0.25 * threshold}.get(parametrization, 4.0)
    sl.sequential_attention(X, y, 1, parametrization=parametrization)
    assert levels == [pytest.approx(documented)]


@pytest.mark.parametrize(("share", "sign"), [(0.99, -1), (1.01, 1)])
def test_the_threshold_of_the_square_form(share, sign):
    """min over w²θ = b of F − ½‖y‖² is ½b² − cb + (3λ/2)(b/2)^{2/3}, zero at b = c/2 for λ = (c⁴/4)^{1/3}."""
    X, y = np.array([[0.6], [0.8]]), np.array([3.0, 4.0])
    c, b = 5.0, 2.5
    lam = np.full(2, share * np.cbrt(c**4 / 4))
    # w² = (2b²)^{1/3} has the least w² + θ²
    start = np.array([np.sqrt(np.cbrt(2 * b**2)), b / np.cbrt(2 * b**2)])
    F = kernels.DescentObjective(kernels.L2, X, X.T.copy(), y, lam)
    x, s, value, _ = kernels.descend(F, start, 1e-8, 0.0, 1000)
    assert s[0] * x[1] == pytest.approx(b, rel=0.05)
    assert np.sign(value[-1]) == sign


def test_a_given_lambda_can_send_the_square_form_to_zero():
    X, y, _ = sparse_signal(2)
    path = sl.sequential_attention(X, y, 2, parametrization="l2", lam=10.0)
    assert path.status is Status.NO_CORRELATION
    assert len(path.support) == 0


@pytest.mark.parametrize("parametrization", CONVEX)
def test_in_a_tie_the_pick_is_a_member_of_the_active_set(parametrization):
    X = np.array([[1.0, 0.0, 1.0, 0.5], [0.0, 1.0, 1.0, 0.1], [0.0, 0.0, 0.0, 0.3]])
    y = np.array([1.0, -1.0, 0.1])
    for seed in range(5):
        path = sl.sequential_attention(X, y, 1, parametrization=parametrization, rng=seed)
        assert path.ties[0] == path.active_sets[0] == (0, 1)
        assert path.support[0] in (0, 1)


@pytest.mark.parametrize("parametrization", CONVEX)
def test_a_tied_column_that_the_lasso_leaves_out_is_not_picked(parametrization):
    """c = (1, 1, 1) and v = (1, 1, 0): (Hv)_2 = 1.4 ≥ 1, so that A(S) = {0, 1} and T = {0, 1, 2}."""
    X = np.array([[1.0, 0.0, 0.7], [0.0, 1.0, 0.7], [0.0, 0.0, np.sqrt(0.02)]])
    y = np.linalg.solve(X.T, np.ones(3))
    path = sl.sequential_attention(X, y, 1, parametrization=parametrization)
    assert (path.ties[0], path.active_sets[0]) == ((0, 1, 2), (0, 1))
    assert path.support[0] in (0, 1)


@pytest.mark.parametrize("parametrization", ALL)
def test_columns_in_the_span_of_the_selected_are_never_picked(parametrization):
    X, y, _ = sparse_signal(3, 12, 6, 2)
    X = np.column_stack([X, X[:, :4] @ np.diag([2.0, -1.0, 1.0, 1e-3]), np.zeros((12, 2))])
    path = sl.sequential_attention(X, y, 12, parametrization=parametrization, forced=[0])
    assert path.status is Status.RANK_EXHAUSTED
    assert len(path.support) == 6
    assert np.linalg.matrix_rank(X[:, path.support]) == 6


def test_not_even_if_they_have_the_largest_weight(monkeypatch):
    module = importlib.import_module("sparselin.attention.sequential")
    mask = np.array([0.1, 0.9, 0.3])  # of columns 1, 2, 3
    training = DescentEnd(mask, mask, mask, np.zeros(1), kernels.CERTIFIED)
    monkeypatch.setattr(module.descent, "train", lambda *_, **__: training)
    X = np.array([[1.0, 0.0, 2.0, 1.0], [0.0, 1.0, 0.0, 1.0]])
    path = sl.sequential_attention(X, np.array([1.0, 1.0]), 2, forced=[0])
    assert path.support.tolist() == [0, 3]


# What comes back


@pytest.mark.parametrize("parametrization", ALL)
def test_the_weights_are_those_of_the_mask(parametrization):
    X, y, _ = sparse_signal(1, 20, 30)
    path = sl.sequential_attention(X, y, 3, parametrization=parametrization, forced=[4])
    assert len(path.weights) == 2
    for t, weights in enumerate(path.weights, start=1):
        selected = path.support[:t]
        off = np.delete(weights, selected)
        assert weights.shape == (30,)
        assert np.array_equal(weights[selected], np.ones(t))
        assert weights[path.support[t]] == off[np.argmax(np.abs(off))]
        if parametrization != "linear":
            assert off.min() >= 0
        if parametrization in NORMALISED:
            assert off.sum() == pytest.approx(1)


@given(SEEDS)
def test_the_weights_solve_the_lasso(seed):
    """In the linear form |w_i|² = |β_i|, and just one β_i = (λ* − λ)/‖X_i‖² is nonzero in the window."""
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(12, 20)), rng.normal(size=12)
    entry = sl.first_entry(X, y)
    path = sl.sequential_attention(X, y, 1, rng=seed)
    pick, weights = path.support[0], np.abs(path.weights[0])
    beta = 0.5 * (entry.lam_star - entry.window_lower) / np.sum(X[:, pick] ** 2)
    assert weights[pick] == pytest.approx(np.sqrt(beta), rel=0.02)
    assert np.delete(weights, pick).max() < 0.3 * weights[pick]


@pytest.mark.parametrize("parametrization", ALL)
def test_the_record_is_that_of_sequential_lasso_at_the_same_sets(parametrization):
    X, y, _ = sparse_signal(5, 20, 30)
    path = sl.sequential_attention(X, y, 4, parametrization=parametrization)
    for t in range(4):
        S = path.support[:t]
        entry = sl.first_entry(X, y, forced=S)
        assert path.lam_star[t] == pytest.approx(entry.lam_star, rel=1e-12)
        assert path.ties[t] == entry.tied
        assert path.active_sets[t] == entry.active
        c = np.abs(X.T @ residual(X, y, S))
        others = np.delete(c, path.support[t]).max()
        assert path.margin[t] == pytest.approx(max(0, (c.max() - others) / c.max()), abs=1e-12)
        assert path.residual_norm[t] == pytest.approx(np.linalg.norm(residual(X, y, S)), rel=1e-12)
    assert path.coef == pytest.approx(np.linalg.lstsq(X[:, path.support], y)[0], rel=1e-10)


def test_forced_features_come_first_and_a_callback_stops():
    X, y, _ = sparse_signal(6, 20, 30)
    path = sl.sequential_attention(X, y, 4, forced=[7, 2], callback=lambda path: len(path.support) == 3)
    assert path.status is Status.STOPPED
    assert path.support.tolist() == textbook_omp(X, y, 3, S=[7, 2])
    assert np.isnan(path.lam_star[:2]).all()
    assert path.ties[:2] == path.active_sets[:2] == ((), ())


# How it ends


@pytest.mark.parametrize("parametrization", ALL)
def test_the_endings(parametrization):
    def status(X, y, k):
        return sl.sequential_attention(X, y, k, parametrization=parametrization).status

    X = np.array([[1.0, 0.0, 1.0], [0.0, 2.0, 1.0], [0.0, 0.0, 0.0]])
    assert status(X, np.array([0.0, 3.0, 0.0]), 3) is Status.EXACT_FIT
    assert status(X, np.zeros(3), 2) is Status.EXACT_FIT
    assert status(X, np.array([0.0, 0.0, 1.0]), 2) is Status.NO_CORRELATION
    assert status(X, np.array([1.0, 3.0, 1.0]), 3) is Status.RANK_EXHAUSTED
    assert status(X[:, :2], np.array([1.0, 3.0, 1.0]), 2) is Status.COMPLETED


@pytest.mark.parametrize("parametrization", CONVEX)
def test_a_given_lambda_ends_the_path_where_no_correlation_exceeds_it(parametrization):
    X, y, _ = sparse_signal(7, 20, 30)
    omp = sl.omp(X, y, 6)
    lam = float(omp.lam_star[3])
    path = sl.sequential_attention(X, y, 6, parametrization=parametrization, lam=lam)
    assert path.status is Status.NO_CORRELATION
    assert (path.lam_star > lam).all()
    left = np.abs(X.T @ residual(X, y, path.support))
    assert left.max() <= lam * (1 + 1e-12)


@pytest.mark.parametrize("parametrization", ALL)
def test_a_training_without_decision_ends_the_path(parametrization):
    X, y, _ = sparse_signal(8, 20, 30)
    path = sl.sequential_attention(X, y, 3, parametrization=parametrization, max_iter=1)
    assert path.status is Status.MAX_ITER
    assert len(path.support) == 0


# Backends, units, seeds


@pytest.mark.parametrize("parametrization", ALL)
def test_single_precision(parametrization):
    X, y, _ = sparse_signal(9, 30, 50)
    expected, single = (
        sl.sequential_attention(X.astype(kind), y.astype(kind), 4, parametrization=parametrization)
        for kind in (float, np.float32)
    )
    assert single.support.tolist() == expected.support.tolist()
    assert single.coef.dtype == single.weights[0].dtype == np.float32


@pytest.mark.parametrize("parametrization", ALL)
@pytest.mark.parametrize(
    "options", [{}, {"intercept": True}, {"forced": [7]}, {"sample_weight": np.r_[1:21]}]
)
def test_units_change_no_selection(parametrization, options):
    X, y, _ = sparse_signal(10, 20, 30)
    expected = sl.sequential_attention(X, y, 4, parametrization=parametrization, **options)
    assert expected.status is Status.COMPLETED
    for unit in (1e-12, 1e12, *(2.0**k for k in (-440, -300, -40, -1, 1, 2, 3, 40, 300, 440))):
        for design, response in [(X, unit * y), (unit * X, y)]:
            path = sl.sequential_attention(design, response, 4, parametrization=parametrization, **options)
            assert path.status is Status.COMPLETED
            assert path.support.tolist() == expected.support.tolist()


@pytest.mark.parametrize("parametrization", ALL)
@pytest.mark.parametrize("unit", [2.0**-440, 2.0**-300, 2.0**300, 2.0**440])
@pytest.mark.parametrize("lam", [1e-300, 1.0, 1e300])
def test_a_given_lambda_neither_over_nor_underflows_in_any_units(parametrization, unit, lam):
    X, y, _ = sparse_signal(11, 20, 30)
    for design, response in [(X, unit * y), (unit * X, y)]:
        how = {"parametrization": parametrization, "lam": lam, "max_iter": 200}
        path = sl.sequential_attention(design, response, 2, **how)
        assert all(np.isfinite(weights).all() for weights in path.weights)
        if path.status is Status.COMPLETED:
            assert len(path.support) == 2


def twins(seed, eps):
    """Ten unit columns in pairs, of cosine 1 − eps."""
    rng = np.random.default_rng(seed)
    X, u = rng.normal(size=(20, 5)), rng.normal(size=(20, 5))
    X /= np.linalg.norm(X, axis=0)
    u -= X * np.sum(X * u, axis=0)
    u /= np.linalg.norm(u, axis=0)
    return np.hstack([X, (1 - eps) * X + np.sqrt(eps * (2 - eps)) * u]), rng.normal(size=20)


@pytest.mark.parametrize("parametrization", CONVEX)
@pytest.mark.parametrize("eps", [1e-3, 1e-6, 1e-8, 1e-10, 1e-12])
@pytest.mark.parametrize("options", [{}, {"intercept": True}, {"forced": [0]}, {"lam": "inside"}])
def test_beside_near_duplicates_a_pick_is_in_its_own_ties(parametrization, eps, options):
    for seed in range(10):
        X, y = twins(seed, eps)
        if "lam" in options:
            entry = sl.first_entry(X, y)
            options = {"lam": 0.7 * entry.window_lower + 0.3 * entry.lam_star}
        k = 1 if "lam" in options else 3
        path = sl.sequential_attention(X, y, k, parametrization=parametrization, rng=seed, **options)
        assert path.status is Status.COMPLETED or eps <= 1e-10
        forced = len(options.get("forced", ()))
        assert all(j in T for j, T in zip(path.support[forced:], path.ties[forced:], strict=True))


def test_a_pick_that_the_smallest_gap_leaves_undecided_is_not_made(monkeypatch):
    module = importlib.import_module("sparselin.attention.sequential")
    mask, levels = np.array([0.1, 0.9]), []

    def other_feature(*_, tol, **__):
        levels.append(tol)
        return DescentEnd(mask, mask, mask, np.zeros(1), kernels.CERTIFIED)

    monkeypatch.setattr(module.descent, "train", other_feature)
    path = sl.sequential_attention(np.eye(2), np.array([2.0, 1.0]), 1)
    assert path.status is Status.BEYOND_PRECISION
    assert len(path.support) == 0
    assert levels == sorted(levels, reverse=True)
    assert levels[0] == 1e-4


@pytest.mark.parametrize("parametrization", ALL)
def test_a_seed_fixes_every_bit(parametrization):
    X, y, _ = sparse_signal(12, 20, 30)
    how = {"parametrization": parametrization}
    first, again, other = (sl.sequential_attention(X, y, 2, **how, rng=seed) for seed in (5, 5, 6))
    assert all(np.array_equal(a, b) for a, b in zip(first.weights, again.weights, strict=True))
    if parametrization != "l1_normalized":  # which ends in exactly one feature
        assert not np.array_equal(first.weights[0], other.weights[0])


def test_another_parametrization_is_named():
    X, y, _ = sparse_signal(14, 20, 30)
    with pytest.raises(ValueError, match=r"parametrization must be one of linear, .*got 'square'"):
        sl.sequential_attention(X, y, 2, parametrization="square")
