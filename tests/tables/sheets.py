"""Workbooks of Excel: a list of sheets (name, rows), where None is a chart."""

import datetime

from .forms import AREA, CITY, FLATS, RENT, ROOMS, TRUTHS, WHOLE, WHOLES, add, lines_of, number


def sheets():
    """Excel workbooks: each is a list of sheets (name, rows), or None for a chart."""
    rows = [list(FLATS), *map(list, zip(*FLATS.values(), strict=True))]
    n = len(rows) - 1
    add("plain.xlsx", [("Data", rows)], "a workbook", "flats")
    add(
        "index.xlsx",
        [("Data", [["", *rows[0]], *([i, *row] for i, row in enumerate(rows[1:]))])],
        "the index of pandas",
        "flats",
    )
    add("title.xlsx", [("Data", [["Flats in four cities"], [], *rows])], "a title and an empty row", "flats")
    add(
        "offset.xlsx",
        [("Data", [[], [], *([None, *row] for row in rows)])],
        "a table that begins in B3",
        "flats",
    )
    add(
        "title_offset.xlsx",
        [("Data", [[None, "Flats"], [], *([None, *row] for row in rows)])],
        "a title in B1",
        "flats",
    )
    add(
        "second.xlsx",
        [("About", [["Read me"], ["by hand"]]), ("Data", rows)],
        "the table is in the second sheet",
        "flats",
        options="--sheet Data",
        refused="Another sheet is read with --sheet Data",
    )
    add(
        "sheets.xlsx",
        [("2023", lines_of(WHOLES)), ("2024", rows)],
        "two tables",
        "flats",
        options="--sheet 2",
    )
    add(
        "first.xlsx",
        [("2024", rows), ("2023", lines_of(WHOLES))],
        "two tables, of which the first is read",
        "flats",
    )
    add("chart.xlsx", [("Chart", None), ("Data", rows)], "a chart before the table", "flats")
    add("empty_first.xlsx", [("Empty", []), ("Data", rows)], "an empty sheet before the table", "flats")
    gone = TRUTHS["gaps"]
    for name, mark in (("errors", "#DIV/0!"), ("marks", "?"), ("sas", "."), ("na", "NA")):
        shown = {key: [mark if v is None else v for v in values] for key, values in gone.items()}
        add(f"{name}.xlsx", [("Data", lines_of(shown))], f"{mark} in cells of numbers", "gaps")
    add("gaps.xlsx", [("Data", lines_of(gone))], "empty cells", "gaps")
    german = {
        "area": [number(v, ",", ".") for v in AREA],
        "rooms": ROOMS,
        "city": CITY,
        "rent": [number(v, ",", ".") for v in RENT],
    }
    add("texts.xlsx", [("Daten", lines_of(german))], "numbers that are German texts", "flats")
    mixed = {**FLATS, "area": [str(v).replace(".", ",") if i % 2 else v for i, v in enumerate(AREA)]}
    add(
        "mixed.xlsx",
        [("Daten", lines_of(mixed))],
        "numbers, and texts with decimal commas, in a column",
        "flats",
    )
    add(
        "ambiguous.xlsx",
        [("Data", lines_of({"area": [number(v, thousands=",") for v in WHOLE], "rooms": ROOMS}))],
        "950 and 1,234 as texts",
        "whole",
        options="--thousands ,",
        refused="has two readings",
    )
    second = TRUTHS["second"]
    add(
        "two_headers.xlsx",
        [("Data", [["before", "after", "object"], *lines_of(second)])],
        "two rows of names",
        "second",
        options="--header 2",
        refused="--header 2",
    )
    add(
        "merged.xlsx",
        [("Data", [["before", None, "after", None], *lines_of(TRUTHS["wide"])])],
        "merged cells above the names",
        "wide",
    )
    units = lines_of(TRUTHS["units_row"])
    add(
        "units.xlsx",
        [("Data", [units[0], ["m²", "€", "kg"], *units[1:]])],
        "a row of units",
        "units_row",
        options="--skip 2",
        refused="--skip 2",
    )
    add(
        "double_names.xlsx",
        [("Data", [["area", "rooms", "city", "area"], *rows[1:]])],
        "a name that occurs twice",
        "unnamed",
        options="--header 0 --skip 1",
        refused="'area' occurs twice",
    )
    add(
        "no_names.xlsx",
        [("Data", rows[1:])],
        "no names",
        "unnamed",
        options="--header 0",
        refused="--header 0",
    )
    named = lines_of(TRUTHS["named"])
    add(
        "totals.xlsx",
        [("Data", [*named, ["Total", sum(AREA), sum(RENT)]])],
        "a row of totals",
        "named",
        options=f"--skip {n + 2}",
        refused="seems to hold totals",
    )
    add("source.xlsx", [("Data", [*rows, [], ["Source: own survey"]])], "a source below the table", "flats")
    add(
        "years.xlsx",
        [("Data", [["country", 2021, 2022, 2023], *lines_of(TRUTHS["years"])[1:]])],
        "years, which are numbers, as names",
        "years",
    )
    dates = [datetime.datetime(2024, 1, day) for day in range(1, 13)]
    add(
        "dates.xlsx",
        [("Data", lines_of({"when": dates, **WHOLES}))],
        "dates",
        "dates",
        {"when": [f"{day:%Y-%m-%d}" for day in dates], **WHOLES},
    )
    add(
        "empty_column.xlsx",
        [("Data", [[a, None, b] for a, b in lines_of(TRUTHS["pair"])])],
        "an empty column in the middle",
        "pair",
    )
