"""Tests of the study without leaks, and of the studies of LassoNet's tables, on embedded data."""

import dataclasses

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from proofs_checks.experiments.networks import completion, honest, lassonet_study, protocol  # noqa: E402
from proofs_checks.experiments.networks.data import table  # noqa: E402
from proofs_checks.experiments.networks.pieces import FULL, QUICK, Piece, Scale  # noqa: E402
from proofs_checks.experiments.networks.protocol import (  # noqa: E402
    HONEST,
    NOT_NESTED,
    PAPER,
    PATHS,
    Protocol,
    pick,
    run_length,
    scale_epochs,
    split,
)
from sparselin.neural.baselines.methods import METHODS  # noqa: E402

TINY = Scale(rows=300, seeds=1, image_seeds=1, epochs=0.02, sizes=(3, 6))
SLOW = {"mRMR", "random forest", "concrete autoencoder", "concrete autoencoder of y"}


def spoiled(whole, rows):
    """Return the table with other numbers and classes in these rows."""
    X, y = whole.X.copy(), whole.y.copy()
    X[rows] = np.random.default_rng(0).normal(1e3, 1e3, X[rows].shape)
    y[rows] = whole.classes - 1 - y[rows]
    return dataclasses.replace(whole, X=X, y=y)


@pytest.fixture(scope="module")
def cancer():
    """Return 200 rows and 12 features; an official split has 160 rows for training and validation."""
    whole = table("breast_cancer")
    return dataclasses.replace(whole, X=whole.X[:200, :12], y=whole.y[:200], n_train=160)


@pytest.fixture
def fresh(monkeypatch):
    """Tune on the embedded data with three settings, and clear all caches before and after the test."""
    monkeypatch.setattr(honest, "TUNED", ("breast_cancer",))
    for method, settings in honest.SETTINGS.items():
        shorter = {"growth": 1.6} if method == "LassoNet" else {}
        monkeypatch.setitem(
            honest.SETTINGS, method, tuple({**setting, **shorter} for setting in settings[::3])
        )
    kept = (protocol.sets_of, protocol.pick_on, honest._tuning)
    for function in kept:
        function.cache_clear()
    yield kept
    for function in kept:
        function.cache_clear()


@pytest.mark.parametrize("method", [*sorted(honest.SETTINGS), "linear OMP"])
def test_test_rows_change_no_support_and_no_setting(cancer, method, fresh, monkeypatch):
    scale = dataclasses.replace(TINY, epochs=0.06 if method == "Sequential Attention" else TINY.epochs)
    found = []
    for whole in (cancer, spoiled(cancer, np.arange(160, 200))):
        monkeypatch.setattr(protocol, "table", {"breast_cancer": whole}.get)
        found.append(honest.run(Piece("honest", "breast_cancer", method, 6, 1), scale))
        for function in fresh:
            function.cache_clear()
    ours, theirs = found
    assert ours.support == theirs.support
    assert ours.note == theirs.note
    assert ours.scores["network"] != theirs.scores["network"]


def test_validation_rows_decide_and_select_nothing(cancer, monkeypatch):
    """If the validation rows favour another setting, it wins, with its own features."""
    sets = split(cancer, HONEST, seed=1)
    tried = []

    def judge(given, order, seed, scale):
        assert given.X_test is given.X_val
        tried.append(order)
        return honest.Fit(0.0, float(len(tried) % 8 == wanted % 8), 1.0, 1)

    monkeypatch.setattr(honest, "judge", judge)
    for wanted in (3, 8):
        chosen = honest.tune("feature mask (LLY)", sets, 6, 3, 1, TINY)
        assert chosen.picks.order == tried[wanted - 1]
        setting = honest.SETTINGS["feature mask (LLY)"][wanted - 1]
        assert chosen.note.endswith(", ".join(f"{name} {value}" for name, value in setting.items()))
        assert chosen.options == scale_epochs("feature mask (LLY)", setting, TINY)
        tried.clear()


def test_equal_accuracy_goes_to_the_lower_loss(cancer, monkeypatch):
    losses = iter([3.0, 2.0, 1.0, 2.0, 3.0, 3.0, 3.0, 3.0])
    monkeypatch.setattr(honest, "judge", lambda *given: honest.Fit(0.0, 0.5, next(losses), 1))
    chosen = honest.tune("group LASSO", split(cancer, HONEST, seed=1), 6, 3, 1, TINY)
    assert chosen.note.endswith("learning_rate 0.001, epochs 8, weight_decay 0.001")


def test_eight_settings_that_the_methods_take(cancer):
    assert set(honest.SETTINGS) == {"Sequential Attention", "LassoNet", "group LASSO", "feature mask (LLY)"}
    for settings in honest.SETTINGS.values():
        assert len({str(setting) for setting in settings}) == 8


def test_the_fit_reads_test_rows_once_and_only_its_features():
    sets = split(table("digits"), HONEST, seed=1)
    few = np.array([21, 42, 26, 43])
    whole = honest.fit(sets, few, 1, steps=300)
    rest = np.setdiff1d(np.arange(64), few)
    X, X_val, X_test = (part.copy() for part in (sets.X, sets.X_val, sets.X_test))
    for part in (X, X_val, X_test):
        part[:, rest] = 7.0
    assert honest.fit(sets._replace(X=X, X_val=X_val, X_test=X_test), few, 1, steps=300) == whole
    other = honest.fit(sets._replace(y_test=(sets.y_test + 1) % 10), few, 1, steps=300)
    assert other[1:] == whole[1:]
    assert other.accuracy < 0.2 < whole.accuracy


def test_the_fit_keeps_its_best_step_and_stops():
    """For random labels the validation loss is least early, and further training does not help."""
    sets = split(table("digits"), HONEST, seed=1)
    y = np.random.default_rng(0).permutation(sets.y)
    found = honest.fit(sets._replace(y=y), np.arange(64), 1, steps=500, patience=200)
    long = honest.fit(sets._replace(y=y), np.arange(64), 1, steps=500, patience=500)
    assert found == long
    assert found.steps < 500
    short = honest.fit(sets._replace(y=y), np.arange(64), 1, steps=found.steps)
    assert short == found
    assert honest.fit(sets, np.arange(64), 1, steps=400, patience=100).steps > 200


@pytest.mark.parametrize("method", sorted(METHODS.keys() - NOT_NESTED - SLOW))
def test_prefixes_are_the_picks_of_shorter_runs(method):
    sets = split(table("breast_cancer"), HONEST, seed=1)
    options = scale_epochs(method, {}, TINY)
    long = pick(method, sets.X, sets.y, 6, 3, 1, options).order
    assert run_length(method, 3, 6) == 6
    assert len(set(long)) == 6
    assert pick(method, sets.X, sets.y, 3, 3, 1, options).order == long[:3]


@pytest.mark.parametrize("method", sorted(PATHS))
def test_paths_go_down_to_the_smallest_k(method):
    """A path that ended at k = 24 would order the last features by the length of their rows."""
    sets = split(table("digits"), HONEST, seed=1, rows=300)
    options = {
        "LassoNet": {"growth": 1.05, "epochs": (30, 2)},
        "group LASSO": {"grid": (1e-3, 1.3), "dense_epochs": 5},
    }[method]
    long, down = (pick(method, sets.X, sets.y, 24, least, 1, options).order for least in (24, 4))
    assert len(set(down)) == 24
    assert pick(method, sets.X, sets.y, 4, 4, 1, options).order == down[:4]
    assert down != long


def test_honest_pieces_and_records():
    pieces = list(honest.pieces(["breast_cancer"], QUICK))
    assert len(pieces) == len(set(pieces)) == 2 * (1 + 2 * len(METHODS))
    assert {piece.method for piece in pieces} == {*METHODS, "all features"}
    long, short = (honest.run(Piece("honest", "breast_cancer", "linear OMP", k, 1), TINY) for k in (6, 3))
    assert short.support == long.support[:3]
    assert short.note.startswith("prefix of 6, which has the seconds; ")
    assert long.note.endswith(" of the validation rows right")
    assert short.seconds["selecting"] == 0 < long.seconds["selecting"]
    assert long.rows == 399
    assert 0.8 < long.scores["network"] <= 1


def test_tuned_pieces_use_one_setting_for_all_k(fresh, monkeypatch):
    runs = []

    def watched(method, X, y, k, smallest, seed, options):
        runs.append((k, dict(options)))
        return pick(method, X, y, k, smallest, seed, options)

    monkeypatch.setattr(honest, "pick", watched)
    pieces = [Piece("honest", "breast_cancer", "Sequential Attention", k, 1) for k in (6, 3)]
    long, short = (honest.run(piece, TINY) for piece in pieces)
    chosen = long.note.split("; ")[0]
    assert chosen.startswith("chosen of 3 by 57 validation rows: learning_rate ")
    assert short.note.split("; ")[0] == f"{chosen}, k = 6"
    assert [k for k, _ in runs] == [6, 6, 6, 3]
    assert f"learning_rate {runs[-1][1]['learning_rate']}, " in chosen
    assert runs[-1][1] in [options for _, options in runs[:3]]
    assert len(short.support) == 3
    assert long.seconds.keys() - short.seconds.keys() == {"tuning"}


def test_principal_features_take_one_of_each_cluster():
    """There are four copies of one column, three of another, two of a third, and a constant column."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 3))[:, [0, 0, 0, 0, 1, 1, 1, 2, 2]] * np.arange(1.0, 10.0)
    first, second, third = lassonet_study.principal_features(np.column_stack([X, np.ones(300)]), 3, 0)
    assert {first < 4, 4 <= second < 7, third >= 7} == {True}


def test_decoder_takes_the_width_that_validates_best(monkeypatch):
    right = {(2,): 0.5, (4,): 0.7, (6,): 0.7, (8,): 0.6}
    seen = []

    def fit(sets, support, seed, hidden, **options):
        seen.append(hidden)
        return honest.Fit(1 - right[hidden], right[hidden], float(hidden[0]), 1)

    monkeypatch.setattr(lassonet_study, "fit", fit)
    found, width = lassonet_study.decoder(None, range(6), 1, TINY)
    assert seen == [(2,), (4,), (6,), (8,)]
    assert width == 4
    assert found.validation == 0.7


def test_the_path_of_the_tables_goes_down_to_the_smallest_k(monkeypatch):
    """The validation rows are those of the split."""
    kept = []

    def watched(*given, **options):
        kept.append((options["validation"], lassonet_path(*given, **options)))
        return kept[-1][1]

    lassonet_path = lassonet_study.lassonet_path
    monkeypatch.setattr(lassonet_study, "lassonet_path", watched)
    monkeypatch.setitem(lassonet_study.LASSONET, "growth", 1.4)
    sets = split(table("breast_cancer"), HONEST, seed=1)
    for least in (20, 4):
        order = lassonet_study.lassonet_order(sets, least, 1, TINY).order
        validation, path = kept[-1]
        assert path.n_selected[-1] <= least < path.n_selected[-2]
        assert order == tuple(path.ranking())
        assert validation[0] is sets.X_val


def test_lassonet_tables_have_both_learners(monkeypatch):
    monkeypatch.setitem(lassonet_study.LASSONET, "growth", 1.4)
    pieces = list(lassonet_study.pieces(["breast_cancer"], TINY))
    assert len(pieces) == len(set(pieces)) == 1 + 2 * 4 + 4 + 1
    records = {
        (piece.method, piece.k): lassonet_study.run(piece, TINY)
        for piece in pieces
        if piece.method in ("LassoNet", "all features") and not piece.setting
    }
    for record in records.values():
        assert record.scores.keys() == {"network", "ExtraTrees"}
        assert min(record.scores.values()) > 0.6
    assert records["LassoNet", 3].support == records["LassoNet", 6].support[:3]


def test_the_split_of_images_is_of_official_test_rows():
    """The official test rows are split 70-10-20, or 35-5-60 with the share of the released code."""
    whole = table("digits")
    whole = dataclasses.replace(whole, n_train=797, X=np.column_stack([np.arange(1797), whole.X[:, 1:]]))
    for share, counts in ((0.8, (700, 100, 200)), (0.4, (350, 50, 600))):
        sets = split(whole, dataclasses.replace(PAPER, test_images=share), seed=1)
        assert tuple(map(len, (sets.y, sets.y_val, sets.y_test))) == counts
        numbers = np.concatenate([sets.X[:, 0], sets.X_val[:, 0], sets.X_test[:, 0]]).astype(float)
        low, high = 0.0, 1796.0  # one range of pixels, on which 0 is the least
        assert len(np.unique(numbers)) == 1000
        assert np.isclose(numbers.max(), 1.0)
        assert np.isclose(numbers.min(), (797 - low) / (high - low), rtol=1e-3)
    table_of_features = dataclasses.replace(table("breast_cancer"), n_train=400)
    sets = split(table_of_features, Protocol(test_images=0.4), seed=1)
    assert len(sets.y_test) == 169


def low_rank(seed=0, missing=0.1):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((120, 2)) @ rng.standard_normal((2, 12)) + 5.0
    X[rng.random(X.shape) < missing] = np.nan
    return X


def test_parts_are_disjoint_and_scaled_by_training_entries():
    X = low_rank()
    X[3] = np.nan
    given = completion.split_entries(X, seed=1)
    known = ~np.isnan(X)
    assert np.array_equal(given.train | given.validation | given.test, known)
    assert not (given.train & given.validation).any()
    assert not (given.test & (given.train | given.validation)).any()
    assert abs(given.train.sum() / known.sum() - 0.8) < 0.05
    for j in range(X.shape[1]):
        own = given.Z[given.train[:, j], j]
        assert abs(own.mean()) < 1e-12 * len(own)
        assert np.isclose(own.std(), 1)
    other = X.copy()
    other[given.test] += 1e3
    again = completion.split_entries(other, seed=1)
    assert np.array_equal(again.Z[~given.test], given.Z[~given.test])


def test_soft_impute_finds_a_matrix_of_low_rank():
    given = completion.split_entries(low_rank(), seed=1)
    X, note = completion.soft_impute(given)
    assert given.error(X, given.test) < 0.05
    assert note.startswith("λ = ")
    assert given.error(np.zeros_like(X), given.test) > 0.5
    blind = given._replace(Z=np.where(given.test, 9.0, given.Z))
    assert np.array_equal(completion.soft_impute(blind)[0], X)


def test_networks_impute_from_few_columns():
    """Two columns determine a matrix of rank two, and test entries have no effect."""
    given = completion.split_entries(low_rank(missing=0.0), seed=1)
    scale = dataclasses.replace(TINY, epochs=0.2)
    X = np.where(given.train, given.Z, 0)
    found = completion.reconstruct(given, X, range(12), 1, scale)
    assert given.error(found, given.test) < 0.5
    blind = given._replace(Z=np.where(given.test, 9.0, given.Z))
    assert np.array_equal(completion.reconstruct(blind, X, range(12), 1, scale), found)


def test_imputation_reads_as_many_rows_as_the_scale_has():
    less = dataclasses.replace(TINY, rows=50)
    assert completion._parts("digits", 1, less).Z.shape == (50, 64)
    assert len(completion._parts("digits", 1, FULL).Z) == len(table("digits").y)
