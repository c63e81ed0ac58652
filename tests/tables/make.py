"""The tables of this folder: `python -m tests.tables.make` writes them, their true contents, and index.toml.

A table has the form in which a program or a person leaves it. The index says for each what it shows, which
file in truth/ has its contents, which options read it, and, if it is refused without them, the words of the
message, which has to propose these options.
"""

import datetime
import gzip
import io
from pathlib import Path

FOLDER = Path(__file__).parent
TABLES = {}  # name of the file → (bytes or a function that fills a workbook, entry of the index)
TRUTHS = {}  # name → columns

AREA = [45.5, 1234.75, 88.25, 2310.5, 61.0, 999.75, 120.125, 75.5, 1050.25, 67.75, 12345.5, 101.5]
ROOMS = [2, 7, 3, 9, 1, 5, 4, 2, 6, 3, 8, 4]
CITY = [
    "Bonn",
    "Köln",
    "Genève",
    "Bonn",
    "Zürich",
    "Köln",
    "Bonn",
    "Genève",
    "Zürich",
    "Bonn",
    "Köln",
    "Bonn",
]
RENT = [410.5, 9050.25, 820.75, 15100.5, 350.25, 6020.5, 1210.75, 640.25, 7100.5, 530.5, 80200.75, 980.25]
BALANCE = [1200.5, -350.25, 80.75, -15.5, 2210.25, -1000.5, 13.25, 40.75, -7.5, 1500.25, -2.5, 99.75]
WHOLE = [950, 1234, 2310, 870, 12345, 1001, 640, 4558, 3999, 1750, 505, 8100]
KILO = [1.234, 2.31, 12.345, 1.001, 4.558, 3.999, 1.75, 8.1, 7.005, 6.25, 5.5, 9.875]  # three decimals each
SMALL = [0.125, 0.5, 0.875, 0.25, 0.375, 0.625, 0.75, 0.0625, 0.9375, 0.1875, 0.3125, 0.4375]
TINY = [1.5e-3, 2.5e-4, 7.25e-3, 1e-5, 3.5e-2, 9.75e-3, 6e-3, 4.25e-4, 8e-2, 5.5e-3, 2e-6, 3.25e-3]
HOLES = (3, 7)  # rows with a missing value
FLATS = {"area": AREA, "rooms": ROOMS, "city": CITY, "rent": RENT}
WHOLES = {"area": WHOLE, "rooms": ROOMS, "rent": RENT}


def holes(values):
    return [None if i in HOLES else value for i, value in enumerate(values)]


def number(value, decimal=".", thousands="", digits=None):
    """Return a number as a text, with a sign between groups of three digits."""
    if value is None:
        return ""
    text = f"{abs(value):,.{digits}f}" if digits is not None else f"{abs(value):,}"
    text = text.replace(",", "\0").replace(".", decimal).replace("\0", thousands)
    return ("-" if value < 0 else "") + text


def lines(columns, sep=",", decimal=".", thousands="", digits=None, quote=None, end="\n", names=None):
    """Return the lines of a text; `quote` says whether to put a field in quotes."""

    def field(value):
        text = number(value, decimal, thousands, digits) if isinstance(value, float | int) else value or ""
        return f'"{text}"' if quote and quote(text) else text

    rows = [names or list(columns), *zip(*columns.values(), strict=True)]
    return [sep.join(map(field, row)) + end for row in rows]


def text(columns, **form):
    return "".join(lines(columns, **form))


def add(name, data, shows, truth, columns=None, options="", refused="", encoding="utf-8", numbers=""):
    """Add a table. `columns` are its true contents, stored once under the name `truth`."""
    if columns is not None:
        assert TRUTHS.setdefault(truth, columns) == columns, truth
    assert truth in TRUTHS, truth
    assert name not in TABLES, name
    data = data.encode(encoding) if isinstance(data, str) else data
    entry = {"shows": shows, "truth": truth, "options": options, "refused": refused, "numbers": numbers}
    TABLES[name] = data, {key: value for key, value in entry.items() if value}


def forms_of_text():
    """Encodings, ends of lines, quotes."""
    plain = text(FLATS)
    add("plain.csv", plain, "commas and points, in UTF-8", "flats", FLATS)
    add("bom.csv", "\ufeff" + plain, "a byte order mark, as Excel's CSV UTF-8 has it", "flats")
    add(
        "unicode_text.txt",
        text(FLATS, sep="\t", decimal=","),
        "Excel's Unicode text, in German",
        "flats",
        encoding="utf-16",
    )
    add("big_endian.csv", plain, "UTF-16, big end first, without a mark", "flats", encoding="utf-16-be")
    add(
        "windows.csv",
        text(FLATS, sep=";", decimal=",", end="\r\n"),
        "a German Excel on Windows",
        "flats",
        encoding="cp1252",
    )
    add("latin1.csv", plain, "ISO 8859-1", "flats", encoding="latin-1")
    add("old_mac.csv", text(FLATS, end="\r"), "lines that end with CR only", "flats")
    add("crlf.csv", text(FLATS, end="\r\n"), "lines that end with CR LF", "flats")
    add("no_end.csv", plain.rstrip("\n"), "no end of the last line", "flats")
    add("blank_lines.csv", plain.replace("\n", "\n\n"), "a blank line behind each line", "flats")
    add("control_z.csv", plain + "\x1a", "the end-of-file mark of DOS in a line of its own", "flats")
    add("packed.csv.gz", gzip.compress(plain.encode(), mtime=0), "compressed by gzip", "flats")
    add("all_quoted.csv", text(FLATS, quote=lambda field: True), "every field in quotes", "flats")
    remarks = {**FLATS, "city": [f"{city},\nold" if i % 2 else city for i, city in enumerate(CITY)]}
    add(
        "line_breaks.csv",
        text(remarks, quote=lambda field: "\n" in field),
        "line breaks in quotes",
        "remarks",
        remarks,
    )
    sizes = {"size": ['5" wide' if i % 2 else "3, small" for i in range(12)], **WHOLES}
    doubled = text(
        {**sizes, "size": [s.replace('"', '""') for s in sizes["size"]]},
        quote=lambda field: '"' in field or "," in field,
    )
    add("doubled_quotes.csv", doubled, "quotes and commas in quotes", "sizes", sizes)
    add("spaces.csv", plain.replace("area,rooms", " area , rooms"), "spaces around names", "flats")
    add(
        "comma_blank.csv",
        plain.replace(",", ", "),
        "a blank behind each comma",
        "flats_blank",
        {**FLATS, "city": [" " + city for city in CITY]},
    )


def separators():
    add("semicolons.csv", text(FLATS, sep=";"), "semicolons with decimal points", "flats")
    add("csv2.csv", text(FLATS, sep=";", decimal=",", quote=str.isalpha), "R's write.csv2", "flats")
    add("tabs.tsv", text(FLATS, sep="\t"), "tabs", "flats")
    add("tabs_german.tsv", text(FLATS, sep="\t", decimal=","), "tabs with decimal commas", "flats")
    add("tabs.csv", text(FLATS, sep="\t", decimal=","), "tabs in a .csv", "flats")
    add("bars.txt", text(FLATS, sep="|"), "vertical bars, as databases write them", "flats")
    add("bars_german.txt", text(FLATS, sep="|", decimal=","), "vertical bars with decimal commas", "flats")
    add("blanks.txt", text(FLATS, sep=" "), "R's write.table without names of rows", "flats")
    columns = [list(map(str, (name, *values))) for name, values in FLATS.items()]
    aligned = "\n".join("  ".join(cell.rjust(9) for cell in row) for row in zip(*columns, strict=True))
    add("aligned.txt", aligned + "\n", "columns aligned by blanks", "flats")
    mixed = text(FLATS, sep=" ").replace(" ", " \t ")
    add("blanks_and_tabs.txt", mixed, "blanks and tabs between columns", "flats")
    add("colons.txt", text(FLATS, sep=":"), "colons", "flats", options="--separator :", refused="--separator")
    add("sep_line.csv", "sep=;\n" + text(FLATS, sep=";", decimal=","), "Excel's line sep=;", "flats")
    add(
        "sep_tab.csv",
        "sep=\t\r\n" + text(FLATS, sep="\t", end="\r\n"),
        "Excel's line sep= with a tab",
        "flats",
    )
    add("sep_bom.csv", "\ufeffsep=,\n" + text(FLATS), "the line sep=, behind a byte order mark", "flats")
    names = ["area, m2", "rooms", "city", "rent, €"]
    renamed = dict(zip(names, FLATS.values(), strict=True))
    add("comma_in_names.csv", text(renamed, sep=";"), "commas in names, between semicolons", "units", renamed)
    add("comma_in_name.tsv", text(renamed, sep="\t"), "commas in names, between tabs", "units")
    add(
        "semicolon_in_cells.csv",
        text({**WHOLES, "note": [f"a;{i % 3}" for i in range(12)], "y": ROOMS}),
        "semicolons in the cells of a table with commas",
        "notes",
        {**WHOLES, "note": [f"a;{i % 3}" for i in range(12)], "y": ROOMS},
    )
    add(
        "two_decimal_commas.csv",
        text({"a": SMALL, "y": TINY[:0] or RENT}, sep=";", decimal=","),
        "as many commas as semicolons in each row",
        "two",
        {"a": SMALL, "y": RENT},
    )


def signs():
    """Decimal and thousands signs."""

    def odd(field):
        return "," in field

    add("german.csv", text(FLATS, sep=";", decimal=",", thousands=".", digits=3), "1.234,750", "flats")
    add(
        "german_tabs.txt",
        text(FLATS, sep="\t", decimal=",", thousands=".", digits=3),
        "1.234,750 after tabs",
        "flats",
    )
    add(
        "google_german.csv",
        text(FLATS, decimal=",", thousands=".", digits=3, quote=odd),
        '"1.234,750" after commas',
        "flats",
    )
    add("english.csv", text(FLATS, thousands=",", digits=3, quote=odd), '"1,234.750"', "flats")
    add(
        "english_semicolons.csv",
        text(FLATS, sep=";", thousands=",", digits=3),
        "1,234.750 after semicolons",
        "flats",
    )
    for name, sign in (("narrow", "\u202f"), ("no_break", "\u00a0"), ("blank", " ")):
        add(
            f"french_{name}.csv",
            text(FLATS, sep=";", decimal=",", thousands=sign, digits=3),
            f"French: {sign!r} between thousands",
            "flats",
        )
    add("swiss.csv", text(FLATS, sep=";", thousands="'", digits=3), "Swiss: 1'234.750", "flats")
    add("swiss_typographic.csv", text(FLATS, thousands="’", digits=3), "Swiss: 1’234.750", "flats")
    lakh = {"area": AREA, "pay": [123456.5, 4567.5, 12345678.25, *RENT[:9]]}
    shown = {
        "area": AREA,
        "pay": ["1,23,456.5", "4,567.5", "1,23,45,678.25", *(number(v, ".", ",") for v in RENT[:9])],
    }
    add("indian.csv", text(shown, quote=odd), "Indian: 1,23,456.5", "lakhs", lakh)
    two = "has two readings: '1,234' is 1234 if the comma separates thousands, and 1.234"
    whole = {"area": WHOLE, "rooms": ROOMS}
    add(
        "ambiguous_thousands.csv",
        text(whole, sep=";", thousands=","),
        "whole numbers: 950 and 1,234",
        "whole",
        whole,
        options="--thousands ,",
        refused=two,
    )
    kilo = {"area": KILO, "rooms": ROOMS}
    add(
        "ambiguous_decimals.csv",
        text(kilo, sep=";", decimal=",", digits=3).replace("\n2,000", "\n2").replace(",000", ""),
        "decimals: each comma has three digits behind it",
        "kilo",
        kilo,
        options="--decimal ,",
        refused=two,
    )
    add(
        "ambiguous_points.csv",
        text(whole, sep=";", thousands="."),
        "whole numbers: 950 and 1.234",
        "whole",
        options="--thousands .",
        refused="if the point separates thousands",
    )
    add(
        "ambiguous_points.tsv",
        text(whole, sep="\t", thousands="."),
        "950 and 1.234 after tabs",
        "whole",
        options="--thousands .",
        refused="if the point separates thousands",
    )
    add(
        "ambiguous_english.csv",
        text(whole, thousands=",", quote=odd),
        '950 and "1,234" after commas',
        "whole",
        options="--thousands ,",
        refused=two,
    )
    add(
        "ambiguous_spanish.csv",
        text(whole, thousands="."),
        "950 and 1.234 after commas",
        "whole",
        options="--thousands .",
        refused="if the point separates thousands",
    )
    both = {"area": WHOLE, "height": KILO, "rooms": ROOMS}
    shown = {
        "area": [number(v, thousands=",") for v in WHOLE],
        "height": [number(v, ",", digits=3) for v in KILO],
        "rooms": ROOMS,
    }
    add(
        "ambiguous_twice.csv",
        text(shown, sep=";"),
        "one column with each reading",
        "both",
        both,
        options="--thousands area=, --decimal height=,",
        refused="The same holds for 'height'",
    )
    add(
        "settled_english.csv",
        text(WHOLES, thousands=",", quote=odd),
        "1,234 next to 9,050.25",
        "wholes",
        WHOLES,
    )
    add(
        "settled_german.csv",
        text(WHOLES, sep=";", decimal=",", thousands="."),
        "1.234 next to 9.050,25",
        "wholes",
    )
    add(
        "settled_by_small.csv",
        text({**whole, "share": SMALL}, sep=";", decimal=",", thousands="."),
        "1.234 next to 0,125",
        "shares",
        {**whole, "share": SMALL},
    )
    million = {"people": [v * 1000 for v in WHOLE], "rooms": ROOMS}
    add("millions.csv", text(million, sep=";", thousands=","), "1,234,000 decides", "millions", million)
    add("millions_german.csv", text(million, sep=";", thousands="."), "1.234.000 decides", "millions")
    differ = {"a": SMALL, "b": AREA, "y": ROOMS}
    shown = {"a": [number(v, ",") for v in SMALL], "b": AREA, "y": ROOMS}
    add(
        "differ.csv",
        text(shown, sep=";"),
        "decimal commas in one column, points in another",
        "differ",
        differ,
    )
    add(
        "exponents.csv",
        text({"a": [f"{v:.2E}".replace(".", ",") for v in TINY], "y": ROOMS}, sep=";"),
        "1,50E-03",
        "tiny",
        {"a": TINY, "y": ROOMS},
    )
    add(
        "exponents_three.csv",
        text({"a": [f"{v:.3E}".replace(".", ",") for v in TINY], "y": ROOMS}, sep="\t"),
        "1,500E-03: three digits behind the comma",
        "tiny",
    )
    money = {"balance": BALANCE, "rooms": ROOMS}
    minus = text(money).replace("-", "\u2212")
    add("minus.csv", minus, "the minus sign U+2212", "money", money)
    add(
        "minus_german.csv",
        text(money, sep=";", decimal=",", thousands=".").replace("-", "\u2212"),
        "U+2212 with −1.000,5",
        "money",
    )
    add(
        "plus.csv",
        text({"balance": [f"{v:+}" for v in BALANCE], "rooms": ROOMS}),
        "a plus before numbers",
        "money",
    )
    add(
        "no_zero.csv",
        text({"a": [str(v)[1:] for v in SMALL], "y": ROOMS}),
        "R and SPSS write .125",
        "small",
        {"a": SMALL, "y": ROOMS},
    )
    add(
        "no_zero_german.csv",
        text({"a": [str(v)[1:].replace(".", ",") for v in SMALL], "y": ROOMS}, sep=";"),
        ",125 is less than one",
        "small",
    )
    add(
        "three_decimals.csv",
        text(kilo, digits=3).replace(".000", ""),
        "1.234 in every cell, after commas",
        "kilo",
    )
    add(
        "padded.csv",
        text({"a": [f"{v:12.4f}" for v in SMALL], "y": [f"{v:4d}" for v in ROOMS]}),
        "numbers padded by blanks",
        "small",
    )
    add(
        "zeros.csv",
        text({"area": [f"{v:09.3f}" for v in KILO], "rooms": ROOMS}, sep=";"),
        "00001.234: a zero begins no group of thousands",
        "kilo",
    )


def gaps():
    """Missing values."""
    gone = {"area": holes(AREA), "rooms": holes(ROOMS), "city": CITY, "rent": RENT}
    add("empty.csv", text(gone), "empty cells", "gaps", gone)
    for name, mark, what in (
        ("r", "NA", "R: NA"), ("sas", ".", "SAS: periods"), ("stata", ".a", "Stata: .a"), ("dash", "-", "dashes"),
        ("en_dash", "–", "en dashes"), ("question", "?", "question marks"), ("mysql", "\\N", "MySQL: \\N"),
        ("null", "NULL", "SQL: NULL"), ("nan", "nan", "NumPy: nan"), ("r_quoted", '"NA"', "NA in quotes"),
        ("spss", " ", "SPSS: a blank"), ("stars", "***", "Fortran: stars"), ("nd", "n.d.", "n.d.: not determined"),
        ("ka", "k. A.", "German: k. A."), ("div", "#DIV/0!", "an error of Excel"), ("na", "#N/A", "#N/A of Excel"),
    ):  # fmt: skip
        shown = {
            **gone,
            "area": [mark if v is None else v for v in gone["area"]],
            "rooms": [mark if v is None else v for v in gone["rooms"]],
        }
        options = f"--missing-values {mark!r}" if mark in ("n.d.", "k. A.") else ""
        add(f"missing_{name}.csv", text(shown), what, "gaps", options=options)
    german = {
        **gone,
        "area": [("#DIV/0!", "#WERT!")[i % 2] if v is None else v for i, v in enumerate(gone["area"])],
        "rooms": ["#NV" if v is None else v for v in gone["rooms"]],
    }
    add("errors_german.csv", text(german, sep=";", decimal=","), "errors of a German Excel", "gaps")
    french = {
        **gone,
        "area": ["#VALEUR!" if v is None else v for v in gone["area"]],
        "rooms": ["#NOMBRE!" if v is None else v for v in gone["rooms"]],
    }
    add(
        "errors_french.csv",
        text(french, sep=";", decimal=",", thousands="\u202f"),
        "errors of a French Excel",
        "gaps",
    )
    coded = {
        **gone,
        "area": [-999 if v is None else v for v in gone["area"]],
        "rooms": [-999 if v is None else v for v in gone["rooms"]],
    }
    add("code_999.csv", text(coded), "-999", "gaps", options="--missing-values -999")
    add(
        "code_german.csv",
        text({**coded, "area": [-999.0 if v == -999 else v for v in coded["area"]]}, sep=";", decimal=","),
        "-999,0",
        "gaps",
        options="--missing-values -999,0 --missing-values '\"-999,0\"'",
    )
    pools = ["None" if i % 3 else "Good" for i in range(12)]
    add(
        "none.csv",
        text({"area": AREA, "pool": pools, "rent": RENT}),
        "a level called None",
        "pools",
        {"area": AREA, "pool": pools, "rent": RENT},
        options="--keep-levels None",
    )
    names = ["NA" if i % 3 else "SA" for i in range(12)]
    add(
        "namibia.csv",
        text({"area": ["NA" if v is None else v for v in holes(AREA)], "country": names, "rent": RENT}),
        "NA is Namibia in one column, and missing in another",
        "countries",
        {"area": holes(AREA), "country": names, "rent": RENT},
        options="--keep-levels NA",
    )
    truth = {
        "area": AREA,
        "city": [None if i in HOLES else city for i, city in enumerate(CITY)],
        "rent": RENT,
    }
    shown = {**truth, "city": ["#REF!" if city is None else city for city in truth["city"]]}
    add("error_in_texts.csv", text(shown), "an error of Excel in a column of texts", "errors", truth)


def layouts():
    """Lines that are no rows."""
    head, *rows = lines(FLATS)
    body, plain = "".join(rows), text(FLATS)
    n = len(rows)
    add("title.csv", "Flats in four cities\n" + plain, "a title", "flats")
    add("title_padded.csv", "Flats in four cities,,,\n" + plain, "a title, padded", "flats")
    add("title_blank.csv", "Flats in four cities\n\n" + plain, "a title and a blank line", "flats")
    add(
        "titles_padded.csv",
        "Flats,,,\nAs of 2024,,,\n,,,\n" + plain,
        "two titles and an empty row, padded",
        "flats",
    )
    add(
        "bericht.csv",
        "Bericht 2024;;;\n\n" + text(FLATS, sep=";", decimal=",", thousands=".", digits=3),
        "a German report",
        "flats",
    )
    add("comments.csv", "# exported 2024-05-01\n# by hand\n" + plain, "comments with #", "flats")
    add("comments_percent.txt", "% exported 2024-05-01, by hand\n" + plain, "comments with %", "flats")
    add("comments_slashes.txt", "// exported\n" + text(FLATS, sep="\t"), "comments with //", "flats")
    instrument = "Instrument: X200\nOperator: N. N.\nDate: 2024-05-01 10:15\n\n"
    add("instrument.csv", instrument + plain, "the header of an instrument", "flats")
    add(
        "instrument.txt",
        instrument + text(FLATS, sep="\t", decimal=","),
        "an instrument, tabs, decimal commas",
        "flats",
    )
    add(
        "metadata.csv",
        "Instrument,X200\nDate,2024-05-01\nGain,3.5\n" + plain,
        "names and values of settings",
        "flats",
    )
    units = {"area": SMALL, "rent": RENT, "mass": TINY}
    top, *values = lines(units)
    add(
        "units.csv",
        top + "m²,€,kg\n" + "".join(values),
        "a row of units",
        "units_row",
        units,
        options="--skip 2",
        refused="has texts where the next lines have numbers: 'm²', '€', 'kg'",
    )
    add(
        "units_brackets.csv",
        top + "[m²],[€],[kg]\n" + "".join(values),
        "units in brackets",
        "units_row",
        options="--skip 2",
        refused="If they are units, pass --skip 2",
    )
    add(
        "units_comment.csv",
        "# sensor 7\n" + top + "(V),(A),(W)\n" + "".join(values),
        "comments, names and units",
        "units_row",
        options="--skip 3",
        refused="line 3, below the names in line 2",
    )
    second = {"low": SMALL, "high": RENT, "mass": TINY}
    add(
        "two_headers.csv",
        "before,after,object\n" + text(second),
        "two rows of names",
        "second",
        second,
        options="--header 2",
        refused="if they are names, --header 2",
    )
    wide = {"low": SMALL, "high": RENT, "left": TINY, "right": AREA}
    add("merged_headers.csv", "before,,after,\n" + text(wide), "merged cells above the names", "wide", wide)
    unnamed = dict(zip(("column 1", "column 2", "column 3", "column 4"), FLATS.values(), strict=True))
    add(
        "no_names.csv",
        body,
        "no names, as in the UCI repository",
        "unnamed",
        unnamed,
        options="--header 0",
        refused="--header 0",
    )
    measures = {"column 1": AREA, "column 2": SMALL, "column 3": RENT}
    add(
        "no_names_numbers.csv",
        "".join(lines(measures)[1:]),
        "numbers only",
        "measures",
        measures,
        options="--header 0",
        refused="must name the columns; it has only numbers",
    )
    years = {"country": CITY, "2021": SMALL, "2022": AREA, "2023": RENT}
    add("years.csv", text(years), "years as names", "years", years)
    waves = {"y": RENT, "400.5": SMALL, "401": AREA, "401.5": TINY}
    add("wavelengths.csv", text(waves), "wavelengths as names", "waves", waves)
    add(
        "double_names.csv",
        "area,rooms,city,area\n" + body,
        "a name that occurs twice",
        "unnamed",
        options="--header 0 --skip 1",
        refused="'area' occurs twice",
    )
    numeric = {"a": AREA, "b": SMALL, "y": RENT}
    add("savetxt.csv", "# " + text(numeric), "numpy.savetxt with names", "numeric", numeric)
    add("savetxt.txt", "# " + text(numeric, sep=" "), "numpy.savetxt, with blanks", "numeric")
    add("source.csv", plain + "Source: own survey\n", "a source below the table", "flats")
    add("source_padded.csv", plain + ",,,\nSource: own survey,,,\n", "a source, padded", "flats")
    add("sql.txt", text(FLATS, sep="\t") + "\n(12 rows affected)\n", "the footer of a database", "flats")
    add("end_comment.csv", plain + "# end of file\n", "a comment behind the rows", "flats")
    add("empty_rows.csv", plain + ",,,\n" * 3, "rows of commas that Excel leaves", "flats")
    named = {"city": CITY, "area": AREA, "rent": RENT}
    total = f"Total,{sum(AREA)},{sum(RENT)}\n"
    add(
        "totals.csv",
        text(named) + total,
        "a row of totals",
        "named",
        named,
        options=f"--skip {n + 2}",
        refused="seems to hold totals",
    )
    add(
        "summe.csv",
        text(named, sep=";", decimal=",")
        + total.replace("Total", "Summe").replace(",", ";").replace(".", ","),
        "a German row of totals",
        "named",
        options=f"--skip {n + 2}",
        refused="'Summe'",
    )
    add(
        "ragged.csv",
        head + "".join(rows[:5]) + "see page 3\n" + "".join(rows[5:]),
        "a remark between rows",
        "flats",
        options="--skip 7",
        refused="line 7 has 1 fields, but the first line has 4",
    )
    add(
        "ragged_twice.csv",
        head + "".join(rows[:5]) + "1,2,3,4,5\n1,2,3\n" + "".join(rows[5:]),
        "two bad rows",
        "flats",
        options="--skip 7-8",
        refused="line 7 has 5 fields",
    )
    add(
        "repeated_names.csv",
        head + "".join(rows[:6]) + "page 2\n" + "".join(rows[6:]),
        "a page break",
        "flats",
        options="--skip 8",
        refused="leave them out: --skip 8",
    )
    add("trailing.csv", text(FLATS, end=",\n"), "a comma behind each line", "flats")
    add(
        "trailing_german.csv",
        text(FLATS, sep=";", decimal=",", end=";\r\n"),
        "a semicolon behind each line",
        "flats",
    )
    add("trailing_names.csv", head.replace("\n", ",\n") + body, "a comma behind the names", "flats")
    add("trailing_rows.csv", head + body.replace("\n", ",\n"), "a comma behind each row", "flats")
    add("trailing_many.csv", text(FLATS, end=",,,\n"), "three empty columns, as Excel leaves them", "flats")
    add(
        "empty_column.csv",
        text({"area": AREA, "": [""] * 12, "rent": RENT}),
        "an empty column in the middle",
        "pair",
        {"area": AREA, "rent": RENT},
    )
    add(
        "unnamed_column.csv",
        text({"area": AREA, "": ROOMS, "rent": RENT}),
        "a column without a name",
        "column_2",
        {"area": AREA, "column 2": ROOMS, "rent": RENT},
    )
    add("index.csv", text({"": list(range(12)), **FLATS}), "the index of pandas", "flats")
    add(
        "index_again.csv",
        text({"Unnamed: 0": list(range(12)), **FLATS}),
        "an index that pandas read before",
        "flats",
    )
    add(
        "write_csv.csv",
        text({'""': [f'"{i}"' for i in range(1, 13)], **FLATS}),
        "R's write.csv, with row names",
        "flats",
    )
    body_r = "".join(
        f'"{i}" {line}' for i, line in enumerate(lines(FLATS, sep=" ", quote=str.isalpha)[1:], 1)
    )
    add(
        "write_table.txt",
        '"area" "rooms" "city" "rent"\n' + body_r,
        "R's write.table, with row names",
        "flats",
    )
    cars = "".join(f"car {i}\t{line}" for i, line in enumerate(lines(numeric, sep="\t")[1:]))
    add("write_table_tabs.txt", "a\tb\ty\n" + cars, "R's write.table with tabs and names of cars", "numeric")


def amounts():
    """Numbers with currencies, units or parentheses, which --numbers reads."""
    money = TRUTHS["money"]

    def table(show, **form):
        return text({"balance": [show(v) for v in BALANCE], "rooms": ROOMS}, **form)

    def quoted(field):
        return "," in field

    forms = {
        "dollars": (lambda v: f"-${-v:,.2f}" if v < 0 else f"${v:,.2f}", "-$350.25"),
        "dollars_inside": (lambda v: f"${v:,.2f}", "$-350.25"),
        "pounds": (lambda v: f"£ {v:,.2f}", "£ -350.25"),
        "accounting": (lambda v: f"({-v:,.2f})" if v < 0 else f"{v:,.2f}", "(350.25)"),
        "accounting_dollars": (lambda v: f"$({-v:,.2f})" if v < 0 else f"${v:,.2f}", "$(350.25)"),
        "sap": (lambda v: f"{-v:,.2f}-" if v < 0 else f"{v:,.2f}", "350.25-"),
        "percent": (lambda v: f"{v:.2f}%", "-350.25%"),
        "kilograms": (lambda v: f"{v:.2f} kg", "-350.25 kg"),
        "francs": (lambda v: f"CHF {v:,.2f}".replace(",", "'"), "CHF -350.25"),
    }
    for name, (show, what) in forms.items():
        add(f"{name}.csv", table(show, quote=quoted), what, "money", numbers="balance")
    add(
        "euros.csv",
        table(lambda v: number(v, ",", ".", 2) + " €", sep=";"),
        "-350,25 €",
        "money",
        numbers="balance",
    )
    add(
        "euros_narrow.csv",
        table(lambda v: number(v, ",", "\u202f", 2) + "\u00a0€", sep=";"),
        "French euros",
        "money",
        numbers="balance",
    )
    limits = {"dose": [None if i in HOLES else v for i, v in enumerate(SMALL)], "rooms": ROOMS}
    add(
        "limits.csv",
        text({"dose": ["<0.05" if v is None else v for v in limits["dose"]], "rooms": ROOMS}),
        "<0.05 is below the limit of detection",
        "limits",
        limits,
        numbers="dose",
    )
    notes = {"dose": ["?" if i % 3 else v for i, v in enumerate(SMALL)], "rooms": ROOMS}
    truth = {"dose": [None if i % 3 else v for i, v in enumerate(SMALL)], "rooms": ROOMS}
    add("mostly_marks.csv", text(notes), "more marks than numbers", "marks", truth, numbers="dose")
    assert money["rooms"] == ROOMS


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


def lines_of(columns):
    return [list(columns), *map(list, zip(*columns.values(), strict=True))]


def workbook(sheets):
    """Return the bytes of a workbook."""
    import openpyxl.chart

    book = openpyxl.Workbook()
    book.remove(book.active)
    for name, rows in reversed(sheets):
        if rows is None:
            chart = openpyxl.chart.BarChart()
            chart.add_data(openpyxl.chart.Reference(book[sheets[-1][0]], min_col=1, min_row=2, max_row=5))
            book.create_chartsheet(name, 0).add_chart(chart)
            continue
        sheet = book.create_sheet(name, 0)
        for row in rows:
            sheet.append(row)
    book.properties.created = book.properties.modified = datetime.datetime(2024, 1, 1)
    data = io.BytesIO()
    book.save(data)
    return data.getvalue()


for part in (forms_of_text, separators, signs, gaps, layouts, amounts, sheets):
    part()


def truth(columns):
    """Return the contents of a file in truth/: commas, points, empty cells, and names in the first line."""

    def field(value):
        cell = "" if value is None else repr(value) if isinstance(value, float) else str(value)
        return (
            '"' + cell.replace('"', '""') + '"' if set(cell) & set(',"\n') or cell != cell.strip() else cell
        )

    rows = [list(columns), *zip(*columns.values(), strict=True)]
    return "".join(",".join(map(field, row)) + "\n" for row in rows)


def index():
    """Return the contents of index.toml."""
    found = ["# Written by make.py, which explains it.\n"]
    for name, (_, entry) in sorted(TABLES.items()):
        found.append(f'["{name}"]\n')
        found += [f"{key} = {_quote(value)}\n" for key, value in entry.items()]
        found.append("\n")
    return "".join(found)


def _quote(value):
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'


def main():
    """Write all files."""
    (FOLDER / "truth").mkdir(exist_ok=True)
    for name, columns in TRUTHS.items():
        (FOLDER / "truth" / f"{name}.csv").write_bytes(truth(columns).encode())
    for name, (data, _) in TABLES.items():
        (FOLDER / name).write_bytes(data if isinstance(data, bytes) else workbook(data))
    (FOLDER / "index.toml").write_text(index(), encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
