"""The numbers in the tables of this folder, and the functions that write them in a form."""

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


def lines_of(columns):
    return [list(columns), *map(list, zip(*columns.values(), strict=True))]
