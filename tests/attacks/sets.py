"""All sets of k features, and a gap, with ridge, box, signs, groups, intercept and weights, by enumeration.

The value of a set is the least of all stationary points: each coefficient is free, at a bound, or 0.
"""

import itertools
import math
from fractions import Fraction

import numpy as np
from flint import fmpq, fmpq_mat

import sparselin

from .oracles import C, number
from .run import UNDECIDED, call, claim

# The error that values may have, relative to ‖y‖², by the documentation of `SubsetsWithin` and `BestSubset`.
VALUE = Fraction(1, 10**9)
EPS = (0.0, 0.0, 1e-12, 0.01, 0.5, 3.0)
GAPS = (0.0, 1e-12, 1e-3, 0.05, 0.5)


def rational(x):
    numerator, denominator = float(x).as_integer_ratio()
    return fmpq(numerator, denominator)


def fraction(q):
    return Fraction(int(q.p), int(q.q))


class Sets:
    """The options that a seed draws for a case, and the exact values of all sets of groups.

    size : ‖y‖², or ‖y − ȳ‖² with an intercept.
    """

    def __init__(self, case):
        self.case, rng = case, np.random.default_rng([case.seed, 5])
        n, d = case.X.shape
        self.options, self.labels = {}, list(range(d))
        length = np.linalg.norm(case.X.astype(float), axis=0)
        usual = float(np.linalg.norm(case.y.astype(float))) / (float(np.median(length)) or 1.0)
        low, high = np.full(d, -np.inf), np.full(d, np.inf)
        if rng.random() < 0.3:
            self.options["ridge"] = float(np.median(length) ** 2) * float(rng.choice([1e-12, 1e-3, 0.1, 1.0]))
        if rng.random() < 0.3:
            high = np.where(rng.random(d) < 0.8, usual * rng.choice([0.1, 0.5, 1.0, 4.0], d), np.inf)
            low = -high
            self.options["box"] = np.column_stack([low, high])
        if rng.random() < 0.25:
            low = np.zeros(d)
            self.options["positive"] = True
        if rng.random() < 0.25 and d > 2:
            self.labels = np.unique(rng.integers(0, d - 1, d), return_inverse=True)[1].tolist()
            self.options["groups"] = [f"group {label}" for label in self.labels]
        if rng.random() < 0.3:
            self.options["intercept"] = True
        self.weights = np.ones(n)
        if rng.random() < 0.2:
            self.weights = rng.integers(0, 4, n) * 0.5
            self.weights[0] = 1.0
            self.options["sample_weight"] = self.weights
        if case.forced:
            self.options["forced"] = list(case.forced)
        self.forced = {self.labels[j] for j in case.forced}
        self.count = max(self.labels) + 1
        self.k = int(rng.integers(max(1, len(self.forced)), self.count + 1))
        self.box = list(zip(low.tolist(), high.tolist(), strict=True))
        self.rng, self.values = rng, {}
        self.H = self.gram()
        self.size = fraction(self.H[d, d])
        for j in range(d):
            self.H[j, j] += rational(self.options.get("ridge", 0.0))

    def gram(self):
        """Return [X y]ᵀW[X y] of columns less their means, if there is an intercept."""
        w = [rational(v) for v in self.weights]
        columns = [[rational(v) for v in x] for x in (*self.case.X.T, self.case.y)]
        if self.options.get("intercept"):
            total, centred = sum(w, fmpq(0)), []
            for x in columns:
                mean = sum((a * b for a, b in zip(w, x, strict=True)), fmpq(0)) / total
                centred.append([v - mean for v in x])
            columns = centred
        n, m = len(w), len(columns)
        Z = fmpq_mat(n, m, [columns[j][i] for i in range(n) for j in range(m)])
        W = fmpq_mat(n, m, [w[i] * columns[j][i] for i in range(n) for j in range(m)])
        return Z.transpose() * W

    def rounding(self, found):
        """Return C times the first-order error of ‖y − Xβ‖² for the β of a result, when it is computed."""
        lengths = np.sqrt(self.weights @ np.column_stack([self.case.X, self.case.y]).astype(float) ** 2)
        size = lengths[-1] + lengths[:-1] @ np.abs(found.dense_coef().astype(float))
        error = C * float(np.finfo(self.case.X.dtype).eps) * size
        return error * (2 * math.sqrt(found.residual) + error)

    def is_constant(self):
        """Return whether centring leaves of a column, or of y, what may be rounding."""
        columns = np.column_stack([self.case.X, self.case.y]).astype(float)
        squares = self.weights @ columns**2
        d = len(self.labels)
        left = [
            number(self.H[j, j] - (rational(self.options.get("ridge", 0.0)) if j < d else 0))
            for j in range(d + 1)
        ]
        eps = float(np.finfo(self.case.X.dtype).eps)
        return any(0 < a < (1e3 * eps) ** 2 * b for a, b in zip(left, squares.tolist(), strict=True))

    def members(self, S):
        return [j for j, label in enumerate(self.labels) if label in S]

    def is_small(self):
        """Return whether the stationary points of all sets are few."""
        ends = [1 + len({e for e in (0.0, *pair) if math.isfinite(e)}) for pair in self.box]
        if self.options.keys().isdisjoint({"box", "positive"}):
            return True
        return sum(math.prod(ends[j] for j in self.members(S)) for S in self.all(self.k)) < 6000

    def all(self, k):
        free = [g for g in range(self.count) if g not in self.forced]
        for more in itertools.combinations(free, k - len(self.forced)):
            yield tuple(sorted({*self.forced, *more}))

    def value(self, S):
        """Return the least ‖y − Xβ‖² + ridge‖β‖² within the box for β on the groups S."""
        if S not in self.values:
            J, y, bounded = self.members(S), len(self.labels), {"box", "positive"} & self.options.keys()
            if not bounded:
                independent = []
                for j in J:
                    if self.point([*independent, j], {}) is not None:
                        independent.append(j)
                found = [self.point(independent, {})]
            else:
                ends = [
                    list(dict.fromkeys([None, 0.0, *(e for e in self.box[j] if math.isfinite(e))])) for j in J
                ]
                found = []
                for chosen in itertools.product(*ends):
                    fixed = {j: e for j, e in zip(J, chosen, strict=True) if e is not None}
                    found.append(self.point([j for j in J if j not in fixed], fixed))
            assert y == len(self.box)
            self.values[S] = min(value for value in found if value is not None)
        return self.values[S]

    def point(self, free, fixed):
        """Return the value at the stationary point with some coefficients fixed; None outside the box."""
        H, y = self.H, len(self.labels)
        held = [(j, rational(e)) for j, e in fixed.items() if e]
        right = [H[i, y] - sum((H[i, j] * e for j, e in held), fmpq(0)) for i in free]
        try:
            A = fmpq_mat(len(free), len(free), [H[i, j] for i in free for j in free])
            x = A.solve(fmpq_mat(len(free), 1, right)) if free else fmpq_mat(0, 1, [])
        except ZeroDivisionError:
            return None
        beta = [(j, x[i, 0]) for i, j in enumerate(free)]
        for j, b in beta:
            low, high = self.box[j]
            if (math.isfinite(low) and b < rational(low)) or (math.isfinite(high) and b > rational(high)):
                return None
        beta += held
        value = H[y, y] - 2 * sum((b * H[j, y] for j, b in beta), fmpq(0))
        value += sum((a * b * H[i, j] for i, a in beta for j, b in beta), fmpq(0))
        return fraction(value)


def drawn(case):
    """Return the sets of a case, or None where enumeration is too long, or a column constant to rounding."""
    sets = Sets(case)
    if not sets.is_small() or (sets.options.get("intercept") and sets.is_constant()):
        return None
    return sets


def sizes(sets):
    """Return k, at times as a sequence with one more size."""
    if sets.rng.random() < 0.3 and sets.k > max(1, len(sets.forced)):
        return [sets.k - 1, sets.k]
    return sets.k


def subsets_within(sl, case):
    """The list has exactly the sets within the limit; of a Problem, perhaps others left open by rounding."""
    sets = drawn(case)
    if sets is None:
        return None
    eps, given, k = float(sets.rng.choice(EPS)), (case.given(), case.y), sizes(sets)
    options = dict(sets.options)
    exact = sets.rng.random() < 0.8
    if not exact:
        at = {name: options.pop(name) for name in ("intercept", "sample_weight") if name in options}
        given = (sparselin.Problem(*given, **at), None)
    found = call(case, sl.subsets_within, *given, k, eps=eps, **options)
    results = found.by_size if isinstance(k, list) else (found,)
    claim(len(results) == (2 if isinstance(k, list) else 1), f"{len(results)} results for k = {k}")
    judged = [
        judge_list(sets, size, eps, one, exact) for size, one in zip(np.atleast_1d(k), results, strict=True)
    ]
    return UNDECIDED if UNDECIDED in judged else None


def judge_list(sets, k, eps, found, exact):
    values = {tuple(sets.members(S)): sets.value(S) for S in sets.all(int(k))}
    limit, room = min(values.values()) * (1 + Fraction(eps)), VALUE * sets.size
    listed = {tuple(S.tolist()): float(v) for S, v in zip(found.supports, found.values, strict=True)}
    words = f"k = {k}, eps = {eps}, {sets.options}: {found.status.name}"
    claim(len(listed) == len(found.supports), f"{words}: a set is repeated")
    missing = [S for S, value in values.items() if value <= limit and S not in listed]
    claim(
        not missing,
        f"{words}: {missing} within {float(limit)} missing, {[float(values[S]) for S in missing]}",
    )
    if not found.complete:
        claim(not exact and found.status.name == "BEYOND_PRECISION", f"{words}: not complete")
        return UNDECIDED
    claim(found.status.name == "COMPLETED", f"{words}, but complete")
    most = limit if exact else limit + 2 * room * (1 + Fraction(eps))
    extra = [S for S in listed if values[S] > most]
    claim(not extra, f"{words}: {extra} beyond {float(limit)}: {[float(values[S]) for S in extra]}")
    off = {S: abs(Fraction(v) - values[S]) for S, v in listed.items()}
    claim(max(off.values()) <= room, f"{words}: values off by {float(max(off.values()))}")
    claim(abs(Fraction(found.limit) - limit) <= room * (1 + Fraction(eps)), f"{words}: limit {found.limit}")
    return None


def best_subset_gap(sl, case):
    """A gap that was asked for is met, or the status says that it is not; no set is below the bound."""
    sets = drawn(case)
    if sets is None:
        return None
    gap, k = float(sets.rng.choice(GAPS)), sizes(sets)
    found = call(case, sl.best_subset, case.given(), case.y, k, gap=gap, **sets.options)
    results = found.by_size if isinstance(k, list) else (found,)
    ends = set()
    for size, one in zip(np.atleast_1d(k), results, strict=True):
        words = f"k = {size}, gap = {gap}, {sets.options}: {one.status.name}, optimal {one.optimal}"
        least = min(sets.value(S) for S in sets.all(int(size)))
        value, room = 2 * Fraction(one.objective), VALUE * sets.size
        rounding = room + Fraction(sets.rounding(one))
        claim(
            Fraction(one.lower_bound) <= least * (1 + Fraction(1e-15)),
            f"{words}: {one.lower_bound} > {least}",
        )
        claim(value >= least - rounding, f"{words}: value {float(value)} < {float(least)}")
        ends.add(one.status.name)
        if one.optimal:
            # of the depth-first search 1e-6, see `BestSubset.optimal`
            claim(value - least <= 1000 * room + rounding, f"{words}: {float(value)}, least {float(least)}")
        elif one.status.name != "BEYOND_PRECISION":
            claim(gap > 0, f"{words}: not optimal")
            unmet = value - Fraction(one.lower_bound) > max(Fraction(gap) * value, room) * (
                1 + Fraction(1e-12)
            )
            claim(not unmet, f"{words}: [{one.lower_bound}, {float(value)}]")
    return UNDECIDED if "BEYOND_PRECISION" in ends else None
