"""Figure 1 and Section 6: what the experiments say, and the scale on which diversity is plotted.

Source: *Selecting Diverse Features via Spectral Regularization*, Section 6, Figure 1. The observations are
rows that stay open until they are reproduced. What can be decided: "the regularizer values for each k are
normalized by the maximum value possible for that k". Over sets of exactly k unit vectors the maximum is at
orthonormal sets (SR-diversity rows): k log₂(1 + δ) − 3k log₂ δ for f_de, k for f_gr, 9k² for f_sv, so that
the normalised values are at most 1; the least are at copies of one vector, where with c = log₂(1/δ) they
are [log₂(δ + k) + (2k + 1)c]/[k log₂(1 + δ) + 3kc] > 2c/(3c + log₂(1 + δ)) for δ < 1, log₂(1 + k)/k for δ =
1, k^{α−1}, and 1 − (k − 1)/(9k) > 8/9.

For δ = 0.1 the least is above 0.657. The axis of Figure 1(d) begins at 0.4: if it was fitted to the curves,
they are of f_de without, or with a smaller, constant. The axis of 1(e), from 0.93, agrees with f_sv as
defined.
"""

from flint import arb, fmpq, fmpq_mat

from proofs_checks.spectral import (
    SHAPES,
    correlations,
    draw_design,
    entropy,
    identity,
    log2,
    precisely,
    rank_power,
    variance,
)
from sparselin.ledger import Verdict, claim

LATER = "not reproduced yet: it takes MNIST and the protocol of the whole experiment"
NUMBER = "Section 6, Figure 1"
HALF, TENTH = fmpq(1, 2), fmpq(1, 10)


@claim(
    "SR-figure-1-scale",
    paper="SR",
    number="Section 6, Figure 1(c)-(f)",
    statement="Normalised by the largest value possible for k, the regularizers of k features are at most 1.",
    hypotheses="sets of exactly k unit vectors",
    method="interval, exact, proof",
    verdict=Verdict.HOLDS,
    consequences="With 3k log₂(1/δ) in f_de the values for δ = 0.1 are above 0.657, though the axis of "
    "Figure 1(d) begins at 0.4; "
    "for f_sv they are above 8/9.",
    unchecked="the curves themselves",
    tolerance="balls of 128 bits; at equality they overlap",
    mutants=("entropy", "rank_power", "variance"),
    cases=1500,
    ci_cases=60,
)
def test_scale_of_the_diversity_plots(check):
    with precisely():

        def largest(k):
            return [k * log2(2), k * log2(1 + TENTH) + 3 * k * log2(10), arb(9 * k * k), arb(k)]

        def values(C, k):
            S = range(k)
            return [
                entropy(C, S, fmpq(1), k),
                entropy(C, S, TENTH, k),
                arb(variance(C, S, k)),
                rank_power(C, S, HALF),
            ]

        def least(k):
            c = log2(10)
            return [log2(1 + k), log2(TENTH + k) + (2 * k + 1) * c, arb(8 * k * k + k), arb(k).sqrt()]

        def attained(k):
            top, bottom = values(identity(k), k), values(fmpq_mat(k, k, [1] * (k * k)), k)
            return (
                all(a.overlaps(b) for a, b in zip(top, largest(k), strict=True))
                and all(a.overlaps(b) for a, b in zip(bottom, least(k), strict=True))
                and least(k)[1] / largest(k)[1] > arb(fmpq(657, 1000))
                and least(k)[2] / largest(k)[2] > arb(fmpq(8, 9))
            )

        check.over(range(1, 12), attained)

        def between(value):
            C, k = value
            return all(
                not v > top and not v < bottom
                for v, top, bottom in zip(values(C, k), largest(k), least(k), strict=True)
            )

        draws = ((int(check.rng.integers(1, 6)), SHAPES) for _ in range(check.cases))
        check.over(((correlations(draw_design(check.rng, k, shapes)), k) for k, shapes in draws), between)


@claim(
    "SR-figure-1a",
    paper="SR",
    number=NUMBER + "(a)",
    statement="With the target perturbed, ‖α − α'‖ is largest for lasso and grows with k, smaller for "
    "greedy without regularizer, and "
    "much smaller and only mildly increasing for every regularizer.",
    hypotheses="1000 MNIST images, σ = 0.1, ν largest with R² at least lasso's",
    method="float",
    verdict=Verdict.OPEN,
    unchecked=LATER,
)
def test_error_when_the_target_is_perturbed(check):
    """Nothing is run."""


@claim(
    "SR-figure-1b",
    paper="SR",
    number=NUMBER + "(b)",
    statement="With the features perturbed, the order is the same: regularized below greedy below lasso.",
    hypotheses="1000 MNIST images, σ = 0.1, ν largest with R² at least lasso's",
    method="float",
    verdict=Verdict.OPEN,
    unchecked=LATER,
)
def test_error_when_the_features_are_perturbed(check):
    """Nothing is run."""


@claim(
    "SR-figure-1-diversity",
    paper="SR",
    number=NUMBER + "(c)-(f)",
    statement="By each of the four diversity values, the regularized selection is more diverse than "
    "lasso's and greedy's for every k.",
    hypotheses="1000 MNIST images, ν largest with R² at least lasso's",
    method="float",
    verdict=Verdict.OPEN,
    unchecked=LATER,
)
def test_regularized_selections_are_more_diverse(check):
    """Nothing is run."""


@claim(
    "SR-figure-1-trend",
    paper="SR",
    number="Section 6, last paragraph",
    statement="The curves of lasso and greedy increase with k because of the normalisation.",
    hypotheses="1000 MNIST images",
    method="float",
    verdict=Verdict.OPEN,
    unchecked=LATER,
)
def test_trend_of_the_normalised_values(check):
    """Nothing is run."""


@claim(
    "SR-figure-1-choice",
    paper="SR",
    number="Section 6, footnote 5",
    statement="In all cases features are found that are more robust at no loss: R² at least lasso's; "
    "results for other σ are similar.",
    hypotheses="1000 MNIST images, σ in [0, 1]",
    method="float",
    verdict=Verdict.OPEN,
    unchecked=LATER,
)
def test_no_loss_of_fit(check):
    """Nothing is run."""
