"""Sentences of Sequential Attention on its variables, on the poster and on OMP for networks.

Source: *Sequential Attention for Feature Selection*, Section 4.1 and Appendix B.2.2 (ICLR and NeurIPS
submission, in the same words), and the poster: its last remark.

Idea: ‖β‖₁ is the Lovász extension of the cardinality, at |β|. The squared loss is quadratic in a coefficient
and in an entry of X, so that (f(1) − f(−1))/2 is its derivative at 0, exactly.
"""

from fractions import Fraction

import numpy as np

from proofs_checks.rational import columns, fraction, least_squares, rational, step
from proofs_checks.steps import selections
from proofs_checks.test_attention_linear import entries, exact, masked_loss
from proofs_checks.test_attention_marginal_gains import outside
from sparselin.ledger import CORRECTED, HOLDS, claim, mutants


def softmax_mask(e, S):
    """(1) at e = exp(w): 1 on S, e_i/Σ_S̄ e_j off S."""
    free = sum(a for i, a in enumerate(e) if i not in S)
    return [Fraction(1) if i in S else a / free for i, a in enumerate(e)]


def some_exponentials(rng):
    """exp(w) > 0, in fractions, and S, a proper subset of the features."""
    d = int(rng.integers(1, 7))
    e = [Fraction(int(a), int(b)) for a, b in rng.integers(1, 9, (d, 2))]
    return e, set(rng.permutation(d)[: int(rng.integers(0, d))].tolist())


@claim("SA-section-4.1-variables", "Section 4.1 (ICLR, NeurIPS submission)", "proof, exact", HOLDS)
@mutants("softmax_mask")
def test_variables_that_are_added(check):
    """Sequential Attention only adds d trainable variables, w ∈ ℝᵈ.

    Hypotheses: the softmax of (1)

    Consequences: The mask depends on |S̄| − 1 of these only, one-to-one: the differences of the w_i, i ∉ S.
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


def chain(beta):
    """(weight, vertex): β as Σ (t_k − t_{k+1})·(signs of the k largest |β_i|), t_k the k-th largest |β_i|."""
    order = sorted(range(len(beta)), key=lambda i: -abs(beta[i]))
    heights = [abs(beta[i]) for i in order] + [0]
    kept = [np.isin(range(len(beta)), order[: k + 1]) for k in range(len(beta))]
    return [(heights[k] - heights[k + 1], np.where(kept[k], np.sign(beta), 0)) for k in range(len(beta))]


@claim("SA-poster-submodularity", "poster, Remarks", "proof, exact", CORRECTED)
@mutants("chain")
def test_an_older_connection(check):
    """No connection between the LASSO and submodularity was known before.

    Reading of: “Our result gives the first connection between LASSO and submodularity”

    Hypotheses: what was published up to 2022

    Instead: Between Sequential LASSO and the weak submodularity of R² (Das and Kempe 2011), through OMP, we
    know of no earlier one. Another is older: ‖β‖₁ is the Lovász extension of the cardinality, at |β|,

        ‖β‖₁ = Σ_k (t_k − t_{k+1})·k, t_k the k-th largest |β_i|,

    and so the convex envelope of ‖β‖₀ for ‖β‖_∞ ≤ 1; likewise for every nondecreasing submodular F of the
    support, F(∅) = 0 (F. Bach, *Structured sparsity-inducing norms through submodular functions*, NIPS 2010;
    the cardinality itself is modular, the paper is on the general case).

    Unchecked: priority otherwise
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
    """f'(0) of a quadratic f, exactly."""
    return (f(1) - f(-1)) / Fraction(2)


def by_coefficient(X, y, theta):
    """∂/∂θ_i ‖Xθ − y‖², i ∈ [d]."""
    units = np.eye(len(theta), dtype=int)
    return [slope(lambda t, e=e: masked_loss(X, y, 1, theta + t * e)) for e in units]


def by_input(X, y, theta):
    """∂/∂X_ri ‖Xθ − y‖², r ∈ [n], i ∈ [d]."""
    found = np.empty(X.shape, dtype=object)
    for r, i in np.ndindex(X.shape):
        unit = np.zeros(X.shape, dtype=int)
        unit[r, i] = 1
        found[r, i] = slope(lambda t, unit=unit: masked_loss(X + t * unit, y, 1, theta))
    return found


def minimiser_on(X, y, S):
    """X_S⁺y on S, 0 off S."""
    theta = exact(np.zeros(X.shape[1]))
    theta[list(S)] = entries(least_squares(columns(rational(X), S), rational(y)))
    return theta


@claim(
    "SA-B.2.2-gradient",
    "Appendix B.2.2 (ICLR, NeurIPS submission)",
    "proof, exact",
    CORRECTED,
    cases=600,
    ci_cases=40,
)
@mutants("by_coefficient", "by_input")
def test_gradients_as_scores(check):
    """The feature that OMP picks has the largest gradient of the model with respect to its inputs, at the
    minimiser on S.

    Reading of: “OMP naturally generalizes to generalized linear models (GLMs) via the gradient of the link
    function”, “we use the gradient of this GLM with respect to the inputs as the feature importance scores”

    Hypotheses: the case that is to be generalised, Xθ with the squared loss; θ = X_S⁺y on S, 0 off S

    Instead: With respect to the coefficients of the inputs,

        ∂/∂θ_i ‖Xθ − y‖² = −2⟨X_i, P_S^⊥y⟩

    (for a GLM with mean μ and canonical link, −⟨X_i, y − μ(Xθ)⟩): the gradient of the log-likelihood, not of
    the link function. With respect to the entries of X it is −2(y − Xθ)θᵀ, zero for every i ∉ S.

    Consequences: None for the experiments: the published code (sequential_attention of google-research,
    models/mlp_omp.py) takes the norms of the gradient in the rows of the first layer, all features unmasked.

    Unchecked: networks
    """
    design, zero = tuple(map(exact, (np.eye(2), np.array([1.0, 0.0])))), exact(np.zeros(2))
    check.refutes(
        not by_input(*design, zero).any() and by_coefficient(*design, zero) == [-2, 0],
        "X = I₂, y = (1, 0), S = ∅, θ = 0: the gradient in X is 0, that in θ is (−2, 0)",
    )

    def in_the_coefficients(selection):
        X, y, S = selection
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

    check.forall(selections(max_n=4, max_d=4), in_the_coefficients)
