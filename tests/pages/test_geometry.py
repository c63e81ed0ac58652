"""The geometry drawn is that of the numbers: polytopes, paths, ties, balls, angles, picks."""

import functools
import itertools

import matplotlib as mpl
import numpy as np
import pytest
from numpy.testing import assert_allclose
from polytopes import ASIDE, TILTED
from refusals import refuses

import sparselin as sl
from sparselin import plots
from sparselin.plots.geometry.labels import look

mpl.use("Agg")

from polytopes import ALOFT, DESIGNS, PLANE, SPACE, TIED, TIED_IN_SPACE, points

from sparselin.plots.geometry.picks import (
    _first_equal,
    _half_sphere,
    _on_map,
    _score_columns,
    largest_at,
    sectors,
)
from sparselin.plots.geometry.polytope import faces, outline


def labelled(ax, label):
    (line,) = [one for one in ax.lines if one.get_label() == label]
    return points(line)


def thick(ax, j, width):
    """The lines of feature j as wide as this."""
    return [points(line) for line in ax.lines
            if line.get_color() == look(j)["color"] and line.get_linewidth() == width]  # fmt: skip


def distance_to_line(point, corners):
    starts, steps = corners[:-1], np.diff(corners, axis=0)
    share = np.clip(((point - starts) * steps).sum(axis=1) / (steps**2).sum(axis=1), 0, 1)
    return np.linalg.norm(starts + share[:, None] * steps - point, axis=1).min()


@functools.cache
def shown(case):
    """The picture of a design, drawn once."""
    X, y, S = DESIGNS[case]
    return plots.dual_polytope(X, y, forced=S)


class TestDualPolytope:
    @pytest.mark.parametrize("case", DESIGNS)
    def test_the_path_is_that_of_the_projections(self, case):
        """All of it, not samples joined; on the slice from P_S^⊥y on."""
        (X, y, S), ax = DESIGNS[case], shown(case)
        path, lam_star = labelled(ax, "path of u, knots"), sl.lambda_star(X, y, forced=S)
        knots = sl.lasso_path(X, y, forced=S).knots
        assert_allclose(path, [sl.project_dual(X, y, lam, forced=S).u for lam in knots], atol=1e-9)
        for share in (1.3, 0.83, 0.21):
            assert distance_to_line(sl.project_dual(X, y, share * lam_star, forced=S).u, path) <= 1e-9
        (u,) = [points(line)[0] for line in ax.lines if line.get_marker() == "D"]
        assert_allclose(u, sl.project_dual(X, y, lam_star / 2, forced=S).u, atol=1e-9)

    @pytest.mark.parametrize("case", DESIGNS)
    def test_the_faces_that_u_is_on_are_strong_and_those_of_the_features(self, case):
        (X, y, S), ax = DESIGNS[case], shown(case)
        lam = sl.lambda_star(X, y, forced=S) / 2
        projection = sl.project_dual(X, y, lam, forced=S)
        strong = []
        for j in range(X.shape[1]):
            for face in thick(ax, j, 5.0 if len(y) == 2 else 3.5):
                if np.allclose(X[:, j] @ face.T, lam * np.sign(X[:, j] @ projection.u), rtol=1e-9):
                    assert np.abs(X.T @ face.T).max() <= lam * (1 + 1e-9)
                    strong.append(j)
        assert len(set(strong)) == len(strong)
        touched = np.abs(X.T @ projection.u) > lam * (1 - 1e-9)
        equal = {j for i in projection.active for j in np.flatnonzero(touched)
                 if np.linalg.matrix_rank(X[:, [i, j]]) == 1}  # fmt: skip
        assert set(strong) == equal - set(S)

    @pytest.mark.parametrize(("X", "y"), [(TIED, [1.0, 0.0]), (TIED_IN_SPACE, [1.0, 0.0, 0.0])])
    def test_ties_at_lambda_star_are_filled_in_a_and_hollow_elsewhere(self, X, y):
        entry = sl.first_entry(X, y)
        assert (entry.tied, entry.active) == ((0, 1, 2), (0,))
        ax = plots.dual_polytope(X, y, lam=0.2)
        assert "T = {0, 1, 2},  A(S) = {0}" in ax.get_title()
        hollow = [points(line) for line in ax.lines if line.get_color() == "white"]
        assert len(hollow) == 2
        width = 5.0 if len(y) == 2 else 2.5
        for j in entry.tied:
            (face,) = [one for one in thick(ax, j, width) if np.allclose(X[:, j] @ one.T, 1)]
            inside = any(np.array_equal(face, one) for one in hollow)
            assert inside == (j not in entry.active)
            around = np.linalg.norm(face[:4].mean(axis=0) - y)  # of a piece of its plane r is the middle
            assert min(distance_to_line(np.array(y), face), around) <= 1e-9

    @pytest.mark.parametrize("case", ["three", "tie", "duplicated", "eight", "parallel", "zero"])
    def test_the_polygon_is_the_polytope(self, case):
        (X, y, _), ax = PLANE[case], shown(case)
        lam = sl.lambda_star(X, y) / 2
        corners = ax.patches[0].get_xy()[:-1]
        assert_allclose(np.abs(corners @ X).max(axis=1), lam, rtol=1e-9)
        turn = np.linspace(0, 2 * np.pi, 500)
        rays = np.array([np.cos(turn), np.sin(turn)])
        boundary = (lam / np.abs(X.T @ rays).max(axis=0) * rays).T
        assert max(distance_to_line(u, np.vstack([corners, corners[:1]])) for u in boundary) <= 1e-9

    @pytest.mark.parametrize("case", ["three", "eight", "strip"])
    def test_normals_stand_on_the_faces_and_are_to_one_scale(self, case):
        (X, y, _), ax = PLANE[case], shown(case)
        lam, half = sl.lambda_star(X, y) / 2, ax.get_xlim()[1]
        arrows = [t for t in ax.texts if not t.get_text() and t.arrow_patch.get_mutation_scale() == 14]
        scales = []
        for arrow in arrows:
            foot, along = np.array(arrow.xyann), np.subtract(arrow.xy, arrow.xyann)
            (j,) = [j for j in range(X.shape[1]) if arrow.arrow_patch.get_edgecolor() == mpl.colors.to_rgba(
                look(j)["color"]) and np.isclose(X[:, j] @ foot, lam)]  # fmt: skip
            assert np.abs(foot).max() < half
            scales.append(along @ X[:, j] / (X[:, j] @ X[:, j]))
            assert_allclose(along, scales[-1] * X[:, j], atol=1e-12)
        assert len(arrows) == X.shape[1]
        assert_allclose(scales, scales[0], rtol=1e-9)

    def test_names_of_a_frame_stay(self):
        pd = pytest.importorskip("pandas")
        frame = pd.DataFrame(TILTED, columns=["age", "bmi", "blood pressure"])
        ax = plots.dual_polytope(frame, ASIDE, forced=["bmi"])
        assert {"age", "bmi", "blood pressure"} <= {text.get_text() for text in ax.texts}
        assert "S = {bmi}" in ax.get_title()

    @pytest.mark.parametrize("case", DESIGNS)
    def test_letters_are_large_and_do_not_cover_each_other(self, case):
        ax = shown(case)
        if case in PLANE:
            ax.figure.draw_without_rendering()
            boxes = [mpl.text.Text.get_window_extent(text) for text in ax.texts if text.get_text()]
            assert not any(a.overlaps(b) for a, b in itertools.combinations(boxes, 2))
        texts = [ax.title, *ax.get_xticklabels(), *ax.get_legend().get_texts()]
        texts += [text for text in ax.texts if text.get_text()]
        assert min(text.get_fontsize() for text in texts) >= 11

    @pytest.mark.parametrize(("case", "words"), [("strip", "unbounded"), ("unbounded, space", "unbounded")])
    def test_unbounded_ones_are_cut_and_said_to_be(self, case, words):
        assert words in shown(case).get_title()
        assert words not in shown(case.replace("strip", "three").replace("unbounded", "four")).get_title()

    def test_without_a_level_y_must_be_correlated(self):
        for y in ([0.0, 0.0], ASIDE):
            S = (0, 1) if y is ASIDE else ()
            with pytest.raises(ValueError, match="y must be correlated with some column outside S"):
                plots.dual_polytope(TILTED, y, forced=S)
            ax = plots.dual_polytope(TILTED, y, forced=S, lam=0.4)
            assert_allclose(labelled(ax, "path of u, knots"), [[0.0, 0.0]], atol=1e-15)

    def test_it_says_what_it_needs(self):
        draw = plots.dual_polytope
        for X in (np.eye(4), np.ones((1, 4))):
            refuses(r"X must have 2 rows.*or 3.*got X of shape", draw, X, np.ones(len(X)))
        for X in ([], [[]], np.ones(2)):
            refuses("X must", draw, X, [1.0, 1.0])
        refuses("y must", draw, TILTED, ALOFT)
        for lam in (0.0, -1.0, np.nan):
            refuses("lam must be", draw, TILTED, ASIDE, lam=lam)
        for levels in ([1.0, 0.0], [-1.0]):
            refuses("levels must be", draw, TILTED, ASIDE, levels=levels)
        refuses("forced must hold column indices", draw, TILTED, ASIDE, forced=[3])
        with pytest.raises(ValueError, match="X has columns that are too close to each other"):
            draw([[3, -1, -3, 3], [2**-26, 2, 1, 0], [0, -2, 2, 0]], [-2, 0, 0])
        flat, solid = draw(TILTED, ASIDE), draw(SPACE, ALOFT)
        refuses("ax must be in space", draw, SPACE, ALOFT, ax=flat)
        refuses("ax must be in the plane", draw, TILTED, ASIDE, ax=solid)


class TestFaces:
    """The corners are those of pairs and triples of constraints, whichever library finds them."""

    @pytest.mark.parametrize("n", [2, 3])
    @pytest.mark.parametrize("far", [4.0, 0.5])
    @pytest.mark.parametrize("seed", range(3))
    def test_corners(self, n, far, seed):
        rng = np.random.default_rng(seed)
        X, lam = rng.integers(-3, 4, size=(n, 5)).astype(float), 0.7
        X[:, 4] = -X[:, 0]
        A = np.concatenate([X / lam, np.eye(n) / far], axis=1)
        found = []
        for some in itertools.combinations(range(A.shape[1]), n):
            for signs in itertools.product((1.0, -1.0), repeat=n):
                if abs(np.linalg.det(A[:, some])) > 1e-9:
                    u = np.linalg.solve(A[:, some].T, signs)
                    if np.abs(A.T @ u).max() <= 1 + 1e-9 and all(np.abs(u - v).max() > 1e-7 for v in found):
                        found.append(u)
        ours = outline(X, lam, far)
        assert len(ours) == len(found)
        for u in found:
            assert np.abs(ours - u).max(axis=1).min() <= 1e-7
        drawn = faces(X, lam, far)
        if n == 3:  # Euler
            edges = set()
            for face in drawn:
                ring = [tuple(corner) for corner in face.corners.round(6).tolist()]
                edges |= {frozenset(pair) for pair in zip(ring, ring[1:] + ring[:1], strict=True)}
            assert len(found) - len(edges) + len(drawn) == 2
        for face in drawn:
            for j, sign in face.owners:
                assert_allclose(sign * X[:, j] @ face.corners.T, lam, rtol=1e-7)


class TestAnimation:
    @pytest.mark.parametrize("case", ["three", "slice", "plane, space"])
    def test_every_frame_shows_the_projection_and_the_coefficients(self, case):
        X, y, S = DESIGNS[case]
        film = plots.animation(X, y, forced=S, frames=7)
        lam_star = sl.lambda_star(X, y, forced=S)
        assert_allclose(list(film.new_frame_seq()), np.linspace(lam_star, 0, 7))
        left, right = film._fig.axes
        for lam in (0.77 * lam_star, 0.3 * lam_star, 0.0):
            film._func(lam)
            (u,) = [points(line)[0] for line in left.lines if line.get_marker() == "D"]
            projection = sl.project_dual(X, y, lam, forced=S)
            assert_allclose(u, projection.u, atol=1e-12)
            ends = [line.get_ydata()[0] for line in right.lines if line.get_marker() == "o"]
            path = sl.lasso_path(X, y, forced=S)
            assert_allclose(ends, path.at(lam)[path.features], atol=1e-12)
            active = [j for j in projection.active if j not in S]
            assert right.get_title() == "active: {" + ", ".join(map(str, active)) + "}"
        film._draw_was_started = True  # or it would warn that it was not saved

    def test_files_are_small(self, tmp_path):
        """Sixty frames are below 2 MB: twelve times five of them."""
        film = plots.animation(SPACE, ALOFT, frames=5)
        film.save(tmp_path / "film.gif", writer="pillow")
        assert 12 * (tmp_path / "film.gif").stat().st_size <= 2e6
        assert 12 * len(film.to_jshtml()) <= 2.2e6  # and twelve times the script of the player

    def test_it_says_what_it_needs(self):
        refuses("frames must be at least 2", plots.animation, TILTED, ASIDE, frames=1)
        refuses("y must be correlated", plots.animation, TILTED, [0.0, 0.0])


class TestFirstPicks:
    @pytest.mark.parametrize(
        ("lengths", "S"), [((1, 1, 1, 1), ()), ((1, 2, 1.4, 0.3), ()), ((1, 2, 1.4, 1), (1,))]
    )
    def test_sectors_are_the_picks(self, lengths, S, rng):
        X = np.column_stack([TILTED, [0.6, -0.8]]) * lengths
        for W, pick in zip(_score_columns(X, np.array(S, int)), (sl.omp, sl.ols), strict=True):
            found = sectors(W)
            assert sum(end - start for start, end, _ in found) == pytest.approx(np.pi, rel=1e-12)
            for angle in rng.uniform(0, np.pi, 40):
                path = pick(X, [np.cos(angle), np.sin(angle)], len(S) + 1, forced=S)
                (here,) = [picks for start, end, picks in found
                           if any(start < angle + turn < end for turn in (0, np.pi, -np.pi))]  # fmt: skip
                assert here == list(path.ties[-1])

    @pytest.mark.parametrize("S", [(), (2,)])
    def test_maps_are_the_picks_and_keep_areas(self, S, rng):
        X = SPACE * [1.0, 1.7, 0.8, 1.2]
        axes = np.linalg.qr(np.column_stack([ALOFT, np.eye(3)[:, :2]]))[0].T
        inside, y = _half_sphere(axes)
        assert_allclose(np.linalg.norm(y, axis=0)[inside], 1, rtol=1e-12)
        height = np.tensordot(axes[0], y, 1)[inside]
        assert_allclose([(height > h).mean() for h in (0.25, 0.5, 0.9)], [0.75, 0.5, 0.1], atol=0.002)
        rows, columns = np.nonzero(inside)
        for W, pick in zip(_score_columns(X, np.array(S, int)), (sl.omp, sl.ols), strict=True):
            for i in rng.choice(len(rows), 40):
                direction = y[:, rows[i], columns[i]]
                assert largest_at(W, direction) == list(pick(X, direction, len(S) + 1, forced=S).ties[-1])
                place = (np.array([columns[i], rows[i]]) + 0.5) / len(inside) * 2 - 1
                assert_allclose(_on_map(axes, -3 * direction), place, atol=1e-12)

    def test_columns_of_one_direction_stand_for_each_other(self):
        X = np.column_stack([SPACE, -SPACE[:, 1] / 3, 7 * SPACE[:, 0], SPACE[:, 2]])
        Z, unit = _score_columns(X, np.array([], int))
        assert _first_equal(Z).tolist() == [0, 1, 2, 3, 4, 5, 2]
        assert _first_equal(unit).tolist() == [0, 1, 2, 3, 1, 0, 2]

    def test_markers_at_ties_say_what_sequential_lasso_may_pick(self):
        X = np.array([[1.0, 1.0], [0.0, 1.0]])  # at y = e_1 A(S) = {0}; at y = (−1, 2) both
        ax = plots.first_picks(X)
        one, both = (next(line for line in ax.lines if str(line.get_label()).startswith(words))
                     for words in ("tie: A(S) has only", "tie: A(S) has all"))  # fmt: skip
        assert_allclose(np.mod(one.get_xdata(), np.pi), [0, 0], atol=1e-12)
        assert one.get_color() == look(0)["color"]
        assert_allclose(np.tan(both.get_xdata()), [-2, -2], rtol=1e-12)

    def test_the_maps_differ_where_lengths_do(self):
        unit = SPACE / np.linalg.norm(SPACE, axis=0)
        for X, same in ((unit, True), (unit * [1, 2, 1, 1], False)):
            left = plots.first_picks(X, ALOFT)
            images = [ax.images[0].get_array() for ax in left.figure.axes]
            assert np.array_equal(*images) == same
            assert len(left.figure.axes[1].collections) == (0 if same else 1)

    def test_it_says_what_it_needs(self):
        for X in (np.eye(4), np.ones((1, 3))):
            refuses(r"X must have 2 rows.*or 3", plots.first_picks, X)
        for X in ([], np.ones(3)):
            refuses("X must be a matrix", plots.first_picks, X)
        refuses("y must not be zero", plots.first_picks, TILTED, [0.0, 0.0])
        refuses("X must have a column outside the span of S", plots.first_picks, TILTED, forced=[0, 1])
        refuses("X must have a column outside the span of S", plots.first_picks, np.zeros((2, 2)))
        flat = plots.l1_ball(TILTED[:, :2], ASIDE)
        refuses("projection='polar'", plots.first_picks, TILTED, ax=flat)
        refuses("ax must be in the plane", plots.first_picks, SPACE, ax=plots.first_picks(TILTED))


class TestL1Ball:
    X = np.array([[1.0, 0.5], [0.2, 1.0], [0.4, -0.3]])
    y = np.array([1.0, 1.6, 0.2])

    @pytest.mark.parametrize("X", [X, X[:1], X[:, [0, 0]], X[:, [1, 1]] * [1, -3], X * [1, 0]])
    def test_the_curve_touches_the_ball_at_beta(self, X):
        y = self.y[: len(X)]
        lam = sl.lambda_star(X, y) / 2
        ax = plots.l1_ball(X, y)
        path = sl.lasso_path(X, y)
        assert_allclose(labelled(ax, "path of β"), path.coef, atol=1e-15)
        (beta,) = [points(line)[0] for line in ax.lines if line.get_marker() == "D"]
        size = np.linalg.norm(y - X @ path.at(lam))
        ball = ax.patches[0].get_xy()
        assert_allclose(np.abs(ball).sum(axis=1), np.abs(path.at(lam)).sum(), rtol=1e-12)
        thin = (line for line in ax.lines if line.get_marker() == "None")
        curves = [points(line) for line in thin if line.get_linewidth() == 2.2]
        assert len(curves) == (1 if np.linalg.matrix_rank(X) == 2 else 2)
        for b in np.concatenate(curves):
            assert np.linalg.norm(y - X @ b) == pytest.approx(size, rel=1e-9)
        gap = min(distance_to_line(beta, curve) for curve in curves)
        assert gap <= 2e-4 * np.abs(ball).max()
        edges = np.concatenate([np.linspace(a, b, 200) for a, b in itertools.pairwise(ball)])
        assert np.linalg.norm(y[:, None] - X @ edges.T, axis=0).min() >= size * (1 - 1e-9)

    def test_all_minimisers_are_drawn_where_there_are_many(self):
        copies = self.X[:, [0, 0]]
        for X, ends in ((copies, {(1, 0), (0, 1)}), (copies * [1, -1], {(1, 0), (0, -1)})):
            ax = plots.l1_ball(X, self.y)
            radius = np.abs(sl.lasso_path(X, self.y).at(sl.lambda_star(X, self.y) / 2)).sum()
            assert set(map(tuple, (labelled(ax, r"all $\beta(\lambda)$") / radius).round(9))) == ends
        assert len([t for t in plots.l1_ball(self.X, self.y).lines if "all" in str(t.get_label())]) == 0

    def test_it_says_what_it_needs(self):
        refuses(r"X must have 2 columns.*\(2, 3\)", plots.l1_ball, TILTED, ASIDE)
        refuses("lam must be", plots.l1_ball, self.X, self.y, lam=-1)
        for X, y in ((self.X, 0 * self.y), (0 * self.X, self.y)):
            refuses("y must be correlated with a column", plots.l1_ball, X, y)
        refuses("X must", plots.l1_ball, [], [])


# Pictures of angles: of the residual with the columns, and around y


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

    def test_of_many_columns_only_those_near_a_pick_have_a_colour(self, rng):
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
        for label, line in lines.items():
            np.testing.assert_allclose(scaled[label], line, atol=1e-9)

    def test_zero_columns_have_no_direction(self):
        with_zero = np.column_stack([self.X, np.zeros(3)])
        assert len(self.drawn(with_zero, self.y)[0]["others"]) == 1

    def test_it_says_what_it_needs(self):
        with pytest.raises(ValueError, match=r"X must have 3 rows; got X of shape \(2, 4\)"):
            plots.around_y(self.X[:2], self.y[:2], [0], [0])
        refuses("X must be a matrix", plots.around_y, self.X[:, 0], self.y, [0], [0])
        refuses("y must not be zero", plots.around_y, self.X, 0 * self.y, [0], [0])
        refuses("picks must hold column indices", plots.around_y, self.X, self.y, [4], [0])
