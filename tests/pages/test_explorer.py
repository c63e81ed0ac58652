"""The explorer without a browser: addresses, snapping, and frames against computations of their own."""

import dataclasses
import itertools
import json
import re

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from polytopes import inside
from refusals import refuses

import sparselin as sl
from sparselin.plots.explorer import pages
from sparselin.plots.explorer.frame import frame
from sparselin.plots.explorer.presets import PRESETS, address, state_of
from sparselin.plots.explorer.snapping import snap
from sparselin.plots.explorer.state import State, of_address, of_data, to_address
from sparselin.plots.explorer.widget import Explorer

EPS = np.finfo(float).eps
numbers = st.floats(-2, 2).map(lambda v: round(v, 2))


@st.composite
def states(draw, n=None, exact=False):
    n = draw(st.sampled_from((2, 3))) if n is None else n
    number = st.floats(-1e6, 1e6) if exact else numbers
    d = draw(st.integers(1, 5))
    columns = draw(st.lists(st.tuples(*[number] * n), min_size=d, max_size=d))
    S = draw(st.sets(st.integers(0, d - 1), max_size=n - 1))
    return State(tuple(columns), draw(st.tuples(*[number] * n)), draw(st.floats(0.05, 3)), tuple(sorted(S)))


def drawn(state):
    """Return the frame of a state; the columns of S and those together must not be too close for it."""
    found = Explorer().answer({"address": to_address(state), "picks": "none"})
    assert "too close" in found.get("message", "too close")
    assume("message" not in found)
    return found


@given(states(exact=True))
def test_an_address_says_the_state_exactly(state):
    assert of_address(to_address(state)) == state
    assert state_of("?" + address(state)) == state


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_has_a_short_address(name):
    assert address(PRESETS[name].state) == f"preset={name}"
    assert state_of(f"?preset={name}") == PRESETS[name].state


BROKEN = [
    ("preset=nothing", "preset must be one of plane, .*; got 'nothing'"),
    ("nothing", "preset must be one of plane, .*; got 'nothing'"),
    ("X=1,0;0,1", "the address must have y"),
    ("y=1,0", "the address must have X"),
    ("X=1,0;0,1&y=1,0&z=3", "the address may have X, y, lam and S, or preset; got 'z'"),
    ("X=1,0&X=1,1&y=1,0", "must have X only once; got it 2 times"),
    ("X=1,a;0,1&y=1,0", "X must have numbers separated by commas; got 'a'"),
    ("X=1,0;0&y=1,0", "column 1 of X must have 2 numbers, like y; got 1"),
    ("X=1,0;&y=1,0", "column 1 of X must have 2 numbers, like y; got 0"),
    ("X=1,0&y=1,0,0,0", "y must have 2 or 3 numbers; got 4"),
    ("X=nan,0&y=1,0", "X must have finite numbers; got 'nan'"),
    ("X=1e7,0&y=1,0", "size at most 1e\\+06; got 1e\\+07"),
    ("X=1,0&y=1,0&lam=0", "lam must be from 1e-06 to 1e\\+06; got 0"),
    ("X=1,0&y=1,0&lam=1,2", "lam must be one number; got 2"),
    ("X=1,0&y=1,0&S=1", "S must have distinct columns from 0 to 0; got \\[1\\]"),
    ("X=1,0;0,1&y=1,0&S=0,0", "from 0 to 1; got \\[0, 0\\]"),
    ("X=1,0;0,1&y=1,0&S=a", "S must have whole numbers"),
    (f"X={';'.join(['1,0'] * 9)}&y=1,0", "X must have 1 to 8 columns; got 9"),
    ("%ff%00=&&==", "the address may have X, y, lam and S, or preset"),
]


@pytest.mark.parametrize(("query", "words"), BROKEN)
def test_a_broken_address_is_told_in_one_line(query, words):
    with pytest.raises(ValueError, match=words) as error:
        state_of(query)
    assert "\n" not in str(error.value)
    assert Explorer().answer({"address": query, "number": 3}) == {"message": str(error.value), "number": 3}


def test_a_long_message_is_cut():
    message = Explorer().answer({"address": f"X=1,0;0,1&y=1,0&S={'9' * 4000}"})["message"]
    assert len(message) < 100


PLAIN = {"address": "X=1,0;0,1&y=1,0.9&lam=0.5"}


SENSELESS = [
    ({}, "got 'None'"),
    ({"address": None}, "got 'None'"),
    ({"address": ["preset=plane"]}, "the address"),
    (PLAIN | {"moved": "y"}, "reach must be a nonnegative number; got 'None'"),
    (PLAIN | {"moved": "y", "reach": "near"}, "reach must be a nonnegative number; got 'near'"),
    (PLAIN | {"moved": "y", "reach": 10**400}, "reach must be a nonnegative number"),
    (PLAIN | {"moved": "y", "reach": -1.0}, "reach must be a nonnegative number"),
    (PLAIN | {"moved": "y", "reach": float("nan")}, "reach must be a nonnegative number"),
    (PLAIN | {"moved": "2", "reach": 0.1}, "moved must be y, lam or a column from 0 to 1; got '2'"),
    (PLAIN | {"moved": -1, "reach": 0.1}, "moved must be y, lam or a column from 0 to 1; got '-1'"),
    (PLAIN | {"picks": "some"}, "picks must be one of all, untrained, none; got 'some'"),
    (PLAIN | {"picks": []}, "picks must be one of"),
    ({"address": "X=1e6,6704,-0.005&y=-371014,-0.69,0&lam=0.01"}, "X has a column that is too long"),
]


@pytest.mark.parametrize(("asked", "words"), SENSELESS)
def test_a_question_without_sense_is_told_in_one_line(asked, words):
    widget = Explorer()
    before = widget.state
    message = widget.answer(asked | {"number": 5})
    assert message.keys() == {"message", "number"}
    assert words in message["message"]
    assert "\n" not in message["message"]
    assert widget.state == before


def test_a_polytope_as_thin_as_a_line():
    found = frame(of_address("X=1e6,1e-4&y=-2,0&lam=0.0122"), "none")
    assert len(found["polygon"]) == 2  # its corners are closer than what can be distinguished
    assert np.isfinite(found["polygon"]).all()
    assert found["regions"] == []
    json.dumps(found, allow_nan=False)


def test_at_a_knot_that_rounding_puts_below_lambda_star():
    X = "-1.42,0.36,-2.37;0.26,1.32,1.23;-0.57,-0.01,0.34;-1.03,1.04,0.42;-1.04,1.4,0.37;0.27,1.15,0.38"
    columns = np.array([column.split(",") for column in X.split(";")], float).T
    data = columns, [0.32, -0.36, -1.9]
    lam = sl.lasso_path(*data, unpenalized=(1, 5)).knots[0]
    assert lam < sl.lambda_star(*data, unpenalized=(1, 5))
    found = frame(of_address(f"X={X}&y=0.32,-0.36,-1.9&lam={float(lam)!r}&S=1,5"), "none")
    assert found["words"].endswith("At λ = 0.4544 no feature has entered: u = P_S^⊥y.")


def test_without_a_level_half_of_lambda_star():
    assert of_address("X=1,0;0,1&y=3,1").lam == 1.5
    assert of_address("X=1,0;0,1&y=0,0").lam == 1.0


def correlations(state):
    """|⟨X_j, P_S^⊥y⟩| by least squares."""
    X, y = state.X, np.array(state.y)
    XS = X[:, list(state.S)]
    r = y - XS @ np.linalg.lstsq(XS, y, rcond=1e-10)[0] if state.S else y
    return np.abs(X.T @ r), r


@given(states(), st.data())
def test_y_snaps_to_a_tie_and_no_further_than_its_reach(state, data):
    drawn(state)
    reach = data.draw(st.floats(0.01, 0.3))
    moved = snap(state, "y", reach)
    off = [j for j in range(len(state.columns)) if j not in state.S]
    assert dataclasses.replace(moved, y=state.y) == state
    assert np.linalg.norm(np.subtract(moved.y, state.y)) <= reach * (1 + 8 * EPS)
    if moved != state:
        assert len(sl.first_entry(moved.X, moved.y, forced=list(state.S)).tied) > 1
        assert np.linalg.norm(correlations(moved)[1]) > reach / 2
    if len(off) == 2 and not state.S:  # the one tie there is, if clearly in reach
        i, j = off
        signed = state.X * np.sign(state.y @ state.X)
        g = signed[:, i] - signed[:, j]
        distance = abs(g @ state.y) / (np.linalg.norm(g) or 1)
        if 1e-6 < distance < 0.9 * reach and np.linalg.norm(state.y) > 3 * reach:
            assert moved != state


@given(states(), st.data())
def test_a_column_snaps_to_a_copy_or_joins_the_tied(state, data):
    drawn(state)
    j = data.draw(st.integers(0, len(state.columns) - 1))
    reach = data.draw(st.floats(0.01, 0.3))
    moved = snap(state, str(j), reach)
    others = [i for i in range(len(state.columns)) if i != j]
    assert all(moved.columns[i] == state.columns[i] for i in others)
    assert (moved.y, moved.lam, moved.S) == (state.y, state.lam, state.S)
    x = moved.X[:, j]
    assert np.linalg.norm(x - state.X[:, j]) <= reach * (1 + 8 * EPS)
    if moved != state and not any(np.array_equal(x, s * moved.X[:, i]) for i in others for s in (1, -1)):
        tied = sl.first_entry(moved.X, moved.y, forced=list(state.S)).tied
        assert j in tied
        assert len(tied) > 1


@pytest.mark.parametrize("lengths", [(1, 1), (0.01, 100)])
def test_of_any_floats_what_snapped_is_tied(lengths, rng):
    seen = 0
    for n, d in [(2, 2), (2, 4), (3, 4), (3, 8)] * 50:
        X = rng.uniform(-2, 2, (n, d)) * rng.uniform(*lengths, d)
        S = tuple(range(rng.integers(n)))
        state = of_data(X, rng.uniform(-2, 2, n), 0.5, S)
        for what in ("y", str(d - 1)):
            moved = snap(state, what, 0.4)
            x = np.abs(moved.X)
            copy = what != "y" and (x[:, :-1] == x[:, -1:]).all(axis=0).any()
            if moved != state and not copy:
                seen += 1
                assert len(sl.first_entry(moved.X, moved.y, forced=S).tied) > 1
    assert seen > 20


@pytest.mark.parametrize("seed", range(20))
def test_a_tie_within_reach_is_found(seed):
    """If another feature is first a little further out than y went, there is a tie on the way."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, (2, 5)) * [1, 1, 3, 0.3, 10]
    y = np.array([np.cos(seed), np.sin(seed)])
    distance = np.linalg.norm(np.subtract(snap(of_data(X, y, 0.5, ()), "y", 0.4).y, y)) or 0.4
    circle = np.exp(2j * np.pi * np.arange(2000) / 2000)
    around = y[:, None] + (distance - 1e-6) * np.array([circle.real, circle.imag])
    assert len(set(np.abs(X.T @ around).argmax(axis=0))) == 1


def test_the_nearest_tie_by_hand():
    """Column 1 is the second at y, but the longer column 2 is tied with 0 nearer to it."""
    state = State(((1.0, 0.0), (0.99, 0.01), (0.9, 5.0)), (1.0, 0.0), 0.5)
    moved = snap(state, "y", 0.05)
    assert sl.first_entry(moved.X, moved.y).tied == (0, 2)
    assert np.linalg.norm(np.subtract(moved.y, state.y)) == pytest.approx(0.1 / np.hypot(0.1, 5))
    across = State(((1.0, 0.0, 0.0), (0.0, 10.0, 0.0)), (0.1, 0.0, 1.0), 0.5)  # ⟨X_1, y⟩ = 0 has no sign
    assert len(sl.first_entry(across.X, snap(across, "y", 0.05).y).tied) == 2
    three = of_address("X=-3,2,3;2,-2,-2;3,-3,3;2,3,-3&y=1.5,1.6,1.7&lam=0.5")  # a third is passed
    assert snap(three, "y", 0.3) != three
    near = State(((1.0, 0.0), (1.0, 0.1), (1.0, 0.08)), (1.0, 1.0), 0.5)
    assert snap(near, "2", 0.09).columns[2] == (1.0, 0.1)  # and not (1, 0), within reach too


def test_snapping_by_hand():
    state = State(((1.0, 0.0), (0.0, 1.0)), (1.0, 0.96), 0.5)
    assert snap(state, "y", 0.05).y == pytest.approx((0.98, 0.98), rel=4 * EPS)
    assert snap(state, "y", 0.02) == state
    column = State(((1.0, 0.0), (0.1, 0.93)), (1.0, 1.0), 0.5)
    assert snap(column, "1", 0.05).columns[1] == pytest.approx((0.085, 0.915), rel=4 * EPS)
    minus = State(((1.0, 0.0), (-0.1, -0.93)), (1.0, 1.0), 0.5)
    assert snap(minus, "1", 0.05).columns[1] == pytest.approx((-0.085, -0.915), rel=4 * EPS)
    copy = State(((1.0, 0.3), (-0.98, -0.31)), (1.0, 1.0), 0.5)
    assert snap(copy, "1", 0.05).columns[1] == (-1.0, -0.3)
    level = State(((1.0, 0.0), (0.0, 1.0)), (3.0, 1.0), 2.96)
    assert snap(level, "lam", 0.05).lam == 3.0
    assert snap(level, "lam", 0.03) == level


@given(states())
def test_a_frame_is_the_optimum_seen_from_outside(state):
    found = drawn(state)
    X, y, u, beta = state.X, np.array(state.y), np.array(found["u"]), np.array(found["beta"])
    size = 1e-11 * (1 + np.linalg.norm(y)) * (1 + np.abs(X).max()) * (1 + np.abs(beta).max())
    off = [j for j in range(len(beta)) if j not in state.S]
    assert np.abs(y - X @ beta - u).max() <= size
    assert np.abs(X[:, list(state.S)].T @ u).max(initial=0) <= size
    for j in off:
        assert abs(X[:, j] @ u) <= state.lam + size
        if beta[j] != 0:
            assert abs(X[:, j] @ u - np.sign(beta[j]) * state.lam) <= size
    c, _ = correlations(state)
    star = max((c[j] for j in off), default=0.0)
    assert abs(found["lamStar"] - star) <= size
    if found["lamStar"] > 0:
        assert set(found["A"]) <= set(found["T"]) <= {j for j in off if c[j] >= star - size}
        assert {j for j in off if c[j] >= star} <= set(found["T"]) | {j for j in off if c[j] <= star + size}
    for face in found["faces"]:
        for corner in face["corners"]:
            assert np.abs(X.T @ corner).max() <= state.lam * (1 + 1e-7)
            for j, sign in zip(face["features"], face["signs"], strict=True):
                assert sign * (X[:, j] @ corner) == pytest.approx(state.lam, rel=1e-7)
    json.dumps(found, allow_nan=False)


@given(states())
def test_what_is_drawn_of_a_frame(state):
    found = drawn(state)
    X, y, u, beta = state.X, np.array(state.y), np.array(found["u"]), np.array(found["beta"])
    off = [j for j in range(len(beta)) if j not in state.S]
    chain = np.array(found["chain"])
    size = 1e-9 * (1 + np.abs(y).max() + np.abs(X).max() * np.abs(beta).max())
    assert np.abs(chain[0] - u).max() <= size
    assert np.abs(chain[-1] - y).max() <= size
    for j, step in zip(found["chainFeatures"], np.diff(chain, axis=0), strict=True):
        assert np.abs(step - beta[j] * X[:, j]).max() <= size
    tied = {face["feature"]: face["active"] for face in found["tied"]}
    assert tied == {j: j in found["A"] for j in found["T"]}
    for face in found["faces"]:
        owners = dict(zip(face["features"], face["signs"], strict=True))
        assert face["strong"] == any(sign * beta[j] > 0 and j not in state.S for j, sign in owners.items())
    for corner in found["slice"]:
        assert np.abs(X[:, list(state.S)].T @ corner).max() <= 1e-7 * np.abs(corner).max()
    assert ("inside the window" in found["words"]) == (found["window"] < state.lam < found["lamStar"])
    # β_i alone in the window, and another below, or none is left
    if len(found["T"]) == 1 and found["lamStar"] > 0:
        lower, gap = found["window"], 1e-6 * found["lamStar"]
        path = sl.lasso_path(X, y, forced=state.S)
        assert np.flatnonzero(path.at(lower + gap)[off]).tolist() == [off.index(found["T"][0])]
        knots = np.array(found["knots"])
        assert np.abs(knots - lower).min() <= gap


@given(states())
def test_the_average_of_the_flow_is_feasible_and_solves_if_it_is_the_projection(state):
    found = drawn(state)
    assume("mean" in found["flow"])
    X, flow = state.X, found["flow"]
    jumps, means = np.array(flow["jumps"]), np.array(flow["means"])
    size = 1e-9 * (1 + np.abs(state.y).max()) * (1 + np.abs(X).max())
    assert np.abs(jumps[0] - found["r"]).max() <= size
    assert np.abs(X.T @ jumps[-1]).max() <= size
    assert all(np.linalg.norm(b) < np.linalg.norm(a) for a, b in itertools.pairwise(jumps))
    assert np.abs(X.T @ flow["mean"]).max() <= state.lam + size
    if flow["solved"]:
        assert np.abs(np.subtract(flow["mean"], found["u"])).max() <= size
    for fine, ends in zip(flow["solves"], itertools.pairwise(means), strict=True):
        off = max(distance(end, found["path"]) for end in ends)
        assert off <= size or not fine


def distance(point, path):
    """The distance of a point from a broken line."""
    gaps = [np.linalg.norm(path[0] - point)]
    for a, b in itertools.pairwise(np.array(path)):
        share = np.clip((point - a) @ (b - a) / ((b - a) @ (b - a) or 1), 0, 1)
        gaps.append(np.linalg.norm(a + share * (b - a) - point))
    return min(gaps)


def test_the_flow_by_hand():
    """X₀ᵀy = 0.87 enters at 1/0.87, and gives way to feature 1, with the residual y − (0.58/0.29)X₁."""
    found = frame(PRESETS["flow"].state, "none")["flow"]
    first = np.array([0.9, 0.8]) - 0.87 / 1.45 * np.array([-0.1, 1.2])
    assert np.allclose(found["jumps"], [[0.9, 0.8], first, [0.5, -0.2], [0, 0]], rtol=0, atol=1e-14)
    assert found["enters"] == [[0], [1], [0]]
    assert found["now"] == pytest.approx([0.5, -0.2])
    assert [fine for fine, _ in itertools.groupby(found["solves"])] == [True, False, True]
    times = np.diff([0, 1 / 0.87, 1.5 / 0.58, 4])  # ⟨X₁, ·⟩ is 0.58, and then 0.232
    assert found["mean"] == pytest.approx(times @ found["jumps"][:3] / 4)
    words = "Until τ = 1/λ = 4 the flow jumps twice, and its average is not a solution of the LASSO, because "
    assert found["words"].replace("\u00a0", " ") == f"{words}s₀ ≠ sign β̄₀."
    for lam, times in ((1.0, "does not jump"), (0.5, "jumps once"), (0.08, "jumps 3 times")):
        text = frame(dataclasses.replace(PRESETS["flow"].state, lam=lam), "none")["flow"]["words"]
        assert text.endswith(f"the flow {times}, and its average is a solution of the LASSO.")


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("narrow", [False, True])
def test_a_region_is_where_y_has_these_signs(seed, narrow):
    rng = np.random.default_rng(seed)
    X = np.array([[1.0, 1.0], [0.0, 0.02]]) if narrow else rng.normal(size=(2, 4))
    lam = 0.01 if narrow else 0.6
    found = frame(of_data(X, np.array([1.0, 0.5]), lam, ()), "none")
    for y in found["half"] * rng.uniform(-1, 1, (60, 2)):
        beta = sl.project_dual(X, y, lam).coef
        words = {f"β{'₀₁₂₃'[j]} {'>' if beta[j] > 0 else '<'} 0" for j in np.flatnonzero(beta)}
        depths = {region["words"]: inside(region["corners"], y) for region in found["regions"]}
        if inside(found["polygon"], y) > 1e-9:
            assert not words
        elif all(abs(depth) > 1e-9 for depth in depths.values()):
            (name,) = [name for name, depth in depths.items() if depth > 0]
            assert set(name.split(" and ")) == words


@pytest.mark.parametrize("name", PRESETS)
def test_the_picks_are_those_of_brute_force(name):
    state = PRESETS[name].state
    found, X, y = frame(state), state.X, np.array(state.y)
    assert [found["preset"][key] for key in ("name", "story", "answer")] == [name, *PRESETS[name][2::2]]
    for method, left in (("OMP", None), ("Sequential LASSO", None), ("Sequential Attention", None),
                         ("Forward regression", X)):  # fmt: skip
        S = list(state.S)
        steps = (found["picks"][method][key] for key in ("support", "ties", "r2"))
        for pick, tied, r2 in zip(*steps, strict=True):
            c, _ = correlations(dataclasses.replace(state, S=tuple(sorted(S))))
            if left is not None:
                c = [-np.inf if j in S else y @ y - rest(X, y, [*S, j]) for j in range(len(c))]
            best = max(v for j, v in enumerate(c) if j not in S)
            assert c[pick] >= best - 1e-9
            assert all(j in S or c[j] >= best - 1e-9 for j in tied) or method != "OMP"
            S.append(pick)
            assert r2 == pytest.approx(1 - rest(X, y, S) / (y @ y), abs=6e-5)


def rest(X, y, S):
    """‖P_S^⊥y‖²."""
    return float(np.sum((y - X[:, S] @ np.linalg.lstsq(X[:, S], y, rcond=None)[0]) ** 2))


def test_the_stories_are_true():
    trap = frame(PRESETS["trap"].state)
    X, y = PRESETS["trap"].state.X, np.array(PRESETS["trap"].state.y)
    assert all(picks["support"][0] == 2 and picks["r2"][1] < 0.6 for picks in trap["picks"].values())
    assert np.array_equal(X[:, 0] + X[:, 1], y)
    lengths = frame(PRESETS["lengths"].state)["picks"]
    assert [picks["support"][0] for picks in lengths.values()] == [1, 0, 1, 1]
    strict = frame(PRESETS["strict"].state)
    assert (strict["T"], strict["A"]) == ([0, 1, 2], [0])
    assert [face["active"] for face in strict["tied"]] == [True, False, False]
    copies = frame(PRESETS["copies"].state)
    assert copies["T"] == copies["A"] == [0, 1, 2]
    lemma = frame(PRESETS["lemma-3-4"].state)
    gap = np.array(lemma["r"]) - lemma["u"]
    assert abs(gap[0]) < 1e-15 < gap[1]
    assert lemma["picks"]["OMP"]["support"] == [1]
    plane = PRESETS["plane"].state
    assert touched(frame(plane)) == [0, 1]
    assert order(plane) == [0, 1]
    assert frame(plane)["picks"]["OMP"]["support"] == [0, 2]
    assert frame(PRESETS["selected"].state)["T"] == [2]


def test_the_answers_are_true():
    names = "plane", "lengths", "strict", "copies", "space"
    plane, lengths, strict, copies, space = (PRESETS[name].state for name in names)
    assert touched(frame(dataclasses.replace(plane, lam=1.1))) == [0]
    shorter = dataclasses.replace(lengths, columns=(lengths.columns[0], (0.35, 1.3), lengths.columns[2]))
    assert frame(lengths)["lamStar"] == pytest.approx(1.115)
    assert frame(shorter)["lamStar"] == pytest.approx(1.11)
    for method in ("OMP", "Forward regression"):
        assert frame(shorter)["picks"][method]["support"][0] == 0
    both = frame(dataclasses.replace(PRESETS["trap"].state, S=(2,)))
    assert both["T"] == both["A"] == [0, 1]
    for height, first in ((0.3, 2), (-0.3, 0)):
        assert frame(dataclasses.replace(strict, y=(1.0, height)))["T"] == [first]
    for factor, tied in ((1.1, [1]), (0.9, [0, 2])):
        column = tuple(factor * value for value in copies.columns[1])
        changed = dataclasses.replace(copies, columns=(copies.columns[0], column, *copies.columns[2:]))
        assert frame(changed)["T"] == frame(changed)["A"] == tied
    lemma = PRESETS["lemma-3-4"].state
    turned = frame(dataclasses.replace(lemma, columns=(lemma.columns[0], (0.0, 0.8))))
    gap = np.array(turned["r"]) - turned["u"]
    assert abs(gap[0]) < 1e-15 < gap[1]
    assert turned["T"] == [1]
    assert [round(knot, 2) for knot in frame(space)["knots"]] == [1.11, 0.76, 0.29, 0]
    assert order(space) == [0, 1, 2]
    levels = [dataclasses.replace(PRESETS["flow"].state, lam=lam) for lam in (0.39, 0.38, 0.098, 0.096)]
    assert [frame(state, "none")["flow"]["solved"] for state in levels] == [True, False, False, True]
    line = dataclasses.replace(PRESETS["slice"].state, S=(0, 1))
    assert len(frame(line)["slice"]) == 2


def touched(found):
    """The features off S with β_j ≠ 0."""
    return [j for j, value in enumerate(found["beta"]) if value and j not in found["S"]]


def order(state):
    """The features of the LASSO path in the order of their entry."""
    found = []
    for coef in sl.lasso_path(state.X, state.y).coef:
        found += [j for j in np.flatnonzero(coef).tolist() if j not in found]
    return found


def test_what_is_not_wanted_is_not_picked():
    state = PRESETS["plane"].state
    assert [found is None for found in frame(state, "none")["picks"].values()] == [True] * 4
    assert [found is None for found in frame(state, "untrained")["picks"].values()] == [False] * 3 + [True]


def test_the_code_of_a_frame_runs(capsys):
    pytest.importorskip("matplotlib").use("agg")
    state = PRESETS["slice"].state
    exec(frame(state, "none")["code"], {})
    assert "λ* 0.5863" in capsys.readouterr().out


def test_a_preset_or_an_address_by_name():
    assert sl.explore("trap").state == PRESETS["trap"].state
    assert sl.explore("X=1,0;0,1&y=3,1&lam=2").state == State(((1.0, 0.0), (0.0, 1.0)), (3.0, 1.0), 2.0)


WORDS = [
    ("X=1,0;0,1&y=0,0&lam=1", "λ* = 0, and no feature enters: P_S^⊥y is zero."),
    ("X=1,0&y=0,1&lam=1", "λ* = 0, and no feature enters: no column is correlated with P_S^⊥y."),
    ("X=1,0&y=1,1&lam=1&S=0", "S = {0}: λ* = 0, and no feature enters: every column is in the span of S."),
    ("X=1,0;0,1&y=3,1&lam=3", "λ* = 3, T = {0}, A(S) = {0}. At λ = 3 no feature has entered: u = y."),
    ("X=1,0;0,1&y=-3,1&lam=2", "λ* = 3, T = {0}, A(S) = {0}. At λ = 2 (inside the window): β₀ < 0."),
]


@pytest.mark.parametrize(("query", "words"), WORDS)
def test_words(query, words):
    assert frame(of_address(query), "none")["words"] == words


def test_the_widget_keeps_what_is_shown():
    widget = sl.explore([[1.0, 0.0], [0.0, 1.0]], [3.0, 1.0], forced=[1])
    assert widget.frame["S"] == [1]
    widget.asked = {"address": "X=1,0;0,1&y=2.98,3&lam=1", "moved": "y", "reach": 0.1, "number": 7}
    assert widget.frame["number"] == 7
    assert widget.frame["T"] == [0, 1]
    assert widget.y == pytest.approx((2.99, 2.99))
    widget.asked = {"address": "X=1", "number": 8}
    assert set(widget.frame) == {"message", "number"}
    assert widget.y == pytest.approx((2.99, 2.99))
    assert widget.X.tolist() == [[1, 0], [0, 1]]


REFUSED = [
    ({"y": [1.0, 2.0]}, ValueError, "X must be given"),
    ({"X": [[1.0], [0.0]]}, TypeError, "y must be given"),
    ({"X": np.eye(4), "y": np.ones(4)}, ValueError, "X must have 2 rows, .* or 3, .*; got X of shape"),
    ({"X": np.ones((2, 9)), "y": np.ones(2)}, ValueError, "1 to 8 columns; got 9"),
    ({"X": np.eye(2), "y": np.ones(2), "lam": -1.0}, ValueError, "lam"),
    ({"X": np.eye(2), "y": np.ones(2), "forced": [5]}, ValueError, "forced"),
]


@pytest.mark.parametrize(("arguments", "kind", "words"), REFUSED)
def test_explore_refuses(arguments, kind, words):
    refuses(words, sl.explore, error=kind, **arguments)


def test_pages_need_nothing_else():
    chosen = {name: PRESETS[name] for name in ("lemma-3-4", "trap")}
    made = pages.pages_of(chosen)
    assert list(made) == ["lemma-3-4.html", "trap.html"]
    for (name, preset), text in zip(chosen.items(), made.values(), strict=True):
        assert f"<code>sparselin explore {name}</code>" in text
        assert not re.search(r"(src|href|url|import|fetch)\s*[=(]", text)
        rows = json.loads(re.search(r"stored: (\[.*\]), start", text)[1])
        for size, row in enumerate(rows):
            assert {len(one["S"]) for one in row} == {size}
            order = sl.omp(preset.state.X, preset.state.y, 2, forced=preset.state.S).support.tolist()
            assert row[0]["S"] == sorted(order[:size])
            for one in row[:: len(row) // 3]:
                state = State(preset.state.columns, preset.state.y, one["lam"], tuple(one["S"]))
                assert one["u"] == pytest.approx(frame(state, "none")["u"], abs=1e-5)
        knots = [knot for knot in rows[0][0]["knots"] if knot > rows[0][0]["lam"]]
        assert set(knots) <= {one["lam"] for one in rows[0]}


@pytest.mark.parametrize("seed", range(6))
def test_the_cone_holds_the_responses_with_the_same_picks(seed):
    """Inside the polygon OMP picks the same with the same signs, outside not; the circle touches its edge."""
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((2, 4)), rng.standard_normal(2)
    S = (1,) if seed % 3 == 2 else ()
    cone = frame(of_data(X, y, None, S), "none")["cone"]
    corners = np.array(cone["corners"])

    def picks(y):
        found, kept = [], list(S)
        while len(kept) < 2:
            Q = np.linalg.qr(X[:, kept])[0]
            c = X.T @ (y - Q @ (Q.T @ y))
            c[kept] = 0
            i = int(np.argmax(np.abs(c)))
            found.append((i, np.sign(c[i])))
            kept.append(i)
        return found

    edges = np.roll(corners, -1, 0) - corners
    for _ in range(300):
        z = y + rng.standard_normal(2) * rng.choice([0.1, 1.0]) * np.linalg.norm(y)
        sides = edges[:, 0] * (z - corners)[:, 1] - edges[:, 1] * (z - corners)[:, 0]
        if np.abs(sides).min() > 1e-9:
            assert (picks(z) == picks(y)) == bool((sides > 0).all())
    sides = edges[:, 0] * (y - corners)[:, 1] - edges[:, 1] * (y - corners)[:, 0]
    lengths = np.linalg.norm(edges, axis=1)
    np.testing.assert_allclose(cone["radius"], (sides / lengths).min(), rtol=1e-9)


def test_a_tie_has_no_cone():
    cone = frame(of_address("X=1,0;0,1&y=1,1&lam=0.5"), "none")["cone"]
    assert (cone["corners"], cone["radius"]) == ([], 0)
    assert "has a tie" in cone["words"]
