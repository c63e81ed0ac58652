"""Certificates that were altered are rejected, whatever was altered."""

import dataclasses
import functools
import itertools
from fractions import Fraction

import numpy as np
import pytest
from certified import F, both
from fractional import dot
from oracles import unit
from refusals import refuses

import sparselin as sl
from sparselin.certificates.certify import Certificate, StepCertificate, certify
from sparselin.certificates.form import CLAIMS

# S = (4,), T = (0, 1, 2, 3): −3 is a copy of 0, 1 is barred by a vector, 2 by (Hu)_2 > |c_2|.
TIED = [[1, 1, 2, -1, 0, 0.5, 0.5], [0, 0, -1, 0, 0, 0, 0.25], [0, 1, 0, 0, 2, 1, 0], [0, -2, 0, 0, 1, 0, 2]]
SPANNED = [[1, 0, 0, 1, 2, 3, 0], [0, 1, 0, 1, 0, 1, 0], [0, 0, 1, 0, 0, 2, 0], [1, 0, 1, 1, 1, 0, 0]]
POSITIVE = [[2, 0, 1, -1, 0], [0, 2, 1, 1, 0], [0, 0, 1, 0, 2]]
# claim → X, y, and a method whose path is certified
EXAMPLES = {
    "sequential_lasso": (TIED, [2, 2, 2, 1], functools.partial(sl.sequential_lasso, k=3, forced=[4])),
    "ols": (SPANNED, [3, 1, 5, 2], functools.partial(sl.ols, k=3)),
    "nonnegative_omp": (POSITIVE, [2, 2, 1], functools.partial(sl.omp, k=3, positive=True)),
}


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
    """Return whether the changed field of an example is true as well."""
    if name == "steps":  # fewer of them
        return after == before[: len(after)]
    if name == "0.farkas":  # other vectors orthogonal to features 4 and 0, at an acute angle to 1
        rows = [[0, 0, 2, 1], [1, 0, 0, 0], [1, 0, 1, -2]]
        angles = [(i, *(dot(row, w) for row in rows)) for i, w in after]
        return len(angles) > 0 and all(i == 1 and S == A == 0 and up > 0 for i, S, A, up in angles)
    return False


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("claim", EXAMPLES)
def test_every_altered_field_is_rejected(claim, exact):
    X, y, method = EXAMPLES[claim]
    X, y = np.array(X, float), np.array(y, float)
    certificate = certify(X, y, method(X, y), claim=claim)
    step = certificate.steps[0]
    if claim == "sequential_lasso":
        assert (step.tied, step.active, [i for i, _ in step.farkas]) == ((0, 1, 2, 3), (0, 3), [1])
    assert both(certificate, X, y)
    assert Certificate.from_json(certificate.to_json()) == certificate
    for other, form in CLAIMS.items():
        assert form is type(step) or not dataclasses.replace(certificate, claim=other).verify(X, y)
    seen = set()
    for name, before, after, changed in tampered(certificate):
        found = changed.verify(X, y, exact=exact)
        if found:
            assert still_a_proof(name, before, after), (name, after)
        else:
            assert found.failures
            seen.add(name.rpartition(".")[2])
    names = [field.name for cls in (Certificate, type(step)) for field in dataclasses.fields(cls)]
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
    assert "nothing proves" in half.verify(X, y, exact=exact).failures[0]
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
    # Hu = (1, 1½) for a u with a negative entry
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
    """A container that holds everything."""

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
    step = StepCertificate(
        selected=(),
        pick=0,
        tied=(0,),
        active=(0,),
        signs=(1,),
        lam_star_squared=F(8),
        coef=(),
        direction=(2 / F(1e80),),
        rate=(),
        farkas=(),
        tau=F(1, 2),
    )
    forged = dataclasses.replace(certificate, steps=(step,))
    assert not forged.verify(X, y, exact=True)
    assert not forged.verify(X, y)


def test_text_nested_too_deeply():
    refuses("this text is no", Certificate.from_json, "[" * 100_000)
