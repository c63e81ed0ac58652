"""Texts: encodings, ends of lines, quotes, separators, and numbers with units."""

import gzip

from .forms import (
    BALANCE,
    CITY,
    FLATS,
    HOLES,
    RENT,
    ROOMS,
    SMALL,
    TINY,
    TRUTHS,
    WHOLES,
    add,
    number,
    text,
)


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
