"""Theorem 15 and Section 5.2: the generalized rank f_gr(S) = Σ λ_i(C_S)^α, 0 ≤ α ≤ 1.

Source: *Selecting Diverse Features via Spectral Regularization*, Section 5.2, Theorem 15.

α = 0 gives the rank when 0⁰ is read as 0, the limit of 0^α; with 0⁰ = 1 it would be |S|. The rank does not
tell a full-rank set from an orthogonal one; nor does α = 1, the trace, which is |S| for unit columns: the
range of interest is 0 < α < 1.

Submodular: Theorem 12 for 0 < α < 1 (f continuous on [0, ∞), the derivative αt^{α−1} operator antitone on t
> 0; "t ∈ R" in print); α = 0 is a matroid rank, to which Theorem 12 does not apply (t⁰ is not continuous at
0); α = 1 is modular. Increasing and non-negative: Lemma 13. So g = R² + νf_gr is increasing, Proposition 10
holds (f increasing), γ_{S,k}(g) ≥ γ_{S,k}(R²), and Theorem 3 gives Theorem 15 as printed. γ with the
reading of SR-definition-2.

Exact for α = 0 and 1; other α in balls of 128 bits on exact spectra (disjoint root balls, zeros counted
exactly), except where spectra are equal by their characteristic polynomials.
"""

import numpy as np
from flint import arb, fmpq, fmpq_mat

import sparselin as sl
from proofs_checks.rational import real
from proofs_checks.spectral import (
    SHAPES,
    added,
    chains,
    correlations,
    descend,
    doubled,
    draw_design,
    draw_hermitian,
    forward_regression,
    identity,
    is_increasing,
    is_submodular,
    mask_of,
    members,
    optimum,
    precisely,
    principal,
    projected,
    r_squared,
    rank_power,
    rank_power_float,
    reports,
    same_spectra,
    settle,
    submodularity_ratio,
    table,
    unit_columns,
    unit_designs,
)
from sparselin.ledger import HOLDS, claim, mutants

ALPHAS = (fmpq(1, 10), fmpq(1, 2), fmpq(9, 10))


def package_rank(C, S, alpha):
    """f_gr of the package."""
    return sl.spectral.GeneralizedRank(alpha).value(C, S)


def package_gains(C, S, alpha):
    """Its gains, (d,)."""
    return sl.spectral.GeneralizedRank(alpha).gains(C, S)


NUS = (fmpq(1), fmpq(1, 8), fmpq(1, 128), fmpq(1, 4096))


@claim("SR-rank-alpha-0", "Section 5.2", "exact, interval", HOLDS, cases=800, ci_cases=40)
@mutants("rank_power", "package_rank")
def test_the_rank_is_the_limit(check):
    """For α = 0, f_gr(S) = rank(C_S), which does not discriminate between a full-rank matrix and an
    orthogonal one.

    Hypotheses: 0⁰ = 0

    Consequences: With 0⁰ = 1 it is |S|. Nor does α = 1 discriminate: f_gr = |S| for unit columns.
    """
    near = fmpq_mat(2, 2, [1, fmpq(9, 10), fmpq(9, 10), 1])
    with precisely():
        check.over(
            [near],
            lambda near: (
                all(rank_power(near, [0, 1], a) == rank_power(identity(2), [0, 1], a) == 2 for a in (0, 1))
                and all(rank_power(near, [0, 1], a) < rank_power(identity(2), [0, 1], a) for a in ALPHAS)
            ),
        )

        def limit(design):
            C, d = correlations(design), design.X.shape[1]
            float_C = design.X.T @ design.X / design.N
            for S in (members(mask) for mask in range(1 << d)):
                rank = rank_power(C, S, 0)
                if package_rank(float_C, S, 0) != float(rank):
                    return False
                if len(S) and rank != np.linalg.matrix_rank(design.X[:, S].astype(float)):
                    return False
                if not abs(rank_power(C, S, fmpq(1, 10**6)) - rank) < arb(d) / 10**4:
                    return False
                if rank_power(C, S, 1) != len(S):
                    return False
            return True

        check.forall(unit_designs(max_d=4), limit)


@claim("SR-rank-definition", "Section 5.2", "exact, interval, float, proof", HOLDS, cases=400, ci_cases=10)
@mutants("rank_power", "rank_power_float", "package_rank", "package_gains")
def test_generalized_rank_increases(check):
    """f_gr(S) = Σ λ_i^α is non-negative, and monotonically increasing in S.

    Hypotheses: unit columns, 0 ≤ α ≤ 1

    Unchecked: α other than 0, 1/10, 1/2, 9/10, 1 (Lemma 13 covers them)

    Tolerance: balls of 128 bits; 1e-6 between floats and balls (zeros of the spectrum below 1e-9, others
    above 1e-8: their product is at least N^−rank)
    """
    with precisely():
        for _ in range(check.cases):
            d = int(check.rng.integers(2, 5))
            design = draw_design(check.rng, d)
            C = correlations(design)
            float_C = design.X.T @ design.X / design.N
            for alpha in (0, *ALPHAS, 1):
                values = table(lambda S, C=C, alpha=alpha: rank_power(C, S, alpha), d)
                power = real(fmpq(alpha))
                check.over(
                    range(1, 1 << d),
                    lambda S, values=values, float_C=float_C, power=power: (
                        not values[S] < 0
                        and abs(_real(values[S]) - rank_power_float(float_C, members(S), power)) <= 1e-6
                        and abs(_real(values[S]) - package_rank(float_C, members(S), power)) <= 1e-6
                        and all(
                            abs(_real(values[S | 1 << x] - values[S]) - gain) <= 2e-6
                            for x, gain in enumerate(package_gains(float_C, members(S), power))
                        )
                    ),
                )
                if alpha in (0, 1):
                    check.over([values], is_increasing)
                else:
                    for A, _, x in chains(d):
                        settle(check, values[A | x], values[A], f"{design}, {alpha}: {A} + {x}")


def _real(value):
    return float(value.mid()) if isinstance(value, arb) else real(value)


@claim("SR-rank-submodular", "proof of Theorem 15", "exact, interval, proof", HOLDS, cases=400, ci_cases=15)
@mutants("rank_power")
def test_generalized_rank_is_submodular(check):
    """f_gr is submodular.

    Hypotheses: 0 ≤ α ≤ 1; C positive semidefinite, not only with unit diagonal

    Unchecked: α other than 0, 1/10, 1/2, 9/10, 1 (Theorem 12 covers them)

    Tolerance: balls of 128 bits; overlapping ones would be undecided
    """
    with precisely():
        for _ in range(check.cases):
            d = int(check.rng.integers(2, 5))
            complex_C = check.rng.random() < 0.3
            C = draw_hermitian(check.rng, d) if complex_C else correlations(draw_design(check.rng, d))
            rows = [doubled(members(S), d) if complex_C else members(S) for S in range(1 << d)]
            for alpha in (0, 1):
                values = [rank_power(C, S, alpha) for S in rows]
                check.over([values], is_submodular)
                check.over(
                    [values], lambda v, C=C, rows=rows, a=alpha: v[-1] == (_trace(C) if a else C.rank())
                )
            strict = [(A, B, x) for A, B, x in chains(d) if A != B and not same_spectra(C, rows, A, B, x)]
            for alpha in ALPHAS:
                values = [rank_power(C, S, alpha) for S in rows]
                for A, B, x in strict:
                    settle(
                        check,
                        values[A | x] - values[A],
                        values[B | x] - values[B],
                        f"{C}, {alpha}: {A}, {B}, {x}",
                    )


def _trace(C):
    return sum((C[i, i] for i in range(C.nrows())), fmpq(0))


@claim("SR-theorem-15", "Theorem 15", "exact, interval, brute force, proof", HOLDS, cases=6000, ci_cases=60)
@mutants("sl.forward_regression", "forward_regression", "r_squared", "rank_power", "submodularity_ratio")
def test_greedy_with_the_generalized_rank(check):
    """FR on R² + νf_gr attains 1 − e^{−γ_{S̃,k}(R²)} of the optimum.

    Hypotheses: unit columns, 0 ≤ α ≤ 1, ν > 0

    Consequences: It needs Proposition 10 only for an increasing f, where that holds.

    Tolerance: none for the bound; 1e-9 for the value that is reported (see `reports`)
    """
    with precisely():
        half = [fmpq(0), fmpq(0), fmpq(1, 2), fmpq(1)]
        check.over([half], lambda R: submodularity_ratio(R, 0, 2) == fmpq(1, 2))

        def ratio(design, k, alpha, nu):
            d = design.X.shape[1]
            R = table(lambda S: r_squared(design.X, design.y, S), d)
            C = correlations(design)
            f = table(lambda S: nu * rank_power(C, S, alpha), d)
            known = (
                R[-1] == projected(design.X, design.y, range(d))
                and (alpha != 0 or f[-1] == nu * principal(C, range(d)).rank())
                and (alpha == 0 or not (f[1] < nu or f[1] > nu))
            )
            g = added(R, f)
            rank = sl.spectral.GeneralizedRank(float(alpha))
            found = sl.forward_regression(unit_columns(design), design.y, k, regularizer=rank, nu=float(nu))
            known = known and reports(found, g, k)
            for S in {mask_of(forward_regression(g, k)), mask_of(found.support.tolist())}:
                bound = (1 - (-arb(submodularity_ratio(R, S, k))).exp()) * optimum(g, k)
                settle(check, arb(g[S]) if known else arb(-1), bound, f"{design}, {k}, {alpha}, {nu}")
            return float((g[S] / bound).mid()) if bound > 0 else 100.0

        least = 100.0
        for _ in range(-(-check.cases // 20)):
            d = int(check.rng.integers(2, 6))
            k, nu = int(check.rng.integers(1, d + 1)), NUS[int(check.rng.integers(0, 4))]
            alpha = (0, 1, fmpq(1, 2))[int(check.rng.integers(0, 3))]
            start = draw_design(check.rng, d, SHAPES[1:])
            least = min(
                least, descend(check.rng, start, lambda X, k=k, a=alpha, nu=nu: ratio(X, k, a, nu), 20)
            )
        check.measured(f"FR attains at least {least:.3f} times the bound, in a search for violations")
