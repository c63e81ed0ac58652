"""All subsets of k features whose objective is nearly the best: the Rashomon set of sparse regression."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any, Unpack

import numpy as np
from numpy.typing import ArrayLike

from sparselin.certificates.objective import ExactObjective
from sparselin.guarantees._best_first import BestFirst
from sparselin.guarantees._search import SearchState, Watch
from sparselin.guarantees.best_subset import check_budget, check_restrictions, prepare
from sparselin.parallel.threads import workers
from sparselin.problem import DataOptions, Problem, as_problem, takes_problem
from sparselin.results import Status, SubsetsWithin
from sparselin.validation import Columns, check_count, check_level

# Sets whose value is nearer to the limit than this times ½‖y‖² are compared with it in exact arithmetic.
_NEAR = 1e-9


@takes_problem
def subsets_within(
    X: Any,
    y: ArrayLike | None,
    k: int,
    *,
    eps: float,
    max_sets: int = 100_000,
    forced: Columns = (),
    ridge: float = 0.0,
    box: ArrayLike | str | None = None,
    groups: ArrayLike | None = None,
    positive: bool = False,
    hierarchy: Mapping[Any, Any] | None = None,
    time_limit: float | None = None,
    callback: Callable[[SearchState], object] | None = None,
    **data: Unpack[DataOptions],
) -> SubsetsWithin:
    """Find all sets of exactly k features with an objective of at most (1 + eps) times the best.

    The objective of a set S is q(S) = min {½‖y − Xβ‖² + (ridge/2)‖β‖² : β zero outside S, within the box}.
    The search is the branch and bound of `best_subset`. A node of its tree is closed only if the lower bound
    of the node is above (1 + eps) times the best value found so far. So when the search ends, the list is
    complete. For n ≤ d without a ridge or a box it compares the sets one by one. The sets within a factor of
    the best are called the Rashomon set (Breiman, *Statistical modeling: the two cultures*, 2001; Xin et al.,
    *Exploring the whole Rashomon set of sparse decision trees*, 2022).

    A set whose value is within 1e-9·‖y‖² of the limit is compared with it in rational arithmetic. Rational
    arithmetic is not possible for a `Problem` in place of X and y, for a Gram or compressed problem, or for
    standardized columns with a ridge or a box. In these cases such sets are listed.

    Parameters
    ----------
    X, y, k, forced, ridge, box, groups, positive, hierarchy, intercept, standardize, sample_weight : as in
        `best_subset`; with `groups`, k counts groups. A derived box contains all sets within the limit. With
        a hierarchy, only sets that obey it are listed.
    eps : the relative distance from the best objective, ≥ 0.
    max_sets : stop when more than this number of sets is found, with the status STOPPED.
    time_limit : stop after this number of seconds, with the status MAX_ITER.
    callback : called about twenty times a second with the `SearchState`; returning True stops.

    Returns
    -------
    SubsetsWithin. If the search was stopped, no set that is not listed has a value below `lower_bound`.

    Raises
    ------
    TypeError, ValueError : as `best_subset`; a negative `eps`, `max_sets` below 1; features of a hierarchy
        that need one another, because then there may be no set of exactly k features.

    Here the second and third columns are nearly equal, so they can replace each other:

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((50, 4))
    >>> X[:, 2] = X[:, 1] + 0.01 * rng.standard_normal(50)
    >>> found = subsets_within(X, X[:, 0] + X[:, 1] + rng.standard_normal(50), 2, eps=0.05)
    >>> [S.tolist() for S in found.supports], found.in_all.tolist(), found.complete
    ([[0, 2], [0, 1]], [0], True)
    """
    given = as_problem(X, y, **data)
    eps, max_sets = check_level(eps, "eps"), check_count(max_sets, "max_sets", 1)
    restrictions = check_restrictions(given, ridge, box, groups, positive, hierarchy)
    pairs = restrictions.hierarchy.pairs
    if len(set(map(frozenset, pairs))) < len(pairs):
        raise ValueError("hierarchy must have no cycle. Put features that need one another in one group")
    k, units = check_budget(given, restrictions, k, forced)
    watch = Watch(time_limit, None, callback)
    with workers(1e7):
        search = BestFirst(prepare(given, restrictions), k, units, restrictions, within=eps)
        status = search.run(watch, max_sets)
    watch.end()
    exact = None if isinstance(X, Problem) else _exact(search, X, y, data.get("sample_weight"), given)
    return _result(given, search, status, exact)


def _exact(
    search: BestFirst, X: Any, y: ArrayLike | None, weight: ArrayLike | None, given: Problem
) -> ExactObjective | None:
    """Return the objective in exact arithmetic, or None if the search uses other columns than those of X."""
    origin, plain = search.problem.origin or search.problem, as_problem(X, y)
    data = plain.exact_columns()
    if data is None or origin.design.scale is not None:
        return None
    weights = np.ones(plain.n) if weight is None else np.asarray(weight, np.float64)
    return ExactObjective(
        data, plain.double_y, weights, intercept=origin.design.ones is not None,
        ridge=search.given.ridge, scale=search.scaled.shift,
    )  # fmt: skip


def _result(given: Problem, search: BestFirst, status: Status, exact: ExactObjective | None) -> SubsetsWithin:
    """Sort the sets by their values, and decide in exact arithmetic which sets near the limit are listed."""
    scaled, limit = search.scaled, search.best.value * (1 + (search.within or 0))
    found = sorted(search.within_limit(), key=lambda item: (item[1], item[0]))
    near = [S for S, value in found if abs(value - limit) <= _NEAR * scaled.half]
    if exact is not None and near:
        limit_of_ties = found[0][1] + _NEAR * scaled.half
        least = min(_value(search, exact, S) for S, value in found if value <= limit_of_ties)
        top = least * (1 + Fraction(search.within or 0))
        beyond = {S for S in near if _value(search, exact, S) > top}
        found = [item for item in found if item[0] not in beyond]
    supports = tuple(np.sort(search.features(np.array(S, np.intp))) for S, _ in found)
    values = scaled.unit * np.array([value for _, value in found])
    counts = np.bincount(np.concatenate([*supports, np.empty(0, np.intp)]), minlength=given.n_features)
    complete = status is Status.COMPLETED
    lower = limit if complete else min(limit, min((node.bound for node in search.open), default=limit))
    total = search.problem.y_norm**2
    return SubsetsWithin(
        supports=supports,
        values=values,
        limit=scaled.unit * limit,
        lower_bound=scaled.unit * max(0.0, lower),
        complete=complete,
        share=counts / max(1, len(supports)),
        y_square=total,
        status=status,
        n_features=given.n_features,
        nodes=search.nodes,
        names=given.names,
    )


def _value(search: BestFirst, exact: ExactObjective, groups: tuple[int, ...]) -> Fraction:
    """Return the value of a set in exact arithmetic.

    Features whose coefficients are at a bound in the floating-point fit stay there.
    """
    fit = search.fit(np.array(groups, np.intp))
    fixed = {}
    for J, side in ((fit.at_low, search.given.low), (fit.at_high, search.given.high)):
        for j in J[np.isfinite(side[J])].tolist():
            fixed[j] = Fraction(side[j]) * Fraction(2) ** int(search.scaled.shift[j])
    return exact.minimum(fit.J.tolist(), fixed)[1]
