"""Valid and forged certificates of best subsets: `python -m tests.forged_subsets COUNT SEED SHARE`.

The producer is a plain branch and bound with exact bounds. The oracle enumerates all supports in fractions.
Neither shares code with the check. A forgery may be accepted only if its claim is true.
"""

import dataclasses
import functools
import itertools
import json
import math
import sys
from collections import Counter
from fractions import Fraction

import numpy as np

from sparselin.check.subset_checker import check
from sparselin.subsets.certificate import SubsetCertificate
from sparselin.subsets.certificate_form import SubsetStage, SubsetVector
from tests.fractional import centred_gram, fractions, solve

_HUGE = Fraction(10) ** 400  # in place of an infinite height


def column_scale(X):
    """Return, for each column, the exponent of the least power of two above its entries (d,)."""
    return np.frexp(np.abs(X).max(axis=0))[1].astype(np.intp)


def rounded(stage, w, scale, bits=30):
    """Return w (d,), in the units of X, rounded to integers of at most `bits` bits and a power of two."""
    scaled = np.ldexp(w, scale)
    exponent = int(np.frexp(np.abs(scaled).max(initial=0.0))[1]) - bits
    entries = np.rint(np.ldexp(scaled, -exponent)).astype(np.intp)
    features = np.flatnonzero(entries)
    return SubsetVector(stage, features, entries[features], exponent)


@dataclasses.dataclass(frozen=True)
class Task:
    """A small problem: X and y as tuples of floats, and the options of a certificate."""

    X: tuple
    y: tuple
    weights: tuple
    k: int
    ridge: float
    intercept: bool
    forced: tuple
    labels: tuple
    lower: tuple
    upper: tuple
    hierarchy: tuple = ()

    def features(self, units):
        return [j for j, unit in enumerate(self.labels) if unit in units]

    def subsets(self, out=()):
        """Return the largest sets of units with the forced ones and without some, or all with a hierarchy."""
        free = [u for u in range(max(self.labels) + 1) if u not in {*self.forced, *out}]
        room = min(self.k - len(self.forced), len(free))
        sizes = range(room + 1) if self.hierarchy else [room]
        found = [(*self.forced, *more) for size in sizes for more in itertools.combinations(free, size)]
        return [S for S in found if all(needed in S for unit, needed in self.hierarchy if unit in S)]


def random_task(rng):
    """Draw a task with any of the options; the data are integers, floats, raw scales or dependent columns."""
    n, d = int(rng.integers(4, 10)), int(rng.integers(2, 8))
    X = rng.integers(-3, 4, (n, d)).astype(float) if rng.random() < 0.4 else rng.standard_normal((n, d))
    kind = rng.integers(5)
    if kind == 0:
        X *= 10.0 ** rng.integers(-8, 9, d)
    if kind == 1 and d > 2:
        X[:, -1] = X[:, 0] * rng.choice([1.0, -2.0])
        X[:, 1] = X[:, 0] + (X[:, 2] if rng.random() < 0.5 else 0)
    if kind == 2:
        X[:, 0] = rng.integers(0, 2)
    if kind == 3:
        X = X + rng.standard_normal((n, 1)) * 3
    y = X @ rng.integers(-1, 2, d) + rng.standard_normal(n)
    y = np.round(y) if rng.random() < 0.4 else y
    weights = rng.integers(0, 4, n).astype(float) if rng.random() < 0.3 else np.ones(n)
    weights = rng.random(n) if rng.random() < 0.2 else weights
    weights[0] = 1.0
    labels = rng.integers(0, d, d) if rng.random() < 0.3 else np.arange(d)
    labels = np.unique(labels, return_inverse=True)[1]
    units = int(labels.max()) + 1
    k = int(rng.integers(0 if rng.random() < 0.1 else 1, min(units, 3) + 1))
    forced = rng.choice(units, int(rng.integers(0, k + 1)), replace=False) if rng.random() < 0.3 else ()
    lower, upper = np.full(d, 0.0 if rng.random() < 0.3 else -np.inf), np.full(d, np.inf)
    if rng.random() < 0.3:
        upper = np.where(rng.random(d) < 0.7, rng.choice([0.25, 0.5, 1.0, 2.0], d), np.inf)
        lower = np.maximum(lower, -upper)
    task = Task(
        X=tuple(map(tuple, X.tolist())),
        y=tuple(y.tolist()),
        weights=tuple(weights.tolist()),
        k=k,
        ridge=float(rng.choice([0.0, 0.0, 0.5, 1.0, 0.1])),
        intercept=bool(rng.random() < 0.3),
        forced=tuple(map(int, forced)),
        labels=tuple(labels.tolist()),
        lower=tuple(lower.tolist()),
        upper=tuple(upper.tolist()),
    )
    related = dataclasses.replace(task, hierarchy=random_hierarchy(units, rng.spawn(1)[0]))
    return related if related.subsets() else task


def random_hierarchy(units, rng):
    """Draw pairs (a, b) where a needs b, with those that follow from others; often none, and with cycles."""
    needs = rng.random((units, units)) < rng.choice([0.0, 0.0, 0.1, 0.3])
    for middle in range(units):
        needs |= np.outer(needs[:, middle], needs[middle])
    return tuple((a, b) for a, b in np.argwhere(needs).tolist() if a != b)


class Oracle:
    """The exact minima of a task over supports, by enumeration of the free features and those at a bound."""

    def __init__(self, task):
        self.task = task
        columns = fractions([*zip(*task.X, strict=True), task.y])
        self.G = centred_gram(columns, fractions(task.weights), task.intercept)
        for j in range(len(task.labels)):
            self.G[j][j] += Fraction(task.ridge)
        self.fit = functools.cache(self.compute_fit)

    def compute_fit(self, units):
        """Return the least value of a β that is zero off these units, β, and its features at 0 or a bound."""
        task = self.task
        support, ends = task.features(units), []
        for j in support:
            bounds = [Fraction(v) for v in (task.lower[j], task.upper[j]) if math.isfinite(v)]
            ends.append(list(dict.fromkeys([None, *bounds, Fraction(0)])))
        points = (self.point(dict(zip(support, e, strict=True))) for e in itertools.product(*ends))
        return min(filter(None, points), key=lambda point: point[0])

    def point(self, ends):
        """Minimise over the features without an end: the value, β and the ends, or None outside the box."""
        task, free, y = self.task, [j for j, end in ends.items() if end is None], len(self.G) - 1
        fixed = {j: end for j, end in ends.items() if end is not None}
        b = [self.G[i][y] - sum(self.G[i][j] * v for j, v in fixed.items()) for i in free]
        x = solve([[self.G[i][j] for j in free] for i in free], b)
        if x is None or any(not task.lower[j] <= v <= task.upper[j] for j, v in zip(free, x, strict=True)):
            return None
        beta = fixed | dict(zip(free, x, strict=True))
        slopes = {i: sum(self.G[i][j] * w for j, w in beta.items()) / 2 - self.G[i][y] for i in beta}
        return self.G[y][y] / 2 + sum(slopes[i] * v for i, v in beta.items()), beta, fixed

    @functools.cached_property
    def best(self):
        """Return the least value, and the units of a subset that has it."""
        return min((self.fit(units)[0], units) for units in self.task.subsets())


oracle = functools.lru_cache(256)(Oracle)


class Producer:
    """A branch and bound for a task that records its tree, and can cheat.

    units : the subset of the certificate; by default the best one.
    honest : whether bounds must reach the target.
    excess : the factor of D. If it is not 1, cases with one support are bounded by vectors, too.
    skip : whether a split leaves out the branch with a best subset, if there is only one.
    """

    def __init__(self, task, rng, gap=0.0, units=None, honest=True, excess=1.0, skip=False):
        self.task, self.rng, self.gap = task, rng, gap
        self.honest, self.excess, self.skip = honest, excess, skip
        self.oracle, self.scale = oracle(task), column_scale(np.array(task.X))
        self.d, self.count = len(task.lower), max(task.labels) + 1
        self.units = self.oracle.best[1] if units is None else units
        value, self.beta, _ = self.oracle.fit(tuple(self.units))
        self.target = (1 - Fraction(gap)) * value
        self.stages, self.vectors, self.tree = [], [], []
        self.power = [Fraction(2) ** int(s) for s in self.scale]

    def ends(self, units):
        """Return the features of these units that are at the lower and at the upper bound in the best fit."""
        fixed = self.oracle.fit(tuple(units))[2]
        lower = tuple(j for j, v in fixed.items() if v == self.task.lower[j])
        return lower, tuple(j for j, v in fixed.items() if v == self.task.upper[j] and j not in lower)

    def gram(self, features, ridge=0):
        """Return G on these features less a ridge, in floats."""
        G = self.oracle.G
        return np.array([[float(G[i][j] - (ridge if i == j else 0)) for j in features] for i in features])

    def stage(self, features):
        """Add the stage of these features with the largest multiple of the diagonal, or the ridge alone."""
        known = [stage.features.tolist() for stage in self.stages]
        if features in known:
            return known.index(features)
        ridge = Fraction(self.task.ridge)
        G = self.gram(features, ridge)
        size = np.sqrt(np.diag(G)) if features else np.zeros(0)
        least = np.linalg.eigvalsh(G / np.outer(size, size))[0] if size.all() and features else 0.0
        share = Fraction(float(self.rng.choice([0.5, 0.9, 0.99])) * least if least > 1e-7 else 0.0)
        pairs = zip(features, fractions(size), strict=True)
        scaled = [float((ridge + share * v**2) / self.power[j] ** 2) for j, v in pairs]
        scaled = np.nextafter(np.array(scaled, np.float64), 0.0) * self.excess  # at most the fractions
        self.stages.append(SubsetStage(np.array(features, np.intp), scaled))
        return len(self.stages) - 1

    def heights(self, vector):
        """Return the exact bound without any unit, and the heights of the units."""
        stage, G, y = self.stages[vector.stage], self.oracle.G, self.d
        J = stage.features.tolist()
        unit, entries = Fraction(2) ** vector.exponent, vector.entries.tolist()
        D = {j: v * self.power[j] ** 2 for j, v in zip(J, fractions(stage.diagonal), strict=True)}
        w = {j: v * unit / self.power[j] for j, v in zip(vector.features.tolist(), entries, strict=True)}
        c = {j: G[j][y] - sum(G[j][i] * v for i, v in w.items()) + D[j] * w.get(j, 0) for j in J}
        heights = [Fraction(0)] * self.count
        for j in J:
            end = (self.task.upper if c[j] > 0 else self.task.lower)[j]
            if math.isfinite(end) and abs(c[j]) > D[j] * Fraction(abs(end)):
                heights[self.task.labels[j]] += c[j] * Fraction(end) - D[j] * Fraction(end) ** 2 / 2
            elif c[j]:
                heights[self.task.labels[j]] += c[j] ** 2 / (2 * D[j]) if D[j] else _HUGE
        return (G[y][y] - sum(v * (G[j][y] - c[j]) for j, v in w.items())) / 2, heights

    def vector(self, inside, free, room):
        """Add the best of some vectors; return its number, its heights and its bound as a function."""
        features, fit, tried = self.task.features({*inside, *free}), np.zeros(self.d), []
        own = self.rng.random() < 0.5 or not self.stages
        s = self.stage(features if own else self.stages[0].features.tolist())
        best = np.array([float(self.beta.get(j, 0)) if j in features else 0.0 for j in range(self.d)])
        if features:
            G, b = self.gram(features), np.array([float(self.oracle.G[j][self.d]) for j in features])
            size = np.sqrt(np.diag(G)) + (np.diag(G) == 0)
            fit[features] = np.linalg.lstsq(G / np.outer(size, size), b / size, rcond=1e-12)[0] / size
        fit = np.clip(fit, self.task.lower, self.task.upper)
        for w in (np.zeros(self.d), best, fit, fit * self.rng.random(self.d)):
            vector = rounded(s, w, self.scale, int(self.rng.choice([12, 30, 50])))
            tried.append((vector, *self.heights(vector)))

        def bound(trial, inside, free, room):
            _, base, heights = trial
            largest = sorted((heights[u] for u in free), reverse=True)[:room]
            return base - sum(heights[u] for u in inside) - sum(largest)

        trial = max(tried, key=lambda trial: bound(trial, inside, free, room))
        self.vectors.append(trial[0])
        return len(self.vectors) - 1, trial[2], functools.partial(bound, trial)

    def build(self, inside, out):
        """Bound the case with these units in and out, and with those that the hierarchy decides."""
        if self.task.hierarchy:
            sets = [{*S} for S in self.task.subsets(out) if inside <= {*S}]
            if not sets:
                return
            inside, out = set.intersection(*sets), {*range(self.count)} - set.union(*sets)
        free = [u for u in range(self.count) if u not in inside and u not in out]
        room = self.task.k - len(inside)
        if (room == 0 or len(free) <= room) and self.excess == 1 and self.rng.random() < 0.8:
            self.tree.append(("value", *self.ends(inside if room == 0 else {*inside, *free})))
            return
        v, heights, bound = self.vector(inside, free, room)
        if bound(inside, free, room) >= self.target or not (self.honest or self.rng.random() < 0.5):
            self.tree.append(("bound", v))
            return
        if room == 0 or not free:
            self.tree.append(("value", *self.ends(inside)))
            return
        rest = {u: [f for f in free if f != u] for u in free}
        outs = tuple(u for u in free if bound({*inside, u}, rest[u], room - 1) >= self.target)
        ins = tuple(u for u in free if bound(inside, rest[u], room) >= self.target)[:room]
        if outs or ins:
            self.tree.append(("out", v, outs) if outs else ("in", v, ins))
            self.build(inside if outs else {*inside, *ins}, {*out, *outs})
            return
        j = max(free, key=heights.__getitem__)
        self.tree.append(("split", j))
        if not (self.skip and j in self.oracle.best[1]):
            self.build({*inside, j}, out)
        if not (self.skip and j not in self.oracle.best[1]):
            self.build(inside, {*out, j})

    def certificate(self, out=()):
        self.build({*self.task.forced}, {*out})
        task, labels = self.task, np.array(self.task.labels)
        at_lower, at_upper = self.ends(self.units)
        whole = [v for v, w in enumerate(self.vectors) if len(self.stages[w.stage].features) == self.d
                 and max(self.heights(w)[1]) < _HUGE]  # fmt: skip
        return SubsetCertificate(
            shape=np.shape(task.X),
            k=task.k,
            ridge=task.ridge,
            gap=self.gap,
            intercept=task.intercept,
            forced=task.forced,
            groups=None if task.labels == tuple(range(self.d)) else labels,
            lower=np.array(task.lower),
            upper=np.array(task.upper),
            support=tuple(self.units),
            at_lower=at_lower,
            at_upper=at_upper,
            scale=self.scale,
            box=pick(whole, self.rng) if whole and self.rng.random() < 0.7 else None,
            stages=tuple(self.stages),
            vectors=tuple(self.vectors),
            tree=tuple(self.tree),
            hierarchy=task.hierarchy,
        )


def judge(text, task):
    """Return what `verify` says: proved, refused as malformed, or refused although its form is right.

    In the last case, if the claim is about the given task, say whether it is false. AssertionError if a claim
    that is accepted is false.
    """
    try:
        certificate = SubsetCertificate.from_json(text)
    except ValueError:
        return "malformed"
    found = certificate.verify(np.array(task.X), np.array(task.y), np.array(task.weights))
    assert found.proved == (not found.failures)
    if found.value is None:
        return "malformed"
    claim, is_true = claim_of(text, found.value, task)
    if found.proved:
        assert is_true()
        return "accepted and true"
    return "refused and false" if claim == task and not is_true() else "refused, true or not decided"


def claim_of(text, value, task):
    """Return the task that a certificate is about, and a function that decides its claim by enumeration."""
    given, d, bounds = json.loads(text), len(task.lower), {}
    for name, sign in (("lower", -1), ("upper", 1)):
        bounds[name] = tuple(sign * math.inf if v is None else v for v in given[name])
    claim = dataclasses.replace(
        task,
        k=given["k"],
        ridge=given["ridge"],
        intercept=given["intercept"],
        forced=tuple(given["forced"]),
        labels=tuple(range(d) if given["groups"] is None else given["groups"]),
        **bounds,
        hierarchy=tuple(map(tuple, given["hierarchy"])),
    )

    def is_true():
        truth = oracle(claim)
        assert len({*given["support"], *claim.forced}) <= claim.k
        assert all(b in given["support"] for a, b in claim.hierarchy if a in given["support"])
        lowest = (1 - Fraction(given["gap"])) * value
        return truth.fit(tuple(given["support"]))[0] <= value and truth.best[0] >= lowest

    return claim, is_true


def pick(values, rng):
    return values[int(rng.integers(len(values)))]


def places(value, path=()):
    """Yield the paths of all entries of nested lists and objects."""
    if path:
        yield path
    if isinstance(value, (list, dict)):
        for key in range(len(value)) if isinstance(value, list) else value:
            yield from places(value[key], (*path, key))


def change(value, rng):
    """Return a value near the given one, or an absurd one."""
    if rng.random() < 0.06:
        return pick([None, True, "x", [], {}, -1, 0, 10**9, 10**30, 0.5, 1e300, [1], [[0]], 2**20], rng)
    if type(value) is bool:
        return not value
    if type(value) is int:
        steps = [1, -1, 2, -2, value, -2 * value, value // 3, int(rng.integers(-(2**20), 2**20))]
        return value + pick(steps, rng)
    if type(value) is float:
        near = value * (1 + 2.0 ** -int(rng.integers(1, 50)) * pick([-1, 1], rng))
        return pick([near, near, 2 * value, value / 2, 0.0, -value, value + 0.01, 1.0], rng)
    if isinstance(value, str):
        return pick(["bound", "in", "out", "split", "value"], rng)
    if isinstance(value, list) and value:
        i, j, swapped = int(rng.integers(len(value))), int(rng.integers(len(value))), [*value]
        swapped[i], swapped[j] = value[j], value[i]
        before, other, after = value[:i], [value[j]], value[i + 1 :]
        return pick([before + after, before + other + value[i:], swapped, before + other + after], rng)
    return pick([None, 0, 1.5, [0], "bound"], rng)


def mutate(text, rng):
    """Return a certificate in JSON with one to three fields changed at random."""
    fields = json.loads(text)
    for _ in range(pick([1, 1, 1, 2, 3], rng)):
        name = pick([*fields, *fields, "tree", "tree", "vectors", "stages"], rng)
        path = (name, *pick([(), (), *places(fields[name])], rng))
        owner = functools.reduce(lambda owner, key: owner[key], path[:-1], fields)
        owner[path[-1]] = json.loads(json.dumps(change(owner[path[-1]], rng)))
    return json.dumps(fields)


def false_certificate(task, rng):
    """Return a name and a certificate of a random subset, which cheats in one way."""
    factor = pick([1.01, 1.5, 4.0, 1000.0], rng)
    kind, options = pick(
        [
            ("low bounds", {"honest": False}),
            ("low bounds, D too large", {"honest": False, "excess": factor}),
            ("D too large for a worse set", {"excess": factor}),
            ("a branch left out", {"skip": True}),
            ("a branch left out, low bounds", {"skip": True, "honest": False}),
            ("a gap too small", {"gap": 0.3}),
        ],
        rng,
    )
    certificate = Producer(task, rng, units=pick(task.subsets(), rng), **options).certificate()
    return kind, dataclasses.replace(certificate, gap=0.0)


def forge(task, rng):
    """Yield a name, a certificate that aims at a weak point, and the task whose data it is tried on."""
    valid = Producer(task, rng).certificate()

    def changed(name, certificate=valid, **fields):
        return name, dataclasses.replace(certificate, **fields), task

    for _ in range(8):
        kind, false = false_certificate(task, rng)
        yield changed(kind, false)
    yield changed("the end is missing", false, tree=false.tree[: rng.integers(len(false.tree))])
    for fewer in ({}, {"forced": ()}, {"hierarchy": ()}):
        sets = dataclasses.replace(task, **fewer)
        yield changed("another support", support=pick(sets.subsets(), rng), at_lower=(), at_upper=())
    out = {*range(max(task.labels) + 1)} - {*task.forced}
    if len(out) > task.k - len(task.forced):
        out = {pick(sorted(out), rng)}
        best = min(task.subsets(out), key=lambda units: oracle(task).fit(units)[0], default=None)
        if best is not None:
            yield changed("a unit left out", Producer(task, rng, units=best).certificate(out))
    if task.hierarchy:
        pairs = [pair for pair in task.hierarchy if rng.random() < 0.5]
        yield changed("pairs left out", hierarchy=tuple(pairs))
    i, size = int(rng.integers(len(valid.tree))), 2.0 ** -int(rng.integers(-4, 40))
    yield changed("an operation missing", tree=valid.tree[:i] + valid.tree[i + 1 :])
    larger = [SubsetStage(s.features, s.diagonal * (1 + size) + pick([0.0, size], rng)) for s in valid.stages]
    yield changed("D too large", stages=tuple(larger))
    for certificate in (valid, false):
        if certificate.vectors:
            bounds = [("bound", v) for v in range(len(certificate.vectors))]
            tree = tuple(pick(bounds, rng) if rng.random() < 0.3 else o for o in certificate.tree)
            yield changed("an operation replaced by a bound", certificate, tree=tree)
            tree = tuple(pick(bounds, rng) if o[0] == "value" else o for o in certificate.tree)
            yield changed("values replaced by bounds", certificate, tree=tree)
            vectors = []
            for v in certificate.vectors:
                move = rng.integers(-(2**28), 2**28, len(v.entries)) >> int(rng.integers(28))
                vectors.append(dataclasses.replace(v, entries=v.entries + move))
            yield changed("other vectors", certificate, vectors=tuple(vectors))
    for name in ("X", "y"):
        data = np.array(getattr(task, name))
        moved = (data * (1 + size * rng.standard_normal(data.shape))).tolist()
        moved = tuple(map(tuple, moved)) if name == "X" else tuple(moved)
        yield f"another {name}", valid, dataclasses.replace(task, **{name: moved})


def attack(count, seed, share=0.0):
    """Judge forgeries and mutations, and count what `verify` says; AssertionError if it accepts a falsehood.

    share : the share of the certificates that the separate checker judges too.
    """
    rng, counts = np.random.default_rng(seed), Counter()
    while sum(times for (name, _), times in counts.items() if name != "separate checker") < count:
        task = random_task(rng)
        tried = [(name, certificate.to_json(), data) for name, certificate, data in forge(task, rng)]
        bases = [false_certificate(task, rng)[1], false_certificate(task, rng)[1]]
        bases.append(Producer(task, rng).certificate())
        tried += [("mutation", mutate(base.to_json(), rng), task) for base in bases * 15]
        for name, text, data in tried:
            counts[name, judge(text, data)] += 1
            if rng.random() < share:
                proved, value = check(text, data.X, data.y, data.weights)
                assert not proved or claim_of(text, value, data)[1]()
                counts["separate checker", "accepted and true" if proved else "refused"] += 1
    return counts


if __name__ == "__main__":
    for pair, number in sorted(attack(int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])).items()):
        print(*pair, number, sep=": ")  # noqa: T201
