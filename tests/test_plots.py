"""Figures show the numbers they are given."""

import io
import itertools

import matplotlib as mpl
import numpy as np
import pytest

mpl.use("Agg")

import sparselin as sl
from sparselin import plots
from sparselin.experiments.penalty_contours import penalty_contours
from sparselin.experiments.verification.run import VerificationSettings, summarize, verify_one

SETTINGS = VerificationSettings(steps=2, reach_every=10**9, audit_first=0, audit_every=10**9)


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


TILTED = np.array([np.cos(np.deg2rad([20.0, 75, 130])), np.sin(np.deg2rad([20.0, 75, 130]))])
ASIDE = np.array([1.0, 0.75])


def nearest(X, v, lam, line=None):
    """The point of {‖Xᵀu‖∞ ≤ λ} nearest to v, on a line through 0 or anywhere: the best of all candidates."""
    bounds = [(sign * x, lam) for x in X.T for sign in (1.0, -1.0)] + (
        [(line, 0.0)] if line is not None else []
    )
    candidates = [v, *(v - (a @ v - b) / (a @ a) * a for a, b in bounds)]
    for (a, b), (c, d) in itertools.combinations(bounds, 2):
        if abs(np.linalg.det([a, c])) > 1e-9:
            candidates.append(np.linalg.solve([a, c], [b, d]))
    fits = [
        u
        for u in candidates
        if np.abs(u @ X).max() <= lam + 1e-12 and (line is None or abs(u @ line) <= 1e-12)
    ]
    return min(fits, key=lambda u: np.linalg.norm(u - v))


def distance_to_line(point, corners):
    starts, steps = corners[:-1], np.diff(corners, axis=0)
    share = np.clip(((point - starts) * steps).sum(axis=1) / (steps**2).sum(axis=1), 0, 1)
    return np.linalg.norm(starts + share[:, None] * steps - point, axis=1).min()


@pytest.mark.parametrize("unpenalized", [(), (0,), (2,)])
def test_the_polytope_shows_the_path_of_the_projections(unpenalized):
    """All of it, not a few points joined; with unpenalised columns on their slice, from P_S^⊥v on."""
    lam_star = sl.lambda_star(TILTED, ASIDE)
    shown = np.array([0.9, 0.5, 0.15]) * lam_star
    ax = plots.dual_polytope(TILTED, ASIDE, shown, unpenalized=unpenalized)
    lines = {line.get_label(): line.get_xydata() for line in ax.lines}
    path = ax.lines[0].get_xydata()
    slice_ = TILTED[:, unpenalized[0]] if unpenalized else None
    for lam in np.linspace(shown[-1], 1.2 * lam_star, 50):
        assert distance_to_line(nearest(TILTED, ASIDE, lam, slice_), path) <= 1e-9
    expected = [nearest(TILTED, ASIDE, lam, slice_) for lam in shown]
    np.testing.assert_allclose(lines["projections"], expected, atol=1e-12)
    assert lines["$v$"].tolist() == [ASIDE.tolist()]
    if unpenalized:
        projected = ASIDE - slice_ * (slice_ @ ASIDE)
        np.testing.assert_allclose(lines[r"$P_S^\perp v$"], [projected], atol=1e-12)
        np.testing.assert_allclose(path[0], projected, atol=1e-12)
        assert np.abs(lines[r"$X_S^{\top}u = 0$"] @ slice_).max() <= 1e-9
    plots.close(ax.figure)


@pytest.mark.parametrize("spread", [1.0, 0.02])
def test_the_polygons_are_whole_or_run_out_of_the_picture(spread):
    X = np.array([[1.0, 1.0], [spread, -spread]])
    ax = plots.dual_polytope(X, [1.0, 0.5], [0.4])
    corners = ax.patches[0].get_xy()[:-1]
    assert np.abs(corners @ X).max() <= 0.4 + 1e-9
    limits = np.array([ax.get_xlim(), ax.get_ylim()])
    inside = ((corners > limits[:, 0]) & (corners < limits[:, 1])).all(axis=1)
    if spread == 1.0:
        assert inside.all()
        assert sorted(map(tuple, np.abs(corners).round(9))) == [(0, 0.4), (0, 0.4), (0.4, 0), (0.4, 0)]
    else:  # its tips are at ±20
        assert np.abs(corners[inside, 1]).max() <= 1e-9
        assert (np.abs(corners[~inside, 1]) > limits[1, 1]).all()
        assert (~inside).sum() == 4
    plots.close(ax.figure)


def test_labels_do_not_cover_each_other():
    ax = plots.dual_polytope(TILTED, ASIDE, np.linspace(0.05, 1.2, 20) * sl.lambda_star(TILTED, ASIDE))
    ax.figure.canvas.draw()
    boxes = [text.get_window_extent() for text in ax.texts]
    assert len(boxes) >= 3
    assert not any(a.overlaps(b) for a, b in itertools.combinations(boxes, 2))
    plots.close(ax.figure)


def test_the_polytope_says_what_it_needs():
    for X, v in ((np.eye(3), np.ones(3)), (np.ones((1, 4)), [1.0])):
        with pytest.raises(ValueError, match=r"X must have 2 rows and v 2 entries.*got X of shape"):
            plots.dual_polytope(X, v, [1.0])
    with pytest.raises(ValueError, match="X must be a matrix"):
        plots.dual_polytope(np.ones(2), ASIDE, [1.0])
    for lams in ([], [1.0, 0.0]):
        with pytest.raises(ValueError, match="lams must hold one or more λ > 0; got"):
            plots.dual_polytope(TILTED, ASIDE, lams)
    with pytest.raises(ValueError, match="lams must be nonnegative"):
        plots.dual_polytope(TILTED, ASIDE, [-1.0])
    with pytest.raises(ValueError, match="unpenalized must hold column indices"):
        plots.dual_polytope(TILTED, ASIDE, [1.0], unpenalized=[3])


class TestAroundY:
    X = np.array([[1.0, 1.0, 1.0, 0.0], [1.0, -1.0, 0.0, 2.0], [0.0, 0.0, -1.0, 1.0]])
    y = np.array([1.0, 0.25, 0.0])

    def drawn(self, X, y):
        ax = plots.around_y(X, y, [0, 1], [0, 2])
        lines = {line.get_label(): line.get_xydata() for line in ax.lines}
        (legend,) = ax.figure.legends
        assert [text.get_text() for text in legend.get_texts()] == list(lines)
        texts = [text.get_text() for text in ax.texts]
        plots.close(ax.figure)
        return lines, texts

    def test_angles_are_those_of_the_directions(self):
        lines, texts = self.drawn(self.X, self.y)
        cosines = np.abs(self.X.T @ self.y) / np.linalg.norm(self.X, axis=0) / np.linalg.norm(self.y)
        angles = np.degrees(np.arccos(cosines))
        for label, indices in {"greedy, in order": (0, 1), "best subset": (0, 2), "others": (3,)}.items():
            np.testing.assert_allclose(lines[label][:, 1], angles[list(indices)], atol=1e-9)
        assert texts == ["$X_{0}$", "$X_{1}$", "$X_{2}$", "$X_{3}$", "1", "2"]
        scaled = self.drawn(self.X * [3.0, -0.01, 1e6, 5.0], 7 * self.y)[0]
        for label, points in lines.items():
            np.testing.assert_allclose(scaled[label], points, atol=1e-9)

    def test_zero_columns_have_no_direction(self):
        with_zero = np.column_stack([self.X, np.zeros(3)])
        assert len(self.drawn(with_zero, self.y)[0]["others"]) == 1

    def test_it_says_what_it_needs(self):
        with pytest.raises(ValueError, match=r"X must have 3 rows and y 3 entries.*\(2, 4\)"):
            plots.around_y(self.X[:2], self.y[:2], [0], [0])
        with pytest.raises(ValueError, match="X must be a matrix"):
            plots.around_y(self.X[:, 0], self.y, [0], [0])
        with pytest.raises(ValueError, match="y must not be zero"):
            plots.around_y(self.X, 0 * self.y, [0], [0])
        with pytest.raises(ValueError, match="picks must hold column indices"):
            plots.around_y(self.X, self.y, [4], [0])


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
