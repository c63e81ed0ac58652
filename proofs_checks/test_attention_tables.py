"""Sequential Attention's experiments: sentences that the paper's own tables decide.

Source: *Sequential Attention for Feature Selection*, Sections 4.1 and 4.2, Figures 3 and 4, Tables 1, 2 and 5
to 10, Appendices B.2 to B.4 (ICLR and NeurIPS submission, with the same numbers); *LassoNet* (JMLR 22(127),
2021), Tables 1 and 2, for the baselines. Only printed figures are compared here, those of Table 1 with the
sizes of the data sets; whether experiments that are run again give them is decided in
test_networks_tables.py. "Outperforms" is read as a better mean, strictly. What the differences mean is
another question: behind ± are five runs in Tables 2, 5 and 6, three in 7 and 8; of 9 and 10 it is not said.
"""

from fractions import Fraction

from proofs_checks.experiments.networks.data import FORMS
from proofs_checks.experiments.networks.printed import (
    BOLD,
    CRITEO,
    DECODER,
    LASSONET_DATA,
    SMALL,
    TABLE_1,
    TABLE_2,
    TABLE_5,
    TABLE_6,
    TABLE_7,
    TABLE_8,
    TABLE_9,
    TABLE_10,
    TITLES,
    TREES,
)
from proofs_checks.printed_means import apart, better
from sparselin.ledger import CONTRADICTED, CORRECTED, EMPIRICAL, HOLDS, MISPRINT, claim, mutants

VERSIONS = "(ICLR, NeurIPS submission)"
LASSO = ("GL(1e-1)", "GL(1e-4)", "SL(1e-1)", "SL(1e-4)")
AUC, LOG_LOSS = TABLE_7, TABLE_8
TIMES = {name: tuple(mean for mean, _ in row) for name, row in TABLE_6.items()}


STATED = {
    "Mice Protein": (72 * 15, 77, 8),
    "MNIST": (60_000 + 10_000, 28 * 28, 10),
    "MNIST-Fashion": (60_000 + 10_000, 28 * 28, 10),
    "ISOLET": (6238 + 1559, 617, 26),
    "COIL-20": (20 * 72, 20 * 20, 20),
    "Activity": (5744, 561, 6),
}
"""The rows, features and classes of the data sets, as their own descriptions state them."""


def sizes(title):
    """Return the rows, features and classes of a data set, as our loader checks them in its files."""
    (form,) = (form for form in FORMS.values() if form.title == title)
    return form.rows, form.d, form.classes


@claim("SA-table-1", f"Table 1, Appendix B.2 {VERSIONS}", "exact", CORRECTED)
@mutants("sizes")
def test_sizes_of_the_data_sets(check):
    """Mice Protein has 1,080 examples, 77 features and 8 classes; MNIST and MNIST-Fashion have 60,000, 784
    and 10; ISOLET has 7,797, 617 and 26; COIL-20 has 1,440, 400 and 20; Activity has 5,744, 561 and 6.

    Reading of: “details about each of the datasets”, “# Examples”, the rows to train on and to test on

    Hypotheses: the sizes that the data sets' own descriptions state, COIL-20 resized to 20 × 20 pixels;
    Activity is the Smartphone Dataset for Human Activity Recognition in Ambient Assisted Living

    Instead: MNIST and MNIST-Fashion have 70,000 examples. The printed 60,000 are the training rows only,
    whereas ISOLET's 7,797 include its 1,559 test rows. The other numbers are right.

    Consequences: LassoNet's tables have the same sizes, but 10,000 for MNIST and MNIST-Fashion: its released
    code splits their test images. The released code of Sequential Attention downloads another Activity, UCI
    240, of 10,299 rows.

    Unchecked: the files of that Activity; of the other five our loader checks them
    """
    for name in ("MNIST", "MNIST-Fashion"):
        check.refutes(
            TABLE_1[name][0] == 60_000 != STATED[name][0], f"{name}: 60,000 to train on, 10,000 to test on"
        )
    wrong = [name for name in TABLE_1 if TABLE_1[name] != STATED[name]]
    check.over([wrong], lambda names: names == ["MNIST", "MNIST-Fashion"])
    check.over(TABLE_1, lambda name: TABLE_1[name][1:] == STATED[name][1:])
    check.over([name for name in STATED if name != "Activity"], lambda name: sizes(name) == STATED[name])
    tested = dict.fromkeys(wrong, 10_000)
    found = {name: row[0] for name, row in LASSONET_DATA.items()}
    check.over([found], lambda found: found == {name: row[0] for name, row in TABLE_1.items()} | tested)


@claim("SA-figure-3", f"Section 4.1, Figure 3, with Table 2 {VERSIONS}", "exact", EMPIRICAL)
@mutants("better")
def test_small_scale(check):
    """On each of six data sets Sequential Attention has the best mean accuracy, or its interval, mean ±
    standard deviation, meets those of all methods with a better one.

    Reading of: “Sequential Attention is competitive with or outperforms all feature selection algorithms on
    this benchmark suite”

    Hypotheses: the figures of Table 2; the intervals are ours, and on MNIST they have an end in common

    Consequences: On no data set is Sequential Attention ahead of all other methods. SL has the same mean on
    MNIST-Fashion and ISOLET, and GL on COIL-20. OMP has a better mean on Mice Protein, SL on MNIST, and GL on
    Activity.

    Unchecked: the experiments; significance (five runs)
    """
    others = {"Mice Protein": ["OMP"], "MNIST": ["SL"], "Activity": ["GL"]}

    def competitive(name):
        ours, *theirs = TABLE_2[name]
        met = all(not apart(ours, TABLE_2[name][SMALL.index(other)]) for other in better(TABLE_2[name]))
        return met and better(TABLE_2[name]) == others.get(name, []) and max(theirs)[0] >= ours[0]

    check.over(TABLE_2, competitive)
    first = sum(not better(row) for row in TABLE_2.values())
    most = max(max(row)[0] - row[0][0] for row in TABLE_2.values())
    check.measured(f"best or as good on {first} of {len(TABLE_2)}; behind by at most {most / 1000}")


def quicker(times):
    """Return the methods that take less time than SA."""
    return {name for name, time in zip(SMALL, times, strict=True) if time < times[0]}


@claim("SA-table-6", f"Section 4.1, with Table 6, Appendix B.2.3 {VERSIONS}", "exact", CONTRADICTED)
@mutants("quicker")
def test_running_times(check):
    """On each data set Sequential Attention takes less time than each of the other algorithms.

    Reading of: “our algorithm is considerably more efficient compared to prior feature selection algorithms,
    especially those designed for neural networks”

    Hypotheses: the mean times of Table 6, for the same epochs and batch sizes

    Instead: Sequential Attention takes less time than the two methods that train subnetworks: LLY takes 1.04
    to 1.98 times as long, CAE 2.09 to 10.25 times. But on all six data sets GL takes 0.85 to 0.97 times as
    long as Sequential Attention, SL 0.81 to 0.95 times, and OMP 0.88 to 1.11 times.

    Unchecked: the experiments
    """
    check.refutes(
        {"GL", "SL"} <= quicker(TIMES["MNIST"]),
        "MNIST: SA 54.5 s, group LASSO 53.0 s, Sequential LASSO 51.5 s",
    )
    by_omp = ("Mice Protein", "Activity")
    check.over(TIMES, lambda name: quicker(TIMES[name]) == {"GL", "SL", *(["OMP"] if name in by_omp else [])})
    ratios = {m: [round(float(t[i] / t[0]), 2) for t in TIMES.values()] for i, m in enumerate(SMALL)}
    least, most = ((1.04, 2.09, 0.85, 0.81, 0.88), (1.98, 10.25, 0.97, 0.95, 1.11))
    named = ("LLY", "CAE", "GL", "SL", "OMP")
    check.over(
        zip(named, least, most, strict=True), lambda m: (min(ratios[m[0]]), max(ratios[m[0]])) == m[1:]
    )


def behind(row, higher):
    """Return by how much SA's mean is worse than the best of the others, the name of that one, and both
    s.d. added"""
    sign = 1 if higher else -1
    best = max(range(1, len(row)), key=lambda i: sign * row[i][0])
    return sign * (row[best][0] - row[0][0]), CRITEO[best], row[0][1] + row[best][1]


@claim("SA-figure-4", f"Section 4.1, Figure 4, with Tables 7 and 8 {VERSIONS}", "exact", CONTRADICTED)
@mutants("behind")
def test_on_criteo(check):
    """On Criteo Sequential Attention outperforms other methods when at least 15 features are selected.

    Hypotheses: the figures of Tables 7 and 8; k = 15, 20, 25, 30, 35; AUC and log loss

    Instead: This is true in AUC for k = 15, 20, 25 and in log loss for k = 15, 20. A generalized LASSO has
    the better AUC for k = 30, 35, and the better log loss for k = 25, 30, 35; the differences are below the
    two standard deviations added.

    Consequences: For k ≥ 15 it is among the best.

    Unchecked: the experiments; significance (three runs)
    """
    for label, table, k in (
        ("AUC", AUC, 35),
        ("AUC", AUC, 30),
        *(("log loss", LOG_LOSS, k) for k in (25, 30, 35)),
    ):
        by, name, _ = behind(table[k], label == "AUC")
        better = table[k][CRITEO.index(name)][0]
        check.refutes(
            by > 0 and name.startswith("GL"), f"{label}, k = {k}: SA 0.{table[k][0][0]}, GL 0.{better}"
        )
    ahead = [(AUC[k], True) for k in (15, 20, 25)] + [(LOG_LOSS[k], False) for k in (15, 20)]
    behind_others = [(AUC[k], True) for k in (30, 35)] + [(LOG_LOSS[k], False) for k in (25, 30, 35)]
    check.over(ahead, lambda case: behind(*case)[0] < 0)
    check.over(behind_others, lambda case: 0 < behind(*case)[0] < behind(*case)[2])


def spreads(table):
    """Return SA's standard deviation and each LASSO's, for every k."""
    return [(k, name, row[0][1], row[CRITEO.index(name)][1]) for k, row in table.items() for name in LASSO]


@claim(
    "SA-figure-4-variance", f"Section 4.1, Figure 4, with Tables 7 and 8 {VERSIONS}", "exact", CONTRADICTED
)
@mutants("spreads")
def test_variance_on_criteo(check):
    """On Criteo the standard deviation of Sequential Attention is less than that of each LASSO-based method,
    for every k.

    Reading of: “it has substantially less variance than LASSO-based feature selection algorithms”

    Hypotheses: the standard deviations of Tables 7 and 8; generalized and Sequential LASSO, two λ each, k =
    5, …, 35

    Instead: This holds in 47 of 56 comparisons: in 24 of 28 for AUC and in 23 of 28 for log loss. In 43 of
    the 56 the standard deviation is less than half of the LASSO's. For the k of Figure 4, which leaves out
    k = 5, the numbers are 40 of 48, and less than half in 36.

    Unchecked: the experiments; standard deviations of three runs are known to a factor of two at best
    """
    check.refutes((30, "GL(1e-4)", 46, 26) in spreads(AUC), "AUC, k = 30: SA 0.00046, GL (λ = 1e-4) 0.00026")
    check.refutes((15, "GL(1e-1)", 36, 27) in spreads(AUC), "AUC, k = 15: SA 0.00036, GL (λ = 0.1) 0.00027")
    check.refutes(
        (25, "GL(1e-4)", 13, 4) in spreads(LOG_LOSS), "log loss, k = 25: SA 0.00013, GL (λ = 1e-4) 0.00004"
    )
    found = [spread for table in (AUC, LOG_LOSS) for spread in spreads(table)]
    plotted = [spread for spread in found if spread[0] >= 10]
    counts = [
        sum(factor * ours < theirs for _, _, ours, theirs in those)
        for those in (found[:28], found[28:], plotted)
        for factor in (1, 2)
    ]
    check.tally(56, int(counts != [24, 21, 23, 22, 40, 36]), f"{counts}")


def least_lead(name, baselines):
    """Return the least accuracy of a mask on a data set, less the best of the baselines'."""
    return Fraction(min(mean for mean, _ in TABLE_10[name]) - max(baselines[name]), 1000)


@claim(
    "SA-section-4.2-baselines",
    f"Section 4.2, with Table 10 {VERSIONS} and LassoNet's Tables 1 and 2",
    "exact",
    CONTRADICTED,
)
@mutants("least_lead")
def test_masks_beside_lassonet(check):
    """On each benchmark data set all five masks outperform LassoNet and the baselines considered with it.

    Hypotheses: the accuracies in print, six data sets; two tables of LassoNet's, one for each learner

    Instead: Compared with LassoNet's Table 1, whose learner is a network too, this holds. Compared with
    LassoNet's Table 2 (trees) it does not hold on COIL-20, nor on Mice Protein, where PFA and LassoNet have
    0.997 and the masks at most 0.994.

    Unchecked: the experiments; the two papers' networks, sample sizes and splits differ
    """
    check.refutes(
        least_lead("Mice Protein", TREES) == Fraction(-9, 1000)
        and max(mean for mean, _ in TABLE_10["Mice Protein"]) == 994 < max(TREES["Mice Protein"]),
        "Mice Protein: at most 0.994 with the masks, 0.997 in LassoNet's Table 2",
    )
    check.refutes(
        least_lead("COIL-20", TREES) == Fraction(-1, 1000),
        "COIL-20: 0.995 with ℓ₂, 0.996 of the Fisher score in LassoNet's Table 2",
    )
    check.over(TABLE_10, lambda name: least_lead(name, DECODER) > 0)
    others = [name for name in TABLE_10 if name not in ("Mice Protein", "COIL-20")]
    check.over(others, lambda name: least_lead(name, TREES) > 0)
    check.measured(
        f"the least lead over Table 1 is {float(min(least_lead(name, DECODER) for name in TABLE_10))}"
    )


def by_set_and_i(table):
    """Return whether a table has a row for each of the six data sets, and in it a figure for each i = 0, …,
    6."""
    return list(table) == list(TITLES.values()) and all(len(row) == 7 for row in table.values())


@claim("SA-B.4-summary", f"Appendix B.4 {VERSIONS}", "exact", MISPRINT)
@mutants("by_set_and_i")
def test_where_the_results_are(check):
    """Table 8 and Table 9 have the accuracies with 64 features, 2^i at a time, on the six data sets.

    Reading of: “Our results are summarized in Table 8 and Table 9”

    Hypotheses: the tables in print, i = 0, …, 6

    Instead: Figure 8 and Table 9 have these accuracies.

    Consequences: None: Table 9 has all of them, and it is the only table that has them.

    Unchecked: Figure 8 is a picture; its caption says that it plots them
    """
    check.refutes(
        not by_set_and_i(TABLE_8) and list(TABLE_8) == [5, 10, 15, 20, 25, 30, 35],
        "Table 8: the log loss on Criteo with k = 5, …, 35 features, by seven methods",
    )
    check.over([TABLE_9], by_set_and_i)
    others = TABLE_1, TABLE_2, TABLE_5, TABLE_6, TABLE_7, TABLE_10
    check.over(others, lambda table: not by_set_and_i(table))


def means(name):
    """Return the accuracies of Table 9, i = 0..6."""
    return [mean for mean, _ in TABLE_9[name]]


@claim("SA-B.4-adaptivity", f"Appendix B.4, with Table 9 {VERSIONS}", "exact", HOLDS)
@mutants("means")
def test_more_at_once(check):
    """On five of six data sets the accuracy with 64 features at once is below the accuracy with one at a
    time, by 0.010 or more.

    Reading of: “For most datasets, we find that feature selection quality decreases as we select more
    features at once”

    Hypotheses: the accuracies in print; ends compared, i = 0 and i = 6

    Consequences: At every i it decreases on MNIST and ISOLET only.

    Unchecked: the experiments
    """
    lower = [name for name in TABLE_9 if means(name)[6] < means(name)[0]]
    check.over([lower], lambda lower: lower == [name for name in TABLE_9 if name != "Mice Protein"])
    steadily = [name for name in TABLE_9 if sorted(means(name), reverse=True) == means(name)]
    strictly = [name for name in steadily if len(set(means(name))) == 7]
    check.over([strictly], lambda names: names == ["MNIST", "ISOLET"])
    check.over(lower, lambda name: means(name)[0] - means(name)[6] >= 10)
    check.measured(f"steadily on {', '.join(steadily)}")


@claim("SA-B.4-mice", f"Appendix B.4, with Table 9 {VERSIONS}", "exact", CONTRADICTED)
@mutants("means")
def test_mice_protein(check):
    """On Mice Protein the quality increases as more features are selected at once: the opposite trend.

    Hypotheses: the accuracies in print, i = 0..6

    Instead: There is no trend: the accuracies are 0.990, 0.990, 0.989, 0.989, 0.991, 0.992, 0.990, all
    within 0.003, and each has a standard deviation of 0.005 or more.

    Consequences: The paper's explanation, less redundant features, has nothing to explain. This row is
    about the printed figures, whose two ends are equal. SA-B.4-mice-again is about the order of the two
    ends in our records. The two rows use different data, so neither decides the other.

    Unchecked: the experiments
    """
    found = means("Mice Protein")
    check.refutes(
        found[0] == found[6] == 990 > found[2], "0.990 at i = 0, 0.989 at i = 2 and 3, 0.990 at i = 6"
    )
    deviations = [deviation for _, deviation in TABLE_9["Mice Protein"]]
    check.over(found, lambda mean: abs(mean - 990) <= 2 and max(found) - min(found) == 3 < min(deviations))


def best_of(name):
    """Return the positions at which a row of Table 5 is largest."""
    means = [mean for mean, _ in TABLE_5[name]]
    return [i for i, mean in enumerate(means) if mean == max(means)]


@claim("SA-table-5", f"Table 5, Appendix B.2.3 {VERSIONS}", "exact", MISPRINT)
@mutants("best_of")
def test_bold_type(check):
    """In each row the best accuracy is in bold type.

    Reading of: the bold type of Table 5, which is not explained

    Hypotheses: the means in print

    Instead: This holds in five of six rows. On COIL-20 the group LASSO is best with 0.997 ± 0.000, but SA and
    SL are in bold, with 0.993 ± 0.004.

    Unchecked: the experiments
    """
    check.refutes(
        best_of("COIL-20") == [2] and BOLD["COIL-20"] == (0, 3),
        "COIL-20: GL 0.997 is not in bold, SA 0.993 and SL 0.993 are",
    )
    others = [name for name in TABLE_5 if name != "COIL-20"]
    check.over(others, lambda name: set(best_of(name)) <= set(BOLD[name]))
