"""`sparselin select`: tables of data in; features, their number and what to beware of out."""

import csv
import gzip
import html
import html.parser
import json
import re

import numpy as np
import pytest
from click.testing import CliRunner
from selected import GOOD, run
from sklearn.linear_model import LinearRegression, Ridge

import sparselin as sl
from sparselin import plots
from sparselin.results import Status
from sparselin.selection import cross_validation, methods
from sparselin.selection.methods import METHODS, SelectionData
from sparselin.studies.common.folder import table_of_report
from sparselin.studies.common.group import cli
from sparselin.studies.select import findings

pd = pytest.importorskip("pandas")


@pytest.fixture(scope="module")
def diabetes(frame):
    X = frame.drop(columns="progression")
    return SelectionData(X.to_numpy(np.float64), frame["progression"].to_numpy(np.float64), tuple(X.columns))


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
    return run(tmp_path_factory.mktemp("chosen"), frame, "--target=progression", exit_code=0)


def test_the_table_is_what_the_library_computes(chosen, frame):
    output, folder = chosen
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
    _, folder = chosen
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
    output, folder = chosen
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
    errors = found["cross_validation"]
    np.testing.assert_allclose(errors["error"], error, rtol=1e-9)
    np.testing.assert_allclose(errors["standard_error"], spread, rtol=1e-9)
    np.testing.assert_allclose(1 - np.array(errors["r2"]), error / mean.mean(), rtol=1e-9)
    best = int(np.argmin(error))
    fewest = min(t for t in range(11) if error[t] <= error[best] + spread[best])
    assert (errors["best"], errors["chosen"], found["k"]) == (best, fewest, fewest)
    assert f"{error[fewest]:.0f} ± {spread[fewest]:.0f} with {fewest} features" in output
    assert f"The least error is {error[best]:.0f} ± {spread[best]:.0f} with {best} features" in output
    assert f"features within one standard error of it is {fewest}, which was chosen." in output


def test_a_number_that_was_given_is_not_chosen(chosen, frame, tmp_path):
    k = json.loads((chosen[1] / "results.json").read_text())["k"]
    output = run(tmp_path, frame, "--target=progression", f"--k={k}")[0]
    assert f"features within one standard error of it is {k}." in output


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
    output, folder = run(tmp_path, noise, exit_code=0)
    assert "The target y is y, the last column. Use --target to choose another." in output
    assert "No feature is worth including" in output
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
    output, _ = run(
        tmp_path,
        strange,
        "--target=progression",
        "--k=16",
        "--folds=0",
        "--forced=constant,other",
        exit_code=0,
    )
    assert "Step 3: bmi is tied with copy up to rounding" in output
    assert "Constant columns explain nothing: constant and other." in output
    assert "coefficient of constant" not in output
    assert "copy could replace bmi, because their correlation is 1.0000" in output
    assert "The coefficient of sum is uncertain" in output
    assert "were selected, 15 of 16: every remaining column lies in the span" in output


@pytest.mark.parametrize("method", ["omp", "ols", "sequential-lasso"])
def test_the_runner_up_is_the_second_best(method, diabetes, monkeypatch):
    """The rule is applied at each step to columns projected off S by least squares."""
    monkeypatch.setattr(findings, "CLOSE", 1.0)
    diabetes = diabetes._replace(forced=("age",))
    found = methods.select(diabetes, method, 7)
    Z = diabetes.X - diabetes.X.mean(axis=0)
    Z /= np.linalg.norm(Z, axis=0)
    decisions = findings.close_decisions(diabetes, method, found)
    assert [close.step for close in decisions] == list(range(2, 8))
    for close in decisions:
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
    inflated = dict(findings.uncertain_coefficients(diabetes, found))
    still = [0.1, 0.3, 0.7, 0.9, 1.1, 2.3]
    names = tuple(map(str, still))
    more = diabetes._replace(
        X=np.column_stack([diabetes.X, np.tile(still, (442, 1))]), names=diabetes.names + names, forced=names
    )
    again = findings.uncertain_coefficients(more, methods.select(more, "omp", 14))
    assert {name for name, _ in again} == set(inflated)
    assert inflated == pytest.approx(
        {name: f for name, f in factors.items() if f > findings.INFLATED}, rel=1e-8
    )
    assert inflated


def test_names_are_shown_as_they_are(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 4))
    names = ["weight in kg", "größe, cm", "<b>a&b</b>", "[bold]$x_1$"]
    y = X @ [4, 3, 2, 1] + 0.1 * rng.standard_normal(40)
    table = pd.DataFrame(X, columns=names).assign(**{"<script>alert(1)</script>": y})
    options = ("--k=4", "--folds=3", "--forced", "größe, cm", "--forced", "weight in kg,<b>a&b</b>")
    output, folder = run(tmp_path, table, *options, exit_code=0)
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
    output, folder = run(
        tmp_path,
        None,
        "--target=progression",
        f"--method={method}",
        "--k=3",
        "--folds=0",
        *options,
        name="indexed.csv",
        exit_code=0,
    )
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
        assert ("No other 3 features can explain more." in output) == (method == "best-subset")
        np.testing.assert_allclose([row["coefficient"] for row in found["selected"]], path.coef, rtol=1e-9)
        assert found["intercept"] == pytest.approx(path.intercept, rel=1e-9)
    assert found["data"]["incomplete"] == (2 if "--missing=drop-rows" in options else 0)
    capsys.readouterr()


def test_an_interrupt_leaves_no_half_report(tmp_path, monkeypatch):
    def interrupted(*args):
        raise KeyboardInterrupt
        yield

    monkeypatch.setattr("sparselin.studies.select.command.cross_validate", interrupted)
    output, folder = run(tmp_path, GOOD, "--k=1", exit_code=130)
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
    output, folder = run(tmp_path, frame, "--k=4", "--method=best-subset", exit_code=130)
    assert "STOPPED" in output
    assert json.loads((folder / "results.json").read_text())["run"]["interrupted"]


@pytest.mark.usefixtures("no_pictures")
def test_each_table_has_its_own_report(tmp_path, monkeypatch):
    """A second table of the same name is refused, not written over the first."""
    monkeypatch.chdir(tmp_path)
    for name in ("one.csv", "two.csv.gz", "other/one.csv"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(gzip.compress(GOOD.encode()) if path.suffix == ".gz" else GOOD.encode())
    for table, name in (("one.csv", "one"), ("two.csv.gz", "two"), (str(tmp_path / "one.csv"), "one")):
        result = CliRunner().invoke(cli, ["select", table, "--k=1", "--folds=0"])
        assert result.exit_code == 0, result.output
        assert f"Report: report/select/{name}/index.html" in result.output
    result = CliRunner().invoke(cli, ["select", "other/one.csv", "--k=1", "--folds=0"])
    assert result.exit_code == 2
    words = " ".join(re.sub("[│╭╮╰╯─]", "", result.output).split())
    assert "report/select/one holds the report about" in words
    assert "choose another folder with --output" in words
    assert table_of_report(tmp_path / "report/select/one") == str(tmp_path / "one.csv")


def test_the_help_has_an_example():
    result = CliRunner().invoke(cli, ["select", "--help"])
    assert "sparselin select diabetes.csv --target progression --k 5" in result.output
