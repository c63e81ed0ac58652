"""LassoNet's proximal problem for one feature in rational arithmetic, solved without the paper's formulas.

The problem of Proposition 1 of the LassoNet paper is

    minimise  ½‖v − b‖² + ½‖u − z‖² + λ‖b‖₂ + λ̄‖z‖₁   subject to  ‖z‖∞ ≤ M‖b‖₂.

The vectors v and u and the numbers λ, λ̄ and M are given. The case λ̄ = 0 gives problems (3) and (4) of the
paper. If the length t = ‖b‖₂ is fixed, the least value of ½‖v − b‖² is ½(‖v‖ − t)², by the Cauchy–Schwarz
inequality, and the objective can be minimised over each entry z_k separately. The least objective is then a
function of t ≥ 0 alone. This function is quadratic between those points t for which S_λ̄(|u_k|) = Mt for some
k, where S_λ̄(x) = sign(x)·max(|x| − λ̄, 0) is soft-thresholding.
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
    """The data of LassoNet's proximal problem for one feature j, as rational numbers.

    The fields are v = θ_j (the weight of the feature in the linear part), u = W_j (its weights in the first
    hidden layer), the penalties λ and λ̄, and the factor M in the constraint ‖W_j‖∞ ≤ M|θ_j|.
    """

    v: Fraction
    u: tuple[Fraction, ...]
    lam: Fraction
    M: Fraction
    lam_bar: Fraction = Fraction(0)

    def objective(self, b: Fraction, z: Sequence[Fraction]) -> Fraction:
        """Return the objective ½(v − b)² + ½‖u − z‖² + λ|b| + λ̄‖z‖₁ for a number b and a vector z.

        It also covers the problem for a group of features, where v is a vector and b a multiple of this
        vector: pass the lengths of these two vectors.
        """
        squares = (self.v - b) ** 2 + sum((x - y) ** 2 for x, y in zip(self.u, z, strict=True))
        return squares / 2 + self.lam * abs(b) + self.lam_bar * sum(map(abs, z))

    def feasible(self, b: Fraction, z: Sequence[Fraction]) -> bool:
        """Return whether (b, z) meets the constraint ‖z‖∞ ≤ M|b|."""
        return all(abs(y) <= self.M * abs(b) for y in z)

    @property
    def size(self) -> Fraction:
        """The scale |v| + λ + (1 + M)‖u‖₁ of the rounding errors.

        Errors of ‖b*‖ and of M‖b*‖, where b* is the solution, are measured relative to this number.
        """
        return abs(self.v) + self.lam + (1 + self.M) * sum(map(abs, self.u))

    def __str__(self) -> str:
        u = ", ".join(map(str, self.u))
        more = f", λ̄ = {self.lam_bar}" if self.lam_bar else ""
        return f"v = {self.v}, u = ({u}), λ = {self.lam}, M = {self.M}{more}"


def feature(v, u, lam, M, lam_bar=0) -> Feature:
    """Return the data of LassoNet's proximal problem for one feature, with all numbers converted to
    fractions.
    """
    return Feature(Fraction(v), tuple(map(Fraction, u)), Fraction(lam), Fraction(M), Fraction(lam_bar))


@st.composite
def features(draw, multipliers=(0, Fraction(1, 2), 1, 2, 3), max_K=5, lam_bars=(0,), least_v=-6):
    """Draw the data of LassoNet's proximal problem for one feature, for Hypothesis.

    The numbers are small integers and halves, so that equal weights and other ties are common.
    """
    u = draw(st.lists(st.integers(-4, 4), max_size=max_K))
    lam = Fraction(draw(st.integers(0, 12)), 2)
    v, M = draw(st.integers(least_v, 6)), draw(st.sampled_from(multipliers))
    return feature(v, u, lam, M, draw(st.sampled_from(lam_bars)))


def fractions(row: Iterable) -> list[Fraction]:
    """Convert floats to fractions, exactly."""
    return [Fraction(float(x)) for x in row]


def inner(a: Iterable, b: Iterable):
    """Return the inner product ⟨a, b⟩ of two vectors."""
    return sum(x * y for x, y in zip(a, b, strict=True))


def relu(x):
    """Return max(x, 0)."""
    return max(x, 0)


def network(theta, W, out, x):
    """Return the output θᵀx + Σ_k out_k·max(⟨W^k, x⟩, 0) of a network with a linear part θ.

    The network has one hidden layer and no biases. W^k is column k of W: the input weights of hidden unit k.
    """
    hidden = [relu(sum(W[j][k] * x[j] for j in range(len(x)))) for k in range(len(out))]
    return inner(theta, x) + inner(out, hidden)


def soft(x: Fraction, lam: Fraction) -> Fraction:
    """Return the soft-thresholding S_λ(x) = sign(x)·max(|x| − λ, 0)."""
    return (abs(x) - lam) * sign(x) if abs(x) > lam else Fraction(0)


def sign(x: Fraction) -> int:
    """Return the sign of x; sign(0) = 0."""
    return (x > 0) - (x < 0)


def best_z(x: Fraction, w: Fraction, lam_bar: Fraction) -> Fraction:
    """Return the z with |z| ≤ w that minimises ½(x − z)² + λ̄|z|.

    The minimiser is the best of five points: −w, w, 0, x − λ̄ and x + λ̄.
    """
    points = [z for z in (-w, w, Fraction(0), x - lam_bar, x + lam_bar) if abs(z) <= w]
    return min(points, key=lambda z: (x - z) ** 2 / 2 + lam_bar * abs(z))


def at_length(problem: Feature, t: Fraction) -> Fraction:
    """Return the least value of LassoNet's proximal objective over all b of the length t, for the best z.

    If the problem has a vector v, the field v of `problem` has the length of this vector.
    """
    z = [best_z(x, problem.M * t, problem.lam_bar) for x in problem.u]
    return problem._replace(v=abs(problem.v)).objective(t, z)


def least(value: Callable[[Fraction], Fraction], ends: Sequence[Fraction]) -> Fraction:
    """Return the point t ≥ 0 at which a continuous function of t is least.

    The function must be a strictly convex parabola between neighbouring points of `ends`, and beyond the last
    of these points.
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
    """Return the length ‖b*‖ of b in the solution (b*, z*) of LassoNet's proximal problem for one feature."""
    ends = [max(abs(x) - problem.lam_bar, Fraction(0)) / problem.M for x in problem.u] if problem.M else []
    return least(lambda t: at_length(problem, t), ends)


def minimiser(problem: Feature) -> tuple[Fraction, list[Fraction]]:
    """Return the solution (b*, z*) of LassoNet's proximal problem for one feature.

    If v = 0, both b* and −b* may be optimal; the result then has b* ≥ 0.
    """
    t = best_length(problem)
    return (-t if problem.v < 0 else t), [best_z(x, problem.M * t, problem.lam_bar) for x in problem.u]


def levels(problem: Feature) -> list[Fraction]:
    """Return the numbers w_0, …, w_K that line 5 of Algorithm 2 in the LassoNet paper computes.

    The function also computes these numbers in line 6 of Algorithm 4, if |v| is the length ‖θ_j‖₂.
    """
    v, u, lam, M, _ = problem
    ordered = sorted(map(abs, u), reverse=True)
    return [M / (1 + m * M**2) * soft(abs(v) + M * sum(ordered[:m]), lam) for m in range(len(u) + 1)]


def search(problem: Feature) -> list[int]:
    """Return every m with |W_(m+1)| ≤ w_m ≤ |W_(m)|, which lines 7 and 8 of LassoNet's Algorithm 2 search
    for.

    Here |W_(1)| ≥ … ≥ |W_(K)| are the sorted weights of the feature, W_(0) = ∞ and W_(K+1) = 0. The numbers
    w_0, …, w_K are those of `levels`.
    """
    ordered = [*sorted(map(abs, problem.u), reverse=True), Fraction(0)]
    return [m for m, w in enumerate(levels(problem)) if ordered[m] <= w and (m == 0 or w <= ordered[m - 1])]


def divides_by_zero(function: Callable, *arguments) -> bool:
    """Return whether a function divides by zero if it is called with the given arguments."""
    try:
        function(*arguments)
    except ZeroDivisionError:
        return True
    return False


def computed(problem: Feature) -> tuple[Fraction, list[Fraction]]:
    """Return the solution that `sl.hier_prox` computes in floating point, converted to rational numbers."""
    step = sl.hier_prox(
        [float(problem.v)], [[float(x) for x in problem.u]], lam=float(problem.lam), M=float(problem.M)
    )
    return Fraction(float(step.theta[0])), fractions(step.W[0])


def agree(found: Iterable, exact: Iterable[Fraction], scale: Fraction) -> bool:
    """Return whether each computed number differs from its exact value by at most 16·eps·scale.

    Here eps is the machine epsilon. The factor 16 allows for a few roundings of numbers of the size `scale`.
    """
    pairs = zip(found, exact, strict=True)
    return all(abs(Fraction(float(x)) - y) <= 16 * EPS * scale for x, y in pairs)


def computed_is(problem: Feature, b: Fraction, z: Sequence[Fraction]) -> bool:
    """Return whether `sl.hier_prox` returns the solution (b, z) up to rounding."""
    theta, W = computed(problem)
    return agree([theta, *W], [b, *z], problem.size)
