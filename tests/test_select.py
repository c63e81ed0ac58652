"""`sparselin select`: tables of data in; features, their number and what to beware of out."""

import csv
import gzip
import html
import html.parser
import json
import re
import signal
import sys
import time
import zipfile

import numpy as np
import pytest
from click.testing import CliRunner
from sklearn.datasets import load_diabetes
from sklearn.linear_model import LinearRegression, Ridge

import sparselin as sl
from sparselin import plots
from sparselin.results import Status
from sparselin.selection import cross_validation, methods
from sparselin.selection.methods import METHODS, SelectionData
from sparselin.studies.common import tables
from sparselin.studies.common.group import cli
from sparselin.studies.select import findings

pd = pytest.importorskip("pandas")


@pytest.fixture(autouse=True, scope="module")
def interruptible():
    """The command ignores Ctrl-C while it writes its report; what runs after it in this process must not."""
    handler = signal.getsignal(signal.SIGINT)
    yield
    signal.signal(signal.SIGINT, handler)


@pytest.fixture
def no_pictures(monkeypatch):
    """A report without figures, which take most of the time."""
    monkeypatch.setattr("sparselin.studies.select.report._figures", lambda job: [])


@pytest.fixture(scope="module")
def frame():
    loaded = load_diabetes(as_frame=True, scaled=False).frame
    return loaded.rename(columns={"target": "progression"})


@pytest.fixture(scope="module")
def diabetes(frame):
    X = frame.drop(columns="progression")
    return SelectionData(X.to_numpy(np.float64), frame["progression"].to_numpy(np.float64), tuple(X.columns))


def run(folder, table, *options, name="table.csv"):
    """The result of the command on a frame or a text, with its output in one line, and the folder."""
    path = folder / name
    if isinstance(table, str):
        path.write_text(table, encoding="utf-8")
    elif table is not None:
        table.to_csv(path, index=False)
    result = CliRunner().invoke(cli, ["select", str(path), "--output", str(folder / "out"), *options])
    return result, " ".join(result.output.split()), folder / "out"


class Page(html.parser.HTMLParser):
    """The texts of a page, the tags that it has, and the cells of its table."""

    def __init__(self, path):
        super().__init__()
        self.tags, self.texts, self.rows, self.inside = set(), [], [], ""
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        self.tags.add(tag)
        self.inside = tag
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_data(self, text):
        self.texts.append(text)
        if self.inside in ("td", "th"):
            self.rows[-1][-1] += text

    def handle_endtag(self, tag):
        self.inside = ""


@pytest.fixture(scope="module")
def chosen(frame, tmp_path_factory):
    return run(tmp_path_factory.mktemp("chosen"), frame, "--target=progression")


def test_the_table_is_what_the_library_computes(chosen, frame):
    result, output, folder = chosen
    assert result.exit_code == 0, result.output
    found = json.loads((folder / "results.json").read_text())
    X, y = frame.drop(columns="progression"), frame["progression"]
    path = sl.omp(X, y, found["k"], intercept=True, standardize=True)
    rows = found["selected"]
    assert [row["feature"] for row in rows] == [X.columns[j] for j in path.support]
    for key, values in (("coefficient", path.coef), ("lam", path.lam_star), ("margin", path.margin)):
        np.testing.assert_allclose([row[key] for row in rows], values, rtol=1e-12)
    assert found["intercept"] == pytest.approx(path.intercept, rel=1e-12)
    names = [row["feature"] for row in rows]
    refit = LinearRegression().fit(X[names], y)
    np.testing.assert_allclose([row["coefficient"] for row in rows], refit.coef_, rtol=1e-10)
    r2 = [LinearRegression().fit(X[names[:t]], y).score(X[names[:t]], y) for t in range(1, len(names) + 1)]
    np.testing.assert_allclose([row["r2"] for row in rows], r2, rtol=1e-10)
    assert (
        f"{' and '.join([', '.join(names[:-1]), names[-1]])} explain {r2[-1]:.1%} of the variance" in output
    )
    with (folder / "selected.csv").open(encoding="utf-8") as file:
        table = list(csv.DictReader(file))
    assert table[0]["feature"] == "(intercept)"
    assert [float(row["coefficient"]) for row in table[1:]] == [row["coefficient"] for row in rows]
    assert float(table[0]["coefficient"]) == found["intercept"]
    assert [row["feature"] for row in table[1:]] == names
    assert list(table[0]) == ["step", "feature", "coefficient", "lam", "margin", "ties", "r2"]
    for row in rows:
        assert f"{row['step']} {row['feature']} {row['coefficient']:.5g} {row['lam']:.5g}" in output


def test_the_page_has_table_figures_and_command(chosen):
    _, _, folder = chosen
    page, found = Page(folder / "index.html"), json.loads((folder / "results.json").read_text())
    assert page.rows[0] == ["step", "feature", "coefficient", "λ*", "margin", "R²"]
    assert [row[1] for row in page.rows[1:]] == ["intercept", *[row["feature"] for row in found["selected"]]]
    words = "".join(page.texts)
    for part in ("Which features explain progression?", "442 rows, 10 features", "How many features?"):
        assert part in words
    assert found["run"]["command"] in words
    assert "--target progression" in found["run"]["command"]
    figures = {path.stem for path in folder.glob("*.png")}
    assert figures == {"selection", "cross-validation"}
    assert (folder / "index.html").read_text().count("data:image/svg+xml") == 2


def test_cross_validation_by_hand(chosen, diabetes):
    """Each fold anew: the columns scaled and selected on the others, and there least squares."""
    _, output, folder = chosen
    found = json.loads((folder / "results.json").read_text())
    of_row = np.random.default_rng(0).permutation(442) % 10
    squares = np.empty((11, 442))
    mean = np.empty(442)
    for fold in range(10):
        out = of_row == fold
        X, y = diabetes.X[~out], diabetes.y[~out]
        Z = (X - X.mean(axis=0)) / X.std(axis=0)
        order, r = [], y - y.mean()
        for _ in range(10):
            order.append(int(np.argmax([0 if j in order else abs(Z[:, j] @ r) for j in range(10)])))
            fit = LinearRegression().fit(Z[:, order], y)
            r = y - fit.predict(Z[:, order])
        mean[out] = squares[0, out] = (diabetes.y[out] - y.mean()) ** 2
        for t in range(1, 11):
            J = order[:t]
            squares[t, out] = (
                diabetes.y[out] - LinearRegression().fit(X[:, J], y).predict(diabetes.X[out][:, J])
            ) ** 2
    counts = np.bincount(of_row)
    by_fold = np.array([np.bincount(of_row, row) / counts for row in squares])
    error = squares.mean(axis=1)
    spread = np.sqrt(counts @ (by_fold.T - error) ** 2 / 442 / 9)
    told = found["cross_validation"]
    np.testing.assert_allclose(told["error"], error, rtol=1e-9)
    np.testing.assert_allclose(told["standard_error"], spread, rtol=1e-9)
    np.testing.assert_allclose(1 - np.array(told["r2"]), error / mean.mean(), rtol=1e-9)
    best = int(np.argmin(error))
    fewest = min(t for t in range(11) if error[t] <= error[best] + spread[best])
    assert (told["best"], told["chosen"], found["k"]) == (best, fewest, fewest)
    assert f"{error[fewest]:.0f} ± {spread[fewest]:.0f} with {fewest} features" in output
    assert f"The least is {error[best]:.0f} ± {spread[best]:.0f} with {best} features" in output
    assert f"; {fewest} is chosen as the fewest within one standard error of it" in output


def test_a_number_that_was_given_is_not_chosen(chosen, frame, tmp_path):
    k = json.loads((chosen[2] / "results.json").read_text())["k"]
    output = run(tmp_path, frame, "--target=progression", f"--k={k}")[1]
    assert f"; {k} is the fewest within one standard error of it" in output


@pytest.mark.parametrize("method", list(METHODS))
def test_every_method_on_the_same_terms(method, diabetes):
    """Least squares on the features; models of all sizes are those of the selections."""
    for forced in ((), ("age", "s6")):
        data = diabetes._replace(forced=forced)
        found = methods.select(data, method, 4)
        names = [data.names[j] for j in found.path.support]
        assert names[: len(forced)] == list(forced)
        assert len(names) == 4
        J = found.path.support[found.path.coef != 0]
        fit = LinearRegression().fit(data.X[:, J], data.y)
        np.testing.assert_allclose(found.path.coef[found.path.coef != 0], fit.coef_, rtol=1e-9)
        assert found.path.r2 == pytest.approx(fit.score(data.X[:, J], data.y), rel=1e-9)
        if method == "nonnegative-omp":
            assert (found.path.coef[len(forced) :] >= 0).all()
        else:
            assert found.path.coef.all()
        assert np.isnan(found.lam).tolist() == [method == "best-subset" or name in forced for name in names]
        if method == "best-subset":
            continue
        models = methods.models(data, method, 4)
        assert [model.t for model in models] == list(range(len(forced), 5))
        np.testing.assert_array_equal(models[-1].path.support, found.path.support)
        np.testing.assert_array_equal(
            models[-1].predict(data.X), found.path.intercept + data.X[:, found.path.support] @ found.path.coef
        )
        one_less = methods.select(data, method, 3)
        np.testing.assert_array_equal(
            np.sort(models[-2].path.support[: models[-2].t]), np.sort(one_less.path.support)
        )


def test_the_lasso_tells_its_own_coefficients(diabetes):
    """A solution of the LASSO: the KKT conditions, at the λ where the fifth feature enters."""
    found = methods.select(diabetes, "lasso", 4)
    Z = (diabetes.X - diabetes.X.mean(axis=0)) / diabetes.X.std(axis=0)
    beta = found.shrunken * diabetes.X.std(axis=0)[found.path.support]
    c = Z.T @ (diabetes.y - diabetes.y.mean() - Z[:, found.path.support] @ beta)
    lam = np.abs(c).max()
    np.testing.assert_allclose(c[found.path.support], lam * np.sign(beta), rtol=1e-9)
    fifth = methods.select(diabetes, "lasso", 5)
    assert fifth.lam[-1] == pytest.approx(lam, rel=1e-9)
    np.testing.assert_array_equal(fifth.lam[:4], found.lam)
    assert (np.diff(fifth.lam) < 0).all()


def test_a_method_that_ends_early_keeps_its_last_model():
    """Three columns of rank two, and a fold in which one of them is constant."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((12, 2))
    data = SelectionData(np.column_stack([X, X.sum(axis=1)]), rng.standard_normal(12), ("a", "b", "sum"))
    for method in ("omp", "lasso"):
        models = methods.models(data, method, 3)
        assert [model.t for model in models] == [0, 1, 2, 2]
    rare = np.column_stack([X, np.eye(12)[0]])
    found = list(cross_validation.cross_validate(data._replace(X=rare), "omp", 3, 12, 0))
    assert len(found) == 12
    assert np.isfinite([fold.errors for fold in found]).all()


def test_the_figure_shows_the_errors_and_the_sizes():
    folds = [cross_validation.Fold(1.0, np.array(errors), 9.0) for errors in ([8, 5, 3, 3.5], [9, 4, 4, 4])]
    found = cross_validation.summarize(folds, 2)
    ax = plots.cross_validation(found, 5)
    curve = ax.lines[0]
    assert (curve.get_xdata().tolist(), curve.get_ydata().tolist()) == ([2, 3, 4, 5], [8.5, 4.5, 3.5, 3.75])
    marks = {line.get_label(): (line.get_xdata()[0], line.get_ydata()[0]) for line in ax.lines[2:]}
    assert marks == {
        "least error: 4": (4, 3.5),
        "selected: 5": (5, 3.75),
    }
    assert ax.lines[1].get_ydata()[0] == 4.0
    plots.close(ax.figure)


def test_weights_count_as_repetitions(diabetes):
    rng = np.random.default_rng(0)
    weight = rng.integers(1, 4, 442).astype(float)
    often = np.repeat(np.arange(442), weight.astype(int))
    heavy = methods.select(diabetes._replace(weight=weight), "omp", 4)
    many = methods.select(diabetes._replace(X=diabetes.X[often], y=diabetes.y[often]), "omp", 4)
    np.testing.assert_array_equal(heavy.path.support, many.path.support)
    np.testing.assert_allclose(heavy.path.r2_path, many.path.r2_path, rtol=1e-9)
    left = slice(0, 50)
    model = methods.models(diabetes._replace(weight=weight), "omp", 2, rows=slice(50, None))[2]
    fold = cross_validation.Fold(1.0, np.array([1.0]), 1.0)
    assert (
        cross_validation.summarize([fold, fold._replace(errors=np.array([3.0]), weight=3.0)], 0).error == 2.5
    )
    ridge = Ridge(alpha=0).fit(diabetes.X[50:, model.path.support[:2]], diabetes.y[50:], weight[50:])
    np.testing.assert_allclose(
        model.predict(diabetes.X[left]), ridge.predict(diabetes.X[left][:, model.path.support[:2]]), rtol=1e-8
    )


def test_noise_gets_no_features(tmp_path):
    rng = np.random.default_rng(3)
    noise = pd.DataFrame(rng.standard_normal((80, 5)), columns=list("abcde")).assign(
        y=rng.standard_normal(80)
    )
    result, output, folder = run(tmp_path, noise)
    assert result.exit_code == 0, result.output
    assert "y is y, the last column; --target names another." in output
    assert "No feature is worth its place" in output
    found = json.loads((folder / "results.json").read_text())
    assert (found["k"], found["selected"]) == (0, [])
    assert found["intercept"] == pytest.approx(noise["y"].mean(), rel=1e-12)
    assert {path.stem for path in folder.glob("*.png")} == {"cross-validation"}


@pytest.mark.usefixtures("no_pictures")
def test_what_to_beware_of(tmp_path, frame):
    """A copy, a near copy, a constant column, a sum, too many features."""
    rng = np.random.default_rng(0)
    strange = frame.assign(
        constant=0.1,
        other=0.7,
        copy=frame["bmi"] * 2 + 1,
        near=frame["bmi"] + 1e-3 * rng.standard_normal(442),
        noise=rng.standard_normal(442),
        sum=frame["s5"] + frame["bp"] + 1e-2 * rng.standard_normal(442),
    )
    result, output, _ = run(
        tmp_path, strange, "--target=progression", "--k=16", "--folds=0", "--forced=constant,other"
    )
    assert result.exit_code == 0, result.output
    assert "Step 3: bmi is tied with copy to rounding" in output
    assert "Constant columns explain nothing: constant and other." in output
    assert "coefficient of constant" not in output
    assert "copy could stand for bmi: their correlation is 1.0000" in output
    assert "The coefficient of sum is uncertain" in output
    assert "15 of 16 features were selected: every remaining column lies in the span" in output


@pytest.mark.parametrize("method", ["omp", "ols", "sequential-lasso"])
def test_the_runner_up_is_the_second_best(method, diabetes, monkeypatch):
    """By the rule at each step, on columns projected off S by least squares."""
    monkeypatch.setattr(findings, "CLOSE", 1.0)
    diabetes = diabetes._replace(forced=("age",))
    found = methods.select(diabetes, method, 7)
    Z = diabetes.X - diabetes.X.mean(axis=0)
    Z /= np.linalg.norm(Z, axis=0)
    told = findings.close_decisions(diabetes, method, found)
    assert [close.step for close in told] == list(range(2, 8))
    for close in told:
        S = found.path.support[: close.step - 1]
        left = Z - Z[:, S] @ np.linalg.lstsq(Z[:, S], Z)[0]
        size = np.abs(left.T @ diabetes.y)
        size[S], left[:, S] = 0, 1
        size /= np.linalg.norm(left, axis=0) if method == "ols" else 1.0
        first, second = np.argsort(-size)[:2]
        assert (close.feature, close.runner_up) == (diabetes.names[first], diabetes.names[second])
        assert close.margin == pytest.approx(1 - size[second] / size[first], rel=1e-8)


def test_inflation_is_of_the_other_selected_features(diabetes):
    """1/(1 − R²) of each selected feature on the other selected ones."""
    found = methods.select(diabetes, "omp", 8)
    S = found.path.support
    factors = {}
    for i, j in enumerate(S):
        rest = diabetes.X[:, np.delete(S, i)]
        factors[diabetes.names[j]] = 1 / (
            1 - LinearRegression().fit(rest, diabetes.X[:, j]).score(rest, diabetes.X[:, j])
        )
    told = dict(findings.inflated(diabetes, found))
    still = [0.1, 0.3, 0.7, 0.9, 1.1, 2.3]
    names = tuple(map(str, still))
    more = diabetes._replace(
        X=np.column_stack([diabetes.X, np.tile(still, (442, 1))]), names=diabetes.names + names, forced=names
    )
    assert {name for name, _ in findings.inflated(more, methods.select(more, "omp", 14))} == set(told)
    assert told == pytest.approx({name: f for name, f in factors.items() if f > findings.INFLATED}, rel=1e-8)
    assert told


def test_names_are_shown_as_they_are(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 4))
    names = ["weight in kg", "größe, cm", "<b>a&b</b>", "[bold]$x_1$"]
    y = X @ [4, 3, 2, 1] + 0.1 * rng.standard_normal(40)
    table = pd.DataFrame(X, columns=names).assign(**{"<script>alert(1)</script>": y})
    options = ("--k=4", "--folds=3", "--forced", "größe, cm", "--forced", "weight in kg,<b>a&b</b>")
    result, output, folder = run(tmp_path, table, *options)
    assert result.exit_code == 0, result.output
    page = Page(folder / "index.html")
    assert [row[1] for row in page.rows[2:]] == ["größe, cm", "weight in kg", "<b>a&b</b>", "[bold]$x_1$"]
    assert not page.tags & {"b", "script"}
    assert "Which features explain <script>alert(1)</script>?" in "".join(page.texts)
    for name in names:
        assert name in output


@pytest.mark.usefixtures("no_pictures")
@pytest.mark.parametrize(
    ("method", "options"),
    [
        ("omp", ("--missing=drop-rows", "--weights=w", "--drop=text,near")),
        ("best-subset", ("--drop=text",)),
        ("lasso", ("--no-standardize", "--drop=text", "--forced=age")),
        ("nonnegative-omp", ("--no-intercept", "--drop=text,near")),
    ],
)
def test_the_program_on_the_page_does_the_same(tmp_path, frame, method, options, capsys):
    rng = np.random.default_rng(0)
    table = frame.head(120).assign(text="x", near=1.0, w=rng.integers(0, 3, 120))
    if "--missing=drop-rows" in options:
        table.loc[[3, 7], "bmi"] = np.nan
    table.to_csv(tmp_path / "indexed.csv")
    result, output, folder = run(
        tmp_path,
        None,
        "--target=progression",
        f"--method={method}",
        "--k=3",
        "--folds=0",
        *options,
        name="indexed.csv",
    )
    assert result.exit_code == 0, result.output
    page = (folder / "index.html").read_text(encoding="utf-8")
    program = html.unescape(page[page.index("<pre>") + 5 : page.index("</pre>")])
    scope = {}
    exec(program, scope)
    found = json.loads((folder / "results.json").read_text())
    names, path = list(scope["X"].columns), scope["path"]
    mine = [row["feature"] for row in found["selected"]]
    if method == "lasso":
        own = path.at(path.knots[[len(A) > 2 for A in path.active].index(True)])
        np.testing.assert_allclose(
            [float(row["lasso"]) for row in csv.DictReader((folder / "selected.csv").open()) if row["lasso"]],
            [row["shrunken"] for row in found["selected"]],
        )
        np.testing.assert_allclose(
            [row["shrunken"] for row in found["selected"]],
            own[[names.index(name) for name in mine]],
            rtol=1e-9,
        )
    else:
        assert [names[j] for j in path.support] == mine
        assert ("No 3 features explain more." in output) == (method == "best-subset")
        np.testing.assert_allclose([row["coefficient"] for row in found["selected"]], path.coef, rtol=1e-9)
        assert found["intercept"] == pytest.approx(path.intercept, rel=1e-9)
    assert found["data"]["incomplete"] == (2 if "--missing=drop-rows" in options else 0)
    capsys.readouterr()


@pytest.mark.usefixtures("no_pictures")
@pytest.mark.parametrize(
    ("form", "written"),
    [
        ({"sep": ";"}, "sep=';')"),
        ({"sep": ";", "decimal": ","}, "sep=';', decimal=',')"),
        ({"sep": "\t"}, "sep='\\t')"),
    ],
)
def test_other_separators(tmp_path, frame, form, written):
    """As R's write.csv2 writes them, with decimal commas, and spreadsheets; the program reads them so too."""
    options = ("--k=3", "--folds=0", "--target=progression")
    frame.head(60).to_csv(tmp_path / "table.csv", index=False, **form)
    result, _, folder = run(tmp_path, None, *options)
    assert result.exit_code == 0, result.output
    page = (folder / "index.html").read_text(encoding="utf-8")
    assert written in html.unescape(page)
    found = json.loads((folder / "results.json").read_text())["selected"]
    same, _, folder = run(tmp_path, frame.head(60), *options)
    assert same.exit_code == 0
    assert found == json.loads((folder / "results.json").read_text())["selected"]


@pytest.mark.usefixtures("no_pictures")
def test_a_y_of_two_values(tmp_path, frame):
    high = frame.assign(progression=frame["progression"] > 140)
    result, output, _ = run(tmp_path, high, "--target=progression", "--k=2", "--folds=0")
    assert result.exit_code == 0, result.output
    assert "Beware: progression has two values, 0 and 1, which least squares takes for numbers" in output
    assert 'generalized_omp(..., loss="logistic")' in output
    assert "two values" not in run(tmp_path, frame, "--target=progression", "--k=2", "--folds=0")[1]


@pytest.mark.usefixtures("no_pictures")
def test_parquet(tmp_path, frame):
    pl = pytest.importorskip("polars")
    table = pl.from_pandas(frame.head(60)).with_columns(
        pl.Series("smokes", np.arange(60) % 3 == 0),
        pl.lit("x").alias("text"),
        pl.Series("__index_level_0__", range(60)),
    )
    table.write_parquet(tmp_path / "t.parquet")
    options = ("--target=progression", "--k=3", "--folds=0")
    result, output, _ = run(tmp_path, None, *options, name="t.parquet")
    assert result.exit_code == 2
    assert "columns must hold real numbers; 'text' is of String." in output
    assert "Encode such columns as numbers, or leave them out by --drop text." in output
    result, output, folder = run(tmp_path, None, *options, "--drop=text", name="t.parquet")
    assert result.exit_code == 0, result.output
    assert "__index_level_0__ is left out as the index of the rows" in output
    X = frame.head(60).drop(columns="progression").assign(smokes=np.arange(60) % 3 == 0)
    path = sl.omp(X, frame.head(60)["progression"], 3, intercept=True, standardize=True)
    found = json.loads((folder / "results.json").read_text())["selected"]
    assert [row["feature"] for row in found] == [X.columns[j] for j in path.support]
    (tmp_path / "bad.parquet").write_bytes(b"nothing of the kind")
    assert "cannot be read as Parquet" in run(tmp_path, None, name="bad.parquet")[1]


def test_parquet_names_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "polars", None)
    monkeypatch.setitem(sys.modules, "pandas", None)
    (tmp_path / "t.parquet").write_bytes(b"")
    result, output, _ = run(tmp_path, None, name="t.parquet")
    assert result.exit_code == 2
    assert "pip install 'sparselin[frames]'" in output


GOOD = "age,height,y\n1,2,3\n4,5.5,6\n-1,0,1\n2,3,5\n7,1,1\n"


@pytest.mark.parametrize(
    ("text", "options", "words"),
    [
        (GOOD, ["--target=hieght"], "no column 'hieght'. Did you mean 'height'?"),
        (GOOD, ["--k=1", "--forced=agee"], "--forced must hold names of columns; there is no column 'agee'"),
        (GOOD, ["--k=1", "--forced=y"], "there is no column 'y'"),
        (GOOD, ["--k=2", "--forced=age,age"], "must not repeat"),
        (GOOD, ["--k=1", "--forced=age,height"], "forced features count in k: got 2 of them and k = 1"),
        (GOOD, ["--drop=z"], "--drop must hold names of columns; there is no column 'z'"),
        (GOOD, ["--drop=age,height"], "no column besides 'y'"),
        ('a,"b, c",y\n1,2,3\n', ["--drop=a,b, c"], "there is no column 'b'"),
        ('a,"b, c",y\n1,2,3\n', ['--drop=a,"b, c"'], "no column besides 'y'"),
        ('a,"b, c",y\n1,2,3\n', ["--drop=b, c", "--drop=a"], "no column besides 'y'"),
        ('"x ""1""","b, c",y\n1,2,3\n', ['--drop="x ""1""","b, c"'], "no column besides 'y'"),
        ('a,"b, c",y\nu,v,3\n', [], "by --drop 'a,\"b, c\"'."),
        (GOOD, ["--k=3"], "there are 2 features; got 3"),
        (GOOD, ["--k=0"], "0 is not in the range"),
        (GOOD, ["--folds=1"], "0, for none, or at least 2"),
        (GOOD, ["--folds=0"], "there is no cross-validation to choose the number of features: pass --k"),
        (GOOD, ["--method=best-subset"], "needs --k"),
        (GOOD, ["--weights=age", "--k=1"], "nonnegative numbers; the least of 'age' is -1"),
        (GOOD, ["--weights=y"], "--weights and the target are both 'y'"),
        ("a,b,y\n0,1,2\n0,2,3\n", ["--weights=a", "--k=1"], "must not be zero in every row"),
        ("a,y\n1,2\n3,4\n5,6\n", [], "3 rows are too few for cross-validation"),
        ("a,y\n1,2\n3,2\n", ["--k=1"], "'y' is 2 in every row: nothing to explain"),
        ("a,b,y\n1,2,3\n,NA,4\n,5,6\n", [], "have a missing or infinite number, in column 'a' (2), 'b' (1)"),
        ("a,y\n,2\nnan,4\n", ["--missing=drop-rows"], "no row is left"),
        ("a,city,when,y\n1,Rome,2020-01-01,3\n", [], "'Rome' in column 'city', '2020-01-01' in"),
        ("a,city,when,y\n1,Rome,2020-01-01,3\n", [], "leave them out by --drop city,when."),
        ("a:y\n1:2\n", [], "separated by commas (or semicolons, or tabs)"),
        ("a;y\n1,5;2\n1.234,5;2\n", [], "line 3 has '1.234,5' in column 'a': no number"),
        ("a;b;y\n1;2\n", [], "line 2 has 2 fields, the first line 3"),
        ("a,city,y\n1,Rome,no\n", [], "by --drop city. 'y' is the column to explain: "),
        ("a,y\n1,no\n", [], "column 'y': no number. 'y' is the column to explain: encode it as numbers. Of "),
        ("y,a\nno,1\n", ["--target=y"], 'generalized_omp(X, y == \'no\', k, loss="logistic")'),
        ("y\n1\n", [], "needs a column for y and others for X"),
        ("a,y\n", [], "a line for each row"),
        ("", [], "a line that names the columns"),
        ("a,y\n1e200,1\n2e200,5\n1e200,3\n", ["--k=1", "--no-standardize"], "square over- or underflows"),
    ],
)  # fmt: skip
def test_bad_tables_and_options_are_named(tmp_path, text, options, words):
    result, output, folder = run(tmp_path, text, *options)
    assert result.exit_code == 2, result.output
    assert words in output.replace("│ ", "").replace(" │", "")
    assert not folder.exists()


def test_other_files_are_refused(tmp_path):
    result, output, _ = run(tmp_path, GOOD, name="t.xlsx")
    assert result.exit_code == 2
    assert "must be a .csv or a .parquet" in output


FRENCH = "größe,prix €,y\n1,2,3\n4,5.5,6\n-1,0,1\n2,3,5\n7,1,1\n"


@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gzip"])
@pytest.mark.parametrize("name", ["t.csv", "t.txt", "t.CSV.gz"])
@pytest.mark.parametrize(
    ("encoding", "said"),
    [("utf-8", ""), ("utf-8-sig", ""), ("cp1252", "Latin-1 (cp1252)"), ("latin-1", "Latin-1"),
     ("utf-16", "UTF-16"), ("utf-16-le", "UTF-16-LE"), ("utf-16-be", "UTF-16-BE"), ("utf-32", "UTF-32")],
)  # fmt: skip
def test_tables_in_all_encodings(tmp_path, capsys, encoding, said, name, packed):
    """As they are found, and as --encoding says; the program on the page reads the same."""
    text = FRENCH if encoding != "latin-1" else FRENCH.replace("€", "\x81")  # no letter of cp1252
    data = text.encode(encoding)
    (tmp_path / name).write_bytes(gzip.compress(data) if packed else data)
    first, second = text.split(",")[:2]
    for given in ([], ["--encoding", encoding]):
        table = tables.read_table(tmp_path / name, encoding=encoding if given else None)
        assert table.names == (first, second, "y")
        np.testing.assert_array_equal(table.data[1], [4, 5.5, 6])
        assert table.note == (
            f"{tmp_path / name} is not in UTF-8, and read as {said}." if said and not given else ""
        )
        read = pd.read_csv(
            tmp_path / name, **{"compression": None, **table.options} if not packed else table.options
        )
        assert list(read.columns) == [first, second, "y"]


def test_the_encoding_is_said_and_can_be_set(tmp_path, no_pictures):
    data = "größe,b,y\n1,2,3\n4,5.5,6\n-1,0,1\n2,3,5\n".encode("cp1252")
    (tmp_path / "table.csv").write_bytes(data)
    _, output, folder = run(tmp_path, None, "--k=1", "--folds=0")
    assert "is not in UTF-8, and read as Latin-1 (cp1252). --encoding names another." in output
    assert "encoding='cp1252'" in html.unescape((folder / "index.html").read_text("utf-8"))
    result, output, folder = run(tmp_path, None, "--k=1", "--folds=0", "--encoding", "cp1250")
    assert result.exit_code == 0
    assert "--encoding names another" not in output
    assert "encoding='cp1250'" in html.unescape((folder / "index.html").read_text("utf-8"))
    for encoding, words in (
        ("utf-8", "cannot be read as UTF-8"),
        ("ascii", "cannot be read as ASCII"),
        ("utf8x", "must be the name of an encoding, such as latin-1 or utf-16; got 'utf8x'"),
        ("hex", "must be the name of an encoding"),
        ("", "must be the name of an encoding"),
    ):
        result, output, _ = run(tmp_path, None, "--k=1", "--encoding", encoding)
        assert result.exit_code == 2
        assert words in output


def workbook(path):
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("xl/workbook.xml", "<workbook/>")


@pytest.mark.parametrize("name", ["t.csv", "t.xlsx", "t.dat"])
@pytest.mark.parametrize(
    ("data", "words"),
    [
        ("xlsx", "is an Excel workbook: save its sheet as a .csv"),
        (b"\xd0\xcf\x11\xe0" + bytes(600), "is an Excel workbook"),
        (b"PK\3\4" + bytes(30), "is a .zip: unpack it"),
        (b"PAR1" + bytes(30), "is a Parquet file: rename it to .parquet"),
        (b"BZh91AY&SY", "is compressed by bzip2: unpack it"),
        (b"\xfd7zXZ\0", "is compressed by xz: unpack it"),
        (b"\x28\xb5\x2f\xfd\0", "is compressed by zstd: unpack it"),
    ],
)
def test_files_that_are_no_tables_are_named(tmp_path, name, data, words):
    workbook(tmp_path / name) if data == "xlsx" else (tmp_path / name).write_bytes(data)
    for command in (["select"], ["verify", "--design"]):
        result = CliRunner().invoke(cli, [*command, str(tmp_path / name)])
        assert result.exit_code == 2, result.output
        if command == ["select"] or name == "t.csv":
            assert words in " ".join(result.output.replace("│", "").split())


@pytest.mark.parametrize("command", [["select"], ["verify", "--design"]], ids=["select", "verify"])
@pytest.mark.parametrize(
    ("data", "words"),
    [
        (gzip.compress(GOOD.encode())[:-9], "is a broken .gz"),
        (gzip.compress(GOOD.encode())[:20], "is a broken .gz"),
        (gzip.compress(GOOD.encode())[:12] + b"\xff" * 30, "is a broken .gz"),
        (gzip.compress(b""), "a line that names the columns"),
        (b"\x89HDF\r\n\x1a\n" + bytes(8) + bytes(range(256)), "is no text: it has bytes 0"),
        (GOOD.encode("utf-16")[:-1], "cannot be read as UTF-16: truncated data"),
        (b"a,y\n1,2\n" + b"3" * 70_000 + b"\xe9,4\n", "'… (70,001 characters) in column 'a': no number"),
        (b"a,y\n1,2\n1_000,4\n", "line 3 has '1_000' in column 'a': no number"),
        (b"a_,y\n1,2\n3,4_0\n", "'4_0' in column 'y': no number"),
        (b"a;y\n1,5;2\n1_0,5;2\n", "line 3 has '1_0,5' in column 'a': no number"),
        (
            ",".join(f"x{i}" for i in range(300)).encode() + b"\n" + b",".join([b"no"] * 300),
            "… (300 in all): no number",
        ),
        (b"n" * 200_000 + b",b," + b"n" * 200_000 + b"\n1,2,3\n", "'… (200,000 characters)"),
    ],
    ids=range(12),
)
def test_broken_tables_are_named(tmp_path, command, data, words):
    (tmp_path / "t.csv").write_bytes(data)
    result = CliRunner().invoke(cli, [*command, str(tmp_path / "t.csv")])
    assert result.exit_code == 2, result.output
    assert words in " ".join(re.sub("[│╭╮╰╯─]", "", result.output).split())
    assert len(result.output) < 5000


@pytest.mark.parametrize("option", ["--in-memory", "--one-pass"])
def test_broken_parquets_are_named(tmp_path, no_pictures, option):
    """Cut off, or with other bytes, in either way of reading: refused, or read."""
    pytest.importorskip("pyarrow")
    rng, path = np.random.default_rng(0), tmp_path / "t.parquet"
    pd.DataFrame(rng.standard_normal((50, 3)), columns=["a", "b", "y"]).to_parquet(path)
    whole, out = path.read_bytes(), str(tmp_path / "out")
    cases = [b"", b"no", whole[:50], whole[:-5], whole[: len(whole) // 2], whole[4:]]
    for _ in range(25):
        damaged = bytearray(whole)
        for at in rng.integers(len(whole), size=3):
            damaged[at] = rng.integers(256)
        cases.append(bytes(damaged))
    for data in cases:
        path.write_bytes(data)
        result = CliRunner().invoke(cli, ["select", str(path), "--k=1", "--output", out, option])
        assert isinstance(result.exception, SystemExit | None), (data, result.exception)
        assert result.exit_code in (0, 2)
        assert result.exit_code == 0 or str(path) in "".join(result.output.split()), result.output
        assert len(data) > 50 or result.exit_code == 2


def test_a_panic_of_the_reader_of_parquet_is_an_error(tmp_path, monkeypatch):
    class PanicException(BaseException):
        """That of polars is no Exception."""

    def panic(path):
        raise PanicException("called `Result::unwrap()`\nand more")

    monkeypatch.setattr("polars.read_parquet", panic)
    with pytest.raises(
        tables.BadTable, match=r"t\.pq cannot be read as Parquet: called `Result::unwrap\(\)`$"
    ):
        tables.read_table(tmp_path / "t.pq")
    monkeypatch.setattr("polars.read_parquet", lambda path: signal.raise_signal(signal.SIGINT))
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            tables.read_table(tmp_path / "t.pq")
    finally:
        signal.signal(signal.SIGINT, handler)


def test_long_fields(tmp_path):
    name, text = "n" * 200_000, "t" * 300_000
    (tmp_path / "t.csv").write_text(f"{name},b,y\n1,{text},3\n")
    limit = csv.field_size_limit()
    table = tables.read_table(tmp_path / "t.csv", ["b"])
    assert table.names == (name, "y")
    assert table.data.tolist() == [[1, 3]]
    assert csv.field_size_limit() == limit


@pytest.mark.parametrize("drop", [0, 10_000])
@pytest.mark.parametrize("sep", [",", ";"])
def test_the_time_is_linear_in_the_columns(tmp_path, drop, sep):
    """100,000 take ten times as long as 10,000, within a factor of four; quadratic is a factor of ten."""
    took = {}
    for d in (10_000, 100_000):
        names = [f"x{i}" for i in range(d)]
        path = tmp_path / f"{d}.csv"
        path.write_text(f"{sep.join(names)}\n{sep.join(['1.5'] * d)}\n")
        dropped = [",".join(names[: drop * d // 100_000])] if drop else []
        began = time.process_time()
        table = tables.read_table(path, dropped)
        took[d] = time.process_time() - began
        assert table.data.shape == (1, d - drop * d // 100_000)
    assert took[100_000] < 40 * took[10_000]


def test_an_interrupt_leaves_no_half_report(tmp_path, monkeypatch):
    def interrupted(*args):
        raise KeyboardInterrupt
        yield

    monkeypatch.setattr("sparselin.studies.select.command.cross_validate", interrupted)
    result, output, folder = run(tmp_path, GOOD, "--k=1")
    assert result.exit_code == 130
    assert "Interrupted" in output
    assert not list(folder.iterdir())


@pytest.mark.usefixtures("no_pictures")
def test_an_interrupted_search_shows_the_best_so_far(tmp_path, monkeypatch, frame):
    best = sl.best_subset

    def stopped(problem, k, **options):
        return best(problem, k, callback=lambda state: True, node_limit=1, **options)

    monkeypatch.setattr(sl, "best_subset", stopped)
    real = methods.Selected
    monkeypatch.setattr(
        methods, "Selected", lambda result, path, status, lam: real(result, path, Status.STOPPED, lam)
    )
    result, output, folder = run(tmp_path, frame, "--k=4", "--method=best-subset")
    assert result.exit_code == 130
    assert "STOPPED" in output
    assert json.loads((folder / "results.json").read_text())["run"]["interrupted"]


def test_the_help_has_an_example():
    result = CliRunner().invoke(cli, ["select", "--help"])
    assert "sparselin select diabetes.csv --target progression --k 5" in result.output
