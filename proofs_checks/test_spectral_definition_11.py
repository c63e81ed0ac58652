"""Definition 11: operator antitone functions, and the functions of this kind that the paper uses.

Source: *Selecting Diverse Features via Spectral Regularization*, Definition 11 and the proofs of Theorems 14,
15 and 16. A function h is operator antitone on Γ if, for Hermitian A, B of every size,

    A ⪯ B  ⟹  h(B) ⪯ h(A)

The spectra of A and B must be in Γ, which the definition in print does not say. The paper claims that the
derivatives of three functions are operator antitone on (0, ∞):

    log(δ + t):     1/(δ + t)       "taking inverses"
    t^α:            αt^{α−1}        "well known"; on t > 0, not "t ∈ R"
    −(t − 1)²:      −2(t − 1)       by definition.

Proof. 0 ≺ A ⪯ B gives B^{−1/2}AB^{−1/2} ⪯ I, therefore B^{1/2}A⁻¹B^{1/2} ⪰ I, and so B⁻¹ ⪯ A⁻¹. The function
t^{α−1} is the inverse of t^{1−α}, which is operator monotone by Löwner. It is not enough that h is antitone
as a scalar function. For example, t⁻² is not operator antitone, and for this reason Theorem 12 does not apply
to −Σ 1/λ_i (ledger id SR-inverse-trace).

The checks are exact. For 1/(δ + t) they take rational A ⪯ B. For t^{−1/m}, that is α = 1 − 1/m with m = 2, 3,
they take pairs A = P^m ⪯ B = Q^m with rational P and Q. Positive semidefiniteness is decided by the signs of
the characteristic polynomial. The matrices are the real symmetric forms of Hermitian ones.
"""

from flint import fmpq, fmpq_mat

from proofs_checks.spectral import draw_hermitian, identity, is_psd
from sparselin.ledger import HOLDS, claim, mutants


def inverse(A, delta):
    """Return the inverse of δI + A."""
    return (A + delta * identity(A.nrows())).inv()


def ordered_pairs(check):
    """Yield Hermitian matrices A and B with 0 ≺ A ⪯ B, as real symmetric matrices, and a number δ ≥ 0."""
    for _ in range(check.cases):
        d = int(check.rng.integers(1, 4))
        A = draw_hermitian(check.rng, d) + fmpq(1, int(check.rng.integers(1, 9))) * identity(2 * d)
        delta = fmpq(int(check.rng.integers(0, 30)), 10)
        yield A, A + draw_hermitian(check.rng, d), delta


def ordered_powers(check):
    """Yield positive definite matrices P and Q with P^m ⪯ Q^m, where m is 2 or 3."""
    found = 0
    while found < check.cases // 3:
        d, m = int(check.rng.integers(1, 3)), int(check.rng.integers(2, 4))
        P = draw_hermitian(check.rng, d) + identity(2 * d)
        Q = P + fmpq(1, 4) * draw_hermitian(check.rng, d) + fmpq(1, 4) * identity(2 * d)
        if is_psd(Q**m - P**m):
            found += 1
            yield P, Q


def falls(A, B, delta):
    """Return whether the functions h = 1/(δ + t) and h = −2(t − 1) satisfy h(B) ⪯ h(A).

    For the first function, h(A) ⪯ h(B) must be false, unless h(A) = h(B).
    """
    gap, I = inverse(A, delta) - inverse(B, delta), identity(A.nrows())
    right = inverse(A, delta) * (A + delta * I) == I
    return right and is_psd(gap) and is_psd(2 * (B - A)) and (gap == gap * 0 or not is_psd(-1 * gap))


@claim(
    "SR-definition-11",
    "Definition 11; proofs of Theorems 14, 15, 16",
    "exact, proof",
    HOLDS,
    cases=3000,
    ci_cases=150,
)
@mutants("inverse", "is_psd")
def test_operator_antitone_functions(check):
    """The functions 1/(δ + t) for δ > 0, αt^{α−1} for 0 ≤ α ≤ 1, and −2(t − 1) are operator antitone on (0,
    ∞).

    Hypotheses: 0 ≺ A ⪯ B are Hermitian. h is operator antitone if h(B) ⪯ h(A) for all these A and B.

    Consequences: t⁻² is not operator antitone. A = [[1, 1], [1, 2]], B = A + [[1, 0], [0, 0]] is a
    counterexample.

    Unchecked: t^{α−1} is checked only for α = ½ and ⅔. For other α it is Löwner's theorem.
    """
    A, B = fmpq_mat(2, 2, [1, 1, 1, 2]), fmpq_mat(2, 2, [2, 1, 1, 2])
    check.over([A], lambda A: is_psd(B - A) and not is_psd(A - B))
    check.over([A], lambda A: not is_psd((A * A).inv() - (B * B).inv()) and is_psd(A.inv() - B.inv()))
    check.over(ordered_pairs(check), lambda pair: is_psd(pair[1] - pair[0]) and falls(*pair))
    check.over(ordered_powers(check), lambda pair: is_psd(inverse(pair[0], 0) - inverse(pair[1], 0)))
