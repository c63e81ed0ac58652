"""intercept=True, standardize=True and names: as on data centred and scaled by hand, without a copy of X."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse
from oracles import near
from peak_memory import peak_memory
from refusals import refuses

import sparselin as sl
from sparselin import Problem
from sparselin.linalg.elimination import centre
from sparselin.problem.scales import _missing, unit_variance
from sparselin.spectral import SmoothedDifferentialEntropy

ENTROPY = SmoothedDifferentialEntropy(1.0)
SELECTORS = {
    "omp": lambda *data, **how: sl.omp(*data, 6, **how),
    "ols": lambda *data, **how: sl.ols(*data, 6, **how),
    "sequential_lasso": lambda *data, **how: sl.sequential_lasso(*data, 6, **how),
    "sequential_lasso, by omp": lambda *data, **how: sl.sequential_lasso(*data, 6, method="omp", **how),
    "sequential_attention": lambda *data, **how: sl.sequential_attention(*data, 3, **how),
}
SUBSETS = {
    "best_subset": lambda *data, **how: sl.best_subset(*data, 3, **how),
    "forward_regression": lambda *data, **how: sl.forward_regression(*data, 4, **how),
    "forward_regression, regularized": lambda *data, **how: sl.forward_regression(
        *data, 4, regularizer=ENTROPY, nu=0.01, **how
    ),
    "local_search": lambda *data, **how: sl.local_search(*data, regularizer=ENTROPY, nu=0.01, **how),
    "greedy_local_search": lambda *data, **how: sl.greedy_local_search(
        *data, 3, regularizer=ENTROPY, nu=0.01, **how
    ),
    "choose_nu": lambda *data, **how: sl.choose_nu(*data, 3, ENTROPY, **how).selection,
}


class Means:
    """A design with means and lengths of many sizes, and what centring and scaling by hand make of it."""

    def __init__(self, shape, standardize, weighted, offset=30.0, order="C"):
        rng = np.random.default_rng([*shape, standardize, weighted])
        n, d = shape
        X = rng.standard_normal(shape) * rng.uniform(0.1, 10, d) + offset * rng.standard_normal(d)
        self.X = np.asarray(X, order=order)
        self.y = X[:, :5] @ rng.standard_normal(5) + rng.standard_normal(n) + offset
        weight = rng.uniform(0.2, 2, n) if weighted else np.ones(n)
        self.mean, self.y_mean = np.average(X, axis=0, weights=weight), np.average(self.y, weights=weight)
        Z, self.z = X - self.mean, self.y - self.y_mean
        self.scale = np.sqrt(np.average(Z**2, axis=0, weights=weight)) if standardize else np.ones(d)
        self.Z, self.weight = Z / self.scale, weight
        given = {"sample_weight": weight} if weighted else {}
        self.how, self.by_hand = given | {"intercept": True, "standardize": standardize}, given


def cases():
    """The sizes reach every scheme: by the rule, by blocks, and by screening in 16 bits."""
    arrays, every = (np.asarray, np.asfortranarray), (*SELECTORS,)
    for standardize, weighted in itertools.product((False, True), repeat=2):
        yield from ((name, (60, 20), np.asarray, standardize, weighted) for name in every)
        yield from ((name, (40, 90), scipy.sparse.csr_array, standardize, weighted) for name in every[:4])
        yield from ((name, (300, 160), np.asfortranarray, standardize, weighted) for name in every[:4])
        yield from (("omp", (1100, 1000), form, standardize, weighted) for form in arrays if not weighted)


@pytest.mark.parametrize(("method", "shape", "form", "standardize", "weighted"), list(cases()))
def test_selectors_select_as_on_data_centred_and_scaled_by_hand(method, shape, form, standardize, weighted):
    data = Means(shape, standardize, weighted)
    path = SELECTORS[method](form(data.X), data.y, **data.how)
    same = SELECTORS[method](data.Z, data.z, **data.by_hand)
    S = path.support
    assert S.tolist() == same.support.tolist()
    assert path.ties == same.ties
    near(path.lam_star, same.lam_star)
    near(path.margin, same.margin, 1e-7)
    near(path.residual_norm, same.residual_norm)
    near(path.coef_path, same.coef_path / data.scale[S])
    for t in range(len(S) + 1):
        near(path.intercept_path[t], data.y_mean - data.mean[S[:t]] @ path.coef_at(t), 1e-8)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("standardize", [False, True])
@pytest.mark.parametrize("form", [np.asarray, np.asfortranarray, scipy.sparse.csr_array])
@pytest.mark.parametrize("shape", [(60, 20), (40, 150)])
def test_the_lasso_path_as_on_data_centred_and_scaled_by_hand(shape, form, standardize, weighted):
    data = Means(shape, standardize, weighted)
    path = sl.lasso_path(form(data.X), data.y, max_steps=15, **data.how)
    same = sl.lasso_path(data.Z, data.z, max_steps=15, **data.by_hand)
    near(path.knots, same.knots)
    near(path.coef, same.coef / data.scale)
    near(path.intercept, data.y_mean - path.coef @ data.mean, 1e-8)
    residual = data.y[:, None] - data.X @ path.coef.T - path.intercept
    near(path.r2, 1 - data.weight @ residual**2 / (data.weight @ data.z**2), 1e-8)
    lam = 0.7 * path.knots[3] + 0.3 * path.knots[4]
    near(path.at(lam), same.at(lam) / data.scale)
    entry = sl.first_entry(form(data.X), data.y, forced=[2], **data.how)
    usual = sl.first_entry(data.Z, data.z, forced=[2], **data.by_hand)
    assert (entry.tied, entry.active) == (usual.tied, usual.active)
    for name in ("lam_star", "window_lower", "proof_lower", "residual_norm"):
        near(getattr(entry, name), getattr(usual, name), 1e-7)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("standardize", [False, True])
@pytest.mark.parametrize("method", SUBSETS)
def test_subsets_as_on_data_centred_and_scaled_by_hand(method, standardize, weighted):
    data = Means((50, 9), standardize, weighted)
    root = np.sqrt(data.weight)
    found = SUBSETS[method](data.X, data.y, **data.how)
    same = SUBSETS[method](root[:, None] * data.Z, root * data.z)
    assert found.support.tolist() == same.support.tolist()
    near(found.value, same.value)
    near(found.r2, same.r2)
    near(found.coef, same.coef / data.scale[found.support])
    near(found.intercept, data.y_mean - data.mean[found.support] @ found.coef, 1e-8)


@pytest.mark.parametrize("standardize", [False, True])
def test_descent_and_guarantees_as_on_data_centred_and_scaled_by_hand(standardize):
    data = Means((50, 9), standardize, True)
    lam = 0.5 * sl.lambda_star(data.Z, data.z, **data.by_hand)
    descent = sl.hadamard_descent(data.X, data.y, lam, tol=1e-10, **data.how)
    near(descent.coef, sl.lasso_path(data.Z, data.z, **data.by_hand).at(lam) / data.scale, 1e-4)
    near(descent.intercept, data.y_mean - data.mean @ descent.coef)
    for call in (
        lambda *given, **how: sl.guarantee_bounds(*given, 2, **how).best.lower,
        lambda *given, **how: sl.submodularity_ratio(*given, [0, 3], 2, **how).lower,
    ):
        near(call(data.X, data.y, **data.how), call(data.Z, data.z, **data.by_hand), 1e-8)


@pytest.mark.parametrize("offset", [0.0, 1e3, 1e6])
def test_picks_beside_an_intercept_are_proved(offset, rng):
    """Columns of mean 10⁶: a certificate in rational arithmetic, of X with a column of ones."""
    X, y = rng.integers(-9, 10, (20, 8)) + offset, rng.integers(-9, 10, 20) + 7 * offset
    for path in (sl.omp(X, y, 4, intercept=True), sl.sequential_lasso(X, y, 4, forced=[3], intercept=True)):
        certificate = sl.certify(X, y, path)
        assert [step.pick for step in certificate.steps] == path.support[
            len(certificate.forced) - 1 :
        ].tolist()
        assert certificate.forced[0] == 8
        ones = np.column_stack([X, np.ones(20)])
        for data in ((X, y), (Problem(X, y, intercept=True), None), (ones, y)):
            assert certificate.verify(*data, exact=True)
        assert not certificate.verify(np.column_stack([X, np.arange(20)]), y)
    refuses("standardized columns has no certificate", sl.certify, X, y, sl.omp(X, y, 2, standardize=True))
    refuses("its intercept is", sl.certify, Problem(X, y), None, path)


@pytest.mark.parametrize("form", [np.asarray, np.asfortranarray, scipy.sparse.csc_array])
@pytest.mark.parametrize("method", [sl.omp, sl.lasso_path])
def test_an_intercept_takes_no_memory(form, method, rng):
    X, y = form(rng.standard_normal((3000, 900)) + 1), rng.standard_normal(3000)
    how = {"k": 3} if method is sl.omp else {"max_steps": 3}
    for ones in (False, True):  # compiles
        method(X, y, **how, intercept=ones)
    usual, centred = (peak_memory(method, X, y, **how, intercept=ones) for ones in (False, True))
    assert centred < 1.1 * usual


@pytest.mark.parametrize("standardize", [False, True])
def test_float32_stays(standardize):
    data = Means((200, 40), standardize, False)
    X, y = data.X.astype(np.float32), data.y.astype(np.float32)
    path, same = sl.omp(X, y, 5, **data.how), sl.omp(data.Z, data.z, 5)
    assert path.support.tolist() == same.support.tolist()
    for array in (path.coef_path, path.intercept_path, path.lam_star):
        assert array.dtype == np.float32
    near(path.lam_star, same.lam_star, 1e-4)
    lasso = sl.lasso_path(X, y, max_steps=5, **data.how)
    assert {lasso.coef_path.dtype, lasso.intercept.dtype, lasso.r2.dtype} == {np.dtype(np.float32)}


def test_ties_beside_an_intercept(rng):
    """Copies, and columns that differ by a constant, are tied; a constant column is never picked."""
    x, other = rng.integers(-9, 10, (2, 30)).astype(float)
    X, y = np.column_stack([np.full(30, 4.0), other, x + 1000, x, -x]), 3 * x + other + 5
    path = sl.omp(X, y, 2, intercept=True)
    assert (path.support.tolist(), path.ties[0]) == ([2, 1], (2, 3, 4))
    everything = sl.omp(X, rng.standard_normal(30), 5, intercept=True, standardize=True)
    assert (sorted(everything.support.tolist()), everything.status) == ([1, 2], sl.Status.RANK_EXHAUSTED)
    constant = sl.omp(X, np.full(30, 7.0), 2, intercept=True)
    assert (len(constant.support), constant.status) == (0, sl.Status.EXACT_FIT)
    near(constant.intercept, 7.0)


def test_tol_is_relative_to_the_centred_response():
    data = Means((60, 20), False, False, offset=1e4)
    path = sl.omp(data.X, data.y, 20, tol=0.5, intercept=True)
    assert path.status is sl.Status.TOLERANCE
    assert path.residual_norm[-1] <= 0.5 * path.residual_norm[0] < path.residual_norm[-2]
    near(path.residual_norm[0], np.linalg.norm(data.z))


def test_the_callback_sees_the_units_of_the_data():
    data, seen = Means((60, 20), True, False), []
    sl.omp(data.X, data.y, 3, callback=seen.append, **data.how)
    last = sl.omp(data.X, data.y, 3, **data.how)
    assert [len(path.support) for path in seen] == [1, 2, 3]
    near(seen[-1].coef, last.coef)
    near(seen[0].intercept_path, last.intercept_path[:2])
    sl.lasso_path(data.X, data.y, callback=lambda path: seen.append(path) or len(path.knots) > 3, **data.how)
    near(seen[-1].coef, sl.lasso_path(data.X, data.y, **data.how).coef[:4])


# Names


@pytest.fixture(params=["pandas", "polars"])
def frame(request):
    library = pytest.importorskip(request.param)
    X, y = sl.ensembles.sparse_signal(40, 6, rng=0)
    return library.DataFrame(X, **{"columns" if request.param == "pandas" else "schema": list("abcdef")}), y


def test_names_go_in_and_come_out(frame):
    X, y = frame
    array = np.ascontiguousarray(X.to_numpy())
    for call in (
        lambda X, S: sl.omp(X, y, 3, forced=S),
        lambda X, S: sl.ols(X, y, 3, forced=S),
        lambda X, S: sl.sequential_lasso(X, y, 3, forced=S),
        lambda X, S: sl.sequential_attention(X, y, 3, forced=S),
        lambda X, S: sl.lasso_path(X, y, forced=S),
        lambda X, S: sl.lasso_path(X, y, unpenalized=S),
        lambda X, S: sl.first_entry(X, y, forced=S),
        lambda X, S: sl.project_dual(X, y, 0.1, forced=S),
        lambda X, S: sl.hadamard_descent(X, y, 0.1, forced=S),
        lambda X, S: sl.forward_regression(X, y, 3, forced=S),
        lambda X, S: sl.best_subset(X, y, 3, forced=S),
    ):
        named, by_index = call(X, ["e", "b"]), call(array, [4, 1])
        assert (named.names, by_index.names) == (tuple("abcdef"), None)
        for field in ("support", "coef", "active"):
            assert np.all(getattr(named, field, None) == getattr(by_index, field, None))
    assert Problem(array, y, names=list("abcdef")).names == named.names
    assert sl.lambda_star(X, y, forced=["e"]) == sl.lambda_star(array, y, forced=[4])


BAD_NAMES = [
    (["bnmi"], ValueError, "no column 'bnmi'.* Did you mean 'bmi'?"),
    (["q"], ValueError, "no column 'q'.* X has 'age', 'bmi', 'twice', 'twice'"),
    (["twice"], ValueError, "'twice', the name of 2 columns. Use indices"),
    (["bmi", "bmi"], ValueError, "must not repeat"),
    (["bmi", 1], ValueError, "must not repeat"),
    ("bmi", TypeError, "names of columns, or integer column indices; got 'bmi'"),
]


@pytest.mark.parametrize(("forced", "error", "words"), BAD_NAMES)
def test_bad_names(forced, error, words):
    pandas = pytest.importorskip("pandas")
    X = pandas.DataFrame(np.eye(4)[:3], columns=["age", "bmi", "twice", "twice"])
    refuses(words, sl.omp, X, [1.0, 2.0, 3.0], 3, forced=forced, error=error)
    refuses("integer column indices", sl.omp, np.eye(3), [1.0, 2.0, 3.0], 3, forced=["bmi"], error=TypeError)


def test_bad_names_of_columns():
    for names, error, words in (
        (["a"], ValueError, "each of the 2 columns of X; got 1"),
        (["a", "a"], ValueError, "must not repeat a name; got 'a' 2 times"),
        ("ab", TypeError, "sequence of strings"),
        ([1, 2], TypeError, "sequence of strings"),
    ):
        refuses(words, Problem, np.eye(2), [1.0, 2.0], names=names, error=error)


def test_rows_in_another_order_are_refused():
    pandas = pytest.importorskip("pandas")
    X = pandas.DataFrame(np.arange(6.0).reshape(3, 2), index=list("abc"))
    y = pandas.Series([1.0, 2.0, 4.0], index=list("abc"))
    usual = sl.omp(X, y, 1).coef
    for same in (y.to_numpy(), y.set_axis(list("xyz")), y.reset_index(drop=True)):
        assert np.array_equal(sl.omp(X, same, 1).coef, usual)
    refuses(r"y has the labels.*another order.*y\.loc\[X\.index\]", sl.omp, X, y[::-1], 1)
    refuses("sample_weight has the labels", sl.omp, X, y, 1, sample_weight=y[::-1])


def test_missing_entries_are_told_by_name():
    pandas = pytest.importorskip("pandas")
    X = pandas.DataFrame({"age": [1.0, np.nan, 3.0], "bmi": [1.0, 2.0, np.nan], "s": [np.nan, 1.0, np.nan]})
    refuses(r"'age' \(1\), 'bmi' \(1\), 's' \(2\), the first in row 0.*fillna", sl.omp, X, [1.0, 2.0, 3.0], 1)


def test_weights_that_leave_no_data():
    with pytest.raises(ValueError, match="sample_weight must not be zero for every row"):
        sl.omp(np.eye(3), [1.0, 2.0, 3.0], 1, sample_weight=np.zeros(3))


def test_what_enters_with_a_problem():
    problem = Problem(np.eye(3), [1.0, 2.0, 3.0])
    for option in ("intercept", "standardize"):
        refuses(f"{option} must be passed with the data", sl.omp, problem, 1, **{option: True})
    with pytest.raises(ValueError, match=r"another name for forced\. Pass only one"):
        sl.lasso_path(np.eye(3), [1.0, 2.0, 3.0], forced=[0], unpenalized=[1])


@pytest.mark.parametrize("weighted", [False, True])
def test_what_is_eliminated_is_known_to_the_eps_that_it_claims(weighted, rng):
    """Against projections in fractions; with weights the rounding is that of columns ‖X_j‖/‖z_j‖ as long."""
    X = rng.standard_normal((12, 5)) + 10.0 ** np.arange(5) * rng.choice([-1, 1], 5)
    y = rng.standard_normal(12) - 1e3
    weight = rng.uniform(0.2, 2, 12) if weighted else None
    problem = Problem(X, y, sample_weight=weight, intercept=True)
    found = centre(problem)
    exact = np.vectorize(Fraction, otypes=[object])
    t, V = exact(problem.design.ones), exact(np.column_stack([problem.X, problem.y]))
    left = V - np.multiply.outer(t, t @ V) / (t @ t)
    off = np.linalg.norm((exact(np.column_stack([found.X, found.y])) - left).astype(float), axis=0)
    off /= np.linalg.norm(left.astype(float), axis=0)
    assert off.max() <= found.eps
    assert (off.max() > 100 * problem.eps) == weighted
    assert found.eps <= (1 if not weighted else 1e5) * problem.eps


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("standardize", [False, True])
def test_columns_constant_to_rounding_are_never_selected(standardize, weighted, rng):
    X = np.column_stack([np.full(30, 0.1), rng.standard_normal((30, 3)), np.full(30, 1e7)])
    y = X[:, 1] + rng.standard_normal(30)
    weight = rng.uniform(0.2, 2, 30) if weighted else None
    how = {"intercept": True, "standardize": standardize, "sample_weight": weight}
    best = sl.best_subset(X, y, 5, **how)
    assert (sorted(best.support), best.optimal, best.status) == ([1, 2, 3], True, sl.Status.RANK_EXHAUSTED)
    for found in (sl.omp(X, y, 5, **how), sl.ols(X, y, 5, **how), sl.forward_regression(X, y, 5, **how)):
        assert sorted(found.support) == [1, 2, 3]
        assert found.r2 == pytest.approx(best.r2, rel=1e-12)


@pytest.mark.parametrize("seed", [1, 10, 12, 26])
@pytest.mark.parametrize("weighted", [False, True])
def test_best_subset_is_proved_with_an_intercept_and_multiples_of_columns(weighted, seed):
    """Centred multiples are multiples only to rounding, so the columns themselves decide."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((40, 8))
    X = np.column_stack([X, X[:, 2], 2 * X[:, 3], -X[:, 1]])
    y = X[:, :3] @ [1, 2, 3] + 0.3 * rng.standard_normal(40)
    weight = rng.uniform(0.2, 2, 40) if weighted else None
    for standardize in (False, True):
        best = sl.best_subset(X, y, 4, intercept=True, standardize=standardize, sample_weight=weight)
        assert (sorted(best.support[:3]), best.optimal) == ([0, 1, 2], True)


def test_r2_of_a_lasso_path_is_that_of_its_residuals_where_means_are_large(rng):
    X = rng.standard_normal((40, 6)) + 1e7
    y = X[:, :3] @ [1, -2, 3] + rng.standard_normal(40)
    path = sl.lasso_path(X, y, intercept=True)
    Z, z = X - X.mean(0), y - y.mean()
    squares = np.square(z[:, None] - Z[:, path.features] @ path.coef_path.T).sum(0)
    near(1 - path.r2, squares / (z @ z), 1e-7)


def test_sums_of_weights_that_are_not_stored_end_at_the_least_floats():
    weight = np.array([1.0, 1e-310, 5e-324, 3e-320])
    assert _missing(weight, np.array([0, 1, 2]), np.array([0, 0, 1]), 2).tolist() == [3e-320 + 5e-324, 1.0]


@pytest.mark.parametrize("mean", [0.0, 1e4, 1e8])
@pytest.mark.parametrize("stored", [1.0, 0.98, 0.5])
def test_standard_deviations_of_sparse_columns_are_exact_sums(mean, stored, rng):
    """Against fractions: weights of sixteen decades, and columns with few entries that are not stored."""
    X = np.where(rng.random((60, 8)) < stored, mean + rng.standard_normal((60, 8)), 0)
    weight = 10 ** rng.uniform(-8, 8, 60)
    options = {"intercept": True, "standardize": True, "sample_weight": weight}
    scale = sl.Problem(scipy.sparse.csc_array(X), rng.standard_normal(60), **options).design.scale
    t = [Fraction(v) for v in np.sqrt(weight)]
    total = sum(v**2 for v in t)
    for j, x in enumerate(X.T):
        mean_j = sum(v**2 * Fraction(z) for v, z in zip(t, x, strict=True)) / total
        square = sum(v**2 * (Fraction(z) - mean_j) ** 2 for v, z in zip(t, x, strict=True))
        length = math.sqrt(sum(float(v) ** 2 * z**2 for v, z in zip(t, x, strict=True)))
        known = 8 * np.finfo(float).eps * (math.sqrt(60) + length / math.sqrt(square))
        assert scale[j] == pytest.approx(math.sqrt(total / square), rel=known)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_standard_deviations_of_dense_columns_whose_first_rows_mislead(order, dtype, rng):
    """The first rows, which estimate the means, are far from the others, and have hardly any weight."""
    X, weight = rng.normal(size=(403, 5)), rng.uniform(1, 2, 403)
    X[:, 4] = 0.1
    X[:70, :4], weight[:70] = 1e6, 1e-30
    X = np.asarray(X, dtype, order=order)
    scale = unit_variance(X, np.sqrt(weight), True, np.sqrt(weight))
    X, weight = X.astype(np.longdouble), weight.astype(np.longdouble)
    Z = X - weight @ X / weight.sum()
    exact = np.sqrt(weight.sum() / (weight @ Z[:, :4] ** 2))
    np.testing.assert_allclose(scale, [*exact.astype(float), 1], rtol=1e-13)
