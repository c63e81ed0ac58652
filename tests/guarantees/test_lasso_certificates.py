"""Certificates of LASSO paths: valid ones hold, and no forgery that says something false.

`python -m tests.guarantees.test_lasso_certificates COUNT SEED` judges COUNT forgeries. The oracle enumerates
all active sets and signs in fractions, and all λ at which one of them may begin or cease to be optimal.
"""

import functools
import itertools
import json
import sys
from collections import Counter
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import sparselin as sl
from sparselin.certificates.lasso import LassoCertificate, LassoKnot
from tests.forged_subsets import change, pick, places
from tests.fractional import dot, fractions, gram, solve
from tests.refusals import refuses


class Oracle:
    """The solutions of a small LASSO at any λ, by enumeration of the active sets and their signs."""

    def __init__(self, X, y, S, positive):
        self.d, self.S, self.positive = X.shape[1], list(S), positive
        columns = fractions(X.T)
        self.G, self.b = gram(columns), [dot(x, fractions(y)) for x in columns]
        self.off = [j for j in range(self.d) if j not in S]
        self.lines, places = [], {Fraction(0)}
        for signs in itertools.product((0, 1) if positive else (0, 1, -1), repeat=len(self.off)):
            A = {j: s for j, s in zip(self.off, signs, strict=True) if s}
            J = [*S, *A]
            M = [[self.G[i][j] for j in J] for i in J]
            level = solve(M, [self.b[j] for j in J])
            if level is None:
                continue
            slope = solve(M, [Fraction(-A.get(j, 0)) for j in J])
            c = [
                (self.b[i] - dot([self.G[i][j] for j in J], level), -dot([self.G[i][j] for j in J], slope))
                for i in range(self.d)
            ]
            self.lines.append((A, dict(zip(J, zip(level, slope, strict=True), strict=True)), c))
            places |= {-a / b for a, b in zip(level, slope, strict=True) if b}
            places |= {a / (s - b) for a, b in c for s in (1, -1) if b != s}
        self.places = sorted(v for v in places if v >= 0)
        self.at = functools.cache(self.compute)

    def compute(self, lam):
        """Return (A, β, tied) of the solutions at λ with independent columns, and whether one is unique."""
        found = []
        for A, lines, lines_c in self.lines:
            beta = {j: a + lam * b for j, (a, b) in lines.items()}
            c = [a + lam * b for a, b in lines_c]
            size = [v if self.positive else abs(v) for v in c]
            if all(s * beta[j] > 0 for j, s in A.items()) and all(size[j] <= lam for j in self.off):
                tied = [j for j in self.off if size[j] == lam]
                unique = solve(gram_of(self.G, [*self.S, *tied]), [0] * (len(self.S) + len(tied))) is not None
                found.append((A, beta, unique))
        return found

    def is_true(self, given):
        """Decide whether a certificate in rationals, of the right form, states the truth."""
        end = given.knots[-1].lam
        inner = [v for v in self.places if v > end]
        grid = [end, *inner, (inner or [end])[-1] + 1]
        truth = []  # the pieces from above: the λ below which the solution has the active set A
        above = {}
        for low, high in reversed(list(itertools.pairwise(grid))):
            found = self.at((low + high) / 2)
            if len(found) != 1 or not found[0][2]:
                return False
            if found[0][0] != above:
                above = found[0][0]
                truth.append((high, above))
        if end < 0 or (not truth and end != self.largest()):
            return False
        truth.append((end, above))
        if len(truth) != len(given.knots):
            return False
        before = {}
        for knot, (lam, A) in zip(given.knots, truth, strict=True):
            if (knot.lam, dict(zip(knot.active, knot.signs, strict=True))) != (lam, A):
                return False
            J = [*self.S, *(j for j in knot.active if j in before)]
            beta = {j: v for j, v in zip(J, knot.coef, strict=True) if v}
            exact = [{j: v for j, v in value.items() if v} for _, value, _ in self.at(lam)]
            if beta not in exact:
                return False
            before = A
        return True

    def largest(self):
        line = next(c for A, _, c in self.lines if not A)
        sizes = [line[j][0] if self.positive else abs(line[j][0]) for j in self.off]
        return max([Fraction(0), *sizes])


def gram_of(G, J):
    return [[G[i][j] for j in J] for i in J]


def random_task(rng):
    """Draw small integers, with copies, sums, a common part, zero columns and ties; forced features; signs."""
    n, d = int(rng.integers(1, 5)), int(rng.integers(1, 5))
    X = rng.integers(-2, 3, (n, d)) + pick([0, 0, 0, 3], rng)
    y = rng.integers(-4, 5, n)
    for j in np.flatnonzero(rng.random(d) < 0.1):
        X[:, j] = (X[:, rng.integers(d)] + rng.integers(2) * X[:, rng.integers(d)]) * pick([-1, 1], rng)
    S = tuple(j for j in range(d) if X[:, j].any())[: int(rng.random() < 0.3)]
    return X.astype(float), y.astype(float), S, bool(rng.random() < 0.3)


def mutate(text, rng):
    """Return a certificate in JSON with one entry changed at random."""
    fields = json.loads(text)
    *path, last = pick([place for place in places(fields) if place[0] not in ("format", "sha256")], rng)
    owner = functools.reduce(lambda owner, key: owner[key], path, fields)
    if isinstance(owner[last], str):
        old = Fraction(*(int(part, 16) for part in owner[last].split("/")))
        new = pick([-old, 2 * old, old / 2, old + 1, old + Fraction(1, 2**60), Fraction(0)], rng)
        owner[last] = f"{new.numerator:x}/{new.denominator:x}"
    else:
        owner[last] = change(owner[last], rng)
    return json.dumps(fields)


def forge(given, rng):
    """Yield a name and a certificate that states another path, consistent in its form where possible."""
    rows, k = list(given.knots), int(rng.integers(len(given.knots)))
    row = rows[k]
    eps = Fraction(1, 2 ** int(rng.integers(1, 60)))
    yield "a knot left out", replace(given, knots=tuple(rows[:k] + rows[k + 1 :]))
    yield "a knot twice", replace(given, knots=tuple([*rows[: k + 1], *rows[k:]]))
    yield "an earlier end", replace(given, knots=(*rows[:k], replace(row, active=rows[k - 1].active)))
    yield "another λ", replace(given, knots=(*rows[:k], replace(row, lam=row.lam + eps), *rows[k + 1 :]))
    yield "another sign of the problem", replace(given, positive=not given.positive)
    if len(rows) > 1:
        a, b, t = rows[-2], rows[-1], Fraction(int(rng.integers(-8, 9)), 8)
        J = [*given.forced, *a.active]
        top = dict(zip([*given.forced, *(j for j in a.active if k > 0 and j in rows[-3:][0].active)], a.coef))
        coef = tuple((1 - t) * v + t * top.get(j, 0) for j, v in zip(J, b.coef, strict=True))
        lam = (1 - t) * b.lam + t * a.lam
        yield "an end on the same line", replace(given, knots=(*rows[:-1], replace(b, lam=lam, coef=coef)))
        signs = tuple(-s for s in row.signs)
        coef = tuple(-v for v in row.coef)
        new = replace(row, signs=signs, coef=coef)
        yield "other signs", replace(given, knots=(*rows[:k], new, *rows[k + 1 :]))
    for _ in range(25):
        yield "mutation", mutate(given.to_json(), rng)


def candidates(X, y, S, positive):
    """Return certificates of true paths, and of paths of a method that sees fewer features."""
    try:
        path = sl.lasso_path(X, y, forced=S, positive=positive)
        yield "", sl.certify(X, y, path)
    except ValueError:
        return
    for j in {*range(X.shape[1])} - {*S}:  # blind for feature j
        blind = X.copy()
        blind[:, j] = 0
        try:
            made = sl.certify(blind, y, sl.lasso_path(blind, y, forced=S, positive=positive))
            digest = sl.certify(X, y, path).sha256
            yield "blind", replace(made, sha256=digest)
        except ValueError:
            continue


def attack(count, seed):
    """Judge forgeries and count what `verify` says; AssertionError if it accepts a falsehood."""
    rng, counts = np.random.default_rng(seed), Counter()
    while counts.total() < count:
        X, y, S, positive = random_task(rng)
        oracles = {sign: functools.cache(functools.partial(Oracle, X, y, S, sign)) for sign in (True, False)}
        for kind, base in candidates(X, y, S, positive):
            for name, given in [(kind or "valid", base), *forge(base, rng)]:
                try:
                    made = LassoCertificate.from_json(given) if isinstance(given, str) else given
                except ValueError:
                    counts[name, "malformed"] += 1
                    continue
                found = made.verify(X, y)
                if found:
                    oracle = oracles[made.positive]() if made.forced == S else Oracle(X, y, made.forced, made.positive)
                    assert oracle.is_true(made), (X, y, made, made.knots)
                assert found or name != "valid"
                counts[name, "accepted and true" if found else "refused"] += 1
    return counts


def test_no_forgery_is_accepted():
    counts = attack(1500, 1)
    assert {name for name, said in counts if said == "refused"} > {"blind", "mutation", "a knot left out"}
    assert counts["an end on the same line", "accepted and true"] > 3


def test_the_oracle_knows_the_truth():
    rng = np.random.default_rng(5)
    held = 0
    for _ in range(60):
        X, y, S, positive = random_task(rng)
        oracle = Oracle(X, y, S, positive)
        for kind, base in candidates(X, y, S, positive):
            assert bool(base.verify(X, y)) == oracle.is_true(base), (X, y, base.knots)
            held += not kind
    assert held > 15


OPTIONS = ({}, {"positive": True}, {"intercept": True}, {"forced": [1]}, {"lam_min": 0.5}, {"max_steps": 2})


@pytest.mark.parametrize("options", [*OPTIONS, {"lam_min": 1e3}, {"sample_weight": np.arange(1.0, 8.0)}], ids=str)
def test_paths_are_certified(options):
    for seed in range(8):
        rng = np.random.default_rng(seed)
        X, y = rng.standard_normal((7, int(rng.integers(2, 12)))), rng.standard_normal(7)
        X, y = (np.round(2 * X), np.round(2 * y)) if seed == 2 else (X, y)
        X, y = (X.astype(np.float32), y.astype(np.float32)) if seed == 3 else (X, y)
        weights = {name: options[name] for name in ("sample_weight", "intercept") if name in options}
        problem = sl.Problem(X, y, **weights)
        rest = {name: value for name, value in options.items() if name not in weights}
        path = sl.lasso_path(problem, **rest)
        given = sl.certify(problem, path)
        assert given.verify(problem)
        assert LassoCertificate.from_json(given.to_json()) == given
        assert tuple(knot.active for knot in given.knots) == path.active
        assert "other data" in given.verify(X, y + 1).failures[0] if not weights else True
        if "lam_min" in options and len(path) > 1:
            assert given.knots[-1].lam == Fraction(0.5)


def example(d=10):
    rng = np.random.default_rng(3)
    X, y = rng.standard_normal((8, d)), rng.standard_normal(8)
    return X, y, sl.lasso_path(X, y)


def test_a_wrong_path_is_refuted():
    X, y, path = example()
    knots, coef = path.knots.copy(), path.coef_path.copy()
    knots[2] *= 1 + 1e-6
    coef[3, 0] += 1e-6
    active = list(path.active)
    active[2], active[3] = active[3], active[2]
    for changes, words in (
        ({"knots": knots}, r"knots\[2\]: λ is"),
        ({"coef_path": coef}, r"knots\[3\]: the coefficient of feature"),
        ({"active": tuple(active)}, r"knots\[2\]"),
        ({"coef_path": -path.coef_path}, r"knots\[0\]"),
    ):
        refuses(words, sl.certify, X, y, replace(path, **changes))
    refuses("about picks", sl.certify, X, y, path, normalized=True)


def test_dependent_columns_are_refused():
    X, y, _ = example(4)
    X = np.c_[X, X[:, 0]]
    refuses("dependent|may not be unique|not unique", sl.certify, X, y, sl.lasso_path(X, y))
    path = sl.lasso_path(X[:, :4], y, forced=[0, 1])
    X[:, 1] = 2 * X[:, 0]
    refuses("dependent|not unique", sl.certify, X[:, :4], y, path)


def test_each_condition_is_needed():
    """Each failure of the check is seen on a certificate that breaks one condition."""
    X, y, path = example()
    given = sl.certify(X, y, path)
    rows, seen = given.knots, set()
    forced = sl.certify(X, y, sl.lasso_path(X, y, forced=[1]))
    blind = np.where(np.arange(10) == path.active[-1][0], 0.0, X)
    small = sl.certify(blind, y, sl.lasso_path(blind, y))
    moved = replace(forced.knots[0], coef=(forced.knots[0].coef[0] + 1,))
    none = LassoKnot((), (), Fraction(1000), ())
    entry = replace(rows[0], signs=(-rows[0].signs[0],))
    last = replace(rows[-1], lam=rows[-1].lam - 1)
    same = replace(rows[1], lam=rows[0].lam)
    extra = (*rows[:-1], replace(rows[-1], lam=rows[-1].lam), rows[-1])
    middle = (rows[0].lam + rows[1].lam) / 2
    (_,), half = rows[0].active, {j: v / 2 for j, v in zip(rows[0].active, rows[1].coef, strict=True)}
    twice = LassoKnot(rows[0].active, rows[0].signs, middle, tuple(half.values()))
    for broken, words in (
        (replace(given, knots=(*rows[:-1], last)), "λ does not decrease, or is negative"),
        (replace(given, knots=(rows[0], same, *rows[2:])), "λ does not decrease"),
        (replace(forced, knots=(moved, *forced.knots[1:])), "not zero on the forced"),
        (replace(small, sha256=given.sha256), "exceed λ"),
        (replace(given, knots=(none,)), "not the largest correlation"),
        (replace(given, knots=(none, *rows)), "no feature enters|last knot|not the largest"),
        (replace(given, knots=(entry, *rows[1:])), "not ±λ"),
        (replace(given, knots=(rows[0], twice, *rows[1:])), "no feature enters or leaves"),
        (replace(given, knots=extra), "no feature enters or leaves"),
        (replace(given, shape=(8, 11)), "shape"),
        (replace(given, positive=1), "positive"),
        (replace(given, knots=()), "LassoKnot"),
    ):
        (failure,) = broken.verify(X, y).failures
        refused = any(part in failure for part in words.split("|"))
        assert refused, (failure, words)
        seen.add(failure)
    assert len(seen) > 9


if __name__ == "__main__":
    for pair, number in sorted(attack(int(sys.argv[1]), int(sys.argv[2])).items()):
        print(*pair, number, sep=": ")  # noqa: T201
