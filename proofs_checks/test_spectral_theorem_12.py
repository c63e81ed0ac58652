"""Theorem 12: traces of functions with an operator antitone derivative are submodular.

Source: *Selecting Diverse Features via Spectral Regularization*, Theorem 12, from Friedland and Gaubert. Let
f be continuous on an interval Γ with f' operator antitone on its interior, and let C be Hermitian with
spectrum in Γ. Then

    S ↦ tr f(C_S) = Σ f(λ_i(C_S))

is submodular. The sum is over the |S| eigenvalues of C_S, and is 0 for ∅. In print it is over i = 1, …, n.

Proof. By Löwner, with b, μ ≥ 0 and numbers s outside the interior of Γ, on either side of it,

    f'(t) = a − bt + ∫ (1/(t − s) + s/(1 + s²)) dμ(s).

The function 1/(t − s) is the derivative of log(t − s) for s below Γ, and of log(s − t) for s above. So tr
f(C_S) is a mixture, with positive weights, of these functions:

    |S|, tr C_S                                     modular
    −tr C_S² = −Σ |c_ij|²                           submodular term by term
    log det(C_S − sI), s below Γ                    submodular
    log det(sI − C_S), s above Γ                    submodular

The gain of x in the log-determinant of a positive definite matrix is the logarithm of a Schur complement,
which decreases as S grows. For s on the edge of Γ, and for singular C_S, the statement follows by continuity
of f. The rank (t⁰, which is not continuous at 0) is submodular as a matroid rank.

The check compares the gains of x at A and at B for all sets A ⊆ B and all x ∉ B. It is exact for log(δ + t)
and log(s − t), by products of determinants, and for −(t − 1)² and −t², also with indefinite C. For t^α and −t
log t it uses ball arithmetic with 128 bits. If the characteristic polynomials show that the two gains are
equal, the comparison is left out. It is not enough that the derivative is antitone as a scalar function: −t³
on [[1, ½, ½], [½, 1, −⅛], [½, −⅛, 1]] is a counterexample.
"""

from flint import arb, fmpq, fmpq_mat

from proofs_checks import spectral
from proofs_checks.maximization import settle
from proofs_checks.spectral import precisely, smoothed_det, trace_of
from sparselin.ledger import MISPRINT, claim, mutants

# on t ≥ 0, 0 at t = 0
FUNCTIONS = {
    "t^¼": lambda t: t ** arb(fmpq(1, 4)) if t > 0 else arb(0),
    "√t": lambda t: t.sqrt() if t > 0 else arb(0),
    "t^0.9": lambda t: t ** arb(fmpq(9, 10)) if t > 0 else arb(0),
    "−t log t": lambda t: -t * t.log() if t > 0 else arb(0),
}


def determinants(C, d, shift, sign):
    """Return det(shift·I + sign·C_S) for every set S of rows and columns of C."""
    signed = C * sign
    return [smoothed_det(signed, spectral.doubled(spectral.members(S), d), shift) for S in range(1 << d)]


def log_submodular(D):
    """Return whether log D is a submodular set function, where D is the table of the values D(S) > 0."""
    return min(D) > 0 and all(
        D[A | x] * D[B] >= D[B | x] * D[A] for A, B, x in spectral.chains((len(D) - 1).bit_length())
    )


def squares(C, d, centre):
    """Return −tr (C_S − centre·I)² for every set S, where C_S is the principal submatrix of C on S."""

    def value(S):
        M = spectral.principal(C, spectral.doubled(S, d))
        return -sum(
            ((M[i, j] - centre * (i == j)) ** 2 for i in range(2 * len(S)) for j in range(2 * len(S))),
            fmpq(0),
        )

    return [value(spectral.members(S)) for S in range(1 << d)]


@claim(
    "SR-theorem-12",
    "Theorem 12, from Friedland and Gaubert (2011)",
    "exact, interval, proof",
    MISPRINT,
    cases=400,
    ci_cases=15,
)
@mutants("smoothed_det", "squares", "trace_of")
@precisely()
def test_traces_are_submodular(check):
    """If f is continuous on an interval Γ, and f' is operator antitone on the interior of Γ, then

        S ↦ tr f(C_S) = Σ_{i≤n} f(λ_i(C_S))

    is submodular for every Hermitian C, n × n, with spectrum in Γ.

    Hypotheses: There are no further hypotheses. λ_i(C_S) are the eigenvalues of the principal submatrix C_S.

    Instead: The sum is over the |S| eigenvalues that C_S has; the printed n is a slip of notation.

    Consequences: The three regularizers of the paper are submodular. For −t³, whose derivative is antitone
    but not operator antitone, the statement fails.

    Unchecked: Functions other than log(δ + t), log(s − t), −(t − c)², t^α and −t log t are not checked; every
    function of the theorem is a mixture of these.

    Tolerance: Values are computed in ball arithmetic with 128 bits. A comparison of two overlapping balls
    would count as undecided.
    """
    check.refutes(
        len(spectral.eigenvalues(spectral.identity(2), [0])) == 1,
        "Γ = (0, ∞), f = log, C = I₂, S = {1}: C_S has one eigenvalue, the printed sum two terms; 0 ∉ Γ",
    )
    half = fmpq(1, 2)
    C = fmpq_mat(3, 3, [1, half, half, half, 1, fmpq(-1, 8), half, fmpq(-1, 8), 1])
    check.over([C], lambda C: not spectral.is_submodular([cubes(C, spectral.members(S)) for S in range(8)]))
    check.over(matrices(check), lambda value: exactly_submodular(*value))
    for _ in range(check.cases // 5):
        d = int(check.rng.integers(2, 4))
        C = spectral.draw_hermitian(check.rng, d)
        rows = [spectral.doubled(spectral.members(S), d) for S in range(1 << d)]
        for name, f in FUNCTIONS.items():
            values = [trace_of(f, C, S) for S in rows]
            if name == "√t":
                check.over([values], lambda values, C=C, d=d: squares_back(values, C, d))
            for A, B, x in spectral.strict_chains(C, rows):
                gains = [values[S | x] - values[S] for S in (A, B)]
                settle(check, *gains, f"{C}, {name}, {A}, {B}, {x}")


def cubes(C, S):
    """Return −tr C_S³, where C_S is the principal submatrix of C on S."""
    M = spectral.principal(C, S)
    return -sum(((M * M * M)[i, i] for i in range(len(S))), fmpq(0)) if S else fmpq(0)


def matrices(check):
    """Yield a positive semidefinite and an indefinite Hermitian matrix as real symmetric ones, and their
    size.
    """
    for _ in range(check.cases):
        d = int(check.rng.integers(2, 5))
        yield spectral.draw_hermitian(check.rng, d), spectral.draw_hermitian(check.rng, d, definite=False), d


def exactly_submodular(C, any_C, d):
    """Return whether S ↦ tr f(C_S) is submodular for several functions f, in exact arithmetic.

    C is positive semidefinite. For f(t) = log(δ + t) and log(s − t) only C is checked, for f(t) = −(t − c)²
    also the indefinite matrix `any_C`.
    """
    above = 1 + max(sum(abs(C[i, j]) for j in range(2 * d)) for i in range(2 * d))
    return (
        all(log_submodular(determinants(C, d, delta, 1)) for delta in (fmpq(1, 10), fmpq(1), fmpq(7)))
        and log_submodular(determinants(C, d, above, -1))
        and all(
            spectral.is_submodular(squares(M, d, c)) and squares(M, d, c)[1] == -2 * (M[0, 0] - c) ** 2
            for M in (C, any_C)
            for c in (0, 1, fmpq(-1, 2))
        )
    )


def squares_back(values, C, d):
    """Return whether the balls of tr √C_S are consistent with the matrix C.

    For a single column i the trace must be 2√c_ii, because each eigenvalue of C occurs twice in its real
    form. For all columns its square must be at least tr C.
    """
    return all(
        values[1 << i].overlaps(2 * arb(C[i, i]).sqrt())
        and not values[-1] ** 2 < sum(C[j, j] for j in range(2 * d))
        for i in range(d)
    )
