"""Tests of the study without leaks, and of the studies of LassoNet's tables, on embedded data."""

import dataclasses
import math
from unittest.mock import Mock

import numpy as np
import pytest
from refusals import refuses
from sklearn.model_selection import train_test_split

from proofs_checks.experiments.networks import (
    honest,
    lassonet_study,
    protocol,
    signals,
)
from proofs_checks.experiments.networks.baselines.methods import METHODS
from proofs_checks.experiments.networks.data import table
from proofs_checks.experiments.networks.pieces import FULL, QUICK, Piece, Record, Scale
from proofs_checks.experiments.networks.protocol import HONEST, pick, scale_epochs, split

TINY = Scale(rows=300, seeds=1, image_seeds=1, epochs=0.02, sizes=(3, 6))


@pytest.fixture(scope="module")
def cancer():
    """Return 200 rows and 12 features; an official split has 160 rows for training and validation."""
    whole = table("breast_cancer")
    return dataclasses.replace(whole, X=whole.X[:200, :12], y=whole.y[:200], n_train=160)


@pytest.fixture
def fresh(monkeypatch):
    """Tune on the embedded data with three settings; return a function that clears all caches."""
    monkeypatch.setattr(honest, "TUNED", ("breast_cancer",))
    for method, settings in honest.SETTINGS.items():
        shorter = {"growth": 1.6} if method == "LassoNet" else {}
        few = tuple(setting | shorter for setting in settings[::3])
        monkeypatch.setitem(honest.SETTINGS, method, few)

    def clear():
        for function in (protocol.sets_of, protocol.pick_on, honest._tuning):
            function.cache_clear()

    clear()
    yield clear
    clear()


@pytest.mark.parametrize("method", [*sorted(honest.SETTINGS), "linear OMP"])
def test_test_rows_change_no_support_and_no_setting(cancer, method, fresh, monkeypatch):
    scale = dataclasses.replace(TINY, epochs=0.06 if method == "Sequential Attention" else TINY.epochs)
    X, y, found = cancer.X.copy(), cancer.y.copy(), []
    X[160:], y[160:] = np.random.default_rng(0).normal(1e3, 1e3, (40, 12)), 1 - y[160:]
    for whole in (cancer, dataclasses.replace(cancer, X=X, y=y)):
        monkeypatch.setattr(protocol, "table", {"breast_cancer": whole}.get)
        found.append(
            honest.run(Piece(study="honest", data="breast_cancer", method=method, k=6, seed=1), scale)
        )
        fresh()
    ours, theirs = found
    assert (ours.support, ours.note) == (theirs.support, theirs.note)
    assert ours.scores["network"] != theirs.scores["network"]


@pytest.mark.parametrize("wanted", [3, 8])
def test_validation_rows_decide_and_select_nothing(cancer, monkeypatch, wanted):
    """If the validation rows favour a setting, it wins, with its own features; the loss decides ties."""
    sets, method = split(cancer, HONEST, seed=1), "feature mask (LLY)"
    tried = []

    def judge(given, order, seed, scale):
        assert given.X_test is given.X_val
        tried.append(order)
        return honest.Fit(0.0, float(len(tried) in (1, wanted)), 1.0 / len(tried), 1)

    monkeypatch.setattr(honest, "judge", judge)
    chosen = honest.tune(method, sets, 6, 3, 1, TINY)
    setting = honest.SETTINGS[method][wanted - 1]
    assert len({str(one) for one in honest.SETTINGS[method]}) == len(tried) == 8
    assert chosen.picks.order == tried[wanted - 1]
    assert chosen.note.endswith(", ".join(f"{name} {value}" for name, value in setting.items()))
    assert chosen.options == scale_epochs(method, setting, TINY)


def test_the_fit_keeps_its_best_step_and_stops():
    """For random labels the validation loss is least early, and further training does not help."""
    sets = split(table("digits"), HONEST, seed=1)
    random = sets._replace(y=np.random.default_rng(0).permutation(sets.y))
    found = honest.fit(random, np.arange(64), 1, steps=500, patience=200)
    assert found.steps < 500
    assert found == honest.fit(random, np.arange(64), 1, steps=500, patience=500)
    assert found == honest.fit(random, np.arange(64), 1, steps=found.steps)
    assert honest.fit(sets, np.arange(64), 1, steps=400, patience=100).steps > 200


NESTED = METHODS.keys() - protocol.NOT_NESTED - {"random forest"}  # which is slow


@pytest.mark.parametrize("method", sorted(NESTED))
def test_prefixes_are_the_picks_of_shorter_runs(method):
    sets = split(table("breast_cancer"), HONEST, seed=1)
    options = scale_epochs(method, {}, TINY)
    long, short = (pick(method, sets.X, sets.y, k, 3, 1, options).order for k in (6, 3))
    assert protocol.run_length(method, 3, 6) == len(set(long)) == 6
    assert short == long[:3]


PATHS = {
    "LassoNet": {"growth": 1.05, "epochs": (30, 2)},
    "group LASSO": {"grid": (1e-3, 1.3), "dense_epochs": 5},
}


@pytest.mark.parametrize("method", PATHS)
def test_paths_go_down_to_the_smallest_k(method):
    """A path that ended at k = 24 would order the last features by the length of their rows."""
    sets = split(table("digits"), HONEST, seed=1, rows=300)
    long, down, short = (
        pick(method, sets.X, sets.y, k, least, 1, PATHS[method]).order
        for k, least in ((24, 24), (24, 4), (4, 4))
    )
    assert len(set(down)) == 24
    assert short == down[:4]
    assert down != long


def test_honest_pieces_and_records():
    pieces = list(honest.pieces(["breast_cancer"], QUICK))
    assert len(pieces) == len(set(pieces)) == 2 * (1 + 2 * len(METHODS))
    long, short = (
        honest.run(Piece(study="honest", data="breast_cancer", method="linear OMP", k=k, seed=1), TINY)
        for k in (6, 3)
    )
    assert short.support == long.support[:3]
    assert short.note.startswith("prefix of 6, which has the seconds; ")
    assert long.note.endswith(" of the validation rows right")
    assert short.seconds["selecting"] == 0 < long.seconds["selecting"]
    assert (long.rows, long.scores["network"] > 0.8) == (399, True)


def test_tuned_pieces_use_one_setting_for_all_k(fresh, monkeypatch):
    watched = Mock(side_effect=pick)
    monkeypatch.setattr(honest, "pick", watched)
    pieces = [
        Piece(study="honest", data="breast_cancer", method="Sequential Attention", k=k, seed=1)
        for k in (6, 3)
    ]
    long, short = (honest.run(piece, TINY) for piece in pieces)
    chosen = long.note.split("; ")[0]
    assert chosen.startswith("chosen of 3 by 57 validation rows: learning_rate ")
    assert short.note.split("; ")[0] == f"{chosen}, k = 6"
    *tried, last = [call.args for call in watched.call_args_list]
    assert [k for _, _, _, k, *_ in (*tried, last)] == [6, 6, 6, 3]
    assert f"learning_rate {last[-1]['learning_rate']}, " in chosen
    assert last[-1] in [options for *_, options in tried]
    assert len(short.support) == 3
    assert long.seconds.keys() - short.seconds.keys() == {"tuning"}


def test_decoder_takes_the_width_that_validates_best(monkeypatch):
    """The lower loss decides between equal accuracies; the test accuracy has no part in it."""
    right = {2: 0.5, 4: 0.7, 6: 0.7, 8: 0.6}
    monkeypatch.setattr(
        lassonet_study, "fit", lambda *given, hidden, **_: honest.Fit(0.9, right[hidden[0]], hidden[0], 1)
    )
    found, width = lassonet_study.decoder(None, range(6), 1, TINY)
    assert (found.validation, width) == (0.7, 4)


@pytest.mark.parametrize("least", [20, 4])
def test_the_path_of_the_tables_goes_down_to_the_smallest_k(monkeypatch, least):
    """The validation rows are those of the split."""
    sets, watched = split(table("breast_cancer"), HONEST, seed=1), Mock(wraps=lassonet_study.lassonet_path)
    monkeypatch.setattr(lassonet_study, "lassonet_path", watched)
    monkeypatch.setitem(protocol.LASSONET, "growth", 1.4)
    order = lassonet_study.lassonet_order(sets, least, 1, TINY).order
    given = watched.call_args
    path = watched(*given.args, **given.kwargs)
    assert path.n_selected[-1] <= least < path.n_selected[-2]
    assert order == tuple(path.ranking())
    assert given.kwargs["validation"][0] is sets.X_val


def test_lassonet_tables_have_both_learners(monkeypatch):
    monkeypatch.setitem(protocol.LASSONET, "growth", 1.4)
    pieces = list(lassonet_study.pieces(["breast_cancer"], TINY))
    assert len(pieces) == len(set(pieces)) == 1 + 2 * 4 + 4 + 1
    few = [p for p in pieces if p.method in ("all features", "LassoNet") and not p.setting]
    every, long, short = (lassonet_study.run(piece, TINY) for piece in few)
    for record in (every, long, short):
        assert record.scores.keys() == {"network", "ExtraTrees"}
        assert min(record.scores.values()) > 0.6
    assert short.support == long.support[:3]


def low_rank(missing=0.1):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((120, 2)) @ rng.standard_normal((2, 12)) + 5.0
    return np.where(rng.random(X.shape) < missing, np.nan, X)


def test_parts_are_disjoint_and_scaled_by_training_entries():
    X = low_rank()
    X[3], X[5:15, 1:] = np.nan, np.nan
    known = ~np.isnan(X)
    given = lassonet_study.split_entries(X, seed=1)
    parts = np.stack([given.train, given.validation, given.test])
    assert np.array_equal(parts.sum(axis=0), known & given.train.any(axis=1, keepdims=True))
    assert abs(given.train.sum() / known.sum() - 0.8) < 0.05
    own = np.where(given.train, given.Z, np.nan)
    np.testing.assert_allclose(np.nanmean(own, axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(np.nanstd(own, axis=0), 1)
    again = lassonet_study.split_entries(np.where(given.test, X + 1e3, X), seed=1)
    assert np.array_equal(again.Z[~given.test], given.Z[~given.test])


def blind(given):
    """Return the parts with other numbers in the test entries."""
    return given._replace(Z=np.where(given.test, 9.0, given.Z))


def test_soft_impute_finds_a_matrix_of_low_rank():
    given = lassonet_study.split_entries(low_rank(), seed=1)
    X, note = lassonet_study.soft_impute(given)
    assert given.error(X, given.test) < 0.05 < 0.5 < given.error(0 * X, given.test)
    assert note.startswith("λ = ")
    assert np.array_equal(lassonet_study.soft_impute(blind(given))[0], X)


def test_networks_impute_from_few_columns():
    """Two columns determine a matrix of rank two, and test entries have no effect."""
    given = lassonet_study.split_entries(low_rank(missing=0.0), seed=1)
    options = np.where(given.train, given.Z, 0), range(12), 1, dataclasses.replace(TINY, epochs=0.2)
    found = lassonet_study.reconstruct(given, *options)
    assert given.error(found, given.test) < 0.5
    assert np.array_equal(lassonet_study.reconstruct(blind(given), *options), found)


# --- downstream learners, and signals in noise, on embedded or artificial data ----------------------------


SMALL = dataclasses.replace(QUICK, image_seeds=1, seeds=1, epochs=0.08)


def share_of_xor(margin):
    """Return P(ab ≥ margin) for a, b uniform in [−½, ½]: 2∫ (½ − margin/a) da over [2·margin, ½]."""
    return 0.5 - 2 * margin * (1 + (math.log(1 / (4 * margin)) if margin else 0))


@pytest.mark.parametrize(("name", "shares"), [
    ("RING", [4 * math.pi * 0.35 * 0.1151]),
    ("XOR", [share_of_xor(0)]),
    ("RING+XOR", [4 * math.pi * 0.35 * 0.0704, share_of_xor(0.0337)]),
    ("RING+XOR+SUM", [4 * math.pi * 0.35 * 0.0479, share_of_xor(0.0598), 0.1957]),
])  # fmt: skip
def test_labels_are_a_function_of_the_true_features(name, shares):
    """y depends on the orthant of the true features only (in RING on no orthant), linearly only in SUM."""
    n = 200_000
    rows = signals.signal(name, 8, 1, n)
    wanted = 1 - np.prod([1 - share for share in shares])
    assert abs(rows.y.mean() - wanted) < 4 * math.sqrt(0.25 / n)
    assert abs(wanted - 0.5) < 0.02
    linear = np.abs(np.corrcoef(rows.X.T, rows.y)[-1, :-1]).max()
    assert (linear > 4 / math.sqrt(n)) == ("SUM" in name)

    def spread(features):
        orthant = (rows.X[:, features] > 0) @ (1 << np.arange(len(features)))
        return np.ptp([rows.y[orthant == v].mean() for v in np.unique(orthant)])

    assert spread(rows.relevant) > 0.1 or name == "RING"
    assert spread(np.setdiff1d(np.arange(8), rows.relevant)) < 8 * math.sqrt(64 / n)


def test_a_signal_is_that_of_its_seed_and_its_range():
    first, same, other = (signals.signal("RING", 9, seed).X for seed in (5, 5, 6))
    assert (np.array_equal(first, same), np.array_equal(first, other)) == (True, False)
    refuses("p must be", signals.signal, "RING+XOR", 3, 0)


def test_pieces_of_signals():
    pieces = list(signals.STUDY.pieces(["XOR", "DAG"], SMALL))
    assert {(p.data, p.setting) for p in pieces} == {("XOR", "p=8"), ("XOR", "p=32")}
    assert {p.setting for p in signals.STUDY.pieces(["DAG"], FULL)} == {"p=2000"}
    assert len(set(pieces)) == len(pieces)
    record = signals.STUDY.run(next(p for p in pieces if p.method == "random forest"), SMALL)
    assert (record.scores, len(record.support)) == ({"first k": 1, "first 2k": 1}, 2)
    assert Record.from_json(record.as_json()).support == record.support


def test_anchors_are_by_the_released_rows_and_scaling():
    found = table("digits")

    def prepared(name, seed=7):
        return honest.prepare_rows(found, honest.PREPARATIONS[name], seed)

    low, span = found.X.min(axis=0), np.maximum(np.ptp(found.X, axis=0), 1e-9)
    X, X_test, y, y_test = train_test_split(found.X, found.y, test_size=0.2, random_state=42)
    rows = prepared("as released")
    for part, same in zip(rows, ((X - low) / span, y, (X_test - low) / span, y_test), strict=True):
        np.testing.assert_allclose(part, same, atol=1e-7)
    both = np.vstack(prepared("z-scores")[::2]).astype(float)
    np.testing.assert_allclose(both.std(axis=0), span > 1e-9, atol=1e-6)
    np.testing.assert_allclose(prepared("one range").X * 16, rows.X * span, rtol=1e-5, atol=1e-5)
    assert not np.array_equal(prepared("rows by the seed", 1).y, prepared("rows by the seed", 2).y)
    refuses("no official", prepared, "official rows")


def test_pieces_of_anchors():
    pieces = list(honest.ANCHORS.pieces(["digits"], SMALL))
    assert {p.setting for p in pieces} == set(honest.PREPARATIONS) - {"official rows"}
    shares = [honest.ANCHORS.run(p, FULL).scores[p.method] for p in pieces if p.setting == "as released"]
    assert min(shares) > 0.95
    large = list(honest.ANCHORS.pieces(["mnist", "isolet"], FULL))
    mnist = [p for p in large if p.data == "mnist"]
    assert {p.setting for p in mnist} == {"as released"}
    assert sorted(p.seed for p in mnist) == [1, 1, 1, 2, 3, 4, 5]
    assert "official rows" in {p.setting for p in large}


def test_settings_reach_the_method(monkeypatch):
    watched = Mock(return_value=honest.Picks((0, 1), 0.0))
    monkeypatch.setattr(honest, "pick", watched)
    honest._learner_picks.__wrapped__("digits", "Sequential LASSO", 50, 1, SMALL)
    assert watched.call_args.args[6] == {"decrease": 0.02, "epochs": 1}


def test_all_features_learn_from_all_rows_but_the_test_rows():
    """Sequential Attention is run anew for each k."""
    pieces = list(honest.DOWNSTREAM.pieces(["breast_cancer"], SMALL))
    attention = next(p for p in pieces if p.method == "Sequential Attention")
    whole, few = (honest.DOWNSTREAM.run(piece, SMALL) for piece in (pieces[0], attention))
    assert (pieces[0].method, pieces[0].k, whole.support) == (honest.ALL, 30, ())
    assert whole.rows == 399 + 57
    assert (few.note, len(few.support), attention.k) == ("", 25, 25)
