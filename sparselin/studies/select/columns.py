"""Decide the use of each column of a table: a number, a category whose indicators enter together, or none."""

import re
from collections import Counter
from collections.abc import Collection
from typing import Any, NamedTuple

import numpy as np

from sparselin.results.display import plural
from sparselin.studies.common.tables import BadTable, columns_of, is_number, short, some
from sparselin.studies.select import identifiers

# A text is a category if each of its values fills _REPEATS cells on average. A column is used if at least the
# share _FILLED of its cells is filled.
_REPEATS, _FILLED = 4, 0.5
_FEW_VALUES, _CELLS = 6, 10  # see `_has_few_values`
_LONG = 40  # a text of this length is neither a date nor a number
_NUMBERS = "iuf"  # the kinds of dtypes
_MONTH = r"(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?"
_DATE = re.compile(
    rf"(\d{{4}}[-/.]\d\d?([-/.]\d\d?)?|\d\d?[-/.]\d\d?[-/.]\d{{2,4}}"
    rf"|\d\d?[-. ]*{_MONTH}[-, ]*\d{{2,4}}|{_MONTH} *(\d\d?,?)? *\d{{4}})?"
    r"[t ,]*(\d\d?:\d\d(:\d\d(\.\d+)?)?( ?[ap]m)?)?( ?(z|utc|[+-]\d\d:?\d\d))?",
    re.IGNORECASE,
)
# a number with a sign, a unit or separators: "1,234", "12 %", "<0.1"
_NUMBERLIKE = re.compile(r"[<>≤≥~$€£ ]*[-+]?[\d., ]*\d[\d., ]*(e[-+]?\d+)?[ %$€£]*", re.IGNORECASE)


class TableColumns(NamedTuple):
    """The use of the columns of a table that may explain the target.

    numbers, categories : the names of the columns that are used as numbers, and as categories.
    levels, references : the distinct values of each category, in order, and the most frequent one, with which
        the others are compared.
    left_out : the name of each other column, with the reason why it is not used.
    distinct : the columns among `numbers` that hold whole numbers, all distinct, without being identifiers.
    codes : the columns among `numbers` that hold whole numbers, some equal, with the name of a code.
    few : the other columns among `numbers` that hold few distinct whole numbers, as codes do.
    """

    numbers: tuple[str, ...]
    categories: tuple[str, ...]
    levels: tuple[tuple[Any, ...], ...]
    references: tuple[Any, ...]
    left_out: dict[str, str]
    distinct: tuple[str, ...] = ()
    codes: tuple[str, ...] = ()
    few: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The columns that are used: numbers, then categories."""
        return self.numbers + self.categories

    @property
    def widths(self) -> list[int]:
        """The number of columns of X for each used column: one, or the number of indicators."""
        return [1] * len(self.numbers) + [len(found) - 1 for found in self.levels]

    def names_in_X(self, name: str) -> list[str]:
        """Return the names of the columns of X that belong to a used column."""
        if name not in self.categories:
            return [name]
        at = self.categories.index(name)
        return [f"{name}_{level}" for level in self.levels[at] if level != self.references[at]]


class ColumnUse(NamedTuple):
    """The use of each column, as `assign` decides it: numbers, categories, and the others with a reason.

    distinct, codes, few : as in `TableColumns`.
    """

    numbers: list[str]
    categories: list[str]
    left_out: dict[str, str]
    distinct: tuple[str, ...]
    codes: tuple[str, ...]
    few: tuple[str, ...]

    def without(self, names: Collection[str], reason: str) -> "ColumnUse":
        """Return the use of the columns if these categories are left out for a reason."""
        kept = [name for name in self.categories if name not in names]
        return self._replace(categories=kept, left_out=self.left_out | dict.fromkeys(names, reason))


def has_levels(column: Any) -> bool:
    """Return whether a column has two distinct values or more."""
    return len(_up_to_two_values(column)) == 2


def assign(
    frame: Any,
    numbers: Collection[str],
    categories: Collection[str],
    forced: Collection[str] = (),
    leading_zeros: Collection[str] = (),
) -> ColumnUse:
    """Decide the use of each column of a frame.

    numbers, categories : columns whose use is given.
    forced : columns that must be used.
    leading_zeros : columns in which a number is written with a leading zero, as codes are. If all numbers are
        whole, the column is a category if each value fills _REPEATS cells on average, else left out.

    Dates, identifiers, texts of which few repeat, columns of texts or with gaps that have one value only, and
    columns that are mostly empty are left out, with a reason. Texts that are all distinct are identifiers;
    whole numbers that are all distinct are identifiers if there is evidence for it (see `identifiers`).
    Raises BadTable for a column of texts in `numbers`, and for dates in `forced`.
    """
    reasons, distinct = identifiers.examine(frame[columns_of(frame, _NUMBERS)])
    texts = [name for name in frame if name not in reasons]
    for name in texts:
        reasons[name] = "" if _is_truth(frame[name]) else _about_text(frame[name].dropna())
    codes = [name for name in leading_zeros if name in reasons and name not in {*numbers, *forced}]
    codes = [name for name in codes if (frame[name].dropna() % 1 == 0).all()]
    for name in codes:
        values = frame[name].dropna()
        if reasons[name] != "dates" and _REPEATS * values.nunique() > len(values):
            reasons[name] = "codes with leading zeros"
    filled = frame.notna().sum()
    for name, count in filled.items():
        if count < _FILLED * len(frame) and reasons[name] != "dates":
            reasons[name] = f"mostly empty: {count:,} of {len(frame):,} cells are filled"
    dates = [name for name in forced if reasons[name] == "dates" and name not in categories]
    for name in (*numbers, *dates):
        if name in texts and not _is_truth(frame[name]):
            cell = short(str(frame[name].dropna().iloc[0]))
            option = "--numbers" if name in numbers else "--forced"
            raise BadTable(f"{option} {name}: the column must hold numbers; it has {cell}")
    given = {*numbers, *categories, *forced}
    left_out = {name: why for name in frame if (why := reasons[name]) and name not in given}
    of_text = {*texts, *codes}
    chosen = {name for name in frame if name in categories or (name in of_text and name not in numbers)}
    for name in frame:
        if (count := int(filled[name])) < len(frame) or name in chosen:
            values = _up_to_two_values(frame[name])
            if len(values) == 1 and count == len(frame):
                left_out.setdefault(name, "one value only")
            elif len(values) == 1:
                left_out[name] = (
                    f"{_as_text(values[0])} in {plural(count, 'row')}, empty in {len(frame) - count:,}: if "
                    "empty means another value, such as no, name it in --categories"
                )
            elif not values:
                left_out.setdefault(name, "empty")
    used = [name for name in frame if name not in left_out]
    plain = [name for name in used if name not in {*distinct, *chosen, *given}]
    codes = [name for name in plain if _is_code(frame[name])]
    return ColumnUse(
        numbers=[name for name in used if name not in chosen],
        categories=[name for name in used if name in chosen],
        left_out={name: left_out[name] for name in frame if name in left_out},
        distinct=tuple(name for name in used if name in distinct and name not in given),
        codes=tuple(codes),
        few=tuple(name for name in plain if name not in codes and _has_few_values(frame[name])),
    )


def _has_few_values(column: Any) -> bool:
    """Return whether a column holds 3 to _FEW_VALUES whole numbers, each in _CELLS cells on average."""
    values = column.dropna()
    if column.dtype.kind not in _NUMBERS or not (values % 1 == 0).all():
        return False
    count = values.nunique()
    return bool(3 <= count <= _FEW_VALUES and _CELLS * count <= len(values))


def _is_code(column: Any) -> bool:
    """Return whether a column of numbers holds whole numbers, and its name is that of a code."""
    return (
        column.dtype.kind in _NUMBERS
        and identifiers.has_name_of_identifier(str(column.name))
        and bool((column.dropna() % 1 == 0).all())
    )


def fill_blanks(frame: Any, categories: Collection[str]) -> dict[str, Any]:
    """Return what the empty cells count as, for each of the categories that has one value and empty cells.

    It is False for a column of truth values, 0 (or −1 if the value is 0) for numbers, and "empty" for texts.
    """
    found: dict[str, Any] = {}
    for name in categories:
        values = _up_to_two_values(frame[name])
        if len(values) == 1 and frame[name].isna().any():
            value = values[0]
            if isinstance(value, bool):
                found[name] = not value
            elif isinstance(value, int | float):
                found[name] = 0 if value else -1
            else:
                found[name] = "empty" if value != "empty" else "blank"
    return found


def describe(frame: Any, use: ColumnUse, chosen: dict[str, str] | None = None) -> TableColumns:
    """Return the use of the columns of a frame, with the values of its categories.

    chosen : the texts of the values to compare with; for other categories it is the most frequent value.

    Every category must have two values or more. Raises BadTable if two columns of X have one name.
    """
    columns = TableColumns(
        numbers=tuple(use.numbers),
        categories=tuple(use.categories),
        levels=tuple(levels_of(frame[name]) for name in use.categories),
        references=tuple(_reference(frame[name], (chosen or {}).get(name)) for name in use.categories),
        left_out=use.left_out,
        distinct=use.distinct,
        codes=use.codes,
        few=use.few,
    )
    counts = Counter(in_X for name in columns.names for in_X in columns.names_in_X(name))
    if twice := [name for name, count in counts.items() if count > 1]:
        raise BadTable(
            f"{short(twice[0])} is the name of a column and of an indicator of a category: rename the "
            "column, or leave it out with --drop"
        )
    return columns


def _reference(column: Any, text: str | None) -> Any:
    """Return the value of a category that is compared with the others: the one of this text, or the mode."""
    if text is None:
        return column.mode()[0]
    found = [level for level in levels_of(column) if text in (str(level), _as_text(level))]
    if not found:
        known = some([_as_text(level) for level in levels_of(column)])
        raise BadTable(f"--reference {column.name}={text}: {column.name!r} has no such value; it has {known}")
    return found[0]


def levels_of(column: Any) -> tuple[Any, ...]:
    """Return the distinct values of a column in order. Raises BadTable if they have no order."""
    try:
        return tuple(sorted(column.dropna().unique().tolist()))
    except TypeError:
        raise BadTable(f"column {column.name!r} mixes texts and numbers; leave it out with --drop") from None


def _is_truth(column: Any) -> bool:
    return column.dtype.kind == "b" or all(isinstance(value, bool | np.bool_) for value in column.dropna())


def _up_to_two_values(column: Any) -> list[Any]:
    """Return the first two distinct values of a column, or fewer; of lists and the like two in any case."""
    try:
        return list(column.dropna().unique()[:2].tolist())
    except TypeError:
        return [None, None]


def _as_text(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.15g}"
    return short(value) if isinstance(value, str) else str(value)


def _about_text(values: Any) -> str:
    """Return the reason why a column of texts cannot be a category, or ""."""
    if values.dtype.kind in "mM" or all(_DATE.fullmatch(str(value)[:_LONG].strip()) for value in values):
        return "dates" if len(values) else "empty"
    distinct = sorted(set(map(str, values)))
    if len(distinct) == 1:
        return f"the same text in every row: {short(distinct[0])}"
    odd = [text for text in distinct if len(text) < _LONG and _NUMBERLIKE.fullmatch(text)]
    if 2 * len(odd) > len(distinct):
        example = next((text for text in odd if not is_number(text)), odd[0])
        return f"numbers written as texts, such as {short(example)}"
    example = short(max(distinct, key=len))
    if len(distinct) == len(values) >= identifiers.ENOUGH:
        return f"identifier: {len(distinct):,} distinct texts, such as {example}"
    if _REPEATS * len(distinct) > len(values):
        return f"texts of which few repeat, such as {example}"
    return ""
