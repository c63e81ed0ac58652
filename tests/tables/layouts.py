"""Lines of a text that are no rows: titles, units, totals; names that lack or repeat."""

from .forms import AREA, CITY, FLATS, RENT, ROOMS, SMALL, TINY, add, lines, text


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
        refused="line 7 has 1 field, but the first line has 4",
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
