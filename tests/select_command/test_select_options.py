"""`sparselin select`: methods on the same folds, references, indicators of gaps, hints, quick answers."""

import json
import subprocess
import sys

import numpy as np
import pytest
import statsmodels.api as sm
from commands import invoke
from selected import numbers, run
from sklearn.model_selection import KFold

from sparselin.estimators import LassoSelector, OLSSelector, OMPSelector, cross_validate
from sparselin.studies.select import comparison
from sparselin.studies.select.comparison import Compared

pd = pytest.importorskip("pandas")
pytestmark = pytest.mark.usefixtures("no_pictures")


def patients(seed=0, n=240):
    """Return a table of numbers, a category, a code, and counts that vary more than Poisson counts."""
    rng = np.random.default_rng(seed)
    a, b = rng.standard_normal((2, n)).round(3)
    frame = pd.DataFrame({"a": a, "b": b, "ward": rng.integers(1, 4, n)})
    frame["region"] = rng.choice(["north", "south", "east"], n, p=[0.5, 0.3, 0.2])
    shift = frame["region"].map({"north": 0.0, "south": 1.0, "east": -1.0})
    frame["score"] = (2 * a + shift + 0.3 * rng.standard_normal(n)).round(3)
    frame["visits"] = rng.poisson(np.exp(0.5 * a + rng.standard_normal(n)))
    return frame


def test_methods_are_compared_on_the_same_folds(tmp_path, frame):
    output, folder = run(tmp_path, frame, "--target=progression")
    found = json.loads((folder / "results.json").read_text())["methods"]
    X, y = frame.drop(columns="progression"), frame["progression"]
    folds = KFold(10, shuffle=True, random_state=0)
    for each, selector in zip(
        found,
        (OMPSelector(10, standardize=True), OLSSelector(10), LassoSelector(10, standardize=True)),
        strict=True,
    ):
        checked = cross_validate(selector, X, y, cv=folds)
        assert each["features"] == checked.chosen
        assert each["error"] == pytest.approx(checked.error[checked.at(checked.chosen)])
    assert ("On the same folds" in output) == any(
        each["features"] < found[0]["features"] and each["error"] < found[0]["error"] for each in found
    )


def test_a_better_method_is_named():
    ours, fewer, worse = (
        Compared("omp", 9, 10.0, 1.0),
        Compared("ols", 4, 9.0, 1.0),
        Compared("lasso", 3, 11.0, 1.0),
    )
    (sentence,) = comparison.sentences([ours, fewer, worse])
    assert sentence.startswith(
        "On the same folds orthogonal least squares (forward selection) has 4 features"
    )
    assert sentence.endswith("add --method ols.")
    assert not comparison.sentences([])
    assert not comparison.sentences([ours, worse])


@pytest.mark.parametrize(
    "options", [("--k=1",), ("--method=nonnegative-omp",), ("--loss=poisson",), ("--folds=0", "--k=1")]
)
def test_methods_are_not_compared_where_it_means_nothing(tmp_path, options):
    _, folder = run(tmp_path, numbers().assign(y=lambda t: t["y"].abs().round()), "--target=y", *options)
    assert json.loads((folder / "results.json").read_text())["methods"] == []


def test_a_reference_is_the_value_of_comparison(tmp_path):
    table = patients().drop(columns="visits")
    _, folder = run(tmp_path, table, "--target=score", "--k=2", "--reference=region=east")
    rows = json.loads((folder / "results.json").read_text())["selected"]
    parts = dict(next(row["parts"] for row in rows if row["feature"] == "region"))
    assert set(parts) == {"region_north", "region_south"}
    X = table["region"].str.get_dummies()[["north", "south"]]
    fit = sm.OLS(table["score"], sm.add_constant(X.assign(a=table["a"]))).fit()
    assert parts["region_south"] == pytest.approx(fit.params["south"])
    assert "drop=['east']" in (folder / "index.html").read_text().replace("&#39;", "'")


@pytest.mark.parametrize(
    ("option", "words"),
    [
        ("regio=east", "must be COLUMN=VALUE with a column that is used"),
        ("region=west", "'region' has no such value; it has 'east', 'north', 'south'"),
        ("a=1", "'a' is not used as a category; name it in --categories"),
    ],
)
def test_a_wrong_reference_is_refused(tmp_path, option, words):
    output, _ = run(tmp_path, patients(), "--target=score", f"--reference={option}", exit_code=2)
    assert words in output


def test_a_gap_has_an_indicator_on_request(tmp_path):
    table = patients().drop(columns=["visits", "ward"])
    empty = np.random.default_rng(1).random(len(table)) < 0.3
    table.loc[empty, "b"] = np.nan
    table.loc[np.random.default_rng(2).random(len(table)) < 0.3, "region"] = None
    table["score"] += 5 * empty
    output, folder = run(tmp_path, table, "--target=score", "--k=3", "--missing=indicator")
    rows = json.loads((folder / "results.json").read_text())["selected"]
    assert rows[0]["feature"] == "b_missing"
    assert rows[0]["coefficient"] == pytest.approx(5, abs=0.3)
    assert "A column NAME_missing is 1 where a number was missing: b" in output
    assert "Empty cells of region count as empty" in output
    output, _ = run(
        tmp_path, table.assign(b_missing=1.0), "--target=score", "--missing=indicator", exit_code=2
    )
    assert "needs the name 'b_missing'" in output


def test_numbers_that_may_be_codes_dates_and_overdispersion_get_a_hint(tmp_path):
    table = patients()
    table["seen"] = pd.date_range("2026-01-01", periods=len(table)).astype(str)
    output, _ = run(tmp_path, table, "--target=visits", "--loss=poisson", "--k=1", "--drop=score")
    assert "Numbers with few whole values, used as measurements: ward (1, 2, 3)" in output
    assert "A date is no number. To use one, make a column of numbers" in output
    assert "(overdispersion): Pearson's χ² is" in output
    table["visits"] = np.random.default_rng(0).poisson(np.exp(0.5 * table["a"]))
    output, _ = run(tmp_path, table, "--target=visits", "--loss=poisson", "--k=1", "--drop=score,ward,seen")
    assert "overdispersion" not in output
    assert "few whole values" not in output
    output, _ = run(tmp_path, table, "--target=score", "--k=1", "--categories=ward")
    assert "few whole values" not in output


def test_a_typo_is_answered_before_the_slow_imports(tmp_path):
    numbers().to_csv(tmp_path / "t.csv", index=False)
    code = (
        "import sys; from click.testing import CliRunner; from sparselin.studies.common.group import cli\n"
        f"found = CliRunner().invoke(cli, ['select', {str(tmp_path / 't.csv')!r}, '--target', 'z'])\n"
        "heavy = [name in sys.modules for name in ('sklearn', 'matplotlib', 'scipy.stats')]\n"
        "print(found.exit_code, 'no column' in found.output, *heavy)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["2", "True", "False", "False", "False"]


def test_a_half_tests_what_the_other_half_selected(tmp_path):
    table = patients().drop(columns="visits")
    output, folder = run(tmp_path, table, "--target=score", "--k=2", "--inference=split", "--seed=3")
    found = json.loads((folder / "results.json").read_text())["inference"]
    order = np.random.default_rng(3).permutation(len(table))
    second = np.sort(order[len(table) // 2 :])
    X = table["region"].str.get_dummies()[["east", "south"]].astype(float).assign(a=table["a"])
    fit = sm.OLS(table["score"].iloc[second], sm.add_constant(X.iloc[second])).fit()
    assert found["rows"] == [120, 120]
    assert found["unit_names"] == ["a", "region"]
    by_name = dict(zip(("a", "east", "south"), found["p_value"], strict=True))
    assert by_name["a"] == pytest.approx(fit.pvalues["a"], rel=1e-6)
    assert by_name["south"] == pytest.approx(fit.pvalues["south"], rel=1e-6)
    F = fit.f_test(np.eye(4)[[1, 2]])
    assert found["unit_p_value"][1] == pytest.approx(float(F.pvalue), rel=1e-6)
    assert "Inference: 120 rows, drawn with seed 3, selected anew, and the other 120 rows tested" in output
    lines = (folder / "inference.csv").read_text().splitlines()
    assert lines[0] == "feature,coefficient,standard_error,low,high,p_value"
    assert [line.split(",")[0] for line in lines[1:]] == ["a", "region", "region_east", "region_south"]
    assert "p-values and intervals" in (folder / "index.html").read_text()


@pytest.mark.parametrize(
    "options",
    [
        ("--target=visits", "--loss=poisson", "--drop=score"),
        ("--target=score", "--method=lasso", "--drop=visits"),
        ("--target=score", "--method=best-subset", "--k=2", "--drop=visits"),
        ("--target=score", "--group=ward", "--k=2", "--weights=visits"),
        ("--target=high", "--drop=score,visits"),
    ],
)
def test_halves_go_with_methods_losses_weights_and_groups(tmp_path, options):
    table = patients()
    table["high"] = np.where(table["score"] > 0, "yes", "no")
    drop = [] if "--target=high" in options else ["high"]
    _, folder = run(tmp_path, table.drop(columns=drop), *options, "--inference=split")
    found = json.loads((folder / "results.json").read_text())["inference"]
    assert not found["reason"]
    assert min(found["p_value"]) < (1e-6 if "--target=score" in options else 0.05)
    if "--group=ward" in options:
        wards = table[table["visits"] > 0]["ward"].value_counts()
        assert found["rows"][0] in {
            *wards,
            wards.sum() - wards.min(),
            wards.sum() - wards.max(),
            *(wards.sum() - wards),
        }


def test_separated_classes_have_no_tests(tmp_path):
    table = numbers(n=100)
    table["y"] = np.where(table["a"] > 0, "yes", "no")
    table.loc[:3, "y"] = "no"
    rng = np.random.default_rng(0)
    for _ in range(20):
        output, folder = run(
            tmp_path, table, "--target=y", "--k=1", "--inference=split", f"--seed={rng.integers(99)}"
        )
        found = json.loads((folder / "results.json").read_text())["inference"]
        if found["reason"]:
            assert "There are no tests, because the selected features separate" in output
            return
    pytest.fail("no seed separated the classes")


def test_one_pass_refuses_the_new_options(tmp_path):
    path = tmp_path / "t.parquet"
    pytest.importorskip("pyarrow")
    numbers().to_parquet(path)
    for option in ("--inference=split", "--reference=a=1"):
        output = invoke("select", path, "--target=y", "--k=1", "--one-pass", option, exit_code=2)
        assert option.partition("=")[0] in output
