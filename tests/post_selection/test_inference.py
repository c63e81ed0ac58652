"""Exact inference after selection, against brute force, numbers of many digits and R's selectiveInference."""

import importlib
import itertools
import sys
from collections import namedtuple

import mpmath as mp
import numpy as np
import pytest
import scipy.sparse
import scipy.special
import scipy.stats
from refusals import refuses
from sklearn.datasets import load_diabetes

import sparselin as sl
from sparselin.results.display import digits_of

laws = pytest.importorskip("sparselin.post_selection._laws")
conditional = importlib.import_module("sparselin.post_selection._conditional")
WEIGHTS, INF = np.array([1.0, 2.0, 0.5, 3.0, 1.5, 0.1] * 2), np.inf

# Truncation sets: y moves along a statistic, and the path is computed again


# The method, number of steps, options; the design: shape, change of X, seed; the options of inference
Case = namedtuple("Case", ["method", "k", "options", "shape", "change", "seed", "wanted"])
ONES = {"intercept": True}
ALL = {"intercept": True, "standardize": True, "sample_weight": WEIGHTS}
KNOWN, UNKNOWN = {"sigma": 0.7}, {"sigma": "unknown"}
FULL, FULL_BIC = {"sigma": "full"}, {"sigma": "full", "k": "bic"}
BIC, EBIC = {"sigma": 1, "k": "bic"}, {"sigma": 1, "k": "ebic"}
WAYS = {
    "plain": (4, {}, (12, 6), ""), "options": (3, ALL, (12, 6), ""),
    "forced": (4, {"intercept": True, "forced": [2, 4]}, (12, 8), ""), "wide": (5, ONES, (8, 20), ""),
    "lengths": (3, {"standardize": True, "sample_weight": WEIGHTS}, (12, 6), "lengths"),
}  # fmt: skip
CASES = {
    f"{method}, {way}, {tuple(wanted.values())}": Case(method, *WAYS[way], seed, wanted)
    for seed, ((method, wanted), way) in enumerate(itertools.product([
        *itertools.product(["omp", "ols", "lasso_path"], [KNOWN, BIC, EBIC, UNKNOWN]),
        ("lasso_path", {"sigma": 1, "lam": 0.8}), ("lasso_path", {"sigma": "unknown", "lam": 0.8}),
    ], WAYS))
} | {
    f"{method}, {way}, {tuple(wanted.values())}": Case(method, *WAYS[way], seed, wanted)
    for seed, ((method, wanted), way) in enumerate(itertools.product([
        *itertools.product(["omp", "ols", "lasso_path"], [FULL, FULL_BIC]),
        ("lasso_path", {"sigma": "full", "lam": 0.8}), ("omp", {"sigma": "full", "k": "ebic"}),
    ], [way for way in WAYS if way != "wide"]))
} | {
    "sequential_lasso": Case("sequential_lasso", 3, {"forced": [1]}, (12, 6), "", 18, KNOWN),
    "sparse": Case("omp", 3, ONES, (12, 6), "sparse", 5, KNOWN),
    "n = k": Case("omp", 6, {}, (6, 9), "", 9, KNOWN),
    "two of five steps": Case("omp", 5, {}, (12, 6), "", 11, KNOWN | {"k": 2}),
    "nothing at this λ": Case("lasso_path", 8, {}, (8, 20), "", 29, {"sigma": 1, "lam": 99.0}),
    "returns at once": Case("lasso_path", 9, {}, (10, 8), "correlated", 10, KNOWN),
    **{f"{method}, near": Case(method, 4, {}, (12, 6), "near", 7, KNOWN) for method in ("omp", "ols")},
    **{f"{method}, k = d": Case(method, 6, {}, (12, 6), "", 7, KNOWN) for method in ("omp", "ols")},
    **{f"leaves, {w}": Case("lasso_path", 6, ONES, (10, 8), "correlated", 5, w) for w in (KNOWN, UNKNOWN)},
    **{f"returns, {w}": Case("lasso_path", 7, {}, (10, 8), "correlated", 34, w) for w in (KNOWN, BIC)},
    **{f"leaves all, {w}": Case("lasso_path", 3, {}, (6, 2), "two", 1, w) for w in (BIC, EBIC, UNKNOWN)},
}  # fmt: skip


def design(case):
    rng = np.random.default_rng(case.seed)
    (n, d), y = case.shape, rng.standard_normal(case.shape[0])
    X = rng.standard_normal((n, d))
    X = {
        "lengths": lambda: X * 10.0 ** np.linspace(-4, 4, d),
        "near": lambda: X[:, np.repeat(np.arange(0, d, 2), 2)] + 1e-4 * X * (np.arange(d) % 2),
        "two": lambda: X @ [[1, 0.3], [0, 0.2]],
        "correlated": lambda: X + 2 * rng.standard_normal((n, 1)) @ rng.choice([-1, 1], (1, d)),
    }.get(case.change, lambda: X)()
    return X, y + (case.change in ("two", "correlated")) * X[:, 0] / np.linalg.norm(X[:, 0])


class Brute:
    """A case at its data: models, statistics and decisions from their definitions."""

    def __init__(self, case):
        self.case, self.wanted, (self.X, self.y) = case, case.wanted, design(case)
        self.given = scipy.sparse.csc_array(self.X) if case.change == "sparse" else self.X
        self.weight = {key: value for key, value in case.options.items() if key == "sample_weight"}
        self.root = np.sqrt(self.weight.get("sample_weight", np.ones(12)))[: len(self.y)]
        self.y *= (1.0 if isinstance(self.wanted["sigma"], str) else self.wanted["sigma"]) / self.root
        self.forced, self.ones = tuple(case.options.get("forced", ())), int("intercept" in case.options)
        self.by_criterion, self.lam = isinstance(self.wanted.get("k"), str), self.wanted.get("lam")
        self.path = self.select(self.y)
        self.models = self.models_of(self.path)

    def select(self, y):
        if self.case.method == "lasso_path":
            end = {"lam_min": self.lam} if self.lam else {"max_steps": self.case.k}
            return sl.lasso_path(self.given, y, **end, **self.case.options)
        return getattr(sl, self.case.method)(self.given, y, self.case.k, **self.case.options)

    def columns(self, A):
        """Return the columns of a model, each row times the root of its weight."""
        ones = np.ones((len(self.y), self.ones))
        return self.root[:, None] * np.column_stack([ones, self.X[:, list(A)]])

    def off(self, A, v):
        Q = np.linalg.qr(self.columns(A))[0]
        return v - Q @ (Q.T @ v)

    def signs(self, path):
        """Return the signs on each segment of a LASSO path, or at λ, with 0 for features without penalty."""
        coef = np.zeros((len(path), path.n_features))
        coef[:, path.features] = path.coef_path
        signs = np.sign(path.at(self.lam)[None] if self.lam else coef[1:] + coef[:-1])
        signs[:, self.forced] = 0
        return signs

    def models_of(self, path):
        """Return the models after 0, 1, … steps, features in the order of their entry; or the one at λ."""
        if isinstance(path, sl.results.SelectionPath):
            return [tuple(path.support[:t]) for t in range(len(self.forced), len(path) + 1)]
        models = [self.forced]
        for signs in self.signs(path):
            kept = [j for j in models[-1] if signs[j] or j in self.forced]
            models.append((*kept, *np.setdiff1d(np.flatnonzero(signs), kept)))
        return models

    def choice(self, y, models):
        """Return the number of steps that BIC or EBIC chooses."""
        n, sizes, p = len(y), np.array([len(A) for A in models]), self.X.shape[1] - len(self.forced)
        gamma = max(0, 1 - np.log(n) / (4 * np.log(p))) * (self.wanted["k"] == "ebic")
        scores = n * np.log([np.sum(self.off(A, self.root * y) ** 2) for A in models]) + sizes * np.log(n)
        scores += 2 * gamma * np.log(scipy.special.comb(p, sizes - len(self.forced)))
        rises = np.flatnonzero(np.diff(scores) > 0)
        return int(rises[0]) if gamma and len(rises) else int(np.argmin(scores))

    def statistics(self):
        """Yield for each p-value: if of a step, row, number of steps given, η, model, if the sign is."""
        total = len(self.models) - 1 if self.by_criterion else self.wanted.get("k", len(self.models) - 1)
        used, rows = self.choice(self.y, self.models) if self.by_criterion else total, list(self.forced)
        last = self.models[used]
        for t in range(used):
            new = [*{*self.models[t + 1]} ^ {*self.models[t]}]
            rows += [j for j in last if j in new] if self.lam else new
            if not self.lam and new[0] in self.models[t + 1]:
                eta, model = self.off(self.models[t], self.columns(new)[:, -1]), (*self.models[t], *new)
                yield True, len(rows) - 1, total if self.by_criterion else t + 1, eta, model, True
        for j, eta in zip(last, np.linalg.pinv(self.columns(last))[self.ones :], strict=True):
            known = used > 0 and not self.lam and j not in self.models[used - 1]
            yield False, len(rows) - 1 - rows[::-1].index(j), total, eta, last, known

    def decisions(self, y, steps):
        """Return all that inference is conditional on, for the first steps of the path of another y."""
        path, f = self.select(y), len(self.forced)
        if isinstance(path, sl.results.SelectionPath):
            signs = np.sign(np.diag(path.coef_path))
            made = path.support[: f + steps].tolist(), signs[f : f + steps].tolist()
        else:
            made = self.signs(path)[:steps].tolist()
        return made, self.by_criterion and self.choice(y, self.models_of(path))

    def line(self, eta, model):
        """Return the function that moves y to an offset, and the law of the statistic with its point."""
        v, q, sigma = self.root * self.y, eta / np.linalg.norm(eta), self.wanted["sigma"]
        if sigma == "full":
            return self.on_sphere(v, q)
        x, rest = q @ v, self.off(model, v)
        if sigma != "unknown":
            return lambda delta: (v + delta * sigma * q) / self.root, (gaussian, x / sigma)
        height, m = np.linalg.norm(rest), len(self.y) - self.columns(model).shape[1] - 1

        def rotated(delta):
            c, s = np.cos(2 * np.arctan(delta)), np.sin(2 * np.arctan(delta))
            share = c - x * s / height
            moved = v + (x * c + height * s - x) * q + (share - 1) * rest
            return moved / self.root if share > 0 else None

        return rotated, (circular, x, height, m)

    def estimate(self):
        """Return σ, or its estimate by the residual of all features; this residual; and n − d."""
        every = range(self.X.shape[1])
        rest, free = self.off(every, self.root * self.y), len(self.y) - self.X.shape[1] - self.ones
        known = self.wanted["sigma"] != "full"
        return self.wanted["sigma"] if known else np.linalg.norm(rest) / np.sqrt(free), rest, free

    def on_sphere(self, v, q):
        """Move y so that (qᵀy)² + ‖P_X^⊥y‖² stays; the offset is that of qᵀy, in units of the estimate."""
        unit, rest, free = self.estimate()
        x = q @ v / unit

        def moved(delta):
            left = free - delta**2 - 2 * delta * x
            return (
                (v + delta * unit * q + (np.sqrt(left / free) - 1) * rest) / self.root if left > 0 else None
            )

        return moved, (spherical, x, free)


def spherical(x, free, low, high):
    """Return the integral of (free − δ² − 2δx)^{free/2 − 1} between two offsets, where this is positive."""
    x = mp.mpf(x)
    root = mp.sqrt(x * x + free)
    low, high = (min(max(mp.mpf(end), -x - root), root - x) for end in (low, high))
    inside = [end for end in (-x,) if low < end < high]
    power = mp.mpf(free) / 2 - 1
    return mp.quad(lambda t: abs(free - t * t - 2 * t * x) ** power, [low, *inside, high])


def gaussian(x, low, high):
    """Return the mass of N(0, 1) between two offsets from x."""
    a, b = mp.mpf(x) + low, mp.mpf(x) + high
    return mp.ncdf(-a) - mp.ncdf(-b) if a > 0 else mp.ncdf(b) - mp.ncdf(a)


def circular(x, height, m, low, high):
    """Return the integral of sin^m between two offsets tan(θ/2) from the angle of (x, height)."""
    angles = (mp.atan2(mp.mpf(height), mp.mpf(x)) - 2 * mp.atan(mp.mpf(end)) for end in (high, low))
    a, b = (min(max(phi, 0), mp.pi) for phi in angles)
    top = mp.sin(min(max(a, mp.pi / 2), b))  # the largest value between a and b
    return top**m * mp.quad(lambda phi: (mp.sin(phi) / top) ** m, [a, b]) if a < b else mp.mpf(0)


def tails(pieces, law, *point):
    """Return the shares of a set that lie above and below the observed value."""
    above = sum(law(*point, max(low, 0.0), high) for low, high in pieces if high > 0)
    below = sum(law(*point, low, min(high, 0.0)) for low, high in pieces if low < 0)
    return above / (above + below), below / (above + below)


def pivots(x, unit, pieces, ends, law=gaussian, *rest):
    """Return the shares of a set above an estimate x if its mean is at each of these ends."""
    return np.array([tails(pieces, law, (mp.mpf(x) - mp.mpf(end)) / unit, *rest)[0] for end in ends])


@pytest.fixture
def sets(monkeypatch):
    """Return a dictionary that a call of inference fills with the outer and inner set of each p-value."""
    found, corners = {}, laws.corners
    record = lambda *pair: (found.setdefault(id(pair[0]), pair), corners(*pair))[1]  # noqa: E731
    monkeypatch.setattr(laws, "corners", record)
    monkeypatch.setattr(conditional, "spacing_p_values", lambda *_: np.nan)
    return found


@pytest.mark.parametrize("name", CASES)
def test_sets_hold_the_responses_with_the_same_selection(name, sets):
    B = Brute(CASES[name])
    result = sl.inference(B.given, B.y, B.path, level=0.9, **B.wanted, **B.weight)
    found = list(B.statistics())
    assert len(sets) == len(found) == np.sum(~np.isnan([result.p_value, result.step_p_value]))
    for (of_step, row, steps, eta, model, known), (outer, inner) in zip(found, sets.values(), strict=True):
        move, law = B.line(eta, model)
        kept, ends = B.decisions(B.y, steps), np.array([end for end in sum(outer, ()) if np.isfinite(end)])
        for delta in [*np.linspace(-8, 8, 16), *(ends * (1 - 1e-6)), *(ends * (1 + 1e-6))]:
            if (moved := move(delta)) is not None:
                same = B.decisions(moved, steps) == kept
                assert same <= any(low <= delta <= high for low, high in outer), (row, of_step, delta)
                assert same >= any(low <= delta <= high for low, high in inner), (row, of_step, delta)
        both, estimate = tails(inner, *law), eta @ (B.root * B.y)
        p = both[int(estimate < 0)] if known else 2 * min(both)
        low, high = (result.step_bounds if of_step else result.bounds)[row]
        assert (1 - 1e-8) * low <= p <= (1 + 1e-8) * high <= (1 + 1e-3) * low
        assert of_step or result.estimate[row] == pytest.approx(estimate, rel=1e-7)
        if not of_step and B.wanted["sigma"] != "unknown":
            unit = np.linalg.norm(eta) * B.estimate()[0]
            wanted = estimate + unit * np.array([outer[0][0], outer[-1][1]])
            np.testing.assert_allclose(result.truncation[row], wanted, rtol=1e-7, atol=1e-7 * abs(estimate))
            if B.wanted["sigma"] == "full" and B.by_criterion:  # the set is that of a zero coefficient
                assert np.isnan(result.interval[row]).all()
                continue
            shares = pivots(estimate, unit, inner, result.interval[row], law[0], *law[2:])
            np.testing.assert_allclose(shares.astype(float), [0.05, 0.95], rtol=1e-3)


# Digits

SETS = {
    "all": [(-INF, INF)], "below": [(-INF, 0.1)], "above": [(-3e-5, INF)], "short": [(-1e-12, 2e-12)],
    "union": [(-5.0, -4.0), (-0.1, 0.2), (3.0, INF)], "far": [(-INF, -30.0), (-1e-9, 1e-9), (40.0, 41.0)],
}  # fmt: skip
POINTS = [(gaussian, x) for x in (0.3, 8.5, -37.0, 500.0)]
POINTS += [(spherical, *at) for at in itertools.product((0.3, -40.0), (2, 3, 4, 19))]
POINTS += [(circular, *at) for at in itertools.product((0.0, 0.3, -4.0, 1e6), (0.7, 1.0), (0, 1, 17))]


def bounds_of(law, exact):
    """Return the bounds of both tails, and check that their logarithms agree with them."""
    found = laws.tails(law, exact, exact)
    for tail in found:
        if tail.bounds[0] > 1e-300:
            np.testing.assert_allclose(tail.logarithm, np.log(tail.bounds), rtol=1e-12, atol=1e-15)
    return [tail.bounds for tail in found]


def law_of(error, law, x, *rest):
    if law is spherical:
        return laws.Student(x, error, 1.0, *rest)
    return laws.Circle(x, rest[0], error, rest[1]) if rest else laws.Normal(x, error)


@pytest.mark.parametrize("point", POINTS)
@pytest.mark.parametrize("name", SETS)
def test_tails_and_limits_hold_the_true_values(name, point):
    exact, law = SETS[name], law_of(0.0, *point)
    with mp.workdps(60):
        for (low, high), true in zip(bounds_of(law, exact), tails(exact, *point), strict=True):
            assert low <= true <= high <= (1 + 1e-15) * low + 1e-300
        for side in (-1, 1) if point[0] is not circular and point[-1] != 2 else ():
            low, high = laws.limits(law, exact, exact, 0.9)[int(side > 0)]
            least, most = pivots(law.x, 1, exact, (low, high), point[0], *point[2:])
            assert least <= (1 + side * mp.mpf(0.9)) / 2 <= most
            assert high - low <= 4e-14 * max(1, abs(high))


@pytest.mark.parametrize(
    "point",
    [(gaussian, -3.0), (circular, 1.0, 2.0, 5), (circular, -2.0, 1.0, 3), (spherical, 0.4, 3)],
)
def test_bounds_hold_all_values_within_the_errors(point):
    outer, inner, (law, x, *rest) = [(-1.0, 0.5), (0.8, 2.0)], [(-0.99, 0.49), (0.82, 1.97)], point
    low, high = laws.tails(law_of(1e-3, *point), outer, inner)[0].bounds
    ends = zip(sum(outer, ()), sum(inner, ()), strict=True)
    for a, b, c, d, u, v in itertools.product(*ends, (-1e-3, 1e-3), (-1e-3, 1e-3)):
        moved = [rest[0] + v, rest[1]] if law is circular else rest
        assert low <= tails([(a, b), (c, d)], law, x + u, *moved)[0] <= high < low + 0.05


def inverse(M):
    return np.array((mp.matrix(M.T @ M) ** -1).tolist()) @ M.T


def polyhedron(X, B):
    """Yield the vectors a with ay ≥ 0 if and only if OMP or OLS takes the same steps."""
    signs = np.sign(np.diag(B.path.coef_path))
    for A, i, s in zip(B.models, B.path.support, signs, strict=False):
        Z = X - X[:, list(A)] @ (inverse(X[:, list(A)]) @ X) if A else X
        size = [mp.sqrt(z @ z) if B.path.fit.by_length and j not in A else 1 for j, z in enumerate(Z.T)]
        for j, sign in itertools.product(range(X.shape[1]), (1, -1)):
            if j not in A and (j, sign) != (i, s):
                yield size[j] / size[i] * s * Z[:, i] - sign * Z[:, j]


@pytest.mark.parametrize("sigma", [1.0, 0.01])
@pytest.mark.parametrize("method", ["omp", "ols"])
def test_bounds_hold_the_exact_values(method, sigma):
    """The polyhedral lemma of Lee et al., with X and y as exact numbers."""
    B = Brute(CASES[f"{method}, plain, (0.7,)"])
    result = sl.inference(B.X, B.y, B.path, sigma=sigma)
    with mp.workdps(60):
        X, y = (np.vectorize(mp.mpf, otypes=[object])(part) for part in (B.X, B.y))
        for row, eta in enumerate(inverse(X[:, B.path.support])):
            unit, estimate = mp.sqrt(eta @ eta) * sigma, eta @ y
            slopes = [(a @ y, a @ eta * sigma**2 / unit) for a in polyhedron(X, B)]
            ends = [-mp.inf, mp.inf, *(-slack / slope for slack, slope in slopes if abs(slope) > 1e-40)]
            pieces = [(max(z for z in ends if z < 0), min(z for z in ends if z > 0))]
            both, (low, high) = tails(pieces, gaussian, estimate / unit), result.bounds[row]
            p = both[int(estimate < 0)] if row == len(B.path) - 1 else 2 * min(both)
            assert low <= p <= high <= (1 + 1e-8) * low + 1e-300
            for bounds, share in zip(result.interval_bounds[row], (0.025, 0.975), strict=True):
                least, most = pivots(estimate, unit, pieces, bounds)
                assert least <= share <= most
                assert bounds[1] - bounds[0] <= 1e-6 * abs(bounds[1])


def test_every_printed_digit_is_proved(rng):
    centre = rng.choice([-1, 1], 2000) * 10.0 ** rng.uniform(-12, 8, 2000)
    low = centre - np.abs(centre) * 10.0 ** rng.uniform(-17, 1, 2000)
    bounds = np.column_stack([low, low + (centre - low) * rng.uniform(1, 2, 2000)])
    for (low, high), text in zip(bounds, digits_of(bounds), strict=True):
        mantissa, _, power = text.removeprefix("≤ ").partition("e")
        unit = 10.0 ** (int(power or 0) - len(mantissa.partition(".")[2]))
        value = float(text.removeprefix("≤ "))
        assert value >= high if "≤" in text else max(value - low, high - value) <= 0.5000001 * unit


# Special cases and simulations


def test_without_selection_the_tests_are_the_classical_ones(rng):
    X, y = np.column_stack([rng.standard_normal((20, 5)), np.ones(20)]), rng.standard_normal(20)
    M = X[:, [0, 1, 2, 5]]
    coef, error = np.linalg.pinv(M) @ y, np.sqrt(np.diag(np.linalg.inv(M.T @ M)))
    rss = [np.linalg.lstsq(part, y, rcond=None)[1][0] for part in (M, X, X[:, 5:])]
    path = sl.omp(X[:, :5], y, 3, forced=[0, 1, 2], intercept=True)
    tests = {0.9: (0.9, scipy.stats.norm), "unknown": (np.sqrt(rss[0] / 16), scipy.stats.t(16))}
    tests["full"] = np.sqrt(rss[1] / 14), scipy.stats.t(14)
    tests["response"] = np.sqrt(rss[2] / 19), scipy.stats.norm
    for sigma, (value, law) in tests.items():
        result = sl.inference(X[:, :5], y, path, sigma=sigma, level=0.99)
        np.testing.assert_allclose(result.p_value, 2 * law.sf(abs(coef / error / value))[:3])
        half = law.ppf(0.995) * value * error[:3]
        np.testing.assert_allclose(result.interval.T, [coef[:3] - half, coef[:3] + half])


# `test_sets_hold_the_responses_with_the_same_selection` tests the sets of all cases
UNIFORM = ("omp, options, (0.7,)", "ols, options, ('full',)", "lasso_path, options, ('unknown', 0.8)")


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=() if name in UNIFORM else pytest.mark.slow)
        for name in CASES
        if ", options, " in name
    ],
)
def test_p_values_are_uniform_without_signal(name):
    found = []
    for seed in range(70):
        B = Brute(CASES[name]._replace(seed=seed))
        result = sl.inference(B.X, B.y, B.path, **B.wanted, **B.weight)
        found += [*result.p_value[:1], *result.step_p_value[1:2]]
    assert scipy.stats.kstest(np.array(found)[~np.isnan(found)], "uniform").pvalue > 0.001


# Refusals

X, Y = design(CASES["omp, plain, (0.7,)"])
RANDOM = {"method": "randomized"}
OMP, LASSO, COPY = sl.omp(X, Y, 3), sl.lasso_path(X, Y), np.column_stack([X, X])
REFUSED = {
    "X must be float64": (X.astype(np.float32), Y, OMP), "compressed": (sl.compress([(X, Y)]), None, OMP),
    "Gram": (sl.Problem.from_gram(X.T @ X, X.T @ Y, Y @ Y), None, OMP),
    "needs the entries of X": (scipy.sparse.linalg.aslinearoperator(X), Y, OMP),
    "come from positive=True": (X, Y, sl.omp(X, Y, 1, positive=True)),
    "STOPPED": (X, Y, sl.omp(X, Y, 3, callback=lambda *a: True)),
    "tie at step 1": (COPY, Y, sl.omp(COPY, Y, 3), {"sigma": 1}),
    "tie: at knot 1|tie at": (COPY, Y, sl.lasso_path(COPY, Y, max_steps=3), {"sigma": 1}),
    "not from sequential_attention": (X, Y, sl.sequential_attention(X, Y, 1)),
    "GeneralizedPath": (X, Y, sl.generalized_omp(X, Y > 0, 1, loss="logistic", intercept=True)),
    "TOLERANCE": (X, Y, sl.omp(X, Y, 6, tol=0.9)),
    "not take an estimate|takes an estimate": (X[:10], Y[:10], sl.omp(X[:10], Y[:10], 2), RANDOM),
    "n − d ≥ 3 degrees of freedom, .* got n − d = 0": (X[:5], Y[:5], sl.omp(X[:5], Y[:5], 2), FULL),
    "got n − d = 2": (X[:8], Y[:8], sl.omp(X[:8], Y[:8], 2), FULL),
    "cannot be estimated": (X, X[:, 0], sl.omp(X, X[:, 0], 1), FULL),
    "needs a residual": (X[:3], Y[:3], sl.omp(X[:3], Y[:3], 3), UNKNOWN),
    "not belong to X": (X[:, ::-1], Y, OMP), "not belong to X and y": (X, Y[::-1], OMP),
    "not belong to .*λ": (X, 2 * Y, OMP), ".*λ of step 1": (X, 2 * Y, LASSO, {"k": 2}),
    "Pass the data and the sample_weight": (X, Y[::-1], LASSO, {"lam": 0.5}),
    "sample_weight": (X, Y, OMP, {"sample_weight": WEIGHTS}),
}  # fmt: skip
REFUSED |= {words: (X, Y, OMP, options) for words, options in {
    "sigma must be positive, .* got 0": {"sigma": 0}, "sigma must be positive, .* got -1": {"sigma": -1.0},
    "sigma must be finite": {"sigma": np.nan}, "level must be finite": {"level": np.nan},
    "level must be between 0 and 1; got 1": {"level": 1.0}, r"k must be in 0\.\.3; got 4": {"k": 4},
    '"bic" or "ebic"': {"k": "aic"}, "number k": {"k": "bic", "sigma": "unknown"}, "LassoPath": {"lam": 1.0},
    "adds noise of the size": {"sigma": "unknown", **RANDOM},
    'sigma must be a number, "full"': {"sigma": "ful"},
}.items()}  # fmt: skip
REFUSED |= {words: (X, Y, LASSO, options) for words, options in {
    "cross-validation": {"lam": [0.1, 0.2]}, "For such a λ pass method=.split. and a function": {"lam": "cv"},
    "Pass a number k": {}, "k and lam exclude": {"lam": 0.5, "k": 2}, "lam must be positive": {"lam": 0.0},
}.items()}  # fmt: skip


@pytest.mark.parametrize("words", REFUSED)
def test_bad_input_is_refused(words):
    *data, options = (*REFUSED[words], {})[:4]
    refuses(words, sl.inference, *data, **options, error=(TypeError, ValueError))


def test_without_python_flint_the_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "flint", None)
    monkeypatch.delitem(sys.modules, laws.__name__)
    refuses(r"sparselin\[verify\]", importlib.import_module, laws.__name__, error=ModuleNotFoundError)


# R: `fixedLassoInf` of selectiveInference on diabetes data, in J. Fejlek, *The Ninth Circle: LASSO*, 2025.
# A row has the feature, its coefficient, the one-sided p-value, the interval at level .95.

R = {
    "main effects": "2 26.442081 0.0000 20.35476 32.523704 3 12.841549 0.0001 6.80619 18.575846 "
    "6 -9.235849 0.0139 -14.89843 -1.209576 8 23.094188 0.0000 16.93375 29.260749",
    "interactions": "2 27.274383 0.1994 -35.4351113 31.577382 3 12.215942 0.0213 0.4992781 17.768427 "
    "6 -7.959375 0.0100 -56.2340973 -2.078408 8 24.515013 0.0000 18.4523627 30.607739 "
    "10 7.842231 0.1130 -10.9087122 68.648288 18 5.833830 0.9377 -inf 5.022422 "
    "27 7.575489 0.0487 -2.9785885 63.499288",
}


@pytest.mark.parametrize("name", R)
def test_the_results_at_a_fixed_lambda_agree_with_r(name):
    """R finds the ends of intervals on a grid of 1/50 standard error, up to 100 standard errors away."""
    X, y = load_diabetes(return_X_y=True, scaled=False)
    X, lam = scipy.stats.zscore(X, ddof=1), 442 * 7.71041
    if name == "interactions":
        X = np.column_stack([X, *(X[:, i] * X[:, j] for i, j in itertools.combinations(range(10), 2))])
        X, lam = scipy.stats.zscore(X, ddof=1), lam * 1e-4 ** (1 / 99)  # the next λ of glmnet's grid
    left = np.linalg.lstsq(np.column_stack([np.ones(442), X]), y, rcond=None)[1][0]
    sigma = float(np.sqrt(left / (442 - 1 - X.shape[1])))  # R takes this estimate as σ
    result = sl.inference(X, y, sl.lasso_path(X, y, intercept=True), lam=lam, sigma=sigma)
    feature, coef, p, *ends = np.array(R[name].split(), float).reshape(-1, 5).T
    assert X.shape[1] > 10 or result.sigma == pytest.approx(54.154, abs=5e-4)
    assert result.support.tolist() == feature.tolist()
    np.testing.assert_allclose(result.estimate, coef, atol=6e-4)
    np.testing.assert_allclose(result.p_value, 2 * np.minimum(p, 1 - p), atol=1.1e-3)
    for ours, theirs in zip(result.interval.T, ends, strict=True):
        found = np.isfinite(theirs)
        assert np.all(np.abs(ours - theirs)[found] <= (0.03 * result.standard_error + 6e-4)[found])
        assert np.all(np.abs(ours - coef)[~found] > 100 * result.standard_error[~found])
        assert np.all(np.isfinite(ours))


def test_the_spacing_test_agrees_with_r():
    """`larInf` in the same text: the modified form, in which the next knot takes the place of M⁺."""
    X, y = load_diabetes(return_X_y=True, scaled=False)
    path = sl.lasso_path(scipy.stats.zscore(X), y, intercept=True, max_steps=10)
    result = sl.inference(scipy.stats.zscore(X), y, path, sigma=54.154)
    assert (result.support + 1).tolist() == [3, 9, 4, 7, 2, 10, 5, 8, 6, 1]
    printed = [0, 0, 0.0065, 0.0074, 0.0120, 0.6179, 0.0492, 0.4475, 0.8349, 0.0704]
    np.testing.assert_allclose(result.spacing_p_value, printed, atol=6e-5)


def test_bounds_of_t_tests_hold_next_to_an_exact_fit():
    """A rival that differs from the pick by the direction of a residual of 1e-6: its slope has few digits."""
    held = 0
    for seed in range(12):
        rng = np.random.default_rng(seed)
        x, w, e = (np.linalg.qr(rng.standard_normal((8, 3)))[0] * [3, 1, 1]).T
        X = np.column_stack([x, (1 - 1e-6) * x + w + 1e-6 * np.linalg.norm(x) * e])
        y = x + 1e-6 * rng.uniform(1, 2) * e
        low, high = sl.inference(X, y, sl.omp(X, y, 1), sigma="unknown").step_bounds[0]
        with mp.workdps(50):
            A, b = mp.matrix(X.tolist()), mp.matrix(y.tolist())
            dot = lambda u, v: mp.fsum(p * q for p, q in zip(u, v, strict=True))  # noqa: E731
            x0, x1 = (A[:, j] for j in range(2))
            q = x0 / mp.sqrt(dot(x0, x0))
            r = b - dot(q, b) * q
            height, (at, up) = mp.sqrt(dot(r, r)), (dot(x1, q), dot(x1, r) / mp.sqrt(dot(r, r)))
            last = min(mp.atan2(dot(x0, q) - s * at, s * up) for s in (1, -1) if s * up > 0)
            share = [
                mp.quad(lambda t: mp.sin(t) ** 6, [0, end]) for end in (mp.atan2(height, dot(q, b)), last)
            ]
            held += low <= share[0] / share[1] <= high
    assert held == 12
