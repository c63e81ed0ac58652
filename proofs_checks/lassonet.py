"""One feature of LassoNet's proximal problem in rational arithmetic, and a minimiser that knows no formula.

The problem of Proposition 1, of which (3) and (4) are the case λ̄ = 0, is

    minimise  ½‖v − b‖² + ½‖u − z‖² + λ‖b‖₂ + λ̄‖z‖₁   subject to  ‖z‖∞ ≤ M‖b‖₂.

At a given length t = ‖b‖₂ the best b makes ½(‖v‖ − t)² (Cauchy–Schwarz) and the coordinates of z part: what
is left is a function of t ≥ 0 alone, quadratic between the points where some S_λ̄(|u_k|) = Mt.
"""

from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import NamedTuple

from hypothesis import strategies as st

EPS = Fraction(1, 2**52)


class Feature(NamedTuple):
    """θ_j (or v), W_j (or u), λ, M and λ̄, rational; `v` a number."""

    v: Fraction
    u: tuple[Fraction, ...]
    lam: Fraction
    M: Fraction
    lam_bar: Fraction = Fraction(0)


def feature(v, u, lam, M, lam_bar=0) -> Feature:
    """From integers."""
    return Feature(Fraction(v), tuple(map(Fraction, u)), Fraction(lam), Fraction(M), Fraction(lam_bar))


@st.composite
def features(draw, multipliers=(0, Fraction(1, 2), 1, 2, 3), max_K=5, lam_bars=(0,), least_v=-6):
    """Small integers and halves, where ties and events at breakpoints are common."""
    u = draw(st.lists(st.integers(-4, 4), max_size=max_K))
    lam = Fraction(draw(st.integers(0, 12)), 2)
    return feature(
        draw(st.integers(least_v, 6)),
        u,
        lam,
        draw(st.sampled_from(multipliers)),
        draw(st.sampled_from(lam_bars)),
    )


def soft(x: Fraction, lam: Fraction) -> Fraction:
    """S_λ(x)."""
    return (abs(x) - lam) * sign(x) if abs(x) > lam else Fraction(0)


def sign(x: Fraction) -> int:
    """With sign(0) = 0."""
    return (x > 0) - (x < 0)


def objective(problem: Feature, b: Fraction, z: Sequence[Fraction]) -> Fraction:
    """At a number b; for a vector v, at ‖b‖ along v."""
    v, u, lam, _, lam_bar = problem
    squares = (v - b) ** 2 + sum((x - y) ** 2 for x, y in zip(u, z, strict=True))
    return squares / 2 + lam * abs(b) + lam_bar * sum(map(abs, z))


def feasible(problem: Feature, b: Fraction, z: Sequence[Fraction]) -> bool:
    """‖z‖∞ ≤ M|b|."""
    return all(abs(y) <= problem.M * abs(b) for y in z)


def best_z(x: Fraction, w: Fraction, lam_bar: Fraction) -> Fraction:
    """argmin ½(x − z)² + λ̄|z| over |z| ≤ w, by trying every point where it may be."""
    points = [z for z in (-w, w, Fraction(0), x - lam_bar, x + lam_bar) if abs(z) <= w]
    return min(points, key=lambda z: (x - z) ** 2 / 2 + lam_bar * abs(z))


def at_length(problem: Feature, t: Fraction) -> Fraction:
    """The least objective over all b of length t, for ‖v‖ = |v|."""
    z = [best_z(x, problem.M * t, problem.lam_bar) for x in problem.u]
    return objective(problem._replace(v=abs(problem.v)), t, z)


def least(value: Callable[[Fraction], Fraction], ends: Sequence[Fraction]) -> Fraction:
    """The t ≥ 0 where a function that is a convex parabola between consecutive ends, and beyond, is least."""
    ends = sorted({Fraction(0), *ends})
    ends.append(ends[-1] + 1)
    candidates = []
    for low, high in pairwise(ends):
        half = (high - low) / 2
        a, b, c = (value(low + k * half) for k in range(3))
        bend = a - 2 * b + c
        vertex = low + half + (a - c) / 2 / bend * half
        last = high == ends[-1]
        candidates.append(max(low, vertex if last else min(high, vertex)))
    return min(candidates, key=value)


def best_length(problem: Feature) -> Fraction:
    """‖b*‖."""
    ends = [max(abs(x) - problem.lam_bar, Fraction(0)) / problem.M for x in problem.u] if problem.M else []
    return least(lambda t: at_length(problem, t), ends)


def size(problem: Feature) -> Fraction:
    """What rounding errors of ‖b*‖ are relative to."""
    return abs(problem.v) + problem.lam + (1 + problem.M) * sum(map(abs, problem.u))


def near(x: float, exact: Fraction, scale: Fraction) -> bool:
    """|x − exact| ≤ 16·eps·scale: a few roundings of numbers of that size."""
    return abs(Fraction(float(x)) - exact) <= 16 * EPS * scale


def show(problem: Feature) -> str:
    """In one line."""
    u = ", ".join(map(str, problem.u))
    return f"v = {problem.v}, u = ({u}), λ = {problem.lam}, M = {problem.M}" + (
        f", λ̄ = {problem.lam_bar}" if problem.lam_bar else ""
    )
