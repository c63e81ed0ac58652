"""certify(claim="ols"): against brute force in fractions, and against alterations and liars."""

import dataclasses
from fractions import Fraction

import numpy as np
import pytest
from fractional import dot, fractions, residual
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from refusals import refuses

import sparselin as sl
from sparselin.results import Fit
from sparselin.testing import integer_designs, tied_designs

few = settings(deadline=None, max_examples=60)


def certified(X, y, path, **options):
    return sl.certify(X, y, path, claim="ols", **options)


def square(v):
    return dot(v, v)


def decreases(X, y, S):
    """Return the decrease of ‖r‖² by each feature off S, and the features in the span of S."""
    columns, y = fractions(X.T), fractions(y)
    chosen = [columns[j] for j in S]
    now = square(residual(chosen, y))
    others = [j for j in range(X.shape[1]) if j not in S]
    spanned = [j for j in others if not any(residual(chosen, columns[j]))]
    return {j: now - square(residual([*chosen, columns[j]], y)) for j in others if j not in spanned}, spanned


@few
@given(integer_designs(6, 7) | tied_designs(6, 7), st.integers(1, 4))
def test_certificates_agree_with_brute_force_in_fractions(design, k):
    X, y = design
    path = sl.ols(X, y, min(k, X.shape[1]))
    assume(len(path.support))
    certificate = certified(X, y, path)
    for t, step in enumerate(certificate.steps):
        gains, spanned = decreases(X, y, path.support[:t].tolist())
        most = max(gains.values())
        assert step.decrease == most
        assert step.tied == tuple(j for j, gain in gains.items() if gain == most)
        assert step.spanned == tuple(spanned)
        assert step.pick == path.support[t] in step.tied
    assert certificate.verify(X, y, exact=True)
    assert certificate.verify(X, y)
    assert type(certificate).from_json(certificate.to_json()) == certificate


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("factor", [1.0, 2.0**300, 3e-100])
def test_gaussian_designs_of_any_scale(rng, exact, factor):
    X, y = rng.standard_normal((14, 20)) * factor, rng.standard_normal(14) / factor
    path = sl.ols(X, y, 6)
    certificate = certified(X, y, path)
    assert [step.pick for step in certificate.steps] == path.support.tolist()
    assert certificate.verify(X, y, exact=exact)
    drop = -np.diff(path.residual_norm**2)
    np.testing.assert_allclose([float(step.decrease) for step in certificate.steps], drop, rtol=1e-9)


def test_lengths_of_columns_do_not_matter(rng):
    X, y = rng.standard_normal((8, 11)), rng.standard_normal(8)
    path, power = sl.ols(X, y, 4), 2.0 ** rng.integers(-9, 10, 11)
    first, second = (certified(X * a, y, path) for a in (1.0, power))
    assert [step.decrease for step in first.steps] == [step.decrease for step in second.steps]
    assert second.verify(X * power, y, exact=True)
    assert certified(X, y, path, normalized=True).steps == first.steps


def test_forced_features_and_an_intercept(rng):
    X, y = rng.integers(-5, 6, (9, 7)).astype(float), rng.integers(-5, 6, 9).astype(float)
    path = sl.ols(X, y, 4, forced=[5, 2], intercept=True)
    certificate = certified(X, y, path)
    assert certificate.forced == (7, 5, 2)
    assert len(certificate.steps) == 2
    assert certificate.verify(X, y, exact=True)
    ones = np.column_stack([X, np.ones(9)])
    gains, _ = decreases(ones, y, [7, 5, 2])
    assert certificate.steps[0].decrease == max(gains.values())


# What is refused


def test_wrong_paths_are_refuted():
    X, y = sl.ensembles.gaussian(10, 15, rng=0, y="noise")
    path = sl.ols(X, y, 3)

    def claiming(*support):
        return dataclasses.replace(path, support=np.array(support))

    first, second, third = path.support.tolist()
    words = rf"step 2: {third} is refuted: it decreases ‖r‖² by .* but \({second},\)"
    refuses(words, certified, X, y, claiming(first, third, second))
    Y = X[:, [first]] @ np.ones(1)
    refuses(r"step 2: .* is refuted: no column decreases", certified, X, Y, claiming(first, second, third))
    Z = np.column_stack([X[:, first], X[:, first], X[:, second]])
    with pytest.raises(ValueError, match=r"step 2: 1 is refuted: it decreases ‖r‖² by 0, but \(2,\)"):
        certified(Z, y, dataclasses.replace(path, support=np.array([0, 1, 2]), fit=Fit(n_features=3)))


def test_where_omp_and_ols_part_only_one_of_them_is_certified():
    for seed in range(50):
        X, y = sl.ensembles.ar1(10, 15, rng=seed)
        omp, ols = sl.omp(X, y, 3), sl.ols(X, y, 3)
        if list(omp.support) != list(ols.support):
            break
    assert certified(X, y, ols).verify(X, y, exact=True)
    assert sl.certify(X, y, omp, claim="omp").verify(X, y, exact=True)
    refuses("is refuted", certified, X, y, omp)
    refuses("is refuted", sl.certify, X, y, ols, claim="omp")


@pytest.mark.parametrize("exact", [True, False])
def test_a_certificate_of_the_second_best_is_rejected(rng, exact):
    """All else in it is true."""
    X, y = rng.standard_normal((9, 12)), rng.standard_normal(9)
    certificate = certified(X, y, sl.ols(X, y, 3))
    for t, step in enumerate(certificate.steps):
        gains, _ = decreases(X, y, list(step.selected))
        second = sorted(gains, key=gains.__getitem__)[-2]
        false = dataclasses.replace(step, pick=second, tied=(second,), decrease=gains[second])
        forged = dataclasses.replace(certificate, steps=(*certificate.steps[:t], false))
        found = forged.verify(X, y, exact=exact)
        assert any(f"[{step.pick}] are not tied" in failure for failure in found.failures)


@pytest.mark.parametrize("exact", [True, False])
def test_no_better_feature_hides_among_the_spanned(rng, exact):
    X, y = rng.standard_normal((9, 12)), rng.standard_normal(9)
    certificate = certified(X, y, sl.ols(X, y, 1))
    (step,) = certificate.steps
    gains, _ = decreases(X, y, [])
    second = sorted(gains, key=gains.__getitem__)[-2]
    lie = {"pick": second, "tied": (second,), "decrease": gains[second], "spanned": (step.pick,)}
    false = dataclasses.replace(step, **lie)
    assert not dataclasses.replace(certificate, steps=(false,)).verify(X, y, exact=exact)


def consistent(X, y, step, *, coef, basis, squares):
    """A step with these, and what follows from them in the rest."""
    columns, S = fractions(X.T), step.selected

    def less(v, weights):
        for w, j in weights:
            v = [a - w * b for a, b in zip(v, columns[j], strict=True)]
        return v

    c = [dot(v, less(fractions(y), zip(coef, S, strict=True))) for v in columns]
    left = [dot(v, v) for v in columns]
    for t, (a, w) in enumerate(zip(basis, squares, strict=True)):
        u = less(columns[S[t]], zip(a, S, strict=False))
        left = [old - dot(u, v) ** 2 / w for old, v in zip(left, columns, strict=True)]
    gains = {j: c[j] ** 2 / left[j] for j in range(len(c)) if j not in S and left[j] > 0}
    pick = max(gains, key=gains.__getitem__)
    fields = {"coef": coef, "basis": basis, "squares": squares}
    return dataclasses.replace(step, pick=pick, tied=(pick,), decrease=gains[pick], **fields)


LIES = [
    ({}, None),
    ({"coef": (Fraction(0), Fraction(0))}, "the residual at `coef`"),
    ({"basis": ((), (Fraction(0),))}, "`basis` is not orthogonal"),
    ({"squares": (Fraction(100), Fraction(90))}, "`basis` is not orthogonal, or `squares` are not"),
]


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize(("lie", "failure"), LIES)
def test_each_condition_is_needed(exact, lie, failure):
    """All follows from the lie, and no other condition fails."""
    X = np.array([[1.0, 3, 2, 1], [0, 4, 2, -1], [2, 0, 2, 1], [0, 0, 1, 3], [1, 1, 0, 1]])
    y = np.array([4.0, 5, 6, 2, 1])
    certificate = certified(X, y, sl.ols(X, y, 3))
    step = certificate.steps[2]
    true = {name: getattr(step, name) for name in ("coef", "basis", "squares")}
    if "basis" in lie:  # the columns themselves, and their lengths
        true["squares"] = tuple(Fraction(float(w)) for w in (X[:, step.selected] ** 2).sum(axis=0))
    false = consistent(X, y, step, **true | lie)
    found = dataclasses.replace(certificate, steps=(*certificate.steps[:2], false)).verify(X, y, exact=exact)
    if failure is None:
        assert false == step
        assert found
    else:
        assert len(set(found.failures)) == 1
        assert failure in found.failures[0]


def test_what_float64_cannot_see_is_left_to_exact_arithmetic():
    """Two features that differ in the last place: exact arithmetic decides, floats say so."""
    X, y = np.array([[1.0, 1.0], [1.0, 1.0 + 2**-52]]), np.array([1.0, 1.0])
    path = dataclasses.replace(sl.ols(X, y, 1), support=np.array([0]))
    certificate = certified(X, y, path)
    assert certificate.steps[0].tied == (0,)
    assert certificate.verify(X, y, exact=True)
    found = certificate.verify(X, y)
    assert not found
    assert "rounding leaves it undecided" in found.failures[0]
    refuses("1 is refuted", certified, X, y, dataclasses.replace(path, support=np.array([1])))
