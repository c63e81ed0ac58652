"""Tests of downstream learners, and of signals in noise, on embedded or artificial data."""

import dataclasses
import math

import numpy as np
import pytest
from refusals import refuses
from sklearn.model_selection import train_test_split

pytest.importorskip("torch")

from proofs_checks.experiments.networks import downstream, signals
from proofs_checks.experiments.networks.data import table
from proofs_checks.experiments.networks.pieces import FULL, QUICK, Record

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
    n = 200_000
    rows = signals.signal(name, 8, 1, n)
    wanted = 1 - np.prod([1 - share for share in shares])
    assert abs(rows.y.mean() - wanted) < 4 * math.sqrt(0.25 / n)
    assert abs(wanted - 0.5) < 0.02
    decoys = np.setdiff1d(np.arange(8), rows.relevant)
    signs = (rows.X > 0) @ (1 << np.arange(8))  # each true feature matters: y depends on the orthant
    true = np.bitwise_and(signs, sum(1 << j for j in rows.relevant))
    spread = np.ptp([rows.y[true == v].mean() for v in np.unique(true)])
    other = np.bitwise_and(signs, sum(1 << j for j in decoys))
    assert spread > 0.1 or name == "RING"
    assert np.ptp([rows.y[other == v].mean() for v in np.unique(other)]) < 8 * math.sqrt(64 / n)


@pytest.mark.parametrize("name", ["RING", "XOR", "RING+XOR"])
def test_correlations_do_not_see_what_is_said_not_to_be_seen(name):
    """All features have |corr| ≤ 4/√n, and the square of a true feature of RING is detected."""
    n = 100_000
    rows = signals.signal(name, 8, 3, n)
    assert np.abs(np.corrcoef(rows.X.T, rows.y)[-1][:-1]).max() < 4 / math.sqrt(n)
    squares = np.abs(np.corrcoef(rows.X.T**2, rows.y)[-1][:-1])
    assert (name == "XOR") == (squares.max() < 4 / math.sqrt(n))


def test_the_graph_has_ancestors_and_relatives():
    rows = signals.signal("DAG", 100, 2, 20_000)
    assert rows.X.shape == (20_000, 100)
    assert abs(rows.X).max() <= 1
    assert abs(rows.y.mean() - 0.5) < 1e-3
    assert set(rows.relevant) <= set(rows.related)
    assert len(rows.relevant) == 7
    seen = np.abs(np.corrcoef(rows.X.T, rows.y)[-1][:-1])
    unrelated = np.setdiff1d(np.arange(100), rows.related)
    assert seen[rows.relevant].max() > 0.1
    assert seen[unrelated].max() < 4.5 / math.sqrt(20_000)


def test_a_signal_is_that_of_its_seed_and_its_range():
    assert np.array_equal(signals.signal("RING", 9, 5).X, signals.signal("RING", 9, 5).X)
    assert not np.array_equal(signals.signal("RING", 9, 5).X, signals.signal("RING", 9, 6).X)
    refuses("p must be", signals.signal, "RING+XOR", 3, 0)


def test_pieces_of_signals():
    pieces = list(signals.STUDY.pieces(["XOR", "DAG"], SMALL))
    assert {(p.data, p.setting) for p in pieces} == {("XOR", "p=8"), ("XOR", "p=32")}
    assert {p.setting for p in signals.STUDY.pieces(["DAG"], FULL)} == {"p=2000"}
    assert len({p.key for p in pieces}) == len(pieces)
    forest = next(p for p in pieces if p.method == "random forest" and p.setting == "p=8")
    record = signals.STUDY.run(forest, SMALL)
    assert record.scores["first k"] == record.scores["first 2k"] == 1
    assert len(record.support) == 2
    assert Record.from_json(record.as_json()).support == record.support


def test_anchors_are_by_the_released_rows_and_scaling():
    found = table("digits")
    rows = downstream.prepare_rows(found, downstream.PREPARATIONS["as released"], 7)
    span = np.maximum(np.ptp(found.X, axis=0), 1e-9)
    X, X_test, y, y_test = train_test_split(
        (found.X - found.X.min(axis=0)) / span, found.y, test_size=0.2, random_state=42
    )
    assert np.allclose(rows.X, X, atol=1e-7)
    assert np.allclose(rows.X_test, X_test, atol=1e-7)
    assert np.array_equal(rows.y, y)
    assert np.array_equal(rows.y_test, y_test)
    standard = downstream.prepare_rows(found, downstream.PREPARATIONS["z-scores"], 7)
    both = np.vstack([standard.X, standard.X_test]).astype(float)
    assert np.allclose(both.std(axis=0), np.ptp(found.X, axis=0) > 0, atol=1e-6)
    together = downstream.prepare_rows(found, downstream.PREPARATIONS["one range"], 7)
    assert np.allclose(together.X * 16, rows.X * span, rtol=1e-5, atol=1e-5)
    drawn = [downstream.prepare_rows(found, downstream.PREPARATIONS["rows by the seed"], s).y for s in (1, 2)]
    assert not np.array_equal(*drawn)
    refuses("no official", downstream.prepare_rows, found, downstream.PREPARATIONS["official rows"], 7)


def test_pieces_of_anchors():
    pieces = list(downstream.ANCHORS.pieces(["digits"], SMALL))
    assert {p.setting for p in pieces} == set(downstream.PREPARATIONS) - {"official rows"}
    first = [p for p in pieces if p.setting == "as released"]
    shares = {p.method: downstream.ANCHORS.run(p, FULL).scores[p.method] for p in first}
    assert shares["SVC"] > 0.98
    assert shares["1-NN"] > 0.98
    assert shares["ExtraTrees"] > 0.95
    large = list(downstream.ANCHORS.pieces(["mnist", "isolet"], FULL))
    assert {p.setting for p in large if p.data == "mnist"} == {"as released"}
    assert sorted(p.seed for p in large if p.data == "mnist") == [1, 1, 1, 2, 3, 4, 5]
    assert "official rows" in {p.setting for p in large if p.data == "isolet"}


def test_smaller_k_are_prefixes_of_the_largest():
    pieces = [p for p in downstream.DOWNSTREAM.pieces(["digits"], SMALL) if p.method == "linear OMP"]
    assert [p.k for p in pieces] == [50, 25]
    long, short = (downstream.DOWNSTREAM.run(p, SMALL) for p in pieces)
    assert short.support == long.support[:25]
    assert (long.note, short.note) == ("", "prefix of 50, which has the seconds")
    assert long.seconds["selecting"] > short.seconds["selecting"] == 0
    assert set(short.scores) == set(downstream.LEARNERS)
    assert min(long.scores.values()) > 0.9


def test_settings_reach_the_method(monkeypatch):
    given = {}
    monkeypatch.setattr(downstream, "pick", lambda *a: given.update(a[6]) or downstream.Picks((0, 1), 0.0))
    downstream._picks.cache_clear()
    downstream._picks("digits", "Sequential LASSO", 50, 1, SMALL)
    downstream._picks.cache_clear()
    assert given == {"decrease": 0.02, "epochs": 1}


def test_sequential_attention_is_run_anew_for_each_k():
    pieces = downstream.DOWNSTREAM.pieces(["breast_cancer"], SMALL)
    attention = next(p for p in pieces if p.method == "Sequential Attention")
    record = downstream.DOWNSTREAM.run(attention, SMALL)
    assert record.note == ""
    assert len(record.support) == attention.k == 25


def test_all_features_learn_from_all_rows_but_the_test_rows():
    piece = next(iter(downstream.DOWNSTREAM.pieces(["breast_cancer"], SMALL)))
    record = downstream.DOWNSTREAM.run(piece, SMALL)
    assert (piece.method, piece.k, record.support) == (downstream.ALL, 30, ())
    assert record.rows == 399 + 57
