"""Claims tried on many designs: rates, their intervals, counterexamples, and smaller ones."""

import dataclasses

import numpy as np
import pytest
from refusals import refuses
from scipy.stats import beta, binom

import sparselin as sl
from sparselin.ensembles import Design, of_random_size
from sparselin.ensembles.claims import _interval
from sparselin.ensembles.saved import archive, as_design, describe_value, load_value
from sparselin.testing import rate, smaller


def coin(p):
    """An ensemble whose designs hold with probability p, and the claim that they do."""

    def draw(rng):
        return np.ones((1, 1)), np.array([float(rng.random() < p)])

    return draw, lambda X, y: y[0] > 0


# Intervals


@pytest.mark.parametrize(("held", "tried"), [(0, 5), (3, 5), (5, 5), (990, 1000)])
def test_the_interval_of_a_fixed_number_is_that_of_clopper_and_pearson(held, tried):
    low, high = _interval(held, tried, False, 0.9)
    assert low == pytest.approx(beta.ppf(0.05, held, tried - held + 1) if held else 0)
    assert high == pytest.approx(beta.ppf(0.95, held + 1, tried - held) if held < tried else 1)


@pytest.mark.parametrize("stop", [False, True])
@pytest.mark.parametrize("confidence", [0.5, 0.95])
def test_the_level_is_what_it_is_said_to_be(stop, confidence):
    """The level is the sum over all outcomes, for many p; and it is not vacuous."""
    N = 30
    for p in [0.0, 0.01, 0.2, 0.5, 0.7, 0.9, 0.97, 0.999, 1.0]:
        if stop:
            outcomes = [(m - 1, m, p ** (m - 1) * (1 - p)) for m in range(1, N + 1)] + [(N, N, p**N)]
        else:
            outcomes = [(held, N, binom.pmf(held, N, p)) for held in range(N + 1)]
        assert sum(chance for *_, chance in outcomes) == pytest.approx(1)
        level = 0.0
        for held, tried, chance in outcomes:
            low, high = _interval(held, tried, stop and held < tried, confidence)
            assert low < high
            level += chance * (low <= p <= high)
        assert level >= confidence - 1e-12, p


def test_a_stopped_interval_is_not_that_of_a_fixed_number():
    low, high = _interval(9, 10, True, 0.95)
    assert (low, high) == (pytest.approx(0.025 ** (1 / 9)), pytest.approx(0.975 ** (1 / 10)))
    assert low > _interval(9, 10, False, 0.95)[0]
    assert _interval(0, 1, True, 0.95) == (0.0, pytest.approx(0.975))


# Rates


def test_a_rate_counts(tmp_path):
    draw, claim = coin(0.7)
    seeds = (np.random.SeedSequence(5, spawn_key=(i,)) for i in range(100))
    answers = [draw(np.random.default_rng(seed))[1][0] for seed in seeds]
    found = rate(claim, draw, 100, seed=5, stop=False, folder=tmp_path)
    assert (found.held, found.tried, found.skipped, found.stopped) == (sum(answers), 100, 0, False)
    assert found.index == answers.index(0.0)
    assert found.counterexample.y.tolist() == [0.0]
    assert found.lower < found.rate < found.upper
    stopped = rate(claim, draw, 100, seed=5, folder=None)
    assert (stopped.held, stopped.tried, stopped.stopped) == (found.index, found.index + 1, True)
    assert (stopped.file, stopped.index) == (None, found.index)
    assert rate(claim, draw, found.index, seed=5, folder=tmp_path / "none").counterexample is None
    assert not (tmp_path / "none").exists()


def test_a_counterexample_is_saved_where_it_stops(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def omp_is_ols(X, y):
        return list(sl.omp(X, y, 3).support) == list(sl.ols(X, y, 3).support)

    found = rate(omp_is_ols, "gaussian")
    assert found.stopped
    assert str(found.file) == f"counterexamples/omp_is_ols-gaussian-0-{found.index}.npz"
    with np.load(found.file) as saved:
        X, y = saved["X"], saved["y"]
        assert int(saved["index"]) == found.index
    assert np.array_equal(X, sl.ensembles.ENSEMBLES["gaussian"].design(found.index)[0])
    assert not omp_is_ols(X, y)
    assert f"np.load('{found.file}') has its X and y" in repr(found)
    assert f"fails at index {found.index}" in repr(found)


def test_a_claim_may_be_about_the_truth():
    def finds(design):
        return set(sl.omp(*design, len(design.support)).support) == set(design.support)

    own = of_random_size("own", "", sl.ensembles.sparse_signal, (40, 50), (50, 60))
    many = rate(finds, own, 50, stop=False, folder=None)
    few = rate(
        finds, lambda rng: sl.ensembles.gaussian(8, 40, rng, y="signal", k=4), 50, stop=False, folder=None
    )
    assert many.rate > few.upper


def test_none_means_that_the_hypotheses_are_not_met():
    draw, _ = coin(0.5)
    found = rate(lambda X, y: True if y[0] else None, draw, 60, folder=None)
    assert 10 < found.skipped < 50
    assert (found.tried, found.held, found.rate) == (60 - found.skipped, found.tried, 1.0)
    assert "did not meet its hypotheses" in repr(found)
    refuses("no design met the hypotheses", rate, lambda X, y: None, draw, 5)


def test_errors_of_a_claim_say_where():
    with pytest.raises(ZeroDivisionError) as caught:
        rate(lambda X, y: 1 / 0, "gaussian", 5, seed=3)
    assert caught.value.__notes__ == ["design 0 of gaussian, seed 3"]


BAD_ARGUMENTS = [
    ((len, "gaussia"), {}, ValueError, "unknown ensemble 'gaussia'"),
    ((len, 3), {}, TypeError, "ensemble must be a name"),
    ((3, "gaussian"), {}, TypeError, "claim must be a function"),
    ((lambda: True, "gaussian"), {}, TypeError, "it takes 0 arguments"),
    ((lambda a, b, c: True, "gaussian"), {}, TypeError, "it takes 3 arguments"),
    ((len, "gaussian", 0), {}, ValueError, "N must be at least 1"),
    ((len, "gaussian", 2), {"seed": -1}, ValueError, "seed must be at least 0"),
    ((len, "gaussian", 2), {"confidence": 1.0}, ValueError, "confidence must be in"),
]


@pytest.mark.parametrize(("arguments", "options", "error", "words"), BAD_ARGUMENTS)
def test_bad_arguments(arguments, options, error, words):
    refuses(words, rate, *arguments, error=error, **options)


# Smaller ones


def test_a_counterexample_shrinks_to_what_makes_it_one(tmp_path):
    """Fails on two parallel columns: two columns and one row of small integers are left."""

    def independent(X, y):
        return None if X.shape[1] < 2 else np.linalg.matrix_rank(X) == X.shape[1]

    draw = lambda rng: sl.ensembles.duplicated(9, 8, rng)  # noqa: E731
    found = rate(independent, draw, 5, shrink=True, folder=tmp_path)
    assert found.smaller.X.shape == (1, 2)
    assert not found.smaller.X.any()
    assert not independent(*found.smaller)
    with np.load(found.file) as saved:
        assert np.array_equal(saved["smaller_X"], found.smaller.X)
        assert saved["X"].shape == (9, 8)


def test_shrinking_keeps_the_failure_and_the_input():
    X, y = sl.ensembles.gaussian(12, 9, rng=1)
    before = X.copy()

    def claim(X, y):
        if not (X.shape[1] >= 3 and np.linalg.norm(X, axis=0).all()):
            return None
        return np.abs(X.T @ y).max() < 0.5

    found = smaller(claim, X, y)
    assert np.array_equal(X, before)
    assert claim(*found) is not None
    assert not claim(*found)
    assert found.X.shape[1] == 3
    assert len(found.y) <= 2
    assert np.array_equal(found.X, np.round(found.X))
    refuses("does not fail", smaller, lambda X, y: True, X, y)


def test_a_counterexample_shrinks_to_few_small_integers():
    """From 60 × 79 real entries it becomes as small as by Hypothesis, and the same in each run."""

    def agree(X, y):
        return list(sl.omp(X, y, 3).support) == list(sl.ols(X, y, 3).support)

    found = [rate(agree, "gaussian", shrink=True, folder=None).smaller for _ in range(2)]
    assert found[0].X.tolist() == found[1].X.tolist()
    assert found[0].y.tolist() == found[1].y.tolist()
    assert found[0].X.shape[0] <= 2
    assert found[0].X.shape[1] == 3
    assert set(np.abs(np.column_stack([*found[0]])).ravel()) <= {0, 1, 2}
    assert not agree(*found[0])


def test_rows_are_rotated_into_fewer():
    """A claim about inner products and unit columns, of which no row can be left out."""

    def claim(X, y):
        norms = np.linalg.norm(X, axis=0)
        return None if X.shape[1] < 3 or np.abs(norms - 1).max() > 1e-9 else abs(y @ y - 4) > 1e-9

    X, y = sl.ensembles.gaussian(12, 3, rng=0)
    found = smaller(claim, X, 2 * y / np.linalg.norm(y))
    assert found.X.shape == (4, 3)


def test_shrinking_ends_after_so_many_calls():
    X, y = sl.ensembles.gaussian(12, 9, rng=1)
    calls = []

    def claim(X, y):
        calls.append(X.shape)
        return False

    smaller(claim, X, y, calls=7)
    assert len(calls) == 7


def test_designs_on_which_a_claim_raises_are_not_taken():
    def claim(X, y):
        if X.shape[1] < 4:
            raise ValueError("too few")
        return False

    assert smaller(claim, *sl.ensembles.gaussian(5, 8, rng=1)).X.shape == (1, 4)


# Files


STORED = [
    (np.eye(3), np.ones(3)),
    sl.ensembles.gaussian(4, 5, 0, y="signal", k=2),
    sl.ensembles.planted_ties(4, 5, 0),
    ((np.eye(2), np.ones(2)), 3, 0.5, True, "word"),
    7,
]


@pytest.mark.parametrize("value", STORED, ids=["pair", "design", "no truth", "nested", "number"])
def test_values_come_back_as_they_were(tmp_path, value):
    def same(a, b):
        if isinstance(a, tuple):
            return type(a) is type(b) and len(a) == len(b) and all(map(same, a, b))
        if isinstance(a, Design):
            return all(same(getattr(a, f.name), getattr(b, f.name)) for f in dataclasses.fields(Design))
        return np.array_equal(a, b) if isinstance(a, np.ndarray) else type(a) is type(b) and a == b

    file = tmp_path / "value.npz"
    file.write_bytes(archive(value, call=2))
    found, more = load_value(file)
    assert same(value, found)
    assert int(more["call"]) == 2
    assert ("X" in more) == (value != 7 if isinstance(value, int) else True)


def test_other_values_and_files_are_refused(tmp_path):
    assert archive(({"a": 1}, 2)) is None
    (tmp_path / "text.npz").write_text("no")
    np.savez(tmp_path / "other.npz", X=np.eye(2))
    np.savez(tmp_path / "objects.npz", value=np.array([None]))
    for name in ("text.npz", "other.npz", "objects.npz", "none.npz"):
        refuses(rf"{name} (is (not an? |a broken)|cannot be read)", load_value, tmp_path / name)


def test_what_is_shown_of_a_value():
    assert describe_value((np.eye(20), np.ones(20))) == "X (20, 20), y (20,)"
    assert describe_value((np.eye(1), np.ones(1))) == "(array([[1.]]), array([1.]))"
    assert describe_value(3) == "3"
    assert as_design((np.eye(2), np.ones(3))) is None
    assert as_design((1, 2)) is None
