"""The function `condition`: how much the data must change before another feature is selected."""

from __future__ import annotations

import dataclasses
import functools
import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sparselin.guarantees.perturbation._gaps import Gaps
from sparselin.guarantees.perturbation._greedy import Step, ols_gaps, omp_gaps, steps
from sparselin.guarantees.perturbation._lasso import lasso_gaps
from sparselin.guarantees.perturbation._witness import GreedySource, LassoSource, Nearest
from sparselin.problem import Problem, as_problem, takes_problem
from sparselin.problem.errors import coarseness
from sparselin.problem.paths import check_path, other_data
from sparselin.results import FloatArray, IndexArray, LassoPath, Names, SelectionPath
from sparselin.results.base import Named, result
from sparselin.results.display import Column, Table, number, round_down
from sparselin.validation import check_flag, check_real


@result
class Condition(Named):
    """The condition numbers of a selection: how much the data must change before another feature is selected.

    A change of size ε moves each column X_j by at most ε‖X_j‖, and y by at most ε‖y‖. The distance of a
    step is the size of the smallest change with which another feature is picked, or ties, provided that the
    earlier steps keep their picks. The distance of the path is the least of these distances. `condition`
    explains the fields, and which data move.

    Attributes
    ----------
    features : (m,) the picks of the steps. For the LASSO at λ: the active features, then the feature outside
        that is closest to entering.
    rivals : (m,) the feature that has the largest condition number at this step; −1 if there is none. For the
        LASSO it is the feature itself.
    signs : (m,) the sign σ of the rival, relative to the pick.
    numbers : (m,) the condition numbers: 1/distance to first order. ∞ in a tie, NaN for forced features.
    distances_y : (m,) the exact distances if y alone changes; 0 in a tie, NaN for forced features.
    lowers : (m,) lower bounds on the distances.
    lam : λ for the LASSO, NaN for other paths.
    in_y : True if y alone changes: then numbers = 1/distances_y, of which `lowers` are lower bounds.
    names : the d names of the features, or None.
    source : the data and gaps from which `nearest` is computed.

    `to_frame()` has a row for each step: step, index, name, rival (its name), number, distance_y, lower; for
    the LASSO also change: "leaves" or "enters".
    """

    features: IndexArray
    rivals: IndexArray
    signs: FloatArray
    numbers: FloatArray
    distances_y: FloatArray
    lowers: FloatArray
    lam: float
    in_y: bool
    names: Names
    source: Any = dataclasses.field(compare=False)

    def __len__(self) -> int:
        return len(self.features)

    @property
    def number(self) -> float:
        """The condition number of the path: the largest of the steps; 0 without steps."""
        return float(np.nanmax(self.numbers)) if self._has_steps else 0.0

    @property
    def distance_y(self) -> float:
        """The exact distance of the path if y alone changes; ∞ without steps."""
        return float(np.nanmin(self.distances_y)) if self._has_steps else math.inf

    @property
    def lower(self) -> float:
        """A lower bound on the distance of the path: no smaller change selects another feature, or ties."""
        return float(np.nanmin(self.lowers)) if self._has_steps else math.inf

    @property
    def rival(self) -> int:
        """The rival of the step with the largest condition number; −1 if there is none."""
        return int(self.rivals[np.nanargmax(self.numbers)]) if self._has_steps else -1

    @property
    def _has_steps(self) -> bool:
        return bool(np.isfinite(self.numbers).any() or np.isinf(self.numbers).any())

    @functools.cached_property
    def uppers(self) -> FloatArray:
        """(m,) upper bounds on the distances of the steps, the sizes of witnesses; ∞ if none was found."""
        changes = [self.source.change(t, self.in_y) for t in range(len(self))]
        return np.array([math.inf if change is None else change.size for change in changes])

    @property
    def upper(self) -> float:
        """An upper bound on the distance of the path: the size of `nearest`; ∞ if no witness was found."""
        return math.inf if self.nearest is None else self.nearest.size

    @functools.cached_property
    def nearest(self) -> Nearest | None:
        """The nearest data that were found for which another feature is picked or ties; None if none were.

        The statement is checked in exact arithmetic, for the floats in `nearest.X` and `nearest.y`.
        """
        best = None
        step = 0
        for t in np.argsort(-self.numbers, kind="stable").tolist():
            if best is not None and not self.lowers[t] < best.size:
                continue  # its distance is not smaller
            change = self.source.change(t, self.in_y)
            if change is not None and (best is None or change.size < best.size):
                best = change
                step = t
        return None if best is None else self.source.witness(best, step)

    def _headline(self) -> str:
        which = "" if math.isnan(self.lam) else f"LASSO at λ = {number(self.lam)}, "
        data = "y is" if self.in_y else "X and y are"
        return f"{which}number {number(self.number)}, unchanged if {data} within {percent(self.lower)}"

    def _table(self) -> Table:
        of_lasso = not math.isnan(self.lam)
        m = len(self)
        rivals = ["" if j < 0 else self.name_of(int(j)) for j in self.rivals]
        changes = ["leaves"] * (m - 1) + ["enters"] if m and self.source.entering else ["leaves"] * m
        columns = (
            Column("step", None if of_lasso else "step", np.arange(1, m + 1)),
            *self._features(self.features, head="name"),
            *((Column("change", "change", changes),) if of_lasso else ()),
            Column("rival", None if of_lasso else "rival", rivals),
            Column("number", "number", self.numbers),
            Column("distance_y", "distance in y", self.distances_y),
            Column("lower", "at least", self.lowers),
        )
        kept = "alters the support at this λ" if of_lasso else "gives another pick, or a tie, at this step"
        notes = (
            "a change of size ε moves each column by at most ε of its length, and y likewise",
            f"at least: no smaller change {'of y ' * self.in_y}{kept}",
        )
        return Table(columns, notes)


def percent(size: float) -> str:
    """Return a size as text, rounded down to two digits: "0.84 %", or with a power of ten if it is small."""
    if math.isinf(size):
        return "any distance"
    share = 100 * round_down(size)
    return f"{share:.0f} %" if share >= 10 else f"{share:.2g} %"


@takes_problem
def condition(
    X: Any,
    y: ArrayLike | None,
    path: SelectionPath | LassoPath,
    *,
    lam: float | None = None,
    in_y: bool = False,
    sample_weight: ArrayLike | None = None,
) -> Condition:
    """Return how much the data must change before a method selects another feature.

    A change of size ε replaces X_j by X_j + ΔX_j with ‖ΔX_j‖ ≤ ε‖X_j‖ for each column, and y by y + Δy with
    ‖Δy‖ ≤ ε‖y‖. So sizes do not depend on the units of the columns. The *distance* of a path is the size of
    the smallest change with which some step picks another feature, or ties. It is about picks in their
    order; the selected set may survive larger changes. Let S be the features before a pick i, r = P_S^⊥y,
    and c = Xᵀr.

    **The condition number** is the reciprocal of the distance to first order. For OMP and Sequential LASSO
    let j be a rival, σ = ±1, s_i the sign of c_i, z = P_S^⊥(X_i − σX_j), b = X_S⁺y and w = X_S⁺(X_i −
    σX_j). A change of size ε reduces |c_i| − σs_ic_j by at most εK + O(ε²), and this is attained, with

        K = ‖r‖(‖X_i‖ + ‖X_j‖) + ‖z‖‖y‖ + Σ_{t∈S} ‖X_t‖‖b_tz + s_iw_tr‖.

    The number of a step is the largest K/(|c_i| − σs_ic_j) over j and σ, and that of a path is the largest of
    its steps. OLS and the LASSO have similar formulas (docs/guide/condition.md).

    **The distance in y** is exact: the y with these picks and signs form an open convex cone. It is the least
    (|c_i| − σs_ic_j)/(‖y‖‖z‖).

    **The bounds** hold for changes that are not small. Below: `lower` includes the second-order terms and the
    rounding errors, by the error model of `sparselin.problem.errors`. It is small if the selected columns are
    nearly dependent. Above: `upper` is the size of data, in `nearest`, for which another feature is picked or
    ties, which is checked in exact arithmetic. Both are computed when they are read.

    **Which data move.** The column of an intercept does not move; X_j and y are then centred in all formulas.
    With weights, rows are multiplied by √weight. Standardized columns are scaled again after a change. Forced
    features move, but are not picked, so their steps have no number (NaN). A tie has the number ∞ and the
    distance 0. For OLS, a column in the span of S can be turned to any direction by a change of any size; so
    `lower` is 0 while such a column is left. Zero columns do not move. Stops of a path are not steps.

    For the LASSO at `lam`, with an active set A and the signs of its coefficients, the distance is the size
    of the smallest change with which another support or another sign is possible.

    The definition follows the condition numbers of numerical analysis (Renegar, *Incorporating condition
    measures into the complexity theory of linear programming*, 1995; Bürgisser and Cucker, *Condition*,
    2013). Bastounis, Cucker and Hansen (*When can you trust feature selection?* I and II, 2023) define a
    condition number of this kind for the LASSO, and prove that without one no algorithm decides on a
    support from approximate data.

    Parameters
    ----------
    X, y : the data from which the path was computed: design (n, d) and response (n,), or one `Problem`. Rows
        are needed: a Gram problem, a compressed problem and a LinearOperator are refused. The intercept and
        the standardization are those of the path.
    path : the `SelectionPath` of `omp`, `ols` or `sequential_lasso`, or a `LassoPath` together with `lam`.
    lam : λ, for a `LassoPath` only.
    in_y : whether y alone changes.
    sample_weight : the weights with which the path was computed.

    Returns
    -------
    Condition, in float64. It takes about the time of the path, except `upper` and `nearest`.

    Raises
    ------
    TypeError, ValueError : bad data (see `Problem`); a path of another class, of `positive=True` (except a
        `LassoPath`), or computed from other data; dependent features in a path; `lam` without a
        `LassoPath`, or missing with one, or below its end.

    >>> import sparselin as sl
    >>> X, y = [[1.0, 0.0, 0.5], [0.0, 1.0, 0.5], [0.0, 0.0, 0.5]], [4.0, 1.0, 0.5]
    >>> found = condition(X, y, sl.omp(X, y, 2))
    >>> print(found)
    Condition: number 30.91, unchanged if X and y are within 2.9 %
    step  name  rival  number  distance in y  at least
       1  x0    x2      9.078         0.3475    0.1029
       2  x1    x2      30.91        0.08513   0.02918
    a change of size ε moves each column by at most ε of its length, and y likewise
    at least: no smaller change gives another pick, or a tie, at this step
    >>> round(found.upper, 5), found.nearest.rival, round(found.distance_y, 5)
    (0.03196, 2, 0.08513)
    """
    in_y = check_flag(in_y, "in_y")
    if not isinstance(path, SelectionPath | LassoPath):
        raise TypeError(f"path must be a SelectionPath or a LassoPath; got {type(path).__name__}")
    options = {"intercept": path.with_intercept, "standardize": path.standardized}
    options = {} if isinstance(X, Problem) else options
    given = as_problem(X, y, sample_weight=sample_weight, **options)
    if given.kind == "gram" or given.is_rounded:
        which = "Gram" if given.kind == "gram" else "compressed"
        raise TypeError(f"rows of X are needed; a {which} problem has none. Pass X and y")
    check_path(given, path)
    problem = given.in_double()
    coarse = coarseness(path.coef_path, problem.eps)
    if isinstance(path, LassoPath):
        if lam is None:
            raise ValueError("a LassoPath needs lam, the λ at which its support is in question")
        return _of_lasso(problem, path, check_real(lam, "lam"), in_y, coarse)
    if lam is not None:
        raise ValueError("lam is for a LassoPath. Leave it out for a SelectionPath")
    if path.positive:
        raise ValueError("path must not come from positive=True: the formulas are for least squares only")
    return _of_greedy(problem, path, in_y, coarse)


def _of_greedy(problem: Problem, path: SelectionPath, in_y: bool, coarse: float) -> Condition:
    n_forced = int(np.isnan(path.lam_star).sum())
    found: list[tuple[Step, Gaps] | None] = [None] * n_forced
    support = problem.by_position().indices(path.support, "path")
    for step in steps(problem, support, n_forced):
        t = len(found)
        if path.by_length:
            gaps = ols_gaps(step, problem.n, problem.unit)
        else:
            gaps = omp_gaps(step, path.standardized, problem.n, problem.unit)
        slack = 4 * coarse * problem.rounding() * step.y_size
        if not abs(step.r_norm - float(path.residual_norm[t])) <= slack:
            raise other_data(f"‖r‖ of its model of size {t} differs")
        tied = len(path.ties[t]) > 1
        if tied:
            gaps = dataclasses.replace(gaps, gap=np.where(np.isin(gaps.rival, path.ties[t]), 0, gaps.gap))
        if (gaps.gap < -8 * coarse * gaps.error).any():
            raise other_data(f"its step {t + 1} is not the pick of {'ols' if path.by_length else 'omp'}")
        found.append((step, gaps))
    rows = [_row(None if pair is None else pair[1], in_y, problem.unit) for pair in found]
    source = GreedySource(problem=problem, steps=found, by_length=path.by_length)
    return _condition(path, support, rows, math.nan, in_y, source)


def _row(gaps: Gaps | None, in_y: bool, unit: float) -> tuple[int, float, float, float, float]:
    """Return the rival, its sign, the number, the distance in y and the lower bound of a step."""
    if gaps is None:
        return -1, math.nan, math.nan, math.nan, math.nan
    numbers = gaps.quotients(in_y)
    worst = int(np.argmax(numbers))
    in_y_alone = max(gaps.y_number, float(gaps.quotients(True).max()))
    distance = 1 / in_y_alone if in_y_alone else math.inf
    relative = unit * (1 + math.sqrt(gaps.spread.k)) / max(gaps.spread.sigma, unit)
    rival = int(gaps.rival[worst]) if gaps.sign[worst] else -1
    return rival, float(gaps.sign[worst]), float(numbers[worst]), distance, gaps.lower(in_y, relative)


def _condition(
    path: Any,
    features: IndexArray,
    rows: list[tuple[int, float, float, float, float]],
    lam: float,
    in_y: bool,
    source: Any,
) -> Condition:
    table = np.array(rows, dtype=float).reshape(-1, 5)
    return Condition(
        features=features,
        rivals=table[:, 0].astype(np.intp),
        signs=table[:, 1],
        numbers=table[:, 2],
        distances_y=table[:, 3],
        lowers=table[:, 4],
        lam=lam,
        in_y=in_y,
        names=path.names,
        source=source,
    )


def _of_lasso(problem: Problem, path: LassoPath, lam: float, in_y: bool, coarse: float) -> Condition:
    coef = np.atleast_1d(path.at(lam))
    forced = problem.by_position().indices(path.forced, "path")
    A = np.concatenate([forced, np.setdiff1d(np.flatnonzero(coef), forced)]).astype(np.intp)
    signs = np.sign(coef[A]).astype(float)
    signs[: len(forced)] = 0
    found = lasso_gaps(problem, A, signs, lam, positive=path.positive, unit=problem.unit)
    own = A[len(forced) :]
    if found is None:
        rows = [(int(j), 1.0, math.inf, 0.0, 0.0) for j in own] or [(-1, 1.0, math.inf, 0.0, 0.0)]
        features = own if len(own) else A[:1]
        source = LassoSource(problem=problem, solution=None, gaps=(), entering=False)
        return _condition(path, features, rows, lam, in_y, source)
    leaving, entering, solution = found
    # the coefficients of the path must fulfil ⟨X_i, r⟩ = λs_i; they themselves may have larger errors
    scale = np.ones(problem.n_features) if problem.design.scale is None else problem.design.scale
    order = problem.with_ones(solution.A)
    offset = len(order) - len(solution.A)
    constant = np.atleast_1d(path.intercept_at(lam))[:offset]
    inner = np.concatenate([constant, coef[solution.A] / scale[solution.A]])
    columns = problem.columns(order)
    off = columns.T @ (problem.y - columns @ inner) - lam * np.append(np.zeros(offset), solution.signs)
    size = float(problem.y_norm) + float(problem.column_norms[order] @ np.abs(inner))
    slack = coarse * problem.rounding(3 / max(leaving.spread.sigma, problem.eps)) * size
    if not (np.abs(off) <= slack * problem.column_norms[order]).all():
        raise other_data(f"its coefficients at λ = {number(lam)} differ")
    parts = [leaving.of(np.array([p])) for p in range(len(leaving.gap))]
    parts = [*parts, entering] if len(entering.gap) else parts
    parts = [dataclasses.replace(g, gap=np.where(g.gap <= g.error, 0, g.gap)) for g in parts]
    rows = [_row(g, in_y, problem.unit) for g in parts]
    features = np.array([row[0] for row in rows], np.intp)
    source = LassoSource(
        problem=problem, solution=solution, gaps=tuple(parts), entering=len(entering.gap) > 0
    )
    return _condition(path, features, rows, lam, in_y, source)
