"""The pictures for teaching show what scikit-learn, SciPy and the definitions give."""

import matplotlib as mpl
import numpy as np
import pytest
from oracles import coordinate_descent
from refusals import refuses

from sparselin import plots

mpl.use("Agg")

import sparselin as sl
from sparselin.estimators import OMPSelector

X, Y = sl.ensembles.gaussian(40, 5, rng=1)
TIED = np.array([[1.0, 1.0, 1.0, 0.4], [0.0, 1.0, 2.0, 0.1], [0.0, 0.0, 1.0, -0.8]])
SLANTED, ASIDE = np.array([[1.0, 0.6], [0.0, 0.8]]), np.array([2.0, 1.5])


def lines(ax):
    return {line.get_label(): line.get_xydata() for line in ax.lines}


def shaded(ax):
    (area,) = [one for one in ax.patches if one.get_label() == "_window"]
    return area.get_x(), area.get_x() + area.get_width()


class TestWindow:
    @pytest.mark.parametrize("S", [[], [2]])
    def test_correlations_and_coefficients_are_those_of_the_solutions(self, S):
        left = plots.window(X, Y, forced=S)
        right = left.figure.axes[1]
        away = np.eye(40) - X[:, S] @ np.linalg.pinv(X[:, S])
        rest, y = away @ X, away @ Y
        rest[:, S] = 0
        correlations, coefs = lines(left), lines(right)
        named = [label for label in correlations if label.startswith("x")]
        assert set(named) <= set(coefs)
        for i in range(0, len(correlations[named[0]]), 17):
            lam = correlations[named[0]][i, 0]
            beta = coordinate_descent(rest, y, lam)
            sizes = np.abs(rest.T @ (y - rest @ beta))
            for name in named:
                j = int(name[1:])
                assert correlations[name][i, 0] == coefs[name][i, 0] == lam
                assert correlations[name][i, 1] == pytest.approx(sizes[j], abs=1e-8)
                assert coefs[name][i, 1] == pytest.approx(beta[j], abs=1e-7)
        low, top = shaded(left)
        assert (low, top) == shaded(right)
        assert top == pytest.approx(np.abs(rest.T @ y).max())
        first = int(np.abs(rest.T @ y).argmax())
        title = f"T = A(S) = {{x{first}}}"
        assert left.get_title(loc="left") == (f"S = {{x2}}, {title}" if S else title)
        before, after = (coordinate_descent(rest, y, low * (1 + step)) for step in (1e-6, -1e-6))
        assert np.flatnonzero(before).tolist() == [first]
        entered = set(np.flatnonzero(after)) - {first}
        assert {f"x{j}" for j in (first, *entered)} == set(named)

    def test_ties(self):
        ax = plots.window(TIED, [1.0, 0, 0])
        styles = {line.get_label(): line.get_linestyle() for line in ax.lines}
        assert [styles[name] for name in ("x0", "x1", "x2")] == ["-", ":", ":"]
        assert ax.get_title(loc="left") == "T = {x0, x1, x2}, A(S) = {x0}"
        assert len({line.get_markevery()[0] for line in ax.lines if line.get_label() != r"$\lambda$"}) == 3
        assert ax.figure.axes[1].get_title(loc="left") == "solid: A(S), dotted: T∖A(S)"

    def test_standardized_columns_an_intercept_and_names(self):
        problem = sl.Problem(X * [1, 10, 1, 0.1, 1], Y, intercept=True, standardize=True, names=list("abcde"))
        ax = plots.window(problem)
        (name,) = [name for name in lines(ax) if name in ax.get_title(loc="left")[12:]]
        scaled = (X - X.mean(axis=0)) / X.std(axis=0)
        for lam, size in lines(ax)[name][::20]:
            beta = coordinate_descent(scaled, Y - Y.mean(), lam)
            rest = np.abs(scaled.T @ (Y - Y.mean() - scaled @ beta))
            assert size == pytest.approx(rest["abcde".index(name)], abs=1e-8)

    def test_nothing_to_draw_and_bad_data(self):
        assert "No feature enters" in plots.window(X, 0 * Y).texts[0].get_text()
        refuses(r"forced must hold column indices in 0\.\.4", plots.window, X, Y, forced=[7])
        refuses("X must be a matrix", plots.window, X[0], Y)


class TestHoff:
    @pytest.mark.parametrize(("y", "lam"), [(ASIDE, 0.5), ([2.0, -0.4], 0.8), (ASIDE, 9.0)])
    def test_the_descents_end_on_the_diagonals_at_the_solution(self, y, lam):
        left, *planes = plots.hoff_descent(SLANTED, y, lam, starts=[0, 3])
        beta = coordinate_descent(SLANTED, np.array(y), lam)
        np.testing.assert_allclose(lines(left)["LASSO"], [beta], atol=1e-9)
        for label in ("descent 1", "descent 2"):
            path = lines(left)[label]
            np.testing.assert_allclose(path[-1], beta, atol=1e-2)
            for j, plane in enumerate(planes):
                factors = lines(plane)[label]
                np.testing.assert_allclose(factors.prod(axis=1), path[:, j], atol=1e-12)
                assert abs(abs(factors[-1, 0]) - abs(factors[-1, 1])) <= 1e-2
                stars = lines(plane)["LASSO"]
                np.testing.assert_allclose(stars.prod(axis=1), beta[j], atol=1e-9)
                np.testing.assert_allclose(np.abs(stars[:, 0]), np.abs(stars[:, 1]))

    def test_the_contours_are_of_the_objective(self):
        left = plots.hoff_descent(SLANTED, ASIDE, 0.5)[0]
        contours = left.collections[1]

        def objective(beta):
            return 0.5 * np.sum((ASIDE - SLANTED @ beta) ** 2) + 0.5 * np.abs(beta).sum()

        least = objective(coordinate_descent(SLANTED, ASIDE, 0.5))
        for level, path in list(zip(contours.levels, contours.get_paths(), strict=True))[2:6]:
            heights = [objective(point) - least for point in path.vertices[1:-1:7]]
            np.testing.assert_allclose(heights, level, rtol=0.02)

    def test_it_says_what_it_needs(self):
        refuses(r"X must have two columns.*got 5 columns", plots.hoff_descent, X, Y, 1.0)
        with pytest.raises(ValueError, match="no intercept; got 2 columns and an intercept"):
            plots.hoff_descent(sl.Problem(SLANTED, ASIDE, intercept=True), 1.0)
        refuses("lam must be positive: at 0 w∘θ has no penalty; got 0", plots.hoff_descent, SLANTED, ASIDE, 0)
        for starts in ([], 3):
            with pytest.raises(ValueError, match="starts must be a list with at least one seed; got"):
                plots.hoff_descent(SLANTED, ASIDE, 1.0, starts=starts)

    def test_what_is_zero_from_the_start(self):
        assert lines(plots.hoff_descent(SLANTED, 0 * ASIDE, 1.0)[0])["LASSO"].tolist() == [[0, 0]]


def test_the_penalties_of_the_masks():
    """At points on the contours. With the normalised masks ‖w‖ → 0 costs nothing: ‖w‖² is left out.

    For s(w) = |w| the least w² + β²/w² is 2|β|, at w² = |β|. For s(w) = w² it is (3/2)(2β²)^⅓, the least
    t + β²/t², at t = w² = (2β²)^⅓. With p = |w|/Σ|w| the least Σ β_i²/p_i² over Σp = 1 is (Σ|β_i|^⅔)³, at p_i
    in proportion to |β_i|^⅔.
    """
    oracles = (
        lambda beta: 2 * np.abs(beta).sum(),
        lambda beta: float(sl.softmax_penalty(beta**2).value),
        lambda beta: np.sqrt(np.abs(beta)).sum() ** 2,
        lambda beta: 1.5 * np.cbrt(2 * beta**2).sum(),
        lambda beta: np.cbrt(beta**2).sum() ** 3,
        lambda beta: beta @ beta,
    )
    panels = plots.penalties(3)
    assert len(panels) == len(oracles)
    for ax, oracle in zip(panels, oracles, strict=True):
        filled, contours = ax.collections
        assert filled.get_rasterized()
        np.testing.assert_allclose(contours.levels[1], oracle(np.array([2.0, 1e-9])), rtol=1e-3)
        for i in (1, 3):
            points = contours.get_paths()[i].vertices
            points = points[(points > 0.4).all(axis=1)]
            for point in points[:: max(len(points) // 2, 1)]:
                assert oracle(point) == pytest.approx(contours.levels[i], rel=5e-3), ax.get_title()
    labels = [bar.get_ylabel() for bar in panels[0].figure.axes[6:]]
    assert len(labels) == 6
    assert labels[1] == r"$Q^*(\beta\circ\beta)$"
    refuses("limit must be positive; got 0", plots.penalties, 0)


NO_PIXELS = [
    ([12], (3, 4), None, r"selected must hold column indices in 0\.\.11"),
    ([1, 1], (3, 4), None, "selected must"),
    ([1], 12, None, r"shape must be \(height, width\)"),
    ([1], (0, 4), None, r"shape\[0\] must be at least 1"),
    ([1], (3, 4), np.ones((2, 4, 3)), r"images must have shape \(n, 3, 4\) or \(n, 12\)"),
    ([1], (3, 4), np.ones((0, 3, 4)), "at least one image"),
    ([1], (3, 4), np.full((3, 4), np.nan), "images must"),
]


class TestPixels:
    def test_numbers_are_where_the_pixels_are(self):
        images = np.arange(2 * 12).reshape(2, 3, 4)
        path = sl.omp(np.eye(12), np.arange(12.0)[::-1] + 1, 3)
        for given in (images, images.reshape(2, 12)):
            ax = plots.selected_pixels(path, (3, 4), images=given)
            numbers = [(t.get_text(), t.get_position()) for t in ax.texts]
            assert numbers == [("1", (0, 0)), ("2", (1, 0)), ("3", (2, 0))]
            mean = ax.figure.axes[1].images[0].get_array()
            assert mean.tolist() == images.mean(axis=0).tolist()
        ax = plots.selected_pixels([100, 5], (28, 28))
        (points,) = ax.collections
        assert not ax.texts  # too small: a colour bar tells the order
        assert ax.figure.axes[1].get_xlabel() == "order of selection"
        assert points.get_offsets().tolist() == [[100 % 28, 100 // 28], [5, 0]]
        assert points.get_array().tolist() == [1, 2]

    @pytest.mark.parametrize(("selected", "shape", "images", "words"), NO_PIXELS)
    def test_it_says_what_it_needs(self, selected, shape, images, words):
        refuses(words, plots.selected_pixels, selected, shape, images=images)


def test_the_steps_of_a_generalized_path():
    labels = (Y > 0).astype(float)
    path = sl.generalized_omp(X, labels, 3, loss="logistic", intercept=True)
    pairs = OMPSelector(1, loss="logistic", groups=np.arange(X.shape[1]) // 2).fit(X, labels).path_
    np.testing.assert_allclose(lines(plots.show(pairs).figure.axes[1])["$D^2$"][:, 0], pairs.r2_path[1:])
    ax = plots.show(path)
    np.testing.assert_array_equal(lines(ax)["pick"][:, 0], path.lam_star)
    scores = np.sort(np.abs(X.T @ (labels - labels.mean())))
    np.testing.assert_allclose(lines(ax)["pick"][0, 0], scores[-1])
    np.testing.assert_allclose(lines(ax)["runner-up"][0, 0], scores[-2])
    right = lines(ax.figure.axes[1])
    np.testing.assert_allclose(right["deviance/deviance$_0$"][:, 0], path.deviance[1:] / path.deviance[0])
    np.testing.assert_allclose(right["$D^2$"][:, 0] + right["deviance/deviance$_0$"][:, 0], 1)


def test_the_steps_of_a_path_of_groups():
    path = OMPSelector(2, groups=["a", "a", "b", "b", "c"]).fit(X, Y).path_
    ax = plots.show(path)
    labels = [f"{t + 1}  group {g}" for t, g in enumerate(path.order)]
    assert [t.get_text() for t in ax.get_yticklabels()] == labels
    np.testing.assert_allclose(lines(ax.figure.axes[1])["$R^2$"][:, 0], path.r2_path[1:])
