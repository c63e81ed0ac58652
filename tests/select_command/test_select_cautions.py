"""Test the cautions about data: codes of missing values, codes used as numbers, and copies of the target."""

import fractions
import json

import numpy as np
import pytest
from selected import WHOLE, N, numbers, run

from sparselin.studies.select import findings

pd = pytest.importorskip("pandas")
pytestmark = pytest.mark.usefixtures("no_pictures")


def results(folder):
    return json.loads((folder / "results.json").read_text())


CODES = [
    ([-999], [3, 23, 43, 63]),
    ([999], [5]),
    ([-99.9], [5, 6]),
    ([-999, -998], [5, 6, 9, 10]),
    ([1e20], [5, 6]),
    ([-32768], [5, 6]),
    ([-99, 99], [5, 6]),
]


@pytest.mark.parametrize(("codes", "rows"), CODES, ids=lambda value: str(value))
@pytest.mark.parametrize("column", ["a", "y"])
def test_a_code_of_missing_values_is_named_and_the_advice_works(tmp_path, codes, rows, column):
    """Followed, the advice gives the selection of the table with empty cells instead."""
    coded, empty = numbers(), numbers()
    for i, row in enumerate(rows):
        coded.loc[row, column] = codes[i % len(codes)]
    empty.loc[rows, column] = np.nan
    output, _ = run(tmp_path, coded, *WHOLE, "--k=2")
    caution = output[output.index(f"Caution: {column} is ") :]
    advice = caution.split("With --missing-values=")[1].split(" it counts as missing")[0]
    assert sorted(map(float, advice.split(","))) == sorted(codes[: len(rows)])
    output, folder = run(tmp_path, coded, *WHOLE, "--k=2", f"--missing-values={advice}")
    assert "--missing-values" not in output.split("Report")[0]
    followed = results(folder)
    _, folder = run(tmp_path, empty, *WHOLE, "--k=2")
    assert followed["selected"] == results(folder)["selected"]
    assert followed["data"]["rows_used"] == results(folder)["data"]["rows_used"]


def measurements(rng):
    yield "ages", np.append(rng.integers(18, 90, 200), 99)
    yield "counts", rng.poisson(1.5, 300)
    yield "rare counts", rng.poisson(0.05, 300)
    yield "zeros", np.where(rng.random(200) < 0.5, 0, rng.integers(100, 120, 200))
    yield "heavy", rng.standard_cauchy(500)
    yield "lognormal", np.exp(2 * rng.standard_normal(500)).round(1)
    yield "truth values", rng.integers(0, 2, 100)
    yield "a scale", rng.integers(1, 6, 100)
    yield "percent", np.append(rng.integers(0, 101, 100), [99, 9])
    yield "near", np.append(rng.uniform(900, 990, 50), 999)
    yield "clipped", np.clip(rng.standard_normal(500), -1, 1)


@pytest.mark.parametrize("seed", range(20))
def test_measurements_have_no_codes(seed):
    for name, values in measurements(np.random.default_rng(seed)):
        assert findings.missing_codes(np.asarray(values, float))[0] == [], name


UNITS = [(100, 0, 1), (0.453592, 0, 3), (1.8, 32, 1), (-1, 7, 3), (1e-6, 0, 9), (2.54, 1e3, 2)]


@pytest.mark.parametrize(("slope", "offset", "digits"), UNITS)
@pytest.mark.parametrize("gaps", [False, True], ids=["whole", "gaps"])
def test_a_copy_of_the_target_is_named(tmp_path, slope, offset, digits, gaps):
    frame = numbers()
    frame.insert(2, "copy, of y", (offset + slope * frame["y"]).round(digits))
    if gaps:
        frame.loc[[2, 30, 44], "copy, of y"] = np.nan
    output, _ = run(tmp_path, frame, "--target=y", "--folds=4")
    assert "Caution: copy, of y is y in other units, up to the rounding of the digits" in output
    assert "leave it out: --drop '\"copy, of y\"'." in output
    output, _ = run(tmp_path, frame, "--target=y", "--folds=4", '--drop="copy, of y"')
    assert "in other units" not in output


def test_a_copy_is_told_from_a_near_copy():
    """The bound in exact arithmetic: rounded copies are found, and those with more noise are none."""
    rng = np.random.default_rng(20261128)
    for _ in range(300):
        y_digits, x_digits = rng.integers(0, 5, 2)
        slope = fractions.Fraction(int(rng.integers(1, 2000)), int(rng.integers(1, 2000)))
        exact = [fractions.Fraction(int(u), 10**6) for u in rng.integers(-(10**9), 10**9, 50)]
        y = np.array([float(round(u, int(y_digits))) for u in exact])
        x = np.array([float(round(slope * u + 3, int(x_digits))) for u in exact])
        if np.std(x) >= 100 * 10.0**-x_digits:
            found = findings.is_copy(x, y)
            assert found == pytest.approx(float(1 / slope), rel=0.02)
        h = 10.0**-y_digits + 10.0**-x_digits / float(slope)
        assert not findings.is_copy(x, y + 3 * h * rng.choice([-1.0, 1.0], 50).round(int(y_digits)))
    assert findings.is_copy(np.array([1.0, 2, 3, 4]), np.array([1.0, 2, 4, 3])) == 0
    assert findings.is_copy(np.ones(9), rng.standard_normal(9)) == 0


def test_a_target_that_is_computed_from_columns_is_asked_about(tmp_path):
    frame = numbers().assign(y=lambda t: t["a"] + t["b"])
    output, _ = run(tmp_path, frame, "--target=y", "--folds=4")
    assert "Is y computed from some of these columns?" in output
    assert "computed from" not in run(tmp_path, numbers(), "--target=y", "--folds=4")[0]


ZIP = ["00501", "01001", "10001", "90210"]


def test_codes_with_leading_zeros_have_no_slope(tmp_path):
    rng = np.random.default_rng(0)
    frame = numbers()
    frame.insert(2, "zip", rng.choice(ZIP, N))
    frame["y"] += 3 * (frame["zip"] == "01001")
    output, folder = run(tmp_path, frame, *WHOLE, "--k=3")
    assert "zip (4, " in output
    assert results(folder)["data"]["columns"]["categories"] == {"zip": ["501", "1001", "10001", "90210"]}
    output, folder = run(tmp_path, frame, *WHOLE, "--k=3", "--numbers=zip")
    assert results(folder)["data"]["columns"]["numbers"] == ["a", "b", "zip"]
    frame["zip"] = [f"{i:05d}" for i in rng.choice(90_000, N)]
    output, folder = run(tmp_path, frame, *WHOLE, "--k=2")
    assert (
        "zip (codes with leading zeros). To use one of them, name it in --numbers or --categories" in output
    )
    for option in ("--numbers=zip", "--categories=zip"):
        assert "Columns left out" not in run(tmp_path, frame, *WHOLE, "--k=1", option)[0]


@pytest.mark.parametrize("gap", [False, True], ids=["whole", "gap"])
@pytest.mark.parametrize("name", ["t.csv", "t.xlsx"])
def test_codes_with_leading_zeros_are_seen_beside_gaps_and_in_workbooks(tmp_path, name, gap):
    frame = numbers()
    frame.insert(2, "place", np.random.default_rng(0).choice(ZIP, N))
    if gap:
        frame.loc[3, "place"] = None
    if name == "t.xlsx":
        pytest.importorskip("openpyxl")
        frame.to_excel(tmp_path / name, index=False)
    else:
        frame.to_csv(tmp_path / name, index=False)
    output, _ = run(tmp_path, None, *WHOLE, "--k=2", "--missing=impute", name=name)
    assert "place (4, " in output


def test_numbers_with_the_name_of_a_code_are_named(tmp_path):
    frame = numbers()
    frame.insert(2, "store_id", np.arange(N) % 7)
    output, _ = run(tmp_path, frame, *WHOLE, "--k=2")
    assert (
        "although their names are those of codes: store_id. If they are codes, name the column in --cat"
        in output
    )
    for option in ("--categories=store_id", "--numbers=store_id", "--drop=store_id"):
        assert "those of codes" not in run(tmp_path, frame, *WHOLE, "--k=2", option)[0]


@pytest.mark.parametrize("name", ["t.csv", "t.xlsx"])
@pytest.mark.parametrize("words", [("None",), ("None", "NA"), ("n/a",)])
def test_a_text_that_was_read_as_missing_is_named_and_can_be_kept(tmp_path, words, name):
    frame = numbers()
    pool = np.random.default_rng(0).choice([*words, "Good", "Bad"], N)
    frame.insert(2, "pool", pool)
    frame["y"] += 3 * (pool == words[0])
    frame.index = [f"r{i}" for i in range(N)]
    if name == "t.xlsx":
        pytest.importorskip("openpyxl")
        frame.to_excel(tmp_path / name)
    else:
        frame.to_csv(tmp_path / name)
    output, _ = run(tmp_path, None, *WHOLE, "--k=2", name=name)
    for word in words:
        assert f"{word!r} in {np.sum(pool == word)} cells of pool" in output
    advice = output.split("If one of them is a value, keep it with ")[1].split()[0]
    output, folder = run(tmp_path, None, *WHOLE, "--k=3", advice, name=name)
    assert "read as missing" not in output
    assert results(folder)["data"]["columns"]["categories"] == {"pool": sorted({*words, "Good", "Bad"})}
    assert results(folder)["data"]["gaps"] == 0


def test_empty_cells_are_no_texts_that_were_read_as_missing(tmp_path):
    frame = numbers()
    frame.insert(2, "pool", np.random.default_rng(0).choice([None, "Good", "Bad"], N))
    assert "read as missing" not in run(tmp_path, frame, *WHOLE, "--k=2")[0]
