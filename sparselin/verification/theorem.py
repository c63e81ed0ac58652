"""The check of Theorem 3.3 on one design."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sparselin.problem import as_problem, takes_problem
from sparselin.results import SelectionPath, TheoremCheck
from sparselin.validation import Rng, check_count
from sparselin.verification.along_path import StepRecord, verify_design
from sparselin.verification.projected_design import CheckResult


@takes_problem
def verify(X: Any, y: ArrayLike | None, k: int, *, audit: bool = False, rng: Rng = 0) -> TheoremCheck:
    """Verify on one design that OMP, Sequential LASSO and linear Sequential Attention make the same picks.

    This is the statement of Theorems 1.1, 1.2 and 3.3 of *Sequential Attention for Feature Selection*. At
    each of k steps, let S be the features that Sequential LASSO selected before, r = P_S^⊥y the residual of
    least squares on S, and c = (P_S^⊥X)ᵀr. Six checks use only plain NumPy and LASSO solvers that share no
    code with the methods:

    - pick: the pick of OMP is in the tied set T = argmax_i |c_i|, and the pick of Sequential LASSO is in A(S)
      ⊆ T, the set of the features that enter the LASSO first;
    - entry: T, the signs, the direction and the window (λ₂, λ*) of `first_entry` agree with their
      definitions;
    - lam_star: β = 0 off S is proved optimal at λ*(1 + δ), and proved not optimal at λ*(1 − δ);
    - active_set: the support of the LASSO off S in the middle of (λ₂, λ*) is A(S);
    - attention: gradient descent on (w, θ) from a random start puts its largest weight on a member of A(S);
    - projection: P_S^⊥y − u = P_S^⊥X_Aβ_A with A = A(S), for the projection u of `project_dual` and the
      solution β.

    In the end, the supports of OMP and of Sequential LASSO must be equal up to the first tie.
    docs/verification.md explains how each check is certified.

    Parameters
    ----------
    X, y : design (n, d) and response (n,), or one `Problem`. All computations are dense and in float64. The
        checks support neither an intercept nor standardization, so centre and scale the columns before.
    k : number of steps, 1 ≤ k ≤ d.
    audit : repeat the checks of λ*, A(S) and the projection at every step by an interior point method
        (Clarabel through cvxpy, from the extra `verify`).
    rng : seed or Generator for the random starts of the solvers.

    Returns
    -------
    TheoremCheck, with a verdict and its reasons, λ*, |T|, |A(S)|, λ₂/λ* and λ₀/λ* for each step.

    Raises
    ------
    TypeError, ValueError : invalid X, y (see `Problem`) or k; a Gram problem, or a problem with an intercept
        or standardized columns.
    ModuleNotFoundError : `audit` is set, but cvxpy is not installed.

    >>> import sparselin as sl
    >>> X, y = sl.ensembles.gaussian(20, 30, rng=0)
    >>> check = verify(X, y, 3)
    >>> check
    <TheoremCheck: 3 steps, 3 agree>
    >>> check.agrees, check.window.round(3)
    (True, array([0.393, 0.289, 0.932]))
    """
    problem = as_problem(X, y)
    if not problem.is_plain:
        raise ValueError(
            "the theorem is about the columns as they are: pass X and y centred and scaled, instead of "
            "intercept=True or standardize=True"
        )
    data = problem.exact_columns()
    if data is None:
        raise ValueError("a Gram or compressed problem holds no samples, which the checks need: pass X and y")
    k = check_count(k, "k", 1, problem.d)
    response = problem.double_y
    path, supports, steps = verify_design(data, response, k, seed=rng, audit=bool(audit))
    return summary(
        dataclasses.replace(path, fit=problem.design.fit(problem.names)), supports, steps, bool(audit)
    )


def summary(
    path: SelectionPath, supports: CheckResult, steps: Sequence[StepRecord], audited: bool
) -> TheoremCheck:
    """Combine the path, the comparison of supports and the records of `verify_design` in one result."""
    return TheoremCheck(
        path=path,
        verdicts=tuple(str(step.verdict) for step in steps),
        reasons=tuple(tuple(step.reasons.items()) for step in steps),
        supports=str(supports.verdict),
        supports_reason=supports.reason,
        lam_star=np.array([step.lam_star for step in steps]),
        n_tied=np.array([step.tied for step in steps], np.intp),
        n_active=np.array([step.active for step in steps], np.intp),
        window=np.array([step.window for step in steps]),
        proof=np.array([step.proof for step in steps]),
        audited=audited,
    )
