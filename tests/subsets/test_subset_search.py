"""The search for the best subset with all options against enumeration in rational numbers.

`python -m tests.subsets.test_subset_search COUNT` judges COUNT problems, and prints what was seen.
"""

import dataclasses
import pickle
import sys
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

import sparselin as sl
from sparselin._kernels import perspective as kernels
from sparselin.subsets import _search
from sparselin.subsets._best_first import BestFirst
from sparselin.subsets.best_subset import best_subset, check_restrictions, prepare, resume_subset
from tests.forged_subsets import Oracle, random_task
from tests.refusals import refuses

EPS = float(np.finfo(np.float64).eps)


def hard_task(rng):
    """Draw a task of the forgeries, and its dtype; the data are harder in more than half of the cases."""
    task = random_task(rng)
    X, y, w = np.array(task.X), np.array(task.y), np.array(task.weights)
    (n, d), kind = X.shape, rng.integers(12)
    if kind < 2:  # nearly dependent columns
        X = X[:, rng.integers(0, max(1, d // 2), d)]
        X = X + 10.0 ** -rng.uniform(0, 12) * rng.standard_normal((n, d))
    if kind == 2:  # raw scales
        X = X * 10.0 ** rng.integers(-100, 101, d if rng.random() < 0.5 else 1)
        y = y * 10.0 ** rng.integers(-50, 51)
    if kind == 3:  # large means
        X = X + X.std(axis=0) * 10.0 ** rng.uniform(0, 9, d)
    if kind == 4:  # few rows
        X, y, w = X[:3], y[:3], w[:3]
    if kind == 5:  # y in the span, or zero
        y = X @ rng.integers(-1, 2, d) * float(rng.random() < 0.8)
    if kind == 6:
        X, y = X.astype(np.float32), y.astype(np.float32)
    ratio = float(abs(y).max()) / (float(abs(X[0]).max()) or 1.0)
    upper = np.array(task.upper) * (ratio or 1.0)
    lower = np.maximum(task.lower, -upper * rng.choice([1, 2], d))
    ridge = task.ridge * (float(np.median(X.astype(float) ** 2)) or 1.0) ** float(rng.integers(2))
    return dataclasses.replace(
        task, X=tuple(map(tuple, X.tolist())), y=tuple(y.tolist()), weights=tuple(w.tolist()), ridge=ridge,
        k=max(task.k, 1), lower=tuple(lower.tolist()), upper=tuple(upper.tolist()),
    ), X.dtype  # fmt: skip


def options_of(task, rng):
    """Return the arguments of `best_subset` for a task, and others that do not change the optimum."""
    lower, upper = np.array(task.lower), np.array(task.upper)
    options = {"ridge": task.ridge, "intercept": task.intercept, "gap": rng.choice([0, 0, 1e-12, 0.1, 1.5])}
    options["forced"] = [task.labels.index(unit) for unit in task.forced]
    if min(task.weights) < 1 or max(task.weights) > 1:
        options["sample_weight"] = task.weights
    if len(set(task.labels)) < len(task.labels) or rng.random() < 0.1:
        options["groups"] = [f"{7 * label % 11} {label}" for label in task.labels]
    index, pairs = task.labels.index, task.hierarchy
    options["hierarchy"] = {index(a): [index(b) for c, b in pairs if c == a] for a, _ in pairs}
    if not lower.any() and rng.random() < 0.7:
        options["positive"] = True
    if np.isfinite(upper).any() or (np.isfinite(lower).any() and "positive" not in options):
        options["box"] = np.column_stack([lower, upper])
    elif rng.random() < 0.5:
        options |= {"box": "proved"} if rng.random() < 0.5 or task.ridge > 10 else {"standardize": True}
    return options


def exact_of(task, standardize=False):
    """Return the oracle of a task, with the ridge of each column."""
    exact = Oracle(dataclasses.replace(task, ridge=0.0))
    total = sum(map(Fraction, task.weights))
    shares = [row[j] / total if standardize else 1 for j, row in enumerate(exact.G)]
    exact.ridge = [Fraction(task.ridge) * share for share in shares]
    for j in range(len(task.labels)):
        exact.G[j][j] += exact.ridge[j]
    return exact


def least_of(task, exact, k):
    return min(exact.fit(S)[0] for S in dataclasses.replace(task, k=k).subsets())


def judge(task, exact, k, X, y, found):
    """Judge a result by the exact minima on all supports; return its status."""
    least, weights = least_of(task, exact, k), np.array(task.weights)
    assert Fraction(found.lower_bound) <= 2 * least
    S, coef, eps = found.support.tolist(), found.coef.astype(float), float(np.finfo(X.dtype).eps)
    units = tuple({task.labels[j] for j in S} | set(task.forced))
    assert len(set(S)) == len(S)
    assert len(units) <= k
    assert {task.labels.index(unit) for unit in task.forced} <= set(S)
    assert all(needed in units for unit, needed in task.hierarchy if unit in units)
    room = abs(coef) * eps * (X.dtype == np.float32)  # for coefficients that are rounded to float32
    assert (coef >= np.array(task.lower)[S] - room).all()
    assert (coef <= np.array(task.upper)[S] + room).all()
    length = np.sqrt([weights @ v for v in np.vstack([X.T, y]).astype(float) ** 2])
    size = length[-1] + (length[S] + np.sqrt([float(exact.ridge[j]) for j in S])) @ abs(coef)
    value = exact.point(dict(zip(S, map(Fraction, coef.tolist()), strict=True)))[0]
    assert abs(float(2 * value) ** 0.5 - (2 * found.objective) ** 0.5) <= 64 * eps * size
    if found.certificate is not None:
        verified = found.certificate.verify(X, y, task.weights)
        assert verified, verified.failures
        assert (1 - verified.gap) * verified.value <= least
    if not found.optimal:
        return found.status.name
    off = exact.fit(units)[0] - least
    total = exact.fit(())[0] + Fraction(float((64 * EPS * length[-1]) ** 2))
    assert off <= total / 10**6
    return "optimal" if off <= total / 10**9 else "optimal to 1e-6"


def judge_search(seed):
    """Judge a search, its bounds at every node, and a search that stops anywhere; return what was seen."""
    rng = np.random.default_rng(seed)
    task, dtype = hard_task(rng)
    options, X, y = options_of(task, rng), np.array(task.X, dtype), np.array(task.y, dtype)
    exact = exact_of(task, options.get("standardize", False))
    several = rng.random() < 0.2
    sizes = [*range(max(1, min(map(len, task.subsets()))), task.k + 1)] if several else [task.k]
    full = best_subset(X, y, sizes if several else task.k, **options)
    results = full.by_size if len(sizes) > 1 else (full,)
    seen = Counter(judge(task, exact, k, X, y, found) for k, found in zip(sizes, results, strict=True))
    seen["certificate"] += sum(found.certificate is not None for found in results)
    seen["hierarchy"] += len(task.hierarchy) > 0
    least = least_of(task, exact, task.k)

    def watch(state):
        seen["bound at a node"] += 1
        assert Fraction(state.lower_bound) <= 2 * least

    best_subset(X, y, task.k, **options, callback=watch)
    best = best_subset(X, y, task.k, **options, node_limit=int(rng.integers(4)))
    while best.saved is not None:
        seen["stop"] += 1
        judge(task, exact, task.k, X, y, best)
        best = pickle.loads(pickle.dumps(best)) if rng.random() < 0.5 else best
        best = resume_subset(best, node_limit=int(rng.integers(1, 20)))
    assert best.support.tolist() == results[-1].support.tolist()
    assert best.objective == results[-1].objective
    if best.nodes == results[-1].nodes:
        seen["same nodes"] += 1
        assert best.lower_bound >= results[-1].lower_bound
    else:  # at a limit, cases that could only contain a second best set were left out
        assert best.optimal
        assert best.nodes < results[-1].nodes
    return seen


def judge_many(seeds):
    seen = Counter()
    for seed in seeds:
        try:
            seen += judge_search(seed)
        except AssertionError as error:
            raise AssertionError(f"seed {seed}: {error}") from error
    return seen


def test_no_search_has_a_false_bound(monkeypatch):
    monkeypatch.setattr(_search, "_INTERVAL", 0.0)
    seen = judge_many(range(300))
    assert min(seen[name] for name in ("optimal", "certificate", "stop", "hierarchy")) > 100
    assert seen["bound at a node"] > 500
    assert seen["same nodes"] > 280


def test_a_gap_is_met_or_the_status_says_so():
    """Large means, without an intercept: condition numbers of 1e3 to 1e8; and a near copy that fits y."""
    met = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((12, 6)) + 10.0 ** rng.integers(3, 8)
        y = X[:, 0] - X[:, 1] + rng.standard_normal(12)
        best = best_subset(X, y, 3, gap=0.05)
        met += best.gap <= 0.05
        assert (best.status is sl.Status.COMPLETED) == (best.gap <= 0.05), seed
    assert met >= 25
    X = np.array([[28.0, 60, 32, 28], [-86, 67, 30, -86], [-30, -81, 40, -30], [77, 60, -86, 77]])
    X[:, 3] += [-(2.0**-22), 0, 0, 2.0**-22]
    best = best_subset(X, [43.0, -69, -61, -84], 4, gap=0.01)
    assert best.optimal
    assert best.residual < 1e-6
    assert "0 to rounding" in str(best)


def test_a_gap_that_rounding_hides_is_not_called_met():
    X = np.array([[1.0, 2.0], [1.0, 2.0 + 2.0**-50], [1.0, 2.0]])
    best = best_subset(X, [0.0, 1.0, -1.0], 2, gap=0.01, groups=[0, 1])
    assert best.lower_bound <= 0.5
    assert best.optimal == (best.lower_bound > 0.4)
    assert best.status is (sl.Status.COMPLETED if best.optimal else sl.Status.BEYOND_PRECISION)


def test_a_bounded_fit_on_one_set_is_minimal():
    """Compare the fit with the conditions of Karush, Kuhn and Tucker, for the only possible set."""
    for seed in range(200):
        rng = np.random.default_rng((13, seed))
        d = int(rng.integers(3, 11))
        near = 0.9 ** np.abs(np.subtract.outer(np.arange(d), np.arange(d)))
        X = rng.standard_normal((d + int(rng.integers(0, 6)), d)) @ np.linalg.cholesky(near).T
        X, y = X * 2.0 ** rng.integers(-20, 21), 2 * rng.standard_normal(len(X))
        box = float(rng.choice([0.2, 0.5, 1.0, 2.0])) / np.linalg.norm(X[:, 0])
        best = best_subset(X, y, d, box=box, forced=range(d))
        assert best.optimal, seed
        w = best.dense_coef()
        slope = X.T @ (y - X @ w) / (np.linalg.norm(X, axis=0) * np.linalg.norm(y))
        free = np.abs(w) < box
        assert (np.abs(w) <= box).all(), seed
        assert np.abs(slope[free]).max(initial=0) < 1e-10, seed
        assert (slope * np.sign(w) > -1e-10).all(), seed


def test_groups_of_one_feature_are_features():
    """Labels in another order than the features do not change which feature is forced."""
    best = best_subset(np.eye(3), [1.0, 2.0, 3.0], 1, groups=[2, 0, 1], forced=[0])
    assert best.support.tolist() == [0]
    assert best.lower_bound <= best.residual == 13


def test_no_feature_counts_twice_in_the_first_sets():
    """A feature that is exchanged for another one of its set would have twice its box."""
    best = best_subset(np.eye(3), [5.0, 0.125, 0.0], 2, box=1.0)
    assert best.support.tolist() == [0, 1]
    assert best.optimal
    assert best.lower_bound <= best.residual == 16


def test_no_feature_is_added_to_a_set_with_dependent_columns():
    X = np.array([[1.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    best = best_subset(X, [2.0, 0.5], 2, ridge=1.0)
    assert best.support.tolist() == [0, 1]


def test_forced_columns_of_zeros_are_in_the_support():
    X = np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    best = best_subset(X, [1.0, 2.0], 2, forced=(1, 0), positive=True)
    assert best.support.tolist() == [1, 0]
    assert best.coef.tolist() == [1, 0]


def test_a_response_of_zeros_has_no_feature():
    best = best_subset(np.eye(3), np.zeros(3), 2, ridge=1.0)
    assert (best.support.size, best.r2, best.objective, best.lower_bound) == (0, 0, 0, 0)
    assert best.optimal


def test_the_squares_of_large_coefficients_do_not_overflow():
    best = best_subset(1e-100 * np.eye(2), [1e60, 1e59], 1, ridge=1e-200)
    assert 2 * best.objective == pytest.approx(0.51e120)
    assert best.optimal


def test_a_box_of_columns_of_zeros_calls_no_lapack(capfd):
    best = best_subset(np.zeros((3, 2)), [1.0, 2.0, 3.0], 1, box="proved")
    assert best.optimal
    assert capfd.readouterr() == ("", "")


def test_coefficients_are_in_the_box_without_a_tolerance():
    X = np.array([[-2.0, 3.0, 1.0], [1.0, 1.0, 3.0], [1.0, 0.0, 1.0], [1.0, -3.0, 2.0]])
    best = best_subset(X, [-4.0, 2.0, -2.0, -1.0], 3, box=0.2)
    assert np.abs(best.coef).max() == 0.2


def test_a_column_without_curvature_and_bounds_has_no_height():
    """The column is orthogonal to y, but together with another one it fits y."""
    X = np.array([[0.0, 1.0, -1.0, 2.0], [-1.0, 0.0, -2.0, 0.0], [1.0, 0.0, 0.0, -2.0]])
    best = best_subset(X, [0.0, 0.0, 1.0], 2, box=np.outer([1, np.inf, np.inf, 1], [-1, 1]))
    assert sorted(best.support.tolist()) == [1, 3]
    assert best.lower_bound <= best.residual < 1e-15


def test_the_bound_of_the_relaxation_is_that_of_the_vector_it_returns():
    """The largest number of rounds ends it here, too."""
    for seed in range(60):
        rng = np.random.default_rng(seed)
        X = rng.integers(-3, 4, (3, 4)) * 2.0 ** rng.integers(-50, 51, 4)
        given = sl.Problem(X, rng.integers(1, 6, 3))
        restrictions = check_restrictions(given, 2.0 ** rng.integers(-20, 3), 2.0**-20, None, False, None)
        search = BestFirst(prepare(given, restrictions), 2, np.empty(0, np.intp), restrictions)
        data, state = search.open[0].stage.data, search.open[0].state
        w, c, H, z = np.zeros(len(data.b)), np.empty(len(data.b)), np.empty(len(state)), np.zeros(len(state))
        low = kernels.relax(data, state, 2, search.target, w, c, H, z)
        assert low == kernels.bound(data, state, 2, w, c, H)[0], seed


@pytest.mark.parametrize("seed", [0, 117, 221])
def test_certificates_of_coefficients_near_their_bounds_are_proved(seed):
    """Exact coefficients may be outside the box if those in floats are barely inside."""
    rng = np.random.default_rng(seed)
    X, y = rng.integers(-2, 3, (6, 4)), rng.integers(-3, 4, 6)
    assert best_subset(X, y, 2, box=0.25).certificate.verify(X, y)


def test_the_gap_of_a_certificate_allows_for_rounding():
    """One column suffices but for rounding, which decides whether the bounds of the others bind."""
    for seed in range(10):
        X = np.random.default_rng(seed).standard_normal((6, 3))
        y = np.linalg.pinv(X).T @ (X.T @ X[:, 0] + [1, 0, 0])
        assert best_subset(X, y, 2, ridge=1.0, positive=True).certificate.verify(X, y), seed


def test_float32_columns_with_a_large_mean_are_centred_in_float64():
    X = np.array([[8192.0, 1.0], [8192.0, 2.0], [8192.0078125, 3.0], [8192.0, 5.0]], np.float32)
    y = np.array([1.0, 1.0, 2.0, 1.0], np.float32)
    for gap in (0.0, 1e-12):  # both searches
        best = best_subset(X, y, 1, intercept=True, gap=gap)
        assert best.support.tolist() == [0]
        assert best.lower_bound == 0


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"box": np.nan}, ValueError, "box must not have NaN"),
        ({"box": -1.0}, ValueError, "box must contain 0"),
        ({"box": [[1, 2], [0, 1], [0, 1]]}, ValueError, "box must contain 0"),
        ({"box": [1, 2]}, ValueError, "box must have the shape"),
        ({"box": [[1, 2], [1]]}, ValueError, "box must be a rectangular array"),
        ({"box": "auto"}, ValueError, 'box must be "proved"'),
        ({"box": ["a", "b", "c"]}, TypeError, "box must hold real numbers"),
        ({"box": 1j}, TypeError, "box must hold real numbers"),
        ({"groups": [0, 1]}, ValueError, "groups must have a label for each of the 3 features"),
        ({"groups": [0, np.nan, np.nan]}, ValueError, "groups has no label for column 1; got nan"),
        ({"groups": [0, None, 1]}, ValueError, "groups has no label for column 1; got None"),
        ({"groups": [0, {}, 1]}, TypeError, "groups must be a list of numbers, or of texts"),
        ({"positive": "no"}, TypeError, "positive must be True or False"),
        ({"positive": [True, False, True]}, TypeError, "positive must be True or False"),
        ({"k": 3, "groups": [0, 1, 1]}, ValueError, r"k must be in 1\.\.2; got 3: there are 2 groups"),
        ({"k": []}, ValueError, "k must be an integer or a sequence of integers; got an empty sequence"),
        ({"k": [2, 9]}, ValueError, r"k must be in 1\.\.3; got 9"),
        ({"k": [[1, 2], 3]}, TypeError, r"k must be an integer; got \[1, 2\]"),
        ({"forced": [1, 0], "k": 1, "groups": [0, 1, 1]}, ValueError, "forced features count in k: got 2"),
    ],
)
def test_bad_options_are_named(arguments, error, words):
    refuses("^" + words, best_subset, np.eye(3), [1.0, 2.0, 3.0], error=error, **{"k": 2, **arguments})
    refuses(r"^result must be a result of best_subset", resume_subset, 3, error=TypeError)


def test_an_interrupt_at_any_line_leaves_a_search_that_can_go_on(monkeypatch):
    rng, examine, before = np.random.default_rng(0), BestFirst._examine, sys.gettrace()
    X, y = rng.integers(-3, 4, (8, 6)), rng.integers(-5, 6, 8)
    lines, stop = 0, -1

    def follow(frame, event, argument):
        nonlocal lines
        if frame.f_code.co_filename != examine.__code__.co_filename:
            return None
        lines += event == "line"
        if lines == stop:
            lines += 1
            raise KeyboardInterrupt
        return follow

    def examine_lines(*arguments):
        sys.settrace(follow)
        try:
            examine(*arguments)
        finally:
            sys.settrace(before)

    monkeypatch.setattr(BestFirst, "_examine", examine_lines)
    full = best_subset(X, y, 2, gap=1e-12)
    assert full.nodes > 3
    for i in range(1, lines, 4):
        stop, lines = i, 0
        best = best_subset(X, y, 2, gap=1e-12)
        assert best.status is sl.Status.STOPPED
        assert best.lower_bound <= full.residual + 1e-9
        best = resume_subset(best)
        assert (best.nodes, best.objective) == (full.nodes, full.objective)
        assert best.certificate.verify(X, y)


def test_an_interrupt_between_two_sizes_keeps_the_first_result(monkeypatch):
    begin = BestFirst.__init__

    def interrupt(search, problem, k, *arguments, **options):
        if k == 1:
            raise KeyboardInterrupt
        begin(search, problem, k, *arguments, **options)

    monkeypatch.setattr(BestFirst, "__init__", interrupt)
    best = best_subset(np.eye(3), [1.0, 2.0, 3.0], range(1, 4), ridge=1.0)
    assert [len(found.support) for found in best.by_size] == [2, 3]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("ridge", [1e-160, 1e-200, 1e-290])
def test_a_tiny_ridge_leaves_the_derived_box_wide(ridge):
    X, y = np.array([[1, 1, 0], [0, 1, 1]]), np.array([1, 3])
    best = best_subset(X, y, 1, ridge=ridge, box="proved")
    assert best.support.tolist() == [2]
    assert best.certificate.verify(X, y)


def test_a_ridge_is_not_rounded_up():
    """Divided by 2⁶⁰², it is below the least normal number."""
    X, ridge = 2.0**300 * np.array([[1, 1], [0, 0]]), (1 + 1.75 * 2.0**-11) * 2.0**-461
    assert best_subset(X, [1, 1], 1, ridge=ridge, box=1.0).certificate.verify(X, [1, 1])


if __name__ == "__main__":
    _search._INTERVAL = 0.0
    for name, number in sorted(judge_many(range(int(sys.argv[1]))).items()):
        print(name, number, sep=": ")  # noqa: T201
