"""LassoNet's proximal problem for one feature in rational arithmetic, and a minimiser that uses no formula.

The problem of Proposition 1, whose case λ̄ = 0 gives problems (3) and (4) of the paper, is

    minimise  ½‖v − b‖² + ½‖u − z‖² + λ‖b‖₂ + λ̄‖z‖₁   subject to  ‖z‖∞ ≤ M‖b‖₂.

The vectors v and u and the numbers λ, λ̄ and M are given. For b of a given length t = ‖b‖₂, the least value
of ½‖v − b‖² is ½(‖v‖ − t)², by the Cauchy–Schwarz inequality, and each entry z_k can be minimised by itself.
The least objective is then a function of t ≥ 0 alone. This function is quadratic between the points t where
some S_λ̄(|u_k|) = Mt, with the soft-thresholding S_λ̄(x) = sign(x)·max(|x| − λ̄, 0).
"""

from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from hypothesis import strategies as st

import sparselin as sl

SMALL = st.integers(-3, 3)
EPS = Fraction(1, 2**52)


class Feature(NamedTuple):
    """The data of the problem for one feature j, all rational: the number v = θ_j, the vector u = W_j, λ, M
    and λ̄.
    """

    v: Fraction
    u: tuple[Fraction, ...]
    lam: Fraction
    M: Fraction
    lam_bar: Fraction = Fraction(0)


def feature(v, u, lam, M, lam_bar=0) -> Feature:
    """Return the `Feature` with these numbers, converted to fractions."""
    return Feature(Fraction(v), tuple(map(Fraction, u)), Fraction(lam), Fraction(M), Fraction(lam_bar))


@st.composite
def features(draw, multipliers=(0, Fraction(1, 2), 1, 2, 3), max_K=5, lam_bars=(0,), least_v=-6):
    """Draw a `Feature` of small integers and halves, so that ties and changes of level are common."""
    u = draw(st.lists(st.integers(-4, 4), max_size=max_K))
    lam = Fraction(draw(st.integers(0, 12)), 2)
    return feature(
        draw(st.integers(least_v, 6)),
        u,
        lam,
        draw(st.sampled_from(multipliers)),
        draw(st.sampled_from(lam_bars)),
    )


def fractions(row: Iterable) -> list[Fraction]:
    """Convert floats to fractions, exactly."""
    return [Fraction(float(x)) for x in row]


def inner(a: Iterable, b: Iterable):
    """Return ⟨a, b⟩."""
    return sum(x * y for x, y in zip(a, b, strict=True))


def relu(x):
    """Return max(x, 0)."""
    return max(x, 0)


def network(theta, W, out, x):
    """Return θᵀx + Σ_k out_k·relu(⟨W^k, x⟩): one hidden layer, no biases."""
    hidden = [relu(sum(W[j][k] * x[j] for j in range(len(x)))) for k in range(len(out))]
    return inner(theta, x) + inner(out, hidden)


def soft(x: Fraction, lam: Fraction) -> Fraction:
    """Return the soft-thresholding S_λ(x) = sign(x)·max(|x| − λ, 0)."""
    return (abs(x) - lam) * sign(x) if abs(x) > lam else Fraction(0)


def sign(x: Fraction) -> int:
    """Return the sign of x; sign(0) = 0."""
    return (x > 0) - (x < 0)


def objective(problem: Feature, b: Fraction, z: Sequence[Fraction]) -> Fraction:
    """Return the objective at (b, z) for a number b. If v is the length of a vector, b is the length of a
    multiple of this vector.
    """
    v, u, lam, _, lam_bar = problem
    squares = (v - b) ** 2 + sum((x - y) ** 2 for x, y in zip(u, z, strict=True))
    return squares / 2 + lam * abs(b) + lam_bar * sum(map(abs, z))


def feasible(problem: Feature, b: Fraction, z: Sequence[Fraction]) -> bool:
    """Return whether ‖z‖∞ ≤ M|b|."""
    return all(abs(y) <= problem.M * abs(b) for y in z)


def best_z(x: Fraction, w: Fraction, lam_bar: Fraction) -> Fraction:
    """Return argmin ½(x − z)² + λ̄|z| over |z| ≤ w: the best of the five points that can be the minimiser."""
    points = [z for z in (-w, w, Fraction(0), x - lam_bar, x + lam_bar) if abs(z) <= w]
    return min(points, key=lambda z: (x - z) ** 2 / 2 + lam_bar * abs(z))


def at_length(problem: Feature, t: Fraction) -> Fraction:
    """Return the least objective over all b of length t; |v| stands for the length of v."""
    z = [best_z(x, problem.M * t, problem.lam_bar) for x in problem.u]
    return objective(problem._replace(v=abs(problem.v)), t, z)


def least(value: Callable[[Fraction], Fraction], ends: Sequence[Fraction]) -> Fraction:
    """Return the minimiser t ≥ 0 of a function that is a convex parabola on each interval between
    neighbouring `ends`, and beyond the last.
    """
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


@lru_cache
def best_length(problem: Feature) -> Fraction:
    """Return ‖b*‖, the length of the optimal b."""
    ends = [max(abs(x) - problem.lam_bar, Fraction(0)) / problem.M for x in problem.u] if problem.M else []
    return least(lambda t: at_length(problem, t), ends)


def minimiser(problem: Feature) -> tuple[Fraction, list[Fraction]]:
    """Return the minimiser (b*, z*); if v = 0, b* ≥ 0 is returned."""
    t = best_length(problem)
    return (-t if problem.v < 0 else t), [best_z(x, problem.M * t, problem.lam_bar) for x in problem.u]


def levels(problem: Feature) -> list[Fraction]:
    """Return the levels w_0, …, w_K of LassoNet's Algorithm 2, line 5, or with |v| = ‖θ_j‖₂ of Algorithm 4,
    line 6.
    """
    v, u, lam, M, _ = problem
    ordered = sorted(map(abs, u), reverse=True)
    return [M / (1 + m * M**2) * soft(abs(v) + M * sum(ordered[:m]), lam) for m in range(len(u) + 1)]


def search(problem: Feature) -> list[int]:
    """Return every m with |W_(m+1)| ≤ w_m ≤ |W_(m)|, as in lines 7 and 8 of Algorithm 2; W_(0) = ∞, W_(K+1) =
    0.
    """
    ordered = [*sorted(map(abs, problem.u), reverse=True), Fraction(0)]
    return [m for m, w in enumerate(levels(problem)) if ordered[m] <= w and (m == 0 or w <= ordered[m - 1])]


def divides_by_zero(function: Callable, *arguments) -> bool:
    """Return whether the function divides by zero at these arguments."""
    try:
        function(*arguments)
    except ZeroDivisionError:
        return True
    return False


def computed(problem: Feature) -> tuple[Fraction, list[Fraction]]:
    """Return (θ̃_j, W̃_j) of `sl.hier_prox`, as the rational numbers that they are."""
    step = sl.hier_prox(
        [float(problem.v)], [[float(x) for x in problem.u]], lam=float(problem.lam), M=float(problem.M)
    )
    return Fraction(float(step.theta[0])), fractions(step.W[0])


def size(problem: Feature) -> Fraction:
    """Return |v| + λ + (1 + M)‖u‖₁, the size to which rounding errors of ‖b*‖ and M‖b*‖ are relative."""
    return abs(problem.v) + problem.lam + (1 + problem.M) * sum(map(abs, problem.u))


def agree(found: Iterable, exact: Iterable[Fraction], scale: Fraction) -> bool:
    """Return whether |x − y| ≤ 16·eps·scale for every pair, which allows a few roundings of numbers of that
    size."""
    pairs = zip(found, exact, strict=True)
    return all(abs(Fraction(float(x)) - y) <= 16 * EPS * scale for x, y in pairs)


def computed_is(problem: Feature, b: Fraction, z: Sequence[Fraction]) -> bool:
    """Return whether `sl.hier_prox` returns (b, z) up to rounding."""
    theta, W = computed(problem)
    return agree([theta, *W], [b, *z], size(problem))


def show(problem: Feature) -> str:
    """Return the problem in one line."""
    u = ", ".join(map(str, problem.u))
    return f"v = {problem.v}, u = ({u}), λ = {problem.lam}, M = {problem.M}" + (
        f", λ̄ = {problem.lam_bar}" if problem.lam_bar else ""
    )
