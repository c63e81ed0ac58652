"""Examine columns of whole numbers: find the identifiers and the dates among measurements."""

import re
from typing import Any

import numpy as np

from sparselin.results import FloatArray

ENOUGH = 20  # distinct values with which a column can be an identifier
_EXACT = 2.0**53  # a float of this size or more is always a whole number
_DIGITS = 10  # whole numbers that all have the same number of digits, this one or more, are codes
# Whole numbers such as 20240131 that are all dates. Among the numbers of eight digits that begin with 19 or
# 20 the share of dates is 366/10⁴, so _DATES random ones are all dates with a probability below 1e-8.
_DATES = 6
# The words of a name that say that a column identifies its rows: any word of the name, the last word, or the
# whole name. A word is a run of letters; "patientID" and "patient_id" have two.
_WORD = r"[A-ZÀ-Þ]+(?![a-zß-ÿ])|[A-ZÀ-Þ]?[a-zß-ÿ]+"
_ANY_WORD = frozenset(
    {"barcode", "cusip", "docno", "ean", "fips", "guid", "id", "identifiant", "identifier", "ids", "isbn"}
    | {"kennung", "lfdnr", "plz", "postcode", "rowid", "seqno", "serial", "sku", "uuid", "zip", "zipcode"}
)
_LAST_WORD = frozenset(
    {"code", "idx", "key", "no", "nr", "num", "numero", "numéro", "number", "nummer", "pk", "seq"}
)
_WHOLE_NAME = frozenset(
    {
        "account",
        "case",
        "customer",
        "employee",
        "index",
        "lfd",
        "obs",
        "observation",
        "participant",
        "patient",
    }
    | {"person", "pid", "record", "respondent", "row", "student", "subject", "user"}
)
_TIMES = frozenset(
    {"age", "annee", "année", "date", "datum", "day", "hour", "jahr", "month", "monat", "tag", "time", "week"}
    | {"woche", "year", "yr", "zeit"}
)


def has_name_of_identifier(name: str) -> bool:
    """Return whether the name of a column is that of an identifier or a code, such as "zip" or "userID"."""
    words = [word.lower() for word in re.findall(_WORD, name)]
    if not words:
        return False
    return not _ANY_WORD.isdisjoint(words) or words[-1] in _LAST_WORD or "".join(words) in _WHOLE_NAME


def examine(frame: Any) -> tuple[dict[str, str], set[str]]:
    """Return, for each column of numbers, the reason why it is left out, or "".

    Return also the columns without a reason that hold whole numbers, all distinct. Floats of 2⁵³ or more do
    not count as whole numbers, because every float of this size is one.
    """
    A: FloatArray = frame.to_numpy(np.float64)
    ordered = np.sort(A, axis=0)  # NaN comes last
    filled = np.isfinite(A).sum(axis=0)
    integer = np.array([dtype.kind in "iu" for dtype in frame.dtypes], bool)
    whole = np.all(np.isnan(A) | ((np.floor(A) == A) & (integer | (np.abs(A) < _EXACT))), axis=0)
    distinct = (np.diff(ordered, axis=0) > 0).sum(axis=0) + 1
    reasons = dict.fromkeys(frame, "")
    suspects = set()
    for j in np.flatnonzero(whole & (filled >= min(_DATES, ENOUGH))).tolist():
        name = frame.columns[j]
        values = A[np.isfinite(A[:, j]), j]
        different = int(distinct[j])
        if np.abs(values).max() >= _EXACT:  # floats merge large integers that differ
            different = int(frame[name].nunique())
        if different >= _DATES and _are_dates(values):
            reasons[name] = "dates"
        elif different == len(values) >= ENOUGH:
            if evidence := _evidence(str(name), values):
                reasons[name] = f"identifier: {len(values):,} distinct whole numbers, {evidence}"
            else:
                suspects.add(name)
    return reasons, suspects


def _are_dates(values: FloatArray) -> bool:
    """Return whether all whole numbers, such as 20240131, are dates of the years 1900 to 2100."""
    if values.min() < 19000101 or values.max() > 21001231:
        return False
    numbers = values.astype(np.int64)
    year = numbers // 10_000
    month = numbers // 100 % 100
    day = numbers % 100
    leap = (year % 4 == 0) & ((year % 100 != 0) | (year % 400 == 0))
    days = np.array([31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31])[np.clip(month, 1, 12) - 1]
    return bool(np.all((month >= 1) & (month <= 12) & (day >= 1) & (day <= days + (leap & (month == 2)))))


def _evidence(name: str, values: FloatArray) -> str:
    """Return why distinct whole numbers, in the order of the rows, identify the rows; "" without evidence.

    Measurements such as populations are distinct whole numbers too. The evidence for an identifier is its
    name; or that it numbers the rows: each number is larger than the one before it, and all steps are equal,
    or more than half of them are 1, unless the name is that of a time; or that all numbers have the same
    number of digits, at least _DIGITS.
    """
    if has_name_of_identifier(name):
        return "by its name"
    steps = np.diff(values)
    words = {word.lower() for word in re.findall(_WORD, name)}
    even = np.ptp(steps) == 0 or 2 * np.count_nonzero(steps == 1) > len(steps)
    if steps.min() > 0 and even and _TIMES.isdisjoint(words):
        return "which number the rows"
    digits = np.floor(np.log10(np.maximum(np.abs(values), 1))) + 1
    if digits.min() == digits.max() >= _DIGITS:
        return f"all of {digits[0]:.0f} digits"
    return ""
