"""The weight ν of a regularizer, by the rule of *Selecting Diverse Features via Spectral Regularization*.

"We chose the regularization constant (ν) to be the maximum subject to the condition that the R² value for
that solution should be greater than that obtained by the lasso solution with corresponding sparsity" (section
6). Here f is the regularizer and the objective is R² + ν·f. The rule leaves open:

- The set of ν to be searched. R² of a greedy selection is piecewise constant in ν, but not monotone. This
  module tries ν = 0 and a grid of powers of two. A ν qualifies if the R² of its selection reaches the R² of
  the LASSO. If a positive ν qualifies, the module takes the interval from the largest such ν to the next
  larger ν tried, and bisects it geometrically until it is 2 % wide.
- The LASSO solution. Many solutions on the path have k features. This module takes the last one before the
  path first has more than k features: the solution at the knot where feature k + 1 enters. Its R² is the
  largest up to this knot.
- The R² of the LASSO, whose coefficients are shrunk. This module uses the R² of these coefficients or, with
  `refitted`, the R² of least squares on the same features. Both numbers are returned.

The grid is relative to ν₀ = R²(S₀)/(f(S_f) − f(S₀)), where S₀ is selected for R² alone and S_f for f alone.
For ν = ν₀, the gain ν·(f(S_f) − f(S₀)) equals R²(S₀).
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Unpack, get_args

import numpy as np
from numpy.typing import ArrayLike

from sparselin.lasso.path import lasso_path, last_within
from sparselin.linalg.elimination import centre
from sparselin.problem import DataOptions, Problem, as_problem, takes_problem
from sparselin.results import FloatArray, IndexArray, LassoPath, NuChoice, Status, SubsetResult
from sparselin.spectral._searches import FoundSet, SearchTask, forward, greedy_local
from sparselin.spectral.regularizers.base import Method, SetFunction, grow
from sparselin.spectral.search import Variant, check_regularizer, task_for
from sparselin.validation import Columns, check_choice

Watch = Callable[[float], object]

_POWERS = range(-12, 13)  # the grid is ν₀ times two to these powers
# Refinement ends at this quotient upper/lower; another digit of ν costs three or four runs.
_FINE = 1.02


class LassoFit(NamedTuple):
    """The last solution on the path of the LASSO before the path first has more than k features.

    features : the forced features, then the other features of the solution in increasing order. There are
        fewer than k features if the number of features on the path jumps past k, or if the path ends earlier.
    """

    lam: float
    coef: FloatArray
    features: IndexArray
    r2: float
    r2_refitted: float


@takes_problem
def choose_nu(
    X: Any,
    y: ArrayLike | None,
    k: int,
    regularizer: SetFunction,
    *,
    method: Method = "forward",
    refitted: bool = False,
    eps: float = 0.1,
    variant: Variant = "complete",
    forced: Columns = (),
    callback: Watch | None = None,
    **data: Unpack[DataOptions],
) -> NuChoice:
    """Choose the largest ν for which the k features selected for R² + ν·f reach the R² of the LASSO.

        ν = max {ν tried : R²(S_ν) ≥ R²(LASSO)},   S_ν = `method` for R² + ν·f

    S_ν are the k features that `method` selects for R² + ν·f. The inequality is checked up to rounding. This
    is the rule of *Selecting Diverse Features via Spectral Regularization* (2012), section 6. ν runs over 0
    and a grid of powers of two times a scale ν₀; bisection then determines ν to 2 %. R²(LASSO) is the R² of
    the last solution on the LASSO path before the path first has more than k features. (The paper leaves
    these choices open; the docstring of `sparselin.spectral.choice` gives the reasons.) `forced` features
    count in k and come first in every S_ν. The LASSO does not penalise the forced features.

    Parameters
    ----------
    X (n, d), y (n,), forced, intercept, standardize, sample_weight (n,) : as for `forward_regression`.
    k : number of features to select, 1 ≤ k ≤ d, including the forced ones.
    regularizer : f. A normalising constant does not change the picks of `forward_regression`.
    method : "forward" for `forward_regression`, or "greedy_local_search".
    refitted : compare with least squares on the LASSO's features, not with the LASSO's own coefficients.
    eps, variant : as for `greedy_local_search`.
    callback : called with each ν tried; returning True ends the search with the ν tried so far.

    Returns
    -------
    `NuChoice`. Its field `qualifies` is "none" if no ν satisfies the inequality, not even 0. In this case
    `selection` is the selection for ν = 0. It is "every" if all ν that were tried, up to 4096·ν₀, satisfy it.
    In this case `upper` is inf. Otherwise it is "some".

    Raises
    ------
    TypeError, ValueError : bad data or arguments.

    >>> import numpy as np
    >>> from sparselin.spectral import SmoothedDifferentialEntropy
    >>> X, y = np.array([[1.0, 0.8, 0.0], [0.0, 0.6, 0.0], [0.0, 0.0, 1.0]]), np.array([1.0, 0.2, 0.15])
    >>> choice = choose_nu(X, y, 2, SmoothedDifferentialEntropy(1.0))
    >>> choice.selection.support.tolist(), choice.qualifies, choice.selection.r2 >= choice.r2_lasso
    ([0, 2], 'every', True)
    """
    problem = as_problem(X, y, **data)
    moves: dict[str, Any] = {"eps": eps, "variant": variant}
    rule: dict[str, Any] = {"method": method, "refitted": refitted, "forced": forced, "callback": callback}
    return choose_nu_for_each(problem, None, [k], regularizer, **rule, **moves)[0]


def choose_nu_for_each(
    X: Any,
    y: ArrayLike | None,
    ks: Sequence[int],
    regularizer: SetFunction,
    *,
    method: Method = "forward",
    refitted: bool = False,
    forced: Columns = (),
    callback: Watch | None = None,
    **moves: Any,
) -> tuple[NuChoice, ...]:
    """Run `choose_nu` for each k of `ks`, in their order, with common computations.

    For one ν, forward regression for the largest k also yields the selections for all smaller k. So one run
    serves all k, and a ν tried for one k is also tried for the smaller ones. A regularizer with a normalising
    constant that depends on k gets the constant of each k. Arguments and results are as for `choose_nu`.
    """
    given = as_problem(X, y)
    check_regularizer(regularizer)
    sizes = [given.budget(k, forced)[0] for k in ks]
    if not sizes:
        return ()
    first = given.indices(forced, "forced")
    given = given.by_position()
    problem = centre(given)
    check_choice(method, "method", get_args(Method))
    task = task_for(given, regularizer, 0.0, None, **moves)
    fits = dict(zip(sizes, lasso_fits(problem, sizes, first), strict=True))
    targets = {k: fit.r2_refitted if refitted else fit.r2 for k, fit in fits.items()}
    trials = _Trials(task, max(sizes), method, first, callback)
    trials.try_grid(sorted(fits))
    for k in sorted(fits, reverse=True):
        trials.refine(k, targets[k])
    return tuple(trials.choice(k, fits[k], targets[k], refitted) for k in sizes)


def lasso_fits(problem: Problem, ks: Sequence[int], forced: Columns = ()) -> tuple[LassoFit, ...]:
    """Return a `LassoFit` for each k of `ks`; the LASSO does not penalise the forced features."""
    first = problem.indices(forced, "forced")
    path = _path_beyond(problem, max(ks) - len(first), first)
    return tuple(_fit(problem, path, k, first) for k in ks)


def _path_beyond(problem: Problem, k: int, forced: IndexArray) -> LassoPath:
    """Compute the LASSO's path until it has more than k features that are not forced, or to its end.

    Steps are counted, because `lasso.path.path_beyond` stores the path at each knot for its callback.
    """
    steps = 2 * k + 8
    while True:
        path = lasso_path(problem, max_steps=steps, forced=forced)
        if path.status is not Status.MAX_STEPS or max(map(len, path.active[:-1]), default=0) > k:
            return path
        steps *= 2


def _fit(problem: Problem, path: LassoPath, k: int, forced: IndexArray) -> LassoFit:
    """Return the last solution before the path first has more than k features, and its two values of R²."""
    entered, _, i = last_within(path, k - len(forced))
    coef = path.at(float(path.knots[i]))
    features = np.append(forced, np.sort(np.array(entered, np.intp)))
    r2 = (_r2(problem, fit) for fit in (problem.predict(coef), _project(problem, features)))
    return LassoFit(float(path.knots[i]), coef, features, *r2)


def _project(problem: Problem, features: IndexArray) -> FloatArray:
    """Return the projection of y onto the span of the features."""
    X = problem.columns(features)
    return np.asarray(X @ np.linalg.lstsq(X, problem.y, rcond=None)[0]) if len(features) else 0 * problem.y


def _r2(problem: Problem, fit: FloatArray) -> float:
    """Return R² = 1 − ‖y − fit‖²/‖y‖² of fitted values (n,)."""
    r = (problem.y - fit).astype(np.float64)
    return 1 - float(r @ r) / problem.y_norm**2 if problem.y_norm > 0 else 0.0


class _Trials:
    """The values of ν tried so far, and for each of them the R² of the selection of each size k."""

    def __init__(
        self, task: SearchTask, largest: int, method: Method, forced: IndexArray, callback: Watch | None
    ) -> None:
        self.task = task
        self.largest = largest
        self.method = method
        self.callback = callback
        self.forced = forced
        self.r2: dict[float, dict[int, float]] = {}
        self.over = False
        self.slack = task.problem.rounding() if task.problem is not None else 0.0

    def at(self, nu: float, k: int) -> SearchTask:
        """Return the search task with this ν, for k features.

        If the regularizer has a normalising constant that depends on k, the constant for this k is used.
        """
        f: Any = self.task.f
        if getattr(f, "k", None) is not None and dataclasses.is_dataclass(f):
            f = dataclasses.replace(f, k=k)  # type: ignore[type-var]
        return dataclasses.replace(self.task, nu=nu, f=f)

    def select(self, nu: float, k: int) -> FoundSet:
        """Select k features for R² + ν·f by the method of these trials."""
        if self.method == "forward":
            return FoundSet.single(*forward(self.at(nu, k), k, np.arange(self.task.gram.d), self.forced))
        return greedy_local(self.at(nu, k), k, self.forced)

    def run(self, nu: float, sizes: Sequence[int]) -> None:
        """Select features with this ν for each of `sizes`, and record R².

        One run of forward regression serves all sizes up to the largest.
        """
        if self.over:
            return
        known = self.r2.setdefault(nu, {})
        if self.method == "forward":
            largest = max(sizes)
            best, _ = forward(self.at(nu, largest), largest, np.arange(self.task.gram.d), self.forced)
            assert best.explained is not None
            r2 = np.cumsum([0.0, *best.explained.gains_taken])
            known.update({m: float(r2[min(m, len(r2) - 1)]) for m in range(1, largest + 1)})
        else:
            for k in sizes:
                explained = self.select(nu, k).best.explained
                assert explained is not None
                known[k] = explained.value
        self.over = self.callback is not None and bool(self.callback(nu))

    def try_grid(self, sizes: Sequence[int]) -> None:
        """Record R² for ν = 0 and for a grid of ν around the scale ν₀ of `_scale`."""
        self.run(0.0, sizes)
        scale = self._scale()
        for power in _POWERS:
            self.run(math.ldexp(scale, power), sizes)

    def _scale(self) -> float:
        """Return ν₀ = R²(S₀)/(f(S_f) − f(S₀)), the scale of the grid.

        S₀ is the selection for R² alone, and S_f the selection for the regularizer f alone. If f(S₀) = f(S_f)
        up to rounding, f(F) replaces f(S₀), where F are the forced features. ν₀ is 1 if y is 0, or if f is
        constant up to rounding.
        """
        d = self.task.gram.d
        k = self.largest
        chosen, _ = forward(self.at(0.0, k), k, np.arange(d), self.forced)
        assert chosen.explained is not None
        diverse = dataclasses.replace(self.at(1.0, k), problem=None)
        most, _ = forward(diverse, len(chosen.index), np.arange(d), self.forced)
        (rise, error), (other, other_error) = (self._rise(S.index) for S in (most, chosen))
        r2 = chosen.explained.value
        gap = rise - other
        if gap <= error + other_error:
            gap = abs(rise)
        return r2 / gap if r2 > 0 and gap > error else 1.0

    def _rise(self, S: list[int]) -> tuple[float, float]:
        """Return f(S) − f(F) and a bound on its error. F are the forced features, with which S begins.

        The sum of gains has no constant that could cancel.
        """
        assert self.task.f is not None
        growth = grow(self.task.gram, self.task.f, S[: len(self.forced)])
        total = np.zeros(2)
        for j in S[len(self.forced) :]:
            total += np.ravel(growth.gains(np.array([j])))
            growth.add(j)
        return float(total[0]), float(total[1])

    def values_for(self, k: int) -> list[float]:
        """Return all ν that were tried for k features, in increasing order."""
        return sorted(nu for nu, known in self.r2.items() if k in known)

    def bracket(self, k: int, target: float) -> tuple[float | None, float]:
        """Return the largest tried ν whose R² for k features reaches `target`, and the next larger tried ν.

        The first result is None if no tried ν qualifies. The second result is inf if no larger ν was tried.
        """
        values = self.values_for(k)
        right = [i for i, nu in enumerate(values) if self.r2[nu][k] >= target - self.slack]
        if not right:
            return None, 0.0
        return values[right[-1]], values[right[-1] + 1] if right[-1] + 1 < len(values) else math.inf

    def refine(self, k: int, target: float) -> None:
        """Bisect the interval of `bracket` for k features geometrically, until it is 2 % wide."""
        while not self.over:
            lower, upper = self.bracket(k, target)
            if not lower or upper == math.inf or upper <= _FINE * lower:
                return
            self.run(math.sqrt(lower) * math.sqrt(upper), [k])  # the product itself can underflow

    def choice(self, k: int, fit: LassoFit, target: float, refitted: bool) -> NuChoice:
        """Return the result of `choose_nu` for k features."""
        lower, upper = self.bracket(k, target)
        nus = self.values_for(k)
        r2 = np.array([self.r2[nu][k] for nu in nus])
        count = int((r2 >= target - self.slack).sum())
        nu = lower or 0.0
        selection: SubsetResult = self.select(nu, k).result(self.task.dtype)
        method = f"{self.method}: ν = 0, a grid of powers of two, then bisection to {_FINE - 1:.0%}"
        lasso = (fit.r2, fit.r2_refitted, refitted)
        qualifies = {len(r2): "every", 0: "none"}.get(count, "some")
        return NuChoice(nu, nu, upper, method, selection, *lasso, np.array(nus), r2, qualifies)
