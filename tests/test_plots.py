"""Figures show the numbers they are given."""

import io

import matplotlib as mpl
import numpy as np
import pytest

mpl.use("Agg")

import sparselin as sl
from sparselin import plots
from sparselin.experiments.equivalence import Settings, summarize, verify_one
from sparselin.experiments.penalty_contours import penalty_contours

SETTINGS = Settings(steps=2, reach_every=10**9, audit_first=0, audit_every=10**9)


@pytest.fixture(scope="module")
def records():
    return [verify_one(task, SETTINGS) for task in [("gaussian", 1), ("duplicated", 1), ("gaussian", 2)]]


def test_agreement_has_a_bar_for_each_verdict_and_ensemble(records):
    summary = summarize(records)
    ax = plots.agreement(summary)
    widths = np.reshape([bar.get_width() for bar in ax.patches], (3, 2))
    np.testing.assert_allclose(widths.sum(axis=0), 1)
    np.testing.assert_allclose(widths[0], [row.agreements / row.steps for row in summary])
    assert [label.get_text() for label in ax.get_yticklabels()] == [row.name for row in summary]
    plots.close(ax.figure)


def test_windows_show_the_medians(records):
    ax = plots.windows(records)
    sharp = [step.window for record in records if record.ensemble == "gaussian" for step in record.steps]
    medians = [line.get_xdata()[0] for line in ax.lines if line.get_color() == "white"]
    assert np.median(sharp) == pytest.approx(medians[0])
    assert len(medians) == 4
    plots.close(ax.figure)


def test_the_polytope_shows_the_projections():
    X, v = np.eye(2), np.array([3.0, 1.0])
    projections = [(lam, sl.project_dual(X, v, lam)) for lam in (2.0, 0.5)]
    ax = plots.dual_polytope(X, v, projections)
    path = ax.lines[0].get_xydata()
    assert path.tolist() == [[3.0, 1.0], [2.0, 1.0], [0.5, 0.5]]
    plots.close(ax.figure)


def test_panels_carry_their_range():
    axes = plots.penalty_panels([penalty_contours(limit, points=21) for limit in (1, 10)])
    assert [ax.get_xlim()[1] for ax in axes] == [1, 10]
    plots.close(axes[0].figure)


def test_the_colours_between_contours_are_an_image():
    """As polygons they would be megabytes of SVG, with seams between them that look like contours."""
    drawn = plots.penalty_panels([penalty_contours(limit) for limit in (1, 10, 100)])
    buffer = io.StringIO()
    drawn[0].figure.savefig(buffer, format="svg")
    plots.close(drawn[0].figure)
    assert len(buffer.getvalue()) < 1e6
    assert buffer.getvalue().count("<image") == 3


def test_a_missing_matplotlib_is_one_clear_sentence(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "matplotlib.pyplot", None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'sparselin\[plot\]'"):
        plots.penalty_panels([penalty_contours(1, points=5)])
