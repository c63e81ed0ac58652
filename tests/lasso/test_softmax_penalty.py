import sys

import numpy as np
import pytest
from flint import arb, arb_mat, ctx
from hypothesis import example, given
from hypothesis import strategies as st
from refusals import refuses

from sparselin import plots
from sparselin.attention.softmax_penalty import q, softmax_penalty
from sparselin.plots.penalty import penalty_contours

implementation = sys.modules["sparselin.attention.softmax_penalty"]
EPS = np.finfo(float).eps

# |β_i| from 1e-8 to 1e8 and zeros, mixed in one vector.
MAGNITUDES = st.one_of(st.just(0.0), st.floats(-8, 8).map(lambda e: 10.0**e))
BETAS = st.lists(MAGNITUDES, min_size=1, max_size=7).map(np.array)


def softmax(w):
    e = np.exp(w - w.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def high_precision(x, start):
    """(Q*(x), w) by undamped Newton at 500 bits from a good start, proved by f(w) − Q* ≤ ‖∇f(w)‖²/4.

    f − ‖w‖² is convex, so f is 2-strongly convex: that is the bound, and ‖w − w*‖ ≤ ‖∇f(w)‖/2 another.
    """
    m, x, w = len(x), [arb(float(v)) for v in x], [arb(float(v)) for v in start]
    for _ in range(30):
        w = [v.mid() for v in w]
        e = [v.exp() for v in w]
        s = [v / sum(e) for v in e]
        p = [v / (t * t) for v, t in zip(x, s, strict=True)]
        P = sum(p)
        gradient = [2 * (w[i] + P * s[i] - p[i]) for i in range(m)]
        if sum(float(abs(g)) for g in gradient) < 1e-60:
            return P + sum(v * v for v in w), w
        rows = [[2 * P * s[i] * s[j] - 4 * (s[i] * p[j] + s[j] * p[i]) for j in range(m)] for i in range(m)]
        for i in range(m):
            rows[i][i] += 2 + 2 * P * s[i] + 4 * p[i]
        step = arb_mat(rows).solve(arb_mat([[g] for g in gradient]))
        w = [v - step[i, 0] for i, v in enumerate(w)]
    raise AssertionError("the start is not near the minimum")


@pytest.fixture(autouse=True)
def _bits():
    before, ctx.prec = ctx.prec, 500
    yield
    ctx.prec = before


def check_against_high_precision(x):
    penalty = softmax_penalty(x)
    value, w = high_precision(x, penalty.minimizer)
    assert float(abs(arb(float(penalty.value)) - value)) <= 4 * EPS * float(value)
    scale = max(np.abs(penalty.minimizer).max(), min(1, len(x) ** 2 * x.max()))
    error = max(float(abs(arb(float(a)) - b)) for a, b in zip(penalty.minimizer, w, strict=True))
    assert error <= 4 * EPS * scale


@given(BETAS)
@example(np.zeros(3))
@example(np.array([1.0, 0.0]))
@example(np.array([1e8, 0.0, 1e-8]))
@example(np.array([1e8, 1e8, 0.0, 0.0, 0.0]))
@example(np.full(6, 1e-8))
@example(np.array([1e10, 1e9, 3e10]))
@example(np.array([1e-10, 1e-9, 3e-10]))
def test_value_and_minimizer_are_right_to_a_few_eps_at_every_magnitude(beta):
    check_against_high_precision(beta**2)


@pytest.mark.parametrize("m", [20, 60])
@pytest.mark.parametrize("span", [(-16, 16), (-16, -8), (-3, 3), (8, 16)])
def test_their_errors_do_not_grow_with_m(rng, m, span):
    check_against_high_precision(10 ** rng.uniform(*span, m) * (rng.random(m) < 0.7))


@pytest.mark.parametrize("m", [1000, 100_000])
@pytest.mark.parametrize("k", [1, 2, 500, -1])
@pytest.mark.parametrize("size", [1e-16, 1e-6, 1.0, 1e16])
def test_many_features_of_two_sizes_have_one_unknown(m, k, size):
    """k entries of x are equal and the rest are zero: w is (m − k)a on them and −ka elsewhere."""
    k %= m
    x = np.zeros(m)
    x[:k] = size
    w = softmax_penalty(x).minimizer
    gap = w[0] - w[-1]
    two = np.where(x > 0, (m - k) / m, -k / m) * gap
    np.testing.assert_allclose(w, two, rtol=0, atol=4 * EPS * np.abs(w).max())
    # f = k(m−k)ma² + kx(k + (m−k)e^{−ma})² is stationary at a = x(k + (m−k)e^{−ma})e^{−ma}.
    decay = np.exp(-gap)
    assert gap / m == pytest.approx(size * (k + (m - k) * decay) * decay, rel=1e-12)


@given(st.lists(st.floats(-15, 15), min_size=1, max_size=8).map(np.array))
def test_q_is_the_squared_norm_of_the_centred_logits(w):
    centred = w - w.mean()
    penalty = q(1 / softmax(w) ** 2)
    np.testing.assert_allclose(penalty.minimizer, centred, atol=1e-13 * max(1, np.abs(centred).max()), rtol=0)
    assert penalty.value == pytest.approx(centred @ centred, rel=1e-12, abs=1e-12)


def test_exact_cases():
    assert softmax_penalty([3.5]).value == 3.5
    assert softmax_penalty([0.0, 0.0]).value == 0
    assert not softmax_penalty([0.0, 0.0]).minimizer.any()
    equal = softmax_penalty(np.full(8, 0.3))
    assert equal.value == pytest.approx(8**3 * 0.3, rel=2 * EPS)
    assert not equal.minimizer.any()
    assert q([1.0]).value == 0
    assert not any(q(np.full(m, m * m)).minimizer.any() for m in range(1, 60))


def test_leading_axes_are_a_loop_bit_for_bit(rng):
    x = 10 ** rng.uniform(-16, 16, (4, 3, 5)) * (rng.random((4, 3, 5)) < 0.8)
    penalty = softmax_penalty(x)
    domain = q(1 / softmax(rng.normal(size=(4, 3, 5))) ** 2)
    assert penalty.value.shape == domain.value.shape == (4, 3)
    assert penalty.minimizer.shape == domain.minimizer.shape == (4, 3, 5)
    for i in np.ndindex(4, 3):
        one = softmax_penalty(x[i])
        assert one.value == penalty.value[i]
        np.testing.assert_array_equal(one.minimizer, penalty.minimizer[i])
    assert softmax_penalty(np.empty((0, 3))).value.shape == (0,)
    np.testing.assert_array_equal(softmax_penalty(np.asfortranarray(x)).value, penalty.value)


@pytest.mark.parametrize("function", [softmax_penalty, q])
def test_dtypes_and_inputs_left_alone(function):
    given_dtypes = {
        np.float32: np.float32,
        np.float64: np.float64,
        np.int64: np.float64,
        np.uint8: np.float64,
    }
    for given_dtype, expected in given_dtypes.items():
        data = np.array([[4, 4], [4, 4]], given_dtype)
        data.flags.writeable = False
        result = function(data)
        assert result.value.dtype == result.minimizer.dtype == expected
        assert (data == 4).all()
    data = np.full(2, 4.0)
    assert not np.shares_memory(function(data).minimizer, data)


def test_float32_is_computed_in_float64():
    x = np.array([1e16, 1e-16, 0.1, 0], np.float32)
    exact = softmax_penalty(x.astype(np.float64))
    assert softmax_penalty(x).value == exact.value.astype(np.float32)
    np.testing.assert_array_equal(softmax_penalty(x).minimizer, exact.minimizer.astype(np.float32))
    s = np.array([0.7, 0.2, 0.1], np.float32)
    assert q(s**-2).value == pytest.approx(q(np.array([0.7, 0.2, 0.1]) ** -2).value, rel=1e-6)


BAD_INPUT = [
    ([1.0, np.nan], ValueError, "finite"),
    ([1.0, np.inf], ValueError, "finite"),
    ([4.0, -1.0], ValueError, "-1"),
    ([1.0 + 1j, 4.0], TypeError, "complex"),
    (["a", "b"], TypeError, "real numbers"),
    ([None, 4.0], TypeError, "object"),
    (4.0, ValueError, r"shape \(\)"),
    ([], ValueError, r"shape \(0,\)"),
    (np.empty((3, 0)), ValueError, r"shape \(3, 0\)"),
    ([[4.0], [4.0, 4.0]], ValueError, "rectangular"),
]


@pytest.mark.parametrize("name", ["x", "q"])
@pytest.mark.parametrize(("bad", "error", "words"), BAD_INPUT)
def test_bad_input_is_named(name, bad, error, words):
    refuses(rf"^{name} must .*{words}", {"x": softmax_penalty, "q": q}[name], bad, error=error)


def test_values_beyond_the_float_range_are_refused():
    refuses(r"^x must have m²Σx within the range of float64", softmax_penalty, [1e308, 1e308])
    refuses(r"^x .*float32", softmax_penalty, np.full(2, 1e38, np.float32))
    assert softmax_penalty([1e306, 1e306]).value == pytest.approx(8e306)


def test_a_minimum_that_was_not_reached_is_an_error(monkeypatch):
    monkeypatch.setattr(implementation, "minimize_rows", lambda x, value, w: 1)
    with pytest.raises(RuntimeError, match=r"did not converge for x = \[3\. 4\.\]"):
        softmax_penalty([[1.0, 2.0], [3.0, 4.0]])


def test_q_names_the_way_into_its_domain():
    outside = np.array([[2.0, 5.0, 9.0], [4.0, 4.0, 4.0]])
    words = r"^q must be 1/softmax.* off by 0\.5\..*q \* \(q\*\*-0\.5\)"
    with pytest.raises(ValueError, match=words) as raised:
        q(outside)
    inside = outside * (outside**-0.5).sum(-1, keepdims=True) ** 2
    remedy = "To scale q into the domain, use q * (q**-0.5).sum(-1, keepdims=True)**2"
    assert str(raised.value).endswith(remedy)
    np.testing.assert_allclose(q(inside).minimizer[1], 0, atol=4 * EPS)
    refuses(r"^q must be positive.*least entry is 0", q, [1.0, 0.0])
    refuses(r"^q must be 1/softmax", q, [1.0, 1.0])
    assert q([1.0, 1e300]).value == pytest.approx(2 * (75 * np.log(10)) ** 2)


@pytest.mark.parametrize("limit", [1, 10.0, 100])
def test_the_grid_of_figure_2(limit):
    beta1, beta2, value = penalty_contours(limit, points=11)
    assert beta1[0] == -limit
    assert beta2[-1] == limit
    assert value.shape == (11, 11)
    assert value[2, 7] == softmax_penalty([beta1[7] ** 2, beta2[2] ** 2]).value
    np.testing.assert_allclose(value, value.T, rtol=4 * EPS)
    assert value[-1, -1] == pytest.approx(8 * limit**2)
    refuses("limit", penalty_contours, 0)
    refuses("points", penalty_contours, 1, points=1)


def test_its_figure_has_a_panel_for_each_zoom_level():
    panels = plots.penalty_panels([penalty_contours(limit, points=41) for limit in (1, 10, 100)])
    assert [ax.get_title() for ax in panels] == [rf"$|\beta_i| \leq {limit}$" for limit in (1, 10, 100)]
    assert all(ax.get_aspect() == 1 and ax.get_xlim() == ax.get_ylim() for ax in panels)
    labels = [[text.get_text() for text in ax.texts] for ax in panels]
    assert labels[0] == ["0.1", "0.5", "1", "2", "3", "4"]
    assert labels[2][-1] == "40\u2009000"
    assert plots.contours(*penalty_contours(1, points=41), ax=panels[0]) is panels[0]


def test_without_matplotlib_the_remedy_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'sparselin\[plot\]'"):
        plots.contours(*penalty_contours(1, points=3))
