"""The submodularity ratio, and the algorithms of the spectral-regularization paper, computed exactly.

The algorithms maximise a set function: FR (greedy forward regression), LS (local search) and GLS (greedy
local search, which combines the two). As in `proofs_checks.spectral`, a set function on d elements is a table
of 2^d values, and nothing is imported from `sparselin`.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from flint import arb, fmpq

from proofs_checks.spectral import Design, Table, _size, mask_of, members, midpoint, subsets, vectors


def has_stated_value(found: Any, g: Table, k: int | None = None) -> bool:
    """Return whether a result is a set of features S, and states the value g(S) of the objective g correctly.

    If k is given, S must have k features. The stated value may differ from g(S) by 1e-9·max(1, max |g|), to
    allow for rounding: with the condition number κ of the selected columns, the error of R² is about κ·eps,
    and the error of a regularizer about eps. For independent columns of the shapes in `SHAPES`, κ is below
    10⁵, because the determinant of their Gram matrix is a positive integer.
    """
    S = found.support.tolist()
    d, size = _size(g), max(1.0, *(abs(float(midpoint(v))) for v in g))
    proper = len(set(S)) == len(S) and set(S) <= set(range(d)) and len(S) == (min(k, d) if k else len(S))
    return proper and abs(found.value - float(midpoint(g[mask_of(S)]))) <= 1e-9 * size


NUS = (fmpq(1), fmpq(1, 8), fmpq(1, 128), fmpq(1, 4096))
# R² of y = (0, 1) on (1, 0) and (1, 1)/√2: γ_{∅,2} = γ_{{0},2} = ½
SUPPRESSION = [fmpq(0), fmpq(0), fmpq(1, 2), fmpq(1)]


def submodularity_ratio(f: Table, U: int, k: int, ground: int | None = None, printed: bool = False) -> Any:
    """Return the submodularity ratio γ_{U,k}(f) of a set function f.

    The ratio is the least value of Σ_{x∈A}[f(L+x) − f(L)] / [f(L∪A) − f(L)] over the sets L ⊆ U and the sets
    A that are disjoint from L and have 1 to k elements. Only pairs (L, A) with a positive denominator count,
    and the result is at most 1. With `printed`, pairs with a negative denominator count as well.
    """
    full = (len(f) - 1) if ground is None else ground
    least: Any = fmpq(1)
    for L in subsets(U):
        gain = {x: f[L | 1 << x] - f[L] for x in members(full & ~L)}
        for A in subsets(full & ~L, k):
            joint = f[L | A] - f[L]
            if joint > 0 or (printed and joint < 0):
                single = sum((gain[x] for x in members(A)), fmpq(0))
                ratio = single / (fmpq(joint) if isinstance(joint, int) else joint)
                least = _least(least, ratio)
    return least


def forward_regression(g: Table, k: int, ground: int | None = None) -> list[int]:
    """Return the set that forward regression (FR) selects for the objective g.

    In each of k steps the algorithm adds one element: the first element that maximises g, even if the value
    of g falls.
    """
    left = members((len(g) - 1) if ground is None else ground)
    picked: list[int] = []
    for _ in range(min(k, len(left))):
        S = mask_of(picked)
        best = first_largest([x for x in left if x not in picked], lambda x, S=S: g[S | 1 << x])
        picked.append(best)
    return picked


def local_search(f: Table, g: Table, eps: Any, ground: int | None = None, deletions: bool = False) -> int:
    """Return the set that local search (LS) selects.

    The search maximises f over the subsets of a ground set U with n elements, and ends at a set S. The result
    is the set with the largest g among S, U∖S and U. The search as printed adds an element x as long as f(S +
    x) ≥ (1 + ε/n²)f(S). With `deletions`, it is the search of Feige, Mirrokni and Vondrák: it adds or deletes
    an element as long as the value of the new set exceeds (1 + ε/n²)f(S).
    """
    full = (len(f) - 1) if ground is None else ground
    S = climb(f, eps, full, deletions)
    return first_largest([S, full & ~S, full], lambda T: g[T])


def climb(f: Table, eps: Any, full: int, deletions: bool = False) -> int:
    """Return the set at which the local search for a large f ends: no allowed step is left.

    The search starts from the best single element. With n the number of elements, each step adds an element x
    with f(S + x) ≥ (1 + ε/n²)f(S). With `deletions`, a step adds or deletes an element, and the new value
    must exceed (1 + ε/n²)f(S).
    """
    if not full:
        return 0
    S = 1 << first_largest(members(full), lambda x: f[1 << x])
    factor = 1 + fmpq(eps) / full.bit_count() ** 2
    while True:
        if deletions:
            steps = [T for T in (S ^ 1 << x for x in members(full)) if f[T] > factor * f[S]]
        else:
            steps = [T for T in (S | 1 << x for x in members(full & ~S)) if f[T] >= factor * f[S]]
        if not steps:
            return S
        S = steps[0]


class Searched(NamedTuple):
    """The sets that greedy local search (GLS) computes, as bit masks.

    `S1` is the set of forward regression on all features, and `S1_local` the set of local search within `S1`.
    `S2` is the set of forward regression on the features outside `S1`. `best` is the best of the three.
    """

    S1: int
    S1_local: int
    S2: int
    best: int


def greedy_local_search(f: Table, g: Table, k: int, eps: Any, deletions: bool = False) -> Searched:
    """Return the three sets that greedy local search (GLS) computes, and the one with the largest g.

    With U the set of all features, the sets are S₁ = FR(U), S₁' = LS(S₁) and S₂ = FR(U∖S₁), where FR is
    forward regression and LS is local search.
    """
    full = len(g) - 1
    S1 = mask_of(forward_regression(g, k))
    S1_local = local_search(f, g, eps, S1, deletions)
    S2 = mask_of(forward_regression(g, k, full & ~S1))
    return Searched(S1, S1_local, S2, first_largest([S1, S1_local, S2], lambda S: g[S]))


def optimum(g: Table, k: int) -> Any:
    """Return the maximum of the set function g over the sets of at most k elements."""
    return g[first_largest(subsets(len(g) - 1, k), lambda S: g[S])]


def first_largest(candidates: Sequence[int], value: Callable[[int], Any]) -> int:
    """Return the first candidate with the largest value.

    Values that are balls, that is numbers with error bounds, are compared by their midpoints.
    """
    best = candidates[0]
    for candidate in candidates[1:]:
        if midpoint(value(candidate)) > midpoint(value(best)):
            best = candidate
    return best


def neighbour(rng: np.random.Generator, design: Design) -> Design:
    """Return a design that differs from the given one in one column, or in one entry of y ≠ 0."""
    X, y = design.X.copy(), design.y.copy()
    if rng.random() < 0.5:
        pool = vectors(X.shape[0], design.N)
        X[:, rng.integers(X.shape[1])] = pool[rng.integers(len(pool))]
    else:
        y[rng.integers(len(y))] += rng.choice([-2, -1, 1, 2])
        if not y.any():
            y = design.y
    return Design(X, design.N, y)


def one_minus_exp(gamma: Any) -> arb:
    """Return 1 − e^{−γ}."""
    return 1 - (-arb(gamma)).exp()


def worst_by_exchanges(
    rng: np.random.Generator, start: Design, ratio: Callable[[Design], float], steps: int
) -> float:
    """Return the least ratio that a random search finds, starting from a given design.

    Each step changes one column or one entry of y, and is accepted if it does not raise the ratio.
    """
    least = ratio(start)
    for _ in range(steps):
        candidate = neighbour(rng, start)
        value = ratio(candidate)
        if value <= least:
            start, least = candidate, value
    return least


def least_found(
    rng: np.random.Generator, starts: int, start: Callable[[], tuple[Design, Callable[[Design], float]]]
) -> float:
    """Return the least ratio that random searches from several designs find, or 100 if all are larger.

    Each search takes 20 steps of `worst_by_exchanges`. The function `start` draws a design, and the ratio as
    a function of the design.
    """
    return min(100.0, *(worst_by_exchanges(rng, *start(), 20) for _ in range(starts)))


def verify(check: Any, *conditions: Any) -> None:
    """Count each condition as a case of the check; the check fails at the first condition that does not
    hold.
    """
    check.over(conditions, bool)


def settle(check: Any, left: Any, right: Any, what: str) -> None:
    """Count the inequality left ≥ right as a case of the check.

    The sides may be balls, that is numbers with error bounds. If the balls overlap, the case counts as
    undecided.
    """
    if left >= right:
        check.tally(1)
    elif left < right:
        check.tally(1, 1, what)
    else:
        check.undecided()


def settle_bounds(
    check: Any, R: Table, g: Table, k: int, found: Searched, sets: set[int], what: str
) -> float:
    """Check the bounds of Theorems 14 and 16 of the spectral paper for one maximisation problem.

    Let OPT be the maximum of g over the sets of at most k elements. The first bound is (1 − e^{−γ/2})/7·OPT
    with the submodularity ratio γ = γ_{∅,2k}(R²), which is the largest that the paper can mean. It is checked
    for each set of `sets`. The second bound is (1 − e^{−γ})·OPT with γ = γ_{S₁,k}(R²), where S₁ is the set of
    forward regression. It is checked for S₁. The result is the value of the best set found, divided by the
    first bound; it is 100 if the first bound is 0.
    """
    best, widest = optimum(g, k), submodularity_ratio(R, 0, 2 * k)
    printed = one_minus_exp(widest / 2) / 7 * best
    sharper = one_minus_exp(submodularity_ratio(R, found.S1, k)) * best
    for S in sets:
        settle(check, arb(g[S]), printed, f"{what}: the printed bound")
    settle(check, arb(g[found.S1]), sharper, f"{what}: the sharper bound")
    return float((g[found.best] / printed).mid()) if widest > 0 else 100.0


def _least(a: Any, b: Any) -> Any:
    if isinstance(a, arb) or isinstance(b, arb):
        return arb(a).min(arb(b))
    return min(a, b)
