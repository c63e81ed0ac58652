import dataclasses
import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from refusals import refuses

from proofs_checks.exact_prox import at_length, best_length, feature, fractions
from sparselin.lasso.hierarchical_prox import group_hier_prox, hier_prox

EPS = np.finfo(float).eps
TINY = np.finfo(float).smallest_subnormal

INTEGERS = st.integers(-4, 4).map(float)
HALVES = st.integers(0, 8).map(lambda k: k / 2)
MULTIPLIERS = st.sampled_from([0.0, 0.25, 0.5, 1.0, 2.0, 3.0, 10.0])
MAGNITUDES = st.one_of(st.just(0.0), st.floats(-6, 6).map(lambda e: 10.0**e))
SIGNED = st.one_of(MAGNITUDES, MAGNITUDES.map(lambda x: -x))
SIZES = st.floats(-300, 300).map(lambda e: 10.0**e)
EXTREME = st.one_of(st.just(0.0), SIZES, SIZES.map(lambda x: -x))


def rows(entries, max_size=6):
    return st.lists(entries, max_size=max_size).map(lambda row: np.array([row], float).reshape(1, -1))


def extremes():
    """(v, w, λ, M) of one feature."""
    return given(st.lists(EXTREME, min_size=1, max_size=1), rows(EXTREME), *[EXTREME.map(abs)] * 2)


def exact_length(n, u, lam, M):
    """The t ≥ 0 of least ½(n − t)² + λt + ½Σ(|u| − Mt)₊², the objective at the best b and z of length t.

    It is convex, and a parabola between breakpoints |u_k|/M: the first with its vertex before its end counts.
    """
    n, lam, M, *u = (Fraction(float(x)) for x in (n, lam, M, *u))
    ends = sorted({Fraction(0), *(abs(x) / M for x in u if M)})
    for low, high in itertools.zip_longest(ends, ends[1:]):
        inside = [abs(x) for x in u if abs(x) > M * low]
        vertex = (n - lam + M * sum(inside)) / (1 + len(inside) * M**2)
        if high is None or vertex <= high:
            return max(low, vertex)
    raise AssertionError("the last parabola has no end")


def is_feasible(b, z, M):
    """‖z‖∞ ≤ M‖b‖ in rationals."""
    top = max((Fraction(float(abs(x))) for x in z), default=Fraction(0))
    return top**2 <= Fraction(float(M)) ** 2 * sum(Fraction(float(x)) ** 2 for x in np.atleast_1d(b))


def scaled(step, c):
    """Return a result with all weights multiplied by c."""
    return dataclasses.replace(step, theta=c * step.theta, W=c * step.W)


def check_against_rationals(v, w, lam, M, slack=0.0):
    """Every row of a result is compared with the exact minimiser; for v (d, p), ‖v_j‖ is rounded."""
    step = hier_prox(v, w, lam=lam, M=M) if v.ndim == 1 else group_hier_prox(v, w, lam=lam, M=M)
    for j, b in enumerate(step.theta):
        n = math.hypot(*np.atleast_1d(v[j]))
        length = math.hypot(*np.atleast_1d(b))
        t = exact_length(n, w[j], lam, M)
        clipped = [abs(Fraction(float(x))) for x in w[j] if abs(Fraction(float(x))) > Fraction(M) * t]
        whole = Fraction(n) + Fraction(lam) + Fraction(M) * sum(clipped)
        size = whole / (1 + len(clipped) * Fraction(M) ** 2)
        error = Fraction(4 * EPS + slack) * size + Fraction(float(TINY))
        assert abs(Fraction(length) - t) <= error
        if v.ndim == 2 and n > 0:  # b = (t/n)·v_j; at v_j = 0 any direction is optimal
            np.testing.assert_allclose(b * n, v[j] * length, rtol=64 * EPS, atol=n * length * 64 * EPS)
        assert is_feasible(b, step.W[j], M)
        for x, z in zip(w[j], step.W[j], strict=True):
            best = min(abs(Fraction(float(x))), Fraction(M) * t)
            spread = Fraction(M) * error + Fraction(4 * EPS + slack) * best + Fraction(float(TINY))
            assert abs(abs(Fraction(float(z))) - best) <= spread
            assert z == 0 or (z > 0) == (x > 0)
        assert step.n_clipped[j] == np.sum(np.abs(step.W[j]) < np.abs(w[j]))
    np.testing.assert_array_equal(step.active, np.flatnonzero(np.any(step.theta.reshape(len(w), -1), axis=1)))
    return step


@given(st.integers(-6, 6), rows(INTEGERS), HALVES, MULTIPLIERS)
@example(0, np.array([[1.0]]), 0.0, 1.0)
@example(1, np.array([[2.0, 2.0, -2.0]]), 1.0, 1.0)
@example(1, np.array([[1.0]]), 0.0, 1.0)
@example(0, np.array([[0.0, 0.0]]), 0.0, 2.0)
@example(3, np.zeros((1, 0)), 1.0, 1.0)
@example(1, np.array([[1.0, 1.0]]), 3.0, 1.0)
def test_no_feasible_point_is_better_in_rational_arithmetic(v, w, lam, M):
    step = check_against_rationals(np.array([float(v)]), w, lam, M)
    b = step.theta[0]
    assert (b >= 0) if v >= 0 else (b <= 0)
    problem, slack = feature(v, w[0], lam, M), Fraction(1e-12)
    value = problem.objective(Fraction(b), fractions(step.W[0]))
    assert value <= at_length(problem, best_length(problem)) * (1 + slack)
    # Points of a grid, both signs, each entry clipped or not: nothing is assumed of the best z.
    if w.shape[1] <= 3:
        for beta in np.arange(-6, 6.5, 0.5):
            sides = [sorted({0.0, x, np.sign(x) * min(abs(x), M * abs(beta))}) for x in w[0]]
            for z in itertools.product(*sides):
                if max(map(abs, z), default=0) <= M * abs(beta):
                    assert problem.objective(Fraction(beta), fractions(z)) >= value * (1 - slack)


@given(st.lists(SIGNED, min_size=1, max_size=5), rows(SIGNED, 8), MAGNITUDES, MAGNITUDES)
def test_it_is_right_to_a_few_eps_at_every_magnitude(v, w, lam, M):
    check_against_rationals(np.array(v[:1]), w, lam, M)
    check_against_rationals(np.array([v]), w, lam, M, slack=16 * EPS)


@pytest.mark.parametrize("M", [1e-3, 0.1, 1.0, 10.0, 1e3])
@pytest.mark.parametrize("lam", [0.0, 1.0, 30.0])
def test_many_entries_do_not_add_up_their_rounding(rng, M, lam):
    w = rng.normal(size=(2, 60)) * 10 ** rng.uniform(-3, 3, (2, 60))
    check_against_rationals(np.array([0.0, -1.5]), w, lam, M)
    ties = np.sign(rng.normal(size=(2, 60))) * 0.1
    check_against_rationals(np.array([0.0, -1.5]), ties, lam, M)


@pytest.mark.parametrize("M", [0.02, 0.3, 1.0, 3.0])
@pytest.mark.parametrize("ratio", [1.001, 1.02, 1.2, 2.0, 10.0])
def test_where_few_entries_can_be_left_out_before_they_are_sorted(M, ratio):
    """The bound then approaches the level slowly, so that entries on either side of it are sorted."""
    w = ratio ** np.arange(30.0)[None]
    for v, lam in ((0.0, 0.0), (1.0, 0.0), (0.0, 1.5)):
        check_against_rationals(np.array([v]), w, lam, M)


@extremes()
@example([0.0], np.array([[1e300, -1e300]]), 0.0, 1.0)
@example([1e-300], np.array([[1e300]]), 1e-300, 1e-300)
@example([5e-324], np.array([[1.5e-323, 5e-324]]), 0.0, 0.3)
@example([0.0], np.array([[1.0]]), 0.0, 1e200)
@example([0.0], np.array([[0.7]]), 0.0, 0.1)
def test_the_constraint_holds_exactly_and_as_floats(v, w, lam, M):
    step = hier_prox(v, w, lam=lam, M=M)
    assert is_feasible(step.theta[0], step.W[0], M)
    with np.errstate(over="ignore"):
        assert np.all(np.abs(step.W) <= M * np.abs(step.theta[:, None]))
    assert np.all(np.abs(step.W) <= np.abs(w))


@extremes()
@example([0.0], np.array([[1.0]]), 1e270, 1e271)
@example([1e-271], np.array([[1e270]]), 0.0, 0.0)
def test_extreme_values_are_as_right_as_any(v, w, lam, M):
    check_against_rationals(np.array(v), w, lam, M)


@given(st.integers(1, 12), st.integers(0, 2**32 - 1), MULTIPLIERS, st.sampled_from([np.float32, np.float64]))
def test_the_constraint_of_groups_holds_for_every_evaluation_of_the_norm(p, seed, M, dtype):
    rng = np.random.default_rng(seed)
    v, w = rng.normal(size=(5, p)).astype(dtype), rng.normal(size=(5, 3)).astype(dtype)
    v[0], M = 0, M * 1.1
    step = group_hier_prox(v, w, lam=0.3, M=M)
    assert step.theta.dtype == step.W.dtype == dtype
    top = np.abs(step.W).max(axis=1)
    for j in range(5):
        assert is_feasible(step.theta[j], step.W[j], M)
        assert top[j] <= dtype(M) * np.sqrt(step.theta[j] @ step.theta[j])
        assert top[j] <= dtype(M) * np.sqrt(np.add.accumulate(step.theta[j, ::-1] ** 2, dtype=dtype)[-1])
    assert np.all(top <= dtype(M) * np.linalg.norm(step.theta, axis=1))


@given(st.lists(SIGNED, min_size=1, max_size=1), rows(SIGNED), MAGNITUDES, st.floats(0, 100))
def test_in_float32_the_constraint_holds_in_either_precision(v, w, lam, M):
    v, w = np.array(v, np.float32), w.astype(np.float32)
    step = hier_prox(v, w, lam=lam, M=M)
    assert step.theta.dtype == step.W.dtype == np.float32
    assert is_feasible(step.theta[0], step.W[0], M)
    assert np.all(np.abs(step.W) <= M * np.abs(step.theta[:, None]))
    exact = hier_prox(v.astype(float), w.astype(float), lam=lam, M=M)
    size = np.abs([*v, *w[0], lam, 1e-30]).max() * (1 + M * w.size)
    assert abs(step.theta[0] - exact.theta[0]) <= 2 * np.finfo(np.float32).eps * size


@pytest.mark.parametrize("p", [1, 3, 50])
def test_float32_is_computed_in_float64(rng, p):
    v, w = rng.normal(size=(200, p)).astype(np.float32), rng.normal(size=(200, 9)).astype(np.float32)
    step = group_hier_prox(v, w, lam=0.1, M=0.75)
    exact = group_hier_prox(v.astype(float), w.astype(float), lam=0.1, M=0.75)
    np.testing.assert_array_equal(step.theta, exact.theta.astype(np.float32))
    # the slack of the clips, half an eps of θ and one of W
    slack = (p + 10) / 2 if p > 1 else 2
    np.testing.assert_allclose(step.W, exact.W, rtol=slack * np.finfo(np.float32).eps)


@given(st.lists(SIGNED, min_size=1, max_size=4), rows(SIGNED), MAGNITUDES, MAGNITUDES, st.integers(-40, 40))
def test_powers_of_two_change_no_bit(v, w, lam, M, k):
    c = 2.0**k
    for function, theta in ((hier_prox, np.array(v[:1])), (group_hier_prox, np.array([v]))):
        one = function(theta, w, lam=lam, M=M)
        assert function(c * theta, c * w, lam=c * lam, M=M) == scaled(one, c)


def test_data_near_the_end_of_the_range_are_scaled_inside(rng):
    v, w = rng.normal(size=20), rng.normal(size=(20, 30))
    for M in (0.01, 1.0, 1e10, 1e100):
        small, large = (hier_prox(c * v, c * w, lam=c * 0.3, M=M) for c in (1, 2.0**1000))
        assert large == scaled(small, 2.0**1000)
    huge = group_hier_prox([[3e307, 4e307]], [[1e308]], lam=1e307, M=1.0)
    assert huge.theta.max() == pytest.approx(5.6e307)
    assert group_hier_prox([[3e-320, 4e-320]], [[0.0]], lam=0.0, M=1.0).theta.max() == 4e-320


def test_at_theta_zero_the_positive_minimiser_is_taken():
    for zero in (0.0, -0.0):
        step = hier_prox([zero], [[1.0, -3.0]], lam=1.0, M=1.0)
        assert step.theta[0] == 1
        assert step.W.tolist() == [[1, -1]]
        assert step.n_clipped.tolist() == [1]
        group = group_hier_prox([[zero, zero, 0.0]], [[1.0, -3.0]], lam=1.0, M=1.0)
        assert group.theta.tolist() == [[1, 0, 0]]
        assert np.abs(group.W).max() == pytest.approx(1, rel=8 * EPS)
    # λ = M‖W‖₁ is where it is dropped
    assert hier_prox([0.0], [[1.0, -3.0]], lam=4.0, M=1.0).active.size == 0
    assert hier_prox([0.0], [[1.0, -3.0]], lam=4.0 * (1 - EPS), M=1.0).active.tolist() == [0]


@given(st.lists(SIGNED, min_size=1, max_size=1), rows(SIGNED), MAGNITUDES, MAGNITUDES)
def test_zeros_are_positive(v, w, lam, M):
    step = hier_prox(v, w, lam=lam, M=M)
    if not step.active.size:
        assert not np.signbit(step.theta).any()
        assert not np.signbit(step.W[step.n_clipped[:, None] * w != 0]).any()


@given(st.lists(SIGNED, min_size=1, max_size=5), st.data(), MAGNITUDES, MAGNITUDES)
def test_groups_of_one_are_the_scalar_operator_bit_for_bit(v, data, lam, M):
    row = st.lists(SIGNED, min_size=3, max_size=3)
    w = np.array(data.draw(st.lists(row, min_size=len(v), max_size=len(v))))
    group = group_hier_prox(np.array(v)[:, None], w, lam=lam, M=M)
    assert dataclasses.replace(group, theta=group.theta[:, 0]) == hier_prox(v, w, lam=lam, M=M)


@given(st.lists(st.floats(0.5, 1e6), min_size=1, max_size=1), rows(SIGNED), MAGNITUDES, MAGNITUDES)
def test_it_is_odd(v, w, lam, M):
    assert hier_prox(-np.array(v), -w, lam=lam, M=M) == scaled(hier_prox(v, w, lam=lam, M=M), -1)


def test_rows_are_independent_and_the_order_within_one_changes_no_bit(rng):
    d, K = 20_000, 60  # enough for two threads
    v, w = rng.normal(size=d), rng.normal(size=(d, K)) * 10 ** rng.uniform(-3, 3, (d, 1))
    step = hier_prox(v, w, lam=0.5, M=0.4)
    for j in (0, 1, d // 2 - 1, d // 2, d - 1):
        one = hier_prox(v[[j]], w[[j]], lam=0.5, M=0.4)
        assert one.theta[0] == step.theta[j]
        np.testing.assert_array_equal(one.W[0], step.W[j])
        assert one.n_clipped[0] == step.n_clipped[j]
    order = rng.permutation(K)
    permuted = hier_prox(v, w[:, order], lam=0.5, M=0.4)
    assert permuted == dataclasses.replace(step, W=step.W[:, order])


def test_dtypes_layouts_frames_and_inputs_left_alone(rng):
    v, w = rng.normal(size=4), rng.normal(size=(4, 6))
    step = hier_prox(v, w, lam=0.5, M=1.0)
    before = v.copy(), w.copy()
    for array in (v, w):
        array.flags.writeable = False
    for theta, weights in ((v, np.asfortranarray(w)), (v[::-1][::-1], np.repeat(w, 2, axis=1)[:, ::2])):
        np.testing.assert_array_equal(hier_prox(theta, weights, lam=0.5, M=1.0).W, step.W)
    np.testing.assert_array_equal(v, before[0])
    np.testing.assert_array_equal(w, before[1])
    assert not np.shares_memory(hier_prox(v, w, lam=0.0, M=1e9).W, w)
    for given_types, expected in {
        (np.float32, np.float32): np.float32,
        (np.float32, np.float64): np.float64,
        (np.int64, np.float32): np.float64,
        (np.int8, np.bool_): np.float64,
    }.items():
        made = hier_prox(np.ones(1, given_types[0]), np.ones((1, 2), given_types[1]), lam=0.5, M=1.0)
        assert made.theta.dtype == made.W.dtype == expected
    pandas = pytest.importorskip("pandas")
    assert hier_prox(pandas.Series(v), pandas.DataFrame(w), lam=0.5, M=1.0) == step


def test_empty_data():
    step = hier_prox([], np.empty((0, 3)), lam=1.0, M=1.0)
    assert step.theta.shape == step.active.shape == step.n_clipped.shape == (0,)
    assert step.W.shape == (0, 3)
    assert group_hier_prox(np.empty((0, 2)), np.empty((0, 3)), lam=1.0, M=1.0).theta.shape == (0, 2)


BAD_INPUT = [
    ({"lam": -1.0}, ValueError, "lam must be nonnegative; got -1"),
    ({"M": -0.5}, ValueError, "M must be nonnegative; got -0.5"),
    ({"lam": np.nan}, ValueError, "lam must be finite; got nan"),
    ({"M": np.inf}, ValueError, "M must be finite; got inf"),
    ({"M": "1"}, TypeError, "M must be a real number"),
    ({"W": [[1.0, np.nan]]}, ValueError, r"W must be finite.*first at \(0, 1\)"),
    ({"W": [[1.0, -np.inf]]}, ValueError, "W must be finite"),
    ({"W": [1.0, 2.0]}, ValueError, r"W must have shape \(1, K\), one row .*; got \(2,\)"),
    ({"W": [[1.0], [2.0]]}, ValueError, r"W must have shape \(1, K\).*got \(2, 1\); .*pass W\.T"),
    ({"W": [[1j]]}, TypeError, "W must hold real numbers.*complex"),
    ({"W": [["a"]]}, TypeError, "W must hold real numbers"),
    ({"W": [[1.0], [2.0, 3.0]]}, ValueError, "W must be a rectangular array"),
]


@pytest.mark.parametrize(("function", "theta"), [(hier_prox, [1.0]), (group_hier_prox, [[1.0]])])
@pytest.mark.parametrize(("changed", "error", "words"), BAD_INPUT)
def test_bad_input_is_named(function, theta, changed, error, words):
    arguments = {"W": [[1.0, 2.0]], "lam": 1.0, "M": 1.0, **changed}
    refuses("^" + words, function, theta, arguments.pop("W"), error=error, **arguments)


BAD_THETA = [
    (hier_prox, 1.0, ValueError, r"theta must have shape \(d,\).*got shape \(\)"),
    (hier_prox, [[1.0]], ValueError, r"theta must have shape \(d,\).*\(1, 1\); group_hier_prox"),
    (hier_prox, [np.nan], ValueError, r"theta must be finite.*\(0,\)"),
    (hier_prox, ["x"], TypeError, "theta must hold real numbers"),
    (group_hier_prox, [1.0], ValueError, r"Theta must have shape \(d, p\).*got shape \(1,\)"),
    (group_hier_prox, [[]], ValueError, r"Theta must have shape \(d, p\) with p ≥ 1.*\(1, 0\)"),
    (group_hier_prox, [[np.inf]], ValueError, "Theta must be finite"),
]


@pytest.mark.parametrize(("function", "theta", "error", "words"), BAD_THETA)
def test_bad_theta_is_named(function, theta, error, words):
    refuses("^" + words, function, theta, [[1.0]], lam=1.0, M=1.0, error=error)


def test_a_length_beyond_the_float_range_is_refused():
    """M = 0.1: t = 0.1·100·1.7e308/(1 + 1)."""
    with pytest.raises(ValueError, match=r"theta, W and M .*float64; it overflows for feature 1"):
        hier_prox([0.0, 0.0], [np.ones(100), np.full(100, 1.7e308)], lam=0.0, M=0.1)
    with pytest.raises(ValueError, match=r"float32"):
        hier_prox(np.zeros(1, np.float32), np.full((1, 100), 3e38, np.float32), lam=0.0, M=0.1)
    assert hier_prox([1.7e308], [[1.7e308]], lam=0.0, M=1.0).theta[0] == 1.7e308
