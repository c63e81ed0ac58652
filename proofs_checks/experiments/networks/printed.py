"""The figures that two papers and two later comparisons print about their network experiments.

`TABLE_1` to `TABLE_10` are the tables of *Sequential Attention for Feature Selection* (ICLR; the NeurIPS
submission has the same numbers). `DECODER` and `TREES` are Tables 1 and 2 of *LassoNet: A Neural Network with
Feature Sparsity* (JMLR 22(127), 2021), and `LASSONET_DATA` has their data sets. `ANCHORS` are the accuracies
with all features in two later comparisons. Accuracies and standard deviations are integers, in thousandths,
so that they are exact.

`TABLES` has a function for each printed table. The function yields the printed figures that we compute again.
Each figure has the study, the method and the setting of the runs that compute it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

Figures = tuple[tuple[int, int], ...]

TITLES = {
    "mice": "Mice Protein",
    "mnist": "MNIST",
    "fashion": "MNIST-Fashion",
    "isolet": "ISOLET",
    "coil20": "COIL-20",
    "activity": "Activity",
}
"""The key of a data set ↦ its title in both papers."""

# --- Sequential Attention --------------------------------------------------------------------------------

SMALL = ("SA", "LLY", "GL", "SL", "OMP", "CAE")
"""The methods of Tables 2, 5 and 6."""
# examples, features, classes
TABLE_1 = {
    "Mice Protein": (1080, 77, 8),
    "MNIST": (60_000, 784, 10),
    "MNIST-Fashion": (60_000, 784, 10),
    "ISOLET": (7797, 617, 26),
    "COIL-20": (1440, 400, 20),
    "Activity": (5744, 561, 6),
}
# mean accuracies and standard deviations of five runs, 50 features
TABLE_2: Mapping[str, Figures] = {
    "Mice Protein": ((993, 8), (981, 5), (985, 5), (984, 8), (994, 8), (956, 12)),
    "MNIST": ((956, 2), (944, 1), (937, 3), (959, 1), (912, 4), (909, 7)),
    "MNIST-Fashion": ((854, 3), (843, 5), (834, 4), (854, 3), (829, 8), (839, 3)),
    "ISOLET": ((920, 6), (866, 12), (906, 6), (920, 3), (727, 26), (893, 11)),
    "COIL-20": ((997, 1), (994, 2), (997, 4), (988, 5), (967, 14), (972, 7)),
    "Activity": ((931, 4), (897, 25), (933, 2), (931, 3), (905, 13), (921, 1)),
}
# accuracies with all features: from LassoNet's Table 1, and from this paper
TABLE_3 = {
    "Mice Protein": (990, 963),
    "MNIST": (928, 953),
    "MNIST-Fashion": (833, 869),
    "ISOLET": (953, 961),
    "COIL-20": (996, 986),
    "Activity": (853, 954),
}
# epochs and batch size of Tables 5 and 6
TABLE_4 = {
    "Mice Protein": (2000, 256),
    "MNIST": (50, 256),
    "MNIST-Fashion": (250, 128),
    "ISOLET": (500, 256),
    "COIL-20": (1000, 256),
    "Activity": (1000, 512),
}
TABLE_5: Mapping[str, Figures] = {
    "Mice Protein": ((984, 12), (907, 42), (968, 28), (961, 25), (556, 32), (956, 12)),
    "MNIST": ((958, 1), (932, 9), (930, 1), (957, 1), (912, 0), (909, 7)),
    "MNIST-Fashion": ((852, 1), (833, 4), (834, 1), (852, 3), (722, 29), (839, 3)),
    "ISOLET": ((931, 1), (853, 16), (885, 0), (921, 2), (580, 25), (893, 11)),
    "COIL-20": ((993, 4), (976, 14), (997, 0), (993, 4), (988, 2), (972, 7)),
    "Activity": ((926, 2), (881, 13), (923, 2), (927, 6), (909, 0), (921, 1)),
}
# the columns of Table 5 in bold type
BOLD = {
    "Mice Protein": (0,),
    "MNIST": (0, 3),
    "MNIST-Fashion": (0, 3),
    "ISOLET": (0,),
    "COIL-20": (0, 3),
    "Activity": (0, 3),
}
# seconds, mean and standard deviation of five runs
TABLE_6 = {
    "Mice Protein": ((57.5, 1.5), (90.5, 3.5), (49.0, 1.0), (46.5, 1.5), (50.5, 1.5), (375.0, 16.0)),
    "MNIST": ((54.5, 2.5), (80.0, 5.0), (53.0, 1.0), (51.5, 2.5), (55.5, 0.5), (119.0, 1.0)),
    "MNIST-Fashion": ((279.5, 0.5), (553.0, 2.0), (265.0, 1.0), (266.0, 1.0), (309.5, 3.5), (583.5, 2.5)),
    "ISOLET": ((61.0, 0.0), (76.0, 0.0), (59.0, 1.0), (56.5, 1.5), (62.0, 1.0), (611.5, 21.5)),
    "COIL-20": ((52.0, 0.0), (54.0, 0.0), (47.0, 1.0), (48.5, 0.5), (52.0, 1.0), (304.5, 7.5)),
    "Activity": ((123.0, 1.0), (159.5, 0.5), (113.5, 0.5), (116.0, 0.0), (121.5, 0.5), (1260.5, 2.5)),
}
CRITEO = ("SA", "CMIM", "GL(1e-1)", "GL(1e-4)", "SL(1e-1)", "SL(1e-4)", "LLY")
"""The methods of Tables 7 and 8."""
# by k: AUC, mean and standard deviation of three runs, in 1e-5
TABLE_7: Mapping[int, Figures] = {
    5: ((67232, 15), (63950, 76), (68342, 585), (50161, 227), (60278, 4473), (67710, 873), (58300, 6360)),
    10: ((70167, 60), (69402, 52), (71942, 59), (64262, 187), (62263, 6097), (70964, 385), (68103, 137)),
    15: ((72659, 36), (72014, 67), (72392, 27), (65977, 125), (66203, 4319), (72264, 213), (69762, 654)),
    20: ((72997, 66), (72232, 103), (72624, 330), (72085, 106), (70252, 1985), (72668, 307), (71395, 467)),
    25: ((73281, 30), (72339, 42), (73072, 193), (73253, 91), (71764, 987), (73084, 70), (72057, 444)),
    30: ((73420, 46), (72622, 49), (73425, 81), (73390, 26), (72267, 663), (72988, 434), (72487, 223)),
    35: ((73495, 40), (73225, 24), (73058, 350), (73512, 58), (73029, 509), (73361, 37), (73078, 102)),
}
# the same for the log loss
TABLE_8: Mapping[int, Figures] = {
    5: ((14123, 5), (14323, 10), (14036, 46), (14519, 0), (14375, 163), (14073, 61), (14415, 146)),
    10: ((13883, 9), (13965, 8), (13747, 15), (14339, 19), (14263, 304), (13826, 32), (14082, 11)),
    15: ((13671, 7), (13745, 8), (13693, 5), (14227, 21), (14166, 322), (13713, 21), (13947, 50)),
    20: ((13633, 8), (13726, 10), (13693, 57), (13718, 4), (13891, 187), (13672, 35), (13806, 48)),
    25: ((13613, 13), (13718, 9), (13648, 51), (13604, 4), (13760, 99), (13628, 10), (13756, 43)),
    30: ((13596, 1), (13685, 4), (13593, 15), (13594, 5), (13751, 95), (13670, 80), (13697, 15)),
    35: ((13585, 2), (13617, 6), (13666, 73), (13580, 12), (13661, 96), (13603, 10), (13635, 5)),
}
# 64 features, 2^i at a time, i = 0, …, 6
TABLE_9: Mapping[str, Figures] = {
    "Mice Protein": ((990, 6), (990, 8), (989, 6), (989, 6), (991, 5), (992, 6), (990, 7)),
    "MNIST": ((963, 1), (961, 1), (956, 1), (950, 3), (940, 7), (936, 1), (932, 4)),
    "MNIST-Fashion": ((860, 2), (856, 2), (852, 3), (852, 4), (847, 2), (849, 2), (843, 3)),
    "ISOLET": ((934, 5), (930, 3), (927, 5), (919, 4), (893, 22), (845, 21), (782, 22)),
    "COIL-20": ((998, 2), (997, 5), (999, 1), (998, 3), (995, 5), (972, 12), (988, 9)),
    "Activity": ((938, 8), (934, 7), (928, 10), (930, 8), (915, 4), (898, 10), (913, 10)),
}
MASKS = ("softmax", "l1", "l2", "l1_normalized", "l2_normalized")
"""The masks of Table 10."""
TABLE_10: Mapping[str, Figures] = {
    "Mice Protein": ((990, 6), (993, 10), (993, 10), (994, 6), (988, 8)),
    "MNIST": ((958, 2), (957, 1), (958, 2), (958, 1), (957, 1)),
    "MNIST-Fashion": ((850, 2), (843, 4), (850, 3), (853, 1), (852, 2)),
    "ISOLET": ((920, 3), (894, 14), (908, 9), (921, 3), (921, 3)),
    "COIL-20": ((997, 4), (997, 4), (995, 6), (996, 5), (996, 4)),
    "Activity": ((922, 5), (906, 15), (908, 12), (933, 10), (935, 7)),
}

# --- LassoNet --------------------------------------------------------------------------------------------

LASSONET = ("Fisher", "HSIC-Lasso", "PFA", "LassoNet")
"""The methods of its Tables 1 and 2, which have no standard deviations."""
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
# n, d, classes, and the accuracies with all features, of the decoder and of the trees
LASSONET_DATA = {
    "Mice Protein": (1080, 77, 8, 990, 997),
    "MNIST": (10000, 784, 10, 928, 941),
    "MNIST-Fashion": (10000, 784, 10, 833, 831),
    "ISOLET": (7797, 617, 26, 953, 951),
    "COIL-20": (1440, 400, 20, 996, 996),
    "Activity": (5744, 561, 6, 853, 859),
}

# --- downstream learners ---------------------------------------------------------------------------------

LEARNERS = ("SVC", "1-NN", "ExtraTrees")
# percents of all features with these learners (Atashgahi et al. 2023; Li et al. 2024)
ANCHORS = {
    "COIL-20": (100.0, 100.0, 100.0),
    "MNIST": (97.92, 96.91, 96.9),
    "MNIST-Fashion": (88.3, 84.96, 87.39),
    "ISOLET": (96.03, 88.14, 94.04),
}

# --- the printed figures and the pieces that compute them again ------------------------------------------

NAMES = {
    "SA": "Sequential Attention",
    "LLY": "feature mask (LLY)",
    "GL": "group LASSO",
    "SL": "Sequential LASSO",
    "OMP": "OMP",
    "CAE": "concrete autoencoder",
    # Fisher's score Σn_c(μ_c − μ)²/Σn_cσ_c² = η²/(1 − η²) increases with the correlation ratio η
    "Fisher": "largest correlation",
    "PFA": "principal feature analysis",
    "LassoNet": "LassoNet",
}
"""A heading of the tables ↦ the method of pieces; HSIC-Lasso is not computed."""
ALL = "all features"
"""The method of pieces without a selection, k = d."""
OWN = "own defaults"
"""The setting of our own Sequential Attention, on the training rows of the other methods."""
AS_RELEASED = "as released"
"""The setting of the authors' code: the anchors prepared as in NeuroFS, and no defect corrected."""
RUNS = 5
"""The number of runs behind a mean of Sequential Attention's Tables 2, 5 and 6. Tables 9, 10 state none."""


@dataclasses.dataclass(frozen=True)
class Printed:
    """A mean that a paper prints, and the address of our runs that compute it again.

    Attributes
    ----------
    table : the printed table, for example "SA-table-2", Table 2 of Sequential Attention. The ids of
        statements about this table in the ledger begin with this text.
    study, data, method, k, setting : the fields of the runs that compute this figure again, as in
        `pieces.Piece`.
    learner : a key of `Record.scores`, or for times a key of `Record.seconds`.
    mean, std : accuracies as shares, or times in seconds; std is None if it is not printed.
    n_train : the number of training rows in the paper's protocol.
    n_test : the number of rows of one test set.
    runs : the number of runs behind the mean; 1 if the paper does not state it, or prints no standard
        deviation.
    within : a tolerance that was fixed before our runs, and for which one seed is enough. None: the rule in
        `verdicts` applies.
    """

    table: str
    study: str
    data: str
    method: str
    k: int
    setting: str
    learner: str
    mean: float
    std: float | None
    n_train: int
    n_test: int
    runs: int = 1
    within: float | None = None

    @property
    def address(self) -> tuple[str, str, str, int, str, str]:
        """The tuple (study, data, method, k, setting, learner), which identifies our results for this
        figure.
        """
        return self.study, self.data, self.method, self.k, self.setting, self.learner


def attention_rows(data: str) -> tuple[int, int]:
    """Return the numbers of training and test rows in Sequential Attention's released protocol.

    An eighth of the rows that are not test rows are for validation, and do not count as training rows.

    >>> attention_rows("mice"), attention_rows("mnist")
    ((756, 216), (52500, 10000))
    """
    n = TABLE_1[TITLES[data]][0]
    n_test = {"mnist": 10_000, "fashion": 10_000, "isolet": 1559}.get(data, n // 5)
    n += 10_000 * (data in ("mnist", "fashion"))  # for these Table 1 counts only the training rows
    return (n - n_test) * 7 // 8, n_test


def lassonet_rows(data: str) -> tuple[int, int]:
    """Return the numbers of training and test rows in the split of the LassoNet paper.

    In section 5.2 the paper has 70 % training, 10 % validation and 20 % test rows.

    >>> lassonet_rows("mnist")
    (7000, 2000)
    """
    n = LASSONET_DATA[TITLES[data]][0]
    return n * 7 // 10, n // 5


def _of_methods(
    table: str,
    study: str,
    figures: Mapping[str, Figures],
    data: str,
    names: Sequence[str] = SMALL,
    setting: str = "",
) -> Iterator[Printed]:
    """Yield the printed figures of one table for a data set, by default for all methods of `SMALL`.

    The figures are for 50 features.
    """
    printed = dict(zip(SMALL, figures[TITLES[data]], strict=True))
    for name in names:
        yield _network(table, study, data, NAMES[name], 50, setting, *printed[name], RUNS)


def _table_3(data: str) -> Iterator[Printed]:
    """Yield the printed figures of Sequential Attention's Table 3 for a data set.

    The figures that this table takes from LassoNet's paper are left out.
    """
    d = TABLE_1[TITLES[data]][1]
    yield _network("SA-table-3", "paper", data, ALL, d, "", TABLE_3[TITLES[data]][1], None)


def _table_6(data: str) -> Iterator[Printed]:
    """Yield the seconds that Sequential Attention's Table 6 prints for a data set."""
    sizes = attention_rows(data)
    for name, (mean, std) in zip(SMALL, TABLE_6[TITLES[data]], strict=True):
        address = "SA-table-6", "efficiency", data, NAMES[name], 50, "", "selecting"
        yield Printed(*address, mean, std, *sizes, RUNS)


def _of_settings(
    table: str,
    study: str,
    figures: Mapping[str, Figures],
    k: int,
    settings: Sequence[str],
    data: str,
) -> Iterator[Printed]:
    """Yield the figures that Sequential Attention's Tables 9 and 10 print for its settings on a data set."""
    for setting, (mean, std) in zip(settings, figures[TITLES[data]], strict=True):
        yield _network(table, study, data, NAMES["SA"], k, setting, mean, std)


def _lassonet(
    table: str, learner: str, figures: Mapping[str, tuple[int, ...]], column: int, data: str
) -> Iterator[Printed]:
    """Yield the figures of LassoNet's Table 1 or 2 for a data set, without the method HSIC-Lasso.

    The figures for all features come last.
    """
    sizes, (_, d, _, *whole) = lassonet_rows(data), LASSONET_DATA[TITLES[data]]
    means = dict(zip(LASSONET, figures[TITLES[data]], strict=True))
    found = [(NAMES[name], 50, means[name]) for name in ("LassoNet", "Fisher", "PFA")]
    for method, k, mean in (*found, (ALL, d, whole[column])):
        yield Printed(table, "lassonet", data, method, k, "", learner, mean / 1000, None, *sizes)


def _anchors(data: str) -> Iterator[Printed]:
    """Yield the printed accuracies of three learners on all features, if a paper prints them for this data
    set.
    """
    d, sizes = TABLE_1[TITLES[data]][1], attention_rows(data)
    for learner, percent in zip(LEARNERS, ANCHORS.get(TITLES[data], ()), strict=False):
        address = "anchors", "anchors", data, learner, d, AS_RELEASED, learner
        yield Printed(*address, percent / 100, None, *sizes, within=0.003)


def _network(
    table: str,
    study: str,
    data: str,
    method: str,
    k: int,
    setting: str,
    mean: int,
    std: int | None,
    runs: int = 1,
) -> Printed:
    """Return a printed figure of Sequential Attention's network; `mean` and `std` are given in
    thousandths.
    """
    deviation = None if std is None else std / 1000
    sizes = attention_rows(data)
    return Printed(table, study, data, method, k, setting, "network", mean / 1000, deviation, *sizes, runs)


_COUNTS = tuple(str(2**i) for i in range(7))
TABLES: dict[str, Callable[[str], Iterator[Printed]]] = {
    "SA-table-2": partial(_of_methods, "SA-table-2", "paper", TABLE_2),
    # the baselines whose released code runs, with that code
    "SA-released": partial(
        _of_methods, "SA-released", "switches", TABLE_2, names=("OMP", "LLY"), setting=AS_RELEASED
    ),
    "SA-table-3": _table_3,
    "SA-table-5": partial(_of_methods, "SA-table-5", "efficiency", TABLE_5),
    "SA-table-6": _table_6,
    "SA-table-9": partial(_of_settings, "SA-table-9", "adaptivity", TABLE_9, 64, _COUNTS),
    "SA-table-10": partial(_of_settings, "SA-table-10", "masks", TABLE_10, 50, MASKS),
    "LN-table-1": partial(_lassonet, "LN-table-1", "network", DECODER, 0),
    "LN-table-2": partial(_lassonet, "LN-table-2", "ExtraTrees", TREES, 1),
    "anchors": _anchors,
}
"""The beginning of a row's id ↦ a function of a data set that returns its printed figures.

>>> [figure.mean for figure in TABLES["SA-table-2"]("mice")]
[0.993, 0.981, 0.985, 0.984, 0.994, 0.956]
"""
