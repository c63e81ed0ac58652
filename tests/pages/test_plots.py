"""Figures show the numbers they are given."""

import dataclasses
import io
import itertools

import matplotlib as mpl
import numpy as np
import pytest
from refusals import refuses

mpl.use("Agg")

import sparselin as sl
from sparselin import plots
from sparselin.plots.penalty import penalty_contours
from sparselin.plots.style import pyplot
from sparselin.studies.verification import figures
from sparselin.studies.verification.run import VerificationSettings, summarize, verify_one

SETTINGS = VerificationSettings(steps=2, reach_every=10**9, audit_first=0, audit_every=10**9)


@pytest.fixture(scope="module")
def records():
    return [verify_one(task, SETTINGS) for task in [("gaussian", 1), ("duplicated", 1), ("gaussian", 2)]]


def test_agreement_has_a_bar_for_each_verdict_and_ensemble(records):
    summary = summarize(records)
    ax = figures.agreement(summary)
    widths = np.reshape([bar.get_width() for bar in ax.patches], (3, 2))
    np.testing.assert_allclose(widths.sum(axis=0), 1)
    np.testing.assert_allclose(widths[0], [row.agreements / row.steps for row in summary])
    assert [label.get_text() for label in ax.get_yticklabels()] == [row.name for row in summary]


def test_windows_show_the_medians(records):
    ax = figures.windows(records)
    sharp = [step.window for record in records if record.ensemble == "gaussian" for step in record.steps]
    medians = [line.get_xdata()[0] for line in ax.lines if line.get_color() == "white"]
    assert np.median(sharp) == pytest.approx(medians[0])
    assert len(medians) == 4


def test_the_colours_between_contours_are_an_image():
    """Polygons would be megabytes of SVG, with seams between them that look like contours."""
    drawn = plots.penalty_panels([penalty_contours(limit) for limit in (1, 10, 100)])
    buffer = io.StringIO()
    drawn[0].figure.savefig(buffer, format="svg")
    assert len(buffer.getvalue()) < 2.2e5  # in base 64 less than 300 kB
    assert buffer.getvalue().count("<image") == 6  # with the colour bars


def texts(artists):
    return [artist.get_text() for artist in artists]


def line(ax, label):
    (found,) = [one for one in ax.lines if one.get_label() == label]
    return found.get_xydata()


NAMES = ["age", "bmi", "blood pressure", "cost in $, or $", "e"]
X, Y = sl.ensembles.gaussian(40, 5, rng=1)
NAMED = sl.Problem(X, Y, names=NAMES, intercept=True)
ZERO = np.zeros(3)


class TestLassoPath:
    def test_lines_are_the_path_and_end_in_the_names(self):
        path = sl.lasso_path(NAMED)
        ax = plots.show(path)
        for j, name in enumerate(["age", "bmi", "blood pressure", r"cost in \$, or \$", "e"]):
            points = line(ax, name)
            np.testing.assert_allclose(points[:, 1], [path.at(lam)[j] for lam in points[:, 0]], atol=1e-12)
            assert np.isin(path.knots, points[:, 0]).all()
        assert ax.get_xlim() == (path.knots[0], 0)
        assert line(ax, "knots")[:, 0].tolist() == path.knots.tolist()
        order = sorted(range(5), key=lambda j: -path.coef[-1, j])
        assert [text.split()[0] for text in texts(ax.texts)[:5]] == [NAMES[j].split()[0] for j in order]

    def test_r2_above_is_that_of_the_solutions(self):
        path = sl.lasso_path(NAMED, lam_min=0.2)
        ax = plots.show(path)
        *numbers, name = texts(ax.texts)[-7:]
        assert name == "$R^2$"
        for share, number in zip(np.linspace(0, 1, 6), numbers, strict=True):
            lam = ax.transData.inverted().transform(ax.transAxes.transform((share, 0)))[0]
            beta = path.at(max(lam, path.knots[-1]))
            r = Y - Y.mean() - (X - X.mean(axis=0)) @ beta
            assert float(number) == pytest.approx(1 - r @ r / np.var(Y) / len(Y), abs=0.0051)

    def test_r2_is_written_once_where_it_stays(self):
        path = sl.lasso_path(np.eye(2), [10.0, 0.1])
        *numbers, _ = [text for text in texts(plots.show(path).texts) if not text.startswith("x")]
        assert numbers[0] == "0.00"
        assert numbers[-1] == "1.00"
        assert len(numbers) == len(set(numbers)) < 6

    def test_names_that_legends_would_leave_out(self):
        ax = plots.show(sl.lasso_path(sl.Problem(X, Y, names=["", "_a", "b", "c", "d"])))
        assert {"x0", " _a", "b", "c", "d"} <= set(ax.get_legend_handles_labels()[1])
        assert {"x0", " _a", "b", "c", "d"} <= set(texts(ax.texts))

    def test_the_units_of_coefficients_are_told(self):
        assert plots.show(sl.lasso_path(X, Y)).get_ylabel() == "coefficient"
        units = "coefficient, each in its own unit"
        assert plots.show(sl.lasso_path(X, Y, standardize=True)).get_ylabel() == units

    @pytest.mark.parametrize(("last", "scale"), [(0.0, "symlog"), (0.01, "log"), (0.5, "linear")])
    def test_the_axis_is_logarithmic_where_the_path_is_long(self, last, scale):
        path = sl.lasso_path(np.eye(2), [1.0, 0.02], lam_min=last)
        assert plots.show(path).get_xscale() == scale

    def test_of_many_features_the_largest_have_names(self):
        design, y = sl.ensembles.gaussian(60, 50, rng=0)
        path = sl.lasso_path(design, y)
        ax = plots.show(path)
        largest = np.argsort(-np.abs(path.coef[-1]))[:12]
        assert {text for text in texts(ax.texts) if text[0] == "x"} == {f"x{j}" for j in largest}
        (others,) = ax.collections
        assert len(others.get_segments()) == len(path.features) - 12
        ax.figure.canvas.draw()
        boxes = [mpl.text.Text.get_window_extent(text) for text in ax.texts[:12]]
        assert not any(a.overlaps(b) for a, b in itertools.combinations(boxes, 2))

    def test_nothing_enters(self):
        ax = plots.show(sl.lasso_path(X, 0 * Y))
        assert "No feature enters" in ax.texts[0].get_text()
        assert not ax.lines


class TestSelection:
    def test_it_shows_the_levels_the_runners_up_and_r2(self):
        path = sl.omp(NAMED, 4, forced=["e"])
        ax = plots.show(path)
        assert texts(ax.get_yticklabels())[0] == "1  e (forced)"
        steps = [f"{t + 1}  {NAMES[path.support[t]]}".replace("$", r"\$") for t in (1, 2, 3)]
        assert texts(ax.get_yticklabels())[1:] == steps
        picks = line(ax, "pick")
        np.testing.assert_array_equal(picks, np.column_stack([path.lam_star[1:], [1, 2, 3]]))
        second = []
        for t in (1, 2, 3):  # the second largest |correlation|, by projection
            S = np.column_stack([np.ones(40), X[:, path.support[:t]]])
            c = np.sort(np.abs(X.T @ (Y - S @ np.linalg.lstsq(S, Y, rcond=None)[0])))
            second.append(c[-2])
        np.testing.assert_allclose(line(ax, "runner-up")[:, 0], second, atol=1e-9)
        right = ax.figure.axes[1]
        expected = [1 - (norm / path.residual_norm[0]) ** 2 for norm in path.residual_norm[1:]]
        np.testing.assert_allclose(right.lines[0].get_xdata(), expected)
        assert right.get_xlabel() == rf"$\|r_0\|$ = {path.residual_norm[0]:.4g}, against the mean"
        np.testing.assert_allclose(line(right, "$R^2$")[:, 0], expected)
        np.testing.assert_allclose(line(right, r"$\|r\|/\|r_0\|$")[:, 0], np.sqrt(1 - np.array(expected)))
        assert texts(ax.texts) == [f"{100 * margin:.3g} %" for margin in path.margin[1:]]
        assert texts(right.texts) == [f"{r2:.3f}" for r2 in expected]

    def test_ties_are_marked_and_named(self):
        ax = plots.show(sl.omp(np.eye(3), [1.0, 1.0, 1.0], 3))
        assert texts(ax.get_yticklabels()) == ["1  x0 = x1, 1 more", "2  x1 = x2", "3  x2"]
        assert line(ax, "pick, tied")[:, 1].tolist() == [0, 1]

    def test_a_step_without_a_runner_up_has_a_bar(self):
        """A logarithmic axis has no place for 0, so the bar begins at the edge there."""
        for y, scale in (([100.0, 10.0, 1.0], "log"), ([3.0, 2.0, 1.0], "linear")):
            path = sl.omp(np.eye(3), y, 3)
            ax = plots.show(path)
            assert (ax.get_xscale(), path.margin[2]) == (scale, 1)
            (bars,) = ax.collections
            for segment, t in zip(bars.get_segments(), range(3), strict=True):
                assert segment[1].tolist() == [path.lam_star[t], t]
            assert bars.get_segments()[2][0, 0] == ax.get_xlim()[0]
            np.testing.assert_allclose([s[0, 0] for s in bars.get_segments()[:2]], y[1:])

    def test_one_step_many_steps_none(self):
        assert len(plots.show(sl.omp(X[:, :1], Y, 1)).get_yticklabels()) == 1
        design, y = sl.ensembles.gaussian(90, 80, rng=0)
        labels = texts(plots.show(sl.omp(design, y, 80)).get_yticklabels())
        assert [label.split()[0] for label in labels] == [str(t) for t in range(1, 81, 2)]
        assert "No feature is selected" in plots.show(sl.omp(np.eye(3), ZERO, 2)).texts[0].get_text()
        forced = plots.show(sl.omp(X, Y, 2, forced=[0, 1]))
        assert len(forced.lines) == 0
        assert len(forced.figure.axes[1].lines[0].get_xdata()) == 2


def test_an_explanation():
    path = sl.omp(NAMED, 3)
    left = next(j for j in range(5) if j not in path.support)
    for j in (left, int(path.support[2])):
        found = sl.explain(NAMED, path, j)
        ax = plots.show(found)
        np.testing.assert_array_equal(line(ax, NAMES[j].replace("$", r"\$"))[:, 1], found.correlation)
        np.testing.assert_array_equal(line(ax, "the pick")[:, 1], found.level)
        names = [f"+ {NAMES[i]}".replace("$", r"\$") for i in found.given]
        assert texts(ax.get_xticklabels()) == ["none", *names]
    found = sl.explain(NAMED, sl.lasso_path(NAMED), 0)
    points = line(plots.show(found), "age")
    np.testing.assert_array_equal(points, np.column_stack([found.level, found.correlation]))
    negative = -np.eye(2), [-1.0, 2.0]
    ax = plots.show(sl.explain(*negative, sl.lasso_path(*negative, positive=True), 1))
    assert ax.get_ylabel() == r"$\langle X_j, r\rangle$"
    assert ax.get_ylim()[0] < -2
    none = sl.explain(X, 0 * Y, sl.lasso_path(X, 0 * Y), 0)
    assert "stays at zero" in plots.show(none).texts[0].get_text()


def test_the_first_segment():
    design = np.column_stack([np.eye(3), [1.0, 0.0, 0.0], [0.6, 0.8, 0.0]])
    entry = sl.first_entry(sl.Problem(design, [2.0, -2.0, 1.0], names=list("abcde")))
    ax = plots.show(entry)
    for name, sign, v in zip("abd", entry.signs, entry.direction, strict=True):
        path = sl.lasso_path(design, [2.0, -2.0, 1.0])
        ends = line(ax, name)
        assert ends[:, 0].tolist() == [entry.lam_star, entry.window_lower]
        assert ends[1, 1] == pytest.approx(sign * v * (entry.lam_star - entry.window_lower))
        if name == "b":  # the only solution has it
            np.testing.assert_allclose(ends[1, 1], path.at(entry.window_lower)[1])
    assert set(texts(ax.texts)[:3]) == set("abd")
    assert "No feature enters" in plots.show(sl.first_entry(X, 0 * Y)).texts[0].get_text()


def test_many_signals():
    D = np.eye(4)
    batch = sl.batch_omp(D, np.array([[3.0, 0, 0, 0], [3, 2, 0, 0], [3, 2, 1, 0], [3, 2, 1, 0.5]]).T, 3)
    ax = plots.show(batch)
    widths = {}
    for bar in ax.patches:
        if bar.get_width():
            row = round(bar.get_y() + bar.get_height() / 2)
            widths[row] = widths.get(row, 0) + int(bar.get_width())
    assert widths == {1: 1, 2: 1, 3: 2}
    right = ax.figure.axes[1]
    medians = {one.get_ydata()[0]: one.get_xdata()[0] for one in right.lines if one.get_marker() == "o"}
    assert medians == {1: 0, 2: 0, 3: pytest.approx(0.25)}
    assert plots.show(sl.batch_omp(D, np.zeros((4, 2)), 1)).patches


class TestSubsets:
    def test_the_bars_add_up_to_the_value(self):
        ridge = sl.spectral.GeneralizedRank(0.5)
        result = sl.forward_regression(NAMED, 4, regularizer=ridge, nu=0.3)
        ax = plots.show(result)
        bars = sorted(ax.patches, key=lambda bar: bar.get_y())
        np.testing.assert_allclose([bar.get_width() for bar in bars], result.gains)
        np.testing.assert_allclose(bars[-1].get_x() + bars[-1].get_width(), result.value)
        for left, right in itertools.pairwise(bars):
            assert left.get_x() + left.get_width() == pytest.approx(right.get_x())
        assert texts(ax.get_yticklabels()) == [NAMES[j].replace("$", r"\$") for j in result.support]
        assert ax.figure.axes[1].lines[0].get_xdata().tolist() == result.coef.tolist()

    def test_the_bound_of_a_best_subset(self):
        best, cut = (sl.best_subset(NAMED, 2, node_limit=limit) for limit in (None, 1))
        (bound,) = [one for one in plots.show(best).lines if one.get_label().startswith("upper bound")]
        assert bound.get_xdata()[0] == pytest.approx(best.r2)
        ax = plots.show(cut)
        total = float(np.var(Y)) * len(Y)
        (bound,) = [one for one in ax.lines if one.get_label().startswith("upper bound")]
        assert bound.get_xdata()[0] == pytest.approx(1 - cut.lower_bound / total)

    def test_there_is_no_bound_on_r2_with_a_ridge(self):
        """The lower bound is then on the value with the ridge."""
        for given, drawn in (({"ridge": 5.0}, False), ({"box": 1.0}, True)):
            labels = [one.get_label() for one in plots.show(sl.best_subset(NAMED, 2, **given)).lines]
            assert any(label.startswith("upper bound") for label in labels) == drawn

    def test_nothing_selected(self):
        assert "No feature" in plots.show(sl.forward_regression(X, 0 * Y, 2)).texts[0].get_text()

    def test_a_maximum_of_f(self):
        found = sl.spectral.greedy_maximize(X.T @ X, 3, sl.spectral.SmoothedDifferentialEntropy(1.0))
        widths = [bar.get_width() for bar in plots.show(found).patches]
        np.testing.assert_allclose(widths, found.gains)


def test_the_choice_of_nu():
    choice = sl.choose_nu(*sl.ensembles.gaussian(40, 8, rng=2), 3, sl.spectral.GeneralizedRank(0.5))
    ax = plots.show(choice)
    labels = {one.get_label(): one for one in ax.lines}
    good, bad = (line(ax, label) for label in ("at least the LASSO's", "below"))
    tried = np.concatenate([good, bad])
    np.testing.assert_array_equal(tried[:, 0], choice.tried)
    np.testing.assert_array_equal(tried[:, 1], choice.r2_tried)
    assert good[:, 1].min() >= choice.r2_lasso > bad[:, 1].max()
    assert labels["LASSO"].get_ydata()[0] == choice.r2_lasso
    assert labels["LASSO"].get_linestyle() == "-"
    assert labels[rf"$\nu$ = {choice.nu:.3g}"].get_xdata()[0] == choice.nu


def test_stability():
    found = sl.stability_selection(NAMED, 3, forced=["e"], threshold=0.6, pairs=10)
    ax, selected = plots.show(found), found.selected_indices().tolist()
    assert 1 < len(selected) < 5
    for j in selected:
        points = line(ax, NAMES[j].replace("$", r"\$"))
        assert points.tolist() == [[0, 0], *([t + 1, row[j]] for t, row in enumerate(found.frequencies))]
    rest = [j for j in np.flatnonzero(found.frequencies[-1]) if j not in selected]
    assert rest
    for j in rest:  # below the threshold: grey, with a name
        (below,) = [one for one in ax.lines if one.get_label() == NAMES[j].replace("$", r"\$")]
        assert (below.get_color(), below.get_ydata()[-1]) == (plots.GREY, found.frequencies[-1, j])
    assert ax.lines[-1].get_ydata()[0] == 0.6
    assert texts(ax.texts)[-1] == "threshold 0.6"
    assert ax.get_xlabel() == "first $t$ features of OMP"


def test_the_constraints_of_a_projection():
    projection = sl.project_dual(X, Y, 0.1, forced=[0])
    ax = plots.show(projection)
    active = line(ax, r"active: $|\langle X_j, u\rangle| = \lambda$")
    assert set(active[:, 0]) == {projection.coef[j] for j in projection.active}
    assert line(ax, "without penalty")[:, 0].tolist() == [projection.coef[0]]
    assert np.all(np.diff([abs(projection.coef[int(t[1:])]) for t in texts(ax.get_yticklabels())]) <= 0)
    assert "is v" in plots.show(sl.project_dual(X, Y, 1e9)).texts[0].get_text()


def test_the_descent():
    result = sl.hadamard_descent(X, Y, 2.0)
    ax = plots.show(result)
    drawn = line(ax, "objective − its last value")
    at = drawn[:, 0].astype(int)
    np.testing.assert_allclose(drawn[:, 1], result.objective[at] - result.objective[-1])
    assert (result.objective[at] > result.objective[-1]).all()
    assert ax.get_yscale() == "log"
    assert f"after {len(result.objective) - 1} iterations" in ax.get_title()
    assert "from the start" in plots.show(sl.hadamard_descent(X, 0 * Y, 2.0)).texts[0].get_text()


def test_intervals():
    ax = plots.show(sl.results.Interval(0.25, 0.5, "by hand"))
    assert ax.lines[0].get_xdata().tolist() == [0.25, 0.5]
    assert (ax.get_title(), ax.texts[0].get_text()) == ("by hand", "0.25 to 0.5")
    assert plots.show(sl.results.Interval(1.0, np.inf, "half")).lines[0].get_xdata().tolist() == [1.0]
    assert plots.show(sl.results.Interval(2.0, 2.0, "known")).texts[0].get_text() == "2"
    assert plots.show(sl.submodularity_ratio(X, Y, [0], 1)).texts[0].get_text() == "1"


def test_sparse_eigenvalues():
    result = sl.sparse_eigenvalues(X, 3)
    ax = plots.show(result)
    drawn = [one.get_xdata().tolist() for one in ax.lines if len(one.get_xdata()) == 2]
    bounds = [[one.lower, one.upper] for one in (result.lambda_max, result.lambda_min)]
    assert drawn == bounds
    assert ax.figure.axes[1].lines[0].get_ydata().tolist() == result.babel.tolist()
    single = plots.show(sl.sparse_eigenvalues(X[:, :1], 1))
    assert "fewer than two" in single.figure.axes[1].texts[0].get_text()


def test_guarantees():
    result = sl.guarantee_bounds(X, Y, 2)
    half = sl.results.Interval(0.5, 0.5, "")
    broken = sl.results.Bound("too much", "OMP", "2", "nobody", (("none", True),), 0.9, 0.9, half)
    for given in (result, dataclasses.replace(result, bounds=(*result.bounds, broken))):
        ax = plots.show(given)
        assert texts(ax.get_yticklabels()) == [f"{bound.algorithm}: {bound.name}" for bound in given.bounds]
        bars = {round(bar.get_y() + bar.get_height() / 2): bar for bar in ax.patches}
        applying = {row: bound.lower for row, bound in enumerate(given.bounds) if bound.applies}
        assert {row: bar.get_width() for row, bar in bars.items()} == applying
        points = [one.get_xydata()[0].tolist() for one in ax.lines if one.get_marker() == "D"]
        assert points == [[bound.achieved.upper, row] for row, bound in enumerate(given.bounds)]
        red = [row for row, bar in bars.items() if mpl.colors.same_color(bar.get_facecolor()[:3], plots.RED)]
        assert red == ([len(given.bounds) - 1] if given is not result else [])


class TestCondition:
    """The bars of `Condition` end at its bounds and distances."""

    names = ("a", "b", "c", "d", "a again")
    X = np.column_stack([X4 := np.random.default_rng(0).standard_normal((9, 4)), X4[:, 0]])
    y = X4 @ [3.0, 2.0, 1.0, 0.5]

    def drawn(self, found):
        ax = plots.show(found)
        bars = {}
        for bar in ax.patches:
            row = round(bar.get_y() + bar.get_height() / 2)
            bars.setdefault(row, []).append((bar.get_x(), bar.get_x() + bar.get_width()))
        return ax, bars

    def test_bars_go_from_the_bound_to_the_distance(self):
        problem = sl.Problem(self.X[:, :4], self.y, names=self.names[:4])
        found = sl.condition(problem, sl.omp(problem, 4, forced=["d"]))
        ax, bars = self.drawn(found)
        assert texts(ax.get_yticklabels()) == ["1  d (forced)", "2  a", "3  b", "4  c"]
        assert ax.get_xscale() == "log"
        assert sorted(bars) == [1, 2, 3]
        for row, (pale, dark) in bars.items():
            assert pale[0] == ax.get_xlim()[0]
            assert [pale[1], *dark] == pytest.approx([found.lowers[row]] * 2 + [1 / found.numbers[row]])
        at_right = [text for text in ax.texts if text.get_position()[0] == 1.01]
        rivals = {text.get_position()[1]: text.get_text() for text in at_right}
        assert found.rivals[3] == -1
        named = {t: self.names[found.rivals[t]] for t in (1, 2)}
        assert rivals == {-0.75: "rival", 3: "no rival"} | named
        lines = [line.get_xdata()[0] for line in ax.lines if line.get_linestyle() == "--"]
        assert lines == [np.finfo(float).eps, 0.01, 0.1]
        assert "unchanged if X and y are within" in ax.get_title()

    def test_ties_are_marked_at_eps(self):
        problem = sl.Problem(self.X, self.y, names=self.names)
        ax, bars = self.drawn(sl.condition(problem, sl.omp(problem, 2)))
        assert sorted(bars) == [1]
        assert [one.get_xydata().tolist() for one in ax.lines if one.get_marker() == "D"] == [
            [[np.finfo(float).eps, 0]]
        ]
        assert "a tie" in ax.get_title()
        assert "a again" in texts(ax.texts)

    def test_a_bar_without_a_bound_begins_at_the_edge(self):
        found = sl.condition(self.X[:, :4], self.y, sl.omp(self.X[:, :4], self.y, 2))
        ax, bars = self.drawn(dataclasses.replace(found, lowers=np.zeros(2)))
        assert [len(bars[row]) for row in (0, 1)] == [1, 1]
        assert bars[0][0] == pytest.approx((ax.get_xlim()[0], 1 / found.numbers[0]))
        assert "no bound" in ax.get_title()

    def test_the_lasso_and_an_empty_path(self):
        X, y = self.X[:, :4], self.y
        path = sl.lasso_path(X, y)
        ax, _ = self.drawn(sl.condition(X, y, path, lam=float(path.knots[:2].mean())))
        assert [label.split()[1] for label in texts(ax.get_yticklabels())] == ["leaves", "enters"]
        forced = sl.condition(X, y, sl.omp(X, y, 1, forced=[0]), in_y=True)
        assert "No feature is picked" in plots.show(forced).texts[0].get_text()


@pytest.mark.parametrize("place", ["grid", "free"])
def test_a_picture_of_two_panels_stays_in_its_place(place):
    if place == "grid":
        figure, (above, ax) = mpl.pyplot.subplots(2, layout="constrained")
    else:
        figure = mpl.pyplot.figure()
        above, ax = figure.add_axes((0, 0.6, 1, 0.4)), figure.add_axes((0.1, 0.1, 0.8, 0.4))
    assert plots.show(sl.omp(X, Y, 3), ax=ax) is ax
    figure.canvas.draw()
    right = figure.axes[2]
    assert right.get_position().x0 > ax.get_position().x1
    assert right.get_position().y1 < above.get_position().y0


def test_letters_have_eleven_points_and_long_names_are_cut():
    names = [f"mean_of_the_very_long_$ $ name {j} of_five" for j in range(5)]
    problem = sl.Problem(X, Y, names=names)
    for result in (sl.omp(problem, 3), sl.lasso_path(problem), sl.best_subset(problem, 2)):
        figure = plots.show(result).figure
        figure.canvas.draw()
        letters = [text for text in figure.findobj(mpl.text.Text) if text.get_text() and text.get_visible()]
        assert min(text.get_fontsize() for text in letters) >= 11
        labels = {text.get_text()[-26:] for text in letters if "mean" in text.get_text()}
        assert len(labels) >= 2
        assert labels <= {f"mean_of_the_v…me {j} of_five" for j in range(5)}


def test_what_has_no_picture_is_told():
    refuses(r"SelectionPath, .*LassoPath, .*; got ndarray", plots.show, Y, error=TypeError)


@pytest.mark.parametrize("values", [[0.5], [0.1, 0.1, 0.1], [0.0, 0.0, 1.0, 1.0], [0.9, 0.2, 0.21, 0.22]])
def test_labels_are_spread_as_little_as_possible(values):
    from scipy.optimize import minimize

    from sparselin.plots.style import spread

    gap = 0.15
    values = np.array(values)
    placed = spread(values, gap)
    order = np.argsort(values, kind="stable")
    assert np.diff(placed[order]).min(initial=gap) >= gap - 1e-12
    bounds = [{"type": "ineq", "fun": lambda z, i=i: z[i + 1] - z[i] - gap} for i in range(len(values) - 1)]
    best = minimize(
        lambda z: ((z - values[order]) ** 2).sum(),
        np.linspace(0, 0.9, len(values)),
        constraints=bounds,
        bounds=[(0, 1)] * len(values),
        tol=1e-14,
    )
    np.testing.assert_allclose(placed[order], best.x, atol=1e-5)


def test_inference_has_a_row_for_each_feature(rng):
    X = rng.standard_normal((60, 20))
    y = 2 * X[:, 3] + rng.standard_normal(60)
    found = sl.inference(X, y, sl.omp(X, y, 4), sigma=1.0)
    ends = found.interval_bounds.copy()
    ends[1], ends[2] = np.nan, [[-1e9, -1e9], [1e9, 1e9]]
    ends[3] = found.standard_error[3] * np.array([[-14.0], [32.0]])
    bounds = found.bounds.copy()
    bounds[0], bounds[1] = 0, np.nan
    ax = plots.show(dataclasses.replace(found, interval_bounds=ends, bounds=bounds))
    assert ax.get_yticklabels()[0].get_text() == "x3"
    words = [text.get_text() for text in ax.texts]
    assert words[:2] == ["p < 1e-300", "–"]
    assert words[3] == f"p = {found.p_value[3]:.2g}"
    arrows = {line.get_marker(): line.get_ydata().tolist() for line in ax.lines if line.get_marker() in "<>"}
    low, high = ax.get_xlim()
    assert low > -14
    assert high < 32
    assert arrows == {"<": [2, 3], ">": [2, 3]}
    z = ax.lines[0].get_xdata()
    np.testing.assert_allclose(z, found.estimate / found.standard_error)
    empty = dataclasses.replace(found, estimate=np.full(4, np.nan))
    assert "no coefficient" in plots.show(empty).texts[0].get_text()


def test_sizes_follow_matplotlib():
    """Texts, lines and marks are as large as rcParams say; the style for slides has larger ones."""
    path = sl.lasso_path(np.eye(3), [3.0, 2.0, 1.0])

    def sizes():
        ax = sl.plots.lasso_path(path)
        line = ax.lines[0]
        found = (ax.xaxis.label.get_fontsize(), line.get_linewidth(), line.get_markersize())
        sl.plots.close(ax.figure)
        return found

    usual = sizes()
    assert usual[0] == 11
    with mpl.rc_context({"font.size": 20, "lines.linewidth": 3, "lines.markersize": 12}):
        assert sizes() == pytest.approx((22, 2 * usual[1], 2 * usual[2]))
    with pyplot().style.context("sparselin.plots.slides"):
        assert all(large >= 1.3 * small for large, small in zip(sizes(), usual, strict=True))
    assert sizes() == usual
