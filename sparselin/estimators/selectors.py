"""Selectors for scikit-learn, by methods that pick one feature or group after the other, or search sets."""

from __future__ import annotations

import dataclasses
import warnings
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

import sparselin as sl
from sparselin.estimators._paths import ModelPath, Sets, Task, Watch, along, along_groups, along_loss, until
from sparselin.estimators._selector import PathSelector
from sparselin.results import SubsetResult


@dataclasses.dataclass(kw_only=True, eq=False, repr=False)
class OMPSelector(PathSelector):
    """Features in the order of Orthogonal Matching Pursuit (`sparselin.omp`).

    Each step adds the column of largest |⟨X_i, r⟩|. For y (n, q), with a common support, or with `groups`,
    it adds the feature or group of largest ‖X_gᵀR‖_F, R = P_S^⊥Y: the gradient's norm (M-OMP of Cotter, Rao,
    Engan and Kreutz-Delgado, 2005; Group-OMP of Lozano, Świrszcz and Abe, 2009, without their
    orthonormalisation within groups). Classes enter as one-hot columns, or, if they are two, with
    `loss="logistic"`; for this and `loss="poisson"` see `sparselin.generalized_omp`.

    The whole path is computed once, and k chosen along it; `at(k)` gives another k without fitting again.

    Parameters
    ----------
    n_features_to_select : how many, forced ones included; with `groups` all numbers count groups.
        An integer; a share in (0, 1] of the features that are not excluded, rounded down, at least one;
        "ebic" : the first minimum of EBIC along the path; "bic", "aic" : the least of the path. With RSS that
            of k features, q outputs, n rows (the sum of the weights), p features to choose from and u chosen,

                EBIC_γ = nq·ln(RSS/(nq)) + kq·ln n + 2γ·ln C(p, u)

            (Luo and Chen, *Sequential lasso cum EBIC for feature selection with ultra-high dimensional
            feature space*, 2014); BIC has γ = 0, AIC also 2 for ln n. Forced features are in k, not in p and
            u; with groups p and u count these, and k is the rank of their columns. RSS = 0 counts as −∞, with
            a warning if it is chosen, or as +∞ where no degree of freedom is left. With another loss the
            deviance, −2·log-likelihood up to a constant, takes the place of nq·ln(RSS/(nq));
        "cv" : the least mean squared error, or mean deviance, in cross-validation with one path for each
            fold; "cv_1se" : the fewest features with an error within one standard error of that (Breiman,
            Friedman, Olshen and Stone, 1984);
        "auto" : with `tol` as many as it takes, else "ebic".
    tol : the path ends once ‖r‖ ≤ tol·‖y − ȳ‖ (‖y‖ without an intercept), a ratio of norms; with another loss
        once the deviance is at most tol times that without features.
    forced : columns that come first, by index or by the names of a frame; their groups, where there are any.
    exclude : columns that are never selected, by index or name.
    groups : (d,) labels: columns of one label enter together. None: each column is a group.
    loss : "squared"; "logistic", for y of two classes, whatever their labels; or "poisson", for y ≥ 0. These
        two are for one y, without `groups`. A path ends with the last features for which the loss has a
        minimum, as it has none where they separate classes; if that is short of the features wanted, there
        is a warning.
    fit_intercept : whether every model has an intercept.
    standardize : whether columns count divided by their standard deviations; otherwise X is used as it is,
        and long columns have an advantage.
    max_features : the longest path. By default the number or share above; up to `tol` all; for criteria and
        cross-validation 30 beside the forced ones, less one than half the rows (of a fold) at most.
    cv : number of folds or a splitter, as in scikit-learn; a number means stratified folds for classes.
        Each class should then be seen as often as there are folds. Where the path of a fold ends early, its
        last model stands for larger k.
    gamma : γ ≥ 0 of EBIC. By default max(0, 1 − ln n/(4·ln p)), the middle between 1 and the bound
        1 − ln n/(2·ln p), above which EBIC is consistent (Chen and Chen, 2008). γ = 1 is stricter: with 100
        rows, 1000 features and five of signal (coefficients 0.7 to 2, unit noise) it let in 0.26 features of
        noise, not 0.54, and missed 0.14, not 0.12 (means of 100 draws).
    noise_variance : σ² of the squared loss, where it is known; RSS/σ² then replaces nq·ln(RSS/(nq)).
    n_jobs : processes for the folds.

    Attributes
    ----------
    path_ : the `SelectionPath`, or `GroupPath` for groups or several outputs, or `GeneralizedPath` for
        another loss, in the columns of X.
    sizes_ (m,), scores_ (m,) : k along the path, and what was compared, less being better: the criterion, or
        the mean squared error (or deviance) in cross-validation, or, where nothing was compared, on the data.
    k_ : the k chosen; n_features_ : the number of features, which differs from k_ with groups.
    selected_ : (n_features_,) indices in the order of selection.
    coef_ : (d,) or (q, d) least squares coefficients on the features selected; intercept_ : beside them. With
        another loss its minimiser, of the linear predictor: with "logistic" the log odds of `classes_[1]`.
    classes_ : the two labels in order with `loss="logistic"`, else None.
    gamma_ : γ, or None; cross_validation_ : the `CrossValidation` (errors, their standard errors), or None.
    groups_ : the labels of the groups, in the order of their numbers in `path_`; None without groups.
    n_features_in_, feature_names_in_ : as everywhere in scikit-learn.

    Sparse X stays sparse, float32 stays float32. `sample_weight` weighs squared residuals, or terms of the
    loss; callbacks of scikit-learn 1.9 are told of each step, and a hook `on_fit_task_end` that returns True
    ends the path there. A step that was begun when the path had ended has no `fitted_estimator`.

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

    Those that tell high readings from low ones, by logistic regression:

    >>> high = OMPSelector(loss="logistic", standardize=True).fit(X, np.where(y > 200, "high", "low"))
    >>> high.classes_.tolist(), high.get_feature_names_out().tolist()
    (['high', 'low'], ['bmi', 'bp', 's5'])
    """

    _several = True

    groups: Any = None
    loss: str = "squared"
    standardize: bool = False

    def _path(self, task: Task, k: int, tol: float | None, watch: Watch | None) -> ModelPath:
        if task.loss != "squared":
            return along_loss(task, k, tol, watch)
        if task.groups is None and task.y.ndim == 1:
            return along(sl.omp, task.problem(), task.forced, k, watch, tol=tol)
        return along_groups(task, k, tol, watch)


class OLSSelector(PathSelector):
    """Features in the order of orthogonal least squares (`sparselin.ols`), or forward selection.

    Each step adds the feature that reduces ‖r‖ most. Scaling a column changes nothing.

    Other parameters, attributes, errors and warnings are those of `OMPSelector`; there is no `groups` or
    `standardize`, and y is one vector.

    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(as_frame=True, return_X_y=True)
    >>> OLSSelector(4).fit(X, y).get_feature_names_out().tolist()
    ['bmi', 'bp', 's1', 's5']
    """

    def _path(self, task: Task, k: int, tol: float | None, watch: Watch | None) -> ModelPath:
        return along(sl.ols, task.problem(), task.forced, k, watch, tol=tol)


@dataclasses.dataclass(kw_only=True, eq=False, repr=False)
class SequentialLassoSelector(PathSelector):
    """Features in the order of Sequential LASSO (`sparselin.sequential_lasso`).

    Each step adds the first feature that enters the LASSO with those selected unpenalised: one of those that
    OMP could pick (Theorem 3.3 of *Sequential Attention for Feature Selection*). With "ebic" this is
    Sequential LASSO cum EBIC (Luo and Chen, 2014).

    method : "lasso" follows the definition, "omp" assumes the theorem and is faster.
    loss : as for `OMPSelector`. Logistic and Poisson regression have the path of `sparselin.generalized_omp`
        for either method: Sequential LASSO's where there is no tie (docs/proofs/generalized_linear_models.md;
        for strictly convex losses first Axiotis and Yasuda, arXiv 2307.07405).

    Other parameters, attributes, errors and warnings are those of `OMPSelector`; there is no `groups`, and
    y is one vector.

    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(as_frame=True, return_X_y=True)
    >>> SequentialLassoSelector("bic").fit(X, y).get_feature_names_out().tolist()
    ['sex', 'bmi', 'bp', 's3', 's5']
    """

    method: str = "lasso"
    loss: str = "squared"
    standardize: bool = False

    def _path(self, task: Task, k: int, tol: float | None, watch: Watch | None) -> ModelPath:
        if task.loss != "squared":
            return along_loss(task, k, tol, watch)
        return until(tol, sl.sequential_lasso, task, k, watch, method=self.method)


@dataclasses.dataclass(kw_only=True, eq=False, repr=False)
class SequentialAttentionSelector(PathSelector):
    """Features in the order of Sequential Attention (`sparselin.sequential_attention`).

    Each step trains a mask on the features not selected, and adds that of largest weight. X is made dense.

    parametrization, lam : the mask and its penalty, as there.
    max_iter_per_feature : gradient steps of each training at most; MAX_ITER ends the path.
    random_state : seed of the starts, for all folds the same if it is an integer.

    Other parameters, attributes, errors and warnings are those of `OMPSelector`; there is no `groups`, and
    y is one vector.

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
            tol, sl.sequential_attention, task, k, watch,
            parametrization=self.parametrization, lam=self.lam, max_iter=self.max_iter_per_feature, rng=seed,
        )  # fmt: skip


@dataclasses.dataclass(kw_only=True, eq=False, repr=False)
class DiverseSelector(PathSelector):
    """Features with a large R² + ν·f, f a spectral regularizer that rewards diversity.

    *Selecting Diverse Features via Spectral Regularization* (2012): `sparselin.forward_regression`, whose
    sets are nested, or `sparselin.greedy_local_search`, a search for each k, whose sets need not be, and can
    have fewer than k features. The criteria and errors that choose k are about the fit alone, without f.

    regularizer : f, of `sparselin.spectral`; by default SmoothedDifferentialEntropy(1.0), log₂ det(I + C_S).
    nu : ν ≥ 0.
    search : "forward" or "greedy_local".
    standardize : by default f is applied to the correlations of the columns, as the paper assumes unit
        columns (without an intercept to their cosines). False: to XᵀX/n, centred with an intercept.
    path_ : a tuple of `SubsetResult`, with f + 1, f + 2, … features, f of them forced.

    X is made dense.

    Other parameters, attributes, errors and warnings are those of `OMPSelector`; there is no `groups`, and
    y is one vector.

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
        weight = np.ones(len(task.y), task.X.dtype) if task.weight is None else task.weight
        unit = dataclasses.replace(task, weight=weight / weight.sum()).problem()
        options: dict[str, Any] = {"regularizer": f, "nu": self.nu, "forced": task.forced}
        steps = Sets(task, tol, watch)
        if self.search == "forward" and k > len(task.forced) and not steps.within_tol():
            steps.end(sl.forward_regression(unit, k, callback=steps.add, **options).status)
        elif self.search == "greedy_local":
            steps.each(lambda t: sl.greedy_local_search(unit, t, **options), k)
        return steps.found()


@dataclasses.dataclass(kw_only=True, eq=False, repr=False)
class BestSubsetSelector(PathSelector):
    """The best subset of each size, by branch and bound (`sparselin.best_subset`).

    The sets of different sizes need not be nested. The time is exponential in k at worst: by default criteria
    and cross-validation compare up to 8 features beside the forced ones.

    time_limit : seconds for each size, after which the best found so far is taken, with a
        `ConvergenceWarning`.
    path_ : a tuple of `BestSubset`, with f + 1, f + 2, … features, f of them forced.

    X is made dense.

    Other parameters, attributes, errors and warnings are those of `OMPSelector`; there is no `groups` or
    `standardize`, and y is one vector.

    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(as_frame=True, return_X_y=True)
    >>> BestSubsetSelector(4).fit(X, y).get_feature_names_out().tolist()
    ['bmi', 'bp', 's1', 's5']
    """

    _most = 8

    time_limit: float | None = None

    def _path(self, task: Task, k: int, tol: float | None, watch: Watch | None) -> ModelPath:
        steps = Sets(task, tol, watch)

        def best(t: int) -> SubsetResult:
            found = sl.best_subset(steps.problem, t, forced=task.forced, time_limit=self.time_limit)
            if not found.optimal:
                message = (
                    f"{t} features are not proved to be the best ({found.status.message}; gap "
                    f"{found.gap:.2%}): increase time_limit"
                )
                warnings.warn(message, ConvergenceWarning, stacklevel=2)
            if len(found) < t:
                steps.end(found.status)
            return found

        steps.each(best, k)
        return steps.found()
