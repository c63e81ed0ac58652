"""Gradient descent on (w, θ) against coordinate descent, the LASSO path and finite differences."""

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st
from oracles import coordinate_descent, objective, residual
from seeds import GENERATORS, SEEDS

import sparselin as sl
from sparselin import Problem, Status
from sparselin._kernels import descent as kernels
from sparselin.attention.descent import FORMS, eliminate, penalty_unit, train
from sparselin.linalg.thin_qr import ThinQR

MASKS = {
    "linear": lambda w: w,
    "l1": np.abs,
    "l2": np.square,
    "l1_normalized": lambda w: np.abs(w) / np.abs(w).sum(),
    "l2_normalized": lambda w: w**2 / np.sum(w**2),
    "softmax": lambda w: np.exp(w) / np.exp(w).sum(),
}


def gaussian(seed, n=20, d=30):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X / np.linalg.norm(X, axis=0), rng.normal(size=n)


# The kernels


def kernel_objective(form, X, y, lam):
    return kernels.DescentObjective(form, X, np.ascontiguousarray(X.T), y, lam)


def kernel_state(form, X, y, lam, x):
    """Value, gradient and LASSO error at x from the kernels."""
    n, m = X.shape
    s, beta, g, r, slope = (np.empty(k) for k in (m, m, m, n, 2 * m))
    value = kernels.evaluate(form, np.ascontiguousarray(X.T), y, lam, x, s, beta, r)
    kernels.differentiate(form, X, lam, x, s, r, g, slope)
    return value, slope, kernels.lasso_error(lam[1], x, beta, r, g)


@pytest.mark.parametrize("name", FORMS)
@given(seed=SEEDS)
def test_value_and_gradient_are_those_of_the_definition(name, seed):
    rng = np.random.default_rng(seed)
    X, y, lam, x = rng.normal(size=(7, 9)), rng.normal(size=7), rng.uniform(0, 2, 2), rng.normal(size=18)
    if name in ("l1", "l1_normalized"):
        x[:9] = np.abs(x[:9]) + 0.01

    def value(x):
        w, theta = x[:9], x[9:]
        penalty = 0.5 * lam[0] * w @ w + 0.5 * lam[1] * theta @ theta
        return 0.5 * np.sum((y - X @ (MASKS[name](w) * theta)) ** 2) + penalty

    computed, slope, _ = kernel_state(FORMS[name], X, y, lam, x)
    assert computed == pytest.approx(value(x) - 0.5 * y @ y, rel=1e-10, abs=1e-10)
    h = 1e-6
    differences = [(value(x + h * e) - value(x - h * e)) / (2 * h) for e in np.eye(18)]
    assert slope == pytest.approx(np.array(differences), rel=1e-5, abs=1e-5 * np.abs(slope).max())


@given(GENERATORS, st.floats(0.05, 3))
def test_the_error_is_the_duality_gap_plus_the_excess_of_the_penalty(rng, lam):
    X, y, x = rng.normal(size=(8, 12)), rng.normal(size=8), rng.normal(size=24)
    _, _, error = kernel_state(kernels.LINEAR, X, y, np.array([lam, lam]), x)
    w, theta = x[:12], x[12:]
    r = y - X @ (w * theta)
    u = r * min(1.0, lam / np.abs(X.T @ r).max())
    dual = 0.5 * y @ y - 0.5 * np.sum((y - u) ** 2)
    trained = 0.5 * r @ r + 0.5 * lam * (w @ w + theta @ theta)
    assert error == pytest.approx(trained - dual, rel=1e-10)


def test_the_error_keeps_its_digits_near_the_solution():
    """β = 1 − λ + δ for X = I overshoots by δ: the gap is βδ = 1e-16, and primal and dual are about ½."""
    y, lam, delta = np.array([1.0, 0.5]), 1 - 1e-6, 1e-10
    beta = 1e-6 + delta
    x = np.sqrt([beta, 0, beta, 0])
    _, _, error = kernel_state(kernels.LINEAR, np.eye(2), y, np.array([lam, lam]), x)
    assert error == pytest.approx(beta * delta, rel=1e-4)


@pytest.mark.parametrize("name", ["linear", "l1"])
@pytest.mark.parametrize("size", [1e-2, 1e-5, 1e-9])
def test_a_start_next_to_the_strict_saddle_leaves_it(name, size):
    X, y = gaussian(5)
    c = X.T @ y
    lam = 0.9 * np.abs(c).max()
    start = size * np.abs(np.random.default_rng(0).normal(size=60))
    start[30:] *= np.sign(c)
    penalties = np.array([lam, lam])
    F = kernel_objective(FORMS[name], X, y, penalties)
    x, s, value, end = kernels.descend(F, start, 1e-6, 0.0, 10**5)
    assert end == kernels.CERTIFIED
    assert np.argmax(np.abs(s)) == np.argmax(np.abs(c))
    assert value[-1] < min(value[0], 0)
    assert x[:30] * x[30:] == pytest.approx(coordinate_descent(X, y, lam), abs=1e-3 * np.abs(x).max())


def test_the_start_is_not_overwritten():
    X, y = gaussian(0)
    start = np.ones(60)
    kernels.descend(kernel_objective(kernels.LINEAR, X, y, np.ones(2)), start, 1e-4, 0.0, 100)
    assert np.array_equal(start, np.ones(60))


@pytest.mark.parametrize("name", ["l1_normalized", "l2_normalized"])
def test_normalised_masks_keep_the_length_of_w(name):
    X, y = gaussian(1)
    start = np.concatenate([np.linspace(1, 2, 30), 0.1 * np.sign(X.T @ y)])
    penalties = np.array([0.0, 1.0])
    x, s, _, end = kernels.descend(kernel_objective(FORMS[name], X, y, penalties), start, 1e-6, 0.0, 10**5)
    assert end == kernels.CERTIFIED
    assert np.linalg.norm(x[:30]) == pytest.approx(np.linalg.norm(start[:30]), rel=1e-12)
    assert s == pytest.approx(MASKS[name](x[:30]), rel=1e-12)
    # and F falls along no direction from there, those that leave w ≥ 0 apart
    _, slope, _ = kernel_state(FORMS[name], X, y, penalties, x)
    assert np.abs(slope).max() <= 1e-5


def test_the_floor_ends_no_descent_that_has_gained_something():
    X, y = gaussian(2)
    lam = np.full(2, 0.5 * np.abs(X.T @ y).max())
    F = kernel_objective(kernels.LINEAR, X, y, lam)
    start = 0.1 * np.random.default_rng(0).normal(size=60)
    x, _, value, _ = kernels.descend(F, start, 0.1, 0.0, 1000)
    assert value[-1] < 0
    *_, end = kernels.descend(F, x, 1e-6, 1e9, 1000)
    assert end == kernels.CERTIFIED
    *_, end = kernels.descend(F, np.ones(60), 1e-6, 1e9, 1000)
    assert end == kernels.AT_FLOOR


def runaway(seed):
    """Columns of lengths between 0.3 and 300: with tol = 0 the step length of seed 18 overflows."""
    rng = np.random.default_rng(seed)
    return rng.standard_normal((9, 4)) * 10.0 ** rng.integers(-1, 3, 4), 100 * rng.standard_normal(9)


@pytest.mark.parametrize("name", FORMS)
def test_a_descent_that_no_certificate_ends_stalls_at_its_least_value(name):
    """tol = −1 demands δ ≤ F − ½‖y‖² < 0, which no point attains."""
    form, stalled = FORMS[name], 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        m = 1 + seed % 3
        X, y = rng.integers(-2, 3, (3, m)).astype(float), rng.integers(-3, 4, 3).astype(float)
        lam = 0.5 * np.array([name not in ("l1_normalized", "l2_normalized"), 1.0])
        start = np.concatenate([np.full(m, 0.5), 0.5 * np.sign(X.T @ y)])
        x, s, value, end = kernels.descend(kernel_objective(form, X, y, lam), start, -1.0, 0.0, 5000)
        reached = kernel_state(form, X, y, lam, x)[0]
        assert np.isfinite(x).all()
        assert s == pytest.approx(MASKS[name](x[:m]))
        if end == kernels.AT_LIMIT:
            assert len(value) == 5001
        elif end == kernels.STALLED:
            stalled += 1
            assert reached == value.min()
    assert stalled


@pytest.mark.parametrize("shift", [-1e4, 0.0, 1e4])
def test_softmax_neither_over_nor_underflows(shift):
    w, s = np.array([0.0, 1.0, -2.0]), np.empty(3)
    kernels.mask(kernels.SOFTMAX, w + shift, s)
    assert s == pytest.approx(MASKS["softmax"](w), rel=1e-9)


# Elimination and training


def test_elimination_leaves_what_is_orthogonal_to_the_selected_and_no_more_rows_than_rank():
    X, y = gaussian(3, 30, 8)
    X[:, 4], X[:, 5], X[:, 6] = 0, 1e-3 * X[:, 1] - X[:, 2], X[:, 0] + X[:, 3]
    S = np.array([1, 2])
    problem = Problem(X, y)
    reduced = eliminate(problem, ThinQR(problem, S), S)
    assert reduced.free.tolist() == [0, 3, 4, 5, 6, 7]
    assert reduced.X.shape == (4 - 1, 6)  # 0, 3 and 7 are independent, 6 = 0 + 3
    projected = np.column_stack([residual(X, x, S) for x in X.T])[:, reduced.free]
    assert pytest.approx(projected.T @ projected, abs=1e-12) == reduced.X.T @ reduced.X
    assert reduced.X.T @ reduced.y == pytest.approx(projected.T @ y, abs=1e-12)
    assert not reduced.X[:, [2, 3]].any()
    assert (reduced.lengths == 0).tolist() == [False, False, True, True, False, False]
    assert reduced.lam_star == pytest.approx(np.abs(projected.T @ y).max())
    assert reduced.residual_norm == pytest.approx(np.linalg.norm(residual(X, y, S)))


@pytest.mark.parametrize("name", FORMS)
def test_a_training_comes_back_in_the_units_it_was_asked_in(name, rng):
    X, y = gaussian(4)
    X, y = 3 * X, 70 * y
    problem, S = Problem(X, y), np.zeros(0, np.intp)
    reduced = eliminate(problem, ThinQR(problem), S)
    lam = {"linear": 0.5 * reduced.lam_star, "l1": 0.5 * reduced.lam_star, "l2": 50.0}.get(name, 9.0)
    share = lam / penalty_unit(reduced, name)
    w, theta, mask, value, end = train(reduced, share, name, rng, tol=1e-4, max_iter=10**5)
    assert end == kernels.CERTIFIED
    assert mask == pytest.approx(MASKS[name](w), rel=1e-10)
    penalty = theta @ theta + (0 if name in ("l1_normalized", "l2_normalized") else w @ w)
    trained = 0.5 * np.sum((y - X @ (mask * theta)) ** 2) + 0.5 * lam * penalty
    assert value[-1] == pytest.approx(trained - 0.5 * y @ y, rel=1e-10)


# The public function


@given(SEEDS, st.sampled_from([(20, 30), (30, 12), (12, 12)]), st.floats(0.02, 0.98))
def test_the_lasso_of_coordinate_descent(seed, shape, share):
    X, y = gaussian(seed, *shape)
    lam = share * np.abs(X.T @ y).max()
    result = sl.hadamard_descent(X, y, lam, tol=1e-9, rng=seed)
    assert result.status is Status.COMPLETED
    solution = coordinate_descent(X, y, lam)
    least, zero = objective(X, y, solution, lam), 0.5 * y @ y
    assert objective(X, y, result.coef, lam) - least <= 1.01e-9 * (zero - least) + 1e-13 * zero
    assert X @ result.coef == pytest.approx(X @ solution, abs=1e-4 * np.linalg.norm(y))


@given(SEEDS, st.floats(0.1, 0.95))
def test_the_history_is_that_of_the_objective_and_ends_balanced(seed, share):
    X, y = gaussian(seed)
    lam = share * np.abs(X.T @ y).max()
    result = sl.hadamard_descent(X, y, lam, tol=1e-9, rng=seed)
    w, theta = result.w, result.theta
    assert np.array_equal(result.coef, w * theta)
    assert np.array_equal(result.weights, w)
    last = 0.5 * np.sum((y - X @ (w * theta)) ** 2) + 0.5 * lam * (w @ w + theta @ theta)
    assert result.objective[-1] == pytest.approx(last, rel=1e-12)
    assert result.objective[-1] <= result.objective.max() * (1 + 1e-12)
    assert result.objective[-1] >= objective(X, y, result.coef, lam) * (1 - 1e-12)
    assert np.abs(w) == pytest.approx(np.abs(theta), abs=1e-3 * np.abs(w).max())


@pytest.mark.parametrize("S", [[3], [7, 0, 11], list(range(8)), [2, 5, 9]])
def test_eliminating_the_unpenalized_is_keeping_them(S):
    X, y = gaussian(7)
    X[:, 9] = X[:, 2] + X[:, 5]  # the last S is dependent
    c = X.T @ residual(X, y, S)
    lam = 0.5 * np.abs(c).max()
    result = sl.hadamard_descent(X, y, lam, forced=S, tol=1e-10)
    kept = sl.lasso_path(X, y, forced=S).at(lam)
    assert result.status is Status.COMPLETED
    assert objective(X, y, result.coef, lam, S) == pytest.approx(objective(X, y, kept, lam, S), rel=1e-9)
    assert np.abs(X[:, S].T @ (y - X @ result.coef)).max() <= 1e-12
    assert X @ result.coef == pytest.approx(X @ kept, abs=1e-4)
    assert np.isnan(result.w[S]).all()
    assert not np.isnan(np.delete(result.w, S)).any()
    assert np.array_equal(result.weights[S], np.ones(len(S)))
    assert np.array_equal(result.theta[S], result.coef[S])


def test_an_ill_conditioned_selected_set_does_not_stall_the_descent():
    X, y = gaussian(8, 30, 40)
    X[:, 1] = X[:, 0] + 1e-7 * X[:, 1]
    lam = 0.8 * np.abs(X.T @ residual(X, y, [0, 1])).max()
    result = sl.hadamard_descent(X, y, lam, forced=[0, 1], max_iter=1000)
    assert result.status is Status.COMPLETED


@given(SEEDS, st.integers(0, 3), st.floats(0.05, 0.95), st.integers(1, 200))
def test_the_gap_bounds_the_excess_whenever_the_descent_stops(seed, size, share, max_iter):
    X, y = gaussian(seed, 12, 16)
    S = list(range(size))
    lam = share * np.abs(X.T @ residual(X, y, S)).max()
    result = sl.hadamard_descent(X, y, lam, forced=S, max_iter=max_iter, rng=seed)
    least = objective(X, y, sl.lasso_path(X, y, forced=S, lam_min=lam).at(lam), lam, S)
    assert objective(X, y, result.coef, lam, S) - least <= result.duality_gap + 1e-12 * (y @ y)
    if result.status is Status.COMPLETED:
        excess = 0.5 * np.sum(residual(X, y, S) ** 2) - least
        assert result.duality_gap <= 1.01e-4 * excess + 1e-13 * (y @ y)
    else:
        assert len(result.objective) == max_iter + 1


@pytest.mark.parametrize("share", [1.0, 1 + 1e-9, 1.001, 2.0, 1e3])
@pytest.mark.parametrize("S", [[], [4, 1]])
def test_at_lambda_star_and_above_the_weights_vanish(share, S):
    X, y = gaussian(9)
    lam = share * np.abs(X.T @ residual(X, y, S)).max()
    result = sl.hadamard_descent(X, y, lam, forced=S)
    assert result.status is Status.COMPLETED
    assert np.abs(np.delete(result.coef, S)).max() <= 1e-6 * np.linalg.norm(y)
    assert result.duality_gap <= 0.5e-13 * (y @ y)
    assert X @ result.coef == pytest.approx(y - residual(X, y, S), abs=1e-5)


@pytest.mark.parametrize(("n", "d"), [(30, 12), (12, 30)])
def test_without_penalty_it_is_least_squares(n, d):
    X, y = gaussian(10, n, d)
    X[:, 3] = X[:, 1] - X[:, 2]
    result = sl.hadamard_descent(X, y, 0, forced=[5], tol=1e-8)
    assert result.status is Status.COMPLETED
    fit = X @ np.linalg.lstsq(X, y)[0]
    assert X @ result.coef == pytest.approx(fit, abs=2e-4 * np.linalg.norm(y))
    assert result.duality_gap <= 1e-7 * (y @ y)


def test_without_penalty_a_response_beyond_the_span_of_a_wide_design():
    X, y = gaussian(11, 12, 30)
    X[-1] = 0
    result = sl.hadamard_descent(X, y, 0.0, tol=1e-8)
    assert result.status is Status.COMPLETED
    assert np.linalg.norm(y - X @ result.coef) == pytest.approx(abs(y[-1]), rel=1e-3)


def test_everything_selected_leaves_nothing_to_train():
    X, y = gaussian(12, 10, 4)
    result = sl.hadamard_descent(X, y, 0.3, forced=[2, 0, 1, 3])
    assert result.status is Status.COMPLETED
    assert result.coef == pytest.approx(np.linalg.lstsq(X, y)[0])
    assert np.isnan(result.w).all()
    assert result.objective == pytest.approx([0.5 * np.sum(residual(X, y, range(4)) ** 2)])
    assert result.duality_gap <= 1e-12


@pytest.mark.parametrize("lam", [0.0, 0.1])
def test_nothing_to_explain(lam):
    X, y = gaussian(13)
    for design, response in [(X, 0 * y), (0 * X, y), (X, X[:, 3])]:
        result = sl.hadamard_descent(design, response, lam, forced=[3])
        assert result.status is Status.COMPLETED
        assert not np.delete(result.coef, 3).any()


@pytest.mark.parametrize("lam", [0.0, 0.2])
def test_zero_and_dependent_columns_get_nothing(lam):
    X, y = gaussian(14)
    X[:, 4], X[:, 5], X[:, 6] = 0, 2 * X[:, 1], -X[:, 1]
    result = sl.hadamard_descent(X, y, lam, forced=[1])
    assert result.status is Status.COMPLETED
    assert not result.coef[[4, 5, 6]].any()
    assert not result.w[[4, 5, 6]].any()


def test_an_uncorrelated_column_can_enter_later():
    """c_2 = 0 at β = 0, and yet the LASSO needs column 2: a start at zero there would be a saddle."""
    X = np.array([[1.0, 1.0], [0.0, 1.0]])
    y, lam = np.array([1.0, -1.0]), 0.1
    result = sl.hadamard_descent(X, y, lam, tol=1e-8)
    assert (X.T @ y)[1] == 0
    assert result.status is Status.COMPLETED
    assert result.coef == pytest.approx(coordinate_descent(X, y, lam), abs=1e-3)
    assert abs(result.coef[1]) > 0.1


# Backends, units, seeds


def test_a_seed_fixes_every_bit_and_another_does_not_change_the_answer():
    X, y = gaussian(18)
    lam = 0.5 * sl.lambda_star(X, y)
    first, again = sl.hadamard_descent(X, y, lam, rng=3), sl.hadamard_descent(X, y, lam, rng=3)
    assert np.array_equal(first.w, again.w)
    assert np.array_equal(first.objective, again.objective)
    by_generator = sl.hadamard_descent(X, y, lam, rng=np.random.default_rng(3))
    assert np.array_equal(first.w, by_generator.w)
    other = sl.hadamard_descent(X, y, lam, rng=4)
    assert not np.array_equal(first.objective, other.objective)
    assert np.abs(first.coef - other.coef).max() <= 0.02 * np.abs(first.coef).max()


@pytest.mark.parametrize("name", ["gaussian", "ar1", "equicorrelated", "random_walk"])
def test_in_the_window_the_largest_weight_is_the_pick_of_omp(name):
    """Within 4000 steps, about 10 ms, on every design."""
    for seed in range(60):
        X, y = getattr(sl.ensembles, name)(40, 80, seed)
        S = sl.omp(X, y, seed % 8).support if seed % 8 else []
        entry = sl.first_entry(X, y, forced=S)
        lam = 0.5 * (entry.lam_star + entry.window_lower)
        result = sl.hadamard_descent(X, y, lam, forced=S, max_iter=4000, rng=seed)
        assert result.status is Status.COMPLETED
        assert np.nanargmax(np.abs(result.w)) == np.argmax(np.abs(X.T @ residual(X, y, S)))


TOL_ZERO = {
    "dense": lambda X, y: ((X, y), {}),
    "sparse": lambda X, y: ((scipy.sparse.csc_array(X), y), {}),
    "float32": lambda X, y: ((X.astype(np.float32), y.astype(np.float32)), {}),
    "gram": lambda X, y: ((Problem.from_gram(X.T @ X, X.T @ y, y @ y), None), {}),
    "weights": lambda X, y: ((X, y), {"sample_weight": np.linspace(0.5, 2, len(y))}),
    "standardized": lambda X, y: ((X, y), {"intercept": True, "standardize": True}),
    "forced": lambda X, y: ((X, y), {"forced": [1]}),
}


@pytest.mark.parametrize("kind", TOL_ZERO)
@pytest.mark.parametrize("share", [0.0, 0.5, 0.999, 0.999999, 1.0, 2.0])
def test_without_tolerance_the_result_is_finite_and_says_how_it_ended(kind, share):
    endings = {Status.COMPLETED, Status.MAX_ITER, Status.BEYOND_PRECISION}
    for seed in [18, 3, 5]:
        data, options = TOL_ZERO[kind](*runaway(seed))
        lam = share * sl.lambda_star(*data, **options)
        result = sl.hadamard_descent(*data, lam, tol=0, max_iter=30_000, **options)
        assert result.status in endings
        assert np.isfinite(result.coef).all()
        assert np.isfinite(result.objective).all()
        assert np.isfinite(result.duality_gap)
        assert result.duality_gap <= 1e-4 * result.objective.max()


# Refusals


def test_a_response_almost_orthogonal_to_the_columns_is_still_trained():
    """The floor that ends a vanishing descent must not take an untrained start below λ* for an answer."""
    X, y = np.eye(3)[:, :2], np.array([1.0, 0.2, 1e9])
    result = sl.hadamard_descent(X, y, 0.5)
    assert len(result.objective) > 2
    if result.status is sl.Status.COMPLETED:
        assert abs(result.coef[0] - 0.5) < 0.05
