"""The optimizers for pysindy: the selections are ours, and pysindy's own tests accept them."""

import itertools
import pickle
import re
import subprocess
import sys
import tarfile
import warnings

import numpy as np
import pytest
from sklearn.base import clone

import sparselin as sl

ps = pytest.importorskip("pysindy", reason="pysindy: make doors")
pytestmark = pytest.mark.door("pysindy")
OLS, OMP, BEST = sl.estimators.OLSOptimizer, sl.estimators.OMPOptimizer, sl.estimators.BestSubsetOptimizer
ALL = pytest.mark.parametrize("cls", [OLS, OMP, BEST])


def design(seed, n=40, d=8):
    """Return terms with lengths from 0.1 to 10, and the derivatives of a noisy sparse model."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * np.geomspace(0.1, 10, d)
    return X, X @ (rng.standard_normal((d, 3)) * (rng.random((d, 3)) < 0.4)) + rng.standard_normal((n, 3))


def refit(X, y, S):
    coef = np.zeros(X.shape[1])
    coef[list(S)] = np.linalg.lstsq(X[:, list(S)], y, rcond=None)[0]
    return coef


@ALL
@pytest.mark.parametrize("normalize", [False, True])
def test_models_of_each_size(cls, normalize):
    """They are least squares on the sets that the function selects for the (normalized) columns."""
    X, Y = design(0)
    model, select = cls([3, 1, 2], None, normalize), {OLS: sl.ols, OMP: sl.omp, BEST: sl.best_subset}[cls]
    assert model.fit(X, Y) is model
    Z = X / np.linalg.norm(X, axis=0) if normalize else X
    for i, t in itertools.product(range(3), range(4)):
        size = min(t, model.k[i])
        S = select(Z, Y[:, i], size).support if size else ()
        np.testing.assert_allclose(model.history_[t][i], refit(X, Y[:, i], S), rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(model.coef_, model.history_[-1])
    np.testing.assert_array_equal(model.ind_, model.coef_ != 0)
    assert (model.complexity, len(model.history_), model.initial_guess) == (6, 4, None)


def test_the_best_subsets_are_those_of_enumeration():
    X, Y = design(1, n=12)
    model = BEST(3, options={"box": np.inf}).fit(X, Y)
    for i, y in enumerate(Y.T):
        for t in (1, 2, 3):
            sets = itertools.combinations(range(8), t)
            least = min(np.sum((y - X @ refit(X, y, S)) ** 2) for S in sets)
            assert np.sum((y - X @ model.history_[t][i]) ** 2) == pytest.approx(least, rel=1e-9)
        assert model.results_[i].optimal
        assert model.results_[i].certificate.verify(model.Theta_, model.targets_[:, i])
        assert not model.results_[i].certificate.verify(model.Theta_, model.targets_[:, i - 1])


@ALL
def test_other_targets_and_their_order_change_nothing(cls):
    for seed in range(25 if cls is BEST else 100):
        X, Y = design(seed, n=30)
        P = np.random.default_rng(seed).permutation(3)
        coef = cls(3).fit(X, Y).coef_
        np.testing.assert_array_equal(cls(3).fit(X, Y[:, P]).coef_, coef[P])
        np.testing.assert_array_equal(cls(3).fit(X, Y[:, 1]).coef_, coef[[1]])


@ALL
def test_a_weight_counts_rows_and_units_do_not_matter(cls):
    X, Y = design(2)
    weight = np.random.default_rng(0).integers(0, 3, len(X))
    repeated = cls(2).fit(np.repeat(X, weight, axis=0), np.repeat(Y, weight, axis=0))
    np.testing.assert_allclose(cls(2).fit(X, Y, weight).coef_, repeated.coef_, rtol=1e-9)
    tiny = cls(2).fit(X, 2.0**-60 * Y)
    np.testing.assert_array_equal(tiny.coef_, 2.0**-60 * cls(2).fit(X, Y).coef_)
    assert tiny.complexity == tiny.ind_.sum() == 6


@ALL
def test_a_short_equation_is_named(cls, capsys):
    X, Y = design(3)
    X[:, 4:], Y[:, 0] = X[:, :4], X[:, 3]
    with pytest.warns(UserWarning, match="equation 2 has 4 of 5 terms, R² .* RANK_EXHAUSTED") as caught:
        model = cls([5, 4, 5], verbose=True).fit(X, Y)
    assert [warning.filename for warning in caught] == [__file__]  # equation 0 is exact with one term
    assert model.ind_.sum(axis=1).tolist() == [1, 4, 4]
    assert [line[:12] for line in capsys.readouterr().out.splitlines()] == [
        f"equation {i} h" for i in range(3)
    ]
    with pytest.warns(UserWarning, match="equation 0 has 2 of 3 terms"):
        assert cls(3).fit(X[:, :2], Y[:, 1]).complexity == 2
    with warnings.catch_warnings(action="error"):
        assert cls(3).fit(X, 0 * Y).complexity == 0


def test_a_search_that_ends_early():
    X, Y = design(4, n=200, d=40)
    with pytest.warns(UserWarning, match="equation 1 has 8 of 8 terms.*MAX_ITER"):
        BEST([1, 8, 1], options={"node_limit": 0}).fit(X, np.stack([X[:, 0], Y[:, 1], X[:, 2]], axis=1))
    with pytest.raises(KeyboardInterrupt):
        BEST(8, options={"callback": lambda state: True}).fit(*design(7, n=50, d=60))


@ALL
def test_errors(cls):
    X, Y = design(5)
    with pytest.raises(ValueError, match="one for each of the 3 equations; got \\[1, 2\\]"):
        cls([1, 2]).fit(X, Y)
    for k, error in ((0, ValueError), (-1, ValueError), (1.5, TypeError)):
        with pytest.raises(error):
            cls(k).fit(X, Y)
    with pytest.raises(TypeError, match=r"constraint_lhs, constraint_rhs: .* no constraints tie"):
        cls(3, constraint_lhs=np.eye(3), constraint_rhs=np.ones(3))
    model = cls(3, options={"forced": [0]}).fit(X, Y)
    assert pickle.loads(pickle.dumps(model)).get_params() == clone(model).get_params()
    assert model.ind_[:, 0].all()


def test_the_solution_with_all_terms_is_not_computed(monkeypatch):
    monkeypatch.setattr(np.linalg, "lstsq", None)
    assert OLS(3).fit(*design(5)).complexity == 9


@ALL
def test_ensembles(cls):
    for how in ({"bagging": True}, {"library_ensemble": True}):
        model = ps.EnsembleOptimizer(cls(3), n_models=5, **how).fit(*design(8, n=200))
        assert np.count_nonzero(model.coef_list, axis=2).tolist() == [[3, 3, 3]] * 5


@ALL
def test_a_weak_library_and_trajectories(cls):
    """Each trajectory is a solution of u_t = 0.1·u_xx with noise."""
    t, x, noise = np.linspace(0, 2, 41), 0.1 * np.arange(63), np.random.default_rng(0)
    waves = [[np.exp(-0.1 * m**2 * t) * np.cos(m * x + p)[:, None] for m in (1, 2, 3)] for p in range(3)]
    u = [(sum(w) + 1e-3 * noise.standard_normal((63, 41)))[..., None] for w in waves]
    grid = np.stack(np.meshgrid(x, t, indexing="ij"), axis=-1)
    inner = ps.PolynomialLibrary(degree=2, include_bias=False)
    np.random.seed(0)  # noqa: NPY002  (pysindy draws subdomains)
    library = ps.WeakPDELibrary(inner, derivative_order=2, spatiotemporal_grid=grid, K=100)
    model = ps.SINDy(optimizer=cls(1, normalize_columns=True), feature_library=library).fit(u[0], t)
    assert model.equations(1) == [" 0.1 x0_11"]
    model.optimizer.k = 4
    assert sl.estimators.choose_terms(model, u, t).equations(1) == [" 0.1 x0_11"]
    assert model.optimizer.k == [1]


@pytest.mark.parametrize("k", [4, [4, 3]])
def test_the_errors_on_held_out_trajectories(k):
    """They are those of pysindy's own score of a model that is fitted to the other trajectories."""
    rng, t = np.random.default_rng(7), [np.linspace(0, 3, n) for n in (80, 100, 120)]
    x = [np.stack([np.cos(s), 2 * np.sin(s)], axis=1) + 0.01 * rng.standard_normal((len(s), 2)) for s in t]
    model = sl.estimators.choose_terms(ps.SINDy(optimizer=OLS(k)), x, t)
    for size in range(1, 5):
        squares = np.zeros(2)
        for j in range(3):
            other = ps.SINDy(optimizer=OLS(np.minimum(size, np.broadcast_to(k, 2))))
            other.fit(x[:j] + x[j + 1 :], t[:j] + t[j + 1 :])
            squares += other.score(x[j], t[j], metric=lambda a, b: np.sum((a - b) ** 2, axis=0))
        found = [cv.error[cv.at(size)] for cv in model.optimizer.cross_validation_]
        np.testing.assert_allclose(found, squares / 300, rtol=1e-9)
    assert model.optimizer.k == [cv.chosen for cv in model.optimizer.cross_validation_] == [1, 1]
    assert model.equations(1) == ["-0.5 x1", " 2.0 x0"]
    for bad in (x[0], x[:1]):
        with pytest.raises(ValueError, match="at least two trajectories"):
            sl.estimators.choose_terms(model, bad, t[0])


# The tests of pysindy with FROLS as a parameter, and empty modules for imports that are not installed.
OF_FROLS = "supports_multiple or test_fit or not_fitted or weight_opt or specific_bad or rs_verbose"
EMPTY = """
import sys, types
class Empty(types.ModuleType):
    def update(*options): pass
    __getattr__ = lambda self, name: Empty if name[0] != "_" else object.__getattribute__(self, name)
for name in "cvxpy gurobipy jax jax.numpy numpyro numpyro.distributions numpyro.infer".split():
    try: __import__(name)
    except ImportError: sys.modules[name] = Empty(name)
"""


@pytest.mark.slow
def test_pysindys_own_tests(tmp_path):
    """The tests of which FROLS is a parameter pass with ours in its place (its `max_iter` is our k)."""
    pip = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--no-binary", ":all:", "-d", tmp_path]
    if subprocess.run([*pip, f"pysindy=={ps.__version__}"], check=False).returncode:
        pytest.skip("pip cannot download the sdist of pysindy")
    with tarfile.open(next(tmp_path.glob("*.tar.gz"))) as file:
        file.extractall(tmp_path, filter="data")
    folder = next(tmp_path.glob("pysindy-*/test"))
    conftest, tests = folder / "conftest.py", folder / "test_optimizers" / "test_optimizers.py"
    conftest.write_text(EMPTY + conftest.read_text(encoding="utf-8"), encoding="utf-8")
    source, passed = tests.read_text(encoding="utf-8"), {}
    for cls in (ps.FROLS, OLS, OMP, BEST):
        name = f"from {cls.__module__} import {cls.__name__} as FROLS"
        text = source.replace("from pysindy.optimizers import FROLS", name)
        k = "max_iter" if cls is ps.FROLS else "k"
        tests.write_text(text.replace("FROLS, dict(max_iter=", f"FROLS, dict({k}="), encoding="utf-8")
        options = ["-m", "pytest", "-q", "-rA", "-p", "no:cacheprovider", "-k", OF_FROLS, tests]
        out = subprocess.run([sys.executable, *options], cwd=folder, capture_output=True, text=True).stdout
        passed[cls] = set(re.findall("^PASSED .*", out.replace(cls.__name__, "FROLS"), re.MULTILINE))
    of_frols = passed.pop(ps.FROLS)
    assert len([line for line in of_frols if "FROLS" in line]) >= 3
    assert all(lines == of_frols for lines in passed.values())
