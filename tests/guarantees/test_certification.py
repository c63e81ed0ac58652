"""Certificates against exact brute force, and every way to break one."""

import dataclasses
import json
import sys

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse
from attacks.oracles import first_entry
from certified import F, both, is_solution
from hypothesis import given
from hypothesis import strategies as st
from oracles import unit
from refusals import refuses

import sparselin as sl
from sparselin.certificates.certify import Certificate, Verification, certify
from sparselin.testing import integer_designs, tied_designs

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
        assert (step.lam_star_squared, step.tied, step.active) == first_entry(X, y, S)
        assert step.active == path.active_sets[t]
        assert step.epsilon**2 == step.tau**2 * step.lam_star_squared
        assert all(is_solution(X, y, step, step.tau * f, False) for f in (F(1), F(1, 3)))
    assert both(certificate, X, y)


@given(tied_designs(5, 7), st.integers(1, 3))
def test_normalized_certificates_agree_with_brute_force_in_fractions(design, k):
    X, y = design
    certificate = certify(X, y, sl.sequential_lasso(unit(X), y, min(k, X.shape[1])), normalized=True)
    for step in certificate.steps:
        exact = first_entry(X, y, step.selected, normalized=True)
        assert (step.lam_star_squared, step.tied, step.active) == exact
        assert is_solution(X, y, step, step.tau, True)
        assert 0 <= 1 - step.epsilon**2 / (step.tau**2 * step.lam_star_squared) < F(1, 2**60)
    assert both(certificate, X, y)


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
    assert (step.lam_star_squared, step.tied, step.active) == first_entry(X, y, step.selected, normalized)
    assert both(certificate, X, y)


def test_the_window_is_the_sharp_one(rng):
    for _ in range(20):
        X, y = rng.integers(-3, 4, (5, 9)).astype(float), rng.integers(-3, 4, 5).astype(float)
        for step in certify(X, y, sl.sequential_lasso(X, y, 3)).steps:
            entry = sl.first_entry(X, y, forced=step.selected)
            assert float(step.tau) == pytest.approx(1 - entry.window_lower / entry.lam_star, rel=1e-9)


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
    refuses(r"step 1: 1 is refuted.*with only \(0,\) in the model", certify, X, y, path)
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
    pandas = pytest.importorskip("pandas")
    X = np.where(rng.random((7, 9)) < 0.5, rng.normal(size=(7, 9)), 0).astype(np.float32)
    y = rng.normal(size=7).astype(np.float32)
    X.flags.writeable = y.flags.writeable = False
    certificate = certify(X, y, sl.omp(X, y, 3))
    wide = X.astype(np.float64)
    forms = [wide, np.asfortranarray(X), np.where(wide == 0, -0.0, wide), wide[::-1][::-1]]
    forms += [scipy.sparse.csr_array(wide), scipy.sparse.coo_matrix(X), pandas.DataFrame(X)]
    assert all(certify(form, y, sl.omp(X, y, 3)) == certificate for form in forms)
    assert all(certificate.verify(form, y, exact=True) for form in forms)
    assert certificate.verify(sl.Problem(X, y))
    assert certify(sl.Problem(X, y), sl.omp(X, y, 3)) == certificate


def test_other_data_are_told(rng):
    X, y = rng.normal(size=(6, 8)), rng.normal(size=6)
    certificate = certify(X, y, sl.omp(X, y, 3))
    other, longer = X.copy(), np.vstack([X, X])
    other[5, 7] = np.nextafter(other[5, 7], 9)
    for data in [(other, y), (X, y + 1), (X[:, ::-1], y)]:
        assert "other data" in certificate.verify(*data).failures[0]
    assert "shape" in certificate.verify(longer, np.r_[y, y]).failures[0]
    refuses("finite", certificate.verify, X * np.nan, y)
    refuses("Gram", certificate.verify, sl.Problem.from_gram(X.T @ X, X.T @ y, y @ y))


# Refusals


def test_bad_arguments(rng):
    X, y = rng.normal(size=(6, 8)), rng.normal(size=6)
    path = sl.omp(X, y, 3)
    refuses("7", certify, X[:, :7], y, path)
    refuses("SelectionPath", certify, X, y, [1, 2], error=TypeError)
    refuses("claim", certify, X, y, path, claim="lars")
    refuses("Gram", certify, sl.Problem.from_gram(X.T @ X, X.T @ y, y @ y), path)


def test_wrong_paths_are_refuted():
    X, y = np.array([[1.0, 0.0, 0.5, 1.0], [0.0, 1.0, 0.5, 0.0]]), np.array([4.0, 3.0])

    def claiming(*support):
        return dataclasses.replace(sl.omp(X, y, len(support)), support=np.array(support))

    words = r"step 1: 2 is refuted: its correlation is 3.5, but λ\* is 4 at \(0, 3\)"
    refuses(words, certify, X, y, claiming(2))
    words = r"step 2: 3 is refuted: its correlation is 0, but λ\* is 3 at \(1,\)"
    refuses(words, certify, X, y, claiming(0, 3))
    longer = dataclasses.replace(sl.omp(X, y, 2), support=np.array([0, 1, 2]))
    refuses(r"step 3: 2 is refuted: λ\* is 0", certify, X, y, longer)
    refuses(r"step 3: the columns \(0, 3\) .* dependent", certify, X, y, sl.omp(X, y, 3, forced=[0, 3]))


def test_one_unit_in_the_last_place_is_not_a_tie():
    """omp takes the lowest index of what rounding cannot tell apart; here the exact maximum is the other."""
    X, y = np.array([[1.0, 1.0 + 2.0**-52]]), np.array([1.0])
    path = sl.omp(X, y, 1)
    assert path.support.tolist() == [0]
    refuses("step 1: 0 is refuted", certify, X, y, path)
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
    refuses(r"pip install 'sparselin\[verify\]'", certify, X, y, path, error=ModuleNotFoundError)
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
        refuses("this text is no", Certificate.from_json, wrong)
    for no_text in (None, 3, fields):
        words = "text must be a string that `to_json` returned; got"
        refuses(words, Certificate.from_json, no_text, error=TypeError)


def test_forced_features_come_first(rng):
    X, y = rng.normal(size=(6, 4)), rng.normal(size=6)
    path = sl.omp(X, y, 2)
    odd = dataclasses.replace(path, lam_star=np.array([path.lam_star[0], np.nan]))
    refuses("NaN only for forced features, which come first", certify, X, y, odd)


def test_one_line_to_look_at(rng):
    X, y = rng.normal(size=(12, 20)), rng.normal(size=12)
    for scale in (1.0, 1e140):
        certificate = certify(scale * X, scale * y, sl.omp(X, y, 6))
        assert len(repr(certificate)) < 250
        assert all(len(repr(step)) < 250 for step in certificate.steps)
