"""Results as users see them: a line, a table, a frame, equality, names, predictions."""

import copy
import dataclasses
import html.parser
import pickle
import sys

import numpy as np
import pytest
from calls import CALLS, EPS, FRAME, NAMES, X, Y
from refusals import refuses

import sparselin as sl
from sparselin.results.base import Named, Result
from sparselin.results.display import Column, Table, as_html, as_text, distinct_keys, number

pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")


@pytest.fixture(scope="module", params=CALLS)
def found(request):
    return CALLS[request.param](FRAME)


@pytest.fixture(scope="module", params=CALLS)
def unnamed(request):
    return CALLS[request.param](X)


# the classes of networks, of groups and of cross-validation, which other files test
ELSEWHERE = {
    "AttentionPath",
    "CrossValidation",
    "FeatureRanking",
    "GroupPath",
    "LassoNetPath",
    "MatrixCompletion",
}


def test_every_public_class_of_results_is_here():
    listed = [getattr(sl.results, name) for name in {*sl.results.__all__} - ELSEWHERE]
    public = {thing for thing in listed if thing.__module__.startswith("sparselin.results")}
    assert {type(call(X)) for call in CALLS.values()} >= public - {sl.Status}
    assert all(issubclass(cls, Result) for cls in public - {sl.Status})


def test_repr_is_one_short_line(found):
    line = repr(found)
    assert line.startswith(f"<{type(found).__name__}: ")
    assert line.isprintable()
    assert len(line) < 180
    assert "array(" not in line
    if hasattr(found, "status") and isinstance(found.status, sl.Status):
        assert found.status.name in line


def test_attributes_that_other_packages_have_say_what_to_call(found):
    known = {"plot": r"plots\.show", "summary": r"to_frame\(\)"}
    if hasattr(type(found), "predict"):
        known |= {"resid": r"y - result\.predict", "fittedvalues": r"result\.predict"}
    if hasattr(found, "coef"):
        known["coef_"] = "it is called coef here"
    for name, words in known.items():
        message = f"{type(found).__name__} has no attribute {name}; .*{words}"
        refuses(message, getattr, found, name, error=AttributeError)
    for name in ("nobs_", "_", "_coef_", "__array__"):
        refuses(f"object has no attribute '{name}'", getattr, found, name, error=AttributeError)


def test_an_error_inside_a_property_keeps_its_words(monkeypatch):
    monkeypatch.setattr(sl.results.SelectionPath, "spoiled", property(lambda self: np.no_such), raising=False)
    refuses("no_such", getattr, sl.omp(X, Y, 1), "spoiled", error=AttributeError)


def test_print_is_a_table(found):
    """Title, headings, rows; of more than 24 rows the first and the last twelve, save where it says so."""
    if isinstance(found, sl.results.Explanation):
        assert str(found) == found.sentence
        return
    title, heads, *rest = str(found).splitlines()
    assert f"<{title}>" == repr(found)
    assert len(heads.split()) > 1
    rows = len(found.to_frame())
    whole = isinstance(found, (sl.results.NuChoice, sl.results.GuaranteeBounds))
    if rows > 24 and not whole:
        assert rest[12] == f"… {rows - 24} more rows …"
    shown = rows if whole else min(rows, 25)
    assert all(line.isprintable() for line in rest)
    assert len(rest) >= shown
    if hasattr(found, "status") and isinstance(found.status, sl.Status):
        assert rest[-1] == f"{found.status.name}: {found.status.message}"
    if rows >= 6 and "name" in found.to_frame() and found.to_frame()["name"].isin(NAMES).any():
        assert "a name of a column that is much longer …" in str(found)


class Reader(html.parser.HTMLParser):
    """Rows of cells; every tag that is opened is closed; nothing but a table and blocks of text."""

    def __init__(self, text):
        super().__init__()
        self.open, self.rows, self.blocks = [], [], []
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag, attrs):
        assert tag in ("div", "table", "thead", "tbody", "tr", "th", "td")
        assert {name for name, _ in attrs} <= {"style", "scope", "colspan", "aria-label"}
        assert "color" not in str(attrs)
        assert tag != "th" or dict(attrs)["scope"] in ("row", "col")
        self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        elif tag in ("th", "td"):
            self.rows[-1].append("")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, text):
        if self.open[-1] == "div":
            self.blocks.append(text)
        else:
            self.rows[-1][-1] += text


def test_html_is_the_same_table(found):
    page = Reader(found._repr_html_())
    title, heads, *rest = Result.__str__(found).splitlines()
    assert [title, *page.blocks[1:]] == [page.blocks[0], *rest[len(page.rows) - 1 :]]
    assert " ".join(" ".join(page.rows[0]).split()) == " ".join(heads.split())
    for row, line in zip(page.rows[1:], rest, strict=False):
        cells = [cell if len(cell) <= 40 else cell[:39] + "…" for cell in row]
        assert " ".join(" ".join(cells).split()) == " ".join(line.split())


def test_the_frame_holds_numbers(found):
    by_pandas, by_polars = found.to_frame("pandas"), found.to_frame("polars")
    assert isinstance(by_pandas, pandas.DataFrame)
    assert isinstance(by_polars, polars.DataFrame)
    assert list(by_pandas.columns) == by_polars.columns
    assert len(by_pandas) == len(by_polars)
    words = {
        "name",
        "ties",
        "status",
        "method",
        "quantity",
        "support",
        "hypothesis",
        "unit",
        "holds",
        "algorithm",
    }
    words |= {"rival", "change", "formula", "source", "verdict", "why", "features", "enters", "leaves"}
    for key in by_pandas.columns:
        kind = np.asarray(by_pandas[key]).dtype.kind
        assert (key in words) == (kind not in "biuf"), key
        assert by_polars[key].dtype.is_numeric() == (kind in "iuf")
        assert np.array_equal(by_pandas[key], by_polars[key], equal_nan=kind == "f")


FRAMES = {
    "omp, forced": lambda r: {
        "step": [1, 2, 3], "index": r.support, "forced": [True, False, False], "coefficient": r.coef,
        "lam_star": r.lam_star, "margin": r.margin, "r2": 1 - (r.residual_norm[1:] / r.residual_norm[0]) ** 2,
    },
    "lasso_path": lambda r: {
        "lam": r.knots, "r2": r.r2, "n_active": [*map(len, r.active)], "intercept": r.intercept,
        "高さ": r.coef[:, 2], "x & y": r.coef[:, 5],
    },
    "first_entry": lambda r: {
        "index": r.tied, "name": [NAMES[j] for j in r.tied], "sign": r.signs, "direction": r.direction,
        "active": [j in r.active for j in r.tied],
    },
    "batch_omp": lambda r: {
        "signal": np.arange(40), "n_selected": r.n_selected, "residual_norm": r.residual_norm,
        "status": [s.name for s in r.status],
    },
    "project_dual": lambda r: {
        "index": np.flatnonzero(r.coef), "coefficient": r.coef[r.coef != 0],
        "active": [j in r.active for j in np.flatnonzero(r.coef)],
    },
    "hadamard_descent": lambda r: {
        "index": sorted(range(6), key=lambda j: -abs(r.coef[j])),
        **{key: v[np.argsort(-np.abs(r.coef))] for key, v in
           {"coefficient": r.coef, "weight": r.weights, "w": r.w, "theta": r.theta}.items()},
    },
    "forward_regression": lambda r: {
        "index": r.support, "coefficient": r.coef, "gain": r.gains, "r2": np.cumsum(r.gains),
    },
    "forward_regression, regularized": lambda r: {
        "index": r.support, "gain": r.gains, "value": r.value - np.append(np.cumsum(r.gains[:0:-1])[::-1], 0),
    },
    "best_subset": lambda r: {"index": r.support, "coefficient": r.coef, "r2": np.cumsum(r.gains)},
    "best_subset, ridge": lambda r: {"index": r.support, "coefficient": r.coef, "r2": np.cumsum(r.gains)},
    "gradient_flow": lambda r: {
        "tau": r.tau, "lam": 1 / r.tau, "r_square": r.residual_norm[1:] ** 2, "r2": r.r2[1:],
        "n_active": [len(J) for J in r.supports],
    },
    "gradient_flow, average": lambda r: {"index": np.flatnonzero(r.coef), "coefficient": r.coef[r.coef != 0]},
    "subsets_within": lambda r: {"rank": np.arange(1, len(r) + 1), "value": r.values},
    "choose_nu": lambda r: {"nu": r.tried, "r2": r.r2_tried, "chosen": [nu == r.nu for nu in r.tried]},
    "maximize": lambda r: {"index": r.support, "gain": r.gains, "value": np.cumsum(r.gains)},
    "softmax_penalty": lambda r: {"value": [r.value], "w0": [r.minimizer[0]], "w2": [r.minimizer[2]]},
    "softmax_penalty, many": lambda r: {"value": r.value.ravel(), "w10": r.minimizer[..., 10].ravel()},
    "hier_prox": lambda r: {
        "theta": r.theta, "W_max": np.abs(r.W).max(1), "active": r.theta != 0, "n_clipped": r.n_clipped,
    },
    "group_hier_prox": lambda r: {"theta_norm": np.linalg.norm(r.theta, axis=1)},
    "submodularity_ratio": lambda r: {"lower": [r.lower], "upper": [r.upper], "exact": [r.exact]},
    "sparse_eigenvalues": lambda r: {
        "lower": [r.lambda_min.lower, r.lambda_max.lower, r.condition_number.lower],
        "upper": [r.lambda_min.upper, r.lambda_max.upper, r.condition_number.upper],
    },
    "guarantee_bounds": lambda r: {
        "algorithm": [b.algorithm for b in r.bounds], "formula": [b.formula for b in r.bounds],
        "promised": [b.lower if b.applies else np.nan for b in r.bounds],
        "achieved_lower": [b.achieved.lower for b in r.bounds],
        "achieved_upper": [b.achieved.upper for b in r.bounds], "applies": [b.applies for b in r.bounds],
    },
    "a bound": lambda r: {"hypothesis": ["a < b", "b", "c"], "holds": ["yes", "no", "undecided"]},
    "an interval": lambda r: {"lower": [0.25], "upper": [0.5], "exact": [False], "method": ["by hand"]},
}  # fmt: skip


@pytest.mark.parametrize("name", FRAMES)
def test_columns_of_the_frame(name):
    result = CALLS[name](FRAME)
    frame = result.to_frame()
    for key, values in FRAMES[name](result).items():
        got, expected = np.asarray(frame[key]), np.asarray(values)
        if key in ("r2", "value"):  # sums in another order
            assert got == pytest.approx(expected, rel=1e-12, abs=64 * EPS), key
        else:
            assert np.array_equal(got, expected, equal_nan=expected.dtype.kind == "f"), key


def test_what_stands_below_a_table():
    """The lines below a table state the total of R², the intercept, the units and the status."""
    against, uncentred = "R² = 1 − ‖r‖²/‖y − ȳ‖²", "R² = 1 − ‖r‖²/‖y‖², uncentred: there is no intercept"
    units = "λ refers to the standardized columns; coefficients are in the units of X"
    end = "COMPLETED: completed as requested"
    path, subset = (f(X, Y, 2, intercept=True) for f in (sl.omp, sl.forward_regression))
    for result, notes in (
        (path, [f"intercept {number(path.intercept)}", against, end]),
        (sl.omp(X, Y, 2, standardize=True), [uncentred, units, end]),
        (sl.lasso_path(X, Y, intercept=True, standardize=True), [against, units, end]),
        (subset, [f"intercept {number(subset.intercept)}", against, end]),
        (sl.forward_regression(X, Y, 2), [uncentred, end]),
    ):
        assert str(result).splitlines()[len(result.to_frame()) + 2 :] == notes
    batch = sl.batch_omp(np.eye(3), np.array([[1.0, 0], [2, 1], [0, 0]]), 2)
    ends = "1 COMPLETED, 1 EXACT_FIT"
    assert repr(batch) == f"<BatchSelection: 2 signals, 1.5 of 3 features on average, {ends}>"


def altered(value):
    """Another value of the same type, and the same shape if that is not empty."""
    if isinstance(value, np.ndarray):
        other = value.copy() if value.size else np.zeros(value.ndim * (1,), value.dtype)
        if value.dtype == object:
            other.flat[-1] = next(status for status in sl.Status if status is not value.flat[-1])
        else:
            other.flat[-1] = 1 if other.flat[-1] != 1 else 2
        return other
    if isinstance(value, tuple) and value:
        return (*value[:-1], altered(value[-1]))
    if isinstance(value, (bool, int, float)):
        other = 1 if value != 1 else 2
        return not value if isinstance(value, bool) else other
    return sl.Status.STOPPED if isinstance(value, sl.Status) else "something else"


def arrays(value):
    """All arrays inside, but not those of certificates and saved searches."""
    if isinstance(value, np.ndarray):
        yield value
    parts = value if isinstance(value, tuple) else ()
    if dataclasses.is_dataclass(value):
        parts = [getattr(value, field.name) for field in dataclasses.fields(value) if field.compare]
    for part in parts:
        yield from arrays(part)


def test_equality(found):
    """A copy is equal, by any protocol; a result with one changed field is not, nor is anything else."""
    copies = [pickle.loads(pickle.dumps(found, p)) for p in range(2, pickle.HIGHEST_PROTOCOL + 1)]
    for other in (copy.copy(found), copy.deepcopy(found), *copies):
        assert other == found
        assert all(not array.flags.writeable for array in arrays(other))
    assert all(not array.flags.writeable for array in arrays(found))
    for field in dataclasses.fields(found):
        value = getattr(found, field.name)
        refuses(f"assign to field '{field.name}'", setattr, found, field.name, value, error=AttributeError)
        other = dataclasses.replace(found, **{field.name: altered(value)})
        assert (found != other) == field.compare, field.name
        if isinstance(value, np.ndarray) and value.dtype == np.float64:
            assert found != dataclasses.replace(found, **{field.name: value.astype(np.float32)}), field.name
            assert found != dataclasses.replace(found, **{field.name: value[..., None]}), field.name
    assert found != repr(found)
    refuses("unhashable", hash, found, error=TypeError)


def test_numbers_that_are_not_a_number_are_equal():
    found = sl.sparse_eigenvalues(X[:, :1], 1)
    assert found.coherence != found.coherence
    assert pickle.loads(pickle.dumps(found)) == found
    assert found != dataclasses.replace(found, coherence=0.5)
    assert dataclasses.replace(found, coherence=0.5) != found


def test_a_subclass_is_another_result():
    ratio = sl.submodularity_ratio(X, Y, [0, 1], 2)
    interval = sl.results.Interval(ratio.lower, ratio.upper, ratio.method, rounding=ratio.rounding)
    assert ratio != interval
    assert interval != ratio


# names


def test_names_without_names(unnamed):
    if isinstance(unnamed, Named):
        assert unnamed.names is None
        assert [unnamed.name_of(j) for j in (0, 5)] == ["x0", "x5"]
        frame = unnamed.to_frame()
        if "index" in frame:
            assert frame["name"].tolist() == [f"x{j}" for j in frame["index"]]


def test_names_with_names(found):
    if isinstance(found, Named):
        assert found.names == NAMES
        assert [found.name_of(j) for j in (0, 5)] == ["a<b>", "x & y"]
        frame = found.to_frame()
        if "index" in frame:
            assert frame["name"].tolist() == [NAMES[j] for j in frame["index"]]
    for of, what in (("support", "support_names"), ("tied", "tied_names"), ("active", "active_names")):
        if hasattr(found, what):
            assert getattr(found, what) == tuple(NAMES[j] for j in getattr(found, of))


def test_ties_and_forced_features_are_told(rng):
    Q = np.linalg.qr(rng.normal(size=(9, 8)))[0]
    names = [*"abcdefgh"]
    problem = sl.Problem(Q, Q @ np.array([3.0, 3, 3, 2, 2, 2, 2, 2]), names=names)
    path = sl.omp(problem, 6, forced=["h"])
    frame = path.to_frame()
    assert frame["forced"].tolist() == [True] + [False] * 5
    assert frame["name"].tolist() == ["h", "a", "b", "c", "d", "e"]
    assert frame["ties"].tolist() == ["", "b, c", "c", "", "e, f, g", "f, g"]
    lines = str(path).splitlines()
    assert lines[1].split() == ["step", "name", "forced", "coefficient", "λ*", "margin", "ties", "R²"]
    assert lines[2].split()[1:3] == ["h", "yes"]
    assert "  b, c  " in lines[3]
    assert "forced" not in str(sl.omp(problem, 3))
    path = sl.lasso_path(sl.Problem(Q, Q[:, 0], names=names, intercept=True), forced=["h", "b"])
    assert path.forced.tolist() == [7, 1]
    assert "forced, without penalty: h, b" in str(path).splitlines()
    assert "forced" not in str(sl.lasso_path(problem))
    Z = [[1.0, 1.0, 1.0], [0.0, 1.0, 2.0], [0.0, 0.0, 1.0]]
    entry = sl.first_entry(sl.Problem(Z, [1.0, 0.0, 0.0], names=["a", "b", "c"]))
    assert (entry.tied_names, entry.active_names) == (("a", "b", "c"), ("a",))
    many = sl.omp(sl.Problem(np.eye(8), np.ones(8), names=names), 2)
    assert "7 features" in str(many)
    assert many.to_frame()["ties"][0] == "b, c, d, e, f, g, h"


def test_the_features_of_signals_have_names():
    batch = sl.batch_omp(pandas.DataFrame(np.eye(5), columns=[*"abcde"]), np.diag([3.0, 2, 1, 1, 1]) + 1, 2)
    lines = str(batch).splitlines()
    assert lines[1].split() == ["signal", "features", "selected", "‖r‖", "status"]
    for i, line in enumerate(lines[2:7]):
        first, second = (batch.names[j] for j in batch.support[i])
        assert f"  2  {first}, {second}  " in line
    assert "  4 features" in str(sl.batch_omp(np.eye(5), np.ones((5, 2)), 4))
    assert repr(sl.batch_omp(np.eye(2), np.ones((2, 1)), 1)).startswith("<BatchSelection: 1 signal, 1 of 2")
    assert "selected" not in batch.to_frame()


def test_a_bound_is_found_by_its_name():
    found = sl.guarantee_bounds(X, Y, 2)
    for bound in found.bounds:
        assert found.bound(bound.algorithm, bound.name) == bound
        assert ("no hypotheses: it applies to all data" in str(bound)) == (not bound.hypotheses)
    assert not all(bound.hypotheses for bound in found.bounds)
    refuses(r"no guarantee \('OMP', 'luck'\); the guarantees are \('FR', ", found.bound, "OMP", "luck")


def test_what_enters_a_lasso_path_and_leaves_it():
    """Entries and exits add up to the features that are not zero between two knots."""
    rng, left = np.random.default_rng(1), 0
    for _ in range(20):
        Z = rng.normal(size=(8, 12)) + 2 * rng.normal(size=(8, 1))
        path = sl.lasso_path(Z, rng.normal(size=8))
        table = Reader(path._repr_html_()).rows[1:]
        now = set()
        for i, row in enumerate(table[:-1] if len(table) <= 24 else table[:12]):
            enters, leaves = ({name for name in cell.split(", ") if name} for cell in row[2:4])
            assert not enters & now
            assert leaves <= now
            now, left = (now | enters) - leaves, left + len(leaves)
            middle = path.at((path.knots[i] + path.knots[i + 1]) / 2)
            assert now == {f"x{j}" for j in np.flatnonzero(middle)}
            assert (int(row[0]), int(row[4])) == (i + 1, len(now))
    assert left > 3


def test_the_table_of_a_lasso_path_counts_its_ties():
    tied = sl.lasso_path(np.eye(3), [3.0, 3.0, 1.0])
    assert "ties: at 1 knot several features enter or leave together" in str(tied)
    assert "enter or leave together" not in str(sl.lasso_path(np.eye(3), [3.0, 2.0, 1.0]))


def test_a_fit_without_a_feature_does_not_speak_of_selected_columns():
    path = sl.omp(np.eye(3), np.zeros(3), 2)
    assert (len(path), path.status) == (0, sl.Status.EXACT_FIT)
    assert "selected" not in path.status.message


def test_columns_of_a_path_in_a_frame_do_not_hide_others():
    frame = sl.lasso_path(FRAME, Y, intercept=True).to_frame()
    assert list(frame.columns[:4]) == ["lam", "r2", "n_active", "intercept"]
    path = sl.lasso_path(FRAME.rename(columns={"a<b>": ""}), Y, intercept=True)
    assert np.array_equal(path.to_frame()[""], path.coef[:, 0])
    path = sl.lasso_path(FRAME, Y, intercept=True)
    for j, name in enumerate(NAMES):
        if j in path.features:
            column = frame["r2 (1)" if name == "r2" else name]
            assert np.array_equal(column, path.coef[:, j])
    assert distinct_keys(["a", "a", "a"], []) == ["a", "a (1)", "a (2)"]
    assert distinct_keys(["lam", "a", "a", "a (1)"], ["lam"]) == ["lam (1)", "a", "a (1)", "a (1) (1)"]


def test_lengths():
    path = sl.lasso_path(X, Y)
    assert len(path) == len(path.knots) == path.coef.shape[0]
    assert len(sl.omp(X, Y, 3)) == len(sl.best_subset(X, Y, 3)) == 3
    assert len(sl.batch_omp(X, np.outer(Y, [1, 2]), 3)) == 2
    assert len(sl.omp(X, 0 * Y, 3)) == 0


# tables


def test_a_table_of_awkward_cells():
    """Wide characters take two places, combining ones none; line breaks are escaped; long cells are cut."""
    cells = ["高さ", "e\u0301", "a\tb\n", "x" * 50, "a"]
    values = np.array([1.0, -2.5, np.nan, 12345.678, 0.0])
    columns = Column(None, "word", cells), Column("n", "n", values), Column("k", None, values)
    table = Table(columns, ("<note>",))
    long = "x" * 39 + "…"
    assert as_text("Title", table).splitlines() == [
        "Title",
        "word" + " " * 36 + "       n",
        "高さ" + " " * 36 + "   1.000",
        "e\u0301" + " " * 39 + "  -2.500",
        "a\\tb\\n" + " " * 34 + "       –",
        long + "   12346",
        "a" + " " * 39 + "       0",
        "<note>",
    ]
    page = Reader(as_html("<Title>", table))
    assert page.blocks == ["<Title>", "<note>"]
    assert page.rows[0] == ["word", "n"]
    assert [row[0] for row in page.rows[1:]] == ["高さ", "e\u0301", "a\\tb\\n", "x" * 50, "a"]


def test_long_tables_are_cut_in_the_middle():
    for m, lines in ((24, 24), (25, 25), (1000, 25)):
        table = Table((Column("i", "i", np.arange(m)),))
        shown = as_text("", table).splitlines()[2:]
        assert len(shown) == lines == len(Reader(as_html("", table)).rows) - 1
        assert shown[0].strip() == "0"
        assert shown[-1].strip() == str(m - 1)
        if m > 24:
            assert shown[12] == f"… {m - 24} more rows …"
            assert (shown[11].strip(), shown[13].strip()) == ("11", str(m - 12))


@pytest.mark.parametrize(
    ("x", "text"),
    [(0.0, "0"), (-0.0, "0"), (np.nan, "–"), (np.inf, "inf"), (1.0, "1.000"), (-949.435, "-949.4"),
     (999.96, "1000"), (123456.7, "123457"), (1e7, "1.000e+07"), (0.012345, "0.01235"), (1.2e-7, "1.200e-07"),
     (0.0001, "0.0001000"), (5e-324, "4.941e-324"), (1.7e308, "1.700e+308")],
)  # fmt: skip
def test_numbers_have_four_digits(x, text):
    assert number(x) == text


# the libraries of frames


def test_the_frame_is_of_the_library_that_is_there(monkeypatch):
    path = sl.omp(X, Y, 2)
    both = sys.modules["pandas"], sys.modules["polars"]
    assert isinstance(path.to_frame(), pandas.DataFrame)
    monkeypatch.setitem(sys.modules, "pandas", None)  # as where it is not installed
    assert isinstance(path.to_frame(), polars.DataFrame)
    with pytest.raises(ImportError, match=r"to_frame needs pandas: pip install 'sparselin\[pandas\]'"):
        path.to_frame("pandas")
    monkeypatch.setitem(sys.modules, "polars", None)
    refuses(r"needs pandas or polars: pip install 'sparselin\[pandas\]'", path.to_frame, error=ImportError)
    monkeypatch.setitem(sys.modules, "pandas", both[0])
    monkeypatch.delitem(sys.modules, "polars")
    assert isinstance(path.to_frame(), pandas.DataFrame)
    monkeypatch.setitem(sys.modules, "polars", both[1])
    monkeypatch.delitem(sys.modules, "pandas")  # polars is imported, pandas is not
    assert isinstance(path.to_frame(), polars.DataFrame)
    refuses(r'library must be "pandas", "polars" or None.*dask', path.to_frame, "dask")


@pytest.mark.parametrize("status", sl.Status)
def test_a_status_names_no_value_of_an_option(status):
    """Its methods have different options: the message of one that ends with it is that of all."""
    assert "=" not in status.message
