"""Definition B.1 and the sentence on gradients: marginal gains, and the correlations that OMP compares.

Source: *Sequential Attention for Feature Selection*, Definition B.1 and Section 1, "Towards understanding
attention" (ICLR and NeurIPS submission, with the same numbers). In print: ℓ : 2^[d] → ℝ, "for a set S ⊆ [n]
and i ∉ S, the marginal gain of i with respect to S is ℓ(S) − ℓ(S ∪ {i})"; and "for any subset of features,
the gradient of the least squares loss at its sparse minimizer approximates the marginal gains up to a factor
that depends on the sparse condition numbers of the design matrix".

Let ℓ(S) = min ‖X_Sβ − y‖², c = XᵀP_S^⊥y and ρ_i = ‖P_S^⊥X_i‖. The marginal gain of i is c_i²/ρ_i², or 0 if
ρ_i = 0. The gradient of the loss at the minimiser on S is −2c. So the *square* of the gradient approximates
the gains, not the gradient itself. If the columns have length 1 and C is their Gram matrix, 1/ρ_i² is a
diagonal entry of the inverse of C_{S∪i}, and therefore

    λ_min(C_{S∪i}) ≤ ρ_i² ≤ 1,   c_i² ≤ gain_i = c_i²/ρ_i² ≤ c_i²/λ_min(C_{S∪i}).

The gradient is linear in y, while the gain is quadratic in y. Therefore no factor that depends only on the
design can relate the two.
"""

import numpy as np
from flint import fmpq

import sparselin as sl
from proofs_checks.rational import columns, inner, off, rational, real, step
from proofs_checks.steps import outside, selections, spread
from sparselin.ledger import CORRECTED, MISPRINT, claim, mutants


def loss(X, y, S):
    """Return ℓ(S) = min ‖X_Sβ − y‖², exactly."""
    r = off(rational(X), list(S), rational(y))
    return inner(r, r)


def marginal_gain(X, y, S, i):
    """Return ℓ(S) − ℓ(S ∪ {i}), exactly."""
    if i in S or not 0 <= i < X.shape[1]:
        raise ValueError(f"i must be a feature outside S; got {i}")
    return loss(X, y, S) - loss(X, y, [*S, i])


def by_projection(X, y, S, i):
    """Return ⟨X_i, P_S^⊥y⟩²/‖P_S^⊥X_i‖², or 0 if X_i lies in the span of S."""
    z = off(rational(X), list(S), columns(rational(X), [i]))
    return step(X, y, S).correlation[i] ** 2 / inner(z, z) if inner(z, z) != 0 else fmpq(0)


@claim("SA-definition-B.1", "Definition B.1 (ICLR, NeurIPS submission)", "proof, exact", MISPRINT, cases=1500)
@mutants("marginal_gain", "sl.ols")
def test_gains_of_least_squares(check):
    """For ℓ : 2^[d] → ℝ, a set S ⊆ [n] and i ∉ S, the marginal gain of i with respect to S is ℓ(S) − ℓ(S ∪
    {i}).

    Hypotheses: ℓ(S) = min ‖X_Sβ − y‖² is the loss of least squares, and X has n rows and d columns.

    Instead: S ⊆ [d], i ∈ [d] ∖ S. For least squares the gain is ⟨X_i, P_S^⊥y⟩²/‖P_S^⊥X_i‖² ≥ 0, or 0 if X_i
    lies in the span of S.

    Consequences: No other statement is affected. The misprint is the same in both versions and on the poster.
    """
    X, y = np.array([[1.0, 1.0]]), np.array([1.0])
    n, d = map(range, X.shape)
    check.refutes(
        1 in d and 1 not in n and marginal_gain(X, y, (1,), 0) == 0 and 2 in range(3) and 2 not in d,
        "n = 1, d = 2: S = {2} ⊆ [d] is not in [n], and greedy selection meets it; n = 3, d = 2: S = {3} ⊆ "
        "[n] has no loss",
    )

    def as_derived(X, y, S):
        gains = {i: marginal_gain(X, y, S, i) for i in outside(X, S)}
        best, picks = max(gains.values()), sl.ols(X, y, len(S) + 1, forced=S).support[len(S) :].tolist()
        return all(gain == by_projection(X, y, S, i) >= 0 for i, gain in gains.items()) and (
            (len(picks) == 1 and gains[picks[0]] >= best * (1 - fmpq(1, 10**12))) if best else not picks
        )

    check.forall(selections(), spread(as_derived))


@claim(
    "SA-section-1-marginal-gains",
    "Section 1, “Towards understanding attention” (ICLR, NeurIPS submission)",
    "proof, exact, float",
    CORRECTED,
    cases=1500,
)
@mutants("marginal_gain", "loss")
def test_squared_gradients(check):
    """For any set of features the gradient of the least squares loss at the set's sparse minimiser
    approximates the marginal gains up to a factor. This factor depends on the sparse condition numbers of
    the design.

    Hypotheses: The columns have length 1, and the columns of S are linearly independent.

    Instead: The square of the gradient approximates the gains in this sense: ¼(∇_i)² = c_i² ≤ gain_i ≤
    c_i²/λ_min(C_{S∪i}). Here ∇ is the gradient, gain_i the marginal gain of feature i, C the Gram matrix of
    the columns scaled to length 1, and c the vector of the correlations of these columns with P_S^⊥y.

    Consequences: Results on weak submodularity are not affected, because they use c_i².

    Tolerance: The eigenvalues of correlation matrices, of at most four columns, have a relative tolerance of
    1e-10.
    """
    X, y = np.eye(2), np.array([3.0, 4.0])
    check.refutes(
        [-2 * c for c in step(X, y).correlation] == [-6, -8]
        and [marginal_gain(X, y, (), i) for i in range(2)] == [9, 16],
        "X = I₂, all condition numbers 1, y = (3, 4): |gradients| 6, 8, gains 9, 16; no one factor relates "
        "them",
    )

    def within_the_factor(X, y, S):
        c = step(X, y, S).correlation
        for i in outside(X, S):
            A = columns(rational(X), [*S, i])
            if A.rank() < A.ncols():
                continue
            correlation = c[i] ** 2 / inner(columns(A, [len(S)]), columns(A, [len(S)]))
            unit = X[:, [*S, i]] / np.linalg.norm(X[:, [*S, i]], axis=0)
            gain, least = marginal_gain(X, y, S, i), float(np.linalg.eigvalsh(unit.T @ unit)[0])
            if not (correlation <= gain and real(gain) * least <= real(correlation) * (1 + 1e-10)):
                return False
        return True

    check.forall(selections(), spread(within_the_factor))
