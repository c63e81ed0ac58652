"""The study `large`: methods and guarantees compared with the proved best subset of thousands of features.

The columns have unit length, and C = XᵀX. The guarantees use the submodularity ratio γ and λ(s) = λ_min(C,
s), the least eigenvalue over sets of s columns. For more than a few dozen columns no search finds γ or λ(s).
By interlacing both are at least λ, the least eigenvalue of C. So λ replaces both here:

- R² of OMP and of FR (forward regression) is at least 1 − e^{−λ} times the best R² (docs/guarantees.md,
  Theorem 1). The same holds for Sequential LASSO, whose picks OMP could make, and for swaps that start from
  the set of FR.
- After the run, let S_i be the first i selected features and c = XᵀP_{S_i}^⊥y. No k columns have an R² above
  R²(S_i) + Σ c_j²/(λ‖y‖²), where j runs over the k largest |c_j|. R² of all columns is an upper bound too
  (Theorem 3). The first bound holds for every set S, also for the set that the LASSO selects.
- Theorem 4 says whether OMP is certain to find the best subset.
"""

import math
from collections.abc import Iterator, Sequence

import numpy as np

import sparselin as sl
from sparselin.problem.errors import TINY, product_error
from sparselin.results import FloatArray, IndexArray
from sparselin.studies.guarantees.tasks import AlgorithmOutcome, DesignTask, GuaranteeRecord, draw

BEST = "best known"
METHODS = ("OMP", "FR", "swaps", "LASSO", "Sequential LASSO")
BEFORE = "sparse eigenvalue, sharper"
AFTER = "certificate after the run"
RECOVERY = "recovery in noise"
# The limit of the search for the best subset. With a limit in seconds a run could not be repeated.
_NODES = 2000
# This tolerance is far above the rounding errors of ratios and factors, and far below relevant differences.
_ROUNDING = 1e-9


def examine_large(tasks: Sequence[DesignTask], seed: int) -> list[GuaranteeRecord]:
    """Compare the methods on one design.

    The outcome named `BEST` holds the proved R² of the best known subset, relative to the best possible one.

    tasks : a list of one task, because other studies take a batch of tasks.
    """
    (task,) = tasks
    X, y = draw(task, seed)
    k = task.k
    square = float(y @ y)
    optimum = sl.best_subset(X, y, k, node_limit=_NODES)
    if optimum.status is sl.Status.STOPPED:  # it had no callback, so this was Ctrl-C: stop here too
        raise KeyboardInterrupt
    C, c = X.T @ X, X.T @ y
    least = max(TINY, float(np.linalg.eigvalsh(C)[0]) - task.d * product_error(len(X), kappa=task.d))
    most = float(c @ np.linalg.solve(C, c)) / square
    recovered = 1.0 if optimum.optimal and _is_recovered(X, y, optimum) else None
    path = sl.lasso_path(X, y, callback=lambda path: np.count_nonzero(path.coef[-1]) >= k)
    supports = [method(X, y, k).support for method in (sl.omp, sl.ols, sl.swaps, sl.sequential_lasso)]
    supports.insert(METHODS.index("LASSO"), np.flatnonzero(path.coef[-1]))
    steps = [list(_steps(X, y, S, k, least)) for S in supports]
    lower = max(optimum.r2, *(step[-1][0] for step in steps))
    limits = [min(most, *(bound for _, bound in step)) + _ROUNDING for step in steps]
    proved = 1 - optimum.lower_bound / square
    upper = max(lower, min(proved, *limits))
    wrong = ("lower bound",) if lower > proved + _ROUNDING else ()
    outcomes = [AlgorithmOutcome(BEST, (lower / upper, lower / upper), {}, wrong)]
    for name, step, limit in zip(METHODS, steps, limits, strict=True):
        r2 = step[-1][0]
        promises = {AFTER: r2 / limit, RECOVERY: recovered if name in ("OMP", "Sequential LASSO") else None}
        if name != "LASSO":
            promises[BEFORE] = -math.expm1(-least)
        broken = [key for key, factor in promises.items() if (factor or 0) > r2 / lower + _ROUNDING]
        outcomes.append(AlgorithmOutcome(name, (r2 / upper, r2 / lower), promises, tuple(broken)))
    return [
        GuaranteeRecord(
            task=task,
            n=len(X),
            d=task.d,
            best=(lower, upper),
            exact=optimum.optimal,
            outcomes=tuple(outcomes),
        )
    ]


def _steps(X: FloatArray, y: FloatArray, S: IndexArray, k: int, least: float) -> Iterator[list[float]]:
    """Yield R²(S_i) and an upper bound on R² of any k columns, where S_i are the first i features of S.

    i runs from 0 to k.
    """
    square = float(y @ y)
    for i in range(len(S) + 1):
        Q = np.linalg.qr(X[:, S[:i]])[0]
        r = y - Q @ (Q.T @ y)
        r2 = 1 - float(r @ r) / square
        yield [r2, r2 + float(np.sort((X.T @ r) ** 2)[-k:].sum()) / (least * square)]


def _is_recovered(X: FloatArray, y: FloatArray, best: sl.results.BestSubset) -> bool:
    """Return whether the condition of Theorem 4 holds: OMP is then certain to find the best subset."""
    S = best.support
    least = float(np.linalg.svd(X[:, S], compute_uv=False)[-1]) ** 2
    left = (1 - sl.exact_recovery_coefficient(X, S)) * least * float(np.abs(best.coef).min())
    noise = np.delete(np.abs(X.T @ (y - X[:, S] @ best.coef)), S)
    return left > (1 + _ROUNDING) * float(noise.max())
