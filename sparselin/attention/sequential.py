"""Sequential Attention for least squares."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sparselin._kernels.descent import AT_FLOOR, CERTIFIED
from sparselin.attention.descent import (
    ENDINGS,
    FORMS,
    EliminatedProblem,
    column_space,
    eliminate,
    penalty_unit,
    train,
)
from sparselin.greedy._pursuit import pursue
from sparselin.greedy._selection import Callback, Selection
from sparselin.greedy._walk import Pick
from sparselin.lasso.entry import entry_of
from sparselin.lasso.sequential import homotopy_at
from sparselin.linalg.ties import relative_margin
from sparselin.problem import as_problem, takes_problem
from sparselin.results import FirstEntry, FloatArray, SelectionPath, Status
from sparselin.validation import Columns, check_count, check_level

# The relative accuracies of a training: the next one where a feature outside A(S) has the largest weight. The
# last is 4500 eps; below it rounding of the gap decides.
_TOLERANCES = (1e-4, 1e-6, 1e-8, 1e-10, 1e-12)
# λ*(S)/ℓ², ℓ = max‖P_S^⊥X_j‖, in the units of y in which a softmax is trained by default. A convention:
# another number changes how strongly a softmax is penalised, and what it picks.
_SIZE = 10.0


@takes_problem
def sequential_attention(
    X: Any,
    y: ArrayLike | None,
    k: int,
    *,
    parametrization: str = "linear",
    lam: float | None = None,
    forced: Columns = (),
    max_iter: int = 100_000,
    rng: Any = 0,
    intercept: bool = False,
    standardize: bool = False,
    sample_weight: ArrayLike | None = None,
    callback: Callback | None = None,
) -> SelectionPath:
    """Select k features by Sequential Attention.

    Each step minimises

        F(w, θ) = ½‖y − X(s(w)∘θ)‖² + (λ/2)(‖w‖² + ‖θ_{S̄}‖²),   s_i = 1 on S,

    by gradient descent from a random start, adds to S the i ∉ S of largest |s_i(w)|, and solves least squares
    on S (Algorithm 1 and Definition 3.1 of *Sequential Attention for Feature Selection*, whose λ is 2λ).
    Off S, with sums over S̄, s_i(w) is

        "linear"         w_i             "l1"             |w_i|
        "l2"             w_i²            "l1_normalized"  |w_i|/Σ|w_j|
        "softmax"        e^{w_i}/Σe^{w_j}   "l2_normalized"  w_i²/Σw_j²

    (Section 4.2 there). "linear" and "l1" solve the LASSO, and training ends with a bound on the duality gap:
    for λ in the window (λ₂, λ*(S)) of `first_entry` they pick from A(S), as Sequential LASSO and OMP do. A
    gap δ ≥ Σ(λ − |⟨X_j, u*⟩|)|β_j| + ½‖X(β − β*)‖², u* and β* the solutions, can leave the larger weight to
    a column outside A(S) at a cosine near 1 with one of A(S): then training is repeated to smaller gaps.

    The other four may end in a local minimum: training ends where ‖∇F‖‖(w, θ)‖ ≤ 1e-4·(½‖P_S^⊥y‖² − F). The
    normalised masks do not depend on the scale of w: there ‖w‖² = |S̄|, without penalty.

    The default λ is (λ* + λ₂)/2 for "linear" and "l1". For "l2", where w = θ = 0 is a local minimum for every
    λ > 0, it is ¼(λ*⁴/(4ℓ²))^{1/3}, ℓ = max‖P_S^⊥X_j‖: at four times that, no feature of length ℓ alone
    decreases F. For the other three it is ℓ². They never give exact zeros, and as λ grows they tend to OMP:
    with θ_i ≈ s_ic_i/λ, F is −Σ(s_ic_i)²/(2λ) + const, and descent from equal s_i favours the largest |c_i|.
    "softmax" weighs ‖w‖², without a unit, against ‖y‖². By default F is that of a multiple of y for which
    λ*(S) = 10ℓ², so that no unit of X or y changes a selection. With a given `lam` it is that of y itself:
    for ‖y‖ far below ℓ its mask stays close to uniform, so scale y up.

    Parameters
    ----------
    X, y : design (n, d) and response (n,), or one `Problem` in place of both. The columns off S of
        a sparse X are made dense: MemoryError if they take more than a quarter of the memory.
    k : features to select, 1 ≤ k ≤ d, `forced` ones included.
    parametrization : the form of s.
    lam : λ ≥ 0 at every step; by default as above.
    forced, intercept, standardize, sample_weight, callback : as for `omp`.
    max_iter : at most this many gradient steps for each feature.
    rng : seed or Generator of the starts.

    Returns
    -------
    SelectionPath with s(w) of each step in `weights`. `lam_star`, `margin`, `ties` and `active_sets` are
    those of Sequential LASSO at the same S; with another λ or parametrization the pick need not be in `ties`.
    It ends early with EXACT_FIT, NO_CORRELATION or RANK_EXHAUSTED when λ*(S) is zero; with NO_CORRELATION
    also when all weights tended to zero at the given `lam`, as for λ ≥ λ*(S) with "linear" and "l1"; with
    BEYOND_PRECISION as `first_entry` does, and when a feature outside A(S) still has the largest weight at
    the smallest gap; with MAX_ITER when a training did not converge.

    Raises
    ------
    TypeError, ValueError : as for `omp`, for an unknown parametrization, λ < 0, max_iter < 1.

    >>> import numpy as np
    >>> X = np.array([[1.0, 0.0, 0.6], [0.0, 1.0, 0.8]])
    >>> path = sequential_attention(X, np.array([1.0, 3.0]), 2)
    >>> path.support.tolist(), [int(np.abs(s).argmax()) for s in path.weights]
    ([1, 0], [1, 1])
    """
    if parametrization not in list(FORMS):
        raise ValueError(f"parametrization must be one of {sorted(FORMS)}; got {parametrization!r}")
    fixed = None if lam is None else check_level(lam, "lam")
    max_iter = check_count(max_iter, "max_iter", 1)
    generator = np.random.default_rng(rng)

    def most_attended(selection: Selection) -> Pick | Status:
        problem, S = selection.problem, np.array(selection.support, np.intp)
        entry = entry_of(problem, homotopy_at(selection))
        if entry.status is not Status.COMPLETED:
            return entry.status
        reduced = eliminate(problem, selection.qr, S, space=space)
        share = _default_share(parametrization, entry)
        if fixed is not None:
            share = fixed / penalty_unit(reduced, parametrization)
        window = (entry.window_lower / entry.lam_star, 1)
        decided = parametrization in ("linear", "l1") and window[0] < share < window[1]
        for tol in _TOLERANCES if decided else _TOLERANCES[:1]:
            training = train(
                reduced,
                share,
                parametrization,
                generator,
                tol=tol,
                max_iter=max_iter,
                size=_SIZE if fixed is None else None,
            )
            if training.end == AT_FLOOR:
                return Status.MAX_ITER if fixed is None else Status.NO_CORRELATION
            if training.end != CERTIFIED:
                return ENDINGS[training.end]
            pick = _pick(selection, entry, reduced, training.mask)
            if not decided or pick.feature in entry.active:
                return pick
        return Status.BEYOND_PRECISION

    problem = as_problem(X, y, sample_weight, intercept, standardize)
    space = column_space(problem)
    return pursue(problem, k, most_attended, forced=forced, callback=callback, by_rule=True)


def _default_share(parametrization: str, entry: FirstEntry) -> float:
    """λ by default, in units of `penalty_unit` (see `sequential_attention`)."""
    if parametrization in ("linear", "l1"):
        return 0.5 * (1 + entry.window_lower / entry.lam_star)
    if parametrization == "l2":
        # min over s(w)θ = b of F − ½‖y‖² is ½b² − cb + (3λ/2)(b/2)^{2/3}; its least value is zero for
        # λ = (c⁴/4)^{1/3}, at b = c/2
        return 0.25 * float(np.cbrt(0.25))
    return 1.0


def _pick(selection: Selection, entry: FirstEntry, reduced: EliminatedProblem, mask: FloatArray) -> Pick:
    """The largest |s_i| among the columns outside the span of S."""
    weights = np.ones(selection.problem.d, selection.problem.dtype)
    weights[reduced.free] = mask
    best = int(reduced.free[np.argmax(np.where(reduced.lengths > 0, np.abs(mask), -1))])
    margin = relative_margin(selection.correlations(), best, entry.lam_star)
    return Pick(best, entry.lam_star, margin, entry.tied, entry.active, weights)
