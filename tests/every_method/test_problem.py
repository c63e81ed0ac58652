"""The border: every public method refuses the same bad input with the same clear words."""

import inspect
import itertools
import warnings

import methods
import numpy as np
import pytest
import scipy.sparse
from peak_memory import peak_memory
from refusals import refuses

import sparselin as sl
import sparselin.problem.memory
from sparselin import Problem
from sparselin.linalg.gathered import correlate_rows
from sparselin.spectral import GeneralizedRank

X, Y = np.arange(12.0).reshape(4, 3) ** 2, np.array([1.0, -2.0, 3.0, 1.0])

NEEDED = {"k": 2, "lam": 1.0, "eps": 0.1, "regularizer": GeneralizedRank(0.5), "S": [0], "U": [0]}
UNSCALED = ("babel", "coherence", "exact_recovery_coefficient", "sparse_eigenvalues")


def parameters(name):
    return inspect.signature(getattr(sl, name)).parameters


def needs(name):
    """Return the arguments without a default, but for the data."""
    takes = parameters(name).values()
    return {p.name for p in takes if p.default is p.empty and p.kind is not p.VAR_KEYWORD} - set("XDyvY")


# but for those that need a path, and those whose y are labels or counts of a loss
PUBLIC = {row.name for row in methods.METHODS.values()}
FUNCTIONS = sorted(name for name in PUBLIC if needs(name) <= set(NEEDED))
ON_VECTORS = [name for name in FUNCTIONS if name != "batch_omp"]


def call(name, X, y, **options):
    """Call a public method on X and, if it takes them, y or two signals, with values for what it needs."""
    takes = parameters(name)
    data = [X]
    if "Y" in takes:
        data.append(np.column_stack([y, y]))
    elif {"y", "v"} & set(takes):
        data.append(y)
    return getattr(sl, name)(*data, **{key: NEEDED[key] for key in needs(name)} | options)


def with_entry(value, dtype=float):
    bad = X.astype(dtype)
    bad[1, 2] = value
    return bad


BAD_DATA = [
    (with_entry(np.nan), Y, ValueError, r"X must be finite; got 1 NaN or infinite.*\(1, 2\)"),
    (with_entry(np.inf), Y, ValueError, "X must be finite"),
    (with_entry(-np.inf), Y, ValueError, "X must be finite"),
    (X.astype(str), Y, TypeError, "X must hold real numbers"),
    (X.astype(object), Y, TypeError, "X must hold real numbers.*object"),
    (X[0], Y, ValueError, r"X must be a matrix.*1 dimension"),
    (X[None], Y, ValueError, r"X must be a matrix.*3 dimension"),
    (X[:, :0], Y, ValueError, r"at least one row and one column.*\(4, 0\)"),
    (X[:0], Y[:0], ValueError, r"at least one row and one column.*\(0, 3\)"),
    ([], [], ValueError, "X must be a matrix"),
    ([[1.0, 2.0], [3.0]], Y[:2], ValueError, "X must be a rectangular array"),
    (X, Y[:3], ValueError, "y must have 4 entries.*got 3"),
    (X, Y[:, None], ValueError, r"y must be a vector.*\(4, 1\).*ravel"),
    (X, np.r_[Y[:3], np.nan], ValueError, "y must be finite"),
    (X, list("abcd"), TypeError, "y must hold real numbers"),
    (X * 1e300, Y, ValueError, "over- or underflows"),
    (X * 1e-300, Y, ValueError, "over- or underflows"),
    (np.float32(X) * np.float32(2.0**66), Y, ValueError, "over- or underflows"),
    (scipy.sparse.csr_matrix(with_entry(np.nan)), Y, ValueError, r"X must be finite; entry \(1, 2\)"),
    (np.ma.masked_greater(X, 50), Y, ValueError, "X must have no masked entries"),
    ({"a": X[:, 0], "b": X[:, 1]}, Y, TypeError, r"got dtype object\. Pass pandas\.DataFrame\(X\)"),
    (X.view([("a", float), ("b", float), ("c", float)])[:, 0], Y, TypeError, r"Pass pandas\.DataFrame\(X\)"),
]


COMPLEX_DATA = [
    (X.astype(complex), Y, TypeError, "X must hold real numbers.*complex128. Only omp, ols and batch_omp"),
    (X, Y.astype(complex), TypeError, "y must hold real numbers"),
    (scipy.sparse.csr_matrix(X.astype(complex)), Y, TypeError, "X must hold real numbers"),
]


@pytest.mark.parametrize("name", [name for name in ON_VECTORS if name not in ("omp", "ols")])
@pytest.mark.parametrize(("design", "response", "error", "words"), COMPLEX_DATA)
def test_complex_data(name, design, response, error, words):
    """`omp`, `ols` and `batch_omp` take them: test_complex.py."""
    test_bad_data(name, design, response, error, words)


@pytest.mark.parametrize("name", ON_VECTORS)
@pytest.mark.parametrize(("design", "response", "error", "words"), BAD_DATA)
def test_bad_data(name, design, response, error, words):
    if words.startswith("y must") and not {"y", "v"} & set(parameters(name)):
        return
    if "underflows" in words and name in UNSCALED:  # which scale X, or say that they do not
        return
    refuses(words.replace("y must", "[yv] must"), call, name, design, response, error=error)


RANDOM = [name for name in PUBLIC | {"knockoffs"} if "rng" in parameters(name) and name != "inference"]


@pytest.mark.parametrize("name", sorted(RANDOM))
@pytest.mark.parametrize("seed", ["a", -1, 1.5])
def test_bad_seed(name, seed, rng):
    data, response = rng.normal(size=(12, 3)), rng.normal(size=12)
    refuses("rng must be a seed, an integer ≥ 0.*got", call, name, data, response, rng=seed, error=TypeError)


K = [
    (0, ValueError, r"{} must be (in 1\.\.3|at least 1); got 0"),
    (-1, ValueError, "{} must be"),
    (4, ValueError, r"{} must be in 1\.\.3; got 4"),
    (1.5, TypeError, "{} must be an integer"),
    ("2", TypeError, "{} must be an integer"),
    (True, TypeError, "{} must be an integer"),
]
COLUMNS = [
    ([1, 1], ValueError, "{} must not repeat an index"),
    ([3], ValueError, r"{} must hold column indices in 0\.\.2; got 3"),
    ([-1], ValueError, "{} must hold column indices .*got -1"),
    ([0.5], TypeError, "{} must be a sequence of integer column indices"),
    (1, TypeError, "{} must be a sequence of integer column indices"),
    ("a", TypeError, "{} must be a sequence of integer column indices"),
    ([True, False], TypeError, "{} .*np.flatnonzero converts a mask"),
]
LEVELS = [
    (-1.0, ValueError, "{} must be nonnegative"),
    (np.nan, ValueError, "{} must be finite"),
    (np.inf, ValueError, "{} must be finite"),
    ("1", TypeError, "{} must be a real number"),
    ([1.0, 2.0], TypeError, "{} must be a real number"),
    (1j, TypeError, "{} must be a real number"),
    (True, TypeError, "{} must be a real number; got"),
    (np.False_, TypeError, "{} must be a real number; got"),
]
COUNTS = [
    (-1, ValueError, "{} must be at least [01]; got -1"),
    (0, ValueError, "{} must be at least 1; got 0"),
    (1.5, TypeError, "{} must be an integer"),
    (True, TypeError, "{} must be an integer"),
]
WEIGHTS = [
    (-np.ones(4), ValueError, "{} must be nonnegative"),
    (np.ones(3), ValueError, "{} must have .*4"),
    (1j * np.ones(4), TypeError, "{} must hold real"),
]
WRONG = {
    "k": K,
    "sample_weight": WEIGHTS,
    **dict.fromkeys(("forced", "unpenalized", "within", "start", "S", "U"), COLUMNS),
    **dict.fromkeys(("lam", "lam_min", "tol", "residual", "nu", "eps", "ridge", "gap", "time_limit"), LEVELS),
    **dict.fromkeys(
        ("max_iter", "max_steps", "max_events", "max_sets", "node_limit", "pair_limit", "pairs"), COUNTS
    ),
}
# values that mean something there: sizes above d, no nodes, a level for each signal
RIGHT = {
    **dict.fromkeys([("babel", "k"), ("sparse_eigenvalues", "k"), ("submodularity_ratio", "k")], "4"),
    **dict.fromkeys([("batch_omp", "tol"), ("batch_omp", "residual")], "[1.0, 2.0]"),
    ("best_subset", "node_limit"): "0",
}


@pytest.mark.parametrize(
    ("name", "option"),
    [(name, option) for name in FUNCTIONS for option in parameters(name) if option in WRONG],
)
def test_bad_options(name, option):
    for value, error, words in WRONG[option]:
        if RIGHT.get((name, option)) != str(value):
            refuses("^" + words.format(option), call, name, X, Y, error=error, **{option: value})


@pytest.mark.parametrize("name", [name for name in FUNCTIONS if {"k", "forced"} <= set(parameters(name))])
def test_more_forced_than_k(name):
    if name != "submodularity_ratio":  # its k is that of the others
        words = "forced features count in k: got 3 forced features and k=2"
        refuses(words, call, name, X, Y, k=2, forced=[0, 1, 2])


def test_what_k_and_tol_are_compared_with():
    refuses(r"k must be in 1\.\.3; got 7: X has 3 columns", sl.omp, X, Y, 7)
    words = r"tol must be in 0\.\.1: it is relative to {}; got 60\.0"
    hint = r"\. For an absolute bound, pass residual=60\.0"
    for call in (
        lambda: sl.omp(X, Y, 2, tol=60.0),
        lambda: sl.ols(X, Y, 2, tol=60.0),
        lambda: sl.omp(X, Y * 1j, 2, tol=60.0),
        lambda: sl.batch_omp(X, Y[:, None], 2, tol=60.0),
        lambda: sl.batch_omp(X, np.c_[Y, Y], 2, tol=[0.5, 60.0]),
    ):
        refuses(words.format("‖y‖") + hint, call)
    with pytest.raises(ValueError, match=words.format("the deviance without features") + "$"):
        sl.generalized_omp(X, np.abs(Y), 2, loss="poisson", intercept=True, tol=60.0)
    assert len(sl.omp(X, Y, 2, tol=1)) == len(sl.omp(X, 0 * Y, 2, tol=0.5)) == 0


@pytest.mark.parametrize("name", [name for name in FUNCTIONS if "y" in parameters(name)])
def test_a_missing_y_is_named(name):
    needed = {key: NEEDED[key] for key in needs(name)}
    refuses("y is missing", getattr(sl, name), X, None, error=TypeError, **needed)


def test_a_problem_stands_for_the_data_once():
    problem = Problem(X, Y)
    for path in (sl.omp(problem, 2), sl.omp(problem, None, 2), sl.omp(problem, k=2)):
        assert path.support.tolist() == sl.omp(X, Y, 2).support.tolist()
    refuses("holds its own y", sl.first_entry, problem, Y, error=TypeError)
    refuses("sample_weight must be passed with the data", sl.omp, problem, 2, sample_weight=np.ones(4))


NO_GRAM = [
    ([[1.0, 2.0]], [1.0], 1.0, "square"),
    ([[1.0, 2.0], [0.0, 1.0]], [1.0, 1.0], 1.0, "symmetric"),
    ([[1.0, 2.0], [2.0, 1.0]], [1.0, 1.0], 9.0, "positive semidefinite"),
    ([[1.0, 1.0], [1.0, 1.0]], [1.0, 2.0], 9.0, "range of G"),
    ([[1.0, 0.0], [0.0, 1.0]], [1.0, 1.0], 1.0, "smaller than G and Xty imply"),
    ([[1.0, 0.0], [0.0, 1.0]], [1.0, 1.0], -1.0, "yty"),
]


class TestGram:
    def test_it_reproduces_what_it_was_given(self, rng):
        A = rng.normal(size=(30, 8)) * 10.0 ** rng.integers(-6, 6, 8)
        A = np.c_[A, A[:, 0] - A[:, 1], np.zeros(30)]
        y = rng.normal(size=30)
        problem = Problem.from_gram(A.T @ A, A.T @ y, y @ y)
        scale = np.linalg.norm(A, axis=0)
        outer = np.outer(scale, scale) + (np.outer(scale, scale) == 0)
        assert np.abs((problem.X.T @ problem.X - A.T @ A) / outer).max() <= 1e-14
        assert problem.y_norm == pytest.approx(np.linalg.norm(y), rel=1e-14)
        assert np.abs(problem.correlate(problem.y) - A.T @ y).max() <= 1e-12 * scale.max() * problem.y_norm

    @pytest.mark.parametrize(("G", "b", "square", "words"), NO_GRAM)
    def test_what_is_no_gram_problem_is_refused(self, G, b, square, words):
        refuses(words, Problem.from_gram, G, b, square)


def test_no_warnings_on_ordinary_data(rng):
    with warnings.catch_warnings(action="error"):
        for name in FUNCTIONS:
            call(name, rng.normal(size=(6, 9)), rng.normal(size=6))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize(("n", "d"), [(1, 5), (7, 40), (8, 4097), (20, 9000), (61, 30)])
def test_products_of_few_rows(n, d, order, dtype):
    """Our kernels multiply up to ten rows, BLAS more; strips, remainders and odd numbers are tried."""
    rng = np.random.default_rng(n)
    X = rng.normal(size=(n, d)).astype(dtype, order=order)
    problem = Problem(X, np.ones(n))
    for p in range(1, 13):
        V = rng.normal(size=(p, n)).astype(dtype)
        for count in (1, 2):
            out = np.full((p, d), np.nan, dtype)
            correlate_rows(problem, V, out, count)
            bound = 4 * n * np.finfo(dtype).eps * np.abs(V) @ np.abs(X)
            assert np.all(np.abs(out - V.astype(float) @ X) <= bound)


class TestFrames:
    def test_columns_are_taken_by_position(self, rng):
        pandas = pytest.importorskip("pandas")
        data, y = rng.normal(size=(30, 6)), rng.normal(size=30)
        expected = sl.omp(data, y, 6).support.tolist()
        for names in (
            ["a", "b", "a", "c", "a", "b"],
            pandas.MultiIndex.from_tuples([("a", 1), ("a", 1), ("a", 2), ("b", 1), ("b", 1), ("a", 1)]),
            [0, 0, 1, 1, 2, 2],
        ):
            frame = pandas.DataFrame(data, columns=names)
            assert Problem(frame, y).X.tolist() == data.tolist()
            assert sl.omp(frame, y, 6).support.tolist() == expected

    def test_a_bad_column_is_named(self):
        pandas = pytest.importorskip("pandas")
        frame = pandas.DataFrame([[1.0, 2.0, "x"], [3.0, 4.0, "y"]], columns=["a", "a", "town"])
        refuses(r"X\['town'\] must hold real numbers", Problem, frame, [1.0, 2.0], error=TypeError)
        frame.columns = pandas.MultiIndex.from_tuples([("a", 1), ("a", 1), ("a", "town")])
        refuses(r"X\[\('a', 'town'\)\] must hold real numbers", Problem, frame, [1.0, 2.0], error=TypeError)

    def test_integer_labels_are_not_taken_for_positions(self, rng):
        pandas = pytest.importorskip("pandas")
        data, y = rng.normal(size=(30, 6)), rng.normal(size=30)
        frame = pandas.DataFrame(data, columns=[0, 1, 5, 3, 7, 2])
        for call in (
            lambda forced: sl.omp(frame, y, 3, forced=forced),
            lambda forced: sl.omp(Problem(frame, y), 3, forced=forced),
            lambda forced: sl.omp(frame, y * 1j, 3, forced=forced),
            lambda forced: sl.batch_omp(frame, y[:, None], 3, forced=forced),
            lambda forced: sl.lasso_path(frame, y, forced=forced),
            lambda forced: sl.explain(frame, y, sl.omp(frame, y, 3), *forced),
        ):
            for j, at in ((2, 5), (5, 2), (7, 4)):
                words = f"has {j}, and columns are counted by position, but {j} is the label of column {at}"
                refuses(words, call, [j])
            for j in (0, 1, 3, 4):  # 4 is no label
                call([j])
        named = Problem(frame, y, names=[*"abcdef"])
        assert sl.omp(named, 3, forced=[2]).support[0] == 2
        assert sl.omp(frame.to_numpy(), y, 3, forced=[2]).support[0] == 2
        assert sl.omp(frame.rename(columns=str), y, 3, forced=["2"]).support[0] == 5

    def test_names_that_do_not_tell_columns_apart(self, rng):
        pandas = pytest.importorskip("pandas")
        data, y = rng.normal(size=(30, 3)), rng.normal(size=30)
        with pytest.raises(ValueError, match=r"forced has 'a', the name of 2 columns\. Use indices"):
            sl.omp(pandas.DataFrame(data, columns=["a", "b", "a"]), y, 2, forced=["a"])
        words = r"got \['a'\]\. X has no names\. Pass a frame whose labels are all"
        refuses(words, sl.omp, pandas.DataFrame(data), y, 2, forced=["a"], error=TypeError)

    def test_labels_of_which_some_are_no_names(self, rng):
        """Labels that are partly no strings are ignored, as in scikit-learn; other names can be given."""
        pandas = pytest.importorskip("pandas")
        data, y = rng.normal(size=(30, 3)), rng.normal(size=30)
        frame, path = pandas.DataFrame(data, columns=["a", 1, 2.5]), sl.omp(data, y, 2)
        words = r"The labels of X must be strings for all columns.*; got 'a' and 1.*rename\(columns=str"
        for call in (
            lambda: Problem(frame, y),
            lambda: Problem.from_gram(frame.T @ frame, data.T @ y, y @ y),
            lambda: sl.omp(frame, y * 1j, 2),
            lambda: sl.batch_omp(frame, y[:, None], 2),
            lambda: path.predict(frame),
        ):
            refuses(words, call, error=TypeError)
        assert Problem(frame, y, names=[*"abc"]).names == ("a", "b", "c")
        assert Problem(frame.rename(columns=str), y).names == ("a", "1", "2.5")

    @pytest.mark.parametrize("one", ["bmi", 1])
    def test_one_column_is_a_list_of_one(self, one):
        with pytest.raises(TypeError, match=rf"forced must be a sequence .*Pass a list: \[{one!r}\]"):
            sl.omp(Problem(X, Y, names=["age", "bmi", "s1"]), 2, forced=one)
        refuses(r"np\.flatnonzero", sl.omp, X, Y, 2, forced=1.5, error=TypeError)

    def test_rows_that_X_does_not_have(self, rng):
        """Labels that repeat are refused, except the labels that pandas makes when there are none."""
        pandas = pytest.importorskip("pandas")
        data, y = pandas.DataFrame(rng.normal(size=(4, 2)), index=[*"abcd"]), rng.normal(size=4)
        for labels, first, row in ((["a", "b", "c", "e"], "e", 3), (["a", "z", "z", "b"], "z", 1)):
            words = rf"has the label '?{first}'? in row {row}, which X does not have.*align"
            refuses("y " + words, Problem, data, pandas.Series(y, labels))
            refuses("sample_weight " + words, Problem, data, y, sample_weight=pandas.Series(y**2, labels))
        for frame in (data, data.set_axis([2, 3, 4, 5], axis=0)):
            assert Problem(frame, pandas.Series(y)).y.tolist() == y.tolist()
            assert Problem(frame.reset_index(drop=True), pandas.Series(y, frame.index)).n == 4
        refuses("another order", Problem, data.set_axis([2, 0, 1, 3], axis=0), pandas.Series(y))

    def test_hints_for_frames(self, rng):
        pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
        y = rng.normal(size=4)
        for frame in (pandas.DataFrame({"price": y}), polars.DataFrame({"price": y})):
            refuses(r"y must be a vector.*; pass y\['price'\] for a single column", Problem, X, frame)
        table = polars.DataFrame({"a": [1.0, None, 2.0, 3.0], "b": y})
        refuses(r"column 'a' \(1\).*fillna.*pandas.*fill_null.*polars", Problem, table, y)
        with pytest.raises(TypeError, match=r"X must be .* not a LazyFrame. Pass X\.collect\(\)"):
            Problem(table.lazy(), y)


class TestSparse:
    @pytest.mark.parametrize("method", [name for name, row in methods.METHODS.items() if not row.many])
    def test_repeated_unsorted_and_stored_zero_entries(self, method, rng):
        """The same matrix in six forms; entries are dyadic, so that sums of repeated ones are exact."""
        dense = rng.integers(-8, 9, (12, 7)) / 4.0 * (rng.random((12, 7)) < 0.5)
        dense[:, 3] = 0
        y = rng.integers(-8, 9, 12) / 2.0
        row, column = (index.ravel() for index in np.indices(dense.shape))
        parts = np.array([0.25 * dense, 0.75 * dense]).reshape(2, -1)
        order = rng.permutation(2 * dense.size)
        triplets = (parts.ravel()[order], (np.tile(row, 2)[order], np.tile(column, 2)[order]))
        coo = scipy.sparse.coo_array(triplets, dense.shape)
        by_column = np.argsort(triplets[1][1], kind="stable")
        pointer = np.arange(0, 2 * dense.size + 1, 2 * len(dense))
        entries = triplets[0][by_column], triplets[1][0][by_column], pointer
        csc = scipy.sparse.csc_array(entries, dense.shape)
        by_row = np.argsort(triplets[1][0], kind="stable")
        pointer = np.arange(0, 2 * dense.size + 1, 2 * dense.shape[1])
        csr = scipy.sparse.csr_array((triplets[0][by_row], triplets[1][1][by_row], pointer), dense.shape)
        assert not csc.has_canonical_format
        call = methods.METHODS[method].call
        expected = call(scipy.sparse.csc_array(dense), y, methods.Levels())
        before = csc.data.copy(), csc.indices.copy(), csc.indptr.copy()
        for form in (coo, csc, csr, scipy.sparse.coo_matrix(coo), scipy.sparse.csc_matrix(csc), csr.tolil()):
            assert np.all(call(form, y, methods.Levels()) == expected)
        assert all(map(np.array_equal, before, (csc.data, csc.indices, csc.indptr)))

    def test_empty_columns_cost_nothing(self, rng):
        """20000 × 10⁶, 10,000 columns not empty: 160 GB if the others were made dense."""
        rows, columns = rng.integers(20_000, size=50_000), 100 * rng.integers(10_000, size=50_000)
        X = scipy.sparse.csr_array((rng.normal(size=50_000), (rows, columns)), (20_000, 10**6))
        y = rng.normal(size=20_000)
        assert peak_memory(Problem, X, y) < 1e8
        occupied = np.unique(columns)
        picks = sl.omp(X[:, occupied].toarray(), y, 3).support
        assert sl.omp(Problem(X, y), 3).support.tolist() == occupied[picks].tolist()

    def test_entries_whose_squares_underflow_are_still_seen(self):
        tiny = scipy.sparse.csc_array(np.array([[1e-300, 1.0], [0.0, 1.0]]))
        refuses("column 0 of X has a norm whose square", Problem, tiny, [1.0, 2.0])
        tiny.data[0] = 0.0
        assert Problem(tiny, [1.0, 2.0]).column_norms[0] == 0


DENSE_INSIDE = {
    "sequential_attention": lambda X, y: sl.sequential_attention(X, y, 2),
    "hadamard_descent": lambda X, y: sl.hadamard_descent(X, y, 1.0),
    "best_subset": lambda X, y: sl.best_subset(X, y, 2),
    "certify": lambda X, y: sl.certify(X, y, sl.omp(X, y, 2)),
    "guarantee_bounds": lambda X, y: sl.guarantee_bounds(X, y, 2),
    "submodularity_ratio": lambda X, y: sl.submodularity_ratio(X, y, [0], 2),
    "sparse_eigenvalues": lambda X, y: sl.sparse_eigenvalues(X, 1),
}


@pytest.mark.parametrize("method", DENSE_INSIDE)
def test_what_would_not_fit_into_memory_is_refused_before_it_is_made(method, monkeypatch, rng):
    monkeypatch.setattr("sparselin.problem.memory.available", lambda: 2.0**33)
    n, d = 40_000, 4 * 10**6  # 1.2 TiB dense, 116 TiB as a Gram matrix
    where = rng.integers(n, size=300_000), rng.integers(d, size=300_000)
    X = scipy.sparse.csc_array((rng.normal(size=300_000), where), (n, d))
    with pytest.raises(MemoryError, match=r"X .*GiB.*quarter of the memory.*X\[:, "):
        DENSE_INSIDE[method](X, rng.normal(size=n))


def test_the_memory_of_this_machine_is_known():
    assert sparselin.problem.memory.available() > 2**28


def test_a_dense_design_whose_gram_matrix_would_not_fit_is_refused(monkeypatch, rng):
    monkeypatch.setattr("sparselin.problem.memory.available", lambda: 1e6)
    X = rng.normal(size=(3, 500))
    for call in (lambda: sl.sparse_eigenvalues(X, 2), lambda: sl.best_subset(X, X[:, 0], 4)):
        refuses("500, 500", call, error=MemoryError)


@pytest.mark.parametrize("count", [2**63, 10**30])
def test_counts_beyond_64_bits_are_refused(count):
    for name, call in {
        "max_steps": lambda: sl.lasso_path(X, Y, max_steps=count),
        "max_iter": lambda: sl.hadamard_descent(X, Y, 1.0, max_iter=count),
        "node_limit": lambda: sl.best_subset(X, Y, 2, node_limit=count),
        "pair_limit": lambda: sl.submodularity_ratio(X, Y, [0], 2, pair_limit=count),
        "k": lambda: sl.sparse_eigenvalues(X, count),
    }.items():
        refuses(rf"{name} must be at least \d and below 2\*\*63; got {count}", call)


def test_a_problem_is_frozen():
    X, y = np.eye(3), np.ones(3)
    for problem in (Problem(X, y), Problem.from_gram(X, y, 3.0)):
        for name in ("X", "y", "kind", "eps", "column_norms", "n"):
            refuses(f"cannot be changed.*{name}", setattr, problem, name, None, error=AttributeError)


SCALES = {"y": (1, 1e307), "X": (1e307, 1), "both": (1e160, 1e160), "small": (1e-200, 1)}


@pytest.mark.parametrize("form", [np.ascontiguousarray, np.asfortranarray, scipy.sparse.csc_array])
@pytest.mark.parametrize(("of_x", "of_y"), SCALES.values(), ids=SCALES)
@pytest.mark.parametrize("weights", [None, np.arange(60.0)], ids=["equal", "weighted"])
def test_data_out_of_range_are_refused_without_warnings(form, of_x, of_y, weights):
    """Only an error, and no overflow warning from NumPy in front of it; rng 0."""
    rng = np.random.default_rng(0)
    X, y = form(rng.standard_normal((60, 5)) * of_x), rng.standard_normal(60) * of_y
    for options in itertools.product([False, True], repeat=2):
        intercept, standardize = options
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with pytest.raises(ValueError, match=r"over- or underflows|must be finite"):
                sl.Problem(X, y, intercept=intercept, standardize=standardize, sample_weight=weights)
