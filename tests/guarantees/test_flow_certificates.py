"""Certificates of the flow without weight decay: valid ones hold, and no forgery that says something false.

`python -m tests.guarantees.test_flow_certificates COUNT SEED` judges COUNT forgeries. The oracle follows the
flow in fractions, with faces by enumeration, and shares no code with the package.
"""

import contextlib
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
from sparselin.certificates.flow import FlowSaddle
from sparselin.certificates.form import digest
from tests.forged_subsets import change, pick, places
from tests.fractional import dot, fractions, gram, solve
from tests.refusals import refuses

# Defects of a method. "bars": a support that is too small, with Farkas vectors that break one condition.
WRONG = ("blind", "early", "twice", "unsigned", "vertex", "tie", "start", "bars")


def vertices(G, b, S, signs, unsigned):
    """Return all vertices of the solutions on a face, as dictionaries of β, by enumeration of active sets."""
    found = []
    for P in itertools.chain.from_iterable(itertools.combinations(signs, m) for m in range(len(signs) + 1)):
        J = [*S, *P]
        beta = dict(zip(J, solve([[G[i][j] for j in J] for i in J], [b[i] for i in J]) or [], strict=False))
        if len(beta) == len(J) and (unsigned or all(signs[j] * beta[j] > 0 for j in P)):
            c = {i: b[i] - dot([G[i][j] for j in J], beta.values()) for i in signs}
            if all(c[i] == 0 if unsigned else signs[i] * c[i] <= 0 for i in signs):
                found.append(beta)
    return found


def flow(X, y, S, wrong=""):
    """Return (τ, β, c, {j: s_j = ±1}) at τ = 0 and after each event; `wrong` names a defect of the method."""
    columns, d = fractions(X.T), X.shape[1]
    G, b = gram(columns), [dot(x, fractions(y)) for x in columns]
    tau, s, signs, seen, out = Fraction(0), [Fraction(0)] * d, {}, range(wrong == "blind", d), []
    while True:
        found = vertices(G, b, S, signs, wrong == "unsigned")[: 1 if wrong in ("vertex", "bars") else None]
        twice = wrong == ("twice" if out else "start")
        share = Fraction(2 if twice else 1, len(found))
        beta = {j: share * sum(v.get(j, 0) for v in found) for j in sorted({*S, *signs})}
        c = [b[i] - dot([G[i][j] for j in beta], beta.values()) for i in range(d)]
        out.append((tau, beta, c, signs))
        if not any(c[j] for j in seen) or len(out) > 12:
            return out
        step = min(abs((1 if c[j] > 0 else -1) - s[j]) / abs(c[j]) for j in seen if c[j])
        step /= 2 if wrong == "early" else 1
        tau, s = tau + step, [v + step * w for v, w in zip(s, c, strict=True)]
        signs = {j: (1 if s[j] > 0 else -1) for j in seen if abs(s[j]) >= 1}
        if wrong == "tie" and len(signs) > 1:
            signs.popitem()


def certificate(X, y, S, wrong="", rng=None):
    """Make a certificate of `flow`, with Farkas vectors that are found by trials."""
    saddles, columns, broken = [], fractions(X.T), rng.integers(3) if wrong == "bars" else 3
    for tau, beta, c, signs in flow(X, y, S, wrong):
        J, rest = [*S, *(j for j, v in beta.items() if v and j not in S)], [j for j in signs if not c[j]]
        farkas = {}
        for i, w in itertools.product({*rest} - {*J}, itertools.product((0, 1, -1), repeat=len(X))):
            Xw = [dot(x, w) for x in columns]
            tests = not any(Xw[j] for j in J), all(signs[j] * Xw[j] >= 0 for j in rest), Xw[i]
            if all(holds or t == broken for t, holds in enumerate(tests)):
                farkas.setdefault(i, tuple(map(Fraction, w)))
        saddles.append(FlowSaddle(tuple(J[len(S) :]), tau, tuple(beta[j] for j in J), tuple(farkas.items())))
    return sl.results.FlowCertificate(digest(X, y, False), X.shape, tuple(S), tuple(saddles), not any(c))


def is_true(given, X, y):
    """Decide by the oracle whether what a certificate says of X and y is true."""
    S, columns = [], fractions(X.T)
    for j in given.forced:  # a dependent forced column changes nothing
        S += [j] if solve(gram([columns[i] for i in (*S, j)]), [0] * (len(S) + 1)) else []
    truth, in_balls, m = flow(X, y, S), given.saddles[0].tau is None, len(given.saddles)
    for saddle, (tau, beta, c, signs) in zip(given.saddles, truth, strict=False):
        right = saddle.support == tuple(j for j, v in beta.items() if v and j not in given.forced)
        if in_balls and right:
            right = saddle.tau is saddle.coef is None
        elif right:
            beta = list(zip((*given.forced, *saddle.support), saddle.coef, strict=True))
            r = [v - sum(columns[j][i] * w for j, w in beta) for i, v in enumerate(fractions(y))]
            right = saddle.tau == tau and c == [dot(x, r) for x in columns]
            right &= all(signs.get(j, 0) * v > 0 for j, v in beta if j in saddle.support)
        if not right:
            return False
    return m <= len(truth) and (given.complete != any(truth[m - 1][2]) or (in_balls and not given.complete))


def judge(given, X, y):
    """Return what `verify` says of a certificate; AssertionError if it accepts a false one."""
    found = given.verify(X, y)
    assert not found or is_true(given, X, y), given
    return "accepted and true" if found else "refused"


def random_task(rng):
    """Draw small integers, with copies, opposite columns, sums, a common part, zero columns, ties; and S."""
    n, d = int(rng.integers(1, 5)), int(rng.integers(1, 6))
    X = (rng.integers(-2, 3, (n, d)) + pick([0, 0, 3], rng)) * rng.choice([1, 1, 4], d)
    y = rng.integers(-3, 4, n)
    for j in np.flatnonzero(rng.random(d) < 0.3):
        X[:, j] = (X[:, rng.integers(d)] + rng.integers(2) * X[:, rng.integers(d)]) * pick([-1, 1], rng)
    if min(n, d - 1) > 1 and rng.random() < 0.5:  # three tied columns, of which two may be zero
        X[:, :3], y[1:] = 0, 0
        X[:2, :3] = (1, 1, 1), pick([(0, 1, -1), (0, 1, 2)], rng)
    S = [j for j in range(d) if X[:, j].any()][: int(rng.random() < 0.3)]
    return X.astype(float), y.astype(float), S


def mutate(text, rng):
    """Return a certificate in JSON with one entry changed at random."""
    fields = json.loads(text)
    *path, last = pick(list(places(fields)), rng)
    owner = functools.reduce(lambda owner, key: owner[key], path, fields)
    is_fraction = isinstance(owner[last], str) and rng.random() < 0.9
    owner[last] = pick(["1/1", "-1/3", "0/1", "1/0", "2/1"], rng) if is_fraction else change(owner[last], rng)
    return json.dumps(fields)


def forge(rng):
    """Yield a name, a certificate, X and y: certificates of wrong methods, and changes of any certificate."""
    X, y, S = random_task(rng)
    for wrong in WRONG:
        yield wrong, certificate(X, y, S, wrong, rng), X, y
    base = certificate(X, y, S, pick(("", "", *WRONG), rng), rng)
    rows, k, d = base.saddles, int(rng.integers(len(base.saddles))), X.shape[1]
    row, factor = rows[k], Fraction(pick([2, -1, 0, Fraction(2**50 + 1, 2**50), Fraction(1, 2)], rng))
    values = dict(zip((*S, *row.support), row.coef, strict=True))
    w = tuple(map(Fraction, rng.integers(-1, 2, len(X)).tolist()))

    def with_support(J):
        zero = factor * pick([0, 1], rng)
        return replace(row, support=tuple(J), coef=tuple(values.get(j, zero) for j in (*S, *J)))

    changes = {
        "tau": (replace(row, tau=row.tau * factor),), "less": (with_support(row.support[1:]),),
        "more": (with_support(sorted({*row.support, int(rng.integers(d))} - {*S})),),
        "coefficients": (replace(row, coef=tuple(v * pick([1, factor], rng) for v in row.coef)),),
        "vectors": (replace(row, farkas=tuple((i, w) for i, _ in row.farkas)),), "no event": (),
        "order": (with_support(row.support[::-1]),), "later": (row, replace(row, tau=row.tau + 1)),
    }  # fmt: skip
    sets = {name: (*rows[:k], *new, *rows[k + 1 :]) for name, new in changes.items()}
    sets["merged"] = (*rows[: max(k - 1, 0)], replace(row, tau=rows[k - 1].tau), *rows[k + 1 :])
    sets |= {"times": tuple(replace(one, tau=one.tau * factor) for one in rows), "cut": rows[: k + 1]}
    sets |= {"partly in balls": (FlowSaddle(()), *rows[1:]), "as it is": rows}
    for name, saddles in sets.items():
        for kind, parts in (("", saddles), (", in balls", tuple(FlowSaddle(one.support) for one in saddles))):
            yield name + kind, replace(base, saddles=parts, complete=bool(rng.integers(2))), X, y
    yield "forced", replace(base, forced=tuple(rng.permutation(d)[: len(S)].tolist())), X, y
    for A, b in ((X + (rng.random(X.shape) < 0.1), y), (X, y + (rng.random(len(y)) < 0.3))):
        yield "other data", replace(base, sha256=pick([base.sha256, digest(A, b, False)], rng)), A, b
    for text in [mutate(base.to_json(), rng) for _ in range(20)]:
        with contextlib.suppress(ValueError):  # malformed
            yield "mutation", sl.results.FlowCertificate.from_json(text), X, y


def attack(count, seed):
    """Judge at least `count` forgeries, and count what `verify` says of them."""
    rng, counts = np.random.default_rng(seed), Counter()
    while counts.total() < count:
        counts.update((name, judge(given, X, y)) for name, given, X, y in forge(rng))
    return counts


def test_no_false_certificate_is_accepted():
    counts = attack(2000, 0)
    assert {*WRONG, "mutation", "coefficients"} <= {name for name, verdict in counts if verdict == "refused"}
    assert counts["as it is", "accepted and true"] > 5 < counts["as it is, in balls", "accepted and true"]


def test_paths_are_certified(rng):
    for _ in range(100):
        X, y, S = random_task(rng)
        path = sl.gradient_flow(X, y, forced=S, max_events=int(rng.integers(1, 6)))
        given = sl.certify(X, y, path)
        assert judge(given, X, y) == "accepted and true"
        assert tuple(saddle.support for saddle in given.saddles[1:]) == path.supports
        assert sl.results.FlowCertificate.from_json(given.to_json()) == given
        assert "other data" in given.verify(X, y + 1).failures[0]
    for options, forced in (({"intercept": True}, (4,)), ({"sample_weight": rng.random(9)}, ())):
        problem = sl.Problem(rng.random((9, 4)), rng.random(9), **options)
        given = sl.certify(problem, sl.gradient_flow(problem))
        assert (given.forced, bool(given.verify(problem))) == (forced, True)
    for other, options in ((sl.gradient_flow(X, y, restart=True), {}), (path, {"normalized": True})):
        refuses(r"restarted|about picks", sl.certify, X, y, other, **options)


@pytest.mark.parametrize("d", [30, 9000])  # in rationals, and in balls
def test_a_wrong_path_is_refuted(d, monkeypatch):
    X, y = np.random.default_rng(1).standard_normal((60, d)), np.arange(60.0)
    path = sl.gradient_flow(X, y, max_events=10)
    given = sl.certify(X, y, path)
    rows, last = given.saddles, given.saddles[-1]
    assert (given.verify(X, y).holds, last.tau is None) == (True, d == 9000)
    bare = replace(given, saddles=tuple(FlowSaddle(row.support) for row in rows))
    assert bare.verify(X, y)
    moved, others = path.s * (1 + 1e-9 * (np.abs(path.s) < 1)), (False, *path.unique[1:])
    wrong = {"tau": path.tau * 1.000001, "s": moved, "supports": path.supports[::-1], "unique": others}
    for name, value in wrong.items():
        refuses(r"event \d+ is refuted|one feature arrives", sl.certify, X, y, replace(path, **{name: value}))
    for value in (0.5, -1, 10**9, [1], np.zeros(2), (None,), (0, 0), ((0, ()),), Fraction(-1)):
        for name in ("sha256", "shape", "forced", "saddles", "complete"):
            assert not replace(given, **{name: value}).verify(X, y)
        for name in ("support", "tau", "coef", "farkas"):
            assert not replace(given, saddles=(*rows[:-1], replace(last, **{name: value}))).verify(X, y)
    monkeypatch.setitem(sys.modules, "flint", None)
    monkeypatch.delitem(sys.modules, "sparselin.certificates._finder")
    assert d == 9000 or given.verify(X, y)
    refuses(r"pip install 'sparselin\[verify\]'", bare.verify, X, y, error=ModuleNotFoundError)


def test_a_tie_is_undecided_in_balls_and_a_zero_coefficient_refused():
    X, y = np.array([[1.0, 1.0], [0.0, 1.0]]), np.array([2.0, 0.0])  # two columns arrive, and one enters
    given = certificate(X, y, [])
    bare = replace(given, saddles=(FlowSaddle(()), FlowSaddle((0,))))
    assert "undecided in balls" in bare.verify(X, y).failures[0]
    two = replace(given.saddles[1], support=(0, 1), coef=(Fraction(2), Fraction(0)))
    assert not replace(given, saddles=(given.saddles[0], two)).verify(X, y)


if __name__ == "__main__":
    for pair, number in sorted(attack(int(sys.argv[1]), int(sys.argv[2])).items()):
        print(*pair, number, sep=": ")  # noqa: T201
