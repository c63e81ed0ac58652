"""Tests of downstream learners, and of signals in noise, on embedded or artificial data."""

import dataclasses
import math
from unittest.mock import Mock

import numpy as np
import pytest
from refusals import refuses
from sklearn.model_selection import train_test_split

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
        return downstream.prepare_rows(found, downstream.PREPARATIONS[name], seed)

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
    pieces = list(downstream.ANCHORS.pieces(["digits"], SMALL))
    assert {p.setting for p in pieces} == set(downstream.PREPARATIONS) - {"official rows"}
    shares = [downstream.ANCHORS.run(p, FULL).scores[p.method] for p in pieces if p.setting == "as released"]
    assert min(shares) > 0.95
    large = list(downstream.ANCHORS.pieces(["mnist", "isolet"], FULL))
    mnist = [p for p in large if p.data == "mnist"]
    assert {p.setting for p in mnist} == {"as released"}
    assert sorted(p.seed for p in mnist) == [1, 1, 1, 2, 3, 4, 5]
    assert "official rows" in {p.setting for p in large}


def test_settings_reach_the_method(monkeypatch):
    watched = Mock(return_value=downstream.Picks((0, 1), 0.0))
    monkeypatch.setattr(downstream, "pick", watched)
    downstream._picks.__wrapped__("digits", "Sequential LASSO", 50, 1, SMALL)
    assert watched.call_args.args[6] == {"decrease": 0.02, "epochs": 1}


def test_all_features_learn_from_all_rows_but_the_test_rows():
    """Sequential Attention is run anew for each k."""
    pieces = list(downstream.DOWNSTREAM.pieces(["breast_cancer"], SMALL))
    attention = next(p for p in pieces if p.method == "Sequential Attention")
    whole, few = (downstream.DOWNSTREAM.run(piece, SMALL) for piece in (pieces[0], attention))
    assert (pieces[0].method, pieces[0].k, whole.support) == (downstream.ALL, 30, ())
    assert whole.rows == 399 + 57
    assert (few.note, len(few.support), attention.k) == ("", 25, 25)
