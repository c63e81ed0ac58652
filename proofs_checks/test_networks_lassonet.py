"""LassoNet's sentences about experiments: whether our stored records agree with them.

Source: *LassoNet: A Neural Network with Feature Sparsity* (JMLR 22(127), 2021), sections 1.1, 1.3, 5.3 to 7
and 9, Appendices A and D, Figures 1, 2 and 5 to 14. Its Tables 1 and 2 are in test_networks_tables.py. The
paper compares LassoNet with three methods. Two of them are in our records: Fisher's score and principal
feature analysis (PFA). In place of Fisher's score our records have the method "largest correlation", which
uses the correlation ratio and ranks the features in the same order. HSIC-Lasso is not in our records.
"""

from proofs_checks import networks
from proofs_checks.experiments.networks.printed import ALL, NAMES, TABLE_1, TITLES
from proofs_checks.experiments.networks.verdicts import larger, not_smaller
from proofs_checks.networks import figure
from sparselin.ledger import NOT_REPRODUCED, OPEN, REPRODUCED, claim, claims, mutants

OTHERS = NAMES["Fisher"], NAMES["PFA"]
NETWORK_AND_TREES = ("network", "ExtraTrees")
SIZES = (25, 50, 75, 100)  # of the released evaluate.py, but for its 125


def beside_others(data, rule, sizes=SIZES):
    """Return the comparisons of LassoNet's accuracy with those of Fisher's score and principal feature
    analysis.

    There is one for each of two learners and each number of features in `sizes` that the data set exceeds.
    """
    sizes = [k for k in sizes if k < TABLE_1[TITLES[data]][1]]
    pairs = [
        tuple(("lassonet", data, method, k, "", learner) for method in (networks.LASSONET, other))
        for learner in NETWORK_AND_TREES
        for k in sizes
        for other in OTHERS
    ]
    return networks.Case(data, tuple(networks.compared(rule, *pair) for pair in pairs))


TIES = [beside_others(data, not_smaller, (50,)) for data in networks.HERE]


@networks.sentence("LN-sec-5.3-again", "section 5.3, Tables 1 and 2", TIES)
def test_beside_others_again(check):
    """On each data set, LassoNet's mean accuracy is not smaller than those of Fisher's score and of principal
    feature analysis (PFA). This holds for both learners, a network and trees.

    Reading of: “our method either ties or outperforms the remaining methods in all instances”

    Hypotheses: The accuracies are those of our records of the experiment of Tables 1 and 2, with k = 50. Of
    the remaining methods, only Fisher's score and PFA are compared.

    Consequences: What the printed figures show about the sentence has the ledger id LN-sec-5.3.

    Unchecked: The data set Activity and the method HSIC-Lasso are not compared.

    Tolerance: Each comparison is of two means, of which the statement says that the first is not smaller. Let
    D be the first mean minus the second, and SE the standard error of D. The statement is reproduced if D ≥
    −2 SE and 2 SE ≤ 0.03, or if D ≥ 2 SE, and not reproduced if D < −3 SE. There are four comparisons on each
    of five data sets.
    """
    networks.settle(check, TIES, figure)


WIDER = ("mice", "isolet", "coil20")  # where there are records with M = 30


def beside_wider(data):
    """Return the comparisons of LassoNet's accuracy with M = 10 and with M = 30, for 50 features and two
    learners.
    """
    pairs = [
        tuple(("lassonet", data, networks.LASSONET, 50, setting, learner) for setting in ("", "M = 30"))
        for learner in NETWORK_AND_TREES
    ]
    return networks.Case(data, tuple(networks.compared(not_smaller, *pair) for pair in pairs))


MULTIPLIERS = [beside_wider(data) for data in WIDER]


@networks.sentence("LN-app-D-M", "Appendix D.1, section 9", MULTIPLIERS)
def test_ten_is_a_good_multiplier(check):
    """On Mice Protein, ISOLET and COIL-20, LassoNet's mean accuracy with the hierarchy coefficient M = 10 is
    not smaller than that with M = 30. This holds for both learners, a network and trees.

    Reading of: “we have found that the default value M = 10 works well for a variety of datasets”; “the
    default value, M = 10, used in this paper works well for a variety of datasets”

    Hypotheses: The accuracies are those of our records, with k = 50. “Works well” is read as: not worse than
    M = 30, which the released evaluate.py uses.

    Consequences: Because evaluate.py uses M = 30, “used in this paper” is not true for the experiments of
    this file. A later file of the released code, run.py, uses M = 10.

    Unchecked: Other values of M, for example M < 10, are not compared, nor are MNIST, MNIST-Fashion and
    Activity.

    Tolerance: Each comparison is of two means, of which the statement says that the first is not smaller. Let
    D be the first mean minus the second, and SE the standard error of D. The statement is reproduced if D ≥
    −2 SE and 2 SE ≤ 0.03, or if D ≥ 2 SE, and not reproduced if D < −3 SE. There are two comparisons on each
    of three data sets.
    """
    networks.settle(check, MULTIPLIERS, figure)


HIGHEST = beside_others("isolet", larger)


@networks.sentence("LN-fig-5-again", "Figure 5", [HIGHEST])
def test_isolet_again(check):
    """On ISOLET, LassoNet's mean accuracy exceeds those of Fisher's score and of principal feature analysis
    (PFA). This holds for both learners, a network and trees, and for k = 25, 50, 75, 100 features.

    Reading of: “across all values of k tested, and for both learners, LassoNet has highest classification
    accuracy”

    Hypotheses: The accuracies are those of our records. The numbers k are those of the released evaluate.py
    except 125. Of the other methods, only Fisher's score and PFA are compared.

    Consequences: What the printed figures show at k = 50 has the ledger id LN-fig-5.

    Unchecked: HSIC-Lasso is not compared.

    Tolerance: Each comparison is of two means, of which the statement says that the first is larger. Let D be
    the first mean minus the second, and SE the standard error of D. The statement is reproduced if D > 2 SE
    in every comparison, and not reproduced if D < −3 SE in one. There are 16 comparisons.
    """
    networks.settle(check, [HIGHEST], figure)


IN_FIGURES = {"11": "coil20", "12": "activity", "13": "mice", "14": "mnist"}
HIGH = {number: beside_others(data, not_smaller) for number, data in IN_FIGURES.items()}


@claims(
    {number: {"title": TITLES[data]} for number, data in IN_FIGURES.items()},
    "LN-fig",
    "Figures 11 to 14, Appendix A",
    "float",
    lambda number: HIGH[number].verdict,
)
@mutants("figure")
def test_other_k(check, number):
    """On {title}, LassoNet's mean accuracy is not smaller than those of Fisher's score and of principal
    feature analysis (PFA). This holds for both learners, a network and trees. The numbers of selected
    features are k = 25, 50, 75 and 100, as far as they are smaller than the number of features.

    Reading of: “we find that LassoNet continues to achieve high (though not always highest) accuracy”

    Hypotheses: The accuracies are those of our records. The released evaluate.py uses these k and also k =
    125. The figures in print are curves without numbers. The statement is stronger than the paper's, which
    concedes that LassoNet is not always highest. Here LassoNet must reach both other methods in every
    comparison.

    Unchecked: HSIC-Lasso is not compared.

    Tolerance: Each comparison is of two means, of which the statement says that the first is not smaller. Let
    D be the first mean minus the second, and SE the standard error of D. The statement is reproduced if D ≥
    −2 SE and 2 SE ≤ 0.03, or if D ≥ 2 SE, and not reproduced if D < −3 SE. There are 16 comparisons, but 12
    on Mice Protein.
    """
    networks.settle(check, [HIGH[number]], figure)


def reached(limit, share):
    """Return the comparison that decides whether `limit` proteins of Mice Protein reach a share of the full
    accuracy.

    The full accuracy is that with all features. If a smaller number of proteins reaches the share, or a
    larger number does not, this comparison decides. Otherwise it is the comparison for `limit` itself.
    """
    everything = "lassonet", "mice", ALL, TABLE_1["Mice Protein"][1], "", "network"

    def enough(k):
        some = "lassonet", "mice", networks.LASSONET, k, "", "network"
        words = f"accuracy of {k} less {share:g} of that of all"
        return networks.Comparison(
            not_smaller,
            (everything, some),
            lambda: networks.minus(figure(some), figure(everything), share),
            words,
        )

    at = {k: enough(k) for k in sorted({5, 10, 25, 50, limit})}
    there = [k for k in at if networks.OURS.keys() >= {*at[k].addresses}]
    few = [k for k in there if k <= limit and at[k].verdict is REPRODUCED]
    many = [k for k in there if k >= limit and at[k].verdict is NOT_REPRODUCED]
    return networks.Case("mice", (at[next(iter([*few, *many, limit]))],))


CURVE = {"again": (35, 1.0), "seventy": (15, 0.7)}
REACHED = {key: reached(*given) for key, given in CURVE.items()}


@claims(
    {
        "again": {
            "k": "35",
            "share": "100 %",
            "words": "only about 35 proteins are needed to obtain maximal …",
        },
        "seventy": {"k": "15", "share": "70 %", "words": "70% of the signal with about 20% of the features"},
    },
    "LN-fig-1",
    "section 1.1, Figure 1",
    "float",
    lambda key: REACHED[key].verdict,
)
@mutants("figure")
def test_thirty_five_proteins_again(check, key):
    """On Mice Protein the accuracy with {k} of the 77 features is not smaller than {share} of the accuracy
    with all 77 features.

    Reading of: “{words}”

    Hypotheses: The accuracies are those of our records of the experiment of Table 1. The statement also
    counts as reproduced if fewer features reach this accuracy, and as not reproduced if more features do not
    reach it.

    Consequences: What the printed figures show at 50 features has the ledger id LN-fig-1.

    Tolerance: Let D be the accuracy with k features minus the share of the accuracy with all features, and SE
    its standard error. The statement is reproduced if D ≥ −2 SE and 2 SE ≤ 0.03, or if D ≥ 2 SE, and not
    reproduced if D < −3 SE. Up to five numbers of features are compared, and one of the comparisons decides.
    """
    networks.settle(check, [REACHED[key]], figure)


@claim("LN-fig-2", "section 1.3, Figure 2", "float", OPEN)
def test_digits_five_and_six(check):
    """On the digits 5 and 6 of MNIST, the pixels at the bottom left of the 6 are the most important ones to a
    network that uses 220 pixels.

    Reading of: “This confirms that the bottom left pixels of digit 6 are the most important”

    Hypotheses: The paper has accuracies and a picture, but no numbers for the importance of pixels.

    Unchecked: The sentence is not checked. Our study “lassonet-pixels” has accuracies and selected pixels,
    but not the importance of the pixels.
    """


@claim("LN-fig-6", "section 6, Figures 6 to 9", "float", OPEN)
def test_reconstructed_digits(check):
    """Digits of MNIST that are reconstructed from about 50 pixels, selected without labels, can generally be
    identified.

    Hypotheses: The paper shows pictures of reconstructed digits, and no numbers.

    Unchecked: The sentence is not checked, because none of our studies repeats the experiment.
    """


def imputed(method, k):
    """Return the address, in our records, of the mean squared error of imputation by a method on Mice
    Protein.
    """
    return "completion", "mice", method, k, "", "mse"


SOFT = imputed("soft-impute", TABLE_1["Mice Protein"][1])


def reduced():
    """Return two comparisons of LassoNet's error of imputation, with all columns, and the error of
    Soft-Impute.

    LassoNet's error must be larger than 0.6 and smaller than 0.8 of Soft-Impute's.
    """
    every = "completion", "mice", networks.LASSONET, TABLE_1["Mice Protein"][1], "trained again", "mse"

    def within(share, sign):
        error, its_error = networks.minus(figure(every), figure(SOFT), share)
        return sign * error, its_error

    above, below = "LassoNet's error less 0.6 of Soft-Impute's", "0.8 of Soft-Impute's less LassoNet's"
    return networks.Case(
        "mice",
        (
            networks.Comparison(larger, (every, SOFT), lambda: within(0.6, 1), above),
            networks.Comparison(larger, (every, SOFT), lambda: within(0.8, -1), below),
        ),
    )


def with_forty():
    """Return the comparison of LassoNet's error of imputation with 40 proteins and Soft-Impute's error."""
    return networks.Case("mice", (networks.compared(not_smaller, SOFT, imputed(networks.LASSONET, 40)),))


REDUCED, WITH_FORTY = reduced(), with_forty()


@networks.sentence("LN-fig-10", "section 7, Figure 10", [REDUCED])
def test_imputation(check):
    """On Mice Protein LassoNet's mean squared error of imputation is 20 to 40 % below Soft-Impute's.

    Reading of: “about a 30% reduction … of the reconstruction error when using LassoNet”

    Hypotheses: A tenth of the entries of the matrix is the test set. A network is trained from scratch on the
    completed matrix with all proteins. Our seeds vary the tested entries and the initial weights; the 25
    printed runs vary only the initial weights. We use the learning rate 0.003, early stopping after 50 epochs
    without improvement, and layers of d/3 units; the paper uses 0.001, 10 epochs and the best of four widths.

    Tolerance: There are two comparisons. In the first, D is LassoNet's error minus 0.6 of Soft-Impute's
    error. In the second, D is 0.8 of Soft-Impute's error minus LassoNet's. Let SE be the standard error of D.
    The statement is reproduced if D > 2 SE in both comparisons, and not reproduced if D < −3 SE in one.
    """
    networks.settle(check, [REDUCED], figure)


@networks.sentence("LN-fig-10-forty", "section 7, Figure 10", [WITH_FORTY])
def test_imputation_by_forty(check):
    """On Mice Protein LassoNet's mean squared error of imputation from 40 proteins is not larger than
    Soft-Impute's error.

    Reading of: “we can achieve a similar MSE to Soft-Impute using only about 40 proteins”

    Hypotheses: The experiment is that of Figure 10 of the LassoNet paper, on a test set of a tenth of the
    entries. We use the learning rate 0.003, early stopping after 50 epochs without improvement, and layers of
    d/3 units; the paper uses 0.001, 10 epochs and the best of four widths.

    Tolerance: Let D be Soft-Impute's error minus LassoNet's, in units of standardised columns, and SE its
    standard error. The statement is reproduced if D ≥ −2 SE and 2 SE ≤ 0.03, or if D ≥ 2 SE, and not
    reproduced if D < −3 SE. There is one comparison.
    """
    networks.settle(check, [WITH_FORTY], figure)
