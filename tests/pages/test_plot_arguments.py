"""Wrong arguments of the functions of `sl.plots`: each message names the argument and what it must be."""

import numpy as np
import pytest

import sparselin as sl
from sparselin import plots
from sparselin.plots.penalty import penalty_contours

pytest.importorskip("matplotlib")

X, Y = np.array([[2.0, 0.5, 1.0], [0.5, 1.0, -1.0]]), np.array([3.0, 1.0])
PATH = sl.omp(X, Y, 2)
OF_RESULTS = {
    plots.selection: "path",
    plots.lasso_path: "path",
    plots.flow: "path",
    plots.batch_selection: "batch",
    plots.explanation: "found",
    plots.stability: "found",
    plots.leave_one_out: "found",
    plots.cross_validation: "found",
    plots.subset: "result",
    plots.subsets_within: "result",
    plots.greedy_maximum: "result",
    plots.nu_choice: "choice",
    plots.dual_projection: "projection",
    plots.descent: "result",
    plots.interval: "bounds",
    plots.sparse_eigenvalues: "result",
    plots.guarantee_bounds: "result",
    plots.inference: "found",
    plots.first_entry: "entry",
    plots.condition: "found",
}
GRID = np.linspace(-1, 1, 5)
VALUE = GRID[:, None] ** 2 + GRID**2
# function, arguments, keyword arguments, error, words of the message
WRONG = [
    *((function, ("text",), {}, TypeError, f"{name} must be a") for function, name in OF_RESULTS.items()),
    (plots.selection, (PATH,), {"ax": "here"}, TypeError, "ax must be Matplotlib's Axes"),
    (plots.show, (PATH,), {"ax": 3}, TypeError, "ax must be Matplotlib's Axes"),
    (plots.dual_polytope, (X, Y), {"ax": "here"}, TypeError, "ax must be Matplotlib's Axes"),
    (plots.window, (X, Y), {"ax": "here"}, TypeError, "ax must be Matplotlib's Axes"),
    (plots.lasso_path, (sl.lasso_path(X, Y),), {"labels": -1}, ValueError, "labels must be"),
    (plots.lasso_path, (sl.lasso_path(X, Y),), {"labels": "all"}, TypeError, "labels must be"),
    (plots.contours, (GRID, GRID, VALUE[0]), {}, ValueError, "value must have two dimensions"),
    (plots.contours, (GRID[:3], GRID, VALUE), {}, ValueError, r"beta1 must have the shape \(5,\)"),
    (plots.contours, (GRID, GRID[::-1], VALUE), {}, ValueError, "beta2 must increase"),
    (plots.contours, (GRID, GRID, -VALUE), {}, ValueError, "value must be nonnegative"),
    (plots.contours, (GRID, GRID, 0 * VALUE), {}, ValueError, "positive somewhere"),
    (plots.contours, (GRID, GRID, VALUE * np.nan), {}, ValueError, "value"),
    (plots.contours, (GRID, list("abcde"), VALUE), {}, TypeError, "beta2 must be an array of real numbers"),
    (
        plots.contours,
        (*np.meshgrid(GRID, GRID, indexing="ij"), VALUE),
        {},
        ValueError,
        "beta1 must be as np.meshgrid",
    ),
    (plots.penalty_panels, ([],), {}, ValueError, "panels must be a list"),
    (penalty_contours, (0,), {}, ValueError, "limit must be"),
    (plots.penalties, ("wide",), {}, TypeError, "limit must be"),
    (plots.dual_polytope, (np.eye(4), np.ones(4)), {}, ValueError, "X must have"),
    (plots.dual_polytope, (X, Y), {"lam": "big"}, TypeError, "lam must be"),
    (plots.first_picks, (np.eye(4), np.ones(4)), {}, ValueError, "X must have"),
    (plots.l1_ball, (np.eye(4), np.ones(4)), {}, ValueError, "X must"),
    (plots.window, (X, Y), {"forced": ["age"]}, Exception, "age"),
]


@pytest.mark.parametrize(("function", "given", "options", "error", "words"), WRONG)
@pytest.mark.usefixtures("no_pictures")
def test_a_wrong_argument_is_named(function, given, options, error, words):
    with pytest.raises(error, match=words):
        function(*given, **options)


def test_contours_take_a_grid_of_meshgrid():
    """The picture is the same as for the two axes."""
    one = plots.contours(GRID, 2 * GRID, VALUE)
    two = plots.contours(*np.meshgrid(GRID, 2 * GRID), VALUE)
    for a, b in zip(one.collections, two.collections, strict=True):
        for p, q in zip(a.get_paths(), b.get_paths(), strict=True):
            assert np.array_equal(p.vertices, q.vertices)
