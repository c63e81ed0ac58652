"""Stability selection by complementary pairs: the features that are selected on most halves of the rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NamedTuple, Unpack, get_args

import numpy as np
from numpy.typing import ArrayLike

from sparselin.greedy._runs import certain_supports
from sparselin.greedy.ols import ols
from sparselin.greedy.omp import GroupBases, groups_of_problem, omp
from sparselin.lasso.path import lasso_path
from sparselin.linalg.elimination import centre
from sparselin.problem import DataOptions, Problem, as_problem, takes_problem
from sparselin.problem.arguments import rows_with_weight
from sparselin.problem.labels import number_groups
from sparselin.results import IndexArray, StabilitySelection, Status
from sparselin.results.stability import check_threshold
from sparselin.validation import Columns, Names, Rng, check_choice, check_count, check_generator
from sparselin.validation.progress import ProgressLog

Method = Literal["omp", "ols", "lasso"]
_AT_ONCE = 10**6  # the most indices of rows drawn at once
_LONG = 10**6  # a call is long if the halves of all pairs have more entries
_PARTS = 20  # the least number of parts in which pairs are drawn if the progress is logged


@takes_problem
def stability_selection(
    X: Any,
    y: ArrayLike | None,
    k: int,
    *,
    method: Method = "omp",
    threshold: float = 0.75,
    pairs: int = 50,
    forced: Columns = (),
    groups: ArrayLike | None = None,
    group_weights: Literal["sqrt", "noise"] | None = None,
    rng: Rng = 0,
    callback: Callable[[StabilitySelection], object] | None = None,
    **data: Unpack[DataOptions],
) -> StabilitySelection:
    """Count how often each feature is among the first t features of a selection path on half of the rows.

    A pair of disjoint sets of m = ⌊n/2⌋ rows is drawn B times (for odd n one row is left out; n counts the
    rows with a positive weight). On each half A
    the path of the method is computed, and Ŝ_t(A) denotes its first t features, t ≤ k. If A and A' are the
    two halves of a pair, let

        Π̂_t(j) = share of all 2B halves with j ∈ Ŝ_t(A),
        Π̃_t(j) = share of the B pairs with j ∈ Ŝ_t(A) and j ∈ Ŝ_t(A').

    The stable features are the features j with Π̂_t(j) ≥ τ, where the threshold τ satisfies ½ < τ ≤ 1
    (Meinshausen and Bühlmann, *Stability selection*, 2010; drawing the halves in pairs is due to Shah and
    Samworth, *Variable selection with error control: another look at stability selection*, 2013).

    **The bound.** Let the rows (with their weights) be independent and identically distributed; this is the
    only assumption. Let p_j be the probability that j ∈ Ŝ_t on m such rows, and let q ≥ Σp_j (for example
    q = t). Let L be the set of features with p_j ≤ θ, where θ = q/d. Then, with Π̂_j short for Π̂_t(j),

        E|{j ∈ L : Π̂_j ≥ τ}| ≤ θ/(2τ − 1)·E|Ŝ_t ∩ L| ≤ q²/(d(2τ − 1)).

    Proof. Let a be 1 if j is selected on the first half of a pair, and else 0, and let b be the same for the
    second half. Since 0 ≤ (1 − a)(1 − b), a + b − 1 ≤ ab. The mean of both sides over the pairs gives
    2Π̂_j − 1 ≤ Π̃_j. The halves of a pair have no row in common and are drawn independently of the data, so a
    and b are independent and EΠ̃_j = p_j². By Markov's inequality
    P(Π̂_j ≥ τ) ≤ P(Π̃_j ≥ 2τ − 1) ≤ p_j²/(2τ − 1). Summing over j ∈ L proves the claim, because Σ_{j∈L}
    p_j² ≤ θ·Σ_{j∈L} p_j = θ·E|Ŝ_t ∩ L|. ∎ The bound can be sharpened because 2BΠ̂_j is a count: Π̂_j ≥ τ
    implies BΠ̃_j ≥ s := c − B, where c is the least integer ≥ 2Bτ. So B/s ≤ 1/(2τ − 1) replaces 1/(2τ − 1).

    What is L? A feature of L is selected on half of the data with at most the probability q/d, as if q of the
    d features were drawn at random. L is not the set N of features without influence on y, because a feature
    that is correlated with an influential one may have a large p_j. If L contains N, the bound also holds for
    the expected number of false selections (Meinshausen and Bühlmann, Theorem 1). L contains N under two
    conditions, which cannot be checked on data. First, the events j ∈ Ŝ_t for j ∈ N are exchangeable. Second,
    the method is no worse than guessing: E|Ŝ_t ∩ N^c|/|N^c| ≥ E|Ŝ_t ∩ N|/|N|, where N^c holds the other
    features. Then p_j = p for all j ∈ N, and q ≥ |N|p + |N^c|p = dp.

    **The unimodal bound.** If the distribution of BΠ̃_j on {0, …, B} is unimodal for every j ∈ L, and Bθ² <
    1, the factor B/s can be replaced by

        C = B·max_{s≤b≤B} 2(b − s + 1)/(b(b + 1)).

    For B = 50 this C is about a half of B/s at τ = 0.75, and a third at τ = 0.9. (It is the C(τ, B) of Shah
    and Samworth's Theorem 2, which holds for larger θ too.) Proof. A unimodal distribution with mode μ is a
    mixture of uniform distributions on intervals {a, …, b} that contain μ. A variable U with such a uniform
    distribution has EU = (a + b)/2 ≥ μ/2, and the mean of the mixture is Bp_j² ≤ Bθ² < 1. So μ ≤ 1, a ≤ 1 and
    a(a − 1) = 0. If b ≥ s, then P(U ≥ s) = (b − s + 1)/(b − a + 1) = 2(b − s + 1)/(b(b + 1) − a(a − 1))·EU ≤
    (C/B)·EU; otherwise P(U ≥ s) = 0. Averaging over the mixture gives P(BΠ̃_j ≥ s) ≤ C·p_j², and the rest of
    the proof is as above. ∎

    With `groups`, a group takes the place of a feature in all of this: d is the number of groups, and their
    labels are the names.

    Forced features are in every set Ŝ_t. If there are f of them, t − f replaces q, and d − f replaces d in
    the bound. The intercept is in every set, and is not counted. Centring and standardization are done
    separately on each half.

    Parameters
    ----------
    X, y : design (n, d) and response (n,), n ≥ 2, or one `Problem` in place of both. Rows are needed, so
        neither a Gram problem nor a LinearOperator is accepted.
    k : the longest t, 1 ≤ k ≤ d, `forced` features included.
    method : "omp", "ols" or "lasso". For "lasso" Ŝ_t are the first t features that enter the LASSO path, even
        if they leave the path again (if several enter at one knot, the lowest index is first). A path may end
        with fewer than k features. Then its last set counts as Ŝ_t for all larger t, also if rounding leaves
        the next step undecided; the field `undecided` of the result counts such halves.
    threshold : the default τ of the methods of the result, and the τ of the table that it prints.
    pairs : B ≥ 1.
    forced : columns of every set, by index or name; with `groups`, every set has their groups.
    groups : (d,) labels, for method="omp" only. Columns with the same label are selected together, as by
        `OMPSelector(groups=...)`, for example the indicators of a category.
    group_weights : the rule for the weights of groups; see `OMPSelector`.
    intercept, standardize : as for `omp`, on each half.
    sample_weight : (n,) weights of the squared residuals; a row of weight w is still drawn as one row, not as
        w rows, and their unit does not matter. Rows of weight 0 are as if removed.
    rng : seed, or generator, of the random halves.
    callback : called after each pair with the result so far; returning True stops, with the status STOPPED.

    Returns
    -------
    StabilitySelection, with `frequencies` (Π̂) and `simultaneous` (Π̃), and the methods `selected(t, τ)` and
    `bound(t, τ)` for every t, all from the same 2B paths. Its status is BEYOND_PRECISION if a path ended so.

    Raises
    ------
    TypeError, ValueError : bad data (see `Problem`), a single row, k outside 1..d, pairs < 1, a threshold
        outside (1/2, 1], an unknown method, repeated or unknown `forced` features, or more than k of them.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((100, 40))
    >>> y = X[:, :3] @ [3.0, -2.0, 1.0] + rng.standard_normal(100)
    >>> found = stability_selection(X, y, 4)
    >>> sorted(found.selected().tolist()), found.frequencies[-1, :3].tolist()
    ([0, 1, 2], [1.0, 1.0, 0.94])
    >>> round(found.bound(3, 0.9), 3), round(found.bound(3, 0.9, unimodal=True), 3)
    (0.281, 0.097)
    """
    check_choice(method, "method", get_args(Method))
    problem = as_problem(X, y, **data)
    rule = _rule(problem, k, method, forced, groups, group_weights)
    k = rule.k
    if problem.exact_columns(np.zeros(1, np.intp)) is None:
        raise TypeError("rows of X are needed; a Gram or compressed problem has none. Pass X and y")
    rows = rows_with_weight(problem, X, data.get("sample_weight"))
    if len(rows) < problem.n:
        problem = problem.of_rows(rows)
    problem = problem.by_position()
    pairs = check_count(pairs, "pairs", 1)
    tau = check_threshold(threshold)
    if problem.n < 2:
        raise ValueError("X must have at least two rows with a positive weight, one for each half; got one")
    m = problem.n // 2
    random = check_generator(rng)
    paths: list[IndexArray] = []
    undecided = 0

    def result(status: Status) -> StabilitySelection:
        shape = (problem.n, rule.units)
        if undecided and status is Status.COMPLETED:
            status = Status.BEYOND_PRECISION
        return StabilitySelection(
            np.array(paths), rule.forced, tau, method, *shape, status, rule.names, undecided, rule.groups
        )

    progress = ProgressLog("stability_selection", "pairs", pairs)
    at_once = 1 if callback is not None else 1 + _AT_ONCE // problem.n
    if progress.enabled and pairs * problem.n * problem.d > _LONG:
        at_once = min(at_once, 1 + pairs // _PARTS)
    while len(paths) < pairs:
        count = min(at_once, pairs - len(paths))
        halves = np.array([random.permutation(problem.n)[: 2 * m] for _ in range(count)])
        orders, more = _orders(problem, np.sort(halves.reshape(-1, m)), rule)
        paths.extend(orders.reshape(-1, 2, k))
        undecided += more
        progress.report(len(paths))
        if callback is not None and callback(result(Status.STOPPED)):
            return result(Status.STOPPED)
    return result(Status.COMPLETED)


class _Rule(NamedTuple):
    """The selection on each half: k units by a method. A unit is a feature, or a group of features.

    Attributes
    ----------
    units, names : the number of units, and their names or None.
    forced : the numbers of the forced units.
    groups : (d,) the number of the group of each feature, or None.
    weights : the rule for the weights of groups.
    """

    k: int
    method: str
    units: int
    names: Names
    forced: IndexArray
    groups: IndexArray | None
    weights: str | None


def _rule(problem: Problem, k: int, method: str, forced: Columns, groups: Any, weights: str | None) -> _Rule:
    """Check the arguments of `stability_selection` that say how to select."""
    if weights is not None:
        check_choice(weights, "group_weights", ("sqrt", "noise"))
    if groups is None:
        if weights is not None:
            raise ValueError(f"group_weights={weights!r} needs groups; pass them, or leave group_weights out")
        k, first = problem.budget(k, forced)
        return _Rule(
            k=k,
            method=method,
            units=problem.n_features,
            names=problem.names,
            forced=first,
            groups=None,
            weights=None,
        )
    if method != "omp":
        raise ValueError(f"groups need method='omp'; got {method!r}")
    names = problem.design.labels or problem.names or ()
    labels, numbers = number_groups(groups, names, problem.n_features)
    first = np.array(list(dict.fromkeys(numbers[problem.indices(forced, "forced")].tolist())), np.intp)
    k = check_count(k, "k", max(1, len(first)), len(labels))
    return _Rule(
        k=k,
        method=method,
        units=len(labels),
        names=tuple(map(str, labels.tolist())),
        forced=first,
        groups=numbers,
        weights=weights,
    )


def _orders(problem: Problem, halves: IndexArray, rule: _Rule) -> tuple[IndexArray, int]:
    """Return the orders of `_order` (b, k) for each row of `halves` (b, m), the rows of a half.

    Also return how many of the paths ended because rounding left the next step undecided.
    """
    orders = np.full((len(halves), rule.k), -1)
    undecided = 0
    if rule.method != "lasso" and rule.groups is None:
        orders = certain_supports(problem, halves, rule.k, rule.forced, rule.method == "ols")
    for i in np.flatnonzero(orders[:, -1] < 0):
        orders[i], status = _order(problem.of_rows(halves[i]), rule)
        undecided += status is Status.BEYOND_PRECISION
    return orders, undecided


def _order(half: Problem, rule: _Rule) -> tuple[IndexArray, Status]:
    """Return the first k units (k,) of the path on a half, padded with −1, and its status."""
    k = rule.k
    if rule.groups is not None:
        if rule.weights == "noise":  # only the order counts, which a projected problem has too
            plain = centre(half.in_double())
            bases = GroupBases(plain.X, rule.groups, None, intercept=False)
            half = Problem(bases.X, plain.y)
        path = groups_of_problem(half, k, rule.groups, rule.weights, rule.forced)
        order, status = path.order, path.status
    elif rule.method == "lasso":
        order, status = _lasso_order(half, k, rule.forced)
    else:
        selected = (omp if rule.method == "omp" else ols)(half, k, forced=rule.forced)
        order, status = selected.support, selected.status
    return np.pad(order, (0, k - len(order)), constant_values=-1), status


def _lasso_order(half: Problem, k: int, forced: IndexArray) -> tuple[IndexArray, Status]:
    """Return k features: `forced` first, then those that enter the LASSO path of a half, in order of entry.

    There are fewer than k if the path ends early, with the status that is returned too. A feature that leaves
    and enters again keeps its first place. So the number of segments until k features have entered is not
    known beforehand: it is doubled until it suffices.
    """
    steps = k - len(forced) + 2
    while True:
        path = lasso_path(half, forced=forced, max_steps=steps)
        entered = dict.fromkeys([*forced.tolist(), *(j for active in path.active for j in sorted(active))])
        if len(entered) >= k:
            return np.array(list(entered)[:k], np.intp), Status.COMPLETED
        if path.status is not Status.MAX_STEPS:
            return np.array(list(entered), np.intp), path.status
        steps *= 2
