"""Certificates against exact brute force, and every way to break one."""

import dataclasses
import functools
import itertools
import json
import sys
from fractions import Fraction

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

import sparselin as sl
from sparselin.certificates.certify import Certificate, StepCertificate, Verification, certify
from sparselin.testing import integer_designs, tied_designs

F = Fraction


# Brute force in fractions, sharing no code with the package.


def matrix(X):
    return [[F(v) for v in row] for row in np.asarray(X, float).tolist()]


def dot(a, b):
    return sum((x * y for x, y in zip(a, b, strict=True)), F(0))


def solve(A, b):
    """A⁻¹b by Gauss and Jordan; None when A is singular."""
    m = len(A)
    rows = [[*row, v] for row, v in zip(A, b, strict=True)]
    for j in range(m):
        p = next((i for i in range(j, m) if rows[i][j]), None)
        if p is None:
            return None
        rows[j], rows[p] = rows[p], [v / rows[p][j] for v in rows[p]]
        for i in range(m):
            if i != j and rows[i][j]:
                rows[i] = [v - rows[i][j] * w for v, w in zip(rows[i], rows[j], strict=True)]
    return [row[-1] for row in rows]


def residual(columns, v, S):
    coef = solve([[dot(columns[i], columns[j]) for j in S] for i in S], [dot(columns[i], v) for i in S])
    return [x - sum(b * columns[j][t] for b, j in zip(coef, S, strict=True)) for t, x in enumerate(v)]


def brute_force(X, y, S, normalized=False):
    """λ*², T and A(S), the union of the supports of all vertices of the solution set."""
    columns = list(zip(*matrix(X), strict=True))
    r = residual(columns, [F(v) for v in y.tolist()], S)
    c = [dot(x, r) for x in columns]
    ratio = [v * v / (dot(x, x) if normalized and any(x) else 1) for v, x in zip(c, columns, strict=True)]
    T = [i for i, q in enumerate(ratio) if q == max(ratio)]
    Z = [[(1 if c[i] > 0 else -1) * v for v in residual(columns, columns[i], S)] for i in T]
    H = [[dot(a, b) for b in Z] for a in Z]
    size = [abs(c[i]) for i in T]
    active = set()
    for P in itertools.chain.from_iterable(
        itertools.combinations(range(len(T)), m) for m in range(1, len(T) + 1)
    ):
        u = solve([[H[i][j] for j in P] for i in P], [size[i] for i in P])
        if u is not None and min(u) > 0:
            reached = [sum(H[i][j] * v for j, v in zip(P, u, strict=True)) for i in range(len(T))]
            if all(h >= s for h, s in zip(reached, size, strict=True)):
                active |= {T[j] for j in P}
    return max(ratio), tuple(T), tuple(sorted(active))


def is_solution(X, y, step, t, normalized):
    """The KKT conditions at λ = (1 − t)λ* of the β that the step states, in fractions."""
    columns = list(zip(*matrix(X), strict=True))
    beta = [F(0)] * len(columns)
    for j, b, g in zip(step.selected, step.coef, step.rate, strict=True):
        beta[j] = b + t * g
    for i, s, u in zip(step.tied, step.signs, step.direction, strict=True):
        beta[i] = s * t * u
    r = [v - dot(row, beta) for v, row in zip((F(v) for v in y.tolist()), matrix(X), strict=True)]
    for j, x in enumerate(columns):
        c, bound = dot(x, r), (1 - t) ** 2 * step.lam_star_squared * (dot(x, x) if normalized else 1)
        if j in step.selected:
            assert c == 0
        else:
            assert c * c <= bound
            assert beta[j] == 0 or (c * c == bound and c * beta[j] >= 0)
    return True


def unit(X):
    norms = np.linalg.norm(X, axis=0)
    return X / np.where(norms > 0, norms, 1)


def both(certificate, X, y):
    exact, rounded = certificate.verify(X, y, exact=True), certificate.verify(X, y)
    assert (exact.failures, rounded.failures) == ((), ())
    assert exact.steps == rounded.steps == len(certificate.steps)
    return True


DEGENERATE = np.array([[1.0, 1.0, 0.0], [0.0, 1.0, 0.5]]), np.array([1.0, 0.0])  # 1 is tied, never active


# What is certified is true


@given(st.one_of(tied_designs(5, 8), integer_designs(5, 8)), st.integers(1, 4))
def test_certificates_agree_with_brute_force_in_fractions(design, k):
    X, y = design
    path = sl.sequential_lasso(X, y, min(k, X.shape[1]))
    certificate = certify(X, y, path)
    assert len(certificate.steps) == len(path.support)
    for t, step in enumerate(certificate.steps):
        S = path.support[:t].tolist()
        assert (step.lam_star_squared, step.tied, step.active) == brute_force(X, y, S)
        assert step.active == path.active_sets[t]
        assert step.epsilon**2 == step.tau**2 * step.lam_star_squared
        assert all(is_solution(X, y, step, step.tau * f, False) for f in (F(1), F(1, 3)))
    assert both(certificate, X, y)


@given(tied_designs(5, 7), st.integers(1, 3))
def test_normalized_certificates_agree_with_brute_force_in_fractions(design, k):
    X, y = design
    certificate = certify(X, y, sl.sequential_lasso(unit(X), y, min(k, X.shape[1])), normalized=True)
    for step in certificate.steps:
        assert (step.lam_star_squared, step.tied, step.active) == brute_force(X, y, step.selected, True)
        assert is_solution(X, y, step, step.tau, True)
        assert 0 <= 1 - step.epsilon**2 / (step.tau**2 * step.lam_star_squared) < F(1, 2**60)
    assert both(certificate, X, y)


@given(tied_designs(6, 9))
@settings(max_examples=30)
def test_active_sets_agree_with_linear_programming(design):
    from scipy.optimize import linprog

    X, y = design
    step = certify(X, y, sl.sequential_lasso(X, y, 1)).steps[0]
    Z = X[:, step.tied] * np.array(step.signs)
    fit = Z @ np.array(step.direction, float)
    for t, i in enumerate(step.tied):
        v = linprog(-np.eye(len(step.tied))[t], A_eq=Z, b_eq=fit, bounds=(0, None))
        assert (-v.fun > 1e-9) == (i in step.active)


@pytest.mark.parametrize("normalized", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("order", ["C", "F"])
def test_gaussian_designs(rng, dtype, normalized, order):
    X, y = rng.normal(size=(15, 25)).astype(dtype), rng.normal(size=15).astype(dtype)
    X = np.asarray(X * 2.0 ** rng.integers(-20, 20, 25), dtype, order=order)
    forced = (3, 20)
    path = sl.sequential_lasso(unit(X) if normalized else X, y, 6, forced=forced)
    certificate = certify(X, y, path, normalized=normalized)
    assert certificate.forced == forced
    assert [step.pick for step in certificate.steps] == path.support[2:].tolist()
    step = certificate.steps[1]
    assert (step.lam_star_squared, step.tied, step.active) == brute_force(X, y, step.selected, normalized)
    assert both(certificate, X, y)


@pytest.mark.parametrize("factor", [2.0**-200, 1e-90, 1e90])
def test_scale_does_not_matter(rng, factor):
    X, y = rng.normal(size=(8, 12)), rng.normal(size=8)
    certificate = certify(X * factor, y / factor, sl.omp(X, y, 3))
    assert both(certificate, X * factor, y / factor)


def test_the_window_is_the_sharp_one(rng):
    for _ in range(20):
        X, y = rng.integers(-3, 4, (5, 9)).astype(float), rng.integers(-3, 4, 5).astype(float)
        for step in certify(X, y, sl.sequential_lasso(X, y, 3)).steps:
            entry = sl.first_entry(X, y, forced=step.selected)
            assert float(step.tau) == pytest.approx(1 - entry.window_lower / entry.lam_star, rel=1e-9)


def test_equal_and_opposite_columns_are_all_active(rng):
    x = rng.integers(-3, 4, (6, 3)).astype(float)
    X, y = np.c_[x, -x[:, 1], x[:, 1], x], x[:, 1] * 5 + x[:, 0]
    for step in certify(X, y, sl.sequential_lasso(X, y, 2)).steps:
        assert (step.lam_star_squared, step.tied, step.active) == brute_force(X, y, step.selected)
        assert len(step.active) > 1


def test_a_tied_feature_that_no_solution_uses_is_barred_by_a_vector():
    X, y = DEGENERATE
    for design, active in ((X, (0,)), (np.c_[X, -X[:, 0]], (0, 3))):
        certificate = certify(design, y, sl.sequential_lasso(design, y, 1))
        step = certificate.steps[0]
        assert step.tied == tuple(sorted({*active, 1}))
        assert step.active == active
        assert [i for i, _ in step.farkas] == [1]
        assert both(certificate, design, y)


@pytest.mark.parametrize("seed", range(3))
def test_many_tied_features(seed):
    """Columns of a Hadamard matrix, then copies and sums of them: |T| = 30, H singular."""
    rng = np.random.default_rng(seed)
    H = scipy.linalg.hadamard(16)[:, 1:].astype(float)
    X = np.c_[H, H[:, rng.integers(0, 15, 15)] * rng.choice([-1, 1], 15)]
    y = H @ np.ones(15)
    certificate = certify(X, y, sl.sequential_lasso(X, y, 2))
    assert len(certificate.steps[0].active) == 30
    assert both(certificate, X, y)


def test_omp_is_given_its_due():
    X, y = DEGENERATE
    path = dataclasses.replace(sl.omp(X, y, 1), support=np.array([1]))
    with pytest.raises(ValueError, match=r"step 1: 1 is refuted.*with only \(0,\) in the model"):
        certify(X, y, path)
    certificate = certify(X, y, path, claim="omp")
    assert (certificate.claim, certificate.steps[0].active) == ("omp", (0,))
    assert both(certificate, X, y)
    assert not dataclasses.replace(certificate, claim="sequential_lasso").verify(X, y)


def test_all_forced_is_an_empty_claim():
    X, y = DEGENERATE
    certificate = certify(X, y, sl.omp(X, y, 2, forced=[2, 0]))
    assert (certificate.forced, certificate.steps) == ((2, 0), ())
    assert certificate.verify(X, y, exact=True) == Verification(True, 0, ())


# The data


def test_the_same_numbers_in_any_form(rng):
    X = np.where(rng.random((7, 9)) < 0.5, rng.normal(size=(7, 9)), 0).astype(np.float32)
    y = rng.normal(size=7).astype(np.float32)
    certificate = certify(X, y, sl.omp(X, y, 3))
    wide = X.astype(np.float64)
    forms = [wide, np.asfortranarray(X), np.where(wide == 0, -0.0, wide), wide[::-1][::-1]]
    forms += [scipy.sparse.csr_array(wide), scipy.sparse.coo_matrix(X)]
    assert all(certify(form, y, sl.omp(X, y, 3)) == certificate for form in forms)
    assert all(certificate.verify(form, y, exact=True) for form in forms)
    assert certificate.verify(sl.Problem(X, y))
    assert certify(sl.Problem(X, y), sl.omp(X, y, 3)) == certificate


def test_frames(rng):
    pandas = pytest.importorskip("pandas")
    X, y = rng.normal(size=(6, 4)), rng.normal(size=6)
    certificate = certify(pandas.DataFrame(X), pandas.Series(y), sl.omp(X, y, 2))
    assert certificate.verify(X, y)


def test_nothing_is_modified(rng):
    X, y = rng.normal(size=(6, 8)), rng.normal(size=6)
    copies = X.copy(), y.copy()
    X.flags.writeable = y.flags.writeable = False
    certify(X, y, sl.omp(X, y, 3)).verify(X, y, exact=True)
    assert np.array_equal(X, copies[0])
    assert np.array_equal(y, copies[1])


def test_other_data_are_told(rng):
    X, y = rng.normal(size=(6, 8)), rng.normal(size=6)
    certificate = certify(X, y, sl.omp(X, y, 3))
    other, longer = X.copy(), np.vstack([X, X])
    other[5, 7] = np.nextafter(other[5, 7], 9)
    for data in [(other, y), (X, y + 1), (X[:, ::-1], y)]:
        assert "other data" in certificate.verify(*data).failures[0]
    assert "shape" in certificate.verify(longer, np.r_[y, y]).failures[0]
    with pytest.raises(ValueError, match="finite"):
        certificate.verify(X * np.nan, y)
    with pytest.raises(ValueError, match="Gram"):
        certificate.verify(sl.Problem.from_gram(X.T @ X, X.T @ y, y @ y))


# Refusals


def test_bad_arguments(rng):
    X, y = rng.normal(size=(6, 8)), rng.normal(size=6)
    path = sl.omp(X, y, 3)
    with pytest.raises(ValueError, match="7"):
        certify(X[:, :7], y, path)
    with pytest.raises(TypeError, match="SelectionPath"):
        certify(X, y, [1, 2])
    with pytest.raises(ValueError, match="claim"):
        certify(X, y, path, claim="lars")
    with pytest.raises(ValueError, match="Gram"):
        certify(sl.Problem.from_gram(X.T @ X, X.T @ y, y @ y), path)


def test_wrong_paths_are_refuted():
    X, y = np.array([[1.0, 0.0, 0.5, 1.0], [0.0, 1.0, 0.5, 0.0]]), np.array([4.0, 3.0])

    def claiming(*support):
        return dataclasses.replace(sl.omp(X, y, len(support)), support=np.array(support))

    with pytest.raises(
        ValueError, match=r"step 1: 2 is refuted: its correlation is 3.5, but λ\* is 4 at \(0, 3\)"
    ):
        certify(X, y, claiming(2))
    with pytest.raises(
        ValueError, match=r"step 2: 3 is refuted: its correlation is 0, but λ\* is 3 at \(1,\)"
    ):
        certify(X, y, claiming(0, 3))
    longer = dataclasses.replace(sl.omp(X, y, 2), support=np.array([0, 1, 2]))
    with pytest.raises(ValueError, match=r"step 3: 2 is refuted: λ\* is 0"):
        certify(X, y, longer)
    with pytest.raises(ValueError, match=r"step 3: the columns \(0, 3\) .* dependent"):
        certify(X, y, sl.omp(X, y, 3, forced=[0, 3]))


def test_one_unit_in_the_last_place_is_not_a_tie():
    """omp takes the lowest index of what rounding cannot tell apart; here the exact maximum is the other."""
    X, y = np.array([[1.0, 1.0 + 2.0**-52]]), np.array([1.0])
    path = sl.omp(X, y, 1)
    assert path.support.tolist() == [0]
    with pytest.raises(ValueError, match="step 1: 0 is refuted"):
        certify(X, y, path)
    right = dataclasses.replace(path, support=np.array([1]))
    certificate = certify(X, y, right)
    assert certificate.steps[0].tied == (1,)
    assert certificate.verify(X, y, exact=True)
    assert "undecided" in certificate.verify(X, y).failures[0]


def test_python_flint_is_needed_to_find_and_not_to_check(rng, monkeypatch):
    X, y = rng.normal(size=(6, 8)), rng.normal(size=6)
    path = sl.omp(X, y, 3)
    certificate = certify(X, y, path)
    monkeypatch.setitem(sys.modules, "flint", None)
    monkeypatch.delattr("sparselin.certificates._finder")
    monkeypatch.delitem(sys.modules, "sparselin.certificates._finder")
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'sparselin\[verify\]'"):
        certify(X, y, path)
    assert both(certificate, X, y)


# Text


def test_text_round_trip(rng):
    X, y = rng.normal(size=(8, 12)), rng.normal(size=8)
    for design in ((X, y), DEGENERATE):
        certificate = certify(*design, sl.sequential_lasso(*design, 2))
        again = Certificate.from_json(certificate.to_json())
        assert again == certificate
        assert again.verify(*design, exact=True)
    huge = dataclasses.replace(certificate.steps[0], tau=F(1, 3**20000))
    certificate = dataclasses.replace(certificate, steps=(huge,))
    assert Certificate.from_json(certificate.to_json()) == certificate


def test_other_text_is_refused():
    text = certify(*DEGENERATE, sl.omp(*DEGENERATE, 1)).to_json()
    fields = json.loads(text)
    changes = [{"format": "2"}, {"more": 1}, {"steps": [{"pick": 0}]}, {"steps": 3}, {"shape": None}]
    zero = json.loads(text)
    zero["steps"][0]["tau"] = "1/0"
    texts = [json.dumps(fields | change) for change in changes]
    for wrong in [*texts, json.dumps(zero), "", "[]", "3", text[:-1], text.replace("/", ":")]:
        with pytest.raises(ValueError, match="this text is no"):
            Certificate.from_json(wrong)
    for no_text in (None, 3, fields):
        with pytest.raises(TypeError, match="text must be what `to_json` returned; got"):
            Certificate.from_json(no_text)


# Tampering


def tied_example():
    """S = (4,), T = (0, 1, 2, 3): −3 is a copy of 0, 1 is barred by a vector, 2 by (Hu)_2 > |c_2|."""
    X = [
        [1, 0, 0, 0],
        [1, 0, 1, -2],
        [2, -1, 0, 0],
        [-1, 0, 0, 0],
        [0, 0, 2, 1],
        [0.5, 0, 1, 0],
        [0.5, 0.25, 0, 2],
    ]
    return np.array(X).T, np.array([2.0, 2.0, 2.0, 1.0])


def with_step(certificate, t, **changes):
    steps = list(certificate.steps)
    steps[t] = dataclasses.replace(steps[t], **changes)
    return dataclasses.replace(certificate, steps=tuple(steps))


def variants(value):
    """Other values of a field, near it and absurd."""
    yield from (None, "1", 0.5, (), -1, 10**9, [1], np.zeros(2), True)
    if isinstance(value, Fraction):
        yield from (-value, value * 2, value + 1, value + F(1, 10**6), F(0), float(value))
    if isinstance(value, int):
        yield from (value + 1, F(value))
    if isinstance(value, str):
        yield from (value[::-1], value + "0")
    if isinstance(value, tuple):
        yield from (list(value), (*value, *value[:1]), value[1:], value[::-1])
        for t, entry in enumerate(value):
            yield from ((*value[:t], other, *value[t + 1 :]) for other in variants(entry))


def tampered(certificate):
    """(name, before, after, the certificate with that field changed)"""
    places = [("", certificate, lambda **change: dataclasses.replace(certificate, **change))]
    for t, step in enumerate(certificate.steps):
        places.append((f"{t}.", step, functools.partial(with_step, certificate, t)))
    for prefix, owner, replace in places:
        for field in dataclasses.fields(owner):
            before = getattr(owner, field.name)
            for after in variants(before):
                if repr(after) != repr(before):
                    yield prefix + field.name, before, after, replace(**{field.name: after})


def still_a_proof(name, before, after):
    """Whether the changed field of `tied_example` is true as well."""
    if name == "steps":  # fewer of them
        return after == before[: len(after)]
    if name == "0.farkas":  # other vectors orthogonal to features 4 and 0, at an acute angle to 1
        rows = [[0, 0, 2, 1], [1, 0, 0, 0], [1, 0, 1, -2]]
        angles = [(i, *(dot(row, w) for row in rows)) for i, w in after]
        return len(angles) > 0 and all(i == 1 and S == A == 0 and up > 0 for i, S, A, up in angles)
    return False


@pytest.mark.parametrize("exact", [False, True])
def test_every_altered_field_is_rejected(exact):
    X, y = tied_example()
    certificate = certify(X, y, sl.sequential_lasso(X, y, 3, forced=[4]))
    step = certificate.steps[0]
    assert step.tied == (0, 1, 2, 3)
    assert step.active == (0, 3)
    assert [i for i, _ in step.farkas] == [1]
    assert both(certificate, X, y)
    seen = set()
    for name, before, after, changed in tampered(certificate):
        found = changed.verify(X, y, exact=exact)
        if found:
            assert still_a_proof(name, before, after), (name, after)
        else:
            assert found.failures
            seen.add(name.rpartition(".")[2])
    names = [field.name for cls in (Certificate, StepCertificate) for field in dataclasses.fields(cls)]
    assert seen == set(names)


class WrongSolver:
    """Certificates whose fields agree with each other, from solvers that err in one place."""

    def __init__(self, X, y, normalized=False):
        self.X, self.y, self.normalized = X, y, normalized
        path = sl.sequential_lasso(unit(X) if normalized else X, y, 2)
        self.right = certify(X, y, path, normalized=normalized)

    def second_largest(self):
        """Takes the runner-up for the leader, with its own λ*², direction and window."""
        leader = self.right.steps[0].pick
        others = np.delete(np.arange(self.X.shape[1]), leader)
        X = self.X[:, others]
        path = sl.sequential_lasso(unit(X) if self.normalized else X, self.y, 1)
        step = certify(X, self.y, path, normalized=self.normalized).steps[0]
        tied = tuple(others[list(step.tied)].tolist())
        active = tuple(others[list(step.active)].tolist())
        step = dataclasses.replace(step, pick=active[0], tied=tied, active=active)
        return dataclasses.replace(self.right, steps=(step,))

    def drops_the_last_tied(self):
        """T, A(S), signs and u without their last entry."""
        step = self.right.steps[0]
        active = tuple(i for i in step.active if i != step.tied[-1])
        cut = {name: getattr(step, name)[:-1] for name in ("tied", "signs", "direction")}
        return with_step(self.right, 0, active=active, **cut)

    def wide_window(self, t, more):
        return with_step(self.right, t, tau=self.right.steps[t].tau * (1 + more))


@pytest.mark.parametrize("normalized", [False, True])
@pytest.mark.parametrize("exact", [False, True])
def test_the_second_largest_correlation_is_rejected(rng, normalized, exact):
    X, y = rng.normal(size=(8, 12)), rng.normal(size=8)
    solver = WrongSolver(X, y, normalized)
    found = solver.second_largest().verify(X, y, exact=exact)
    assert not found
    assert any("not below λ*" in failure for failure in found.failures)


@pytest.mark.parametrize("exact", [False, True])
def test_a_window_beyond_the_sharp_one_is_rejected(rng, exact):
    for _ in range(10):
        X, y = rng.normal(size=(8, 12)), rng.normal(size=8)
        solver = WrongSolver(X, y)
        for t in range(2):
            # τ was rounded down to 53 bits
            found = solver.wide_window(t, F(1, 2**52) if exact else F(1, 2**20)).verify(X, y, exact=exact)
            assert "`tau` is too large" in found.failures[0]


@pytest.mark.parametrize("exact", [False, True])
def test_a_lost_index_is_rejected(exact):
    X, y = np.array([[2.0, 0.0, 2.0], [0.0, 2.0, 0.0]]), np.array([1.0, 1.0])
    solver = WrongSolver(X, y)
    assert solver.right.steps[0].active == (0, 1, 2)
    assert "not below λ*" in solver.drops_the_last_tied().verify(X, y, exact=exact).failures[0]
    # u = (½, ½, 0) is a solution too, but 2 is nonzero in another: a copy of 0
    half = with_step(solver.right, 0, active=(0, 1), direction=(F(1, 2), F(1, 2), F(0)))
    assert "without a proof" in half.verify(X, y, exact=exact).failures[0]
    for w in itertools.product((-1, 0, 1), repeat=2):
        barred = with_step(half, 0, farkas=((2, tuple(map(F, w))),))
        assert not barred.verify(X, y, exact=exact)


@pytest.mark.parametrize("exact", [False, True])
def test_each_condition_on_the_direction_is_needed(exact):
    """False certificates that break one of them only."""

    def false(X, y, **changes):
        X, y = np.array(X, float).T, np.array(y, float)
        certificate = with_step(certify(X, y, sl.omp(X, y, 1), claim="omp"), 0, **changes)
        return certificate.verify(X, y, exact=exact).failures

    one, two, nil = F(1), F(2), F(0)
    # (Hu)_1 < |c_1|, and yet a vector that would bar 1 were it not
    first = {"active": (0,), "direction": (one, nil)}
    (failure,) = false([[1, 0], [0, 1]], [1, 1], **first, farkas=((1, (nil, one)),))
    assert "exceed λ" in failure
    # columns e₁, e₁ + e₂, e₁ − e₂: u = (0, ½, ½) is a solution as well as (1, 0, 0)
    bars = (1, (nil, one)), (2, (nil, -one))
    failures = false([[1, 0], [1, 1], [1, -1]], [1, 0], active=(0,), direction=(one, nil, nil), farkas=bars)
    assert all("Farkas vector" in failure for failure in failures)
    assert len(failures) == 2
    # Hu = (1, 1½) for a u of which an entry is negative
    (failure,) = false([[1, 0], [2, 1]], [1, -1], direction=(two, F(-1, 2)))
    assert "≥ 0" in failure


def test_what_float64_cannot_see_is_left_to_exact_arithmetic():
    """c = (1, 1), u = (1, 0) and (Hu)_1 = 1 + eps: less than the error bound of a sum of two products."""
    eps = 2.0**-52
    X, y = np.array([[1.0, 1.0 + eps], [0.0, -eps]]), np.array([1.0, 1.0])
    certificate = certify(X, y, sl.omp(X, y, 1))
    step = certificate.steps[0]
    assert (step.tied, step.active, step.farkas) == ((0, 1), (0,), ())
    assert certificate.verify(X, y, exact=True)
    assert "undecided" in certificate.verify(X, y).failures[0]


# What an adversary tried


class Everything(tuple):
    """Holds whatever is asked for."""

    def __contains__(self, item):
        return True


class Large(F):
    """Above whatever it is compared with."""

    def __gt__(self, other):
        return True

    def __lt__(self, other):
        return False


OPPOSED = np.array([[1.0, 1.0, 0.0], [0.0, 1.0, 0.5]]), np.array([1.0, 0.0])  # T = {0, 1}, A = {0}


@pytest.mark.parametrize("exact", [True, False])
def test_types_that_lie_of_themselves(exact):
    certificate = certify(*OPPOSED, sl.omp(*OPPOSED, 1))
    (step,) = certificate.steps
    assert (step.tied, step.active) == ((0, 1), (0,))
    lies = [
        {"pick": 1, "active": Everything((0,))},
        {"pick": 1, "active": (0, 1), "farkas": (), "direction": (F(1), Large(0))},
    ]
    for lie in lies:
        forged = dataclasses.replace(certificate, steps=(dataclasses.replace(step, **lie),))
        assert not forged.verify(*OPPOSED, exact=exact)


def test_huge_numbers_do_not_hide_behind_their_rounding():
    """A near-null vector of dependent forced columns in `rate` would make every bound hold vacuously."""
    X = np.array([[1.0, 1, 0, 0], [0, 1, 0, 0], [0, 1, 1, 3]])
    y = np.array([1.0, 0, 0])
    certificate = certify(X, y, sl.omp(X, y, 1))
    step = StepCertificate(
        selected=(2, 3),
        pick=1,
        tied=(0, 1),
        active=(0, 1),
        signs=(1, 1),
        lam_star_squared=F(1),
        coef=(F(0), F(0)),
        direction=(F(1, 2), F(1, 2)),
        rate=(F(-1, 2) + 3 * 10**15, F(-(10**15))),
        farkas=(),
        tau=F(1, 10),
    )
    forged = dataclasses.replace(certificate, forced=(2, 3), steps=(step,))
    assert not forged.verify(X, y, exact=True)
    assert not forged.verify(X, y)


def test_a_column_whose_square_underflows_is_not_a_zero_column():
    X, y = np.array([[1e80, 1e-138], [1e80, 0.0]]), np.array([3.0, 1.0])
    certificate = certify(X, y, sl.omp(X / np.linalg.norm(X, axis=0), y, 1), normalized=True)
    assert certificate.steps[0].pick == 1
    step = StepCertificate((), 0, (0,), (0,), (1,), F(8), (), (2 / F(1e80),), (), (), F(1, 2))
    forged = dataclasses.replace(certificate, steps=(step,))
    assert not forged.verify(X, y, exact=True)
    assert not forged.verify(X, y)


def test_forced_features_come_first(rng):
    X, y = rng.normal(size=(6, 4)), rng.normal(size=6)
    path = sl.omp(X, y, 2)
    odd = dataclasses.replace(path, lam_star=np.array([path.lam_star[0], np.nan]))
    with pytest.raises(ValueError, match="NaN for forced features alone, which come first"):
        certify(X, y, odd)


def test_one_line_to_look_at(rng):
    X, y = rng.normal(size=(12, 20)), rng.normal(size=12)
    for scale in (1.0, 1e140):
        certificate = certify(scale * X, scale * y, sl.omp(X, y, 6))
        assert len(repr(certificate)) < 250
        assert all(len(repr(step)) < 250 for step in certificate.steps)


def test_text_nested_too_deeply():
    with pytest.raises(ValueError, match="this text is no"):
        Certificate.from_json("[" * 100_000)
