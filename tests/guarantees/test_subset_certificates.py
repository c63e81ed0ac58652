"""Certificates of best subsets: valid ones are proved, and no forgery that says something false."""

import dataclasses
import json
import subprocess
import sys
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from forged_subsets import Producer, attack, claim_of, column_scale, oracle, random_task, rounded
from fractional import centred_gram, dot, fractions, gram, solve
from house import PROJECT
from refusals import refuses

import sparselin as sl
from sparselin.certificates.integers import IntegerColumns, solve_semidefinite
from sparselin.check.subset_checker import Proof, check, eliminate
from sparselin.subsets.certificate import SubsetCertificate
from sparselin.subsets.certificate_form import SubsetStage
from sparselin.subsets.certificate_proof import SubsetProof
from sparselin.subsets.curvature import is_semidefinite


def data(task):
    return np.array(task.X), np.array(task.y), np.array(task.weights)


def test_both_checkers_prove_valid_certificates():
    rng, seen = np.random.default_rng(0), set()
    for _ in range(80):
        task = random_task(rng)
        certificate = Producer(task, rng).certificate()
        found, text = certificate.verify(*data(task)), certificate.to_json()
        assert found, (found, task)
        assert check(text, task.X, task.y, task.weights) == (True, found.value)
        assert found.value == oracle(task).best[0]
        assert SubsetCertificate.from_json(text).to_json() == text
        seen |= {("ridge", task.ridge > 0), ("box", min(task.upper) < np.inf), ("intercept", task.intercept)}
        seen |= {("positive", max(task.lower) == 0), ("forced", task.forced != ())}
        seen |= {("groups", len(set(task.labels)) < len(task.labels)), ("weights", min(task.weights) < 1)}
        seen |= {(operation[0], True) for operation in certificate.tree}
        seen |= {("derived box", certificate.box is None), ("hierarchy", task.hierarchy == ())}
    assert len(seen) == 23  # each option, with and without it, and all operations


def test_no_forgery_is_accepted_that_says_something_false():
    counts = attack(1500, 7, share=0.3)  # which raises AssertionError if one is
    sums = {answer: sum(n for (_, a), n in counts.items() if a == answer) for _, answer in counts}
    assert min(sums[answer] for answer in ("refused and false", "accepted and true", "malformed")) > 200


def test_the_derived_box_contains_every_point_with_at_most_the_value():
    """Points on many supports, which are as far out as the value of a random subset allows."""
    rng, near = np.random.default_rng(3), 0
    while near < 300:
        task = dataclasses.replace(random_task(rng), k=2)
        if len(set(task.labels)) < 3 or len(task.forced) > 1 or not task.subsets():
            continue
        exact, subsets = oracle(task), task.subsets()
        producer = Producer(task, rng, gap=1.0, units=subsets[rng.integers(len(subsets))])
        certificate = producer.certificate()
        if certificate.box is None:
            continue
        proofs = (SubsetProof(certificate, *data(task)),
                  Proof(json.loads(certificate.to_json()), task.X, task.y, task.weights))  # fmt: skip
        assert not [*proofs[0].failures()]
        U = proofs[1].check()
        for units in subsets:
            value, beta, fixed = exact.fit(units)
            G = producer.gram([*beta])
            if value > U or fixed or not beta or np.linalg.cond(G) > 1e8:
                continue
            for i, j in enumerate(beta):
                far = np.sqrt(2 * float(U - value) / np.linalg.inv(G)[i, i])
                step = np.linalg.inv(G)[i] * far * rng.choice([-0.999, 0.999])
                point = {l: v + Fraction(t) for (l, v), t in zip(beta.items(), step.tolist(), strict=True)}
                found = exact.point(point)
                if all(task.lower[l] <= v <= task.upper[l] for l, v in point.items()) and found[0] <= U:
                    for proof in proofs:
                        low, high = (side[j] and side[j] / producer.power[j] for side in proof.inner)
                        assert low is None or low <= point[j]
                        assert high is None or point[j] <= high
                        inside = [v for v in (low, high) if v and abs(point[j]) > 0.5 * abs(v)]
                        near += len(inside) > 0


def random_curvature(rng):
    """Draw a design, weights, and a diagonal near the largest one that leaves its matrix semidefinite."""
    n, d = int(rng.integers(2, 12)), int(rng.integers(1, 6))
    X = rng.standard_normal((n, d)) + rng.standard_normal(d) * rng.choice([0, 10, 1e7])
    X = X * 10.0 ** rng.integers(-3, 4, d) if rng.random() < 0.5 else np.round(X)
    weights = rng.random(n) if rng.random() < 0.4 else np.ones(n)
    weights[rng.random(n) < 0.1] = 0
    weights[0] = 10.0 ** rng.integers(-20, 3)
    centred, ridge = bool(rng.random() < 0.5), float(rng.choice([0.0, 0.5, 3.0]))
    G = centred_gram(fractions(X.T), fractions(weights), centred)
    floats = np.array([[float(v) for v in row] for row in G])
    size = np.sqrt(np.diag(floats)) + (np.diag(floats) == 0)
    least = max(np.linalg.eigvalsh(floats / np.outer(size, size))[0], 0)
    near = 1 + rng.choice([-1, 1]) * 10.0 ** -rng.integers(1, 12)
    D = least * size**2 * near + ridge * rng.choice([0, 1, near], d)
    return X, weights, centred, G, [Fraction(v) - Fraction(ridge) for v in D.tolist()]


def test_curvature_is_proved_only_where_it_is():
    rng, counts = np.random.default_rng(1), Counter()
    for _ in range(1000):
        X, weights, centred, G, excess = random_curvature(rng)
        A = [[v - (i == j) * excess[i] for j, v in enumerate(row)] for i, row in enumerate(G)]
        truth = eliminate(A, [0] * len(A)) is not None
        found = is_semidefinite(X, weights, excess, centred=centred)
        assert truth or not found
        counts[truth, found] += 1
    assert counts[True, True] > 4 * counts[True, False]
    assert counts[False, False] > 200


@pytest.mark.parametrize("factor", [1.0, 1e-3, 1e3, 1e300, np.nan, np.inf])
def test_a_wrong_cholesky_factor_proves_nothing(monkeypatch, factor, rng):
    """The factor is a guess: the check of it is exact."""
    X = rng.standard_normal((12, 5))
    excess = fractions(np.full(5, 1.01 * np.linalg.eigvalsh(X.T @ X)[0]))
    exact = np.linalg.cholesky

    def wrong(A):
        with np.errstate(all="ignore"):
            return factor * exact(A + (1e-3 * np.trace(A) - np.linalg.eigvalsh(A)[0]) * np.eye(len(A)))

    monkeypatch.setattr(np.linalg, "cholesky", wrong)
    assert not is_semidefinite(X, np.ones(12), excess, centred=False)


def test_products_of_integers_are_exact(rng):
    X = rng.standard_normal((7, 6)) * 2.0 ** rng.integers(-60, 60, (7, 6))
    X[:, 1], X[2, 2], X[3, 2], X[0, 3], X[:, 4] = 0, 1e300, 1e-300, 5e-324, rng.integers(-3, 4, 7)
    integers = IntegerColumns(X)
    N = [integers.column(j).tolist() for j in range(6)]
    for j, column in enumerate(N):
        assert [v * Fraction(2) ** int(integers.exponents[j]) for v in column] == fractions(X[:, j])
    for bits in (1, 30, 500):
        v, u = ([int(x) * 3**bits for x in rng.integers(-9, 10, size)] for size in (6, 7))
        assert integers.times(np.array(v, object)).tolist() == [dot(row, v) for row in zip(*N, strict=True)]
        assert integers.correlate(np.array(u, object)).tolist() == [dot(column, u) for column in N]


def test_a_semidefinite_system_is_solved_exactly(rng):
    for _ in range(100):
        columns = rng.integers(-3, 4, (4, int(rng.integers(1, 6)))).tolist()
        A, x = gram(columns), rng.integers(-3, 4, 4).tolist()
        whole = [[int(v) for v in row] for row in A]
        b = [int(dot(row, x)) for row in A]
        z, t = solve_semidefinite(whole, b)
        assert t > 0
        assert [dot(row, z) for row in A] == [t * v for v in b]
        if (unique := solve(A, b)) is not None:
            assert [Fraction(v, t) for v in z] == unique
        lowered = [[v - (i == j) * 1000 for j, v in enumerate(row)] for i, row in enumerate(whole)]
        assert solve_semidefinite(lowered, b) is None
    assert solve_semidefinite([[0]], [1]) is None


def larger(factor, ridge=0.0, n=110, d=60):
    """Return a certificate whose D is a multiple of λ_min, and data with too many features to eliminate."""
    rng = np.random.default_rng(5)
    X = rng.standard_normal((n, d)) * 10.0 ** rng.integers(-3, 4, d)
    weights, beta = rng.random(n), np.zeros(d)
    beta[[3, 20]] = 5 / np.abs(X).max(axis=0)[[3, 20]]
    y = X @ beta + 0.1 * rng.standard_normal(n)
    A = (X - weights @ X / weights.sum()) * np.sqrt(weights)[:, None]
    z = (y - weights @ y / weights.sum()) * np.sqrt(weights)
    size, scale = np.linalg.norm(A, axis=0), column_scale(X)
    G = (A / size).T @ (A / size)
    D = factor * np.linalg.eigvalsh(G)[0] * size**2 + ridge
    w = np.linalg.solve(G + ridge * np.diag(size**-2), (A / size).T @ z) / size
    certificate = SubsetCertificate(
        shape=(n, d),
        k=2,
        ridge=ridge,
        gap=0.0,
        intercept=True,
        forced=(),
        groups=None,
        lower=np.full(d, -np.inf),
        upper=np.full(d, np.inf),
        support=(3, 20),
        at_lower=(),
        at_upper=(),
        scale=scale,
        box=None,
        stages=(SubsetStage(np.arange(d), np.ldexp(D, -2 * scale)),),
        vectors=(rounded(0, w, scale),),
        tree=(("in", 0, (3, 20)), ("value", (), ())),
    )
    return certificate, X, y, weights


@pytest.mark.parametrize("ridge", [0.0, 1e-6])
@pytest.mark.parametrize(("factor", "proved"), [(0.9999, True), (1.0001, False)])
def test_both_checkers_prove_curvature_by_rounding(factor, proved, ridge):
    certificate, X, y, weights = larger(factor, ridge)
    found = certificate.verify(X, y, weights)
    assert found.proved == proved
    assert check(certificate.to_json(), X.tolist(), y.tolist(), weights.tolist())[0] == proved
    assert found.leaves == 3
    words = "Stage 0: the matrix less D is not proved to be positive semidefinite. Decrease D."
    assert proved or found.failures == (words,)


def test_the_checker_runs_by_itself(tmp_path):
    certificate, X, y, weights = larger(0.99)
    (tmp_path / "certificate.json").write_text(certificate.to_json(), encoding="utf-8")
    np.savez(tmp_path / "data.npz", X=X, y=y, sample_weight=weights)
    np.savez(tmp_path / "other.npz", X=X, y=y[::-1])
    answers = {"data.npz": (0, "PROVED"), "other.npz": (1, "REFUTED")}
    for name, answer in answers.items():
        command = [sys.executable, PROJECT / "sparselin/check/subset_checker.py", "certificate.json", name]
        run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert (run.returncode, run.stdout.split()[0].rstrip(":,")) == answer, run.stderr


NUMBERS = (None, True, -1, 0, 10**30, 0.5, float("nan"), "1")
STRANGE = (*NUMBERS, [], (), {}, [1], (1,), ((1,),), ("bound",), np.zeros(2), np.arange(3), object())


def strange_certificates(valid):
    """Yield certificates of which one field, or one operation, has another type or is absurd."""

    def variants(owner):
        for field in dataclasses.fields(owner):
            yield from (dataclasses.replace(owner, **{field.name: strange}) for strange in STRANGE)

    yield from variants(valid)
    for name in ("stages", "vectors"):
        first, rest = getattr(valid, name)[:1], getattr(valid, name)[1:]
        changed = ((new, *rest) for one in first for new in variants(one))
        yield from (dataclasses.replace(valid, **{name: parts}) for parts in changed)
    for name in ("split", "in", "out", "bound", "value", []):
        rests = [(), *((s,) for s in STRANGE), *((0, s) for s in STRANGE), *((s, ()) for s in STRANGE)]
        yield from (dataclasses.replace(valid, tree=((name, *rest),)) for rest in rests)
    yield from (dataclasses.replace(valid, tree=(operation, *valid.tree)) for operation in STRANGE)


def test_a_malformed_certificate_is_refused_with_a_sentence(rng):
    for _ in range(6):
        task = random_task(rng)
        for certificate in strange_certificates(Producer(task, rng).certificate()):
            found = certificate.verify(*data(task))
            assert found.proved == (found.failures == ())
            assert all(sentence.endswith(".") for sentence in found.failures)
            assert not found or claim_of(certificate.to_json(), found.value, task)[1]()


def test_text_that_is_no_certificate_is_refused():
    certificate = larger(0.5)[0]
    text = certificate.to_json()
    fields = json.loads(text)
    broken = [text[:-1], "[]", "1", "null", "[" * 100_000, "{}", json.dumps({**fields, "format": "x"})]
    broken += [json.dumps({key: v for key, v in fields.items() if key != name}) for name in fields]
    absurd = [(name, [[1]]) for name in ("lower", "scale", "stages", "vectors", "groups")]
    absurd += [("more", 1), ("scale", [10**30])]
    broken += [json.dumps({**fields, name: value}) for name, value in absurd]
    for other in broken:
        refuses("no 'sparselin subset certificate 1'", SubsetCertificate.from_json, other)


def test_verify_takes_data_as_everywhere():
    certificate, X, y, weights = larger(0.9)
    found = certificate.verify(X.tolist(), y.tolist(), weights.tolist())
    assert found
    assert certificate.verify(sl.Problem(X, y)).value > found.value  # the weights are below 1
    assert not certificate.verify(X[:, 1:], y, weights)
    words = "SubsetCertificate(shape=(110, 60), k=2, support=(3, 20), gap=0.0, 1 vec"
    assert repr(certificate).startswith(words)
    refuses("Pass X and y", certificate.verify, sl.Problem(X, y, intercept=True))
    with pytest.raises(ValueError, match="sample_weight must be passed with the data"):
        certificate.verify(sl.Problem(X, y), sample_weight=weights)
    refuses("sample_weight must be nonneg", certificate.verify, X, y, -weights)
