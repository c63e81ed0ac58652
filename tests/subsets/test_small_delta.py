"""The searches for a small δ against rational arithmetic, and near copies with the other regularizers."""

import math
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse
from fractional import centred_gram, fractions
from spectral_oracles import r_squared

import sparselin as sl
import sparselin.spectral.objective
from sparselin import Problem, Status
from sparselin.linalg.elimination import centre
from sparselin.spectral import GeneralizedRank, SmoothedDifferentialEntropy, SpectralVariance, greedy_maximize


def rational_gram(X, y, weight, intercept, standardize):
    """C (d, d), b = Xᵀy, yᵀy in fractions, weighted and centred; and s (d,) with the columns X_j·√s_j."""
    w, d = fractions(weight), X.shape[1]
    G = centred_gram(fractions([*X.T, y]), w, intercept)
    scale = [sum(w) / G[j][j] if standardize and G[j][j] else Fraction(1) for j in range(d)]
    return [row[:d] for row in G[:d]], [row[d] for row in G[:d]], G[d][d], scale


def schur(M, S, right=None):
    """Eliminate S, without its zero pivots, from M or (M, right)."""
    M = [[*row, *([] if right is None else [right[i]])] for i, row in enumerate(M)]
    for s in S:
        if M[s][s] == 0:
            continue
        for i in range(len(M)):
            if i != s and M[i][s]:
                factor = M[i][s] / M[s][s]
                M[i] = [a - factor * b for a, b in zip(M[i], M[s], strict=True)]
    return M


def exact_gains(C, b, yty, scale, delta, nu, S):
    """R²(S + x) − R²(S) + ν·log₂ of the pivot of x, for x ∉ S with X_x ≠ 0."""
    d, delta = len(C), Fraction(delta)
    # det(δI + D^½CD^½) = det D·det(δD⁻¹ + C)
    M = [[C[i][j] + (delta / scale[i] if i == j else 0) for j in range(d)] for i in range(d)]
    M, left = schur(M, S), schur(C, S, b)
    gains = {}
    for x in range(d):
        if x in S or not C[x][x]:
            continue
        pivot = M[x][x] * scale[x]
        bits = math.log2(pivot.numerator) - math.log2(pivot.denominator)
        r2 = left[x][d] ** 2 / (left[x][x] * yty) if left[x][x] and yty else 0
        gains[x] = float(r2) + nu * bits
    return gains


def dependent_design(seed):
    """Integers with copies, sums and near-copies of columns among them."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-4, 5, (17, 4))
    more = [X[:, 0], -X[:, 1], X[:, 0] + X[:, 2], 1000 * X[:, 3] + rng.integers(-1, 2, 17), 0 * X[:, 0]]
    order = rng.permutation(9)
    return np.column_stack([X, *more])[:, order].astype(float), rng.integers(-3, 4, 17).astype(float)


DELTAS = [1e-3, 1e-6, 1e-9, 1e-11, 1e-12, 1e-14, 1e-18, 1e-30, 1e-200]


KINDS = ["dense", "sparse", "float32", "intercept", "standardized", "weights", "Gram"]


def given(kind, X, y):
    """Return the data in this form, the options, and the arguments of `rational_gram`."""
    options = {
        "dense": {"intercept": False},
        "intercept": {"intercept": True},
        "standardized": {"intercept": True, "standardize": True},
        "weights": {"sample_weight": np.arange(1, len(y) + 1) ** 2},
    }.get(kind, {})
    data = X, y
    if kind == "sparse":
        data = scipy.sparse.csc_array(X), y
    elif kind == "float32":
        data = X.astype(np.float32), y.astype(np.float32)
    elif kind == "Gram":
        data = Problem.from_gram(X.T @ X, X.T @ y, y @ y), None
    weight = options.get("sample_weight", np.ones(len(y), int))
    return data, options, (X, y, weight, options.get("intercept", False), "standardize" in options)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("nu", "delta"),
    [
        *((10.0, delta) for delta in DELTAS[1::2]),
        *((1e-3, delta) for delta in DELTAS[::2]),
        *(pytest.param(10.0, delta, marks=pytest.mark.slow) for delta in DELTAS[::2]),
        *(pytest.param(1e-3, delta, marks=pytest.mark.slow) for delta in DELTAS[1::2]),
    ],
)
def test_with_a_small_delta_each_pick_is_the_best_or_undecided(kind, delta, nu):
    completed = 0
    for seed in range(6):
        data, options, arguments = given(kind, *dependent_design(seed))
        exact = rational_gram(*arguments)
        f = SmoothedDifferentialEntropy(delta, k=6)
        for forced in ((), (0, 1, 2)):
            result = sl.forward_regression(*data, 6, regularizer=f, nu=nu, forced=forced, **options)
            support = result.support.tolist()
            for t in range(len(forced), len(support)):
                gains = exact_gains(*exact, delta, nu, support[:t])
                assert gains[support[t]] >= max(gains.values()) - 2.0**-9 * nu - 1e-9
            completed += result.status is Status.COMPLETED
            assert result.status in (Status.COMPLETED, Status.BEYOND_PRECISION)
            assert result.status is Status.COMPLETED or kind == "Gram" or delta < 1e-11
    assert completed or delta < 1e-9


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("delta", DELTAS)
def test_with_a_small_delta_a_local_search_ends_in_a_local_maximum_or_undecided(kind, delta):
    for seed in range(4):
        data, options, arguments = given(kind, *dependent_design(seed))
        exact = rational_gram(*arguments)
        f = SmoothedDifferentialEntropy(delta, k=9)
        result = sl.local_search(*data, regularizer=f, eps=0.0, **options)
        assert result.status in (Status.COMPLETED, Status.BEYOND_PRECISION)
        assert result.status is Status.COMPLETED or kind == "Gram" or delta < 1e-11
        if result.status is Status.BEYOND_PRECISION or result.moves == 0:
            continue
        assert dict(result.candidates).keys() == {"S", "U∖S", "U"}
        S = result.support.tolist()
        if dict(result.candidates)["S"] < max(dict(result.candidates).values()) - 1e-6:
            continue  # S itself is not returned
        slack = 2.0**-8
        assert max(exact_gains(*exact, delta, 1.0, S).values(), default=0) <= slack + 1.0
        for i in S:
            rest = [j for j in S if j != i]
            loss = exact_gains(*exact, delta, 1.0, rest)
            r2 = exact_gains(*exact, delta, 0.0, rest)
            assert loss[i] - r2[i] >= -slack  # a deletion does not increase f


@pytest.mark.parametrize("delta", DELTAS)
def test_with_a_small_delta_greedy_maximize_is_right_or_undecided(delta):
    """C = XᵀX of integers is exact, and known to its rounding only all the same."""
    statuses = set()
    for seed in range(6):
        X, y = dependent_design(seed)
        exact = rational_gram(X, 0 * y, np.ones(17, int), False, False)
        result = greedy_maximize(X.T @ X, 7, SmoothedDifferentialEntropy(delta))
        statuses.add(result.status)
        for t, pick in enumerate(result.support.tolist()):
            gains = exact_gains(*exact, delta, 1.0, result.support[:t].tolist())
            assert gains[pick] >= max(gains.values()) - 2.0**-9
    assert statuses <= {Status.COMPLETED, Status.BEYOND_PRECISION}
    assert statuses == {Status.COMPLETED} or delta < 1e-3


@pytest.mark.parametrize("f", [GeneralizedRank(0.05), GeneralizedRank(0.5), SpectralVariance(k=3)], ids=str)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("apart", [1e-3, 1e-6, 1e-7, 3e-8, 1e-8, 1e-9])
def test_near_copies_and_the_other_regularizers(f, kind, apart):
    """Eigenvalues around the cut-off are not known: the picks fall short by no more than a small share."""
    for seed in range(4):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((17, 4))
        X = np.column_stack([X, X + apart * rng.standard_normal((17, 4))])
        y = rng.standard_normal(17)
        if kind == "float32":
            X = X.astype(np.float32).astype(float)
        data, options, _ = given(kind, X, y)
        problem = centre(sl.Problem(X, y, **options))
        columns = problem.columns(np.arange(8))
        result = sl.forward_regression(*data, 6, regularizer=f, nu=1.0, **options)
        assert result.status in (Status.COMPLETED, Status.BEYOND_PRECISION)
        C = columns.T @ columns
        unit = np.diag(C).max() ** f.alpha if isinstance(f, GeneralizedRank) else (1 + np.diag(C).max()) ** 2
        eps = np.finfo(np.float64).eps
        for t in range(len(result.support) if kind not in ("float32", "Gram") else 0):
            S = result.support[:t].tolist()
            rest = [j for j in range(8) if j not in S]
            here = r_squared(columns, problem.y, S)
            gains = f.gains(C, S)[rest] + [r_squared(columns, problem.y, [*S, j]) - here for j in rest]
            short = gains.max() - gains[rest.index(result.support[t])]
            assert short <= (2.0**-8 + 100 * eps) * unit + 1e-6
