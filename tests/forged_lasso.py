"""Forged certificates of LASSO paths: `python -m tests.forged_lasso COUNT SEED` judges COUNT of them.

The oracle enumerates all active sets and signs in fractions, and all λ at which one of them may begin or
cease to be optimal. A forgery may be accepted only if it states the truth.
"""

import functools
import itertools
import json
import sys
from collections import Counter
from dataclasses import replace
from fractions import Fraction

import numpy as np

import sparselin as sl
from sparselin.certificates.lasso import LassoCertificate
from sparselin.check.path_checker import check
from tests.forged_subsets import change, pick, places
from tests.fractional import dot, fractions, gram, solve


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
    """Draw small integers with copies, sums, a common part and ties, forced features, and `positive`."""
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
    if isinstance(owner[last], str) and "/" in owner[last]:
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
    yield "a knot twice", replace(given, knots=(*rows[: k + 1], *rows[k:]))
    yield "an earlier end", replace(given, knots=(*rows[:k], replace(row, active=rows[k - 1].active)))
    yield "another λ", replace(given, knots=(*rows[:k], replace(row, lam=row.lam + eps), *rows[k + 1 :]))
    yield "another sign of the problem", replace(given, positive=not given.positive)
    if len(rows) > 1:
        a, b, t = rows[-2], rows[-1], Fraction(int(rng.integers(-8, 9)), 8)
        J = [*given.forced, *a.active]
        over = rows[-3].active if len(rows) > 2 else ()
        top = dict(zip([*given.forced, *(j for j in a.active if j in over)], a.coef, strict=True))
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
                if rng.random() < 0.1:
                    assert check(made.to_json(), X.tolist(), y.tolist())[0] == bool(found), (X, y, made)
                if found:
                    own = made.forced == S
                    oracle = oracles[made.positive]() if own else Oracle(X, y, made.forced, made.positive)
                    assert oracle.is_true(made), (X, y, made, made.knots)
                assert found or name != "valid"
                counts[name, "accepted and true" if found else "refused"] += 1
    return counts


if __name__ == "__main__":
    for pair, number in sorted(attack(int(sys.argv[1]), int(sys.argv[2])).items()):
        print(*pair, number, sep=": ")  # noqa: T201
