"""Decimal and thousands signs, and missing values."""

from .forms import (
    AREA,
    BALANCE,
    CITY,
    FLATS,
    HOLES,
    KILO,
    RENT,
    ROOMS,
    SMALL,
    TINY,
    WHOLE,
    WHOLES,
    add,
    holes,
    number,
    text,
)

MARKS = [  # (name of the file, mark of a missing value, who writes it)
    ("r", "NA", "R: NA"),
    ("sas", ".", "SAS: periods"),
    ("stata", ".a", "Stata: .a"),
    ("dash", "-", "dashes"),
    ("en_dash", "–", "en dashes"),
    ("question", "?", "question marks"),
    ("mysql", "\\N", "MySQL: \\N"),
    ("null", "NULL", "SQL: NULL"),
    ("nan", "nan", "NumPy: nan"),
    ("r_quoted", '"NA"', "NA in quotes"),
    ("spss", " ", "SPSS: a blank"),
    ("stars", "***", "Fortran: stars"),
    ("nd", "n.d.", "n.d.: not determined"),
    ("ka", "k. A.", "German: k. A."),
    ("div", "#DIV/0!", "an error of Excel"),
    ("na", "#N/A", "#N/A of Excel"),
]


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
    for name, mark, what in MARKS:
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
