"""Theorem 3.3 (Theorem 1.2 in short): Sequential LASSO selects features as Orthogonal Matching Pursuit does.

Source: *Sequential Attention for Feature Selection*, Theorem 3.3, Theorem 1.2, and the paragraph on ties
after Theorem 3.3 (both versions). S is the set of the features selected so far, S̄ the set of the other
features, and P_S^⊥ the projection onto the orthogonal complement of the selected columns. In print, y and the
columns of X are unit vectors. (The paper writes "y ∈ R^d", a misprint for R^n.) At each step, Sequential
LASSO selects a feature i ∈ S̄ such that

    |⟨X_i, P_S^⊥y⟩| = ‖XᵀP_S^⊥y‖∞.

Proof, without unit columns and without Lemma 3.4: docs/proofs/theorem_3_3.md. In short, let r = P_S^⊥y, λ* =
‖Xᵀr‖∞, T the set of features that attain λ*, and p the residual of a solution β of the LASSO whose penalty is
λ‖β_S̄‖₁. Then p is the projection of r onto a convex set that contains (λ/λ*)r, so that p → r as λ → λ*. If
|⟨X_i, r⟩| < λ*, then |⟨X_i, p⟩| < λ for λ near λ*, and so β_i = 0. But β_S̄ ≠ 0: otherwise the residual would
be r, although ‖Xᵀr‖∞ = λ* > λ.

The checks are exact. A(S) is the set of features that are nonzero in some solution just below λ*. It is
computed by `proofs_checks.rational.segment`, which lists all vertices of the polytope of the solutions. The
KKT conditions of a LASSO solution with this active set are verified in rational arithmetic at three λ below
λ*, and ties are decided exactly. Steps with more than five tied columns are not checked.
"""

import itertools
import zlib

import numpy as np
from flint import fmpq
from hypothesis import assume

import sparselin as sl
from proofs_checks import BOTH
from proofs_checks.gaussian_sweep import sweep_gaussian
from proofs_checks.rational import HALF, columns, off, rational, segment, step
from proofs_checks.steps import selections, show, spread
from sparselin.ledger import CORRECTED, EMPIRICAL, HOLDS, MISPRINT, OPEN, claim, mutants
from sparselin.testing import integer_designs, tied_designs

MOST_TIED = 5
# columns of length 3, c = (3, 3, 3): OMP may take any; u* = (⅓, ⅓, 0), ⟨X_i, u*⟩ = (1, 1, 4/3), A = {0, 1}
TIED_X = np.array([[3.0, 0.0, 2.0], [0.0, 3.0, 2.0], [0.0, 0.0, 1.0]])
TIED_Y = np.array([1.0, 1.0, -1.0])


def selects_from_the_largest(X, y, S, active):
    """Return whether `active` is the right set of entering features, and has only features of largest
    correlation.

    The right set, found by listing all vertices, has the features that are nonzero in some LASSO solution
    just below λ*. The LASSO solutions are verified at three penalties. Return None if more than five features
    have the largest correlation.
    """
    at = step(X, y, S)
    if len(at.tied) > MOST_TIED:
        return None
    found = segment(X, y, S)
    for share in (HALF, fmpq(1, 50), fmpq(1, 2**30)):
        found.in_window(share)  # raises AssertionError unless the KKT conditions hold
    return tuple(active) == found.active and set(found.active) <= set(at.tied)


@claim(
    "SA-theorem-3.3",
    f"Theorem 3.3 {BOTH}; the theorem of the poster (informal)",
    "formal, proof, exact, brute force",
    MISPRINT,
    cases=10_000,
)
@mutants("sl.sequential_lasso")
def test_every_active_set_lies_within_the_largest_correlations(check):
    """For X ∈ ℝ^{n×d} and y ∈ ℝ^d, each step of Sequential LASSO selects a feature i ∈ S̄ such that

        |⟨X_i, P_S^⊥y⟩| = ‖XᵀP_S^⊥y‖∞.

    Hypotheses: S is the set of selected features, S̄ its complement, and P_S^⊥ the projection onto the
    orthogonal complement of the columns in S. The steps have λ*(S) = ‖XᵀP_S^⊥y‖∞ > 0; Algorithm 3 has no
    other steps. The columns and y have any norms. Ties, equal and dependent columns, and d > n are included.

    Instead: y ∈ ℝ^n, as in Algorithms 2 and 3. The printed ℝ^d is a slip of notation, and nothing else needs
    a correction.

    Consequences: The theorem is true although Lemma 3.4 is false; the docstring of the check's module proves
    it without the lemma. Theorem 1.2, corrected for ties, follows.

    Unchecked: Steps with more than five tied columns are not checked. The text of the poster has "some
    feature i ∈ S" in place of i ∉ S. It is not known whether the printed poster has this too.

    In Coq: theorem_3_3_holds, active_is_nonzero, some_feature_is_active
    """
    steps = tied = unfinished = 0
    X, y = np.ones((1, 2)), np.ones(2)
    check.refutes(X.T.shape[1] != y.size, "n = 1, d = 2: X ∈ ℝ^{1×2} has no product Xᵀy with y ∈ ℝ²")

    def along_the_path(design):
        nonlocal steps, tied, unfinished
        X, y = design
        assume((X.T @ y).any() and len(step(X, y).tied) <= MOST_TIED)
        path = sl.sequential_lasso(X, y, X.shape[1])
        for t, active in enumerate(path.active_sets):
            as_stated = selects_from_the_largest(X, y, tuple(path.support[:t]), active)
            if as_stated is None:
                unfinished += 1
                return True
            steps, tied = steps + 1, tied + (len(path.ties[t]) > 1)
            if not as_stated or path.support[t] not in active:
                return False
        # where it stopped, nothing could be selected
        return not step(X, y, tuple(path.support)).lam_star

    check.forall(integer_designs(5, 7) | tied_designs(5, 7), along_the_path)
    check.measured(
        f"{steps:,} steps enumerated, {tied:,} of them tied; {unfinished:,} paths left at too many ties"
    )


@claim(
    "SA-theorem-3.3-any-choice",
    'Theorem 3.3 with Algorithm 3\'s "select any i* ∈ A(S)"',
    "formal, exact, brute force",
    HOLDS,
)
@mutants("sl.first_entry")
def test_whichever_member_is_selected(check):
    """Theorem 3.3 holds for every choice of the next feature i* ∈ A(S) in each step: i* has the largest
    correlation |⟨X_i, P_S^⊥y⟩|.

    Hypotheses: Those of Theorem 3.3. A(S) is the set of features that are nonzero in some LASSO solution just
    below λ*(S) = ‖XᵀP_S^⊥y‖∞. The check follows all sequences of choices for three steps. P_S^⊥ is the
    projection onto the orthogonal complement of the columns in S.

    In Coq: step_is_active, every_run_is_of_omp
    """

    def on_every_branch(X, y):
        open_sets = {()}
        for _ in range(3):
            reached = set()
            for S in open_sets:
                if not step(X, y, S).lam_star:
                    continue
                active = sl.first_entry(X, y, forced=S).active
                as_stated = selects_from_the_largest(X, y, S, active)
                if as_stated is False:
                    return False
                if as_stated:
                    reached |= {tuple(sorted((*S, i))) for i in active}
            open_sets = reached
        return True

    check.forall(integer_designs(4, 5) | tied_designs(4, 5), spread(on_every_branch))


@claim("SA-theorem-3.3-floats", "Theorem 3.3", "float", HOLDS, cases=1_000_000, ci_cases=5_000)
@mutants("sweep_gaussian")
def test_a_million_designs(check):
    """Theorem 3.3 holds on Gaussian designs with unit columns, at every one of k steps: Sequential LASSO
    selects the feature that has the largest correlation with the residual.

    Hypotheses: X is 20 × 40, and k = 6. In each step the check takes two LASSO solutions β, one at the
    penalty λ* and one at a smaller penalty with the same active column. Both must satisfy the KKT conditions
    on all columns. The active column must be the one with the largest correlation.

    Tolerance: The tolerance is the rounding error of each correlation and coefficient, a multiple of n·eps.
    proofs_checks/sweep_kernel.py derives it.
    """
    result = sweep_gaussian(20, 40, 6, check.cases, check.seed % 2**31)
    if result.verified + result.violated + result.undecided != check.cases:
        raise AssertionError("designs were lost")
    check.undecided(result.undecided)
    check.tally(result.verified, result.violated, f"sweep_design(20, 40, {result.first_violated}, seed)")


@claim("SA-theorem-1.2", f"Theorem 1.2 {BOTH}", "formal, exact, brute force", CORRECTED)
@mutants("sl.first_entry", "sl.omp")
def test_the_same_choices(check):
    """For linear regression, Sequential LASSO is equivalent to OMP.

    Hypotheses: “Equivalent” is read as follows. If the features S are selected and λ*(S) = ‖XᵀP_S^⊥y‖∞ > 0,
    the two methods may select the same features next. P_S^⊥ is the projection onto the orthogonal complement
    of the columns in S.

    Instead: Every feature that Sequential LASSO may select, OMP may select too. The converse holds if only
    one column has the largest correlation. In a tie, Sequential LASSO selects from A(S), the features that
    are nonzero in some solution just below λ*(S), which may be a strict subset of the tied features.

    Consequences: Guarantees of OMP that hold however ties are broken are also guarantees of Sequential LASSO.

    In Coq: every_run_is_of_omp, runs_without_ties_agree
    """
    entry = sl.first_entry(TIED_X, TIED_Y)
    picks_last = sl.omp(TIED_X[:, ::-1], TIED_Y, 1).support[0] == 0  # column 2, listed first
    check.refutes(
        entry.active == (0, 1) and picks_last and step(TIED_X, TIED_Y).tied == (0, 1, 2),
        f"{show(TIED_X, TIED_Y)}: OMP may select any of the three columns (length 3), Sequential LASSO "
        "not the last",
    )

    def choices(X, y, S):
        at = step(X, y, S)
        if not at.lam_star:
            return not sl.first_entry(X, y, forced=S).active
        active = set(sl.first_entry(X, y, forced=S).active)
        by_omp = set(sl.omp(X, y, len(S) + 1, forced=S).ties[-1])
        exact = len(at.tied) > MOST_TIED or active == set(segment(X, y, S).active)
        return by_omp == set(at.tied) and exact and active <= by_omp and (active == by_omp or len(by_omp) > 1)

    check.forall(selections(), spread(choices))


def as_enumerated(X, y, smaller=False):
    """Return whether the package finds the right tied features and the right entering features, for S = ∅.

    The right sets come from the list of all vertices. If `smaller`, also require that some tied feature does
    not enter.
    """
    entry, found = sl.first_entry(X, y), segment(X, y)
    same = (entry.tied, entry.active) == (found.step.tied, found.active)
    return same and not (smaller and entry.active == entry.tied)


@claim("SA-ties-smaller", "paragraph after Theorem 3.3", "exact, brute force", HOLDS, cases=1, ci_cases=1)
@mutants("sl.first_entry")
def test_the_set_can_be_strictly_smaller(check):
    """If several features attain ‖XᵀP_S^⊥y‖∞, Sequential LASSO may choose the next feature from a
    strictly smaller set than OMP.

    Hypotheses: The statement is about existence, so one design suffices. The check takes X = [[3, 0, 2], [0,
    3, 2], [0, 0, 1]], y = (1, 1, −1), S = ∅. For y = (1, 1, 1), it also takes all pairs and all independent
    triples of integer columns of length 3 with equal ⟨X_i, y⟩ > 0. P_S^⊥ is the projection onto the
    orthogonal complement of the columns in S.
    """
    check.over([(TIED_X, TIED_Y)], lambda design: as_enumerated(*design, smaller=True))
    # two tied columns of equal length are both active, v ∝ (1, 1); of three, one may be inactive
    y = np.ones(3)
    whole = [c for c in itertools.product(range(-3, 4), repeat=3) if sum(a * a for a in c) == 9]
    pairs, tied = ([np.array(c, float).T for c in itertools.combinations(whole, m)] for m in (2, 3))
    pairs, tied = ([X for X in Xs if np.ptp(y @ X) == 0 < (y @ X).min()] for Xs in (pairs, tied))
    tied = [X for X in tied if np.linalg.det(X)]
    check.over(tied, lambda X: as_enumerated(X, y))
    check.over(pairs, lambda X: sl.first_entry(X, y).active == (0, 1))
    strict = sum(as_enumerated(X, y, smaller=True) for X in tied)
    check.measured(
        f"y = (1, 1, 1): of {len(tied)} triples of independent tied integer columns of length 3, "
        f"{strict} have A(S) ≠ T; of {len(pairs)} pairs, none"
    )


def noise_for(X, y):
    """Return a random generator whose seed depends only on the design (X, y)."""
    return np.random.default_rng(zlib.crc32(X.tobytes() + y.tobytes()))


@claim("SA-ties-noise", "paragraph after Theorem 3.3", "exact", CORRECTED, cases=500)
@mutants("sl.omp", "sl.sequential_lasso")
def test_noise_breaks_ties(check):
    """If random continuous noise is added to the data, then with probability 1 only one feature can be
    selected at each step. Then Sequential LASSO and OMP select exactly the same set of features.

    Hypotheses: Gaussian noise in float64 is added to small integer designs. In the first three steps the
    check decides exactly whether only one feature attains ‖XᵀP_S^⊥y‖∞. The selections are compared in all
    steps.

    Instead: This holds if noise is added to X (or to X and y) and y ≠ 0. Noise only in y does not break the
    ties between columns with P_S^⊥X_i = ±P_S^⊥X_j, where P_S^⊥ projects off the selected columns. It breaks
    all other ties.

    Unchecked: The number of tied features in later steps is not checked, nor is noise only in X.
    """
    twins = np.array([[1.0, -1.0], [2.0, -2.0]])
    noisy = step(twins, check.rng.standard_normal(2)).tied
    check.refutes(noisy == (0, 1), "X = [[1, −1], [2, −2]]: |⟨X_1, y⟩| = |⟨X_2, y⟩| for every y")

    def one_by_one(X, y):
        noise = noise_for(X, y)
        X = X + noise.standard_normal(X.shape)
        noisy_y = y + noise.standard_normal(y.shape)
        k = min(X.shape)
        ours, theirs = sl.sequential_lasso(X, noisy_y, k), sl.omp(X, noisy_y, k)
        single = all(len(step(X, noisy_y, tuple(theirs.support[:t])).tied) == 1 for t in range(min(k, 3)))
        return single and tuple(ours.support) == tuple(theirs.support)

    def only_equal_columns_stay_tied(X, y, S):
        at = step(X, y + noise_for(X, y).standard_normal(y.shape), S)
        Z = [off(rational(X), S, columns(rational(X), [i])) for i in at.tied]
        return all(Z[0] in (z, -z) for z in Z)

    check.forall(integer_designs(4, 5), spread(one_by_one))
    check.forall(selections(max_n=4, max_d=5), spread(only_equal_columns_stay_tied))


@claim(
    "SA-ties-rare",
    'paragraph after Theorem 3.3: "in practice, however, this rarely happens"',
    "float",
    EMPIRICAL,
    ci_cases=60,
)
@mutants("sl.sequential_lasso")
def test_how_often_features_tie(check):
    """In practice it rarely happens that several features attain the largest correlation ‖XᵀP_S^⊥y‖∞ with the
    residual P_S^⊥y.

    Hypotheses: n = 20, d = 40, k = 6. The entries of X are Gaussian, ±1, or 0 and 1; in the third case y has
    the entries 0 and 1 too.

    Tolerance: Features are tied if their correlations agree to rounding, as in sl.sequential_lasso.
    """
    draws = {
        "Gaussian": lambda: (check.rng.standard_normal((20, 40)), check.rng.standard_normal(20)),
        "±1": lambda: (check.rng.choice([-1.0, 1.0], (20, 40)), check.rng.choice([-1.0, 1.0], 20)),
        "0/1": lambda: (check.rng.integers(0, 2, (20, 40)) * 1.0, check.rng.integers(0, 2, 20) * 1.0),
    }
    for name, draw in draws.items():
        steps = tied = smaller = 0
        for _ in range(check.cases):
            X, y = draw()
            path = sl.sequential_lasso(X, y, 6)
            c = np.abs(X.T @ y)  # exact but for the Gaussian entries
            if set(path.ties[0]) != set(np.flatnonzero(c >= c.max() * (1 - 1e-14))):
                raise AssertionError("the first step's ties are wrong")
            for ties, active in zip(path.ties, path.active_sets, strict=True):
                if not set(active) <= set(ties):
                    raise AssertionError("an active column is not tied")
                steps, tied = steps + 1, tied + (len(ties) > 1)
                smaller += len(active) < len(ties)
        check.tally(steps)
        check.measured(
            f"{name}: {100 * tied / steps:.1f} % of {steps:,} steps tied, {100 * smaller / steps:.1f} % "
            "with A(S) smaller than T"
        )


@claim("SA-remark-3.3", "Remark 3.3 (ICLR), Remark 3.4 (NeurIPS submission)", "proof", OPEN)
def test_the_citation(check):
    """Luo and Chen (2014) showed that Sequential LASSO is equivalent to OMP when y = Xβ* + ε with β*
    sparse and ε ~ N(0, σI_n). Their regime has d exponential in n.

    Hypotheses: Luo and Chen state hypotheses of their own, which the paper repeats only in part.

    Unchecked: The cited result is asymptotic and is not checked. It is not needed: by Theorem 3.3, every
    feature that Sequential LASSO may select is one that OMP may select, for every design and response.
    """
