"""LassoNet's accuracies: "either ties or outperforms the remaining methods in all instances".

Source: *LassoNet: A Neural Network with Feature Sparsity* (JMLR 22(127), 2021), section 5.3, of "Table 1
for the decoder network, and Appendix C for the tree-based classifier" (Table 2), copied below. Only the
printed figures are compared; no experiment is run again. The two tables are an extraction of the text.
"""

from fractions import Fraction

from sparselin.ledger import FALSE, claim, mutants

# Thousandths: Fisher, HSIC-Lasso, PFA, LassoNet.
DECODER = {
    "Mice Protein": (944, 958, 939, 958),
    "MNIST": (813, 870, 873, 873),
    "MNIST-Fashion": (671, 785, 793, 800),
    "ISOLET": (793, 877, 863, 885),
    "COIL-20": (986, 972, 975, 991),
    "Activity": (769, 829, 779, 849),
}
TREES = {
    "Mice Protein": (996, 996, 997, 997),
    "MNIST": (818, 869, 879, 892),
    "MNIST-Fashion": (660, 775, 784, 794),
    "ISOLET": (818, 888, 855, 891),
    "COIL-20": (996, 993, 993, 993),
    "Activity": (794, 845, 808, 860),
}


def lead(row):
    """LassoNet's accuracy less the best of the others."""
    return Fraction(row[-1] - max(row[:-1]), 1000)


@claim("LN-sec-5.3", "section 5.3, Tables 1 and 2", "exact", FALSE)
@mutants("lead")
def test_accuracies_in_print(check):
    """In all instances LassoNet ties with or outperforms Fisher score, HSIC-Lasso and PFA.

    Hypotheses: the accuracies in print, six data sets, two classifiers

    Instead: In 11 of 12: on COIL-20 with tree-based classifiers the Fisher score is better. In all six with
    the decoder. It is the only best one in 8 of 12.

    Consequences: 'The strongest performer in the large majority of cases' stands; Appendix C says itself 'not
    always highest'.

    Unchecked: the experiments; whether differences of 0.003 mean anything
    """
    coil = TREES["COIL-20"]
    check.refutes(lead(coil) == Fraction(-3, 1000), "Table 2, COIL-20: Fisher 0.996, LassoNet 0.993")
    others = [*DECODER.values(), *(row for row in TREES.values() if row != coil)]
    check.over(others, lambda row: lead(row) >= 0)
    alone = sum(lead(row) > 0 for row in others)
    check.over([alone], lambda count: count == 8)
    check.measured(f"best alone in {alone}, tied in {sum(lead(row) == 0 for row in others)} of 12")
