"""Between greedy selection and the best subset: swaps of a selected feature for another one."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from sparselin.greedy._lengths import Lengths
from sparselin.greedy.ols import ols
from sparselin.linalg.thin_qr import ThinQR
from sparselin.problem import Problem, as_problem, takes_problem
from sparselin.results import FloatArray, IndexArray, Status, SwappedSubset
from sparselin.validation import Columns

Rule = Literal["exact", "ompr"]
Pairs = Iterator[tuple[int, int]]

# Squared residuals that differ by less than this share of ‖y‖² count as equal, as in `best_subset` (SLACK).
# Smaller, rounding can swap back and forth; larger, a better set is refused.
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
    intercept: bool = False,
    standardize: bool = False,
    sample_weight: ArrayLike | None = None,
    callback: Callable[[SwappedSubset], object] | None = None,
) -> SwappedSubset:
    """Orthogonal least squares, then swaps of one feature for another while ‖r‖ = ‖P_S^⊥y‖ falls.

    **rule="exact"**: of all pairs i ∈ S, j ∉ S the one with the least ‖P_{S−i+j}^⊥y‖. At the end no single
    swap lowers ‖r‖. Two at once may: it need not be the best subset, and `gap` bounds how far it is from it.
    With X_S = QR let v_i = Qu_i, u_i ∝ R⁻ᵀe_i, be the unit vector in the span of X_S that is orthogonal to
    X_{S−i}. P_{S−i}^⊥ = P_S^⊥ + v_iv_iᵀ, so with c = Xᵀr and ρ_j = ‖P_S^⊥X_j‖ all pairs follow from QᵀX:

        ‖P_{S−i+j}^⊥y‖² = ‖r‖² + ⟨v_i, y⟩² − (c_j + ⟨v_i, X_j⟩⟨v_i, y⟩)²/(ρ_j² + ⟨v_i, X_j⟩²).

    **rule="ompr"**: the pair of OMP with replacement (Jain, Tewari and Dhillon, *Orthogonal matching pursuit
    with replacement*, 2011, one feature at a time). For unit columns j has the largest |c_j|, i the smallest
    |β_i|; for others |c_j|/‖X_j‖ and ‖X_i‖|β_i| are compared. It tries one pair, where the other rule
    compares all, and may end where a swap would lower ‖r‖. Theirs has a step size η and swaps while
    η|c_j| > |β_i|; here it swaps while ‖r‖ falls. The pair does not depend on η, so that the swaps of OMPR(η)
    from the same start are the first ones here, if each lowers ‖r‖. They do for η ≤ 1/(1 + μ), μ the largest
    |⟨X_i, X_j⟩| of unit columns. Proof. Let b = ηc_j, |b| > |β_i|, Δ = be_j − β_ie_i; β + Δ is zero off
    S − i + j. By c_i = 0 and ‖XΔ‖² ≤ (1 + μ)(b² + β_i²) < 2(1 + μ)b²,

        ‖y − X(β + Δ)‖² = ‖r‖² − 2bc_j + ‖XΔ‖² < ‖r‖² − 2ηc_j²(1 − (1 + μ)η) ≤ ‖r‖². ∎

    A fall of ‖r‖² counts if it exceeds 1e-12·‖y‖² (of y − ȳ with an intercept) and the bound on its rounding
    error, 2‖r‖e + e², e = 8·eps·s(y) (`ThinQR.sizes`). It is measured by a new factorisation, so that no set
    comes twice. Of pairs that are equal to that the one with the lowest i is taken, then the lowest j.

    Parameters
    ----------
    X, y : design (n, d) and response (n,), or one `Problem` in place of both. float32 data are compared in
        float64.
    k : features to select, 1 ≤ k ≤ d, `forced` ones included.
    rule : "exact" or "ompr".
    start : features to start with, by index or name, those in the span of others left out; `ols` adds to
        them up to k. `start=omp(X, y, k).support` starts from OMP.
    forced : columns of every set, by index or name.
    intercept, standardize : an unpenalised intercept; columns divided by their standard deviations, which
        changes nothing but rounding. See `Problem`.
    sample_weight : (n,) weights of the squared residuals.
    callback : called after each swap with the result so far; returning True stops.

    Returns
    -------
    SwappedSubset: its `support` has what was inserted at the place of what was removed; `removed`, `inserted`
    and `residuals` are the swaps; `candidates` are the start and the end. The status is COMPLETED, STOPPED,
    or, with fewer than k features, that of `ols`.

    Raises
    ------
    TypeError, ValueError : bad data (see `Problem`), k outside 1..d, an unknown rule, repeated or unknown
        features in `start` or `forced`, more of them than k.

    Greedy selection first picks the third column here, which is not in the best pair:

    >>> X = [[1.0, 0.0, 1.0], [0.0, 1.0, 1.0], [0.0, 0.0, 1.0]]
    >>> found = swaps(X, [3.0, 3.0, 0.5], 2)
    >>> found.removed.tolist(), found.inserted.tolist(), found.residuals.round(9).tolist()
    ([2], [1], [3.125, 0.25])
    """
    if rule not in get_args(Rule):
        raise ValueError(f"rule must be one of {', '.join(get_args(Rule))}; got {rule!r}")
    given = as_problem(X, y, sample_weight, intercept, standardize)
    k, first = given.budget(k, forced)
    begun = [j for j in given.indices(start, "start").tolist() if j not in first]
    if len(first) + len(begun) > k:
        raise ValueError(f"start and forced features count in k: got {len(first) + len(begun)} and k={k}")
    problem = given.in_double()
    independent = ThinQR(problem, [*problem.with_ones(first), *begun]).index
    greedy = ols(given, k, forced=[*first, *(j for j in begun if j in independent)])
    total = _At(problem, [], 0.0).square
    at = _At(problem, greedy.support.tolist(), _EQUAL * total)
    squares, pairs = [at.square], list[tuple[int, int]]()

    def found(status: Status) -> SwappedSubset:
        path = ols(given, max(len(at.S), 1), forced=at.S)
        r2 = [1 - square / total if total else 0.0 for square in (squares[0], at.square)]
        return SwappedSubset(
            support=path.support,
            coef=path.coef,
            value=path.r2,
            r2=path.r2,
            diversity=0.0,
            gains=np.diff(path.r2_path),
            candidates=tuple(zip(("start", "end"), r2, strict=True)),
            moves=len(pairs),
            status=status,
            n_features=given.n_features,
            intercept=path.intercept,
            names=given.names,
            rule=rule,
            removed=np.array([i for i, _ in pairs], np.intp),
            inserted=np.array([j for _, j in pairs], np.intp),
            residuals=np.array(squares),
        )

    candidates = _of_least_residual if rule == "exact" else _of_replacement
    while (better := _first_better(at, candidates(at, first))) is not None:
        at, pair = better
        squares.append(at.square)
        pairs.append(pair)
        if callback is not None and callback(found(Status.STOPPED)):
            return found(Status.STOPPED)
    return found(greedy.status)


class _At:
    """A set S beside the column of ones, with r = P_S^⊥y, its square, and what a fall of that must exceed."""

    def __init__(self, problem: Problem, S: list[int], equal: float) -> None:
        self.problem, self.S, self.equal = problem, S, equal
        self.qr = ThinQR(problem, problem.with_ones(np.array(S, np.intp)))
        self.r = self.qr.residual(problem.y)
        self.square = float(self.r @ self.r)
        error = problem.length_unit * float(self.qr.sizes(problem.y_norm, self.qr.Qt @ problem.y))
        self.slack = max(equal, 2 * math.sqrt(self.square) * error + error**2)

    def swapped(self, i: int, j: int) -> _At:
        """S − i + j, j at the place of i."""
        return _At(self.problem, [j if x == i else x for x in self.S], self.equal)

    def measured(self, forced: IndexArray) -> tuple[list[int], IndexArray, FloatArray, FloatArray]:
        """The i, increasing, and their places in QR; ρ_j² and c_j, zero for the columns in the span."""
        free = sorted(i for i in self.S if i not in forced and i in self.qr.index)
        lengths = Lengths(self.problem)
        lengths.follow(self.qr)
        outside = lengths.measured > 0
        c = np.where(outside, self.problem.correlate(self.r), 0)
        places = np.array([self.qr.index.index(i) for i in free], np.intp)
        return free, places, np.where(outside, lengths.squares, 0), c


def _first_better(at: _At, pairs: Pairs) -> tuple[_At, tuple[int, int]] | None:
    for i, j in pairs:
        new = at.swapped(i, j)
        if new.qr.size == at.qr.size and new.square < at.square - max(at.slack, new.slack):
            return new, (i, j)
    return None


def _of_least_residual(at: _At, forced: IndexArray) -> Pairs:
    """The pairs that seem to lower ‖r‖, the best first."""
    problem, qr = at.problem, at.qr
    free, places, squares, c = at.measured(forced)
    if not free:
        return
    U = np.array([qr.solve_transposed(e) for e in np.eye(qr.size)[places]]).T
    U /= np.linalg.norm(U, axis=0)
    along = (problem.correlate(qr.Qt.T) @ U).T  # ⟨v_i, X_j⟩, (|free|, d)
    removed = U.T @ (qr.Qt @ problem.y)
    outside = squares > 0
    # the quotient is at most ‖y‖, while the square of its numerator may be beyond the range of floats
    fall = ((c + along * removed[:, None])[:, outside] / np.sqrt(squares + along**2)[:, outside]) ** 2
    left = np.full(along.shape, np.inf)
    left[:, outside] = at.square + removed[:, None] ** 2 - fall
    while (least := left.min(initial=np.inf)) < at.square - at.slack:
        place, j = np.argwhere(left <= least + at.slack)[0]
        left[place, j] = np.inf
        yield free[place], int(j)


def _of_replacement(at: _At, forced: IndexArray) -> Pairs:
    """The pair of OMP with replacement, if there is one."""
    problem, qr = at.problem, at.qr
    free, places, squares, c = at.measured(forced)
    outside = squares > 0
    if free and outside.any():
        error = problem.rounding(qr.kappa) * problem.y_norm
        score = np.abs(c[outside]) / problem.column_norms[outside]
        sizes = np.abs(qr.solve(qr.Qt @ problem.y)[places]) * problem.column_norms[free]
        i = free[np.argmax(sizes <= sizes.min() + 2 * qr.kappa * error)]
        yield i, int(np.flatnonzero(outside)[np.argmax(score >= score.max() - 2 * error)])
