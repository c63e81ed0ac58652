"""The printed means beside the pieces that compute them again."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator

from proofs_checks.experiments.networks.printed import (
    ANCHORS,
    DECODER,
    LASSONET,
    LASSONET_DATA,
    LEARNERS,
    MASKS,
    SMALL,
    TABLE_1,
    TABLE_2,
    TABLE_3,
    TABLE_5,
    TABLE_6,
    TABLE_9,
    TABLE_10,
    TITLES,
    TREES,
)

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
"""A heading of the tables → the method of pieces; HSIC-Lasso is not computed."""
ALL = "all features"
"""The method of pieces that select nothing, k = d."""
OWN = "own defaults"
"""The setting of Sequential Attention as ours, beside the released one, on the rows of the other methods."""
AS_RELEASED = "as released"
"""The setting of what its authors released: the anchors prepared as in NeuroFS, and no switch mended."""
RUNS = 5
"""The number of runs behind a mean of Sequential Attention's Tables 2, 5 and 6; Tables 9, 10 state none."""


@dataclasses.dataclass(frozen=True)
class Printed:
    """A printed mean, and which pieces compute it again.

    Attributes
    ----------
    table : where it stands, "SA-table-2": the beginning of the ids of its rows in the ledger.
    study, data, method, k, setting : of the pieces, as in `pieces.Piece`.
    learner : a key of `Record.scores`; of times a key of `Record.seconds`.
    mean, std : accuracies as shares, times in seconds; std None where there is none in print.
    n_train : rows that the paper's protocol trains on.
    n_test : rows of one test set.
    runs : the number of runs behind the mean; 1 where the paper states none, or prints no standard deviation.
    within : a tolerance of its own, fixed before the run, for which one seed is enough; None for the rule of
        `verdicts`.
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
        """That of the `verdicts.Summary` that has its records."""
        return self.study, self.data, self.method, self.k, self.setting, self.learner


def attention_rows(data: str) -> tuple[int, int]:
    """(n_train, n_test) of Sequential Attention's released protocol, which keeps an eighth for validation.

    >>> attention_rows("mice"), attention_rows("mnist")
    ((756, 216), (52500, 10000))
    """
    n = TABLE_1[TITLES[data]][0]
    n_test = {"mnist": 10_000, "fashion": 10_000, "isolet": 1559}.get(data, n // 5)
    n += 10_000 * (data in ("mnist", "fashion"))  # of these Table 1 counts the training rows alone
    return (n - n_test) * 7 // 8, n_test


def lassonet_rows(data: str) -> tuple[int, int]:
    """(n_train, n_test) of LassoNet's 70-10-20 split (section 5.2).

    >>> lassonet_rows("mnist")
    (7000, 2000)
    """
    n = LASSONET_DATA[TITLES[data]][0]
    return n * 7 // 10, n // 5


def table_2(data: str) -> Iterator[Printed]:
    """Sequential Attention's Table 2."""
    for name, (mean, std) in zip(SMALL, TABLE_2[TITLES[data]], strict=True):
        yield _network("SA-table-2", "paper", data, NAMES[name], 50, "", mean, std, RUNS)


def released(data: str) -> Iterator[Printed]:
    """Its Table 2, of the baselines whose released code runs, by that."""
    printed = dict(zip(SMALL, TABLE_2[TITLES[data]], strict=True))
    for name in ("OMP", "LLY"):
        yield _network("SA-released", "switches", data, NAMES[name], 50, AS_RELEASED, *printed[name], RUNS)


def table_3(data: str) -> Iterator[Printed]:
    """Its Table 3, the column of its own."""
    d = TABLE_1[TITLES[data]][1]
    yield _network("SA-table-3", "paper", data, ALL, d, "", TABLE_3[TITLES[data]][1], None)


def table_5(data: str) -> Iterator[Printed]:
    """Its Table 5."""
    for name, (mean, std) in zip(SMALL, TABLE_5[TITLES[data]], strict=True):
        yield _network("SA-table-5", "efficiency", data, NAMES[name], 50, "", mean, std, RUNS)


def table_6(data: str) -> Iterator[Printed]:
    """Its Table 6, in seconds."""
    for name, (mean, std) in zip(SMALL, TABLE_6[TITLES[data]], strict=True):
        sizes = attention_rows(data)
        yield Printed(
            "SA-table-6", "efficiency", data, NAMES[name], 50, "", "selecting", mean, std, *sizes, RUNS
        )


def table_9(data: str) -> Iterator[Printed]:
    """Its Table 9."""
    for i, (mean, std) in enumerate(TABLE_9[TITLES[data]]):
        yield _network("SA-table-9", "adaptivity", data, NAMES["SA"], 64, str(2**i), mean, std)


def table_10(data: str) -> Iterator[Printed]:
    """Its Table 10."""
    for mask, (mean, std) in zip(MASKS, TABLE_10[TITLES[data]], strict=True):
        yield _network("SA-table-10", "masks", data, NAMES["SA"], 50, mask, mean, std)


def decoder(data: str) -> Iterator[Printed]:
    """LassoNet's Table 1, but for HSIC-Lasso."""
    yield from _lassonet("LN-table-1", data, "network", DECODER[TITLES[data]], 3)


def trees(data: str) -> Iterator[Printed]:
    """LassoNet's Table 2, but for HSIC-Lasso."""
    yield from _lassonet("LN-table-2", data, "ExtraTrees", TREES[TITLES[data]], 4)


def anchors(data: str) -> Iterator[Printed]:
    """All features with three learners, the methods of their pieces; nothing where none is in print."""
    d = TABLE_1[TITLES[data]][1]
    for learner, percent in zip(LEARNERS, ANCHORS.get(TITLES[data], ()), strict=False):
        sizes = attention_rows(data)
        yield Printed(
            "anchors",
            "anchors",
            data,
            learner,
            d,
            AS_RELEASED,
            learner,
            percent / 100,
            None,
            *sizes,
            within=0.003,
        )


TABLES: dict[str, Callable[[str], Iterator[Printed]]] = {
    "SA-table-2": table_2,
    "SA-released": released,
    "SA-table-3": table_3,
    "SA-table-5": table_5,
    "SA-table-6": table_6,
    "SA-table-9": table_9,
    "SA-table-10": table_10,
    "LN-table-1": decoder,
    "LN-table-2": trees,
    "anchors": anchors,
}
"""The beginning of a row's id → the function of a data set that gives its figures.

>>> [figure.mean for figure in TABLES["SA-table-2"]("mice")]
[0.993, 0.981, 0.985, 0.984, 0.994, 0.956]
"""


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
    """A figure in thousandths of Sequential Attention's, by its network."""
    deviation = None if std is None else std / 1000
    sizes = attention_rows(data)
    return Printed(table, study, data, method, k, setting, "network", mean / 1000, deviation, *sizes, runs)


def _lassonet(
    table: str, data: str, learner: str, figures: tuple[int, ...], column: int
) -> Iterator[Printed]:
    """Those of all features and of the methods of `NAMES`, LassoNet's first."""
    sizes, (_, d, *_) = lassonet_rows(data), LASSONET_DATA[TITLES[data]]
    means = dict(zip(LASSONET, figures, strict=True))
    for name in ("LassoNet", "Fisher", "PFA"):
        mean = means[name] / 1000
        yield Printed(table, "lassonet", data, NAMES[name], 50, "", learner, mean, None, *sizes)
    mean = LASSONET_DATA[TITLES[data]][column] / 1000
    yield Printed(table, "lassonet", data, ALL, d, "", learner, mean, None, *sizes)
