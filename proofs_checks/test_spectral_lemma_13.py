"""Lemma 13: traces of monotone non-negative functions increase with the set.

Source: *Selecting Diverse Features via Spectral Regularization*, Lemma 13 (the proof is in the supplement,
which was not available). Let f be monotone and non-negative on R (an interval that contains the spectrum of C
is enough), and C Hermitian. Then

    S ↦ tr f(C_S) = Σ f(λ_i(C_S))

is monotone. The sum is over the |S| eigenvalues of C_S. In print it is over i = 1, …, n. If the missing
eigenvalues are replaced by zeros, the statement is false.

Proof. By interlacing,

    λ_i(C_{S+x}) ≤ λ_i(C_S) ≤ λ_{i+1}(C_{S+x}).

If f increases, f(λ_i(C_S)) ≤ f(λ_{i+1}(C_{S+x})), and the remaining term f(λ_1(C_{S+x})) is ≥ 0. If f
decreases, f(λ_i(C_S)) ≤ f(λ_i(C_{S+x})), and the remaining last term is ≥ 0. In both cases tr f(C_S)
*increases* with S.

A monotone f ≥ 0 is a mixture of constants and steps 1{t > θ} or 1{t < θ}. So the lemma says that the numbers
of eigenvalues above θ and below θ increase with S. The checks count these exactly for integer matrices, also
indefinite ones. They use half-integers θ, which are no eigenvalues of such matrices.
"""

from flint import fmpq, fmpq_mat

from proofs_checks import spectral
from proofs_checks.spectral import precisely, rank_power
from sparselin.ledger import MISPRINT, claim, mutants


def count_above(values, threshold):
    """Return the number of eigenvalues, given as balls, that lie above a threshold."""
    return sum(1 for value in values if value > threshold)


@claim("SR-lemma-13", "Lemma 13", "exact, proof", MISPRINT, cases=1500, ci_cases=40)
@mutants("count_above", "rank_power")
@precisely()
def test_traces_of_monotone_functions_increase(check):
    """For monotone f ≥ 0 on ℝ and a Hermitian n × n matrix C, S ↦ tr f(C_S) = Σ_{i≤n} f(λ_i(C_S)) is
    monotone.

    Hypotheses: f is increasing or decreasing, and λ_i(C_S) are the eigenvalues of the principal submatrix
    C_S.

    Instead: The sum is over the |S| eigenvalues of C_S (the printed n is a slip of notation), and it
    increases with S. In place of ℝ, an interval that contains the spectrum of C suffices. This extension is
    needed, because the lemma is applied to t^α, which is not defined on all of ℝ.

    Unchecked: The proof in the paper's supplement was not available. The proof in test_spectral_lemma_13.py
    is ours.
    """
    C = fmpq_mat(2, 2, [1, 0, 0, -1])
    at = [spectral.eigenvalues(C, spectral.members(S)) for S in range(4)]
    padded = [sum(1 + (t > 0) - (t < 0) for t in values) + 2 - len(values) for values in at]
    check.refutes(
        padded[:3] == [2, 3, 1],
        "f = 1 + sign, n = 2, C = diag(1, −1), 0 for the eigenvalues that C_S has not: 2 at ∅, 3 at {1}, "
        "1 at {2}",
    )
    check.over(matrices(check), steps_increase)
    check.forall(spectral.unit_designs(max_d=4), rank_and_trace_increase, cases=max(20, check.cases // 5))


def matrices(check):
    """Yield integer Hermitian matrices, alternately indefinite and positive semidefinite, and their size."""
    for index in range(check.cases):
        d = int(check.rng.integers(1, 4))
        yield spectral.draw_hermitian(check.rng, d, definite=bool(index % 2)), d


def steps_increase(value):
    """Return whether the number of eigenvalues of C_S above θ, and the number below θ, increase with the set
    S.

    Several half-integers θ are taken. The Hermitian matrix C is given in its real form, in which each
    eigenvalue occurs twice.
    """
    C, d = value
    spectra = [spectral.eigenvalues(C, spectral.doubled(spectral.members(S), d)) for S in range(1 << d)]

    def increase(theta):
        above = [count_above(values, theta) for values in spectra]
        below = [sum(1 for value in values if value < theta) for values in spectra]
        all_counted = all(above[S] + below[S] == 2 * S.bit_count() for S in range(1 << d))
        return all_counted and spectral.is_increasing(above) and spectral.is_increasing(below)

    return all(increase(fmpq(twice, 2)) for twice in range(-9, 20, 4))


def rank_and_trace_increase(design):
    """Return whether the rank and the trace of C_S, the traces of t⁰ (with 0⁰ = 0) and of t, increase with
    the set S.
    """
    C, d = design.correlations, design.d
    rank, trace = (spectral.table(lambda S, alpha=alpha: rank_power(C, S, alpha), d) for alpha in (0, 1))
    return (
        spectral.is_increasing(rank)
        and spectral.is_increasing(trace)
        and trace[-1] == d
        and 1 <= rank[-1] <= d
    )
