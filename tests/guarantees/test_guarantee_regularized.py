"""`guarantee_bounds` of R² + νf for a spectral regularizer f."""

import itertools
import math

import numpy as np
import pytest
from oracles import unit
from ratios import FAMILY, batch, independent_design, r2, ratio_by_definition, subsets

import sparselin as sl


def test_dependent_sets_do_not_hide_the_maximum_with_a_regularizer():
    X = np.array(
        [
            [2, -4, 2, 2, -4, 2, -2],
            [-1, -2, -1, -1, 4, -2, 2],
            [0, 2, 0, 1, -2, 1, -1],
            [2, 4, 2, 0, -4, 2, -2],
        ]
    )
    f = sl.spectral.SmoothedDifferentialEntropy(0.3, k=6)
    found = sl.guarantee_bounds(X, [-2.0, 1, 2, 2], 6, regularizer=f, nu=0.3)
    achieved = found.of("FR on R² + νf")[0].achieved
    assert achieved.method == "all sets"
    assert achieved.exact
    assert achieved.upper == pytest.approx(0.9453232675995, rel=1e-9)


@pytest.mark.parametrize("f", [sl.spectral.GeneralizedRank(0.5), sl.spectral.SpectralVariance(1)])
def test_no_columns_and_a_regularizer(f):
    found = sl.guarantee_bounds(np.zeros((3, 2)), [1.0, 2, 3], 1, regularizer=f, nu=1.0)
    assert all(bound.achieved.lower == pytest.approx(1) for bound in found.bounds)


@pytest.mark.parametrize(
    ("n", "angle", "size", "nu"), [(1000, 1e-8, 3e-6, 1e-15), (10**4, 1e-8, 1e-5, 1e-14)]
)
def test_gains_below_every_absolute_error_are_compared(n, angle, size, nu):
    """The second pick gains 1e-11 or nothing; errors below 1e-9 must not let the lower index win."""
    X, y = np.zeros((n, 3)), np.zeros(n)
    X[0, :2], X[1, 1], X[2, 2] = (1, math.cos(angle)), math.sin(angle), 1
    y[[0, 2, -1]] = 1.001 * size, size, 1
    f = sl.spectral.SpectralVariance(2)
    assert sl.forward_regression(X, y, 2, regularizer=f, nu=nu).support.tolist() == [0, 2]
    assert not any(bound.violated for bound in sl.guarantee_bounds(X, y, 2, regularizer=f, nu=nu).bounds)


@pytest.mark.parametrize("nu", [1e-6, 1e-4])
@pytest.mark.parametrize("seed", range(6))
def test_what_is_achieved_on_dependent_columns_contains_the_truth(seed, nu):
    """The exact ratio is not claimed to be 1 where rounding leaves a dependence of S undecided."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((5, 2)) @ rng.standard_normal((2, 5))
    X, y = X / np.linalg.norm(X, axis=0), rng.standard_normal(5)
    f = sl.spectral.SpectralVariance(4)
    found = sl.guarantee_bounds(X, y, 4, regularizer=f, nu=nu)

    def g(S):
        fit = X[:, S] @ np.linalg.pinv(X[:, S], rcond=1e-10) @ y
        return 1 - np.sum((y - fit) ** 2) / (y @ y) + nu * f.value(X.T @ X, list(S))

    best = max(g(S) for size in range(1, 5) for S in map(list, itertools.combinations(range(5), size)))
    truth = g(sl.forward_regression(X, y, 4, regularizer=f, nu=nu).support) / best
    achieved = found.of("FR on R² + νf")[0].achieved
    assert achieved.lower * (1 - 1e-9) <= truth <= achieved.upper * (1 + 1e-9)
    assert achieved.upper - achieved.lower <= 1e-6 or not achieved.exact


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("m", [0, 1])
def test_promises_with_a_regularizer(seed, m):
    """If m features are forced, the functions are contracted."""
    X, y, more = independent_design(seed)
    X, nu, eps, d = unit(X), 0.05, 0.1, X.shape[1]
    F = np.random.default_rng(seed).permutation(d)[:m].tolist()
    free = [j for j in range(d) if j not in F]
    more = min(more, len(free))
    k = more + m
    f = (
        sl.spectral.GeneralizedRank(0.5),
        sl.spectral.SmoothedDifferentialEntropy(1.0),
        sl.spectral.SmoothedDifferentialEntropy(0.3, k=k),
        sl.spectral.SpectralVariance(k=k),
    )[seed % 4]
    given = {"forced": F, "regularizer": f, "nu": nu}
    found = sl.guarantee_bounds(X, y, k, **given, eps=eps)
    C = X.T @ X

    def g(S):
        return r2(X, y, S) + nu * f.value(C, S)

    def gamma_of(S, rest, size):
        """γ of R²(F ∪ ·) on the elements of `rest`."""
        Q = np.linalg.qr(X[:, F])[0]
        Z, z = X[:, rest] - Q @ (Q.T @ X[:, rest]), y - Q @ (Q.T @ y)
        return ratio_by_definition(Z, z, [rest.index(j) for j in S], size)

    top = max(g([*F, *S]) for S in subsets(free, 0, more))
    ahead = sl.forward_regression(X, y, k, **given).support.tolist()
    (promise,) = found.of("FR on R² + νf")
    gamma = gamma_of(ahead[m:], free, more)
    assert promise.achieved.upper == pytest.approx(g(ahead) / top)
    local, sharper, candidate = found.of("GLS")
    for bound in (promise, candidate):
        assert bound.applies
        assert bound.lower == pytest.approx(1 - math.exp(-gamma), abs=1e-8)
    both, rest = gamma_of(ahead[m:], free, 2 * more), [j for j in free if j not in ahead]
    if rest:
        inside, size = F + rest, m + min(more, len(rest))
        S2 = sl.forward_regression(X[:, inside], y, size, **given | {"forced": range(m)}).support[m:]
        both = min(both, gamma_of([inside[i] for i in S2], rest, 2 * more))
    alpha = 4 + 4 * eps / more
    for bound, kappa in ((local, 1 - math.exp(-both / 2)), (sharper, both / 2)):
        assert bound.applies
        assert bound.lower == pytest.approx(kappa / (2 + kappa * alpha), abs=1e-8)
        assert bound.achieved.upper >= bound.lower
    assert not sl.guarantee_bounds(X, y, k, **given, eps=more / 4).of("GLS")[0].applies
    assert not found.violated


def where_f_falls():
    """Designs of unit columns, k and ν: random ones, and those on which R² attains Theorem 2."""
    rng = np.random.default_rng(2012)
    for _ in range(30):
        d = int(rng.integers(3, 7))
        X, y = (Z[0] for Z in batch(FAMILY[rng.integers(len(FAMILY))], 1, 6, d, rng))
        yield X, y, int(rng.integers(1, 4)), float(2.0 ** rng.uniform(-14, 0))
    for degrees, nu in itertools.product((60, 75, 80), (1e-3, 1e-5)):
        c, s = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
        X = np.array([[c + 1e-6, c, c], [0, s, -s], [s, 0, 0]])
        yield unit(X), np.array([1.0, 0, 0]), 2, nu


@pytest.mark.parametrize("delta", [0.1, 0.7, None])
def test_forward_regression_where_f_falls(delta):
    """1 − e^{−γ} compared with g(S)/max g by enumeration, f by its eigenvalues; 1 − e^{−1.5γ} is broken."""
    slack, more = [], []
    for X, y, k, nu in where_f_falls():
        if delta:  # f_de needs no unit columns
            X = X * 2.0 ** -np.arange(X.shape[1])
        C = X.T @ X

        def g(S, X=X, y=y, C=C, k=k, nu=nu):
            values = np.linalg.eigvalsh(C[np.ix_(S, S)])
            if delta is None:
                return r2(X, y, S) + nu * (9 * k**2 - ((values - 1) ** 2).sum())
            return r2(X, y, S) + nu * (np.log2(delta + values).sum() - 3 * k * np.log2(delta))

        f = sl.spectral.SmoothedDifferentialEntropy(delta, k) if delta else sl.spectral.SpectralVariance(k)
        found = sl.guarantee_bounds(X, y, k, regularizer=f, nu=nu)
        (ahead,), candidate = found.of("FR on R² + νf"), found.of("GLS")[-1]
        assert ahead.applies
        assert candidate.applies
        S = sl.forward_regression(X, y, k, regularizer=f, nu=nu).support.tolist()
        gamma = ratio_by_definition(X, y, S, k)
        ratio = g(S) / max(map(g, map(list, subsets(range(len(C)), 1, k))))
        assert ahead.achieved.upper == pytest.approx(ratio, rel=1e-6)
        assert candidate.lower == ahead.lower == pytest.approx(1 - math.exp(-gamma), abs=1e-5)
        slack.append(ratio - ahead.lower)
        more.append(ratio + math.expm1(-1.5 * gamma))
    assert min(slack) > 0
    assert min(more) < -0.01


NEEDED = [
    (sl.spectral.SmoothedDifferentialEntropy(0.1), 1, "a constant for k features"),
    (sl.spectral.SmoothedDifferentialEntropy(0.1, k=2), 1, "a constant for k features"),
    (sl.spectral.SpectralVariance(k=2), 1, "a constant for k features"),
    (sl.spectral.SpectralVariance(k=6), 2, "unit columns"),
]


@pytest.mark.parametrize(("f", "scale", "missing"), NEEDED)
def test_what_forward_regression_needs_where_f_falls(f, scale, missing):
    """On six copies of y it must take all six, and g falls below 1 − 1/e of its maximum, though γ = 1."""
    X, y = scale * np.ones((1, 6)), np.ones(1)
    found = sl.guarantee_bounds(X, y, 6, regularizer=f, nu=1.0)
    for bound in (*found.of("FR on R² + νf"), found.of("GLS")[-1]):
        assert not bound.applies
        assert dict(bound.hypotheses)[missing] is False
    (bound,) = found.of("FR on R² + νf")
    assert bound.achieved.upper < 1 - math.exp(-1)


def test_a_regularizer_that_is_negative_promises_nothing():
    X, y, k = independent_design(3)
    entropy = sl.spectral.SmoothedDifferentialEntropy(0.3)
    found = sl.guarantee_bounds(unit(X), y, k, regularizer=entropy, nu=0.1)
    assert not any(bound.applies for bound in found.of("GLS"))
    small = sl.spectral.SmoothedDifferentialEntropy(0.3, k=1)
    found = sl.guarantee_bounds(unit(X), y, 2, regularizer=small, nu=0.1)
    assert ("f ≥ 0 on 3k features", None) in found.of("GLS")[0].hypotheses
    found = sl.guarantee_bounds(3 * unit(X), y, k, regularizer=sl.spectral.SpectralVariance(k=k), nu=0.1)
    assert not any(bound.applies for bound in found.of("GLS"))


def test_many_sets_give_an_interval():
    X, y = sl.ensembles.gaussian(40, 30, 1)
    f = sl.spectral.GeneralizedRank(0.5)
    (promise,) = sl.guarantee_bounds(X, y, 4, regularizer=f, nu=0.1).of("FR on R² + νf")
    assert 0 < promise.achieved.lower < promise.achieved.upper <= 1
