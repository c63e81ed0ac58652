"""`sparselin select`: tables of data in; features, their number and what to beware of out."""

import csv
import dataclasses
import gzip
import html
import html.parser
import json
import math

import newcomer
import numpy as np
import pytest
from commands import invoke
from refusals import interrupt
from scipy.stats import chi2
from selected import GOOD, run
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import KFold

import sparselin as sl
from sparselin import plots
from sparselin.estimators import _folds
from sparselin.results import Status
from sparselin.studies.common.folder import table_of_report
from sparselin.studies.select import findings, words
from sparselin.studies.select.data import read
from sparselin.studies.select.model import METHODS, ModelRequest
from sparselin.studies.select.words import Job

pd = pytest.importorskip("pandas")


@pytest.fixture(scope="module")
def table(frame, tmp_path_factory):
    path = tmp_path_factory.mktemp("table") / "diabetes.csv"
    frame.to_csv(path, index=False)
    return path


def job_of(path, method, k, forced=(), weights=None, target="progression"):
    """A selection from a table, as the command makes it."""
    lists = {"--drop": (), "--forced": forced, "--numbers": (), "--categories": ()}
    data = read(path, target, {"--weights": weights, "--group": None}, lists, "squared", "auto", None)
    request = ModelRequest(
        method=method,
        columns=data.columns,
        impute=data.gaps > 0,
        loss="squared",
        intercept=True,
        standardize=True,
        forced=tuple(forced),
        seed=0,
    )
    given = {} if weights is None else {"select__sample_weight": data.weight}
    return Job(
        source=data,
        request=request,
        k=k,
        given=True,
        model=request.model(k).fit(data.X, data.y, **given),
        checked=None,
    )


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
    listed = " and ".join([", ".join(names[:-1]), names[-1]])
    assert f"{listed} explain {r2[-1]:.1%} of the variance" in output
    with (folder / "selected.csv").open(encoding="utf-8") as file:
        table = list(csv.DictReader(file))
    assert table[0]["feature"] == "(intercept)"
    assert [float(row["coefficient"]) for row in table[1:]] == [row["coefficient"] for row in rows]
    assert float(table[0]["coefficient"]) == found["intercept"]
    assert [row["feature"] for row in table[1:]] == names
    assert list(table[0]) == ["step", "feature", "coefficient", "lam", "margin", "ties", "r2", "stays_up_to"]
    lowers = sl.condition(X, y, path).lowers
    np.testing.assert_allclose([row["stays_up_to"] for row in rows], np.minimum.accumulate(lowers), rtol=1e-6)
    for row in rows:
        assert f"{row['step']} {row['feature']} {row['coefficient']:.5g} {row['lam']:.5g}" in output


def test_the_page_has_table_figures_and_command(chosen):
    _, folder = chosen
    page, found = Page(folder / "index.html"), json.loads((folder / "results.json").read_text())
    assert page.rows[0] == ["step", "feature", "coefficient", "λ*", "margin", "stays selected up to", "R²"]
    model, rest = page.rows[1 : found["k"] + 2], page.rows[found["k"] + 2 :]
    methods, sizes = rest[: 1 + len(found["methods"])], rest[1 + len(found["methods"]) :]
    assert methods[0] == ["method", "features", "error", "std. error"]
    assert [row[0] for row in methods[1:]] == ["omp", "ols", "lasso"]
    assert [row[1] for row in model] == ["intercept", *[row["feature"] for row in found["selected"]]]
    assert sizes[0] == ["features", "R²", "adjusted R²", "Cp", "BIC"]
    assert [row[0] for row in sizes[1:]] == [str(k) for k in range(found["k"] + 1)]
    assert [row[4] for row in sizes[1:]] == [f"{size['bic']:.5g}" for size in found["sizes"]]
    words = "".join(page.texts)
    for part in ("Which features explain progression?", "442 rows, 10 features", "How many features?"):
        assert part in words
    assert found["run"]["command"] in words
    assert "--target progression" in found["run"]["command"]
    figures = {path.stem for path in folder.glob("*.png")}
    assert figures == {"selection", "cross-validation"}
    assert (folder / "index.html").read_text().count("data:image/svg+xml") == 2


def test_cross_validation_by_hand(chosen, frame):
    """Each fold anew: the columns scaled and selected on the others, and there least squares."""
    output, folder = chosen
    found = json.loads((folder / "results.json").read_text())
    whole, target = frame.drop(columns="progression").to_numpy(float), frame["progression"].to_numpy(float)
    squares, mean, of_row = np.empty((11, 442)), np.empty(442), np.empty(442, int)
    for fold, (rows, out) in enumerate(KFold(10, shuffle=True, random_state=0).split(whole)):
        X, y, of_row[out] = whole[rows], target[rows], fold
        Z = (X - X.mean(axis=0)) / X.std(axis=0)
        order, r = [], y - y.mean()
        for _ in range(10):
            order.append(int(np.argmax([0 if j in order else abs(Z[:, j] @ r) for j in range(10)])))
            fit = LinearRegression().fit(Z[:, order], y)
            r = y - fit.predict(Z[:, order])
        mean[out] = squares[0, out] = (target[out] - y.mean()) ** 2
        for t in range(1, 11):
            J = order[:t]
            squares[t, out] = (
                target[out] - LinearRegression().fit(X[:, J], y).predict(whole[out][:, J])
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
@pytest.mark.parametrize("forced", [(), ("age", "s6")])
def test_every_method_on_the_same_terms(method, forced, table, frame):
    """Least squares on the features, in the units of the data."""
    job = job_of(table, method, 4, forced)
    names = [row.feature for row in job.rows]
    assert names[: len(forced)] == list(forced)
    assert len(names) == 4
    coef = np.array([row.coefficient for row in job.rows])
    X, y = frame[[name for name, value in zip(names, coef, strict=True) if value]], frame["progression"]
    fit = LinearRegression().fit(X, y)
    np.testing.assert_allclose(coef[coef != 0], fit.coef_, rtol=1e-9)
    assert job.r2 == pytest.approx(fit.score(X, y), rel=1e-9)
    assert job.intercept == pytest.approx(fit.intercept_, rel=1e-8)
    if method == "nonnegative-omp":
        assert (coef[len(forced) :] >= 0).all()
    lam = [row.lam for row in job.rows]
    assert np.isnan(lam).tolist() == [method == "best-subset" or name in forced for name in names]


def test_the_lasso_tells_its_own_coefficients(table, frame):
    """A solution of the LASSO: the KKT conditions, at the λ where the fifth feature enters."""
    found, fifth = job_of(table, "lasso", 4), job_of(table, "lasso", 5)
    X, y = frame.drop(columns="progression").to_numpy(float), frame["progression"].to_numpy(float)
    S = [frame.columns.get_loc(row.feature) for row in found.rows]
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    beta = np.array([row.shrunken for row in found.rows]) * X.std(axis=0)[S]
    c = Z.T @ (y - y.mean() - Z[:, S] @ beta)
    lam = np.abs(c).max()
    np.testing.assert_allclose(c[S], lam * np.sign(beta), rtol=1e-9)
    assert fifth.rows[-1].lam == pytest.approx(lam, rel=1e-9)
    assert [row.lam for row in fifth.rows[:4]] == [row.lam for row in found.rows]


def test_the_figure_shows_the_errors_and_the_sizes():
    folds = [_folds.Fold(1.0, np.array(errors), 9.0) for errors in ([8, 5, 3, 3.5], [9, 4, 4, 4])]
    found = _folds.summarize(folds, 2)
    ax = plots.cross_validation(found, 5)
    curve = ax.lines[0]
    assert (curve.get_xdata().tolist(), curve.get_ydata().tolist()) == ([2, 3, 4, 5], [8.5, 4.5, 3.5, 3.75])
    marks = {line.get_label(): (line.get_xdata()[0], line.get_ydata()[0]) for line in ax.lines[2:]}
    assert marks == {"least error: 4": (4, 3.5), "selected: 5": (5, 3.75)}
    assert ax.lines[1].get_ydata()[0] == 4.0


def test_weights_count_as_repetitions(frame, tmp_path):
    weight = np.random.default_rng(0).integers(1, 4, 442)
    frame.assign(w=weight.astype(float)).to_csv(tmp_path / "heavy.csv", index=False)
    frame.iloc[np.repeat(np.arange(442), weight)].to_csv(tmp_path / "many.csv", index=False)
    heavy = job_of(tmp_path / "heavy.csv", "omp", 4, weights="w")
    many = job_of(tmp_path / "many.csv", "omp", 4)
    assert [row.feature for row in heavy.rows] == [row.feature for row in many.rows]
    np.testing.assert_allclose([row.r2 for row in heavy.rows], [row.r2 for row in many.rows], rtol=1e-9)
    fold = _folds.Fold(1.0, np.array([1.0]), 1.0)
    heavy_fold = fold._replace(errors=np.array([3.0]), weight=3.0)
    assert _folds.summarize([fold, heavy_fold], 0).error == 2.5


def test_noise_gets_no_features(tmp_path, rng):
    X = rng.standard_normal((80, 5))
    noise = pd.DataFrame(X, columns=list("abcde")).assign(y=rng.standard_normal(80))
    output, folder = run(tmp_path, noise)
    assert "The target y is y, the last column. Use --target to choose another." in output
    assert "No feature is worth including" in output
    found = json.loads((folder / "results.json").read_text())
    assert (found["k"], found["selected"]) == (0, [])
    assert found["intercept"] == pytest.approx(noise["y"].mean(), rel=1e-12)
    assert {path.stem for path in folder.glob("*.png")} == {"cross-validation"}


@pytest.mark.usefixtures("no_pictures")
def test_what_to_beware_of(tmp_path, frame, rng):
    """A copy, a near copy, a constant column, a sum, too many features."""
    strange = frame.assign(
        constant=0.1,
        other=0.7,
        copy=frame["bmi"] * 2 + 1,
        near=frame["bmi"] + 1e-3 * rng.standard_normal(442),
        noise=rng.standard_normal(442),
        sum=frame["s5"] + frame["bp"] + 1e-2 * rng.standard_normal(442),
    )
    options = ("--target=progression", "--k=16", "--folds=0", "--forced=constant,other")
    output, _ = run(tmp_path, strange, *options)
    assert "Step 3: bmi is tied with copy up to rounding" in output
    assert "Constant columns explain nothing: constant and other." in output
    assert "stays up to" not in output
    assert "coefficient of constant" not in output
    assert "copy could replace bmi, because their correlation is 1.0000" in output
    assert "The coefficient of sum is uncertain" in output
    assert "were selected, 15 of 16: every remaining column lies in the span" in output


@pytest.mark.parametrize("method", ["omp", "ols", "sequential-lasso"])
def test_how_far_the_data_may_change(method, table, frame, rng):
    """No change below the distance moves a pick, with forced features and weights; changes of 30 % do."""
    weight = rng.integers(1, 4, 442)
    heavy = frame.assign(w=weight.astype(float))
    heavy.to_csv(table.with_name("heavy.csv"), index=False)
    job = job_of(table.with_name("heavy.csv"), method, 5, ("age",), weights="w")
    stays = np.array([row.stays_up_to for row in job.rows])
    assert np.isnan(stays).tolist() == [True, False, False, False, False]
    assert (np.diff(stays[1:]) <= 0).all()
    lowers = sl.condition(job.X, job.source.y, job.path, sample_weight=weight).lowers
    assert stays[-1] == np.nanmin(lowers)
    whole = np.column_stack([job.X, job.source.y])
    whole -= np.average(whole, axis=0, weights=weight)
    select = {"omp": sl.omp, "ols": sl.ols, "sequential-lasso": sl.sequential_lasso}[method]
    options = {} if method == "ols" else {"standardize": True}
    changed = 0
    for size in [0.99 * stays[-1]] * 5 + [0.3] * 5:
        noise = rng.standard_normal(whole.shape)
        noise *= size * np.sqrt(weight @ whole**2 / (weight @ noise**2))
        moved = select(
            (whole + noise)[:, :-1],
            (whole + noise)[:, -1],
            5,
            forced=[0],
            intercept=True,
            sample_weight=weight,
            **options,
        )
        same = moved.support.tolist() == job.path.support.tolist()
        assert same or size == 0.3
        changed += not same
    assert changed


@pytest.mark.parametrize(
    ("method", "options"),
    [("nonnegative-omp", ()), ("lasso", ()), ("best-subset", ()), ("omp", ("--loss=poisson",))],
)
@pytest.mark.usefixtures("no_pictures")
def test_other_methods_have_no_distances(method, options, tmp_path, frame):
    output, folder = run(tmp_path, frame, "--k=2", "--folds=0", f"--method={method}", *options)
    assert "stays up to" not in output
    assert "Stays selected" not in (folder / "index.html").read_text()
    with (folder / "selected.csv").open(encoding="utf-8") as file:
        assert {row["stays_up_to"] for row in csv.DictReader(file)} == {""}


def test_distances_are_rounded_down():
    assert [words.up_to(size) for size in (0.00999, 0.12999, 1.999e-15, 0.0, math.nan)] == [
        "± 0.99%", "± 12%", "± 1.9e-13%", "± 0%", ""
    ]  # fmt: skip


@pytest.mark.parametrize("method", ["omp", "ols", "sequential-lasso"])
def test_the_runner_up_is_the_second_best(method, table, frame, monkeypatch):
    """The rule is applied at each step to columns projected off S by least squares."""
    monkeypatch.setattr(findings, "CLOSE", 1.0)
    job = job_of(table, method, 7, ("age",))
    X, y = job.X, frame["progression"].to_numpy(float)
    Z = X - X.mean(axis=0)
    Z /= np.linalg.norm(Z, axis=0)
    decisions = findings.close_decisions(job.selector, job.frame, y, None)
    assert [close.step for close in decisions] == list(range(2, 8))
    for close in decisions:
        S = job.path.support[: close.step - 1]
        left = Z - Z[:, S] @ np.linalg.lstsq(Z[:, S], Z)[0]
        size = np.abs(left.T @ y)
        size[S], left[:, S] = 0, 1
        size /= np.linalg.norm(left, axis=0) if method == "ols" else 1.0
        first, second = np.argsort(-size)[:2]
        assert (job.path.support[close.step - 1], close.runner_up) == (first, second)
        assert close.margin == pytest.approx(1 - size[second] / size[first], rel=1e-8)


def test_the_runner_up_among_groups_has_its_name(tmp_path, monkeypatch):
    """The second fit, without the picked group, numbers the other groups anew."""
    monkeypatch.setattr(findings, "CLOSE", 1.0)
    frame = newcomer.table(0)[0].dropna()
    frame.to_csv(tmp_path / "t.csv", index=False)
    job = job_of(tmp_path / "t.csv", "omp", 4, target="score")
    decisions = findings.close_decisions(job.selector, job.frame, job.source.y, None)
    Z = findings.standard_columns(job.X, None, True)
    for t, close in enumerate(decisions):
        S = [j for pick in job.picks[:t] for j in pick]
        y = job.source.y - job.source.y.mean()
        r = y - Z[:, S] @ np.linalg.lstsq(Z[:, S], y)[0] if S else y
        count = np.bincount(job.path.groups)
        c = np.sqrt(np.bincount(job.path.groups, (Z.T @ r) ** 2))
        c /= np.sqrt(chi2(count).isf(1 / (len(count) + 1)))
        first, second = np.argsort(-c)[:2]
        assert job.rows[t].feature == job.name_of(first)
        assert close.runner_up == second


def test_inflation_is_of_the_other_selected_features(table):
    """1/(1 − R²) of each selected feature on the other selected ones, also with constant columns."""
    job = job_of(table, "omp", 8)
    S, factors = job.path.support.tolist(), {}
    for i, j in enumerate(S):
        rest = job.X[:, np.delete(S, i)]
        factors[j] = 1 / (1 - LinearRegression().fit(rest, job.X[:, j]).score(rest, job.X[:, j]))
    X = np.column_stack([job.X, np.tile([0.1, 0.3, 0.7, 0.9, 1.1, 2.3], (442, 1))])
    for some in (S, [*S, *range(10, 16)]):
        Z = findings.standard_columns(X, None, True)
        inflated = dict(findings.uncertain_coefficients(Z, some, some))
        large = {j: factor for j, factor in factors.items() if factor > findings.INFLATED}
        assert inflated == pytest.approx(large, rel=1e-8)
    assert inflated


def test_names_are_shown_as_they_are(tmp_path, rng):
    X = rng.standard_normal((40, 4))
    names = ["weight in kg", "größe, cm", "<b>a&b</b>", "[bold]$x_1$"]
    y = X @ [4, 3, 2, 1] + 0.1 * rng.standard_normal(40)
    table = pd.DataFrame(X, columns=names).assign(**{"<script>alert(1)</script>": y})
    options = ("--k=4", "--folds=3", "--forced", "größe, cm", "--forced", "weight in kg,<b>a&b</b>")
    output, folder = run(tmp_path, table, *options)
    page = Page(folder / "index.html")
    assert [row[1] for row in page.rows[2:6]] == ["größe, cm", "weight in kg", "<b>a&b</b>", "[bold]$x_1$"]
    assert not page.tags & {"b", "script"}
    assert "Which features explain <script>alert(1)</script>?" in "".join(page.texts)
    for name in names:
        assert name in output


RUNS = [
    ("omp", ("--missing=drop-rows", "--weights=w", "--k=3", "--folds=0")),
    ("omp", ("--missing=impute", "--weights=w", "--folds=3", "--drop=near")),
    ("omp", ("--group=site", "--folds=4")),
    ("omp", ("--categories=site", "--folds=4", "--forced=sex")),
    ("omp", ("--target=high", "--drop=progression", "--folds=4", "--weights=w", "--categories=site")),
    ("omp", ("--loss=poisson", "--folds=3", "--no-intercept")),
    ("ols", ("--categories=site", "--folds=3", "--seed=5")),
    ("sequential-attention", ("--k=2", "--folds=0", "--seed=5")),
    ("best-subset", ("--k=3",)),
    ("lasso", ("--no-standardize", "--k=4", "--folds=0", "--forced=age")),
    ("nonnegative-omp", ("--no-intercept", "--k=3", "--folds=0")),
]


@pytest.mark.usefixtures("no_pictures")
@pytest.mark.parametrize(("method", "options"), RUNS)
def test_the_program_on_the_page_does_the_same(tmp_path, frame, method, options, capsys, rng):
    more = {"near": 1.0, "w": rng.integers(0, 3, 120), "site": np.arange(120) % 4, "day": "2024-05-06"}
    table = frame.head(120).assign(**more)
    table["high"] = np.where(table.pop("progression") > 140, "yes", "no")
    table["progression"] = frame["progression"].head(120)
    if "--missing=refuse" not in options:
        table.loc[[3, 7], "bmi"] = np.nan
    table.to_csv(tmp_path / "indexed.csv")
    y = () if options[0].startswith("--target") else ("--target=progression", "--drop=high")
    output, folder = run(tmp_path, None, *y, f"--method={method}", *options, name="indexed.csv")
    page = (folder / "index.html").read_text(encoding="utf-8")
    program = html.unescape(page[page.index(">", page.index("<pre")) + 1 : page.index("</pre>")])
    scope = {}
    exec(program, scope)
    found = json.loads((folder / "results.json").read_text())
    *steps, selector = (step for _, step in scope["model"].steps)
    names = list(scope["model"][:-1].transform(scope["X"]) if steps else scope["X"])
    mine = {row["feature"]: row["coefficient"] for row in found["selected"]}
    for row in found["selected"]:
        mine |= dict(row["parts"])
    theirs = {names[j]: float(selector.coef_.ravel()[j]) for j in selector.selected_}
    assert {name: value for name, value in mine.items() if value == value} == pytest.approx(theirs, rel=1e-9)
    assert found["intercept"] == pytest.approx(float(np.ravel(selector.intercept_)[0]), rel=1e-9)
    if "errors" in scope:
        assert found["cross_validation"]["error"] == pytest.approx(scope["errors"].error.tolist(), rel=1e-9)
        assert found["k"] == scope["errors"].chosen
    assert ("No other 3 features can explain more." in output) == (method == "best-subset")
    assert "day (the same text" in output or "day (dates)" in output
    gaps = 0 if "--missing=impute" in options else 2
    if "--weights=w" in options:  # rows of weight zero count by themselves
        gaps = min(gaps, int(np.count_nonzero(table["w"][[3, 7]])))
    assert found["data"]["incomplete"] == gaps
    capsys.readouterr()


def test_an_interrupt_leaves_no_half_report(tmp_path, monkeypatch):
    monkeypatch.setattr("sparselin.studies.select.run.cross_validate", interrupt)
    output, folder = run(tmp_path, GOOD, "--k=1", exit_code=130)
    assert "Interrupted" in output
    assert not list(folder.iterdir())


@pytest.mark.usefixtures("no_pictures")
def test_an_interrupted_search_shows_the_best_so_far(tmp_path, monkeypatch, frame):
    best = sl.best_subset

    def stopped(problem, k, **options):
        found = best(problem, k, **options)
        return dataclasses.replace(found, status=Status.STOPPED) if k == 4 else found

    monkeypatch.setattr(sl, "best_subset", stopped)
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
        words = invoke("select", table, "--k=1", "--folds=0")
        assert f"Report: report/select/{name}/index.html" in words
    words = invoke("select", "other/one.csv", "--k=1", "--folds=0", exit_code=2)
    assert "report/select/one holds the report about" in words
    assert "choose another folder with --output" in words
    assert table_of_report(tmp_path / "report/select/one") == str(tmp_path / "one.csv")


def test_the_help_has_an_example():
    assert "sparselin select diabetes.csv --target progression --k 5" in invoke("select", "--help")
