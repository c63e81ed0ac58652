"""The figures that two papers and two later comparisons print about their network experiments.

`TABLE_1` to `TABLE_10` are the tables of *Sequential Attention for Feature Selection* (ICLR; the NeurIPS
submission has the same numbers). `DECODER` and `TREES` are Tables 1 and 2 of *LassoNet: A Neural Network with
Feature Sparsity* (JMLR 22(127), 2021), and `LASSONET_DATA` has their data sets. `ANCHORS` are the accuracies
with all features in two later comparisons. Accuracies and standard deviations are integers, in thousandths,
so that they are exact. printed.toml has the numbers, and says what they are.

`TABLES` has a function for each printed table. The function yields the printed figures that we compute again.
Each figure has the study, the method and the setting of the runs that compute it.
"""

import dataclasses
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

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


def _tuples(entry: Any) -> Any:
    """Return an entry of printed.toml with tuples for its lists."""
    return tuple(map(_tuples, entry)) if isinstance(entry, list) else entry


with Path(__file__).with_suffix(".toml").open("rb") as _file:
    _PRINTED: Mapping[str, Mapping[Any, Any]] = {
        table: {int(key) if key.isdecimal() else key: _tuples(entry) for key, entry in rows.items()}
        for table, rows in tomllib.load(_file).items()
    }
TABLE_1, TABLE_2, TABLE_3, TABLE_4, TABLE_5 = (_PRINTED[f"TABLE_{i}"] for i in range(1, 6))
TABLE_6, TABLE_7, TABLE_8, TABLE_9, TABLE_10 = (_PRINTED[f"TABLE_{i}"] for i in range(6, 11))
BOLD, DECODER, TREES = _PRINTED["BOLD"], _PRINTED["DECODER"], _PRINTED["TREES"]
LASSONET_DATA, ANCHORS = _PRINTED["LASSONET_DATA"], _PRINTED["ANCHORS"]

SMALL = ("SA", "LLY", "GL", "SL", "OMP", "CAE")
"""The methods of Tables 2, 5 and 6."""
CRITEO = ("SA", "CMIM", "GL(1e-1)", "GL(1e-4)", "SL(1e-1)", "SL(1e-4)", "LLY")
"""The methods of Tables 7 and 8."""
MASKS = ("softmax", "l1", "l2", "l1_normalized", "l2_normalized")
"""The masks of Table 10."""
LASSONET = ("Fisher", "HSIC-Lasso", "PFA", "LassoNet")
"""The methods of its Tables 1 and 2, which have no standard deviations."""
LEARNERS = ("SVC", "1-NN", "ExtraTrees")
"""The learners of `ANCHORS`."""

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
        yield _network((table, study, data, NAMES[name], 50, setting), *printed[name], RUNS)


def _table_3(data: str) -> Iterator[Printed]:
    """Yield the printed figures of Sequential Attention's Table 3 for a data set.

    The figures that this table takes from LassoNet's paper are left out.
    """
    d = TABLE_1[TITLES[data]][1]
    yield _network(("SA-table-3", "paper", data, ALL, d, ""), TABLE_3[TITLES[data]][1], None)


def _table_6(data: str) -> Iterator[Printed]:
    """Yield the seconds that Sequential Attention's Table 6 prints for a data set."""
    n_train, n_test = attention_rows(data)
    for name, (mean, std) in zip(SMALL, TABLE_6[TITLES[data]], strict=True):
        address = "SA-table-6", "efficiency", data, NAMES[name], 50, "", "selecting"
        yield Printed(*address, mean=mean, std=std, n_train=n_train, n_test=n_test, runs=RUNS)


def _of_settings(
    table: str, study: str, figures: Mapping[str, Figures], k: int, settings: Sequence[str], data: str
) -> Iterator[Printed]:
    """Yield the figures that Sequential Attention's Tables 9 and 10 print for its settings on a data set."""
    for setting, (mean, std) in zip(settings, figures[TITLES[data]], strict=True):
        yield _network((table, study, data, NAMES["SA"], k, setting), mean, std)


def _lassonet(
    table: str, learner: str, figures: Mapping[str, tuple[int, ...]], column: int, data: str
) -> Iterator[Printed]:
    """Yield the figures of LassoNet's Table 1 or 2 for a data set, without the method HSIC-Lasso.

    The figures for all features come last.
    """
    n_train, n_test = lassonet_rows(data)
    _, d, _, *whole = LASSONET_DATA[TITLES[data]]
    means = dict(zip(LASSONET, figures[TITLES[data]], strict=True))
    found = [(NAMES[name], 50, means[name]) for name in ("LassoNet", "Fisher", "PFA")]
    for method, k, mean in (*found, (ALL, d, whole[column])):
        address = table, "lassonet", data, method, k, "", learner
        yield Printed(*address, mean=mean / 1000, std=None, n_train=n_train, n_test=n_test)


def _anchors(data: str) -> Iterator[Printed]:
    """Yield the printed accuracies of three learners on all features, if a paper prints them for this data
    set.
    """
    d = TABLE_1[TITLES[data]][1]
    n_train, n_test = attention_rows(data)
    for learner, percent in zip(LEARNERS, ANCHORS.get(TITLES[data], ()), strict=False):
        address = "anchors", "anchors", data, learner, d, AS_RELEASED, learner
        yield Printed(*address, mean=percent / 100, std=None, n_train=n_train, n_test=n_test, within=0.003)


def _network(
    address: tuple[str, str, str, str, int, str], mean: int, std: int | None, runs: int = 1
) -> Printed:
    """Return a printed figure of Sequential Attention's network.

    address : the table, study, data set, method, k and setting. `mean` and `std` are given in thousandths.
    """
    n_train, n_test = attention_rows(address[2])
    return Printed(
        *address,
        learner="network",
        mean=mean / 1000,
        std=None if std is None else std / 1000,
        n_train=n_train,
        n_test=n_test,
        runs=runs,
    )


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
