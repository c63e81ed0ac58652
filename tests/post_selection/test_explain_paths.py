"""Explanations of the LASSO, of the gradient flow, of nonnegative selection and of generalized models."""

import itertools

import numpy as np
import pytest
from explained import design, off, prepared, r2
from refusals import refuses
from scipy import sparse

import sparselin as sl
from sparselin import explain


class TestLasso:
    X, y = design(5)
    options = {"intercept": True, "standardize": True}  # noqa: RUF012

    @pytest.mark.parametrize("options", [{}, options], ids=["plain", "standardized"])
    @pytest.mark.parametrize("lam_min", [0.0, 3.0])
    def test_the_numbers(self, options, lam_min):
        path = sl.lasso_path(self.X, self.y, lam_min=lam_min, **options)
        Z, t = prepared(self.X, self.y, bool(options), bool(options), None)
        scale = self.X.std(axis=0) if options else np.ones(6)
        for j in range(6):
            found = explain(self.X, self.y, path, j)
            knots = path.knots[path.knots > 0]
            c = [abs(Z[:, j] @ (t - Z @ (path.at(lam) * scale))) for lam in knots]
            np.testing.assert_array_equal(found.level, knots)
            np.testing.assert_allclose(found.correlation, c, atol=1e-10 * path.knots[0])
            for lam, ratio in zip(knots, found.ratio, strict=True):
                inside = any(high >= lam >= low for high, low in found.intervals)
                assert ratio == pytest.approx(1, abs=1e-7) if inside else ratio < 1 + 1e-7
            for a, b in itertools.pairwise(path.knots):
                inside = any(high >= a and b >= low for high, low in found.intervals)
                assert bool(path.at((a + b) / 2)[j]) == inside
            if found.intervals:
                assert path.knots[found.step - 1] == found.intervals[0][0]
                assert found.sentence.startswith(f"x{j} entered at λ = {found.intervals[0][0]:.4g} (knot ")
            x, A = Z[:, j], Z[:, found.given]
            assert found.left == pytest.approx(np.sum(off(A, x) ** 2) / (x @ x), rel=1e-9)
            assert found.gain == pytest.approx(r2(np.column_stack([A, x]), t) - r2(A, t), abs=1e-12)

    def test_what_stays_at_zero(self):
        path = sl.lasso_path(self.X, self.y, lam_min=3.0, **self.options)
        (j,) = [j for j in range(6) if not path.coef[:, j].any()][:1]
        found = explain(self.X, self.y, path, j)
        assert (found.step, found.intervals) == (0, ())
        most = f"at most {100 * found.ratio.max():.3g} % of λ"
        assert f"x{j} stays at zero down to λ = 3: its |c| is always below λ ({most}, " in str(found)
        assert found.given.tolist() == np.flatnonzero(path.coef[-1]).tolist()

    def test_what_leaves_and_what_comes_again(self):
        X, y = sl.ensembles.gaussian(8, 6, rng=1)
        again = explain(X, y, sl.lasso_path(X, y), 0)
        (first, left), (second, end) = again.intervals
        assert first > left > second > end == 0
        assert f"left at λ = {left:.4g}; it is nonzero again from λ = {second:.4g} to 0" in str(again)
        X, y = sl.ensembles.gaussian(5, 8, rng=5)
        gone = explain(X, y, sl.lasso_path(X, y), 0)
        assert str(gone).endswith(f"and left at λ = {gone.intervals[0][1]:.4g}.")

    def test_copies_forced_and_nothing(self):
        X = np.column_stack([self.X[:, :2], self.X[:, 0], 0 * self.y])
        copy = explain(X, self.y, sl.lasso_path(X, self.y), 2)
        assert "its |c| first reaches λ, up to rounding, at λ = " in str(copy)
        one = explain(X[:, [0, 2]], self.y, sl.lasso_path(X[:, [0, 2]], self.y), 1)
        assert "its |c| first reaches λ, up to rounding, at λ = " in str(one)
        assert ", but there are solutions without it" in str(one)
        assert "it lies in the span of the features nonzero at the end, mainly x0 (100 %)" in str(copy)
        path = sl.lasso_path(X, self.y, forced=[1])
        forced = explain(X, self.y, path, 1)
        assert forced.forced
        assert "x1 was forced, so it has no penalty" in str(forced)
        assert str(explain(X, self.y, path, 3)) == "x3 stays at zero: its column is zero up to rounding."
        path = sl.lasso_path(X, self.y, forced=[0, 3, 2])
        assert [explain(X, self.y, path, j).forced for j in range(4)] == [True, False, True, True]
        no_effect = "up to rounding, so its coefficient is zero."
        assert str(explain(X, self.y, path, 3)).endswith(f"its column is zero {no_effect}")
        span = "its column lies in the span of the features forced before it"
        assert str(explain(X, self.y, path, 2)).endswith(f"{span} {no_effect}")
        none = sl.lasso_path(X, 0 * self.y)
        assert "no feature is correlated with the residual (λ* = 0)" in str(explain(X, 0 * self.y, none, 0))


class TestFlow:
    X, y = design(5)
    weight = np.linspace(1, 3, len(y))

    @pytest.mark.parametrize(
        "options", [{}, TestLasso.options | {"sample_weight": weight}], ids=["plain", "all"]
    )
    @pytest.mark.parametrize("more", [{}, {"max_events": 3}, {"restart": True}], ids=["", "cut", "restart"])
    def test_the_numbers(self, options, more):
        path = sl.gradient_flow(self.X, self.y, **options, **more)
        weight = options.get("sample_weight")
        Z, t = prepared(self.X, self.y, bool(options), bool(options), weight)
        for j in range(6):
            found = explain(self.X, self.y, path, j, sample_weight=weight)
            np.testing.assert_array_equal(found.correlation, np.abs(path.s[:, j]))
            np.testing.assert_array_equal((found.level, found.error), (np.ones(len(path)), path.s_error))
            inside = [any(a <= tau < b for a, b in found.intervals) for tau in path.tau]
            cut = path.end == path.tau[-1]
            assert inside[: len(path) - cut] == [j in support for support in path.supports][: len(path) - cut]
            entries = [path.tau.tolist().index(first) + 1 for first, _ in found.intervals]
            assert found.step == (entries[0] if entries else 0)
            x, A = Z[:, j], Z[:, found.given]
            assert found.gain == pytest.approx(r2(np.column_stack([A, x]), t) - r2(A, t), abs=1e-12)
            if found.step:
                before = np.flatnonzero(path.coef[found.step - 2]) if found.step > 1 else ()
                assert set(found.given) == set(before)
                assert f"(event {found.step} of {len(path)}, where its |s| reached 1)" in str(found)

    def test_the_sentences(self):
        X = np.array([[2.0, 0.6, 0.0, 0.5], [0.0, 0.1, 0.0, 0.0]])
        y = np.linalg.solve(X[:, :2].T, [1.0, 0.9])
        path = sl.gradient_flow(X, y)
        assert str(explain(X, y, path, 0)) == (
            "x0 entered at τ = 1 (event 1 of 3, where its |s| reached 1) and left at τ = 1.167; it is "
            "nonzero again from τ = 2.209 on; at the end of the path its coefficient is -17.75."
        )
        assert str(explain(X, y, path, 2)) == "x2 stays at zero: its column is zero up to rounding."
        small = "x3 stays at zero: its |s| is always below 1 (at most 0.25, at τ = "
        assert str(explain(X, y, path, 3)).startswith(small)
        forced = explain(X, y, sl.gradient_flow(X, y, forced=[1]), 1)
        assert str(forced).startswith("x1 was forced, so it has no penalty; its coefficient is ")
        none = explain(X, 0 * y, sl.gradient_flow(X, 0 * y), 0)
        rest = "because no feature is correlated with the residual, so the flow is at rest."
        assert str(none).endswith(rest)
        beaten = np.array([[1.0, 1.0], [0.0, 0.9]])  # both reach 1 at once, and the second leaves the face
        zero = explain(beaten, [1.0, 0.0], sl.gradient_flow(beaten, [1.0, 0.0]), 1)
        assert "reaches 1, up to rounding, at τ = 1, but its coefficient stays zero" in str(zero)
        refuses("path does not belong to X and y: at τ = ", explain, X, y + 1, path, 0)


class TestNonnegative:
    """Paths over β ≥ 0 are explained only if they follow least squares."""

    X = np.column_stack([np.eye(3), [0.1, -0.9, 0.1]])
    y = np.array([3.0, 1.0, -4.0])

    def test_selections_compare_c_with_its_sign(self):
        path = sl.omp(self.X, self.y, 2, positive=True)
        assert path.support.tolist() == [0, 1]
        found = explain(self.X, self.y, path, 0)
        assert found.runner_up == 1
        first = "x0 entered at step 1 of 2 because its c = 3 was the largest (next: x1, 66.7 % less)"
        assert first in str(found)
        last = str(explain(self.X, self.y, path, 1))
        assert "c = 1 was the largest (no other feature was positively correlated with the residual)" in last

    def test_what_is_not_selected_has_a_c_with_its_sign(self):
        X = np.column_stack([self.X[:, :3], [-0.2, 0.5, 0.5], [0.1, 0.1, 0.0]])
        path = sl.omp(X, self.y, 1, positive=True)
        negative, below, third = (explain(X, self.y, path, j) for j in (2, 3, 4))
        np.testing.assert_allclose(negative.correlation, [-4.0, -4.0])
        np.testing.assert_allclose(negative.level, [3.0, 1.0])
        for found in (negative, below):
            assert "its c was negative at step 1, and is now negative; " in str(found)
            assert str(found).endswith("; with β ≥ 0 adding it now would not raise R².")
        course = "its c was 13.3 % of x0's at step 1, and is now 10 % of the largest remaining one"
        assert f"{course}; it fell most" in str(third)
        assert "would raise R² by at most " in str(third)

    def test_where_a_coefficient_was_set_to_zero_there_is_no_explanation(self):
        X, y = sl.ensembles.gaussian(6, 5, rng=2)
        path = sl.omp(X, y, 4, positive=True)
        assert (path.coef == 0).sum() == 1
        refuses("If `positive=True` set a coefficient to zero", explain, X, y, path, 0)

    def test_the_lasso_compares_c_with_its_sign(self):
        path = sl.lasso_path(self.X, self.y, positive=True)
        found = explain(self.X, self.y, path, 2)
        np.testing.assert_allclose(found.correlation, [-4.0] * len(found.level))
        assert "x2 stays at zero down to λ = 0: its c is never positive, and the path has β ≥ 0" in str(found)
        small = np.column_stack([self.X, [0.0, 1.0, 0.2]])  # its c: 0.2, then −0.8 at the end
        found = explain(small, self.y, sl.lasso_path(small, self.y, positive=True), 4)
        assert "its c is always below λ (at most 20 % of λ, at λ = 1)" in str(found)
        none = sl.lasso_path(-np.eye(3), [1.0, 2.0, 3.0], positive=True)
        correlated = "no feature is positively correlated with the residual (λ* = 0)"
        assert correlated in str(explain(-np.eye(3), [1.0, 2.0, 3.0], none, 0))


def fitted(A, y, w, loss):
    """Scores w∘(y − μ) and the deviance at the maximum of the likelihood, by Newton's method as printed."""
    b = np.zeros(A.shape[1])
    for _ in range(60):
        eta = A @ b
        mu = 1 / (1 + np.exp(-eta)) if loss == "logistic" else np.exp(eta)
        v = mu * (1 - mu) if loss == "logistic" else mu
        step = np.linalg.solve(A.T * (w * v) @ A, A.T @ (w * (y - mu)))
        b += step / max(1.0, np.abs(A @ step).max())
    t = np.log(np.where(y > 0, y, 1.0))
    if loss == "logistic":
        return w * (y - mu), -2 * w @ np.log(np.where(y > 0, mu, 1 - mu))
    return w * (y - mu), 2 * w @ np.where(y > 0, y * (t - eta) - (y - mu), mu)


class TestGeneralized:
    @staticmethod
    def data(loss):
        rng = np.random.default_rng(11)
        X = rng.standard_normal((60, 6)) * [1, 2, 0.5, 1, 3, 1] + [1, 0, -2, 1, 0, 3]
        X[:, 4] = X[:, 0] + 0.3 * X[:, 4]
        eta = X[:, 0] - 0.4 * X[:, 1] - 1
        y = rng.random(60) < 1 / (1 + np.exp(-eta)) if loss == "logistic" else rng.poisson(np.exp(eta / 2))
        return X, y.astype(float), rng.random(60) + 0.5

    @pytest.mark.parametrize("loss", ["logistic", "poisson"])
    @pytest.mark.parametrize(
        ("weighted", "standardize", "forced"), [(False, False, ()), (True, True, (3,)), (True, False, ())]
    )
    def test_the_numbers_of_every_feature(self, loss, weighted, standardize, forced):
        X, y, w = self.data(loss)
        w = w if weighted else np.ones(60)
        weight = w if weighted else None
        path = sl.generalized_omp(
            X,
            y,
            3,
            loss=loss,
            intercept=True,
            standardize=standardize,
            forced=forced,
            sample_weight=weight,
        )
        Z = (
            X
            / np.sqrt(np.average((X - np.average(X, axis=0, weights=w)) ** 2, axis=0, weights=w))
            ** standardize
        )
        models = [
            fitted(np.column_stack([np.ones(60), X[:, path.support[:s]]]), y, w, loss) for s in range(4)
        ]
        null = models[0][1]
        for j in range(6):
            found = explain(X, y, path, j, sample_weight=weight)
            place = np.flatnonzero(path.support == j)
            step = place[0] + 1 if len(place) else 0
            S = path.support[: step - 1] if step else path.support
            assert (found.feature, found.step, found.forced) == (j, step, j in forced)
            assert found.given.tolist() == S.tolist()
            scores = np.abs([models[s][0] @ Z for s in range(len(S) + 1)])
            size = np.linalg.norm(Z, axis=0).max() * np.linalg.norm(w * y)
            np.testing.assert_allclose(found.correlation, scores[:, j], atol=1e-10 * size)
            assert (np.abs(found.correlation - scores[:, j]) <= found.error + 1e-13 * size).all()
            assert (found.error <= 1e-9 * size).all()
            d2 = 1 - models[len(S)][1] / null
            more = 1 - fitted(np.column_stack([np.ones(60), X[:, [*S, j]]]), y, w, loss)[1] / null
            assert found.r2 == pytest.approx(d2, abs=1e-11)
            assert found.gain == pytest.approx(more - d2, abs=1e-11)
            assert found.partial_r2 == pytest.approx((more - d2) / (1 - d2), abs=1e-10)
            level = np.array([scores[s, i] for s, i in enumerate(path.support[: len(scores)])])
            level[: len(forced)] = np.nan
            if not step:
                level = np.append(level, scores[-1][np.setdiff1d(np.arange(6), S)].max())
                assert f"x{j} was not selected in 3 steps: its |c| was " in str(found)
                assert str(found).endswith(
                    f"adding it now would raise D² by {found.gain:.3g}, from {d2:.4g}."
                )
            np.testing.assert_allclose(found.level, level, rtol=1e-8)
            if step and j not in forced:
                others = np.where(np.isin(np.arange(6), path.support[:step]), 0, scores[-1])
                assert found.runner_up == np.argmax(others)
                runner_up = f"x{found.runner_up}, {100 * path.margin[step - 1]:.3g} % less); D² rose"
                assert runner_up in str(found)
            centred = Z - np.average(Z, axis=0, weights=w)
            A, x = centred[:, S] * np.sqrt(w)[:, None], centred[:, j] * np.sqrt(w)
            assert found.left == pytest.approx(np.sum(off(A, x) ** 2) / (x @ x), rel=1e-9)

    def test_separated_and_dependent_features(self):
        X, y, _ = self.data("logistic")
        X[:, 5] = (2 * y - 1) * (1 + X[:, 5] ** 2) + 5e-3 * X[:, 1]
        X[:, 3] = X[:, 0]
        path = sl.generalized_omp(X, y, 3, loss="logistic", intercept=True, forced=[0])
        assert (path.status, path.unfitted) == (sl.Status.NO_MINIMUM, (5,))
        found = explain(X, y, path, 5)
        assert np.isnan(found.gain)
        separated = "; adding it would separate the data, and the likelihood would have no maximum."
        assert str(found).endswith(separated)
        assert "is now the largest remaining one" in str(found)
        copy = explain(X, y, path, 3)
        assert (copy.left, copy.gain) == (0.0, 0.0)
        assert "it lies in the span of the selected features, mainly x0 (100 %)" in str(copy)

    def test_forms_and_what_is_refused(self):
        X, y, w = self.data("poisson")
        options = {"loss": "poisson", "intercept": True}
        path = sl.generalized_omp(X, y, 3, **options)
        plain = explain(X, y, path, 5)
        for other in (sparse.csr_array(X), X.astype(np.float32)):
            found = explain(other, y, sl.generalized_omp(other, y, 3, **options), 5)
            assert found.gain == pytest.approx(plain.gain, rel=1e-3)
        changed = X.copy()
        changed[:, path.support[0]] *= 1 + 1e-8
        for data, weight in (((X, y + 1), None), ((changed, y), None), ((X, y), w)):
            words = r"path does not belong to X and y: after \d features its deviance"
            refuses(words, explain, *data, path, 5, sample_weight=weight)
        problem = sl.Problem(X, y, intercept=True)
        refuses("pass X and y in place of the Problem", explain, problem, path, 5, error=TypeError)

    def test_labels_are_those_of_the_path(self):
        X, y, _ = self.data("logistic")
        labels = np.where(y == 1, "yes", "no")
        numbers = explain(X, y, sl.generalized_omp(X, y, 2, loss="logistic"), 3)
        path = sl.generalized_omp(X, labels, 2, loss="logistic")
        found = explain(X, labels, path, 3)
        assert found.sentence == numbers.sentence
        np.testing.assert_array_equal(found.correlation, numbers.correlation)
        labels[7] = "new"
        refuses("its labels are .'no', 'yes'., y also has 'new'", explain, X, labels, path, 3)
