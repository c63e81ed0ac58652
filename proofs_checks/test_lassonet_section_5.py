"""Sentences of the LassoNet paper, checked against the paper's own tables; and its cross-references.

Source: *LassoNet: A Neural Network with Feature Sparsity* (JMLR 22(127), 2021), sections 1.1, 3.1, 5 and 7,
Appendices A and C, and two tables for k = 50 features: Table 1 (decoder networks) and Table 2 (tree-based
learners). The figures are in `proofs_checks.experiments.networks.printed`, and were extracted from the text
of the paper. Only printed figures are compared here. Whether new runs of the experiments give the same
figures is decided in test_networks_tables.py.
"""

from fractions import Fraction
from itertools import chain

from proofs_checks.experiments.networks.printed import DECODER, TREES
from proofs_checks.experiments.networks.printed import LASSONET_DATA as DATA
from sparselin.ledger import CONTRADICTED, CORRECTED, EMPIRICAL, HOLDS, MISPRINT, claim, mutants

BOTH = [*((name, row, 3) for name, row in DECODER.items()), *((name, row, 4) for name, row in TREES.items())]


def lead(row):
    """Return LassoNet's accuracy minus the best accuracy of the other methods, from one row of a printed
    table.
    """
    return Fraction(row[-1] - max(row[:-1]), 1000)


def below_all_features(name, row, column):
    """Return the accuracy with all features minus the best accuracy of the four methods, which select 50
    features.
    """
    return Fraction(DATA[name][column] - max(row), 1000)


def squared_score(name, row, other):
    """Return z², the squared test statistic for the difference of LassoNet's accuracy and the accuracy
    `other`.

    The two accuracies are taken as shares of two independent test sets, each of a fifth of the data.
    """
    p, q = Fraction(row[-1], 1000), Fraction(other, 1000)
    return (p - q) ** 2 * Fraction(DATA[name][0], 5) / (p * (1 - p) + q * (1 - q))


@claim("LN-sec-5.3", "section 5.3, Tables 1 and 2", "exact", CONTRADICTED)
@mutants("lead")
def test_accuracies_in_print(check):
    """In all instances LassoNet ties with or outperforms the Fisher score, HSIC-Lasso and principal feature
    analysis (PFA).

    Hypotheses: The accuracies are the printed ones, for six data sets and two classifiers.

    Instead: This holds in 11 of 12 instances, and in all six with the decoder network. In the exception,
    COIL-20 with tree-based classifiers, the Fisher score is better. LassoNet alone is best in 8 of 12
    instances.

    Consequences: The paper's sentence 'The strongest performer in the large majority of cases' is true. Its
    Appendix C itself says 'not always highest'.

    Unchecked: The experiments are not repeated. It is not checked whether differences of 0.003 are
    significant.
    """
    coil = TREES["COIL-20"]
    check.refutes(lead(coil) == Fraction(-3, 1000), "Table 2, COIL-20: Fisher 0.996, LassoNet 0.993")
    others = [*DECODER.values(), *(row for row in TREES.values() if row != coil)]
    check.over(others, lambda row: lead(row) >= 0)
    alone = sum(lead(row) > 0 for row in others)
    check.over([alone], lambda count: count == 8)
    check.measured(f"best alone in {alone}, tied in {sum(lead(row) == 0 for row in others)} of 12")


@claim("LN-fig-5", "Figure 5; Appendix A", "exact", HOLDS)
@mutants("lead")
def test_isolet_at_fifty_features(check):
    """On ISOLET, for both learners (a network, and trees), LassoNet has the highest accuracy of the four
    methods with k = 50 features.

    Reading of: “across all values of k tested, and for both learners, LassoNet has highest classification
    accuracy”

    Hypotheses: The accuracies are the printed ones.

    Consequences: Appendix A, which says 'not always highest', is about other data sets and other k. Therefore
    it contradicts neither this sentence nor section 5.3, which says that LassoNet ties with or outperforms
    the other methods. Appendix C does contradict section 5.3 (ledger id LN-sec-5.3).

    Unchecked: Other k are not checked, nor are Figures 5 and 11-14, which have no numbers in print.
    """
    check.over([DECODER["ISOLET"], TREES["ISOLET"]], lambda row: lead(row) > 0)


@claim("LN-app-C", "Appendix C, Table 2", "exact", HOLDS)
@mutants("lead")
def test_high_but_not_always_highest(check):
    """LassoNet continues to have high (but not always highest) classification accuracy if the learner is
    tree-based.

    Hypotheses: The accuracies are the printed ones. "High" is read as: within 0.003 of the best of the four
    methods.

    Consequences: LassoNet's accuracy is not the highest on COIL-20 only. On COIL-20 it is below that of the
    Fisher score, and equal to the accuracies of the two other methods.
    """
    check.over(TREES.values(), lambda row: lead(row) >= Fraction(-3, 1000))
    check.over([TREES], lambda table: [name for name, row in table.items() if lead(row) < 0] == ["COIL-20"])


@claim("LN-sec-5.2-bound", "section 5.2, Tables 1 and 2", "exact", EMPIRICAL)
@mutants("below_all_features")
def test_all_features_as_an_upper_bound(check):
    """No selection of 50 features is more accurate than all features with the same learner.

    Reading of: “we also include, as an upper-bound on performance, reconstruction methods that are not
    restricted to choosing individual features”

    Hypotheses: The accuracies are the printed ones. The four methods are compared with “All-Feature(s)” in
    the tables.
    """
    activity = ("Activity", TREES["Activity"], 4)
    check.over([activity], lambda case: below_all_features(*case) == Fraction(-1, 1000))
    others = [case for case in BOTH if case != activity]
    check.over(others, lambda case: below_all_features(*case) >= 0)
    check.measured(
        f"the best of the four is at most that of all features in {len(others)} of {len(BOTH)}; on Activity "
        "with trees 0.860 against 0.859, about one answer in a test set of 20 %"
    )


@claim("LN-fig-1", "section 1.1, of Figure 1; Tables 1 and 2", "exact", EMPIRICAL)
@mutants("below_all_features")
def test_thirty_five_proteins(check):
    """On Mice Protein, about 35 of the 77 features have the same accuracy as all 77 features.

    Reading of: “We see that only about 35 proteins are needed to obtain maximal classification accuracy”

    Hypotheses: The accuracies are the printed ones for k = 50, which is more than 35. "Maximal" is read as:
    the accuracy of all features.

    Unchecked: Figure 1 itself is not checked, because it is a curve without numbers, and its learner is not
    stated.
    """
    mice = [case for case in BOTH if case[0] == "Mice Protein"]
    below = {3: Fraction(32, 1000), 4: 0}
    check.over(mice, lambda case: below_all_features(*case) == below[case[2]] and lead(case[1]) == 0)
    check.measured(
        "with 50 features 0.958 against 0.990 of all (Table 1, networks) and 0.997 against 0.997 (Table 2, "
        "trees)"
    )


@claim("LN-abstract-significant", "abstract; Tables 1 and 2", "exact", EMPIRICAL)
@mutants("squared_score")
def test_how_significant_the_leads_are(check):
    """LassoNet significantly outperforms state-of-the-art methods for feature selection.

    Reading of: “we … find that it significantly outperforms state-of-the-art methods”

    Hypotheses: The accuracies are the printed ones, each for a test set of 20 % of the data (section 5.2).
    “Significantly” is read as a statistical term. The test compares two independent proportions: LassoNet's
    accuracy, and the best accuracy of the other three methods.

    Unchecked: A paired test is not made, because it needs the predictions for the single test rows. Repeated
    splits of the data are not checked.
    """
    needed = Fraction(196, 100) ** 2
    scores = [squared_score(name, row, max(row[:-1])) for name, row, _ in BOTH]
    check.over(scores, lambda score: 0 <= score < needed)
    most = [
        max(squared_score(name, row, row[i]) for name, row, _ in BOTH if row[-1] > row[i]) for i in range(3)
    ]
    check.over(most, lambda score: score > needed)
    best, fisher, hsic, pfa = (float(score) ** 0.5 for score in (max(scores), *most))
    check.measured(
        f"z is at most {best:.1f} in 12 comparisons, and 5 % needs 1.96 in one alone; against one method "
        f"throughout it is up to {fisher:.1f} (Fisher), {pfa:.1f} (PFA), {hsic:.1f} (HSIC-Lasso)"
    )


# (n, d), classes as section 5.1 has them, “hand-written digits” 10; None where it does not say
DESCRIBED = {
    "MNIST": (None, 28 * 28, 10),
    "MNIST-Fashion": (None, 28 * 28, 10),
    "ISOLET": (None, 617, 26),
    "COIL-20": (20 * 360 // 5, 20 * 20, 20),
    "Activity": (None, 561, None),
}


def as_described(name):
    """Return whether the sizes of a data set in Table 1 of the LassoNet paper are those that its section 5.1
    states.
    """
    return all(said in (None, size) for said, size in zip(DESCRIBED[name], DATA[name][:3], strict=True))


@claim("LN-sec-5.1-sizes", "sections 5.1 and 7, Table 1, Figure 10", "exact", HOLDS)
@mutants("as_described")
def test_sizes_of_the_data(check):
    """The sizes of the data sets in Table 1 are those that section 5.1 states: 28-by-28 images for MNIST and
    MNIST-Fashion; 617 quantities and 26 letters for ISOLET; 20 objects at intervals of 5 degrees, in images
    of 20-by-20, for COIL-20; and 561 quantities for Activity. Moreover, the 40 proteins of section 7 are a
    reduction by about 50 %.

    Hypotheses: The numbers are the printed ones. "About 50 %" is read as: within two percentage points. 40 of
    77 proteins are 52 %.

    Unchecked: Section 5.1 does not give the numbers n of rows of the other data sets, so they are not
    checked.
    """
    check.over(DESCRIBED, lambda name: as_described(name))
    check.over([DATA["Mice Protein"][1]], lambda d: abs(Fraction(40, d) - Fraction(1, 2)) <= Fraction(2, 100))


# of one model (section 3.3), of Algorithm 1 (line 1, and λ₀ of line 3), of the training of any network, and
# of the Lasso's path
MODEL = {"λ", "M"}
ALGORITHM_1 = {"X", "Y", "g_W", "B", "M", "ε", "α", "λ₀"}
TRAINING = {"X", "Y", "g_W", "B", "α"}
PATH = {"λ", "ε", "λ₀"}


def additional(names, known=TRAINING):
    """Return the hyperparameters in `names` that are not in `known`."""
    return names - known


@claim("LN-sec-9-hyperparameter", "section 9; section 3.3, Algorithm 1", "exact", CORRECTED)
@mutants("additional")
def test_the_additional_hyperparameters(check):
    """The only additional hyperparameter of LassoNet is the hierarchy coefficient, M.

    Reading of: “the only additional hyperparameter of LassoNet is the hierarchy coefficient”

    Hypotheses: “Additional” is read as: in addition to the hyperparameters of training a network.

    Instead: The additional hyperparameters are M and the penalty λ, as in section 3.3. A path of penalties
    needs M, the multiplier ε of the penalties, and the first penalty λ₀. Line 3 of Algorithm 1 uses λ₀, but
    line 1, the list of inputs, does not name it.

    Consequences: The Lasso's path has λ, ε and λ₀ too. Compared with the hyperparameters of a network and of
    the Lasso's path together, M is the only additional one; the paper may mean this.
    """
    check.refutes(
        additional(MODEL) == {"λ", "M"}, "section 3.3: “LassoNet has two hyper-parameters”, λ and M"
    )
    check.refutes(
        additional(ALGORITHM_1) == {"M", "ε", "λ₀"}, "Algorithm 1: path multiplier ε of line 1, λ₀ of line 3"
    )
    check.over([MODEL, ALGORITHM_1], lambda names: additional(names, TRAINING | PATH) == {"M"})


# What stands at a place, and what the text says stands there.
PLACES = {
    "Section 4.1": "Warm starts: a path from dense to sparse",
    "Section 4.3": "Computational Complexity",
    "Section 5": "Experiments. Data Sets: Mice Protein Dataset",
    "Section 6": "Extension to Unsupervised Feature Selection",
    "Section 7": "Extension to Matrix Completion",
    "Section 8": "Sparsity in Learned Features",
    "Appendix B": "Proofs. Proof of Correctness of the Hier-Prox and Group-Hier-Prox Operators",
    "Appendix C": "Classification accuracies using tree-based classifiers as the downstream learner",
    "Appendix D": "Experimental Details. The implementation was conducted in the PyTorch framework",
    "Algorithm 2, line 6": "end for",
    "Algorithm 2, line 7": "Find m̃, the first m with W_(j,m+1) ≤ w_m ≤ W_(j,m)",
    "Algorithm 2, line 9": "W̃ ← sign(W)·min(w, |W|)",
    "Algorithm 4, line 6": "w_{j,m} ← M/(1 + mM²)·S_λ(‖θ_j‖ + MΣ|W_j|)",
    "Algorithm 4, line 8": "Find m̃, the first m with W_(j,m) ≥ w_{j,m} ≥ W_(j,m+1)",
    "Algorithm 4, line 10": "W̃ ← sign(W)·min(w, |W|)",
}
SAID = {
    "section 1.1, Figure 1": [("Section 5", "Mice Protein")],
    "section 1.1": [
        ("Section 5", "Experiments"),
        ("Section 6", "Unsupervised"),
        ("Section 7", "Matrix Completion"),
    ],
    "section 1.2": [("Section 8", "Learned Features")],
    "section 3.2": [("Section 4.1", "Warm starts")],
    "section 4.2": [("Appendix B", "Hier-Prox"), ("Appendix D", "implementation")],
    "section 5.3": [("Appendix C", "tree-based")],
    "Appendix A": [("Section 4.3", "Complexity")],
    "Algorithm 2": [("Algorithm 2, line 9", "min")],
    "Algorithm 4": [("Algorithm 4, line 10", "min")],
}
SLIPS = {
    ("Section 5", "Proof"): "Appendix B",
    ("Algorithm 2, line 6", "(j,m+1)"): "Algorithm 2, line 7",
    ("Algorithm 4, line 6", "(j,m+1)"): "Algorithm 4, line 8",
}


def stands(place, words):
    """Return whether these words are at this place of the LassoNet paper, by a list of its sections and
    lines.
    """
    return words in PLACES[place]


@claim("LN-sec-3.1-references", "section 3.1, and elsewhere", "exact", MISPRINT)
@mutants("stands")
def test_where_the_references_lead(check):
    """The references of the LassoNet paper to its sections and to lines of its algorithms lead to the content
    that they name.

    Hypotheses: The sections and lines are the printed ones. The check has a list of the references and of the
    words at their targets.

    Instead: The derivation is in Appendix B and section 4.2. The conventions W_(j,K+1) = 0, W_(j,0) = ∞
    belong to line 7 of Algorithm 2 and line 8 of Algorithm 4. The other references in the list are right.
    """
    for (place, words), right in SLIPS.items():
        check.refutes(not stands(place, words), f"{place} is cited for {right}")
        check.over([right], lambda right, words=words: stands(right, words))
    check.over(chain.from_iterable(SAID.values()), lambda said: stands(*said))
