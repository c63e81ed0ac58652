"""Local search between greedy selection and the best subset: swap a selected feature for another one."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any, Literal, Unpack, get_args

import numpy as np
from numpy.typing import ArrayLike

from sparselin.greedy._lengths import Lengths
from sparselin.greedy.incumbents import exchange
from sparselin.greedy.ols import ols, subset_fields
from sparselin.linalg.thin_qr import ThinQR
from sparselin.problem import DataOptions, Problem, as_problem, takes_problem
from sparselin.results import FloatArray, IndexArray, Status, SwappedSubset
from sparselin.validation import Columns, check_choice
from sparselin.validation.progress import ProgressLog

Rule = Literal["exact", "ompr"]
Pairs = Iterator[tuple[int, int]]

# Squared residuals that differ by less than this share of ‖y‖² count as equal, as in `best_subset` (SLACK).
# If it were smaller, rounding could swap features back and forth; if larger, better sets would be refused.
_EQUAL = 1e-12


@takes_problem
def swaps(
    X: Any,
    y: ArrayLike | None,
    k: int,
    *,
    rule: Rule = "exact",
    start: Columns = (),
    forced: Columns = (),
    callback: Callable[[SwappedSubset], object] | None = None,
    **data: Unpack[DataOptions],
) -> SwappedSubset:
    """Select k features by orthogonal least squares, then swap features while the residual decreases.

    A swap replaces a feature i ∈ S by a feature j ∉ S; the new set is written S − i + j. Swaps go on while
    ‖r‖ = ‖P_S^⊥y‖ decreases. The rule says which pairs (i, j) are tried.

    **rule="exact"** takes the pair with the least ‖P_{S−i+j}^⊥y‖ among all pairs. At the end no single swap
    decreases ‖r‖. A double swap still may, so the result need not be the best subset; the result's `gap`
    bounds how far it is from the best subset. For i ∈ S let v_i be the unit vector in the span of X_S that is
    orthogonal to all columns of X_S except X_i. With a QR factorisation X_S = QR, v_i = Qu_i, where u_i is
    R⁻ᵀe_i divided by its norm. Then P_{S−i}^⊥ = P_S^⊥ + v_iv_iᵀ. So the residuals of all pairs follow from
    QᵀX, c = Xᵀr and ρ_j = ‖P_S^⊥X_j‖:

        ‖P_{S−i+j}^⊥y‖² = ‖r‖² + ⟨v_i, y⟩² − (c_j + ⟨v_i, X_j⟩⟨v_i, y⟩)²/(ρ_j² + ⟨v_i, X_j⟩²).

    **rule="ompr"** tries the pair of OMP with replacement (Jain, Tewari and Dhillon, *Orthogonal matching
    pursuit with replacement*, 2011, one feature at a time). If the columns have unit length, j has the
    largest |c_j| outside S, and i the smallest |β_i| in S, where β are the least squares coefficients on S.
    Otherwise |c_j|/‖X_j‖ and ‖X_i‖|β_i| are compared. This rule tries only one pair, so it may end although
    another swap would decrease ‖r‖.

    The paper's method has a step size η and swaps while η|c_j| > |β_i|, whereas this one swaps while ‖r‖
    decreases. The pair does not depend on η. So if every swap of the paper's method decreases ‖r‖, then from
    the same start this method begins with the same swaps. Every such swap decreases ‖r‖ if η ≤ 1/(1 + μ),
    where the columns have unit length and μ is the largest |⟨X_i, X_j⟩| of two columns. Proof. Let b = ηc_j,
    so that |b| > |β_i|, and Δ = be_j − β_ie_i, where e_i and e_j are unit vectors of ℝᵈ. Then β + Δ is zero
    outside S − i + j, c_i = 0, and ‖XΔ‖² ≤ (1 + μ)(b² + β_i²) < 2(1 + μ)b². Hence

        ‖y − X(β + Δ)‖² = ‖r‖² − 2bc_j + ‖XΔ‖² < ‖r‖² − 2ηc_j²(1 − (1 + μ)η) ≤ ‖r‖². ∎

    Rounding. A decrease of ‖r‖² counts if it exceeds both 1e-12·‖y‖² (with an intercept, 1e-12·‖y − ȳ‖²) and
    a bound on its rounding error. This bound is 2‖r‖e + e², where e = 8·eps·s(y) bounds the error of r, and
    s(y) is the size of y in `ThinQR.sizes`. The decrease is computed with a new factorisation. So ‖r‖
    decreases with each swap, and no set occurs twice. Among pairs whose decreases are equal within this
    tolerance, the pair with the lowest i is taken, then the pair with the lowest j.

    Parameters
    ----------
    X, y : design (n, d) and response (n,), or one `Problem` in place of both. float32 data are compared in
        float64.
    k : number of features to select, 1 ≤ k ≤ d, including the `forced` ones.
    rule : "exact" or "ompr".
    start : features to start with, by index or name. Features in the span of the others are left out, and
        `ols` adds features up to k. For example, `start=omp(X, y, k).support` starts from OMP.
    forced : features that belong to every set, by index or name.
    intercept, standardize : fit an unpenalised intercept; divide columns by their standard deviations (see
        `Problem`). Standardizing changes nothing here except rounding.
    sample_weight : (n,) weights of the squared residuals.
    callback : called after each swap with the result so far; the search stops if it returns True.

    Returns
    -------
    SwappedSubset. In `support`, an inserted feature takes the place of the feature that it replaced.
    `removed`, `inserted` and `residuals` describe the swaps; `candidates` are the start and the end. The
    status is COMPLETED or STOPPED; if the set has fewer than k features, it is the status of `ols`.

    Raises
    ------
    TypeError, ValueError : invalid data (see `Problem`), k outside 1..d, an unknown rule, repeated or unknown
        features in `start` or `forced`, or more than k of them.

    In this example greedy selection first picks the third column, which is not in the best pair:

    >>> X = [[1.0, 0.0, 1.0], [0.0, 1.0, 1.0], [0.0, 0.0, 1.0]]
    >>> subset = swaps(X, [3.0, 3.0, 0.5], 2)
    >>> subset.removed.tolist(), subset.inserted.tolist(), subset.residuals.round(9).tolist()
    ([2], [1], [3.125, 0.25])
    """
    check_choice(rule, "rule", get_args(Rule))
    given = as_problem(X, y, **data)
    k, first = given.budget(k, forced)
    initial = [j for j in given.indices(start, "start").tolist() if j not in first]
    if len(first) + len(initial) > k:
        raise ValueError(f"start and forced features count in k: got {len(first) + len(initial)} and k={k}")
    given = given.by_position()
    problem = given.in_double()
    independent = ThinQR(problem, [*problem.with_ones(first), *initial]).index
    greedy = ols(given, k, forced=[*first, *(j for j in initial if j in independent)])
    total = _SubsetFit(problem, [], 0.0).square
    fit = begin = _SubsetFit(problem, greedy.support.tolist(), _EQUAL * total)
    squares = [fit.square]
    pairs = list[tuple[int, int]]()

    def result(status: Status) -> SwappedSubset:
        path = ols(given, max(len(fit.S), 1), forced=fit.S)
        r2 = [1 - square / total if total else 0.0 for square in (squares[0], fit.square)]
        return SwappedSubset(
            **subset_fields(path),
            diversity=0.0,
            candidates=tuple(zip(("start", "end"), r2, strict=True)),
            moves=len(pairs),
            status=status,
            rule=rule,
            removed=np.array([i for i, _ in pairs], np.intp),
            inserted=np.array([j for _, j in pairs], np.intp),
            residuals=np.array(squares),
        )

    promising = _exact_pairs if rule == "exact" else _ompr_pairs

    def neighbours(fit: _SubsetFit, _: None) -> Iterator[_SubsetFit]:
        return (fit.swap(i, j) for i, j in promising(fit, first))

    progress = ProgressLog("swaps", "swaps")
    for fit in exchange(begin, neighbours, _is_better):
        squares.append(fit.square)
        pairs.append(fit.pair)
        progress.report(len(pairs))
        if callback is not None and callback(result(Status.STOPPED)):
            return result(Status.STOPPED)
    return result(greedy.status)


class _SubsetFit:
    """The least squares fit on the selected set S, and on the column of ones if there is an intercept.

    r, square : the residual, and its squared norm ‖r‖².
    slack : a swap must decrease ‖r‖² by more than `slack`.
    pair : the swap (i, j) that made this set.
    """

    def __init__(
        self, problem: Problem, S: list[int], equal: float, pair: tuple[int, int] = (-1, -1)
    ) -> None:
        self.problem = problem
        self.S = S
        self.equal = equal
        self.pair = pair
        self.qr = ThinQR(problem, problem.with_ones(np.array(S, np.intp)))
        self.r = self.qr.residual(problem.y)
        self.square = float(self.r @ self.r)
        error = problem.length_unit * float(self.qr.sizes(problem.y_norm, self.qr.Qt @ problem.y))
        self.slack = max(equal, 2 * math.sqrt(self.square) * error + error**2)

    def swap(self, i: int, j: int) -> _SubsetFit:
        """Return the fit on the set S − i + j, in which j takes the place of i."""
        return _SubsetFit(self.problem, [j if x == i else x for x in self.S], self.equal, (i, j))

    def pair_data(self, forced: IndexArray) -> tuple[list[int], IndexArray, FloatArray, FloatArray]:
        """Return the data by which the rules compare swaps of a feature i ∈ S for a feature j ∉ S.

        Returns
        -------
        Three results: the features i that may leave S, in increasing order; their positions in the QR
        factorisation of X_S; and, for all columns j, ρ_j² = ‖P_S^⊥X_j‖² and c_j = ⟨X_j, r⟩, where r is the
        residual on S. ρ_j² and c_j are set to zero for columns in the span of S.
        """
        free = sorted(i for i in self.S if i not in forced and i in self.qr.index)
        lengths = Lengths(self.problem)
        lengths.update(self.qr)
        outside = lengths.measured > 0
        c = np.where(outside, self.problem.correlate(self.r), 0)
        places = np.array([self.qr.index.index(i) for i in free], np.intp)
        return free, places, np.where(outside, lengths.squares, 0), c


def _is_better(new: _SubsetFit, old: _SubsetFit) -> bool:
    """Return whether a swap decreases the residual in spite of rounding, and makes no column dependent."""
    return new.qr.size == old.qr.size and new.square < old.square - max(old.slack, new.slack)


def _exact_pairs(fit: _SubsetFit, forced: IndexArray) -> Pairs:
    """Yield the swaps (i, j) that decrease the norm of the residual, the best one first (rule "exact")."""
    problem, qr = fit.problem, fit.qr
    free, places, squares, c = fit.pair_data(forced)
    if not free:
        return
    U = np.array([qr.solve_transpose(e) for e in np.eye(qr.size)[places]]).T
    U /= np.linalg.norm(U, axis=0)
    along = (problem.correlate(qr.Qt.T) @ U).T  # ⟨v_i, X_j⟩, (|free|, d)
    removed = U.T @ (qr.Qt @ problem.y)
    outside = squares > 0
    # divide before squaring: the quotient is at most ‖y‖, but the square of its numerator may overflow
    fall = ((c + along * removed[:, None])[:, outside] / np.sqrt(squares + along**2)[:, outside]) ** 2
    after = np.full(along.shape, np.inf)  # ‖P_{S−i+j}^⊥y‖²
    after[:, outside] = fit.square + removed[:, None] ** 2 - fall
    while (least := after.min(initial=np.inf)) < fit.square - fit.slack:
        place, j = np.argwhere(after <= least + fit.slack)[0]
        after[place, j] = np.inf
        yield free[place], int(j)


def _ompr_pairs(fit: _SubsetFit, forced: IndexArray) -> Pairs:
    """Yield the swap (i, j) of OMP with replacement, if there is one."""
    problem, qr = fit.problem, fit.qr
    free, places, squares, c = fit.pair_data(forced)
    outside = squares > 0
    if free and outside.any():
        error = problem.rounding(qr.kappa) * problem.y_norm
        score = np.abs(c[outside]) / problem.column_norms[outside]
        sizes = np.abs(qr.solve(qr.Qt @ problem.y)[places]) * problem.column_norms[free]
        i = free[np.argmax(sizes <= sizes.min() + 2 * qr.kappa * error)]
        yield i, int(np.flatnonzero(outside)[np.argmax(score >= score.max() - 2 * error)])
