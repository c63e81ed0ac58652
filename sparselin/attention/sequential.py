"""Sequential Attention for least squares."""

from __future__ import annotations

from typing import Any, Unpack

import numpy as np
from numpy.typing import ArrayLike

from sparselin._kernels.descent import AT_FLOOR, CERTIFIED
from sparselin.attention import descent
from sparselin.attention.descent import ENDINGS, FORMS, EliminatedProblem
from sparselin.greedy._method import Callback, GreedyMethod
from sparselin.greedy._pursuit import pursue
from sparselin.greedy._selection import Selection
from sparselin.greedy._walk import Pick
from sparselin.lasso.entry import entry_of
from sparselin.lasso.sequential import homotopy_at
from sparselin.linalg.ties import relative_margin
from sparselin.problem import DataOptions, as_problem, takes_problem
from sparselin.results import FirstEntry, FloatArray, SelectionPath, Status
from sparselin.validation import Columns, check_choice, check_count, check_generator, check_level

# The relative accuracies of a training. If a feature outside A(S) has the largest weight, training is
# repeated with the next accuracy. The last one is 4500 eps; at a smaller one rounding of the gap decides.
_TOLERANCES = (1e-4, 1e-6, 1e-8, 1e-10, 1e-12)
# A softmax is by default trained in the units of y in which λ*(S)/ℓ² is this number, ℓ = max‖P_S^⊥X_j‖. It is
# a convention: another number changes how strongly a softmax is penalised, and which features it picks.
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
    callback: Callback | None = None,
    **data: Unpack[DataOptions],
) -> SelectionPath:
    """Select k features by Sequential Attention.

    Let S be the features selected so far and S̄ the others. Each step trains parameters w and coefficients θ
    by gradient descent, from a random start, on

        F(w, θ) = ½‖y − X(s(w)∘θ)‖² + (λ/2)(‖w‖² + ‖θ_{S̄}‖²),   s_i = 1 on S.

    The attention weights s(w) are functions of w, and β = s(w)∘θ has the entries s_i(w)θ_i. The step then
    adds to S the feature i ∉ S with the largest |s_i(w)|, and solves least squares on S. This is Algorithm 1
    with Definition 3.1 of *Sequential Attention for Feature Selection*, whose λ is twice this one.
    `parametrization` chooses the form of s_i(w) for i ∉ S (Section 4.2 of the paper; sums are over S̄):

        "linear"         w_i             "l1"             |w_i|
        "l2"             w_i²            "l1_normalized"  |w_i|/Σ|w_j|
        "softmax"        e^{w_i}/Σe^{w_j}   "l2_normalized"  w_i²/Σw_j²

    "linear" and "l1" solve the LASSO, and training stops once a bound on the duality gap is small enough. Let
    λ*(S) be the least λ at which the LASSO sets all features outside S to zero. Let (λ₂, λ*(S)) be the
    largest interval of λ on which its nonzero features outside S are the same, and A(S) the set of these
    features (see `first_entry`). If λ is in this interval, both forms pick from A(S), as Sequential LASSO
    does. Let β* be the solution of the LASSO and u* = y − Xβ*. Training ends with a duality gap δ ≥ Σ(λ −
    |⟨X_j, u*⟩|)|β_j| + ½‖X(β − β*)‖². So while δ > 0, a column outside A(S) can have the largest weight, if
    it is nearly parallel to a column of A(S). In this case training is repeated to smaller gaps.

    The other four forms may end in a local minimum. Training ends once ‖∇F‖‖(w, θ)‖ ≤ 1e-4·(½‖P_S^⊥y‖² − F),
    where P_S^⊥y is the residual of least squares on S. "l1_normalized" and "l2_normalized" do not depend on
    the scale of w, so ‖w‖² = |S̄| is fixed and not penalised.

    Default λ. Let ℓ = max‖P_S^⊥X_j‖ be the largest length of a column projected off S, c = XᵀP_S^⊥y the
    correlations and λ* = max|c_j|:

    - "linear" and "l1": (λ* + λ₂)/2;
    - "l2": ¼(λ*⁴/(4ℓ²))^{1/3}. For this form w = θ = 0 is a local minimum for every λ > 0. At four times the
      default, a single feature of length ℓ can no longer decrease F below its value there;
    - the other three forms: ℓ². At no λ do these forms set all coefficients to zero, and they tend to OMP as
      λ grows. The reason is that θ_i ≈ s_ic_i/λ, so F is about −Σ(s_ic_i)²/(2λ) plus a constant, and descent
      from equal s_i favours the largest |c_i|.

    Units. For "softmax" the objective adds ‖w‖², which has no unit, to a squared residual, which has the unit
    of ‖y‖². By default y is first multiplied by a number for which λ*(S) = 10ℓ², so that the units of X and y
    do not change a selection. If `lam` is given, F is computed for y itself. In this case the mask stays
    close to uniform if ‖y‖ is far below ℓ. The remedy is to scale y up.

    Parameters
    ----------
    X, y : design (n, d) and response (n,), or one `Problem` in place of both. The columns of a sparse X
        outside S are made dense, which raises MemoryError if they take more than a quarter of the memory.
    k : number of features to select, 1 ≤ k ≤ d, including the `forced` ones.
    parametrization : the form of s.
    lam : λ ≥ 0, used at every step; by default as above.
    forced, intercept, standardize, sample_weight, callback : see `omp`.
    max_iter : take at most this many gradient steps for each feature.
    rng : seed or Generator of the random starts.

    Returns
    -------
    SelectionPath, with the attention weights s(w) of each step in `weights`. `lam_star`, `margin`, `ties` and
    `active_sets` are those of Sequential LASSO at the same S. With a given `lam`, or another parametrization
    than "linear" and "l1", the pick need not be in `ties`.

    The path has fewer than k features if its status is one of these:

    - EXACT_FIT, NO_CORRELATION or RANK_EXHAUSTED: λ*(S) is zero;
    - NO_CORRELATION: all weights tended to zero at the given `lam`. With "linear" and "l1" this happens for
      λ ≥ λ*(S);
    - BEYOND_PRECISION: `first_entry` has this status; or no step of a training decreases F by more than its
      rounding error; or a feature outside A(S) still has the largest weight at the smallest gap;
    - MAX_ITER: a training did not converge;
    - STOPPED: the callback returned True.

    Raises
    ------
    TypeError, ValueError : see `omp`; also for an unknown parametrization, λ < 0, or max_iter < 1.

    >>> import numpy as np
    >>> X = np.array([[1.0, 0.0, 0.6], [0.0, 1.0, 0.8]])
    >>> path = sequential_attention(X, np.array([1.0, 3.0]), 2)
    >>> path.support.tolist(), [int(np.abs(s).argmax()) for s in path.weights]
    ([1, 0], [1, 1])
    """
    check_choice(parametrization, "parametrization", FORMS)
    fixed = None if lam is None else check_level(lam, "lam")
    max_iter = check_count(max_iter, "max_iter", 1)
    size = _SIZE if lam is None else None
    generator = check_generator(rng)

    def pick_by_weight(selection: Selection) -> Pick | Status:
        problem = selection.problem
        S = np.array(selection.trail.support, np.intp)
        entry = entry_of(problem, homotopy_at(selection))
        if entry.status is not Status.COMPLETED:
            return entry.status
        reduced = descent.eliminate(problem, selection.qr, S, space=space)
        share = _default_share(parametrization, entry)
        if fixed is not None:
            share = fixed / descent.penalty_unit(reduced, parametrization)
        window = (entry.window_lower / entry.lam_star, 1)
        decided = parametrization in ("linear", "l1") and window[0] < share < window[1]
        for tol in _TOLERANCES if decided else _TOLERANCES[:1]:
            limits: dict[str, Any] = {"tol": tol, "max_iter": max_iter, "size": size}
            training = descent.train(reduced, share, parametrization, generator, **limits)
            if training.end == AT_FLOOR:
                return Status.MAX_ITER if fixed is None else Status.NO_CORRELATION
            if training.end != CERTIFIED:
                return ENDINGS[training.end]
            pick = _pick(selection, entry, reduced, training.mask)
            if not decided or pick.feature in entry.active:
                return pick
        return Status.BEYOND_PRECISION

    problem = as_problem(X, y, **data)
    space = descent.column_space(problem)
    method = GreedyMethod(rule=pick_by_weight, by_rule=True)
    return pursue(problem, k, method, forced=forced, callback=callback)


def _default_share(parametrization: str, entry: FirstEntry) -> float:
    """Return the default λ in units of `penalty_unit` (see `sequential_attention`)."""
    if parametrization in ("linear", "l1"):
        return 0.5 * (1 + entry.window_lower / entry.lam_star)
    if parametrization == "l2":
        # the minimum of F − ½‖y‖² over s(w)θ = b is ½b² − cb + (3λ/2)(b/2)^{2/3}; its least value over b is
        # zero for λ = (c⁴/4)^{1/3}, at b = c/2
        return 0.25 * float(np.cbrt(0.25))
    return 1.0


def _pick(selection: Selection, entry: FirstEntry, reduced: EliminatedProblem, mask: FloatArray) -> Pick:
    """Return the `Pick` of the feature with the largest attention weight.

    Only columns outside the span of the selected columns are compared.

    mask : (m,) the attention weights s(w) of the features of `reduced`.
    """
    weights = np.ones(selection.problem.d, selection.problem.dtype)
    weights[reduced.free] = mask
    best = int(reduced.free[np.argmax(np.where(reduced.lengths > 0, np.abs(mask), -1))])
    margin = relative_margin(selection.correlations(), best, entry.lam_star)
    return Pick(
        feature=best,
        lam_star=entry.lam_star,
        margin=margin,
        tied=entry.tied,
        active=entry.active,
        weights=weights,
    )
