"""Test the use that `sparselin select` makes of each column, and that its proposals work when followed."""

import html
import json
import re

import numpy as np
import pytest
from house import ROOT
from selected import WHOLE, N, numbers, run

from sparselin.studies.common import page
from sparselin.studies.select import columns, identifiers, words

pd = pytest.importorskip("pandas")
pytestmark = pytest.mark.usefixtures("no_pictures")


def with_column(name, values, seed=0):
    frame = numbers(seed, len(values))
    frame.insert(2, name, values)
    return frame


def results(folder):
    return json.loads((folder / "results.json").read_text())


CHECKED = np.arange(N) % 9 < 5  # more than half of the rows
ONE_VALUE = {
    "truth values": ([True if x else None for x in CHECKED], "True", "False"),
    "rare truth values": ([True if i % 7 == 0 else None for i in range(N)], "True", "False"),
    "numbers": ([1 if x else None for x in CHECKED], "1", "0"),
    "zeros": ([0 if x else None for x in CHECKED], "0", "-1"),
    "texts": (["x" if x else None for x in CHECKED], "'x'", "empty"),
    "the word empty": (["empty" if x else None for x in CHECKED], "'empty'", "blank"),
}


@pytest.mark.parametrize("missing", ["auto", "impute", "drop-rows", "refuse"])
@pytest.mark.parametrize("case", ONE_VALUE)
def test_a_column_that_is_left_out_drops_no_row(tmp_path, case, missing):
    values, shown, _ = ONE_VALUE[case]
    output, folder = run(tmp_path, with_column("flag", values), *WHOLE, "--k=2", f"--missing={missing}")
    filled = sum(value is not None for value in values)
    assert f"flag ({shown} in {filled} rows, empty in {N - filled}: if empty means another value" in output
    assert "missing value" not in output
    data = results(folder)["data"]
    assert (data["rows_used"], data["incomplete"], data["gaps"]) == (N, 0, 0)
    assert f"{N} rows, 2 features" in output


@pytest.mark.parametrize("case", ONE_VALUE)
def test_a_blank_counts_as_a_value_if_the_advice_is_followed(tmp_path, case):
    """The fit is that of least squares with the indicator of the filled cells."""
    values, _, blank = ONE_VALUE[case]
    frame = with_column("flag", values)
    ticked = frame["flag"].notna()
    frame["y"] += 3 * ticked
    output, folder = run(tmp_path, frame, *WHOLE, "--k=3", "--categories=flag", "--missing=refuse")
    assert f"Empty cells of flag count as {blank}." in output
    assert "Columns left out" not in output
    A = np.column_stack([np.ones(N), frame["a"], frame["b"], ticked])
    y = frame["y"].to_numpy()
    r = y - A @ np.linalg.lstsq(A, y)[0]
    assert results(folder)["r2"] == pytest.approx(1 - r @ r / ((y - y.mean()) @ (y - y.mean())), rel=1e-9)
    assert results(folder)["data"]["rows_used"] == N


def test_a_category_that_loses_its_second_value_gives_its_rows_back(tmp_path):
    """The only row with the second value has a gap elsewhere. Then the gaps of the category do not count."""
    frame = with_column("site", ["N" if i % 10 else None for i in range(N)])
    frame.loc[3, ["site", "a"]] = "S", np.nan
    output, folder = run(tmp_path, frame, *WHOLE, "--k=2", "--missing=drop-rows")
    assert "site (one value only in the rows without gaps)" in output
    assert (results(folder)["data"]["incomplete"], results(folder)["data"]["rows_used"]) == (1, N - 1)


def test_a_category_that_is_empty_is_no_column_with_gaps(tmp_path):
    frame = with_column("b2", [None] * N)
    output, _ = run(tmp_path, frame, *WHOLE, "--k=1", "--categories=b2")
    assert "Columns left out: b2 (empty)." in output
    assert "missing" not in output
    assert "To use one of them" not in output


def test_forced_columns_of_one_value_are_named(tmp_path):
    frame = with_column("flag", ONE_VALUE["numbers"][0])
    for options in ((), ("--numbers=flag",)):
        output, _ = run(tmp_path, frame, *WHOLE, "--k=2", "--forced=flag", *options, exit_code=2)
        assert "--forced flag cannot be used to explain 'y'; left out: flag (1 in" in output
        assert "name it in --categories" in output
    run(tmp_path, frame, *WHOLE, "--k=2", "--forced=flag", "--categories=flag")


def seeded(make):
    return make(np.random.default_rng(20261128))


WHOLE_NUMBERS = [
    # measurements: distinct whole numbers that no rule may leave out
    ("pop", seeded(lambda r: r.choice(np.arange(300, 30_000), 50, replace=False)), "used"),
    ("income", seeded(lambda r: np.sort(r.choice(np.arange(300, 30_000), 50, replace=False))), "used"),
    ("votes", seeded(lambda r: r.choice(np.arange(-900, 900), 50, replace=False).astype(float)), "used"),
    ("rank", seeded(lambda r: r.permutation(50) + 1), "used"),
    ("spending", seeded(lambda r: r.choice(np.arange(1000, 9999), 50, replace=False)), "used"),
    ("year", np.arange(1950, 2000), "used"),
    ("census year", np.arange(1790, 1790 + 250, 10), "used"),
    ("luminosity", seeded(lambda r: 3.8e26 * 10 ** r.standard_normal(50)), "used"),
    ("density", seeded(lambda r: 2.0**53 * r.random(50) + 2.0**53), "used"),
    ("number of rooms", seeded(lambda r: r.choice(np.arange(900), 50, replace=False)), "used"),
    ("humid", seeded(lambda r: r.choice(np.arange(900), 50, replace=False)), "used"),
    ("tenth", np.arange(50) * 3 + np.arange(50) ** 2, "used"),
    ("few", np.arange(15), "used"),
    ("day", np.array([20240131, 20240201, 20240132, *range(10_000_001, 10_000_048)]), "used"),
    # identifiers
    ("line", np.arange(50), "which number the rows"),
    ("x", np.arange(50) * 10 + 10, "which number the rows"),
    ("site", np.delete(np.arange(60), [3, 20, 33]), "which number the rows"),
    ("case", seeded(lambda r: r.permutation(5000)[:50]), "by its name"),
    ("patientID", seeded(lambda r: r.permutation(5000)[:50]), "by its name"),
    ("zip_code", seeded(lambda r: r.permutation(90_000)[:50]), "by its name"),
    ("Kunden-Nr.", seeded(lambda r: r.permutation(90_000)[:50]), "by its name"),
    ("id_client", seeded(lambda r: r.permutation(90_000)[:50].astype(float)), "by its name"),
    ("phone", seeded(lambda r: r.integers(10**10, 10**11, 50)), "all of 11 digits"),
    ("tweet", seeded(lambda r: 10**18 + r.integers(0, 10**3, 50).cumsum()), "all of 19 digits"),
    ("when", np.array([20240101 + i for i in range(31)]), "dates"),
    ("born", np.array([20000229, 19991231, 20240131] * 9 + [19600401] * 4 + [19600402, 19600403]), "dates"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "values", "use"), WHOLE_NUMBERS, ids=[case[0] for case in WHOLE_NUMBERS])
def test_identifiers_and_measurements(name, values, use):
    frame = pd.DataFrame({name: values, "b": np.linspace(0, 1, len(values))})
    found = columns.assign(frame, (), ())
    if use == "used":
        assert found.left_out == {}
        whole = len(set(values)) == len(values) >= identifiers.ENOUGH and max(values) < 2**53
        assert found.distinct == ((name,) if whole else ())
    else:
        assert found.left_out[name].endswith(use)
        assert columns.assign(frame, (name,), ()).left_out == {}


def test_a_gap_or_a_shuffle_changes_no_measurement_into_an_identifier(rng):
    for _ in range(200):
        values = pd.Series(rng.choice(np.arange(10_000), 40, replace=False).astype(float))
        values[rng.random(40) < 0.2] = np.nan
        assert columns.assign(pd.DataFrame({"a": values}), (), ()).left_out == {}


@pytest.mark.parametrize(
    "values", [np.arange(1, N + 1), [f"P{i}" for i in range(N)]], ids=["numbers", "texts"]
)
def test_an_identifier_that_is_named_is_used(tmp_path, values):
    """The proposals: --numbers for numbers, --categories for any column."""
    frame = with_column("patient", values)
    output, _ = run(tmp_path, frame, *WHOLE, "--k=1")
    assert f"patient (identifier: {N} distinct" in output
    if isinstance(values[0], str):
        assert "name it in --categories, or in --numbers if it holds numbers." in output
    else:
        assert "name it in --numbers or --categories." in output
        assert (
            "patient" not in run(tmp_path, frame, *WHOLE, "--k=1", "--numbers=patient")[0].split("Method")[0]
        )
    output, _ = run(tmp_path, frame, *WHOLE, "--k=1", "--categories=patient")
    assert f"patient ({N}, " in output


def test_distinct_whole_numbers_that_are_used_are_named(tmp_path):
    pop = np.random.default_rng(0).choice(np.arange(300, 30_000), N, replace=False)
    output, _ = run(tmp_path, with_column("pop", pop), *WHOLE, "--k=1")
    assert "Distinct whole numbers that are used as measurements: pop." in output
    for option in ("--drop=pop", "--numbers=pop"):
        assert "Distinct whole" not in run(tmp_path, with_column("pop", pop), *WHOLE, "--k=1", option)[0]


@pytest.mark.parametrize("case", ["rare", *range(9, 22)])
def test_one_pass_reports_where_r2_is_not_defined(tmp_path, case):
    """Among rare events, and where one row is held out, y is constant on the held-out rows."""
    pytest.importorskip("pyarrow")
    rng = np.random.default_rng(0)
    n = 500 if case == "rare" else case
    frame = pd.DataFrame(rng.standard_normal((n, 2)), columns=["a", "b"]).assign(y=np.arange(n) == 3)
    frame["y"] = frame["y"].astype(float) if case == "rare" else frame["a"]
    frame.to_parquet(tmp_path / "t.parquet")
    output, folder = run(tmp_path, None, "--one-pass", "--k=1", name="t.parquet")
    held = n // 10
    assert ("not defined, because y is constant there" in output) == (case == "rare" or held == 1)
    assert ("held-out row" in output) == (held > 0)
    row = results(folder)["selected"][0]
    assert (row["held_out_r2"] is None) == (case == "rare" or held < 2)
    assert "nan" not in (folder / "selected.csv").read_text()


def test_a_k_beyond_the_columns_names_those_left_out(tmp_path):
    frame = with_column("patient", np.arange(N))
    output, _ = run(tmp_path, frame, *WHOLE, "--k=3", exit_code=2)
    assert "at most 2, forced features included; got 3. Columns left out: patient (identifier: 80" in output
    run(tmp_path, frame, *WHOLE, "--k=3", "--numbers=patient")


@pytest.mark.parametrize("value", [-0.0, -1e-17, -4e-4, 0.0, 3e-4])
def test_no_number_is_a_negative_zero(value):
    """R² of no feature on held-out rows is zero up to rounding, of either sign."""
    assert page.number(value) == "0.000"
    assert page.number(value, "{:.1%}") == f"{abs(value):.1%}"
    assert page.number(-0.6, "{:.0%}") == "-60%"
    assert page.number(-3e-4, "{:.0e}") == "-3e-04"
    assert words.number(0.0 * -1) == "0"
    for path in ("validation.txt.j2", "headline.txt.j2", "cautions.txt.j2"):
        text = (ROOT / "studies/select" / path).read_text(encoding="utf-8")
        assert not re.search(r'"%\.\df%*" \| format\((100 \* )?(job|found)\.r2', text)


@pytest.mark.parametrize("missing", ["impute", "drop-rows"])
@pytest.mark.parametrize("case", ONE_VALUE)
def test_the_program_counts_blanks_as_the_command_does(tmp_path, case, missing, capsys):
    frame = with_column("flag", ONE_VALUE[case][0])
    frame.insert(2, "site", ["N" if i % 10 else None for i in range(N)])
    frame["y"] += 3 * frame["flag"].notna()
    frame.loc[[5, 7], "a"] = np.nan
    _, folder = run(tmp_path, frame, *WHOLE, "--k=3", "--categories=flag", f"--missing={missing}")
    page = (folder / "index.html").read_text(encoding="utf-8")
    scope = {}
    exec(html.unescape(page[page.index(">", page.index("<pre")) + 1 : page.index("</pre>")]), scope)
    assert scope["model"][-1].result_.r2 == pytest.approx(results(folder)["r2"], rel=1e-12)
    capsys.readouterr()


def test_the_unit_of_the_weights_changes_nothing(tmp_path):
    """Weights are inverse variances up to a factor, and rows of weight zero are as if removed."""
    rng = np.random.default_rng(0)
    frame = numbers().assign(c=rng.standard_normal(N))[["a", "b", "c", "y"]]
    frame["y"] += rng.standard_normal(N).round(3)
    weight = np.where(rng.random(N) < 0.2, 0, rng.random(N))
    found = []
    for factor in (1, 1e-3, 1e4):
        frame["w"] = weight * factor
        found.append(results(run(tmp_path, frame, "--target=y", "--weights=w", "--folds=5")[1]))
    kept = frame[weight > 0]
    found.append(results(run(tmp_path, kept, "--target=y", "--weights=w", "--folds=5")[1]))
    for other in found[1:]:
        assert [row["feature"] for row in other["selected"]] == [
            row["feature"] for row in found[0]["selected"]
        ]
        assert other["k"] == found[0]["k"]
        for key in ("r2", "intercept"):
            assert other[key] == pytest.approx(found[0][key], rel=1e-9)
        mine, first = other["cross_validation"], found[0]["cross_validation"]
        for key in ("error", "standard_error"):
            np.testing.assert_allclose(mine[key], first[key], rtol=1e-9)
        np.testing.assert_allclose(1 - np.array(mine["r2"]), 1 - np.array(first["r2"]), rtol=1e-9)
