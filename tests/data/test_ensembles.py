"""The designs are what they say: shapes, seeds, scaling, ties, conditioning, correlations."""

import dataclasses
import math
import pickle
import subprocess
import sys
import zlib

import numpy as np
import pytest
from oracles import same
from refusals import refuses

import sparselin as sl
from sparselin import ensembles
from sparselin.ensembles import ENSEMBLES

EPS = float(np.finfo(float).eps)
REAL = {"diabetes": (442, 55, 221), "digits": (1797, 64, 450), "breast_cancer": (569, 30, 284)}
RANDOM = [name for name in ENSEMBLES if name not in REAL]
UNIT = [name for name in ENSEMBLES if ENSEMBLES[name].unit_columns]

each_ensemble = pytest.mark.parametrize("name", ENSEMBLES)
each_random = pytest.mark.parametrize("name", RANDOM)
each_real = pytest.mark.parametrize("name", REAL)


def nonzero_condition(X):
    values = np.linalg.svd(X, compute_uv=False)
    return values[0] / values[values > 1e-14 * values[0]][-1]


def tied_at_first(X, y):
    """|T| at S = ∅ for integer data."""
    c = np.abs(X.astype(np.int64).T @ y.astype(np.int64))
    return np.count_nonzero(c == c.max()) if c.max() else 0


# One entry at a time


@each_random
@pytest.mark.parametrize(("n", "d"), [(1, 2), (7, 3), (20, 50)])
def test_functions_give_the_shape_asked_for(name, n, d):
    make = getattr(ensembles, name)
    X, y = make(n, d, 3)
    assert X.shape == (n, d)
    assert y.shape == (n,)


@each_random
def test_functions_are_deterministic_and_take_any_rng(name):
    make = getattr(ensembles, name)
    seeds = [5, np.random.SeedSequence(5), np.random.PCG64(5), np.random.default_rng(5)]
    designs = [make(20, 30, seed) for seed in seeds]
    assert all(same(designs[0], design) for design in designs)
    assert not same(designs[0], make(20, 30, 6))


@each_ensemble
def test_designs_are_legal_problems_of_a_size_for_eight_steps(name):
    assert ENSEMBLES[name].name == name
    for index in range(10):
        X, y = ENSEMBLES[name].design(index)
        sl.Problem(X, y)
        assert X.dtype == y.dtype == np.float64
        assert X.flags.c_contiguous
        assert X.flags.writeable
        assert y.any()
        assert len(y) >= 8
        assert X.shape[1] >= 10
        if name in RANDOM:
            assert len(y) <= 60
            assert X.shape[1] <= 120


@pytest.mark.parametrize("name", UNIT)
def test_columns_are_unit_or_zero_where_promised(name):
    for index in range(20):
        norms = np.linalg.norm(ENSEMBLES[name].design(index)[0], axis=0)
        np.testing.assert_allclose(norms[norms != 0], 1, rtol=1e-12)
        assert norms.all() or name in REAL


@each_ensemble
def test_the_stream_is_a_function_of_seed_name_and_index_alone(name):
    # not of what was drawn before
    ensemble, sent = ENSEMBLES[name], pickle.loads(pickle.dumps(ENSEMBLES[name]))
    for seed, index in ((7, 2), (7, 1), (4, 1), (7, 2)):
        sequence = np.random.SeedSequence(seed, spawn_key=(zlib.crc32(name.encode()), index))
        expected = ensemble.draw(np.random.default_rng(sequence))
        assert same(ensemble.design(index, seed), expected)
        assert same(sent.design(index, seed), expected)


def test_import_loads_neither_scikit_learn_nor_hypothesis():
    code = "import sys, sparselin.ensembles; print(sys.modules.keys() & {'sklearn', 'hypothesis'})"
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert printed == "set()\n"


# Ties


@pytest.mark.parametrize(("name", "floor"), [("partial_hadamard", 0.4), ("small_integers", 0.25)])
def test_integer_ensembles_tie_exactly_at_the_first_step(name, floor):
    designs = [ENSEMBLES[name].design(index) for index in range(200)]
    assert all(same((X, y), (np.round(X), np.round(y))) for X, y in designs)
    assert np.mean([tied_at_first(X, y) > 1 for X, y in designs]) >= floor
    assert np.mean([tied_at_first(X, y) > 2 for X, y in designs]) >= 0.05


def test_duplicates_and_negations_tie_exactly_at_the_first_step():
    counts = {+1: 0, -1: 0}
    for index in range(200):
        X, y = ENSEMBLES["duplicated"].design(index)
        j = np.argmax(np.abs(X.T @ y))
        for sign in counts:
            counts[sign] += any((X[:, i] == sign * X[:, j]).all() for i in range(X.shape[1]) if i != j)
    assert min(counts.values()) >= 0.25 * 200


@pytest.mark.parametrize("d", [2, 3, 30, 41])
def test_half_of_the_columns_are_copies(d):
    X, _ = ensembles.duplicated(20, d, 0)
    assert len({tuple(column * np.sign(column[0])) for column in X.T}) == (d + 1) // 2


def test_tying_responses_are_never_zero():
    for seed in range(100):
        assert ensembles.small_integers(2, 3, seed)[1].any()


@pytest.mark.parametrize("name", [name for name in ENSEMBLES if not ENSEMBLES[name].ties])
def test_other_ensembles_do_not_tie(name):
    for index in range(50):
        X, y = ENSEMBLES[name].design(index)
        runner_up, lam_star = np.sort(np.abs(X.T @ y))[-2:]
        assert runner_up < lam_star * (1 - 1e-12)


def test_a_whole_hadamard_matrix_is_orthogonal_and_a_part_has_distinct_rows():
    X, _ = ensembles.partial_hadamard(32, 32, 0)
    assert np.array_equal(X.T @ X, 32 * np.eye(32))
    X, _ = ensembles.partial_hadamard(20, 64, 0)
    assert np.array_equal(X @ X.T, 64 * np.eye(20))


# Distributions


def test_correlations_are_near_their_targets():
    def correlations(design):
        return design[0].T @ design[0]

    lags = np.abs(np.subtract.outer(np.arange(20), np.arange(20)))
    np.testing.assert_allclose(correlations(ensembles.gaussian(4000, 20, 0)), lags == 0, atol=0.07)
    np.testing.assert_allclose(correlations(ensembles.rademacher(4000, 20, 0)), lags == 0, atol=0.07)
    for rho in (0.9, -0.5):
        np.testing.assert_allclose(correlations(ensembles.ar1(4000, 20, 0, rho=rho)), rho**lags, atol=0.07)
    np.testing.assert_allclose(correlations(ensembles.ar1(4000, 20, 0)), 0.9**lags, atol=0.07)
    for rho in (0.0, 0.5):
        target = np.where(lags == 0, 1, rho)
        G = correlations(ensembles.equicorrelated(4000, 20, 0, rho=rho))
        np.testing.assert_allclose(G, target, atol=0.07)
    np.testing.assert_allclose(correlations(ensembles.equicorrelated(4000, 20, 0))[0, 1], 0.5, atol=0.07)
    j = np.arange(1, 21)
    target = np.sqrt(np.minimum.outer(j, j) / np.maximum.outer(j, j))
    np.testing.assert_allclose(correlations(ensembles.random_walk(4000, 20, 0)), target, atol=0.07)


@pytest.mark.parametrize("oversampling", [1, 4, 10])
def test_neighbouring_cosines_cohere_the_more_the_finer_they_are(oversampling):
    X, _ = ensembles.partial_dft(20000, 120, 0, oversampling=oversampling)
    target = np.sinc(2 * np.arange(6) / oversampling)
    np.testing.assert_allclose(X[:, 114:].T @ X[:, 114], target, atol=0.05)


def test_the_rows_of_a_heavy_tailed_design_are_uneven():
    peaks = [np.median(np.abs(ensembles.heavy_tails(400, 50, 0, df=df)[0]).max(axis=0)) for df in (1, 2, 1e6)]
    assert peaks[0] > 0.6 > peaks[1] > 0.3 > peaks[2]


def test_condition_is_as_asked():
    for index in range(40):
        X, _ = ENSEMBLES["ill_conditioned"].design(index)
        assert 3e5 < nonzero_condition(X) < 3e8
        for n, d in ((30, 20), (20, 30)):
            X, _ = ensembles.ill_conditioned(n, d, index, kappa=1e4)
            assert 2e3 < nonzero_condition(X) < 5e4


def test_flagged_and_only_flagged_ensembles_are_ill_conditioned():
    for name, ensemble in ENSEMBLES.items():
        # Copies make a design rank deficient; what is left of it is well conditioned.
        condition = np.median([nonzero_condition(ensemble.design(index)[0]) for index in range(1, 20)])
        assert (condition > 1e6) == ensemble.ill_conditioned, name


def test_a_sparse_signal_has_the_size_and_noise_asked_for():
    X, y = ensembles.sparse_signal(400, 20, 0, k=3, snr=2.0)
    beta = np.round(np.linalg.lstsq(X, y)[0])
    assert np.abs(beta).sum() == np.abs(beta).max() * 3 == 3
    assert np.linalg.norm(X @ beta) / np.linalg.norm(y - X @ beta) == pytest.approx(2)


@pytest.mark.parametrize("name", ["gaussian", "ar1", "ill_conditioned"])
def test_generic_responses_come_in_both_regimes(name):
    def unexplained(X, y):
        return np.linalg.norm(y - X @ np.linalg.lstsq(X, y)[0]) / np.linalg.norm(y)

    shares = np.array([unexplained(*getattr(ensembles, name)(300, 10, seed)) for seed in range(200)])
    assert 0.4 < np.mean(shares > 0.9) < 0.7
    assert 0.2 < np.mean(shares < 0.3) < 0.5


# Real data


@each_real
def test_real_data_come_in_full_first_and_by_distinct_rows_later(name):
    n, d, half = REAL[name]
    make, ensemble = getattr(ensembles, name), ENSEMBLES[name]
    assert same(ensemble.design(0), make())
    assert same(make(rng=1), make(rng=1))
    assert not same(make(rng=1), make(rng=2))
    full, part = make(), ensemble.design(1)
    assert full[0].shape == (n, d)
    assert part[0].shape == (half, d)
    assert len(np.unique(part[0], axis=0)) == half
    for X, y in (full, part):
        assert np.abs(X.sum(axis=0)).max() < 1e-12
        assert abs(y.sum()) < 1e-12 * np.abs(y).sum()
        assert np.unique(y).size > 1


def test_constant_pixels_become_zero_columns():
    X, _ = ensembles.digits()
    assert np.flatnonzero((X == 0).all(axis=0)).tolist() == [0, 32, 39]


def test_a_constant_column_is_zero_even_where_its_mean_rounds(monkeypatch):
    X = np.column_stack([np.full(7, 0.1), np.arange(7.0)])
    assert (X[:, 0] != X[:, 0].mean()).all()
    monkeypatch.setattr(ensembles.families, "_load", lambda name: (X, np.arange(7.0)))
    assert ensembles.digits()[0].any(axis=0).tolist() == [False, True]


def test_what_is_returned_can_be_changed_without_harm():
    for make in (ensembles.diabetes, ensembles.digits, ensembles.breast_cancer):
        X, y = make()
        X[:], y[:] = 0, 0
        assert make()[0].any()
        assert make()[1].any()


# Bad input


@each_random
def test_sizes_below_one_are_refused(name):
    make = getattr(ensembles, name)
    refuses(r"n must be at least 1; got 0", make, 0, 5)
    refuses(r"d must be at least 1; got -2", make, 5, -2)
    refuses(r"n must be an integer; got 2.5", make, 2.5, 5, error=TypeError)
    refuses(r"rng must be a seed, .*; got 'a'", make, 5, 5, rng="a", error=TypeError)


OUT_OF_RANGE = [
    ("ar1", {"rho": 1.0}, r"rho must be in \(−1, 1\); got 1.0"),
    ("ar1", {"rho": float("nan")}, r"rho must be finite; got nan"),
    ("equicorrelated", {"rho": -0.1}, r"rho must be in \[0, 1\); got -0.1"),
    ("partial_dft", {"oversampling": 0.5}, r"oversampling must be at least 1; got 0.5"),
    ("ill_conditioned", {"kappa": 0.5}, r"kappa must be in \[1, 1e14\]; got 0.5"),
    ("ill_conditioned", {"kappa": 1e15}, r"kappa must be in \[1, 1e14\]; got 1000000000000000.0"),
    ("heavy_tails", {"df": 0.9}, r"df must be at least 1; got 0.9"),
    ("heavy_tails", {"df": np.inf}, r"df must be finite; got inf"),
    ("sparse_signal", {"k": 6}, r"k must be in 1..5; got 6"),
    ("sparse_signal", {"snr": 0}, r"snr must be at least 1e-100; got 0"),
    ("sparse_signal", {"snr": 1e-320}, r"snr must be at least 1e-100; got 1e-320"),
]


@pytest.mark.parametrize(("name", "arguments", "message"), OUT_OF_RANGE)
def test_parameters_out_of_range_are_refused(name, arguments, message):
    refuses(message, getattr(ensembles, name), 5, 5, **arguments)


PARAMETERS = list(
    dict.fromkeys((name, key) for name, given, _ in OUT_OF_RANGE for key in given if key != "k")
)


@pytest.mark.parametrize(("name", "parameter"), PARAMETERS)
@pytest.mark.parametrize("value", ["a", True, [0.5, 0.6], 1j])
def test_parameters_that_are_no_numbers_are_refused_by_name(name, parameter, value):
    words, make = f"{parameter} must be a real number", getattr(ensembles, name)
    refuses(words, make, 5, 5, error=TypeError, **{parameter: value})


def test_the_weakest_signal_is_still_finite():
    y = ensembles.sparse_signal(8, 10, snr=1e-100)[1]
    assert np.isfinite(y @ y)


def test_seeds_may_be_longer_than_64_bits():
    long = np.random.SeedSequence().entropy | 2**127
    first, again = (ENSEMBLES["gaussian"].design(1, seed=long)[1] for _ in range(2))
    assert np.array_equal(first, again)


def test_other_bad_input_is_refused():
    refuses(r"d must be at least 2; got 1", ensembles.duplicated, 5, 1)
    refuses(r"gap must be in \(0, 1\]; got 0", ensembles.near_ties, 5, 4, gap=0)
    refuses(r"n must be at least 2; got 1", ensembles.near_ties, 1, 4)
    refuses(r"index must be at least 0; got -1", ENSEMBLES["gaussian"].design, -1)
    refuses(r"seed must be at least 0; got -1", ENSEMBLES["diabetes"].design, 0, seed=-1)


# ---- the truth behind y


def every(name, **options):
    """A design of an ensemble, 25 × 40 if it is random."""
    make = getattr(ensembles, name)
    return make(rng=3, **options) if name in REAL else make(25, 40, 3, **options)


@pytest.mark.parametrize("name", [name for name in ENSEMBLES if name != "sparse_signal"])
@pytest.mark.parametrize("y", ["noise", "signal", "generic", "tying"])
def test_every_ensemble_draws_every_response_and_tells_the_truth(name, y):
    design = every(name, y=y)
    X, response = design
    assert X is design.X is design[0]
    assert response is design.y is design[1]
    assert len(design) == 2
    if design.coef is None:
        assert (y, design.noise, design.support) == ("tying", None, None)
        return
    assert design.support.tolist() == np.flatnonzero(design.coef).tolist()
    assert X[:, design.support].any(axis=0).all()
    size = np.abs(X) @ np.abs(design.coef) + np.abs(design.noise)
    assert (np.abs(X @ design.coef + design.noise - response) <= 100 * EPS * size).all()
    if y == "noise":
        assert not design.coef.any()
    if y == "signal":
        assert np.abs(design.coef[design.support]).tolist() == [1.0] * 5
        # copies may cancel in part, but the noise is in proportion
        assert np.linalg.norm(X @ design.coef) == pytest.approx(10 * np.linalg.norm(design.noise))


@pytest.mark.parametrize("gap", [1.0, 1e-3, 1e-9])
@pytest.mark.parametrize("d", [6, 7])
def test_near_ties_are_pairs_with_a_large_condition_number(gap, d):
    for seed in range(20):
        X, y = ensembles.near_ties(9, d, seed, gap=gap)
        np.testing.assert_allclose(np.linalg.norm(X, axis=0), 1, rtol=9 * EPS)
        distances = np.linalg.norm(X[:, :, None] - X[:, None], axis=0)
        pairs = np.abs(distances - gap) <= 9 * EPS
        assert pairs.sum(axis=0).tolist().count(1) == d - d % 2
        pick = np.argmax(np.abs(X.T @ y))
        if pairs[pick].any():  # column d − 1 is alone if d is odd
            assert sl.condition(X, y, sl.omp(X, y, 1)).number >= 2 / gap * (1 - 1e-6)


@each_ensemble
def test_the_response_has_a_default(name):
    own = {"partial_hadamard": "tying", "small_integers": "tying", "planted_ties": "planted"}
    y = "measured" if name in REAL else own.get(name, "generic")
    if name != "sparse_signal":
        assert same(every(name), every(name, y=y))


def test_a_signal_without_noise_is_recovered_from_its_support():
    for seed in range(5):
        design = ensembles.gaussian(40, 60, seed, y="signal", k=3, snr=math.inf)
        assert not design.noise.any()
        assert set(sl.omp(*design, 3).support) == set(design.support)
        found = np.linalg.lstsq(design.X[:, design.support], design.y)[0]
        np.testing.assert_allclose(found, design.coef[design.support], rtol=1e-12)
    assert same(ensembles.sparse_signal(9, 5, 1, k=2), ensembles.gaussian(9, 5, 1, y="signal", k=2))


def test_a_signal_is_of_nonzero_columns():
    for seed in range(20):
        design = ensembles.digits(seed, y="signal", k=20)
        assert design.X[:, design.support].any(axis=0).all()
    refuses(r"k must be in 1..61; got 62", ensembles.digits, y="signal", k=62)


def test_a_function_is_a_response():
    def first(X, rng):
        return X[:, 0] + rng.standard_normal(len(X))

    def decaying(X, rng):
        coef = 0.5 ** np.arange(X.shape[1])
        return X @ coef + rng.standard_normal(len(X)), coef

    for name in ENSEMBLES:
        if name == "sparse_signal":
            continue
        plain, known = every(name, y=first), every(name, y=decaying)
        assert (plain.coef, plain.noise) == (None, None)
        assert plain.X.shape == every(name).X.shape
        assert np.array_equal(known.coef, 0.5 ** np.arange(known.X.shape[1]))
        np.testing.assert_allclose(known.y, known.X @ known.coef + known.noise, rtol=1e-9)
        assert same(plain, every(name, y=first))
        # it is drawn after X, all of X
        assert np.array_equal(plain.X, every(name, y=lambda X, rng: X[:, -1]).X)


def test_without_a_seed_each_call_draws_anew():
    designs = [ensembles.gaussian(5, 6) for _ in range(10)]
    assert len({design.y.tobytes() for design in designs}) == 10
    assert ensembles.diabetes(y="noise")[0].shape == (442, 55)
    assert not same(ensembles.diabetes(y="noise"), ensembles.diabetes(y="noise"))


def test_a_design_is_frozen_and_has_a_short_repr():
    design = ensembles.gaussian(5, 6, 0, y="signal", k=2)
    assert repr(design) == f"<Design: X (5, 6), y (5,), support={design.support.tolist()}>"
    assert repr(ensembles.planted_ties(5, 6, 0)) == "<Design: X (5, 6), y (5,), no β>"
    with pytest.raises(dataclasses.FrozenInstanceError):
        design.X = design.y
    assert same(pickle.loads(pickle.dumps(design)), design)


OTHER_RESPONSES = [
    ({"y": "nois"}, ValueError, "y must be one of 'generic', 'noise', 'signal', 'tying', or a function"),
    ({"y": None}, ValueError, "y must be one of"),
    ({"y": 3}, ValueError, "y must be one of"),
    ({"y": "measured"}, ValueError, "y must be one of"),
    ({"k": 2}, ValueError, "k and snr belong to y='signal'; got y='generic'"),
    ({"y": "noise", "snr": 2.0}, ValueError, "k and snr belong to y='signal'; got y='noise'"),
    ({"y": "signal", "k": 0}, ValueError, "k must be in 1..6; got 0"),
    ({"y": "signal", "k": 2.5}, TypeError, "k must be an integer"),
    ({"y": "signal", "snr": -math.inf}, ValueError, "snr must be finite"),
    ({"y": "signal", "snr": math.nan}, ValueError, "snr must be finite"),
    ({"y": lambda X, rng: X[0]}, ValueError, r"must return y \(5,\); got the shape \(6,\)"),
    ({"y": lambda X, rng: X[:, 0] * math.nan}, ValueError, "y must be finite"),
    ({"y": lambda X, rng: "abcde"}, TypeError, "must return numbers"),
    ({"y": lambda X, rng: (X[:, 0], X[:, 0])}, ValueError, r"must return β \(6,\)"),
]


@pytest.mark.parametrize(("options", "error", "words"), OTHER_RESPONSES)
def test_other_responses_are_refused(options, error, words):
    refuses(words, ensembles.gaussian, 5, 6, 0, error=error, **options)
