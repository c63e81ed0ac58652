"""Theorem 1.1: regularized linear Sequential Attention selects features as Orthogonal Matching Pursuit does.

Source: *Sequential Attention for Feature Selection*, Theorem 1.1 with Definition 3.1 and Algorithm 1 (ICLR
and NeurIPS submission, with the same number). In print: "For linear regression, regularized linear Sequential
Attention is equivalent to OMP", "without making any assumptions on the design matrix or response vector".

The paper gives no λ, neither in the theorem nor in Definition 3.1, and for some λ the theorem fails. The
objective (5), ‖X(s(w)∘θ) − y‖² + (λ/2)(‖w‖² + ‖θ_S̄‖²) with s(w) = 1 on the selected set S and w off S, has
the minimum of a LASSO, (4). If λ is far below the value 2λ* at which weights become nonzero, the largest
coefficient need not belong to a feature with the largest correlation, even if the columns have equal lengths.
For λ ≥ 2λ* all weights are zero. The sign of w_i is not determined either (`test_attention_linear.py`). Let
P_S^⊥ project off the selected columns, let T be the set of features with the largest |⟨X_i, P_S^⊥y⟩|, and
A(S) the set of features that enter the LASSO just below λ*. Let (λ₂, λ*) be the largest interval on which
exactly the features of A(S) are nonzero off S. For

    2λ₂ < λ < 2λ*,   λ* = ‖XᵀP_S^⊥y‖∞ > 0   (the factor 2 because (5) has no ½),

every minimiser has |w_i| = |θ_i| = √|β_i| off S, where β is a solution of (4) at λ/2. So argmax_{i∉S} |w_i| ∈
A(S) ⊆ T, and OMP could have picked this feature. Proof: docs/proofs/theorem_3_3.md.

The check covers every step of `sl.sequential_attention`, whatever was selected before, with T, A(S) and λ* in
rational arithmetic. It also minimises (5) once at other λ of the interval. If a minimisation ends before it
is certified (MAX_ITER), the case is undecided.
"""

import numpy as np
from flint import fmpq

import sparselin as sl
from proofs_checks.rational import is_solution, real, segment, step, vector
from proofs_checks.steps import show
from sparselin.ledger import CORRECTED, claim, mutants

# columns of length √5, c = (1, 1, 2); SOLUTION is that of (5) at λ = ¼, of (4) at ⅛
DESIGN = np.array([[2.0, 2.0, 1.0], [0.0, 1.0, 2.0], [1.0, 0.0, 0.0]]), np.array([0.0, 1.0, 1.0])
SOLUTION = [fmpq(5, 8), fmpq(-25, 24), fmpq(23, 24)]


def designs(rng, cases):
    """Yield designs with integer entries; half of them have two equal columns or two tied columns."""
    for _ in range(cases):
        n, d = int(rng.integers(2, 6)), int(rng.integers(2, 8))
        X, y = rng.integers(-2, 3, (n, d)).astype(float), rng.integers(-2, 3, n).astype(float)
        if rng.random() < 0.5:
            i, j = rng.choice(d, 2, replace=False)
            a, b = rng.choice(n, 2, replace=False)
            X[:, i] = rng.choice([-1, 1]) * X[:, j]
            if rng.random() < 0.7:  # z ⟂ y
                X[a, i] += y[b]
                X[b, i] -= y[a]
        yield X, y


def tally_path(check, X, y):
    """Check each feature that Sequential Attention selects, and return the number of steps with ties.

    The selected feature must have the largest weight. It must be among the features that enter the LASSO just
    below λ*, and these must be among the features with the largest correlation.
    """
    path, S, tied = sl.sequential_attention(X, y, min(4, X.shape[1]), rng=check.rng), [], 0
    check.undecided(path.status is sl.Status.MAX_ITER)
    for t, pick in enumerate(path.support.tolist()):
        found = segment(X, y, S)
        largest = int(np.argmax(np.where(np.isin(np.arange(X.shape[1]), S), -1, np.abs(path.weights[t]))))
        lam_star = real(found.step.lam_star)
        right = pick in found.active and largest == pick and set(found.active) <= set(found.step.tied)
        right = right and abs(path.lam_star[t] - lam_star) <= 1e-12 * lam_star
        check.tally(1, int(not right), f"{show(X, y, S)}: {pick}")
        tied += len(found.step.tied) > 1
        S.append(pick)
    ended = path.status in (sl.Status.EXACT_FIT, sl.Status.NO_CORRELATION, sl.Status.RANK_EXHAUSTED)
    check.tally(0, int(ended and step(X, y, S).lam_star != 0), "ended before λ* = 0")
    return tied


def tally_descent(check, X, y):
    """Check the first step by minimising the attention objective once, at a penalty at which the theorem
    holds.
    """
    entry = sl.first_entry(X, y)
    if entry.lam_star <= 0:
        return
    lam = entry.lam_star + (entry.window_lower - entry.lam_star) * check.rng.uniform(0.2, 0.8)
    found = sl.hadamard_descent(X, y, lam, rng=check.rng)
    if found.status is not sl.Status.COMPLETED:
        check.undecided()
        return
    wrong = int(np.argmax(np.abs(found.w))) not in segment(X, y).active
    check.tally(1, int(wrong), f"{show(X, y)}, λ = {2 * lam} in (5)")


@claim(
    "SA-theorem-1.1",
    "Theorem 1.1 (ICLR, NeurIPS submission); poster",
    "formal, proof, exact, float",
    CORRECTED,
    cases=10_000,
)
@mutants("sl.sequential_attention", "sl.hadamard_descent")
def test_every_pick_is_one_that_omp_could_make(check):
    """For linear regression, regularized linear Sequential Attention is equivalent to OMP: in each step it
    minimises (5) and takes the feature with the largest weight, which is an i that maximises |⟨X_i, P_S^⊥y⟩|.

    Hypotheses: X, y and S are arbitrary, and λ* = ‖XᵀP_S^⊥y‖∞ > 0. Objective (5) is ‖X(s(w)∘θ) − y‖² +
    (λ/2)(‖w‖² + ‖θ_S̄‖²) with s_i(w) = 1 on S and w_i off S. P_S^⊥ is the projection onto the orthogonal
    complement of the columns in S.

    Instead: The statement holds for λ ∈ (2λ₂, 2λ*) and the largest |w_i|: argmax |w_i| ∈ A(S) ⊆ T. Here T is
    the set of features with |⟨X_i, P_S^⊥y⟩| = λ*, and A(S) the set of features that enter the LASSO just
    below λ*. (λ₂, λ*) is the largest interval of penalties on which exactly the features of A(S) are nonzero
    off S. For smaller λ the statement can fail, even if the columns have equal lengths. For λ ≥ 2λ* all
    weights are zero.

    Consequences: With λ ∈ (2λ₂, 2λ*), the guarantees of OMP carry over. In a tie the two methods may differ,
    because A(S) may be a strict subset of T.

    Unchecked: The check minimises (5) only by the package's own descent. If the descent ends without a
    certificate, the case is undecided.

    Tolerance: T and A(S) are exact. The package's λ* may differ by a relative error of 1e-12.

    In Coq: theorem_1_1_holds, one step over real closed fields, for λ in (2λ₁, 2λ*) with an explicit λ₁
    """
    X, y = DESIGN
    largest = max(range(3), key=lambda i: abs(SOLUTION[i]))
    check.refutes(
        is_solution(X, y, (), vector(SOLUTION), fmpq(1, 8)) and step(X, y).tied == (2,) and largest == 1,
        "X = [[2, 2, 1], [0, 1, 2], [1, 0, 0]], y = (0, 1, 1), λ = ¼: T = {2}, and |w_i| = √|θ_i| is largest "
        "at 1",
    )
    several = 0
    for X, y in designs(check.rng, check.cases):
        several += tally_path(check, X, y)
        tally_descent(check, X, y)
    check.measured(
        f"{check.cases:,} designs; at {several:,} of their steps more than one feature has the largest "
        "correlation"
    )
