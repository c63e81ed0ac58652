"""Best subsets with a hierarchy against enumeration of the closed sets, and against sparse-lm.

`test_subset_search.py` and `test_subset_certificates.py` judge hierarchies with all other options in rational
numbers. The test against sparse-lm 0.5.2 (with scikit-learn < 1.6 and pyscipopt) runs if the environment
variable SPARSELM_PYTHON names the interpreter of an environment that has them.
"""

import dataclasses
import itertools
import json
import os
import subprocess

import numpy as np
import pandas as pd
import pytest
from refusals import refuses
from sklearn.base import clone

import sparselin as sl
from sparselin.check.subset_checker import check
from sparselin.estimators import BestSubsetRegressor

SPARSELM = os.environ.get("SPARSELM_PYTHON")
# Read problems from the standard input, and write the coefficients of each.
WORKER = """
import json, sys, numpy as np
from sparselm.model import RidgedBestSubsetSelection
found = []
for given in json.load(sys.stdin):
    X, y = np.array(given.pop("X")), np.array(given.pop("y"))
    given["groups"] = np.array(given["groups"])
    found.append(RidgedBestSubsetSelection(**given, solver="SCIP").fit(X, y).coef_.tolist())
json.dump(found, sys.stdout)
"""


def value(X, y, S, ridge=0.0):
    """Return the minimum of ‖y − Xβ‖² + ridge·‖β‖² over β on the columns S."""
    A = np.vstack([X[:, S], np.sqrt(ridge) * np.eye(X.shape[1])[:, S]])
    b = np.append(y, np.zeros(X.shape[1]))
    r = b - A @ np.linalg.lstsq(A, b, rcond=None)[0]
    return float(r @ r)


def is_closed(S, needs):
    return all({*needs.get(unit, ())} <= {*S} for unit in S)


def interactions(n, mains, rng):
    """Draw main effects and their products, named as in a formula, with a response and a hierarchy."""
    X = pd.DataFrame(rng.standard_normal((n, mains)), columns=[chr(97 + j) for j in range(mains)])
    needs = {f"{u}:{v}": [u, v] for u, v in itertools.combinations(X.columns, 2)}
    X = X.assign(**{name: X[u] * X[v] for name, (u, v) in needs.items()})
    return X, (X["a:b"] + 0.5 * X["c"] + rng.standard_normal(n)).to_numpy(), needs


@pytest.mark.parametrize("ridge", [0.0, 2.0])
@pytest.mark.parametrize("seed", range(3))
def test_interactions_need_their_main_effects(seed, ridge):
    """The sets are enumerated as main effects, and then some of their interactions."""
    X, y, needs = interactions(120, 8, np.random.default_rng(seed))
    best, values = sl.best_subset(X, y, 5, hierarchy=needs, ridge=ridge), []
    assert is_closed(best.support_names, needs)
    for mains in itertools.chain(*(itertools.combinations("abcdefgh", size) for size in range(6))):
        inside = [f"{u}:{v}" for u, v in itertools.combinations(mains, 2)]
        for more in itertools.combinations(inside, min(5 - len(mains), len(inside))):
            values.append(value(X.to_numpy(), y, X.columns.get_indexer([*mains, *more]), ridge))
    assert best.optimal
    assert 2 * best.objective == pytest.approx(min(values), rel=1e-9)
    verified = best.certificate.verify(X, y)
    assert verified, verified.failures
    assert check(best.certificate.to_json(), X.to_numpy().tolist(), y.tolist())[0]
    twice = dataclasses.replace(best.certificate, hierarchy=2 * best.certificate.hierarchy)
    assert "distinct pairs" in twice.verify(X, y).failures[0]
    assert "hierarchy" in str(best)


def test_a_stopped_search_has_a_certificate_and_goes_on(rng):
    X, y, needs = interactions(60, 9, rng)
    whole = sl.best_subset(X, y, 6, hierarchy=needs)
    stopped = sl.best_subset(X, y, 6, hierarchy=needs, node_limit=whole.nodes // 2)
    assert whole.nodes > 3
    assert stopped.certificate.verify(X, y)
    resumed = sl.resume_subset(stopped)
    assert (resumed.nodes, resumed.objective) == (whole.nodes, whole.objective)


def test_chains_cycles_and_forced_features():
    X, y = np.eye(5), np.array([5.0, 4.5, 4.0, 2.0, 1.0])
    cases = [
        (2, {0: 3, 3: 4}, (), [1, 2]),  # 0 needs 3, which needs 4: three features
        (3, {0: 3, 3: 4}, (), [1, 2, 4]),
        (4, {0: 1, 1: 2, 2: 3, 3: 4}, (), [1, 2, 3, 4]),
        (3, {0: 3, 3: 4}, [0], [0, 3, 4]),
        (2, {0: 4, 4: 0}, (), [1, 2]),
        (2, {0: 1, 1: 0}, (), [0, 1]),
        (3, {0: 1, 1: 0, 2: 3, 3: 2, 4: [0, 2]}, (), [0, 1]),  # no third one fits
        (2, dict.fromkeys(range(4), 4), (), [0, 4]),
    ]
    for k, needs, forced, support in cases:
        best = sl.best_subset(X, y, k, hierarchy=needs, forced=forced)
        assert (sorted(best.support), best.status, best.optimal) == (support, sl.Status.COMPLETED, True)
        assert best.certificate.verify(X, y)
    words = "forced features count in k: got 3 groups, forced or needed, and k=2"
    refuses(words, sl.best_subset, X, y, 2, hierarchy={0: 3, 3: 4}, forced=[0])


def test_needed_features_are_in_the_support_with_the_coefficient_zero():
    X, y = np.eye(4)[:, [0, 0, 1, 2]], np.array([3.0, 2.0, 0.0, 1.0])
    X[:, 1] = 0
    for needed in (1, 3):  # a column of zeros, and one that is orthogonal to y
        best = sl.best_subset(X, y, 2, hierarchy={0: needed, 2: needed})
        assert sorted(best.support) == [0, needed]
        assert best.dense_coef().tolist() == [3, 0, 0, 0]


def test_a_hierarchy_within_groups_is_none(rng):
    X, y = rng.standard_normal((9, 4)), rng.standard_normal(9)
    assert sl.best_subset(X, y, 2, groups=[0, 0, 1, 1], hierarchy={0: 1}).restrictions == ("groups",)
    assert sl.best_subset(X, y, 3, hierarchy={2: 2, 1: []}) == sl.best_subset(X, y, 3)


def test_subsets_within_lists_the_closed_sets(rng):
    for _ in range(20):
        X, y = rng.standard_normal((20, 7)), rng.standard_normal(20)
        needs = {j: rng.choice(j, min(j, 2), replace=False).tolist() for j in (1, 3, 4, 6)}
        values = {S: value(X, y, S) for S in itertools.combinations(range(7), 3) if is_closed(S, needs)}
        found = sl.subsets_within(X, y, 3, eps=0.2, hierarchy=needs)
        limit = 1.2 * min(values.values())
        assert {tuple(S.tolist()) for S in found.supports} == {S for S in values if values[S] <= limit}
    words = "hierarchy must have no cycle. Put features that need one another in one group"
    refuses(words, sl.subsets_within, X, y, 3, eps=0.2, hierarchy={0: 1, 1: 2, 2: 0})


def test_the_regressor_takes_a_hierarchy(rng):
    X, y, needs = interactions(80, 5, rng)
    model = clone(BestSubsetRegressor(4, hierarchy=needs)).fit(X, y)
    best = sl.best_subset(X, y, 4, hierarchy=needs, intercept=True)
    assert model.result_.support_names == best.support_names
    assert "selected with hierarchy" in sl.explain(X, y, best, best.support[0]).sentence


@pytest.mark.parametrize(
    ("hierarchy", "error", "words"),
    [
        ([[1], []], TypeError, r'hierarchy must be a mapping such as {"a:b": \["a", "b"\]}; got \[\[1'),
        ({0: 3}, ValueError, r"hierarchy must hold column indices in 0\.\.2; got 3"),
        ({"a": 0}, TypeError, "hierarchy must be a sequence of integer column indices.*X has no names"),
        ({0: None}, TypeError, "hierarchy must be a sequence of integer column indices; got None"),
        ({0: [1, 1]}, ValueError, "hierarchy must not repeat an index"),
    ],
)
def test_bad_hierarchies_are_refused(hierarchy, error, words):
    refuses(words, sl.best_subset, np.eye(3), [1.0, 2.0, 3.0], 2, hierarchy=hierarchy, error=error)


def draw(rng):
    """Draw a problem for sparse-lm, and ours: its hierarchy relates groups, and its ridge is 2·n·eta."""
    (n, d), centred = rng.integers([12, 5], [30, 11]).tolist(), bool(rng.random() < 0.5)
    X = rng.standard_normal((n, d))
    X[:, -1] = X[:, 0] + 0.3 * X[:, -1]
    y = X @ rng.integers(-2, 3, d) + rng.standard_normal(n) + 3 * centred
    labels = rng.integers(0, d, d) if rng.random() < 0.5 else np.arange(d)
    groups, eta = np.unique(labels, return_inverse=True)[1], float(rng.choice([0.0, 0.05]))
    units = int(groups.max()) + 1
    needs = [np.setdiff1d(np.flatnonzero(rng.random(units) < 0.25), unit).tolist() for unit in range(units)]
    given = {
        "X": X.tolist(), "y": y.tolist(), "groups": groups.tolist(), "eta": eta, "hierarchy": needs,
        "sparse_bound": int(rng.integers(1, min(units, 4) + 1)), "fit_intercept": centred,
    }  # fmt: skip
    first = [int(np.argmax(groups == unit)) for unit in range(units)]
    related = {first[unit]: [first[needed] for needed in row] for unit, row in enumerate(needs)}
    options = {"groups": groups, "ridge": 2 * n * eta, "intercept": centred, "hierarchy": related}
    return given, sl.best_subset(X, y, given["sparse_bound"], **options)


@pytest.mark.skipif(not SPARSELM, reason="SPARSELM_PYTHON does not name an interpreter with sparse-lm")
def test_sparse_lm_finds_no_other_optimum(rng):
    """No coefficient is near its bound, 100."""
    problems, ours = zip(*(draw(rng) for _ in range(60)), strict=True)
    command, text = [SPARSELM, "-c", WORKER], json.dumps(problems)
    run = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    for given, best, coef in zip(problems, ours, json.loads(run.stdout), strict=True):
        X, y, beta = np.array(given["X"]), np.array(given["y"]), np.array(coef)
        if given["fit_intercept"]:
            X, y = X - X.mean(axis=0), y - y.mean()
        r, ridge = y - X @ beta, 2 * len(y) * given["eta"]
        assert best.optimal
        assert 2 * best.objective == pytest.approx(r @ r + ridge * (beta @ beta), rel=1e-5)
        assert np.abs(beta - best.dense_coef()).max() < 1e-2
