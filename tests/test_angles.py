"""Pictures of angles: of the residual with the columns, and around y."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from polytopes import ASIDE, TILTED
from refusals import refuses

import sparselin as sl
from sparselin import plots
from sparselin.plots.geometry.labels import look


class TestResidualAngles:
    @pytest.mark.parametrize("lengths", [(1, 1, 1, 1, 1), (1, 2, 0.5, 0.3, 1.5)])
    def test_rays_have_the_angles_and_lengths_of_the_columns(self, lengths, rng):
        X, y = rng.normal(size=(8, 5)), rng.normal(size=8)
        X = X / np.linalg.norm(X, axis=0) * lengths
        path = sl.omp(X, y, 3)
        ax = plots.residual_angles(X, y, 3)
        starts = [text.get_position()[0] for text in ax.texts if "step" in text.get_text()]
        for t, start in enumerate(starts):
            S = X[:, path.support[:t]]
            r = y - S @ np.linalg.lstsq(S, y, rcond=None)[0] if t else y
            shadows = np.abs(X.T @ r) / np.linalg.norm(r)
            solid = [line.get_xydata() for line in ax.lines if line.get_linestyle() == "-"]
            rays = [ray for ray in solid if len(ray) == 2 and np.allclose(ray[0], [start, 0])]
            tips = np.array([ray[1] - [start, 0] for ray in rays]) * max(lengths)
            assert_allclose(tips[:, 0], shadows, atol=1e-9)
            assert_allclose(np.linalg.norm(tips, axis=1), lengths, rtol=1e-9)
            assert np.argmax(tips[:, 0]) == path.support[t]
        picks = [text.get_text() for text in ax.texts if "step" in text.get_text()]
        assert [int(words.split("{")[1].split("}")[0]) for words in picks] == path.support.tolist()

    def test_of_many_columns_only_those_near_a_pick_have_a_colour(self):
        rng = np.random.default_rng(0)
        X, y = rng.standard_normal((9, 20)), rng.standard_normal(9)
        path = sl.omp(X, y, 2)
        residuals = [y, y - X[:, path.support[:1]] @ path.coef_at(1)]
        near = {
            int(j)
            for r in residuals
            for j in np.argsort(-np.abs(X.T @ r) / np.linalg.norm(X, axis=0), kind="stable")[:2]
        }
        ax = plots.residual_angles(X, y, 2)
        tips = [line for line in ax.lines if line.get_marker() == "o"]
        assert len(tips) == 2 * 20
        coloured = [i % 20 for i, line in enumerate(tips) if line.get_color() != plots.GREY]
        assert set(coloured) == near | set(path.support.tolist())

    def test_ties_are_marked_and_the_pick_filled(self):
        ax = plots.residual_angles(np.eye(3), [1.0, 1.0, 0.5], 1)
        feet = [line for line in ax.lines if line.get_marker() == "s"]
        assert [line.get_markerfacecolor() for line in feet] == [look(0)["color"], "white"]
        assert [line.get_color() for line in feet] == [look(0)["color"], look(1)["color"]]

    def test_it_says_what_it_needs(self):
        refuses("y must be correlated with a column of X", plots.residual_angles, TILTED, [0.0, 0.0], 2)
        refuses(r"k must be in 1\.\.3", plots.residual_angles, TILTED, ASIDE, 4)


class TestAroundY:
    X = np.array([[1.0, 1.0, 1.0, 0.0], [1.0, -1.0, 0.0, 2.0], [0.0, 0.0, -1.0, 1.0]])
    y = np.array([1.0, 0.25, 0.0])

    def drawn(self, X, y):
        ax = plots.around_y(X, y, [0, 1], [0, 2])
        lines = {line.get_label(): line.get_xydata() for line in ax.lines}
        (legend,) = ax.figure.legends
        assert [text.get_text() for text in legend.get_texts()] == list(lines)
        texts = [text.get_text() for text in ax.texts]
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
        with pytest.raises(ValueError, match=r"X must have 3 rows; got X of shape \(2, 4\)"):
            plots.around_y(self.X[:2], self.y[:2], [0], [0])
        refuses("X must be a matrix", plots.around_y, self.X[:, 0], self.y, [0], [0])
        refuses("y must not be zero", plots.around_y, self.X, 0 * self.y, [0], [0])
        refuses("picks must hold column indices", plots.around_y, self.X, self.y, [4], [0])
