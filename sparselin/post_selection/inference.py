"""Inference after selection: p-values and confidence intervals along a path."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from sparselin.post_selection._conditional import infer
from sparselin.post_selection._events import Basis
from sparselin.post_selection._noise import FEWEST, Noise, noise_of
from sparselin.post_selection._splitting import lam_on_rows, randomize, split
from sparselin.post_selection._traces import Trace, choose, trace_of
from sparselin.post_selection.classical import split_units
from sparselin.post_selection.knockoffs import warn_of_a_mean
from sparselin.problem import Problem, as_problem, takes_problem
from sparselin.problem.arguments import rows_with_weight
from sparselin.problem.errors import EPS
from sparselin.problem.paths import check_path, other_data
from sparselin.results import (
    GeneralizedPath,
    GroupPath,
    Inference,
    LassoPath,
    SelectionPath,
    SplitInference,
    Status,
)
from sparselin.validation import Rng, check_choice, check_real

_MEAN = "Tests with σ unknown need this: compute the path with intercept=True, or pass sigma as a number"


@takes_problem
def inference(
    X: Any,
    y: ArrayLike | None,
    path: SelectionPath | LassoPath | GroupPath | GeneralizedPath,
    *,
    k: int | Literal["bic", "ebic"] | None = None,
    lam: float | Callable[..., float] | None = None,
    sigma: float | Literal["full", "response", "unknown"] | None = None,
    level: float = 0.95,
    method: Literal["exact", "split", "randomized"] = "exact",
    splits: int = 1,
    gamma: float = 1.0,
    rng: Rng = 0,
    sample_weight: ArrayLike | None = None,
) -> Any:
    """Test the steps of a path, and the coefficients of its last model, as if y had not selected them.

    Let y ~ N(μ, σ²I) with a fixed X. A path selects features that fit this y well, so the usual p-values are
    too small: with μ = 0, n = 100 and 50 features, the p-value of the usual t-test for the first feature of
    OMP is below .05 in nine of ten draws. Exact inference conditions on the selection. The set of all y for
    which a path makes the same picks with the same signs is given by linear inequalities (`_events` derives
    them). Given this set, and the part of y orthogonal to η, the statistic ηᵀy is a Gaussian that is
    truncated to an interval [V⁻, V⁺] (Lee, Sun, Sun and Taylor, *Exact post-selection inference, with
    application to the lasso*, 2016; Tibshirani, Taylor, Lockhart and Tibshirani, *Exact post-selection
    inference for sequential regression procedures*, 2016). Then the mean ηᵀμ can be tested, and intervals for
    it have the given level.

    **What is tested.** S are the features of the model, with the intercept if there is one.

    - A coefficient: η is row j of X_S⁺ and ηᵀμ = (X_S⁺μ)_j, the coefficient of feature j if μ is projected on
      the *selected* model. It is not the coefficient of j in a true model, unless S contains that model. The
      law is conditional on the picks and signs of all k steps.
    - A step at which feature i enters: η is P_A^⊥X_i for the model A before the step, so ηᵀμ = 0 if i does
      not improve the model A. The law is conditional on the picks and signs up to this step.

    The events of a step fix the sign of ηᵀy, so p-values of steps are one-sided, and so is that of the last
    feature. The other p-values are two-sided: twice the smaller tail. Intervals have equal tails.

    **σ.** If it is not given, it is estimated by the residual P_X^⊥y of all features, which has n − d degrees
    of freedom; d counts independent columns and the intercept. Let μ = Xβ. The law is then conditional also
    on (ηᵀy/‖η‖ − θ)² + ‖P_X^⊥y‖², where θ is the tested mean of ηᵀy/‖η‖. This removes σ: a selective t-test,
    of the kind of Fithian, Sun and Taylor (*Optimal inference after model selection*, 2014), in the model of
    all features. Without selection it is the usual t-test. It has its level for every n − d ≥ 3. For fewer
    degrees of freedom its confidence sets are no intervals, and the default is sigma="unknown".

    **Long intervals.** The ends of an interval are finite, but if the estimate lies near an end of [V⁻, V⁺],
    the interval is long (Kivaranovic and Leeb, *On the length of post-model-selection confidence intervals
    conditional on polyhedral constraints*, 2021). It need not hold the estimate.

    **Digits.** X, y and σ are taken exactly as floats. The rounding errors of V⁻, V⁺ and ηᵀy are bounded, and
    tails are computed in balls (`_laws`), so `bounds` and `interval_bounds` hold the exact values,
    and tables show only digits that these bounds prove.

    Parameters
    ----------
    X, y : the data from which the path was computed: design (n, d) and response (n,) in float64, or one
        `Problem`. Rows are needed, so neither a Gram problem, nor a compressed problem, nor a LinearOperator
        is accepted. X must have all columns that could have been selected. Columns may be left out
        beforehand, but only without looking at y: a screening by y is a selection too, and the law is not
        conditional on it.
    path : a `SelectionPath` of `omp`, `ols` or `sequential_lasso`, or a `LassoPath`. Forced features count as
        chosen without y. The path must not end by `tol` or by a callback, and must have no ties. With
        method="split" also a `GroupPath` (the `path_` of a selector with `groups`) or a `GeneralizedPath`.
        Then the tests on the other half are those of regression without selection: F and t, or Wald's χ² and
        z for logistic and Poisson regression. In this case k, lam, sigma and splits are left out.
    k : the number of steps, fixed in advance; by default all steps of a path that ended after a given number
        of steps. For a `SelectionPath` k counts the forced features, for a `LassoPath` it counts knots. Or
        "bic" or "ebic": the number of steps that the criterion chooses among all steps of the path. Then the
        law is conditional on all picks, their signs and the choice, and the set of ηᵀy is a union of
        intervals (Loftus and Taylor, *Selective inference in regression models with groups of variables*,
        2015). With σ estimated this union depends on the tested value, so there are p-values, which test 0,
        but no intervals.
    lam : for a `LassoPath`: infer at this λ, which was fixed in advance, given the active features and their
        signs there. There are no p-values of steps. λ is that of `lasso_path`, n times the α of scikit-learn.
        A number that cross-validation chose on these rows cannot be recognised, and is not valid. With
        method="split" a number is the λ of all rows, and the half that selects has its share λ·m/n for m of
        the n rows (with weights, for its share of their sum). Or, with method="split", a function that
        chooses λ on the rows that select, by cross-validation for example: lam(X, y), or lam(X, y,
        sample_weight) with weights, is called with these rows, and returns the λ of them.
    sigma : σ > 0, which is then the deviation of a row of weight 1; "full": as above, by all features (the
        default for n − d ≥ 3); "unknown" (the default for smaller n − d): condition also on the length of
        P_{S∖j}^⊥y and on the direction of P_S^⊥y. This t-test needs μ in the span of the tested model S, has
        no intervals, and cannot be conditional on a choice of k by a criterion. "response": the standard
        deviation of y (without an intercept its root mean square), taken as σ: approximate, and too large
        unless μ is constant.
    level : the confidence level, between 0 and 1.
    method : "exact", as above. "split": select on a random half of the rows, and infer on the other half by
        the usual laws, with an estimate of σ from this half: t-tests with intervals, by all features or
        (sigma="unknown") by the selected ones. "randomized": select on y + γω and infer on y − ω/γ, which is
        independent, with random ω ~ N(0, σ²I) (Rasines and Young, *Splitting strategies for post-selection
        inference*, 2023). This takes an estimate of σ as known, so it is approximate unless σ is given; the
        default needs n − d ≥ 100. In both cases the method of the path selects again, so `support` can differ
        from that of the path; there are no p-values of steps.
    splits : for "split": with several splits the features are those of the path. The p-value is twice the
        median over the splits, where a split that does not select the feature has the p-value 1 (Meinshausen,
        Meier and Bühlmann, *p-values for high-dimensional regression*, 2009); it tests that the coefficient
        is zero in all models with the feature that a half may select. There are no intervals.
    gamma : γ > 0. A small γ selects almost as y does, and its intervals are longer by √(1 + γ⁻²).
    rng : the seed of the halves and of ω.
    sample_weight : the weights with which the path was computed: row i has the noise variance σ²/weight_i.
        Rows of weight 0 are as if removed. The unit of the weights matters only for a given σ.

    Returns
    -------
    Inference; or SplitInference for a `GroupPath` or a `GeneralizedPath`.

    Warns
    -----
    UserWarning : σ is estimated or unknown, there is no intercept, and y has a mean that the columns do not
        explain (p < 10⁻⁴), so that μ is not in their span. With an intercept the means of y and of the
        columns do not matter.

    Raises
    ------
    TypeError, ValueError : bad data (see `Problem`); a path of another class, of `positive=True`, with a tie,
        with dependent features, that was not computed from these data, or that ended by `tol` or a callback;
        a comparison that rounding leaves undecided; sigma ≤ 0; too few degrees of freedom for sigma="full",
        for a choice of k by a criterion without σ, or for randomization without σ; a λ that is not a number.
    ModuleNotFoundError : python-flint is not installed.

    >>> import numpy as np, sparselin as sl
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((100, 50))
    >>> y = X[:, 0] - X[:, 1] / 2 + rng.standard_normal(100)
    >>> path = sl.omp(X, y, 3)
    >>> print(sl.inference(X, y, path, sigma=1.0))
    Inference: exact, 3 coefficients, 95 % intervals, COMPLETED
    name  p of step  coefficient  p          from     to
    x0    1.068e-13       0.9032  8.832e-12  0.6942   1.111
    x1    0.005054       -0.3806  0.002870   -0.5646  -0.1554
    x10   0.1659         -0.2725  0.1659     -0.4985  0.3038
    y ~ N(μ, σ²I), σ = 1, any μ
    coefficients are those of the projection of μ on the selected model
    long intervals (x10): the estimate is close to where the selection changes
    COMPLETED: completed as requested
    """
    if isinstance(path, GroupPath | GeneralizedPath):
        return _on_other_half(X, y, path, k, lam, sigma, level, method, splits, gamma, rng, sample_weight)
    problem = _problem(X, y, path, sample_weight)
    rows = rows_with_weight(problem, X, sample_weight)
    level = check_real(level, "level", lambda value: 0 < value < 1, "between 0 and 1")
    check_choice(method, "method", ("exact", "split", "randomized"))
    if k is not None and lam is not None:
        raise ValueError("k and lam exclude each other. Pass one of them")
    if isinstance(k, str) and k not in ("bic", "ebic"):
        raise ValueError(f'k must be a number, "bic" or "ebic"; got {k!r}')
    if (splits != 1 and method != "split") or (gamma != 1 and method != "randomized"):
        raise ValueError(
            "splits is for method='split', and gamma for method='randomized'. Pass the method too"
        )
    if method == "split":
        lam_on = None if lam is None else lam_on_rows(lam, X, y, problem, rows, sample_weight)
        found = split(problem, path, rows, k, lam_on, sigma, level, splits, rng)
    else:
        trace = trace_of(path, None if isinstance(k, str) else k, lam)
        noise = noise_of(problem, len(rows), sigma, added=method == "randomized")
        if noise.needs_mean:
            columns = list(trace.model) if noise.unknown else list(range(problem.n_features))
            warn_of_a_mean(problem, X, sample_weight, columns, len(rows), _MEAN)
        if method == "randomized":
            found = randomize(problem, path, rows, k, trace.lam, noise, level, gamma, rng)
        else:
            found = _on_all_rows(problem, trace, path, noise, k, level, len(rows))
    words = [found.model]
    if callable(lam):
        words.append("λ chosen on the rows that select")
    elif lam is not None:
        share = ", of which the rows that select have their share" if method == "split" else ""
        words.append(f"at λ = {lam:.4g}, fixed in advance{share}")
    if sample_weight is not None:
        words.append("row i has the variance σ²/weight_i")
    return dataclasses.replace(found, model="; ".join(words))


def _on_other_half(
    X: Any,
    y: Any,
    path: GroupPath | GeneralizedPath,
    k: Any,
    lam: Any,
    sigma: Any,
    level: float,
    method: str,
    splits: int,
    gamma: float,
    rng: Rng,
    sample_weight: Any,
) -> SplitInference:
    """Infer by a split of the rows. The arguments are those of `inference`; most must be left out."""
    kind = type(path).__name__
    if method != "split":
        raise ValueError(
            f"a {kind} has inference by a split of the rows only: pass method='split'; got {method!r}"
        )
    defaults = {
        "k": (k, None),
        "lam": (lam, None),
        "sigma": (sigma, None),
        "splits": (splits, 1),
        "gamma": (gamma, 1.0),
    }
    for name, (value, default) in defaults.items():
        if value != default:
            raise ValueError(
                f"{name} is for a SelectionPath or a LassoPath: leave it out for a {kind}; got {value!r}"
            )
    level = check_real(level, "level", lambda value: 0 < value < 1, "between 0 and 1")
    return split_units(X, y, path, level, rng, sample_weight)


def _on_all_rows(
    problem: Problem,
    trace: Trace,
    path: SelectionPath | LassoPath,
    noise: Noise,
    k: Any,
    level: float,
    n: int,
) -> Inference:
    """Infer on the data that selected, given the selection. The arguments are those of `inference`."""
    if isinstance(k, str) and noise.unknown:
        raise ValueError(
            f'k="{k}" needs σ: a t-test in the selected model cannot condition on it, and tests with all '
            f"features need n − d ≥ {FEWEST} degrees of freedom. Pass sigma as a number that comes from "
            "other data, or a number k"
        )
    basis = Basis(problem, np.array(list(dict.fromkeys([*trace.features, *trace.model])), np.intp))
    _check_data(basis, trace, path)
    if isinstance(k, str):
        trace = choose(trace, basis, k, n)
        if noise.by_residual:
            noise = noise._replace(words=f"{noise.words}; no intervals, because {k.upper()} chose k")
    return infer(basis, trace, n, noise, level, path)


def _problem(X: Any, y: Any, path: Any, sample_weight: Any) -> Problem:
    """Return the problem of the data with the options of the path. Refuse what inference cannot use."""
    if not isinstance(path, SelectionPath | LassoPath):
        raise TypeError(
            "path must be a SelectionPath, LassoPath, GroupPath or GeneralizedPath; got "
            f"{type(path).__name__}. Compute a path with a fixed number of steps by omp, ols, "
            "sequential_lasso or lasso_path"
        )
    plain = not isinstance(X, Problem)
    intercept, standardize = plain and path.with_intercept, plain and path.standardized
    problem = as_problem(X, y, sample_weight=sample_weight, intercept=intercept, standardize=standardize)
    check_path(problem, path)
    if problem.exact_columns(np.arange(1)) is None:
        raise TypeError("rows of X are needed; a Gram or compressed problem has none. Pass X and y")
    if problem.dtype != np.float64:
        raise TypeError("X must be float64, because the digits of p-values need it. Pass X.astype(float)")
    if path.positive:
        raise ValueError("path must not come from positive=True: its steps are not linear in y")
    if isinstance(path, SelectionPath) and any(map(len, path.weights)):
        raise ValueError("path must come from omp, ols or sequential_lasso, not from sequential_attention")
    if path.status in (Status.TOLERANCE, Status.STOPPED, Status.BEYOND_PRECISION):
        raise ValueError(
            f"path ended with {path.status.name}, so y decided its length by a rule that inference does not "
            "know. Compute a path of k steps (max_steps for the LASSO) without tol and callback"
        )
    return problem


def _check_data(basis: Basis, trace: Trace, path: SelectionPath | LassoPath) -> None:
    """Raise ValueError unless the last model of the path has the coefficients that these data give.

    The steps of a path are compared with the data one by one (`Comparison.check`). Here a model without steps
    is compared, and the state at a fixed λ.
    """
    design = basis.problem.design
    model = basis.model(trace.model)
    if trace.steps or not trace.model:
        return
    inverse = model.inverse(basis.ones)
    A = list(trace.model)
    coef = inverse.T @ basis.z
    size = np.linalg.norm(inverse, axis=0)
    given = path.coef_at(len(A)) if isinstance(path, SelectionPath) else path.coef[0][A]
    error = 4 * basis.eps * size * basis.problem.y_norm
    if isinstance(path, LassoPath) and trace.lam is not None:
        u = inverse @ np.array(trace.events[0].signs)
        coef = coef - trace.lam * (inverse.T @ u)
        given = path.at(trace.lam)[A]
        error += 8 * basis.eps * size * trace.lam * float(np.linalg.norm(u))
    scale = np.ones(len(A)) if design.scale is None else design.scale[A]
    if np.any(np.abs(coef - given / scale) > error + 8 * EPS * np.abs(coef)):
        raise other_data("its coefficients differ")
