"""The papers' experiments on networks, run again: the printed figures that our stored records reproduce.

Source: *Sequential Attention for Feature Selection* (ICLR; the NeurIPS submission has the same numbers),
Tables 2, 3 and 5 to 10, Figures 3, 4, 6, 7, 8 and 10; *LassoNet* (JMLR 22(127), 2021), Tables 1 and 2.
Sentences about experiments are compared with our records in test_networks_sentences.py and
test_networks_lassonet.py. The same sentences are compared with the printed tables in
test_attention_tables.py, test_attention_masks.py and test_lassonet_section_5.py.

The verdicts are computed from `networks_records.jsonl`, the records of `make networks`, by the rule of
`proofs_checks.experiments.networks.verdicts`. The rule was stated before its verdicts were computed. The
printed mean is over m runs with the standard deviation s, and ours over m' runs with the standard deviation
s'. With the squared standard error of their difference,

    SE² = s²/m + s'²/m' + .001²/12

a figure is

    reproduced       if |ours − printed| ≤ 2 SE ≤ .03,
    not reproduced   if |ours − printed| > 3 SE,
    undecided        otherwise.

Each check computes the means and standard deviations a second time, with Python's `statistics`, and applies a
second implementation of the rule. It fails if the stored verdict does not follow. The more figures a
statement of the ledger compares, the more likely it is "not reproduced" by chance. The docstring of
`verdicts` says how likely, and each statement says how many figures it compares.
"""

import functools
import math

from proofs_checks import BOTH
from proofs_checks.experiments.networks.printed import ANCHORS, LEARNERS, TITLES
from proofs_checks.experiments.networks.verdicts import combine, equal, verdict, verdict_of_times
from proofs_checks.networks import CLOCKS, LASSONET, OURS, SA, by_hand, by_rule, close, describe, figures
from sparselin.ledger import NEEDS_DATA, NOT_REPRODUCED, REPRODUCED, claims, mutants


def own(method):
    """Return whether a method is the one that the paper proposes: Sequential Attention or LassoNet."""
    return method in (SA, LASSONET)


def other(method):
    """Return whether a method is not the one that the paper proposes: neither Sequential Attention nor
    LassoNet.
    """
    return not own(method)


def judged(table, data, keep):
    """Return the printed figures of a table for a data set, each with the verdict from our records."""
    return [(printed, verdict(printed, OURS.get(printed.address))) for printed in figures(table, data, keep)]


def conclusion(table, keep=lambda method: True):
    """Return a function that maps a data set to the verdict on all printed figures of a table for it."""
    return lambda data: combine(found.verdict for _, found in judged(table, data, keep))


def words(table, keep=lambda method: True):
    """Return, for each data set, its title and the printed figures of a table as text.

    The docstrings of the checks have {title} and {figures} in the places of these words.
    """
    found = {}
    for name in TITLES:
        digits = 1 if table == "SA-table-6" else 3
        printed = [
            f"{figure.mean:.{digits}f}"
            + ("" if figure.std is None else f" ± {figure.std:.{digits}f}")
            + f" ({figure.method if table == 'SA-released' else figure.setting or figure.method})"
            for figure in figures(table, name, keep)
        ]
        found[name] = {"title": TITLES[name], "figures": ", ".join(printed)}
    return found


def rows_of(table, number, keep=lambda method: True, suffix=""):
    """Mark a docstring as the statement of a row of the ledger for each data set of a table of accuracies.

    Each row states that our records agree with the printed figures of the table for the data set. The marked
    function has no body: `met_again` checks the row.
    """

    def mark(stated):
        @functools.wraps(stated)
        def check_row(check, data):
            met_again(check, table, data, keep)

        mutants("verdict")(check_row)
        return claims(words(table, keep), table + suffix, number, "float", conclusion(table, keep))(check_row)

    return mark


RUNS = {"SA-table-2": 5, "SA-released": 5, "SA-table-5": 5}
"""The runs of a printed mean; 1 in the other tables, where it is not said or no deviation is printed."""


def met(figure, found):
    """Return whether the verdict `found` on a printed figure follows from our records.

    The verdict is derived again, from means and standard errors in plain Python and a second implementation
    of the rule.
    """
    mean, error = by_hand(figure.address)
    difference = mean - figure.mean
    if figure.within:
        tolerance = figure.within
        again = REPRODUCED if abs(difference) <= tolerance else NOT_REPRODUCED
    else:
        variance = figure.mean * (1 - figure.mean) / figure.n_test if figure.std is None else figure.std**2
        both = math.sqrt(variance / RUNS.get(figure.table, 1) + error**2 + 1e-6 / 12)
        tolerance, again = 2 * both, by_rule(equal, difference, both)
    right = close(found.difference, difference) and close(found.tolerance, tolerance)
    return right and found.verdict is again


def measured(check, found):
    """Report the difference and verdict of each figure, the number of figures, and their common verdict."""
    for _, judged in found:
        check.measured(describe(judged))
    check.measured(f"{len(found)} figure{'s' * (len(found) > 1)}")
    check.concludes(combine(judged.verdict for _, judged in found))


def met_again(check, table, data, keep=lambda method: True):
    """Check the verdicts on the printed figures of a table for a data set, and report them."""
    found = judged(table, data, keep)
    check.over([pair for pair in found if not pair[1].lacking], lambda pair: met(*pair))
    measured(check, found)


# --- Sequential Attention ---------------------------------------------------------------------------------


@rows_of("SA-table-2", f"Table 2, Figure 3 {BOTH}", own)
def test_table_2(check, data):
    """On {title} the network retrained on 50 features has the mean accuracy {figures}.

    Hypotheses: The protocol is the released one, with its leaks of test data. The paper has five seeds. The
    number of our seeds is stated with the result. The network has one hidden layer of 67 units.

    Tolerance: The squared standard error of a difference is SE² = s²/5 + s'²/m' + 0.001²/12. Here s is the
    printed standard deviation, and s' the standard deviation over our m' seeds. A figure is reproduced if our
    mean differs from the printed one by at most 2 SE, and 2 SE ≤ 0.03. It is not reproduced if the difference
    exceeds 3 SE.
    """


@rows_of("SA-table-2", f"Table 2, Figure 3 {BOTH}", other, suffix="-baselines")
def test_table_2_baselines(check, data):
    """On {title} the five baselines, with 50 features each, have these mean accuracies: {figures}.

    Hypotheses: The protocol is the released one, with its leaks of test data. The five methods are our
    implementations, and are not tuned. The group LASSO and Sequential LASSO follow a path of λ, and OMP uses
    the gradients of all rows at W = 0.

    Consequences: The results of the released code of two of the baselines have ledger ids that begin with
    SA-released.

    Tolerance: The squared standard error of a difference is SE² = s²/5 + s'²/m' + 0.001²/12. Here s is the
    printed standard deviation, and s' the standard deviation over our m' seeds. A figure is reproduced if our
    mean differs from the printed one by at most 2 SE, and 2 SE ≤ 0.03. It is not reproduced if the difference
    exceeds 3 SE. There are five comparisons, and each is judged by itself.
    """


@rows_of("SA-released", f"Table 2, B.2.2 {BOTH}")
def test_released_baselines(check, data):
    """On {title} the released code of two baselines has these mean accuracies: {figures}.

    Hypotheses: The protocol and the settings are the released ones, with 8,750 rows of image data. The
    released code of the group LASSO and of Sequential LASSO ends with an error, and no code of the concrete
    autoencoder is released.

    Tolerance: The squared standard error of a difference is SE² = s²/5 + s'²/m' + 0.001²/12. Here s is the
    printed standard deviation, and s' the standard deviation over our m' seeds. A figure is reproduced if our
    mean differs from the printed one by at most 2 SE, and 2 SE ≤ 0.03. It is not reproduced if the difference
    exceeds 3 SE. There are two comparisons, and each is judged by itself.
    """


@rows_of("SA-table-3", f"Table 3, B.2.1 {BOTH}")
def test_table_3(check, data):
    """On {title} the network has the accuracy {figures}.

    Hypotheses: The protocol is the released one. The figure is that of the column “This paper”, for which no
    standard deviation is printed.

    Tolerance: The squared standard error of a difference is SE² = p(1 − p)/n_test + s'²/m' + 0.001²/12. Here
    p is the printed accuracy, taken as that of one run on n_test rows, and s' the standard deviation over our
    m' seeds. A figure is reproduced if our mean differs from the printed one by at most 2 SE, and 2 SE ≤
    0.03. It is not reproduced if the difference exceeds 3 SE.
    """


@rows_of("SA-table-5", f"Table 5, Figure 6, B.2.3 {BOTH}", own)
def test_table_5(check, data):
    """On {title}, with the epochs and batches of Table 4, the network on 50 features has the mean accuracy
    {figures}.

    Hypotheses: Apart from the epochs and batches, the protocol is the released one. The paper has five
    trials. The number of our seeds is stated with the result.

    Tolerance: The squared standard error of a difference is SE² = s²/5 + s'²/m' + 0.001²/12. Here s is the
    printed standard deviation, and s' the standard deviation over our m' seeds. A figure is reproduced if our
    mean differs from the printed one by at most 2 SE, and 2 SE ≤ 0.03. It is not reproduced if the difference
    exceeds 3 SE.
    """


@rows_of("SA-table-5", f"Table 5, Figure 6, B.2.3 {BOTH}", other, suffix="-baselines")
def test_table_5_baselines(check, data):
    """On {title}, with the epochs and batches of Table 4, the five baselines have these mean accuracies:
    {figures}.

    Hypotheses: Apart from the epochs and batches, the protocol is the released one. The paper has five
    trials. The number of our seeds is stated with the result.

    Tolerance: The squared standard error of a difference is SE² = s²/5 + s'²/m' + 0.001²/12. Here s is the
    printed standard deviation, and s' the standard deviation over our m' seeds. A figure is reproduced if our
    mean differs from the printed one by at most 2 SE, and 2 SE ≤ 0.03. It is not reproduced if the difference
    exceeds 3 SE. There are five comparisons, and each is judged by itself.
    """


def times(data):
    """Return the selection time of each baseline divided by the time of Sequential Attention, as printed and
    in our records.
    """
    base, *others = figures("SA-table-6", data)
    pairs = [((method, base), (CLOCKS.get(method.address), CLOCKS.get(base.address))) for method in others]
    return [(printed, verdict_of_times(printed, ours)) for printed, ours in pairs]


@claims(
    words("SA-table-6"),
    "SA-table-6",
    f"Table 6, Figure 7, B.2.3 {BOTH}",
    "float",
    lambda data: combine(found.verdict for _, found in times(data)),
)
@mutants("verdict_of_times")
def test_table_6(check, data):
    """On {title} the selection by each method takes the printed multiple of Sequential Attention's time. The
    printed times in seconds are: {figures}.

    Hypotheses: The epochs and batches are those of Table 4. The implementations and the machine are ours, and
    only the time of the selection is measured.

    Consequences: The paper says that Sequential Attention is efficient. What the printed times show about
    this sentence has the ledger id SA-table-6.

    Tolerance: The printed ratio of two times and ours may differ by a factor of 2, because no standard error
    includes the difference of two machines. There are five comparisons, and each is judged by itself.
    """
    found = times(data)

    def right(pair):
        (method, base), this = pair
        ratio = by_hand(method.address)[0] / by_hand(base.address)[0] / (method.mean / base.mean)
        again = REPRODUCED if 0.5 <= ratio <= 2 else NOT_REPRODUCED
        return close(2**this.difference, ratio) and this.verdict is again

    check.over([pair for pair in found if not pair[1].lacking], right)
    measured(check, found)


@rows_of("SA-table-9", f"Table 9, Figure 8, B.4 {BOTH}")
def test_table_9(check, data):
    """On {title} the network on 64 features, selected 1, 2, 4, … at a time, has these seven mean accuracies:
    {figures}.

    Hypotheses: The protocol is the released one, without its defect in selecting several features at a time.
    The paper does not state its number of runs. The number of our seeds is stated with the result.

    Tolerance: The squared standard error of a difference is SE² = s² + s'²/m' + 0.001²/12. Here s is the
    printed standard deviation, and s' the standard deviation over our m' seeds. A figure is reproduced if our
    mean differs from the printed one by at most 2 SE, and 2 SE ≤ 0.03. It is not reproduced if the difference
    exceeds 3 SE. There are seven comparisons, and each is judged by itself.
    """


@rows_of("SA-table-10", f"Table 10, Figure 10, B.5 {BOTH}")
def test_table_10(check, data):
    """On {title} the network on 50 features, selected by each of five masks, has these mean accuracies:
    {figures}.

    Hypotheses: The protocol is the released one. The paper does not state its number of runs. The number of
    our seeds is stated with the result.

    Tolerance: The squared standard error of a difference is SE² = s² + s'²/m' + 0.001²/12. Here s is the
    printed standard deviation, and s' the standard deviation over our m' seeds. A figure is reproduced if our
    mean differs from the printed one by at most 2 SE, and 2 SE ≤ 0.03. It is not reproduced if the difference
    exceeds 3 SE. There are five comparisons, and each is judged by itself.
    """


@claims(
    {"7": {"of": "AUC"}, "8": {"of": "log loss"}},
    "SA-table",
    f"Tables 7 and 8, Figure 4, B.3 {BOTH}",
    "float",
    lambda table: NEEDS_DATA,
)
def test_criteo(check, table):
    """On Criteo, for k = 5, 10, …, 35 features, each of seven methods has the {of} of Table 7 or 8.

    Hypotheses: The network has three hidden layers, and makes one pass over three billion examples.

    Consequences: The paper says that Sequential Attention outperforms the other methods. What the printed
    figures show about this sentence has the ledger ids SA-figure-4 and SA-figure-4-variance.
    """
    check.measured("the data are not here; docs/guide/networks.md, logs of clicks, reads one's own")
    check.concludes(NEEDS_DATA)


# --- LassoNet ---------------------------------------------------------------------------------------------


@rows_of("LN-table-1", "Table 1, section 5.3", own)
def test_lassonet_table_1(check, data):
    """On {title}, a network trained on the 50 features that LassoNet selects has the accuracy {figures}.

    Hypotheses: The split is 70-10-20, and no standard deviations are printed. The data are read and split,
    and LassoNet's width is chosen, as in the released code and not as in print (`lassonet_study`).

    Tolerance: The squared standard error of a difference is SE² = p(1 − p)/n_test + s'²/m' + 0.001²/12. Here
    p is the printed accuracy, taken as that of one run on n_test rows, and s' the standard deviation over our
    m' seeds. A figure is reproduced if our mean differs from the printed one by at most 2 SE, and 2 SE ≤
    0.03. It is not reproduced if the difference exceeds 3 SE.
    """


@rows_of("LN-table-1", "Table 1, section 5.3", other, suffix="-others")
def test_lassonet_table_1_others(check, data):
    """On {title} a network on all features, or on 50 features selected by Fisher's score or by principal
    feature analysis, has these three accuracies: {figures}.

    Hypotheses: The split is 70-10-20, and no standard deviations are printed. The data are read and split as
    in the released code and not as in print (`lassonet_study`). Fisher's score ranks the features in the same
    order as the method “largest correlation”, which uses the correlation ratio.

    Unchecked: HSIC-Lasso is not compared, because we have no implementation of it.

    Tolerance: The squared standard error of a difference is SE² = p(1 − p)/n_test + s'²/m' + 0.001²/12. Here
    p is the printed accuracy, taken as that of one run on n_test rows, and s' the standard deviation over our
    m' seeds. A figure is reproduced if our mean differs from the printed one by at most 2 SE, and 2 SE ≤
    0.03. It is not reproduced if the difference exceeds 3 SE. There are three comparisons, and each is judged
    by itself.
    """


@rows_of("LN-table-2", "Table 2, Appendix C", own)
def test_lassonet_table_2(check, data):
    """On {title} 50 extremely randomised trees on the 50 features that LassoNet selects have the accuracy
    {figures}.

    Hypotheses: The split is 70-10-20, and no standard deviations are printed. The data are read and split,
    and LassoNet's width is chosen, as in the released code and not as in print (`lassonet_study`).

    Tolerance: The squared standard error of a difference is SE² = p(1 − p)/n_test + s'²/m' + 0.001²/12. Here
    p is the printed accuracy, taken as that of one run on n_test rows, and s' the standard deviation over our
    m' seeds. A figure is reproduced if our mean differs from the printed one by at most 2 SE, and 2 SE ≤
    0.03. It is not reproduced if the difference exceeds 3 SE.
    """


@rows_of("LN-table-2", "Table 2, Appendix C", other, suffix="-others")
def test_lassonet_table_2_others(check, data):
    """On {title} 50 extremely randomised trees on all features, or on 50 features selected by Fisher's score
    or by principal feature analysis, have these three accuracies: {figures}.

    Hypotheses: The split is 70-10-20, and no standard deviations are printed. The data are read and split as
    in the released code and not as in print (`lassonet_study`). Fisher's score ranks the features in the same
    order as the method “largest correlation”, which uses the correlation ratio.

    Unchecked: HSIC-Lasso is not compared, because we have no implementation of it.

    Tolerance: The squared standard error of a difference is SE² = p(1 − p)/n_test + s'²/m' + 0.001²/12. Here
    p is the printed accuracy, taken as that of one run on n_test rows, and s' the standard deviation over our
    m' seeds. A figure is reproduced if our mean differs from the printed one by at most 2 SE, and 2 SE ≤
    0.03. It is not reproduced if the difference exceeds 3 SE. There are three comparisons, and each is judged
    by itself.
    """


# --- all features with three learners ---------------------------------------------------------------------

WITH_ANCHORS = {data: title for data, title in TITLES.items() if title in ANCHORS}


@claims(
    {
        data: {
            "title": title,
            "figures": ", ".join(f"{x:g} % of {n}" for n, x in zip(LEARNERS, ANCHORS[title], strict=True)),
        }
        for data, title in WITH_ANCHORS.items()
    },
    "ours-anchors",
    "Atashgahi et al. 2023; Li et al. 2024",
    "float",
    conclusion("anchors"),
)
@mutants("verdict")
def test_anchors(check, data):
    """On {title} three learners with all features have the accuracies {figures}. They have scikit-learn's
    default parameters, except for 50 trees.

    Hypotheses: The accuracies are those that later papers print for all features. The rows of the data and
    the scaling of the features are as in the released code of one of these papers.

    Tolerance: Accuracies may differ by 0.3 percentage points.
    """
    met_again(check, "anchors", data)
