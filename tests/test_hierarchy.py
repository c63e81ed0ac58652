"""Best subsets with a hierarchy against enumeration of the closed sets, and against sparse-lm.

`test_subset_search.py` and `test_subset_certificates.py` judge hierarchies with all other options in rational
numbers. The test against sparse-lm 0.5.2 (with scikit-learn < 1.6 and pyscipopt) runs if the environment
variable SPARSELM_PYTHON names the interpreter of an environment that has them.
"""

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
from proofs_checks.subset_checker import check
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


def closed_sets(d, k, needs, forced=()):
    """Yield all sets of at most k of d units that obey a relation {unit: needed units}."""
    for size in range(k + 1):
        for S in itertools.combinations(range(d), size):
            if {*forced} <= {*S} and all({*needs.get(unit, ())} <= {*S} for unit in S):
                yield S


def value(X, y, S, ridge=0.0):
    """Return the minimum of ‖y − Xβ‖² + ridge·‖β‖² over β on the columns S."""
    A = np.vstack([X[:, S], np.sqrt(ridge) * np.eye(X.shape[1])[:, S]])
    b = np.append(y, np.zeros(X.shape[1]))
    r = b - A @ np.linalg.lstsq(A, b, rcond=None)[0]
    return float(r @ r)


def interactions(n, mains, rng):
    """Draw main effects and their products, named as in a formula, with a hierarchy and a response."""
    X = pd.DataFrame(rng.standard_normal((n, mains)), columns=[chr(97 + j) for j in range(mains)])
    pairs = [*itertools.combinations(X.columns, 2)]
    X = pd.concat([X, pd.DataFrame({f"{u}:{v}": X[u] * X[v] for u, v in pairs})], axis=1)
    y = X["a:b"] + 0.5 * X["c"] + rng.standard_normal(n)
    return X, y.to_numpy(), {f"{u}:{v}": [u, v] for u, v in pairs}


def is_closed(names, needs):
    return all({*needs.get(name, ())} <= {*names} for name in names)


@pytest.mark.parametrize("ridge", [0.0, 2.0])
@pytest.mark.parametrize("seed", range(3))
def test_interactions_need_their_main_effects(seed, ridge):
    """The sets are enumerated as main effects, and then some of their interactions."""
    rng, k = np.random.default_rng(seed), 5
    X, y, needs = interactions(120, 8, rng)
    best = sl.best_subset(X, y, k, hierarchy=needs, ridge=ridge)
    assert best.optimal
    assert is_closed(best.support_names, needs)
    assert best.restrictions[-1] == "hierarchy"
    least = np.inf
    for size in range(k + 1):
        for mains in itertools.combinations(range(8), size):
            names = [f"{X.columns[i]}:{X.columns[j]}" for i, j in itertools.combinations(mains, 2)]
            inside = X.columns.get_indexer(names)
            for more in itertools.combinations(inside, min(k - size, len(inside))):
                least = min(least, value(X.to_numpy(), y, [*mains, *more], ridge))
    assert 2 * best.objective == pytest.approx(least, rel=1e-9)
    assert best.certificate.hierarchy
    verified, text = best.certificate.verify(X.to_numpy(), y), best.certificate.to_json()
    assert verified, verified.failures
    assert check(text, X.to_numpy().tolist(), y.tolist())[0]
    free = sl.best_subset(X, y, k, ridge=ridge, box=np.inf)
    assert free.objective <= best.objective
    assert ("hierarchy" in str(best), "hierarchy" in str(free)) == (True, False)


def test_fewer_rows_than_features():
    """Without curvature there are no bounds, and sets are compared one by one."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        X, y = rng.standard_normal((6, 9)), rng.standard_normal(6)
        needs = {int(a): rng.choice(9, 2, replace=False).tolist() for a in rng.choice(9, 4, replace=False)}
        best = sl.best_subset(X, y, 3, hierarchy=needs)
        assert best.optimal
        least = min(value(X, y, S) for S in closed_sets(9, 3, needs))
        assert best.residual == pytest.approx(least, rel=1e-9)


def test_a_stopped_search_has_a_certificate_and_goes_on(rng):
    X, y, needs = interactions(60, 9, rng)
    whole = sl.best_subset(X, y, 6, hierarchy=needs)
    stopped = sl.best_subset(X, y, 6, hierarchy=needs, node_limit=whole.nodes // 2)
    assert whole.nodes > 3
    assert stopped.certificate.verify(X.to_numpy(), y)
    assert stopped.lower_bound <= 2 * whole.objective
    resumed = sl.resume_subset(stopped)
    assert (resumed.nodes, resumed.objective) == (whole.nodes, whole.objective)
    sizes = sl.best_subset(X, y, [2, 4, 6], hierarchy=needs).by_size
    assert all(is_closed(found.support_names, needs) for found in sizes)
    assert [len(found) for found in sizes] == [2, 4, 6]


def test_chains_cycles_and_forced_features():
    X, y = np.eye(5), np.array([5.0, 4.5, 4.0, 2.0, 1.0])

    def support(k, needs, **options):
        best = sl.best_subset(X, y, k, hierarchy=needs, **options)
        assert best.optimal
        assert best.certificate.verify(X, y)
        return sorted(best.support.tolist()), best.status.name

    assert support(2, {0: 3, 3: 4}) == ([1, 2], "COMPLETED")  # 0 needs 3, which needs 4: three features
    assert support(3, {0: 3, 3: 4}) == ([1, 2, 4], "COMPLETED")
    assert support(3, {0: 3, 3: 4}, forced=[0]) == ([0, 3, 4], "COMPLETED")
    assert support(2, {0: 4, 4: 0}) == ([1, 2], "COMPLETED")
    assert support(2, {0: 1, 1: 0}) == ([0, 1], "COMPLETED")
    assert support(3, {0: 1, 1: 0, 2: 3, 3: 2, 4: [0, 2]}) == ([0, 1], "COMPLETED")  # no third one fits
    assert support(2, {j: 4 for j in range(4)}) == ([0, 4], "COMPLETED")
    assert sl.best_subset(X, y, 2, hierarchy={2: 2, 1: []}).restrictions == ()
    words = "forced features count in k: got 3 forced groups, with 2 that they need in the hierarchy, and k=2"
    refuses(words, sl.best_subset, X, y, 2, hierarchy={0: 3, 3: 4}, forced=[0])


def test_needed_features_are_in_the_support_with_the_coefficient_zero():
    X, y = np.eye(4)[:, [0, 0, 1, 2]], np.array([3.0, 2.0, 0.0, 1.0])
    X[:, 1] = 0
    for needed in (1, 3):  # a column of zeros, and one that is orthogonal to y
        best = sl.best_subset(X, y, 2, hierarchy={0: needed, 2: needed})
        assert sorted(best.support.tolist()) == [0, needed]
        assert best.dense_coef().tolist() == [3, 0, 0, 0]
        assert best.certificate.verify(X, y)
    best = sl.best_subset(np.eye(3), [2.0, -1.0, 0.5], 2, hierarchy={0: 1}, positive=True)
    assert (best.support.tolist(), best.coef.tolist()) == ([0, 1], [2, 0])


def test_groups_need_groups(rng):
    X, y = rng.standard_normal((30, 8)), rng.standard_normal(30)
    labels = np.array(["a", "a", "b", "c", "c", "d", "d", "e"])
    best = sl.best_subset(X, y, 3, groups=labels, hierarchy={0: 3, 7: [5, 6]})  # a needs c, e needs d
    units = {0: [2], 4: [3]}
    sets = [np.flatnonzero(np.isin(labels, np.array([*"abcde"])[[*S]])) for S in closed_sets(5, 3, units)]
    assert 2 * best.objective == pytest.approx(min(value(X, y, S) for S in sets), rel=1e-9)
    assert best.restrictions == ("groups", "hierarchy")
    assert sl.best_subset(X, y, 3, groups=labels, hierarchy={0: 1}).restrictions == ("groups",)
    assert sl.best_subset(X, y, 3, hierarchy={}) == sl.best_subset(X, y, 3)


def test_subsets_within_lists_the_closed_sets(rng):
    for _ in range(20):
        X, y, d, k = rng.standard_normal((20, 7)), rng.standard_normal(20), 7, 3
        needs = {j: rng.choice(j, min(j, 2), replace=False).tolist() for j in range(1, d) if rng.random() < 0.5}
        values = {S: value(X, y, S) for S in closed_sets(d, k, needs) if len(S) == k}
        limit = 1.2 * min(values.values())
        found = sl.subsets_within(X, y, k, eps=0.2, hierarchy=needs)
        assert {tuple(S.tolist()) for S in found.supports} == {S for S in values if values[S] <= limit}
    words = "hierarchy must have no cycle. Put features that need one another in one group"
    refuses(words, sl.subsets_within, X, y, 3, eps=0.2, hierarchy={0: 1, 1: 2, 2: 0})


def test_the_regressor_takes_a_hierarchy(rng):
    X, y, needs = interactions(80, 5, rng)
    model = clone(BestSubsetRegressor(4, hierarchy=needs)).fit(X, y)
    assert model.get_params()["hierarchy"] == needs
    best = sl.best_subset(X, y, 4, hierarchy=needs, intercept=True)
    assert model.result_.support.tolist() == best.support.tolist()
    assert is_closed(model.result_.support_names, needs)
    assert "selected with hierarchy" in sl.explain(X, y, best, best.support[0]).sentence


@pytest.mark.parametrize(
    ("hierarchy", "error", "words"),
    [
        ([[1], []], TypeError, r'hierarchy must be a mapping such as {"a:b": \["a", "b"\]}; got \[\[1'),
        ({0: 3}, ValueError, r"hierarchy must hold column indices in 0\.\.2; got 3"),
        ({-1: 0}, ValueError, r"hierarchy must hold column indices in 0\.\.2; got -1"),
        ({"a": 0}, TypeError, "hierarchy must be a sequence of integer column indices.*X has no names"),
        ({0: None}, TypeError, "hierarchy must be a sequence of integer column indices; got None"),
        ({0: [1, 1]}, ValueError, "hierarchy must not repeat an index"),
    ],
)
def test_bad_hierarchies_are_refused(hierarchy, error, words):
    refuses(words, sl.best_subset, np.eye(3), [1.0, 2.0, 3.0], 2, hierarchy=hierarchy, error=error)


@pytest.mark.skipif(not SPARSELM, reason="SPARSELM_PYTHON does not name an interpreter with sparse-lm")
def test_sparse_lm_finds_no_other_optimum(count=60):
    """Its big M is 100, its hierarchy one of groups, and its ridge is 2·n·eta."""
    rng, problems, ours = np.random.default_rng(0), [], []
    for _ in range(count):
        n, d = int(rng.integers(12, 30)), int(rng.integers(5, 11))
        X, centred = rng.standard_normal((n, d)), bool(rng.random() < 0.5)
        X[:, -1] = X[:, 0] + 0.3 * X[:, -1]
        y = X @ rng.integers(-2, 3, d) + rng.standard_normal(n) + 3 * centred
        groups = np.unique(rng.integers(0, d, d) if rng.random() < 0.5 else np.arange(d), return_inverse=True)[1]
        units, eta = int(groups.max()) + 1, float(rng.choice([0.0, 0.05]))
        chosen = [rng.random(units) < 0.25 for _ in range(units)]
        needs = [[j for j in np.flatnonzero(row).tolist() if j != i] for i, row in enumerate(chosen)]
        k, members = int(rng.integers(1, min(units, 4) + 1)), [np.flatnonzero(groups == g) for g in range(units)]
        problems.append({"X": X.tolist(), "y": y.tolist(), "groups": groups.tolist(), "sparse_bound": k,
                         "eta": eta, "hierarchy": needs, "fit_intercept": centred})  # fmt: skip
        related = {int(members[i][0]): [int(members[j][0]) for j in row] for i, row in enumerate(needs)}
        options = {"groups": groups, "ridge": 2 * n * eta, "intercept": centred}
        ours.append(sl.best_subset(X, y, k, hierarchy=related, **options))
    run = subprocess.run(
        [SPARSELM, "-c", WORKER], input=json.dumps(problems), capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    for given, best, coef in zip(problems, ours, json.loads(run.stdout), strict=True):
        A, b, beta = np.array(given["X"]), np.array(given["y"]), np.array(coef)
        if given["fit_intercept"]:
            A, b = A - A.mean(axis=0), b - b.mean()
        r, ridge = b - A @ beta, 2 * len(b) * given["eta"]
        assert best.optimal
        assert 2 * best.objective == pytest.approx(r @ r + ridge * (beta @ beta), rel=1e-5)
        assert np.abs(beta - best.dense_coef()).max() < 1e-2
