"""Sentences of Sequential Attention on its variables, on the poster and on OMP for networks.

Source: *Sequential Attention for Feature Selection*, Section 4.1, Appendices B.2.2 and B.2.4 (ICLR and
NeurIPS submission, in the same words), and the poster. The poster's sentences are its list of prior
approaches (the abstract of both versions has nearly the same sentence) and its last remark.

Idea: ‖β‖₁ is the Lovász extension of the cardinality, evaluated at |β|. In each coordinate, the LASSO
thresholds the correlation of the column with the residual of all other columns. The squared loss is a
quadratic function f of each coefficient and of each entry of X. Therefore (f(1) − f(−1))/2 is exactly its
derivative at 0.
"""

from fractions import Fraction

import numpy as np
from flint import fmpq

import sparselin as sl
from proofs_checks import BOTH
from proofs_checks.rational import (
    columns,
    entries,
    exact,
    fraction,
    is_solution,
    least_squares,
    rational,
    real,
    step,
    vector,
)
from proofs_checks.steps import masked_loss, open_steps, outside, selections, spread
from sparselin.ledger import CORRECTED, FALSE, HOLDS, MISPRINT, claim, mutants


def softmax_mask(e, S):
    """Return the mask of equation (1) at e = exp(w): 1 on S, and e_i/Σ_S̄ e_j off S."""
    free = sum(a for i, a in enumerate(e) if i not in S)
    return [Fraction(1) if i in S else a / free for i, a in enumerate(e)]


def some_exponentials(rng):
    """Return exp(w) > 0 as fractions, and S, a proper subset of the features."""
    d = int(rng.integers(1, 7))
    e = [Fraction(int(a), int(b)) for a, b in rng.integers(1, 9, (d, 2))]
    return e, set(rng.permutation(d)[: int(rng.integers(0, d))].tolist())


@claim("SA-section-4.1-variables", f"Section 4.1 {BOTH}", "proof, exact", HOLDS)
@mutants("softmax_mask")
def test_variables_that_are_added(check):
    """Sequential Attention adds only d trainable variables, w ∈ ℝᵈ.

    Hypotheses: The mask is the softmax of equation (1), softmax_i(w, S̄) = exp(w_i)/Σ_{j ∉ S} exp(w_j).

    Consequences: The mask depends only on the differences of the w_i, i ∉ S. These differences are |S̄| − 1
    independent numbers, and the mask determines them.
    """

    def up_to_a_constant(_):
        e, S = some_exponentials(check.rng)
        mask, free = softmax_mask(e, S), [i for i in range(len(e)) if i not in S]
        moved = [a * (Fraction(7, 3) if i in free else 5) for i, a in enumerate(e)]
        other = [a * (2 if i == free[0] else 1) for i, a in enumerate(e)]
        back = [mask[i] / mask[free[0]] == e[i] / e[free[0]] for i in free]
        return (
            softmax_mask(moved, S) == mask
            and all(back)
            and sum(mask[i] for i in free) == 1
            and (softmax_mask(other, S) != mask) == (len(free) > 1)
        )

    check.over(range(check.cases), up_to_a_constant)


def part(t, k, steps):
    """Return the part, 0, …, k − 1, of the training that contains step t; a negative number in the
    warm-up."""
    return min((Fraction(t, steps) - Fraction(1, 10)) * k // Fraction(9, 10), k - 1)


def steps_of_picks(k, steps):
    """Return the steps at which the released code selects a feature.

    At such a step, the number of the part is at least the number of features selected so far.
    """
    found = []
    for t in range(steps):
        if part(t, k, steps) >= len(found):
            found.append(t)
    return found


@claim("SA-B.2.4-phases", f"Appendix B.2.4 {BOTH}", "exact", MISPRINT, cases=400)
@mutants("steps_of_picks", "part")
def test_warm_up_and_phases(check):
    """The training consists of a warm-up and k parts. In the warm-up, a small fraction of the training, only
    the network's weights are trained. In each of the k parts, one part is selected.

    Reading of: “partitioning the training epochs into k parts and selecting one part in each phase”, “a
    ‘warm-up’ period prior to the feature selection phase, in which a small fraction of the training epochs
    are allotted to training just the neural network weights”

    Hypotheses: The rule is that of the released code (sequential_attention.py). Its mask is 1 in the first
    tenth of the steps, so the attention weights have no gradient there. After this warm-up there are at least
    as many steps as parts.

    Instead: In each part one feature is selected, as Section 4.1 says. The released code selects this feature
    at the first step of the part.

    Consequences: The released code selects its first feature before the attention weights are trained, and
    the training in the last part serves no selection. docs/networks-findings.md has a switch that corrects
    each of these two defects.

    Unchecked: The code itself is not run. It needs TensorFlow, and it computes the number of the part in
    floating point.
    """
    picks = steps_of_picks(2, 20)
    check.refutes(
        picks == [2, 11] and [part(t, 2, 20) for t in (0, 1, 2, 10, 11, 19)] == [-1, -1, 0, 0, 1, 1],
        "k = 2, 20 steps: the parts are steps 2 to 10 and 11 to 19; features are selected at steps 2 and 11",
    )

    def one_in_each(_):
        k = int(check.rng.integers(1, 30))
        steps = int(check.rng.integers(-(-10 * k // 9), 400))
        starts = [-(-steps * (k + 9 * i) // (10 * k)) for i in range(k)]
        ends = [*starts[1:], steps]
        of_each = [{part(t, k, steps) for t in range(a, b)} for a, b in zip(starts, ends, strict=True)]
        warm_up = all(part(t, k, steps) < 0 for t in range(starts[0]))
        return steps_of_picks(k, steps) == starts and of_each == [{i} for i in range(k)] and warm_up

    check.over(range(check.cases), one_in_each)


def threshold_of_the_others(X, y, beta, lam):
    """Return soft(⟨X_i, y − Σ_{j≠i} β_jX_j⟩, λ) for each i, which equals β_i‖X_i‖² at a LASSO solution."""
    scores = X.T @ (y - X @ beta) + (X**2).sum(axis=0) * beta
    return np.sign(scores) * np.maximum(np.abs(scores) - lam, 0)


# columns of length 9 with the correlations 405, 333, 243; the second is nearly the first, or orthogonal to it
REDUNDANT = np.array([[9.0, 8.0, 0.0], [0.0, 4.0, 0.0], [0.0, -1.0, 9.0]]), np.array([45.0, 0.0, 27.0])
ORTHOGONAL = 9 * np.eye(3), np.array([45.0, 37.0, 27.0])


@claim(
    "SA-poster-l1",
    f"poster, Feature selection; the abstract {BOTH} says so of what is typical",
    "proof, exact, float",
    FALSE,
    cases=600,
)
@mutants("sl.lasso_path", "threshold_of_the_others")
def test_what_one_round_takes_into_account(check):
    """Selection by ℓ₁ regularization, in one round, ignores the residual values of features. Which features
    it selects depends only on λ, the lengths of the columns and their correlations ⟨X_i, y⟩.

    Reading of: “L1 regularization: selection occurs in one round, so it ignores residual/marginal values of
    features”, the residual value being “the marginal contribution of a feature given that other features have
    already been selected”

    Hypotheses: The problem is the LASSO, min ½‖y − Xβ‖² + λ‖β‖₁, with λ > 0.

    Instead: The LASSO judges each feature by the residual of all other features,

        β_i‖X_i‖² = soft(⟨X_i, y − Σ_{j≠i} β_jX_j⟩, λ),

    where soft(x, λ) = sign(x)·max(|x| − λ, 0). Therefore the LASSO can leave out a redundant feature. But the
    coefficients of the other features are shrunk, and λ is the same for all features. Greedy selection
    instead uses the least-squares residual P_S^⊥y, and a new λ in each step.

    Consequences: The claims about Sequential Attention itself are not affected.

    Tolerance: The solutions of the path have a tolerance of 1e-9 of ‖X_i‖‖y‖. The rounding error is about
    64·eps·κ, with a condition number κ ≤ 7e4 for integer designs of up to 5 × 6.
    """
    alike = [step(*design).correlation == [405, 333, 243] for design in (REDUNDANT, ORTHOGONAL)]
    lengths = [(design[0] ** 2).sum(axis=0).tolist() == [81] * 3 for design in (REDUNDANT, ORTHOGONAL)]
    betas = vector([fmpq(3), fmpq(0), fmpq(1)]), vector([fmpq(3), fmpq(19, 9), fmpq(1)])
    designs = zip((REDUNDANT, ORTHOGONAL), betas, strict=True)
    check.refutes(
        all(alike + lengths) and all(is_solution(*design, (), beta, fmpq(162)) for design, beta in designs),
        "X = [[9, 8, 0], [0, 4, 0], [0, −1, 9]], y = (45, 0, 27), and X = 9I₃, y = (45, 37, 27): columns of "
        "length 9 and correlations (405, 333, 243) in both; for λ = 162 β = (3, 0, 1) and (3, 19/9, 1)",
    )

    def by_the_others(X, y, _):
        lam = float(check.rng.uniform(0.05, 1)) * real(step(X, y).lam_star)
        beta, squares = sl.lasso_path(X, y, lam_min=lam).at(lam), (X**2).sum(axis=0)
        found = threshold_of_the_others(X, y, beta, lam)
        return (np.abs(found - beta * squares) <= 1e-9 * np.sqrt(squares) * np.linalg.norm(y)).all()

    check.forall(open_steps(max_selected=0), spread(by_the_others))


def chain(beta):
    """Return (weight, vertex) pairs whose sum of weight·vertex is β, from the sorted sizes |β_i|.

    With t_k the k-th largest |β_i|, the k-th weight is t_k − t_{k+1}. The k-th vertex has the signs of the k
    largest |β_i|, and zeros elsewhere.
    """
    order = sorted(range(len(beta)), key=lambda i: -abs(beta[i]))
    heights = [abs(beta[i]) for i in order] + [0]
    kept = [np.isin(range(len(beta)), order[: k + 1]) for k in range(len(beta))]
    return [(heights[k] - heights[k + 1], np.where(kept[k], np.sign(beta), 0)) for k in range(len(beta))]


@claim("SA-poster-submodularity", "poster, Remarks", "proof, exact", CORRECTED)
@mutants("chain")
def test_an_older_connection(check):
    """No connection between the LASSO and submodularity was known before.

    Reading of: “Our result gives the first connection between LASSO and submodularity”

    Hypotheses: The literature considered was published up to 2022.

    Instead: We know of no earlier connection between Sequential LASSO and the weak submodularity of R² (Das
    and Kempe 2011); the paper's connection goes through OMP. Another connection is older. With t_k the k-th
    largest |β_i|, ‖β‖₁ is the Lovász extension of the cardinality, evaluated at |β|,

        ‖β‖₁ = Σ_k (t_k − t_{k+1})·k.

    Therefore ‖β‖₁ is the convex envelope of ‖β‖₀ for ‖β‖_∞ ≤ 1. The same holds for every nondecreasing
    submodular function F of the support with F(∅) = 0 (F. Bach, *Structured sparsity-inducing norms through
    submodular functions*, NIPS 2010). The cardinality itself is modular; Bach's paper is about the general
    case.

    Unchecked: Other questions of priority are not checked.
    """
    beta = exact([1.0, -0.5, 0.25])
    check.refutes(
        sum(weight * np.count_nonzero(vertex) for weight, vertex in chain(beta)) == Fraction(7, 4),
        "Bach (2010): β = (1, −½, ¼), ‖β‖₁ = 7/4 = ½·1 + ¼·2 + ¼·3, the Lovász extension of |A| at |β|",
    )

    def extension_and_envelope(_):
        # β is a convex combination of 0 and vertices, so that no convex g(β) ≤ |supp β| is above ‖β‖₁
        beta = exact(check.rng.integers(-16, 17, int(check.rng.integers(1, 7))) / 16)
        weights, vertices = zip(*chain(beta), strict=True)
        return (
            min(weights) >= 0
            and sum(weights) <= 1
            and (sum(map(np.multiply, weights, vertices)) == beta).all()
            and sum(map(np.multiply, weights, map(np.count_nonzero, vertices))) == abs(beta).sum()
            and abs(beta).sum() <= np.count_nonzero(beta)
        )

    check.over(range(check.cases), extension_and_envelope)


def slope(f):
    """Return f'(0) of a quadratic f, exactly."""
    return (f(1) - f(-1)) / Fraction(2)


def by_coefficient(X, y, theta):
    """Return the derivatives ∂/∂θ_i ‖Xθ − y‖² for all i."""
    units = np.eye(len(theta), dtype=int)
    return [slope(lambda t, e=e: masked_loss(X, y, 1, theta + t * e)) for e in units]


def by_input(X, y, theta):
    """Return the derivatives ∂/∂X_ri ‖Xθ − y‖² for all rows r and columns i."""
    found = np.empty(X.shape, dtype=object)
    for r, i in np.ndindex(X.shape):
        unit = np.zeros(X.shape, dtype=int)
        unit[r, i] = 1
        found[r, i] = slope(lambda t, unit=unit: masked_loss(X + t * unit, y, 1, theta))
    return found


def minimiser_on(X, y, S):
    """Return θ with θ_S = X_S⁺y, and zeros off S."""
    theta = exact(np.zeros(X.shape[1]))
    theta[list(S)] = entries(least_squares(columns(rational(X), S), rational(y)))
    return theta


@claim("SA-B.2.2-gradient", f"Appendix B.2.2 {BOTH}", "proof, exact", CORRECTED, cases=600)
@mutants("by_coefficient", "by_input")
def test_gradients_as_scores(check):
    """The feature that OMP picks is the feature for which the gradient of the model with respect to its
    inputs, at the minimiser on S, is largest.

    Reading of: “OMP naturally generalizes to generalized linear models (GLMs) via the gradient of the link
    function”, “we use the gradient of this GLM with respect to the inputs as the feature importance scores”

    Hypotheses: The model is the linear model that is to be generalised: Xθ with the squared loss. The
    minimiser θ has θ_S = X_S⁺y and zeros off S.

    Instead: The gradient must be taken with respect to the coefficients of the inputs,

        ∂/∂θ_i ‖Xθ − y‖² = −2⟨X_i, P_S^⊥y⟩.

    For a generalized linear model with mean μ and canonical link, this derivative is −⟨X_i, y − μ(Xθ)⟩, the
    gradient of the negative log-likelihood, not of the link function. The gradient with respect to the
    entries of X is −2(y − Xθ)θᵀ, which is zero in every column i ∉ S.

    Consequences: The experiments are not affected. The published code (sequential_attention of
    google-research, models/mlp_omp.py) computes the gradient in the weights of the first layer, with all
    features unmasked, and takes the norm of each row.

    Unchecked: Networks are not checked.
    """
    design, zero = tuple(map(exact, (np.eye(2), np.array([1.0, 0.0])))), exact(np.zeros(2))
    check.refutes(
        not by_input(*design, zero).any() and by_coefficient(*design, zero) == [-2, 0],
        "X = I₂, y = (1, 0), S = ∅, θ = 0: the gradient in X is 0, that in θ is (−2, 0)",
    )

    def in_the_coefficients(X, y, S):
        A, b, theta = exact(X), exact(y), minimiser_on(X, y, S)
        scores, at, inputs = by_coefficient(A, b, theta), step(X, y, S), by_input(A, b, theta)
        largest = tuple(
            i for i in range(len(scores)) if scores[i] and abs(scores[i]) == max(map(abs, scores))
        )
        return (
            scores == [-2 * fraction(c) for c in at.correlation]
            and largest == at.tied
            and (inputs == np.outer(2 * (A @ theta - b), theta)).all()
            and not inputs[:, outside(X, S)].any()
        )

    check.forall(selections(max_n=4, max_d=4), spread(in_the_coefficients))
