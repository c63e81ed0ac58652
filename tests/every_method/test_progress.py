"""Long calls log their progress, and this changes no result."""

import logging

import numpy as np
import pytest

import sparselin as sl
from sparselin.validation import progress
from tests.bits import bits

RNG = np.random.default_rng(0)
X = RNG.standard_normal((60, 20))
Y = X[:, :3] @ [3.0, -2.0, 1.0] + RNG.standard_normal(60)
WIDE = RNG.standard_normal((60, 40))
LONG = RNG.standard_normal((60, 120))

# name ↦ (call, the arrays of its result, a record)
CALLS = {
    "ols": (lambda: sl.ols(WIDE.astype(np.float32), Y, 3).lam_star, "3 of 3 picks"),
    "sequential_attention": (lambda: sl.sequential_attention(X, Y, 2).weights[-1], "1 of 2 picks"),
    "stability_selection": (
        lambda: sl.stability_selection(X, Y, 3, pairs=900).frequencies,
        "46 of 900 pairs",
    ),
    "verify": (lambda: sl.verify(X, Y, 3).lam_star, "2 of 3 steps"),
    "best_subset": (lambda: np.array(sl.best_subset(WIDE, Y, 6, node_limit=300).lower_bound), "nodes"),
    "batch_omp": (lambda: sl.batch_omp(X, np.c_[Y, -Y], 3).coef, "2 of 2 signals"),
    "gradient_flow": (lambda: sl.gradient_flow(X, Y).tau, "1 events"),
    "lasso_path": (lambda: sl.lasso_path(LONG, Y).knots, "knots"),
    "cross_validate": (
        lambda: sl.estimators.cross_validate(sl.estimators.OMPSelector("cv"), X, Y, cv=3).error,
        "3 of 3 folds",
    ),
    "OMPSelector.fit": (
        lambda: sl.estimators.OMPSelector("cv", cv=4).fit(X, Y).scores_,
        "4 of 4 folds",
    ),
}


@pytest.mark.parametrize("name", CALLS)
def test_progress_is_logged_and_changes_no_bit(name, monkeypatch, caplog):
    call, words = CALLS[name]
    caplog.set_level(logging.WARNING, "sparselin")
    quiet = call()
    assert not caplog.records
    monkeypatch.setattr(progress, "_INTERVAL", 0.0)
    caplog.set_level(logging.INFO, "sparselin")
    assert bits(call()) == bits(quiet)
    found = [record for record in caplog.records if words in record.getMessage()]
    assert [record for record in found if record.getMessage().startswith(f"{name}: ")], caplog.messages
    assert {record.levelname for record in found} == {"INFO"}


def test_at_most_one_record_a_second(monkeypatch, caplog):
    now = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    caplog.set_level(logging.INFO, "sparselin")
    record = progress.ProgressLog("omp", "picks", 9)
    for i in range(10):
        now[0] = 0.25 * i
        record.report(i)
    assert caplog.messages == ["omp: 4 of 9 picks after 1 s", "omp: 8 of 9 picks after 2 s"]


def test_without_a_listener_nothing_is_printed(capfd, monkeypatch):
    monkeypatch.setattr(progress, "_INTERVAL", 0.0)
    assert any(isinstance(handler, logging.NullHandler) for handler in progress.LOG.handlers)
    sl.sequential_attention(X, Y, 2)
    assert capfd.readouterr() == ("", "")
