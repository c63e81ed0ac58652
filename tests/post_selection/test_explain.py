"""`explain` against least squares by NumPy, with other formulas; its sentences in substance."""

from fractions import Fraction

import numpy as np
import pytest
from explained import design, off, prepared, r2
from fractional import dot, fractions, residual
from refusals import refuses
from scipy import sparse

import sparselin as sl
from sparselin import explain

NAMES = ["age", "bmi", "pressure", "sugar", "ldl", "hdl"]
METHODS = {"omp": sl.omp, "ols": sl.ols, "sequential_lasso": sl.sequential_lasso}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    ("intercept", "standardize", "forced", "weighted"),
    [(False, False, (), False), (True, False, (), True), (True, True, (3,), False), (False, True, (), True)],
)
def test_the_numbers_of_every_feature(method, intercept, standardize, forced, weighted):
    X, y = design()
    weights = np.arange(1.0, 31.0) if weighted else None
    options = {"intercept": intercept, "standardize": standardize}
    path = METHODS[method](X, y, 4, forced=forced, sample_weight=weights, **options)
    Z, t = prepared(X, y, intercept, standardize, weights)
    for j in range(6):
        found = explain(X, y, path, j, sample_weight=weights)
        place = np.flatnonzero(path.support == j)
        step = place[0] + 1 if len(place) else 0
        S = path.support[: step - 1] if step else path.support
        assert (found.feature, found.step, found.forced) == (j, step, j in forced)
        assert found.given.tolist() == S.tolist()
        rs = [off(Z[:, S[:s]], t) for s in range(len(S) + 1)]
        c = np.abs([r @ Z[:, j] for r in rs])
        size = np.linalg.norm(Z[:, j]) * np.linalg.norm(t)
        np.testing.assert_allclose(found.correlation, c, atol=1e-12 * size)
        assert (found.error <= 1e-11 * size).all()
        falls = np.append(c[:-1] - c[1:], 0)
        assert found.fall == (np.argmax(falls) + 1 if falls.max() > 0 else 0)
        level = np.array([np.abs(rs[s] @ Z[:, i]) for s, i in enumerate(path.support[: len(rs)])])
        level[: len(forced)] = np.nan
        if not step:
            others = np.setdiff1d(np.arange(6), S)
            level = np.append(level, np.abs(rs[-1] @ Z[:, others]).max())
        np.testing.assert_allclose(found.level, level, rtol=1e-9)
        np.testing.assert_allclose(found.ratio, c / level, rtol=1e-9)
        x, z, A, Aj = Z[:, j], off(Z[:, S], Z[:, j]), Z[:, S], Z[:, [*S, j]]
        assert found.left == pytest.approx(z @ z / (x @ x), rel=1e-9)
        b = np.linalg.lstsq(A, x, rcond=None)[0]
        scale = np.sqrt(np.average((X - intercept * np.average(X, axis=0, weights=weights)) ** 2, axis=0,
                                   weights=weights)) if standardize else np.ones(6)  # fmt: skip
        np.testing.assert_allclose(found.regression, b * scale[j] / scale[S], rtol=1e-7, atol=1e-9)
        np.testing.assert_allclose(found.shares, b * (A.T @ x) / (x @ x), atol=1e-9)
        assert found.shares.sum() == pytest.approx(1 - found.left, abs=1e-12)
        assert found.r2 == pytest.approx(r2(A, t), abs=1e-12)
        assert found.gain == pytest.approx(r2(Aj, t) - r2(A, t), abs=1e-12)
        assert found.partial_r2 == pytest.approx((r2(Aj, t) - r2(A, t)) / (1 - r2(A, t)), abs=1e-10)
        if step and j not in forced:
            length = 1.0 if method != "ols" else np.linalg.norm([off(A, Z[:, i]) for i in range(6)], axis=1)
            with np.errstate(all="ignore"):
                score = np.abs(rs[-1] @ Z) / length
            score[[*S, j]] = 0
            assert found.runner_up == np.argmax(score)
            assert found.margin == pytest.approx(path.margin[step - 1])
        else:
            assert (found.runner_up, np.isnan(found.margin)) == (-1, True)


class TestSentences:
    X, y = design()
    path = sl.omp(sl.Problem(X, y, names=NAMES, intercept=True), 3)
    problem = sl.Problem(X, y, names=NAMES, intercept=True)

    def test_a_feature_that_was_selected(self):
        for step, j in enumerate(self.path.support.tolist()):
            found = explain(self.problem, self.path, NAMES[j])
            assert str(found) == found.sentence == str(explain(self.X, self.y, self.path, j))
            begin = f"{NAMES[j]} entered at step {step + 1} of 3 because its |c| = "
            runner_up, less = NAMES[found.runner_up], 100 * self.path.margin[step]
            following = f" was the largest (next: {runner_up}, {less:.3g} % less)"
            assert found.sentence.startswith(f"{begin}{self.path.lam_star[step]:.4g}{following}")
            assert found.sentence.endswith(f"R² rose from {found.r2:.4g} to {found.r2 + found.gain:.4g}.")

    def test_one_that_the_selected_features_determine(self):
        assert "ldl" in {NAMES[j] for j in self.path.support}
        found = explain(self.problem, self.path, "bmi")
        rest = 100 * (1 - found.left)
        assert found.sentence.startswith("bmi was not selected in 3 steps: its |c| was ")
        assert f"{100 * found.ratio[0]:.3g} % of ldl's at step 1" in found.sentence
        assert f"it fell most at step {found.fall}, when ldl entered" in found.sentence
        assert f"explain {rest:.3g} % of its variance, mainly ldl (" in found.sentence
        assert f"would raise R² by {found.gain:.3g}, from {found.r2:.4g}" in found.sentence
        assert len(found.sentence.split(". ")) == 1

    def test_one_that_was_forced(self):
        path = sl.omp(self.X, self.y, 3, forced=[2, 3])
        text = str(explain(self.X, self.y, path, 3))
        assert text.startswith(
            "x3 was forced: it is in S from the start, as feature 2; with it R² rose from "
        )

    def test_orthogonal_least_squares_compares_quotients(self):
        path = sl.ols(self.X, self.y, 4, intercept=True)
        texts = [str(explain(self.X, self.y, path, j)) for j in path.support]
        assert any("because its |c|/‖P_S^⊥X‖ (|c| = " in text for text in texts)

    def test_the_next_to_be_selected(self):
        longer = sl.omp(self.problem, 4)
        found = explain(self.problem, self.path, int(longer.support[3]))
        assert "is now the largest remaining one" in found.sentence
        assert found.level[-1] == pytest.approx(longer.lam_star[3])

    def test_attention_weights(self):
        path = sl.sequential_attention(self.problem, 2)
        j = int(path.support[1])
        found = explain(self.problem, path, j)
        weight = np.abs(path.weights[1])
        others = np.where(np.isin(np.arange(6), path.support), 0, weight)
        assert found.runner_up == np.argmax(others)
        assert f"because its attention weight, {weight[j]:.4g}, was the largest" in found.sentence

    def test_shares_beyond_the_ends_of_percentages(self):
        from sparselin.explanations.words import percent, relative

        assert [percent(x) for x in (0.0, 1e-6, 0.5, 0.99999, 1.0, 1.2, 25.0)] == [
            "0 %", "less than 0.01 %", "50 %", "more than 99.9 %", "100 %", "120 %", "2.5e+03 %",
        ]  # fmt: skip
        assert [relative(x, "it") for x in (0.5, 2.69)] == ["50 % of it", "2.69 times it"]


class TestDependence:
    X = np.array(
        [
            [1.0, 0.0, 1.0, 1.0, 0.0, 0.0],
            [0.0, 1.0, 0.0, 1.0, 0.0, 0.0],
            [1.0, 1.0, 1.0, 2.0, 0.0, 0.0],
            [0.0, 0.0, 0.0, 0.0, 0.0, 5.0],
        ]
    )  # x2 = x0, x3 = x0 + x1, x4 = 0, x5 is orthogonal to the others
    y = np.array([3.0, 1.0, 4.0, 0.0])

    def test_a_tie_between_copies(self):
        path = sl.omp(self.X[:, [0, 2, 5]], self.y, 1)
        won, lost = (explain(self.X[:, [0, 2, 5]], self.y, path, j) for j in (0, 1))
        assert (won.tied, won.margin, won.runner_up) == ((1,), 0.0, 1)
        assert "in a tie: the |c| of x0 and x1 agree up to rounding" in won.sentence
        assert "x0 has the lowest index of them" in won.sentence
        assert "at step 1 it was tied with x0, which was selected" in lost.sentence
        span = "up to rounding it lies in the span of the selected features, mainly x0 (100 %)"
        assert span in lost.sentence
        assert (lost.left, lost.gain, lost.partial_r2) == (0.0, 0.0, 0.0)
        np.testing.assert_allclose(lost.regression, [1.0])

    def test_a_tie_of_which_the_lasso_takes_a_part(self):
        """T = {0, 1, 2, 3}, where A(S) = {2}: X_2 = (X_1 + 2X_3 − …)."""
        X = np.array([[-1.0, 1, -1, 1], [0, 1, 0, 1], [1, 1, 0, 1], [1, -1, 0, -1], [-1, 1, -1, 1]])
        y = np.array([2.0, -2, 1, -1, 2])
        path = sl.sequential_lasso(X, y, 1)
        found = explain(X, y, path, 2)
        assert (path.ties, path.active_sets, found.tied) == (((0, 1, 2, 3),), ((2,),), (0, 1, 3))
        assert "x0, x1, x2 and x3 agree up to rounding" in found.sentence
        assert "only x2 becomes nonzero in the LASSO; R²" in found.sentence
        # the same, and a copy of that column
        X = np.column_stack([X, X[:, 2]])
        found = explain(X, y, sl.sequential_lasso(X, y, 1), 2)
        tie = "only x2 and x4 become nonzero in the LASSO, where x2 has the lowest index; R²"
        assert tie in found.sentence

    def test_a_column_in_the_span(self):
        path = sl.omp(self.X, self.y, 2)
        inside = [j for j in (0, 1, 2, 3) if j not in path.support]
        for j in inside:
            found = explain(self.X, self.y, path, j)
            assert found.left == 0
            assert "up to rounding it lies in the span of the selected features" in found.sentence
            b = np.linalg.lstsq(self.X[:, path.support], self.X[:, j], rcond=None)[0]
            np.testing.assert_allclose(found.regression, b, atol=1e-12)
            assert found.shares.sum() == pytest.approx(1)

    def test_a_zero_column_and_a_constant_one(self):
        found = explain(self.X, self.y, sl.omp(self.X, self.y, 2), 4)
        never = "its column is zero up to rounding, so it is never selected."
        assert str(found) == f"x4 was not selected: {never}"
        assert not found.correlation.any()
        X = np.column_stack([self.X[:, :1], np.full(4, 7.3)])
        path = sl.omp(X, self.y, 1, intercept=True)
        assert "its column is constant up to rounding" in str(explain(X, self.y, path, 1))
        forced = sl.omp(X, self.y, 2, intercept=True, forced=[1])
        constant = "its column is constant up to rounding, so its coefficient is zero"
        assert constant in str(explain(X, self.y, forced, 1))

    def test_a_forced_column_in_the_span(self):
        path = sl.omp(self.X, self.y, 3, forced=[0, 2])
        found = explain(self.X, self.y, path, 2)
        span = "its column lies in the span of the features before it up to rounding"
        assert f"{span}, so its coefficient is zero" in str(found)
        later = explain(self.X, self.y, path, 3)
        np.testing.assert_allclose(self.X[:, path.support] @ later.regression, self.X[:, 3], atol=1e-12)
        assert later.regression[1] == 0

    def test_y_orthogonal_to_a_column_and_to_all(self):
        found = explain(self.X, self.y, sl.omp(self.X, self.y, 1), 5)
        assert "is now zero up to rounding" in found.sentence
        assert "would not raise R²" in found.sentence
        e = np.array([1.0, 1.0, -1.0, 0.0])
        path = sl.omp(self.X, e, 2)
        assert path.status is sl.Status.NO_CORRELATION
        assert f"because no feature was: {path.status.message}" in str(explain(self.X, e, path, 5))

    def test_a_correlation_that_is_rounding_does_not_fall(self):
        rng = np.random.default_rng(7)
        for _ in range(5):
            X, y = rng.standard_normal((9, 4)), rng.standard_normal(9)
            X[:, 3] = off(np.column_stack([X[:, :3], y]), X[:, 3])
            found = explain(X, y, sl.omp(X, y, 3), 3)
            assert found.correlation.max() > 0
            assert (found.correlation <= found.error).all()
            assert (found.fall, found.gain) == (0, 0.0)
            assert "fell" not in found.sentence

    def test_y_that_is_fitted(self):
        path = sl.omp(self.X, self.y, 4)
        assert "y is already fitted up to rounding" in str(explain(self.X, self.y, path, 5))
        assert explain(self.X, self.y, path, 5).r2 == 1

    def test_y_that_is_zero(self):
        path = sl.omp(self.X, 0 * self.y, 2)
        found = explain(self.X, 0 * self.y, path, 1)
        assert "because no feature was" in found.sentence
        assert (found.r2, found.gain) == (0.0, 0.0)


class TestSets:
    X, y = design(6)

    @pytest.mark.parametrize("intercept", [False, True])
    @pytest.mark.parametrize("weighted", [False, True])
    def test_the_numbers_of_every_feature(self, intercept, weighted):
        weights = np.arange(1.0, 31.0) if weighted else None
        found = sl.best_subset(self.X, self.y, 3, intercept=intercept, sample_weight=weights)
        Z, t = prepared(self.X, self.y, intercept, False, weights)
        for j in range(6):
            answer = explain(self.X, self.y, found, j, sample_weight=weights)
            S = [i for i in found.support if i != j]
            here, more = r2(Z[:, S], t), r2(Z[:, [*S, j]], t)
            assert (answer.kind, answer.given.tolist(), answer.step > 0) == ("set", S, j in found.support)
            assert answer.r2 == pytest.approx(here, abs=1e-11)
            assert answer.gain == pytest.approx(more - here, abs=1e-11)
            none = "no set of 3 features that contains the forced ones (if any) has a larger R²"
            assert none in str(answer)
            if j in found.support:
                others = {i: r2(Z[:, [*S, i]], t) for i in range(6) if i not in found.support}
                best = max(others, key=others.get)
                assert answer.runner_up == best
                assert answer.margin == pytest.approx((more - others[best]) / (more - here), rel=1e-6)
                fall = f"without it R² would fall by {more - here:.3g}, from {more:.4g}"
                assert f"{fall}; its best replacement is x{best}" in str(answer)
            else:
                assert f"x{j} was not selected: the selected features explain " in str(answer)
                assert f"would raise R² by {more - here:.3g}" in str(answer)

    def test_other_sets(self):
        X, y = sl.ensembles.gaussian(40, 60, rng=0)
        first = sl.best_subset(X, y, 10, time_limit=0)
        assert not first.optimal
        most = 1 - first.lower_bound / (y @ y)
        assert f"a set of 10 features may reach R² = {most:.4g}" in str(explain(X, y, first, 0))
        none = explain(X, 0 * y, sl.best_subset(X, 0 * y, 3), 0)
        assert str(none) == "x0 was not selected: adding it now would not raise R² = 0, up to rounding."
        swapped = sl.swaps(self.X, self.y, 3, intercept=True)
        j = swapped.support[0]
        begin = f"x{j} is one of the 3 selected features: without it R²"
        assert str(explain(self.X, self.y, swapped, j)).startswith(begin)
        by_g = sl.forward_regression(self.X, self.y, 3, regularizer=sl.spectral.SpectralVariance(), nu=1e-3)
        assert "selected for R² + ν·f, not for R² alone" in str(explain(self.X, self.y, by_g, 0))

    def test_sets_with_restrictions(self):
        found = sl.best_subset(self.X, self.y, 2, groups=[0, 0, 1, 1, 2, 2])
        for j in range(6):
            answer = str(explain(self.X, self.y, found, j))
            assert answer.endswith("; the set was selected with groups.")
            assert "has a larger R²" not in answer
        shrunken = sl.best_subset(self.X, self.y, 2, ridge=3.0)
        with pytest.raises(ValueError, match="its coefficients are not those of least squares on the data"):
            explain(self.X, self.y, shrunken, 0)

    def test_what_is_refused(self):
        found = sl.best_subset(self.X, self.y, 2)
        with pytest.raises(ValueError, match="its coefficients are not those of least squares on the data"):
            explain(self.X, self.y + 1e-6, found, 0)
        with pytest.raises(TypeError, match=r"for a NuChoice, pass its `selection`\); got Stab"):
            explain(self.X, self.y, sl.stability_selection(self.X, self.y, 2, rng=0), 0)


class TestForms:
    X, y = design(9)

    def same(self, found, other, rtol):
        assert (found.step, found.given.tolist()) == (other.step, other.given.tolist())
        for field in ("correlation", "left", "gain", "r2", "shares"):
            one, two = getattr(found, field), getattr(other, field)
            np.testing.assert_allclose(one, two, rtol=rtol, atol=rtol * (np.abs(two).max(initial=0)))

    @pytest.mark.parametrize("j", range(6))
    def test_sparse_float32_frames_and_gram_matrices(self, j):
        pandas = pytest.importorskip("pandas")
        for method in (lambda *data, **options: sl.omp(*data, 3, **options), sl.lasso_path):
            plain = explain(self.X, self.y, method(self.X, self.y), j)
            for data, rtol in (
                ((sparse.csr_array(self.X), self.y), 1e-9),
                ((pandas.DataFrame(self.X, columns=NAMES), self.y), 1e-12),
                ((sl.Problem.from_gram(self.X.T @ self.X, self.X.T @ self.y, self.y @ self.y), None), 1e-5),
            ):
                self.same(explain(*data, method(*data), j), plain, rtol)
        X, y = self.X.astype(np.float32), self.y.astype(np.float32)
        path = sl.omp(X, y, 3)
        self.same(explain(X, y, path, j), explain(self.X, self.y, sl.omp(self.X, self.y, 3), j), 1e-3)
        self.same(explain(X.astype(float), y.astype(float), path, j), explain(X, y, path, j), 1e-3)

    def test_the_rounding_errors_are_bounded(self, rng):
        """Columns with a large mean and an intercept, against rational arithmetic."""
        X = 1e6 + rng.standard_normal((9, 5))
        y = 1e3 + rng.standard_normal(9)
        path = sl.omp(X, y, 3, intercept=True)
        columns, chosen = fractions(X.T), [[Fraction(1)] * 9]
        found = {j: explain(X, y, path, j) for j in range(5)}
        for s, pick in enumerate([*path.support.tolist(), None]):
            r = residual(chosen, fractions(y))
            for j in range(5):
                c = abs(float(dot(columns[j], r)))
                if s < len(found[j].correlation):
                    assert abs(found[j].correlation[s] - c) <= found[j].error[s] <= 1e-6
            if pick is not None:
                chosen.append(columns[pick])


class TestWhatIsRefused:
    X, y = design(4)
    path = sl.omp(X, y, 3)

    @pytest.mark.parametrize("method", [lambda *data, **options: sl.omp(*data, 3, **options), sl.lasso_path])
    def test_other_data(self, method):
        path = method(self.X, self.y)
        weights = np.arange(1.0, 31.0)
        belongs = "path does not belong to X and y: .* that of the data is"
        refuses(belongs, explain, self.X, self.y + 1e-9, path, 0)
        refuses("sample_weight", explain, self.X, self.y, path, 0, sample_weight=weights)
        other = self.X.copy()
        other[:, 4] *= 1 + 1e-8  # the span of the columns is the same
        refuses("path does not belong to X and y", explain, other, self.y, path, 0)
        weighted = method(self.X, self.y, sample_weight=weights)
        assert explain(self.X, self.y, weighted, 0, sample_weight=weights)

    def test_other_kinds_of_problems(self):
        for word, option in (("intercept", "intercept"), ("standardization", "standardize")):
            other = sl.Problem(self.X, self.y, **{option: True})
            refuses(f"its {word} is False, that of the data is True", explain, other, self.path, 0)
        fewer = "its number of features is 6, that of the data is 5"
        refuses(fewer, explain, self.X[:, :5], self.y, self.path, 0)

    def test_no_path_no_feature(self):
        kinds = r"path must be a SelectionPath, .* or SubsetResult .*; got ndarray"
        refuses(kinds, explain, self.X, self.y, self.path.support, 0, error=TypeError)
        refuses(r"feature must hold column indices in 0\.\.5; got 6", explain, self.X, self.y, self.path, 6)
        refuses("feature", explain, self.X, self.y, self.path, "bmi", error=TypeError)
        for wrong in (None, ["bmi"], True):
            one = "the name or the index of one feature"
            refuses(one, explain, self.X, self.y, self.path, wrong, error=TypeError)
        named = sl.omp(sl.Problem(self.X, self.y, names=NAMES), 2)
        refuses("there is no column 'bmy'", explain, self.X, self.y, named, "bmy")
        assert explain(self.X, self.y, named, "bmi").feature == 1
