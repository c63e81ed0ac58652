"""The submodularity ratio of any set function, computed from its values."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any

import numpy as np

from sparselin.results import SubmodularityRatio
from sparselin.validation import check_count, check_flag, check_generator, check_level


def submodularity_ratio_of(
    f: Callable[[tuple[Any, ...]], float],
    ground_set: Iterable[Hashable],
    U: Iterable[Hashable],
    k: int,
    *,
    monotone: bool = False,
    tol: float = 1e-10,
    evaluation_limit: int = 200_000,
    rng: int | np.random.Generator = 0,
) -> SubmodularityRatio:
    """Compute the submodularity ratio γ_{U,k}(f) of a set function f from its values.

        γ_{U,k}(f) = min(1, inf { Σ_{x∈A} [f(L + x) − f(L)] / [f(L ∪ A) − f(L)] :
                                  L ⊆ U, |A| ≤ k, A ∩ L = ∅, f(L ∪ A) > f(L) }).

    L + x is L with the element x added. f(L + x) − f(L) is the single gain of x, and f(L ∪ A) − f(L) the
    joint gain of A. So γ is the largest number γ ≤ 1 with Σ_{x∈A} [f(L + x) − f(L)] ≥ γ·[f(L ∪ A) − f(L)] for
    all pairs (L, A) whose joint gain is positive. γ lies in [0, 1] if f is monotone, and is 1 if f is
    submodular. If f is not monotone, γ may be **negative**: then no γ ∈ [0, 1] satisfies the inequality, and
    bounds that need such a γ do not apply. Definition 2 of *Selecting Diverse Features via Spectral
    Regularization* is for non-negative f, and takes the minimum over all pairs. But a negative joint gain
    reverses the inequality, so pairs with a negative joint gain are excluded here.

    Parameters
    ----------
    f : a function of a tuple of elements, in the order of `ground_set`, that returns a finite number. It is
        called once for each set.
    ground_set : distinct hashable elements.
    U : elements of `ground_set`.
    k : the largest |A|, at least 1.
    monotone : whether f is known to be monotone, so that γ ≥ 0 even without enumeration.
    tol : joint gains up to tol·max|f| count as zero. If the values of f have errors of eps·max|f|, the ratio
        has an error of 2(k + 1)·eps/tol.
    evaluation_limit : the largest number of evaluations of f. Enumeration needs Σ_{j≤k} 2^|U|·(d−|U| choose
        j), where d is the size of the ground set. If this number exceeds the limit, `upper` is the least
        ratio over random pairs, and `lower` is 0 for a monotone f and −∞ otherwise.
    rng : seed, or generator, of the random pairs.

    Returns
    -------
    SubmodularityRatio. Its fields `base` and `added` hold positions in `ground_set`.

    Raises
    ------
    TypeError : f is not callable or returns no number, k is not an integer, monotone not a bool, rng not a
        seed or Generator.
    ValueError : repeated elements, U not within the ground set, k or the limit below 1, f not finite.

    >>> squares = submodularity_ratio_of(lambda S: float(len(S)) ** 2, range(6), [0, 1], 3)
    >>> round(squares.lower, 12), squares.base, squares.added
    (0.333333333333, array([], dtype=int64), array([0, 1, 2]))

    The second example is R² + ν·f for a regularizer of `sparselin.spectral`, with the design of
    `sl.submodularity_ratio`:

    >>> X, y, nu = np.array([[1.0, 0.6, 0.0], [0.0, 0.8, 1.0]]), np.array([1.0, 0.0]), 0.25
    >>> def r2(S):
    ...     fit = X[:, S] @ np.linalg.lstsq(X[:, S], y)[0]
    ...     return float(fit @ fit) / float(y @ y)
    >>> def g(S):  # here the size, which is submodular; or regularizer.value(X.T @ X, S)
    ...     return r2(S) + nu * len(S)
    >>> round(submodularity_ratio_of(g, range(3), [0], 2).lower, 9)
    0.573333333
    """
    if not callable(f):
        raise TypeError(f"f must be a function of a tuple of elements; got {f!r}")
    monotone = check_flag(monotone, "monotone")
    elements, inside = _check_sets(ground_set, U)
    k = min(check_count(k, "k", 1), len(elements))
    tol = check_level(tol, "tol")
    limit = check_count(evaluation_limit, "evaluation_limit", 1)
    generator = check_generator(rng)
    values = _Values(f, elements)
    d, u = len(elements), len(inside)
    needed = sum(math.comb(d - u, j) for j in range(min(k, d - u) + 1)) << u
    if needed <= limit:
        ratio, L, A = _enumerate(values, d, inside, k, tol)
        method = f"enumeration, {len(values)} values of f"
        return _result(ratio, ratio, method, L, A)
    ratio, L, A = _sample(values, d, inside, k, tol, limit, generator)
    known = "0, because f is monotone" if monotone else "none"
    method = f"lower: {known}; upper: the least ratio of random pairs, {len(values)} values of f"
    return _result(0.0 if monotone else -math.inf, ratio, method, L, A)


class _Values:
    """The values of f, each computed once. A set is given by a bit mask of the positions of its elements."""

    def __init__(self, f: Callable[[tuple[Any, ...]], float], elements: Sequence[Hashable]) -> None:
        self.f = f
        self.elements = elements
        self.known: dict[int, float] = {}

    def __len__(self) -> int:
        return len(self.known)

    def __call__(self, mask: int) -> float:
        value = self.known.get(mask)
        if value is None:
            S = tuple(x for i, x in enumerate(self.elements) if mask >> i & 1)
            returned = self.f(S)
            try:
                value = float(returned)
            except (TypeError, ValueError):
                raise TypeError(f"f must return a number; f({S!r}) is {returned!r}") from None
            if not math.isfinite(value):
                raise ValueError(f"f must be finite; f({S!r}) is {value}")
            self.known[mask] = value
        return value

    @property
    def size(self) -> float:
        """The largest |f(S)| over the sets S at which f was evaluated."""
        return max(map(abs, self.known.values()), default=0.0)


_Found = tuple[float, int, int]


def _enumerate(values: _Values, d: int, inside: list[int], k: int, tol: float) -> _Found:
    """Find the least ratio of a sum of single gains to a joint gain, over all pairs (L, A).

    Returns the ratio, L and A. A single gain is f(L + x) − f(L), and the joint gain is f(L ∪ A) − f(L).

    inside : the positions of the elements of U.

    All values of f are computed first, because a joint gain counts as zero if it is at most tol·max|f|.
    """
    bases = [0]
    for i in inside:
        bases += [L | 1 << i for L in bases]
    outside = sum(1 << i for i in range(d)) & ~bases[-1]
    for L in bases:
        for A in _up_to(outside, k):
            values(L | A)
    zero = tol * values.size
    known = values.known
    best: _Found = (1.0, 0, 0)
    for L in bases:
        start = known[L]
        free = [1 << i for i in range(d) if not L >> i & 1]
        gain = [known[L | x] - start for x in free]
        stack = [(0, 0, 0.0, 0)]
        while stack:
            A, count, singles, first = stack.pop()
            joint = known[L | A] - start
            if joint > zero and singles < best[0] * joint:
                best = (singles / joint, L, A)
            if count < k:
                for a in range(len(free) - 1, first - 1, -1):
                    stack.append((A | free[a], count + 1, singles + gain[a], a + 1))
    return best


def _up_to(mask: int, k: int) -> list[int]:
    """Return the subsets of at most k elements of the set `mask`, as bit masks."""
    found = [0]
    for i in range(mask.bit_length()):
        if mask >> i & 1:
            found += [A | 1 << i for A in found if A.bit_count() < k]
    return found


def _sample(
    values: _Values, d: int, inside: list[int], k: int, tol: float, limit: int, rng: np.random.Generator
) -> _Found:
    """Find the least ratio of a sum of single gains to a joint gain, over random pairs (L, A).

    Returns the ratio, L and A. A single gain is f(L + x) − f(L), and the joint gain is f(L ∪ A) − f(L). Each
    element of U is in L with a probability that is itself random. The sets A are the first 1, …, k elements
    in a random order of the elements outside L. f is evaluated on at most `limit` sets.
    """
    pairs: list[_Found] = []
    fruitless = 0
    while len(values) + 2 * k <= limit and fruitless < 100:
        before = len(values)
        L = sum(1 << i for i, hit in zip(inside, rng.random(len(inside)) < rng.random(), strict=True) if hit)
        A = 0
        start = values(L)
        singles = 0.0
        for i in rng.permutation([i for i in range(d) if not L >> i & 1])[:k].tolist():
            A |= 1 << i
            singles += values(L | 1 << i) - start
            pairs.append((singles, L, A))
        for _, _, B in pairs[-A.bit_count() :] if A else []:
            values(L | B)
        fruitless = fruitless + 1 if len(values) == before else 0
    zero = tol * values.size
    best: _Found = (1.0, 0, 0)
    for singles, L, A in pairs:
        joint = values.known[L | A] - values.known[L]
        if joint > zero and singles < best[0] * joint:
            best = (singles / joint, L, A)
    return best


def _check_sets(ground_set: Iterable[Hashable], U: Iterable[Hashable]) -> tuple[list[Hashable], list[int]]:
    """Return the ground set as a list, and the sorted positions of the elements of U.

    Raises ValueError for repeated elements, or elements of U that are not in the ground set.
    """
    elements = list(ground_set)
    place = {x: i for i, x in enumerate(elements)}
    if not elements or len(place) < len(elements):
        raise ValueError(f"ground_set must hold distinct elements, at least one; got {elements}")
    chosen = list(U)
    others = [x for x in chosen if x not in place]
    if others or len(set(chosen)) < len(chosen):
        fault = f"{others[0]!r} is not in it" if others else "an element is repeated"
        raise ValueError(f"U must be a subset of ground_set; {fault}")
    return elements, sorted(place[x] for x in chosen)


def _result(lower: float, upper: float, method: str, L: int, A: int) -> SubmodularityRatio:
    places = ([i for i in range(mask.bit_length()) if mask >> i & 1] for mask in (L, A))
    base, added = (np.array(J, np.intp) for J in places)
    return SubmodularityRatio(lower, upper, method, base, added)
