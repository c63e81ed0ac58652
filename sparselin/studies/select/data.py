"""Read the table of `sparselin select`: the target, the columns that may explain it, and the rows to use."""

import dataclasses
import importlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sparselin.results import FloatArray
from sparselin.studies.common.tables import (
    BadTable,
    DataTable,
    ReadingOptions,
    columns_of,
    positions,
    read_table,
    short,
    some,
    split,
    with_numbers,
)
from sparselin.studies.select.columns import (
    ColumnUse,
    TableColumns,
    assign,
    describe,
    fill_blanks,
    has_levels,
)

# the share of rows with gaps below which these rows are dropped by default
_FEW = 0.05
_NUMERIC = "biufcmM"  # the kinds of dtypes of columns that hold no texts
MISSING = ("auto", "impute", "indicator", "drop-rows", "refuse")
INDICATOR = "_missing"  # the end of the name of a column that is 1 where another column has a gap


@dataclasses.dataclass(frozen=True, eq=False)
class Data:
    """The rows and columns of a table that a selection uses, and what was left out.

    path, table : the file, and all of its columns and rows.
    target, weights, group : the names of columns; the last two may be None.
    dropped : the columns that were left out on request.
    columns : the use of the other columns.
    X : the frame of the used columns, and y, weight, groups : (n,) the target, the weights of the rows and
        the labels of their groups; the last two may be None.
    loss, classes : the loss, and for "logistic" the two values of y in order.
    lost, weightless, incomplete : the numbers of rows that were dropped because they have no target, weight
        or group, because their weight is zero, or because they have a gap.
    gaps, empty : the number of rows with a gap that is filled, and the number of empty cells of each column.
    infinite : whether infinite numbers count as gaps.
    blanks : for each category that had one value and empty cells, the value that these cells count as.
    indicators : the columns of numbers with gaps that have an indicator, the column NAME_missing.
    references : the chosen references of categories, as texts.
    missing_words : for each column of texts, the texts such as "None" that were read as missing, with the
        number of cells.
    """

    path: Path
    table: DataTable
    target: str
    weights: str | None
    group: str | None
    dropped: tuple[str, ...]
    columns: TableColumns
    X: Any
    y: Any
    weight: FloatArray | None
    groups: Any
    loss: str
    classes: tuple[Any, ...]
    lost: int
    incomplete: int
    weightless: int
    gaps: int
    empty: dict[str, int]
    infinite: bool
    blanks: dict[str, Any]
    indicators: tuple[str, ...]
    references: dict[str, str]
    missing_words: dict[str, dict[str, int]]

    @property
    def others(self) -> list[str]:
        """The target, and the columns of weights and groups."""
        return [name for name in (self.target, self.weights, self.group) if name is not None]


def read(
    path: Path,
    target: str | None,
    special: dict[str, str | None],
    lists: Mapping[str, Sequence[str]],
    loss: str | None,
    missing: str,
    reading: ReadingOptions | None = None,
    references: Sequence[str] = (),
) -> Data:
    """Read a table, decide the use of its columns, and leave out rows. Raises BadTable.

    special : the columns of the options --weights and --group, or None.
    lists : the columns of --drop, --forced, --numbers and --categories, as `split` takes them.
    loss : the loss, or None: logistic if the target has two values, else squared.
    missing : one of MISSING.
    reading : how the file is read.
    references : the texts of --reference, such as "region=north".
    """
    table = read_table(path, reading)
    names = list(table.frame)
    y = names[-1] if target is None else names[positions([target], names, "--target")[0]]
    at = {option: None if name is None else names[positions([name], names, option)[0]]
          for option, name in special.items()}  # fmt: skip
    others = [y, *(name for name in at.values() if name is not None)]
    if len(set(others)) < len(others):
        raise BadTable(f"the target, --weights and --group must be three columns; got {', '.join(others)}")
    free = [name for name in names if name not in others]
    chosen = {}
    for option, given in lists.items():
        among = names if option == "--numbers" else free  # also the target can hold numbers as texts
        chosen[option] = [among[j] for j in positions(split(given, among), among, option)]
    dropped = tuple(chosen["--drop"])
    used = [name for name in free if name not in dropped]
    if not used:
        raise BadTable(f"{path} must have at least one column besides {y!r} to explain it")
    for option in ("--forced", "--numbers", "--categories"):
        positions(chosen[option], [*used, *others] if option == "--numbers" else used, option)
    if both := set(chosen["--numbers"]) & set(chosen["--categories"]):
        raise BadTable(f"--numbers and --categories must not share a column; both have {min(both)!r}")
    table = with_numbers(table, chosen["--numbers"], reading)
    chosen["--numbers"] = [name for name in chosen["--numbers"] if name in used]
    return _use(path, table, used, dropped, y, at, chosen, loss, missing, _references(references, used))


def _references(texts: Sequence[str], names: Sequence[str]) -> dict[str, str]:
    """Return the value of each column that --reference names, as "COLUMN=VALUE". Raises BadTable."""
    found = {}
    for text in texts:
        columns = [name for name in names if text.startswith(f"{name}=")]
        if not columns:
            raise BadTable(
                f"--reference must be COLUMN=VALUE with a column that is used; got {text!r}. The columns are "
                f"{some(list(map(str, names)))}"
            )
        name = max(columns, key=len)
        found[name] = text.removeprefix(f"{name}=")
    return found


def _use(
    path: Path,
    table: DataTable,
    used: list[str],
    dropped: tuple[str, ...],
    y: str,
    at: dict[str, str | None],
    chosen: dict[str, list[str]],
    loss: str | None,
    missing: str,
    references: dict[str, str],
) -> Data:
    """Decide the use of the columns and rows of a table that was read."""
    weights, group = at["--weights"], at["--group"]
    others = [name for name in (y, weights, group) if name is not None]
    frame = table.frame[[*used, *others]]
    infinite = bool(np.isinf(frame[columns_of(frame, "f")].to_numpy(np.float64)).any())
    frame = frame.replace([np.inf, -np.inf], np.nan) if infinite else frame
    frame = frame.dropna(subset=others)
    lost = len(table.frame) - len(frame)
    if not len(frame):
        raise BadTable(f"{path}: no row is left, because every row lacks {' or '.join(map(repr, others))}")
    weight, weightless = None, 0
    if weights is not None:
        weight = _weights(frame[weights], weights)
        weightless = int(np.count_nonzero(weight == 0))
        frame = frame[weight > 0]
    blanks = fill_blanks(frame, chosen["--categories"])
    for name, value in blanks.items():
        frame[name] = frame[name].astype(object).where(frame[name].notna(), value)
    use = assign(
        frame[used],
        chosen["--numbers"],
        chosen["--categories"],
        chosen["--forced"],
        [name for name in table.notes.leading_zeros if name in used],
    )
    indicators: tuple[str, ...] = ()
    if missing == "indicator":
        frame, use, indicators = _with_indicators(frame, use, blanks)
    frame, use, incomplete, gaps = _without_gaps(path, frame, use, missing)
    X, texts = frame[use.numbers].astype(float), frame[use.categories].astype(object)
    X[use.categories] = texts.where(texts.notna(), np.nan).to_numpy(object)
    columns = describe(X, use, references)
    if wrong := [name for name in references if name not in columns.categories]:
        raise BadTable(
            f"--reference {wrong[0]}={references[wrong[0]]}: {wrong[0]!r} is not used as a category; "
            "name it in --categories to make it one"
        )
    why = some([f"{name} ({reason})" for name, reason in columns.left_out.items()])
    if not columns.names:
        raise BadTable(
            f"{path}: no column is left to explain {y!r}; left out: {why}. --numbers and --categories give a "
            "column another use"
        )
    if alone := set(chosen["--forced"]) & set(columns.left_out):
        raise BadTable(f"{path}: --forced {min(alone)} cannot be used to explain {y!r}; left out: {why}")
    loss, classes, values = _response(frame[y], y, loss)
    empty = X[list(columns.names)].isna().sum()
    return Data(
        path=path,
        table=table,
        target=y,
        weights=weights,
        group=group,
        dropped=dropped,
        columns=columns,
        X=X[list(columns.names)],
        y=values,
        loss=loss,
        classes=classes,
        weight=None if weights is None else frame[weights].to_numpy(float),
        groups=None if group is None else frame[group].to_numpy(),
        lost=lost,
        incomplete=incomplete,
        weightless=weightless,
        gaps=gaps,
        infinite=infinite,
        blanks=blanks,
        indicators=indicators,
        references=references,
        missing_words=_missing_words(path, table, used),
        empty={name: int(count) for name, count in empty.items() if count},
    )


def _missing_words(path: Path, table: DataTable, names: list[str]) -> dict[str, dict[str, int]]:
    """Return the texts that were read as missing in the columns of texts among these, with their counts.

    If one of the columns has a gap, the file is read again without missing values, apart from empty cells.
    """
    frame = table.frame
    gaps = [name for name in names if frame[name].dtype.kind not in _NUMERIC and frame[name].isna().any()]
    if not gaps or table.reader == "read_parquet":
        return {}
    options = {**table.options, "keep_default_na": False, "na_values": [""], "dtype": str}
    raw = getattr(importlib.import_module("pandas"), table.reader)(path, **options)
    raw.columns = frame.columns
    found = {}
    for name in gaps:
        cells = raw[name][frame[name].isna().to_numpy()].dropna().str.strip()
        counts = cells[cells != ""].value_counts()
        if len(counts):
            found[name] = {str(text): int(count) for text, count in counts.items()}
    return found


def _with_indicators(
    frame: Any, use: ColumnUse, blanks: dict[str, Any]
) -> tuple[Any, ColumnUse, tuple[str, ...]]:
    """Add a column NAME_missing of 0 and 1 for each column of numbers with gaps.

    Empty cells of a category become a value of their own, which is added to `blanks`. Raises BadTable if a
    name is taken.
    """
    frame = frame.copy()
    gaps = [name for name in use.numbers if frame[name].isna().any()]
    new = [f"{name}{INDICATOR}" for name in gaps]
    if taken := [name for name in new if name in frame]:
        raise BadTable(
            f"--missing indicator needs the name {taken[0]!r}, which a column has: rename the column"
        )
    for name, indicator in zip(gaps, new, strict=True):
        frame[indicator] = frame[name].isna().astype(float)
    for name in use.categories:
        if frame[name].isna().any():
            blanks[name] = "empty" if frame[name].dropna().map(lambda v: isinstance(v, str)).all() else -1
            frame[name] = frame[name].astype(object).where(frame[name].notna(), blanks[name])
    return frame, use._replace(numbers=[*use.numbers, *new]), tuple(gaps)


def _without_gaps(path: Path, frame: Any, use: ColumnUse, missing: str) -> tuple[Any, ColumnUse, int, int]:
    """Return the rows and columns to use, the number of rows dropped for a gap, and of rows to be filled.

    A category that has one value only in the rows that are left is left out, and then its gaps count no
    longer. So the rows are chosen again, until every category has two values.
    """
    while True:
        empty = frame[[*use.numbers, *use.categories]].isna()
        with_gaps = np.asarray(empty.any(axis=1))
        count = int(np.count_nonzero(with_gaps))
        if (
            not count
            or missing in ("impute", "indicator")
            or (missing == "auto" and count >= _FEW * len(frame))
        ):
            return frame, use, 0, count
        if missing == "refuse":
            found = [f"{short(name)} ({number})" for name, number in empty.sum().items() if number]
            raise BadTable(
                f"{path}: {count} of {len(frame)} rows have an empty cell, in column {some(found)}. Choose "
                "--missing drop-rows or --missing impute, or leave out columns with --drop."
            )
        rows = frame[~with_gaps]
        if not len(rows):
            raise BadTable(
                f"{path}: no row is left, because every row has an empty cell. Use --missing impute."
            )
        alone = [name for name in use.categories if not has_levels(rows[name])]
        if not alone:
            return rows, use, count, 0
        use = use.without(alone, "one value only in the rows without gaps")


def _weights(column: Any, name: str) -> FloatArray:
    if column.dtype.kind not in "biuf":
        cell = short(str(column.iloc[0]))
        raise BadTable(f"--weights must name a column of numbers; {name!r} holds {cell}")
    weight = np.asarray(column, np.float64)
    if weight.min() < 0:
        raise BadTable(
            f"--weights must name a column of nonnegative numbers; the least in {name!r} is {weight.min():g}"
        )
    if not weight.any():
        raise BadTable(f"--weights must have a positive number in some row; {name!r} is zero in all")
    return weight


def _response(column: Any, name: str, loss: str | None) -> tuple[str, tuple[Any, ...], Any]:
    """Return the loss, the two classes of y or (), and y. Raises BadTable if y does not fit the loss."""
    values = column.to_numpy()
    found = sorted(set(values.tolist()), key=lambda value: (str(type(value)), value))
    numeric = column.dtype.kind in "biuf"
    if loss is None:
        loss = "logistic" if len(found) == 2 and len(values) > 2 else "squared"
    if len(found) == 1:
        raise BadTable(f"{name!r} is {short(str(found[0]))} in every row, so there is nothing to explain")
    if loss == "logistic":
        if len(found) != 2:
            few = f"{len(found):,}: {some([repr(value) for value in found])}"
            raise BadTable(f"--loss logistic needs a target of two values; {name!r} has {few}")
        return loss, tuple(found), values
    if not numeric:
        words = f"{name!r}, the column to explain, must hold numbers or two values; it holds "
        words += some([short(str(value)) for value in found])
        if len(found) == 2:
            raise BadTable(f"{name!r} holds two texts, not numbers: use --method omp, with --loss logistic")
        near = f". To explain one of them, make a column such as {name} == {short(str(found[0]))}"
        raise BadTable(words + (near if len(found) <= 20 else ". Use --target to choose another column"))
    y = values.astype(np.float64)
    if loss == "poisson" and y.min() < 0:
        raise BadTable(f"--loss poisson needs a target ≥ 0; the least in {name!r} is {y.min():g}")
    return loss, (), y
