"""The spectral regularizers by their definition: eigenvalues of C_S, exactly where that can be had."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refuses
from spectral_oracles import by_eigenvalues, designs, members

from sparselin import Problem
from sparselin._kernels.secular import power_sums, spectrum
from sparselin.spectral import GeneralizedRank, SmoothedDifferentialEntropy, SpectralVariance
from sparselin.spectral.regularizers.base import Gram, PlainGrowth, grow, trace_error

ENTROPIES = [SmoothedDifferentialEntropy(delta, k) for delta in (0.1, 0.7, 1.0, 3.0) for k in (None, 2)]
RANKS = [GeneralizedRank(alpha) for alpha in (0.0, 0.2, 0.5, 1.0)]
VARIANCES = [SpectralVariance(), SpectralVariance(k=3)]
ALL = [*ENTROPIES, *RANKS, *VARIANCES]


@st.composite
def sets(draw, max_d=7, unit=True):
    """A design and an ordered set of its columns."""
    X = draw(designs(max_d, unit))
    order = draw(st.permutations(range(X.shape[1])))
    return X, order[: draw(st.integers(0, X.shape[1]))]


def tolerance(f, C):
    """Rounding, with the slope of t^α at eigenvalues of small integer designs."""
    return 1e-9 * max(1.0, np.abs(C).max() ** 2, abs(getattr(f, "constant", 0.0)))


@pytest.mark.parametrize("f", ALL, ids=str)
@settings(max_examples=50)
@given(case=sets(unit=False))
def test_value_gains_and_losses_are_those_of_the_eigenvalues(f, case):
    X, S = case
    C = X.T @ X
    close = {"rel": 1e-9, "abs": tolerance(f, C)}
    value = by_eigenvalues(f, C, S)
    assert f.value(C, S) == pytest.approx(value, **close)
    expected = [0 if x in S else by_eigenvalues(f, C, [*S, x]) - value for x in range(len(C))]
    gains = f.gains(C, S)
    assert gains == pytest.approx(np.array(expected), **close)
    assert not gains[list(S)].any()
    growth = grow(Gram.of_matrix(C), f)
    for j in S:
        growth.add(j)
    assert growth.index == list(S)
    assert growth.value == pytest.approx(value, **close)
    if S:
        losses, _ = growth.losses()
        less = [by_eigenvalues(f, C, [i for i in S if i != j]) for j in S]
        assert value - losses == pytest.approx(np.array(less), abs=tolerance(f, C))


@pytest.mark.parametrize("f", ALL, ids=str)
@settings(max_examples=30)
@given(case=sets(unit=False))
def test_the_errors_bound_the_differences_from_the_definition(f, case):
    X, S = case
    C = X.T @ X
    others = np.setdiff1d(np.arange(len(C)), S)
    if not len(others):
        return
    growth = grow(Gram.of_matrix(C), f, S)
    gains, error = growth.gains(others)
    assert error.shape == gains.shape
    plain, _ = PlainGrowth(Gram.of_matrix(C), f).gains(others) if not S else (gains, error)
    assert plain == pytest.approx(gains, abs=tolerance(f, C))
    assert (error >= 0).all()
    assert (error < 1e-5 * max(1.0, np.abs(C).max() ** 2)).all()


def test_the_error_of_the_variance_holds_where_its_terms_round_to_zero():
    t = 2.0**-28  # C_01 = t² is rounded to 0, and C_11 = 1 + t² to 1
    X = np.array([[0.5, t, 0.5, 0.5, 0.5], [0.5, t, 0.5, -0.5, -0.5]]).T
    gains, error = grow(Gram.of_problem(Problem(X, X[:, 0])), SpectralVariance(), [0]).gains(np.array([1]))
    assert abs(gains[0] + 3 * t**4) <= error[0] < 1e-27


def chains(d):
    for B in range(1 << d):
        for x in range(d):
            if not B >> x & 1:
                A = B
                while A:
                    A = (A - 1) & B
                    yield A, B, 1 << x


@pytest.mark.parametrize("f", ALL, ids=str)
@settings(max_examples=30)
@given(X=designs(max_d=4))
def test_submodular_and_the_flags_hold_on_unit_columns(f, X):
    C, d = X.T @ X, X.shape[1]
    table = [f.value(C, members(mask)) for mask in range(1 << d)]
    slack = 1e-7 if isinstance(f, GeneralizedRank) else 1e-9
    assert f.submodular
    for A, B, x in chains(d):
        assert table[A | x] - table[A] >= table[B | x] - table[B] - slack
    if f.monotone:
        assert all(table[A | 1 << x] >= table[A] - slack for A in range(1 << d) for x in range(d))
    if f.nonnegative:
        largest = 3 * f.k if getattr(f, "k", None) else d
        assert min(v for A, v in enumerate(table) if A.bit_count() <= largest) >= -slack


def test_the_flags_that_are_false_have_a_witness():
    copies = np.ones((40, 40))
    assert SmoothedDifferentialEntropy(0.9).gains(copies, range(39))[39] < 0
    assert SmoothedDifferentialEntropy(0.9).gains(copies, range(5))[39] > 0  # it takes copies enough
    assert SmoothedDifferentialEntropy(0.5).value(copies, range(10)) < 0
    assert SmoothedDifferentialEntropy(3.0, k=1).value(copies, []) == -3 * math.log2(3)
    assert not SmoothedDifferentialEntropy(3.0, k=1).nonnegative
    assert SmoothedDifferentialEntropy(3.0).nonnegative
    assert SmoothedDifferentialEntropy(0.5, k=1).nonnegative
    assert not SmoothedDifferentialEntropy(0.5).nonnegative
    assert SpectralVariance().gains(copies, [0])[1] == -2
    assert not SpectralVariance().monotone
    assert not SpectralVariance().nonnegative
    assert SpectralVariance(k=1).value(9 * np.eye(3), [0]) < 0  # columns of length 3


def test_the_constants_are_the_papers():
    C = np.eye(2)
    assert SmoothedDifferentialEntropy(0.5, k=4).value(C, [0]) == math.log2(1.5) + 12
    assert SpectralVariance(k=4).value(C, [0]) == 144
    assert SpectralVariance(k=4).value(C, []) == 144


def test_zero_eigenvalues_count_as_zero(rng):
    X = rng.standard_normal((30, 5)) @ rng.standard_normal((5, 12))
    X /= np.linalg.norm(X, axis=0)
    C = X.T @ X
    assert GeneralizedRank(0.0).value(C, range(12)) == 5
    assert GeneralizedRank(0.0).gains(C, range(6)).tolist() == [0] * 12
    assert np.abs(GeneralizedRank(0.5).gains(np.ones((4, 4)), [0])).tolist() == [0] + [2**0.5 - 1] * 3


def eigenvalues_below(D, squares, x):
    """Count the eigenvalues of diag(D) + uuᵀ below x ≠ D_i exactly, by Sylvester's law of inertia.

    Among D_j < x one eigenvalue has moved up beyond x iff 1 + Σ u_j²/(D_j − x) < 0.
    """
    secular = 1 + sum(u / (p - x) for p, u in zip(D, squares, strict=True))
    return sum(p < x for p in D) - (secular < 0)


@given(st.data())
def test_the_secular_solver_has_small_relative_errors(data):
    """Every zero is bracketed by its two neighbours at a distance of 1e-14 of it, in exact arithmetic."""
    t = data.draw(st.integers(1, 7))
    exponent = st.floats(-12, 1)
    D = np.sort(10.0 ** np.array(data.draw(st.lists(exponent, min_size=t, max_size=t))))
    squares = 10.0 ** np.array(data.draw(st.lists(st.floats(-18, 1), min_size=t, max_size=t)))
    if data.draw(st.booleans()):
        D[0] = 0
    if t > 2 and data.draw(st.booleans()):
        D[1] = D[2]
    for j in data.draw(st.lists(st.integers(0, t - 1), max_size=2)):
        squares[j] = 0
    mu = np.empty(t)
    spectrum(D, squares, mu)
    poles, weights = [Fraction(v) for v in D.tolist()], [Fraction(v) for v in squares.tolist()]
    for i, value in enumerate(np.sort(mu).tolist()):
        if value > 0:
            low, high = (Fraction(value) * (1 + Fraction(sign, 10**14)) for sign in (-1, 1))
            assert eigenvalues_below(poles, weights, low) <= i
            assert eigenvalues_below(poles, weights, high) >= i + 1


def test_power_sums_cut_off_and_rows():
    D, squares, out = np.array([0.0, 1.0]), np.array([[4.0, 0.0], [1e-20, 0.0], [0.0, 3.0]]), np.zeros((4, 3))
    power_sums(D, squares, 0.5, 1e-15, out, 0, 3)
    assert out.tolist() == [[3, 1, 0], [1, 1, 1], [2, 4, 1], [0, 0, 0]]
    power_sums(D, squares, 0.5, 9.0, out, 3 - 1, 3)
    assert out[2].tolist() == [0, 9, 2]


BAD_INPUT = [
    (lambda: SmoothedDifferentialEntropy(0.0), "delta must be positive"),
    (lambda: SmoothedDifferentialEntropy(-1.0), "delta must be nonnegative"),
    (lambda: SmoothedDifferentialEntropy(math.inf), "delta must be finite"),
    (lambda: SmoothedDifferentialEntropy(1.0, k=0), "k must be at least 1"),
    (lambda: GeneralizedRank(1.5), "alpha must lie in"),
    (lambda: GeneralizedRank(-0.1), "alpha must be nonnegative"),
    (lambda: GeneralizedRank("a"), "alpha must be a real number"),
    (lambda: SpectralVariance(k=2.5), "k must be an integer"),
    (lambda: SpectralVariance().value(np.ones((2, 3)), [0]), "square"),
    (lambda: SpectralVariance().value([[1.0, 2.0], [0.0, 1.0]], [0]), "symmetric"),
    (lambda: GeneralizedRank(0.5).value([[1.0, 2.0], [2.0, 1.0]], [0, 1]), "positive semidefinite"),
    (lambda: GeneralizedRank(0.5).value([[1.0, np.nan], [np.nan, 1.0]], [0, 1]), "finite"),
    (lambda: GeneralizedRank(0.5).gains(np.eye(2), [2]), "S must hold column indices"),
    (lambda: GeneralizedRank(0.5).gains(np.eye(2), [0, 0]), "not repeat"),
]


@pytest.mark.parametrize(("make", "message"), BAD_INPUT)
def test_bad_input(make, message):
    refuses(message, make, error=(TypeError, ValueError))


def test_the_error_of_a_trace_counts_the_top_of_h_and_the_clip_at_zero():
    def h(v):
        return -((v - 1) ** 2)

    assert trace_error(h, np.array([0.0]), 1.5) == 1  # at 1, where h is largest
    assert trace_error(h, np.array([0.9, 3.0]), 0.5) == pytest.approx(0.6**2 - 0.1**2 + 2.5**2 - 2**2)
