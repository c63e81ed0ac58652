"""Decide for each column of texts whether it holds numbers, and which sign is the decimal sign.

A number has one of two readings: the point is the decimal sign and the comma may separate thousands, or the
other way round. In both, blanks and apostrophes may separate thousands. A group of thousands has three digits
and the first group begins with no zero, so these cells decide: "1,5", "0,123", "1234,567" and "1,234E-3" (the
comma is the decimal sign), "1,234,567" (it is none), and "1,234.5" (the last sign is). A cell such as "1,234"
has both readings. All cells of a column have the same reading. A column in which no cell decides follows the
other columns of the file if they agree.
"""

import re
import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from sparselin.studies.common.table_base import BadTable, ReadingOptions, short, some

# the kinds of blanks: a plain one, those that do not break, and narrow ones
_BLANK = "[ \u00a0\u2007\u2009\u202f]"
_MINUS = "\u2212"
POINT, COMMA = 1, 2  # the readings of a number, by its decimal sign; a cell may have both: 3
_SIGN_OF = {POINT: ".", COMMA: ","}

# texts that count as missing in columns of numbers, whatever their share: those that pandas takes, and the
# errors of spreadsheets in English, German, French, Spanish and Italian
PANDAS_MISSING = (
    "",
    "#N/A",
    "#N/A N/A",
    "#NA",
    "-1.#IND",
    "-1.#QNAN",
    "-NaN",
    "-nan",
    "1.#IND",
    "1.#QNAN",
    "<NA>",
    "N/A",
    "NA",
    "NULL",
    "NaN",
    "None",
    "n/a",
    "nan",
    "null",
)
ERRORS = frozenset(
    (
        "#DIV/0!",
        "#VALUE!",
        "#REF!",
        "#NUM!",
        "#NAME?",
        "#NULL!",
        "#N/A",
        "#SPILL!",
        "#CALC!",
        "#ERROR!",
        "#ZAHL!",
        "#BEZUG!",
        "#WERT!",
        "#NV",
        "#VALEUR!",
        "#NOMBRE!",
        "#NOM?",
        "#NUL!",
        "#¡VALOR!",
        "#¡REF!",
        "#¡NUM!",
        "#¿NOMBRE?",
        "#¡NULO!",
        "#¡DIV/0!",
        "#VALORE!",
        "#RIF!",
        "#NOME?",
        "#NULLO!",
    )
)
_MARK = re.compile(r"[^\w\s]+|\.[A-Za-z_]|\\N")  # "?", "-", "."; ".A" of SAS and Stata; "\N" of MySQL
_MARKS = 0.5  # the largest share of such marks in a column of numbers
_SINGLE = 4  # columns for which a message proposes an option of their own
_CODES, _DISTINCT = 0.1, 8  # the largest share of other texts without digits, and the number of them
# an amount with its unit or currency before or behind, a sign or parentheses
_AFFIX = r"[^\s\d.,()+\-−<>≤≥~≈='’\"]{1,12}\.?"
_AMOUNT = re.compile(
    rf"\(?\s*[-+{_MINUS}]?\s*(?P<before>{_AFFIX})?\s*\(?[-+{_MINUS}]?\s*"
    rf"(?:[0-9][0-9.,'’\s]*|[.,][0-9]+)(?:[eE][-+]?[0-9]+)?\s*(?P<behind>{_AFFIX})?\s*[-)]?"
)


def _pattern(decimal: str, thousands: str) -> re.Pattern[str]:
    """Return the pattern of a number; \\d would take the digits of other scripts."""
    groups = "|".join(f"[1-9][0-9]{{0,2}}(?:{sign}[0-9]{{3}})+" for sign in (thousands, _BLANK, "['’]"))
    groups += f"|[1-9][0-9]?(?:{thousands}[0-9]{{2}})+{thousands}[0-9]{{3}}"  # India's lakhs: 1,00,000
    end = rf"{decimal}[0-9]{'*' if decimal == chr(92) + '.' else '+'}"
    plain = rf"(?:[0-9]+(?:{end})?|{decimal}[0-9]+)(?:[eE][-+]?[0-9]+)?"
    return re.compile(rf"[-+{_MINUS}]?(?:(?:{groups})(?:{end})?|{plain}|inf|infinity)", re.IGNORECASE)


_PATTERNS = {POINT: _pattern(r"\.", ","), COMMA: _pattern(",", r"\.")}


def readings_of(cell: str) -> int:
    """Return the readings of a cell as a number: 0, POINT, COMMA or both, POINT | COMMA."""
    cell = cell.strip()
    return sum(reading for reading, pattern in _PATTERNS.items() if pattern.fullmatch(cell))


def is_number(field: str) -> bool:
    """Return whether a field is a number in some reading; "1_000", which float() accepts, is none."""
    return readings_of(field) > 0


class Conversion(NamedTuple):
    """The conversion of a column of texts to numbers.

    missing : texts that count as missing.
    replacements : (old, new, whether old is a regular expression), in order.
    mixed : whether some cells are numbers already.
    huge : whether some of these are whole numbers that float64 cannot hold; they become infinite.
    """

    missing: tuple[str, ...]
    replacements: tuple[tuple[str, str, bool], ...]
    mixed: bool
    huge: bool

    def apply(self, column: Any) -> Any:
        """Return the column as float64; each text is rounded correctly."""
        column = column.mask(column.isin(self.missing)) if self.missing else column
        texts = column
        for old, new, regex in self.replacements:
            texts = texts.str.replace(old, new, regex=regex)
        texts = texts.fillna(column) if self.mixed and self.replacements else texts
        return (texts.astype(str) if self.huge else texts).astype(float)

    def lines(self, names: Sequence[str]) -> str:
        """Return the conversion of these columns of the frame `table`, as a program in Python."""
        code = [f"for name in {list(names)!r}:", "    column = table[name]"]
        if self.missing:
            code.append(f"    column = column.mask(column.isin({list(self.missing)!r}))")
        texts = "column"
        for old, new, regex in self.replacements:
            texts += f".str.replace({_literal(old)}, {_literal(new)}, regex={regex})"
        texts += ".fillna(column)" if self.mixed and self.replacements else ""
        texts += ".astype(str)" if self.huge else ""
        return "\n".join([*code, f"    table[name] = {texts}.astype(float)"])


def _literal(text: str) -> str:
    """Return a text as Python writes it; with a backslash, as a raw one."""
    return "r" + repr(text).replace("\\\\", "\\") if "\\" in text else repr(text)


class NumberColumn(NamedTuple):
    """A column of numbers, of which some cells may be texts.

    readings : the readings that fit; both, if no cell decides.
    sign : the comma or the point in a cell that has both readings, or "" if no cell has a sign.
    fixed : whether every number has this sign.
    example : a cell with the sign, or "".
    texts : the distinct texts that are numbers, without their units.
    missing : the texts that count as missing.
    affixes : the unit or currency that is removed, or nothing.
    mixed, huge : whether some cells are numbers already, and whether float64 cannot hold some of these.
    """

    readings: int
    sign: str
    fixed: bool
    example: str
    texts: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    affixes: tuple[str, ...] = ()
    mixed: bool = False
    huge: bool = False

    @property
    def undecided(self) -> bool:
        """True if the column has two readings with different numbers."""
        return self.readings == POINT | COMMA and bool(self.sign)

    def thousands(self, reading: int) -> str:
        """Return the signs between thousands that occur, for a reading: some of ",. '"."""
        other = "," if reading == POINT else "."
        kinds = {other: re.escape(other), " ": rf"[0-9]{_BLANK}[0-9]", "'": "['’]"}
        return "".join(
            sign for sign, kind in kinds.items() if any(re.search(kind, text) for text in self.texts)
        )

    def conversion(self, reading: int) -> Conversion:
        """Return the conversion to numbers for a reading."""
        other = "," if reading == POINT else "."
        steps = [(affix, "", False) for affix in self.affixes]
        if self.affixes or any(text[0] in "(" or text[-1] == "-" for text in self.texts):
            steps += [(r"^\s*\((.*)\)\s*$", r"-\1", True), (r"^\s*(.*\d)\s*-\s*$", r"-\1", True)]
        texts = self.texts
        if any(re.search(r"\s|['’]", text) for text in texts) or self.affixes:
            steps.append((r"[\s'’]", "", True))
        for old, new in ((_MINUS, "-"), (other, ""), (",", ".")):
            if (
                old != new
                and any(old in text for text in texts)
                and not (old == "," and reading == POINT and new)
            ):
                steps.append((old, new, False))
        return Conversion(self.missing, tuple(steps), self.mixed, self.huge)


def examine(column: Any, words: Sequence[str], generous: bool = False) -> NumberColumn | None:
    """Return what a column of texts holds if it is a column of numbers, or else None.

    words : further texts that count as missing.
    generous : whether units and currencies are removed, parentheses and a minus behind the number mean
        negative numbers, and every text that is no number counts as missing.

    Otherwise, a column of numbers may hold the words, and at most half of its cells may be marks such as "?",
    and a tenth other texts without a digit.
    """
    column = column.dropna()
    is_text = column.map(lambda cell: isinstance(cell, str)).astype(bool)
    others = column[~is_text]
    if any(isinstance(cell, bool) or not hasattr(cell, "__float__") for cell in others):
        return None
    counts = Counter(column[is_text].tolist())
    amounts = _amounts(counts) if generous else {}
    affixes = tuple({affix for affix in amounts.values() if affix})
    plain = {text: _plain(text, affixes) if text in amounts else text for text in counts}
    readings = {text: readings_of(plain[text]) for text in counts}
    fits = {r: sum(counts[text] for text, found in readings.items() if found & r) for r in (POINT, COMMA)}
    most = max(fits.values())
    if not most + len(others) or (generous and affixes and not any(readings.values())):
        return None
    possible = sum(reading for reading, count in fits.items() if count == most)
    if any(readings[text] in (POINT, COMMA) for text in counts) and possible == POINT | COMMA:
        possible = POINT  # as many cells decide for either; those for the comma are no numbers
    numbers = [text for text, found in readings.items() if found & possible]
    rest = [text for text in counts if text not in set(numbers)]
    if not generous and not _are_missing(rest, counts, len(column), words):
        return None
    marked = [text for text in numbers if readings[text] == POINT | COMMA and re.search("[.,]", plain[text])]
    signs = {re.search("[.,]", plain[text])[0] for text in marked}  # type: ignore[index]
    example = marked[0] if marked else next((text for text in numbers if re.search("[.,]", plain[text])), "")
    fixed = len(marked) == len(numbers) and others.empty
    unmarked = _SIGN_OF.get(possible, "") if example else ""
    sign = min(signs) if signs else unmarked
    huge = any(isinstance(cell, int) and abs(cell) >= 2**1023 for cell in others)
    missing = tuple(sorted(rest))
    mixed = not others.empty
    return NumberColumn(
        readings=possible,
        sign=sign,
        fixed=fixed,
        example=example,
        texts=tuple(numbers),
        missing=missing,
        affixes=affixes,
        mixed=mixed,
        huge=huge,
    )


def _are_missing(texts: Sequence[str], counts: Mapping[str, int], cells: int, words: Sequence[str]) -> bool:
    """Return whether texts in a column of numbers can count as missing."""
    marks = [text for text in texts if _MARK.fullmatch(text.strip())]
    known = {*words, *marks}
    codes = [text for text in texts if text not in known and text.strip() not in known]
    return (
        not any(re.search(r"\d", text) for text in codes)
        and len(codes) <= _DISTINCT
        and sum(counts[text] for text in codes) <= _CODES * cells
        and sum(counts[text] for text in marks) <= _MARKS * cells
    )


def _amounts(counts: Mapping[str, int]) -> dict[str, str]:
    """Return the texts that are numbers with the most frequent unit, or none: text ↦ unit."""
    found = {}
    for text in counts:
        match = _AMOUNT.fullmatch(text.strip())
        if match and not (match["before"] and match["behind"]):
            found[text] = match["before"] or match["behind"] or ""
    units: Counter[str] = Counter()
    for text, unit in found.items():
        units[unit] += counts[text] if unit else 0
    unit = max(units, key=lambda name: units[name], default="")
    return {text: affix for text, affix in found.items() if affix in ("", unit)}


def _plain(text: str, affixes: Sequence[str]) -> str:
    """Return the number in a text with a unit, parentheses or a minus behind it."""
    for affix in affixes:
        text = text.replace(affix, "")
    text = re.sub(r"^\s*\((.*)\)\s*$", r"-\1", text)
    text = re.sub(r"^\s*(.*\d)\s*-\s*$", r"-\1", text)
    return re.sub(rf"^([-+{_MINUS}])\s+", r"\1", text.strip())


def settle(
    path: Path, columns: Mapping[str, NumberColumn], votes: set[int], options: ReadingOptions, separator: str
) -> dict[str, int]:
    """Return the reading of each column of numbers.

    votes : readings of other columns, whose cells decide.

    A column in which no cell decides has the reading of an option, or else the one of all columns whose cells
    decide. If there is none, a point in every number of the column is its decimal sign, provided that commas
    or blanks separate the columns; otherwise raises BadTable. In that case a wrong reading would only
    multiply the column by 1000.
    """
    readings = {name: column.readings for name, column in columns.items() if not column.undecided}
    votes = votes | {r for name, r in readings.items() if r != POINT | COMMA and columns[name].sign}
    doubtful = []
    for name, column in columns.items():
        if name in readings:
            continue
        reading = _option_of(name, column, options) or (next(iter(votes)) if len(votes) == 1 else 0)
        if not reading and column.sign == "." and column.fixed and separator in (",", " "):
            reading = POINT
        if not reading:
            doubtful.append(name)
        readings[name] = reading
    if doubtful:
        raise _ambiguous(path, doubtful, columns)
    return {name: POINT if reading == POINT | COMMA else reading for name, reading in readings.items()}


def _option_of(name: str, column: NumberColumn, options: ReadingOptions) -> int:
    """Return the reading of a column that an option gives, or 0. An option for the column goes first."""
    for key in (name, ""):
        if key in options.decimal:
            return COMMA if options.decimal[key] == "," else POINT
        if options.thousands.get(key) in (",", "."):
            return POINT if options.thousands[key] == "," else COMMA
    return 0


def _ambiguous(path: Path, names: Sequence[str], columns: Mapping[str, NumberColumn]) -> BadTable:
    """Return the error that columns have two readings."""
    column = columns[names[0]]
    sign, cell = column.sign, column.example
    whole, real = cell.replace(sign, ""), cell.replace(sign, ".")
    sign_name = "comma" if sign == "," else "point"
    more = f" The same holds for {some([short(name) for name in names[1:]])}." if names[1:] else ""
    single = [
        f"--thousands {shlex.quote(f'{name}={sign}')} or --decimal {shlex.quote(f'{name}={sign}')}"
        for name in names[:_SINGLE]
    ]
    return BadTable(
        f"{path}: column {short(names[0])} has two readings: {short(cell)} is {whole} if the {sign_name} "
        f"separates thousands, and {real} if it is the decimal sign; no cell decides.{more}",
        f"Pass --thousands {sign} or --decimal {sign}"
        + (f"; for single columns, {'; '.join(single)}" if names[1:] else ""),
    )
