"""Theorem 1.1: regularized linear Sequential Attention selects features as OMP does.

Source: *Sequential Attention for Feature Selection*, Theorem 1.1 with Definition 3.1 and Algorithm 1 (ICLR
and NeurIPS submission, with the same number). In print: "For linear regression, regularized linear Sequential
Attention is equivalent to OMP", "without making any assumptions on the design matrix or response vector".

No λ is given, neither there nor in Definition 3.1, and for some λ it fails: (5) is a LASSO, whose largest
coefficient far below λ* need not be at a feature of largest correlation, even with columns of equal length;
for λ ≥ 2λ* all weights are zero. Nor is the sign of w_i determined (`test_attention_linear.py`). For

    2λ₂ < λ < 2λ*,   λ* = ‖XᵀP_S^⊥y‖∞ > 0   (the factor 2 because (5) has no ½),

at every minimiser |w_i| = |θ_i| = √|β_i| off S, β being a solution of (4) at λ/2; so argmax_{i∉S} |w_i| ∈
A(S) ⊆ T, and OMP could have picked it. Proof: docs/proofs/theorem_3_3.md.

Checked on every step of `sl.sequential_attention`, whatever was selected before, with T, A(S) and λ* in
rational arithmetic; and by single descents elsewhere in the window. A training that comes to no decision
(MAX_ITER) is counted as undecided.
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
    """Yield integer designs, half of them with a planted copy or a planted tie."""
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
    """Check that each pick is the feature of largest weight and in A(S) ⊆ T, and return the number of
    tied steps."""
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
    """Check the first step, by one descent at a λ drawn from the window."""
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
    ci_cases=25,
)
@mutants("sl.sequential_attention", "sl.hadamard_descent")
def test_every_pick_is_one_that_omp_could_make(check):
    """For linear regression, regularized linear Sequential Attention is equivalent to OMP: in each step it
    minimises (5) and takes the feature of largest weight, an i that maximises |⟨X_i, P_S^⊥y⟩|.

    Hypotheses: any X, y, S; λ* > 0

    Instead: This holds for λ in the window (2λ₂, 2λ*) of (5) and the largest |w_i|: argmax |w_i| ∈ A(S) ⊆
    T. For smaller λ it can fail, even with columns of equal length; for λ ≥ 2λ* all weights are zero.

    Consequences: With that λ the guarantees of OMP carry over. With ties the two may differ, because A(S)
    ⊂ T may be strict.

    Unchecked: that any other method finds a minimiser of (5); a descent without certificate is undecided

    Tolerance: none for T, A(S); λ* of the path to 1e-12

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
