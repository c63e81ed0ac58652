"""Sparse polynomial chaos: estimators in chaospy, order and errors as in OpenTURNS, the experiment."""

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from oracles import near
from scipy.stats import gmean

import sparselin as sl
from proofs_checks.experiments import chaos
from sparselin.estimators import OLSRegressor
from sparselin.greedy.omp import refit

# The models in chaospy


def drawn(name, p, n, seed=0):
    """Rows U (n, d), the values y and the columns (n, P) of one of the functions, at degree p."""
    f, d, q, _ = chaos.FUNCTIONS[name]
    U = np.random.default_rng(seed).uniform(-1, 1, (n, d))
    return U, f(U), chaos.columns(chaos.polynomials(U, p), chaos.exponents(d, p, q))


@pytest.mark.door("chaospy")
@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")
@pytest.mark.parametrize(("name", "p"), [("Ishigami", 10), ("Sobol g", 8), ("borehole", 3)])
def test_chaospy_takes_our_estimators(name, p):
    """The basis of chaospy has our columns, and each estimator gives the polynomial of its model."""
    import chaospy

    U, y, A = drawn(name, p, 100)
    _, d, q, _ = chaos.FUNCTIONS[name]
    inputs = chaospy.Iid(chaospy.Uniform(-1, 1), d)
    basis = chaospy.generate_expansion(p, inputs, normed=True, cross_truncation=q)
    B = np.asarray(basis(*U.T)).T
    assert B.shape == A.shape
    gap = np.abs(A[:, :, None] - B[:, None, :]).max(axis=0)
    assert np.all(gap.min(axis=0) < 1e-10)
    new = drawn(name, p, 500, 1)
    for method in chaos.METHODS:
        model = chaos.METHODS[method](min(50, len(basis)))
        fitted, coef = chaospy.fit_regression(basis, U.T, y, model=model, retall=1)
        near(coef, model.coef_, 1e-12)
        near(fitted(*new[0].T), np.asarray(basis(*new[0].T)).T @ coef, 1e-9)
        assert np.var(new[1] - fitted(*new[0].T)) < 0.15 * np.var(new[1])
    both = chaospy.fit_regression(
        basis, U.T, np.column_stack([y, -2 * y]), model=OLSRegressor("loo", fit_intercept=False)
    )
    near(
        both(*U.T),
        [[1], [-2]] * chaospy.fit_regression(basis, U.T, y, model=chaos.METHODS["OLS, LOO"](50))(*U.T),
    )
    with pytest.raises(AssertionError, match="fit_intercept=False"):
        chaospy.fit_regression(basis, U.T, y, model=OLSRegressor())


# OpenTURNS


def order_of(active):
    """The features of growing active sets in the order of entry, up to the first set that lacks one."""
    order = []
    for now in active:
        if not set(order) <= set(now):
            break
        order += [j for j in now if j not in order]
    return order


def examples(ot):
    """The example in OpenTURNS's page of LARS, and Sobol's g, with the numbers of points and terms."""
    from openturns.usecases.ishigami_function import IshigamiModel

    case = IshigamiModel()
    terms = "*".join(f"((abs(4*x{i}-2)+{a})/(1+{a}))" for i, a in enumerate((1, 2, 5, 10, 20, 50, 100, 500)))
    g = ot.SymbolicFunction([f"x{i}" for i in range(8)], [terms])
    hyperbolic = ot.HyperbolicAnisotropicEnumerateFunction(8, 0.4)
    yield case.distribution, case.model, ot.LinearEnumerateFunction(3), 75, 286
    yield ot.JointDistribution([ot.Uniform(0, 1)] * 8), g, hyperbolic, 200, 300


@pytest.mark.door("openturns")
@pytest.mark.parametrize(("example", "common", "k", "gap"), [(0, 15, 37, 0.1), (1, 81, 51, 0.009)])
def test_the_order_and_the_corrected_errors_are_those_of_openturns(example, common, k, gap):
    """The order agrees until the LASSO drops a term, which LARS keeps.

    OpenTURNS computes error/var(y)·n/(n − p)·(1 + tr((AᵀA)⁻¹)), with the variance over n − 1. Ours divides
    each column of A by its root mean square first; both agree if OpenTURNS gets such columns.
    """
    import openturns as ot

    inputs, f, count, n, P = list(examples(ot))[example]
    d = inputs.getDimension()
    product = ot.OrthogonalProductPolynomialFactory([ot.LegendreFactory()] * d, count)
    x = ot.LowDiscrepancyExperiment(ot.SobolSequence(), inputs, n).generate()
    u, values = ot.DistributionTransformation(inputs, product.getMeasure())(x), f(x)
    basis = [product.build(i) for i in range(P)]
    A = np.array(ot.DesignProxy(u, basis).computeDesign(list(range(P))))
    lars = ot.BasisSequenceFactory(ot.LARS()).build(u, values, basis, list(range(P)))
    y, order = np.array(values).ravel(), order_of(list(lars.getIndices(i)) for i in range(lars.getSize()))
    ours = order_of(active for active in sl.lasso_path(A, y).active if active)
    assert (len(ours), len(order)) == (common, n - 1)
    assert order[:common] == ours
    found = sl.leave_one_out(A, y, refit(sl.Problem(A, y), order[: n // 2]))
    size, theirs = np.sqrt(np.mean(A**2, axis=0)), np.zeros((n // 2 + 1, 2))
    scaled = [ot.LinearCombinationFunction([b], [1 / s]) for b, s in zip(basis, size, strict=True)]
    for t in range(1, len(theirs)):
        S = order[:t]
        errors = [ot.CorrectedLeaveOneOut().run(u, values, b, S) for b in (basis, scaled)]
        theirs[t] = np.var(y, ddof=1) * np.array(errors)
        trace = np.trace(np.linalg.inv(A[:, S].T @ A[:, S]))
        want = [found.error[t] * n / (n - t) * (1 + trace), found.corrected[t]]
        np.testing.assert_allclose(theirs[t], want, rtol=1e-9)
    rules = ot.LARS(), ot.CorrectedLeaveOneOut()
    search = ot.LeastSquaresMetaModelSelection(u, values, basis, list(range(P)), *rules)
    search.run()
    assert set(np.flatnonzero(search.getCoefficients())) == set(order[:k])
    assert k == 1 + np.argmin(theirs[1:, 0]) == np.argmin(found.corrected)
    assert theirs[k, 0] / found.corrected[k] - 1 == pytest.approx(gap, rel=0.05)


# The experiment

RECORD = json.loads(chaos.FILE.read_text(encoding="utf-8"))


def test_the_page_has_the_record_and_our_error_is_on_average_at_most_that_of_lasso_lars_cv():
    page = (Path(chaos.__file__).parents[2] / "docs" / "guide" / "chaos.md").read_text(encoding="utf-8")
    assert "\n".join(chaos.table(RECORD)) in page
    for sizes in RECORD.values():
        assert [len(draws) for draws in sizes.values()] == [20] * 4
        assert all(gmean(chaos.ratios(draws)[chaos.OURS]) <= 1 for draws in sizes.values())


def test_the_experiment_gives_the_record_again(tmp_path, monkeypatch):
    monkeypatch.setattr(chaos, "FUNCTIONS", {"borehole": chaos.FUNCTIONS["borehole"]})
    file = tmp_path / "record.json"
    done = CliRunner().invoke(chaos.chaos, ["--quick", "--jobs", "1", "--output", str(file)])
    assert done.output.count("| borehole |") == 2
    for i, draw in enumerate(json.loads(file.read_text())["borehole"]["50"]):
        assert draw[chaos.OURS] == pytest.approx(RECORD["borehole"]["50"][i][chaos.OURS], rel=1e-3)
