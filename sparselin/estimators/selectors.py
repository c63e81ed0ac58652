"""Selectors for scikit-learn: methods that select features or groups one by one, and subset searches."""

from __future__ import annotations

import dataclasses
from typing import Any, Literal

import numpy as np
from sklearn.utils import check_random_state

import sparselin as sl
from sparselin.estimators._paths import ModelPath, Sets, Task, Watch, along, along_groups, along_loss, until
from sparselin.estimators._selector import Loss, PathSelector
from sparselin.greedy.omp import refit
from sparselin.lasso.path import last_within, path_beyond
from sparselin.problem.argument_names import suggest_parameters
from sparselin.results import LassoPath, Status


@suggest_parameters
@dataclasses.dataclass(kw_only=True, eq=False, repr=False)
class OMPSelector(PathSelector):
    """A selector that follows Orthogonal Matching Pursuit (`sparselin.omp`).

    Each step adds the column i with the largest |⟨X_i, r⟩|, where r is the residual. If y has q columns, its
    outputs share one support. In this case, and with `groups`, each step adds the feature or group g with the
    largest gradient norm ‖X_gᵀR‖_F, where R are the residuals of all outputs (M-OMP of Cotter, Rao, Engan and
    Kreutz-Delgado, 2005; Group-OMP of Lozano, Świrszcz and Abe, 2009, without their orthonormalisation within
    groups). Pass classes as one-hot columns or, if there are two, with `loss="logistic"`. For this loss and
    `loss="poisson"` see `sparselin.generalized_omp`; with `groups`, R = y − μ holds the residuals of the
    means μ (for logistic regression Lozano, Świrszcz and Abe, 2011).

    The whole path is computed once, and k is chosen along it. `at(k)` returns the selector for another k
    without fitting again.

    Parameters
    ----------
    n_features_to_select : the number k of features, including the forced ones; with `groups`, the number of
        groups. It is an integer, a fraction in (0, 1] of the features that are not excluded (rounded down, at
        least one feature), or the name of a rule:
        "ebic" : the first minimum of EBIC along the path; "bic", "aic" : the global minimum along the path.
            Let k features be selected and RSS be their (weighted) residual sum of squares, with q outputs, n
            rows of positive weight, and u of p features chosen besides the forced ones. Then

                EBIC_γ = nq·ln(RSS/(nq)) − q·Σ ln w_i + kq·ln n + 2γ·ln C(p, u)

            (Luo and Chen, *Sequential lasso cum EBIC for feature selection with ultra-high dimensional
            feature space*, 2014). BIC has γ = 0; AIC has γ = 0 and 2 in place of ln n. k counts the forced
            features, but p and u do not. With groups, p and u count groups. If the selected columns (centred
            if there is an intercept) are dependent, and with groups, k is their rank. If RSS = 0, the
            criterion is −∞, with a warning if this model is chosen; it is +∞ if the model has no degree of
            freedom left. Weights w_i are inverse variances up to a factor, on which no criterion depends (all
            w_i are 1 if there are none). For other losses the deviance, which is −2·log-likelihood up to a
            constant, replaces the first two terms; there the weights are divided by their mean;
        "loo" : the least corrected leave-one-out error (`sparselin.leave_one_out`) of least squares on the
            features; with several outputs its mean. It needs the squared loss. It takes the features of each
            model as given, and does not repeat the selection, so with many more features than rows it
            chooses too many; "cv" does not;
        "cv" : the least mean squared error, or mean deviance, in cross-validation with one path for each
            fold; "cv_1se" : the fewest features with an error within one standard error of the least
            (Breiman, Friedman, Olshen and Stone, 1984);
        "auto" : if `tol` is given, the number that reaches it; otherwise "ebic".
    tol : the path ends once ‖r‖ ≤ tol·‖y − ȳ‖ (without an intercept tol·‖y‖); tol is a ratio of norms. For
        other losses it ends once the deviance is at most tol times the deviance without features.
    forced : columns that are selected first, by index or by name. With `groups`, their groups come first.
    exclude : columns that are never selected, by index or by name.
    groups : (d,) labels. Columns with the same label are selected together, for example the indicators of a
        category. A pandas Series or a mapping is aligned with the columns of X by its labels. None: each
        column is a group.
    group_weights : None, or a weight by which the score ‖X_gᵀR‖_F of each group is divided. Let group g have
        p_g columns, and let there be G groups. "sqrt" is √p_g, as in the group LASSO (Yuan and Lin, 2006);
        "noise" is the root of the quantile of χ² with p_g degrees of freedom at 1 − 1/(G + 1), and X_g is
        replaced by an orthonormal basis of its span (with an intercept, of its centred columns), as in
        Group-OMP. Then noise of variance 1 exceeds the score of each group with the same probability, and the
        selection depends neither on scales nor on the level of a category that has no indicator. With None
        noise picks large groups more often, and with "sqrt" small ones.
    loss : "squared"; "logistic", for y with two classes of any labels; or "poisson", for y ≥ 0. The last two
        take one output. Their loss has no minimum if, for example, the features separate the classes. So the
        path ends before the first feature or group with which the loss has no minimum, with a warning if more
        are requested.
    fit_intercept : whether every model has an intercept.
    standardize : whether to divide the columns by their standard deviations before selection. If not, long
        columns have an advantage.
    positive : whether the coefficients must be ≥ 0, except those of forced features, as in `sparselin.omp`.
        It needs the squared loss, one output and no `groups`.
    max_features : the length of the longest path. By default it is the number or fraction that
        `n_features_to_select` gives, or with `tol` all features. For the other rules the
        default is 30 in addition to the forced features, but less than half the number of (training) rows.
    cv : the number of folds or a splitter, as in scikit-learn. A number means stratified folds for classes;
        each class should then occur at least as often as there are folds. If the path of a fold ends early,
        its last model is scored for larger k.
    gamma : γ ≥ 0 of EBIC. The default max(0, 1 − ln n/(4·ln p)) is halfway between 1 and the bound 1 − ln
        n/(2·ln p), above which EBIC is consistent (Chen and Chen, 2008). γ = 1 is stricter. Consider, for
        example, 100 rows and 1000 features, five of which influence y (coefficients 0.7 to 2, noise of
        variance 1). On average over 100 draws, γ = 1 selected 0.26 noise features, where the default selected
        0.54, and missed 0.14 of the five features, where the default missed 0.12.
    noise_variance : σ² of the squared loss if it is known, with weights that of a row of weight 1; then
        RSS/σ² replaces the first two terms of the criteria.
    n_jobs : the number of processes for the folds.

    Attributes
    ----------
    path_ : the `SelectionPath`; for groups or several outputs the `GroupPath`; for other losses without
        groups the `GeneralizedPath`. Its indices are columns of X.
    sizes_ (m,), scores_ (m,) : the values of k along the path, and their scores; a lower score is better. A
        score is the criterion, or the mean squared error (or deviance) in cross-validation. If k was given,
        so that nothing was compared, it is the mean squared error (or deviance) on the training data.
    k_ : the chosen k; n_features_ : the number of selected features, which can differ from k_ with groups.
    selected_ : (n_features_,) the selected features in the order of selection.
    coef_, intercept_ : (d,) or (q, d) the least squares coefficients on the selected features, and the
        intercepts. For other losses they minimise the loss and give the linear predictor; with "logistic"
        this is the log odds of `classes_[1]`.
    classes_ : with `loss="logistic"` the two labels in order, otherwise None.
    gamma_ : γ, or None; cross_validation_ : the `CrossValidation` (errors, their standard errors), or None.
    groups_ : the labels of the groups, in the order of their numbers in `path_`; None without groups.
    n_features_in_, feature_names_in_ : the number of features, and their names if X had any.

    Sparse X stays sparse, and float32 stays float32. `sample_weight` weighs the squared residuals, or the
    terms of the loss; rows of weight 0 are as if removed. Callbacks of scikit-learn 1.9 are called at each
    step; if the hook `on_fit_task_end` returns True, the path ends there. If the path ends before a step that
    has begun, this step has no `fitted_estimator`.

    >>> import numpy as np
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(as_frame=True, return_X_y=True)
    >>> selector = OMPSelector().fit(X, y)
    >>> selector.get_feature_names_out().tolist(), round(selector.gamma_, 3)
    (['sex', 'bmi', 'bp', 's3', 's5'], 0.339)
    >>> selector.scores_.round().tolist()[:7]
    [3840.0, 3661.0, 3583.0, 3572.0, 3569.0, 3560.0, 3563.0]
    >>> selector.at(2).get_feature_names_out().tolist()
    ['bmi', 's5']

    With logistic regression, select the features that distinguish high readings from low ones:

    >>> high = OMPSelector(loss="logistic", standardize=True).fit(X, np.where(y > 200, "high", "low"))
    >>> high.classes_.tolist(), high.get_feature_names_out().tolist()
    (['high', 'low'], ['bmi', 'bp', 's5'])
    """

    groups: Any = None
    group_weights: Literal["sqrt", "noise"] | None = None
    loss: Loss = "squared"
    standardize: bool = False
    positive: bool = False

    @property
    def _several(self) -> bool:  # type: ignore[override]
        return self.loss == "squared" and not self.positive

    def _path(self, task: Task, k: int, tol: float | None, watch: Watch | None) -> ModelPath:
        if self.positive and (task.loss != "squared" or task.groups is not None):
            given = f"loss={task.loss!r} and {'no ' * (task.groups is None)}groups"
            raise ValueError(f"positive=True needs loss='squared' and groups=None; got {given}")
        if task.loss != "squared":
            return along_loss(task, k, tol, watch)
        if task.groups is None and task.y.ndim == 1:
            return along(sl.omp, task.problem(), task.forced, k, watch, tol=tol, positive=self.positive)
        return along_groups(task, k, tol, watch)


@suggest_parameters
class OLSSelector(PathSelector):
    """A selector that follows orthogonal least squares, or forward selection (`sparselin.ols`).

    Each step adds the feature that reduces the residual most. Scaling a column does not change the selection.

    The parameters, attributes, errors and warnings are those of `OMPSelector`, with two differences: y must
    be a vector, and there are no `groups`, `standardize`, `positive` or `loss`.

    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(as_frame=True, return_X_y=True)
    >>> OLSSelector(4).fit(X, y).get_feature_names_out().tolist()
    ['bmi', 'bp', 's1', 's5']
    """

    def _path(self, task: Task, k: int, tol: float | None, watch: Watch | None) -> ModelPath:
        return along(sl.ols, task.problem(), task.forced, k, watch, tol=tol)


@suggest_parameters
@dataclasses.dataclass(kw_only=True, eq=False, repr=False)
class LassoSelector(PathSelector):
    """A selector that follows the path of the LASSO, with least squares on the features of its solutions.

    Model k has the features of the last solution before the path (`sparselin.lasso_path`) first has more than
    k features. So the models need not be nested, and model k can have fewer than k features. Criteria,
    errors, `coef_` and `intercept_` are those of least squares on these features, without the penalty.

    standardize : whether the penalty refers to the coefficients of standardized columns.
    path_ : a tuple of `SelectionPath`, least squares on the features of the models s + 1, s + 2, …, in the
        order in which the features entered; s features are forced.
    lasso_path_ : the `LassoPath`, to the first solution with more features than the last model.

    The other parameters, the attributes, errors and warnings are those of `OMPSelector`, with two
    differences: y must be a vector, and there are no `groups`, `positive` or `loss`.

    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(as_frame=True, return_X_y=True)
    >>> LassoSelector(4).fit(X, y).get_feature_names_out().tolist()
    ['bmi', 'bp', 's3', 's5']
    """

    standardize: bool = False

    def _path(self, task: Task, k: int, tol: float | None, watch: Watch | None) -> ModelPath:
        steps = Sets(task, tol, watch)
        f = len(task.forced)
        lasso = path_beyond(steps.problem, k - f, task.forced.tolist())
        most = min(k, f + max(len(active) for active in lasso.active))
        orders = [[*task.forced, *last_within(lasso, t)[0]] for t in range(most - f + 1)]
        steps.each(lambda t: refit(steps.problem, orders[t - f]), most)
        if most < k:
            end = Status.NO_CORRELATION if steps.models[-1].residual else Status.EXACT_FIT
            steps.end(end if lasso.status is Status.COMPLETED else lasso.status)
        return steps.path()._replace(result=(lasso, *steps.results))

    def _attributes(self, result: Any, *model: Any) -> dict[str, Any]:
        found = super()._attributes(result, *model)
        if result and isinstance(result[0], LassoPath):  # not during the fit
            found["lasso_path_"], *found["path_"] = found["path_"]
        return found | {"path_": tuple(found["path_"])}


@suggest_parameters
@dataclasses.dataclass(kw_only=True, eq=False, repr=False)
class SequentialLassoSelector(PathSelector):
    """A selector that follows Sequential LASSO (`sparselin.sequential_lasso`).

    Each step solves a LASSO in which the selected features are not penalised, and adds the first feature that
    enters the LASSO path. This feature i has the largest |⟨X_i, r⟩|, where r is the residual on the selected
    features. So OMP could select it too (Theorem 3.3 of *Sequential Attention for Feature Selection*). With
    "ebic" this is Sequential LASSO cum EBIC (Luo and Chen, 2014).

    method : "lasso" follows the definition; "omp" relies on the theorem and is faster.
    loss : as for `OMPSelector`. For logistic and Poisson regression both methods return the path of
        `sparselin.generalized_omp`, which is the path of Sequential LASSO if there are no ties
        (docs/proofs/generalized_linear_models.md; first proved for strictly convex losses by Axiotis and
        Yasuda, arXiv 2307.07405).

    The other parameters, the attributes, errors and warnings are those of `OMPSelector`, with two
    differences: y must be a vector, and there are no `groups` or `positive`.

    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(as_frame=True, return_X_y=True)
    >>> SequentialLassoSelector("bic").fit(X, y).get_feature_names_out().tolist()
    ['sex', 'bmi', 'bp', 's3', 's5']
    """

    method: str = "lasso"
    loss: Loss = "squared"
    standardize: bool = False

    def _path(self, task: Task, k: int, tol: float | None, watch: Watch | None) -> ModelPath:
        if task.loss != "squared":
            return along_loss(task, k, tol, watch)
        return until(tol, sl.sequential_lasso, task, k, watch, method=self.method)


@suggest_parameters
@dataclasses.dataclass(kw_only=True, eq=False, repr=False)
class SequentialAttentionSelector(PathSelector):
    """A selector that follows Sequential Attention (`sparselin.sequential_attention`).

    Each step trains a mask on the unselected features and adds the feature with the largest weight. X is made
    dense.

    parametrization, lam : the mask and its penalty, as in `sparselin.sequential_attention`.
    max_iter_per_feature : the largest number of gradient steps of each training. If a training needs more,
        the path ends with the status MAX_ITER.
    random_state : the seed of the starting points. If it is an integer, all folds use the same seed.

    The other parameters, the attributes, errors and warnings are those of `OMPSelector`, with two
    differences: y must be a vector, and there are no `groups`, `positive` or `loss`.

    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(as_frame=True, return_X_y=True)
    >>> SequentialAttentionSelector(4, random_state=0).fit(X, y).get_feature_names_out().tolist()
    ['bmi', 'bp', 's3', 's5']
    """

    parametrization: str = "linear"
    lam: float | None = None
    standardize: bool = False
    max_iter_per_feature: int = 100_000
    random_state: Any = None

    def _path(self, task: Task, k: int, tol: float | None, watch: Watch | None) -> ModelPath:
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        return until(
            tol,
            sl.sequential_attention,
            task,
            k,
            watch,
            parametrization=self.parametrization,
            lam=self.lam,
            max_iter=self.max_iter_per_feature,
            rng=seed,
        )


@suggest_parameters
@dataclasses.dataclass(kw_only=True, eq=False, repr=False)
class DiverseSelector(PathSelector):
    """A selector of features with a large R² + ν·f, where the spectral regularizer f rewards diversity.

    Source: *Selecting Diverse Features via Spectral Regularization* (2012). `sparselin.forward_regression`
    yields nested sets. `sparselin.greedy_local_search` runs one search for each k; its sets need not be
    nested, and can have fewer than k features. The criteria and cross-validation errors that choose k measure
    only the fit, without f.

    regularizer : f, from `sparselin.spectral`; by default SmoothedDifferentialEntropy(1.0), which is
        log₂ det(I + C_S) for the Gram matrix C_S of the selected columns.
    nu : ν ≥ 0.
    search : "forward" or "greedy_local".
    standardize : whether f is applied to the correlations of the columns (without an intercept to their
        cosines), because the paper assumes unit columns. If False, f is applied to XᵀX/n, where X is centred
        if there is an intercept.
    path_ : a tuple of `SubsetResult` with s + 1, s + 2, … features, where s of them are forced.

    X is made dense.

    The other parameters, the attributes, errors and warnings are those of `OMPSelector`, with two
    differences: y must be a vector, and there are no `groups`, `positive` or `loss`.

    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(as_frame=True, return_X_y=True)
    >>> DiverseSelector(4).fit(X, y).get_feature_names_out().tolist()
    ['sex', 'bmi', 'bp', 's5']
    """

    regularizer: Any = None
    nu: float = 0.1
    search: str = "forward"
    standardize: bool = True

    def _path(self, task: Task, k: int, tol: float | None, watch: Watch | None) -> ModelPath:
        searches = {"forward": sl.forward_regression, "greedy_local": sl.greedy_local_search}
        if self.search not in searches:
            raise ValueError(f"search must be one of {sorted(searches)}; got {self.search!r}")
        f = sl.spectral.SmoothedDifferentialEntropy(1.0) if self.regularizer is None else self.regularizer
        weight = np.ones(len(task.y)) if task.weight is None else task.weight
        unit = dataclasses.replace(task, weight=weight / weight.sum()).problem()
        options: dict[str, Any] = {"regularizer": f, "nu": self.nu, "forced": task.forced}
        steps = Sets(task, tol, watch)
        if self.search == "forward" and k > len(task.forced) and not steps.within_tol():
            steps.end(sl.forward_regression(unit, k, callback=steps.add, **options).status)
        elif self.search == "greedy_local":
            steps.each(lambda t: sl.greedy_local_search(unit, t, **options), k)
        return steps.path()
