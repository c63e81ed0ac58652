"""Bounds on rounding errors are needed: without any one of them an exact claim is false on these designs."""

import dataclasses
import itertools
from fractions import Fraction

import numpy as np
import pytest

import sparselin as sl
from sparselin.guarantees import recovery
from sparselin.subsets.unit_data import UnitData

from . import margins
from .oracles import Design, Reduced, definiteness, number
from .subsets import swapped


def drawn(family, seed):
    rng = np.random.default_rng(seed)
    X, y, _ = family(rng, int(rng.integers(5, 10)), 6)
    return X, y, Design(X, y)


@pytest.mark.parametrize("seed", range(40))
def test_no_subset_is_below_the_lower_bound(seed):
    """Errors of projected columns: `_moved` in `_kernels.best_subset`."""
    X, y, exact = drawn(margins.near_forced, seed)
    found = sl.best_subset(X, y, 5, forced=[0])
    least = min(exact.at((0, *S)).r ** 2 for S in itertools.combinations(range(1, 6), 4))
    assert found.lower_bound <= least


@pytest.mark.parametrize("rule", ["exact", "ompr"])
@pytest.mark.parametrize("seed", range(20))
def test_a_swap_lowers_the_residual_exactly(seed, rule):
    """The error of ‖r‖², where it is above 1e-12·‖y‖²: `slack` in `greedy.swaps`."""
    X, y, exact = drawn(margins.mirrored, seed)
    found = sl.swaps(X, y, 3, start=[0, 1, 2], rule=rule)
    squares = [exact.at(S).square[-1] for S in swapped(found)]
    assert all(after < before for before, after in itertools.pairwise(squares))


@pytest.mark.parametrize("seed", range(20))
def test_no_eigenvalue_is_below_the_lower_bound(seed):
    """Sets whose λ_min is within the gap of a search: 3·slack in `guarantees.sparse_eigenvalues`."""
    X, _, exact = drawn(margins.twin_blocks, seed)
    for k in (3, 4):
        low = sl.sparse_eigenvalues(X, k).lambda_min.lower
        assert all(definiteness(exact, S, 1, low) >= 0 for S in itertools.combinations(range(6), k))


def test_what_is_promised_of_exact_recovery_holds_where_other_columns_tie():
    """|S| in `recovery._certain`: each of |S| picks may be a tied one."""
    m = 128
    X, y = margins.tied_for_omp(m)
    S = np.arange(m, 2 * m)
    path = sl.omp(X, y, m)
    assert set(path.ties[0]) == set(range(2 * m))
    assert path.r2 < 0.51
    found = recovery.condition(UnitData.by_longest(sl.Problem(X, y)), sl.best_subset(X, y, m, forced=S))
    assert found.exact
    assert found.erc < 1
    assert found.factor <= path.r2


@pytest.mark.parametrize("seed", range(20))
def test_intervals_of_r2_hold_it(seed):
    """The errors of R² in `guarantees.bounds`, at both ends."""
    X, y, exact = drawn(margins.trap, seed)
    found = sl.guarantee_bounds(X, y, 2)
    best = max(exact.explained_by(S) for S in itertools.combinations(range(4), 2))
    assert found.best.lower <= number(best / exact.square[-1]) <= found.best.upper
    for bound in found.bounds:
        S = dict(found.supports)[bound.algorithm].tolist()
        assert bound.achieved.lower <= number(exact.explained_by(S) / best) <= bound.achieved.upper


@pytest.mark.parametrize("seed", range(20))
def test_the_proof_of_the_window_holds_where_columns_are_far_from_zero(seed):
    """The error of the lengths of columns less their means: `_proof_lower` in `lasso.entry`."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(4, 9)), int(rng.integers(2, 6))
    Z, y = rng.integers(-5, 6, (n, d)), rng.integers(-5, 6, n)
    found = sl.first_entry((Z + np.rint(2.0 ** rng.uniform(10, 28, d))), y.astype(float), intercept=True)
    Z, y = n * Z - Z.sum(axis=0), n * y - y.sum()  # n times what is left by the mean
    lam = max(abs(Z.T @ y))
    speed = lam + np.sqrt((Z**2).sum(axis=0) * (y @ y))
    share = min(1, *np.where(abs(Z.T @ y) == lam, 2 * lam, lam - abs(Z.T @ y)) / speed)
    assert found.lam_star == pytest.approx(lam / n**2, rel=1e-12)
    assert found.proof_lower >= (1 - share) * lam / n**2 * (1 - 1e-12)


def test_a_false_certificate_is_refused_in_floats_too():
    """The error of sums: `Rounded.product` in `certificates.arithmetic`; ⟨X_0, y⟩ = ⟨X_1, y⟩."""
    n, c = 2**12, 1 + 127 * 2.0**-52
    X, y = np.zeros((n, 2)), np.ones(n)
    X[:, 0], X[0, 1] = c, n * c
    made = sl.certify(X, y, sl.omp(X, y, 1))
    assert made.steps[0].tied == (0, 1)
    alone = {"pick": 1, "tied": (1,), "active": (1,), "signs": (1,), "direction": (1 / (n * Fraction(c)),)}
    false = dataclasses.replace(made.steps[0], **alone, tau=Fraction(1, 10**15))
    false = dataclasses.replace(made, steps=(false,))
    assert made.verify(X, y, exact=False)
    assert not false.verify(X, y, exact=False)


def test_coefficients_are_as_accurate_as_by_qr():
    """Their correction: `refined` in `lasso._candidates`. By LLᵀ = X_PᵀX_P alone κ² multiplies the errors."""
    for seed in range(100):
        rng = np.random.default_rng(seed)
        spread, B = 10.0 ** -rng.uniform(2, 6), rng.standard_normal((15, 3))
        X, y = np.hstack([B, B + spread * rng.standard_normal((15, 3))]), rng.standard_normal(15)
        lam = float(10.0 ** -rng.uniform(2, 8) * np.abs(X.T @ y).max())
        found = sl.project_dual(X, y, lam)
        exact = Reduced(X, y, found.coef[None], [lam], ())
        assert found.status is sl.Status.COMPLETED
        assert (exact.off <= margins.EPS * exact.raw).all()
