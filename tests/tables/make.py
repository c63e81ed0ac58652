"""The tables of this folder: `python -m tests.tables.make` writes them, their true contents, and index.toml.

A table has the form in which a program or a person leaves it. The index says for each what it shows, which
file in truth/ has its contents, which options read it, and, if it is refused without them, the words of the
message, which has to propose these options.
"""

import io
import re
import zipfile
from pathlib import Path

from . import layouts, sheets, signs, texts
from .forms import TABLES, TRUTHS

FOLDER = Path(__file__).parent


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
    data, undated = io.BytesIO(), io.BytesIO()
    book.save(data)
    with zipfile.ZipFile(data) as source, zipfile.ZipFile(undated, "w", zipfile.ZIP_DEFLATED) as target:
        for name in source.namelist():  # without the time of writing
            content = re.sub(rb"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", b"2024-01-01T00:00:00Z", source.read(name))
            target.writestr(zipfile.ZipInfo(name), content)
    return undated.getvalue()


PARTS = [texts.forms_of_text, texts.separators, signs.signs, signs.gaps, layouts.layouts, texts.amounts]
for part in [*PARTS, sheets.sheets]:
    part()


def truth(columns):
    """Return the contents of a file in truth/: commas, points, empty cells, and names in the first line."""

    def field(value):
        if value is None:
            return ""
        cell = repr(value) if isinstance(value, float) else str(value)
        quoted = set(cell) & set(',"\n') or cell != cell.strip()
        return '"' + cell.replace('"', '""') + '"' if quoted else cell

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
