"""Decide the use of each column of a table: a number, a category whose indicators enter together, or none."""

import re
from collections import Counter
from collections.abc import Collection
from typing import Any, NamedTuple

import numpy as np

from sparselin.results import FloatArray
from sparselin.studies.common.tables import BadTable, columns_of, is_number, short

# A column whose values are all distinct is an identifier if it has at least _IDENTIFIES of them. A text is a
# category if each of its values fills _REPEATS cells on average. A column is used if at least the share
# _FILLED of its cells is filled.
_IDENTIFIES, _REPEATS, _FILLED = 20, 4, 0.5
_TOO_MANY = 3  # the largest number of identifiers that are whole numbers
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
    """

    numbers: tuple[str, ...]
    categories: tuple[str, ...]
    levels: tuple[tuple[Any, ...], ...]
    references: tuple[Any, ...]
    left_out: dict[str, str]

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


def assign(
    frame: Any, numbers: Collection[str], categories: Collection[str], forced: Collection[str] = ()
) -> tuple[list[str], list[str], dict[str, str]]:
    """Decide the use of each column of a frame: return the numbers, the categories, and the columns left out.

    numbers, categories : columns whose use is given.
    forced : columns that must be used.

    Dates, identifiers (whole numbers or texts that are all distinct), texts of which few repeat, constant
    texts and columns that are mostly empty are left out, with a reason. If more than _TOO_MANY columns of
    whole numbers are all distinct, they count as measurements. Raises BadTable for a column of texts in
    `numbers`, and for dates in `forced`.
    """
    why = _identifiers(frame[columns_of(frame, _NUMBERS)])
    texts = set(frame) - set(why)
    for name in texts:
        why[name] = "" if _is_truth(frame[name]) else _about_text(frame[name].dropna())
    for name, filled in frame.notna().sum().items():
        if filled < _FILLED * len(frame) and why[name] != "dates":
            why[name] = f"mostly empty: {filled:,} of {len(frame):,} cells are filled"
    dates = [name for name in forced if why[name] == "dates" and name not in categories]
    for name in (*numbers, *dates):
        if name in texts and not _is_truth(frame[name]):
            cell = short(str(frame[name].dropna().iloc[0]))
            option = "--numbers" if name in numbers else "--forced"
            raise BadTable(f"{option} {name}: the column must hold numbers; it has {cell}")
    given = {*numbers, *categories, *forced}
    left_out = {name: why[name] for name in frame if why[name] and name not in given}
    used = [name for name in frame if name not in left_out]
    found = {name for name in used if name in categories or (name in texts and name not in numbers)}
    return [name for name in used if name not in found], [name for name in used if name in found], left_out


def describe(frame: Any, numbers: list[str], categories: list[str], left_out: dict[str, str]) -> TableColumns:
    """Return the use of the columns of a frame, with the values of its categories.

    A category with one value only is left out. Raises BadTable if two columns of X have one name.
    """
    levels = {name: _levels(frame[name]) for name in categories}
    alone = [name for name in categories if len(levels[name]) < 2]
    left_out = left_out | dict.fromkeys(alone, "one value only")
    kept = tuple(name for name in categories if name not in alone)
    references = tuple(frame[name].mode()[0] for name in kept)
    columns = TableColumns(tuple(numbers), kept, tuple(levels[name] for name in kept), references, left_out)
    counts = Counter(in_X for name in columns.names for in_X in columns.names_in_X(name))
    if twice := [name for name, count in counts.items() if count > 1]:
        raise BadTable(
            f"{short(twice[0])} is the name of a column and of an indicator of a category: rename the "
            "column, or leave it out with --drop"
        )
    return columns


def _levels(column: Any) -> tuple[Any, ...]:
    try:
        return tuple(sorted(column.dropna().unique().tolist()))
    except TypeError:
        raise BadTable(f"column {column.name!r} mixes texts and numbers; leave it out with --drop") from None


def _is_truth(column: Any) -> bool:
    return column.dtype.kind == "b" or all(isinstance(value, bool | np.bool_) for value in column.dropna())


def _identifiers(frame: Any) -> dict[str, str]:
    """Return, for each column of numbers, the reason why it is an identifier, or ""."""
    A: FloatArray = np.sort(frame.to_numpy(np.float64), axis=0)  # NaN comes last
    filled = np.isfinite(A).sum(axis=0)
    whole = np.all(np.isnan(A) | (np.floor(A) == A), axis=0)
    distinct = (np.diff(A, axis=0) > 0).sum(axis=0) + 1
    same = whole & (distinct == filled) & (filled >= _IDENTIFIES)
    same &= np.count_nonzero(same) <= _TOO_MANY
    return {
        name: f"identifier: {count:,} distinct whole numbers" if identifier else ""
        for name, identifier, count in zip(frame, same.tolist(), filled.tolist(), strict=True)
    }


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
    if len(distinct) == len(values) >= _IDENTIFIES:
        return f"identifier: {len(distinct):,} distinct texts, such as {example}"
    if _REPEATS * len(distinct) > len(values):
        return f"texts of which few repeat, such as {example}"
    return ""
