"""Sequential Attention's sentences about experiments: whether our stored records agree with them.

Source: *Sequential Attention for Feature Selection* (ICLR; the NeurIPS submission has the same numbers),
Sections 4.1, 4.2 and 5, Appendices B.1, B.2.4, B.4 and B.6, Figures 3, 5, 8, 9 and 11. The figures themselves
are in test_networks_tables.py. A sentence is compared with records of the same experiment, with similar
numbers of training rows. The comparison is by one of the rules "larger", "not smaller" and "equal" of
`proofs_checks.experiments.networks.verdicts`. Words such as "competitive" were assigned to a rule before the
verdicts were computed.
"""

from proofs_checks import BOTH
from proofs_checks.experiments.networks.printed import (
    AS_RELEASED,
    DECODER,
    MASKS,
    NAMES,
    SMALL,
    TABLE_2,
    TITLES,
)
from proofs_checks.experiments.networks.verdicts import equal, error_in_print, larger, not_smaller
from proofs_checks.networks import (
    HERE,
    LASSONET,
    RECORDS,
    SA,
    Case,
    Comparison,
    attention,
    compared,
    figure,
    figures,
    minus,
    most,
    on_like_rows,
    sentence,
    settle,
)
from proofs_checks.printed_means import better, surely_better
from sparselin.ledger import CONTRADICTED, HOLDS, NEEDS_DATA, OPEN, UNDECIDED, claim, claims, mutants

BASELINES = tuple(NAMES[name] for name in SMALL[1:])


def competitive(data):
    """Return the comparison of Sequential Attention's accuracy with those of the five other methods of Table
    2.
    """
    first, others = on_like_rows(data), [attention("paper", data, method=name) for name in BASELINES]
    return Case(data, tuple(compared(not_smaller, first, other) for other in others))


COMPETITIVE = [competitive(data) for data in HERE]


@sentence("SA-figure-3-again", f"Section 4.1, Figure 3 {BOTH}", COMPETITIVE)
def test_small_scale_again(check):
    """On each data set, the mean accuracy of Sequential Attention is not smaller than that of any of the five
    other methods.

    Reading of: “Sequential Attention is competitive with or outperforms all feature selection algorithms on
    this benchmark suite”

    Hypotheses: Our records are of the experiment of Table 2 on five data sets. On MNIST and MNIST-Fashion,
    the released Sequential Attention uses all rows, and the other methods use 10,000. There we run Sequential
    Attention on the same 10,000 rows, with the defaults of our implementation.

    Consequences: What the printed figures show about the sentence has the ledger id SA-figure-3.

    Unchecked: The data set Activity is not compared.

    Tolerance: Each comparison is of two means, of which the statement says that the first is not smaller. Let
    D be the first mean minus the second, and SE the standard error of D. The statement is reproduced if D ≥
    −2 SE and 2 SE ≤ 0.03, or if D ≥ 2 SE, and not reproduced if D < −3 SE. There are five comparisons on each
    of five data sets.
    """
    settle(check, COMPETITIVE, figure)


def indistinguishable(data):
    """Return the comparison of the accuracy with the ℓ₁ mask |w| and the accuracy with the softmax mask."""
    softmax, absolute = (attention("masks", data, mask) for mask in MASKS[:2])
    return Case(data, (compared(equal, absolute, softmax),))


INDISTINGUISHABLE = [indistinguishable(data) for data in HERE]


@sentence("SA-section-4.2-indistinguishable-again", f"Section 4.2, B.5, Figure 10 {BOTH}", INDISTINGUISHABLE)
def test_masks_again(check):
    """On each data set the masks |w| (ℓ₁) and softmax have equal mean accuracies.

    Reading of: “regularized linear Sequential Attention yields results that are almost indistinguishable to
    the original version”

    Hypotheses: Our records are of the experiment of Table 10 on five data sets.

    Consequences: What the printed figures show about the sentence has the ledger id
    SA-section-4.2-indistinguishable.

    Unchecked: The data set Activity is not compared.

    Tolerance: Let SE be the standard error of the difference of two means. The statement is reproduced if the
    means differ by at most 2 SE, and 2 SE ≤ 0.03. It is not reproduced if they differ by more than 3 SE.
    There are five comparisons.
    """
    settle(check, INDISTINGUISHABLE, figure)


def best_in_print(data):
    """Return the best accuracy in LassoNet's Table 1 for a data set, which is LassoNet's own, and its
    standard error.
    """
    (best,) = (printed for printed in figures("LN-table-1", data) if printed.method == LASSONET)
    return best.mean, error_in_print(best)


def ahead_in_print(data):
    """Return the comparisons of the accuracy with each of five masks and the best accuracy in LassoNet's
    Table 1.
    """
    best = best_in_print(data)
    addresses = [attention("masks", data, mask) for mask in MASKS]
    words = f" less {best[0]} in print"
    return Case(
        data,
        tuple(
            Comparison(
                larger, (address,), lambda address=address: minus(figure(address), best), address[4] + words
            )
            for address in addresses
        ),
    )


AHEAD_IN_PRINT = [ahead_in_print(data) for data in HERE]


@sentence("SA-section-4.2-baselines-again", f"Section 4.2 {BOTH}, with LassoNet's Table 1", AHEAD_IN_PRINT)
def test_masks_beside_lassonet_again(check):
    """On each data set, the mean accuracy of Sequential Attention with each of the five masks exceeds the
    best mean accuracy in LassoNet's Table 1.

    Hypotheses: Our records are of the experiment of Table 10. The best printed accuracies on the five data
    sets are 0.958, 0.873, 0.800, 0.885 and 0.991.

    Consequences: What the printed figures show about the sentence has the ledger id SA-section-4.2-baselines.
    On MNIST and Fashion the released code of LassoNet trains on 3,500 images; our runs use the images of
    Sequential Attention's protocol.

    Unchecked: The data set Activity is not compared.

    Tolerance: Each comparison is of two means, of which the statement says that the first is larger. Let D be
    the first mean minus the second, and SE the standard error of D. The statement is reproduced if D > 2 SE
    in every comparison, and not reproduced if D < −3 SE in one. SE includes √(p(1 − p)/n_test) for the
    printed p. There are five comparisons on each of five data sets.
    """
    check.over(HERE, lambda data: 1000 * best_in_print(data)[0] == max(DECODER[TITLES[data]]))
    settle(check, AHEAD_IN_PRINT, figure)


def ahead(data):
    """Return the comparison of Sequential Attention's accuracy with LassoNet's, both trained on the same
    rows.
    """
    return Case(data, (compared(larger, on_like_rows(data), attention("paper", data, method=LASSONET)),))


AHEAD = [ahead(data) for data in HERE]


@sentence("SA-section-4.2-lassonet-same-rows", f"Section 4.2 {BOTH}", AHEAD)
def test_beside_lassonet_on_the_same_rows(check):
    """On each data set, Sequential Attention has a better mean accuracy than LassoNet. Both methods select
    features from the same rows, and the same network is trained on both selections.

    Reading of: “all of these variants outperform LassoNet”

    Hypotheses: Our records are of the experiment of Table 2, with the softmax mask and 50 features. The
    hyperparameters of our LassoNet are not tuned. On MNIST and MNIST-Fashion, Sequential Attention has the
    defaults of our implementation.

    Unchecked: The data set Activity and the other masks are not compared.

    Tolerance: Each comparison is of two means, of which the statement says that the first is larger. Let D be
    the first mean minus the second, and SE the standard error of D. The statement is reproduced if D > 2 SE
    in every comparison, and not reproduced if D < −3 SE in one. There are five comparisons.
    """
    settle(check, AHEAD, figure)


def fewer_at_once(data):
    """Return the comparison of selecting 64 features one at a time with selecting all 64 at once."""
    one_at_a_time, all_at_once = (attention("adaptivity", data, setting, 64) for setting in ("1", "64"))
    return Case(data, (compared(larger, one_at_a_time, all_at_once),))


FEWER_AT_ONCE = [fewer_at_once(data) for data in HERE]


@sentence("SA-B.4-adaptivity-again", f"Appendix B.4, Figure 8 {BOTH}", FEWER_AT_ONCE, verdict=most)
def test_more_at_once_again(check):
    """On three or more of five data sets, 64 features selected at once have a lower mean accuracy than 64
    features selected one at a time.

    Reading of: “For most datasets, we find that feature selection quality decreases as we select more
    features at once”

    Hypotheses: Our records are of the experiment of Table 9. Selecting one feature at a time is compared with
    selecting 64 at once.

    Consequences: What the printed figures show about the sentence has the ledger id SA-B.4-adaptivity.

    Unchecked: The data set Activity is not compared.

    Tolerance: Each comparison is of two means, of which the statement says that the first is larger. Let D be
    the first mean minus the second, and SE the standard error of D. A data set counts for the statement if D
    > 2 SE, and against it if D < −3 SE. The statement is reproduced if more than half of the five data sets
    count for it, and not reproduced if at least half count against it.
    """
    settle(check, FEWER_AT_ONCE, figure, most)


def more_at_once(data):
    """Return the comparison of selecting all 64 features at once with selecting them one at a time."""
    one_at_a_time, all_at_once = fewer_at_once(data).addresses
    return Case(data, (compared(larger, all_at_once, one_at_a_time),))


OPPOSITE = [more_at_once("mice")]


@sentence("SA-B.4-mice-again", f"Appendix B.4, Figure 8 {BOTH}", OPPOSITE)
def test_mice_protein_again(check):
    """On Mice Protein, 64 of 77 features selected at once have a better mean accuracy than 64 selected one at
    a time.

    Reading of: “An exception is the mice protein dataset, which exhibits the opposite trend”

    Hypotheses: Our records are of the experiment of Table 9. Selecting one feature at a time is compared with
    selecting 64 at once.

    Consequences: The statement compares only the two extremes of Table 9, in our records. In the printed
    table, the accuracies of the two extremes are equal; what it shows about the sentence has the ledger id
    SA-B.4-mice. The two statements are about different data, so neither decides the other.

    Tolerance: Each comparison is of two means, of which the statement says that the first is larger. Let D be
    the first mean minus the second, and SE the standard error of D. The statement is reproduced if D > 2 SE
    in every comparison, and not reproduced if D < −3 SE in one. There is one comparison.
    """
    settle(check, OPPOSITE, figure)


def correlated():
    """Return the comparisons of the rank correlation of gain and attention after 0, 9 and 49 selected
    features.

    Each correlation is compared with the next one, and the last one with 0.
    """
    first, second, third = (("gains", "mnist", SA, k, "", "Spearman") for k in (0, 9, 49))
    falls = compared(larger, first, second), compared(larger, second, third)
    return Case("mnist", (*falls, Comparison(larger, (third,), lambda: figure(third), "after 49 less 0")))


CORRELATED = correlated()


@sentence("SA-figure-11", f"Appendix B.6, Figure 11 {BOTH}", [CORRELATED])
def test_marginal_gains_again(check):
    """On MNIST, marginal gains and attention weights have a positive rank correlation (Spearman), which
    decreases as more pixels are selected. The correlation is over the unselected pixels, after 0, 9 and 49
    selected ones.

    Reading of: “one might expect that these two sets of scores are correlated in some sense”; “the
    correlations degrade as we select more features”

    Hypotheses: The correlations are those of our records. The paper shows its correlations only in a figure.

    Tolerance: Each comparison is of two means, of which the statement says that the first is larger. Let D be
    the first mean minus the second, and SE the standard error of D. The statement is reproduced if D > 2 SE
    in every comparison, and not reproduced if D < −3 SE in one. There are three comparisons: each correlation
    is compared with the next, and the last with 0.
    """
    settle(check, [CORRELATED], figure)


@claims(
    {
        "top-50": {
            "says": "more than half of the 50 unselected pixels with the largest attention are among the 50 "
            "with the largest marginal gains",
            "words": "the top 50 pixels according to the marginal gains and attention weights are visually "
            "similar",
            "sizes": "k = 0, 9 and 49",
        },
        "regions": {
            "says": "the 50 unselected pixels with the largest marginal gains, and the 50 with the largest "
            "attention, touch selected pixels less often than all unselected ones that are not always black",
            "words": "avoiding previously selected regions and finding new areas which are now important",
            "sizes": "k = 9 and 49",
        },
    },
    "SA-B.6",
    f"Appendix B.6, Figure 11 {BOTH}",
    "float",
    lambda key: NEEDS_DATA,
)
def test_the_best_fifty(check, key):
    """On MNIST, {says}, for each number of selected pixels {sizes}.

    Reading of: “{words}”

    Hypotheses: Sequential Attention selects k pixels, and a network is trained for each further pixel. The
    paper shows the 50 pixels only in pictures.

    Consequences: The rank correlation over all unselected pixels (ledger id SA-figure-11) does not decide
    this statement, which is about the 50 best pixels.
    """
    scores = {name for record in RECORDS if record.piece.study == "gains" for name in record.scores}
    check.measured(
        "the gain and the attention of each pixel, from `sparselin.neural.gains`, would decide it and are "
        "not here: our records of the study “gains” have of each k the Spearman correlation alone"
    )
    # records with the pixels themselves must turn this row red
    check.concludes(NEEDS_DATA if scores <= {"Spearman"} else UNDECIDED)


@claim("SA-B.2.4-reset", f"Appendix B.2.4 {BOTH}", "float", OPEN)
def test_resetting(check):
    """If Sequential Attention does not reset the attention weights after each phase, the accuracy with the
    selected features is lower. If it resets the network's weights, the accuracy is no higher. Here Sequential
    Attention trains one network in all phases, after a warm-up in which only the network's weights are
    trained.

    Reading of: “it is important to reset the attention weights after each of the sequential feature selection
    phases, but resetting the neural network weights is not crucial for good performance”

    Hypotheses: The experiment would use the six data sets with k = 50. The released code trains only the
    network in the first tenth of the steps, where its mask is 1. It then resets the attention weights after
    each phase (its switch `reset_weights` is on), and never the network's weights.

    Consequences: All our records are of runs that reset the attention weights and not the network's. The
    accuracies with their selections have the ledger id SA-figure-3-again.

    Unchecked: The sentence is not checked. To decide it, compare the runs of our study “switches” with runs
    that do not reset the attention weights, and with runs that reset the network's weights.
    """


@claim("SA-B.1-omp", f"Appendix B.1, with Table 2 {BOTH}", "exact", HOLDS)
@mutants("better")
def test_omp_for_networks(check):
    """On MNIST and MNIST-Fashion, the pixels that OMP for networks selects have a lower mean accuracy than
    Sequential Attention's pixels.

    Reading of: “OMP does not yield a competitive set of pixels, which demonstrates that OMP does not
    generalize well from least squares regression and generalized linear models to deep neural networks”

    Hypotheses: The means are those of Table 2: on MNIST 0.912 (OMP) and 0.956, on Fashion 0.829 and 0.854.

    Consequences: The two data sets do not show that OMP does not generalize well to networks. OMP is less
    accurate than Sequential Attention on ISOLET, COIL-20 and Activity too. But on Mice Protein OMP has the
    best mean of all six methods, 0.994, while Sequential Attention has 0.993. The accuracies of OMP with
    other gradients have the ledger id SA-B.1-omp-again.

    Unchecked: The experiments are not repeated here. Our repetition for Mice Protein has the ledger id
    SA-table-2-baselines-mice.
    """
    means = {name: (row[SMALL.index("OMP")][0], row[0][0]) for name, row in TABLE_2.items()}
    printed = {"MNIST": (912, 956), "MNIST-Fashion": (829, 854), "Mice Protein": (994, 993)}
    check.over(printed, lambda name: means[name] == printed[name])
    others = [name for name in means if name != "Mice Protein"]
    check.over(others, lambda name: means[name][0] < means[name][1] and "OMP" not in better(TABLE_2[name]))
    check.over([TABLE_2["Mice Protein"]], lambda row: better(row) == ["OMP"])


def behind_attention(data):
    """Return the comparison of OMP's accuracy with that of Sequential Attention as released.

    OMP uses the gradients over all rows, with zero weights W_j of the unselected features.
    """
    omp, sa = (
        attention("switches", data, setting, method=method)
        for method, setting in ((NAMES["OMP"], "both"), (SA, AS_RELEASED))
    )
    return Case(data, (compared(larger, sa, omp),))


BEHIND = [behind_attention(data) for data in HERE]


@sentence("SA-B.1-omp-again", f"Appendix B.1, B.2.2 {BOTH}", BEHIND)
def test_omp_for_networks_again(check):
    """On each data set, the mean accuracy with OMP's 50 features is lower than with Sequential Attention's 50
    features.

    Reading of: “OMP does not yield a competitive set of pixels, which demonstrates that OMP does not
    generalize well from least squares regression and generalized linear models to deep neural networks”

    Hypotheses: Our records follow the released protocol. OMP ranks the features by the gradients over all
    rows, with the first-layer weights W_j = 0 for the unselected features j, as for a model that is linear in
    W. The first feature is selected with a random W, because for W = 0 all gradients vanish. The released
    code ranks the features by the gradients of one batch, in a network in which the W_j of the unselected
    features have random values and no feature is masked.

    Consequences: The study “switches” (docs/networks-findings.md) shows the effect of each of these two
    differences from the released code. What the printed figures show about the sentence has the ledger id
    SA-B.1-omp.

    Unchecked: The data set Activity is not compared.

    Tolerance: Each comparison is of two means, of which the statement says that the first is larger. Let D be
    the first mean minus the second, and SE the standard error of D. The statement is reproduced if D > 2 SE
    in every comparison, and not reproduced if D < −3 SE in one. There are five comparisons.
    """
    settle(check, BEHIND, figure)


@claim("SA-section-5-significantly", f"Section 5, with Table 2 {BOTH}", "exact", CONTRADICTED)
@mutants("surely_better")
def test_significantly(check):
    """On each of the six data sets, Sequential Attention's interval, mean ± standard deviation, lies above
    the intervals of three previous methods: the feature mask (LLY), the group LASSO (GL) and the concrete
    autoencoder (CAE).

    Reading of: “Empirically, Sequential Attention improves significantly upon previous methods on widely-used
    benchmarks”

    Hypotheses: The figures are those of Table 2. Sequential LASSO and OMP for networks are left out, because
    they are the paper's own adaptations.

    Instead: This holds on three data sets: MNIST, MNIST-Fashion and ISOLET. Compared with CAE alone it holds
    on all six, and compared with LLY alone on four. GL has a better mean on Activity, and the same mean on
    COIL-20. With five runs of each method, no exact paired test has p < 0.0625.

    Unchecked: The experiments are not repeated here. Our repetition has the ledger id SA-figure-3-again.
    """
    previous = {"LLY", "GL", "CAE"}
    check.refutes("GL" in better(TABLE_2["Activity"]), "Activity: GL 0.933, Sequential Attention 0.931")
    check.refutes(not {"LLY", "GL"} & set(surely_better("Mice Protein")), "Mice Protein: LLY 0.981, GL 0.985")
    three = [name for name in TABLE_2 if previous <= set(surely_better(name))]
    check.over([three], lambda names: names == ["MNIST", "MNIST-Fashion", "ISOLET"])
    check.over(TABLE_2, lambda name: "CAE" in surely_better(name))
    check.over([[name for name in TABLE_2 if "LLY" in surely_better(name)]], lambda names: len(names) == 4)
