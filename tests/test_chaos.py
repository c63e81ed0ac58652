"""Sparse polynomial chaos: estimators in chaospy, order and errors as in OpenTURNS, the experiment."""

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from oracles import near
from scipy.stats import gmean
from sklearn.linear_model import LassoLarsCV

import sparselin as sl
from proofs_checks.experiments import chaos
from sparselin.estimators import OLSRegressor, OLSSelector
from sparselin.selection.methods import refit

# The models in chaospy


def drawn(name, p, n, seed=0):
    """Rows U (n, d), the values y and the columns (n, P) of one of the functions, at degree p."""
    f, d, q, _ = chaos.FUNCTIONS[name]
    U = np.random.default_rng(seed).uniform(-1, 1, (n, d))
    return U, f(U), chaos.columns(U, chaos.exponents(d, p, q))


@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")
@pytest.mark.parametrize(("name", "p"), [("Ishigami", 10), ("Sobol g", 8), ("borehole", 3)])
def test_chaospy_takes_our_estimators(name, p):
    """Its basis has the same columns; each estimator, with its own k, gives the polynomial of its model."""
    chaospy = pytest.importorskip("chaospy")
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


A_OF_G = (1, 2, 5, 10, 20, 50, 100, 500)


def sequence(ot, u, y, basis):
    """The indices in the order in which OpenTURNS's LARS adds them."""
    found = ot.BasisSequenceFactory(ot.LARS()).build(u, y, basis, list(range(len(basis))))
    order = []
    for i in range(found.getSize()):
        order += [j for j in found.getIndices(i) if j not in order]
    return order


def before_a_drop(path):
    """The features of a LASSO path in the order of entry, up to the first knot at which one leaves."""
    order, before = [], ()
    for active in path.active:
        if set(before) - set(active):
            break
        order, before = order + [j for j in active if j not in before], active
    return order


def ishigami_example(ot):
    """The example in OpenTURNS's page of LARS: 75 points of Sobol's sequence, degree 10."""
    example = pytest.importorskip("openturns.usecases.ishigami_function").IshigamiModel()
    return example.distribution, example.model, ot.LinearEnumerateFunction(3), 75, 286


def g_example(ot):
    """Sobol's g in eight inputs, 200 points, the first 300 terms of a hyperbolic order."""
    terms = "*".join(f"((abs(4*x{i}-2)+{a})/(1+{a}))" for i, a in enumerate(A_OF_G))
    g = ot.SymbolicFunction([f"x{i}" for i in range(8)], [terms])
    inputs = ot.JointDistribution([ot.Uniform(0, 1)] * 8)
    return inputs, g, ot.HyperbolicAnisotropicEnumerateFunction(8, 0.4), 200, 300


@pytest.mark.parametrize(("example", "common"), [(ishigami_example, 15), (g_example, 81)])
def test_the_order_and_the_corrected_errors_are_those_of_openturns(example, common):
    """The order up to the first drop of the LASSO, which LARS keeps; the errors but for the scale of the columns.

    OpenTURNS computes error/var(y)·n/(n − p)·(1 + tr((AᵀA)⁻¹)) with the variance over n − 1. Ours divides each
    column of A by its root mean square first, so that both agree if OpenTURNS gets such columns.
    """
    ot = pytest.importorskip("openturns", minversion="1.27")
    inputs, f, count, n, P = example(ot)
    d = inputs.getDimension()
    product = ot.OrthogonalProductPolynomialFactory([ot.LegendreFactory()] * d, count)
    x = ot.LowDiscrepancyExperiment(ot.SobolSequence(), inputs, n).generate()
    u, values = ot.DistributionTransformation(inputs, product.getMeasure())(x), f(x)
    basis = [product.build(i) for i in range(P)]
    A = np.array(ot.DesignProxy(u, basis).computeDesign(list(range(P))))
    y, order = np.array(values).ravel(), sequence(ot, u, values, basis)
    ours = before_a_drop(sl.lasso_path(A, y))
    assert len(ours) == common
    assert order[:common] == ours
    found = sl.leave_one_out(A, y, refit(sl.Problem(A, y), order[: n // 2]))
    size = np.sqrt(np.mean(A**2, axis=0))
    scaled = [ot.LinearCombinationFunction([b], [1 / s]) for b, s in zip(basis, size, strict=True)]
    theirs = [0.0]
    for t in range(1, n // 2 + 1):
        S = order[:t]
        theirs.append(ot.CorrectedLeaveOneOut().run(u, values, basis, S))
        trace = np.trace(np.linalg.inv(A[:, S].T @ A[:, S]))
        want = found.error[t] / np.var(y, ddof=1) * n / (n - t) * (1 + trace)
        assert theirs[t] == pytest.approx(want, rel=1e-9)
        unit = ot.CorrectedLeaveOneOut().run(u, values, scaled, S)
        assert unit * np.var(y, ddof=1) == pytest.approx(found.corrected[t], rel=1e-9)
    search = ot.LeastSquaresMetaModelSelection(
        u, values, basis, list(range(P)), ot.LARS(), ot.CorrectedLeaveOneOut()
    )
    search.run()
    k = int(np.argmin(found.corrected))
    assert set(np.flatnonzero(search.getCoefficients())) == set(order[:k])
    assert k == 1 + np.argmin(theirs[1:])
